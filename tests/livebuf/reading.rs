//! Reading: coercions, look-ups, order, ranges, typed columns.

use livebuf::{ColumnType, Doc, DocBuf, Encoder, ErrorKind, Key, Kind, New, json};

fn encode(events: impl FnOnce(&mut Encoder) -> livebuf::Result<()>) -> DocBuf {
    let mut encoder = Encoder::new();
    events(&mut encoder).unwrap();
    let doc = encoder.finish().unwrap();
    doc.doc().validate().unwrap();
    doc
}

/// The one coercion table of all languages (docs/design.md).
#[test]
fn numbers_coerce_as_in_serde_json() {
    let doc = encode(|e| {
        e.begin_array()?;
        e.i64(-1)?;
        e.i64(i64::MAX)?;
        e.u64(u64::MAX)?;
        e.f64(1.0)?;
        e.number_text("1e400")?;
        e.number_text("123456789012345678901234567890")?;
        e.str("1")?;
        e.bool(true)?;
        e.null()?;
        e.end_array()
    });
    let rows: Vec<_> = doc
        .valid()
        .unwrap()
        .root()
        .as_array()
        .unwrap()
        .iter()
        .map(|value| (value.kind(), value.as_i64(), value.as_u64(), value.as_f64()))
        .collect();
    let max = i64::MAX as u64;
    assert_eq!(
        rows,
        [
            (Kind::Int, Some(-1), None, Some(-1.0)),
            (Kind::Int, Some(i64::MAX), Some(max), Some(i64::MAX as f64)),
            (Kind::Uint, None, Some(u64::MAX), Some(u64::MAX as f64)),
            (Kind::Float, None, None, Some(1.0)),
            (Kind::NumberText, None, None, None),
            (Kind::NumberText, None, None, Some(1.2345678901234568e29)),
            (Kind::String, None, None, None),
            (Kind::Bool, None, None, None),
            (Kind::Null, None, None, None),
        ]
    );
}

#[test]
fn pointers_follow_rfc_6901() {
    let doc = json!({
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
        "k\"l": 6, " ": 7, "m~n": 8
    });
    let doc = doc.valid().unwrap();
    let number = |pointer| doc.pointer(pointer).and_then(|value| value.as_i64());
    let expected = ["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"];
    for (value, pointer) in expected.into_iter().enumerate() {
        assert_eq!(number(pointer), Some(value as i64), "{pointer}");
    }
    assert_eq!(doc.pointer("/foo/0").unwrap().as_str(), Some("bar"));
    assert_eq!(doc.pointer("").unwrap().kind(), Kind::Object);
    for absent in ["/foo/00", "/foo/2", "/foo/-", "/foo/+1", "/foo/0/x", "/nope", "/foo/", "foo"] {
        assert!(doc.pointer(absent).is_none(), "{absent}");
    }
    for malformed in ["foo", "/~", "/~2", "/foo~"] {
        let error = doc.checked().pointer(malformed).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadPointer, "{malformed}");
    }
}

#[test]
fn iteration_is_exact_and_double_ended() {
    let doc = json!({"a": 1, "b": 2, "c": 3});
    let object = doc.valid().unwrap().root().as_object().unwrap();
    assert_eq!(object.iter().len(), 3);
    let keys: Vec<_> = object.keys().rev().collect();
    assert_eq!(keys, ["c", "b", "a"]);
    let mut iter = object.values();
    assert_eq!(iter.next_back().unwrap().as_i64(), Some(3));
    assert_eq!(iter.next().unwrap().as_i64(), Some(1));
    assert_eq!(iter.len(), 1);
    assert_eq!(iter.next().unwrap().as_i64(), Some(2));
    assert!(iter.next().is_none() && iter.next_back().is_none());

    let doc = json!([1, "x", null]);
    let array = doc.valid().unwrap().root().as_array().unwrap();
    assert_eq!(array.iter().len(), 3);
    assert!(array.iter().nth(2).unwrap().is_null());
    assert_eq!(array.iter().next_back().unwrap().kind(), Kind::Null);
}

/// Ranges answer alike whether the object is a record or a map.
#[test]
fn ranges_prefixes_and_ends() {
    let names = ["pear", "apple", "fig", "peach", "plum", "a", "z"];
    let record = encode(|e| {
        e.begin_object()?;
        for (index, name) in names.iter().enumerate() {
            e.key(name)?;
            e.i64(index as i64)?;
        }
        e.end_object()
    });
    let map = encode(|e| {
        e.begin_object()?;
        for (index, name) in names.iter().enumerate() {
            e.key(name)?;
            e.i64(index as i64)?;
        }
        e.key(&"~".repeat(300))?;
        e.i64(99)?;
        e.end_object()
    });
    for (doc, is_map) in [(record, false), (map, true)] {
        let object = doc.valid().unwrap().root().as_object().unwrap();
        assert_eq!(object.is_map(), is_map);
        let range: Vec<_> = object.range("apple".."pear").map(|(key, _)| key).collect();
        assert_eq!(range, ["apple", "fig", "peach"]);
        let range: Vec<_> = object.range("apple"..="pear").rev().map(|(key, _)| key).collect();
        assert_eq!(range, ["pear", "peach", "fig", "apple"]);
        let prefix: Vec<_> = object.prefix("p").map(|(key, _)| key).collect();
        assert_eq!(prefix, ["peach", "pear", "plum"]);
        let (mut both, mut seen) = (object.prefix("p"), Vec::new());
        while let Some((key, _)) = both.next_back() {
            seen.push(key);
            seen.extend(both.next().map(|(key, _)| key));
        }
        assert_eq!(seen, ["plum", "peach", "pear"]);
        assert_eq!(object.first().unwrap().0, "a");
        assert_eq!(object.last().unwrap().0.as_bytes()[0], if is_map { b'~' } else { b'z' });
        assert!(object.range("q".."q").next().is_none());
        let order: Vec<_> = object.keys().take(names.len()).collect();
        assert_eq!(order, names, "insertion order");
    }
}

#[test]
fn columns_are_the_narrowest_and_borrow() {
    fn column(doc: &DocBuf) -> ColumnType {
        doc.valid().unwrap().root().as_array().unwrap().column_type()
    }
    for (low, high, expected) in [
        (-128, 127, ColumnType::I8),
        (0, 255, ColumnType::U8),
        (-129, 127, ColumnType::I16),
        (0, 65_535, ColumnType::U16),
        (-1, 65_535, ColumnType::I32),
        (0, u32::MAX as i64, ColumnType::U32),
        (-1, u32::MAX as i64, ColumnType::I64),
        (i64::MIN, i64::MAX, ColumnType::I64),
    ] {
        let doc = json!([low, high]);
        assert_eq!(column(&doc), expected, "{low} to {high}");
        let array = doc.valid().unwrap().root().as_array().unwrap();
        let back: Vec<_> = array.iter().map(|value| value.as_i64().unwrap()).collect();
        assert_eq!(back, [low, high]);
    }
    assert_eq!(column(&json!([0, u64::MAX])), ColumnType::U64);
    assert_eq!(column(&json!([-1, u64::MAX])), ColumnType::Cells);
    assert_eq!(column(&json!([0.5, 1.25])), ColumnType::F32);
    assert_eq!(column(&json!([0.1])), ColumnType::F64);
    // Of numbers of both kinds, whole values are integers, but where a bit says otherwise.
    assert_eq!(column(&json!([1, 1.5])), ColumnType::NumbersF32);
    assert_eq!(column(&json!([1, 0.1, -0.0])), ColumnType::NumbersF64);
    assert_eq!(column(&json!([1, 1.0])), ColumnType::MarkedF32);
    assert_eq!(column(&json!([1, 1.0, 0.1])), ColumnType::MarkedF64);
    assert_eq!(column(&json!([(1 << 24) + 1, 0.5])), ColumnType::NumbersF64);
    assert_eq!(column(&json!([(1i64 << 53), 0.5])), ColumnType::NumbersF64);
    assert_eq!(column(&json!([(1i64 << 53) + 1, 0.5])), ColumnType::Cells);
    // Whole floats beyond the bound are floats by rule.
    assert_eq!(column(&json!([1, 16777218.0])), ColumnType::NumbersF32);
    assert_eq!(column(&json!([1, 16777218.0, 0.1])), ColumnType::MarkedF64);
    assert_eq!(column(&json!([1, f64::NAN, 1e300])), ColumnType::NumbersF64);
    assert_eq!(column(&json!(["a", "b"])), ColumnType::String);
    assert_eq!(column(&json!([true, false])), ColumnType::Bool);
    assert_eq!(column(&json!([{}, {}])), ColumnType::Objects);
    assert_eq!(column(&json!([[], []])), ColumnType::Arrays);

    let doc = json!([1.5, 2.5, -0.0]);
    let array = doc.valid().unwrap().root().as_array().unwrap();
    assert_eq!(array.as_slice::<f32>(), Some(&[1.5f32, 2.5, -0.0][..]));
    assert_eq!(array.as_slice::<f64>(), None, "another type is another column");

    // An unaligned base reads all the same; only slices need alignment.
    let mut shifted = vec![0; doc.as_bytes().len() + 1];
    shifted[1..].copy_from_slice(doc.as_bytes());
    let moved = Doc::open(&shifted[1..]).unwrap().validate().unwrap();
    let array = moved.root().as_array().unwrap();
    assert_eq!(array.iter().map(|v| v.as_f64().unwrap()).sum::<f64>(), 4.0);
}

#[test]
fn remembered_and_bound_keys_find_what_names_find() {
    let doc = json!([
        {"id": 1, "a_long_name": "x"},
        {"a_long_name": "y", "id": 2},
        {"other": 0},
        {"id": 3, "a_long_name": "z", "more": true},
    ]);
    let rows = doc.valid().unwrap().root().as_array().unwrap();
    let (short, long) = (Key::new("id"), Key::new("a_long_name"));
    let first = rows.get(0).unwrap().as_object().unwrap();
    let bound = first.bind("a_long_name").unwrap();
    assert!(first.bind("absent").is_none());
    for _ in 0..3 {
        for row in rows {
            let by_name = (row.get("id"), row.get("a_long_name"));
            let remembered = (row.get(&short), row.get(&long));
            assert_eq!(
                by_name.0.and_then(|value| value.as_i64()),
                remembered.0.and_then(|value| value.as_i64())
            );
            let text = |value: Option<livebuf::Value<'_, livebuf::Valid>>| {
                value.and_then(|value| value.as_str()).map(String::from)
            };
            assert_eq!(text(by_name.1), text(remembered.1));
            assert_eq!(text(row.get("a_long_name")), text(row.get(&bound)));
        }
    }
}

#[test]
fn keys_of_every_length_are_found() {
    // Lengths around the cell, the fingerprint's words, and the shape's limit.
    for length in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 100, 254, 255, 256, 1000] {
        let keys = ["x", "y", "é"].map(|letter| {
            let mut key = letter.repeat(length / letter.len());
            key.extend(std::iter::repeat_n('-', length - key.len()));
            key
        });
        let doc = encode(|e| {
            e.begin_object()?;
            for key in &keys[..if length == 0 { 1 } else { 3 }] {
                e.key(key)?;
                e.str(key)?;
            }
            if length == 1 {
                e.key("\0")?;
                e.i64(0)?;
            }
            e.end_object()
        });
        let root = doc.valid().unwrap().root();
        let count = if length < 2 { 1 } else { 3 };
        for key in &keys[..count] {
            assert_eq!(root.get(key.as_str()).unwrap().as_str(), Some(key.as_str()));
            assert_eq!(root.get(&Key::new(key)).unwrap().as_str(), Some(key.as_str()));
        }
        assert_eq!(root.get("\0").is_some(), length == 1);
        assert!(root.get("absent").is_none());
    }
}

#[test]
fn partial_documents_say_what_to_fetch() {
    let doc = json!({"a": "some text that lies elsewhere", "b": [1, 2, 3]});
    let bytes = doc.as_bytes();
    assert_eq!(Doc::open(&bytes[..40]).unwrap_err().kind(), ErrorKind::Truncated);
    let partial = Doc::open_partial(&bytes[..40]).unwrap();
    let error = partial.root().get("a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfBounds);
    let needed = (error.offset() + error.detail()) as usize;
    assert!(needed > 40 && needed <= bytes.len());
    let mut length = needed;
    let text = loop {
        let partial = Doc::open_partial(&bytes[..length]).unwrap();
        match partial.root().get("a").and_then(|value| value.unwrap().as_str()) {
            Ok(text) => break text.map(String::from),
            Err(error) => length = (error.offset() + error.detail()) as usize,
        }
    };
    assert_eq!(text.as_deref(), Some("some text that lies elsewhere"));
}

#[test]
fn headers_are_checked_when_opening() {
    let doc = json!([1]);
    let open = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = doc.to_vec();
        change(&mut bytes);
        Doc::open(&bytes).map(|_| ()).unwrap_err().kind()
    };
    assert_eq!(Doc::open(b"{\"a\":1}").unwrap_err().kind(), ErrorKind::NotADocument);
    assert_eq!(Doc::open(b"").unwrap_err().kind(), ErrorKind::NotADocument);
    assert_eq!(open(&|bytes| bytes.truncate(20)), ErrorKind::Truncated);
    assert_eq!(open(&|bytes| bytes.truncate(48)), ErrorKind::Truncated);
    assert_eq!(open(&|bytes| bytes[4] = 2), ErrorKind::UnsupportedVersion);
    assert_eq!(open(&|bytes| bytes[5] = 1), ErrorKind::UnsupportedFeature);
    assert_eq!(open(&|bytes| bytes[16] = 0), ErrorKind::BadCode);
    assert_eq!(open(&|bytes| bytes[16] = 0x30), ErrorKind::BadCode);
    assert_eq!(open(&|bytes| bytes[20] = 8), ErrorKind::BadCount);
    assert_eq!(open(&|bytes| bytes[20] = 33), ErrorKind::Misaligned);
    // Read-only flags: reading is fine, editing is refused. Ignored flags: both are fine.
    let mut bytes = doc.to_vec();
    bytes[6] = 1;
    Doc::open(&bytes).unwrap().validate().unwrap();
    assert_eq!(DocBuf::from_bytes_unvalidated(&bytes).unwrap_err().kind(), ErrorKind::ReadOnly);
    bytes[6] = 0;
    bytes[7] = 1;
    DocBuf::from_bytes_unvalidated(&bytes).unwrap().validate().unwrap();
}

#[test]
fn digests_are_of_values() {
    // The example of DELTA 5.
    let doc = livebuf::json!({"a": [1, null]});
    let digest = doc.doc().root().digest(&mut 4).unwrap();
    let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let said = include_str!("../../docs/DELTA.md");
    assert!(said.contains(&format!("its digest is `{text}`")), "{text}");
    // Bug: the error named what was left of the budget.
    let error = doc.doc().root().digest(&mut 3).unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::BudgetExceeded, 3));
}

#[test]
fn bytes_find_the_keys_that_text_finds() {
    let doc = json!({"a": 1, "a longer key": {"b": 2}, "é": 3});
    let root = doc.valid().unwrap().root();
    for key in ["a", "a longer key", "é", "absent", ""] {
        assert_eq!(
            root.get(key).map(|value| value.parts()),
            root.get(key.as_bytes()).map(|value| value.parts())
        );
    }
    assert!(root.get(&[0xC3][..]).is_none(), "half a letter is no key");
}

/// Values that bindings keep over edits, or take to other documents, are wrong at worst.
#[test]
fn parts_of_other_documents_are_safe() {
    let doc = json!([{"a": "a text out of line", "b": [1, 2]}, {"b": [], "a": "short"}, null]);
    let other = json!({"list": [1.5, true], "name": "another text out of line"});
    for doc in [doc.doc(), other.doc()] {
        for tag in 0..=u8::MAX {
            for cell in (0..200).chain([u64::MAX, 1 << 63, (1 << 62) + 40, 0x8800_0000 << 32]) {
                let parts = livebuf::raw::ValueParts { tag, cell, position: cell as u32 };
                let value = livebuf::Value::from_parts(doc.as_bytes(), parts);
                assert_eq!(value.parts(), parts);
                let _ = (value.as_str(), value.as_text_bytes(), value.as_bytes(), value.len());
                let _ = (value.get("a"), value.get(1), value.pointer("/list/0"));
            }
        }
    }
}

#[test]
fn bytes_of_text_are_not_checked() {
    let doc = json!({"text": "twelve bytes"});
    let mut bytes = doc.as_bytes().to_vec();
    let at = bytes.windows(12).position(|window| window == b"twelve bytes").unwrap();
    bytes[at] = 0xFF;
    let text = Doc::open(&bytes).unwrap().root().get("text").unwrap().unwrap();
    assert_eq!(text.as_str().unwrap_err().kind(), ErrorKind::BadText);
    assert_eq!(text.as_text_bytes().unwrap().unwrap(), b"\xFFwelve bytes");
    assert_eq!(text.as_bytes().unwrap(), None);
}

/// What programs that know `serde_json::Value` write first.
#[test]
fn values_are_compared_and_looped_over_like_plain_ones() {
    let doc = json!({"name": "Ada", "born": 1815, "rate": 1.5, "is": true, "list": [1, "two"]});
    let root = doc.valid().unwrap().root();
    let get = |key: &str| root.get(key).unwrap();
    assert_eq!(get("name"), "Ada");
    assert_eq!(get("name"), *"Ada");
    assert_eq!(get("born"), 1815);
    assert_eq!(get("born"), 1815u64);
    assert_eq!(get("born"), 1815.0);
    assert_eq!(get("rate"), 1.5);
    assert_eq!(get("is"), true);
    assert_ne!(get("born"), "1815");
    assert_ne!(get("name"), 1);
    let key = String::from("born");
    assert_eq!(root.get(&key).unwrap(), 1815);
    assert!(["name", "born"].iter().all(|key| root.get(key).is_some()));
    let object = root.as_object().unwrap();
    let mut keys = Vec::new();
    for (key, _) in &object {
        keys.push(key);
    }
    assert_eq!(keys, object.into_iter().map(|(key, _)| key).collect::<Vec<_>>());
    let list = get("list").as_array().unwrap();
    assert_eq!(list.first().unwrap(), 1);
    assert_eq!(list.last().unwrap(), "two");
    assert_eq!((&list).into_iter().count(), 2);
    let empty = json!([]);
    let empty = empty.valid().unwrap().root().as_array().unwrap();
    assert!(empty.first().is_none() && empty.last().is_none());
    assert_eq!(doc.as_ref(), doc.doc().as_ref());
}

/// `{:#?}` printed `Object(3)`, which helps nobody who looks for a bug.
#[test]
fn debug_output_shows_what_is_in_containers() {
    let doc = json!({"a": [1, {"b": "x"}]});
    assert_eq!(format!("{:?}", doc.doc().root()), "Object(1)");
    let text = format!("{:#?}", doc.doc().root());
    let expected =
        "{\n    \"a\": [\n        1,\n        {\n            \"b\": \"x\",\n        },\n    ],\n}";
    assert_eq!(text, expected);
    let mut deep = json!(1);
    for _ in 0..100 {
        let around = json!([]);
        let mut outer = around;
        outer.push(outer.root_id().unwrap(), &deep).unwrap();
        deep = outer;
    }
    let text = format!("{:#?}", deep.doc().root());
    assert_eq!(text.matches('[').count(), 16, "{text}");
    assert!(text.contains("Array(1)"), "{text}");
}

/// Short texts of a run lie outside of cells, and are no damage.
#[test]
fn texts_of_runs_have_their_bytes() {
    for texts in [
        "Ada,Bo,,Dora,Eve,Fay,Gus,a longer text,Hal,Ian,Jo,Kim,Lea,Max,Ned,Ole",
        "Ada,Bob,Cyd,Dan,Eve,Fay,Gus,Hal,Ian,Jon,Kim,Lea,Max,Ned,Ole,Pia",
    ] {
        let texts: Vec<_> = texts.split(',').map(livebuf::New::Str).collect();
        let mut doc = json!(null);
        doc.set_root(livebuf::New::Items(&texts)).unwrap();
        let doc = doc.doc().compacted().unwrap();
        let array = doc.valid().unwrap().root().as_array().unwrap();
        assert!(array.as_column().run().is_some());
        let mut all = 0;
        for value in array {
            let mut found = Vec::new();
            value.regions(|region| found.push(region)).unwrap();
            let text = value.as_str().unwrap();
            assert_eq!(found.len(), usize::from(!text.is_empty()), "{text}");
            for region in found {
                assert_eq!(region.kind, livebuf::RegionKind::Text);
                let bytes = &doc.as_bytes()[region.offset as usize..][..region.length as usize];
                assert_eq!(bytes, text.as_bytes());
                all += bytes.len() as u64;
            }
        }
        let stats = doc.doc().stats().unwrap();
        assert_eq!((stats.text, stats.garbage), (all.next_multiple_of(8), 0));
    }
}

/// Texts of a dictionary are counted by their codes, gaps or not.
#[test]
fn texts_are_counted_beside_gaps() {
    let name = |row: usize| ["first sensor", "second sensor", "third sensor"][row % 3];
    let value = |row: usize| if row % 7 == 3 { New::Null } else { New::Str(name(row)) };
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    for list in 0..40 {
        let inner = doc.push(root, New::array(0)).unwrap().unwrap();
        for row in 0..10 + list % 3 {
            doc.push(inner, value(7 * list + row)).unwrap();
        }
    }
    doc.compact().unwrap();
    let doc = doc.valid().unwrap();
    let lists = doc.root().as_array().unwrap().as_column();
    let all = lists.elements().unwrap();
    assert!(all.dictionary().is_some() && !all.is_complete());
    let columns = (0..40).map(|list| {
        let value = doc.root().as_array().unwrap().get(list).unwrap();
        value.as_array().unwrap().as_column()
    });
    for column in columns.chain([all]) {
        let mut expected = std::collections::BTreeMap::new();
        for text in column.iter().filter_map(|value| value?.as_str()) {
            *expected.entry(text).or_insert(0) += 1;
        }
        assert_eq!(
            column.counts().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
            expected
        );
    }
}
