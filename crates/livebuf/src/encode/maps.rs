//! Objects that are too big for a record: maps.
//!
//! Their keys are cells, beside the values on the stack, until the object ends. The values of
//! similar objects become rows of a table where they wait. They wait within an array, and in a map
//! that is copied from a document. They also wait in a map whose first members are similar
//! ([`Encoder::begin_anew`]). If that turns out wrong, the document is encoded again at the end.

use super::encoder::{Anew, Encoder, Frame, State, sequence};
use super::options::DuplicateKeys;
use super::room::{make_room, make_room_for};
use super::stack::{TAG_WAITING_OBJECT, run};
use super::texts::put_tagged;
use crate::block::column_type::ColumnType;
use crate::block::map::{self, Keys, Map};
use crate::block::walk::{Cursor, Node};
use crate::error::Result;
use crate::format::bytes::load_u64;
use crate::format::cell::{span_inline, span_length};
use crate::format::layout::*;
use crate::format::memory::{vec_for, zeros};
use crate::store::storage::Storage;
use crate::store::target::Target;
use alloc::vec::Vec;

/// With fewer entries, values do not become rows.
const LEAST_ROWS: usize = 8;

/// What says whether a map's values may be rows: they are objects or null, and have so many
/// members.
#[derive(Default)]
struct Values {
    count: u64,
    members: u64,
    most: u64,
}

impl Values {
    fn add(&mut self, members: u32) -> bool {
        self.count += 1;
        self.members += u64::from(members);
        self.most = self.most.max(members.into());
        true
    }

    /// Keys that few rows have make no table (PROFILE 6).
    fn are_similar(&self) -> bool {
        let enough = self.count >= LEAST_ROWS as u64 && self.most > 0;
        enough && 4 * self.members >= self.count * self.most
    }
}

/// Members of an object of a document that becomes a record; `None` where it becomes a map.
fn members_of_record(bytes: &[u8], object: &Cursor) -> Result<Option<u32>> {
    if let Node::Record(record) = object.node {
        return Ok(Some(record.live()));
    }
    let (mut members, mut count) = (*object, 0);
    while let Some((index, _)) = members.next(bytes)? {
        let key = members.key(bytes, index)?.unwrap_or_default();
        count += 1;
        if key.len() > MAX_SHAPE_KEY || count > MAX_FIELDS {
            return Ok(None);
        }
    }
    Ok(Some(count as u32))
}

/// The indexes of a map that is about to be written.
#[derive(Default)]
struct Indexes {
    /// The buckets of the hash block.
    buckets: Vec<u8>,
    /// The entries in the order of their keys, where a tree is made.
    sorted: Vec<u32>,
    /// Of each entry whose key came before: the first entry that has it, and its own number. These
    /// rise.
    doubles: Vec<(u32, u32)>,
}

impl<S: Storage> Encoder<S> {
    /// Whether an object of a document becomes a map whose values may be rows.
    pub(super) fn is_map_of_rows(&self, bytes: &[u8], object: &Cursor) -> Result<bool> {
        let Node::Map(_) = object.node else { return Ok(false) };
        if !self.options.tables
            || self.outermost.is_some()
            || members_of_record(bytes, object)?.is_some()
        {
            return Ok(false);
        }
        let (mut members, mut values) = (*object, Values::default());
        while let Some((_, raw)) = members.next(bytes)? {
            let known = match raw.tag {
                TAG_NULL => values.add(0),
                TAG_OBJECT => match members_of_record(bytes, &Cursor::new(bytes, raw)?)? {
                    Some(members) => values.add(members),
                    None => false,
                },
                _ => false,
            };
            if !known {
                return Ok(false);
            }
        }
        Ok(values.are_similar())
    }

    /// Begins an object that is known to become a map: its values wait, so that they can be rows.
    pub(super) fn begin_map_of_rows(&mut self) -> Result<()> {
        self.begin_object()?;
        self.become_map()?;
        self.outermost = Some(self.frames.len() - 1);
        self.keys.begin_outermost();
        self.shred.stop();
        Ok(())
    }

    #[cold]
    pub(super) fn become_map(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last_mut() else { return Err(sequence()) };
        frame.state = State::MapKey(self.map_keys.len());
        let node = core::mem::take(&mut frame.node);
        self.put_map_keys(node)
    }

    /// Puts the keys of a list where those of maps wait. Long ones are written.
    fn put_map_keys(&mut self, list: u32) -> Result<()> {
        self.keys.find_path(list);
        make_room_for(&mut self.map_keys, self.keys.path.len())?;
        let (text, path) =
            (core::mem::take(&mut self.keys.text), core::mem::take(&mut self.keys.path));
        for &number in &path {
            let key = &self.keys.keys[number as usize];
            let (start, length) = (key.start as usize, key.length as usize);
            let cell = self.span(&text[start..start + length])?;
            self.map_keys.push(cell.to_le_bytes());
        }
        (self.keys.text, self.keys.path) = (text, path);
        Ok(())
    }

    #[inline(never)]
    pub(super) fn map_key(&mut self, text: &[u8]) -> Result<()> {
        match self.frames.last() {
            Some(&Frame { state: State::MapKey(first), .. }) => {
                let cell = self.span(text)?;
                make_room(&mut self.map_keys)?;
                self.map_keys.push(cell.to_le_bytes());
                if let Some(frame) = self.frames.last_mut() {
                    frame.state = State::MapValue(first);
                }
                Ok(())
            }
            _ => Err(sequence()),
        }
    }

    fn map_key_text(&self, first: usize, index: u32) -> &[u8] {
        let bytes = &self.map_keys[first + index as usize];
        let cell = u64::from_le_bytes(*bytes);
        match span_inline(cell) {
            // The text is the cell's own first bytes.
            Some(length) => &bytes[..length],
            None => &self.out.bytes()[cell as u32 as usize..][..span_length(cell) as usize],
        }
    }

    /// Makes the indexes of a map by its keys.
    fn index_map(&mut self, first: usize) -> Result<Indexes> {
        let count = (self.map_keys.len() - first) as u32;
        let text = |index| self.map_key_text(first, index);
        let mut indexes = Indexes::default();
        let Indexes { buckets, sorted, doubles } = &mut indexes;
        let mut twice = |kept, double| doubles.push((kept, double));
        *buckets = zeros(map::encoded_buckets(count) as usize * BUCKET_SIZE as usize)?;
        if buckets.is_empty() {
            for index in 1..count {
                let key = text(index);
                if let Some(kept) = (0..index).find(|&kept| text(kept) == key) {
                    twice(kept, index);
                }
            }
        } else if !map::fill_buckets(buckets, count, text, twice) {
            let order = map::ordered(0..count, text)?;
            doubles.clear();
            for equal in order.chunk_by(|a, b| a.0 == b.0 && text(a.1) == text(b.1)) {
                doubles.extend(equal[1..].iter().map(|double| (equal[0].1, double.1)));
            }
            doubles.sort_unstable_by_key(|&(_, double)| double);
            *sorted = vec_for(count as usize)?;
            sorted.extend(order.into_iter().map(|(_, index)| index));
        }
        if let (&[(_, double), ..], DuplicateKeys::Error) =
            (&doubles[..], self.options.duplicate_keys)
        {
            let key = self.map_key_text(first, double).to_vec();
            return Err(self.came_twice(key));
        }
        Ok(indexes)
    }

    /// Takes duplicates out of a map: a key's last value moves to its first place.
    fn take_doubles(&mut self, first: usize, start: usize, doubles: &[(u32, u32)]) {
        self.replaced = true;
        for &(kept, last) in doubles {
            let (kept, last) = (start + kept as usize, start + last as usize);
            (self.cells[kept], self.tags[kept]) = (self.cells[last], self.tags[last]);
        }
        let mut next = 0;
        for index in 0..self.map_keys.len() - first {
            if doubles.binary_search_by_key(&(index as u32), |&(_, double)| double).is_err() {
                self.map_keys[first + next] = self.map_keys[first + index];
                self.cells[start + next] = self.cells[start + index];
                self.tags[start + next] = self.tags[start + index];
                next += 1;
            }
        }
        self.map_keys.truncate(first + next);
        self.cells.truncate(start + next);
        self.tags.truncate(start + next);
    }

    pub(super) fn end_map(&mut self, start: usize, first: usize) -> Result<u32> {
        let mut indexes = self.index_map(first)?;
        let mut rows = None;
        if self.outermost.is_some() {
            let is_own = self.outermost == Some(self.frames.len() - 1);
            self.replaced |= is_own && self.anew != Anew::Never && !self.are_rows(start);
            if indexes.doubles.is_empty() && self.map_keys.len() - first >= LEAST_ROWS {
                rows = self.lay_out_rows(start)?;
            }
            if rows.is_none() {
                self.settle_waiting(start)?;
            }
        } else {
            self.replaced |= self.may_be_rows(start);
        }
        if !indexes.doubles.is_empty() {
            self.take_doubles(first, start, &indexes.doubles);
            indexes = self.index_map(first)?;
        }
        self.check_elements(self.map_keys.len() - first)?;
        self.write_map(start, first, rows, &indexes)
    }

    /// Writes a waiting object of this key list as a map. Its values are laid out, from `start` on.
    pub(super) fn end_wide(&mut self, start: usize, list: u32) -> Result<u32> {
        let first = self.map_keys.len();
        self.put_map_keys(list)?;
        let indexes = self.index_map(first)?;
        self.write_map(start, first, None, &indexes)
    }

    /// Writes a map's values as cells, behind the room for its header. Returns where that is.
    fn write_cells(&mut self, start: usize, count: u32) -> Result<u32> {
        let (home, _) = self.out.grow(MAP_SIZE as usize)?;
        let (data, place) = self.out.grow(tagged_size(count.into()) as usize)?;
        let (tags, cells) = (&self.tags[start..], &self.cells[start..]);
        put_tagged(&mut self.texts.list, place, data, tags, cells);
        self.put_header(home + MAP_VALUES, ColumnType::Cells, GAPS_NONE, count, data);
        Ok(home)
    }

    /// Writes a map's values from `start` on, if they are not `rows` that were written already, its
    /// keys from `first` on, its indexes and its header.
    fn write_map(
        &mut self,
        start: usize,
        first: usize,
        rows: Option<u32>,
        indexes: &Indexes,
    ) -> Result<u32> {
        let count = (self.map_keys.len() - first) as u32;
        self.out.align();
        let home = match rows {
            Some(home) => home,
            None => self.write_cells(start, count)?,
        };
        let (keys, place) = self.out.grow(map::keys_size(count) as usize)?;
        for (slot, key) in place.chunks_exact_mut(8).zip(&self.map_keys[first..]) {
            slot.copy_from_slice(key);
        }
        self.map_keys.truncate(first);
        let root = self.build_tree(&indexes.sorted)?;
        let (hash, buckets) = self.put_buckets(&indexes.buckets)?;
        let (at, live, used, capacity, keys) = (home.into(), count, count, count, Keys(keys));
        let (cells, room) = (None, count);
        let map = Map { at, live, used, capacity, keys, root, hash, buckets, cells, room };
        map.write_header(&mut self.out);
        Ok(home)
    }

    /// Whether a map's values, which wait, are what [`is_map_of_rows`](Self::is_map_of_rows) says.
    pub(super) fn are_rows(&self, start: usize) -> bool {
        let mut values = Values::default();
        let known = run(&self.tags, &self.cells, start, self.cells.len()).all(|at| {
            let list = self.cells[at] as u32 as usize;
            match self.tags[at] {
                TAG_NULL => values.add(0),
                TAG_WAITING_OBJECT if !self.keys.lists[list].is_wide() => {
                    values.add(self.keys.lists[list].depth.into())
                }
                _ => false,
            }
        });
        known && values.are_similar()
    }

    /// Whether a map's values, which are written, may be rows when they wait.
    pub(super) fn may_be_rows(&self, start: usize) -> bool {
        let mut values = Values::default();
        let (tags, cells) = (&self.tags[start..], &self.cells[start..]);
        let known = tags.iter().zip(cells).all(|(&tag, &home)| match tag {
            TAG_NULL => values.add(0),
            TAG_OBJECT => {
                let record = load_u64(self.out.bytes(), home).unwrap_or(0).to_le_bytes();
                record[0] == KIND_RECORD && values.add(record[2].into())
            }
            _ => false,
        });
        known && self.options.tables && values.are_similar()
    }

    /// Writes a hash block; returns where it is, and its buckets.
    fn put_buckets(&mut self, filled: &[u8]) -> Result<(u32, u32)> {
        if filled.is_empty() {
            return Ok((0, 0));
        }
        let buckets = filled.len() as u32 / BUCKET_SIZE;
        let (hash, place) = self.out.grow(hash_size(buckets) as usize)?;
        let first = hash.next_multiple_of(BUCKET_SIZE) - hash;
        place[first as usize..][..filled.len()].copy_from_slice(filled);
        Ok((hash, buckets))
    }

    /// Writes a tree, if there are entries for one; returns where its root is.
    fn build_tree(&mut self, sorted: &[u32]) -> Result<u32> {
        if sorted.is_empty() {
            return Ok(0);
        }
        let size = map::tree_size(sorted.len());
        let (at, nodes) = self.out.grow(size)?;
        map::build(sorted, at, nodes);
        Ok(at + size as u32 - NODE_SIZE)
    }
}
