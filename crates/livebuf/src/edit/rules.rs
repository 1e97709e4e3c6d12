//! The rules by which a column changes: its layout to hold a value, and how much room it gets
//! (FORMAT 12.6, 12.9).

use super::feed::{Feed, Incoming, Put};
use super::sink::Sink;
use crate::block::column::{ColumnType, Elements, Gap};
use crate::block::list::List;
use crate::block::table::Table;
use crate::error::Result;
use crate::format::layout::*;

/// By which rules a column changes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rules {
    /// An array by itself without gaps (FORMAT 12.6).
    Array,
    /// Columns of tables and lists, and arrays with gaps, of rows or of arrays (12.9).
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
    let count = match column {
        ColumnType::Cells => 8 * (size / 72) + (size % 72 / 8).saturating_sub(1),
        ColumnType::Bool => size * 8,
        _ => size / column.width(),
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Elements to make room for behind an array that ends the document: little,
/// so that slack stays below a hundredth of the data.
pub(super) fn growth_at_end(count: u32) -> u32 {
    1 + count / 200
}

/// Capacity of a column that needs `needed` slots.
fn grown(column: Elements, needed: u32) -> u32 {
    if !column.has_slots() {
        return needed;
    }
    if needed <= column.capacity {
        return column.capacity;
    }
    let more = needed.max(column.count.saturating_add(column.count / 2)).saturating_add(7) & !7;
    more.min(MAX_ELEMENTS.max(needed))
}

/// Slots of a column with room for `additional` more, where it has room for any.
pub(super) fn with_room(column: Elements, additional: u32) -> u32 {
    if column.has_slots() { column.count.saturating_add(additional) } else { column.count }
}

impl Rules {
    /// Of a column, and what it is in.
    pub(super) fn of(column: Elements, within: u32) -> Rules {
        match column.gaps == GAPS_NONE && !column.column.is_nested() && within == 0 {
            true => Rules::Array,
            false => Rules::Column,
        }
    }

    /// Room for `needed` slots. `end`: where the document ends.
    pub(super) fn room(self, column: Elements, layout: Layout, needed: u32, end: u64) -> Room {
        if self == Rules::Column {
            let capacity = grown(column, needed);
            let same = layout == Layout::of(column) && capacity == column.capacity;
            return Room { capacity, data: if same { Data::Stays } else { Data::Moves } };
        }
        let (kind, count, size) = (layout.column, column.count, column.data_size());
        if kind == column.column || count == 0 {
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
            true => needed.max(count.saturating_add((count / 2).max(3))),
            false => column.capacity,
        };
        Room { capacity: capacity_in(kind, kind.data_size(wanted)), data: Data::Moves }
    }

    /// The same where someone asked for that many.
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

    pub(super) fn size(&self, capacity: u32) -> u64 {
        self.column.slots_size(self.gaps, capacity)
    }
}

/// The layout in which a column can hold its slots and these.
pub(super) fn layout<K: Sink>(
    sink: &mut K,
    column: Elements,
    rules: Rules,
    feed: &Feed<'_, '_>,
    replaces: bool,
) -> Result<Layout> {
    let mut layout = Layout::of(column);
    if rules == Rules::Array {
        let first = column.count <= u32::from(replaces);
        feed.each(sink, |_, put| {
            let (tag, cell) = put.probe();
            if column.count == 0 || column.column.fit(tag, cell).is_none() {
                layout.take(tag, cell, first);
            }
            Ok(())
        })?;
        return Ok(layout);
    }
    let length = match column.column {
        ColumnType::FixedList => List::load(sink.bytes(), column.data)?.length,
        _ => None,
    };
    feed.each(sink, |sink, put| {
        let bytes = sink.bytes();
        match put.incoming() {
            Incoming::Blank => {}
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
                    if replaces || !fits {
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
