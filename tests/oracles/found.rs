//! Attacks that found bugs: above each test what was taken for granted and what came of
//! it; the test shows what holds since. The fixes are older than this repository's
//! history.
use livebuf::*;

fn valid<S: Storage>(doc: &Editor<S>) {
    doc.doc().validate().map(|_| ()).unwrap();
}

/// An object `{"a": true, "b": true}` and where the cell of its key "b" is.
fn two_members() -> (Vec<u8>, usize) {
    let mut encoder = Encoder::new();
    encoder.begin_object().unwrap();
    for key in ["a", "b"] {
        encoder.key(key).unwrap();
        encoder.bool(true).unwrap();
    }
    encoder.end_object().unwrap();
    let bytes = encoder.finish().unwrap().to_vec();
    let at = bytes.windows(8).position(|cell| cell == b"b\0\0\0\0\0\0\x81").unwrap();
    (bytes, at)
}

/// Two texts in a list, and the first one freed without being wiped.
fn with_a_dirty_free_block() -> DocBuf {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    doc.push(root, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz").unwrap();
    doc.push(root, "keep this at the end of the document").unwrap();
    doc.set_wipe(false);
    doc.set(root, 0usize, 1).unwrap();
    let old = doc.as_bytes().windows(8).any(|bytes| bytes == b"qrstuvwx");
    assert!(old, "nothing is dirty");
    doc
}

fn json(doc: &DocBuf) -> String {
    livebuf_json::to_string(doc.doc().root()).unwrap()
}

/// Storage was taken to be zero where nothing was written yet, but it may be given full of
/// old bytes: these stood in the spare room of new blocks, and the document was invalid.
#[test]
fn storage_with_old_bytes_behind_the_document() {
    let storage = VecStorage::from_slice(&[0xA5; 512]).unwrap();
    let mut doc = Editor::create(storage).unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    doc.push(root, "a").unwrap();
    valid(&doc);
}

/// What was freed while wiping was off is not zero, but was taken for it once wiping was on
/// again: the unused part of a new block held old text, and the document was invalid.
#[test]
fn wipe_off_then_on() {
    let mut doc = with_a_dirty_free_block();
    doc.set_wipe(true);
    let root = doc.root_id().unwrap();
    doc.push(root, "a text of 17 byte").unwrap();
    doc.push(root, New::object(3)).unwrap();
    valid(&doc);
}

/// The same in a document that comes from elsewhere: validity says nothing of what free
/// blocks hold, so they are zeroed as they are taken.
#[test]
fn dirty_free_blocks_of_a_foreign_document() {
    let mut doc = DocBuf::from_bytes_unvalidated(with_a_dirty_free_block().as_bytes()).unwrap();
    doc.validate().unwrap();
    let root = doc.root_id().unwrap();
    doc.push(root, "a text of 17 byte").unwrap();
    doc.push(root, New::object(3)).unwrap();
    valid(&doc);
}

/// Near the limit of the document, blocks that are free side by side count only once they
/// are merged: what fits into them was refused, or made the document longer than allowed.
#[test]
fn limit_reached_with_free_neighbours() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(8)).unwrap().unwrap();
    for _ in 0..6 {
        doc.push(root, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz").unwrap();
    }
    doc.push(root, "keep this at the end of the document").unwrap();
    let mut limits = Limits::default();
    limits.document = doc.as_bytes().len() as u64 + 96;
    doc.set_limits(limits);
    for i in 0..3usize {
        doc.set(root, i, 1).unwrap();
    }
    let long = "x".repeat(120);
    let before = doc.as_bytes().len();
    doc.push(root, &*long).unwrap();
    assert_eq!(doc.as_bytes().len(), before, "three free neighbours of 56 bytes hold 120");
    valid(&doc);
    // And where nothing is free any more, the limit holds.
    let before = doc.to_vec();
    let error = doc.push(root, &*long).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DocumentLimit);
    assert_eq!(doc.as_bytes(), before);
}

/// A detached object was set into its own child, whose handle was still good: a circle
/// that nothing reached from the root. Such a set is refused.
#[test]
fn detached_into_itself() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::object(2)).unwrap().unwrap();
    let a = doc.set(root, "a", New::object(2)).unwrap().unwrap();
    let b = doc.set(a, "b", New::object(2)).unwrap().unwrap();
    let d = doc.detach(root, "a").unwrap().unwrap();
    let before = doc.to_vec();
    assert_eq!(doc.set(b, "c", &d).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(doc.as_bytes(), before);
    assert_eq!(json(&doc), "{}");
    valid(&doc);
}

/// A child's edit that frees makes handles stale, and with them the cursor of the parent,
/// which had done nothing wrong: its next edit failed.
#[test]
fn cursor_after_child_frees() {
    let mut doc = DocBuf::new().unwrap();
    doc.set_root(New::object(2)).unwrap().unwrap();
    let mut root = doc.root_mut().unwrap();
    root.set("a", New::object(1)).unwrap().unwrap().set("b", New::object(1)).unwrap();
    root.get_mut("a").unwrap().unwrap().remove("b").unwrap();
    root.set("c", 1).unwrap();
    assert_eq!(json(&doc), r#"{"a":{},"c":1}"#);
    valid(&doc);
}

/// The cells of a foreign document were copied as they stood: a u64 that an i64 holds, or
/// a null with bits set, and a valid target was valid no more.
#[test]
fn graft_of_damaged_immediates() {
    let mut target = DocBuf::new().unwrap();
    target.set_root("as it was").unwrap();
    let before = target.to_vec();
    for (value, byte) in [(New::Uint(u64::MAX), 0), (New::Null, 1)] {
        let mut doc = DocBuf::new().unwrap();
        doc.set_root(value).unwrap();
        let mut bytes = doc.to_vec();
        bytes[8..16].fill(byte);
        let error = target.set_root(Doc::open(&bytes).unwrap().root()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadCell);
        assert_eq!(target.as_bytes(), before);
    }
    valid(&target);
}

/// The bits behind a column's last boolean were copied with it. They must be zero, so a
/// valid target was valid no more.
#[test]
fn graft_of_damaged_bools() {
    let mut e = Encoder::new();
    e.begin_array().unwrap();
    e.bool(true).unwrap();
    e.end_array().unwrap();
    let mut bytes = e.finish().unwrap().to_vec();
    let n = bytes.len();
    bytes[n - 8] = 0xFF;
    assert!(Doc::open(&bytes).unwrap().validate().is_err(), "nothing is damaged");
    let mut target = DocBuf::new().unwrap();
    target.set_root(Doc::open(&bytes).unwrap().root()).unwrap();
    assert_eq!(json(&target), "[true]");
    valid(&target);
}

/// An object of a foreign document in which a key occurs twice was copied as it was, and a
/// valid target was valid no more.
#[test]
fn graft_of_duplicate_keys() {
    let (mut bytes, at) = two_members();
    bytes[at] = b'a';
    let mut target = DocBuf::new().unwrap();
    target.set_root("as it was").unwrap();
    let before = target.to_vec();
    let error = target.set_root(Doc::open(&bytes).unwrap().root()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert_eq!(target.as_bytes(), before);
    valid(&target);
}

/// A walk in the order of keys looks for the next greater one; where a key could not be
/// read it gave the same error for ever.
#[test]
fn ordered_walk_of_a_damaged_record_ends() {
    let (mut bytes, at) = two_members();
    bytes[at + 7] = 0xFF;
    let doc = Doc::open(&bytes).unwrap();
    let object = doc.root().as_object().unwrap().unwrap();
    let met: Vec<_> = object.range(..).take(10).collect();
    assert!(met.len() < 4, "{met:?}");
    assert!(met.iter().any(Result::is_err), "{met:?}");
}

/// An array that says it has room for more elements than its block holds: a push wrote
/// over what lies behind it. What is written is in bounds of the document or refused.
#[test]
fn foreign_push_with_a_false_capacity() {
    let mut e = Encoder::new();
    e.begin_array().unwrap();
    e.i64(i64::MAX).unwrap();
    e.end_array().unwrap();
    let mut bytes = e.finish().unwrap().to_vec();
    bytes[32 + 8] = 200;
    let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
    let root = doc.root_id().unwrap();
    for _ in 0..10 {
        assert_eq!(doc.push(root, 5).unwrap_err().kind(), ErrorKind::OutOfBounds);
        assert_eq!(doc.as_bytes(), bytes);
    }
    assert_eq!(doc.clear(root).unwrap_err().kind(), ErrorKind::OutOfBounds);
    assert_eq!(doc.as_bytes(), bytes);
}

/// The same of records and of shapes, which say how many fields they have room for.
#[test]
fn foreign_record_with_a_false_capacity() {
    let mut e = Encoder::new();
    e.begin_object().unwrap();
    e.key("a").unwrap();
    e.bool(true).unwrap();
    e.end_object().unwrap();
    let bytes = e.finish().unwrap().to_vec();
    for (at, v) in [(33, 200), (57, 200)] {
        let mut bytes = bytes.clone();
        bytes[at] = v;
        let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
        let root = doc.root_id().unwrap();
        for i in 0..20 {
            let error = doc.set(root, &*format!("k{i}"), 5).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::OutOfBounds, at as u64 & !7));
            assert_eq!(doc.as_bytes(), bytes);
        }
        let cleared = doc.clear(root).map_err(|error| error.kind());
        if at == 33 {
            assert_eq!(cleared, Err(ErrorKind::OutOfBounds));
            assert_eq!(doc.as_bytes(), bytes);
        } else {
            // Clearing asks for no room.
            assert_eq!(cleared, Ok(()));
            assert_eq!(json(&doc), "{}");
        }
    }
}

/// A key bound to a slot of one document's shape was used in another document, where a
/// shape at the same offset has another key there: it found the wrong member.
#[test]
fn bound_of_another_document() {
    let make = |a: &str, b: &str| {
        let mut e = Encoder::new();
        e.begin_object().unwrap();
        e.key(a).unwrap();
        e.i64(1).unwrap();
        e.key(b).unwrap();
        e.i64(2).unwrap();
        e.end_object().unwrap();
        e.finish().unwrap()
    };
    let (one, two) = (make("x", "y"), make("y", "x"));
    let x = one.valid().unwrap().root().as_object().unwrap().bind("x").unwrap();
    assert_eq!(two.valid().unwrap().root().get(&x).unwrap().as_i64(), Some(2));
}

/// Arrays and maps kept the limit of elements; objects that are records grew past it.
#[test]
fn element_limit_of_records() {
    let mut doc = DocBuf::new().unwrap();
    let mut limits = Limits::default();
    limits.elements = 3;
    doc.set_limits(limits);
    let root = doc.set_root(New::object(2)).unwrap().unwrap();
    for i in 0..6 {
        let done = doc.set(root, &*format!("k{i}"), 1).map(drop);
        assert_eq!(
            done.err().map(|error| error.kind()),
            (i >= 3).then_some(ErrorKind::ElementLimit)
        );
    }
    assert_eq!(json(&doc), r#"{"k0":1,"k1":1,"k2":1}"#);
    valid(&doc);
}

/// A map that was cleared kept its block's count or index: the document was invalid.
#[test]
fn clear_a_map() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::Map { capacity: 2 }).unwrap().unwrap();
    doc.set(root, "a", 1).unwrap();
    doc.clear(root).unwrap();
    assert_eq!(json(&doc), "{}");
    valid(&doc);
}

/// A literal of many shapes looked its shapes up before and took them after others of its
/// own had pushed one out of the editor's memory: its fields were written by a wrong shape.
#[test]
fn literal_whose_shape_is_forgotten_while_it_is_built() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    doc.push(root, New::Fields(&[("an old shape's key", New::Null)])).unwrap();
    doc.push(root, "last in the document").unwrap();
    let keys: Vec<String> = (0..70).map(|number| format!("k{number}")).collect();
    let fields: Vec<_> = keys.iter().map(|key| [(&**key, New::Null)]).collect();
    let mut items: Vec<_> = fields.iter().map(|fields| New::Fields(fields)).collect();
    let old = [("an old shape's key", New::Null)];
    items.push(New::Fields(&old));
    doc.push(root, New::Items(&items)).unwrap();
    let last = doc.doc().pointer("/2/70").unwrap().unwrap();
    assert_eq!(livebuf_json::to_string(last).unwrap(), r#"{"an old shape's key":null}"#);
    valid(&doc);
}

/// A full buffer whose free list holds a block that fits, but in a class with many that do
/// not: it is promised; merging sorts the class, and then it was not found among them. The
/// edit panicked, or without debug assertions wrote a used count beyond the buffer.
#[test]
fn a_promised_block_is_found_after_merging() {
    let mut buffer = vec![0; 1 << 15];
    let mut doc = Editor::create(&mut buffer[..]).unwrap();
    let root = doc.set_root(New::array(400)).unwrap().unwrap();
    for _ in 0..100 {
        doc.push(root, &*"x".repeat(64)).unwrap();
        doc.push(root, "between these").unwrap();
    }
    doc.push(root, &*"y".repeat(120)).unwrap();
    // A free list, while there is room to begin one; of a block without free neighbours.
    for text in ["between these", "the first to be free", "between these"] {
        doc.push(root, text).unwrap();
    }
    doc.set(root, 202usize, "").unwrap();
    // To the last byte.
    let room = (1 << 15) - doc.as_bytes().len();
    doc.push(root, &*"z".repeat(room)).unwrap();
    for index in (0..200usize).step_by(2) {
        doc.set(root, index, "").unwrap();
    }
    doc.set(root, 200usize, "").unwrap();
    valid(&doc);
    // The block of 120 bytes is promised, and there is nothing else.
    let long = "w".repeat(120);
    doc.set(root, 0usize, &*long).unwrap();
    assert_eq!(doc.doc().pointer("/0").unwrap().unwrap().as_str().unwrap(), Some(&*long));
    valid(&doc);
}

/// A pushed row with null among objects with lists: the offsets of the absent object's list
/// stayed behind, so lists before it read other elements, and the document was invalid.
/// Absent rows now fill their slots in every column below.
#[test]
fn push_a_row_with_null_among_objects_with_lists() {
    let documents = [
        r#"[{"a":[{"l":[1,2],"n":1}]},{"a":[{"l":[3],"n":2},{"l":[4],"n":2}]},{"a":[]},{"a":[{"l":[1,2],"n":1}]},{"a":[{"l":[1,2],"n":1}]},{"a":[{"l":[1,2],"n":1}]}]"#,
        r#"[[[[1,2]],[[3]]],[[[4]]],[[[4]]],[[[4]]],[[[4]]],[[[4]]],[[[4]]]]"#,
        r#"[[[1,2],[3]],[[4],[5,6,7]],[[4],[5,6,7]],[[4],[5,6,7]],[[4],[5,6,7]]]"#,
        r#"[{"a":[[[1,2]],[[3]]]},{"a":[[[4]]]},{"a":[[[4]]]},{"a":[[[4]]]},{"a":[[[4]]]}]"#,
    ];
    let rows = [
        r#"{"a":[{"l":[10,20],"n":1},null,{"l":[7,8,9],"n":5}]}"#,
        r#"{"a":[{"l":[10,20],"n":1},null]}"#,
        r#"{"a":[null,{"n":3},{"l":[7],"n":5},{"l":null}]}"#,
        "[[[1,2]],null]",
        "[[[1,2]],[null],[[3],null,[4]]]",
        "[[1,2],null]",
        "[null,[1]]",
        r#"{"a":[[[1,2]],null,[[5]]]}"#,
    ];
    for document in documents {
        for row in rows {
            for at in 0..3usize {
                let mut doc = livebuf_json::from_str(document).unwrap();
                let root = doc.root_id().unwrap();
                let row_doc = livebuf_json::from_str(row).unwrap();
                doc.insert(root, at, row_doc.doc().root()).unwrap();
                let mut model: serde_json::Value = serde_json::from_str(document).unwrap();
                let row = serde_json::from_str(row).unwrap();
                model.as_array_mut().unwrap().insert(at, row);
                assert_eq!(serde_json::from_str::<serde_json::Value>(&json(&doc)).unwrap(), model);
                valid(&doc);
            }
        }
    }
}

/// A new field whose value is an object: the field made a shape first, and the object's
/// shape, the 64th of the newest, was not found any more. The object then made one of bytes
/// that were never planned. Values are built before their place is prepared.
#[test]
fn fields_whose_shape_is_pushed_out_by_their_own_field() {
    for others in 55..75 {
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::array(0)).unwrap().unwrap();
        doc.push(root, New::Fields(&[("x", New::Int(1)), ("y", New::Int(2))])).unwrap();
        for other in 0..others {
            let key = format!("kind{other:03}");
            doc.push(root, New::Fields(&[(&key, New::Int(other))])).unwrap();
        }
        let record = doc.push(root, New::Fields(&[("kind000", New::Int(1))])).unwrap().unwrap();
        doc.push(root, "a text that lies behind").unwrap();
        doc.set(record, "inner", New::Fields(&[("x", New::Int(7)), ("y", New::Int(8))])).unwrap();
        valid(&doc);
        doc.push(root, "another text, long enough to be stored").unwrap();
        valid(&doc);
    }
}

/// The same where two members of a pushed row are objects by themselves, and where the new
/// field is the first that no column of a row has.
#[test]
fn fields_whose_shape_is_pushed_out_by_their_row() {
    for others in 50..75 {
        let text = r#"[{"a":1,"b":2},{"a":3,"b":4},{"a":5,"b":6}]"#;
        let text = format!("{{\"table\":{text},\"list\":[]}}");
        let mut doc = livebuf_json::from_str(&text).unwrap();
        let table = doc.find("/table").unwrap().unwrap();
        let list = doc.find("/list").unwrap().unwrap();
        let old = [("x", New::Int(1)), ("y", New::Int(2))];
        doc.push(list, New::Fields(&old)).unwrap();
        for other in 0..others {
            let key = format!("kind{other:03}");
            doc.push(list, New::Fields(&[(&key, New::Int(other))])).unwrap();
        }
        let new = [("p", New::Int(1)), ("q", New::Int(2))];
        let row = [("a", New::Fields(&new)), ("b", New::Fields(&old))];
        doc.push(table, New::Fields(&row)).unwrap();
        valid(&doc);
        let row = doc.find("/table/0").unwrap().unwrap();
        doc.set(row, "further", New::Fields(&old)).unwrap();
        valid(&doc);
    }
}

/// A rename of a row's field was two steps, and the bytes of the second were not made sure
/// of: refused in a full buffer, it had deleted the field. It is one plan now.
#[test]
fn a_refused_rename_of_a_rows_field_changes_nothing() {
    let documents = [
        r#"[{"o":{"x":1,"y":2}},{"o":{"x":3,"y":4}},{"o":{"x":5,"y":6}}]"#,
        r#"[{"x":1,"y":2},{"x":3,"y":4},{"x":5,"y":6}]"#,
        r#"[{"x":1,"y":{"a":1,"b":2}},{"x":3,"y":{"a":1,"b":2}},{"x":5,"y":{"a":1,"b":2}}]"#,
        r#"[{"x":[1],"y":"a longer text"},{"x":[3,4],"y":"b"},{"x":[],"y":"another text"}]"#,
    ];
    let long = "k".repeat(300);
    let mut refused = 0;
    for (document, to, from, spare, before) in documents.iter().flat_map(|document| {
        ["z", "a longer key", "y2", "gone", &long].into_iter().flat_map(move |to| {
            ["x", "y", "extra"].into_iter().flat_map(move |from| {
                (0..110).flat_map(move |words| {
                    (0..4).map(move |before| (document, to, from, 8 * words, before))
                })
            })
        })
    }) {
        let encoded = livebuf_json::from_str(document).unwrap();
        let mut buffer = encoded.to_vec();
        buffer.resize(buffer.len() + spare, 0);
        let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
        let mut scratch = vec![0; doc.validate_scratch()];
        doc.validate_in(&mut scratch).unwrap();
        let row = |doc: &Editor<&mut [u8]>, index: usize| {
            let row = doc.child(doc.root_id().unwrap(), index).unwrap().unwrap();
            if document.contains("\"o\"") { doc.child(row, "o").unwrap().unwrap() } else { row }
        };
        // A field beside the columns, a hole beside them, rows shifted.
        if before > 0 {
            let _ = doc.set(row(&doc, 0), "extra", 1);
        }
        if before > 1 {
            let _ = doc.set(row(&doc, 0), "gone", 1);
            let _ = doc.remove(row(&doc, 0), "gone");
        }
        if before > 2 {
            let root = doc.root_id().unwrap();
            let _ = doc.remove(root, 2);
        }
        let before = doc.as_bytes().to_vec();
        let old = livebuf_json::to_string(doc.doc().root()).unwrap();
        match doc.rename(row(&doc, 0), from, to) {
            Ok(()) => {
                let new = livebuf_json::to_string(doc.doc().root()).unwrap();
                let renamed: serde_json::Value = serde_json::from_str(&old.replacen(
                    &format!("\"{from}\""),
                    &format!("\"{to}\""),
                    1,
                ))
                .unwrap();
                assert_eq!(serde_json::from_str::<serde_json::Value>(&new).unwrap(), renamed);
            }
            Err(error) => {
                refused += u32::from(error.kind() == ErrorKind::NoSpace);
                assert_eq!(doc.as_bytes(), before, "{document} {from} to {to}, {spare} spare");
            }
        }
        valid(&doc);
    }
    assert!(refused > 100, "{refused}");
}

/// A record's new field was planned as a new key of its shape. Its value, built first, used
/// the same shape, which was private no more; the key was then stored with the old flags,
/// and a private shape had two users.
#[test]
fn a_new_key_whose_value_uses_the_same_shape() {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::object(8)).unwrap().unwrap();
    doc.set(root, "a", 1).unwrap();
    doc.set(root, "b", New::Fields(&[("a", New::Int(1))])).unwrap();
    valid(&doc);
    assert_eq!(json(&doc), r#"{"a":1,"b":{"a":1}}"#);
}

/// A detached array of rows that is pushed into a list: its rows went into the elements'
/// column as they were, where rows mean nothing. They become objects by themselves.
#[test]
fn a_detached_table_becomes_an_array_of_a_list() {
    let text = r#"{"rows":[{"a":1,"b":[1]},{"a":2,"b":null},{"a":3,"b":[2,3]}],"lists":[[1],[2,3],[4,5,6],[7]]}"#;
    let mut doc = livebuf_json::from_str(text).unwrap();
    let rows = doc.detach(doc.root_id().unwrap(), "rows").unwrap().unwrap();
    let lists = doc.find("/lists").unwrap().unwrap();
    doc.push(lists, &rows).unwrap();
    valid(&doc);
    let expected =
        r#"{"lists":[[1],[2,3],[4,5,6],[7],[{"a":1,"b":[1]},{"a":2,"b":null},{"a":3,"b":[2,3]}]]}"#;
    assert_eq!(json(&doc), expected);
}

/// What changes the length of an array in a list made arrays of all of them first, and could
/// then be refused: bytes had changed. Now one plan has both.
#[test]
fn a_refused_push_into_an_array_of_a_list_changes_nothing() {
    let graft = livebuf_json::from_str(r#"{"a":"x","b":2.5,"c":true,"d":{"e":20,"f":null}}"#);
    let graft = graft.unwrap();
    let mut refused = 0;
    for list in ["[[1],[2,3],[],[4]]", r#"[[1,null],["t"],[],[{"x":1}]]"#, "[[[1],[2]],[],[[3]]]"] {
        for words in 0..80 {
            for edit in 0..6 {
                let mut buffer = livebuf_json::from_str(list).unwrap().to_vec();
                buffer.resize(buffer.len() + 8 * words, 0);
                let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
                let mut scratch = vec![0; doc.validate_scratch()];
                doc.validate_in(&mut scratch).unwrap();
                let before = doc.as_bytes().to_vec();
                let first = doc.find("/0").unwrap().unwrap();
                let result = match edit {
                    0 => doc.push(first, graft.doc().root()).map(|_| ()),
                    1 => doc.insert(first, 0, "a text of some length").map(|_| ()),
                    2 => doc.push(first, New::Items(&[New::Int(1), New::Null])).map(|_| ()),
                    3 => doc.reserve(first, 3),
                    4 => doc.remove(first, 0).map(|_| ()),
                    _ => doc.truncate(first, 0),
                };
                if let Err(error) = result {
                    assert_eq!(error.kind(), ErrorKind::NoSpace);
                    assert_eq!(doc.as_bytes(), before, "{list}, {words} words, edit {edit}");
                    refused += 1;
                }
                valid(&doc);
            }
        }
    }
    assert!(refused > 200, "{refused}");
}

/// A row by itself was copied with its further fields as they were; where a damaged one
/// repeated a column's key, a valid target had an object with a key twice.
#[test]
fn graft_of_a_row_whose_further_fields_repeat_a_key() {
    let text = r#"[{"a":1,"b":2},{"a":3,"b":4},{"a":5,"b":6},{"a":7,"b":8}]"#;
    let mut doc = livebuf_json::from_str(text).unwrap();
    doc.set_pointer("/0/c", 9).unwrap();
    let mut bytes = doc.to_vec();
    let word = |bytes: &[u8], at: u32| {
        u32::from_le_bytes(bytes[at as usize..at as usize + 4].try_into().unwrap())
    };
    // The record with "c" comes to name the table's shape, so its first key is "a".
    let table = word(&bytes, word(&bytes, 8) + 12);
    let extras = word(&bytes, table + 16);
    let record = word(&bytes, word(&bytes, extras + 12)) as usize;
    let shape = word(&bytes, table + 4);
    bytes[record + 4..record + 8].copy_from_slice(&shape.to_le_bytes());
    let foreign = Doc::open(&bytes).unwrap();
    let row = foreign.root().get(0usize).unwrap().unwrap();
    assert_eq!(livebuf_json::to_string(row).unwrap(), r#"{"a":1,"b":2,"a":9}"#);

    let mut mine = livebuf_json::from_str(r#"{"mine":true}"#).unwrap();
    let before = mine.to_vec();
    let error = mine.set(mine.root_id().unwrap(), "row", row).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert!(before == mine.as_bytes());
    // One that is whole goes.
    let whole = foreign.root().get(1usize).unwrap().unwrap();
    mine.set(mine.root_id().unwrap(), "row", whole).unwrap();
    valid(&mine);
}

/// The byte behind a shape's first has the marks of a shape's beginning once a record uses
/// the shape. A record whose shape was said to be there validated, where that byte is 1.
#[test]
fn a_shape_that_begins_inside_another() {
    let plain = livebuf_json::ReadOptions::new().tables(false);
    let doc = livebuf_json::from_slice_with(br#"[{"a":1},{"a":2},3]"#, &plain).unwrap();
    let bytes = doc.to_vec();
    let shape = u32::from_le_bytes(bytes[24..28].try_into().unwrap());
    // A record of capacity 1 with one live field: 02 01 01 01, then the shape.
    let heads = [&[2, 1, 1, 1][..], &shape.to_le_bytes()].concat();
    let second = bytes.windows(8).rposition(|head| head == heads).unwrap();
    let mut damaged = bytes;
    damaged[second + 4] += 1;
    let error = Doc::open(&damaged).unwrap().validate().map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongBlock);
}

/// An array of a list was copied by itself with the gaps that its column says, though one
/// said that elements were missing, which only rows of tables can be.
#[test]
fn graft_of_an_array_of_a_list_with_missing_elements() {
    use livebuf::layout::{GAPS_MISSING, GAPS_NULL, LIST_CHILD};
    let doc = livebuf_json::from_str("[[1,null,2],[3],[4,5,6],[7,8],[9,10,11,12]]").unwrap();
    let mut bytes = doc.to_vec();
    let word = |bytes: &[u8], at: u32| {
        u32::from_le_bytes(bytes[at as usize..at as usize + 4].try_into().unwrap())
    };
    let list = word(&bytes, word(&bytes, 8) + 12);
    let gaps = (list + LIST_CHILD) as usize + 2;
    assert_eq!(bytes[gaps], GAPS_NULL);
    bytes[gaps] = GAPS_MISSING;
    let foreign = Doc::open(&bytes).unwrap();
    let array = foreign.root().get(0usize).unwrap().unwrap();

    let mut mine = livebuf_json::from_str(r#"{"mine":true}"#).unwrap();
    let before = mine.to_vec();
    let error = mine.set(mine.root_id().unwrap(), "copy", array).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadCode);
    assert!(before == mine.as_bytes());
}

/// A row was to get an object of the shape that only its further fields had. The bytes were
/// counted while that shape was there. It was freed with the old row, so the edit needed
/// another one, and wrote it over what lay behind its bytes.
#[test]
fn a_row_whose_new_object_had_the_shape_of_its_old_further_fields() {
    let inner = [("further key one", New::Int(5)), ("further key two", New::Int(6))];
    let mut doc = json!([]);
    let list = doc.root_id().unwrap();
    for number in 0..8 {
        let row = [("mixed", New::Int(number)), ("name", New::Str("the name of it"))];
        doc.push(list, New::Fields(&row)).unwrap();
    }
    doc.compact().unwrap();
    let list = doc.root_id().unwrap();
    let row = doc.child(list, 0).unwrap().unwrap();
    doc.set(row, "mixed", "text").unwrap();
    for (key, value) in inner {
        doc.set(row, key, value).unwrap();
    }
    assert!(doc.root().as_array().unwrap().unwrap().table().unwrap().is_some());
    let fields = [("mixed", New::Fields(&inner)), ("name", New::Str("another"))];
    doc.set(list, 0usize, New::Fields(&fields)).unwrap();
    valid(&doc);
    let mixed = r#"{"further key one":5,"further key two":6}"#;
    assert!(json(&doc).starts_with(&format!(r#"[{{"mixed":{mixed},"name":"another"}},"#)));
}

/// An array of a list becomes one by itself, and in the same edit a column of numbers with gaps
/// and marks, which for a few slots takes more bytes than cells.
#[test]
fn an_array_of_a_list_becomes_numbers_with_marks() {
    for text in ["[2.0,null]", "[0.5,null]", "[2.0,0.5]", "[2,null]", "[null,300]"] {
        let json = format!("[{}]", [text; 20].join(","));
        for (index, new) in [New::Int((1 << 24) + 1), New::Int(2), New::Float(2.0), New::Float(0.1)]
            .into_iter()
            .enumerate()
        {
            let mut doc = livebuf_json::from_str(&json).unwrap();
            doc.set_pointer("/3/-", new).unwrap();
            doc.doc().validate().unwrap();
            let printed = livebuf_json::to_string(&doc).unwrap();
            let expected = ["16777217", "2", "2.0", "0.1"][index];
            let pushed = format!("{},{expected}]", &text[..text.len() - 1]);
            let mut rows = [text; 20];
            rows[3] = &pushed;
            assert_eq!(printed, format!("[{}]", rows.join(",")));
        }
    }
}

/// The array that a push takes out of its list may come to lie at the document's end, in bytes that
/// were free there. It grew behind the end then, which the count of its bytes did not say.
#[test]
fn an_array_out_of_a_list_lands_at_the_end() {
    for length in (8..600).step_by(8) {
        let rows = vec![vec![6.0, 5.0]; 10];
        let mut doc = livebuf::json!({"rows": rows, "a": (), "b": ()});
        for key in ["/a", "/b"] {
            doc.set_pointer(key, &*"x".repeat(length)).unwrap();
        }
        for key in ["/a", "/b"] {
            doc.set_pointer(key, ()).unwrap();
        }
        doc.set_pointer("/rows/9/-", 6.0).unwrap();
        let valid = doc.doc().validate().unwrap_or_else(|error| panic!("{length}: {error}"));
        assert_eq!(valid.pointer("/rows/9/2").unwrap(), 6.0);
    }
}

/// The new key of a row's object had the shape of that object's further field, which goes when the
/// object leaves its row.
#[test]
fn a_row_that_is_renamed_keeps_no_shape_of_its_own() {
    let rows: Vec<_> =
        (0..20).map(|n| livebuf::json!({"k": n, "o": {"u": n, "w": n + 1}})).collect();
    for before in ["", "/6/x"] {
        let mut doc = livebuf::json!(rows);
        if !before.is_empty() {
            doc.set_pointer(before, 1).unwrap();
        }
        doc.set_pointer("/6/o/z", 5).unwrap();
        let row = doc.find("/6").unwrap().unwrap();
        doc.rename(row, "o", "z").unwrap();
        doc.doc().validate().unwrap();
        assert_eq!(doc.doc().pointer("/6/z/z").unwrap().unwrap(), 5);
    }
}

/// A detached UUID within a slice was copied and freed, and could hang again.
#[test]
fn a_detached_uuid_is_no_part_of_a_slice() {
    use livebuf::{ErrorKind, New, Uuid, json};
    let mut doc = json!({"a": Uuid::from_bytes([1; 16]), "ids": [[Uuid::from_bytes([2; 16])]]});
    let root = doc.root_id().unwrap();
    let detached = doc.detach(root, "a").unwrap().unwrap();
    let items = [New::Detached(&detached), New::Detached(&detached)];
    let error = doc.set(root, "x", New::Items(&items)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let ids = doc.find("/ids").unwrap().unwrap();
    assert!(doc.push(ids, New::Items(&items)).is_err());
    doc.set(root, "y", &detached).unwrap();
    doc.doc().validate().unwrap();
    assert_eq!(
        doc.pointer("/y").unwrap().unwrap().as_uuid().unwrap().unwrap().as_bytes(),
        &[1; 16]
    );
}

/// A value that hangs nowhere is not seen by a validation, after which the editor trusts the
/// document, and reuses what it frees.
#[test]
fn a_value_is_validated_before_it_is_detached() {
    let mut bytes = livebuf::json!({"kept": [1, "a text that is damaged"], "other": 2}).to_vec();
    let text = bytes.windows(6).position(|bytes| bytes == b"a text").expect("there");
    bytes[text] = 0xFF;
    let mut doc = DocBuf::from_bytes_unvalidated(&bytes).expect("opened");
    let root = doc.root_id().expect("an object");
    let error = doc.detach(root, "kept").map(drop).expect_err("damaged");
    assert_eq!(error.kind(), livebuf::ErrorKind::BadText);
    assert!(!doc.is_trusted() && doc.as_bytes() == bytes);
    bytes[text] = b'a';
    let mut doc = DocBuf::from_bytes_unvalidated(&bytes).expect("opened");
    let root = doc.root_id().expect("an object");
    let kept = doc.detach(root, "kept").expect("sound").expect("there");
    assert!(doc.is_trusted());
    doc.set(root, "kept", &kept).expect("hung again");
    // In a buffer without room there is nothing to validate by.
    let length = bytes.len();
    let mut buffer = bytes;
    let mut doc = livebuf::Editor::open_unvalidated(&mut buffer[..length]).expect("opened");
    let root = doc.root_id().expect("an object");
    let error = doc.detach(root, "kept").map(drop).expect_err("no room");
    assert_eq!(error.kind(), livebuf::ErrorKind::NotValidated);
}

/// Elements that only tensors have, in a list that no longer says so: a copy of a row of a
/// document that was not validated wrote a damaged document.
#[test]
fn rows_of_damaged_tensors_are_not_copied() {
    use livebuf::{ColumnType, ErrorKind, Tensor};
    let mask = Tensor::from_bytes(ColumnType::Bool8, &[2, 2], &[1, 0, 0, 1]).unwrap();
    let mut doc = livebuf::json!({"rows": [{"m": 0}, {"m": 0}]});
    for pointer in ["/rows/0/m", "/rows/1/m"] {
        doc.set_pointer(pointer, &mask).unwrap();
    }
    doc.compact().unwrap();
    let sound = doc.to_vec();
    let mut seen = 0;
    for at in (0..sound.len()).step_by(8) {
        let mut bytes = sound.clone();
        bytes[at + 3] ^= 1;
        let Ok(mut doc) = DocBuf::from_bytes_unvalidated(&bytes) else { continue };
        let other = doc.to_vec();
        let source = livebuf::Doc::open(&other).unwrap();
        for pointer in ["/rows/1", "/rows/1/m", "/rows/1/m/0"] {
            let Ok(Some(value)) = source.pointer(pointer) else { continue };
            let mut fresh = livebuf::json!({"copy": null});
            match fresh.set_pointer("/copy", value) {
                Ok(_) => drop(fresh.doc().validate().unwrap()),
                Err(error) => seen += usize::from(error.kind() == ErrorKind::BadCode),
            }
        }
        let _ = doc.set_pointer("/rows/0/m", 5);
    }
    assert!(seen > 0);
}

/// Rows of sixteen dimensions would be a tensor of seventeen.
#[test]
fn a_column_of_the_deepest_tensors_is_no_tensor() {
    let deep = livebuf::Tensor::new(&[1; 16], &[1.5f32]).unwrap();
    let mut doc = livebuf::json!([]);
    for _ in 0..3 {
        doc.set_pointer("/-", &deep).unwrap();
    }
    doc.compact().unwrap();
    doc.set_pointer("/-", &deep).unwrap();
    doc.doc().validate().unwrap();
    let array = doc.doc().root().as_array().unwrap().unwrap();
    assert!(array.as_column().tensor().unwrap().is_none());
    assert!(
        array.get(3).unwrap().unwrap().as_array().unwrap().unwrap().tensor().unwrap().is_some()
    );
}
