//! The short way to set a number or text in a record: what most edits of messages are.
//!
//! Nothing here makes an error, or knows more than one way. So few values are kept meanwhile, and
//! they fit the processor's registers. What is rare, and all that goes wrong, is left to the
//! general way, which says why.

use super::editor::Editor;
use super::handles::NodeId;
use super::new::New;
use super::parts::put_text;
use crate::block::column::row_of;
use crate::block::record::{Block, Record};
use crate::block::shape::{self, Shape};
use crate::format::bytes::{check, is_ascii, load_u8, load_u32, load_u64, round_up};
use crate::format::cell::{Needle, owned_span, span_at, span_inline};
use crate::format::layout::*;
use crate::store::space::Extent;
use crate::store::storage::Storage;
use crate::store::target::{Plain, Target};

/// A number or the like, or text.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Simple<'t> {
    tag: u8,
    cell: u64,
    pub(super) text: &'t [u8],
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

    /// A new value, with a key that is UTF-8. `None` where it is another one.
    #[inline]
    pub(super) fn of(new: &New<'t>) -> Option<Self> {
        Some(match *new {
            New::Str(text) => Simple::text(text.as_bytes()).valid(),
            _ => new.immediate().map(|(tag, cell)| Simple::cell(tag, cell).valid())?,
        })
    }

    /// Bytes that it takes beside its cell.
    #[inline]
    pub(super) fn fresh(&self) -> u64 {
        if self.text.len() > MAX_INLINE { round_up(self.text.len() as u64) } else { 0 }
    }

    /// Its tag and cell. Text that does not fit the cell goes into the extent.
    #[inline]
    pub(super) fn put(&self, target: &mut impl Target, extent: &mut Extent) -> (u8, u64) {
        let cell = match self.text.len() {
            _ if self.tag != TAG_STRING => self.cell,
            ..=MAX_INLINE => Needle::new(self.text).cell,
            _ => put_text(target, extent, self.text, true),
        };
        (self.tag, cell)
    }
}

impl<S: Storage> Editor<S> {
    /// Sets a member of a record to a number or text, where it takes no more than to write over the
    /// old one, or behind the last. `node`: [`NodeId::NONE`] is the root. False where it takes
    /// more, or anything is wrong, such as text that may be no UTF-8; nothing has changed then. For
    /// bindings, too.
    #[doc(hidden)]
    #[inline]
    pub fn set_shortly(&mut self, node: NodeId, key: &[u8], value: &Simple<'_>) -> bool {
        if !self.space.is_plain() {
            return false;
        }
        // Here, where it is inlined, so that maps do not wait for a call.
        let Some(record) = self.record_of(node) else { return false };
        self.set_simple(record, key, value).is_some()
    }

    /// The record of a fresh handle.
    #[inline]
    fn record_of(&self, node: NodeId) -> Option<Record> {
        let bytes = self.space.bytes();
        let home = if node == NodeId::NONE {
            let cell = load_u64(bytes, HEADER_ROOT_CELL as u64).ok()?;
            let tag = load_u8(bytes, HEADER_ROOT_TAG as u64).ok()?;
            (tag == TAG_OBJECT && row_of(cell).is_none()).then_some(cell as u32)?
        } else {
            self.handles.is_fresh(node).then(|| node.home())?
        };
        let header = load_u64(bytes, home.into()).ok()?;
        Block { offset: home, header }.record().ok()
    }

    #[inline(never)]
    fn set_simple(&mut self, record: Record, key: &[u8], value: &Simple<'_>) -> Option<()> {
        self.space.editable().ok()?;
        let bytes = self.space.bytes();
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
        match owned_span(old) {
            Some((offset, length)) if length as usize == text.len() && self.space.trusted => {
                self.space.plain()?.write(offset.into(), text);
                Some(())
            }
            _ => self.replace_text(tag_at, cell_at, text),
        }
    }

    /// Writes text of more bytes than a cell over text of another length.
    #[inline(never)]
    fn replace_text(&mut self, tag_at: u64, cell_at: u64, text: &[u8]) -> Option<()> {
        // If changes are noted, the edit can end half way, which the general way reports.
        self.space.plain()?;
        let text = New::Str(crate::format::bytes::text(text, 0).ok()?);
        self.replace(tag_at, cell_at, &text, NodeId::NONE).ok()?;
        self.end_edit().ok()
    }

    /// Makes the root an empty record with room for `capacity` fields, in the place of a number or
    /// the like: its handle. `None` where it takes more; nothing has changed then. For bindings,
    /// too.
    #[doc(hidden)]
    #[inline]
    pub fn begin_root(&mut self, capacity: u8) -> Option<NodeId> {
        if !self.may_begin() || load_u32(self.space.bytes(), HEADER_AUX as u64) != Ok(0) {
            return None;
        }
        let (start, size) = (self.space.used(), record_size(capacity.into()) as u64);
        let end = start as u64 + size;
        if end > self.space.limits().document {
            return None;
        }
        let mut plain = self.space.plain_to(end)?;
        plain.zero(start.into(), size);
        Record::new(start, capacity.into(), 0, 0, 0).write_header(&mut plain);
        plain.write_u32(HEADER_USED as u64, end as u32);
        put_root(&mut plain, start);
        self.space.use_to(end);
        Some(self.handles.give(start, 0, 1))
    }

    /// Makes the root an object of `count` numbers and texts, as messages are, in the place of a
    /// number or the like: its handle. `key` and `value`: those of a field. `None` where it takes
    /// more, or anything is wrong; nothing has changed then. `valid`: keys are UTF-8. For bindings,
    /// too.
    #[doc(hidden)]
    #[inline]
    pub fn set_root_message<'v>(
        &mut self,
        count: usize,
        valid: bool,
        key: impl Fn(usize) -> Option<&'v [u8]>,
        value: impl Fn(usize) -> Option<Simple<'v>>,
    ) -> Option<NodeId> {
        if !self.may_begin() {
            return None;
        }
        let home = self.append_message(count, valid, key, value)?;
        put_root(&mut self.space.plain()?, home);
        Some(self.handles.give(home, 0, 1))
    }

    /// Whether a record may take the place of the root, which is a number or the like, and nobody
    /// is told of it.
    #[inline]
    fn may_begin(&self) -> bool {
        let root = load_u8(self.space.bytes(), HEADER_ROOT_TAG as u64).unwrap_or(TAG_HOLE);
        self.space.is_plain()
            && self.space.editable().is_ok()
            && (TAG_HOLE + 1..=TAG_IMMEDIATE_LAST).contains(&root)
            && self.space.limits().nesting > 0
    }

    /// Writes an object of numbers and texts behind the document: its home. It has the document's
    /// first shape, so each byte follows from few lengths, and nothing runs twice. `None` where it
    /// takes more, or anything is wrong; nothing has changed then.
    #[inline]
    fn append_message<'v>(
        &mut self,
        count: usize,
        valid: bool,
        key: impl Fn(usize) -> Option<&'v [u8]>,
        value: impl Fn(usize) -> Option<Simple<'v>>,
    ) -> Option<u32> {
        let &Limits { string, elements, document, .. } = self.space.limits();
        // No shape and no free block.
        let is_first = load_u64(self.space.bytes(), HEADER_NEWEST_SHAPE as u64) == Ok(0);
        if !is_first || count == 0 || count > MAX_FIELDS.min(elements as usize) {
            return None;
        }
        let start = self.space.used();
        let mut plain = self.space.plain_all();
        let room = plain.len().min(document);
        let mut message = Message { start, count: count as u32, end: 0, room, string, older: 0 };
        if message.write(&mut plain, valid, key, value).is_none() {
            message.take_back(&mut plain);
            return None;
        }
        let end = message.end;
        plain.write_u32(HEADER_NEWEST_SHAPE as u64, message.shape().offset as u32);
        plain.write_u32(HEADER_USED as u64, end as u32);
        self.space.use_to(end);
        Some(start)
    }

    /// [`append_message`](Self::append_message) of these fields, below a container.
    #[inline(never)]
    pub(super) fn append_fields(
        &mut self,
        fields: &[(&str, New<'_>)],
        under: NodeId,
    ) -> Option<u32> {
        if !self.space.is_plain() {
            return None;
        }
        self.check_nesting(1, under).ok()?;
        self.append_message(fields.len(), true, field_keys(fields), field_values(fields))
    }

    /// Adds a field to a record that has room, with its key at the end of its shape. A record
    /// without a shape gets the document's first one.
    #[inline]
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
        if !self.space.trusted {
            // Of a valid document these are known to lie there.
            check(bytes, record.offset.into(), record.size()).ok()?;
            known.map_or(Ok(()), |shape| check(bytes, shape.offset, shape.size())).ok()?;
        }
        if used >= capacity.min(elements)
            || key.len() > MAX_SHAPE_KEY
            || longest > string as usize
            || !(value.valid || needle.is_ascii() && (text.is_empty() || is_ascii(text)))
        {
            return None;
        }
        // After the used bytes: a key that does not fit its cell, a shape, such a text.
        let start = self.space.used() as u64;
        let mut end = start;
        if needle.cell == 0 {
            end += round_up(key.len() as u64);
        }
        let shape = match known {
            Some(shape) if used == shape.count && used < shape.capacity => shape,
            None if load_u32(bytes, HEADER_NEWEST_SHAPE as u64) == Ok(0) => {
                let shape = Shape::first(end, capacity);
                end += shape.size();
                shape
            }
            _ => return None,
        };
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
            plain.write_padded(start, key);
            key_cell = span_at(start as u32, key.len() as u32, false);
        }
        let mut cell = value.cell;
        if text.len() > MAX_INLINE {
            plain.write_padded(text_at, text);
            cell = span_at(text_at as u32, text.len() as u32, true);
        } else if value.tag == TAG_STRING {
            cell = Needle::new(text).cell;
        }
        if known.is_none() {
            plain.zero(shape.offset, shape.size());
            plain.write_u32(HEADER_NEWEST_SHAPE as u64, shape.offset as u32);
        }
        shape::put_key(&mut plain, shape, used, key_cell, needle.fingerprint);
        record.append(&mut plain, shape.offset as u32, (value.tag, cell));
        self.space.use_to(end);
        Some(())
    }
}

/// The keys of fields by their numbers, as messages are written.
#[inline]
pub(super) fn field_keys<'v>(fields: &'v [(&str, New<'_>)]) -> impl Fn(usize) -> Option<&'v [u8]> {
    |at| fields.get(at).map(|(key, _)| key.as_bytes())
}

/// The values of fields by their numbers.
#[inline]
pub(super) fn field_values<'v>(
    fields: &'v [(&str, New<'v>)],
) -> impl Fn(usize) -> Option<Simple<'v>> {
    |at| fields.get(at).and_then(|(_, new)| Simple::of(new))
}

/// Makes a record the root.
#[inline]
fn put_root(plain: &mut Plain<'_>, home: u32) {
    plain.write_u8(HEADER_ROOT_TAG as u64, TAG_OBJECT);
    plain.write_u64(HEADER_ROOT_CELL as u64, home.into());
}

/// An object that is written behind a document.
pub(super) struct Message {
    pub(super) start: u32,
    pub(super) count: u32,
    /// Behind what was written.
    pub(super) end: u64,
    pub(super) room: u64,
    /// Most bytes of a text.
    pub(super) string: u32,
    /// The newest shape before, 0 for none.
    pub(super) older: u32,
}

impl Message {
    #[inline]
    pub(super) fn shape(&self) -> Shape {
        let offset = self.start as u64 + record_size(self.count) as u64;
        Shape { count: self.count, ..Shape::first(offset, self.count) }
    }

    /// Puts text that does not fit its cell behind the rest.
    #[inline]
    fn put(&mut self, plain: &mut Plain<'_>, text: &[u8], owned: bool) -> Option<u64> {
        let at = self.end;
        self.take(round_up(text.len() as u64))?;
        plain.write_padded(at, text);
        Some(span_at(at as u32, text.len() as u32, owned))
    }

    /// Takes bytes behind the rest.
    #[inline]
    pub(super) fn take(&mut self, size: u64) -> Option<()> {
        let end = self.end + size;
        self.end = (end <= self.room).then_some(end)?;
        Some(())
    }

    /// The tag and cell of a value. Text that does not fit its cell is put behind the rest.
    #[inline]
    pub(super) fn cell(&mut self, plain: &mut Plain<'_>, value: &Simple<'_>) -> Option<(u8, u64)> {
        let &Simple { tag, cell, text, valid } = value;
        if tag != TAG_STRING {
            return Some((tag, cell));
        }
        if text.len() > self.string as usize || !(valid || is_ascii(text)) {
            return None;
        }
        Some(match text.len() {
            ..=MAX_INLINE => (tag, Needle::new(text).cell),
            _ => (tag, self.put(plain, text, true)?),
        })
    }

    /// The record, its shape and the keys' texts, behind each other. Its fields are to come.
    #[inline]
    pub(super) fn write_keys<'v>(
        &mut self,
        plain: &mut Plain<'_>,
        valid: bool,
        key: impl Fn(usize) -> Option<&'v [u8]>,
    ) -> Option<Record> {
        let (shape, count, string) = (self.shape(), self.count, self.string as usize);
        let end = shape.offset + shape.size();
        if end > self.room {
            return None;
        }
        self.end = end;
        let mut fingerprints = 0;
        for index in 0..count {
            let needle = Needle::new(key(index as usize)?);
            let length = needle.text.len();
            let fits = length <= MAX_SHAPE_KEY && length <= string;
            if !fits || !(valid || needle.is_ascii()) {
                return None;
            }
            // A key that comes twice is told elsewhere.
            let maybe = has_byte(fingerprints, needle.fingerprint) || index >= 8;
            if maybe && is_among(plain, shape, index, &needle) {
                return None;
            }
            let cell = match needle.cell {
                0 => self.put(plain, needle.text, false)?,
                cell => cell,
            };
            fingerprints |= (needle.fingerprint as u64) << (8 * (index & 7));
            plain
                .write_u64(shape.offset + (SHAPE_FINGERPRINTS + (index & !7)) as u64, fingerprints);
            plain.write_u64(shape.key_position(index), cell);
            if index & 7 == 7 {
                fingerprints = 0;
            }
        }
        shape.write_header(plain, self.older);
        let record = Record::new(self.start, count, count, count, shape.offset as u32);
        record.write_header(plain);
        Some(record)
    }

    /// The same, and the fields with their texts.
    #[inline]
    fn write<'v>(
        &mut self,
        plain: &mut Plain<'_>,
        valid: bool,
        key: impl Fn(usize) -> Option<&'v [u8]>,
        value: impl Fn(usize) -> Option<Simple<'v>>,
    ) -> Option<()> {
        let (record, count) = (self.write_keys(plain, valid, key)?, self.count);
        let mut tags = 0;
        for index in 0..count {
            let (tag, cell) = self.cell(plain, &value(index as usize)?)?;
            tags |= (tag as u64) << (8 * (index & 7));
            plain.write_u64(record.cell_position(index), cell);
            if index & 7 == 7 || index + 1 == count {
                plain.write_u64(record.tag_position(index & !7), tags);
                tags = 0;
            }
        }
        Some(())
    }

    /// Wipes what was written.
    #[cold]
    #[inline(never)]
    fn take_back(&self, plain: &mut Plain<'_>) {
        plain.zero(self.start.into(), self.end.saturating_sub(self.start.into()));
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// Whether one of eight bytes is this one.
#[inline]
fn has_byte(word: u64, byte: u8) -> bool {
    let word = word ^ (byte as u64 * ONES);
    word.wrapping_sub(ONES) & !word & (ONES << 7) != 0
}

/// Whether a key is among the first `count` of a shape that is being written.
#[inline(never)]
fn is_among(plain: &Plain<'_>, shape: Shape, count: u32, needle: &Needle<'_>) -> bool {
    let found = Shape { count, ..shape }.find(plain.bytes(), count, needle);
    found.map_or(true, |found| found.is_some())
}

/// Index of a key in a record's shape; inner `None` where it is not there. Only the first of its
/// fingerprints is looked at here.
#[inline]
fn find(bytes: &[u8], record: Record, shape: Shape, needle: &Needle<'_>) -> Option<Option<u32>> {
    let used = record.used().min(shape.count);
    let wanted = needle.fingerprint as u64 * ONES;
    let word = load_u64(bytes, shape.offset + SHAPE_FINGERPRINTS as u64).ok()? ^ wanted;
    let marks = word.wrapping_sub(ONES) & !word & (ONES << 7);
    let index = marks.trailing_zeros() / 8;
    if index < used && index < 8 {
        if needle.is_at(bytes, shape.key_position(index)).ok()? {
            return Some(Some(index));
        }
    } else if used <= 8 {
        return Some(None);
    }
    find_further(bytes, record, shape, needle)
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
