//! The public test suite of JSON Patch (`json-patch-tests`), as far as its files are there.

use livebuf_patch::Patch;
use serde_json::Value;
use std::path::Path;

/// Runs the tests of one file: how many were run.
fn run(text: &str) -> usize {
    let tests: Vec<Value> = serde_json::from_str(text).expect("a list of tests");
    let mut count = 0;
    for test in &tests {
        let (Some(doc), Some(patch)) = (test.get("doc"), test.get("patch")) else { continue };
        if test["disabled"] == true {
            continue;
        }
        count += 1;
        for tables in [true, false] {
            let options = livebuf_json::ReadOptions::new().tables(tables);
            let text = doc.to_string();
            let mut doc = livebuf_json::from_slice_with(text.as_bytes(), &options).expect("JSON");
            let before = doc.to_vec();
            let done = Patch::from_slice(patch.to_string().as_bytes())
                .and_then(|patch| patch.apply(&mut doc));
            doc.doc().validate().expect("a valid document");
            match (test.get("expected"), test.get("error"), done) {
                (Some(expected), _, Ok(())) => {
                    let after: Value = livebuf::from_value(&doc).expect("JSON");
                    assert_eq!(&after, expected, "{test:#}");
                }
                // Some tests say nothing of the result, but that it can be had.
                (None, None, Ok(())) => {}
                (_, Some(_), Err(_)) => assert_eq!(doc.as_bytes(), before, "{test:#}"),
                (_, _, done) => panic!("{done:?}: {test:#}"),
            }
        }
    }
    count
}

#[test]
fn public_suite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/suites/json-patch");
    let Ok(files) = folder.read_dir() else {
        eprintln!("SKIPPED: no public suite in {}", folder.display());
        return;
    };
    let mut count = 0;
    for file in files {
        let path = file.expect("readable").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            count += run(&std::fs::read_to_string(&path).expect("text"));
        }
    }
    assert!(count >= 15, "only {count} tests in {}", folder.display());
}
