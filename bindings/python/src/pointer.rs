//! JSON pointers (RFC 6901): what they lead to, as Python objects.

use livebuf::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::decode;
use crate::error::{self, Held};
use crate::view::{Found, Object, View, is_container};

/// The key that a token of a JSON pointer names.
pub(crate) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// What to do where there is no value.
pub(crate) enum Fallback<'py> {
    Raise,
    Give(Bound<'py, PyAny>),
}

/// The default, if one was given.
pub(crate) fn fallback<'py>(default: &Bound<'py, PyTuple>) -> PyResult<Fallback<'py>> {
    match default.len() {
        0 => Ok(Fallback::Raise),
        1 => Ok(Fallback::Give(default.get_item(0)?)),
        _ => Err(PyTypeError::new_err("one default at most")),
    }
}

/// The value at a JSON pointer below `value`. For a container it only says that there is one.
pub(crate) fn look<'py>(py: Python<'py>, value: &Value<'_>, pointer: &str) -> Held<Found<'py, ()>> {
    Ok(match value.pointer(pointer)? {
        None => Found::Nothing,
        Some(value) if is_container(value.kind()) => Found::Container(()),
        Some(value) => Found::Scalar(decode::scalar(py, &value)?),
    })
}

impl<'py> Found<'py, ()> {
    /// The value. For a container this is a view. A view needs those above it, so the way goes
    /// from `place` on.
    pub(crate) fn or_follow(
        self,
        place: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
        pointer: &str,
        fallback: Fallback<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (self, fallback) {
            (Found::Scalar(value), _) => Ok(value),
            (Found::Container(()), _) => follow(place()?, pointer),
            (Found::Nothing, Fallback::Give(default)) => Ok(default),
            (Found::Nothing, Fallback::Raise) => {
                Python::attach(|py| Err(error::missing_key(py, pointer)))
            }
        }
    }
}

/// The value at a pointer below a view.
pub(crate) fn pointer_below<'py>(
    place: &Bound<'py, PyAny>,
    view: &View,
    pointer: &str,
    fallback: Fallback<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = place.py();
    let found = view.read(py, |value| look(py, value, pointer))?;
    found.or_follow(|| Ok(place.clone()), pointer, fallback)
}

/// Goes down a pointer, view by view. It was found to lead somewhere.
fn follow<'py>(mut place: Bound<'py, PyAny>, pointer: &str) -> PyResult<Bound<'py, PyAny>> {
    for token in pointer.split('/').skip(1) {
        place = match place.cast::<Object>() {
            Ok(_) => place.get_item(unescaped(token))?,
            Err(_) => place.get_item(token.parse::<usize>()?)?,
        };
    }
    Ok(place)
}
