//! Depth, work and memory are bounded by a document's bytes, damaged ones included.

use livebuf::{Doc, DocBuf, EncodeOptions, Encoder, ErrorKind, Limits, json, layout};

fn word(bytes: &[u8], at: u32) -> u32 {
    let at = at as usize;
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn set_word(bytes: &mut [u8], at: u32, word: u32) {
    bytes[at as usize..at as usize + 4].copy_from_slice(&word.to_le_bytes());
}

/// Runs on a thread with a small stack: what fits there recurses little.
fn on_small_stack(run: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        thread.spawn_scoped(scope, run).unwrap().join().unwrap();
    });
}

/// Bug: the further fields of a row could be said to be in the table itself, and setting
/// one of them recursed until the stack ended. Fix: their home is a record or map, whatever
/// looks at it.
#[test]
fn extras_that_name_their_own_table() {
    let mut doc = json!([{"a": 1, "b": 2}, {"a": 3, "b": 4}, {"a": 5, "b": 6}, {"a": 7, "b": 8}]);
    doc.set_pointer("/0/c", "further").unwrap();
    let mut bytes = doc.to_vec();
    let table = word(&bytes, word(&bytes, layout::HEADER_ROOT_CELL) + 12);
    let extras = word(&bytes, table + layout::TABLE_EXTRAS);
    let entry = word(&bytes, extras + 12);
    // An array, a list's or table's block, a shape: nothing of it holds a row's fields.
    let array = word(&bytes, layout::HEADER_ROOT_CELL);
    for home in [table, array, word(&bytes, table + 4), 0, u32::MAX - 7] {
        set_word(&mut bytes, entry, home);
        on_small_stack(|| {
            let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
            let row = doc.find("/0").unwrap().unwrap();
            let kinds = [ErrorKind::WrongBlock, ErrorKind::OutOfBounds];
            let mut refused = |edit: &mut dyn FnMut(&mut DocBuf) -> livebuf::Result<()>| {
                match edit(&mut doc) {
                    Err(error) if kinds.contains(&error.kind()) => {}
                    Err(error) if error.kind() == ErrorKind::NotValidated => {}
                    other => panic!("home {home}: {other:?}"),
                }
                assert_eq!(doc.as_bytes(), bytes);
            };
            refused(&mut |doc| doc.set(row, "zzz", 1).map(drop));
            refused(&mut |doc| doc.set(row, "c", 1).map(drop));
            refused(&mut |doc| doc.rename(row, "c", "d"));
            refused(&mut |doc| doc.remove(row, "c").map(drop));
            refused(&mut |doc| doc.detach(row, "c").map(drop));
            refused(&mut |doc| doc.child(row, "c").map(drop));
            refused(&mut |doc| doc.clear(row));
            let root = doc.doc().root();
            assert!(root.deep_eq(root, &mut 1000).is_err());
            assert!(root.get(0).unwrap().unwrap().get("c").is_err());
            assert!(doc.doc().compacted().is_err());
            assert!(doc.doc().validate().is_err());
            let mut other = DocBuf::new().unwrap();
            assert!(other.set_root(root).is_err());
        });
    }
}

/// `depth` containers in each other: objects, arrays, and rows with lists in turn.
fn nested(depth: usize, kind: usize) -> DocBuf {
    let mut options = EncodeOptions::default();
    options.limits.nesting = layout::MAX_NESTING;
    let mut encoder = Encoder::with_options(options);
    for level in 0..depth {
        match (kind + level) % 3 {
            0 if kind < 3 => encoder.begin_object().and_then(|()| encoder.key("a")).unwrap(),
            1 if kind == 3 => {
                encoder.begin_object().and_then(|()| encoder.key("a")).unwrap();
            }
            _ => encoder.begin_array().unwrap(),
        }
    }
    encoder.i64(1).unwrap();
    for level in (0..depth).rev() {
        match (kind + level) % 3 {
            0 if kind < 3 => encoder.end_object().unwrap(),
            1 if kind == 3 => encoder.end_object().unwrap(),
            _ => {
                // Two that are alike, so that some become columns.
                encoder.i64(2).unwrap();
                encoder.end_array().unwrap();
            }
        }
    }
    encoder.finish().unwrap()
}

/// Bug: digests recursed for each level, and comparing and copying took up to 1 MiB of stack
/// in unoptimised builds (`CARGO_PROFILE_DEV_OPT_LEVEL=0`). Effect: the deepest document
/// ended small threads. Fix: digests keep a stack of their own, the others one in chunks.
#[test]
fn the_deepest_document_fits_a_small_stack() {
    for kind in 0..4 {
        let doc = nested(layout::MAX_NESTING.into(), kind);
        on_small_stack(|| {
            let mut doc = doc;
            let checked = DocBuf::from_bytes_unvalidated(doc.as_bytes()).unwrap();
            checked.doc().validate().unwrap();
            let mut limits = Limits::default();
            limits.nesting = layout::MAX_NESTING;
            let mut copy = DocBuf::new().unwrap();
            copy.set_limits(limits);
            copy.set_root(doc.doc().root()).unwrap();
            copy.validate().unwrap();
            let root = doc.doc().root();
            assert!(root.deep_eq(copy.doc().root(), &mut 10_000).unwrap());
            let digest = root.digest(&mut 10_000).unwrap();
            assert_eq!(digest, copy.doc().root().digest(&mut 10_000).unwrap());
            let options = EncodeOptions { limits, ..EncodeOptions::default() };
            let compacted = checked.doc().compacted_with(options).unwrap();
            assert_eq!(compacted.as_bytes(), doc.as_bytes());
            assert!(!format!("{root:?} {doc:?}").is_empty());
            doc.set_root(()).unwrap();
            doc.validate().unwrap();
        });
    }
}

/// Bug: what a walk may cost counted keys once for each row, but only bytes of text that a
/// document can hold. Effect: sound documents of short rows could not be compacted, copied
/// or converted. Fix: keys have an allowance of their own.
#[test]
fn short_rows_under_long_keys_are_no_damage() {
    for length in [1, 19, 60, 127, 128, 129, 255] {
        let key = "k".repeat(length);
        let mut encoder = Encoder::new();
        encoder.begin_array().unwrap();
        for row in 0..20_000 {
            encoder.begin_object().unwrap();
            encoder.key(&key).unwrap();
            encoder.bool(row % 3 == 0).unwrap();
            encoder.end_object().unwrap();
        }
        encoder.end_array().unwrap();
        let mut doc = encoder.finish().unwrap();
        let (bytes, checked) = (doc.to_vec(), Doc::open(doc.as_bytes()).unwrap());
        checked.validate().unwrap();
        assert_eq!(checked.compacted().unwrap().as_bytes(), bytes);
        let mut copy = DocBuf::new().unwrap();
        copy.set_root(checked.root()).unwrap();
        copy.validate().unwrap();
        {
            let value: serde_json::Value = livebuf::from_doc(checked).unwrap();
            assert_eq!(livebuf::to_vec(&value).unwrap(), bytes);
            assert_eq!(livebuf::to_vec(&checked).unwrap(), bytes);
        }
        // One element that is no object: rows become objects by themselves.
        doc.set_pointer("/-", 1).unwrap();
        doc.compact().unwrap();
        doc.validate().unwrap();
    }
}

/// Bug: the row's number was added to the slice's first before it was compared. Effect: a
/// panic in builds with overflow checks.
#[test]
fn a_slice_has_no_row_beyond_its_last() {
    let doc = json!([{"x": 1}, {"x": 2}, {"x": 3}, {"x": 4}, {"x": 5}, {"x": 6}, {"x": 7}]);
    let rows = doc.valid().unwrap().root().as_array().unwrap();
    let table = rows.table().unwrap().slice(1..);
    let past = usize::try_from(1u64 << 32).unwrap_or(usize::MAX);
    for index in [6, u32::MAX as usize, past, usize::MAX] {
        assert!(table.row(index).is_none());
        assert!(table.column("x").unwrap().get(index).is_none());
        assert!(rows.get(index.max(7)).is_none());
    }
    assert!(table.row(5).is_some());
}

/// Validating goes down by recursion once in 64 levels. What a row's further fields hold is
/// looked at wherever that falls.
#[test]
fn further_fields_are_validated_at_every_depth() {
    for depth in 0..140 {
        let rows = json!([{"a": 1, "b": 2}, {"a": 3, "b": 4}, {"a": 5, "b": 6}, {"a": 7, "b": 8}]);
        let mut doc = rows;
        for _ in 0..depth {
            let mut around = json!([]);
            around.push(around.root_id().unwrap(), doc.doc().root()).unwrap();
            doc = around;
        }
        let row = format!("{}/0", "/0".repeat(depth));
        let row = doc.find(&row).unwrap().unwrap();
        let text = "a further field's text";
        doc.set(row, "c", livebuf::New::Items(&[livebuf::New::Str(text)])).unwrap();
        doc.doc().validate().unwrap();
        assert_eq!(doc.doc().stats().unwrap().depth, depth as u64 + 3);
        let mut bytes = doc.to_vec();
        let place = bytes.windows(text.len()).position(|bytes| bytes == text.as_bytes());
        bytes[place.unwrap()] = 0xFF;
        let error = Doc::open(&bytes).unwrap().validate().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadText, "at depth {depth}");
    }
}

/// Bug: an array that holds itself, in a document that was not validated, was freed by
/// recursion as deep as a budget of values allowed. In one of 100 kB that ended the stack.
/// Fix: freeing stops at the deepest nesting there can be, as every other walk.
#[test]
fn freeing_what_holds_itself_does_not_end_the_stack() {
    let mut doc = json!({"ring": [[null]]});
    doc.set_pointer("/padding", &*"x".repeat(100_000)).unwrap();
    let mut bytes = doc.to_vec();
    let inner = doc.doc().pointer("/ring/0").unwrap().unwrap().parts();
    let ring = doc.doc().pointer("/ring").unwrap().unwrap().parts();
    set_word(&mut bytes, inner.position, ring.cell as u32);
    on_small_stack(|| {
        for edit in 0..3 {
            let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
            let root = doc.root_id().unwrap();
            match edit {
                0 => assert!(doc.remove(root, "ring").unwrap()),
                1 => drop(doc.set(root, "ring", "text").is_ok()),
                _ => doc.clear(root).unwrap(),
            }
            assert!(doc.doc().root().get("ring").unwrap().is_none_or(|ring| ring == "text"));
        }
    });
}
