//! LiveBuf: a JSON-compatible binary document that is read without parsing and
//! edited in place, in one contiguous buffer.
//!
//! ```
//! use livebuf::{Doc, DocBuf, Key, New, json};
//!
//! let mut doc = json!({"users": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Grace"}]});
//!
//! // Edit in place: by pointer, by handle, or by a cursor.
//! doc.set_pointer("/users/0/name", "Augusta Ada King")?;
//! let users = doc.find("/users")?.unwrap();
//! let third = doc.push(users, New::object(2))?.unwrap();
//! doc.set(third, "id", 3)?;
//! doc.pointer_mut("/users")?.unwrap().remove(1)?;
//!
//! // Read: nothing is parsed.
//! assert_eq!(doc.pointer("/users/0/name")?.unwrap(), "Augusta Ada King");
//!
//! // The bytes are the document: send or store them, and open them in constant time.
//! let sent: &[u8] = doc.as_bytes();
//! let opened = Doc::open(sent)?;
//! assert_eq!(opened.pointer("/users/1/id")?.unwrap().as_i64(), Some(3));
//!
//! // Validated once, answers are plain: `Option` instead of `Result<Option>`.
//! let valid = opened.validate()?;
//! static ID: Key = Key::new("id");                    // remembers where it was found
//! let users = valid.pointer("/users").unwrap().as_array().unwrap();
//! assert_eq!(users.iter().filter_map(|user| user.get(&ID)?.as_i64()).sum::<i64>(), 4);
//!
//! // A copy of one's own, to be edited.
//! let mut copy = DocBuf::open(sent)?;
//! copy.remove_pointer("/users/1")?;
//! # Ok::<(), livebuf::Error>(())
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | a document in memory of its own, as `serde_json::Value` is used | [`DocBuf`], [`json!`] |
//! | a document in other memory, edited without an allocator | [`Editor`] |
//! | a document that is only read | [`Doc`] |
//! | what is in it | [`Value`], [`View`] to match on, [`Object`], [`Array`] |
//! | similar objects, read by column | [`Table`], [`Column`] |
//! | places that outlive edits; a cursor | [`NodeId`], [`NodeMut`] |
//! | which bytes edits changed | [`Recorder`], [`Listener`] |
//! | changes to send, to apply elsewhere and to undo | `Delta`, `History` (feature `delta`) |
//! | Rust types | [`to_doc`], [`from_value`], [`Editor::set_value`] |
//! | a document from events | [`Encoder`] |
//! | files | [`mapped`] |
//! | a document elsewhere, fetched as it is read | `Partial` (feature `partial`) |
//! | JSON text | the crate `livebuf-json` |
//! | files of rows that only grow | the crate `livebuf-log` |
//!
//! # Trust
//!
//! A [`Doc`] that was only opened is [`Checked`]: each answer is checked as it is given, and
//! says what is damaged. After [`Doc::validate`], or in a document that this program made
//! ([`Editor::valid`]), it is [`Valid`]: the same calls answer without a `Result`. No bytes
//! make either panic.
//!
//! # Features
//!
//! | feature | brings | default |
//! |---|---|---|
//! | `std` | files; turns `alloc` on | yes |
//! | `serde` | Rust types to documents and back; turns `alloc` on | yes |
//! | `alloc` | [`DocBuf`], [`Encoder`], [`json!`] | by the above |
//! | `digest` | `Value::digest`: SHA-256 of values | no |
//! | `delta` | `Delta`, `History`: changes as values; turns `alloc` on | no |
//! | `partial` | `Partial`: documents of which only what is read is fetched; turns `std` on | no |
//! | `small` | half the code, slower | no |
//!
//! Without any, documents are read, and edited in fixed buffers, by `no_std` programs.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// The layers, lowest first. Code uses its own layer and those above it in this table; the
// test `layers` reads every `use` line.
//
// | layer | holds |
// |---|---|
// | `error` | what can go wrong, with stable numbers |
// | `format` | `docs/FORMAT.md` as constants; checked access, eight-byte cells, number and pointer grammar, dates, decimals, UUIDs |
// | `store` | where bytes live; the one `write`, the free list |
// | `block` | shape, record, column, table, list, tensor, map: what each block's bytes say, read and written |
// | `view` | `Doc`, `Value`, `Object`, `Array`, `Table`; validating, digests |
// | `encode` | events to a whole document: `Encoder` |
// | `edit` | `Editor`, `New`, `NodeId`, `NodeMut`, `DocBuf` |
// | `change` | `Recorder`, `Delta`, `History`: changes as values |
// | `serde_support` | Rust values to documents and back |
// | `macros` | `json!` |
// | `mapped` | documents in files |
// | `instances` | editors that tests share |
mod block;
#[cfg(feature = "alloc")]
mod change;
mod edit;
#[cfg(feature = "alloc")]
mod encode;
mod error;
mod format;
#[cfg(all(debug_assertions, not(test), feature = "delta", feature = "std", any(unix, windows)))]
#[doc(hidden)]
pub mod instances;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub mod macros;
#[cfg(all(feature = "std", any(unix, windows)))]
pub mod mapped;
#[cfg(feature = "serde")]
mod serde_support;
mod store;
mod view;

pub use block::column_type::ColumnType;
#[cfg(feature = "alloc")]
pub use change::Recorder;
#[cfg(feature = "delta")]
pub use change::{Change, Delta, DeltaError, History};
#[cfg(feature = "alloc")]
pub use edit::DocBuf;
#[doc(hidden)]
pub use edit::Stamped;
pub use edit::{Child, Detached, Editor, New, NodeId, NodeMut, Stamp, Template};
#[cfg(feature = "serde")]
pub use encode::ReadJson;
#[cfg(feature = "alloc")]
pub use encode::{DuplicateKeys, EncodeOptions, Encoder};
pub use error::{Error, ErrorKind, Result};
pub use format::date::{Date, DateTime, Time, Timestamp};
pub use format::decimal::Decimal;
pub use format::extended::Extended;
pub use format::layout::{self, Limits};
#[cfg(feature = "delta")]
pub use format::state::State;
pub use format::uuid::Uuid;
#[cfg(feature = "serde")]
pub use serde_support::de::{from_doc, from_slice, from_value};
#[cfg(feature = "serde")]
pub use serde_support::error::SerdeError;
#[cfg(feature = "serde")]
pub use serde_support::nested::{Nested, SERDE_NESTING};
#[cfg(feature = "serde")]
pub use serde_support::ser::{to_doc, to_vec};
#[cfg(feature = "std")]
pub use store::read_at::ReadAt;
#[cfg(feature = "alloc")]
pub use store::space::Listener;
#[cfg(feature = "alloc")]
pub use store::storage::VecStorage;
pub use store::storage::{Exclusive, Storage};
pub use view::validate::{Region, RegionKind, Stats};
pub use view::{
    Array, ArrayIter, AsValue, Bound, Checked, Codes, Column, ColumnPath, Dictionary, Doc, Element,
    Fields, Key, Keys, Kind, Lookup, Mode, Number, Object, Offsets, Ordered, Pointer, Run, Scalar,
    Searched, Table, Tensor, TensorRef, Valid, Value, Values, View,
};
#[cfg(feature = "partial")]
pub use view::{Partial, PartialError};

/// For bindings of other languages, and for code that prepares a look-up once for many objects:
/// parts of views that outlive borrows, and objects by their slots. For crates that follow JSON
/// pointers token by token: their grammar.
pub mod raw {
    #[doc(hidden)]
    pub use crate::block::walk::Allowance;
    #[doc(hidden)]
    pub use crate::edit::Simple;
    #[doc(hidden)]
    #[cfg(feature = "alloc")]
    pub use crate::edit::{Alone, AloneMemory};
    #[doc(hidden)]
    pub use crate::format::bytes::is_ascii;
    #[cfg(feature = "alloc")]
    pub use crate::format::memory::{push, require_memory, vec_for};
    pub use crate::format::pointer;
    pub use crate::view::{Position, RowSlots, Slots, ValueParts};
}

/// Which bytes and 4 KiB pages of a document reads touch (for tests and the demo).
#[cfg(feature = "trace")]
#[doc(hidden)]
pub mod trace {
    pub use crate::format::bytes::trace::{bytes, start, stop};
}
