//! LiveBuf tables to and from Apache Arrow.
#![deny(unsafe_code)]

mod column;
mod document;
mod error;
mod export;
mod ffi;
mod import;
mod infer;
mod schema;
mod text;

pub use document::Document;
pub use error::{Error, ErrorKind};
pub use export::{ExportOptions, Exporter, TextLayout};
pub use ffi::{ArrowArray, ArrowArrayStream, ArrowSchema, RecordBatch};
pub use import::{ImportOptions, from_batch, from_stream};
