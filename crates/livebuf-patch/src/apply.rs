//! Applying the operations of RFC 6902, all of them or none.

use crate::equal::{Rule, equal};
use crate::error::{PatchError, PatchErrorKind, Result};
use crate::patch::{Operation, Patch};
use livebuf::raw::pointer;
use livebuf::{DocBuf, Editor, New, NodeId, Storage};
use livebuf_json::quoted;
use std::borrow::Cow;

impl Patch {
    /// Applies the operations in their order, in one [transaction](Editor::transaction): if one
    /// of them is impossible, no byte of the document changes.
    ///
    /// `test` compares numbers of all kinds by their values, so `1` equals `1.0` and the decimal
    /// `1.00`, and objects in any order. A float counts as the shortest decimal that names it. Other
    /// values that JSON lacks, as dates, equal only their like.
    ///
    /// # Errors
    /// What is wrong with which operation, and where.
    /// [`PatchErrorKind::Document`] where the document refuses the edit or the transaction.
    pub fn apply<S: Storage>(&self, editor: &mut Editor<S>) -> Result<()> {
        editor.transaction(|editor| {
            for (number, operation) in self.operations().enumerate() {
                apply(editor, operation).map_err(|error| {
                    // It may name another place already.
                    let placed = error.pointer().is_empty();
                    let error = if placed { error.at(operation.path()) } else { error };
                    error.of(number, operation.name())
                })?;
            }
            Ok(())
        })
    }
}

fn apply<S: Storage>(editor: &mut Editor<S>, operation: Operation<'_>) -> Result<()> {
    match operation {
        Operation::Add { path, value } => add(editor, path, New::from(value)),
        Operation::Replace { path, value } => {
            match there(editor, path)? {
                None => editor.set_root(value)?,
                Some((node, At::Member(key))) => editor.set(node, &*key, value)?,
                Some((node, At::Element(index))) => editor.set(node, index, value)?,
            };
            Ok(())
        }
        Operation::Remove { path } => {
            match there(editor, path)? {
                None => {
                    let message = "a document always has a value; replace it by null";
                    return Err(PatchError::new(PatchErrorKind::Unsupported, message));
                }
                Some((node, At::Member(key))) => editor.remove(node, &*key)?,
                Some((node, At::Element(index))) => editor.remove(node, index)?,
            };
            Ok(())
        }
        Operation::Test { path, value } => {
            let found = match there(editor, path)? {
                None => Some(editor.root()),
                Some((node, At::Member(key))) => editor.value(node)?.get(&*key)?,
                Some((node, At::Element(index))) => editor.value(node)?.get(index)?,
            };
            let is_equal = match found {
                Some(found) => equal(value, found, Rule::Test)?,
                None => false,
            };
            is_equal.then_some(()).ok_or_else(|| {
                PatchError::new(
                    PatchErrorKind::TestFailed,
                    "the value is another one; make the patch anew from this document",
                )
            })
        }
        Operation::Copy { from, path } => {
            let found = match there(editor, from)? {
                None => Some(editor.root()),
                Some((node, At::Member(key))) => editor.value(node)?.get(&*key)?,
                Some((node, At::Element(index))) => editor.value(node)?.get(index)?,
            };
            // Its bytes may move while it is added.
            let mut copy = DocBuf::new()?;
            copy.set_limits(editor.limits());
            copy.set_root(found.ok_or_else(|| missing(editor, from, false))?)?;
            add(editor, path, New::from(&copy))
        }
        Operation::Move { from, path } => {
            let place = there(editor, from)?;
            if from == path {
                return Ok(());
            }
            if path.strip_prefix(from).is_some_and(|below| below.starts_with('/')) {
                return Err(PatchError::new(
                    PatchErrorKind::IntoItself,
                    format!("{} cannot move into itself; copy it", quoted(from)),
                ));
            }
            let detached = match place {
                Some((node, At::Member(key))) => editor.detach(node, &*key)?,
                Some((node, At::Element(index))) => editor.detach(node, index)?,
                // The root is around every place.
                None => None,
            };
            let detached = detached.ok_or_else(|| missing(editor, from, false))?;
            add(editor, path, New::from(&detached))
        }
    }
}

/// A place in a container.
enum At<'p> {
    Member(Cow<'p, str>),
    Element(usize),
}

/// The container of a place, and the place's raw token; `None` for the root.
fn parent<'p, S: Storage>(editor: &Editor<S>, path: &'p str) -> Result<Option<(NodeId, &'p str)>> {
    let Some((parent, last)) = pointer::split_last(path)? else { return Ok(None) };
    match editor.find(parent)? {
        Some(node) => Ok(Some((node, last))),
        None => Err(missing(editor, parent, true).at(path)),
    }
}

/// Adds a value.
fn add<S: Storage>(editor: &mut Editor<S>, path: &str, new: New<'_>) -> Result<()> {
    let Some((node, last)) = parent(editor, path)? else {
        editor.set_root(new)?;
        return Ok(());
    };
    match editor.value(node)?.as_array()? {
        None => editor.set(node, &*pointer::unescaped(last)?, new)?,
        Some(_) if last == pointer::END => editor.push(node, new)?,
        Some(array) => {
            let count = array.len();
            match index(last)? {
                index if index == count => editor.push(node, new)?,
                index if index < count => editor.insert(node, index, new)?,
                _ => return Err(past_end(count)),
            }
        }
    };
    Ok(())
}

/// A place where a value is; `None` for the root.
fn there<'p, S: Storage>(editor: &Editor<S>, path: &'p str) -> Result<Option<(NodeId, At<'p>)>> {
    let Some((node, last)) = parent(editor, path)? else { return Ok(None) };
    let value = editor.value(node)?;
    let at = match value.as_array()? {
        Some(array) => match index(last).map_err(|error| error.at(path))? {
            index if index < array.len() => At::Element(index),
            _ => return Err(past_end(array.len()).at(path)),
        },
        None => {
            let key = pointer::unescaped(last)?;
            if value.get(&*key)?.is_none() {
                return Err(missing(editor, path, false));
            }
            At::Member(key)
        }
    };
    Ok(Some((node, at)))
}

fn index(token: &str) -> Result<usize> {
    match pointer::index(token) {
        Some(index) => Ok(index as usize),
        None if token == pointer::END => Err(PatchError::new(
            PatchErrorKind::IndexOutOfRange,
            "- is the place behind the last element, where only add puts a value",
        )),
        None => Err(PatchError::new(
            PatchErrorKind::WrongType,
            format!("{} is no index of an array: digits without leading zeros", quoted(token)),
        )),
    }
}

#[cold]
fn past_end(count: usize) -> PatchError {
    PatchError::new(
        PatchErrorKind::IndexOutOfRange,
        match count {
            1 => "the array has 1 element; - adds one behind it".to_owned(),
            _ => format!("the array has {count} elements; - adds one behind the last"),
        },
    )
}

/// Why there is no value at a pointer, or no container where something is to be below.
#[cold]
fn missing<S: Storage>(editor: &Editor<S>, path: &str, is_parent: bool) -> PatchError {
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    for end in ends {
        let place = &path[..end];
        let message = match editor.pointer(place) {
            Err(error) => return PatchError::from(error).at(path),
            Ok(Some(value)) if value.is_array() || value.is_object() => continue,
            Ok(Some(_)) => {
                let message = format!(
                    "the value at {} is no object or array, and so has nothing below",
                    quoted(place)
                );
                return PatchError::new(PatchErrorKind::WrongType, message).at(path);
            }
            Ok(None) if end == path.len() && !is_parent => {
                "there is no such member; test for it first, or leave the operation out".to_owned()
            }
            Ok(None) => format!("there is nothing at {}; add that first", quoted(place)),
        };
        return PatchError::new(PatchErrorKind::NotFound, message).at(path);
    }
    PatchError::new(PatchErrorKind::NotFound, "there is no such value").at(path)
}
