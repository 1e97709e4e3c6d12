//! The Python package `livebuf`: documents that behave like dicts and lists, over any buffer.
//!
//! A thin layer on the crates: nothing here touches a document's bytes by itself.
//!
//! | module | job |
//! |---|---|
//! | `memory` | where bytes live: Python objects, mapped files |
//! | `document`, `lock` | `Document`, and its lock |
//! | `place` | places of views, and how they outlive edits |
//! | `object`, `array` | views as dicts and lists |
//! | `table`, `export` | columns, Arrow, buffers |
//! | `template` | prepared messages |
//! | `encode`, `decode`, `codec`, `json` | Python objects and JSON to documents and back |
//! | `compare`, `error` | `==`; exceptions |

mod array;
mod codec;
mod compare;
mod decode;
mod document;
mod encode;
mod error;
mod export;
mod json;
mod lock;
mod memory;
mod object;
mod place;
mod table;
mod template;

use pyo3::prelude::*;

// Free-threaded interpreters turn their lock on for it (`lock`).
/// The compiled part of `livebuf`.
#[pymodule(gil_used = true)]
mod _livebuf {
    #[pymodule_export]
    use crate::array::{Array, Elements};
    #[pymodule_export]
    use crate::codec::{_loads, dumps};
    #[pymodule_export]
    use crate::document::{_restore, _write, Document, open};
    #[pymodule_export]
    use crate::export::Numbers;
    #[pymodule_export]
    use crate::json::{from_json, to_json};
    #[pymodule_export]
    use crate::object::{Members, Object, Ordered};
    #[pymodule_export]
    use crate::table::{Column, Table, from_arrow};
    #[pymodule_export]
    use crate::template::Template;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::prepare(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
