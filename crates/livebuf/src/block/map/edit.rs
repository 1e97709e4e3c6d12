//! Editing a map: insert, remove, rename, reserve (FORMAT 7).
//!
//! Every edit is planned first. `plan_…` reads and checks all that the edit will touch, and
//! says how many bytes it needs. The edit then only writes, and cannot fail.
//!
//! A commit reads keys again to renew heads. They could be read when the edit was planned. In a
//! damaged document a key may be gone by then: it counts as empty, so that the index is wrong,
//! but no memory is. The plan alone decides how many blocks are cut.

use super::find::{
    Hit, Path, Seek, SeekTarget, common_prefix, edge_key, find_item, first_key, is_at, locate, seek,
};
use super::hash::{self, ByHash, Hashed};
use super::node::*;
use super::{Entries, Entry, Map, key_of};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u32, load_u64};
use crate::format::cell::Needle;
use crate::format::layout::*;
use crate::store::space::{Extent, Observer, Space};
use crate::store::storage::Storage;
use crate::store::target::Target;

const NODE_SIZE: u64 = node_size(NODE_ITEMS) as u64;
/// Items of the first root leaf.
const FIRST_ITEMS: usize = 7;
/// Fewest entries that a map is given room for.
const FIRST_ENTRIES: u32 = 8;
/// From this many used entries on, holes are squeezed when they are the majority.
const SQUEEZE: u32 = 16;
/// From this capacity on, entries give half of their room back when only a quarter is used.
const GIVE_BACK: u32 = 64;

// --- create, reserve, free --------------------------------------------------

/// Bytes of an empty map with room for `capacity` entries.
pub(crate) const fn create_size(capacity: u32) -> u64 {
    MAP_SIZE as u64 + entries_size(capacity as u64)
}

/// Carves an empty map, with a hash block of so many buckets.
pub(crate) fn create<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    extent: &mut Extent,
    capacity: u32,
    buckets: u32,
) -> Map {
    let at = u64::from(extent.carve(u64::from(MAP_SIZE)));
    let entries = match capacity {
        0 => 0,
        _ => extent.carve(entries_size(u64::from(capacity))),
    };
    let hash = if buckets > 0 { extent.carve(hash_size(buckets)) } else { 0 };
    let entries = Entries::whole(entries);
    let map = Map { at, live: 0, used: 0, capacity, entries, root: 0, hash, buckets };
    map.write_header(space);
    map
}

/// Most bytes that a tree takes while `count` entries are put into it one by one.
pub(crate) const fn tree_limit(count: u32) -> u64 {
    if count == 0 {
        return 0;
    }
    // Split nodes are half full. A small root leaf grows through its sizes first.
    let nodes = count / 31 + count / (31 * 31) + 4;
    let small = node_size(7) + node_size(15) + node_size(31);
    nodes as u64 * NODE_SIZE + small as u64
}

/// Makes the tree of a map that has none, of `map.used` entries. `extent` has [`tree_limit`] of them
/// left. A key that cannot be read, or comes twice, is passed over: only damaged bytes have one.
#[inline(never)]
pub(crate) fn make_tree<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    extent: &mut Extent,
) {
    let mut map = *map;
    for number in 0..map.used {
        if map.entries.is_live(space.bytes(), number) != Ok(true) {
            continue;
        }
        let mut plan = IndexPlan::NOTHING;
        let key = key_of(space.bytes(), map.entries, number);
        let planned = key.and_then(|key| IndexPlan::plan(space.bytes(), &map, key, &mut plan));
        if planned.is_ok() {
            plan.carry_out(space, &map, number, extent);
            map.root = load_u32(space.bytes(), map.at + u64::from(MAP_ROOT)).unwrap_or(0);
        }
    }
}

/// The indexes of a map that is filled at once: buckets of its hash block, and whether it has a tree.
#[derive(Clone, Copy)]
pub(crate) struct Fill {
    buckets: u32,
    tree: bool,
}

/// Plans the indexes of a map of these keys, at most 256, which is to grow further.
pub(crate) fn plan_fill<'k>(count: u32, keys: impl Iterator<Item = &'k [u8]>) -> Fill {
    let buckets = if count <= FEW_ENTRIES { 0 } else { hash::first_buckets(count) };
    Fill { buckets, tree: !hash::fit(buckets, keys) }
}

/// Bytes of the indexes of `count` entries.
pub(crate) fn filled_size(fill: Fill, count: u32) -> u64 {
    hash_size(fill.buckets) + if fill.tree { tree_limit(count) } else { 0 }
}

/// Counts the first `count` entries of a map, which are written, and makes its indexes.
pub(crate) fn fill<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    count: u32,
    fill: Fill,
    extent: &mut Extent,
) {
    let mut map = Map { live: count, used: count, buckets: fill.buckets, ..*map };
    set_counts(space, map.at, count, count);
    if map.buckets > 0 {
        map.hash = extent.carve(hash_size(map.buckets));
        hash::set_block(space, map.at, map.hash, map.buckets);
        hash::add_all(space, &map);
    }
    if fill.tree {
        make_tree(space, &map, extent);
    }
}

impl Map {
    /// Writes the header, but for where the values lie that are in an array.
    pub(crate) fn write_header(&self, target: &mut impl Target) {
        let first = u64::from(KIND_MAP) | u64::from(self.entries.keys_only) << 8;
        let words = [
            (0, first | u64::from(self.live) << 32),
            (MAP_USED, u64::from(self.used) | u64::from(self.capacity) << 32),
            (MAP_ENTRIES, u64::from(self.entries.at) | u64::from(self.root) << 32),
            (MAP_HASH, u64::from(self.hash) | u64::from(self.buckets) << 32),
        ];
        words.into_iter().for_each(|(at, word)| target.write_u64(self.at + u64::from(at), word));
    }
}

/// How the entries' room grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// The capacity after it.
    capacity: u32,
    /// Bytes to take.
    pub(crate) fresh: u64,
    /// Bytes by which the document's end moves first.
    pub(crate) tail: u64,
}

impl Growth {
    /// Plans room for `additional` more entries. Entries that end the document grow in place
    /// by an eighth. Others move, and grow by half.
    fn plan(bytes: &[u8], map: &Map, additional: u32) -> Growth {
        let capacity = map.capacity;
        let needed = map.used.saturating_add(additional);
        if needed <= capacity {
            return Growth { capacity, fresh: 0, tail: 0 };
        }
        let size = map.entries.size(capacity);
        if capacity > 0 && u64::from(map.entries.at) + size == bytes.len() as u64 {
            let capacity = capacity.saturating_add((capacity / 8).max(4)).max(needed);
            return Growth { capacity, fresh: 0, tail: map.entries.size(capacity) - size };
        }
        let capacity = capacity.saturating_add(capacity / 2).max(FIRST_ENTRIES).max(needed);
        Growth { capacity, fresh: map.entries.size(capacity), tail: 0 }
    }

    /// Claims the bytes by which the document was extended, for entries that grow in place.
    fn claim<S: Storage, O: Observer>(&self, space: &mut Space<S, O>, map: u64) {
        if self.tail > 0 {
            space.write_u32(map + u64::from(MAP_CAPACITY), self.capacity);
        }
    }

    /// Moves the entries to their new place; returns that and the old block, `None` where they
    /// stay.
    fn carry_out<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        map: &Map,
        extent: &mut Extent,
    ) -> Option<(Entries, (u64, u64))> {
        if self.fresh == 0 {
            return None;
        }
        let entries = extent.carve(self.fresh);
        let (old, size) = (u64::from(map.entries.at), map.entries.size(map.used));
        space.copy_within(old, u64::from(entries), size);
        space.write_u64(
            map.at + u64::from(MAP_CAPACITY),
            u64::from(self.capacity) | u64::from(entries) << 32,
        );
        Some((Entries { at: entries, ..map.entries }, (old, map.entries.size(map.capacity))))
    }
}

/// What making room for `additional` entries needs.
pub(crate) fn plan_reserve(bytes: &[u8], map: &Map, additional: u32) -> Result<Growth> {
    check_entries(bytes, map)?;
    Ok(Growth::plan(bytes, map, additional))
}

/// Makes the room, of bytes that were set aside.
pub(crate) fn reserve<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    growth: &Growth,
    extent: &mut Extent,
) {
    growth.claim(space, map.at);
    if let Some((_, (offset, size))) = growth.carry_out(space, map, extent) {
        space.free(offset, size);
    }
}

/// Frees the entries and the index. The caller frees the header, and before that what keys and
/// values own.
pub(crate) fn free_body<S: Storage, O: Observer>(space: &mut Space<S, O>, map: u64) {
    let Ok(map) = Map::load(space.bytes(), map) else { return };
    if !space.trusted {
        return;
    }
    if map.root != 0 {
        free_index(space, &map);
    }
    space.free(u64::from(map.entries.at), map.entries.size(map.capacity));
    if map.hash != 0 {
        space.free(u64::from(map.hash), hash_size(map.buckets));
    }
}

/// Frees all nodes, each after those below it.
fn free_index<S: Storage, O: Observer>(space: &mut Space<S, O>, map: &Map) {
    let Ok(mut path) = Path::edge(space.bytes(), map.root, false) else { return };
    // Every leaf has an entry, so there are no more leaves than live entries.
    for _ in 0..map.live {
        let mut next = path;
        let more = next.step_leaf(space.bytes(), false) == Ok(true);
        // Nodes that the next path does not share are finished.
        for at in (0..path.depth as usize).rev() {
            let node = path.nodes[at];
            if more && next.nodes[at] == node {
                break;
            }
            let size = Node::load(space.bytes(), node)
                .map_or(0, |node| u64::from(node_size(node.capacity() as u32)));
            space.free(u64::from(node), size);
        }
        if !more {
            return;
        }
        path = next;
    }
}

/// Checks that all entries, and the hash block, lie in the document.
fn check_entries(bytes: &[u8], map: &Map) -> Result<()> {
    check(bytes, u64::from(map.entries.at), map.entries.size(map.capacity))?;
    if map.hash == 0 { Ok(()) } else { hash::check_bounds(bytes, map) }
}

// --- insert -----------------------------------------------------------------

/// Whether a key is there, or what inserting it takes.
pub(crate) enum Place {
    /// An entry has this key.
    Found(u32),
    /// None has.
    New(InsertPlan),
}

/// A planned insertion, good until the document changes.
pub(crate) struct InsertPlan {
    growth: Growth,
    /// The key's place in the tree, where there is one.
    index: IndexPlan,
    /// Most bytes of a tree that may have to be made, since the hash block has no place for a key.
    tree: u64,
    /// Buckets of a new hash block; 0 for none.
    buckets: u32,
    /// Where the key belongs in the hash block that is there.
    hashed: Option<Hashed>,
}

impl InsertPlan {
    /// To be planned.
    pub(crate) const NOTHING: InsertPlan = InsertPlan {
        growth: Growth { capacity: 0, fresh: 0, tail: 0 },
        index: IndexPlan::NOTHING,
        tree: 0,
        buckets: 0,
        hashed: None,
    };

    /// Bytes to take for it (the key's and value's own not counted).
    pub(crate) fn fresh(&self) -> u64 {
        self.growth.fresh + u64::from(self.index.fresh) + self.tree + hash_size(self.buckets)
    }

    /// Bytes to take in excess, if there are any, so that new nodes lie in one page.
    pub(crate) fn spare(&self) -> u64 {
        if self.index.halves > 0 { NODE_SIZE - 8 } else { 0 }
    }

    /// Bytes for [`Space::ensure`]'s `tail`.
    pub(crate) fn tail(&self) -> u64 {
        self.growth.tail
    }

    /// Lets the entries grow in place, after [`Space::extend`] by [`tail`](Self::tail).
    pub(crate) fn claim<S: Storage, O: Observer>(&self, space: &mut Space<S, O>, map: &Map) {
        self.growth.claim(space, map.at);
    }
}

/// Finds a key or plans its insertion.
pub(crate) fn plan_insert(bytes: &[u8], map: &Map, key: &[u8]) -> Result<Place> {
    let found = map.find_by_hash(bytes, &Needle::new(key)).unwrap_or(ByHash::PERHAPS);
    let mut plan = InsertPlan::NOTHING;
    Ok(match plan_insert_after(bytes, map, key, found, &mut plan)? {
        Some(entry) => Place::Found(entry),
        None => Place::New(plan),
    })
}

/// The same where the hash block was asked before: `found`. Returns the entry that has the key;
/// where there is none, `plan` is made.
// The plan is made in its place: one that was just written by parts is slow to move.
#[inline]
pub(crate) fn plan_insert_after(
    bytes: &[u8],
    map: &Map,
    key: &[u8],
    found: ByHash,
    plan: &mut InsertPlan,
) -> Result<Option<u32>> {
    check_entries(bytes, map)?;
    if found.entry().is_some() {
        return Ok(found.entry());
    }
    if map.root != 0 {
        IndexPlan::plan(bytes, map, key, &mut plan.index)?;
        let index = &plan.index;
        if index.nodes == NewNodes::Taken {
            return Node::load(bytes, index.leaf).map(|node| Some(node.child(index.item as usize)));
        }
    } else if !found.is_nothing()
        && let found @ Some(_) = map.find(bytes, &Needle::new(key))?
    {
        return Ok(found);
    }
    plan.growth = Growth::plan(bytes, map, 1);
    plan.hashed = (map.hash != 0).then(|| Hashed::of(key, map.buckets));
    plan.buckets = hash::plan_growth(map);
    if map.root == 0 && map.hash != 0 && !fits(bytes, map, plan) {
        map.check_keys(bytes)?;
        plan.tree = tree_limit(map.used.saturating_add(1));
    }
    Ok(None)
}

/// Whether the hash block is sure to have a place for each key.
#[inline]
fn fits(bytes: &[u8], map: &Map, plan: &InsertPlan) -> bool {
    match plan.hashed {
        _ if plan.buckets > 0 => hash::fits_twice(bytes, map),
        Some(hashed) => hash::has_place(bytes, map, hashed),
        None => true,
    }
}

/// Appends an entry to the map that this was planned for; returns its number. `extent` has at least
/// [`fresh`](InsertPlan::fresh) bytes left, and [`claim`](InsertPlan::claim)
/// was called.
pub(crate) fn insert<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    plan: &InsertPlan,
    key_cell: u64,
    tag: u8,
    value_cell: u64,
    extent: &mut Extent,
) -> u32 {
    let number = map.used;
    let grown = plan.growth.carry_out(space, map, extent);
    let moved = grown.map(|(entries, _)| Map { entries, ..*map });
    let map = moved.as_ref().unwrap_or(map);
    put_entry(space, map, number, key_cell, tag, value_cell);
    set_counts(space, map.at, map.live.saturating_add(1), number.saturating_add(1));
    if map.root != 0 {
        plan.index.carry_out(space, map, number, extent);
    }
    let placed = match plan.hashed {
        _ if plan.buckets > 0 => new_hash(space, map, plan.buckets, extent),
        Some(hashed) => hash::add_at(space, map, hashed, number),
        None => true,
    };
    if !placed && map.root == 0 {
        make_tree(space, &Map { used: number.saturating_add(1), ..*map }, extent);
    }
    if let Some((_, (offset, size))) = grown {
        space.free(offset, size);
    }
    number
}

/// Gives a map another hash block, with all entries and one that was just added. Returns whether each
/// found a place.
#[cold]
fn new_hash<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    buckets: u32,
    extent: &mut Extent,
) -> bool {
    let block = extent.carve(hash_size(buckets));
    let grown = Map { hash: block, buckets, used: map.used.saturating_add(1), ..*map };
    hash::set_block(space, map.at, block, buckets);
    let placed = hash::add_all(space, &grown);
    if map.hash != 0 {
        space.free(u64::from(map.hash), hash_size(map.buckets));
    }
    placed
}

/// Writes entry `number` of a map that has room; it is neither counted nor indexed yet. Its value
/// is not written where values are in an array.
#[inline]
pub(crate) fn put_entry<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    number: u32,
    key_cell: u64,
    tag: u8,
    value_cell: u64,
) {
    if map.entries.keys_only {
        return space.write_u64(map.entries.key_at(number), key_cell);
    }
    let cells = (u128::from(key_cell) | u128::from(value_cell) << 64).to_le_bytes();
    space.write(map.entries.key_at(number), &cells);
    space.write_u8(map.entries.tag_at(number), tag);
}

fn set_counts<S: Storage, O: Observer>(space: &mut Space<S, O>, map: u64, live: u32, used: u32) {
    space.write_u64(map + u64::from(MAP_LIVE), u64::from(live) | u64::from(used) << 32);
}

fn set_root<S: Storage, O: Observer>(space: &mut Space<S, O>, map: u64, root: u32) {
    space.write_u32(map + u64::from(MAP_ROOT), root);
}

/// A key's place in the index, and the nodes that inserting there adds.
#[derive(Clone, Copy)]
struct IndexPlan {
    leaf: u32,
    item: u32,
    /// Count of the leaf's items in use, and its capacity.
    count: u32,
    capacity: u32,
    /// The key's head in the leaf.
    head: u32,
    /// Bytes of the new nodes.
    fresh: u32,
    nodes: NewNodes,
    /// For [`NewNodes::More`]: how many of the last nodes on the way are split. If all are, a
    /// new root is made.
    halves: u32,
}

/// What an insertion does to the index besides adding an item to the leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum NewNodes {
    /// No new item either: the key is there.
    Taken,
    /// Nothing else.
    None,
    /// A first leaf is made.
    First,
    /// The root leaf moves to a larger place.
    Larger,
    /// Prefixes become shorter, or nodes are split.
    More,
}

impl IndexPlan {
    const NOTHING: IndexPlan = IndexPlan {
        leaf: 0,
        item: 0,
        count: 0,
        capacity: 0,
        head: 0,
        fresh: 0,
        nodes: NewNodes::None,
        halves: 0,
    };

    /// Plans an insertion in its place.
    #[inline]
    fn plan(bytes: &[u8], map: &Map, key: &[u8], plan: &mut IndexPlan) -> Result<()> {
        if map.root != 0
            && let Some(spot) = locate(bytes, map.entries, map.root, key)?
        {
            let (count, capacity) = (spot.leaf.count() as u32, NODE_ITEMS);
            let (item, head) = (spot.item as u32, head_of(key, spot.leaf.prefix()));
            let nodes = if spot.found.is_some() { NewNodes::Taken } else { NewNodes::None };
            if count < capacity || nodes == NewNodes::Taken {
                let (leaf, fresh, halves) = (spot.offset, 0, 0);
                *plan = IndexPlan { leaf, item, count, capacity, head, fresh, nodes, halves };
                return Ok(());
            }
        }
        *plan = IndexPlan::plan_more(bytes, map, key)?;
        Ok(())
    }

    /// Plans an insertion that also shortens prefixes or adds nodes.
    #[inline(never)]
    fn plan_more(bytes: &[u8], map: &Map, key: &[u8]) -> Result<IndexPlan> {
        if map.root == 0 {
            return Ok(IndexPlan {
                leaf: 0,
                item: 0,
                count: 0,
                capacity: FIRST_ITEMS as u32,
                head: head_of(key, 0),
                fresh: node_size(FIRST_ITEMS as u32),
                nodes: NewNodes::First,
                halves: 0,
            });
        }
        let seek = seek(bytes, map.entries, map.root, SeekTarget::at(key))?;
        let depth = seek.path.depth as usize;
        let (leaf, item) = seek.path.leaf();
        let node = Node::load(bytes, leaf)?;
        let (item, count, capacity) = (item as u32, node.count as u32, node.capacity() as u32);
        if seek.found.is_some() {
            let (head, fresh, nodes, halves) = (0, 0, NewNodes::Taken, 0);
            return Ok(IndexPlan { leaf, item, count, capacity, head, fresh, nodes, halves });
        }
        let outside = (seek.outside as usize) < depth;
        let prefix = if outside { node.prefix.min(seek.shared) } else { node.prefix };
        let head = head_of(key, prefix);
        let (nodes, fresh, halves) = if count < capacity {
            (if outside { NewNodes::More } else { NewNodes::None }, 0, 0)
        } else if node.capacity() < ITEMS {
            (NewNodes::Larger, node_size(2 * capacity + 1), 0)
        } else {
            let mut halves = 1;
            while halves < depth
                && Node::load(bytes, seek.path.nodes[depth - 1 - halves])?.count == ITEMS
            {
                halves += 1;
            }
            if halves == MAX_LEVELS {
                // An empty map gets here after 31 to the power of 11 insertions.
                let limit = u64::from(map.live);
                return Err(Error::with_detail(ErrorKind::ElementLimit, map.at, limit));
            }
            let new_root = usize::from(halves == depth);
            (NewNodes::More, NODE_SIZE as u32 * (halves + new_root) as u32, halves as u32)
        };
        Ok(IndexPlan { leaf, item, count, capacity, head, fresh, nodes, halves })
    }

    /// Puts entry `number` (which is written) into the index.
    #[inline]
    fn carry_out<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        map: &Map,
        number: u32,
        extent: &mut Extent,
    ) {
        if self.nodes == NewNodes::None {
            let counts = (self.count as usize, self.capacity as usize);
            insert_item(space, self.leaf, counts, self.item as usize, (self.head, number));
            renew_prefix_at(space, map.entries, self.leaf, counts.0 + 1);
        } else {
            self.carry_out_more(space, map, number, extent);
        }
    }

    #[inline(never)]
    fn carry_out_more<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        map: &Map,
        number: u32,
        extent: &mut Extent,
    ) {
        let &IndexPlan { leaf, head, nodes, .. } = self;
        let (count, capacity) = (self.count as usize, self.capacity as usize);
        let mut item = self.item as usize;
        // Finds the way to the leaf again by the entry's key, so that plans need not carry it.
        let target = key_of(space.bytes(), map.entries, number).map(SeekTarget::at);
        let way = match (map.root, target) {
            (1.., Ok(target)) => seek(space.bytes(), map.entries, map.root, target).ok(),
            _ => None,
        };
        if let Some(seek) = &way {
            shorten_prefixes(space, seek);
        }
        let root = match nodes {
            NewNodes::First => {
                let root = extent.carve(u64::from(self.fresh));
                space.write_u64(u64::from(root), header(0, 0, FIRST_ITEMS, 0));
                item = 0;
                root
            }
            NewNodes::Larger => {
                let root = extent.carve(u64::from(self.fresh));
                enlarge(space, leaf, root, 2 * capacity + 1);
                root
            }
            NewNodes::More if self.halves == 0 => leaf,
            NewNodes::More => {
                if let Some(Seek { path, .. }) = &way {
                    split(space, map, path, self.halves as usize, (head, number), extent);
                }
                return;
            }
            NewNodes::None | NewNodes::Taken => return,
        };
        let capacity = match nodes {
            NewNodes::Larger => 2 * capacity + 1,
            _ => capacity,
        };
        insert_item(space, root, (count, capacity), item, (head, number));
        renew_prefix_at(space, map.entries, root, count + 1);
        if root != leaf {
            set_root(space, map.at, root);
            if leaf != 0 {
                space.free(u64::from(leaf), u64::from(node_size(self.capacity)));
            }
        }
    }
}

/// Shortens the prefixes of nodes that the new key will be below, to where it differs from
/// them. The bytes that come before the old heads are the same for all keys there, so no key
/// needs to be read.
fn shorten_prefixes<S: Storage, O: Observer>(space: &mut Space<S, O>, seek: &Seek) {
    for at in seek.outside as usize..seek.path.depth as usize {
        let offset = seek.path.nodes[at];
        let Ok(node) = Node::load(space.bytes(), offset) else { return };
        let Some(by @ 1..) = node.prefix.checked_sub(seek.shared) else { continue };
        let (count, first) = (node.count, usize::from(node.level > 0));
        let mut heads = [0u8; 4 * ITEMS];
        for (item, head) in heads.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let old = node.head(item);
            let new = match by {
                1..4 => seek.neighbour & !(u32::MAX >> (8 * by)) | old >> (8 * by),
                _ => seek.neighbour,
            };
            *head = new.to_le_bytes();
        }
        let heads = heads.get(4 * first..4 * count).unwrap_or(&[]);
        space.write(head_at(offset, first), heads);
        set_prefix(space, offset, seek.shared);
    }
}

/// Splits the last `halves` nodes of the path while inserting.
fn split<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    path: &Path,
    halves: usize,
    (mut head, mut child): (u32, u32),
    extent: &mut Extent,
) {
    let depth = path.depth as usize;
    let (mut position, mut at_end, mut at_start) = (path.leaf().1, true, true);
    for at in 0..depth {
        let last = Node::load(space.bytes(), path.nodes[at]).map_or(0, |n| n.count);
        let item = path.items[at] as usize + usize::from(at + 1 < depth);
        at_end &= item == last;
        at_start &= path.items[at] == 0;
    }
    for at in (0..depth).rev() {
        let offset = path.nodes[at];
        let Ok(node) = Node::load(space.bytes(), offset) else { return };
        let (count, level, prefix) = (node.count, node.level, node.prefix);
        if depth - at > halves {
            insert_item(space, offset, (count, ITEMS), position, (head, child));
            renew_prefix_at(space, map.entries, offset, count + 1);
            return;
        }
        let left = if at_end {
            // Ascending keys leave full nodes behind them,
            ITEMS
        } else if at_start {
            // and so do descending ones.
            1
        } else {
            ITEMS.div_ceil(2)
        };
        let right = extent.carve_in_page(NODE_SIZE);
        split_node(space, offset, right, left, position, (head, child));
        renew_prefix(space, map.entries, offset);
        renew_prefix(space, map.entries, right);
        let parent = match at.checked_sub(1) {
            Some(above) => {
                position = path.items[above] as usize + 1;
                Node::load(space.bytes(), path.nodes[above]).map_or(0, |n| n.prefix)
            }
            None => prefix,
        };
        let bytes = space.bytes();
        let separator =
            Node::load(bytes, right).and_then(|node| first_key(bytes, map.entries, node));
        (head, child) = (head_of(separator.unwrap_or(&[]), parent), right);
        if at == 0 {
            let root = extent.carve_in_page(NODE_SIZE);
            space.write_u64(u64::from(root), header(level + 1, 0, ITEMS, prefix));
            insert_item(space, root, (0, ITEMS), 0, (0, offset));
            insert_item(space, root, (1, ITEMS), 1, (head, child));
            set_root(space, map.at, root);
        }
    }
}

/// Splits a full node while inserting an item; `left` of the 64 items stay.
fn split_node<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    node: u32,
    right: u32,
    left: usize,
    position: usize,
    item: (u32, u32),
) {
    let Ok(Node { count, level, prefix, .. }) = Node::load(space.bytes(), node) else { return };
    let keep = if position < left { left - 1 } else { left }.min(count);
    let moved = count - keep;
    space.write_u64(u64::from(right), header(level, moved, ITEMS, prefix));
    for first in [0, ITEMS] {
        let (place, length) = (head_at(node, first + keep), 4 * moved as u64);
        space.copy_within(place, head_at(right, first), length);
        space.zero(place, length);
    }
    set_count(space, node, keep);
    if position < left {
        insert_item(space, node, (keep, ITEMS), position, item);
    } else {
        insert_item(space, right, (moved, ITEMS), position - left, item);
    }
    if level > 0 {
        // A node's least separator stands for "less than any key".
        space.write_u32(head_at(right, 0), 0);
    }
}

/// Copies a root leaf to a larger place.
fn enlarge<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    leaf: u32,
    root: u32,
    capacity: usize,
) {
    let Ok(node) = Node::load(space.bytes(), leaf) else { return };
    let (count, old, prefix) = (node.count, node.capacity(), node.prefix);
    space.write_u64(u64::from(root), header(0, count, capacity, prefix));
    let length = 4 * count as u64;
    space.copy_within(head_at(leaf, 0), head_at(root, 0), length);
    space.copy_within(head_at(leaf, old), head_at(root, capacity), length);
}

/// Renews a node's prefix when its count reaches certain values.
fn renew_prefix_at<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    entries: Entries,
    node: u32,
    count: usize,
) {
    if matches!(count, 4 | 8 | 16 | 32) {
        renew_prefix(space, entries, node);
    }
}

/// Makes a node's prefix as long as its keys allow, if reading them pays. Heads that differ in
/// their first two bytes are good enough.
fn renew_prefix<S: Storage, O: Observer>(space: &mut Space<S, O>, entries: Entries, offset: u32) {
    let bytes = space.bytes();
    let Ok(node) = Node::load(bytes, offset) else { return };
    let first = usize::from(node.level > 0);
    if node.count < 4 || (node.head(first) ^ node.head(node.count - 1)) >> 16 != 0 {
        return;
    }
    let (Ok(least), Ok(greatest)) =
        (edge_key(bytes, entries, node, false), edge_key(bytes, entries, node, true))
    else {
        return;
    };
    let prefix = common_prefix(least, greatest) as u32;
    if prefix <= node.prefix {
        return;
    }
    let mut heads = [0u8; 4 * ITEMS];
    for (item, head) in heads.as_chunks_mut::<4>().0.iter_mut().enumerate().take(node.count) {
        let key = if node.level == 0 {
            key_of(bytes, entries, node.child(item))
        } else {
            node.descend(bytes, item).and_then(|child| first_key(bytes, entries, child))
        };
        *head = head_of(key.unwrap_or(&[]), prefix).to_le_bytes();
    }
    let heads = heads.get(4 * first..4 * node.count).unwrap_or(&[]);
    space.write(head_at(offset, first), heads);
    set_prefix(space, offset, prefix);
}

// --- remove -----------------------------------------------------------------

/// A planned removal, good until the map changes.
pub(crate) struct RemovePlan {
    /// The entry to be removed.
    pub(crate) entry: Entry,
    pub(crate) number: u32,
    item: OldItem,
}

/// What to take out of the indexes.
struct OldItem {
    /// 0 where there is no tree.
    leaf: u32,
    item: u32,
    count: u32,
    capacity: u32,
    /// The way there, where it is the leaf's only one.
    path: Option<Path>,
    /// Its place in the hash block.
    hashed: Option<(u64, usize)>,
}

impl OldItem {
    /// Finds a key: the number of its entry, and its item.
    #[inline]
    fn plan(bytes: &[u8], map: &Map, key: &[u8]) -> Result<Option<(u32, OldItem)>> {
        if map.root == 0 {
            let needle = Needle::new(key);
            let found = match map.hash {
                0 => map.find(bytes, &needle)?.map(|entry| (entry, None)),
                _ => {
                    let is_it = |position| is_at(bytes, position, &needle) == Ok(true);
                    let found = hash::find_with_place(bytes, map, key, is_it);
                    found.map(|(entry, place)| (entry, Some(place)))
                }
            };
            let Some((entry, hashed)) = found else { return Ok(None) };
            let (leaf, item, count, capacity, path) = (0, 0, 0, 0, None);
            return Ok(Some((entry, OldItem { leaf, item, count, capacity, path, hashed })));
        }
        let hit = find_item(bytes, map.entries, map.root, &Needle::new(key))?;
        let Some(Hit { entry, leaf, item }) = hit else { return Ok(None) };
        let node = Node::load(bytes, leaf)?;
        let path = if node.count == 1 { Some(path_to(bytes, map, key, entry)?) } else { None };
        let (item, count, capacity) = (item as u32, node.count as u32, node.capacity() as u32);
        let hashed = hash::locate(bytes, map, entry, key);
        Ok(Some((entry, OldItem { leaf, item, count, capacity, path, hashed })))
    }

    fn carry_out<S: Storage, O: Observer>(&self, space: &mut Space<S, O>, map: &Map) {
        hash::remove(space, self.hashed);
        match &self.path {
            None if self.leaf == 0 => {}
            None => {
                let counts = (self.count as usize, self.capacity as usize);
                remove_item(space, self.leaf, counts, self.item as usize);
            }
            Some(path) => remove_leaf(space, map, path),
        }
    }
}

/// The way to the item of an entry that is there.
#[cold]
#[inline(never)]
fn path_to(bytes: &[u8], map: &Map, key: &[u8], number: u32) -> Result<Path> {
    let seek = seek(bytes, map.entries, map.root, SeekTarget::at(key))?;
    if seek.found != Some(number) {
        return Err(Error::new(ErrorKind::BadIndex, map.at));
    }
    Ok(seek.path)
}

/// Finds a key's entry and its item in the index.
#[inline]
pub(crate) fn plan_remove(bytes: &[u8], map: &Map, key: &[u8]) -> Result<Option<RemovePlan>> {
    check_entries(bytes, map)?;
    let Some((number, item)) = OldItem::plan(bytes, map, key)? else { return Ok(None) };
    let entry = map.entry(bytes, number)?;
    Ok(Some(RemovePlan { entry, number, item }))
}

/// Takes an entry out and leaves a hole. The caller frees what its key and value own, before or
/// after. When most entries are holes they are squeezed out, which gives the entries new
/// numbers.
pub(crate) fn remove<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    plan: &RemovePlan,
) {
    let RemovePlan { entry, number, item } = plan;
    item.carry_out(space, map);
    if map.entries.keys_only {
        space.write_u64(entry.key, 0);
    } else {
        space.write(entry.key, &[0; 16]);
        space.write_u8(entry.tag_at, TAG_HOLE);
    }
    let (live, mut used) = (map.live.saturating_sub(1), map.used);
    if *number + 1 == used {
        // The last used entry is no hole.
        while used > 0 && map.entries.is_live(space.bytes(), used - 1) == Ok(false) {
            used -= 1;
        }
    }
    set_counts(space, map.at, live, used);
    if live == 0 {
        // Its marks may say that the tree has keys, which is gone.
        hash::drop_block(space, map);
    }
    let map = Map { live, used, ..*map };
    // Values in an array are squeezed first.
    if space.trusted && (!map.entries.keys_only || !squeezes(&map)) {
        squeeze(space, map.at);
    }
}

/// Whether most entries are holes.
pub(crate) fn squeezes(map: &Map) -> bool {
    map.used >= SQUEEZE && map.used - map.live.min(map.used) > map.used / 2
}

/// Squeezes holes out where they are the majority, and gives room back of which little is used.
pub(crate) fn squeeze<S: Storage, O: Observer>(space: &mut Space<S, O>, map: u64) {
    let Ok(loaded) = Map::load(space.bytes(), map) else { return };
    let (squeezes, mut used) = (squeezes(&loaded), loaded.used);
    if squeezes {
        squeeze_entries(space, map);
        used = loaded.live;
    }
    let gives_back = loaded.capacity >= GIVE_BACK && used <= loaded.capacity / 4;
    if gives_back {
        give_back(space, map);
    }
    // In a tree's map entries have other numbers.
    if gives_back || squeezes && loaded.root != 0 {
        hash::renew(space, map);
    }
}

/// Frees a leaf with one item, and the nodes above that it leaves empty. A root with one child
/// is replaced by it.
#[cold]
fn remove_leaf<S: Storage, O: Observer>(space: &mut Space<S, O>, map: &Map, path: &Path) {
    let mut top = 0;
    for at in (0..path.depth as usize).rev() {
        let (offset, item) = (path.nodes[at], path.items[at] as usize);
        let Ok(node) = Node::load(space.bytes(), offset) else { return };
        let (count, capacity, level) = (node.count, node.capacity(), node.level);
        if count > 1 {
            remove_item(space, offset, (count, capacity), item);
            if level > 0 && item == 0 {
                space.write_u32(head_at(offset, 0), 0);
            }
            top = map.root;
            break;
        }
        space.free(u64::from(offset), u64::from(node_size(capacity as u32)));
    }
    // Levels fall, so this ends.
    while top != 0 {
        let Ok(node) = Node::load(space.bytes(), top) else { break };
        if node.level == 0 || node.count > 1 {
            break;
        }
        let Ok(_) = node.descend(space.bytes(), 0) else { break };
        let below = node.child(0);
        space.free(u64::from(top), NODE_SIZE);
        top = below;
    }
    if top != map.root {
        set_root(space, map.at, top);
    }
}

/// Moves the live entries together, in order. Takes linear time, no search and no memory. While
/// an entry moves, half of its key cell and its number in the tree, or else in the hash block, are
/// exchanged. So the entry knows the place that needs its new number.
fn squeeze_entries<S: Storage, O: Observer>(space: &mut Space<S, O>, map: u64) {
    let Ok(map) = Map::load(space.bytes(), map) else { return };
    let entries = map.entries;
    let is_live = |bytes: &[u8], number| entries.is_live(bytes, number).unwrap_or(false);
    let Some(hole) = (0..map.used).find(|&number| !is_live(space.bytes(), number)) else { return };
    let exchange = |space: &mut Space<S, O>, place: u64| {
        let number = load_u32(space.bytes(), place).unwrap_or(0);
        if number > hole {
            let key = entries.key_at(number);
            let low = load_u32(space.bytes(), key).unwrap_or(0);
            space.write_u32(place, low);
            space.write_u32(key, place as u32);
        }
    };
    match map.root {
        0 => hash::each_number(space, &map, exchange),
        _ => each_child(space, &map, exchange),
    }
    let mut next = hole;
    for number in hole + 1..map.used {
        if !is_live(space.bytes(), number) {
            continue;
        }
        let source = entries.key_at(number);
        let Ok(cell) = load_u64(space.bytes(), source) else { break };
        let place = cell & 0xFFFF_FFFF;
        let key = match map.is_bare() {
            true => cell,
            false => {
                let Ok(low) = load_u32(space.bytes(), place) else { break };
                space.write_u32(place, next);
                cell & !0xFFFF_FFFF | u64::from(low)
            }
        };
        let (tag, value) = match entries.keys_only {
            true => (0, 0),
            false => {
                let tag = load_u8(space.bytes(), entries.tag_at(number)).unwrap_or(0);
                (tag, load_u64(space.bytes(), source + 8).unwrap_or(0))
            }
        };
        put_entry(space, &map, next, key, tag, value);
        next += 1;
    }
    if entries.keys_only {
        space.zero(entries.key_at(next), 8 * u64::from(map.used.saturating_sub(next)));
        return set_counts(space, map.at, map.live, next);
    }
    // Everything from `next` on: the rest of its group's tags, then the rest.
    let group = next.next_multiple_of(8).min(map.used);
    let end = u64::from(entries.at) + entries.size(map.used);
    let cells = entries.key_at(next);
    if group > next {
        let tags = entries.tag_at(next);
        space.zero(tags, u64::from(group - next));
        space.zero(cells, end - cells);
    } else if next < map.used {
        space.zero(cells - 8, end + 8 - cells);
    }
    set_counts(space, map.at, map.live, next);
}

/// Calls `each` with the positions of all entry numbers in a map's tree.
fn each_child<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    map: &Map,
    mut each: impl FnMut(&mut Space<S, O>, u64),
) {
    let Ok(mut path) = Path::edge(space.bytes(), map.root, false) else { return };
    for _ in 0..map.live {
        let leaf = path.leaf().0;
        let Ok(node) = Node::load(space.bytes(), leaf) else { return };
        let (count, capacity) = (node.count, node.capacity());
        (0..count).for_each(|item| each(space, child_at(leaf, capacity, item)));
        if path.step_leaf(space.bytes(), false) != Ok(true) {
            return;
        }
    }
}

/// Halves the room of entries of which a quarter is used, or frees it when nothing is.
fn give_back<S: Storage, O: Observer>(space: &mut Space<S, O>, map: u64) {
    let Ok(map) = Map::load(space.bytes(), map) else { return };
    if map.used > map.capacity / 4 {
        return;
    }
    let capacity = (2 * map.used).next_multiple_of(8).max(FIRST_ENTRIES);
    let (old, new) = (map.entries.size(map.capacity), map.entries.size(capacity));
    space.write_u32(map.at + u64::from(MAP_CAPACITY), capacity);
    space.free(u64::from(map.entries.at) + new, old - new);
}

// --- rename -----------------------------------------------------------------

/// Whether a key is there, or what giving it to an entry takes.
pub(crate) enum RenamePlace {
    /// An entry has this key.
    Found,
    /// None has.
    New(RenamePlan),
}

/// A planned renaming, good until the document changes.
pub(crate) struct RenamePlan {
    map: Map,
    number: u32,
    old: OldItem,
    fresh: u64,
}

impl RenamePlan {
    /// Bytes to take for it (the key's own not counted); more than it may use.
    pub(crate) fn fresh(&self) -> u64 {
        self.fresh
    }
}

/// Finds a key or plans that entry `number` gets it.
pub(crate) fn plan_rename(bytes: &[u8], map: &Map, number: u32, key: &[u8]) -> Result<RenamePlace> {
    check_entries(bytes, map)?;
    let old = OldItem::plan(bytes, map, key_of(bytes, map.entries, number)?)?;
    let Some((_, old)) = old.filter(|(found, _)| *found == number && number < map.used) else {
        return Err(Error::new(ErrorKind::BadIndex, map.at));
    };
    if map.root == 0 {
        if map.find(bytes, &Needle::new(key))?.is_some() {
            return Ok(RenamePlace::Found);
        }
        let mut fresh = 0;
        if map.hash != 0 && !hash::has_place(bytes, map, Hashed::of(key, map.buckets)) {
            map.check_keys(bytes)?;
            fresh = tree_limit(map.used);
        }
        return Ok(RenamePlace::New(RenamePlan { map: *map, number, old, fresh }));
    }
    let mut index = IndexPlan::NOTHING;
    IndexPlan::plan(bytes, map, key, &mut index)?;
    if index.nodes == NewNodes::Taken {
        return Ok(RenamePlace::Found);
    }
    // The old key leaves first. That may change the new key's way, but never makes it longer.
    // So this is enough to split every node on it.
    let fresh = NODE_SIZE * (depth(bytes, map.root)? + 1);
    Ok(RenamePlace::New(RenamePlan { map: *map, number, old, fresh }))
}

/// Gives an entry the key that was planned; its place in insertion order stays.
/// The old key's text is the caller's to free afterwards.
pub(crate) fn rename<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    plan: &RenamePlan,
    key: &[u8],
    key_cell: u64,
    extent: &mut Extent,
) {
    let RenamePlan { map, number, old, .. } = plan;
    old.carry_out(space, map);
    space.write_u64(map.entries.key_at(*number), key_cell);
    let placed = map.hash == 0 || hash::add(space, map, *number);
    if map.root == 0 {
        if !placed {
            make_tree(space, map, extent);
        }
        return;
    }
    let root = load_u32(space.bytes(), map.at + u64::from(MAP_ROOT)).unwrap_or(0);
    let map = Map { root, ..*map };
    // An error is possible on damaged bytes only; the entry is then in no item.
    let mut index = IndexPlan::NOTHING;
    if IndexPlan::plan(space.bytes(), &map, key, &mut index).is_ok()
        && u64::from(index.fresh) <= plan.fresh
    {
        index.carry_out(space, &map, *number, extent);
    }
}

/// Count of nodes from the root to a leaf.
fn depth(bytes: &[u8], root: u32) -> Result<u64> {
    Ok(u64::from(Node::load(bytes, root)?.level) + 1)
}
