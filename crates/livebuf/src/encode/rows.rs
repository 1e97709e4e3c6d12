//! The rows of the outermost array on their way to columns (`shred`).
//!
//! Rows are taken apart when a chunk of them waits. Further rows are expected to be like
//! those. When one is not, all rows are put back.

use super::encoder::{Encoder, Frame, State};
use super::plan::MISSING;
use super::room::make_room_for;
use super::shred::{CHUNK, EXPECTED, Event, Holds, Shred, ShredStep, Values, is_plain};
use super::stack::{TAG_WAITING, TAG_WAITING_ARRAY, TAG_WAITING_OBJECT, TAG_WAITING_SIZE};
use crate::error::{Error, ErrorKind, Result};
use crate::format::layout::*;
use crate::format::memory::vec_for;
use crate::store::storage::Storage;
use alloc::vec::Vec;
use core::ops::Range;

/// Whether an event is the expected one.
pub(super) enum Came {
    /// Another one is expected, or none.
    Not,
    /// It is, and more are to come in its row.
    Within,
    /// It is the last one of its row.
    Last,
    /// It would be, but its column has no room.
    Full,
}

/// Fewer rows than this in a chunk are not worth it.
const FEWEST_ROWS: usize = 8;

impl<S: Storage> Encoder<S> {
    /// Takes the waiting rows apart, and expects more like them.
    #[inline(never)]
    pub(super) fn shred(&mut self) -> Result<()> {
        if self.take_rows_apart()? {
            if self.shred.events.is_empty() {
                self.expect();
            }
            self.expect_rows();
        }
        Ok(())
    }

    /// Takes the waiting rows apart. If they are not alike, puts all rows back: false.
    pub(super) fn take_rows_apart(&mut self) -> Result<bool> {
        self.check_values()?;
        let (from, end) = (self.shred.from, self.cells.len());
        if self.shred.steps.is_empty() && end - from < FEWEST_ROWS {
            self.put_together()?;
            return Ok(false);
        }
        let rows = self.shred.find_rows(&self.tags, &self.cells)?;
        if self.awaited > 0 {
            let awaited = core::mem::take(&mut self.awaited);
            self.expect_more(rows as u64, awaited as u64);
        }
        let learned = match (self.shred.steps.is_empty(), rows == 0) {
            (_, true) => return Ok(self.shred.rows > 0),
            (false, _) => true,
            (true, _) => {
                // No document holds as many values, and numbers of places are shorter.
                rows >= FEWEST_ROWS
                    && self.tags[from] > TAG_WAITING
                    && self.shred.learn(&self.keys.lists, &self.tags, &self.cells, from, 0)
            }
        };
        if !learned || end >= MISSING as usize || !self.shred.take_apart(&self.tags, &self.cells)? {
            self.put_together()?;
            return Ok(false);
        }
        self.cells.truncate(from);
        self.tags.truncate(from);
        self.cells.extend_from_slice(&self.shred.scratch.cells);
        self.tags.extend_from_slice(&self.shred.scratch.tags);
        self.shred.from = self.cells.len();
        self.shred.due = self.shred.from + CHUNK;
        Ok(true)
    }

    /// Lists the events of an expected row.
    fn expect(&mut self) {
        let Shred { steps, events, expected, columns, .. } = &mut self.shred;
        if expected.len() < *columns {
            expected.resize_with(*columns, Values::default);
        }
        expected.iter_mut().for_each(Values::clear);
        // The key lists that the keys of open objects make, the next one last. The innermost object
        // is the last one.
        let mut open: Vec<Vec<u32>> = Vec::new();
        for step in steps {
            match step.holds {
                Holds::Object(list) => {
                    events.push(Event::BeginObject);
                    let parent = |&key: &u32| Some(self.keys.lists[key as usize].parent);
                    let keys = core::iter::successors(Some(list), parent);
                    open.push(keys.take_while(|&key| key != 0).collect());
                }
                Holds::Value => events.push(Event::Value(step.column as u32)),
                Holds::Array => {
                    events.push(Event::BeginArray);
                    events.push(Event::Elements(step.column as u32 + 1));
                }
            }
            // The key of the next value, behind the ends of objects that are complete.
            while let Some(keys) = open.last_mut() {
                if let Some(key) = keys.pop() {
                    events.push(Event::Key(key));
                    break;
                }
                events.push(Event::EndObject);
                open.pop();
            }
        }
    }

    /// From here on the outermost array's rows are expected to be like those before.
    fn expect_rows(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && frame.state == State::Array
        {
            frame.state = State::Rows;
            self.shred.next = 0;
        }
    }

    #[inline(never)]
    pub(super) fn expected_row_ended(&mut self) -> Result<()> {
        self.shred.next = 0;
        self.shred.whole += 1;
        if self.shred.whole == EXPECTED { self.put_expected() } else { Ok(()) }
    }

    /// Takes the value into its column, if one is expected here.
    #[inline]
    pub(super) fn expected_value(&mut self, tag: u8, cell: u64) -> Came {
        let (column, is_element) = match self.shred.events.get(self.shred.next) {
            Some(&Event::Value(column)) => (column, false),
            Some(&Event::Elements(column)) => (column, true),
            _ => return Came::Not,
        };
        match self.shred.expected.get_mut(column as usize) {
            Some(values) if is_plain(tag) => match values.put(tag, cell) {
                true if is_element => Came::Within,
                true => self.next_event(),
                false => Came::Full,
            },
            _ => Came::Not,
        }
    }

    /// Goes on to the next event.
    #[inline]
    fn next_event(&mut self) -> Came {
        self.shred.next += 1;
        if self.shred.next == self.shred.events.len() { Came::Last } else { Came::Within }
    }

    /// Makes room in the column of the next event, and takes its value.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room_expected(&mut self, tag: u8, cell: u64) -> Result<()> {
        if let Some(&(Event::Value(column) | Event::Elements(column))) =
            self.shred.events.get(self.shred.next)
        {
            self.shred.expected[column as usize].grow()?;
        }
        match self.expected_value(tag, cell) {
            Came::Last => self.expected_row_ended(),
            _ => Ok(()),
        }
    }

    #[inline]
    pub(super) fn expected_begin(&mut self, state: State) -> bool {
        let event = if state == State::Array { Event::BeginArray } else { Event::BeginObject };
        let came = self.shred.events.get(self.shred.next) == Some(&event);
        self.shred.next += came as usize;
        came
    }

    /// The key list that the expected key makes; 0 where no key is expected.
    #[inline]
    pub(super) fn expected_key(&self) -> u32 {
        match self.shred.events.get(self.shred.next) {
            Some(&Event::Key(list)) => list,
            _ => 0,
        }
    }

    /// The key list of the innermost object of the expected row.
    #[cold]
    pub(super) fn expected_list(&self) -> u32 {
        let mut inner = 0;
        for event in self.shred.events[..self.shred.next].iter().rev() {
            match *event {
                Event::EndObject => inner += 1,
                Event::BeginObject if inner == 0 => return 0,
                Event::BeginObject => inner -= 1,
                Event::Key(list) if inner == 0 => return list,
                _ => {}
            }
        }
        0
    }

    /// The expected key came.
    #[inline]
    pub(super) fn key_came(&mut self) {
        self.shred.next += 1;
    }

    #[inline]
    pub(super) fn expected_end_object(&mut self) -> Came {
        match self.shred.events.get(self.shred.next) {
            Some(Event::EndObject) => self.next_event(),
            _ => Came::Not,
        }
    }

    #[inline]
    pub(super) fn expected_end_array(&mut self) -> Came {
        let Some(&Event::Elements(column)) = self.shred.events.get(self.shred.next) else {
            return Came::Not;
        };
        let limit = self.options.limits.elements as usize;
        let ended = self.shred.expected.get_mut(column as usize).map(|values| values.end(limit));
        if ended == Some(true) { self.next_event() } else { Came::Not }
    }

    /// Puts the expected rows that are whole on the stack, by column.
    #[inline(never)]
    fn put_expected(&mut self) -> Result<()> {
        self.check_values()?;
        let rows = core::mem::take(&mut self.shred.whole);
        if rows == 0 {
            return Ok(());
        }
        self.shred.make_room_for_chunk()?;
        let Shred { steps, expected, ends: bounds, .. } = &mut self.shred;
        for step in steps {
            let (column, mut count) = match step.holds {
                Holds::Object(_) => continue,
                Holds::Value => (step.column, rows as usize),
                Holds::Array => (step.column + 1, 0),
            };
            let values = &mut expected[column];
            if step.holds == Holds::Array {
                let ends = &values.ends[..rows as usize];
                count = ends[rows as usize - 1] as usize;
                let begins = || core::iter::once(0).chain(ends.iter().copied());
                let lengths = begins().zip(ends).map(|(begin, end)| end - begin);
                let equal = lengths.clone().all(|length| length == ends[0]);
                make_room_for(&mut self.cells, ends.len() + count)?;
                make_room_for(&mut self.tags, ends.len() + count)?;
                if !equal {
                    self.cells.extend(lengths.map(u64::from));
                    self.tags.resize(self.cells.len(), TAG_HOLE);
                }
                bounds.push(self.cells.len() as u32);
                // What is there of a row that is not whole stays.
                values.ends.drain(..rows as usize);
                values.ends.iter_mut().for_each(|end| *end -= count as u32);
            }
            let (tags, cells) = values.first(count);
            step.values.add_all(tags, cells);
            make_room_for(&mut self.cells, count)?;
            make_room_for(&mut self.tags, count)?;
            self.cells.extend_from_slice(cells);
            self.tags.extend_from_slice(tags);
            values.take(count);
            bounds.push(self.cells.len() as u32);
        }
        self.shred.chunks.push(rows);
        self.shred.rows += rows;
        self.shred.from = self.cells.len();
        self.shred.due = self.shred.from + CHUNK;
        if self.cells.len() >= MISSING as usize {
            let limit = self.options.limits.elements as u64;
            return Err(Error::with_detail(ErrorKind::ElementLimit, 0, limit));
        }
        Ok(())
    }

    /// Expects no more rows. The values of an incomplete row wait on the stack, as rows do.
    #[inline(never)]
    pub(super) fn expect_nothing(&mut self) -> Result<()> {
        self.put_expected()?;
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        frame.state = State::Array;
        let events = core::mem::take(&mut self.shred.events);
        let mut expected = core::mem::take(&mut self.shred.expected);
        let next = core::mem::replace(&mut self.shred.next, usize::MAX);
        for (at, event) in events.iter().take(next.saturating_add(1)).enumerate() {
            match *event {
                // An array may have come in part.
                Event::Elements(column) => {
                    let values = &mut expected[column as usize];
                    let (tags, cells) = values.first(values.count());
                    for (&tag, &cell) in tags.iter().zip(cells) {
                        self.push(tag, cell)?;
                    }
                    values.clear();
                    if at < next {
                        self.end_array()?;
                    }
                }
                _ if at == next => {}
                Event::BeginObject => self.begin(State::Key)?,
                Event::BeginArray => self.begin(State::Array)?,
                Event::Key(list) => {
                    let parent = self.keys.lists[list as usize].parent;
                    self.keys.lists[parent as usize].child = list;
                    self.take_key(list);
                }
                Event::Value(column) => {
                    let values = &mut expected[column as usize];
                    if let Some((tag, cell)) = values.pop() {
                        self.push(tag, cell)?;
                    }
                }
                Event::EndObject => self.end_object()?,
            }
        }
        (self.shred.events, self.shred.expected) = (events, expected);
        Ok(())
    }

    /// Puts all rows back as they waited, and takes none apart again.
    #[cold]
    pub(super) fn put_together(&mut self) -> Result<()> {
        if self.shred.rows == 0 {
            // The memory serves the next array, if it is not much.
            match self.shred.scratch.cells.capacity() <= EXPECTED as usize {
                true => self.shred.stop(),
                false => self.shred = Shred::default(),
            }
            return Ok(());
        }
        let mut shred = core::mem::take(&mut self.shred);
        let count = self.cells.len() - shred.start;
        let (mut cells, mut tags) = (vec_for(count)?, vec_for(count)?);
        cells.extend(self.cells.drain(shred.start..));
        tags.extend(self.tags.drain(shred.start..));
        let waiting = shred.from - shred.start;
        let old = (&tags[..waiting], &cells[..waiting]);
        // A chunk that was refused may have left ends of some columns.
        shred.ends.truncate(shred.chunks.len() * shred.columns);
        let mut at = 0;
        for (ends, &rows) in shred.ends.chunks(shred.columns).zip(&shred.chunks) {
            let ends = ends.iter().map(|&end| end as usize - shred.start);
            let columns = ends.map(|end| core::mem::replace(&mut at, end)..end);
            let mut columns: Vec<Range<usize>> = columns.collect();
            for left in (1..=rows as usize).rev() {
                self.put_row(&mut shred.steps.iter(), old, &mut columns, left)?;
            }
        }
        for (&tag, &cell) in tags[waiting..].iter().zip(&cells[waiting..]) {
            self.put(tag, cell)?;
        }
        Ok(())
    }

    /// Puts back the next of the `left` rows that these columns still hold.
    fn put_row<'s>(
        &mut self,
        steps: &mut impl Iterator<Item = &'s ShredStep>,
        old: (&[u8], &[u64]),
        columns: &mut [Range<usize>],
        left: usize,
    ) -> Result<()> {
        let Some(step) = steps.next() else { return Ok(()) };
        let node = match step.holds {
            Holds::Value => {
                let Some(at) = columns[step.column].next() else { return Ok(()) };
                return self.put(old.0[at], old.1[at]);
            }
            Holds::Array => {
                self.put(TAG_WAITING_ARRAY, 0)?;
                0
            }
            Holds::Object(list) => {
                self.put(TAG_WAITING_OBJECT, 0)?;
                self.put(TAG_WAITING_SIZE, 0)?;
                list
            }
        };
        let start = self.cells.len();
        self.frames.push(Frame { start, node, mark: 0, state: State::Array, plain: 0 });
        if let Holds::Object(list) = step.holds {
            for _ in 0..self.keys.lists[list as usize].depth {
                self.put_row(steps, old, columns, left)?;
            }
            return self.end_waiting_object(start, list);
        }
        let length = match columns[step.column].next() {
            Some(at) => old.1[at] as usize,
            None => columns[step.column + 1].len() / left,
        };
        for at in columns[step.column + 1].by_ref().take(length) {
            self.put(old.0[at], old.1[at])?;
        }
        self.end_waiting_array(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Uuid;
    use alloc::format;

    /// Rows of a list, alike but for the one of this number.
    fn list(rows: usize, odd: usize, kind: usize, shreds: bool) -> Vec<u8> {
        let mut encoder = Encoder::new();
        let e = &mut encoder;
        e.begin_array().unwrap();
        if !shreds {
            e.shred.stop();
        }
        for row in 0..rows {
            let is_odd = row == odd;
            e.begin_object().unwrap();
            e.key("id").unwrap();
            e.u64(row as u64 * 37).unwrap();
            e.key(if is_odd && kind == 6 { "naming" } else { "name" }).unwrap();
            e.str(&format!("the name of {}", row % 1000)).unwrap();
            e.key("place").unwrap();
            e.begin_object().unwrap();
            e.key("x").unwrap();
            match row % 5 {
                0 => e.null().unwrap(),
                _ => e.f64(row as f64 / 3.0).unwrap(),
            }
            if is_odd && kind == 1 {
                e.key("z").unwrap();
                e.bool(true).unwrap();
            }
            e.key("pair").unwrap();
            e.begin_array().unwrap();
            e.i64(-(row as i64)).unwrap();
            e.i64(row as i64 % 7).unwrap();
            if is_odd && kind == 2 {
                e.begin_array().unwrap();
                e.end_array().unwrap();
            }
            e.end_array().unwrap();
            e.end_object().unwrap();
            e.key("tags").unwrap();
            e.begin_array().unwrap();
            for tag in 0..row % if row < 300 { 1 } else { 4 } {
                e.str(if tag % 2 == 0 { "short" } else { "not so short" }).unwrap();
            }
            e.end_array().unwrap();
            e.key("last").unwrap();
            match kind {
                3 if is_odd => {
                    e.begin_object().unwrap();
                    for number in 0..300 {
                        e.key(&format!("{number}")).unwrap();
                        e.null().unwrap();
                    }
                    e.end_object().unwrap();
                }
                7 if is_odd => {
                    e.begin_object().unwrap();
                    e.end_object().unwrap();
                }
                8 if is_odd => e.begin_array().and_then(|()| e.end_array()).unwrap(),
                _ => e.bool(row % 3 == 0).unwrap(),
            }
            e.end_object().unwrap();
            match kind {
                4 if is_odd => e.null().unwrap(),
                5 if is_odd => e.str("no object").unwrap(),
                _ => {}
            }
        }
        e.end_array().unwrap();
        let doc = encoder.finish().unwrap();
        assert!(doc.doc().validate().is_ok());
        doc.as_bytes().to_vec()
    }

    /// Whether and how far rows are taken apart never shows in the bytes.
    #[test]
    fn shredding_changes_no_byte() {
        for rows in [1, 2, 3, 7, 8, 9, 60, 600, 601, 602, 1500, 3000] {
            for kind in 0..9 {
                for odd in [0, 1, rows / 2, rows - 1] {
                    assert!(
                        list(rows, odd, kind, true) == list(rows, odd, kind, false),
                        "{rows} rows, that of number {odd} odd in way {kind}"
                    );
                }
            }
        }
    }

    #[test]
    fn rows_of_arrays() {
        type Row = fn(&mut Encoder, i64) -> Result<()>;
        let table = |shreds: bool, row: Row, tail: Option<i64>| {
            let mut encoder = Encoder::new();
            encoder.begin_array().unwrap();
            if !shreds {
                encoder.shred.stop();
            }
            for number in 0..5000 {
                encoder.begin_array().unwrap();
                row(&mut encoder, number).unwrap();
                encoder.end_array().unwrap();
            }
            if let Some(tail) = tail {
                encoder.i64(tail).unwrap();
            }
            encoder.end_array().unwrap();
            encoder.finish().unwrap().as_bytes().to_vec()
        };
        let rows: [Row; 7] = [
            |encoder, row| {
                (0..row / 2000 + 1).try_for_each(|number| encoder.i64(number << (row % 40)))
            },
            // Narrow by themselves, but not together.
            |encoder, row| {
                let number = if row == 4000 { i64::MAX } else { row % 100 };
                (0..30).try_for_each(|_| encoder.i64(number))
            },
            |encoder, row| {
                let number = if row == 4000 { 0.1 } else { 0.5 };
                (0..row % 50).try_for_each(|_| encoder.f64(number))
            },
            |encoder, row| (0..30).try_for_each(|at| encoder.bool((at + row) % 3 == 0)),
            // The bytes of UUIDs cost nothing, so a null among them costs much.
            |encoder, row| {
                (0..300).try_for_each(|at| match (row, at) {
                    (4000, 7) => encoder.null(),
                    _ => encoder.extended(Uuid::from_bytes([at as u8; 16])),
                })
            },
            |encoder, row| {
                (0..row % 40).try_for_each(|at| match (row, at) {
                    (4000.., 7) => encoder.i64(row),
                    _ => encoder.extended(Uuid::from_bytes([at as u8; 16])),
                })
            },
            |encoder, row| match row % 30 {
                0 => encoder.null(),
                _ => (0..row % 30)
                    .try_for_each(|at| encoder.str(["a", "another one"][at as usize % 2])),
            },
        ];
        for (kind, row) in rows.into_iter().enumerate() {
            for tail in [None, Some(3)] {
                let (shredded, whole) = (table(true, row, tail), table(false, row, tail));
                assert!(shredded == whole, "rows of kind {kind}, then {tail:?}");
            }
        }
    }
}
