//! Where bytes live, and which of them are taken.

pub(crate) mod space;
pub(crate) mod storage;
