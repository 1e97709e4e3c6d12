//! Exchange with the `arrow` crate over the C Data Interface, in both directions.

mod exchange;
mod export;
mod hostile;
mod import;
mod joined;
mod ownership;
mod requested;
mod trust;

/// `make test` runs one of so many inputs, `make test-all` (`LIVEBUF_ALL`) all of them.
fn one_of(inputs: usize) -> usize {
    if std::env::var_os("LIVEBUF_ALL").is_some() { 1 } else { inputs }
}
