//! Whole values: measuring and copying subtrees, freeing them, hanging them elsewhere.

use super::object::{append, index_limit};
use super::{Editor, Event, NodeId, build_key, key_fresh};
use crate::block::absent::{self, Blanks};
use crate::block::column::{ColumnType, Elements, row_of};
use crate::block::list::List;
use crate::block::map;
use crate::block::nested::worth;
use crate::block::owner::Owner;
use crate::block::record::{Raw, Record, check_immediate, each_field};
use crate::block::shape::{self, Shape};
use crate::block::table::{Table, extra, extra_entry};
use crate::block::walk::{Allowance, CHUNK, Cursor, Node, check_further, holds_references};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u64, slice, text};
use crate::format::cell::{Needle, owned_span, span_at_position, span_bytes, span_offset};
use crate::format::layout::*;
use crate::format::number::is_json_number;
use crate::store::space::{Extent, Observer, Space};
use crate::store::storage::Storage;
use crate::view::Value;
use core::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// A value taken out of its place by [`Editor::detach`], still whole in the document.
///
/// Setting, pushing or inserting `&detached` hangs it in its new place, once; while that
/// fails (for want of space, say), it stays what it is and can be hung elsewhere.
#[derive(Debug)]
#[must_use = "a detached value is garbage until it is set somewhere or discarded"]
pub struct Detached {
    raw: Raw,
    /// Of the editor's handles, which compaction ends.
    generation: u32,
    /// Containers on the way from the root to where it hung, itself included.
    depth: u16,
    /// How deep it reaches where it is to hang; 0 if no deeper than before.
    reaches: AtomicU16,
    /// It hangs in the document again.
    spent: AtomicBool,
}

impl Detached {
    pub(super) fn new(raw: Raw, generation: u32, depth: u16) -> Self {
        let (reaches, spent) = (AtomicU16::new(0), AtomicBool::new(false));
        Detached { raw, generation, depth, reaches, spent }
    }

    pub(super) fn raw(&self) -> Raw {
        self.raw
    }

    /// Checks that it can be hung in the container `under` ([`NodeId::NONE`]: the root);
    /// how many containers it nests.
    pub(super) fn measure<S: Storage, O: Observer>(
        &self,
        editor: &Editor<S, O>,
        under: NodeId,
    ) -> Result<u16> {
        let spent = self.spent.load(Ordering::Relaxed);
        if spent || self.generation != editor.handles.generation {
            return Err(Error::new(ErrorKind::StaleHandle, self.raw.position.into()));
        }
        if self.raw.tag <= TAG_SPAN_LAST {
            return Ok(0);
        }
        let mut measure = Measure::new(editor.as_bytes(), editor.space.limits());
        measure.avoid = Some(under.home);
        let height = measure.node(self.raw, 0, false)?;
        let deeper = under.depth.saturating_add(1) > self.depth;
        let reaches = if deeper { under.depth.saturating_add(height) } else { 0 };
        self.reaches.store(reaches, Ordering::Relaxed);
        Ok(height)
    }
}

/// Shapes of the other document that were met lately, and what became of them here.
/// The same order of calls when measuring and copying gives the same answers.
struct Recent {
    /// (source shape, fields used, shape here)
    shapes: [(u32, u32, u32); 16],
    next: usize,
}

impl Recent {
    const fn new() -> Self {
        Recent { shapes: [(0, 0, 0); 16], next: 0 }
    }

    /// A record's shape can be taken as it is where no field is a hole.
    fn get(&self, record: Record) -> Option<u32> {
        let whole = record.used() == record.live();
        self.shapes
            .iter()
            .find(|&&(from, used, _)| whole && from == record.shape() && used == record.used())
            .map(|&(_, _, to)| to)
    }

    fn put(&mut self, record: Record, to: u32) {
        if record.used() == record.live() {
            self.shapes[self.next % 16] = (record.shape(), record.used(), to);
            self.next += 1;
        }
    }
}

/// Upper bound of the bytes a copy takes, and its height. Checks text, depth and budget.
#[inline(never)]
pub(super) fn measure(value: &Value<'_>, limits: &Limits) -> Result<(u64, u16)> {
    let mut measure = Measure::new(value.document(), limits);
    let height = match value.raw().tag {
        ..=TAG_SPAN_LAST => measure.scalar(value.raw()).map(|()| 0)?,
        _ => measure.node(value.raw(), 0, false)?,
    };
    Ok((measure.size, height))
}

/// Bytes of a copy for each byte of the document it is from, at most.
const COPY_FACTOR: u64 = 256;

struct Measure<'v> {
    bytes: &'v [u8],
    limits: &'v Limits,
    allowance: Allowance,
    size: u64,
    recent: Recent,
    /// A home that must not be met; only depth counts then.
    avoid: Option<u32>,
}

impl<'v> Measure<'v> {
    fn new(bytes: &'v [u8], limits: &'v Limits) -> Self {
        let allowance = Allowance::new(bytes, limits.budget);
        Measure { bytes, limits, allowance, size: 0, recent: Recent::new(), avoid: None }
    }

    fn check_length(&self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > self.limits.string as usize {
            let limit = self.limits.string as u64;
            return Err(Error::with_detail(ErrorKind::StringLimit, 0, limit));
        }
        Ok(())
    }

    fn scalar(&mut self, raw: Raw) -> Result<()> {
        if self.avoid.is_some() {
            return Ok(());
        }
        self.allowance.value()?;
        if raw.tag <= TAG_IMMEDIATE_LAST {
            return check_immediate(raw);
        }
        let bytes = span_bytes(self.bytes, raw.cell, raw.position as u64)?;
        let offset = span_offset(raw.cell, raw.position);
        self.allowance.text(bytes.len())?;
        self.check_length(bytes)?;
        if raw.tag == TAG_STRING {
            text(bytes, offset)?;
        }
        if raw.tag == TAG_NUMBER && !is_json_number(bytes) {
            return Err(Error::new(ErrorKind::BadNumber, offset));
        }
        self.size += key_fresh(bytes);
        Ok(())
    }

    /// How deep the containers nest, `above` containers included. `inside`: the node is a
    /// row of what was measured.
    fn node(&mut self, raw: Raw, above: u16, inside: bool) -> Result<u16> {
        let mut stack = [(Cursor::NONE, false); CHUNK];
        stack[0] = self.enter(raw, above, inside)?;
        let (mut depth, mut highest) = (1, above + 1);
        while depth > 0 {
            let (cursor, inside) = &mut stack[depth - 1];
            let inside = *inside;
            let Some((_, raw)) = cursor.next(self.bytes)? else {
                depth -= 1;
                continue;
            };
            if raw.tag <= TAG_SPAN_LAST {
                self.scalar(raw)?;
            } else if depth < CHUNK {
                stack[depth] = self.enter(raw, above + depth as u16, inside)?;
                depth += 1;
                highest = highest.max(above + depth as u16);
            } else {
                highest = highest.max(self.node(raw, above + depth as u16, inside)?);
            }
        }
        Ok(highest)
    }

    /// Where damaged values alias, the sum may exceed any document. In a valid one nine bytes
    /// of a record take most: a key, a shape's place and shared text, all by themselves.
    fn check_size(&self) -> Result<()> {
        let most = COPY_FACTOR * self.bytes.len() as u64;
        if self.size > most {
            return Err(Error::with_detail(ErrorKind::BudgetExceeded, 0, most));
        }
        Ok(())
    }

    /// Counts a container itself; its children are to come, and whether they are inside
    /// where they are rows.
    fn enter(&mut self, raw: Raw, above: u16, inside: bool) -> Result<(Cursor, bool)> {
        if self.avoid == Some(raw.cell as u32) {
            return Err(Error::new(ErrorKind::Unsupported, raw.cell & 0xFFFF_FFFF));
        }
        if above >= self.limits.nesting {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, self.limits.nesting as u64));
        }
        self.check_size()?;
        let cursor = Cursor::references(self.bytes, raw)?;
        self.allowance.container(cursor.places(self.bytes)?)?;
        let row = row_of(raw.cell).is_some();
        let inside = !row || inside;
        match cursor.node {
            Node::Record(record) => self.record(record)?,
            Node::Map(offset) => self.map(offset)?,
            Node::Row(..) if !inside => self.row(raw)?,
            Node::Row(table, row) => self.extra(table, row)?,
            Node::Array(elements) if row && !inside => {
                let (column, gaps) = (elements.column.plain(), elements.gaps);
                check_gaps(elements, false)?;
                absent::check(self.bytes, elements, None)?;
                self.size += ARRAY_SIZE as u64 + column.slots_size(gaps, elements.count);
            }
            Node::Array(elements) if !row => {
                self.size += ARRAY_SIZE as u64;
                self.column(elements, false, None, 0)?;
                worth(self.bytes, elements)?;
            }
            Node::Array(_) => {}
        }
        Ok((cursor, inside))
    }

    /// Counts a column's data with all that belongs to it, and checks what copying it
    /// relies on.
    fn column(
        &mut self,
        column: Elements,
        in_table: bool,
        blanks: Option<Blanks>,
        depth: usize,
    ) -> Result<()> {
        let bad = |kind| Err(Error::new(kind, column.offset as u64));
        check_gaps(column, in_table)?;
        self.check_size()?;
        // Damaged columns may lead to their own table: each of them is paid for.
        self.allowance.key(ARRAY_SIZE as usize)?;
        column.whole(self.bytes)?;
        let (count, gaps) = (column.count, column.gaps);
        if !column.column.is_nested() {
            self.size += column.column.slots_size(gaps, count);
            return absent::check(self.bytes, column, blanks);
        }
        if depth == MAX_COLUMN_DEPTH {
            return bad(ErrorKind::NestingLimit);
        }
        self.size += gaps_size(gaps, count as u64);
        if gaps == GAPS_NONE && column.capacity != count {
            return bad(ErrorKind::BadCount);
        }
        let bits = column.bits_at(self.bytes)?;
        slice(self.bytes, bits, gaps_size(gaps, column.capacity as u64))?;
        if column.column != ColumnType::Struct {
            return self.list(column, blanks, depth);
        }
        absent::check(self.bytes, column, blanks)?;
        let blanks = Blanks::below(column, 1, blanks);
        let table = Table::load(self.bytes, column.data)?;
        self.size += table.size() + shape_size(table.columns) as u64;
        let shape = Shape::load(self.bytes, table.shape as u64)?;
        if table.rows != count || table.columns == 0 || table.columns > shape.count {
            return bad(ErrorKind::BadCount);
        }
        for index in 0..table.columns {
            self.key(shape, index)?;
            let below = table.column(self.bytes, index)?;
            if below.count != count || below.bare {
                return bad(ErrorKind::BadCount);
            }
            self.column(below, true, blanks, depth + 1)?;
        }
        if let Some(extras) = table.extras(self.bytes)? {
            self.size += ARRAY_SIZE as u64 + ColumnType::U64.data_size(extras.count);
            extras.whole(self.bytes)?;
            let mut next = 0;
            for index in 0..extras.count {
                let (row, home) = extra(extras.slot(self.bytes, index)?);
                let known = row >= next && row < table.rows;
                if !known || absent::is_blank(self.bytes, blanks, row)? {
                    return Err(Error::new(ErrorKind::BadIndex, extras.offset as u64));
                }
                check_further(self.bytes, table, home)?;
                next = row + 1;
            }
        }
        Ok(())
    }

    fn list(&mut self, column: Elements, blanks: Option<Blanks>, depth: usize) -> Result<()> {
        let list = List::load(self.bytes, column.data)?;
        if list.length.is_some() != (column.column == ColumnType::FixedList) {
            return Err(Error::new(ErrorKind::BadCode, list.offset as u64));
        }
        self.size += list.size();
        let child = list.child(self.bytes)?;
        let mut end = match list.length {
            Some(length) => length as u64 * column.count as u64,
            None => 0,
        };
        if list.length.is_none() {
            let offsets = list.offsets(self.bytes)?.whole(self.bytes)?;
            if offsets.count as u64 != column.count as u64 + 1 {
                return Err(Error::new(ErrorKind::BadCount, offsets.offset as u64));
            }
            for index in 0..offsets.count {
                let next = offsets.slot(self.bytes, index)?.cell;
                if next < end || index == 0 && next != 0 {
                    return Err(Error::new(ErrorKind::BadIndex, offsets.offset as u64));
                }
                end = next;
            }
            self.size += offsets.column.data_size(offsets.count);
        }
        if child.bare || child.count as u64 != end {
            return Err(Error::new(ErrorKind::BadCount, child.offset as u64));
        }
        absent::check(self.bytes, column, blanks)?;
        let blanks = Blanks::below(column, list.length.unwrap_or(1), blanks);
        self.column(child, false, blanks, depth + 1)
    }

    /// Counts the record or map that a row becomes by itself.
    fn row(&mut self, raw: Raw) -> Result<()> {
        let mut cursor = Cursor::new(self.bytes, raw)?;
        let Node::Row(table, row) = cursor.node else {
            return Err(Error::new(ErrorKind::WrongBlock, raw.cell & 0xFFFF_FFFF));
        };
        let shape = Shape::load(self.bytes, table.shape as u64)?;
        let (mut live, mut keys, mut record) = (0, 0, true);
        while let Some((index, _)) = cursor.next(self.bytes)? {
            let key = cursor.key(self.bytes, index)?.unwrap_or_default();
            self.check_length(key)?;
            text(key, raw.cell & 0xFFFF_FFFF)?;
            if index < table.columns
                && shape.find(self.bytes, shape.count, &Needle::new(key))? != Some(index)
            {
                return Err(Error::new(ErrorKind::DuplicateKey, shape.offset));
            }
            record &= key.len() <= MAX_SHAPE_KEY;
            keys += key_fresh(key);
            live += 1;
        }
        let further = table.extra(self.bytes, row)?;
        if further != 0 {
            check_further(self.bytes, table, further)?;
            if record && live as usize <= MAX_FIELDS {
                distinct(self.bytes, further)?;
            }
        }
        self.size += keys
            + if record && live as usize <= MAX_FIELDS {
                record_size(live) as u64 + shape_size(live) as u64
            } else {
                map::create_size(live) + index_limit(live)
            };
        Ok(())
    }

    /// Counts the object with a row's further fields.
    fn extra(&mut self, table: Table, row: u32) -> Result<()> {
        let home = table.extra(self.bytes, row)?;
        if home == 0 {
            return Ok(());
        }
        match Node::of(self.bytes, Raw::object(home))? {
            Node::Map(offset) => self.map(offset),
            Node::Record(record) => self.record(record),
            _ => Err(Error::new(ErrorKind::WrongBlock, home as u64)),
        }
    }

    fn record(&mut self, record: Record) -> Result<()> {
        let mut live = 0;
        each_field(self.bytes, record, |_, _| {
            live += 1;
            Ok(())
        })?;
        if live != record.live() {
            return Err(Error::new(ErrorKind::BadCount, record.offset as u64));
        }
        self.size += record_size(live) as u64;
        if record.used() == 0 || self.avoid.is_some() {
            return Ok(());
        }
        let shape = Shape::load(self.bytes, record.shape() as u64)?;
        if record.used() > shape.count {
            return Err(Error::new(ErrorKind::BadCount, record.offset as u64));
        }
        if self.recent.get(record).is_some() {
            return Ok(());
        }
        self.size += shape_size(live) as u64;
        // Keys of holes are not copied.
        let bytes = self.bytes;
        each_field(bytes, record, |index, _| self.key(shape, index))?;
        self.recent.put(record, 1);
        Ok(())
    }

    /// Checks a shape's key, and counts its text.
    fn key(&mut self, shape: Shape, index: u32) -> Result<()> {
        let key = shape.key(self.bytes, index)?;
        self.allowance.key(key.len() + MAX_INLINE)?;
        self.check_length(key)?;
        text(key, shape.offset)?;
        if key.len() > MAX_SHAPE_KEY {
            return Err(Error::new(ErrorKind::BadCell, shape.offset));
        }
        if shape.find(self.bytes, shape.count, &Needle::new(key))? != Some(index) {
            return Err(Error::new(ErrorKind::DuplicateKey, shape.offset));
        }
        self.size += key_fresh(key);
        Ok(())
    }

    fn map(&mut self, offset: u32) -> Result<()> {
        let map = map::Map::load(self.bytes, offset as u64)?;
        self.size += map::create_size(map.live) + index_limit(map.live);
        let (mut live, mut from) = (0, 0);
        while let Some((index, entry)) = map.next_live(self.bytes, from)? {
            from = index + 1;
            live += 1;
            let key = span_at_position(self.bytes, entry.key)?;
            self.allowance.text(key.len())?;
            self.check_length(key)?;
            text(key, entry.key)?;
            self.size += key_fresh(key);
        }
        if live != map.live {
            return Err(Error::new(ErrorKind::BadCount, offset as u64));
        }
        Ok(())
    }
}

/// Checks that a column may have the gaps that it says: cells tell by themselves what is
/// null, and only rows of tables can be without a field.
fn check_gaps(column: Elements, in_table: bool) -> Result<()> {
    let untyped = column.column == ColumnType::Cells && column.gaps != GAPS_NONE;
    if untyped || (column.gaps & GAPS_MISSING != 0 && !in_table) {
        return Err(Error::new(ErrorKind::BadCode, column.offset as u64));
    }
    Ok(())
}

/// Checks that no key occurs twice in a row's further fields, which become fields of a
/// record with the others: at most 255, mostly a few.
fn distinct(bytes: &[u8], home: u32) -> Result<()> {
    let mut cursor = Cursor::new(bytes, Raw::object(home))?;
    while let Some((index, _)) = cursor.next(bytes)? {
        let key = cursor.key(bytes, index)?;
        let mut later = cursor;
        while let Some((other, _)) = later.next(bytes)? {
            if later.key(bytes, other)? == key {
                return Err(Error::new(ErrorKind::DuplicateKey, home as u64));
            }
        }
    }
    Ok(())
}

/// Copies a measured value of another document.
pub(super) struct Copier<'v> {
    source: &'v [u8],
    recent: Recent,
}

impl<'v> Copier<'v> {
    pub(super) fn new(source: &'v [u8]) -> Self {
        Copier { source, recent: Recent::new() }
    }

    /// The copy's tag and cell.
    ///
    /// # Errors
    /// None while the other document is as it was measured.
    pub(super) fn copy<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        raw: Raw,
        extent: &mut Extent,
    ) -> Result<(u8, u64)> {
        match raw.tag {
            ..=TAG_SPAN_LAST => Ok(self.scalar(space, raw, extent)),
            _ => self.node(space, raw, None, extent),
        }
    }

    fn scalar<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        raw: Raw,
        extent: &mut Extent,
    ) -> (u8, u64) {
        if raw.tag <= TAG_IMMEDIATE_LAST {
            return (raw.tag, raw.cell);
        }
        let bytes = span_bytes(self.source, raw.cell, raw.position as u64).unwrap_or(&[]);
        (raw.tag, build_key(space, bytes, true, extent))
    }

    fn node<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        raw: Raw,
        to: Option<To>,
        extent: &mut Extent,
    ) -> Result<(u8, u64)> {
        const NONE: Pair = Pair { from: Cursor::NONE, to: To::Map(0), slot: 0, extra: 0 };
        let mut stack = [NONE; CHUNK];
        let (home, pair) = self.enter(space, raw, to, extent)?;
        stack[0] = pair;
        let mut depth = 1;
        while depth > 0 {
            if let Some((index, child, to)) = self.step(space, &mut stack, &mut depth, extent)? {
                let (tag, cell) = self.node(space, child, to, extent)?;
                if let Some(pair) = stack.last_mut() {
                    self.put(space, pair, index, tag, cell, extent)?;
                }
            }
        }
        Ok((raw.tag, home as u64))
    }

    /// Copies the children of the innermost container up to one that is a container. Where
    /// the stack is full, that is left to the caller: its place, itself, and its copy where that is
    /// there. Not inlined: the frame of what calls itself stays small.
    #[inline(never)]
    fn step<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        stack: &mut [Pair; CHUNK],
        depth: &mut usize,
        extent: &mut Extent,
    ) -> Result<Option<(u32, Raw, Option<To>)>> {
        let pair = &mut stack[*depth - 1];
        let (index, child) = loop {
            match pair.from.next(self.source)? {
                Some((index, raw)) if raw.tag <= TAG_SPAN_LAST => {
                    let (tag, cell) = self.scalar(space, raw, extent);
                    self.put(space, pair, index, tag, cell, extent)?;
                }
                Some(child) => break child,
                None => match core::mem::take(&mut pair.extra) {
                    0 => {
                        *depth -= 1;
                        return Ok(None);
                    }
                    extra => break (EXTRA, Raw::object(extra)),
                },
            }
        };
        // A row's copy is there already where its table is copied as a whole.
        let to = match row_of(child.cell) {
            Some(_) => pair.to.child(space.bytes(), index)?,
            None => None,
        };
        if *depth == CHUNK {
            return Ok(Some((index, child, to)));
        }
        let (home, entered) = self.enter(space, child, to, extent)?;
        self.put(space, pair, index, child.tag, home as u64, extent)?;
        stack[*depth] = entered;
        *depth += 1;
        Ok(None)
    }

    /// Makes the copy of a container, its children to come; one that is there is `to`.
    fn enter<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        raw: Raw,
        to: Option<To>,
        extent: &mut Extent,
    ) -> Result<(u32, Pair)> {
        let mut from = Cursor::references(self.source, raw)?;
        let mut extra = 0;
        let (home, to) = match (to, from.node) {
            (Some(to), _) => {
                extra = from.take_extra();
                (0, to)
            }
            (None, Node::Record(record)) => {
                let copy = self.record(space, record, extent)?;
                (copy.offset, To::Record(copy))
            }
            (None, Node::Map(offset)) => {
                let live = map::Map::load(self.source, offset as u64)?.live;
                let home = map::create(space, extent, live).at as u32;
                (home, To::Map(home))
            }
            (None, Node::Row(..)) => self.row(space, raw, extent)?,
            (None, Node::Array(elements)) => {
                let home = extent.carve(ARRAY_SIZE as u64);
                let whole = row_of(raw.cell).is_none();
                let column = if whole { elements.column } else { elements.column.plain() };
                let copy = Elements { offset: home, column, ..elements };
                let owner = Owner { block: home, column: 0 };
                (home, To::Array(self.column(space, elements, copy, owner, extent)?))
            }
        };
        Ok((home, Pair { from, to, slot: 0, extra }))
    }

    /// Puts a copied child in its place.
    fn put<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        pair: &mut Pair,
        index: u32,
        tag: u8,
        cell: u64,
        extent: &mut Extent,
    ) -> Result<()> {
        let slot = pair.slot;
        pair.slot += 1;
        match pair.to {
            To::Record(record) => record.put(space, slot, (tag, cell)),
            To::Map(map) => {
                let key = pair.from.key(self.source, index)?.unwrap_or_default();
                let key = build_key(space, key, true, extent);
                append(space, map as u64, key, tag, cell, extent);
            }
            To::Array(elements) => elements.put(space, elements.first + index, (tag, cell)),
            To::Row(table, row) if index == EXTRA => {
                let (at, _) = table.find_extra(space.bytes(), row)?;
                if let Some(extras) = table.extras(space.bytes())? {
                    extras.put(space, at, extra_entry(row, cell as u32));
                }
            }
            To::Row(table, row) => {
                let column = table.column(space.bytes(), index)?;
                column.put(space, row, (tag, cell));
            }
        }
        Ok(())
    }

    fn record<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        record: Record,
        extent: &mut Extent,
    ) -> Result<Record> {
        let live = record.live();
        let home = extent.carve(record_size(live) as u64);
        let shape = match (live, self.recent.get(record)) {
            (0, _) => 0,
            (_, Some(shape)) => {
                shape::adopt(space, shape);
                shape
            }
            (_, None) => {
                let mut keys = KeyList::default();
                each_field(self.source, record, |index, _| keys.push(index))?;
                let from = Shape::load(self.source, record.shape() as u64)?;
                let shape =
                    self.shape(space, |index| from.key(self.source, index), &keys, extent)?;
                self.recent.put(record, shape);
                shape
            }
        };
        let copy = Record::new(home, live, live, live, shape);
        copy.write_header(space);
        Ok(copy)
    }

    /// The record or map of a row by itself.
    fn row<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        raw: Raw,
        extent: &mut Extent,
    ) -> Result<(u32, To)> {
        let mut cursor = Cursor::new(self.source, raw)?;
        let (mut keys, mut live, mut record) = (KeyList::default(), 0u32, true);
        while let Some((index, _)) = cursor.next(self.source)? {
            let key = cursor.key(self.source, index)?.unwrap_or_default();
            record = record && key.len() <= MAX_SHAPE_KEY && keys.push(index).is_ok();
            live += 1;
        }
        if !record {
            let home = map::create(space, extent, live).at as u32;
            return Ok((home, To::Map(home)));
        }
        let home = extent.carve(record_size(live) as u64);
        let shape = match live {
            0 => 0,
            _ => {
                let source = self.source;
                let key = |index| Ok(cursor.key(source, index)?.unwrap_or_default());
                self.shape(space, key, &keys, extent)?
            }
        };
        let copy = Record::new(home, live, live, live, shape);
        copy.write_header(space);
        Ok((home, To::Record(copy)))
    }

    /// Copies a column: its header, all that belongs to it, and its numbers and booleans.
    /// `copy` has the header's place and what the column is to be; references are 0.
    fn column<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        elements: Elements,
        copy: Elements,
        owner: Owner,
        extent: &mut Extent,
    ) -> Result<Elements> {
        let count = elements.count;
        // Without elements there is nothing to be without a value.
        let (column, gaps) = match (count, copy.column) {
            (0, ColumnType::Null) => (ColumnType::Cells, GAPS_NONE),
            (0, column) => (column, GAPS_NONE),
            (_, column) => (column, elements.gaps),
        };
        let elements = Elements { gaps, ..elements };
        let data = match column {
            _ if count == 0 && !column.is_nested() => 0,
            ColumnType::Struct => self.table(space, elements, owner, extent)?,
            ColumnType::List | ColumnType::FixedList => {
                self.list(space, elements, owner, extent)?
            }
            _ => extent.carve(column.slots_size(gaps, count)),
        };
        let copy =
            Elements { count, capacity: count, data, first: 0, column, gaps, bare: false, ..copy };
        copy.write_header(space);
        if count == 0 || column.is_nested() {
            return Ok(copy);
        }
        self.bitmaps(space, elements, copy, data as u64)?;
        if holds_references(column) || column == ColumnType::Null {
            return Ok(copy);
        }
        let (from, to) = (elements.values_at(), copy.values_at());
        if column == ColumnType::Bool {
            return self.bits(space, from, elements.first, to, count).map(|()| copy);
        }
        if column.is_marked() {
            for index in 0..count {
                let raw = elements.element(self.source, index)?;
                copy.put(space, index, (raw.tag, raw.cell));
            }
            return Ok(copy);
        }
        let width = column.width();
        let from = from + elements.first as u64 * width;
        space.write(to, slice(self.source, from, width * count as u64)?);
        Ok(copy)
    }

    /// Copies the bitmaps of a column's gaps.
    fn bitmaps<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        elements: Elements,
        copy: Elements,
        to: u64,
    ) -> Result<()> {
        let from = elements.bits_at(self.source)?;
        let (old, new) = (bitmap_size(elements.capacity as u64), bitmap_size(copy.capacity as u64));
        let first = elements.first;
        // Of a column of nulls no slot has a value, whatever damaged bits say.
        if elements.gaps != GAPS_NONE && copy.column != ColumnType::Null {
            self.bits(space, from, first, to, copy.count)?;
        }
        if elements.gaps == GAPS_BOTH {
            self.bits(space, from + old, first, to + new, copy.count)?;
            // Damage may say of a slot that it has a value and is null.
            for byte in 0..copy.count.div_ceil(8) as u64 {
                let valid = load_u8(space.bytes(), to + byte)?;
                let null = load_u8(space.bytes(), to + new + byte)?;
                space.write_u8(to + new + byte, null & !valid);
            }
        }
        Ok(())
    }

    /// Copies `count` bits from bit `first` on.
    fn bits<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        from: u64,
        first: u32,
        to: u64,
        count: u32,
    ) -> Result<()> {
        for byte in 0..count.div_ceil(8) {
            let (at, shift) = ((first / 8 + byte) as u64, first % 8);
            let low = load_u8(self.source, from + at)? as u32;
            let high = match shift {
                0 => 0,
                _ => load_u8(self.source, from + at + 1).unwrap_or(0) as u32,
            };
            let left = (count - 8 * byte).min(8);
            let bits = ((low | high << 8) >> shift) & ((1 << left) - 1);
            space.write_u8(to + byte as u64, bits as u8);
        }
        Ok(())
    }

    fn table<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        elements: Elements,
        owner: Owner,
        extent: &mut Extent,
    ) -> Result<u32> {
        let source = self.source;
        let table = Table::load(source, elements.data)?;
        let at = extent.carve(table.size());
        let bits = self.nested_bits(space, elements, extent)?;
        let mut keys = KeyList::default();
        (0..table.columns).try_for_each(|index| keys.push(index))?;
        let from = Shape::load(source, table.shape as u64)?;
        let shape = self.shape(space, |index| from.key(source, index), &keys, extent)?;
        let mut extras_at = 0;
        if let Some(extras) = table.extras(source)?.filter(|extras| extras.count > 0) {
            extras_at = extent.carve(ARRAY_SIZE as u64);
            let data = extent.carve(8 * extras.count as u64);
            let copy = Elements { offset: extras_at, data, capacity: extras.count, ..extras };
            copy.write_header(space);
            for index in 0..extras.count {
                let (row, _) = extra(extras.slot(source, index)?);
                copy.put(space, index, extra_entry(row, 0));
            }
        }
        let copy = Table { offset: at, shape, extras: extras_at, ..table };
        copy.write_header(space, owner, bits);
        for index in 0..table.columns {
            let column = table.column(source, index)?;
            let copy = Elements { offset: copy.header(index), ..column };
            let owner = Owner { block: at, column: index as u8 };
            self.column(space, column, copy, owner, extent)?;
        }
        Ok(at)
    }

    fn list<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        elements: Elements,
        owner: Owner,
        extent: &mut Extent,
    ) -> Result<u32> {
        let list = List::load(self.source, elements.data)?;
        let at = extent.carve(list.size());
        let bits = self.nested_bits(space, elements, extent)?;
        List { offset: at, ..list }.write_header(space, owner, bits);
        let child = list.child(self.source)?;
        let copy = Elements { offset: at + LIST_CHILD, ..child };
        let owner = Owner { block: at, column: 0 };
        self.column(space, child, copy, owner, extent)?;
        if list.length.is_none() {
            let offsets = list.offsets(self.source)?;
            let copy = Elements { offset: at + LIST_OFFSETS, ..offsets };
            self.column(space, offsets, copy, owner, extent)?;
        }
        Ok(at)
    }

    /// Bitmaps of a struct or list; 0 where it has none.
    fn nested_bits<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        elements: Elements,
        extent: &mut Extent,
    ) -> Result<u32> {
        if elements.gaps == GAPS_NONE {
            return Ok(0);
        }
        let bits = extent.carve(gaps_size(elements.gaps, elements.count as u64));
        let copy = Elements { capacity: elements.count, ..elements };
        self.bitmaps(space, elements, copy, bits as u64)?;
        Ok(bits)
    }

    /// A shape here that begins with these keys, found or made.
    fn shape<'k, S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        key: impl Fn(u32) -> Result<&'k [u8]>,
        keys: &KeyList,
        extent: &mut Extent,
    ) -> Result<u32> {
        let count = keys.indexes().len() as u32;
        let bytes = space.bytes();
        let found = shape::among_newest(bytes, |candidate| {
            if candidate.count < count {
                return Ok(None);
            }
            for (at, &index) in (0..).zip(keys.indexes()) {
                if candidate.key(bytes, at)? != key(index)? {
                    return Ok(None);
                }
            }
            Ok(Some(candidate.offset as u32))
        })?;
        if let Some(shape) = found {
            shape::adopt(space, shape);
            return Ok(shape);
        }
        let mut shape = shape::create(space, count, 0, extent);
        for (at, &index) in (0..).zip(keys.indexes()) {
            let key = key(index)?;
            let cell = build_key(space, key, false, extent);
            shape = shape::put_key(space, shape, at, cell, Needle::new(key).fingerprint);
        }
        Ok(shape.offset as u32)
    }
}

/// The places of an object's fields, as many as a record can have.
struct KeyList {
    places: [u32; MAX_FIELDS],
    count: usize,
}

impl Default for KeyList {
    fn default() -> Self {
        KeyList { places: [0; MAX_FIELDS], count: 0 }
    }
}

impl KeyList {
    fn push(&mut self, place: u32) -> Result<()> {
        let full = || Error::with_detail(ErrorKind::ElementLimit, 0, MAX_FIELDS as u64);
        *self.places.get_mut(self.count).ok_or_else(full)? = place;
        self.count += 1;
        Ok(())
    }

    fn indexes(&self) -> &[u32] {
        &self.places[..self.count]
    }
}

/// A container that is being freed, and the object with its further fields.
#[derive(Clone, Copy)]
struct Releasing {
    raw: Raw,
    cursor: Cursor,
    /// Its home, 0 for none.
    extra: u32,
}

/// The place of a row's further fields among its children.
const EXTRA: u32 = u32::MAX;

/// The copy of a container.
#[derive(Clone, Copy)]
enum To {
    Record(Record),
    Map(u32),
    Array(Elements),
    Row(Table, u32),
}

impl To {
    /// The copy of a row or list among the children, where it is there.
    fn child(&self, bytes: &[u8], index: u32) -> Result<Option<To>> {
        let raw = match *self {
            To::Array(elements) if elements.column.is_nested() => elements.element(bytes, index)?,
            To::Row(table, row) if index < table.columns => table.field(bytes, row, index)?,
            _ => return Ok(None),
        };
        Ok(match Node::of(bytes, raw)? {
            Node::Row(table, row) => Some(To::Row(table, row)),
            Node::Array(elements) => Some(To::Array(elements)),
            _ => None,
        })
    }
}

/// A container of the source, how far it was read, and its copy.
#[derive(Clone, Copy)]
struct Pair {
    from: Cursor,
    to: To,
    /// Children put so far.
    slot: u32,
    /// Home of a row's further fields, to be copied after the others; 0 for none.
    extra: u32,
}

impl<S: Storage, O: Observer> Editor<S, O> {
    /// Hangs a detached value in a new place: its tag and cell.
    pub(super) fn rehang(&mut self, detached: &Detached) -> (u8, u64) {
        detached.spent.store(true, Ordering::Relaxed);
        self.attached(detached);
        match detached.reaches.load(Ordering::Relaxed) {
            0 => {}
            depth => self.note(Event::Deeper(depth)),
        }
        (detached.raw.tag, detached.raw.cell)
    }

    /// Counts a detached value that hangs again, or is freed.
    pub(super) fn attached(&mut self, detached: &Detached) {
        let counted = detached.raw.tag > TAG_IMMEDIATE_LAST;
        self.detached = self.detached.saturating_sub(u32::from(counted));
    }

    /// Frees all that a value holds; its handles are stale then. Whatever a damaged document
    /// makes unreadable stays garbage, and so does everything in one that was not validated.
    pub(super) fn release(&mut self, raw: Raw) {
        if raw.tag <= TAG_IMMEDIATE_LAST {
            return;
        }
        if raw.tag <= TAG_SPAN_LAST {
            return self.release_span(raw);
        }
        let first = self.handles.begin_freeing();
        let budget = self.space.limits().budget;
        let mut allowance = match self.space.trusted {
            true => None,
            false => Some(Allowance::new(self.space.bytes(), budget)),
        };
        let released = self.release_node(raw, 0, &mut allowance);
        if first {
            self.handles.end_freeing::<S>();
        }
        if released.is_err() {
            // Values alias without end: whose handles are stale is not to be told.
            self.handles.reset();
        }
    }

    fn release_span(&mut self, raw: Raw) {
        if let Some((offset, length)) = owned_span(raw.cell) {
            self.handles.freed::<S>(offset as u64, length as u64);
            self.space.free_span(offset as u64, length as u64);
        }
    }

    /// Frees a container and all it holds, each after its children; `above` are around it.
    fn release_node(
        &mut self,
        raw: Raw,
        above: u16,
        allowance: &mut Option<Allowance>,
    ) -> Result<()> {
        let Some(releasing) = self.begin_release(raw) else { return Ok(()) };
        const NONE: Releasing = Releasing { raw: Raw::NULL, cursor: Cursor::NONE, extra: 0 };
        let mut stack = [NONE; CHUNK];
        stack[0] = releasing;
        let mut depth = 1;
        while depth > 0 {
            if let Some(allowance) = allowance {
                allowance.value()?;
            }
            let top = &mut stack[depth - 1];
            match top.cursor.next(self.space.bytes()) {
                Ok(Some((_, raw))) if raw.tag > TAG_SPAN_LAST && depth < CHUNK => {
                    if let Some(releasing) = self.begin_release(raw) {
                        stack[depth] = releasing;
                        depth += 1;
                    }
                }
                Ok(Some((_, raw))) if raw.tag > TAG_SPAN_LAST => {
                    // Damage may hold itself.
                    let above = above + CHUNK as u16;
                    if above > MAX_NESTING {
                        let limit = MAX_NESTING as u64;
                        return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit));
                    }
                    self.release_node(raw, above, allowance)?;
                }
                Ok(Some((_, raw))) if raw.tag > TAG_IMMEDIATE_LAST => self.release_span(raw),
                Ok(Some(_)) => {}
                _ => {
                    let Releasing { raw, cursor, extra } = *top;
                    self.release_block(raw, cursor.node);
                    let extra = (extra != 0).then(|| self.begin_release(Raw::object(extra)));
                    match extra.flatten() {
                        Some(extra) => stack[depth - 1] = extra,
                        None => depth -= 1,
                    }
                }
            }
        }
        Ok(())
    }

    fn begin_release(&self, raw: Raw) -> Option<Releasing> {
        let mut cursor = Cursor::references(self.space.bytes(), raw).ok()?;
        let extra = cursor.take_extra();
        Some(Releasing { raw, cursor, extra })
    }

    /// Frees a container whose children are freed. A row is freed with its table.
    pub(super) fn release_block(&mut self, raw: Raw, node: Node) {
        if !self.space.trusted {
            // Nothing is freed, and columns may be in circles: just its handles are stale.
            return self.handles.freed::<S>(raw.cell & 0xFFFF_FFFF, 8);
        }
        if row_of(raw.cell).is_some() {
            return;
        }
        let (offset, size) = match node {
            Node::Record(record) => {
                shape::leave(&mut self.space, record.shape());
                (record.offset, record.size())
            }
            Node::Map(offset) => {
                self.release_keys(offset);
                map::free_body(&mut self.space, offset as u64);
                (offset, MAP_SIZE as u64)
            }
            Node::Array(elements) if elements.bare => (elements.offset, 8),
            Node::Array(elements) => {
                self.free_column(elements);
                (elements.offset, ARRAY_SIZE as u64)
            }
            Node::Row(..) => return,
        };
        self.handles.freed::<S>(offset as u64, size);
        self.space.free(offset as u64, size);
        let home = raw.cell as u32;
        if offset != home {
            self.handles.freed::<S>(home as u64, 8);
            self.space.free(home as u64, 8);
        }
    }

    /// Frees a column's data and all that belongs to it, what its slots hold apart.
    pub(super) fn free_column(&mut self, column: Elements) {
        let bytes = self.space.bytes();
        match column.column {
            ColumnType::Struct => {
                let Ok(table) = Table::load(bytes, column.data) else { return };
                let extras = table.extras(bytes).ok().flatten();
                self.free_bits(column);
                for index in 0..table.columns {
                    if let Ok(below) = table.column(self.space.bytes(), index) {
                        self.free_column(below);
                    }
                }
                if let Some(extras) = extras {
                    self.free_column(extras);
                    self.space.free(extras.offset as u64, ARRAY_SIZE as u64);
                }
                shape::leave(&mut self.space, table.shape);
                self.handles.freed::<S>(table.offset as u64, table.size());
                self.space.free(table.offset as u64, table.size());
            }
            ColumnType::List | ColumnType::FixedList => {
                let Ok(list) = List::load(bytes, column.data) else { return };
                self.free_bits(column);
                if let Ok(child) = list.child(self.space.bytes()) {
                    self.free_column(child);
                }
                if list.length.is_none()
                    && let Ok(offsets) = list.offsets(self.space.bytes())
                {
                    self.free_column(offsets);
                }
                self.handles.freed::<S>(list.offset as u64, list.size());
                self.space.free(list.offset as u64, list.size());
            }
            _ => {
                self.handles.freed::<S>(column.data as u64, column.data_size());
                self.space.free(column.data as u64, column.data_size());
            }
        }
    }

    /// Frees the bitmaps of a struct or list.
    fn free_bits(&mut self, column: Elements) {
        let size = gaps_size(column.gaps, column.capacity as u64);
        match column.bits_at(self.space.bytes()) {
            Ok(bits) if size > 0 => self.space.free(bits, size),
            _ => {}
        }
    }

    fn release_keys(&mut self, map: u32) {
        let Ok(loaded) = map::Map::load(self.space.bytes(), map as u64) else { return };
        for index in 0..loaded.used {
            let bytes = self.space.bytes();
            let key = loaded.entry(bytes, index).and_then(|entry| load_u64(bytes, entry.key));
            if let Some((offset, length)) = key.ok().and_then(owned_span) {
                self.space.free_span(offset as u64, length as u64);
            }
        }
    }

    /// Frees what a record's fields hold, and a shape that only it uses.
    pub(super) fn release_fields(&mut self, record: Record) {
        self.release_each(0..record.used(), |bytes, index| record.field(bytes, index));
        shape::leave(&mut self.space, record.shape());
    }

    /// Frees what a map's entries hold, their keys included.
    pub(super) fn release_entries(&mut self, map: u32) {
        let Ok(loaded) = map::Map::load(self.space.bytes(), map as u64) else { return };
        self.release_each(0..loaded.used, |bytes, index| loaded.entry(bytes, index)?.load(bytes));
        if self.space.trusted {
            self.release_keys(map);
        }
    }

    /// Frees what an array's elements hold from `first` on.
    pub(super) fn release_elements(&mut self, elements: Elements, first: u32) {
        if holds_references(elements.column) {
            let element = |bytes: &[u8], index| elements.element(bytes, index);
            self.release_each(first..elements.count, element);
        }
    }

    /// Frees many values as one.
    pub(super) fn release_each(
        &mut self,
        places: core::ops::Range<u32>,
        value: impl Fn(&[u8], u32) -> Result<Raw>,
    ) {
        let first = self.handles.begin_freeing();
        for place in places {
            if let Ok(raw) = value(self.space.bytes(), place) {
                self.release(raw);
            }
        }
        if first {
            self.handles.end_freeing::<S>();
        }
    }
}
