//! The short way to set a number or text in a record: what most edits of messages are.
//!
//! Nothing here makes an error, or knows more than one way. So few values are kept meanwhile, and
//! they fit the processor's registers. What is rare, and all that goes wrong, is left to the general
//! way, which says why.

use super::editor::Editor;
use super::handles::NodeId;
use crate::block::column::row_of;
use crate::block::record::{Block, Record};
use crate::block::shape::{self, Shape};
use crate::format::bytes::{check, equal, is_ascii, load_u8, load_u32, load_u64, round_up, slice};
use crate::format::cell::{Needle, owned_span, span_at, span_inline};
use crate::format::layout::*;
use crate::store::space::Observer;
use crate::store::storage::Storage;
use crate::store::target::Target;

/// A number or the like, or text.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Simple<'t> {
    tag: u8,
    cell: u64,
    text: &'t [u8],
    /// This text and the key are known to be UTF-8.
    valid: bool,
}

impl<'t> Simple<'t> {
    /// A value whose cell needs no more.
    #[inline]
    pub fn cell(tag: u8, cell: u64) -> Self {
        Simple { tag, cell, text: &[], valid: false }
    }

    /// Text, which may be no UTF-8.
    #[inline]
    pub fn text(text: &'t [u8]) -> Self {
        Simple { tag: TAG_STRING, cell: 0, text, valid: false }
    }

    /// The same, where text and key are known to be UTF-8.
    #[inline]
    pub(super) fn valid(self) -> Self {
        Simple { valid: true, ..self }
    }
}

impl<S: Storage, O: Observer> Editor<S, O> {
    /// Sets a member of a record to a number or text, where it takes no more than to write over the
    /// old one, or behind the last. `node`: [`NodeId::NONE`] is the root. False where it takes more,
    /// or anything is wrong, such as text that may be no UTF-8; nothing has changed then. For
    /// bindings, too.
    #[doc(hidden)]
    #[inline(never)]
    pub fn set_shortly(&mut self, node: NodeId, key: &[u8], value: &Simple<'_>) -> bool {
        if cfg!(feature = "small") || !S::SEALS || O::ACTIVE {
            return false;
        }
        self.set_simple(node, key, value).is_some()
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn set_simple(&mut self, node: NodeId, key: &[u8], value: &Simple<'_>) -> Option<()> {
        self.space.editable().ok()?;
        let bytes = self.space.bytes();
        let home = if node == NodeId::NONE {
            let cell = load_u64(bytes, HEADER_ROOT_CELL as u64).ok()?;
            let tag = load_u8(bytes, HEADER_ROOT_TAG as u64).ok()?;
            (tag == TAG_OBJECT && row_of(cell).is_none()).then_some(cell as u32)?
        } else {
            self.handles.is_fresh(node).then(|| node.home())?
        };
        let header = load_u64(bytes, home.into()).ok()?;
        let record = Block { offset: home, header }.record().ok()?;
        let needle = Needle::new(key);
        let mut known = None;
        if record.used() > 0 {
            let shape = Shape::load(bytes, record.shape().into()).ok()?;
            if let Some(index) = find(bytes, record, shape, &needle)? {
                return self.write_over(record, index, value);
            }
            known = Some(shape);
        }
        self.append_simple(record, known, &needle, value)
    }

    /// Writes over a field.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn write_over(&mut self, record: Record, index: u32, value: &Simple<'_>) -> Option<()> {
        let (tag_at, cell_at) = (record.tag_position(index), record.cell_position(index));
        let old = load_u8(self.space.bytes(), tag_at).ok()?;
        let &Simple { tag, cell, text, .. } = value;
        if tag != TAG_STRING {
            if !(TAG_HOLE + 1..=TAG_IMMEDIATE_LAST).contains(&old) {
                return None;
            }
            let mut plain = self.space.plain()?;
            if old != tag {
                plain.write_u8(tag_at, tag);
            }
            plain.write_u64(cell_at, cell);
            return Some(());
        }
        let fits = text.len() <= self.space.limits().string as usize;
        if old != TAG_STRING || !fits || !(value.valid || is_ascii(text)) {
            return None;
        }
        let old = load_u64(self.space.bytes(), cell_at).ok()?;
        if text.len() <= MAX_INLINE {
            span_inline(old)?;
            self.space.plain()?.write_u64(cell_at, Needle::new(text).cell);
            return Some(());
        }
        let (offset, length) = owned_span(old)?;
        if length as usize != text.len() || !self.space.trusted {
            return None;
        }
        self.space.plain()?.write(offset.into(), text);
        Some(())
    }

    /// Adds a field to a record that has room, with its key at the end of its shape. A record
    /// without a shape gets the document's first one.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn append_simple(
        &mut self,
        record: Record,
        known: Option<Shape>,
        needle: &Needle<'_>,
        value: &Simple<'_>,
    ) -> Option<()> {
        let bytes = self.space.bytes();
        let (key, text) = (needle.text, value.text);
        let (used, capacity) = (record.used(), record.capacity());
        let &Limits { string, elements, document, .. } = self.space.limits();
        let longest = key.len().max(text.len());
        check(bytes, record.offset.into(), record.size()).ok()?;
        if used >= capacity.min(elements)
            || key.len() > MAX_SHAPE_KEY
            || longest > string as usize
            || !(value.valid || is_ascii(key) && is_ascii(text))
        {
            return None;
        }
        // Behind the used bytes: the shape, and text that does not fit its cell.
        let start = self.space.used() as u64;
        let mut end = start;
        let shape = match known {
            Some(shape) if used == shape.count && used < shape.capacity => {
                check(bytes, shape.offset, shape.size()).ok()?;
                shape
            }
            None if load_u32(bytes, HEADER_NEWEST_SHAPE as u64) == Ok(0) => {
                end += shape_size(capacity) as u64;
                Shape::first(start, capacity)
            }
            _ => return None,
        };
        let key_at = end;
        if needle.cell == 0 {
            end += round_up(key.len() as u64);
        }
        let text_at = end;
        if text.len() > MAX_INLINE {
            end += round_up(text.len() as u64);
        }
        if end > start && load_u32(bytes, HEADER_AUX as u64) != Ok(0) || end > document {
            return None;
        }
        let mut plain = self.space.plain_to(end)?;
        if end > start {
            plain.write_u32(HEADER_USED as u64, end as u32);
        }
        let mut key_cell = needle.cell;
        if key_cell == 0 {
            plain.write_padded(key_at, key);
            key_cell = span_at(key_at as u32, key.len() as u32, false);
        }
        let mut cell = value.cell;
        if text.len() > MAX_INLINE {
            plain.write_padded(text_at, text);
            cell = span_at(text_at as u32, text.len() as u32, true);
        } else if value.tag == TAG_STRING {
            cell = Needle::new(text).cell;
        }
        if known.is_none() {
            plain.zero(start, shape_size(capacity) as u64);
            plain.write_u32(HEADER_NEWEST_SHAPE as u64, start as u32);
        }
        shape::put_key(&mut plain, shape, used, key_cell, needle.fingerprint);
        record.append(&mut plain, shape.offset as u32, (value.tag, cell));
        self.space.use_to(end);
        Some(())
    }
}

/// Index of a key in a record's shape; inner `None` where it is not there. Only the first of its
/// fingerprints is looked at here.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
fn find(bytes: &[u8], record: Record, shape: Shape, needle: &Needle<'_>) -> Option<Option<u32>> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let used = record.used().min(shape.count);
    let wanted = needle.fingerprint as u64 * ONES;
    let word = load_u64(bytes, shape.offset + SHAPE_FINGERPRINTS as u64).ok()? ^ wanted;
    let marks = word.wrapping_sub(ONES) & !word & (ONES << 7);
    let index = marks.trailing_zeros() / 8;
    if index < used && index < 8 {
        let cell = load_u64(bytes, shape.key_position(index)).ok()?;
        let same = match needle.cell {
            0 => is_span(bytes, cell, needle.text),
            wanted => cell == wanted,
        };
        if same {
            return Some(Some(index));
        }
    } else if used <= 8 {
        return Some(None);
    }
    find_further(bytes, record, shape, needle)
}

/// Whether a cell leads to this text, which is longer than a cell.
#[inline(never)]
fn is_span(bytes: &[u8], cell: u64, text: &[u8]) -> bool {
    cell >> 32 & (MAX_SPAN | SPAN_INLINE) as u64 == text.len() as u64
        && slice(bytes, cell & 0xFFFF_FFFF, text.len() as u64).is_ok_and(|found| equal(found, text))
}

#[inline(never)]
fn find_further(
    bytes: &[u8],
    record: Record,
    shape: Shape,
    needle: &Needle<'_>,
) -> Option<Option<u32>> {
    shape.find(bytes, record.used(), needle).ok()
}
