//! Index nodes as bytes (FORMAT 7.3): loading, searching their heads, writing items.
//!
//! ```text
//!  byte 0      1      2         3  4       8                 8 + 4c             8 + 8c
//!       [level][count][capacity][0][prefix][head 0 … head c-1][child 0 … child c-1]
//! ```
//!
//! `c` is 63 (512 bytes: heads fill four cache lines), or 7, 15 or 31 for a
//! root that is a leaf. Unused items are zero. A key's head is the four bytes
//! after the node's prefix as a big-endian number, zero-padded, so heads order
//! as keys do as far as they reach. Nothing here knows entries or keys' places.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::slice;
use crate::format::layout::*;
use crate::store::space::{Observer, Space};
use crate::store::storage::Storage;

/// Items of a full-size node.
pub(super) const ITEMS: usize = NODE_ITEMS as usize;
/// Words of a full-size node's items: heads, then children.
const WORDS: usize = 2 * ITEMS;

/// A node whose header is sound; `words` holds `capacity` heads, then as many children.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    words: &'a [[u8; 4]],
    /// 1 to capacity.
    pub(super) count: usize,
    pub(super) prefix: u32,
    /// 0 for a leaf, below [`MAX_LEVELS`].
    pub(super) level: u8,
}

impl<'a> Node<'a> {
    /// The node at `offset`; its level, capacity and count are possible ones.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn load(bytes: &'a [u8], offset: u32) -> Result<Self> {
        const SIZE: usize = node_size(NODE_ITEMS) as usize;
        if let Ok(block) = slice(bytes, u64::from(offset), SIZE as u64)
            && let Some(block) = block.first_chunk::<SIZE>()
            && block[NODE_CAPACITY as usize] == NODE_ITEMS as u8
        {
            let (level, count) = (block[0], block[NODE_COUNT as usize] as usize);
            // One comparison for 1..=63.
            if count.wrapping_sub(1) < ITEMS && level < MAX_LEVELS as u8 {
                let (words, _) = block.as_chunks::<4>();
                let [_, prefix, words @ ..] = words else { return Err(damaged(offset)) };
                return Ok(Node { words, count, prefix: u32::from_le_bytes(*prefix), level });
            }
            return Err(damaged(offset));
        }
        Self::load_small(bytes, offset)
    }

    /// A root leaf that has not grown to full size, and the errors.
    #[cold]
    #[inline(never)]
    fn load_small(bytes: &'a [u8], offset: u32) -> Result<Self> {
        let start = u64::from(offset);
        let &[level, count, capacity, ..] = slice(bytes, start, u64::from(NODE_HEADS))? else {
            return Err(damaged(offset));
        };
        let block = slice(bytes, start, u64::from(node_size(u32::from(capacity))))?;
        if level != 0 || !matches!(capacity, 7 | 15 | 31) || count == 0 || count > capacity {
            return Err(damaged(offset));
        }
        let [_, prefix, words @ ..] = block.as_chunks::<4>().0 else {
            return Err(damaged(offset));
        };
        Ok(Node { words, count: count.into(), prefix: u32::from_le_bytes(*prefix), level })
    }

    /// The child node in `item`, one level below.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn descend(&self, bytes: &'a [u8], item: usize) -> Result<Self> {
        let offset = self.child(item);
        let child = Node::load(bytes, offset)?;
        if child.level.wrapping_add(1) != self.level {
            return Err(damaged(offset));
        }
        Ok(child)
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.words.len() / 2
    }

    /// Head of an item (0 past the capacity).
    #[inline]
    pub(super) fn head(&self, item: usize) -> u32 {
        self.words.get(item).map_or(0, |&word| u32::from_le_bytes(word))
    }

    /// Entry number or node offset of an item (0 past the capacity).
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn child(&self, item: usize) -> u32 {
        self.words.get(self.capacity() + item).map_or(0, |&word| u32::from_le_bytes(word))
    }

    /// Count of items whose head is at most `head`; the heads are taken to ascend.
    #[inline]
    pub(super) fn at_most(&self, head: u32) -> usize {
        match self.words.first_chunk::<WORDS>() {
            Some(words) => at_most_of_63(words, self.count, head),
            None => self.at_most_small(head),
        }
    }

    #[cold]
    #[inline(never)]
    fn at_most_small(&self, head: u32) -> usize {
        (0..self.count).take_while(|&item| self.head(item) <= head).count()
    }

    /// Count of items whose head is less than `head`.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn below(&self, head: u32) -> usize {
        head.checked_sub(1).map_or(0, |head| self.at_most(head))
    }
}

/// Three comparisons that do not depend on each other choose a quarter of the heads. The heads
/// of that quarter are then all counted. So there are two dependent loads, where a binary
/// search has six, and the lines to be counted are already being fetched. Unused heads are zero
/// and thus never greater, so counting the greater ones needs no mask.
#[inline]
fn at_most_of_63(words: &[[u8; 4]; WORDS], count: usize, head: u32) -> usize {
    let at = |item: usize| u32::from_le_bytes(words[item]);
    let quarter = usize::from((count > 15) & (at(15) <= head))
        + usize::from((count > 31) & (at(31) <= head))
        + usize::from((count > 47) & (at(47) <= head));
    // The last quarter overlaps its neighbour by one item that is not greater.
    let start = (16 * quarter).min(ITEMS - 16);
    // One bit for each greater head; LLVM turns this into vector comparisons.
    let mut greater = 1u32 << 17;
    for (item, word) in words[start..start + 16].iter().enumerate() {
        greater |= u32::from(u32::from_le_bytes(*word) > head) << (item + 1);
    }
    count.min(start + greater.trailing_zeros() as usize - 1)
}

/// A full-size node as words: two of header, 63 heads, 63 children. A search goes down by this:
/// it is one pointer, where a [`Node`] is five registers.
#[derive(Clone, Copy)]
pub(super) struct Full<'a>(&'a [[u8; 4]; WORDS + 2]);

impl<'a> Full<'a> {
    /// The node at `offset`, if there is one of full size; not checked further.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn load(bytes: &'a [u8], offset: u32) -> Option<Self> {
        const SIZE: u64 = node_size(NODE_ITEMS) as u64;
        let block = slice(bytes, u64::from(offset), SIZE).ok()?;
        let full = Full(block.as_chunks::<4>().0.first_chunk()?);
        let sound = full.header() >> 16 == NODE_ITEMS && full.count().wrapping_sub(1) < ITEMS;
        sound.then_some(full)
    }

    #[inline]
    fn header(self) -> u32 {
        u32::from_le_bytes(self.0[0])
    }

    #[inline]
    pub(super) fn level(self) -> u32 {
        self.header() & 0xFF
    }

    #[inline]
    pub(super) fn count(self) -> usize {
        (self.header() >> 8 & 0xFF) as usize
    }

    #[inline]
    pub(super) fn prefix(self) -> u32 {
        u32::from_le_bytes(self.0[1])
    }

    /// As [`Node::head`] (0 past the last item).
    #[inline]
    pub(super) fn head(self, item: usize) -> u32 {
        let heads: &[_; ITEMS] = self.heads();
        heads.get(item).map_or(0, |&word| u32::from_le_bytes(word))
    }

    #[inline]
    fn heads(self) -> &'a [[u8; 4]; ITEMS] {
        let [_, _, heads @ ..] = self.0;
        let (heads, _) = heads.split_at(ITEMS);
        heads.first_chunk().unwrap_or(&[[0; 4]; ITEMS])
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn child(self, item: usize) -> u32 {
        self.0.get(2 + ITEMS + item).map_or(0, |&word| u32::from_le_bytes(word))
    }

    #[inline]
    pub(super) fn at_most(self, head: u32) -> usize {
        let [_, _, words @ ..] = self.0;
        at_most_of_63(words, self.count(), head)
    }

    /// As [`Node::below`].
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn below(self, head: u32) -> usize {
        head.checked_sub(1).map_or(0, |head| self.at_most(head))
    }
}

impl<'a> From<Full<'a>> for Node<'a> {
    #[inline]
    fn from(full: Full<'a>) -> Self {
        let [_, _, words @ ..] = full.0;
        Node { words, count: full.count(), prefix: full.prefix(), level: full.level() as u8 }
    }
}

/// The four bytes of a key after `prefix`, zero-padded, as a big-endian number.
#[inline]
pub(super) fn head_of(key: &[u8], prefix: u32) -> u32 {
    let rest = key.get(prefix as usize..).unwrap_or(&[]);
    match rest.first_chunk::<4>() {
        Some(head) => u32::from_be_bytes(*head),
        None => short_head(rest, 0),
    }
}

/// Head of fewer than four bytes, the rest filled with `fill`.
#[inline(never)]
pub(super) fn short_head(rest: &[u8], fill: u8) -> u32 {
    let at = |index| u32::from(rest.get(index).copied().unwrap_or(fill));
    at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3)
}

#[cold]
#[inline(never)]
pub(super) fn damaged(offset: u32) -> Error {
    Error::new(ErrorKind::BadIndex, u64::from(offset))
}

// --- writing ----------------------------------------------------------------

/// Position of a node's head `item`.
pub(super) const fn head_at(node: u32, item: usize) -> u64 {
    node as u64 + NODE_HEADS as u64 + 4 * item as u64
}

/// Position of a node's child `item`.
pub(super) const fn child_at(node: u32, capacity: usize, item: usize) -> u64 {
    head_at(node, capacity + item)
}

/// The first eight bytes of a node.
pub(super) const fn header(level: u8, count: usize, capacity: usize, prefix: u32) -> u64 {
    level as u64 | (count as u64) << 8 | (capacity as u64) << 16 | (prefix as u64) << 32
}

pub(super) fn set_count<S: Storage, O: Observer>(space: &mut Space<S, O>, node: u32, count: usize) {
    space.write_u8(u64::from(node + NODE_COUNT), count as u8);
}

pub(super) fn set_prefix<S: Storage, O: Observer>(space: &mut Space<S, O>, node: u32, prefix: u32) {
    space.write_u32(u64::from(node + NODE_PREFIX), prefix);
}

/// Puts (head, child) at `item` of a node that holds `count` and has room.
pub(super) fn insert_item<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    node: u32,
    (count, capacity): (usize, usize),
    item: usize,
    (head, child): (u32, u32),
) {
    let item = item.min(count);
    let rest = 4 * (count - item) as u64;
    for (first, value) in [(0, head), (capacity, child)] {
        let place = head_at(node, first + item);
        space.copy_within(place, place + 4, rest);
        space.write_u32(place, value);
    }
    set_count(space, node, count + 1);
}

/// Takes `item` out of a node that holds `count`.
pub(super) fn remove_item<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    node: u32,
    (count, capacity): (usize, usize),
    item: usize,
) {
    let Some(last) = count.checked_sub(1) else { return };
    let item = item.min(last);
    for first in [0, capacity] {
        let place = head_at(node, first + item);
        space.copy_within(place + 4, place, 4 * (last - item) as u64);
        space.write_u32(head_at(node, first + last), 0);
    }
    set_count(space, node, last);
}
