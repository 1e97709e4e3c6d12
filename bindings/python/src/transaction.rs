//! Transactions: groups of edits of which all happen or none.
//!
//! The core notes what the edits overwrite. Here the document's lock is kept for the thread that
//! began, so that others wait ([`Guard::keep`](crate::lock::Guard::keep)). Tasks of an event loop
//! run in one thread. So the task that began is remembered, too, and others are refused.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{Fault, Held};
use crate::lock::Kept;
use crate::view::{Document, State, Trash, new_layout};

const ELSEWHERE: &str = "the transaction was begun in another thread";
const OVER: &str = "the transaction is not open";
const TWICE: &str = "the transaction was begun already";

/// The asyncio task that runs, if there is one.
fn current_task(py: Python<'_>) -> Option<Py<PyAny>> {
    let modules = py.import("sys").and_then(|sys| sys.getattr("modules")).ok()?;
    let asyncio = modules.get_item("asyncio").ok()?;
    // It raises where no loop runs.
    let task = asyncio.call_method0("current_task").ok()?;
    (!task.is_none()).then(|| task.unbind())
}

impl Kept for State {
    /// The asyncio task that runs.
    type Caller = Option<Py<PyAny>>;

    fn asks(&self) -> bool {
        self.task.is_some()
    }

    fn caller(py: Python<'_>) -> Option<Py<PyAny>> {
        current_task(py)
    }

    /// Hides the document from other tasks than the one that began the transaction.
    fn enter(&mut self, caller: Option<&Option<Py<PyAny>>>) {
        let (Some(task), Some(caller)) = (&self.task, caller) else { return };
        let ours = caller.as_ref().is_some_and(|now| now.is(task));
        if ours && self.hidden.is_some() {
            self.editor = self.hidden.take();
        } else if !ours && self.editor.is_some() {
            self.hidden = self.editor.take();
        }
    }
}

impl State {
    /// Refuses what must not happen while a transaction is open.
    pub(crate) fn outside_transactions(&self) -> Held<()> {
        match self.editor()?.transactions() {
            0 => Ok(()),
            _ => Err(Fault::Transaction("a transaction is open: do this when it has ended")),
        }
    }

    /// Rolls back to `depth` open transactions.
    fn roll_back_to(
        &mut self,
        depth: u32,
        document: &Bound<'_, Document>,
        trash: &mut Trash,
    ) -> Held<()> {
        if self.editor_mut()?.transactions() <= depth {
            return Ok(());
        }
        while self.editor_mut()?.transactions() > depth {
            self.editor_mut()?.rollback_transaction()?;
            self.end_fate(true);
            document.get().views().restore(document, trash);
        }
        self.edits += 1;
        self.layout = new_layout();
        Ok(())
    }
}

/// Edits of which all happen or none: `with doc.transaction(): ...`.
///
/// An exception, or `rollback()`, takes back all edits since the transaction began: the
/// document's bytes are as they were then. Views are again where they were, also those of what the
/// edits replaced or removed. Those that were made within are stale, except of the root.
/// Transactions nest: an inner one can be taken back alone.
///
/// The edits take place at once. Beside them only the bytes that they overwrite are kept, never a
/// copy of the document. The document belongs to this thread until the end: other threads wait.
/// Other asyncio tasks of this thread cannot wait. They get a `TransactionError`, so do not
/// `await` within.
///
/// >>> import livebuf
/// >>> doc = livebuf.from_json('{"from": 10, "to": 0}')
/// >>> with doc.transaction():
/// ...     doc["to"] += 7
/// ...     doc["from"] -= 7
/// >>> with doc.transaction() as moving:
/// ...     doc["to"] += 7
/// ...     doc["from"] -= 7
/// ...     if doc["from"] < 0:
/// ...         moving.rollback()
/// >>> doc.to_python()
/// {'from': 3, 'to': 7}
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Transaction {
    document: Py<Document>,
    /// How many are open with this one. 0 before it began, `ENDED` when it has ended.
    depth: AtomicU32,
}

const ENDED: u32 = u32::MAX;

impl Transaction {
    pub(crate) fn new(document: Py<Document>) -> Transaction {
        Transaction { document, depth: AtomicU32::new(0) }
    }

    fn begin(&self, py: Python<'_>) -> Held<()> {
        if self.depth.load(Ordering::Relaxed) != 0 {
            return Err(Fault::Transaction(TWICE));
        }
        let document = self.document.get();
        let task = current_task(py);
        let mut trash = Trash::default();
        let mut state = document.lock(py)?;
        document.begin_edit(py, &mut state)?;
        document.views().save(py)?;
        let editor = state.editor_mut()?;
        if let Err(failure) = editor.begin_transaction() {
            document.views().forget_saved(self.document.bind(py), &mut trash);
            return Err(failure.into());
        }
        let depth = editor.transactions();
        state.begin_fate();
        self.depth.store(depth, Ordering::Relaxed);
        if depth == 1 {
            state.task = task;
            state.keep();
        }
        Ok(())
    }

    /// Ends the transaction, and those that were begun within and have not ended.
    fn end(&self, py: Python<'_>, commit: bool) -> Held<()> {
        let depth = self.depth.load(Ordering::Relaxed);
        if depth == 0 || depth == ENDED {
            return Err(Fault::Transaction(OVER));
        }
        let document = self.document.get();
        if !document.is_kept_here() {
            return Err(Fault::Transaction(if document.is_kept() { ELSEWHERE } else { OVER }));
        }
        // Dropping these may run Python code, so it happens after the lock.
        let mut trash = Trash::default();
        let mut state = document.lock(py)?;
        if state.editor()?.transactions() < depth {
            self.depth.store(ENDED, Ordering::Relaxed);
            return Err(Fault::Transaction(OVER));
        }
        if document.exports().load(Ordering::Acquire) > 0 {
            return Err(Fault::Exported);
        }
        let bound = self.document.bind(py);
        state.roll_back_to(if commit { depth } else { depth - 1 }, bound, &mut trash)?;
        if commit {
            state.editor_mut()?.commit_transaction()?;
            state.end_fate(false);
            document.views().forget_saved(bound, &mut trash);
            // Committing may lay out bytes anew.
            state.edits += 1;
        }
        self.depth.store(ENDED, Ordering::Relaxed);
        let task = if depth == 1 { state.task.take() } else { None };
        if depth == 1 {
            state.release();
        }
        drop(state);
        drop((task, trash));
        Ok(())
    }

    fn is_open(&self) -> bool {
        !matches!(self.depth.load(Ordering::Relaxed), 0 | ENDED)
    }
}

#[pymethods]
impl Transaction {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().begin(slf.py())?;
        Ok(slf)
    }

    /// Keeps the edits, or takes them back after an exception.
    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let failed = exception.get_item(0).is_ok_and(|class| !class.is_none());
        if !self.is_open() {
            return Ok(());
        }
        Ok(self.end(py, !failed)?)
    }

    /// Keeps the edits and ends the transaction.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.end(py, true)?)
    }

    /// Takes back all edits since the transaction began, and ends it.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.end(py, false)?)
    }

    fn __repr__(&self) -> &'static str {
        match self.depth.load(Ordering::Relaxed) {
            0 => "<livebuf.Transaction, not begun>",
            ENDED => "<livebuf.Transaction, ended>",
            _ => "<livebuf.Transaction, open>",
        }
    }
}

impl Drop for Transaction {
    /// Rolls back what nobody ended, such as in a generator that is dropped half way.
    fn drop(&mut self) {
        if !self.is_open() {
            return;
        }
        Python::try_attach(|py| {
            let document = self.document.get();
            if !document.take_over(py) {
                return;
            }
            // Taken over: this thread's call comes in at once.
            let mut trash = Trash::default();
            let Ok(mut state) = document.lock(py) else { return };
            if state.hidden.is_some() {
                state.editor = state.hidden.take();
            }
            let depth = self.depth.load(Ordering::Relaxed);
            let done = state.roll_back_to(depth - 1, self.document.bind(py), &mut trash);
            let task = if depth == 1 { state.task.take() } else { None };
            if depth == 1 && done.is_ok() {
                state.release();
            }
            drop(state);
            drop((task, trash));
        });
    }
}
