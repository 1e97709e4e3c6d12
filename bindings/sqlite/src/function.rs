//! How SQLite gets to know a function.

use crate::error::Fault;
use crate::value::Sql;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Result};
use std::ffi::c_int;

/// Such functions may stand in indexes, generated columns, views and triggers: they depend on
/// their arguments alone, and change nothing. They see whether an argument is text of JSON.
pub(crate) const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS)
    .union(FunctionFlags::SQLITE_SUBTYPE);

/// A function's arguments, and the answer.
pub(crate) type Function = fn(&Context<'_>) -> Result<Sql, Fault>;

/// Makes a function known, with each of these counts of arguments; -1 is any.
///
/// rusqlite catches panics of functions and reports them as errors.
pub(crate) fn scalar(
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
