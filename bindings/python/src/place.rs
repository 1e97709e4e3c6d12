//! Places of views: how they outlive edits, and how they learn that they are gone.
//!
//! A view keeps a handle of the core and the chain of views above it. Handles go stale by
//! many edits; then a view is found again along its chain, unless an edit since it was last
//! found removed, replaced or shifted its place: those edits are in the document's [`Log`].
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::collections::VecDeque;

use livebuf::{Editor, NodeId, Value};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::array::Array;
use crate::document::{self, Document, State};
use crate::error::{Fault, Held};
use crate::memory::Memory;
use crate::object::Object;

/// A token of a JSON pointer as the key that it names.
pub(crate) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// A key or index on the way from the root.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Key(Box<str>),
    Index(usize),
}

/// What an edit did to the places below a container.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// The member and all below it are gone.
    Member(Box<str>),
    /// The elements from the first index up to but not including the second were shifted,
    /// or are gone.
    Elements(usize, usize),
    /// All children are gone.
    All,
}

impl Effect {
    /// One element is gone.
    pub(crate) fn element(index: usize) -> Effect {
        Effect::Elements(index, index.saturating_add(1))
    }

    /// All elements from an index on were shifted, or are gone.
    pub(crate) fn from(index: usize) -> Effect {
        Effect::Elements(index, usize::MAX)
    }
}

#[derive(Debug)]
struct Event {
    number: u64,
    /// The container's path; `None` where the whole document was replaced.
    path: Option<Vec<Step>>,
    effect: Effect,
}

impl Event {
    fn hits(&self, path: &[Step]) -> bool {
        let Some(container) = &self.path else { return true };
        let Some(step) = path.strip_prefix(container.as_slice()).and_then(|rest| rest.first())
        else {
            return false;
        };
        match (&self.effect, step) {
            (Effect::All, _) => true,
            (Effect::Member(member), Step::Key(key)) => member == key,
            (Effect::Elements(first, end), Step::Index(index)) => (first..end).contains(&index),
            _ => false,
        }
    }

    /// Whether no place is hit by `earlier` and not by this.
    fn covers(&self, earlier: &Event) -> bool {
        self.path == earlier.path
            && match (&self.effect, &earlier.effect) {
                (Effect::All, _) => true,
                (Effect::Elements(first, end), Effect::Elements(before, until)) => {
                    first <= before && until <= end
                }
                (now, before) => now == before,
            }
    }
}

/// Most edits that are remembered for the views that have not looked since.
const REMEMBERED: usize = 4096;

/// Edits that took places away, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Log {
    number: u64,
    events: VecDeque<Event>,
    /// Number of the newest event that is not remembered any more.
    forgotten: u64,
}

impl Log {
    /// Number of the newest event.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn push(&mut self, path: Option<Vec<Step>>, effect: Effect) {
        self.number += 1;
        let event = Event { number: self.number, path, effect };
        // Views made between the two are younger than the earlier one.
        if self.events.back().is_some_and(|last| event.covers(last)) {
            self.events.pop_back();
        }
        if self.events.len() == REMEMBERED
            && let Some(oldest) = self.events.pop_front()
        {
            self.forgotten = oldest.number;
        }
        self.events.push_back(event);
    }

    /// Whether a place that was good at event `seen` still is.
    fn check(&self, seen: u64, path: impl FnOnce() -> Vec<Step>) -> Held<()> {
        if seen == self.number {
            return Ok(());
        }
        if seen < self.forgotten {
            return Err(Fault::Stale("too many edits were made since it was last used"));
        }
        let path = path();
        let newer = self.events.iter().rev().take_while(|event| event.number > seen);
        match newer.into_iter().any(|event| event.hits(&path)) {
            true => Err(Fault::Stale("its place was removed, replaced or shifted")),
            false => Ok(()),
        }
    }
}

/// A handle, and the number of the newest event when it was found.
#[derive(Clone, Copy)]
struct Place {
    node: NodeId,
    seen: u64,
}

/// What only who holds the document's lock may touch.
struct Guarded(UnsafeCell<Place>);

// SAFETY: all access is through a reference to the locked state of the view's document.
unsafe impl Sync for Guarded {}

/// What is above a view. Without a view of its own the container above is the root.
pub(crate) enum Above {
    Nothing,
    Object(Option<Py<Object>>, Py<PyString>),
    Array(Option<Py<Array>>, usize),
}

/// A container of a document, as an [`Object`] or [`Array`] knows it.
pub(crate) struct View {
    document: Py<Document>,
    above: Above,
    place: Guarded,
}

impl Drop for View {
    fn drop(&mut self) {
        self.document.get().view_dropped();
    }
}

impl View {
    /// A view of a handle that was just found.
    pub(crate) fn new(
        document: Py<Document>,
        above: Above,
        node: NodeId,
        state: &mut State,
    ) -> View {
        state.view_made();
        let seen = state.log.number();
        View { document, above, place: Guarded(UnsafeCell::new(Place { node, seen })) }
    }

    pub(crate) fn document(&self) -> &Py<Document> {
        &self.document
    }

    fn parent(&self) -> Option<&View> {
        match &self.above {
            Above::Nothing => None,
            Above::Object(object, _) => object.as_ref().map(|object| &object.get().view),
            Above::Array(array, _) => array.as_ref().map(|array| &array.get().view),
        }
    }

    /// Views on the way from the root, this one included.
    fn depth(&self) -> u64 {
        std::iter::successors(Some(self), |view| view.parent()).count() as u64
    }

    /// Keys and indexes from the root.
    pub(crate) fn path(&self, py: Python<'_>) -> Vec<Step> {
        let mut path: Vec<Step> = std::iter::successors(Some(self), |view| view.parent())
            .filter_map(|view| match &view.above {
                Above::Nothing => None,
                Above::Object(_, key) => Some(Step::Key(key.bind(py).to_string_lossy().into())),
                Above::Array(_, index) => Some(Step::Index(*index)),
            })
            .collect();
        path.reverse();
        path
    }

    /// The path as a JSON pointer (RFC 6901).
    pub(crate) fn pointer(&self, py: Python<'_>) -> String {
        let mut pointer = String::new();
        for step in self.path(py) {
            pointer.push('/');
            match step {
                Step::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// The handle, found again where it is stale.
    #[inline]
    pub(crate) fn node(&self, py: Python<'_>, state: &State) -> Held<NodeId> {
        // SAFETY: the state is borrowed, so the lock is held, and by this thread.
        let place = unsafe { *self.place.0.get() };
        if place.seen == state.log.number() && state.editor()?.is_current(place.node) {
            return Ok(place.node);
        }
        self.find_again(py, state, place.seen)
    }

    #[cold]
    fn find_again(&self, py: Python<'_>, state: &State, seen: u64) -> Held<NodeId> {
        const GONE: Fault = Fault::Stale("its place is gone");
        state.log.check(seen, || self.path(py))?;
        let editor = state.editor()?;
        let above = match self.parent() {
            Some(parent) => parent.node(py, state)?,
            None => editor.root().ok_or(GONE)?,
        };
        let node = match &self.above {
            Above::Nothing => above,
            Above::Object(_, key) => editor.child(above, key.bind(py).to_str()?)?.ok_or(GONE)?,
            Above::Array(_, index) => editor.child(above, *index)?.ok_or(GONE)?,
        };
        // SAFETY: as in `node`.
        unsafe { *self.place.0.get() = Place { node, seen: state.log.number() } };
        Ok(node)
    }

    /// Looks at the container.
    #[inline]
    pub(crate) fn read<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Value<'_>) -> Held<R>,
    ) -> PyResult<R> {
        let state = self.document.get().lock(py);
        let node = self.node(py, &state)?;
        let value = state.editor()?.value(node).map_err(Fault::Core)?;
        Ok(look(&value)?)
    }

    /// Looks at the container, and may make views below it.
    #[inline]
    pub(crate) fn reach<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mut State, NodeId) -> Held<R>,
    ) -> PyResult<R> {
        let mut state = self.document.get().lock(py);
        let node = self.node(py, &state)?;
        Ok(look(&mut state, node)?)
    }

    /// Edits the container. What it puts into the last argument, once it has changed
    /// something, is told to other views, also where it fails afterwards.
    pub(crate) fn edit<R>(
        &self,
        py: Python<'_>,
        edit: impl FnMut(&mut Editor<Memory>, NodeId, &mut Vec<Effect>) -> Held<R>,
    ) -> PyResult<R> {
        self.edit_many(py, false, edit)
    }

    /// The same for edits of several steps, which cannot be begun again: what they may need
    /// is made sure of `before`.
    pub(crate) fn edit_many<R>(
        &self,
        py: Python<'_>,
        before: bool,
        mut edit: impl FnMut(&mut Editor<Memory>, NodeId, &mut Vec<Effect>) -> Held<R>,
    ) -> PyResult<R> {
        let document = self.document.get();
        let mut state = document.lock(py);
        document.begin_edit(py, &mut state)?;
        let node = self.node(py, &state)?;
        let mut effects = Vec::new();
        if before && !state.editor()?.is_trusted() {
            state.editor_mut()?.validate().map_err(Fault::Core)?;
        }
        let result = document::edit(&mut state, |editor| edit(editor, node, &mut effects));
        // Views on the way here are not below.
        if !effects.is_empty() && document.views(&state) > self.depth() {
            for effect in effects {
                state.log.push(Some(self.path(py)), effect);
            }
        }
        Ok(result?)
    }
}
