//! Sizes, the write hook, the free list, compaction.

use livebuf::{Doc, DocBuf, Editor, ErrorKind, Listener, New, Storage, json};
use livebuf_fuzz::shadow::{Shadow, shadow};

#[test]
fn the_sizes_promised() {
    assert!(json!({}).as_bytes().len() <= 48);
    let encoded = json!({"event": "lap_complete", "lap": 55, "time_sec": 88.427});
    assert!(encoded.as_bytes().len() <= 144, "{}", encoded.as_bytes().len());
    for (hint, most) in [(New::object(3), 148), (New::object(4), 168)] {
        let mut buffer = [0xA5; 512];
        let mut doc = Editor::create(&mut buffer[..]).unwrap();
        let root = doc.set_root(hint).unwrap().unwrap();
        doc.set(root, "event", "lap_complete").unwrap();
        doc.set(root, "lap", 55).unwrap();
        doc.set(root, "time_sec", 88.427).unwrap();
        assert!(doc.as_bytes().len() <= most, "{}", doc.as_bytes().len());
        doc.doc().validate().unwrap();
    }
}

/// Where an edit writes into what is there, the hook sees that one write and no other: of text of
/// the same length in a record and in a map, and of a number in a map.
#[test]
fn values_of_the_same_size_are_overwritten_in_place() {
    #[derive(Default)]
    struct Writes(Vec<std::ops::Range<usize>>);
    impl Listener for Writes {
        fn will_change(&mut self, _: &[u8], offset: u64, length: u64) {
            self.0.push(offset as usize..(offset + length) as usize);
        }
    }
    // A record, and two maps with hash blocks.
    for members in [3, 260, 5000] {
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::object(0)).unwrap().unwrap();
        for index in 0..members {
            doc.set(root, format!("number {index}").as_str(), index).unwrap();
            doc.set(root, format!("text {index}").as_str(), "a text of 20 bytes..").unwrap();
        }
        let length = doc.as_bytes().len();
        let mut edit = |key: &str, new: New<'_>, expected: &[&[u8]]| {
            doc.listen(Writes::default());
            doc.set(root, key, new).unwrap();
            let Writes(ranges) = doc.stop_listening().unwrap();
            let written: Vec<&[u8]> = ranges.into_iter().map(|at| &doc.as_bytes()[at]).collect();
            assert_eq!(written, expected, "{key} of {members}");
        };
        edit("text 1", "another of 20 bytes!".into(), &[b"another of 20 bytes!"]);
        edit("number 1", 77.into(), &[&77_u64.to_le_bytes()]);
        edit("number 2", true.into(), &[&[3], &0_u64.to_le_bytes()]);
        assert_eq!(doc.as_bytes().len(), length);
        // What does not fit its place, or belongs into the cell.
        for text in ["short", "a text of more than 20 bytes", ""] {
            doc.set(root, "text 2", text).unwrap();
            assert_eq!(doc.get("text 2").unwrap().unwrap(), text);
        }
        doc.doc().validate().unwrap();

        // In bytes from elsewhere others may use the same text: it stays as it is.
        let bytes = doc.as_bytes().to_vec();
        let mut foreign = Editor::open_unvalidated(bytes.clone()).unwrap();
        let root = foreign.root_id().unwrap();
        foreign.set(root, "text 0", "another of 20 bytes!").unwrap();
        assert_eq!(foreign.get("text 0").unwrap().unwrap(), "another of 20 bytes!");
        assert!(foreign.as_bytes().len() > bytes.len());
    }
}

#[test]
fn the_hook_sees_every_change() {
    let mut doc = DocBuf::new().unwrap();
    Shadow::listen(&mut doc);
    let root = doc.set_root(New::object(0)).unwrap().unwrap();
    let list = doc.set(root, "list", New::array(0)).unwrap().unwrap();
    for index in 0..600 {
        doc.set(root, format!("key {index}").as_str(), index).unwrap();
        doc.push(list, format!("text {index}").as_str()).unwrap();
    }
    for index in (0..600).step_by(3) {
        doc.remove(root, format!("key {index}").as_str()).unwrap();
    }
    doc.remove(list, 5).unwrap();
    doc.insert(list, 7, 1.5).unwrap();
    doc.compact().unwrap();
    let copy = doc.listener::<Shadow>().unwrap().copy(doc.storage().bytes());
    assert_eq!(&copy[..doc.as_bytes().len()], doc.as_bytes());

    // A scalar set is small.
    let root = doc.root_id().unwrap();
    for value in [1i64, -1, i64::MAX] {
        shadow(&mut doc).reported = 0;
        doc.set(root, "key 1", value).unwrap();
        assert!(shadow(&mut doc).reported < 32, "{} bytes", shadow(&mut doc).reported);
    }
    shadow(&mut doc).reported = 0;
    doc.set(root, "key 1", true).unwrap();
    assert!(shadow(&mut doc).reported < 32);
}

#[test]
fn arrays_stay_within_their_bytes() {
    for count in [1_000u64, 10_000, 100_000] {
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::array(0)).unwrap().unwrap();
        for index in 0..count {
            doc.push(root, index).unwrap();
        }
        let bytes = doc.as_bytes().len() as f64 / count as f64;
        assert!(bytes <= 8.1, "{count} elements, last in the buffer: {bytes} bytes each");

        // Two that grow in turn: neither stays last.
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::array(0)).unwrap().unwrap();
        let lists = [0, 1].map(|_| doc.push(root, New::array(0)).unwrap().unwrap());
        for index in 0..count {
            for list in lists {
                doc.push(list, index).unwrap();
            }
        }
        let ratio = doc.as_bytes().len() as f64 / (16 * count) as f64;
        assert!(ratio <= 2.5, "{count} elements, two in turn: {ratio} times the data");
    }
}

#[test]
fn a_full_buffer_says_what_is_missing() {
    let mut buffer = [0xA5; 128];
    let mut doc = Editor::create(&mut buffer[..]).unwrap();
    let root = doc.set_root(New::object(2)).unwrap().unwrap();
    doc.set(root, "a", 1).unwrap();
    let before = doc.as_bytes().to_vec();
    let error = doc.set(root, "b", "x".repeat(100).as_str()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert_eq!(doc.as_bytes(), before);
    let missing = error.detail() as usize;
    let mut larger = vec![0xA5; 128 + missing];
    larger[..before.len()].copy_from_slice(&before);
    let mut doc = Editor::open_unvalidated(&mut larger[..]).unwrap();
    let root = doc.root_id().unwrap();
    doc.set(root, "b", "x".repeat(100).as_str()).unwrap();
    doc.doc().validate().unwrap();
}

#[test]
fn compaction_gives_the_encoders_bytes() {
    let expected = json!({"kept": [1, 2, 3], "name": "a name of some length", "n": {"x": 1}});
    let mut doc = json!({"gone": "something long enough to lie elsewhere", "kept": [1, 2, 3]});
    let root = doc.root_id().unwrap();
    doc.set(root, "name", "a name of some length").unwrap();
    doc.set(root, "n", json!({"x": 1}).doc().root()).unwrap();
    doc.remove(root, "gone").unwrap();
    assert_ne!(doc.as_bytes(), expected.as_bytes());
    let mut target = [0xA5; 1024];
    let length = doc.doc().compact_into(&mut target).unwrap();
    let copy = Doc::open(&target[..length]).unwrap().validate().unwrap();
    assert!(copy.root().deep_eq(expected.doc().root(), &mut 100).unwrap());
    doc.compact().unwrap();
    assert_eq!(doc.as_bytes(), expected.as_bytes());
    assert_eq!(doc.doc().compact_into(&mut [0; 40]).unwrap_err().kind(), ErrorKind::NoSpace);
}

/// PROFILE 3: texts that do not repeat are searched for less and less often.
#[test]
fn texts_that_do_not_repeat_pause_the_search() {
    let copies = |different: usize| {
        let mut encoder = livebuf::Encoder::new();
        encoder.begin_array().unwrap();
        for number in 0..different {
            encoder.str(&format!("text number {number}")).unwrap();
        }
        for _ in 0..20_000 {
            encoder.str("the same again").unwrap();
        }
        encoder.end_array().unwrap();
        let doc = encoder.finish().unwrap();
        doc.doc().validate().unwrap();
        let same = b"the same again";
        doc.as_bytes().windows(same.len()).filter(|text| text == same).count()
    };
    // Few different texts: all are searched.
    assert_eq!((copies(62), copies(960)), (1, 1));
    // 1,024 searched, 64 not.
    assert_eq!(copies(1024), 64 + 1);
    // 128 not after the second verdict, of which 48 are different ones.
    assert_eq!(copies(1024 + 64 + 64 + 48), 128 - 48 + 1);
    // The same repeat from the first search on: no pause follows.
    assert_eq!(copies(1024 + 64 + 60), 1);
}

/// A long array of different texts made the next array forget equal ones: its dictionary had
/// hundreds of texts, of which three differed.
#[test]
fn texts_of_one_array_do_not_pause_the_search_in_the_next() {
    let different = |encoder: &mut livebuf::Encoder| {
        encoder.key("ids").unwrap();
        encoder.begin_array().unwrap();
        for number in 0..3_000 {
            encoder.str(&format!("identifier {number}")).unwrap();
        }
        encoder.end_array().unwrap();
    };
    let repeating = |encoder: &mut livebuf::Encoder| {
        encoder.key("names").unwrap();
        encoder.begin_array().unwrap();
        for number in 0..2_000 {
            encoder.str(["first sensor", "second sensor", "third sensor"][number % 3]).unwrap();
        }
        encoder.end_array().unwrap();
    };
    let mut sizes = Vec::new();
    for names_first in [true, false] {
        let mut encoder = livebuf::Encoder::new();
        encoder.begin_object().unwrap();
        if names_first {
            repeating(&mut encoder);
        }
        different(&mut encoder);
        if !names_first {
            repeating(&mut encoder);
        }
        encoder.end_object().unwrap();
        let doc = encoder.finish().unwrap();
        doc.doc().validate().unwrap();
        let doc = doc.valid().unwrap();
        let names = doc.pointer("/names").unwrap().as_array().unwrap();
        assert_eq!(names.column_type(), livebuf::ColumnType::DictionaryU8);
        assert_eq!(names.as_column().dictionary().unwrap().texts().len(), 3);
        sizes.push(doc.as_bytes().len());
    }
    assert!(sizes[0].abs_diff(sizes[1]) < 16, "{sizes:?}");
}

/// Free space in the middle of a document that shrinks was not given back: up to 49 times
/// what was live stayed used. Where more than three quarters are free, an edit squeezes the
/// document. Handles follow, and the write hook sees it.
#[test]
fn what_shrinks_gives_its_space_back() {
    for tables in [true, false] {
        let mut source = json!({"first": {"a": 1}, "rows": [], "last": {"b": [2, {"c": 3}]}});
        let rows = source.find("/rows").unwrap().unwrap();
        for id in 0..1_000 {
            let text = format!("a text of some length, and its number is {id}");
            let row = [("id", New::Int(id)), ("text", New::Str(&text))];
            source
                .push(rows, New::Fields(&[("row", New::Fields(&row)), ("n", New::Int(id))]))
                .unwrap();
        }
        let options = livebuf::EncodeOptions { tables, ..Default::default() };
        let source = source.doc().compacted_with(options).unwrap();
        let mut doc = DocBuf::new().unwrap();
        Shadow::listen(&mut doc);
        doc.set_root(source.doc().root()).unwrap();
        assert_eq!(doc.doc().stats().unwrap().table_count > 0, tables);

        let find = |pointer: &str| doc.find(pointer).unwrap().unwrap();
        let [first, rows, last, c] = ["/first", "/rows", "/last", "/last/b/1"].map(find);
        let held: Vec<_> = [500, 999].map(|id| find(&format!("/rows/{id}/row"))).into();
        let most = doc.as_bytes().len();
        shadow(&mut doc).reported = 0;
        let mut next = 0;
        for id in 0..1_000 {
            // From the front, but for the held ones.
            if id == 500 || id == 999 {
                next += 1;
            } else {
                doc.remove(rows, next).unwrap();
            }
            if id % 100 == 99 {
                let stats = doc.doc().stats().unwrap();
                assert!(stats.used <= 4 * (stats.used - stats.free) + 8_192, "{id}: {stats:?}");
            }
        }
        assert!(
            doc.as_bytes().len() < 8_192 && most > 40_000,
            "{} of {most}",
            doc.as_bytes().len()
        );
        let written = shadow(&mut doc).reported;
        println!("tables {tables}: {most} bytes at first, {written} written");
        let value = |node, key: &str| doc.value(node).unwrap().get(key).unwrap().unwrap().as_i64();
        assert_eq!(value(first, "a"), Some(1));
        assert_eq!(value(c, "c"), Some(3));
        assert_eq!(
            held.iter().map(|&row| value(row, "id")).collect::<Vec<_>>(),
            [Some(500), Some(999)]
        );
        assert!(doc.is_current(last));
        doc.set(c, "c", 4).unwrap();
        doc.doc().validate().unwrap();
        let copy = doc.listener::<Shadow>().unwrap().copy(doc.storage().bytes());
        assert_eq!(&copy[..doc.as_bytes().len()], doc.as_bytes());
    }
}

/// What is detached hangs nowhere, but is not lost: nothing is squeezed meanwhile.
#[test]
fn what_is_detached_is_not_squeezed_out() {
    let mut doc = json!({"list": [], "kept": {"a": "a text of some length"}});
    let list = doc.find("/list").unwrap().unwrap();
    for id in 0..1_000 {
        doc.push(list, format!("a text of some length, and its number is {id}").as_str()).unwrap();
    }
    let root = doc.root_id().unwrap();
    let kept = doc.detach(root, "kept").unwrap().unwrap();
    doc.truncate(list, 3).unwrap();
    doc.push(list, &kept).unwrap();
    assert_eq!(
        doc.doc().pointer("/list/3/a").unwrap().unwrap().as_str(),
        Ok(Some("a text of some length"))
    );
    doc.pop(list).unwrap();
    doc.doc().validate().unwrap();
}

/// A cursor whose child makes the document squeeze goes on where its container is then.
#[test]
fn a_cursor_above_one_that_squeezes() {
    let mut doc = json!({"before": ["x"], "list": [], "kept": {"a": 1}});
    let list = doc.find("/list").unwrap().unwrap();
    for id in 0..1_000 {
        doc.push(list, format!("a text of some length, and its number is {id}").as_str()).unwrap();
    }
    doc.push(list, New::object(1)).unwrap();
    let used = doc.as_bytes().len();
    let mut root = doc.root_mut().unwrap();
    let mut list = root.get_mut("list").unwrap().unwrap();
    list.truncate(0).unwrap();
    list.push("new").unwrap();
    root.set("kept", 2).unwrap();
    root.get_mut("before").unwrap().unwrap().push("y").unwrap();
    assert!(doc.as_bytes().len() < used / 4);
    doc.doc().validate().unwrap();
    let text = format!("{:?}", doc.doc().root().as_object().unwrap().unwrap());
    assert_eq!(text, r#"{"before": Array(2), "list": Array(1), "kept": 2}"#);
}

/// A cursor on what an edit stored, where that edit squeezed the document: it took the
/// container for where it was before.
#[test]
fn a_cursor_of_an_edit_that_squeezes() {
    let mut doc = json!({"big": [], "last": 1});
    let big = doc.find("/big").unwrap().unwrap();
    for id in 0..1_000 {
        doc.push(big, format!("a text of some length, and its number is {id}").as_str()).unwrap();
    }
    let used = doc.as_bytes().len();
    let mut root = doc.root_mut().unwrap();
    let mut big = root.set("big", New::array(4)).unwrap().unwrap();
    big.push("in its place").unwrap();
    assert!(doc.as_bytes().len() < used / 4);
    assert_eq!(doc.doc().pointer("/big/0").unwrap().unwrap().as_str(), Ok(Some("in its place")));
    doc.doc().validate().unwrap();
}

/// Bytes that edits write the short way, without a word to anybody, are those that they write where
/// others listen.
#[test]
fn listening_changes_no_byte() {
    let edited = |listeners: usize| {
        let mut doc = json!({"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], "map": {}});
        for _ in 0..listeners {
            Shadow::listen(&mut doc);
        }
        for number in 0..400i64 {
            doc.set_pointer(&format!("/map/key {}", number * 7 % 300), number).unwrap();
            doc.set_pointer("/rows/0/a", number << (number % 40)).unwrap();
            doc.set_pointer("/rows/1/b", &"text ".repeat(number as usize % 50)).unwrap();
            if number % 5 == 0 {
                doc.remove_pointer(&format!("/map/key {}", number * 7 % 300)).unwrap();
                doc.set_pointer("/rows/-", &json!({"a": number, "b": null, "c": [number]}))
                    .unwrap();
            }
        }
        doc
    };
    let (plain, mut heard) = (edited(0), edited(2));
    assert!(plain.as_bytes() == heard.as_bytes());
    let first: Shadow = heard.stop_listening().unwrap();
    heard.set_pointer("/rows/0/a", -1).unwrap();
    let second: Shadow = heard.stop_listening().unwrap();
    assert!(first.reported > 10_000 && second.reported > first.reported);
    assert!(heard.stop_listening::<Shadow>().is_none() && heard.listener::<Shadow>().is_none());
    heard.set_pointer("/rows/1/a", -2).unwrap();
    assert!(second.copy(heard.storage().bytes())[..heard.as_bytes().len()] != *heard.as_bytes());
}
