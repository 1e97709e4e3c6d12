//! Setting and taking out values: one interface to objects and arrays, and JSON pointers.

use super::column::{ColumnEdit, ColumnPlace};
use super::editor::{Container, Editor};
use super::handles::NodeId;
use super::new::Detached;
use super::new::{At, Child, New};
use super::short::{Simple, field_keys, field_values};
use crate::block::map::{self, ByHash, Map};
use crate::block::record::{Block, Raw};
use crate::error::{Error, ErrorKind, Result};
use crate::format::layout::*;
use crate::format::pointer;
use crate::store::storage::Storage;

impl<S: Storage> Editor<S> {
    // --- the root and pointers ----------------------------------------------

    /// Replaces the whole document's value; the handle where it is a container.
    ///
    /// # Errors
    /// Limits and space.
    ///
    /// ```
    /// use livebuf::{DocBuf, New};
    /// let mut doc = DocBuf::new()?;
    /// let list = doc.set_root(New::array(2))?.unwrap();
    /// doc.push(list, 55)?;
    /// assert_eq!(doc.get(0)?.unwrap(), 55);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn set_root<'v>(&mut self, new: impl Into<New<'v>>) -> Result<Option<NodeId>> {
        self.put_root(&new.into())
    }

    fn put_root(&mut self, new: &New<'_>) -> Result<Option<NodeId>> {
        self.space.editable()?;
        if let New::Object { capacity } = *new
            && let Some(root) = self.begin_root(capacity)
        {
            return Ok(Some(root));
        }
        if let New::Fields(fields) = *new {
            let (keys, values) = (field_keys(fields), field_values(fields));
            if let Some(root) = self.set_root_message(fields.len(), true, keys, values) {
                return Ok(Some(root));
            }
        }
        let (tag, cell) = (HEADER_ROOT_TAG as u64, HEADER_ROOT_CELL as u64);
        let above = self.handles.give(0, 0, 0);
        let (tag, cell) = self.replace(tag, cell, new, above)?;
        let root = self.handle(Raw::unplaced(tag, cell), 1);
        self.end_edit()?;
        Ok(root)
    }

    /// Sets the value at a JSON pointer. The parent must be there. The last token names a member
    /// (added if missing) or an element, or is `-` for the place after the last.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`]: a parent is missing.
    /// - [`ErrorKind::WrongType`]: a parent is no object or array, or it is an array and the
    ///   pointer goes on with no index.
    /// - [`ErrorKind::BadPointer`], limits and space.
    ///
    /// Of the first two, the `detail` is the length of the part of the pointer that leads to
    /// that parent, in bytes.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [{"time": 88.4}]});
    /// doc.set_pointer("/laps/0/time", 87.9)?;
    /// let pointer = "/laps/1/tyres/0";
    /// let error = doc.set_pointer(pointer, "soft").unwrap_err();
    /// assert_eq!(error.kind(), livebuf::ErrorKind::NotFound);
    /// assert_eq!(&pointer[..error.detail() as usize], "/laps/1");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn set_pointer<'v>(
        &mut self,
        pointer: &str,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeId>> {
        let new = new.into();
        let Some((parent, last)) = pointer::split_last(pointer)? else { return self.set_root(new) };
        let node = self.parent(parent)?;
        match self.container(node)? {
            Container::Array(_) | Container::Listed(..) if last == pointer::END => {
                self.push(node, new)
            }
            Container::Array(_) | Container::Listed(..) => {
                let index = pointer::index(last).ok_or(Error::with_detail(
                    ErrorKind::WrongType,
                    0,
                    parent.len() as u64,
                ))?;
                self.set(node, index as usize, new)
            }
            _ => pointer::with_text(last, |key| self.set(node, key, new)),
        }
    }

    /// Takes the value at a JSON pointer out; false where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for the root, since a document always has a value: set it to
    /// null instead. [`ErrorKind::BadPointer`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [88.4, 87.9]});
    /// assert!(doc.remove_pointer("/laps/0")?);
    /// assert_eq!(doc.pointer("/laps/0")?.unwrap(), 87.9);
    /// assert!(!doc.remove_pointer("/driver")?);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn remove_pointer(&mut self, pointer: &str) -> Result<bool> {
        let Some((parent, last)) = pointer::split_last(pointer)? else {
            return Err(Error::with_detail(ErrorKind::Unsupported, 0, 1));
        };
        let Some(node) = self.find(parent)? else { return Ok(false) };
        match self.container(node)? {
            Container::Array(_) | Container::Listed(..) => match pointer::index(last) {
                Some(index) => self.remove(node, index as usize),
                None => Ok(false),
            },
            _ => pointer::with_text(last, |key| self.remove(node, key)),
        }
    }

    fn parent(&self, pointer: &str) -> Result<NodeId> {
        match self.find(pointer)? {
            Some(node) => Ok(node),
            None => Err(self.no_parent(pointer)),
        }
    }

    /// Why there is no container at a pointer; `detail`: the bytes of the pointer's part at
    /// fault, from its beginning.
    #[cold]
    fn no_parent(&self, pointer: &str) -> Error {
        let root = self.doc().root();
        let ends = pointer.match_indices('/').skip(1).map(|(at, _)| at).chain([pointer.len()]);
        for end in ends {
            let kind = match root.follow(&pointer[..end]) {
                Ok(Some(value)) if value.raw().tag > TAG_SPAN_LAST => continue,
                Ok(Some(_)) => ErrorKind::WrongType,
                Ok(None) => ErrorKind::NotFound,
                Err(error) => return error,
            };
            return Error::with_detail(kind, 0, end as u64);
        }
        Error::new(ErrorKind::NotFound, 0)
    }

    // --- one interface to objects and arrays --------------------------------

    /// Sets a member of an object (added if missing) or an element of an array;
    /// the handle where the new value is a container.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`],
    /// [`ErrorKind::IndexOutOfRange`], limits and space.
    ///
    /// ```
    /// use livebuf::{New, json};
    /// let mut doc = json!({"lap": 55});
    /// let root = doc.root_id().unwrap();
    /// doc.set(root, "lap", 56)?;                          // replaced
    /// doc.set(root, "driver", "Ada")?;                    // added
    /// let laps = doc.set(root, "laps", New::array(0))?.unwrap();
    /// doc.push(laps, 88.4)?;
    /// assert_eq!(doc.pointer("/laps/0")?.unwrap(), 88.4);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn set<'v>(
        &mut self,
        node: NodeId,
        at: impl Child,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeId>> {
        let new = new.into();
        let key = match at.child() {
            At::Index(_) => None,
            key => Some(key.text()),
        };
        if !self.space.is_watched()
            && let Some(key) = key
            && let Some(simple) = Simple::of(&new)
            && self.set_shortly(node, key.as_bytes(), &simple)
        {
            return Ok(None);
        }
        self.set_in_general(node, at, new)
    }

    /// [`set`](Self::set) without [the short way](Self::set_shortly), for bindings that tried that.
    #[doc(hidden)]
    #[inline]
    pub fn set_in_general<'v>(
        &mut self,
        node: NodeId,
        at: impl Child,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeId>> {
        let new = new.into();
        self.space.editable()?;
        let node = if self.handles.is_fresh(node) { node } else { self.enter_older(node)? };
        match at.child() {
            At::Index(index) => self.set_at(node, index, new),
            at => self.set_fresh(node, at, &new),
        }
    }

    /// [`set`](Self::set) by a fresh handle.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn set_fresh(&mut self, node: NodeId, at: At<'_>, new: &New<'_>) -> Result<Option<NodeId>> {
        let block = Block::resolve(self.space.bytes(), node.home())?;
        let (tag, cell) = if block.kind() == KIND_RECORD {
            let record = block.record()?.whole(self.space.bytes())?;
            match self.set_field(node, record, at, new)? {
                Some(value) => value,
                None => return self.end_edit_in_place().map(|()| None),
            }
        } else {
            let found = map::look_up(self.space.bytes(), block.offset, at.text().as_bytes());
            if self.overwrite_entry(found, new) {
                return self.end_edit_in_place().map(|()| None);
            }
            match block.kind() {
                KIND_MAP => self.set_in_entries(node, block, found, at, new)?,
                _ => self.set_elsewhere(node, block, at, new)?,
            }
        };
        let mut set = None;
        if tag >= TAG_OBJECT {
            set = self.handle(Raw::unplaced(tag, cell), node.depth().saturating_add(1));
        }
        self.end_edit()?;
        Ok(set)
    }

    /// Sets a member of a map. `found`: by [`map::look_up`].
    #[inline(never)]
    fn set_in_entries(
        &mut self,
        node: NodeId,
        block: Block,
        found: ByHash,
        at: At<'_>,
        new: &New<'_>,
    ) -> Result<(u8, u64)> {
        self.handles.set_used(node);
        self.trusting(|editor| {
            let map = Map::load(editor.space.bytes(), block.offset.into())?;
            editor.set_entry(node, &map, found, at.text(), new)
        })
    }

    #[inline(never)]
    fn set_elsewhere(
        &mut self,
        node: NodeId,
        block: Block,
        at: At<'_>,
        new: &New<'_>,
    ) -> Result<(u8, u64)> {
        self.handles.set_used(node);
        self.trusting(|editor| match editor.container_at(node, block)? {
            Container::Row(table, row) => {
                (editor.table_edits()?.set_in_row)(editor, node, table, row, at.text(), *new)
            }
            _ => Err(Error::new(ErrorKind::WrongType, 0)),
        })
    }

    /// Sets an element of an array.
    #[inline(never)]
    fn set_at(&mut self, node: NodeId, index: usize, new: New<'_>) -> Result<Option<NodeId>> {
        self.handles.set_used(node);
        let (tag, cell) = self.trusting(|editor| {
            let container = editor.container(node)?;
            let (Container::Array(elements) | Container::Listed(.., elements)) = container else {
                return Err(Error::new(ErrorKind::WrongType, 0));
            };
            if index >= elements.count as usize {
                let count = elements.count as u64;
                return Err(Error::with_detail(ErrorKind::IndexOutOfRange, 0, count));
            }
            editor.set_element(node, container, elements, index as u32, new)
        })?;
        let set = self.handle(Raw::unplaced(tag, cell), node.depth().saturating_add(1));
        self.end_edit()?;
        Ok(set)
    }

    /// Whether a member or element may be set to a value, or an element be added with it behind the
    /// others: the checks of [`set`](Self::set) and [`push`](Self::push), but for room. Nothing is
    /// changed. So several edits can be checked before the first of them is made.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], limits, and [`ErrorKind::TensorMismatch`].
    ///
    /// ```
    /// use livebuf::{DocBuf, ErrorKind, Tensor};
    /// let mut doc = DocBuf::new()?;
    /// let root = doc.set_root(&Tensor::new(&[3], &[1u8, 2, 3])?)?.unwrap();
    /// assert_eq!(doc.check_set(root, 2, 300).unwrap_err().kind(), ErrorKind::TensorMismatch);
    /// doc.check_set(root, 2, 30)?;
    /// assert_eq!(doc.get(2)?.unwrap(), 3); // as before
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn check_set<'v>(
        &self,
        node: NodeId,
        at: impl Child,
        new: impl Into<New<'v>>,
    ) -> Result<()> {
        self.space.editable()?;
        let (node, new) = (self.resolve(node)?, new.into());
        self.measure(&new, node)?;
        let At::Index(index) = at.child() else { return Ok(()) };
        let container = self.container(node)?;
        let (Container::Array(elements) | Container::Listed(.., elements)) = container else {
            return Err(Error::new(ErrorKind::WrongType, 0));
        };
        if !elements.tensor {
            return Ok(());
        }
        let edit = if index < elements.count as usize {
            let (place, slot) = ColumnPlace::of_element(container, elements, index as u32);
            ColumnEdit::Set { place, slot, new }
        } else {
            ColumnEdit::Insert { array: container, index: elements.count, new }
        };
        edit.run(&mut self.sizer(NodeId::NONE)).map(drop)
    }

    /// Takes a member or element out and frees what it held; false where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"lap": 55, "driver": "Ada"});
    /// let root = doc.root_id().unwrap();
    /// assert!(doc.remove(root, "lap")?);
    /// assert!(!doc.remove(root, "lap")?);
    /// assert!(doc.get("lap")?.is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn remove(&mut self, node: NodeId, at: impl Child) -> Result<bool> {
        let node = self.enter_to_edit(node)?;
        match self.trusting(|editor| editor.unhang(node, at.child(), false))? {
            Some(raw) => {
                self.release(raw);
                self.end_edit()?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Takes a value out of its place without copying or freeing it. You can attach it to another
    /// place of this document. `None` if there is none.
    ///
    /// A detached value that is dropped is garbage until compaction; [`discard`](Self::discard)
    /// frees it. Compaction makes it stale. Handles of the detached value, and of all below, stay
    /// good.
    ///
    /// A document that was not validated is validated first: a later validation does not see
    /// detached values.
    ///
    /// # Errors
    /// As [`remove`](Self::remove), what is damaged, and [`ErrorKind::NotValidated`] where a fixed
    /// buffer has no room for validating.
    ///
    /// ```
    /// use livebuf::json;
    /// let mut doc = json!({"inbox": [{"text": "hello"}], "archive": []});
    /// let inbox = doc.find("/inbox")?.unwrap();
    /// let archive = doc.find("/archive")?.unwrap();
    /// let message = doc.detach(inbox, 0)?.unwrap();
    /// doc.push(archive, &message)?;
    /// assert!(doc.is_current(archive) && doc.is_current(inbox));
    /// assert_eq!(format!("{:?}", doc.doc().pointer("/archive/0/text")?.unwrap()), r#""hello""#);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn detach(&mut self, node: NodeId, at: impl Child) -> Result<Option<Detached>> {
        let node = self.enter_to_edit(node)?;
        // A later validation does not see detached values.
        let raw = self.trusting(|editor| {
            editor.check_trust()?;
            editor.unhang(node, at.child(), true)
        })?;
        let depth = node.depth().saturating_add(1);
        self.handles.detached += u32::from(raw.is_some_and(|raw| raw.tag > TAG_IMMEDIATE_LAST));
        // Detached values would be lost by squeezing.
        if self.handles.detached == 0 {
            self.end_edit()?;
        } else {
            self.space.editable()?;
        }
        Ok(raw.map(|raw| Detached::new(raw, self.handles.generation, depth)))
    }

    /// Frees a detached value.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`] if it is attached again, or the document was compacted.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"inbox": [{"text": "hello"}]});
    /// let inbox = doc.find("/inbox")?.unwrap();
    /// let message = doc.detach(inbox, 0)?.unwrap();
    /// doc.discard(message)?;
    /// assert_eq!(doc.value(inbox)?.len()?, Some(0));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn discard(&mut self, detached: Detached) -> Result<()> {
        self.space.editable()?;
        self.height_of(&detached, NodeId::NONE)?;
        self.attached(&detached);
        self.release(detached.raw());
        self.end_edit()
    }

    /// Takes a value out of its place. `keeps`: it is attached elsewhere, else a row's
    /// value is freed with its place.
    fn unhang(&mut self, node: NodeId, at: At<'_>, keeps: bool) -> Result<Option<Raw>> {
        match (self.container(node)?, at) {
            (
                array @ (Container::Array(elements) | Container::Listed(.., elements)),
                At::Index(index),
            ) => self.take_element(array, elements, index, keeps),
            (Container::Record(record), At::Key(_) | At::Remembered(_)) => {
                self.take_field(record, at)
            }
            (Container::Map(map), At::Key(_) | At::Remembered(_)) => {
                self.take_entry(map, at.text(), keeps)
            }
            (Container::Row(table, row), At::Key(_) | At::Remembered(_)) => {
                self.take_from_row(table, row, at.text(), keeps)
            }
            _ => Err(Error::new(ErrorKind::WrongType, 0)),
        }
    }

    /// Frees everything in a container; it stays, empty.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [88.4, 87.9]});
    /// let laps = doc.find("/laps")?.unwrap();
    /// doc.clear(laps)?;
    /// assert_eq!(doc.value(laps)?.len()?, Some(0));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn clear(&mut self, node: NodeId) -> Result<()> {
        let node = self.enter_to_edit(node)?;
        let cleared = self.trusting(|editor| match editor.container(node)? {
            Container::Array(_) | Container::Listed(..) => editor.truncate(node, 0),
            Container::Record(record) => {
                editor.release_fields(record);
                record.clear(&mut editor.space);
                Ok(())
            }
            Container::Map(map) => {
                editor.clear_map(map);
                Ok(())
            }
            Container::Row(table, row) => {
                editor.change(ColumnEdit::ClearRow { table, row }).map(|_| ())
            }
        });
        self.end_edit()?;
        cleared
    }

    /// Makes room for `additional` members or elements, so that adding them
    /// takes no more space (beside their keys and text).
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], limits and space.
    ///
    /// ```
    /// let mut doc = livebuf::json!([]);
    /// let list = doc.root_id().unwrap();
    /// doc.reserve(list, 1000)?;
    /// let length = doc.as_bytes().len();
    /// doc.extend(list, 0..1000)?;
    /// assert_eq!(doc.as_bytes().len(), length);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn reserve(&mut self, node: NodeId, additional: usize) -> Result<()> {
        let node = self.enter_to_edit(node)?;
        let additional = u32::try_from(additional)
            .map_err(|_| Error::with_detail(ErrorKind::ElementLimit, 0, u32::MAX as u64))?;
        let reserved = self.trusting(|editor| match editor.container(node)? {
            Container::Record(record) => editor.reserve_fields(node.home(), record, additional),
            Container::Map(map) => editor.reserve_entries(map, additional),
            // A row's fields have their places.
            Container::Row(..) => Ok(()),
            _ => editor.reserve_elements(node, additional),
        });
        self.finish_growing()?;
        reserved
    }

    /// Gives an object the index that answers for the order of its keys, and keeps it up from then
    /// on: [`range`](crate::Object::range), [`prefix`](crate::Object::prefix),
    /// [`first`](crate::Object::first) and [`last`](crate::Object::last) are then found by a
    /// search. Without it they look at all members of a large object, and sort them. Small objects
    /// need none. It takes some 4 to 9 bytes for each member. It goes when the last member is
    /// removed.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], and space.
    ///
    /// ```
    /// use livebuf::{DocBuf, New};
    /// let mut doc = DocBuf::new()?;
    /// let root = doc.set_root(New::Map { capacity: 0 })?.unwrap();
    /// for number in 0..1000 {
    ///     doc.set(root, &*format!("user {number:03}"), number)?;
    /// }
    /// doc.order(root)?;
    /// let object = doc.root().as_object()?.unwrap();
    /// let found = object.prefix("user 12").next().unwrap()?;
    /// assert_eq!((found.0, found.1.as_i64()), ("user 120", Some(120)));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn order(&mut self, node: NodeId) -> Result<()> {
        let node = self.enter_to_edit(node)?;
        let ordered = self.trusting(|editor| match editor.container(node)? {
            Container::Map(map) => editor.order_entries(map),
            Container::Record(_) | Container::Row(..) => Ok(()),
            _ => Err(Error::new(ErrorKind::WrongType, 0)),
        });
        self.finish_growing()?;
        ordered
    }

    /// Gives a member another key. It keeps its place in the order. In rows of tables it comes
    /// where the other key has its column, or last.
    ///
    /// In a record whose shape others use, this makes a shape of its own.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where `from` is not there, [`ErrorKind::KeyExists`]
    /// where `to` is, [`ErrorKind::WrongType`], [`ErrorKind::StaleHandle`], limits and space.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"id": 7, "nmae": "x"});
    /// let root = doc.root_id().unwrap();
    /// doc.rename(root, "nmae", "name")?;
    /// assert_eq!(format!("{:?}", doc.doc().root().as_object()?.unwrap()), r#"{"id": 7, "name": "x"}"#);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn rename(&mut self, node: NodeId, from: &str, to: &str) -> Result<()> {
        let node = self.enter_to_edit(node)?;
        let renamed = match self.container(node)? {
            container @ Container::Row(table, row) => {
                if !self.check_rename(container, from, to)? {
                    return Ok(());
                }
                self.trusting(|editor| editor.rename_in_row(node, table, row, from, to))
            }
            container => self.rename_member(node, container, from, to),
        };
        self.end_edit()?;
        renamed
    }
}
