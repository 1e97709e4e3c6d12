//! Settings of an encoder.

use crate::format::layout::Limits;

/// What becomes of a key that an object has already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// The last value counts, at the first one's place.
    #[default]
    Last,
    /// [`ErrorKind::DuplicateKey`].
    Error,
}

/// Settings of an [`Encoder`].
#[derive(Clone, Copy, Debug)]
pub struct EncodeOptions {
    /// Bounds on what is built.
    pub limits: Limits,
    /// What becomes of a key that an object has already.
    pub duplicate_keys: DuplicateKeys,
    /// Whether arrays of like objects and of arrays become columns where that takes no
    /// more bytes. On by default.
    pub tables: bool,
    /// Fewest bytes of an integer or float in a column: 1 (the default) stores numbers as
    /// narrow as they are, 8 makes every column an `i64`, `u64` or `f64` one, ready to be
    /// borrowed as such and to take any value.
    pub min_width: u8,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        EncodeOptions {
            limits: Limits::default(),
            duplicate_keys: DuplicateKeys::default(),
            tables: true,
            min_width: 1,
        }
    }
}
