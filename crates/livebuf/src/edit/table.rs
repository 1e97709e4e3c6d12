//! Editing tables and lists: slots opened, filled, replaced and closed in every column.
//!
//! What is to be stored is described by a [`Feed`], which each column asks for its part
//! of it: a struct's column for a member of each object, a list's for the elements of
//! each array. A column that cannot hold its part gets another layout first, by the same
//! rules when planning (`plan_*`, which add up the bytes) and when committing.

use super::object::{FieldPlan, Found, append, find_member, index_limit};
use super::{At, Editor, Event, New, NodeId, build_key, key_fresh};
use crate::block::absent::{Blanks, is_blank};
use crate::block::column::{ColumnType, Elements, Gap, row_cell, row_of, set_bit};
use crate::block::list::{List, elements_of};
use crate::block::map;
use crate::block::owner::{Owner, set_nested_bits};
use crate::block::record::{Block, Raw, Record};
use crate::block::shape::{self, Shape};
use crate::block::table::{Table, extra, extra_entry};
use crate::block::walk::{Cursor, Node};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u64};
use crate::format::cell::Needle;
use crate::format::layout::*;
use crate::store::space::{Extent, Observer};
use crate::store::storage::Storage;
use crate::view::{Checked, Object};

/// What is to be stored in a slot.
#[derive(Clone, Copy)]
pub(super) enum Put<'v> {
    /// A value from elsewhere.
    Value(New<'v>),
    /// A value of this document that hangs nowhere.
    Here(Raw),
    /// A row has no such field.
    Missing,
    /// What would have the field is not there itself.
    Blank,
}

/// A value as columns see it.
enum Incoming {
    /// Tag, and the cell as far as columns care.
    Value(u8, u64),
    Gap(Gap),
    Blank,
}

impl<'v> Put<'v> {
    pub(super) fn new(new: New<'v>) -> Put<'v> {
        match new {
            New::Detached(detached) => Put::Here(detached.raw()),
            new => Put::Value(new),
        }
    }

    fn incoming(&self) -> Incoming {
        let (tag, cell) = match self {
            Put::Value(new) => new.probe(),
            Put::Here(raw) => (raw.tag, raw.cell),
            Put::Missing => return Incoming::Gap(Gap::Missing),
            Put::Blank => return Incoming::Blank,
        };
        if tag == TAG_NULL { Incoming::Gap(Gap::Null) } else { Incoming::Value(tag, cell) }
    }

    fn is(&self, tag: u8) -> bool {
        matches!(self.incoming(), Incoming::Value(found, _) if found == tag)
    }

    /// The member of an object; blank where there is no object.
    fn member(&self, bytes: &[u8], needle: &Needle<'_>) -> Result<Put<'v>> {
        if !self.is(TAG_OBJECT) {
            return Ok(Put::Blank);
        }
        let found = match self {
            Put::Value(New::Fields(fields)) => fields
                .iter()
                .find(|(key, _)| key.as_bytes() == needle.text)
                .map(|(_, new)| Put::new(*new)),
            Put::Value(New::Copy(value)) => match value.object()? {
                Some(object) => object.find(needle)?.map(|value| Put::Value(New::Copy(value))),
                None => None,
            },
            Put::Here(raw) => Object::of(Checked, bytes, raw.cell)?
                .find(needle)?
                .map(|value| Put::Here(value.raw())),
            _ => None,
        };
        Ok(found.unwrap_or(Put::Missing))
    }

    /// Hands `with` the elements of an array.
    fn elements(&self, bytes: &[u8], with: &mut dyn FnMut(Put<'v>) -> Result<()>) -> Result<()> {
        match self {
            Put::Value(New::Items(items)) => items.iter().try_for_each(|new| with(Put::new(*new))),
            Put::Value(New::Copy(value)) => match value.array()? {
                Some(array) => {
                    array.iter().try_for_each(|element| with(Put::Value(New::Copy(element?))))
                }
                None => Ok(()),
            },
            Put::Here(raw) if raw.tag == TAG_ARRAY => {
                let elements = elements_of(bytes, raw.cell)?;
                (0..elements.count)
                    .try_for_each(|index| with(Put::Here(elements.element(bytes, index)?)))
            }
            _ => Ok(()),
        }
    }

    /// Element `index` of an array.
    fn element(&self, bytes: &[u8], index: u32) -> Result<Put<'v>> {
        let missing = || Error::new(ErrorKind::IndexOutOfRange, 0);
        Ok(match self {
            Put::Value(New::Items(items)) => {
                Put::new(*items.get(index as usize).ok_or_else(missing)?)
            }
            Put::Value(New::Copy(value)) => match value.array()? {
                Some(array) => {
                    Put::Value(New::Copy(array.get(index as usize)?.ok_or_else(missing)?))
                }
                None => return Err(missing()),
            },
            Put::Here(raw) => Put::Here(elements_of(bytes, raw.cell)?.element(bytes, index)?),
            _ => return Err(missing()),
        })
    }

    fn length(&self, bytes: &[u8]) -> Result<u32> {
        match self {
            Put::Value(New::Items(items)) => Ok(items.len() as u32),
            Put::Value(New::Copy(value)) => {
                Ok(value.array()?.map_or(0, |array| array.len() as u32))
            }
            Put::Here(raw) if raw.tag == TAG_ARRAY => Ok(elements_of(bytes, raw.cell)?.count),
            _ => Ok(0),
        }
    }

    /// Hands `with` the members of an object whose keys are not a table's.
    fn further(
        &self,
        bytes: &[u8],
        table: Table,
        with: &mut dyn FnMut(&str, Put<'v>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Put::Here(raw) if raw.tag == TAG_OBJECT => {
                let shape = Shape::load(bytes, table.shape as u64)?;
                let object = Object::of(Checked, bytes, raw.cell)?;
                object.iter().try_for_each(|member| {
                    let (key, value) = member?;
                    match table.has(bytes, shape, key.as_bytes())? {
                        true => Ok(()),
                        false => with(key, Put::Here(value.raw())),
                    }
                })
            }
            _ => self.further_fresh(bytes, table, &mut |key, put| with(key, put)),
        }
    }

    /// The same of a value from elsewhere: its keys outlive an edit.
    fn further_fresh(
        &self,
        bytes: &[u8],
        table: Table,
        with: &mut dyn FnMut(&'v str, Put<'v>) -> Result<()>,
    ) -> Result<()> {
        let shape = Shape::load(bytes, table.shape as u64)?;
        let mut with = |key: &'v str, put| match table.has(bytes, shape, key.as_bytes())? {
            true => Ok(()),
            false => with(key, put),
        };
        match self {
            Put::Value(New::Fields(fields)) => {
                fields.iter().try_for_each(|(key, new)| with(key, Put::new(*new)))
            }
            Put::Value(New::Copy(value)) => match value.object()? {
                Some(object) => object.iter().try_for_each(|member| {
                    let (key, value) = member?;
                    with(key, Put::Value(New::Copy(value)))
                }),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Count of the members that are not a table's, the bytes of their keys, and whether
    /// a record can hold them.
    fn count_further(&self, bytes: &[u8], table: Table) -> Result<(u32, u64, bool)> {
        let (mut count, mut keys, mut record) = (0, 0, true);
        self.further(bytes, table, &mut |key, _| {
            count += 1;
            keys += key_fresh(key.as_bytes());
            record &= key.len() <= MAX_SHAPE_KEY && count as usize <= MAX_FIELDS;
            Ok(())
        })?;
        Ok((count, keys, record))
    }
}

/// The values for a column, one for each slot that is opened.
#[derive(Clone, Copy)]
enum Feed<'f, 'v> {
    One(Put<'v>),
    /// The members of objects that a table's column holds.
    Members(&'f Feed<'f, 'v>, Table, u32),
    /// The elements of arrays.
    Elements(&'f Feed<'f, 'v>),
}

impl<'v> Feed<'_, 'v> {
    fn each(&self, bytes: &[u8], with: &mut dyn FnMut(Put<'v>) -> Result<()>) -> Result<()> {
        match self {
            Feed::One(put) => with(*put),
            Feed::Members(feed, table, index) => {
                let needle = column_key(bytes, *table, *index)?;
                feed.each(bytes, &mut |put| with(put.member(bytes, &needle)?))
            }
            Feed::Elements(feed) => feed.each(bytes, &mut |put| put.elements(bytes, with)),
        }
    }

    fn count(&self, bytes: &[u8]) -> Result<u32> {
        let mut count = 0;
        self.each(bytes, &mut |_| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }
}

/// The key of a table's column.
fn column_key(bytes: &[u8], table: Table, index: u32) -> Result<Needle<'_>> {
    Shape::load(bytes, table.shape as u64)?.key(bytes, index).map(Needle::new)
}

/// Where a column's header is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    header: u32,
    /// The table or list that it is in; 0 for an array by itself.
    within: u32,
}

impl Place {
    /// Of an array by itself.
    pub(super) fn alone(elements: Elements) -> Place {
        Place { header: elements.offset, within: 0 }
    }

    /// Of a table's column.
    fn column(table: Table, index: u32) -> Place {
        Place { header: table.header(index), within: table.offset }
    }

    /// Of the elements of a list's arrays.
    pub(super) fn elements(list: List) -> Place {
        Place { header: list.offset + LIST_CHILD, within: list.offset }
    }
}

/// How a column is to store its slots.
#[derive(Clone, Copy, PartialEq)]
struct Layout {
    column: ColumnType,
    gaps: u8,
}

impl Layout {
    fn of(column: Elements) -> Layout {
        Layout { column: column.column, gaps: column.gaps }
    }

    /// Changes to hold a value, too. Only a table's columns have gaps of their own accord.
    fn take(&mut self, tag: u8, cell: u64) {
        if self.column == ColumnType::Null {
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

    fn take_gap(&mut self, gap: Gap) {
        if self.column != ColumnType::Cells {
            self.gaps |= if gap == Gap::Null { GAPS_NULL } else { GAPS_MISSING };
        }
    }

    /// The same without structs and lists.
    fn plain(&mut self) {
        self.column = self.column.plain();
    }

    fn size(&self, capacity: u32) -> u64 {
        self.column.slots_size(self.gaps, capacity)
    }
}

/// Capacity of the record with the first further field of a row.
const EXTRA_CAPACITY: u32 = 4;

/// A planned first further field of a row, good until the document changes.
struct ExtraPlan {
    /// Where the record's shape comes from; `None` where the key takes a map.
    step: Option<shape::Step>,
    /// Bytes to take, the value's apart.
    fresh: u64,
}

/// Where a renamed field of a row goes.
enum Target {
    Column(Place),
    /// The row's first further field.
    First(ExtraPlan),
    /// A hole of that key in the record with the row's further fields.
    Hole(Record, u32),
    /// A new field of that record, which is at this home.
    Field(u32, Record, FieldPlan),
    /// The same record, which becomes a map.
    NewMap(u32, Record),
    /// The map with the row's further fields.
    Entry(map::Map, map::InsertPlan),
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
fn with_room(column: Elements, additional: u32) -> u32 {
    if column.has_slots() { column.count.saturating_add(additional) } else { column.count }
}

/// The array for extras that hold `count` and get `more`: its capacity.
fn extras_capacity(extras: Option<Elements>, more: u32) -> u32 {
    match extras {
        Some(extras) if extras.count + more <= extras.capacity => extras.capacity,
        Some(extras) => (extras.count + more).max(extras.count + extras.count / 2),
        None => more.max(4),
    }
}

impl<S: Storage, O: Observer> Editor<S, O> {
    // --- layouts ------------------------------------------------------------

    /// The layout in which a column can hold its slots and these.
    fn layout(&self, column: Elements, feed: &Feed<'_, '_>, replaces: bool) -> Result<Layout> {
        let bytes = self.space.bytes();
        let mut layout = Layout::of(column);
        let length = match column.column {
            ColumnType::FixedList => List::load(bytes, column.data)?.length,
            _ => None,
        };
        feed.each(bytes, &mut |put| {
            match put.incoming() {
                Incoming::Blank => {}
                Incoming::Gap(gap) => layout.take_gap(gap),
                Incoming::Value(tag, cell) => match layout.column {
                    ColumnType::Struct if tag == TAG_OBJECT => {
                        let table = Table::load(bytes, column.data)?;
                        // Further fields of what is here already would have to move twice.
                        if matches!(put, Put::Here(_)) && put.count_further(bytes, table)?.0 > 0 {
                            layout.plain();
                        }
                    }
                    ColumnType::List | ColumnType::FixedList if tag == TAG_ARRAY => {
                        let fits = match length {
                            Some(length) => put.length(bytes)? == length,
                            None => true,
                        };
                        if replaces || !fits {
                            layout.plain();
                        }
                    }
                    _ => layout.take(tag, cell),
                },
            }
            Ok(())
        })?;
        Ok(layout)
    }

    /// Bytes that another layout or more room takes.
    fn plan_relayout(
        &self,
        column: Elements,
        within: u32,
        layout: Layout,
        needed: u32,
    ) -> Result<u64> {
        let capacity = grown(column, needed);
        if layout == Layout::of(column) && capacity == column.capacity {
            return Ok(0);
        }
        let bytes = self.space.bytes();
        let blanks = Blanks::within(bytes, within)?;
        let mut size = layout.size(capacity);
        if column.column.is_nested() && !layout.column.is_nested() {
            for slot in 0..column.count {
                if !is_blank(bytes, blanks, slot)? {
                    size += self.plan_materialize(column.element(bytes, slot)?)?;
                }
            }
        }
        Ok(size)
    }

    /// Gives a column another layout or more room. Slots that are blank stay 0.
    fn relayout(
        &mut self,
        column: Elements,
        within: u32,
        layout: Layout,
        needed: u32,
        extent: &mut Extent,
    ) -> Result<Elements> {
        let capacity = grown(column, needed);
        if layout == Layout::of(column) && capacity == column.capacity {
            return Ok(column);
        }
        let blanks = Blanks::within(self.space.bytes(), within)?;
        let size = layout.size(capacity);
        let place = if size == 0 { 0 } else { extent.carve(size) };
        let nested = layout.column.is_nested();
        let data = if nested { column.data } else { place };
        let Layout { column: kind, gaps } = layout;
        let new = Elements { column: kind, gaps, capacity, data, bare: false, ..column };
        let old_bits = column.bits_at(self.space.bytes())?;
        if nested {
            self.copy_bits(column, old_bits, new, place as u64, blanks)?;
            if column.gaps != GAPS_NONE {
                self.space.free(old_bits, gaps_size(column.gaps, column.capacity as u64));
            }
            set_nested_bits(&mut self.space, data, place);
            new.write_header(&mut self.space);
            return Ok(new);
        }
        self.copy_bits(column, old_bits, new, data as u64, blanks)?;
        if kind == column.column && kind != ColumnType::Null {
            let length = kind.data_size(column.count);
            self.space.copy_within(column.values_at(), new.values_at(), length);
        } else {
            for slot in 0..column.count {
                let bytes = self.space.bytes();
                if is_blank(bytes, blanks, slot)? {
                    continue;
                }
                let raw = column.element(bytes, slot)?;
                let (tag, cell) = self.materialize(raw, extent)?;
                new.put(&mut self.space, slot, (tag, cell));
            }
        }
        self.free_column(column);
        new.write_header(&mut self.space);
        Ok(new)
    }

    /// Writes the bitmaps of a column's new layout by those of the old one.
    fn copy_bits(
        &mut self,
        old: Elements,
        old_bits: u64,
        new: Elements,
        bits: u64,
        blanks: Option<Blanks>,
    ) -> Result<()> {
        if new.gaps == GAPS_NONE {
            return Ok(());
        }
        let (from, to) = (bitmap_size(old.capacity as u64), bitmap_size(new.capacity as u64));
        let whole = bitmap_size(old.count as u64);
        if old.gaps == GAPS_NONE {
            for byte in 0..old.count.div_ceil(8) {
                let left = (old.count - 8 * byte).min(8);
                let mut valid = (0xFFu16 >> (8 - left)) as u8;
                for slot in 0..if blanks.is_some() { left } else { 0 } {
                    if is_blank(self.space.bytes(), blanks, 8 * byte + slot)? {
                        valid &= !(1 << slot);
                    }
                }
                self.space.write_u8(bits + byte as u64, valid);
            }
            return Ok(());
        }
        self.space.copy_within(old_bits, bits, whole);
        match (old.gaps, new.gaps) {
            (GAPS_BOTH, GAPS_BOTH) => self.space.copy_within(old_bits + from, bits + to, whole),
            (GAPS_NULL, GAPS_BOTH) => {
                // What was without a value was null, or blank.
                for slot in 0..old.count {
                    let (bytes, at) = (self.space.bytes(), (slot >> 3) as u64);
                    let valid = load_u8(bytes, old_bits + at)? >> (slot & 7) & 1 == 1;
                    if !valid && !is_blank(bytes, blanks, slot)? {
                        set_bit(&mut self.space, bits + to, slot, true);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    // --- opening slots ------------------------------------------------------

    /// Bytes that `added` more slots for these values take.
    fn plan_open(&self, place: Place, added: u32, feed: &Feed<'_, '_>) -> Result<u64> {
        let bytes = self.space.bytes();
        let column = Elements::at(bytes, place.header)?.whole(bytes)?;
        self.plan_open_column(column, place.within, added, feed)
    }

    fn plan_open_column(
        &self,
        column: Elements,
        within: u32,
        added: u32,
        feed: &Feed<'_, '_>,
    ) -> Result<u64> {
        let bytes = self.space.bytes();
        let layout = self.layout(column, feed, false)?;
        let needed = column.count as u64 + added as u64;
        self.check_elements(needed)?;
        let mut size = self.plan_relayout(column, within, layout, needed as u32)?;
        match layout.column {
            ColumnType::Struct => {
                let table = Table::load(bytes, column.data)?;
                for index in 0..table.columns {
                    let feed = Feed::Members(feed, table, index);
                    size += self.plan_open(Place::column(table, index), added, &feed)?;
                }
                size += self.plan_extras(table, feed)?;
            }
            ColumnType::List | ColumnType::FixedList => {
                let list = List::load(bytes, column.data)?;
                let below = Feed::Elements(feed);
                let elements = match list.length {
                    Some(length) => {
                        let elements = added as u64 * length as u64;
                        self.check_elements(elements)?;
                        elements as u32
                    }
                    None => below.count(bytes)?,
                };
                if list.length.is_none() {
                    let offsets = list.offsets(bytes)?;
                    let layout = self.offsets_layout(list, offsets, elements)?;
                    size += self.plan_relayout(offsets, 0, layout, offsets.count + added)?;
                }
                size += self.plan_open(Place::elements(list), elements, &below)?;
            }
            _ => feed.each(bytes, &mut |put| {
                size += self.measure_put(&put)?;
                Ok(())
            })?,
        }
        Ok(size)
    }

    fn offsets_layout(&self, list: List, offsets: Elements, added: u32) -> Result<Layout> {
        let total = list.child(self.space.bytes())?.count as u64 + added as u64;
        let mut layout = Layout::of(offsets);
        layout.column = match total {
            0..=0xFF => layout.column,
            0x100..=0xFFFF if layout.column == ColumnType::U8 => ColumnType::U16,
            0x100..=0xFFFF => layout.column,
            _ => ColumnType::U32,
        };
        Ok(layout)
    }

    /// Bytes that the members take that are not the table's.
    fn plan_extras(&self, table: Table, feed: &Feed<'_, '_>) -> Result<u64> {
        let (mut size, mut rows) = (0, 0);
        let bytes = self.space.bytes();
        feed.each(bytes, &mut |put| {
            if !put.is(TAG_OBJECT) {
                return Ok(());
            }
            let (count, keys, record) = put.count_further(bytes, table)?;
            if count > 0 {
                rows += 1;
                size += keys + extra_size(count, record);
                put.further(bytes, table, &mut |_, put| {
                    size += self.measure_put(&put)?;
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        if rows > 0 {
            size += self.plan_extras_room(table, rows)?;
        }
        Ok(size)
    }

    fn plan_extras_room(&self, table: Table, rows: u32) -> Result<u64> {
        let extras = table.extras(self.space.bytes())?;
        let capacity = extras_capacity(extras, rows);
        Ok(match extras {
            Some(extras) if extras.capacity == capacity => 0,
            Some(_) => ColumnType::U64.data_size(capacity),
            None => ARRAY_SIZE as u64 + ColumnType::U64.data_size(capacity),
        })
    }

    /// Bytes of a value that is to hang in a slot of its own.
    fn measure_put(&self, put: &Put<'_>) -> Result<u64> {
        match put {
            // Depth was checked for the whole. Parts are built one after the other.
            Put::Value(new) => self.measure_part(new).map(|(size, _)| size),
            // The rows of a detached array, say, that become objects by themselves.
            Put::Here(raw) => self.plan_materialize(*raw),
            _ => Ok(0),
        }
    }

    fn build_put(&mut self, put: &Put<'_>, extent: &mut Extent) -> Result<(u8, u64)> {
        match put {
            Put::Value(new) => Ok(self.build(new, extent)),
            Put::Here(raw) => self.materialize(*raw, extent),
            Put::Missing | Put::Blank => Ok((TAG_HOLE, 0)),
        }
    }

    /// Opens `added` slots before `at` in a column that can then hold these values. Columns
    /// below come first: while they get another layout, those around tell what is blank.
    fn open_slots(
        &mut self,
        place: Place,
        at: u32,
        added: u32,
        feed: &Feed<'_, '_>,
        extent: &mut Extent,
    ) -> Result<()> {
        let column = Elements::at(self.space.bytes(), place.header)?;
        let layout = self.layout(column, feed, false)?;
        match layout.column {
            ColumnType::Struct => self.open_rows(column, at, added, feed, extent)?,
            ColumnType::List => self.open_lists(column, at, added, feed, extent)?,
            ColumnType::FixedList => {
                let list = List::load(self.space.bytes(), column.data)?;
                let length = list.length.unwrap_or(0);
                let below = Feed::Elements(feed);
                let place = Place::elements(list);
                self.open_slots(place, at * length, added * length, &below, extent)?;
            }
            _ => {}
        }
        let column = self.relayout(column, place.within, layout, column.count + added, extent)?;
        if column.column.is_nested() && at < column.count {
            self.note(Event::Opened { table: column.data, at, count: added });
        }
        column.move_slots(&mut self.space, at, at + added, column.count - at);
        column.set_count(&mut self.space, column.count + added);
        Ok(())
    }

    /// Opens rows in the table of a struct column.
    fn open_rows(
        &mut self,
        column: Elements,
        at: u32,
        added: u32,
        feed: &Feed<'_, '_>,
        extent: &mut Extent,
    ) -> Result<()> {
        let table = Table::load(self.space.bytes(), column.data)?;
        for index in 0..table.columns {
            let feed = Feed::Members(feed, table, index);
            self.open_slots(Place::column(table, index), at, added, &feed, extent)?;
        }
        let rows = table.rows + added;
        table.set_rows(&mut self.space, rows);
        self.shift_extras(table, at, 0, added)?;
        let mut further = 0;
        let bytes = self.space.bytes();
        feed.each(bytes, &mut |put| {
            if put.is(TAG_OBJECT) && put.count_further(bytes, table)?.0 > 0 {
                further += 1;
            }
            Ok(())
        })?;
        self.reserve_extras(table, further, extent)
    }

    /// Opens arrays in the list of a list column: their elements, and their offsets, which
    /// say that they are empty.
    fn open_lists(
        &mut self,
        column: Elements,
        at: u32,
        added: u32,
        feed: &Feed<'_, '_>,
        extent: &mut Extent,
    ) -> Result<()> {
        let bytes = self.space.bytes();
        let list = List::load(bytes, column.data)?;
        let below = Feed::Elements(feed);
        let elements = below.count(bytes)?;
        let offsets = list.offsets(bytes)?;
        let (start, _) = match at < column.count {
            true => list.bounds(bytes, at)?,
            false => (list.child(bytes)?.count as u64, 0),
        };
        let layout = self.offsets_layout(list, offsets, elements)?;
        let offsets = self.relayout(offsets, 0, layout, offsets.count + added, extent)?;
        offsets.move_slots(&mut self.space, at + 1, at + 1 + added, offsets.count - at - 1);
        let count = offsets.count + added;
        offsets.set_count(&mut self.space, count);
        for index in at + 1..=at + added {
            offsets.put(&mut self.space, index, (TAG_INT, start));
        }
        if elements > 0 {
            self.add_to_offsets(offsets, at + added + 1, count, elements as i64)?;
        }
        self.open_slots(Place::elements(list), start as u32, elements, &below, extent)
    }

    fn add_to_offsets(&mut self, offsets: Elements, from: u32, to: u32, by: i64) -> Result<()> {
        for index in from..to {
            let offset = offsets.slot(self.space.bytes(), index)?.cell;
            offsets.put(&mut self.space, index, (TAG_INT, offset.wrapping_add_signed(by)));
        }
        Ok(())
    }

    /// Fills a slot that was opened for this value.
    fn fill_slot(
        &mut self,
        header: u32,
        slot: u32,
        put: Put<'_>,
        extent: &mut Extent,
    ) -> Result<()> {
        let bytes = self.space.bytes();
        let column = Elements::at(bytes, header)?;
        if !column.column.is_nested() {
            let (tag, cell) = match put {
                Put::Blank => return Ok(()),
                put => self.build_put(&put, extent)?,
            };
            column.put(&mut self.space, slot, (tag, cell));
            return Ok(());
        }
        let present = match put.incoming() {
            Incoming::Blank => false,
            Incoming::Gap(gap) => {
                column.set_gap(&mut self.space, slot, Some(gap));
                false
            }
            Incoming::Value(..) => {
                column.set_gap(&mut self.space, slot, None);
                true
            }
        };
        if column.column != ColumnType::Struct {
            return self.fill_list(column, slot, put, extent);
        }
        // Where the object is absent, its members are blank: lists with offsets below still
        // have to say that they end where they begin.
        let table = Table::load(self.space.bytes(), column.data)?;
        for index in 0..table.columns {
            let bytes = self.space.bytes();
            let member = put.member(bytes, &column_key(bytes, table, index)?)?;
            self.fill_slot(table.header(index), slot, member, extent)?;
        }
        if present {
            self.fill_extra(table, slot, put, extent)?;
            self.free_shell(put, (column.data, slot));
        }
        Ok(())
    }

    fn fill_list(
        &mut self,
        column: Elements,
        slot: u32,
        put: Put<'_>,
        extent: &mut Extent,
    ) -> Result<()> {
        let bytes = self.space.bytes();
        let list = List::load(bytes, column.data)?;
        let present = put.is(TAG_ARRAY);
        let (start, count) = match list.length {
            // An absent array has its slots all the same, and they are blank.
            Some(length) => (slot * length, length),
            None => {
                let count = put.length(bytes)?;
                let offsets = list.offsets(bytes)?;
                let start = offsets.slot(bytes, slot)?.cell;
                offsets.put(&mut self.space, slot + 1, (TAG_INT, start + count as u64));
                (start as u32, count)
            }
        };
        for index in 0..count {
            let element = match present {
                true => put.element(self.space.bytes(), index)?,
                false => Put::Blank,
            };
            self.fill_slot(list.offset + LIST_CHILD, start + index, element, extent)?;
        }
        if present {
            self.free_shell(put, (column.data, slot));
        }
        Ok(())
    }

    /// Frees what held the parts of a value that became part of columns, as a row of the
    /// table or list `to`.
    fn free_shell(&mut self, put: Put<'_>, to: (u32, u32)) {
        let Put::Here(raw) = put else { return };
        let from = (raw.cell as u32, row_of(raw.cell).unwrap_or(0));
        self.note(Event::Moved { from, to });
        if let Ok(node) = Node::of(self.space.bytes(), raw) {
            self.release_block(raw, node);
        }
    }

    // --- further fields -----------------------------------------------------

    /// Makes room for `rows` more entries of the extras.
    fn reserve_extras(&mut self, table: Table, rows: u32, extent: &mut Extent) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let extras = table.extras(self.space.bytes())?;
        let capacity = extras_capacity(extras, rows);
        let Some(extras) = extras else {
            let header = extent.carve(ARRAY_SIZE as u64);
            let data = extent.carve(ColumnType::U64.data_size(capacity));
            Elements::new(header, ColumnType::U64, 0, capacity, data).write_header(&mut self.space);
            table.set_extras(&mut self.space, header);
            return Ok(());
        };
        if capacity != extras.capacity {
            let data = extent.carve(ColumnType::U64.data_size(capacity));
            extras.move_to(&mut self.space, data, capacity).write_header(&mut self.space);
            self.space.free(extras.data as u64, extras.data_size());
        }
        Ok(())
    }

    /// Adds an entry for a row that has none; room was made.
    fn insert_extra(&mut self, table: Table, row: u32, home: u32) -> Result<()> {
        let table = Table::load(self.space.bytes(), table.offset)?;
        let (at, _) = table.find_extra(self.space.bytes(), row)?;
        let Some(extras) = table.extras(self.space.bytes())? else { return Ok(()) };
        extras.move_slots(&mut self.space, at, at + 1, extras.count - at);
        extras.put(&mut self.space, at, extra_entry(row, home));
        extras.set_count(&mut self.space, extras.count + 1);
        Ok(())
    }

    /// Drops the entries of `removed` rows from `at` on, and renumbers those behind them,
    /// or those from `at` on where `added` rows come before them.
    fn shift_extras(&mut self, table: Table, at: u32, removed: u32, added: u32) -> Result<()> {
        let Some(extras) = table.extras(self.space.bytes())? else { return Ok(()) };
        let (from, _) = table.find_extra(self.space.bytes(), at)?;
        let mut to = from;
        for index in from..extras.count {
            let (row, home) = extra(extras.slot(self.space.bytes(), index)?);
            if row - at < removed {
                continue;
            }
            extras.put(&mut self.space, to, extra_entry(row - removed + added, home));
            to += 1;
        }
        if to < extras.count {
            extras.clear(&mut self.space, to..extras.count);
            extras.set_count(&mut self.space, to);
        }
        Ok(())
    }

    /// Builds the object of a row's members that are not the table's.
    fn fill_extra(
        &mut self,
        table: Table,
        row: u32,
        put: Put<'_>,
        extent: &mut Extent,
    ) -> Result<()> {
        let (count, _, record) = put.count_further(self.space.bytes(), table)?;
        if count == 0 {
            return Ok(());
        }
        // What is here already has none: planning saw to that.
        let home = if record {
            let home = extent.carve(record_size(count) as u64);
            let shape = shape::create(&mut self.space, count, 0, extent);
            let shape = shape.offset as u32;
            Record::new(home, count, count, count, shape).write_header(&mut self.space);
            home
        } else {
            map::create(&mut self.space, extent, count).at as u32
        };
        for index in 0..count {
            let mut found = None;
            let mut left = index;
            // The keys are the new value's, so they can be read while writing.
            put.further_fresh(self.space.bytes(), table, &mut |key, put| {
                if left == 0 && found.is_none() {
                    found = Some((key, put));
                }
                left = left.wrapping_sub(1);
                Ok(())
            })?;
            let Some((key, member)) = found else { break };
            let needle = Needle::new(key.as_bytes());
            if record {
                let key_cell = self.build_span_cell(&needle, extent);
                let (tag, cell) = self.build_put(&member, extent)?;
                let object = Block::resolve(self.space.bytes(), home)?.record()?;
                let shape = Shape::load(self.space.bytes(), object.shape() as u64)?;
                shape::put_key(&mut self.space, shape, index, key_cell, needle.fingerprint);
                object.put(&mut self.space, index, (tag, cell));
            } else {
                let key_cell = build_key(&mut self.space, key.as_bytes(), true, extent);
                let (tag, cell) = self.build_put(&member, extent)?;
                append(&mut self.space, home as u64, key_cell, tag, cell, extent);
            }
        }
        self.insert_extra(table, row, home)
    }

    // --- replacing ----------------------------------------------------------

    /// Bytes that storing another value in a slot takes.
    fn plan_replace(&self, place: Place, put: Put<'_>) -> Result<u64> {
        let bytes = self.space.bytes();
        let column = Elements::at(bytes, place.header)?.whole(bytes)?;
        let layout = self.layout(column, &Feed::One(put), true)?;
        let mut size = self.plan_relayout(column, place.within, layout, column.count)?;
        if layout.column != ColumnType::Struct {
            return Ok(size + if layout.column.is_nested() { 0 } else { self.measure_put(&put)? });
        }
        if put.is(TAG_OBJECT) {
            let table = Table::load(bytes, column.data)?;
            for index in 0..table.columns {
                let key = column_key(bytes, table, index)?;
                let member = put.member(bytes, &key)?;
                size += self.plan_replace(Place::column(table, index), member)?;
            }
            size += self.plan_extras(table, &Feed::One(put))?;
        }
        Ok(size)
    }

    /// Stores another value in a slot. `held`: what is there is to be freed.
    fn replace_slot(
        &mut self,
        place: Place,
        slot: u32,
        put: Put<'_>,
        held: bool,
        extent: &mut Extent,
    ) -> Result<()> {
        let column = Elements::at(self.space.bytes(), place.header)?;
        let layout = self.layout(column, &Feed::One(put), true)?;
        let column = self.relayout(column, place.within, layout, column.count, extent)?;
        let old = column.element(self.space.bytes(), slot)?;
        if !column.column.is_nested() {
            let (tag, cell) = self.build_put(&put, extent)?;
            column.put(&mut self.space, slot, (tag, cell));
            if held {
                self.release(old);
            }
            return Ok(());
        }
        let held = held && old.tag > TAG_SPAN_LAST;
        if column.column == ColumnType::Struct && put.is(TAG_OBJECT) {
            let table = Table::load(self.space.bytes(), column.data)?;
            self.drop_extra(table, slot, held)?;
            self.note(Event::Gone { table: table.offset, row: slot });
            for index in 0..table.columns {
                let bytes = self.space.bytes();
                let member = put.member(bytes, &column_key(bytes, table, index)?)?;
                self.replace_slot(Place::column(table, index), slot, member, held, extent)?;
            }
            // Not before: while columns below get another layout, a row that was absent is.
            column.set_gap(&mut self.space, slot, None);
            let bytes = self.space.bytes();
            if put.count_further(bytes, table)?.0 > 0 {
                self.reserve_extras(table, 1, extent)?;
                self.fill_extra(table, slot, put, extent)?;
            }
            self.free_shell(put, (column.data, slot));
            return Ok(());
        }
        // What is left is to be without a value.
        if held {
            self.release(old);
        }
        self.blank_slot(place.header, slot)?;
        if let Incoming::Gap(gap) = put.incoming() {
            column.set_gap(&mut self.space, slot, Some(gap));
        }
        Ok(())
    }

    /// Empties a slot whose contents are freed or elsewhere.
    fn blank_slot(&mut self, header: u32, slot: u32) -> Result<()> {
        let column = Elements::at(self.space.bytes(), header)?;
        match column.column {
            ColumnType::Struct => {
                let table = Table::load(self.space.bytes(), column.data)?;
                self.shift_extras_out(table, slot)?;
                for index in 0..table.columns {
                    self.blank_slot(table.header(index), slot)?;
                }
            }
            ColumnType::List => {
                let list = List::load(self.space.bytes(), column.data)?;
                let (start, count) = list.bounds(self.space.bytes(), slot)?;
                self.close_from(list.offset + LIST_CHILD, start as u32, count as u32)?;
                let offsets = list.offsets(self.space.bytes())?;
                self.add_to_offsets(offsets, slot + 1, offsets.count, -(count as i64))?;
            }
            ColumnType::FixedList => {
                let list = List::load(self.space.bytes(), column.data)?;
                let length = list.length.unwrap_or(0);
                for index in slot * length..(slot + 1) * length {
                    self.blank_slot(list.offset + LIST_CHILD, index)?;
                }
            }
            _ => {
                column.put(&mut self.space, slot, (TAG_HOLE, 0));
                return Ok(());
            }
        }
        self.note(Event::Gone { table: column.data, row: slot });
        column.set_gap(&mut self.space, slot, Some(Gap::Missing));
        Ok(())
    }

    /// Takes a row's entry out of the extras; its object is freed where that is due.
    fn drop_extra(&mut self, table: Table, row: u32, held: bool) -> Result<()> {
        let home = table.extra(self.space.bytes(), row)?;
        if home != 0 {
            self.shift_extras_out(table, row)?;
            if held {
                self.release(Raw::object(home));
            }
        }
        Ok(())
    }

    fn shift_extras_out(&mut self, table: Table, row: u32) -> Result<()> {
        let Some(extras) = table.extras(self.space.bytes())? else { return Ok(()) };
        let (at, home) = table.find_extra(self.space.bytes(), row)?;
        if home.is_some() {
            extras.move_slots(&mut self.space, at + 1, at, extras.count - at - 1);
            extras.set_count(&mut self.space, extras.count - 1);
        }
        Ok(())
    }

    // --- closing ------------------------------------------------------------

    /// Takes `count` slots from `at` on out of a column; what they held is freed or elsewhere.
    fn close_from(&mut self, header: u32, at: u32, count: u32) -> Result<()> {
        let column = Elements::at(self.space.bytes(), header)?;
        let rest = column.count - at - count;
        match column.column {
            ColumnType::Struct => {
                let table = Table::load(self.space.bytes(), column.data)?;
                for index in 0..table.columns {
                    self.close_from(table.header(index), at, count)?;
                }
                self.shift_extras(table, at, count, 0)?;
                let rows = table.rows - count;
                table.set_rows(&mut self.space, rows);
            }
            ColumnType::List => {
                let list = List::load(self.space.bytes(), column.data)?;
                let offsets = list.offsets(self.space.bytes())?;
                let start = offsets.slot(self.space.bytes(), at)?.cell;
                let end = offsets.slot(self.space.bytes(), at + count)?.cell;
                let length = end.saturating_sub(start);
                self.close_from(list.offset + LIST_CHILD, start as u32, length as u32)?;
                self.close_from(list.offset + LIST_OFFSETS, at + 1, count)?;
                let offsets = list.offsets(self.space.bytes())?;
                self.add_to_offsets(offsets, at + 1, offsets.count, -(length as i64))?;
            }
            ColumnType::FixedList => {
                let list = List::load(self.space.bytes(), column.data)?;
                let length = list.length.unwrap_or(0);
                self.close_from(list.offset + LIST_CHILD, at * length, count * length)?;
            }
            _ => {}
        }
        if column.column.is_nested() {
            self.note(Event::Closed { table: column.data, at, count });
        }
        column.move_slots(&mut self.space, at + count, at, rest);
        column.set_count(&mut self.space, column.count - count);
        if !column.has_slots() {
            column.set_capacity(&mut self.space, column.count - count);
        }
        Ok(())
    }

    // --- rows by themselves -------------------------------------------------

    /// Bytes that a row or an element of a list takes by itself.
    fn plan_materialize(&self, raw: Raw) -> Result<u64> {
        if raw.tag <= TAG_SPAN_LAST || row_of(raw.cell).is_none() {
            return Ok(0);
        }
        let bytes = self.space.bytes();
        let mut cursor = Cursor::new(bytes, raw)?;
        let mut size = 0;
        let mut count = 0;
        while let Some((index, child)) = cursor.next(bytes)? {
            cursor.key(bytes, index)?;
            size += self.plan_materialize(child)?;
            count += 1;
        }
        Ok(size
            + match cursor.node {
                Node::Row(table, row) if table.extra(bytes, row)? == 0 => {
                    record_size(table.columns) as u64
                }
                Node::Row(..) => map::create_size(count) + index_limit(count),
                Node::Array(elements) => {
                    let mut layout = Layout::of(elements);
                    layout.plain();
                    ARRAY_SIZE as u64 + layout.size(elements.count)
                }
                _ => 0,
            })
    }

    /// Makes a row or an element of a list a record, map or array by itself: its parts
    /// move there. Other values are as they are.
    fn materialize(&mut self, raw: Raw, extent: &mut Extent) -> Result<(u8, u64)> {
        if raw.tag <= TAG_SPAN_LAST || row_of(raw.cell).is_none() {
            return Ok((raw.tag, raw.cell));
        }
        let home = match Node::of(self.space.bytes(), raw)? {
            Node::Row(table, row) if table.extra(self.space.bytes(), row)? == 0 => {
                self.materialize_record(table, row, extent)?
            }
            Node::Row(table, row) => self.materialize_map(raw, table, row, extent)?,
            Node::Array(elements) => self.materialize_array(elements, extent)?,
            _ => return Ok((raw.tag, raw.cell)),
        };
        let from = (raw.cell as u32, row_of(raw.cell).unwrap_or(0));
        self.note(Event::Moved { from, to: (home, 0) });
        Ok((raw.tag, home as u64))
    }

    fn materialize_record(&mut self, table: Table, row: u32, extent: &mut Extent) -> Result<u32> {
        let capacity = table.columns;
        let home = extent.carve(record_size(capacity) as u64);
        let record = Record::new(home, capacity, 0, 0, 0);
        let (mut used, mut live) = (0, 0);
        for index in 0..capacity {
            let raw = table.field(self.space.bytes(), row, index)?;
            if raw.tag == TAG_HOLE {
                continue;
            }
            let (tag, cell) = self.materialize(raw, extent)?;
            record.put(&mut self.space, index, (tag, cell));
            (used, live) = (index + 1, live + 1);
        }
        let shape = if used == 0 { 0 } else { table.shape };
        if used > 0 {
            shape::adopt(&mut self.space, shape);
        }
        Record::new(home, capacity, used, live, shape).write_header(&mut self.space);
        Ok(home)
    }

    fn materialize_map(
        &mut self,
        raw: Raw,
        table: Table,
        row: u32,
        extent: &mut Extent,
    ) -> Result<u32> {
        let mut count = 0;
        let mut cursor = Cursor::new(self.space.bytes(), raw)?;
        while cursor.next(self.space.bytes())?.is_some() {
            count += 1;
        }
        let map = map::create(&mut self.space, extent, count);
        let mut cursor = Cursor::new(self.space.bytes(), raw)?;
        while let Some((index, child)) = cursor.next(self.space.bytes())? {
            let key = self.key_cell(&cursor, table, row, index)?;
            let (tag, cell) = self.materialize(child, extent)?;
            append(&mut self.space, map.at, key, tag, cell, extent);
        }
        // The further fields moved: what held them goes, without its keys.
        let home = table.extra(self.space.bytes(), row)?;
        let shell = Raw::object(home);
        match Node::of(self.space.bytes(), shell)? {
            Node::Map(offset) => {
                map::free_body(&mut self.space, offset as u64);
                self.space.free(offset as u64, MAP_SIZE as u64);
                if offset != home {
                    self.space.free(home as u64, 8);
                }
            }
            node => self.release_block(shell, node),
        }
        self.shift_extras_out(table, row)?;
        Ok(map.at as u32)
    }

    /// The cell of a row's key: a column's, or that of a further field.
    fn key_cell(&self, cursor: &Cursor, table: Table, row: u32, index: u32) -> Result<u64> {
        let bytes = self.space.bytes();
        let (shape, at) = if index < table.columns {
            (table.shape, index)
        } else {
            let home = table.extra(bytes, row)?;
            let block = Block::resolve(bytes, home)?;
            if block.kind() == KIND_MAP {
                let map = map::Map::load(bytes, block.offset as u64)?;
                return load_u64(bytes, map.entry(bytes, index - table.columns)?.key);
            }
            (block.record()?.shape(), index - table.columns)
        };
        // Read once more, so that damage is an error.
        cursor.key(bytes, index)?;
        let shape = Shape::load(bytes, shape as u64)?;
        load_u64(bytes, shape.key_position(at))
    }

    fn materialize_array(&mut self, elements: Elements, extent: &mut Extent) -> Result<u32> {
        let mut layout = Layout::of(elements);
        layout.plain();
        let count = elements.count;
        let home = extent.carve(ARRAY_SIZE as u64);
        let size = layout.size(count);
        let data = if size == 0 { 0 } else { extent.carve(size) };
        let Layout { column, gaps } = layout;
        let array = Elements {
            offset: home,
            count,
            capacity: count,
            data,
            first: 0,
            column,
            gaps,
            bare: false,
        };
        array.write_header(&mut self.space);
        for index in 0..count {
            let raw = elements.element(self.space.bytes(), index)?;
            let (tag, cell) = self.materialize(raw, extent)?;
            array.put(&mut self.space, index, (tag, cell));
        }
        Ok(home)
    }

    // --- what the editor calls ----------------------------------------------

    /// Refuses edits of columns in a document that was not validated: while its parts may
    /// overlap, one step can undo what the next relies on.
    fn check_trust(&self) -> Result<()> {
        if self.space.trusted { Ok(()) } else { Err(Error::new(ErrorKind::NotValidated, 0)) }
    }

    /// The same, but for a slot that can be overwritten as it is.
    fn check_slot(&self, place: Place, put: Put<'_>) -> Result<()> {
        let column = Elements::at(self.space.bytes(), place.header)?;
        let layout = self.layout(column, &Feed::One(put), true)?;
        if layout == Layout::of(column) && !column.column.is_nested() {
            return Ok(());
        }
        self.check_trust()
    }

    /// Bytes that another element of an array of rows or with gaps takes.
    pub(super) fn plan_slot(&self, elements: Elements, new: &New<'_>) -> Result<u64> {
        self.check_trust()?;
        self.plan_open_column(elements, 0, 1, &Feed::One(Put::new(*new)))
    }

    /// Inserts an element before `index` of an array of rows or with gaps, as planned: its
    /// tag and cell.
    pub(super) fn put_slot(
        &mut self,
        elements: Elements,
        index: u32,
        new: &New<'_>,
        extent: &mut Extent,
    ) -> (u8, u64) {
        let put = Put::new(*new);
        let feed = Feed::One(put);
        let opened = self.open_slots(Place::alone(elements), index, 1, &feed, extent);
        self.committed(opened);
        let filled = self.fill_slot(elements.offset, index, put, extent);
        self.committed(filled);
        self.hung(new);
        self.placed(elements.offset, index)
    }

    /// Stores another value in a slot of a column: its tag and cell.
    pub(super) fn set_slot(
        &mut self,
        node: NodeId,
        place: Place,
        slot: u32,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        self.measure(&new, node)?;
        let put = Put::new(new);
        self.check_slot(place, put)?;
        let size = self.plan_replace(place, put)?;
        self.space.ensure(size, 0)?;
        let mut extent = self.space.take(size);
        let replaced = self.replace_slot(place, slot, put, true, &mut extent);
        self.committed(replaced);
        self.space.finish(extent);
        self.hung(&new);
        Ok(self.placed(place.header, slot))
    }

    /// What was planned in a valid document can be carried out.
    pub(super) fn committed(&self, done: Result<()>) {
        debug_assert!(done.is_ok(), "{done:?} after planning");
    }

    fn placed(&self, header: u32, slot: u32) -> (u8, u64) {
        let bytes = self.space.bytes();
        match Elements::at(bytes, header).and_then(|column| column.element(bytes, slot)) {
            Ok(raw) => (raw.tag, raw.cell),
            Err(_) => (TAG_NULL, 0),
        }
    }

    fn hung(&mut self, new: &New<'_>) {
        if let New::Detached(detached) = new {
            self.rehang(detached);
        }
    }

    /// Sets a field of a row, or adds it to the row's further fields.
    pub(super) fn set_in_row(
        &mut self,
        node: NodeId,
        table: Table,
        row: u32,
        key: &str,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        let bytes = self.space.bytes();
        let needle = Needle::new(key.as_bytes());
        let shape = Shape::load(bytes, table.shape as u64)?;
        let found = shape.find(bytes, table.columns, &needle)?;
        let fields = || {
            Object::of(Checked, bytes, row_cell(table.offset, row))
                .map(|object| object.len() as u64)
        };
        if let Some(index) = found {
            if table.field(bytes, row, index)?.tag == TAG_HOLE {
                self.check_elements(fields()? + 1)?;
            }
            return self.set_slot(node, Place::column(table, index), row, new);
        }
        match table.extra(bytes, row)? {
            0 => {
                self.check_elements(fields()? + 1)?;
                self.add_extra(node, table, row, &needle, new)
            }
            home => {
                self.extra_object(home)?;
                let extra = self.handles.give(home, 0, node.depth);
                // The edit is about the row, not about this object.
                self.handles.keep(node, node);
                let value = self.set_fresh::<false>(extra, At::Key(key), new)?;
                let container = self.container(extra)?;
                let slot = self.slot(container, At::Key(key))?;
                let raw = slot.map(|slot| self.load(slot)).transpose()?;
                debug_assert_eq!(value.is_some(), raw.is_some_and(|raw| raw.tag > TAG_SPAN_LAST));
                Ok(raw.map_or((TAG_NULL, 0), |raw| (raw.tag, raw.cell)))
            }
        }
    }

    /// Gives a row its first further field: a record of one.
    fn add_extra(
        &mut self,
        node: NodeId,
        table: Table,
        row: u32,
        needle: &Needle<'_>,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        self.check_trust()?;
        let size = self.measure(&new, node)?;
        let plan = self.plan_extra(table, needle)?;
        self.space.ensure(size + plan.fresh, 0)?;
        let mut extent = self.space.take(size + plan.fresh);
        let value = self.build(&new, &mut extent);
        let put = self.put_extra(table, row, &plan, needle, value, &mut extent);
        self.committed(put);
        self.space.finish(extent);
        Ok(value)
    }

    /// Plans the first further field of a row.
    fn plan_extra(&self, table: Table, needle: &Needle<'_>) -> Result<ExtraPlan> {
        self.measure_span(needle.text)?;
        let room = self.plan_extras_room(table, 1)?;
        let key = key_fresh(needle.text);
        if needle.text.len() > MAX_SHAPE_KEY {
            let fresh = room + key + map::create_size(8) + index_limit(1);
            return Ok(ExtraPlan { step: None, fresh });
        }
        let step = shape::plan_step(self.space.bytes(), None, 0, needle, EXTRA_CAPACITY)?;
        let key = if step.stores_key() { key } else { 0 };
        let fresh = room + key + record_size(EXTRA_CAPACITY) as u64 + step.fresh();
        Ok(ExtraPlan { step: Some(step), fresh })
    }

    /// Carries out what [`plan_extra`](Self::plan_extra) planned.
    fn put_extra(
        &mut self,
        table: Table,
        row: u32,
        plan: &ExtraPlan,
        needle: &Needle<'_>,
        (tag, cell): (u8, u64),
        extent: &mut Extent,
    ) -> Result<()> {
        self.reserve_extras(table, 1, extent)?;
        let home = if let Some(step) = plan.step {
            let home = extent.carve(record_size(EXTRA_CAPACITY) as u64);
            let key = if step.stores_key() { self.build_span_cell(needle, extent) } else { 0 };
            let space = &mut self.space;
            let shape = shape::commit_step(space, step, 0, 0, key, needle.fingerprint, extent);
            let record = Record::new(home, EXTRA_CAPACITY, 0, 0, shape);
            record.append(&mut self.space, shape, (tag, cell));
            home
        } else {
            let map = map::create(&mut self.space, extent, 8).at;
            let key = build_key(&mut self.space, needle.text, true, extent);
            append(&mut self.space, map, key, tag, cell, extent);
            map as u32
        };
        self.insert_extra(table, row, home)
    }

    /// Takes a field out of a row: what it held, by itself where `keeps` says so, else
    /// freed.
    pub(super) fn take_from_row(
        &mut self,
        table: Table,
        row: u32,
        key: &str,
        keeps: bool,
    ) -> Result<Option<Raw>> {
        let bytes = self.space.bytes();
        let shape = Shape::load(bytes, table.shape as u64)?;
        let found = shape.find(bytes, table.columns, &Needle::new(key.as_bytes()))?;
        let Some(index) = found else { return self.take_further(table, row, key) };
        let raw = table.field(bytes, row, index)?;
        if raw.tag == TAG_HOLE {
            return Ok(None);
        }
        let place = Place::column(table, index);
        self.check_slot(place, Put::Missing)?;
        let size = if keeps { self.plan_materialize(raw)? } else { 0 };
        let size = size + self.plan_replace(place, Put::Missing)?;
        self.space.ensure(size, 0)?;
        let mut extent = self.space.take(size);
        let kept = self.keep(raw, keeps, &mut extent);
        let replaced = self.replace_slot(place, row, Put::Missing, false, &mut extent);
        self.committed(replaced);
        self.space.finish(extent);
        Ok(Some(kept))
    }

    /// Takes a further field out of a row.
    fn take_further(&mut self, table: Table, row: u32, key: &str) -> Result<Option<Raw>> {
        let bytes = self.space.bytes();
        let home = table.extra(bytes, row)?;
        if home == 0 {
            return Ok(None);
        }
        match Node::of(bytes, Raw::object(home))? {
            Node::Map(at) => {
                let map = map::Map::load(bytes, at as u64)?;
                self.take_entry(map, key)
            }
            Node::Record(record) => self.take_field(record, At::Key(key)),
            _ => Ok(None),
        }
    }

    /// Takes an element out of an array of rows or with gaps, as [`take_from_row`](Self::take_from_row).
    pub(super) fn take_slot(
        &mut self,
        elements: Elements,
        index: u32,
        keeps: bool,
    ) -> Result<Option<Raw>> {
        if index >= elements.count {
            return Ok(None);
        }
        self.check_trust()?;
        let raw = elements.element(self.space.bytes(), index)?;
        let size = if keeps { self.plan_materialize(raw)? } else { 0 };
        self.space.ensure(size, 0)?;
        let mut extent = self.space.take(size);
        let kept = self.keep(raw, keeps, &mut extent);
        self.space.finish(extent);
        self.close_slots(elements, index, 1);
        Ok(Some(kept))
    }

    /// Makes what a slot held a value by itself, or frees it.
    fn keep(&mut self, raw: Raw, keeps: bool, extent: &mut Extent) -> Raw {
        if !keeps {
            self.release(raw);
            return Raw::NULL;
        }
        let kept = self.materialize(raw, extent);
        self.committed(kept.map(|_| ()));
        kept.map_or(Raw::NULL, |(tag, cell)| Raw::unplaced(tag, cell))
    }

    /// Takes emptied slots out of an array; one that is left without any forgets its column.
    fn close_slots(&mut self, elements: Elements, at: u32, count: u32) {
        let closed = self.close_from(elements.offset, at, count);
        self.committed(closed);
        if let Ok(column) = Elements::at(self.space.bytes(), elements.offset)
            && column.count == 0
        {
            self.free_column(column);
            Elements::new(column.offset, ColumnType::Cells, 0, 0, 0).write_header(&mut self.space);
        }
    }

    /// Frees the elements of an array of rows or with gaps from `length` on.
    pub(super) fn truncate_slots(&mut self, elements: Elements, length: u32) -> Result<()> {
        self.check_trust()?;
        let element = |bytes: &[u8], index| elements.element(bytes, index);
        self.release_each(length..elements.count, element);
        self.close_slots(elements, length, elements.count - length);
        Ok(())
    }

    /// Frees all fields of a row.
    pub(super) fn clear_row(&mut self, table: Table, row: u32) -> Result<()> {
        self.check_trust()?;
        let mut size = 0;
        for index in 0..table.columns {
            size += self.plan_replace(Place::column(table, index), Put::Missing)?;
        }
        self.space.ensure(size, 0)?;
        let mut extent = self.space.take(size);
        let dropped = self.drop_extra(table, row, true);
        self.committed(dropped);
        for index in 0..table.columns {
            let place = Place::column(table, index);
            let replaced = self.replace_slot(place, row, Put::Missing, true, &mut extent);
            self.committed(replaced);
        }
        self.space.finish(extent);
        Ok(())
    }

    /// Gives a row's field another key: one plan for taking it out and putting it in.
    pub(super) fn rename_in_row(
        &mut self,
        node: NodeId,
        table: Table,
        row: u32,
        from: &str,
        to: &str,
    ) -> Result<()> {
        let slot = self.slot_in_row(table, row, At::Key(from))?;
        let raw = match slot {
            Some(slot) => self.load(slot)?,
            None => return Err(Error::new(ErrorKind::NotFound, 0)),
        };
        let bytes = self.space.bytes();
        let needle = Needle::new(to.as_bytes());
        let shape = Shape::load(bytes, table.shape as u64)?;
        let source = shape.find(bytes, table.columns, &Needle::new(from.as_bytes()))?;
        let target = shape.find(bytes, table.columns, &needle)?;
        if (source, target) == (None, None) {
            let home = table.extra(bytes, row)?;
            return self.rename_fresh(self.handles.give(home, 0, node.depth), from, to);
        }
        self.check_trust()?;
        let mut fresh = self.plan_materialize(raw)?;
        if let Some(index) = source {
            fresh += self.plan_replace(Place::column(table, index), Put::Missing)?;
        }
        let target = match target {
            Some(index) => Target::Column(Place::column(table, index)),
            None => self.plan_further(table, row, &needle, to)?,
        };
        let (size, tail) = match &target {
            Target::Column(place) => (self.plan_replace(*place, Put::Here(raw))?, 0),
            Target::First(plan) => (plan.fresh, 0),
            Target::Hole(..) => (0, 0),
            Target::Field(_, _, plan) => (plan.fresh, plan.tail),
            Target::Entry(_, plan) => (plan.fresh() + key_fresh(to.as_bytes()), plan.tail()),
            Target::NewMap(_, record) => (self.plan_as_map(*record, to)?, 0),
        };
        fresh += size;
        self.space.ensure(fresh, tail)?;

        match &target {
            Target::Entry(map, plan) => plan.extend(&mut self.space, map),
            _ => self.space.extend(tail),
        }
        let mut extent = self.space.take(fresh);
        let kept = self.keep(raw, true, &mut extent);
        match source {
            Some(index) => {
                let place = Place::column(table, index);
                let replaced = self.replace_slot(place, row, Put::Missing, false, &mut extent);
                self.committed(replaced);
            }
            None => {
                let taken = self.take_further(table, row, from);
                self.committed(taken.map(|_| ()));
            }
        }
        let value = (kept.tag, kept.cell);
        let put = match target {
            Target::Column(place) => {
                self.replace_slot(place, row, Put::Here(kept), false, &mut extent)
            }
            Target::First(plan) => self.put_extra(table, row, &plan, &needle, value, &mut extent),
            Target::Hole(record, index) => {
                record.fill(&mut self.space, index, value);
                Ok(())
            }
            Target::Field(home, record, plan) => {
                self.put_field(home, record, &plan, &needle, value, &mut extent);
                Ok(())
            }
            Target::Entry(map, plan) => {
                let key = build_key(&mut self.space, to.as_bytes(), true, &mut extent);
                map::insert(&mut self.space, &map, &plan, key, kept.tag, kept.cell, &mut extent);
                Ok(())
            }
            Target::NewMap(home, record) => {
                self.put_as_map(home, record, to, value, &mut extent);
                Ok(())
            }
        };
        self.committed(put);
        self.space.finish(extent);
        Ok(())
    }

    /// Plans one more further field of a row.
    fn plan_further(
        &self,
        table: Table,
        row: u32,
        needle: &Needle<'_>,
        key: &str,
    ) -> Result<Target> {
        let bytes = self.space.bytes();
        let home = table.extra(bytes, row)?;
        if home == 0 {
            return Ok(Target::First(self.plan_extra(table, needle)?));
        }
        let block = Block::resolve(bytes, home)?;
        if block.kind() == KIND_MAP {
            let map = map::Map::load(bytes, block.offset as u64)?;
            self.measure_span(key.as_bytes())?;
            self.check_elements(map.live as u64 + 1)?;
            return match map::plan_insert(bytes, &map, key.as_bytes())? {
                map::Place::New(plan) => Ok(Target::Entry(map, plan)),
                map::Place::Found(_) => Err(Error::new(ErrorKind::KeyExists, 0)),
            };
        }
        let record = block.record()?.whole(bytes)?;
        let shape = match find_member(bytes, record, At::Key(key))? {
            Found::Field(index, _) => return Ok(Target::Hole(record, index)),
            Found::Nothing(shape) => shape,
        };
        if key.len() > MAX_SHAPE_KEY || record.used() == MAX_FIELDS as u32 {
            return Ok(Target::NewMap(home, record));
        }
        Ok(Target::Field(home, record, self.plan_field(record, shape, needle)?))
    }

    /// Exchanges two elements of an array of rows or with gaps.
    pub(super) fn swap_slots(&mut self, elements: Elements, a: u32, b: u32) -> Result<()> {
        if a == b {
            return Ok(());
        }
        self.check_trust()?;
        let mut layout = Layout::of(elements);
        if self.has_lists(elements)? {
            layout.plain();
        }
        let size = self.plan_relayout(elements, 0, layout, elements.count)?;
        self.space.ensure(size, 0)?;
        let mut extent = self.space.take(size);
        let parted = self.relayout(elements, 0, layout, elements.count, &mut extent);
        self.committed(parted.map(|_| ()));
        self.space.finish(extent);
        let exchanged = self.exchange(elements.offset, a, b);
        self.committed(exchanged);
        Ok(())
    }

    fn has_lists(&self, column: Elements) -> Result<bool> {
        let bytes = self.space.bytes();
        if column.column != ColumnType::Struct {
            return Ok(column.column.is_nested());
        }
        let table = Table::load(bytes, column.data)?;
        for index in 0..table.columns {
            if self.has_lists(table.column(bytes, index)?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn exchange(&mut self, header: u32, a: u32, b: u32) -> Result<()> {
        let bytes = self.space.bytes();
        let column = Elements::at(bytes, header)?;
        let gaps = (column.gap(bytes, a)?, column.gap(bytes, b)?);
        if column.column != ColumnType::Struct {
            let (first, second) = (column.element(bytes, a)?, column.element(bytes, b)?);
            column.put(&mut self.space, a, (second.tag, second.cell));
            column.put(&mut self.space, b, (first.tag, first.cell));
            return Ok(());
        }
        column.set_gap(&mut self.space, a, gaps.1);
        column.set_gap(&mut self.space, b, gaps.0);
        let table = Table::load(self.space.bytes(), column.data)?;
        self.note(Event::Swapped { table: table.offset, a, b });
        for index in 0..table.columns {
            self.exchange(table.header(index), a, b)?;
        }
        let extras = [a, b].map(|row| table.extra(self.space.bytes(), row).unwrap_or(0));
        if extras != [0, 0] {
            for row in [a, b] {
                self.shift_extras_out(table, row)?;
            }
            for (row, home) in [(b, extras[0]), (a, extras[1])] {
                if home != 0 {
                    self.insert_extra(table, row, home)?;
                }
            }
        }
        Ok(())
    }

    /// Bytes that room for more elements of an array of rows or with gaps takes.
    pub(super) fn plan_reserve(&self, column: Elements, within: u32, more: u32) -> Result<u64> {
        self.check_trust()?;
        let bytes = self.space.bytes();
        let needed = with_room(column, more);
        let mut size = self.plan_relayout(column, within, Layout::of(column), needed)?;
        if column.column == ColumnType::Struct {
            let table = Table::load(bytes, column.data)?;
            for index in 0..table.columns {
                let below = table.column(bytes, index)?.whole(bytes)?;
                size += self.plan_reserve(below, table.offset, more)?;
            }
        }
        Ok(size)
    }

    /// Carries out what [`plan_reserve`](Self::plan_reserve) planned.
    pub(super) fn put_reserve(&mut self, elements: Elements, more: u32, extent: &mut Extent) {
        let reserved = self.commit_reserve(Place::alone(elements), more, extent);
        self.committed(reserved);
    }

    fn commit_reserve(&mut self, place: Place, additional: u32, extent: &mut Extent) -> Result<()> {
        let column = Elements::at(self.space.bytes(), place.header)?;
        let needed = with_room(column, additional);
        self.relayout(column, place.within, Layout::of(column), needed, extent)?;
        if column.column == ColumnType::Struct {
            let table = Table::load(self.space.bytes(), column.data)?;
            for index in 0..table.columns {
                self.commit_reserve(Place::column(table, index), additional, extent)?;
            }
        }
        Ok(())
    }

    /// Plans to make all arrays of a list arrays by themselves, so that the one at `row`
    /// can change its length.
    pub(super) fn plan_part(&self, list: List, row: u32, elements: Elements) -> Result<Part> {
        self.check_trust()?;
        let bytes = self.space.bytes();
        let owner = Owner::load(bytes, list.offset)?;
        let within = owner.within(bytes)?;
        let column = Elements::at(bytes, owner.header(bytes)?)?.whole(bytes)?;
        if !column.column.is_nested() || column.data != list.offset || row >= column.count {
            return Err(Error::new(ErrorKind::WrongBlock, column.offset as u64));
        }
        let mut layout = Layout::of(column);
        layout.plain();
        let fresh = self.plan_relayout(column, within, layout, column.count)?;
        // As `materialize_array` makes it; where is not known yet.
        let mut of_array = Layout::of(elements);
        of_array.plain();
        let Layout { column: kind, gaps } = of_array;
        let capacity = elements.count;
        let array = Elements { column: kind, gaps, capacity, first: 0, data: 0, ..elements };
        Ok(Part { column, within, layout, row, fresh, array })
    }

    /// Carries out what [`plan_part`](Self::plan_part) planned: the array and its home.
    pub(super) fn put_part(&mut self, part: &Part, extent: &mut Extent) -> Result<(u32, Elements)> {
        let &Part { column, within, layout, row, .. } = part;
        let column = self.relayout(column, within, layout, column.count, extent)?;
        let bytes = self.space.bytes();
        let raw = column.element(bytes, row)?;
        let elements = elements_of(bytes, raw.cell)?;
        Ok((raw.cell as u32, elements))
    }

    /// Makes the arrays of a list arrays by themselves, where this needs no more room than
    /// their own.
    pub(super) fn part_list(
        &mut self,
        list: List,
        row: u32,
        elements: Elements,
    ) -> Result<Elements> {
        let part = self.plan_part(list, row, elements)?;
        self.space.ensure(part.fresh, 0)?;
        let mut extent = self.space.take(part.fresh);
        let parted = self.put_part(&part, &mut extent);
        self.space.finish(extent);
        parted.map(|(_, elements)| elements)
    }
}

/// A planned change of a list's arrays to arrays by themselves.
pub(super) struct Part {
    /// The list column.
    column: Elements,
    /// What it is in.
    within: u32,
    layout: Layout,
    /// Which of the arrays is to change.
    row: u32,
    /// Bytes to take.
    pub(super) fresh: u64,
    /// That array as it will be, but for where.
    pub(super) array: Elements,
}

/// Bytes of an object of this many further fields, without keys and values.
fn extra_size(count: u32, record: bool) -> u64 {
    if record {
        record_size(count) as u64 + shape_size(count) as u64
    } else {
        map::create_size(count) + index_limit(count)
    }
}
