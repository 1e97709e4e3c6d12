//! Checking a map's indexes as a whole (FORMAT 7): linear, without memory.

use super::Map;
use super::hash;
use super::node::{Node, damaged};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u32, load_u64};
use crate::format::cell::{owned_span, span_length};
use crate::format::layout::*;
use core::cmp::Ordering;

/// Checks the header and the indexes of a map. The tree: every node well-formed, keys strictly
/// ascending, and every live entry in one item. The entries' cells are the caller's to check.
/// `visit` is told of each node (offset, size) before it is entered and may refuse.
pub(crate) fn check_index(
    bytes: &[u8],
    map: u64,
    visit: &mut impl FnMut(u32, u32) -> Result<()>,
) -> Result<()> {
    let map = Map::load(bytes, map)?;
    check_header(bytes, &map)?;
    if map.root == 0 {
        check_entries(bytes, &map)?;
    } else {
        let mut tree = Tree { bytes, map: &map, visit, previous: None, seen: 0 };
        tree.check(map.root, None)?;
        if tree.seen != map.live {
            return Err(Error::new(ErrorKind::BadCount, map.at));
        }
    }
    if map.hash == 0 {
        return Ok(());
    }
    hash::check_bounds(bytes, &map)?;
    visit(map.hash, hash_size(map.buckets) as u32)?;
    hash::check_block(bytes, &map)
}

/// A tree that is walked in the order of its keys.
struct Tree<'a, 'v, V> {
    bytes: &'a [u8],
    map: &'a Map,
    visit: &'v mut V,
    /// The last entry's key.
    previous: Option<&'a [u8]>,
    seen: u32,
}

impl<V: FnMut(u32, u32) -> Result<()>> Tree<'_, '_, V> {
    /// Checks the node at `offset`, below one of level `above`. Each node has an entry, and entries
    /// are counted, so nodes that come twice do not make this long. Levels fall, so it is not deep.
    fn check(&mut self, offset: u32, above: Option<u8>) -> Result<()> {
        if !offset.is_multiple_of(8) {
            return Err(Error::new(ErrorKind::Misaligned, u64::from(offset)));
        }
        let node = Node::load(self.bytes, offset)?;
        let [.., 0, 0] = (load_u32(self.bytes, offset.into())?).to_le_bytes() else {
            return Err(Error::new(ErrorKind::NotZero, u64::from(offset) + 2));
        };
        let fits = match above {
            None => node.level == 0 || node.count > 1,
            Some(above) => node.level + 1 == above,
        };
        if !fits {
            return Err(damaged(offset));
        }
        if (node.count..NODE_ITEMS as usize).any(|item| node.item(item) != 0) {
            return Err(Error::new(ErrorKind::NotZero, u64::from(offset)));
        }
        (self.visit)(offset, NODE_SIZE)?;
        for item in (0..node.count).map(|item| node.item(item)) {
            if node.level > 0 {
                self.check(item, Some(node.level))?;
                continue;
            }
            let key = check_key(self.bytes, self.map, item)?;
            match self.previous.map(|previous| previous.cmp(key)) {
                None | Some(Ordering::Less) => {}
                Some(Ordering::Equal) => {
                    return Err(Error::new(ErrorKind::DuplicateKey, u64::from(offset)));
                }
                Some(Ordering::Greater) => return Err(damaged(offset)),
            }
            self.previous = Some(key);
            self.seen += 1;
        }
        Ok(())
    }
}

/// Checks the keys of a map without a tree. Of few entries, that no key comes twice.
fn check_entries(bytes: &[u8], map: &Map) -> Result<()> {
    for number in 0..map.used {
        if !map.keys.is_live(bytes, number)? {
            continue;
        }
        let key = check_key(bytes, map, number)?;
        let before = if map.is_bare() { number } else { 0 };
        for other in 0..before {
            if map.keys.is_live(bytes, other)? && map.keys.text(bytes, other)? == key {
                return Err(Error::new(ErrorKind::DuplicateKey, map.keys.at(number)));
            }
        }
    }
    Ok(())
}

fn check_header(bytes: &[u8], map: &Map) -> Result<()> {
    let first = load_u32(bytes, map.at)?;
    if first != u32::from(KIND_MAP) || load_u32(bytes, map.at + u64::from(MAP_UNUSED))? != 0 {
        return Err(Error::new(ErrorKind::NotZero, map.at));
    }
    if (map.capacity == 0) != (map.keys.0 == 0) {
        return Err(Error::new(ErrorKind::BadCount, map.at));
    }
    let (mut live, mut is_live) = (0, true);
    for number in 0..map.used {
        is_live = map.keys.is_live(bytes, number)?;
        live += u32::from(is_live);
    }
    // The last used entry is no hole.
    if live != map.live || !is_live {
        return Err(Error::new(ErrorKind::BadCount, map.at));
    }
    Ok(())
}

/// The key of an entry that a leaf names.
fn check_key<'a>(bytes: &'a [u8], map: &Map, number: u32) -> Result<&'a [u8]> {
    let at = map.key_at(number)?;
    let cell = load_u64(bytes, at)?;
    if cell == 0 {
        return Err(Error::new(ErrorKind::BadIndex, at));
    }
    // Comparing keys takes time by their length. The document's size bounds that for text that
    // belongs to one key. This bounds it for shared text.
    if owned_span(cell).is_none() && span_length(cell) > MAX_SHARED {
        return Err(Error::new(ErrorKind::BadCell, at));
    }
    map.keys.text(bytes, number)
}
