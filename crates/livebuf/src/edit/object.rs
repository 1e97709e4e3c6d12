//! Editing objects: records that gain, lose and rename fields, and become maps.

use super::editor::{Container, Editor, ValueSlot};
use super::handles::NodeId;
use super::literal::value;
use super::member::{FieldLookup, find_member};
use super::new::{At, New};
use super::parts::{key, new_shape, put_text, span};
use super::short::Simple;
use super::sink::Sink;
use crate::block::column::Elements;
use crate::block::column_type::ColumnType;
use crate::block::map::{self, ByHash, Map};
use crate::block::record::{Raw, Record, each_field};
use crate::block::shape::{self, Shape};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u32, load_u64, round_up};
use crate::format::cell::Needle;
use crate::format::layout::*;
use crate::store::space::Extent;
use crate::store::storage::Storage;
use crate::store::target::Target;

/// How a record gets another field: good until the document changes.
#[derive(Clone, Copy)]
pub(super) struct NewField {
    /// The record's capacity with the field.
    pub(super) capacity: u32,
    pub(super) step: shape::ShapeStep,
}

/// Capacity of a record that holds `used` fields and gets another.
fn grown(used: u32) -> u32 {
    (used + (used / 2).max(4)).min(MAX_FIELDS as u32)
}

/// Entries to make room for in the map that a record becomes.
fn map_capacity(record: Record) -> u32 {
    record.live() + record.live() / 2 + 8
}

/// Stores a new field of a record.
pub(super) fn put_field<S: Storage>(
    sink: &mut Sink<'_, S>,
    home: u32,
    record: Record,
    field: NewField,
    needle: &Needle<'_>,
    value: (u8, u64),
) -> Result<()> {
    let NewField { capacity, step } = field;
    let (used, size) = (record.used(), record_size(capacity) as u64);
    let mut offset = record.offset;
    if capacity != record.capacity() {
        if record.offset as u64 + record.size() == sink.end() {
            sink.extend(size - record.size());
        } else {
            offset = sink.carve(size);
        }
    }
    let key_cell = if step.stores_key() { key(sink, needle)? } else { 0 };
    sink.set_aside(step.fresh());
    sink.write(|editor, extent| {
        let (space, old) = (&mut editor.space, record.shape());
        let fingerprint = needle.fingerprint;
        let shape = shape::commit_step(space, step, old, used, key_cell, fingerprint, extent);
        if offset == record.offset {
            Record::new(offset, capacity, used, record.live(), shape).append(space, shape, value);
        } else {
            record.copy_to(space, offset, capacity).append(space, shape, value);
            editor.move_home(home, record.offset, record.size(), offset);
        }
    });
    Ok(())
}

/// Makes a record a map, and stores one more member there.
pub(super) fn put_as_map<S: Storage>(
    sink: &mut Sink<'_, S>,
    home: u32,
    record: Record,
    key: &str,
    value: (u8, u64),
) -> Result<()> {
    sink.editor().check_elements(record.live() as u64 + 1)?;
    let key_cell = span(sink, key.as_bytes(), true)?;
    become_map(sink, home, record, map_capacity(record), key, Member::New(key_cell, value))
}

/// The member by which a record and the map that it becomes differ.
#[derive(Clone, Copy)]
enum Member {
    /// One more, with this key and value.
    New(u64, (u8, u64)),
    /// The field of this index, with another key.
    Renamed(u32, u64),
}

/// Makes a record a map with room for `capacity` entries.
fn become_map<S: Storage>(
    sink: &mut Sink<'_, S>,
    home: u32,
    record: Record,
    capacity: u32,
    key: &str,
    member: Member,
) -> Result<()> {
    let count = record.live() + u32::from(matches!(member, Member::New(..)));
    let fill = plan_keys(sink.bytes(), record, key, member)?;
    sink.set_aside(map::create_size(capacity) + map::filled_size(fill, count));
    sink.write(|editor, extent| {
        let map = map::create(&mut editor.space, extent, capacity, 0);
        let mut count = editor.copy_fields(record, &map, member);
        if let Member::New(key_cell, value) = member {
            map::put_entry(&mut editor.space, &map, count, key_cell, value);
            count += 1;
        }
        map::fill(&mut editor.space, &map, count, fill, extent);
        shape::leave(&mut editor.space, record.shape());
        editor.settle_map(home, record, map.at);
    });
    Ok(())
}

/// Plans the indexes of a map that a record becomes. Reads its keys, which may not fail later.
fn plan_keys(bytes: &[u8], record: Record, key: &str, member: Member) -> Result<map::Fill> {
    let (mut keys, mut count) = ([&[][..]; MAX_FIELDS + 1], 0);
    let mut add = |key| {
        if let Some(place) = keys.get_mut(count) {
            (*place, count) = (key, count + 1);
        }
    };
    if record.used() > 0 {
        let shape = Shape::load(bytes, record.shape() as u64)?;
        each_field(bytes, record, |index, _| {
            let old = shape.key(bytes, index)?;
            let renamed = matches!(member, Member::Renamed(renamed, _) if renamed == index);
            add(if renamed { key.as_bytes() } else { old });
            Ok(())
        })?;
    }
    if let Member::New(..) = member {
        add(key.as_bytes());
    }
    Ok(map::plan_fill(count as u32, keys.into_iter().take(count)))
}

/// Stores a new entry of a map.
pub(super) fn store_entry<S: Storage>(
    sink: &mut Sink<'_, S>,
    map: &Map,
    plan: &map::InsertPlan,
    key: &str,
    new: &New<'_>,
) -> Result<(u8, u64)> {
    grow_map(sink, map, plan);
    let key_cell = span(sink, key.as_bytes(), true)?;
    let value = value(sink, new, 0)?;
    put_entry(sink, map, plan, key_cell, value);
    Ok(value)
}

/// Makes room for a new entry, if that is made directly after the map's others.
pub(super) fn grow_map<S: Storage>(sink: &mut Sink<'_, S>, map: &Map, plan: &map::InsertPlan) {
    sink.extend(plan.tail());
    if let Some((editor, _)) = sink.writing() {
        plan.claim(&mut editor.space, map);
    }
}

/// Stores a new entry of a map, after [`grow_map`].
pub(super) fn put_entry<S: Storage>(
    sink: &mut Sink<'_, S>,
    map: &Map,
    plan: &map::InsertPlan,
    key_cell: u64,
    value: (u8, u64),
) {
    sink.set_aside(plan.fresh());
    if let Some((editor, extent)) = sink.writing() {
        map::insert(&mut editor.space, map, plan, key_cell, value, extent);
    }
}

/// A new field that has room in its record, and at the end of its shape.
struct Behind<'f> {
    record: Record,
    /// `None` where the record has none yet.
    shape: Option<Shape>,
    needle: &'f Needle<'f>,
    /// Tag and cell, where the value has no text of its own.
    value: (u8, u64),
    /// The value's text, where it does not fit the cell.
    text: &'f [u8],
}

impl Behind<'_> {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn put(&self, target: &mut impl Target, extent: &mut Extent) {
        let Behind { record, needle, value: (tag, mut cell), .. } = *self;
        let key_cell = match needle.cell {
            0 => put_text(target, extent, needle.text, false),
            cell => cell,
        };
        let shape = match self.shape {
            Some(shape) => shape,
            None => shape::create(target, record.capacity(), 0, extent),
        };
        if !self.text.is_empty() {
            cell = put_text(target, extent, self.text, true);
        }
        shape::put_key(target, shape, record.used(), key_cell, needle.fingerprint);
        record.append(target, shape.offset as u32, (tag, cell));
    }
}

impl<S: Storage> Editor<S> {
    pub(super) fn entry_slot(&self, map: Map, key: &str) -> Result<Option<ValueSlot>> {
        let bytes = self.space.bytes();
        match map.find(bytes, &Needle::new(key.as_bytes()))? {
            Some(index) => Ok(Some(ValueSlot::Element { elements: map.values(bytes)?, index })),
            None => Ok(None),
        }
    }

    /// Sets a field of a record. Returns the value's tag and cell, or `None` where a scalar took
    /// the short way.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn set_field(
        &mut self,
        node: NodeId,
        record: Record,
        at: At<'_>,
        new: &New<'_>,
    ) -> Result<Option<(u8, u64)>> {
        let needle = at.needle();
        let FieldLookup { field, shape } = find_member(self.space.bytes(), record, at, &needle)?;
        let value = match field {
            Some((index, old)) if old != TAG_HOLE => {
                let (tag, cell) = (record.tag_position(index), record.cell_position(index));
                if old <= TAG_IMMEDIATE_LAST
                    && let Some((new_tag, new_cell)) = new.immediate()
                {
                    if old != new_tag {
                        self.space.write_u8(tag, new_tag);
                    }
                    self.space.write_u64(cell, new_cell);
                    return Ok(None);
                }
                if cfg!(not(feature = "small"))
                    && let New::Str(text) = *new
                    && old == TAG_STRING
                    && self.overwrite_text(cell, text)
                {
                    return Ok(None);
                }
                self.replace(tag, cell, new, node)?
            }
            Some((index, _)) => self.fill_hole(node, record, index, new)?,
            None => {
                let key = at.text();
                if self.append_field(record, shape, &needle, new).is_some() {
                    return Ok(None);
                }
                if key.len() > MAX_SHAPE_KEY || record.used() == MAX_FIELDS as u32 {
                    self.add_as_map(node, record, key, new)?
                } else {
                    self.add_field(node, record, shape, &needle, new)?
                }
            }
        };
        Ok(Some(value))
    }

    /// Puts a value where a removed one was.
    #[inline(never)]
    pub(super) fn fill_hole(
        &mut self,
        node: NodeId,
        record: Record,
        index: u32,
        new: &New<'_>,
    ) -> Result<(u8, u64)> {
        let value = self.store(new, node)?;
        record.fill(&mut self.space, index, value);
        Ok(value)
    }

    /// The common case of [`add_field`](Self::add_field): a number or text, and room for it in the
    /// record and at the end of its shape. A record without a shape gets the document's first one.
    /// `None` where this is not the case, or space or a limit is short; nothing has changed then.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn append_field(
        &mut self,
        record: Record,
        shape: Option<Shape>,
        needle: &Needle<'_>,
        new: &New<'_>,
    ) -> Option<()> {
        let (used, capacity) = (record.used(), record.capacity());
        let bytes = self.space.bytes();
        let room = match shape {
            Some(shape) => {
                check(bytes, shape.offset, shape.size()).ok()?;
                if used == shape.count { shape.capacity } else { 0 }
            }
            None if load_u32(bytes, HEADER_NEWEST_SHAPE as u64) == Ok(0) => capacity,
            None => return None,
        };
        let room = room.min(capacity).min(self.space.limits().elements);
        if used >= room || needle.text.len() > MAX_SHAPE_KEY {
            return None;
        }
        let mut field = Behind { record, shape, needle, value: (TAG_STRING, 0), text: &[] };
        match *new {
            New::Str(text) if text.len() > MAX_INLINE => field.text = text.as_bytes(),
            New::Str(text) => field.value.1 = Needle::new(text.as_bytes()).cell,
            _ => field.value = new.immediate()?,
        }
        // The bytes to take follow from few lengths, so nothing runs twice to count them.
        let mut fresh = round_up(field.text.len() as u64);
        if needle.cell == 0 {
            fresh += round_up(needle.text.len() as u64);
        }
        if shape.is_none() {
            fresh += shape_size(capacity) as u64;
        }
        let mut extent = Extent::default();
        if fresh > 0 {
            self.check_length(needle.text).and(self.check_length(field.text)).ok()?;
            self.space.ensure(fresh, 0).ok()?;
            extent = self.space.take(fresh);
        }
        match self.space.plain() {
            Some(mut plain) => field.put(&mut plain, &mut extent),
            None => field.put(&mut self.space, &mut extent),
        }
        self.space.free_rest(extent);
        Some(())
    }

    /// Adds a field to a record, which may grow or move.
    #[inline(never)]
    pub(super) fn add_field(
        &mut self,
        node: NodeId,
        record: Record,
        shape: Option<Shape>,
        needle: &Needle<'_>,
        new: &New<'_>,
    ) -> Result<(u8, u64)> {
        let field = self.new_field(record, shape, needle)?;
        let add = move |sink: &mut Sink<'_, S>| {
            // The value first: a shape that it uses is among the newest now, as when it was
            // counted. It may not be once this record has made one.
            let value = value(sink, new, 0)?;
            put_field(sink, node.home(), record, field, needle, value)?;
            Ok(value)
        };
        self.carry_out(add, node)
    }

    /// Finds how a record gets another field. Checks the limits on keys and members.
    pub(super) fn new_field(
        &self,
        record: Record,
        shape: Option<Shape>,
        needle: &Needle<'_>,
    ) -> Result<NewField> {
        self.check_elements(record.live() as u64 + 1)?;
        self.check_length(needle.text)?;
        let (used, capacity) = (record.used(), record.capacity());
        let capacity = if used == capacity { grown(used) } else { capacity };
        let step = shape::plan_step(self.space.bytes(), shape, used, needle, capacity)?;
        Ok(NewField { capacity, step })
    }

    pub(super) fn reserve_fields(
        &mut self,
        home: u32,
        record: Record,
        additional: u32,
    ) -> Result<()> {
        let capacity = (record.used().saturating_add(additional)).min(MAX_FIELDS as u32);
        if capacity <= record.capacity() {
            return Ok(());
        }
        let size = record_size(capacity) as u64;
        self.space.ensure(size, 0)?;
        let mut extent = self.space.take(size);
        let offset = extent.carve(size);
        record.copy_to(&mut self.space, offset, capacity).write_header(&mut self.space);
        self.move_home(home, record.offset, record.size(), offset);
        Ok(())
    }

    /// Turns a record into a map, so that it can take one more member.
    #[inline(never)]
    pub(super) fn add_as_map(
        &mut self,
        node: NodeId,
        record: Record,
        key: &str,
        new: &New<'_>,
    ) -> Result<(u8, u64)> {
        let add = move |sink: &mut Sink<'_, S>| {
            let value = value(sink, new, 0)?;
            put_as_map(sink, node.home(), record, key, value)?;
            Ok(value)
        };
        self.carry_out(add, node)
    }

    /// Copies a record's fields to the entries of an empty map that has room; how many.
    /// Keys' text stays the shape's: shared, not owned.
    fn copy_fields(&mut self, record: Record, map: &Map, member: Member) -> u32 {
        let mut count = 0;
        for index in 0..record.used() {
            let bytes = self.space.bytes();
            let (Ok(raw), Ok(shape)) =
                (record.field(bytes, index), Shape::load(bytes, record.shape() as u64))
            else {
                continue;
            };
            // Damaged counts do not lead beyond the map's entries.
            if raw.tag != TAG_HOLE && count < record.live() {
                let key_cell = match member {
                    Member::Renamed(renamed, key_cell) if renamed == index => key_cell,
                    _ => load_u64(bytes, shape.key_position(index)).unwrap_or(0),
                };
                map::put_entry(&mut self.space, map, count, key_cell, (raw.tag, raw.cell));
                count += 1;
            }
        }
        count
    }

    /// Gives a record's home to the map it became, or forwards to the map where
    /// the home is too small.
    fn settle_map(&mut self, home: u32, record: Record, map: u64) {
        let header = MAP_SIZE as u64;
        if record.offset == home && record.size() >= header {
            self.space.copy_within(map, home as u64, header);
            self.space.free(map, header);
            self.space.free(home as u64 + header, record.size() - header);
        } else {
            self.move_home(home, record.offset, record.size(), map as u32);
        }
    }

    /// Writes a number or the like over another one, or text over text of the same length, in the
    /// entry that [`map::look_up`] found. False where this is not the case; nothing has changed
    /// then.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn overwrite_entry(&mut self, found: ByHash, new: &New<'_>) -> bool {
        let (Some(entry), Some(cells)) = (found.entry(), found.cells()) else { return false };
        let Ok(old) = cells.value(self.space.bytes(), entry) else { return false };
        let cell = old.position.into();
        match (old.tag, *new) {
            (TAG_STRING, New::Str(text)) => self.overwrite_text(cell, text),
            (TAG_NULL..=TAG_IMMEDIATE_LAST, _) => {
                let Some((tag, value)) = new.immediate() else { return false };
                if old.tag != tag {
                    self.space.write_u8(cells.tag_at(entry), tag);
                }
                self.space.write_u64(cell, value);
                true
            }
            _ => false,
        }
    }

    /// Sets or adds a map's entry: one way down the index for both. `found`: by [`map::look_up`].
    pub(super) fn set_entry(
        &mut self,
        node: NodeId,
        map: &Map,
        found: ByHash,
        key: &str,
        new: &New<'_>,
    ) -> Result<(u8, u64)> {
        let Some(cells) = map.cells else {
            return (self.table_edits()?.set_in_map)(self, node, *map, key, *new);
        };
        let bytes = self.space.bytes();
        let mut plan = map::InsertPlan::default();
        let found = map::plan_insert_after(bytes, map, key.as_bytes(), found, &mut plan)?;
        if let Some(number) = found {
            return self.replace(cells.tag_at(number), cells.cell_at(number), new, node);
        }
        self.check_elements(map.live as u64 + 1)?;
        if cfg!(not(feature = "small"))
            && let Some(value) = self.append_entry(map, &plan, key, new)
        {
            return Ok(value);
        }
        self.carry_out(|sink| store_entry(sink, map, &plan, key, new), node)
    }

    /// The common case of a new entry: a number or text, and room for it in the entries and the
    /// indexes. `None` where this is not the case, or space or a limit is short; nothing has
    /// changed then.
    #[inline]
    fn append_entry(
        &mut self,
        map: &Map,
        plan: &map::InsertPlan,
        key: &str,
        new: &New<'_>,
    ) -> Option<(u8, u64)> {
        if plan.fresh() + plan.tail() > 0 {
            return None;
        }
        let (key, value) = (Simple::of(&New::Str(key))?, Simple::of(new)?);
        let fresh = key.fresh() + value.fresh();
        let mut extent = Extent::default();
        if fresh > 0 {
            self.check_length(key.text).and(self.check_length(value.text)).ok()?;
            self.space.ensure(fresh, 0).ok()?;
            extent = self.space.take(fresh);
        }
        let (_, key_cell) = key.put(&mut self.space, &mut extent);
        let value = value.put(&mut self.space, &mut extent);
        map::insert(&mut self.space, map, plan, key_cell, value, &mut extent);
        self.space.free_rest(extent);
        Some(value)
    }

    /// Takes a field out, leaving a hole.
    pub(super) fn take_field(&mut self, record: Record, at: At<'_>) -> Result<Option<Raw>> {
        let bytes = self.space.bytes();
        let Some((index, _)) = find_member(bytes, record, at, &at.needle())?.field else {
            return Ok(None);
        };
        let raw = record.field(bytes, index)?;
        if raw.tag == TAG_HOLE {
            return Ok(None);
        }
        if record.take(&mut self.space, index) {
            shape::leave(&mut self.space, record.shape());
        }
        Ok(Some(raw))
    }

    /// Takes an entry out. `keeps`: its value is attached elsewhere. Else a value in an array is
    /// freed with its place.
    pub(super) fn take_entry(&mut self, map: Map, key: &str, keeps: bool) -> Result<Option<Raw>> {
        let bytes = self.space.bytes();
        let Some(plan) = map::plan_remove(bytes, &map, key.as_bytes())? else { return Ok(None) };
        if map.cells.is_none() {
            return self.take_value(map, &plan, keeps).map(Some);
        }
        let raw = map.value(bytes, plan.number)?;
        self.remove_entry(&map, &plan)?;
        Ok(Some(raw))
    }

    pub(super) fn clear_map(&mut self, map: Map) {
        // The rows of a map's table are freed with its body.
        self.freeing(|editor| {
            editor.release_entries(&map);
            editor.free_map_body(&map);
        });
        let words = map.at + MAP_LIVE as u64;
        self.space.zero(words, (MAP_VALUES - MAP_LIVE) as u64);
        let values = Elements::new(map.values_at(), ColumnType::Cells, 0, 0, 0);
        values.write_header(&mut self.space);
    }

    /// Checks that a member can get another key. Returns false where it has that key already.
    pub(super) fn check_rename(&self, container: Container, from: &str, to: &str) -> Result<bool> {
        self.check_length(to.as_bytes())?;
        if self.slot(container, At::Key(from))?.is_none() {
            return Err(Error::new(ErrorKind::NotFound, 0));
        }
        if from != to && self.slot(container, At::Key(to))?.is_some() {
            return Err(Error::new(ErrorKind::KeyExists, 0));
        }
        Ok(from != to)
    }

    /// Gives a member of a record or map another key.
    pub(super) fn rename_member(
        &mut self,
        node: NodeId,
        container: Container,
        from: &str,
        to: &str,
    ) -> Result<()> {
        match container {
            _ if !self.check_rename(container, from, to)? => Ok(()),
            Container::Map(map) => self.rename_entry(map, from, to),
            Container::Record(record) => self.rename_field(node, record, from, to),
            _ => Err(Error::new(ErrorKind::WrongType, 0)),
        }
    }

    fn rename_entry(&mut self, map: Map, from: &str, to: &str) -> Result<()> {
        let bytes = self.space.bytes();
        let missing = || Error::new(ErrorKind::NotFound, 0);
        let number = map.find(bytes, &Needle::new(from.as_bytes()))?;
        let number = number.ok_or_else(missing)?;
        let old_key = load_u64(bytes, map.key_at(number)?)?;
        let Some(plan) = map::plan_rename(bytes, &map, number, to.as_bytes())? else {
            return Err(Error::new(ErrorKind::KeyExists, 0));
        };
        let rename = move |sink: &mut Sink<'_, S>| {
            let key = to.as_bytes();
            let key_cell = span(sink, key, true)?;
            sink.set_aside(plan.fresh());
            sink.write(|editor, extent| {
                map::rename(&mut editor.space, &plan, key, key_cell, extent);
            });
            Ok(())
        };
        self.carry_out(rename, NodeId::NONE)?;
        self.free_owned(old_key);
        Ok(())
    }

    fn rename_field(&mut self, node: NodeId, record: Record, from: &str, to: &str) -> Result<()> {
        let bytes = self.space.bytes();
        let needle = Needle::new(from.as_bytes());
        let shape = Shape::load(bytes, record.shape() as u64)?;
        let index = shape.find(bytes, record.used(), &needle)?;
        let Some(index) = index else { return Err(Error::new(ErrorKind::NotFound, 0)) };
        let renamed = Needle::new(to.as_bytes());
        // If a hole has the new name, or the name is too long for shapes, only a map can hold it.
        let hole = shape.find(bytes, record.used(), &renamed)?.is_some();
        if hole || to.len() > MAX_SHAPE_KEY {
            let rename = move |sink: &mut Sink<'_, S>| {
                let key_cell = span(sink, to.as_bytes(), true)?;
                let (capacity, member) = (record.live() + 1, Member::Renamed(index, key_cell));
                become_map(sink, node.home(), record, capacity, to, member)
            };
            return self.carry_out(rename, NodeId::NONE);
        }
        let (used, private) = (record.used(), shape.is_private() && self.space.trusted);
        let private = private && shape.count == used;
        // A shape that only this record uses, or a new one.
        let rename = move |sink: &mut Sink<'_, S>| {
            let key_cell = key(sink, &renamed)?;
            let mut target = shape;
            if !private {
                target = new_shape(sink, record.capacity().max(used), 0);
                sink.write(|editor, _| {
                    let space = &mut editor.space;
                    target = shape::copy_keys(space, record.shape(), target, used);
                    record.set_shape(space, target.offset as u32);
                });
            }
            let fingerprint = renamed.fingerprint;
            sink.write(|editor, _| {
                shape::put_key(&mut editor.space, target, index, key_cell, fingerprint);
            });
            Ok(())
        };
        self.carry_out(rename, NodeId::NONE)?;
        if !private {
            shape::leave(&mut self.space, record.shape());
        }
        Ok(())
    }
}
