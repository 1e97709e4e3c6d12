//! What `livebuf.to_parquet` and `livebuf.from_parquet` call: documents and files as bytes.
//!
//! The package `livebuf` has the functions for users. This one is apart, since the Parquet library
//! is larger than all of `livebuf`.

use std::sync::Arc;

use livebuf::Doc;
use livebuf_parquet::{Compression, Error, ErrorKind, ImportOptions, WriteOptions};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// A document in an object of Python, which nobody changes.
struct Held(PyBackedBytes);

impl livebuf_arrow::Document for Held {
    fn open(&self) -> livebuf::Result<Doc<'_>> {
        Doc::open(&self.0)
    }
}

create_exception!(
    livebuf_parquet,
    DamagedError,
    PyValueError,
    "The document's bytes are no document, or a damaged one."
);

fn raised(error: &Error) -> PyErr {
    let message = error.to_string();
    if let Some(core) = error.core_error() {
        // As the exceptions of `livebuf` take them.
        let offset = (core.offset() > 0).then_some(core.offset());
        return DamagedError::new_err((message, core.kind() as u8, core.kind().name(), offset));
    }
    match error.kind() {
        ErrorKind::NotFound => PyKeyError::new_err(message),
        ErrorKind::Unsupported => PyTypeError::new_err(message),
        ErrorKind::Io => PyOSError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// A document's bytes as a Parquet file.
#[pyfunction]
fn to_parquet<'py>(
    py: Python<'py>,
    document: PyBackedBytes,
    table: Option<String>,
    variant: bool,
    shred: bool,
    lossy: bool,
    compression: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let compression = match compression {
        "none" => Compression::None,
        "snappy" => Compression::Snappy,
        "zstd" => Compression::Zstd,
        _ => {
            let message = format!(
                "compression must be \"none\", \"snappy\" or \"zstd\", not {compression:?}"
            );
            return Err(PyValueError::new_err(message));
        }
    };
    let mut options =
        WriteOptions::new().variant(variant).shred(shred).lossy(lossy).compression(compression);
    if let Some(pointer) = table {
        options = options.table(pointer);
    }
    let mut bytes = Vec::new();
    let document = Arc::new(Held(document));
    py.detach(|| livebuf_parquet::to_parquet(document, &mut bytes, &options))
        .map_err(|error| raised(&error))?;
    Ok(PyBytes::new(py, &bytes))
}

/// A Parquet file's bytes as those of a document.
#[pyfunction]
fn from_parquet<'py>(
    py: Python<'py>,
    data: PyBackedBytes,
    skip_nulls: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = ImportOptions::new().skip_nulls(skip_nulls);
    let document = py
        .detach(|| livebuf_parquet::from_parquet(data, &options))
        .map_err(|error| raised(&error))?;
    Ok(PyBytes::new(py, document.as_bytes()))
}

/// The compiled code.
#[pymodule(name = "livebuf_parquet")]
mod module {
    #[pymodule_export]
    use crate::{DamagedError, from_parquet, to_parquet};
}
