//! The public cases of shredded Variants: <https://github.com/apache/parquet-testing>.

use std::path::PathBuf;

use livebuf::DocBuf;
use livebuf_parquet::{ImportOptions, from_parquet, from_variant};

use crate::text;

/// The cases, or `None` where they are not there.
pub(crate) fn folder() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("../../../shared/suites/parquet-variant");
    folder.exists().then_some(folder)
}

#[test]
fn all_public_cases() {
    let Some(folder) = folder() else {
        eprintln!("SKIPPED: no ../shared/suites/parquet-variant beside the checkout");
        return;
    };
    let cases = std::fs::read(folder.join("cases.json")).unwrap();
    let cases: serde_json::Value = serde_json::from_slice(&cases).unwrap();
    let (mut read, mut refused, mut chosen) = (0, 0, 0);
    for case in cases.as_array().unwrap() {
        // Case 3 has a number and nothing else.
        let Some(file) = case["parquet_file"].as_str() else { continue };
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let found = from_parquet(bytes, &ImportOptions::new());
        let names = match (&case["variant_files"], &case["variant_file"]) {
            (serde_json::Value::Array(names), _) => names.clone(),
            (_, serde_json::Value::String(name)) => vec![name.clone().into()],
            _ => {
                assert!(case["error_message"].is_string());
                let error = found.expect_err(file);
                println!("{file} {}: {error}", case["error_message"]);
                refused += 1;
                continue;
            }
        };
        let expected: Vec<DocBuf> = names.iter().map(|name| expected(&folder, name)).collect();
        let found = match found {
            Ok(found) => found,
            // The file breaks the specification, and readers may choose.
            Err(error) if file.ends_with("-INVALID.parquet") => {
                println!("{file}: {error}");
                chosen += 1;
                continue;
            }
            Err(error) => panic!("{file}: {error}"),
        };
        let rows = found.valid().unwrap().root().as_array().unwrap();
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(expected) {
            let value = row.get("var").unwrap();
            let same = value.deep_eq(expected.valid().unwrap().root(), &mut 10_000).unwrap();
            assert!(same, "{file}: {} is not {}", text(&found), text(&expected));
        }
        read += 1;
    }
    assert_eq!((read, refused, chosen), (129, 6, 2));
}

/// Metadata and value of a Variant in one file.
fn expected(folder: &std::path::Path, name: &serde_json::Value) -> DocBuf {
    match name.as_str() {
        None => (*crate::json("null")).clone(),
        Some(name) => {
            let bytes = std::fs::read(folder.join(name)).unwrap();
            // A header byte, the count of names, their offsets, and the names.
            let size = usize::from(bytes[0] >> 6) + 1;
            let number = |at: usize| {
                bytes[at..at + size].iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte))
            };
            let count = number(1);
            let end = 1 + size + (count + 1) * size + number(1 + size + count * size);
            from_variant(&bytes[..end], &bytes[end..]).unwrap()
        }
    }
}
