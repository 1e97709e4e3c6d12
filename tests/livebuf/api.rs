//! What users of serde_json look for: views to match on, conversions, standard traits.

use livebuf::{
    AsValue, Checked, Doc, DocBuf, Editor, Encoder, ErrorKind, Key, Kind, Mode, New, Object, Valid,
    Value, View, json,
};

/// Every kind once, behind `/kind`.
fn kinds() -> DocBuf {
    json!({
        "Null": null, "Bool": true, "Int": -5, "Uint": u64::MAX, "Float": 1.5,
        "NumberText": New::NumberText("1e999"), "String": "text, longer than a cell",
        "Bytes": New::Bytes(b"bytes, longer than a cell"), "Object": {"a": 1}, "Array": [1, 2],
    })
}

fn name<M: Mode>(view: View<'_, M>) -> &'static str {
    match view {
        View::Null => "Null",
        View::Bool(value) => ["", "Bool"][usize::from(value)],
        View::Int(value) => ["", "Int"][usize::from(value == -5)],
        View::Uint(value) => ["", "Uint"][usize::from(value == u64::MAX)],
        View::Float(value) => ["", "Float"][usize::from(value == 1.5)],
        View::NumberText(text) => ["", "NumberText"][usize::from(text == "1e999")],
        View::String(text) => ["", "String"][usize::from(text.starts_with("text"))],
        View::Bytes(bytes) => ["", "Bytes"][usize::from(bytes.starts_with(b"bytes"))],
        View::Object(object) => ["", "Object"][object.len()],
        View::Array(array) => ["", "", "Array"][array.len()],
        _ => "",
    }
}

#[test]
fn a_view_has_what_a_value_of_each_kind_holds() {
    let doc = kinds();
    for (key, value) in doc.valid().unwrap().root().as_object().unwrap() {
        assert_eq!(name(value.view()), key);
        assert_eq!(name(value.checked().view().unwrap()), key);
        assert_eq!(format!("{:?}", value.kind()), key);
    }
}

#[test]
fn a_view_of_damage_is_an_error() {
    let mut bytes = json!("text, longer than a cell").to_vec();
    let at = bytes.windows(4).position(|text| text == b"text").unwrap();
    bytes[at] = 0xFF;
    let error = Doc::open(&bytes).unwrap().root().view().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadText);
}

#[test]
fn questions_for_types_answer_for_one_kind_each() {
    fn kinds_of<'d>(doc: &'d DocBuf, is: fn(&Value<'d, Valid>) -> bool) -> Vec<&'d str> {
        let object = doc.valid().unwrap().root().as_object().unwrap();
        object.iter().filter(|(_, value)| is(value)).map(|(key, _)| key).collect()
    }
    let doc = kinds();
    assert_eq!(kinds_of(&doc, Value::is_null), ["Null"]);
    assert_eq!(kinds_of(&doc, Value::is_bool), ["Bool"]);
    assert_eq!(kinds_of(&doc, Value::is_number), ["Int", "Uint", "Float", "NumberText"]);
    assert_eq!(kinds_of(&doc, Value::is_string), ["String"]);
    assert_eq!(kinds_of(&doc, Value::is_object), ["Object"]);
    assert_eq!(kinds_of(&doc, Value::is_array), ["Array"]);
}

#[test]
fn values_convert_to_plain_types_that_hold_them() {
    let doc = kinds();
    let get = |key: &str| doc.valid().unwrap().root().get(key).unwrap();
    assert_eq!(bool::try_from(get("Bool")), Ok(true));
    assert_eq!(i8::try_from(get("Int")), Ok(-5));
    assert_eq!(u64::try_from(get("Uint")), Ok(u64::MAX));
    assert_eq!(f64::try_from(get("Int")), Ok(-5.0));
    assert_eq!(<&str>::try_from(get("String")), Ok("text, longer than a cell"));
    assert_eq!(String::try_from(get("String")).as_deref(), Ok("text, longer than a cell"));
    assert_eq!(<&[u8]>::try_from(get("Bytes")), Ok(&b"bytes, longer than a cell"[..]));
    assert_eq!(Object::<Checked>::try_from(get("Object")).map(|object| object.len()), Ok(1));
    for wrong in [
        u8::try_from(get("Int")).err(),
        i64::try_from(get("Uint")).err(),
        i64::try_from(get("Float")).err(),
        u32::try_from(get("Uint")).err(),
        f64::try_from(get("String")).err(),
        <&str>::try_from(get("Bytes")).err(),
        bool::try_from(get("Null")).err(),
    ] {
        assert_eq!(wrong.map(|error| error.kind()), Some(ErrorKind::WrongType));
    }
}

#[test]
fn documents_and_values_are_read_the_same_way() {
    fn laps<'a>(from: impl AsValue<'a>) -> i64 {
        let value = from.as_value().checked();
        assert_eq!(from.as_valid().map(|valid| valid.parts()), Some(value.parts()));
        value.get("laps").unwrap().unwrap().as_i64().unwrap()
    }
    let doc = json!({"laps": 55});
    let view = doc.valid().unwrap();
    assert_eq!([laps(&doc), laps(view), laps(view.root())], [55; 3]);

    let mut foreign = DocBuf::from_bytes_unvalidated(doc.as_bytes()).unwrap();
    assert!((&foreign).as_valid().is_none() && foreign.doc().as_valid().is_none());
    assert_eq!(foreign.valid().unwrap_err().kind(), ErrorKind::NotValidated);
    foreign.validate().unwrap();
    assert_eq!(laps(&foreign), 55);
}

#[test]
fn the_clone_of_a_key_finds_what_the_key_finds() {
    let doc = json!({"a": 1, "lap": 55});
    let key = Key::new("lap");
    let find = |key: &Key<'_>| doc.doc().root().get(key).unwrap().unwrap().as_i64();
    assert_eq!(find(&key), Some(55));
    assert_eq!(find(&key.clone()), Some(55));
    assert_eq!(key.clone().as_str(), "lap");
}

#[test]
fn iterators_print_what_they_have_left() {
    let doc = json!({"a": 1, "b": [2, 3]});
    let object = doc.valid().unwrap().root().as_object().unwrap();
    let mut fields = object.iter();
    fields.next();
    assert_eq!(format!("{fields:?}"), r#"{"b": Array(2)}"#);
    assert_eq!(format!("{:?}", object.keys()), r#"["a", "b"]"#);
    assert_eq!(format!("{:?}", object.prefix("a")), r#"{"a": 1}"#);
    let array = object.get("b").unwrap().as_array().unwrap();
    assert_eq!(format!("{:?}", array.iter()), "[2, 3]");
    assert_eq!(doc.valid().unwrap().root().kind(), Kind::Object);
}

/// The document as `{:#?}` prints it, on one line.
fn text(doc: &DocBuf) -> String {
    let lines = format!("{:#?}", doc.doc().root());
    lines.replace(",\n", " ").replace('\n', "").replace("    ", "")
}

/// Arrays that are stored in different ways, of these numbers behind `/x` of each element.
fn arrays(numbers: &[i64]) -> Vec<DocBuf> {
    let rows = |like: bool| {
        let mut encoder = Encoder::new();
        encoder.begin_array().unwrap();
        for (index, &number) in numbers.iter().enumerate() {
            encoder.begin_object().unwrap();
            encoder.key("x").unwrap();
            encoder.i64(number).unwrap();
            // Of objects that are not alike no table is made.
            encoder.key(if like { "tags".into() } else { format!("k{index}") }.as_str()).unwrap();
            encoder.begin_array().unwrap();
            encoder.i64(number * 10).unwrap();
            encoder.end_array().unwrap();
            encoder.end_object().unwrap();
        }
        encoder.end_array().unwrap();
        encoder.finish().unwrap()
    };
    let docs = vec![rows(true), rows(false)];
    let table = |doc: &DocBuf| doc.valid().unwrap().root().as_array().unwrap().table().is_some();
    assert_eq!(docs.iter().map(table).collect::<Vec<_>>(), [true, false]);
    docs
}

fn x(value: Value<'_>) -> i64 {
    value.get("x").unwrap().unwrap().as_i64().unwrap()
}

fn numbers(doc: &DocBuf) -> Vec<i64> {
    let array = doc.doc().root().as_array().unwrap().unwrap();
    let element = |value: Value<'_>| {
        let own = value.as_object().unwrap().unwrap().values().nth(1).unwrap().unwrap();
        assert_eq!(own.get(0).unwrap().unwrap(), x(value) * 10, "fields stay together");
        x(value)
    };
    array.iter().map(|value| element(value.unwrap())).collect()
}

#[test]
fn retain_keeps_what_is_wanted_in_its_order() {
    for mut doc in arrays(&[5, 2, 9, 4, 7, 6]) {
        let root = doc.root_id().unwrap();
        let (five, last) =
            (doc.child(root, 0).unwrap().unwrap(), doc.child(root, 5).unwrap().unwrap());
        let mut seen = Vec::new();
        doc.retain(root, |value| {
            seen.push(x(value));
            x(value) % 2 == 0
        })
        .unwrap();
        assert_eq!(seen, [5, 2, 9, 4, 7, 6]);
        assert_eq!(numbers(&doc), [2, 4, 6]);
        assert!(!doc.is_current(five), "its element was removed");
        assert_eq!(x(doc.value(last).unwrap()), 6, "a handle follows");
        doc.validate().unwrap();
        doc.root_mut().unwrap().retain(|_| false).unwrap();
        assert!(numbers(&doc).is_empty());
    }
    let mut doc = json!({"a": 1});
    let root = doc.root_id().unwrap();
    assert_eq!(doc.retain(root, |_| true).unwrap_err().kind(), ErrorKind::WrongType);
}

#[test]
fn retain_needs_no_allocator() {
    let mut buffer = [0; 256];
    let mut doc = Editor::create(&mut buffer[..]).unwrap();
    let list = doc.set_root(New::array(0)).unwrap().unwrap();
    doc.extend(list, 0..10).unwrap();
    doc.retain(list, |value| value.as_i64().unwrap() > 7).unwrap();
    assert_eq!(format!("{:?}", doc.doc().root().as_array().unwrap().unwrap()), "[8, 9]");
}

#[test]
fn members_that_are_not_wanted_go() {
    // A record, and a map.
    for count in [10, 1000] {
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::object(count)).unwrap().unwrap();
        for key in 0..count {
            doc.set(root, &format!("k{key}"), key as u64).unwrap();
        }
        doc.retain_members(root, |key, value| {
            assert_eq!(key, format!("k{}", value.as_u64().unwrap()));
            value.as_u64().unwrap() % 5 == 3
        })
        .unwrap();
        let left: Vec<_> = doc.valid().unwrap().root().as_object().unwrap().values().collect();
        assert_eq!(left.len(), count / 5);
        assert!(left.iter().zip(0u64..).all(|(value, index)| *value == index * 5 + 3));
        doc.validate().unwrap();
    }
}

#[test]
fn sorting_is_stable_and_moves_whole_elements() {
    let shuffled: Vec<i64> = (0..100).map(|index| (index * 37) % 100).collect();
    for mut doc in arrays(&shuffled) {
        let root = doc.root_id().unwrap();
        doc.sort_by_key(root, |value| x(value) / 10).unwrap();
        let mut expected = shuffled.clone();
        expected.sort_by_key(|number| number / 10);
        assert_eq!(numbers(&doc), expected);
        doc.root_mut().unwrap().sort_by(|a, b| x(*b).cmp(&x(*a))).unwrap();
        assert_eq!(numbers(&doc), (0..100).rev().collect::<Vec<_>>());
        doc.validate().unwrap();
    }
    let mut empty = json!([]);
    empty.root_mut().unwrap().sort_by_key(|value| value.as_i64()).unwrap();
}

#[test]
fn update_sees_the_old_value_where_there_is_one() {
    let mut doc = json!({"list": [1, 2], "text": "old, longer than a cell"});
    let root = doc.root_id().unwrap();
    let list = doc.find("/list").unwrap().unwrap();
    doc.update(list, 1, |old| old.unwrap().as_i64().unwrap() * 10).unwrap();
    doc.update(root, "new", |old| old.is_none()).unwrap();
    let made =
        doc.update(root, "text", |old| New::array(old.unwrap().len().unwrap().unwrap())).unwrap();
    doc.push(made.unwrap(), "x").unwrap();
    assert_eq!(text(&doc), r#"{"list": [1 20 ] "text": ["x" ] "new": true }"#);
    let error = doc.update(list, 2, |old| old.is_none()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IndexOutOfRange);
}

#[test]
fn each_container_below_is_edited() {
    for mut doc in arrays(&[1, 2, 3]) {
        let mut root = doc.root_mut().unwrap();
        root.for_each_mut(|mut element| {
            element.update("x", |x| x.unwrap().as_i64().unwrap() + 1)?;
            // Members that no other element has.
            element.set("extra", New::array(0))?;
            element.for_each_mut(|mut list| {
                list.update(0, |_| 7).map(|_| ()).or_else(|_| list.extend([7, 8]))
            })
        })
        .unwrap();
        let array = doc.valid().unwrap().root().as_array().unwrap();
        let sums: Vec<i64> = array.iter().map(|value| x(value.checked())).collect();
        assert_eq!(sums, [2, 3, 4]);
        for element in array {
            assert_eq!(element.pointer("/extra/1").unwrap(), 8);
        }
        doc.validate().unwrap();
        // The first error ends the walk.
        let mut calls = 0;
        let error = doc.root_mut().unwrap().for_each_mut(|mut element| {
            calls += 1;
            element.push(1).map(|_| ())
        });
        assert_eq!((error.unwrap_err().kind(), calls), (ErrorKind::WrongType, 1));
    }
}

#[test]
fn missing_parents_are_made_in_one_edit() {
    let mut doc = json!({"a": {"b": 1}, "l": [{"x": 1}], "s": "text"});
    for (pointer, value) in
        [("/a/b", 2), ("/a/k~1/~0z/-", 3), ("/l/-/y/-", 4), ("/l/0/m/-/n", 5), ("/c/d/e", 1)]
    {
        doc.set_pointer_with_parents(pointer, value).unwrap();
    }
    let expected = r#"{"a": {"b": 2 "k/": {"~z": [3 ] } } "l": [{"x": 1 "m": [{"n": 5 } ] } {"y": [4 ] } ] "s": "text" "c": {"d": {"e": 1 } } }"#;
    assert_eq!(text(&doc), expected);
    let before = doc.to_vec();
    for (pointer, kind) in [
        ("/s/t/u", ErrorKind::WrongType),
        ("/l/9/u", ErrorKind::IndexOutOfRange),
        ("/new/~2/u", ErrorKind::BadPointer),
        ("new", ErrorKind::BadPointer),
    ] {
        assert_eq!(doc.set_pointer_with_parents(pointer, 1).unwrap_err().kind(), kind, "{pointer}");
    }
    let deep = "/d".repeat(1000);
    let error = doc.set_pointer_with_parents(&deep, New::object(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NestingLimit);
    assert_eq!(doc.to_vec(), before, "what fails changes nothing");
    doc.set_pointer_with_parents("", 1).unwrap();
    assert_eq!(text(&doc), "1");
}

#[test]
fn errors_of_pointers_say_which_part_is_at_fault() {
    let mut doc = json!({"list": [{"n": 1}], "n": 1});
    for (pointer, kind, part) in [
        ("/no/m", ErrorKind::NotFound, "/no"),
        ("/list/0/no/m/x", ErrorKind::NotFound, "/list/0/no"),
        ("/list/7/n", ErrorKind::NotFound, "/list/7"),
        ("/n/m", ErrorKind::WrongType, "/n"),
        ("/list/0/n/m/x", ErrorKind::WrongType, "/list/0/n"),
        ("/list/x", ErrorKind::WrongType, "/list"),
    ] {
        let error = doc.set_pointer(pointer, 0).unwrap_err();
        assert_eq!(error.kind(), kind, "{pointer}");
        assert_eq!(&pointer[..error.detail() as usize], part);
        assert!(error.to_string().contains(&format!("first {} bytes", part.len())), "{error}");
    }
    assert_eq!(ErrorKind::NotFound.to_string(), "no such key, index or path");
    let damage = ErrorKind::ALL.iter().filter(|kind| kind.is_damage()).count();
    assert_eq!(damage, 12);
    let twice = json!({}).set_root(New::Fields(&[("a", New::Null), ("a", New::Null)])).unwrap_err();
    assert!(twice.kind() == ErrorKind::DuplicateKey && !twice.is_damage());
    assert!(!ErrorKind::NoSpace.is_damage() && !ErrorKind::NotADocument.is_damage());
}

#[test]
fn a_vec_is_edited_where_it_is() {
    let mut bytes = json!([]).to_vec();
    let length = bytes.len();
    bytes.extend([0xAA; 40]);
    let mut doc = Editor::open_unvalidated(bytes).unwrap();
    doc.validate().unwrap();
    let list = doc.root_id().unwrap();
    for number in 0..1000 {
        doc.push(list, number).unwrap();
    }
    doc.push(list, "text, longer than a cell").unwrap();
    assert_eq!(doc.valid().unwrap().root().len(), Some(1001));
    let used = doc.as_bytes().to_vec();
    assert!(used.len() > length + 40);
    let bytes = doc.into_vec();
    assert_eq!(bytes, used);
    Doc::open(&bytes).unwrap().validate().unwrap();
}

#[test]
fn a_default_document_is_null() {
    #[derive(Default, Debug)]
    struct Message {
        payload: DocBuf,
    }
    let mut message = Message::default();
    assert!(message.payload.valid().unwrap().root().is_null());
    message.payload.set_root(5).unwrap();
    assert_eq!(format!("{message:?}"), "Message { payload: Doc(32 bytes, 5) }");
    let list = json!([5]);
    let bytes = list.as_bytes().len();
    assert_eq!(format!("{list:?}"), format!("Doc({bytes} bytes, Array(1))"));
    assert_eq!(format!("{list:#?}"), format!("Doc({bytes} bytes, [\n    5,\n])"));
}
