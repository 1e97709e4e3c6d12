//! RFC 7396 by example, at every depth, and in every layout.

use livebuf::json;
use livebuf_patch::{merge, merge_json};
use serde_json::Value;

/// The RFC's own examples (appendix A) first: document, patch, result.
const CASES: &[(&str, &str, &str)] = &[
    (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
    (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
    (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
    (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
    (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
    (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
    (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
    (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
    (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
    (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
    (r#"{"a":"foo"}"#, "null", "null"),
    (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
    (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
    ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
    ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    // Nulls in arrays are values.
    ("{}", r#"{"a":[null,{"b":null}]}"#, r#"{"a":[null,{"b":null}]}"#),
    (r#"{"a":1}"#, r#"{"a":{"b":null,"c":{"d":null,"e":5}}}"#, r#"{"a":{"c":{"e":5}}}"#),
    ("3", r#"{"a":null,"b":{"c":null}}"#, r#"{"b":{}}"#),
    ("{}", "{}", "{}"),
    ("[]", "{}", "{}"),
    ("null", r#"{"a":1}"#, r#"{"a":1}"#),
    (
        r#"{"a":{"b":{"c":1,"d":2}}}"#,
        r#"{"a":{"b":{"c":null}},"x":{"y":null}}"#,
        r#"{"a":{"b":{"d":2}},"x":{}}"#,
    ),
    (r#"{"":{"~":1,"/":2}}"#, r#"{"":{"~":null,"/":3}}"#, r#"{"":{"/":3}}"#),
    (r#"{"a":1}"#, r#"{"missing":null}"#, r#"{"a":1}"#),
];

#[test]
fn examples() {
    for &(doc, patch, expected) in CASES {
        let mut doc = livebuf_json::from_str(doc).unwrap();
        let mut twin = doc.clone();
        merge(&mut doc, &livebuf_json::from_str(patch).unwrap()).unwrap();
        merge_json(&mut twin, patch.as_bytes()).unwrap();
        for doc in [&doc, &twin] {
            doc.doc().validate().unwrap();
            assert_eq!(livebuf_json::to_string(doc).unwrap(), expected, "{patch}");
        }
    }
}

/// A document that was only opened is a patch, too: it is validated first.
#[test]
fn untrusted_patches() {
    let sent = json!({"laps": {"last": null}, "driver": "Ada"}).to_vec();
    let mut doc = json!({"laps": {"first": 88, "last": 87}});
    merge(&mut doc, livebuf::Doc::open(&sent).unwrap()).unwrap();
    let after: Value = livebuf::from_value(&doc).unwrap();
    assert_eq!(after, serde_json::json!({"laps": {"first": 88}, "driver": "Ada"}));
    let mut damaged = sent.clone();
    for at in 32..sent.len() {
        damaged[at] ^= 0x5A;
        let before = doc.to_vec();
        if let Ok(patch) = livebuf::Doc::open(&damaged)
            && merge(&mut doc, patch).is_err()
        {
            assert_eq!(doc.as_bytes(), before);
        }
        doc.doc().validate().unwrap();
        damaged[at] ^= 0x5A;
    }
}

/// The deepest patches that there are, on a small stack; and one that goes too deep.
#[test]
fn nesting() {
    let deep = |depth: usize, inner: &str| {
        let text = [r#"{"a":"#.repeat(depth), inner.into(), "}".repeat(depth)].concat();
        livebuf_json::from_slice(text.as_bytes()).unwrap()
    };
    let run = move || {
        let mut doc = deep(1_000, "1");
        merge(&mut doc, &deep(1_000, "2")).unwrap();
        let pointer = "/a".repeat(1_000);
        assert_eq!(doc.pointer(&pointer).unwrap().unwrap(), 2);
        merge(&mut doc, &deep(1_000, "null")).unwrap();
        assert!(doc.pointer(&pointer).unwrap().is_none());
        // Where nothing was: the nulls are left out, at every depth.
        let mut doc = json!({"a": 5});
        merge(&mut doc, &deep(1_000, "null")).unwrap();
        assert!(doc.pointer(&"/a".repeat(999)).unwrap().unwrap().is_object());
        let mut doc = json!({"b": 5});
        let before = doc.to_vec();
        let mut limits = doc.limits();
        limits.nesting = 999;
        doc.set_limits(limits);
        let error = merge(&mut doc, &deep(1_000, "1")).unwrap_err();
        assert_eq!(error.core_error().unwrap().kind(), livebuf::ErrorKind::NestingLimit);
        assert_eq!((doc.as_bytes(), error.pointer()), (&*before, "/a"));
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

/// A fixed buffer remembers few edits: handles of outer objects are looked up again.
#[test]
fn small_buffers() {
    let text = r#"{"a":{"b":{"x":[[1],[2]],"y":{"z":[1]}},"c":{"d":1}},"e":{"f":{"g":[1]}},"h":1}"#;
    let sent = livebuf_json::from_str(text).unwrap().to_vec();
    let patch = r#"{"a":{"b":{"x":null,"y":null,"l":[1],"m":{"n":1},"o":[[2]]},"c":{"d":[1],"p":[2],"q":null}},"e":{"f":{"g":null,"r":[1]},"s":{}},"h":[3]}"#;
    let patch = livebuf_json::from_str(patch).unwrap();
    let mut whole = livebuf_json::from_str(text).unwrap();
    merge(&mut whole, &patch).unwrap();
    let expected = livebuf_json::to_string(&whole).unwrap();
    let mut done = 0;
    for room in (0..4_000).step_by(40) {
        let mut buffer = sent.clone();
        buffer.resize(sent.len() + room, 0);
        let mut doc = livebuf::Editor::open_unvalidated(&mut buffer[..]).unwrap();
        match merge(&mut doc, &patch) {
            Ok(()) => {
                assert_eq!(livebuf_json::to_string(doc.doc()).unwrap(), expected);
                done += 1;
            }
            Err(error) => {
                assert!(error.core_error().is_some(), "{error}");
                assert_eq!(doc.as_bytes(), sent);
            }
        }
    }
    assert!(done > 10, "only {done} had room");
}
