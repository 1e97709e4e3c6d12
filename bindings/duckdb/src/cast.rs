//! The type `LIVEBUF`: a BLOB under a name of its own, which casts take from and to JSON.
//!
//! A BLOB itself keeps DuckDB's own casts.

use crate::api::{BLOB, Type, VARCHAR, Vector};
use crate::error::{Fault, caught};
use crate::scalar::{printed, read};
use libduckdb_sys::*;
use livebuf::Doc;
use livebuf_json::ReadOptions;
use std::borrow::Cow;

/// Makes the type and its casts known.
///
/// # Safety
/// The connection is open.
#[allow(unsafe_code)]
pub(crate) unsafe fn register(connection: duckdb_connection) -> Result<(), Fault> {
    let livebuf = Type::named(BLOB, c"LIVEBUF");
    let (text, json) = (Type::of(VARCHAR), Type::named(VARCHAR, c"JSON"));
    // SAFETY: DuckDB copies the type.
    let made =
        unsafe { duckdb_register_logical_type(connection, livebuf.raw(), std::ptr::null_mut()) };
    if made != duckdb_state_DuckDBSuccess {
        return Err(Fault::Other("DuckDB does not take the type LIVEBUF".to_owned()));
    }
    // Functions take a BLOB: so a LIVEBUF becomes one by itself.
    let blob = Type::of(BLOB);
    let casts: [(_, _, duckdb_cast_function_t, i64); 6] = [
        (&text, &livebuf, Some(from_json), -1),
        (&json, &livebuf, Some(from_json), -1),
        (&livebuf, &text, Some(to_json), -1),
        (&livebuf, &json, Some(to_json), -1),
        (&livebuf, &blob, Some(same), 0),
        (&blob, &livebuf, Some(same), -1),
    ];
    for (from, to, function, implicit) in casts {
        // SAFETY: what is made is destroyed, and DuckDB copies types.
        let state = unsafe {
            let mut cast = duckdb_create_cast_function();
            duckdb_cast_function_set_source_type(cast, from.raw());
            duckdb_cast_function_set_target_type(cast, to.raw());
            duckdb_cast_function_set_function(cast, function);
            duckdb_cast_function_set_implicit_cast_cost(cast, implicit);
            let state = duckdb_register_cast_function(connection, cast);
            duckdb_destroy_cast_function(&mut cast);
            state
        };
        if state != duckdb_state_DuckDBSuccess {
            return Err(Fault::Other("DuckDB does not take a cast of LIVEBUF".to_owned()));
        }
    }
    Ok(())
}

/// # Safety
/// Only DuckDB calls it, for casts of [`register`].
#[allow(unsafe_code)]
unsafe extern "C" fn from_json(
    info: duckdb_function_info,
    count: idx_t,
    input: duckdb_vector,
    output: duckdb_vector,
) -> bool {
    // SAFETY: DuckDB's own arguments, handed on.
    unsafe {
        cast(info, count, input, output, |text| Ok(Cow::Owned(read(text, &ReadOptions::new())?)))
    }
}

/// # Safety
/// The same.
#[allow(unsafe_code)]
unsafe extern "C" fn to_json(
    info: duckdb_function_info,
    count: idx_t,
    input: duckdb_vector,
    output: duckdb_vector,
) -> bool {
    // SAFETY: DuckDB calls this with a cast and two vectors of its own, of so many rows.
    unsafe {
        cast(info, count, input, output, |bytes| {
            let printed = printed(Doc::open(bytes)?.root())?.unwrap_or_default();
            Ok(Cow::Owned(printed.into_owned().into_bytes()))
        })
    }
}

/// # Safety
/// The same.
#[allow(unsafe_code)]
unsafe extern "C" fn same(
    info: duckdb_function_info,
    count: idx_t,
    input: duckdb_vector,
    output: duckdb_vector,
) -> bool {
    // SAFETY: DuckDB calls this with a cast and two vectors of its own, of so many rows.
    unsafe { cast(info, count, input, output, |bytes| Ok(Cow::Borrowed(bytes))) }
}

/// Casts each row. A row that cannot be is NULL for `TRY_CAST`, else an error.
///
/// # Safety
/// The vectors are flat, and have `count` rows.
#[allow(unsafe_code)]
unsafe fn cast(
    info: duckdb_function_info,
    count: idx_t,
    input: duckdb_vector,
    output: duckdb_vector,
    work: impl for<'b> Fn(&'b [u8]) -> Result<Cow<'b, [u8]>, Fault>,
) -> bool {
    let done = caught(|| {
        // SAFETY: the caller says that the vectors are DuckDB's, and have so many rows.
        let (given, mut out, lenient) = unsafe {
            let mode = duckdb_cast_function_get_cast_mode(info);
            let lenient = mode == duckdb_cast_mode_DUCKDB_CAST_TRY;
            let (given, out) =
                (Vector::new(input, count as usize), Vector::new(output, count as usize));
            (given, out, lenient)
        };
        let given = given.texts()?;
        let mut whole = true;
        for row in 0..out.rows() {
            match given.get(row).map(&work) {
                Some(Ok(made)) => out.put(row, &made)?,
                None => out.set_null(row),
                Some(Err(fault)) => {
                    if !lenient {
                        return Err(Fault::Row(row, Box::new(fault)));
                    }
                    out.set_null(row);
                    whole = false;
                }
            }
        }
        Ok(whole)
    });
    match done {
        Ok(whole) => whole,
        Err(fault) => {
            // SAFETY: DuckDB copies the message.
            unsafe { duckdb_cast_function_set_error(info, fault.message("LIVEBUF").as_ptr()) };
            false
        }
    }
}
