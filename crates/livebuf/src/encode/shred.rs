//! Rows that are alike, put by column while they wait.
//!
//! This is for long arrays of objects that all have the same keys in the same order. The
//! rows of each chunk are taken apart when the chunk is full. The stack then has the values
//! of the first column, those of the second, and so on. Planning needs no list of places, and
//! a column's values are read one after the other. Arrays in such rows may differ in length,
//! but hold no containers.
//!
//! After the first chunk, further rows are expected to be like it. Their values go to the
//! columns at once, and never wait as rows.
//!
//! The first row that is different ends this. All rows are put back as they were, and the
//! array is planned in the general way (`plan`).

use super::keys::KeyList;
use super::plan::{CellRun, Gathered, Places, Plan, Planner, Summary, object_size};
use super::room::{make_room, make_room_for, memory};
use super::stack::{
    TAG_LOOSE, TAG_LOOSE_UUID, TAG_WAITING, TAG_WAITING_ARRAY, TAG_WAITING_OBJECT, children, run,
};
use crate::error::{Error, Result};
use crate::format::bytes::round_up;
use crate::format::layout::*;
use alloc::vec::Vec;
use core::ops::Range;

/// Places of waiting rows that make a chunk: few enough to stay in the cache.
pub(super) const CHUNK: usize = 1 << 13;

/// How many expected rows are gathered before they are put on the stack. A column of them has room
/// for as many values at first.
pub(super) const EXPECTED: u32 = 256;

/// The rows that are taken apart, and what they all have in common.
pub(super) struct Shred {
    /// Place of the first row, taken apart or not.
    pub(super) start: usize,
    /// Place of the first row that waits as it came.
    pub(super) from: usize,
    /// Length of the stack at which the next chunk is full; `usize::MAX`: never.
    pub(super) due: usize,
    /// The values of a row, each container before its contents.
    pub(super) steps: Vec<ShredStep>,
    pub(super) columns: usize,
    /// Rows of each chunk, and where each of its columns ends on the stack.
    pub(super) chunks: Vec<u32>,
    pub(super) ends: Vec<u32>,
    pub(super) rows: u32,
    pub(super) scratch: Scratch,
    /// The events of an expected row, and the index of the next one. The index is
    /// `usize::MAX` while no row is expected.
    pub(super) events: Vec<Event>,
    pub(super) next: usize,
    /// The values of expected rows, by column, and how many rows are whole.
    pub(super) expected: Vec<Values>,
    pub(super) whole: u32,
}

/// An event in a row.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Event {
    BeginObject,
    /// A key, by the key list that it makes.
    Key(u32),
    /// A value of this column.
    Value(u32),
    BeginArray,
    /// Elements of this column, and the array's end.
    Elements(u32),
    EndObject,
}

/// Values of one column. There is room behind them, so that one more is two stores and a count.
#[derive(Default)]
pub(super) struct Values {
    cells: Vec<u64>,
    tags: Vec<u8>,
    count: usize,
    /// Where the values are elements of arrays: where each array ends among them.
    pub(super) ends: Vec<u32>,
}

impl Values {
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.ends.clear();
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Tags and cells of the first `count` values.
    pub(super) fn first(&self, count: usize) -> (&[u8], &[u64]) {
        (&self.tags[..count], &self.cells[..count])
    }

    /// Adds a value. False where there is no room.
    #[inline]
    pub(super) fn put(&mut self, tag: u8, cell: u64) -> bool {
        let at = self.count;
        let (Some(cells), Some(tags)) = (self.cells.get_mut(at), self.tags.get_mut(at)) else {
            return false;
        };
        (*cells, *tags, self.count) = (cell, tag, at + 1);
        true
    }

    /// Ends an array, whose elements are the values since the end of the one before. False where
    /// it has more than `most` elements.
    #[inline]
    pub(super) fn end(&mut self, most: usize) -> bool {
        let begun = self.ends.last().map_or(0, |&end| end as usize);
        let fits = self.count - begun <= most;
        if fits {
            self.ends.push(self.count as u32);
        }
        fits
    }

    /// Makes room for one more at least.
    #[cold]
    pub(super) fn grow(&mut self) -> Result<()> {
        let room = (2 * self.cells.len()).max(EXPECTED as usize);
        let refused = |_| Error::out_of_memory(9 * room as u64);
        self.cells.try_reserve_exact(room - self.cells.len()).map_err(refused)?;
        self.tags.try_reserve_exact(room - self.tags.len()).map_err(refused)?;
        self.cells.resize(room, 0);
        self.tags.resize(room, 0);
        Ok(())
    }

    /// Takes the first `count` values away.
    pub(super) fn take(&mut self, count: usize) {
        self.cells.copy_within(count..self.count, 0);
        self.tags.copy_within(count..self.count, 0);
        self.count -= count;
    }

    /// Takes the last value away, and returns it.
    pub(super) fn pop(&mut self) -> Option<(u8, u64)> {
        self.count = self.count.checked_sub(1)?;
        Some((self.tags[self.count], self.cells[self.count]))
    }

    /// Bytes of memory.
    fn kept_bytes(&self) -> usize {
        memory(&self.cells) + memory(&self.tags) + memory(&self.ends)
    }
}

#[derive(Default)]
pub(super) struct Scratch {
    /// The place that each row was read up to.
    pub(super) cursors: Vec<u32>,
    pub(super) cells: Vec<u64>,
    pub(super) tags: Vec<u8>,
}

pub(super) struct ShredStep {
    pub(super) holds: Holds,
    /// The number of its first column. A value has one column. An array has two: the first is for
    /// the lengths, and the second for the elements. The first is empty in chunks whose arrays all
    /// have one length. An object has none.
    pub(super) column: usize,
    /// The summary of its values; of an array that of the elements.
    pub(super) values: Summary,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Holds {
    Value,
    Array,
    /// An object with this key list.
    Object(u32),
}

/// Whether a tag is that of a value that is neither a container nor a part of one.
#[inline]
pub(super) fn is_plain(tag: u8) -> bool {
    tag <= TAG_SPAN_LAST || matches!(tag, TAG_LOOSE | TAG_LOOSE_UUID | TAG_WAITING)
}

impl Default for Shred {
    fn default() -> Self {
        Shred {
            start: 0,
            from: 0,
            due: usize::MAX,
            steps: Vec::new(),
            columns: 0,
            chunks: Vec::new(),
            ends: Vec::new(),
            rows: 0,
            scratch: Scratch::default(),
            events: Vec::new(),
            next: usize::MAX,
            expected: Vec::new(),
            whole: 0,
        }
    }
}

impl Shred {
    /// A new outermost array begins, its rows at this place.
    pub(super) fn restart(&mut self, start: usize) {
        (self.start, self.from, self.due) = (start, start, start + CHUNK);
        (self.columns, self.rows, self.next, self.whole) = (0, 0, usize::MAX, 0);
        self.steps.clear();
        self.chunks.clear();
        self.ends.clear();
        self.events.clear();
    }

    pub(super) fn stop(&mut self) {
        self.restart(0);
        self.due = usize::MAX;
    }

    /// Bytes of memory.
    pub(super) fn kept_bytes(&self) -> usize {
        let Scratch { cursors, cells, tags } = &self.scratch;
        memory(&self.steps)
            + memory(&self.chunks)
            + memory(&self.ends)
            + memory(&self.events)
            + memory(cursors)
            + memory(cells)
            + memory(tags)
            + self.expected.iter().map(Values::kept_bytes).sum::<usize>()
    }

    /// The places of a column's values, chunk by chunk.
    pub(super) fn runs(&self, column: usize) -> impl Iterator<Item = Range<usize>> + Clone + '_ {
        let mut start = self.start;
        self.ends.chunks(self.columns.max(1)).map(move |ends| {
            let from = if column == 0 { start } else { ends[column - 1] as usize };
            start = ends[ends.len() - 1] as usize;
            from..ends[column] as usize
        })
    }

    /// Learns the steps of the row at `at`. False if such rows cannot be taken apart.
    pub(super) fn learn(
        &mut self,
        lists: &[KeyList],
        tags: &[u8],
        cells: &[u64],
        at: usize,
        depth: usize,
    ) -> bool {
        let column = self.columns;
        // If its members are objects, it may become a map, though others like it become rows.
        let is_wide = |at: usize| lists[cells[at] as u32 as usize].is_wide();
        if tags[at] == TAG_WAITING_OBJECT
            && is_wide(at)
            && children(tags, cells, at).any(|at| tags[at] == TAG_WAITING_OBJECT)
        {
            return false;
        }
        let (holds, columns) = match tags[at] {
            TAG_WAITING_OBJECT if cells[at] >> 32 != 0 => (Holds::Object(cells[at] as u32), 0),
            TAG_WAITING_ARRAY if children(tags, cells, at).all(|at| is_plain(tags[at])) => {
                (Holds::Array, 2)
            }
            tag if is_plain(tag) => (Holds::Value, 1),
            _ => return false,
        };
        self.columns += columns;
        self.steps.push(ShredStep { holds, column, values: Summary::default() });
        depth < MAX_COLUMN_DEPTH
            && (!matches!(holds, Holds::Object(_))
                || children(tags, cells, at)
                    .all(|at| self.learn(lists, tags, cells, at, depth + 1)))
    }

    /// Finds the rows that wait. Returns how many.
    pub(super) fn find_rows(&mut self, tags: &[u8], cells: &[u64]) -> Result<usize> {
        let rows = || run(tags, cells, self.from, cells.len());
        let cursors = &mut self.scratch.cursors;
        cursors.clear();
        make_room_for(cursors, rows().count())?;
        cursors.extend(rows().map(|at| at as u32));
        Ok(cursors.len())
    }

    /// Room to note where a chunk's columns end.
    pub(super) fn make_room_for_chunk(&mut self) -> Result<()> {
        make_room(&mut self.chunks)?;
        make_room_for(&mut self.ends, self.columns)
    }

    /// Takes the rows that wait apart, into the scratch; false where they are not alike.
    pub(super) fn take_apart(&mut self, tags: &[u8], cells: &[u64]) -> Result<bool> {
        self.make_room_for_chunk()?;
        let Scratch { cursors, cells: out, tags: out_tags } = &mut self.scratch;
        out.clear();
        out_tags.clear();
        // They have as many places then as they have now, or fewer.
        make_room_for(out, cells.len() - self.from)?;
        make_room_for(out_tags, cells.len() - self.from)?;
        for step in &mut self.steps {
            let mut alike = true;
            let begin = match step.holds {
                Holds::Object(list) => {
                    for cursor in cursors.iter_mut() {
                        let at = *cursor as usize;
                        alike &= tags[at] == TAG_WAITING_OBJECT
                            && cells[at] as u32 == list
                            && cells[at] >> 32 != 0;
                        *cursor += 2;
                    }
                    if !alike {
                        return Ok(false);
                    }
                    continue;
                }
                Holds::Value => {
                    let begin = out.len();
                    out.extend(cursors.iter().map(|&at| cells[at as usize]));
                    out_tags.extend(cursors.iter_mut().map(|cursor| {
                        *cursor += 1;
                        tags[*cursor as usize - 1]
                    }));
                    begin
                }
                Holds::Array => {
                    let length = |&at: &u32| cells[at as usize] as u32;
                    if !cursors.iter().all(|&at| tags[at as usize] == TAG_WAITING_ARRAY) {
                        return Ok(false);
                    }
                    if cursors.iter().any(|at| length(at) != length(&cursors[0])) {
                        out.extend(cursors.iter().map(|at| length(at) as u64));
                        out_tags.resize(out.len(), TAG_HOLE);
                    }
                    let begin = out.len();
                    self.ends.push((self.from + begin) as u32);
                    for cursor in cursors.iter_mut() {
                        let at = *cursor as usize;
                        let end = at + 1 + length(cursor) as usize;
                        // A few elements: not worth a call to copy them.
                        out.extend(cells[at + 1..end].iter().copied());
                        out_tags.extend(tags[at + 1..end].iter().copied());
                        *cursor = end as u32;
                    }
                    begin
                }
            };
            for (&tag, &cell) in out_tags[begin..].iter().zip(&out[begin..]) {
                alike &= is_plain(tag);
                step.values.add(tag, cell);
            }
            if !alike {
                return Ok(false);
            }
            self.ends.push((self.from + out.len()) as u32);
        }
        self.chunks.push(cursors.len() as u32);
        self.rows += cursors.len() as u32;
        Ok(true)
    }

    /// The plan for all rows as one array; `None` where it is not all columns.
    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Option<Plan> {
        self.column(planner, &mut 0, 0).map(|(plan, _)| plan)
    }

    /// The plan of the step at `at`, and the least size of its containers as records and plain
    /// arrays. `at` is then behind the steps within it.
    fn column(
        &self,
        planner: &mut Planner<'_>,
        at: &mut usize,
        depth: usize,
    ) -> Option<(Plan, u64)> {
        let from = *at;
        let step = self.steps.get(from)?;
        *at += 1;
        let (tag, least, nested) = match step.holds {
            Holds::Value => return Some((self.leaf(planner, step.column, &step.values), 0)),
            Holds::Object(list) => {
                let keys = planner.path(list);
                let mut columns = Vec::with_capacity(keys.len());
                let mut least = self.objects_size(keys.len() as u32);
                for _ in &keys {
                    let (column, within) = self.column(planner, at, depth + 1)?;
                    columns.push(column);
                    least += within;
                }
                (TAG_OBJECT, least, Planner::struct_of(keys, columns, false, None))
            }
            Holds::Array => {
                let (length, ends) = self.lengths(planner.cells, step);
                if step.values.count == 0 && self.rows < 4 {
                    return None;
                }
                let least = self.least_arrays_size(step, length, &ends);
                let elements = self.leaf(planner, step.column + 1, &step.values);
                let nested = Planner::list_of(elements, length.is_some(), ends);
                (TAG_ARRAY, least, nested)
            }
        };
        let summary = Summary::containers(tag, self.rows);
        let (mut values, places) =
            (Gathered { summary, plain: least }, Places::Shredded(0, self.rows));
        if nested.size > planner.plain(&values, places).size {
            values.plain = self.steps[from..*at].iter().map(|step| self.size(planner, step)).sum();
        }
        let (plain, may) = (planner.plain(&values, places), planner.may_nest(&summary, depth));
        let plan = planner.smaller(plain, &summary, may.then_some(nested));
        (!plan.waits).then_some((plan, values.plain))
    }

    /// The plan of a column without containers.
    fn leaf(&self, planner: &mut Planner<'_>, column: usize, summary: &Summary) -> Plan {
        let values = Gathered { summary: *summary, plain: 0 };
        let plan = planner.plain(&values, Places::Shredded(column, summary.count));
        let (tags, cells) = (planner.tags, planner.cells);
        let run = |run: Range<usize>| CellRun { tags: &tags[run.clone()], cells: &cells[run] };
        match planner.may_be_text(summary) {
            true => planner.text(plan, summary, self.runs(column).map(run)),
            false => plan,
        }
    }

    /// Bytes of an object in each row, of so many members, by themselves.
    fn objects_size(&self, members: u32) -> u64 {
        u64::from(self.rows) * object_size(members)
    }

    /// The least size of a step's arrays by themselves. To measure each by its values takes long,
    /// and most lists take fewer bytes than this.
    fn least_arrays_size(&self, step: &ShredStep, length: Option<u32>, ends: &[u32]) -> u64 {
        let array = |length: u32| {
            ARRAY_SIZE as u64 + round_up((u64::from(length) * step.values.least_bits()).div_ceil(8))
        };
        match length {
            Some(length) => u64::from(self.rows) * array(length),
            None => {
                let begins = core::iter::once(&0).chain(ends);
                ends.iter().zip(begins).map(|(end, begin)| array(end - begin)).sum()
            }
        }
    }

    /// The size of a step's containers as records and plain arrays, without those of steps within
    /// it.
    #[cold]
    fn size(&self, planner: &Planner<'_>, step: &ShredStep) -> u64 {
        match step.holds {
            Holds::Value => 0,
            Holds::Object(list) => self.objects_size(planner.lists[list as usize].depth.into()),
            Holds::Array => {
                let (length, ends) = self.lengths(planner.cells, step);
                let mut places = self.runs(step.column + 1).flatten();
                let lengths = (0..self.rows as usize).map(|row| match length {
                    Some(length) => length,
                    None => ends[row] - row.checked_sub(1).map_or(0, |before| ends[before]),
                });
                let sizes = lengths.map(|length| {
                    let mut elements = Summary::default();
                    for at in places.by_ref().take(length as usize) {
                        elements.add(planner.tags[at], planner.cells[at]);
                    }
                    elements.array_size(planner.min_width)
                });
                sizes.sum()
            }
        }
    }

    /// The length of all arrays of a step, or else where each ends among the elements.
    fn lengths(&self, cells: &[u64], step: &ShredStep) -> (Option<u32>, Vec<u32>) {
        let chunks = self.chunks.iter().zip(self.runs(step.column));
        let chunks = chunks.zip(self.runs(step.column + 1));
        let length = step.values.count / self.rows;
        let equal = |((&rows, lengths), elements): ((&u32, Range<usize>), Range<usize>)| {
            lengths.is_empty() && elements.len() == rows as usize * length as usize
        };
        if length > 0 && chunks.clone().all(equal) {
            return (Some(length), Vec::new());
        }
        let (mut ends, mut end) = (Vec::with_capacity(self.rows as usize), 0);
        for ((&rows, lengths), elements) in chunks {
            for row in 0..rows as usize {
                end += match cells[lengths.clone()].get(row) {
                    Some(&length) => length as u32,
                    None => elements.len() as u32 / rows,
                };
                ends.push(end);
            }
        }
        (None, ends)
    }
}
