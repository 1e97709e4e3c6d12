//! Places of views: how they outlive edits, and how they learn that they are gone.
//!
//! A view keeps a handle of the core and the chain of views above it. Handles go stale by
//! many edits; then a view is found again along its chain.
//!
//! An edit that takes a place away first copies what is there into a document of its own,
//! if views of it live: the document knows them all ([`Views`]). They and the views below
//! them then go on in that copy ([`Aside`]). An edit that shifts places is put into the
//! document's [`Log`]: views that find their place there are stale.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ptr::{self, NonNull};

use hashbrown::{DefaultHashBuilder, HashTable};
use livebuf::{Editor, NodeId, Storage, Value};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::array::Array;
use crate::document::{self, Document, State, is_container};
use crate::error::{Fault, Held};
use crate::memory::Memory;
use crate::object::Object;

/// A token of a JSON pointer as the key that it names.
pub(crate) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// A key or index on the way from the root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Key(Box<str>),
    Index(usize),
}

/// What now is at other places below a container than it was.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// The member got another key.
    Member(Box<str>),
    /// The elements from the first index up to but not including the second.
    Elements(usize, usize),
}

impl Effect {
    /// One element.
    pub(crate) fn element(index: usize) -> Effect {
        Effect::Elements(index, index.saturating_add(1))
    }

    /// All elements from an index on.
    pub(crate) fn from(index: usize) -> Effect {
        Effect::Elements(index, usize::MAX)
    }
}

#[derive(Debug)]
struct Event {
    number: u64,
    /// The container's path.
    path: Vec<Step>,
    effect: Effect,
}

impl Event {
    fn hits(&self, path: &[Step]) -> bool {
        let below = path.strip_prefix(self.path.as_slice());
        let Some(step) = below.and_then(|rest| rest.first()) else { return false };
        match (&self.effect, step) {
            (Effect::Member(member), Step::Key(key)) => member == key,
            (Effect::Elements(first, end), Step::Index(index)) => (first..end).contains(&index),
            _ => false,
        }
    }

    /// Whether no place is hit by `earlier` and not by this.
    fn covers(&self, earlier: &Event) -> bool {
        self.path == earlier.path
            && match (&self.effect, &earlier.effect) {
                (Effect::Elements(first, end), Effect::Elements(before, until)) => {
                    first <= before && until <= end
                }
                (now, before) => now == before,
            }
    }
}

const SHIFTED: &str = "an edit shifted its place; look it up again";

/// Most edits that are remembered for the views that have not looked since.
const REMEMBERED: usize = 4096;

/// Edits that shifted places, the newest last.
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

    pub(crate) fn push(&mut self, path: Vec<Step>, effect: Effect) {
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
    fn check(&self, seen: u64, path: impl FnOnce() -> Held<Vec<Step>>) -> Held<()> {
        if seen == self.number {
            return Ok(());
        }
        if seen < self.forgotten {
            return Err(Fault::Stale("too many edits were made since it was last used"));
        }
        let path = path()?;
        let newer = self.events.iter().rev().take_while(|event| event.number > seen);
        match newer.into_iter().any(|event| event.hits(&path)) {
            true => Err(Fault::Stale(SHIFTED)),
            false => Ok(()),
        }
    }
}

/// What an edit takes away from a container. Views of what is taken go on over a private
/// copy of it: a document of its own, which the edit makes beforehand.
#[derive(Clone, Copy)]
pub(crate) enum Taken<'a> {
    Nothing,
    /// The whole document's value.
    Root,
    Member(&'a str),
    /// The elements from the first index up to but not including the second.
    Elements(usize, usize),
    All,
}

/// What an edit does to places below a container.
pub(crate) struct Change<'a> {
    pub(crate) taken: Taken<'a>,
    /// Places whose views are stale afterwards.
    pub(crate) shifted: Vec<Effect>,
}

impl<'a> Change<'a> {
    pub(crate) const NONE: Change<'static> = Change { taken: Taken::Nothing, shifted: Vec::new() };

    pub(crate) fn takes(taken: Taken<'a>) -> Change<'a> {
        Change { taken, shifted: Vec::new() }
    }

    pub(crate) fn shifts(effects: impl Into<Vec<Effect>>) -> Change<'static> {
        Change { taken: Taken::Nothing, shifted: effects.into() }
    }

    /// An element goes, and those behind it move up.
    pub(crate) fn removes(index: usize) -> Change<'static> {
        let next = index.saturating_add(1);
        Change { taken: Taken::Elements(index, next), shifted: vec![Effect::from(next)] }
    }
}

/// What is above a view. Without a view of its own the container above is the root.
pub(crate) enum Above {
    Nothing,
    Object(Option<Py<Object>>, Py<PyString>),
    Array(Option<Py<Array>>, usize),
}

/// Where a view is.
struct Place {
    document: Py<Document>,
    above: Above,
    /// Of the path, by the hasher of the document's [`Views`]; 0 until it is asked for.
    hash: Cell<u64>,
    node: NodeId,
    /// Number of the newest event when the node was found.
    seen: u64,
}

/// A container of a document, as an [`Object`] or [`Array`] knows it.
///
/// Its place is looked at by attached threads, one at a time. It is changed by who has the
/// lock of its document, and by nobody who waits or runs Python code meanwhile.
pub(crate) struct View(UnsafeCell<Place>);

// SAFETY: as the type says; the module asks for an interpreter lock.
unsafe impl Sync for View {}

/// The views of a document that live: a few as they come, more by the hashes of their paths.
///
/// Looked at and changed by attached threads, one at a time, none of which runs Python code
/// meanwhile. A view is here from the moment on at which it lies in a Python object.
#[derive(Default)]
pub(crate) struct Views {
    /// Views that come and go with a look-up are here, which takes less time.
    few: [Cell<Option<NonNull<View>>>; 8],
    table: UnsafeCell<HashTable<NonNull<View>>>,
    hasher: DefaultHashBuilder,
}

// SAFETY: as the type says.
unsafe impl Send for Views {}
// SAFETY: as above.
unsafe impl Sync for Views {}

/// The hash of the root's path.
pub(crate) const ROOT: u64 = 1;

impl Views {
    fn table(&self) -> &HashTable<NonNull<View>> {
        // SAFETY: attached threads take turns, and no caller keeps it.
        unsafe { &*self.table.get() }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.few.iter().filter(|slot| slot.get().is_some()).count() + self.table().len()
    }

    #[inline(always)]
    fn add(&self, py: Python<'_>, view: &View) {
        match self.few.iter().find(|slot| slot.get().is_none()) {
            Some(slot) => slot.set(Some(view.into())),
            None => self.add_to_table(py, view),
        }
    }

    #[inline(never)]
    fn add_to_table(&self, py: Python<'_>, view: &View) {
        let hash = view.hash(py);
        // SAFETY: as in `table`.
        let table = unsafe { &mut *self.table.get() };
        table.insert_unique(hash, view.into(), |other| {
            // SAFETY: what is in the table lives, and had its hash when it came.
            unsafe { other.as_ref() }.place().hash.get()
        });
    }

    #[inline(always)]
    fn remove(&self, view: &View) {
        match self.few.iter().find(|slot| slot.get() == Some(view.into())) {
            Some(slot) => slot.set(None),
            None => self.remove_from_table(view),
        }
    }

    #[inline(never)]
    fn remove_from_table(&self, view: &View) {
        // SAFETY: as in `table`.
        let table = unsafe { &mut *self.table.get() };
        let hash = view.place().hash.get();
        if let Ok(entry) = table.find_entry(hash, |other| *other == view.into()) {
            entry.remove();
        }
        if table.is_empty() && table.capacity() > 1024 {
            *table = HashTable::new();
        }
    }

    /// Views whose paths have a hash.
    fn with_hash<'a>(&'a self, py: Python<'a>, hash: u64) -> impl Iterator<Item = &'a View> {
        let few = self.few.iter().filter_map(Cell::get);
        // SAFETY: what is here lives.
        let views = few.chain(self.table().iter_hash(hash).copied()).map(|v| unsafe { v.as_ref() });
        views.filter(move |view| view.hash(py) == hash)
    }

    fn all(&self) -> impl Iterator<Item = &View> {
        let few = self.few.iter().filter_map(Cell::get);
        // SAFETY: as above.
        few.chain(self.table().iter().copied()).map(|view| unsafe { view.as_ref() })
    }

    fn below(&self, hash: u64, step: StepRef<'_>) -> u64 {
        let hash = match step {
            StepRef::Key(key) => self.hasher.hash_one((hash, key)),
            StepRef::Index(index) => self.hasher.hash_one((hash, index)),
        };
        // 0 is for hashes that nobody asked for.
        hash.max(1)
    }

    pub(crate) fn hash(&self, path: &[Step]) -> u64 {
        path.iter().fold(ROOT, |hash, step| self.below(hash, step.into()))
    }
}

/// A [`Step`] that is not kept.
#[derive(Clone, Copy, PartialEq)]
enum StepRef<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> From<&'a Step> for StepRef<'a> {
    fn from(step: &'a Step) -> Self {
        match step {
            Step::Key(key) => StepRef::Key(key),
            Step::Index(index) => StepRef::Index(*index),
        }
    }
}

impl StepRef<'_> {
    fn to_step(self) -> Step {
        match self {
            StepRef::Key(key) => Step::Key(key.into()),
            StepRef::Index(index) => Step::Index(index),
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.place().document.get().views().remove(self);
    }
}

impl View {
    /// A view of a handle that was just found. It must be [kept](Self::keep) where it stays.
    pub(crate) fn new(document: Py<Document>, above: Above, node: NodeId, state: &State) -> View {
        let seen = state.log.number();
        View(UnsafeCell::new(Place { document, above, hash: Cell::new(0), node, seen }))
    }

    /// Makes the view, which is where it stays, known to its document.
    #[inline(always)]
    pub(crate) fn keep(&self, py: Python<'_>) {
        self.place().document.get().views().add(py, self);
    }

    #[inline(always)]
    fn place(&self) -> &Place {
        // SAFETY: as the type says; callers keep no reference while others may change it.
        unsafe { &*self.0.get() }
    }

    /// The hash of the path.
    fn hash(&self, py: Python<'_>) -> u64 {
        let Place { hash, document, .. } = self.place();
        if hash.get() == 0 {
            let above = self.parent().map_or(ROOT, |parent| parent.hash(py));
            hash.set(self.step(py).map_or(ROOT, |step| document.get().views().below(above, step)));
        }
        hash.get()
    }

    /// The document that the view is of now: where its place is taken, another.
    #[inline(always)]
    pub(crate) fn document<'py>(&self, py: Python<'py>) -> Bound<'py, Document> {
        self.place().document.bind(py).clone()
    }

    /// Whether the view came to another document while it waited for the lock of this.
    #[inline(always)]
    fn has_left(&self, document: &Bound<'_, Document>) -> bool {
        !self.place().document.is(document)
    }

    fn parent(&self) -> Option<&View> {
        match &self.place().above {
            Above::Nothing => None,
            Above::Object(object, _) => object.as_ref().map(|object| &object.get().view),
            Above::Array(array, _) => array.as_ref().map(|array| &array.get().view),
        }
    }

    /// Views on the way from the root, this one included.
    fn depth(&self) -> usize {
        std::iter::successors(Some(self), |view| view.parent()).count()
    }

    /// The step from the container above.
    fn step<'a>(&'a self, py: Python<'a>) -> Option<StepRef<'a>> {
        match &self.place().above {
            Above::Nothing => None,
            // A key that was looked up has UTF-8.
            Above::Object(_, key) => Some(StepRef::Key(key.bind(py).to_str().unwrap_or_default())),
            Above::Array(_, index) => Some(StepRef::Index(*index)),
        }
    }

    /// Keys and indexes from the root.
    pub(crate) fn path(&self, py: Python<'_>) -> Held<Vec<Step>> {
        let mut path = Vec::new();
        let mut view = Some(self);
        while let Some(at) = view {
            // What went to another document took its views along, save those that were stale.
            if !at.place().document.is(&self.place().document) {
                return Err(Fault::Stale(SHIFTED));
            }
            path.extend(at.step(py).map(StepRef::to_step));
            view = at.parent();
        }
        path.reverse();
        Ok(path)
    }

    /// The path as a JSON pointer (RFC 6901).
    pub(crate) fn pointer(&self, py: Python<'_>) -> Held<String> {
        let mut pointer = String::new();
        for step in self.path(py)? {
            pointer.push('/');
            match step {
                Step::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        Ok(pointer)
    }

    /// The handle, found again where it is stale.
    #[inline]
    pub(crate) fn node(&self, py: Python<'_>, state: &State) -> Held<NodeId> {
        let &Place { node, seen, .. } = self.place();
        if seen == state.log.number() && state.editor()?.is_current(node) {
            return Ok(node);
        }
        self.find_again(py, state, seen)
    }

    #[cold]
    fn find_again(&self, py: Python<'_>, state: &State, seen: u64) -> Held<NodeId> {
        const GONE: Fault = Fault::Stale("its place is gone");
        state.log.check(seen, || self.path(py))?;
        let editor = state.editor()?;
        let above = match self.parent() {
            Some(parent) => parent.node(py, state)?,
            None => editor.root_id().ok_or(GONE)?,
        };
        let node = match self.step(py) {
            None => above,
            Some(StepRef::Key(key)) => editor.child(above, key)?.ok_or(GONE)?,
            Some(StepRef::Index(index)) => editor.child(above, index)?.ok_or(GONE)?,
        };
        // SAFETY: the state is borrowed, so the lock is held, and by this thread.
        unsafe { ((*self.0.get()).node, (*self.0.get()).seen) = (node, state.log.number()) };
        Ok(node)
    }

    /// Whether it is stale, by what the document remembers.
    fn is_good(&self, py: Python<'_>, log: &Log) -> bool {
        log.check(self.place().seen, || self.path(py)).is_ok()
    }

    /// Looks at the document that the view is of, under its lock.
    #[inline(always)]
    fn look<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Bound<'_, Document>, &mut State) -> R,
    ) -> R {
        // Who has the lock keeps the view, and so the document, where they are.
        let document = self.place().document.bind(py);
        match document.get().is_locked(py) {
            false => look(document, &mut document.get().lock(py)),
            true => self.look_later(py, look),
        }
    }

    #[cold]
    #[inline(never)]
    fn look_later<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Bound<'_, Document>, &mut State) -> R,
    ) -> R {
        loop {
            let document = self.document(py);
            let mut state = document.get().lock(py);
            if !self.has_left(&document) {
                return look(&document, &mut state);
            }
        }
    }

    /// The document's edits and layout, for iterators.
    #[inline]
    pub(crate) fn edits(&self, py: Python<'_>) -> (u64, u64) {
        self.look(py, |_, state| (state.edits, state.layout))
    }

    /// Looks at the container.
    #[inline]
    pub(crate) fn read<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Value<'_>) -> Held<R>,
    ) -> PyResult<R> {
        Ok(self.look(py, |_, state| {
            let editor = state.whole()?;
            look(&editor.value(self.node(py, state)?)?)
        })?)
    }

    /// Looks at the container, and may make views below it.
    #[inline]
    pub(crate) fn reach<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Bound<'_, Document>, &mut State, NodeId) -> Held<R>,
    ) -> PyResult<R> {
        Ok(self.look(py, |document, state| {
            state.whole()?;
            let node = self.node(py, state)?;
            look(document, state, node)
        })?)
    }

    /// Edits the container. The last argument is to become true once something has changed,
    /// also where the edit fails afterwards: then the change is told to other views.
    pub(crate) fn edit<R>(
        &self,
        py: Python<'_>,
        change: Change<'_>,
        edit: impl FnMut(&mut Editor<Memory>, NodeId, &mut bool) -> Held<R>,
    ) -> PyResult<R> {
        self.edit_many(py, false, change, edit)
    }

    /// The same for edits of several steps, which cannot be begun again: what they may need
    /// is made sure of `before`.
    pub(crate) fn edit_many<R>(
        &self,
        py: Python<'_>,
        before: bool,
        change: Change<'_>,
        mut edit: impl FnMut(&mut Editor<Memory>, NodeId, &mut bool) -> Held<R>,
    ) -> PyResult<R> {
        let document = self.document(py);
        // What ends here may run Python code as it goes: after the lock.
        let mut trash = Vec::new();
        let mut state = document.get().lock(py);
        if self.has_left(&document) {
            drop(state);
            return self.edit_many(py, before, change, edit);
        }
        document.get().begin_edit(py, &mut state)?;
        let node = self.node(py, &state)?;
        if before && !state.editor()?.is_trusted() {
            state.editor_mut()?.validate().map_err(Fault::Core)?;
        }
        // Views on the way here are not below.
        let aside = match document.get().views().len() > self.depth() {
            true => {
                let value = state.editor()?.value(node).map_err(Fault::Core)?;
                let path = || self.path(py);
                Some(Aside::of(py, &document, &state, &value, self.hash(py), path, change)?)
            }
            false => None,
        };
        let mut changed = false;
        let result = document::edit(&mut state, |editor| edit(editor, node, &mut changed));
        if let (true, Some(aside)) = (changed, aside) {
            aside.settle(py, &document, &mut state, &mut trash);
        }
        Ok(result?)
    }
}

/// Looks at the containers of two views at once.
pub(crate) fn with_both<R>(
    py: Python<'_>,
    one: &View,
    other: &View,
    look: impl FnOnce(Value<'_>, Value<'_>) -> Held<R>,
) -> PyResult<R> {
    let (document, second) = (one.document(py), other.document(py));
    // In one order everywhere, so that no two threads wait for each other.
    let ordered = match document.as_ptr() <= second.as_ptr() {
        true => (&document, &second),
        false => (&second, &document),
    };
    let first_lock = ordered.0.get().lock(py);
    let second_lock = (!document.is(&second)).then(|| ordered.1.get().lock(py));
    if one.has_left(&document) || other.has_left(&second) {
        drop((first_lock, second_lock));
        return with_both(py, one, other, look);
    }
    let (state, of_second) = match (&second_lock, ordered.0.is(&document)) {
        (None, _) => (&*first_lock, &*first_lock),
        (Some(second_lock), true) => (&*first_lock, &**second_lock),
        (Some(second_lock), false) => (&**second_lock, &*first_lock),
    };
    let (editor, second_editor) = (state.whole()?, of_second.whole()?);
    let (node, second_node) = (one.node(py, state)?, other.node(py, of_second)?);
    let value = editor.value(node).map_err(Fault::Core)?;
    Ok(look(value, second_editor.value(second_node).map_err(Fault::Core)?)?)
}

/// What an edit of a container does to views below it.
pub(crate) struct Aside {
    /// The container's path.
    path: Vec<Step>,
    hash: u64,
    /// Copies of what the edit takes away while views of it live; of the whole root, no step.
    copies: Vec<(Option<Step>, Py<Document>)>,
    shifted: Vec<Effect>,
}

/// What is dropped when the lock was given back.
pub(crate) struct Trash(#[allow(dead_code, reason = "dropped")] (Py<Document>, Above));

impl Aside {
    /// Copies what an edit will take away, as far as there are views of it.
    ///
    /// # Errors
    /// What cannot be copied; then nothing is to be edited.
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
        // Behind the last is nothing to shift.
        shifted.retain(|effect| !matches!(effect, Effect::Elements(first, _) if *first >= count));
        let views = document.get().views();
        let mut aside = Aside { path: Vec::new(), hash, copies: Vec::new(), shifted };
        if !state.editor()?.storage().is_writable() {
            return Ok(aside);
        }
        // Views of taken places: those below them keep these. Hashes of paths may be equal
        // by chance; then a copy is made that nobody takes.
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
                // One place may have several.
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

    /// Whether a view is what a step from the container leads to.
    fn is_above(&self, py: Python<'_>, view: &View, step: Option<StepRef<'_>>) -> bool {
        view.path(py).is_ok_and(|path| match (path.split_last(), step) {
            (Some((last, above)), Some(step)) => {
                above == self.path.as_slice() && StepRef::from(last) == step
            }
            (None, None) => true,
            _ => false,
        })
    }

    /// After the edit: takes views to the copies, and makes others stale.
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
            let copied = copy.get().lock(py);
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

/// Takes views to a copy of what they show.
struct Mover<'a, 'py> {
    py: Python<'py>,
    document: &'a Bound<'py, Document>,
    state: &'a State,
    copy: &'a Bound<'py, Document>,
    /// The copy's.
    editor: &'a Editor<Memory>,
    seen: u64,
}

impl Mover<'_, '_> {
    /// Takes one view; what is above it may be another then.
    fn take(&self, view: &View, above: Option<Above>, node: NodeId, trash: &mut Vec<Trash>) {
        self.document.get().views().remove(view);
        // SAFETY: both documents' locks are held, and nobody has a reference into the place.
        let place = unsafe { &mut *view.0.get() };
        let document = std::mem::replace(&mut place.document, self.copy.clone().unbind());
        let above = match above {
            Some(above) => std::mem::replace(&mut place.above, above),
            None => Above::Nothing,
        };
        (place.node, place.seen, place.hash) = (node, self.seen, Cell::new(0));
        trash.push(Trash((document, above)));
        view.keep(self.py);
    }

    /// Takes the views below views that were taken: of each place that the copy has too.
    /// What cannot be read of it stays behind, and is stale.
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
                            && self.state.log.check(view.place().seen, place).is_ok()
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
