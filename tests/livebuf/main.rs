//! The core's own tests, in one binary. Random edits against a model, hostile
//! bytes and space are attacked from `fuzz/`.

mod alone;
mod api;
mod bounds;
mod conversions;
mod deltas;
mod editing;
mod encoding;
mod extended;
mod handles;
mod inlining;
mod layers;
mod limits;
mod mapped;
mod maps;
mod pages;
mod partial;
mod reading;
mod serde_support;
mod space;
mod templates;
mod tensors;
mod transactions;
mod wide;
mod words;
