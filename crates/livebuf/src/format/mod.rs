//! The format as constants, and checked access to its bytes (`docs/FORMAT.md`).

pub(crate) mod bytes;
pub(crate) mod cell;
pub(crate) mod date;
pub(crate) mod decimal;
pub(crate) mod extended;
pub(crate) mod half;
pub mod layout;
#[cfg(feature = "alloc")]
pub(crate) mod memory;
pub(crate) mod number;
pub mod pointer;
#[cfg(feature = "delta")]
pub(crate) mod state;
pub(crate) mod uuid;
