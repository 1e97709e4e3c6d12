//! The oracles that LiveBuf is attacked with, as a library: five-line fuzz
//! targets drive them, and ordinary tests call them on seeded inputs and on
//! every file of `regressions/`.
//!
//! | module | job |
//! |---|---|
//! | `input` | fuzz bytes as decisions; a seeded generator |
//! | `tree` | a value as an ordinary tree |
//! | `fresh` | new keys and values |
//! | `model`, `shadow` | what the document should be; what a listener heard |
//! | `walk`, `columns` | asking a document everything, by row and by column |
//! | `samples` | documents that hold every kind of block; others made by chance |
//! | `changes` | edits as data, for trees and documents |
//! | `bytes`, `edits`, `json`, `tables`, `refusals`, `mutate`, `templates`, `logs`, `deltas`, `patches`, `queries` | the oracles |

use std::time::{Duration, Instant};

pub mod bytes;
pub mod changes;
pub mod columns;
pub mod deltas;
pub mod edits;
pub mod fresh;
pub mod input;
pub mod json;
pub mod logs;
pub mod model;
pub mod mutate;
pub mod patches;
pub mod queries;
pub mod refusals;
pub mod samples;
pub mod shadow;
pub mod tables;
pub mod templates;
pub mod tree;
pub mod walk;

/// Any edits against a plain value tree: [`edits::run`].
pub fn edits(data: &[u8]) {
    edits::run(data);
}

/// Any bytes opened, walked, copied and edited: [`bytes::run`].
pub fn bytes(data: &[u8]) {
    bytes::run(data);
}

/// Edits of documents with and without tables: [`tables::run`].
pub fn tables(data: &[u8]) {
    tables::run(data);
}

/// Edits refused at every point: [`refusals::run`].
pub fn refusals(data: &[u8]) {
    refusals::run(data);
}

/// Damage that knows the structure, and what comes after it: [`mutate::run`].
pub fn mutations(data: &[u8]) {
    mutate::run(data);
}

/// Templates of any documents, stamped with any values: [`templates::run`].
pub fn templates(data: &[u8]) {
    templates::run(data);
}

/// Any bytes as a log, and logs beside a list of rows: [`logs::run`].
pub fn logs(data: &[u8]) {
    logs::run(data);
}

/// Recorded edits as deltas, and deltas from any bytes: [`deltas::run`].
pub fn deltas(data: &[u8]) {
    deltas::run(data);
}

/// Patches, merge patches and diffs against plain trees: [`patches::run`].
pub fn patches(data: &[u8]) {
    patches::run(data);
}

/// Queries against a naive evaluator over plain trees: [`queries::run`].
pub fn queries(data: &[u8]) {
    queries::run(data);
}

/// Any JSON text against serde_json: [`json::run`].
pub fn json(data: &[u8]) {
    json::run(data);
}

/// Runs, and says how long that took: on a busy machine again where it was longer than
/// `most`, up to three times in all, and the least counts.
pub fn least(most: Duration, mut run: impl FnMut()) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..3 {
        let begun = Instant::now();
        run();
        least = least.min(begun.elapsed());
        if least <= most {
            break;
        }
    }
    least
}

/// An oracle as runners take it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of the fuzz target and of the folder in `regressions/`.
    pub name: &'static str,
    /// The oracle.
    pub run: fn(&[u8]),
    /// Bytes of the longest seeded input.
    pub most: usize,
}

/// All oracles.
pub const TARGETS: [Target; 11] = [
    Target { name: "edits", run: edits, most: 1_500 },
    Target { name: "bytes", run: bytes, most: 1_500 },
    Target { name: "json", run: json, most: 60 },
    Target { name: "tables", run: tables, most: 700 },
    Target { name: "refusals", run: refusals, most: 100 },
    Target { name: "mutations", run: mutations, most: 500 },
    Target { name: "templates", run: templates, most: 900 },
    Target { name: "logs", run: logs, most: 700 },
    Target { name: "deltas", run: deltas, most: 400 },
    Target { name: "patches", run: patches, most: 900 },
    Target { name: "queries", run: queries, most: 900 },
];

/// `make test` runs one of so many inputs, `make test-all` (`LIVEBUF_ALL`) all of them.
pub fn one_of(inputs: usize) -> usize {
    if std::env::var_os("LIVEBUF_ALL").is_some() { 1 } else { inputs }
}

/// Prints a step where `LIVEBUF_FUZZ_TRACE` is set, to read what an input does.
pub(crate) fn note(text: impl FnOnce() -> String) {
    static ON: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    if *ON.get_or_init(|| std::env::var_os("LIVEBUF_FUZZ_TRACE").is_some()) {
        eprintln!("{}", text());
    }
}
