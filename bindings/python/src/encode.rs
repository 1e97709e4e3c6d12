//! Python objects as values of documents. docs/python-types.md has the table of types.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::os::raw::c_int;
use std::ptr;

use livebuf::{
    ColumnType, Editor, EncodeOptions, Encoder, ErrorKind, Extended, New, Storage, Tensor,
};
use livebuf_json::NonFinite;
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyAttributeError, PyKeyError, PyMemoryError, PyValueError};
use pyo3::ffi;
#[cfg(not(feature = "abi3"))]
use pyo3::ffi::{PyList_GET_ITEM as list_item, PyList_GET_SIZE as list_length};
#[cfg(feature = "abi3")]
use pyo3::ffi::{PyList_GetItem as list_item, PyList_Size as list_length};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDelta, PyDict, PyFloat, PyFrozenSet, PyInt, PyIterator, PyList,
    PyMemoryView, PySet, PyString, PyTuple, PyType,
};

use crate::error;
use crate::extended::{Class, Read, Refused};
use crate::fields::{Classes, Fields, Model, Part};
use crate::history::Step;
use crate::memory::{Export, Memory};
use crate::view::{Array, Document, Object, View};

/// Options of the encoder, from a caller's arguments.
pub(crate) fn options(
    tables: bool,
    min_width: u8,
    layout: Option<&str>,
) -> PyResult<EncodeOptions> {
    let for_edits = match layout {
        None => false,
        Some("edits") => true,
        Some(_) => return Err(PyValueError::new_err("layout must be \"edits\" or None")),
    };
    if !matches!(min_width, 1 | 2 | 4 | 8) {
        return Err(PyValueError::new_err("min_width must be 1, 2, 4 or 8"));
    }
    Ok(EncodeOptions { tables: tables && !for_edits, min_width, ..EncodeOptions::default() })
}

/// What becomes of infinities and NaN, by its name.
pub(crate) fn non_finite(name: &str) -> PyResult<NonFinite> {
    match name {
        "error" => Ok(NonFinite::Error),
        "null" => Ok(NonFinite::Null),
        _ => Err(PyValueError::new_err("non_finite must be \"error\" or \"null\"")),
    }
}

thread_local! {
    /// What serves one call after another: an encoder with its tables and memory to encode in, and
    /// what is known of keys and classes.
    static KEPT: Cell<Option<Box<ObjectWalk>>> = const { Cell::new(None) };
}

/// Bigger documents stay where they were encoded.
const KEPT_DOCUMENT: u64 = 1 << 20;

/// An encoder with more memory is not kept. To get that memory from the system again takes a sixth
/// of the time of a list of ten thousand objects.
const KEPT_ENCODER: usize = 4 << 20;

/// Encodes a Python object, in memory of its own.
pub(crate) fn document(
    object: &Bound<'_, PyAny>,
    default: Option<Py<PyAny>>,
    options: EncodeOptions,
) -> PyResult<Editor<Memory>> {
    encode(object, default, options, |encoder| {
        let document = encoder.finish_one()?;
        let used = document.as_bytes().len();
        if used as u64 > KEPT_DOCUMENT {
            return Ok((Ok(document), encoder.restart(Memory::nothing(), options)));
        }
        let memory = Memory::own(object.py(), used);
        let copy = memory.and_then(|memory| document.copy_to(memory).map_err(error::raise));
        let mut memory = document.into_storage();
        // For the next document, and so that nothing stays of this.
        memory.bytes_mut()[..used].fill(0);
        Ok((copy, encoder.restart(memory, options)))
    })
}

/// Encodes a Python object: the document's bytes.
pub(crate) fn bytes<'py>(
    object: &Bound<'py, PyAny>,
    default: Option<Py<PyAny>>,
    options: EncodeOptions,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = object.py();
    encode(object, default, options, |encoder| {
        if encoder.pending_bytes() <= KEPT_DOCUMENT {
            return encoder.finish_with(|bytes| error::bytes(py, bytes));
        }
        let document = encoder.finish_one()?;
        let used = document.as_bytes().len();
        let bytes = document.into_storage().into_bytes(py, used);
        Ok((bytes, encoder.restart(Memory::nothing(), options)))
    })
}

/// Encodes a Python object. `finish` makes what is wanted of the finished document, and begins the
/// next one; it returns whether the numbers of key lists stand for the same keys then.
fn encode<R>(
    object: &Bound<'_, PyAny>,
    default: Option<Py<PyAny>>,
    options: EncodeOptions,
    finish: impl FnOnce(&mut Encoder<Memory>) -> livebuf::Result<(PyResult<R>, bool)>,
) -> PyResult<R> {
    // If `default` calls this function, it finds no walk, and makes a new one.
    let mut walk = KEPT.take().unwrap_or_else(|| Box::new(ObjectWalk::new(None)));
    walk.encoder.set_options(options);
    walk.default = default;
    walk.value(object.as_borrowed()).map_err(|failure| failure.into_error(object.py()))?;
    let (made, has_lists) = finish(&mut walk.encoder)
        .map_err(|error| Box::<Failure>::from(error).into_error(object.py()))?;
    // The next call begins as this one did.
    walk.default = None;
    if walk.encoder.kept_bytes() <= KEPT_ENCODER {
        if !has_lists {
            walk.keys.clear();
        }
        walk.classes.end();
        (walk.defaults, walk.models, walk.declared) = (0, 0, None);
        KEPT.set(Some(walk));
    }
    made
}

/// Rows of an iterator, as the elements of one array.
pub(crate) struct Rows {
    pub(crate) document: Editor<Memory>,
    pub(crate) count: usize,
    /// Whether the iterator may have more.
    pub(crate) more: bool,
}

/// Encodes at most `most` rows of an iterator, of about `most_bytes`. The first has the number
/// `first` in messages.
pub(crate) fn rows(
    iterator: &mut Bound<'_, PyIterator>,
    default: Option<Py<PyAny>>,
    first: usize,
    most: usize,
    most_bytes: u64,
) -> PyResult<Rows> {
    let py = iterator.py();
    let mut walk = ObjectWalk::new(default);
    let raise = |failure: Box<Failure>| failure.into_error(py);
    walk.encoder.begin_array().map_err(|error| raise(error.into()))?;
    let (mut count, mut more) = (0, true);
    while count == 0 || count < most && walk.encoder.pending_bytes() < most_bytes {
        let Some(row) = iterator.next() else {
            more = false;
            break;
        };
        walk.value(row?.as_borrowed()).at(|| Step::Index(first + count)).map_err(raise)?;
        count += 1;
    }
    let done = walk.encoder.end_array().and_then(|()| walk.encoder.finish_one());
    let document = done.map_err(|error| raise(error.into()))?;
    Ok(Rows { document, count, more })
}

/// Why an object cannot be stored, and where in it.
struct Failure {
    cause: Cause,
    /// From the inside to the outside.
    path: Vec<Step>,
}

enum Cause {
    Core(livebuf::Error),
    Message(String),
    /// A date, time or decimal that is refused.
    Value(String),
    Python(PyErr),
}

impl From<livebuf::Error> for Box<Failure> {
    #[cold]
    fn from(error: livebuf::Error) -> Self {
        Box::new(Failure { cause: Cause::Core(error), path: Vec::new() })
    }
}

impl From<PyErr> for Box<Failure> {
    #[cold]
    fn from(error: PyErr) -> Self {
        Box::new(Failure { cause: Cause::Python(error), path: Vec::new() })
    }
}

impl From<Refused> for Box<Failure> {
    #[cold]
    fn from(refused: Refused) -> Self {
        let cause = match refused {
            Refused::Value(message) => Cause::Value(message),
            Refused::Python(error) => Cause::Python(error),
        };
        Box::new(Failure { cause, path: Vec::new() })
    }
}

#[cold]
fn fail<T>(message: String) -> Encoded<T> {
    Err(Box::new(Failure { cause: Cause::Message(message), path: Vec::new() }))
}

/// Half a surrogate pair has no UTF-8; all other text has, if there is memory for it.
#[cold]
fn no_text<T>(object: Borrowed<'_, '_, PyAny>, error: PyErr, message: &str) -> Encoded<T> {
    match error.is_instance_of::<PyMemoryError>(object.py()) {
        true => Err(error.into()),
        false => fail(message.into()),
    }
}

type Encoded<T = ()> = Result<T, Box<Failure>>;

impl Failure {
    /// The failure of the value with a key of a dict.
    #[cold]
    #[inline(never)]
    fn within(mut self: Box<Self>, key: Borrowed<'_, '_, PyAny>) -> Box<Self> {
        self.path.push(Step::Key(key.to_owned().to_string().into()));
        self
    }

    /// The failure of an element of a list.
    #[cold]
    #[inline(never)]
    fn within_list(mut self: Box<Self>, index: usize) -> Box<Self> {
        self.path.push(Step::Index(index));
        self
    }

    fn into_error(self, py: Python<'_>) -> PyErr {
        let mut place = String::new();
        // Circles make long paths.
        for step in self.path.iter().rev().take(16) {
            match step {
                Step::Key(key) => place.push_str(&format!("[{key:?}]")),
                Step::Index(index) => place.push_str(&format!("[{index}]")),
            }
        }
        if self.path.len() > 16 {
            place.push('…');
        }
        let place = if place.is_empty() { String::new() } else { format!(", at obj{place}") };
        match self.cause {
            Cause::Core(error) if error.kind() == ErrorKind::Io => error::core(py, &error),
            Cause::Core(error) => error::encode(py, format!("{error}{place}"), error.kind()),
            Cause::Message(message) => {
                error::encode(py, format!("{message}{place}"), ErrorKind::Unsupported)
            }
            Cause::Value(message) => error::bad_value(py, format!("{message}{place}")),
            Cause::Python(error) => error,
        }
    }
}

/// Adds where it happened to a failure.
trait At<T> {
    fn at(self, step: impl FnOnce() -> Step) -> Encoded<T>;
}

impl<T> At<T> for Encoded<T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(self, step: impl FnOnce() -> Step) -> Encoded<T> {
        self.map_err(
            #[cold]
            |mut failure| {
                failure.path.push(step());
                failure
            },
        )
    }
}

/// How often the result of `default` may be given to `default` again.
const DEFAULTS: u32 = 254;

struct ObjectWalk {
    encoder: Encoder<Memory>,
    default: Option<Py<PyAny>>,
    /// The open containers, to recognise circles.
    containers: Vec<*mut ffi::PyObject>,
    /// The last key of key lists by their numbers, to recognise it.
    keys: Vec<Option<Py<PyAny>>>,
    classes: Classes,
    defaults: u32,
    /// The open models of pydantic.
    models: u32,
    /// The classes that a model declares for objects in one of its fields.
    declared: Option<Py<PyTuple>>,
}

/// The text of a string: its own memory, or what it keeps for us.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn text<'a>(string: Borrowed<'a, '_, PyAny>) -> PyResult<&'a str> {
    // From 3.14 on, Python does not say of what kind a string is.
    #[cfg(not(any(feature = "abi3", Py_3_14)))]
    // SAFETY: a string; one of this kind has its ASCII characters right after its header.
    unsafe {
        let object = string.as_ptr();
        if ffi::PyUnicode_IS_COMPACT_ASCII(object) != 0 {
            let length = (*object.cast::<ffi::PyASCIIObject>()).length as usize;
            let start = object.cast::<ffi::PyASCIIObject>().add(1).cast::<u8>();
            return Ok(std::str::from_utf8_unchecked(std::slice::from_raw_parts(start, length)));
        }
    }
    any_text(string)
}

#[inline(never)]
fn any_text<'a>(string: Borrowed<'a, '_, PyAny>) -> PyResult<&'a str> {
    let mut length = 0;
    // SAFETY: the caller made sure of a string. What it gives is UTF-8 and lives as long as
    // the string does.
    unsafe {
        let start = ffi::PyUnicode_AsUTF8AndSize(string.as_ptr(), &mut length);
        if start.is_null() {
            return Err(PyErr::fetch(string.py()));
        }
        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length as usize);
        Ok(std::str::from_utf8_unchecked(bytes))
    }
}

impl ObjectWalk {
    fn new(default: Option<Py<PyAny>>) -> ObjectWalk {
        ObjectWalk {
            encoder: Encoder::in_storage(Memory::nothing(), EncodeOptions::default()),
            default,
            containers: Vec::new(),
            keys: Vec::new(),
            classes: Classes::default(),
            defaults: 0,
            models: 0,
            declared: None,
        }
    }

    #[inline]
    fn value(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        match self.plain(object) {
            Some(done) => done,
            None => self.container(object),
        }
    }

    /// A value whose storing runs no Python code; `None` for others.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn plain(&mut self, object: Borrowed<'_, '_, PyAny>) -> Option<Encoded> {
        let pointer = object.as_ptr();
        // SAFETY: a live object; exact types are told by the type's address.
        unsafe {
            let class = ffi::Py_TYPE(pointer);
            if class == &raw mut ffi::PyUnicode_Type {
                return Some(self.text(object));
            }
            if class == &raw mut ffi::PyLong_Type {
                return Some(self.integer(object));
            }
            if pointer == ffi::Py_None() {
                return Some(self.encoder.null().map_err(Into::into));
            }
            if class == &raw mut ffi::PyFloat_Type {
                let float = ffi::PyFloat_AsDouble(pointer);
                return Some(self.encoder.f64(float).map_err(Into::into));
            }
            if class == &raw mut ffi::PyBool_Type {
                let is_true = pointer == ffi::Py_True();
                return Some(self.encoder.bool(is_true).map_err(Into::into));
            }
        }
        None
    }

    fn container(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        // SAFETY: the object is borrowed, so it lives for as long as this looks at it.
        unsafe {
            if ffi::PyDict_CheckExact(object.as_ptr()) != 0 {
                return self.dict(object);
            }
            if ffi::PyList_CheckExact(object.as_ptr()) != 0 {
                return self.list(object);
            }
        }
        self.other(object)
    }

    #[inline]
    fn text(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        match text(object) {
            Ok(text) => Ok(self.encoder.str(text)?),
            Err(error) => no_text(object, error, "text with half a surrogate pair has no UTF-8"),
        }
    }

    // Forced: a list of integers takes 12 % more instructions without.
    // Not in debug builds, whose frames must stay small: lists within lists recurse.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn integer(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        let mut overflow: c_int = 0;
        // SAFETY: an `int`.
        let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &mut overflow) };
        if overflow != 0 {
            return self.big_integer(object);
        }
        Ok(self.encoder.i64(value)?)
    }

    #[cold]
    fn big_integer(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        if let Ok(value) = object.extract::<u64>() {
            return Ok(self.encoder.u64(value)?);
        }
        // Refused where it is longer than `sys.set_int_max_str_digits` allows.
        let class = object.py().get_type::<PyInt>();
        match class.call_method1(intern!(object.py(), "__repr__"), (object,)) {
            Ok(digits) => Ok(self.encoder.number_text(text(digits.as_borrowed())?)?),
            Err(error) => fail(format!("the integer is too long: {error}")),
        }
    }

    fn enter(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        let depth = self.containers.len();
        // A circle is looked for only at some depth, which few objects reach.
        if depth >= 128 && depth.is_multiple_of(64) && self.containers.contains(&object.as_ptr()) {
            return fail("the object contains itself".into());
        }
        self.containers.push(object.as_ptr());
        Ok(())
    }

    // This function and `list` recurse: what needs much stack is in functions that they call.
    #[inline(never)]
    fn dict(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        self.enter(object)?;
        self.encoder.begin_object()?;
        // SAFETY: a live dict.
        let size = unsafe { ffi::PyDict_Size(object.as_ptr()) };
        let mut position = 0;
        while let Some((key, value)) = self.plain_members(object, size, &mut position)? {
            if let Err(failure) = self.container(value.as_borrowed()) {
                return Err(failure.within(key.as_borrowed()));
            }
            unchanged(object, size)?;
        }
        self.containers.pop();
        Ok(self.encoder.end_object()?)
    }

    /// Stores a dict's members up to the next one that is no plain value. Stores that one's key
    /// and returns it, held.
    #[inline(never)]
    fn plain_members<'py>(
        &mut self,
        object: Borrowed<'_, 'py, PyAny>,
        size: ffi::Py_ssize_t,
        position: &mut ffi::Py_ssize_t,
    ) -> Encoded<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let (mut key, mut value) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live dict; what it gives is used before anything can change the dict,
        // or held: keys of models, containers and what is not a plain value may run Python code.
        unsafe {
            while ffi::PyDict_Next(object.as_ptr(), position, &mut key, &mut value) != 0 {
                let key = Borrowed::from_ptr(object.py(), key);
                let value = Borrowed::from_ptr(object.py(), value);
                let may_run = self.models > 0 && !key.is_exact_instance_of::<PyString>();
                // Until the value is stored: code may also put another one in its place.
                let _held = may_run.then(|| (key.to_owned(), value.to_owned()));
                self.key(key)?;
                if may_run {
                    unchanged(object, size)?;
                }
                match self.plain(value) {
                    Some(done) => done.at(|| Step::Key(key.to_owned().to_string().into()))?,
                    None => return Ok(Some((key.to_owned(), value.to_owned()))),
                }
            }
        }
        Ok(None)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn key(&mut self, key: Borrowed<'_, '_, PyAny>) -> Encoded {
        let (keys, mut expected) = (&self.keys, 0);
        let is_same = |list: u32| {
            expected = list as usize;
            matches!(keys.get(expected), Some(Some(known)) if known.as_ptr() == key.as_ptr())
        };
        match self.encoder.key_if(is_same) {
            true => Ok(()),
            false => self.unknown_key(key, expected),
        }
    }

    /// A key that is not an object that was met before.
    #[inline(never)]
    fn unknown_key(&mut self, key: Borrowed<'_, '_, PyAny>, expected: usize) -> Encoded {
        // SAFETY: the object is borrowed, so it lives for as long as this looks at it.
        let is_text = unsafe { ffi::PyUnicode_CheckExact(key.as_ptr()) } != 0;
        let written;
        let name = match is_text {
            true => text(key)
                .or_else(|error| no_text(key, error, "a key with half a surrogate pair"))?,
            false if self.models > 0 && !key.is_instance_of::<PyString>() => {
                written = key_of_model(&key)?;
                text(written.as_borrowed())?
            }
            false => self.odd_key(key)?,
        };
        self.encoder.key(name)?;
        // A key that came twice is likely to come again.
        if is_text && expected != 0 && self.encoder.key_list() as usize == expected {
            let length = self.keys.len().max(expected + 1);
            self.keys.resize_with(length, || None);
            self.keys[expected] = Some(key.to_owned().unbind());
        }
        Ok(())
    }

    /// The text of a key that is no exact `str`.
    #[cold]
    fn odd_key<'a>(&self, key: Borrowed<'a, '_, PyAny>) -> Encoded<&'a str> {
        if key.is_instance_of::<PyString>() {
            return Ok(text(key)?);
        }
        let class = class_name(key);
        fail(format!("keys must be str, not {class}"))
    }

    #[inline(never)]
    fn list(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        self.enter(object)?;
        // SAFETY: a live list.
        self.encoder.begin_array_of(unsafe { list_length(object.as_ptr()) } as usize)?;
        let mut index = 0;
        while let Some(element) = self.plain_elements(object, &mut index)? {
            if let Err(failure) = self.container(element.as_borrowed()) {
                return Err(failure.within_list(index as usize));
            }
            index += 1;
        }
        self.containers.pop();
        Ok(self.encoder.end_array()?)
    }

    /// Stores a list's elements up to the next one that is no plain value. Returns that, held.
    #[inline(never)]
    fn plain_elements<'py>(
        &mut self,
        object: Borrowed<'_, 'py, PyAny>,
        index: &mut ffi::Py_ssize_t,
    ) -> Encoded<Option<Bound<'py, PyAny>>> {
        // SAFETY: a live list; its length is asked again for each element.
        unsafe {
            while *index < list_length(object.as_ptr()) {
                let item = list_item(object.as_ptr(), *index);
                let item = Borrowed::from_ptr(object.py(), item);
                match self.plain(item) {
                    Some(done) => done.at(|| Step::Index(*index as usize))?,
                    None => return Ok(Some(item.to_owned())),
                }
                *index += 1;
            }
        }
        Ok(None)
    }

    fn tuple(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        self.enter(object)?;
        self.encoder.begin_array()?;
        // SAFETY: a live tuple, which cannot change.
        unsafe {
            for index in 0..ffi::PyTuple_Size(object.as_ptr()) {
                let item = ffi::PyTuple_GetItem(object.as_ptr(), index);
                let item = Borrowed::from_ptr(object.py(), item);
                self.value(item).at(|| Step::Index(index as usize))?;
            }
        }
        self.containers.pop();
        Ok(self.encoder.end_array()?)
    }

    /// Everything but the exact JSON types.
    #[inline(never)]
    fn other(&mut self, object: Borrowed<'_, '_, PyAny>) -> Encoded {
        let py = object.py();
        let object = &*object;
        // SAFETY: the object is borrowed, so it lives for as long as this looks at it.
        let class = unsafe { ffi::Py_TYPE(object.as_ptr()) };
        if let Some(fields) = self.classes.met(py, class) {
            return self.fields(object, fields.get());
        }
        // SAFETY: the object is borrowed, so it lives for as long as this looks at it.
        unsafe {
            if ffi::PyTuple_Check(object.as_ptr()) != 0 {
                return self.tuple(object.as_borrowed());
            }
        }
        if let Ok(view) = object.cast::<Object>() {
            return self.view(&view.get().view, py);
        }
        if let Ok(view) = object.cast::<Array>() {
            return self.view(&view.get().view, py);
        }
        if let Ok(document) = object.cast::<Document>() {
            let state = document.get().lock(py)?;
            let root = state.editor().map_err(PyErr::from)?.doc().root();
            return Ok(self.encoder.value(&root)?);
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(self.encoder.bytes(bytes.as_bytes())?);
        }
        if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
            let bytes = match Export::new(object) {
                Ok(export) => return Ok(self.encoder.bytes(export.as_bytes())?),
                // Not contiguous.
                Err(_) => object.call_method0(intern!(py, "tobytes"))?,
            };
            let bytes = bytes.cast_into::<PyBytes>().map_err(PyErr::from)?;
            return Ok(self.encoder.bytes(bytes.as_bytes())?);
        }
        if let Some(class) = Class::exact(object.as_borrowed())? {
            return self.extended(object, class);
        }
        if object.get_type().is_instance(enum_type(py)?)? {
            return self.below(&object.getattr(intern!(py, "value"))?);
        }
        if object.is_instance_of::<PyString>() {
            return self.text(object.as_borrowed());
        }
        if object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>() {
            return self.integer(object.as_borrowed());
        }
        if let Ok(float) = object.cast::<PyFloat>() {
            return Ok(self.encoder.f64(float.value())?);
        }
        if object.is_instance_of::<PyDict>() {
            return self.dict(object.as_borrowed());
        }
        if object.is_instance_of::<PyList>() {
            return self.list(object.as_borrowed());
        }
        if let Some(class) = Class::of(object)? {
            return self.extended(object, class);
        }
        if let Some(fields) = self.classes.find(&object.get_type())? {
            return self.fields(object, fields.get());
        }
        if self.numpy(object)? || self.pandas(object)? || self.standard(object)? {
            return Ok(());
        }
        if self.models > 0 && self.default.is_none() && self.jsonable(object)? {
            return Ok(());
        }
        self.fallback(object)
    }

    fn view(&mut self, view: &View, py: Python<'_>) -> Encoded {
        let encoder = &mut self.encoder;
        Ok(view.read(py, |value| Ok(encoder.value(value)?))?)
    }

    /// A value that stands for another one.
    fn below(&mut self, object: &Bound<'_, PyAny>) -> Encoded {
        self.enter(object.as_borrowed())?;
        self.value(object.as_borrowed())?;
        self.containers.pop();
        Ok(())
    }

    /// A date, time, decimal or UUID. Null for a `NaT` of pandas, as for that of numpy; number text
    /// for a decimal with more digits.
    #[inline(never)]
    fn extended(&mut self, object: &Bound<'_, PyAny>, class: Class) -> Encoded {
        match class.read(object)? {
            Read::Value(value) => Ok(self.encoder.extended(value)?),
            Read::Null => Ok(self.encoder.null()?),
            Read::Number(text) => Ok(self.encoder.number_text(&text)?),
            Read::Text(text) => Ok(self.encoder.str(&text)?),
        }
    }

    /// An object by its class's fields.
    #[inline(never)]
    fn fields(&mut self, object: &Bound<'_, PyAny>, fields: &Fields) -> Encoded {
        let py = object.py();
        let declared = self.declared.take();
        if let Some(classes) = &declared
            && let Some(class) = declared_class(object, classes.bind(py))?
            && let Some(fields) = self.classes.find(&class)?
        {
            self.own_fields(object, fields.get())?;
        } else {
            self.own_fields(object, fields)?;
        }
        self.declared = declared;
        Ok(())
    }

    fn own_fields(&mut self, object: &Bound<'_, PyAny>, fields: &Fields) -> Encoded {
        let py = object.py();
        if let Some(method) = &fields.method {
            self.models += 1;
            self.below(&method.bind(py).call1((object,))?)?;
            self.models -= 1;
            return Ok(());
        }
        if let Some(model) = &fields.model {
            self.models += 1;
            self.enter(object.as_borrowed())?;
            self.model(object, fields, model)?;
            self.containers.pop();
            self.models -= 1;
            return Ok(());
        }
        self.enter(object.as_borrowed())?;
        match fields.as_array {
            true => self.encoder.begin_array()?,
            false => self.encoder.begin_object()?,
        }
        if let Some((key, tag)) = &fields.tag {
            if !fields.as_array {
                self.key(key.bind(py).as_any().as_borrowed())?;
            }
            self.value(tag.bind_borrowed(py))?;
        }
        for (number, (key, name)) in fields.names.iter().enumerate() {
            let value = fields.value(object, number, name)?;
            if fields.unset.as_ref().is_some_and(|unset| value.is(unset)) && !fields.as_array {
                continue;
            }
            if !fields.as_array {
                self.key(key.bind(py).as_any().as_borrowed())?;
            }
            self.value(value.as_borrowed()).at(|| Step::Key(name.to_string().into()))?;
        }
        self.containers.pop();
        match fields.as_array {
            true => self.encoder.end_array()?,
            false => self.encoder.end_object()?,
        }
        Ok(())
    }

    /// A pydantic model or dataclass, as pydantic writes it, but with the values that documents
    /// have and JSON lacks.
    fn model(&mut self, object: &Bound<'_, PyAny>, fields: &Fields, model: &Model) -> Encoded {
        let py = object.py();
        let dumped = match &model.dump {
            Some(dump) => Some(dump.bind(py).call1((object,))?),
            None => None,
        };
        if !model.is_root {
            self.encoder.begin_object()?;
        }
        for ((key, name), part) in fields.names.iter().zip(&model.parts) {
            let (key, name) = (key.bind(py), name.bind(py));
            let value = match (part, &dumped) {
                (Part::Dumped, Some(dumped)) => dumped.get_item(key),
                _ => object.getattr(name),
            };
            let value = match value {
                Ok(value) => value,
                // Left out by `exclude_if`, or never set by `model_construct`.
                Err(error) if error.is_instance_of::<PyKeyError>(py) => continue,
                Err(error)
                    if error.is_instance_of::<PyAttributeError>(py)
                        && !object.get_type().hasattr(name)? =>
                {
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if matches!(part, Part::Extra) {
                if let Ok(extra) = value.cast::<PyDict>() {
                    for (key, value) in extra {
                        self.key(key.as_borrowed())?;
                        self.value(value.as_borrowed()).at(|| Step::Key(key.to_string().into()))?;
                    }
                }
                continue;
            }
            if let Part::Of(classes) = part {
                self.declared = Some(classes.clone_ref(py));
            }
            match model.is_root {
                true => self.value(value.as_borrowed())?,
                false => {
                    self.key(key.as_any().as_borrowed())?;
                    self.value(value.as_borrowed()).at(|| Step::Key(name.to_string().into()))?;
                }
            }
            self.declared = None;
        }
        if !model.is_root {
            self.encoder.end_object()?;
        }
        Ok(())
    }

    /// What pydantic makes of a value in a model. False where it knows nothing better.
    fn jsonable(&mut self, object: &Bound<'_, PyAny>) -> Encoded<bool> {
        let py = object.py();
        let plain = match object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>()
        {
            true => PyList::type_object(py).call1((object,))?,
            false => match pydantic_core(py)?.call1((object,)) {
                Ok(plain) => plain,
                Err(error) if error.is_instance_of::<PyValueError>(py) => return Ok(false),
                Err(error) => return Err(error.into()),
            },
        };
        self.below(&plain).map(|()| true)
    }

    /// Scalars and arrays of numpy, where it was imported. False for other objects.
    fn numpy(&mut self, object: &Bound<'_, PyAny>) -> Encoded<bool> {
        let py = object.py();
        let modules = py.import("sys")?.getattr(intern!(py, "modules"))?;
        let Ok(numpy) = modules.get_item(intern!(py, "numpy")) else { return Ok(false) };
        if object.is_instance(&numpy.getattr(intern!(py, "ndarray"))?)? {
            let kind = object.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "kind"))?;
            let kind: char = kind.extract()?;
            // Objects of a structured array's fields, and durations as text.
            if kind == 'm' || kind == 'V' {
                let name = if kind == 'm' { "durations" } else { "records" };
                let plain = py.import(intern!(py, "livebuf._types"))?.call_method1(name, (object,));
                return self.below(&plain?).map(|()| true);
            }
            // A masked array's `tolist` has None for what is masked.
            if matches!(kind, 'b' | 'i' | 'u' | 'f')
                && !object.hasattr(intern!(py, "mask"))?
                && self.tensor(object, &numpy)?
            {
                return Ok(true);
            }
            let plain = match kind {
                'M' => moments(object, &numpy)?,
                _ => object.clone(),
            };
            self.below(&plain.call_method0(intern!(py, "tolist"))?)?;
            return Ok(true);
        }
        if object.is_instance(&numpy.getattr(intern!(py, "generic"))?)? {
            let class = class_name(object.as_borrowed());
            let item = match class.as_str() {
                "timedelta64" | "void" => {
                    let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
                    return self.numpy(&array);
                }
                "datetime64" if numpy.call_method1("isnat", (object,))?.is_truthy()? => {
                    return Ok(self.encoder.null().map(|()| true)?);
                }
                "datetime64" => {
                    let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
                    moments(&array, &numpy)?.call_method0(intern!(py, "tolist"))?
                }
                _ => object.call_method0(intern!(py, "item"))?,
            };
            // If `item` returns the same type, Python has none for it.
            if item.get_type().is(object.get_type()) {
                return Ok(false);
            }
            self.below(&item)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// An array of numbers, with its type and shape. False where no tensor has these.
    fn tensor(&mut self, object: &Bound<'_, PyAny>, numpy: &Bound<'_, PyAny>) -> Encoded<bool> {
        let py = object.py();
        let dtype = object.getattr(intern!(py, "dtype"))?;
        let native = dtype.call_method1(intern!(py, "newbyteorder"), ("<",))?;
        let whole = numpy.call_method1(intern!(py, "ascontiguousarray"), (object, native))?;
        let shape: Vec<usize> = object.getattr(intern!(py, "shape"))?.extract()?;
        let name: String = dtype.getattr(intern!(py, "name"))?.extract()?;
        let column = match name.as_str() {
            "bool" => ColumnType::Bool8,
            "int8" => ColumnType::I8,
            "int16" => ColumnType::I16,
            "int32" => ColumnType::I32,
            "int64" => ColumnType::I64,
            "uint8" => ColumnType::U8,
            "uint16" => ColumnType::U16,
            "uint32" => ColumnType::U32,
            "uint64" => ColumnType::U64,
            "float16" => ColumnType::F16,
            "float32" => ColumnType::F32,
            "float64" => ColumnType::F64,
            _ => return Ok(false),
        };
        let export = Export::new(&whole)?;
        match Tensor::from_bytes(column, &shape, export.as_bytes()) {
            Ok(tensor) => self.encoder.tensor(&tensor).map(|()| true).map_err(Into::into),
            // It has no dimension or too many, or a length of 0 in another one than the first.
            Err(_) => Ok(false),
        }
    }

    /// Arrays of pandas, with null where they have no value, and its `NA`. False for other objects.
    fn pandas(&mut self, object: &Bound<'_, PyAny>) -> Encoded<bool> {
        let py = object.py();
        let modules = py.import("sys")?.getattr(intern!(py, "modules"))?;
        let Ok(pandas) = modules.get_item(intern!(py, "pandas")) else { return Ok(false) };
        // Being imported, it may have neither.
        let Ok(na) = pandas.getattr(intern!(py, "NA")) else { return Ok(false) };
        if object.is(&na) {
            return Ok(self.encoder.null().map(|()| true)?);
        }
        let Ok(extensions) = pandas.getattr("api").and_then(|api| api.getattr("extensions")) else {
            return Ok(false);
        };
        if !object.is_instance(&extensions.getattr("ExtensionArray")?)? {
            return Ok(false);
        }
        let how = PyDict::new(py);
        how.set_item("dtype", "O")?;
        how.set_item("na_value", py.None())?;
        let plain = object.call_method("to_numpy", (), Some(&how))?;
        self.below(&plain.call_method0(intern!(py, "tolist"))?)?;
        Ok(true)
    }

    /// What else Python's own library has: mappings, ranges, deques and paths, durations and addresses.
    /// False for others.
    fn standard(&mut self, object: &Bound<'_, PyAny>) -> Encoded<bool> {
        let py = object.py();
        if object.is_instance_of::<PyDelta>() {
            let types = py.import(intern!(py, "livebuf._types"))?;
            return self.below(&types.call_method1("duration", (object,))?).map(|()| true);
        }
        let module = object.get_type().getattr(intern!(py, "__module__"))?;
        if module.eq("ipaddress")? {
            return self.below(object.str()?.as_any()).map(|()| true);
        }
        static TYPES: [(&str, &str); 4] = [
            ("collections.abc", "Mapping"),
            ("os", "PathLike"),
            ("builtins", "range"),
            ("collections", "deque"),
        ];
        for (number, (module, name)) in TYPES.into_iter().enumerate() {
            if object.is_instance(&py.import(module)?.getattr(name)?)? {
                let builtins = py.import("builtins")?;
                let plain = match number {
                    0 => builtins.call_method1("dict", (object,))?,
                    1 => py.import("os")?.call_method1("fspath", (object,))?,
                    _ => builtins.call_method1("list", (object,))?,
                };
                return self.below(&plain).map(|()| true);
            }
        }
        Ok(false)
    }

    /// What the caller's `default` makes of an object.
    fn fallback(&mut self, object: &Bound<'_, PyAny>) -> Encoded {
        let py = object.py();
        let Some(default) = &self.default else {
            let class = class_name(object.as_borrowed());
            let has = |name| object.hasattr(name);
            let remedy = if has(intern!(py, "__arrow_c_stream__"))? {
                "livebuf.from_arrow makes a document of it, or give default= a function"
            } else if has(intern!(py, "collect_schema"))? && has(intern!(py, "collect"))? {
                "livebuf.from_arrow makes a document of what its collect() gives"
            } else {
                "give default= a function that makes it something that can"
            };
            return fail(format!("{class} cannot be stored; {remedy}"));
        };
        if self.defaults == DEFAULTS {
            return fail(format!("default gave what it cannot store {DEFAULTS} times"));
        }
        let made = default.bind(py).call1((object,))?;
        if made.is(object) {
            let class = class_name(object.as_borrowed());
            return fail(format!("{class} cannot be stored, and default gave it back"));
        }
        self.defaults += 1;
        self.below(&made)?;
        self.defaults -= 1;
        Ok(())
    }
}

/// An array of numpy's dates and times that gives Python's own as a list; their text where Python
/// has none: outside the years 1 to 9999, and where there are nanoseconds.
fn moments<'py>(
    object: &Bound<'py, PyAny>,
    numpy: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let masked = numpy.getattr("ma")?;
    let (object, mask) = (
        &masked.call_method1("getdata", (object,))?,
        masked.call_method1("getmaskarray", (object,))?,
    );
    let dtype = object.getattr("dtype")?;
    let unit: String = numpy.call_method1("datetime_data", (&dtype,))?.get_item(0)?.extract()?;
    let (to, last) = match unit.as_str() {
        "Y" | "M" | "W" | "D" => ("M8[D]", "9999-12-31"),
        _ => ("M8[us]", "9999-12-31T23:59:59.999999"),
    };
    let moment = |text: &str| numpy.getattr("datetime64")?.call1((text,));
    let (first, last) = (moment("0001-01-01")?, moment(last)?);
    let between = |moments: &Bound<'py, PyAny>, first: &Bound<'py, PyAny>, last| {
        moments
            .rich_compare(first, CompareOp::Ge)?
            .bitand(moments.rich_compare(last, CompareOp::Le)?)
    };
    // Only what a conversion can hold is converted. Beyond that numpy wraps around, or raises, as its
    // version has it. Moments of finer units lie within the years, but the very first ones are rounded
    // to what 64 bits do not hold.
    let converts = match ["ns", "ps", "fs", "as"].iter().position(|finer| *finer == unit) {
        Some(finer) => object
            .call_method1("view", ("i8",))?
            .rich_compare(i64::MIN + 1000_i64.pow(finer as u32 + 1), CompareOp::Ge)?,
        None => {
            let bound = |moment: &Bound<'py, PyAny>| moment.call_method1("astype", (&dtype,));
            between(object, &bound(&first)?, bound(&last)?)?
        }
    };
    let unknown = numpy.call_method1("array", ("NaT", &dtype))?;
    let inside = numpy.call_method1("where", (converts, object, unknown))?;
    let moments = inside.call_method1("astype", (to,))?;
    let fits =
        between(&moments, &first, last)?.bitand(moments.rich_compare(inside, CompareOp::Eq)?)?;
    let text =
        numpy.call_method1("datetime_as_string", (object,))?.call_method1("astype", ("O",))?;
    let plain = moments.call_method1("astype", ("O",))?;
    let plain = numpy.call_method1("where", (fits, plain, text))?;
    let unknown = numpy.call_method1("isnat", (object,))?.bitor(mask)?;
    numpy.call_method1("where", (unknown, py.None(), plain))
}

/// `to_jsonable_python` of pydantic.
fn pydantic_core(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static FOUND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    FOUND.import(py, "pydantic_core", "to_jsonable_python")
}

/// Checks that Python code did not add members to a dict, or remove some.
fn unchanged(dict: Borrowed<'_, '_, PyAny>, size: ffi::Py_ssize_t) -> Encoded {
    // SAFETY: a live dict.
    match unsafe { ffi::PyDict_Size(dict.as_ptr()) } == size {
        true => Ok(()),
        false => fail("the dict was changed while it was stored".into()),
    }
}

/// The key that pydantic writes for one that is no text.
#[cold]
fn key_of_model<'py>(key: &Bound<'py, PyAny>) -> Encoded<Bound<'py, PyAny>> {
    let py = key.py();
    let of = PyDict::new(py);
    of.set_item(key, py.None())?;
    match pydantic_core(py)?.call1((of,)) {
        Ok(written) => Ok(written.try_iter()?.next().unwrap_or_else(|| Ok(key.clone()))?),
        Err(_) => fail(format!("keys must be str, not {}", class_name(key.as_borrowed()))),
    }
}

/// The first of the declared classes that an object's class derives from; `None` where it is one
/// of them, or of no such class.
fn declared_class<'py>(
    object: &Bound<'py, PyAny>,
    classes: &Bound<'py, PyTuple>,
) -> PyResult<Option<Bound<'py, PyType>>> {
    let class = object.get_type();
    if classes.iter_borrowed().any(|declared| declared.is(&class)) {
        return Ok(None);
    }
    for declared in classes {
        if object.is_instance(&declared)? {
            return Ok(Some(declared.cast_into()?));
        }
    }
    Ok(None)
}

pub(crate) fn class_name(object: Borrowed<'_, '_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string())
}

/// The class of enums.
fn enum_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static ENUM_TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    ENUM_TYPE.import(py, "enum", "EnumMeta")
}

/// A value that an edit stores, made ready before the document is locked.
pub(crate) enum Given<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Extended(Extended),
    /// Empty ones have no layout yet, and leave room.
    EmptyObject,
    EmptyArray,
    Document(Box<Editor<Memory>>),
}

impl<'a> Given<'a> {
    /// What needs no walk and no document.
    #[inline]
    pub(crate) fn plain(object: Borrowed<'a, '_, PyAny>) -> Option<Given<'a>> {
        let pointer = object.as_ptr();
        // SAFETY: the object is borrowed, so it lives for as long as this looks at it.
        unsafe {
            if ffi::PyUnicode_CheckExact(pointer) != 0
                && let Ok(text) = text(object)
            {
                return Some(Given::Text(text));
            }
            if ffi::PyLong_CheckExact(pointer) != 0 {
                let mut overflow: c_int = 0;
                let value = ffi::PyLong_AsLongLongAndOverflow(pointer, &mut overflow);
                if overflow == 0 {
                    return Some(Given::Int(value));
                }
            }
            if ffi::PyFloat_CheckExact(pointer) != 0 {
                return Some(Given::Float(ffi::PyFloat_AsDouble(pointer)));
            }
            if pointer == ffi::Py_None() {
                return Some(Given::Null);
            }
            if pointer == ffi::Py_True() || pointer == ffi::Py_False() {
                return Some(Given::Bool(pointer == ffi::Py_True()));
            }
            if ffi::PyBytes_CheckExact(pointer) != 0 {
                let start = ffi::PyBytes_AsString(pointer).cast::<u8>();
                let length = ffi::PyBytes_Size(pointer) as usize;
                return Some(Given::Bytes(std::slice::from_raw_parts(start, length)));
            }
        }
        None
    }

    #[inline]
    pub(crate) fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Given<'a>> {
        if let Some(given) = Given::plain(object.as_borrowed()) {
            return Ok(given);
        }
        let pointer = object.as_ptr();
        // SAFETY: the object is borrowed, so it lives for as long as this looks at it.
        let (is_dict, is_list) = unsafe {
            let is_dict = ffi::PyDict_CheckExact(pointer) != 0;
            if is_dict && ffi::PyDict_Size(pointer) == 0 {
                return Ok(Given::EmptyObject);
            }
            let is_list = ffi::PyList_CheckExact(pointer) != 0;
            if is_list && ffi::PyList_Size(pointer) == 0 {
                return Ok(Given::EmptyArray);
            }
            (is_dict, is_list)
        };
        if !is_dict
            && !is_list
            && let Some(class) = Class::exact(object.as_borrowed())?
        {
            match class.read(object).map_err(|refused| refused.into_error(object.py()))? {
                Read::Value(value) => return Ok(Given::Extended(value)),
                Read::Null => return Ok(Given::Null),
                Read::Number(_) | Read::Text(_) => {}
            }
        }
        let document = document(object, None, EncodeOptions::default())?;
        Ok(Given::Document(Box::new(document)))
    }

    /// The value for the core, where it borrows nothing from this.
    #[inline]
    pub(crate) fn into_value(self) -> Option<New<'a>> {
        Some(match self {
            Given::Null => New::Null,
            Given::Bool(value) => New::Bool(value),
            Given::Int(value) => New::Int(value),
            Given::Float(value) => New::Float(value),
            Given::Text(text) => New::Str(text),
            Given::Bytes(bytes) => New::Bytes(bytes),
            Given::Extended(value) => New::Extended(value),
            Given::EmptyObject | Given::EmptyArray | Given::Document(_) => return None,
        })
    }

    /// The value for the core.
    #[inline]
    pub(crate) fn value(&self) -> New<'_> {
        match self {
            Given::Null => New::Null,
            Given::Bool(value) => New::Bool(*value),
            Given::Int(value) => New::Int(*value),
            Given::Float(value) => New::Float(*value),
            Given::Text(text) => New::Str(text),
            Given::Bytes(bytes) => New::Bytes(bytes),
            Given::Extended(value) => New::Extended(*value),
            Given::EmptyObject => New::object(0),
            Given::EmptyArray => New::array(0),
            Given::Document(document) => New::Copy(document.doc().root()),
        }
    }
}

/// A key of an object, to be looked up. `None` where no object can have it: text with half a
/// surrogate pair.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn lookup<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a str>> {
    match key.is_instance_of::<PyString>() {
        true => Ok(text(key.as_borrowed()).ok()),
        false => {
            let class = class_name(key.as_borrowed());
            Err(error::wrong_type(key.py(), format!("an object's keys are str, not {class}")))
        }
    }
}

/// A key of an object, to be set.
#[inline]
pub(crate) fn key<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    lookup(key)?.ok_or_else(|| {
        let message = "a key with half a surrogate pair has no UTF-8";
        error::encode(key.py(), message.into(), ErrorKind::BadText)
    })
}
