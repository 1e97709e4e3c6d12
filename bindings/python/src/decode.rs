//! Values of documents as Python objects.
//!
//! Text is checked by Python while it is copied, so it is read unchecked. Nothing here
//! runs Python code: it is called while documents are locked, and the collector is paused.
#![allow(unsafe_code)]

use std::collections::HashMap;

use livebuf::{Array, Checked, Error, ErrorKind, Kind, Object, Value};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyType};

use crate::error::{Fault, Held};

/// Text that is expected to be UTF-8, which is checked here.
#[inline]
pub(crate) fn text<'py>(py: Python<'py>, text: &[u8]) -> Held<Bound<'py, PyString>> {
    #[cfg(not(feature = "abi3"))]
    if text.is_ascii() {
        // SAFETY: a new string for ASCII of this length, which is filled at once.
        unsafe {
            let object = ffi::PyUnicode_New(text.len() as ffi::Py_ssize_t, 127);
            let string = Bound::from_owned_ptr_or_err(py, object)?;
            if !text.is_empty() {
                let data = ffi::PyUnicode_1BYTE_DATA(object);
                std::ptr::copy_nonoverlapping(text.as_ptr(), data, text.len());
            }
            return Ok(string.cast_into_unchecked());
        }
    }
    // SAFETY: bytes and their length.
    unsafe {
        let length = text.len() as ffi::Py_ssize_t;
        let object = ffi::PyUnicode_DecodeUTF8(text.as_ptr().cast(), length, std::ptr::null());
        if object.is_null() {
            drop(PyErr::fetch(py));
            return Err(Error::new(ErrorKind::BadText, 0).into());
        }
        Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
    }
}

/// A number that its text holds: an `int`, or a `Decimal` where it is none.
fn number<'py>(py: Python<'py>, text: &str) -> Held<Bound<'py, PyAny>> {
    if text != "-0" && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        let digits = std::ffi::CString::new(text).map_err(|_| bad_number())?;
        // SAFETY: a C string; the end is not asked for.
        let object = unsafe { ffi::PyLong_FromString(digits.as_ptr(), std::ptr::null_mut(), 10) };
        if object.is_null() {
            // Longer than `sys.set_int_max_str_digits` allows.
            drop(PyErr::fetch(py));
            return decimal(py, text);
        }
        // SAFETY: a new reference.
        return Ok(unsafe { Bound::from_owned_ptr(py, object) });
    }
    decimal(py, text)
}

fn bad_number() -> Error {
    Error::new(ErrorKind::BadNumber, 0)
}

/// `decimal.Decimal`, which is written in C.
pub(crate) fn decimal_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")
}

fn decimal<'py>(py: Python<'py>, text: &str) -> Held<Bound<'py, PyAny>> {
    match decimal_class(py)?.call1((text,)) {
        Ok(decimal) => Ok(decimal),
        Err(_) => Err(Fault::Limit(format!(
            "decimal.Decimal cannot hold the number {text:.40}; to_json prints it as it is"
        ))),
    }
}

/// A value that is neither object nor array.
#[inline]
pub(crate) fn scalar<'py>(py: Python<'py>, value: &Value<'_, Checked>) -> Held<Bound<'py, PyAny>> {
    Ok(match value.kind() {
        Kind::String => text(py, value.as_text_bytes()?.unwrap_or_default())?.into_any(),
        Kind::Int => PyInt::new(py, value.as_i64().unwrap_or(0)).into_any(),
        Kind::Float => PyFloat::new(py, value.as_f64().unwrap_or(0.0)).into_any(),
        Kind::Bool => PyBool::new(py, value.as_bool() == Some(true)).to_owned().into_any(),
        Kind::Null => py.None().into_bound(py),
        Kind::Uint => PyInt::new(py, value.as_u64().unwrap_or(0)).into_any(),
        Kind::Bytes => PyBytes::new(py, value.as_bytes()?.unwrap_or_default()).into_any(),
        Kind::Number => number(py, value.as_number_text()?.unwrap_or_default())?,
        _ => return Err(Error::new(ErrorKind::UnsupportedFeature, 0).into()),
    })
}

/// Values that a document of so many bytes may become, unless told otherwise. In damaged
/// documents values can alias, so that a few bytes become objects without end; columns of
/// nulls take no bytes at all.
pub(crate) fn default_budget(bytes: usize) -> u64 {
    (1 << 20) + 64 * bytes as u64
}

/// Keys as Python strings, made once for a shape.
type Keys<'py> = HashMap<u32, Vec<Option<Bound<'py, PyString>>>>;

struct Decoder<'py> {
    py: Python<'py>,
    keys: Keys<'py>,
    budget: u64,
    limit: u64,
}

/// A value as plain Python objects, at most `limit` of them.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &Value<'_, Checked>,
    limit: u64,
) -> Held<Bound<'py, PyAny>> {
    to_python_within(py, value, &mut { limit })
}

/// The same for one of many values, which share what is left.
pub(crate) fn to_python_within<'py>(
    py: Python<'py>,
    value: &Value<'_, Checked>,
    left: &mut u64,
) -> Held<Bound<'py, PyAny>> {
    let mut decoder = Decoder { py, keys: HashMap::new(), budget: *left, limit: *left };
    let made = decoder.value(value, 0)?;
    *left = decoder.budget;
    Ok(made)
}

impl<'py> Decoder<'py> {
    fn spend(&mut self, values: usize) -> Held<()> {
        match self.budget.checked_sub(values as u64) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(Error::with_detail(ErrorKind::BudgetExceeded, 0, self.limit).into()),
        }
    }

    #[inline]
    fn value(&mut self, value: &Value<'_, Checked>, depth: u32) -> Held<Bound<'py, PyAny>> {
        match value.kind() {
            Kind::Object => match value.as_object()? {
                Some(object) => self.object(&object, depth),
                None => Err(Error::new(ErrorKind::WrongType, 0).into()),
            },
            Kind::Array => match value.as_array()? {
                Some(array) => self.array(&array, depth),
                None => Err(Error::new(ErrorKind::WrongType, 0).into()),
            },
            _ => scalar(self.py, value),
        }
    }

    fn deeper(&self, depth: u32) -> Held<u32> {
        let most = u32::from(livebuf::layout::MAX_NESTING);
        match depth < most {
            true => Ok(depth + 1),
            false => Err(Error::with_detail(ErrorKind::NestingLimit, 0, u64::from(most)).into()),
        }
    }

    fn array(&mut self, array: &Array<'_, Checked>, depth: u32) -> Held<Bound<'py, PyAny>> {
        let depth = self.deeper(depth)?;
        let count = array.len();
        self.spend(count)?;
        let list = List::new(self.py, count)?;
        if let Some(items) = array.as_slice::<i64>() {
            return list.fill(items.iter().map(|&item| Ok(PyInt::new(self.py, item).into_any())));
        }
        if let Some(items) = array.as_slice::<f64>() {
            return list.fill(items.iter().map(|&item| Ok(PyFloat::new(self.py, item).into_any())));
        }
        list.fill(array.iter().map(|item| self.value(&item?, depth)))
    }

    fn object(&mut self, object: &Object<'_, Checked>, depth: u32) -> Held<Bound<'py, PyAny>> {
        let depth = self.deeper(depth)?;
        self.spend(object.len())?;
        let dict = PyDict::new(self.py);
        if let Some(slots) = object.slots() {
            let shape = slots.shape();
            for item in slots.clone() {
                let (slot, value) = item?;
                let key = self.key(shape, slot, || Ok(slots.key(slot)?))?;
                let value = self.value(&value, depth)?;
                put(&dict, &key, &value)?;
            }
        } else if let Some(slots) = object.row_slots() {
            let shape = slots.shape();
            for item in slots.clone() {
                let (slot, value) = item?;
                let key = self.key(shape, slot, || Ok(slots.key(slot)?))?;
                let value = self.value(&value, depth)?;
                put(&dict, &key, &value)?;
            }
        } else {
            for member in object.iter() {
                let (key, value) = member?;
                let key = text(self.py, key.as_bytes())?;
                let value = self.value(&value, depth)?;
                put(&dict, &key, &value)?;
            }
        }
        Ok(dict.into_any())
    }

    /// The key of a shape's slot.
    #[inline]
    fn key<'k>(
        &mut self,
        shape: u32,
        slot: usize,
        find: impl FnOnce() -> Held<Option<&'k str>>,
    ) -> Held<Bound<'py, PyString>> {
        let keys = self.keys.entry(shape).or_default();
        if let Some(Some(key)) = keys.get(slot) {
            return Ok(key.clone());
        }
        let key = find()?.ok_or_else(|| Error::new(ErrorKind::BadCount, u64::from(shape)))?;
        let key = text(self.py, key.as_bytes())?;
        if keys.len() <= slot {
            keys.resize(slot + 1, None);
        }
        keys[slot] = Some(key.clone());
        Ok(key)
    }
}

#[inline]
fn put(dict: &Bound<'_, PyDict>, key: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> Held<()> {
    // SAFETY: live objects; the dict takes references of its own.
    match unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) } {
        0 => Ok(()),
        _ => Err(Fault::Python(PyErr::fetch(dict.py()))),
    }
}

/// A list of a known length, filled from the front.
struct List<'py>(Bound<'py, PyList>, usize);

impl<'py> List<'py> {
    fn new(py: Python<'py>, count: usize) -> Held<List<'py>> {
        // SAFETY: a new list, whose places are null until they are filled; it is given out
        // when all are, and dropping it before is allowed.
        let list = unsafe {
            Bound::from_owned_ptr_or_err(py, ffi::PyList_New(count as ffi::Py_ssize_t))?
                .cast_into_unchecked()
        };
        Ok(List(list, count))
    }

    fn fill(self, items: impl Iterator<Item = Held<Bound<'py, PyAny>>>) -> Held<Bound<'py, PyAny>> {
        let List(list, count) = self;
        let mut next = 0;
        for item in items.take(count) {
            let item = item?;
            // SAFETY: an index below the length; the reference goes to the list.
            unsafe {
                #[cfg(not(feature = "abi3"))]
                ffi::PyList_SET_ITEM(list.as_ptr(), next as ffi::Py_ssize_t, item.into_ptr());
                #[cfg(feature = "abi3")]
                ffi::PyList_SetItem(list.as_ptr(), next as ffi::Py_ssize_t, item.into_ptr());
            }
            next += 1;
        }
        match next == count {
            true => Ok(list.into_any()),
            false => Err(Error::new(ErrorKind::BadCount, 0).into()),
        }
    }
}
