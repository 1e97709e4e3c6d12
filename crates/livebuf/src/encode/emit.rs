//! Writing the containers that waited for the end of the outermost array, by plan.

use super::encoder::Encoder;
use super::keys::KeyList;
use super::plan::{Below, Dictionary, MISSING, Places, Plan, Planner};
use super::room::{LARGE, PLACE};
use super::shred::Shred;
use super::stack::{
    CellRun, TAG_ABSORBED_ARRAY, TAG_ABSORBED_OBJECT, TAG_ABSORBED_TENSOR, TAG_LOOSE,
    TAG_LOOSE_UUID, TAG_TENSOR, TAG_WAITING, TAG_WAITING_ARRAY, TAG_WAITING_OBJECT, places,
};
use super::texts::{Texts, settle, settle_shared};
use crate::block::column::Elements;
use crate::block::column_type::{ColumnType, SlotKind};
use crate::block::list::List;
use crate::block::owner::Owner;
use crate::block::table::Table;
use crate::block::tensor::Form;
use crate::error::Result;
use crate::format::bytes::round_up;
use crate::format::layout::*;
use crate::format::memory::require_memory;
use crate::store::storage::Storage;
use alloc::vec::Vec;

/// A container whose contents are being laid out, and where they end on the stack.
struct OpenContainer {
    at: usize,
    end: usize,
    /// Of an array, and where the places of its columns' values begin.
    plan: Option<(Plan, usize)>,
}

/// The tag and cell of a value that is laid out.
#[inline]
fn value(tags: &[u8], cells: &[u64], at: usize) -> (u8, u64) {
    let cell = cells[at];
    match tags[at] {
        TAG_WAITING_ARRAY => (TAG_ARRAY, cell >> 32),
        TAG_WAITING_OBJECT if cell >> 32 == 0 => (TAG_OBJECT, cell),
        TAG_WAITING_OBJECT => (TAG_OBJECT, cells[at + 1]),
        tag => (tag, cell),
    }
}

impl<S: Storage> Encoder<S> {
    /// Lays out the array whose elements are the values from `start` on, with all that waits in
    /// it. Returns its home.
    pub(super) fn lay_out_array(&mut self, start: usize) -> Result<u32> {
        self.room_for_plan(start)?;
        let listed = self.places.len();
        let plan = match self.plan_rows()? {
            Some(plan) => plan,
            None => self.plan(start, self.cells.len())?,
        };
        self.write_planned(plan, start, listed, 0)
    }

    /// Lays out an array of a map's values, which wait from `start` on, if they become the rows of
    /// a table (PROFILE 4), behind room for the rest of a map's header. Returns where that is.
    /// `None` if they do not become rows; then nothing is written, and they still wait.
    pub(super) fn lay_out_rows(&mut self, start: usize) -> Result<Option<u32>> {
        self.room_for_plan(start)?;
        let (listed, end) = (self.places.len(), self.cells.len());
        let plan = self.planner().0.array(start, end)?;
        if plan.column != ColumnType::Struct {
            self.places.truncate(listed);
            return Ok(None);
        }
        let plan = self.absorbed(plan);
        let header = self.write_planned(plan, start, listed, MAP_VALUES)?;
        Ok(Some(header - MAP_VALUES))
    }

    /// Looks for the memory that the plan of a large array takes beside its values, and checks that
    /// their places fit 32 bits.
    fn room_for_plan(&self, start: usize) -> Result<()> {
        const DICTIONARIES: usize = 4 << 20;
        self.check_places()?;
        match self.waiting_values().saturating_sub(start) {
            0..LARGE => Ok(()),
            places => require_memory(2 * PLACE * places + DICTIONARIES),
        }
    }

    /// Writes an array, and what waits among the values from `start` on. The plan's places are
    /// those from `listed` on. `before`: bytes to leave before the header.
    fn write_planned(
        &mut self,
        plan: Plan,
        start: usize,
        listed: usize,
        before: u32,
    ) -> Result<u32> {
        self.check_elements(plan.places.len() as usize)?;
        match plan.waits {
            true => self.lay_out(start, self.cells.len())?,
            // The plan's size is that of columns, and all of it is written next.
            false => self.out.expect(plan.size),
        }
        let home = self.write_array(&plan, before)?;
        self.places.truncate(listed);
        Ok(home)
    }

    /// The plan for an array of rows that were taken apart.
    fn plan_rows(&mut self) -> Result<Option<Plan>> {
        if self.shred.rows == 0 && !self.take_rows_apart()? {
            return Ok(None);
        }
        let (mut planner, shred) = self.planner();
        let plan = shred.plan(&mut planner);
        if plan.is_none() {
            self.put_together()?;
        }
        Ok(plan)
    }

    /// Lays out all that waits among the values from `start` on, and makes them one
    /// place each.
    pub(super) fn settle_waiting(&mut self, start: usize) -> Result<()> {
        let end = self.cells.len();
        self.lay_out(start, end)?;
        self.gather(start, end)?;
        self.cells.drain(start..end);
        self.tags.drain(start..end);
        Ok(())
    }

    /// Puts the values from `from` to `end`, laid out, behind all others, one place each.
    fn gather(&mut self, mut from: usize, end: usize) -> Result<()> {
        while from < end {
            let (tag, cell) = value(&self.tags, &self.cells, from);
            from += places(&self.tags, &self.cells, from);
            let (tag, cell) = self.texts.write(&mut self.out, tag, cell)?;
            self.put(tag, cell)?;
        }
        Ok(())
    }

    /// What plans, and the rows that are taken apart.
    fn planner(&mut self) -> (Planner<'_>, &Shred) {
        let planner = Planner {
            tags: &self.tags,
            cells: &self.cells,
            lists: &self.keys.lists,
            texts: &mut self.texts,
            codes: &mut self.codes,
            tensors: &self.tensors,
            min_width: self.options.min_width,
            tables: self.options.tables,
            places: &mut self.places,
        };
        (planner, &self.shred)
    }

    fn plan(&mut self, start: usize, end: usize) -> Result<Plan> {
        let plan = self.planner().0.array(start, end)?;
        Ok(self.absorbed(plan))
    }

    /// The plan of an array. If some containers in it do not become columns, marks those that do.
    fn absorbed(&mut self, plan: Plan) -> Plan {
        if plan.waits {
            absorb(&plan, &self.places, &mut self.tags);
        }
        plan
    }

    /// Lays out all containers from `start` to `end` that are no part of columns, each
    /// after its contents.
    fn lay_out(&mut self, start: usize, end: usize) -> Result<()> {
        let mut open: Vec<OpenContainer> = Vec::new();
        let mut at = start;
        loop {
            while open.last().is_some_and(|open| open.end == at) {
                let Some(done) = open.pop() else { break };
                let home = match &done.plan {
                    Some((plan, listed)) => {
                        let home = self.write_array(plan, 0)?;
                        self.places.truncate(*listed);
                        home
                    }
                    None => self.write_object(done.at)?,
                };
                match self.tags[done.at] {
                    TAG_WAITING_ARRAY => {
                        let places = self.cells[done.at] as u32;
                        self.cells[done.at] = places as u64 | (home as u64) << 32;
                    }
                    _ if self.cells[done.at] >> 32 == 0 => self.cells[done.at] = home as u64,
                    _ => self.cells[done.at + 1] = home as u64,
                }
            }
            if at >= end {
                return Ok(());
            }
            match self.tags[at] {
                TAG_WAITING_ARRAY => {
                    let end = at + places(&self.tags, &self.cells, at);
                    let listed = self.places.len();
                    let plan = self.plan(at + 1, end)?;
                    let next = if plan.waits { at + 1 } else { end };
                    open.push(OpenContainer { at, end, plan: Some((plan, listed)) });
                    at = next;
                }
                TAG_WAITING_OBJECT => {
                    let end = at + places(&self.tags, &self.cells, at);
                    open.push(OpenContainer { at, end, plan: None });
                    at += if end == at + 1 { 1 } else { 2 };
                }
                TAG_TENSOR => {
                    let home = self.tensors.write(&mut self.out, self.cells[at])?;
                    (self.tags[at], self.cells[at]) = (TAG_ARRAY, home.into());
                    at += 1;
                }
                TAG_ABSORBED_OBJECT => at += if self.cells[at] >> 32 == 0 { 1 } else { 2 },
                _ => at += 1,
            }
        }
    }

    /// Writes the waiting object at `at`, whose contents are laid out already.
    fn write_object(&mut self, at: usize) -> Result<u32> {
        let (list, start) = (self.cells[at] as u32, self.cells.len());
        // An empty one has no place for its size.
        let end = at + places(&self.tags, &self.cells, at);
        self.gather(at + 2, end)?;
        let home = match self.keys.lists[list as usize].is_wide() {
            true => self.end_wide(start, list)?,
            false => self.end_record(start, list)?,
        };
        self.cells.truncate(start);
        self.tags.truncate(start);
        Ok(home)
    }

    /// Writes an array by plan. The containers outside its columns are laid out already.
    fn write_array(&mut self, plan: &Plan, before: u32) -> Result<u32> {
        self.out.align();
        let (start, _) = self.out.grow((before + ARRAY_SIZE) as usize)?;
        let home = start + before;
        self.write_column(plan, home, Owner { block: home, column: 0 })?;
        Ok(home)
    }

    /// Writes a column's data, and its header at a place that is there already.
    fn write_column(&mut self, plan: &Plan, header: u32, owner: Owner) -> Result<()> {
        let data = match &plan.below {
            Below::Nothing => self.write_leaf(plan)?,
            Below::Dictionary(dictionary) => self.write_dictionary(plan, dictionary)?,
            Below::Run(offsets, bytes) => self.write_run(plan, *offsets, *bytes, owner)?,
            Below::Table(keys, columns) => self.write_table(plan, keys, columns, owner)?,
            Below::List(child, offsets) => self.write_list(plan, child, offsets.as_ref(), owner)?,
            Below::Tensors(form) => self.write_tensors(plan, form, owner)?,
        };
        let count = plan.places.len();
        self.put_header(header, plan.column, plan.gaps, count, data);
        Ok(())
    }

    pub(super) fn put_header(
        &mut self,
        header: u32,
        column: ColumnType,
        gaps: u8,
        count: u32,
        data: u32,
    ) {
        let data = if count == 0 { 0 } else { data };
        let column = Elements { gaps, ..Elements::new(header, column, count, count, data) };
        column.write_header(&mut self.out);
    }

    fn write_table(
        &mut self,
        plan: &Plan,
        keys: &[u32],
        columns: &[Plan],
        owner: Owner,
    ) -> Result<u32> {
        let mut list = 0;
        for &key in keys {
            list = self.keys.longer_list(list, key)?;
        }
        let rows = plan.places.len();
        let (table, _) = self.out.grow(table_size(columns.len() as u32) as usize)?;
        let bits = self.write_bits(plan)?;
        let node: &mut KeyList = &mut self.keys.lists[list as usize];
        let header = Table {
            offset: table,
            columns: keys.len() as u32,
            // A link to the one before, until the shape is written.
            shape: node.records,
            rows,
            extras: 0,
            ordered: columns.len() > keys.len(),
        };
        header.write_header(&mut self.out, owner, bits);
        node.records = table;
        node.count = node.count.saturating_add(1);
        for (column, index) in columns.iter().zip(0u32..) {
            let owner = Owner { block: table, column: index as u16 };
            self.write_column(column, table + table_column(index), owner)?;
        }
        Ok(table)
    }

    fn write_list(
        &mut self,
        plan: &Plan,
        child: &Plan,
        offsets: Option<&(ColumnType, Vec<u32>)>,
        owner: Owner,
    ) -> Result<u32> {
        let rows = plan.places.len();
        let size = if offsets.is_some() { LIST_SIZE } else { FIXED_LIST_SIZE };
        let (list, _) = self.out.grow(size as usize)?;
        let bits = self.write_bits(plan)?;
        let length = offsets.is_none().then(|| child.places.len() / rows.max(1));
        List { offset: list, length }.write_header(&mut self.out, owner, bits);
        if let Some((column, ends)) = offsets {
            let (data, place) = self.out.grow(column.data_size(rows + 1) as usize)?;
            let width = column.width() as usize;
            // The first offset is 0.
            for (slot, end) in place.chunks_exact_mut(width).skip(1).zip(ends) {
                slot.copy_from_slice(&end.to_le_bytes()[..width]);
            }
            self.put_header(list + LIST_OFFSETS, *column, GAPS_NONE, rows + 1, data);
        }
        self.write_column(child, list + LIST_CHILD, Owner { block: list, column: 0 })?;
        Ok(list)
    }

    /// Writes the lists of tensors, which are of one form.
    fn write_tensors(&mut self, plan: &Plan, form: &Form, owner: Owner) -> Result<u32> {
        let size = gaps_size(plan.gaps, plan.places.len() as u64) as usize;
        let places = plan.places.listed(&self.places).iter().copied();
        let (tags, cells) = (&self.tags, &self.cells);
        let tag = |at: u32| tags.get(at as usize).copied().unwrap_or(TAG_HOLE);
        let rows = places.clone().map(|at| {
            let there = matches!(tag(at), TAG_TENSOR | TAG_ABSORBED_TENSOR);
            there.then(|| cells[at as usize])
        });
        let (list, bits) =
            self.tensors.write_column(&mut self.out, form, owner, size as u32, rows)?;
        if size > 0 {
            let place = &mut self.out.bytes_mut()[bits as usize..bits as usize + size];
            put_bits(place, plan.gaps, 0, places.map(tag));
        }
        Ok(list)
    }

    /// Writes the bitmaps of a struct's or list's gaps; 0 where it has none.
    fn write_bits(&mut self, plan: &Plan) -> Result<u32> {
        let size = gaps_size(plan.gaps, plan.places.len() as u64) as usize;
        if size == 0 {
            return Ok(0);
        }
        let (bits, place) = self.out.grow(size)?;
        let places = plan.places.listed(&self.places).iter();
        let tags = places.map(|&at| self.tags.get(at as usize).copied().unwrap_or(TAG_HOLE));
        put_bits(place, plan.gaps, 0, tags);
        Ok(bits)
    }

    /// Writes the codes of a dictionary, and its texts' header and cells.
    fn write_dictionary(&mut self, plan: &Plan, dictionary: &Dictionary) -> Result<u32> {
        let data = self.write_leaf(plan)?;
        let (count, width) = (plan.places.len(), plan.column.width() as usize);
        let codes = data + gaps_size(plan.gaps, count as u64) as u32;
        let header = codes + round_up(count as u64 * width as u64) as u32;
        let place = &mut self.out.bytes_mut()[codes as usize..header as usize];
        for (slot, code) in place.chunks_exact_mut(width).zip(&dictionary.codes) {
            slot.copy_from_slice(&code.to_le_bytes()[..width]);
        }
        let (texts, mut written) = (dictionary.texts.len() as u32, dictionary.texts.clone());
        for (tag, cell) in &mut written {
            (*tag, *cell) = self.texts.write(&mut self.out, *tag, *cell)?;
        }
        self.out.align();
        let (cells, place) = self.out.grow(8 * texts as usize)?;
        for (slot, (tag, cell)) in place.chunks_exact_mut(8).zip(written) {
            let cell = settle_shared(&mut self.texts.list, tag, cell);
            slot.copy_from_slice(&cell.to_le_bytes());
        }
        self.put_header(header, ColumnType::String, GAPS_NONE, texts, cells);
        Ok(data)
    }

    /// Writes the list of a run's texts: bitmaps, offsets where lengths differ, and the texts.
    fn write_run(
        &mut self,
        plan: &Plan,
        offsets: Option<ColumnType>,
        bytes: u32,
        owner: Owner,
    ) -> Result<u32> {
        let (count, width) = (plan.places.len(), offsets.map_or(0, ColumnType::width));
        let length = offsets.is_none().then(|| bytes / count.max(1));
        let size = if offsets.is_some() { LIST_SIZE } else { FIXED_LIST_SIZE };
        let (list, _) = self.out.grow(size as usize)?;
        let size = gaps_size(plan.gaps, count as u64) as usize;
        let (bits, _) = self.out.grow(size)?;
        let header = List { offset: list, length };
        header.write_header(&mut self.out, owner, if size == 0 { 0 } else { bits });
        // The first offset is 0.
        let mut slot = width as usize;
        if let Some(column) = offsets {
            let (offsets, _) = self.out.grow(column.data_size(count + 1) as usize)?;
            self.put_header(list + LIST_OFFSETS, column, GAPS_NONE, count + 1, offsets);
            slot += offsets as usize;
        }
        let (run, _) = self.out.grow(round_up(bytes.into()) as usize)?;
        self.put_header(list + LIST_CHILD, ColumnType::U8, GAPS_NONE, bytes, run);
        let (written, place) = self.out.bytes_mut().split_at_mut(run as usize);
        let (mut row, mut end) = (0, 0);
        let (tags, cells, texts) = (&self.tags, &self.cells, &mut self.texts);
        let mut put = |(tag, cell): (u8, u64)| {
            match length {
                Some(length) if tag == TAG_NULL || tag == TAG_HOLE => end += length as usize,
                None if tag == TAG_NULL || tag == TAG_HOLE => {}
                _ => end += texts.write_in_run((tag, cell), written, (&mut *place, run), end),
            }
            if plan.gaps != GAPS_NONE {
                let bits = &mut written[bits as usize..][..size];
                put_bits(bits, plan.gaps, row, core::iter::once(tag));
                row += 1;
            }
            // Each arm has a constant width.
            match width {
                0 => {}
                1 => written[slot] = end as u8,
                2 => written[slot..slot + 2].copy_from_slice(&(end as u16).to_le_bytes()),
                _ => written[slot..slot + 4].copy_from_slice(&(end as u32).to_le_bytes()),
            }
            slot += width as usize;
        };
        match self.shred.run_of(plan.places, CellRun { tags, cells }) {
            Some(run) => run.values().for_each(put),
            None => plan.places.listed(&self.places).iter().for_each(|&at| match at {
                MISSING.. => put((TAG_HOLE, 0)),
                at => put((tags[at as usize], cells[at as usize])),
            }),
        }
        Ok(list)
    }

    /// Writes the texts that a column's cells refer to.
    fn write_texts(&mut self, plan: &Plan) -> Result<()> {
        if !matches!(plan.column, ColumnType::String | ColumnType::Cells) {
            return Ok(());
        }
        let (texts, out) = (&mut self.texts, &mut self.out);
        let (tags, cells) = match plan.places {
            Places::Shredded(column, _) => self.shred.columns[column as usize].run_mut(),
            _ => (self.tags.as_mut_slice(), self.cells.as_mut_slice()),
        };
        let mut write = |at: usize| -> Result<()> {
            if matches!(tags[at], TAG_LOOSE | TAG_LOOSE_UUID | TAG_WAITING) {
                (tags[at], cells[at]) = texts.write(out, tags[at], cells[at])?;
            }
            Ok(())
        };
        match plan.places {
            Places::Run(start, count) => {
                (start as usize..(start + count) as usize).try_for_each(write)?;
            }
            Places::Shredded(_, count) => (0..count as usize).try_for_each(write)?,
            Places::Listed(..) => {
                let places = plan.places.listed(&self.places).iter();
                places.filter(|&&at| at < MISSING).try_for_each(|&at| write(at as usize))?;
            }
        }
        self.out.align();
        Ok(())
    }

    /// Writes the slots of a column without structs and lists. A dictionary's codes are still to be
    /// written.
    fn write_leaf(&mut self, plan: &Plan) -> Result<u32> {
        self.write_texts(plan)?;
        let (column, count) = (plan.column, plan.places.len());
        let bits = gaps_size(plan.gaps, count as u64) as usize;
        let (data, place) = self.out.grow(bits + column.data_size(count) as usize)?;
        let (bitmap, place) = place.split_at_mut(bits);
        let (tags, cells) = (self.tags.as_slice(), self.cells.as_slice());
        let gaps = plan.gaps;
        let leaf = LeafMut { column, gaps, count, bits: bitmap, slots: place };
        let texts = &mut self.texts;
        let base = data + bits as u32;
        match self.shred.run_of(plan.places, CellRun { tags, cells }) {
            Some(run) => leaf.put(base, run.values(), texts),
            None => {
                let places = plan.places.listed(&self.places).iter();
                let values = places.map(|&at| match at {
                    MISSING.. => (TAG_HOLE, 0),
                    at => value(tags, cells, at as usize),
                });
                leaf.put(base, values, texts);
            }
        }
        Ok(data)
    }
}

/// Marks the containers that a plan makes part of columns.
fn absorb(plan: &Plan, places: &[u32], tags: &mut [u8]) {
    let mut mark = |tag| {
        for &place in plan.places.listed(places).iter().filter(|&&place| place < MISSING) {
            if tags[place as usize] != TAG_NULL {
                tags[place as usize] = tag;
            }
        }
    };
    match &plan.below {
        Below::Nothing | Below::Dictionary(_) | Below::Run(..) => {}
        Below::Tensors(_) => mark(TAG_ABSORBED_TENSOR),
        Below::Table(_, columns) => {
            mark(TAG_ABSORBED_OBJECT);
            columns.iter().for_each(|column| absorb(column, places, tags));
        }
        Below::List(child, _) => {
            mark(TAG_ABSORBED_ARRAY);
            absorb(child, places, tags);
        }
    }
}

/// The slots of a column without structs and lists, and their bitmaps.
struct LeafMut<'d> {
    column: ColumnType,
    gaps: u8,
    count: u32,
    bits: &'d mut [u8],
    slots: &'d mut [u8],
}

impl LeafMut<'_> {
    /// Writes the slots; those of tag 0 have no value, and stay zero. The slots begin at `base` in
    /// the document.
    #[inline]
    fn put(
        self,
        base: u32,
        values: impl ExactSizeIterator<Item = (u8, u64)> + Clone,
        texts: &mut Texts,
    ) {
        if self.gaps != GAPS_NONE {
            put_bits(self.bits, self.gaps, 0, values.clone().map(|(tag, _)| tag));
        }
        let slots = self.slots;
        match self.column.slot() {
            SlotKind::Nothing | SlotKind::Nested | SlotKind::Run | SlotKind::Code => {}
            SlotKind::Bit => {
                for (index, (tag, _)) in values.enumerate() {
                    slots[index / 8] |= ((tag == TAG_TRUE) as u8) << (index % 8);
                }
            }
            SlotKind::Tagged => {
                for (index, (tag, cell)) in (0..).zip(values) {
                    let at = cell_at(index);
                    let (tag, cell) = settle(&mut texts.list, tag, cell, base + at as u32);
                    slots[tag_at(index) as usize] = tag;
                    slots[at as usize..][..8].copy_from_slice(&cell.to_le_bytes());
                }
            }
            SlotKind::Span => {
                let slots = slots.chunks_exact_mut(8);
                let positions = (base..).step_by(8);
                for ((slot, position), (tag, cell)) in slots.zip(positions).zip(values) {
                    let (_, cell) = settle(&mut texts.list, tag, cell, position);
                    slot.copy_from_slice(&cell.to_le_bytes());
                }
            }
            SlotKind::Float if self.column.width() == 4 => {
                put_slots(slots, values, |_, cell| (f64::from_bits(cell) as f32).to_le_bytes());
            }
            // Null's cell is 0.
            SlotKind::Integer | SlotKind::Float | SlotKind::Home | SlotKind::Extended => {
                match self.column.width() {
                    1 => put_slots(slots, values, |_, cell| [cell as u8]),
                    2 => put_slots(slots, values, |_, cell| (cell as u16).to_le_bytes()),
                    4 => put_slots(slots, values, |_, cell| (cell as u32).to_le_bytes()),
                    _ => put_slots(slots, values, |_, cell| cell.to_le_bytes()),
                }
            }
            SlotKind::Bytes => {
                let slots = slots.chunks_exact_mut(UUID_SIZE);
                for (slot, (tag, cell)) in slots.zip(values) {
                    if tag == TAG_LOOSE_UUID {
                        slot.copy_from_slice(texts.loose(cell));
                    }
                }
            }
            SlotKind::Number | SlotKind::Marked => {
                put_numbers(slots, self.column, self.count, values);
            }
            // Columns of tensors are written from their own bytes.
            SlotKind::Flag => {}
        }
    }
}

/// Writes the bitmaps of slots from `first` on: which hold a value, and which of the others
/// null.
#[inline]
fn put_bits(place: &mut [u8], gaps: u8, first: usize, tags: impl Iterator<Item = u8>) {
    let half = if gaps == GAPS_BOTH { place.len() / 2 } else { place.len() };
    let (valid, null) = place.split_at_mut(half);
    for (index, tag) in (first..).zip(tags) {
        let bit = 1 << (index % 8);
        match tag {
            TAG_HOLE => {}
            TAG_NULL => {
                if let Some(byte) = null.get_mut(index / 8) {
                    *byte |= bit;
                }
            }
            _ => valid[index / 8] |= bit,
        }
    }
}

/// Writes the slots of a column of so many numbers.
fn put_numbers(
    place: &mut [u8],
    column: ColumnType,
    count: u32,
    values: impl Iterator<Item = (u8, u64)> + Clone,
) {
    let (slots, marks) = place.split_at_mut(round_up(u64::from(count) * column.width()) as usize);
    // The column was chosen by these values, so it holds each of them.
    let number = |tag: u8, cell: u64| match tag {
        TAG_INT => cell as i64 as f64,
        _ => f64::from_bits(cell),
    };
    match column.width() {
        4 => put_slots(slots, values.clone(), |tag, cell| (number(tag, cell) as f32).to_le_bytes()),
        _ => put_slots(slots, values.clone(), |tag, cell| number(tag, cell).to_le_bytes()),
    }
    if !marks.is_empty() {
        for (index, (tag, cell)) in values.enumerate() {
            marks[index / 8] |= (column.is_mark(tag, cell) as u8) << (index % 8);
        }
    }
}

/// Writes slots of whole bytes.
#[inline]
fn put_slots<const WIDTH: usize>(
    place: &mut [u8],
    values: impl Iterator<Item = (u8, u64)>,
    slot: impl Fn(u8, u64) -> [u8; WIDTH],
) {
    for (to, (tag, cell)) in place.chunks_exact_mut(WIDTH).zip(values) {
        to.copy_from_slice(&slot(tag, cell));
    }
}
