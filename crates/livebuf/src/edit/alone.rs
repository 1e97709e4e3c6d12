//! Small values as documents of their own: each is read once, and written from the front on.
//!
//! As in [`short`](super::short), what is large, rare or wrong is left to the general way: to set
//! the value as the root of a new document. That one plans, keeps columns, and says what is wrong.

use super::editor::{DocBuf, NULL_DOCUMENT};
use super::short::{Message, Simple};
use crate::block::column::Elements;
use crate::block::column_type::ColumnType;
use crate::block::list::elements_of;
use crate::block::record::{Raw, Record, check_immediate, put_tagged};
use crate::error::Result;
use crate::format::bytes::{load_u64, slice, text};
use crate::format::cell::{span_bytes, span_inline};
use crate::format::layout::*;
use crate::store::target::{Plain, Target};
use crate::view::{Checked, Doc, Object, Value};
use alloc::vec::Vec;

/// Most bytes of a small value's document.
const ROOM: usize = 4096;
/// Most members of an object, and elements of an array where each is looked at.
const MOST: usize = 32;
/// Most places of members that an object may have, holes included.
const PLACES: usize = 255;
/// Records that are kept.
const KEPT: usize = 16;
/// Most containers in each other.
const DEPTH: u32 = 4;

/// Writes values of one document as documents of their own, each in the memory of the one before.
/// For bindings, whose callers take many rows of a table one by one.
///
/// ```
/// use livebuf::raw::{Alone, AloneMemory};
/// use livebuf::{Doc, json};
/// let rows = json!([{"lap": 1, "by": "Ada"}, {"lap": 2, "by": "Eve"}, [7]]);
/// let mut alone = Alone::new(rows.doc(), AloneMemory::default());
/// for row in rows.root().as_array()?.unwrap() {
///     let row = row?;
///     assert_eq!(Doc::open(alone.document(&row)?)?.validate()?.root(), row);
/// }
/// # Ok::<(), livebuf::Error>(())
/// ```
#[doc(hidden)]
#[derive(Debug)]
pub struct Alone<'a> {
    source: &'a [u8],
    memory: AloneMemory,
    /// Bytes of the last document.
    length: usize,
}

/// The memory of an [`Alone`].
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct AloneMemory {
    /// Begins with the last document.
    bytes: Vec<u8>,
    images: Images,
    /// Members that are still to be written.
    open: Vec<Raw>,
}

/// Records without values that were written, with their shapes: most rows have the same keys as
/// another one.
#[derive(Debug, Default)]
struct Images {
    known: Vec<Keys>,
    bytes: Vec<u8>,
}

/// The keys of a record, by a shape of the source.
#[derive(Clone, Copy, Debug)]
struct Keys {
    shape: u32,
    slots: [u16; MOST],
    count: u32,
    /// Where the record was written.
    home: u32,
    /// Where its bytes are among those of the images.
    start: u32,
    size: u32,
    /// Some of its keys do not fit their cells.
    is_long: bool,
}

impl<'a> Alone<'a> {
    /// For values of this document. The memory may be that of another one.
    pub fn new(source: Doc<'a>, mut memory: AloneMemory) -> Self {
        memory.images.clear();
        Alone { source: source.as_bytes(), memory, length: 0 }
    }

    /// The memory, for another document.
    pub fn take_memory(&mut self) -> AloneMemory {
        self.length = 0;
        core::mem::take(&mut self.memory)
    }

    /// The last document; empty if there was none.
    pub fn last(&self) -> &[u8] {
        self.memory.bytes.get(..self.length).unwrap_or_default()
    }

    /// A value as a document, which is valid whatever was not checked of the source.
    ///
    /// # Errors
    /// What is damaged, and limits.
    pub fn document(&mut self, value: &Value<'a>) -> Result<&[u8]> {
        // An error leaves no document, since the memory is written to.
        self.length = 0;
        self.length = match self.small(value) {
            Some(length) => length,
            None => {
                let mut doc = DocBuf::new()?;
                doc.set_root(value.checked())?;
                self.memory.bytes = doc.to_vec();
                self.memory.bytes.len()
            }
        };
        Ok(self.last())
    }

    /// Writes a value of few members and elements. Returns the document's length.
    fn small(&mut self, value: &Value<'a>) -> Option<usize> {
        // Images are known by shapes of the source.
        if !core::ptr::eq(self.source, value.document()) {
            return None;
        }
        let AloneMemory { bytes, images, open } = &mut self.memory;
        bytes.resize(ROOM, 0);
        open.clear();
        let mut plain = Plain::over(bytes);
        plain.write(0, &NULL_DOCUMENT);
        let (start, room, string) = (HEADER_SIZE, ROOM as u64, Limits::default().string);
        let message = Message { start, count: 0, end: start.into(), room, string, older: 0 };
        let mut writer = Writer { source: self.source, images, open, plain, message };
        let (tag, cell) = writer.value(value.raw(), DEPTH)?;
        let Writer { mut plain, message, .. } = writer;
        plain.write_u8(HEADER_ROOT_TAG as u64, tag);
        plain.write_u64(HEADER_ROOT_CELL as u64, cell);
        plain.write_u32(HEADER_USED as u64, message.end as u32);
        plain.write_u32(HEADER_NEWEST_SHAPE as u64, message.older);
        Some(message.end as usize)
    }
}

/// A document that is being written.
struct Writer<'s, 't> {
    source: &'s [u8],
    images: &'t mut Images,
    open: &'t mut Vec<Raw>,
    plain: Plain<'t>,
    message: Message,
}

impl<'s> Writer<'s, '_> {
    /// Writes what a value has beside its cell. `depth`: containers that may still nest.
    #[inline]
    fn value(&mut self, raw: Raw, depth: u32) -> Option<(u8, u64)> {
        match raw.tag {
            ..=TAG_IMMEDIATE_LAST => {
                check_immediate(raw).ok()?;
                Some((raw.tag, raw.cell))
            }
            TAG_STRING => {
                let bytes = span_bytes(self.source, raw.cell, raw.position.into()).ok()?;
                let text = Simple::text(text(bytes, 0).ok()?.as_bytes()).valid();
                self.message.cell(&mut self.plain, &text)
            }
            TAG_OBJECT => Some((TAG_OBJECT, self.object(raw, depth)?.into())),
            TAG_ARRAY => Some((TAG_ARRAY, self.array(raw, depth)?.into())),
            _ => None,
        }
    }

    /// Writes a record, and behind it what is in its members: its home.
    #[inline(never)]
    fn object(&mut self, raw: Raw, depth: u32) -> Option<u32> {
        let object = Object::of(Checked, self.source, raw.cell).ok()?;
        if depth == 0 {
            return None;
        }
        if let Some(slots) = object.row_slots() {
            let (shape, end) = (slots.shape(), slots.end());
            self.members(depth, (shape, end), slots, |slots, slot| slots.key(slot))
        } else if let Some(slots) = object.slots() {
            let (shape, end) = (slots.shape(), slots.end());
            self.members(depth, (shape, end), slots, |slots, slot| slots.key(slot))
        } else {
            object.is_empty().then(|| self.empty())?
        }
    }

    /// Writes a record without members.
    fn empty(&mut self) -> Option<u32> {
        let home = self.message.end as u32;
        self.message.take(record_size(0).into())?;
        Record::new(home, 0, 0, 0, 0).write_header(&mut self.plain);
        Some(home)
    }

    /// Writes a record by its members with their slots in a shape, of which `end` are in use.
    fn members<I: Iterator<Item = Result<(usize, Value<'s>)>> + Clone>(
        &mut self,
        depth: u32,
        (shape, end): (u32, usize),
        members: I,
        key: impl Fn(&I, usize) -> Result<Option<&'s str>>,
    ) -> Option<u32> {
        if end > PLACES {
            return None;
        }
        let (mut slots, mut count, open) = ([0; MOST], 0, self.open.len());
        for member in members.clone() {
            let (slot, value) = member.ok()?;
            *slots.get_mut(count)? = slot as u16;
            self.open.push(value.raw());
            count += 1;
        }
        if count == 0 {
            return self.empty();
        }
        let home = self.message.end as u32;
        (self.message.start, self.message.count) = (home, count as u32);
        let keys = self.images.known.iter().position(|keys| {
            keys.shape == shape && keys.slots == slots && keys.count == count as u32
        });
        match keys {
            Some(at) => self.write_again(at)?,
            None => {
                self.plain.zero(home.into(), record_size(count as u32).into());
                self.message.write_keys(&mut self.plain, true, |index| {
                    key(&members, (*slots.get(index)?).into()).ok()?.map(str::as_bytes)
                })?;
                self.images.keep(shape, slots, &self.message, self.plain.bytes());
            }
        }
        self.message.older = self.message.shape().offset as u32;
        for index in 0..count {
            let (tag, cell) = self.value(*self.open.get(open + index)?, depth - 1)?;
            put_tagged(&mut self.plain, (home + RECORD_CELLS).into(), index as u32, tag, cell);
        }
        self.open.truncate(open);
        Some(home)
    }

    /// Writes a record without values that was written before.
    #[inline]
    fn write_again(&mut self, at: usize) -> Option<()> {
        // The one that was used last is looked for first.
        self.images.known.swap(0, at);
        let Keys { home, start, size, is_long, .. } = *self.images.known.first()?;
        let (to, shape) = (self.message.start, self.message.shape());
        self.message.take(size.into())?;
        let image = self.images.bytes.get(start as usize..)?.get(..size as usize)?;
        self.plain.write(to.into(), image);
        shape.write_header(&mut self.plain, self.message.older);
        let count = self.message.count;
        Record::new(to, count, count, count, shape.offset as u32).write_header(&mut self.plain);
        for index in 0..if is_long { count } else { 0 } {
            let position = shape.key_position(index);
            let cell = load_u64(self.plain.bytes(), position).ok()?;
            if span_inline(cell).is_none() {
                self.plain.write_u32(position, (cell as u32).wrapping_sub(home).wrapping_add(to));
            }
        }
        Some(())
    }

    /// Writes an array of what is no container: its home. Numbers keep their column.
    #[inline(never)]
    fn array(&mut self, raw: Raw, depth: u32) -> Option<u32> {
        let elements = elements_of(self.source, raw.cell).ok()?;
        let Elements { column, count, first, gaps, tensor, .. } = elements;
        if depth == 0 || tensor || count as usize > ROOM {
            return None;
        }
        let column = match column {
            _ if count == 0 || gaps != GAPS_NONE => ColumnType::Cells,
            _ if column.is_dictionary() || column.is_run() => ColumnType::String,
            _ if column == ColumnType::String || is_numbers(column) => column,
            _ => ColumnType::Cells,
        };
        let home = self.message.end as u32;
        self.message.take(ARRAY_SIZE.into())?;
        let (data, size) = (self.message.end as u32, column.data_size(count));
        self.message.take(size)?;
        Elements::new(home, column, count, count, if count == 0 { 0 } else { data })
            .write_header(&mut self.plain);
        self.plain.zero(data.into(), size);
        if is_numbers(column) {
            let width = column.width();
            let from = elements.values_at() + first as u64 * width;
            let numbers = slice(self.source, from, count as u64 * width).ok()?;
            self.plain.write(data.into(), numbers);
            return Some(home);
        }
        if count as usize > MOST {
            return None;
        }
        for index in 0..count {
            let raw = elements.element(self.source, index).ok()?;
            if raw.tag > TAG_SPAN_LAST {
                return None;
            }
            let (tag, cell) = self.value(raw, 0)?;
            match column {
                ColumnType::String if tag == TAG_STRING => {
                    self.plain.write_u64((data + 8 * index).into(), cell);
                }
                ColumnType::String => return None,
                _ => put_tagged(&mut self.plain, data.into(), index, tag, cell),
            }
        }
        Some(home)
    }
}

impl Images {
    fn clear(&mut self) {
        self.known.clear();
        self.bytes.clear();
    }

    /// Keeps the record that was just written, which has no values yet.
    #[inline(never)]
    fn keep(&mut self, shape: u32, slots: [u16; MOST], written: &Message, bytes: &[u8]) {
        if self.known.len() >= KEPT {
            self.clear();
        }
        let Message { start: home, end, count, .. } = *written;
        let Some(image) = bytes.get(home as usize..end as usize) else { return };
        let (start, size) = (self.bytes.len() as u32, image.len() as u32);
        self.bytes.extend_from_slice(image);
        let is_long = end > written.shape().offset + written.shape().size();
        self.known.push(Keys { shape, slots, count, home, start, size, is_long });
    }
}

/// Whether any bytes are values of this column.
fn is_numbers(column: ColumnType) -> bool {
    let floats = matches!(column, ColumnType::NumbersF32 | ColumnType::NumbersF64);
    floats || (ColumnType::I8 as u8..=ColumnType::F64 as u8).contains(&(column as u8))
}
