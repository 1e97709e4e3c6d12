//! The oracles that LiveBuf is attacked with, as a library: five-line fuzz
//! targets drive them, and ordinary tests call them on seeded inputs and on
//! every file of `regressions/`.
//!
//! | module | job |
//! |---|---|
//! | `input` | fuzz bytes as decisions; a seeded generator |
//! | `tree` | a value as an ordinary tree |
//! | `fresh` | new keys and values |
//! | `model`, `shadow` | what the document should be; what the observer saw |
//! | `walk` | asking a document everything |
//! | `samples` | documents that hold every kind of block |
//! | `bytes`, `edits`, `json` | the oracles |

pub mod bytes;
pub mod edits;
pub mod fresh;
pub mod input;
pub mod json;
pub mod model;
pub mod samples;
pub mod shadow;
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

/// Any JSON text against serde_json: [`json::run`].
pub fn json(data: &[u8]) {
    json::run(data);
}

/// Prints a step where `LIVEBUF_FUZZ_TRACE` is set, to read what an input does.
pub(crate) fn note(text: impl FnOnce() -> String) {
    static ON: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    if *ON.get_or_init(|| std::env::var_os("LIVEBUF_FUZZ_TRACE").is_some()) {
        eprintln!("{}", text());
    }
}
