//! The oracles in short: seeded inputs, and every file of `regressions/`.

use livebuf_fuzz::input::Random;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

/// Runs an oracle on as many seeded inputs; a failing one's seed is printed.
fn seeded(oracle: fn(&[u8]), count: u64, most: usize) {
    let first = match std::env::var("LIVEBUF_FUZZ_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => 1,
    };
    for seed in first..first + count {
        let mut random = Random(seed);
        let length = 1 + random.below(most);
        let data = random.bytes(length);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| oracle(&data))) {
            eprintln!("seed {seed}: LIVEBUF_FUZZ_SEED={seed} replays it first");
            resume_unwind(panic);
        }
    }
}

fn regressions(oracle: fn(&[u8]), name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(name);
    // Without findings there is no folder.
    let entries = folder.read_dir().into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    for file in files {
        let data = std::fs::read(&file).expect("readable");
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| oracle(&data))) {
            eprintln!("{}", file.display());
            resume_unwind(panic);
        }
    }
}

#[test]
fn edits() {
    regressions(livebuf_fuzz::edits, "edits");
    seeded(livebuf_fuzz::edits, 4_000, 1_500);
}

#[test]
fn bytes() {
    regressions(livebuf_fuzz::bytes, "bytes");
    seeded(livebuf_fuzz::bytes, 4_000, 1_500);
}

#[test]
fn json() {
    regressions(livebuf_fuzz::json, "json");
    seeded(livebuf_fuzz::json, 200_000, 60);
}
