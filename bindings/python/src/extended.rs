//! Dates, times, decimals and UUIDs: Python's objects of the values that JSON lacks, and back.
#![allow(unsafe_code)]

use std::cmp::Ordering;

use livebuf::{Date, DateTime, Decimal, ErrorKind, Extended, Time, Timestamp, Uuid};
use pyo3::PyTypeInfo;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyString, PyTime, PyTimeAccess,
    PyType, PyTzInfo, PyTzInfoAccess,
};

use crate::error;

/// Python's classes of these values. Timestamps are a `datetime` with a time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Date,
    Time,
    DateTime,
    Decimal,
    Uuid,
}

/// Why an object of these classes cannot be stored.
#[derive(Debug)]
pub(crate) enum Refused {
    /// No document can hold it: why, and what can be done.
    Value(String),
    /// It raised this when it was asked.
    Python(PyErr),
}

impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Refused {
        Refused::Python(error)
    }
}

impl Refused {
    pub(crate) fn into_error(self, py: Python<'_>) -> PyErr {
        match self {
            Refused::Value(message) => error::bad_value(py, message),
            Refused::Python(error) => error,
        }
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Value(message.into()))
}

/// `decimal.Decimal`, which is written in C.
pub(crate) fn decimal_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")
}

/// `uuid.UUID`, and what makes one without running its `__init__`, which is Python code.
struct Uuids {
    class: Py<PyType>,
    /// `object.__new__`.
    new: Py<PyAny>,
    /// `uuid.SafeUUID.unknown`, which all have whose origin is not known.
    unknown: Py<PyAny>,
}

impl Uuids {
    fn get(py: Python<'_>) -> PyResult<&Uuids> {
        static UUIDS: PyOnceLock<Uuids> = PyOnceLock::new();
        UUIDS.get_or_try_init(py, || {
            let module = py.import("uuid")?;
            let object = PyAny::type_object(py);
            Ok(Uuids {
                class: module.getattr("UUID")?.cast_into::<PyType>()?.unbind(),
                new: object.getattr("__new__")?.unbind(),
                unknown: module.getattr("SafeUUID")?.getattr("unknown")?.unbind(),
            })
        })
    }

    fn make<'py>(&self, py: Python<'py>, id: &Uuid) -> PyResult<Bound<'py, PyAny>> {
        let made = self.new.bind(py).call1((&self.class,))?;
        let number = u128::from_be_bytes(*id.as_bytes()).into_pyobject(py)?.into_any();
        let parts = [
            (intern!(py, "int"), number.as_borrowed()),
            (intern!(py, "is_safe"), self.unknown.bind_borrowed(py)),
        ];
        for (name, part) in parts {
            // SAFETY: live objects. As `object.__setattr__`, which `UUID` uses itself, since its
            // own refuses.
            let set = unsafe {
                ffi::PyObject_GenericSetAttr(made.as_ptr(), name.as_ptr(), part.as_ptr())
            };
            if set != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(made)
    }
}

/// Imports what values become, so that no code of modules runs later, under a document's lock.
pub(crate) fn prepare(py: Python<'_>) {
    // Without these modules a value of theirs is an error.
    let _ = (decimal_class(py), Uuids::get(py));
}

/// The value that an object is.
pub(crate) enum Read {
    Value(Extended),
    /// A `NaT` of pandas.
    Null,
    /// The text of a decimal with more digits than a value of that kind has: a JSON number.
    Number(String),
    /// A moment with nanoseconds, which documents have no kind for.
    Text(String),
}

impl Class {
    /// The class that an object is exactly of.
    #[inline]
    pub(crate) fn exact(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Class>> {
        let py = object.py();
        // SAFETY: the object is borrowed, so it lives for as long as this looks at it.
        let class = unsafe { ffi::Py_TYPE(object.as_ptr()) };
        Ok(Some(if class == PyDateTime::type_object_raw(py) {
            Class::DateTime
        } else if class == PyDate::type_object_raw(py) {
            Class::Date
        } else if class == PyTime::type_object_raw(py) {
            Class::Time
        } else if class == decimal_class(py)?.as_type_ptr() {
            Class::Decimal
        } else if class == Uuids::get(py)?.class.bind(py).as_type_ptr() {
            Class::Uuid
        } else {
            return Ok(None);
        }))
    }

    /// The class that an object is of, or derives from.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Class>> {
        let py = object.py();
        Ok(Some(if object.is_instance_of::<PyDateTime>() {
            Class::DateTime
        } else if object.is_instance_of::<PyDate>() {
            Class::Date
        } else if object.is_instance_of::<PyTime>() {
            Class::Time
        } else if object.is_instance(decimal_class(py)?)? {
            Class::Decimal
        } else if object.is_instance(Uuids::get(py)?.class.bind(py))? {
            Class::Uuid
        } else {
            return Ok(None);
        }))
    }

    /// The value of an object of this class. May run Python code: that of time zones and of classes
    /// that derive from these.
    pub(crate) fn read(self, object: &Bound<'_, PyAny>) -> Result<Read, Refused> {
        Ok(Read::Value(match self {
            Class::Date => date(object)?.into(),
            Class::Time => time(object)?.into(),
            Class::DateTime => {
                // pandas' `NaT` is no moment, and does not equal itself.
                if !object.is_exact_instance_of::<PyDateTime>() && object.ne(object)? {
                    return Ok(Read::Null);
                }
                let moment = date_time(object)?;
                return Ok(match nanosecond(object)? {
                    0 => Read::Value(moment),
                    nanosecond => Read::Text(with_nanoseconds(&moment, nanosecond)),
                });
            }
            Class::Decimal => return decimal(object),
            Class::Uuid => {
                let number: u128 = object.getattr(intern!(object.py(), "int"))?.extract()?;
                Uuid::from_bytes(number.to_be_bytes()).into()
            }
        }))
    }
}

/// The value of an object of one of these classes; `None` for others. `None`, too, where that
/// would run Python code, and where it is refused.
pub(crate) fn plain(object: Borrowed<'_, '_, PyAny>) -> Option<Extended> {
    let class = Class::exact(object).ok()??;
    if let Ok(moment) = object.cast::<PyDateTime>()
        && let Some(zone) = moment.get_tzinfo()
        && !PyTzInfo::utc(object.py()).is_ok_and(|utc| zone.is(utc))
    {
        return None;
    }
    match class.read(&object).ok()? {
        Read::Value(value) => Some(value),
        Read::Null | Read::Number(_) | Read::Text(_) => None,
    }
}

/// An attribute of an object whose class may override it.
fn part<'py, T>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    object.getattr(name)?.extract()
}

fn date(object: &Bound<'_, PyAny>) -> Result<Date, Refused> {
    let (year, month, day) = match object.cast_exact::<PyDate>() {
        Ok(date) => (date.get_year(), date.get_month().into(), date.get_day().into()),
        Err(_) => match object.cast_exact::<PyDateTime>() {
            Ok(date) => (date.get_year(), date.get_month().into(), date.get_day().into()),
            Err(_) => (part(object, "year")?, part(object, "month")?, part(object, "day")?),
        },
    };
    match Date::from_ymd(year, month, day) {
        Some(date) => Ok(date),
        None => refuse("a date outside of the years 1 to 9999 cannot be stored; store its text"),
    }
}

/// The time of day, without a zone, of a `time` or a `datetime`.
fn clock(object: &Bound<'_, PyAny>) -> Result<Time, Refused> {
    fn of(time: &impl PyTimeAccess) -> (i64, i64, i64, i64) {
        let (hour, minute) = (time.get_hour().into(), time.get_minute().into());
        (hour, minute, time.get_second().into(), time.get_microsecond().into())
    }
    let (hour, minute, second, microsecond): (i64, i64, i64, i64) =
        if let Ok(time) = object.cast_exact::<PyTime>() {
            of(time)
        } else if let Ok(time) = object.cast_exact::<PyDateTime>() {
            of(time)
        } else {
            let (hour, minute) = (part(object, "hour")?, part(object, "minute")?);
            (hour, minute, part(object, "second")?, part(object, "microsecond")?)
        };
    let is_clock = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..1_000_000).contains(&microsecond);
    let microseconds = || ((60 * hour + minute) * 60 + second) * 1_000_000 + microsecond;
    match is_clock.then(microseconds).and_then(Time::from_microseconds) {
        Some(time) => Ok(time),
        None => refuse("not a time of day"),
    }
}

fn time(object: &Bound<'_, PyAny>) -> Result<Time, Refused> {
    if !object.getattr(intern!(object.py(), "tzinfo"))?.is_none() {
        return refuse(
            "a time of day with a time zone cannot be stored, since its day is not known; store a \
             datetime, or value.replace(tzinfo=None)",
        );
    }
    clock(object)
}

/// The nanoseconds of a moment beyond its microseconds, which pandas' Timestamp counts.
fn nanosecond(object: &Bound<'_, PyAny>) -> PyResult<u32> {
    if object.is_exact_instance_of::<PyDateTime>() {
        return Ok(0);
    }
    match object.getattr_opt(intern!(object.py(), "nanosecond"))? {
        Some(nanosecond) => nanosecond.extract(),
        None => Ok(0),
    }
}

/// A moment as `from_arrow` and numpy write one with nanoseconds.
fn with_nanoseconds(moment: &Extended, nanosecond: u32) -> String {
    let (local, zone) = match moment {
        Extended::Timestamp(moment) => (moment.utc(), "Z"),
        Extended::DateTime(local) => (*local, ""),
        other => return other.to_string(),
    };
    let (hour, minute, second, micro) = local.time().hms();
    let date = local.date();
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{micro:06}{nanosecond:03}{zone}")
}

/// A date and time of day, or a timestamp where there is a time zone.
fn date_time(object: &Bound<'_, PyAny>) -> Result<Extended, Refused> {
    let py = object.py();
    let exact = object.cast_exact::<PyDateTime>();
    let local = DateTime::new(date(object)?, clock(object)?);
    let zone = match exact {
        Ok(moment) => moment.get_tzinfo().map(Bound::into_any),
        Err(_) => Some(object.getattr(intern!(py, "tzinfo"))?).filter(|zone| !zone.is_none()),
    };
    let Some(zone) = zone else { return Ok(local.into()) };
    let offset = match zone.is(PyTzInfo::utc(py)?) {
        true => 0,
        false => {
            let offset = object.call_method0(intern!(py, "utcoffset"))?;
            if offset.is_none() {
                return refuse(
                    "a datetime whose time zone says no offset from UTC cannot be stored; store \
                     value.replace(tzinfo=None)",
                );
            }
            let offset = offset.cast::<PyDelta>().map_err(PyErr::from)?;
            let seconds = 86_400 * i64::from(offset.get_days()) + i64::from(offset.get_seconds());
            seconds * 1_000_000 + i64::from(offset.get_microseconds())
        }
    };
    match Timestamp::from_microseconds(local.microseconds() - offset) {
        Some(moment) => Ok(moment.into()),
        None => refuse(
            "a moment outside of the years 1 to 9999 of UTC cannot be stored; store \
             value.replace(tzinfo=None)",
        ),
    }
}

fn decimal(object: &Bound<'_, PyAny>) -> Result<Read, Refused> {
    let class = decimal_class(object.py())?;
    let text = match object.get_type().is(class) {
        true => object.str()?,
        // Its class may print it in another way.
        false => {
            let text = class.call_method1(intern!(object.py(), "__str__"), (object,))?;
            text.cast_into::<PyString>().map_err(PyErr::from)?
        }
    };
    decimal_of(text.to_str()?)
}

/// The decimal that Python prints so.
fn decimal_of(text: &str) -> Result<Read, Refused> {
    let (number, exponent) = match text.split_once(['E', 'e']) {
        Some((number, exponent)) => (number, exponent.parse::<i64>().ok()),
        None => (text, Some(0)),
    };
    let digits = number.strip_prefix('-').unwrap_or(number);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    let (Some(exponent), true) = (exponent, all().all(|digit| digit.is_ascii_digit())) else {
        return refuse("a Decimal that is not finite cannot be stored; store None or its text");
    };
    let exponent = exponent.saturating_sub(fraction.len() as i64);
    // With more zeros the coefficient would not fit either, unless it is 0.
    let zeros = std::iter::repeat_n(b'0', exponent.clamp(0, 40) as usize);
    let coefficient = all().chain(zeros).try_fold(0i128, |coefficient, digit| {
        coefficient.checked_mul(10)?.checked_add((digit - b'0').into())
    });
    let scale = u8::try_from(exponent.min(0).unsigned_abs()).ok();
    let sign = if number.starts_with('-') { -1 } else { 1 };
    let made = coefficient.zip(scale);
    let made = made.and_then(|(coefficient, scale)| Decimal::new(sign * coefficient, scale));
    Ok(made.map_or_else(|| Read::Number(text.to_owned()), |value| Read::Value(value.into())))
}

/// The Python object of a value; runs no Python code.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Extended) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Extended::Date(date) => {
            let (year, month, day) = date.ymd();
            PyDate::new(py, year, month as u8, day as u8)?.into_any()
        }
        Extended::Time(time) => {
            let (hour, minute, second, microsecond) = time.hms();
            PyTime::new(py, hour as u8, minute as u8, second as u8, microsecond, None)?.into_any()
        }
        Extended::DateTime(value) => moment(py, *value, None)?,
        Extended::Timestamp(value) => {
            let utc = PyTzInfo::utc(py)?.to_owned();
            moment(py, value.utc(), Some(&utc))?
        }
        Extended::Decimal(value) => decimal_class(py)?.call1((value.to_string(),))?,
        Extended::Uuid(id) => Uuids::get(py)?.make(py, id)?,
        _ => return Err(error::raise(livebuf::Error::new(ErrorKind::UnsupportedFeature, 0))),
    })
}

fn moment<'py>(
    py: Python<'py>,
    value: DateTime,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (year, month, day) = value.date().ymd();
    let (hour, minute, second, microsecond) = value.time().hms();
    let (month, day) = (month as u8, day as u8);
    let (hour, minute, second) = (hour as u8, minute as u8, second as u8);
    let made = PyDateTime::new(py, year, month, day, hour, minute, second, microsecond, zone)?;
    Ok(made.into_any())
}

/// Which of two values comes first; `None` where they are of two kinds. `1.5` and `1.50` are
/// equal, as in Python.
pub(crate) fn order(one: &Extended, other: &Extended) -> Option<Ordering> {
    Some(match (one, other) {
        (Extended::Date(one), Extended::Date(other)) => one.cmp(other),
        (Extended::Time(one), Extended::Time(other)) => one.cmp(other),
        (Extended::DateTime(one), Extended::DateTime(other)) => one.cmp(other),
        (Extended::Timestamp(one), Extended::Timestamp(other)) => one.cmp(other),
        (Extended::Decimal(one), Extended::Decimal(other)) => order_of_decimals(*one, *other),
        (Extended::Uuid(one), Extended::Uuid(other)) => one.cmp(other),
        _ => return None,
    })
}

pub(crate) fn order_of_decimals(one: Decimal, other: Decimal) -> Ordering {
    // The part after the point with all digits, which 128 bits hold.
    let parts = |value: Decimal| {
        let one = 10i128.pow(value.scale().into());
        let all = 10i128.pow(u32::from(Decimal::DIGITS - value.scale()));
        (value.coefficient().div_euclid(one), value.coefficient().rem_euclid(one) * all)
    };
    parts(one).cmp(&parts(other))
}
