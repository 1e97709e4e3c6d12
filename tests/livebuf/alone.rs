//! Values as documents of their own, as rows of SQL get them.

use livebuf::raw::{Alone, AloneMemory};
use livebuf::{Doc, DocBuf, Value, json};
use std::path::Path;

/// Calls `meet` on a value and on all below it, as far as they can be read.
fn each<'a>(value: Value<'a>, meet: &mut impl FnMut(&Value<'a>)) {
    meet(&value);
    if let Ok(Some(object)) = value.as_object() {
        object.iter().flatten().for_each(|(_, value)| each(value, meet));
    }
    if let Ok(Some(array)) = value.as_array() {
        array.iter().flatten().for_each(|value| each(value, meet));
    }
}

/// All values of a document by themselves. Each is a valid document with the same value, of the
/// same bytes whatever came before. Returns their count.
fn check(doc: Doc<'_>) -> usize {
    let (mut count, mut alone) = (0, Alone::new(doc, AloneMemory::default()));
    let mut used = None::<AloneMemory>;
    each(doc.root(), &mut |value| {
        let made = alone.document(value).unwrap().to_vec();
        assert_eq!(Doc::open(&made).unwrap().validate().unwrap().root(), *value);
        assert_eq!(alone.last(), made);
        let memory = used.take().unwrap_or_default();
        let mut other = Alone::new(doc, memory);
        assert_eq!(other.document(value).unwrap(), made);
        used = Some(other.take_memory());
        count += 1;
    });
    count
}

fn vectors() -> impl Iterator<Item = (String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/vectors");
    std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        name.ends_with(".lbuf").then(|| (name, std::fs::read(path).unwrap()))
    })
}

#[test]
fn values_of_valid_documents() {
    let mut count = 0;
    for (name, bytes) in vectors().filter(|(name, _)| name.starts_with("y_")) {
        let doc = Doc::open(&bytes).unwrap();
        // Numbers of values that no version knows yet are copied by nobody.
        if doc.root().view().is_ok() && !name.contains("reserved") && bytes.len() < 100_000 {
            count += check(doc);
        }
    }
    assert!(count > 3000, "{count}");
}

#[test]
fn rows_whose_keys_differ() {
    let doc = json!([
        {"a": 1, "a long key, as it is": "a text of some length", "b": {"x": 1, "y": "ä"}},
        {"a": 2, "b": {"y": "2", "x": 1}},
        {"a": 3, "a long key, as it is": null, "b": {"x": 1}, "tags": ["a", "b"]},
        {"a": 4, "a long key, as it is": "x", "b": {"x": [1.5, 2, null], "y": [[1], [2]]}},
        {"a": 1, "a long key, as it is": "a text of some length", "b": {"x": 1, "y": "ä"}},
        {}, {"c": {}}, {"c": []}, [{}], [true, "text", 1.5], [1, 2, 300], "a text of some length"
    ]);
    assert!(check(doc.doc()) > 30);
    // More patterns than are kept, and more members, elements and bytes than are small.
    let mut list = json!([]);
    for round in 0..3 {
        for pattern in 1..200_u32 {
            let members: Vec<(String, u32)> = (0..8)
                .filter(|bit| pattern >> bit & 1 == 1)
                .map(|bit| (format!("{bit} of a key"), pattern + round))
                .collect();
            let mut row = json!({});
            let root = row.root_id().unwrap();
            for (key, value) in &members {
                row.set(root, key, *value).unwrap();
            }
            list.set_pointer("/-", &row).unwrap();
        }
    }
    for length in [31, 32, 33, 255, 256, 300] {
        let mut row = json!({"list": []});
        for number in 0..length {
            row.set_pointer(&format!("/{number}"), number).unwrap();
            row.set_pointer("/list/-", &"text".repeat(number % 5)).unwrap();
        }
        list.set_pointer("/-", &row).unwrap();
    }
    list.set_pointer("/-", &"x".repeat(5000)).unwrap();
    let rows = check(list.doc());
    list.compact().unwrap();
    assert_eq!(check(list.doc()), rows);
}

/// What was made before says nothing of another document.
#[test]
fn values_of_another_document() {
    let documents = [json!([{"a": 1}]), json!([{"b": 1}])];
    let row = |doc: &'_ DocBuf| doc.get(0).unwrap().unwrap().parts();
    let mut alone = Alone::new(documents[0].doc(), AloneMemory::default());
    for doc in &documents {
        let value = Value::from_parts(doc.as_bytes(), row(doc));
        let made = alone.document(&value).unwrap();
        assert_eq!(Doc::open(made).unwrap().validate().unwrap().root(), value);
    }
}

/// Of a damaged document a value is refused, or what is made of it is valid.
#[test]
fn values_of_damaged_documents() {
    let (mut refused, mut made) = (0, 0);
    let mut meet = |bytes: &[u8]| {
        let Ok(doc) = Doc::open(bytes) else { return };
        let mut alone = Alone::new(doc, AloneMemory::default());
        let mut left = 100;
        let mut values = vec![doc.root()];
        while let Some(value) = values.pop() {
            match alone.document(&value) {
                Ok(bytes) => {
                    Doc::open(bytes).unwrap().validate().unwrap();
                    made += 1;
                }
                Err(_) => refused += 1,
            }
            left -= 1;
            if left == 0 {
                return;
            }
            if let Ok(Some(object)) = value.as_object() {
                values.extend(object.iter().take(20).flatten().map(|(_, value)| value));
            }
            if let Ok(Some(array)) = value.as_array() {
                values.extend(array.iter().take(20).flatten());
            }
        }
    };
    vectors().filter(|(_, bytes)| bytes.len() < 100_000).for_each(|(_, bytes)| meet(&bytes));
    let rows = json!({"rows": [
        {"n": 1, "text": "a text of some length", "in": {"x": 1}, "list": ["a", "b"], "z": 1.5},
        {"n": 2, "text": "short", "in": {"x": 2}, "list": [], "z": null},
        {"n": 3, "text": "another text of some length", "in": {"x": 3}, "list": ["c"]}
    ], "one": {"a long key of it": [1, 2], "b": true}});
    let sound = rows.as_bytes();
    for at in 32..sound.len() {
        for bit in 0..8 {
            let mut bytes = sound.to_vec();
            bytes[at] ^= 1 << bit;
            meet(&bytes);
        }
    }
    assert!(refused > 1000 && made > 10_000, "{refused} refused, {made} made");
}
