//! Tables: what struct columns lead to (FORMAT 6.3).
//!
//! ```text
//! byte 0     1     2..4   4..8   8..12  12..16  16..20  20..22   22..24  24..
//!      kind  form  place  shape  bits   owner   extras  columns  zero    column headers
//! ```
//!
//! Each column has an element for every row, so the first one's count is that of the rows. Where
//! the form is 1, one more column says in which order some rows have their members.
//!
//! A table never moves while it lives: its headers keep their places. Their data may move.

use crate::block::column::Elements;
use crate::block::column_type::ColumnType;
use crate::block::owner::Owner;
use crate::block::record::Raw;
use crate::block::shape::Shape;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u32, load_u64};
use crate::format::cell::{Needle, span_bytes};
use crate::format::layout::*;
use crate::store::space::Space;
use crate::store::storage::Storage;
use crate::store::target::Target;

/// A table: a column for each of the first keys of its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) offset: u32,
    pub(crate) columns: u32,
    pub(crate) shape: u32,
    pub(crate) rows: u32,
    /// Offset of the array that says which objects hold further fields of which rows.
    pub(crate) extras: u32,
    /// A column behind the others says in which order rows have their members.
    pub(crate) ordered: bool,
}

impl Table {
    #[inline]
    pub(crate) fn load(bytes: &[u8], offset: u32) -> Result<Table> {
        let at = offset as u64;
        let first = load_u64(bytes, at)?;
        if first as u8 != KIND_TABLE {
            return Err(Error::new(ErrorKind::WrongBlock, at));
        }
        let last = load_u64(bytes, at + TABLE_EXTRAS as u64)?;
        let columns = (last >> 32) as u16;
        if columns == 0 {
            // Without columns any count of rows would take no bytes.
            return Err(Error::new(ErrorKind::BadCount, at));
        }
        Ok(Table {
            offset,
            columns: columns.into(),
            shape: (first >> 32) as u32,
            rows: load_u32(bytes, at + (TABLE_HEADERS + ARRAY_COUNT) as u64)?,
            extras: last as u32,
            ordered: (first >> 8) as u8 != 0,
        })
    }

    pub(crate) fn size(&self) -> u64 {
        table_size(self.headers()) as u64
    }

    /// Count of the column headers: those of the keys' columns and, behind them, that of the
    /// orders.
    #[inline]
    pub(crate) fn headers(&self) -> u32 {
        self.columns + u32::from(self.ordered)
    }

    /// The order of a row's members: places of columns, as bytes. Columns that it does not name
    /// come last, in their own order. Empty if a row has no order of its own.
    #[inline]
    pub(crate) fn order<'a>(&self, bytes: &'a [u8], row: u32) -> Result<&'a [u8]> {
        if self.ordered { self.own_order(bytes, row) } else { Ok(&[]) }
    }

    #[cold]
    fn own_order<'a>(&self, bytes: &'a [u8], row: u32) -> Result<&'a [u8]> {
        let raw = self.field(bytes, row, self.columns)?;
        match raw.tag {
            TAG_HOLE => Ok(&[]),
            TAG_STRING => span_bytes(bytes, raw.cell, raw.position.into()),
            _ => Err(Error::new(ErrorKind::BadCode, self.header(self.columns).into())),
        }
    }

    /// Offset of the header of column `index`.
    #[inline]
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
        Ok(shape.find_in_any(bytes, self.columns, &Needle::new(key))?.is_some())
    }

    /// The extras: rows, and objects with their further fields.
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

    /// The place of a row in the extras, or where it would be, and the home of its object.
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
            // 0 is no home. It must not read as a row without further fields.
            (_, Some(0)) => Err(Error::new(ErrorKind::WrongBlock, self.extras as u64)),
            (_, home) => Ok(home.unwrap_or(0)),
        }
    }
}

/// The slot at a place in the order of a row's members, if the table has so many columns: a column,
/// or a further field after all of them. The columns that the order names count first. `None` if
/// the column came before, or is not there.
#[inline]
pub(crate) fn slot_at(order: &[u8], columns: u32, place: u32) -> Option<u32> {
    if order.is_empty() {
        return Some(place);
    }
    let (before, slot) = match order.get(place as usize) {
        Some(&column) => (&order[..place as usize], column.into()),
        None => (order, place - order.len() as u32),
    };
    let known = match slot < columns {
        true => !u8::try_from(slot).is_ok_and(|slot| before.contains(&slot)),
        false => before.len() == order.len(),
    };
    known.then_some(slot)
}

/// Checks that a column can have the orders of rows: a dictionary, in which rows without one are
/// missing.
pub(crate) fn check_orders_header(column: Elements) -> Result<()> {
    match column.column.is_dictionary() && column.gaps & GAPS_NULL == 0 {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::BadCode, column.offset.into())),
    }
}

/// Checks that each text of the orders of a table names columns, of the first 128, and none twice.
pub(crate) fn check_orders(bytes: &[u8], table: Table, column: Elements) -> Result<()> {
    check_orders_header(column)?;
    let no_room = Error::new(ErrorKind::BadCount, column.offset.into());
    let texts = column.entries(bytes)?.ok_or(no_room)?;
    for index in 0..texts.count {
        let raw = texts.slot(bytes, index)?;
        let mut named = [false; 128];
        let columns = (table.columns as usize).min(named.len());
        for &place in span_bytes(bytes, raw.cell, raw.position.into())? {
            let place = usize::from(place);
            if place >= columns || core::mem::replace(&mut named[place], true) {
                return Err(Error::new(ErrorKind::BadIndex, raw.position.into()));
            }
        }
    }
    Ok(())
}

/// The row and the home of an entry of the extras.
pub(crate) fn extra(raw: Raw) -> (u32, u32) {
    ((raw.cell >> 32) as u32, raw.cell as u32)
}

/// The entry for a row and the home of its object.
pub(crate) fn extra_entry(row: u32, home: u32) -> (u8, u64) {
    (TAG_INT, home as u64 | (row as u64) << 32)
}

/// Writing. The plan of the edit has made sure that all of it fits, so nothing here can fail.
impl Table {
    /// Writes the header; the columns' headers are still to be written. `bits` is where the
    /// bitmaps of the rows lie, 0 for none.
    pub(crate) fn write_header(&self, space: &mut impl Target, owner: Owner, bits: u32) {
        owner.write(space, (KIND_TABLE, self.ordered.into()), self.offset, self.shape, bits);
        let last = self.extras as u64 | (self.columns as u64) << 32;
        space.write_u64((self.offset + TABLE_EXTRAS) as u64, last);
    }

    /// Writes the offset of the array with the extras.
    pub(crate) fn set_extras<S: Storage>(&self, space: &mut Space<S>, extras: u32) {
        space.write_u32((self.offset + TABLE_EXTRAS) as u64, extras);
    }
}

impl Owner {
    /// Offset of the column's header.
    pub(crate) fn header(&self, bytes: &[u8]) -> Result<u32> {
        match load_u8(bytes, self.block as u64)? {
            KIND_ARRAY if self.column == 0 => Ok(self.block),
            KIND_LIST if self.column == 0 => Ok(self.block.wrapping_add(LIST_CHILD)),
            KIND_TABLE => {
                let table = Table::load(bytes, self.block)?;
                if self.column as u32 >= table.headers() {
                    return Err(Error::new(ErrorKind::WrongBlock, self.block as u64));
                }
                Ok(table.header(self.column as u32))
            }
            _ => Err(Error::new(ErrorKind::WrongBlock, self.block as u64)),
        }
    }
}
