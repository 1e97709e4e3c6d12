//! LiveBuf documents in SQLite: a loadable extension.
//!
//! `README.md` has each function with an example. Files use those above them in this list only:
//! `error` (what can go wrong), `path` (places in documents), `value` (values of SQL and of
//! documents), `read`, `blob` (`lb_read`), `edit`, `rows` (table-valued functions), `group`
//! (aggregates).

// What SQLite calls, and handles of it.
#![allow(unsafe_code)]

mod blob;
mod edit;
mod error;
mod group;
mod path;
mod read;
mod rows;
mod value;

use error::Fault;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Result, ffi};
use std::ffi::{c_char, c_int};
use value::Sql;

/// What SQLite calls when it loads the extension.
///
/// # Safety
/// Only SQLite may call it: with a connection, a place for a message, and its table of functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite's own arguments, handed on.
    unsafe { Connection::extension_init2(db, message, api, register) }
}

/// Makes all functions known to the connection.
fn register(db: Connection) -> Result<bool> {
    read::register(&db)?;
    blob::register(&db)?;
    edit::register(&db)?;
    rows::register(&db)?;
    group::register(&db)?;
    Ok(false)
}

/// Such functions may stand in indexes, generated columns, views and triggers: they depend on
/// their arguments alone, and change nothing. They see whether an argument is text of JSON.
const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS)
    .union(FunctionFlags::SQLITE_SUBTYPE);

/// A function's arguments, and the answer.
type Function = fn(&Context<'_>) -> Result<Sql, Fault>;

/// Makes a function known, with each of these counts of arguments; -1 is any.
///
/// rusqlite catches panics of functions and reports them as errors.
fn scalar(
    db: &Connection,
    name: &'static str,
    counts: &[c_int],
    flags: FunctionFlags,
    function: Function,
) -> Result<()> {
    counts.iter().try_for_each(|&count| {
        db.create_scalar_function(name, count, flags, move |context| {
            function(context).map_err(|fault| fault.of(name))
        })
    })
}
