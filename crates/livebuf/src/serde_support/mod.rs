//! Values of Rust programs to documents and back, by serde.

pub(crate) mod de;
pub(crate) mod error;
pub(crate) mod extended;
mod known;
pub(crate) mod nested;
mod number;
pub(crate) mod ser;
mod values;
