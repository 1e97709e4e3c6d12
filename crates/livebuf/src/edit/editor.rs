//! The editor: making and opening one, handles, looking at containers, and checks that all
//! edits share.

#[cfg(feature = "alloc")]
use super::handles::Homes;
use super::handles::{Event, Handles, NodeId};
use super::member::find_member;
use super::new::{At, Child, New};
use crate::block::column::{Elements, row_cell, row_of};
use crate::block::column_type::ColumnType;
use crate::block::list::List;
use crate::block::map::{self, Map};
use crate::block::record::{Block, Raw, Record};
use crate::block::shape::Shape;
use crate::block::table::Table;
use crate::block::walk::{self, Allowance};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u32, load_u64};
use crate::format::cell::Needle;
use crate::format::layout::*;
#[cfg(feature = "alloc")]
use crate::store::space::Listener;
use crate::store::space::{Extent, KEPT_FLAGS, Space};
use crate::store::storage::{Exclusive, Storage};
use crate::view::validate::{Kinds, Region, Stats};
use crate::view::{Checked, Doc, Header, Mode, Valid, Value};
#[cfg(feature = "alloc")]
use alloc::boxed::Box;
#[cfg(feature = "alloc")]
use core::any::Any;
use core::mem::MaybeUninit;

/// Edits a document in the bytes of its storage.
///
/// A document that was opened is not *trusted* until [`validate`](Editor::validate) passes. It
/// can be edited before, but freed space is not reused.
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
pub struct Editor<S> {
    pub(crate) space: Space<S>,
    pub(crate) handles: Handles,
    /// `None` where the document has no tables: it was begun here and got no copies.
    #[cfg(feature = "small")]
    tables: Option<fn() -> TableEdits<S>>,
}

/// The edits that only documents with tables need, and copies, which bring tables.
///
/// In the small build these are pointers. So a program that begins its documents itself, and
/// copies none, is linked without this code, which is nearly half of it all.
#[allow(clippy::type_complexity)]
pub(super) struct TableEdits<S> {
    pub(super) set_in_row:
        fn(&mut Editor<S>, NodeId, Table, u32, &str, New<'_>) -> Result<(u8, u64)>,
    pub(super) set_in_map: fn(&mut Editor<S>, NodeId, Map, &str, New<'_>) -> Result<(u8, u64)>,
    /// Bytes of a copy, and how many containers nest in it.
    pub(super) count_copy: fn(&Editor<S>, value: &Value<'_>) -> Result<(u64, u16)>,
    /// Writes a copy that was counted.
    pub(super) copy: fn(&mut Editor<S>, &Value<'_>, &mut Extent) -> Result<(u8, u64)>,
    /// How many containers nest in a value of this document, of which none may have this home.
    pub(super) height: fn(&Editor<S>, Raw, u32) -> Result<u16>,
    pub(super) validate: fn(&[u8], &mut [u8]) -> Result<Stats>,
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
pub(super) const NULL_DOCUMENT: [u8; HEADER_SIZE as usize] = {
    let mut header = [0; HEADER_SIZE as usize];
    [header[0], header[1], header[2], header[3]] = MAGIC;
    header[HEADER_VERSION as usize] = VERSION;
    header[HEADER_ROOT_TAG as usize] = TAG_NULL;
    header[HEADER_USED as usize] = HEADER_SIZE as u8;
    header
};

/// Where a value lies, for writing.
#[derive(Clone, Copy)]
pub(super) enum ValueSlot {
    /// A tag and a cell, wherever they are.
    Tagged { tag: u64, cell: u64 },
    /// An element of an array.
    Element { elements: Elements, index: u32 },
}

/// A resolved handle: the container's block.
#[derive(Clone, Copy)]
pub(super) enum Container {
    Record(Record),
    Map(Map),
    Array(Elements),
    /// A row of a table.
    Row(Table, u32),
    /// An element of a list, and which it is.
    Listed(List, u32, Elements),
}

impl<S: Storage> Editor<S> {
    // --- making and opening -------------------------------------------------

    #[inline]
    pub(super) fn over(space: Space<S>) -> Self {
        Editor {
            space,
            handles: Handles::new(),
            #[cfg(feature = "small")]
            tables: Some(TableEdits::all),
        }
    }

    #[inline]
    pub(super) fn table_edits(&self) -> Result<TableEdits<S>> {
        #[cfg(feature = "small")]
        return self.tables.map(|all| all()).ok_or(Error::new(ErrorKind::Unsupported, 0));
        #[cfg(not(feature = "small"))]
        Ok(TableEdits::all())
    }

    /// Links the edits of tables into a document that [`adopt_in`](Self::adopt_in) began, because
    /// it is going to get a copy. For bindings.
    #[cfg(feature = "small")]
    #[doc(hidden)]
    pub fn link_tables(&mut self) {
        self.tables = Some(TableEdits::all);
    }

    /// Starts an empty document (its root is null) at the beginning of the storage.
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
    pub fn create(mut storage: S) -> Result<Self> {
        if storage.bytes().len() < HEADER_SIZE as usize {
            storage.grow(HEADER_SIZE as u64)?;
        }
        let mut space = Space::new(storage, HEADER_SIZE, true, Limits::default());
        space.write(0, &NULL_DOCUMENT);
        Ok(Editor::over(space))
    }

    /// Opens the document that the storage holds, in constant time. It is not trusted until
    /// [`validate`](Self::validate) passes.
    ///
    /// Storage that [cannot be written](Storage::is_writable) can be opened too. It can be read,
    /// and every edit is refused. In other storage, flags that any reader may ignore are cleared at
    /// once, since an edit may make them false.
    ///
    /// # Errors
    /// As [`Doc::open`], and [`ErrorKind::ReadOnly`] where the document has a
    /// feature that this version can read but not edit.
    ///
    /// ```
    /// let mut received = livebuf::json!({"lap": 55}).to_vec();
    /// let mut doc = livebuf::Editor::open_unvalidated(&mut received[..])?;
    /// doc.set_pointer("/lap", 56)?;                    // where the bytes lie
    /// assert_eq!(doc.pointer("/lap")?.unwrap(), 56);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn open_unvalidated(storage: S) -> Result<Self> {
        let bytes = storage.bytes();
        Doc::open(bytes)?;
        let header = Header::check(bytes)?;
        let writable = storage.is_writable();
        if writable && header.read_only != 0 {
            return Err(Error::new(ErrorKind::ReadOnly, HEADER_READ_ONLY_FLAGS as u64));
        }
        let mut space = Space::new(storage, header.used, false, Limits::default());
        space.watch_state();
        if writable && header.ignore & !KEPT_FLAGS != 0 {
            space.write_u8(HEADER_IGNORE_FLAGS as u64, 0);
            // With the fields that may belong to them (FORMAT 2).
            let aux = load_u32(space.bytes(), HEADER_AUX as u64)? as u64;
            let fields = aux + AUX_REVISION as u64;
            let is_there = aux != 0 && fields + 8 <= header.used as u64;
            if is_there && load_u8(space.bytes(), aux) == Ok(KIND_AUX) {
                space.write_u64(fields, 0);
            }
        }
        Ok(Editor::over(space))
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
    ///
    /// Text that several values share, or that is in a dictionary, is not freed when the last of
    /// them goes. To be rid of a secret, compact the document.
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

    /// The storage. Open transactions are rolled back.
    pub fn into_storage(mut self) -> S {
        while self.space.roll_back() {}
        self.space.into_storage()
    }

    /// From here on `listener` is told of each change before it is made, beside those that are told
    /// already. While there are any, edits take somewhat longer. A clone of the document has none.
    ///
    /// ```
    /// use livebuf::{Recorder, json};
    /// let mut doc = json!({"lap": 55, "laps": [1, 2, 3]});
    /// doc.listen(Recorder::new(doc.as_bytes()));
    /// doc.set_pointer("/lap", 56)?;
    /// let changed = doc.stop_listening::<Recorder>().unwrap();
    /// assert_eq!(changed.ranges(doc.as_bytes().len() as u64).len(), 1);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn listen<L: Listener>(&mut self, listener: L) {
        self.space.listeners_mut().push(Box::new(listener));
        self.space.watch();
    }

    /// The listener of this type; of several the first.
    #[cfg(feature = "alloc")]
    pub fn listener<L: Listener>(&self) -> Option<&L> {
        let mut listeners = self.space.listeners().iter();
        listeners.find_map(|listener| (listener.as_ref() as &dyn Any).downcast_ref())
    }

    /// The listener of this type, to be reset; of several the first.
    #[cfg(feature = "alloc")]
    pub fn listener_mut<L: Listener>(&mut self) -> Option<&mut L> {
        let mut listeners = self.space.listeners_mut().iter_mut();
        listeners.find_map(|listener| (listener.as_mut() as &mut dyn Any).downcast_mut())
    }

    /// Takes the listener of this type away; of several the first.
    #[cfg(feature = "alloc")]
    pub fn stop_listening<L: Listener>(&mut self) -> Option<L> {
        let listeners = self.space.listeners_mut();
        let at = listeners.iter().position(|listener| (listener.as_ref() as &dyn Any).is::<L>())?;
        let listener: Box<dyn Any> = listeners.remove(at);
        self.space.watch();
        listener.downcast().ok().map(|listener| *listener)
    }

    /// Asks the storage again whether it [hears](Storage::hears) of changes. For bindings.
    #[doc(hidden)]
    pub fn watch(&mut self) {
        self.space.watch();
    }

    /// Bytes needed by [`validate`](Self::validate): a quarter of the used ones.
    pub fn validate_scratch(&self) -> usize {
        self.doc().validate_scratch()
    }

    /// Trusts the document as it is, as after [`validate`](Self::validate). Handles that were taken
    /// of it before, while it was not trusted, are stale from then on.
    ///
    /// # Safety
    /// The document is valid: text is not checked to be UTF-8 any more.
    ///
    /// ```
    /// let bytes = livebuf::json!({"lap": 55}).to_vec();
    /// let mut doc = livebuf::DocBuf::from_bytes_unvalidated(&bytes)?;
    /// // SAFETY: this library just made the bytes.
    /// unsafe { doc.assume_trusted() };
    /// assert_eq!(doc.valid()?.pointer("/lap").unwrap(), 55);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[allow(unsafe_code)]
    pub unsafe fn assume_trusted(&mut self) {
        if !self.space.trusted {
            self.handles.reset();
            self.space.trusted = true;
        }
    }

    /// Validates the document in one linear pass; from then on it is trusted.
    ///
    /// Handles stay good if the document has their containers. Only those of a damaged document may
    /// not: an edit through a container that lies over another one can cut that off. In a fixed
    /// buffer, each handle from before is looked for in the whole document when it is used again,
    /// so take them afterwards.
    ///
    /// # Errors
    /// The first problem with its offset; [`ErrorKind::ScratchTooSmall`].
    pub fn validate_in(&mut self, scratch: &mut [u8]) -> Result<()> {
        self.validate_by(|doc, kinds, meet| doc.stats_in_with(scratch, kinds, meet))
    }

    /// Validates, by a function that tells of the regions of these kinds at least. A document that
    /// is trusted already keeps all handles.
    pub(super) fn validate_by(
        &mut self,
        validate: impl FnOnce(Doc<'_>, Kinds, &mut dyn FnMut(Region)) -> Result<Stats>,
    ) -> Result<()> {
        #[cfg(feature = "alloc")]
        if !S::FIXED
            && !self.space.trusted
            && let Some(mut homes) = Homes::new(self.space.used() as usize)
        {
            let meet = &mut |region| homes.meet(region);
            let stats = validate(self.doc(), Kinds::HOMES, meet)?;
            self.handles.validated::<S>(homes, stats.depth);
            self.space.trusted = true;
            return Ok(());
        }
        let stats = validate(self.doc(), Kinds::NONE, &mut |_| {})?;
        self.set_trusted(stats.depth);
        Ok(())
    }

    /// The document was found valid, and nests so deep.
    fn set_trusted(&mut self, depth: u64) {
        if !self.space.trusted {
            self.handles.validated_in_place::<S>(depth);
            self.space.trusted = true;
        }
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

    pub(super) fn handle(&self, raw: Raw, depth: u16) -> Option<NodeId> {
        let node = raw.tag == TAG_OBJECT || raw.tag == TAG_ARRAY;
        let row = row_of(raw.cell).unwrap_or(0);
        node.then(|| self.handles.give(raw.cell as u32, row, depth))
    }

    /// The handle of an object or array that was got from this document as a child of the container
    /// `parent`; `None` for scalars, for values that are not a child of `parent`, and for values of
    /// other documents. Constant time; in a row of a table, linear in its columns.
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
        if child { self.handle(raw, parent.depth().saturating_add(1)) } else { None }
    }

    /// Whether a value's place is in a container itself, not below.
    pub(super) fn is_child(&self, raw: Raw, parent: NodeId) -> Result<bool> {
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
                let values = map.values(bytes)?;
                Ok(in_slots(values, 0, values.count))
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
                    home => self.is_child(raw, self.handles.give(home, 0, parent.depth())),
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
        Ok(self.handle(raw, node.depth().saturating_add(1)))
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
        let (home, row) = (node.home() as u64, row_cell(node.home(), node.row()));
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

    /// The handle of the same container as of now; `None` where it is stale. For bindings.
    #[doc(hidden)]
    #[inline]
    pub fn renewed(&self, node: NodeId) -> Option<NodeId> {
        self.resolve(node).ok()
    }

    /// Whether all changes since a handle was taken are remembered: if it is stale then, its
    /// container is gone. For bindings.
    #[doc(hidden)]
    pub fn remembers(&self, node: NodeId) -> bool {
        self.handles.remembers(node)
    }

    /// The handle of the same container now.
    #[inline]
    pub(super) fn resolve(&self, node: NodeId) -> Result<NodeId> {
        if self.handles.is_fresh(node) {
            return Ok(node);
        }
        self.resolve_older(node)
    }

    #[cold]
    #[inline(never)]
    fn resolve_older(&self, node: NodeId) -> Result<NodeId> {
        let now = self.handles.resolve(node).ok_or_else(|| stale(node))?;
        if self.handles.is_unchecked(node) && self.depth_of(now)?.is_none() {
            return Err(stale(node));
        }
        Ok(now)
    }

    /// [`enter`](Self::enter), where edits are not refused.
    pub(super) fn enter_to_edit(&mut self, node: NodeId) -> Result<NodeId> {
        self.space.editable()?;
        self.enter(node)
    }

    /// The same for an edit: the handle that it uses stays good whatever else is forgotten.
    #[inline]
    pub(super) fn enter(&mut self, node: NodeId) -> Result<NodeId> {
        if self.handles.is_fresh(node) {
            self.handles.set_used(node);
            return Ok(node);
        }
        self.enter_older(node)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn enter_older(&mut self, node: NodeId) -> Result<NodeId> {
        let now = self.resolve_older(node)?;
        self.handles.keep(node, now);
        Ok(now)
    }

    /// Notes how an edit changes containers: handles follow.
    pub(super) fn note(&mut self, event: Event) {
        self.handles.note::<S>(event);
    }

    /// Carries out an edit. If it needs a validated document, this validates it first: with
    /// allocated memory, or in a fixed buffer with the room behind the document.
    pub(super) fn trusting<R>(
        &mut self,
        mut edit: impl FnMut(&mut Self) -> Result<R>,
    ) -> Result<R> {
        match edit(self) {
            Err(error) if error.kind() == ErrorKind::NotValidated => {
                self.trust(error)?;
                self.use_again()?;
                edit(self)
            }
            result => result,
        }
    }

    #[cold]
    pub(super) fn trust(&mut self, refused: Error) -> Result<()> {
        #[cfg(feature = "alloc")]
        if !S::FIXED || !self.space.storage().log_behind() {
            return self.validate();
        }
        let validate = self.table_edits()?.validate;
        let size = self.validate_scratch();
        let Some((document, scratch)) = self.space.scratch(size) else { return Err(refused) };
        let valid = validate(document, scratch);
        scratch.fill(0);
        self.set_trusted(valid?.depth);
        Ok(())
    }

    /// Checks that validation did not end the handle of the edit that needed it.
    #[cold]
    fn use_again(&mut self) -> Result<()> {
        let given = self.handles.given();
        match given == NodeId::NONE {
            true => Ok(()),
            false => self.enter_older(given).map(|_| ()),
        }
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn container(&self, node: NodeId) -> Result<Container> {
        self.container_at(node, Block::resolve(self.space.bytes(), node.home())?)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn container_at(&self, node: NodeId, block: Block) -> Result<Container> {
        let bytes = self.space.bytes();
        match block.kind() {
            KIND_RECORD => Ok(Container::Record(block.record()?.whole(bytes)?)),
            KIND_MAP => {
                let map = Map::load(bytes, block.offset as u64)?;
                check(bytes, map.keys.0 as u64, map::keys_size(map.capacity))?;
                Ok(Container::Map(map))
            }
            KIND_TABLE => {
                let table = Table::load(bytes, block.offset)?;
                if node.row() >= table.rows {
                    return Err(stale(node));
                }
                Ok(Container::Row(table, node.row()))
            }
            KIND_LIST => {
                let list = List::load(bytes, block.offset)?;
                Ok(Container::Listed(list, node.row(), list.element(bytes, node.row())?))
            }
            _ => Ok(Container::Array(Elements::load(bytes, block)?.whole(bytes)?)),
        }
    }

    /// Where a child lies; `None` where the key is not there (holes included).
    #[inline]
    pub(super) fn slot(&self, container: Container, at: At<'_>) -> Result<Option<ValueSlot>> {
        let bytes = self.space.bytes();
        match (container, at) {
            (Container::Array(elements) | Container::Listed(.., elements), At::Index(index)) => {
                if index >= elements.count as usize {
                    return Ok(None);
                }
                Ok(Some(ValueSlot::Element { elements, index: index as u32 }))
            }
            (Container::Row(table, row), At::Key(_) | At::Remembered(_)) => {
                self.slot_in_row(table, row, at)
            }
            (Container::Record(record), At::Key(_) | At::Remembered(_)) => {
                Ok(match find_member(bytes, record, at, &at.needle())?.field {
                    Some((index, tag)) if tag != TAG_HOLE => Some(ValueSlot::Tagged {
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
    pub(super) fn slot_in_row(
        &self,
        table: Table,
        row: u32,
        at: At<'_>,
    ) -> Result<Option<ValueSlot>> {
        let bytes = self.space.bytes();
        let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
        let needle = Needle::new(at.text().as_bytes());
        if let Some(index) = shape.find_in_any(bytes, table.columns, &needle)? {
            let elements = table.column(bytes, index)?.whole(bytes)?;
            let present = table.field(bytes, row, index)?.tag != TAG_HOLE;
            return Ok(present.then_some(ValueSlot::Element { elements, index: row }));
        }
        match table.extra(bytes, row)? {
            0 => Ok(None),
            home => self.slot(self.extra_object(home)?, at),
        }
    }

    /// The record or map with a row's further fields. Anything else is damage: through a table that
    /// names itself, one could go on without end.
    pub(super) fn extra_object(&self, home: u32) -> Result<Container> {
        let block = Block::resolve(self.space.bytes(), home)?;
        let node = self.handles.give(home, 0, 0);
        match self.container_at(node, block)? {
            container @ (Container::Record(_) | Container::Map(_)) => Ok(container),
            _ => Err(block.unexpected()),
        }
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn load(&self, slot: ValueSlot) -> Result<Raw> {
        let bytes = self.space.bytes();
        match slot {
            ValueSlot::Tagged { tag, cell } => Ok(Raw {
                tag: load_u8(bytes, tag)?,
                cell: load_u64(bytes, cell)?,
                position: cell as u32,
            }),
            ValueSlot::Element { elements, index } => elements.element(bytes, index),
        }
    }

    // --- checks and the end of an edit ---------------------------------------

    /// Checks that a value of `height` containers may be put into `under`.
    #[inline]
    pub(super) fn check_nesting(&self, height: u16, under: NodeId) -> Result<()> {
        let limit = self.space.limits().nesting as u32;
        // Validation may have made the handle deeper since the edit began.
        let depth = || under.depth().max(self.handles.used_depth());
        match height > 0 && depth() as u32 + height as u32 > limit {
            true => self.check_nesting_below(height, under),
            false => Ok(()),
        }
    }

    /// The handle may say too much, if something was attached deeper since it was taken.
    #[cold]
    #[inline(never)]
    pub(super) fn check_nesting_below(&self, height: u16, under: NodeId) -> Result<()> {
        let limit = self.space.limits().nesting as u32;
        let depth = self.depth_of(under)?.unwrap_or(under.depth());
        match depth as u32 + height as u32 > limit {
            true => Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit as u64)),
            false => Ok(()),
        }
    }

    /// How deep a container is, by looking for it in the whole document; `None` where it
    /// is not attached.
    #[cold]
    #[inline(never)]
    pub(super) fn depth_of(&self, node: NodeId) -> Result<Option<u16>> {
        let bytes = self.space.bytes();
        // A valid document has each container once.
        let budget = if self.space.trusted { u64::MAX } else { self.space.limits().budget };
        let mut allowance = Allowance::new(bytes, budget);
        let mut found = None;
        let mut stop = |raw: Raw, depth| {
            let here =
                (raw.cell as u32, row_of(raw.cell).unwrap_or(0)) == (node.home(), node.row());
            found = here.then_some(depth);
            here
        };
        walk::each_container(bytes, self.doc().root().raw(), 0, &mut allowance, &mut stop)?;
        Ok(found)
    }

    #[inline]
    pub(super) fn check_length(&self, text: &[u8]) -> Result<()> {
        let limit = self.space.limits().string;
        match text.len() > limit as usize {
            true => Err(Error::with_detail(ErrorKind::StringLimit, 0, limit as u64)),
            false => Ok(()),
        }
    }

    pub(super) fn check_elements(&self, count: u64) -> Result<()> {
        let limit = self.space.limits().elements as u64;
        if count > limit {
            return Err(Error::with_detail(ErrorKind::ElementLimit, 0, limit));
        }
        Ok(())
    }

    /// The end of an edit: gives space back if very much is free. The edit that frees it does so,
    /// never a later one. A later one may set a number, and is expected to change few bytes.
    ///
    /// An edit fails here if it ended half way, or if the undo log could not hold what it
    /// overwrites.
    #[inline]
    pub(super) fn end_edit(&mut self) -> Result<()> {
        if self.space.must_squeeze { self.check_and_squeeze() } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check_and_squeeze(&mut self) -> Result<()> {
        self.space.editable()?;
        // Squeezing writes all bytes, and those that it overwrites would have to be kept.
        #[cfg(feature = "alloc")]
        if self.space.transactions() == 0 {
            self.squeeze();
        }
        Ok(())
    }

    /// The end of an edit that frees nothing.
    #[inline]
    pub(super) fn end_edit_in_place(&mut self) -> Result<()> {
        if self.space.must_squeeze { self.space.editable() } else { Ok(()) }
    }

    /// The end of an edit that makes room. Squeezing would take the room away again. The old place
    /// that the edit left counts when something is removed.
    pub(super) fn finish_growing(&mut self) -> Result<()> {
        match core::mem::take(&mut self.space.must_squeeze) {
            true => self.space.editable(),
            false => Ok(()),
        }
    }

    /// Makes a home lead to a block that moved. Frees the old block.
    pub(super) fn move_home(&mut self, home: u32, old: u32, old_size: u64, new: u32) {
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
impl<S: Storage> AsRef<[u8]> for Editor<S> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// A copy of the document's value.
impl<'v, S: Storage> From<&'v Editor<S>> for New<'v> {
    fn from(document: &'v Editor<S>) -> New<'v> {
        New::from(document.doc())
    }
}

#[cold]
fn stale(node: NodeId) -> Error {
    Error::new(ErrorKind::StaleHandle, node.home() as u64)
}

impl<S: Storage> Editor<S> {
    /// The bytes of an empty document, whose root is null. For bindings.
    #[doc(hidden)]
    pub const EMPTY: [u8; HEADER_SIZE as usize] = NULL_DOCUMENT;

    /// The number that the editor drew, which no other editor of the process has. For bindings.
    #[doc(hidden)]
    #[inline]
    pub fn number(&self) -> u32 {
        self.handles.issuer()
    }

    /// Builds the editor of the document in the first `used` bytes of the storage, in the caller's
    /// place: an editor takes long to copy, and messages are begun often. The document is trusted.
    /// In the small build the editor is without [edits of tables](Self::link_tables). For bindings.
    ///
    /// # Safety
    /// The document is valid, and has no features that this version cannot edit.
    // Nothing asks the storage, so the compiler makes it in its place.
    #[doc(hidden)]
    #[allow(unsafe_code)]
    #[inline]
    pub unsafe fn adopt_in(place: &mut MaybeUninit<Self>, storage: S, used: u32) -> &mut Self {
        place.write(Editor {
            space: Space::new(storage, used, true, Limits::default()),
            handles: Handles::new(),
            #[cfg(feature = "small")]
            tables: None,
        })
    }
}

impl<S: Exclusive> Editor<S> {
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
        const { assert!(S::EXCLUSIVE.holds(), "`Exclusive` without its constant") };
        if !self.space.trusted {
            return Err(Error::new(ErrorKind::NotValidated, 0));
        }
        // SAFETY: this editor wrote or validated the bytes, and the storage is exclusive.
        Ok(unsafe { self.doc().assume_valid() })
    }
}
