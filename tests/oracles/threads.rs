//! What threads share: documents, remembered keys, the numbers that handles are told apart
//! by, detached values. ThreadSanitizer and Miri run these tests too (docs/testing.md).

use livebuf::{Doc, DocBuf, ErrorKind, Key, New};
use livebuf_fuzz::samples;
use livebuf_fuzz::tree::Tree;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

const THREADS: usize = 4;
const TURNS: usize = if cfg!(miri) { 20 } else { 2_000 };

/// Runs on all threads at once.
fn together(run: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (run, barrier) = (&run, &barrier);
            scope.spawn(move || {
                barrier.wait();
                run(thread);
            });
        }
    });
}

/// Two documents in which a key has different places: each look-up changes what the key
/// remembers while others read it.
#[test]
fn remembered_keys() {
    static KEY: Key<'static> = Key::new("wanted");
    let docs = [
        livebuf::json!({"wanted": 1, "a": 0}),
        livebuf::json!({"a": 0, "b": 0, "c": 0, "wanted": 2}),
        livebuf::json!({"a": 0, "b": 0, "other": 0}),
        livebuf::json!([{"x": 1, "wanted": 4}, {"x": 2, "wanted": 5}, {"x": 3, "wanted": 6}]),
    ];
    together(|thread| {
        for turn in 0..TURNS {
            let number = (thread + turn) % docs.len();
            let mut value = docs[number].valid().expect("ours").root();
            if number == 3 {
                value = value.get(turn % 3).expect("a row");
            }
            let found = value.get(&KEY).and_then(|value| value.as_i64());
            let expected = [Some(1), Some(2), None, Some(4 + turn as i64 % 3)][number];
            assert_eq!(found, expected, "thread {thread}, turn {turn}");
        }
    });
}

/// Each thread edits a document of its own. Handles of one are stale in all others.
#[test]
fn handles_of_many_editors() {
    let handles = std::sync::Mutex::new(Vec::new());
    together(|thread| {
        let mut doc = DocBuf::new().expect("memory");
        for turn in 0..TURNS / 10 {
            let root = doc.set_root(New::array(1)).expect("room").expect("an array");
            let object = doc.push(root, New::object(1)).expect("room").expect("an object");
            doc.set(object, "thread", thread).expect("room");
            let others = {
                let mut handles = handles.lock().expect("no panic");
                handles.push((thread, object));
                handles.clone()
            };
            for (other, handle) in others.into_iter().rev().take(8) {
                if other != thread {
                    let error = doc.set(handle, "thread", 0).expect_err("another's");
                    assert_eq!(error.kind(), ErrorKind::StaleHandle, "turn {turn}");
                }
            }
        }
    });
}

/// All threads read one document in every way, and convert it.
#[test]
fn readers_of_one_document() {
    let seeds = if cfg!(miri) { 1 } else { 20 };
    for seed in 0..seeds {
        let (tree, doc) = samples::grown(seed * 8);
        let bytes = doc.to_vec();
        let done = AtomicUsize::new(0);
        together(|_| {
            let own = Doc::open(&bytes).expect("sound").validate().expect("valid");
            let shared = doc.valid().expect("ours");
            for root in [own.root(), shared.root()] {
                assert!(Tree::of_valid(root).same(&tree));
                done.fetch_add(1, Ordering::Relaxed);
            }
            let digest = own.root().digest(&mut u64::MAX.clone());
            assert_eq!(digest, shared.root().digest(&mut u64::MAX.clone()));
        });
        assert_eq!(done.into_inner(), 2 * THREADS);
    }
}
