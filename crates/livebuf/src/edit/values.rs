//! Looking into a document by its editor, and edits that are made of several others.

use super::cursor::NodeMut;
use super::editor::Editor;
use super::handles::NodeId;
use super::new::{Child, New};
use crate::error::{Error, ErrorKind, Result};
use crate::store::storage::Storage;
use crate::view::{Array, Checked, Lookup, Value};

#[cold]
fn wrong_type() -> Error {
    Error::new(ErrorKind::WrongType, 0)
}

impl<S: Storage> Editor<S> {
    /// The root value, every answer checked. Its handle is [`root_id`](Self::root_id).
    pub fn root(&self) -> Value<'_, Checked> {
        self.doc().root()
    }

    /// The member of the root with this key, or the element with this index.
    ///
    /// # Errors
    /// What is damaged.
    ///
    /// ```
    /// let doc = livebuf::json!({"laps": [88.4, 87.9]});
    /// assert_eq!(doc.get("laps")?.unwrap().get(1)?.unwrap(), 87.9);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn get(&self, lookup: impl Lookup) -> Result<Option<Value<'_, Checked>>> {
        self.doc().root().get(lookup)
    }

    /// The value at a JSON pointer (RFC 6901); `""` is the root.
    ///
    /// # Errors
    /// [`ErrorKind::BadPointer`], or what is damaged.
    ///
    /// ```
    /// let doc = livebuf::json!({"laps": [88.4, 87.9]});
    /// assert_eq!(doc.pointer("/laps/1")?.unwrap(), 87.9);
    /// assert!(doc.pointer("/laps/2")?.is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn pointer(&self, pointer: &str) -> Result<Option<Value<'_, Checked>>> {
        self.doc().pointer(pointer)
    }

    /// Sets a member or element to a value that `with` makes of the old one, which is `None` where
    /// there is none. Returns the handle where the new value is a container.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    ///
    /// ```
    /// let mut doc = livebuf::json!({"visits": 1});
    /// let root = doc.root_id().unwrap();
    /// for page in ["visits", "errors"] {
    ///     doc.update(root, page, |count| count.and_then(|count| count.as_i64()).unwrap_or(0) + 1)?;
    /// }
    /// assert_eq!(doc.get("visits")?.unwrap(), 2);
    /// assert_eq!(doc.get("errors")?.unwrap(), 1);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn update<'v, N: Into<New<'v>>>(
        &mut self,
        node: NodeId,
        at: impl Child,
        with: impl FnOnce(Option<Value<'_, Checked>>) -> N,
    ) -> Result<Option<NodeId>> {
        let slot = self.slot(self.container(self.resolve(node)?)?, at.child())?;
        let value = match slot {
            Some(slot) => Some(Value::new(Checked, self.as_bytes(), self.load(slot)?)),
            None => None,
        };
        let new = with(value);
        self.set(node, at, new)
    }

    /// Pushes all these values to an array.
    ///
    /// # Errors
    /// As [`push`](Self::push). The values before the one that failed stay.
    ///
    /// ```
    /// let mut doc = livebuf::json!([1]);
    /// let list = doc.root_id().unwrap();
    /// doc.extend(list, 2..5)?;
    /// doc.extend(list, ["six", "seven"])?;
    /// assert_eq!(format!("{:#?}", doc.get(4)?.unwrap()), r#""six""#);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn extend<'v, N: Into<New<'v>>>(
        &mut self,
        node: NodeId,
        values: impl IntoIterator<Item = N>,
    ) -> Result<()> {
        values.into_iter().try_for_each(|value| self.push(node, value).map(|_| ()))
    }

    /// Removes the elements of an array that `keep` does not want. It is called once for
    /// each, in their order, which those that stay keep.
    ///
    /// Linear in the elements. Of an object, `retain_members` does the same.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], or what is damaged; space,
    /// where elements of a list must become arrays first, or texts of a run cells. Nothing is
    /// removed then, but elements may have moved. In a [transaction](Self::transaction) all stays
    /// as it was.
    ///
    /// ```
    /// let mut doc = livebuf::json!([3, null, 1, null, 2]);
    /// let list = doc.root_id().unwrap();
    /// doc.retain(list, |value| !value.is_null())?;
    /// assert_eq!(format!("{:?}", doc.root().as_array()?.unwrap()), "[3, 1, 2]");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn retain(
        &mut self,
        node: NodeId,
        mut keep: impl FnMut(Value<'_, Checked>) -> bool,
    ) -> Result<()> {
        self.space.editable()?;
        let length = self.elements_of(node)?.len();
        // Those that stay move to the front, each to the place of one that goes.
        let mut kept = 0;
        for index in 0..length {
            let node = self.enter(node)?;
            let value = self.elements_of(node)?.get(index)?;
            if keep(value.ok_or(Error::new(ErrorKind::NotFound, 0))?) {
                if kept < index {
                    self.swap(node, kept, index)?;
                }
                kept += 1;
            }
        }
        self.truncate(node, kept)
    }

    /// The array of a handle.
    fn elements_of(&self, node: NodeId) -> Result<Array<'_, Checked>> {
        self.value(node)?.as_array()?.ok_or_else(wrong_type)
    }
}

impl<S: Storage> NodeMut<'_, S> {
    /// [`Editor::update`]; a cursor on the new value where it is a container.
    ///
    /// # Errors
    /// As [`Editor::update`].
    pub fn update<'v, N: Into<New<'v>>>(
        &mut self,
        at: impl Child,
        with: impl FnOnce(Option<Value<'_, Checked>>) -> N,
    ) -> Result<Option<NodeMut<'_, S>>> {
        let child = self.edit(|editor, node| editor.update(node, at, with))?;
        Ok(self.cursor(child))
    }

    /// [`Editor::extend`].
    ///
    /// # Errors
    /// As [`Editor::extend`].
    pub fn extend<'v, N: Into<New<'v>>>(
        &mut self,
        values: impl IntoIterator<Item = N>,
    ) -> Result<()> {
        self.edit(|editor, node| editor.extend(node, values))
    }

    /// [`Editor::retain`].
    ///
    /// # Errors
    /// As [`Editor::retain`].
    pub fn retain(&mut self, keep: impl FnMut(Value<'_, Checked>) -> bool) -> Result<()> {
        self.edit(|editor, node| editor.retain(node, keep))
    }
}

#[cfg(feature = "alloc")]
mod owned {
    use super::{
        Checked, Editor, ErrorKind, New, NodeId, NodeMut, Result, Storage, Value, wrong_type,
    };
    use crate::edit::editor::DocBuf;
    use crate::error::Error;
    use crate::format::pointer;
    use alloc::string::String;
    use alloc::vec::Vec;
    use core::cmp::Ordering;

    impl<S: Storage> Editor<S> {
        /// Removes the members of an object that `keep` does not want. It is called once for
        /// each, in their order, before anything is removed.
        ///
        /// # Errors
        /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], or what is damaged.
        ///
        /// ```
        /// let mut doc = livebuf::json!({"name": "Ada", "_rev": 7, "_id": 1});
        /// let root = doc.root_id().unwrap();
        /// doc.retain_members(root, |key, _| !key.starts_with('_'))?;
        /// assert_eq!(format!("{:?}", doc.root().as_object()?.unwrap()), r#"{"name": "Ada"}"#);
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn retain_members(
            &mut self,
            node: NodeId,
            mut keep: impl FnMut(&str, Value<'_, Checked>) -> bool,
        ) -> Result<()> {
            let mut unwanted = Vec::new();
            for member in self.value(node)?.as_object()?.ok_or_else(wrong_type)? {
                let (key, value) = member?;
                if !keep(key, value) {
                    unwanted.push(String::from(key));
                }
            }
            unwanted.iter().try_for_each(|key| self.remove(node, key).map(|_| ()))
        }

        /// Sorts an array, equal elements in their order: O(n log n) comparisons, and O(n)
        /// [swaps](Self::swap).
        ///
        /// # Errors
        /// As [`retain`](Self::retain): where space is short, some elements may have moved.
        ///
        /// ```
        /// let mut doc = livebuf::json!([{"name": "Grace"}, {"name": "Ada"}]);
        /// let people = doc.root_id().unwrap();
        /// let name = |person: &livebuf::Value<'_>| person.get("name").ok()??.as_str().ok()?.map(str::to_owned);
        /// doc.sort_by(people, |a, b| name(a).cmp(&name(b)))?;
        /// assert_eq!(doc.pointer("/0/name")?.unwrap(), "Ada");
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn sort_by(
            &mut self,
            node: NodeId,
            mut compare: impl FnMut(&Value<'_, Checked>, &Value<'_, Checked>) -> Ordering,
        ) -> Result<()> {
            let mut elements = self.numbered(node)?;
            elements.sort_by(|(_, a), (_, b)| compare(a, b));
            let order = elements.into_iter().map(|(index, _)| index).collect();
            self.arrange(node, order)
        }

        /// Sorts an array by a key that is made once of each element, equal elements in
        /// their order. Costs as [`sort_by`](Self::sort_by).
        ///
        /// # Errors
        /// As [`retain`](Self::retain).
        ///
        /// ```
        /// let mut doc = livebuf::json!([{"lap": 3}, {"lap": 1}, {"lap": 2}]);
        /// let laps = doc.root_id().unwrap();
        /// doc.sort_by_key(laps, |lap| lap.get("lap").ok().flatten().and_then(|lap| lap.as_i64()))?;
        /// assert_eq!(doc.pointer("/0/lap")?.unwrap(), 1);
        /// assert_eq!(doc.pointer("/2/lap")?.unwrap(), 3);
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn sort_by_key<K: Ord>(
            &mut self,
            node: NodeId,
            mut key: impl FnMut(Value<'_, Checked>) -> K,
        ) -> Result<()> {
            let mut elements = self.numbered(node)?;
            elements.sort_by_cached_key(|(_, value)| key(*value));
            let order = elements.into_iter().map(|(index, _)| index).collect();
            self.arrange(node, order)
        }

        /// The elements of an array, each with its index.
        fn numbered(&self, node: NodeId) -> Result<Vec<(usize, Value<'_, Checked>)>> {
            let elements = self.elements_of(node)?.iter().enumerate();
            elements.map(|(index, value)| Ok((index, value?))).collect()
        }

        /// Puts the element that is at `order[index]` to `index`, for each.
        fn arrange(&mut self, node: NodeId, mut order: Vec<usize>) -> Result<()> {
            self.space.editable()?;
            for start in 0..order.len() {
                let mut at = start;
                // Round a circle: the element from its start comes along, to its end.
                while order[at] != start {
                    let from = core::mem::replace(&mut order[at], at);
                    self.swap(node, at, from)?;
                    at = from;
                }
                order[at] = at;
            }
            Ok(())
        }

        /// [`set_pointer`](Self::set_pointer) that makes the parents that are missing:
        /// objects, and an array where the pointer goes on with `-`. One edit: it is done
        /// whole or not at all.
        ///
        /// # Errors
        /// As [`set_pointer`](Self::set_pointer). An array has no places between; and what
        /// was [detached](Self::detach) needs a parent that is there.
        ///
        /// ```
        /// let mut doc = livebuf::json!({});
        /// doc.set_pointer_with_parents("/laps/-/time", 88.4)?;
        /// doc.set_pointer_with_parents("/laps/-/time", 87.9)?;
        /// doc.set_pointer_with_parents("/driver/name", "Ada")?;
        /// assert_eq!(
        ///     livebuf::from_value::<serde_json::Value>(&doc)?.to_string(),
        ///     r#"{"laps":[{"time":88.4},{"time":87.9}],"driver":{"name":"Ada"}}"#
        /// );
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn set_pointer_with_parents<'v>(
            &mut self,
            pointer: &str,
            new: impl Into<New<'v>>,
        ) -> Result<()> {
            // The longest beginning of the pointer that is there; the root always is.
            let mut there = pointer;
            while self.pointer(there)?.is_none() {
                there = there.rsplit_once('/').map_or("", |(parent, _)| parent);
            }
            // The first token that is missing names a member or element of what is there.
            let mut missing = pointer[there.len()..].split('/').skip(1);
            let first = there.len() + missing.next().map_or(0, |token| token.len() + 1);
            let (place, below) = pointer.split_at(first);
            let Some((around, last)) = pointer::split_last(below)? else {
                return self.set_pointer(pointer, new).map(|_| ());
            };
            let mut wrapped = DocBuf::new()?;
            wrapped.set_limits(self.limits());
            let container = |token: &str| match token {
                pointer::END => New::array(0),
                _ => New::object(1),
            };
            let tokens = || around.split('/').skip(1);
            let mut node = wrapped.set_root(container(tokens().next().unwrap_or(last)))?;
            for (token, next) in tokens().zip(tokens().skip(1).chain([last])) {
                node = wrapped.put(node, token, container(next))?;
            }
            wrapped.put(node, last, new.into())?;
            self.set_pointer(place, &wrapped).map(|_| ())
        }
    }

    impl DocBuf {
        /// Sets a member, or pushes to an array.
        fn put(
            &mut self,
            node: Option<NodeId>,
            token: &str,
            new: New<'_>,
        ) -> Result<Option<NodeId>> {
            let node = node.ok_or(Error::new(ErrorKind::NotFound, 0))?;
            match token {
                pointer::END => self.push(node, new),
                _ => pointer::with_text(token, |key| self.set(node, key, new)),
            }
        }
    }

    impl<S: Storage> NodeMut<'_, S> {
        /// [`Editor::retain_members`].
        ///
        /// # Errors
        /// As [`Editor::retain_members`].
        pub fn retain_members(
            &mut self,
            keep: impl FnMut(&str, Value<'_, Checked>) -> bool,
        ) -> Result<()> {
            self.edit(|editor, node| editor.retain_members(node, keep))
        }

        /// [`Editor::sort_by`].
        ///
        /// # Errors
        /// As [`Editor::sort_by`].
        pub fn sort_by(
            &mut self,
            compare: impl FnMut(&Value<'_, Checked>, &Value<'_, Checked>) -> Ordering,
        ) -> Result<()> {
            self.edit(|editor, node| editor.sort_by(node, compare))
        }

        /// [`Editor::sort_by_key`].
        ///
        /// # Errors
        /// As [`Editor::sort_by_key`].
        pub fn sort_by_key<K: Ord>(
            &mut self,
            key: impl FnMut(Value<'_, Checked>) -> K,
        ) -> Result<()> {
            self.edit(|editor, node| editor.sort_by_key(node, key))
        }

        /// Calls `edit` with a cursor on each object and array that is an element or member
        /// of this one, in their order. Scalars are left out: [`update`](Self::update)
        /// changes them.
        ///
        /// # Errors
        /// What `edit` answers first, which ends the walk; or what is damaged.
        ///
        /// ```
        /// let mut doc = livebuf::json!([{"time": 88}, null, {"time": 87}]);
        /// doc.root_mut()?.for_each_mut(|mut lap| {
        ///     lap.update("time", |time| time.and_then(|time| time.as_i64()).map(|time| time * 1000))?;
        ///     Ok(())
        /// })?;
        /// assert_eq!(doc.pointer("/2/time")?.unwrap(), 87_000);
        /// # Ok::<(), livebuf::Error>(())
        /// ```
        pub fn for_each_mut(
            &mut self,
            mut edit: impl FnMut(NodeMut<'_, S>) -> Result<()>,
        ) -> Result<()> {
            let value = self.value()?;
            let Some(object) = value.as_object()? else {
                let length = value.as_array()?.ok_or_else(wrong_type)?.len();
                for index in 0..length {
                    if let Some(child) = self.get_mut(index)? {
                        edit(child)?;
                    }
                }
                return Ok(());
            };
            let keys: Vec<String> =
                object.keys().map(|key| key.map(Into::into)).collect::<Result<_>>()?;
            for key in &keys {
                if let Some(child) = self.get_mut(key)? {
                    edit(child)?;
                }
            }
            Ok(())
        }
    }
}
