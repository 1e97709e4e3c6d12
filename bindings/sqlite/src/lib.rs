//! LiveBuf documents in SQLite: a loadable extension.
//!
//! `docs/sqlite.md` has each function with an example. Files use those above them in this list only:
//! `error` (what can go wrong), `host` (the SQLite that
//! loads it), `value` (values of SQL and of documents), `function` (how SQLite gets to know one), `read`, `blob` (`lb_read`), `edit`,
//! `rows` (table-valued functions), `group` (aggregates).

mod blob;
mod edit;
mod error;
mod function;
mod group;
mod host;
mod read;
mod rows;
mod value;

use error::caught;
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
    // A panic must not reach SQLite: it would end the process.
    let loaded = caught(|| {
        // SAFETY: SQLite's own table.
        unsafe { host::begin(api) }?;
        // SAFETY: SQLite's own connection, which is not kept.
        Ok(register(&unsafe { Connection::from_handle(db) }?)?)
    });
    let Err(fault) = loaded else { return ffi::SQLITE_OK };
    // SAFETY: SQLite's own arguments.
    unsafe { host::tell(api, message, &fault.to_string()) };
    fault.code()
}

/// Makes all functions known to the connection.
fn register(db: &Connection) -> Result<()> {
    read::register(db)?;
    blob::register(db)?;
    edit::register(db)?;
    rows::register(db)?;
    group::register(db)
}
