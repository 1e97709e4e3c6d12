//! Prepared messages: `Template`.

use livebuf::{Editor, ErrorKind, New, Stamped};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::encode::{self, Given, class_name};
use crate::error;
use crate::extended;
use crate::memory::Memory;

/// A prepared message: made once from an example, then stamped with other values in its
/// places. A stamp is a copy of the example and a store for each value.
///
/// `example` is what `dumps` takes, or a document or view. `places` are JSON pointers into it:
/// what differs from message to message. In the example they hold `None`, a `bool`, number,
/// `str`, `bytes`, date, time or UUID; a stamp gives them any of these.
///
/// Raises `MissingKeyError` where the example has nothing at a place, `WrongTypeError` where it
/// has a dict or list there, `PointerError`, `EncodeError`.
///
/// >>> lap = livebuf.Template({"event": "", "lap": 0, "v": 1}, ["/event", "/lap"])
/// >>> message = lap.stamp("lap_complete", 55)
/// >>> livebuf.loads(message)
/// {'event': 'lap_complete', 'lap': 55, 'v': 1}
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Template {
    template: livebuf::Template,
    places: Vec<String>,
}

#[pymethods]
impl Template {
    #[new]
    fn new(example: &Bound<'_, PyAny>, places: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = example.py();
        if places.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "places are a list of JSON pointers, not one of them",
            ));
        }
        let document = encode::document(example, None, Default::default())?;
        let places = places.try_iter()?.map(|place| place?.extract());
        let places: Vec<String> = places.collect::<PyResult<_>>()?;
        let template = livebuf::Template::new(&document, &places).map_err(|fault| {
            let place = || places.get(fault.detail() as usize).map_or("", String::as_str);
            match fault.kind() {
                ErrorKind::NotFound => error::missing_key(py, place()),
                ErrorKind::WrongType => {
                    let message = format!("the example has a dict or list at {:?}", place());
                    error::wrong_type(py, message)
                }
                ErrorKind::KeyExists => {
                    let message = format!("the place {:?} is there twice", place());
                    error::encode(py, message, ErrorKind::KeyExists)
                }
                _ => error::raise(fault),
            }
        })?;
        Ok(Template { template, places })
    }

    /// The places, in the order in which `stamp` takes their values.
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.places)
    }

    /// A document's bytes with these values, one for each place.
    ///
    /// The values are `None`, `bool`, numbers, `str`, `bytes`, dates, times and UUIDs, and what
    /// `dumps` stores as one of these.
    ///
    /// Raises `TypeError` where there are not as many values as places, `EncodeError` where
    /// one cannot be stored in a place, as a dict cannot.
    ///
    /// >>> point = livebuf.Template({"x": 0, "y": 0}, ["/x", "/y"])
    /// >>> livebuf.loads(point.stamp(1.5, None))
    /// {'x': 1.5, 'y': None}
    #[pyo3(signature = (*values))]
    fn stamp<'py>(&self, values: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyBytes>> {
        let py = values.py();
        let count = values.len();
        if count != self.places.len() {
            let wanted = self.places.len();
            let message = format!("stamp() takes {wanted} values, one for each place, not {count}");
            return Err(PyTypeError::new_err(message));
        }
        // What is not plain is made a document of its own first: that runs Python code.
        let mut others: Vec<(usize, Editor<Memory>)> = Vec::new();
        let mut length = self.template.stamped_length(&[]);
        for (index, value) in values.iter_borrowed().enumerate() {
            let plain = match plain(value) {
                Some(plain) => plain,
                None => {
                    let made = encode::document(&value, None, Default::default())?;
                    others.push((index, made));
                    // As `plain` says it next time.
                    match others.last().map(|other| Stamped::of(&New::from(&other.1))) {
                        Some(Ok(plain)) => plain,
                        _ => return Err(self.refused(value, index)),
                    }
                }
            };
            length += plain.length_behind();
        }
        PyBytes::new_with(py, length, |bytes| {
            let mut next = others.iter();
            let mut values = values.iter_borrowed();
            let value = |_| match values.next().and_then(plain) {
                Some(plain) => Ok(plain),
                None => match next.next() {
                    Some((_, other)) => Stamped::of(&New::from(other)),
                    None => Err(livebuf::Error::new(ErrorKind::Unsupported, 0)),
                },
            };
            self.template.fill_with(bytes, count, value).map(|_| ()).map_err(error::raise)
        })
    }

    fn __repr__(&self) -> String {
        format!("<livebuf.Template with {} places>", self.places.len())
    }
}

impl Template {
    #[cold]
    fn refused(&self, value: Borrowed<'_, '_, PyAny>, index: usize) -> PyErr {
        let (class, place) = (class_name(value), self.places.get(index));
        let message = format!(
            "a place takes None, bool, numbers, str, bytes, dates, times and UUIDs, not {class} \
             (value {index}, for {:?})",
            place.map_or("", String::as_str)
        );
        error::encode(value.py(), message, ErrorKind::Unsupported)
    }
}

/// A value that needs no document of its own. Asked twice, it says the same: nothing can
/// change such an object.
#[inline]
fn plain<'a>(object: Borrowed<'a, '_, PyAny>) -> Option<Stamped<'a>> {
    let value = match Given::plain(object) {
        Some(given) => given.into_value()?,
        None => New::Extended(extended::plain(object)?),
    };
    Stamped::of(&value).ok()
}
