//! Edits, and how views outlive them.
//!
//! An edit may take a place away while views of it live. The document knows these views
//! ([`Views`](crate::view::Views)). The edit first copies the place into a document of its own.
//! The views, and those below them, then go on in that copy ([`Aside`]). An edit may also shift
//! places. It is then put into the document's [`Log`](crate::history::Log), and views whose place
//! it shifted are stale.

use std::ptr;
use std::sync::atomic::Ordering;

use livebuf::{Editor, Error, ErrorKind, NodeId, Storage, Value};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::decode::{self, CollectorPause};
use crate::encode::Given;
use crate::error::{Fault, Held};
use crate::history::{CHANGED, Change, Effect, Step, StepRef, Taken};
use crate::memory::{Access, Memory};
use crate::view::{Above, Document, ROOT, State, View, is_container, new_layout, root};

impl Document {
    /// Begins an edit: makes sure that nobody looks at the bytes and that they are ours.
    pub(crate) fn begin_edit(&self, py: Python<'_>, state: &mut State) -> Held<()> {
        if self.exports().load(Ordering::Acquire) > 0 {
            return Err(Fault::Exported);
        }
        state.whole()?;
        state.edits += 1;
        let editor = state.editor()?;
        if let Some(file) = editor.storage().shared_with_others()
            && !file.is_of_this_process()
        {
            return Err(Fault::Core(Error::new(ErrorKind::ReadOnly, 0)));
        }
        if editor.storage().access() == Access::CopyOnWrite {
            let memory = Memory::own(py, editor.as_bytes().len())?;
            let copy = editor.copy_to(memory)?;
            copy.storage().watch_as(editor.storage());
            state.editor = Some(copy);
        }
        Ok(())
    }

    /// Begins an edit that uses space again. Bytes that come from elsewhere are validated before
    /// the first one: what edits free is then used again, and wiped. Damaged ones, and those that
    /// others write meanwhile, are edited as they are.
    pub(crate) fn begin_change(&self, py: Python<'_>, state: &mut State) -> Held<()> {
        self.begin_edit(py, state)?;
        let editor = state.editor()?;
        if !state.checked && !editor.is_trusted() && editor.storage().is_writable() {
            state.checked = true;
            match self.detached(py, state, |editor| editor.validate()) {
                Ok(()) | Err(Fault::Core(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// After an edit that may have changed any place: all views but those of the root are stale.
    pub(crate) fn settle_whole(state: &mut State) {
        state.layout = new_layout();
        state.log.reset(CHANGED);
    }

    /// A copy of a value as a document of its own, for views of a place that an edit takes
    /// away.
    pub(crate) fn copy_of(py: Python<'_>, value: &Value<'_>, of: &State) -> Held<Py<Document>> {
        let _pause = CollectorPause::new();
        let mut editor = Editor::create(Memory::nothing())?;
        editor.set_limits(of.editor()?.limits());
        editor.set_root(*value)?;
        let copy = Document::around(editor);
        // Iterators that go on in the copy see by this that they must read again.
        copy.lock(py)?.edits = of.edits;
        Ok(Py::new(py, copy)?)
    }
}

impl View {
    /// The container in a document of its own.
    fn copied<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Document>> {
        let copy = self.reach(py, |_, state, node| {
            let state = &*state;
            Document::copy_of(py, &state.editor()?.value(node)?, state)
        })?;
        Ok(copy.into_bound(py))
    }

    /// A view of a copy of the container.
    pub(crate) fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(root(&self.copied(py)?)?)
    }

    /// How to unpickle a view of a copy.
    pub(crate) fn reduce<'py>(
        &self,
        py: Python<'py>,
        protocol: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let reduced = self.copied(py)?.call_method1("__reduce_ex__", (protocol,))?;
        let restore = py.import("livebuf._livebuf")?.getattr("_restore_view")?;
        Ok((restore, reduced.get_item(1)?))
    }

    /// SHA-256 of the container's value.
    pub(crate) fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let digest = self.read(py, |value| {
            Ok(value.digest(&mut decode::default_budget(value.document_length()))?)
        })?;
        Ok(PyBytes::new(py, &digest))
    }
}

/// Where an edit begins that names places by pointers: at a document's root, or at a view.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a, 'py> {
    Root(&'a Bound<'py, Document>),
    View(&'a View),
}

impl<'py> Start<'_, 'py> {
    /// Begins an edit, and calls `work` with the document and the pointer of the place.
    pub(crate) fn change<R>(
        self,
        py: Python<'py>,
        work: impl FnOnce(&Bound<'py, Document>, &mut State, String) -> Held<R>,
    ) -> PyResult<R> {
        loop {
            let document = match self {
                Start::Root(document) => document.clone(),
                Start::View(view) => view.document(py),
            };
            let mut state = document.get().lock(py)?;
            if matches!(self, Start::View(view) if view.has_left(&document)) {
                continue;
            }
            document.get().begin_change(py, &mut state)?;
            let pointer = match self {
                Start::Root(_) => String::new(),
                Start::View(view) => {
                    view.node(py, &state)?;
                    view.pointer(py)?
                }
            };
            return Ok(work(&document, &mut state, pointer)?);
        }
    }
}

/// Runs an edit. If it needs a validated document, validates this one and runs it again.
pub(crate) fn edit<R>(
    state: &mut State,
    mut edit: impl FnMut(&mut Editor<Memory>) -> Held<R>,
) -> Held<R> {
    let mut result = edit(state.editor_mut()?);
    if let Err(Fault::Core(error)) = &result
        && error.kind() == ErrorKind::NotValidated
    {
        state.editor_mut()?.validate()?;
        result = edit(state.editor_mut()?);
    }
    match result {
        Err(Fault::Core(error))
            if error.kind() == ErrorKind::NoSpace && state.editor()?.storage().is_bytearray() =>
        {
            Err(Fault::Held)
        }
        result => result,
    }
}

impl View {
    /// Edits the container. `edit` sets its last argument to true once something has changed,
    /// also if it fails afterwards: other views must learn of the change.
    pub(crate) fn edit<R>(
        &self,
        py: Python<'_>,
        change: Change<'_>,
        edit: impl FnMut(&mut Editor<Memory>, NodeId, &mut bool) -> Held<R>,
    ) -> PyResult<R> {
        self.edit_many(py, false, change, edit)
    }

    /// The same for edits of several steps, which cannot be repeated. `before` says that the
    /// document must be validated before, since a step may need it.
    pub(crate) fn edit_many<R>(
        &self,
        py: Python<'_>,
        before: bool,
        change: Change<'_>,
        mut edit: impl FnMut(&mut Editor<Memory>, NodeId, &mut bool) -> Held<R>,
    ) -> PyResult<R> {
        let document = self.document(py);
        // Dropping these may run Python code, so it happens after the lock.
        let mut trash = Vec::new();
        let mut state = document.get().lock(py)?;
        if self.has_left(&document) {
            drop(state);
            return self.edit_many(py, before, change, edit);
        }
        document.get().begin_change(py, &mut state)?;
        let node = self.node(py, &state)?;
        if before && !state.editor()?.is_trusted() {
            state.editor_mut()?.validate().map_err(Fault::Core)?;
        }
        // The edit does not affect this view and those above it: are there others?
        let aside = match document.get().views().len() > self.depth() {
            true => {
                let value = state.editor()?.value(node).map_err(Fault::Core)?;
                let path = || self.path(py);
                Some(Aside::of(py, &document, &state, &value, self.hash(py), path, change)?)
            }
            false => None,
        };
        let mut changed = false;
        let result = self::edit(&mut state, |editor| edit(editor, node, &mut changed));
        if let (true, Some(aside)) = (changed, aside) {
            aside.settle(py, &document, &mut state, &mut trash);
        }
        Ok(result?)
    }
}

/// Several edits of a container, of which all are made or none.
pub(crate) enum Edits<'a> {
    /// What lies from the first index on, so many elements, is replaced by others.
    Splice(usize, usize, &'a [Given<'a>]),
    /// Elements are set.
    Elements(&'a [usize], &'a [Given<'a>]),
    /// Members are set.
    Members(&'a [(&'a str, Given<'a>)]),
}

impl Edits<'_> {
    /// What all edits ask for but room. Nothing is changed.
    fn check(&self, editor: &Editor<Memory>, node: NodeId) -> livebuf::Result<()> {
        match *self {
            Edits::Splice(first, removed, items) => {
                let array = editor.value(node)?.as_array()?;
                let tensor = array.map(|array| array.tensor()).transpose()?.flatten();
                if tensor.is_some() && removed != items.len() {
                    return Err(livebuf::Error::new(ErrorKind::TensorMismatch, 0));
                }
                let mut items = items.iter().enumerate();
                items
                    .try_for_each(|(step, item)| editor.check_set(node, first + step, item.value()))
            }
            Edits::Elements(indexes, items) => {
                let mut items = indexes.iter().zip(items);
                items.try_for_each(|(&index, item)| editor.check_set(node, index, item.value()))
            }
            Edits::Members(members) => {
                let mut members = members.iter();
                members.try_for_each(|(key, item)| editor.check_set(node, *key, item.value()))
            }
        }
    }

    /// Makes the edits.
    pub(crate) fn make<S: Storage>(
        &self,
        editor: &mut Editor<S>,
        node: NodeId,
    ) -> livebuf::Result<()> {
        match *self {
            Edits::Splice(first, removed, items) => {
                let mut cursor = editor.node_mut(node)?;
                let same = removed.min(items.len());
                for (step, item) in items.iter().enumerate().take(same) {
                    cursor.set(first + step, item.value())?;
                }
                for _ in same..removed {
                    cursor.remove(first + same)?;
                }
                for (step, item) in items.iter().enumerate().skip(same) {
                    cursor.insert(first + step, item.value())?;
                }
            }
            Edits::Elements(indexes, items) => {
                for (&index, item) in indexes.iter().zip(items) {
                    editor.set(node, index, item.value())?;
                }
            }
            Edits::Members(members) => {
                for (key, item) in members {
                    editor.set(node, *key, item.value())?;
                }
            }
        }
        Ok(())
    }

    /// Fails where [`make`](Self::make) would. Nothing is changed.
    ///
    /// Where memory cannot grow, a copy is edited to see whether there is room.
    pub(crate) fn attempt(
        &self,
        py: Python<'_>,
        view: &View,
        editor: &Editor<Memory>,
        node: NodeId,
    ) -> Held<()> {
        self.check(editor, node)?;
        if !editor.storage().can_grow() {
            let pointer = view.pointer(py)?;
            let mut room = vec![0; editor.storage().bytes().len()];
            let mut copy = editor.copy_to(&mut room[..])?;
            let node = copy.find(&pointer)?.ok_or(Fault::Stale("its place is gone"))?;
            self.make(&mut copy, node)?;
        }
        Ok(())
    }
}

impl View {
    /// Fails where some of these edits would fail. One edit by itself is made or not.
    pub(crate) fn attempt(&self, py: Python<'_>, edits: &Edits<'_>) -> PyResult<()> {
        match edits {
            Edits::Elements(_, [] | [_]) | Edits::Members([] | [_]) => Ok(()),
            _ => {
                self.edit(py, Change::NONE, |editor, node, _| edits.attempt(py, self, editor, node))
            }
        }
    }
}

/// What an edit of a container does to views below it.
pub(crate) struct Aside {
    /// The container's path.
    path: Vec<Step>,
    hash: u64,
    /// Copies of what the edit takes away while views of it live. A copy of the whole root has
    /// no step.
    copies: Vec<(Option<Step>, Py<Document>)>,
    shifted: Vec<Effect>,
}

/// Objects to drop after the lock was given back.
pub(crate) struct Trash(#[allow(dead_code, reason = "dropped")] (Py<Document>, Above));

impl Aside {
    /// Copies the places that an edit will take away, as far as there are views of them.
    ///
    /// # Errors
    /// A place that cannot be copied. Then the edit must not be made.
    pub(crate) fn of(
        py: Python<'_>,
        document: &Bound<'_, Document>,
        state: &State,
        container: &Value<'_>,
        hash: u64,
        path: impl Fn() -> Held<Vec<Step>>,
        change: Change<'_>,
    ) -> Held<Aside> {
        let Change { taken, mut shifted } = change;
        let count = container.len()?.unwrap_or(0);
        // Nothing lies behind the last element, so nothing is shifted there.
        shifted.retain(|effect| !matches!(effect, Effect::Elements(first, _) if *first >= count));
        let views = document.get().views();
        let mut aside = Aside { path: Vec::new(), hash, copies: Vec::new(), shifted };
        if !state.editor()?.storage().is_writable() {
            return Ok(aside);
        }
        // Whether there is a view of a taken place. (Views below keep the view above them.)
        // Hashes of paths may be equal by chance: then a copy is made that nobody uses.
        let is_viewed = |step: StepRef<'_>| {
            let mut views = views.with_hash(py, views.below(hash, step));
            views.any(|view| view.is_good(py, &state.log))
        };
        let mut steps: Vec<Option<Step>> = Vec::new();
        match taken {
            Taken::Nothing => {}
            Taken::Root => {
                let viewed = views.all().any(|view| view.is_good(py, &state.log));
                steps.extend(viewed.then_some(None));
            }
            Taken::Member(key) => {
                let step = StepRef::Key(key);
                steps.extend(is_viewed(step).then(|| Some(step.to_step())));
            }
            Taken::Elements(first, end) if end.saturating_sub(first) <= views.len() => {
                let viewed = (first..end).filter(|&index| is_viewed(StepRef::Index(index)));
                steps.extend(viewed.map(|index| Some(Step::Index(index))));
            }
            Taken::Elements(..) | Taken::All => {
                let viewed = views.all().filter_map(|view| {
                    let step = view.step(py)?;
                    let is_taken = match (taken, step) {
                        (Taken::Elements(first, end), StepRef::Index(index)) => {
                            (first..end).contains(&index)
                        }
                        (taken, _) => matches!(taken, Taken::All),
                    };
                    let above = view.parent().map_or(ROOT, |parent| parent.hash(py));
                    let is_below = above == hash;
                    let is_viewed = is_taken && is_below && view.is_good(py, &state.log);
                    is_viewed.then(|| Some(step.to_step()))
                });
                steps.extend(viewed);
                // A place may have several views.
                steps.sort_unstable();
                steps.dedup();
            }
        }
        if !steps.is_empty() || !aside.shifted.is_empty() {
            aside.path = path()?;
        }
        for step in steps {
            let value = match &step {
                None => Some(*container),
                Some(Step::Key(key)) => container.get(&**key)?,
                Some(Step::Index(index)) => container.get(*index)?,
            };
            if let Some(value) = value.filter(|value| is_container(value.kind())) {
                aside.copies.push((step, Document::copy_of(py, &value, state)?));
            }
        }
        Ok(aside)
    }

    /// Whether a view is of the place that a step from the container leads to.
    fn is_above(&self, py: Python<'_>, view: &View, step: Option<StepRef<'_>>) -> bool {
        view.path(py).is_ok_and(|path| match (path.split_last(), step) {
            (Some((last, above)), Some(step)) => {
                above == self.path.as_slice() && StepRef::from(last) == step
            }
            (None, None) => true,
            _ => false,
        })
    }

    /// After the edit: moves views to the copies, and makes shifted ones stale.
    pub(crate) fn settle(
        self,
        py: Python<'_>,
        document: &Bound<'_, Document>,
        state: &mut State,
        trash: &mut Vec<Trash>,
    ) {
        let views = document.get().views();
        for (step, copy) in &self.copies {
            let copy = copy.bind(py);
            // Nobody else knows it yet.
            let Some(copied) = copy.get().free(py) else { continue };
            let (Ok(editor), mut path) = (copied.editor(), self.path.clone()) else { continue };
            let Some(node) = editor.root_id() else { continue };
            let hash = match step {
                Some(step) => views.below(self.hash, step.into()),
                None => ROOT,
            };
            path.extend(step.clone());
            let found = views.with_hash(py, hash).filter(|view| {
                let step = step.as_ref().map(StepRef::from);
                view.is_good(py, &state.log) && self.is_above(py, view, step)
            });
            let found: Vec<&View> = found.collect();
            let mover = Mover { py, document, state, copy, editor, seen: copied.log.number() };
            for view in &found {
                mover.take(view, Some(Above::Nothing), node, trash);
            }
            // Views right below the root may have no view above them.
            let all = step.is_none();
            mover.take_below(found, all, path, node, trash);
        }
        for effect in self.shifted {
            state.log.push(self.path.clone(), effect);
        }
    }
}

/// Moves views to a copy of what they show.
struct Mover<'a, 'py> {
    py: Python<'py>,
    document: &'a Bound<'py, Document>,
    state: &'a State,
    copy: &'a Bound<'py, Document>,
    /// The editor of the copy.
    editor: &'a Editor<Memory>,
    seen: u64,
}

impl Mover<'_, '_> {
    /// Moves one view. `above` is what is above it afterwards, if that changes.
    fn take(&self, view: &View, above: Option<Above>, node: NodeId, trash: &mut Vec<Trash>) {
        let (document, above) = view.move_to(self.copy, above, node, self.seen);
        trash.push(Trash((document, above)));
        view.keep(self.py);
    }

    /// Moves the views below views that were moved, as far as the copy has their places. Views
    /// of what cannot be read stay behind, and are stale.
    fn take_below(
        &self,
        taken: Vec<&View>,
        parentless: bool,
        path: Vec<Step>,
        node: NodeId,
        trash: &mut Vec<Trash>,
    ) {
        let (py, views) = (self.py, self.document.get().views());
        let mut left = vec![(taken, parentless, path, node)];
        while let Some((above, parentless, path, node)) = left.pop() {
            if above.is_empty() && !parentless || views.len() == 0 {
                continue;
            }
            let Ok(value) = self.editor.value(node) else { continue };
            let hash = views.hash(&path);
            let mut go = |step: StepRef<'_>, child: Value<'_>| {
                let Some(node) = self.editor.handle_of(&child, node) else { return };
                let below: Vec<&View> = views
                    .with_hash(py, views.below(hash, step))
                    .filter(|view| {
                        let parent = view.parent();
                        let is_below = parent.map_or(parentless, |parent| {
                            above.iter().any(|above| ptr::eq(*above, parent))
                        });
                        let place = || Ok([path.as_slice(), &[step.to_step()]].concat());
                        is_below
                            && view.step(py) == Some(step)
                            && self.state.log.check(view.seen(), place).is_ok()
                    })
                    .collect();
                if !below.is_empty() {
                    for view in &below {
                        self.take(view, None, node, trash);
                    }
                    let path = [path.as_slice(), &[step.to_step()]].concat();
                    left.push((below, false, path, node));
                }
            };
            if let Ok(Some(object)) = value.as_object() {
                for (key, child) in object.iter().map_while(livebuf::Result::ok) {
                    if is_container(child.kind()) {
                        go(StepRef::Key(key), child);
                    }
                }
            } else if let Ok(Some(array)) = value.as_array() {
                for (index, child) in array.iter().map_while(livebuf::Result::ok).enumerate() {
                    if is_container(child.kind()) {
                        go(StepRef::Index(index), child);
                    }
                }
            }
        }
    }
}
