//! Looks keys up in records.

use super::new::At;
use crate::block::record::Record;
use crate::block::shape::Shape;
use crate::error::Result;
use crate::format::bytes::load_u8;
use crate::format::cell::Needle;
use crate::view::Key;

/// The result of looking up a key in a record.
pub(super) enum Found {
    /// A field and its tag, which may be a hole's.
    Field(u32, u8),
    /// No field; the record's shape, where it has one.
    Nothing(Option<Shape>),
}

/// Looks a key up in a record.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(super) fn find_member(bytes: &[u8], record: Record, at: At<'_>) -> Result<Found> {
    if record.used() == 0 {
        return Ok(Found::Nothing(None));
    }
    let shape = Shape::load(bytes, record.shape() as u64)?;
    let index = match at {
        At::Key(key) => shape.find(bytes, record.used(), &Needle::new(key.as_bytes()))?,
        At::Remembered(key) => {
            let guess = key.guessed(record.shape());
            if guess < record.used()
                && guess < shape.count
                && key.needle().is_at(bytes, shape.key_position(guess))?
            {
                Some(guess)
            } else {
                find_and_remember(bytes, record, shape, key)?
            }
        }
        At::Index(_) => None,
    };
    Ok(match index {
        Some(index) => Found::Field(index, load_u8(bytes, record.tag_position(index))?),
        None => Found::Nothing(Some(shape)),
    })
}

#[inline(never)]
fn find_and_remember(
    bytes: &[u8],
    record: Record,
    shape: Shape,
    key: &Key<'_>,
) -> Result<Option<u32>> {
    let found = shape.find(bytes, record.used(), key.needle())?;
    if let Some(index) = found {
        key.remember(record.shape(), index);
    }
    Ok(found)
}
