//! Edits of all matches: which places they reach, and that they happen whole or not at all.

use livebuf::{Checked, DocBuf, Editor, Error, ErrorKind, Result, Value, json};
use livebuf_query::{Query, remove_all, set_all, update_all};

fn text(doc: &DocBuf) -> String {
    doc.doc().validate().unwrap();
    livebuf_json::to_string(doc.doc().root()).unwrap()
}

fn doc(text: &str) -> DocBuf {
    livebuf_json::from_str(text).unwrap()
}

fn query(text: &str) -> Query {
    Query::parse(text).unwrap()
}

#[test]
fn the_outermost_of_nested_matches_are_set() {
    for (document, path, count, after) in [
        (r#"{"a":{"a":{"b":1}},"c":{"a":2}}"#, "$..a", 2, r#"{"a":0,"c":{"a":0}}"#),
        ("[[1,[2]],3]", "$..[0]", 1, "[0,3]"),
        ("[[1,[2]],3]", "$[0,0,-2,1]", 2, "[0,0]"),
        // A key that begins as another one is not within it.
        (r#"{"a":1,"ab":{"a":1},"a/b":1}"#, "$['a','ab','a/b']", 3, r#"{"a":0,"ab":0,"a/b":0}"#),
        ("[1,2]", "$[?@>5]", 0, "[1,2]"),
        ("[1,2]", "$", 1, "0"),
        ("[[1],2]", "$['x', 'y']", 0, "[[1],2]"),
    ] {
        let mut doc = doc(document);
        assert_eq!(set_all(&mut doc, &query(path), 0), Ok(count), "{path}");
        assert_eq!(text(&doc), after, "{path}");
    }
}

#[test]
fn removals_do_not_shift_what_is_still_to_be_removed() {
    for (document, path, count, after) in [
        ("[0,1,2,3,4,5,6,7,8,9,10,11,12]", "$[?@>=2]", 11, "[0,1]"),
        ("[0,1,2,3,4,5]", "$[::2]", 3, "[1,3,5]"),
        ("[0,1,2,3,4,5]", "$[0,-1,0,5]", 2, "[1,2,3,4]"),
        (r#"[{"a":[1,2]},{"a":[3]}]"#, "$..[0]", 2, r#"[{"a":[]}]"#),
        (r#"{"a":{"a":1},"b":{"a":2,"c":3}}"#, "$..a", 2, r#"{"b":{"c":3}}"#),
        (
            r#"[{"x":1,"y":1},{"x":2,"y":2},{"x":3}]"#,
            "$[?@.x<3].y",
            2,
            r#"[{"x":1},{"x":2},{"x":3}]"#,
        ),
        (r#"[{"x":1},{"x":2},{"x":3},{"x":1}]"#, "$[?@.x==1]", 2, r#"[{"x":2},{"x":3}]"#),
        (r#"{"a/b":1,"a~b":2,"~1":3}"#, "$['a/b','a~b']", 2, r#"{"~1":3}"#),
    ] {
        let mut doc = doc(document);
        assert_eq!(remove_all(&mut doc, &query(path)), Ok(count), "{path}");
        assert_eq!(text(&doc), after, "{path}");
    }
}

#[test]
fn the_root_is_set_but_not_removed() {
    let mut doc = json!({"a": [1]});
    let before = doc.to_vec();
    let error = remove_all(&mut doc, &query("$")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(doc.to_vec(), before);
    assert_eq!(set_all(&mut doc, &query("$"), "new"), Ok(1));
    assert_eq!(text(&doc), r#""new""#);
    let updated = update_all(&mut doc, &query("$"), |value| Ok(Some(value.is_string())));
    assert_eq!(updated, Ok(1));
    assert_eq!(text(&doc), "true");
}

#[test]
fn updates_go_from_within() {
    let mut doc = doc(r#"{"n":{"n":{"n":1,"k":2}},"k":9}"#);
    let mut seen = Vec::new();
    let count = update_all(&mut doc, &query("$..n"), |value| {
        seen.push(livebuf_json::to_string(value).unwrap());
        Ok((!value.is_object()).then_some("inner"))
    });
    assert_eq!(count, Ok(1));
    assert_eq!(seen, ["1", r#"{"n":"inner","k":2}"#, r#"{"n":{"n":"inner","k":2}}"#]);
    assert_eq!(text(&doc), r#"{"n":{"n":{"n":"inner","k":2}},"k":9}"#);
    // Found twice, updated once.
    let mut twice = json!([1, 2]);
    let add = |value: Value<'_, Checked>| Ok(value.as_i64().map(|value| value + 10));
    assert_eq!(update_all(&mut twice, &query("$[0,0,*]"), add), Ok(2));
    assert_eq!(text(&twice), "[11,12]");
}

#[test]
fn an_error_leaves_the_document_as_it_was() {
    let mut doc = doc(r#"[{"x":1},{"x":2},{"x":3}]"#);
    let before = doc.to_vec();
    let mut calls = 0;
    let failed: Result<usize> = update_all(&mut doc, &query("$[*].x"), |_| {
        calls += 1;
        match calls {
            3 => Err(Error::new(ErrorKind::NotFound, 0)),
            _ => Ok(Some("a longer text than there is room for")),
        }
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(calls, 3);
    assert_eq!(doc.to_vec(), before);

    let tight = query("$..x").with_budget(2);
    for failed in [set_all(&mut doc, &tight, 1), remove_all(&mut doc, &tight)] {
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::BudgetExceeded);
        assert_eq!(doc.to_vec(), before);
    }
}

#[test]
fn a_buffer_with_too_little_room_stays_as_it_was() {
    let document = doc(r#"{"a":[1,2,3,4,5,6,7,8],"b":"text"}"#);
    let mut refused = 0;
    for room in (0..4_000).step_by(100) {
        let mut buffer = document.to_vec();
        buffer.resize(document.as_bytes().len() + room, 0);
        let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
        match set_all(&mut doc, &query("$.a[*]"), "forty bytes of text that need some room.") {
            Ok(count) => assert_eq!(count, 8),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace);
                assert_eq!(doc.as_bytes(), document.as_bytes());
                refused += 1;
            }
        }
    }
    assert!((1..40).contains(&refused), "{refused} refused");
}
