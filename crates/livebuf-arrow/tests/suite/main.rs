//! Exchange with the `arrow` crate over the C Data Interface, in both directions.

mod exchange;
mod export;
mod hostile;
mod import;
mod ownership;
mod requested;
