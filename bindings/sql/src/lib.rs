//! What the extensions for SQL engines share: paths (`path`), and values as SQL says them
//! (`value`).

mod path;
mod value;

pub use path::{Path, PathError, Step, push};
pub use value::{Number, READ_OPTIONS, is_damage, json, number, read_options, type_name};
