//! What can go wrong, and how DuckDB is told.

use arrow_schema::ArrowError;
use livebuf_sql::{PathError, is_damage};
use std::ffi::CString;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a function has no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The core: damage.
    Core(livebuf::Error),
    /// The same, and the path that was followed.
    At(Box<Fault>, String),
    /// Text that is no JSON, or a value that cannot be printed.
    Json(livebuf_json::Error),
    /// Text that is no path.
    Path(PathError),
    /// The number of an argument, from 1, and what it must be.
    Argument(usize, &'static str),
    /// The row of the rows that DuckDB handed over at once.
    Row(usize, Box<Fault>),
    /// A file that is read, or a pattern of files.
    File(String, Box<Fault>),
    /// The rows of a file, as columns.
    Arrow(livebuf_arrow::Error),
    /// A log.
    Log(livebuf_log::Error),
    /// A message of its own.
    Other(String),
    /// A fault of this extension.
    Panic,
}

impl Fault {
    /// The same, with the path that was followed.
    #[cold]
    pub(crate) fn at(self, path: &str) -> Fault {
        match self {
            fault @ (Fault::Core(_) | Fault::Json(_)) => {
                Fault::At(Box::new(fault), path.to_owned())
            }
            other => other,
        }
    }

    /// The same, with the file that it is about.
    #[cold]
    pub(crate) fn in_file(self, name: &str) -> Fault {
        match self {
            Fault::File(..) | Fault::Panic => self,
            other => Fault::File(name.to_owned(), Box::new(other)),
        }
    }

    /// Whether the bytes of a document are at fault, or are none.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Fault::Core(error) => is_damage(error),
            Fault::Json(error) => error.kind() == livebuf_json::ErrorKind::Document,
            Fault::At(fault, _) | Fault::Row(_, fault) => fault.is_damage(),
            _ => false,
        }
    }

    /// The message for C: the function, and what is wrong.
    #[cold]
    pub(crate) fn message(&self, function: &str) -> CString {
        let text = format!("{function}: {self}").replace('\0', "\\0");
        CString::new(text).unwrap_or_default()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Core(error) => write!(f, "{error}"),
            Fault::At(fault, path) => write!(f, "{fault}, on the way to {path}"),
            Fault::Json(error) => write!(f, "{error}"),
            Fault::Path(error) => write!(f, "{error}"),
            Fault::Argument(number, expected) => write!(f, "argument {number} must be {expected}"),
            Fault::Row(row, fault) => write!(f, "row {row} of a chunk: {fault}"),
            Fault::File(name, fault) => write!(f, "{name}: {fault}"),
            Fault::Arrow(error) => write!(f, "{error}"),
            Fault::Log(error) => write!(f, "{error}"),
            Fault::Other(message) => f.write_str(message),
            Fault::Panic => f.write_str("a fault of the extension; please report it"),
        }
    }
}

macro_rules! from {
    ($($error:ty => $fault:ident),+) => {
        $(
            impl From<$error> for Fault {
                #[cold]
                fn from(error: $error) -> Fault {
                    Fault::$fault(error)
                }
            }
        )+
    };
}
from!(livebuf::Error => Core, livebuf_json::Error => Json, livebuf_arrow::Error => Arrow,
    livebuf_log::Error => Log);

macro_rules! from_text {
    ($($error:ty),+) => {
        $(
            impl From<$error> for Fault {
                #[cold]
                fn from(error: $error) -> Fault {
                    Fault::Other(error.to_string())
                }
            }
        )+
    };
}
from_text!(std::io::Error, glob::PatternError, glob::GlobError);

impl From<ArrowError> for Fault {
    #[cold]
    fn from(error: ArrowError) -> Fault {
        Fault::Other(match error {
            // Messages of the stream's producer say it all.
            ArrowError::CDataInterface(message) => match message.split_once("Producer error: ") {
                Some((_, message)) => message.to_owned(),
                None => message,
            },
            other => other.to_string(),
        })
    }
}

impl From<PathError> for Fault {
    #[cold]
    fn from(error: PathError) -> Fault {
        match error {
            PathError::Core(error) => Fault::Core(error),
            malformed => Fault::Path(malformed),
        }
    }
}

/// Answers a panic as an error: none may cross into C.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Fault::Panic))
}
