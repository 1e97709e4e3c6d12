//! JSON text to LiveBuf documents and back, with nothing lost: key order, integers to
//! u64, floats by bits, longer numbers as their text.
//!
//! ```
//! let document = livebuf_json::from_str(r#"{"id": 18446744073709551615, "pi": 3.141592653589793238}"#)?;
//! let root = document.valid().unwrap().root();
//! assert_eq!(root.get("id").unwrap().as_u64(), Some(u64::MAX));
//! assert_eq!(livebuf_json::to_string(root)?, r#"{"id":18446744073709551615,"pi":3.141592653589793238}"#);
//! # Ok::<(), livebuf_json::Error>(())
//! ```
//!
//! Modules, each using only those before it: `error`, `number` (which form a literal
//! takes), `read` (text to encoder events), `options` (one value), `lines` (many);
//! `write` (text of single values), `print` (walking a document).

mod error;
mod number;
mod read;

mod options;

mod lines;

mod write;

mod print;

pub use error::{Error, ErrorKind, Position};
pub use lines::{Documents, documents, from_lines};
pub use livebuf::{DuplicateKeys, Limits};
pub use options::{ReadOptions, from_slice, from_slice_with, from_str};
pub use print::{PrintOptions, to_string, to_string_pretty, to_string_with, to_vec, to_vec_with, to_writer};
pub use read::NumberPolicy;
pub use write::NonFinite;
