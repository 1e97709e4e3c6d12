//! `lb_read`: one value of a row's document, of which only the parts that are needed are read.

use crate::error::Fault;
use crate::function::scalar;
use crate::value::{Sql, extracted, limit, text};
use livebuf::{Partial, PartialError, ReadAt};
use livebuf_sql::Path;
use rusqlite::blob::Blob;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result as SqlResult};
use std::cell::Cell;

/// It reads tables that its arguments do not show. So it is not deterministic, and statements
/// alone may call it: views and triggers of a foreign database must not.
pub(crate) fn register(db: &Connection) -> SqlResult<()> {
    let flags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DIRECTONLY);
    scalar(db, "lb_read", &[5, 6], flags, lb_read)
}

/// Most bytes of memory that are kept for the next call.
const KEPT: usize = 16 << 20;

thread_local! {
    /// Memory for a document: clearing it would take longer than reading a value.
    static MEMORY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A blob in a table.
struct Stored<'c>(Blob<'c>);

impl ReadAt for Stored<'_> {
    type Error = rusqlite::Error;

    fn size(&mut self) -> SqlResult<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> SqlResult<()> {
        self.0.read_at_exact(buffer, offset as usize)
    }
}

/// `lb_read(schema, table, column, rowid, path)`; with `'null'` behind, NULL where the document
/// is damaged or none.
#[allow(unsafe_code)]
fn lb_read(context: &Context<'_>) -> Result<Sql, Fault> {
    let lenient = match context.len() {
        6 => match text(context, 5)? {
            Some("null") => true,
            Some("error") => false,
            _ => return Err(Fault::Argument(6, "'null' or 'error'")),
        },
        _ => false,
    };
    let (Some(schema), Some(table), Some(column)) =
        (text(context, 0)?, text(context, 1)?, text(context, 2)?)
    else {
        return Err(Fault::Argument(1, "the name of a schema; then come a table and a column"));
    };
    let row = match context.get_raw(3) {
        ValueRef::Integer(row) => row,
        ValueRef::Null => return Ok(Sql::Null),
        _ => return Err(Fault::Argument(4, "a rowid")),
    };
    let Some(path) = text(context, 4)? else { return Ok(Sql::Null) };
    // SAFETY: the connection is used while the function runs, and not kept.
    let db = unsafe { context.get_connection() }?;
    let answer = match db.blob_open(schema, table, column, row, true) {
        Ok(blob) => read(&db, blob, path).map_err(|fault| fault.at(path)),
        Err(error) if is_null(&error) => return Ok(Sql::Null),
        Err(error) => Err(advised(error, column).into()),
    };
    match answer {
        Err(fault) if lenient && fault.is_damage() => Ok(Sql::Null),
        Err(fault) => Err(Fault::Row(row, Box::new(fault))),
        answer => answer,
    }
}

/// Whether the row holds NULL, for which SQLite opens no blob.
fn is_null(error: &rusqlite::Error) -> bool {
    error.to_string().contains("cannot open value of type null")
}

/// The error of a table whose blobs SQLite never opens, with what to do: its kind is at fault, not
/// a value.
fn advised(error: rusqlite::Error, column: &str) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, Some(text))
            if text.starts_with("cannot open") && !text.starts_with("cannot open value") =>
        {
            let advice =
                format!("SQLite reads no parts of its blobs, so use lb_extract({column}, path)");
            rusqlite::Error::SqliteFailure(code, Some(format!("{text}; {advice}")))
        }
        other => other,
    }
}

fn read(db: &Connection, blob: Blob<'_>, path: &str) -> Result<Sql, Fault> {
    let way = Path::new(path)?;
    let mut partial = match Partial::open_in(Stored(blob), MEMORY.take()) {
        Ok(partial) => partial,
        Err(PartialError::Source(error)) => return Err(error.into()),
        Err(PartialError::Document(error)) => return Err(error.into()),
    };
    let answer = partial.read(|doc| match way.clone().find(doc.root())? {
        Some(value) => extracted(value, || limit(db)),
        None => Ok(Sql::Null),
    });
    let memory = partial.into_buffer();
    if memory.len() <= KEPT {
        MEMORY.set(memory);
    }
    answer?
}
