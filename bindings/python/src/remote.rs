//! Bytes elsewhere, which Python code reads: what partial documents and logs are fetched from.

use std::sync::{Arc, Mutex};

use livebuf::ReadAt;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A source in Python: a `Ranges` of `_files.py`.
#[derive(Debug)]
pub(crate) struct Remote(pub(crate) Py<PyAny>);

impl Remote {
    pub(crate) fn length_of(&self) -> PyResult<u64> {
        Python::attach(|py| self.0.bind(py).getattr("size")?.extract())
    }

    pub(crate) fn fill(&self, buffer: &mut [u8], offset: u64) -> PyResult<()> {
        Python::attach(|py| {
            let data = self.0.bind(py).call_method1("read", (offset, buffer.len()))?;
            let data = data.cast::<PyBytes>()?.as_bytes();
            if data.len() != buffer.len() {
                let (got, wanted) = (data.len(), buffer.len());
                let message = format!(
                    "the source gave {got} bytes instead of the {wanted} bytes from offset \
                     {offset} on; it must give any range, and the document must not change"
                );
                return Err(PyOSError::new_err((5, message)));
            }
            buffer.copy_from_slice(data);
            Ok(())
        })
    }
}

impl ReadAt for Remote {
    type Error = PyErr;

    fn size(&mut self) -> PyResult<u64> {
        self.length_of()
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> PyResult<()> {
        self.fill(buffer, offset)
    }
}

/// What was fetched. Exports of a document share it.
pub(crate) type Fetched = Arc<Mutex<livebuf::Partial<Remote>>>;
