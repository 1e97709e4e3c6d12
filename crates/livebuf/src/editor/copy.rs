//! Whole values: measuring and copying subtrees, freeing them, hanging them elsewhere.

use super::object::{append, index_limit};
use super::{Editor, build_key, key_fresh};
use crate::array::{ColumnType, Elements};
use crate::bytes::{load_u8, load_u64, slice, text};
use crate::cell::{Needle, owned_span, span_at_position, span_bytes, span_offset};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::*;
use crate::map;
use crate::number::is_json_number;
use crate::reader::Value;
use crate::record::{Block, Raw, Record, check_immediate, each_field};
use crate::shape::{self, Shape};
use crate::space::{Extent, Observer, Space};
use crate::storage::Storage;
use crate::walk::{Allowance, CHUNK, Cursor, holds_references};
use core::sync::atomic::{AtomicBool, Ordering};

/// A value taken out of its place by [`Editor::detach`], still whole in the document.
///
/// Setting, pushing or inserting `&detached` hangs it in its new place, once; while that
/// fails (for want of space, say), it stays what it is and can be hung elsewhere.
#[derive(Debug)]
#[must_use = "a detached value is garbage until it is set somewhere or discarded"]
pub struct Detached {
    raw: Raw,
    epoch: u32,
    /// It hangs in the document again.
    spent: AtomicBool,
}

impl Detached {
    pub(super) fn new(raw: Raw, epoch: u32) -> Self {
        Detached { raw, epoch, spent: AtomicBool::new(false) }
    }

    pub(super) fn raw(&self) -> Raw {
        self.raw
    }

    /// Checks that it can be hung in the container at home `under` (0: the root);
    /// how many containers it nests.
    pub(super) fn measure<S: Storage, O: Observer>(
        &self,
        editor: &Editor<S, O>,
        under: u32,
    ) -> Result<u16> {
        if self.epoch != editor.epoch || self.spent.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::StaleHandle, self.raw.position.into()));
        }
        if self.raw.tag <= TAG_SPAN_LAST {
            return Ok(0);
        }
        let mut measure = Measure::new(editor.as_bytes(), editor.space.limits());
        measure.avoid = Some(under);
        measure.node(self.raw, 0)
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
        _ => measure.node(value.raw(), 0)?,
    };
    Ok((measure.size, height))
}

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

    /// How deep the containers nest, `above` containers included.
    fn node(&mut self, raw: Raw, above: u16) -> Result<u16> {
        let mut stack = [Cursor::NONE; CHUNK];
        stack[0] = self.enter(raw, above)?;
        let (mut depth, mut highest) = (1, above + 1);
        while depth > 0 {
            let Some((_, raw)) = stack[depth - 1].next(self.bytes)? else {
                depth -= 1;
                continue;
            };
            if raw.tag <= TAG_SPAN_LAST {
                self.scalar(raw)?;
            } else if depth < CHUNK {
                stack[depth] = self.enter(raw, above + depth as u16)?;
                depth += 1;
                highest = highest.max(above + depth as u16);
            } else {
                highest = highest.max(self.node(raw, above + depth as u16)?);
            }
        }
        Ok(highest)
    }

    /// Counts a container itself; its children are to come.
    fn enter(&mut self, raw: Raw, above: u16) -> Result<Cursor> {
        self.allowance.value()?;
        if self.avoid == Some(raw.cell as u32) {
            return Err(Error::new(ErrorKind::Unsupported, raw.cell & 0xFFFF_FFFF));
        }
        if above >= self.limits.nesting {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, self.limits.nesting as u64));
        }
        // The sum may exceed any document where damaged values alias.
        if self.size > 2 * MAX_DOCUMENT {
            return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, self.limits.document));
        }
        let block = Block::resolve(self.bytes, raw.cell as u32)?;
        match (raw.tag, block.kind()) {
            (TAG_OBJECT, KIND_RECORD) => self.record(block.record()?)?,
            (TAG_OBJECT, KIND_MAP) => self.map(block)?,
            (TAG_ARRAY, KIND_ARRAY | KIND_EMPTY_ARRAY) => {
                let elements = Elements::load(self.bytes, block)?;
                self.size += ARRAY_SIZE as u64 + elements.column.data_size(elements.count);
            }
            _ => return Err(block.unexpected()),
        }
        Cursor::references(self.bytes, block)
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
        each_field(self.bytes, record, |index, _| {
            let key = shape.key(self.bytes, index)?;
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
        })?;
        self.recent.put(record, 1);
        Ok(())
    }

    fn map(&mut self, block: Block) -> Result<()> {
        let map = map::Map::load(self.bytes, block.offset as u64)?;
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
            return Err(Error::new(ErrorKind::BadCount, block.offset as u64));
        }
        Ok(())
    }
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

    /// The copy's tag and cell. What was measured can be read; else null.
    pub(super) fn copy<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        raw: Raw,
        extent: &mut Extent,
    ) -> (u8, u64) {
        match raw.tag {
            ..=TAG_SPAN_LAST => self.scalar(space, raw, extent),
            _ => self.node(space, raw, extent).unwrap_or((TAG_NULL, 0)),
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
        extent: &mut Extent,
    ) -> Result<(u8, u64)> {
        let mut stack = [Pair { from: Cursor::NONE, to: 0, slot: 0 }; CHUNK];
        let (home, pair) = self.enter(space, raw, extent)?;
        stack[0] = pair;
        let mut depth = 1;
        while depth > 0 {
            let pair = &mut stack[depth - 1];
            let Some((index, child)) = pair.from.next(self.source)? else {
                depth -= 1;
                continue;
            };
            let (pair, mut below) = (*pair, None);
            let (tag, cell) = if child.tag <= TAG_SPAN_LAST {
                self.scalar(space, child, extent)
            } else if depth < CHUNK {
                let (home, entered) = self.enter(space, child, extent)?;
                below = Some(entered);
                (child.tag, home as u64)
            } else {
                self.node(space, child, extent)?
            };
            self.put(space, &pair, index, tag, cell, extent)?;
            stack[depth - 1].slot += 1;
            if let Some(entered) = below {
                stack[depth] = entered;
                depth += 1;
            }
        }
        Ok((raw.tag, home as u64))
    }

    /// Makes the copy of a container, its children to come.
    fn enter<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        raw: Raw,
        extent: &mut Extent,
    ) -> Result<(u32, Pair)> {
        let block = Block::resolve(self.source, raw.cell as u32)?;
        let home = match block.kind() {
            KIND_RECORD => self.record(space, block.record()?, extent)?,
            KIND_MAP => {
                let live = map::Map::load(self.source, block.offset as u64)?.live;
                map::create(space, extent, live).at as u32
            }
            _ => self.array(space, Elements::load(self.source, block)?, extent)?,
        };
        let from = Cursor::references(self.source, block)?;
        Ok((home, Pair { from, to: home, slot: 0 }))
    }

    /// Puts a copied child in its place.
    fn put<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        pair: &Pair,
        index: u32,
        tag: u8,
        cell: u64,
        extent: &mut Extent,
    ) -> Result<()> {
        match pair.from.block.kind() {
            KIND_RECORD => {
                let cells = (pair.to + RECORD_CELLS) as u64;
                space.write_u8(cells + tag_at(pair.slot), tag);
                space.write_u64(cells + cell_at(pair.slot), cell);
            }
            KIND_MAP => {
                let key = pair.from.key(self.source, index)?.unwrap_or_default();
                let key = build_key(space, key, true, extent);
                append(space, pair.to as u64, key, tag, cell, extent);
            }
            _ => {
                let column = Elements::load(self.source, pair.from.block)?.column;
                let data = pair.to as u64 + ARRAY_SIZE as u64;
                match column {
                    ColumnType::Cells => {
                        space.write_u8(data + tag_at(index), tag);
                        space.write_u64(data + cell_at(index), cell);
                    }
                    ColumnType::String => space.write_u64(data + 8 * index as u64, cell),
                    _ => space.write_u32(data + 4 * index as u64, cell as u32),
                }
            }
        }
        Ok(())
    }

    fn record<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        record: Record,
        extent: &mut Extent,
    ) -> Result<u32> {
        let live = record.live();
        let home = extent.carve(record_size(live) as u64);
        let shape = match (live, self.recent.get(record)) {
            (0, _) => 0,
            (_, Some(shape)) => {
                shape::adopt(space, shape);
                shape
            }
            (_, None) => {
                let shape = self.shape(space, record, extent)?;
                self.recent.put(record, shape);
                shape
            }
        };
        space.write_u64(home as u64, Record::header_word(live, live, live, shape));
        Ok(home)
    }

    /// A shape here that begins with the record's live keys, found or made.
    fn shape<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        record: Record,
        extent: &mut Extent,
    ) -> Result<u32> {
        let (source, live) = (self.source, record.live());
        let from = Shape::load(source, record.shape() as u64)?;
        let bytes = space.bytes();
        let found = shape::among_newest(bytes, |candidate| {
            if candidate.count < live {
                return Ok(None);
            }
            let (mut at, mut same) = (0, true);
            each_field(source, record, |index, _| {
                same = same && candidate.key(bytes, at)? == from.key(source, index)?;
                at += 1;
                Ok(())
            })?;
            Ok(same.then_some(candidate.offset as u32))
        })?;
        if let Some(shape) = found {
            shape::adopt(space, shape);
            return Ok(shape);
        }
        let mut shape = shape::create(space, live, 0, extent);
        let mut at = 0;
        each_field(source, record, |index, _| {
            let key = from.key(source, index)?;
            let cell = build_key(space, key, false, extent);
            shape = shape::put_key(space, shape, at, cell, Needle::new(key).fingerprint);
            at += 1;
            Ok(())
        })?;
        Ok(shape.offset as u32)
    }

    /// An array's copy, its data right behind the header; numbers and booleans
    /// are copied at once.
    fn array<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        elements: Elements,
        extent: &mut Extent,
    ) -> Result<u32> {
        let (count, column) = (elements.count, elements.column);
        let size = if count == 0 { 0 } else { column.data_size(count) };
        let home = extent.carve(ARRAY_SIZE as u64 + size);
        let data = if count == 0 { 0 } else { home + ARRAY_SIZE };
        let first = KIND_ARRAY as u64 | (column as u64) << 8 | (count as u64) << 32;
        space.write_u64(home as u64, first);
        space.write_u64((home + ARRAY_CAPACITY) as u64, count as u64 | (data as u64) << 32);
        if count == 0 || holds_references(column) {
            return Ok(home);
        }
        let bits = match column {
            ColumnType::Bool => count as u64,
            _ => 8 * column.width() * count as u64,
        };
        let (whole, rest) = (bits / 8, bits % 8);
        space.write(data as u64, slice(self.source, elements.data as u64, whole)?);
        if rest > 0 {
            let last = load_u8(self.source, elements.data as u64 + whole)?;
            space.write_u8(data as u64 + whole, last & ((1 << rest) - 1));
        }
        Ok(home)
    }
}

/// A container of the source, how far it was read, and its copy.
#[derive(Clone, Copy)]
struct Pair {
    from: Cursor,
    to: u32,
    /// Children put so far.
    slot: u32,
}

impl<S: Storage, O: Observer> Editor<S, O> {
    /// Hangs a detached value in a new place: its tag and cell.
    pub(super) fn rehang(&mut self, detached: &Detached) -> (u8, u64) {
        detached.spent.store(true, Ordering::Relaxed);
        if detached.raw.tag > TAG_SPAN_LAST {
            // Its depth may have changed: handles into it are stale.
            self.new_epoch();
        }
        (detached.raw.tag, detached.raw.cell)
    }

    /// Frees all that a value holds. Whatever a damaged document makes
    /// unreadable stays garbage.
    pub(super) fn release(&mut self, raw: Raw) {
        if raw.tag <= TAG_IMMEDIATE_LAST {
            return;
        }
        if raw.tag > TAG_SPAN_LAST {
            self.new_epoch();
        }
        if self.space.trusted {
            self.release_value(raw);
        }
    }

    fn release_value(&mut self, raw: Raw) {
        if raw.tag > TAG_SPAN_LAST {
            self.release_node(raw.cell as u32);
        } else if raw.tag > TAG_IMMEDIATE_LAST
            && let Some((offset, length)) = owned_span(raw.cell)
        {
            self.space.free_span(offset as u64, length as u64);
        }
    }

    /// Frees a container and all it holds, each after its children.
    fn release_node(&mut self, home: u32) {
        let Some(cursor) = self.begin_release(home) else { return };
        let mut stack = [(0, Cursor::NONE); CHUNK];
        stack[0] = (home, cursor);
        let mut depth = 1;
        while depth > 0 {
            let (home, cursor) = &mut stack[depth - 1];
            match cursor.next(self.space.bytes()) {
                Ok(Some((_, raw))) if raw.tag > TAG_SPAN_LAST && depth < CHUNK => {
                    let home = raw.cell as u32;
                    if let Some(cursor) = self.begin_release(home) {
                        stack[depth] = (home, cursor);
                        depth += 1;
                    }
                }
                Ok(Some((_, raw))) => self.release_value(raw),
                _ => {
                    let (home, block) = (*home, cursor.block);
                    depth -= 1;
                    self.release_block(home, block);
                }
            }
        }
    }

    fn begin_release(&self, home: u32) -> Option<Cursor> {
        let bytes = self.space.bytes();
        Block::resolve(bytes, home).and_then(|block| Cursor::references(bytes, block)).ok()
    }

    /// Frees a container whose children are freed.
    fn release_block(&mut self, home: u32, block: Block) {
        let size = match block.kind() {
            KIND_RECORD => {
                let Ok(record) = block.record() else { return };
                shape::leave(&mut self.space, record.shape());
                record.size()
            }
            KIND_MAP => {
                self.release_keys(block.offset);
                map::free_body(&mut self.space, block.offset as u64);
                MAP_SIZE as u64
            }
            KIND_ARRAY => {
                let Ok(elements) = Elements::load(self.space.bytes(), block) else { return };
                self.space.free(elements.data as u64, elements.data_size());
                ARRAY_SIZE as u64
            }
            KIND_EMPTY_ARRAY => 8,
            _ => return,
        };
        self.space.free(block.offset as u64, size);
        if block.offset != home {
            self.space.free(home as u64, 8);
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
        for index in 0..record.used() {
            if let Ok(raw) = record.field(self.space.bytes(), index) {
                self.release(raw);
            }
        }
        shape::leave(&mut self.space, record.shape());
    }

    /// Frees what a map's entries hold, their keys included.
    pub(super) fn release_entries(&mut self, map: u32) {
        let Ok(loaded) = map::Map::load(self.space.bytes(), map as u64) else { return };
        for index in 0..loaded.used {
            let bytes = self.space.bytes();
            let raw = loaded.entry(bytes, index).and_then(|entry| entry.load(bytes));
            if let Ok(raw) = raw {
                self.release(raw);
            }
        }
        if self.space.trusted {
            self.release_keys(map);
        }
    }

    /// Frees what an array's elements hold from `first` on.
    pub(super) fn release_elements(&mut self, elements: Elements, first: u32) {
        if !holds_references(elements.column) {
            return;
        }
        for index in first..elements.count {
            if let Ok(raw) = elements.element(self.space.bytes(), index) {
                self.release(raw);
            }
        }
    }
}
