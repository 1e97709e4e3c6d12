//! What can go wrong, and how SQLite is told.

use livebuf_json::ErrorKind as JsonErrorKind;
use livebuf_patch::PatchError;
use livebuf_query::QueryError;
use livebuf_sql::{PathError, is_damage};
use rusqlite::ffi;
use std::ffi::c_int;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The oldest version of SQLite that has all that is called and asked for here.
/// `SQLITE_INNOCUOUS` is the youngest.
pub(crate) const OLDEST: c_int = 3_031_000;

/// Why a function has no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The core: damage, or an edit that is refused.
    Core(livebuf::Error),
    /// The same, and the path that was followed.
    At(livebuf::Error, String),
    /// Text that is no JSON, or a value that cannot be printed.
    Json(livebuf_json::Error),
    /// A patch that is none, or cannot be applied.
    Patch(PatchError),
    /// Text that is no query.
    Query(QueryError),
    /// Text that is no path.
    Path(PathError),
    /// The number of an argument, from 1, and what it must be.
    Argument(usize, &'static str),
    /// How many arguments there are, and which counts are right.
    Count(usize, &'static str),
    /// The row of a table whose document this is.
    Row(i64, Box<Fault>),
    /// An SQLite that is too old: its version, as a number; 0 for what is none.
    Version(c_int),
    /// `sqlite3_interrupt` was called.
    Interrupted,
    /// A function that this SQLite was built without.
    Omitted(&'static str),
    /// Another SQLite in the process has loaded the extension.
    Another,
    /// SQLite itself.
    Sqlite(rusqlite::Error),
    /// A fault of this extension.
    Panic,
}

impl Fault {
    /// The error that SQLite is told: the function, and what is wrong.
    #[cold]
    pub(crate) fn of(self, function: &str) -> rusqlite::Error {
        let code = match self.code() {
            code @ (ffi::SQLITE_BUSY | ffi::SQLITE_INTERRUPT | ffi::SQLITE_NOMEM) => code,
            _ => ffi::SQLITE_ERROR,
        };
        let error = ffi::Error::new(code);
        rusqlite::Error::SqliteFailure(error, Some(format!("{function}: {self}")))
    }

    /// The code of SQLite that comes nearest.
    pub(crate) fn code(&self) -> c_int {
        match self {
            Fault::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => error.extended_code & 0xFF,
            Fault::Row(_, fault) => fault.code(),
            Fault::Interrupted => ffi::SQLITE_INTERRUPT,
            _ => ffi::SQLITE_ERROR,
        }
    }

    /// The same, with the path that was followed.
    #[cold]
    pub(crate) fn at(self, path: &str) -> Fault {
        match self {
            Fault::Core(error) => Fault::At(error, path.to_owned()),
            other => other,
        }
    }

    /// Whether the bytes of a document are at fault, or are none.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Fault::Core(error) | Fault::At(error, _) => is_damage(error),
            Fault::Json(error) => error.kind() == JsonErrorKind::Document,
            Fault::Row(_, fault) => fault.is_damage(),
            _ => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Core(error) => write!(f, "{error}"),
            Fault::At(error, path) => write!(f, "{error}, on the way to {path}"),
            Fault::Json(error) => write!(f, "{error}"),
            Fault::Patch(error) => write!(f, "{error}"),
            Fault::Query(error) => write!(f, "{error}"),
            Fault::Path(error) => write!(f, "{error}"),
            Fault::Argument(number, expected) => write!(f, "argument {number} must be {expected}"),
            Fault::Count(count, expected) => write!(f, "{count} arguments, but {expected}"),
            Fault::Row(rowid, fault) => write!(f, "row {rowid}: {fault}"),
            Fault::Version(found) => {
                let name = |number: c_int| {
                    format!("{}.{}.{}", number / 1_000_000, number / 1000 % 1000, number % 1000)
                };
                let (oldest, found) = (name(OLDEST), name(*found));
                write!(f, "LiveBuf needs SQLite {oldest} or newer, and this is {found}")
            }
            Fault::Interrupted => f.write_str("interrupted"),
            Fault::Omitted(name) => {
                write!(f, "LiveBuf needs {name}, which this SQLite was built without")
            }
            Fault::Another => f.write_str(
                "another SQLite of this process has loaded LiveBuf: one at a time can use it",
            ),
            Fault::Sqlite(error) => write!(f, "{error}"),
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
from!(livebuf::Error => Core, livebuf_json::Error => Json, PatchError => Patch,
    QueryError => Query, rusqlite::Error => Sqlite);

impl From<PathError> for Fault {
    #[cold]
    fn from(error: PathError) -> Fault {
        match error {
            PathError::Core(error) => Fault::Core(error),
            malformed => Fault::Path(malformed),
        }
    }
}

/// Answers a panic as an error. rusqlite does so for functions, but not for virtual tables.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Fault::Panic))
}
