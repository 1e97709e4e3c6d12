//! The crate's tests, one binary. Those that need the shared files beside the
//! workspace print a line and pass when the files are absent.

mod bounds;
mod data;
mod errors;
mod json_test_suite;
mod lines;
mod numbers;
mod printing;
mod random;
mod refused;
mod tree;
mod vectors;
