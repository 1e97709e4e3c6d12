//! A cursor on one container: the editor's calls without naming the handle.

use super::editor::Editor;
use super::handles::NodeId;
use super::new::Detached;
use super::new::{Child, New};
use crate::error::{Error, ErrorKind, Result};
use crate::store::storage::Storage;
use crate::view::{Checked, Value};

/// A container under edit. It borrows the editor and keeps its own handle
/// fresh when its calls free other containers.
///
/// ```
/// use livebuf::{New, json};
/// let mut doc = json!({"users": [{"name": "Ada"}]});
/// let mut root = doc.root_mut()?;
/// let mut users = root.get_mut("users")?.unwrap();
/// users.push(New::object(1))?.unwrap().set("name", "Grace")?;
/// users.get_mut(0)?.unwrap().set("name", "Augusta")?;
/// assert_eq!(doc.doc().pointer("/users/1/name")?.unwrap().as_str()?, Some("Grace"));
/// # Ok::<(), livebuf::Error>(())
/// ```
pub struct NodeMut<'e, S> {
    editor: &'e mut Editor<S>,
    node: NodeId,
    /// How often the document had been squeezed: nothing else that cursors below do moves
    /// this container.
    squeezed: u32,
}

impl<S: Storage> core::fmt::Debug for NodeMut<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.value().fmt(f)
    }
}

impl<S: Storage> Editor<S> {
    /// A cursor on the container at a JSON pointer (RFC 6901); `None` where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::BadPointer`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"users": [{"name": "Ada", "tags": []}]});
    /// let mut ada = doc.pointer_mut("/users/0")?.unwrap();
    /// ada.set("name", "Augusta")?;
    /// ada.into_child("tags")?.unwrap().push("countess")?;
    /// assert_eq!(doc.doc().pointer("/users/0/tags/0")?.unwrap(), "countess");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn pointer_mut(&mut self, pointer: &str) -> Result<Option<NodeMut<'_, S>>> {
        let node = self.find(pointer)?;
        Ok(node.map(|node| NodeMut::new(self, node)))
    }

    /// A cursor on the root container.
    ///
    /// # Errors
    /// [`ErrorKind::WrongType`] where the root is a scalar.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"lap": 55});
    /// let mut root = doc.root_mut()?;
    /// root.set("lap", 56)?;
    /// root.set("driver", "Ada")?;
    /// assert_eq!(doc.get("lap")?.unwrap(), 56);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn root_mut(&mut self) -> Result<NodeMut<'_, S>> {
        let root = self.root_id().ok_or(Error::new(ErrorKind::WrongType, 0))?;
        Ok(NodeMut::new(self, root))
    }

    /// A cursor on a handle's container.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [88.4]});
    /// let laps = doc.find("/laps")?.unwrap();
    /// doc.node_mut(laps)?.push(87.9)?;
    /// assert_eq!(doc.pointer("/laps/1")?.unwrap(), 87.9);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn node_mut(&mut self, node: NodeId) -> Result<NodeMut<'_, S>> {
        let node = self.enter(node)?;
        self.container(node)?;
        Ok(NodeMut::new(self, node))
    }
}

impl<'e, S: Storage> NodeMut<'e, S> {
    fn new(editor: &'e mut Editor<S>, node: NodeId) -> Self {
        // The edit that gave the handle may have squeezed the document since.
        let node = editor.resolve(node).unwrap_or(node);
        let squeezed = editor.handles.squeezes;
        NodeMut { editor, node, squeezed }
    }

    /// The container's handle. It is current: no call through this cursor or
    /// one taken from it can free the container.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": []});
    /// let laps = doc.pointer_mut("/laps")?.unwrap().id();
    /// doc.push(laps, 88.4)?;
    /// assert_eq!(doc.pointer("/laps/0")?.unwrap(), 88.4);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn id(&self) -> NodeId {
        if self.squeezed != self.editor.handles.squeezes {
            return self.editor.resolve(self.node).unwrap_or(self.node);
        }
        self.editor.handles.give(self.node.home(), self.node.row(), self.node.depth())
    }

    /// The bounds that edits keep to.
    #[cfg(feature = "serde")]
    pub(crate) fn limits(&self) -> crate::format::layout::Limits {
        self.editor.limits()
    }

    /// The container as a value.
    ///
    /// # Errors
    /// What is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [88.4]});
    /// let mut laps = doc.pointer_mut("/laps")?.unwrap();
    /// laps.push(87.9)?;
    /// assert_eq!(laps.value()?.len()?, Some(2));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn value(&self) -> Result<Value<'_, Checked>> {
        self.editor.value(self.id())
    }

    /// An edit of the container by its handle. [`Editor`] follows that if the edit moves its
    /// container.
    pub(super) fn edit<T>(&mut self, edit: impl FnOnce(&mut Editor<S>, NodeId) -> T) -> T {
        let node = self.id();
        self.editor.handles.keep(node, node);
        let result = edit(self.editor, node);
        self.node = self.editor.resolve(node).unwrap_or(node);
        self.squeezed = self.editor.handles.squeezes;
        result
    }

    pub(super) fn cursor(&mut self, node: Option<NodeId>) -> Option<NodeMut<'_, S>> {
        node.map(|node| NodeMut::new(self.editor, node))
    }

    /// A cursor on a child container; `None` where it is a scalar or not there.
    ///
    /// # Errors
    /// As [`Editor::child`].
    ///
    /// ```
    /// let mut doc = livebuf::json!({"drivers": [{"name": "Ada"}]});
    /// let mut root = doc.root_mut()?;
    /// let mut drivers = root.get_mut("drivers")?.unwrap();
    /// drivers.get_mut(0)?.unwrap().set("laps", 55)?;
    /// drivers.push("nobody")?;
    /// assert!(drivers.get_mut(1)?.is_none());              // no container
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn get_mut(&mut self, at: impl Child) -> Result<Option<NodeMut<'_, S>>> {
        let child = self.editor.child(self.id(), at)?;
        Ok(self.cursor(child))
    }

    /// The same of the cursor itself, to go down without keeping the way.
    ///
    /// # Errors
    /// As [`Editor::child`].
    ///
    /// ```
    /// let mut doc = livebuf::json!({"drivers": [{"name": "Ada"}]});
    /// let drivers = doc.root_mut()?.into_child("drivers")?.unwrap();
    /// drivers.into_child(0)?.unwrap().set("name", "Augusta")?;
    /// assert_eq!(doc.pointer("/drivers/0/name")?.unwrap(), "Augusta");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn into_child(self, at: impl Child) -> Result<Option<NodeMut<'e, S>>> {
        let child = self.editor.child(self.id(), at)?;
        Ok(child.map(|node| NodeMut::new(self.editor, node)))
    }

    /// [`Editor::set`]; a cursor on the new value where it is a container.
    ///
    /// # Errors
    /// As [`Editor::set`].
    ///
    /// ```
    /// use livebuf::{New, json};
    /// let mut doc = json!({});
    /// let mut root = doc.root_mut()?;
    /// root.set("lap", 55)?;
    /// root.set("laps", New::array(2))?.unwrap().push(88.4)?;
    /// assert_eq!(doc.pointer("/laps/0")?.unwrap(), 88.4);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn set<'v>(
        &mut self,
        at: impl Child,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeMut<'_, S>>> {
        let child = self.edit(|editor, node| editor.set(node, at, new))?;
        Ok(self.cursor(child))
    }

    /// [`Editor::push`]; a cursor on the new value where it is a container.
    ///
    /// # Errors
    /// As [`Editor::push`].
    ///
    /// ```
    /// use livebuf::{New, json};
    /// let mut doc = json!([]);
    /// let mut list = doc.root_mut()?;
    /// list.push(New::object(1))?.unwrap().set("name", "Ada")?;
    /// list.push(55)?;
    /// assert_eq!(doc.pointer("/0/name")?.unwrap(), "Ada");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn push<'v>(&mut self, new: impl Into<New<'v>>) -> Result<Option<NodeMut<'_, S>>> {
        let child = self.edit(|editor, node| editor.push(node, new))?;
        Ok(self.cursor(child))
    }

    /// [`Editor::insert`]; a cursor on the new value where it is a container.
    ///
    /// # Errors
    /// As [`Editor::insert`].
    pub fn insert<'v>(
        &mut self,
        index: usize,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeMut<'_, S>>> {
        let child = self.edit(|editor, node| editor.insert(node, index, new))?;
        Ok(self.cursor(child))
    }

    /// [`Editor::remove`].
    ///
    /// # Errors
    /// As [`Editor::remove`].
    ///
    /// ```
    /// let mut doc = livebuf::json!({"lap": 55, "driver": "Ada"});
    /// assert!(doc.root_mut()?.remove("lap")?);
    /// assert!(doc.get("lap")?.is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn remove(&mut self, at: impl Child) -> Result<bool> {
        self.edit(|editor, node| editor.remove(node, at))
    }

    /// [`Editor::detach`].
    ///
    /// # Errors
    /// As [`Editor::detach`].
    pub fn detach(&mut self, at: impl Child) -> Result<Option<Detached>> {
        self.edit(|editor, node| editor.detach(node, at))
    }

    /// [`Editor::pop`].
    ///
    /// # Errors
    /// As [`Editor::pop`].
    pub fn pop(&mut self) -> Result<bool> {
        self.edit(|editor, node| editor.pop(node))
    }

    /// [`Editor::swap`].
    ///
    /// # Errors
    /// As [`Editor::swap`].
    pub fn swap(&mut self, a: usize, b: usize) -> Result<()> {
        self.edit(|editor, node| editor.swap(node, a, b))
    }

    /// [`Editor::truncate`].
    ///
    /// # Errors
    /// As [`Editor::truncate`].
    pub fn truncate(&mut self, length: usize) -> Result<()> {
        self.edit(|editor, node| editor.truncate(node, length))
    }

    /// [`Editor::clear`].
    ///
    /// # Errors
    /// As [`Editor::clear`].
    pub fn clear(&mut self) -> Result<()> {
        self.edit(|editor, node| editor.clear(node))
    }

    /// [`Editor::rename`].
    ///
    /// # Errors
    /// As [`Editor::rename`].
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        self.edit(|editor, node| editor.rename(node, from, to))
    }

    /// [`Editor::reserve`].
    ///
    /// # Errors
    /// As [`Editor::reserve`].
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        self.edit(|editor, node| editor.reserve(node, additional))
    }
}
