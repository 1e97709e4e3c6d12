//! Room in vectors beside the document: growth that is quick while they are small,
//! and bounded once they are large.

use crate::error::{Error, Result};
use alloc::vec::Vec;

/// Room for one more: much more while small, later a quarter more, to bound memory.
#[inline]
pub(super) fn make_room<T>(items: &mut Vec<T>) -> Result<()> {
    make_room_for(items, 1)
}

/// The same for so many more.
#[inline]
pub(super) fn make_room_for<T>(items: &mut Vec<T>, count: usize) -> Result<()> {
    if items.len() + count <= items.capacity() {
        return Ok(());
    }
    let length = items.len();
    let more = match length {
        ..512 => (3 * length).max(64),
        512..4096 => length,
        _ => length / 4,
    };
    let more = more.max(count);
    let refused = |_| Error::out_of_memory((more * size_of::<T>()) as u64);
    items.try_reserve_exact(more).map_err(refused)
}

/// Bytes of a value in the encoder: its cell and its tag.
pub(super) const PLACE: usize = 9;

/// So many values are worth a question whether there is memory for work on them.
pub(super) const LARGE: usize = 1 << 13;

/// Most bytes that are taken for what is only expected.
const MOST_EXPECTED: usize = 1 << 30;

/// Room for so many more that are expected. There may be less, where memory is short.
pub(super) fn expect_room<T>(items: &mut Vec<T>, more: usize) {
    if more.saturating_mul(size_of::<T>()) <= MOST_EXPECTED {
        let _ = items.try_reserve_exact(more);
    }
}

/// The same for tags and their cells. There is room for as many tags as there is for cells.
pub(super) fn expect_values(tags: &mut Vec<u8>, cells: &mut Vec<u64>, more: usize) {
    expect_room(tags, more);
    if tags.capacity() - tags.len() >= more {
        expect_room(cells, more);
    }
}

/// Bytes that a vector has room for.
pub(super) fn memory<T>(items: &Vec<T>) -> usize {
    items.capacity() * size_of::<T>()
}
