//! JSON lines: as one array, as one document each.

use livebuf_json::{ErrorKind, NumberPolicy, ReadOptions, documents, from_lines, from_slice_with};

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
    ];
    for (text, expected) in cases {
        let document = from_lines(text.as_bytes(), &options).unwrap();
        assert_eq!(print(&document), *expected, "{text:?}");
    }
}

#[test]
fn errors_carry_the_line() {
    let options = ReadOptions::new();
    for (text, line, column, kind) in [
        ("1\n2\n[3,\n4]", 3, 4, ErrorKind::UnexpectedEnd),
        ("1\n\n2 2", 3, 3, ErrorKind::Syntax),
        ("x", 1, 1, ErrorKind::Syntax),
    ] {
        let error = from_lines(text.as_bytes(), &options).unwrap_err();
        let position = error.position().unwrap();
        assert_eq!((position.line, position.column, error.kind()), (line, column, kind), "{error}");
    }
    let results: Vec<_> = documents(b"1\n\n2 2\n{\"a\":[]}\nnul", &options).collect();
    assert_eq!(results.len(), 4);
    assert_eq!(print(results[0].as_ref().unwrap()), "1");
    assert_eq!(results[1].as_ref().unwrap_err().position().unwrap().line, 3);
    assert_eq!(print(results[2].as_ref().unwrap()), r#"{"a":[]}"#);
    assert_eq!(results[3].as_ref().unwrap_err().position().unwrap().line, 5);
}

/// How far the reading is: at the end, and at an error as far as the last container or line.
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
        assert_eq!(told(), 5);
        let ends: Vec<_> = documents(b"1\n[2]\n\nx\n", &options)
            .map(|document| (document.is_ok(), told()))
            .collect();
        assert_eq!(ends, [(true, 1), (true, 5), (false, 8)]);
    }
}
