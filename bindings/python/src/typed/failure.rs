//! Why a document is not of a type, and where in it.

use livebuf::ErrorKind;
use pyo3::exceptions::{PyArithmeticError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::{self, Fault};
use crate::history::Step;

/// What ends the decoding of a document.
pub(super) struct Failure {
    cause: Cause,
    /// From the inside to the outside.
    path: Vec<Step>,
}

enum Cause {
    /// A value that is not of its type, and the exception that says so.
    Mismatch(String, Option<PyErr>),
    /// Damage, a limit, or any other exception.
    Fault(Fault),
}

pub(super) type Typed<T> = Result<T, Box<Failure>>;

impl From<Fault> for Box<Failure> {
    #[cold]
    fn from(fault: Fault) -> Self {
        Box::new(Failure { cause: Cause::Fault(fault), path: Vec::new() })
    }
}

impl From<livebuf::Error> for Box<Failure> {
    #[cold]
    fn from(error: livebuf::Error) -> Self {
        Fault::Core(error).into()
    }
}

impl From<PyErr> for Box<Failure> {
    #[cold]
    fn from(error: PyErr) -> Self {
        Fault::Python(error).into()
    }
}

impl Failure {
    #[cold]
    pub(super) fn mismatch(message: String) -> Box<Failure> {
        Box::new(Failure { cause: Cause::Mismatch(message, None), path: Vec::new() })
    }

    /// An exception of a constructor or function. Those for wrong values get the path.
    #[cold]
    pub(super) fn raised(py: Python<'_>, error: PyErr) -> Box<Failure> {
        let is_wrong_value = error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyTypeError>(py)
            || error.is_instance_of::<PyArithmeticError>(py);
        if !is_wrong_value {
            return error.into();
        }
        let mut message = error.value(py).to_string();
        if message.is_empty() {
            message = error.get_type(py).to_string();
        }
        Box::new(Failure { cause: Cause::Mismatch(message, Some(error)), path: Vec::new() })
    }

    /// Whether it is the value's type, so that another type may still fit.
    pub(super) fn is_mismatch(&self) -> bool {
        matches!(self.cause, Cause::Mismatch(..))
    }

    pub(super) fn into_error(self, py: Python<'_>) -> PyErr {
        match self.cause {
            Cause::Fault(fault) => fault.into(),
            Cause::Mismatch(message, cause) => {
                let place = match self.path.is_empty() {
                    true => String::new(),
                    false => format!(", at {}", place(&self.path)),
                };
                let error = error::wrong_type(py, format!("{message}{place}"));
                error.set_cause(py, cause);
                error
            }
        }
    }
}

/// A path as messages show it: `$.users[3].age`.
fn place(path: &[Step]) -> String {
    let mut place = String::from("$");
    for step in path.iter().rev() {
        match step {
            Step::Index(index) => place.push_str(&format!("[{index}]")),
            Step::Key(key) => {
                let is_name = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                match is_name && key.bytes().next().is_some_and(|byte| !byte.is_ascii_digit()) {
                    true => place.push_str(&format!(".{key}")),
                    false => place.push_str(&format!("[{key:?}]")),
                }
            }
        }
    }
    place
}

/// Adds where it happened to a failure.
pub(super) trait At {
    fn at(self, step: impl FnOnce() -> Step) -> Self;
}

impl<T> At for Typed<T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(self, step: impl FnOnce() -> Step) -> Typed<T> {
        self.map_err(
            #[cold]
            |mut failure| {
                failure.path.push(step());
                failure
            },
        )
    }
}

/// The failure for a document that nests too deep.
#[cold]
pub(super) fn too_deep(most: u32) -> Box<Failure> {
    livebuf::Error::with_detail(ErrorKind::NestingLimit, 0, u64::from(most)).into()
}
