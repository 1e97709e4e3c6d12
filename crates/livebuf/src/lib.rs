//! LiveBuf: a JSON-compatible binary document that is read without parsing and
//! edited in place, in one contiguous buffer.
//!
//! The modules, lowest first. Calls go down, but for one thing: encoding ends in the
//! editor's [`DocBuf`].
//!
//! | module | job |
//! |---|---|
//! | `error`, `layout` | error kinds; `docs/FORMAT.md` as constants |
//! | `bytes`, `cell`, `number`, `pointer` | checked access; eight-byte values; JSON number and pointer grammar |
//! | `storage`, `space` | where bytes live; the one `write`, the free list |
//! | `shape`, `record`, `array`, `table`, `map` | the blocks |
//! | `absent` | slots of columns without a value |
//! | `columns` | what columns lead to, column by column |
//! | `walk` | passing over containers without recursion, within an allowance |
//! | `reader` | views: [`Doc`], [`Value`], [`Object`], [`Array`] |
//! | `validate` | one pass over everything: [`Doc::validate`], [`Stats`] |
//! | `digest` | hashes of values, whatever their layout: [`Value::digest`] |
//! | `encode`, `ser`, `raw_json`, `de` | events and serde values to documents and back |
//! | `editor` | [`Editor`], [`New`], [`NodeId`], [`NodeMut`] |
//! | `macros` | [`json!`] |
//! | `mapped` | documents in mapped files |
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod absent;
mod array;
mod bytes;
mod cell;
mod columns;
#[cfg(feature = "serde")]
mod de;
#[cfg(feature = "digest")]
mod digest;
mod editor;
#[cfg(feature = "alloc")]
mod encode;
mod error;
pub mod layout;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub mod macros;
mod map;
#[cfg(all(feature = "std", any(unix, windows)))]
pub mod mapped;
mod number;
mod pointer;
#[cfg(feature = "serde")]
mod raw_json;
mod reader;
mod record;
#[cfg(feature = "serde")]
mod ser;
mod shape;
mod space;
mod storage;
mod table;
mod validate;
mod walk;

pub use array::ColumnType;
#[cfg(feature = "serde")]
pub use de::{from_doc, from_slice, from_value};
#[cfg(feature = "alloc")]
pub use editor::DocBuf;
pub use editor::{Child, Detached, Editor, New, NodeId, NodeMut};
#[cfg(feature = "alloc")]
pub use encode::{DuplicateKeys, EncodeOptions, Encoder};
pub use error::{Error, ErrorKind, Result};
pub use layout::Limits;
pub use reader::{
    Array, ArrayIter, Bound, Checked, Column, ColumnPath, Doc, Element, Fields, Key, Keys, Kind,
    Lookup, Mode, Object, Ordered, Pointer, Position, RowSlots, Slots, Table, Valid, Value,
    ValueParts, Values,
};
#[cfg(feature = "serde")]
pub use ser::{Nested, SERDE_NESTING, SerdeError, to_doc, to_vec};
pub use space::Observer;
#[cfg(feature = "alloc")]
pub use storage::VecStorage;
pub use storage::{Exclusive, Storage};
pub use validate::{Region, RegionKind, Stats};

/// Which bytes and 4 KiB pages of a document reads touch (for tests and the demo).
#[cfg(feature = "trace")]
#[doc(hidden)]
pub mod trace {
    pub use crate::bytes::trace::{bytes, start, stop};
}
