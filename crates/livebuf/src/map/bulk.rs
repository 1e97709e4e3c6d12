//! Building a map's index at once, for the encoder: full nodes, root first.

use alloc::vec::Vec;

use super::find::common_prefix;
use super::key_of;
use super::node::{SLOTS, head_of, header};
use crate::bytes::round_up;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::*;

/// Sorts entry numbers by key, equal keys by number.
pub(crate) fn sort(bytes: &[u8], entries: u32, numbers: &mut [u32]) -> Result<()> {
    let Some((&first, rest)) = numbers.split_first() else { return Ok(()) };
    let first = key_of(bytes, entries, first)?;
    let mut shared = first.len();
    for &number in rest {
        let key = key_of(bytes, entries, number)?;
        shared = common_prefix(&first[..shared], key);
    }
    let mut order = Vec::with_capacity(numbers.len());
    for &number in numbers.iter() {
        order.push((long_head(&key_of(bytes, entries, number)?[shared..]), number));
    }
    let key = |number| key_of(bytes, entries, number).unwrap_or(&[]);
    order.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))).then(a.1.cmp(&b.1))
    });
    for (to, (_, number)) in numbers.iter_mut().zip(order) {
        *to = number;
    }
    Ok(())
}

fn long_head(rest: &[u8]) -> u64 {
    let mut head = [0; 8];
    for (to, from) in head.iter_mut().zip(rest) {
        *to = *from;
    }
    u64::from_be_bytes(head)
}

/// The pairs (earlier, later entry) of neighbours in sorted `numbers` with equal keys.
pub(crate) fn duplicates(
    bytes: &[u8],
    entries: u32,
    numbers: &[u32],
) -> impl Iterator<Item = (u32, u32)> {
    numbers.windows(2).filter_map(move |pair| {
        let &[earlier, later] = pair else { return None };
        let (one, other) = (key_of(bytes, entries, earlier), key_of(bytes, entries, later));
        (one.is_ok() && one == other).then_some((earlier, later))
    })
}

/// Appends the index over `sorted` entry numbers (no key twice) to a document's
/// bytes, in which the entries are written; returns the root's offset, 0 for
/// none. The root lies first and the leaves last, so that its top is together.
pub(crate) fn build(bytes: &mut Vec<u8>, entries: u32, sorted: &[u32]) -> Result<u32> {
    if sorted.is_empty() {
        return Ok(0);
    }
    bytes.resize(round_up(bytes.len() as u64) as usize, 0);
    let root = bytes.len() as u64;
    // Entries below a full node of each level, and where each level begins.
    let mut spans = [0usize; MAX_LEVELS];
    let mut levels = 0;
    let mut span = 1usize;
    loop {
        span = span.saturating_mul(SLOTS);
        spans[levels] = span;
        levels += 1;
        if span >= sorted.len() {
            break;
        }
    }
    let capacity = match sorted.len() {
        0..=7 => 7,
        8..=15 => 15,
        16..=31 => 31,
        _ => SLOTS,
    };
    let size = node_size(capacity as u32) as usize;
    let count: usize = spans[..levels].iter().map(|&span| sorted.len().div_ceil(span)).sum();
    let end = root + (count * size) as u64;
    if end > MAX_DOCUMENT {
        return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, MAX_DOCUMENT));
    }
    bytes.reserve(count * size);
    let mut block = [0u8; node_size(NODE_SLOTS) as usize];
    // Where the nodes of the level below begin.
    let mut below = root;
    for level in (0..levels).rev() {
        below += (sorted.len().div_ceil(spans[level]) * size) as u64;
        for run in sorted.chunks(spans[level]) {
            block.fill(0);
            let (first, last) = (run[0], run[run.len() - 1]);
            let prefix =
                common_prefix(key_of(bytes, entries, first)?, key_of(bytes, entries, last)?) as u32;
            let step = spans[level] / SLOTS;
            let count = run.len().div_ceil(step);
            block[..8].copy_from_slice(
                &header(level as u8, count, capacity, prefix).to_le_bytes(),
            );
            let (words, _) = block.as_chunks_mut::<4>();
            for (slot, keys) in run.chunks(step).enumerate() {
                let head = head_of(key_of(bytes, entries, keys[0])?, prefix);
                let (head, child) = match level {
                    0 => (head, keys[0]),
                    _ => (if slot == 0 { 0 } else { head }, below as u32),
                };
                words[2 + slot] = head.to_le_bytes();
                words[2 + capacity + slot] = child.to_le_bytes();
                if level > 0 {
                    below += size as u64;
                }
            }
            bytes.extend_from_slice(&block[..size]);
        }
        below = bytes.len() as u64;
    }
    Ok(root as u32)
}
