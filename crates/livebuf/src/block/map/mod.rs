//! Maps: objects too big for a record (FORMAT 7).
//!
//! An entry table in insertion order, and over it a B+tree of entry numbers, ordered by the
//! keys' bytes. The table gives the order of members. The tree finds a key or a range of keys.
//! No choice of keys can make either slow.
//!
//! ```text
//!  map      [4 0 0 0][live][used][capacity][entries][root][hash][buckets]
//!  entries  [8 tags][key cell, value cell] × 8  [8 tags][…]
//! ```
//!
//! A large map also has a hash block (`hash.rs`): it finds a key by one bucket, one entry and
//! one comparison. What the block has no place for, the tree finds.
//!
//! Invariants: `live` ≤ `used` ≤ `capacity`; an entry below `used` with tag 0 is
//! a hole, all zero, and the last used entry is none; `root` is 0 exactly when
//! `live` is 0; every live entry is in exactly one leaf slot. Calls go
//! `edit, bulk, check → find → hash, node`.

mod bulk;
mod check;
mod edit;
mod find;
mod hash;
mod node;
#[cfg(test)]
mod tests;

use crate::block::record::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u64, slice};
use crate::format::cell::span_at_position;
use crate::format::layout::*;

#[cfg(feature = "alloc")]
pub(crate) use bulk::{build, first_eight};
pub(crate) use bulk::{index, index_size};
pub(crate) use check::check_index;
pub(crate) use edit::{
    InsertPlan, Place, RenamePlace, RenamePlan, create, create_size, free_body, insert,
    plan_insert, plan_remove, plan_rename, plan_reserve, put_entry, remove, rename, reserve,
};
pub(crate) use find::Range;
#[cfg(feature = "alloc")]
pub(crate) use hash::{encoded_buckets, fill};

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
    /// Offset of the entry table, 0 where the capacity is 0.
    pub(crate) entries: u32,
    /// Offset of the index root, 0 where nothing is live.
    pub(crate) root: u32,
    /// Offset of the hash block, 0 for none, and its buckets.
    pub(crate) hash: u32,
    pub(crate) buckets: u32,
}

/// One entry of a map: its tag, and where its cells lie (in bounds).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// [`TAG_HOLE`] for a removed entry.
    pub(crate) tag: u8,
    pub(crate) tag_at: u64,
    /// Position of the key cell.
    pub(crate) key: u64,
    /// Position of the value cell.
    pub(crate) value: u64,
}

impl Entry {
    /// The entry's value.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn load(&self, bytes: &[u8]) -> Result<Raw> {
        let cell = load_u64(bytes, self.value)?;
        Ok(Raw { tag: self.tag, cell, position: self.value as u32 })
    }
}

impl Map {
    /// The map whose header lies at `map`.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn load(bytes: &[u8], map: u64) -> Result<Map> {
        let header = slice(bytes, map, u64::from(MAP_SIZE))?;
        let word = |at: u32| {
            let at = at as usize;
            match header.get(at..).and_then(|rest| rest.first_chunk()) {
                Some(word) => u32::from_le_bytes(*word),
                None => 0,
            }
        };
        let loaded = Map {
            at: map,
            live: word(MAP_LIVE),
            used: word(MAP_USED),
            capacity: word(MAP_CAPACITY),
            entries: word(MAP_ENTRIES),
            root: word(MAP_ROOT),
            hash: word(MAP_HASH),
            buckets: word(MAP_BUCKETS),
        };
        if word(0) as u8 != KIND_MAP {
            return Err(Error::new(ErrorKind::WrongBlock, map));
        }
        if loaded.live > loaded.used
            || loaded.used > loaded.capacity
            || (loaded.live == 0) != (loaded.root == 0)
            || (loaded.hash == 0) != (loaded.buckets == 0)
        {
            return Err(Error::new(ErrorKind::BadCount, map));
        }
        Ok(loaded)
    }

    /// Entry `index`, a hole or not.
    #[inline]
    pub(crate) fn entry(&self, bytes: &[u8], index: u32) -> Result<Entry> {
        if index >= self.used {
            return Err(Error::new(ErrorKind::BadIndex, self.at));
        }
        let entries = u64::from(self.entries);
        let (tag_at, key) = (entries + entry_tag_at(index), entries + entry_key_at(index));
        slice(bytes, key, 16)?;
        Ok(Entry { tag: load_u8(bytes, tag_at)?, tag_at, key, value: key + 8 })
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
#[cfg_attr(not(feature = "small"), inline(always))]
fn key_of(bytes: &[u8], entries: u32, entry: u32) -> Result<&[u8]> {
    span_at_position(bytes, u64::from(entries) + entry_key_at(entry))
}
