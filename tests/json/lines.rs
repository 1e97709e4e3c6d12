//! JSON lines and values one after another: as one array, as one document each.

use livebuf_json::{
    DuplicateKeys, Error, ErrorKind, Limits, NumberPolicy, ReadOptions, documents, from_lines,
    from_lines_skipping, from_slice_with,
};

use crate::tree::print;

#[test]
fn lines_become_one_array() {
    let options = ReadOptions::new();
    let cases: &[(&str, &str)] = &[
        ("", "[]"),
        ("\n \t\r\n", "[]"),
        ("1", "[1]"),
        ("{\"a\":1}\n{\"a\":2.5}\n", r#"[{"a":1},{"a":2.5}]"#),
        ("1\r\n\r\n\"two\"\r\n[3]", r#"[1,"two",[3]]"#),
        ("1.5\n123456789012345678901\n", "[1.5,123456789012345678901]"),
        ("\u{feff}1\n2", "[1,2]"),
        ("1\n\u{feff}2\n\u{feff}", "[1,2]"),
    ];
    for (text, expected) in cases {
        let document = from_lines(text.as_bytes(), &options).unwrap();
        assert_eq!(print(&document), *expected, "{text:?}");
    }
}

/// As `jq` and `kubectl` print them.
#[test]
fn values_may_follow_one_another() {
    let options = ReadOptions::new();
    for (text, expected) in [
        ("{\n  \"a\": [\n    1\n  ]\n}\n{\n  \"a\": []\n}\n", r#"[{"a":[1]},{"a":[]}]"#),
        ("{\"a\":1}{\"a\":2}", r#"[{"a":1},{"a":2}]"#),
        ("{}[]\"a\"\"b\"{}", r#"[{},[],"a","b",{}]"#),
        ("1 2\tnull\r\ntrue", "[1,2,null,true]"),
        ("1[2]3{}4\"5\"6", r#"[1,[2],3,{},4,"5",6]"#),
        ("null\"a\"false", r#"[null,"a",false]"#),
    ] {
        assert_eq!(print(&from_lines(text.as_bytes(), &options).unwrap()), expected, "{text:?}");
        let each: Vec<_> = documents(text.as_bytes(), &options)
            .map(|document| print(&document.unwrap()))
            .collect();
        assert_eq!(format!("[{}]", each.join(",")), expected);
    }
    for (text, column) in [
        ("2026-11-27", 5),
        ("1.5.5", 4),
        ("truefalse", 5),
        ("1null", 2),
        ("1,2", 2),
        ("{},{}", 3),
        ("[1]]", 4),
        ("1\u{feff}2", 2),
        ("00", 2),
    ] {
        let error = from_lines(text.as_bytes(), &options).unwrap_err();
        assert_eq!(error.position().unwrap().column, column, "{text}: {error}");
    }
}

#[test]
fn errors_carry_the_line() {
    let options = ReadOptions::new();
    for (text, line, column, kind, value) in [
        ("1\n2\n[3,\n4", 4, 2, ErrorKind::UnexpectedEnd, 4),
        ("1\n\n2 x", 3, 3, ErrorKind::Syntax, 5),
        ("x", 1, 1, ErrorKind::Syntax, 0),
        ("{}\n{\"a\":\n{\"a\":1}\n", 4, 1, ErrorKind::UnexpectedEnd, 3),
    ] {
        let error = from_lines(text.as_bytes(), &options).unwrap_err();
        let position = error.position().unwrap();
        assert_eq!((position.line, position.column, error.kind()), (line, column, kind), "{error}");
        assert_eq!(error.value_position().unwrap().offset, value, "{error}");
        assert!(from_lines(&text.as_bytes()[..value as usize], &options).is_ok());
        let last = documents(text.as_bytes(), &options).last().unwrap().unwrap_err();
        assert_eq!(last.to_string(), error.to_string());
    }
    let error = from_lines(b"1\n\n{\"a\":\n{\"a\":1}\n{", &options).unwrap_err();
    let expected = "expected `,` or `}` after a value, in a value that begins in line 3, at line 5, \
                    column 1 (byte 17)";
    assert_eq!(error.to_string(), expected);
    // What is not UTF-8 is an error where it is, behind the values before it.
    let results: Vec<_> = documents(b"1\n{\"a\":\n\"\xFF\"}\n2", &options).collect();
    assert_eq!(results.len(), 2);
    let error = results[1].as_ref().unwrap_err();
    assert_eq!((error.kind(), error.position().unwrap().line), (ErrorKind::InvalidUtf8, 3));
}

#[test]
fn each_line_can_be_taken_by_itself() {
    let options = ReadOptions::new();
    let text = b"1\n\n2 2\n{\"a\":[]}\nnul\n[1,\n2]\n\"\xFF\"\n3";
    let results: Vec<_> = documents(text, &options).each_line().collect();
    let found: Vec<_> = results
        .iter()
        .map(|result| match result {
            Ok(document) => print(document),
            Err(error) => error.position().unwrap().to_string(),
        })
        .collect();
    assert_eq!(
        found,
        [
            "1",
            "line 3, column 3 (byte 5)",
            r#"{"a":[]}"#,
            "line 5, column 4 (byte 19)",
            "line 6, column 4 (byte 23)",
            "line 7, column 2 (byte 25)",
            "line 8, column 2 (byte 28)",
            "3"
        ]
    );
}

/// Reads what can be read; the lines that cannot.
fn skipping(text: &[u8], options: &ReadOptions) -> (livebuf::DocBuf, Vec<Error>) {
    let mut skipped = Vec::new();
    let document = from_lines_skipping(text, options, |error| skipped.push(error)).unwrap();
    (document, skipped)
}

#[test]
fn bad_lines_can_be_skipped() {
    let options = ReadOptions::new().duplicate_keys(DuplicateKeys::Error);
    let lines: [(&[u8], bool); 11] = [
        (b"\xEF\xBB\xBF{\"a\":1,\"b\":\"some text\"}", true),
        (b"{\"a\":1,\"b\":", false),
        (b"{\"a\":2,\"b\":\"some text\"}\r", true),
        (b"  \r", true),
        (b"{\"a\":1} {\"a\":1}", false),
        (b"{\"a\":\"\xFF\"}", false),
        (b"{\"a\":3,\"a\":\"other text\"}", false),
        (b"}", false),
        (b"{\"a\":3,\"b\":\"other text\"}", true),
        (b"[\"other text\",{\"c\":[1,2,", false),
        (b"{\"a\":4,\"b\":\"other text\"}", true),
    ];
    let (all, sound, bad) = (
        lines.map(|line| line.0).join(&b'\n'),
        lines.into_iter().filter(|line| line.1).map(|line| line.0).collect::<Vec<_>>().join(&b'\n'),
        (1..)
            .zip(lines)
            .filter(|(_, line)| !line.1)
            .map(|(number, _)| number)
            .collect::<Vec<u64>>(),
    );
    let (document, skipped) = skipping(&all, &options);
    // A line that is skipped leaves nothing.
    assert_eq!(document.as_bytes(), from_lines(&sound, &options).unwrap().as_bytes());
    assert_eq!(skipped.iter().map(|error| error.position().unwrap().line).collect::<Vec<_>>(), bad);
    for error in &skipped {
        let at = error.position().unwrap().offset as usize;
        let line = all[..at].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        assert_eq!(Some(line), error.position().map(|position| position.line), "{error}");
    }
    assert_eq!(skipped[3].doubled_key(), Some("a"));
    assert_eq!(print(&skipping(b"x\n{", &options).0), "[]");
}

/// Nesting counts as in the array; what is too much for the whole document is no bad line.
#[test]
fn limits_count_where_lines_are_skipped() {
    let mut limits = Limits::default();
    limits.nesting = 3;
    let (document, skipped) = skipping(b"[[1]]\n[[[2]]]\n", &ReadOptions::new().limits(limits));
    assert_eq!((print(&document), skipped.len()), ("[[[1]]]".to_owned(), 1));
    assert_eq!(skipped[0].kind(), ErrorKind::NestingLimit);
    limits = Limits::default();
    limits.document = 1000;
    let text = "[\"some text that takes room\"]\n[\"more text, and other text\"]\n".repeat(100);
    let options = ReadOptions::new().limits(limits).tables(false);
    let error = from_lines_skipping(text.as_bytes(), &options, |_| panic!("a sound line"));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::DocumentLimit);
}

/// Bug: the place of an error of the whole document was counted from the line's beginning. Effect: the
/// message named line 1. Fix: it is counted in all of the text.
#[test]
fn limits_are_passed_at_a_place_in_all_of_the_text() {
    let mut limits = Limits::default();
    limits.document = 400;
    let text = format!("[\"{}\"]\n\n  [\"{}\"]\n[3]\n", "a".repeat(250), "b".repeat(240));
    let options = ReadOptions::new().limits(limits).tables(false);
    let error = from_lines_skipping(text.as_bytes(), &options, |_| panic!("a sound line"));
    let place = from_lines(text.as_bytes(), &options).unwrap_err().position();
    assert_eq!(error.unwrap_err().position(), place);
    assert!(place.unwrap().line > 1);
}

/// How far the reading is: at the end, and at an error as far as the last container or value.
#[test]
fn progress_is_told() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let done = Arc::new(AtomicU64::new(0));
    let exact = ReadOptions::new().progress(Arc::clone(&done));
    let told = || done.swap(0, Ordering::Relaxed);
    for options in [exact.clone(), exact.numbers(NumberPolicy::AllText)] {
        from_slice_with(br#"[[1], {"a": 2.5}, "text" ] "#, &options).unwrap();
        assert_eq!(told(), 27);
        from_slice_with(br#"[[1], {"a": 2.5}, text ] "#, &options).unwrap_err();
        assert_eq!(told(), 16);
        from_lines(b"1\n[2]\n\n3", &options).unwrap();
        assert_eq!(told(), 8);
        from_lines(b"1\n[2]\n\nx", &options).unwrap_err();
        assert_eq!(told(), 7);
        from_lines_skipping(b"1\n[2]\n\nx\n", &options, drop).unwrap();
        assert_eq!(told(), 8);
        let ends: Vec<_> = documents(b"1\n[2]\n\nx\n", &options)
            .map(|document| (document.is_ok(), told()))
            .collect();
        assert_eq!(ends, [(true, 2), (true, 7), (false, 7)]);
    }
}
