//! Entry numbers in the order of their keys, and a tree that is built of them at once: full nodes,
//! root first.

use super::find::common_prefix;
use super::node::{ITEMS, head_of, header};
use super::{Entries, key_of};
use crate::error::Result;
use crate::format::layout::*;
use crate::format::memory::vec_for;
use alloc::vec::Vec;

/// Entries below a full node of each level, and the count of levels, for an index
/// of `count` entries.
const fn spans(count: usize) -> ([usize; MAX_LEVELS], usize) {
    let mut spans = [0; MAX_LEVELS];
    let (mut levels, mut span) = (0, 1usize);
    while levels == 0 || span < count {
        span = span.saturating_mul(ITEMS);
        spans[levels] = span;
        levels += 1;
    }
    (spans, levels)
}

/// Items of each node of an index of `count` entries.
const fn capacity(count: usize) -> usize {
    match count {
        0..=7 => 7,
        8..=15 => 15,
        16..=31 => 31,
        _ => ITEMS,
    }
}

/// Bytes of an index of `count` entries that is built at once.
pub(crate) const fn index_size(count: usize) -> u64 {
    let (spans, levels) = spans(count);
    let (mut nodes, mut level) = (0, 0);
    while level < levels && count > 0 {
        nodes += count.div_ceil(spans[level]);
        level += 1;
    }
    nodes as u64 * node_size(capacity(count) as u32) as u64
}

/// Makes the index over `sorted` entry numbers, whose entries are written and whose keys
/// differ. It is to be placed at `root`. Fills `nodes`, which is zero and has [`index_size`]
/// bytes. The root comes first and the leaves last, so that the top levels lie together.
pub(crate) fn build(
    bytes: &[u8],
    entries: Entries,
    sorted: &[u32],
    root: u64,
    nodes: &mut [u8],
) -> Result<()> {
    let (spans, levels) = spans(sorted.len());
    let capacity = capacity(sorted.len());
    let size = node_size(capacity as u32) as usize;
    let mut blocks = nodes.chunks_exact_mut(size);
    // Offset of the next child. Children lie behind their parents' level, in its order.
    let mut below = root + size as u64;
    for level in (0..levels).rev() {
        for run in sorted.chunks(spans[level]) {
            let Some(block) = blocks.next() else { return Ok(()) };
            let (first, last) = (run[0], run[run.len() - 1]);
            let prefix =
                common_prefix(key_of(bytes, entries, first)?, key_of(bytes, entries, last)?) as u32;
            let step = spans[level] / ITEMS;
            let count = run.len().div_ceil(step);
            block[..8].copy_from_slice(&header(level as u8, count, capacity, prefix).to_le_bytes());
            let (words, _) = block.as_chunks_mut::<4>();
            for (item, keys) in run.chunks(step).enumerate() {
                let head = head_of(key_of(bytes, entries, keys[0])?, prefix);
                let (head, child) = match level {
                    0 => (head, keys[0]),
                    _ => (if item == 0 { 0 } else { head }, below as u32),
                };
                words[2 + item] = head.to_le_bytes();
                words[2 + capacity + item] = child.to_le_bytes();
                if level > 0 {
                    below += size as u64;
                }
            }
        }
    }
    Ok(())
}

/// The first eight bytes of a key, zero-padded, as a number. Numbers order as the bytes do.
fn first_eight(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}

/// Entry numbers in the order of their keys, equal ones as they are numbered. The first of each two
/// numbers is of use here alone.
pub(crate) fn ordered<'k>(
    numbers: impl ExactSizeIterator<Item = u32>,
    key: impl Fn(u32) -> &'k [u8],
) -> Result<Vec<(u64, u32)>> {
    let mut order = vec_for(numbers.len())?;
    order.extend(numbers.map(|number| (first_eight(key(number)), number)));
    order.sort_unstable_by_key(|&(start, _)| start);
    for alike in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        alike.sort_unstable_by(|a, b| key(a.1).cmp(key(b.1)).then(a.1.cmp(&b.1)));
    }
    Ok(order)
}
