//! Memory that the system may refuse.

use crate::error::{Error, ErrorKind, Result};
use alloc::vec::Vec;

/// Fails where the system would not give so many bytes at once now, as they are needed soon, in
/// parts: for work beside a document that cannot end half way where memory runs out. Takes none.
///
/// # Errors
/// [`ErrorKind::Io`].
pub fn require_memory(bytes: usize) -> Result<()> {
    // Many parts take more than one piece: the system's allocator rounds up, and asks for a megabyte
    // where the heap cannot grow.
    const LARGE: usize = 64 << 10;
    let slack = if bytes < LARGE { 0 } else { 2 << 20 };
    let refused = |_| Error::with_detail(ErrorKind::Io, 0, bytes as u64);
    Vec::<u8>::new().try_reserve_exact(bytes.saturating_add(slack)).map_err(refused)
}

/// A vector with room for so many.
///
/// # Errors
/// [`ErrorKind::Io`].
pub fn vec_for<T>(count: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    let refused = |_| Error::with_detail(ErrorKind::Io, 0, bytes as u64);
    items.try_reserve_exact(count).map_err(refused)?;
    Ok(items)
}

/// So many zeros.
pub(crate) fn zeros(count: usize) -> Result<Vec<u8>> {
    let refused = |()| Error::with_detail(ErrorKind::Io, 0, count as u64);
    bytemuck::allocation::try_zeroed_vec(count).map_err(refused)
}
