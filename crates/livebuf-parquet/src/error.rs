//! The one error type of this crate: a kind, a message with its place, a cause.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The document is damaged, or cannot be written.
    Document,
    /// The document has no value at the pointer.
    NotFound,
    /// A value that Parquet or Variant cannot keep as it is, or a type that LiveBuf lacks.
    Unsupported,
    /// The file is damaged, or no Parquet file.
    Parquet,
    /// The system failed to read or write.
    Io,
}

/// What went wrong, and where.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    core: Option<livebuf::Error>,
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, message: message.into(), core: None }))
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The core's error behind this one, if there is one.
    pub fn core_error(&self) -> Option<livebuf::Error> {
        self.0.core
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

impl From<livebuf::Error> for Error {
    fn from(core: livebuf::Error) -> Error {
        let mut error = Error::new(ErrorKind::Document, core.to_string());
        error.0.core = Some(core);
        error
    }
}

impl From<livebuf_arrow::Error> for Error {
    fn from(error: livebuf_arrow::Error) -> Error {
        use livebuf_arrow::ErrorKind as Arrow;
        let kind = match error.kind() {
            Arrow::Document => ErrorKind::Document,
            Arrow::NotFound | Arrow::NotAnArray => ErrorKind::NotFound,
            Arrow::Mismatch | Arrow::Producer => ErrorKind::Parquet,
            _ => ErrorKind::Unsupported,
        };
        let message = error.to_string();
        // What the file's reader said is behind its number.
        let reported = message.strip_prefix("the stream reports error ");
        let reported = reported.and_then(|rest| rest.split_once(": External error: "));
        let mut made = Error::new(kind, reported.map_or(message.as_str(), |(_, said)| said));
        made.0.core = error.core_error();
        made
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Error {
        let kind = match error {
            ArrowError::IoError(..) => ErrorKind::Io,
            _ => ErrorKind::Parquet,
        };
        Error::new(kind, said(&error))
    }
}

/// The message, without the name of its kind.
pub(crate) fn said(error: &ArrowError) -> String {
    match error {
        ArrowError::InvalidArgumentError(message)
        | ArrowError::NotYetImplemented(message)
        | ArrowError::ParquetError(message) => message.clone(),
        ArrowError::ExternalError(cause) => cause.to_string(),
        _ => error.to_string(),
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Error {
        let kind = match &error {
            ParquetError::External(cause) if cause.is::<std::io::Error>() => ErrorKind::Io,
            _ => ErrorKind::Parquet,
        };
        Error::new(kind, error.to_string())
    }
}

/// Runs what calls the `parquet` crates: where they panic, that is an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = format!("the Parquet library failed: {}", reason(&*panic));
        Err(Error::new(ErrorKind::Parquet, message))
    })
}

fn reason(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "for no known reason",
    }
}
