//! Searching a map: one key, and in the tree the place of a key, or a range (FORMAT 7.3).
//!
//! A node's prefix is common to all keys of its subtree. A search does not compare it on the
//! way. If the key is there, it shares the prefix, so the heads lead to its leaf, and one
//! comparison there decides. Only [`seek`], which finds the place of an absent key, compares
//! more. It asks once how many bytes the key shares with a key that it arrived at. The first
//! node on the way with a longer prefix has all its keys on one side of the wanted one.

use core::cmp::Ordering;
use core::ops::Bound;

use super::hash::{self, ByHash, Hashed};
use super::node::{Full, ITEMS, Node, damaged, head_of, short_head};
use super::{Entries, Map, key_of};
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
        Ok(find_item(bytes, self.entries, self.root, needle)?.map(|hit| hit.entry))
    }

    /// The same in a map without a tree, where the hash block does not know: few entries, one after
    /// another.
    #[inline(never)]
    fn search(&self, bytes: &[u8], needle: &Needle<'_>) -> Result<Option<u32>> {
        if self.hash != 0 {
            return Ok(None);
        }
        for number in 0..self.used.min(FEW_ENTRIES) {
            if is_at(bytes, self.entries.key_at(number), needle)? {
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
        Some(entry) => found.entries().value(bytes, entry),
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

/// What the hash block of the map at `map` says of a key. `PERHAPS` also where that is no map with
/// a hash block and values in its entries, and where bytes are damaged: who looks further then
/// learns which. The small build always looks further.
///
/// The counts of the map are not checked against each other: no matter which they are, only bytes
/// of the document are read.
// Apart, and without errors: a look-up takes 40 instructions less so.
#[cfg_attr(feature = "small", inline(always))]
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(never))]
pub(crate) fn look_up(bytes: &[u8], map: u32, key: &[u8]) -> ByHash {
    first_look(bytes, map, key).unwrap_or_else(|| second_look(bytes, map, key))
}

/// The same by one candidate at most. `None` where that does not decide. Nearly all keys are the
/// first candidate of their home. This needs no stack frame.
#[inline]
pub(crate) fn first_look(bytes: &[u8], map: u32, key: &[u8]) -> Option<ByHash> {
    let map = Map::peek(bytes, map.into()).ok()?;
    if cfg!(feature = "small") || map.hash == 0 || map.entries.keys_only {
        return None;
    }
    let found = hash::first_candidate(bytes, &map, Hashed::of(key, map.buckets))?;
    let is_it = match found.entry() {
        Some(entry) => is_at(bytes, found.entries().key_at(entry), &Needle::new(key)).ok()?,
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
    let map = Map::peek(bytes, map.into()).ok().filter(|map| !map.entries.keys_only);
    let found = map.and_then(|map| map.find_by_hash(bytes, &Needle::new(key)).ok());
    found.unwrap_or(ByHash::PERHAPS)
}

/// A key that is there.
pub(super) struct Hit {
    /// The number of its entry.
    pub(super) entry: u32,
    /// Its place in the index.
    pub(super) leaf: u32,
    pub(super) item: usize,
}

/// Finds a key in the index under `root` (0: none).
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(super) fn find_item(
    bytes: &[u8],
    entries: Entries,
    root: u32,
    needle: &Needle<'_>,
) -> Result<Option<Hit>> {
    if root == 0 {
        return Ok(None);
    }
    // The small build has one way down.
    let full = if cfg!(feature = "small") { None } else { Full::load(bytes, root) };
    let Some(mut node) = full else {
        return find_slowly(bytes, entries, root, needle);
    };
    let mut leaf = root;
    let mut tied = false;
    let mut level = node.level();
    while level > 0 {
        let head = head_of(needle.text, node.prefix());
        let mut item = node.at_most(head).saturating_sub(1);
        if node.head(item) == head && item > 0 {
            if item > 1 && node.head(item - 1) == head {
                let target = SeekTarget::at(needle.text);
                item = last_separator_at_most(bytes, entries, node, item, target)?;
            } else {
                // One separator has the same head. Most keys with that head are to its right,
                // so look there first, without fetching the separator.
                tied = true;
            }
        }
        leaf = node.child(item);
        match Full::load(bytes, leaf) {
            Some(below) if below.level() < level => node = below,
            _ => return find_slowly(bytes, entries, root, needle),
        }
        level = node.level();
    }
    let head = head_of(needle.text, node.prefix());
    let last = node.at_most(head).wrapping_sub(1);
    if node.head(last) == head && last < ITEMS {
        let entry = node.child(last);
        if is_at(bytes, entries.key_at(entry), needle)? {
            return Ok(Some(Hit { entry, leaf, item: last }));
        }
        if last > 0 && node.head(last - 1) == head {
            let target = SeekTarget::at(needle.text);
            let Position { item, found, .. } =
                search_ties(bytes, entries, node.into(), last, head, target)?;
            if let Some(entry) = found {
                return Ok(Some(Hit { entry, leaf, item }));
            }
        }
    }
    if tied { find_slowly(bytes, entries, root, needle) } else { Ok(None) }
}

/// The same where heads alone do not decide, in a small root leaf and in a damaged index.
#[inline(never)]
fn find_slowly(
    bytes: &[u8],
    entries: Entries,
    root: u32,
    needle: &Needle<'_>,
) -> Result<Option<Hit>> {
    let target = SeekTarget::at(needle.text);
    let (offset, leaf) = match Full::load(bytes, root) {
        Some(node) => {
            let (_, offset, leaf) = descend(bytes, entries, root, node, target, &mut ())?;
            (offset, leaf.into())
        }
        None => (root, Node::load(bytes, root)?),
    };
    let Position { item, found, .. } = search_leaf(bytes, entries, leaf, target)?;
    Ok(found.map(|entry| Hit { entry, leaf: offset, item }))
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
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn at(text: &'k [u8]) -> Self {
        SeekTarget { text, beyond: false }
    }

    #[inline]
    pub(super) fn head(&self, prefix: u32) -> u32 {
        let rest = self.text.get(prefix as usize..).unwrap_or(&[]);
        match rest.first_chunk::<4>() {
            Some(head) => u32::from_be_bytes(*head),
            None => short_head(rest, if self.beyond { 0xFF } else { 0 }),
        }
    }

    /// Count of bytes shared with a key, and the target's order to it.
    #[inline]
    fn compare(&self, key: &[u8]) -> (u32, Ordering) {
        let shared = common_prefix(self.text, key);
        let order = match (self.text.get(shared), key.get(shared)) {
            (Some(ours), Some(theirs)) => ours.cmp(theirs),
            (None, _) if self.beyond => Ordering::Greater,
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
        };
        // Keys are shorter than 2³⁰; a longer target shares no more than that.
        (shared as u32, order)
    }
}

/// Count of leading bytes that two keys share.
#[inline]
pub(super) fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let (ones, _) = one.as_chunks::<8>();
    let (others, _) = other.as_chunks::<8>();
    let mut shared = 0;
    for (a, b) in ones.iter().zip(others) {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            return shared + difference.trailing_zeros() as usize / 8;
        }
        shared += 8;
    }
    let rest = |text: &'_ [u8]| text.len().min(shared);
    let (one, other) = (&one[rest(one)..], &other[rest(other)..]);
    shared + one.iter().zip(other).take_while(|(a, b)| a == b).count()
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

    /// The leaf and the item in it.
    #[inline]
    pub(super) fn leaf(&self) -> (u32, usize) {
        let last = (self.depth as usize).saturating_sub(1).min(MAX_LEVELS - 1);
        (self.nodes[last], self.items[last] as usize)
    }

    #[inline]
    fn set_leaf_item(&mut self, item: usize) {
        let last = (self.depth as usize).saturating_sub(1).min(MAX_LEVELS - 1);
        self.items[last] = item as u8;
    }

    /// Forgets the nodes from `depth` on and goes down to the first or last item
    /// of the leaf below `node`.
    fn go_down(&mut self, bytes: &[u8], depth: usize, node: u32, last: bool) -> Result<()> {
        let mut offset = node;
        let mut node = Node::load(bytes, offset)?;
        self.depth = depth as u8;
        loop {
            let at = self.depth as usize;
            let item = if last { node.count - 1 } else { 0 };
            if at >= MAX_LEVELS {
                return Err(damaged(offset));
            }
            self.nodes[at] = offset;
            self.items[at] = item as u8;
            self.depth += 1;
            if node.level == 0 {
                return Ok(());
            }
            offset = node.child(item);
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
                self.go_down(bytes, at + 1, parent.child(next), back)?;
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
    /// From this node of the path on, all keys lie on one side of the target. Some prefixes
    /// there are longer than what the target shares with the keys.
    pub(super) outside: u8,
    /// Count of bytes the target shares with the keys from there on.
    pub(super) shared: u32,
    /// The head, after those bytes, of the leaf's key next to the target.
    pub(super) neighbour: u32,
}

/// What a descent remembers of the nodes that it passes, the leaf last.
trait Track {
    fn pass(&mut self, depth: usize, node: u32, item: usize, prefix: u32);
}

impl Track for () {
    #[inline]
    fn pass(&mut self, _: usize, _: u32, _: usize, _: u32) {}
}

/// The longest prefix among the passed nodes.
impl Track for u32 {
    #[inline]
    fn pass(&mut self, _: usize, _: u32, _: usize, prefix: u32) {
        *self = (*self).max(prefix);
    }
}

/// Goes down from `node` to the one leaf where the target can be.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn descend<'a>(
    bytes: &'a [u8],
    entries: Entries,
    mut offset: u32,
    mut node: Full<'a>,
    target: SeekTarget<'_>,
    track: &mut impl Track,
) -> Result<(usize, u32, Full<'a>)> {
    let mut depth = 0;
    loop {
        let level = node.level();
        if level == 0 {
            return Ok((depth, offset, node));
        }
        let head = target.head(node.prefix());
        let mut item = node.at_most(head).saturating_sub(1);
        if node.head(item) == head && item > 0 {
            item = last_separator_at_most(bytes, entries, node, item, target)?;
        }
        if depth + 1 >= MAX_LEVELS {
            return Err(damaged(offset));
        }
        track.pass(depth, offset, item, node.prefix());
        depth += 1;
        offset = node.child(item);
        match Full::load(bytes, offset) {
            Some(below) if below.level() + 1 == level => node = below,
            _ => return Err(damaged(offset)),
        }
    }
}

/// Where a target is in a leaf, where the prefixes are right.
#[derive(Clone, Copy)]
struct Position {
    /// Count of keys below it.
    item: usize,
    found: Option<u32>,
    /// Count of bytes shared with the one key compared last, and the order to it.
    shared: u32,
    order: Ordering,
}

/// Finds the target's place in a leaf by at least one comparison.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
fn search_leaf(
    bytes: &[u8],
    entries: Entries,
    leaf: Node<'_>,
    target: SeekTarget<'_>,
) -> Result<Position> {
    let head = target.head(leaf.prefix);
    let high = leaf.at_most(head);
    let before = high.saturating_sub(1);
    if high > 0 && leaf.head(before) == head {
        return search_ties(bytes, entries, leaf, high, head, target);
    }
    let entry = leaf.child(before);
    let (shared, order) = target.compare(key_of(bytes, entries, entry)?);
    if order == Ordering::Equal {
        // Only in damaged documents, where heads are wrong.
        return Ok(Position { item: before, found: Some(entry), shared, order });
    }
    Ok(Position { item: high, found: None, shared, order })
}

/// Finds the target's place among the items that have its head. They end before `high`.
#[inline(never)]
fn search_ties(
    bytes: &[u8],
    entries: Entries,
    leaf: Node<'_>,
    mut high: usize,
    head: u32,
    target: SeekTarget<'_>,
) -> Result<Position> {
    let mut low = leaf.below(head).min(high - 1);
    loop {
        let middle = low + (high - low) / 2;
        let entry = leaf.child(middle);
        let (shared, order) = target.compare(key_of(bytes, entries, entry)?);
        match order {
            Ordering::Greater => low = middle + 1,
            Ordering::Less => high = middle,
            Ordering::Equal => {
                return Ok(Position { item: middle, found: Some(entry), shared, order });
            }
        }
        if low >= high {
            return Ok(Position { item: low, found: None, shared, order });
        }
    }
}

/// The place of a key, without the nodes above its leaf.
pub(super) struct Spot<'a> {
    pub(super) offset: u32,
    pub(super) leaf: Full<'a>,
    pub(super) item: usize,
    pub(super) found: Option<u32>,
}

/// Finds a key in the index under `root` (not 0). `None` where the root is a
/// small leaf, or the key does not share some prefix: only [`seek`] knows then.
#[inline]
pub(super) fn locate<'a>(
    bytes: &'a [u8],
    entries: Entries,
    root: u32,
    key: &[u8],
) -> Result<Option<Spot<'a>>> {
    let Some(node) = Full::load(bytes, root) else { return Ok(None) };
    let target = SeekTarget::at(key);
    let mut longest = 0u32;
    let (_, offset, leaf) = descend(bytes, entries, root, node, target, &mut longest)?;
    let Position { item, found, shared, .. } = search_leaf(bytes, entries, leaf.into(), target)?;
    if found.is_none() && longest.max(leaf.prefix()) > shared {
        return Ok(None);
    }
    Ok(Some(Spot { offset, leaf, item, found }))
}

struct Passed {
    path: Path,
    prefixes: [u32; MAX_LEVELS],
}

impl Track for Passed {
    #[inline]
    fn pass(&mut self, depth: usize, node: u32, item: usize, prefix: u32) {
        let at = depth % MAX_LEVELS;
        self.path.nodes[at] = node;
        self.path.items[at] = item as u8;
        self.prefixes[at] = prefix;
        self.path.depth = at as u8 + 1;
    }
}

/// Finds the place of a target in the index under `root` (not 0), with the way to it.
#[inline(never)]
pub(super) fn seek(
    bytes: &[u8],
    entries: Entries,
    root: u32,
    target: SeekTarget<'_>,
) -> Result<Seek> {
    let mut passed = Passed { path: Path::EMPTY, prefixes: [0; MAX_LEVELS] };
    let (depth, offset, leaf) = match Full::load(bytes, root) {
        Some(node) => {
            let (depth, offset, leaf) = descend(bytes, entries, root, node, target, &mut passed)?;
            (depth, offset, leaf.into())
        }
        None => (0, root, Node::load(bytes, root)?),
    };
    let Position { item, found, shared, order } = search_leaf(bytes, entries, leaf, target)?;
    passed.pass(depth, offset, item, leaf.prefix);
    let Passed { mut path, prefixes } = passed;
    let depth = path.depth as usize;
    let outside = prefixes.iter().take(depth).position(|&prefix| prefix > shared);
    let Some(outside) = outside.filter(|_| found.is_none()) else {
        return Ok(Seek { path, found, outside: path.depth, shared, neighbour: 0 });
    };
    // Every key below that node begins as the compared one does. Go to that end of them that
    // faces the target.
    let last = order == Ordering::Greater;
    path.go_down(bytes, outside, path.nodes[outside], last)?;
    let (leaf, item) = path.leaf();
    let entry = Node::load(bytes, leaf)?.child(item);
    let neighbour = head_of(key_of(bytes, entries, entry)?, shared);
    if last {
        path.set_leaf_item(item + 1);
    }
    Ok(Seek { path, found: None, outside: outside as u8, shared, neighbour })
}

/// The last item whose separator is at most the target, where the separator of
/// `item` has the target's head.
#[inline(never)]
fn last_separator_at_most(
    bytes: &[u8],
    entries: Entries,
    node: Full<'_>,
    item: usize,
    target: SeekTarget<'_>,
) -> Result<usize> {
    let (mut low, mut high) = (node.below(node.head(item)).clamp(1, item), item + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let mut below = node;
        let mut child = node.child(middle);
        while below.level() > 0 {
            match Full::load(bytes, child) {
                Some(node) if node.level() < below.level() => below = node,
                _ => return Err(damaged(child)),
            }
            child = below.child(0);
        }
        if target.compare(key_of(bytes, entries, child)?).1 == Ordering::Less {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low - 1)
}

/// The least key of a subtree.
pub(super) fn first_key<'a>(bytes: &'a [u8], entries: Entries, node: Node<'a>) -> Result<&'a [u8]> {
    edge_key(bytes, entries, node, false)
}

/// The least or greatest key of a subtree.
pub(super) fn edge_key<'a>(
    bytes: &'a [u8],
    entries: Entries,
    mut node: Node<'a>,
    last: bool,
) -> Result<&'a [u8]> {
    loop {
        let item = if last { node.count - 1 } else { 0 };
        if node.level == 0 {
            return key_of(bytes, entries, node.child(item));
        }
        node = node.descend(bytes, item)?;
    }
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

    /// From a target (the flag: without an equal key) to a target (with it).
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
                let Seek { mut path, found, .. } = seek(bytes, map.entries, map.root, target)?;
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
                let Seek { mut path, found, .. } = seek(bytes, map.entries, map.root, target)?;
                let end = path.leaf().1 + usize::from(with && found.is_some());
                match end.checked_sub(1) {
                    Some(last) => path.set_leaf_item(last),
                    None if !path.step_leaf(bytes, true)? => return Ok(nothing),
                    None => {}
                }
                path
            }
        };
        // In a tree of even depth paths order as their items do.
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
        Ok((leaf.child(item), !met))
    }
}
