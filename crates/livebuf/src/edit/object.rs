//! Editing objects: records that gain, lose and rename fields, and become maps.

use super::{At, Container, Editor, New, NodeId, Slot, build_key, key_fresh};
use crate::block::map::{self, Map};
use crate::block::record::{Raw, Record, each_field};
use crate::block::shape::{self, Shape};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u32, load_u64};
use crate::format::cell::{Needle, owned_span, span_bytes, span_inline};
use crate::format::layout::*;
use crate::store::space::{Extent, Observer, Space};
use crate::store::storage::Storage;
use crate::view::Key;

/// What a key leads to in a record.
pub(super) enum Found {
    /// A field and its tag, which may be a hole's.
    Field(u32, u8),
    /// No field; the record's shape, where it has one.
    Nothing(Option<Shape>),
}

/// A planned field of a record, good until the document changes.
pub(super) struct FieldPlan {
    /// The record's capacity with the field.
    capacity: u32,
    step: shape::Step,
    /// Bytes of a new place for the record; 0 where it stays.
    moved: u64,
    /// Bytes to take, the value's apart.
    pub(super) fresh: u64,
    /// Bytes to extend the document by, whose last block the record is.
    pub(super) tail: u64,
}

/// Looks a key up in a record.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(super) fn find_member(bytes: &[u8], record: Record, at: At<'_>) -> Result<Found> {
    if record.used() == 0 {
        return Ok(Found::Nothing(None));
    }
    let shape = Shape::load(bytes, record.shape() as u64)?;
    let index = match at {
        At::Key(key) => shape.find(bytes, record.used(), &Needle::new(key.as_bytes()))?,
        At::Remembered(key) => {
            let guess = key.guessed(record.shape());
            if guess < record.used()
                && guess < shape.count
                && key.needle().is_at(bytes, shape.key_position(guess))?
            {
                Some(guess)
            } else {
                find_and_remember(bytes, record, shape, key)?
            }
        }
        At::Index(_) => None,
    };
    Ok(match index {
        Some(index) => Found::Field(index, load_u8(bytes, record.tag_position(index))?),
        None => Found::Nothing(Some(shape)),
    })
}

#[inline(never)]
fn find_and_remember(
    bytes: &[u8],
    record: Record,
    shape: Shape,
    key: &Key<'_>,
) -> Result<Option<u32>> {
    let found = shape.find(bytes, record.used(), key.needle())?;
    if let Some(index) = found {
        key.remember(record.shape(), index);
    }
    Ok(found)
}

/// Capacity of a record that holds `used` fields and gets another.
fn grown(used: u32) -> u32 {
    (used + (used / 2).max(4)).min(MAX_FIELDS as u32)
}

/// Entries to make room for in the map that a record becomes.
fn map_capacity(record: Record) -> u32 {
    record.live() + record.live() / 2 + 8
}

/// Most bytes that an index takes while `count` entries are put in one by one.
pub(super) fn index_limit(count: u32) -> u64 {
    let count = count as u64;
    // Split nodes are half full; a small root leaf grows through its sizes first.
    let nodes = count / 31 + count / (31 * 31) + 4;
    let small = node_size(7) + node_size(15) + node_size(31);
    nodes * node_size(NODE_SLOTS) as u64 + small as u64
}

/// Adds an entry to a map that has the room, its index nodes taken from `extent`.
/// A key that is there already (damaged bytes) is passed over.
pub(super) fn append<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: u64,
    key_cell: u64,
    tag: u8,
    cell: u64,
    extent: &mut Extent,
) {
    let inline = key_cell.to_le_bytes();
    let bytes = space.bytes();
    let key = match span_inline(key_cell) {
        Some(length) => Ok(&inline[..length]),
        None => span_bytes(bytes, key_cell, 0),
    };
    let Ok(map) = Map::load(bytes, map) else { return };
    if let Ok(map::Place::New(plan)) = key.and_then(|key| map::plan_insert(bytes, &map, key)) {
        map::insert(space, &map, &plan, key_cell, tag, cell, extent);
    }
}

impl<S: Storage, O: Observer> Editor<S, O> {
    pub(super) fn entry_slot(&self, map: Map, key: &str) -> Result<Option<Slot>> {
        let bytes = self.space.bytes();
        match map.find(bytes, &Needle::new(key.as_bytes()))? {
            Some(index) => {
                let entry = map.entry(bytes, index)?;
                Ok(Some(Slot::Tagged { tag: entry.tag_at, cell: entry.value }))
            }
            None => Ok(None),
        }
    }

    /// Puts a value where a removed one was.
    #[inline(never)]
    pub(super) fn fill_hole(
        &mut self,
        node: NodeId,
        record: Record,
        index: u32,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        let size = self.measure(&new, node)?;
        self.space.ensure(size, 0)?;
        let mut extent = self.space.take(size);
        let value = self.build(&new, &mut extent);
        self.space.finish(extent);
        record.fill(&mut self.space, index, value);
        Ok(value)
    }

    /// The common case of [`add_field`](Self::add_field): a number or text, and
    /// room for it in the record and at the end of its shape, which is the
    /// document's first where the record has none. `None` where this is not the
    /// case, or space or a limit is short; nothing has changed then.
    #[inline(never)]
    pub(super) fn append_field(
        &mut self,
        record: Record,
        shape: Option<Shape>,
        needle: &Needle<'_>,
        new: &New<'_>,
    ) -> Option<()> {
        let (used, capacity) = (record.used(), record.capacity());
        let bytes = self.space.bytes();
        let (room, made) = match shape {
            Some(shape) => {
                check(bytes, shape.offset, shape.size()).ok()?;
                (if used == shape.count { shape.capacity } else { 0 }, 0)
            }
            None if load_u32(bytes, HEADER_NEWEST_SHAPE as u64) == Ok(0) => {
                (capacity, shape_size(capacity) as u64)
            }
            None => return None,
        };
        let room = room.min(capacity).min(self.space.limits().elements);
        if used >= room || needle.text.len() > MAX_SHAPE_KEY {
            return None;
        }
        let (tag, text, mut cell) = match new {
            New::Str(text) if text.len() > MAX_INLINE => (TAG_STRING, text.as_bytes(), 0),
            New::Str(text) => (TAG_STRING, &[][..], Needle::new(text.as_bytes()).cell),
            other => other.immediate().map(|(tag, cell)| (tag, &[][..], cell))?,
        };
        let spans = self.measure_span(needle.text).ok()? + self.measure_span(text).ok()?;
        let fresh = made + spans;
        let mut extent = Extent::default();
        if fresh > 0 {
            self.space.ensure(fresh, 0).ok()?;
            extent = self.space.take(fresh);
        }

        let key_cell = self.build_span_cell(needle, &mut extent);
        let shape = match shape {
            Some(shape) => shape,
            None => shape::create(&mut self.space, capacity, 0, &mut extent),
        };
        shape::put_key(&mut self.space, shape, used, key_cell, needle.fingerprint);
        if !text.is_empty() {
            cell = build_key(&mut self.space, text, true, &mut extent);
        }
        record.append(&mut self.space, shape.offset as u32, (tag, cell));
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
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        let size = self.measure(&new, node)?;
        let plan = self.plan_field(record, shape, needle)?;
        let fresh = size + plan.fresh;
        self.space.ensure(fresh, plan.tail)?;
        self.space.extend(plan.tail);
        let mut extent = self.space.take(fresh);
        // The value first: a shape that it uses is among the newest now, as when it was
        // measured, and may not be once this record has made one.
        let value = self.build(&new, &mut extent);
        self.put_field(node.home, record, &plan, needle, value, &mut extent);
        self.space.finish(extent);
        Ok(value)
    }

    /// Plans another field of a record. Checks the limits on keys and members.
    pub(super) fn plan_field(
        &self,
        record: Record,
        shape: Option<Shape>,
        needle: &Needle<'_>,
    ) -> Result<FieldPlan> {
        self.check_elements(record.live() as u64 + 1)?;
        self.measure_span(needle.text)?;
        let (used, old_capacity) = (record.used(), record.capacity());
        let full = used == old_capacity;
        let capacity = if full { grown(used) } else { old_capacity };
        let step = shape::plan_step(self.space.bytes(), shape, used, needle, capacity)?;
        let key_size = if step.stores_key() { key_fresh(needle.text) } else { 0 };
        let (mut tail, mut moved) = (0, 0);
        if full {
            let grown = record_size(capacity) as u64;
            if record.offset as u64 + record.size() == self.space.used() as u64 {
                tail = grown - record.size();
            } else {
                moved = grown;
            }
        }
        Ok(FieldPlan { capacity, step, moved, fresh: step.fresh() + key_size + moved, tail })
    }

    /// Carries out what [`plan_field`](Self::plan_field) planned; the document was
    /// extended by the plan's tail.
    pub(super) fn put_field(
        &mut self,
        home: u32,
        record: Record,
        plan: &FieldPlan,
        needle: &Needle<'_>,
        value: (u8, u64),
        extent: &mut Extent,
    ) {
        let &FieldPlan { capacity, step, moved, .. } = plan;
        let used = record.used();
        let offset = if moved > 0 { extent.carve(moved) } else { record.offset };
        let key_cell = if step.stores_key() { self.build_span_cell(needle, extent) } else { 0 };
        let shape = shape::commit_step(
            &mut self.space,
            step,
            record.shape(),
            used,
            key_cell,
            needle.fingerprint,
            extent,
        );
        let grown = if moved > 0 {
            record.copy_to(&mut self.space, offset, capacity)
        } else {
            Record::new(offset, capacity, used, record.live(), shape)
        };
        grown.append(&mut self.space, shape, value);
        if moved > 0 {
            self.move_home(home, record.offset, record.size(), offset);
        }
    }

    /// A key's cell, its text stored where it is long; never owned.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(super) fn build_span_cell(&mut self, needle: &Needle<'_>, extent: &mut Extent) -> u64 {
        match needle.cell {
            0 => build_key(&mut self.space, needle.text, false, extent),
            cell => cell,
        }
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
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        let fresh = self.measure(&new, node)? + self.plan_as_map(record, key)?;
        self.space.ensure(fresh, 0)?;
        let mut extent = self.space.take(fresh);
        let value = self.build(&new, &mut extent);
        self.put_as_map(node.home, record, key, value, &mut extent);
        self.space.finish(extent);
        Ok(value)
    }

    /// Bytes that a record takes as a map with one more member, the value apart.
    pub(super) fn plan_as_map(&self, record: Record, key: &str) -> Result<u64> {
        self.check_elements(record.live() as u64 + 1)?;
        self.measure_span(key.as_bytes())?;
        self.check_keys(record)?;
        let index_size = map::index_size(record.live() as usize + 1);
        Ok(map::create_size(map_capacity(record)) + index_size + key_fresh(key.as_bytes()))
    }

    /// Carries out what [`plan_as_map`](Self::plan_as_map) planned.
    pub(super) fn put_as_map(
        &mut self,
        home: u32,
        record: Record,
        key: &str,
        (tag, cell): (u8, u64),
        extent: &mut Extent,
    ) {
        let map = map::create(&mut self.space, extent, map_capacity(record));
        let count = self.copy_fields(record, &map, None);
        let key_cell = build_key(&mut self.space, key.as_bytes(), true, extent);
        map::put_entry(&mut self.space, &map, count, key_cell, tag, cell);
        map::index(&mut self.space, &map, count + 1, extent);
        shape::leave(&mut self.space, record.shape());
        self.settle_map(home, record, map.at);
    }

    /// Reads what is read while a record becomes a map, which may not fail.
    fn check_keys(&self, record: Record) -> Result<()> {
        let bytes = self.space.bytes();
        if record.used() == 0 {
            return Ok(());
        }
        let shape = Shape::load(bytes, record.shape() as u64)?;
        each_field(bytes, record, |index, _| shape.key(bytes, index).map(|_| ()))
    }

    /// Copies a record's fields to the entries of an empty map that has room; how many.
    /// Keys' text stays the shape's: shared, not owned. One key may be another.
    fn copy_fields(&mut self, record: Record, map: &Map, renamed: Option<(u32, u64)>) -> u32 {
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
                let key_cell = match renamed {
                    Some((renamed, key_cell)) if renamed == index => key_cell,
                    _ => load_u64(bytes, shape.key_position(index)).unwrap_or(0),
                };
                map::put_entry(&mut self.space, map, count, key_cell, raw.tag, raw.cell);
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

    /// Sets or adds a map's entry: one way down the index for both.
    pub(super) fn set_entry(
        &mut self,
        node: NodeId,
        map: Map,
        key: &str,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        let bytes = self.space.bytes();
        let plan = match map::plan_insert(bytes, &map, key.as_bytes())? {
            map::Place::New(plan) => plan,
            map::Place::Found(number) => {
                let entry = map.entry(bytes, number)?;
                return self.replace(entry.tag_at, entry.value, new, node);
            }
        };
        let size = self.measure(&new, node)?;
        self.measure_span(key.as_bytes())?;
        self.check_elements(map.live as u64 + 1)?;
        let fresh = plan.fresh() + key_fresh(key.as_bytes()) + size;
        let mut spare = if self.space.trusted { plan.spare() } else { 0 };
        if spare > 0 && self.space.ensure(fresh + spare, plan.tail()).is_err() {
            spare = 0;
        }
        if spare == 0 {
            self.space.ensure(fresh, plan.tail())?;
        }

        self.space.extend(plan.tail());
        plan.claim(&mut self.space, &map);
        let mut extent = self.space.take(fresh + spare).with_spare(spare);
        let key_cell = build_key(&mut self.space, key.as_bytes(), true, &mut extent);
        let (tag, cell) = self.build(&new, &mut extent);
        map::insert(&mut self.space, &map, &plan, key_cell, tag, cell, &mut extent);
        self.space.finish(extent);
        Ok((tag, cell))
    }

    /// Takes a field out, leaving a hole.
    pub(super) fn take_field(&mut self, record: Record, at: At<'_>) -> Result<Option<Raw>> {
        let bytes = self.space.bytes();
        let Found::Field(index, _) = find_member(bytes, record, at)? else { return Ok(None) };
        let raw = record.field(bytes, index)?;
        if raw.tag == TAG_HOLE {
            return Ok(None);
        }
        if record.take(&mut self.space, index) {
            shape::leave(&mut self.space, record.shape());
        }
        Ok(Some(raw))
    }

    pub(super) fn take_entry(&mut self, map: Map, key: &str) -> Result<Option<Raw>> {
        let bytes = self.space.bytes();
        let Some(plan) = map::plan_remove(bytes, &map, key.as_bytes())? else { return Ok(None) };
        let raw = plan.entry.load(bytes)?;
        let key_cell = load_u64(bytes, plan.entry.key)?;
        map::remove(&mut self.space, &map, &plan);
        if let Some((offset, length)) = owned_span(key_cell) {
            self.space.free_span(offset as u64, length as u64);
        }
        Ok(Some(raw))
    }

    pub(super) fn reserve_entries(&mut self, map: Map, additional: u32) -> Result<()> {
        let bytes = self.space.bytes();
        self.check_elements(map.live as u64 + additional as u64)?;
        let growth = map::plan_reserve(bytes, map.at, additional)?;
        self.space.ensure(growth.fresh, growth.tail)?;
        map::reserve(&mut self.space, map.at, &growth);
        Ok(())
    }

    pub(super) fn clear_record(&mut self, record: Record) {
        self.release_fields(record);
        record.clear(&mut self.space);
    }

    pub(super) fn clear_map(&mut self, map: Map) {
        self.release_entries(map.at as u32);
        map::free_body(&mut self.space, map.at);
        let words = map.at + MAP_LIVE as u64;
        self.space.zero(words, (MAP_SIZE - MAP_LIVE) as u64);
    }

    /// Gives a member another key; it keeps its place in the order, but for rows of
    /// tables: there it comes where the other key has its column, or last.
    ///
    /// In a record whose shape others use, this makes a shape of its own.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where `from` is not there, [`ErrorKind::KeyExists`]
    /// where `to` is, [`ErrorKind::WrongType`], [`ErrorKind::StaleHandle`], limits and space.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"id": 7, "nmae": "x"});
    /// let root = doc.root_id().unwrap();
    /// doc.rename(root, "nmae", "name")?;
    /// assert_eq!(format!("{:?}", doc.doc().root().as_object()?.unwrap()), r#"{"id": 7, "name": "x"}"#);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn rename(&mut self, node: NodeId, from: &str, to: &str) -> Result<()> {
        self.space.editable()?;
        let node = self.enter(node)?;
        let renamed = self.rename_fresh(node, from, to);
        self.finish();
        renamed
    }

    /// [`rename`](Self::rename) by a fresh handle.
    pub(super) fn rename_fresh(&mut self, node: NodeId, from: &str, to: &str) -> Result<()> {
        self.measure_span(to.as_bytes())?;
        let container = self.container(node)?;
        if self.slot(container, At::Key(from))?.is_none() {
            return Err(Error::new(ErrorKind::NotFound, 0));
        }
        if from == to {
            return Ok(());
        }
        if self.slot(container, At::Key(to))?.is_some() {
            return Err(Error::new(ErrorKind::KeyExists, 0));
        }
        match container {
            Container::Map(map) => self.rename_entry(map, from, to),
            Container::Record(record) => self.rename_field(node, record, from, to),
            Container::Row(table, row) => {
                self.trusting(|editor| editor.rename_in_row(node, table, row, from, to))
            }
            Container::Array(_) | Container::Listed(..) => Err(Error::new(ErrorKind::WrongType, 0)),
        }
    }

    fn rename_entry(&mut self, map: Map, from: &str, to: &str) -> Result<()> {
        let bytes = self.space.bytes();
        let missing = || Error::new(ErrorKind::NotFound, 0);
        let number = map.find(bytes, &Needle::new(from.as_bytes()))?;
        let number = number.ok_or_else(missing)?;
        let entry = map.entry(bytes, number)?;
        let old_key = load_u64(bytes, entry.key)?;
        let map::RenamePlace::New(plan) = map::plan_rename(bytes, &map, number, to.as_bytes())?
        else {
            return Err(Error::new(ErrorKind::KeyExists, 0));
        };
        let fresh = plan.fresh() + key_fresh(to.as_bytes());
        self.space.ensure(fresh, 0)?;
        let mut extent = self.space.take(fresh);
        let key_cell = build_key(&mut self.space, to.as_bytes(), true, &mut extent);
        map::rename(&mut self.space, &plan, to.as_bytes(), key_cell, &mut extent);
        self.space.finish(extent);
        if let Some((offset, length)) = owned_span(old_key) {
            self.space.free_span(offset as u64, length as u64);
        }
        Ok(())
    }

    fn rename_field(&mut self, node: NodeId, record: Record, from: &str, to: &str) -> Result<()> {
        let bytes = self.space.bytes();
        let needle = Needle::new(from.as_bytes());
        let shape = Shape::load(bytes, record.shape() as u64)?;
        let index = shape.find(bytes, record.used(), &needle)?;
        let Some(index) = index else { return Err(Error::new(ErrorKind::NotFound, 0)) };
        let renamed = Needle::new(to.as_bytes());
        // A hole of the new name, or a name too long for shapes, takes a map to hold.
        let hole = shape.find(bytes, record.used(), &renamed)?.is_some();
        if hole || to.len() > MAX_SHAPE_KEY {
            return self.rename_as_map(node, record, index, to);
        }
        let (used, private) = (record.used(), shape.is_private() && self.space.trusted);
        let private = private && shape.count == used;
        let capacity = record.capacity().max(used);
        let copied = if private { 0 } else { shape_size(capacity) as u64 };
        let fresh = key_fresh(to.as_bytes()) + copied;
        self.space.ensure(fresh, 0)?;
        let mut extent = self.space.take(fresh);
        let key_cell = build_key(&mut self.space, to.as_bytes(), false, &mut extent);
        let target = if private {
            shape
        } else {
            let target = shape::create(&mut self.space, capacity, 0, &mut extent);
            let target = shape::copy_keys(&mut self.space, record.shape(), target, used);
            record.set_shape(&mut self.space, target.offset as u32);
            target
        };
        shape::put_key(&mut self.space, target, index, key_cell, renamed.fingerprint);
        self.space.finish(extent);
        if !private {
            shape::leave(&mut self.space, record.shape());
        }
        Ok(())
    }

    fn rename_as_map(&mut self, node: NodeId, record: Record, at: u32, to: &str) -> Result<()> {
        let capacity = record.live() + 1;
        let index_size = map::index_size(record.live() as usize);
        let fresh = map::create_size(capacity) + index_size + key_fresh(to.as_bytes());
        self.check_keys(record)?;
        self.space.ensure(fresh, 0)?;
        let mut extent = self.space.take(fresh);
        let map = map::create(&mut self.space, &mut extent, capacity);
        let key_cell = build_key(&mut self.space, to.as_bytes(), true, &mut extent);
        let count = self.copy_fields(record, &map, Some((at, key_cell)));
        map::index(&mut self.space, &map, count, &mut extent);
        self.space.finish(extent);
        shape::leave(&mut self.space, record.shape());
        self.settle_map(node.home, record, map.at);
        Ok(())
    }
}
