//! One rule for handles in every layout: stale when their own container is gone, and only
//! then. Each test runs on arrays of records and on tables, which are not to be told apart.

use livebuf::{DocBuf, Editor, EncodeOptions, Encoder, ErrorKind, New, NodeId, Value, json};

/// Ten objects with an object and a list each, as a table and as records.
fn both() -> [DocBuf; 2] {
    let mut docs = [true, false].map(|tables| {
        let options = EncodeOptions { tables, ..EncodeOptions::default() };
        let mut encoder = Encoder::with_options(options);
        encoder.begin_object().unwrap();
        encoder.key("items").unwrap();
        encoder.begin_array().unwrap();
        for id in 0..10 {
            let item = json!({"id": (id), "at": {"x": (id), "y": 1}, "tags": [(id), 1]});
            encoder.value(&item.doc().root()).unwrap();
        }
        encoder.end_array().unwrap();
        encoder.key("other").unwrap();
        encoder.value(&json!({"gone": {"a": [1]}, "kept": [1, 2]}).doc().root()).unwrap();
        encoder.end_object().unwrap();
        encoder.finish().unwrap()
    });
    let table = |doc: &DocBuf| doc.doc().stats().unwrap().table_count > 0;
    assert!(table(&docs[0]) && !table(&docs[1]));
    docs.each_mut().map(|doc| std::mem::replace(doc, DocBuf::new().unwrap()))
}

fn number(doc: &DocBuf, node: NodeId, key: &str) -> Option<i64> {
    doc.value(node).ok()?.get(key).unwrap()?.as_i64()
}

struct Items {
    doc: DocBuf,
    list: NodeId,
    items: Vec<NodeId>,
    /// Of their objects "at" and lists "tags".
    at: Vec<NodeId>,
    tags: Vec<NodeId>,
}

impl Items {
    fn of(doc: DocBuf) -> Items {
        let list = doc.find("/items").unwrap().unwrap();
        let child = |node, at: &str| doc.child(node, at).unwrap().unwrap();
        let items: Vec<_> =
            (0..10usize).map(|index| doc.child(list, index).unwrap().unwrap()).collect();
        let at = items.iter().map(|&item| child(item, "at")).collect();
        let tags = items.iter().map(|&item| child(item, "tags")).collect();
        Items { doc, list, items, at, tags }
    }

    /// All handles of these items lead to them, all others are stale.
    fn check(&self, there: &[usize]) {
        self.doc.doc().validate().unwrap();
        for id in 0..10 {
            let found = [self.items[id], self.at[id], self.tags[id]];
            let expected = there.contains(&id);
            assert_eq!(found.map(|node| self.doc.is_current(node)), [expected; 3], "item {id}");
            if expected {
                assert_eq!(number(&self.doc, self.items[id], "id"), Some(id as i64));
                assert_eq!(number(&self.doc, self.at[id], "x"), Some(id as i64));
                let first = self.doc.value(self.tags[id]).unwrap().get(0).unwrap().unwrap();
                assert_eq!(first.as_i64(), Some(id as i64));
            }
        }
    }
}

/// `remove` of one container made every handle stale, the array's own included, so a loop
/// that removes died on its second step.
#[test]
fn a_loop_that_removes() {
    for doc in both() {
        let mut items = Items::of(doc);
        let mut index = 0;
        for id in 0..10 {
            if id % 3 == 0 {
                index += 1;
            } else {
                assert!(items.doc.remove(items.list, index).unwrap());
            }
        }
        items.check(&[0, 3, 6, 9]);
    }
}

/// However many: a handle that edits use is never forgotten.
#[test]
fn a_long_loop_that_removes() {
    let count = 20_000usize;
    for tables in [true, false] {
        let lines: Vec<_> =
            (0..count).map(|id| json!({"id": (id as u64), "a": {"b": 1}})).collect();
        let mut encoder = Encoder::with_options(EncodeOptions { tables, ..Default::default() });
        encoder.begin_array().unwrap();
        lines.iter().for_each(|line| encoder.value(&line.doc().root()).unwrap());
        encoder.end_array().unwrap();
        let mut doc = encoder.finish().unwrap();
        let list = doc.root_id().unwrap();
        for _ in 0..count - 1 {
            doc.pop(list).unwrap();
        }
        assert_eq!(doc.value(list).unwrap().len().unwrap(), Some(1));
        doc.doc().validate().unwrap();
    }
}

/// `swap` kept the handles of mixed objects and made those of similar ones stale.
#[test]
fn handles_follow_their_elements() {
    for doc in both() {
        let mut items = Items::of(doc);
        items.doc.swap(items.list, 1, 8).unwrap();
        items.check(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        items.doc.insert(items.list, 0, json!({"id": 99}).doc().root()).unwrap();
        items.doc.remove(items.list, 3usize).unwrap();
        items.check(&[0, 1, 3, 4, 5, 6, 7, 8, 9]);
        // Something else among the items: a table becomes objects by themselves.
        items.doc.push(items.list, "no object").unwrap();
        items.doc.set(items.list, 4usize, ()).unwrap();
        items.check(&[0, 1, 3, 5, 6, 7, 8, 9]);
        items.doc.truncate(items.list, 9).unwrap();
        items.check(&[0, 1, 3, 5, 6, 7, 8]);
        items.doc.clear(items.list).unwrap();
        items.check(&[]);
        assert!(items.doc.is_current(items.list));
    }
}

/// Lists in a table become arrays by themselves when one changes its length.
#[test]
fn handles_of_lists_that_grow() {
    for doc in both() {
        let mut items = Items::of(doc);
        for id in [4, 4, 7] {
            items.doc.push(items.tags[id], "more").unwrap();
        }
        items.check(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        items.doc.remove(items.list, 4usize).unwrap();
        items.doc.push(items.tags[7], "more").unwrap();
        items.check(&[0, 1, 2, 3, 5, 6, 7, 8, 9]);
    }
}

/// Removing anything made handles of everything stale.
#[test]
fn other_containers_are_freed() {
    for doc in both() {
        let mut items = Items::of(doc);
        let [other, gone, deep, kept] = ["/other", "/other/gone", "/other/gone/a", "/other/kept"]
            .map(|pointer| items.doc.find(pointer).unwrap().unwrap());
        items.doc.set(other, "gone", 1).unwrap();
        items.check(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let good = [other, gone, deep, kept].map(|node| items.doc.is_current(node));
        assert_eq!(good, [true, false, false, true]);
        // Their space is used again, and they are not taken for what is there now.
        for key in ["new", "newer"] {
            items.doc.set(other, key, json!({"a": [7]}).doc().root()).unwrap();
        }
        assert!(!items.doc.is_current(gone) && !items.doc.is_current(deep));
        // A member of one item.
        items.doc.remove(items.items[3], "at").unwrap();
        assert!(!items.doc.is_current(items.at[3]) && items.doc.is_current(items.tags[3]));
        items.doc.set(items.items[5], "tags", 5).unwrap();
        assert!(items.doc.is_current(items.at[5]) && !items.doc.is_current(items.tags[5]));
    }
}

/// A map that was cleared freed the table with its members without a word: handles of its rows
/// were good, and led into whatever was put there later.
#[test]
fn handles_of_rows_of_a_map_that_is_cleared() {
    let mut encoder = Encoder::new();
    encoder.begin_object().unwrap();
    // So much that nothing is squeezed, which finds all handles another place.
    encoder.key("else").unwrap();
    encoder.str(&"x".repeat(100_000)).unwrap();
    encoder.key("rows").unwrap();
    encoder.begin_object().unwrap();
    for id in 0..300 {
        encoder.key(&format!("id {id}")).unwrap();
        encoder.value(&json!({"x": (id), "tags": [(id), 1]}).doc().root()).unwrap();
    }
    encoder.end_object().unwrap();
    encoder.end_object().unwrap();
    let mut doc = encoder.finish().unwrap();
    assert!(doc.doc().stats().unwrap().table_count > 0, "no rows");
    doc.validate().unwrap();
    let paths = ["/rows/id 0", "/rows/id 7", "/rows/id 299", "/rows/id 7/tags"];
    let held = paths.map(|path| doc.find(path).unwrap().unwrap());
    let rows = doc.find("/rows").unwrap().unwrap();
    doc.clear(rows).unwrap();
    let stale = |doc: &DocBuf| held.iter().all(|&node| !doc.is_current(node));
    assert!(stale(&doc), "cleared");
    for id in 0..300 {
        doc.set(rows, format!("id {id}").as_str(), &json!({"x": (id), "tags": [1]})).unwrap();
    }
    assert!(stale(&doc) && doc.is_current(rows), "filled again");
}

/// What is detached is still there, and so it is in its new place, as a row or by itself.
#[test]
fn handles_of_what_moves() {
    for doc in both() {
        let mut items = Items::of(doc);
        let kept = items.doc.find("/other/kept").unwrap().unwrap();
        let detached = items.doc.detach(items.list, 2usize).unwrap().unwrap();
        items.check(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        items.doc.remove(items.list, 0usize).unwrap();
        items.doc.push(kept, &detached).unwrap();
        items.check(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let detached = items.doc.detach(kept, 2usize).unwrap().unwrap();
        items.doc.insert(items.list, 1, &detached).unwrap();
        items.check(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(number(&items.doc, items.doc.find("/items/1").unwrap().unwrap(), "id"), Some(2));
        let detached = items.doc.detach(items.list, 1usize).unwrap().unwrap();
        items.doc.discard(detached).unwrap();
        items.check(&[1, 3, 4, 5, 6, 7, 8, 9]);
    }
}

/// The depth of a handle came from its parent's alone, and a container could be hung deeper
/// than the limit. Handles that know too little are led by what was hung deeper since.
#[test]
fn the_nesting_limit_holds_for_handles_of_what_moved() {
    let mut doc = json!({"chain": [], "small": {"inner": []}});
    let mut limits = doc.limits();
    limits.nesting = 12;
    doc.set_limits(limits);
    let root = doc.root_id().unwrap();
    let inner = doc.find("/small/inner").unwrap().unwrap();
    let mut last = doc.find("/chain").unwrap().unwrap();
    for _ in 0..6 {
        last = doc.push(last, New::array(1)).unwrap().unwrap();
    }
    let small = doc.detach(root, "small").unwrap().unwrap();
    doc.push(last, &small).unwrap();
    // "inner" is 10 deep now; one below may be 11 and 12, not 13.
    let below = doc.push(inner, New::array(1)).unwrap().unwrap();
    let below = doc.push(below, New::array(1)).unwrap().unwrap();
    assert_eq!(doc.push(below, New::array(1)).unwrap_err().kind(), ErrorKind::NestingLimit);
    // What did not move is not taken for deeper than it is.
    let mut shallow = doc.set(root, "shallow", New::array(1)).unwrap().unwrap();
    for _ in 2..12 {
        shallow = doc.push(shallow, New::array(1)).unwrap().unwrap();
    }
    assert_eq!(doc.push(shallow, New::array(1)).unwrap_err().kind(), ErrorKind::NestingLimit);
    doc.doc().validate().unwrap();
}

/// A handle made of a value below `under` counted as one level deeper, however deep the
/// value was: a loop nested a trusted document 100,000 deep, and freeing it ended the process.
#[test]
fn handles_of_values_are_of_children_only() {
    for doc in both() {
        let list = doc.find("/items").unwrap().unwrap();
        let root = doc.root_id().unwrap();
        let value = |pointer: &str| doc.doc().pointer(pointer).unwrap().unwrap();
        let child = |pointer: &str, parent| doc.handle_of(&value(pointer), parent);
        let row = child("/items/3", list).unwrap();
        assert_eq!(Some(row), doc.child(list, 3usize).unwrap());
        assert_eq!(child("/items/3/at", row), doc.child(row, "at").unwrap());
        assert_eq!(child("/items/3/tags", row), doc.child(row, "tags").unwrap());
        assert_eq!(child("/items", root), Some(list));
        for (pointer, parent) in [
            ("/items/3/at", root),
            ("/items/3/at", list),
            ("/items/4/at", row),
            ("/items/3", root),
            ("/items/3/tags", list),
            ("/other/kept", list),
            ("/other/kept", root),
        ] {
            assert_eq!(child(pointer, parent), None, "{pointer}");
        }
    }
}

/// Values of other rows, and of other arrays in a list, are no children either, where their
/// columns hold objects by themselves.
#[test]
fn handles_of_values_are_not_of_siblings() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(json!([{"a": 1}, {"a": 2}, {"a": 3}]).doc().root()).unwrap().unwrap();
    let lists = json!([[1, {"x": 1}], [{"y": 2}], [], [{"z": 3}, 4]]);
    let mixed = [json!({"x": 1}), json!({"y": [2]}), json!([3])];
    for (index, mixed) in mixed.iter().enumerate() {
        let row = doc.child(root, index).unwrap().unwrap();
        doc.set(row, "a", mixed.doc().root()).unwrap();
    }
    assert!(doc.doc().stats().unwrap().table_count > 0);
    for doc in [&doc, &lists] {
        let root = doc.root_id().unwrap();
        let parents: Vec<_> = (0..doc.value(root).unwrap().len().unwrap().unwrap())
            .map(|index| doc.child(root, index).unwrap().unwrap())
            .collect();
        for pointer in ["/0/a", "/1/a", "/2/a", "/0/1", "/1/0", "/3/0"] {
            let Some(value) = doc.doc().pointer(pointer).unwrap() else { continue };
            let own: usize = pointer[1..2].parse().unwrap();
            for (index, &parent) in parents.iter().enumerate() {
                let found = doc.handle_of(&value, parent);
                assert_eq!(found.is_some(), index == own, "{pointer} in {index}");
            }
        }
    }
}

/// Members of maps, and of a row what no column has.
#[test]
fn handles_of_values_in_maps_and_further_fields() {
    let mut doc = json!([{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}]);
    let root = doc.root_id().unwrap();
    let rows = [0usize, 1].map(|index| doc.child(root, index).unwrap().unwrap());
    for (row, key) in rows.into_iter().zip(["further", "other"]) {
        doc.set(row, key, New::array(0)).unwrap();
    }
    let map = doc.push(root, New::Map { capacity: 2 }).unwrap().unwrap();
    doc.set(map, "in the map", New::array(0)).unwrap();
    for (pointer, parent) in
        [("/0/further", rows[0]), ("/1/other", rows[1]), ("/4/in the map", map)]
    {
        let value = doc.doc().pointer(pointer).unwrap().unwrap();
        for other in [root, map, rows[0], rows[1]] {
            assert_eq!(doc.handle_of(&value, other).is_some(), other == parent, "{pointer}");
        }
        assert_eq!(doc.handle_of(&value, parent), doc.find(pointer).unwrap());
    }
}

/// A member that no column has could be set where the rows were records, and was refused
/// where they were a table: documents that were not validated are when it takes that.
#[test]
fn edits_of_documents_that_were_not_validated() {
    for doc in both() {
        let mut doc = DocBuf::from_bytes_unvalidated(doc.as_bytes()).unwrap();
        doc.set_pointer("/items/0/p", 3).unwrap();
        doc.set_pointer("/items/-", 4).unwrap();
        doc.remove_pointer("/items/1").unwrap();
        assert_eq!(doc.doc().pointer("/items/0/p").unwrap().unwrap().as_i64(), Some(3));
        doc.doc().validate().unwrap();
    }
    // In a fixed buffer, by the room behind the document; without any it says so.
    for (room, expected) in [(4096, None), (40, Some(ErrorKind::NotValidated))] {
        let [table, _] = both();
        let mut buffer = table.to_vec();
        buffer.resize(buffer.len() + room, 0xA5);
        let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
        let result = doc.set_pointer("/items/0/p", 3).map(|_| ()).map_err(|error| error.kind());
        assert_eq!(result.err(), expected);
        doc.doc().validate().unwrap();
    }
    // Damage is told.
    let [table, _] = both();
    let mut bytes = table.to_vec();
    bytes[17] = 1;
    let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
    assert_eq!(doc.set_pointer("/items/0/p", 3).unwrap_err().kind(), ErrorKind::NotZero);
    assert_eq!(doc.as_bytes(), bytes);
}

/// In a fixed buffer eight events are remembered; the edits' own handles stay good.
#[test]
fn handles_in_fixed_buffers() {
    for source in both() {
        let mut buffer = vec![0; 16 << 10];
        let mut doc = source.copy_to(&mut buffer[..]).unwrap();
        let list = doc.find("/items").unwrap().unwrap();
        let kept = doc.find("/other/kept").unwrap().unwrap();
        let item = doc.child(list, 9usize).unwrap().unwrap();
        doc.remove(list, 0usize).unwrap();
        assert!(doc.is_current(kept));
        doc.set(item, "id", 99).unwrap();
        for _ in 0..8 {
            doc.remove(list, 0usize).unwrap();
            doc.set(item, "at", 1).unwrap();
        }
        let id = |value: Value<'_>| value.get("id").unwrap().unwrap().as_i64();
        assert_eq!(id(doc.value(item).unwrap()), Some(99));
        assert_eq!(doc.value(list).unwrap().len().unwrap(), Some(1));
        doc.remove(list, 0usize).unwrap();
        assert!(!doc.is_current(item));
        doc.doc().validate().unwrap();
    }
}

/// One edit that moves more containers than a fixed buffer's editor remembers: the handle that it
/// used is good all the same.
#[test]
fn an_edit_of_many_moves_keeps_the_handle_it_used() {
    for index in [false, true] {
        let rows: Vec<_> = (0..40).map(|n| json!({"k": n, "v": [n, n + 1]})).collect();
        let bytes = json!(rows).to_vec();
        let mut buffer = vec![0u8; 100_000];
        buffer[..bytes.len()].copy_from_slice(&bytes);
        let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
        let pointer = if index { "/2/v" } else { "/2" };
        let used = doc.find(pointer).unwrap().unwrap();
        match index {
            true => doc.set(used, 1usize, "text").map(drop).unwrap(),
            false => doc.set(used, "v", 5).map(drop).unwrap(),
        }
        let length = doc.value(used).unwrap().len().unwrap();
        assert_eq!(length, Some(2), "{pointer}");
    }
}

/// Editors of several threads, of which each makes more than it draws numbers for at once.
#[test]
fn a_handle_is_of_one_editor_in_all_threads() {
    let begun = || -> Vec<(DocBuf, NodeId)> {
        let begin = |_| {
            let doc = json!({"lap": 55});
            let root = doc.root_id().unwrap();
            (doc, root)
        };
        (0..150).map(begin).collect()
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(begun)).collect();
    let docs: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    // The home, the time and the depth of all roots are equal, so the editor's number tells.
    let handles: std::collections::HashSet<_> = docs.iter().map(|(_, root)| *root).collect();
    assert_eq!(handles.len(), docs.len());
    assert!(docs.iter().all(|(doc, root)| doc.value(*root).is_ok()));
    for pair in docs.windows(2) {
        let error = pair[0].0.value(pair[1].1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StaleHandle);
    }
}

/// The first array's numbers lie over the places in the root. So an element that is set turns the
/// root's first place to another array, which is empty, and nothing leads to the first one any more.
fn numbers_over_places() -> (Vec<u8>, u32) {
    let options = EncodeOptions { tables: false, ..EncodeOptions::default() };
    let mut encoder = Encoder::with_options(options);
    let sound = json!([[100_000, 200_000, 300_000], ["a", "b"], [1.5, "x"]]);
    encoder.value(&sound.valid().unwrap().root()).unwrap();
    let mut bytes = encoder.finish().unwrap().to_vec();
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((bytes.len(), word(&bytes, 44)), (168, 48), "the encoder lays it out otherwise now");
    bytes.extend([5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for (at, value) in [(20, bytes.len() as u32), (44, 152)] {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    (bytes, 168)
}

/// A validation ends the handles of containers that it did not meet: by whatever call it is made.
#[test]
fn a_validation_ends_handles_of_what_nothing_leads_to() {
    type Validate = fn(&mut DocBuf) -> livebuf::Result<()>;
    let ways: [(&str, Validate); 5] = [
        ("validate", |doc| doc.validate()),
        ("validate_with", |doc| doc.validate_with(|_| {})),
        ("validate_in", |doc| doc.validate_in(&mut [0; 1000])),
        ("an edit that validates", |doc| {
            let last = doc.find("/1")?.unwrap();
            let taken = doc.detach(last, 0)?.unwrap();
            doc.discard(taken)
        }),
        ("assume_trusted", |doc| {
            // SAFETY: the bytes are those of a valid document, as the other ways find.
            #[allow(unsafe_code)]
            unsafe {
                doc.assume_trusted();
            }
            Ok(())
        }),
    ];
    for (what, validate) in ways {
        let (bytes, nobodys) = numbers_over_places();
        let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
        let (first, last) = (doc.find("/0").unwrap().unwrap(), doc.find("/2").unwrap().unwrap());
        doc.set(first, 0usize, nobodys).unwrap();
        validate(&mut doc).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(doc.is_trusted(), "{what}");
        assert!(!doc.is_current(first), "{what}");
        let error = doc.set(first, 0, 999_999).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StaleHandle, "{what}");
        if what != "assume_trusted" {
            doc.set(last, 0, 2.5).unwrap();
        }
        doc.doc().validate().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

/// The edit that has to validate is itself one by such a handle.
#[test]
fn an_edit_that_validates_and_loses_its_own_handle_is_refused() {
    for fixed in [false, true] {
        let (bytes, nobodys) = numbers_over_places();
        let mut buffer = vec![0; 4096];
        buffer[..bytes.len()].copy_from_slice(&bytes);
        let refused = |error: livebuf::Error| {
            assert_eq!(error.kind(), ErrorKind::StaleHandle, "fixed: {fixed}");
        };
        if fixed {
            let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
            let first = doc.find("/0").unwrap().unwrap();
            doc.set(first, 0, nobodys).unwrap();
            refused(doc.detach(first, 0).unwrap_err());
            assert!(doc.is_trusted());
            doc.doc().validate().unwrap();
        } else {
            let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
            let first = doc.find("/0").unwrap().unwrap();
            doc.set(first, 0, nobodys).unwrap();
            refused(doc.detach(first, 0).unwrap_err());
            assert!(doc.is_trusted());
            doc.doc().validate().unwrap();
        }
    }
}

/// Handles that a document had before it was validated are good afterwards.
#[test]
fn handles_of_a_sound_document_outlive_its_validation() {
    let rows: Vec<_> = (0..20).map(|n| json!({"k": n, "v": [n, n + 1], "o": {"x": n}})).collect();
    let entries: Vec<_> = (0..400).map(|n| (format!("key {n}"), json!([n]))).collect();
    let map: livebuf::DocBuf = {
        let mut doc = json!({});
        let root = doc.root_id().unwrap();
        for (key, value) in &entries {
            doc.set(root, key.as_str(), value).unwrap();
        }
        doc
    };
    let bytes = json!({"rows": rows, "map": map, "list": [[1, 2], [3, 4, 5], [6]]}).to_vec();
    let pointers = [
        "",
        "/rows",
        "/rows/3",
        "/rows/3/v",
        "/rows/3/o",
        "/map",
        "/map/key 77",
        "/list",
        "/list/1",
    ];
    let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
    let handles = pointers.map(|pointer| doc.find(pointer).unwrap().unwrap());
    doc.validate().unwrap();
    for (pointer, handle) in pointers.iter().zip(handles) {
        assert!(doc.is_current(handle), "{pointer}");
        let same = doc.find(pointer).unwrap().unwrap();
        assert_eq!(doc.value(handle).unwrap().len(), doc.value(same).unwrap().len(), "{pointer}");
    }
    for handle in handles.iter().rev() {
        doc.clear(*handle).unwrap();
        doc.doc().validate().unwrap();
    }

    let mut buffer = bytes.clone();
    buffer.resize(2 * bytes.len(), 0);
    let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
    let handles = pointers.map(|pointer| doc.find(pointer).unwrap().unwrap());
    doc.validate_in(&mut vec![0; bytes.len() / 4 + 100]).unwrap();
    for (pointer, handle) in pointers.iter().zip(handles) {
        assert!(doc.is_current(handle), "{pointer}");
    }
    doc.set(handles[2], "k", 77).unwrap();
    doc.clear(handles[8]).unwrap();
    assert_eq!(doc.pointer("/rows/3/k").unwrap().unwrap(), 77);
    doc.doc().validate().unwrap();
}
