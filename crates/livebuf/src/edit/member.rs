//! Looks keys up in records.

use super::new::At;
use crate::block::record::Record;
use crate::block::shape::Shape;
use crate::error::Result;
use crate::format::bytes::load_u8;
use crate::format::cell::Needle;
use crate::view::Key;

/// The result of looking up a key in a record. No enum: its parts would share memory, be stored
/// in pieces and loaded whole, and such a load waits for the stores.
pub(super) struct FieldLookup {
    /// The field with this key, and its tag, which may be a hole's.
    pub(super) field: Option<(u32, u8)>,
    /// The record's shape, where it has one.
    pub(super) shape: Option<Shape>,
}

/// Looks a key up in a record. `needle`: that of `at`.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(super) fn find_member(
    bytes: &[u8],
    record: Record,
    at: At<'_>,
    needle: &Needle<'_>,
) -> Result<FieldLookup> {
    if record.used() == 0 {
        return Ok(FieldLookup { field: None, shape: None });
    }
    let shape = Shape::load(bytes, record.shape() as u64)?;
    let index = match at {
        At::Key(_) => shape.find(bytes, record.used(), needle)?,
        At::Remembered(key) => {
            let guess = key.guessed(record.shape());
            if guess < record.used()
                && guess < shape.count
                && needle.is_at(bytes, shape.key_position(guess))?
            {
                Some(guess)
            } else {
                find_and_remember(bytes, record, shape, key)?
            }
        }
        At::Index(_) => None,
    };
    let field = match index {
        Some(index) => Some((index, load_u8(bytes, record.tag_position(index))?)),
        None => None,
    };
    Ok(FieldLookup { field, shape: Some(shape) })
}

#[inline(never)]
fn find_and_remember(
    bytes: &[u8],
    record: Record,
    shape: Shape,
    key: &Key<'_>,
) -> Result<Option<u32>> {
    let found = shape.find(bytes, record.used(), &key.needle())?;
    if let Some(index) = found {
        key.remember(record.shape(), index);
    }
    Ok(found)
}
