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
mod tree;
mod vectors;

/// `make test` runs one of so many inputs, `make test-all` (`LIVEBUF_ALL`) all of them.
fn one_of(inputs: usize) -> usize {
    if std::env::var_os("LIVEBUF_ALL").is_some() { 1 } else { inputs }
}
