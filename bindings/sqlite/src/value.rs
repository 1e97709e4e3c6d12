//! Values of SQL, and values of documents: one as the other.

use crate::error::Fault;
use livebuf::{Doc, DocBuf, Extended, New, Value, View};
use livebuf_sql::{Number, json};
use rusqlite::functions::{Context, SqlFnOutput, SubType};
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ffi};

/// The subtype by which SQLite's JSON functions know text of JSON.
const JSON: u32 = b'J' as u32;

/// A function's answer.
#[derive(Clone, Debug)]
pub(crate) enum Sql {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// Text that SQLite's JSON functions take as JSON.
    Json(String),
    Blob(Vec<u8>),
    /// The argument of this index, as it came.
    Argument(usize),
}

impl Sql {
    /// The answer as rusqlite takes it.
    pub(crate) fn output(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(match self {
            Sql::Null => ValueRef::Null,
            Sql::Integer(value) => ValueRef::Integer(*value),
            Sql::Real(value) => ValueRef::Real(*value),
            Sql::Text(text) | Sql::Json(text) => ValueRef::Text(text.as_bytes()),
            Sql::Blob(bytes) => ValueRef::Blob(bytes),
            Sql::Argument(index) => return ToSqlOutput::Arg(*index),
        })
    }
}

impl SqlFnOutput for Sql {
    fn to_sql(&self) -> rusqlite::Result<(ToSqlOutput<'_>, SubType)> {
        Ok((self.output(), matches!(self, Sql::Json(_)).then_some(JSON)))
    }
}

/// A document that a function was given; none for NULL.
pub(crate) fn document<'a>(
    context: &'a Context<'_>,
    index: usize,
) -> Result<Option<Doc<'a>>, Fault> {
    match context.get_raw(index) {
        ValueRef::Blob(bytes) => Ok(Some(Doc::open(bytes)?)),
        ValueRef::Null => Ok(None),
        _ => Err(Fault::Argument(index + 1, "a LiveBuf document: lb(json) makes one from JSON")),
    }
}

/// Text that a function was given, such as a path; none for NULL.
pub(crate) fn text<'a>(context: &'a Context<'_>, index: usize) -> Result<Option<&'a str>, Fault> {
    match context.get_raw(index) {
        ValueRef::Text(text) => match str::from_utf8(text) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Fault::Argument(index + 1, "text in UTF-8")),
        },
        ValueRef::Null => Ok(None),
        _ => Err(Fault::Argument(index + 1, "text")),
    }
}

/// Most bytes that a text or blob may have here: `SQLITE_LIMIT_LENGTH` of the connection.
#[allow(unsafe_code)]
pub(crate) fn most_bytes(context: &Context<'_>) -> Result<u64, Fault> {
    // SAFETY: the connection is used while the function runs, and not kept.
    let db = unsafe { context.get_connection() }?;
    limit(&db)
}

/// [`most_bytes`] of a connection.
pub(crate) fn limit(db: &Connection) -> Result<u64, Fault> {
    Ok(u64::try_from(db.limit(Limit::SQLITE_LIMIT_LENGTH)?).unwrap_or(0))
}

/// A value as `->>` gives it: text of JSON for objects and arrays. `most` bytes of text are
/// printed at most.
pub(crate) fn extracted(
    value: Value<'_>,
    most: impl FnOnce() -> Result<u64, Fault>,
) -> Result<Sql, Fault> {
    Ok(match value.view()? {
        View::Null => Sql::Null,
        View::Bool(value) => Sql::Integer(value.into()),
        View::Int(value) => Sql::Integer(value),
        View::Uint(value) => Sql::Real(value as f64),
        // SQLite makes NULL of NaN.
        View::Float(value) => Sql::Real(value),
        View::NumberText(text) => number(text),
        View::String(text) => Sql::Text(text.to_owned()),
        View::Bytes(bytes) => Sql::Blob(bytes.to_vec()),
        View::Object(_) | View::Array(_) => Sql::Text(json(value, most()?)?),
        View::Extended(Extended::Decimal(value)) => number(&value.to_string()),
        View::Extended(value) => Sql::Text(value.to_string()),
        _ => return Err(livebuf::Error::new(livebuf::ErrorKind::Unsupported, 0).into()),
    })
}

/// A number by its text: an integer if it is one that SQLite holds, else the nearest float.
fn number(text: &str) -> Sql {
    match livebuf_sql::number(text) {
        Some(Number::Integer(value)) => Sql::Integer(value),
        Some(Number::Float(value)) => Sql::Real(value),
        None => Sql::Null,
    }
}

/// A value of SQL that goes into a document.
pub(crate) enum Given<'a> {
    /// A value that SQL has.
    Plain(New<'a>),
    /// Text of JSON that was read.
    Read(Box<DocBuf>),
}

impl<'a> Given<'a> {
    /// An argument of a function.
    ///
    /// A blob that begins as a document is one; so its value is taken. Any other is bytes. Text
    /// that a JSON function made is read as JSON.
    pub(crate) fn argument(context: &'a Context<'_>, index: usize) -> Result<Given<'a>, Fault> {
        let value = context.get_raw(index);
        Ok(Given::Plain(match value {
            ValueRef::Null => New::Null,
            ValueRef::Integer(value) => New::Int(value),
            ValueRef::Real(value) => New::Float(value),
            ValueRef::Text(text) if context.get_subtype(index) == JSON => {
                return Ok(Given::Read(Box::new(livebuf_json::from_slice(text)?)));
            }
            ValueRef::Text(_) => New::Str(self::text(context, index)?.unwrap_or_default()),
            ValueRef::Blob(bytes) if bytes.starts_with(&livebuf::layout::MAGIC) => {
                New::Copy(Doc::open(bytes)?.root())
            }
            ValueRef::Blob(bytes) => New::Bytes(bytes),
        }))
    }

    pub(crate) fn as_new(&self) -> New<'_> {
        match self {
            Given::Plain(new) => *new,
            Given::Read(doc) => New::Copy(doc.root()),
        }
    }
}

/// A document that is an answer: its used bytes, and zeros up to `length` bytes.
pub(crate) fn blob(doc: &DocBuf, length: usize) -> Sql {
    let used = doc.as_bytes();
    let mut bytes = Vec::with_capacity(used.len().max(length));
    bytes.extend_from_slice(used);
    bytes.resize(used.len().max(length), 0);
    Sql::Blob(bytes)
}

/// Whether SQLite can hold this many bytes.
pub(crate) fn fits(context: &Context<'_>, bytes: u64) -> Result<(), Fault> {
    match bytes <= most_bytes(context)? {
        true => Ok(()),
        false => Err(Fault::Sqlite(rusqlite::Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_TOOBIG),
            Some("string or blob too big".to_owned()),
        ))),
    }
}
