//! Bytes elsewhere, which Python code reads: what partial documents and logs are fetched from.

use std::io;
use std::sync::{Arc, Mutex};

use livebuf::ReadAt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A source in Python: a `Ranges` of `_files.py`.
pub(crate) struct Remote(pub(crate) Py<PyAny>);

impl ReadAt for Remote {
    // It holds the Python exception, which is raised again from it.
    type Error = io::Error;

    fn size(&mut self) -> io::Result<u64> {
        Ok(Python::attach(|py| self.0.bind(py).getattr("size")?.extract())?)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        Python::attach(|py| {
            let data = self.0.bind(py).call_method1("read", (offset, buffer.len()))?;
            let data = data.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes();
            if data.len() != buffer.len() {
                let (got, wanted) = (data.len(), buffer.len());
                return Err(io::Error::other(format!(
                    "the source gave {got} bytes instead of the {wanted} bytes from offset \
                     {offset} on; it must give any range, and the document must not change"
                )));
            }
            buffer.copy_from_slice(data);
            Ok(())
        })
    }
}

/// What was fetched. Exports of a document share it.
pub(crate) type Fetched = Arc<Mutex<livebuf::Partial<Remote>>>;
