//! Editing a map: insert, remove, rename, reserve (FORMAT 7).
//!
//! Every edit is planned first. `plan_…` reads and checks all that the edit will touch, and
//! says how many bytes it needs. The edit then only writes, and cannot fail.

use super::find::{Path, Seek, SeekTarget, is_at, seek};
use super::hash::{self, ByHash, Hashed};
use super::node::*;
use super::{Cells, Keys, Map, keys_size};
use crate::block::column::Elements;
use crate::block::column_type::ColumnType;
use crate::block::record::put_tagged;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u32, load_u64};
use crate::format::cell::Needle;
use crate::format::layout::*;
use crate::store::space::{Extent, Space};
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
    MAP_SIZE as u64 + keys_size(capacity) + cells_size(capacity)
}

/// Bytes of so many values in cells.
const fn cells_size(capacity: u32) -> u64 {
    tagged_size(capacity as u64)
}

/// Carves an empty map, with a hash block of so many buckets.
pub(crate) fn create<S: Storage>(
    space: &mut Space<S>,
    extent: &mut Extent,
    capacity: u32,
    buckets: u32,
) -> Map {
    let at = u64::from(extent.carve(u64::from(MAP_SIZE)));
    let (keys, data) = match capacity {
        0 => (0, 0),
        _ => {
            let data = extent.carve(cells_size(capacity));
            (extent.carve(keys_size(capacity)), data)
        }
    };
    let hash = if buckets > 0 { extent.carve(hash_size(buckets)) } else { 0 };
    let (keys, cells) = (Keys(keys), Some(Cells(data)));
    let (live, used, root, room) = (0, 0, 0, capacity);
    let map = Map { at, live, used, capacity, keys, root, hash, buckets, cells, room };
    map.write_header(space);
    let column = ColumnType::Cells;
    Elements::new(map.values_at(), column, 0, capacity, data).write_header(space);
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

/// Makes the tree of a map that has none, of `map.used` entries. `extent` has [`tree_limit`] of
/// them left. A key that cannot be read, or comes twice, is passed over: only damaged bytes have
/// one.
#[inline(never)]
pub(crate) fn make_tree<S: Storage>(space: &mut Space<S>, map: &Map, extent: &mut Extent) {
    let mut map = *map;
    for number in 0..map.used {
        if map.keys.is_live(space.bytes(), number) != Ok(true) {
            continue;
        }
        let key = map.keys.text(space.bytes(), number);
        let planned = key.and_then(|key| TreePlan::plan(space.bytes(), &map, key));
        if let Ok(Planned::New(plan)) = planned {
            plan.carry_out(space, &map, number, extent);
            map.root = load_u32(space.bytes(), map.at + u64::from(MAP_ROOT)).unwrap_or(0);
        }
    }
}

/// The indexes of a map that is filled at once: buckets of its hash block, and whether it has a
/// tree.
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
pub(crate) fn fill<S: Storage>(
    space: &mut Space<S>,
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
    /// Writes the header, but for that of the values.
    pub(crate) fn write_header(&self, target: &mut impl Target) {
        let words = [
            (0, u64::from(KIND_MAP) | u64::from(self.live) << 32),
            (MAP_HASH, u64::from(self.hash) | u64::from(self.buckets) << 32),
            (MAP_CAPACITY, u64::from(self.capacity) | u64::from(self.keys.0) << 32),
            (MAP_ROOT, u64::from(self.root)),
        ];
        words.into_iter().for_each(|(at, word)| target.write_u64(self.at + u64::from(at), word));
    }
}

/// How the room for entries grows: that of the keys, and of values in cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Growth {
    /// The capacities after it; 0 where there is room.
    keys: u32,
    cells: u32,
    /// Bytes to take.
    pub(crate) fresh: u64,
    /// Bytes by which the document's end moves first.
    pub(crate) tail: u64,
}

impl Growth {
    /// Plans room for `additional` more entries. Keys that end the document, behind the cells, grow
    /// with these in place by an eighth. Else what is too small moves, and grows by half.
    fn plan(bytes: &[u8], map: &Map, additional: u32) -> Growth {
        let needed = map.used.saturating_add(additional);
        let room = map.cells.map_or(u32::MAX, |_| map.room);
        if needed <= map.capacity.min(room) {
            return Growth::default();
        }
        let end = map.keys.at(map.capacity);
        let adjoin = |cells: Cells| u64::from(cells.0) + cells_size(map.room) == map.keys.at(0);
        if map.capacity > 0 && end == bytes.len() as u64 && map.cells.is_none_or(adjoin) {
            let capacity = map.capacity.min(room);
            let keys = capacity.saturating_add((capacity / 8).max(4)).max(needed).max(map.capacity);
            let cells = map.cells.map_or(0, |_| keys.max(map.room));
            let mut growth = Growth { keys, cells, fresh: 0, tail: 0 };
            growth.tail = growth.shift(map) + keys_size(keys) - keys_size(map.capacity);
            return growth;
        }
        let grown = |capacity: u32| match capacity {
            _ if needed <= capacity => 0,
            _ => capacity.saturating_add(capacity / 2).max(FIRST_ENTRIES).max(needed),
        };
        let (keys, cells) = (grown(map.capacity), map.cells.map_or(0, |_| grown(map.room)));
        Growth { keys, cells, fresh: keys_size(keys) + cells_size(cells), tail: 0 }
    }

    /// How far the keys move where they stay behind cells that grow.
    fn shift(&self, map: &Map) -> u64 {
        map.cells.map_or(0, |_| cells_size(self.cells) - cells_size(map.room))
    }

    /// Claims the bytes by which the document was extended, for entries that grow in place.
    fn claim<S: Storage>(&self, space: &mut Space<S>, map: &Map) {
        if self.tail == 0 {
            return;
        }
        let (old, shift, length) = (map.keys.at(0), self.shift(map), keys_size(map.used));
        space.copy_within(old, old + shift, length);
        space.zero(old, shift.min(length));
        self.write(space, &self.grown(map));
    }

    /// Makes the room: moves what is too small, and frees its old place. Returns the map as it is
    /// then.
    #[cold]
    fn carry_out<S: Storage>(&self, space: &mut Space<S>, map: &Map, extent: &mut Extent) -> Map {
        if self.tail > 0 {
            return self.grown(map);
        }
        let mut new = *map;
        if let Some(old) = map.cells.filter(|_| self.cells > 0) {
            let data = extent.carve(cells_size(self.cells));
            space.copy_within(old.0.into(), data.into(), cells_size(map.used));
            (new.cells, new.room) = (Some(Cells(data)), self.cells);
        }
        if self.keys > 0 {
            let keys = extent.carve(keys_size(self.keys));
            space.copy_within(map.keys.at(0), keys.into(), keys_size(map.used));
            (new.keys, new.capacity) = (Keys(keys), self.keys);
        }
        self.write(space, &new);
        if let Some(old) = map.cells.filter(|_| self.cells > 0) {
            space.free(old.0.into(), cells_size(map.room));
        }
        if self.keys > 0 {
            space.free(map.keys.at(0), keys_size(map.capacity));
        }
        new
    }

    /// A map that grew in place.
    fn grown(&self, map: &Map) -> Map {
        let keys = Keys((map.keys.at(0) + self.shift(map)) as u32);
        Map { keys, capacity: self.keys, room: self.cells, ..*map }
    }

    /// Writes where the keys and cells are, and their capacities.
    fn write<S: Storage>(&self, space: &mut Space<S>, map: &Map) {
        let capacity = u64::from(map.capacity) | u64::from(map.keys.0) << 32;
        space.write_u64(map.at + u64::from(MAP_CAPACITY), capacity);
        if let Some(cells) = map.cells {
            let room = u64::from(map.room) | u64::from(cells.0) << 32;
            space.write_u64(map.at + u64::from(MAP_VALUES + ARRAY_CAPACITY), room);
        }
    }
}

/// What making room for `additional` entries needs.
pub(crate) fn plan_reserve(bytes: &[u8], map: &Map, additional: u32) -> Result<Growth> {
    check_entries(bytes, map)?;
    Ok(Growth::plan(bytes, map, additional))
}

/// Makes the room, of bytes that were set aside.
pub(crate) fn reserve<S: Storage>(
    space: &mut Space<S>,
    map: &Map,
    growth: &Growth,
    extent: &mut Extent,
) {
    growth.claim(space, map);
    growth.carry_out(space, map, extent);
}

/// Frees the keys and the indexes. The caller frees the values and the header, and before that what
/// keys and values own.
pub(crate) fn free_body<S: Storage>(space: &mut Space<S>, map: &Map) {
    if map.root != 0 {
        free_index(space, map);
    }
    space.free(u64::from(map.keys.0), keys_size(map.capacity));
    if map.hash != 0 {
        space.free(u64::from(map.hash), hash_size(map.buckets));
    }
}

/// Frees all nodes, each after those below it.
fn free_index<S: Storage>(space: &mut Space<S>, map: &Map) {
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
    check(bytes, u64::from(map.keys.0), keys_size(map.capacity))?;
    if let Some(cells) = map.cells {
        check(bytes, u64::from(cells.0), cells_size(map.room))?;
        if map.used > map.room {
            return Err(Error::new(ErrorKind::BadCount, map.at));
        }
    }
    if map.hash == 0 { Ok(()) } else { hash::check_bounds(bytes, map) }
}

// --- insert -----------------------------------------------------------------

/// Whether a key is there, or what inserting it takes.
pub(crate) enum InsertPlace {
    /// An entry has this key.
    Found(u32),
    /// None has.
    New(InsertPlan),
}

/// A planned insertion, good until the document changes. The default is still to be planned.
#[derive(Default)]
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
    pub(crate) fn claim<S: Storage>(&self, space: &mut Space<S>, map: &Map) {
        self.growth.claim(space, map);
    }
}

/// Finds a key or plans its insertion.
pub(crate) fn plan_insert(bytes: &[u8], map: &Map, key: &[u8]) -> Result<InsertPlace> {
    let found = map.find_by_hash(bytes, &Needle::new(key)).unwrap_or(ByHash::PERHAPS);
    let mut plan = InsertPlan::default();
    Ok(match plan_insert_after(bytes, map, key, found, &mut plan)? {
        Some(entry) => InsertPlace::Found(entry),
        None => InsertPlace::New(plan),
    })
}

/// The same if the hash block was asked before and answered `found`. Returns the entry that has the
/// key; if there is none, makes `plan`.
// The plan is made in its place, because one that was just written in parts is slow to move.
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
/// [`fresh`](InsertPlan::fresh) bytes left, and [`claim`](InsertPlan::claim) was called. The value
/// is written only if values are in cells.
pub(crate) fn insert<S: Storage>(
    space: &mut Space<S>,
    map: &Map,
    plan: &InsertPlan,
    key_cell: u64,
    value: (u8, u64),
    extent: &mut Extent,
) -> u32 {
    let number = map.used;
    let grows = plan.growth.fresh + plan.growth.tail > 0;
    let grown = grows.then(|| plan.growth.carry_out(space, map, extent));
    let map = grown.as_ref().unwrap_or(map);
    put_entry(space, map, number, key_cell, value);
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
    number
}

/// Gives a map another hash block, with all entries and one that was just added. Returns whether
/// each found a place.
#[cold]
fn new_hash<S: Storage>(
    space: &mut Space<S>,
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
/// is written only if values are in cells.
#[inline]
pub(crate) fn put_entry<S: Storage>(
    space: &mut Space<S>,
    map: &Map,
    number: u32,
    key_cell: u64,
    (tag, cell): (u8, u64),
) {
    space.write_u64(map.keys.at(number), key_cell);
    if let Some(cells) = map.cells {
        put_tagged(space, cells.0.into(), number, tag, cell);
    }
}

fn set_counts<S: Storage>(space: &mut Space<S>, map: u64, live: u32, used: u32) {
    space.write_u32(map + u64::from(MAP_LIVE), live);
    space.write_u32(map + u64::from(MAP_VALUES + ARRAY_COUNT), used);
}

fn set_root<S: Storage>(space: &mut Space<S>, map: u64, root: u32) {
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
        let Seek { path, found } = seek(bytes, map.keys, map.root, SeekTarget::at(key))?;
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
    fn carry_out<S: Storage>(
        &self,
        space: &mut Space<S>,
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
            let Seek { path, found } = seek(bytes, map.keys, map.root, SeekTarget::at(key))?;
            return Ok(found.map(|entry| {
                let hashed = hash::locate(bytes, map, entry, key);
                (entry, OldItem { path: Some(path), hashed })
            }));
        }
        let found = match map.hash {
            0 => map.find(bytes, &needle)?.map(|entry| (entry, None)),
            _ => {
                let hashed = Hashed::of(key, map.buckets);
                let is_it = |position| Ok(is_at(bytes, position, &needle) == Ok(true));
                let found = hash::find_with_place(bytes, map, hashed, is_it).unwrap_or(None);
                found.map(|(entry, place)| (entry, Some(place)))
            }
        };
        Ok(found.map(|(entry, hashed)| (entry, OldItem { path: None, hashed })))
    }

    fn carry_out<S: Storage>(&self, space: &mut Space<S>, map: &Map) {
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
    Ok(Some(RemovePlan { number, item }))
}

/// Takes an entry out and leaves a hole. The caller frees what its key and value own, before or
/// after. When most entries are holes they are squeezed out, which gives the entries new numbers.
/// Values that are not in cells, and their count, are the caller's.
pub(crate) fn remove<S: Storage>(space: &mut Space<S>, map: &Map, plan: &RemovePlan) {
    let RemovePlan { number, item } = plan;
    item.carry_out(space, map);
    space.write_u64(map.keys.at(*number), 0);
    let map = Map { live: map.live.saturating_sub(1), ..*map };
    if map.live == 0 {
        // Its marks may say that the tree has keys, but the tree is gone.
        hash::drop_block(space, &map);
    }
    let Some(cells) = map.cells else {
        return space.write_u32(map.at + u64::from(MAP_LIVE), map.live);
    };
    let used = map.used_without(space.bytes(), *number);
    put_tagged(space, cells.0.into(), *number, TAG_NULL, 0);
    (used..map.used).for_each(|hole| space.write_u8(cells.tag_at(hole), TAG_HOLE));
    set_counts(space, map.at, map.live, used);
    if space.trusted
        && let Ok(map) = Map::load(space.bytes(), map.at)
    {
        squeeze(space, &map);
    }
}

impl Map {
    /// How many entries are in use when entry `number` was taken out: the last one is no hole.
    pub(crate) fn used_without(&self, bytes: &[u8], number: u32) -> u32 {
        let mut used = self.used;
        if number + 1 == used {
            while used > 0 && self.keys.is_live(bytes, used - 1) == Ok(false) {
                used -= 1;
            }
        }
        used
    }

    /// Whether most entries are holes.
    pub(crate) fn squeezes(&self) -> bool {
        self.used >= SQUEEZE && self.used - self.live.min(self.used) > self.used / 2
    }
}

/// Squeezes holes out where they are the majority, and gives room back of which little is used.
pub(crate) fn squeeze<S: Storage>(space: &mut Space<S>, map: &Map) {
    let (squeezes, mut used) = (map.squeezes(), map.used);
    if squeezes {
        squeeze_entries(space, map);
        used = map.live;
    }
    let gives_back = map.capacity >= GIVE_BACK && used <= map.capacity / 4;
    if gives_back {
        give_back(space, &Map { used, ..*map });
    }
    // In a map with a tree, the hash block does not know the entries' new numbers yet.
    if gives_back || squeezes && map.root != 0 {
        hash::renew(space, map.at);
    }
}

/// Takes an item out of a leaf, and frees the nodes that are empty then. A root with one child is
/// replaced by it.
fn remove_item_at<S: Storage>(space: &mut Space<S>, map: &Map, path: &Path) {
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
fn squeeze_entries<S: Storage>(space: &mut Space<S>, map: &Map) {
    let keys = map.keys;
    let is_live = |bytes: &[u8], number| keys.is_live(bytes, number).unwrap_or(false);
    let Some(hole) = (0..map.used).find(|&number| !is_live(space.bytes(), number)) else { return };
    let exchange = |space: &mut Space<S>, place: u64| {
        let number = load_u32(space.bytes(), place).unwrap_or(0);
        if number > hole {
            let key = keys.at(number);
            let low = load_u32(space.bytes(), key).unwrap_or(0);
            space.write_u32(place, low);
            space.write_u32(key, place as u32);
        }
    };
    match map.root {
        0 => hash::each_number(space, map, exchange),
        _ => each_child(space, map, exchange),
    }
    let mut next = hole;
    for number in hole + 1..map.used {
        if !is_live(space.bytes(), number) {
            continue;
        }
        let Ok(cell) = load_u64(space.bytes(), keys.at(number)) else { break };
        let place = cell & 0xFFFF_FFFF;
        let key = match map.is_bare() {
            true => cell,
            false => {
                let Ok(low) = load_u32(space.bytes(), place) else { break };
                space.write_u32(place, next);
                cell & !0xFFFF_FFFF | u64::from(low)
            }
        };
        let value = map.cells.and_then(|cells| cells.value(space.bytes(), number).ok());
        put_entry(space, map, next, key, value.map_or((TAG_NULL, 0), |raw| (raw.tag, raw.cell)));
        next += 1;
    }
    space.zero(keys.at(next), keys_size(map.used.saturating_sub(next)));
    if let Some(cells) = map.cells {
        (next..map.used).for_each(|old| {
            put_tagged(space, cells.0.into(), old, TAG_HOLE, 0);
        });
    }
    set_counts(space, map.at, map.live, next);
}

/// Calls `each` with the positions of all entry numbers in a map's tree.
fn each_child<S: Storage>(
    space: &mut Space<S>,
    map: &Map,
    mut each: impl FnMut(&mut Space<S>, u64),
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
fn give_back<S: Storage>(space: &mut Space<S>, map: &Map) {
    let capacity = (2 * map.used).next_multiple_of(8).max(FIRST_ENTRIES);
    let old = [(MAP_CAPACITY, map.keys.0, map.capacity, keys_size as fn(u32) -> u64)];
    let cells = map.cells.map(|cells| {
        (MAP_VALUES + ARRAY_CAPACITY, cells.0, map.room, cells_size as fn(u32) -> u64)
    });
    for (at, data, old, size) in old.into_iter().chain(cells) {
        if capacity < old {
            space.write_u32(map.at + u64::from(at), capacity);
            space.free(u64::from(data) + size(capacity), size(old) - size(capacity));
        }
    }
}

// --- rename -----------------------------------------------------------------

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

/// Plans that entry `number` gets a key. `None` if an entry has it.
pub(crate) fn plan_rename(
    bytes: &[u8],
    map: &Map,
    number: u32,
    key: &[u8],
) -> Result<Option<RenamePlan>> {
    check_entries(bytes, map)?;
    let old = OldItem::plan(bytes, map, map.keys.text(bytes, number)?)?;
    let Some((_, old)) = old.filter(|(found, _)| *found == number && number < map.used) else {
        return Err(Error::new(ErrorKind::BadIndex, map.at));
    };
    if map.root == 0 {
        if map.find(bytes, &Needle::new(key))?.is_some() {
            return Ok(None);
        }
        let mut fresh = 0;
        if map.hash != 0 && !hash::has_place(bytes, map, Hashed::of(key, map.buckets)) {
            map.check_keys(bytes)?;
            fresh = tree_limit(map.used);
        }
        return Ok(Some(RenamePlan { map: *map, number, old, fresh }));
    }
    let TreePlan { path, .. } = match TreePlan::plan(bytes, map, key)? {
        Planned::Found(_) => return Ok(None),
        Planned::New(plan) => plan,
    };
    // The old key leaves first. That may change the new key's way, but never makes it longer.
    // So this is enough to split every node on it.
    let fresh = u64::from(NODE_SIZE) * (u64::from(path.depth) + 1);
    Ok(Some(RenamePlan { map: *map, number, old, fresh }))
}

/// Gives an entry the key that was planned; its place in insertion order stays.
/// The old key's text is the caller's to free afterwards.
pub(crate) fn rename<S: Storage>(
    space: &mut Space<S>,
    plan: &RenamePlan,
    key: &[u8],
    key_cell: u64,
    extent: &mut Extent,
) {
    let RenamePlan { map, number, old, .. } = plan;
    old.carry_out(space, map);
    space.write_u64(map.keys.at(*number), key_cell);
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
