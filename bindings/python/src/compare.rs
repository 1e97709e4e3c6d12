//! `==` as dicts and lists have it. Documents are compared without making Python objects of
//! them.

use livebuf::{
    Array as Elements, Checked, Decimal, Error, ErrorKind, Kind, Object as Members, Value,
};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList};

use crate::decode::{self, CollectorPause};
use crate::error::Fault;
use crate::extended;
use crate::view::{Above, Array, DETACH, Object, View, child, with_both};

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
    let equal = match (view(one), view(other)) {
        (None, _) => Some(one.eq(other)?),
        (Some(one), Some(other)) => Some(views(py, one, other)?),
        (Some(_), None) => plain_equal(py, one, other)?,
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

/// Compares with Python objects, a part at a time. Comparing them runs Python code, so it
/// happens without the document's lock. `None` where no object of that class could be equal.
fn plain_equal(
    py: Python<'_>,
    one: &Bound<'_, PyAny>,
    other: &Bound<'_, PyAny>,
) -> PyResult<Option<bool>> {
    if let Ok(object) = one.cast::<Object>() {
        let members = match other.cast::<PyDict>() {
            Ok(dict) => dict.clone(),
            Err(_) => {
                let mapping = py.import("collections.abc")?.getattr("Mapping")?;
                if !other.is_instance(&mapping)? {
                    return Ok(None);
                }
                py.get_type::<PyDict>().call1((other,))?.cast_into()?
            }
        };
        if object.len()? != members.len() {
            return Ok(Some(false));
        }
        for item in object.call_method0("_items")?.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
            match members.get_item(key)? {
                Some(theirs) if value.eq(&theirs)? => {}
                _ => return Ok(Some(false)),
            }
        }
        return Ok(Some(true));
    }
    let (Ok(array), Ok(list)) = (one.cast::<Array>(), other.cast::<PyList>()) else {
        return Ok(None);
    };
    let length = array.len()?;
    if length != list.len() {
        return Ok(Some(false));
    }
    let mut index = 0;
    while index < length {
        let part = plain_from(array, index, PART)?;
        if part.is_empty() {
            return Ok(Some(false));
        }
        for item in part {
            // Earlier comparisons may have changed either of the two.
            let Ok(theirs) = list.get_item(index) else { return Ok(Some(false)) };
            if !item.eq(theirs)? {
                return Ok(Some(false));
            }
            index += 1;
        }
    }
    Ok(Some(true))
}

/// Values that become Python objects at once.
const PART: u64 = 4096;

/// Elements from an index on as plain Python objects. Takes elements until they are made of
/// about `most` values. A single element with more values is returned as a view.
fn plain_from<'py>(
    array: &Bound<'py, Array>,
    index: usize,
    most: u64,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = array.py();
    array.get().view.reach(py, |document, state, node| {
        let _pause = CollectorPause::new();
        let (mut items, mut large) = (Vec::new(), None);
        let editor = state.editor()?;
        let value = editor.value(node)?;
        let mut left = decode::allowance(&value, Some(most));
        let elements = value.as_array()?.ok_or(Fault::Stale("it is no array any more"))?;
        for index in index..elements.len() {
            let Some(value) = elements.get(index)? else { break };
            let mut rest = left;
            rest.values(1)?;
            match decode::to_python_within(py, &value, &mut rest) {
                Ok(item) => items.push(item),
                Err(Fault::Core(error)) if error.kind() == ErrorKind::BudgetExceeded => {
                    if items.is_empty() {
                        large = editor.handle_of(&value, node).map(|below| (value.kind(), below));
                    }
                    break;
                }
                Err(fault) => return Err(fault),
            }
            left = rest;
            if left.values_left() == 0 {
                break;
            }
        }
        if let Some(below) = large {
            let above = Above::Array(Some(array.clone().unbind()), index);
            items.push(child(py, document, below, above)?);
        }
        Ok(items)
    })
}

/// Compares two views, in their documents.
fn views(py: Python<'_>, one: &View, other: &View) -> PyResult<bool> {
    with_both(py, one, other, |one, other| {
        let bytes = one.document_length().max(other.document_length());
        let limit = decode::default_budget(bytes);
        let work = || equal(one, other, limit);
        if bytes < DETACH { work() } else { py.detach(work) }.map_err(Fault::Core)
    })
}

/// What is left to compare of a container, and the container that it must equal.
enum Pair<'a> {
    Objects(livebuf::Fields<'a, Checked>, Members<'a, Checked>),
    Arrays(Elements<'a, Checked>, usize, Elements<'a, Checked>),
}

/// Whether two values are equal by Python's rules: `1`, `1.0` and `True` are, NaN is not
/// even itself. Looks at most at `limit` values.
fn equal(one: Value<'_>, other: Value<'_>, limit: u64) -> livebuf::Result<bool> {
    let mut left = limit;
    let mut stack = Vec::new();
    let mut next = Some((one, other));
    loop {
        if let Some((one, other)) = next.take() {
            left = left.checked_sub(1).ok_or(Error::with_detail(
                ErrorKind::BudgetExceeded,
                0,
                limit,
            ))?;
            let pair =
                match (one.as_object()?, other.as_object()?, one.as_array()?, other.as_array()?) {
                    (Some(one), Some(other), ..) if one.len() == other.len() => {
                        Some(Pair::Objects(one.iter(), other))
                    }
                    (_, _, Some(one), Some(other)) if one.len() == other.len() => {
                        match same_numbers(&one, &other) {
                            Some(true) => None,
                            Some(false) => return Ok(false),
                            None => Some(Pair::Arrays(one, 0, other)),
                        }
                    }
                    (None, None, None, None) if scalars(&one, &other, &mut left)? => None,
                    _ => return Ok(false),
                };
            if pair.is_some() && stack.len() >= usize::from(livebuf::layout::MAX_NESTING) {
                let most = u64::from(livebuf::layout::MAX_NESTING);
                return Err(Error::with_detail(ErrorKind::NestingLimit, 0, most));
            }
            stack.extend(pair);
        }
        next = match stack.last_mut() {
            None => return Ok(true),
            Some(Pair::Objects(members, other)) => match members.next().transpose()? {
                Some((key, one)) => match other.get(key)? {
                    Some(other) => Some((one, other)),
                    None => return Ok(false),
                },
                None => None,
            },
            Some(Pair::Arrays(one, index, other)) => {
                *index += 1;
                match (one.get(*index - 1)?, other.get(*index - 1)?) {
                    (Some(one), Some(other)) => Some((one, other)),
                    _ => None,
                }
            }
        };
        if next.is_none() {
            stack.pop();
        }
    }
}

/// Whether two arrays of one type of number are equal; `None` for others.
fn same_numbers(one: &Elements<'_, Checked>, other: &Elements<'_, Checked>) -> Option<bool> {
    macro_rules! of {
        ($($type:ty)+) => {
            $(if let (Some(one), Some(other)) = (one.as_slice::<$type>(), other.as_slice::<$type>()) {
                return Some(one == other);
            })+
        };
    }
    of!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
    None
}

fn scalars(one: &Value<'_>, other: &Value<'_>, left: &mut u64) -> livebuf::Result<bool> {
    Ok(match (one.kind(), other.kind()) {
        (Kind::Null, Kind::Null) => true,
        (Kind::String, Kind::String) => {
            let (one, other) = (one.as_text_bytes()?, other.as_text_bytes()?);
            *left = left.saturating_sub(one.map_or(0, |text| text.len() as u64 / 64));
            one == other
        }
        (Kind::Bytes, Kind::Bytes) => {
            let (one, other) = (one.as_bytes()?, other.as_bytes()?);
            *left = left.saturating_sub(one.map_or(0, |bytes| bytes.len() as u64 / 64));
            one == other
        }
        // Decimals are numbers.
        (kind, same) if kind == same && kind.is_extended() && kind != Kind::Decimal => {
            one.as_extended()? == other.as_extended()?
        }
        _ => match (Number::of(one)?, Number::of(other)?) {
            (Some(one), Some(other)) => one.equals(&other),
            _ => false,
        },
    })
}

/// A number as Python compares it: by its exact value.
#[derive(Clone, Copy, Debug)]
enum Number<'a> {
    Int(i128),
    Float(f64),
    Text(&'a [u8]),
    Decimal(Decimal),
}

impl<'a> Number<'a> {
    fn of(value: &Value<'a>) -> livebuf::Result<Option<Number<'a>>> {
        Ok(match value.kind() {
            Kind::Bool => value.as_bool().map(|value| Number::Int(value.into())),
            Kind::Int => value.as_i64().map(|value| Number::Int(value.into())),
            Kind::Uint => value.as_u64().map(|value| Number::Int(value.into())),
            Kind::Float => value.as_f64().map(Number::Float),
            Kind::NumberText => value.as_number_text()?.map(|text| Number::Text(text.as_bytes())),
            Kind::Decimal => value.as_decimal()?.map(Number::Decimal),
            _ => None,
        })
    }

    fn equals(&self, other: &Number<'_>) -> bool {
        match (self, other) {
            (Number::Int(one), Number::Int(other)) => one == other,
            (Number::Float(one), Number::Float(other)) => one == other,
            // A cast of a float beyond 2^100 gives a bound of the type. No integer here is one.
            (Number::Int(int), Number::Float(float)) | (Number::Float(float), Number::Int(int)) => {
                float.fract() == 0.0 && *float as i128 == *int
            }
            (Number::Float(float), _) | (_, Number::Float(float)) if !float.is_finite() => false,
            (Number::Text(one), Number::Text(other)) if one == other => true,
            (Number::Decimal(one), Number::Decimal(other)) => {
                extended::order_of_decimals(*one, *other).is_eq()
            }
            _ => match (self.digits(), other.digits()) {
                (Some(one), Some(other)) => one == other,
                _ => false,
            },
        }
    }

    /// The exact value: whether it is negative, its digits without zeros at the ends, and the
    /// power of ten of the last digit. `None` where that power does not fit 64 bits.
    fn digits(&self) -> Option<(bool, Vec<u8>, i64)> {
        let printed = match self {
            Number::Int(int) => int.to_string().into_bytes(),
            // No double has more digits behind the point.
            Number::Float(float) => format!("{float:.1074}").into_bytes(),
            Number::Text(text) => text.to_vec(),
            Number::Decimal(decimal) => decimal.to_string().into_bytes(),
        };
        let (mantissa, exponent) = match printed.iter().position(|byte| matches!(byte, b'e' | b'E'))
        {
            Some(at) => {
                let exponent = std::str::from_utf8(&printed[at + 1..]).ok()?;
                (&printed[..at], exponent.parse::<i64>().ok()?)
            }
            None => (&printed[..], 0),
        };
        let behind = mantissa.iter().rev().position(|&byte| byte == b'.').unwrap_or(0);
        let mut power = exponent.checked_sub(i64::try_from(behind).ok()?)?;
        let all = mantissa.iter().copied().filter(u8::is_ascii_digit);
        let mut digits: Vec<u8> = all.skip_while(|&digit| digit == b'0').collect();
        while digits.pop_if(|digit| *digit == b'0').is_some() {
            power = power.checked_add(1)?;
        }
        Some(match digits.is_empty() {
            true => (false, digits, 0),
            false => (mantissa.first() == Some(&b'-'), digits, power),
        })
    }
}

/// The view's value as plain Python objects.
pub(crate) fn plain<'py>(
    py: Python<'py>,
    view: &View,
    max_values: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    view.read(py, |value| decode::to_python(py, value, max_values))
}
