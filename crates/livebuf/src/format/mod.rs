//! The format as constants, and checked access to its bytes (`docs/FORMAT.md`).

pub(crate) mod bytes;
pub(crate) mod cell;
pub mod layout;
pub(crate) mod number;
pub(crate) mod pointer;
