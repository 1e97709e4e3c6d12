//! Walking a value's containers child by child.
//!
//! Walkers keep their place in a small stack of [`Cursor`]s and call
//! themselves only once in [`CHUNK`] levels, so that the deepest document
//! allowed fits small threads' stacks, unoptimised builds included.

use crate::array::{ColumnType, Elements};
use crate::cell::span_at_position;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::*;
use crate::map::Map;
use crate::record::{Block, Raw};
use crate::shape::Shape;

/// Levels that one call of a walker handles.
pub(crate) const CHUNK: usize = 32;

/// A place in a container: the children still to come.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    pub(crate) block: Block,
    index: u32,
}

impl Cursor {
    /// What a walker's stack holds where there is nothing yet.
    pub(crate) const NONE: Cursor = Cursor { block: Block { offset: 0, header: 0 }, index: 0 };

    /// All children of a container.
    pub(crate) fn new(block: Block) -> Cursor {
        Cursor { block, index: 0 }
    }

    /// The children that may hold something outside the container: none of a
    /// numeric or boolean column.
    pub(crate) fn references(bytes: &[u8], block: Block) -> Result<Cursor> {
        let flat =
            block.kind() == KIND_ARRAY && !holds_references(Elements::load(bytes, block)?.column);
        Ok(Cursor { block, index: if flat { u32::MAX } else { 0 } })
    }

    /// The next child and its place: a field, an entry or an element.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Result<Option<(u32, Raw)>> {
        match self.block.kind() {
            KIND_RECORD => {
                let record = self.block.record()?;
                while self.index < record.used() {
                    let raw = record.field(bytes, self.index)?;
                    self.index += 1;
                    if raw.tag != TAG_HOLE {
                        return Ok(Some((self.index - 1, raw)));
                    }
                }
                Ok(None)
            }
            KIND_MAP => {
                let map = Map::load(bytes, self.block.offset as u64)?;
                match map.next_live(bytes, self.index)? {
                    Some((index, entry)) => {
                        self.index = index + 1;
                        Ok(Some((index, entry.load(bytes)?)))
                    }
                    None => Ok(None),
                }
            }
            _ => {
                let elements = Elements::load(bytes, self.block)?;
                if self.index >= elements.count {
                    return Ok(None);
                }
                self.index += 1;
                Ok(Some((self.index - 1, elements.element(bytes, self.index - 1)?)))
            }
        }
    }

    /// The key of the child at `index`; `None` in arrays.
    pub(crate) fn key<'a>(&self, bytes: &'a [u8], index: u32) -> Result<Option<&'a [u8]>> {
        match self.block.kind() {
            KIND_RECORD => {
                let record = self.block.record()?;
                let shape = Shape::load(bytes, record.shape() as u64)?;
                if index >= shape.count {
                    return Err(Error::new(ErrorKind::BadCount, record.offset as u64));
                }
                shape.key(bytes, index).map(Some)
            }
            KIND_MAP => {
                let map = Map::load(bytes, self.block.offset as u64)?;
                span_at_position(bytes, map.entry(bytes, index)?.key).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Whether a column's elements can lead elsewhere.
pub(crate) fn holds_references(column: ColumnType) -> bool {
    use ColumnType::*;
    matches!(column, Cells | String | Objects | Arrays)
}

/// The work that a walk over one document may cause. A valid document cannot
/// exceed it; a damaged one, whose values alias, is stopped.
pub(crate) struct Allowance {
    values: u64,
    text: u64,
    limit: u64,
}

impl Allowance {
    /// Every value takes a bit of its own at least; text that is not inline is
    /// owned, or has at most 1,024 bytes for each cell of eight.
    pub(crate) fn new(bytes: &[u8], budget: u64) -> Allowance {
        let length = bytes.len() as u64;
        Allowance { values: budget.min(8 * length), text: 129 * length, limit: budget }
    }

    pub(crate) fn value(&mut self) -> Result<()> {
        self.take(1, 0)
    }

    pub(crate) fn text(&mut self, length: usize) -> Result<()> {
        self.take(0, length as u64)
    }

    fn take(&mut self, values: u64, text: u64) -> Result<()> {
        match (self.values.checked_sub(values), self.text.checked_sub(text)) {
            (Some(values), Some(text)) => {
                (self.values, self.text) = (values, text);
                Ok(())
            }
            _ => Err(Error::with_detail(ErrorKind::BudgetExceeded, 0, self.limit)),
        }
    }
}
