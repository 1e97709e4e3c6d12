//! Changes as bytes: recordings, deltas, and a history of deltas.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use livebuf::{Editor, Recorder};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

use crate::error::{self, Fault, Held};
use crate::memory::{Export, Memory, Watch};
use crate::view::{Document, State};

const LED: &str = "a history, or a recording that makes a delta, is open already, and there can be \
                   one at a time; the steps of a history have deltas, too";
const NOT_BEGUN: &str = "the recording was not begun: use it in a `with` statement";
const TWICE: &str = "the recording was begun already";
const WITHIN: &str = "within a step of the history: do this when the step has ended";
const CLOSED: &str = "the history was closed";

/// Locks what a lock of a document protects already. No Python code runs meanwhile.
fn own<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Refuses what must not happen while somebody records to make a delta.
    pub(crate) fn outside_led(&self) -> Held<()> {
        match self.editor()?.storage().is_led() {
            true => Err(Fault::Recorded(LED)),
            false => Ok(()),
        }
    }

    fn outside_exports(&self, document: &Document) -> Held<()> {
        match document.exports().load(Ordering::Acquire) {
            0 => Ok(()),
            _ => Err(Fault::Exported),
        }
    }
}

/// Which bytes of the document change: `with doc.recording() as changes: ...`.
///
/// >>> import livebuf
/// >>> doc = livebuf.from_json('{"lap": 55, "laps": [1, 2]}')
/// >>> with doc.recording() as changes:
/// ...     doc["lap"] = 56
/// >>> [length for offset, length in changes.ranges], changes.length == doc.nbytes
/// ([8], True)
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Recording {
    document: Py<Document>,
    old: bool,
    delta: bool,
    digest: bool,
    stage: Mutex<Stage>,
}

enum Stage {
    Ready,
    Open(Arc<Watch>),
    Ended(Ended),
}

struct Ended {
    ranges: Vec<(u64, u64)>,
    base_length: u64,
    length: u64,
    delta: Option<livebuf::Delta>,
}

impl Recording {
    pub(crate) fn new(document: Py<Document>, old: bool, delta: bool, digest: bool) -> Recording {
        Recording { document, old, delta, digest, stage: Mutex::new(Stage::Ready) }
    }

    fn begin(&self, py: Python<'_>) -> Held<()> {
        let document = self.document.get();
        let state = document.lock(py)?;
        let editor = state.whole()?;
        let mut stage = own(&self.stage);
        if !matches!(*stage, Stage::Ready) {
            return Err(Fault::Recorded(TWICE));
        }
        if state.lent {
            // Lent numbers may be written unseen.
            state.outside_exports(document)?;
        }
        if self.delta {
            state.outside_transactions()?;
            state.outside_led()?;
            if editor.state().is_none() {
                return Err(livebuf::DeltaError::NoState.into());
            }
        }
        let recorder = match self.old {
            true => Recorder::with_old(editor.as_bytes()),
            false => Recorder::new(editor.as_bytes()),
        };
        let watch = Watch::new(recorder, self.delta);
        editor.storage().watch(&watch);
        *stage = Stage::Open(watch);
        Ok(())
    }

    fn end(&self, py: Python<'_>) -> Held<()> {
        let document = self.document.get();
        let mut state = document.lock(py)?;
        state.editor()?;
        if self.delta {
            state.outside_transactions()?;
            document.begin_edit(py, &mut state)?;
        }
        let mut stage = own(&self.stage);
        let Stage::Open(watch) = &*stage else { return Err(Fault::Recorded(NOT_BEGUN)) };
        let editor = state.editor_mut()?;
        let base_length = watch.with(|recorder| recorder.base_length());
        let delta = match self.delta {
            true => {
                let recorder = watch.with(|recorder| recorder.clone());
                let mut delta = livebuf::Delta::make(editor, recorder)?;
                if self.digest {
                    delta.set_digest(editor.doc())?;
                }
                Some(delta)
            }
            false => None,
        };
        let length = editor.as_bytes().len() as u64;
        let ranges = watch.with(|recorder| recorder.ranges(length));
        *stage = Stage::Ended(Ended { ranges, base_length, length, delta });
        Ok(())
    }

    /// What is known now.
    fn look<R>(&self, py: Python<'_>, look: impl FnOnce(&Ended) -> Held<R>) -> PyResult<R> {
        let state = self.document.get().lock(py)?;
        Ok(match &*own(&self.stage) {
            Stage::Ready => Err(Fault::Recorded(NOT_BEGUN)),
            Stage::Open(watch) => {
                let length = state.editor()?.as_bytes().len() as u64;
                let (ranges, base_length) =
                    watch.with(|recorder| (recorder.ranges(length), recorder.base_length()));
                look(&Ended { ranges, base_length, length, delta: None })
            }
            Stage::Ended(ended) => look(ended),
        }?)
    }
}

#[pymethods]
impl Recording {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().begin(slf.py())?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        Ok(self.end(py)?)
    }

    /// The bytes that changed: (offset, length) of each range, in ascending order, with unchanged
    /// bytes between them. Bytes by which the document grew are among them.
    #[getter]
    fn ranges(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        self.look(py, |ended| Ok(ended.ranges.clone()))
    }

    /// Bytes of the document when the recording began.
    #[getter]
    fn base_length(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |ended| Ok(ended.base_length))
    }

    /// Bytes of the document when the recording ended, or now.
    #[getter]
    fn length(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |ended| Ok(ended.length))
    }

    /// The changes as a `Delta`, of a recording with `delta=True` that has ended.
    #[getter]
    fn delta(&self, py: Python<'_>) -> PyResult<Delta> {
        self.look(py, |ended| match &ended.delta {
            Some(delta) => Ok(Delta { delta: delta.clone() }),
            None if self.delta => Err(Fault::Recorded("the delta is made when the recording ends")),
            None => Err(Fault::Recorded("the recording makes no delta: ask for delta=True")),
        })
    }
}

/// The changes from one state of a document to the next, as bytes to send.
///
/// It fits only to a copy that has the state it begins at, byte by byte: this is replication,
/// not merging. `bytes(delta)` encodes it, `Delta.from_bytes` reads it.
///
/// >>> import livebuf
/// >>> doc = livebuf.from_json('{"lap": 55}')
/// >>> doc.set_state()
/// >>> copy = doc.copy()
/// >>> with doc.recording(delta=True) as changes:
/// ...     doc["lap"] = 56
/// >>> livebuf.Delta.from_bytes(bytes(changes.delta)).apply(copy)
/// >>> copy["lap"], bytes(copy) == bytes(doc)
/// (56, True)
#[pyclass(frozen, eq, module = "livebuf")]
#[derive(PartialEq)]
pub(crate) struct Delta {
    delta: livebuf::Delta,
}

#[pymethods]
impl Delta {
    /// Reads a delta. Raises `DeltaError` for bytes that are none.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, data: &Bound<'_, PyAny>) -> PyResult<Delta> {
        let export = Export::new(data)?;
        let read = livebuf::Delta::from_bytes(export.as_bytes());
        Ok(Delta { delta: read.map_err(|failure| error::delta(data.py(), &failure))? })
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        error::bytes(py, &self.delta.to_bytes())
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().__bytes__(py)?,)))
    }

    /// The state that the delta begins at: 16 bytes.
    #[getter]
    fn base<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.delta.base().to_bytes())
    }

    /// The state that it leads to: 16 bytes.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.delta.state().to_bytes())
    }

    /// Bytes of the document before.
    #[getter]
    fn base_length(&self) -> u64 {
        self.delta.base_length()
    }

    /// Bytes of the document afterwards.
    #[getter]
    fn length(&self) -> u64 {
        self.delta.length()
    }

    /// Whether it has the old bytes, so that it can be inverted.
    #[getter]
    fn keeps_old(&self) -> bool {
        self.delta.keeps_old()
    }

    /// The ranges: (offset, new bytes, old bytes or `None`) of each.
    #[getter]
    fn changes<'py>(
        &self,
        py: Python<'py>,
    ) -> Vec<(u64, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
        let range = |change: livebuf::Change<'_>| {
            let old = change.old.map(|old| PyBytes::new(py, old));
            (change.offset, PyBytes::new(py, change.new), old)
        };
        self.delta.changes().map(range).collect()
    }

    /// Changes a document from the state `base` to `state`, whole or not at all.
    ///
    /// Linear in the delta's bytes. The document is not trusted until it is validated, since the
    /// delta may be untrusted. With `checked=True` the SHA-256 of all bytes afterwards is
    /// compared first, which takes time linear in the document and needs a delta that was recorded
    /// with `digest=True`. All views but those of the root are stale.
    ///
    /// Raises `DeltaError` where the document has another state. Nothing is changed then.
    #[pyo3(signature = (document, *, checked=false))]
    fn apply(&self, document: &Bound<'_, Document>, checked: bool) -> PyResult<()> {
        let (py, document) = (document.py(), document.get());
        let mut state = document.lock(py)?;
        state.outside_led()?;
        document.begin_edit(py, &mut state)?;
        let editor = state.editor_mut()?;
        let applied = match checked {
            true => self.delta.apply_checked(editor),
            false => self.delta.apply(editor),
        };
        applied.map_err(Fault::from)?;
        document.settle_unknown(&mut state);
        Ok(())
    }

    /// One delta that does what this one and then `following` do.
    fn compose(&self, py: Python<'_>, following: &Delta) -> PyResult<Delta> {
        let composed = self.delta.compose(&following.delta);
        Ok(Delta { delta: composed.map_err(|failure| error::delta(py, &failure))? })
    }

    /// The delta that leads back. It needs old bytes: record with `old=True`.
    fn invert(&self, py: Python<'_>) -> PyResult<Delta> {
        let inverted = self.delta.invert();
        Ok(Delta { delta: inverted.map_err(|failure| error::delta(py, &failure))? })
    }

    fn __repr__(&self) -> String {
        let (count, delta) = (self.delta.changes().count(), &self.delta);
        format!("<livebuf.Delta of {count} ranges, {} to {}>", delta.base(), delta.state())
    }
}

/// Steps of a document that can be undone and redone; `doc.history()` makes one.
///
/// It records from then on. `with history.step(): ...` makes one step of the edits within. Edits
/// outside become one step together when the next step begins, or at `undo`. So nothing is lost
/// that nobody marked. Each step is a delta with the old bytes; the oldest are dropped where all
/// take more than `max_bytes`.
///
/// >>> import livebuf
/// >>> doc = livebuf.from_json('{"text": "a"}')
/// >>> history = doc.history()
/// >>> with history.step():
/// ...     doc["text"] += "b"
/// ...     doc["length"] = 2
/// >>> _ = history.undo()
/// >>> doc.to_python()
/// {'text': 'a'}
/// >>> _ = history.redo()
/// >>> doc.to_python()
/// {'text': 'ab', 'length': 2}
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct History {
    document: Py<Document>,
    inner: Mutex<Steps>,
}

struct Steps {
    history: livebuf::History,
    /// `None` when closed.
    watch: Option<Arc<Watch>>,
    /// Steps that are open, within each other.
    depth: u32,
    /// The document was trusted when the recorder began.
    began_trusted: bool,
    /// It was trusted before and after all steps that are kept, and no numbers were lent.
    is_sound: bool,
}

impl History {
    pub(crate) fn new(document: &Bound<'_, Document>, max_bytes: usize) -> PyResult<History> {
        let py = document.py();
        let (of, document) = (document.clone().unbind(), document.get());
        let mut state = document.lock(py)?;
        state.outside_transactions()?;
        state.outside_led()?;
        if state.whole()?.state().is_none() {
            document.begin_edit(py, &mut state)?;
            let named = state.editor_mut()?.set_state(livebuf::State::random());
            named.map_err(Fault::Core)?;
        }
        state.outside_exports(document)?;
        let editor = state.editor()?;
        let watch = Watch::new(Recorder::with_old(editor.as_bytes()), true);
        editor.storage().watch(&watch);
        let inner = Steps {
            history: livebuf::History::new(max_bytes),
            watch: Some(watch),
            depth: 0,
            began_trusted: editor.is_trusted(),
            is_sound: true,
        };
        drop(state);
        Ok(History { document: of, inner: Mutex::new(inner) })
    }

    /// Works on the steps, with the document ready for an edit.
    fn edit<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Steps, &mut State) -> Held<R>,
    ) -> PyResult<R> {
        let document = self.document.get();
        let mut state = document.lock(py)?;
        state.outside_transactions()?;
        document.begin_edit(py, &mut state)?;
        Ok(work(&mut own(&self.inner), &mut state)?)
    }

    fn look<R>(&self, py: Python<'_>, look: impl FnOnce(&Steps, u64) -> R) -> PyResult<R> {
        let state = self.document.get().lock(py)?;
        let length = state.editor()?.as_bytes().len() as u64;
        Ok(look(&own(&self.inner), length))
    }

    /// Undoes or redoes. The delta that was applied, if there was one.
    fn go(&self, py: Python<'_>, back: bool) -> PyResult<Option<Delta>> {
        self.edit(py, |steps, state| {
            if steps.depth > 0 {
                return Err(Fault::Recorded(WITHIN));
            }
            steps.settle(state)?;
            let next = match back {
                true => steps.history.next_undo().map(livebuf::Delta::invert).transpose()?,
                false => steps.history.next_redo().cloned(),
            };
            let Some(delta) = next else { return Ok(None) };
            let keeps_trust = steps.is_sound && !state.lent;
            let editor = state.editor_mut()?;
            match (keeps_trust, back) {
                // SAFETY: this file made all steps by `Delta::make`, of the recorder that this
                // document's memory told of every change: it moves along where the document does,
                // and `refresh` is refused meanwhile. `is_sound` says that the document was
                // trusted before and after each step. No numbers were lent to be written unseen.
                (true, true) => unsafe { steps.history.undo_trusted(editor) }?,
                // SAFETY: as above.
                (true, false) => unsafe { steps.history.redo_trusted(editor) }?,
                (false, true) => steps.history.undo(editor)?,
                (false, false) => steps.history.redo(editor)?,
            };
            steps.restart(editor);
            self.document.get().settle_unknown(state);
            Ok(Some(Delta { delta }))
        })
    }
}

impl Steps {
    fn watch(&self) -> Held<&Arc<Watch>> {
        self.watch.as_ref().ok_or(Fault::Recorded(CLOSED))
    }

    /// Records anew.
    fn restart(&mut self, editor: &Editor<Memory>) {
        if let Some(watch) = &self.watch {
            watch.with(|recorder| *recorder = Recorder::with_old(editor.as_bytes()));
        }
        self.began_trusted = editor.is_trusted();
    }

    /// Whether something was recorded that is no step yet.
    fn is_pending(&self, length: u64) -> bool {
        let watch = self.watch.as_ref();
        watch.is_some_and(|watch| watch.with(|recorder| recorder.has_changes(length)))
    }

    /// Makes a step of what was recorded, if anything changed.
    fn settle(&mut self, state: &mut State) -> Held<Option<livebuf::Delta>> {
        let recorder = self.watch()?.with(std::mem::take);
        let lent = state.lent;
        let editor = state.editor_mut()?;
        self.is_sound |= self.history.undo_count() + self.history.redo_count() == 0;
        let made = self.history.step(editor, recorder);
        if matches!(made, Ok(Some(_))) {
            self.is_sound &= self.began_trusted && editor.is_trusted() && !lent;
        }
        self.restart(editor);
        made.map_err(Fault::from)
    }
}

#[pymethods]
impl History {
    /// Makes one step of the edits within: `with history.step(): ...`.
    ///
    /// After an exception the edits stay, as a step. `with history.step(), doc.transaction():`
    /// takes them back. A step within another one is a part of it.
    fn step(slf: Bound<'_, Self>) -> Step {
        Step { history: slf.unbind(), delta: Mutex::new(None) }
    }

    /// Takes the last step back. Returns the delta that did it, which copies of the document can
    /// apply to follow; `None` where there is no step.
    fn undo(&self, py: Python<'_>) -> PyResult<Option<Delta>> {
        self.go(py, true)
    }

    /// Does the step again that was undone last. Returns as `undo` does.
    fn redo(&self, py: Python<'_>) -> PyResult<Option<Delta>> {
        self.go(py, false)
    }

    /// Whether there is something to undo.
    #[getter]
    fn can_undo(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |steps, length| steps.history.undo_count() > 0 || steps.is_pending(length))
    }

    /// Whether there is something to redo. An edit ends that.
    #[getter]
    fn can_redo(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |steps, length| steps.history.redo_count() > 0 && !steps.is_pending(length))
    }

    /// Bytes of memory that the steps take, about.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |steps, _| steps.history.bytes())
    }

    /// Forgets all steps.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.edit(py, |steps, state| {
            steps.settle(state)?;
            steps.history.clear();
            Ok(())
        })
    }

    /// Forgets all steps and records no longer. The document can then apply deltas of others.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let _state = self.document.get().lock(py)?;
        let mut steps = own(&self.inner);
        steps.watch = None;
        steps.history.clear();
        Ok(())
    }

    fn __repr__(&self) -> String {
        let steps = own(&self.inner);
        let (undo, redo) = (steps.history.undo_count(), steps.history.redo_count());
        format!("<livebuf.History, {undo} to undo, {redo} to redo>")
    }
}

/// One step of a history: `with history.step() as step: ...`.
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Step {
    history: Py<History>,
    delta: Mutex<Option<livebuf::Delta>>,
}

#[pymethods]
impl Step {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().history.get().edit(slf.py(), |steps, state| {
            steps.watch()?;
            if steps.depth == 0 {
                steps.settle(state)?;
            }
            steps.depth += 1;
            Ok(())
        })?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let history = self.history.get();
        {
            let _state = history.document.get().lock(py)?;
            let mut steps = own(&history.inner);
            steps.depth = steps.depth.saturating_sub(1);
            if steps.depth > 0 {
                return Ok(());
            }
        }
        let delta = history.edit(py, |steps, state| steps.settle(state))?;
        *own(&self.delta) = delta;
        Ok(())
    }

    /// The changes of the step, when it has ended: to be sent to copies. `None` where nothing
    /// changed, and for a step within another one.
    #[getter]
    fn delta(&self) -> Option<Delta> {
        own(&self.delta).clone().map(|delta| Delta { delta })
    }
}
