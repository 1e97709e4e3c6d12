//! Entry numbers in the order of their keys, and a tree that is built from them at once.

use super::node::ITEMS;
use crate::error::Result;
use crate::format::layout::*;
use crate::format::memory::vec_for;
use alloc::vec::Vec;

/// Bytes of the tree of so many entries, at least one, that is built at once.
pub(crate) fn tree_size(mut count: usize) -> usize {
    let mut nodes = 0;
    loop {
        count = count.div_ceil(ITEMS);
        nodes += count;
        if count <= 1 {
            return nodes * NODE_SIZE as usize;
        }
    }
}

/// Makes the tree over sorted entry numbers, of full nodes, the leaves first. Fills `nodes`, which
/// is to be placed at `at`, is zero and has [`tree_size`] bytes. The last node is the root.
pub(crate) fn build(sorted: &[u32], at: u32, nodes: &mut [u8]) {
    let mut blocks = nodes.chunks_exact_mut(NODE_SIZE as usize);
    let (mut level, mut count, mut below, mut start) = (0, sorted.len(), 0, at);
    loop {
        for (first, block) in (0..count).step_by(ITEMS).zip(&mut blocks) {
            let items = ITEMS.min(count - first);
            let ([header, words @ ..], _) = block.as_chunks_mut::<4>() else { return };
            *header = [level, items as u8, 0, 0];
            for (item, word) in (first..first + items).zip(words) {
                let child = match level {
                    0 => sorted[item],
                    _ => below + NODE_SIZE * item as u32,
                };
                *word = child.to_le_bytes();
            }
        }
        if count <= ITEMS {
            return;
        }
        count = count.div_ceil(ITEMS);
        (level, below, start) = (level + 1, start, start + NODE_SIZE * count as u32);
    }
}

/// The first eight bytes of a key, zero-padded, as a number. Numbers order as the bytes do.
fn first_eight(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}

/// Entry numbers in the order of their keys, equal ones as they are numbered. The first number of
/// each pair is used only here.
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
