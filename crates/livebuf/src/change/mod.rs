//! Changes as values: what changed, as bytes to send, to apply elsewhere, and to undo.
//!
//! The files, lowest first. Each uses those above it in this table, and no others.
//!
//! | file | holds |
//! |---|---|
//! | `recorder` | which bytes changed, and how they were |
//! | `error` | what can be wrong with a delta |
//! | `delta` | changes from one state of a document to the next; made, applied, composed |
//! | `encoding` | deltas as bytes (`docs/DELTA.md`) |
//! | `history` | undo and redo |

#[cfg(feature = "delta")]
mod delta;
#[cfg(feature = "delta")]
mod encoding;
#[cfg(feature = "delta")]
mod error;
#[cfg(feature = "delta")]
mod history;
mod recorder;

#[cfg(feature = "delta")]
pub use delta::{Change, Delta};
#[cfg(feature = "delta")]
pub use error::DeltaError;
#[cfg(feature = "delta")]
pub use history::History;
pub use recorder::Recorder;
