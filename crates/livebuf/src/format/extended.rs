//! Values that JSON lacks, and databases have (FORMAT 3.6).

use super::bytes::load_u64;
use super::date::{Date, DateTime, Time, Timestamp};
use super::decimal::Decimal;
use super::layout::*;
use super::uuid::Uuid;
use crate::error::{Error, Result};
use core::fmt;
use core::str::FromStr;

/// A value that JSON lacks.
///
/// Its text is the one that JSON gets, where a document is printed.
///
/// ```
/// use livebuf::{Date, Extended, json};
/// let doc = json!([Date::from_ymd(2026, 11, 23).unwrap()]);
/// let due = doc.doc().pointer("/0")?.unwrap().as_extended()?.unwrap();
/// assert!(matches!(due, Extended::Date(_)));
/// assert_eq!(due.to_string(), "2026-11-23");
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Extended {
    /// A date.
    Date(Date),
    /// A time of day.
    Time(Time),
    /// A date and time of day without a time zone.
    DateTime(DateTime),
    /// A moment.
    Timestamp(Timestamp),
    /// A decimal number.
    Decimal(Decimal),
    /// A UUID.
    Uuid(Uuid),
}

/// The value's bytes in a document.
#[derive(Clone, Copy)]
pub(crate) enum Stored {
    /// The bits of an immediate value.
    Cell(u64),
    /// The bytes of a span, and their count.
    Span([u8; DECIMAL_SIZE], usize),
}

impl Extended {
    pub(crate) const fn tag(&self) -> u8 {
        match self {
            Extended::Date(_) => TAG_DATE,
            Extended::Time(_) => TAG_TIME,
            Extended::DateTime(_) => TAG_DATE_TIME,
            Extended::Timestamp(_) => TAG_TIMESTAMP,
            Extended::Decimal(value) if small_decimal(value).is_none() => TAG_LARGE_DECIMAL,
            Extended::Decimal(_) => TAG_DECIMAL,
            Extended::Uuid(_) => TAG_UUID,
        }
    }

    pub(crate) fn stored(&self) -> Stored {
        let span = |bytes: &[u8]| {
            let mut all = [0; DECIMAL_SIZE];
            all[..bytes.len()].copy_from_slice(bytes);
            Stored::Span(all, bytes.len())
        };
        match self {
            Extended::Date(date) => Stored::Cell(date.days() as i64 as u64),
            Extended::Time(time) => Stored::Cell(time.microseconds() as u64),
            Extended::DateTime(value) => Stored::Cell(value.microseconds() as u64),
            Extended::Timestamp(value) => Stored::Cell(value.microseconds() as u64),
            Extended::Uuid(id) => span(id.as_bytes()),
            Extended::Decimal(value) => match small_decimal(value) {
                Some(cell) => Stored::Cell(cell),
                None => {
                    let mut bytes = [0; DECIMAL_SIZE];
                    bytes[..16].copy_from_slice(&value.coefficient().to_le_bytes());
                    bytes[16] = value.scale();
                    span(&bytes)
                }
            },
        }
    }

    /// The value of an immediate tag; `None` for other tags, and for bits that the tag does not
    /// allow.
    #[inline]
    pub(crate) fn from_cell(tag: u8, cell: u64) -> Option<Extended> {
        Some(match tag {
            TAG_DATE => Extended::Date(Date::from_days(i32::try_from(cell as i64).ok()?)?),
            TAG_TIME => Extended::Time(Time::from_microseconds(cell as i64)?),
            TAG_DATE_TIME => Extended::DateTime(DateTime::from_microseconds(cell as i64)?),
            TAG_TIMESTAMP => Extended::Timestamp(Timestamp::from_microseconds(cell as i64)?),
            TAG_DECIMAL => Extended::Decimal(Decimal::new((cell as i64 >> 8).into(), cell as u8)?),
            _ => return None,
        })
    }

    /// The value of a span's tag; `None` for other tags, and for bytes that the tag does not
    /// allow.
    pub(crate) fn from_span(tag: u8, bytes: &[u8]) -> Option<Extended> {
        match tag {
            TAG_UUID => bytes.try_into().ok().map(|bytes| Extended::Uuid(Uuid::from_bytes(bytes))),
            TAG_LARGE_DECIMAL => {
                let (coefficient, scale) = bytes.split_first_chunk::<16>()?;
                let &[scale] = scale else { return None };
                let value = Decimal::new(i128::from_le_bytes(*coefficient), scale)?;
                small_decimal(&value).is_none().then_some(Extended::Decimal(value))
            }
            _ => None,
        }
    }

    /// The value that this text is in full, as it is printed: a date, date and time, timestamp
    /// or UUID. Times of day and decimals are not recognized: too much other text looks so.
    ///
    /// ```
    /// use livebuf::Extended;
    /// assert!(matches!(Extended::recognize("2026-11-23"), Some(Extended::Date(_))));
    /// assert!(matches!(Extended::recognize("2026-11-23T08:30:00Z"), Some(Extended::Timestamp(_))));
    /// assert_eq!(Extended::recognize("19.90"), None);
    /// ```
    pub fn recognize(text: &str) -> Option<Extended> {
        let bytes = text.as_bytes();
        if bytes.len() == 36 {
            return Uuid::from_str(text).ok().map(Extended::Uuid);
        }
        // Nearly all text ends here.
        if !(10..=32).contains(&bytes.len()) || bytes[4] != b'-' || bytes[7] != b'-' {
            return None;
        }
        if bytes.len() == 10 {
            return Date::from_str(text).ok().map(Extended::Date);
        }
        let zoned = Timestamp::from_str(text).ok().map(Extended::Timestamp);
        zoned.or_else(|| DateTime::from_str(text).ok().map(Extended::DateTime))
    }
}

/// The text of any of these values, as it is printed.
///
/// # Errors
/// [`BadValue`](crate::ErrorKind::BadValue).
impl FromStr for Extended {
    type Err = Error;

    fn from_str(text: &str) -> Result<Extended> {
        // No two kinds have a text in common.
        let found = Extended::recognize(text)
            .or_else(|| text.parse().ok().map(Extended::Decimal))
            .or_else(|| text.parse().ok().map(Extended::Time));
        found.ok_or(Error::bad_value())
    }
}

/// The cell of a decimal whose coefficient fits 56 bits.
const fn small_decimal(value: &Decimal) -> Option<u64> {
    let coefficient = value.coefficient();
    if coefficient != (coefficient as i64) as i128 {
        return None;
    }
    let cell = (coefficient as i64) << 8;
    if cell >> 8 == coefficient as i64 { Some(cell as u64 | value.scale() as u64) } else { None }
}

/// Whether a span with this tag holds a value that JSON lacks.
pub(crate) const fn is_extended_span(tag: u8) -> bool {
    matches!(tag, TAG_UUID | TAG_LARGE_DECIMAL)
}

/// The first slot of a column of dates, times or decimals that holds no such value.
pub(crate) fn find_bad_slot(tag: u8, slots: &[u8], width: usize) -> Option<usize> {
    slots.chunks_exact(width).position(|slot| {
        let cell = match width {
            4 => slot.try_into().map_or(0, |slot| i32::from_le_bytes(slot) as i64 as u64),
            _ => load_u64(slot, 0).unwrap_or(0),
        };
        Extended::from_cell(tag, cell).is_none()
    })
}

impl fmt::Display for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extended::Date(value) => value.fmt(f),
            Extended::Time(value) => value.fmt(f),
            Extended::DateTime(value) => value.fmt(f),
            Extended::Timestamp(value) => value.fmt(f),
            Extended::Decimal(value) => value.fmt(f),
            Extended::Uuid(value) => value.fmt(f),
        }
    }
}

macro_rules! from_each {
    ($($type:ident)+) => {
        $(
            impl From<$type> for Extended {
                fn from(value: $type) -> Extended {
                    Extended::$type(value)
                }
            }
        )+
    };
}
from_each!(Date Time DateTime Timestamp Decimal Uuid);
