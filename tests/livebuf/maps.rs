//! Maps: their indexes, the order of keys, and keys that collide on purpose.

use livebuf::{Doc, DocBuf, Editor, Encoder, ErrorKind, New, NodeId, RegionKind, Result, json};
use livebuf_fuzz::fresh::colliding;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Whether a document's maps have a tree, and a hash block.
fn indexes(doc: &DocBuf) -> (bool, bool) {
    let (mut tree, mut hash) = (false, false);
    doc.doc()
        .regions(|region| {
            tree |= region.kind == RegionKind::Node;
            hash |= region.kind == RegionKind::Hash;
        })
        .unwrap();
    (tree, hash)
}

fn map_of(count: usize) -> (DocBuf, NodeId) {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::Map { capacity: 0 }).unwrap().unwrap();
    for number in 0..count {
        doc.set(root, &*format!("key {}", number * 7 % count), number as i64).unwrap();
    }
    (doc, root)
}

#[test]
fn maps_get_the_indexes_that_they_need() {
    for (count, hash) in [(0, false), (1, false), (16, false), (17, true), (300, true)] {
        let (mut doc, root) = map_of(count);
        assert_eq!(indexes(&doc), (false, hash), "{count}");
        doc.order(root).unwrap();
        assert_eq!(indexes(&doc), (count > 0, hash), "{count}");
        doc.set(root, "another key", 1).unwrap();
        assert_eq!(indexes(&doc).0, count > 0, "{count}");
        // An encoder makes none again.
        assert!(!indexes(&doc.valid().unwrap().compacted().unwrap()).0);
        // Nothing is left of it without members.
        for number in 0..count {
            assert!(doc.remove(root, &*format!("key {number}")).unwrap());
        }
        assert!(doc.remove(root, "another key").unwrap());
        assert_eq!(indexes(&doc), (false, false), "{count}");
    }
    let mut doc = json!({"a": 1, "l": [1]});
    let root = doc.root_id().unwrap();
    doc.order(root).unwrap();
    let list = doc.find("/l").unwrap().unwrap();
    assert_eq!(doc.order(list).unwrap_err().kind(), ErrorKind::WrongType);
}

/// Ranges of maps with a tree and without.
#[test]
fn ranges_are_those_of_a_sorted_map() {
    for (count, ordered) in [(5, false), (16, false), (17, false), (400, false), (400, true)] {
        let (mut doc, root) = map_of(count);
        if count > 10 {
            doc.remove(root, "key 3").unwrap();
        }
        if ordered {
            doc.order(root).unwrap();
        }
        let valid = doc.valid().unwrap();
        let object = valid.root().as_object().unwrap();
        let sorted: BTreeMap<&str, i64> =
            object.iter().map(|(key, value)| (key, value.as_i64().unwrap())).collect();
        let bounds = ["", "key", "key 1", "key 12", "key 2", "key 399", "l"];
        for low in bounds {
            for high in bounds.into_iter().filter(|high| *high >= low) {
                let range = (Bound::Excluded(low), Bound::Included(high));
                if low == high {
                    continue;
                }
                let expected: Vec<_> = sorted.range::<str, _>(range).map(|(key, _)| *key).collect();
                let mut found: Vec<_> = object.range(range).map(|(key, _)| key).collect();
                assert_eq!(found, expected);
                found = object.range(range).rev().map(|(key, _)| key).collect();
                found.reverse();
                assert_eq!(found, expected);
                // From both ends.
                let (mut both, mut front, mut back) = (object.range(range), vec![], vec![]);
                while let Some((key, _)) = both.next() {
                    front.push(key);
                    back.extend(both.next_back().map(|(key, _)| key));
                }
                front.extend(back.into_iter().rev());
                assert_eq!(front, expected);
            }
            let begin: Vec<_> = object.prefix(low).map(|(key, _)| key).collect();
            let expected = sorted.keys().filter(|key| key.starts_with(low));
            assert!(begin.iter().eq(expected));
        }
        assert_eq!(object.first().unwrap().0, *sorted.keys().next().unwrap());
        assert_eq!(object.last().unwrap().0, *sorted.keys().next_back().unwrap());
    }
}

/// Looks all of these keys up, and validates.
fn check(bytes: &[u8], there: &[String], gone: &[String]) {
    let valid = Doc::open(bytes).unwrap().validate().unwrap();
    let object = valid.root().as_object().unwrap();
    assert_eq!(object.len(), there.len());
    for key in there {
        assert!(object.contains_key(key.as_str()), "{key}");
    }
    assert!(gone.iter().all(|key| !object.contains_key(key.as_str())));
    let mut sorted = there.to_vec();
    sorted.sort_unstable();
    assert!(object.range(..).map(|(key, _)| key).eq(sorted));
}

/// An attacker chooses keys of one hash: a tree is made of them, by whatever way they come.
#[test]
fn keys_that_collide_get_a_tree() {
    let keys = colliding();
    let (few, others) = keys.split_at(200);
    // Encoded.
    let mut encoder = Encoder::new();
    let text: Vec<_> = few.iter().map(|key| format!("{}:1", json_string(key))).collect();
    encoder.begin_object().unwrap();
    for number in 0..60 {
        encoder.key(&format!("{number}")).unwrap();
        encoder.null().unwrap();
    }
    for key in few {
        encoder.key(key).unwrap();
        encoder.null().unwrap();
    }
    encoder.end_object().unwrap();
    let encoded = encoder.finish().unwrap();
    let there: Vec<_> = (0..60).map(|n| n.to_string()).chain(few.iter().cloned()).collect();
    assert_eq!(indexes(&encoded), (true, true));
    check(encoded.as_bytes(), &there, others);
    // From JSON, into a record, which becomes a map with one more.
    let record = format!("{{{}}}", text.join(","));
    let mut doc = livebuf_json::from_slice(record.as_bytes()).unwrap();
    assert_eq!(indexes(&doc), (false, false));
    let root = doc.root_id().unwrap();
    let long = "k".repeat(300);
    doc.set(root, &*long, 1).unwrap();
    assert_eq!(indexes(&doc), (true, true));
    let mut there = few.to_vec();
    there.push(long.clone());
    check(doc.as_bytes(), &there, others);
    // Renamed to one.
    let mut doc = livebuf_json::from_slice(record.as_bytes()).unwrap();
    doc.rename(doc.root_id().unwrap(), few[0].as_str(), &long).unwrap();
    let mut there = few[1..].to_vec();
    there.push(long.clone());
    check(doc.as_bytes(), &there, &few[..1]);
    // One by one, in a map, with others between them; and out again.
    let (mut doc, root) = map_of(0);
    for (number, key) in few.iter().enumerate() {
        doc.set(root, key.as_str(), number as i64).unwrap();
    }
    assert_eq!(indexes(&doc), (true, true));
    check(doc.as_bytes(), few, others);
    for key in &few[..150] {
        assert!(doc.remove(root, key.as_str()).unwrap());
    }
    check(doc.as_bytes(), &few[150..], &few[..150]);
    // A value with all, and copies of documents and values.
    let there: Vec<_> = few.iter().cloned().chain((0..60).map(|n| n.to_string())).collect();
    let fields: Vec<_> = there.iter().map(|key| (key.as_str(), New::Int(1))).collect();
    let mut doc = json!({});
    doc.set_root(New::Fields(&fields)).unwrap();
    assert_eq!(indexes(&doc), (true, true));
    check(doc.as_bytes(), &there, others);
    let mut copy = json!(null);
    copy.set_root(doc.doc()).unwrap();
    check(copy.as_bytes(), &there, others);
    check(doc.valid().unwrap().compacted().unwrap().as_bytes(), &there, others);
    // Equal keys among them.
    let twice = format!("{{{0},{0},\"{long}\":1}}", text.join(","));
    let doc = livebuf_json::from_slice(twice.as_bytes()).unwrap();
    let mut there = few.to_vec();
    there.push(long);
    check(doc.as_bytes(), &there, others);
}

fn json_string(text: &str) -> String {
    livebuf_json::to_string(json!(text).doc().root()).unwrap()
}

/// A renamed entry, and values in an array: no place in the block.
#[test]
fn keys_that_collide_by_renaming_get_a_tree() {
    let keys = colliding();
    let row = |key: &str, n: usize| format!("{}:{{\"n\":{n}}}", json_string(key));
    let long = "k".repeat(256);
    let rows: Vec<_> = (0..300).map(|n| row(&n.to_string(), n)).chain([row(&long, 0)]).collect();
    let mut doc = livebuf_json::from_slice(format!("{{{}}}", rows.join(",")).as_bytes()).unwrap();
    let root = doc.root_id().unwrap();
    for (number, key) in keys.iter().take(200).enumerate() {
        doc.rename(root, number.to_string().as_str(), key).unwrap();
    }
    assert_eq!(indexes(&doc), (true, true));
    let there = keys[..200].iter().cloned().chain((200..300).map(|n| n.to_string()));
    let there: Vec<_> = there.chain([long]).collect();
    check(doc.as_bytes(), &there, &keys[200..]);
}

/// A buffer that is full refuses an edit as a whole, wherever the room ends.
#[test]
fn a_full_buffer_refuses_colliding_keys() {
    let keys = &colliding()[..230];
    let mut memory = vec![0; 64 << 10];
    for room in (12_000..30_000).step_by(1_111) {
        let mut doc = Editor::create(&mut memory[..room]).unwrap();
        let root = doc.set_root(New::Map { capacity: 0 }).unwrap().unwrap();
        let fill = |doc: &mut Editor<&mut [u8]>| -> Result<usize> {
            for (number, key) in keys.iter().enumerate() {
                match doc.set(root, key.as_str(), number as i64) {
                    Err(error) if error.kind() == ErrorKind::NoSpace => return Ok(number),
                    done => done?,
                };
            }
            Ok(keys.len())
        };
        let filled = fill(&mut doc).unwrap();
        check(doc.as_bytes(), &keys[..filled], &keys[filled..]);
        if filled > 0 {
            assert!(doc.remove(root, keys[0].as_str()).unwrap());
            check(doc.as_bytes(), &keys[1..filled], &keys[filled..]);
        }
    }
}

/// A map of a key of a megabyte and 20,000 short ones, and where its keys lie.
fn one_long_key(ordered: bool) -> (Vec<u8>, usize) {
    let long = "k".repeat(1 << 20);
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::Map { capacity: 0 }).unwrap().unwrap();
    doc.set(root, &*long, ()).unwrap();
    for number in 0..20_000 {
        doc.set(root, &*format!("{number:05}"), ()).unwrap();
    }
    if ordered {
        doc.order(root).unwrap();
    }
    let bytes = doc.to_vec();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let keys = word(word(8) + 20);
    (bytes, keys)
}

/// In a document that nobody validated, each of many entries has one long key: sorting them would
/// take hours.
#[test]
fn many_entries_of_one_long_key_are_not_sorted() {
    let (mut bytes, keys) = one_long_key(false);
    // The cell of the long key over those of the others.
    for number in 1..20_001 {
        bytes.copy_within(keys..keys + 8, keys + 8 * number);
    }
    let doc = Doc::open(&bytes).unwrap();
    let object = doc.root().as_object().unwrap().unwrap();
    let error = object.range(..).next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overlap);
    assert!(object.first().is_err() && object.prefix("k").nth(1).is_none());
    let mut editor = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
    let root = editor.root_id().unwrap();
    assert_eq!(editor.order(root).unwrap_err().kind(), ErrorKind::Overlap);
    assert!(doc.validate().is_err());
}

/// Bug: the keys of a map were compared before it was known whether their texts lie over one
/// another. So ten megabytes, in which each key is an end of one long text, took half a minute to
/// validate.
#[test]
fn keys_are_compared_once_it_is_known_that_they_lie_apart() {
    let (mut bytes, keys) = one_long_key(true);
    let text = u32::from_le_bytes(bytes[keys..keys + 4].try_into().unwrap());
    // Longer and longer ends of the long key, which is the last one in the tree.
    for number in 1..20_001u32 {
        let (length, at) = (8 + number, keys + 8 * number as usize);
        let cell = [text + (1 << 20) - length, length | 1 << 30];
        bytes[at..at + 8].copy_from_slice(&cell.map(u32::to_le_bytes).concat());
    }
    let doc = Doc::open(&bytes).unwrap();
    assert_eq!(doc.validate().unwrap_err().kind(), ErrorKind::Overlap);
}
