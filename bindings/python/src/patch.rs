//! `livebuf.Patch`, merge patches and diffs.

use livebuf::{DocBuf, Editor, VecStorage};
use livebuf_patch::DiffOptions;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::decode;
use crate::edit::Start;
use crate::encode;
use crate::error::{self, Fault, Held};
use crate::memory::{Export, Memory};
use crate::view::{Array, Document, Object, Trash, View};

/// A copy of a document, a view or a plain Python object. So no lock is held while it is used.
pub(crate) fn snapshot(object: &Bound<'_, PyAny>) -> PyResult<DocBuf> {
    let py = object.py();
    let of_view = |view: &View| {
        view.reach(py, |_, state, node| {
            let editor = state.editor()?;
            let mut copy = DocBuf::new()?;
            copy.set_limits(editor.limits());
            copy.set_root(editor.value(node)?)?;
            Ok(copy)
        })
    };
    if let Ok(document) = object.cast::<Document>() {
        let state = document.get().lock(py)?;
        let copied = state.whole()?.copy_to(VecStorage::default());
        drop(state);
        return copied.map_err(error::raise);
    }
    if let Ok(object) = object.cast::<Object>() {
        return of_view(&object.get().view);
    }
    if let Ok(array) = object.cast::<Array>() {
        return of_view(&array.get().view);
    }
    let made = encode::document(object, None, Default::default())?;
    made.copy_to(VecStorage::default()).map_err(error::raise)
}

fn is_text(object: &Bound<'_, PyAny>) -> bool {
    let is_other = object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<Document>()
        || object.is_instance_of::<Object>()
        || object.is_instance_of::<Array>();
    !is_other && (object.is_instance_of::<PyString>() || Export::new(object).is_ok())
}

/// A JSON patch (RFC 6902): operations that change a document, whole or not at all.
///
/// `Patch(operations)` takes a list of dicts, JSON text in `str` or bytes, a document or a view.
///
/// >>> import livebuf
/// >>> doc = livebuf.from_json('{"driver": "Ada", "laps": [88.4]}')
/// >>> patch = livebuf.Patch([{"op": "add", "path": "/laps/-", "value": 87.9}])
/// >>> patch.apply(doc)
/// >>> doc["laps"].to_python()
/// [88.4, 87.9]
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Patch {
    patch: livebuf_patch::Patch,
}

impl Patch {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<livebuf_patch::Patch> {
        let py = object.py();
        if !is_text(object) {
            let document = snapshot(object)?;
            let made = livebuf_patch::Patch::from_doc(document);
            return Ok(made.map_err(Fault::from)?);
        }
        let export;
        let text = match object.cast::<PyString>() {
            Ok(text) => text.to_str()?.as_bytes(),
            Err(_) => {
                export = Export::new(object)?;
                export.as_bytes()
            }
        };
        livebuf_patch::Patch::from_slice(text).map_err(|failure| match failure.json_error() {
            Some(cause) => error::json(py, cause, object, text, &mut Default::default()),
            None => Fault::from(failure).into(),
        })
    }
}

/// Changes a document or a view by one edit of the whole.
fn change<'py>(
    py: Python<'py>,
    start: Start<'_, 'py>,
    mut work: impl FnMut(&mut Editor<Memory>, &str) -> livebuf_patch::Result<()>,
) -> PyResult<()> {
    // Dropping these may run Python code, so it happens after the lock.
    let mut trash = Trash::default();
    start.change(py, |document, state, pointer| {
        Document::edit_whole(document, state, &mut trash, |editor| Ok(work(editor, &pointer)?))
    })
}

/// The patch of a view as one of its document.
fn below(patch: &livebuf_patch::Patch, pointer: &str) -> livebuf_patch::Result<DocBuf> {
    let mut doc = patch.doc().copy_to(VecStorage::default())?;
    for (number, operation) in patch.operations().enumerate() {
        let place = |name| format!("/{number}/{name}");
        if let Some(from) = operation.from() {
            doc.set_pointer(&place("from"), format!("{pointer}{from}").as_str())?;
        }
        let path = format!("{pointer}{}", operation.path());
        doc.set_pointer(&place("path"), path.as_str())?;
    }
    Ok(doc)
}

/// Applies a patch: a `Patch`, or what one is made of.
pub(crate) fn apply<'py>(start: Start<'_, 'py>, patch: &Bound<'py, PyAny>) -> PyResult<()> {
    let made;
    let parsed = match patch.cast::<Patch>() {
        Ok(patch) => &patch.get().patch,
        Err(_) => {
            made = Patch::of(patch)?;
            &made
        }
    };
    change(patch.py(), start, |editor, pointer| match pointer {
        "" => parsed.apply(editor),
        _ => livebuf_patch::Patch::from_doc(below(parsed, pointer)?)?.apply(editor),
    })
}

/// Merges a merge patch into a document or a view.
pub(crate) fn merge<'py>(start: Start<'_, 'py>, patch: &Bound<'py, PyAny>) -> PyResult<()> {
    if is_text(patch) {
        return Err(error::expected(
            "a dict, document or view (JSON text by livebuf.from_json)",
            patch,
        ));
    }
    let merged = snapshot(patch)?;
    change(patch.py(), start, |editor, pointer| livebuf_patch::merge_at(editor, pointer, &merged))
}

#[pymethods]
impl Patch {
    #[new]
    fn new(operations: &Bound<'_, PyAny>) -> PyResult<Patch> {
        if let Ok(patch) = operations.cast::<Patch>() {
            return Ok(Patch { patch: patch.get().patch.clone() });
        }
        Ok(Patch { patch: Patch::of(operations)? })
    }

    /// Changes a document by all operations in their order, or raises `PatchError` and changes
    /// nothing. Views follow what is still there.
    fn apply<'py>(slf: &Bound<'py, Self>, document: &Bound<'py, Document>) -> PyResult<()> {
        apply(Start::Root(document), slf.as_any())
    }

    /// The operations as a list of dicts.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(decode::to_python(py, &self.patch.doc().doc().root(), None)?)
    }

    /// The patch as JSON text: UTF-8 in bytes.
    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match livebuf_json::to_string(self.patch.doc()) {
            Ok(text) => error::bytes(py, text.as_bytes()),
            Err(failure) => Err(error::printing(py, &failure)),
        }
    }

    fn __len__(&self) -> usize {
        self.patch.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.to_python(py)?.try_iter()?.into_any())
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.to_python(py)?.get_item(index)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match other.cast::<Patch>() {
            Ok(other) => {
                let equal = self.to_python(py)?.eq(other.get().to_python(py)?)?;
                Ok(pyo3::types::PyBool::new(py, equal).to_owned().into_any().unbind())
            }
            Err(_) => Ok(py.NotImplemented()),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Document,))> {
        let document = Document::owned(slf.py(), slf.get().patch.doc())?;
        Ok((slf.get_type().into_any(), (document,)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("livebuf.Patch({})", self.to_python(py)?.repr()?))
    }
}

/// Compares two copies, without the interpreter's lock.
fn compare<R: Send>(
    py: Python<'_>,
    one: &Bound<'_, PyAny>,
    two: &Bound<'_, PyAny>,
    work: impl FnOnce(&DocBuf, &DocBuf) -> livebuf_patch::Result<R> + Send,
) -> PyResult<R> {
    let (one, two) = (snapshot(one)?, snapshot(two)?);
    let made: Held<R> = py.detach(|| work(&one, &two).map_err(Fault::from));
    Ok(made?)
}

/// What differs between two documents, as a `Patch` that makes the first one equal to the second.
///
/// Takes documents, views and plain Python objects. The order of keys counts only with
/// `ordered=True`.
///
/// >>> livebuf.diff({"lap": 55, "laps": [1, 2]}, {"lap": 56, "laps": [0, 1, 2]}).to_python()
/// [{'op': 'replace', 'path': '/lap', 'value': 56}, {'op': 'add', 'path': '/laps/0', 'value': 0}]
#[pyfunction]
#[pyo3(signature = (one, two, *, ordered=false))]
pub(crate) fn diff(
    py: Python<'_>,
    one: &Bound<'_, PyAny>,
    two: &Bound<'_, PyAny>,
    ordered: bool,
) -> PyResult<Patch> {
    let options = DiffOptions::new().ordered(ordered);
    let patch = compare(py, one, two, |one, two| livebuf_patch::diff(one, two, &options))?;
    Ok(Patch { patch })
}

/// What differs, as a merge patch (RFC 7396): a document.
///
/// Raises `PatchError` where the second one has a null that the first one lacks: merging would
/// remove that member.
///
/// >>> livebuf.merge_diff({"lap": 55, "pit": 1}, {"lap": 56}).to_python()
/// {'lap': 56, 'pit': None}
#[pyfunction]
pub(crate) fn merge_diff(
    py: Python<'_>,
    one: &Bound<'_, PyAny>,
    two: &Bound<'_, PyAny>,
) -> PyResult<Document> {
    let made = compare(py, one, two, |one, two| livebuf_patch::merge_diff(one, two))?;
    Document::owned(py, &made)
}
