//! Copies values of other documents: records, maps, and columns as a whole. The same code
//! counts a copy's bytes, when it checks all that it relies on, and writes it.

use super::editor::{Editor, TableEdits};
use super::handles::NodeId;
use super::literal::tensor;
use super::parts::{add_entry, bytes_span, check_copied, new_map, new_shape, span};
use super::sink::{Sink, writer};
use crate::block::absent::{self, Above};
use crate::block::column::{Elements, row_of};
use crate::block::column_type::{ColumnType, SlotKind};
use crate::block::list::List;
use crate::block::map::Map;
use crate::block::owner::Owner;
use crate::block::record::{Raw, Record, check_extended_span, check_immediate, each_field};
use crate::block::run;
use crate::block::shape::{self, Shape};
use crate::block::table::{Table, check_orders, extra, extra_entry};
use crate::block::tensor::{Form, check_tensor};
use crate::block::walk::{Allowance, CHUNK, Cursor, Node, check_further, each_container};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, slice, text};
use crate::format::cell::{Needle, shared_span, span_bytes, span_offset};
use crate::format::extended::is_extended_span;
use crate::format::layout::*;
use crate::format::number::is_json_number;
use crate::store::space::{Extent, Space};
use crate::store::storage::Storage;
use crate::view::{Doc, Value};

impl<S: Storage> TableEdits<S> {
    pub(super) fn all() -> Self {
        TableEdits {
            set_in_map: Editor::set_in_map,
            set_in_row: Editor::set_in_row,
            count_copy: count,
            copy: write,
            height,
            validate: |document, scratch| Doc::over(document).stats_in(scratch),
        }
    }
}

/// The bytes of a value's copy, and how many containers nest in it.
///
/// # Errors
/// What is damaged, and limits.
#[inline(never)]
fn count<S: Storage>(editor: &Editor<S>, value: &Value<'_>) -> Result<(u64, u16)> {
    let mut sizer = editor.sizer(NodeId::NONE);
    let (_, height) = copy(&mut sizer, value)?;
    Ok((sizer.counted(), height))
}

/// Writes the copy of a value that was counted. Returns its tag and cell.
///
/// # Errors
/// None while the other document is as it was when the bytes were counted.
#[inline(never)]
fn write<S: Storage>(
    editor: &mut Editor<S>,
    value: &Value<'_>,
    extent: &mut Extent,
) -> Result<(u8, u64)> {
    copy(&mut writer(editor, extent), value).map(|(copy, _)| copy)
}

/// The tag and cell of a value's copy, and how many containers nest in it.
fn copy<S: Storage>(sink: &mut Sink<'_, S>, value: &Value<'_>) -> Result<((u8, u64), u16)> {
    let raw = value.raw();
    let limits = *sink.editor().space.limits();
    let mut copier = Copier::new(value.document(), limits);
    let copy = match raw.tag <= TAG_SPAN_LAST {
        true => copier.scalar(sink, raw)?,
        false => copier.node::<S, FIRST>(sink, raw, None, 1)?,
    };
    Ok((copy, copier.height))
}

/// How many containers a value of a document nests. None of them may be the one whose home is
/// `avoid`.
fn height<S: Storage>(editor: &Editor<S>, raw: Raw, avoid: u32) -> Result<u16> {
    let bytes = editor.as_bytes();
    let mut allowance = Allowance::new(bytes, editor.space.limits().budget);
    let mut height = 0;
    let meets = each_container(bytes, raw, 0, &mut allowance, &mut |raw, depth| {
        height = height.max(depth);
        raw.cell as u32 == avoid
    })?;
    match meets {
        true => Err(Error::new(ErrorKind::Unsupported, avoid.into())),
        false => Ok(height),
    }
}

/// Shapes of the other document that were met lately, and their copies here. The same order of
/// calls in both runs gives the same answers.
struct Recent {
    /// (source shape, fields used, shape here)
    shapes: [(u32, u32, u32); 16],
    next: usize,
}

impl Recent {
    const NONE: Recent = Recent { shapes: [(0, 0, 0); 16], next: 0 };

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

/// Levels that the first call handles. Most values have no more, and a larger stack takes
/// longer to fill.
const FIRST: usize = 8;
/// Bytes of a copy for each byte of the document it is from, at most.
const COPY_FACTOR: u64 = 256;

/// Copies a value of another document.
struct Copier<'v> {
    source: &'v [u8],
    limits: Limits,
    allowance: Allowance,
    recent: Recent,
    /// How many containers nest.
    height: u16,
    /// An array that is copied has containers that are no columns: they come after it.
    leaves: bool,
}

/// Where a column is that is copied as a whole.
#[derive(Clone, Copy)]
struct Around {
    in_table: bool,
    /// What its slots are below.
    above: Option<Above>,
    /// Columns around it.
    depth: usize,
    /// Containers around its slots.
    level: u16,
}

/// The copy of a container. While only counted, its kind is right, and its place is not.
#[derive(Clone, Copy)]
enum To {
    Record(Record),
    Map(u32),
    Array(Elements),
}

/// A container of the source, how far it was read, and its copy.
#[derive(Clone, Copy)]
struct Pair {
    from: Cursor,
    to: To,
    /// Children put so far.
    slot: u32,
    /// Containers up to this one.
    depth: u16,
}

/// A child that is a container, its place, its copy where that is there, and its depth.
type Child = (u32, Raw, Option<To>, u16);

impl<'v> Copier<'v> {
    fn new(source: &'v [u8], limits: Limits) -> Self {
        let allowance = Allowance::new(source, limits.budget);
        Copier { source, limits, allowance, recent: Recent::NONE, height: 0, leaves: false }
    }

    fn check_length(&self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > self.limits.string as usize {
            let limit = self.limits.string as u64;
            return Err(Error::with_detail(ErrorKind::StringLimit, 0, limit));
        }
        Ok(())
    }

    /// Where damaged values alias, the sum may exceed any document. In a valid one, nine bytes of a
    /// record take most: a key, a place in a shape, and shared text.
    fn check_size<S: Storage>(&self, sink: &Sink<'_, S>) -> Result<()> {
        let most = COPY_FACTOR * self.source.len() as u64;
        if sink.counted() > most {
            return Err(Error::with_detail(ErrorKind::BudgetExceeded, 0, most));
        }
        Ok(())
    }

    // --- walking ------------------------------------------------------------

    fn scalar<S: Storage>(&mut self, sink: &mut Sink<'_, S>, raw: Raw) -> Result<(u8, u64)> {
        if !sink.writes() {
            self.allowance.value()?;
        }
        if raw.tag <= TAG_IMMEDIATE_LAST {
            if !sink.writes() {
                check_immediate(raw)?;
            }
            return Ok((raw.tag, raw.cell));
        }
        let bytes = span_bytes(self.source, raw.cell, raw.position as u64)?;
        if is_extended_span(raw.tag) {
            if !sink.writes() {
                self.allowance.text(bytes.len())?;
                check_extended_span(raw, bytes)?;
            }
            return Ok((raw.tag, bytes_span(sink, bytes, true)));
        }
        if !sink.writes() {
            let offset = span_offset(raw.cell, raw.position);
            self.allowance.text(bytes.len())?;
            self.check_length(bytes)?;
            if raw.tag == TAG_STRING {
                text(bytes, offset)?;
            }
            if raw.tag == TAG_NUMBER && !is_json_number(bytes) {
                return Err(Error::new(ErrorKind::BadNumber, offset));
            }
        }
        let cell = match raw.tag {
            TAG_STRING | TAG_NUMBER => text_span(sink, bytes, true)?,
            _ => span(sink, bytes, true)?,
        };
        Ok((raw.tag, cell))
    }

    /// Copies a container. `to`: its copy, where it was made with the one around it. Returns
    /// the copy's tag and cell.
    fn node<S: Storage, const LEVELS: usize>(
        &mut self,
        sink: &mut Sink<'_, S>,
        raw: Raw,
        to: Option<To>,
        depth: u16,
    ) -> Result<(u8, u64)> {
        const NONE: Pair = Pair { from: Cursor::NONE, to: To::Map(0), slot: 0, depth: 0 };
        let mut stack = [NONE; LEVELS];
        let (home, pair) = self.enter(sink, raw, to, depth)?;
        stack[0] = pair;
        let mut open = 1;
        while open > 0 {
            if let Some((index, child, to, depth)) = self.step(sink, &mut stack, &mut open)? {
                let value = self.node::<S, CHUNK>(sink, child, to, depth)?;
                if let (None, Some(pair)) = (to, stack.last_mut()) {
                    self.put(sink, pair, index, value)?;
                }
            }
        }
        Ok((raw.tag, home as u64))
    }

    /// Copies the children of the innermost container up to one that is a container. Where the
    /// stack is full, the caller copies that one. Not inlined: the frame of what calls itself
    /// stays small.
    #[inline(never)]
    fn step<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        stack: &mut [Pair],
        open: &mut usize,
    ) -> Result<Option<Child>> {
        let levels = stack.len();
        let pair = &mut stack[*open - 1];
        let (index, child, depth) = loop {
            match pair.from.next(self.source)? {
                Some((index, raw)) if raw.tag <= TAG_SPAN_LAST => {
                    // What is no container was copied with its column.
                    if matches!(pair.to, To::Array(_)) {
                        continue;
                    }
                    let value = self.scalar(sink, raw)?;
                    self.put(sink, pair, index, value)?;
                }
                Some((index, child)) => break (index, child, pair.depth + 1),
                None => {
                    *open -= 1;
                    return Ok(None);
                }
            }
        };
        let to = match pair.from.is_column(child) {
            true => Some(self.copied_column(sink, pair.to, index, child)?),
            false => None,
        };
        if *open == levels {
            return Ok(Some((index, child, to, depth)));
        }
        let (home, entered) = self.enter(sink, child, to, depth)?;
        if to.is_none() {
            self.put(sink, pair, index, (child.tag, home as u64))?;
        }
        stack[*open] = entered;
        *open += 1;
        Ok(None)
    }

    /// The copy of a column below an array's, which was made with it.
    fn copied_column<S: Storage>(
        &self,
        sink: &Sink<'_, S>,
        to: To,
        index: u32,
        column: Raw,
    ) -> Result<To> {
        let bytes = sink.bytes();
        Ok(To::Array(match to {
            To::Array(array) if sink.writes() && array.column == ColumnType::Struct => {
                Table::load(bytes, array.data)?.column(bytes, index)?
            }
            To::Array(array) if sink.writes() => List::load(bytes, array.data)?.child(bytes)?,
            _ => Elements::at(self.source, column.cell as u32)?,
        }))
    }

    /// Makes the copy of a container, its children to come; one that is there is `to`.
    fn enter<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        raw: Raw,
        to: Option<To>,
        depth: u16,
    ) -> Result<(u32, Pair)> {
        let mut from = Cursor::columns(self.source, raw)?;
        if let Some(to) = to {
            return Ok((0, Pair { from, to, slot: 0, depth }));
        }
        if !sink.writes() {
            // The arrays of a tensor are not walked through.
            let tensor = match from.node {
                Node::Array(elements) => Form::of(self.source, elements)?,
                _ => None,
            };
            let below = tensor.map_or(0, |(form, _)| form.height() - 1);
            self.reach(depth.saturating_add(below))?;
            self.check_size(sink)?;
            self.allowance.container(from.places(self.source)?)?;
        }
        let (home, to) = match from.node {
            Node::Record(record) => {
                let copy = self.record(sink, record)?;
                (copy.offset, To::Record(copy))
            }
            Node::Map(offset) => {
                let map = Map::load(self.source, offset as u64)?;
                if !sink.writes() {
                    self.check_map(&map)?;
                }
                let home = new_map(sink, map.live, map.live);
                (home, To::Map(home))
            }
            Node::Row(..) => self.row(sink, raw)?,
            Node::Array(elements) => {
                self.leaves = false;
                let copy = match row_of(raw.cell) {
                    None => self.array(sink, elements, depth)?,
                    Some(_) => self.listed(sink, elements, depth)?,
                };
                if !self.leaves {
                    from.skip();
                }
                (copy.offset, To::Array(copy))
            }
        };
        Ok((home, Pair { from, to, slot: 0, depth }))
    }

    /// Containers nest so deep.
    fn reach(&mut self, depth: u16) -> Result<()> {
        let limit = self.limits.nesting;
        if depth > limit {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit as u64));
        }
        self.height = self.height.max(depth);
        Ok(())
    }

    /// Puts a copied child in its place.
    fn put<S: Storage>(
        &self,
        sink: &mut Sink<'_, S>,
        pair: &mut Pair,
        index: u32,
        value: (u8, u64),
    ) -> Result<()> {
        let slot = pair.slot;
        pair.slot += 1;
        match pair.to {
            To::Map(map) => {
                let key = pair.from.key(self.source, index)?.unwrap_or_default();
                let key_cell = text_span(sink, key, true)?;
                add_entry(sink, map, key_cell, value);
            }
            To::Record(record) => {
                sink.write(|editor, _| record.put(&mut editor.space, slot, value));
            }
            // Further fields of a row.
            To::Array(elements) if elements.column == ColumnType::Struct => {
                sink.try_write(|editor, _| {
                    let bytes = editor.space.bytes();
                    let table = Table::load(bytes, elements.data)?;
                    let Some(extras) = table.extras(bytes)? else { return Ok(()) };
                    let at = index.saturating_sub(table.headers());
                    let (row, _) = extra(extras.slot(bytes, at)?);
                    extras.put(&mut editor.space, at, extra_entry(row, value.1 as u32));
                    Ok(())
                })?;
            }
            To::Array(elements) => sink.write(|editor, _| {
                elements.put(&mut editor.space, elements.first + index, value);
            }),
        }
        Ok(())
    }

    // --- objects ------------------------------------------------------------

    fn record<S: Storage>(&mut self, sink: &mut Sink<'_, S>, record: Record) -> Result<Record> {
        let live = record.live();
        let home = sink.carve(record_size(live) as u64);
        if !sink.writes() {
            let mut found = 0;
            each_field(self.source, record, |_, _| {
                found += 1;
                Ok(())
            })?;
            if found != live {
                return Err(Error::new(ErrorKind::BadCount, record.offset as u64));
            }
        }
        let shape = match self.recent.get(record) {
            _ if record.used() == 0 => 0,
            Some(shape) => {
                sink.write(|editor, _| shape::adopt(&mut editor.space, shape));
                shape
            }
            None => self.record_shape(sink, record)?,
        };
        let copy = Record::new(home, live, live, live, shape);
        sink.write(|editor, _| copy.write_header(&mut editor.space));
        Ok(copy)
    }

    /// The shape of a record's copy. Keys of holes are not copied.
    fn record_shape<S: Storage>(&mut self, sink: &mut Sink<'_, S>, record: Record) -> Result<u32> {
        let source = self.source;
        let from = Shape::load(source, record.shape() as u64)?;
        if record.used() > from.count {
            return Err(Error::new(ErrorKind::BadCount, record.offset as u64));
        }
        let mut keys = KeyList::EMPTY;
        each_field(source, record, |index, _| keys.push(index))?;
        if record.live() == 0 {
            return Ok(0);
        }
        let writes = sink.writes();
        let shape = copied_shape(sink, |index| self.key(writes, from, index), keys.iter())?;
        self.recent.put(record, shape);
        Ok(shape)
    }

    /// A shape's key, checked in the run that counts. The keys of a wide shape are known to differ
    /// by their order.
    fn key(&mut self, writes: bool, shape: Shape, index: u32) -> Result<&'v [u8]> {
        let key = shape.key(self.source, index)?;
        if writes {
            return Ok(key);
        }
        self.allowance.work(key.len() + MAX_INLINE)?;
        self.check_length(key)?;
        text(key, shape.offset)?;
        if key.len() > MAX_SHAPE_KEY {
            return Err(Error::new(ErrorKind::BadCell, shape.offset));
        }
        let unsure = !shape.is_wide();
        if unsure && shape.find(self.source, shape.count, &Needle::new(key))? != Some(index) {
            return Err(Error::new(ErrorKind::DuplicateKey, shape.offset));
        }
        Ok(key)
    }

    /// The record or map of a row by itself.
    fn row<S: Storage>(&mut self, sink: &mut Sink<'_, S>, raw: Raw) -> Result<(u32, To)> {
        let source = self.source;
        let mut cursor = Cursor::new(source, raw)?;
        let Node::Row(table, row) = cursor.node else {
            return Err(Error::new(ErrorKind::WrongBlock, raw.cell & 0xFFFF_FFFF));
        };
        let shape = Shape::of_table(source, table.shape as u64, table.columns)?;
        let (mut keys, mut live, mut record) = (KeyList::EMPTY, 0u32, true);
        while let Some((index, _)) = cursor.next(source)? {
            let key = cursor.key(source, index)?.unwrap_or_default();
            if !sink.writes() {
                self.check_length(key)?;
                text(key, raw.cell & 0xFFFF_FFFF)?;
                if index < table.columns
                    && shape.find_in_any(source, shape.count, &Needle::new(key))? != Some(index)
                {
                    return Err(Error::new(ErrorKind::DuplicateKey, shape.offset));
                }
            }
            record = record && key.len() <= MAX_SHAPE_KEY && keys.push(index).is_ok();
            live += 1;
        }
        if !sink.writes() {
            let further = table.extra(source, row)?;
            if further != 0 {
                check_further(source, table, further)?;
                if record {
                    distinct(source, further)?;
                }
            }
        }
        if !record {
            let home = new_map(sink, live, live);
            return Ok((home, To::Map(home)));
        }
        let home = sink.carve(record_size(live) as u64);
        let shape = match live {
            0 => 0,
            _ => {
                let key = |index| Ok(cursor.key(source, index)?.unwrap_or_default());
                copied_shape(sink, key, keys.iter())?
            }
        };
        let copy = Record::new(home, live, live, live, shape);
        sink.write(|editor, _| copy.write_header(&mut editor.space));
        Ok((home, To::Record(copy)))
    }

    /// Checks the count of a map's entries, and their keys.
    fn check_map(&mut self, map: &Map) -> Result<()> {
        let (mut live, mut from) = (0, 0);
        while let Some(index) = map.next_live(self.source, from)? {
            from = index + 1;
            live += 1;
            let key = map.keys.text(self.source, index)?;
            self.allowance.text(key.len())?;
            self.check_length(key)?;
            text(key, map.keys.at(index))?;
        }
        if live != map.live {
            return Err(Error::new(ErrorKind::BadCount, map.at));
        }
        Ok(())
    }

    // --- arrays and columns -------------------------------------------------

    /// An array with all that its columns hold.
    fn array<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        level: u16,
    ) -> Result<Elements> {
        let home = sink.carve(ARRAY_SIZE as u64);
        let copy = Elements { offset: home, ..elements };
        let owner = Owner { block: home, column: 0 };
        let around = Around { in_table: false, above: None, depth: 0, level };
        self.column(sink, elements, copy, owner, around)
    }

    /// An array of a list by itself. Rows and arrays in it are copied by themselves, too.
    fn listed<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        level: u16,
    ) -> Result<Elements> {
        if !sink.writes() {
            check_gaps(elements, true)?;
            absent::check(self.source, elements, None)?;
            self.check_all_there(elements)?;
            if !elements.tensor && elements.column.is_tensor_only() {
                return Err(Error::new(ErrorKind::BadCode, elements.offset.into()));
            }
        }
        if let Some((form, from)) = Form::of(self.source, elements)? {
            return self.listed_tensor(sink, elements, form, from);
        }
        let home = sink.carve(ARRAY_SIZE as u64);
        let column = match elements.column.is_dictionary() || elements.column.is_run() {
            true => elements.column,
            false => elements.column.plain(),
        };
        // None of its elements is missing.
        let gaps = elements.gaps & GAPS_NULL;
        let copy = Elements { offset: home, column, gaps, ..elements };
        let around = Around { in_table: false, above: None, depth: 0, level };
        self.slots(sink, elements, copy, Owner { block: home, column: 0 }, around)
    }

    /// Checks that no element of an array of a list is missing.
    fn check_all_there(&self, array: Elements) -> Result<()> {
        let slots = array.first..array.first.saturating_add(array.count);
        for slot in slots {
            if absent::is_missing(self.source, array, slot)? {
                return Err(Error::new(ErrorKind::BadCode, array.offset.into()));
            }
        }
        Ok(())
    }

    /// A tensor that is an array of a list, by itself.
    fn listed_tensor<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        form: Form,
        from: u64,
    ) -> Result<Elements> {
        if !sink.writes() {
            self.allowance.text(form.size() as usize)?;
            let numbers = Elements { column: form.column, data: from as u32, ..elements };
            let count = form.count() as u32;
            Elements { count, capacity: count, first: 0, ..numbers }.check_extended(self.source)?;
        }
        let home = tensor(sink, &form, 0)?;
        let numbers = slice(self.source, from, form.size())?;
        sink.write(|editor, _| editor.space.write(home.numbers, numbers));
        Ok(Elements { offset: home.at, ..elements })
    }

    /// Copies a column: its header, all that belongs to it, and its numbers and booleans.
    /// `copy` has the header's place and what the column is to be; references are 0.
    fn column<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        copy: Elements,
        owner: Owner,
        around: Around,
    ) -> Result<Elements> {
        if !sink.writes() {
            self.check_size(sink)?;
            self.check_column(elements, around)?;
        }
        self.slots(sink, elements, copy, owner, around)
    }

    /// Checks a column before it is copied, but not the columns below it.
    fn check_column(&mut self, column: Elements, around: Around) -> Result<()> {
        let bad = |kind| Err(Error::new(kind, column.offset as u64));
        check_gaps(column, around.in_table || around.above.is_some())?;
        // Damaged columns may lead to their own table: each of them is paid for.
        self.allowance.work(ARRAY_SIZE as usize)?;
        column.whole(self.source)?;
        if !column.has_slots() && column.capacity != column.count {
            return bad(ErrorKind::BadCount);
        }
        if column.column.is_nested() {
            if around.depth == MAX_COLUMN_DEPTH && !column.column.is_run() {
                return bad(ErrorKind::NestingLimit);
            }
            let bits = column.bits_at(self.source)?;
            slice(self.source, bits, gaps_size(column.gaps, column.capacity as u64))?;
            match column.column {
                ColumnType::Struct => {}
                _ => self.check_list(column)?,
            }
        }
        check_tensor(self.source, column, around.in_table)?;
        absent::check(self.source, column, around.above)
    }

    /// Checks the counts of a list, and that its offsets rise.
    fn check_list(&self, column: Elements) -> Result<()> {
        let source = self.source;
        let list = List::load(source, column.data)?;
        if !column.column.takes_list(list.length.is_some()) {
            return Err(Error::new(ErrorKind::BadCode, list.offset as u64));
        }
        if list.length.is_none() {
            list.offsets(source)?.whole(source)?;
        }
        list.check_elements(source, column.count)
    }

    /// Copies a checked column.
    fn slots<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        copy: Elements,
        owner: Owner,
        around: Around,
    ) -> Result<Elements> {
        let count = elements.count;
        // Without elements there are no gaps.
        let (column, gaps) = match (count, copy.column) {
            (0, ColumnType::Null) => (ColumnType::Cells, GAPS_NONE),
            (0, column) if column.is_dictionary() || column.is_run() => (column.plain(), GAPS_NONE),
            (0, column) => (column, GAPS_NONE),
            (_, column) => (column, copy.gaps),
        };
        let data = match column {
            _ if count == 0 && !column.is_nested() => 0,
            ColumnType::Struct => self.table(sink, elements, owner, around)?,
            kind if kind.is_list() => self.list(sink, elements, owner, around)?,
            _ => sink.carve(column.slots_size(gaps, count)),
        };
        let copy = Elements { count, capacity: count, data, first: 0, column, gaps, ..copy };
        if !sink.writes() && count > 0 {
            elements.check_extended(self.source)?;
        }
        sink.try_write(|editor, _| {
            let space = &mut editor.space;
            copy.write_header(space);
            if count == 0 || column.is_nested() {
                return Ok(());
            }
            self.bitmaps(space, elements, copy, data as u64)?;
            if column.holds_references() || column == ColumnType::Null {
                return Ok(());
            }
            let (from, to) = (elements.values_at(), copy.values_at());
            if column == ColumnType::Bool {
                return self.bits(space, from, elements.first, to, count);
            }
            if column.is_marked() {
                for index in 0..count {
                    let raw = elements.element(self.source, index)?;
                    copy.put(space, index, (raw.tag, raw.cell));
                }
                return Ok(());
            }
            let width = column.width();
            let from = from + elements.first as u64 * width;
            space.write(to, slice(self.source, from, width * count as u64)?);
            Ok(())
        })?;
        if column.is_dictionary() {
            self.entries(sink, elements, copy)?;
        }
        match column.slot() {
            SlotKind::Tagged | SlotKind::Span => self.spans(sink, elements, copy, around)?,
            SlotKind::Home => self.leaves |= count > 0,
            _ => {}
        }
        Ok(copy)
    }

    /// Copies what a column's slots lead to, but for containers.
    fn spans<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        copy: Elements,
        around: Around,
    ) -> Result<()> {
        let may_miss = sink.writes() || around.in_table || around.above.is_some();
        for index in 0..copy.count {
            let raw = elements.element(self.source, index)?;
            match raw.tag {
                TAG_HOLE if may_miss => {}
                ..=TAG_SPAN_LAST => {
                    let value = self.scalar(sink, raw)?;
                    sink.write(|editor, _| copy.put(&mut editor.space, index, value));
                }
                _ => self.leaves = true,
            }
        }
        Ok(())
    }

    /// What is around the columns below a column. Counts its rows or arrays as containers.
    fn below(&mut self, writes: bool, column: Elements, around: Around) -> Result<Around> {
        let (in_table, level) =
            (column.column == ColumnType::Struct, around.level.saturating_add(1));
        let mut above = None;
        if !writes && !column.column.is_run() {
            if self.has_value(column)? {
                self.reach(level)?;
            }
            above = match in_table {
                true => Above::rows(column),
                false => Above::arrays(self.source, column, List::load(self.source, column.data)?)?,
            };
        }
        Ok(Around { in_table, above, depth: around.depth + 1, level })
    }

    /// Whether a slot of a column has a value.
    fn has_value(&self, column: Elements) -> Result<bool> {
        for slot in 0..column.count {
            if column.gap(self.source, slot)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Copies the texts of a dictionary. Checks that each code has one.
    fn entries<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        copy: Elements,
    ) -> Result<()> {
        let source = self.source;
        let bad = |kind, entries: Elements| Err(Error::new(kind, entries.offset as u64));
        let Some(from) = elements.entries(source)? else {
            return bad(ErrorKind::BadCount, elements);
        };
        if !sink.writes() {
            self.allowance.work(8 * from.count as usize)?;
            if from.count == 0 || from.count > 1 << (8 * elements.column.width()) {
                return bad(ErrorKind::BadCount, from);
            }
            if elements.stray_code(source, from.count)?.is_some() {
                return bad(ErrorKind::BadIndex, from);
            }
        }
        let data = sink.carve(from.column.data_size(from.count));
        let offset = copy.entries_at() as u32;
        let texts = Elements::new(offset, from.column, from.count, from.count, data);
        sink.write(|editor, _| texts.write_header(&mut editor.space));
        for index in 0..from.count {
            let raw = from.slot(source, index)?;
            let length = span_bytes(source, raw.cell, raw.position as u64)?.len();
            if length > MAX_SHARED as usize {
                return bad(ErrorKind::BadCell, from);
            }
            let (tag, cell) = self.scalar(sink, raw)?;
            let cell = shared_span(cell);
            sink.write(|editor, _| texts.put(&mut editor.space, index, (tag, cell)));
        }
        Ok(())
    }

    /// The bytes of these texts of a run, which are checked while bytes are counted.
    fn run_bytes(&mut self, list: List, texts: Elements, checks: bool) -> Result<Elements> {
        let source = self.source;
        let run = list.child(source)?;
        if run.column != ColumnType::U8 || run.gaps != GAPS_NONE || run.tensor {
            return Err(Error::new(ErrorKind::BadCode, run.offset as u64));
        }
        let last = texts.first.saturating_add(texts.count).saturating_sub(1);
        let (first, _) = list.text_bounds(source, texts.first)?;
        let (_, end) = list.text_bounds(source, last)?;
        for slot in texts.first..if checks { last + 1 } else { 0 } {
            let raw = texts.slot(source, slot)?;
            let bytes = span_bytes(source, raw.cell, 0)?;
            self.allowance.text(bytes.len())?;
            self.check_length(bytes)?;
            text(bytes, span_offset(raw.cell, 0))?;
        }
        let count = end.checked_sub(first).filter(|&count| count <= MAX_SPAN);
        let count = count.ok_or(Error::new(ErrorKind::BadIndex, list.offset as u64))?;
        Ok(Elements { first, count, ..run })
    }

    /// Copies the bitmaps of a column's gaps.
    fn bitmaps<S: Storage>(
        &self,
        space: &mut Space<S>,
        elements: Elements,
        copy: Elements,
        to: u64,
    ) -> Result<()> {
        let from = elements.bits_at(self.source)?;
        let (old, new) = (bitmap_size(elements.capacity as u64), bitmap_size(copy.capacity as u64));
        let first = elements.first;
        // Of a column of nulls no slot has a value, whatever damaged bits say.
        if copy.gaps != GAPS_NONE && copy.column != ColumnType::Null {
            self.bits(space, from, first, to, copy.count)?;
        }
        if copy.gaps == GAPS_BOTH {
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
    fn bits<S: Storage>(
        &self,
        space: &mut Space<S>,
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

    /// Copies a struct's table.
    fn table<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        owner: Owner,
        around: Around,
    ) -> Result<u32> {
        let source = self.source;
        let table = Table::load(source, elements.data)?;
        let from = Shape::of_table(source, table.shape as u64, table.columns)?;
        let keys = if from.is_wide() { from.count } else { table.columns.min(from.count) };
        if table.rows != elements.count || table.columns == 0 || table.columns != keys {
            return Err(Error::new(ErrorKind::BadCount, elements.offset as u64));
        }
        let around = self.below(sink.writes(), elements, around)?;
        // Without rows there are no orders.
        let copy = Table { ordered: table.ordered && table.rows > 0, ..table };
        let at = sink.carve(copy.size());
        let bits = self.nested_bits(sink, elements)?;
        let (keys, writes) = (0..table.columns, sink.writes());
        let shape = match from.is_wide() {
            true => self.wide_shape(sink, from)?,
            false => copied_shape(sink, |index| self.key(writes, from, index), keys)?,
        };
        let extras_at = self.extras(sink, table, elements)?;
        let copy = Table { offset: at, shape, extras: extras_at, ..copy };
        sink.write(|editor, _| copy.write_header(&mut editor.space, owner, bits));
        for index in 0..copy.headers() {
            let column = table.column(source, index)?;
            if column.count != elements.count {
                return Err(Error::new(ErrorKind::BadCount, elements.offset as u64));
            }
            if index == table.columns && !writes {
                let texts = column.entries(source)?.map_or(0, |texts| texts.count);
                self.allowance.work(texts as usize)?;
                check_orders(source, table, column)?;
            }
            let copy = Elements { offset: copy.header(index), ..column };
            let owner = Owner { block: at, column: index as u16 };
            self.column(sink, column, copy, owner, around)?;
        }
        Ok(at)
    }

    /// The copy of a wide shape, or one that is there with the same keys.
    fn wide_shape<S: Storage>(&mut self, sink: &mut Sink<'_, S>, from: Shape) -> Result<u32> {
        let source = self.source;
        let writes = sink.writes();
        if !writes {
            from.check_order(source)?;
        } else if let Some(shape) =
            known_shape(sink, true, |index| from.key(source, index), 0..from.count)
        {
            return Ok(shape);
        }
        let shape = new_shape(sink, from.count, from.count);
        for index in 0..from.count {
            let cell = text_span(sink, self.key(writes, from, index)?, false)?;
            sink.try_write(|editor, _| {
                editor.space.write_u64(shape.key_position(index), cell);
                let number = from.ordered(source, index)?;
                shape.put_in_order(&mut editor.space, index, number);
                Ok(())
            })?;
        }
        // The source may be memory that others write.
        sink.try_write(|editor, _| shape.check_order(editor.space.bytes()))?;
        Ok(shape.offset as u32)
    }

    /// Makes a table's extras, whose objects are to come. Returns their offset, 0 for none.
    fn extras<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        table: Table,
        rows: Elements,
    ) -> Result<u32> {
        let source = self.source;
        let Some(extras) = table.extras(source)? else { return Ok(0) };
        if !sink.writes() {
            extras.whole(source)?;
            let mut next = 0;
            for index in 0..extras.count {
                let (row, home) = extra(extras.slot(source, index)?);
                let known = row >= next && row < table.rows;
                if !known || rows.gap(source, row)?.is_some() {
                    return Err(Error::new(ErrorKind::BadIndex, extras.offset as u64));
                }
                check_further(source, table, home)?;
                next = row + 1;
            }
        }
        if extras.count == 0 {
            return Ok(0);
        }
        self.leaves = true;
        let at = sink.carve(ARRAY_SIZE as u64);
        let data = sink.carve(8 * extras.count as u64);
        let (capacity, tensor) = (extras.count, false);
        let copy = Elements { offset: at, data, capacity, tensor, ..extras };
        sink.try_write(|editor, _| {
            copy.write_header(&mut editor.space);
            for index in 0..extras.count {
                let (row, _) = extra(extras.slot(source, index)?);
                copy.put(&mut editor.space, index, extra_entry(row, 0));
            }
            Ok(())
        })?;
        Ok(at)
    }

    /// Copies a list with its offsets and elements, or a run or a part of one.
    fn list<S: Storage>(
        &mut self,
        sink: &mut Sink<'_, S>,
        elements: Elements,
        owner: Owner,
        around: Around,
    ) -> Result<u32> {
        let list = List::load(self.source, elements.data)?;
        let at = sink.carve(list.size());
        let bits = self.nested_bits(sink, elements)?;
        sink.write(|editor, _| {
            List { offset: at, ..list }.write_header(&mut editor.space, owner, bits);
        });
        let (writes, is_run) = (sink.writes(), elements.column.is_run());
        let child = match is_run {
            true => self.run_bytes(list, elements, !writes)?,
            false => list.child(self.source)?,
        };
        let copy = Elements { offset: at + LIST_CHILD, ..child };
        let owner = Owner { block: at, column: 0 };
        let around = self.below(writes, elements, around)?;
        match is_run {
            true => self.slots(sink, child, copy, owner, around)?,
            false => self.column(sink, child, copy, owner, around)?,
        };
        if list.length.is_none() {
            let offsets = list.offsets(self.source)?;
            let (first, count) = (elements.first, elements.count + 1);
            let offsets = Elements { first, count, ..offsets };
            let copy = Elements { offset: at + LIST_OFFSETS, tensor: false, ..offsets };
            let copy = self.slots(sink, offsets, copy, owner, around)?;
            sink.try_write(|editor, _| {
                let by = child.first.wrapping_neg();
                copy.add_to_offsets(&mut editor.space, 0..copy.count, by)
            })?;
        }
        if is_run {
            // As in `text_span`, texts are checked where they are now.
            let copy = List { offset: at, ..list };
            sink.try_write(|editor, _| run::check(editor.space.bytes(), copy))?;
        }
        Ok(at)
    }

    /// Copies the bitmaps of a struct or list. Returns their offset, 0 where it has none.
    fn nested_bits<S: Storage>(&self, sink: &mut Sink<'_, S>, elements: Elements) -> Result<u32> {
        if elements.gaps == GAPS_NONE || elements.count == 0 {
            return Ok(0);
        }
        let bits = sink.carve(gaps_size(elements.gaps, elements.count as u64));
        let copy = Elements { capacity: elements.count, ..elements };
        sink.try_write(|editor, _| self.bitmaps(&mut editor.space, elements, copy, bits as u64))?;
        Ok(bits)
    }
}

/// Copies text, and checks it where it is now.
fn text_span<S: Storage>(sink: &mut Sink<'_, S>, source: &[u8], owned: bool) -> Result<u64> {
    let cell = span(sink, source, owned)?;
    check_copied(sink, cell)?;
    Ok(cell)
}

/// One of the newest shapes that begins with these keys; a wide one has these and no others. It has
/// one more user now.
fn known_shape<'k, S: Storage>(
    sink: &mut Sink<'_, S>,
    wide: bool,
    mut key: impl FnMut(u32) -> Result<&'k [u8]>,
    keys: impl ExactSizeIterator<Item = u32> + Clone,
) -> Option<u32> {
    let (bytes, count) = (sink.bytes(), keys.len() as u32);
    let found = shape::among_newest(bytes, wide, |candidate| {
        if candidate.count < count || (wide && candidate.count != count) {
            return Ok(None);
        }
        for (at, index) in (0..).zip(keys.clone()) {
            if candidate.key(bytes, at)? != key(index)? {
                return Ok(None);
            }
        }
        Ok(Some(candidate.offset as u32))
    });
    // Shapes that are damaged are of no use.
    let shape = found.ok()??;
    sink.write(|editor, _| shape::adopt(&mut editor.space, shape));
    Some(shape)
}

/// A shape here that begins with these keys, found or made. A shape that is there now may be gone
/// in the run that writes. So bytes for a new one are counted.
fn copied_shape<'k, S: Storage>(
    sink: &mut Sink<'_, S>,
    mut key: impl FnMut(u32) -> Result<&'k [u8]>,
    keys: impl ExactSizeIterator<Item = u32> + Clone,
) -> Result<u32> {
    if sink.writes()
        && let Some(shape) = known_shape(sink, false, &mut key, keys.clone())
    {
        return Ok(shape);
    }
    let count = keys.len() as u32;
    let mut shape = new_shape(sink, count, 0);
    for (at, index) in (0..).zip(keys) {
        let key = key(index)?;
        let cell = text_span(sink, key, false)?;
        sink.write(|editor, _| {
            let fingerprint = Needle::new(key).fingerprint;
            shape = shape::put_key(&mut editor.space, shape, at, cell, fingerprint);
        });
    }
    Ok(shape.offset as u32)
}

/// Checks that a column may have gaps of this kind. Cells have none, since a cell can be null
/// itself. Only rows of tables can miss a field.
fn check_gaps(column: Elements, in_table: bool) -> Result<()> {
    let untyped = column.column == ColumnType::Cells && column.gaps != GAPS_NONE;
    if untyped || (column.gaps & GAPS_MISSING != 0 && !in_table) {
        return Err(Error::new(ErrorKind::BadCode, column.offset as u64));
    }
    Ok(())
}

/// Checks that no key occurs twice in a row's further fields, which become fields of a record.
/// There are at most 255, mostly a few.
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

/// The places of an object's fields, as many as a record can have.
struct KeyList {
    places: [u32; MAX_FIELDS],
    count: usize,
}

impl KeyList {
    const EMPTY: KeyList = KeyList { places: [0; MAX_FIELDS], count: 0 };

    fn push(&mut self, place: u32) -> Result<()> {
        let full = || Error::with_detail(ErrorKind::ElementLimit, 0, MAX_FIELDS as u64);
        *self.places.get_mut(self.count).ok_or_else(full)? = place;
        self.count += 1;
        Ok(())
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        self.places[..self.count].iter().copied()
    }
}
