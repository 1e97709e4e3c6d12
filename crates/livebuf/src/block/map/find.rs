//! Searching a map: one key, and in the tree the place of a key, or a range (FORMAT 7.2).

use core::cmp::Ordering;
use core::ops::Bound;

use super::hash::{self, ByHash, Hashed};
use super::node::{Node, damaged};
use super::{Keys, Map};
use crate::block::record::Raw;
use crate::error::Result;
use crate::format::bytes::{load_u64, slice};
use crate::format::cell::Needle;
use crate::format::layout::*;

impl Map {
    /// The number of the entry with this key.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(crate) fn find(&self, bytes: &[u8], needle: &Needle<'_>) -> Result<Option<u32>> {
        let found = self.find_by_hash(bytes, needle)?;
        if found.entry().is_some() || found.is_nothing() {
            return Ok(found.entry());
        }
        if self.root == 0 {
            return self.search(bytes, needle);
        }
        Ok(seek(bytes, self.keys, self.root, SeekTarget::at(needle.text))?.found)
    }

    /// The same in a map without a tree, where the hash block does not know: few entries, one after
    /// another.
    #[inline(never)]
    fn search(&self, bytes: &[u8], needle: &Needle<'_>) -> Result<Option<u32>> {
        if self.hash != 0 {
            return Ok(None);
        }
        for number in 0..self.used.min(FEW_ENTRIES) {
            if is_at(bytes, self.keys.at(number), needle)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// What the hash block says of a key.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn find_by_hash(&self, bytes: &[u8], needle: &Needle<'_>) -> Result<ByHash> {
        if self.hash == 0 {
            return Ok(ByHash::PERHAPS);
        }
        let hashed = Hashed::of(needle.text, self.buckets);
        hash::find(bytes, self, hashed, |position| is_at(bytes, position, needle))
    }
}

/// The value with this key in the map at `map`; a hole where there is none.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn find_value(bytes: &[u8], map: u32, key: &[u8]) -> Result<Raw> {
    let found = look_up(bytes, map, key);
    match found.entry() {
        Some(entry) => found.value(bytes, map, entry),
        None if found.is_nothing() => Ok(Raw::HOLE),
        None => find_value_slowly(bytes, map, key),
    }
}

#[inline(never)]
fn find_value_slowly(bytes: &[u8], map: u32, key: &[u8]) -> Result<Raw> {
    let map = Map::load(bytes, map.into())?;
    match map.find(bytes, &Needle::new(key))? {
        Some(index) => map.value(bytes, index),
        None => Ok(Raw::HOLE),
    }
}

/// What the hash block of the map at `map` says of a key. `PERHAPS` also if that is no map with a
/// hash block, or if bytes are damaged: the caller then searches on, and gets the error. The small
/// build always searches on.
///
/// The counts of the map are not checked against each other: no matter which they are, only bytes
/// of the document are read.
// A function of its own, and without errors: this saves 40 instructions of a look-up.
#[cfg_attr(feature = "small", inline(always))]
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(never))]
pub(crate) fn look_up(bytes: &[u8], map: u32, key: &[u8]) -> ByHash {
    first_look(bytes, map, key).unwrap_or_else(|| second_look(bytes, map, key))
}

/// The same with one candidate at most. `None` if that does not decide. Nearly all keys are the
/// first candidate of their home. This needs no stack frame.
#[inline]
pub(crate) fn first_look(bytes: &[u8], map: u32, key: &[u8]) -> Option<ByHash> {
    let map = Map::peek(bytes, map.into()).ok()?;
    if cfg!(feature = "small") || map.hash == 0 {
        return None;
    }
    let found = hash::first_candidate(bytes, &map, Hashed::of(key, map.buckets))?;
    let is_it = match found.entry() {
        Some(entry) => is_at(bytes, map.keys.at(entry), &Needle::new(key)).ok()?,
        None => true,
    };
    is_it.then_some(found)
}

#[cold]
#[inline(never)]
fn second_look(bytes: &[u8], map: u32, key: &[u8]) -> ByHash {
    if cfg!(feature = "small") {
        return ByHash::PERHAPS;
    }
    let found = Map::peek(bytes, map.into())
        .ok()
        .and_then(|map| map.find_by_hash(bytes, &Needle::new(key)).ok());
    found.unwrap_or(ByHash::PERHAPS)
}

/// Whether the key cell at `position` holds the needle. As [`Needle::is_at`], but
/// keys of up to 16 bytes are compared here as two words, without a call.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(super) fn is_at(bytes: &[u8], position: u64, needle: &Needle<'_>) -> Result<bool> {
    let cell = load_u64(bytes, position)?;
    if needle.cell != 0 {
        return Ok(cell == needle.cell);
    }
    let text = needle.text;
    if cell >> 32 & u64::from(MAX_SPAN | SPAN_INLINE) != text.len() as u64 {
        return Ok(false);
    }
    let key = slice(bytes, cell & 0xFFFF_FFFF, text.len() as u64)?;
    if key.first_chunk::<8>() != text.first_chunk() || key.last_chunk::<8>() != text.last_chunk() {
        return Ok(false);
    }
    if text.len() <= 16 {
        return Ok(true);
    }
    // By words: a call of the library's comparison would need a stack frame.
    Ok(key.as_chunks::<8>().0.iter().eq(text.as_chunks::<8>().0))
}

/// A place among the keys: that of a key, or right behind all keys that begin with it.
#[derive(Clone, Copy)]
pub(super) struct SeekTarget<'k> {
    text: &'k [u8],
    /// The text counts as followed by endless bytes greater than any.
    beyond: bool,
}

impl<'k> SeekTarget<'k> {
    pub(super) fn at(text: &'k [u8]) -> Self {
        SeekTarget { text, beyond: false }
    }

    /// The target's order to a key.
    fn compare(&self, key: &[u8]) -> Ordering {
        match self.beyond && key.starts_with(self.text) {
            true => Ordering::Greater,
            false => self.text.cmp(key),
        }
    }
}

/// Nodes from the root to a leaf, and the item taken in each. In the leaf it is a place, which
/// may be one past the last item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) nodes: [u32; MAX_LEVELS],
    pub(super) items: [u8; MAX_LEVELS],
    /// Count of nodes.
    pub(super) depth: u8,
}

impl Path {
    pub(super) const EMPTY: Path =
        Path { nodes: [0; MAX_LEVELS], items: [0; MAX_LEVELS], depth: 0 };

    /// The nodes and the items in them.
    pub(super) fn steps(&self) -> impl DoubleEndedIterator<Item = (u32, usize)> {
        let steps = self.nodes.iter().zip(&self.items).take(self.depth.into());
        steps.map(|(&node, &item)| (node, item.into()))
    }

    /// The leaf and the item in it.
    #[inline]
    pub(super) fn leaf(&self) -> (u32, usize) {
        let last = (self.depth as usize).saturating_sub(1).min(MAX_LEVELS - 1);
        (self.nodes[last], self.items[last] as usize)
    }

    fn set_leaf_item(&mut self, item: usize) {
        let last = (self.depth as usize).saturating_sub(1).min(MAX_LEVELS - 1);
        self.items[last] = item as u8;
    }

    fn push(&mut self, node: u32, item: usize) -> Result<()> {
        let at = usize::from(self.depth);
        let (Some(nodes), Some(items)) = (self.nodes.get_mut(at), self.items.get_mut(at)) else {
            return Err(damaged(node));
        };
        (*nodes, *items) = (node, item as u8);
        self.depth += 1;
        Ok(())
    }

    /// Forgets the nodes from `depth` on and goes down to the first or last item
    /// of the leaf below `node`.
    fn go_down(&mut self, bytes: &[u8], depth: usize, node: u32, last: bool) -> Result<()> {
        let mut offset = node;
        let mut node = Node::load(bytes, offset)?;
        self.depth = depth as u8;
        loop {
            let item = if last { node.count - 1 } else { 0 };
            self.push(offset, item)?;
            if node.level == 0 {
                return Ok(());
            }
            offset = node.item(item);
            node = node.descend(bytes, item)?;
        }
    }

    /// The path to the first or last entry.
    pub(super) fn edge(bytes: &[u8], root: u32, last: bool) -> Result<Path> {
        let mut path = Path::EMPTY;
        path.go_down(bytes, 0, root, last)?;
        Ok(path)
    }

    /// Goes to the first item of the next leaf, or to the last item of the leaf before. False
    /// where there is no such leaf.
    pub(super) fn step_leaf(&mut self, bytes: &[u8], back: bool) -> Result<bool> {
        let inner = (self.depth as usize).saturating_sub(1).min(MAX_LEVELS - 1);
        for at in (0..inner).rev() {
            let item = self.items[at] as usize;
            let parent = Node::load(bytes, self.nodes[at])?;
            let next = if back { item.checked_sub(1) } else { Some(item + 1) };
            if let Some(next) = next.filter(|&next| next < parent.count) {
                let below = parent.descend(bytes, next)?.level as usize;
                if inner - at - 1 != below {
                    return Err(damaged(self.nodes[at]));
                }
                self.items[at] = next as u8;
                self.go_down(bytes, at + 1, parent.item(next), back)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Where a key is or belongs.
pub(super) struct Seek {
    /// The leaf's item is the count of its keys below the target.
    pub(super) path: Path,
    /// The entry, where the key is there (at the leaf's item).
    pub(super) found: Option<u32>,
}

/// Finds the place of a target in the tree under `root` (not 0), with the way to it.
#[inline(never)]
pub(super) fn seek(bytes: &[u8], keys: Keys, root: u32, target: SeekTarget<'_>) -> Result<Seek> {
    let mut path = Path::EMPTY;
    let (mut offset, mut node) = (root, Node::load(bytes, root)?);
    loop {
        // Before `low` are the items whose first key is at most the target (in a leaf: below it),
        // of an inner node always item 0. From `high` on the others.
        let (mut low, mut high) = (usize::from(node.level > 0), node.count);
        let mut found = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let first = first_entry(bytes, node, middle)?;
            match target.compare(keys.text(bytes, first)?) {
                Ordering::Less => high = middle,
                Ordering::Greater => low = middle + 1,
                Ordering::Equal if node.level > 0 => (low, high) = (middle + 1, middle + 1),
                Ordering::Equal => (low, high, found) = (middle, middle, Some(first)),
            }
        }
        let item = low - usize::from(node.level > 0);
        path.push(offset, item)?;
        if node.level == 0 {
            return Ok(Seek { path, found });
        }
        offset = node.item(item);
        node = node.descend(bytes, item)?;
    }
}

/// The number of the first entry below an item.
fn first_entry<'a>(bytes: &'a [u8], mut node: Node<'a>, mut item: usize) -> Result<u32> {
    while node.level > 0 {
        node = node.descend(bytes, item)?;
        item = 0;
    }
    Ok(node.item(item))
}

/// A run of entries in key order, taken from both ends.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    front: Path,
    /// The last entry still to come.
    back: Path,
    /// At most so many more; 0 when done. A damaged index may lead to one leaf twice, which
    /// then cannot make a walk longer than the map.
    left: u32,
}

impl Range {
    /// The entries whose keys lie between two bounds.
    pub(crate) fn new(
        bytes: &[u8],
        map: &Map,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<Range> {
        let upper = match upper {
            Bound::Included(key) => Some((SeekTarget::at(key), true)),
            Bound::Excluded(key) => Some((SeekTarget::at(key), false)),
            Bound::Unbounded => None,
        };
        let (lower, skip) = match lower {
            Bound::Included(key) => (Some(key), false),
            Bound::Excluded(key) => (Some(key), true),
            Bound::Unbounded => (None, false),
        };
        Range::between(bytes, map, lower.map(|key| (SeekTarget::at(key), skip)), upper)
    }

    /// The entries whose keys begin with `prefix`.
    pub(crate) fn prefix(bytes: &[u8], map: &Map, prefix: &[u8]) -> Result<Range> {
        let end = SeekTarget { text: prefix, beyond: true };
        Range::between(bytes, map, Some((SeekTarget::at(prefix), false)), Some((end, false)))
    }

    /// The entries between two targets. The flags: without an equal key; with an equal one.
    fn between(
        bytes: &[u8],
        map: &Map,
        lower: Option<(SeekTarget<'_>, bool)>,
        upper: Option<(SeekTarget<'_>, bool)>,
    ) -> Result<Range> {
        let nothing = Range { front: Path::EMPTY, back: Path::EMPTY, left: 0 };
        if map.root == 0 {
            return Ok(nothing);
        }
        let mut front = match lower {
            None => Path::edge(bytes, map.root, false)?,
            Some((target, skip)) => {
                let Seek { mut path, found } = seek(bytes, map.keys, map.root, target)?;
                if skip && found.is_some() {
                    path.set_leaf_item(path.leaf().1 + 1);
                }
                path
            }
        };
        let (leaf, item) = front.leaf();
        if item >= Node::load(bytes, leaf)?.count && !front.step_leaf(bytes, false)? {
            return Ok(nothing);
        }
        let back = match upper {
            None => Path::edge(bytes, map.root, true)?,
            Some((target, with)) => {
                let Seek { mut path, found } = seek(bytes, map.keys, map.root, target)?;
                let end = path.leaf().1 + usize::from(with && found.is_some());
                match end.checked_sub(1) {
                    Some(last) => path.set_leaf_item(last),
                    None if !path.step_leaf(bytes, true)? => return Ok(nothing),
                    None => {}
                }
                path
            }
        };
        // All leaves are equally deep, so paths are in the order of their items.
        let left = if front.items > back.items { 0 } else { map.live };
        Ok(Range { front, back, left })
    }

    /// The next entry in key order.
    #[inline]
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Option<Result<u32>> {
        self.take(bytes, false)
    }

    /// The last entry in key order.
    #[inline]
    pub(crate) fn next_back(&mut self, bytes: &[u8]) -> Option<Result<u32>> {
        self.take(bytes, true)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    fn take(&mut self, bytes: &[u8], back: bool) -> Option<Result<u32>> {
        let left = self.left.checked_sub(1)?;
        // An error ends the range.
        self.left = 0;
        let result = self.step(bytes, back);
        if let Ok((_, more)) = result {
            if more && left == 0 {
                return Some(Err(damaged(self.front.nodes[0])));
            }
            self.left = if more { left } else { 0 };
        }
        Some(result.map(|(entry, _)| entry))
    }

    /// The entry at one end, and whether any is left.
    #[inline]
    fn step(&mut self, bytes: &[u8], back: bool) -> Result<(u32, bool)> {
        let met = self.front.leaf() == self.back.leaf();
        let end = if back { &mut self.back } else { &mut self.front };
        let (offset, item) = end.leaf();
        let leaf = Node::load(bytes, offset)?;
        if leaf.level != 0 || item >= leaf.count {
            return Err(damaged(offset));
        }
        if !met {
            let next = if back { item.checked_sub(1) } else { Some(item + 1) };
            match next.filter(|&next| next < leaf.count) {
                Some(next) => end.set_leaf_item(next),
                None if !end.step_leaf(bytes, back)? => return Err(damaged(offset)),
                None => {}
            }
        }
        Ok((leaf.item(item), !met))
    }
}
