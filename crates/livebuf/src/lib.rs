//! LiveBuf: a JSON-compatible binary document that is read without parsing and
//! edited in place, in one contiguous buffer.
//!
//! The layers, lowest first. Code uses its own layer and those above it in this table; the
//! test `layers` reads every `use` line.
//!
//! | layer | holds |
//! |---|---|
//! | `error` | what can go wrong, with stable numbers |
//! | `format` | `docs/FORMAT.md` as constants; checked access, eight-byte cells, number and pointer grammar |
//! | `store` | where bytes live; the one `write`, the free list |
//! | `block` | shape, record, column, table, list, map: what each block's bytes say, read and written |
//! | `view` | [`Doc`], [`Value`], [`Object`], [`Array`], [`Table`]; validating, digests |
//! | `encode` | events to a whole document: [`Encoder`] |
//! | `edit` | [`Editor`], [`New`], [`NodeId`], [`NodeMut`], [`DocBuf`] |
//! | `serde_support` | Rust values to documents and back |
//! | `macros` | [`json!`] |
//! | `mapped` | documents in files |
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod block;
mod edit;
#[cfg(feature = "alloc")]
mod encode;
mod error;
mod format;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub mod macros;
#[cfg(all(feature = "std", any(unix, windows)))]
pub mod mapped;
#[cfg(feature = "serde")]
mod serde_support;
mod store;
mod view;

pub use block::column::ColumnType;
#[cfg(feature = "alloc")]
pub use edit::DocBuf;
#[doc(hidden)]
pub use edit::Stamped;
pub use edit::{Child, Detached, Editor, New, NodeId, NodeMut, Stamp, Template};
#[cfg(feature = "alloc")]
pub use encode::{DuplicateKeys, EncodeOptions, Encoder};
pub use error::{Error, ErrorKind, Result};
pub use format::layout::{self, Limits};
#[cfg(feature = "serde")]
pub use serde_support::de::{from_doc, from_slice, from_value};
#[cfg(feature = "serde")]
pub use serde_support::ser::{Nested, SERDE_NESTING, SerdeError, to_doc, to_vec};
pub use store::space::Observer;
#[cfg(feature = "alloc")]
pub use store::storage::VecStorage;
pub use store::storage::{Exclusive, Storage};
pub use view::validate::{Region, RegionKind, Stats};
pub use view::{
    Array, ArrayIter, AsValue, Bound, Checked, Column, ColumnPath, Doc, Element, Fields, Key, Keys,
    Kind, Lookup, Mode, Object, Ordered, Pointer, Scalar, Table, Valid, Value, Values, View,
};

/// For bindings of other languages, and for what prepares something once for many objects
/// alike: parts of views that outlive borrows, and objects by their slots.
pub mod raw {
    pub use crate::view::{Position, RowSlots, Slots, ValueParts};
}

/// Which bytes and 4 KiB pages of a document reads touch (for tests and the demo).
#[cfg(feature = "trace")]
#[doc(hidden)]
pub mod trace {
    pub use crate::format::bytes::trace::{bytes, start, stop};
}
