//! Building a map's index at once, for the encoder: full nodes, root first.

use alloc::vec::Vec;

use super::find::common_prefix;
use super::key_of;
use super::node::{SLOTS, head_of, header};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::*;

/// The index over `sorted` entry numbers (no key twice) of a document in which
/// the entries are written, to be placed at `root`. The root lies first and
/// the leaves last, so that its top is together.
pub(crate) fn build(bytes: &[u8], entries: u32, sorted: &[u32], root: u64) -> Result<Vec<u8>> {
    if sorted.is_empty() {
        return Ok(Vec::new());
    }
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
    let mut nodes = Vec::with_capacity(count * size);
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
            block[..8].copy_from_slice(&header(level as u8, count, capacity, prefix).to_le_bytes());
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
            nodes.extend_from_slice(&block[..size]);
        }
        below = root + nodes.len() as u64;
    }
    Ok(nodes)
}
