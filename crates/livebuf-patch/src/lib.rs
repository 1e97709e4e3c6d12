//! Changes of LiveBuf documents as values: JSON Patch (RFC 6902), JSON Merge Patch (RFC 7396),
//! and diffs of two documents.
//!
//! ```
//! use livebuf::json;
//! use livebuf_patch::{DiffOptions, Patch, diff, merge};
//!
//! let mut doc = json!({"driver": "Ada", "laps": [88.4], "note": "pit"});
//! let before = doc.clone();
//!
//! // A patch: whole or not at all.
//! let patch: Patch = r#"[{"op": "add", "path": "/laps/-", "value": 87.9}]"#.parse()?;
//! patch.apply(&mut doc)?;
//!
//! // A merge patch: members that replace those of the document, and nulls that remove them.
//! merge(&mut doc, &json!({"driver": "Grace", "note": null}))?;
//!
//! // What differs, as a patch. It undoes both here.
//! let back = diff(&doc, &before, &DiffOptions::new())?;
//! back.apply(&mut doc)?;
//! assert!(doc.root().deep_eq(&before, &mut 100)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | operations in a list, from JSON text, a document or a view | [`Patch`], [`Operation`] |
//! | applying them | [`Patch::apply`] |
//! | members that are merged in | [`merge`], [`merge_at`], [`merge_json`] |
//! | what differs, as a patch | [`diff`], [`merge_diff`] |
//! | what differs, for people to read | [`changes`], [`Change`] |
//! | what went wrong, at which operation and where | [`PatchError`] |
//!
//! Everything is applied in one [transaction](livebuf::Editor::transaction): if anything is
//! impossible, no byte of the document changes.
//!
//! JSON text has no dates, decimals, UUIDs, bytes and tensors. Patches that are documents have
//! them. In the text of a patch they are texts and arrays, as in the text of a document.
//!
//! Nothing here recurses: the deepest documents, of 1,000 levels, need no larger stack.

// Modules, each using only those before it: `error`; `equal` (values and their digests); `patch` (a
// list of operations as a document); `apply` (RFC 6902); `merge` (RFC 7396); `sequence` (arrays),
// `diff`.
mod apply;
mod diff;
mod equal;
mod error;
mod merge;
mod patch;
mod sequence;

pub use diff::{Change, DiffOptions, changes, diff, merge_diff};
pub use error::{PatchError, PatchErrorKind, Result};
pub use merge::{merge, merge_at, merge_json};
pub use patch::{Operation, Patch};
