//! Whole values: measuring and copying subtrees, freeing them, hanging them elsewhere.

use super::object::{append, index_limit};
use super::{Editor, build_key, key_fresh};
use crate::array::{ColumnType, Elements};
use crate::bytes::{load_u8, load_u64, round_up, slice, text};
use crate::cell::{Needle, owned_span, span_at, span_at_position, span_bytes, span_length};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::*;
use crate::map;
use crate::reader::{Checked, Value, entry_value};
use crate::record::{Block, Raw, Record, check_immediate, each_field};
use crate::shape::{self, Shape};
use crate::space::{Extent, Observer, Space};
use crate::storage::Storage;

/// A value taken out of its place by [`Editor::detach`], still whole in the document.
#[derive(Debug)]
#[must_use = "a detached value is garbage until it is set somewhere or discarded"]
pub struct Detached {
    raw: Raw,
    epoch: u32,
}

impl Detached {
    pub(super) fn new(raw: Raw, epoch: u32) -> Self {
        Detached { raw, epoch }
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
        if self.epoch != editor.epoch {
            return Err(Error::new(ErrorKind::StaleHandle, self.raw.cell & 0xFFFF_FFFF));
        }
        if self.raw.tag <= TAG_SPAN_LAST {
            return Ok(0);
        }
        let value = Value::<Checked>::new(editor.as_bytes(), self.raw);
        height(&value, under, editor.space.limits().nesting)
    }
}

/// How many containers nest in a value, which must not hold the home `avoid`.
fn height(value: &Value<'_>, avoid: u32, left: u16) -> Result<u16> {
    if value.raw().tag <= TAG_SPAN_LAST {
        return Ok(0);
    }
    if value.raw().cell as u32 == avoid {
        return Err(Error::new(ErrorKind::Unsupported, avoid as u64));
    }
    let Some(left) = left.checked_sub(1) else {
        return Err(Error::new(ErrorKind::NestingLimit, value.raw().cell & 0xFFFF_FFFF));
    };
    let mut highest = 0;
    if let Some(object) = value.object()? {
        for value in object.values() {
            highest = highest.max(height(&value?, avoid, left)?);
        }
    }
    if let Some(array) = value.array()?
        && matches!(array.column(), ColumnType::Cells | ColumnType::Objects | ColumnType::Arrays)
    {
        for value in array {
            highest = highest.max(height(&value?, avoid, left)?);
        }
    }
    Ok(highest + 1)
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
    let mut measure = Measure {
        bytes: value.document(),
        limits,
        budget: limits.budget,
        size: 0,
        recent: Recent::new(),
    };
    let height = measure.value(value.raw(), limits.nesting.min(MAX_NESTING))?;
    Ok((measure.size, height))
}

struct Measure<'v> {
    bytes: &'v [u8],
    limits: &'v Limits,
    budget: u64,
    size: u64,
    recent: Recent,
}

impl Measure<'_> {
    fn span(&mut self, raw: Raw) -> Result<()> {
        let bytes = span_bytes(self.bytes, raw.cell, raw.position as u64)?;
        if bytes.len() as u64 > self.limits.string.min(MAX_SPAN) as u64 {
            let limit = self.limits.string as u64;
            return Err(Error::with_detail(ErrorKind::StringLimit, 0, limit));
        }
        if raw.tag == TAG_STRING || raw.tag == TAG_NUMBER {
            text(bytes, raw.cell & 0xFFFF_FFFF)?;
        }
        if raw.tag == TAG_NUMBER && !crate::number::is_json_number(bytes) {
            return Err(Error::new(ErrorKind::BadNumber, raw.cell & 0xFFFF_FFFF));
        }
        self.size += key_fresh(bytes);
        Ok(())
    }

    fn value(&mut self, raw: Raw, left: u16) -> Result<u16> {
        let exceeded = || Error::with_detail(ErrorKind::BudgetExceeded, 0, self.limits.budget);
        self.budget = self.budget.checked_sub(1).ok_or_else(exceeded)?;
        // No single value is larger than a document; the sum may be, on damaged bytes.
        if self.size > 2 * MAX_DOCUMENT {
            return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, self.limits.document));
        }
        match raw.tag {
            ..=TAG_IMMEDIATE_LAST => return check_immediate(raw).map(|()| 0),
            ..=TAG_SPAN_LAST => return self.span(raw).map(|()| 0),
            _ => {}
        }
        let Some(left) = left.checked_sub(1) else {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, self.limits.nesting as u64));
        };
        let block = Block::resolve(self.bytes, raw.cell as u32)?;
        let mut highest = 0;
        match (raw.tag, block.kind()) {
            (TAG_OBJECT, KIND_RECORD) => {
                let record = block.record()?;
                self.size += record_size(record.live()) as u64;
                if record.used() > 0 {
                    let shape = Shape::load(self.bytes, record.shape() as u64)?;
                    if record.used() > shape.count || record.live() > record.used() {
                        return Err(Error::new(ErrorKind::BadCount, record.offset as u64));
                    }
                    if self.recent.get(record).is_none() {
                        self.size += shape_size(record.live()) as u64;
                        for index in 0..record.used() {
                            let key = shape.key(self.bytes, index)?;
                            text(key, 0)?;
                            if key.len() > MAX_SHAPE_KEY {
                                return Err(Error::new(ErrorKind::BadCell, shape.offset));
                            }
                            let found = shape.find(self.bytes, shape.count, &Needle::new(key))?;
                            if found != Some(index) {
                                return Err(Error::new(ErrorKind::DuplicateKey, shape.offset));
                            }
                            self.size += key_fresh(key);
                        }
                        self.recent.put(record, 1);
                    }
                }
                let (bytes, mut live) = (self.bytes, 0);
                each_field(bytes, record, |_, raw| {
                    live += 1;
                    highest = highest.max(self.value(raw, left)?);
                    Ok(())
                })?;
                if live != record.live() {
                    return Err(Error::new(ErrorKind::BadCount, record.offset as u64));
                }
            }
            (TAG_OBJECT, KIND_MAP) => {
                let map = map::Map::load(self.bytes, block.offset as u64)?;
                self.size += map::create_size(map.live) + index_limit(map.live);
                let mut live = 0;
                for index in 0..map.used {
                    let entry = map.entry(self.bytes, index)?;
                    let raw = entry_value(self.bytes, &entry)?;
                    if raw.tag == TAG_HOLE {
                        continue;
                    }
                    live += 1;
                    let key = span_at_position(self.bytes, entry.key)?;
                    text(key, 0)?;
                    self.size += key_fresh(key);
                    highest = highest.max(self.value(raw, left)?);
                }
                if live != map.live {
                    return Err(Error::new(ErrorKind::BadCount, block.offset as u64));
                }
            }
            (TAG_ARRAY, KIND_ARRAY | KIND_EMPTY_ARRAY) => {
                let elements = Elements::load(self.bytes, block)?;
                self.size += ARRAY_SIZE as u64 + elements.column.data_size(elements.count);
                if holds_references(elements.column) {
                    for index in 0..elements.count {
                        let raw = elements.element(self.bytes, index)?;
                        highest = highest.max(self.value(raw, left)?);
                    }
                }
            }
            _ => return Err(Error::new(ErrorKind::WrongBlock, block.offset as u64)),
        }
        Ok(highest + 1)
    }
}

fn holds_references(column: ColumnType) -> bool {
    use ColumnType::*;
    matches!(column, Cells | String | Objects | Arrays)
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
            ..=TAG_IMMEDIATE_LAST => (raw.tag, raw.cell),
            ..=TAG_SPAN_LAST => {
                if span_length(raw.cell) as usize <= MAX_INLINE {
                    let bytes = span_bytes(self.source, raw.cell, raw.position as u64);
                    return (raw.tag, Needle::new(bytes.unwrap_or(&[])).cell);
                }
                let bytes = span_bytes(self.source, raw.cell, raw.position as u64).unwrap_or(&[]);
                let offset = extent.carve(round_up(bytes.len() as u64));
                space.write(offset as u64, bytes);
                (raw.tag, span_at(offset, bytes.len() as u32, true))
            }
            _ => self.node(space, raw, extent).unwrap_or((TAG_NULL, 0)),
        }
    }

    fn node<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        raw: Raw,
        extent: &mut Extent,
    ) -> Result<(u8, u64)> {
        let block = Block::resolve(self.source, raw.cell as u32)?;
        let home = match block.kind() {
            KIND_RECORD => self.record(space, block.record()?, extent)?,
            KIND_MAP => {
                let from = map::Map::load(self.source, block.offset as u64)?;
                let home = map::create(space, extent, from.live);
                for index in 0..from.used {
                    let entry = from.entry(self.source, index)?;
                    let raw = entry_value(self.source, &entry)?;
                    if raw.tag == TAG_HOLE {
                        continue;
                    }
                    let key = span_at_position(self.source, entry.key)?;
                    let key = build_key(space, key, true, extent);
                    let (tag, cell) = self.copy(space, raw, extent);
                    append(space, home, key, tag, cell, extent);
                }
                home as u32
            }
            _ => self.array(space, Elements::load(self.source, block)?, extent)?,
        };
        Ok((raw.tag, home as u64))
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
        let (source, cells) = (self.source, (home + RECORD_CELLS) as u64);
        let mut at = 0;
        each_field(source, record, |_, raw| {
            let (tag, cell) = self.copy(space, raw, extent);
            space.write_u8(cells + tag_at(at), tag);
            space.write_u64(cells + cell_at(at), cell);
            at += 1;
            Ok(())
        })?;
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
        let mut shape = shape::create(space, live, extent);
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

    fn array<S: Storage, O: Observer>(
        &mut self,
        space: &mut Space<S, O>,
        elements: Elements,
        extent: &mut Extent,
    ) -> Result<u32> {
        let (count, column) = (elements.count, elements.column);
        let home = extent.carve(ARRAY_SIZE as u64);
        let size = column.data_size(count);
        let data = if count == 0 { 0 } else { extent.carve(size) };
        space.write_u64(
            home as u64,
            KIND_ARRAY as u64 | (column as u64) << 8 | (count as u64) << 32,
        );
        space.write_u64((home + ARRAY_CAPACITY) as u64, count as u64 | (data as u64) << 32);
        if !holds_references(column) {
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
            return Ok(home);
        }
        for index in 0..count {
            let raw = elements.element(self.source, index)?;
            let (tag, cell) = self.copy(space, raw, extent);
            let data = data as u64;
            match column {
                ColumnType::Cells => {
                    space.write_u8(data + tag_at(index), tag);
                    space.write_u64(data + cell_at(index), cell);
                }
                ColumnType::String => space.write_u64(data + 8 * index as u64, cell),
                _ => space.write_u32(data + 4 * index as u64, cell as u32),
            }
        }
        Ok(home)
    }
}

impl<S: Storage, O: Observer> Editor<S, O> {
    /// Hangs a detached value in a new place: its tag and cell.
    pub(super) fn rehang(&mut self, detached: &Detached) -> (u8, u64) {
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
            self.release_below(raw, MAX_NESTING);
        }
    }

    fn release_below(&mut self, raw: Raw, left: u16) {
        match raw.tag {
            ..=TAG_IMMEDIATE_LAST => {}
            ..=TAG_SPAN_LAST => {
                if let Some((offset, length)) = owned_span(raw.cell) {
                    self.space.free_span(offset as u64, length as u64);
                }
            }
            _ if left == 0 => {}
            _ => self.release_node(raw.cell as u32, left - 1),
        }
    }

    fn release_node(&mut self, home: u32, left: u16) {
        let Ok(block) = Block::resolve(self.space.bytes(), home) else { return };
        let size = match block.kind() {
            KIND_RECORD => {
                let Ok(record) = block.record() else { return };
                for index in 0..record.used() {
                    if let Ok(raw) = record.field(self.space.bytes(), index) {
                        self.release_below(raw, left);
                    }
                }
                shape::leave(&mut self.space, record.shape());
                record.size()
            }
            KIND_MAP => {
                self.release_entries_below(block.offset, left);
                map::free_body(&mut self.space, block.offset as u64);
                MAP_SIZE as u64
            }
            KIND_ARRAY => {
                let Some(elements) = self.elements_of(block) else { return };
                self.release_elements_below(elements, 0, left);
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
        self.new_epoch();
        if self.space.trusted {
            self.release_entries_below(map, MAX_NESTING);
        }
    }

    fn release_entries_below(&mut self, map: u32, left: u16) {
        let Ok(loaded) = map::Map::load(self.space.bytes(), map as u64) else { return };
        for index in 0..loaded.used {
            let bytes = self.space.bytes();
            let Ok(entry) = loaded.entry(bytes, index) else { return };
            let Ok(raw) = entry_value(bytes, &entry) else { return };
            let Ok(key) = load_u64(bytes, entry.key) else { return };
            if raw.tag == TAG_HOLE {
                continue;
            }
            if let Some((offset, length)) = owned_span(key) {
                self.space.free_span(offset as u64, length as u64);
            }
            self.release_below(raw, left);
        }
    }

    /// Frees what an array's elements hold from `first` on.
    pub(super) fn release_elements(&mut self, elements: Elements, first: u32) {
        if holds_references(elements.column) {
            self.new_epoch();
            if self.space.trusted {
                self.release_elements_below(elements, first, MAX_NESTING);
            }
        }
    }

    fn release_elements_below(&mut self, elements: Elements, first: u32, left: u16) {
        if !holds_references(elements.column) {
            return;
        }
        for index in first..elements.count {
            if let Ok(raw) = elements.element(self.space.bytes(), index) {
                self.release_below(raw, left);
            }
        }
    }
}
