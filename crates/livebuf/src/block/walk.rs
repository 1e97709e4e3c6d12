//! Walking a value's containers child by child.
//!
//! Walkers keep their place in a small stack of [`Cursor`]s and call
//! themselves only once in [`CHUNK`] levels, so that the deepest document
//! allowed fits a stack of 256 KiB, in unoptimised builds too.

use crate::block::column::{Elements, row_of};
use crate::block::column_type::ColumnType;
use crate::block::list::{List, elements_of};
use crate::block::map::Map;
use crate::block::record::{Block, Raw, Record};
use crate::block::shape::Shape;
use crate::block::table::{Table, extra, slot_at};
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::span_at_position;
use crate::format::layout::*;

/// Levels that one call of a walker handles.
pub(crate) const CHUNK: usize = 64;

/// An object or array: the block that holds its children.
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
    /// The container that a node's tag and cell lead to.
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
            (TAG_ARRAY, _) => Ok(Node::Array(elements_of(bytes, raw.cell)?)),
            _ => Err(Error::new(ErrorKind::UnsupportedFeature, raw.position.into())),
        }
    }

    /// Count of places for members, holes included; 0 for arrays.
    pub(crate) fn places(&self, bytes: &[u8]) -> Result<u32> {
        Ok(match *self {
            Node::Record(record) => record.used(),
            Node::Map(offset) => Map::load(bytes, offset as u64)?.used,
            Node::Row(table, row) => table.columns + table.order(bytes, row)?.len() as u32,
            Node::Array(_) => 0,
        })
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
                    Some(index) => Ok(Some((index, map.value_of(bytes, index)?))),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    #[inline]
    fn member_key_at(&self, bytes: &[u8], index: u32) -> Result<Option<u64>> {
        match *self {
            Node::Record(record) => {
                Shape::load(bytes, record.shape() as u64)?.key_at(index).map(Some)
            }
            Node::Map(offset) => Map::load(bytes, offset as u64)?.key_at(index).map(Some),
            _ => Ok(None),
        }
    }
}

/// A place in a container: the children from there on are still to come.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    pub(crate) node: Node,
    index: u32,
    /// In a row: the home of the object with its further fields, 0 for none.
    extra: u32,
    /// In an array of rows or lists: whether columns come, one by one, instead of these.
    by_columns: bool,
}

impl Cursor {
    /// Fills a walker's stack before it is used.
    pub(crate) const NONE: Cursor =
        Cursor { node: Node::Map(0), index: 0, extra: 0, by_columns: false };

    /// All children of a container.
    pub(crate) fn new(bytes: &[u8], raw: Raw) -> Result<Cursor> {
        let node = Node::of(bytes, raw)?;
        let extra = match node {
            Node::Row(table, row) => table.extra(bytes, row)?,
            _ => 0,
        };
        Ok(Cursor { node, index: 0, extra, by_columns: false })
    }

    /// The children that may hold something outside of the container. A column of numbers or
    /// booleans has none, and neither has a tensor.
    pub(crate) fn references(bytes: &[u8], raw: Raw) -> Result<Cursor> {
        let mut cursor = Cursor::containers(bytes, raw)?;
        if let Node::Array(elements) = cursor.node
            && elements.tensor
        {
            cursor.skip();
        }
        Ok(cursor)
    }

    /// The children that may be containers, those of a tensor among them.
    fn containers(bytes: &[u8], raw: Raw) -> Result<Cursor> {
        let mut cursor = Cursor::new(bytes, raw)?;
        if let Node::Array(elements) = cursor.node
            && !elements.column.holds_references()
        {
            cursor.skip();
        }
        Ok(cursor)
    }

    /// Leaves out all elements of an array.
    pub(crate) fn skip(&mut self) {
        self.index = u32::MAX;
    }

    /// [`references`](Self::references), but an array of rows or of arrays gives the columns below
    /// it: each as an array that has no home, and after them the objects with further fields of
    /// rows. Columns that lead nowhere are left out. So a walk that need not know which row a value
    /// belongs to takes a step for each value, and none for columns of numbers.
    pub(crate) fn columns(bytes: &[u8], raw: Raw) -> Result<Cursor> {
        let mut cursor = Cursor::references(bytes, raw)?;
        if let (Node::Array(elements), None) = (cursor.node, row_of(raw.cell)) {
            cursor.by_columns = elements.column.is_nested() && !elements.column.is_run();
        }
        Ok(cursor)
    }

    /// Whether children are columns, and objects with further fields, in place of rows or arrays.
    pub(crate) fn gives_columns(&self) -> bool {
        self.by_columns
    }

    /// Whether a child is a column below this array.
    pub(crate) fn is_column(&self, child: Raw) -> bool {
        self.by_columns && child.tag == TAG_ARRAY
    }

    /// The next column below an array's that may lead elsewhere, or object with further fields of
    /// one of its rows.
    fn next_column(&mut self, bytes: &[u8], elements: Elements) -> Result<Option<(u32, Raw)>> {
        loop {
            let place = self.index;
            let header = match elements.column {
                ColumnType::Struct => {
                    let table = Table::load(bytes, elements.data)?;
                    match place.checked_sub(table.headers()) {
                        None => table.header(place),
                        Some(further) => {
                            let extras = table.extras(bytes)?;
                            let Some(extras) = extras.filter(|extras| further < extras.count)
                            else {
                                return Ok(None);
                            };
                            self.index += 1;
                            let (_, home) = extra(extras.slot(bytes, further)?);
                            return Ok(Some((place, Raw::object(home))));
                        }
                    }
                }
                _ if place > 0 => return Ok(None),
                _ => List::load(bytes, elements.data)?.offset.wrapping_add(LIST_CHILD),
            };
            self.index += 1;
            // A damaged column is given, too: opening it fails, and the next one can still be had.
            let column = Elements::header_at(bytes, header);
            if column.map_or(true, |column| column.column.holds_references()) {
                return Ok(Some((place, Raw::unplaced(TAG_ARRAY, header.into()))));
            }
        }
    }

    /// Leaves out a row's further fields. Returns the home of their object, 0 for none.
    pub(crate) fn take_extra(&mut self) -> u32 {
        core::mem::take(&mut self.extra)
    }

    fn extra(&self, bytes: &[u8]) -> Result<Node> {
        Node::of(bytes, Raw::object(self.extra))
    }

    /// Count of places for all members, holes and a row's further fields included.
    pub(crate) fn places(&self, bytes: &[u8]) -> Result<u32> {
        let further = if self.extra == 0 { 0 } else { self.extra(bytes)?.places(bytes)? };
        Ok(self.node.places(bytes)?.saturating_add(further))
    }

    /// The next child and its place: a field, an entry or an element.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Result<Option<(u32, Raw)>> {
        match self.node {
            Node::Array(elements) if self.by_columns && self.index < u32::MAX => {
                self.next_column(bytes, elements)
            }
            Node::Array(elements) => {
                if self.index >= elements.count {
                    return Ok(None);
                }
                self.index += 1;
                Ok(Some((self.index - 1, elements.element(bytes, self.index - 1)?)))
            }
            Node::Row(table, row) => {
                let order = table.order(bytes, row)?;
                let places = order.len() as u32 + table.columns;
                while self.index < places {
                    self.index += 1;
                    let column = slot_at(order, table.columns, self.index - 1);
                    let Some(column) = column else { continue };
                    let raw = table.field(bytes, row, column)?;
                    if raw.tag != TAG_HOLE {
                        return Ok(Some((column, raw)));
                    }
                }
                if self.extra == 0 {
                    return Ok(None);
                }
                let extra = self.extra(bytes)?;
                let member = extra.member(bytes, self.index - places)?;
                Ok(member.map(|(index, raw)| {
                    self.index = places + index + 1;
                    (table.columns + index, raw)
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
        match self.key_at(bytes, index)? {
            Some(position) => span_at_position(bytes, position).map(Some),
            None => Ok(None),
        }
    }

    /// Where the cell of that key lies.
    #[inline]
    pub(crate) fn key_at(&self, bytes: &[u8], index: u32) -> Result<Option<u64>> {
        match self.node {
            Node::Row(table, _) if index < table.columns => {
                Shape::of_table(bytes, table.shape as u64, table.columns)?.key_at(index).map(Some)
            }
            Node::Row(table, _) => self.extra(bytes)?.member_key_at(bytes, index - table.columns),
            node => node.member_key_at(bytes, index),
        }
    }
}

/// Calls `stop` on every container in `raw` with its depth, outer containers first, until it
/// answers true. `above` is the count of containers around `raw`. Returns whether `stop`
/// answered true.
pub(crate) fn each_container(
    bytes: &[u8],
    raw: Raw,
    above: u16,
    allowance: &mut Allowance,
    stop: &mut dyn FnMut(Raw, u16) -> bool,
) -> Result<bool> {
    let mut stack = [Cursor::NONE; CHUNK];
    let (mut depth, mut next) = (0, Some(raw));
    loop {
        if let Some(raw) = next.take().filter(|raw| raw.tag > TAG_SPAN_LAST) {
            allowance.value()?;
            let here = above + depth as u16 + 1;
            if depth == CHUNK {
                if here > MAX_NESTING {
                    let limit = MAX_NESTING as u64;
                    return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit));
                }
                if each_container(bytes, raw, here - 1, allowance, stop)? {
                    return Ok(true);
                }
            } else {
                if stop(raw, here) {
                    return Ok(true);
                }
                stack[depth] = Cursor::containers(bytes, raw)?;
                depth += 1;
            }
        }
        if depth == 0 {
            return Ok(false);
        }
        match stack[depth - 1].next(bytes)? {
            Some((_, raw)) => next = Some(raw),
            None => depth -= 1,
        }
    }
}

/// Checks that the object at `home`, which holds further fields of a table's row, is a
/// record or map and has no key of the table's columns.
pub(crate) fn check_further(bytes: &[u8], table: Table, home: u32) -> Result<()> {
    let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
    let mut cursor = Cursor::new(bytes, Raw::object(home))?;
    while let Some((index, _)) = cursor.next(bytes)? {
        let key = cursor.key(bytes, index)?.unwrap_or_default();
        if table.has(bytes, shape, key)? {
            return Err(Error::new(ErrorKind::DuplicateKey, table.extras as u64));
        }
    }
    Ok(())
}

/// The work that a walk over a document may do, by the document's bytes. It counts values, bytes
/// of text, and what else is looked at: places without a member, keys of shapes. A walk over a
/// valid document cannot exceed it. In a damaged one values may alias; such a walk is stopped.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    values: u64,
    text: u64,
    work: u64,
    /// What was left at first.
    most: [u64; 3],
}

impl Allowance {
    /// Values for each byte. A value takes a bit of its own at least. It is in at most
    /// [`MAX_COLUMN_DEPTH`] rows and arrays that take none.
    pub const VALUES: u64 = 8 * (1 + MAX_COLUMN_DEPTH as u64);
    /// Bytes of text for each byte. What is not inline is owned, or has at most 1,024 bytes
    /// for a dictionary's code.
    const TEXT: u64 = MAX_SHARED as u64 + 1;
    /// Other work for each byte: a place in a table takes a bit as a value does, and the keys of a
    /// record's shape are at most 255 bytes for nine of the record.
    const WORK: u64 = Self::VALUES + 64;

    /// Most that comparing a valid document of these bytes takes: each value with its key, and each
    /// 64 bytes of keys and text.
    pub(crate) fn of_comparing(bytes: &[u8]) -> u64 {
        let of_key = 1 + (MAX_SHAPE_KEY as u64).div_ceil(64);
        (Self::VALUES * of_key + Self::TEXT.div_ceil(64)) * (bytes.len() as u64 + 1)
    }

    /// At most `budget` values.
    pub(crate) fn new(bytes: &[u8], budget: u64) -> Allowance {
        let length = bytes.len() as u64;
        Allowance::of_length(length, budget.min(Self::VALUES * length))
    }

    /// So many values, and what else a valid document of so many bytes takes.
    pub fn of_length(length: u64, values: u64) -> Allowance {
        let (text, work) = (Self::TEXT * length, Self::WORK * length);
        Allowance { values, text, work, most: [values, text, work] }
    }

    #[inline]
    pub(crate) fn value(&mut self) -> Result<()> {
        self.values(1)
    }

    /// Counts values.
    ///
    /// # Errors
    /// [`BudgetExceeded`](ErrorKind::BudgetExceeded).
    #[inline]
    pub fn values(&mut self, count: usize) -> Result<()> {
        spend(&mut self.values, count as u64, self.most[0])
    }

    /// How many values are left.
    pub fn values_left(&self) -> u64 {
        self.values
    }

    /// Counts bytes of text.
    ///
    /// # Errors
    /// [`BudgetExceeded`](ErrorKind::BudgetExceeded).
    #[inline]
    pub fn text(&mut self, length: usize) -> Result<()> {
        spend(&mut self.text, length as u64, self.most[1])
    }

    /// Counts a member's key. A short one, which a shape may have for many rows, is part of its
    /// value.
    ///
    /// # Errors
    /// [`BudgetExceeded`](ErrorKind::BudgetExceeded).
    #[cfg(feature = "alloc")]
    #[inline]
    pub fn key(&mut self, length: usize) -> Result<()> {
        if length > MAX_SHAPE_KEY { self.text(length) } else { Ok(()) }
    }

    #[inline]
    pub(crate) fn work(&mut self, amount: usize) -> Result<()> {
        spend(&mut self.work, amount as u64, self.most[2])
    }

    /// Counts a container with places for so many members. Holes take time, too, so they count.
    #[inline]
    pub(crate) fn container(&mut self, places: u32) -> Result<()> {
        self.value()?;
        self.work(places as usize)
    }
}

#[inline]
fn spend(left: &mut u64, by: u64, most: u64) -> Result<()> {
    match left.checked_sub(by) {
        Some(rest) => *left = rest,
        None => return Err(exceeded(most)),
    }
    Ok(())
}

#[cold]
fn exceeded(most: u64) -> Error {
    Error::with_detail(ErrorKind::BudgetExceeded, 0, most)
}
