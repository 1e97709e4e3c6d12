//! Errors as Python exceptions: which class each kind becomes.
//!
//! The classes are written in Python, in `livebuf/_errors.py`: each has two base classes, which
//! a class made here cannot have.

use std::fmt::Display;
use std::io;
use std::path::Path;

use livebuf::{DeltaError, ErrorKind};
use pyo3::exceptions::{PyBlockingIOError, PyMemoryError, PyOSError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDateTime, PyString, PyType};

/// The classes of `livebuf/_errors.py`.
struct Classes {
    error: Py<PyType>,
    damaged: Py<PyType>,
    json: Py<PyType>,
    encode: Py<PyType>,
    bad_value: Py<PyType>,
    tensor: Py<PyType>,
    missing_key: Py<PyType>,
    index: Py<PyType>,
    wrong_type: Py<PyType>,
    read_only: Py<PyType>,
    stale: Py<PyType>,
    limit: Py<PyType>,
    pointer: Py<PyType>,
    closed: Py<PyType>,
    exported: Py<PyType>,
    transaction: Py<PyType>,
    delta: Py<PyType>,
    patch: Py<PyType>,
    query: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

/// Loads the classes, when the module is loaded: importing runs Python code. `datetime` is loaded
/// then, too, since PyO3 would go on without it where memory runs out.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    py.get_type::<PyDateTime>();
    classes(py).map(|_| ())
}

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let module = py.import("livebuf._errors")?;
        let class = |name: &str| -> PyResult<Py<PyType>> {
            Ok(module.getattr(name)?.cast_into()?.unbind())
        };
        Ok(Classes {
            error: class("Error")?,
            damaged: class("DamagedError")?,
            json: class("JSONError")?,
            encode: class("EncodeError")?,
            bad_value: class("BadValueError")?,
            tensor: class("TensorError")?,
            missing_key: class("MissingKeyError")?,
            index: class("IndexRangeError")?,
            wrong_type: class("WrongTypeError")?,
            read_only: class("ReadOnlyError")?,
            stale: class("StaleError")?,
            limit: class("LimitError")?,
            pointer: class("PointerError")?,
            closed: class("ClosedError")?,
            exported: class("ExportedError")?,
            transaction: class("TransactionError")?,
            delta: class("DeltaError")?,
            patch: class("PatchError")?,
            query: class("QueryError")?,
        })
    })
}

/// What goes wrong while a document is locked. It becomes a Python exception after the lock was
/// given back, since making one runs Python code.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error of the core.
    Core(livebuf::Error),
    /// A view's place is gone, and why.
    Stale(&'static str),
    /// The document was closed.
    Closed,
    /// Somebody else edited the document in its memory.
    Outdated,
    /// The document was edited while a query looked through it.
    Edited,
    /// Something else looks at the document's bytes.
    Exported,
    /// Something that an open transaction forbids, or that needs one.
    Transaction(&'static str),
    /// Something about recordings and deltas that cannot be done now.
    Recorded(&'static str),
    /// A delta that cannot be made or applied.
    Delta(DeltaError),
    /// A patch that cannot be applied.
    Patch(Box<livebuf_patch::PatchError>),
    /// A value of an unexpected type: what was found, and where.
    WrongType(String),
    /// There is nothing with this name.
    Missing(String),
    /// There is no such index.
    Index(String),
    /// A value that Python cannot hold.
    Limit(String),
    /// A query took too many steps.
    Budget(livebuf::Error),
    /// A bytearray cannot grow, since something else looks at it.
    Held,
    /// An error of printing JSON.
    Json(Box<livebuf_json::Error>),
    /// A Python exception already.
    Python(PyErr),
}

/// The result of work under a document's lock.
pub(crate) type Held<T> = Result<T, Fault>;

impl From<livebuf::Error> for Fault {
    fn from(error: livebuf::Error) -> Fault {
        Fault::Core(error)
    }
}

impl From<DeltaError> for Fault {
    fn from(error: DeltaError) -> Fault {
        match error {
            DeltaError::Document(error) => Fault::Core(error),
            error => Fault::Delta(error),
        }
    }
}

impl From<livebuf_patch::PatchError> for Fault {
    /// An edit that needs a validated document is an error of the core, so that it is tried again.
    fn from(error: livebuf_patch::PatchError) -> Fault {
        match error.core_error() {
            Some(cause) if error.operation().is_none() => Fault::Core(cause),
            Some(cause) if cause.kind() == ErrorKind::NotValidated => Fault::Core(cause),
            _ => Fault::Patch(Box::new(error)),
        }
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Fault {
        Fault::Python(error)
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> PyErr {
        Python::attach(|py| match fault {
            Fault::Core(error) => core(py, &error),
            Fault::Stale(why) => {
                let kind = ErrorKind::StaleHandle;
                make(py, |c| &c.stale, format!("the view is stale: {why}"), kind, None)
            }
            Fault::Closed => {
                let message = "the document is closed".to_owned();
                make(py, |c| &c.closed, message, ErrorKind::StaleHandle, None)
            }
            Fault::Outdated => {
                let message = "somebody else edited the document in its memory since this one \
                               looked at it: call refresh()";
                make(py, |c| &c.stale, message.to_owned(), ErrorKind::StaleHandle, None)
            }
            Fault::Edited => {
                let message = "the document was edited while a query looked through it: query \
                               again, take list() of the matches first, or use set_all, \
                               remove_all or update_all";
                make(py, |c| &c.stale, message.to_owned(), ErrorKind::StaleHandle, None)
            }
            Fault::Exported => {
                let message = "the document cannot be edited or closed while a memoryview, numpy array or \
                               Arrow export of it lives: release them, or export with copy=True";
                make(py, |c| &c.exported, message.to_owned(), ErrorKind::ReadOnly, None)
            }
            Fault::Transaction(why) => {
                make(py, |c| &c.transaction, why.to_owned(), ErrorKind::BadSequence, None)
            }
            Fault::Recorded(why) => {
                make(py, |c| &c.delta, why.to_owned(), ErrorKind::BadSequence, None)
            }
            Fault::Delta(error) => delta(py, &error),
            Fault::Patch(error) => patch(py, &error),
            Fault::WrongType(message) => {
                make(py, |c| &c.wrong_type, message, ErrorKind::WrongType, None)
            }
            Fault::Missing(message) => missing_key(py, &message),
            Fault::Index(message) => {
                make(py, |c| &c.index, message, ErrorKind::IndexOutOfRange, None)
            }
            Fault::Budget(error) => {
                let message = format!("{error}: livebuf.Query(text, budget=...) sets another one");
                make(py, |c| &c.limit, message, error.kind(), None)
            }
            Fault::Limit(message) => make(py, |c| &c.limit, message, ErrorKind::Unsupported, None),
            Fault::Held => {
                let message = "the document must grow, and its bytearray cannot while something \
                               else (a memoryview, another Document) looks at it";
                make(py, |c| &c.exported, message.to_owned(), ErrorKind::NoSpace, None)
            }
            Fault::Json(error) => printing(py, &error),
            Fault::Python(error) => error,
        })
    }
}

fn make(
    py: Python<'_>,
    class: impl FnOnce(&Classes) -> &Py<PyType>,
    message: String,
    kind: ErrorKind,
    offset: Option<u64>,
) -> PyErr {
    match classes(py) {
        Ok(classes) => {
            let class = class(classes).bind(py).clone();
            PyErr::from_type(class, (message, kind as u8, kind.name(), offset))
        }
        Err(error) => error,
    }
}

const POINTER: &str = "malformed JSON pointer: it must be empty or begin with \"/\", an index in \
                       it must be 0 or have no leading 0, and ~ must be ~0 or ~1; query() \
                       takes JSONPath, which begins with $";

/// What the system refused, if that is what an error of the core means: memory, or a file's growth,
/// such as on a full disk.
fn refused(error: Option<&livebuf::Error>) -> Option<PyErr> {
    const NO_MEMORY: u64 = 12; // ENOMEM
    let error = error.filter(|error| error.kind() == ErrorKind::Io)?;
    match i32::try_from(error.detail()) {
        Ok(number @ 1..) if error.refused_memory().is_none() && error.detail() != NO_MEMORY => {
            let message = io::Error::from_raw_os_error(number).to_string();
            Some(PyOSError::new_err((number, message)))
        }
        _ => Some(PyMemoryError::new_err(error.to_string())),
    }
}

/// An empty vector with room for `count` values.
pub(crate) fn room_for<T>(count: usize) -> Held<Vec<T>> {
    Ok(livebuf::raw::vec_for(count)?)
}

/// New `bytes`.
pub(crate) fn bytes<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, content.len(), |place| {
        place.copy_from_slice(content);
        Ok(())
    })
}

/// The exception for an error of the core.
pub(crate) fn core(py: Python<'_>, error: &livebuf::Error) -> PyErr {
    let kind = error.kind();
    let class = |classes: &Classes| match kind {
        ErrorKind::NotFound => classes.missing_key.clone_ref(py),
        ErrorKind::IndexOutOfRange => classes.index.clone_ref(py),
        ErrorKind::WrongType | ErrorKind::Unsupported => classes.wrong_type.clone_ref(py),
        ErrorKind::ReadOnly => classes.read_only.clone_ref(py),
        ErrorKind::StaleHandle => classes.stale.clone_ref(py),
        ErrorKind::BadPointer => classes.pointer.clone_ref(py),
        ErrorKind::BadValue => classes.bad_value.clone_ref(py),
        ErrorKind::TensorMismatch => classes.tensor.clone_ref(py),
        ErrorKind::NestingLimit
        | ErrorKind::DocumentLimit
        | ErrorKind::StringLimit
        | ErrorKind::ElementLimit
        | ErrorKind::NoSpace
        | ErrorKind::BudgetExceeded => classes.limit.clone_ref(py),
        ErrorKind::KeyExists | ErrorKind::BadNumber | ErrorKind::NotValidated => {
            classes.error.clone_ref(py)
        }
        _ => classes.damaged.clone_ref(py),
    };
    if let Some(failure) = refused(Some(error)) {
        return failure;
    }
    let message = match kind {
        ErrorKind::BadPointer => POINTER.to_owned(),
        ErrorKind::ReadOnly => "the document is read-only (it lies in bytes, in a read-only buffer \
                                or in a file opened with \"r\"); editable() gives a copy that can be edited"
            .to_owned(),
        ErrorKind::TensorMismatch => "a tensor keeps its type and the lengths of its elements, and \
             this does not fit them: numbers must be of its dtype, rows as long as the others, and \
             an array in it or in a column of such arrays keeps its length; store tolist() for \
             arrays that change"
            .to_owned(),
        _ => error.to_string(),
    };
    match classes(py) {
        Ok(classes) => {
            let class = class(classes).into_bound(py);
            let offset = (error.offset() > 0).then_some(error.offset());
            PyErr::from_type(class, (message, kind as u8, kind.name(), offset))
        }
        Err(error) => error,
    }
}

/// An error of a delta.
pub(crate) fn delta(py: Python<'_>, error: &DeltaError) -> PyErr {
    let kind = match error {
        DeltaError::Document(error) => return core(py, error),
        DeltaError::NotADelta => ErrorKind::NotADocument,
        DeltaError::UnsupportedVersion(_) => ErrorKind::UnsupportedFeature,
        DeltaError::Truncated(_) => ErrorKind::Truncated,
        DeltaError::Damaged { .. } => ErrorKind::BadCode,
        _ => ErrorKind::BadSequence,
    };
    make(py, |c| &c.delta, error.to_string(), kind, None)
}

/// An error of a patch.
fn patch(py: Python<'_>, error: &livebuf_patch::PatchError) -> PyErr {
    use livebuf_patch::PatchErrorKind as Patch;
    if let Some(failure) = refused(error.core_error().as_ref()) {
        return failure;
    }
    let kind = match (error.kind(), error.core_error()) {
        (_, Some(cause)) => cause.kind(),
        (Patch::NotFound, _) => ErrorKind::NotFound,
        (Patch::IndexOutOfRange, _) => ErrorKind::IndexOutOfRange,
        (Patch::WrongType, _) => ErrorKind::WrongType,
        _ => ErrorKind::Unsupported,
    };
    let class = match classes(py) {
        Ok(classes) => classes.patch.bind(py).clone(),
        Err(error) => return error,
    };
    let pointer = error.operation().map(|_| error.pointer().to_owned());
    let pointer =
        pointer.or_else(|| (!error.pointer().is_empty()).then(|| error.pointer().to_owned()));
    let arguments =
        (error.to_string(), kind as u8, kind.name(), None::<u64>, error.operation(), pointer);
    PyErr::from_type(class, arguments)
}

/// An error of a query's text.
pub(crate) fn query(py: Python<'_>, error: &livebuf_query::QueryError) -> PyErr {
    let kind = ErrorKind::Unsupported;
    let class = match classes(py) {
        Ok(classes) => classes.query.bind(py).clone(),
        Err(error) => return error,
    };
    let mut message = error.to_string();
    if message.ends_with("found `/`") && error.column() == 1 {
        message += "; pointer() takes a JSON pointer";
    }
    let arguments = (message, kind as u8, kind.name(), None::<u64>, error.column());
    PyErr::from_type(class, arguments)
}

/// [`core`] for `map_err`.
pub(crate) fn raise(error: livebuf::Error) -> PyErr {
    Fault::Core(error).into()
}

/// The error for a document that this version must not edit.
pub(crate) fn unknown_feature() -> PyErr {
    Python::attach(|py| {
        let message = "the document uses a feature that this library can read but not edit: \
                       open it from bytes";
        make(py, |c| &c.read_only, message.to_owned(), ErrorKind::ReadOnly, None)
    })
}

/// The error for a log where a document is wanted.
pub(crate) fn a_log() -> PyErr {
    Python::attach(|py| {
        let message = "this is a log, not a document: livebuf.Log(path) opens it".to_owned();
        make(py, |c| &c.damaged, message, ErrorKind::NotADocument, None)
    })
}

/// The error for a value that cannot be stored.
pub(crate) fn encode(py: Python<'_>, message: String, kind: ErrorKind) -> PyErr {
    make(py, |c| &c.encode, message, kind, None)
}

/// The error for a date, time, decimal or UUID that cannot be stored.
pub(crate) fn bad_value(py: Python<'_>, message: String) -> PyErr {
    make(py, |c| &c.bad_value, message, ErrorKind::BadValue, None)
}

/// The error for a key that an object does not have.
pub(crate) fn missing_key(py: Python<'_>, key: &str) -> PyErr {
    make(py, |c| &c.missing_key, key.to_owned(), ErrorKind::NotFound, None)
}

/// The error for an index beyond the end.
pub(crate) fn index(py: Python<'_>, index: impl Display, length: usize) -> PyErr {
    let message = format!("index {index} is out of range: the array has {length} elements");
    make(py, |c| &c.index, message, ErrorKind::IndexOutOfRange, None)
}

/// An index in a message. Python has no text for very long ones.
pub(crate) fn digits(index: &Bound<'_, PyAny>) -> String {
    index.str().map_or_else(|_| "of very many digits".into(), |text| text.to_string())
}

/// The error for a row that a log does not have.
pub(crate) fn row(py: Python<'_>, index: impl Display, length: u64) -> PyErr {
    let message = format!("row {index} is out of range: the log has {length} rows");
    make(py, |c| &c.index, message, ErrorKind::IndexOutOfRange, None)
}

/// The error for an argument that should be `what`, and is an object of another class.
pub(crate) fn expected(what: &str, object: &Bound<'_, PyAny>) -> PyErr {
    let class = object.get_type().name();
    let class = class.map_or_else(|_| "object".into(), |name| name.to_string());
    wrong_type(object.py(), format!("{what} is wanted, not {class}"))
}

/// The error for a value of another type than a call needs.
pub(crate) fn wrong_type(py: Python<'_>, message: String) -> PyErr {
    make(py, |c| &c.wrong_type, message, ErrorKind::WrongType, None)
}

/// A place in text, from which later ones are counted.
#[derive(Default)]
pub(crate) struct TextPosition {
    bytes: usize,
    characters: usize,
}

/// An error of JSON text, or of printing it. Those of one text come in its order.
pub(crate) fn json(
    py: Python<'_>,
    error: &livebuf_json::Error,
    input: &Bound<'_, PyAny>,
    text: &[u8],
    before: &mut TextPosition,
) -> PyErr {
    let Some(place) = error.position() else { return printing(py, error) };
    if let Some(failure) = refused(error.core_error().as_ref()) {
        return failure;
    }
    let mut offset = place.offset as usize;
    if input.is_instance_of::<PyString>() {
        // Counts characters: bytes that continue one do not count.
        let between = text.get(before.bytes..offset).unwrap_or_default();
        before.characters += between.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        (before.bytes, offset) = (offset, before.characters);
    }
    match classes(py) {
        Ok(classes) => {
            let mut message = error.to_string();
            // The exception's class adds the position itself, as Python's does.
            if let Some(cut) = message.find(&format!(", at {place}")) {
                message.truncate(cut);
            }
            if message.ends_with("many values need to be read as lines") {
                message += ": lines=True";
            }
            let is_name =
                [".json", ".jsonl", ".ndjson"].iter().any(|end| text.ends_with(end.as_bytes()));
            if place.offset == 0 && is_name && input.is_instance_of::<PyString>() {
                message += "; give a file by a pathlib.Path";
            }
            let cause = error.core_error();
            if let Some(cause) = cause.filter(|cause| cause.kind() == ErrorKind::NestingLimit) {
                message = format!("nested deeper than {}, the most there can be", cause.detail());
            }
            let code = cause.map_or(0, |cause| cause.kind() as u8);
            let arguments =
                (message, input.clone().unbind(), offset, place.line, place.column, code);
            PyErr::from_type(classes.json.bind(py).clone(), arguments)
        }
        Err(error) => error,
    }
}

/// An error of printing JSON.
pub(crate) fn printing(py: Python<'_>, error: &livebuf_json::Error) -> PyErr {
    match (error.core_error(), error.kind()) {
        (Some(cause), _) => core(py, &cause),
        (None, livebuf_json::ErrorKind::NotFinite) => {
            let message =
                "JSON has no infinity and no NaN; non_finite=\"null\" prints null for them";
            make(py, |c| &c.encode, message.into(), ErrorKind::BadNumber, None)
        }
        (None, livebuf_json::ErrorKind::NestingLimit) => {
            let message = "nested deeper than JSON can be printed here".to_owned();
            make(py, |c| &c.limit, message, ErrorKind::NestingLimit, None)
        }
        (None, livebuf_json::ErrorKind::OutputLimit) => {
            let message = format!("{error}; max_bytes= sets another limit");
            make(py, |c| &c.limit, message, ErrorKind::BudgetExceeded, None)
        }
        (None, _) => make(py, |c| &c.limit, error.to_string(), ErrorKind::BudgetExceeded, None),
    }
}

/// The number by which Python tells one error of the system from another.
pub(crate) fn number(py: Python<'_>, failure: &io::Error) -> PyResult<i32> {
    if let Some(number) = failure.raw_os_error() {
        return Ok(number);
    }
    let name = match failure.kind() {
        io::ErrorKind::WouldBlock => "EAGAIN",
        io::ErrorKind::NotFound => "ENOENT",
        io::ErrorKind::AlreadyExists => "EEXIST",
        io::ErrorKind::IsADirectory => "EISDIR",
        io::ErrorKind::PermissionDenied => "EACCES",
        io::ErrorKind::InvalidInput => "EINVAL",
        io::ErrorKind::StorageFull => "ENOSPC",
        io::ErrorKind::FileTooLarge => "EFBIG",
        _ => "EIO",
    };
    py.import("errno")?.getattr(name)?.extract()
}

/// An error of a log.
pub(crate) fn log(py: Python<'_>, failure: &livebuf_log::Error, path: &Path) -> PyErr {
    use livebuf_log::ErrorKind as Log;
    let mut message = failure.to_string();
    let path = path.display().to_string();
    if failure.offset().is_some() && !message.contains(&path) {
        message = format!("{path}: {message}");
    }
    if let Some(system) = failure.io_error() {
        return match number(py, system) {
            Ok(number) => PyOSError::new_err((number, message)),
            Err(_) => PyOSError::new_err(message),
        };
    }
    let inner = failure.core_error().map(|core| core.kind());
    let offset = failure.offset();
    match failure.kind() {
        Log::Locked => PyBlockingIOError::new_err(message),
        Log::NotALog => make(py, |c| &c.damaged, message, ErrorKind::NotADocument, offset),
        Log::Unsupported => {
            make(py, |c| &c.damaged, message, ErrorKind::UnsupportedFeature, offset)
        }
        Log::CutShort => make(py, |c| &c.damaged, message, ErrorKind::Truncated, offset),
        Log::Damaged => {
            let kind = inner.unwrap_or(ErrorKind::BadCode);
            make(py, |c| &c.damaged, message, kind, offset)
        }
        Log::Row => encode(py, message, inner.unwrap_or(ErrorKind::Unsupported)),
        _ => make(py, |c| &c.error, message, ErrorKind::Broken, offset),
    }
}

/// The error for a log that was closed.
pub(crate) fn closed_log(py: Python<'_>) -> PyErr {
    make(py, |c| &c.closed, "the log is closed".to_owned(), ErrorKind::StaleHandle, None)
}

/// The error for a log that was opened to be read.
pub(crate) fn read_only_log(py: Python<'_>) -> PyErr {
    let message = "the log is open to be read: open it with mode \"a\" to add rows";
    make(py, |c| &c.read_only, message.to_owned(), ErrorKind::ReadOnly, None)
}

/// An error of the Arrow exchange.
pub(crate) fn arrow(py: Python<'_>, error: &livebuf_arrow::Error) -> PyErr {
    match (error.core_error(), error.kind()) {
        (Some(cause), _) => core(py, &cause),
        (None, livebuf_arrow::ErrorKind::NotFound) => missing_key(py, &error.to_string()),
        (None, livebuf_arrow::ErrorKind::Limit) => {
            make(py, |c| &c.limit, error.to_string(), ErrorKind::BudgetExceeded, None)
        }
        (None, _) => make(py, |c| &c.wrong_type, error.to_string(), ErrorKind::Unsupported, None),
    }
}
