//! Objects that are too big for a record: maps.
//!
//! Their keys are cells, beside the values on the stack, until the object ends.

use super::encoder::{Encoder, Frame, State, sequence};
use super::options::DuplicateKeys;
use super::texts::settle;
use crate::block::map;
use crate::error::{Error, ErrorKind, Result};
use crate::format::layout::*;
use crate::store::storage::Storage;
use alloc::vec::Vec;

/// Indexes over more entries begin at a page of 4,096 bytes.
const MANY_ENTRIES: usize = 4000;

impl<S: Storage> Encoder<S> {
    #[cold]
    pub(super) fn become_map(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last_mut() else { return Err(sequence()) };
        let first = self.map_keys.len();
        frame.state = State::MapKey(first);
        let mut node = self.keys.lists[frame.node as usize];
        frame.node = 0;
        let key_text = core::mem::take(&mut self.keys.text);
        while node.depth > 0 {
            let key = &self.keys.keys[node.key as usize];
            let (start, length) = (key.start as usize, key.length as usize);
            let cell = self.span(&key_text[start..start + length])?;
            self.map_keys.push(cell);
            node = self.keys.lists[node.parent as usize];
        }
        self.keys.text = key_text;
        self.map_keys[first..].reverse();
        Ok(())
    }

    #[inline(never)]
    pub(super) fn map_key(&mut self, text: &[u8]) -> Result<()> {
        match self.frames.last() {
            Some(&Frame { state: State::MapKey(first), .. }) => {
                let cell = self.span(text)?;
                self.map_keys.push(cell);
                if let Some(frame) = self.frames.last_mut() {
                    frame.state = State::MapValue(first);
                }
                Ok(())
            }
            _ => Err(sequence()),
        }
    }

    fn map_key_text(&self, first: usize, index: u32) -> &[u8] {
        let position = &self.map_keys[first + index as usize];
        let cell = *position;
        if cell >> 63 == 1 {
            // Inline: the text is the cell's own first bytes.
            let length = (cell >> 56 & 0x7F) as usize;
            &bytemuck::bytes_of(position)[..length]
        } else {
            let length = (cell >> 32) as u32 & MAX_SPAN;
            &self.out.bytes()[cell as u32 as usize..][..length as usize]
        }
    }

    /// Entry numbers by key order, each key once; a duplicate's last value moves to its first place.
    fn sort_map(&mut self, first: usize, start: usize) -> Result<Vec<u32>> {
        let count = (self.map_keys.len() - first) as u32;
        let text = |&(_, index): &(u64, u32)| self.map_key_text(first, index);
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(count as usize);
        order.extend((0..count).map(|index| (map::first_eight(text(&(0, index))), index)));
        order.sort_unstable_by_key(|&(start, _)| start);
        let (mut doubles, mut moves) = (Vec::new(), Vec::new());
        for alike in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            alike.sort_unstable_by(|a, b| text(a).cmp(text(b)).then(a.1.cmp(&b.1)));
            for equal in alike.chunk_by(|a, b| text(a) == text(b)) {
                if let [kept, .., last] = equal {
                    moves.push((kept.1 as usize, last.1 as usize));
                    doubles.extend(equal[1..].iter().map(|&(_, index)| index));
                }
            }
        }
        let mut sorted: Vec<u32> = order.into_iter().map(|(_, index)| index).collect();
        if doubles.is_empty() {
            return Ok(sorted);
        }
        if self.options.duplicate_keys == DuplicateKeys::Error {
            return Err(Error::new(ErrorKind::DuplicateKey, 0));
        }
        self.replaced = true;
        for (kept, last) in moves {
            self.cells[start + kept] = self.cells[start + last];
            self.tags[start + kept] = self.tags[start + last];
        }
        doubles.sort_unstable();
        // Take the doubles out of the entries, and renumber the order.
        let mut next = 0;
        let mut renumbered = alloc::vec![u32::MAX; count as usize];
        for (index, place) in renumbered.iter_mut().enumerate() {
            if doubles.binary_search(&(index as u32)).is_err() {
                *place = next as u32;
                self.map_keys[first + next] = self.map_keys[first + index];
                self.cells[start + next] = self.cells[start + index];
                self.tags[start + next] = self.tags[start + index];
                next += 1;
            }
        }
        self.map_keys.truncate(first + next);
        self.cells.truncate(start + next);
        self.tags.truncate(start + next);
        sorted.retain_mut(|index| {
            *index = renumbered[*index as usize];
            *index != u32::MAX
        });
        Ok(sorted)
    }

    pub(super) fn end_map(&mut self, start: usize, first: usize) -> Result<u32> {
        if self.outermost.is_some() {
            self.settle_waiting(start)?;
        }
        let sorted = self.sort_map(first, start)?;
        let count = (self.cells.len() - start) as u32;
        self.check_elements(count as usize)?;
        self.out.align();
        let (home, _) = self.out.grow(MAP_SIZE as usize)?;
        let size = entries_size(count as u64) as usize;
        let (entries, place) = self.out.grow(size)?;
        for index in 0..count {
            let (key, tag) = (entry_key_at(index), entry_tag_at(index) as usize);
            let position = entries + key as u32 + 8;
            let at = start + index as usize;
            let (value_tag, value) =
                settle(&mut self.texts.list, self.tags[at], self.cells[at], position);
            let key = key as usize;
            place[tag] = value_tag;
            place[key..key + 8]
                .copy_from_slice(&self.map_keys[first + index as usize].to_le_bytes());
            place[key + 8..key + 16].copy_from_slice(&value.to_le_bytes());
        }
        let root = self.build_index(entries, &sorted)?;
        let (hash, buckets) = self.build_hash(entries, count)?;
        let header = [KIND_MAP as u32, count, count, count, entries, root, hash, buckets];
        for (word, at) in header.into_iter().zip(0u32..) {
            self.out.put_u32(home + 4 * at, word);
        }
        self.map_keys.truncate(first);
        Ok(home)
    }

    /// The hash block of a map whose entries are written, and its buckets; 0 where it has none.
    fn build_hash(&mut self, entries: u32, count: u32) -> Result<(u32, u32)> {
        let buckets = map::encoded_buckets(count);
        if buckets == 0 {
            return Ok((0, 0));
        }
        let mut filled = alloc::vec![0; buckets as usize * BUCKET_SIZE as usize];
        map::fill(self.out.bytes(), entries, count, &mut filled)?;
        let (hash, place) = self.out.grow(hash_size(buckets) as usize)?;
        let first = hash.next_multiple_of(BUCKET_SIZE) - hash;
        place[first as usize..][..filled.len()].copy_from_slice(&filled);
        Ok((hash, buckets))
    }

    fn build_index(&mut self, entries: u32, sorted: &[u32]) -> Result<u32> {
        self.out.align();
        if sorted.len() > MANY_ENTRIES {
            // Its nodes do not lie across pages, and the topmost share one.
            self.out.used = self.out.used.next_multiple_of(4096);
        }
        let mut nodes = alloc::vec![0; map::index_size(sorted.len()) as usize];
        let (root, _) = self.out.grow(nodes.len())?;
        map::build(self.out.bytes(), entries, sorted, root.into(), &mut nodes)?;
        self.out.bytes_mut()[root as usize..][..nodes.len()].copy_from_slice(&nodes);
        Ok(if sorted.is_empty() { 0 } else { root })
    }
}
