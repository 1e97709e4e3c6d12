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
//! A view keeps a handle of the core and the chain of views above it, with its key or index, which
//! edits keep right. Where a handle is stale, since the editor is another one or remembers no more,
//! the view is found again along its chain.
//!
//! An edit that takes a view's place away moves the view to a private copy (`edit`). Within a
//! transaction the view keeps where it was ([`Home`]), and a rollback takes it back. A copy that was
//! made within ends then ([`Fate`]).
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use livebuf::{DocBuf, Editor, ErrorKind, Kind, NodeId, Storage, Value};
use livebuf_arrow::Known;
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyResourceWarning};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::decode::{self, CollectorPause};
use crate::error::{self, Fault, Held};
use crate::extended;
use crate::history::{Move, Step, StepRef};
use crate::lock::{Guard, Lock};
use crate::memory::Memory;

const ROLLED_BACK: &str = "it was made within a transaction that was rolled back; look it up again";
const IN_USE: &str = "another thread used what a transaction had replaced when that was rolled \
                      back; look it up again";

/// From this many bytes on, work that needs no Python objects lets other threads run.
pub(crate) const DETACH: usize = 4096;

/// What the lock protects.
pub(crate) struct State {
    /// `None` when closed.
    pub(crate) editor: Option<Editor<Memory>>,
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
    /// After how many edits the document was known to hold no space that edits left.
    pub(crate) tidy: Option<u64>,
    /// Bytes that come from elsewhere were validated before an edit, or found to be damaged.
    pub(crate) checked: bool,
    /// How many bytes the document had when it was opened.
    pub(crate) opened: usize,
    /// What becomes of the open transaction; of a copy, of the one within which it was made.
    pub(crate) fate: Option<Arc<Fate>>,
}

/// What becomes of a transaction. Copies that it makes for views end with it if it is rolled back.
pub(crate) struct Fate {
    rolled_back: AtomicBool,
    /// That of the transaction around it.
    outer: Option<Arc<Fate>>,
}

impl Fate {
    fn is_rolled_back(&self) -> bool {
        let mut fates = std::iter::successors(Some(self), |fate| fate.outer.as_deref());
        fates.any(|fate| fate.rolled_back.load(Ordering::Relaxed))
    }
}

/// Transactions may nest deeper than the stack has room for.
impl Drop for Fate {
    fn drop(&mut self) {
        let mut next = self.outer.take();
        while let Some(mut fate) = next.and_then(Arc::into_inner) {
            next = fate.outer.take();
        }
    }
}

impl State {
    /// A transaction begins.
    pub(crate) fn begin_fate(&mut self) {
        let rolled_back = AtomicBool::new(false);
        self.fate = Some(Arc::new(Fate { rolled_back, outer: self.fate.take() }));
    }

    /// The innermost transaction has ended.
    pub(crate) fn end_fate(&mut self, rolled_back: bool) {
        if let Some(fate) = self.fate.take() {
            fate.rolled_back.store(rolled_back, Ordering::Relaxed);
            self.fate = fate.outer.clone();
        }
    }

    /// Whether this is a copy that a transaction made which was rolled back.
    #[inline]
    fn is_over(&self) -> bool {
        self.fate.as_ref().is_some_and(|fate| fate.is_rolled_back())
    }
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
            Some(editor) => {
                // A recorder may have come or gone, or the memory may have got another owner.
                editor.watch();
                Ok(editor)
            }
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
    /// The memory of a document that was closed, for its exports.
    kept: Mutex<Option<Memory>>,
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
        let is_log = memory.bytes().starts_with(&livebuf_log::MAGIC);
        let opened = Editor::open_unvalidated(memory).map_err(|failure| match failure.kind() {
            ErrorKind::ReadOnly => error::unknown_feature(),
            ErrorKind::NotADocument if is_log => error::a_log(),
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
        let opened = editor.as_bytes().len();
        Document {
            state: Lock::new(State {
                editor: Some(editor),
                edits: 0,
                layout: new_layout(),
                known: Default::default(),
                lent: false,
                task: None,
                hidden: None,
                tidy: None,
                checked: false,
                opened,
                fate: None,
            }),
            exports: AtomicUsize::new(0),
            kept: Mutex::default(),
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

    /// Keeps the memory of a document that nobody reads any more until its last export is gone.
    pub(crate) fn keep_for_exports(&self, memory: Memory) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
        // The last one may have gone meanwhile.
        self.release_kept(self.exports.load(Ordering::Acquire));
    }

    /// One export is gone. Any thread may say so, attached or not.
    pub(crate) fn end_export(&self) {
        self.release_kept(self.exports.fetch_sub(1, Ordering::AcqRel) - 1);
    }

    fn release_kept(&self, exports: usize) {
        if exports == 0 {
            // Freed after the lock.
            let _memory = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
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
            let message = c"a document opened to be edited was neither closed nor flushed: its \
                            edits are rolled back";
            if let Err(failure) = PyErr::warn(py, &py.get_type::<PyResourceWarning>(), message, 1) {
                failure.write_unraisable(py, None);
            }
        });
    }
}

/// An index as Python's sequences take it: one that no machine word holds is beyond any end.
pub(crate) struct Index(pub(crate) isize);

impl<'py> FromPyObject<'_, 'py> for Index {
    type Error = PyErr;

    fn extract(key: Borrowed<'_, 'py, PyAny>) -> PyResult<Index> {
        match key.extract::<isize>() {
            Err(failure) if failure.is_instance_of::<PyOverflowError>(key.py()) => {
                Ok(Index(if key.lt(0)? { isize::MIN } else { isize::MAX }))
            }
            index => Ok(Index(index?)),
        }
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
/// Arrays of numbers are arrays of numpy: `numpy.asarray(array)`. `array.memoryview()` is their
/// memory.
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

/// What is above a view, and its key or its index when it was made ([`Views`] has the current one).
/// `Nothing` is above a view of the root. `None` stands for the root.
pub(crate) enum Above {
    Nothing,
    Object(Option<Py<Object>>, Py<PyString>),
    Array(Option<Py<Array>>, usize),
}

impl Above {
    fn clone_ref(&self, py: Python<'_>) -> Above {
        match self {
            Above::Nothing => Above::Nothing,
            Above::Object(object, key) => {
                Above::Object(object.as_ref().map(|object| object.clone_ref(py)), key.clone_ref(py))
            }
            Above::Array(array, index) => {
                Above::Array(array.as_ref().map(|array| array.clone_ref(py)), *index)
            }
        }
    }
}

/// Objects to drop after the lock was given back.
#[derive(Default)]
pub(crate) struct Trash {
    documents: Vec<Py<Document>>,
    above: Vec<Above>,
    pub(crate) keys: Vec<Py<PyString>>,
}

/// Where a view was before an open transaction moved it to a copy.
struct Home {
    document: Py<Document>,
    /// What was above the view, if that is another one now.
    above: Option<Above>,
}

/// Where a view is.
struct ViewPlace {
    document: Py<Document>,
    above: Above,
    node: NodeId,
    /// Where the document's [`Views`] have it.
    slot: Cell<usize>,
    /// Why it cannot be found again, if it cannot.
    gone: Option<&'static str>,
    /// Where rollbacks take it back to. Since copies have transactions, too, there may be several, and
    /// the place that it left last is the last one.
    homes: Vec<Home>,
}

/// A container of a document, as an [`Object`] or [`Array`] knows it.
///
/// Attached threads look at its place, one at a time. Only a thread that has the document's
/// lock changes it, and does not wait or run Python code meanwhile.
pub(crate) struct View(UnsafeCell<ViewPlace>);

// SAFETY: as the type says. The module asks for the interpreter's lock.
unsafe impl Sync for View {}

/// A view that lives.
#[derive(Clone, Copy)]
struct Entry {
    view: NonNull<View>,
    /// The view above; null below the root, `ROOT` for views of the root, `GONE` for those that
    /// are gone.
    above: *const View,
    /// The index in the array above; or, with the highest bit set, a [`mark`] of the key.
    at: u64,
}

const ROOT: *const View = ptr::without_provenance(1);
const GONE: *const View = ptr::without_provenance(2);

/// [`Entry::at`] of a member.
fn mark(key: &str) -> u64 {
    let (bytes, mut part) = (key.as_bytes(), [0; 8]);
    let length = bytes.len().min(8);
    part[..length].copy_from_slice(&bytes[bytes.len() - length..]);
    let last = u64::from_le_bytes(part);
    (last ^ u64::from(*bytes.first().unwrap_or(&0)) << 40 ^ (bytes.len() as u64) << 48) | 1 << 63
}

/// The views of a document that live. An edit that takes or moves containers looks through them.
///
/// Attached threads read and change this, one at a time, and run no Python code meanwhile. A
/// view is in here from the moment at which it lies in a Python object.
#[derive(Default)]
pub(crate) struct Views {
    entries: UnsafeCell<Vec<Entry>>,
    /// Where the views were that lived when each open transaction began.
    saved: UnsafeCell<Vec<Saved>>,
    /// The views that open transactions moved to copies, and how many were open then.
    away: UnsafeCell<HashMap<NonNull<View>, usize>>,
}

type Saved = HashMap<NonNull<View>, (u64, Option<Py<PyString>>)>;

// SAFETY: only attached threads use it, one at a time, as the type says.
unsafe impl Send for Views {}
// SAFETY: as above.
unsafe impl Sync for Views {}

/// A container, to ask whether a view is right below it.
#[derive(Clone, Copy)]
pub(crate) enum Site<'a> {
    /// That of a view; the root if there is none.
    View(Option<&'a View>),
    Path(&'a [Step]),
}

impl Site<'_> {
    fn is(self, py: Python<'_>, view: Option<&View>) -> bool {
        match self {
            Site::View(site) => {
                let (mut one, mut other) = (site, view);
                loop {
                    match (one, other) {
                        (None, None) => return true,
                        (Some(a), Some(b)) if ptr::eq(a, b) => return true,
                        (Some(a), Some(b)) if a.step(py) == b.step(py) => {
                            (one, other) = (a.parent(), b.parent());
                        }
                        _ => return false,
                    }
                }
            }
            Site::Path(path) => {
                let mut other = view;
                for step in path.iter().rev() {
                    match other {
                        Some(view) if view.step(py) == Some(step.into()) => other = view.parent(),
                        _ => return false,
                    }
                }
                other.is_none()
            }
        }
    }
}

impl Views {
    #[allow(clippy::mut_from_ref, reason = "for attached threads, of which one runs")]
    #[inline]
    fn entries(&self) -> &mut Vec<Entry> {
        // SAFETY: attached threads take turns, and no caller keeps the reference while another
        // function of this type runs.
        unsafe { &mut *self.entries.get() }
    }

    #[allow(clippy::mut_from_ref, reason = "as above")]
    fn saved(&self) -> &mut Vec<Saved> {
        // SAFETY: as above.
        unsafe { &mut *self.saved.get() }
    }

    #[allow(clippy::mut_from_ref, reason = "as above")]
    fn away(&self) -> &mut HashMap<NonNull<View>, usize> {
        // SAFETY: as above.
        unsafe { &mut *self.away.get() }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries().len()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add(&self, py: Python<'_>, view: &View) {
        let (above, at) = match &view.place().above {
            Above::Nothing => (ROOT, u64::MAX),
            Above::Object(_, key) => {
                (view.above(), mark(key.bind(py).to_str().unwrap_or_default()))
            }
            Above::Array(_, index) => (view.above(), *index as u64),
        };
        let above = if view.place().gone.is_some() { GONE } else { above };
        let entries = self.entries();
        view.place().slot.set(entries.len());
        entries.push(Entry { view: view.into(), above, at });
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remove(&self, view: &View) {
        let (entries, slot) = (self.entries(), view.place().slot.get());
        if entries.get(slot).is_none_or(|entry| entry.view != view.into()) {
            return;
        }
        entries.swap_remove(slot);
        if let Some(moved) = entries.get(slot) {
            // SAFETY: a view takes itself out of this list before it ends, so those in it live.
            unsafe { moved.view.as_ref() }.place().slot.set(slot);
        } else if entries.is_empty() && entries.capacity() > 1024 {
            *entries = Vec::new();
        }
    }

    /// Forgets where a view was, so that no rollback brings it back.
    fn forget(&self, view: &View) {
        for saved in self.saved() {
            saved.remove(&view.into());
        }
        // To hash the view would take longer than the rest.
        if !self.away().is_empty() {
            self.away().remove(&view.into());
        }
    }

    /// The index of a view in the array above.
    fn index(&self, view: &View) -> usize {
        self.entries().get(view.place().slot.get()).map_or(0, |entry| entry.at as usize)
    }

    /// All that are not gone. They live as long as this thread is attached and drops none: what the
    /// answer refers to must not be looked at after other threads ran.
    pub(crate) fn all(&self) -> Held<Vec<&View>> {
        let mut all = error::room_for(self.len())?;
        self.add_to(&mut all);
        Ok(all)
    }

    /// The same, into a vector that has room for them.
    pub(crate) fn add_to<'a>(&'a self, all: &mut Vec<&'a View>) {
        let entries = self.entries().iter().filter(|entry| entry.above != GONE);
        // SAFETY: a view takes itself out of this list before it ends, so those in it live.
        all.extend(entries.map(|entry| unsafe { entry.view.as_ref() }));
    }

    /// Calls `found` for each view right below a container whose [`Entry::at`] is `wanted`, with
    /// its place in the list.
    fn each_below(
        &self,
        py: Python<'_>,
        site: Site<'_>,
        wanted: impl Fn(u64) -> bool,
        mut found: impl FnMut(usize, &View),
    ) {
        // Most have the same view above.
        let (mut last, mut is_below) = (GONE, false);
        for slot in 0..self.len() {
            let Entry { view, above, at } = self.entries()[slot];
            if above == GONE || above == ROOT || !wanted(at) {
                continue;
            }
            if above != last {
                // SAFETY: a view keeps the one above it.
                (last, is_below) = (above, site.is(py, unsafe { above.as_ref() }));
            }
            if is_below {
                // SAFETY: a view takes itself out of this list before it ends, so those in it
                // live.
                found(slot, unsafe { view.as_ref() });
            }
        }
    }

    /// Views right below a container: of a member, of elements from one index up to another, or
    /// all. They are ordered by their places.
    pub(crate) fn below(
        &self,
        py: Python<'_>,
        site: Site<'_>,
        wanted: impl Fn(StepRef<'_>) -> bool,
        member: Option<&str>,
    ) -> Held<Vec<&View>> {
        let marked = member.map(mark);
        let is_marked = |at| marked.is_none_or(|marked| marked == at);
        let mut count = 0;
        self.each_below(py, site, is_marked, |_, _| count += 1);
        let mut views = error::room_for(count)?;
        self.each_below(py, site, is_marked, |slot, view| {
            if view.step(py).is_some_and(&wanted) {
                // SAFETY: a view takes itself out of this list before it ends, so those in it
                // live.
                views.push((self.entries()[slot].at, unsafe { NonNull::from(view).as_ref() }));
            }
        });
        views.sort_unstable_by_key(|&(at, _)| at);
        Ok(views.into_iter().map(|(_, view)| view).collect())
    }

    /// Lets views right below a container follow what an edit moved. Returns keys that are to be
    /// dropped later.
    pub(crate) fn follow(
        &self,
        py: Python<'_>,
        site: Site<'_>,
        moves: &[Move],
    ) -> Vec<Py<PyString>> {
        let mut left = Vec::new();
        for way in moves {
            let Move::Renamed(from, to) = way else { continue };
            self.each_below(
                py,
                site,
                |at| at == mark(from),
                |slot, view| {
                    if view.step(py) != Some(StepRef::Key(from)) {
                        return;
                    }
                    // SAFETY: the document's lock is held, and nobody has a reference into the place.
                    let place = unsafe { &mut *view.0.get() };
                    if let Above::Object(_, key) = &mut place.above {
                        left.push(std::mem::replace(key, PyString::new(py, to).unbind()));
                    }
                    self.entries()[slot].at = mark(to);
                },
            );
        }
        if moves.iter().all(|way| matches!(way, Move::Renamed(..))) {
            return left;
        }
        self.each_below(
            py,
            site,
            |at| at >> 63 == 0,
            |slot, view| {
                let entry = &mut self.entries()[slot];
                match moves.iter().try_fold(entry.at as usize, |index, way| way.follow(index)) {
                    Some(index) => entry.at = index as u64,
                    None => view.leave("it was removed"),
                }
            },
        );
        left
    }

    /// Moves views to the documents to which views above them were moved.
    pub(crate) fn follow_above(&self, document: &Bound<'_, Document>, trash: &mut Trash) {
        let (py, mut slot) = (document.py(), 0);
        while let Some(entry) = self.entries().get(slot) {
            // SAFETY: a view takes itself out of this list before it ends, so those in it live.
            let view = unsafe { entry.view.as_ref() };
            let mut next = if entry.above == GONE { None } else { view.parent() };
            while let Some(above) = next.filter(|above| !above.has_left(document)) {
                next = above.parent();
            }
            match next {
                Some(above) => {
                    // Right below the root of the copy there is no view above. Another view is at
                    // this place of the list afterwards.
                    let is_below = view.parent().is_some_and(View::is_root);
                    let place = is_below.then(|| view.below_root(py));
                    view.move_to(&above.document(py), place, trash);
                }
                None => slot += 1,
            }
        }
    }

    /// Remembers where the views are, as a transaction begins.
    pub(crate) fn save(&self, py: Python<'_>) -> Held<()> {
        let (mut saved, count) = (Saved::new(), self.len());
        saved.try_reserve(count).map_err(|_| PyMemoryError::new_err(()))?;
        for entry in
            self.entries().iter().filter(|entry| entry.above != GONE && entry.above != ROOT)
        {
            // SAFETY: a view takes itself out of this list before it ends, so those in it live.
            let key = match &unsafe { entry.view.as_ref() }.place().above {
                Above::Object(_, key) => Some(key.clone_ref(py)),
                _ => None,
            };
            saved.insert(entry.view, (entry.at, key));
        }
        self.saved().push(saved);
        Ok(())
    }

    /// A transaction was committed.
    pub(crate) fn forget_saved(&self, document: &Bound<'_, Document>, trash: &mut Trash) {
        let depth = self.saved().len();
        let saved = self.saved().pop().unwrap_or_default();
        trash.keys.extend(saved.into_values().filter_map(|(_, key)| key));
        self.away().retain(|view, moved| {
            *moved = (*moved).min(depth.saturating_sub(1));
            if *moved == 0 {
                // SAFETY: a view takes itself out of this list before it ends, so those in it
                // live.
                unsafe { view.as_ref() }.stay_away(document, trash);
            }
            *moved > 0
        });
    }

    /// A transaction was rolled back: views are where they were when it began, and younger ones
    /// are gone.
    pub(crate) fn restore(&self, document: &Bound<'_, Document>, trash: &mut Trash) {
        let depth = self.saved().len();
        let mut saved = self.saved().pop().unwrap_or_default();
        self.away().retain(|view, moved| {
            if *moved == depth {
                // SAFETY: a view takes itself out of this list before it ends, so those in it
                // live.
                unsafe { view.as_ref() }.come_back(document, saved.contains_key(view), trash);
            }
            *moved < depth
        });
        for entry in self.entries() {
            if entry.above == ROOT {
                continue;
            }
            // SAFETY: a view takes itself out of this list before it ends, so those in it live,
            // and the document's lock is held.
            let (view, place) = unsafe { (entry.view.as_ref(), &mut *entry.view.as_ref().0.get()) };
            let stays =
                view.parent().is_none_or(|above| above.place().document.is(&place.document));
            match saved.remove(&entry.view) {
                Some((at, mut before)) if stays => {
                    place.gone = None;
                    (entry.above, entry.at) = (view.above(), at);
                    if let (Above::Object(_, key), Some(before)) = (&mut place.above, &mut before) {
                        std::mem::swap(key, before);
                    }
                    trash.keys.extend(before);
                }
                other => {
                    // What is above it is still away.
                    let why = if other.is_some() { IN_USE } else { ROLLED_BACK };
                    place.gone = place.gone.or(Some(why));
                    entry.above = GONE;
                    trash.keys.extend(other.and_then(|(_, key)| key));
                }
            }
        }
        trash.keys.extend(saved.into_values().filter_map(|(_, key)| key));
    }

    /// Any place may hold something else than its views saw: all but those of the root are gone.
    pub(crate) fn leave(&self, why: &'static str) {
        for entry in self.entries().iter_mut().filter(|entry| entry.above != ROOT) {
            // SAFETY: a view takes itself out of this list before it ends, so those in it live,
            // and the document's lock is held.
            unsafe { (*entry.view.as_ref().0.get()).gone = Some(why) };
            entry.above = GONE;
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let place = self.place();
        let views = place.document.get().views();
        views.remove(self);
        views.forget(self);
        for home in &place.homes {
            home.document.get().views().forget(self);
        }
    }
}

impl View {
    /// A view of a handle that was just found. Call [`keep`](Self::keep) once it has its final
    /// place in memory.
    pub(crate) fn new(document: Py<Document>, above: Above, node: NodeId) -> View {
        let slot = Cell::new(usize::MAX);
        View(UnsafeCell::new(ViewPlace {
            document,
            above,
            node,
            slot,
            gone: None,
            homes: Vec::new(),
        }))
    }

    /// Tells the document of the view, which must not move in memory any more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn keep(&self, py: Python<'_>) {
        self.place().document.get().views().add(py, self);
    }

    /// Moves the view to another document, where it is found again along its chain. The locks of
    /// both documents must be held.
    pub(crate) fn move_to(
        &self,
        document: &Bound<'_, Document>,
        above: Option<Above>,
        trash: &mut Trash,
    ) {
        let py = document.py();
        let index = match self.place().above {
            Above::Array(..) => Some(self.index()),
            _ => None,
        };
        let views = self.place().document.get().views();
        views.remove(self);
        // SAFETY: both documents' locks are held, and nobody has a reference into the place.
        let place = unsafe { &mut *self.0.get() };
        let before = above.is_some().then(|| place.above.clone_ref(py));
        match (views.saved().len(), place.homes.last_mut()) {
            (0, None) => {}
            (0, Some(home)) => home.above = home.above.take().or(before),
            (depth, _) => {
                views.away().insert(self.into(), depth);
                place.homes.push(Home { document: place.document.clone_ref(py), above: before });
            }
        }
        trash.documents.push(std::mem::replace(&mut place.document, document.clone().unbind()));
        trash.above.extend(above.map(|above| std::mem::replace(&mut place.above, above)));
        if let (Above::Array(_, at), Some(index)) = (&mut place.above, index) {
            *at = index;
        }
        self.keep(py);
    }

    /// The transactions that moved the view away from a document were committed.
    fn stay_away(&self, document: &Bound<'_, Document>, trash: &mut Trash) {
        // SAFETY: this thread is attached, and nobody keeps a reference into the homes.
        let homes = unsafe { &mut (*self.0.get()).homes };
        let Some(at) = homes.iter().position(|home| home.document.is(document)) else { return };
        let mut home = homes.remove(at);
        // What was above it matters for the document where it was before.
        if let Some(before) = at.checked_sub(1).and_then(|at| homes.get_mut(at)) {
            before.above = before.above.take().or_else(|| home.above.take());
        }
        trash.documents.push(home.document);
        trash.above.extend(home.above);
    }

    /// Takes the view back to a document of which a transaction was rolled back, if it was there
    /// before, as views of the root always were. Otherwise the view is gone. So it is if another
    /// thread reads the copy just now: waiting for it here could take for ever.
    fn come_back(&self, document: &Bound<'_, Document>, was_there: bool, trash: &mut Trash) {
        let py = document.py();
        let now = self.document(py);
        let copy = now.get().free(py);
        // SAFETY: this thread is attached, and nobody keeps a reference into the homes.
        let homes = unsafe { &mut (*self.0.get()).homes };
        let Some(at) = homes.iter().position(|home| home.document.is(document)) else { return };
        // What is dropped may hold the last reference to a view, so it goes to the trash.
        let mut above = None;
        for home in homes.drain(at..).rev() {
            if !home.document.is(document) {
                home.document.get().views().forget(self);
            }
            if home.above.is_some() {
                trash.above.extend(std::mem::replace(&mut above, home.above));
            }
            trash.documents.push(home.document);
        }
        let is_root = above.is_none() && self.is_root();
        if copy.is_none() || !(was_there || is_root) {
            trash.above.extend(above);
            // From here on this document is not told when the view dies. So no rollback may remember
            // it, neither an outer one nor one of the copy.
            now.get().views().forget(self);
            let saved = document.get().views().saved().iter_mut();
            trash.keys.extend(saved.filter_map(|saved| saved.remove(&self.into())?.1));
            return self.leave(if was_there || is_root { IN_USE } else { ROLLED_BACK });
        }
        now.get().views().remove(self);
        // SAFETY: the locks of both documents are held, and nobody has a reference into the place.
        let place = unsafe { &mut *self.0.get() };
        place.gone = None;
        trash.documents.push(std::mem::replace(&mut place.document, document.clone().unbind()));
        trash.above.extend(above.map(|above| std::mem::replace(&mut place.above, above)));
        self.keep(py);
    }

    /// The view cannot be found again. The document's lock must be held, or the view be in a copy that
    /// a transaction made and that is rolled back.
    pub(crate) fn leave(&self, why: &'static str) {
        // SAFETY: as `move_to`.
        let place = unsafe { &mut *self.0.get() };
        place.gone = Some(why);
        let entries = place.document.get().views().entries();
        if let Some(entry) = entries.get_mut(place.slot.get()) {
            entry.above = GONE;
        }
    }

    /// Puts the view at another index of the array above. The document's lock must be held.
    pub(crate) fn put(&self, index: usize) {
        let place = self.place();
        let entries = place.document.get().views().entries();
        if let Some(entry) = entries.get_mut(place.slot.get()) {
            entry.at = index as u64;
        }
    }

    #[inline]
    fn place(&self) -> &ViewPlace {
        // SAFETY: as the type says; callers keep no reference while others may change it.
        unsafe { &*self.0.get() }
    }

    /// Whether it is a view of the root.
    #[inline]
    pub(crate) fn is_root(&self) -> bool {
        matches!(self.place().above, Above::Nothing)
    }

    /// The container, for [`Site`]: none for the root.
    pub(crate) fn site(&self) -> Site<'_> {
        Site::View((!self.is_root()).then_some(self))
    }

    /// The view above; null if there is none.
    fn above(&self) -> *const View {
        self.parent().map_or(ptr::null(), ptr::from_ref)
    }

    fn index(&self) -> usize {
        self.place().document.get().views().index(self)
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
            Above::Array(..) => Some(StepRef::Index(self.index())),
        }
    }

    /// The same below the root: if the view above is one of the root.
    pub(crate) fn below_root(&self, py: Python<'_>) -> Above {
        match &self.place().above {
            Above::Nothing => Above::Nothing,
            Above::Object(_, key) => Above::Object(None, key.clone_ref(py)),
            Above::Array(..) => Above::Array(None, self.index()),
        }
    }

    /// Keys and indexes from the root.
    pub(crate) fn path(&self, py: Python<'_>) -> Held<Vec<Step>> {
        let mut path = Vec::new();
        let mut view = Some(self);
        while let Some(at) = view {
            if let Some(why) = at.place().gone {
                return Err(Fault::Stale(why));
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

    /// The handle as of now. A stale one is found again.
    #[inline]
    pub(crate) fn node(&self, py: Python<'_>, state: &State) -> Held<NodeId> {
        let node = self.place().node;
        match state.editor()?.renewed(node) {
            Some(now) if self.place().gone.is_none() && !state.is_over() => {
                Ok(if now == node { node } else { self.found(now) })
            }
            _ => self.find_again(py, state),
        }
    }

    /// The handle when it was last asked for.
    pub(crate) fn last(&self) -> NodeId {
        self.place().node
    }

    /// Remembers where the container was found.
    fn found(&self, node: NodeId) -> NodeId {
        // SAFETY: the caller borrows the state, so the lock is held, and by this thread.
        unsafe { (*self.0.get()).node = node };
        node
    }

    #[cold]
    fn find_again(&self, py: Python<'_>, state: &State) -> Held<NodeId> {
        const NOTHING: Fault = Fault::Stale("its place is gone");
        if let Some(why) = self.place().gone.or(state.is_over().then_some(ROLLED_BACK)) {
            return Err(Fault::Stale(why));
        }
        let editor = state.editor()?;
        let above = match self.parent() {
            Some(parent) => parent.node(py, state)?,
            None => editor.root_id().ok_or(NOTHING)?,
        };
        let node = match self.step(py) {
            None => above,
            Some(StepRef::Key(key)) => editor.child(above, key)?.ok_or(NOTHING)?,
            Some(StepRef::Index(index)) => editor.child(above, index)?.ok_or(NOTHING)?,
        };
        Ok(self.found(node))
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
    document: &Bound<'_, Document>,
    value: (Kind, NodeId),
    above: Above,
) -> Held<Bound<'py, PyAny>> {
    let (kind, node) = value;
    let _pause = CollectorPause::new();
    // Below the root there is no need for a view of it. The caller keeps the view.
    let above = match above {
        Above::Object(Some(object), key) if object.get().view.is_root() => Above::Object(None, key),
        Above::Array(Some(array), index) if array.get().view.is_root() => Above::Array(None, index),
        above => above,
    };
    let view = View::new(document.clone().unbind(), above, node);
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
        Some(node) => child(py, slf, (value.kind(), node), Above::Nothing),
    }
}
