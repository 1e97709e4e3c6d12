//! Diffs by example: few operations for few changes, and the exact value. Any values are
//! compared by the oracle `patches` (fuzz/src/patches.rs).

use livebuf::{DocBuf, Tensor, Value, json};
use livebuf_json::ReadOptions;
use livebuf_patch::{DiffOptions, PatchErrorKind, changes, diff, merge, merge_diff};

/// Two documents, and the patch from the first to the second.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    ("1", "1", "[]"),
    ("1", "1.0", r#"[{"op":"replace","path":"","value":1.0}]"#),
    ("0.0", "-0.0", r#"[{"op":"replace","path":"","value":-0.0}]"#),
    ("1.0", "1.000000000000000000000", r#"[{"op":"replace","path":"","value":1.000000000000000000000}]"#),
    ("1", "true", r#"[{"op":"replace","path":"","value":true}]"#),
    ("{}", "[]", r#"[{"op":"replace","path":"","value":[]}]"#),
    ("[]", "[]", "[]"),
    (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, "[]"),
    (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, r#"[{"op":"add","path":"/b","value":null}]"#),
    (r#"{"a":1,"b":null}"#, r#"{"a":1}"#, r#"[{"op":"remove","path":"/b"}]"#),
    (r#"{"a/b":1,"c~d":2,"":3}"#, r#"{"a/b":2,"c~d":3,"":4,"x":"a text so long that replacing all costs more"}"#,
     r#"[{"op":"replace","path":"/a~1b","value":2},{"op":"replace","path":"/c~0d","value":3},{"op":"replace","path":"/","value":4},{"op":"add","path":"/x","value":"a text so long that replacing all costs more"}]"#),
    // A key that changed: the value moves.
    (r#"{"a":{"x":[1,2]},"b":1}"#, r#"{"b":1,"c":{"x":[1,2]}}"#, r#"[{"op":"move","from":"/a","path":"/c"}]"#),
    // What is small goes and comes.
    (r#"{"a":1}"#, r#"{"b":1}"#, r#"[{"op":"add","path":"/b","value":1},{"op":"remove","path":"/a"}]"#),
    // Arrays.
    ("[1,2,3]", "[1,2,3,4]", r#"[{"op":"add","path":"/3","value":4}]"#),
    ("[1,2,3]", "[0,1,2,3]", r#"[{"op":"add","path":"/0","value":0}]"#),
    ("[1,2,3]", "[1,3]", r#"[{"op":"remove","path":"/1"}]"#),
    ("[1,2,3]", "[2,3,1]", r#"[{"op":"move","from":"/0","path":"/2"}]"#),
    ("[1,2,3,4]", "[4,1,2,3]", r#"[{"op":"move","from":"/3","path":"/0"}]"#),
    ("[]", "[1]", r#"[{"op":"add","path":"/0","value":1}]"#),
    ("[1]", "[]", r#"[{"op":"remove","path":"/0"}]"#),
    (r#"[{"id":1,"v":"a"},{"id":2,"v":"b"},{"id":3,"v":"c"}]"#, r#"[{"id":1,"v":"a"},{"id":2,"v":"B"},{"id":3,"v":"c"}]"#,
     r#"[{"op":"replace","path":"/1/v","value":"B"}]"#),
    // A changed element behind a new one.
    (r#"[{"id":1,"v":"a","w":[1,2,3]}]"#, r#"[{"id":0},{"id":1,"v":"b","w":[1,2,3]}]"#,
     r#"[{"op":"add","path":"/0","value":{"id":0}},{"op":"replace","path":"/1/v","value":"b"}]"#),
    // Everything differs: the whole is replaced.
    (r#"{"a":{"b":1,"c":2,"d":3,"e":4},"keep":"a text that stays as it is, and is long"}"#, r#"{"a":{"b":5,"c":6,"d":7,"e":8},"keep":"a text that stays as it is, and is long"}"#,
     r#"[{"op":"replace","path":"/a","value":{"b":5,"c":6,"d":7,"e":8}}]"#),
];

fn read(text: &str, tables: bool) -> DocBuf {
    let options = ReadOptions::new().tables(tables);
    livebuf_json::from_slice_with(text.as_bytes(), &options).unwrap()
}

/// Applies the diff to the first: it must equal the second, by kinds of numbers, too.
fn check(one: &DocBuf, two: &DocBuf, options: &DiffOptions) -> usize {
    let patch = diff(one, two, options).unwrap();
    let mut patched = one.clone();
    patch.apply(&mut patched).unwrap();
    patched.doc().validate().unwrap();
    assert!(patched.root().deep_eq(two, &mut { u64::MAX }).unwrap(), "{patch:?}");
    if options.ordered {
        assert_eq!(
            livebuf_json::to_string(&patched).unwrap(),
            livebuf_json::to_string(two).unwrap()
        );
    }
    patch.len()
}

#[test]
fn examples() {
    for &(one, two, expected) in CASES {
        for tables in [true, false] {
            let (one, two) = (read(one, tables), read(two, !tables));
            let patch = diff(&one, &two, &DiffOptions::new()).unwrap();
            assert_eq!(patch.to_json().unwrap(), expected);
            for options in [DiffOptions::new(), DiffOptions::new().ordered(true)] {
                check(&one, &two, &options);
                check(&two, &one, &options);
            }
        }
    }
}

#[test]
fn one_row_in_front_of_a_large_table() {
    let rows = |from: i64| -> Vec<serde_json::Value> {
        (from..10_000)
            .map(|id| serde_json::json!({"id": id, "name": format!("row {id}"), "on": id % 3 == 0}))
            .collect()
    };
    let (one, two) = (livebuf::to_doc(&rows(0)).unwrap(), livebuf::to_doc(&rows(-1)).unwrap());
    assert!(one.valid().unwrap().root().as_array().unwrap().table().is_some());
    assert_eq!(check(&one, &two, &DiffOptions::new()), 1);
    assert_eq!(check(&two, &one, &DiffOptions::new()), 1);
    // A row that moved, one that changed, one that went.
    let mut three = rows(0);
    let row = three.remove(9_000);
    three.insert(10, row);
    three[5_000]["name"] = "another".into();
    three.remove(7_000);
    let three = livebuf::to_doc(&three).unwrap();
    assert_eq!(check(&one, &three, &DiffOptions::new()), 3);
    assert_eq!(check(&three, &one, &DiffOptions::new()), 3);
    assert!(check(&one, &three, &DiffOptions::new().ordered(true)) <= 3);
}

/// The order of members: asked for, and not.
#[test]
fn orders() {
    let ordered = DiffOptions::new().ordered(true);
    let pairs = [
        (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
        (r#"{"a":1,"b":2}"#, r#"{"c":0,"a":1,"b":2}"#),
        (r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2,"c":0}"#),
        (r#"{"a":{"x":[1,2,3]},"b":2}"#, r#"{"b":2,"z":{"x":[1,2,3]}}"#),
        (
            r#"[{"a":1,"b":2},{"a":3,"b":4},{"a":5,"b":6}]"#,
            r#"[{"a":1,"b":2},{"b":4,"a":3},{"a":5,"b":6}]"#,
        ),
        (
            r#"[{"a":1,"b":2},{"a":3,"b":4},{"a":5,"b":6}]"#,
            r#"[{"a":1,"b":2},{"b":4,"a":3},{"a":5,"b":6},{"b":1,"a":2}]"#,
        ),
    ];
    for (one, two) in pairs {
        for tables in [true, false] {
            check(&read(one, tables), &read(two, tables), &ordered);
            check(&read(two, tables), &read(one, tables), &ordered);
        }
    }
    let (one, two) = (read(pairs[0].0, true), read(pairs[0].1, true));
    assert!(diff(&one, &two, &DiffOptions::new()).unwrap().is_empty());
    assert!(changes(&one, &two, &DiffOptions::new()).unwrap().is_empty());
    assert_eq!(diff(&one, &two, &ordered).unwrap().len(), 1);
    // A hole takes its key back at the old place.
    let mut holed = json!({"a": 1, "b": 2, "c": 3});
    holed.remove_pointer("/b").unwrap();
    check(&holed, &json!({"a": 1, "c": 3, "b": 4}), &ordered);
}

/// Tensors keep their type and shape: changed in place, or replaced.
#[test]
fn tensors() {
    let tensor = |shape: &[usize], numbers: &[u8]| {
        let mut doc = json!({"name": "mask"});
        doc.set_pointer("/data", &Tensor::new(shape, numbers).unwrap()).unwrap();
        doc
    };
    let one = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let wide = {
        let mut doc = json!({"name": "mask"});
        doc.set_pointer("/data", &Tensor::new(&[2, 3], &[1i64, 2, 3, 4, 5, 700]).unwrap()).unwrap();
        doc
    };
    let others = [
        tensor(&[2, 3], &[1, 2, 3, 4, 5, 7]),
        tensor(&[2, 3], &[2, 3, 1, 5, 6, 4]),
        tensor(&[3, 2], &[1, 2, 3, 4, 5, 6]),
        tensor(&[2, 2], &[1, 2, 4, 5]),
        tensor(&[6], &[1, 2, 3, 4, 5, 6]),
        json!({"name": "mask", "data": [[1, 2, 3], [4, 5, "six"]]}),
        json!({"name": "mask", "data": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}),
        json!({"name": "mask", "data": [[1, 2, 3], [4, 5, 1.5]]}),
        wide,
    ];
    for other in &others {
        check(&one, other, &DiffOptions::new());
        check(other, &one, &DiffOptions::new());
    }
    assert_eq!(check(&one, &others[0], &DiffOptions::new()), 1);
}

#[test]
fn merge_patches() {
    let pairs = [
        (
            r#"{"a":{"b":1,"c":2},"d":[1,2],"e":"x"}"#,
            r#"{"a":{"b":1},"d":[1,2,null],"e":"x","f":{"g":{}}}"#,
            r#"{"a":{"c":null},"d":[1,2,null],"f":{"g":{}}}"#,
        ),
        ("{}", "{}", "{}"),
        (r#"{"a":1}"#, r#"{"a":1}"#, "{}"),
        (r#"{"a":{"b":{"c":1}}}"#, r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{"c":null}}}"#),
        (r#"{"a":1}"#, r#"{"a":1.0}"#, r#"{"a":1.0}"#),
        (r#"{"a":null}"#, r#"{"a":null,"b":1}"#, r#"{"b":1}"#),
        (r#"{"a":null}"#, "{}", r#"{"a":null}"#),
        (r#"{"a":1}"#, "[null]", "[null]"),
        (r#"{"a":1}"#, "null", "null"),
        ("[1]", r#"{"a":{}}"#, r#"{"a":{}}"#),
        ("5", "5", "5"),
    ];
    for (one, two, expected) in pairs {
        let (mut one, two) = (read(one, true), read(two, true));
        let patch = merge_diff(&one, &two).unwrap();
        assert_eq!(livebuf_json::to_string(&patch).unwrap(), expected);
        merge(&mut one, &patch).unwrap();
        assert!(one.root().deep_eq(&two, &mut { u64::MAX }).unwrap());
    }
    for (one, two, place) in [
        (r#"{"a":1}"#, r#"{"a":null}"#, "/a"),
        (r#"{"a":{"b~":1}}"#, r#"{"a":{"b~":{"c":null}}}"#, "/a/b~0"),
        ("{}", r#"{"x":{"y":null}}"#, "/x"),
        ("1", r#"{"y":null}"#, ""),
    ] {
        let error = merge_diff(&read(one, true), &read(two, true)).unwrap_err();
        assert_eq!((error.kind(), error.pointer()), (PatchErrorKind::Unsupported, place));
    }
}

/// The deepest documents, on a small stack: objects, arrays, and both.
#[test]
fn nesting() {
    let run = || {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[0,{"a":"#, "}]")] {
            let depth = 1_000 / (open.len().min(6) / 3).max(1);
            let deep = |inner: &str| {
                read(&[open.repeat(depth), inner.into(), close.repeat(depth)].concat(), true)
            };
            let (one, two) = (deep("1"), deep("2"));
            assert_eq!(check(&one, &two, &DiffOptions::new()), 1);
            assert_eq!(check(&one, &two, &DiffOptions::new().ordered(true)), 1);
            assert_eq!(check(&one, &one.clone(), &DiffOptions::new()), 0);
            let patch = merge_diff(&one, &two).unwrap();
            let mut merged = one.clone();
            merge(&mut merged, &patch).unwrap();
            assert!(merged.root().deep_eq(&two, &mut { u64::MAX }).unwrap());
        }
        // Too deep for a value of a patch, which lies in an array and an object.
        let deep = read(&["[".repeat(999), "]".repeat(999)].concat(), true);
        let error = diff(&json!({}), &deep, &DiffOptions::new()).unwrap_err();
        assert_eq!(error.core_error().unwrap().kind(), livebuf::ErrorKind::NestingLimit);
        let deepest = read(&["[".repeat(998), "]".repeat(998)].concat(), true);
        check(&read("{}", true), &deepest, &DiffOptions::new());
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

/// Large arrays without anything in common, or with very much, end soon: with quadratic work
/// this test would take minutes.
#[test]
fn large_arrays() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut list =
        |count: usize, most: i64| -> Vec<i64> { (0..count).map(|_| random.i64(0..most)).collect() };
    for most in [3, 1_000, i64::MAX] {
        let (one, two) = (list(30_000, most), list(29_000, most));
        let (one, two) = (livebuf::to_doc(&one).unwrap(), livebuf::to_doc(&two).unwrap());
        let found = changes(&one, &two, &DiffOptions::new()).unwrap();
        assert!(!found.is_empty());
    }
}

/// What people are shown: old and new values, and where they moved from.
#[test]
fn listings() {
    let one =
        json!({"laps": [{"time": 88.4}, {"time": 87.9}], "driver": {"name": "Ada", "car": 7}});
    let two = json!({"laps": [{"time": 88.4}, {"time": 87.5}, {"time": 90}], "pilot": {"name": "Ada", "car": 7}});
    let found = changes(&one, &two, &DiffOptions::new()).unwrap();
    let text = |value: Option<Value<'_, _>>| {
        value.map_or("-".into(), |value| livebuf_json::to_string(value).unwrap())
    };
    let lines: Vec<String> = found
        .iter()
        .map(|change| {
            let from = change.from.as_deref().unwrap_or("-");
            format!("{} {from} {} {}", change.pointer, text(change.old), text(change.new))
        })
        .collect();
    assert_eq!(
        lines,
        [
            "/laps/1/time - 87.9 87.5",
            r#"/laps/2 - - {"time":90}"#,
            r#"/pilot /driver {"name":"Ada","car":7} {"name":"Ada","car":7}"#
        ]
    );
}
