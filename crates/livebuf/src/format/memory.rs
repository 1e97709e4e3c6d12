//! Whether there is memory.

use crate::error::{Error, ErrorKind, Result};
use alloc::vec::Vec;

/// Fails where the system would not give so many bytes at once now, as they are needed soon, in
/// parts: for work beside a document that cannot end half way where memory runs out. Takes none.
///
/// # Errors
/// [`ErrorKind::Io`].
pub fn require_memory(bytes: usize) -> Result<()> {
    let refused = |_| Error::with_detail(ErrorKind::Io, 0, bytes as u64);
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(refused)
}
