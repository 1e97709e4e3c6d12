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
///
/// ```
/// use livebuf::{ColumnType, DuplicateKeys, EncodeOptions, Encoder, ErrorKind};
/// // Numbers that can be borrowed as a slice of i64.
/// let mut encoder = Encoder::with_options(EncodeOptions { min_width: 8, ..Default::default() });
/// encoder.begin_array()?;
/// for lap in 1..=3 {
///     encoder.i64(lap)?;
/// }
/// encoder.end_array()?;
/// let laps = encoder.finish()?;
/// let column = laps.valid()?.root().as_array().unwrap().as_column();
/// assert_eq!(column.column_type(), ColumnType::I64);
///
/// // A key that comes twice is an error.
/// let options = EncodeOptions { duplicate_keys: DuplicateKeys::Error, ..Default::default() };
/// let mut encoder = Encoder::with_options(options);
/// encoder.begin_object()?;
/// encoder.key("lap")?;
/// encoder.i64(55)?;
/// assert_eq!(encoder.key("lap").unwrap_err().kind(), ErrorKind::DuplicateKey);
/// # Ok::<(), livebuf::Error>(())
/// ```
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
