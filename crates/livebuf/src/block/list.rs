//! Lists: the arrays of a list column, behind each other in one column (FORMAT 6.4). A run of texts
//! is a list, too: of their bytes.
//!
//! ```text
//! byte 0     1     2..4   4..8    8..12  12..16  16..      32..
//!      kind  form  place  length  bits   owner   elements  offsets
//! ```
//!
//! A list never moves while it lives: its headers keep their places. Their data may move.

use crate::block::column::{Elements, row_of};
use crate::block::column_type::ColumnType;
use crate::block::offsets::two_offsets;
use crate::block::owner::Owner;
use crate::block::record::Block;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u64, slice};
use crate::format::layout::*;
use crate::store::space::Space;
use crate::store::storage::Storage;
use crate::store::target::Target;
use core::ops::Range;

/// Bytes of offsets that are changed at once.
const PIECE: usize = 512;

/// A list: one column with the elements of all arrays of a list column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) offset: u32,
    /// Elements of each array, or bytes of each text, where that is fixed.
    pub(crate) length: Option<u32>,
}

impl List {
    pub(crate) fn load(bytes: &[u8], offset: u32) -> Result<List> {
        let first = load_u64(bytes, offset as u64)?;
        if first as u8 != KIND_LIST {
            return Err(Error::new(ErrorKind::WrongBlock, offset as u64));
        }
        let fixed = (first >> 8) as u8 != 0;
        if fixed && first >> 32 == 0 {
            return Err(Error::new(ErrorKind::BadCount, offset as u64));
        }
        Ok(List { offset, length: fixed.then_some((first >> 32) as u32) })
    }

    pub(crate) fn size(&self) -> u64 {
        if self.length.is_some() { FIXED_LIST_SIZE as u64 } else { LIST_SIZE as u64 }
    }

    /// Writes the header; those of the columns are still to be written. `bits` is where the
    /// bitmaps of the arrays lie, 0 for none.
    pub(crate) fn write_header(&self, space: &mut impl Target, owner: Owner, bits: u32) {
        let kind = (KIND_LIST, self.length.is_some().into());
        owner.write(space, kind, self.offset, self.length.unwrap_or(0), bits);
    }

    /// The elements of all arrays.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn child(&self, bytes: &[u8]) -> Result<Elements> {
        Elements::at_inlined(bytes, self.offset.wrapping_add(LIST_CHILD))
    }

    /// The offsets, one more than there are arrays.
    pub(crate) fn offsets(&self, bytes: &[u8]) -> Result<Elements> {
        let offsets = Elements::at(bytes, self.offset.wrapping_add(LIST_OFFSETS))?;
        let known = matches!(offsets.column, ColumnType::U8 | ColumnType::U16 | ColumnType::U32);
        if !known || offsets.gaps != GAPS_NONE {
            return Err(Error::new(ErrorKind::WrongBlock, offsets.offset as u64));
        }
        Ok(offsets)
    }

    /// Checks that the list has the elements of so many arrays, and no others.
    ///
    /// # Errors
    /// [`ErrorKind::BadCount`], [`ErrorKind::BadIndex`].
    pub(crate) fn check_elements(&self, bytes: &[u8], arrays: u32) -> Result<()> {
        let elements = match self.length {
            Some(length) => length as u64 * arrays as u64,
            None => self.check_offsets(bytes, arrays)?.into(),
        };
        let child = self.child(bytes)?;
        match child.count as u64 == elements {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::BadCount, child.offset as u64)),
        }
    }

    /// Checks the offsets for so many arrays: the first is 0, and none falls. Returns the last.
    fn check_offsets(&self, bytes: &[u8], arrays: u32) -> Result<u32> {
        let offsets = self.offsets(bytes)?;
        if offsets.count as u64 != arrays as u64 + 1 {
            return Err(Error::new(ErrorKind::BadCount, offsets.offset as u64));
        }
        // If none falls, the least one is the first.
        let (mut first, mut last, mut rises) = (u32::MAX, 0, true);
        offsets.each_offset(bytes, 0..offsets.count, |offset| {
            first = first.min(offset);
            rises &= last <= offset;
            last = offset;
            true
        })?;
        match rises && first == 0 {
            true => Ok(last),
            false => Err(Error::new(ErrorKind::BadIndex, offsets.offset as u64)),
        }
    }

    /// Index of the first element of array `row`, and how many elements it has.
    #[inline]
    pub(crate) fn bounds(&self, bytes: &[u8], row: u32) -> Result<(u64, u64)> {
        if let Some(length) = self.length {
            return Ok((row as u64 * length as u64, length as u64));
        }
        let (start, end) = two_offsets(bytes, self.offset.wrapping_add(LIST_OFFSETS), row)?;
        Ok((start as u64, end.saturating_sub(start) as u64))
    }

    /// Array `row`.
    pub(crate) fn element(&self, bytes: &[u8], row: u32) -> Result<Elements> {
        let child = self.child(bytes)?;
        let (start, count) = self.bounds(bytes, row)?;
        if start + count > child.count as u64 {
            return Err(Error::new(ErrorKind::BadCount, child.offset as u64));
        }
        Ok(Elements { first: start as u32, count: count as u32, ..child })
    }
}

/// Offsets: columns of `U8`, `U16` or `U32` without gaps.
impl Elements {
    /// Calls `with` on each of these offsets while it answers true.
    #[inline]
    pub(crate) fn each_offset(
        &self,
        bytes: &[u8],
        slots: Range<u32>,
        mut with: impl FnMut(u32) -> bool,
    ) -> Result<()> {
        let width = self.column.width();
        let length = slots.end.saturating_sub(slots.start) as u64 * width;
        let offsets = slice(bytes, self.data as u64 + slots.start as u64 * width, length)?;
        // A loop for each width, so that the compiler makes each take many offsets at once.
        match width {
            1 => offsets.iter().all(|&offset| with(offset.into())),
            2 => offsets.as_chunks().0.iter().all(|&at| with(u16::from_le_bytes(at).into())),
            _ => offsets.as_chunks().0.iter().all(|&at| with(u32::from_le_bytes(at))),
        };
        Ok(())
    }

    /// Moves where elements begin: adds to these offsets.
    pub(crate) fn add_to_offsets<S: Storage>(
        &self,
        space: &mut Space<S>,
        slots: Range<u32>,
        by: u32,
    ) -> Result<()> {
        let width = self.column.width() as usize;
        let mut piece = [0; PIECE];
        let mut first = slots.start;
        while first < slots.end && by != 0 {
            let count = (slots.end - first).min((PIECE / width) as u32);
            let at = self.data as u64 + first as u64 * width as u64;
            let piece = &mut piece[..count as usize * width];
            piece.copy_from_slice(slice(space.bytes(), at, piece.len() as u64)?);
            match width {
                1 => piece.iter_mut().for_each(|at| *at = at.wrapping_add(by as u8)),
                2 => piece.as_chunks_mut().0.iter_mut().for_each(|at| {
                    *at = u16::from_le_bytes(*at).wrapping_add(by as u16).to_le_bytes();
                }),
                _ => piece.as_chunks_mut().0.iter_mut().for_each(|at| {
                    *at = u32::from_le_bytes(*at).wrapping_add(by).to_le_bytes();
                }),
            }
            space.write(at, piece);
            first += count;
        }
        Ok(())
    }
}

/// The elements of the array whose row a node's cell names.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) fn elements_of(bytes: &[u8], cell: u64) -> Result<Elements> {
    match row_of(cell) {
        None => Elements::load_inlined(bytes, Block::resolve(bytes, cell as u32)?),
        Some(row) => List::load(bytes, cell as u32)?.element(bytes, row),
    }
}
