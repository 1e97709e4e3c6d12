//! `livebuf.Document`: its methods, and documents in files.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use livebuf::mapped::{self, FileStorage, MappedFile, MappedStorage};
use livebuf::{Doc, DocBuf, Editor, Kind, Storage};
use pyo3::basic::CompareOp;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple, PyType};
use tempfile::TempPath;

use crate::compare;
use crate::decode;
use crate::edit::Start;
use crate::encode::{self, lookup};
use crate::error::{self, Fault};
use crate::export;
use crate::memory::{Access, Export, Memory};
use crate::patch;
use crate::pointer::{fallback, look, remove_at, set_at};
use crate::query::{self, Matches};
use crate::recording::{History, Recording};
use crate::transaction::Transaction;
use crate::typed::decoder::typed;
use crate::view::{
    Above, Array, Document, Found, Index, Object, Source, State, child, found, new_layout, root,
};

impl Document {
    /// Writes the edits to the document's file.
    fn commit(&self, py: Python<'_>, state: &State) -> PyResult<()> {
        let memory = state.editor()?.storage();
        let lent = self.exports().load(Ordering::Acquire) > 0;
        let written = self.detach(py, || match (memory.to_commit(), memory.shared_with_others()) {
            (Some(file), _) if lent => file.commit().map(drop),
            (Some(file), _) => file.commit_returned().map(drop),
            (_, Some(file)) => file.flush(),
            _ => Ok(()),
        });
        written.map_err(|failure| os_error(py, failure, None))
    }
}

impl Document {
    fn to_bytes<'py>(&self, py: Python<'py>, state: &State) -> PyResult<Bound<'py, PyBytes>> {
        let (editor, bytes) = (state.whole()?, state.all_bytes()?);
        if self.exports().load(Ordering::Acquire) > 0 || editor.transactions() > 0 {
            // Somebody may write through an export, and rolling back changes bytes.
            return error::bytes(py, bytes);
        }
        editor.storage().to_bytes(py, bytes.len())
    }

    /// The bytes, where they hold no space that edits left: looking takes one pass over them,
    /// after an edit or where they come from elsewhere.
    pub(crate) fn tidy_bytes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let mut state = self.lock(py)?;
        let memory = state.whole()?.storage();
        if memory.is_fetched() {
            return Ok(None);
        }
        if state.tidy != Some(state.edits) || !memory.is_bytes() {
            match self.detached(py, &mut state, |editor| editor.doc().stats()) {
                Ok(stats) if stats.free + stats.garbage == 0 => state.tidy = Some(state.edits),
                // What can be read of a damaged document is encoded anew.
                _ => return Ok(None),
            }
        }
        self.to_bytes(py, &state).map(Some)
    }
}

/// The root as it is read: null, as a new document has it, as an empty object, or as an empty array
/// where an index is asked for.
fn readable<'py>(
    slf: &Bound<'py, Document>,
    key: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, found) = (slf.py(), root(slf)?);
    if !found.is_none() {
        return Ok(found);
    }
    let empty = match key.is_some_and(|key| !key.is_instance_of::<PyString>()) {
        true => PyList::empty(py).into_any(),
        false => PyDict::new(py).into_any(),
    };
    let empty = encode::document(&empty, None, Default::default())?;
    Ok(root(&Bound::new(py, Document::encoded(py, empty)?)?)?)
}

/// The root, which must be an object or array.
fn container<'py>(
    slf: &Bound<'py, Document>,
    key: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let root = readable(slf, key)?;
    match root.is_instance_of::<Object>() || root.is_instance_of::<Array>() {
        true => Ok(root),
        false => Err(other_root(&root, "no object or array").into()),
    }
}

/// The root, which must be an object.
fn members<'py>(slf: &Bound<'py, Document>) -> PyResult<Bound<'py, PyAny>> {
    let root = readable(slf, None)?;
    match root.is_instance_of::<Object>() {
        true => Ok(root),
        false => Err(other_root(&root, "no object").into()),
    }
}

/// The root, which must be an array.
fn elements<'py>(slf: &Bound<'py, Document>) -> PyResult<Bound<'py, PyAny>> {
    let root = readable(slf, Some(PyInt::new(slf.py(), 0).as_any()))?;
    match root.is_instance_of::<Array>() {
        true => Ok(root),
        false => Err(other_root(&root, "no array").into()),
    }
}

/// Calls a method of the root that adds to it. Null becomes what is added: the method is called of
/// an empty dict or list, which is then set.
fn add<'py>(
    slf: &Bound<'py, Document>,
    empty: Bound<'py, PyAny>,
    method: &str,
    args: impl PyCallArgs<'py>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<()> {
    if root(slf)?.is_none() {
        empty.call_method(method, args, named)?;
        return set_at(Start::Root(slf), "", &empty);
    }
    let root = match empty.is_instance_of::<PyDict>() {
        true => members(slf)?,
        false => elements(slf)?,
    };
    root.call_method(method, args, named).map(drop)
}

#[cold]
fn other_root(root: &Bound<'_, PyAny>, what: &str) -> Fault {
    match root.get_type().name() {
        Ok(class) => {
            Fault::WrongType(format!("the document's root is {what}, but of type {class}"))
        }
        Err(failure) => failure.into(),
    }
}

#[pymethods]
impl Document {
    #[new]
    #[pyo3(signature = (buffer, *, trusted=false))]
    fn new(buffer: &Bound<'_, PyAny>, trusted: bool) -> PyResult<Document> {
        let memory = Memory::of(buffer).map_err(|failure| {
            match buffer.is_instance_of::<PyString>()
                || buffer.hasattr("__fspath__").is_ok_and(|there| there)
            {
                true => PyTypeError::new_err(
                    "a document's bytes are wanted; livebuf.open(path) opens the one in a file",
                ),
                false => failure,
            }
        })?;
        Document::open(memory, trusted)
    }

    /// A new document from Python objects: as `dumps`, but to be edited.
    #[classmethod]
    #[pyo3(signature = (obj, *, default=None, tables=true, min_width=1, layout=None))]
    fn from_python(
        class: &Bound<'_, PyType>,
        obj: &Bound<'_, PyAny>,
        default: Option<Py<PyAny>>,
        tables: bool,
        min_width: u8,
        layout: Option<&str>,
    ) -> PyResult<Document> {
        let options = encode::options(tables, min_width, layout)?;
        Document::encoded(class.py(), encode::document(obj, default, options)?)
    }

    /// The value of the whole document: an `Object` or `Array` view, or a scalar.
    /// Can be assigned.
    #[getter]
    fn root<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok(root(slf)?)
    }

    #[setter]
    fn set_root<'py>(slf: &Bound<'py, Self>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        set_at(Start::Root(slf), "", value)
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // What lies directly below the root is found without making a view of the root. Keys that
        // may run Python code are left to that view: it asks them before it locks.
        let (py, document) = (slf.py(), slf.get());
        let index = || match key.is_exact_instance_of::<PyInt>() {
            true => key.extract::<usize>().ok(),
            false => None,
        };
        let state = document.lock(py)?;
        let (mut missing, mut container) = (false, None);
        if let Ok(editor) = state.whole() {
            let value = editor.doc().root();
            if let Ok(text) = key.cast_exact::<PyString>()
                && value.kind() == Kind::Object
                && let Some(name) = lookup(text)?
                && let Some(node) = editor.root_id()
            {
                match found(py, editor, value.get(name).map_err(Fault::Core)?, node)? {
                    Found::Scalar(value) => return Ok(value),
                    Found::Container(below) => {
                        container = Some((below, Above::Object(None, text.clone().unbind())));
                    }
                    Found::Nothing => missing = true,
                }
            } else if value.kind() == Kind::Array
                && let Some(index) = index()
                && let Some(node) = editor.root_id()
            {
                match found(py, editor, value.get(index).map_err(Fault::Core)?, node)? {
                    Found::Scalar(value) => return Ok(value),
                    Found::Container(below) => container = Some((below, Above::Array(None, index))),
                    Found::Nothing => {}
                }
            }
        }
        if let Some((below, above)) = container {
            return Ok(child(py, slf, below, above)?);
        }
        drop(state);
        if missing {
            return Err(error::missing_key(py, &key.to_string()));
        }
        readable(slf, Some(key))?.get_item(key)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let root = root(slf)?;
        if root.is_none() && key.is_instance_of::<PyString>() {
            let empty = PyDict::new(slf.py()).into_any();
            return add(slf, empty, "__setitem__", (key, value), None);
        }
        root.set_item(key, value)
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        readable(slf, Some(key))?.del_item(key)
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        readable(slf, None)?.len()
    }

    /// Whether the root is true, as Python sees it.
    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        root(slf)?.is_truthy()
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok(readable(slf, None)?.try_iter()?.into_any())
    }

    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("builtins")?.getattr("reversed")?.call1((readable(slf, None)?,))
    }

    fn __contains__(slf: &Bound<'_, Self>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        readable(slf, Some(item))?.contains(item)
    }

    /// The value under a key or index of the root, or `default`.
    #[pyo3(signature = (key, default=None, /))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let root = match key.is_instance_of::<PyString>() {
            true => members(slf),
            false => container(slf, Some(key)),
        };
        root?.call_method1("get", (key, default))
    }

    /// The keys of the root. With `doc[key]` this makes `dict(doc)` and `{**doc}` work.
    ///
    /// `keys`, `values` and `items` raise `WrongTypeError` where the root is no object.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        members(slf)?.call_method0("keys")
    }

    /// The values of the root, which must be an object.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        members(slf)?.call_method0("values")
    }

    /// The keys and values of the root, which must be an object.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        members(slf)?.call_method0("items")
    }

    /// Removes a key or index of the root, the last index by default, and returns its value: as
    /// `pop` of the root.
    ///
    /// A document has the methods of a dict or of a list, as its root is one. Those of the other
    /// kind raise `WrongTypeError`. A new document is null, which is read as if it were empty: its
    /// first key makes it an object, its first element an array.
    #[pyo3(signature = (*args))]
    fn pop<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        container(slf, args.get_item(0).ok().as_ref())?.call_method1("pop", args)
    }

    /// Removes the last member of the root and returns its key and value.
    fn popitem<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        members(slf)?.call_method0("popitem")
    }

    /// The value under a key of the root. If the key is missing it is set to `default` first.
    #[pyo3(signature = (key, default=None, /))]
    fn setdefault<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if root(slf)?.is_none() {
            Self::__setitem__(slf, key, &default.into_pyobject(slf.py())?)?;
            return Self::__getitem__(slf, key);
        }
        members(slf)?.call_method1("setdefault", (key, default))
    }

    /// Sets many keys of the root: from a mapping, from pairs, or by name.
    #[pyo3(signature = (other=None, /, **named))]
    fn update(
        slf: &Bound<'_, Self>,
        other: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let args = PyTuple::new(slf.py(), other)?;
        add(slf, PyDict::new(slf.py()).into_any(), "update", args, named)
    }

    /// Sets the keys of a mapping.
    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::update(slf, Some(other), None)
    }

    /// A plain dict of both.
    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        members(slf)?.bitor(other)
    }

    fn __ror__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        other.bitor(members(slf)?)
    }

    /// Removes all members or elements of the root.
    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        container(slf, None)?.call_method0("clear").map(drop)
    }

    /// Adds an element at the end of the root.
    fn append(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        add(slf, PyList::empty(slf.py()).into_any(), "append", (value,), None)
    }

    /// Adds all elements of an iterable at the end of the root.
    fn extend(slf: &Bound<'_, Self>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        add(slf, PyList::empty(slf.py()).into_any(), "extend", (items,), None)
    }

    /// Adds all elements of an iterable.
    fn __iadd__(slf: &Bound<'_, Self>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::extend(slf, items)
    }

    /// A plain list of both.
    fn __add__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        elements(slf)?.add(other)
    }

    fn __radd__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        other.add(elements(slf)?)
    }

    /// Inserts an element of the root before an index.
    fn insert(slf: &Bound<'_, Self>, index: isize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        add(slf, PyList::empty(slf.py()).into_any(), "insert", (index, value), None)
    }

    /// Removes the first element of the root that equals a value.
    fn remove(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        elements(slf)?.call_method1("remove", (value,)).map(drop)
    }

    /// Reverses the order of the root's elements.
    fn reverse(slf: &Bound<'_, Self>) -> PyResult<()> {
        elements(slf)?.call_method0("reverse").map(drop)
    }

    /// Sorts the root's elements in place, as `Array.sort`.
    #[pyo3(signature = (*, key=None, reverse=false))]
    fn sort(slf: &Bound<'_, Self>, key: Option<&Bound<'_, PyAny>>, reverse: bool) -> PyResult<()> {
        let how = PyDict::new(slf.py());
        how.set_item("key", key)?;
        how.set_item("reverse", reverse)?;
        elements(slf)?.call_method("sort", (), Some(&how)).map(drop)
    }

    /// The first index of a value in the root.
    #[pyo3(
        signature = (value, start=Index(0), stop=Index(isize::MAX), /),
        text_signature = "($self, value, start=0, stop=..., /)"
    )]
    fn index(
        slf: &Bound<'_, Self>,
        value: &Bound<'_, PyAny>,
        start: Index,
        stop: Index,
    ) -> PyResult<usize> {
        elements(slf)?.call_method1("index", (value, start.0, stop.0))?.extract()
    }

    /// How often a value occurs in the root.
    fn count(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        elements(slf)?.call_method1("count", (value,))?.extract()
    }

    /// The value at a JSON pointer (RFC 6901); `""` is the root. Raises `MissingKeyError` where
    /// there is no value, unless you give a default.
    ///
    /// >>> doc = livebuf.from_json('{"users": [{"name": "Ada"}]}')
    /// >>> doc.pointer("/users/0/name")
    /// 'Ada'
    /// >>> doc.pointer("/users/1/name", None)
    #[pyo3(signature = (pointer, *default))]
    fn pointer<'py>(
        slf: &Bound<'py, Self>,
        pointer: &Bound<'py, PyString>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, text) = (slf.py(), pointer.to_str()?);
        let fallback = fallback(default)?;
        let found = {
            let state = slf.get().lock(py)?;
            look(py, &state.whole()?.doc().root(), text, &fallback)?
        };
        found.or_follow(|| Ok(root(slf)?), text, fallback)
    }

    /// Sets the value at a JSON pointer. Its parent must be there; `-` as the last token is
    /// the place after an array's last element.
    fn set_pointer<'py>(
        slf: &Bound<'py, Self>,
        pointer: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        set_at(Start::Root(slf), pointer, value)
    }

    /// Keys that IPython completes.
    fn _ipython_key_completions_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let root = root(slf)?;
        match root.is_instance_of::<Object>() {
            true => root.call_method0("_ipython_key_completions_"),
            false => Ok(PyList::empty(slf.py()).into_any()),
        }
    }

    /// Writes the document to a path, a URL or a file object, as `livebuf.dump(doc, file)`.
    fn save(slf: &Bound<'_, Self>, file: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.py().import("livebuf")?.call_method1("dump", (slf, file)).map(drop)
    }

    /// Removes the value at a JSON pointer. Raises `MissingKeyError` where there is no value, and
    /// `WrongTypeError` for the root: a document always has one.
    fn remove_pointer(slf: &Bound<'_, Self>, pointer: &str) -> PyResult<()> {
        remove_at(slf.py(), Start::Root(slf), pointer)
    }

    /// Looks again at memory that others write too: another `Document` on it, or another
    /// process. Call it after they edited, while nobody edits. Views then show what their path
    /// leads to. The document is not trusted afterwards.
    ///
    /// Raises `DamagedError` where the memory holds no document. This one is then as before.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        let storage = state.editor()?.storage();
        if storage.is_bytes() {
            return Ok(());
        }
        state.outside_transactions()?;
        if storage.is_recorded() {
            let why = "a recording or history is open, which cannot see what others wrote";
            return Err(Fault::Recorded(why).into());
        }
        if self.exports().load(Ordering::Acquire) > 0 {
            return Err(Fault::Exported.into());
        }
        let document = Doc::open(storage.bytes()).map_err(error::raise)?;
        let flags = document.as_bytes()[livebuf::layout::HEADER_READ_ONLY_FLAGS as usize];
        if flags != 0 && storage.is_writable() {
            return Err(error::unknown_feature());
        }
        if let Some(editor) = state.editor.take() {
            state.editor =
                Some(Editor::open_unvalidated(editor.into_storage()).map_err(error::raise)?);
        }
        state.edits += 1;
        state.layout = new_layout();
        Ok(())
    }

    /// Groups edits: `with doc.transaction(): ...` makes all of them or none.
    fn transaction(slf: Bound<'_, Self>) -> Transaction {
        Transaction::new(slf.unbind())
    }

    /// Records which bytes change: `with doc.recording() as changes: ...`, then `changes.ranges`.
    ///
    /// With `delta=True` the changes become a `Delta`, and the document gets the state that it
    /// leads to. It needs a state before: `set_state()`. With `old=True` the delta has the bytes
    /// as they were, too, and can be inverted. With `digest=True` it has the SHA-256 of the
    /// document afterwards.
    #[pyo3(signature = (*, old=false, delta=false, digest=false))]
    fn recording(
        slf: Bound<'_, Self>,
        old: bool,
        delta: bool,
        digest: bool,
    ) -> PyResult<Recording> {
        if (old || digest) && !delta {
            return Err(PyValueError::new_err("old and digest are for delta=True"));
        }
        Ok(Recording::new(slf.unbind(), old, delta, digest))
    }

    /// Steps to undo and redo, from now on. They take at most `max_bytes`.
    #[pyo3(signature = (*, max_bytes=16777216))]
    fn history(slf: &Bound<'_, Self>, max_bytes: usize) -> PyResult<History> {
        History::new(slf, max_bytes)
    }

    /// A name for all bytes of the document, which deltas begin at: 16 bytes. `None` where there
    /// is none, or where an edit ended it.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let state = self.lock(py)?.whole()?.state();
        Ok(state.map(|state| PyBytes::new(py, &state.to_bytes())))
    }

    /// Gives the document a state: a random one, or these 16 bytes. Deltas lead on from it. The
    /// next edit ends it, unless a delta is recorded.
    #[pyo3(signature = (state=None))]
    fn set_state(&self, py: Python<'_>, state: Option<&[u8]>) -> PyResult<()> {
        let name = match state {
            None => livebuf::State::random(),
            Some(bytes) => match bytes.try_into() {
                Ok(bytes) => livebuf::State::from_bytes(bytes),
                Err(_) => return Err(PyValueError::new_err("a state has 16 bytes")),
            },
        };
        let mut state = self.lock(py)?;
        state.outside_led()?;
        self.begin_edit(py, &mut state)?;
        state.editor_mut()?.set_state(name).map_err(error::raise)
    }

    /// Applies a JSON patch (RFC 6902), whole or not at all: a `Patch`, a list of dicts, JSON
    /// text, a document or a view. Views follow what is still there.
    ///
    /// Raises `PatchError` with the operation that failed.
    fn patch<'py>(slf: &Bound<'py, Self>, patch: &Bound<'py, PyAny>) -> PyResult<()> {
        patch::apply(Start::Root(slf), patch)
    }

    /// Merges a merge patch (RFC 7396), whole or not at all: a dict, a document or a view. `None`
    /// removes a member. Views follow what is still there.
    fn merge<'py>(slf: &Bound<'py, Self>, patch: &Bound<'py, PyAny>) -> PyResult<()> {
        patch::merge(Start::Root(slf), patch)
    }

    /// The matches of a JSONPath query (RFC 9535): a `Query`, or its text. Each has `value`, `path`
    /// and `pointer`; they are found as you ask for them. `query(...).to_python()` is a list of
    /// plain values.
    ///
    /// Values go into a query by parameters: `$` and a name where the query compares or selects.
    ///
    /// >>> doc = livebuf.from_json('{"laps": [{"sec": 88.4}, {"sec": 87.2}]}')
    /// >>> doc.query("$.laps[*].sec").to_python()
    /// [88.4, 87.2]
    /// >>> doc.query("$.laps[?@.sec < $best].sec", best=88).first().value
    /// 87.2
    #[pyo3(signature = (query, /, **parameters))]
    fn query(
        slf: &Bound<'_, Self>,
        query: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Matches> {
        query::find(query::Base::Root(slf.clone().unbind()), slf.py(), query, parameters)
    }

    /// Sets all matches of a query to a value, all or none. Returns how many were set. A match
    /// within another one is gone with it, and does not count.
    #[pyo3(signature = (query, value, /, **parameters))]
    fn set_all<'py>(
        slf: &Bound<'py, Self>,
        query: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<usize> {
        query::set_all(Start::Root(slf), query, value, parameters)
    }

    /// Removes all matches of a query, all or none. Returns how many were removed.
    #[pyo3(signature = (query, /, **parameters))]
    fn remove_all(
        slf: &Bound<'_, Self>,
        query: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<usize> {
        query::remove_all(slf.py(), Start::Root(slf), query, parameters)
    }

    /// Sets all matches of a query to what a function makes of them, all or none. Returns how many
    /// were set. A match for which the function returns its argument stays as it is.
    ///
    /// The function is called with each match first, and then all are set in one transaction.
    /// After an exception nothing is changed. Raises `StaleError` where the document was edited
    /// meanwhile. A match within another one comes before it; the function then gets values of a
    /// copy.
    ///
    /// >>> doc = livebuf.from_json('{"prices": [10, 20]}')
    /// >>> doc.update_all("$.prices[*]", lambda price: price * 2)
    /// 2
    #[pyo3(signature = (query, function, /, **parameters))]
    fn update_all(
        slf: &Bound<'_, Self>,
        query: &Bound<'_, PyAny>,
        function: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<usize> {
        query::update_all(query::Base::Root(slf.clone().unbind()), query, function, parameters)
    }

    /// Checks every byte of the document. From then on space that edits free is reused,
    /// and columns can be changed.
    ///
    /// Linear in the bytes. Raises `DamagedError` with the first problem and its offset.
    fn validate(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        Ok(self.detached(py, &mut state, |editor| editor.validate())?)
    }

    /// Lays the document out anew: the bytes that `dumps` would give. Views stay good.
    #[pyo3(signature = (*, tables=true, min_width=1, layout=None))]
    fn compact(
        &self,
        py: Python<'_>,
        tables: bool,
        min_width: u8,
        layout: Option<&str>,
    ) -> PyResult<()> {
        let options = encode::options(tables, min_width, layout)?;
        let mut state = self.lock(py)?;
        self.begin_edit(py, &mut state)?;
        state.layout = new_layout();
        self.detached(py, &mut state, |editor| editor.compact_with(options))?;
        state.tidy = Some(state.edits);
        Ok(())
    }

    /// Where the bytes are: a dict of counts. Validates the document.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = {
            let mut state = self.lock(py)?;
            self.detached(py, &mut state, |editor| editor.doc().stats())?
        };
        let dict = PyDict::new(py);
        for (name, count) in [
            ("used", stats.used),
            ("live", stats.live()),
            ("free", stats.free),
            ("garbage", stats.garbage),
            ("overhead", stats.overhead),
            ("shapes", stats.shapes),
            ("records", stats.records),
            ("maps", stats.maps),
            ("index", stats.index),
            ("arrays", stats.arrays),
            ("tables", stats.tables),
            ("text", stats.text),
            ("values", stats.values),
            ("objects", stats.objects),
            ("array_count", stats.array_count),
            ("table_count", stats.table_count),
            ("columns", stats.columns),
            ("depth", stats.depth),
        ] {
            dict.set_item(name, count)?;
        }
        Ok(dict)
    }

    /// SHA-256 of the value, whatever its layout: equal documents have equal digests.
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let digest = {
            let mut state = self.lock(py)?;
            self.detached(py, &mut state, |editor| {
                let bytes = editor.as_bytes().len();
                editor.doc().root().digest(&mut decode::default_budget(bytes))
            })?
        };
        Ok(PyBytes::new(py, &digest))
    }

    /// A copy in memory of its own, which can be edited.
    fn copy(&self, py: Python<'_>) -> PyResult<Document> {
        let state = self.lock(py)?;
        let editor = state.whole()?;
        // The copy of a trusted document is trusted.
        match editor.is_trusted() {
            true => {
                let memory = Memory::own(py, editor.as_bytes().len())?;
                Ok(Document::around(editor.copy_to(memory).map_err(Fault::Core)?))
            }
            false => Document::open(Memory::copy(py, state.all_bytes()?)?, false),
        }
    }

    /// A copy in memory of its own, which can be edited. Use it where the document is
    /// read-only.
    fn editable(&self, py: Python<'_>) -> PyResult<Document> {
        self.copy(py)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Document> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Document> {
        self.copy(py)
    }

    /// From protocol 5 on the bytes are a `PickleBuffer`, which may go out of band.
    fn __reduce_ex__<'py>(
        slf: &Bound<'py, Self>,
        protocol: u32,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let py = slf.py();
        let restore = py.import("livebuf._livebuf")?.getattr("_restore")?;
        let bytes = slf.get().__bytes__(py)?.into_any();
        match protocol {
            ..5 => Ok((restore, (bytes,))),
            _ => Ok((restore, (py.import("pickle")?.call_method1("PickleBuffer", (bytes,))?,))),
        }
    }

    /// What notebooks show.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._show")?.call_method1("html", (slf.getattr("root")?,))
    }

    /// What notebooks with a view for JSON show; `None` for what is large.
    fn _repr_json_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._show")?.call_method1("plain", (slf,))
    }

    /// The path or URL that was opened, as it was given. For a file object its name, if it has
    /// one. `None` for a document that was not opened by `livebuf.open`.
    #[getter]
    fn name(&self) -> Option<&OsStr> {
        self.source.as_ref()?.name.as_deref()
    }

    /// The mode that was given to `livebuf.open`. `None` for other documents.
    #[getter]
    fn mode(&self) -> Option<&str> {
        self.source.as_ref().map(|source| source.mode.as_str())
    }

    /// Bytes that the document takes.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.whole()?.as_bytes().len())
    }

    /// Whether edits are refused.
    #[getter]
    fn readonly(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.editor()?.storage().access() == Access::Never)
    }

    /// Whether this library wrote or validated the document, or you said `trusted=True`. Space
    /// that edits free is then reused, and exports do not validate.
    #[getter]
    fn trusted(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.editor()?.is_trusted())
    }

    /// Whether the document was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(matches!(self.lock(py)?.editor(), Err(Fault::Closed)))
    }

    /// The document's bytes, ready to send or store.
    ///
    /// Takes constant time if the document lies in memory of its own. The next edit then moves
    /// it to other memory.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.to_bytes(py, &*self.lock(py)?)
    }

    /// Plain Python objects: dicts, lists and scalars; with `type` an object of that type, as by
    /// `Decoder`.
    #[pyo3(signature = (*, r#type=None, max_values=None))]
    fn to_python<'py>(
        slf: &Bound<'py, Self>,
        r#type: Option<&Bound<'py, PyAny>>,
        max_values: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(target) = r#type {
            return typed(slf.as_any(), target, max_values);
        }
        let state = slf.get().lock(slf.py())?;
        let document = state.whole()?.doc();
        Ok(decode::to_python(slf.py(), &document.root(), max_values)?)
    }

    /// For fields of pydantic models.
    #[classmethod]
    fn __get_pydantic_core_schema__<'py>(
        class: &Bound<'py, PyType>,
        _source: &Bound<'py, PyAny>,
        _handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("livebuf._pydantic")?.call_method1("core_schema", (class,))
    }

    /// For the JSON schema of pydantic models.
    #[classmethod]
    fn __get_pydantic_json_schema__<'py>(
        class: &Bound<'py, PyType>,
        _schema: &Bound<'py, PyAny>,
        _handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("livebuf._pydantic")?.call_method1("json_schema", (class,))
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let other = match other.cast::<Document>() {
            Ok(document) => root(document)?,
            Err(_) => other.clone(),
        };
        compare::answer(&root(slf)?, &other, operator)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        if slf.get().closed(slf.py())? {
            return Ok("<livebuf.Document, closed>".into());
        }
        let bytes = slf.get().nbytes(slf.py())?;
        Ok(format!("<livebuf.Document of {bytes} bytes: {}>", root(slf)?.repr()?))
    }

    /// Writes all edits since the last `flush` to a file opened with `"r+"`, `"w+"` or `"x"`,
    /// whole or not at all, and waits until they are on the disk. Views, arrays and buffers
    /// stay good. To a URL it writes the whole document, if it changed. Does nothing for other
    /// documents.
    ///
    /// Raises `OSError`. The file is then as before, and the edits are still in the document. If the
    /// file was removed or renamed, or another one has its name now, that is `FileNotFoundError`:
    /// `dump` the document under another name then.
    fn flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, document) = (slf.py(), slf.get());
        document.lock(py)?.outside_transactions()?;
        if let Some(target) = document.target(py) {
            // Without the lock: it runs Python code.
            return target.call_method1("commit", (slf,)).map(drop);
        }
        let state = document.lock(py)?;
        document.commit(py, &state)
    }

    /// Releases the memory. Edits of a file or URL opened for editing are written first, as by
    /// `flush()`. With `commit=False` they are rolled back. From then on views raise
    /// `ClosedError`. Closing again does nothing.
    ///
    /// A file that was opened to be read, by `"r"` or `"c"`, stays mapped and locked for
    /// memoryviews, numpy arrays and Arrow exports, until the last of them is gone. Other documents
    /// raise `ExportedError` while one lives. Raises `OSError` where the edits cannot be written: the document then stays open.
    #[pyo3(signature = (*, commit=true))]
    fn close(slf: &Bound<'_, Self>, commit: bool) -> PyResult<()> {
        let (py, document) = (slf.py(), slf.get());
        if !document.closed(py)? {
            document.lock(py)?.outside_transactions()?;
        }
        if let Some(target) = document.target(py)
            && !document.closed(py)?
        {
            target.call_method1("finish", (slf, commit))?;
        }
        let mut state = document.lock(py)?;
        let Some(editor) = &state.editor else { return Ok(()) };
        // First of all: whether edits are committed must not depend on whether the memory can
        // be released.
        match editor.storage().to_commit() {
            Some(file) if !commit => file.roll_back(),
            Some(file) if file.is_rolled_back() => {}
            Some(_) => document.commit(py, &state)?,
            // Memory that others share is in the file already, if that has its name.
            None if commit => document.commit(py, &state)?,
            None => {}
        }
        // What is only read may stay in memory as long as somebody looks at it.
        let is_read = matches!(slf.get().mode(), Some("r" | "c"));
        let is_exported = document.exports().load(Ordering::Acquire) > 0;
        if is_exported && !is_read {
            return Err(Fault::Exported.into());
        }
        let Some(editor) = state.editor.take() else { return Ok(()) };
        drop(state);
        if is_exported {
            document.keep_for_exports(editor.into_storage());
            return Ok(());
        }
        let used = editor.as_bytes().len() as u64;
        let memory = editor.into_storage();
        py.detach(|| memory.into_shared().map_or(Ok(()), |file| file.finish(used)))
            .map_err(|failure| os_error(py, failure, None))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Closes the document. After an exception the edits are rolled back.
    #[pyo3(signature = (*exception))]
    fn __exit__(slf: &Bound<'_, Self>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let failed = exception.get_item(0).is_ok_and(|class| !class.is_none());
        let closed = Self::close(slf, !failed);
        if closed.as_ref().is_err_and(|error| error.is_instance_of::<PyOSError>(slf.py())) {
            // The edits could not be written, and nobody will try again: roll them back.
            Self::close(slf, false)?;
        }
        closed
    }

    /// The buffer protocol: C passes a structure to fill.
    #[allow(unsafe_code)]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: std::os::raw::c_int,
    ) -> PyResult<()> {
        export::document(&slf, view, flags)
    }

    #[allow(unsafe_code)]
    unsafe fn __releasebuffer__(&self, view: *mut pyo3::ffi::Py_buffer) {
        export::release(self, view);
    }
}

/// A document in memory of its own. Unpickling calls this.
#[pyfunction]
pub(crate) fn _restore(bytes: &Bound<'_, PyAny>) -> PyResult<Document> {
    let export = Export::new(bytes)?;
    Document::open(Memory::copy(bytes.py(), export.as_bytes())?, false)
}

/// A view of all of such a document. Unpickling calls this.
#[pyfunction]
pub(crate) fn _restore_view<'py>(bytes: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(root(&Bound::new(bytes.py(), _restore(bytes)?)?)?)
}

/// Opens the document in a file at a path; `livebuf.open` says how.
#[pyfunction]
pub(crate) fn _open(
    py: Python<'_>,
    path: PathBuf,
    mode: &str,
    shared: bool,
    trusted: bool,
) -> PyResult<Document> {
    let named = |failure: io::Error| {
        let is_log = || {
            let mut first = livebuf_log::MAGIC;
            let read = std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut first));
            read.is_ok() && first == livebuf_log::MAGIC
        };
        match failure.get_ref().and_then(|inner| inner.downcast_ref::<livebuf::Error>()) {
            Some(inner) if inner.kind() == livebuf::ErrorKind::NotADocument && is_log() => {
                error::a_log()
            }
            _ => os_error(py, failure, Some(&path)),
        }
    };
    let session = |file: io::Result<FileStorage>| file.map(Memory::session).map_err(named);
    let memory = match mode {
        "r+" if shared => {
            Memory::shared_file(py.detach(|| MappedStorage::open(&path)).map_err(named)?)
        }
        _ if shared => return Err(PyValueError::new_err("shared=True is for mode \"r+\"")),
        "r" | "c" => {
            let file = py.detach(|| MappedFile::open(&path)).map_err(named)?;
            Memory::file(file, if mode == "r" { Access::Never } else { Access::CopyOnWrite })
        }
        "r+" => session(py.detach(|| FileStorage::open(&path)))?,
        "w+" | "x" | "x+" => {
            let empty = DocBuf::new().map_err(error::raise)?;
            let create = || match mode {
                "w+" => mapped::write(&path, empty.as_bytes()),
                _ => write_new(&path, empty.as_bytes()),
            };
            session(py.detach(|| create().and_then(|()| FileStorage::open(&path))))?
        }
        _ => return Err(PyValueError::new_err(format!("unknown mode {mode:?}"))),
    };
    let mut document = Document::open(memory, trusted)?;
    let name = Some(path.into_os_string());
    document.source = Some(Source { name, mode: mode.to_owned(), target: None });
    Ok(document)
}

/// Writes a document to a file that must not exist: whole or not at all, since another process may
/// open it as soon as it has its name.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists"));
    }
    let (mut file, temporary) = mapped::new_beside(path, None)?;
    let temporary = TempPath::try_from_path(temporary)?;
    file.write_all(bytes).and_then(|()| file.sync_all())?;
    temporary.persist_noclobber(path)?;
    mapped::sync_directory_of(path)
}

/// Opens the document in bytes that were read from a file object or a URL. Edits change a copy;
/// a target writes them back.
#[pyfunction]
#[pyo3(signature = (bytes, name, mode, trusted, target=None))]
pub(crate) fn _open_bytes(
    bytes: &Bound<'_, PyBytes>,
    name: Option<OsString>,
    mode: String,
    trusted: bool,
    target: Option<Py<PyAny>>,
) -> PyResult<Document> {
    let access = if mode == "r" { Access::Never } else { Access::CopyOnWrite };
    let mut document = Document::open(Memory::bytes(bytes, access), trusted)?;
    document.source = Some(Source { name, mode, target });
    Ok(document)
}

/// Ends a document, as `close` does, and gives its memory to another one: whoever keeps the first, or
/// views of it, does not reach the second. `None` where an export or a recording looks at the memory.
/// It is for documents in memory of their own.
#[pyfunction]
pub(crate) fn _passed_on(document: &Bound<'_, Document>) -> PyResult<Option<Document>> {
    let (py, document) = (document.py(), document.get());
    let mut state = document.lock(py)?;
    if state.editor.is_some() {
        state.outside_transactions()?;
    }
    let Some(editor) = state.editor.take() else { return Ok(None) };
    let may_pass = !state.lent && !editor.storage().is_recorded();
    drop(state);
    let is_trusted = editor.is_trusted();
    let memory = editor.into_storage();
    match document.exports().load(Ordering::Acquire) {
        0 if may_pass => Document::open(memory, is_trusted).map(Some),
        _ => {
            document.keep_for_exports(memory);
            Ok(None)
        }
    }
}

/// Writes a document's bytes to a file, whole or not at all.
#[pyfunction]
pub(crate) fn _write(py: Python<'_>, path: PathBuf, bytes: &Bound<'_, PyBytes>) -> PyResult<()> {
    let bytes = bytes.as_bytes();
    let written = py.detach(|| mapped::write(&path, bytes));
    written.map_err(|failure| os_error(py, failure, Some(&path)))
}

/// An `OSError` for a system's error, with its number and the file's name.
fn os_error(py: Python<'_>, failure: io::Error, path: Option<&Path>) -> PyErr {
    if let Some(inner) = failure.get_ref().and_then(|inner| inner.downcast_ref()) {
        return error::core(py, inner);
    }
    let number = error::number(py, &failure);
    // Python puts the number before the text itself.
    let mut message = failure.to_string();
    if let Some(start) = message.find(" (os error ")
        && let Some(length) = message[start..].find(')')
    {
        message.replace_range(start..=start + length, "");
    }
    match (number, path) {
        (Ok(number), Some(path)) => {
            PyOSError::new_err((number, message, path.as_os_str().to_owned()))
        }
        (Ok(number), None) => PyOSError::new_err((number, message)),
        (Err(_), _) => PyErr::from(failure),
    }
}
