//! The work that a query may do.

use livebuf::{Error, ErrorKind, Result};

/// Steps that are left: each value that is visited takes one.
pub(crate) struct Budget {
    left: u64,
    total: u64,
}

impl Budget {
    pub(crate) fn new(total: u64) -> Budget {
        Budget { left: total, total }
    }

    /// # Errors
    /// [`ErrorKind::BudgetExceeded`].
    #[inline]
    pub(crate) fn take(&mut self, steps: u64) -> Result<()> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.exceeded(),
        }
    }

    /// Takes a step for each 64 bytes of text.
    #[inline]
    pub(crate) fn text(&mut self, length: usize) -> Result<()> {
        self.take(length as u64 / 64)
    }

    #[cold]
    fn exceeded(&mut self) -> Result<()> {
        self.left = 0;
        Err(Error::with_detail(ErrorKind::BudgetExceeded, 0, self.total))
    }
}
