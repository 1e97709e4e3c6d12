//! The Python package `livebuf`: documents that behave like dicts and lists, over any buffer.
//!
//! A thin layer on the crates: nothing here touches a document's bytes by itself.
//!
//! | module | job |
//! |---|---|
//! | `spare` | memory for errors where the system gives none |
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
//! | `command` | the `livebuf` command |
//!
//! Files use those above them in this table, and none below: a test of the core reads every
//! path (`tests/livebuf/layers.rs`).

mod array;
mod codec;
mod command;
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
mod spare;
mod table;
mod template;
mod transaction;
mod typed;
mod view;

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

#[global_allocator]
static MEMORY: spare::Spare = spare::Spare::new();

/// Refuses interpreters other than the main one. What is kept in statics, such as classes of
/// Python's own library, belongs to one interpreter, and would outlive another.
#[allow(unsafe_code)]
fn refuse_subinterpreters() -> PyResult<()> {
    // SAFETY: this thread is attached to an interpreter.
    let number = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    match number {
        0 => Ok(()),
        _ => Err(PyImportError::new_err(
            "livebuf works in the main interpreter only, not in subinterpreters: use threads or \
             processes (with mod_wsgi set WSGIApplicationGroup to %{GLOBAL})",
        )),
    }
}

// Free-threaded interpreters turn their global lock on for this module, which `lock` needs.
/// The compiled part of `livebuf`.
#[pymodule(gil_used = true)]
fn _livebuf(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // First of all: classes would be made for that interpreter.
    refuse_subinterpreters()?;
    error::prepare(module.py())?;
    module.add_class::<array::Elements>()?;
    module.add_function(wrap_pyfunction!(codec::_loads, module)?)?;
    module.add_class::<codec::Encoder>()?;
    module.add_function(wrap_pyfunction!(command::_command, module)?)?;
    module.add_function(wrap_pyfunction!(codec::dumps, module)?)?;
    module.add_function(wrap_pyfunction!(document::_open, module)?)?;
    module.add_function(wrap_pyfunction!(document::_open_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(document::_restore, module)?)?;
    module.add_function(wrap_pyfunction!(document::_restore_view, module)?)?;
    module.add_function(wrap_pyfunction!(document::_passed_on, module)?)?;
    module.add_function(wrap_pyfunction!(document::_write, module)?)?;
    module.add_class::<export::Numbers>()?;
    module.add_class::<fields::Fields>()?;
    module.add_function(wrap_pyfunction!(json::from_json, module)?)?;
    module.add_function(wrap_pyfunction!(json::to_json, module)?)?;
    module.add_class::<log::Log>()?;
    module.add_class::<log::LogColumns>()?;
    module.add_class::<log::LogRows>()?;
    module.add_function(wrap_pyfunction!(memory::fence, module)?)?;
    module.add_class::<object::Members>()?;
    module.add_class::<object::Ordered>()?;
    module.add_class::<partial::Partial>()?;
    module.add_class::<patch::Patch>()?;
    module.add_function(wrap_pyfunction!(patch::diff, module)?)?;
    module.add_function(wrap_pyfunction!(patch::merge_diff, module)?)?;
    module.add_function(wrap_pyfunction!(query::_query, module)?)?;
    module.add_class::<query::Match>()?;
    module.add_class::<query::Matches>()?;
    module.add_class::<query::Query>()?;
    module.add_class::<recording::Delta>()?;
    module.add_class::<recording::History>()?;
    module.add_class::<recording::Recording>()?;
    module.add_class::<recording::Step>()?;
    module.add_class::<table::Column>()?;
    module.add_class::<table::ColumnValues>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(table::from_arrow, module)?)?;
    module.add_class::<template::Template>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<typed::decoder::Decoder>()?;
    module.add_class::<view::Array>()?;
    module.add_class::<view::Document>()?;
    module.add_class::<view::Object>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
