//! One program for all tests of patches: it links once.

mod diffs;
mod merging;
mod operations;
mod shared;
