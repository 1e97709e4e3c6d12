//! `livebuf.Partial`: a document elsewhere, of which only the parts that are read are fetched.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use livebuf::PartialError;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::error::{self, Fault};
use crate::memory::Memory;
use crate::remote::{Fetched, Remote};
use crate::view::{Array, Document, Object};

/// A document elsewhere: at a path, at a URL of fsspec, or in a binary file object that can seek.
/// Only the parts that you read are fetched, and kept.
///
/// `read(look)` calls `look` with the document, as if all of it were here. If `look` needs a part
/// that is missing, that part is fetched, and `look` is called again. So `look` runs several
/// times: it should only read, in its own thread. At least `block` bytes are fetched at once.
///
/// The document must not change meanwhile: its parts would not fit each other.
///
/// >>> import io
/// >>> file = io.BytesIO(livebuf.dumps({"id": 7, "text": "x" * 1_000_000}))
/// >>> with livebuf.Partial(file, block=4096) as part:
/// ...     part.read(lambda doc: doc["id"]), part.fetched, len(part)
/// (7, 4768, 1000096)
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Partial {
    /// `None` when closed.
    fetched: Mutex<Option<Fetched>>,
    /// The thread that reads now.
    reader: Mutex<Option<ThreadId>>,
    source: Py<PyAny>,
}

/// How long a thread sleeps while another reads.
const SLICE: Duration = Duration::from_millis(2);

/// Notes the end of a read.
struct Reading<'a>(&'a Partial);

impl<'a> Reading<'a> {
    fn new(partial: &'a Partial) -> Reading<'a> {
        partial.set_reader(Some(thread::current().id()));
        Reading(partial)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.set_reader(None);
    }
}

impl Partial {
    fn set_reader(&self, reader: Option<ThreadId>) {
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = reader;
    }

    fn fetched(&self) -> PyResult<Fetched> {
        let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(fetched.as_ref().ok_or(Fault::Closed)?.clone())
    }

    /// Works with what was fetched, while no other thread does.
    fn with<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Fetched, &mut livebuf::Partial<Remote>) -> PyResult<R>,
    ) -> PyResult<R> {
        let reader = *self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if reader == Some(thread::current().id()) {
            return Err(PyRuntimeError::new_err(
                "the partial document is being read: do this after `read` has returned",
            ));
        }
        let fetched = self.fetched()?;
        let mut partial = loop {
            match fetched.try_lock() {
                Ok(partial) => break partial,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                // Another thread reads. Handlers of signals run meanwhile.
                Err(TryLockError::WouldBlock) => py.detach(|| thread::sleep(SLICE)),
            }
            py.check_signals()?;
        };
        let _reading = Reading::new(self);
        work(&fetched, &mut partial)
    }
}

#[pymethods]
impl Partial {
    #[new]
    #[pyo3(signature = (file, *, block=65536))]
    fn new(file: &Bound<'_, PyAny>, block: usize) -> PyResult<Partial> {
        if block == 0 {
            return Err(PyValueError::new_err("block must be at least 1"));
        }
        let py = file.py();
        let source = py.import("livebuf._files")?.call_method1("ranges", (file,))?;
        let opened = livebuf::Partial::with_block(Remote(source.clone().unbind()), block);
        match opened {
            Ok(partial) => Ok(Partial {
                fetched: Mutex::new(Some(Arc::new(Mutex::new(partial)))),
                reader: Mutex::default(),
                source: source.unbind(),
            }),
            Err(failure) => {
                source.call_method0("close")?;
                Err(match failure {
                    PartialError::Source(failure) => failure.into(),
                    PartialError::Document(failure) => error::raise(failure),
                })
            }
        }
    }

    /// What `look(document)` returns. A view becomes plain Python objects, as by `to_python`.
    ///
    /// Arrow exports and numpy arrays stay good afterwards. Views within the answer do not: they
    /// raise `ClosedError`. Exceptions of `look` are raised once nothing is missing.
    fn read<'py>(&self, py: Python<'py>, look: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(py, |fetched, partial| {
            // Whoever interrupts is not asked again.
            let mut interrupt = None;
            let answer = partial.read(|doc| {
                if let Some(interrupt) = interrupt.take() {
                    return Err(interrupt);
                }
                let memory = Memory::fetched(doc.as_bytes(), Arc::clone(fetched));
                let document = Bound::new(py, Document::open(memory, false)?)?;
                let answer = look.call1((&document,)).and_then(plain);
                document.get().end(py)?;
                if let Err(failure) = &answer
                    && !failure.is_instance_of::<PyException>(py)
                {
                    interrupt = Some(failure.clone_ref(py));
                }
                answer
            });
            answer?
        })
    }

    /// The value at a JSON pointer (RFC 6901), as plain Python objects.
    ///
    /// Raises `PointerError` for a malformed pointer, and `MissingKeyError` where there is no
    /// such value, unless a default is given.
    #[pyo3(signature = (pointer, *default))]
    fn pointer<'py>(
        &self,
        py: Python<'py>,
        pointer: &Bound<'py, PyString>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let look = py.import("operator")?.getattr("methodcaller")?;
        let arguments = (pyo3::intern!(py, "pointer"), pointer).into_pyobject(py)?;
        let arguments = arguments.as_sequence().concat(default.as_sequence())?.to_tuple()?;
        self.read(py, &look.call1(arguments)?)
    }

    /// Fetches the bytes from `start` up to, without, `stop` ahead of reading, as far as the
    /// document has them.
    fn prefetch(&self, py: Python<'_>, start: u64, stop: u64) -> PyResult<()> {
        self.with(py, |_, partial| Ok(partial.prefetch(start..stop)?))
    }

    /// Count of bytes that were fetched.
    #[getter(fetched)]
    fn fetched_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |_, partial| Ok(partial.fetched()))
    }

    /// Count of requests that fetched them.
    #[getter]
    fn requests(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |_, partial| Ok(partial.requests()))
    }

    /// The document's length in bytes.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |_, partial| Ok(partial.document_length()))
    }

    /// Closes a file that was opened by its path, and drops what was fetched. Closing twice does
    /// nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner).take();
        match fetched {
            Some(_) => self.source.bind(py).call_method0("close").map(drop),
            None => Ok(()),
        }
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if self.closed() {
            return Ok("<livebuf.Partial, closed>".into());
        }
        self.with(py, |_, partial| {
            let (there, all) = (partial.fetched(), partial.document_length());
            let requests = partial.requests();
            Ok(format!("<livebuf.Partial: {there} of {all} bytes fetched in {requests} requests>"))
        })
    }
}

/// Views become plain objects; anything else stays.
fn plain(answer: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let is_view = answer.is_instance_of::<Object>()
        || answer.is_instance_of::<Array>()
        || answer.is_instance_of::<Document>();
    if is_view { answer.call_method0("to_python") } else { Ok(answer) }
}

impl Document {
    /// Ends the reading of a partial document: views of it are closed. Exports keep its memory.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        let memory = state.editor.take().map(|editor| editor.into_storage());
        if let Some(memory) = memory {
            self.keep_for_exports(memory);
        }
        Ok(())
    }
}
