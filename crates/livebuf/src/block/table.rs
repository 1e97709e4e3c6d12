//! Tables and lists: what struct and list columns lead to (FORMAT 6.3, 6.4).
//!
//! ```text
//!        0     1        2..4  4..8    8..12  12..16  16..20  20..24  24..
//! table  kind  columns  place shape   rows   bits    owner   extras  column headers
//! list   kind  form     place length  zero   bits    owner   zero    headers: elements, offsets
//! ```
//!
//! Neither ever moves while it lives: headers within have fixed places, their data has not.

use crate::block::column::{ColumnType, Elements};
use crate::block::record::Raw;
use crate::block::shape::Shape;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u16, load_u32, load_u64};
use crate::format::cell::Needle;
use crate::format::layout::*;
use crate::store::space::{Observer, Space};
use crate::store::storage::Storage;

/// A table: a column for each of the first keys of its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) offset: u32,
    pub(crate) columns: u32,
    pub(crate) shape: u32,
    pub(crate) rows: u32,
    /// Offset of the array that says which objects hold further fields of which rows.
    pub(crate) extras: u32,
}

impl Table {
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn load(bytes: &[u8], offset: u32) -> Result<Table> {
        let at = offset as u64;
        let first = load_u64(bytes, at)?;
        if first as u8 != KIND_TABLE {
            return Err(Error::new(ErrorKind::WrongBlock, at));
        }
        if first & 0xFF00 == 0 {
            // Rows of no columns would cost no bytes.
            return Err(Error::new(ErrorKind::BadCount, at));
        }
        Ok(Table {
            offset,
            columns: (first >> 8) as u8 as u32,
            shape: (first >> 32) as u32,
            rows: load_u32(bytes, at + TABLE_ROWS as u64)?,
            extras: load_u32(bytes, at + TABLE_EXTRAS as u64)?,
        })
    }

    pub(crate) fn size(&self) -> u64 {
        table_size(self.columns) as u64
    }

    /// Offset of the header of column `index`.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn header(&self, index: u32) -> u32 {
        // Damaged offsets near the end are refused by the loads that follow.
        self.offset.wrapping_add(table_column(index))
    }

    /// Column `index`, below the count of columns.
    pub(crate) fn column(&self, bytes: &[u8], index: u32) -> Result<Elements> {
        Elements::at(bytes, self.header(index))
    }

    /// Field `index` of a row; its tag is [`TAG_HOLE`] where it is missing.
    pub(crate) fn field(&self, bytes: &[u8], row: u32, index: u32) -> Result<Raw> {
        Elements::one(bytes, self.header(index), row)
    }

    /// Whether a key is that of a column; `shape` is the table's.
    pub(crate) fn has(&self, bytes: &[u8], shape: Shape, key: &[u8]) -> Result<bool> {
        Ok(shape.find(bytes, self.columns, &Needle::new(key))?.is_some())
    }

    /// Rows and objects of the extras.
    pub(crate) fn extras(&self, bytes: &[u8]) -> Result<Option<Elements>> {
        if self.extras == 0 {
            return Ok(None);
        }
        let extras = Elements::at(bytes, self.extras)?;
        if extras.column != ColumnType::U64 || extras.gaps != GAPS_NONE {
            return Err(Error::new(ErrorKind::WrongBlock, self.extras as u64));
        }
        Ok(Some(extras))
    }

    /// Where a row stands in the extras, or would, and the home of its object.
    pub(crate) fn find_extra(&self, bytes: &[u8], row: u32) -> Result<(u32, Option<u32>)> {
        let Some(extras) = self.extras(bytes)? else { return Ok((0, None)) };
        let (mut low, mut high) = (0, extras.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let (at, home) = extra(extras.slot(bytes, middle)?);
            match at.cmp(&row) {
                core::cmp::Ordering::Equal => return Ok((middle, Some(home))),
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok((low, None))
    }

    /// Home of the object with a row's further fields; 0 for none.
    pub(crate) fn extra(&self, bytes: &[u8], row: u32) -> Result<u32> {
        if self.extras == 0 {
            return Ok(0);
        }
        match self.find_extra(bytes, row)? {
            // No object is in the header: this is no way to say that there is none.
            (_, Some(0)) => Err(Error::new(ErrorKind::WrongBlock, self.extras as u64)),
            (_, home) => Ok(home.unwrap_or(0)),
        }
    }
}

/// Row and home of an entry of the extras.
pub(crate) fn extra(raw: Raw) -> (u32, u32) {
    ((raw.cell >> 32) as u32, raw.cell as u32)
}

/// The entry of a row and the home of its object.
pub(crate) fn extra_entry(row: u32, home: u32) -> (u8, u64) {
    (TAG_INT, home as u64 | (row as u64) << 32)
}

/// Writing. What is written is planned before, so that it fits; none of this can fail.
impl Table {
    /// Writes the header; the columns' headers are still to be written. `bits` is where the
    /// bitmaps of the rows lie, 0 for none.
    pub(crate) fn write_header<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        owner: Owner,
        bits: u32,
    ) {
        let at = self.offset;
        let first = [KIND_TABLE, self.columns as u8, owner.column, 0];
        let first = u32::from_le_bytes(first) as u64 | (self.shape as u64) << 32;
        space.write_u64(at as u64, first);
        space.write_u64((at + TABLE_ROWS) as u64, self.rows as u64 | (bits as u64) << 32);
        let words = owner.block as u64 | (self.extras as u64) << 32;
        space.write_u64((at + NESTED_OWNER) as u64, words);
    }

    pub(crate) fn set_rows<S: Storage, O: Observer>(&self, space: &mut Space<S, O>, rows: u32) {
        space.write_u32((self.offset + TABLE_ROWS) as u64, rows);
    }

    /// Names the array with the extras.
    pub(crate) fn set_extras<S: Storage, O: Observer>(&self, space: &mut Space<S, O>, extras: u32) {
        space.write_u32((self.offset + TABLE_EXTRAS) as u64, extras);
    }
}

/// Says where the bitmaps of a table's rows or a list's arrays lie.
pub(crate) fn set_nested_bits<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    nested: u32,
    bits: u32,
) {
    space.write_u32((nested + NESTED_BITS) as u64, bits);
}

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
    pub(crate) fn write_header<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        owner: Owner,
        bits: u32,
    ) {
        let at = self.offset;
        let first = [KIND_LIST, self.length.is_some() as u8, owner.column, 0];
        let length = self.length.unwrap_or(0);
        space.write_u64(at as u64, u32::from_le_bytes(first) as u64 | (length as u64) << 32);
        space.write_u64((at + TABLE_ROWS) as u64, (bits as u64) << 32);
        space.write_u32((at + NESTED_OWNER) as u64, owner.block);
    }

    /// The elements of all arrays.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn child(&self, bytes: &[u8]) -> Result<Elements> {
        Elements::at_inlined(bytes, self.offset.wrapping_add(LIST_CHILD))
    }

    /// The offsets, one more than there are arrays.
    pub(crate) fn offsets(&self, bytes: &[u8]) -> Result<Elements> {
        List::known_offsets(Elements::at(bytes, self.offset.wrapping_add(LIST_OFFSETS))?)
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn known_offsets(offsets: Elements) -> Result<Elements> {
        let known = matches!(offsets.column, ColumnType::U8 | ColumnType::U16 | ColumnType::U32);
        if !known || offsets.gaps != GAPS_NONE {
            return Err(Error::new(ErrorKind::WrongBlock, offsets.offset as u64));
        }
        Ok(offsets)
    }

    /// First element of array `row`, and how many there are.
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

/// Whose column a table or list is the data of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Owner {
    /// Offset of an array's header, a table or a list.
    pub(crate) block: u32,
    /// Which of a table's columns; 0 of others.
    pub(crate) column: u8,
}

impl Owner {
    /// Of the table or list at `nested`.
    pub(crate) fn load(bytes: &[u8], nested: u32) -> Result<Owner> {
        let block = load_u32(bytes, nested as u64 + NESTED_OWNER as u64)?;
        Ok(Owner { block, column: load_u8(bytes, nested as u64 + NESTED_COLUMN as u64)? })
    }

    /// Offset of the column's header.
    pub(crate) fn header(&self, bytes: &[u8]) -> Result<u32> {
        match load_u8(bytes, self.block as u64)? {
            KIND_ARRAY if self.column == 0 => Ok(self.block),
            KIND_LIST if self.column == 0 => Ok(self.block.wrapping_add(LIST_CHILD)),
            KIND_TABLE => {
                let table = Table::load(bytes, self.block)?;
                if self.column as u32 >= table.columns {
                    return Err(Error::new(ErrorKind::WrongBlock, self.block as u64));
                }
                Ok(table.header(self.column as u32))
            }
            _ => Err(Error::new(ErrorKind::WrongBlock, self.block as u64)),
        }
    }

    /// The table or list that the column is in; 0 for an array by itself.
    pub(crate) fn within(&self, bytes: &[u8]) -> Result<u32> {
        Ok(if load_u8(bytes, self.block as u64)? == KIND_ARRAY { 0 } else { self.block })
    }
}

/// Bytes of keys that a slot of a column pays for, where all tables below pay for their own
/// (FORMAT 6.3). Whoever calls has seen that columns nest no deeper than they may.
pub(crate) fn worth(bytes: &[u8], column: Elements) -> Result<u64> {
    let worth = match column.column {
        ColumnType::Struct => {
            let table = Table::load(bytes, column.data)?;
            let shape = Shape::load(bytes, table.shape as u64)?;
            let (mut paid, mut keys) = (0, 0);
            for index in 0..table.columns {
                paid += worth(bytes, table.column(bytes, index)?)?;
                keys += shape.key(bytes, index)?.len() as u64;
            }
            let unpaid = || Error::new(ErrorKind::BadCount, table.offset as u64);
            paid.checked_sub(keys).ok_or_else(unpaid)?
        }
        ColumnType::List => {
            worth(bytes, List::load(bytes, column.data)?.child(bytes)?)?;
            // The offset of each array.
            KEY_BYTES
        }
        ColumnType::FixedList => {
            let list = List::load(bytes, column.data)?;
            list.length.unwrap_or(0) as u64 * worth(bytes, list.child(bytes)?)?
        }
        leaf => return Ok(leaf.worth()),
    };
    Ok(worth.min(NESTED_WORTH))
}
