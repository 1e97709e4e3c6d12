//! The one error type of this crate: a kind, the column and row, a message, a cause.

use std::borrow::Cow;
use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The document is damaged, or cannot be written: see [`Error::core_error`].
    Document,
    /// The document has no value at the pointer.
    NotFound,
    /// The value to export is no array.
    NotAnArray,
    /// A type or name that this crate or Arrow does not have.
    Unsupported,
    /// A value does not fit the type that the consumer requested.
    Cast,
    /// An array does not fit its schema, or a schema makes no sense.
    Mismatch,
    /// More columns, or more text in a batch, than is supported.
    Limit,
    /// A value cannot be printed as JSON: NaN or an infinity in a column of mixed values.
    Json,
    /// The other side reported an error of its own, or was released already.
    Producer,
}

/// What went wrong, and in which column and row.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    /// Names from the outermost column inwards.
    column: String,
    row: Option<usize>,
    message: Cow<'static, str>,
    core: Option<livebuf::Error>,
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Error {
        let (column, message) = (String::new(), message.into());
        Error(Box::new(Inner { kind, column, row: None, message, core: None }))
    }

    #[cold]
    pub(crate) fn at_row(mut self, row: usize) -> Error {
        self.0.row = Some(row);
        self
    }

    /// The other side says that there is no memory.
    pub(crate) fn of_memory(mut self) -> Error {
        self.0.core = Some(livebuf::Error::out_of_memory(0));
        self
    }

    /// The rows were counted from this one on.
    pub(crate) fn after_row(mut self, first: usize) -> Error {
        self.0.row = self.0.row.map(|row| row + first);
        self
    }

    /// Says which column it is that the error is in, from within outwards.
    #[cold]
    pub(crate) fn within(mut self, column: &str) -> Error {
        let inner = &mut self.0;
        inner.column = match inner.column.as_str() {
            "" => column.to_owned(),
            deeper if deeper.starts_with('[') => format!("{column}{deeper}"),
            deeper => format!("{column}.{deeper}"),
        };
        self
    }

    /// The same for the elements of lists, whose count is not the rows'.
    #[cold]
    pub(crate) fn within_list(mut self) -> Error {
        self.0.row = None;
        self.within("[]")
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The column that it went wrong in: names joined by dots, `[]` for the elements of
    /// lists. Empty where it is none in particular.
    pub fn column(&self) -> &str {
        &self.0.column
    }

    /// The row, where one is known.
    pub fn row(&self) -> Option<usize> {
        self.0.row
    }

    /// The core's error behind this one, if there is one.
    pub fn core_error(&self) -> Option<livebuf::Error> {
        self.0.core
    }
}

impl From<livebuf::Error> for Error {
    #[cold]
    fn from(core: livebuf::Error) -> Error {
        let mut error = Error::new(ErrorKind::Document, "the document cannot be read or written");
        error.0.core = Some(core);
        error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { column, row, message, core, .. } = &*self.0;
        if !column.is_empty() {
            write!(f, "column {column:?}")?;
            if let Some(row) = row {
                write!(f, ", row {row}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(message)?;
        match core {
            Some(core) => write!(f, ": {core}"),
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
        self.0.core.as_ref().map(|core| core as _)
    }
}
