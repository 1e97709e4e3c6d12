//! Both sides' structures have one layout: moving them across, which is all that is unsafe.
#![allow(unsafe_code)]

use std::ptr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, Schema};
use livebuf::DocBuf;
use livebuf_arrow::{
    ArrowArray, ArrowArrayStream, ArrowSchema, Error, ImportOptions, RecordBatch, from_batch,
    from_stream,
};

pub(crate) fn schema_to_arrow(mut schema: ArrowSchema) -> Schema {
    // SAFETY: the structure is ours, and moved away.
    let schema = unsafe { FFI_ArrowSchema::from_raw(ptr::from_mut(&mut schema).cast()) };
    Schema::try_from(&schema).unwrap()
}

pub(crate) fn schema_from_arrow(schema: &Schema) -> ArrowSchema {
    let mut schema = FFI_ArrowSchema::try_from(schema).unwrap();
    // SAFETY: the structure is Arrow's, and moved away.
    unsafe { ArrowSchema::take(ptr::from_mut(&mut schema).cast()) }
}

/// The batch in the `arrow` crate, which checked all of it.
pub(crate) fn to_arrow(batch: RecordBatch) -> arrow_array::RecordBatch {
    let (mut schema, mut array) = batch.into_parts();
    // SAFETY: the structures are ours, and moved away.
    let data = unsafe {
        let schema = FFI_ArrowSchema::from_raw(ptr::from_mut(&mut schema).cast());
        let array = FFI_ArrowArray::from_raw(ptr::from_mut(&mut array).cast());
        from_ffi(array, &schema).unwrap()
    };
    assert!(schema.is_released() && array.is_released());
    data.validate_full().unwrap();
    StructArray::from(data).into()
}

pub(crate) fn stream_to_arrow(mut stream: ArrowArrayStream) -> RecordBatchStreamReader {
    // SAFETY: the structure is ours, and moved away.
    unsafe { RecordBatchStreamReader::from_raw(ptr::from_mut(&mut stream).cast()).unwrap() }
}

pub(crate) fn from_arrow(array: &dyn Array) -> RecordBatch {
    let (mut array, mut schema) = to_ffi(&array.to_data()).unwrap();
    // SAFETY: the structures are Arrow's, belong together, and are moved away.
    unsafe {
        let schema = ArrowSchema::take(ptr::from_mut(&mut schema).cast());
        RecordBatch::new(schema, ArrowArray::take(ptr::from_mut(&mut array).cast()))
    }
}

pub(crate) fn stream_from_arrow(
    schema: &Schema,
    batches: Vec<Result<arrow_array::RecordBatch, ArrowError>>,
) -> ArrowArrayStream {
    let batches = RecordBatchIterator::new(batches, schema.clone().into());
    let mut stream = FFI_ArrowArrayStream::new(Box::new(batches));
    // SAFETY: the structure is Arrow's, and moved away.
    unsafe { ArrowArrayStream::take(ptr::from_mut(&mut stream).cast()) }
}

/// An array of the `arrow` crate as a document.
pub(crate) fn import(array: &dyn Array) -> Result<DocBuf, Error> {
    from_batch(&from_arrow(array), &ImportOptions::new())
}

/// A record batch as a document, by both ways: as a batch and as a stream.
pub(crate) fn import_rows(batch: &arrow_array::RecordBatch) -> DocBuf {
    let document = import(&StructArray::from(batch.clone())).unwrap();
    let half = batch.num_rows() / 2;
    let batches = vec![Ok(batch.slice(0, half)), Ok(batch.slice(half, batch.num_rows() - half))];
    let stream = stream_from_arrow(&batch.schema(), batches);
    let streamed = from_stream(stream, &ImportOptions::new()).unwrap();
    assert_eq!(text(&document), text(&streamed));
    document
}

pub(crate) fn text(document: &DocBuf) -> String {
    livebuf_json::to_string(document.valid().unwrap().root()).unwrap()
}
