//! The stack of values that wait: a cell and a tag for each place.
//!
//! Each value of an open container takes one place. Within the outermost open array, the
//! containers wait as well, each with all that it holds behind it:
//!
//! ```text
//! array:   [count of places | bytes as a plain array]  values ...
//! object:  [key list | count of places]  [bytes as a record]  values ...
//! ```

/// A tensor that became part of a column.
pub(super) const TAG_ABSORBED_TENSOR: u8 = 0xEC;
/// The tag of a tensor within an array. The cell is its number among those that wait.
pub(super) const TAG_TENSOR: u8 = 0xED;
/// The tag of a UUID within an array. The cell is where its bytes wait.
pub(super) const TAG_LOOSE_UUID: u8 = 0xEE;
/// The tag of text that is not searched for equal ones. The cell is where its bytes wait.
pub(super) const TAG_LOOSE: u8 = 0xEF;
/// The tag of text that may turn out to be shared. The cell is the text's number in `texts`.
pub(super) const TAG_WAITING: u8 = 0xF0;
/// A waiting array. The cell's low half counts the places of its contents. The high half is
/// its size as a plain array, and later its home.
pub(super) const TAG_WAITING_ARRAY: u8 = 0xF1;
/// A waiting object. The cell's low half is its key list, the high half counts the places of
/// its contents. If these are not 0, a place of [`TAG_WAITING_SIZE`] follows.
pub(super) const TAG_WAITING_OBJECT: u8 = 0xF2;
/// The size as a record of the object one place before, and later its home.
pub(super) const TAG_WAITING_SIZE: u8 = 0xF3;
/// A waiting array or object that became part of a column.
pub(super) const TAG_ABSORBED_ARRAY: u8 = 0xF4;
pub(super) const TAG_ABSORBED_OBJECT: u8 = 0xF5;

/// The count of places of the value at `at`, its contents included.
#[inline]
pub(super) fn places(tags: &[u8], cells: &[u64], at: usize) -> usize {
    match tags[at] {
        ..TAG_WAITING_ARRAY => 1,
        TAG_WAITING_ARRAY | TAG_ABSORBED_ARRAY => 1 + cells[at] as u32 as usize,
        _ => match cells[at] >> 32 {
            0 => 1,
            places => 2 + places as usize,
        },
    }
}

/// The places of the direct children of the container at `at`.
pub(super) fn children<'t>(
    tags: &'t [u8],
    cells: &'t [u64],
    at: usize,
) -> impl Iterator<Item = usize> + 't {
    let end = at + places(tags, cells, at);
    // An empty object has no place for its size.
    let head = match tags[at] {
        TAG_WAITING_ARRAY | TAG_ABSORBED_ARRAY => 1,
        _ => 2,
    };
    run(tags, cells, at + head, end)
}

/// The places of the values from `at` to `end`, without the places of their contents.
#[inline]
pub(super) fn run<'t>(
    tags: &'t [u8],
    cells: &'t [u64],
    mut at: usize,
    end: usize,
) -> impl Iterator<Item = usize> + 't {
    core::iter::from_fn(move || {
        (at < end).then(|| {
            let here = at;
            at += places(tags, cells, at);
            here
        })
    })
}

/// Tags and cells of values that lie one behind the other.
#[derive(Clone, Copy)]
pub(super) struct CellRun<'v> {
    pub(super) tags: &'v [u8],
    pub(super) cells: &'v [u64],
}

impl<'v> CellRun<'v> {
    /// So many of them, from `start` on.
    pub(super) fn part(self, start: u32, count: u32) -> CellRun<'v> {
        let part = start as usize..(start + count) as usize;
        CellRun { tags: &self.tags[part.clone()], cells: &self.cells[part] }
    }

    #[inline]
    pub(super) fn values(self) -> impl ExactSizeIterator<Item = (u8, u64)> + Clone + 'v {
        self.tags.iter().copied().zip(self.cells.iter().copied())
    }
}
