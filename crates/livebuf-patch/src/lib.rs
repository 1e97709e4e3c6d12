//! Patches of LiveBuf documents: JSON Patch (RFC 6902), JSON Merge Patch (RFC 7396), and diff.

mod apply;
mod equal;
mod error;
mod merge;
mod number;
mod patch;

pub use error::{PatchError, PatchErrorKind, Result};
pub use merge::{merge, merge_json};
pub use patch::{Operation, Patch};
