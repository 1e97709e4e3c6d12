//! Templates: what is bound, what is stamped, what is refused.

use livebuf::{Doc, DocBuf, ErrorKind, New, Template, VecStorage, json};

fn kind<T>(result: livebuf::Result<T>) -> Option<(ErrorKind, u64)> {
    result.err().map(|error| (error.kind(), error.detail()))
}

fn same(one: Doc<'_>, other: Doc<'_>) {
    let equal = one.root().deep_eq(other.root(), &mut 10_000).unwrap();
    assert!(equal, "{:#?}\n{:#?}", one.root(), other.root());
}

/// The bytes of the example of FORMAT 10, with other values, and none to spare.
#[test]
fn a_message_is_as_long_as_one_that_was_built() {
    let example = json!({"event": "an example", "lap": 1, "time_sec": 2.5});
    let template = Template::new(&example, &["/event", "/lap", "/time_sec"]).unwrap();
    let values = ["lap_complete".into(), 55.into(), 88.427.into()];
    let mut buffer = [0xA5; 136];
    let doc = template.stamp_into(&mut buffer, &values).unwrap();
    assert_eq!(doc.as_bytes().len(), 136);
    same(doc.checked(), json!({"event": "lap_complete", "lap": 55, "time_sec": 88.427}).doc());
    // What the example had in its places is in no message.
    assert!(!doc.as_bytes().windows(10).any(|bytes| bytes == b"an example"));
}

/// Wherever a value lies, any value can be stamped in its place.
#[test]
fn places_are_anywhere_and_take_any_value() {
    let mut example = json!({
        "record": {"a": 1},
        "rows": [{"x": 1, "y": 0.5, "t": "a"}, {"x": 2, "y": 1.5, "t": "b"}, {"x": 3, "y": 2.5, "t": null}],
        "numbers": [1, 2, 3],
        "lists": [[1, 2], [3], [], [4, 5, 6]],
        "texts": ["one", "a longer text"],
        "a/b~": {"": true}
    });
    let map = example.set_pointer("/map", New::Map { capacity: 2 }).unwrap().unwrap();
    example.set(map, "k", 1).unwrap();
    example.set(map, "l", 2).unwrap();
    let places = [
        "/record/a",
        "/rows/1/x",
        "/rows/2/x",
        "/rows/0/y",
        "/rows/2/t",
        "/numbers/1",
        "/lists/3/2",
        "/texts/1",
        "/a~1b~0/",
        "/map/l",
    ];
    let template = Template::new(&example, &places).unwrap();
    let text = "text of more than seven bytes";
    let values: [New<'_>; 7] = [
        New::Null,
        true.into(),
        u64::MAX.into(),
        i64::MIN.into(),
        0.1.into(),
        text.into(),
        New::NumberText("1e400"),
    ];
    for turn in 0..values.len() {
        let values: Vec<_> =
            (0..places.len()).map(|at| values[(at + turn) % values.len()]).collect();
        let stamped = template.stamp(&values).unwrap();
        stamped.doc().validate().unwrap();
        let mut edited = example.clone();
        for (place, value) in places.iter().zip(&values) {
            edited.set_pointer(place, *value).unwrap();
        }
        same(stamped.doc(), edited.doc());
    }
    // Values of other documents, too.
    let other = json!(["a text of another document", 0.5, null, 18446744073709551615_u64]);
    let pair = Template::new(&json!({"a": 1}), &["/a"]).unwrap();
    for value in other.doc().root().as_array().unwrap().unwrap().iter() {
        let stamped = pair.stamp(&[value.unwrap().into()]).unwrap();
        let value = value.unwrap();
        let got = stamped.doc().pointer("/a").unwrap().unwrap();
        assert!(got.deep_eq(value, &mut 100).unwrap());
    }
    assert_eq!(kind(pair.stamp(&[(&other).into()])), Some((ErrorKind::Unsupported, 0)));
    let scalar = Template::new(&json!(7), &[""]).unwrap();
    let doc = scalar.stamp(&[b"\xFF\0 bytes, eight".into()]).unwrap();
    assert_eq!(doc.doc().root().as_bytes().unwrap(), Some(&b"\xFF\0 bytes, eight"[..]));
    let none = Template::new(&json!({"a": 1}), &[] as &[&str]).unwrap();
    same(none.stamp(&[]).unwrap().doc(), json!({"a": 1}).doc());
}

#[test]
fn wrong_places_are_told_by_number() {
    let example = json!({"a": 1, "list": [1], "object": {}});
    let places = |wrong: &str| kind(Template::new(&example, &["/list/0", wrong, "/a"]));
    assert_eq!(places("/b"), Some((ErrorKind::NotFound, 1)));
    assert_eq!(places("/list/-"), Some((ErrorKind::NotFound, 1)));
    assert_eq!(places("/list/01"), Some((ErrorKind::NotFound, 1)));
    assert_eq!(places("/a/b"), Some((ErrorKind::NotFound, 1)));
    assert_eq!(places("/object"), Some((ErrorKind::WrongType, 1)));
    assert_eq!(places(""), Some((ErrorKind::WrongType, 1)));
    assert_eq!(places("a"), Some((ErrorKind::BadPointer, 1)));
    assert_eq!(places("/a"), Some((ErrorKind::KeyExists, 1)));
}

#[test]
fn what_fails_leaves_no_document() {
    let template = Template::new(&json!({"a": 1, "b": 2}), &["/a", "/b"]).unwrap();
    let long = "a text of 24 bytes, say.";
    let good: [New<'_>; 2] = [long.into(), long.into()];
    let length = template.stamped_length(&good);
    for room in 0..length {
        let mut buffer = vec![0; length];
        // A whole message of before does not stay either.
        template.stamp_into(&mut buffer, &good).unwrap();
        let missing = match room {
            _ if room < length - 48 => length - 48 - room,
            _ if room < length - 24 => length - 24 - room,
            _ => length - room,
        };
        let refused = template.stamp_into(&mut buffer[..room], &good).map(drop);
        assert_eq!(kind(refused), Some((ErrorKind::NoSpace, missing as u64)));
        assert!(room < 4 || Doc::open(&buffer).is_err());
    }
    let mut buffer = [0; 512];
    let mut refused = |values: &[New<'_>], error| {
        template.stamp_into(&mut buffer, &good).unwrap();
        let result = template.stamp_into(&mut buffer, values).map(drop);
        assert_eq!(kind(result), Some(error));
        assert!(Doc::open(&buffer).is_err());
        let mut vector = template.stamp(&good).unwrap().to_vec();
        let result = template.stamp_vec(&mut vector, values).map(drop);
        assert_eq!((kind(result), vector.len()), (Some(error), 0));
        assert_eq!(kind(template.stamp(values)), Some(error));
    };
    refused(&[], (ErrorKind::IndexOutOfRange, 2));
    refused(&[New::Null; 3], (ErrorKind::IndexOutOfRange, 2));
    refused(&[New::Null, New::object(1)], (ErrorKind::Unsupported, 0));
    refused(&[New::Null, New::Items(&[])], (ErrorKind::Unsupported, 0));
    refused(&[New::Null, New::NumberText("1,5")], (ErrorKind::BadNumber, 0));
}

/// A text that is set again gives its room back, so that no message grows by it.
#[test]
fn setting_again_frees_what_was_there() {
    let template = Template::new(&json!({"a": 1, "b": 2}), &["/a", "/b"]).unwrap();
    let mut stamp = template.begin(VecStorage::default()).unwrap();
    for round in 0..100 {
        stamp.set(round % 2, "some text of 32 bytes, it is so.").unwrap();
        stamp.set(round % 2, "secret: another of 32 bytes, yes").unwrap();
    }
    stamp.set(0, 1).unwrap();
    stamp.set(1, "short").unwrap();
    let doc = stamp.into_editor();
    doc.doc().validate().unwrap();
    assert!(!doc.as_bytes().windows(6).any(|bytes| bytes == b"secret"));
    assert!(doc.as_bytes().len() < 600, "{} bytes", doc.as_bytes().len());
}

/// A stamped document is trusted, and like any other afterwards.
#[test]
fn stamped_documents_are_edited() {
    let template = Template::new(&json!({"name": "", "log": []}), &["/name"]).unwrap();
    let mut doc: DocBuf = template.stamp(&["a name of some length".into()]).unwrap();
    assert!(doc.is_trusted());
    for line in 0..100 {
        doc.set_pointer("/log/-", format!("line {line}, and some more text").as_str()).unwrap();
    }
    doc.set_pointer("/name", "a name that is longer than the other was").unwrap();
    doc.remove_pointer("/log/0").unwrap();
    doc.doc().validate().unwrap();
    assert_eq!(doc.doc().pointer("/log").unwrap().unwrap().len().unwrap(), Some(99));
}

/// Half of the memory is worked in: what is said to be missing suffices.
#[test]
fn templates_in_memory_of_the_callers() {
    let example = json!({"event": "x", "rows": [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}]});
    let mut memory = vec![0xA5; 8];
    let places = ["/event", "/rows/2/n"];
    let mut tries = 0;
    while let Err(error) = Template::new_in(&example, &places, &mut memory).map(drop) {
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        memory.resize(memory.len() + error.detail() as usize, 0xA5);
        tries += 1;
        assert!(tries < 20);
    }
    let template = Template::new_in(&example, &places, &mut memory).unwrap();
    let owned = Template::new(&example, &places).unwrap();
    let values = ["lap_complete".into(), 2.5.into()];
    let stamped = template.stamp(&values).unwrap();
    stamped.doc().validate().unwrap();
    same(stamped.doc(), owned.stamp(&values).unwrap().doc());
    assert!(template.size() < memory.len());
}

/// A damaged example is refused, or what is made of it is sound.
#[test]
fn damaged_examples() {
    let example =
        json!({"text": "a text of some length", "rows": [{"n": 1, "m": "x"}, {"n": 2, "m": "y"}]});
    let sound = example.as_bytes();
    let (mut refused, mut made) = (0, 0);
    for at in 32..sound.len() {
        for bit in 0..8 {
            let mut bytes = sound.to_vec();
            bytes[at] ^= 1 << bit;
            let Ok(doc) = Doc::open(&bytes) else { continue };
            match Template::new(doc, &["/rows/1/n", "/text"]) {
                Err(_) => refused += 1,
                Ok(template) => {
                    made += 1;
                    let doc = template.stamp(&[1.into(), "another of some length".into()]).unwrap();
                    doc.doc().validate().unwrap();
                }
            }
        }
    }
    assert!(refused > 500 && made > 100, "{refused} refused, {made} made");
}
