//! Keys and key lists: a trie while the document is encoded, shapes at its end.
//!
//! An object walks the trie key by key. Each leaf that records use becomes one shape, which
//! serves every prefix too. Until its shape's place is known, a record's shape field links
//! the records of one list, so that patching needs no memory.

use super::output::Output;
use super::room::{make_room, make_room_in};
use crate::error::Result;
use crate::format::bytes::equal;
use crate::format::cell::{Needle, inline_span, span_at};
use crate::format::layout::*;
use crate::store::storage::Storage;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

pub(super) struct Keys {
    /// The different keys, and their texts one behind the other.
    pub(super) keys: Vec<KeyText>,
    pub(super) text: Vec<u8>,
    table: HashTable<u32>,
    /// The trie; list 0 is the empty one.
    pub(super) lists: Vec<KeyList>,
    list_table: HashTable<u32>,
    /// The latest mark of an object.
    mark: u32,
    hasher: DefaultHashBuilder,
}

pub(super) struct KeyText {
    pub(super) start: u32,
    pub(super) length: u8,
    pub(super) fingerprint: u8,
    /// Mark of the object that used the key last, of those that mark theirs.
    pub(super) user: u32,
    /// Where the text of a long key was written; 0: not yet.
    pub(super) written: u32,
}

#[derive(Clone, Copy, Default)]
pub(super) struct KeyList {
    pub(super) parent: u32,
    pub(super) key: u32,
    /// The key's text, as its [`KeyText`] has it.
    pub(super) start: u32,
    /// Where a program keeps the text, if it was given as static; else 0.
    #[cfg(feature = "serde")]
    pub(super) address: usize,
    pub(super) length: u8,
    pub(super) depth: u8,
    /// Count of children, as far as it matters.
    pub(super) children: u8,
    /// The child most lately taken; while shapes are written, the first that is needed.
    pub(super) child: u32,
    /// Last record of this key list; each record links the one before.
    pub(super) records: u32,
    pub(super) count: u32,
    /// The child added last, of those that are not in the table, and the one added before
    /// this to the parent.
    pub(super) last: u32,
    pub(super) sibling: u32,
}

/// A key list's first children are found by going through them, more by a table.
const FEW_CHILDREN: u8 = 8;

impl Default for Keys {
    fn default() -> Self {
        Keys {
            keys: Vec::new(),
            text: Vec::new(),
            table: HashTable::new(),
            lists: alloc::vec![KeyList::default()],
            list_table: HashTable::new(),
            mark: 0,
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl Keys {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.text.clear();
        self.table.clear();
        self.lists.clear();
        self.lists.push(KeyList::default());
        self.list_table.clear();
        self.mark = 0;
    }

    /// Whether this is the last key of a key list.
    #[inline]
    pub(super) fn ends_with(&self, list: u32, text: &[u8]) -> bool {
        let expected = &self.lists[list as usize];
        let start = expected.start as usize;
        list != 0
            && expected.length as usize == text.len()
            && self.text.get(start..start + text.len()).is_some_and(|key| equal(key, text))
    }

    /// The child of `node` by this key, of those that are not in the table: cheaper than to
    /// hash the text.
    #[inline]
    pub(super) fn child_of(&self, node: u32, text: &[u8]) -> Option<u32> {
        let mut child = self.lists[node as usize].last;
        while child != 0 {
            let found = &self.lists[child as usize];
            if usize::from(found.length) == text.len()
                && self.text.get(found.start as usize..)?.starts_with(text)
            {
                return Some(child);
            }
            child = found.sibling;
        }
        None
    }

    /// Where an object of key list `node` has this key already. If it has not, the key gets the
    /// object's own mark.
    ///
    /// Each key knows the object that marked it last. Marks rise, and an object marks all
    /// keys that it has before a further one: so one that this object marked is in it, one
    /// with an older mark is not, and only with a newer one, of an object within this, its
    /// keys must be gone through.
    pub(super) fn depth_of(&mut self, own: &mut u32, node: u32, key: u32) -> Option<u32> {
        let first = *own == 0;
        if first {
            self.mark += 1;
            *own = self.mark;
        }
        let mark = *own;
        let user = core::mem::replace(&mut self.keys[key as usize].user, mark);
        if !first && user < mark {
            return None;
        }
        let mut ancestor = node;
        while ancestor != 0 {
            let found = self.lists[ancestor as usize];
            if found.key == key {
                return Some(found.depth.into());
            }
            self.keys[found.key as usize].user = mark;
            ancestor = found.parent;
        }
        None
    }

    /// The key list of `node` and one key more, if it was met.
    fn find_child(&self, node: u32, key: u32) -> Option<u32> {
        let mut child = self.lists[node as usize].last;
        while child != 0 {
            let found = &self.lists[child as usize];
            if found.key == key {
                return Some(child);
            }
            child = found.sibling;
        }
        self.child_in_table(node, key)
    }

    /// The same, of those that are not listed at the node.
    pub(super) fn child_in_table(&self, node: u32, key: u32) -> Option<u32> {
        if self.lists[node as usize].children <= FEW_CHILDREN {
            return None;
        }
        let equal = |&child: &u32| {
            let child = &self.lists[child as usize];
            child.parent == node && child.key == key
        };
        self.list_table.find(self.hasher.hash_one((node, key)), equal).copied()
    }

    pub(super) fn add_child(&mut self, node: u32, key: u32) -> Result<u32> {
        let child = self.lists.len() as u32;
        let depth = self.lists[node as usize].depth.saturating_add(1);
        make_room(&mut self.lists)?;
        let KeyText { start, length, .. } = self.keys[key as usize];
        let parent = &mut self.lists[node as usize];
        parent.children = parent.children.saturating_add(1);
        let few = parent.children <= FEW_CHILDREN;
        let sibling = if few { core::mem::replace(&mut parent.last, child) } else { 0 };
        let list =
            KeyList { parent: node, key, start, length, depth, sibling, ..KeyList::default() };
        self.lists.push(list);
        if few {
            return Ok(child);
        }
        let (lists, hasher) = (&self.lists, &self.hasher);
        let hash_of = |&child: &u32| {
            let child = &lists[child as usize];
            hasher.hash_one((child.parent, child.key))
        };
        make_room_in(&mut self.list_table, hash_of);
        self.list_table.insert_unique(hasher.hash_one((node, key)), child, hash_of);
        Ok(child)
    }

    /// The key list of `node` and one key more.
    pub(super) fn longer_list(&mut self, node: u32, key: u32) -> Result<u32> {
        match self.find_child(node, key) {
            Some(child) => Ok(child),
            None => self.add_child(node, key),
        }
    }

    pub(super) fn key_number(&mut self, text: &[u8]) -> Result<u32> {
        make_room(&mut self.keys)?;
        let (keys, texts, hasher) = (&self.keys, &self.text, &self.hasher);
        let text_of = |number: u32| {
            let key = &keys[number as usize];
            &texts[key.start as usize..][..key.length as usize]
        };
        let equal = |&number: &u32| text_of(number) == text;
        let hash_of = |&number: &u32| hasher.hash_one(text_of(number));
        make_room_in(&mut self.table, hash_of);
        let place = match self.table.entry(hasher.hash_one(text), equal, hash_of) {
            Entry::Vacant(place) => place,
            Entry::Occupied(place) => return Ok(*place.get()),
        };
        let number = keys.len() as u32;
        place.insert(number);
        self.keys.push(KeyText {
            start: self.text.len() as u32,
            length: text.len() as u8,
            fingerprint: Needle::new(text).fingerprint,
            user: 0,
            written: 0,
        });
        self.text.extend_from_slice(text);
        Ok(number)
    }

    /// Writes a shape for every leaf of the trie that records need, patches the
    /// records, and returns the newest shape.
    pub(super) fn write_shapes<S: Storage>(&mut self, out: &mut Output<S>) -> Result<u32> {
        // Children come after parents: one pass backwards finds, for each node,
        // the first child below which there are records.
        for node in &mut self.lists {
            node.child = 0;
        }
        for index in (1..self.lists.len()).rev() {
            let node = self.lists[index];
            if node.records != 0 || node.child != 0 {
                self.lists[node.parent as usize].child = index as u32;
            }
        }
        let mut newest = 0;
        for index in 1..self.lists.len() {
            let leaf = self.lists[index];
            if leaf.child != 0 || leaf.records == 0 {
                continue;
            }
            let shape = self.write_shape(out, leaf, newest)?;
            newest = shape;
            // The shape serves the leaf, and each ancestor whose first needed child leads to it.
            let (mut at, mut users) = (index as u32, 0);
            loop {
                let node = self.lists[at as usize];
                users += node.count;
                let mut record = node.records;
                while record != 0 {
                    let bytes = out.bytes();
                    let before = crate::format::bytes::load_u32(bytes, record as u64 + 4)?;
                    out.put_u32(record + 4, shape);
                    record = before;
                }
                if node.parent == 0 || self.lists[node.parent as usize].child != at {
                    break;
                }
                at = node.parent;
            }
            if users == 1 {
                let at = shape as usize + SHAPE_FLAGS as usize;
                out.bytes_mut()[at] = SHAPE_PRIVATE;
            }
        }
        Ok(newest)
    }

    fn write_shape<S: Storage>(
        &mut self,
        out: &mut Output<S>,
        leaf: KeyList,
        older: u32,
    ) -> Result<u32> {
        // Text of long keys first, so that the shape is whole.
        let mut node = leaf;
        while node.depth > 0 {
            let key = &self.keys[node.key as usize];
            let (start, length) = (key.start as usize, key.length as usize);
            if length > MAX_INLINE && key.written == 0 {
                let (offset, place) = out.grow(length)?;
                place.copy_from_slice(&self.text[start..start + length]);
                self.keys[node.key as usize].written = offset;
            }
            node = self.lists[node.parent as usize];
        }
        out.align();
        let count = u32::from(leaf.depth);
        let (shape, place) = out.grow(shape_size(count) as usize)?;
        place[..4].copy_from_slice(&[KIND_SHAPE, count as u8, count as u8, 0]);
        place[SHAPE_OLDER as usize..][..4].copy_from_slice(&older.to_le_bytes());
        let mut node = leaf;
        while node.depth > 0 {
            let key = &self.keys[node.key as usize];
            let index = node.depth as usize - 1;
            place[SHAPE_FINGERPRINTS as usize + index] = key.fingerprint;
            let text = &self.text[key.start as usize..][..key.length as usize];
            let cell = match key.written {
                0 => inline_span(text),
                offset => span_at(offset, key.length.into(), false),
            };
            place[shape_keys(count) as usize + 8 * index..][..8]
                .copy_from_slice(&cell.to_le_bytes());
            node = self.lists[node.parent as usize];
        }
        Ok(shape)
    }
}
