//! Functions of documents in columns.

use crate::api::{BIGINT, BLOB, BOOLEAN, Chunk, DOUBLE, Id, Plain, Texts, Type, VARCHAR, Vector};
use crate::error::{Fault, caught};
use libduckdb_sys::*;
use livebuf::{Doc, Extended, Key, Value, View};
use livebuf_json::ReadOptions;
use livebuf_sql::{Number, Path, READ_OPTIONS, Step, json, number, read_options, type_name};
use std::borrow::Cow;
use std::ffi::CStr;

/// A function that SQL calls.
struct Function {
    name: &'static CStr,
    /// The types of its arguments, in each way that it may be called.
    arguments: &'static [&'static [Id]],
    answer: Answer,
    /// Fills the answers of all rows.
    run: fn(&Chunk<'_>, &mut Vector<'_>) -> Result<(), Fault>,
}

/// The type of an answer.
enum Answer {
    Plain(Id),
    /// DuckDB's own type of JSON, which is text under another name.
    Json,
}

/// A document; with a path; with what shall become of damage, too.
const DOCUMENT: &[&[Id]] = &[&[BLOB]];
const AT_PATH: &[&[Id]] = &[&[BLOB, VARCHAR], &[BLOB, VARCHAR, VARCHAR]];
const ROOT_OR_AT_PATH: &[&[Id]] = &[&[BLOB], &[BLOB, VARCHAR], &[BLOB, VARCHAR, VARCHAR]];
const TEXT: &[&[Id]] = &[&[VARCHAR], &[VARCHAR, VARCHAR]];

static FUNCTIONS: &[Function] = &[
    Function {
        name: c"lb_get_bigint",
        arguments: AT_PATH,
        answer: Answer::Plain(BIGINT),
        run: |chunk, out| plain(chunk, out, |value| Ok(value.as_i64())),
    },
    Function {
        name: c"lb_get_double",
        arguments: AT_PATH,
        answer: Answer::Plain(DOUBLE),
        run: |chunk, out| plain(chunk, out, double),
    },
    Function {
        name: c"lb_get_bool",
        arguments: AT_PATH,
        answer: Answer::Plain(BOOLEAN),
        run: |chunk, out| plain(chunk, out, |value| Ok(value.as_bool())),
    },
    Function {
        name: c"lb_get_string",
        arguments: AT_PATH,
        answer: Answer::Plain(VARCHAR),
        run: |chunk, out| texts(chunk, out, string),
    },
    Function {
        name: c"lb_get_json",
        arguments: AT_PATH,
        answer: Answer::Json,
        run: |chunk, out| texts(chunk, out, printed),
    },
    Function {
        name: c"lb_json",
        arguments: ROOT_OR_AT_PATH,
        answer: Answer::Json,
        run: |chunk, out| texts(chunk, out, printed),
    },
    Function {
        name: c"lb_type",
        arguments: ROOT_OR_AT_PATH,
        answer: Answer::Plain(VARCHAR),
        run: |chunk, out| texts(chunk, out, |value| Ok(Some(Cow::Borrowed(type_name(&value)?)))),
    },
    Function {
        name: c"lb_valid",
        arguments: DOCUMENT,
        answer: Answer::Plain(BOOLEAN),
        run: |chunk, out| {
            let docs = chunk.column(0)?.texts()?;
            fill(out, |row| Ok(docs.get(row).map(|bytes| problem(bytes).is_none())))
        },
    },
    Function {
        name: c"lb_error",
        arguments: DOCUMENT,
        answer: Answer::Plain(VARCHAR),
        run: |chunk, out| {
            let docs = chunk.column(0)?.texts()?;
            let found = |row| docs.get(row).and_then(problem).map(|error| error.to_string());
            put(out, |row| Ok(found(row)))
        },
    },
    Function {
        name: c"lb_try",
        arguments: DOCUMENT,
        answer: Answer::Plain(BLOB),
        run: |chunk, out| {
            let docs = chunk.column(0)?.texts()?;
            put(out, |row| Ok(docs.get(row).filter(|bytes| problem(bytes).is_none())))
        },
    },
    Function {
        name: c"lb_from_json",
        arguments: TEXT,
        answer: Answer::Plain(BLOB),
        run: from_json,
    },
];

/// What is wrong with a blob as a document, found in one pass over it.
pub(crate) fn problem(bytes: &[u8]) -> Option<livebuf::Error> {
    Doc::open(bytes).and_then(|doc| doc.validate()).err()
}

/// Fills a vector with numbers, and with NULL for none.
fn fill<T: Plain>(
    out: &mut Vector<'_>,
    mut answer: impl FnMut(usize) -> Result<Option<T>, Fault>,
) -> Result<(), Fault> {
    let mut bits = vec![u64::MAX; out.rows().div_ceil(64)];
    let mut nulls = false;
    for (row, slot) in out.values::<T>()?.iter_mut().enumerate() {
        match answer(row)? {
            Some(value) => *slot = value,
            None => {
                bits[row / 64] &= !(1 << (row % 64));
                nulls = true;
            }
        }
    }
    if nulls {
        out.set_validity(bits);
    }
    Ok(())
}

/// The same with texts or blobs.
fn put<T: AsRef<[u8]>>(
    out: &mut Vector<'_>,
    mut answer: impl FnMut(usize) -> Result<Option<T>, Fault>,
) -> Result<(), Fault> {
    for row in 0..out.rows() {
        match answer(row)? {
            Some(text) => out.put(row, text.as_ref())?,
            None => out.set_null(row),
        }
    }
    Ok(())
}

/// The arguments of all rows: documents, and where in them to look.
struct Calls<'a> {
    docs: Texts<'a>,
    paths: Option<Texts<'a>>,
    on_damage: Option<Texts<'a>>,
    /// The path of the row before: mostly, all rows have the same.
    way: Option<Way<'a>>,
}

/// A path that was read.
struct Way<'a> {
    text: &'a [u8],
    steps: Vec<Prepared<'a>>,
}

/// A step, with a key that remembers where documents of one shape have it.
enum Prepared<'a> {
    Key(Key<'a>),
    Other(Step<'a>),
}

impl<'a> Way<'a> {
    fn new(text: &'a [u8]) -> Result<Way<'a>, Fault> {
        let path = str::from_utf8(text).map_err(|_| Fault::Argument(2, "text in UTF-8"))?;
        let steps = Path::new(path)?.steps()?.into_iter().map(|step| match step {
            Step::Key(Cow::Borrowed(key)) => Prepared::Key(Key::new(key)),
            other => Prepared::Other(other),
        });
        Ok(Way { text, steps: steps.collect() })
    }

    fn find<'d>(&self, root: Value<'d>) -> Result<Option<Value<'d>>, Fault> {
        let mut found = root;
        for step in &self.steps {
            let next = match step {
                Prepared::Key(key) => found.get(key)?,
                Prepared::Other(step) => step.find(&found)?,
            };
            match next {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }
}

impl<'a> Calls<'a> {
    fn new(chunk: &Chunk<'a>) -> Result<Calls<'a>, Fault> {
        let texts = |index| match index < chunk.columns() {
            true => Ok::<_, Fault>(Some(chunk.column(index)?.texts()?)),
            false => Ok(None),
        };
        let docs = chunk.column(0)?.texts()?;
        Ok(Calls { docs, paths: texts(1)?, on_damage: texts(2)?, way: None })
    }

    /// The answer of a row. None for NULL as a document, for no path and where it leads nowhere;
    /// for damage where the third argument says so.
    fn at<T>(
        &mut self,
        row: usize,
        work: impl FnOnce(Value<'a>) -> Result<Option<T>, Fault>,
    ) -> Result<Option<T>, Fault> {
        let Some(bytes) = self.docs.get(row) else { return Ok(None) };
        let path = match &self.paths {
            Some(paths) => paths.get(row),
            None => Some(&b"$"[..]),
        };
        let Some(path) = path else { return Ok(None) };
        let lenient = match &self.on_damage {
            None => false,
            Some(choices) => match choices.get(row) {
                Some(b"null") => true,
                Some(b"error") => false,
                _ => return Err(Fault::Argument(3, "'null' or 'error'")),
            },
        };
        // A constant is the same text in the same place.
        let is_known = |way: &Way<'_>| std::ptr::eq(way.text, path) || way.text == path;
        let way = match &mut self.way {
            Some(way) if is_known(way) => way,
            way => way.insert(Way::new(path)?),
        };
        let found = match Doc::open(bytes) {
            Ok(doc) => way.find(doc.root()).and_then(|found| found.map_or(Ok(None), work)),
            Err(error) => Err(error.into()),
        };
        match found {
            Err(fault) if lenient && fault.is_damage() => Ok(None),
            Err(fault) => {
                let fault = fault.at(&String::from_utf8_lossy(path));
                Err(Fault::Row(row, Box::new(fault)))
            }
            found => found,
        }
    }
}

fn plain<'a, T: Plain>(
    chunk: &Chunk<'a>,
    out: &mut Vector<'_>,
    work: impl Fn(Value<'a>) -> Result<Option<T>, Fault>,
) -> Result<(), Fault> {
    let mut calls = Calls::new(chunk)?;
    fill(out, |row| calls.at(row, &work))
}

fn texts<'a>(
    chunk: &Chunk<'a>,
    out: &mut Vector<'_>,
    work: impl Fn(Value<'a>) -> Result<Option<Cow<'a, str>>, Fault>,
) -> Result<(), Fault> {
    let mut calls = Calls::new(chunk)?;
    put(out, |row| Ok(calls.at(row, &work)?.map(AsText)))
}

/// Lends its bytes.
struct AsText<'a>(Cow<'a, str>);

impl AsRef<[u8]> for AsText<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A number as the nearest float.
fn double(value: Value<'_>) -> Result<Option<f64>, Fault> {
    Ok(match value.as_f64() {
        Some(number) => Some(number),
        None => match value.view()? {
            View::NumberText(text) => text.parse().ok(),
            View::Extended(Extended::Decimal(decimal)) => match number(&decimal.to_string()) {
                Some(Number::Integer(number)) => Some(number as f64),
                Some(Number::Float(number)) => Some(number),
                None => None,
            },
            _ => None,
        },
    })
}

/// Text; dates, times, decimals and UUIDs as theirs.
fn string(value: Value<'_>) -> Result<Option<Cow<'_, str>>, Fault> {
    Ok(match value.view()? {
        View::String(text) => Some(Cow::Borrowed(text)),
        View::Extended(value) => Some(Cow::Owned(value.to_string())),
        _ => None,
    })
}

/// Text of JSON. DuckDB's texts and blobs have less than 4 GiB.
pub(crate) fn printed(value: Value<'_>) -> Result<Option<Cow<'_, str>>, Fault> {
    Ok(Some(Cow::Owned(json(value, u32::MAX.into())?)))
}

/// `lb_from_json(json)`, `lb_from_json(json, options)`: documents.
fn from_json(chunk: &Chunk<'_>, out: &mut Vector<'_>) -> Result<(), Fault> {
    let given = chunk.column(0)?.texts()?;
    let modes = match chunk.columns() {
        2.. => Some(chunk.column(1)?.texts()?),
        _ => None,
    };
    put(out, |row| {
        let Some(text) = given.get(row) else { return Ok(None) };
        let options = match &modes {
            None => ReadOptions::new(),
            Some(modes) => {
                let words = modes.get(row).and_then(|words| std::str::from_utf8(words).ok());
                words.and_then(read_options).ok_or(Fault::Argument(2, READ_OPTIONS))?
            }
        };
        read(text, &options).map(Some).map_err(|fault| Fault::Row(row, Box::new(fault)))
    })
}

/// A document of JSON text.
pub(crate) fn read(text: &[u8], options: &ReadOptions) -> Result<Vec<u8>, Fault> {
    Ok(livebuf_json::from_slice_with(text, options)?.as_bytes().to_vec())
}

/// Makes all functions known.
///
/// # Safety
/// The connection is open.
#[allow(unsafe_code)]
pub(crate) unsafe fn register(connection: duckdb_connection) -> Result<(), Fault> {
    for function in FUNCTIONS {
        // SAFETY: what is made is destroyed, and DuckDB copies names and types. The functions
        // are there as long as the extension, which DuckDB never unloads.
        let state = unsafe {
            let mut set = duckdb_create_scalar_function_set(function.name.as_ptr());
            for arguments in function.arguments {
                let mut one = duckdb_create_scalar_function();
                duckdb_scalar_function_set_name(one, function.name.as_ptr());
                for &argument in *arguments {
                    duckdb_scalar_function_add_parameter(one, Type::of(argument).raw());
                }
                let answer = match function.answer {
                    Answer::Plain(id) => Type::of(id),
                    Answer::Json => Type::named(VARCHAR, c"JSON"),
                };
                duckdb_scalar_function_set_return_type(one, answer.raw());
                let info = (&raw const *function).cast_mut().cast();
                duckdb_scalar_function_set_extra_info(one, info, None);
                duckdb_scalar_function_set_function(one, Some(call));
                duckdb_add_scalar_function_to_set(set, one);
                duckdb_destroy_scalar_function(&mut one);
            }
            let state = duckdb_register_scalar_function_set(connection, set);
            duckdb_destroy_scalar_function_set(&mut set);
            state
        };
        if state != duckdb_state_DuckDBSuccess {
            let name = function.name.to_string_lossy();
            return Err(Fault::Other(format!("DuckDB does not take the function {name}")));
        }
    }
    Ok(())
}

/// Each call of each function.
///
/// # Safety
/// Only DuckDB calls it, for functions of [`register`].
#[allow(unsafe_code)]
unsafe extern "C" fn call(
    info: duckdb_function_info,
    input: duckdb_data_chunk,
    output: duckdb_vector,
) {
    // SAFETY: DuckDB gives the function that it was given, flat vectors, and room for the
    // answers of all rows.
    let function = unsafe { &*duckdb_scalar_function_get_extra_info(info).cast::<Function>() };
    let done = caught(|| {
        // SAFETY: as above.
        let (chunk, mut out) = unsafe {
            let chunk = Chunk::given(input);
            let rows = chunk.rows();
            (chunk, Vector::new(output, rows))
        };
        (function.run)(&chunk, &mut out)
    });
    if let Err(fault) = done {
        let message = fault.message(&function.name.to_string_lossy());
        // SAFETY: DuckDB copies the message.
        unsafe { duckdb_scalar_function_set_error(info, message.as_ptr()) };
    }
}
