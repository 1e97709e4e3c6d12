//! Editing a map: insert, remove, rename, reserve (FORMAT 7).
//!
//! Every edit is planned first. `plan_…` reads and checks all that the edit will touch, and
//! says how many bytes it needs. The edit then only writes, and cannot fail.
//!
use super::find::{Path, Seek, SeekTarget, is_at, seek};
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
    // Split nodes are half full.
    let nodes = count / 31 + count / (31 * 31) + 4;
    nodes as u64 * NODE_SIZE as u64
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
        let key = key_of(space.bytes(), map.entries, number);
        let planned = key.and_then(|key| TreePlan::plan(space.bytes(), &map, key));
        if let Ok(Planned::New(plan)) = planned {
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
            space.free(u64::from(node), NODE_SIZE.into());
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
    in_tree: Option<TreePlan>,
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
        in_tree: None,
        tree: 0,
        buckets: 0,
        hashed: None,
    };

    /// Bytes to take for it (the key's and value's own not counted).
    pub(crate) fn fresh(&self) -> u64 {
        let nodes = self.in_tree.as_ref().map_or(0, TreePlan::fresh);
        self.growth.fresh + nodes + self.tree + hash_size(self.buckets)
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
        match TreePlan::plan(bytes, map, key)? {
            Planned::Found(entry) => return Ok(Some(entry)),
            Planned::New(place) => plan.in_tree = Some(place),
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
    if let Some(place) = &plan.in_tree {
        place.carry_out(space, map, number, extent);
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

/// The place of a new entry in the tree.
struct TreePlan {
    /// Of no nodes where the entry is the first.
    path: Path,
    /// So many of the last nodes on the way are full.
    splits: u8,
    /// The key comes behind all others.
    is_last: bool,
}

/// Whether a key is in the tree, or where it belongs.
enum Planned {
    Found(u32),
    New(TreePlan),
}

impl TreePlan {
    fn plan(bytes: &[u8], map: &Map, key: &[u8]) -> Result<Planned> {
        let mut plan = TreePlan { path: Path::EMPTY, splits: 0, is_last: true };
        if map.root == 0 {
            return Ok(Planned::New(plan));
        }
        let Seek { path, found } = seek(bytes, map.entries, map.root, SeekTarget::at(key))?;
        if let Some(entry) = found {
            return Ok(Planned::Found(entry));
        }
        plan.path = path;
        for (level, (node, item)) in path.steps().rev().enumerate() {
            let count = Node::load(bytes, node)?.count;
            plan.splits += u8::from(count == ITEMS && level == usize::from(plan.splits));
            plan.is_last &= item + usize::from(level > 0) == count;
        }
        if plan.splits == MAX_LEVELS as u8 {
            // An empty map gets here after 31 to the power of 11 insertions.
            let limit = u64::from(map.live);
            return Err(Error::with_detail(ErrorKind::ElementLimit, map.at, limit));
        }
        Ok(Planned::New(plan))
    }

    /// Bytes of the new nodes.
    fn fresh(&self) -> u64 {
        let new_root = self.splits == self.path.depth;
        (u64::from(self.splits) + u64::from(new_root)) * u64::from(NODE_SIZE)
    }

    /// Puts entry `number` into the tree.
    fn carry_out<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        map: &Map,
        number: u32,
        extent: &mut Extent,
    ) {
        let (mut child, mut level) = (number, 0);
        for (node, item) in self.path.steps().rev() {
            let place = item + usize::from(level > 0);
            if level == self.splits {
                let count = Node::load(space.bytes(), node).map_or(0, |node| node.count);
                return insert_item(space, node, count, place, child);
            }
            // Ascending keys leave full nodes behind them.
            let keep = if self.is_last { ITEMS } else { ITEMS / 2 };
            let right = extent.carve(NODE_SIZE.into());
            let (from, size) = (item_at(node, keep), 4 * (ITEMS - keep) as u64);
            space.copy_within(from, item_at(right, 0), size);
            space.zero(from, size);
            set_header(space, node, level, keep);
            set_header(space, right, level, ITEMS - keep);
            match place > keep || self.is_last {
                true => insert_item(space, right, ITEMS - keep, place - keep, child),
                false => insert_item(space, node, keep, place, child),
            }
            (child, level) = (right, level + 1);
        }
        let root = extent.carve(NODE_SIZE.into());
        let old = (map.root != 0).then_some(map.root);
        for (item, child) in old.into_iter().chain([child]).enumerate() {
            insert_item(space, root, item, item, child);
        }
        space.write_u8(u64::from(root), level);
        set_root(space, map.at, root);
    }
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
    /// Its place in the tree.
    path: Option<Path>,
    /// Its place in the hash block.
    hashed: Option<(u64, usize)>,
}

impl OldItem {
    /// Finds a key: the number of its entry, and its item.
    #[inline]
    fn plan(bytes: &[u8], map: &Map, key: &[u8]) -> Result<Option<(u32, OldItem)>> {
        let needle = Needle::new(key);
        if map.root != 0 {
            let Seek { path, found } = seek(bytes, map.entries, map.root, SeekTarget::at(key))?;
            return Ok(found.map(|entry| {
                let hashed = hash::locate(bytes, map, entry, key);
                (entry, OldItem { path: Some(path), hashed })
            }));
        }
        let found = match map.hash {
            0 => map.find(bytes, &needle)?.map(|entry| (entry, None)),
            _ => {
                let is_it = |position| is_at(bytes, position, &needle) == Ok(true);
                let found = hash::find_with_place(bytes, map, key, is_it);
                found.map(|(entry, place)| (entry, Some(place)))
            }
        };
        Ok(found.map(|(entry, hashed)| (entry, OldItem { path: None, hashed })))
    }

    fn carry_out<S: Storage, O: Observer>(&self, space: &mut Space<S, O>, map: &Map) {
        hash::remove(space, self.hashed);
        if let Some(path) = &self.path {
            remove_item_at(space, map, path);
        }
    }
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

/// Takes an item out of a leaf, and frees the nodes that are empty then. A root with one child is
/// replaced by it.
fn remove_item_at<S: Storage, O: Observer>(space: &mut Space<S, O>, map: &Map, path: &Path) {
    let mut top = 0;
    for (offset, item) in path.steps().rev() {
        let Ok(node) = Node::load(space.bytes(), offset) else { return };
        if node.count > 1 {
            let count = node.count;
            remove_item(space, offset, count, item);
            top = map.root;
            break;
        }
        space.free(u64::from(offset), NODE_SIZE.into());
    }
    // Levels fall, so this ends.
    while top != 0
        && let Ok(node) = Node::load(space.bytes(), top)
        && node.level > 0
        && node.count == 1
        && node.descend(space.bytes(), 0).is_ok()
    {
        let below = node.item(0);
        space.free(u64::from(top), NODE_SIZE.into());
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
        (0..node.count).for_each(|item| each(space, item_at(leaf, item)));
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
    let TreePlan { path, .. } = match TreePlan::plan(bytes, map, key)? {
        Planned::Found(_) => return Ok(RenamePlace::Found),
        Planned::New(plan) => plan,
    };
    // The old key leaves first. That may change the new key's way, but never makes it longer.
    // So this is enough to split every node on it.
    let fresh = u64::from(NODE_SIZE) * (u64::from(path.depth) + 1);
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
    if let Ok(Planned::New(place)) = TreePlan::plan(space.bytes(), &map, key)
        && place.fresh() <= plan.fresh
    {
        place.carry_out(space, &map, *number, extent);
    }
}
