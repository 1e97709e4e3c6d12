//! The Arrow C Data Interface: its three structures, and most `unsafe` code of this crate. The rest
//! is in `document` and `export`.
//!
//! Whoever holds one of these structures may rely on it being as the interface demands:
//! it was made by `made`, or the caller of an unsafe function here promised it. Their
//! fields are private for that reason.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface.html>
#![allow(unsafe_code)]

pub(crate) mod foreign;
pub(crate) mod made;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// `ARROW_FLAG_NULLABLE`.
const NULLABLE: i64 = 2;

/// The key under which a field's metadata names its extension type.
const EXTENSION: &[u8] = b"ARROW:extension:name";
/// The key under which it says more about that.
const PARAMETERS: &[u8] = b"ARROW:extension:metadata";
/// The canonical extension type of tensors of one shape.
const TENSOR: &[u8] = b"arrow.fixed_shape_tensor";
/// The canonical extension type of Variant, Parquet's type for values of any type.
const VARIANT: &[u8] = b"arrow.parquet.variant";
/// The canonical extension type of UUIDs.
const UUID: &[u8] = b"arrow.uuid";
/// The canonical extension type of texts that are JSON.
const JSON: &[u8] = b"arrow.json";

/// A schema, or a field of one, as the C Data Interface defines it.
///
/// Dropping it releases it.
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// An array of values as the C Data Interface defines it.
///
/// Dropping it releases it. One that this crate exported keeps the document it borrows
/// from alive until then.
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// A stream of arrays of one schema as the C Stream Interface defines it.
///
/// Dropping it releases it.
#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

macro_rules! structure {
    ($name:ident, $($field:ident: $empty:expr),+) => {
        impl $name {
            /// One that holds nothing: what others may write into.
            pub const fn released() -> Self {
                $name { $($field: $empty),+ }
            }

            /// Whether it holds nothing, or no longer.
            pub fn is_released(&self) -> bool {
                self.release.is_none()
            }

            /// Moves what is at `source` here, and leaves it released.
            ///
            /// # Safety
            /// `source` must be valid for reads and writes, and hold a structure as the C
            /// Data Interface demands it, or a released one. Until this one is released,
            /// nobody else may write what it leads to.
            pub unsafe fn take(source: *mut Self) -> Self {
                // SAFETY: `source` is valid for reads and writes, as the caller promises.
                unsafe { ptr::replace(source, Self::released()) }
            }

            /// Moves this to `target`, whose owner is to release it. What was there is
            /// overwritten.
            ///
            /// # Safety
            /// `target` must be valid for writes.
            pub unsafe fn give(self, target: *mut Self) {
                // SAFETY: `target` is valid for writes, as the caller promises.
                unsafe { ptr::write(target, self) }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it is as the interface demands it, so its callback may be
                    // called once; the callback clears itself.
                    unsafe { release(self) }
                }
            }
        }

        // SAFETY: the interface lets structures move between threads; those made here
        // hold nothing that may not.
        unsafe impl Send for $name {}
    };
}

structure!(ArrowSchema, format: ptr::null(), name: ptr::null(), metadata: ptr::null(), flags: 0,
    n_children: 0, children: ptr::null_mut(), dictionary: ptr::null_mut(), release: None,
    private_data: ptr::null_mut());
structure!(ArrowArray, length: 0, null_count: 0, offset: 0, n_buffers: 0, n_children: 0,
    buffers: ptr::null_mut(), children: ptr::null_mut(), dictionary: ptr::null_mut(),
    release: None, private_data: ptr::null_mut());
structure!(ArrowArrayStream, get_schema: None, get_next: None, get_last_error: None,
    release: None, private_data: ptr::null_mut());

// The layout on 64-bit targets is what C compilers make of the specification.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    size_of::<ArrowSchema>() == 72
        && size_of::<ArrowArray>() == 80
        && size_of::<ArrowArrayStream>() == 40
);

/// An array and the schema that says what it is: an array of structs is a record batch.
pub struct RecordBatch {
    schema: ArrowSchema,
    array: ArrowArray,
}

impl RecordBatch {
    /// Puts a schema and an array together.
    ///
    /// # Safety
    /// The array must be one of this schema.
    pub unsafe fn new(schema: ArrowSchema, array: ArrowArray) -> RecordBatch {
        RecordBatch { schema, array }
    }

    /// Schema and array, to be handed over.
    pub fn into_parts(self) -> (ArrowSchema, ArrowArray) {
        (self.schema, self.array)
    }

    /// Count of rows.
    pub fn rows(&self) -> usize {
        usize::try_from(self.array.length).unwrap_or(0)
    }
}
