//! The Python package `livebuf`: documents that behave like dicts and lists, over any buffer.
//!
//! A thin layer on the crates: nothing here touches a document's bytes by itself.
//!
//! | module | job |
//! |---|---|
//! | `error` | exceptions |
//! | `lock` | the lock of a document |
//! | `extended` | dates, times, decimals and UUIDs |
//! | `decode` | values to Python objects |
//! | `memory` | where bytes live: Python objects, mapped files |
//! | `history` | places by keys and indexes, and edits that shift them |
//! | `view` | what documents, objects and arrays hold; how a view finds its place |
//! | `edit` | edits, and how views outlive them |
//! | `fields` | fields of classes, found once |
//! | `encode` | Python objects to documents |
//! | `typed` | documents as objects of a type: `Decoder` |
//! | `pointer`, `compare`, `export` | JSON pointers; `==`; buffers |
//! | `transaction` | groups of edits |
//! | `recording` | changes as bytes: recordings, deltas, undo |
//! | `patch` | patches and diffs |
//! | `query` | JSONPath |
//! | `search` | rows of columns by value |
//! | `table`, `object`, `array`, `document` | the methods of the classes |
//! | `template` | prepared messages |
//! | `log` | logs: files of rows |
//! | `codec`, `json` | `dumps`, `loads`; JSON text |
//!
//! Files use those above them in this table, and none below: a test of the core reads every
//! path (`tests/livebuf/layers.rs`).

mod array;
mod codec;
mod compare;
mod decode;
mod document;
mod edit;
mod encode;
mod error;
mod export;
mod extended;
mod fields;
mod history;
mod json;
mod lock;
mod log;
mod memory;
mod object;
mod partial;
mod patch;
mod pointer;
mod query;
mod recording;
mod remote;
mod search;
mod table;
mod template;
mod transaction;
mod typed;
mod view;

use pyo3::prelude::*;

// Free-threaded interpreters turn their global lock on for this module, which `lock` needs.
/// The compiled part of `livebuf`.
#[pymodule(gil_used = true)]
mod _livebuf {
    #[pymodule_export]
    use crate::array::Elements;
    #[pymodule_export]
    use crate::codec::{_loads, Encoder, dumps};
    #[pymodule_export]
    use crate::document::{_open, _open_bytes, _restore, _write};
    #[pymodule_export]
    use crate::export::Numbers;
    #[pymodule_export]
    use crate::fields::Fields;
    #[pymodule_export]
    use crate::json::{from_json, to_json};
    #[pymodule_export]
    use crate::log::{Log, LogColumns, LogRows};
    #[pymodule_export]
    use crate::memory::fence;
    #[pymodule_export]
    use crate::object::{Members, Ordered};
    #[pymodule_export]
    use crate::partial::Partial;
    #[pymodule_export]
    use crate::patch::{Patch, diff, merge_diff};
    #[pymodule_export]
    use crate::query::{_query, Match, Matches, Query};
    #[pymodule_export]
    use crate::recording::{Delta, History, Recording, Step};
    #[pymodule_export]
    use crate::table::{Column, ColumnValues, Table, from_arrow};
    #[pymodule_export]
    use crate::template::Template;
    #[pymodule_export]
    use crate::transaction::Transaction;
    #[pymodule_export]
    use crate::typed::decoder::Decoder;
    #[pymodule_export]
    use crate::view::{Array, Document, Object};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::prepare(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
