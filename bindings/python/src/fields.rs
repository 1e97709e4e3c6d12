//! How objects of classes are stored: the fields of each class, found once.

use std::collections::HashMap;

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// The fields of a class, as `livebuf/_types.py` finds them.
#[pyclass(frozen, module = "livebuf._livebuf", name = "_Fields")]
pub(crate) struct Fields {
    /// Keys, and the attributes that have their values.
    pub(crate) names: Vec<(Py<PyString>, Py<PyString>)>,
    /// A key that comes first, and its value.
    pub(crate) tag: Option<(Py<PyString>, Py<PyAny>)>,
    /// Whether objects are stored as arrays of their values.
    pub(crate) as_array: bool,
    /// The value that stands for a missing field.
    pub(crate) unset: Option<Py<PyAny>>,
    /// A method that gives what is stored instead.
    pub(crate) method: Option<Py<PyString>>,
}

#[pymethods]
impl Fields {
    #[new]
    fn new(
        names: Vec<(Bound<'_, PyString>, Bound<'_, PyString>)>,
        tag: Option<(Bound<'_, PyString>, Py<PyAny>)>,
        as_array: bool,
        unset: Option<Py<PyAny>>,
        method: Option<Py<PyString>>,
    ) -> Fields {
        let interned = |text: &Bound<'_, PyString>| {
            PyString::intern(text.py(), &text.to_string_lossy()).unbind()
        };
        let names = names.iter().map(|(key, name)| (interned(key), interned(name))).collect();
        let tag = tag.map(|(key, value)| (interned(&key), value));
        Fields { names, tag, as_array, unset, method }
    }
}

/// The fields of the classes that one walk met.
#[derive(Default)]
pub(crate) struct Classes {
    known: HashMap<*mut ffi::PyTypeObject, (Option<Py<Fields>>, Py<PyType>)>,
    /// The one that was met last.
    last: Option<(*mut ffi::PyTypeObject, Py<Fields>)>,
}

impl Classes {
    /// The fields of a class that was met before.
    #[inline(always)]
    pub(crate) fn met<'py>(
        &self,
        py: Python<'py>,
        class: *mut ffi::PyTypeObject,
    ) -> Option<Bound<'py, Fields>> {
        if let Some((last, fields)) = &self.last
            && *last == class
        {
            return Some(fields.bind(py).clone());
        }
        let (fields, _) = self.known.get(&class)?;
        fields.as_ref().map(|fields| fields.bind(py).clone())
    }

    /// The fields of a class; `None` where it has none.
    pub(crate) fn find<'py>(
        &mut self,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Option<Bound<'py, Fields>>> {
        let py = class.py();
        let types = py.import(intern!(py, "livebuf._types"))?;
        let found = types.getattr(intern!(py, "fields_of"))?.call1((class,))?;
        let found: Option<Bound<'py, Fields>> = found.extract()?;
        // The class is kept, so that no other gets its address.
        let kept = found.as_ref().map(|fields| fields.clone().unbind());
        self.known.insert(class.as_type_ptr(), (kept, class.clone().unbind()));
        if let Some(fields) = &found {
            self.last = Some((class.as_type_ptr(), fields.clone().unbind()));
        }
        Ok(found)
    }
}
