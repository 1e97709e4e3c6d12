//! Ways to name a member: by text, by a remembered [`Key`], by a [`Bound`] key, by index.

use super::{Checked, Mode, Object, Value};
use crate::block::column::{Elements, row_of};
use crate::block::map;
use crate::block::record::{Block, Raw};
use crate::error::Result;
use crate::format::cell::{Needle, mix};
use crate::format::layout::{KIND_MAP, KIND_RECORD, TAG_HOLE, TAG_OBJECT};
use core::sync::atomic::{AtomicU16, Ordering};

/// An argument of look-ups in a value: a key (text or [`Key`]) or an index.
pub trait Lookup: Copy {
    #[doc(hidden)]
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find_in_value<'a, M: Mode>(self, value: &Value<'a, M>) -> Result<Option<Value<'a, M>>> {
        let (mode, bytes, raw) = (value.mode, value.document(), value.raw());
        if raw.tag != TAG_OBJECT {
            return Ok(None);
        }
        if cfg!(feature = "small") {
            return self.find_in_object(&Object::of(mode, bytes, raw.cell)?);
        }
        if row_of(raw.cell).is_some() {
            let found = find_in_row(self, *value)?;
            return Ok((found.tag != TAG_HOLE).then(|| Value::new(mode, bytes, found)));
        }
        let block = Block::resolve(bytes, raw.cell as u32)?;
        match block.kind() {
            KIND_RECORD => self.find_in_object(&Object::record(mode, bytes, block)?),
            KIND_MAP => match self.text() {
                Some(key) => {
                    let found = map::find_value(bytes, block.offset, key)?;
                    Ok((found.tag != TAG_HOLE).then(|| Value::new(mode, bytes, found)))
                }
                None => Ok(None),
            },
            _ => Err(block.unexpected()),
        }
    }
    #[doc(hidden)]
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find_in_object<'a, M: Mode>(self, object: &Object<'a, M>) -> Result<Option<Value<'a, M>>> {
        match self.text() {
            Some(key) => object.find(&Needle::new(key)),
            None => Ok(None),
        }
    }
    /// The key; `None` for an index.
    #[doc(hidden)]
    fn text(&self) -> Option<&[u8]>;
}

/// The member of a row of a table; a hole if there is none. A function of its own, so that what
/// records hold, which most objects are, is returned in registers.
#[inline(never)]
fn find_in_row<M: Mode>(lookup: impl Lookup, row: Value<'_, M>) -> Result<Raw> {
    let row = Object::row(row.mode, row.document(), row.raw().cell)?;
    Ok(lookup.find_in_object(&row)?.map_or(Raw::HOLE, |found| found.raw()))
}

impl Value<'_, Checked> {
    /// The member of a record or map with this key, if there is one. `None` for rows, for keys that
    /// the first look by hash does not find, and for what is damaged: then ask [`get`](Self::get).
    /// For the C API, whose look-ups take a third less time with this.
    #[doc(hidden)]
    #[inline]
    pub fn first_look(&self, key: &[u8]) -> Option<Option<Self>> {
        let (mode, bytes, raw) = (self.mode, self.document(), self.raw());
        // The small build has one way to a member.
        if cfg!(feature = "small") || raw.tag != TAG_OBJECT || row_of(raw.cell).is_some() {
            return None;
        }
        let block = Block::resolve(bytes, raw.cell as u32).ok()?;
        if block.kind() == KIND_RECORD {
            return Object::record(mode, bytes, block).ok()?.find(&Needle::new(key)).ok();
        }
        let found = map::first_look(bytes, block.offset, key)?;
        let Some(entry) = found.entry() else { return Some(None) };
        let raw = found.value(bytes, block.offset, entry).ok()?;
        (raw.tag != TAG_HOLE).then(|| Some(Value::new(mode, bytes, raw)))
    }
}

impl Lookup for &str {
    #[inline]
    fn text(&self) -> Option<&[u8]> {
        Some(self.as_bytes())
    }
}

/// A key as bytes: those that are not UTF-8 are in no document.
impl Lookup for &[u8] {
    #[inline]
    fn text(&self) -> Option<&[u8]> {
        Some(self)
    }
}

#[cfg(feature = "alloc")]
impl Lookup for &alloc::string::String {
    #[inline]
    fn text(&self) -> Option<&[u8]> {
        Some(self.as_bytes())
    }
}

/// A reference stands for its target.
impl<T: Lookup> Lookup for &T {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find_in_value<'a, M: Mode>(self, value: &Value<'a, M>) -> Result<Option<Value<'a, M>>> {
        (*self).find_in_value(value)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find_in_object<'a, M: Mode>(self, object: &Object<'a, M>) -> Result<Option<Value<'a, M>>> {
        (*self).find_in_object(object)
    }

    #[inline]
    fn text(&self) -> Option<&[u8]> {
        T::text(self)
    }
}

impl Lookup for usize {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find_in_value<'a, M: Mode>(self, value: &Value<'a, M>) -> Result<Option<Value<'a, M>>> {
        match value.array()? {
            Some(array) => array.element(self),
            None => Ok(None),
        }
    }

    fn text(&self) -> Option<&[u8]> {
        None
    }
}

/// A key that remembers where it was found: in objects of the same shapes a
/// look-up is one comparison.
///
/// The remembered place is a guess, which each look-up verifies against the shape at hand.
/// So one `Key` serves any documents, from any threads. Absence is never remembered.
///
/// ```
/// use livebuf::{Doc, Key, json};
/// static LAP: Key = Key::new("lap");
/// let doc = json!({"event": "lap_complete", "lap": 55});
/// assert_eq!(doc.valid().unwrap().root().get(&LAP).unwrap().as_i64(), Some(55));
/// ```
#[derive(Debug)]
pub struct Key<'k> {
    text: &'k str,
    /// The cell and the fingerprint are those of its needle.
    cell: u64,
    fingerprint: u8,
    /// Guessed index by a hash of the shape's offset, so that objects of
    /// alternating shapes do not evict each other.
    guesses: [AtomicU16; GUESSES],
}

const GUESSES: usize = 8;

impl<'k> Key<'k> {
    /// Prepares a key.
    pub const fn new(text: &'k str) -> Self {
        let Needle { cell, fingerprint, .. } = Needle::new(text.as_bytes());
        Key { text, cell, fingerprint, guesses: [const { AtomicU16::new(0) }; GUESSES] }
    }

    /// The key's text.
    pub fn as_str(&self) -> &'k str {
        self.text
    }

    /// The word that the key's fingerprint is made from (FORMAT 4.2). For the C API, whose header
    /// looks keys up.
    #[doc(hidden)]
    pub fn mix(&self) -> u64 {
        mix(self.text.as_bytes())
    }

    #[inline]
    pub(crate) fn needle(&self) -> Needle<'k> {
        let Key { text, cell, fingerprint, .. } = *self;
        Needle { text: text.as_bytes(), cell, fingerprint }
    }

    #[inline]
    fn guess(&self, shape: u32) -> &AtomicU16 {
        &self.guesses[(shape.wrapping_mul(0x9E37_79B1) >> 29) as usize % GUESSES]
    }

    #[inline]
    pub(crate) fn guessed(&self, shape: u32) -> u32 {
        self.guess(shape).load(Ordering::Relaxed) as u32
    }

    #[cold]
    pub(crate) fn remember(&self, shape: u32, index: u32) {
        self.guess(shape).store(index as u16, Ordering::Relaxed);
    }
}

/// A key that remembers the same place.
impl Clone for Key<'_> {
    fn clone(&self) -> Self {
        let guess = |guess: &AtomicU16| AtomicU16::new(guess.load(Ordering::Relaxed));
        Key { guesses: core::array::from_fn(|at| guess(&self.guesses[at])), ..Key::new(self.text) }
    }
}

impl Lookup for &Key<'_> {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find_in_object<'a, M: Mode>(self, object: &Object<'a, M>) -> Result<Option<Value<'a, M>>> {
        object.find_remembered(self)
    }

    #[inline]
    fn text(&self) -> Option<&[u8]> {
        Some(self.text.as_bytes())
    }
}

/// A key resolved against one object's table or shape, for loops over objects alike:
/// [`Object::bind`]. It borrows the document, so neither can change under
/// it; objects of other tables, shapes or documents are searched.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a, 'k> {
    pub(super) place: KeyPlace,
    pub(super) needle: Needle<'k>,
    pub(super) document: &'a [u8],
}

/// Where similar objects have the value of a bound key.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyPlace {
    /// Among a row's further fields: looked for in each.
    Anywhere,
    Field {
        shape: u32,
        index: u32,
    },
    Column {
        table: u32,
        column: Elements,
    },
}

impl Lookup for &Bound<'_, '_> {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find_in_value<'a, M: Mode>(self, value: &Value<'a, M>) -> Result<Option<Value<'a, M>>> {
        // A row of the table it was bound to: nothing else needs to be looked at.
        let (bytes, raw) = (value.document(), value.raw());
        if let KeyPlace::Column { table, column } = &self.place
            && raw.tag == TAG_OBJECT
            && raw.cell as u32 == *table
            && let Some(row) = row_of(raw.cell)
            && row < column.count
            && bytes.as_ptr() == self.document.as_ptr()
        {
            let raw = column.element_inlined(bytes, row)?;
            return Ok((raw.tag != TAG_HOLE).then(|| Value::new(value.mode, bytes, raw)));
        }
        match value.object()? {
            Some(object) => self.find_in_object(&object),
            None => Ok(None),
        }
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn find_in_object<'a, M: Mode>(self, object: &Object<'a, M>) -> Result<Option<Value<'a, M>>> {
        object.find_bound(self)
    }

    #[inline]
    fn text(&self) -> Option<&[u8]> {
        Some(self.needle.text)
    }
}
