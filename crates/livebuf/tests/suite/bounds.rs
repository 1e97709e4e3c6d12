//! Depth, work and memory are bounded by a document's bytes, damaged ones included.

use livebuf::{DocBuf, ErrorKind, json, layout};

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
            let mut doc = DocBuf::from_bytes(&bytes).unwrap();
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
            assert!(root.deep_eq(&root, &mut 1000).is_err());
            assert!(root.get(0).unwrap().unwrap().get("c").is_err());
            assert!(doc.doc().compacted().is_err());
            assert!(doc.doc().validate().is_err());
            let mut other = DocBuf::new().unwrap();
            assert!(other.set_root(root).is_err());
        });
    }
}
