//! How objects of classes are stored: the fields of each class, found once.
#![allow(unsafe_code)]

use hashbrown::HashMap;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
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
    /// A function of the object that returns what is stored instead.
    pub(crate) method: Option<Py<PyAny>>,
    /// How pydantic writes a model.
    pub(crate) model: Option<Model>,
    /// Where objects have the values.
    slots: PyOnceLock<Slots>,
}

/// Where objects of a class have the values of its fields, if it keeps them in slots. `dumps` takes a
/// sixth less time if it reads them there.
struct Slots {
    /// The class's address.
    class: usize,
    /// By the fields' numbers: bytes from the object's beginning, or 0 where it has no slot.
    offsets: Vec<isize>,
}

impl Slots {
    #[cfg(feature = "abi3")]
    fn of(class: &Bound<'_, PyType>, _names: &[(Py<PyString>, Py<PyString>)]) -> PyResult<Slots> {
        Ok(Slots { class: class.as_type_ptr() as usize, offsets: Vec::new() })
    }

    #[cfg(not(feature = "abi3"))]
    fn of(class: &Bound<'_, PyType>, names: &[(Py<PyString>, Py<PyString>)]) -> PyResult<Slots> {
        const OBJECT: i32 = 16; // T_OBJECT_EX of structmember.h
        let (py, pointer) = (class.py(), class.as_type_ptr());
        let mut offsets = Vec::new();
        // SAFETY: a live type.
        let getter = unsafe { (*pointer).tp_getattro };
        // A class with a getter of its own may do anything.
        let usual: ffi::getattrofunc = ffi::PyObject_GenericGetAttr;
        let is_usual = getter.is_some_and(|getter| std::ptr::fn_addr_eq(getter, usual));
        for (_, name) in names.iter().filter(|_| is_usual) {
            let mut offset = 0;
            for base in class.mro() {
                let Ok(found) = base.getattr(intern!(py, "__dict__"))?.get_item(name) else {
                    continue;
                };
                // SAFETY: an object of exactly this type is a `PyMemberDescrObject`, and its member
                // lives as long as its class does.
                unsafe {
                    if ffi::Py_TYPE(found.as_ptr()) == &raw mut ffi::PyMemberDescr_Type {
                        let member =
                            &*(*found.as_ptr().cast::<ffi::PyMemberDescrObject>()).d_member;
                        if member.type_code == OBJECT && member.flags & !ffi::Py_READONLY == 0 {
                            offset = member.offset;
                        }
                    }
                }
                break;
            }
            offsets.push(offset);
        }
        Ok(Slots { class: pointer as usize, offsets })
    }
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
        Ok(Fields { names, tag, as_array, unset, method, model, slots: PyOnceLock::new() })
    }
}

impl Fields {
    /// The value of the field with this number. `name`: of its attribute.
    #[inline]
    pub(crate) fn value<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        number: usize,
        name: &Py<PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        if let Some(Slots { class, offsets }) = self.slots.get(py)
            && let Some(&offset @ 1..) = offsets.get(number)
            // SAFETY: the object is borrowed, so it lives for as long as this looks at it.
            && unsafe { ffi::Py_TYPE(object.as_ptr()) } as usize == *class
        {
            // SAFETY: objects of this class have an object, or null, at this offset. Nobody writes
            // there meanwhile, since the GIL is held, and the object is held before it is let go.
            unsafe {
                let slot = object.as_ptr().byte_offset(offset).cast::<*mut ffi::PyObject>();
                if let Some(value) = Bound::from_borrowed_ptr_or_opt(py, *slot) {
                    return Ok(value);
                }
            }
        }
        // SAFETY: live objects.
        unsafe {
            let value = ffi::PyObject_GetAttr(object.as_ptr(), name.as_ptr());
            Bound::from_owned_ptr_or_err(py, value)
        }
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
            let inside = fields.get();
            inside.slots.get_or_try_init(py, || Slots::of(class, &inside.names))?;
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
