//! `livebuf.Decoder`, and `to_python(type=...)`.
#![allow(unsafe_code)]

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use livebuf::raw::ValueParts;
use livebuf::{Checked, Doc, Storage, Value};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::error;
use crate::memory::Memory;
use crate::typed::decode::run;
use crate::typed::plan::Plan;
use crate::view::{Array, Document, Object, View};

/// Decodes documents as objects of a type. Make it once, and use it for many documents.
///
/// `type` is a dataclass, `NamedTuple`, `TypedDict`, `msgspec.Struct`, class of attrs or pydantic
/// model, or made of these and plain types: `list[...]`, `dict[str, ...]`, unions, `Literal`,
/// enums, `datetime`, `date`, `time`, `Decimal`, `UUID`, `Any`. Fields that the type does not have
/// are not read. Missing fields take their defaults.
///
/// With `strict=False` text becomes numbers, `bool` and `None` where the type says so: `"1"` is
/// an `int`. `dec_hook(type, obj)` makes objects of all other types, of plain Python objects.
///
/// Raises `TypeError` for a type that cannot be decoded, and for an ambiguous union.
///
/// >>> import dataclasses
/// >>> @dataclasses.dataclass
/// ... class User:
/// ...     name: str
/// ...     tags: list[str] = dataclasses.field(default_factory=list)
/// >>> users = livebuf.Decoder(list[User])
/// >>> users.decode(livebuf.dumps([{"name": "Ada", "born": 1815}]))
/// [User(name='Ada', tags=[])]
#[pyclass(generic, module = "livebuf")]
pub(crate) struct Decoder {
    /// `None` after the garbage collector broke a cycle.
    plan: Option<Plan>,
    target: Option<Py<PyAny>>,
    hook: Option<Py<PyAny>>,
}

/// A document's bytes. They stay in place while this lives, and the document is not locked:
/// Python code runs meanwhile.
struct Lent {
    start: *const u8,
    length: usize,
    document: Py<Document>,
}

impl Lent {
    fn new(document: &Bound<'_, Document>, bytes: &[u8]) -> Lent {
        document.get().exports().fetch_add(1, Ordering::AcqRel);
        Lent { start: bytes.as_ptr(), length: bytes.len(), document: document.clone().unbind() }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the count of exports keeps the bytes in place.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.document.get().end_export();
    }
}

fn parts_of(py: Python<'_>, view: &View) -> PyResult<(Lent, ValueParts)> {
    view.reach(py, |document, state, node| {
        let editor = state.editor()?;
        let parts = editor.value(node)?.parts();
        Ok((Lent::new(document, editor.as_bytes()), parts))
    })
}

impl Decoder {
    fn plan(&self) -> PyResult<&Plan> {
        let gone = || pyo3::exceptions::PyRuntimeError::new_err("the decoder was cleared");
        self.plan.as_ref().ok_or_else(gone)
    }

    /// An object of the type, of a value.
    pub(crate) fn value<'py>(
        &self,
        py: Python<'py>,
        value: &Value<'_, Checked>,
    ) -> PyResult<Bound<'py, PyAny>> {
        run(py, self.plan()?, value, None)
    }

    fn lent<'py>(
        &self,
        py: Python<'py>,
        (lent, parts): (Lent, ValueParts),
        max_values: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let value = Value::from_parts(lent.bytes(), parts);
        run(py, self.plan()?, &value, max_values)
    }
}

#[pymethods]
impl Decoder {
    #[new]
    #[pyo3(signature = (r#type, *, strict=true, dec_hook=None))]
    fn new(
        r#type: &Bound<'_, PyAny>,
        strict: bool,
        dec_hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decoder> {
        Ok(Decoder {
            plan: Some(Plan::new(r#type, strict, dec_hook)?),
            target: Some(r#type.clone().unbind()),
            hook: dec_hook.map(|hook| hook.clone().unbind()),
        })
    }

    /// An object of the type, of a document: its bytes in any buffer, a `Document`, or a view.
    ///
    /// Makes at most `max_values` values, by default 136 for each byte. A document or view cannot
    /// be edited while this runs.
    ///
    /// Raises `WrongTypeError` where a value is not of its type, or a field is missing; the message
    /// has the path to it.
    #[pyo3(signature = (buf, /, *, max_values=None))]
    fn decode<'py>(
        &self,
        buf: &Bound<'py, PyAny>,
        max_values: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = buf.py();
        if let Ok(object) = buf.cast_exact::<Object>() {
            return self.lent(py, parts_of(py, &object.get().view)?, max_values);
        }
        if let Ok(array) = buf.cast_exact::<Array>() {
            return self.lent(py, parts_of(py, &array.get().view)?, max_values);
        }
        if let Ok(document) = buf.cast_exact::<Document>() {
            let lent = {
                let state = document.get().lock(py)?;
                let whole = state.whole().map_err(PyErr::from)?;
                (Lent::new(document, whole.as_bytes()), whole.doc().root().parts())
            };
            return self.lent(py, lent, max_values);
        }
        let memory = Memory::of(buf)?;
        let document = Doc::open(memory.bytes()).map_err(error::raise)?;
        run(py, self.plan()?, &document.root(), max_values)
    }

    /// The type.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.target.as_ref().map(|target| target.bind(py).clone())
    }

    /// Whether values must be of the type's own kind.
    #[getter]
    fn strict(&self) -> PyResult<bool> {
        Ok(self.plan()?.is_strict())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Some(target) = &self.target else { return Ok("<livebuf.Decoder>".into()) };
        Ok(format!("<livebuf.Decoder of {}>", target.bind(py).repr()?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.target)?;
        visit.call(&self.hook)?;
        self.plan.as_ref().map_or(Ok(()), |plan| plan.traverse(&visit))
    }

    fn __clear__(&mut self) {
        (self.plan, self.target, self.hook) = (None, None, None);
    }
}

/// What a document or view is as a type: `to_python(type=...)`.
pub(crate) fn typed<'py>(
    from: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    max_values: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    of(target)?.bind(from.py()).try_borrow()?.decode(from, max_values)
}

/// The decoder of a type, which is kept.
pub(crate) fn of(target: &Bound<'_, PyAny>) -> PyResult<Py<Decoder>> {
    static FOUND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // The latest class, since the next one is mostly the same. Other types, such as `list[int]`, are
    // new objects each time, and Python finds these.
    static LATEST: Mutex<Option<(Py<PyAny>, Py<Decoder>)>> = Mutex::new(None);
    let py = target.py();
    if let Ok(latest) = LATEST.try_lock()
        && let Some((class, decoder)) = &*latest
        && class.is(target)
    {
        return Ok(decoder.clone_ref(py));
    }
    let decoder = FOUND.import(py, "livebuf._types", "decoder")?.call1((target,))?;
    let decoder = decoder.cast_into::<Decoder>()?.unbind();
    if target.is_instance_of::<PyType>()
        && let Ok(mut latest) = LATEST.try_lock()
    {
        let earlier = latest.replace((target.clone().unbind(), decoder.clone_ref(py)));
        // Dropped without the lock, since it may run Python code.
        drop(latest);
        drop(earlier);
    }
    Ok(decoder)
}
