//! Owns what a reader by serde knows of tables and lists: their keys and columns are looked up
//! once, and not again for each row.

use crate::block::column::Elements;
use crate::block::list::List;
use crate::block::shape::Shape;
use crate::block::table::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::load_u32;
use crate::format::layout::{ARRAY_COUNT, LIST_CHILD, TABLE_HEADERS};
use crate::view::Mode;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell};

/// So many rows and arrays are met before the first table is kept, and none is kept that has
/// fewer: what is read once is not worth it.
const FEW: u32 = 8;
/// So many tables and lists are kept.
const PLACES: usize = 32;
/// In how many places a table or list may be.
const TRIES: usize = 4;

/// What is known of a document, whose bytes do not change meanwhile.
#[derive(Default)]
pub(super) struct KnownBlocks<'de> {
    /// Rows and arrays that were met, up to [`FEW`].
    met: Cell<u32>,
    places: OnceCell<Box<[OnceCell<Block<'de>>; PLACES]>>,
}

/// A table or list that was met.
struct Block<'de> {
    offset: u32,
    seen: Seen<'de>,
}

enum Seen<'de> {
    Rows(Rows<'de>),
    Arrays(Arrays),
    /// It is to be looked at again each time.
    Other,
}

/// A table whose rows have no members but those of its columns, in their order.
pub(super) struct Rows<'de> {
    /// Keys, and where the values are. No column has fewer slots than there are rows.
    columns: Vec<(&'de str, Elements)>,
    count: u32,
}

/// A list.
pub(super) struct Arrays {
    /// The elements of all arrays.
    elements: Elements,
    spans: Spans,
}

/// Where arrays begin and end.
enum Spans {
    /// So many elements each.
    Fixed(u32),
    Offsets(Elements),
}

impl<'de> KnownBlocks<'de> {
    /// The table at this offset; `None` if it is better looked at each time.
    #[inline]
    pub(super) fn rows<M: Mode>(&self, bytes: &'de [u8], offset: u32) -> Option<&Rows<'de>> {
        let count =
            load_u32(bytes, u64::from(offset) + (TABLE_HEADERS + ARRAY_COUNT) as u64).ok()?;
        match self.find(offset, count, || Rows::learn::<M>(bytes, offset).map(Seen::Rows))? {
            Seen::Rows(rows) => Some(rows),
            _ => None,
        }
    }

    /// The list at this offset; `None` if it is better looked at each time.
    #[inline]
    pub(super) fn arrays(&self, bytes: &'de [u8], offset: u32) -> Option<&Arrays> {
        let count = load_u32(bytes, u64::from(offset) + (LIST_CHILD + ARRAY_COUNT) as u64).ok()?;
        match self.find(offset, count, || Arrays::learn(bytes, offset).map(Seen::Arrays))? {
            Seen::Arrays(arrays) => Some(arrays),
            _ => None,
        }
    }

    #[inline]
    fn find(
        &self,
        offset: u32,
        count: u32,
        learn: impl FnOnce() -> Result<Seen<'de>>,
    ) -> Option<&Seen<'de>> {
        if count < FEW {
            return None;
        }
        let met = self.met.get();
        if met < FEW {
            self.met.set(met + 1);
            return None;
        }
        let places = self.places.get_or_init(Box::default);
        let first = (offset.wrapping_mul(0x9E37_79B1) >> 27) as usize;
        let place = (first..first + TRIES).find_map(|place| {
            let place = &places[place % PLACES];
            place.get().is_none_or(|block| block.offset == offset).then_some(place)
        })?;
        let block = place.get_or_init(|| Block { offset, seen: learn().unwrap_or(Seen::Other) });
        Some(&block.seen)
    }
}

impl<'de> Rows<'de> {
    #[cold]
    #[inline(never)]
    fn learn<M: Mode>(bytes: &'de [u8], offset: u32) -> Result<Self> {
        let table = Table::load(bytes, offset)?;
        let other = || Error::new(ErrorKind::Unsupported, offset.into());
        if table.extras != 0 || table.ordered {
            return Err(other());
        }
        let shape = Shape::of_table(bytes, table.shape.into(), table.columns)?;
        let column = |index| {
            let column = table.column(bytes, index)?;
            if column.count < table.rows {
                return Err(other());
            }
            Ok((M::text(shape.key(bytes, index)?, 0)?, column))
        };
        let columns = (0..table.columns).map(column).collect::<Result<_>>()?;
        Ok(Rows { columns, count: table.rows })
    }

    /// Count of the columns.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there is such a row.
    pub(super) fn has(&self, row: u32) -> bool {
        row < self.count
    }

    /// A column and its key.
    #[inline]
    pub(super) fn column(&self, index: usize) -> Option<&(&'de str, Elements)> {
        self.columns.get(index)
    }
}

impl Arrays {
    #[cold]
    #[inline(never)]
    fn learn(bytes: &[u8], offset: u32) -> Result<Self> {
        let list = List::load(bytes, offset)?;
        let spans = match list.length {
            Some(length) => Spans::Fixed(length),
            None => Spans::Offsets(list.offsets(bytes)?),
        };
        Ok(Arrays { elements: list.child(bytes)?, spans })
    }

    /// The elements of an array. `None` where it is not there, or damaged.
    #[inline]
    pub(super) fn get(&self, bytes: &[u8], row: u32) -> Option<Elements> {
        let (start, count) = match self.spans {
            Spans::Fixed(length) => (u64::from(row) * u64::from(length), length),
            Spans::Offsets(offsets) => {
                let at = |row: u32| {
                    let raw = (row < offsets.count).then(|| offsets.element(bytes, row).ok())??;
                    Some(raw.cell)
                };
                let (start, end) = (at(row)?, at(row + 1)?);
                (start, end.saturating_sub(start) as u32)
            }
        };
        if start + u64::from(count) > self.elements.count.into() {
            return None;
        }
        Some(Elements { first: start as u32, count, ..self.elements })
    }
}
