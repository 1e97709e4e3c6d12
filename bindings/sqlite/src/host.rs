//! The SQLite that loads the extension, and its table of functions.

use crate::error::{Fault, OLDEST};
use rusqlite::ffi::{self, sqlite3_api_routines as Table};
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::mem::{MaybeUninit, offset_of};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Bytes of the oldest version's table: this function was the first to be added after it. Later
/// versions only add.
const OLDEST_TABLE: usize = offset_of!(Table, create_filename);

/// The table that rusqlite was given, which it keeps for the process.
static GIVEN: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

/// The first version that says whether a connection is interrupted.
const TELLS_INTERRUPTS: c_int = 3_041_000;

thread_local! {
    /// The connection whose query runs.
    static RUNNING: Cell<*mut ffi::sqlite3> = const { Cell::new(ptr::null_mut()) };
}

/// Does the work of a connection's query, in which [`is_interrupted`] speaks of that connection.
pub(crate) fn run<T>(db: *mut ffi::sqlite3, work: impl FnOnce() -> T) -> T {
    let around = RUNNING.replace(db);
    let done = work();
    RUNNING.set(around);
    done
}

/// Whether somebody called `sqlite3_interrupt` for the connection whose query runs. An SQLite before
/// 3.41 does not tell.
#[allow(unsafe_code)]
pub(crate) fn is_interrupted() -> bool {
    let (api, db) = (GIVEN.load(Ordering::Acquire), RUNNING.get());
    if api.is_null() || db.is_null() {
        return false;
    }
    // SAFETY: all versions have this function in this place.
    let version = unsafe { (*api).libversion_number }.map_or(0, |version| {
        // SAFETY: the function takes no arguments, and may be called at any time.
        unsafe { version() }
    });
    // SAFETY: the tables of such versions have this function.
    let asked = (version >= TELLS_INTERRUPTS).then(|| unsafe { (*api).is_interrupted }).flatten();
    // SAFETY: the connection is open, since it waits for a row of its virtual table.
    asked.is_some_and(|asked| unsafe { asked(db) } != 0)
}

/// The version that rusqlite is told. It demands the one that it has declarations of, and looks up
/// all functions of that. None of those that may be missing is called here.
extern "C" fn declared() -> c_int {
    ffi::SQLITE_VERSION_NUMBER
}

/// Gives rusqlite the functions of this SQLite: those of [`OLDEST`], whatever its version is.
///
/// # Safety
/// `api` is null, or the table of an SQLite, which lives as long as the process uses that.
#[allow(unsafe_code)]
pub(crate) unsafe fn begin(api: *mut Table) -> Result<(), Fault> {
    // SAFETY: all versions have this function in this place.
    let asked = (!api.is_null()).then(|| unsafe { (*api).libversion_number }).flatten();
    // SAFETY: the function takes no arguments, and may be called at any time.
    let version = asked.map_or(0, |asked| unsafe { asked() });
    if version < OLDEST {
        return Err(Fault::Version(version));
    }
    let mut known = MaybeUninit::<Table>::zeroed();
    // SAFETY: the host's table is of this version, or of a later one, which is longer. So these
    // bytes are there, and they are fewer than rusqlite's table has.
    unsafe { ptr::copy_nonoverlapping(api.cast::<u8>(), known.as_mut_ptr().cast(), OLDEST_TABLE) };
    // SAFETY: zeros are a table without functions, and the host's functions are of these types.
    let mut known = unsafe { known.assume_init() };
    macro_rules! needed {
        ($($name:ident)+) => { $(
            if known.$name.is_none() {
                return Err(Fault::Omitted(concat!("sqlite3_", stringify!($name))));
            }
        )+ };
    }
    // Functions that are called here, and that SQLite may be built without.
    needed!(blob_open blob_bytes blob_read blob_close create_module_v2 declare_vtab vtab_config);
    known.libversion_number = Some(declared);
    let given = GIVEN.compare_exchange(ptr::null_mut(), api, Ordering::AcqRel, Ordering::Acquire);
    if given.is_err_and(|given| given != api) {
        return Err(Fault::Another);
    }
    // SAFETY: a table of rusqlite's own type, whose functions it copies.
    match unsafe { ffi::rusqlite_extension_init2(&mut known) } {
        Ok(()) => Ok(()),
        Err(_) => Err(Fault::Version(version)),
    }
}

/// Leaves a message in SQLite's memory, as whoever loads an extension frees it there. Without
/// memory there is none.
///
/// # Safety
/// `api` as for [`begin`]; `message` is null or a place for a pointer.
#[allow(unsafe_code)]
pub(crate) unsafe fn tell(api: *mut Table, message: *mut *mut c_char, text: &str) {
    if api.is_null() || message.is_null() {
        return;
    }
    // SAFETY: all versions have this function in this place.
    let Some(malloc) = (unsafe { (*api).malloc }) else { return };
    let length = c_int::try_from(text.len() + 1).unwrap_or(0);
    // SAFETY: any size may be asked for.
    let memory = unsafe { malloc(length) }.cast::<u8>();
    if length == 0 || memory.is_null() {
        return;
    }
    // SAFETY: the memory has a byte more than the text, and the place is the caller's own.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
        memory.add(text.len()).write(0);
        message.write(memory.cast());
    }
}
