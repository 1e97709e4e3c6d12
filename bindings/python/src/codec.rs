//! Bytes from Python objects and back: `dumps`, `loads`.

use livebuf::{ArrayIter, Checked, Doc, DocBuf, EncodeOptions, ErrorKind, Value};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::decode;
use crate::encode;
use crate::error;
use crate::memory::Memory;
use crate::typed::decoder;
use crate::view::Document;

/// Makes a document of a Python object: its bytes.
///
/// Takes what JSON knows, and `bytes`, `tuple`, `Decimal`, `datetime`, `date`, `time`, `UUID`,
/// enums, dataclasses, msgspec's Structs, classes of attrs, pydantic models, numpy's scalars and
/// arrays, documents and views. For all else `default(obj)` is called, which gives something that
/// can be stored. Integers of any length
/// are kept exactly. A `datetime` with a time zone is kept as its moment, in UTC.
///
/// Arrays of similar objects become columns, unless `tables=False`. `layout="edits"` says the same
/// by its purpose: for documents that are edited much. `min_width` is the fewest
/// bytes of a number in an array or column: 8 makes them ready for numpy as 64-bit numbers.
/// With `sort_keys` the members of all objects are ordered by their keys.
///
/// A document is not encoded anew, unless you give such options or edits left space in it: you
/// get its bytes.
///
/// Raises `EncodeError`, which says where in the object it was; `BadValueError`, one of them,
/// for a date, time or `Decimal` that no document can hold.
///
/// >>> livebuf.loads(livebuf.dumps({"name": "Ada", "laps": [71, 70.5]}))
/// {'name': 'Ada', 'laps': [71, 70.5]}
#[pyfunction]
#[pyo3(
    signature = (obj, *, default=None, tables=true, min_width=1, sort_keys=false, layout=None)
)]
pub(crate) fn dumps<'py>(
    obj: &Bound<'py, PyAny>,
    default: Option<Py<PyAny>>,
    tables: bool,
    min_width: u8,
    sort_keys: bool,
    layout: Option<&str>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = encode::options(tables, min_width, layout)?;
    if let Ok(document) = obj.cast::<Document>()
        && (options.tables, min_width, sort_keys) == (true, 1, false)
        && let Some(bytes) = document.get().tidy_bytes(obj.py())?
    {
        return Ok(bytes);
    }
    if !sort_keys {
        return encode::bytes(obj, default, options);
    }
    let document = encode::document(obj, default, options)?;
    let sorted = sorted(&document.doc().root(), options).map_err(error::raise)?;
    error::bytes(obj.py(), sorted.as_bytes())
}

/// `dumps` with options that are given once, for many objects.
///
/// `enc_hook(obj)` is called for what cannot be stored, as `default` of `dumps`; the other options
/// are those of `dumps`.
///
/// >>> encoder = livebuf.Encoder(enc_hook=str)
/// >>> livebuf.loads(encoder.encode({"at": 1 + 2j}))
/// {'at': '(1+2j)'}
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Encoder {
    hook: Option<Py<PyAny>>,
    tables: bool,
    min_width: u8,
    sort_keys: bool,
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(
        signature = (*, enc_hook=None, tables=true, min_width=1, sort_keys=false, layout=None)
    )]
    fn new(
        enc_hook: Option<Py<PyAny>>,
        tables: bool,
        min_width: u8,
        sort_keys: bool,
        layout: Option<&str>,
    ) -> PyResult<Encoder> {
        let tables = encode::options(tables, min_width, layout)?.tables;
        Ok(Encoder { hook: enc_hook, tables, min_width, sort_keys })
    }

    /// Makes a document of a Python object: its bytes.
    #[pyo3(signature = (obj, /))]
    fn encode<'py>(&self, obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let hook = self.hook.as_ref().map(|hook| hook.clone_ref(obj.py()));
        dumps(obj, hook, self.tables, self.min_width, self.sort_keys, None)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.hook)
    }
}

/// The same value with the members of each object ordered by their keys' bytes.
pub(crate) fn sorted(value: &Value<'_>, options: EncodeOptions) -> livebuf::Result<DocBuf> {
    enum OpenContainer<'a> {
        Array(ArrayIter<'a, Checked>),
        Object(std::vec::IntoIter<(&'a str, Value<'a>)>),
    }
    let mut encoder = livebuf::Encoder::with_options(options);
    let (mut open, mut next) = (Vec::new(), Some(*value));
    // In a damaged document values may stand in many places.
    let mut left = decode::default_budget(value.document_length());
    loop {
        if let Some(value) = next.take() {
            let exceeded = livebuf::Error::new(ErrorKind::BudgetExceeded, 0);
            left = left.checked_sub(1 + value.len()?.unwrap_or(0) as u64 / 64).ok_or(exceeded)?;
            let array = value.as_array()?;
            let is_tensor = match &array {
                Some(array) => array.tensor()?.is_some(),
                None => false,
            };
            if let Some(array) = array.filter(|_| !is_tensor) {
                encoder.begin_array()?;
                open.push(OpenContainer::Array(array.iter()));
            } else if let Some(object) = value.as_object()? {
                let mut members = object.iter().collect::<livebuf::Result<Vec<_>>>()?;
                members.sort_unstable_by_key(|&(key, _)| key);
                encoder.begin_object()?;
                open.push(OpenContainer::Object(members.into_iter()));
            } else {
                encoder.value(&value)?;
            }
        }
        match open.last_mut() {
            None => return encoder.finish(),
            Some(OpenContainer::Array(elements)) => match elements.next() {
                Some(element) => next = Some(element?),
                None => {
                    encoder.end_array()?;
                    open.pop();
                }
            },
            Some(OpenContainer::Object(members)) => match members.next() {
                Some((key, value)) => {
                    encoder.key(key)?;
                    next = Some(value);
                }
                None => {
                    encoder.end_object()?;
                    open.pop();
                }
            },
        }
    }
}

/// A document's bytes as plain Python objects, at most `max_values` of them, or as those of a type.
#[pyfunction]
#[pyo3(signature = (data, max_values=None, target=None))]
pub(crate) fn _loads<'py>(
    data: &Bound<'py, PyAny>,
    max_values: Option<u64>,
    target: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    use livebuf::Storage;
    if let Some(target) = target {
        return decoder::typed(data, target, max_values);
    }
    let memory = Memory::of(data)?;
    let document = Doc::open(memory.bytes()).map_err(error::raise)?;
    Ok(decode::to_python(data.py(), &document.root(), max_values)?)
}
