//! Arrays: elements that are pushed, inserted, replaced, exchanged and taken out.
//!
//! [`column`](super::column) changes their bytes.

use super::column::{ColumnEdit, ColumnPlace};
use super::editor::{Container, Editor};
use super::handles::NodeId;
use super::new::New;
use super::rules::{growth_at_end, has_plain_slots};
use crate::block::column::Elements;
use crate::block::column_type::ColumnType;
use crate::block::list::elements_of;
use crate::block::record::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u64};
use crate::format::layout::*;
use crate::store::storage::Storage;

impl<S: Storage> Editor<S> {
    /// The array of a handle, as it lies in the document, and its elements.
    fn array(&self, node: NodeId) -> Result<(Container, Elements)> {
        match self.container(node)? {
            array @ (Container::Array(elements) | Container::Listed(.., elements)) => {
                Ok((array, elements))
            }
            _ => Err(Error::new(ErrorKind::WrongType, node.home() as u64)),
        }
    }

    /// Adds an element at the end; its handle where it is a container.
    ///
    /// Amortized constant time; the last array of the document grows by need.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], limits and space.
    ///
    /// ```
    /// use livebuf::{New, json};
    /// let mut doc = json!([1]);
    /// let list = doc.root_id().unwrap();
    /// doc.push(list, 2)?;
    /// let object = doc.push(list, New::object(1))?.unwrap();
    /// doc.set(object, "lap", 3)?;
    /// assert_eq!(doc.pointer("/2/lap")?.unwrap(), 3);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn push<'v>(&mut self, node: NodeId, new: impl Into<New<'v>>) -> Result<Option<NodeId>> {
        self.space.editable()?;
        let new = new.into();
        if let Some(()) = self.push_number(node, &new) {
            self.end_edit_in_place()?;
            return Ok(None);
        }
        self.add_element(node, None, new)
    }

    /// An array whose length or order can change: one of a list becomes one by itself. Where the
    /// undo log was full it did not, and there is no array to go on with.
    pub(super) fn part(&mut self, array: Container) -> Result<Elements> {
        if let Container::Array(elements) = array {
            return Ok(elements);
        }
        let (_, home) = self.change(ColumnEdit::Part { array })?;
        self.space.editable()?;
        elements_of(self.space.bytes(), home)
    }

    /// The common case: a number that the column holds, and room for it or the
    /// document's end behind it.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn push_number(&mut self, node: NodeId, new: &New<'_>) -> Option<()> {
        let (column, bits) = match *new {
            New::Int(value) => (ColumnType::I64, value as u64),
            New::Float(value) => (ColumnType::F64, value.to_bits()),
            _ => return None,
        };
        let bytes = self.space.bytes();
        let header = load_u64(bytes, node.home() as u64).ok()?;
        let rest = load_u64(bytes, node.home() as u64 + ARRAY_CAPACITY as u64).ok()?;
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
            self.space.write_u64(node.home() as u64 + ARRAY_CAPACITY as u64, rest + more);
        } else {
            check(bytes, at, 8).ok()?;
        }
        self.space.write_u64(at, bits);
        // Writes the whole word, which the next push loads. After a store of a part of it, a
        // processor waits twice as long as all else here takes.
        self.space.write_u64(node.home() as u64, header + (1 << 32));
        Some(())
    }

    /// Inserts an element before `index` (at the end where it is the length);
    /// its handle where it is a container. O(n) in what follows.
    ///
    /// # Errors
    /// [`ErrorKind::IndexOutOfRange`], and as [`push`](Self::push).
    ///
    /// ```
    /// let mut doc = livebuf::json!([1, 3]);
    /// let list = doc.root_id().unwrap();
    /// doc.insert(list, 1, 2)?;
    /// doc.insert(list, 3, 4)?;
    /// assert_eq!(format!("{:?}", doc.root().as_array()?.unwrap()), "[1, 2, 3, 4]");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn insert<'v>(
        &mut self,
        node: NodeId,
        index: usize,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeId>> {
        self.space.editable()?;
        self.add_element(node, Some(index), new.into())
    }

    /// Adds an element before `index`, or at the end. An array of a list becomes one by
    /// itself first, in the same step.
    #[inline(never)]
    fn add_element(
        &mut self,
        node: NodeId,
        index: Option<usize>,
        new: New<'_>,
    ) -> Result<Option<NodeId>> {
        let node = self.enter(node)?;
        let added = self.trusting(|editor| {
            let (array, elements) = editor.array(node)?;
            let index = match index {
                None => elements.count,
                Some(index) if index <= elements.count as usize => index as u32,
                Some(_) => {
                    let count = elements.count as u64;
                    return Err(Error::with_detail(ErrorKind::IndexOutOfRange, 0, count));
                }
            };
            let size = editor.measure(&new, node)?;
            let (tag, cell) = match editor.append(array, index, &new, size)? {
                Some(value) => value,
                None => editor.change(ColumnEdit::Insert { array, index, new })?,
            };
            Ok(editor.handle(Raw::unplaced(tag, cell), node.depth().saturating_add(1)))
        });
        self.finish_growing()?;
        added
    }

    /// The common case of a push: room behind the last element, in a column that holds the
    /// value. Nothing but the value needs bytes, and these were measured. `None` where this
    /// is not the case.
    fn append(
        &mut self,
        array: Container,
        index: u32,
        new: &New<'_>,
        size: u64,
    ) -> Result<Option<(u8, u64)>> {
        let Container::Array(elements) = array else { return Ok(None) };
        let (tag, cell) = new.probe();
        let has_no_gaps = elements.gaps == GAPS_NONE;
        let plain = has_plain_slots(elements) && (has_no_gaps || self.space.trusted);
        let room = index == elements.count && 0 < index && index < elements.capacity;
        if !plain || !room || elements.column.fit(tag, cell).is_none() {
            return Ok(None);
        }
        self.check_elements(index as u64 + 1)?;
        self.space.ensure(size, 0)?;
        let mut extent = self.space.take(size);
        let value = self.build(new, &mut extent);
        self.space.free_rest(extent);
        elements.put(&mut self.space, index, value);
        elements.set_count(&mut self.space, index + 1);
        Ok(Some(value))
    }

    /// Replaces an element; its new tag and cell.
    pub(super) fn set_element(
        &mut self,
        node: NodeId,
        array: Container,
        elements: Elements,
        index: u32,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        if matches!(array, Container::Array(_))
            && elements.column == ColumnType::Cells
            && elements.gaps == GAPS_NONE
        {
            let data = elements.data as u64;
            return self.replace(data + tag_at(index), data + cell_at(index), &new, node);
        }
        self.measure(&new, node)?;
        let (place, slot) = ColumnPlace::of_element(array, elements, index);
        self.change(ColumnEdit::Set { place, slot, new })
    }

    /// Takes an element out; an array of a list becomes one by itself first.
    pub(super) fn take_element(
        &mut self,
        array: Container,
        elements: Elements,
        index: usize,
        keeps: bool,
    ) -> Result<Option<Raw>> {
        if index >= elements.count as usize {
            return Ok(None);
        }
        let (array, index) = (self.part(array)?, index as u32);
        let (tag, cell) = self.change(ColumnEdit::Take { array, index, keeps })?;
        Ok(Some(Raw::unplaced(tag, cell)))
    }

    /// Takes the last element out and frees it; false where the array is empty.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!([1]);
    /// let list = doc.root_id().unwrap();
    /// assert!(doc.pop(list)?);
    /// assert!(!doc.pop(list)?);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn pop(&mut self, node: NodeId) -> Result<bool> {
        let (_, elements) = self.array(self.resolve(node)?)?;
        match elements.count {
            0 => self.space.editable().map(|()| false),
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
    /// let list = doc.root_id().unwrap();
    /// doc.swap(list, 0, 2)?;
    /// doc.truncate(list, 2)?;
    /// assert_eq!(format!("{:?}", doc.doc().root().as_array()?.unwrap()), r#"[3.0, "two"]"#);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn swap(&mut self, node: NodeId, a: usize, b: usize) -> Result<()> {
        let node = self.enter_to_edit(node)?;
        let (_, elements) = self.array(node)?;
        if a.max(b) >= elements.count as usize {
            let count = elements.count as u64;
            return Err(Error::with_detail(ErrorKind::IndexOutOfRange, 0, count));
        }
        if a == b {
            return Ok(());
        }
        let (a, b) = (a as u32, b as u32);
        let exchanged = self.trusting(|editor| {
            let array = editor.part(editor.container(node)?)?;
            editor.change(ColumnEdit::Swap { array, a, b })
        });
        self.end_edit()?;
        exchanged.map(|_| ())
    }

    /// Frees the elements from `length` on; the room is kept.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], or what is damaged.
    pub fn truncate(&mut self, node: NodeId, length: usize) -> Result<()> {
        let node = self.enter_to_edit(node)?;
        if length >= self.array(node)?.1.count as usize {
            return Ok(());
        }
        let length = length as u32;
        let truncated = self.trusting(|editor| {
            let array = editor.part(editor.container(node)?)?;
            editor.change(ColumnEdit::Truncate { array, length })
        });
        self.end_edit()?;
        truncated.map(|_| ())
    }

    /// Makes room for more elements; an array of a list becomes one by itself first.
    pub(super) fn reserve_elements(&mut self, node: NodeId, more: u32) -> Result<()> {
        let (array, elements) = self.array(node)?;
        self.check_elements(elements.count as u64 + more as u64)?;
        self.change(ColumnEdit::Reserve { array, more }).map(drop)
    }
}
