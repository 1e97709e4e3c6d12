//! Walking a value's containers child by child.
//!
//! Walkers keep their place in a small stack of [`Cursor`]s and call
//! themselves only once in [`CHUNK`] levels, so that the deepest document
//! allowed fits small threads' stacks, unoptimised builds included.

use crate::array::{ColumnType, Elements, row_of};
use crate::cell::span_at_position;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::*;
use crate::map::Map;
use crate::record::{Block, Raw, Record};
use crate::shape::Shape;
use crate::table::Table;

/// Levels that one call of a walker handles.
pub(crate) const CHUNK: usize = 32;

/// An object or array: what holds its children.
#[derive(Clone, Copy)]
pub(crate) enum Node {
    Record(Record),
    /// A map's offset.
    Map(u32),
    /// A row of a table.
    Row(Table, u32),
    /// An array, or one of the arrays in a list.
    Array(Elements),
}

impl Node {
    /// What a node's tag and cell lead to.
    pub(crate) fn of(bytes: &[u8], raw: Raw) -> Result<Node> {
        match (raw.tag, row_of(raw.cell)) {
            (TAG_OBJECT, Some(row)) => {
                let table = Table::load(bytes, raw.cell as u32)?;
                if row >= table.rows {
                    return Err(Error::new(ErrorKind::BadCount, table.offset as u64));
                }
                Ok(Node::Row(table, row))
            }
            (TAG_OBJECT, None) => {
                let block = Block::resolve(bytes, raw.cell as u32)?;
                match block.kind() {
                    KIND_MAP => Ok(Node::Map(block.offset)),
                    _ => Ok(Node::Record(block.record()?)),
                }
            }
            (TAG_ARRAY, _) => Ok(Node::Array(Elements::of(bytes, raw.cell)?)),
            _ => Err(Error::new(ErrorKind::UnsupportedFeature, raw.position.into())),
        }
    }

    /// The next live field or entry of a record or map, from a place on.
    fn member(&self, bytes: &[u8], mut from: u32) -> Result<Option<(u32, Raw)>> {
        match *self {
            Node::Record(record) => {
                while from < record.used() {
                    let raw = record.field(bytes, from)?;
                    if raw.tag != TAG_HOLE {
                        return Ok(Some((from, raw)));
                    }
                    from += 1;
                }
                Ok(None)
            }
            Node::Map(offset) => {
                let map = Map::load(bytes, offset as u64)?;
                match map.next_live(bytes, from)? {
                    Some((index, entry)) => Ok(Some((index, entry.load(bytes)?))),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    fn member_key<'a>(&self, bytes: &'a [u8], index: u32) -> Result<Option<&'a [u8]>> {
        match *self {
            Node::Record(record) => {
                Shape::load(bytes, record.shape() as u64)?.key(bytes, index).map(Some)
            }
            Node::Map(offset) => {
                let map = Map::load(bytes, offset as u64)?;
                span_at_position(bytes, map.entry(bytes, index)?.key).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// A place in a container: the children still to come.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    pub(crate) node: Node,
    index: u32,
    /// Of a row: the home of the object with its further fields, 0 for none.
    extra: u32,
}

impl Cursor {
    /// What a walker's stack holds where there is nothing yet.
    pub(crate) const NONE: Cursor = Cursor { node: Node::Map(0), index: 0, extra: 0 };

    /// All children of a container.
    pub(crate) fn new(bytes: &[u8], raw: Raw) -> Result<Cursor> {
        let node = Node::of(bytes, raw)?;
        let extra = match node {
            Node::Row(table, row) => table.extra(bytes, row)?,
            _ => 0,
        };
        Ok(Cursor { node, index: 0, extra })
    }

    /// The children that may hold something outside the container: none of a
    /// numeric or boolean column.
    pub(crate) fn references(bytes: &[u8], raw: Raw) -> Result<Cursor> {
        let mut cursor = Cursor::new(bytes, raw)?;
        if let Node::Array(elements) = cursor.node
            && !holds_references(elements.column)
        {
            cursor.index = u32::MAX;
        }
        Ok(cursor)
    }

    /// Leaves a row's further fields out, and tells where they are.
    pub(crate) fn take_extra(&mut self) -> Option<Raw> {
        let home = core::mem::take(&mut self.extra);
        (home != 0).then_some(Raw::object(home))
    }

    fn extra(&self, bytes: &[u8]) -> Result<Node> {
        Node::of(bytes, Raw::object(self.extra))
    }

    /// The next child and its place: a field, an entry or an element.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Result<Option<(u32, Raw)>> {
        match self.node {
            Node::Array(elements) => {
                if self.index >= elements.count {
                    return Ok(None);
                }
                self.index += 1;
                Ok(Some((self.index - 1, elements.element(bytes, self.index - 1)?)))
            }
            Node::Row(table, row) => {
                while self.index < table.columns {
                    let raw = table.field(bytes, row, self.index)?;
                    self.index += 1;
                    if raw.tag != TAG_HOLE {
                        return Ok(Some((self.index - 1, raw)));
                    }
                }
                if self.extra == 0 {
                    return Ok(None);
                }
                let extra = self.extra(bytes)?;
                let member = extra.member(bytes, self.index - table.columns)?;
                Ok(member.map(|(index, raw)| {
                    self.index = table.columns + index + 1;
                    (self.index - 1, raw)
                }))
            }
            node => {
                let member = node.member(bytes, self.index)?;
                if let Some((index, _)) = member {
                    self.index = index + 1;
                }
                Ok(member)
            }
        }
    }

    /// The key of the child at `index`; `None` in arrays.
    pub(crate) fn key<'a>(&self, bytes: &'a [u8], index: u32) -> Result<Option<&'a [u8]>> {
        match self.node {
            Node::Row(table, _) if index < table.columns => {
                Shape::load(bytes, table.shape as u64)?.key(bytes, index).map(Some)
            }
            Node::Row(table, _) => self.extra(bytes)?.member_key(bytes, index - table.columns),
            node => node.member_key(bytes, index),
        }
    }
}

/// Whether a column's elements can lead elsewhere.
pub(crate) fn holds_references(column: ColumnType) -> bool {
    use ColumnType::*;
    matches!(column, Cells | String | Objects | Arrays | Struct | List | FixedList)
}

/// The work that a walk over one document may cause. A valid document cannot
/// exceed it; a damaged one, whose values alias, is stopped.
pub(crate) struct Allowance {
    values: u64,
    text: u64,
    limit: u64,
}

impl Allowance {
    /// Every value takes a bit of its own at least, and is in as many rows as columns
    /// nest at most; text that is not inline is owned, or has at most 1,024 bytes for
    /// each cell of eight.
    pub(crate) fn new(bytes: &[u8], budget: u64) -> Allowance {
        let length = bytes.len() as u64;
        let values = 8 * (1 + MAX_COLUMN_DEPTH as u64) * length;
        Allowance { values: budget.min(values), text: 129 * length, limit: budget }
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
