//! Transactions, as their documentation promises. Random ones are in `fuzz/`.

use livebuf::{Doc, DocBuf, Editor, Error, ErrorKind, Listener, New, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A document with all kinds of containers.
fn sample() -> DocBuf {
    let mut doc = json!({
        "rows": [{"x": 1, "s": "a"}, {"x": 2, "s": "b"}, {"x": 3, "s": "a"}],
        "numbers": [1, 2, 3],
        "deep": {"a": {"b": "a text that lies elsewhere"}}
    });
    for key in 0..100 {
        doc.set_pointer_with_parents(&format!("/map/key {key}"), key).unwrap();
    }
    doc
}

/// Edits of every kind.
fn edit<S: livebuf::Storage>(doc: &mut Editor<S>) -> Result<(), Error> {
    doc.set_pointer("/rows/1/x", 2.5)?;
    doc.set_pointer("/rows/-", &json!({"x": 4, "s": "another text", "more": true}))?;
    doc.remove_pointer("/rows/0")?;
    doc.set_pointer("/numbers/0", "no number any more")?;
    doc.set_pointer("/deep/a/b", "a text that is longer than the one before it, by far")?;
    doc.remove_pointer("/map/key 50")?;
    doc.set_pointer("/map/a new key", &json!([1, [2]]))?;
    let root = doc.root_id().unwrap();
    doc.rename(root, "deep", "deeper")?;
    doc.set_pointer("/more", "members")?;
    Ok(())
}

/// An edit that cannot be made.
fn fail(doc: &mut DocBuf) -> Result<(), Error> {
    doc.set_pointer("/no/parent", 1).map(drop)
}

#[test]
fn all_or_nothing() {
    let mut doc = sample();
    let before = doc.to_vec();
    let failed: Result<(), Error> = doc.transaction(|doc| {
        edit(doc)?;
        assert_ne!(doc.as_bytes(), before);
        assert_eq!(doc.transactions(), 1);
        fail(doc)
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!((doc.as_bytes(), doc.transactions()), (&*before, 0));
    assert!(doc.is_trusted());

    doc.transaction(edit).unwrap();
    let mut plain = DocBuf::open(&before).unwrap();
    edit(&mut plain).unwrap();
    assert_eq!(doc.doc().root().deep_eq(plain.doc().root(), &mut 10_000), Ok(true));
    doc.doc().validate().unwrap();
}

/// The error of the caller's own type comes through.
#[test]
fn other_errors() {
    let mut doc = sample();
    let before = doc.to_vec();
    let failed = doc.transaction(|doc| {
        edit(doc)?;
        Err::<(), Box<dyn std::error::Error>>("not today".into())
    });
    assert_eq!(failed.unwrap_err().to_string(), "not today");
    assert_eq!(doc.as_bytes(), before);
}

#[test]
fn panics_roll_back() {
    let mut doc = sample();
    let before = doc.to_vec();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        doc.transaction(|doc| -> Result<(), Error> {
            edit(doc)?;
            doc.transaction(|doc| {
                doc.set_pointer("/numbers", ())?;
                panic!("in the middle")
            })
        })
    }));
    assert!(panicked.is_err());
    assert_eq!((doc.as_bytes(), doc.transactions()), (&*before, 0));
    doc.set_pointer("/numbers", 1).unwrap();
}

#[test]
fn savepoints() {
    let mut doc = sample();
    doc.transaction(|doc| {
        doc.set_pointer("/numbers/-", 4)?;
        let here = doc.to_vec();
        let inner: Result<(), Error> = doc.transaction(|doc| {
            edit(doc)?;
            doc.transaction(|doc| doc.set_pointer("/numbers", 0).map(drop))?;
            fail(doc)
        });
        assert!(inner.is_err());
        assert_eq!(doc.as_bytes(), here);
        doc.transaction(|doc| doc.set_pointer("/numbers/-", 5).map(drop))
    })
    .unwrap();
    assert_eq!(doc.pointer("/numbers/4").unwrap().unwrap(), 5);
    // What was left open within is committed or rolled back with what is around it.
    let before = doc.to_vec();
    let left: Result<(), Error> = doc.transaction(|doc| {
        doc.begin_transaction()?;
        doc.set_pointer("/numbers", 0)?;
        fail(doc)
    });
    assert!(left.is_err());
    assert_eq!((doc.as_bytes(), doc.transactions()), (&*before, 0));
}

#[test]
fn handles_are_stale_after_going_back() {
    let mut doc = sample();
    let rows = doc.find("/rows").unwrap().unwrap();
    doc.transaction(|doc| doc.remove(rows, 0).map(drop)).unwrap();
    assert!(doc.is_current(rows), "it was committed");
    let mut made = None;
    let result: Result<(), Error> = doc.transaction(|doc| {
        made = doc.set_pointer("/new", New::object(2))?;
        fail(doc)
    });
    assert!(result.is_err());
    for node in [rows, made.unwrap()] {
        assert_eq!(doc.set(node, 0, 1).unwrap_err().kind(), ErrorKind::StaleHandle);
    }
    let (root, deep) = (doc.root_id().unwrap(), "deep");
    let before = doc.to_vec();
    doc.begin_transaction().unwrap();
    let detached = doc.detach(root, deep).unwrap().unwrap();
    doc.rollback_transaction().unwrap();
    assert_eq!(doc.set_root(&detached).unwrap_err().kind(), ErrorKind::StaleHandle);
    assert_eq!(doc.as_bytes(), before);
}

#[test]
fn without_a_transaction() {
    let mut doc = sample();
    assert_eq!(doc.commit_transaction().unwrap_err().kind(), ErrorKind::BadSequence);
    assert_eq!(doc.rollback_transaction().unwrap_err().kind(), ErrorKind::BadSequence);
}

/// The log of a fixed buffer is half of its room: what does not fit is refused, and all is taken
/// back.
#[test]
fn a_full_log() {
    let source = sample();
    let used = source.as_bytes().len();
    let (mut fits, mut full) = (0, 0);
    for room in (0..8_000).step_by(40) {
        let mut buffer = source.to_vec();
        buffer.resize(used + room, 0xA5);
        let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
        doc.validate().unwrap();
        match doc.transaction(edit) {
            Ok(()) => {
                fits += 1;
                doc.doc().validate().unwrap();
                assert_eq!(doc.pointer("/more").unwrap().unwrap(), "members");
            }
            Err(error) => {
                full += 1;
                assert_eq!(error.kind(), ErrorKind::NoSpace);
                assert!(error.detail() > 0, "{error}");
                assert_eq!(doc.as_bytes(), source.as_bytes());
                assert!(doc.is_trusted());
            }
        }
        assert_eq!(doc.transactions(), 0);
        doc.set_pointer("/numbers/0", 7).unwrap();
    }
    assert!(fits > 10 && full > 10, "{fits} fit, {full} do not");
}

/// After an edit that did not fit the log no other is taken, and nothing can be committed.
#[test]
fn a_full_log_ends_the_transaction() {
    let source = json!({"text": "x".repeat(600), "number": 1});
    let mut buffer = source.to_vec();
    buffer.resize(source.as_bytes().len() + 400, 0);
    let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
    doc.validate().unwrap();
    doc.begin_transaction().unwrap();
    let root = doc.root_id().unwrap();
    doc.set(root, "number", 2).unwrap();
    let error = doc.set(root, "text", "y".repeat(600).as_str()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    let refused = [doc.set(root, "number", 3).map(drop), doc.commit_transaction()];
    assert!(refused.iter().all(|result| *result == Err(error)), "{refused:?}");
    assert!(!doc.is_trusted(), "half of an edit was made");
    doc.rollback_transaction().unwrap();
    assert!(doc.is_trusted());
    assert_eq!(doc.as_bytes(), source.as_bytes());
}

/// The log is full at every point of edits that write many places.
#[test]
fn a_full_log_in_the_middle_of_columns() {
    let row = |n: i64| json!({"x": n, "in": {"y": n, "s": "text"}, "l": [n, n + 1], "p": [n]});
    let rows: Vec<DocBuf> = (0..6).map(row).collect();
    let mut all = json!([]);
    let root = all.root_id().unwrap();
    for row in &rows {
        all.push(root, row).unwrap();
    }
    all.compact().unwrap();
    type Edit = fn(&mut Editor<&mut [u8]>) -> Result<(), Error>;
    let edits: [Edit; 8] = [
        |doc| doc.truncate(doc.root_id().unwrap(), 0),
        |doc| doc.truncate(doc.root_id().unwrap(), 3),
        |doc| doc.remove_pointer("/0").map(drop),
        |doc| doc.swap(doc.root_id().unwrap(), 0, 5),
        |doc| doc.set_pointer("/2/l/-", 9).map(drop),
        |doc| doc.remove_pointer("/2/l/0").map(|removed| assert!(removed)),
        |doc| doc.swap(doc.find("/2/l")?.unwrap(), 0, 1),
        |doc| doc.truncate(doc.find("/2/l")?.unwrap(), 1),
    ];
    let (mut full, mut done) = (0, 0);
    for room in (0..400).chain((400..4000).step_by(8)) {
        for edit in edits {
            let mut buffer = all.to_vec();
            buffer.resize(all.as_bytes().len() + room, 0xA5);
            let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
            doc.validate().unwrap();
            if doc.begin_transaction().is_err() {
                continue;
            }
            match edit(&mut doc) {
                Ok(()) => done += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NoSpace, "{room}");
                    full += 1;
                }
            }
            doc.rollback_transaction().unwrap();
            assert_eq!(doc.as_bytes(), all.as_bytes(), "{room}");
        }
    }
    assert!(full > 20 && done > 1000, "{full} {done}");
}

/// A row of a list becomes an array by itself before an element is taken out. Where the log had no
/// room for that, nothing was found to be taken out, and no error was told.
#[test]
fn a_full_log_while_a_row_of_a_list_leaves_it() {
    let mut all = json!([[[[1, 1], null], [[2], null]], 3]);
    all.compact().unwrap();
    let mut refused = 0;
    for room in 0..400 {
        let mut buffer = all.to_vec();
        buffer.resize(all.as_bytes().len() + room, 0);
        let mut doc = Editor::open_unvalidated(&mut buffer[..]).unwrap();
        doc.validate().unwrap();
        doc.begin_transaction().unwrap();
        match doc.remove_pointer("/0/1/0") {
            Ok(removed) => assert!(removed, "{room} bytes of room: it is not there"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace);
                refused += 1;
            }
        }
        doc.rollback_transaction().unwrap();
        assert_eq!(doc.as_bytes(), all.as_bytes(), "{room}");
    }
    assert!(refused > 20, "{refused}");
}

/// Whoever takes the bytes out in the middle gets none of half a transaction.
#[test]
fn parts_without_half_a_transaction() {
    let before = sample().to_vec();
    let begun = || {
        let mut doc = sample();
        doc.begin_transaction().unwrap();
        edit(&mut doc).unwrap();
        doc.begin_transaction().unwrap();
        doc.set_root(1).unwrap();
        doc
    };
    let storage = begun().into_storage();
    let doc = Editor::open_unvalidated(storage).unwrap();
    assert_eq!(doc.as_bytes(), before);

    let mut doc = sample();
    doc.transaction(|doc| {
        doc.set_pointer("/more", 1)?;
        doc.begin_transaction()?;
        doc.set_pointer("/more", 2).map(drop)
    })
    .unwrap();
    assert_eq!(doc.pointer("/more").unwrap().unwrap(), 1, "the inner one was not committed");
    assert_eq!(doc.transactions(), 0);
}

#[test]
fn limits_and_trust_come_back() {
    let bytes = sample().to_vec();
    let mut doc = DocBuf::from_bytes_unvalidated(&bytes).unwrap();
    doc.begin_transaction().unwrap();
    doc.validate().unwrap();
    doc.set_pointer("/numbers/-", 4).unwrap();
    doc.rollback_transaction().unwrap();
    assert!(!doc.is_trusted(), "as when it was begun");
    assert_eq!(doc.as_bytes(), bytes);
    let mut limits = doc.limits();
    limits.string = 30;
    doc.set_limits(limits);
    let result = doc.transaction(edit);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::StringLimit);
    assert_eq!(doc.as_bytes(), bytes);
}

/// A listener hears of what is taken back, so that a copy follows.
#[test]
fn the_hook_sees_what_is_taken_back() {
    /// The ranges that were told of.
    #[derive(Default)]
    struct Told(Vec<std::ops::Range<usize>>);
    impl Listener for Told {
        fn will_change(&mut self, _: &[u8], offset: u64, length: u64) {
            self.0.push(offset as usize..(offset + length) as usize);
        }
    }
    let mut doc = DocBuf::new().unwrap();
    doc.set_root(&sample()).unwrap();
    let before = doc.as_bytes().to_vec();
    doc.begin_transaction().unwrap();
    edit(&mut doc).unwrap();
    doc.compact().unwrap();
    let mut copy = doc.as_bytes().to_vec();
    doc.listen(Told::default());
    doc.rollback_transaction().unwrap();
    assert_eq!(doc.as_bytes(), before);
    copy.resize(before.len(), 0);
    let Told(ranges) = doc.stop_listening().unwrap();
    for range in ranges.into_iter().filter(|range| range.end <= before.len()) {
        copy[range.clone()].copy_from_slice(&doc.as_bytes()[range]);
    }
    assert!(copy == before);
    Doc::open(&before).unwrap().validate().unwrap();
}
