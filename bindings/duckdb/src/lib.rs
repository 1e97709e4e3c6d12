//! LiveBuf documents in DuckDB: a loadable extension.
//!
//! `README.md` has each function with an example. It calls the functions of DuckDB's C extension
//! API v1.2.0, and no others. Files use those above them in this list only: `error` (what can go
//! wrong), `api` (DuckDB's memory), `scalar` (functions of documents in columns), `cast` (the
//! type `LIVEBUF`), `columns` (Arrow's columns as vectors), `source` (files), `table`
//! (`read_livebuf`).

mod api;
mod cast;
mod columns;
mod error;
mod scalar;
mod source;
mod table;

use error::{Fault, caught};
use libduckdb_sys::*;
use std::ffi::{c_char, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// The API that is asked for. Its functions come first in DuckDB's table.
const VERSION: &str = "v1.2.0";
/// Bytes of the functions that v1.2.0 has: up to the first one that came later.
const STABLE: usize = offset_of!(duckdb_ext_api_v1, duckdb_create_instance_cache);

/// What DuckDB calls when it loads the extension.
///
/// # Safety
/// Only DuckDB may call it: with its own handle, and ways to get at the database and the API.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_init_c_api(
    info: duckdb_extension_info,
    access: *const duckdb_extension_access,
) -> bool {
    // SAFETY: DuckDB's own arguments, handed on.
    match caught(|| unsafe { load(info, access) }) {
        Ok(loaded) => loaded,
        Err(fault) => {
            let message = fault.message("livebuf");
            // SAFETY: the same; DuckDB copies the message.
            unsafe {
                if let Some(set_error) = (*access).set_error {
                    set_error(info, message.as_ptr());
                }
            }
            false
        }
    }
}

/// The table that is being taken over, and one load at a time.
static TABLE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static LOADING: Mutex<()> = Mutex::new(());

extern "C" fn given(_: duckdb_extension_info, _: *const c_char) -> *const c_void {
    TABLE.load(Ordering::Acquire)
}

/// # Safety
/// As [`livebuf_init_c_api`].
#[allow(unsafe_code)]
unsafe fn load(
    info: duckdb_extension_info,
    access: *const duckdb_extension_access,
) -> Result<bool, Fault> {
    let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: DuckDB's table has the functions of the version at least. libduckdb-sys would read
    // those of later versions, too, which an older DuckDB does not have: it gets a copy that ends
    // with v1.2.0.
    unsafe {
        let theirs = &*access;
        let (Some(get_api), Some(get_database)) = (theirs.get_api, theirs.get_database) else {
            return Ok(false);
        };
        let version = std::ffi::CString::new(VERSION).unwrap_or_default();
        let api = get_api(info, version.as_ptr());
        if api.is_null() {
            // DuckDB has set the error.
            return Ok(false);
        }
        let mut copy = MaybeUninit::<duckdb_ext_api_v1>::zeroed();
        std::ptr::copy_nonoverlapping(api.cast::<u8>(), copy.as_mut_ptr().cast(), STABLE);
        TABLE.store(copy.as_mut_ptr().cast(), Ordering::Release);
        let ours = duckdb_extension_access { get_api: Some(given), ..*theirs };
        let taken = duckdb_rs_extension_api_init(info, &ours, VERSION);
        TABLE.store(std::ptr::null_mut(), Ordering::Release);
        if !taken.map_err(|message| Fault::Other(message.to_owned()))? {
            return Ok(false);
        }
        let database = get_database(info);
        let mut connection = std::ptr::null_mut();
        if database.is_null()
            || duckdb_connect(*database, &mut connection) != duckdb_state_DuckDBSuccess
        {
            return Err(Fault::Other("the database cannot be connected to".to_owned()));
        }
        let registered = register(connection);
        duckdb_disconnect(&mut connection);
        registered.map(|()| true)
    }
}

/// Makes all functions known to the database.
///
/// # Safety
/// The connection is open.
#[allow(unsafe_code)]
unsafe fn register(connection: duckdb_connection) -> Result<(), Fault> {
    // SAFETY: the caller says that the connection is open, which is all that these ask.
    unsafe {
        scalar::register(connection)?;
        cast::register(connection)?;
        table::register(connection)?;
    }
    Ok(())
}
