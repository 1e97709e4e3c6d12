//! The work that a query may do, and what it keeps meanwhile.

use crate::regexp::{self, Kept, Regexp};
use crate::steps::{Interrupt, Steps};
use livebuf::Result;

pub(crate) struct Budget {
    steps: Steps,
    /// The regular expressions that it met last.
    expressions: Kept,
}

impl Budget {
    pub(crate) fn new(total: u64, interrupt: Option<Interrupt>) -> Budget {
        Budget { steps: Steps::new(total, interrupt), expressions: Kept::default() }
    }

    /// Takes steps.
    ///
    /// # Errors
    /// [`livebuf::ErrorKind::BudgetExceeded`].
    #[inline]
    pub(crate) fn take(&mut self, steps: u64) -> Result<()> {
        self.steps.take(steps)
    }

    /// Takes a step for each 64 bytes of text.
    #[inline]
    pub(crate) fn text(&mut self, length: usize) -> Result<()> {
        self.steps.text(length)
    }

    /// Whether an expression of the query is found in a text.
    pub(crate) fn is_match(&mut self, regexp: &Regexp, text: &str) -> Result<bool> {
        regexp::is_match(regexp, text, &mut self.expressions, &mut self.steps)
    }

    /// The same for an expression that was computed.
    pub(crate) fn is_computed_match(
        &mut self,
        pattern: &str,
        whole: bool,
        text: &str,
    ) -> Result<bool> {
        regexp::is_computed_match(pattern, whole, text, &mut self.expressions, &mut self.steps)
    }
}
