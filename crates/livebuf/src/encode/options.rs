//! Settings of an encoder.

use crate::format::layout::Limits;

/// How to treat a key that an object has already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// The last value counts, at the first one's place.
    #[default]
    Last,
    /// [`ErrorKind::DuplicateKey`](crate::ErrorKind::DuplicateKey).
    Error,
}

/// Settings of an [`Encoder`](crate::Encoder).
#[derive(Clone, Copy, Debug)]
pub struct EncodeOptions {
    /// Bounds of the document.
    pub limits: Limits,
    /// How to treat a key that an object has already.
    pub duplicate_keys: DuplicateKeys,
    /// Whether arrays of similar objects, and arrays of arrays, become columns, and texts of an
    /// array a dictionary or a run. They do only where that takes no more bytes. On by default.
    pub tables: bool,
    /// Fewest bytes of an integer or float in a column. 1, the default, stores numbers in the
    /// fewest bytes that hold them. 8 makes every such column one of `i64`, `u64` or `f64`:
    /// it can be borrowed as a slice, and takes any value later.
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
