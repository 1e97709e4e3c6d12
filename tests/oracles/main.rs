//! All tests that use the oracles.

mod files;
mod found;
mod hostile;
mod interpreted;
mod maps;
mod orders;
mod runs;
mod short;
mod space;
mod tables;
mod threads;
