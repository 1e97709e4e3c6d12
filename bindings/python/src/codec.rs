//! Bytes from Python objects and back: `dumps`, `loads`.

use livebuf::Doc;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::decode;
use crate::encode;
use crate::error::{self, Fault};
use crate::memory::Memory;

/// Makes a document of a Python object: its bytes.
///
/// Takes what JSON knows, and `bytes`, `tuple`, `Decimal`, `datetime`, `date`, `time`, `UUID`,
/// enums, dataclasses, numpy's scalars and arrays, documents and views. For all else
/// `default(obj)` is called, which gives something that can be stored. Integers of any length
/// are kept exactly. A `datetime` with a time zone is kept as its moment, in UTC.
///
/// Arrays of like objects become columns, unless `tables=False`. `min_width` is the fewest
/// bytes of a number in an array or column: 8 makes them ready for numpy as 64-bit numbers.
///
/// Raises `EncodeError`, which says where in the object it was; `BadValueError`, one of them,
/// for a date, time or `Decimal` that no document can hold.
///
/// >>> livebuf.loads(livebuf.dumps({"name": "Ada", "laps": [71, 70.5]}))
/// {'name': 'Ada', 'laps': [71, 70.5]}
#[pyfunction]
#[pyo3(signature = (obj, *, default=None, tables=true, min_width=1))]
pub(crate) fn dumps<'py>(
    obj: &Bound<'py, PyAny>,
    default: Option<Py<PyAny>>,
    tables: bool,
    min_width: u8,
) -> PyResult<Bound<'py, PyBytes>> {
    encode::bytes(obj, default, encode::options(tables, min_width)?)
}

/// A document's bytes as plain Python objects, at most `max_values` of them.
#[pyfunction]
#[pyo3(signature = (data, max_values=None))]
pub(crate) fn _loads<'py>(
    data: &Bound<'py, PyAny>,
    max_values: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    use livebuf::Storage;
    let memory = Memory::of(data)?;
    let document = Doc::open(memory.bytes()).map_err(error::raise)?;
    let limit = max_values.unwrap_or(decode::default_budget(document.as_bytes().len()));
    let made: Result<_, Fault> = decode::to_python(data.py(), &document.root(), limit);
    Ok(made?)
}
