//! Files and Variants that are wrong: errors, no panics, no endless work.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use livebuf_fuzz::input::Random;
use livebuf_parquet::{
    ErrorKind, ImportOptions, WriteOptions, from_parquet, from_variant, to_parquet,
};

use crate::{json, text, written};

#[test]
fn no_parquet_files() {
    for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", b"PAR1\0\0\0\0\0\0\0\0PAR1", b"[1,2,3]"] {
        let error = from_parquet(bytes.to_vec(), &ImportOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parquet, "{error}");
    }
}

/// Each damaged file gives a document or an error.
#[test]
fn damaged_files() {
    let document = json(
        r#"[{"id":1,"t":"a","l":[1,2],"o":{"x":1.5},"any":{"a":1,"b":[1,"x"]}},{"id":2,"t":null,"l":[],"o":{"x":2},"any":"text"},{"id":3,"any":[true,null,{"a":2}]}]"#,
    );
    let mut random = Random(7);
    let (mut read, mut refused) = (0, 0);
    let options = [WriteOptions::new(), WriteOptions::new().variant(true)];
    for whole in options.map(|options| written(&document, &options)) {
        for _ in 0..1500 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.number() % 3 {
                let at = random.number() as usize % bytes.len();
                bytes[at] = match random.number() % 3 {
                    0 => random.number() as u8,
                    1 => bytes[at] ^ 1 << (random.number() % 8),
                    _ => 255,
                };
            }
            let found = catch_unwind(|| from_parquet(bytes, &ImportOptions::new()));
            match found.expect("a panic reached the caller") {
                Ok(document) => {
                    document.valid().unwrap();
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}

#[test]
fn truncated_files() {
    let whole = written(&json(r#"[{"a":1,"b":[1,"x"]},{"a":2,"b":{}}]"#), &WriteOptions::new());
    for length in 0..whole.len() {
        from_parquet(whole[..length].to_vec(), &ImportOptions::new()).unwrap_err();
    }
}

/// The message has the column, and names of no library.
#[test]
fn errors_say_where() {
    let Some(folder) = crate::cases::folder() else { return };
    let bytes = std::fs::read(folder.join("case-042.parquet")).unwrap();
    let error = from_parquet(bytes, &ImportOptions::new()).unwrap_err();
    let says = r#"column "var": Invalid shredded variant: both value and typed_value are non-null"#;
    assert_eq!(error.to_string(), says);
}

/// Arrays in each other whose elements are all the same bytes: each level doubles the values.
#[test]
fn values_that_overlap() {
    let mut value = vec![0];
    for _ in 0..60 {
        let length = value.len() as u16;
        // Two elements with offsets of two bytes, both 0.
        let mut outer = vec![0b0000_0111, 2, 0, 0, 0, 0];
        outer.extend(length.to_le_bytes());
        outer.append(&mut value);
        value = outer;
    }
    let start = Instant::now();
    let error = from_variant(&[1, 0, 0], &value).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Parquet);
    assert!(error.to_string().contains("overlap"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Refused long before the stack ends, by the reader and by the writer.
#[test]
fn deep_nesting() {
    let mut value = vec![0];
    for _ in 0..100_000 {
        let mut outer = vec![0b0000_1111, 1, 0, 0, 0, 0];
        outer.extend((value.len() as u32).to_le_bytes());
        value.extend(outer.iter().rev());
    }
    value.reverse();
    let error = from_variant(&[1, 0, 0], &value).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Parquet, "{error}");

    let nested = |levels: usize| json(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels)));
    let options = WriteOptions::new().variant(true);
    for levels in [127, 128, 129] {
        let document = nested(levels);
        let mut bytes = Vec::new();
        match to_parquet(document.clone(), &mut bytes, &options) {
            Ok(()) => {
                let copy = from_parquet(bytes, &ImportOptions::new()).unwrap();
                assert_eq!(text(&copy), text(&document));
                // The outermost array has the rows.
                assert!(levels <= 128);
            }
            Err(error) => {
                assert_eq!((levels, error.kind()), (129, ErrorKind::Unsupported), "{error}");
            }
        }
    }
}

#[test]
fn damaged_variants() {
    let document = json(r#"{"a":[1,"text",null,{"b":2.5,"c":{"d":[true,1234567890123]}}],"e":-7}"#);
    let root = document.valid().unwrap().root();
    let (metadata, value) = livebuf_parquet::to_variant(&root, false).unwrap();
    assert_eq!(text(&from_variant(&metadata, &value).unwrap()), text(&document));
    let mut random = Random(11);
    for _ in 0..20_000 {
        let (mut metadata, mut value) = (metadata.clone(), value.clone());
        let part = if random.number().is_multiple_of(4) { &mut metadata } else { &mut value };
        let at = random.number() as usize % part.len();
        part[at] = random.number() as u8;
        let found = catch_unwind(|| from_variant(&metadata, &value));
        if let Ok(document) = found.expect("a panic reached the caller") {
            document.valid().unwrap();
        }
    }
}
