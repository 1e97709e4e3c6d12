//! Editing in place (FORMAT, part three).
//!
//! Every edit first plans: it reads, sizes and checks everything, makes sure of
//! the space, and may fail. Then it commits: it only writes, and cannot fail.
//! A failed edit leaves the used bytes as they were.
//!
//! Places that live across edits are held as [`NodeId`]s; [`NodeMut`] is a
//! cursor that borrows the editor and keeps its own handle fresh.

mod array;
mod column;
mod copy;
mod cursor;
mod dissolve;
mod doc_buf;
mod extras;
mod feed;
mod handles;
mod literal;
mod object;
mod row;
mod rules;
mod sink;
mod template;
mod values;

use column::{Place, Step};
pub use copy::Detached;
pub use cursor::NodeMut;
pub use handles::NodeId;
use handles::{Event, Handles};
pub use template::{Stamp, Stamped, Template};

use crate::block::column::{ColumnType, Elements, row_cell, row_of};
use crate::block::list::List;
use crate::block::map::{self, Map};
use crate::block::record::{Block, Raw, Record};
use crate::block::table::Table;
use crate::block::walk::{self, Allowance};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u64, round_up};
use crate::format::cell::{Needle, inline_span, owned_span, span_at};
use crate::format::layout::*;
use crate::format::pointer;
use crate::store::space::{Extent, Observer, Space};
use crate::store::storage::{Exclusive, Storage, Validation};
use crate::view::{Checked, Doc, Header, Key, Mode, Scalar, Valid, Value, from_scalars};
use core::mem::MaybeUninit;

/// Edits a document in the bytes of its storage.
///
/// A document opened from elsewhere is *foreign*: it can be edited, but freed
/// space is not reused until [`validate`](Editor::validate) passes.
///
/// ```
/// use livebuf::{Editor, New};
/// let mut buffer = [0u8; 256];                       // no allocator needed
/// let mut doc = Editor::create(&mut buffer[..])?;
/// let root = doc.set_root(New::object(2))?.unwrap();
/// doc.set(root, "event", "lap_complete")?;
/// doc.set(root, "lap", 55)?;
/// doc.set(root, "lap", 56)?;                         // eight bytes change
/// assert_eq!(doc.doc().pointer("/lap")?.unwrap().as_i64(), Some(56));
/// # Ok::<(), livebuf::Error>(())
/// ```
pub struct Editor<S, O = ()> {
    space: Space<S, O>,
    handles: Handles,
    /// Containers that were detached and do not hang again.
    detached: u32,
}

/// An owned, growable document.
///
/// ```
/// use livebuf::{DocBuf, json};
///
/// let mut doc = json!({"driver": "Ada", "laps": []});
/// doc.set_pointer("/laps/-", 88.4)?;                  // edited in place
/// doc.root_mut()?.set("driver", "Augusta")?;
/// assert_eq!(doc.pointer("/laps/0")?.unwrap(), 88.4); // read in place
///
/// let received = DocBuf::open(doc.as_bytes())?;       // validated, no parsing
/// assert_eq!(received.valid()?.pointer("/driver").unwrap(), "Augusta");
/// # Ok::<(), livebuf::Error>(())
/// ```
#[cfg(feature = "alloc")]
pub type DocBuf = Editor<crate::store::storage::VecStorage>;

/// The document whose value is null: a header. A constant, so that it is stored
/// by whole words, as they are loaded next.
const NULL_DOCUMENT: [u8; HEADER_SIZE as usize] = {
    let mut header = [0; HEADER_SIZE as usize];
    [header[0], header[1], header[2], header[3]] = MAGIC;
    header[HEADER_VERSION as usize] = VERSION;
    header[HEADER_ROOT_TAG as usize] = TAG_NULL;
    header[HEADER_USED as usize] = HEADER_SIZE as u8;
    header
};

/// A value to be stored: what `set`, `insert` and `push` take.
///
/// ```
/// use livebuf::{New, json};
/// let mut doc = json!({"list": []});
/// doc.set_pointer("/list/-", "text")?;
/// doc.set_pointer("/list/-", 1.5)?;
/// doc.set_pointer("/list/-", New::array(0))?;
/// let other = json!({"grafted": true});
/// doc.set_pointer("/list/-", other.doc().root())?;
/// assert_eq!(doc.doc().pointer("/list")?.unwrap().len()?, Some(4));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum New<'v> {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A double, kept by its bits.
    Float(f64),
    /// Text.
    Str(&'v str),
    /// Bytes.
    Bytes(&'v [u8]),
    /// A number that only its text holds exactly.
    NumberText(&'v str),
    /// An empty object with room for some fields.
    Object {
        /// Fields to make room for.
        capacity: u8,
    },
    /// An empty object stored as a map from the start.
    Map {
        /// Entries to make room for.
        capacity: u32,
    },
    /// An empty array with room for some elements of eight bytes.
    Array {
        /// Elements to make room for.
        capacity: u32,
    },
    /// An object of these members, each key once. One call, one allocation.
    Fields(&'v [(&'v str, New<'v>)]),
    /// An array of these elements.
    Items(&'v [New<'v>]),
    /// A copy of a value of another document, with all below it.
    Copy(Value<'v, Checked>),
    /// What [`Editor::detach`] took out of this document; when it hangs there again it
    /// cannot be used again.
    Detached(&'v Detached),
}

impl New<'_> {
    /// An empty object with room for `capacity` fields (a guess; it grows).
    ///
    /// ```
    /// use livebuf::{New, json};
    /// let mut doc = json!({});
    /// doc.set_pointer("/driver", New::object(2))?;
    /// doc.set_pointer("/driver/name", "Ada")?;
    /// assert_eq!(doc.pointer("/driver/name")?.unwrap(), "Ada");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn object(capacity: usize) -> Self {
        match u8::try_from(capacity) {
            Ok(capacity) => New::Object { capacity },
            Err(_) => New::Map { capacity: u32::try_from(capacity).unwrap_or(u32::MAX) },
        }
    }

    /// An empty array with room for `capacity` elements of eight bytes (a guess; it grows).
    ///
    /// ```
    /// use livebuf::{New, json};
    /// let mut doc = json!({});
    /// doc.set_pointer("/laps", New::array(100))?;
    /// doc.set_pointer("/laps/-", 88.4)?;
    /// assert_eq!(doc.pointer("/laps/0")?.unwrap(), 88.4);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn array(capacity: usize) -> Self {
        New::Array { capacity: u32::try_from(capacity).unwrap_or(u32::MAX) }
    }
}

/// # Errors
/// [`ErrorKind::Unsupported`] for all but null, booleans, numbers and text.
impl<'v> TryFrom<New<'v>> for Scalar<'v> {
    type Error = Error;

    fn try_from(new: New<'v>) -> Result<Scalar<'v>> {
        Ok(match new {
            New::Null => Scalar::Null,
            New::Bool(value) => Scalar::Bool(value),
            New::Int(value) => Scalar::Int(value),
            New::Uint(value) => Scalar::Uint(value),
            New::Float(value) => Scalar::Float(value),
            New::Str(text) => Scalar::Str(text),
            _ => return Err(Error::new(ErrorKind::Unsupported, 0)),
        })
    }
}

impl New<'_> {
    /// Tag and cell of a value that needs no more.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn immediate(&self) -> Option<(u8, u64)> {
        Some(match *self {
            New::Int(value) => (TAG_INT, value as u64),
            New::Float(value) => (TAG_FLOAT, value.to_bits()),
            New::Null => (TAG_NULL, 0),
            New::Bool(value) => (TAG_FALSE + value as u8, 0),
            New::Uint(value) if value <= i64::MAX as u64 => (TAG_INT, value),
            New::Uint(value) => (TAG_UINT, value),
            _ => return None,
        })
    }
}

from_scalars!(New);
from_scalars! { New:
    &'v [u8] => |value| Bytes(value);
    &'v Detached => |value| Detached(value);
}

impl<'v, M: Mode> From<Value<'v, M>> for New<'v> {
    fn from(value: Value<'v, M>) -> New<'v> {
        New::Copy(value.checked())
    }
}

/// A copy of the document's value.
impl<'v, M: Mode> From<Doc<'v, M>> for New<'v> {
    fn from(doc: Doc<'v, M>) -> New<'v> {
        New::from(doc.root())
    }
}

/// A copy of the document's value.
impl<'v, S: Storage, O: Observer> From<&'v Editor<S, O>> for New<'v> {
    fn from(document: &'v Editor<S, O>) -> New<'v> {
        New::from(document.doc())
    }
}

impl<'v, const N: usize> From<&'v [u8; N]> for New<'v> {
    fn from(bytes: &'v [u8; N]) -> New<'v> {
        New::Bytes(bytes)
    }
}

#[cfg(feature = "alloc")]
impl<'v> From<&'v alloc::vec::Vec<u8>> for New<'v> {
    fn from(bytes: &'v alloc::vec::Vec<u8>) -> New<'v> {
        New::Bytes(bytes)
    }
}

#[cfg(feature = "alloc")]
impl<'v> From<&'v alloc::borrow::Cow<'_, str>> for New<'v> {
    fn from(text: &'v alloc::borrow::Cow<'_, str>) -> New<'v> {
        New::Str(text)
    }
}

impl<'v, T: Into<New<'v>>> From<Option<T>> for New<'v> {
    fn from(value: Option<T>) -> New<'v> {
        value.map_or(New::Null, Into::into)
    }
}

/// Names a child: a key of an object (`&str`, [`&Key`](Key)) or an index of an array.
pub trait Child: Copy {
    #[doc(hidden)]
    fn child(&self) -> At<'_>;
}

/// A child as the editor looks it up.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum At<'k> {
    Key(&'k str),
    Remembered(&'k Key<'k>),
    Index(usize),
}

impl<'k> At<'k> {
    fn text(&self) -> &'k str {
        match *self {
            At::Key(key) => key,
            At::Remembered(key) => key.as_str(),
            At::Index(_) => "",
        }
    }
}

impl Child for &str {
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn child(&self) -> At<'_> {
        At::Key(self)
    }
}

impl Child for &Key<'_> {
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn child(&self) -> At<'_> {
        At::Remembered(self)
    }
}

#[cfg(feature = "alloc")]
impl Child for &alloc::string::String {
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn child(&self) -> At<'_> {
        At::Key(self)
    }
}

/// What a reference leads to.
impl<T: Child> Child for &T {
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn child(&self) -> At<'_> {
        T::child(self)
    }
}

impl Child for usize {
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn child(&self) -> At<'_> {
        At::Index(*self)
    }
}

/// Where a value lies, for writing.
#[derive(Clone, Copy)]
enum Slot {
    /// A tag and a cell, wherever they are.
    Tagged { tag: u64, cell: u64 },
    /// An element of an array.
    Element { elements: Elements, index: u32 },
}

/// A resolved handle: the container's block.
#[derive(Clone, Copy)]
enum Container {
    Record(Record),
    Map(Map),
    Array(Elements),
    /// A row of a table.
    Row(Table, u32),
    /// An element of a list, and which it is.
    Listed(List, u32, Elements),
}

impl<S: Storage, O: Observer> Editor<S, O> {
    // --- making and opening -------------------------------------------------

    /// Starts an empty document (its root is null) at the beginning of the storage.
    ///
    /// # Errors
    /// What the storage says when it cannot hold 32 bytes.
    #[inline]
    pub fn create_with(mut storage: S, observer: O) -> Result<Self> {
        if storage.bytes().len() < HEADER_SIZE as usize {
            storage.grow(HEADER_SIZE as u64)?;
        }
        let mut space = Space::new(storage, observer, HEADER_SIZE, true, Limits::default());
        space.write(0, &NULL_DOCUMENT);
        Ok(Editor { space, handles: Handles::new(), detached: 0 })
    }

    /// Opens the document that the storage holds, in constant time. It is foreign:
    /// [`validate`](Self::validate) makes it trusted.
    ///
    /// Storage that [cannot be written](Storage::is_writable) can be opened too: what looks
    /// works, and every edit is refused. In other storage, flags of the class that anyone
    /// may ignore are cleared at once: what they say of the document need not hold after
    /// edits by who does not know them.
    ///
    /// # Errors
    /// As [`Doc::open`], and [`ErrorKind::ReadOnly`] where the document has a
    /// feature that this version can read but not edit.
    pub fn open_unvalidated_with(storage: S, observer: O) -> Result<Self> {
        let bytes = storage.bytes();
        Doc::open(bytes)?;
        let header = Header::check(bytes)?;
        let writable = storage.is_writable();
        if writable && header.read_only != 0 {
            return Err(Error::new(ErrorKind::ReadOnly, HEADER_READ_ONLY_FLAGS as u64));
        }
        let mut space = Space::new(storage, observer, header.used, false, Limits::default());
        if writable && header.ignore != 0 {
            space.write_u8(HEADER_IGNORE_FLAGS as u64, 0);
        }
        Ok(Editor { space, handles: Handles::new(), detached: 0 })
    }

    /// Sets the bounds that edits keep to.
    ///
    /// ```
    /// let mut doc = livebuf::json!({});
    /// let mut limits = doc.limits();
    /// limits.string = 100;
    /// doc.set_limits(limits);
    /// let error = doc.set_pointer("/note", &"x".repeat(101)).unwrap_err();
    /// assert_eq!(error.kind(), livebuf::ErrorKind::StringLimit);
    /// ```
    pub fn set_limits(&mut self, limits: Limits) {
        self.space.set_limits(limits);
    }

    /// The bounds that edits keep to.
    pub fn limits(&self) -> Limits {
        *self.space.limits()
    }

    /// Whether freed bytes are zeroed (they are by default).
    pub fn set_wipe(&mut self, wipe: bool) {
        self.space.set_wipe(wipe);
    }

    // --- looking ------------------------------------------------------------

    /// The document, every answer checked.
    ///
    /// ```
    /// let doc = livebuf::json!({"laps": [88.4]});
    /// let view = doc.doc();
    /// assert_eq!(view.pointer("/laps/0")?.unwrap().as_f64(), Some(88.4));
    /// assert_eq!(view.as_bytes(), doc.as_bytes());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn doc(&self) -> Doc<'_, Checked> {
        Doc::over(self.space.bytes())
    }

    /// The used bytes: the document as it is sent or stored.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.space.bytes()
    }

    /// Whether this editor wrote or validated the document, so that freed space is reused.
    ///
    /// ```
    /// use livebuf::{DocBuf, json};
    /// let made = json!({"lap": 55});
    /// assert!(made.is_trusted());
    /// let mut received = DocBuf::from_bytes_unvalidated(made.as_bytes())?;
    /// assert!(!received.is_trusted());
    /// received.validate()?;
    /// assert!(received.is_trusted());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn is_trusted(&self) -> bool {
        self.space.trusted
    }

    /// The storage.
    pub fn storage(&self) -> &S {
        self.space.storage()
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        self.space.observer()
    }

    /// The observer, to be read out or reset.
    pub fn observer_mut(&mut self) -> &mut O {
        self.space.observer_mut()
    }

    /// The storage and the observer.
    pub fn into_parts(self) -> (S, O) {
        self.space.into_parts()
    }

    /// Bytes needed by [`validate`](Self::validate): a quarter of the used ones.
    pub fn validate_scratch(&self) -> usize {
        self.doc().validate_scratch()
    }

    /// Validates the document in one linear pass; from then on it is trusted.
    ///
    /// # Errors
    /// The first problem with its offset; [`ErrorKind::ScratchTooSmall`].
    pub fn validate_in(&mut self, scratch: &mut [u8]) -> Result<()> {
        self.doc().validate_in(scratch)?;
        self.space.trusted = true;
        Ok(())
    }

    /// The root container's handle; `None` where the root is a scalar.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"lap": 55});
    /// let root = doc.root_id().unwrap();
    /// doc.set(root, "lap", 56)?;
    /// assert_eq!(doc.get("lap")?.unwrap(), 56);
    /// assert!(livebuf::json!(55).root_id().is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn root_id(&self) -> Option<NodeId> {
        let raw = self.doc().root().raw();
        self.handle(raw, 1)
    }

    fn handle(&self, raw: Raw, depth: u16) -> Option<NodeId> {
        let node = raw.tag == TAG_OBJECT || raw.tag == TAG_ARRAY;
        let row = row_of(raw.cell).unwrap_or(0);
        node.then(|| self.handles.give(raw.cell as u32, row, depth))
    }

    /// The handle of an object or array that was got from this document as a child of the
    /// container `parent`; `None` for scalars, for what is no child of `parent`, and for
    /// values of other documents. Constant time; in a row of a table, linear in its columns.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [{"time": 71}, {"time": 70}]});
    /// let laps = doc.find("/laps")?.unwrap();
    /// let fastest = doc.value(laps)?.as_array()?.unwrap().get(1)?.unwrap();
    /// let fastest = doc.handle_of(&fastest, laps).unwrap();
    /// doc.set(fastest, "time", 69)?;
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn handle_of<M: Mode>(&self, value: &Value<'_, M>, parent: NodeId) -> Option<NodeId> {
        if !core::ptr::eq(value.document(), self.space.bytes()) {
            return None;
        }
        let parent = self.resolve(parent).ok()?;
        let raw = value.raw();
        let child = self.is_child(raw, parent).unwrap_or(false);
        if child { self.handle(raw, parent.depth.saturating_add(1)) } else { None }
    }

    /// Whether a value's place is in a container itself, not below.
    fn is_child(&self, raw: Raw, parent: NodeId) -> Result<bool> {
        let bytes = self.space.bytes();
        let within = |start: u64, size: u64| (start..start + size).contains(&(raw.position as u64));
        let in_slots = |column: Elements, first: u32, count: u32| {
            let end = first.saturating_add(count);
            if let Some(row) = row_of(raw.cell) {
                return column.data == raw.cell as u32 && (first..end).contains(&row);
            }
            let at = |slot| match column.column {
                ColumnType::Cells => cell_at(slot),
                other => slot as u64 * other.width(),
            };
            within(column.values_at() + at(first), at(end) - at(first))
        };
        match self.container(parent)? {
            Container::Record(record) => Ok(within(record.offset as u64, record.size())),
            Container::Map(map) => {
                Ok(within(map.entries as u64, entries_size(map.capacity as u64)))
            }
            Container::Array(elements) | Container::Listed(_, _, elements) => {
                Ok(in_slots(elements, elements.first, elements.count))
            }
            Container::Row(table, row) => {
                for index in 0..table.columns {
                    if in_slots(table.column(bytes, index)?, row, 1) {
                        return Ok(true);
                    }
                }
                match table.extra(bytes, row)? {
                    0 => Ok(false),
                    home => self.is_child(raw, self.handles.give(home, 0, parent.depth)),
                }
            }
        }
    }

    /// The handle of a child container; `None` where it is a scalar or not there.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::WrongType`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"drivers": [{"name": "Ada"}]});
    /// let drivers = doc.child(doc.root_id().unwrap(), "drivers")?.unwrap();
    /// let ada = doc.child(drivers, 0)?.unwrap();
    /// doc.set(ada, "laps", 55)?;
    /// assert!(doc.child(ada, "laps")?.is_none());          // no container
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn child(&self, node: NodeId, at: impl Child) -> Result<Option<NodeId>> {
        let node = self.resolve(node)?;
        let container = self.container(node)?;
        let slot = self.slot(container, at.child())?;
        let raw = match slot {
            Some(slot) => self.load(slot)?,
            None => return Ok(None),
        };
        Ok(self.handle(raw, node.depth.saturating_add(1)))
    }

    /// The handle of the container at a JSON pointer; `None` where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::BadPointer`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"drivers": [{"name": "Ada"}]});
    /// let ada = doc.find("/drivers/0")?.unwrap();
    /// doc.set(ada, "laps", 55)?;
    /// assert_eq!(doc.pointer("/drivers/0/laps")?.unwrap(), 55);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn find(&self, pointer: &str) -> Result<Option<NodeId>> {
        let depth = pointer.bytes().filter(|&byte| byte == b'/').count() + 1;
        let depth = u16::try_from(depth).unwrap_or(u16::MAX);
        Ok(self.doc().root().follow(pointer)?.and_then(|value| self.handle(value.raw(), depth)))
    }

    /// The object or array of a handle, as a value.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`], or what is damaged.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [88.4]});
    /// let laps = doc.find("/laps")?.unwrap();
    /// doc.push(laps, 87.9)?;
    /// assert_eq!(doc.value(laps)?.get(1)?.unwrap(), 87.9);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn value(&self, node: NodeId) -> Result<Value<'_, Checked>> {
        let node = self.resolve(node)?;
        let (home, row) = (node.home as u64, row_cell(node.home, node.row));
        let (tag, cell) = match self.container(node)? {
            Container::Array(_) => (TAG_ARRAY, home),
            Container::Listed(..) => (TAG_ARRAY, row),
            Container::Row(..) => (TAG_OBJECT, row),
            Container::Record(_) | Container::Map(_) => (TAG_OBJECT, home),
        };
        Ok(Value::new(Checked, self.space.bytes(), Raw::unplaced(tag, cell)))
    }

    /// Whether a handle is good: its container was not freed or taken away since.
    ///
    /// ```
    /// let mut doc = livebuf::json!([[1], [2]]);
    /// let (first, second) = (doc.find("/0")?.unwrap(), doc.find("/1")?.unwrap());
    /// doc.remove_pointer("/0")?;
    /// assert!(!doc.is_current(first));
    /// assert_eq!(doc.value(second)?.get(0)?.unwrap(), 2);  // it follows
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn is_current(&self, node: NodeId) -> bool {
        self.resolve(node).is_ok()
    }

    /// The handle of the same container now.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn resolve(&self, node: NodeId) -> Result<NodeId> {
        if self.handles.is_fresh(node) {
            return Ok(node);
        }
        self.handles.resolve(node).ok_or_else(|| stale(node))
    }

    /// The same for an edit: the handle that it uses stays good whatever else is forgotten.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn enter(&mut self, node: NodeId) -> Result<NodeId> {
        if self.handles.is_fresh(node) {
            self.handles.set_used(node);
            return Ok(node);
        }
        self.enter_older(node)
    }

    #[cold]
    #[inline(never)]
    fn enter_older(&mut self, node: NodeId) -> Result<NodeId> {
        let now = self.handles.resolve(node).ok_or_else(|| stale(node))?;
        self.handles.keep(node, now);
        Ok(now)
    }

    /// Notes what an edit does to containers.
    fn note(&mut self, event: Event) {
        self.handles.note::<S>(event);
    }

    /// Carries out an edit. One that takes a validated document validates it first: by
    /// memory of its own, or in a fixed buffer by the room behind the document.
    fn trusting<R>(&mut self, mut edit: impl FnMut(&mut Self) -> Result<R>) -> Result<R> {
        match edit(self) {
            Err(error) if error.kind() == ErrorKind::NotValidated => {
                self.trust(error)?;
                edit(self)
            }
            result => result,
        }
    }

    #[cold]
    fn trust(&mut self, refused: Error) -> Result<()> {
        #[cfg(feature = "alloc")]
        if !S::FIXED {
            return self.validate();
        }
        let validate: fn(&[u8], &mut [u8]) -> Result<()> = match self.space.storage().validation() {
            Validation::Own => {
                |document, scratch| Doc::over(document).validate_in(scratch).map(|_| ())
            }
            Validation::By(validate) => validate,
            Validation::Refused => return Err(refused),
        };
        let size = self.validate_scratch();
        let Some((document, scratch)) = self.space.scratch(size) else { return Err(refused) };
        let valid = validate(document, scratch);
        scratch.fill(0);
        self.space.trusted = valid.is_ok();
        valid
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn container(&self, node: NodeId) -> Result<Container> {
        self.container_at(node, Block::resolve(self.space.bytes(), node.home)?)
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn container_at(&self, node: NodeId, block: Block) -> Result<Container> {
        let bytes = self.space.bytes();
        match block.kind() {
            KIND_RECORD => Ok(Container::Record(block.record()?.whole(bytes)?)),
            KIND_MAP => {
                let map = Map::load(bytes, block.offset as u64)?;
                check(bytes, map.entries as u64, entries_size(map.capacity as u64))?;
                Ok(Container::Map(map))
            }
            KIND_TABLE => {
                let table = Table::load(bytes, block.offset)?;
                if node.row >= table.rows {
                    return Err(stale(node));
                }
                Ok(Container::Row(table, node.row))
            }
            KIND_LIST => {
                let list = List::load(bytes, block.offset)?;
                Ok(Container::Listed(list, node.row, list.element(bytes, node.row)?))
            }
            _ => Ok(Container::Array(Elements::load(bytes, block)?.whole(bytes)?)),
        }
    }

    /// Where a child lies; `None` where the key is not there (holes included).
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn slot(&self, container: Container, at: At<'_>) -> Result<Option<Slot>> {
        let bytes = self.space.bytes();
        match (container, at) {
            (Container::Array(elements) | Container::Listed(.., elements), At::Index(index)) => {
                if index >= elements.count as usize {
                    return Ok(None);
                }
                Ok(Some(Slot::Element { elements, index: index as u32 }))
            }
            (Container::Row(table, row), At::Key(_) | At::Remembered(_)) => {
                self.slot_in_row(table, row, at)
            }
            (Container::Record(record), At::Key(_) | At::Remembered(_)) => {
                Ok(match object::find_member(bytes, record, at)? {
                    object::Found::Field(index, tag) if tag != TAG_HOLE => Some(Slot::Tagged {
                        tag: record.tag_position(index),
                        cell: record.cell_position(index),
                    }),
                    _ => None,
                })
            }
            (Container::Map(map), At::Key(_) | At::Remembered(_)) => {
                self.entry_slot(map, at.text())
            }
            _ => Err(Error::new(ErrorKind::WrongType, 0)),
        }
    }

    #[inline(never)]
    fn slot_in_row(&self, table: Table, row: u32, at: At<'_>) -> Result<Option<Slot>> {
        let bytes = self.space.bytes();
        let shape = crate::block::shape::Shape::load(bytes, table.shape as u64)?;
        let needle = Needle::new(at.text().as_bytes());
        if let Some(index) = shape.find(bytes, table.columns, &needle)? {
            let elements = table.column(bytes, index)?.whole(bytes)?;
            let present = table.field(bytes, row, index)?.tag != TAG_HOLE;
            return Ok(present.then_some(Slot::Element { elements, index: row }));
        }
        match table.extra(bytes, row)? {
            0 => Ok(None),
            home => self.slot(self.extra_object(home)?, at),
        }
    }

    /// The record or map with a row's further fields. Anything else is damage: followed, a
    /// table that names itself would lead on without end.
    fn extra_object(&self, home: u32) -> Result<Container> {
        let block = Block::resolve(self.space.bytes(), home)?;
        let node = self.handles.give(home, 0, 0);
        match self.container_at(node, block)? {
            container @ (Container::Record(_) | Container::Map(_)) => Ok(container),
            _ => Err(block.unexpected()),
        }
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn load(&self, slot: Slot) -> Result<Raw> {
        let bytes = self.space.bytes();
        match slot {
            Slot::Tagged { tag, cell } => Ok(Raw {
                tag: load_u8(bytes, tag)?,
                cell: load_u64(bytes, cell)?,
                position: cell as u32,
            }),
            Slot::Element { elements, index } => elements.element(bytes, index),
        }
    }

    // --- values -------------------------------------------------------------

    /// Bytes to take for a new value below `under`. Checks all limits.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn measure(&self, new: &New<'_>, under: NodeId) -> Result<u64> {
        let (size, height) = self.measure_value(new, under)?;
        let limit = self.space.limits().nesting;
        if height > 0 && under.depth as u32 + height as u32 > limit as u32 {
            // The handle may say too much, if something was hung deeper since it was taken.
            let depth = self.depth_of(under)?.unwrap_or(under.depth);
            if depth as u32 + height as u32 > limit as u32 {
                return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit as u64));
            }
        }
        Ok(size)
    }

    /// How deep a container is, by looking for it in the whole document; `None` where it
    /// hangs nowhere.
    #[cold]
    #[inline(never)]
    fn depth_of(&self, node: NodeId) -> Result<Option<u16>> {
        let bytes = self.space.bytes();
        let mut allowance = Allowance::new(bytes, self.space.limits().budget);
        let mut found = None;
        let mut stop = |raw: Raw, depth| {
            let here = (raw.cell as u32, row_of(raw.cell).unwrap_or(0)) == (node.home, node.row);
            found = here.then_some(depth);
            here
        };
        walk::each_container(bytes, self.doc().root().raw(), 0, &mut allowance, &mut stop)?;
        Ok(found)
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn measure_span(&self, text: &[u8]) -> Result<u64> {
        if text.len() <= MAX_INLINE {
            return Ok(0);
        }
        let limit = self.space.limits().string;
        if text.len() > limit as usize {
            return Err(Error::with_detail(ErrorKind::StringLimit, 0, limit as u64));
        }
        Ok(round_up(text.len() as u64))
    }

    /// A new value's bytes and height.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn measure_value(&self, new: &New<'_>, under: NodeId) -> Result<(u64, u16)> {
        match new {
            New::Null | New::Bool(_) | New::Int(_) | New::Uint(_) | New::Float(_) => Ok((0, 0)),
            New::Str(text) => Ok((self.measure_span(text.as_bytes())?, 0)),
            New::Object { capacity } => Ok((record_size(*capacity as u32) as u64, 1)),
            other => self.measure_rest(other, under),
        }
    }

    #[inline(never)]
    fn measure_rest(&self, new: &New<'_>, under: NodeId) -> Result<(u64, u16)> {
        match new {
            New::Bytes(bytes) => self.measure_span(bytes).map(|size| (size, 0)),
            New::NumberText(text) => {
                if !crate::format::number::is_json_number(text.as_bytes()) {
                    return Err(Error::new(ErrorKind::BadNumber, 0));
                }
                self.measure_span(text.as_bytes()).map(|size| (size, 0))
            }
            New::Map { capacity } => {
                self.check_elements(*capacity as u64)?;
                Ok((map::create_size(*capacity), 1))
            }
            New::Array { capacity } => {
                self.check_elements(*capacity as u64)?;
                Ok((ARRAY_SIZE as u64 + ColumnType::I64.data_size(*capacity), 1))
            }
            New::Fields(fields) => self.measure_fields(fields, true),
            New::Items(items) => self.measure_items(items),
            New::Copy(value) => copy::measure(value, self.space.limits()),
            New::Detached(detached) => detached.measure(self, under).map(|height| (0, height)),
            _ => Ok((0, 0)),
        }
    }

    fn check_elements(&self, count: u64) -> Result<()> {
        let limit = self.space.limits().elements as u64;
        if count > limit {
            return Err(Error::with_detail(ErrorKind::ElementLimit, 0, limit));
        }
        Ok(())
    }

    /// Writes a measured value's parts and returns its tag and cell.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn build(&mut self, new: &New<'_>, extent: &mut Extent) -> (u8, u64) {
        match new.immediate() {
            Some(value) => value,
            None => match *new {
                New::Str(text) => (TAG_STRING, self.build_span(text.as_bytes(), extent)),
                New::Object { capacity } => {
                    let home = extent.carve(record_size(capacity as u32) as u64);
                    Record::new(home, capacity as u32, 0, 0, 0).write_header(&mut self.space);
                    (TAG_OBJECT, home as u64)
                }
                _ => self.build_rest(new, extent),
            },
        }
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn build_span(&mut self, text: &[u8], extent: &mut Extent) -> u64 {
        if text.len() <= MAX_INLINE {
            return Needle::new(text).cell;
        }
        let offset = extent.carve(round_up(text.len() as u64));
        self.space.write(offset as u64, text);
        span_at(offset, text.len() as u32, true)
    }

    #[inline(never)]
    fn build_rest(&mut self, new: &New<'_>, extent: &mut Extent) -> (u8, u64) {
        match *new {
            New::Fields(fields) => self.build_fields(fields, extent),
            New::Items(items) => self.build_items(items, extent),
            New::Bytes(bytes) => (TAG_BYTES, self.build_span(bytes, extent)),
            New::NumberText(text) => (TAG_NUMBER, self.build_span(text.as_bytes(), extent)),
            New::Map { capacity } => {
                (TAG_OBJECT, map::create(&mut self.space, extent, capacity).at)
            }
            New::Array { capacity } => {
                let home = extent.carve(ARRAY_SIZE as u64);
                let column = ColumnType::I64;
                let data = match capacity {
                    0 => 0,
                    _ => extent.carve(column.data_size(capacity)),
                };
                Elements::new(home, column, 0, capacity, data).write_header(&mut self.space);
                (TAG_ARRAY, home as u64)
            }
            New::Copy(value) => {
                let mut copier = copy::Copier::new(value.document());
                match copier.copy(&mut self.space, value.raw(), extent) {
                    Ok(copy) => copy,
                    // The other document changed since it was measured.
                    Err(_) => {
                        self.space.set_broken();
                        (TAG_NULL, 0)
                    }
                }
            }
            New::Detached(detached) => self.rehang(detached),
            _ => (TAG_NULL, 0),
        }
    }

    /// Puts a new value where an old one is (a slot that takes any value).
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn replace(&mut self, tag: u64, cell: u64, new: New<'_>, under: NodeId) -> Result<(u8, u64)> {
        let slot = Slot::Tagged { tag, cell };
        let old = self.load(slot)?;
        let text = match &new {
            New::Str(text) => Some((TAG_STRING, text.as_bytes())),
            New::Bytes(bytes) => Some((TAG_BYTES, *bytes)),
            _ => None,
        };
        if let Some((new_tag, text)) = text
            && self.replace_span(old, new_tag, text, tag, cell)?
        {
            return Ok((new_tag, 0));
        }
        let fresh = self.measure(&new, under)?;
        self.space.ensure(fresh, 0)?;
        let mut extent = self.space.take(fresh);
        let (new_tag, new_cell) = self.build(&new, &mut extent);
        self.space.finish(extent);
        if new_tag != old.tag {
            self.space.write_u8(tag, new_tag);
        }
        self.space.write_u64(cell, new_cell);
        if old.tag > TAG_SPAN_LAST {
            self.handles.set_used(under);
        }
        if old.tag > TAG_IMMEDIATE_LAST {
            self.release(old);
        }
        Ok((new_tag, new_cell))
    }

    /// Writes text over an owned span that has the room, or the end of the document
    /// behind it. False where it has not.
    #[inline(never)]
    fn replace_span(
        &mut self,
        old: Raw,
        new_tag: u8,
        text: &[u8],
        tag: u64,
        cell: u64,
    ) -> Result<bool> {
        let spanned = old.tag > TAG_IMMEDIATE_LAST && old.tag <= TAG_SPAN_LAST;
        let Some((offset, length)) = owned_span(old.cell).filter(|_| spanned) else {
            return Ok(false);
        };
        let new_size = self.measure_span(text)?;
        let offset = offset as u64;
        let (old_end, new_end) = if offset.is_multiple_of(8) {
            (offset + round_up(length as u64), offset + new_size)
        } else {
            (offset + length as u64, offset + text.len() as u64)
        };
        // A foreign document's neighbours may lie on the padding.
        if new_size == 0 || !self.space.trusted {
            return Ok(false);
        }
        if new_end > old_end {
            if old_end != self.space.used() as u64 || !offset.is_multiple_of(8) {
                return Ok(false);
            }
            self.space.ensure(0, new_end - old_end)?;
            self.space.extend(new_end - old_end);
        }
        self.space.write(offset, text);
        let text_end = offset + text.len() as u64;
        self.space.zero(text_end, new_end - text_end);
        if new_end < old_end {
            self.space.free_range(new_end, old_end);
        }
        if new_tag != old.tag {
            self.space.write_u8(tag, new_tag);
        }
        let new_cell = span_at(offset as u32, text.len() as u32, true);
        if new_cell != old.cell {
            self.space.write_u64(cell, new_cell);
        }
        Ok(true)
    }

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
    pub fn set_root<'v>(&mut self, new: impl Into<New<'v>>) -> Result<Option<NodeId>> {
        self.space.editable()?;
        let (tag, cell) = (HEADER_ROOT_TAG as u64, HEADER_ROOT_CELL as u64);
        let above = self.handles.give(0, 0, 0);
        let (tag, cell) = self.replace(tag, cell, new.into(), above)?;
        let root = self.handle(Raw::unplaced(tag, cell), 1);
        self.finish();
        Ok(root)
    }

    /// Sets the value at a JSON pointer. The parent must be there; the last
    /// token names a member (added if missing), an element, or `-` for the
    /// place after the last.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where a parent is missing, and [`ErrorKind::WrongType`] where
    /// one is no object or array, or an array and the pointer goes on with no index: the
    /// error's `detail` is how much of the pointer, in bytes, leads to that parent.
    /// [`ErrorKind::BadPointer`], limits and space.
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
    /// The root becomes null.
    ///
    /// # Errors
    /// [`ErrorKind::BadPointer`], or what is damaged.
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
            self.set_root(())?;
            return Ok(true);
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
        self.space.editable()?;
        let node = if self.handles.is_fresh(node) { node } else { self.enter_older(node)? };
        self.set_fresh::<true>(node, at.child(), new.into())
    }

    /// The end of an edit: gives space back where very much is free. The edit that frees it
    /// does so, never a later one: that may be a set of a number, which changes few bytes.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn finish(&mut self) {
        #[cfg(feature = "alloc")]
        if self.space.must_squeeze {
            self.squeeze();
        }
    }

    /// The end of an edit that makes room. Squeezing would take that again: the old place that
    /// it left counts when something is removed.
    fn finish_growing(&mut self) {
        self.space.must_squeeze = false;
    }

    /// [`set`](Self::set) by a fresh handle. `WHOLE`: it is the edit, not a part of it.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn set_fresh<const WHOLE: bool>(
        &mut self,
        node: NodeId,
        at: At<'_>,
        new: New<'_>,
    ) -> Result<Option<NodeId>> {
        let block = Block::resolve(self.space.bytes(), node.home)?;
        let (tag, cell) = if block.kind() == KIND_RECORD && !matches!(at, At::Index(_)) {
            let record = block.record()?.whole(self.space.bytes())?;
            match object::find_member(self.space.bytes(), record, at)? {
                object::Found::Field(index, old) if old != TAG_HOLE => {
                    let (tag, cell) = (record.tag_position(index), record.cell_position(index));
                    if old <= TAG_IMMEDIATE_LAST
                        && let Some((new_tag, new_cell)) = new.immediate()
                    {
                        if old != new_tag {
                            self.space.write_u8(tag, new_tag);
                        }
                        self.space.write_u64(cell, new_cell);
                        return Ok(None);
                    }
                    self.replace(tag, cell, new, node)?
                }
                object::Found::Field(index, _) => self.fill_hole(node, record, index, new)?,
                object::Found::Nothing(shape) => {
                    let key = at.text();
                    let needle = Needle::new(key.as_bytes());
                    if self.append_field(record, shape, &needle, &new).is_some() {
                        return Ok(None);
                    }
                    if key.len() > MAX_SHAPE_KEY || record.used() == MAX_FIELDS as u32 {
                        self.add_as_map(node, record, key, new)?
                    } else {
                        self.add_field(node, record, shape, &needle, new)?
                    }
                }
            }
        } else {
            self.set_elsewhere(node, block, at, new)?
        };
        let mut set = None;
        if tag >= TAG_OBJECT {
            set = self.handle(Raw::unplaced(tag, cell), node.depth.saturating_add(1));
        }
        if WHOLE {
            self.finish();
        }
        Ok(set)
    }

    #[inline(never)]
    fn set_elsewhere(
        &mut self,
        node: NodeId,
        block: Block,
        at: At<'_>,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        self.trusting(|editor| editor.try_set_elsewhere(node, block, at, new))
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn try_set_elsewhere(
        &mut self,
        node: NodeId,
        block: Block,
        at: At<'_>,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        match (self.container_at(node, block)?, at) {
            (Container::Map(map), At::Key(_) | At::Remembered(_)) => {
                self.set_entry(node, map, at.text(), new)
            }
            (Container::Row(table, row), At::Key(_) | At::Remembered(_)) => {
                self.set_in_row(node, table, row, at.text(), new)
            }
            (Container::Array(elements) | Container::Listed(.., elements), At::Index(index))
                if index >= elements.count as usize =>
            {
                let count = elements.count as u64;
                Err(Error::with_detail(ErrorKind::IndexOutOfRange, 0, count))
            }
            (Container::Array(elements), At::Index(index)) => {
                self.set_element(node, elements, index as u32, new)
            }
            // An element of a list lies among others' elements.
            (Container::Listed(list, _, elements), At::Index(index)) => {
                let slot = elements.first + index as u32;
                self.measure(&new, node)?;
                self.change(Step::Set { place: Place::elements(list), slot, new })
            }
            _ => Err(Error::new(ErrorKind::WrongType, 0)),
        }
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
        self.space.editable()?;
        let node = self.enter(node)?;
        match self.trusting(|editor| editor.unhang(node, at.child(), false))? {
            Some(raw) => {
                self.release(raw);
                self.finish();
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Takes a value out of its place without copying or freeing it, to be
    /// hung in another place of this document. `None` where there is none.
    ///
    /// A detached value that is dropped is garbage until compaction;
    /// [`discard`](Self::discard) frees it. Compaction makes it stale. Handles of what is
    /// detached, and of all below, stay good.
    ///
    /// # Errors
    /// As [`remove`](Self::remove).
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
        self.space.editable()?;
        let node = self.enter(node)?;
        let raw = self.trusting(|editor| editor.unhang(node, at.child(), true))?;
        let depth = node.depth.saturating_add(1);
        self.detached += u32::from(raw.is_some_and(|raw| raw.tag > TAG_IMMEDIATE_LAST));
        // What hangs nowhere would be lost by squeezing.
        if self.detached == 0 {
            self.finish();
        }
        Ok(raw.map(|raw| Detached::new(raw, self.handles.generation, depth)))
    }

    /// Frees a detached value.
    ///
    /// # Errors
    /// [`ErrorKind::StaleHandle`] where it hangs somewhere, or the document was compacted.
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
        detached.measure(self, NodeId::NONE)?;
        self.attached(&detached);
        self.release(detached.raw());
        self.finish();
        Ok(())
    }

    /// Takes a value out of its place. `keeps`: it is to hang elsewhere, else a row's
    /// value is freed with its place.
    fn unhang(&mut self, node: NodeId, at: At<'_>, keeps: bool) -> Result<Option<Raw>> {
        match (self.container(node)?, at) {
            (Container::Array(elements), At::Index(index)) => {
                self.take_element(elements, index, keeps)
            }
            (Container::Record(record), At::Key(_) | At::Remembered(_)) => {
                self.take_field(record, at)
            }
            (Container::Map(map), At::Key(_) | At::Remembered(_)) => {
                self.take_entry(map, at.text())
            }
            (Container::Row(table, row), At::Key(_) | At::Remembered(_)) => {
                self.take_from_row(table, row, at.text(), keeps)
            }
            (Container::Listed(.., elements), At::Index(index))
                if index >= elements.count as usize =>
            {
                Ok(None)
            }
            (array @ Container::Listed(..), At::Index(index)) => {
                let elements = self.part(node, array)?;
                self.take_element(elements, index, keeps)
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
        self.space.editable()?;
        let node = self.enter(node)?;
        let cleared = self.trusting(|editor| match editor.container(node)? {
            Container::Array(_) | Container::Listed(..) => editor.truncate(node, 0),
            Container::Record(record) => {
                editor.clear_record(record);
                Ok(())
            }
            Container::Map(map) => {
                editor.clear_map(map);
                Ok(())
            }
            Container::Row(table, row) => editor.change(Step::ClearRow { table, row }).map(|_| ()),
        });
        self.finish();
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
        self.space.editable()?;
        let node = self.enter(node)?;
        let additional = u32::try_from(additional)
            .map_err(|_| Error::with_detail(ErrorKind::ElementLimit, 0, u32::MAX as u64))?;
        let reserved = self.trusting(|editor| match editor.container(node)? {
            Container::Record(record) => editor.reserve_fields(node.home, record, additional),
            Container::Map(map) => editor.reserve_entries(map, additional),
            // A row's fields have their places.
            Container::Row(..) => Ok(()),
            array => editor.reserve_elements(node, array, additional),
        });
        self.finish_growing();
        reserved
    }

    /// Makes a home lead to a block that moved; frees what it led to before.
    fn move_home(&mut self, home: u32, old: u32, old_size: u64, new: u32) {
        let forward = KIND_FORWARD as u64 | (new as u64) << 32;
        self.space.write_u64(home as u64, forward);
        if old == home {
            self.space.free(home as u64 + 8, old_size - 8);
        } else {
            self.space.free(old as u64, old_size);
        }
    }
}

/// The used bytes, as [`Editor::as_bytes`].
impl<S: Storage, O: Observer> AsRef<[u8]> for Editor<S, O> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

#[cold]
fn stale(node: NodeId) -> Error {
    Error::new(ErrorKind::StaleHandle, node.home as u64)
}

impl<S: Storage> Editor<S> {
    /// [`create_with`](Self::create_with) without an observer.
    ///
    /// # Errors
    /// What the storage says when it cannot hold 32 bytes.
    ///
    /// ```
    /// let mut buffer = [0; 256];
    /// let mut doc = livebuf::Editor::create(&mut buffer[..])?;
    /// doc.set_root("hello")?;
    /// assert_eq!(doc.root().as_str()?, Some("hello"));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn create(storage: S) -> Result<Self> {
        Editor::create_with(storage, ())
    }

    /// [`create`](Self::create) in a place of the caller's: an editor is long to copy, and
    /// messages are begun often. For bindings.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with); the place holds nothing then.
    #[doc(hidden)]
    #[cfg_attr(not(feature = "small"), inline)]
    pub fn create_in(place: &mut MaybeUninit<Self>, mut storage: S) -> Result<&mut Self> {
        if storage.bytes().len() < HEADER_SIZE as usize {
            storage.grow(HEADER_SIZE as u64)?;
        }
        let mut space = Space::new(storage, (), HEADER_SIZE, true, Limits::default());
        space.write(0, &NULL_DOCUMENT);
        Ok(place.write(Editor { space, handles: Handles::new(), detached: 0 }))
    }

    /// [`open_unvalidated_with`](Self::open_unvalidated_with) without an observer.
    ///
    /// # Errors
    /// As [`open_unvalidated_with`](Self::open_unvalidated_with).
    ///
    /// ```
    /// let mut received = livebuf::json!({"lap": 55}).to_vec();
    /// let mut doc = livebuf::Editor::open_unvalidated(&mut received[..])?;
    /// doc.set_pointer("/lap", 56)?;                    // where the bytes lie
    /// assert_eq!(doc.pointer("/lap")?.unwrap(), 56);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn open_unvalidated(storage: S) -> Result<Self> {
        Editor::open_unvalidated_with(storage, ())
    }
}

impl<S: Exclusive, O: Observer> Editor<S, O> {
    /// The document with plain answers. Constant time: nothing is validated here.
    ///
    /// # Errors
    /// [`ErrorKind::NotValidated`] where it is not [trusted](Self::is_trusted): a document
    /// from elsewhere that [`validate`](Self::validate) did not pass yet.
    ///
    /// ```
    /// let doc = livebuf::json!({"lap": 55});
    /// assert_eq!(doc.valid()?.pointer("/lap").unwrap().as_i64(), Some(55));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[allow(unsafe_code)]
    pub fn valid(&self) -> Result<Doc<'_, Valid>> {
        if !self.space.trusted {
            return Err(Error::new(ErrorKind::NotValidated, 0));
        }
        // SAFETY: this editor wrote or validated the bytes, and the storage is exclusive.
        Ok(unsafe { self.doc().assume_valid() })
    }
}

/// Bytes to take for a key's text.
#[cfg_attr(not(feature = "small"), inline(always))]
fn key_fresh(key: &[u8]) -> u64 {
    if key.len() <= MAX_INLINE { 0 } else { round_up(key.len() as u64) }
}

/// Stores a key's text (measured by [`key_fresh`]) and returns its cell.
fn build_key<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    key: &[u8],
    owned: bool,
    extent: &mut Extent,
) -> u64 {
    if key.len() <= MAX_INLINE {
        return inline_span(key);
    }
    let offset = extent.carve(round_up(key.len() as u64));
    space.write(offset as u64, key);
    span_at(offset, key.len() as u32, owned)
}
