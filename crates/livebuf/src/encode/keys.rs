//! Keys and key lists: a trie while the document is encoded, shapes at its end.
//!
//! An object walks the trie key by key. Each leaf that records use becomes one shape, which
//! serves every prefix too. Until its shape's place is known, a record's shape field links
//! the records of one list, so that patching needs no memory.
//!
//! A small trie is kept for the next document, whose objects often have the same keys. What is
//! written goes by the lists that the document uses, in the order in which it first does, and so
//! does not depend on the documents before. If the next document uses the same lists in the same
//! order, its shapes are those of this one at another place, so their bytes are kept, too.

use super::hash_index::HashIndex;
use super::output::Output;
use super::room::{make_room, make_room_for, memory};
use crate::block::shape::{Shape, put_key};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{copy, equal, load_u32, load_u64};
use crate::format::cell::{Needle, inline_span, span_at, span_inline};
use crate::format::layout::*;
use crate::format::memory::vec_for;
use crate::store::storage::Storage;
use crate::store::target::Target;
use alloc::vec::Vec;
use hashbrown::HashSet;

/// Most lists of more than 255 keys that the objects of an outermost array add to the trie. It
/// bounds the memory of objects that turn out to be maps.
const MOST_WIDE_LISTS: u32 = 1 << 20;

/// So many keys in [`Keys::marked`] are forgotten.
const MOST_MARKED: usize = 4 * MAX_COLUMNS;

/// A trie of more lists, or of more text, is not kept for the next document.
const MOST_KEPT_LISTS: usize = 1 << 10;
const MOST_KEPT_TEXT: usize = 1 << 14;

/// Shapes of more bytes are not kept.
const MOST_KEPT_SHAPES: usize = 1 << 16;

/// No key has this number.
const NO_KEY: u32 = u32::MAX;

pub(super) struct Keys {
    /// The different keys, and their texts one behind the other.
    pub(super) keys: Vec<KeyText>,
    pub(super) text: Vec<u8>,
    index: HashIndex,
    /// The trie; list 0 is the empty one.
    pub(super) lists: Vec<KeyList>,
    /// The list that this document used first most lately. Each such list links the one before, and
    /// so comes behind its parent. While shapes are written, the links are turned round.
    used: u32,
    kept: KeptShapes,
    /// Bytes of `text` of the documents before.
    kept_text: usize,
    /// Whether there is a list of more than 255 keys.
    has_wide: bool,
    /// The lists beyond the first few children of their parents.
    list_index: HashIndex,
    /// Lists of more than 255 keys that were added since the outermost array began.
    wide_lists: u32,
    /// The latest mark of an object.
    mark: u32,
    /// Keys of objects of more than 255 keys, by the objects' marks. An object whose keys are here
    /// has [`NO_KEY`] here, too.
    marked: HashSet<(u32, u32)>,
    /// The keys of the list that was looked at last.
    pub(super) path: Vec<u32>,
}

pub(super) struct KeyText {
    pub(super) start: u32,
    /// Mark of the object that used the key last, of those that mark theirs.
    user: u32,
    /// Where the text of a long key was written; 0: not yet.
    written: u32,
    pub(super) length: u8,
    fingerprint: u8,
}

/// What becomes of an object's key list by a further key.
pub(super) enum Next {
    /// The list with the key.
    List(u32),
    /// The object has the key already, at this depth of its list.
    Twice(u16),
    /// There is no room for longer lists.
    Full,
}

/// A key's number.
enum KeyNumber {
    Before(u32),
    /// The key was met for the first time.
    Now(u32),
}

#[derive(Clone, Copy, Default)]
pub(super) struct KeyList {
    pub(super) parent: u32,
    pub(super) key: u32,
    /// The key's text, as its [`KeyText`] has it.
    pub(super) start: u32,
    /// Where a program keeps the text, if it was given as static; else 0.
    #[cfg(feature = "serde")]
    pub(super) address: usize,
    pub(super) length: u8,
    /// Whether JSON text has the key as it is, without escapes.
    pub(super) is_plain: bool,
    pub(super) depth: u16,
    /// Count of children, as far as it matters.
    pub(super) children: u8,
    /// Whether this document uses the list, and the list that it used first before this.
    is_used: bool,
    link: u32,
    /// The child most lately taken; while shapes are written, the first that is needed.
    pub(super) child: u32,
    /// Last record of this key list; each record links the one before.
    pub(super) records: u32,
    /// Count of records, as far as it matters.
    pub(super) count: u8,
    /// The child added last, of those that are not in the table, and the one added before
    /// this to the parent.
    pub(super) last: u32,
    pub(super) sibling: u32,
}

/// The shapes of the document before, to be copied.
#[derive(Default)]
struct KeptShapes {
    /// The lists that it used, in the order in which it first did.
    lists: Vec<KeptList>,
    /// All shapes, and the texts of their long keys.
    bytes: Vec<u8>,
    /// Where the bytes have offsets, which move with them.
    offsets: Vec<u32>,
    /// Where they began in the document. Offsets are by this.
    start: u32,
    newest: u32,
}

struct KeptList {
    list: u32,
    /// The shape of its records.
    shape: u32,
    /// [`KeyList::count`], as far as it matters.
    count: u8,
}

/// A key list's first children are found by going through them, more by a table.
const FEW_CHILDREN: u8 = 8;

/// Adds the numbers of a list's keys, in their order.
pub(super) fn path(lists: &[KeyList], list: u32, keys: &mut Vec<u32>) {
    let mut node = lists[list as usize];
    let begin = keys.len();
    while node.depth > 0 {
        keys.push(node.key);
        node = lists[node.parent as usize];
    }
    keys[begin..].reverse();
}

/// Writes a shape's offset to the records that wait for it. Each links the one before.
fn link_records<S: Storage>(out: &mut Output<S>, mut record: u32, shape: u32) -> Result<()> {
    while record != 0 {
        let link = (record + RECORD_SHAPE).into();
        let before = load_u32(out.bytes(), link)?;
        out.write_u32(link, shape);
        record = before;
    }
    Ok(())
}

impl KeyList {
    /// Whether it is too long for a record.
    pub(super) fn is_wide(&self) -> bool {
        usize::from(self.depth) > MAX_FIELDS
    }
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            keys: Vec::new(),
            text: Vec::new(),
            index: HashIndex::default(),
            lists: alloc::vec![KeyList::default()],
            used: 0,
            kept: KeptShapes::default(),
            kept_text: 0,
            has_wide: false,
            list_index: HashIndex::default(),
            wide_lists: 0,
            mark: 0,
            marked: HashSet::new(),
            path: Vec::new(),
        }
    }
}

impl Keys {
    /// Bytes of memory.
    pub(super) fn kept_bytes(&self) -> usize {
        memory(&self.keys)
            + memory(&self.text)
            + memory(&self.lists)
            + memory(&self.path)
            + memory(&self.kept.lists)
            + memory(&self.kept.bytes)
            + memory(&self.kept.offsets)
            + self.index.kept_bytes()
            + self.list_index.kept_bytes()
    }

    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.keys.clear();
        self.text.clear();
        self.list_index.clear();
        self.lists.clear();
        self.lists.push(KeyList::default());
        (self.used, self.kept_text, self.has_wide) = (0, 0, false);
        self.kept.lists.clear();
        self.mark = 0;
        self.begin_outermost();
    }

    /// Begins the next document with the lists of those before, which keep their numbers. False if
    /// there are too many; then nothing is done.
    pub(super) fn keep(&mut self) -> bool {
        let is_small = self.lists.len() <= MOST_KEPT_LISTS && self.text.len() <= MOST_KEPT_TEXT;
        // Marks rise as long as the keys are kept.
        if !is_small || self.has_wide || self.mark > u32::MAX / 2 {
            return false;
        }
        let mut at = core::mem::take(&mut self.used);
        while at != 0 {
            let list = &mut self.lists[at as usize];
            (list.is_used, list.records, list.count) = (false, 0, 0);
            #[cfg(feature = "serde")]
            {
                // It may be another text's in the meantime, if a library was unloaded.
                list.address = 0;
            }
            at = list.link;
        }
        self.kept_text = self.text.len();
        self.begin_outermost();
        true
    }

    /// The document uses this list.
    #[inline]
    pub(super) fn use_list(&mut self, list: u32) {
        let node = &mut self.lists[list as usize];
        if !node.is_used {
            (node.is_used, node.link) = (true, self.used);
            self.used = list;
        }
    }

    /// The objects of an outermost array are still to come.
    pub(super) fn begin_outermost(&mut self) {
        self.wide_lists = 0;
        if !self.marked.is_empty() {
            self.marked = HashSet::new();
        }
    }

    /// Makes sure that a document of at most so many bytes can hold the different keys.
    #[inline]
    pub(super) fn check(&self, limit: u64) -> Result<()> {
        match (self.text.len() - self.kept_text) as u64 > limit {
            true => Err(Error::with_detail(ErrorKind::DocumentLimit, 0, limit)),
            false => Ok(()),
        }
    }

    /// Whether this is the last key of a key list.
    #[inline]
    pub(super) fn ends_with(&self, list: u32, text: &[u8]) -> bool {
        let expected = &self.lists[list as usize];
        let start = expected.start as usize;
        list != 0
            && expected.length as usize == text.len()
            && self.text.get(start..start + text.len()).is_some_and(|key| equal(key, text))
    }

    /// Whether JSON text begins with the last key of a key list and a quote. Returns the key's
    /// length.
    #[inline]
    pub(super) fn begins(&self, json: &[u8], list: u32) -> Option<usize> {
        let expected = &self.lists[list as usize];
        let (start, length) = (expected.start as usize, expected.length as usize);
        let is_it = expected.is_plain
            && json.get(length) == Some(&b'"')
            && self.text.get(start..start + length).is_some_and(|key| equal(key, &json[..length]));
        is_it.then_some(length)
    }

    /// Goes on from `node` by the key of this text. The same key is expected there from now on.
    ///
    /// `own`: the object's mark.
    #[inline]
    pub(super) fn follow(&mut self, node: u32, own: &mut u32, text: &[u8]) -> Result<Next> {
        let known = match self.child_of(node, text) {
            Some(child) => Ok(child),
            None => match self.key_number(text, *own)? {
                KeyNumber::Now(key) => Err(key),
                KeyNumber::Before(key) => match self.child_in_index(node, key) {
                    Some(child) => Ok(child),
                    // Only a new way can hold a key twice.
                    None => match self.depth_of(own, node, key) {
                        Some(depth) => return Ok(Next::Twice(depth)),
                        None => Err(key),
                    },
                },
            },
        };
        let child = match known {
            Ok(child) => {
                *own = 0;
                child
            }
            Err(key) => {
                if usize::from(self.lists[node as usize].depth) >= MAX_FIELDS {
                    if self.wide_lists >= MOST_WIDE_LISTS {
                        return Ok(Next::Full);
                    }
                    self.wide_lists += 1;
                    if !self.marked.is_empty() {
                        self.marked.insert((*own, key));
                    }
                }
                self.add_child(node, key)?
            }
        };
        // From the last key of a record on none is expected: what waits may become a row, and what
        // stands by itself a map.
        if usize::from(self.lists[node as usize].depth) != MAX_FIELDS {
            self.lists[node as usize].child = child;
        }
        self.use_list(child);
        Ok(Next::List(child))
    }

    /// The child of `node` by this key, of those that are not in the index: cheaper than to
    /// hash the text.
    #[inline]
    fn child_of(&self, node: u32, text: &[u8]) -> Option<u32> {
        self.find_listed(node, |found| {
            usize::from(found.length) == text.len()
                && self.text.get(found.start as usize..).is_some_and(|key| key.starts_with(text))
        })
    }

    /// A child of `node`, of those that are listed there.
    #[inline]
    fn find_listed(&self, node: u32, is_it: impl Fn(&KeyList) -> bool) -> Option<u32> {
        let mut child = self.lists[node as usize].last;
        while child != 0 {
            let found = &self.lists[child as usize];
            if is_it(found) {
                return Some(child);
            }
            child = found.sibling;
        }
        None
    }

    /// Where an object of key list `node` has this key already. If it has not, the key gets the
    /// object's own mark.
    ///
    /// Each key knows the object that marked it last. Marks rise, and an object marks all
    /// keys that it has before a further one: so one that this object marked is in it, one
    /// with an older mark is not, and only with a newer one, of an object within this, its
    /// keys must be gone through. An object whose keys are not all marked has no mark: one that
    /// went on by a key that an object within it made, or that has a key twice.
    ///
    /// To go through many keys for each key with a newer mark would take too long. So an object of
    /// more than 255 keys has them in a set from then on.
    fn depth_of(&mut self, own: &mut u32, node: u32, key: u32) -> Option<u16> {
        let first = *own == 0;
        if first {
            self.mark += 1;
            *own = self.mark;
        }
        let mark = *own;
        let user = core::mem::replace(&mut self.keys[key as usize].user, mark);
        if !first && user < mark {
            return None;
        }
        let many = usize::from(self.lists[node as usize].depth) > MAX_FIELDS;
        if many && !first && !self.is_marked(mark, node, key) {
            return None;
        }
        let mut ancestor = node;
        while ancestor != 0 {
            let found = self.lists[ancestor as usize];
            if found.key == key {
                *own = 0;
                return Some(found.depth);
            }
            self.keys[found.key as usize].user = mark;
            ancestor = found.parent;
        }
        None
    }

    /// Whether an object of many keys has this one.
    #[cold]
    fn is_marked(&mut self, mark: u32, node: u32, key: u32) -> bool {
        if self.marked.len() > MOST_MARKED {
            self.marked.clear();
        }
        if self.marked.insert((mark, NO_KEY)) {
            let mut ancestor = node;
            while ancestor != 0 {
                let found = &self.lists[ancestor as usize];
                self.marked.insert((mark, found.key));
                ancestor = found.parent;
            }
        }
        self.marked.contains(&(mark, key))
    }

    /// The child of `node` by this key, if it was met.
    fn find_child(&self, node: u32, key: u32) -> Option<u32> {
        let listed = self.find_listed(node, |found| found.key == key);
        listed.or_else(|| self.child_in_index(node, key))
    }

    /// The same, of those that are not listed at the node.
    #[inline]
    fn child_in_index(&self, node: u32, key: u32) -> Option<u32> {
        match self.lists[node as usize].children > FEW_CHILDREN {
            true => self.find_in_index(node, key),
            false => None,
        }
    }

    fn find_in_index(&self, node: u32, key: u32) -> Option<u32> {
        let is_equal = |child: u32| {
            let child = &self.lists[child as usize];
            child.parent == node && child.key == key
        };
        self.list_index.find(self.list_index.hash((node, key)), is_equal).ok()
    }

    #[inline]
    fn add_child(&mut self, node: u32, key: u32) -> Result<u32> {
        make_room(&mut self.lists)?;
        let child = self.lists.len() as u32;
        let KeyText { start, length, .. } = self.keys[key as usize];
        let parent = &mut self.lists[node as usize];
        let depth = parent.depth.saturating_add(1);
        self.has_wide |= usize::from(depth) > MAX_FIELDS;
        let text = self.text.get(start as usize..).and_then(|text| text.get(..length.into()));
        let is_escaped = |&byte: &u8| byte < b' ' || byte == b'"' || byte == b'\\';
        let is_plain = text.is_some_and(|text| !text.iter().any(is_escaped));
        let mut list =
            KeyList { parent: node, key, start, length, is_plain, depth, ..KeyList::default() };
        if parent.children < FEW_CHILDREN {
            parent.children += 1;
            list.sibling = core::mem::replace(&mut parent.last, child);
        } else {
            self.put_in_index(node, key, child)?;
        }
        self.lists.push(list);
        Ok(child)
    }

    #[inline(never)]
    fn put_in_index(&mut self, node: u32, key: u32, child: u32) -> Result<()> {
        self.list_index.make_room()?;
        self.lists[node as usize].children = FEW_CHILDREN + 1;
        let hash = self.list_index.hash((node, key));
        if let Err(place) = self.list_index.find(hash, |_| false) {
            self.list_index.put(place, hash, child);
        }
        Ok(())
    }

    /// The key list of `node` and one key more.
    pub(super) fn longer_list(&mut self, node: u32, key: u32) -> Result<u32> {
        let child = match self.find_child(node, key) {
            Some(child) => child,
            None => self.add_child(node, key)?,
        };
        self.use_list(child);
        Ok(child)
    }

    /// The number of the key of this text. A new key is marked as the object's own.
    #[inline]
    fn key_number(&mut self, text: &[u8], own: u32) -> Result<KeyNumber> {
        self.index.make_room()?;
        let hash = self.index.hash_text(text);
        let found = self.index.find(hash, |number| {
            let key = &self.keys[number as usize];
            let start = key.start as usize;
            key.length as usize == text.len()
                && self.text.get(start..start + text.len()).is_some_and(|key| equal(key, text))
        });
        let place = match found {
            Ok(number) => return Ok(KeyNumber::Before(number)),
            Err(place) => place,
        };
        let number = self.keys.len() as u32;
        make_room(&mut self.keys)?;
        make_room_for(&mut self.text, text.len())?;
        self.index.put(place, hash, number);
        let (start, length) = (self.text.len() as u32, text.len() as u8);
        let fingerprint = Needle::new(text).fingerprint;
        self.keys.push(KeyText { start, user: own, written: 0, length, fingerprint });
        self.text.extend_from_slice(text);
        Ok(KeyNumber::Now(number))
    }

    /// Writes a shape for every leaf of the trie that records need, patches the
    /// records, and returns the newest shape.
    pub(super) fn write_shapes<S: Storage>(&mut self, out: &mut Output<S>) -> Result<u32> {
        if self.has_kept_shapes(out.used) {
            return self.write_kept_shapes(out);
        }
        let start = out.used;
        self.kept.lists.clear();
        // Children come after parents: one pass backwards finds, for each list, the first child
        // below which there are records.
        let mut at = self.used;
        while at != 0 {
            let node = &mut self.lists[at as usize];
            node.child = 0;
            self.keys[node.key as usize].written = 0;
            at = node.link;
        }
        let (mut at, mut behind) = (self.used, 0);
        while at != 0 {
            let node = &mut self.lists[at as usize];
            let before = core::mem::replace(&mut node.link, behind);
            if !node.is_wide() && (node.records != 0 || node.child != 0) {
                let parent = node.parent;
                self.lists[parent as usize].child = at;
            }
            (behind, at) = (at, before);
        }
        self.used = behind;
        let (mut newest, mut next) = (0, self.used);
        while next != 0 {
            let list = next;
            let leaf = &self.lists[list as usize];
            next = leaf.link;
            if leaf.child != 0 || leaf.records == 0 {
                continue;
            }
            let older = newest;
            let shape = self.write_shape(out, list, older)?;
            newest = shape.offset as u32;
            // The shape serves the leaf, and each ancestor whose first needed child leads to it.
            let (mut at, mut users) = (list, 0u8);
            loop {
                let node = &mut self.lists[at as usize];
                users = users.saturating_add(node.count);
                link_records(out, node.records, newest)?;
                // From here on it stands for the shape.
                node.records = newest;
                // A wide shape serves its own list alone.
                let parent = node.parent;
                if parent == 0 || self.lists[parent as usize].child != at {
                    break;
                }
                at = parent;
            }
            if users == 1 {
                Shape { flags: SHAPE_PRIVATE, ..shape }.write_header(out, older);
            }
        }
        let is_small = self.lists.len() <= MOST_KEPT_LISTS && out.used - start <= MOST_KEPT_SHAPES;
        let keeps = newest != 0 && is_small && !self.has_wide;
        // Without memory to keep them, the next document writes its own.
        if keeps && self.keep_shapes(out, start, newest).is_err() {
            self.kept.lists.clear();
        }
        Ok(newest)
    }

    /// Whether the shapes are those of the document before, if they begin here.
    fn has_kept_shapes(&self, start: usize) -> bool {
        let (mut at, kept) = (self.used, &self.kept);
        if kept.lists.is_empty() || start % 8 != kept.start as usize % 8 {
            return false;
        }
        for kept in kept.lists.iter().rev() {
            let node = &self.lists[at as usize];
            if kept.list != at || kept.count != node.count.min(2) {
                return false;
            }
            at = node.link;
        }
        at == 0
    }

    /// Writes the kept shapes, and patches the records.
    fn write_kept_shapes<S: Storage>(&self, out: &mut Output<S>) -> Result<u32> {
        let kept = &self.kept;
        let (start, place) = out.grow(kept.bytes.len())?;
        place.copy_from_slice(&kept.bytes);
        let by = start.wrapping_sub(kept.start);
        for &at in &kept.offsets {
            let place = &mut place[at as usize..][..4];
            let offset = load_u32(place, 0)?.wrapping_add(by);
            place.copy_from_slice(&offset.to_le_bytes());
        }
        for kept in kept.lists.iter().filter(|kept| kept.count > 0) {
            let records = self.lists[kept.list as usize].records;
            link_records(out, records, kept.shape.wrapping_add(by))?;
        }
        Ok(kept.newest.wrapping_add(by))
    }

    /// Keeps the shapes that were written from `start` on. The records of a list are its shape now,
    /// and links lead from the first list on.
    fn keep_shapes<S: Storage>(
        &mut self,
        out: &Output<S>,
        start: usize,
        newest: u32,
    ) -> Result<()> {
        let (kept, bytes) = (&mut self.kept, out.bytes());
        (kept.start, kept.newest) = (start as u32, newest);
        kept.bytes.clear();
        make_room_for(&mut kept.bytes, out.used - start)?;
        kept.bytes.extend_from_slice(&bytes[start..out.used]);
        kept.offsets.clear();
        let mut next = newest;
        while next != 0 {
            let shape = Shape::load(bytes, next.into())?;
            let older = shape.offset + SHAPE_OLDER as u64;
            next = load_u32(bytes, older)?;
            make_room_for(&mut kept.offsets, 1 + shape.count as usize)?;
            if next != 0 {
                kept.offsets.push(older as u32 - kept.start);
            }
            for key in (0..shape.count).map(|index| shape.key_position(index)) {
                if span_inline(load_u64(bytes, key)?).is_none() {
                    kept.offsets.push(key as u32 - kept.start);
                }
            }
        }
        let mut list = self.used;
        while list != 0 {
            let node = &self.lists[list as usize];
            make_room(&mut kept.lists)?;
            kept.lists.push(KeptList { list, shape: node.records, count: node.count.min(2) });
            list = node.link;
        }
        Ok(())
    }

    /// Puts the keys of a list into `path`.
    pub(super) fn find_path(&mut self, list: u32) {
        self.path.clear();
        path(&self.lists, list, &mut self.path);
    }

    fn write_shape<S: Storage>(
        &mut self,
        out: &mut Output<S>,
        list: u32,
        older: u32,
    ) -> Result<Shape> {
        self.find_path(list);
        let leaf = self.lists[list as usize];
        // Text of long keys first, so that the shape is whole.
        for &number in &self.path {
            let key = &mut self.keys[number as usize];
            let (start, length) = (key.start as usize, key.length as usize);
            if length > MAX_INLINE && key.written == 0 {
                let (offset, place) = out.grow(length)?;
                copy(place, &self.text[start..start + length]);
                key.written = offset;
            }
        }
        out.align();
        let count = u32::from(leaf.depth);
        let (offset, _) = out.grow(shape_size(count) as usize)?;
        let shape = Shape::new(offset.into(), count, count, 0);
        shape.write_header(out, older);
        if shape.is_wide() {
            self.write_order(out, shape)?;
        }
        for (index, &number) in (0..).zip(&self.path) {
            let key = &self.keys[number as usize];
            let cell = match key.written {
                0 => inline_span(&self.text[key.start as usize..][..key.length as usize]),
                offset => span_at(offset, key.length.into(), false),
            };
            match shape.is_wide() {
                true => out.write_u64(shape.key_position(index), cell),
                false => {
                    put_key(out, shape, index, cell, key.fingerprint);
                }
            }
        }
        Ok(shape)
    }

    /// Writes the order of a wide shape's keys, which are those of the path.
    fn write_order<S: Storage>(&self, out: &mut Output<S>, shape: Shape) -> Result<()> {
        let mut order = vec_for(self.path.len())?;
        order.extend(0..shape.count);
        let text = |index: u32| {
            let key = &self.keys[self.path[index as usize] as usize];
            &self.text[key.start as usize..][..key.length as usize]
        };
        order.sort_unstable_by(|&a, &b| text(a).cmp(text(b)));
        for (place, number) in (0..).zip(order) {
            shape.put_in_order(out, place, number);
        }
        Ok(())
    }
}
