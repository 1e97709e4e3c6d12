//! Where a document's bytes lie, and which of them are free.

pub(crate) mod space;
pub(crate) mod storage;
mod undo;
