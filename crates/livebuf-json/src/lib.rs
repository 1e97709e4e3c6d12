//! JSON text to LiveBuf documents and back, with nothing lost: key order, integers to
//! u64, floats by bits, longer numbers as their text.
//!
//! ```
//! let document = livebuf_json::from_str(r#"{"id": 18446744073709551615, "pi": 3.141592653589793238}"#)?;
//! assert_eq!(document.get("id")?.unwrap().as_u64(), Some(u64::MAX));
//! assert_eq!(livebuf_json::to_string(&document)?, r#"{"id":18446744073709551615,"pi":3.141592653589793238}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Text is read strictly by RFC 8259: UTF-8 only, one value and nothing behind it, no
//! comments, no trailing commas. What programs send beside that, and what the RFC leaves open
//! (listed in `tests/json/json_test_suite.rs`):
//!
//! - A byte order mark at the start is passed over, as the RFC allows.
//! - Escapes that name half of a surrogate pair are errors, because no UTF-8 can hold them;
//!   [`ReadOptions::surrogates`] replaces them.
//! - Where [lines](from_lines) are read, values may follow one another without line ends, and go
//!   over several lines.
//! - [`from_lines_skipping`] passes over lines that are no JSON.
//!
//! Bytes, which JSON does not have, are printed as a string of their base64 (RFC 4648
//! section 4, with padding) and read back as that string.
//!
//! Modules, each using only those before it: `error`, `words` (several bytes at once), `number`
//! (which form a literal takes), `read` (text to encoder events), `options` (one value), `lines` (many);
//! `write` (text of single values), `walk` (what walks share), `rows` (rows of tables and
//! lists), `print` (walking a document).

mod error;
mod lines;
mod number;
mod options;
mod print;
mod read;
mod rows;
mod walk;
mod words;
mod write;

#[doc(hidden)]
pub use error::quoted;
pub use error::{Error, ErrorKind, Position};
pub use lines::{Documents, documents, from_lines, from_lines_skipping};
pub use livebuf::{DuplicateKeys, Limits};
pub use options::{ReadOptions, from_reader, from_slice, from_slice_with, from_str, read_into};
pub use print::{
    Display, PrintOptions, default_max_bytes, display, to_string, to_string_pretty, to_string_with,
    to_vec, to_vec_with, to_writer,
};
pub use read::{NumberPolicy, Surrogates};
pub use write::NonFinite;
