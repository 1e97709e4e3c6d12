//! Errors: the kind, the place, and a message that says what to do.

use livebuf_json::{
    DuplicateKeys, ErrorKind, Limits, ReadOptions, Surrogates, from_lines, from_slice,
    from_slice_with,
};

#[test]
fn places_and_kinds() {
    use ErrorKind::*;
    // (text, kind, line, column in characters, byte offset)
    let cases: &[(&[u8], ErrorKind, u64, u64, u64)] = &[
        (b"", UnexpectedEnd, 1, 1, 0),
        (b" \n ", UnexpectedEnd, 2, 2, 3),
        (b"[1,\n 2", UnexpectedEnd, 2, 3, 6),
        (b"{\"a\":1", UnexpectedEnd, 1, 7, 6),
        (b"\"abc", UnexpectedEnd, 1, 5, 4),
        (b"[1 2]", Syntax, 1, 4, 3),
        (b"[1,]", Syntax, 1, 4, 3),
        (b"{\"a\" 1}", Syntax, 1, 6, 5),
        (b"{a:1}", Syntax, 1, 2, 1),
        (b"nul", UnexpectedEnd, 1, 4, 3),
        (b"[\n\"\xC3\xA9\xC3\xA9\", x]", Syntax, 2, 7, 10),
        (b"1 1", Syntax, 1, 3, 2),
        (b"\xEF\xBB\xBF{]", Syntax, 1, 3, 4),
        (b"\xEF\xBB\xBF", UnexpectedEnd, 1, 2, 3),
        (b"\xEF\xBB\xBF\xEF\xBB\xBF1", Syntax, 1, 2, 3),
        (b" \xEF\xBB\xBF1", Syntax, 1, 2, 1),
        (b"\xEF\xBB1", Syntax, 1, 1, 0),
        (b"[\"ab\xFFc\"]", InvalidUtf8, 1, 5, 4),
        (b"[\"\\n\\n\\nab\xFFc\"]", InvalidUtf8, 1, 11, 10),
        (b"[\"a\nb\"]", Syntax, 1, 4, 3),
        (b"[01]", Syntax, 1, 3, 2),
        (b"-", UnexpectedEnd, 1, 2, 1),
        (b"[1.]", Syntax, 1, 4, 3),
        (b"[1e+]", Syntax, 1, 5, 4),
        (b"[tru]", Syntax, 1, 5, 4),
        (b"[\"\\x\"]", Syntax, 1, 4, 3),
        (b"[\"\\u00g0\"]", Syntax, 1, 7, 6),
        (b"[\"\\ud800\"]", InvalidUtf8, 1, 9, 8),
        (b"[\"\\udc00\"]", InvalidUtf8, 1, 8, 7),
        (b"{\"a\":1,}", Syntax, 1, 8, 7),
        (b"{\"a\":1,", UnexpectedEnd, 1, 8, 7),
        (b"{,}", Syntax, 1, 2, 1),
        (b"[1\xFF]", Syntax, 1, 3, 2),
        (b"{\"a\"\xFF1}", Syntax, 1, 5, 4),
    ];
    for &(text, kind, line, column, offset) in cases {
        let error = from_slice(text).unwrap_err();
        let position = error.position().unwrap();
        let found = (error.kind(), position.line, position.column, position.offset);
        assert_eq!(
            found,
            (kind, line, column, offset),
            "{:?}: {error}",
            String::from_utf8_lossy(text)
        );
    }
}

/// Keys are compared with the one that followed last time before they are read.
#[test]
fn keys_that_are_expected_are_read_as_any_others() {
    for text in [
        r#"[{"a\"b":1},{"a"b":2}]"#,
        "[{\"a\\nb\":1},{\"a\nb\":2}]",
        r#"[{"a\\":1},{"a\":2}]"#,
        r#"[{"a":1},{"a:2}]"#,
        r#"[{"a":1},{"a"}]"#,
    ] {
        assert!(from_slice(text.as_bytes()).is_err(), "{text}");
    }
    for (text, printed) in [
        (r#"[{"a\"b":1},{"a\"b":2}]"#, r#"[{"a\"b":1},{"a\"b":2}]"#),
        (r#"[{"a":1},{"\u0061":2},{"a" :3}]"#, r#"[{"a":1},{"a":2},{"a":3}]"#),
        (r#"[{"a":1},{"ab":2},{"a":3}]"#, r#"[{"a":1},{"ab":2},{"a":3}]"#),
        (r#"[{"":1},{"":2}]"#, r#"[{"":1},{"":2}]"#),
        (r#"[{"é":1},{"é":2}]"#, r#"[{"é":1},{"é":2}]"#),
    ] {
        assert_eq!(crate::tree::print(&from_slice(text.as_bytes()).unwrap()), printed);
    }
}

#[test]
fn messages_read_well() {
    let error = from_slice(b"{\"a\": [1, 2,]}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "a comma before the closing bracket; remove it, at line 1, column 13 (byte 12)"
    );
}

#[test]
fn nesting_is_limited_and_the_limit_can_be_set() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into_bytes();
    assert!(from_slice(&nested(1000)).is_ok());
    let error = from_slice(&nested(1001)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NestingLimit);
    assert_eq!(error.position().unwrap().offset, 1000);
    // Far beyond what recursion could take.
    let error = from_slice(&nested(5_000_000)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NestingLimit);
    let mut limits = Limits::default();
    limits.nesting = 10;
    let options = ReadOptions::new().limits(limits);
    assert!(from_slice_with(&nested(10), &options).is_ok());
    assert!(from_slice_with(&nested(11), &options).is_err());
}

#[test]
fn duplicate_keys_by_option() {
    let text = b"{\"a\":1,\n\"b\":2,\n \"a\":3}";
    let document = from_slice(text).unwrap();
    assert_eq!(crate::tree::print(&document), r#"{"a":3,"b":2}"#);
    let options = ReadOptions::new().duplicate_keys(DuplicateKeys::Error);
    let error = from_slice_with(text, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert!(error.position().unwrap().line >= 3, "{error}");
    assert_eq!(error.doubled_key(), Some("a"));
    assert!(error.to_string().starts_with("the key \"a\" occurs twice in one object, at line 3"));
    assert!(from_slice_with(b"[{\"a\":1},{\"a\":1}]", &options).is_ok());
}

/// Whoever finds it: the key itself, the end of a map, or rows that are expected to be alike.
#[test]
fn errors_name_the_key_that_comes_twice() {
    let refused = |text: &str| {
        let options = ReadOptions::new().duplicate_keys(DuplicateKeys::Error);
        from_slice_with(text.as_bytes(), &options).unwrap_err()
    };
    let members = |count| (0..count).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(",");
    let rows = vec![r#"{"a":1,"b":2}"#; 300].join(",");
    let (key, long) = ("k".repeat(300), "k".repeat(1000));
    for (text, key) in [
        (r#"{"a":1,"b":{"a":1},"b":2}"#.to_owned(), "b"),
        (r#"{"\u0061\n":1,"a\n":2}"#.to_owned(), "a\n"),
        (format!("{{{},\"k7\":0}}", members(300)), "k7"),
        (format!("[{{{},\"k7\":0}}]", members(300)), "k7"),
        (format!("[{rows},{{\"a\":1,\"a\":2}}]"), "a"),
        (format!("{{\"{key}\":1,\"b\":1,\"{key}\":1}}"), &key),
        (format!("{{\"{long}\":1,\"b\":1,\"{long}\":1}}"), &long),
    ] {
        let error = refused(&text);
        assert_eq!(error.doubled_key(), Some(key), "{error}");
        assert!(error.to_string().len() < 200, "{error}");
    }
    assert_eq!(from_slice(b"[").unwrap_err().doubled_key(), None);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    for text in ["{\"a\":1}", " [1]\n", "7", "\"\u{feff}\""] {
        let marked = format!("\u{feff}{text}");
        let expected = from_slice(text.as_bytes()).unwrap();
        assert_eq!(from_slice(marked.as_bytes()).unwrap().as_bytes(), expected.as_bytes());
    }
}

#[test]
fn halves_of_surrogate_pairs_are_replaced_if_asked() {
    let options = ReadOptions::new().surrogates(Surrogates::Replace);
    for (text, printed) in [
        (r#"["\ud800"]"#, "[\"\u{fffd}\"]"),
        (r#"["\udc00x"]"#, "[\"\u{fffd}x\"]"),
        (r#"["\ud83d\ude00"]"#, "[\"😀\"]"),
        (r#"["\ud83d\ud83d\ude00\ude00"]"#, "[\"\u{fffd}😀\u{fffd}\"]"),
        (r#"["\ud83d\u0041"]"#, "[\"\u{fffd}A\"]"),
        (r#"["\ud83d\n"]"#, "[\"\u{fffd}\\n\"]"),
        (r#"{"\udfff":1,"\ud800":2}"#, "{\"\u{fffd}\":2}"),
    ] {
        assert!(text.contains("ude00\"]") || from_slice(text.as_bytes()).is_err(), "{text}");
        let document = from_slice_with(text.as_bytes(), &options).unwrap();
        assert_eq!(crate::tree::print(&document), printed, "{text}");
    }
    // Other escapes are as wrong as before, and so are halves that are not escaped.
    for (text, offset) in [
        (&br#""\ud80""#[..], 6),
        (br#""\ud800\ud80""#, 12),
        (br#""\ud800\x""#, 8),
        (br#""\ud800"#, 7),
        (b"\"\xED\xA0\x80\"", 1),
    ] {
        let error = from_slice_with(text, &options).unwrap_err();
        assert_eq!(error.position().unwrap().offset, offset, "{error}");
    }
}

/// Other formats given as JSON.
#[test]
fn errors_say_what_text_is_that_is_no_json() {
    let document = from_slice(b"[1]").unwrap();
    for (text, words) in [
        (&b"\x1f\x8b\x08\0"[..], ["gzip", "gzip -dc"]),
        (b"\x28\xb5\x2f\xfd\0", ["Zstandard", "zstd -dc"]),
        (b"PAR1\x15\x04", ["Parquet", "livebuf from-parquet"]),
        (b"\xff\xfe{\0}\0", ["UTF-16", "iconv"]),
        (b"\xfe\xff\0{\0}", ["UTF-16", "iconv"]),
        (b"{\0}\0", ["UTF-16", "iconv"]),
        (b"\0[\0]", ["UTF-16", "iconv"]),
        (b"\"\0a\0\"\0", ["UTF-16", "iconv"]),
        (b"1\0", ["UTF-16", "iconv"]),
        (document.as_bytes(), ["a LiveBuf document", "livebuf to-json"]),
        (b"\xABLBL\0\0\0\0", ["a LiveBuf log", "livebuf log cat"]),
    ] {
        let read = [from_slice(text), from_lines(text, &ReadOptions::new())];
        for error in read.map(|read| read.unwrap_err()) {
            assert_eq!(error.kind(), ErrorKind::Syntax);
            assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
        }
    }
}

/// Bug: a key that an object within the value of the one before had made was not noticed when it came
/// twice, so a document had a key twice.
#[test]
fn keys_that_come_twice_are_noticed_whoever_made_them() {
    for (text, printed) in [
        (
            r#"[{"a":1,"b":1},{"b":[{"b":1,"c":2,"d":3}],"c":4,"c":5,"a":6}]"#,
            r#"[{"a":1,"b":1},{"b":[{"b":1,"c":2,"d":3}],"c":5,"a":6}]"#,
        ),
        (
            r#"[{"c":0},{"b":{"b":{},"c":1},"c":2,"c":3}]"#,
            r#"[{"c":0},{"b":{"b":{},"c":1},"c":3}]"#,
        ),
        (
            r#"[{"c":0},{"e":1,"b":{"e":1,"b":{},"c":1},"c":2,"e":4,"c":3}]"#,
            r#"[{"c":0},{"e":4,"b":{"e":1,"b":{},"c":1},"c":3}]"#,
        ),
        (r#"{"a":1,"b":2,"b":3,"a":4}"#, r#"{"a":4,"b":3}"#),
        (
            r#"[{"b":0},{"a":0},{"a":1,"b":2,"b":3,"a":4,"b":5}]"#,
            r#"[{"b":0},{"a":0},{"a":4,"b":5}]"#,
        ),
    ] {
        let options = ReadOptions::new().duplicate_keys(DuplicateKeys::Error);
        let error = from_slice_with(text.as_bytes(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{text}");
        assert_eq!(crate::tree::print(&from_slice(text.as_bytes()).unwrap()), printed);
    }
}

/// Every cut and every changed byte of a text is an answer, never a panic.
#[test]
fn cut_and_changed_text() {
    let text =
        br#"{"a":[1,-2.5e3,"x\u00e9\n",null,true],"b":{"c":{}},"d":12345678901234567890123}"#;
    for end in 0..text.len() {
        assert!(from_slice(&text[..end]).is_err(), "cut at {end}");
    }
    let mut changed = text.to_vec();
    for at in 0..text.len() {
        for byte in 0..=255 {
            changed[at] = byte;
            let _ = from_slice(&changed);
        }
        changed[at] = text[at];
    }
}
