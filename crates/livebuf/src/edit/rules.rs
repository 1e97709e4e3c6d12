//! The rules by which a column changes: its layout to hold a value, and how much room it gets
//! (EDITING 6, 9).

use super::feed::{Feed, Incoming, Put};
use super::new::New;
use super::sink::Sink;
use crate::block::column::{Elements, Gap};
use crate::block::column_type::{ColumnType, Numbers, SlotKind};
use crate::block::list::List;
use crate::block::offsets::offsets_column;
use crate::block::table::Table;
use crate::block::tensor::{Form, mismatch};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::text;
use crate::format::cell::Needle;
use crate::format::layout::*;
use crate::store::storage::Storage;

/// By which rules a column changes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rules {
    /// Any other array by itself (EDITING 6).
    Array,
    /// Columns of tables and lists, and arrays with gaps, marks, a dictionary or a run, of UUIDs,
    /// of rows or of arrays, and tensors (EDITING 9).
    Column,
}

/// How a column is to store its slots.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Layout {
    pub(super) column: ColumnType,
    pub(super) gaps: u8,
}

/// For how many slots there is to be room, and how it is made.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) capacity: u32,
    pub(super) data: Data,
}

/// Where a column's data is to be.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Data {
    Stays,
    /// It ends the document and gets so many bytes more.
    Grows(u64),
    Moves,
}

/// How many elements of a column fit in `size` bytes.
fn capacity_in(column: ColumnType, size: u64) -> u32 {
    let count = match column.slot() {
        SlotKind::Tagged => 8 * (size / 72) + (size % 72 / 8).saturating_sub(1),
        SlotKind::Bit => size * 8,
        // Groups of 64 values and a word of marks.
        SlotKind::Marked => {
            let group = 64 * column.width() + 8;
            64 * (size / group) + (size % group).saturating_sub(8) / column.width()
        }
        _ => size / column.width(),
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Whether a column has nothing but its slots, and gaps.
pub(super) fn has_plain_slots(column: Elements) -> bool {
    let kind = column.column;
    let simple = !kind.is_nested() && !kind.is_marked() && !kind.is_dictionary() && !kind.lends();
    simple && !column.tensor
}

/// Elements to make room for behind an array that ends the document: little,
/// so that slack stays below a hundredth of the data.
pub(super) fn growth_at_end(count: u32) -> u32 {
    1 + count / 200
}

/// From so many bytes on, data that moves gets room for an eighth more, and not for half more. So
/// the first edit of a large document makes it 2.1 times as large at most, instead of 2.5 times.
const LARGE: u64 = 1 << 20;

/// How many elements a column gets room for when it is full and moves.
fn grown_count(column: Elements) -> u32 {
    let large = column.data_size() >= LARGE;
    column.count.saturating_add(if large { column.count / 8 } else { column.count / 2 })
}

/// Capacity of a column that needs `needed` slots.
fn grown(column: Elements, needed: u32) -> u32 {
    if !column.has_slots() {
        return needed;
    }
    if needed <= column.capacity {
        return column.capacity;
    }
    let more = needed.max(grown_count(column)).saturating_add(7) & !7;
    more.min(MAX_ELEMENTS.max(needed))
}

impl Rules {
    /// The rules for a column, and the table or list that it is `within`; 0 for none.
    pub(super) fn of(column: Elements, within: u32) -> Rules {
        let simple = has_plain_slots(column) && column.gaps == GAPS_NONE && within == 0;
        if simple { Rules::Array } else { Rules::Column }
    }

    /// The rules for room in the new layout: an array that gets gaps grows like a column.
    pub(super) fn with(self, layout: Layout) -> Rules {
        if layout.gaps == GAPS_NONE { self } else { Rules::Column }
    }

    /// Room for `needed` slots. `end`: where the document ends.
    pub(super) fn room(self, column: Elements, layout: Layout, needed: u32, end: u64) -> Room {
        // The numbers of a tensor get their room as those of an array by itself.
        if self == Rules::Column && (!column.tensor || column.column.is_nested()) {
            let capacity = grown(column, needed);
            let same = capacity == column.capacity
                && layout.gaps == column.gaps
                && layout.column.takes_over(column.column);
            return Room { capacity, data: if same { Data::Stays } else { Data::Moves } };
        }
        let (kind, count, size) = (layout.column, column.count, column.data_size());
        let over = kind.takes_over(column.column);
        // No word may stay after the last slot.
        let divides = size.is_multiple_of(kind.width().max(8));
        if over || count == 0 && !kind.is_marked() && divides {
            let capacity = capacity_in(kind, size);
            if needed <= capacity {
                return Room { capacity, data: Data::Stays };
            }
            if column.data as u64 + size == end && size > 0 {
                let more = growth_at_end(needed).max(needed - count);
                return exactly(kind, count + more, column, end);
            }
        }
        let wanted = match needed > column.capacity {
            true => needed.max(grown_count(column)).max(count.saturating_add(3)),
            false => column.capacity,
        };
        Room { capacity: capacity_in(kind, kind.data_size(wanted)), data: Data::Moves }
    }

    /// The same if someone asked for that many.
    pub(super) fn reserved(self, column: Elements, layout: Layout, needed: u32, end: u64) -> Room {
        match self {
            Rules::Column => self.room(column, layout, needed, end),
            Rules::Array => exactly(layout.column, needed, column, end),
        }
    }
}

/// Room for that many elements of an array, behind its data where that ends the document.
fn exactly(kind: ColumnType, needed: u32, column: Elements, end: u64) -> Room {
    let old = column.data_size();
    let size = kind.data_size(needed);
    let capacity = capacity_in(kind, size);
    match size {
        size if size <= old => Room { capacity: column.capacity, data: Data::Stays },
        size if column.data as u64 + old == end && old > 0 => {
            Room { capacity, data: Data::Grows(size - old) }
        }
        _ => Room { capacity, data: Data::Moves },
    }
}

impl Layout {
    pub(super) fn of(column: Elements) -> Layout {
        Layout { column: column.column, gaps: column.gaps }
    }

    /// Changes to hold a value, too. `first`: it is the first, or the only one is replaced.
    pub(super) fn take(&mut self, tag: u8, cell: u64, first: bool) {
        if first || self.column == ColumnType::Null {
            self.column = ColumnType::for_first(tag);
        } else if self.column.fit(tag, cell).is_none() {
            let widened = self.column.widened(tag);
            self.column = match widened.fit(tag, cell) {
                Some(_) => widened,
                None => ColumnType::Cells,
            };
        }
        if self.column == ColumnType::Cells {
            self.gaps = GAPS_NONE;
        }
    }

    pub(super) fn take_gap(&mut self, gap: Gap) {
        if self.column != ColumnType::Cells {
            self.gaps |= if gap == Gap::Null { GAPS_NULL } else { GAPS_MISSING };
        }
    }

    /// The same without structs and lists.
    pub(super) fn plain(column: Elements) -> Layout {
        Layout { column: column.column.plain(), gaps: column.gaps }
    }

    /// The same of an array of a list that is to be one by itself. If it is there, none of its
    /// elements is missing.
    pub(super) fn alone(array: Elements) -> Layout {
        Layout { gaps: array.gaps & GAPS_NULL, ..Layout::plain(array) }
    }

    /// A column in this layout. Its header is still to be written.
    pub(super) fn column(self, offset: u32, count: u32, capacity: u32, data: u32) -> Elements {
        Elements { gaps: self.gaps, ..Elements::new(offset, self.column, count, capacity, data) }
    }

    pub(super) fn size(&self, capacity: u32) -> u64 {
        self.column.slots_size(self.gaps, capacity)
    }
}

/// The layout in which a column can hold its slots and these, and how many texts a dictionary
/// lacks. `replaced`: the slot that the value is stored in, where that is there.
pub(super) fn layout<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    rules: Rules,
    feed: &Feed<'_, '_>,
    replaced: Option<u32>,
) -> Result<(Layout, u32)> {
    if column.tensor {
        check_fits(sink, column, feed)?;
        return Ok((Layout::of(column), 0));
    }
    let layout = layout_by_kind(sink, column, rules, feed, replaced.is_some())?;
    if layout.column == ColumnType::Cells && column.column.holds_numbers() && column.count > 0 {
        let numbers = numbers_layout(sink, column, rules, feed, replaced)?;
        return Ok((numbers.unwrap_or(layout), 0));
    }
    if layout.column.is_dictionary() {
        return dictionary_layout(sink, column, feed, layout);
    }
    if layout.column.is_run() {
        return Ok((run_layout(sink, column, feed, layout, replaced)?, 0));
    }
    Ok((layout, 0))
}

/// Checks that a tensor's type holds these values. They keep its shape: the arrays among them have
/// its length.
#[cold]
fn check_fits<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    feed: &Feed<'_, '_>,
) -> Result<()> {
    let length = match column.column {
        ColumnType::FixedList => List::load(sink.bytes(), column.data)?.length,
        _ => None,
    };
    if feed.numbers(column).is_some() {
        return Ok(());
    }
    feed.each(sink, |sink, put| {
        let fits = match (put.incoming(), length) {
            // Below an array that is not there.
            (Incoming::Gap(Gap::Missing), _) => true,
            (Incoming::Value(TAG_ARRAY, _), Some(length)) => put.length(sink.bytes())? == length,
            (Incoming::Value(tag, cell), None) => column.column.fit_tensor(tag, cell).is_some(),
            _ => false,
        };
        if fits { Ok(()) } else { Err(mismatch(column.offset)) }
    })
}

/// A dictionary may have so many texts even if it has fewer slots.
const SMALL_DICTIONARY: u32 = 8;

/// The layout by which a dictionary holds texts: with wider codes where these are too narrow.
/// Texts are in cells where one is too long, or where there would be more texts than slots.
#[cold]
fn dictionary_layout<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    feed: &Feed<'_, '_>,
    layout: Layout,
) -> Result<(Layout, u32)> {
    let plain = Layout { column: ColumnType::String, ..layout };
    let Some(entries) = column.entries(sink.bytes())? else { return Ok((plain, 0)) };
    let (mut new, mut fits, mut slots) = (0, true, column.count);
    feed.each(sink, |sink, put| {
        slots = slots.saturating_add(1);
        if put.is(TAG_STRING) {
            let mut short = [0; 8];
            let needle = Needle::new(put.content(sink.bytes(), &mut short)?);
            fits &= needle.text.len() <= MAX_SHARED as usize;
            new += u32::from(entries.find_entry(sink.bytes(), &needle)?.is_none());
        }
        Ok(())
    })?;
    if !fits {
        return Ok((plain, 0));
    }
    if new == 0 {
        return Ok((layout, 0));
    }
    let kind = match entries.count.saturating_add(new) {
        all if all > slots.max(SMALL_DICTIONARY) => return Ok((plain, 0)),
        0..=0x100 => layout.column,
        0x101..=0x1_0000 => ColumnType::DictionaryU16,
        _ => return Ok((plain, 0)),
    };
    Ok((Layout { column: kind, ..layout }, new))
}

/// Bytes of texts and offsets that one edit moves in a run.
pub(super) const MOST_MOVED: u32 = 1 << 16;

/// The layout by which a run holds texts. They are in cells where one would move too many bytes. A
/// run of texts of one length gets offsets for another, and all of these count.
#[cold]
fn run_layout<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    feed: &Feed<'_, '_>,
    layout: Layout,
    replaced: Option<u32>,
) -> Result<Layout> {
    let plain = Layout { column: ColumnType::String, ..layout };
    let list = List::load(sink.bytes(), column.data)?;
    let mut new = 0;
    feed.each(sink, |sink, put| {
        if !put.is(TAG_STRING) {
            new += list.length.unwrap_or(0) as u64;
            return Ok(());
        }
        let mut short = [0; 8];
        let bytes = put.content(sink.bytes(), &mut short)?;
        sink.editor().check_length(bytes)?;
        if matches!(put, Put::Value(New::Copy(_))) {
            text(bytes, 0)?;
        }
        new += bytes.len() as u64;
        Ok(())
    })?;
    let bytes = sink.bytes();
    let (run, mut old) = (list.child(bytes)?, 0);
    if let Some(slot) = replaced {
        let (start, length) = list.bounds(bytes, slot)?;
        let rest = (run.count as u64).checked_sub(start + length);
        let rest = rest.ok_or(Error::new(ErrorKind::BadIndex, list.offset as u64))?;
        old = length;
        let (changed, kind) = match list.length {
            Some(_) => (column.count, offsets_column(run.count as u64 - old + new)),
            None => (column.count - slot, list.offsets(bytes)?.column),
        };
        let moved = rest + changed as u64 * kind.width();
        if new != old && moved > MOST_MOVED as u64 {
            return Ok(plain);
        }
    }
    Ok(if run.count as u64 - old + new <= MAX_SPAN as u64 { layout } else { plain })
}

/// The layout by which a column of numbers holds integers and floats (EDITING 6); `None`
/// where there is none. Linear in the column.
#[cold]
fn numbers_layout<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    rules: Rules,
    feed: &Feed<'_, '_>,
    replaced: Option<u32>,
) -> Result<Option<Layout>> {
    // While bytes are counted, an array that the same edit makes is not there yet. It counts as
    // cells and a word. No column of numbers takes more: of up to 8 slots it has two bitmaps,
    // where cells have one word of tags.
    if column.offset == 0 {
        sink.set_aside(8);
        return Ok(None);
    }
    // In a document that was not validated, taking bytes may change what the second run finds in
    // the column.
    if !sink.editor().is_trusted() {
        return Ok(None);
    }
    let mut layout = Layout::of(column);
    let mut numbers = Numbers::default();
    let (mut fits, mut floats) = (true, column.column.integers().is_none());
    feed.each(sink, |_, put| {
        match put.incoming() {
            Incoming::Gap(gap) => {
                fits &= rules == Rules::Column || column.count > u32::from(replaced.is_some());
                layout.take_gap(gap);
            }
            Incoming::Value(tag, cell) => {
                fits &= numbers.add_number(tag, cell);
                floats |= tag == TAG_FLOAT;
            }
        }
        Ok(())
    })?;
    if !fits || !floats || numbers.column(1).is_none() {
        return Ok(None);
    }
    let bytes = sink.bytes();
    for slot in (0..column.count).filter(|&slot| Some(slot) != replaced) {
        let raw = column.element(bytes, slot)?;
        numbers.add_number(raw.tag, raw.cell);
    }
    let min_width = if column.column.width() == 8 { 8 } else { 1 };
    Ok(numbers.column(min_width).map(|kind| Layout { column: kind, ..layout }))
}

/// Whether null gives an array of other values gaps. It becomes cells in a document that was not
/// validated, where arrays with gaps are not edited.
#[cold]
fn gets_gaps<S: Storage>(sink: &mut Sink<'_, S>, column: Elements) -> bool {
    // While bytes are counted, an array that the same edit makes is not there yet. It counts as
    // cells, and as what rounding the capacity up may add to the slots.
    if column.offset == 0 {
        sink.set_aside(64);
    }
    column.offset > 0 && sink.editor().is_trusted()
}

/// The same where integers and floats together are cells.
#[inline]
fn layout_by_kind<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    rules: Rules,
    feed: &Feed<'_, '_>,
    replaces: bool,
) -> Result<Layout> {
    let mut layout = Layout::of(column);
    if rules == Rules::Array {
        let first = column.count <= u32::from(replaces);
        feed.each(sink, |sink, put| {
            let (tag, cell) = put.probe();
            if tag == TAG_NULL && !first && gets_gaps(sink, column) {
                layout.take_gap(Gap::Null);
            } else if column.count == 0 || column.column.fit(tag, cell).is_none() {
                layout.take(tag, cell, first);
            }
            Ok(())
        })?;
        return Ok(layout);
    }
    let (mut length, mut form) = (None, None);
    if column.column == ColumnType::FixedList {
        let list = List::load(sink.bytes(), column.data)?;
        (length, form) = (list.length, Form::in_list(sink.bytes(), list)?);
    }
    feed.each(sink, |sink, put| {
        let bytes = sink.bytes();
        match put.incoming() {
            Incoming::Gap(gap) => layout.take_gap(gap),
            Incoming::Value(tag, cell) => match layout.column {
                ColumnType::Struct if tag == TAG_OBJECT => {
                    let table = Table::load(bytes, column.data)?;
                    // Further fields of an object of this document would have to move twice.
                    if matches!(put, Put::Here(_)) && put.count_further(bytes, table)?.0 > 0 {
                        layout.column = layout.column.plain();
                    }
                }
                ColumnType::List | ColumnType::FixedList if tag == TAG_ARRAY => {
                    let fits = match length {
                        Some(length) => put.length(bytes)? == length,
                        None => true,
                    };
                    if replaces || !fits || put.form(bytes)? != form {
                        layout.column = layout.column.plain();
                    }
                }
                _ => layout.take(tag, cell, false),
            },
        }
        Ok(())
    })?;
    Ok(layout)
}
