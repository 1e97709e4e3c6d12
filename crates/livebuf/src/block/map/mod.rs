//! Maps: objects too big for a record (FORMAT 7).
//!
//! An entry table in insertion order, which gives the order of members, and up to two indexes of
//! entry numbers over it. The hash block (`hash.rs`) finds a key by one bucket, one entry and one
//! comparison. The tree has the order of the keys' bytes: it is made when that is asked for, and
//! for keys that collide in the hash block. So no choice of keys makes a search slow. Few entries
//! have neither, and are searched one after another.
//!
//! ```text
//!  map      [4 0 0 0][live][used][capacity][entries][root][hash][buckets]
//!  entries  [8 tags][key cell, value cell] × 8  [8 tags][…]
//! ```
//!
//! The values of similar objects are the rows of a table: such a map has *values*, an array whose
//! element i belongs to entry i. Its entries are key cells only.
//!
//! Invariants: `live` ≤ `used` ≤ `capacity`; an entry below `used` with tag 0 (or key cell 0 where
//! values are in an array) is a hole, all zero, and the last used entry is none. If there is a tree,
//! every live entry is in exactly one leaf item. Else every live entry is in the hash block, if there
//! is one. Else `used` is at most 16. Calls go `edit, bulk, check → find → hash, node`.

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
use crate::block::list::elements_of;
use crate::block::record::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u32, load_u64, slice};
use crate::format::cell::{owned_span, span_at_position};
use crate::format::layout::*;
use core::ops::Range;

#[cfg(feature = "alloc")]
pub(crate) use bulk::{build, ordered, tree_size};
pub(crate) use check::check_index;
pub(crate) use edit::{
    Fill, Growth, InsertPlan, Place, RemovePlan, RenamePlace, RenamePlan, create, create_size,
    fill, filled_size, free_body, insert, make_tree, plan_fill, plan_insert, plan_insert_after,
    plan_remove, plan_rename, plan_reserve, put_entry, remove, rename, reserve, squeeze, squeezes,
    tree_limit,
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
    /// Entries, holes included.
    pub(crate) used: u32,
    pub(crate) capacity: u32,
    pub(crate) entries: Entries,
    /// Offset of the tree's root, 0 for none.
    pub(crate) root: u32,
    /// Offset of the hash block, 0 for none, and its buckets.
    pub(crate) hash: u32,
    pub(crate) buckets: u32,
}

/// Where a map's entries lie, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entries {
    /// Offset of the first, 0 where there is no room for any.
    pub(crate) at: u32,
    /// They are key cells, since the values are in an array.
    pub(crate) keys_only: bool,
}

impl Entries {
    /// Entries with values in them.
    pub(crate) const fn whole(at: u32) -> Entries {
        Entries { at, keys_only: false }
    }

    /// The position of an entry's key cell.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(crate) fn key_at(self, number: u32) -> u64 {
        let within = match self.keys_only {
            true => 8 * u64::from(number),
            false => entry_key_at(number),
        };
        u64::from(self.at) + within
    }

    /// The position of an entry's tag, where it has one.
    #[inline]
    pub(crate) fn tag_at(self, number: u32) -> u64 {
        u64::from(self.at) + entry_tag_at(number)
    }

    /// The value of an entry that has one, a hole or not.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(crate) fn value(self, bytes: &[u8], number: u32) -> Result<Raw> {
        let position = u64::from(self.at) + entry_key_at(number) + 8;
        let cell = load_u64(bytes, position)?;
        Ok(Raw { tag: load_u8(bytes, self.tag_at(number))?, cell, position: position as u32 })
    }

    /// Bytes of so many entries.
    #[inline]
    pub(crate) fn size(self, count: u32) -> u64 {
        match self.keys_only {
            true => 8 * u64::from(count),
            false => entries_size(u64::from(count)),
        }
    }

    /// Whether an entry is no hole.
    #[inline]
    pub(crate) fn is_live(self, bytes: &[u8], number: u32) -> Result<bool> {
        match self.keys_only {
            true => Ok(load_u64(bytes, self.key_at(number))? != 0),
            false => Ok(load_u8(bytes, self.tag_at(number))? != TAG_HOLE),
        }
    }
}

/// One entry of a map: its tag, and where its cells lie (in bounds).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// [`TAG_HOLE`] for a removed entry. Another where the values are in an array, too.
    pub(crate) tag: u8,
    /// Position of the tag; 0 where the values are in an array.
    pub(crate) tag_at: u64,
    /// Position of the key cell.
    pub(crate) key: u64,
    /// Position of the value cell; 0 where the values are in an array.
    pub(crate) value: u64,
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
        let [kind, form, ..] = word(0).to_le_bytes();
        if kind != KIND_MAP {
            return Err(Error::new(ErrorKind::WrongBlock, map));
        }
        Ok(Map {
            at: map,
            live: word(MAP_LIVE),
            used: word(MAP_USED),
            capacity: word(MAP_CAPACITY),
            entries: Entries { at: word(MAP_ENTRIES), keys_only: form == 1 },
            root: word(MAP_ROOT),
            hash: word(MAP_HASH),
            buckets: word(MAP_BUCKETS),
        })
    }

    /// Whether there is no index: the entries are searched.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.root == 0 && self.hash == 0
    }

    /// Checks that all keys can be read, and bounds their bytes by those of the document: sorting
    /// them takes time by their lengths. In a damaged document many entries could have one long key.
    pub(crate) fn check_keys(&self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes.len() as u64;
        for number in 0..self.used {
            if !self.entries.is_live(bytes, number)? {
                continue;
            }
            let length = key_of(bytes, self.entries, number)?.len() as u64;
            let at = self.entries.key_at(number);
            if owned_span(load_u64(bytes, at)?).is_some() {
                let left = rest.checked_sub(length);
                rest = left.ok_or_else(|| Error::new(ErrorKind::Overlap, at))?;
            } else if length > MAX_SHARED.into() {
                return Err(Error::new(ErrorKind::BadCell, at));
            }
        }
        Ok(())
    }

    /// Entry `index`, a hole or not.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(crate) fn entry(&self, bytes: &[u8], index: u32) -> Result<Entry> {
        if index >= self.used {
            return Err(Error::new(ErrorKind::BadIndex, self.at));
        }
        if self.entries.keys_only {
            return self.key_entry(bytes, index);
        }
        let entries = u64::from(self.entries.at);
        let (tag_at, key) = (entries + entry_tag_at(index), entries + entry_key_at(index));
        slice(bytes, key, 16)?;
        Ok(Entry { tag: load_u8(bytes, tag_at)?, tag_at, key, value: key + 8 })
    }

    #[cold]
    #[inline(never)]
    fn key_entry(&self, bytes: &[u8], index: u32) -> Result<Entry> {
        let key = self.entries.key_at(index);
        let tag = if load_u64(bytes, key)? == 0 { TAG_HOLE } else { TAG_NULL };
        Ok(Entry { tag, tag_at: 0, key, value: 0 })
    }

    /// The value of entry `index`.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(crate) fn value(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        if index >= self.used {
            return Err(Error::new(ErrorKind::BadIndex, self.at));
        }
        if self.entries.keys_only {
            return self.element(bytes, index);
        }
        self.entries.value(bytes, index)
    }

    /// The value in the array for entry `index`; a hole where that is one.
    #[cold]
    #[inline(never)]
    fn element(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        if self.key_entry(bytes, index)?.tag == TAG_HOLE {
            return Ok(Raw::HOLE);
        }
        match self.elements(bytes)? {
            Some(elements) if index < elements.count => elements.element(bytes, index),
            _ => Err(Error::new(ErrorKind::BadCount, self.at)),
        }
    }

    /// The next entries from `at` on between which there is no hole.
    pub(crate) fn next_run(&self, bytes: &[u8], at: u32) -> Result<Option<Range<u32>>> {
        let mut start = at;
        while start < self.used && !self.entries.is_live(bytes, start)? {
            start += 1;
        }
        let mut end = start;
        while end < self.used && self.entries.is_live(bytes, end)? {
            end += 1;
        }
        Ok((start < end).then_some(start..end))
    }

    /// The last holes before `end` between which there is no entry.
    pub(crate) fn last_holes(&self, bytes: &[u8], end: u32) -> Result<Option<Range<u32>>> {
        let mut end = end;
        while end > 0 && self.entries.is_live(bytes, end - 1)? {
            end -= 1;
        }
        let mut start = end;
        while start > 0 && !self.entries.is_live(bytes, start - 1)? {
            start -= 1;
        }
        Ok((start < end).then_some(start..end))
    }

    /// The home of the array with the values. Only of a map that has one.
    pub(crate) fn values(&self, bytes: &[u8]) -> Result<u32> {
        match load_u32(bytes, self.at + u64::from(MAP_VALUES))? {
            0 => Err(Error::new(ErrorKind::BadCount, self.at)),
            home => Ok(home),
        }
    }

    /// The array with the values, where they are not in the entries.
    pub(crate) fn elements(&self, bytes: &[u8]) -> Result<Option<Elements>> {
        if !self.entries.keys_only {
            return Ok(None);
        }
        elements_of(bytes, self.values(bytes)?.into()).map(Some)
    }

    /// The same of a map that has one.
    pub(crate) fn values_in(&self, bytes: &[u8]) -> Result<Elements> {
        let elements = self.elements(bytes)?.filter(|elements| elements.count == self.used);
        elements.ok_or_else(|| Error::new(ErrorKind::BadCount, self.at))
    }

    /// Bytes of the header.
    pub(crate) fn header_size(&self) -> u64 {
        match self.entries.keys_only {
            true => MAP_WITH_VALUES_SIZE.into(),
            false => MAP_SIZE.into(),
        }
    }

    /// The first entry at or after `index` that is no hole.
    #[inline]
    pub(crate) fn next_live(&self, bytes: &[u8], index: u32) -> Result<Option<(u32, Entry)>> {
        for index in index..self.used {
            let entry = self.entry(bytes, index)?;
            if entry.tag != TAG_HOLE {
                return Ok(Some((index, entry)));
            }
        }
        Ok(None)
    }
}

/// Text of an entry's key.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn key_of(bytes: &[u8], entries: Entries, entry: u32) -> Result<&[u8]> {
    span_at_position(bytes, entries.key_at(entry))
}
