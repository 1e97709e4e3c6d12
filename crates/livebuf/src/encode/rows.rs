//! The rows of the outermost array on their way to columns (`shred`).
//!
//! Rows are taken apart when enough of them wait. Further rows are expected to be like those. When
//! one is not, all rows are put back.

use super::encoder::{Encoder, Frame, State};
use super::plan::MISSING;
use super::shred::{Came, Event, FEWEST, Shred, Values, is_plain};
use super::stack::{TAG_WAITING, TAG_WAITING_ARRAY, TAG_WAITING_OBJECT, TAG_WAITING_SIZE};
use crate::error::{Error, ErrorKind, Result};
use crate::store::storage::Storage;

/// Fewer rows than this are not worth it.
const FEWEST_ROWS: usize = 8;

impl<S: Storage> Encoder<S> {
    /// Takes the waiting rows apart, and expects more like them.
    #[inline(never)]
    pub(super) fn shred(&mut self) -> Result<()> {
        self.check_places()?;
        if self.take_rows_apart()?
            && let Some(frame) = self.frames.last_mut()
        {
            (frame.state, self.shred.next) = (State::Rows, 0);
        }
        Ok(())
    }

    /// Takes the waiting rows of the innermost array apart. If they are not alike, they stay, and
    /// none are taken apart any more: false.
    pub(super) fn take_rows_apart(&mut self) -> Result<bool> {
        let start = self.frames.last().map_or(0, |frame| frame.start);
        let may = self.shred.due < usize::MAX
            && self.cells.len() - start >= FEWEST_ROWS
            && self.tags[start] > TAG_WAITING;
        if !may {
            self.shred.stop();
            return Ok(false);
        }
        let (tags, cells) = (&self.tags, &self.cells);
        let rows = self.shred.find_rows(tags, cells, start)?;
        let apart = rows >= FEWEST_ROWS
            && self.shred.learn(&self.keys.lists, tags, cells, start, 0)
            && self.shred.take_apart(tags, cells)?;
        match apart {
            true => {
                self.cells.truncate(start);
                self.tags.truncate(start);
            }
            false => {
                self.shred.stop();
                self.shred.release(FEWEST);
            }
        }
        let awaited = core::mem::take(&mut self.awaited);
        if awaited > 0 {
            self.expect_more(rows as u64, awaited as u64);
        }
        Ok(apart)
    }

    /// Makes sure that the document can hold the values that wait, and that their places fit 32
    /// bits.
    pub(super) fn check_places(&self) -> Result<()> {
        self.check_values()?;
        if self.waiting_values() < MISSING as usize {
            return Ok(());
        }
        Err(Error::with_detail(ErrorKind::ElementLimit, 0, self.options.limits.elements as u64))
    }

    /// Takes the value into its column, if one is expected here.
    #[inline]
    pub(super) fn expected_value(&mut self, tag: u8, cell: u64) -> Came {
        let (column, is_element) = match self.shred.events.get(self.shred.next) {
            Some(&Event::Value(column)) => (column, false),
            Some(&Event::Elements(column)) => (column, true),
            _ => return Came::Not,
        };
        match self.shred.columns.get_mut(column as usize) {
            Some(values) if is_plain(tag) => match values.put(tag, cell) {
                true if is_element => Came::Expected,
                true => self.next_event(),
                false => Came::Full,
            },
            _ => Came::Not,
        }
    }

    /// Goes on to the next event, which is the first one of another row if this row is whole.
    #[inline]
    fn next_event(&mut self) -> Came {
        self.shred.next += 1;
        if self.shred.next == self.shred.events.len() {
            self.shred.next = 0;
            self.shred.rows += 1;
        }
        Came::Expected
    }

    /// Makes room in the column of the next event.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room_expected(&mut self) -> Result<()> {
        self.check_places()?;
        if let Some(&(Event::Value(column) | Event::Elements(column))) =
            self.shred.events.get(self.shred.next)
        {
            self.shred.columns[column as usize].grow()?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn expected_begin(&mut self, state: State) -> bool {
        let came = match self.shred.events.get(self.shred.next) {
            Some(Event::BeginArray) => state == State::Array,
            Some(Event::BeginObject(_)) => state == State::Key,
            _ => false,
        };
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
                Event::BeginObject(_) if inner == 0 => return 0,
                Event::BeginObject(_) => inner -= 1,
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
        match self.shred.columns.get_mut(column as usize).map(|values| values.end(limit)) {
            Some(Came::Expected) => self.next_event(),
            came => came.unwrap_or(Came::Not),
        }
    }

    /// Puts all rows back as they waited, with what came of one that is not whole. None are taken
    /// apart any more.
    #[cold]
    #[inline(never)]
    pub(super) fn put_together(&mut self) -> Result<()> {
        let Shred { events, next, rows, columns, .. } = core::mem::take(&mut self.shred);
        let expected = events.get(next);
        let came = if expected.is_some() { &events[..next] } else { &[] };
        if let Some(frame) = self.frames.last_mut() {
            frame.state = State::Array;
        }
        for row in 0..rows {
            self.put_row(&events, &columns, row)?;
        }
        self.put_row(came, &columns, rows)?;
        if let Some(&Event::Elements(column)) = expected {
            self.put_elements(&columns[column as usize], rows)?;
        }
        if let (Some(Event::Key(_)), Some(frame)) = (came.last(), self.frames.last_mut()) {
            frame.state = State::Value;
        }
        // The same keys are expected next, as if they had come one by one.
        for event in events.iter().chain(came) {
            if let &Event::Key(list) = event {
                let parent = self.keys.lists[list as usize].parent;
                self.keys.lists[parent as usize].child = list;
            }
        }
        Ok(())
    }

    fn put_elements(&mut self, values: &Values, row: usize) -> Result<()> {
        for at in values.array(row) {
            let (tag, cell) = values.value(at);
            self.put(tag, cell)?;
        }
        Ok(())
    }

    /// Puts the values of a row on the stack, as these events say.
    fn put_row(&mut self, events: &[Event], columns: &[Values], row: usize) -> Result<()> {
        for event in events {
            match *event {
                Event::BeginObject(_) => {
                    self.put(TAG_WAITING_OBJECT, 0)?;
                    self.put(TAG_WAITING_SIZE, 0)?;
                    self.open(State::Key);
                }
                Event::Key(list) => {
                    if let Some(object) = self.frames.last_mut() {
                        object.node = list;
                    }
                }
                Event::Value(column) => {
                    let (tag, cell) = columns[column as usize].value(row);
                    self.put(tag, cell)?;
                }
                Event::EndObject => {
                    if let Some(&Frame { start, node, .. }) = self.frames.last() {
                        self.end_waiting_object(start, node)?;
                    }
                }
                Event::BeginArray => {
                    self.put(TAG_WAITING_ARRAY, 0)?;
                    self.open(State::Array);
                }
                Event::Elements(column) => {
                    let start = self.cells.len();
                    self.put_elements(&columns[column as usize], row)?;
                    self.end_waiting_array(start)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Uuid;
    use alloc::format;
    use alloc::vec::Vec;

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
