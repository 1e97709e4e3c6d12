//! Nodes of the tree as bytes (FORMAT 7.2).
//!
//! ```text
//!  byte 0      1     2  3  4
//!       [level][count][0][0][item 0 … item 62]
//! ```
//!
//! An item is an entry number in a leaf, else the offset of a node one level lower. Unused items
//! are zero. Nothing here knows entries or keys.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::slice;
use crate::format::layout::*;
use crate::store::space::Space;
use crate::store::storage::Storage;

pub(super) const ITEMS: usize = NODE_ITEMS as usize;

/// A node whose header is sound.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    words: &'a [[u8; 4]],
    /// 1 to 63.
    pub(super) count: usize,
    /// 0 for a leaf, below [`MAX_LEVELS`].
    pub(super) level: u8,
}

impl<'a> Node<'a> {
    /// The node at `offset`; its level and count are possible ones.
    pub(super) fn load(bytes: &'a [u8], offset: u32) -> Result<Self> {
        let block = slice(bytes, u64::from(offset), u64::from(NODE_SIZE))?;
        let [[level, count, ..], words @ ..] = block.as_chunks::<4>().0 else {
            return Err(damaged(offset));
        };
        let (level, count) = (*level, usize::from(*count));
        if level >= MAX_LEVELS as u8 || count == 0 || count > ITEMS {
            return Err(damaged(offset));
        }
        Ok(Node { words, count, level })
    }

    /// The node below in `item`.
    pub(super) fn descend(&self, bytes: &'a [u8], item: usize) -> Result<Self> {
        let offset = self.item(item);
        let child = Node::load(bytes, offset)?;
        if child.level + 1 != self.level {
            return Err(damaged(offset));
        }
        Ok(child)
    }

    /// The entry number or the node's offset in an item.
    pub(super) fn item(&self, item: usize) -> u32 {
        self.words.get(item).map_or(0, |&word| u32::from_le_bytes(word))
    }
}

#[cold]
#[inline(never)]
pub(super) fn damaged(offset: u32) -> Error {
    Error::new(ErrorKind::BadIndex, u64::from(offset))
}

// --- writing ----------------------------------------------------------------

/// Position of an item.
pub(super) const fn item_at(node: u32, item: usize) -> u64 {
    node as u64 + 4 + 4 * item as u64
}

/// Writes a node's first four bytes.
pub(super) fn set_header<S: Storage>(space: &mut Space<S>, node: u32, level: u8, count: usize) {
    space.write_u32(u64::from(node), u32::from(level) | (count as u32) << 8);
}

/// Puts `child` at `item` of a node that holds `count` and has room.
pub(super) fn insert_item<S: Storage>(
    space: &mut Space<S>,
    node: u32,
    count: usize,
    item: usize,
    child: u32,
) {
    // In damaged bytes it may have none.
    let count = count.min(ITEMS - 1);
    let place = item_at(node, item.min(count));
    space.copy_within(place, place + 4, item_at(node, count) - place);
    space.write_u32(place, child);
    space.write_u8(u64::from(node + NODE_COUNT), count as u8 + 1);
}

/// Takes `item` out of a node that holds `count`, which is not 0.
pub(super) fn remove_item<S: Storage>(space: &mut Space<S>, node: u32, count: usize, item: usize) {
    let last = item_at(node, count - 1);
    let place = item_at(node, item).min(last);
    space.copy_within(place + 4, place, last - place);
    space.write_u32(last, 0);
    space.write_u8(u64::from(node + NODE_COUNT), count as u8 - 1);
}
