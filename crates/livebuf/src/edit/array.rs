//! Editing arrays: columns that grow, shift, and widen where a value does not fit.

use super::{Container, Editor, New, NodeId, Part, Place};
use crate::block::column::{ColumnType, Elements};
use crate::block::record::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u64};
use crate::format::layout::*;
use crate::store::space::{Extent, Observer};
use crate::store::storage::Storage;

/// How many elements of a column fit in `size` bytes.
fn capacity_in(column: ColumnType, size: u64) -> u32 {
    let count = match column {
        ColumnType::Cells => 8 * (size / 72) + (size % 72 / 8).saturating_sub(1),
        ColumnType::Bool => size * 8,
        _ => size / column.width(),
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Elements to make room for behind an array that ends the document: little,
/// so that slack stays below a hundredth of the data.
fn growth_at_end(count: u32) -> u32 {
    1 + count / 200
}

/// Whether an array is edited as the columns of tables are.
fn is_slotted(elements: Elements) -> bool {
    elements.column.is_nested() || elements.gaps != GAPS_NONE
}

/// What making room for one more element takes.
struct Growth {
    column: ColumnType,
    capacity: u32,
    /// Bytes to add behind the data, which is last in the document.
    tail: u64,
    /// Bytes of a new place for the data; 0 where it stays.
    moved: u64,
}

/// What room for more elements takes: of plain elements, or as many bytes in all where the
/// array is edited as columns are.
enum Room {
    Plain(Growth),
    Slots(u64),
}

impl<S: Storage, O: Observer> Editor<S, O> {
    fn array(&self, node: NodeId) -> Result<Elements> {
        match self.container(node)? {
            Container::Array(elements) | Container::Listed(.., elements) => Ok(elements),
            _ => Err(Error::new(ErrorKind::WrongType, node.home as u64)),
        }
    }

    /// Adds an element at the end; its handle where it is a container.
    ///
    /// Amortized constant time; the last array of the document grows by need.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], limits and space.
    #[inline]
    pub fn push<'v>(&mut self, node: NodeId, new: impl Into<New<'v>>) -> Result<Option<NodeId>> {
        self.space.editable()?;
        let new = new.into();
        if let Some(()) = self.push_number(node, &new) {
            return Ok(None);
        }
        self.add_element(node, None, new)
    }

    /// The array of a handle, by itself: one whose length can change.
    fn parted(&mut self, node: NodeId) -> Result<Elements> {
        match self.container(node)? {
            Container::Array(elements) => Ok(elements),
            Container::Listed(list, row, elements) => self.part_list(list, row, elements),
            _ => Err(Error::new(ErrorKind::WrongType, node.home as u64)),
        }
    }

    /// The common case: a number that the column holds, and room for it or the
    /// document's end behind it.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn push_number(&mut self, node: NodeId, new: &New<'_>) -> Option<()> {
        let (column, bits) = match *new {
            New::Int(value) => (ColumnType::I64, value as u64),
            New::Float(value) => (ColumnType::F64, value.to_bits()),
            _ => return None,
        };
        let bytes = self.space.bytes();
        let header = load_u64(bytes, node.home as u64).ok()?;
        let rest = load_u64(bytes, node.home as u64 + ARRAY_CAPACITY as u64).ok()?;
        let expected = KIND_ARRAY as u32 | (column as u32) << 8;
        let (count, capacity, data) = (header >> 32, rest & 0xFFFF_FFFF, rest >> 32);
        let limit = self.space.limits().elements as u64;
        if !self.handles.is_fresh(node) || header as u32 != expected || count == 0 || count >= limit
        {
            return None;
        }
        let at = data + 8 * count;
        if count >= capacity {
            if count > capacity || at != self.space.used() as u64 {
                return None;
            }
            let more = growth_at_end(count as u32) as u64;
            self.space.ensure(0, 8 * more).ok()?;
            self.space.extend(8 * more);
            self.space.write_u64(node.home as u64 + ARRAY_CAPACITY as u64, rest + more);
        } else {
            check(bytes, at, 8).ok()?;
        }
        self.space.write_u64(at, bits);
        // The whole word that the next push loads: a processor waits for a store
        // of a part of it, which is twice the time of all else here.
        self.space.write_u64(node.home as u64, header + (1 << 32));
        Some(())
    }

    /// Inserts an element before `index` (at the end where it is the length);
    /// its handle where it is a container. O(n) in what follows.
    ///
    /// # Errors
    /// [`ErrorKind::IndexOutOfRange`], and as [`push`](Self::push).
    pub fn insert<'v>(
        &mut self,
        node: NodeId,
        index: usize,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeId>> {
        self.space.editable()?;
        self.add_element(node, Some(index), new.into())
    }

    /// An array whose length is to change: as it will be, where it is one of a list's and
    /// becomes one by itself first.
    fn plan_alone(&self, node: NodeId, container: Container) -> Result<(Elements, Option<Part>)> {
        match container {
            Container::Array(elements) => Ok((elements, None)),
            Container::Listed(list, row, elements) => {
                let part = self.plan_part(list, row, elements)?;
                Ok((part.array, Some(part)))
            }
            _ => Err(Error::new(ErrorKind::WrongType, node.home as u64)),
        }
    }

    /// Carries out what [`plan_alone`](Self::plan_alone) planned: the array and its home.
    fn put_alone(
        &mut self,
        node: NodeId,
        elements: Elements,
        part: Option<Part>,
        extent: &mut Extent,
    ) -> (u32, Elements) {
        let Some(part) = part else { return (node.home, elements) };
        let parted = self.put_part(&part, extent);
        self.committed(parted.map(|_| ()));
        parted.unwrap_or((node.home, elements))
    }

    /// Adds an element before `index`, or at the end.
    #[inline(never)]
    fn add_element(
        &mut self,
        node: NodeId,
        index: Option<usize>,
        new: New<'_>,
    ) -> Result<Option<NodeId>> {
        let node = self.enter(node)?;
        let added = self.trusting(|editor| editor.try_add_element(node, index, new));
        self.finish_growing();
        added
    }

    /// The same in a document that was validated, if that is needed. An array of a list
    /// becomes one by itself first, by the same plan.
    fn try_add_element(
        &mut self,
        node: NodeId,
        index: Option<usize>,
        new: New<'_>,
    ) -> Result<Option<NodeId>> {
        let (elements, part) = self.plan_alone(node, self.container(node)?)?;
        let index = match index {
            None => elements.count,
            Some(index) if index <= elements.count as usize => index as u32,
            Some(_) => {
                let count = elements.count as u64;
                return Err(Error::with_detail(ErrorKind::IndexOutOfRange, 0, count));
            }
        };
        let size = self.measure(&new, node)?;
        self.check_elements(elements.count as u64 + 1)?;
        let room = if is_slotted(elements) {
            Room::Slots(self.plan_slot(elements, &new)?)
        } else {
            let (tag, probe) = new.probe();
            Room::Plain(self.plan_growth(elements, 1, tag, probe))
        };
        let (added, tail) = match &room {
            Room::Slots(bytes) => (*bytes, 0),
            Room::Plain(growth) => (size + growth.moved + header_size(elements), growth.tail),
        };
        let fresh = added + part.as_ref().map_or(0, |part| part.fresh);
        self.space.ensure(fresh, tail)?;

        self.space.extend(tail);
        let mut extent = self.space.take(fresh);
        let (home, elements) = self.put_alone(node, elements, part, &mut extent);
        let (tag, cell) = match room {
            Room::Slots(_) => self.put_slot(elements, index, &new, &mut extent),
            Room::Plain(growth) => {
                let elements = self.grow(home, elements, &growth, &mut extent);
                let (tag, cell) = self.build(&new, &mut extent);
                let (space, after) = (&mut self.space, elements.count - index);
                elements.move_slots(space, index, index + 1, after);
                elements.put(space, index, (tag, cell));
                elements.set_count(space, elements.count + 1);
                (tag, cell)
            }
        };
        self.space.finish(extent);
        Ok(self.handle(Raw::unplaced(tag, cell), node.depth.saturating_add(1)))
    }

    /// Column, capacity and space for `additional` elements, one of them this value.
    fn plan_growth(&self, elements: Elements, additional: u32, tag: u8, cell: u64) -> Growth {
        let needed = elements.count.saturating_add(additional);
        let column = if elements.count == 0 {
            ColumnType::for_first(tag)
        } else if elements.column.fit(tag, cell).is_some() {
            elements.column
        } else {
            let widened = elements.column.widened(tag);
            if widened.fit(tag, cell).is_some() { widened } else { ColumnType::Cells }
        };
        let old_size = elements.data_size();
        if column == elements.column || elements.count == 0 {
            let room = capacity_in(column, old_size);
            if needed <= room {
                return Growth { column, capacity: room, tail: 0, moved: 0 };
            }
            if elements.data as u64 + old_size == self.space.used() as u64 && old_size > 0 {
                let size = column.data_size(elements.count + growth_at_end(needed).max(additional));
                let capacity = capacity_in(column, size);
                return Growth { column, capacity, tail: size - old_size, moved: 0 };
            }
        }
        let wanted = if needed > elements.capacity {
            needed.max(elements.count.saturating_add((elements.count / 2).max(3)))
        } else {
            elements.capacity
        };
        let size = column.data_size(wanted);
        Growth { column, capacity: capacity_in(column, size), tail: 0, moved: size }
    }

    /// Carries a growth out: the array with its new column, capacity and data.
    fn grow(
        &mut self,
        home: u32,
        elements: Elements,
        growth: &Growth,
        extent: &mut Extent,
    ) -> Elements {
        let &Growth { column, capacity, moved, .. } = growth;
        let unchanged = column == elements.column && capacity == elements.capacity;
        if unchanged && moved == 0 && !elements.bare {
            return elements;
        }
        let offset = if elements.bare { extent.carve(ARRAY_SIZE as u64) } else { elements.offset };
        let data = if moved > 0 { extent.carve(moved) } else { elements.data };
        let grown = Elements::new(offset, column, elements.count, capacity, data);
        grown.write_header(&mut self.space);
        if moved > 0 {
            if column == elements.column {
                elements.move_to(&mut self.space, data, capacity);
            } else {
                for index in 0..elements.count {
                    if let Ok(raw) = elements.element(self.space.bytes(), index) {
                        grown.put(&mut self.space, index, (raw.tag, raw.cell));
                    }
                }
            }
            self.space.free(elements.data as u64, elements.data_size());
        }
        if elements.bare {
            self.move_home(home, elements.offset, 8, offset);
        }
        grown
    }

    /// Replaces an element; its new tag and cell.
    pub(super) fn set_element(
        &mut self,
        node: NodeId,
        elements: Elements,
        index: u32,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        if is_slotted(elements) {
            return self.set_slot(node, Place::alone(elements), index, new);
        }
        if elements.column == ColumnType::Cells {
            let data = elements.data as u64;
            return self.replace(data + tag_at(index), data + cell_at(index), new, node);
        }
        let old = elements.element(self.space.bytes(), index)?;
        let size = self.measure(&new, node)?;
        let (tag, probe) = new.probe();
        let alone = Elements { count: elements.count.saturating_sub(1), ..elements };
        let fits = elements.column.fit(tag, probe).is_some();
        let growth = match fits || alone.count > 0 {
            true => self.plan_growth(elements, 0, tag, probe),
            false => {
                // The only element changes its type: the column may become anything.
                let column = ColumnType::for_first(tag);
                let size = column.data_size(1);
                Growth { column, capacity: capacity_in(column, size), tail: 0, moved: size }
            }
        };
        let fresh = size + growth.moved;
        self.space.ensure(fresh, growth.tail)?;
        let mut extent = self.space.take(fresh);
        let kept = if growth.column == elements.column {
            elements
        } else {
            self.grow(node.home, elements, &growth, &mut extent)
        };
        let (tag, cell) = self.build(&new, &mut extent);
        self.space.finish(extent);
        kept.put(&mut self.space, index, (tag, cell));
        self.release(old);
        Ok((tag, cell))
    }

    /// Takes an element out.
    pub(super) fn take_element(
        &mut self,
        elements: Elements,
        index: usize,
        keeps: bool,
    ) -> Result<Option<Raw>> {
        if index >= elements.count as usize {
            return Ok(None);
        }
        if is_slotted(elements) {
            return self.take_slot(elements, index as u32, keeps);
        }
        let raw = elements.element(self.space.bytes(), index as u32)?;
        let (space, index, last) = (&mut self.space, index as u32, elements.count - 1);
        elements.move_slots(space, index + 1, index, last - index);
        elements.set_count(space, last);
        Ok(Some(raw))
    }

    /// Takes the last element out and frees it; false where the array is empty.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], or what is damaged.
    pub fn pop(&mut self, node: NodeId) -> Result<bool> {
        let elements = self.array(self.resolve(node)?)?;
        match elements.count {
            0 => Ok(false),
            count => self.remove(node, count as usize - 1),
        }
    }

    /// Exchanges two elements.
    ///
    /// # Errors
    /// [`ErrorKind::IndexOutOfRange`], [`ErrorKind::StaleHandle`],
    /// [`ErrorKind::WrongType`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!([1, "two", 3.0]);
    /// let list = doc.root().unwrap();
    /// doc.swap(list, 0, 2)?;
    /// doc.truncate(list, 2)?;
    /// assert_eq!(format!("{:?}", doc.doc().root().as_array()?.unwrap()), r#"[3.0, "two"]"#);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn swap(&mut self, node: NodeId, a: usize, b: usize) -> Result<()> {
        self.space.editable()?;
        let node = self.enter(node)?;
        let elements = self.array(node)?;
        if a.max(b) >= elements.count as usize {
            let count = elements.count as u64;
            return Err(Error::with_detail(ErrorKind::IndexOutOfRange, 0, count));
        }
        let (a, b) = (a as u32, b as u32);
        let exchanged = self.trusting(|editor| editor.exchange_elements(node, a, b));
        self.finish();
        exchanged
    }

    fn exchange_elements(&mut self, node: NodeId, a: u32, b: u32) -> Result<()> {
        let elements = self.parted(node)?;
        if is_slotted(elements) {
            return self.swap_slots(elements, a, b);
        }
        let bytes = self.space.bytes();
        let (first, second) = (elements.element(bytes, a)?, elements.element(bytes, b)?);
        elements.put(&mut self.space, a, (second.tag, second.cell));
        elements.put(&mut self.space, b, (first.tag, first.cell));
        Ok(())
    }

    /// Frees the elements from `length` on; the room is kept.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], or what is damaged.
    pub fn truncate(&mut self, node: NodeId, length: usize) -> Result<()> {
        self.space.editable()?;
        let node = self.enter(node)?;
        if length >= self.array(node)?.count as usize {
            return Ok(());
        }
        let truncated = self.trusting(|editor| {
            let elements = editor.parted(node)?;
            if is_slotted(elements) {
                return editor.truncate_slots(elements, length as u32);
            }
            editor.truncate_elements(elements, length as u32);
            Ok(())
        });
        self.finish();
        truncated
    }

    fn truncate_elements(&mut self, elements: Elements, length: u32) {
        if elements.bare {
            return;
        }
        self.release_elements(elements, length);
        elements.clear(&mut self.space, length..elements.count);
        elements.set_count(&mut self.space, length);
    }

    /// Makes room for more elements; an array of a list becomes one by itself first.
    pub(super) fn reserve_elements(
        &mut self,
        node: NodeId,
        container: Container,
        additional: u32,
    ) -> Result<()> {
        let (elements, part) = self.plan_alone(node, container)?;
        let needed = elements.count as u64 + additional as u64;
        self.check_elements(needed)?;
        let room = if is_slotted(elements) {
            Room::Slots(self.plan_reserve(elements, 0, additional)?)
        } else {
            let column = if elements.count == 0 { ColumnType::I64 } else { elements.column };
            let old_size = elements.data_size();
            let size = column.data_size(needed as u32).max(old_size);
            let end = elements.data as u64 + old_size;
            let at_tail = end == self.space.used() as u64 && old_size > 0;
            let (tail, moved) = match size - old_size {
                0 => (0, 0),
                more if at_tail => (more, 0),
                _ => (0, size),
            };
            Room::Plain(Growth { column, capacity: capacity_in(column, size), tail, moved })
        };
        let (added, tail) = match &room {
            Room::Slots(bytes) => (*bytes, 0),
            Room::Plain(growth) if growth.tail + growth.moved == 0 => (0, 0),
            Room::Plain(growth) => (growth.moved + header_size(elements), growth.tail),
        };
        let fresh = added + part.as_ref().map_or(0, |part| part.fresh);
        self.space.ensure(fresh, tail)?;
        self.space.extend(tail);
        let mut extent = self.space.take(fresh);
        let (home, elements) = self.put_alone(node, elements, part, &mut extent);
        match room {
            Room::Slots(_) => self.put_reserve(elements, additional, &mut extent),
            Room::Plain(growth) if growth.tail + growth.moved > 0 => {
                self.grow(home, elements, &growth, &mut extent);
            }
            Room::Plain(_) => {}
        }
        self.space.finish(extent);
        Ok(())
    }
}

/// Bytes of the header that an array without one gets when it grows.
fn header_size(elements: Elements) -> u64 {
    if elements.bare { ARRAY_SIZE as u64 } else { 0 }
}

impl New<'_> {
    /// The tag a new value will have, and its cell as far as columns care.
    pub(super) fn probe(&self) -> (u8, u64) {
        match *self {
            New::Null => (TAG_NULL, 0),
            New::Bool(value) => (TAG_FALSE + value as u8, 0),
            New::Int(value) => (TAG_INT, value as u64),
            New::Uint(value) if value <= i64::MAX as u64 => (TAG_INT, value),
            New::Uint(value) => (TAG_UINT, value),
            New::Float(value) => (TAG_FLOAT, value.to_bits()),
            New::Str(_) => (TAG_STRING, 0),
            New::Bytes(_) => (TAG_BYTES, 0),
            New::Number(_) => (TAG_NUMBER, 0),
            New::Object { .. } | New::Map { .. } | New::Fields(_) => (TAG_OBJECT, 0),
            New::Array { .. } | New::Items(_) => (TAG_ARRAY, 0),
            New::Copy(ref value) => (value.raw().tag, value.raw().cell),
            New::Detached(detached) => (detached.raw().tag, detached.raw().cell),
        }
    }
}
