//! Lists: the arrays of a list column, behind each other in one column (FORMAT 6.4).
//!
//! ```text
//! byte 0     1     2..4   4..8    8..12  12..16  16..      32..
//!      kind  form  place  length  bits   owner   elements  offsets
//! ```
//!
//! A list never moves while it lives: its headers keep their places. Their data may move.

use crate::block::column::{Elements, row_of};
use crate::block::column_type::ColumnType;
use crate::block::owner::Owner;
use crate::block::record::Block;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u16, load_u32, load_u64};
use crate::format::layout::*;
use crate::store::target::Target;

/// A list: one column with the elements of all arrays of a list column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) offset: u32,
    /// Elements of each array, where that is fixed.
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
        List::known_offsets(Elements::at(bytes, self.offset.wrapping_add(LIST_OFFSETS))?)
    }

    #[inline]
    fn known_offsets(offsets: Elements) -> Result<Elements> {
        let known = matches!(offsets.column, ColumnType::U8 | ColumnType::U16 | ColumnType::U32);
        if !known || offsets.gaps != GAPS_NONE {
            return Err(Error::new(ErrorKind::WrongBlock, offsets.offset as u64));
        }
        Ok(offsets)
    }

    /// Index of the first element of array `row`, and how many elements it has.
    #[inline]
    pub(crate) fn bounds(&self, bytes: &[u8], row: u32) -> Result<(u64, u64)> {
        if let Some(length) = self.length {
            return Ok((row as u64 * length as u64, length as u64));
        }
        let header = Elements::header_at(bytes, self.offset.wrapping_add(LIST_OFFSETS))?;
        let offsets = List::known_offsets(header)?;
        if row as u64 + 1 >= offsets.count as u64 {
            return Err(Error::new(ErrorKind::BadCount, offsets.offset as u64));
        }
        let width = offsets.column.width();
        let at = offsets.data as u64 + row as u64 * width;
        let (start, end) = match width {
            1 => (load_u8(bytes, at)?.into(), load_u8(bytes, at + 1)?.into()),
            2 => (load_u16(bytes, at)?.into(), load_u16(bytes, at + 2)?.into()),
            _ => (load_u32(bytes, at)?, load_u32(bytes, at + 4)?),
        };
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

/// The elements of the array whose row a node's cell names.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) fn elements_of(bytes: &[u8], cell: u64) -> Result<Elements> {
    match row_of(cell) {
        None => Elements::load_inlined(bytes, Block::resolve(bytes, cell as u32)?),
        Some(row) => List::load(bytes, cell as u32)?.element(bytes, row),
    }
}
