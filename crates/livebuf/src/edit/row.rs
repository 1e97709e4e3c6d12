//! Rows of tables. Their fields are slots of columns. Further fields are in an object of the row's
//! own, which the table's extras lead to (FORMAT 6.3, EDITING 9).

use super::column::{ColumnEdit, ColumnPlace, hang, keep, replace, reserve_extras};
use super::dissolve::store;
use super::editor::{Container, Editor};
use super::feed::Put;
use super::handles::NodeId;
use super::member::{FieldLookup, find_member};
use super::new::{At, New};
use super::object::{NewField, grow_map, put_as_map, put_entry, put_field};
use super::parts::{add_entry, key, new_map, span};
use super::sink::Sink;
use crate::block::column::{row_cell, row_of};
use crate::block::map;
use crate::block::record::{Raw, Record};
use crate::block::shape::{self, Shape};
use crate::block::table::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::Needle;
use crate::format::layout::*;
use crate::store::storage::Storage;
use crate::view::{Checked, Object};

/// Capacity of the record with the first further field of a row.
const EXTRA_CAPACITY: u32 = 4;

// --- further fields ---------------------------------------------------------

/// Where the shape of the record with a row's first further field comes from, planned before
/// anything changes; `None` where the key takes a map.
type ExtraPlan = Option<shape::ShapeStep>;

/// Stores the first further field of a row as planned.
fn put_extra<S: Storage>(
    sink: &mut Sink<'_, S>,
    table: Table,
    row: u32,
    plan: ExtraPlan,
    needle: &Needle<'_>,
    value: (u8, u64),
) -> Result<()> {
    reserve_extras(sink, table, 1)?;
    let home = if let Some(step) = plan {
        let home = sink.carve(record_size(EXTRA_CAPACITY) as u64);
        let key_cell = if step.stores_key() { key(sink, needle)? } else { 0 };
        sink.set_aside(step.fresh());
        sink.write(|editor, extent| {
            let (space, fingerprint) = (&mut editor.space, needle.fingerprint);
            let shape = shape::commit_step(space, step, 0, 0, key_cell, fingerprint, extent);
            Record::new(home, EXTRA_CAPACITY, 0, 0, shape).append(space, shape, value);
        });
        home
    } else {
        let map = new_map(sink, 8, 1);
        let key_cell = span(sink, needle.text, true)?;
        add_entry(sink, map, key_cell, value);
        map
    };
    sink.try_write(|editor, _| editor.insert_extra(table, row, home))
}

// --- renaming ---------------------------------------------------------------

/// Where a renamed field of a row goes, planned before anything changes.
enum Target {
    Column(ColumnPlace),
    /// The row's first further field.
    First(ExtraPlan),
    /// A hole of that key in the record with the row's further fields.
    Hole(Record, u32),
    /// A new field of that record, which is at this home.
    Field(u32, Record, NewField),
    /// The same record, which becomes a map.
    NewMap(u32, Record),
    /// The map with the row's further fields.
    Entry(map::Map, map::InsertPlan),
}

/// A field of a row gets another key: it is taken out, and stored under the other one.
struct Rename<'k> {
    table: Table,
    row: u32,
    /// The field's value.
    raw: Raw,
    from: &'k str,
    to: &'k str,
    /// The field's column; `None` where it is a further field.
    source: Option<u32>,
    target: Target,
}

impl Rename<'_> {
    fn run<S: Storage>(&self, sink: &mut Sink<'_, S>) -> Result<()> {
        let (table, row) = (self.table, self.row);
        // The map of a target grows before anything is taken.
        if let Target::Entry(map, plan) = &self.target {
            grow_map(sink, map, plan);
        }
        let (tag, cell) = keep(sink, self.raw, true)?;
        match self.source {
            Some(index) => {
                replace(sink, ColumnPlace::column(table, index), row, Put::Missing, false)?;
            }
            None => {
                sink.try_write(|editor, _| editor.take_further(table, row, self.from).map(|_| ()))?;
            }
        }
        let needle = Needle::new(self.to.as_bytes());
        match &self.target {
            Target::Column(place) => {
                let put = Put::Here(Raw::unplaced(tag, cell));
                replace(sink, *place, row, put, false)?;
            }
            Target::First(plan) => put_extra(sink, table, row, *plan, &needle, (tag, cell))?,
            Target::Hole(record, index) => {
                sink.write(|editor, _| record.fill(&mut editor.space, *index, (tag, cell)));
            }
            Target::Field(home, record, field) => {
                put_field(sink, *home, *record, *field, &needle, (tag, cell))?;
            }
            Target::Entry(map, plan) => {
                let key_cell = span(sink, needle.text, true)?;
                put_entry(sink, map, plan, key_cell, (tag, cell));
            }
            Target::NewMap(home, record) => {
                put_as_map(sink, *home, *record, self.to, (tag, cell))?;
            }
        }
        Ok(())
    }
}

impl Target {
    /// The same, with no shape that others use.
    fn alone(self) -> Target {
        match self {
            Target::First(Some(step)) => Target::First(Some(step.alone(0, 0, EXTRA_CAPACITY))),
            Target::Field(home, record, field) => {
                let step = field.step.alone(record.shape(), record.used(), field.capacity);
                Target::Field(home, record, NewField { step, ..field })
            }
            other => other,
        }
    }
}

impl<S: Storage> Editor<S> {
    // --- fields -------------------------------------------------------------

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
        let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
        let found = shape.find_in_any(bytes, table.columns, &needle)?;
        let fields = || {
            Object::of(Checked, bytes, row_cell(table.offset, row))
                .map(|object| object.len() as u64)
        };
        if let Some(index) = found {
            if table.field(bytes, row, index)?.tag == TAG_HOLE {
                self.check_elements(fields()? + 1)?;
            }
            self.measure(&new, node)?;
            return self.change(ColumnEdit::Set {
                place: ColumnPlace::column(table, index),
                slot: row,
                new,
            });
        }
        match table.extra(bytes, row)? {
            0 => {
                self.check_elements(fields()? + 1)?;
                self.add_extra(node, table, row, &needle, new)
            }
            home => {
                let container = self.extra_object(home)?;
                // The limit is that of the row, and not of this object.
                let held = match &container {
                    Container::Map(map) => map.live,
                    Container::Record(record) => record.live(),
                    _ => 0,
                };
                let most = u64::from(table.columns) + u64::from(held) + 1;
                if most > u64::from(self.space.limits().elements) {
                    let bytes = self.space.bytes();
                    let object = Object::of(Checked, bytes, row_cell(table.offset, row))?;
                    if object.get(key)?.is_none() {
                        self.check_elements(object.len() as u64 + 1)?;
                    }
                }
                let extra = self.handles.give(home, 0, node.depth());
                // The edit is about the row, not about this object.
                self.handles.keep(node, node);
                match container {
                    Container::Map(map) => {
                        let found = map::look_up(self.space.bytes(), map.at as u32, key.as_bytes());
                        self.set_entry(extra, &map, found, key, &new)
                    }
                    Container::Record(record) => {
                        let value = self.set_field(extra, record, At::Key(key), &new)?;
                        Ok(value.unwrap_or((TAG_NULL, 0)))
                    }
                    _ => Err(Error::new(ErrorKind::WrongType, 0)),
                }
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
        self.measure(&new, node)?;
        let plan = self.plan_extra(needle)?;
        let add = |sink: &mut Sink<'_, S>| {
            let value = store(sink, &Put::new(new))?;
            put_extra(sink, table, row, plan, needle, value)?;
            hang(sink, &new);
            Ok(value)
        };
        self.carry_out(add, NodeId::NONE)
    }

    /// Plans the first further field of a row.
    fn plan_extra(&self, needle: &Needle<'_>) -> Result<ExtraPlan> {
        self.check_length(needle.text)?;
        if needle.text.len() > MAX_SHAPE_KEY {
            return Ok(None);
        }
        shape::plan_step(self.space.bytes(), None, 0, needle, EXTRA_CAPACITY).map(Some)
    }

    /// Takes a field out of a row. `keeps`: its value becomes one by itself, else it is freed.
    pub(super) fn take_from_row(
        &mut self,
        table: Table,
        row: u32,
        key: &str,
        keeps: bool,
    ) -> Result<Option<Raw>> {
        let bytes = self.space.bytes();
        let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
        let found = shape.find_in_any(bytes, table.columns, &Needle::new(key.as_bytes()))?;
        let Some(index) = found else { return self.take_further(table, row, key) };
        if table.field(bytes, row, index)?.tag == TAG_HOLE {
            return Ok(None);
        }
        let place = ColumnPlace::column(table, index);
        let edit = ColumnEdit::Empty { place, slot: row, put: Put::Missing, keeps };
        let (tag, cell) = self.change(edit)?;
        Ok(Some(Raw::unplaced(tag, cell)))
    }

    /// Takes a further field out of a row.
    fn take_further(&mut self, table: Table, row: u32, key: &str) -> Result<Option<Raw>> {
        let bytes = self.space.bytes();
        let home = table.extra(bytes, row)?;
        if home == 0 {
            return Ok(None);
        }
        match self.extra_object(home)? {
            Container::Map(map) => self.take_entry(map, key, true),
            Container::Record(record) => self.take_field(record, At::Key(key)),
            _ => Ok(None),
        }
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
        let raw = match self.slot_in_row(table, row, At::Key(from))? {
            Some(slot) => self.load(slot)?,
            None => return Err(Error::new(ErrorKind::NotFound, 0)),
        };
        let bytes = self.space.bytes();
        let needle = Needle::new(to.as_bytes());
        let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
        let source = shape.find_in_any(bytes, table.columns, &Needle::new(from.as_bytes()))?;
        let target = shape.find_in_any(bytes, table.columns, &needle)?;
        if (source, target) == (None, None) {
            let home = table.extra(bytes, row)?;
            let container = self.extra_object(home)?;
            let extra = self.handles.give(home, 0, node.depth());
            return self.rename_member(extra, container, from, to);
        }
        self.check_trust()?;
        let target = match target {
            Some(index) => Target::Column(ColumnPlace::column(table, index)),
            None => self.plan_further(table, row, &needle, to)?,
        };
        // Rows become objects by themselves, whose further fields give up their shapes.
        let nested = raw.tag > TAG_SPAN_LAST && row_of(raw.cell).is_some();
        let target = if nested { target.alone() } else { target };
        let rename = Rename { table, row, raw, from, to, source, target };
        self.carry_out(|sink| rename.run(sink), NodeId::NONE)
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
            return Ok(Target::First(self.plan_extra(needle)?));
        }
        let record = match self.extra_object(home)? {
            Container::Map(map) => {
                self.check_length(key.as_bytes())?;
                self.check_elements(map.live as u64 + 1)?;
                return match map::plan_insert(bytes, &map, key.as_bytes())? {
                    map::InsertPlace::New(plan) => Ok(Target::Entry(map, plan)),
                    map::InsertPlace::Found(_) => Err(Error::new(ErrorKind::KeyExists, 0)),
                };
            }
            Container::Record(record) => record,
            _ => return Err(Error::new(ErrorKind::WrongBlock, home.into())),
        };
        let FieldLookup { field, shape } = find_member(bytes, record, At::Key(key), needle)?;
        if let Some((index, _)) = field {
            return Ok(Target::Hole(record, index));
        }
        if key.len() > MAX_SHAPE_KEY || record.used() == MAX_FIELDS as u32 {
            return Ok(Target::NewMap(home, record));
        }
        Ok(Target::Field(home, record, self.new_field(record, shape, needle)?))
    }
}
