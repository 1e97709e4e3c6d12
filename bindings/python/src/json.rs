//! JSON text to documents and back.

use livebuf::{DuplicateKeys, EncodeOptions, Value};
use livebuf_json::{NumberPolicy, PrintOptions, ReadOptions, Surrogates};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::codec::sorted;
use crate::encode;
use crate::error::{self, Fault, Held};
use crate::memory::Export;
use crate::view::{Array, DETACH, Document, Object};

/// Reads JSON text (RFC 8259, strictly) into a document. Numbers are kept exactly, and keys in
/// their order.
///
/// Takes `str`, and UTF-8 in `bytes`, `bytearray`, `memoryview` and others; a byte order mark at
/// its start is passed over. A `pathlib.Path` or an open file is read to its end; a `str` is always
/// JSON text. With `lines=True` the text is JSON lines, or values one after another
/// as `jq` prints them, and the document is an array with an element for each. `skip_bad` then
/// takes a function: lines that are no value by themselves are passed over, and it is called with
/// the `JSONError` of each. `numbers="text"` keeps every number as it is written. If a key occurs twice in an object,
/// the last one counts; with `duplicate_keys="error"` that is an error. Escapes that are half of a
/// surrogate pair, such as `\ud800`, are an error, too; with `surrogates="replace"` they become
/// U+FFFD. With `recognize=True`
/// text that is a date, a date and time, or a UUID in full, as `to_json` prints them, becomes
/// such a value.
///
/// Raises `JSONError`, which is a `json.JSONDecodeError`.
///
/// >>> livebuf.from_json(b'{"a": 1}')["a"]
/// 1
/// >>> livebuf.from_json('{"a": 1}\n{"a": 2}', lines=True)[1]["a"]
/// 2
/// >>> bad = []
/// >>> len(livebuf.from_json('{"a": 1}\n{"a":\n{"a": 3}', lines=True, skip_bad=bad.append))
/// 2
/// >>> [error.lineno for error in bad]
/// [2]
#[pyfunction]
#[pyo3(signature = (
    data, *, lines=false, tables=true, min_width=1, numbers="exact", duplicate_keys="last",
    recognize=false, surrogates="error", skip_bad=None, layout=None
))]
#[allow(clippy::too_many_arguments, reason = "options by their names")]
pub(crate) fn from_json(
    data: &Bound<'_, PyAny>,
    lines: bool,
    tables: bool,
    min_width: u8,
    numbers: &str,
    duplicate_keys: &str,
    recognize: bool,
    surrogates: &str,
    skip_bad: Option<&Bound<'_, PyAny>>,
    layout: Option<&str>,
) -> PyResult<Document> {
    let py = data.py();
    let tables = encode::options(tables, min_width, layout)?.tables;
    let options = ReadOptions::new()
        .tables(tables)
        .min_width(min_width)
        .recognize(recognize)
        .numbers(match numbers {
            "exact" => NumberPolicy::Exact,
            "text" => NumberPolicy::AllText,
            _ => return Err(PyValueError::new_err("numbers must be \"exact\" or \"text\"")),
        })
        .duplicate_keys(match duplicate_keys {
            "last" => DuplicateKeys::Last,
            "error" => DuplicateKeys::Error,
            _ => return Err(PyValueError::new_err("duplicate_keys must be \"last\" or \"error\"")),
        })
        .surrogates(match surrogates {
            "error" => Surrogates::Error,
            "replace" => Surrogates::Replace,
            _ => return Err(PyValueError::new_err("surrogates must be \"error\" or \"replace\"")),
        });
    if let Some(function) = skip_bad {
        if !lines {
            return Err(PyValueError::new_err("skip_bad needs lines=True"));
        }
        if !function.is_callable() {
            return Err(error::expected("a function for skip_bad, such as print,", function));
        }
    }
    // What is read out of a file takes the file's place.
    let taken;
    let data = match files_text(data)? {
        Some(text) => {
            taken = text;
            &taken
        }
        None => data,
    };
    let (export, mut encoded);
    let text = match data.cast::<PyString>() {
        Ok(string) => match string.to_str() {
            Ok(text) => text.as_bytes(),
            // It has half a surrogate pair. Reading it as bytes tells where.
            Err(_) => {
                let bytes = string.call_method1("encode", ("utf-8", "surrogatepass"))?;
                encoded = bytes.cast::<PyBytes>()?.as_bytes().to_vec();
                if surrogates == "replace" {
                    replace_surrogates(&mut encoded);
                }
                &encoded
            }
        },
        Err(_) => {
            export = Export::new(data).map_err(|failure| {
                match failure.is_instance_of::<PyTypeError>(py) {
                    true => {
                        error::expected(
                            "JSON text (str, bytes, bytearray, memoryview, …), a pathlib.Path or an open file",
                            data,
                        )
                    }
                    false => failure,
                }
            })?;
            export.as_bytes()
        }
    };
    let (skips, mut skipped) = (skip_bad.is_some(), Vec::new());
    let mut read = || match (skips, lines) {
        (true, _) => {
            livebuf_json::from_lines_skipping(text, &options, |failure| skipped.push(failure))
        }
        (false, true) => livebuf_json::from_lines(text, &options),
        (false, false) => livebuf_json::from_slice_with(text, &options),
    };
    // Others may write to the buffer while it is parsed. That is safe: what is read is checked
    // as it is read.
    let made = if text.len() < DETACH { read() } else { py.detach(read) };
    let mut place = error::TextPosition::default();
    if let Some(function) = skip_bad {
        for failure in &skipped {
            function.call1((error::json(py, failure, data, text, &mut place).into_value(py),))?;
        }
    }
    let made = made.map_err(|failure| error::json(py, &failure, data, text, &mut place))?;
    Document::owned(py, &made)
}

/// What a path or a file object holds; none if it is neither, or has bytes of its own as `mmap` does.
fn files_text<'py>(data: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = data.py();
    let is_path = data.hasattr("__fspath__")?;
    if !is_path && (!data.hasattr("read")? || Export::new(data).is_ok()) {
        return Ok(None);
    }
    py.import("livebuf._files")?.call_method1("text", (data,)).map(Some)
}

/// Puts U+FFFD, which takes as many bytes, for each surrogate in a `str`'s bytes.
fn replace_surrogates(text: &mut [u8]) {
    for at in 0..text.len().saturating_sub(2) {
        if text[at] == 0xED && text[at + 1] >= 0xA0 {
            text[at..at + 3].copy_from_slice("\u{FFFD}".as_bytes());
        }
    }
}

/// Prints JSON text, as UTF-8 bytes: a document, a view, or anything that `dumps` takes.
///
/// With `file` the text is written there, as `dump` does it, and nothing is returned: a path, a URL
/// of fsspec, or a file object that is open for writing in binary mode.
///
/// `indent` is a number of spaces, or the text to indent by. Without it the text is compact.
/// Byte strings become base64, dates, times and UUIDs text, timestamps in UTC. With `sort_keys`
/// the members of all objects are ordered by their keys. Infinities and NaN raise `EncodeError`, or become null with
/// `non_finite="null"`.
///
/// Prints at most `max_bytes`, and raises `LimitError` for more. By default this is 16,384 for
/// each byte of a trusted document, and 2,048 of another. Only damaged documents and much
/// indentation exceed it.
///
/// >>> livebuf.to_json(livebuf.from_json('{ "a": [1, 2.50] }'))
/// b'{"a":[1,2.5]}'
#[pyfunction]
#[pyo3(signature = (
    obj, file=None, *, indent=None, non_finite="error", max_bytes=None, sort_keys=false
))]
pub(crate) fn to_json<'py>(
    obj: &Bound<'py, PyAny>,
    file: Option<&Bound<'py, PyAny>>,
    indent: Option<&Bound<'py, PyAny>>,
    non_finite: &str,
    max_bytes: Option<u64>,
    sort_keys: bool,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let py = obj.py();
    let mut options = PrintOptions::new().non_finite(encode::non_finite(non_finite)?);
    if let Some(indent) = indent {
        options = match indent.extract::<usize>() {
            Ok(spaces) => options.indent(&" ".repeat(spaces.min(64))),
            Err(_) => match indent.extract() {
                Ok(text) => options.indent(text),
                Err(_) => {
                    let message = "indent must be a number of spaces, or the text to indent by";
                    return Err(PyValueError::new_err(message));
                }
            },
        };
    }
    let print = |value: &Value<'_>, trusted: bool, locked: Option<&Document>| -> Held<Vec<u8>> {
        let most = livebuf_json::default_max_bytes(value.document_length(), trusted);
        let options = options.clone().max_bytes(max_bytes.unwrap_or(most));
        let (value, bytes) = (*value, value.document_length());
        let work = || -> Held<Vec<u8>> {
            let printed = match sort_keys {
                true => {
                    let sorted = sorted(&value, EncodeOptions::default())?;
                    livebuf_json::to_vec_with(sorted.doc().root(), &options)
                }
                false => livebuf_json::to_vec_with(value, &options),
            };
            printed.map_err(|failure| Fault::Json(Box::new(failure)))
        };
        match locked {
            _ if bytes < DETACH => work(),
            Some(document) => document.detach(py, work),
            None => py.detach(work),
        }
    };
    let view = match obj.cast::<Object>() {
        Ok(object) => Some(&object.get().view),
        Err(_) => obj.cast::<Array>().ok().map(|array| &array.get().view),
    };
    let text = if let Some(view) = view {
        view.reach(py, |document, state, node| {
            let editor = state.editor()?;
            print(&editor.value(node)?, editor.is_trusted(), Some(document.get()))
        })?
    } else if let Ok(document) = obj.cast::<Document>() {
        let document = document.get();
        let state = document.lock(py)?;
        let editor = state.whole()?;
        let printed = print(&editor.doc().root(), editor.is_trusted(), Some(document));
        drop(state);
        printed?
    } else {
        let document = encode::document(obj, None, EncodeOptions::default())?;
        print(&document.doc().root(), true, None)?
    };
    let text = error::bytes(py, &text)?;
    let Some(file) = file else {
        return Ok(Some(text));
    };
    py.import("livebuf._files")?.call_method1("dump_text", (file, text))?;
    Ok(None)
}
