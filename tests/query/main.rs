//! One test program: it links once, and its tests share the processors.

mod compliance;
mod editing;
mod hostile;
mod tables;
mod values;
