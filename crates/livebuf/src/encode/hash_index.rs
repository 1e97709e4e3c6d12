//! An index by hash of things that have numbers: keys, key lists, and texts.
//!
//! It keeps 32 bits of each hash beside the number. So it grows without a look at the things
//! themselves. Encoding small documents spends much of its time here (`docs/design.md`).

use super::room::memory;
use crate::error::{Error, Result};
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash, Hasher};
use hashbrown::DefaultHashBuilder;

/// Open addressing with linear probing.
#[derive(Default)]
pub(super) struct HashIndex {
    slots: Vec<IndexSlot>,
    count: usize,
    /// What numbers are raised by. So all that were put before are too small, and their slots free.
    base: u32,
    /// The largest number that was put, as its slot has it.
    largest: u32,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy, Default)]
struct IndexSlot {
    hash: u32,
    /// The number and 1, raised by the base; at most the base where the slot is free.
    next: u32,
}

/// Slots of the smallest index, and those that are left of a large one with few numbers.
const FEWEST: usize = 1 << 6;
const MOST_KEPT: usize = 1 << 12;

/// A larger base begins at 0 again. Numbers are less than three billion: a document holds no more
/// keys or texts. So both fit 32 bits together.
const LARGEST_BASE: u32 = 1 << 30;

/// From so many slots on, an index grows in small steps.
const MANY: usize = 1 << 16;

/// The first slot of a hash among so many.
#[inline]
fn home(hash: u32, slots: usize) -> usize {
    ((u64::from(hash) * slots as u64) >> 32) as usize
}

impl HashIndex {
    /// Bytes of memory.
    pub(super) fn kept_bytes(&self) -> usize {
        memory(&self.slots)
    }

    /// Makes room for one number more: much while there are few, later a quarter more, to bound
    /// memory. Three quarters of the slots at most are taken.
    #[inline]
    pub(super) fn make_room(&mut self) -> Result<()> {
        if self.count < self.slots.len() / 4 * 3 { Ok(()) } else { self.grow() }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<()> {
        let length = match self.slots.len() {
            length @ ..MOST_KEPT => (4 * length).max(FEWEST),
            length @ ..MANY => 2 * length,
            length => length + length / 4,
        };
        let refused = |_| Error::out_of_memory((length * size_of::<IndexSlot>()) as u64);
        let mut slots = Vec::new();
        slots.try_reserve_exact(length).map_err(refused)?;
        slots.resize(length, IndexSlot::default());
        let before = core::mem::replace(&mut self.slots, slots);
        for slot in before.into_iter().filter(|slot| slot.next > self.base) {
            if let Err(place) = self.find(slot.hash, |_| false) {
                self.slots[place] = slot;
            }
        }
        Ok(())
    }

    /// The hash of a thing.
    #[inline]
    pub(super) fn hash(&self, thing: impl Hash) -> u32 {
        (self.hasher.hash_one(thing) >> 32) as u32
    }

    /// The hash of a text.
    #[inline]
    pub(super) fn hash_text(&self, text: &[u8]) -> u32 {
        // Without the length, which the hash of a slice has before its bytes.
        let mut hasher = self.hasher.build_hasher();
        hasher.write(text);
        (hasher.finish() >> 32) as u32
    }

    /// The number with this hash that `is_equal` agrees to; else the free slot where a number of
    /// this hash belongs. To [`put`](Self::put) one there, make room before.
    #[inline]
    pub(super) fn find(
        &self,
        hash: u32,
        mut is_equal: impl FnMut(u32) -> bool,
    ) -> core::result::Result<u32, usize> {
        let mut at = home(hash, self.slots.len());
        while let Some(slot) = self.slots.get(at) {
            if slot.next <= self.base {
                break;
            }
            let number = slot.next - self.base - 1;
            if slot.hash == hash && is_equal(number) {
                return Ok(number);
            }
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        Err(at)
    }

    /// Puts a number into the free slot that [`find`](Self::find) found.
    #[inline]
    pub(super) fn put(&mut self, slot: usize, hash: u32, number: u32) {
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = IndexSlot { hash, next: self.base + number + 1 };
            self.largest = self.largest.max(slot.next);
            self.count += 1;
        }
    }

    /// Takes all numbers out. O(1) but for once in a billion numbers.
    pub(super) fn clear(&mut self) {
        // Few numbers in many slots would each be in another cache line.
        if self.slots.len() > MOST_KEPT && self.count < self.slots.len() / 16 {
            self.slots.truncate(MOST_KEPT);
        }
        if self.largest >= LARGEST_BASE {
            self.slots.fill(IndexSlot::default());
            self.largest = 0;
        }
        (self.base, self.count) = (self.largest, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds `count` numbers, and finds each by its hash.
    fn check(index: &mut HashIndex, count: u32, hash_of: impl Fn(u32) -> u32) {
        for number in 0..count {
            index.make_room().unwrap();
            let place = index.find(hash_of(number), |found| found == number).unwrap_err();
            index.put(place, hash_of(number), number);
        }
        for number in 0..count {
            assert_eq!(index.find(hash_of(number), |found| found == number), Ok(number));
        }
        assert!(index.find(hash_of(count), |found| found == count).is_err());
    }

    #[test]
    fn finds_each_number_after_growing() {
        let mut index = HashIndex::default();
        let hashes = HashIndex::default();
        check(&mut index, 20_000, |number| hashes.hash(number));
        index.clear();
        check(&mut index, 3, |number| hashes.hash(number));
        index.clear();
        assert_eq!(index.slots.len(), MOST_KEPT, "few numbers lay in many slots");
        check(&mut index, 3, |number| hashes.hash(number));
    }

    #[test]
    fn finds_nothing_that_was_taken_out() {
        let (mut index, hashes) = (HashIndex::default(), HashIndex::default());
        for round in 0..10 {
            if round == 5 {
                // The next base is too large.
                (index.base, index.largest) = (LARGEST_BASE - 200, LARGEST_BASE - 200);
            }
            check(&mut index, 300, |number| hashes.hash(number));
            index.clear();
            for number in 0..300 {
                assert!(index.find(hashes.hash(number), |_| true).is_err());
            }
        }
        assert_eq!(index.base, 4 * 300);
    }

    #[test]
    fn finds_each_number_among_equal_hashes() {
        check(&mut HashIndex::default(), 300, |_| u32::MAX);
        check(&mut HashIndex::default(), 300, |number| number % 2);
    }
}
