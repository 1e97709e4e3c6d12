//! serde in both directions, held against serde_json; damaged documents; `json!`.

use livebuf::{
    Checked, Doc, DocBuf, Encoder, ErrorKind, Kind, New, SerdeError, Value, from_doc, from_slice,
    from_value, json, to_doc, to_vec,
};
use serde::de::IgnoredAny;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

/// serde_json's view of a document: what deserializing into its tree gives.
fn tree(doc: &DocBuf) -> serde_json::Value {
    from_doc(doc.doc()).unwrap()
}

/// The document of a value is what serde_json makes of it, key order included,
/// whichever way it is turned into a tree; and it reads back in both modes.
fn agree<T>(value: T) -> DocBuf
where
    T: Serialize + for<'de> Deserialize<'de> + PartialEq + Debug,
{
    let doc = agree_one_way(&value);
    let checked: T = from_slice(doc.as_bytes()).unwrap();
    assert_eq!(checked, value);
    let valid: T = from_doc(doc.valid().unwrap()).unwrap();
    assert_eq!(valid, value);
    assert_eq!(T::deserialize(doc.doc().root()).unwrap(), value);
    doc
}

fn agree_one_way<T: Serialize + Debug>(value: &T) -> DocBuf {
    let doc = to_doc(value).unwrap();
    doc.doc().validate().unwrap();
    let expected = serde_json::to_value(value).unwrap();
    assert_eq!(tree(&doc), expected, "{value:?}");
    assert_eq!(tree(&doc).to_string(), expected.to_string());
    assert_eq!(serde_json::to_value(&doc).unwrap(), expected);
    assert_eq!(serde_json::to_string(&doc).unwrap(), expected.to_string());
    assert_eq!(to_vec(value).unwrap(), doc.as_bytes());
    // A document written through serde is the document.
    assert_eq!(to_vec(&doc).unwrap(), doc.as_bytes());
    doc
}

// --- the mapping ------------------------------------------------------------

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone, Default)]
struct Scalars {
    yes: bool,
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    f32: f32,
    f64: f64,
    char: char,
    text: String,
    unit: (),
    none: Option<u8>,
    some: Option<u8>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Unit;

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Newtype(Box<Scalars>);

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Pair(i8, String);

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug, Clone, Copy)]
enum Colour {
    Red,
    #[serde(rename = "dark blue")]
    Blue,
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
enum Shape {
    Empty,
    Circle(f64),
    Empties(),
    Line(i32, i32),
    Rectangle { width: u32, height: u32 },
    Nested(Box<Shape>),
    Perhaps(Option<u8>),
    Unit(()),
}

fn scalars() -> Scalars {
    Scalars {
        yes: true,
        i8: i8::MIN,
        i16: i16::MIN,
        i32: i32::MIN,
        i64: i64::MIN,
        u8: u8::MAX,
        u16: u16::MAX,
        u32: u32::MAX,
        u64: u64::MAX,
        f32: 1.5,
        f64: 0.1,
        char: '\u{1F600}',
        text: "longer than seven bytes".into(),
        unit: (),
        none: None,
        some: Some(7),
    }
}

#[test]
fn scalars_and_structs() {
    agree(scalars());
    agree(Scalars::default());
    agree(Unit);
    agree(Newtype(Box::new(scalars())));
    agree(Pair(-1, String::new()));
    agree(vec![scalars(), Scalars::default()]);
    agree(((), (1, "a".to_string()), [0.5, f64::MIN_POSITIVE], Some(Some(3))));
    for value in [0, 1, i64::MIN, i64::MAX] {
        agree(value);
    }
    for value in [0.0f64, -0.0, 1.0, 1e300, 5e-324] {
        assert_eq!(agree(value).doc().root().as_f64().unwrap().to_bits(), value.to_bits());
    }
    agree(String::from("a\0b\u{10FFFF}"));
    agree(Vec::<u8>::new());
}

#[test]
fn enums() {
    use Shape::*;
    let all = vec![
        Empty,
        Circle(1.5),
        Empties(),
        Line(1, -2),
        Rectangle { width: 1, height: 2 },
        Nested(Box::new(Nested(Box::new(Empty)))),
        Perhaps(None),
        Perhaps(Some(1)),
        Unit(()),
    ];
    for shape in &all {
        agree(shape.clone());
    }
    agree(all);
    agree([Colour::Red, Colour::Blue]);
    // As in JSON, a unit variant may also be a key whose value is null.
    let doc = json!({"Empty": null});
    assert_eq!(from_doc::<Shape>(doc.doc()).unwrap(), Empty);
    // And a struct may be an array of its fields.
    assert_eq!(
        from_doc::<Shape>(json!({"Rectangle": [3, 4]}).doc()).unwrap(),
        Rectangle { width: 3, height: 4 }
    );
    assert_eq!(from_doc::<Pair>(json!([1, "x"]).doc()).unwrap(), Pair(1, "x".into()));
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Internal {
    Start,
    LapComplete { lap: u32, time: f64 },
    Other(BTreeMap<String, i32>),
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Nothing,
    One(String),
    Two(i32, Vec<u8>),
    Many { x: Option<f32> },
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
#[serde(untagged)]
enum Untagged {
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Untagged>),
    Object { a: i32 },
    Null(()),
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Flat {
    id: u64,
    #[serde(flatten)]
    event: Internal,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Untagged>,
}

#[test]
fn tagged_enums_and_flattening() {
    for value in [
        Internal::Start,
        Internal::LapComplete { lap: 55, time: 88.427 },
        Internal::Other(BTreeMap::from([("x".into(), 1)])),
    ] {
        agree(value);
    }
    for value in [
        Adjacent::Nothing,
        Adjacent::One("text".into()),
        Adjacent::Two(1, vec![2, 3]),
        Adjacent::Many { x: Some(0.5) },
    ] {
        agree(value);
    }
    let untagged = vec![
        Untagged::Int(-1),
        Untagged::Float(0.5),
        Untagged::Text("t".into()),
        Untagged::Object { a: 1 },
        Untagged::Null(()),
    ];
    agree(Untagged::List(untagged));
    let rest = BTreeMap::from([("more".into(), Untagged::Int(1))]);
    let event = Internal::LapComplete { lap: 1, time: 0.25 };
    for flat in [
        Flat { id: 9, event: Internal::Start, tags: vec![], rest: BTreeMap::new() },
        Flat { id: 9, event, tags: vec!["a".into()], rest },
    ] {
        let doc = agree_one_way(&flat);
        // What serde reads into a flattened map beside others is its own affair.
        let read: Flat = serde_json::from_value(tree(&doc)).unwrap();
        assert_eq!(from_doc::<Flat>(doc.doc()).unwrap(), read);
        assert_eq!((read.id, read.event, read.tags), (flat.id, flat.event, flat.tags));
    }
}

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug, Clone)]
struct Id(u32);

fn map<K: Ord, V>(members: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    members.into_iter().collect()
}

#[test]
fn map_keys() {
    agree(map([("", 1), ("a~/b", 2)].map(|(key, value)| (key.to_string(), value))));
    agree(map([(-5i8, 1), (0, 2), (127, 3)]));
    agree(map([(u64::MAX, 1), (0, 2)]));
    agree(map([(i64::MIN, 1)]));
    agree(map([(i128::MIN, 1), (i128::MAX, 2), (-1, 3)]));
    agree(map([(u128::MAX, 1)]));
    agree(map([(true, 1), (false, 2)]));
    agree(map([('x', 1), ('\u{e9}', 2)]));
    agree(map([(Colour::Red, 1), (Colour::Blue, 2)]));
    agree(map([(Id(1), 1), (Id(2), 2)]));
    // As serde_json's text has it (its tree refuses such keys).
    let some = map([(Some(Id(3)), 1)]);
    let doc = to_doc(&some).unwrap();
    assert_eq!(serde_json::to_string(&doc).unwrap(), serde_json::to_string(&some).unwrap());
    assert_eq!(from_doc::<BTreeMap<Option<Id>, i32>>(doc.doc()).unwrap(), some);
    // More keys than a record holds: a map with an index.
    let doc = agree((0..1000).map(|key| (key, key)).collect::<BTreeMap<i32, i32>>());
    assert!(doc.doc().root().as_object().unwrap().unwrap().is_map());
}

/// A map whose one key is this value.
#[derive(Debug)]
struct Under<K>(K);

impl<K: Serialize> Serialize for Under<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(&self.0, &1)?;
        map.end()
    }
}

#[test]
fn float_keys() {
    let text = |doc: &DocBuf| {
        let object = doc.doc().root().as_object().unwrap().unwrap();
        object.keys().next().unwrap().unwrap().to_string()
    };
    // serde_json's own text differs between its versions: `1e16`, `1e+16`.
    let plain = |text: String| text.replace("e+", "e");
    let mut random = Random(0x5EED_0001);
    let mut doubles = vec![0.0, -0.0, 1.0, 1e15, 1e16, 123456789.5, 1e-5, 9.9e-6, 1e-7, 5e-324];
    doubles.extend((0..2000).map(|_| f64::from_bits(random.next())));
    doubles.extend((0..2000).map(|_| random.below(1 << 20) as f64 / 1024.0));
    for value in doubles.into_iter().filter(|value| value.is_finite()) {
        let doc = to_doc(&Under(value)).unwrap();
        let expected: serde_json::Value = serde_json::to_value(Under(value)).unwrap();
        let expected = expected.as_object().unwrap().keys().next().unwrap().clone();
        assert_eq!(plain(text(&doc)), plain(expected));
        let back: Vec<(String, i32)> =
            from_doc::<HashMap<String, i32>>(doc.doc()).unwrap().into_iter().collect();
        assert_eq!(back[0].0.parse::<f64>().unwrap().to_bits(), value.to_bits());
        let single = value as f32;
        if single.is_finite() {
            let expected = serde_json::to_value(Under(single)).unwrap();
            let expected = expected.as_object().unwrap().keys().next().unwrap().clone();
            let found = text(&to_doc(&Under(single)).unwrap());
            // Of two shortest texts equally near, it may take the other one.
            assert_eq!(plain(found.clone()).len(), plain(expected).len());
            assert_eq!(found.parse::<f32>().unwrap().to_bits(), single.to_bits());
        }
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct Key(f64);
    impl Eq for Key {}
    impl std::hash::Hash for Key {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.to_bits().hash(state);
        }
    }
    let keys: HashMap<Key, i32> = from_doc(json!({"1.5": 1, "-2e3": 2, "7": 3}).doc()).unwrap();
    assert_eq!(keys, HashMap::from([(Key(1.5), 1), (Key(-2000.0), 2), (Key(7.0), 3)]));
}

#[test]
fn human_readable_forms_are_those_of_json() {
    use std::net::{IpAddr, SocketAddr};
    use std::time::Duration;
    agree("127.0.0.1".parse::<IpAddr>().unwrap());
    agree("[::1]:80".parse::<SocketAddr>().unwrap());
    agree(Duration::from_millis(1500));
    agree(1..5u8);
    agree(Ok::<u8, String>(3));
    agree(std::num::NonZeroU8::new(3));
    agree(std::num::Wrapping(3u8));
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Tree {
    value: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<Box<Tree>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    right: Option<Box<Tree>>,
}

#[test]
fn recursive_types() {
    fn tree(value: u32) -> Option<Box<Tree>> {
        (value < 200).then(|| {
            Box::new(Tree { value, left: tree(value * 2 + 1), right: tree(value * 2 + 2) })
        })
    }
    agree(*tree(0).unwrap());
}

// --- where LiveBuf says more than JSON --------------------------------------

/// Serializes as bytes and reads what it is given as bytes, as `serde_bytes` does.
#[derive(PartialEq, Debug)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Bytes, E> {
                Ok(Bytes(text.as_bytes().to_vec()))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut elements: A,
            ) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = elements.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Visitor)
    }
}

#[test]
fn bytes_stay_bytes() {
    for bytes in [&b""[..], b"\xFF\x00", b"more than seven bytes \xFE"] {
        let doc = to_doc(&Bytes(bytes.to_vec())).unwrap();
        assert_eq!(doc.doc().root().kind(), Kind::Bytes);
        assert_eq!(doc.doc().root().as_bytes().unwrap(), Some(bytes));
        assert_eq!(from_doc::<Bytes>(doc.doc()).unwrap(), Bytes(bytes.to_vec()));
        // Borrowed, or as a sequence of numbers.
        let borrowed: &[u8] = from_doc(doc.doc()).unwrap();
        assert!(doc.as_bytes().as_ptr_range().contains(&borrowed.as_ptr()));
        assert_eq!(borrowed, bytes);
        assert_eq!(from_doc::<Vec<u8>>(doc.doc()).unwrap(), bytes);
        // To JSON, which has none, as serde_json does.
        assert_eq!(serde_json::to_value(&doc).unwrap(), serde_json::to_value(bytes).unwrap());
    }
    let doc = json!([1, 2, 255]);
    assert_eq!(from_doc::<Bytes>(doc.doc()).unwrap(), Bytes(vec![1, 2, 255]));
    assert_eq!(from_doc::<Bytes>(json!("text").doc()).unwrap(), Bytes(b"text".to_vec()));
    let error = from_doc::<[u8; 2]>(json!(New::Bytes(b"abc")).doc()).unwrap_err();
    assert!(error.to_string().contains("invalid length"), "{error}");
}

#[test]
fn floats_that_json_lacks() {
    let nan = f64::from_bits(0x7FF8_0000_0000_1234);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, nan] {
        let doc = to_doc(&[value]).unwrap();
        let [back]: [f64; 1] = from_doc(doc.doc()).unwrap();
        assert_eq!(back.to_bits(), value.to_bits());
    }
    // Singles are widened, not read from their shortest text.
    assert_eq!(to_doc(&0.1f32).unwrap().doc().root().as_f64(), Some(0.1f32.into()));
    assert_eq!(from_doc::<f32>(to_doc(&0.1f32).unwrap().doc()).unwrap(), 0.1f32);
}

#[test]
fn wide_integers_are_number_text() {
    for value in [0, 1, -1, i64::MIN.into(), u64::MAX.into(), i128::MIN, i128::MAX] {
        let doc = to_doc(&value).unwrap();
        assert_eq!(from_doc::<i128>(doc.doc()).unwrap(), value);
        assert_eq!(serde_json::to_string(&doc).unwrap(), value.to_string());
        let wide = i64::try_from(value).is_err() && u64::try_from(value).is_err();
        assert_eq!(doc.doc().root().kind() == Kind::NumberText, wide);
    }
    for value in [u64::MAX.into(), u128::from(u64::MAX) + 1, u128::MAX] {
        let doc = to_doc(&value).unwrap();
        assert_eq!(from_doc::<u128>(doc.doc()).unwrap(), value);
        // Elsewhere the nearest double, as serde_json reads such a literal.
        let read: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(tree(&doc), read);
        assert_eq!(from_doc::<f64>(doc.doc()).unwrap(), value as f64);
    }
}

#[test]
fn number_text_is_worth_what_serde_json_reads() {
    for text in [
        "0",
        "-0",
        "-1",
        "12",
        "18446744073709551615",
        "18446744073709551616",
        "1.0",
        "1e2",
        "0.1000000000000000055511151231257827021181583404541015625",
        "1e-400",
        "-1.5E+3",
    ] {
        let doc = json!([New::NumberText(text)]);
        let read: [serde_json::Value; 1] = serde_json::from_str(&format!("[{text}]")).unwrap();
        assert_eq!(from_doc::<[serde_json::Value; 1]>(doc.doc()).unwrap(), read, "{text}");
    }
    assert_eq!(from_doc::<i8>(json!(New::NumberText("12")).doc()).unwrap(), 12);
    let huge = json!({"huge": New::NumberText("1e400")});
    let error = from_doc::<HashMap<String, f64>>(huge.doc()).unwrap_err();
    assert_eq!(error.to_string(), "number out of range at /huge");
    assert_eq!(error.kind(), ErrorKind::BadNumber);
    assert!(serde_json::to_string(&huge).is_err());
}

/// What serde_json's `Number` serializes as under `arbitrary_precision`.
struct Arbitrary(&'static str);

impl Serialize for Arbitrary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let token = "$serde_json::private::Number";
        let mut number = serializer.serialize_struct(token, 1)?;
        number.serialize_field(token, self.0)?;
        number.end()
    }
}

#[test]
fn numbers_of_arbitrary_precision() {
    let kinds = [
        ("0", Kind::Int),
        ("-9223372036854775808", Kind::Int),
        ("18446744073709551615", Kind::Uint),
        ("18446744073709551616", Kind::NumberText),
        ("-0", Kind::Float),
        ("0.1", Kind::Float),
        ("1.2345678901234567", Kind::Float),
        ("1.23456789012345678", Kind::NumberText),
        ("1e308", Kind::Float),
        ("1e309", Kind::NumberText),
        ("1e-400", Kind::NumberText),
        ("0e-400", Kind::Float),
    ];
    for (text, kind) in kinds {
        let doc = to_doc(&[Arbitrary(text)]).unwrap();
        let value = doc.doc().root().get(0).unwrap().unwrap();
        assert_eq!(value.kind(), kind, "{text}");
        match kind {
            Kind::NumberText => assert_eq!(value.as_number_text().unwrap(), Some(text)),
            _ => assert_eq!(value.as_f64().unwrap(), text.parse::<f64>().unwrap()),
        }
    }
    assert_eq!(to_doc(&Arbitrary("one")).unwrap_err().kind(), ErrorKind::BadNumber);
}

// --- borrowing --------------------------------------------------------------

#[test]
fn text_is_borrowed_from_the_buffer() {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        short: &'a str,
        #[serde(borrow)]
        notes: HashMap<&'a str, &'a str>,
    }
    let bytes = json!({
        "name": "lap_complete",
        "short": "x",
        "notes": {"a longer key": "a longer note"},
    })
    .to_vec();
    let inside = |text: &str| bytes.as_ptr_range().contains(&text.as_ptr());
    let event: Event<'_> = from_slice(&bytes).unwrap();
    assert!(matches!(event.name, Cow::Borrowed("lap_complete")) && inside(&event.name));
    assert!(event.short == "x" && inside(event.short));
    let (key, note) = event.notes.into_iter().next().unwrap();
    assert!(inside(key) && inside(note));
    assert_eq!((key, note), ("a longer key", "a longer note"));

    // Borrowed from the buffer, so it may outlive the views on the way.
    let name: &str = {
        let doc = Doc::open(&bytes).unwrap().validate().unwrap();
        from_value(doc.root().get("name").unwrap()).unwrap()
    };
    assert_eq!(name, "lap_complete");
}

#[test]
fn the_ignored_is_not_even_looked_at() {
    #[derive(Deserialize, Debug, PartialEq)]
    struct Kept {
        kept: u8,
    }
    let doc = json!({"ignored": ["a text of some length"], "kept": 1});
    let mut bytes = doc.to_vec();
    // Leave the ignored array's home dangling: it is the only such cell.
    let home = child_home(&bytes, 0);
    let cell = bytes.windows(8).position(|cell| cell == u64::from(home).to_le_bytes()).unwrap();
    bytes[cell..cell + 4].copy_from_slice(&0xFFFF_FFF0u32.to_le_bytes());
    assert_eq!(from_slice::<Kept>(&bytes).unwrap(), Kept { kept: 1 });
    assert_eq!(from_slice::<HashMap<String, IgnoredAny>>(&bytes).unwrap().len(), 2);
    let error = from_slice::<serde_json::Value>(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.pointer()), (ErrorKind::OutOfBounds, "/ignored"));
}

/// Where the child container at a position of the root object is at home.
fn child_home(bytes: &[u8], index: usize) -> u32 {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let root = word(8) as usize;
    word(root + 16 + 8 * index)
}

// --- errors say what is wrong, and where -------------------------------------

fn error<T: for<'de> Deserialize<'de>>(doc: DocBuf) -> SerdeError {
    match from_doc::<T>(doc.valid().unwrap()) {
        Ok(_) => panic!("{doc:?} should not fit"),
        Err(error) => error,
    }
}

#[test]
fn errors_name_what_and_where() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Lap {
        lap: u8,
        times: Vec<f64>,
    }
    type Laps = BTreeMap<String, Vec<Lap>>;
    let good = json!({"lap": 1, "times": [1.5]});

    let missing = error::<Laps>(json!({"a/b": [&good, {"lap": 1}]}));
    assert_eq!(missing.to_string(), "missing field `times` at /a~1b/1");
    assert_eq!((missing.kind(), missing.pointer()), (ErrorKind::NotFound, "/a~1b/1"));
    assert_eq!(format!("{missing:?}"), "NotFound: missing field `times` at /a~1b/1");

    let wrong = error::<Laps>(json!({"x": [{"lap": 1, "times": [1, 2.5, "3"]}]}));
    assert_eq!(wrong.to_string(), "invalid type: string \"3\", expected f64 at /x/0/times/2");
    assert_eq!(wrong.kind(), ErrorKind::WrongType);

    let large = error::<Laps>(json!({"x": [{"lap": 256, "times": []}]}));
    assert_eq!(large.to_string(), "invalid value: integer `256`, expected u8 at /x/0/lap");
    assert_eq!(large.kind(), ErrorKind::Custom);

    let unknown = error::<Laps>(json!({"x": [{"lip": 1}]}));
    assert_eq!(unknown.to_string(), "unknown field `lip`, expected `lap` or `times` at /x/0/lip");

    let variant = error::<Vec<Colour>>(json!(["Red", "green"]));
    assert_eq!(variant.pointer(), "/1");
    assert!(variant.to_string().starts_with("unknown variant `green`, expected"), "{variant}");

    let inside = error::<Shape>(json!({"Rectangle": {"width": 1, "height": null}}));
    assert_eq!(inside.to_string(), "invalid type: null, expected u32 at /Rectangle/height");
    for (doc, expected) in [
        (json!({}), "object with a single key"),
        (json!({"Empty": null, "Circle": 1}), "object with a single key"),
        (json!(1), "string or object"),
        (json!("Circle"), "newtype variant"),
        (json!("Line"), "tuple variant"),
        (json!("Rectangle"), "struct variant"),
        (json!({"Line": [1, 2, 3]}), "fewer elements in array"),
        (json!({"Line": [1]}), "tuple variant Shape::Line with 2 elements"),
        (json!({"Empty": 1}), "unit"),
    ] {
        let error = error::<Shape>(doc);
        assert!(error.to_string().contains(expected), "{error} ({expected})");
    }

    let key = error::<BTreeMap<u8, u8>>(json!({"1": 1, "x": 2}));
    assert_eq!(key.to_string(), "invalid key: \"x\", expected u8 at /x");
    let key = error::<BTreeMap<u8, u8>>(json!({"256": 1}));
    assert_eq!(key.to_string(), "invalid value: integer `256`, expected u8 at /256");
    let key = error::<BTreeMap<bool, u8>>(json!({"yes": 1}));
    assert_eq!(key.to_string(), "invalid key: \"yes\", expected a boolean at /yes");

    let root = error::<u8>(json!([1]));
    assert_eq!(root.to_string(), "invalid type: array, expected u8");
    for doc in [json!(null), json!(true), json!(0.5), json!("t"), json!({}), json!(u64::MAX)] {
        error::<i32>(doc);
    }
    error::<bool>(json!(0));
    error::<()>(json!(0));
    error::<String>(json!(0));
    error::<char>(json!("ab"));
    error::<Option<u8>>(json!(-1));
    error::<f64>(json!(null));
    error::<BTreeMap<String, u8>>(json!([]));
    error::<serde_json::Value>(json!(New::Bytes(b"x")));

    let open = from_slice::<u8>(b"{\"lap\": 55}").unwrap_err();
    assert_eq!(open.kind(), ErrorKind::NotADocument);
    assert_eq!(open.to_string(), open.error().to_string());
}

#[test]
fn pointers_of_errors_are_bounded() {
    type Deep = BTreeMap<String, BTreeMap<String, BTreeMap<String, u8>>>;
    let long = "k".repeat(800);
    let error = error::<Deep>(json!({"short": {&long: {&long: "x"}}}));
    assert_eq!(error.pointer(), format!("…/{long}"));
}

#[test]
fn what_cannot_be_serialized() {
    let refused = |result: Result<DocBuf, SerdeError>, word: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongType);
        assert!(error.to_string().contains(word), "{error} ({word})");
    };
    refused(to_doc(&Under(f64::NAN)), "NaN");
    refused(to_doc(&Under(f32::INFINITY)), "infinite");
    refused(to_doc(&Under(())), "null");
    refused(to_doc(&Under(None::<u8>)), "null");
    refused(to_doc(&Under(Unit)), "null");
    refused(to_doc(&Under([1])), "an array");
    refused(to_doc(&Under(vec![1])), "an array");
    refused(to_doc(&Under(Pair(1, String::new()))), "an array");
    refused(to_doc(&Under(Bytes(vec![]))), "bytes");
    refused(to_doc(&Under(Under(1))), "an object");
    refused(to_doc(&Under(Scalars::default())), "an object");
    refused(to_doc(&Under(Shape::Circle(1.0))), "an object");
    refused(to_doc(&Under(Shape::Line(1, 2))), "an object");

    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("the lap is not over"))
        }
    }
    let error = to_doc(&vec![Fails]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Custom);
    assert_eq!(error.to_string(), "the lap is not over");

    /// Nests for ever.
    struct Endless;
    impl Serialize for Endless {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            [Endless].serialize(serializer)
        }
    }
    assert_eq!(to_doc(&Endless).unwrap_err().kind(), ErrorKind::NestingLimit);
}

#[test]
fn an_encoder_takes_values_among_events() {
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    Pair(1, "x".into()).serialize(&mut encoder).unwrap();
    Colour::Blue.serialize(&mut encoder).unwrap();
    encoder.null().unwrap();
    encoder.end_array().unwrap();
    let doc = encoder.finish().unwrap();
    assert_eq!(tree(&doc), serde_json::json!([[1, "x"], "dark blue", null]));
}

#[test]
fn the_last_of_equal_keys_counts() {
    struct Twice;
    impl Serialize for Twice {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("a", 1), ("b", 2), ("a", 3)])
        }
    }
    assert_eq!(tree(&to_doc(&Twice).unwrap()), serde_json::json!({"a": 3, "b": 2}));
}

// --- random trees -----------------------------------------------------------

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn text(&mut self) -> String {
        let length = [0, 1, 3, 7, 8, 20, 300][self.below(7) as usize];
        let alphabet = ['a', 'b', '/', '~', '\0', '"', 'é', '\u{2028}', '😀'];
        (0..length).map(|_| alphabet[self.below(9) as usize]).collect()
    }

    fn value(&mut self, depth: u64) -> serde_json::Value {
        use serde_json::Value;
        match self.below(if depth == 0 { 7 } else { 11 }) {
            0 => Value::Null,
            1 => Value::Bool(self.next() & 1 == 0),
            2 => (self.next() as i64 >> self.below(64)).into(),
            3 => (self.next() >> self.below(64)).into(),
            4 => Value::from(f64::from_bits(self.next())),
            5 => Value::from(self.below(1000) as f64 / 8.0),
            6 => self.text().into(),
            7 | 8 => {
                let count = self.below(10);
                let same = self.next() & 1 == 0;
                let seed = self.next();
                let values = (0..count).map(|_| match same {
                    // Alike, so that typed columns and shared shapes come up.
                    true => Random(seed).value(depth - 1),
                    false => self.value(depth - 1),
                });
                values.collect()
            }
            _ => {
                let count = if self.below(100) == 0 { 300 } else { self.below(10) };
                (0..count)
                    .map(|index| {
                        let key = match self.below(3) {
                            0 => self.text(),
                            _ => format!("k{index}"),
                        };
                        (key, self.value(if count > 10 { 0 } else { depth - 1 }))
                    })
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }
        }
    }
}

#[test]
fn random_trees_round_trip() {
    let rounds = if cfg!(miri) { 20 } else { 5_000 };
    for seed in 0..rounds {
        let mut random = Random(seed);
        let value = random.value(5);
        let doc = to_doc(&value).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        doc.doc().validate().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let back = tree(&doc);
        assert_eq!(back, value, "seed {seed}");
        // Trees compare without regard to order: their text does not.
        let text = value.to_string();
        assert_eq!(back.to_string(), text, "seed {seed}");
        assert_eq!(serde_json::to_string(&doc).unwrap(), text, "seed {seed}");
        let valid: serde_json::Value = from_doc(doc.valid().unwrap()).unwrap();
        assert_eq!(valid.to_string(), text, "seed {seed}");
        assert_eq!(to_vec(&doc).unwrap(), doc.as_bytes(), "seed {seed}");
    }
}

// --- damaged documents ------------------------------------------------------

#[derive(Deserialize, Debug)]
#[allow(dead_code)]
struct Typed<'a> {
    id: u64,
    #[serde(borrow)]
    name: Option<&'a str>,
    ratio: Option<f32>,
    #[serde(default)]
    list: Vec<i16>,
    #[serde(default)]
    children: Vec<Typed<'a>>,
    #[serde(default)]
    shape: Option<Shape>,
    #[serde(default)]
    wide: Option<u128>,
    #[serde(borrow, default)]
    blob: &'a [u8],
    #[serde(default)]
    counts: BTreeMap<i32, bool>,
}

/// Documents of all blocks and cells between them, each small.
fn small_documents() -> Vec<DocBuf> {
    let mut long_key = BTreeMap::from([("k".repeat(300), 1)]);
    long_key.insert("short".into(), 2);
    let mut edited = json!({"a": 1, "list": [1], "name": "short"});
    edited.set_pointer("/b", 2).unwrap();
    edited.set_pointer("/list/-", "text in a list of numbers").unwrap();
    edited.remove_pointer("/a").unwrap();
    edited.set_pointer("/name", "a much longer name than before").unwrap();
    for key in ["d", "e", "f", "g", "h"] {
        edited.set_pointer(&format!("/{key}"), New::array(0)).unwrap();
    }
    vec![
        json!(null),
        json!("a text of some length"),
        json!([]),
        json!({}),
        json!([true, false, true]),
        json!([1, 2, 300, -70000]),
        json!([0.5, 1e300]),
        json!(["a", "longer than a cell"]),
        json!([null, 1, "x", New::NumberText("1e400"), New::Bytes(b"bytes longer than a cell")]),
        json!([[1], [2, [3]], {}]),
        to_doc(&long_key).unwrap(),
        edited,
        json!({
            "id": 1, "name": "a name of some length", "ratio": 0.5, "list": [1, 2, 3],
            "children": [{"id": 2, "name": "b"}, {"id": 3, "name": null, "counts": {"-5": true}}],
            "shape": {"Rectangle": {"width": 1, "height": 2}},
            "wide": u128::MAX, "blob": New::Bytes(b"0123456789"), "unknown": [{"x": 1}],
        }),
    ]
}

/// Any bytes: values or errors, nothing worse.
fn read_all_ways(bytes: &[u8]) {
    let _ = std::hint::black_box(from_slice::<serde_json::Value>(bytes));
    let _ = std::hint::black_box(from_slice::<Typed<'_>>(bytes));
    let _ = std::hint::black_box(from_slice::<BTreeMap<String, IgnoredAny>>(bytes));
    let _ = std::hint::black_box(from_slice::<Shape>(bytes));
    let _ = std::hint::black_box(from_slice::<Vec<Untagged>>(bytes));
    if let Ok(doc) = Doc::open(bytes) {
        let _ = std::hint::black_box(serde_json::to_value(doc));
    }
}

#[test]
fn every_truncation() {
    for doc in small_documents() {
        let bytes = doc.as_bytes();
        for length in 0..bytes.len() {
            assert!(from_slice::<serde_json::Value>(&bytes[..length]).is_err());
            // The header's count mended, so that the cut is not seen at once.
            if length >= 32 {
                let mut cut = bytes[..length & !7].to_vec();
                let used = (cut.len() as u32).to_le_bytes();
                cut[20..24].copy_from_slice(&used);
                read_all_ways(&cut);
            }
        }
    }
}

#[test]
fn every_single_byte_change() {
    for doc in small_documents() {
        let mut bytes = doc.to_vec();
        for at in 0..bytes.len() {
            let kept = bytes[at];
            let step = livebuf_fuzz::one_of(if cfg!(miri) { 51 } else { 5 });
            for value in (0..=255).step_by(step) {
                bytes[at] = value;
                read_all_ways(&bytes);
            }
            bytes[at] = kept;
        }
    }
}

/// Rows and arrays of columns, more than are looked at one by one.
fn rows_of_all_kinds() -> DocBuf {
    let rows: Vec<serde_json::Value> = (0..24)
        .map(|row: u32| {
            let mut value = serde_json::json!({
                "id": row,
                "at": [row, f64::from(row) + 0.5],
                "name": format!("lap {}", row % 3),
                "inner": {"x": row.is_multiple_of(2), "list": vec![row; row as usize % 3]},
                "parts": (0..row % 4).map(|part| serde_json::json!({"n": part})).collect::<Vec<_>>(),
            });
            if row.is_multiple_of(5) {
                value["inner"] = serde_json::Value::Null;
            }
            if row.is_multiple_of(7) {
                value.as_object_mut().unwrap().remove("parts");
            }
            value
        })
        .collect();
    to_doc(&rows).unwrap()
}

/// All elements at once, where columns are looked up once, and one by one, where they are not.
fn read_at_once_and_one_by_one(bytes: &[u8]) -> Option<Vec<serde_json::Value>> {
    let rows: Vec<serde_json::Value> = from_slice(bytes).ok()?;
    let array = Doc::open(bytes).unwrap().root().as_array().unwrap().unwrap();
    for (element, row) in array.iter().zip(&rows) {
        assert_eq!(from_value::<serde_json::Value>(element.unwrap()).unwrap(), *row);
    }
    Some(rows)
}

#[test]
fn rows_read_at_once_are_those_read_one_by_one() {
    let doc = rows_of_all_kinds();
    let rows = read_at_once_and_one_by_one(doc.as_bytes()).unwrap();
    assert_eq!(rows[7]["at"], serde_json::json!([7, 7.5]));
    assert_eq!((&rows[5]["inner"], rows[7].get("parts")), (&serde_json::Value::Null, None));
    assert_eq!(rows[23]["parts"][2]["n"], 2);
    // So are rows of a document that was edited, and of one that is damaged.
    let mut edited = rows_of_all_kinds();
    edited.set_pointer("/3/further", 5).unwrap();
    assert_eq!(read_at_once_and_one_by_one(edited.as_bytes()).unwrap()[3]["further"], 5);
    let mut bytes = doc.to_vec();
    for at in 0..bytes.len() {
        let kept = bytes[at];
        for value in [0, 1, 0x80, 0xFF, kept ^ 1, kept.wrapping_add(8)] {
            bytes[at] = value;
            if Doc::open(&bytes).is_ok() {
                read_at_once_and_one_by_one(&bytes);
            }
        }
        bytes[at] = kept;
    }
}

/// Arrays in arrays, each of which holds the next one twice.
fn doubling(levels: usize) -> Vec<u8> {
    let mut encoder = Encoder::new();
    for _ in 0..levels {
        encoder.begin_array().unwrap();
    }
    for _ in 0..levels {
        encoder.begin_array().unwrap();
        encoder.end_array().unwrap();
        encoder.end_array().unwrap();
    }
    let mut bytes = encoder.finish().unwrap().to_vec();
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut home = word(&bytes, 8) as usize;
    for _ in 1..levels {
        let data = word(&bytes, home + 12) as usize;
        bytes.copy_within(data..data + 4, data + 4);
        home = word(&bytes, data) as usize;
    }
    bytes
}

#[test]
fn aliasing_runs_out_of_budget() {
    for length in [40, 60] {
        let bytes = doubling(length);
        let error = from_slice::<serde_json::Value>(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BudgetExceeded);
        let doc = Doc::open(&bytes).unwrap();
        let error = serde_json::to_string(&doc).unwrap_err();
        assert!(error.to_string().contains("budget"), "{error}");
        let again = bytes.clone();
        assert_ne!(doc, Doc::open(&again).unwrap(), "damaged values are equal to none");
        assert_eq!(to_doc(&doc).unwrap_err().kind(), ErrorKind::Custom);
        // What is not asked for costs nothing.
        assert_eq!(from_slice::<Vec<IgnoredAny>>(&bytes).unwrap().len(), 2);
    }
}

#[test]
fn aliasing_text_runs_out_of_budget() {
    // Every cell of the column made to refer to the one long text.
    let texts: Vec<String> = (0..10_000).map(|index| format!("text number {index}")).collect();
    let doc = json!([texts, "x".repeat(1 << 20)]);
    let options = livebuf::EncodeOptions { tables: false, ..Default::default() };
    let mut bytes = doc.doc().compacted_with(options).unwrap().to_vec();
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let root = word(&bytes, 8) as usize;
    let data = word(&bytes, root + 12) as usize;
    // Tagged cells: eight tags, then the cells.
    let (column, long) = (word(&bytes, data + 8) as usize, data + 16);
    let target: [u8; 8] = bytes[long..long + 8].try_into().unwrap();
    let cells = word(&bytes, column + 12) as usize;
    for cell in bytes[cells..cells + 8 * texts.len()].chunks_exact_mut(8) {
        cell.copy_from_slice(&target);
    }
    let error = from_slice::<(Vec<String>, String)>(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetExceeded);
}

#[test]
fn texts_that_are_shared_are_within_the_budget() {
    let texts = vec!["y".repeat(1024); 20_000];
    let doc = to_doc(&texts).unwrap();
    assert!(doc.as_bytes().len() < 200_000);
    assert_eq!(from_doc::<Vec<String>>(doc.doc()).unwrap(), texts);
    let bits = vec![true; 100_000];
    assert_eq!(from_doc::<Vec<bool>>(to_doc(&bits).unwrap().doc()).unwrap(), bits);
}

#[test]
fn circles_end_at_the_nesting_limit() {
    let mut bytes = json!([[1]]).to_vec();
    let root: [u8; 4] = bytes[8..12].try_into().unwrap();
    let home = u32::from_le_bytes(root) as usize;
    let data = u32::from_le_bytes(bytes[home + 12..home + 16].try_into().unwrap()) as usize;
    bytes[data..data + 4].copy_from_slice(&root);
    let error = from_slice::<serde_json::Value>(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NestingLimit);
    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    struct Nest(Vec<Nest>);
    assert_eq!(from_slice::<Nest>(&bytes).unwrap_err().kind(), ErrorKind::NestingLimit);
    assert!(serde_json::to_value(Doc::open(&bytes).unwrap()).is_err());
}

/// Bug: the depth was bounded by the stack used so far, 1 MiB. Effect: 900 objects ended a
/// thread of 512 KiB, and unoptimised builds refused 41 by "the limit of 40", which nobody
/// had set. Fix: a limit of levels that fits 256 KiB, which can be set.
#[test]
fn nesting_to_the_limit() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Arrays(Vec<Arrays>);
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Objects {
        below: Option<Box<Objects>>,
        name: String,
        list: Vec<f64>,
    }
    type Value = serde_json::Value;

    fn both<T: Serialize + serde::de::DeserializeOwned>(value: &T, depth: u16, at: &str) {
        let doc = to_doc(value).unwrap();
        let root = doc.valid().unwrap().root();
        if depth <= livebuf::SERDE_NESTING {
            assert_eq!(to_vec(&from_value::<T>(root).unwrap()).unwrap(), doc.as_bytes());
            assert_eq!(to_vec(&from_value::<Value>(root).unwrap()).unwrap(), doc.as_bytes());
            assert_eq!(to_vec(&doc).unwrap(), doc.as_bytes());
            serde_json::to_string(&doc).unwrap();
            serde_json::to_value(&doc).unwrap();
            return;
        }
        let read = [from_value::<T>(root).err(), from_value::<Value>(root).err()];
        for error in read.map(Option::unwrap) {
            assert_eq!((error.kind(), error.error().detail()), (ErrorKind::NestingLimit, 64));
            let text = error.to_string();
            assert!(text.contains("the limit of 64 at offset"), "{text}");
            assert!(
                text.contains("`Value::nested` sets the limit") && text.ends_with(at),
                "{text}"
            );
        }
        let error = serde_json::to_string(&doc).unwrap_err().to_string();
        assert!(error.contains("`Value::nested` sets the limit"), "{error}");
        assert!(root.nested(depth - 1).serialize(&mut Encoder::new()).is_err());
        let again = T::deserialize(root.nested(depth)).unwrap();
        assert_eq!(to_vec(&again).unwrap(), doc.as_bytes());
        assert_eq!(to_vec(&root.nested(depth)).unwrap(), doc.as_bytes());
    }
    let arrays = |depth| (1..depth).fold(Arrays(vec![]), |below, _| Arrays(vec![below]));
    let objects = |depth| {
        let object = |below| Some(Box::new(Objects { below, name: "a".into(), list: vec![] }));
        // The empty list is a level of its own.
        (1..depth).fold(None, |below, _| object(below))
    };
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let small = small.spawn(move || {
        for depth in [1, 64, 65, 66] {
            both(&arrays(depth), depth, "/0/0");
        }
        for depth in [2, 64, 65, 66] {
            both(&objects(depth), depth, "");
        }
    });
    small.unwrap().join().unwrap();
    // Unoptimised, too.
    let large = std::thread::Builder::new().stack_size(32 << 20);
    let large = large.spawn(move || {
        both(&arrays(1000), 1000, "/0/0");
        assert_eq!(to_doc(&arrays(1001)).unwrap_err().kind(), ErrorKind::NestingLimit);
    });
    large.unwrap().join().unwrap();
}

/// Bug: raw JSON text was stored as an object of serde_json's private key. Fix: it is read.
#[test]
fn raw_json_is_the_value_it_stands_for() {
    use serde_json::value::RawValue;
    fn to_doc<T: Serialize + ?Sized>(value: &T) -> Result<DocBuf, SerdeError> {
        let mut encoder = Encoder::new();
        encoder.set_raw_json(|encoder, text| {
            Ok(livebuf_json::read_into(encoder, text, &Default::default())?)
        });
        value.serialize(&mut encoder)?;
        Ok(encoder.finish()?)
    }
    for text in [
        "null",
        " true ",
        "[]",
        "{ }",
        "-0",
        "1.50",
        "18446744073709551615",
        "-1e-5",
        "123456789012345678901234567890",
        r#""""#,
        r#""a\"\\\/\b\f\n\r\t\u00e9\uD834\uDD1E é""#,
        r#"[1, [2, [], {}], {"a" : {"b": [null , false]}, "c":"x"} ]"#,
        r#"{"\u0061":1}"#,
    ] {
        let raw: Box<RawValue> = serde_json::from_str(text.trim()).unwrap();
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let expected = match text.len() > 29 && text.starts_with('1') {
            true => raw_number(text),
            false => to_doc(&value).unwrap(),
        };
        assert_eq!(to_doc(&raw).unwrap().as_bytes(), expected.as_bytes(), "{text}");
        assert_eq!(tree(&to_doc(&vec![&raw, &raw]).unwrap())[1], tree(&expected), "{text}");
    }
    fn raw_number(text: &str) -> DocBuf {
        let mut encoder = Encoder::new();
        encoder.number_text(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Says that it is raw JSON.
    struct Forged<'t>(&'t str);
    impl Serialize for Forged<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            const TOKEN: &str = "$serde_json::private::RawValue";
            let mut raw = serializer.serialize_struct(TOKEN, 1)?;
            raw.serialize_field(TOKEN, self.0)?;
            raw.end()
        }
    }
    for text in [
        "",
        " ",
        "nul",
        "tru",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "1 2",
        "[1]]",
        "}",
        "01",
        "+1",
        "1.",
        ".5",
        "1e",
        "-",
        "--1",
        "\"",
        "\"a",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u+123\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\u00é\"",
        "[1}",
        "{\"a\":1]",
        "\u{a0}1",
    ] {
        assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        let error = to_doc(&Forged(text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Custom, "{text}: {error}");
        let direct = livebuf_json::from_str(text).unwrap_err().to_string();
        assert!(error.to_string().contains(&direct), "{error}");
    }
    let deep = format!("{}{}", "[".repeat(1001), "]".repeat(1001));
    assert_eq!(to_doc(&Forged(&deep)).unwrap_err().kind(), ErrorKind::NestingLimit);
    // Nothing reads it but what was given.
    let error = livebuf::to_doc(&Forged("1")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("livebuf_json::read_into"), "{error}");
}

// --- json! ------------------------------------------------------------------

#[test]
fn json_literals() {
    macro_rules! same {
        ($($json:tt)+) => {
            assert_eq!(tree(&json!($($json)+)), serde_json::json!($($json)+))
        };
    }
    let (one, text, key) = (1, String::from("text"), "key");
    same!(null);
    same!(true);
    same!(-1.5);
    same!("text");
    same!([]);
    same!({});
    same!([null, true, false, -1, 0.5, "x", [], {}, [null], {"a": null},]);
    same!([one, one + 1, -one, text, &text, text.len(), key, one == 2, (one, one).0]);
    same!([[[[]]], [{"a": [{}]}]]);
    same!([1, 2, 3, 4, 5, 6, 7, 8]);
    same!([1, 2, 3, 4, 5, 6, 7, 8, 9,]);
    same!([1, 2, 3, 4, 5, 6, 7, -8, 9, [1, 2], {"a": 1}, null, 7, 8, 9, 10, key, text]);
    same!({
        "literal": 1,
        key: 2,
        (text.clone()): 3,
        (format!("{text}s")): 4,
        "": {"nested": {"deeper": [1, {"x": null}]}},
        "expression": if one == 1 { "one" } else { "more" },
        "call": Some(one).map(|one| one + 1),
        "none": None::<u8>,
        "array": ([one; 3]),
        "vector": vec!["a", "b"],
        "last": (one),
    });
    // Nothing is moved, keys neither.
    assert_eq!(
        tree(&json!({text: text, "one": one})),
        serde_json::json!({"text": "text", "one": 1})
    );
    assert_eq!((one, text.as_str()), (1, "text"));
}

#[test]
fn json_values_of_many_types() {
    let part = json!({"grafted": [1, "text longer than a cell"]});
    let owned: Cow<'_, str> = Cow::Owned("cow".into());
    let array: [Option<Box<i64>>; 2] = [Some(Box::new(1)), None];
    let doc = json!({
        "integers": [1i8, 2i16, 3i32, 4i64, 5isize, 6u8, 7u16, 8u32, 9u64, 10usize],
        "wide": [i128::from(-1), i128::MIN, u128::from(u64::MAX), u128::MAX],
        "floats": [0.5f32, 0.25f64],
        "texts": ['c', "str", String::from("string"), owned],
        "unit": (),
        "array": array,
        "slice": &["a", "b"][..],
        "bytes": [&b"bytes"[..], vec![1u8, 2], New::Bytes(b"new")],
        "graft": part,
        "value": part.doc().pointer("/grafted").unwrap().unwrap(),
        "valid": part.valid().unwrap(),
        "new": [New::Null, New::from(1), New::object(3), New::array(3), New::NumberText("1e400"),
            New::Fields(&[("a", New::Items(&[New::Int(1), New::Null]))])],
    });
    doc.doc().validate().unwrap();
    let root = doc.valid().unwrap().root();
    let graft = serde_json::json!({"grafted": [1, "text longer than a cell"]});
    let at = |pointer: &str| root.pointer(pointer).unwrap();
    let equal = |pointer: &str, expected: serde_json::Value| {
        assert_eq!(from_value::<serde_json::Value>(at(pointer)).unwrap(), expected);
    };
    equal("/integers", serde_json::json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    equal("/wide/0", serde_json::json!(-1));
    equal("/wide/2", serde_json::json!(u64::MAX));
    assert_eq!(at("/wide/1").as_number_text(), Some(i128::MIN.to_string().as_str()));
    assert_eq!(at("/wide/3").as_number_text(), Some(u128::MAX.to_string().as_str()));
    equal("/floats", serde_json::json!([0.5, 0.25]));
    equal("/texts", serde_json::json!(["c", "str", "string", "cow"]));
    equal("/unit", serde_json::json!(null));
    equal("/array", serde_json::json!([1, null]));
    equal("/slice", serde_json::json!(["a", "b"]));
    assert_eq!(at("/bytes/0").as_bytes(), Some(&b"bytes"[..]));
    assert_eq!(at("/bytes/1").as_bytes(), Some(&[1, 2][..]));
    assert_eq!(at("/bytes/2").as_bytes(), Some(&b"new"[..]));
    equal("/graft", graft.clone());
    equal("/value", graft["grafted"].clone());
    equal("/valid", graft);
    equal("/new/2", serde_json::json!({}));
    equal("/new/3", serde_json::json!([]));
    equal("/new/5", serde_json::json!({"a": [1, null]}));
}

#[test]
fn json_expressions_may_return_and_await_their_turn() {
    fn part(value: Value<'_, Checked>) -> livebuf::Result<DocBuf> {
        Ok(json!({"sum": value.get("a")?.and_then(|a| a.as_i64()), "rest": value.get("b")?}))
    }
    let doc = json!({"a": 1, "b": [2]});
    let root = doc.doc().root();
    assert_eq!(tree(&part(root).unwrap()), serde_json::json!({"sum": 1, "rest": [2]}));
    // In order, once each.
    let mut count = 0;
    let mut next = || {
        count += 1;
        count
    };
    let doc = json!([next(), {"a": next(), (next().to_string()): next()}, next()]);
    assert_eq!(tree(&doc), serde_json::json!([1, {"a": 2, "3": 4}, 5]));
    assert_eq!(count, 5);
}

#[test]
#[should_panic(expected = "json!: not a valid number")]
fn json_panics_where_nothing_can_be_built() {
    let _ = json!([New::NumberText("one")]);
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Driver {
    name: String,
    laps: Vec<f64>,
}

fn ada() -> Driver {
    Driver { name: "Ada".into(), laps: vec![88.5, 87.25] }
}

#[test]
fn json_takes_what_serializes() {
    fn generic<T: Serialize>(value: T) -> DocBuf {
        json!({"it": value})
    }
    let map = BTreeMap::from([("k", 1)]);
    let doc = json!({
        "struct": ada(), "borrowed": &ada(), "list": vec![ada()], "some": Some(ada()),
        "tuple": (1, "two", [3.0]), "map": map, "bytes": vec![1u8, 2], "number": 1,
        (format!("k{}", 1)): [(1, 2), (3, 4)],
    });
    let expected = serde_json::json!({
        "struct": ada(), "borrowed": ada(), "list": [ada()], "some": ada(),
        "tuple": [1, "two", [3.0]], "map": {"k": 1}, "number": 1, "k1": [[1, 2], [3, 4]],
    });
    let bytes = doc.doc().pointer("/bytes").unwrap().unwrap();
    assert_eq!(bytes.kind(), Kind::Bytes, "as New has it, not as serde");
    let mut doc = doc.clone();
    doc.remove_pointer("/bytes").unwrap();
    assert_eq!(tree(&doc), expected);
    assert_eq!(tree(&generic(ada())), serde_json::json!({"it": ada()}));
}

#[test]
#[should_panic(expected = "json!: a map key must be text, a number or a boolean")]
fn json_says_what_a_type_reports() {
    json!({"map": BTreeMap::from([((1, 2), 3)])});
}

#[test]
fn anything_that_serializes_is_stored() {
    let mut doc = json!({"drivers": []});
    let drivers = doc.find("/drivers").unwrap().unwrap();
    doc.push_value(drivers, &ada()).unwrap().unwrap();
    doc.set_value(drivers, 0, &(1, "x")).unwrap().unwrap();
    assert_eq!(doc.push_value(drivers, &5u8).unwrap(), None);
    let mut root = doc.root_mut().unwrap();
    let mut best = root.set_value("best", &ada()).unwrap().unwrap();
    best.set("name", "Augusta").unwrap();
    root.get_mut("drivers").unwrap().unwrap().push_value(&ada()).unwrap();
    let expected = serde_json::json!({
        "drivers": [[1, "x"], 5, ada()], "best": {"name": "Augusta", "laps": ada().laps},
    });
    assert_eq!(tree(&doc), expected);
    // What cannot be stored changes nothing.
    let before = doc.to_vec();
    let error = doc.set_value(drivers, "name", &ada()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongType);
    doc.set_value(drivers, 0, &BTreeMap::from([((1, 2), 3)])).unwrap_err();
    assert_eq!(doc.to_vec(), before);
}

#[test]
fn a_document_is_a_field_that_holds_anything() {
    #[derive(Serialize, Deserialize)]
    struct Message {
        id: u8,
        payload: DocBuf,
    }
    let text =
        r#"{"id":7,"payload":{"a":[1,-2,1.5,"text",null,true,{}],"b":18446744073709551615}}"#;
    let message: Message = serde_json::from_str(text).unwrap();
    assert!(message.payload.is_trusted());
    assert_eq!(message.id, 7);
    assert_eq!(serde_json::to_string(&message).unwrap(), text);
    // From a document, bytes and numbers beyond 64 bits stay what they are.
    let doc = json!({"id": 1, "payload": [New::Bytes(b"xyz"), 1u128 << 100]});
    let message: Message = from_value(&doc).unwrap();
    let payload = message.payload.doc().root();
    assert_eq!(payload.get(0).unwrap().unwrap().as_bytes().unwrap(), Some(&b"xyz"[..]));
    assert_eq!(payload.get(1).unwrap().unwrap().as_f64(), Some(2f64.powi(100)));
    // What the source reports is reported, and what is nested too deep.
    assert!(serde_json::from_str::<DocBuf>(r#"{"a":[1,}"#).is_err());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(serde_json::from_str::<DocBuf>(&deep).is_err());
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: livebuf::Uuid,
    due: livebuf::Date,
    at: livebuf::Timestamp,
    open: livebuf::Time,
    local: Option<livebuf::DateTime>,
    prices: Vec<livebuf::Decimal>,
    any: livebuf::Extended,
}

/// They keep their kinds in documents, and are their text in other formats.
#[test]
fn dates_times_decimals_and_uuids() {
    let text = r#"{"id":"00000000-0000-4000-8000-000000000007","due":"2026-11-23","at":"2026-11-23T08:30:00Z","open":"08:30:00.250","local":"2026-11-23T08:30:00","prices":["19.90","0.05"],"any":"2026-11-24"}"#;
    let order: Order = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&order).unwrap(), text);
    let doc = livebuf::to_doc(&order).unwrap();
    let root = doc.valid().unwrap().root();
    assert_eq!(root.get("id").unwrap().as_uuid(), Some(order.id));
    assert_eq!(root.get("local").unwrap().as_date_time(), order.local);
    assert_eq!(root.get("any").unwrap().kind(), Kind::Date);
    let prices = root.get("prices").unwrap().as_array().unwrap();
    assert_eq!(prices.column_type(), livebuf::ColumnType::Decimal);
    assert_eq!(from_doc::<Order>(doc.doc()).unwrap(), order);
    // From text that another program stored, and to a program that wants text.
    assert_eq!(from_doc::<Order>(livebuf_of(text).doc()).unwrap(), order);
    let texts: std::collections::BTreeMap<String, serde_json::Value> = from_doc(doc.doc()).unwrap();
    assert_eq!(texts["due"], "2026-11-23");
    assert_eq!(serde_json::to_string(&doc).unwrap(), text);
    let error = serde_json::from_str::<livebuf::Date>(r#""2026-02-29""#).unwrap_err();
    assert!(error.to_string().contains("expected a date such as 2026-11-23"), "{error}");
    let error = from_doc::<i64>(json!(order.due).doc()).unwrap_err();
    assert!(error.to_string().contains("date, time, decimal or UUID"), "{error}");
}

/// The document of JSON text, by serde_json's values.
fn livebuf_of(text: &str) -> DocBuf {
    livebuf::to_doc(&serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap()
}
