//! JSON pointers (RFC 6901): what they lead to, as Python objects, and edits of that.

use livebuf::{Editor, Error, ErrorKind, Kind, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::decode;
use crate::edit::{Aside, Start, edit};
use crate::encode::Given;
use crate::error::{Fault, Held};
use crate::history::{Move, Step, Taken};
use crate::memory::Memory;
use crate::view::{Document, Found, Object, Site, State, Trash, View, is_container};

/// The key that a token of a JSON pointer names.
fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// What to do where there is no value.
pub(crate) enum Fallback<'py> {
    Raise,
    Give(Bound<'py, PyAny>),
}

/// The default, if one was given.
pub(crate) fn fallback<'py>(default: &Bound<'py, PyTuple>) -> PyResult<Fallback<'py>> {
    match default.len() {
        0 => Ok(Fallback::Raise),
        1 => Ok(Fallback::Give(default.get_item(0)?)),
        _ => Err(PyTypeError::new_err("one default at most")),
    }
}

/// The value at a JSON pointer below `value`. For a container it only says that there is one.
pub(crate) fn look<'py>(
    py: Python<'py>,
    value: &Value<'_>,
    pointer: &str,
    fallback: &Fallback<'_>,
) -> Held<Found<'py, ()>> {
    Ok(match value.pointer(pointer)? {
        None if matches!(fallback, Fallback::Raise) => {
            return Err(match explain(Error::new(ErrorKind::NotFound, 0), *value, pointer)? {
                Fault::WrongType(message) => Fault::Missing(message),
                fault => fault,
            });
        }
        None => Found::Nothing,
        Some(value) if is_container(value.kind()) => Found::Container(()),
        Some(value) => Found::Scalar(decode::scalar(py, &value)?),
    })
}

impl<'py> Found<'py, ()> {
    /// The value. For a container this is a view. A view needs those above it, so the way goes
    /// from `place` on.
    pub(crate) fn or_follow(
        self,
        place: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
        pointer: &str,
        fallback: Fallback<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (self, fallback) {
            (Found::Scalar(value), _) => Ok(value),
            (Found::Container(()), _) => follow(place()?, pointer),
            (Found::Nothing, Fallback::Give(default)) => Ok(default),
            // `look` says more.
            (Found::Nothing, Fallback::Raise) => Err(Fault::Missing(pointer.to_owned()).into()),
        }
    }
}

/// The value at a pointer below a view.
pub(crate) fn pointer_below<'py>(
    place: &Bound<'py, PyAny>,
    view: &View,
    pointer: &str,
    fallback: Fallback<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = place.py();
    let found = view.read(py, |value| look(py, value, pointer, &fallback))?;
    found.or_follow(|| Ok(place.clone()), pointer, fallback)
}

/// Goes down a pointer, view by view. It was found to lead somewhere.
fn follow<'py>(mut place: Bound<'py, PyAny>, pointer: &str) -> PyResult<Bound<'py, PyAny>> {
    for token in pointer.split('/').skip(1) {
        place = match place.cast::<Object>() {
            Ok(_) => place.get_item(unescaped(token))?,
            Err(_) => place.get_item(token.parse::<usize>()?)?,
        };
    }
    Ok(place)
}

/// Sets the value at a pointer.
pub(crate) fn set_at<'py>(
    start: Start<'_, 'py>,
    pointer: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let given = Given::of(value)?;
    edit_at(value.py(), start, pointer, false, |editor, pointer| {
        editor.set_pointer(pointer, given.value())?;
        Ok(true)
    })?;
    Ok(())
}

/// Removes the value at a pointer.
pub(crate) fn remove_at<'py>(
    py: Python<'py>,
    start: Start<'_, 'py>,
    pointer: &str,
) -> PyResult<()> {
    edit_at(py, start, pointer, true, |editor, at| match editor.remove_pointer(at)? {
        true => Ok(true),
        false => Err(Error::new(ErrorKind::NotFound, 0).into()),
    })?;
    Ok(())
}

/// Edits what a pointer leads to: sets or `removes` it. False where the edit says that it
/// found nothing.
fn edit_at<'py>(
    py: Python<'py>,
    start: Start<'_, 'py>,
    pointer: &str,
    removes: bool,
    mut change: impl FnMut(&mut Editor<Memory>, &str) -> Held<bool>,
) -> PyResult<bool> {
    // Dropping these may run Python code, so it happens after the lock.
    let mut trash = Trash::default();
    start.change(py, |document, state, mut pointer_to| {
        pointer_to.push_str(pointer);
        let aside = match document.get().views().len() {
            0 => None,
            _ => aside_at(document, state, &pointer_to, removes)?,
        };
        let changed = match edit(state, |editor| change(editor, &pointer_to)) {
            Ok(changed) => changed,
            Err(Fault::Core(error)) => {
                return Err(explain(error, state.editor()?.doc().root(), &pointer_to)?);
            }
            Err(fault) => return Err(fault),
        };
        if let (true, Some((aside, path, moves))) = (changed, aside) {
            aside.settle(py, document, Site::Path(&path), &moves, &mut trash);
        }
        Ok(changed)
    })
}

/// Adds to an error at which part of a pointer from `root` on there is nothing.
fn explain(error: Error, root: Value<'_>, pointer: &str) -> Held<Fault> {
    use ErrorKind::{IndexOutOfRange, NotFound, WrongType};
    if !matches!(error.kind(), IndexOutOfRange | NotFound | WrongType) {
        return Ok(Fault::Core(error));
    }
    let ends = pointer.match_indices('/').map(|(at, _)| at).chain([pointer.len()]);
    let mut last = root;
    for (above, end) in ends.clone().zip(ends.skip(1)) {
        let (above, place) = (&pointer[..above], &pointer[..end]);
        match last.kind() {
            Kind::Object | Kind::Array => {}
            kind => {
                let kind = format!("{kind:?}").to_lowercase();
                return Ok(Fault::WrongType(format!(
                    "no place {pointer:?}: {above:?} leads to a value of kind {kind}, neither \
                     object nor array"
                )));
            }
        }
        match root.pointer(place)? {
            Some(value) => last = value,
            None if end == pointer.len() => break,
            None => return Ok(Fault::Missing(format!("no place {pointer:?}: no {place:?}"))),
        }
    }
    Ok(match error.kind() {
        IndexOutOfRange => Fault::Index(format!(
            "no place {pointer:?}: the array has {} element{}; \"-\" is behind the last",
            error.detail(),
            if error.detail() == 1 { "" } else { "s" }
        )),
        NotFound => Fault::Missing(format!("no place {pointer:?}")),
        _ => Fault::Core(error),
    })
}

/// What an edit takes, of which container, and how it moves others there.
type Prepared<'a> = (Aside<'a>, Vec<Step>, Vec<Move>);

/// Prepares views for an edit at a pointer. `None` where the pointer leads nowhere.
fn aside_at<'a>(
    slf: &'a Bound<'_, Document>,
    state: &State,
    pointer: &str,
    removes: bool,
) -> Held<Option<Prepared<'a>>> {
    let (py, mut value, mut path) = (slf.py(), state.editor()?.doc().root(), Vec::new());
    let (mut taken, mut moves) = (Taken::Root, Vec::new());
    let mut tokens = pointer.split('/').skip(1).peekable();
    let key;
    while let Some(token) = tokens.next() {
        let step = match value.kind() {
            Kind::Array => match token.parse() {
                Ok(index) => Step::Index(index),
                // The place behind the last element, or an error.
                Err(_) => return Ok(None),
            },
            _ => Step::Key(unescaped(token).into()),
        };
        if tokens.peek().is_some() {
            let next = match &step {
                Step::Index(index) => value.get(*index)?,
                Step::Key(key) => value.get(&**key)?,
            };
            let Some(next) = next else { return Ok(None) };
            value = next;
            path.push(step);
            continue;
        }
        taken = match step {
            Step::Index(index) => {
                moves.extend(removes.then_some(Move::Removed(index, 1)));
                Taken::element(index)
            }
            Step::Key(name) => {
                key = name;
                Taken::Member(&key)
            }
        };
        break;
    }
    let aside = Aside::of(py, slf, state, &value, Site::Path(&path), taken)?;
    Ok(Some((aside, path, moves)))
}
