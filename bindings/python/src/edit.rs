//! Edits, and how views outlive them.
//!
//! An edit may take a place away while views of it live. The document knows these views
//! ([`Views`](crate::view::Views)). The edit first copies the place into a document of its own.
//! The views, and those below them, then go on in that copy ([`Aside`]). An edit may also move
//! others to other places: their views get their new index or key. Edits of which only the core
//! knows what they do (a patch, a query) are looked at afterwards
//! ([`Document::edit_whole`]).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;

use livebuf::{Editor, Error, ErrorKind, NodeId, Recorder, Storage, Value};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::decode::{self, CollectorPause};
use crate::encode::Given;
use crate::error::{self, Fault, Held};
use crate::history::{Done, Move, Step, StepRef, Taken};
use crate::memory::{Access, Memory, Watch};
use crate::view::{Above, Document, Site, State, Trash, View, is_container, new_layout, root};

const CHANGED: &str = "the document was changed as a whole (a delta or undo); look it up again";
const MANY: &str = "the document was changed in too many places at once; look it up again";
const NO_MEMORY: &str = "there was no memory to follow what an edit moved; look it up again";
const MOVED: &str = "a patch moved it; look it up again";

/// A document of at most this many bytes is validated in some microseconds.
const SMALL: usize = 4096;

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

    /// Begins an edit that uses space again. A small document from elsewhere is validated before
    /// its first edit. A large one is validated when edits have made it longer by an eighth, so that
    /// a single edit does not read all of it. From then on freed space is used again, and wiped.
    /// Damaged documents, and those that others write meanwhile, are edited as they are.
    pub(crate) fn begin_change(&self, py: Python<'_>, state: &mut State) -> Held<()> {
        self.begin_edit(py, state)?;
        self.check_first(py, state)
    }

    /// Whether the next edit that frees bytes must validate before.
    fn is_unchecked(state: &State) -> Held<bool> {
        let editor = state.editor()?;
        if state.checked || editor.is_trusted() || !editor.storage().is_writable() {
            return Ok(false);
        }
        let grown = editor.as_bytes().len().saturating_sub(state.opened);
        Ok(state.opened <= SMALL || grown >= state.opened / 8)
    }

    fn check_first(&self, py: Python<'_>, state: &mut State) -> Held<()> {
        if Document::is_unchecked(state)? {
            state.checked = true;
            match self.detached(py, state, |editor| editor.validate()) {
                Ok(()) | Err(Fault::Core(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// After an edit that may have changed any place, of which nobody knows what it did: all views
    /// but those of the root are stale.
    pub(crate) fn settle_unknown(&self, state: &mut State) {
        state.layout = new_layout();
        self.views().leave(CHANGED);
    }

    /// A copy of a value as a document of its own, for views of a place that an edit takes
    /// away.
    pub(crate) fn copy_of(py: Python<'_>, value: &Value<'_>, of: &State) -> Held<Py<Document>> {
        let _pause = CollectorPause::new();
        let mut editor = Editor::create(Memory::nothing())?;
        editor.set_limits(of.editor()?.limits());
        editor.set_root(*value)?;
        let copy = Document::around(editor);
        let mut state = copy.lock(py)?;
        // Iterators that go on in the copy see by this that they must read again.
        state.edits = of.edits;
        state.fate.clone_from(&of.fate);
        drop(state);
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
        // It is the caller's, whatever becomes of a transaction.
        copy.get().lock(py)?.fate = None;
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
    /// Edits the container. `edit` says in its last argument what it has done, also if it fails
    /// afterwards: other views must learn of it.
    pub(crate) fn edit<R>(
        &self,
        py: Python<'_>,
        taken: Taken<'_>,
        edit: impl FnMut(&mut Editor<Memory>, NodeId, &mut Done) -> Held<R>,
    ) -> PyResult<R> {
        self.edit_many(py, false, taken, edit)
    }

    /// The same for edits of several steps, which cannot be repeated. `before` says that the
    /// document must be validated before, since a step may need it.
    pub(crate) fn edit_many<R>(
        &self,
        py: Python<'_>,
        before: bool,
        taken: Taken<'_>,
        mut edit: impl FnMut(&mut Editor<Memory>, NodeId, &mut Done) -> Held<R>,
    ) -> PyResult<R> {
        let mut result = None;
        self.edit_with(py, before, taken, &mut |editor, node, done| {
            result = Some(edit(editor, node, done)?);
            Ok(())
        })?;
        Ok(result.ok_or(Fault::Stale("it was not edited"))?)
    }

    /// The same, once for all kinds of results, since it is long.
    fn edit_with(
        &self,
        py: Python<'_>,
        before: bool,
        taken: Taken<'_>,
        edit: &mut Work<'_>,
    ) -> PyResult<()> {
        let document = self.document(py);
        // Dropping these may run Python code, so it happens after the lock.
        let mut trash = Trash::default();
        let mut state = document.get().lock(py)?;
        if self.has_left(&document) {
            drop(state);
            return self.edit_with(py, before, taken, edit);
        }
        document.get().begin_edit(py, &mut state)?;
        if Document::is_unchecked(&state)?
            && taken.may_free(|| Ok(state.editor()?.value(self.node(py, &state)?)?))?
        {
            document.get().check_first(py, &mut state)?;
        }
        let node = self.node(py, &state)?;
        if before && !state.editor()?.is_trusted() {
            state.editor_mut()?.validate().map_err(Fault::Core)?;
        }
        // The edit does not affect this view and those above it: are there others?
        let aside = match document.get().views().len() > self.depth() {
            true => {
                let value = state.editor()?.value(node).map_err(Fault::Core)?;
                Some(Aside::of(py, &document, &state, &value, self.site(), taken)?)
            }
            false => None,
        };
        let mut done = Done::default();
        let result = self::edit(&mut state, |editor| edit(editor, node, &mut done));
        if let (true, Some(aside)) = (done.changed, aside) {
            aside.settle(py, &document, self.site(), &done.moves, &mut trash);
        }
        Ok(result?)
    }
}

/// An edit of a container, by its handle.
type Work<'w> = dyn FnMut(&mut Editor<Memory>, NodeId, &mut Done) -> Held<()> + 'w;

/// Several edits of a container, of which all are made or none.
pub(crate) enum Edits<'a> {
    /// From the first index on, this many elements are replaced by others.
    Splice(usize, usize, &'a [Given<'a>]),
    /// Elements are set.
    Elements(&'a [usize], &'a [Given<'a>]),
    /// Members are set.
    Members(&'a [(&'a str, Given<'a>)]),
}

impl Edits<'_> {
    /// Checks all that the edits need, except room. Nothing is changed.
    fn check(&self, editor: &Editor<Memory>, node: NodeId) -> livebuf::Result<()> {
        match *self {
            Edits::Splice(first, removed, items) => {
                let array = editor.value(node)?.as_array()?;
                // In a tensor an array keeps its length: a check to add an element reports that.
                if let Some(array) = array
                    && removed != items.len()
                    && array.tensor()?.is_some()
                    && let Some(last) = array.len().checked_sub(1)
                    && let Some(last) = array.get(last)?
                {
                    editor.check_set(node, array.len(), last)?;
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

    /// Makes the edits, and says what was done.
    pub(crate) fn make(
        &self,
        editor: &mut Editor<Memory>,
        node: NodeId,
        done: &mut Done,
    ) -> livebuf::Result<()> {
        match *self {
            Edits::Splice(first, removed, items) => {
                let mut cursor = editor.node_mut(node)?;
                let same = removed.min(items.len());
                for (step, item) in items.iter().enumerate().take(same) {
                    cursor.set(first + step, item.value())?;
                    done.changed = true;
                }
                for _ in same..removed {
                    cursor.remove(first + same)?;
                    done.removed(first + same);
                }
                for (step, item) in items.iter().enumerate().skip(same) {
                    cursor.insert(first + step, item.value())?;
                    done.inserted(first + step);
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
            let mut copy = editor.copy_to(Memory::fixed(py, editor.storage().bytes().len())?)?;
            if editor.transactions() > 0 {
                // Within a transaction free space is not put together, so there is less room.
                copy.begin_transaction()?;
            }
            let node = copy.find(&pointer)?.ok_or(Fault::Stale("its place is gone"))?;
            self.make(&mut copy, node, &mut Done::default())?;
        }
        Ok(())
    }
}

impl View {
    /// Fails where some of these edits would fail. One edit by itself is made or not.
    pub(crate) fn attempt(&self, py: Python<'_>, edits: &Edits<'_>) -> PyResult<()> {
        match edits {
            Edits::Elements(_, [] | [_]) | Edits::Members([] | [_]) => Ok(()),
            _ => self
                .edit(py, Taken::Nothing, |editor, node, _| edits.attempt(py, self, editor, node)),
        }
    }
}

/// What an edit of a container takes away while views of it live.
#[derive(Default)]
pub(crate) struct Aside<'a> {
    /// Copies, and the views that go on there.
    copies: Vec<(Py<Document>, Vec<&'a View>)>,
    /// The one copy is of the root, with all views.
    is_whole: bool,
}

impl<'a> Aside<'a> {
    /// Copies the places that an edit will take away, as far as there are views of them.
    ///
    /// # Errors
    /// A place that cannot be copied. Then the edit must not be made.
    pub(crate) fn of(
        py: Python<'_>,
        document: &'a Bound<'_, Document>,
        state: &State,
        container: &Value<'_>,
        site: Site<'_>,
        taken: Taken<'_>,
    ) -> Held<Aside<'a>> {
        let views = document.get().views();
        let mut aside = Aside::default();
        if !state.editor()?.storage().is_writable() {
            return Ok(aside);
        }
        let is_held =
            |value: Option<Value<'_>>| value.is_some_and(|value| is_container(value.kind()));
        let found = match taken {
            Taken::Nothing => return Ok(aside),
            Taken::Root => {
                let all = views.all()?;
                if !all.is_empty() && is_container(container.kind()) {
                    aside.copies.push((Document::copy_of(py, container, state)?, all));
                    aside.is_whole = true;
                }
                return Ok(aside);
            }
            Taken::Member(key) if !is_held(container.get(key)?) => return Ok(aside),
            Taken::Member(key) => {
                views.below(py, site, |step| step == StepRef::Key(key), Some(key))?
            }
            Taken::Elements(first, end) if end == first + 1 && !is_held(container.get(first)?) => {
                return Ok(aside);
            }
            Taken::Elements(first, end) => {
                let range = first..end;
                let is_taken = |step: StepRef<'_>| match step {
                    StepRef::Index(index) => range.contains(&index),
                    StepRef::Key(_) => false,
                };
                views.below(py, site, is_taken, None)?
            }
            Taken::All => views.below(py, site, |_| true, None)?,
        };
        let mut before = None;
        for view in found {
            let step = view.step(py);
            if before == step
                && let Some((_, views)) = aside.copies.last_mut()
            {
                // A place may have several views.
                views.push(view);
                continue;
            }
            let value = match step {
                Some(StepRef::Key(key)) => container.get(key)?,
                Some(StepRef::Index(index)) => container.get(index)?,
                None => None,
            };
            if let Some(value) = value.filter(|value| is_container(value.kind())) {
                before = step;
                aside.copies.push((Document::copy_of(py, &value, state)?, vec![view]));
            }
        }
        Ok(aside)
    }

    /// After the edit: moves views to the copies, and lets others follow what was moved.
    pub(crate) fn settle(
        self,
        py: Python<'_>,
        document: &Bound<'_, Document>,
        site: Site<'_>,
        moves: &[Move],
        trash: &mut Trash,
    ) {
        self.take(py, document, trash);
        if !moves.is_empty() {
            trash.keys.extend(document.get().views().follow(py, site, moves));
        }
    }

    /// Moves views to the copies, with those below them.
    fn take(self, py: Python<'_>, document: &Bound<'_, Document>, trash: &mut Trash) {
        let views = document.get().views();
        if self.copies.is_empty() {
            return;
        }
        for (copy, taken) in &self.copies {
            for view in taken {
                let above = (!self.is_whole).then_some(Above::Nothing);
                view.move_to(copy.bind(py), above, trash);
            }
        }
        views.follow_above(document, trash);
    }
}

impl Document {
    /// Runs an edit of which only the core knows what it does. Views follow their containers, and
    /// those of what was taken go on over copies of it.
    pub(crate) fn edit_whole<R>(
        document: &Bound<'_, Document>,
        state: &mut State,
        trash: &mut Trash,
        work: impl FnMut(&mut Editor<Memory>) -> Held<R>,
    ) -> Held<R> {
        let (py, views) = (document.py(), document.get().views());
        let mut seen = views.all()?;
        seen.retain(|view| !view.is_root());
        let (mut kept, mut taken) = (error::room_for(seen.len())?, error::room_for(seen.len())?);
        for view in &seen {
            // One that leads nowhere raises an error when it is used.
            let _ = view.node(py, state);
        }
        let watch = match seen.is_empty() {
            true => None,
            false => {
                let editor = state.editor()?;
                let watch = Watch::new(Recorder::with_old(editor.as_bytes()), false);
                editor.storage().watch(&watch);
                Some(watch)
            }
        };
        // A search lets other threads run, which may let go of views, so none is referred to
        // meanwhile. New ones need the lock: the room is enough for all that there are afterwards.
        seen.clear();
        let done = edit(state, work)?;
        state.layout = new_layout();
        let Some(watch) = watch else { return Ok(done) };
        views.add_to(&mut seen);
        seen.retain(|view| !view.is_root());
        let editor = state.editor()?;
        for view in seen {
            match (editor.renewed(view.last()), editor.remembers(view.last())) {
                (Some(node), _) => kept.push((view, node)),
                (None, true) => taken.push(view),
                (None, false) => view.leave(MANY),
            }
        }
        // The edit is made. Where there is no memory to follow it, views must not show other places.
        if Document::follow_whole(document, state, trash, &watch, kept, &taken).is_err() {
            views.leave(NO_MEMORY);
        }
        Ok(done)
    }

    /// Lets views follow an edit of the whole: the `kept` ones to where their containers are now,
    /// the `taken` ones to copies.
    fn follow_whole(
        document: &Bound<'_, Document>,
        state: &State,
        trash: &mut Trash,
        watch: &Watch,
        mut kept: Vec<(&View, NodeId)>,
        taken: &[&View],
    ) -> Held<()> {
        let py = document.py();
        if !taken.is_empty() {
            Aside::of_old(py, state, watch, taken)?.take(py, document, trash);
        }
        kept.retain(|(view, _)| !view.has_left(document));
        arrange(py, state, &kept)
    }
}

impl<'a> Aside<'a> {
    /// Copies of what an edit has taken, from the document as it was before.
    fn of_old(py: Python<'_>, state: &State, watch: &Watch, taken: &[&'a View]) -> Held<Aside<'a>> {
        let bytes = state.editor()?.as_bytes();
        let mut aside = Aside::default();
        let old = watch.with(|recorder| -> PyResult<_> {
            let mut memory = Memory::own(py, recorder.base_length() as usize)?;
            let place = memory.bytes_mut();
            let same = place.len().min(bytes.len());
            place[..same].copy_from_slice(&bytes[..same]);
            recorder.restore(0, place);
            Ok((!recorder.is_lost()).then_some(memory))
        })?;
        let Some(old) = old.and_then(|memory| Editor::open_unvalidated(memory).ok()) else {
            taken.iter().for_each(|view| view.leave(MANY));
            return Ok(aside);
        };
        let mut copies: HashMap<Vec<Step>, usize> = HashMap::new();
        for view in taken {
            // Those above take it along.
            if view
                .parent()
                .is_some_and(|above| taken.iter().any(|view| std::ptr::eq(*view, above)))
            {
                continue;
            }
            let path = view.path(py)?;
            let number = match copies.get(&path) {
                Some(number) => *number,
                None => {
                    let mut value = Some(old.doc().root());
                    for step in &path {
                        value = match (value, step) {
                            (Some(above), Step::Key(key)) => above.get(&**key)?,
                            (Some(above), Step::Index(index)) => above.get(*index)?,
                            (None, _) => None,
                        };
                    }
                    let Some(value) = value else { continue };
                    aside.copies.push((Document::copy_of(py, &value, state)?, Vec::new()));
                    copies.insert(path, aside.copies.len() - 1);
                    aside.copies.len() - 1
                }
            };
            aside.copies[number].1.push(*view);
        }
        Ok(aside)
    }
}

/// Puts views at the places where their containers are now, which the handles lead to.
fn arrange(py: Python<'_>, state: &State, kept: &[(&View, NodeId)]) -> Held<()> {
    let editor = state.editor()?;
    let mut arrays: HashMap<u64, HashMap<u64, usize>> = HashMap::new();
    for (view, node) in kept {
        let above = match view.parent() {
            Some(above) => editor.renewed(above.last()),
            None => editor.root_id(),
        };
        let step = view.step(py);
        let here = match (above, step) {
            (Some(above), Some(StepRef::Key(key))) => editor.child(above, key).ok().flatten(),
            (Some(above), Some(StepRef::Index(index))) => editor.child(above, index).ok().flatten(),
            _ => None,
        };
        if here.is_some_and(|here| place_of(here) == place_of(*node)) {
            continue;
        }
        let (Some(above), Some(StepRef::Index(_))) = (above, step) else {
            view.leave(MOVED);
            continue;
        };
        let places = match arrays.entry(place_of(above)) {
            Entry::Occupied(places) => places.into_mut(),
            Entry::Vacant(vacant) => {
                let mut places = HashMap::new();
                for index in 0..editor.value(above)?.len()?.unwrap_or(0) {
                    if let Some(child) = editor.child(above, index)? {
                        places.insert(place_of(child), index);
                    }
                }
                vacant.insert(places)
            }
        };
        match places.get(&place_of(*node)) {
            Some(&index) => view.put(index),
            None => view.leave(MOVED),
        }
    }
    Ok(())
}

/// What handles of one container have in common, and no others, if they are current.
fn place_of(node: NodeId) -> u64 {
    node.to_words()[0]
}
