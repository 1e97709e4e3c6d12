//! Documents and views of them: what the classes hold, and how a view finds its place.
//!
//! The methods that Python calls are in `document.rs`, `object.rs` and `array.rs`, which use
//! this file. The structs here refer to each other, so they are in one file.
//!
//! Code that reads or changes the bytes holds the document's lock. While it is held, no Python
//! code may run that could come back here. Making objects can start the garbage collector, so
//! it is paused meanwhile ([`CollectorPause`]). A thread that waits for the lock is detached
//! from the interpreter.
//!
//! A view keeps a handle of the core and the chain of views above it. Many edits can make a
//! handle stale. The view is then found again along its chain.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ffi::OsString;
use std::hash::BuildHasher;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};
use livebuf::{DocBuf, Editor, ErrorKind, Kind, NodeId, Storage, Value};
use livebuf_arrow::Known;
use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::decode::{self, CollectorPause};
use crate::error::{self, Fault, Held};
use crate::extended;
use crate::history::{Log, SHIFTED, Step, StepRef};
use crate::lock::{Guard, Lock};
use crate::memory::Memory;

/// From so many bytes on, work that needs no Python objects lets other threads run.
pub(crate) const DETACH: usize = 4096;

/// What the lock protects.
pub(crate) struct State {
    /// `None` when closed.
    pub(crate) editor: Option<Editor<Memory>>,
    pub(crate) log: Log,
    /// Count of edits, for iterators.
    pub(crate) edits: u64,
    /// Changes when members get other positions, for iterators. No two documents have the same.
    pub(crate) layout: u64,
    /// What Arrow exports have validated, and after how many edits.
    known: (u64, Arc<Known>),
    /// Numbers were lent to be written. If the document is damaged, text may lie there too.
    pub(crate) lent: bool,
    /// The asyncio task that began the open transaction.
    pub(crate) task: Option<Py<PyAny>>,
    /// The editor, while another task looks at the document.
    pub(crate) hidden: Option<Editor<Memory>>,
    /// The memory of a partial document that is read no more, for its exports.
    pub(crate) kept: Option<Memory>,
    /// After how many edits the document was known to hold no space that edits left.
    pub(crate) tidy: Option<u64>,
    /// Bytes that come from elsewhere were validated before they were edited first, or found to
    /// be damaged.
    pub(crate) checked: bool,
}

impl State {
    #[inline]
    pub(crate) fn editor(&self) -> Held<&Editor<Memory>> {
        match &self.editor {
            Some(editor) => Ok(editor),
            None => Err(absent(self.hidden.is_some())),
        }
    }

    #[inline]
    pub(crate) fn editor_mut(&mut self) -> Held<&mut Editor<Memory>> {
        match &mut self.editor {
            Some(editor) => Ok(editor),
            None => Err(absent(self.hidden.is_some())),
        }
    }
}

#[cold]
fn absent(is_hidden: bool) -> Fault {
    if !is_hidden {
        return Fault::Closed;
    }
    Fault::Transaction("it was begun in another task; tasks must not await within a transaction")
}

impl State {
    /// What Arrow exports have validated since the last edit.
    pub(crate) fn known(&mut self) -> Arc<Known> {
        if self.known.0 != self.edits {
            self.known = (self.edits, Arc::default());
        }
        Arc::clone(&self.known.1)
    }

    /// The document, unless somebody else made it longer or shorter in its memory. Then its
    /// header names another length than the editor knows.
    #[inline]
    pub(crate) fn whole(&self) -> Held<&Editor<Memory>> {
        let editor = self.editor()?;
        let at = livebuf::layout::HEADER_USED as usize;
        match editor.storage().bytes().get(at..at + 4) {
            Some(used) if used == (editor.as_bytes().len() as u32).to_le_bytes() => Ok(editor),
            _ => Err(Fault::Outdated),
        }
    }
}

impl State {
    /// The document's bytes, all of them. Of a partial document they are fetched first.
    pub(crate) fn all_bytes(&self) -> Held<&[u8]> {
        Ok(self.whole()?.doc().require_all()?)
    }
}

/// A number for [`State::layout`] that no other document has.
pub(crate) fn new_layout() -> u64 {
    static LAYOUTS: AtomicU64 = AtomicU64::new(0);
    LAYOUTS.fetch_add(1, Ordering::Relaxed)
}

/// A document: JSON-like data in one buffer, read without parsing and edited in place.
///
/// `Document(buffer)` opens the document that a buffer holds, in constant time: `bytes`
/// (read-only), `bytearray` (grows as needed), `memoryview`, `mmap`, shared memory, anything
/// with the buffer protocol. Nothing is copied.
///
/// With `trusted=True` exports and edits do not validate the document before. Use it for bytes
/// that you made yourself. With damaged ones, readers of an export may crash.
///
/// >>> import livebuf
/// >>> doc = livebuf.from_json('{"name": "Ada", "laps": [71, 70]}')
/// >>> doc["name"], doc["laps"][1]
/// ('Ada', 70)
/// >>> doc["name"] = "Grace"
/// >>> livebuf.Document(bytes(doc))["name"]
/// 'Grace'
#[pyclass(frozen, weakref, module = "livebuf")]
pub(crate) struct Document {
    state: Lock<State>,
    /// Count of exports that look at the bytes.
    exports: AtomicUsize,
    views: Views,
    pub(crate) source: Option<Source>,
}

/// Where a document was opened, and how.
pub(crate) struct Source {
    /// A path, a URL, or the name of a file object that has one.
    pub(crate) name: Option<OsString>,
    pub(crate) mode: String,
    /// Writes edits back to a URL: a `Target` of `_files.py`.
    pub(crate) target: Option<Py<PyAny>>,
}

impl Document {
    /// `trusted` says that the document is valid.
    pub(crate) fn open(memory: Memory, trusted: bool) -> PyResult<Document> {
        // A document in writable memory must be editable, or it is not opened.
        let opened = Editor::open_unvalidated(memory).map_err(|failure| match failure.kind() {
            ErrorKind::ReadOnly => error::unknown_feature(),
            _ => error::raise(failure),
        });
        let mut editor = opened?;
        if trusted {
            // SAFETY: the caller of Python's `trusted=True` answers for it, as documented there.
            unsafe { editor.assume_trusted() };
        }
        Ok(Document::around(editor))
    }

    pub(crate) fn around(editor: Editor<Memory>) -> Document {
        Python::attach(extended::prepare);
        Document {
            state: Lock::new(State {
                editor: Some(editor),
                log: Log::default(),
                edits: 0,
                layout: new_layout(),
                known: Default::default(),
                lent: false,
                task: None,
                hidden: None,
                kept: None,
                tidy: None,
                checked: false,
            }),
            exports: AtomicUsize::new(0),
            views: Views::default(),
            source: None,
        }
    }

    /// A document that was just encoded.
    pub(crate) fn encoded(py: Python<'_>, editor: Editor<Memory>) -> PyResult<Document> {
        let document = Document::around(editor);
        document.lock(py)?.tidy = Some(0);
        Ok(document)
    }

    /// A new document in memory of its own, of one that was just encoded.
    pub(crate) fn owned(py: Python<'_>, document: &DocBuf) -> PyResult<Document> {
        let memory = Memory::own(py, document.as_bytes().len())?;
        Document::encoded(py, document.copy_to(memory).map_err(error::raise)?)
    }

    #[inline]
    pub(crate) fn lock<'a>(&'a self, py: Python<'a>) -> PyResult<Guard<'a, State>> {
        self.state.lock(py)
    }

    /// The lock, if no thread has it.
    #[inline]
    pub(crate) fn free<'a>(&'a self, py: Python<'a>) -> Option<Guard<'a, State>> {
        self.state.free(py)
    }

    /// Whether a thread has an open transaction.
    pub(crate) fn is_kept(&self) -> bool {
        self.state.is_kept()
    }

    /// Whether this thread does.
    pub(crate) fn is_kept_here(&self) -> bool {
        self.state.is_kept_here()
    }

    /// Takes the open transaction over from another thread, unless that is in a call.
    pub(crate) fn take_over(&self, py: Python<'_>) -> bool {
        self.state.take_over(py)
    }

    /// Does work while other Python threads run. This thread must have the lock.
    pub(crate) fn detach<R: Send>(&self, py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
        self.state.detach(py, work)
    }

    /// What writes edits back to a URL.
    pub(crate) fn target<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, PyAny>> {
        self.source.as_ref()?.target.as_ref().map(|target| target.bind(py))
    }

    /// The views that live.
    #[inline]
    pub(crate) fn views(&self) -> &Views {
        &self.views
    }

    pub(crate) fn exports(&self) -> &AtomicUsize {
        &self.exports
    }

    /// Does long work on the document, detached from the interpreter and with the lock held.
    pub(crate) fn detached<R: Send>(
        &self,
        py: Python<'_>,
        state: &mut State,
        work: impl FnOnce(&mut Editor<Memory>) -> livebuf::Result<R> + Send,
    ) -> Held<R> {
        state.whole()?;
        let editor = state.editor_mut()?;
        Ok(match editor.as_bytes().len() {
            0..DETACH => work(editor)?,
            _ => self.detach(py, || work(editor))?,
        })
    }
}

impl Drop for Document {
    /// Edits that nobody committed are rolled back. This warns of it.
    fn drop(&mut self) {
        Python::try_attach(|py| {
            // Nobody else knows the document any more.
            let Some(state) = self.free(py) else { return };
            let Some(editor) = &state.editor else { return };
            let changed = match (editor.storage().to_commit(), self.target(py)) {
                (Some(file), _) => file.changed().0 > 0,
                (_, Some(target)) => target.getattr("written").is_ok_and(|written| {
                    written
                        .cast::<PyBytes>()
                        .is_ok_and(|written| written.as_bytes() != editor.as_bytes())
                }),
                _ => false,
            };
            if !changed {
                return;
            }
            let message = c"a document opened with \"r+\" was neither closed nor flushed: its \
                            edits are rolled back";
            if let Err(failure) = PyErr::warn(py, &py.get_type::<PyResourceWarning>(), message, 1) {
                failure.write_unraisable(py, None);
            }
        });
    }
}

/// An object of a document, as a dict: edits change the document.
///
/// >>> doc = livebuf.from_json('{"name": "Ada", "born": 1815}')
/// >>> ada = doc.root
/// >>> ada["born"] += 0
/// >>> sorted(ada), len(ada), ada.get("died")
/// (['born', 'name'], 2, None)
/// >>> match ada:
/// ...     case {"name": name}: print(name)
/// Ada
#[pyclass(frozen, mapping, weakref, module = "livebuf")]
pub(crate) struct Object {
    pub(crate) view: View,
}

/// An array of a document, as a list: edits change the document.
///
/// >>> doc = livebuf.from_json('[3, 1, 4, 1, 5]')
/// >>> digits = doc.root
/// >>> digits[-1], digits[1:3], digits.count(1)
/// (5, [1, 4], 2)
/// >>> digits.append(9); del digits[0]
/// >>> list(digits)
/// [1, 4, 1, 5, 9]
///
/// Arrays of numbers offer their memory: `memoryview(array)`, `numpy.asarray(array)`.
#[pyclass(frozen, sequence, weakref, module = "livebuf")]
pub(crate) struct Array {
    pub(crate) view: View,
}

/// What is read by columns.
pub(crate) enum Columnar {
    Array(Py<Array>),
    Object(Py<Object>),
}

impl Columnar {
    pub(crate) fn view(&self) -> &View {
        match self {
            Columnar::Array(array) => &array.get().view,
            Columnar::Object(object) => &object.get().view,
        }
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Columnar {
        match self {
            Columnar::Array(array) => Columnar::Array(array.clone_ref(py)),
            Columnar::Object(object) => Columnar::Object(object.clone_ref(py)),
        }
    }
}

/// What is above a view. `Nothing` is above a view of the root. `None` stands for the root
/// where there is no view of it.
pub(crate) enum Above {
    Nothing,
    Object(Option<Py<Object>>, Py<PyString>),
    Array(Option<Py<Array>>, usize),
}

/// Where a view is.
struct Place {
    document: Py<Document>,
    above: Above,
    /// Hash of the path, by the hasher of the document's [`Views`]; 0 until it is needed.
    hash: Cell<u64>,
    node: NodeId,
    /// Number of the newest event when the node was found.
    seen: u64,
}

/// A container of a document, as an [`Object`] or [`Array`] knows it.
///
/// Attached threads look at its place, one at a time. Only a thread that has the document's
/// lock changes it, and does not wait or run Python code meanwhile.
pub(crate) struct View(UnsafeCell<Place>);

// SAFETY: as the type says. The module asks for the interpreter's lock.
unsafe impl Sync for View {}

/// The views of a document that live: a few in the order in which they came, more by the hashes
/// of their paths.
///
/// Attached threads read and change this, one at a time, and run no Python code meanwhile. A
/// view is in here from the moment at which it lies in a Python object.
#[derive(Default)]
pub(crate) struct Views {
    /// Views that live as long as a look-up fit in here, which is faster than the table.
    few: [Cell<Option<NonNull<View>>>; 8],
    table: UnsafeCell<HashTable<NonNull<View>>>,
    hasher: DefaultHashBuilder,
}

// SAFETY: as the type says.
unsafe impl Send for Views {}
// SAFETY: as above.
unsafe impl Sync for Views {}

/// The hash of the root's path.
pub(crate) const ROOT: u64 = 1;

impl Views {
    fn table(&self) -> &HashTable<NonNull<View>> {
        // SAFETY: attached threads take turns, and no caller keeps the reference.
        unsafe { &*self.table.get() }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.few.iter().filter(|slot| slot.get().is_some()).count() + self.table().len()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add(&self, py: Python<'_>, view: &View) {
        match self.few.iter().find(|slot| slot.get().is_none()) {
            Some(slot) => slot.set(Some(view.into())),
            None => self.add_to_table(py, view),
        }
    }

    #[inline(never)]
    fn add_to_table(&self, py: Python<'_>, view: &View) {
        let hash = view.hash(py);
        // SAFETY: as in `table`.
        let table = unsafe { &mut *self.table.get() };
        table.insert_unique(hash, view.into(), |other| {
            // SAFETY: views in the table live. Their hashes were set when they came.
            unsafe { other.as_ref() }.place().hash.get()
        });
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn remove(&self, view: &View) {
        match self.few.iter().find(|slot| slot.get() == Some(view.into())) {
            Some(slot) => slot.set(None),
            None => self.remove_from_table(view),
        }
    }

    #[inline(never)]
    fn remove_from_table(&self, view: &View) {
        // SAFETY: as in `table`.
        let table = unsafe { &mut *self.table.get() };
        let hash = view.place().hash.get();
        if let Ok(entry) = table.find_entry(hash, |other| *other == view.into()) {
            entry.remove();
        }
        if table.is_empty() && table.capacity() > 1024 {
            *table = HashTable::new();
        }
    }

    /// Views whose paths have a hash.
    pub(crate) fn with_hash<'a>(
        &'a self,
        py: Python<'a>,
        hash: u64,
    ) -> impl Iterator<Item = &'a View> {
        let few = self.few.iter().filter_map(Cell::get);
        // SAFETY: views in here live.
        let views = few.chain(self.table().iter_hash(hash).copied()).map(|v| unsafe { v.as_ref() });
        views.filter(move |view| view.hash(py) == hash)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &View> {
        let few = self.few.iter().filter_map(Cell::get);
        // SAFETY: as above.
        few.chain(self.table().iter().copied()).map(|view| unsafe { view.as_ref() })
    }

    pub(crate) fn below(&self, hash: u64, step: StepRef<'_>) -> u64 {
        let hash = match step {
            StepRef::Key(key) => self.hasher.hash_one((hash, key)),
            StepRef::Index(index) => self.hasher.hash_one((hash, index)),
        };
        // 0 stands for a hash that was not needed yet.
        hash.max(1)
    }

    pub(crate) fn hash(&self, path: &[Step]) -> u64 {
        path.iter().fold(ROOT, |hash, step| self.below(hash, step.into()))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.place().document.get().views().remove(self);
    }
}

impl View {
    /// A view of a handle that was just found. Call [`keep`](Self::keep) once it has its final
    /// place in memory.
    pub(crate) fn new(document: Py<Document>, above: Above, node: NodeId, state: &State) -> View {
        let seen = state.log.number();
        View(UnsafeCell::new(Place { document, above, hash: Cell::new(0), node, seen }))
    }

    /// Tells the document of the view, which must not move in memory any more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn keep(&self, py: Python<'_>) {
        self.place().document.get().views().add(py, self);
    }

    /// Moves the view to another document. Call [`keep`](Self::keep) afterwards. Returns what
    /// the view held before. The locks of both documents must be held.
    pub(crate) fn move_to(
        &self,
        document: &Bound<'_, Document>,
        above: Option<Above>,
        node: NodeId,
        seen: u64,
    ) -> (Py<Document>, Above) {
        self.place().document.get().views().remove(self);
        // SAFETY: both documents' locks are held, and nobody has a reference into the place.
        let place = unsafe { &mut *self.0.get() };
        let left = std::mem::replace(&mut place.document, document.clone().unbind());
        let above = match above {
            Some(above) => std::mem::replace(&mut place.above, above),
            None => Above::Nothing,
        };
        (place.node, place.seen, place.hash) = (node, seen, Cell::new(0));
        (left, above)
    }

    /// Number of the newest event when the view's place was found.
    pub(crate) fn seen(&self) -> u64 {
        self.place().seen
    }

    #[inline]
    fn place(&self) -> &Place {
        // SAFETY: as the type says; callers keep no reference while others may change it.
        unsafe { &*self.0.get() }
    }

    /// The hash of the path.
    pub(crate) fn hash(&self, py: Python<'_>) -> u64 {
        let Place { hash, document, .. } = self.place();
        if hash.get() == 0 {
            let above = self.parent().map_or(ROOT, |parent| parent.hash(py));
            hash.set(self.step(py).map_or(ROOT, |step| document.get().views().below(above, step)));
        }
        hash.get()
    }

    /// The document that the view belongs to now. It is another one after an edit took the
    /// view's place away.
    #[inline]
    pub(crate) fn document<'py>(&self, py: Python<'py>) -> Bound<'py, Document> {
        self.place().document.bind(py).clone()
    }

    /// Whether the view went to another document while this thread waited for the lock.
    #[inline]
    pub(crate) fn has_left(&self, document: &Bound<'_, Document>) -> bool {
        !self.place().document.is(document)
    }

    pub(crate) fn parent(&self) -> Option<&View> {
        match &self.place().above {
            Above::Nothing => None,
            Above::Object(object, _) => object.as_ref().map(|object| &object.get().view),
            Above::Array(array, _) => array.as_ref().map(|array| &array.get().view),
        }
    }

    /// Count of views on the way from the root, this one included.
    pub(crate) fn depth(&self) -> usize {
        std::iter::successors(Some(self), |view| view.parent()).count()
    }

    /// The step from the container above.
    pub(crate) fn step<'a>(&'a self, py: Python<'a>) -> Option<StepRef<'a>> {
        match &self.place().above {
            Above::Nothing => None,
            // A key that was looked up has UTF-8.
            Above::Object(_, key) => Some(StepRef::Key(key.bind(py).to_str().unwrap_or_default())),
            Above::Array(_, index) => Some(StepRef::Index(*index)),
        }
    }

    /// Keys and indexes from the root.
    pub(crate) fn path(&self, py: Python<'_>) -> Held<Vec<Step>> {
        let mut path = Vec::new();
        let mut view = Some(self);
        while let Some(at) = view {
            // Views that went to another document took those below along, except for stale
            // ones.
            if !at.place().document.is(&self.place().document) {
                return Err(Fault::Stale(SHIFTED));
            }
            path.extend(at.step(py).map(StepRef::to_step));
            view = at.parent();
        }
        path.reverse();
        Ok(path)
    }

    /// The path as a JSON pointer (RFC 6901).
    pub(crate) fn pointer(&self, py: Python<'_>) -> Held<String> {
        let mut pointer = String::new();
        for step in self.path(py)? {
            pointer.push('/');
            match step {
                Step::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        Ok(pointer)
    }

    /// The handle. A stale one is found again.
    #[inline]
    pub(crate) fn node(&self, py: Python<'_>, state: &State) -> Held<NodeId> {
        let &Place { node, seen, .. } = self.place();
        if seen == state.log.number() && state.editor()?.is_current(node) {
            return Ok(node);
        }
        self.find_again(py, state, seen)
    }

    #[cold]
    fn find_again(&self, py: Python<'_>, state: &State, seen: u64) -> Held<NodeId> {
        const GONE: Fault = Fault::Stale("its place is gone");
        state.log.check(seen, || self.path(py))?;
        let editor = state.editor()?;
        let above = match self.parent() {
            Some(parent) => parent.node(py, state)?,
            None => editor.root_id().ok_or(GONE)?,
        };
        let node = match self.step(py) {
            None => above,
            Some(StepRef::Key(key)) => editor.child(above, key)?.ok_or(GONE)?,
            Some(StepRef::Index(index)) => editor.child(above, index)?.ok_or(GONE)?,
        };
        // SAFETY: the state is borrowed, so the lock is held, and by this thread.
        unsafe { ((*self.0.get()).node, (*self.0.get()).seen) = (node, state.log.number()) };
        Ok(node)
    }

    /// Whether no event in the log made it stale.
    pub(crate) fn is_good(&self, py: Python<'_>, log: &Log) -> bool {
        log.check(self.place().seen, || self.path(py)).is_ok()
    }

    /// Calls `look` with the view's document, under its lock.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn look<'py, R>(
        &self,
        py: Python<'py>,
        look: impl FnOnce(&Bound<'py, Document>, &mut State) -> Held<R>,
    ) -> PyResult<R> {
        // The view, and so the document, stays where it is while the lock is held.
        let document = self.place().document.bind(py);
        Ok(match document.get().free(py) {
            Some(mut state) => look(document, &mut state),
            None => self.look_later(py, look),
        }?)
    }

    #[cold]
    #[inline(never)]
    fn look_later<'py, R>(
        &self,
        py: Python<'py>,
        look: impl FnOnce(&Bound<'py, Document>, &mut State) -> Held<R>,
    ) -> Held<R> {
        loop {
            let document = self.document(py);
            let mut state = document.get().lock(py)?;
            if !self.has_left(&document) {
                return look(&document, &mut state);
            }
        }
    }

    /// The document's edits and layout, for iterators.
    #[inline]
    pub(crate) fn edits(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.look(py, |_, state| Ok((state.edits, state.layout)))
    }

    /// Calls `look` with the container's value.
    #[inline]
    pub(crate) fn read<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Value<'_>) -> Held<R>,
    ) -> PyResult<R> {
        self.look(py, |_, state| {
            let editor = state.whole()?;
            look(&editor.value(self.node(py, state)?)?)
        })
    }

    /// Count of the container's elements or members.
    pub(crate) fn len(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |value| Ok(value.len()?.unwrap_or(0)))
    }

    /// Calls `look` with the container's handle, to read it and to make views below it.
    #[inline]
    pub(crate) fn reach<'py, R>(
        &self,
        py: Python<'py>,
        look: impl FnOnce(&Bound<'py, Document>, &mut State, NodeId) -> Held<R>,
    ) -> PyResult<R> {
        self.look(py, |document, state| {
            state.whole()?;
            let node = self.node(py, state)?;
            look(document, state, node)
        })
    }
}

/// Calls `look` with the containers of two views.
pub(crate) fn with_both<R>(
    py: Python<'_>,
    one: &View,
    other: &View,
    look: impl FnOnce(Value<'_>, Value<'_>) -> Held<R>,
) -> PyResult<R> {
    let (document, second) = (one.document(py), other.document(py));
    // Locks are taken in one order everywhere, so that no two threads wait for each other.
    let ordered = match document.as_ptr() <= second.as_ptr() {
        true => (&document, &second),
        false => (&second, &document),
    };
    let first_lock = ordered.0.get().lock(py)?;
    let second_lock = (!document.is(&second)).then(|| ordered.1.get().lock(py)).transpose()?;
    if one.has_left(&document) || other.has_left(&second) {
        drop((first_lock, second_lock));
        return with_both(py, one, other, look);
    }
    let (state, of_second) = match (&second_lock, ordered.0.is(&document)) {
        (None, _) => (&*first_lock, &*first_lock),
        (Some(second_lock), true) => (&*first_lock, &**second_lock),
        (Some(second_lock), false) => (&**second_lock, &*first_lock),
    };
    let (editor, second_editor) = (state.whole()?, of_second.whole()?);
    let (node, second_node) = (one.node(py, state)?, other.node(py, of_second)?);
    let value = editor.value(node).map_err(Fault::Core)?;
    Ok(look(value, second_editor.value(second_node).map_err(Fault::Core)?)?)
}

/// The result of a look-up below a container. A container has no view yet.
pub(crate) enum Found<'py, C = (Kind, NodeId)> {
    Nothing,
    Scalar(Bound<'py, PyAny>),
    Container(C),
}

/// Whether Python gets a view of a value.
#[inline]
pub(crate) fn is_container(kind: Kind) -> bool {
    matches!(kind, Kind::Object | Kind::Array)
}

/// The result for a value that was looked up below a container.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn found<'py>(
    py: Python<'py>,
    editor: &Editor<Memory>,
    value: Option<Value<'_>>,
    under: NodeId,
) -> Held<Found<'py>> {
    let Some(value) = value else { return Ok(Found::Nothing) };
    let kind = value.kind();
    if !is_container(kind) {
        return Ok(Found::Scalar(decode::scalar(py, &value)?));
    }
    Ok(match editor.handle_of(&value, under) {
        Some(node) => Found::Container((kind, node)),
        None => Found::Nothing,
    })
}

/// A view of a container.
pub(crate) fn child<'py>(
    py: Python<'py>,
    state: &State,
    document: &Bound<'_, Document>,
    value: (Kind, NodeId),
    above: Above,
) -> Held<Bound<'py, PyAny>> {
    let (kind, node) = value;
    let _pause = CollectorPause::new();
    let view = View::new(document.clone().unbind(), above, node, state);
    Ok(match kind {
        Kind::Object => {
            let object = Bound::new(py, Object { view })?;
            object.get().view.keep(py);
            object.into_any()
        }
        _ => {
            let array = Bound::new(py, Array { view })?;
            array.get().view.keep(py);
            array.into_any()
        }
    })
}

/// The root as a Python object.
pub(crate) fn root<'py>(slf: &Bound<'py, Document>) -> Held<Bound<'py, PyAny>> {
    let (py, document) = (slf.py(), slf.get());
    let state = document.lock(py)?;
    let editor = state.whole()?;
    let value = editor.doc().root();
    match editor.root_id() {
        None => decode::scalar(py, &value),
        Some(node) => child(py, &state, slf, (value.kind(), node), Above::Nothing),
    }
}
