//! Maps: objects too big for a record (FORMAT 7).
//!
//! A map has keys and values in insertion order, which is that of its members, and up to two
//! indexes of entry numbers. The hash block (`hash.rs`) finds a key with one bucket, one entry and
//! one comparison. The tree is sorted by the keys' bytes. It is made if that order is asked for,
//! and for keys that collide in the hash block, so no choice of keys makes a search slow. A map of
//! few entries has neither, and is searched entry by entry.
//!
//! ```text
//!  map     [4 0 0 0][live][hash][buckets][capacity][keys][root][0][header of the values]
//!  keys    [key cell] × capacity
//! ```
//!
//! The values are a column of their own: value i belongs to entry i. Its header is part of the
//! map's. It has cells, or the rows of a table if the values are similar objects.
//!
//! Invariants: `live` ≤ `used`, the count of values, ≤ `capacity`; an entry below `used` with key
//! cell 0 is a hole, its value is null, and the last used entry is no hole. If there is a tree,
//! every live entry is in exactly one leaf item. Else every live entry is in the hash block, if
//! there is one. Else `used` is at most 16. Calls go `edit, bulk, check → find → hash, node`.

#[cfg(feature = "alloc")]
mod bulk;
mod check;
mod edit;
mod find;
mod hash;
mod node;
#[cfg(test)]
mod tests;

use crate::block::column::Elements;
use crate::block::record::{Raw, tagged};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u64, slice};
use crate::format::cell::{owned_span, span_at_position};
use crate::format::layout::*;
use core::ops::Range;

#[cfg(feature = "alloc")]
pub(crate) use bulk::{build, ordered, tree_size};
pub(crate) use check::check_index;
pub(crate) use edit::{
    Fill, InsertPlace, InsertPlan, RemovePlan, create, create_size, fill, filled_size, free_body,
    insert, make_tree, plan_fill, plan_insert, plan_insert_after, plan_remove, plan_rename,
    plan_reserve, put_entry, remove, rename, reserve, squeeze, tree_limit,
};
pub(crate) use find::{Range as KeyRange, find_value, first_look, look_up};
#[cfg(feature = "alloc")]
pub(crate) use hash::fill as fill_buckets;
pub(crate) use hash::{ByHash, encoded_buckets};

/// A map's header, its counts checked against each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map {
    /// Offset of the header.
    pub(crate) at: u64,
    /// Entries that are not holes.
    pub(crate) live: u32,
    /// Entries, holes included: the count of values.
    pub(crate) used: u32,
    /// Room for keys.
    pub(crate) capacity: u32,
    pub(crate) keys: Keys,
    /// Offset of the tree's root, 0 for none.
    pub(crate) root: u32,
    /// Offset of the hash block, 0 for none, and its buckets.
    pub(crate) hash: u32,
    pub(crate) buckets: u32,
    /// The values, if they are in cells.
    pub(crate) cells: Option<Cells>,
    /// Room for values.
    pub(crate) room: u32,
}

/// Where a map's keys lie: the offset of the first cell, 0 where there is no room for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys(pub(crate) u32);

impl Keys {
    /// The position of an entry's key cell.
    #[inline]
    pub(crate) fn at(self, number: u32) -> u64 {
        u64::from(self.0) + keys_size(number)
    }

    /// Whether an entry is no hole.
    #[inline]
    pub(crate) fn is_live(self, bytes: &[u8], number: u32) -> Result<bool> {
        Ok(load_u64(bytes, self.at(number))? != 0)
    }

    /// Text of an entry's key.
    #[inline]
    pub(crate) fn text(self, bytes: &[u8], number: u32) -> Result<&[u8]> {
        span_at_position(bytes, self.at(number))
    }
}

/// Bytes of so many keys.
#[inline]
pub(crate) const fn keys_size(count: u32) -> u64 {
    8 * count as u64
}

/// Where the values lie if they are a column of cells: the offset of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells(pub(crate) u32);

impl Cells {
    /// Where the tag of a value is.
    #[inline]
    pub(crate) fn tag_at(self, number: u32) -> u64 {
        u64::from(self.0) + tag_at(number)
    }

    /// Where its cell is.
    #[inline]
    pub(crate) fn cell_at(self, number: u32) -> u64 {
        u64::from(self.0) + cell_at(number)
    }

    /// A value.
    #[inline]
    pub(crate) fn value(self, bytes: &[u8], number: u32) -> Result<Raw> {
        tagged(bytes, self.0.into(), number)
    }
}

/// The value of entry `number` of the map at `map`, which is not in cells.
#[cold]
#[inline(never)]
fn element(bytes: &[u8], map: u32, number: u32) -> Result<Raw> {
    let elements = Elements::at(bytes, map.saturating_add(MAP_VALUES))?;
    match number < elements.count {
        true => elements.element(bytes, number),
        false => Err(Error::new(ErrorKind::BadCount, map.into())),
    }
}

impl Map {
    /// The map whose header lies at `map`.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(crate) fn load(bytes: &[u8], map: u64) -> Result<Map> {
        let loaded = Map::peek(bytes, map)?;
        if loaded.live > loaded.used
            || loaded.used > loaded.capacity
            || (loaded.hash == 0) != (loaded.buckets == 0)
            || loaded.live == 0 && loaded.root != 0
            || loaded.is_bare() && loaded.used > FEW_ENTRIES
        {
            return Err(Error::new(ErrorKind::BadCount, map));
        }
        Ok(loaded)
    }

    /// The same, its counts not checked.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    fn peek(bytes: &[u8], map: u64) -> Result<Map> {
        let header = slice(bytes, map, u64::from(MAP_SIZE))?;
        let word = |at: u32| {
            let at = at as usize;
            match header.get(at..).and_then(|rest| rest.first_chunk()) {
                Some(word) => u32::from_le_bytes(*word),
                None => 0,
            }
        };
        if word(0) as u8 != KIND_MAP || word(MAP_VALUES) as u8 != KIND_ARRAY {
            return Err(Error::new(ErrorKind::WrongBlock, map));
        }
        Ok(Map {
            at: map,
            live: word(MAP_LIVE),
            used: word(MAP_VALUES + ARRAY_COUNT),
            capacity: word(MAP_CAPACITY),
            keys: Keys(word(MAP_KEYS)),
            root: word(MAP_ROOT),
            hash: word(MAP_HASH),
            buckets: word(MAP_BUCKETS),
            // Kind and code, no gaps, no tensor.
            cells: (word(MAP_VALUES) == KIND_ARRAY.into())
                .then_some(Cells(word(MAP_VALUES + ARRAY_DATA))),
            room: word(MAP_VALUES + ARRAY_CAPACITY),
        })
    }

    /// Whether there is no index: the entries are searched.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.root == 0 && self.hash == 0
    }

    /// Checks that all keys can be read, and bounds their bytes by those of the document: sorting
    /// them takes time by their lengths. In a damaged document many entries could have one long
    /// key.
    pub(crate) fn check_keys(&self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes.len() as u64;
        for number in 0..self.used {
            if !self.keys.is_live(bytes, number)? {
                continue;
            }
            let length = self.keys.text(bytes, number)?.len() as u64;
            let at = self.keys.at(number);
            if owned_span(load_u64(bytes, at)?).is_some() {
                let left = rest.checked_sub(length);
                rest = left.ok_or_else(|| Error::new(ErrorKind::Overlap, at))?;
            } else if length > MAX_SHARED.into() {
                return Err(Error::new(ErrorKind::BadCell, at));
            }
        }
        Ok(())
    }

    /// Where the key cell of entry `index` is, a hole or not.
    #[inline]
    pub(crate) fn key_at(&self, index: u32) -> Result<u64> {
        match index < self.used {
            true => Ok(self.keys.at(index)),
            false => Err(Error::new(ErrorKind::BadIndex, self.at)),
        }
    }

    /// The value of entry `index`, which is no hole.
    #[inline]
    pub(crate) fn value_of(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        match self.cells {
            Some(cells) => cells.value(bytes, index),
            None => element(bytes, self.at as u32, index),
        }
    }

    /// The value of entry `index`; a hole where that is one.
    pub(crate) fn value(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        match load_u64(bytes, self.key_at(index)?)? {
            0 => Ok(Raw::HOLE),
            _ => self.value_of(bytes, index),
        }
    }

    /// The next entries from `at` on between which there is no hole.
    pub(crate) fn next_run(&self, bytes: &[u8], at: u32) -> Result<Option<Range<u32>>> {
        let Some(start) = self.next_live(bytes, at)? else { return Ok(None) };
        let mut end = start;
        while end < self.used && self.keys.is_live(bytes, end)? {
            end += 1;
        }
        Ok(Some(start..end))
    }

    /// The last holes before `end` between which there is no entry.
    pub(crate) fn last_holes(&self, bytes: &[u8], end: u32) -> Result<Option<Range<u32>>> {
        let mut end = end;
        while end > 0 && self.keys.is_live(bytes, end - 1)? {
            end -= 1;
        }
        let mut start = end;
        while start > 0 && !self.keys.is_live(bytes, start - 1)? {
            start -= 1;
        }
        Ok((start < end).then_some(start..end))
    }

    /// Where the header of the values is.
    pub(crate) fn values_at(&self) -> u32 {
        self.at as u32 + MAP_VALUES
    }

    /// The column with the values.
    pub(crate) fn values(&self, bytes: &[u8]) -> Result<Elements> {
        Elements::at(bytes, self.values_at())
    }

    /// The first entry at or after `index` that is no hole.
    #[inline]
    pub(crate) fn next_live(&self, bytes: &[u8], index: u32) -> Result<Option<u32>> {
        for index in index..self.used {
            if self.keys.is_live(bytes, index)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}
