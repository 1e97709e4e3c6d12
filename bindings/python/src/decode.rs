//! Values of documents as Python objects.
//!
//! Python checks text while it copies it, so it is read unchecked. Nothing here runs Python
//! code, since documents are locked meanwhile. For that the garbage collector is paused.
#![allow(unsafe_code)]

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard};

use hashbrown::HashMap;
use livebuf::raw::Allowance;
use livebuf::{Array, ArrayIter, Checked, Error, ErrorKind, Fields, Kind, Object, Value};
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString};

use crate::error::{self, Fault, Held};
use crate::extended::{self, decimal_class};

/// As `text.is_ascii()`, which looks at up to 31 last bytes one by one.
#[cfg(not(feature = "abi3"))]
#[inline]
fn is_ascii(text: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().fold(0, |all, byte| all | byte) < 0x80;
    };
    let (words, _) = text.as_chunks::<8>();
    let all =
        words.iter().fold(u64::from_ne_bytes(*last), |all, word| all | u64::from_ne_bytes(*word));
    all & HIGH == 0
}

/// Text that should be UTF-8. Python checks it.
#[inline]
pub(crate) fn text<'py>(py: Python<'py>, text: &[u8]) -> Held<Bound<'py, PyString>> {
    #[cfg(not(feature = "abi3"))]
    if is_ascii(text) {
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
    // SAFETY: a pointer to bytes and their length.
    unsafe {
        let length = text.len() as ffi::Py_ssize_t;
        let object = ffi::PyUnicode_DecodeUTF8(text.as_ptr().cast(), length, std::ptr::null());
        if object.is_null() {
            let failure = PyErr::fetch(py);
            return Err(match failure.is_instance_of::<PyMemoryError>(py) {
                true => failure.into(),
                false => Error::new(ErrorKind::BadText, 0).into(),
            });
        }
        Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
    }
}

/// A number that is stored as text: an `int`, or a `Decimal` where it is no integer.
fn number<'py>(py: Python<'py>, text: &str) -> Held<Bound<'py, PyAny>> {
    if text != "-0" && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        let digits = std::ffi::CString::new(text).map_err(|_| bad_number())?;
        // SAFETY: a C string; the pointer for the end may be null.
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

fn decimal<'py>(py: Python<'py>, text: &str) -> Held<Bound<'py, PyAny>> {
    let _pause = CollectorPause::new();
    match decimal_class(py)?.call1((text,)) {
        Ok(decimal) => Ok(decimal),
        Err(_) => Err(Fault::Limit(format!(
            "decimal.Decimal cannot hold the number {text:.40}; to_json prints it as it is"
        ))),
    }
}

// PyO3's own constructors panic if memory runs out.

#[inline]
fn int(py: Python<'_>, value: i64) -> Held<Bound<'_, PyAny>> {
    // SAFETY: a new reference, or null with an exception.
    Ok(unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(value)) }?)
}

#[inline]
fn float(py: Python<'_>, value: f64) -> Held<Bound<'_, PyAny>> {
    // SAFETY: as above.
    Ok(unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyFloat_FromDouble(value)) }?)
}

#[inline]
pub(crate) fn new_dict(py: Python<'_>) -> Held<Bound<'_, PyDict>> {
    // SAFETY: as above, and it is a dict.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, ffi::PyDict_New())?.cast_into_unchecked()) }
}

/// A value that is neither object nor array.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn scalar<'py>(py: Python<'py>, value: &Value<'_, Checked>) -> Held<Bound<'py, PyAny>> {
    Ok(match value.kind() {
        Kind::String => text(py, value.as_text_bytes()?.unwrap_or_default())?.into_any(),
        Kind::Int => int(py, value.as_i64().unwrap_or(0))?,
        Kind::Float => float(py, value.as_f64().unwrap_or(0.0))?,
        Kind::Bool => PyBool::new(py, value.as_bool() == Some(true)).to_owned().into_any(),
        Kind::Null => py.None().into_bound(py),
        Kind::Uint => PyInt::new(py, value.as_u64().unwrap_or(0)).into_any(),
        Kind::Bytes => error::bytes(py, value.as_bytes()?.unwrap_or_default())?.into_any(),
        Kind::NumberText => number(py, value.as_number_text()?.unwrap_or_default())?,
        _ => return other(py, value),
    })
}

/// A date, time, decimal or UUID.
#[inline(never)]
fn other<'py>(py: Python<'py>, value: &Value<'_, Checked>) -> Held<Bound<'py, PyAny>> {
    let value = value.as_extended()?.ok_or(Error::new(ErrorKind::UnsupportedFeature, 0))?;
    let _pause = CollectorPause::new();
    Ok(extended::to_python(py, &value)?)
}

/// How many values a document of this size may become by default: as many as a valid one can have
/// (FORMAT 6.1). In damaged documents values can alias, so that a few bytes stand for objects
/// without end.
pub(crate) fn default_budget(bytes: usize) -> u64 {
    Allowance::VALUES * bytes as u64
}

/// What a value, or several of its document, may become: by default what a valid document has.
pub(crate) fn allowance(value: &Value<'_, Checked>, max_values: Option<u64>) -> Allowance {
    let length = value.document_length();
    Allowance::of_length(length as u64, max_values.unwrap_or(default_budget(length)))
}

/// Pauses the cyclic garbage collector while objects are made. A finaliser could want the lock
/// that is held, and new objects are no garbage yet. From Python 3.12 on the collector does not
/// run in the middle of a call anyway.
pub(crate) struct CollectorPause(bool);

impl CollectorPause {
    #[inline]
    pub(crate) fn new() -> CollectorPause {
        // SAFETY: this thread is attached.
        CollectorPause(unsafe { ffi::PyGC_Disable() } != 0)
    }
}

impl Drop for CollectorPause {
    #[inline]
    fn drop(&mut self) {
        if self.0 {
            // SAFETY: this thread is attached, as it was when the collector was paused.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

/// Keys of a shape as Python strings.
struct Keys<'py> {
    keys: Vec<Bound<'py, PyString>>,
    /// A dict with all of them, to be copied: that is faster than filling an empty one. It is made for
    /// the second object.
    all: OnceCell<Bound<'py, PyDict>>,
}

/// Strings of keys that were met lately, each at a place that follows from its bytes. Messages have the
/// same keys again and again, and Python keeps the hash of a string in it.
struct KnownKeys([Option<Py<PyString>>; 1024]);

/// One thread at a time decodes with them. Others make new strings meanwhile.
static KNOWN_KEYS: Mutex<KnownKeys> = Mutex::new(KnownKeys([const { None }; 1024]));

/// Longer keys are not kept.
const MOST_KNOWN: usize = 64;

impl KnownKeys {
    fn get<'py>(&mut self, py: Python<'py>, key: &[u8]) -> Held<Bound<'py, PyString>> {
        if key.len() > MOST_KNOWN {
            return text(py, key);
        }
        let (words, rest) = key.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
        let mix = |hash: u64, word: u64| {
            (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        let place = (words.fold(key.len() as u64, mix) >> 54) as usize;
        let known = &mut self.0[place];
        if let Some(known) = known
            && known.bind(py).to_str().is_ok_and(|known| known.as_bytes() == key)
        {
            return Ok(known.bind(py).clone());
        }
        let made = text(py, key)?;
        *known = Some(made.clone().unbind());
        Ok(made)
    }
}

/// With this many keys or more, a dict would be resized while it is filled.
const MANY_KEYS: usize = 6;

/// Levels that are read by recursion. Deeper levels wait on the heap, so that no document
/// overflows a small stack. Without recursion, twitter.json and citm_catalog.json take 1.76
/// times as long, since keys and dicts are then not made once for each shape.
const RECURSION: u32 = 64;

struct Decoder<'py> {
    py: Python<'py>,
    keys: HashMap<u32, Rc<Keys<'py>>>,
    /// `None` while another thread has them.
    known: Option<MutexGuard<'static, KnownKeys>>,
    /// Values of objects that are not complete yet.
    values: Vec<Bound<'py, PyAny>>,
    allowance: Allowance,
}

/// A value as plain Python objects, made of at most `max_values` values.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &Value<'_, Checked>,
    max_values: Option<u64>,
) -> Held<Bound<'py, PyAny>> {
    to_python_within(py, value, &mut allowance(value, max_values))
}

/// The same for one of many values that share an allowance.
pub(crate) fn to_python_within<'py>(
    py: Python<'py>,
    value: &Value<'_, Checked>,
    left: &mut Allowance,
) -> Held<Bound<'py, PyAny>> {
    let _pause = CollectorPause::new();
    let (keys, values) = (HashMap::new(), Vec::new());
    let known = KNOWN_KEYS.try_lock().ok();
    let mut decoder = Decoder { py, keys, known, values, allowance: *left };
    let made = decoder.value(value, 0)?;
    *left = decoder.allowance;
    Ok(made)
}

impl<'py> Decoder<'py> {
    #[inline]
    fn value(&mut self, value: &Value<'_, Checked>, depth: u32) -> Held<Bound<'py, PyAny>> {
        match value.kind() {
            Kind::Object | Kind::Array if depth >= RECURSION => self.deep(value, depth),
            Kind::Object => match value.as_object()? {
                Some(object) => self.object(&object, depth),
                None => Err(Error::new(ErrorKind::WrongType, 0).into()),
            },
            Kind::Array => match value.as_array()? {
                Some(array) => self.array(&array, depth),
                None => Err(Error::new(ErrorKind::WrongType, 0).into()),
            },
            _ => self.scalar(value),
        }
    }

    #[inline]
    fn scalar(&mut self, value: &Value<'_, Checked>) -> Held<Bound<'py, PyAny>> {
        match value.kind() {
            Kind::String => {
                let bytes = value.as_text_bytes()?.unwrap_or_default();
                self.allowance.text(bytes.len())?;
                Ok(text(self.py, bytes)?.into_any())
            }
            Kind::Bytes => {
                let bytes = value.as_bytes()?.unwrap_or_default();
                self.allowance.text(bytes.len())?;
                Ok(error::bytes(self.py, bytes)?.into_any())
            }
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
        self.allowance.values(count)?;
        let list = List::new(self.py, count)?;
        if let Some(items) = array.as_slice::<i64>() {
            return list.fill(items.iter().map(|&item| int(self.py, item)));
        }
        if array.column_type() == livebuf::ColumnType::F64
            && let Some(items) = array.as_slice::<f64>()
        {
            return list.fill(items.iter().map(|&item| float(self.py, item)));
        }
        list.fill(array.iter().map(|item| self.value(&item?, depth)))
    }

    fn object(&mut self, object: &Object<'_, Checked>, depth: u32) -> Held<Bound<'py, PyAny>> {
        let depth = self.deeper(depth)?;
        if let Some(slots) = object.slots() {
            let keys = self.keys(slots.shape(), slots.end(), |slot| slots.key(slot))?;
            return self.fields(&keys, slots.end(), slots, depth);
        }
        if let Some(slots) = object.row_slots() {
            let keys = self.keys(slots.shape(), slots.end(), |slot| slots.key(slot))?;
            return self.fields(&keys, slots.end(), slots, depth);
        }
        self.allowance.values(object.len())?;
        let dict = new_dict(self.py)?;
        for member in object.iter() {
            let (key, value) = member?;
            self.allowance.key(key.len())?;
            let key = self.key(key.as_bytes())?;
            let value = self.value(&value, depth)?;
            put(&dict, &key, &value)?;
        }
        Ok(dict.into_any())
    }

    /// A container without recursion.
    #[cold]
    fn deep(&mut self, value: &Value<'_, Checked>, depth: u32) -> Held<Bound<'py, PyAny>> {
        let mut levels = vec![self.level(value, depth)?];
        while let Some(level) = levels.last_mut() {
            let made = match level.next(self.py)? {
                Some(value) if matches!(value.kind(), Kind::Array | Kind::Object) => {
                    let inner = self.level(&value, depth + levels.len() as u32)?;
                    levels.push(inner);
                    continue;
                }
                Some(value) => {
                    level.put(&self.scalar(&value)?)?;
                    continue;
                }
                None => levels.pop().map(Level::made),
            };
            match (levels.last_mut(), made) {
                (Some(around), Some(made)) => around.put(&made)?,
                (None, Some(made)) => return Ok(made),
                (_, None) => break,
            }
        }
        Err(Error::new(ErrorKind::WrongType, 0).into())
    }

    /// A container that is to be filled.
    fn level<'a>(&mut self, value: &Value<'a, Checked>, depth: u32) -> Held<Level<'a, 'py>> {
        self.deeper(depth)?;
        if let Some(array) = value.as_array()? {
            self.allowance.values(array.len())?;
            return Ok(Level::List(PyList::empty(self.py), array.iter()));
        }
        let object = value.as_object()?.ok_or(Error::new(ErrorKind::WrongType, 0))?;
        self.allowance.values(object.len())?;
        Ok(Level::Dict(new_dict(self.py)?, object.iter(), None))
    }

    /// An object whose fields lie in slots. Slots may be without a value.
    #[inline]
    fn fields<'a>(
        &mut self,
        keys: &Keys<'py>,
        end: usize,
        slots: impl Iterator<Item = livebuf::Result<(usize, Value<'a, Checked>)>>,
        depth: u32,
    ) -> Held<Bound<'py, PyAny>> {
        let first = self.values.len();
        let all = keys.all.get().filter(|_| keys.keys.len() == end);
        // Values are collected first, as long as no slot is without one.
        let mut dict = all.is_none().then(|| new_dict(self.py)).transpose()?;
        for item in slots {
            let (slot, value) = item?;
            self.allowance.values(1)?;
            let value = self.value(&value, depth)?;
            if dict.is_none() && slot != self.values.len() - first {
                dict = Some(self.gathered(new_dict(self.py)?, keys, first)?);
            }
            match &dict {
                Some(dict) => put(dict, keys.at(slot)?, &value)?,
                None => self.values.push(value),
            }
        }
        Ok(match (dict, all) {
            (Some(dict), _) => dict,
            (None, Some(all)) if self.values.len() - first == end => {
                self.gathered(all.copy()?, keys, first)?
            }
            (None, _) => self.gathered(new_dict(self.py)?, keys, first)?,
        }
        .into_any())
    }

    /// Puts the collected values into a dict, under the first keys.
    fn gathered(
        &mut self,
        dict: Bound<'py, PyDict>,
        keys: &Keys<'py>,
        first: usize,
    ) -> Held<Bound<'py, PyDict>> {
        for (slot, value) in self.values.drain(first..).enumerate() {
            put(&dict, keys.at(slot)?, &value)?;
        }
        Ok(dict)
    }

    /// The keys of a shape up to `end`.
    #[inline]
    fn keys<'k>(
        &mut self,
        shape: u32,
        end: usize,
        key: impl Fn(usize) -> livebuf::Result<Option<&'k str>>,
    ) -> Held<Rc<Keys<'py>>> {
        match self.keys.get(&shape) {
            Some(found) if found.keys.len() >= end => {
                if end >= MANY_KEYS && found.all.get().is_none() {
                    let dict = new_dict(self.py)?;
                    for key in &found.keys {
                        dict.set_item(key, self.py.None())?;
                    }
                    let _ = found.all.set(dict);
                }
                Ok(Rc::clone(found))
            }
            _ => self.new_keys(shape, end, key),
        }
    }

    fn key(&mut self, key: &[u8]) -> Held<Bound<'py, PyString>> {
        match &mut self.known {
            Some(known) => known.get(self.py, key),
            None => text(self.py, key),
        }
    }

    #[cold]
    fn new_keys<'k>(
        &mut self,
        shape: u32,
        end: usize,
        key: impl Fn(usize) -> livebuf::Result<Option<&'k str>>,
    ) -> Held<Rc<Keys<'py>>> {
        let mut keys = Vec::with_capacity(end);
        for slot in 0..end {
            let key = key(slot)?.ok_or(Error::new(ErrorKind::BadCount, u64::from(shape)))?;
            keys.push(self.key(key.as_bytes())?);
        }
        let keys = Rc::new(Keys { keys, all: OnceCell::new() });
        self.keys.insert(shape, Rc::clone(&keys));
        Ok(keys)
    }
}

/// A list or dict that is being filled, and what is still to be put into it.
enum Level<'a, 'py> {
    List(Bound<'py, PyList>, ArrayIter<'a, Checked>),
    /// With the key of the value that comes next.
    Dict(Bound<'py, PyDict>, Fields<'a, Checked>, Option<Bound<'py, PyString>>),
}

impl<'a, 'py> Level<'a, 'py> {
    fn next(&mut self, py: Python<'py>) -> Held<Option<Value<'a, Checked>>> {
        match self {
            Level::List(_, elements) => Ok(elements.next().transpose()?),
            Level::Dict(_, members, next) => {
                let Some((key, value)) = members.next().transpose()? else { return Ok(None) };
                *next = Some(text(py, key.as_bytes())?);
                Ok(Some(value))
            }
        }
    }

    fn put(&mut self, value: &Bound<'py, PyAny>) -> Held<()> {
        match self {
            Level::List(list, _) => Ok(list.append(value)?),
            Level::Dict(dict, _, key) => match key.take() {
                Some(key) => put(dict, &key, value),
                None => Err(Error::new(ErrorKind::WrongType, 0).into()),
            },
        }
    }

    fn made(self) -> Bound<'py, PyAny> {
        match self {
            Level::List(list, _) => list.into_any(),
            Level::Dict(dict, ..) => dict.into_any(),
        }
    }
}

impl<'py> Keys<'py> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(&self, slot: usize) -> Held<&Bound<'py, PyString>> {
        self.keys.get(slot).ok_or(Fault::Core(Error::new(ErrorKind::BadCount, 0)))
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
        // SAFETY: a new list, whose places are null until they are filled. It is returned when
        // all are. It may be dropped before.
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
            // SAFETY: an index below the length. The list takes over the reference.
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
