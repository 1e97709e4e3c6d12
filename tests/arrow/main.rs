//! Exchange with the `arrow` crate over the C Data Interface, in both directions.

mod exchange;
mod export;
mod hostile;
mod import;
mod joined;
mod ownership;
mod requested;
mod trust;
