//! Editing by example; the model in `fuzz/` tries everything at random.

use std::collections::BTreeMap;

use livebuf::{
    ColumnType, DocBuf, Editor, ErrorKind, Key, Kind, New, Storage, Uuid, VecStorage, json,
};

fn text<S: Storage>(doc: &Editor<S>) -> String {
    doc.doc().validate().unwrap();
    format!("{:?}", Pretty(doc.doc().root()))
}

/// JSON-like text of a whole value.
struct Pretty<'a>(livebuf::Value<'a>);

impl std::fmt::Debug for Pretty<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.kind() {
            Kind::Object => f
                .debug_map()
                .entries(self.0.as_object().unwrap().unwrap().iter().map(|member| {
                    let (key, value) = member.unwrap();
                    (key, Pretty(value))
                }))
                .finish(),
            Kind::Array => f
                .debug_list()
                .entries(self.0.as_array().unwrap().unwrap().iter().map(|v| Pretty(v.unwrap())))
                .finish(),
            _ => self.0.fmt(f),
        }
    }
}

#[test]
fn objects() {
    let mut doc = json!({"a": 1});
    let root = doc.root_id().unwrap();
    doc.set(root, "b", "text that lies elsewhere").unwrap();
    doc.set(root, "a", ()).unwrap();
    doc.set(root, &Key::new("c"), 2.5).unwrap();
    assert_eq!(text(&doc), r#"{"a": null, "b": "text that lies elsewhere", "c": 2.5}"#);
    assert!(doc.remove(root, "b").unwrap());
    assert!(!doc.remove(root, "b").unwrap());
    doc.set(root, "d", true).unwrap();
    assert_eq!(text(&doc), r#"{"a": null, "c": 2.5, "d": true}"#);
    doc.set(root, "b", 7).unwrap();
    assert_eq!(text(&doc), r#"{"a": null, "b": 7, "c": 2.5, "d": true}"#, "b's hole is its own");
    doc.rename(root, "c", "z").unwrap();
    assert_eq!(text(&doc), r#"{"a": null, "b": 7, "z": 2.5, "d": true}"#);
    assert_eq!(doc.rename(root, "c", "x").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(doc.rename(root, "a", "b").unwrap_err().kind(), ErrorKind::KeyExists);
    assert_eq!(doc.set(root, 0, 1).unwrap_err().kind(), ErrorKind::WrongType);
    doc.clear(root).unwrap();
    assert_eq!(text(&doc), "{}");
}

#[test]
fn arrays() {
    let mut doc = json!([]);
    let root = doc.root_id().unwrap();
    doc.push(root, 1).unwrap();
    doc.push(root, 3).unwrap();
    doc.insert(root, 1, 2).unwrap();
    doc.insert(root, 3, "four").unwrap();
    doc.push(root, 5.5).unwrap();
    assert_eq!(text(&doc), r#"[1, 2, 3, "four", 5.5]"#);
    doc.swap(root, 0, 3).unwrap();
    doc.set(root, 1, New::object(0)).unwrap();
    assert_eq!(text(&doc), r#"["four", {}, 3, 1, 5.5]"#);
    let root = doc.root_id().unwrap();
    assert!(doc.remove(root, 0).unwrap());
    assert!(doc.pop(root).unwrap());
    assert_eq!(text(&doc), "[{}, 3, 1]");
    assert_eq!(doc.set(root, 3, 0).unwrap_err().kind(), ErrorKind::IndexOutOfRange);
    assert_eq!(doc.insert(root, 4, 0).unwrap_err().kind(), ErrorKind::IndexOutOfRange);
    assert_eq!(doc.set(root, "key", 0).unwrap_err().kind(), ErrorKind::WrongType);
    doc.truncate(root, 1).unwrap();
    assert_eq!(text(&doc), "[{}]");
    let root = doc.root_id().unwrap();
    doc.clear(root).unwrap();
    assert_eq!(text(&doc), "[]");
    let root = doc.root_id().unwrap();
    assert!(!doc.pop(root).unwrap());
}

#[test]
fn pointers() {
    let mut doc = json!({"list": [1], "a/b": {}});
    doc.set_pointer("/list/-", 2).unwrap();
    doc.set_pointer("/list/0", "one").unwrap();
    doc.set_pointer("/a~1b/new", true).unwrap();
    assert_eq!(text(&doc), r#"{"list": ["one", 2], "a/b": {"new": true}}"#);
    assert!(doc.remove_pointer("/list/0").unwrap());
    assert!(!doc.remove_pointer("/list/9").unwrap());
    assert_eq!(doc.set_pointer("/no/where", 1).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(doc.set_pointer("/list/0/x", 1).unwrap_err().kind(), ErrorKind::WrongType);
    assert_eq!(doc.set_pointer("/list/x", 1).unwrap_err().kind(), ErrorKind::WrongType);
    assert_eq!(doc.set_pointer("list", 1).unwrap_err().kind(), ErrorKind::BadPointer);
    let before = text(&doc);
    let error = doc.remove_pointer("").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().ends_with("a document always has a value; replace it by null"));
    assert_eq!(text(&doc), before);
}

#[test]
fn handles_survive_growth_and_moves() {
    let mut doc = json!({"inner": {"a": 1}, "list": []});
    let root = doc.root_id().unwrap();
    let inner = doc.child(root, "inner").unwrap().unwrap();
    let list = doc.child(root, "list").unwrap().unwrap();
    // The record outgrows its place, twice, then becomes a map; the empty array gets a body.
    for index in 0..400 {
        doc.set(inner, format!("k{index}").as_str(), index).unwrap();
        doc.push(list, format!("a text to push, {index}").as_str()).unwrap();
    }
    assert!(doc.value(inner).unwrap().as_object().unwrap().unwrap().is_map());
    assert_eq!(doc.value(inner).unwrap().len().unwrap(), Some(401));
    assert_eq!(doc.value(list).unwrap().len().unwrap(), Some(400));
    assert_eq!(doc.value(inner).unwrap().get("a").unwrap().unwrap().as_i64(), Some(1));
    // Scalars come and go without harm.
    doc.remove(inner, "k7").unwrap();
    doc.remove(list, 3).unwrap();
    assert!(doc.is_current(inner) && doc.is_current(list));
    doc.doc().validate().unwrap();
}

#[test]
fn stale_and_foreign_handles_are_refused() {
    let mut doc = json!({"gone": {"x": 1}, "kept": [1]});
    let root = doc.root_id().unwrap();
    let gone = doc.child(root, "gone").unwrap().unwrap();
    let kept = doc.child(root, "kept").unwrap().unwrap();
    doc.remove(root, "gone").unwrap();
    assert_eq!(doc.set(gone, "x", 2).unwrap_err().kind(), ErrorKind::StaleHandle);
    assert_eq!(doc.push(gone, 2).unwrap_err().kind(), ErrorKind::StaleHandle);
    assert_eq!(doc.value(gone).unwrap_err().kind(), ErrorKind::StaleHandle);
    // Nothing else is stale, although the space may be used again.
    doc.set(root, "new", json!({"x": 3}).doc().root()).unwrap();
    assert!(!doc.is_current(gone) && doc.is_current(kept) && doc.is_current(root));
    doc.push(kept, 2).unwrap();
    doc.remove(root, "new").unwrap();
    doc.pop(kept).unwrap();
    let other = json!({"x": 1});
    let foreign = other.root_id().unwrap();
    assert_eq!(doc.set(foreign, "x", 2).unwrap_err().kind(), ErrorKind::StaleHandle);
    // A cursor keeps its own handle fresh.
    let mut root = doc.root_mut().unwrap();
    root.set("new", New::object(0)).unwrap();
    root.remove("new").unwrap();
    root.set("new", 1).unwrap();
    assert_eq!(text(&doc), r#"{"kept": [1], "new": 1}"#);
}

#[test]
fn values_move_without_copying() {
    let mut doc = json!({"from": {"deep": ["a text that lies elsewhere"]}, "to": []});
    let root = doc.root_id().unwrap();
    let from = doc.child(root, "from").unwrap().unwrap();
    let to = doc.child(root, "to").unwrap().unwrap();
    let used = doc.as_bytes().len();
    let deep = doc.child(from, "deep").unwrap().unwrap();
    let detached = doc.detach(from, "deep").unwrap().unwrap();
    assert!(doc.is_current(deep));
    doc.push(to, &detached).unwrap();
    assert_eq!(text(&doc), r#"{"from": {}, "to": [["a text that lies elsewhere"]]}"#);
    assert!(doc.as_bytes().len() <= used + 64, "the text did not move");

    let root = doc.root_id().unwrap();
    let to = doc.child(root, "to").unwrap().unwrap();
    let detached = doc.detach(to, 0).unwrap().unwrap();
    doc.discard(detached).unwrap();
    let stats = doc.doc().stats().unwrap();
    assert_eq!(stats.text, 0, "{stats:?}");
    assert_eq!(text(&doc), r#"{"from": {}, "to": []}"#);
}

/// A column of numbers that has no integer left is still one, not cells.
#[test]
fn a_column_of_numbers_without_integers_takes_floats() {
    let column = |doc: &DocBuf| doc.root().as_array().unwrap().unwrap().column_type();
    let mut doc = json!([1, 1.5]);
    doc.remove_pointer("/0").unwrap();
    doc.set_pointer("/-", 0.1).unwrap();
    assert_eq!((text(&doc), column(&doc)), ("[1.5, 0.1]".into(), ColumnType::NumbersF64));
    let mut doc = json!([2, 1.5]);
    doc.set_pointer("/0", 2.0).unwrap();
    assert_eq!((text(&doc), column(&doc)), ("[2.0, 1.5]".into(), ColumnType::MarkedF32));
    doc.doc().validate().unwrap();
}

/// Texts that repeat, as the encoder stores them.
/// Null in an array of values of one type leaves it a column of that type: pushed, inserted, set and
/// among the elements of a new array.
#[test]
fn null_gives_arrays_gaps() {
    let at = |doc: &DocBuf, pointer: &str| {
        let value = doc.valid().unwrap().pointer(pointer).unwrap();
        let column = value.as_array().unwrap().as_column();
        (column.column_type(), column.is_complete(), format!("{:?}", Pretty(value.checked())))
    };
    let mut doc = json!({"ints": [1], "floats": [], "texts": ["a"], "flags": [true], "first": []});
    let root = doc.root_id().unwrap();
    for n in 0..100 {
        let is_null = n % 7 == 3;
        doc.set_pointer("/ints/-", (!is_null).then_some(n)).unwrap();
        doc.set_pointer("/floats/-", (!is_null).then_some(n as f64 / 4.0)).unwrap();
        let text = format!("text {n}");
        doc.set_pointer("/texts/-", (!is_null).then_some(text.as_str())).unwrap();
        doc.set_pointer("/flags/-", (!is_null).then_some(n % 2 == 0)).unwrap();
    }
    for (pointer, kind) in [
        ("/ints", ColumnType::I8),
        ("/floats", ColumnType::F64),
        ("/texts", ColumnType::String),
        ("/flags", ColumnType::Bool),
    ] {
        let (found, complete, _) = at(&doc, pointer);
        assert_eq!((found, complete), (kind, false), "{pointer}");
    }
    let column = doc.valid().unwrap().pointer("/ints").unwrap().as_array().unwrap().as_column();
    assert_eq!(
        column.i64s().flatten().sum::<i64>(),
        1 + (0..100).filter(|n| n % 7 != 3).sum::<i64>()
    );
    doc.set_pointer("/ints/4", 3).unwrap();
    doc.set_pointer("/ints/5", ()).unwrap();
    doc.set_pointer("/ints/6", 0.5).unwrap();
    let ints = doc.pointer("/ints").unwrap().unwrap().as_array().unwrap().unwrap();
    let head: Vec<_> = ints.iter().take(8).map(|value| format!("{:?}", value.unwrap())).collect();
    assert_eq!(head, ["1", "0", "1", "2", "3", "null", "0.5", "6"]);
    doc.validate().unwrap();

    // The first one says what an array holds.
    doc.set_pointer("/first/-", ()).unwrap();
    doc.set_pointer("/first/-", 1).unwrap();
    assert_eq!(at(&doc, "/first").0, ColumnType::Cells);
    doc.set(root, "only", New::Items(&[New::Int(1)])).unwrap();
    doc.set_pointer("/only/0", ()).unwrap();
    assert_eq!(at(&doc, "/only").0, ColumnType::Cells);

    doc.set(root, "new", New::Items(&[New::Int(1), New::Null, New::Float(0.5)])).unwrap();
    assert_eq!(at(&doc, "/new"), (ColumnType::NumbersF64, false, "[1, null, 0.5]".into()));
    doc.set(root, "mixed", New::Items(&[New::Int(1), New::Null, New::Str("a")])).unwrap();
    assert_eq!(at(&doc, "/mixed"), (ColumnType::Cells, false, "[1, null, \"a\"]".into()));

    let (id, other) = (Uuid::from_bytes([7; 16]), Uuid::from_bytes([8; 16]));
    doc.set(root, "ids", New::Items(&[id.into(), New::Null])).unwrap();
    doc.set_pointer("/ids/-", other).unwrap();
    let (kind, complete, _) = at(&doc, "/ids");
    assert_eq!((kind, complete), (ColumnType::Uuid, false));
    let ids = doc.valid().unwrap().pointer("/ids").unwrap().as_array().unwrap();
    let found: Vec<_> = ids.iter().map(|value| value.as_uuid()).collect();
    assert_eq!(found, [Some(id), None, Some(other)]);

    // Where gaps could not be edited, there are none.
    let sound = json!({"ints": [1, 2]});
    let mut doc =
        Editor::open_unvalidated(VecStorage::from_slice(sound.as_bytes()).unwrap()).unwrap();
    doc.set_pointer("/ints/-", ()).unwrap();
    doc.set_pointer("/ints/-", 3).unwrap();
    doc.validate().unwrap();
    assert_eq!(at(&doc, "/ints"), (ColumnType::Cells, false, "[1, 2, null, 3]".into()));
}

fn dictionary(count: usize, texts: &[&str]) -> DocBuf {
    let items: Vec<New<'_>> = (0..count).map(|at| texts[at % texts.len()].into()).collect();
    let mut doc = json!(null);
    doc.set_root(New::Items(&items)).unwrap();
    doc.doc().compacted().unwrap()
}

#[test]
fn a_dictionary_takes_texts_that_it_has_and_new_ones() {
    let column = |doc: &DocBuf| doc.root().as_array().unwrap().unwrap().column_type();
    let mut doc = dictionary(20, &["open", "closed for good", "held"]);
    assert_eq!(column(&doc), ColumnType::DictionaryU8);
    let length = doc.as_bytes().len();
    for (at, text) in [(0, "held"), (1, "closed for good"), (7, "open")] {
        doc.set_pointer(&format!("/{at}"), text).unwrap();
    }
    assert_eq!((doc.as_bytes().len(), column(&doc)), (length, ColumnType::DictionaryU8));
    doc.set_pointer("/3", "lost and found").unwrap();
    doc.set_pointer("/4", "lost and found").unwrap();
    doc.push(doc.root_id().unwrap(), "lost and found").unwrap();
    doc.swap(doc.root_id().unwrap(), 0, 20).unwrap();
    doc.remove_pointer("/1").unwrap();
    assert_eq!(column(&doc), ColumnType::DictionaryU8);
    let array = doc.doc().root().as_array().unwrap().unwrap();
    let texts = array.as_column().dictionary().unwrap().unwrap();
    assert_eq!(texts.texts().len(), 4);
    assert_eq!(array.as_column().find("held").unwrap(), Some(1));
    assert_eq!(array.as_column().find("lost and found").unwrap(), Some(0));
    assert_eq!(array.as_column().find("gone").unwrap(), None);
    let mut counts = array.as_column().counts().unwrap();
    counts.sort();
    let all = [("closed for good", 4), ("held", 7), ("lost and found", 3), ("open", 6)];
    assert_eq!(counts, all);
    doc.doc().validate().unwrap();

    // Null, and what is no text.
    doc.set_pointer("/5", ()).unwrap();
    assert_eq!(column(&doc), ColumnType::DictionaryU8);
    doc.set_pointer("/6", 7).unwrap();
    assert_eq!(column(&doc), ColumnType::Cells);
    doc.doc().validate().unwrap();
}

/// Several codes may stand for one text (FORMAT 6.1). Looking for each code by itself took time
/// by the texts times the rows, in a valid document.
#[test]
fn equal_texts_of_a_dictionary_are_one() {
    let texts: Vec<_> = (0..60_000).map(|number| format!("{number}")).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let doc = dictionary(200_000, &texts);
    let mut bytes = doc.to_vec();
    let cell = |text: &str| {
        let mut cell = [0; 8];
        cell[..text.len()].copy_from_slice(text.as_bytes());
        cell[7] = 0x80 | text.len() as u8;
        cell
    };
    // All texts but the first and the last become the second.
    let at =
        |bytes: &[u8], cell: [u8; 8]| bytes.chunks(8).position(|word| word == cell).unwrap() * 8;
    let (second, last) = (at(&bytes, cell("1")), at(&bytes, cell("59999")));
    for place in (second..last).step_by(8) {
        bytes[place..place + 8].copy_from_slice(&cell("1"));
    }
    let doc = livebuf::Doc::open(&bytes).unwrap().validate().unwrap();
    let column = doc.root().as_array().unwrap().as_column();
    assert_eq!(column.column_type(), ColumnType::DictionaryU16);
    assert_eq!((column.find("0"), column.find("1"), column.find("2")), (Some(0), Some(1), None));
    assert_eq!(column.slice(59_999..).find("1"), Some(2));
    assert_eq!(column.slice(..1).find("1"), None);
    assert_eq!(column.counts(), [("0", 4), ("1", 199_993), ("59999", 3)]);
}

#[test]
fn a_dictionary_grows_its_codes_and_ends_where_texts_do_not_repeat() {
    let column = |doc: &DocBuf| doc.root().as_array().unwrap().unwrap().column_type();
    let mut doc = dictionary(300, &["a", "a longer text"]);
    let mut model: Vec<String> =
        (0..300).map(|at| ["a", "a longer text"][at % 2].to_owned()).collect();
    let mut met = vec![column(&doc)];
    for (at, model) in model.iter_mut().enumerate() {
        *model = format!("new {at}");
        doc.set_pointer(&format!("/{at}"), &**model).unwrap();
        if met.last() != Some(&column(&doc)) {
            met.push(column(&doc));
            doc.doc().validate().unwrap();
        }
    }
    let types = [ColumnType::DictionaryU8, ColumnType::DictionaryU16, ColumnType::String];
    assert_eq!(met, types);
    let array = doc.doc().root().as_array().unwrap().unwrap();
    let found: Vec<_> = array.as_column().strs().flatten().collect();
    assert_eq!(found, model);
    // A text that is too long.
    let mut doc = dictionary(20, &["a", "b"]);
    doc.set_pointer("/0", &*"long ".repeat(205)).unwrap();
    assert_eq!(column(&doc), ColumnType::String);
    doc.doc().validate().unwrap();
}

/// EDITING 9: the copy of a column that has no elements.
#[test]
fn columns_without_elements_are_copied_as_plain_ones() {
    let copied = |value: DocBuf, full: usize| {
        let mut doc = value.doc().compacted().unwrap();
        let root = doc.root_id().unwrap();
        for _ in 0..full {
            assert!(doc.remove(root, 0).unwrap());
        }
        let mut copy = json!(null);
        copy.set_root(doc.doc().root()).unwrap();
        copy.validate().unwrap();
        let elements = |doc: &DocBuf| {
            assert_eq!(doc.root().as_array().unwrap().unwrap().column_type(), ColumnType::List);
            let array = doc.doc().root().get(0).unwrap().unwrap().as_array().unwrap().unwrap();
            (array.column_type(), array.len())
        };
        (elements(&doc), elements(&copy))
    };
    let texts = ["open", "closed", "open", "closed", "open", "closed", "open", "closed", "open"];
    let texts = json!([texts, texts, [], [], [], []]);
    let (dictionary, plain) = (ColumnType::DictionaryU8, ColumnType::String);
    assert_eq!(copied(texts, 2), ((dictionary, 0), (plain, 0)));
    let nulls = json!([[null, null], [null], [], [], [], []]);
    assert_eq!(copied(nulls, 2), ((ColumnType::Null, 0), (ColumnType::Cells, 0)));
}

/// Columns are copied and freed as a whole, so the levels in them are counted without their rows.
#[test]
fn copied_columns_nest_as_deep_as_their_rows() {
    let long = "a text that lies elsewhere";
    let values = [
        json!([1, 2]),
        json!([{"a": null, "t": long}, {"a": null, "t": long}]),
        json!([{"a": {"b": 1}}, {"a": null}, {"a": {"b": 2}}]),
        json!([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
        json!([[long, null], [long, long], [], []]),
        json!([{"a": [1], "b": 1}, {"a": [2], "b": {"c": [long]}}, {"a": [3], "b": null}]),
        json!([{"a": 1, "b": 2}, {"a": 3, "b": 4}, {"a": 5, "b": 6, "c": {"d": [[long]]}}]),
        json!([{"a": [{"b": long}, {"b": long}]}, {"a": [{"b": long}, {"b": [long]}]}]),
    ];
    for value in values {
        let depth = deepest(value.root());
        let limited = |nesting| {
            let mut doc = json!({"before": long});
            let mut limits = doc.limits();
            limits.nesting = nesting;
            doc.set_limits(limits);
            doc
        };
        let refused = limited(depth).set_pointer("/copy", &value).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NestingLimit, "{depth} levels and the root");

        let mut doc = limited(depth + 1);
        doc.set_pointer("/copy", &value).unwrap();
        assert!(doc.pointer("/copy").unwrap().unwrap() == value.root());
        let mut used = Vec::new();
        for _ in 0..9 {
            doc.set_pointer("/copy", ()).unwrap();
            doc.set_pointer("/copy", &value).unwrap();
            doc.validate().unwrap();
            used.push(doc.as_bytes().len());
        }
        // What a copy takes is free with it, so the document grows no more.
        assert!(used[3..].iter().max() <= used[..3].iter().max(), "{used:?}");
    }
}

/// How many containers nest in a value.
fn deepest(value: livebuf::Value<'_>) -> u16 {
    let below: Vec<_> = match (value.as_object().unwrap(), value.as_array().unwrap()) {
        (Some(object), _) => object.iter().map(|member| deepest(member.unwrap().1)).collect(),
        (_, Some(array)) => array.iter().map(|element| deepest(element.unwrap())).collect(),
        _ => return 0,
    };
    1 + below.into_iter().max().unwrap_or(0)
}

#[test]
fn values_of_a_dictionary_live_on_without_it() {
    let rows = |count: usize| {
        let texts = ["a text that repeats", "short", "another long one"];
        let rows = (0..count).map(|at| format!("{{\"id\":{at},\"text\":\"{}\"}}", texts[at % 3]));
        format!("[{}]", rows.collect::<Vec<_>>().join(","))
    };
    let json = rows(12);
    let mut doc: DocBuf =
        livebuf::to_doc(&serde_json::from_str::<serde_json::Value>(&json).unwrap()).unwrap();
    let table = doc.valid().unwrap().root().as_array().unwrap().table().unwrap();
    assert_eq!(table.column("text").unwrap().column_type(), ColumnType::DictionaryU8);
    let root = doc.root_id().unwrap();
    let row = doc.detach(root, 3usize).unwrap().unwrap();
    doc.clear(root).unwrap();
    doc.push(root, &row).unwrap();
    assert_eq!(text(&doc), r#"[{"id": 3, "text": "a text that repeats"}]"#);
    doc.doc().validate().unwrap();
}

#[test]
fn flags_that_an_editor_does_not_know_are_cleared() {
    let mut bytes = json!({"lap": 55}).to_vec();
    bytes[livebuf::layout::HEADER_IGNORE_FLAGS as usize] = 0x81;
    assert!(livebuf::Doc::open(&bytes).unwrap().validate().is_ok());
    let doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
    assert_eq!(doc.as_bytes(), json!({"lap": 55}).as_bytes());

    // With the fields of the aux block that they may give a meaning.
    let mut doc = json!({"text": "some bytes that are freed"});
    doc.set_pointer("/text", 1).unwrap();
    let freed = doc.to_vec();
    let aux = freed[livebuf::layout::HEADER_AUX as usize] as usize;
    let mut bytes = freed.clone();
    bytes[aux + livebuf::layout::AUX_REVISION as usize] = 7;
    assert_eq!(
        livebuf::Doc::open(&bytes).unwrap().validate().err().unwrap().kind(),
        ErrorKind::NotZero
    );
    bytes[livebuf::layout::HEADER_IGNORE_FLAGS as usize] = 1;
    assert!(livebuf::Doc::open(&bytes).unwrap().validate().is_ok());
    assert_eq!(DocBuf::from_bytes_unvalidated(&bytes).unwrap().as_bytes(), freed);
}

#[test]
fn a_value_that_cannot_be_hung_is_kept() {
    let mut buffer = [0; 176];
    let mut doc = Editor::create(&mut buffer[..]).unwrap();
    let root = doc.set_root(New::object(2)).unwrap().unwrap();
    doc.set(root, "kept", "a text that lies elsewhere").unwrap();
    let detached = doc.detach(root, "kept").unwrap().unwrap();
    let long = "a key too long for the room there is ".repeat(3);
    let error = doc.set(root, long.as_str(), &detached).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    doc.set(root, "kept", &detached).unwrap();
    assert_eq!(text(&doc), r#"{"kept": "a text that lies elsewhere"}"#);
    // It hangs once.
    let error = doc.set(root, "kept", &detached).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleHandle);
    doc.doc().validate().unwrap();
}

#[test]
fn grafts_copy_from_other_documents() {
    let mut source = json!({"rows": [{"id": 1, "name": "a longer name"}, {"id": 2, "name": "b"}]});
    let rows = source.find("/rows").unwrap().unwrap();
    for index in 0..300 {
        source.set_pointer("/rows/-", New::object(2)).unwrap();
        let row = source.child(rows, index + 2).unwrap().unwrap();
        source.set(row, "id", index).unwrap();
        source.set(row, "name", format!("name number {index}").as_str()).unwrap();
    }
    let mut doc = json!({"x": 1});
    doc.set_pointer("/rows", source.doc().pointer("/rows").unwrap().unwrap()).unwrap();
    let (a, b) = (doc.doc().pointer("/rows"), source.doc().pointer("/rows"));
    assert!(a.unwrap().unwrap().deep_eq(b.unwrap().unwrap(), &mut 10_000).unwrap());
    let stats = doc.doc().validate().and(doc.doc().stats()).unwrap();
    assert!(stats.shapes < 200, "rows share a shape: {stats:?}");
}

#[test]
fn foreign_documents_are_only_appended_to() {
    let doc = json!({"a": "a text that lies elsewhere", "b": {"x": [1, 2, 3]}});
    let mut foreign = DocBuf::from_bytes_unvalidated(doc.as_bytes()).unwrap();
    assert!(!foreign.is_trusted() && foreign.valid().is_err());
    let root = foreign.root_id().unwrap();
    foreign.set(root, "a", "another text that lies elsewhere").unwrap();
    foreign.remove(root, "b").unwrap();
    let stats = foreign.doc().stats().unwrap();
    assert_eq!(stats.free, 0);
    assert!(stats.garbage >= 26);
    foreign.validate().unwrap();
    assert!(foreign.valid().is_ok());
    let root = foreign.root_id().unwrap();
    foreign.remove(root, "a").unwrap();
    foreign.set(root, "c", 1).unwrap();
    assert_eq!(text(&foreign), r#"{"c": 1}"#);
}

#[test]
fn records_share_shapes() {
    let mut doc = json!([]);
    let root = doc.root_id().unwrap();
    for index in 0..100 {
        let row = doc.push(root, New::object(3)).unwrap().unwrap();
        doc.set(row, "id", index).unwrap();
        doc.set(row, "name", "n").unwrap();
        if index % 2 == 0 {
            doc.set(row, "even", true).unwrap();
        } else {
            doc.set(row, "odd", true).unwrap();
        }
    }
    let stats = doc.doc().stats().unwrap();
    assert!(stats.shapes <= 200, "{stats:?}");
}

/// An object's keys, in their order.
fn keys<S: Storage>(doc: &Editor<S>, pointer: &str) -> String {
    doc.doc().validate().unwrap();
    let value = doc.doc().pointer(pointer).unwrap().unwrap();
    let object = value.as_object().unwrap().unwrap();
    let keys: Vec<_> = object.keys().map(|key| key.unwrap()).filter(|key| key.len() < 4).collect();
    keys.join(" ")
}

/// Records: the order of first insertion; a key that comes back has its old place.
#[test]
fn members_of_records_keep_the_order_of_first_insertion() {
    let mut doc = json!({"a": 1, "b": 2, "c": 3});
    let root = doc.root_id().unwrap();
    doc.set(root, "d", 4).unwrap();
    doc.set(root, "b", "another value").unwrap();
    assert_eq!(keys(&doc, ""), "a b c d");
    doc.remove(root, "b").unwrap();
    assert_eq!(keys(&doc, ""), "a c d");
    doc.set(root, "b", 5).unwrap();
    assert_eq!(keys(&doc, ""), "a b c d");
    doc.rename(root, "c", "z").unwrap();
    assert_eq!(keys(&doc, ""), "a b z d");
}

/// Maps: the order of insertion; a key that comes back is the last.
#[test]
fn keys_of_a_map_of_rows_are_a_column() {
    let names: Vec<String> = (0..300).map(|n| format!("member {n:03}")).collect();
    let members = (0..).zip(&names).map(|(n, name)| (name, BTreeMap::from([("n", n)])));
    let mut doc = livebuf::to_doc(&members.collect::<BTreeMap<_, _>>()).unwrap();
    let keys = |doc: &DocBuf| -> Option<Vec<String>> {
        let object = doc.valid().unwrap().root().as_object().unwrap();
        // Unvalidated views answer the same.
        let checked = doc.doc().root().as_object().unwrap().unwrap().keys_as_column().unwrap();
        assert_eq!(checked.is_some(), object.keys_as_column().is_some());
        let column = object.keys_as_column()?;
        assert_eq!(object.table().unwrap().rows(), column.len());
        Some(column.iter().map(|key| key.unwrap().as_str().unwrap().to_owned()).collect())
    };
    assert_eq!(keys(&doc).unwrap(), names);

    let root = doc.root_id().unwrap();
    doc.set(root, "", New::Fields(&[("n", 7.into())])).unwrap();
    assert_eq!(keys(&doc).unwrap()[300], "");
    doc.remove(root, "member 007").unwrap();
    assert_eq!(keys(&doc), None);
    doc.compact().unwrap();
    assert_eq!(keys(&doc).unwrap().len(), 300);

    // Records and maps of other values have no such column.
    assert_eq!(keys(&json!({"a": 1})), None);
    let plain = (0..300).map(|n| (format!("{n}"), n)).collect::<BTreeMap<_, _>>();
    assert_eq!(keys(&livebuf::to_doc(&plain).unwrap()), None);
}

#[test]
fn members_of_maps_keep_the_order_of_insertion() {
    let mut doc = json!({"a": 1, "b": 2, "c": 3});
    let root = doc.root_id().unwrap();
    for index in 0..300 {
        doc.set(root, format!("further {index}").as_str(), index).unwrap();
    }
    assert!(doc.value(root).unwrap().as_object().unwrap().unwrap().is_map());
    doc.set(root, "d", 4).unwrap();
    doc.set(root, "b", "another value").unwrap();
    assert_eq!(keys(&doc, ""), "a b c d");
    doc.remove(root, "b").unwrap();
    doc.set(root, "b", 5).unwrap();
    assert_eq!(keys(&doc, ""), "a c d b");
    doc.rename(root, "c", "z").unwrap();
    assert_eq!(keys(&doc, ""), "a z d b");
}

/// Rows: the columns in their order, then further fields as they were added.
#[test]
fn members_of_rows_have_the_order_of_columns() {
    let mut doc = json!([
        {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 3}, {"a": 1, "b": 2}
    ]);
    assert_eq!(doc.doc().stats().unwrap().table_count, 1);
    let row =
        |doc: &DocBuf, index: usize| doc.child(doc.root_id().unwrap(), index).unwrap().unwrap();
    for (index, pointer) in ["/0", "/1", "/2", "/3"].into_iter().enumerate() {
        // Missing or removed, a column's field comes back in its place.
        let node = row(&doc, index);
        doc.set(node, "y", 4).unwrap();
        doc.set(node, "x", 5).unwrap();
        doc.remove(node, "b").unwrap();
        assert_eq!(keys(&doc, pointer).replace(" c", ""), "a y x");
        doc.set(node, "b", 7).unwrap();
        doc.set(node, "c", 7).unwrap();
        assert_eq!(keys(&doc, pointer), "a b c y x");
        // A further field is a record's: it keeps its place among them.
        doc.remove(node, "y").unwrap();
        doc.set(node, "y", 6).unwrap();
        assert_eq!(keys(&doc, pointer), "a b c y x");
    }
    // Renamed: where the other key has its column, or behind all columns.
    let node = row(&doc, 0);
    doc.rename(node, "c", "z").unwrap();
    assert_eq!(keys(&doc, "/0"), "a b y x z");
    doc.rename(row(&doc, 0), "x", "c").unwrap();
    assert_eq!(keys(&doc, "/0"), "a b c y z");
    // A row that is taken out and hung elsewhere is an object with the same order.
    let mut cursor = doc.node_mut(doc.root_id().unwrap()).unwrap();
    let detached = cursor.detach(0usize).unwrap().unwrap();
    cursor.push(&detached).unwrap();
    assert_eq!(keys(&doc, "/3"), "a b c y z");
}

/// Bug: lists of a fixed length without any elements may claim any length; slots for two
/// of them were counted in 32 bits. Effect: a panic, or too few slots. Now the element
/// limit refuses them.
#[test]
fn lists_of_a_claimed_length_do_not_overflow() {
    let mut doc = json!([
        {"a": [[1, 2], [3, 4], [5, 6], [7, 8]]}, {"a": []}, {"a": [[1, 2], [3, 4]]}, {"a": []}
    ]);
    let root = doc.root_id().unwrap();
    doc.remove(root, 2usize).unwrap();
    doc.remove(doc.root_id().unwrap(), 0usize).unwrap();
    let mut bytes = doc.to_vec();
    let list = [9, 1, 0, 0, 2, 0, 0, 0];
    let at = bytes.windows(8).position(|window| window == list).expect("a list of pairs");
    bytes[at + 4..at + 8].copy_from_slice(&0x8000_0001u32.to_le_bytes());
    let storage = livebuf::VecStorage::from_slice(&bytes).unwrap();
    let mut doc = Editor::open_unvalidated(storage).unwrap();
    doc.validate().unwrap();
    let other = json!({"a": [null, null]});
    let error = doc.push(doc.root_id().unwrap(), other.doc().root()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ElementLimit);
    assert_eq!(doc.as_bytes(), bytes);
}

/// The first object of a document is stored by one run, within another value by two. Both store the
/// same, take as many bytes, and refuse the same.
#[test]
fn a_message_is_stored_as_an_object_within_is() {
    let text = |index: usize, length: usize| -> String {
        let start = format!("{index}");
        start.chars().chain(std::iter::repeat('é')).take(length.max(start.len())).collect()
    };
    let lengths = [1, 3, 6, 7, 8, 40, 127, 128];
    for (count, string) in [0, 1, 2, 7, 8, 9, 16, 17, 255, 256]
        .into_iter()
        .flat_map(|count| [(count, u32::MAX), (count, 200), (count, 13)])
    {
        let keys: Vec<_> = (0..count).map(|at| text(at, lengths[at % 8])).collect();
        let texts: Vec<_> = (0..count).map(|at| text(at, lengths[at * 5 % 8])).collect();
        let mut fields: Vec<(&str, New<'_>)> = Vec::new();
        for (at, (key, text)) in keys.iter().zip(&texts).enumerate() {
            let value = [New::Str(text), New::Int(at as i64), New::Float(0.5), New::Null];
            fields.push((key, value[at % 4]));
        }
        for twice in [false, true] {
            if twice && count > 1 {
                fields[count - 1].0 = fields[0].0;
            }
            let (mut alone, mut within) = (DocBuf::new().unwrap(), DocBuf::new().unwrap());
            let mut limits = alone.limits();
            (limits.string, limits.elements) = (string, 255);
            alone.set_limits(limits);
            within.set_limits(limits);
            let before = alone.to_vec();
            let stored = alone.set_root(New::Fields(&fields));
            let other = within.set_root(New::Items(&[New::Fields(&fields)]));
            match (stored, other) {
                (Ok(_), Ok(_)) => {
                    let mut budget = u64::MAX;
                    alone.doc().validate().unwrap();
                    assert_eq!(alone.root().len().unwrap(), Some(fields.len()));
                    assert!(
                        alone.root().deep_eq(within.get(0).unwrap().unwrap(), &mut budget).unwrap()
                    );
                    assert_eq!(alone.as_bytes().len() + 24, within.as_bytes().len());
                    let size = alone.as_bytes().len();
                    let mut exact = vec![0; size];
                    let mut doc = Editor::create(&mut exact[..]).unwrap();
                    doc.set_root(New::Fields(&fields)).unwrap();
                    assert_eq!(doc.as_bytes(), alone.as_bytes());
                    let mut short = vec![0; size - 8];
                    if let Ok(mut doc) = Editor::create(&mut short[..]) {
                        let error = doc.set_root(New::Fields(&fields)).unwrap_err();
                        assert_eq!(error.kind(), ErrorKind::NoSpace);
                        assert_eq!(doc.as_bytes(), before);
                    }
                }
                (Err(error), Err(other)) => {
                    assert_eq!((error.kind(), error.detail()), (other.kind(), other.detail()));
                    assert_eq!(alone.as_bytes(), before);
                }
                (stored, other) => panic!("{count} members: {stored:?}, within {other:?}"),
            }
        }
    }
}

/// What was detached hangs once, so it cannot be a part of a slice, which may be used again.
#[test]
fn detached_values_are_no_parts_of_slices() {
    let mut doc = json!({"a": [1], "b": []});
    let (root, list) = (doc.root_id().unwrap(), doc.find("/b").unwrap().unwrap());
    let detached = doc.detach(root, "a").unwrap().unwrap();
    let before = doc.to_vec();
    let parts = [New::from(&detached)];
    let fields = [("c", New::from(&detached))];
    for error in [
        doc.push(list, New::Items(&parts)).unwrap_err(),
        doc.set(root, "c", New::Items(&[New::Items(&parts)])).unwrap_err(),
        doc.set(root, "c", New::Fields(&fields)).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    assert_eq!(doc.as_bytes(), before);
    doc.push(list, &detached).unwrap();
    doc.validate().unwrap();
}

/// Bytes that others own.
struct Borrowed<'b>(&'b [u8]);

impl Storage for Borrowed<'_> {
    const ZEROED: bool = false;
    fn bytes(&self) -> &[u8] {
        self.0
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        panic!("asked for bytes to write")
    }
    fn is_writable(&self) -> bool {
        false
    }
    fn grow(&mut self, _: u64) -> livebuf::Result<()> {
        panic!("asked to grow")
    }
}

#[test]
fn storage_that_cannot_be_written_is_read_and_every_edit_refused() {
    let mut bytes = json!({"list": [1, 2, [3]], "name": "Ada", "empty": []}).to_vec();
    bytes[livebuf::layout::HEADER_IGNORE_FLAGS as usize] = 1;
    bytes[livebuf::layout::HEADER_READ_ONLY_FLAGS as usize] = 1;
    assert_eq!(Editor::open_unvalidated(&mut bytes[..]).err().unwrap().kind(), ErrorKind::ReadOnly);
    let mut doc = Editor::open_unvalidated(Borrowed(&bytes)).unwrap();
    let (root, list) = (doc.root_id().unwrap(), doc.find("/list").unwrap().unwrap());
    assert_eq!(doc.doc().pointer("/list/2/0").unwrap().unwrap().as_i64(), Some(3));
    let inner = doc.value(list).unwrap().get(2).unwrap().unwrap();
    assert_eq!(doc.handle_of(&inner, list), doc.child(list, 2).unwrap());
    assert_eq!(doc.handle_of(&json!([]).doc().root(), list), None);
    assert_eq!(doc.handle_of(&doc.doc().pointer("/name").unwrap().unwrap(), root), None);

    let empty = doc.child(root, "empty").unwrap().unwrap();
    let refused = [
        doc.set_root(1).err(),
        // Bug: nothing was taken from an empty array without a word.
        doc.pop(empty).err(),
        doc.set(root, "name", 1).err(),
        doc.set(list, 0, 1).err(),
        doc.set_pointer("/list/-", 1).err(),
        doc.push(list, 1).err(),
        doc.insert(list, 0, 1).err(),
        doc.pop(list).err(),
        doc.swap(list, 0, 1).err(),
        doc.truncate(list, 0).err(),
        doc.remove(root, "name").err(),
        doc.remove_pointer("/name").err(),
        doc.detach(root, "name").err(),
        doc.clear(root).err(),
        doc.rename(root, "name", "title").err(),
        doc.reserve(list, 1).err(),
        doc.compact().err(),
    ];
    for (number, error) in refused.into_iter().enumerate() {
        assert_eq!(error.unwrap().kind(), ErrorKind::ReadOnly, "edit {number}");
    }
    // What this version must not edit is no easier to edit in a copy.
    assert_eq!(doc.copy_to(VecStorage::default()).err().unwrap().kind(), ErrorKind::ReadOnly);
}

#[test]
fn a_copy_in_other_storage_is_as_trusted_as_its_original() {
    let mut doc = json!({"list": [1, 2, [3]], "name": "a name of some length"});
    doc.remove_pointer("/list/2").unwrap();
    let mut short = [0; 40];
    assert_eq!(doc.copy_to(&mut short[..]).err().unwrap().kind(), ErrorKind::NoSpace);
    let foreign = DocBuf::from_bytes_unvalidated(doc.as_bytes()).unwrap();
    assert!(!foreign.copy_to(VecStorage::default()).unwrap().is_trusted());
    let mut copy = doc.copy_to(VecStorage::default()).unwrap();
    assert!(copy.is_trusted());
    assert_eq!(copy.as_bytes(), doc.as_bytes());
    assert!(!copy.is_current(doc.root_id().unwrap()));
    copy.set_pointer("/name", "another name of some length").unwrap();
    copy.set_pointer("/list/-", "takes what was freed").unwrap();
    assert_eq!(
        text(&copy),
        r#"{"list": [1, 2, "takes what was freed"], "name": "another name of some length"}"#
    );
}

/// Memory whose bytes become others without the editor's doing.
struct Changing {
    now: Vec<u8>,
    later: Vec<u8>,
    is_later: std::cell::Cell<bool>,
}

impl Storage for Changing {
    const ZEROED: bool = false;

    fn bytes(&self) -> &[u8] {
        if self.is_later.get() { &self.later } else { &self.now }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.now
    }

    fn grow(&mut self, capacity: u64) -> livebuf::Result<()> {
        self.now.resize(capacity as usize, 0);
        Ok(())
    }
}

#[test]
fn a_copy_of_memory_that_others_write_is_validated() {
    let now = json!(["a text of more than seven bytes"]).to_vec();
    for wrong in [false, true] {
        let mut later = now.clone();
        if wrong {
            let at = later.windows(6).position(|bytes| bytes == b"a text").unwrap();
            later[at] = 0xFF;
        }
        let storage = Changing { now: now.clone(), later, is_later: false.into() };
        let mut doc = Editor::open_unvalidated(storage).unwrap();
        doc.validate().unwrap();
        doc.storage().is_later.set(true);
        let copy = doc.copy_to(VecStorage::default()).unwrap();
        assert_eq!((copy.is_trusted(), copy.valid().is_ok()), (!wrong, !wrong));
    }
}

/// Whole documents, bytes of any kind and keys by reference can be stored.
#[test]
fn plain_rust_values_are_stored() {
    let other = json!({"x": [1]});
    let mut doc = json!({});
    let root = doc.root_id().unwrap();
    let key = String::from("copy");
    doc.set(root, &key, &other).unwrap();
    for key in ["again", "twice"].iter() {
        doc.set(root, key, other.doc()).unwrap();
    }
    doc.set(root, "bytes", &vec![1u8, 2]).unwrap();
    doc.set(root, "array", &[3u8]).unwrap();
    let text = std::borrow::Cow::Borrowed("text");
    doc.set(root, "text", &text).unwrap();
    doc.validate().unwrap();
    let value = |pointer: &str| doc.doc().pointer(pointer).unwrap().unwrap();
    assert_eq!(value("/copy/x/0"), 1);
    assert_eq!(value("/again/x/0"), 1);
    assert_eq!(value("/bytes").as_bytes().unwrap(), Some(&[1u8, 2][..]));
    assert_eq!(value("/array").as_bytes().unwrap(), Some(&[3u8][..]));
    assert_eq!(value("/text"), "text");
    assert!(doc.pointer_mut("/text").unwrap().is_none());
    let mut cursor = doc.pointer_mut("/copy/x").unwrap().unwrap();
    cursor.push(2).unwrap();
    assert_eq!(format!("{cursor:?}"), "Ok(Array(2))");
    let cursor = doc.pointer_mut("").unwrap().unwrap().into_child("copy").unwrap().unwrap();
    assert!(cursor.into_child("none").unwrap().is_none());
}

/// Numbers and texts go a short way in storages of messages. It leaves the bytes that the general
/// way leaves, and refuses what that refuses.
#[test]
fn the_short_way_to_set_a_member_leaves_the_same_bytes() {
    let mut random = fastrand::Rng::with_seed(50);
    let keys = [
        "",
        "a",
        "ab",
        "lap",
        "four",
        "event",
        "sechs6",
        "sieben7",
        "time_sec",
        "a long key of 18",
        "größe",
        "straße der Zeit",
        "x0",
        "x1",
        "x2",
        "x3",
        "x4",
        "x5",
        "x6",
        "x7",
        "x8",
        "x9",
    ];
    let long = "k".repeat(256);
    let text = "Übung und ein Text, der länger als ein Feld ist: er wird oft ersetzt.";
    for round in 0..2000 {
        // Of one size, and dirty.
        let size = random.usize(64..700);
        let (mut one, mut other) = (vec![0xA5; size], vec![0xA5; size]);
        let mut short = Editor::create(&mut one[..]).unwrap();
        let mut general = Editor::create(&mut other[..]).unwrap();
        let mut limits = short.limits();
        if round % 4 == 0 {
            limits.string = random.u32(0..20);
            limits.elements = random.u32(0..6);
            limits.document = random.u64(32..500);
        }
        short.set_limits(limits);
        general.set_limits(limits);
        let fields: Vec<_> = (0..random.usize(0..12))
            .map(|_| {
                let length = random.usize(0..text.chars().count());
                let value = match random.u32(0..4) {
                    0 => New::Float(0.5),
                    1 => New::Str(&text[..text.char_indices().nth(length).unwrap().0]),
                    2 => New::Bool(true),
                    _ => New::Int(-7),
                };
                (*random.choice(&keys).unwrap(), value)
            })
            .collect();
        let new = match random.bool() {
            true => New::object(random.usize(0..12)),
            false => New::Fields(&fields),
        };
        let made = (short.set_root(new), general.set_root(new));
        assert_eq!(made.0.as_ref().err(), made.1.as_ref().err());
        assert_eq!(short.as_bytes(), general.as_bytes());
        for _ in 0..random.usize(0..30) {
            let (Some(first), Some(second)) = (short.root_id(), general.root_id()) else { break };
            let key = if random.u32(0..50) == 0 { &long } else { *random.choice(&keys).unwrap() };
            let length = random.usize(0..text.chars().count());
            let end = text.char_indices().nth(length).unwrap().0;
            let value = match random.u32(0..8) {
                0 => New::Null,
                1 => New::Float(f64::from(random.u32(..))),
                2 => New::Uint(random.u64(..)),
                3 => New::object(1),
                4..6 => New::Int(random.i64(..)),
                _ => New::Str(&text[..end]),
            };
            if random.u32(0..10) == 0 {
                assert_eq!(short.remove(first, key), general.remove(second, key));
            } else {
                let set = (short.set(first, key, value), general.set(second, key, value));
                assert_eq!(set.0.as_ref().err(), set.1.as_ref().err(), "{key} {value:?}");
            }
            assert_eq!(short.as_bytes(), general.as_bytes(), "{key} {value:?}");
        }
        short.doc().validate().unwrap();
    }
}
