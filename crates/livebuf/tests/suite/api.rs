//! What users of serde_json look for: views to match on, conversions, standard traits.

use livebuf::{
    AsValue, Checked, Doc, DocBuf, ErrorKind, Key, Kind, Mode, New, Object, Valid, Value, View,
    json,
};

/// Every kind once, behind `/kind`.
fn kinds() -> DocBuf {
    json!({
        "Null": null, "Bool": true, "Int": -5, "Uint": u64::MAX, "Float": 1.5,
        "Number": New::Number("1e999"), "String": "text, longer than a cell",
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
        View::Number(text) => ["", "Number"][usize::from(text == "1e999")],
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
    assert_eq!(kinds_of(&doc, Value::is_number), ["Int", "Uint", "Float", "Number"]);
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

    let mut foreign = DocBuf::from_bytes(doc.as_bytes()).unwrap();
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
