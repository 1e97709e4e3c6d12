//! Functions that make documents of JSON, and read them.

use crate::error::Fault;
use crate::function::{PURE, scalar};
use crate::value::{Sql, blob, document, extracted, most_bytes, text};
use livebuf::{Doc, DocBuf, Value};
use livebuf_json::{ReadOptions, from_slice_with};
use livebuf_sql::{Path, READ_OPTIONS, json, read_options, type_name};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result as SqlResult};

pub(crate) fn register(db: &Connection) -> SqlResult<()> {
    let json = PURE.union(FunctionFlags::SQLITE_RESULT_SUBTYPE);
    scalar(db, "lb", &[1, 2], PURE, lb)?;
    scalar(db, "lb_json", &[1, 2], json, lb_json)?;
    scalar(db, "lb_extract", &[-1], PURE, lb_extract)?;
    scalar(db, "lb_type", &[1, 2], PURE, lb_type)?;
    scalar(db, "lb_array_length", &[1, 2], PURE, lb_array_length)?;
    scalar(db, "lb_valid", &[1], PURE, lb_valid)?;
    scalar(db, "lb_try", &[1], PURE, lb_try)?;
    scalar(db, "lb_error", &[1], PURE, lb_error)
}

/// `lb(json)`, `lb(json, options)`: a document.
fn lb(context: &Context<'_>) -> Result<Sql, Fault> {
    let mut options = ReadOptions::new();
    if context.len() == 2 {
        let words = text(context, 1)?.and_then(read_options);
        options = words.ok_or(Fault::Argument(2, READ_OPTIONS))?;
    }
    let mut doc;
    match context.get_raw(0) {
        ValueRef::Null => return Ok(Sql::Null),
        ValueRef::Text(text) => doc = from_slice_with(text, &options)?,
        ValueRef::Blob(bytes) => {
            Doc::open(bytes)?.validate()?;
            return Ok(Sql::Argument(0));
        }
        ValueRef::Integer(value) => {
            doc = DocBuf::new()?;
            doc.set_root(value)?;
        }
        ValueRef::Real(value) => {
            doc = DocBuf::new()?;
            doc.set_root(value)?;
        }
    }
    Ok(blob(&doc, 0))
}

/// What `work` makes of the value at the path that is the second argument, or of the root. NULL if
/// there is none.
fn with_value(
    context: &Context<'_>,
    work: impl FnOnce(Value<'_>) -> Result<Sql, Fault>,
) -> Result<Sql, Fault> {
    let Some(doc) = document(context, 0)? else { return Ok(Sql::Null) };
    if context.len() == 1 {
        return work(doc.root()).map_err(|fault| fault.at("$"));
    }
    let Some(path) = text(context, 1)? else { return Ok(Sql::Null) };
    match Path::new(path)?.find(doc.root()) {
        Ok(Some(value)) => work(value).map_err(|fault| fault.at(path)),
        Ok(None) => Ok(Sql::Null),
        Err(error) => Err(Fault::from(error).at(path)),
    }
}

/// `lb_json(blob)`, `lb_json(blob, path)`: text of JSON.
fn lb_json(context: &Context<'_>) -> Result<Sql, Fault> {
    with_value(context, |value| Ok(Sql::Json(json(value, most_bytes(context)?)?)))
}

/// `lb_extract(blob, path)`: a value. With more paths an array of values, as text of JSON.
fn lb_extract(context: &Context<'_>) -> Result<Sql, Fault> {
    match context.len() {
        2 => with_value(context, |value| extracted(value, || most_bytes(context))),
        0 | 1 => Err(Fault::Count(context.len(), "a document and a path are the least")),
        count => {
            let Some(doc) = document(context, 0)? else { return Ok(Sql::Null) };
            let most = most_bytes(context)?;
            let mut array = String::from("[");
            for index in 1..count {
                let Some(path) = text(context, index)? else { return Ok(Sql::Null) };
                let found = Path::new(path)?
                    .find(doc.root())
                    .map_err(|error| Fault::from(error).at(path))?;
                if index > 1 {
                    array.push(',');
                }
                match found {
                    Some(value) => {
                        let left = most.saturating_sub(array.len() as u64);
                        array += &json(value, left).map_err(|error| Fault::from(error).at(path))?;
                    }
                    None => array += "null",
                }
            }
            array.push(']');
            Ok(Sql::Text(array))
        }
    }
}

/// `lb_type(blob)`, `lb_type(blob, path)`.
fn lb_type(context: &Context<'_>) -> Result<Sql, Fault> {
    with_value(context, |value| Ok(Sql::Text(type_name(&value)?.to_owned())))
}

/// `lb_array_length(blob)`, `lb_array_length(blob, path)`: 0 for what is no array.
fn lb_array_length(context: &Context<'_>) -> Result<Sql, Fault> {
    with_value(context, |value| {
        let length = value.as_array()?.map_or(0, |array| array.len());
        Ok(Sql::Integer(length as i64))
    })
}

/// What is wrong with an argument as a document, found in one pass over it.
fn problem(value: ValueRef<'_>) -> Option<Fault> {
    match value {
        ValueRef::Blob(bytes) => {
            Doc::open(bytes).and_then(|doc| doc.validate()).err().map(Fault::from)
        }
        _ => Some(Fault::Argument(1, "a LiveBuf document")),
    }
}

/// `lb_valid(value)`: whether it is a document without damage.
fn lb_valid(context: &Context<'_>) -> Result<Sql, Fault> {
    Ok(match context.get_raw(0) {
        ValueRef::Null => Sql::Null,
        value => Sql::Integer(problem(value).is_none().into()),
    })
}

/// `lb_try(value)`: the same value, or NULL where it is no document, or a damaged one.
fn lb_try(context: &Context<'_>) -> Result<Sql, Fault> {
    Ok(match problem(context.get_raw(0)) {
        None => Sql::Argument(0),
        Some(_) => Sql::Null,
    })
}

/// `lb_error(value)`: what is wrong with it as a document, and where; NULL where nothing is.
fn lb_error(context: &Context<'_>) -> Result<Sql, Fault> {
    Ok(match context.get_raw(0) {
        ValueRef::Null => Sql::Null,
        value => problem(value).map_or(Sql::Null, |fault| Sql::Text(fault.to_string())),
    })
}
