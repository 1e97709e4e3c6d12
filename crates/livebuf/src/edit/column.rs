//! The columns that arrays, tables and lists are made of: how they grow, widen and shift
//! (EDITING 6, 9, 10).
//!
//! An array by itself without gaps is a column like those of tables and lists. It differs by
//! [`Rules`] only. Each edit is a [`ColumnEdit`]. The same code counts its bytes and writes them
//! (see [`sink`](super::sink)).

use super::dissolve::{materialize, store};
use super::editor::{Container, Editor};
use super::feed::{Feed, Incoming, Put};
use super::handles::{Event, NodeId};
use super::new::New;
use super::parts::{add_entry, check_copied, key, new_map, new_shape, span};
use super::rules::{Data, Layout, MOST_MOVED, Room, Rules, layout};
use super::sink::Sink;
use crate::block::column::{Elements, Gap, row_cell, row_of};
use crate::block::column_type::ColumnType;
use crate::block::list::{List, elements_of};
use crate::block::map::Map;
use crate::block::offsets::offsets_column;
use crate::block::owner::{Owner, set_nested_bits};
use crate::block::record::{Raw, Record};
use crate::block::shape::{self, Shape};
use crate::block::table::{Table, extra, extra_entry};
use crate::block::tensor::mismatch;
use crate::block::walk::Node;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, round_up, slice, text};
use crate::format::cell::{Needle, shared_span, span_inline};
use crate::format::layout::*;
use crate::store::storage::Storage;
use core::ops::Range;

/// Where a column's header is.
#[derive(Clone, Copy)]
pub(super) struct ColumnPlace {
    header: u32,
    /// The table or list that it is in; 0 for an array by itself.
    within: u32,
    /// It is an array that the same edit makes. Where it lies is not known while bytes are counted.
    made: bool,
}

impl ColumnPlace {
    /// Of an array by itself.
    pub(super) fn array(elements: Elements) -> ColumnPlace {
        ColumnPlace { header: elements.offset, within: 0, made: false }
    }

    /// Of a table's column.
    pub(super) fn column(table: Table, index: u32) -> ColumnPlace {
        ColumnPlace { header: table.header(index), within: table.offset, made: false }
    }

    /// Of the elements of a list's arrays.
    pub(super) fn elements(list: List) -> ColumnPlace {
        ColumnPlace { header: list.offset + LIST_CHILD, within: list.offset, made: false }
    }

    /// Of an array's element, and its slot there: an element of a list lies among others' elements.
    pub(super) fn of_element(
        container: Container,
        elements: Elements,
        index: u32,
    ) -> (ColumnPlace, u32) {
        match container {
            Container::Listed(list, ..) => (ColumnPlace::elements(list), elements.first + index),
            _ => (ColumnPlace::array(elements), index),
        }
    }

    /// Where the document ends, if the column may grow there.
    fn end<S: Storage>(&self, sink: &Sink<'_, S>) -> u64 {
        if self.made { 0 } else { sink.end() }
    }
}

// --- another layout, more room ----------------------------------------------

/// Gives a column another layout or more room.
fn relayout<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    layout: Layout,
    room: Room,
) -> Result<Elements> {
    let Room { capacity, data } = room;
    let same = layout == Layout::of(column) && capacity == column.capacity;
    if same && data == Data::Stays {
        return Ok(column);
    }
    let Layout { column: kind, gaps } = layout;
    let mut new = Elements { column: kind, gaps, capacity, ..column };
    match data {
        Data::Stays => {}
        Data::Grows(more) => sink.extend(more),
        Data::Moves => {
            let size = layout.size(capacity);
            let at = if size == 0 { 0 } else { sink.carve(size) };
            if kind.is_nested() {
                move_nested_bits(sink, column, new, at)?;
            } else {
                new.data = at;
                move_slots(sink, column, new)?;
            }
        }
    }
    sink.write(|editor, _| new.write_header(&mut editor.space));
    Ok(new)
}

/// Makes what the slots of a column have in a table, list or run objects, arrays and texts by
/// themselves.
fn dissolve<S: Storage>(sink: &mut Sink<'_, S>, column: Elements) -> Result<Elements> {
    let layout = Layout::plain(column);
    let room = Rules::Column.room(column, layout, column.count, sink.end());
    relayout(sink, column, layout, room)
}

/// Moves the bitmaps of a struct or list to `at`.
fn move_nested_bits<S: Storage>(
    sink: &mut Sink<'_, S>,
    old: Elements,
    new: Elements,
    at: u32,
) -> Result<()> {
    sink.try_write(|editor, _| {
        editor.copy_bits(old, new, at as u64)?;
        editor.free_bits(old);
        set_nested_bits(&mut editor.space, new.data, at);
        Ok(())
    })
}

/// Moves the slots of a column to another place and layout. Rows of structs, arrays of lists and
/// texts of runs become objects, arrays and texts by themselves.
fn move_slots<S: Storage>(sink: &mut Sink<'_, S>, old: Elements, new: Elements) -> Result<()> {
    sink.try_write(|editor, _| {
        editor.copy_bits(old, new, new.data as u64)?;
        let space = &mut editor.space;
        let alike = new.column.takes_over(old.column) && !new.column.is_marked();
        if old.column.lends() && !new.column.lends() {
            return Ok(());
        }
        if alike && new.column != ColumnType::Null {
            let length = match new.column.width() {
                0 => new.column.data_size(old.count),
                width => round_up(old.count as u64 * width),
            };
            space.copy_within(old.values_at(), new.values_at(), length);
        } else if !old.column.is_nested() {
            for slot in 0..old.count {
                let bytes = space.bytes();
                if let Ok(value) = match new.column.is_dictionary() {
                    true => old.stored(bytes, slot),
                    false => old.element(bytes, slot).map(|raw| (raw.tag, raw.cell)),
                } {
                    new.put(space, slot, value);
                }
            }
        }
        if new.column.is_dictionary() {
            space.copy_within(old.entries_at(), new.entries_at(), ARRAY_SIZE as u64);
        } else {
            editor.free_entries(old);
        }
        Ok(())
    })?;
    let lent = old.column.lends() && !new.column.lends();
    if !old.column.is_nested() && !lent {
        sink.write(|editor, _| editor.space.free(old.data as u64, old.data_size()));
        return Ok(());
    }
    if !lent {
        sink.lose_shapes();
    }
    // While bytes are counted, an array that the same edit makes is not there yet. Its UUIDs, the
    // only values that it lends, are counted for all slots.
    if lent && old.offset == 0 && !sink.writes() {
        sink.set_aside(old.count as u64 * UUID_SIZE as u64);
        return Ok(());
    }
    for slot in 0..old.count {
        let raw = old.element(sink.bytes(), slot)?;
        let value = materialize(sink, raw)?;
        sink.write(|editor, _| new.put(&mut editor.space, slot, value));
    }
    sink.write(|editor, _| editor.free_column(old));
    Ok(())
}

// --- dictionaries, runs and extras -------------------------------------------

/// Makes room for texts that a dictionary lacks.
fn reserve_texts<S: Storage>(sink: &mut Sink<'_, S>, column: Elements, texts: u32) -> Result<()> {
    let Some(entries) = column.entries(sink.bytes())? else { return Ok(()) };
    let needed = entries.count + texts;
    if needed <= entries.capacity {
        return Ok(());
    }
    let capacity = needed.max(entries.count + entries.count / 2).next_multiple_of(4);
    let room = Room { capacity, data: Data::Moves };
    relayout(sink, entries, Layout::of(entries), room).map(drop)
}

/// Entries of the extras that there is room for at first.
const FIRST_ENTRIES: u32 = 4;

/// Makes room for `rows` more entries of a table's extras.
pub(super) fn reserve_extras<S: Storage>(
    sink: &mut Sink<'_, S>,
    table: Table,
    rows: u32,
) -> Result<()> {
    let (extras, least) = match table.extras(sink.bytes())? {
        Some(extras) => (extras, 0),
        None => {
            let header = sink.carve(ARRAY_SIZE as u64);
            sink.write(|editor, _| table.set_extras(&mut editor.space, header));
            (Elements::new(header, ColumnType::U64, 0, 0, 0), FIRST_ENTRIES)
        }
    };
    let needed = extras.count + rows;
    if needed <= extras.capacity {
        return Ok(());
    }
    let capacity = needed.max(extras.count + extras.count / 2).max(least);
    let room = Room { capacity, data: Data::Moves };
    relayout(sink, extras, Layout::of(extras), room).map(drop)
}

/// Stores a value that a slot is to hold: its tag and cell, or the code of a text in a
/// dictionary. `old`: the column before the edit gave it another layout. `texts`: those that the
/// edit adds to a dictionary.
fn store_in<S: Storage>(
    sink: &mut Sink<'_, S>,
    old: Elements,
    column: Elements,
    slot: u32,
    put: &Put<'_>,
    texts: u32,
) -> Result<(u8, u64)> {
    if column.column == ColumnType::Uuid {
        return put.store_uuid(sink, column, slot);
    }
    match column.column.is_dictionary() && put.is(TAG_STRING) {
        // Nothing is to be stored but the code.
        true if texts == 0 && !sink.writes() => Ok((TAG_STRING, 0)),
        true => store_code(sink, old, column, put),
        false => store(sink, put),
    }
}

#[cold]
fn store_code<S: Storage>(
    sink: &mut Sink<'_, S>,
    old: Elements,
    column: Elements,
    put: &Put<'_>,
) -> Result<(u8, u64)> {
    // While bytes are counted, the column is where it was.
    let column = if sink.writes() { column } else { old };
    let (bytes, mut code) = (sink.bytes(), 0);
    let Some(entries) = column.entries(bytes)? else { return store(sink, put) };
    let mut short = [0; 8];
    let needle = Needle::new(put.content(bytes, &mut short)?);
    if let Some(code) = entries.find_entry(bytes, &needle)? {
        if let Put::Here(raw) = *put {
            sink.write(|editor, _| editor.release(raw));
        }
        return Ok((TAG_STRING, code.into()));
    }
    let (_, cell) = store(sink, put)?;
    sink.write(|editor, _| {
        let space = &mut editor.space;
        entries.put(space, entries.count, (TAG_STRING, shared_span(cell)));
        entries.set_count(space, entries.count + 1);
        code = entries.count.into();
    });
    Ok((TAG_STRING, code))
}

/// Makes room for `new` bytes of a run's texts in place of the `old` ones from `start` on: those
/// behind them move. Returns the run. Its bytes there are still to be written.
fn resize_run<S: Storage>(
    sink: &mut Sink<'_, S>,
    list: List,
    start: u32,
    old: u32,
    new: u32,
) -> Result<Elements> {
    let run = list.child(sink.bytes())?.whole(sink.bytes())?;
    let behind = run.count.checked_sub(start).and_then(|rest| rest.checked_sub(old));
    let behind = behind.ok_or(Error::new(ErrorKind::BadIndex, list.offset as u64))?;
    if old == new {
        return Ok(run);
    }
    let count = start + new + behind;
    let room = Rules::Column.room(run, Layout::of(run), count, sink.end());
    let run = relayout(sink, run, Layout::of(run), room)?;
    sink.try_write(|editor, _| {
        let space = &mut editor.space;
        run.move_slots(space, start + old, start + new, behind);
        run.set_count(space, count);
        if new < old { list.give_back(space) } else { Ok(()) }
    })?;
    Ok(run)
}

/// Stores another text in a slot of a run: an empty one for slots without a value, or zeros.
/// Returns the column, whose list may lie elsewhere.
fn replace_text<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    slot: u32,
    put: &Put<'_>,
) -> Result<Elements> {
    let list = List::load(sink.bytes(), column.data)?;
    let new = text_length(sink.bytes(), list, put)?;
    let list = match list.length.is_some_and(|length| length != new) {
        true => give_offsets(sink, column, list, new.into(), 0)?,
        false => list,
    };
    let (start, end) = list.text_bounds(sink.bytes(), slot)?;
    let old = end.wrapping_sub(start);
    let run = resize_run(sink, list, start, old, new)?;
    if old != new {
        let offsets = widen_offsets(sink, list, (run.count - old + new).into(), 0)?;
        sink.try_write(|editor, _| {
            let slots = slot + 1..offsets.count;
            offsets.add_to_offsets(&mut editor.space, slots, new.wrapping_sub(old))
        })?;
    }
    sink.try_write(|editor, _| editor.write_text(put, run.data as u64 + start as u64, new))?;
    Ok(Elements { data: list.offset, ..column })
}

/// The bytes that a slot of a run takes for a value.
fn text_length(bytes: &[u8], list: List, put: &Put<'_>) -> Result<u32> {
    match list.length {
        Some(length) if !put.is(TAG_STRING) => Ok(length),
        _ => put.length(bytes),
    }
}

/// Gives a run of texts of one length offsets that can reach `more` bytes further, with room for so
/// many slots more: its list moves, and slots without a value have no bytes any more. Returns the
/// list; while bytes are counted, it is as it was.
#[cold]
fn give_offsets<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    list: List,
    more: u64,
    added: u32,
) -> Result<List> {
    let (bytes, mut total) = (sink.bytes(), more);
    let length = list.length.unwrap_or(0);
    for slot in 0..column.count {
        total += if column.gap(bytes, slot)?.is_none() { length as u64 } else { 0 };
    }
    let (kind, count) = (offsets_column(total), column.count + 1);
    let none = Elements::new(0, kind, count, 0, 0);
    let room = Rules::Column.room(none, Layout::of(none), count + added, sink.end());
    let at = sink.carve(LIST_SIZE.into());
    let data = sink.carve(kind.data_size(room.capacity));
    let mut moved = list;
    sink.try_write(|editor, _| {
        let space = &mut editor.space;
        moved = List { offset: at, length: None };
        let (owner, bits) =
            (Owner::load(space.bytes(), list.offset)?, column.bits_at(space.bytes())?);
        moved.write_header(space, owner, bits as u32);
        let offsets = Elements::new(at + LIST_OFFSETS, kind, count, room.capacity, data);
        offsets.write_header(space);
        let (run, mut end) = (list.child(space.bytes())?, 0);
        for slot in 0..column.count {
            if column.gap(space.bytes(), slot)?.is_none() {
                run.move_slots(space, slot * length, end, length);
                end += length;
            }
            offsets.put(space, slot + 1, (TAG_INT, end.into()));
        }
        Elements { offset: at + LIST_CHILD, count: end, ..run }.write_header(space);
        space.free(list.offset.into(), list.size());
        Elements { data: at, ..column }.write_header(space);
        Ok(())
    })?;
    Ok(moved)
}

/// The cell of a value in a table or list. That of a text is not known before it is read.
fn nested_cell(column: Elements, slot: u32) -> u64 {
    if column.column.is_run() { 0 } else { row_cell(column.data, slot) }
}

// --- opening slots ----------------------------------------------------------

/// Opens `added` slots before `at` in a column, and in all below, and stores these values there.
/// Tag and cell of the last one.
fn open<S: Storage>(
    sink: &mut Sink<'_, S>,
    place: ColumnPlace,
    at: u32,
    added: u32,
    feed: &Feed<'_, '_>,
) -> Result<(u8, u64)> {
    let column = Elements::at(sink.bytes(), place.header)?.whole(sink.bytes())?;
    open_column(sink, place, column, at, added, feed)
}

fn open_column<S: Storage>(
    sink: &mut Sink<'_, S>,
    place: ColumnPlace,
    column: Elements,
    at: u32,
    added: u32,
    feed: &Feed<'_, '_>,
) -> Result<(u8, u64)> {
    let rules = Rules::of(column, place.within);
    let (layout, texts) = layout(sink, column, rules, feed, None)?;
    let needed = column.count as u64 + added as u64;
    sink.editor().check_elements(needed)?;
    let mut column = column;
    match layout.column {
        ColumnType::Struct => open_rows(sink, column, at, added, feed)?,
        kind if kind.is_list() => column.data = open_lists(sink, column, at, added, feed)?,
        _ => {}
    }
    if texts > 0 {
        reserve_texts(sink, column, texts)?;
    }
    let room = rules.with(layout).room(column, layout, needed as u32, place.end(sink));
    let old = column;
    let column = relayout(sink, column, layout, room)?;
    sink.write(|editor, _| {
        if at < column.count {
            if column.column.is_nested() {
                editor.note(Event::Opened { table: column.data, at, count: added });
            }
            column.move_slots(&mut editor.space, at, at + added, column.count - at);
        }
        column.set_count(&mut editor.space, column.count + added);
    });
    let column = Elements { count: column.count + added, ..column };
    let (mut slot, mut value) = (at, (TAG_NULL, 0));
    if let Some(numbers) = feed.numbers(column) {
        let to = column.data as u64 + at as u64 * column.column.width();
        sink.write(|editor, _| editor.space.write(to, numbers));
        return Ok(value);
    }
    feed.each(sink, |sink, put| {
        if column.column.is_nested() {
            sink.write(|editor, _| editor.fill(column, slot, put));
            value = (put.probe().0, nested_cell(column, slot));
        } else {
            value = store_in(sink, old, column, slot, &put, texts)?;
            sink.write(|editor, _| column.put(&mut editor.space, slot, value));
        }
        slot += 1;
        Ok(())
    })?;
    Ok(value)
}

/// Opens rows in the table of a struct column.
fn open_rows<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    at: u32,
    added: u32,
    feed: &Feed<'_, '_>,
) -> Result<()> {
    let table = Table::load(sink.bytes(), column.data)?;
    for index in 0..table.headers() {
        let feed = feed.members(sink.bytes(), table, index)?;
        open(sink, ColumnPlace::column(table, index), at, added, &feed)?;
    }
    sink.try_write(|editor, _| editor.shift_extras(table, at, 0, added))?;
    let mut further = 0;
    feed.each(sink, |sink, put| {
        further += u32::from(put.has_further(sink.bytes(), table)?);
        Ok(())
    })?;
    if further == 0 {
        return Ok(());
    }
    reserve_extras(sink, table, further)?;
    let mut row = at;
    feed.each(sink, |sink, put| {
        store_extra(sink, table, row, put)?;
        row += 1;
        Ok(())
    })
}

/// Stores the members of a row that are not the table's: in an object of their own.
fn store_extra<S: Storage>(
    sink: &mut Sink<'_, S>,
    table: Table,
    row: u32,
    put: Put<'_>,
) -> Result<()> {
    let (count, record) = put.count_further(sink.bytes(), table)?;
    if count == 0 {
        return Ok(());
    }
    let (home, object) = match record {
        true => {
            let home = sink.carve(record_size(count) as u64);
            let shape = new_shape(sink, count, 0).offset as u32;
            let object = Record::new(home, count, count, count, shape);
            sink.write(|editor, _| object.write_header(&mut editor.space));
            (home, Some(object))
        }
        false => (new_map(sink, count, count), None),
    };
    let mut index = 0;
    put.each_further(sink, table, |sink, text, member| {
        let needle = Needle::new(text.as_bytes());
        if let Some(object) = object {
            let key_cell = key(sink, &needle)?;
            check_copied(sink, key_cell)?;
            let value = store(sink, &member)?;
            sink.try_write(|editor, _| {
                let space = &mut editor.space;
                // Loaded for each key, because objects in the value may use the shape, too.
                let shape = Shape::load(space.bytes(), object.shape() as u64)?;
                shape::put_key(space, shape, index, key_cell, needle.fingerprint);
                object.put(space, index, value);
                Ok(())
            })?;
        } else {
            let key_cell = span(sink, needle.text, true)?;
            check_copied(sink, key_cell)?;
            let value = store(sink, &member)?;
            add_entry(sink, home, key_cell, value);
        }
        index += 1;
        Ok(())
    })?;
    sink.try_write(|editor, _| editor.insert_extra(table, row, home))
}

/// Opens arrays in the list of a list column: their offsets and their elements. The same of texts
/// and their bytes in a run. Returns where the list is.
fn open_lists<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    at: u32,
    added: u32,
    feed: &Feed<'_, '_>,
) -> Result<u32> {
    let mut list = List::load(sink.bytes(), column.data)?;
    let (is_run, mut fixed, mut elements) = (column.column.is_run(), list.length, 0);
    feed.each(sink, |sink, put| {
        let length = put.length(sink.bytes())?;
        elements += length as u64;
        if is_run && put.is(TAG_STRING) && fixed != Some(length) {
            fixed = None;
        }
        Ok(())
    })?;
    if let Some(length) = fixed {
        elements = added as u64 * length as u64;
    } else if list.length.is_some() {
        list = give_offsets(sink, column, list, elements, added)?;
    }
    let bytes = sink.bytes();
    let total = list.child(bytes)?.count as u64;
    if !is_run {
        sink.editor().check_elements(total + elements)?;
    }
    let (start, _) = if at < column.count { list.bounds(bytes, at)? } else { (total, 0) };
    if fixed.is_none() {
        open_offsets(sink, list, at, added, (start, total, elements), feed)?;
    }
    if !is_run {
        let below = Feed::Elements(feed, fixed);
        open(sink, ColumnPlace::elements(list), start as u32, elements as u32, &below)?;
        return Ok(list.offset);
    }
    let run = resize_run(sink, list, start as u32, 0, elements as u32)?;
    let mut to = run.data as u64 + start;
    feed.each(sink, |sink, put| {
        let length = fixed.map_or_else(|| put.length(sink.bytes()), Ok)?;
        sink.try_write(|editor, _| editor.write_text(&put, to, length))?;
        to += length as u64;
        Ok(())
    })?;
    Ok(list.offset)
}

/// Opens offsets of arrays whose elements begin at `start`: so many more than the `total` ones.
fn open_offsets<S: Storage>(
    sink: &mut Sink<'_, S>,
    list: List,
    at: u32,
    added: u32,
    (start, total, elements): (u64, u64, u64),
    feed: &Feed<'_, '_>,
) -> Result<()> {
    let offsets = widen_offsets(sink, list, total + elements, added)?;
    sink.try_write(|editor, _| {
        let rest = offsets.count - at - 1;
        offsets.move_slots(&mut editor.space, at + 1, at + 1 + added, rest);
        let count = offsets.count + added;
        offsets.set_count(&mut editor.space, count);
        offsets.add_to_offsets(&mut editor.space, at + added + 1..count, elements as u32)
    })?;
    let (mut row, mut end) = (at, start);
    feed.each(sink, |sink, put| {
        end += put.length(sink.bytes())? as u64;
        row += 1;
        sink.write(|editor, _| offsets.put(&mut editor.space, row, (TAG_INT, end)));
        Ok(())
    })
}

/// Offsets of a list that are wide enough to reach `total`, with room for so many more.
fn widen_offsets<S: Storage>(
    sink: &mut Sink<'_, S>,
    list: List,
    total: u64,
    added: u32,
) -> Result<Elements> {
    if list.length.is_some() {
        // While bytes are counted, the offsets that a run gets are not there, but counted.
        return list.child(sink.bytes());
    }
    let offsets = list.offsets(sink.bytes())?.whole(sink.bytes())?;
    let mut layout = Layout::of(offsets);
    let column = offsets_column(total);
    if column.width() > offsets.column.width() {
        layout.column = column;
    }
    let room = Rules::Column.room(offsets, layout, offsets.count + added, sink.end());
    relayout(sink, offsets, layout, room)
}

// --- replacing --------------------------------------------------------------

/// Stores another value in a slot: its tag and cell. `held`: the slot still owns its value,
/// which is freed.
pub(super) fn replace<S: Storage>(
    sink: &mut Sink<'_, S>,
    place: ColumnPlace,
    slot: u32,
    put: Put<'_>,
    held: bool,
) -> Result<(u8, u64)> {
    let column = Elements::at(sink.bytes(), place.header)?.whole(sink.bytes())?;
    let old = column.element(sink.bytes(), slot)?;
    let rules = Rules::of(column, place.within);
    let feed = Feed::One(put);
    let (layout, texts) = layout(sink, column, rules, &feed, Some(slot))?;
    let dissolves = column.column.is_nested();
    if texts > 0 {
        reserve_texts(sink, column, texts)?;
    }
    let before = column;
    let column = match layout == Layout::of(column) {
        true => column,
        false => {
            let room = rules.with(layout).room(column, layout, column.count, sink.end());
            relayout(sink, column, layout, room)?
        }
    };
    // The text or UUID got a copy with the others of its column.
    let copied = before.column.lends() && !column.column.lends();
    let (dissolves, held) = (dissolves || copied, held || copied);
    if !column.column.is_nested() {
        let value = store_in(sink, before, column, slot, &put, texts)?;
        sink.try_write(|editor, _| {
            // A row is an object by itself now, and a text of a run a text by itself.
            let old = match dissolves {
                true => column.element(editor.space.bytes(), slot)?,
                false => old,
            };
            column.put(&mut editor.space, slot, value);
            if held {
                editor.release(old);
            }
            Ok(())
        })?;
        return Ok(value);
    }
    let value = (put.probe().0, nested_cell(column, slot));
    if column.column.is_run() {
        let column = replace_text(sink, column, slot, &put)?;
        sink.write(|editor, _| column.put(&mut editor.space, slot, value));
        return Ok(value);
    }
    let held = held && old.tag > TAG_SPAN_LAST;
    if column.column == ColumnType::Struct && put.is(TAG_OBJECT) {
        return replace_row(sink, column, slot, put, held).map(|()| value);
    }
    if column.tensor {
        return replace_elements(sink, column, slot, put).map(|()| value);
    }
    // The slot is to be without a value, and those below it missing.
    admit_missing(sink, column)?;
    sink.lose_shapes();
    sink.try_write(|editor, _| {
        if held {
            editor.release(old);
        }
        editor.empty_slots(place.header, slot..slot + 1)?;
        if let Incoming::Gap(gap) = put.incoming() {
            column.set_gap(&mut editor.space, slot, Some(gap));
        }
        Ok(())
    })?;
    Ok(value)
}

/// Lets slots be missing in the columns below a struct column or a list of fixed length.
fn admit_missing<S: Storage>(sink: &mut Sink<'_, S>, column: Elements) -> Result<()> {
    match column.column {
        ColumnType::Struct => {
            let table = Table::load(sink.bytes(), column.data)?;
            (0..table.headers()).try_for_each(|index| admit_one(sink, table.header(index)))
        }
        ColumnType::FixedList => {
            let list = List::load(sink.bytes(), column.data)?;
            admit_one(sink, list.offset + LIST_CHILD)
        }
        _ => Ok(()),
    }
}

/// The same for one of these columns, and those below it. The numbers of a tensor have no gaps.
fn admit_one<S: Storage>(sink: &mut Sink<'_, S>, header: u32) -> Result<()> {
    let column = Elements::at(sink.bytes(), header)?.whole(sink.bytes())?;
    let mut layout = Layout::of(column);
    if column.tensor {
        return Ok(());
    }
    layout.take_gap(Gap::Missing);
    let room = Rules::Column.room(column, layout, column.count, sink.end());
    let column = relayout(sink, column, layout, room)?;
    admit_missing(sink, column)
}

/// Stores the elements of an array in those of a tensor's array of the same length.
fn replace_elements<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    slot: u32,
    put: Put<'_>,
) -> Result<()> {
    let list = List::load(sink.bytes(), column.data)?;
    let mut at = slot * list.length.unwrap_or(0);
    let (elements, feed) = (list.child(sink.bytes())?, Feed::One(put));
    let feed = Feed::Elements(&feed, list.length);
    if let Some(numbers) = feed.numbers(elements) {
        let to = elements.data as u64 + at as u64 * elements.column.width();
        sink.write(|editor, _| editor.space.write(to, numbers));
        return Ok(());
    }
    feed.each(sink, |sink, put| {
        replace(sink, ColumnPlace::elements(list), at, put, false)?;
        at += 1;
        Ok(())
    })?;
    sink.write(|editor, _| editor.free_shell(put, (column.data, slot)));
    Ok(())
}

/// Stores an object in a row of a struct column.
fn replace_row<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    row: u32,
    put: Put<'_>,
    held: bool,
) -> Result<()> {
    let table = Table::load(sink.bytes(), column.data)?;
    // Further fields are freed before the members are stored.
    sink.lose_shapes();
    sink.try_write(|editor, _| {
        editor.drop_extra(table, row, held)?;
        editor.note(Event::Gone { table: table.offset, row });
        Ok(())
    })?;
    for index in 0..table.headers() {
        let member = put.column_member(sink.bytes(), table, index)?;
        replace(sink, ColumnPlace::column(table, index), row, member, held)?;
    }
    sink.write(|editor, _| column.set_gap(&mut editor.space, row, None));
    if put.has_further(sink.bytes(), table)? {
        reserve_extras(sink, table, 1)?;
        store_extra(sink, table, row, put)?;
    }
    sink.write(|editor, _| editor.free_shell(put, (column.data, row)));
    Ok(())
}

// --- arrays of lists by themselves ------------------------------------------

/// Makes all arrays of a list arrays by themselves, so that the one at `row` can change its length.
/// Returns the place of that array, and the array.
fn part<S: Storage>(
    sink: &mut Sink<'_, S>,
    list: List,
    row: u32,
    elements: Elements,
) -> Result<(ColumnPlace, Elements)> {
    // A tensor gains and loses elements as any array does, but its elements keep their lengths. So
    // an array in a tensor, or in a list of tensors, cannot change its own.
    if elements.tensor {
        return Err(mismatch(elements.offset));
    }
    let bytes = sink.bytes();
    let owner = Owner::load(bytes, list.offset)?;
    let column = Elements::at(bytes, owner.header(bytes)?)?.whole(bytes)?;
    if !column.column.is_nested() || column.data != list.offset || row >= column.count {
        return Err(Error::new(ErrorKind::WrongBlock, column.offset as u64));
    }
    let column = dissolve(sink, column)?;
    let array = match sink.writes() {
        true => elements_of(sink.bytes(), column.element(sink.bytes(), row)?.cell)?,
        // As `materialize_array` is going to make it.
        false => Layout::alone(elements).column(0, elements.count, elements.count, 0),
    };
    Ok((ColumnPlace { made: true, ..ColumnPlace::array(array) }, array))
}

/// An array of a list or another one, by itself.
fn by_itself<S: Storage>(
    sink: &mut Sink<'_, S>,
    array: Container,
) -> Result<(ColumnPlace, Elements)> {
    match array {
        Container::Array(elements) => Ok((ColumnPlace::array(elements), elements)),
        Container::Listed(list, row, elements) => part(sink, list, row, elements),
        _ => Err(Error::new(ErrorKind::WrongType, 0)),
    }
}

// --- the edits --------------------------------------------------------------

/// An edit of columns.
pub(super) enum ColumnEdit<'v> {
    /// A new element before `index` of an array.
    Insert { array: Container, index: u32, new: New<'v> },
    /// Another value in a slot.
    Set { place: ColumnPlace, slot: u32, new: New<'v> },
    /// An element out of an array. `keeps`: it is attached elsewhere, else it is freed.
    Take { array: Elements, index: u32, keeps: bool },
    /// Null, or nothing, in place of a slot's value, which is taken as by [`Take`](Self::Take).
    Empty { place: ColumnPlace, slot: u32, put: Put<'v>, keeps: bool },
    /// All fields of a row.
    ClearRow { table: Table, row: u32 },
    /// Two elements of an array.
    Swap { array: Elements, a: u32, b: u32 },
    /// All elements from `length` on.
    Truncate { array: Elements, length: u32 },
    /// Room for `more` elements.
    Reserve { array: Container, more: u32 },
    /// All arrays of a list become arrays by themselves, if this is one of them.
    Part { array: Container },
}

impl ColumnEdit<'_> {
    /// Returns tag and cell of the value that it put in its place, or took out.
    pub(super) fn run<S: Storage>(&self, sink: &mut Sink<'_, S>) -> Result<(u8, u64)> {
        const DONE: (u8, u64) = (TAG_NULL, 0);
        match *self {
            ColumnEdit::Insert { array, index, ref new } => {
                let (place, elements) = by_itself(sink, array)?;
                let feed = Feed::One(Put::new(*new));
                let value = open_column(sink, place, elements, index, 1, &feed)?;
                hang(sink, new);
                Ok(value)
            }
            ColumnEdit::Set { place, slot, ref new } => {
                let value = replace(sink, place, slot, Put::new(*new), true)?;
                hang(sink, new);
                Ok(value)
            }
            ColumnEdit::Take { array, index, keeps } => {
                let raw = array.element(sink.bytes(), index)?;
                let kept = keep(sink, raw, keeps)?;
                sink.try_write(|editor, _| editor.close(array, index, 1))?;
                Ok(kept)
            }
            ColumnEdit::Empty { place, slot, put, keeps } => {
                let raw = Elements::at(sink.bytes(), place.header)?.element(sink.bytes(), slot)?;
                let kept = keep(sink, raw, keeps)?;
                replace(sink, place, slot, put, false)?;
                Ok(kept)
            }
            ColumnEdit::ClearRow { table, row } => {
                sink.try_write(|editor, _| editor.drop_extra(table, row, true))?;
                for index in 0..table.headers() {
                    replace(sink, ColumnPlace::column(table, index), row, Put::Missing, true)?;
                }
                Ok(DONE)
            }
            ColumnEdit::Swap { array, a, b } => {
                if has_lists(sink.bytes(), array)? {
                    dissolve(sink, array)?;
                } else {
                    part_far_texts(sink, array, a, b)?;
                }
                sink.try_write(|editor, _| editor.exchange(array.offset, a, b))?;
                Ok(DONE)
            }
            ColumnEdit::Truncate { array, length } => {
                sink.try_write(|editor, _| {
                    editor.release_elements(array, length);
                    editor.close(array, length, array.count - length)
                })?;
                Ok(DONE)
            }
            ColumnEdit::Reserve { array, more } => {
                let (place, elements) = by_itself(sink, array)?;
                reserve(sink, place, elements, more)?;
                Ok(DONE)
            }
            ColumnEdit::Part { array } => {
                let (place, _) = by_itself(sink, array)?;
                Ok((TAG_ARRAY, place.header.into()))
            }
        }
    }
}

/// Says that a value is attached to its place, where it was a detached one.
pub(super) fn hang<S: Storage>(sink: &mut Sink<'_, S>, new: &New<'_>) {
    if let New::Detached(detached) = new {
        sink.write(|editor, _| {
            editor.rehang(detached);
        });
    }
}

/// Makes a value that is taken out one by itself, or frees it.
pub(super) fn keep<S: Storage>(sink: &mut Sink<'_, S>, raw: Raw, keeps: bool) -> Result<(u8, u64)> {
    if keeps {
        return materialize(sink, raw);
    }
    sink.write(|editor, _| editor.release(raw));
    Ok((TAG_NULL, 0))
}

/// Makes room for more slots in a column, and in all below.
fn reserve<S: Storage>(
    sink: &mut Sink<'_, S>,
    place: ColumnPlace,
    column: Elements,
    more: u32,
) -> Result<()> {
    let rules = Rules::of(column, place.within);
    let mut layout = Layout::of(column);
    if rules == Rules::Array && column.count == 0 {
        layout.column = ColumnType::I64;
    }
    let more_slots = if column.has_slots() { more } else { 0 };
    let needed = column.count.saturating_add(more_slots);
    let room = rules.reserved(column, layout, needed, place.end(sink));
    if room.data != Data::Stays {
        relayout(sink, column, layout, room)?;
    }
    if column.column == ColumnType::Struct {
        let table = Table::load(sink.bytes(), column.data)?;
        for index in 0..table.headers() {
            let below = table.column(sink.bytes(), index)?.whole(sink.bytes())?;
            reserve(sink, ColumnPlace::column(table, index), below, more)?;
        }
    }
    Ok(())
}

/// Whether a column is a list, or has one below.
fn has_lists(bytes: &[u8], column: Elements) -> Result<bool> {
    if column.column != ColumnType::Struct {
        return Ok(column.column.is_list() && !column.column.is_run() && !column.tensor);
    }
    let table = Table::load(bytes, column.data)?;
    for index in 0..table.headers() {
        if has_lists(bytes, table.column(bytes, index)?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes all texts of a run texts by themselves, if exchanging these two would move too many bytes.
/// Texts of the same length just change places. Does the same in all columns of structs.
fn part_far_texts<S: Storage>(
    sink: &mut Sink<'_, S>,
    column: Elements,
    a: u32,
    b: u32,
) -> Result<()> {
    if column.column == ColumnType::Struct {
        let table = Table::load(sink.bytes(), column.data)?;
        for index in 0..table.headers() {
            let below = table.column(sink.bytes(), index)?.whole(sink.bytes())?;
            part_far_texts(sink, below, a, b)?;
        }
    } else if column.column.is_run() {
        let list = List::load(sink.bytes(), column.data)?;
        let first = list.text_bounds(sink.bytes(), a.min(b))?;
        let second = list.text_bounds(sink.bytes(), a.max(b))?;
        let alike = first.1 - first.0 == second.1 - second.0;
        if !alike && second.1.saturating_sub(first.0) > MOST_MOVED {
            dissolve(sink, column)?;
        }
    }
    Ok(())
}

impl<S: Storage> Editor<S> {
    /// Carries out an edit of columns.
    ///
    /// In a damaged document blocks may overlap, and one step can destroy the bytes that the next
    /// one relies on. So columns of tables and lists change only in a document that was validated.
    /// Slots that are overwritten as they are need no validation. Arrays change in any document.
    pub(super) fn change(&mut self, step: ColumnEdit<'_>) -> Result<(u8, u64)> {
        if !self.space.trusted && !self.is_simple(&step)? {
            self.check_trust()?;
        }
        self.carry_out(|sink| step.run(sink), NodeId::NONE)
    }

    pub(super) fn check_trust(&self) -> Result<()> {
        if self.space.trusted { Ok(()) } else { Err(Error::new(ErrorKind::NotValidated, 0)) }
    }

    /// Whether an edit changes one array by itself, or one slot that is to stay as it is.
    fn is_simple(&self, step: &ColumnEdit<'_>) -> Result<bool> {
        let overwrites = |place: ColumnPlace, slot: u32, put: Put<'_>| -> Result<bool> {
            let column = Elements::at(self.space.bytes(), place.header)?;
            let rules = Rules::of(column, place.within);
            let is_run = column.column.is_run();
            if rules == Rules::Array || column.column.is_nested() && !is_run {
                return Ok(rules == Rules::Array);
            }
            let feed = Feed::One(put);
            let mut sizer = self.sizer(NodeId::NONE);
            let (layout, texts) = layout(&mut sizer, column, rules, &feed, Some(slot))?;
            let bytes = self.space.bytes();
            let fits = match is_run {
                true => {
                    let list = List::load(bytes, column.data)?;
                    list.bounds(bytes, slot)?.1 == text_length(bytes, list, &put)? as u64
                }
                false => texts == 0,
            };
            Ok(fits && layout == Layout::of(column))
        };
        Ok(match *step {
            ColumnEdit::Insert { array: Container::Array(array), .. }
            | ColumnEdit::Reserve { array: Container::Array(array), .. }
            | ColumnEdit::Take { array, .. }
            | ColumnEdit::Swap { array, .. }
            | ColumnEdit::Truncate { array, .. } => Rules::of(array, 0) == Rules::Array,
            ColumnEdit::Set { place, slot, ref new } => overwrites(place, slot, Put::new(*new))?,
            ColumnEdit::Empty { place, slot, put, .. } => overwrites(place, slot, put)?,
            _ => false,
        })
    }

    /// Writes the bitmaps of a column's new layout to `bits`, by those of the old one.
    fn copy_bits(&mut self, old: Elements, new: Elements, bits: u64) -> Result<()> {
        if new.gaps == GAPS_NONE {
            return Ok(());
        }
        let old_bits = old.bits_at(self.space.bytes())?;
        let (from, to) = (bitmap_size(old.capacity as u64), bitmap_size(new.capacity as u64));
        let whole = bitmap_size(old.count as u64);
        // A byte of a bitmap with a 1 for each slot.
        let ones = |byte: u32| (0xFFu16 >> (8 - (old.count - 8 * byte).min(8))) as u8;
        if old.gaps == GAPS_NONE {
            for byte in 0..old.count.div_ceil(8) {
                self.space.write_u8(bits + byte as u64, ones(byte));
            }
            return Ok(());
        }
        self.space.copy_within(old_bits, bits, whole);
        match (old.gaps, new.gaps) {
            (GAPS_BOTH, GAPS_BOTH) => self.space.copy_within(old_bits + from, bits + to, whole),
            (GAPS_NULL, GAPS_BOTH) => {
                // A slot without a value was null.
                for byte in 0..old.count.div_ceil(8) {
                    let valid = load_u8(self.space.bytes(), old_bits + byte as u64)?;
                    self.space.write_u8(bits + to + byte as u64, ones(byte) & !valid);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes a text or UUID of so many bytes at `to`, where its column keeps it.
    #[inline]
    pub(super) fn write_content(&mut self, put: &Put<'_>, to: u64, length: u64) -> Result<()> {
        match *put {
            // No run's bytes: those are copied to a column, or to another run.
            Put::Here(raw) if span_inline(raw.cell).is_none() => {
                self.space.copy_within(raw.cell as u32 as u64, to, length);
                self.release(raw);
            }
            _ => {
                let mut short = [0; 8];
                let bytes = put.content(&[], &mut short)?;
                // Another process may write the source meanwhile.
                if bytes.len() as u64 != length {
                    return Err(Error::new(ErrorKind::BadCount, to));
                }
                self.space.write(to, bytes);
            }
        }
        Ok(())
    }

    /// Writes the text of a slot of a run, or zeros for a value that is no text.
    fn write_text(&mut self, put: &Put<'_>, to: u64, length: u32) -> Result<()> {
        match put.is(TAG_STRING) {
            true => {
                self.write_content(put, to, length.into())?;
                // As in `check_copied`, the source may have changed since it was counted.
                if matches!(put, Put::Value(New::Copy(_))) {
                    text(slice(self.space.bytes(), to, length.into())?, to)?;
                }
                Ok(())
            }
            false => {
                self.space.zero(to, length.into());
                Ok(())
            }
        }
    }

    /// Marks a slot of a struct, list or run column: a value was stored below it, or it is null, or
    /// missing.
    fn fill(&mut self, column: Elements, slot: u32, put: Put<'_>) {
        match put.incoming() {
            Incoming::Gap(gap) => column.set_gap(&mut self.space, slot, Some(gap)),
            Incoming::Value(..) => {
                column.set_gap(&mut self.space, slot, None);
                if !column.column.is_run() {
                    self.free_shell(put, (column.data, slot));
                }
            }
        }
    }

    /// Frees the block of an object or array whose members or elements are in columns now. `to`:
    /// the table or list, and the row, that it became.
    fn free_shell(&mut self, put: Put<'_>, to: (u32, u32)) {
        let Put::Here(raw) = put else { return };
        let from = (raw.cell as u32, row_of(raw.cell).unwrap_or(0));
        self.note(Event::Moved { from, to });
        if let Ok(node) = Node::of(self.space.bytes(), raw) {
            self.release_block(raw, node);
        }
    }

    /// Makes slots missing whose contents are freed or elsewhere. A tensor's numbers become 0.
    fn empty_slots(&mut self, header: u32, slots: Range<u32>) -> Result<()> {
        let column = Elements::at(self.space.bytes(), header)?;
        if slots.is_empty() {
            return Ok(());
        }
        match column.column {
            ColumnType::Struct => {
                let table = Table::load(self.space.bytes(), column.data)?;
                slots.clone().try_for_each(|row| self.shift_extras_out(table, row))?;
                for index in 0..table.headers() {
                    self.empty_slots(table.header(index), slots.clone())?;
                }
            }
            kind if kind.is_list() => {
                let list = List::load(self.space.bytes(), column.data)?;
                if let Some(length) = list.length {
                    let elements = slots.start * length..slots.end * length;
                    match kind.is_run() {
                        true => list.child(self.space.bytes())?.clear(&mut self.space, elements),
                        false => self.empty_slots(list.offset + LIST_CHILD, elements)?,
                    }
                } else {
                    let start = self.close_elements(list, slots.clone())?;
                    let offsets = list.offsets(self.space.bytes())?;
                    for slot in slots.clone() {
                        offsets.put(&mut self.space, slot + 1, (TAG_INT, start));
                    }
                }
            }
            _ => {
                for slot in slots {
                    column.put(&mut self.space, slot, (TAG_HOLE, 0));
                }
                return Ok(());
            }
        }
        for slot in slots {
            self.note(Event::Gone { table: column.data, row: slot });
            column.set_gap(&mut self.space, slot, Some(Gap::Missing));
        }
        Ok(())
    }

    /// Takes the elements of these arrays of a list with offsets, or the bytes of these texts of a
    /// run, out of the list. Returns where they began. The arrays keep their own offsets.
    fn close_elements(&mut self, list: List, arrays: Range<u32>) -> Result<u64> {
        let (bytes, offsets) = (self.space.bytes(), list.offsets(self.space.bytes())?);
        let start = offsets.slot(bytes, arrays.start)?.cell;
        let count = offsets.slot(bytes, arrays.end)?.cell.saturating_sub(start) as u32;
        self.close_from(list.offset + LIST_CHILD, start as u32, count)?;
        let behind = arrays.end + 1..offsets.count;
        offsets.add_to_offsets(&mut self.space, behind, count.wrapping_neg())?;
        Ok(start)
    }

    /// Takes emptied slots out of an array. If no slot is left, an array of rows or with gaps gets
    /// plain cells again; a tensor keeps its type.
    pub(super) fn close(&mut self, array: Elements, at: u32, count: u32) -> Result<()> {
        self.close_from(array.offset, at, count)?;
        if array.count == count && Rules::of(array, 0) == Rules::Column && !array.tensor {
            let column = Elements::at(self.space.bytes(), array.offset)?;
            self.free_column(column);
            Elements::new(column.offset, ColumnType::Cells, 0, 0, 0).write_header(&mut self.space);
        }
        Ok(())
    }

    /// Takes `count` slots from `at` on out of a column. Their values are freed already,
    /// or attached elsewhere.
    fn close_from(&mut self, header: u32, at: u32, count: u32) -> Result<()> {
        let column = Elements::at(self.space.bytes(), header)?;
        let rest = column.count.saturating_sub(at + count);
        match column.column {
            ColumnType::Struct => {
                let table = Table::load(self.space.bytes(), column.data)?;
                for index in 0..table.headers() {
                    self.close_from(table.header(index), at, count)?;
                }
                self.shift_extras(table, at, count, 0)?;
            }
            kind if kind.is_list() => {
                let list = List::load(self.space.bytes(), column.data)?;
                if let Some(length) = list.length {
                    self.close_from(list.offset + LIST_CHILD, at * length, count * length)?;
                } else {
                    self.close_elements(list, at..at + count)?;
                    self.close_from(list.offset + LIST_OFFSETS, at + 1, count)?;
                }
                if kind.is_run() {
                    list.give_back(&mut self.space)?;
                }
            }
            _ => {}
        }
        if column.column.is_nested() {
            self.note(Event::Closed { table: column.data, at, count });
        }
        column.move_slots(&mut self.space, at + count, at, rest);
        column.set_count(&mut self.space, column.count.saturating_sub(count));
        if !column.has_slots() {
            column.set_capacity(&mut self.space, column.count.saturating_sub(count));
        }
        Ok(())
    }

    /// Takes the slots of a map's holes out of the column with its values, or of one below, where
    /// there are `each` for an entry. They are without a value.
    pub(super) fn close_holes(&mut self, header: u32, map: &Map, each: u32) -> Result<()> {
        let column = Elements::at(self.space.bytes(), header)?;
        let live = map.live * each;
        match column.column {
            ColumnType::Struct => {
                let table = Table::load(self.space.bytes(), column.data)?;
                for index in 0..table.headers() {
                    self.close_holes(table.header(index), map, each)?;
                }
                self.renumber_extras(table, map, each)?;
            }
            kind if kind.is_list() => {
                let list = List::load(self.space.bytes(), column.data)?;
                if let Some(length) = list.length {
                    self.close_holes(list.offset + LIST_CHILD, map, each * length)?;
                } else {
                    // Holes have no elements. The offset after a row's is the end of its elements.
                    let offsets = list.offsets(self.space.bytes())?;
                    self.close_runs(offsets, map, each, 1)?;
                    offsets.set_count(&mut self.space, live + 1);
                }
            }
            _ => {}
        }
        if column.column.is_nested() {
            let mut end = map.used;
            while let Some(holes) = map.last_holes(self.space.bytes(), end)? {
                end = holes.start;
                let (at, count) = (holes.start * each, (holes.end - holes.start) * each);
                self.note(Event::Closed { table: column.data, at, count });
            }
        }
        self.close_runs(column, map, each, 0)?;
        column.set_count(&mut self.space, live);
        if !column.has_slots() {
            column.set_capacity(&mut self.space, live);
        }
        Ok(())
    }

    /// Moves the slots of live entries together, behind the first `first` ones.
    fn close_runs(&mut self, column: Elements, map: &Map, each: u32, first: u32) -> Result<()> {
        let (mut to, mut at) = (0, 0);
        while let Some(run) = map.next_run(self.space.bytes(), at)? {
            let (start, count) = (run.start, run.end - run.start);
            let (from, target) = (first + start * each, first + to * each);
            column.move_slots(&mut self.space, from, target, count * each);
            (to, at) = (to + count, run.end);
        }
        // What is left behind the last one may be old values.
        column.clear(&mut self.space, first + to * each..column.count);
        Ok(())
    }

    /// Gives the extras of a table the numbers that rows have without holes. `each`: how many rows
    /// of the table belong to an entry.
    fn renumber_extras(&mut self, table: Table, map: &Map, each: u32) -> Result<()> {
        let Some(extras) = table.extras(self.space.bytes())? else { return Ok(()) };
        let (mut number, mut before) = (0, 0);
        for index in 0..extras.count {
            let (row, home) = extra(extras.slot(self.space.bytes(), index)?);
            while number < row / each.max(1) {
                before += u32::from(map.keys.is_live(self.space.bytes(), number)?);
                number += 1;
            }
            let row = before * each + row % each.max(1);
            extras.put(&mut self.space, index, extra_entry(row, home));
        }
        Ok(())
    }

    /// Exchanges two slots of a column that has no lists below but those of a tensor.
    fn exchange(&mut self, header: u32, a: u32, b: u32) -> Result<()> {
        let bytes = self.space.bytes();
        let column = Elements::at(bytes, header)?;
        let gaps = (column.gap(bytes, a)?, column.gap(bytes, b)?);
        match column.column {
            ColumnType::Struct => self.exchange_rows(Table::load(bytes, column.data)?, a, b)?,
            ColumnType::FixedList => {
                let list = List::load(bytes, column.data)?;
                let length = list.length.unwrap_or(0);
                self.note(Event::Swapped { table: list.offset, a, b });
                for at in 0..length {
                    self.exchange(list.offset + LIST_CHILD, a * length + at, b * length + at)?;
                }
            }
            ColumnType::Uuid => column.exchange_slots(&mut self.space, a, b)?,
            kind if kind.is_run() => {
                List::load(bytes, column.data)?.exchange_texts(&mut self.space, a, b)?;
            }
            _ => {
                let (first, second) = (column.stored(bytes, a)?, column.stored(bytes, b)?);
                column.put(&mut self.space, a, second);
                column.put(&mut self.space, b, first);
                return Ok(());
            }
        }
        column.set_gap(&mut self.space, a, gaps.1);
        column.set_gap(&mut self.space, b, gaps.0);
        Ok(())
    }

    /// Exchanges the members of two rows.
    fn exchange_rows(&mut self, table: Table, a: u32, b: u32) -> Result<()> {
        self.note(Event::Swapped { table: table.offset, a, b });
        for index in 0..table.headers() {
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
}
