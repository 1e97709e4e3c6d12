//! Memory that the system may refuse.

use crate::error::{Error, Result};
use alloc::vec::Vec;

/// Fails if the system would not give so many bytes now. For work that soon needs them in parts,
/// and must not end half way because memory runs out. Takes no memory.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io).
pub fn require_memory(bytes: usize) -> Result<()> {
    // Many parts take more than one piece: the system's allocator rounds up, and asks for a
    // megabyte if the heap cannot grow.
    const LARGE: usize = 64 << 10;
    let slack = if bytes < LARGE { 0 } else { 2 << 20 };
    let refused = |_| Error::out_of_memory(bytes as u64);
    Vec::<u8>::new().try_reserve_exact(bytes.saturating_add(slack)).map_err(refused)
}

/// A vector with room for so many.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io).
pub fn vec_for<T>(count: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    let refused = |_| Error::out_of_memory(bytes as u64);
    items.try_reserve_exact(count).map_err(refused)?;
    Ok(items)
}

/// Adds an item to a list that may become long. `own`: about how many bytes each item takes
/// elsewhere, in parts that are too small to ask for each of them.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io) where the system would not give the memory for as many
/// items again.
pub fn push<T>(items: &mut Vec<T>, item: T, own: usize) -> Result<()> {
    if items.len() == items.capacity() {
        let more = items.len().max(64);
        let bytes = more.saturating_mul(own.saturating_add(size_of::<T>()));
        let refused = |_| Error::out_of_memory(bytes as u64);
        require_memory(items.len() * size_of::<T>() + bytes)?;
        items.try_reserve_exact(more).map_err(refused)?;
    }
    items.push(item);
    Ok(())
}

/// So many zeros.
pub(crate) fn zeros(count: usize) -> Result<Vec<u8>> {
    let refused = |()| Error::out_of_memory(count as u64);
    bytemuck::allocation::try_zeroed_vec(count).map_err(refused)
}
