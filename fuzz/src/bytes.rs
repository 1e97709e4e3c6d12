//! Any bytes: opened, walked, validated, printed, copied, edited.
//!
//! Every answer is a value or an error; nothing panics, hangs or reads outside.
//! What validates must be right in every answer and stay valid under edits.

use crate::fresh::{self, Fresh};
use crate::input::Input;
use crate::json;
use crate::note;
use crate::samples;
use crate::shadow::Shadow;
use crate::tree::{Budget, Tree};
use crate::walk;
use livebuf::{
    Doc, DocBuf, Editor, EncodeOptions, ErrorKind, Kind, Limits, New, NodeId, Storage, Valid,
    VecStorage,
};

/// What a case may cost.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Elements that a walk visits.
    pub walk: usize,
    /// Edits made on each copy.
    pub edits: usize,
}

impl Effort {
    /// For fuzzers.
    pub const FULL: Effort = Effort { walk: 20_000, edits: 12 };
}

/// The first byte chooses: the rest as it is, or damage to a sound document.
///
/// # Panics
/// Where the library does what it must not.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let choice = input.byte();
    if choice < 40 {
        return attack(input.rest(), &mut input.clone(), Effort::FULL);
    }
    let mut bytes = if choice < 180 {
        let all = samples::all();
        all[usize::from(choice) % all.len()].1.clone()
    } else {
        let length = usize::from(input.byte());
        let mut first = Input::new(input.take(length));
        let mut doc = fresh::tree(&mut first, 3).to_document();
        if choice >= 220 {
            edit(&mut doc, &mut first, 12, true);
        }
        doc.to_vec()
    };
    // Few changes leave most of the document sound.
    for _ in 0..input.below(5) {
        damage(&mut bytes, &mut input);
    }
    attack(&bytes, &mut input, Effort::FULL);
}

/// Changes some bytes.
pub fn damage(bytes: &mut Vec<u8>, input: &mut Input<'_>) {
    let length = bytes.len();
    if length == 0 {
        return;
    }
    let choice = input.byte() % 16;
    // Half of the changes in the first words, where structure is.
    let at =
        if input.one_in(4) { input.below(64) } else { usize::from(input.word()) } % length.max(1);
    let word = at & !3;
    let mut put = |value: u32| {
        if let Some(place) = bytes.get_mut(word..word + 4) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    };
    match choice {
        0 => put(u32::from(input.byte())),
        1 => put(u32::from(input.word()) & !7),
        2 => put(u32::MAX - u32::from(input.byte())),
        3 => put((length as u32).wrapping_sub(u32::from(input.byte()))),
        4 => put(input.long() as u32),
        5..=7 => {
            let from = (usize::from(input.word()) % length.max(1)) & !7;
            if let Some(eight) = bytes.get(from..from + 8).map(<[u8]>::to_vec)
                && let Some(place) = bytes.get_mut((at & !7)..(at & !7) + 8)
            {
                place.copy_from_slice(&eight);
            }
        }
        8 => {
            bytes.truncate(at);
        }
        9 => {
            bytes.extend_from_slice(&[input.byte(); 8]);
            let used = bytes.len() as u32 & !7;
            if let Some(place) = bytes.get_mut(20..24) {
                place.copy_from_slice(&used.to_le_bytes());
            }
        }
        10..=12 => bytes[at] ^= 1 << (input.byte() % 8),
        13 => bytes[at] = bytes[at].wrapping_add(1),
        _ => bytes[at] = input.byte(),
    }
}

/// Does everything to some bytes; decisions about edits come from `input`.
///
/// # Panics
/// Where the library does what it must not.
pub fn attack(bytes: &[u8], input: &mut Input<'_>, effort: Effort) {
    let opened = Doc::open(bytes);
    for length in [bytes.len(), bytes.len() / 2, 32] {
        if let Ok(doc) = Doc::open_partial(bytes.get(..length).unwrap_or(bytes)) {
            walk::checked(doc, effort.walk / 8);
        }
    }
    let Ok(doc) = opened else {
        assert!(DocBuf::from_bytes_unvalidated(bytes).is_err(), "opened, but only by an editor");
        return;
    };
    note(|| format!("bytes {:02x?}\nwhich are {:?}", doc.as_bytes(), doc.validate().map(drop)));
    walk::checked(doc, effort.walk);
    json::printed(doc, None);
    copies(doc, effort);
    match doc.validate() {
        Ok(valid) => sound(valid, input, effort),
        Err(error) => {
            assert_eq!(doc.stats().expect_err("damaged").kind(), error.kind());
            assert!(doc.validate_in(&mut []).is_err());
        }
    }
    foreign(doc, input, effort);
}

/// Bounds for copies of damaged documents, which may hold one thing many times.
fn limits(effort: Effort) -> Limits {
    let mut limits = Limits::default();
    limits.document = 1 << 20;
    limits.budget = effort.walk as u64;
    limits
}

/// Copies into a trusted document never damage it.
fn copies(doc: Doc<'_>, effort: Effort) {
    let mut target = DocBuf::new().expect("memory");
    target.set_limits(limits(effort));
    let root = target.set_root(New::array(2)).expect("room").expect("a container");
    let before = target.to_vec();
    let copied = target.push(root, doc.root());
    if copied.is_err() {
        assert!(before == target.as_bytes(), "a failed copy changed the document");
    }
    let valid = target.doc().validate().unwrap_or_else(|error| panic!("copied {error:?}"));
    if copied.is_ok() {
        let copy = Tree::of_valid(valid.root().get(0usize).expect("there"));
        let mut budget = Budget { values: effort.walk, depth: 1_001 };
        if let Ok(tree) = Tree::read(doc.root(), &mut budget) {
            // Damage may make keys equal, of which a copy keeps one. And it may make the count of a
            // row's further members too small: a copy has them all.
            let same = copy.begins_with(&tree) || tree.has_reserved() || tree.repeats_keys();
            assert!(same, "a copy differs");
        }
    }
    let mut buffer = [0xA5; 512];
    if let Ok(length) = doc.compact_into(&mut buffer) {
        let compact = Doc::open(&buffer[..length]).expect("a document");
        compact.validate().expect("compact documents are valid");
    }
    let options = EncodeOptions { limits: limits(effort), ..EncodeOptions::default() };
    if let Ok(compacted) = doc.compacted_with(options) {
        compacted.doc().validate().expect("compacted documents are valid");
    }
    let _ = doc.root().deep_eq(doc.root(), &mut (effort.walk as u64));
}

/// A document that validates.
fn sound(doc: Doc<'_, Valid>, input: &mut Input<'_>, effort: Effort) {
    let tree = walk::valid(doc);
    let stats = doc.stats().expect("valid");
    let parts = stats.overhead
        + stats.shapes
        + stats.records
        + stats.maps
        + stats.index
        + stats.arrays
        + stats.tables
        + stats.text
        + stats.free
        + stats.garbage;
    assert_eq!(parts, stats.used, "stats sum up");
    assert_eq!(stats.values, tree.count() as u64, "count of values");
    assert_eq!(stats.depth, tree.height() as u64, "depth");
    walk::regions(doc.checked(), false);
    json::printed(doc.checked(), Some(&tree));
    match doc.compacted() {
        Ok(once) => {
            let again = Tree::of_valid(once.valid().expect("ours").root());
            assert!(tree.same(&again), "compaction changed the value");
            let twice = once.doc().compacted().expect("compacted");
            assert!(once.as_bytes() == twice.as_bytes(), "compaction is not stable");
            let equal = doc.root().deep_eq(once.doc().root(), &mut u64::MAX.clone());
            assert_eq!(equal, Ok(true), "deep equality");
        }
        // Depth beyond the default limit, or a kind of value that cannot be encoded.
        Err(error) => assert!(tree.has_reserved() || tree.height() > 1000, "{error:?}"),
    }
    let mut doc = match DocBuf::from_bytes_unvalidated(doc.as_bytes()) {
        Ok(doc) => doc,
        // A flag says that unaware editors must not edit it.
        Err(error) => return assert_eq!(error.kind(), ErrorKind::ReadOnly),
    };
    doc.validate().expect("valid");
    edit(&mut doc, input, effort.edits, true);
}

/// Edits by an editor that does not trust the document.
fn foreign(doc: Doc<'_>, input: &mut Input<'_>, effort: Effort) {
    const SLACK: usize = 512;
    let mut buffer = doc.as_bytes().to_vec();
    buffer.resize(buffer.len() + SLACK, 0xA5);
    if let Ok(mut editor) = Editor::open_unvalidated(&mut buffer[..]) {
        Shadow::listen(&mut editor);
        editor.set_limits(limits(effort));
        edit(&mut editor, &mut input.clone(), effort.edits, false);
        let used = editor.as_bytes().len();
        let shadow: &Shadow = editor.listener().expect("a shadow listens");
        let copy = shadow.copy(editor.storage().bytes());
        assert!(copy[..used] == *editor.as_bytes(), "the replayed changes differ");
        walk::checked(editor.doc(), effort.walk / 8);
    }
    let storage = VecStorage::from_slice(doc.as_bytes()).expect("memory");
    if let Ok(mut editor) = Editor::open_unvalidated(storage) {
        editor.set_limits(limits(effort));
        edit(&mut editor, input, effort.edits, false);
        walk::checked(editor.doc(), effort.walk / 8);
    }
}

/// Edits of every kind, whatever comes of them. On a trusted document each must
/// leave it valid; on any, one that fails leaves all used bytes as they were,
/// and none touches what it did not use.
fn edit<S: Storage>(doc: &mut Editor<S>, input: &mut Input<'_>, edits: usize, trusted: bool) {
    assert_eq!(doc.is_trusted(), trusted);
    // Handles that were taken of a damaged document, which edits may repair: those of containers that
    // nothing leads to then must be stale.
    let mut held = containers(doc, 24);
    for step in 0..edits {
        if input.is_empty() && step > 2 {
            return;
        }
        if !doc.is_trusted() && input.one_in(3) && doc.validate().is_ok() && step == 0 {
            // Nobody has edited it, so each handle is that of a container which the document has.
            let stale = held.iter().find(|&&node| !doc.is_current(node));
            assert!(
                stale.is_none(),
                "stale: {stale:?} = {:?}",
                stale.map(|&node| doc.value(node).map(|v| v.kind()))
            );
        }
        let before = doc.storage().bytes().to_vec();
        let used = doc.as_bytes().len();
        let done = edit_once(doc, input, &mut held);
        let after = doc.storage().bytes();
        if let Err(error) = done {
            let same = before[..used] == *doc.as_bytes();
            assert!(same, "an edit failed with {error:?}, but changed used bytes");
        }
        let behind = used.max(doc.as_bytes().len());
        let untouched = after[behind..]
            .iter()
            .zip(before.iter().skip(behind).chain(std::iter::repeat(&0)))
            .all(|(&now, &then)| now == then || now == 0);
        assert!(untouched, "bytes behind the document were written");
        // Trusted from the beginning, or since it was validated, as some edits do by themselves.
        if doc.is_trusted() {
            let answer = doc.doc().validate().map(|_| ());
            assert_eq!(answer, Ok(()), "an edit damaged a valid document");
        }
    }
}

/// Handles of the first containers of a document, as far as they can be had.
fn containers<S: Storage>(doc: &Editor<S>, most: usize) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = doc.root_id().into_iter().collect();
    let mut next = 0;
    while let Some(&node) = nodes.get(next)
        && nodes.len() < most
    {
        next += 1;
        let Ok(value) = doc.value(node) else { continue };
        let keys: Vec<_> = match value.as_object() {
            Ok(Some(object)) => object.keys().take(8).flatten().collect(),
            _ => Vec::new(),
        };
        nodes.extend(keys.iter().filter_map(|&key| doc.child(node, key).ok().flatten()));
        if value.kind() == Kind::Array {
            nodes.extend((0..8usize).filter_map(|at| doc.child(node, at).ok().flatten()));
        }
    }
    nodes
}

fn edit_once<S: Storage>(
    doc: &mut Editor<S>,
    input: &mut Input<'_>,
    held: &mut Vec<NodeId>,
) -> livebuf::Result<()> {
    let choice = input.byte();
    let node = match doc.root_id() {
        _ if choice.is_multiple_of(7) && !held.is_empty() => held[input.below(held.len())],
        Some(root) => descend(doc, root, input),
        None => {
            held.extend(Fresh::decode(input).with_new(|new| doc.set_root(new))?);
            return Ok(());
        }
    };
    held.push(node);
    let fresh = Fresh::decode(input);
    let (index, key) = (input.below(12), some_key(doc, node, input));
    let is_array = doc.value(node)?.kind() == Kind::Array;
    note(|| format!("{node:?} array {is_array}: {} of {key:?} or {index}, {fresh:?}", choice % 20));
    match choice % 20 {
        0..=3 if is_array => {
            fresh.with_new(|new| doc.set(node, index, new)).map(|node| held.extend(node))
        }
        4 | 5 if is_array => {
            fresh.with_new(|new| doc.push(node, new)).map(|node| held.extend(node))
        }
        6 if is_array => fresh.with_new(|new| doc.insert(node, index, new)).map(drop),
        7 if is_array => doc.pop(node).map(drop),
        8 if is_array => doc.swap(node, index, input.below(12)),
        9 if is_array => doc.truncate(node, index),
        10 | 11 if is_array => doc.remove(node, index).map(drop),
        12 if is_array => match doc.detach(node, index)? {
            Some(detached) => reattach(doc, detached, input),
            None => Ok(()),
        },
        0..=5 => fresh.with_new(|new| doc.set(node, &*key, new)).map(|node| held.extend(node)),
        6..=8 => doc.remove(node, &*key).map(drop),
        9 | 10 => doc.rename(node, &key, &fresh::key(input)),
        11 | 12 => match doc.detach(node, &*key)? {
            Some(detached) => reattach(doc, detached, input),
            None => Ok(()),
        },
        13 => doc.clear(node),
        14 if index % 2 == 0 => doc.order(node),
        14 => doc.reserve(node, index * 3),
        15 => fresh.with_new(|new| doc.set_root(new)).map(|node| held.extend(node)),
        16 => fresh.with_new(|new| doc.set_pointer(&format!("/{key}/0"), new)).map(drop),
        17 => doc.remove_pointer(&format!("/{index}/{key}")).map(drop),
        18 => {
            doc.set_wipe(input.one_in(2));
            Ok(())
        }
        // In place only where it is ours: damaged documents may unfold to much.
        _ if doc.is_trusted() => doc.compact(),
        _ => {
            for _ in 0..20 {
                let _ = doc.push(node, 1);
                let _ = doc.set(node, &*format!("k{}", input.byte()), 1);
            }
            Ok(())
        }
    }
}

/// Hangs a detached value somewhere or discards it, or fails like any edit, the document as it was
/// since it was detached.
fn reattach<S: Storage>(
    doc: &mut Editor<S>,
    detached: livebuf::Detached,
    input: &mut Input<'_>,
) -> livebuf::Result<()> {
    let before = doc.as_bytes().to_vec();
    let done = match doc.root_id() {
        _ if input.one_in(2) => doc.discard(detached),
        Some(root) if doc.value(root).is_ok_and(|root| root.kind() == Kind::Array) => {
            doc.push(root, &detached).map(drop)
        }
        Some(root) => doc.set(root, "hung again", &detached).map(drop),
        None => doc.set_root(&detached).map(drop),
    };
    if done.is_err() {
        assert!(before == doc.as_bytes(), "a failed edit changed used bytes");
    }
    // The detaching before was an edit of its own.
    Ok(())
}

/// A container some way down.
fn descend<S: Storage>(doc: &Editor<S>, mut node: NodeId, input: &mut Input<'_>) -> NodeId {
    for _ in 0..4 {
        if input.one_in(3) {
            break;
        }
        let index = input.below(8);
        let Ok(value) = doc.value(node) else { break };
        let child = match value.kind() {
            Kind::Array => doc.child(node, index),
            _ => {
                let object = value.as_object().ok().flatten();
                let key = object.and_then(|object| object.keys().flatten().nth(index));
                match key {
                    Some(key) => doc.child(node, key),
                    None => break,
                }
            }
        };
        match child {
            Ok(Some(child)) => node = child,
            _ => break,
        }
    }
    node
}

/// A key that may be there.
fn some_key<S: Storage>(doc: &Editor<S>, node: NodeId, input: &mut Input<'_>) -> String {
    let index = input.below(10);
    let there = doc.value(node).ok().and_then(|value| {
        let object = value.as_object().ok().flatten()?;
        object.keys().flatten().nth(index).map(str::to_owned)
    });
    match there {
        Some(key) if input.one_in(2) => key,
        _ => fresh::key(input),
    }
}
