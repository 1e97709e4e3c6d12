//! Functions that answer an edited document.
//!
//! The answer has the length of the argument, as long as the document fits. So SQLite writes the
//! pages that differ, and no others.

use crate::error::Fault;
use crate::function::{PURE, scalar};
use crate::value::{Given, Sql, blob, document, fits, text};
use livebuf::{DocBuf, New, NodeId};
use livebuf_patch::{Patch, merge, merge_json};
use livebuf_sql::{Path, Step};
use rusqlite::functions::Context;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result as SqlResult};

pub(crate) fn register(db: &Connection) -> SqlResult<()> {
    scalar(db, "lb_set", &[-1], PURE, |context| put(context, Mode::Set))?;
    scalar(db, "lb_insert", &[-1], PURE, |context| put(context, Mode::Insert))?;
    scalar(db, "lb_replace", &[-1], PURE, |context| put(context, Mode::Replace))?;
    scalar(db, "lb_remove", &[-1], PURE, lb_remove)?;
    scalar(db, "lb_merge_patch", &[2], PURE, lb_merge_patch)?;
    scalar(db, "lb_apply_patch", &[2], PURE, lb_apply_patch)?;
    scalar(db, "lb_reserve", &[2], PURE, lb_reserve)?;
    scalar(db, "lb_compact", &[1], PURE, lb_compact)
}

/// Which places a function writes to.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Set,
    /// Those that hold nothing yet.
    Insert,
    /// Those that hold something.
    Replace,
}

/// The first argument as a document to edit, and the length of the blob. None for NULL.
fn edited(context: &Context<'_>) -> Result<Option<(DocBuf, usize)>, Fault> {
    let Some(doc) = document(context, 0)? else { return Ok(None) };
    let ValueRef::Blob(bytes) = context.get_raw(0) else { return Ok(None) };
    Ok(Some((DocBuf::from_bytes_unvalidated(doc.as_bytes())?, bytes.len())))
}

/// `lb_set(blob, path, value, …)` and its kin.
fn put(context: &Context<'_>, mode: Mode) -> Result<Sql, Fault> {
    if context.len().is_multiple_of(2) {
        return Err(Fault::Count(context.len(), "a document, then paths each with a value"));
    }
    let Some((mut doc, length)) = edited(context)? else { return Ok(Sql::Null) };
    for index in (1..context.len()).step_by(2) {
        let Some(path) = text(context, index)? else { continue };
        let value = Given::argument(context, index + 1)?;
        put_one(&mut doc, Path::new(path)?, value.as_new(), mode)
            .map_err(|fault| fault.at(path))?;
    }
    Ok(blob(&doc, length))
}

/// Writes one value, where the mode allows it. Objects and arrays on the way are made, where there
/// is nothing; a place that cannot be made is left alone, as SQLite does.
fn put_one(doc: &mut DocBuf, path: Path<'_>, new: New<'_>, mode: Mode) -> Result<(), Fault> {
    let steps = path.steps()?;
    let Some((last, way)) = steps.split_last() else {
        if mode != Mode::Insert {
            doc.set_root(new)?;
        }
        return Ok(());
    };
    let Some(mut node) = doc.root_id() else { return Ok(()) };
    let mut way = way.iter();
    let missing = loop {
        let Some(step) = way.next() else { break None };
        let Some(place) = MemberPlace::of(doc, node, step)? else { return Ok(()) };
        match place.child(doc, node)? {
            Child::Node(child) => node = child,
            Child::Scalar => return Ok(()),
            Child::None => break Some(place),
        }
    };
    let Some(place) = missing else {
        return match MemberPlace::of(doc, node, last)? {
            Some(place) => {
                let filled = !matches!(place.child(doc, node)?, Child::None);
                match filled {
                    true if mode == Mode::Insert => Ok(()),
                    false if mode == Mode::Replace => Ok(()),
                    _ => place.put(doc, node, new).map(|_| ()),
                }
            }
            None => Ok(()),
        };
    };
    // Nothing is there from here on. In a new array, only the first element can be set.
    let below: Vec<&Step<'_>> = way.chain([last]).collect();
    let first = |step: &&Step<'_>| !matches!(step, Step::Index(1..) | Step::FromEnd(1..));
    if mode == Mode::Replace || !below.iter().all(first) {
        return Ok(());
    }
    let empty = |step: &Step<'_>| match step {
        Step::Index(_) | Step::FromEnd(_) | Step::Token("-" | "0") => New::array(1),
        Step::Key(_) | Step::Token(_) => New::object(1),
    };
    let mut place = Some(place);
    for step in below {
        let Some(at) = place.take() else { return Ok(()) };
        let Some(child) = at.put(doc, node, empty(step))? else { return Ok(()) };
        node = child;
        place = MemberPlace::of(doc, node, step)?;
    }
    match place {
        Some(place) => place.put(doc, node, new).map(|_| ()),
        None => Ok(()),
    }
}

/// A place in a container: a member, or an element that is there or would be the next one.
enum MemberPlace {
    Key(String),
    Index(usize, usize),
}

/// What is at a place.
enum Child {
    None,
    Scalar,
    Node(NodeId),
}

impl MemberPlace {
    fn of(doc: &DocBuf, node: NodeId, step: &Step<'_>) -> Result<Option<MemberPlace>, Fault> {
        let value = doc.value(node)?;
        Ok(match step.resolved(&value)? {
            Some(Step::Key(key)) => Some(MemberPlace::Key(key.into_owned())),
            Some(Step::Index(index)) => {
                let length = value.as_array()?.map_or(0, |array| array.len());
                (index <= length).then_some(MemberPlace::Index(index, length))
            }
            _ => None,
        })
    }

    fn child(&self, doc: &DocBuf, node: NodeId) -> Result<Child, Fault> {
        let value = doc.value(node)?;
        let (found, child) = match self {
            MemberPlace::Key(key) => (value.get(key)?, doc.child(node, key)),
            MemberPlace::Index(index, length) if index < length => {
                (value.get(*index)?, doc.child(node, *index))
            }
            MemberPlace::Index(..) => return Ok(Child::None),
        };
        Ok(match found {
            None => Child::None,
            Some(value) if value.is_object() || value.is_array() => {
                child?.map_or(Child::Scalar, Child::Node)
            }
            Some(_) => Child::Scalar,
        })
    }

    fn put(&self, doc: &mut DocBuf, node: NodeId, new: New<'_>) -> Result<Option<NodeId>, Fault> {
        Ok(match self {
            MemberPlace::Key(key) => doc.set(node, key, new)?,
            MemberPlace::Index(index, length) if index < length => doc.set(node, *index, new)?,
            MemberPlace::Index(..) => doc.push(node, new)?,
        })
    }
}

/// `lb_remove(blob, path, …)`. NULL where the root is removed.
fn lb_remove(context: &Context<'_>) -> Result<Sql, Fault> {
    if context.is_empty() {
        return Err(Fault::Count(0, "a document is the least"));
    }
    let Some((mut doc, length)) = edited(context)? else { return Ok(Sql::Null) };
    for index in 1..context.len() {
        let Some(path) = text(context, index)? else { return Ok(Sql::Null) };
        let steps = Path::new(path)?.steps()?;
        let Some((last, way)) = steps.split_last() else { return Ok(Sql::Null) };
        remove_one(&mut doc, way, last).map_err(|fault| fault.at(path))?;
    }
    Ok(blob(&doc, length))
}

fn remove_one(doc: &mut DocBuf, way: &[Step<'_>], last: &Step<'_>) -> Result<(), Fault> {
    let Some(mut node) = doc.root_id() else { return Ok(()) };
    for step in way {
        let Some(place) = MemberPlace::of(doc, node, step)? else { return Ok(()) };
        let Child::Node(child) = place.child(doc, node)? else { return Ok(()) };
        node = child;
    }
    match MemberPlace::of(doc, node, last)? {
        Some(MemberPlace::Key(key)) => doc.remove(node, &key)?,
        Some(MemberPlace::Index(index, length)) if index < length => doc.remove(node, index)?,
        _ => return Ok(()),
    };
    Ok(())
}

/// `lb_merge_patch(blob, patch)`: RFC 7396. The patch is text of JSON or a document.
fn lb_merge_patch(context: &Context<'_>) -> Result<Sql, Fault> {
    let Some((mut doc, length)) = edited(context)? else { return Ok(Sql::Null) };
    match context.get_raw(1) {
        ValueRef::Null => return Ok(Sql::Null),
        ValueRef::Text(text) => merge_json(&mut doc, text)?,
        _ => match document(context, 1)? {
            Some(patch) => merge(&mut doc, patch.root())?,
            None => return Ok(Sql::Null),
        },
    }
    Ok(blob(&doc, length))
}

/// `lb_apply_patch(blob, patch)`: RFC 6902. The patch is text of JSON or a document.
fn lb_apply_patch(context: &Context<'_>) -> Result<Sql, Fault> {
    let Some((mut doc, length)) = edited(context)? else { return Ok(Sql::Null) };
    let patch = match context.get_raw(1) {
        ValueRef::Null => return Ok(Sql::Null),
        ValueRef::Text(text) => Patch::from_slice(text)?,
        _ => match document(context, 1)? {
            Some(patch) => Patch::from_value(patch.root())?,
            None => return Ok(Sql::Null),
        },
    };
    patch.apply(&mut doc)?;
    Ok(blob(&doc, length))
}

/// `lb_reserve(blob, n)`: the same document with room for `n` more bytes at least.
fn lb_reserve(context: &Context<'_>) -> Result<Sql, Fault> {
    let Some(doc) = document(context, 0)? else { return Ok(Sql::Null) };
    let ValueRef::Blob(bytes) = context.get_raw(0) else { return Ok(Sql::Null) };
    let room = match context.get_raw(1) {
        ValueRef::Null => return Ok(Sql::Null),
        ValueRef::Integer(room) => u64::try_from(room).ok(),
        _ => None,
    };
    let Some(room) = room else { return Err(Fault::Argument(2, "a count of bytes")) };
    let length = room.saturating_add(doc.as_bytes().len() as u64);
    if length <= bytes.len() as u64 {
        return Ok(Sql::Argument(0));
    }
    fits(context, length)?;
    let mut bytes = doc.as_bytes().to_vec();
    bytes.resize(length as usize, 0);
    Ok(Sql::Blob(bytes))
}

/// `lb_compact(blob)`: the same value in the fewest bytes, without room.
fn lb_compact(context: &Context<'_>) -> Result<Sql, Fault> {
    let Some(doc) = document(context, 0)? else { return Ok(Sql::Null) };
    Ok(blob(&doc.compacted()?, 0))
}
