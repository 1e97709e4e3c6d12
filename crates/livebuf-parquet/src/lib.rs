//! LiveBuf documents to Apache Parquet and back.
//!
//! Tables become columns of Parquet's types, by [`livebuf_arrow`]. Everything else becomes
//! [Variant], Parquet's type for values of any type, by the crates `parquet-variant` and
//! `parquet-variant-compute`.
//!
//! ```
//! use livebuf_parquet::{ImportOptions, WriteOptions, from_parquet, to_parquet};
//! use std::sync::Arc;
//!
//! let document = livebuf_json::from_str(r#"[{"id": 1, "any": "x"}, {"id": 2, "any": [1, {}]}]"#)?;
//! let mut bytes = Vec::new();
//! to_parquet(Arc::new(document), &mut bytes, &WriteOptions::new())?;
//! let copy = from_parquet(bytes, &ImportOptions::new())?;
//! assert_eq!(livebuf_json::to_string(&copy)?, r#"[{"id":1,"any":"x"},{"id":2,"any":[1,{}]}]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Columns
//!
//! An array of objects has a column for each key. It is typed where one type of Arrow holds its
//! values as they are: see [`ExportOptions::exact`](livebuf_arrow::ExportOptions::exact). Else it
//! is a Variant. An array of other values has one column, `value`. Objects among other values, and
//! rows of too many keys, make that a Variant. With [`WriteOptions::table`] the members of an
//! object are rows, with their keys in a column. Anything else is one Variant in one row.
//!
//! In a typed column, null and a missing field are one, integers among floats become floats, and
//! decimals get the greatest scale among them. Variants keep all that.
//!
//! # Variant
//!
//! | value | Variant's type | comes back |
//! |---|---|---|
//! | integers, floats, text, bytes, dates, times, timestamps, UUIDs | the same | the same |
//! | integers beyond `i64`, of up to 38 digits | decimal of scale 0 | the same |
//! | decimals | decimal, of the same scale | the same; of scale 0 beyond `i64`: refused |
//! | other numbers that only text holds | none | refused |
//! | arrays, tensors | array | array |
//! | objects | object: its fields are sorted, their values lie in order | the same order, unless shredded |
//! | nested deeper than 127 levels | | refused |
//!
//! Refused is [`ErrorKind::Unsupported`] with a pointer to the value. With
//! [`WriteOptions::lossy`] the nearest value is written, but for the nesting.
//!
//! # Trust
//!
//! Files are those of anybody. What is wrong is an [`Error`]; where the `parquet` crates panic, it
//! is one, too (with the default hook, the panic's message is on standard error). Variants are
//! checked for nesting, and for values within each other, before the crates see them. A page of a
//! file may claim up to 2 GiB, which the crates do not limit.
//!
//! Modules, each using only those before it: `error`, `exchange` (Arrow's data between crates),
//! `variant` (values to Variant and back), `shred` (what is worth columns), `write`, `read`.
//!
//! [Variant]: https://github.com/apache/parquet-format/blob/master/VariantEncoding.md

mod error;
mod exchange;
mod read;
mod shred;
mod variant;
mod write;

pub use error::{Error, ErrorKind};
/// How Parquet becomes documents.
pub use livebuf_arrow::ImportOptions;
pub use read::{from_parquet, from_parquet_file};
pub use write::to_parquet;

use livebuf::{DocBuf, Encoder, Valid, Value};
use parquet_variant::VariantBuilder;
use variant::Loss;

/// The key of the file's metadata that says what rows are, where they are no table.
const LAYOUT: &str = "livebuf.layout";
/// The one column of rows that are no objects.
const VALUE: &str = "value";

/// How pages of a Parquet file are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// Snappy: fast, and read by all.
    #[default]
    Snappy,
    /// Zstandard: smaller.
    #[cfg(feature = "zstd")]
    Zstd,
}

/// How documents become Parquet.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    table: Option<String>,
    variant: bool,
    shred: bool,
    lossy: bool,
    compression: Compression,
}

impl Default for WriteOptions {
    fn default() -> Self {
        let (table, variant, shred, lossy) = (None, false, true, false);
        WriteOptions { table, variant, shred, lossy, compression: Compression::default() }
    }
}

impl WriteOptions {
    /// The whole document; columns where it is an array of objects; Variants shredded; nothing
    /// lost but the order of keys; Snappy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes what is at a JSON pointer (RFC 6901). The members of an object there are rows, with
    /// their keys in a column.
    #[must_use]
    pub fn table(mut self, pointer: impl Into<String>) -> Self {
        self.table = Some(pointer.into());
        self
    }

    /// Writes each row as one Variant, in a column `value`.
    #[must_use]
    pub fn variant(mut self, variant: bool) -> Self {
        self.variant = variant;
        self
    }

    /// Whether what most Variants of a column have in common gets columns of its own. Without, the
    /// order of keys in Variants is kept.
    #[must_use]
    pub fn shred(mut self, shred: bool) -> Self {
        self.shred = shred;
        self
    }

    /// Writes the nearest value instead of an error where Variant cannot keep one.
    #[must_use]
    pub fn lossy(mut self, lossy: bool) -> Self {
        self.lossy = lossy;
        self
    }

    /// How pages are compressed.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }
}

/// A value as Variant: the bytes of its metadata, and of itself. With `lossy`, the nearest value
/// where Variant cannot keep one.
///
/// # Errors
/// [`ErrorKind::Unsupported`] with a pointer to a value that cannot be kept.
pub fn to_variant(value: &Value<'_, Valid>, lossy: bool) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let mut builder = VariantBuilder::new();
    variant::encode(value, &mut builder, Loss::of(lossy), 0).map_err(|refused| refused.at(""))?;
    Ok(builder.finish())
}

/// The document in a value of Variant, by the bytes of its metadata and of itself.
///
/// # Errors
/// [`ErrorKind::Parquet`] for what is no Variant.
pub fn from_variant(metadata: &[u8], value: &[u8]) -> Result<DocBuf, Error> {
    error::guarded(|| {
        let mut encoder = Encoder::new();
        variant::decode(metadata, value, &mut encoder)
            .map_err(|message| Error::new(ErrorKind::Parquet, message))?;
        Ok(encoder.finish()?)
    })
}
