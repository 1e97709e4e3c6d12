//! LiveBuf tables to Apache Arrow and back, over the [Arrow C Data Interface].
//!
//! An array of objects becomes record batches, with a column for each key, and so does an object
//! of objects, with a column of its own keys. Record batches become an array of objects. The interface is three C structures, which are defined
//! here: this crate depends on no version of Arrow, and exchanges data with all of them,
//! in any language.
//!
//! ```
//! use std::sync::Arc;
//! use livebuf_arrow::{Exporter, ImportOptions, from_stream};
//!
//! let document = livebuf_json::from_str(r#"{"laps": [{"lap": 1, "time": 88.5}, {"lap": 2}]}"#)?;
//! let stream = Exporter::new(Arc::new(document))?.at("/laps")?.stream()?;
//! // An `ArrowArrayStream`, for any consumer. This one makes a document of it again.
//! let copy = from_stream(stream, &ImportOptions::new())?;
//! assert_eq!(
//!     livebuf_json::to_string(copy.valid().unwrap().root())?,
//!     r#"[{"lap":1,"time":88.5},{"lap":2,"time":null}]"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Handing over a structure is moving it to where the other side wants it, here a
//! structure of the `arrow` crate:
//!
//! ```
//! # use std::sync::Arc;
//! use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
//!
//! let document = livebuf_json::from_str(r#"[{"lap": 1}, {"lap": 2}]"#)?;
//! let stream = livebuf_arrow::Exporter::new(Arc::new(document))?.stream()?;
//! let mut theirs = FFI_ArrowArrayStream::empty();
//! // SAFETY: both are the C Stream Interface's structure.
//! unsafe { stream.give((&raw mut theirs).cast()) };
//! let batches = RecordBatchStreamReader::try_new(theirs)?.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(batches[0].num_rows(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Types of exported columns
//!
//! A type follows from all values that the rows have under a key. Null and missing fields are
//! null. All fields are nullable, but the keys of an object.
//!
//! | values | Arrow's type | [`narrow`] | memory |
//! |---|---|---|---|
//! | none but null | `Null` | | |
//! | booleans | `Bool` | | built |
//! | integers | `Int64` | stored width, `Int8` to `UInt32` | borrowed where stored so, else built |
//! | integers, some above `i64`, none negative | `UInt64` | the same | borrowed where stored so, else built |
//! | floats; floats and integers that these hold | `Float64` | `Float32` where stored so | borrowed where stored so, else built |
//! | other numbers together | an error, or as [`numbers`](ExportOptions::numbers) says | | built |
//! | text | `Utf8`, `LargeUtf8` | | built |
//! | text that is stored as one run | as other text | | offsets built, bytes borrowed |
//! | text, by option | `Utf8View` | | views built; text beyond 12 bytes borrowed |
//! | text that is stored as one dictionary | as other text | `Dictionary` of `UInt8` or `UInt16` | codes borrowed, each text built once; codes are made where two texts are equal |
//! | bytes | `Binary` | | built |
//! | dates | `Date32` | | borrowed where stored as one column, else built |
//! | times of day | `Time64` in microseconds | | the same |
//! | dates and times without a zone; timestamps | `Timestamp` in microseconds without a zone; with the zone `UTC` | | the same |
//! | UUIDs | `FixedSizeBinary(16)` with the extension `arrow.uuid` | | the same |
//! | decimals; decimals and integers | `Decimal128(38, …)` with the greatest scale among them | | built |
//! | objects | `Struct` of all their keys | | its columns as their types say |
//! | arrays | `List` | | offsets built; elements as their type says |
//! | tensors of one length | `FixedSizeList` | | elements as their type says |
//! | several kinds | `Utf8`: texts as they are, and the JSON of others; or as [`mixed`](ExportOptions::mixed) says | | built |
//! | validity | bitmap, if any is null | | borrowed where the column is stored as one type, and batches begin at a multiple of eight rows; else built |
//!
//! Numbers lie in a document as Arrow wants them where the array is stored as a table, and
//! the host is little-endian. A default document stores them as narrow as they are; to
//! borrow columns that are exported as 64 bits, encode with
//! [`min_width: 8`](livebuf::EncodeOptions::min_width). A struct around a column that has
//! nulls itself has the bitmaps of its columns built, not their values. Views of text can
//! show consumers the document's whole memory: see [`TextLayout::Utf8View`].
//!
//! Also:
//! * Rows that are null have null in all columns: record batches have no null rows.
//! * Fields that no column of the table holds, as edits may add, are columns like others,
//!   behind those, read row by row.
//! * An array of other things than objects is exported as one column named `value`.
//! * Objects within rows that have more than 1,024 different keys, and what is nested
//!   deeper than 64 types, are JSON, by the extension `arrow.json`. More than 65,535 columns are refused.
//! * JSON cannot hold NaN and infinities: such a value in a column of mixed values
//!   is an error, or null ([`ExportOptions::non_finite`]). In a column of floats it is a float.
//! * What is JSON by the extension `arrow.json` is imported as the values that it was.
//!
//! [`Exporter::requested_schema`] exports to a consumer's schema instead. It selects and
//! orders columns by name, within structs too.
//!
//! - Integers become floats that hold them, and any integers that they fit.
//! - Floats become floats, rounded.
//! - Dates, times and decimals become those of other units and scales, if no digit is lost.
//! - Text becomes any layout of text or bytes, and dates, times and durations if it is one by
//!   ISO 8601.
//! - Any value becomes text: texts as they are, and the JSON of others.
//! - Lists become `List`, `LargeList` or `FixedSizeList` of their length. Lists of one shape
//!   become tensors of it, by the extension `arrow.fixed_shape_tensor`.
//! - Missing values become null.
//!
//! Anything else is an error that names the column. It names the row, too, if a value shows the
//! error.
//!
//! # Borrowed memory
//!
//! An export holds the [`Arc`](std::sync::Arc) of its [`Document`] as long as anything of
//! it lives: the exporter, streams, and arrays that borrow. Nobody can edit the document
//! meanwhile, since edits need it mutably: [`Arc::get_mut`](std::sync::Arc::get_mut)
//! refuses. So Arrow's data never changes under its reader. With
//! [`copy`](ExportOptions::copy) nothing is borrowed.
//!
//! # Types of imported columns
//!
//! | Arrow's type | value |
//! |---|---|
//! | `Null`; any null | null, or missing by [`skip_nulls`](ImportOptions::skip_nulls) |
//! | `Bool` | boolean |
//! | `Int8` to `UInt64` | integer |
//! | `Float16` to `Float64` | float |
//! | `Utf8`, `LargeUtf8`, `Utf8View` | text |
//! | `Binary`, `LargeBinary`, `BinaryView`, `FixedSizeBinary` | bytes |
//! | `Struct` | object |
//! | `List`, `LargeList`, `FixedSizeList` | array; a tensor where `FixedSizeList` has numbers or booleans without null |
//! | `Dictionary` | what its values are |
//! | `Decimal32`, `Decimal64`, `Decimal128` | decimal; number text with all digits where the scale is negative |
//! | `Date32`, `Date64` | date |
//! | `Time32`, `Time64` | time of day |
//! | `Timestamp` | date and time, with a zone a timestamp; the zone itself is not kept |
//! | `FixedSizeBinary(16)` with the extension `arrow.uuid` | UUID |
//! | `FixedSizeList` of numbers or booleans with the extension `arrow.fixed_shape_tensor`, axes in order | arrays of its shape, tensors without null |
//! | `Duration` | text: `PT1.500S` |
//! | `Utf8` and others with the extension `arrow.json` | what the JSON says |
//!
//! A date or time beyond the years 0001 to 9999, or with nanoseconds, is text by ISO 8601. Others (`Decimal256`, intervals, maps, unions, run-end
//! encoded arrays, list views) are refused by an error with the column and the format
//! string. Other metadata and extension types are ignored: values are what they are stored as.
//!
//! With [`keep_types`](ImportOptions::keep_types) the schema stays beside the rows, and exports of
//! these give it back.
//!
//! # Trust
//!
//! An export reads a document that somebody else made. If it was not validated before, the
//! export validates the columns it was asked for, and nothing else. Damage in other columns does
//! not matter: an export only reads, and never beyond the document. Others may be able to write
//! the memory while Arrow reads it, as with mapped files
//! ([`Document::is_shared`]). Then values of a fixed width are borrowed, since any bits are
//! a number. Bitmaps, offsets, codes and texts are copied, and the copies are checked.
//!
//! The interface never says how long buffers are. Taking over structures is therefore
//! `unsafe`: [`take`](ArrowArray::take) and [`RecordBatch::new`] are promises that the
//! producer keeps to the interface. All else is checked: counts, null pointers, offsets,
//! views, indices, UTF-8. What is wrong is an [`Error`] with a kind, a column and a row;
//! nothing panics.
//!
//! Modules, each using only those before it: `error`, `schema` (types and their format
//! strings), `document` (what keeps memory), `ffi` (the structures: `made` here, and
//! `foreign` ones read), `infer` (which types columns have), `column` (their arrays),
//! `export`, `joined` (several documents); `text` (times and decimals), `import`.
//!
//! [Arrow C Data Interface]: https://arrow.apache.org/docs/format/CDataInterface.html
//! [`narrow`]: ExportOptions::narrow

mod column;
mod document;
mod error;
mod export;
mod ffi;
mod import;
mod infer;
mod joined;
mod kept;
mod schema;
mod take;
mod text;

pub use document::{Document, Known};
pub use error::{Error, ErrorKind};
pub use export::{ExportOptions, Exporter, TextLayout, key_name};
pub use ffi::{ArrowArray, ArrowArrayStream, ArrowSchema, RecordBatch};
pub use import::{ImportOptions, VariantDecoder, from_batch, from_stream};
pub use infer::{Mixed, Numbers};
pub use joined::{Documents, Joined, Refused, Types};
