//! One program for all tests of patches: it links once.

mod merging;
mod operations;
mod shared;
