//! Arrays: one column of elements (FORMAT 6). A table's columns are arrays, too.
//!
//! ```text
//! byte 0     1       2     3       4..8   8..12     12..16
//!      kind  column  gaps  tensor  count  capacity  data
//! ```

use crate::block::column_type::{ColumnType, SlotKind, WHOLE_F64, is_whole};
use crate::block::offsets::lent;
use crate::block::record::{Block, LENT, Raw, put_tagged, tagged};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u16, load_u32, load_u64, round_up, slice};
use crate::format::cell::span_at;
use crate::format::extended::find_bad_slot;
use crate::format::half::from_half;
use crate::format::layout::*;
use crate::store::space::Space;
use crate::store::storage::Storage;
use crate::store::target::Target;
use core::ops::Range;

/// An array's header, its data range checked to lie in the document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    /// The header's offset.
    pub(crate) offset: u32,
    pub(crate) count: u32,
    pub(crate) capacity: u32,
    pub(crate) data: u32,
    /// Slot of the first element: may be above 0 in an array of a list.
    pub(crate) first: u32,
    pub(crate) column: ColumnType,
    /// Which slots may be without a value ([`GAPS_NONE`] and others).
    pub(crate) gaps: u8,
    /// Whether type and shape are fixed (FORMAT 6.6).
    pub(crate) tensor: bool,
}

/// What a slot without a value stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gap {
    Null,
    Missing,
}

/// A mark in the upper half of a node's cell: the node is a row of a table or an array in a
/// list. Only cells in memory have it. So no document can refer to a row.
const ROW: u32 = 1 << 31;

/// The cell of row `index` of a table or list. It exists in memory only.
#[inline]
pub(crate) fn row_cell(nested: u32, index: u32) -> u64 {
    nested as u64 | ((index | ROW) as u64) << 32
}

/// The row that a node's cell names, if it names one.
#[inline]
pub(crate) fn row_of(cell: u64) -> Option<u32> {
    let high = (cell >> 32) as u32;
    (high & ROW != 0).then_some(high & !ROW)
}

impl Elements {
    pub(crate) fn load(bytes: &[u8], block: Block) -> Result<Elements> {
        Elements::load_inlined(bytes, block)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn load_inlined(bytes: &[u8], block: Block) -> Result<Elements> {
        let elements = Elements::header(bytes, block)?;
        check(bytes, elements.values_at(), elements.column.data_size(elements.count))?;
        let bounded = elements.column == ColumnType::Null || elements.column.is_nested();
        if elements.gaps != GAPS_NONE || bounded {
            elements.check_slots(bytes)?;
        }
        Ok(elements)
    }

    /// Reads the header alone. Its data is not checked, and may lie anywhere.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn header(bytes: &[u8], block: Block) -> Result<Elements> {
        let offset = block.offset;
        if block.kind() != KIND_ARRAY {
            return Err(block.unexpected());
        }
        let column = ColumnType::from_code((block.header >> 8) as u8, offset as u64)?;
        let gaps = (block.header >> 16) as u8 & GAPS_BOTH;
        let count = (block.header >> 32) as u32;
        let rest = load_u64(bytes, (offset + ARRAY_CAPACITY) as u64)?;
        let (capacity, data) = (rest as u32, (rest >> 32) as u32);
        let (first, tensor) = (0, block.header >> 24 & 1 == 1);
        Ok(Elements { offset, count, capacity, data, first, column, gaps, tensor })
    }

    /// Reads the header at `offset` alone.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn header_at(bytes: &[u8], offset: u32) -> Result<Elements> {
        Elements::header(bytes, Block { offset, header: load_u64(bytes, offset as u64)? })
    }

    /// The value of a row, in the column whose header is at `offset`. Reads nothing else of the
    /// column, so one value costs one value. Each load is checked.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn one(bytes: &[u8], offset: u32, row: u32) -> Result<Raw> {
        // A table's column is never a tensor, so its flag need not be computed.
        let column = Elements { tensor: false, ..Elements::header_at(bytes, offset)? };
        if row >= column.count {
            return Err(Error::new(ErrorKind::BadCount, offset as u64));
        }
        column.element_inlined(bytes, row)
    }

    /// Bounds the count of a column whose data does not bound it: of nulls, of rows, of arrays, and
    /// of a run's texts. Allows eight slots for each byte of the document.
    fn check_slots(&self, bytes: &[u8]) -> Result<()> {
        let free = self.column == ColumnType::Null && self.gaps == GAPS_NONE;
        let beyond = self.count as u64 > 8 * bytes.len() as u64;
        if free || beyond || self.gaps != GAPS_NONE && self.count > self.capacity {
            return Err(Error::new(ErrorKind::BadCount, self.offset as u64));
        }
        Ok(())
    }

    /// The header at `offset` within a table or list.
    pub(crate) fn at(bytes: &[u8], offset: u32) -> Result<Elements> {
        Elements::at_inlined(bytes, offset)
    }

    /// [`at`](Self::at), inlined for the loops of readers.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn at_inlined(bytes: &[u8], offset: u32) -> Result<Elements> {
        Elements::load_inlined(bytes, Block { offset, header: load_u64(bytes, offset as u64)? })
    }

    /// Where the values lie: after the bitmaps.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn values_at(&self) -> u64 {
        if self.gaps == GAPS_NONE || self.column.is_nested() {
            return self.data as u64;
        }
        self.data as u64 + gaps_size(self.gaps, self.capacity as u64)
    }

    /// Where the bits lie that say which whole values are floats.
    pub(crate) fn marks_at(&self) -> u64 {
        self.values_at() + round_up(self.capacity as u64 * self.column.width())
    }

    /// Where the header of a dictionary's texts lies: after the slots.
    pub(crate) fn entries_at(&self) -> u64 {
        self.marks_at()
    }

    /// Where the bitmaps lie.
    #[inline]
    pub(crate) fn bits_at(&self, bytes: &[u8]) -> Result<u64> {
        if self.column.is_nested() {
            return Ok(load_u32(bytes, self.data as u64 + NESTED_BITS as u64)? as u64);
        }
        Ok(self.data as u64)
    }

    /// Bytes that the data takes, bitmaps of scalars included.
    pub(crate) fn data_size(&self) -> u64 {
        if self.column.is_nested() {
            return self.column.data_size(0);
        }
        self.column.slots_size(self.gaps, self.capacity)
    }

    /// Whether slots take bytes in the column itself, so that it can have spare room.
    pub(crate) fn has_slots(&self) -> bool {
        !self.column.is_nested() || self.gaps != GAPS_NONE
    }

    /// The array, its whole capacity checked to lie in the document: for edits.
    pub(crate) fn whole(self, bytes: &[u8]) -> Result<Elements> {
        check(bytes, self.data as u64, self.data_size())?;
        if self.count > self.capacity {
            return Err(Error::new(ErrorKind::BadCount, self.offset as u64));
        }
        Ok(self)
    }

    /// Whether a slot is without a value, and what that means.
    #[inline]
    pub(crate) fn gap(&self, bytes: &[u8], slot: u32) -> Result<Option<Gap>> {
        if self.gaps == GAPS_NONE { Ok(None) } else { self.find_gap(bytes, slot) }
    }

    fn find_gap(&self, bytes: &[u8], slot: u32) -> Result<Option<Gap>> {
        let bits = self.bits_at(bytes)?;
        // A column of nulls has no values, whatever damaged bits say.
        if bit(bytes, bits, slot)? && self.column != ColumnType::Null {
            return Ok(None);
        }
        let null = match self.gaps {
            GAPS_NULL => true,
            GAPS_MISSING => false,
            _ => bit(bytes, bits + bitmap_size(self.capacity as u64), slot)?,
        };
        Ok(Some(if null { Gap::Null } else { Gap::Missing }))
    }

    /// Element `index` (the caller compared it with the count). Its tag is [`TAG_HOLE`]
    /// where a row of a table has no such field.
    pub(crate) fn element(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        self.element_inlined(bytes, index)
    }

    /// [`element`](Self::element), inlined for the loops of readers.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn element_inlined(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        // A damaged list's offsets may lead anywhere, so loads are checked.
        let slot = self.first.wrapping_add(index) & !ROW;
        if let Some(gap) = self.gap(bytes, slot)? {
            let tag = if gap == Gap::Null { TAG_NULL } else { TAG_HOLE };
            return Ok(Raw::unplaced(tag, 0));
        }
        self.slot_inlined(bytes, slot)
    }

    /// The value of a slot that has one.
    pub(crate) fn slot(&self, bytes: &[u8], slot: u32) -> Result<Raw> {
        self.slot_inlined(bytes, slot)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn slot_inlined(&self, bytes: &[u8], slot: u32) -> Result<Raw> {
        let data = self.values_at();
        // Each arm loads a constant width, so one branch chooses the column and the width.
        let at = |width: u64| data + slot as u64 * width;
        let int = |value: i64| Raw::unplaced(TAG_INT, value as u64);
        let float = |value: f64| Raw::unplaced(TAG_FLOAT, value.to_bits());
        Ok(match self.column {
            ColumnType::Cells => return tagged(bytes, data, slot),
            ColumnType::Bool => Raw::unplaced(TAG_FALSE + bit(bytes, data, slot)? as u8, 0),
            ColumnType::I8 => int(load_u8(bytes, at(1))? as i8 as i64),
            ColumnType::I16 => int(load_u16(bytes, at(2))? as i16 as i64),
            ColumnType::I32 => int(load_u32(bytes, at(4))? as i32 as i64),
            ColumnType::I64 => int(load_u64(bytes, at(8))? as i64),
            ColumnType::U8 => int(load_u8(bytes, at(1))? as i64),
            ColumnType::U16 => int(load_u16(bytes, at(2))? as i64),
            ColumnType::U32 => int(load_u32(bytes, at(4))? as i64),
            ColumnType::U64 => {
                let value = load_u64(bytes, at(8))?;
                let tag = if value > i64::MAX as u64 { TAG_UINT } else { TAG_INT };
                Raw::unplaced(tag, value)
            }
            ColumnType::F32 => float(f32::from_bits(load_u32(bytes, at(4))?) as f64),
            ColumnType::F64 => float(f64::from_bits(load_u64(bytes, at(8))?)),
            ColumnType::String => {
                let cell = load_u64(bytes, at(8))?;
                Raw { tag: TAG_STRING, cell, position: at(8) as u32 }
            }
            ColumnType::Objects | ColumnType::Arrays => {
                let object = self.column == ColumnType::Objects;
                let tag = if object { TAG_OBJECT } else { TAG_ARRAY };
                Raw { tag, cell: load_u32(bytes, at(4))?.into(), position: at(4) as u32 }
            }
            ColumnType::NumbersF32
            | ColumnType::NumbersF64
            | ColumnType::MarkedF32
            | ColumnType::MarkedF64
            | ColumnType::DictionaryU8
            | ColumnType::DictionaryU16 => return self.number_or_text(bytes, slot),
            ColumnType::TextRun => return lent(bytes, self.data, slot),
            ColumnType::Date
            | ColumnType::Time
            | ColumnType::DateTime
            | ColumnType::Timestamp
            | ColumnType::Decimal
            | ColumnType::Uuid
            | ColumnType::F16
            | ColumnType::Bool8 => return extended(bytes, data, self.column, slot),
            ColumnType::Null => Raw::NULL,
            ColumnType::Struct => Raw::unplaced(TAG_OBJECT, row_cell(self.data, slot)),
            ColumnType::List | ColumnType::FixedList => {
                Raw::unplaced(TAG_ARRAY, row_cell(self.data, slot))
            }
        })
    }
}

impl Elements {
    /// The value of a slot in a column of numbers, or in a dictionary.
    #[inline(never)]
    fn number_or_text(&self, bytes: &[u8], slot: u32) -> Result<Raw> {
        match self.column.is_dictionary() {
            true => self.text(bytes, slot),
            false => self.number(bytes, slot),
        }
    }

    /// The value of a slot in a column of numbers.
    fn number(&self, bytes: &[u8], slot: u32) -> Result<Raw> {
        let (width, bound) = (self.column.width(), self.column.bound().unwrap_or(WHOLE_F64));
        let at = self.values_at() + slot as u64 * width;
        let value = match width {
            4 => f32::from_bits(load_u32(bytes, at)?) as f64,
            _ => f64::from_bits(load_u64(bytes, at)?),
        };
        let marked = self.column.is_marked() && bit(bytes, self.marks_at(), slot)?;
        Ok(match is_whole(value, bound) && !marked {
            true => Raw::unplaced(TAG_INT, value as i64 as u64),
            false => Raw::unplaced(TAG_FLOAT, value.to_bits()),
        })
    }
}

/// What lies after the slots, and what they hold.
impl Elements {
    /// The tag and cell of a slot as [`put`](Self::put) takes them: the slot's code in a
    /// dictionary.
    pub(crate) fn stored(&self, bytes: &[u8], slot: u32) -> Result<(u8, u64)> {
        let raw = self.element(bytes, slot)?;
        match self.column.is_dictionary() && raw.tag == TAG_STRING {
            true => Ok((raw.tag, self.code(bytes, self.first.wrapping_add(slot))?.into())),
            false => Ok((raw.tag, raw.cell)),
        }
    }

    /// The dictionary's texts, a column of text. `None` for other columns, and where there is no
    /// room for a slot.
    pub(crate) fn entries(&self, bytes: &[u8]) -> Result<Option<Elements>> {
        if !self.column.is_dictionary() || self.capacity == 0 {
            return Ok(None);
        }
        let at = self.entries_at();
        check(bytes, at, ARRAY_SIZE as u64)?;
        let entries = Elements::at(bytes, at as u32)?;
        match entries.column == ColumnType::String && entries.gaps == GAPS_NONE {
            true => Ok(Some(entries)),
            false => Err(Error::new(ErrorKind::BadCode, at)),
        }
    }

    /// Checks that each slot of a column of dates, times or decimals holds one, and that booleans
    /// of one byte are 0 or 1. A slot without a value is 0, which is allowed in all of these.
    /// Linear in the slots; does nothing for other columns.
    pub(crate) fn check_extended(&self, bytes: &[u8]) -> Result<()> {
        let tag = self.column.extended_tag();
        if tag.is_none() && self.column != ColumnType::Bool8 {
            return Ok(());
        }
        let width = self.column.width();
        let start = self.values_at() + self.first as u64 * width;
        let slots = slice(bytes, start, self.count as u64 * width)?;
        let bad = match tag {
            Some(tag) => find_bad_slot(tag, slots, width as usize),
            None => slots.iter().position(|&slot| slot > 1),
        };
        match bad {
            None => Ok(()),
            Some(slot) => Err(Error::new(ErrorKind::BadCell, start + slot as u64 * width)),
        }
    }
}

/// The value of a slot in a column of values that JSON lacks, or of a type that only tensors have.
/// The slots begin at `values`.
#[inline(never)]
fn extended(bytes: &[u8], values: u64, column: ColumnType, slot: u32) -> Result<Raw> {
    let at = values + slot as u64 * column.width();
    if column == ColumnType::F16 {
        return Ok(Raw::unplaced(TAG_FLOAT, from_half(load_u16(bytes, at)?).to_bits()));
    } else if column == ColumnType::Bool8 {
        return Ok(Raw::unplaced(TAG_FALSE + (load_u8(bytes, at)? != 0) as u8, 0));
    }
    Ok(match (column.extended_tag(), column.width()) {
        (Some(tag), 4) => Raw::unplaced(tag, load_u32(bytes, at)? as i32 as i64 as u64),
        (Some(tag), _) => Raw::unplaced(tag, load_u64(bytes, at)?),
        (None, _) => {
            check(bytes, at, UUID_SIZE as u64)?;
            // The end lies in the document, so the offset fits 32 bits.
            let cell = span_at(at as u32, UUID_SIZE as u32, false);
            Raw { tag: TAG_UUID, cell, position: LENT }
        }
    })
}

/// Writing. The plan of the edit has made sure that all of it fits, so nothing here can fail.
impl Elements {
    /// A column without gaps at `offset`. Its header is still to be written.
    pub(crate) const fn new(
        offset: u32,
        column: ColumnType,
        count: u32,
        capacity: u32,
        data: u32,
    ) -> Elements {
        let (first, gaps, tensor) = (0, GAPS_NONE, false);
        Elements { offset, count, capacity, data, first, column, gaps, tensor }
    }

    /// The header as two words.
    pub(crate) fn header_words(&self) -> [u64; 2] {
        let first = KIND_ARRAY as u64 | (self.column as u64) << 8 | (self.gaps as u64) << 16;
        let first = first | (self.tensor as u64) << 24;
        [first | (self.count as u64) << 32, self.capacity as u64 | (self.data as u64) << 32]
    }

    /// Writes the header.
    pub(crate) fn write_header(&self, space: &mut impl Target) {
        let [first, second] = self.header_words();
        space.write_u64(self.offset as u64, first);
        space.write_u64((self.offset + ARRAY_CAPACITY) as u64, second);
    }

    /// Writes the count of elements to the header.
    pub(crate) fn set_count<S: Storage>(&self, space: &mut Space<S>, count: u32) {
        space.write_u32((self.offset + ARRAY_COUNT) as u64, count);
    }

    /// Writes the capacity in elements to the header.
    pub(crate) fn set_capacity<S: Storage>(&self, space: &mut Space<S>, capacity: u32) {
        space.write_u32((self.offset + ARRAY_CAPACITY) as u64, capacity);
    }

    /// Writes a value that the column can hold, or that the slot has none. For structs, lists and
    /// runs it only writes whether there is one: what they hold is elsewhere.
    #[inline]
    pub(crate) fn put<S: Storage>(&self, space: &mut Space<S>, slot: u32, (tag, cell): (u8, u64)) {
        self.set_gap(
            space,
            slot,
            match tag {
                TAG_NULL => Some(Gap::Null),
                TAG_HOLE => Some(Gap::Missing),
                _ => None,
            },
        );
        let values = self.values_at();
        let column = self.column;
        match column.slot() {
            SlotKind::Tagged => put_tagged(space, values, slot, tag, cell),
            SlotKind::Bit => set_bit(space, values, slot, tag == TAG_TRUE),
            // The UUID is in its slot already.
            SlotKind::Bytes if tag == TAG_UUID => {}
            SlotKind::Bytes => self.clear(space, slot..slot + 1),
            _ => {
                let bits = match self.tensor {
                    true => column.fit_tensor(tag, cell),
                    false => column.fit(tag, cell),
                };
                // Only a value that is replaced next may not fit: the column is the new one's.
                let bits = bits.unwrap_or(0).to_le_bytes();
                let width = column.width();
                if width > 0 {
                    space.write(values + slot as u64 * width, &bits[..width as usize]);
                }
            }
        }
        if self.column.is_marked() {
            self.put_mark(space, slot, (tag, cell));
        }
    }

    #[cold]
    fn put_mark<S: Storage>(&self, space: &mut Space<S>, slot: u32, (tag, cell): (u8, u64)) {
        set_bit(space, self.marks_at(), slot, self.column.is_mark(tag, cell));
    }

    /// Writes to the bitmaps whether a slot holds a value, and if not, whether it is null or
    /// missing. The slot's own bytes stay.
    pub(crate) fn set_gap<S: Storage>(&self, space: &mut Space<S>, slot: u32, gap: Option<Gap>) {
        if self.gaps == GAPS_NONE {
            return;
        }
        let bits = self.bits_at(space.bytes()).unwrap_or(0);
        set_bit(space, bits, slot, gap.is_none());
        if self.gaps == GAPS_BOTH {
            let null = bits + bitmap_size(self.capacity as u64);
            set_bit(space, null, slot, gap == Some(Gap::Null));
        }
    }

    /// Moves slots to another place in the column, with their bits in the bitmaps. The slots
    /// that they leave become zero.
    pub(crate) fn move_slots<S: Storage>(
        &self,
        space: &mut Space<S>,
        from: u32,
        to: u32,
        count: u32,
    ) {
        if from == to {
            return;
        }
        if self.gaps != GAPS_NONE {
            let bits = self.bits_at(space.bytes()).unwrap_or(0);
            move_bits(space, bits, from, to, count);
            if self.gaps == GAPS_BOTH {
                move_bits(space, bits + bitmap_size(self.capacity as u64), from, to, count);
            }
        }
        let values = self.values_at();
        let column = self.column;
        match column.slot() {
            SlotKind::Bit => move_bits(space, values, from, to, count),
            SlotKind::Tagged => {
                for step in 0..count {
                    let step = if to > from { count - 1 - step } else { step };
                    if let Ok(raw) = tagged(space.bytes(), values, from + step) {
                        put_tagged(space, values, to + step, raw.tag, raw.cell);
                    }
                }
            }
            _ => {
                let width = column.width();
                let (source, target) = (values + from as u64 * width, values + to as u64 * width);
                space.copy_within(source, target, count as u64 * width);
                if column.is_marked() {
                    move_bits(space, self.marks_at(), from, to, count);
                }
            }
        }
        self.clear(space, left(from, to, count));
    }

    /// Exchanges the bytes of two slots of whole bytes. Their bits in the bitmaps stay.
    pub(crate) fn exchange_slots<S: Storage>(
        &self,
        space: &mut Space<S>,
        a: u32,
        b: u32,
    ) -> Result<()> {
        let mut first = [0; UUID_SIZE];
        let width = self.column.width();
        let [a, b] = [a, b].map(|slot| self.values_at() + slot as u64 * width);
        let first = &mut first[..width as usize];
        first.copy_from_slice(slice(space.bytes(), a, width)?);
        space.copy_within(b, a, width);
        space.write(b, first);
        Ok(())
    }

    /// Makes slots zero, as slots without a value are. The bitmaps stay.
    pub(crate) fn clear<S: Storage>(&self, space: &mut Space<S>, slots: Range<u32>) {
        let values = self.values_at();
        let column = self.column;
        match column.slot() {
            SlotKind::Bit => slots.for_each(|slot| set_bit(space, values, slot, false)),
            SlotKind::Tagged => {
                slots.for_each(|slot| put_tagged(space, values, slot, TAG_HOLE, 0));
            }
            _ => {
                let width = column.width();
                let length = (slots.end - slots.start) as u64 * width;
                space.zero(values + slots.start as u64 * width, length);
                if column.is_marked() {
                    let marks = self.marks_at();
                    slots.for_each(|slot| set_bit(space, marks, slot, false));
                }
            }
        }
    }
}

/// Bit `slot` of a bitmap.
#[inline]
pub(super) fn bit(bytes: &[u8], bits: u64, slot: u32) -> Result<bool> {
    Ok(load_u8(bytes, bits + (slot >> 3) as u64)? >> (slot & 7) & 1 == 1)
}

/// Sets bit `slot` of a bitmap.
pub(crate) fn set_bit<S: Storage>(space: &mut Space<S>, bits: u64, slot: u32, value: bool) {
    let at = bits + (slot >> 3) as u64;
    let old = load_u8(space.bytes(), at).unwrap_or(0);
    let bit = 1 << (slot & 7);
    let new = if value { old | bit } else { old & !bit };
    if new != old {
        space.write_u8(at, new);
    }
}

fn move_bits<S: Storage>(space: &mut Space<S>, bits: u64, from: u32, to: u32, count: u32) {
    for step in 0..count {
        let step = if to > from { count - 1 - step } else { step };
        let value = bit(space.bytes(), bits, from + step) == Ok(true);
        set_bit(space, bits, to + step, value);
    }
    left(from, to, count).for_each(|slot| set_bit(space, bits, slot, false));
}

/// The slots that are left behind by a move. A move downwards by more than `count` also leaves
/// those that it passes over.
fn left(from: u32, to: u32, count: u32) -> Range<u32> {
    if to > from { from..to.min(from + count) } else { to + count..from + count }
}
