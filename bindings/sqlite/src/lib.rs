//! LiveBuf documents in SQLite: a loadable extension.
//!
//! `docs/sqlite.md` has each function with an example. Files use those above them in this list only:
//! `error` (what can go wrong), `value` (values of SQL and of
//! documents), `function` (how SQLite gets to know one), `read`, `blob` (`lb_read`), `edit`,
//! `rows` (table-valued functions), `group` (aggregates).

mod blob;
mod edit;
mod error;
mod function;
mod group;
mod read;
mod rows;
mod value;

use rusqlite::{Connection, Result, ffi};
use std::ffi::{c_char, c_int};

/// What SQLite calls when it loads the extension.
///
/// # Safety
/// Only SQLite may call it: with a connection, a place for a message, and its table of functions.
#[allow(unsafe_code)]
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
