//! Printing: layout, strings, bytes, floats that JSON lacks, limits, writers.

use std::io;

use livebuf::{DocBuf, Encoder};
use livebuf_json::{
    ErrorKind, NonFinite, PrintOptions, ReadOptions, default_max_bytes, display, from_slice_with,
    from_str, to_string, to_string_pretty, to_string_with, to_vec, to_writer,
};

use crate::tree::{data_files, print};
use livebuf_fuzz::one_of;

fn built(build: impl FnOnce(&mut Encoder) -> livebuf::Result<()>) -> DocBuf {
    let mut encoder = Encoder::new();
    build(&mut encoder).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_layout_is_serde_jsons() {
    // Sorted keys, because serde_json's map sorts.
    for text in ["{}", "[]", "null", r#"{"a":[],"b":{},"c":[1,[2,{"d":null}]],"e":"\u0000\"\\"}"#] {
        let document = from_str(text).unwrap();
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(print(&document), serde_json::to_string(&value).unwrap());
        let root = document.valid().unwrap().root();
        assert_eq!(to_string_pretty(root).unwrap(), serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(to_vec(root).unwrap(), serde_json::to_vec(&value).unwrap());
    }
}

#[test]
fn every_character_is_printed_as_serde_json_does() {
    for length in 0..40 {
        for at in 0..length {
            for special in ['"', '\\', '\n', '\u{1}', '\u{1f}', ' ', '\u{7f}', 'é', '\u{10ffff}'] {
                let mut text = "x".repeat(length);
                text.replace_range(at..=at, special.encode_utf8(&mut [0; 4]));
                let document = built(|encoder| encoder.str(&text));
                assert_eq!(print(&document), serde_json::to_string(&text).unwrap());
            }
        }
    }
    let all: String = (0..0x3000).filter_map(char::from_u32).collect();
    let document = built(|encoder| encoder.str(&all));
    assert_eq!(print(&document), serde_json::to_string(&all).unwrap());
    // Longer than a piece, with characters across the seams.
    let long = "a€\n".repeat(20_000);
    let document = built(|encoder| encoder.str(&long));
    assert_eq!(print(&document), serde_json::to_string(&long).unwrap());
}

#[test]
fn bytes_are_base64() {
    for (bytes, text) in [(&b""[..], "\"\""), (b"f", "\"Zg==\""), (b"\xFB\xFF\xFE", "\"+//+\"")] {
        assert_eq!(print(&built(|encoder| encoder.bytes(bytes))), text);
    }
    let document = built(|encoder| encoder.bytes(&[7; 100_000]));
    assert_eq!(print(&document).len(), 2 + 100_000usize.div_ceil(3) * 4);
}

#[test]
fn what_json_lacks_is_an_error_or_null() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let document = built(|encoder| encoder.f64(value));
        let root = document.valid().unwrap().root();
        assert_eq!(to_string(root).unwrap_err().kind(), ErrorKind::NotFinite);
        let options = PrintOptions::new().non_finite(NonFinite::Null);
        assert_eq!(to_string_with(root, &options).unwrap(), "null");
    }
}

#[test]
fn output_is_limited() {
    let document = from_str(r#"[1,2,3,"four"]"#).unwrap();
    let root = document.valid().unwrap().root();
    let length = print(&document).len() as u64;
    assert!(to_string_with(root, &PrintOptions::new().max_bytes(length)).is_ok());
    let error = to_string_with(root, &PrintOptions::new().max_bytes(length - 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutputLimit);
    let mut written = Vec::new();
    let error =
        to_writer(&mut written, root, &PrintOptions::new().max_bytes(length - 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutputLimit);
    let error = to_string_with(root, &PrintOptions::new().nesting(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NestingLimit);
    assert!(to_string_with(root, &PrintOptions::new().nesting(1)).is_ok());
}

/// Bug: the product overflowed from 2^50 bytes on. Effect: a panic with debug assertions, else a bound
/// that is too low. Fix: it stays at the greatest number.
#[test]
fn the_default_bound_of_any_size() {
    let most = usize::MAX as u64;
    assert_eq!(default_max_bytes(usize::MAX, true), most.saturating_mul(16_384));
    assert_eq!(default_max_bytes(usize::MAX, false), most.saturating_mul(2048));
}

/// Counts calls and the longest one.
#[derive(Default)]
struct Chunks {
    text: Vec<u8>,
    longest: usize,
}

impl io::Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.longest = self.longest.max(bytes.len());
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn writers_get_the_same_text_in_chunks() {
    let mut texts = data_files();
    texts.push(("long string".into(), format!("\"{}\"", "\\u0001é".repeat(300_000)).into_bytes()));
    texts.push(("long number".into(), "1".repeat(1_000_000).into_bytes()));
    for (name, text) in texts {
        let document = livebuf_json::from_slice(&text).unwrap();
        let root = document.valid().unwrap().root();
        for options in [PrintOptions::new(), PrintOptions::pretty()] {
            let mut chunks = Chunks::default();
            to_writer(&mut chunks, root, &options).unwrap();
            assert!(chunks.longest <= 128 << 10, "{name}: {}", chunks.longest);
            assert!(chunks.text == to_string_with(root, &options).unwrap().as_bytes(), "{name}");
        }
    }
}

#[test]
fn a_failing_writer_is_reported() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let document = from_str("[1]").unwrap();
    let error =
        to_writer(Full, document.valid().unwrap().root(), &PrintOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::StorageFull);
}

/// Prints what may be damaged; whatever comes out is JSON, and no longer than allowed.
fn print_damaged(bytes: &[u8]) {
    const BUDGET: u64 = 1 << 16;
    let Ok(doc) = livebuf::Doc::open(bytes) else { return };
    for options in [PrintOptions::new(), PrintOptions::pretty()] {
        if let Ok(text) = to_string_with(doc.root(), &options.max_bytes(BUDGET)) {
            assert!(text.len() as u64 <= BUDGET);
            // serde_json, which looks, goes no deeper than 127.
            if !text.contains(&"[".repeat(100)) {
                crate::tree::Tree::parse(&text).unwrap();
            }
        }
    }
}

#[test]
fn damaged_documents_print_or_fail() {
    let mut members = String::new();
    for index in 0..300 {
        members.push_str(&format!("\"key number {index}\":{index},"));
    }
    let texts = [
        r#"{"a":[[1,2],[3,4]],"b":{"c":"a long string, shared","d":"a long string, shared"}}"#,
        r#"[[[],{}],[{"x":1.5,"y":null,"z":123456789012345678901234567890}],[true,false]]"#,
        r#"[1e400,"seven b","eight by",[1,"two",null,-3.5]]"#,
    ];
    for text in texts {
        let bytes = from_str(text).unwrap().as_bytes().to_vec();
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            for byte in [0, 1, 2, 3, 7, 8, 16, 32, 64, 127, 128, 255, bytes[at] ^ 1, bytes[at] ^ 8]
            {
                changed[at] = byte;
                print_damaged(&changed);
            }
            changed[at] = bytes[at];
        }
        // Every word as an offset: cycles, and values that alias.
        for at in (0..bytes.len()).step_by(4) {
            for offset in (0..bytes.len() as u32).step_by(8 * one_of(5)) {
                changed[at..at + 4].copy_from_slice(&offset.to_le_bytes());
                print_damaged(&changed);
            }
            changed[at..at + 4].copy_from_slice(&bytes[at..at + 4]);
        }
        for end in 0..bytes.len() {
            print_damaged(&bytes[..end]);
        }
    }
    let bytes = from_str(&format!("{{{members}\"last\":0}}")).unwrap().as_bytes().to_vec();
    let mut changed = bytes.clone();
    for at in (0..bytes.len()).step_by(3) {
        for byte in [0, 1, 255] {
            changed[at] = byte;
            print_damaged(&changed);
        }
        changed[at] = bytes[at];
    }
}

/// What is nested deeper than the walk recurses, at every depth around the change.
#[test]
fn deep_documents_print() {
    for depth in [1, 2, 30, 31, 32, 33, 34, 35, 64, 998, 999] {
        for (open, close) in
            [("[", "]"), ("{\"a\":", "}"), ("[1,", ",2]"), ("{\"a\":\"b\",\"c\":", ",\"d\":[]}")]
        {
            let text = format!("{}null{}", open.repeat(depth), close.repeat(depth));
            let document = from_str(&text).unwrap();
            assert!(print(&document) == text, "{depth} {open}");
            let pretty = to_string_pretty(document.valid().unwrap().root()).unwrap();
            assert!(pretty.split_ascii_whitespace().collect::<String>() == text, "{depth} {open}");
            let mut again = pretty.lines().map(|line| line.len() - line.trim_start().len());
            assert_eq!(again.clone().max(), Some(2 * depth));
            assert_eq!(again.next_back(), Some(0));
        }
    }
}

/// Keys of shapes that were met before are printed from memory.
#[test]
fn keys_of_objects_alike_are_printed_alike() {
    let keys = |shape: usize| {
        (0..shape % 9).map(move |field| match field {
            0 => format!("{shape}"),
            1 => String::from("\n\"\u{1}"),
            // About the longest that is kept, quotes and separators counted.
            2 => "k".repeat(36 + shape % 14),
            3 => "\u{1}".repeat(shape % 11),
            4 => "é".repeat(90),
            field => "x".repeat(field * 3),
        })
    };
    let mut rows = Vec::new();
    // Some shapes share their places, and all together are too many to be kept.
    for round in 0..6 {
        for shape in 0..400 {
            let row = keys(shape).enumerate().map(|(at, key)| (key, serde_json::json!(at + round)));
            rows.push(serde_json::Value::Object(row.collect()));
            if shape % 5 == 0 {
                rows.extend_from_within(rows.len() - 1..);
            }
        }
    }
    let text = serde_json::to_string(&rows).unwrap();
    let mut document = from_str(&text).unwrap();
    let pretty = serde_json::to_string_pretty(&rows).unwrap();
    let root = document.valid().unwrap().root();
    assert_eq!(to_string(root).unwrap(), text);
    assert_eq!(to_string_pretty(root).unwrap(), pretty);
    // Where nothing is promised about the bytes, the same.
    let bytes = document.to_vec();
    let checked = livebuf::Doc::open(&bytes).unwrap().root();
    assert_eq!(to_string(checked).unwrap(), text);

    // One shape with more and more fields, and with holes.
    let array = document.set_root(livebuf::New::array(3)).unwrap().unwrap();
    for fields in [1, 2, 3, 3, 2, 1, 0, 3] {
        let row = document.push(array, livebuf::New::object(3)).unwrap().unwrap();
        for key in ["a", "b", "c"].iter().take(fields) {
            document.set(row, *key, fields as i64).unwrap();
        }
        if fields == 3 {
            document.remove(row, "b").unwrap();
        }
    }
    let text = r#"[{"a":1},{"a":2,"b":2},{"a":3,"c":3},{"a":3,"c":3},{"a":2,"b":2},{"a":1},{},{"a":3,"c":3}]"#;
    assert_eq!(print(&document), text);
}

/// Objects with nothing but holes were printed as if something were in them, when their
/// shape was met before: with a line of white space between the braces.
#[test]
fn objects_with_nothing_but_holes_are_empty() {
    let options = ReadOptions::new().tables(false);
    let mut bytes = from_slice_with(br#"[{"a":1},{"a":2},{"a":3}]"#, &options).unwrap().to_vec();
    // A record of capacity, used and live 1: live, its tag and its cell become 0.
    let records: Vec<usize> =
        (32..bytes.len()).step_by(8).filter(|&at| bytes[at..].starts_with(&[2, 1, 1, 1])).collect();
    assert_eq!(records.len(), 3);
    for at in records {
        bytes[at + 3] = 0;
        bytes[at + 8..at + 24].fill(0);
    }
    let document = livebuf::Doc::open(&bytes).unwrap().validate().unwrap();
    assert_eq!(to_string(document.root()).unwrap(), "[{},{},{}]");
    assert_eq!(to_string_pretty(document.root()).unwrap(), "[\n  {},\n  {},\n  {}\n]");
}

/// Texts of dictionaries and booleans are printed ahead of the rows, but for long ones.
#[test]
fn columns_of_few_values_print_as_the_same_objects() {
    let long = "long, and with an escape: \u{1}".repeat(30);
    let texts =
        ["", "é", "a \"quoted\" text", "a text of 48 bytes with its key and its comma, so", &long];
    for rows in [8, 9, 64, 500] {
        // Of each kind, columns without gaps, with null, without members, and with both.
        let objects = (0..rows).map(|row| {
            let mut members = Vec::new();
            for kind in 0..4 {
                for (name, most) in [("bool", 0), ("short", 3), ("text", 4), ("long", 5)] {
                    let value = match most {
                        0 => (row % 3 == 0).to_string(),
                        _ => serde_json::to_string(texts[row * 7 % most]).unwrap(),
                    };
                    match (kind, row % 5) {
                        (1 | 3, 2) => members.push(format!(r#""{name} {kind}":null"#)),
                        (2 | 3, 4) => {}
                        _ => members.push(format!(r#""{name} {kind}":{value}"#)),
                    }
                }
            }
            // A list of texts, too.
            members.push(format!(r#""list":[{}]"#, vec![r#""a","b""#; row % 3].join(",")));
            format!("{{{}}}", members.join(","))
        });
        let text = format!("[{}]", objects.collect::<Vec<_>>().join(","));
        let document = from_str(&text).unwrap();
        let table = document.valid().unwrap().root().as_array().unwrap().table().unwrap();
        let columns = ["bool 0", "short 3", "text 1"].map(|name| {
            let column = table.column(name).unwrap();
            column.booleans().is_some() || column.dictionary().is_some()
        });
        assert_eq!(columns, [true; 3], "{rows} rows");
        prints(&text);
    }
}

/// Prints a document in all ways, and compares with records of the same text.
fn prints(text: &str) {
    let document = from_str(text).unwrap();
    assert!(to_string(&document).unwrap() == text);
    assert!(to_string(document.doc()).unwrap() == text);
    let records = from_slice_with(text.as_bytes(), &ReadOptions::new().tables(false)).unwrap();
    assert!(to_string_pretty(&document).unwrap() == to_string_pretty(&records).unwrap());
    let mut written = Vec::new();
    to_writer(&mut written, &document, &PrintOptions::new()).unwrap();
    assert!(written == text.as_bytes());
}

#[test]
fn many_texts_and_long_ones_print_as_the_same_objects() {
    // Codes of two bytes, and more text than is printed ahead.
    for (texts, length) in [(300, 2), (300, 90), (2_000, 9), (5_000, 3)] {
        let rows = (0..3 * texts).map(|row| {
            format!(r#"{{"text":"{:0length$}","other":{row}}}"#, row * 7 % texts + 10_000_000)
        });
        prints(&format!("[{}]", rows.collect::<Vec<_>>().join(",")));
    }
    // Each byte prints as six: more than a piece holds.
    let texts = ["\u{1}".repeat(1_024), "short".into(), "\u{2}".repeat(1_000)];
    let texts = texts.map(|text| serde_json::to_string(&text).unwrap());
    let rows = (0..40).map(|row| format!(r#"{{"text":{}}}"#, texts[row % 3]));
    prints(&format!("[{}]", rows.collect::<Vec<_>>().join(",")));
}

#[test]
fn values_within_other_columns_print_as_the_same_objects() {
    let sky = |row: usize| ["sunny all day", "rain all day", "snow"][row % 3];
    let rows = (0..60).map(|row| {
        let inner = format!(r#"{{"sky":"{}","wet":{}}}"#, sky(row), row % 2 == 0);
        let inner = match row % 7 {
            3 => "null".to_owned(),
            _ => inner,
        };
        let tags = (0..row % 4).map(|at| format!(r#"{{"tag":"{}"}}"#, sky(row + at)));
        let tags = tags.collect::<Vec<_>>().join(",");
        match row % 11 {
            5 => format!(r#"{{"id":{row},"tags":[{tags}]}}"#),
            _ => format!(r#"{{"id":{row},"inner":{inner},"tags":[{tags}]}}"#),
        }
    });
    let text = format!("[{}]", rows.collect::<Vec<_>>().join(","));
    prints(&text);
    // Each row by itself, whose lists are parts of columns.
    let document = from_str(&text).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    for (row, value) in document.valid().unwrap().root().as_array().unwrap().iter().zip(rows) {
        let printed: serde_json::Value = serde_json::from_str(&to_string(row).unwrap()).unwrap();
        assert_eq!(printed, value);
        let tags = to_string(row.get("tags").unwrap()).unwrap();
        assert_eq!(tags, value["tags"].to_string());
    }
}

/// A text that no row has may be damaged, or of any length: it is neither printed nor looked at.
#[test]
fn texts_of_no_row_do_no_harm() {
    let rows = [r#"{"sky":"sunny all day"}"#, r#"{"sky":"rain all day"}"#].repeat(8).join(",");
    let text = format!("[{rows}]");
    let mut bytes = from_str(&text).unwrap().to_vec();
    let codes = [0, 1].repeat(8);
    let at = bytes.windows(16).position(|bytes| bytes == codes).unwrap();
    bytes[at..at + 16].fill(0);
    let rain = bytes.windows(12).position(|bytes| bytes == b"rain all day").unwrap();
    bytes[rain..rain + 12].fill(0xFF);
    let printed = to_string(livebuf::Doc::open(&bytes).unwrap()).unwrap();
    assert_eq!(printed, text.replace("rain all day", "sunny all day"));
    // Its cell: a span of most of the document.
    let cell = bytes.windows(4).position(|at| at == (rain as u32).to_le_bytes()).unwrap();
    let (from, length) = (0u32, bytes.len() as u32);
    bytes[cell..cell + 8].copy_from_slice(&[from.to_le_bytes(), length.to_le_bytes()].concat());
    assert_eq!(to_string(livebuf::Doc::open(&bytes).unwrap()).unwrap(), printed);
}

/// A code beyond the texts is damage, where no text was printed ahead for it.
#[test]
fn codes_without_a_text_are_damage() {
    let rows = [r#"{"sky":"sunny all day"}"#, r#"{"sky":"rain all day"}"#].repeat(8).join(",");
    let mut bytes = from_str(&format!("[{rows}]")).unwrap().to_vec();
    let codes = [0, 1].repeat(8);
    let at = bytes.windows(16).position(|bytes| bytes == codes).unwrap();
    bytes[at + 5] = 2;
    let error = to_string(livebuf::Doc::open(&bytes).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Document);
}

#[test]
fn what_is_displayed_is_json_or_says_why_not() {
    let document = from_str(r#"{"a":[1,{"b":"é"}]}"#).unwrap();
    assert_eq!(display(&document).to_string(), to_string(&document).unwrap());
    assert_eq!(format!("{:#}", display(document.doc())), to_string_pretty(&document).unwrap());

    let mut damaged = built(|encoder| encoder.str("text, longer than a cell")).to_vec();
    let at = damaged.windows(4).position(|text| text == b"text").unwrap();
    damaged[at] = 0xFF;
    let text = display(livebuf::Doc::open(&damaged).unwrap()).to_string();
    assert!(text.starts_with("<the document is damaged: text is not UTF-8"), "{text}");
}

#[test]
fn documents_come_from_readers() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let document = livebuf_json::from_reader(io::Read::chain(&b"[1,"[..], &b"2]"[..])).unwrap();
    assert_eq!(to_string(&document).unwrap(), "[1,2]");
    let error = livebuf_json::from_reader(Broken).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.to_string(), "reading JSON failed: broken");
    let error = livebuf_json::from_reader(&b"[1,\n]"[..]).unwrap_err();
    assert_eq!(error.position().unwrap().line, 2);
}
