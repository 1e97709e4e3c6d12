//! Checking a map's indexes as a whole (FORMAT 7): linear, without memory.

use super::find::common_prefix;
use super::hash;
use super::node::{Node, damaged, head_of};
use super::{Map, key_of};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u64};
use crate::format::cell::{owned_span, span_length};
use crate::format::layout::*;

/// A node on the way to the current leaf.
#[derive(Clone, Copy)]
struct Frame {
    offset: u32,
    item: usize,
    /// First entry of the node's subtree.
    first: u32,
}

/// Checks the header and the indexes of a map. The tree: every node well-formed, prefixes
/// and heads right, keys strictly ascending, and every live entry in one item.
/// The entries' cells are the caller's to check. `visit` is told of each node
/// (offset, size) before it is entered and may refuse.
pub(crate) fn check_index(
    bytes: &[u8],
    map: u64,
    visit: &mut impl FnMut(u32, u32) -> Result<()>,
) -> Result<()> {
    let map = Map::load(bytes, map)?;
    check_header(bytes, &map)?;
    if map.root == 0 {
        check_entries(bytes, &map)?;
        return check_hash(bytes, &map, visit);
    }
    let mut stack = [Frame { offset: 0, item: 0, first: 0 }; MAX_LEVELS];
    let mut depth = 0usize;
    let mut previous: Option<u32> = None;
    let mut seen = 0u32;
    let mut next = Some((map.root, None));
    loop {
        // Goes down to the first leaf of a subtree.
        while let Some((offset, above)) = next.take() {
            let node = check_node(bytes, offset, above)?;
            visit(offset, node_size(node.capacity() as u32))?;
            let Some(frame) = stack.get_mut(depth) else { return Err(damaged(offset)) };
            *frame = Frame { offset, item: 0, first: 0 };
            depth += 1;
            if node.level > 0 {
                next = Some((node.child(0), Some(node.level)));
                continue;
            }
            // Its first key settles the separators above it.
            let first = node.child(0);
            let key = key_of(bytes, map.entries, first)?;
            let top = stack.iter().take(depth).rposition(|frame| frame.item > 0);
            for frame in stack.iter_mut().take(depth).skip(top.map_or(0, |top| top + 1)) {
                frame.first = first;
            }
            if let (Some(top), Some(previous)) = (top, previous) {
                let Frame { offset, item, .. } = stack[top];
                let above = Node::load(bytes, offset)?;
                let before = key_of(bytes, map.entries, previous)?;
                let head = above.head(item);
                if head < head_of(before, above.prefix) || head > head_of(key, above.prefix) {
                    return Err(damaged(offset));
                }
            }
            for item in 0..node.count {
                let entry = node.child(item);
                let key = check_key(bytes, &map, entry)?;
                if node.head(item) != head_of(key, node.prefix) {
                    return Err(damaged(offset));
                }
                if let Some(previous) = previous {
                    let before = key_of(bytes, map.entries, previous)?;
                    if before >= key {
                        let kind = if before == key {
                            ErrorKind::DuplicateKey
                        } else {
                            ErrorKind::BadIndex
                        };
                        return Err(Error::new(kind, u64::from(offset)));
                    }
                }
                previous = Some(entry);
                seen += 1;
                if seen > map.live {
                    return Err(Error::new(ErrorKind::BadCount, map.at));
                }
            }
        }
        // Goes up to a node that has an item left.
        let Some(last) = previous else { return Err(damaged(map.root)) };
        loop {
            let Some(top) = depth.checked_sub(1) else {
                if seen != map.live {
                    return Err(Error::new(ErrorKind::BadCount, map.at));
                }
                return check_hash(bytes, &map, visit);
            };
            let frame = &mut stack[top];
            let node = Node::load(bytes, frame.offset)?;
            if node.level > 0 && frame.item + 1 < node.count {
                frame.item += 1;
                next = Some((node.child(frame.item), Some(node.level)));
                break;
            }
            // All keys between these two share the prefix, too.
            let (least, greatest) =
                (key_of(bytes, map.entries, frame.first)?, key_of(bytes, map.entries, last)?);
            if common_prefix(least, greatest) < node.prefix as usize {
                return Err(damaged(frame.offset));
            }
            depth = top;
        }
    }
}

/// Checks the keys of a map without a tree. Of few entries, that no key comes twice.
fn check_entries(bytes: &[u8], map: &Map) -> Result<()> {
    for number in 0..map.used {
        if !map.entries.is_live(bytes, number)? {
            continue;
        }
        let key = check_key(bytes, map, number)?;
        let before = if map.is_bare() { number } else { 0 };
        for other in 0..before {
            if map.entries.is_live(bytes, other)? && key_of(bytes, map.entries, other)? == key {
                return Err(Error::new(ErrorKind::DuplicateKey, map.entries.key_at(number)));
            }
        }
    }
    Ok(())
}

/// Tells `visit` of the hash block, and checks it.
fn check_hash(
    bytes: &[u8],
    map: &Map,
    visit: &mut impl FnMut(u32, u32) -> Result<()>,
) -> Result<()> {
    if map.hash == 0 {
        return Ok(());
    }
    hash::check_bounds(bytes, map)?;
    visit(map.hash, hash_size(map.buckets) as u32)?;
    hash::check_block(bytes, map)
}

fn check_header(bytes: &[u8], map: &Map) -> Result<()> {
    let [_, form, rest @ ..] = (load_u64(bytes, map.at)? as u32).to_le_bytes();
    if form > 1 {
        return Err(Error::new(ErrorKind::BadCode, map.at));
    }
    if rest != [0; 2] {
        return Err(Error::new(ErrorKind::NotZero, map.at));
    }
    if (map.capacity == 0) != (map.entries.at == 0) {
        return Err(Error::new(ErrorKind::BadCount, map.at));
    }
    let (mut live, mut is_live) = (0, true);
    for number in 0..map.used {
        is_live = map.entries.is_live(bytes, number)?;
        live += u32::from(is_live);
    }
    // The last used entry is no hole.
    if live != map.live || !is_live {
        return Err(Error::new(ErrorKind::BadCount, map.at));
    }
    Ok(())
}

/// Checks one node. `above` is its parent's level.
fn check_node<'a>(bytes: &'a [u8], offset: u32, above: Option<u8>) -> Result<Node<'a>> {
    if !offset.is_multiple_of(8) {
        return Err(Error::new(ErrorKind::Misaligned, u64::from(offset)));
    }
    let node = Node::load(bytes, offset)?;
    if load_u8(bytes, u64::from(offset) + 3)? != 0 {
        return Err(Error::new(ErrorKind::NotZero, u64::from(offset) + 3));
    }
    match above {
        None if node.level > 0 && node.count == 1 => return Err(damaged(offset)),
        Some(above) if node.level + 1 != above || node.capacity() != NODE_ITEMS as usize => {
            return Err(damaged(offset));
        }
        _ => {}
    }
    if node.level > 0 && node.head(0) != 0 {
        return Err(damaged(offset));
    }
    for item in node.count..node.capacity() {
        if node.head(item) != 0 || node.child(item) != 0 {
            return Err(Error::new(ErrorKind::NotZero, u64::from(offset)));
        }
    }
    Ok(node)
}

/// The key of an entry that a leaf names.
fn check_key<'a>(bytes: &'a [u8], map: &Map, number: u32) -> Result<&'a [u8]> {
    let entry = map.entry(bytes, number)?;
    if entry.tag == TAG_HOLE {
        return Err(Error::new(ErrorKind::BadIndex, entry.tag_at));
    }
    let cell = load_u64(bytes, entry.key)?;
    // Comparing keys takes time by their length. The document's size bounds that for text that
    // belongs to one key. This bounds it for shared text.
    if owned_span(cell).is_none() && span_length(cell) > MAX_SHARED {
        return Err(Error::new(ErrorKind::BadCell, entry.key));
    }
    key_of(bytes, map.entries, number)
}
