//! Where a document's bytes lie, and which of them are free.

#[cfg(feature = "std")]
pub(crate) mod read_at;
pub(crate) mod space;
pub(crate) mod storage;
pub(crate) mod target;
mod undo;
