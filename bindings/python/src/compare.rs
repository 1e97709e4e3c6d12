//! `==` as dicts and lists have it.

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList};

use crate::array::Array;
use crate::decode;
use crate::object::Object;
use crate::place::View;

/// The answer to a comparison of a document's value.
pub(crate) fn answer<'py>(
    one: &Bound<'py, PyAny>,
    other: &Bound<'py, PyAny>,
    operator: CompareOp,
) -> PyResult<Bound<'py, PyAny>> {
    let py = one.py();
    let wants_equal = match operator {
        CompareOp::Eq => true,
        CompareOp::Ne => false,
        _ => return Ok(py.NotImplemented().into_bound(py)),
    };
    let equal = match view(one) {
        None => Some(one.eq(other)?),
        Some(view) => equal(py, one, view, other)?,
    };
    Ok(match equal {
        Some(equal) => PyBool::new(py, equal == wants_equal).to_owned().into_any(),
        None => py.NotImplemented().into_bound(py),
    })
}

fn view<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a View> {
    match object.cast::<Object>() {
        Ok(object) => Some(&object.get().view),
        Err(_) => object.cast::<Array>().ok().map(|array| &array.get().view),
    }
}

/// `None` where the other is nothing that could be equal.
fn equal(
    py: Python<'_>,
    one: &Bound<'_, PyAny>,
    view_of_one: &View,
    other: &Bound<'_, PyAny>,
) -> PyResult<Option<bool>> {
    let is_object = one.is_instance_of::<Object>();
    if let Some(view_of_other) = view(other) {
        if is_object != other.is_instance_of::<Object>() || one.len()? != other.len()? {
            return Ok(Some(false));
        }
        // By Python's rules: 1 equals 1.0.
        return Ok(Some(plain(py, view_of_one, None)?.eq(plain(py, view_of_other, None)?)?));
    }
    let other = match () {
        () if is_object && other.is_instance_of::<PyDict>() => other.clone(),
        () if is_object
            && other.is_instance(py.import("collections.abc")?.getattr("Mapping")?.as_any())? =>
        {
            py.get_type::<PyDict>().call1((other,))?
        }
        () if !is_object && other.is_instance_of::<PyList>() => other.clone(),
        () => return Ok(None),
    };
    if one.len()? != other.len()? {
        return Ok(Some(false));
    }
    Ok(Some(plain(py, view_of_one, None)?.eq(other)?))
}

/// The view's value as plain Python objects.
pub(crate) fn plain<'py>(
    py: Python<'py>,
    view: &View,
    max_values: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    view.read(py, |value| {
        let limit = max_values.unwrap_or(decode::default_budget(value.document_length()));
        decode::to_python(py, value, limit)
    })
}
