//! Arrow's data between `livebuf-arrow` and the `arrow` crates, by the C Stream Interface.
#![allow(unsafe_code)]

use std::ptr;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema};
use livebuf_arrow::{ArrowArrayStream, ArrowSchema};

pub(crate) fn schema(schema: ArrowSchema) -> Result<Schema, ArrowError> {
    let mut theirs = FFI_ArrowSchema::empty();
    // SAFETY: both are the C Data Interface's structure, and `theirs` is released.
    unsafe { schema.give((&raw mut theirs).cast()) };
    Schema::try_from(&theirs)
}

pub(crate) fn to_arrow(stream: ArrowArrayStream) -> Result<RecordBatchStreamReader, ArrowError> {
    let mut theirs = FFI_ArrowArrayStream::empty();
    // SAFETY: both are the C Stream Interface's structure, and `theirs` is released.
    unsafe { stream.give((&raw mut theirs).cast()) };
    RecordBatchStreamReader::try_new(theirs)
}

/// The reader must not panic: it is called through C.
pub(crate) fn from_arrow(reader: Box<dyn RecordBatchReader + Send>) -> ArrowArrayStream {
    let mut theirs = FFI_ArrowArrayStream::new(reader);
    // SAFETY: both are the C Stream Interface's structure, made by the arrow crate, which keeps to
    // the interface. It is moved out, and not used again.
    unsafe { ArrowArrayStream::take(ptr::from_mut(&mut theirs).cast()) }
}
