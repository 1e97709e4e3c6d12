//! The one error type of this crate: a kind, a place in the file, a row, a message, a cause.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file does not begin with a log's header, or its header is damaged.
    NotALog,
    /// The log is of a version, or has a feature or a kind of frame, that this library does
    /// not know.
    Unsupported,
    /// Bytes are damaged that were on the disk once. [`repair`](crate::repair) keeps what can
    /// be read.
    Damaged,
    /// The file ends before bytes that were on the disk once: it was cut.
    /// [`repair`](crate::repair) keeps what is left.
    CutShort,
    /// Another writer has the log open.
    Locked,
    /// A row cannot be stored. [`Error::row`] counts from the call's first row.
    Row,
    /// The log was removed while it was open, or another file took its name.
    Replaced,
    /// An earlier sync or compaction failed, so that nobody knows what is on the disk. Open the
    /// log again.
    Broken,
    /// The operating system reported an error.
    Io,
}

/// What went wrong, at which offset of the file, and in which row.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    offset: Option<u64>,
    row: Option<u64>,
    cause: Option<Cause>,
}

enum Cause {
    Core(livebuf::Error),
    Io(io::Error),
    #[cfg(feature = "serde")]
    Serde(livebuf::SerdeError),
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Error {
        let message = message.into();
        Error(Box::new(Inner { kind, message, offset: None, row: None, cause: None }))
    }

    /// Damage at an offset of the file.
    #[cold]
    pub(crate) fn damaged(offset: u64, message: impl Into<Cow<'static, str>>) -> Error {
        let mut error = Error::new(ErrorKind::Damaged, message);
        error.0.offset = Some(offset);
        error
    }

    #[cold]
    pub(crate) fn at(mut self, offset: u64) -> Error {
        self.0.offset = Some(offset);
        self
    }

    /// The same, of this row of a call. A row that is named already stays.
    #[cold]
    pub(crate) fn of_row(mut self, row: u64) -> Error {
        if self.0.kind == ErrorKind::Row {
            self.0.row.get_or_insert(row);
        }
        self
    }

    #[cold]
    pub(crate) fn because(mut self, core: livebuf::Error) -> Error {
        self.0.cause = Some(Cause::Core(core));
        self
    }

    #[cold]
    pub(crate) fn io(message: impl Into<Cow<'static, str>>, cause: io::Error) -> Error {
        let mut error = Error::new(ErrorKind::Io, message);
        error.0.cause = Some(Cause::Io(cause));
        error
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The byte of the file where it went wrong, where one is known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The row of the call that cannot be stored, the first being 0. `None` if the call adds only one,
    /// or if it is not known: see [`Log::extend`](crate::Log::extend).
    pub fn row(&self) -> Option<u64> {
        self.0.row
    }

    /// The core's error behind this one, if there is one.
    pub fn core_error(&self) -> Option<livebuf::Error> {
        match &self.0.cause {
            Some(Cause::Core(core)) => Some(*core),
            #[cfg(feature = "serde")]
            Some(Cause::Serde(serde)) => Some(serde.error()),
            _ => None,
        }
    }

    /// The system's error behind this one, if there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.0.cause {
            Some(Cause::Io(io)) => Some(io),
            _ => None,
        }
    }
}

/// A value that cannot be stored.
impl From<livebuf::Error> for Error {
    #[cold]
    fn from(core: livebuf::Error) -> Error {
        Error::new(ErrorKind::Row, "the row cannot be stored").because(core)
    }
}

#[cfg(feature = "serde")]
impl From<livebuf::SerdeError> for Error {
    #[cold]
    fn from(serde: livebuf::SerdeError) -> Error {
        let mut error = Error::new(ErrorKind::Row, "the row cannot be stored");
        error.0.cause = Some(Cause::Serde(serde));
        error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, offset, row, cause, .. } = &*self.0;
        f.write_str(message)?;
        if let Some(row) = row {
            write!(f, " (row {row} of the call)")?;
        }
        if let Some(offset) = offset {
            write!(f, ", at offset {offset}")?;
        }
        match cause {
            Some(Cause::Core(core)) => write!(f, ": {core}"),
            Some(Cause::Io(io)) => write!(f, ": {io}"),
            #[cfg(feature = "serde")]
            Some(Cause::Serde(serde)) => write!(f, ": {serde}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            Some(Cause::Core(core)) => Some(core),
            Some(Cause::Io(io)) => Some(io),
            #[cfg(feature = "serde")]
            Some(Cause::Serde(serde)) => Some(serde),
            None => None,
        }
    }
}
