//! The steps that a query may take.

use livebuf::{Error, ErrorKind, Result};

/// Steps after which a search asks whether it shall end.
const SLICE: u64 = 1 << 16;

/// Answers whether a search shall end.
pub(crate) type Interrupt = fn() -> bool;

/// Steps that are left: each value that is visited takes one.
pub(crate) struct Steps {
    /// Steps until it asks again.
    left: u64,
    /// Steps after those.
    more: u64,
    total: u64,
    interrupt: Option<Interrupt>,
}

impl Steps {
    pub(crate) fn new(total: u64, interrupt: Option<Interrupt>) -> Steps {
        let left = if interrupt.is_some() { total.min(SLICE) } else { total };
        Steps { left, more: total - left, total, interrupt }
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
            None => self.take_more(steps),
        }
    }

    /// Takes a step for each 64 bytes of text.
    #[inline]
    pub(crate) fn text(&mut self, length: usize) -> Result<()> {
        self.take(length as u64 / 64)
    }

    #[cold]
    fn take_more(&mut self, steps: u64) -> Result<()> {
        let all = self.left + self.more;
        let ended = self.interrupt.is_some_and(|interrupt| interrupt());
        match all.checked_sub(steps).filter(|_| !ended) {
            Some(left) => {
                self.left = left.min(SLICE);
                self.more = left - self.left;
                Ok(())
            }
            None => {
                (self.left, self.more) = (0, 0);
                Err(Error::with_detail(ErrorKind::BudgetExceeded, 0, self.total))
            }
        }
    }
}
