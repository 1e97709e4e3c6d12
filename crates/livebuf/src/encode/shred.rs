//! Rows that are alike, put by column while they wait.
//!
//! This is for arrays of objects that all have the same keys in the same order. When enough rows
//! wait on the stack, or when the array ends, they are taken apart: each value goes to its column.
//! Planning needs no list of places then, and a column's values are read one after the other.
//! Arrays in such rows may differ in length, but hold no containers.
//!
//! Further rows are expected to be like the first ones. Their values go to the columns at once, and
//! never wait as rows.
//!
//! The first row that is different ends this. All rows are put back as they were, and the
//! array is planned in the general way (`plan`).

use super::keys::KeyList;
use super::plan::{Gathered, Places, Plan, Planner, Summary, object_size};
use super::room::{expect_values, make_room, make_room_for, memory};
use super::stack::{
    CellRun, TAG_LOOSE, TAG_LOOSE_UUID, TAG_WAITING, TAG_WAITING_ARRAY, TAG_WAITING_OBJECT,
    children, run,
};
use crate::error::Result;
use crate::format::bytes::round_up;
use crate::format::layout::*;
use alloc::vec::Vec;
use core::ops::Range;

/// Places of waiting rows that are enough to take them apart: few enough to stay in the cache.
const ENOUGH: usize = 1 << 13;

/// Values that a column has room for when it grows first. It grows twofold until it has many, and
/// in small steps then, to bound memory.
pub(super) const FEWEST: usize = 1 << 8;
const MANY: usize = 1 << 15;

/// The rows that are taken apart, and what they all have in common.
pub(super) struct Shred {
    /// Length of the stack at which enough rows wait; `usize::MAX`: none are taken apart any more.
    pub(super) due: usize,
    /// The events of a row, and the index of the one that is expected next. The index is
    /// `usize::MAX` while no row is expected.
    pub(super) events: Vec<Event>,
    pub(super) next: usize,
    /// Count of the rows that are whole.
    pub(super) rows: usize,
    /// The values of each column. Columns behind the first `used` are memory for later arrays.
    pub(super) columns: Vec<Values>,
    used: usize,
    /// The place that each row was read up to.
    cursors: Vec<u32>,
}

/// An event in a row.
#[derive(Clone, Copy)]
pub(super) enum Event {
    /// The beginning of an object that ends with this key list.
    BeginObject(u32),
    /// A key, by the key list that it makes.
    Key(u32),
    /// A value of this column.
    Value(u32),
    BeginArray,
    /// Elements of this column, and the array's end.
    Elements(u32),
    EndObject,
}

/// Whether an event is the expected one.
pub(super) enum Came {
    /// Another one is expected, or none.
    Not,
    /// It is.
    Expected,
    /// It would be, but its column has no room.
    Full,
}

/// Values of one column. There is room for as many tags as for cells.
#[derive(Default)]
pub(super) struct Values {
    cells: Vec<u64>,
    tags: Vec<u8>,
    /// Where the values are elements of arrays: where each array ends among them.
    ends: Vec<u32>,
}

impl Values {
    fn clear(&mut self) {
        self.cells.clear();
        self.tags.clear();
        self.ends.clear();
    }

    pub(super) fn run(&self) -> CellRun<'_> {
        CellRun { tags: &self.tags, cells: &self.cells }
    }

    pub(super) fn run_mut(&mut self) -> (&mut [u8], &mut [u64]) {
        (&mut self.tags, &mut self.cells)
    }

    /// The tag and cell of a value.
    #[inline]
    pub(super) fn value(&self, at: usize) -> (u8, u64) {
        (self.tags[at], self.cells[at])
    }

    /// Adds a value. False where there is no room.
    #[inline]
    pub(super) fn put(&mut self, tag: u8, cell: u64) -> bool {
        let has_room = self.cells.len() < self.cells.capacity();
        if has_room {
            self.cells.push(cell);
            self.tags.push(tag);
        }
        has_room
    }

    /// Ends an array, whose elements are the values since the end of the one before. It is not
    /// expected with more than `most` elements.
    #[inline]
    pub(super) fn end(&mut self, most: usize) -> Came {
        let begun = self.ends.last().map_or(0, |&end| end as usize);
        if self.cells.len() - begun > most {
            return Came::Not;
        }
        if self.ends.len() == self.ends.capacity() {
            return Came::Full;
        }
        self.ends.push(self.cells.len() as u32);
        Came::Expected
    }

    /// The elements of the array in this row, which may be one that has not ended yet.
    pub(super) fn array(&self, row: usize) -> Range<usize> {
        let end = |row: usize| self.ends.get(row).map_or(self.cells.len(), |&end| end as usize);
        row.checked_sub(1).map_or(0, end)..end(row)
    }

    /// The length of each array.
    fn lengths(&self) -> impl Iterator<Item = u32> {
        let begins = core::iter::once(&0).chain(&self.ends);
        self.ends.iter().zip(begins).map(|(end, begin)| end - begin)
    }

    /// The length of all arrays, if they have one and are not empty.
    fn fixed_length(&self) -> Option<u32> {
        let length = self.ends.first().copied().filter(|&length| length > 0)?;
        self.lengths().all(|other| other == length).then_some(length)
    }

    /// Makes room for one value more at least, or for the end of an array.
    pub(super) fn grow(&mut self) -> Result<()> {
        if self.cells.len() < self.cells.capacity() {
            return make_room(&mut self.ends);
        }
        self.make_room_for(match self.cells.len() {
            count @ ..MANY => count.max(FEWEST),
            count => count / 4,
        })
    }

    /// Makes room for so many more.
    fn make_room_for(&mut self, count: usize) -> Result<()> {
        make_room_for(&mut self.tags, count)?;
        make_room_for(&mut self.cells, count)
    }

    /// Adds the values at these places of the stack. False if one of them is a container.
    fn extend(
        &mut self,
        tags: &[u8],
        cells: &[u64],
        places: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> Result<bool> {
        self.make_room_for(places.len())?;
        let before = self.tags.len();
        self.cells.extend(places.clone().map(|at| cells[at]));
        self.tags.extend(places.map(|at| tags[at]));
        Ok(self.tags[before..].iter().all(|&tag| is_plain(tag)))
    }

    /// Bytes of memory.
    fn kept_bytes(&self) -> usize {
        memory(&self.cells) + memory(&self.tags) + memory(&self.ends)
    }
}

/// Whether a tag is that of a value that is neither a container nor a part of one.
#[inline]
pub(super) fn is_plain(tag: u8) -> bool {
    tag <= TAG_SPAN_LAST || matches!(tag, TAG_LOOSE | TAG_LOOSE_UUID | TAG_WAITING)
}

impl Default for Shred {
    fn default() -> Self {
        Shred {
            due: usize::MAX,
            events: Vec::new(),
            next: usize::MAX,
            rows: 0,
            columns: Vec::new(),
            used: 0,
            cursors: Vec::new(),
        }
    }
}

impl Shred {
    /// A new outermost array begins, its rows at this place.
    pub(super) fn restart(&mut self, start: usize) {
        self.stop();
        self.due = start + ENOUGH;
    }

    /// Forgets the rows, and takes none apart any more.
    pub(super) fn stop(&mut self) {
        (self.due, self.next, self.rows, self.used) = (usize::MAX, usize::MAX, 0, 0);
        self.events.clear();
    }

    /// Gives back the memory that serves later arrays, if there is room for more values in it.
    pub(super) fn release(&mut self, places: usize) {
        let room = self.columns.iter().map(|values| values.cells.capacity());
        if self.cursors.capacity() + room.sum::<usize>() > places {
            (self.columns, self.cursors) = (Vec::new(), Vec::new());
        }
    }

    /// Count of the values, and of the arrays that they lie in.
    pub(super) fn count(&self) -> usize {
        self.columns[..self.used].iter().map(|values| values.cells.len() + values.ends.len()).sum()
    }

    /// The values at these places, which are in a column or one behind the other on the stack. `None`
    /// if they are listed.
    pub(super) fn run_of<'v>(&'v self, places: Places, stack: CellRun<'v>) -> Option<CellRun<'v>> {
        match places {
            Places::Run(start, count) => Some(stack.part(start, count)),
            Places::Shredded(column, _) => Some(self.columns[column as usize].run()),
            Places::Listed(..) => None,
        }
    }

    /// Takes room for more values of each column: `more_like` says how many for so many.
    pub(super) fn expect(&mut self, more_like: impl Fn(usize) -> usize) {
        for values in &mut self.columns[..self.used] {
            let more = more_like(values.cells.len());
            expect_values(&mut values.tags, &mut values.cells, more);
        }
    }

    /// Bytes of memory.
    pub(super) fn kept_bytes(&self) -> usize {
        memory(&self.events)
            + memory(&self.cursors)
            + memory(&self.columns)
            + self.columns.iter().map(Values::kept_bytes).sum::<usize>()
    }

    /// Learns the events of the row at `at`. False if such rows cannot be taken apart.
    pub(super) fn learn(
        &mut self,
        lists: &[KeyList],
        tags: &[u8],
        cells: &[u64],
        at: usize,
        depth: usize,
    ) -> bool {
        if depth == MAX_COLUMN_DEPTH {
            return false;
        }
        let mut members = children(tags, cells, at);
        match tags[at] {
            TAG_WAITING_OBJECT if cells[at] >> 32 != 0 => {
                let list = cells[at] as u32;
                // If its members are objects, it may become a map, though others like it become
                // rows.
                let is_wide = lists[list as usize].is_wide();
                if is_wide && members.any(|at| tags[at] == TAG_WAITING_OBJECT) {
                    return false;
                }
                self.events.push(Event::BeginObject(list));
                // The key lists that its keys make, the last one first.
                let parent = |&list: &u32| Some(lists[list as usize].parent);
                let keys = core::iter::successors(Some(list), parent);
                let keys: Vec<u32> = keys.take_while(|&list| list != 0).collect();
                for (&key, at) in keys.iter().rev().zip(children(tags, cells, at)) {
                    self.events.push(Event::Key(key));
                    if !self.learn(lists, tags, cells, at, depth + 1) {
                        return false;
                    }
                }
                self.events.push(Event::EndObject);
            }
            TAG_WAITING_ARRAY if members.all(|at| is_plain(tags[at])) => {
                let elements = Event::Elements(self.add_column());
                self.events.extend([Event::BeginArray, elements]);
            }
            tag if is_plain(tag) => {
                let value = Event::Value(self.add_column());
                self.events.push(value);
            }
            _ => return false,
        }
        true
    }

    fn add_column(&mut self) -> u32 {
        match self.columns.get_mut(self.used) {
            Some(values) => values.clear(),
            None => self.columns.push(Values::default()),
        }
        self.used += 1;
        self.used as u32 - 1
    }

    /// Finds the rows that wait from `start` on. Returns how many.
    pub(super) fn find_rows(&mut self, tags: &[u8], cells: &[u64], start: usize) -> Result<usize> {
        let rows = || run(tags, cells, start, cells.len());
        self.cursors.clear();
        make_room_for(&mut self.cursors, rows().count())?;
        self.cursors.extend(rows().map(|at| at as u32));
        Ok(self.cursors.len())
    }

    /// Puts the values of the rows that were found into columns. False where they are not alike.
    pub(super) fn take_apart(&mut self, tags: &[u8], cells: &[u64]) -> Result<bool> {
        let Shred { events, columns, cursors, .. } = self;
        for event in events {
            let alike = match *event {
                Event::BeginObject(list) => {
                    let mut alike = true;
                    for cursor in cursors.iter_mut() {
                        let at = *cursor as usize;
                        alike &= tags[at] == TAG_WAITING_OBJECT
                            && cells[at] as u32 == list
                            && cells[at] >> 32 != 0;
                        *cursor += 2;
                    }
                    alike
                }
                Event::Value(column) => {
                    let places = cursors.iter().map(|&at| at as usize);
                    let plain = columns[column as usize].extend(tags, cells, places)?;
                    cursors.iter_mut().for_each(|cursor| *cursor += 1);
                    plain
                }
                Event::BeginArray => {
                    cursors.iter().all(|&at| tags[at as usize] == TAG_WAITING_ARRAY)
                }
                Event::Elements(column) => {
                    let values = &mut columns[column as usize];
                    let length = |&at: &u32| cells[at as usize] as u32 as usize;
                    values.make_room_for(cursors.iter().map(length).sum())?;
                    make_room_for(&mut values.ends, cursors.len())?;
                    let mut alike = true;
                    for cursor in cursors.iter_mut() {
                        let begin = *cursor as usize + 1;
                        let end = begin + length(cursor);
                        alike &= values.extend(tags, cells, begin..end)?;
                        values.ends.push(values.cells.len() as u32);
                        *cursor = end as u32;
                    }
                    alike
                }
                Event::Key(_) | Event::EndObject => true,
            };
            if !alike {
                return Ok(false);
            }
        }
        self.rows = self.cursors.len();
        Ok(true)
    }

    // --- planning -----------------------------------------------------------

    /// The plan for all rows as one array; `None` where it is not all columns.
    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Option<Plan> {
        self.column(planner, &mut self.events.iter(), 0).map(|(plan, _)| plan)
    }

    /// The plan of the value whose events come next, and the least size of its containers as
    /// records and plain arrays.
    fn column(
        &self,
        planner: &mut Planner<'_>,
        events: &mut core::slice::Iter<'_, Event>,
        depth: usize,
    ) -> Option<(Plan, u64)> {
        let own = events.as_slice();
        let (tag, least, nested) = match *events.next()? {
            Event::Value(column) => {
                let values = &self.columns[column as usize];
                return Some((Self::leaf(planner, column, values, &Self::summary(values)), 0));
            }
            Event::BeginObject(list) => {
                let keys = planner.path(list);
                let mut columns = Vec::with_capacity(keys.len());
                let mut least = self.objects_size(keys.len() as u32);
                // Each key has its event, and the object's end.
                for _ in &keys {
                    events.next();
                    let (column, within) = self.column(planner, events, depth + 1)?;
                    columns.push(column);
                    least += within;
                }
                events.next();
                (TAG_OBJECT, least, Planner::struct_of(keys, columns, false, None))
            }
            _ => {
                let Some(&Event::Elements(column)) = events.next() else { return None };
                let values = &self.columns[column as usize];
                let (length, summary) = (values.fixed_length(), Self::summary(values));
                let least = self.least_arrays_size(values, length, &summary);
                let elements = Self::leaf(planner, column, values, &summary);
                let ends = if length.is_some() { Vec::new() } else { values.ends.clone() };
                (TAG_ARRAY, least, Planner::list_of(elements, length.is_some(), ends))
            }
        };
        let rows = self.rows as u32;
        let summary = Summary::containers(tag, rows);
        // No slot of a struct or list is looked at, so the column does not matter.
        let (mut values, places) = (Gathered { summary, plain: least }, Places::Shredded(0, rows));
        if nested.size > planner.plain(&values, places).size {
            let own = &own[..own.len() - events.len()];
            values.plain = own.iter().map(|&event| self.size(planner, event)).sum();
        }
        let (plain, may) = (planner.plain(&values, places), planner.may_nest(&summary, depth));
        let plan = planner.smaller(plain, &summary, may.then_some(nested));
        (!plan.waits).then_some((plan, values.plain))
    }

    fn summary(values: &Values) -> Summary {
        let CellRun { tags, cells } = values.run();
        let mut summary = Summary::default();
        summary.add_all(tags, cells);
        summary
    }

    /// The plan of a column without containers.
    fn leaf(planner: &mut Planner<'_>, column: u32, values: &Values, summary: &Summary) -> Plan {
        let gathered = Gathered { summary: *summary, plain: 0 };
        let plan = planner.plain(&gathered, Places::Shredded(column, summary.count));
        match planner.may_be_text(summary) {
            true => planner.text(plan, summary, values.run()),
            false => plan,
        }
    }

    /// Bytes of an object in each row, of so many members, by themselves.
    fn objects_size(&self, members: u32) -> u64 {
        self.rows as u64 * object_size(members)
    }

    /// The least size of arrays by themselves. To measure each by its values takes long, and most
    /// lists take fewer bytes than this.
    fn least_arrays_size(&self, values: &Values, length: Option<u32>, summary: &Summary) -> u64 {
        let array = |length: u32| {
            ARRAY_SIZE as u64 + round_up((u64::from(length) * summary.least_bits()).div_ceil(8))
        };
        match length {
            Some(length) => self.rows as u64 * array(length),
            None => values.lengths().map(array).sum(),
        }
    }

    /// The size of the containers that begin with an event, as records and plain arrays, without
    /// those within them.
    #[cold]
    fn size(&self, planner: &Planner<'_>, event: Event) -> u64 {
        match event {
            Event::BeginObject(list) => {
                self.objects_size(planner.lists[list as usize].depth.into())
            }
            Event::Elements(column) => {
                let values = &self.columns[column as usize];
                let CellRun { tags, cells } = values.run();
                let arrays = (0..self.rows).map(|row| values.array(row));
                let sizes = arrays.map(|array| {
                    Summary::size_of_array(&tags[array.clone()], &cells[array], planner.min_width)
                });
                sizes.sum()
            }
            _ => 0,
        }
    }
}
