//! How objects of classes are stored: the fields of each class, found once.

use hashbrown::HashMap;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};

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
    /// What gives what is stored instead, of an object.
    pub(crate) method: Option<Py<PyAny>>,
    /// How pydantic writes a model.
    pub(crate) model: Option<Model>,
}

/// What a pydantic model says of its fields.
pub(crate) struct Model {
    /// Of each field.
    pub(crate) parts: Vec<Part>,
    /// Gives a dict with the fields that pydantic itself must write, of an object.
    pub(crate) dump: Option<Py<PyAny>>,
    /// Whether the one field's value stands for the object.
    pub(crate) is_root: bool,
}

/// A model's parts as Python has them, its dump, and whether it is a root.
type Given<'py> = (Vec<Bound<'py, PyAny>>, Option<Py<PyAny>>, bool);

/// Where the value of a model's field comes from.
pub(crate) enum Part {
    /// The attribute.
    Attribute,
    /// The attribute, in which objects of classes derived from these have the fields of these.
    Of(Py<PyTuple>),
    /// pydantic's dict.
    Dumped,
    /// The attribute is a dict with more members, or `None`.
    Extra,
}

impl Model {
    fn new((parts, dump, is_root): Given<'_>) -> PyResult<Model> {
        let parts = parts.into_iter().map(|part| {
            Ok(match part.cast_into::<PyTuple>() {
                Ok(classes) if classes.is_empty() => Part::Attribute,
                Ok(classes) => Part::Of(classes.unbind()),
                Err(other) => match other.into_inner().extract::<&str>()? {
                    "extra" => Part::Extra,
                    _ => Part::Dumped,
                },
            })
        });
        Ok(Model { parts: parts.collect::<PyResult<_>>()?, dump, is_root })
    }
}

#[pymethods]
impl Fields {
    #[new]
    #[pyo3(signature = (names, tag=None, as_array=false, unset=None, method=None, model=None))]
    fn new(
        names: Vec<(Bound<'_, PyString>, Bound<'_, PyString>)>,
        tag: Option<(Bound<'_, PyString>, Py<PyAny>)>,
        as_array: bool,
        unset: Option<Py<PyAny>>,
        method: Option<Py<PyAny>>,
        model: Option<Given<'_>>,
    ) -> PyResult<Fields> {
        let interned = |text: &Bound<'_, PyString>| -> PyResult<Py<PyString>> {
            Ok(PyString::intern(text.py(), text.to_str()?).unbind())
        };
        let names = names.iter().map(|(key, name)| Ok((interned(key)?, interned(name)?)));
        let names = names.collect::<PyResult<_>>()?;
        let tag = match tag {
            Some((key, value)) => Some((interned(&key)?, value)),
            None => None,
        };
        let model = match model {
            Some(given) => Some(Model::new(given)?),
            None => None,
        };
        Ok(Fields { names, tag, as_array, unset, method, model })
    }
}

/// The fields of classes that were met, by the addresses of the classes.
#[derive(Default)]
pub(crate) struct Classes {
    /// In this walk. The classes live meanwhile, so that no others get their addresses.
    met: HashMap<usize, (Py<PyType>, Option<Py<Fields>>)>,
    /// In walks before. These classes may be gone.
    before: HashMap<usize, (Py<PyWeakrefReference>, Py<Fields>)>,
}

/// Classes that are remembered.
const MOST: usize = 256;

impl Classes {
    /// The fields of a class that was met before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn met<'py>(
        &mut self,
        py: Python<'py>,
        class: *mut ffi::PyTypeObject,
    ) -> Option<Bound<'py, Fields>> {
        match self.met.get(&(class as usize)) {
            Some((_, fields)) => Some(fields.as_ref()?.bind(py).clone()),
            None => self.met_before(py, class),
        }
    }

    #[inline(never)]
    fn met_before<'py>(
        &mut self,
        py: Python<'py>,
        class: *mut ffi::PyTypeObject,
    ) -> Option<Bound<'py, Fields>> {
        let (kept, fields) = self.before.get(&(class as usize))?;
        let kept = kept.bind(py).upgrade()?.cast_into::<PyType>().ok()?;
        if kept.as_type_ptr() != class {
            return None;
        }
        let fields = fields.bind(py).clone();
        self.met.insert(class as usize, (kept.unbind(), Some(fields.clone().unbind())));
        Some(fields)
    }

    /// The fields of a class; `None` where it has none.
    pub(crate) fn find<'py>(
        &mut self,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Option<Bound<'py, Fields>>> {
        let (py, at) = (class.py(), class.as_type_ptr() as usize);
        if let Some((_, fields)) = self.met.get(&at) {
            return Ok(fields.as_ref().map(|fields| fields.bind(py).clone()));
        }
        let types = py.import(intern!(py, "livebuf._types"))?;
        let found = types.getattr(intern!(py, "fields_of"))?.call1((class,))?;
        let found: Option<Bound<'py, Fields>> = found.extract()?;
        let kept = found.as_ref().map(|fields| fields.clone().unbind());
        if let Some(fields) = &found {
            if self.before.len() == MOST {
                self.before.clear();
            }
            let class = PyWeakrefReference::new(class)?.unbind();
            self.before.insert(at, (class, fields.clone().unbind()));
        }
        self.met.insert(at, (class.clone().unbind(), kept));
        Ok(found)
    }

    /// Lets go of the classes that this walk met.
    pub(crate) fn end(&mut self) {
        self.met.clear();
    }
}
