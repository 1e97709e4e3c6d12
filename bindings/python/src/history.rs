//! Places in a document as keys and indexes, and the edits that shift places.

use std::collections::VecDeque;

use crate::error::{Fault, Held};

/// A key or index on the way from the root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Key(Box<str>),
    Index(usize),
}

/// Places below a container whose values an edit moved elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// The member with this key: it got another key.
    Member(Box<str>),
    /// The elements from the first index up to the second, which is not included.
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

    /// Whether this event hits all places that `earlier` hits.
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

pub(crate) const SHIFTED: &str = "an edit shifted its place; look it up again";
const FORGOTTEN: &str = "too many edits were made since it was last used";
pub(crate) const CHANGED: &str =
    "the document was changed as a whole (a patch, delta, query or undo); look it up again";
pub(crate) const ROLLED_BACK: &str = "a transaction was rolled back; look it up again";

/// Most edits that are remembered for views that were not used since.
const REMEMBERED: usize = 4096;

/// Edits that shifted places, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Log {
    number: u64,
    events: VecDeque<Event>,
    /// Number of the newest event that is forgotten.
    forgotten: u64,
    /// Why, if that was no lack of room.
    reason: Option<&'static str>,
}

impl Log {
    /// Number of the newest event.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn push(&mut self, path: Vec<Step>, effect: Effect) {
        self.number += 1;
        let event = Event { number: self.number, path, effect };
        // Views made between the two are younger than the earlier event, so it may go.
        if self.events.back().is_some_and(|last| event.covers(last)) {
            self.events.pop_back();
        }
        if self.events.len() == REMEMBERED
            && let Some(oldest) = self.events.pop_front()
        {
            (self.forgotten, self.reason) = (oldest.number, None);
        }
        self.events.push_back(event);
    }

    /// Any place may hold something else than its views saw; `reason` says why.
    pub(crate) fn reset(&mut self, reason: &'static str) {
        self.number += 1;
        self.events.clear();
        (self.forgotten, self.reason) = (self.number, Some(reason));
    }

    /// Checks that no event since number `seen` hit a place.
    pub(crate) fn check(&self, seen: u64, path: impl FnOnce() -> Held<Vec<Step>>) -> Held<()> {
        if seen == self.number {
            return Ok(());
        }
        let path = path()?;
        if path.is_empty() {
            return Ok(());
        }
        if seen < self.forgotten {
            return Err(Fault::Stale(self.reason.unwrap_or(FORGOTTEN)));
        }
        let newer = self.events.iter().rev().take_while(|event| event.number > seen);
        match newer.into_iter().any(|event| event.hits(&path)) {
            true => Err(Fault::Stale(SHIFTED)),
            false => Ok(()),
        }
    }
}

/// What an edit takes away from a container. The edit copies it beforehand, into a document of
/// its own. Views of it go on there.
#[derive(Clone, Copy)]
pub(crate) enum Taken<'a> {
    Nothing,
    /// The whole document's value.
    Root,
    Member(&'a str),
    /// The elements from the first index up to the second, which is not included.
    Elements(usize, usize),
    All,
}

/// What an edit does to places below a container.
pub(crate) struct Change<'a> {
    pub(crate) taken: Taken<'a>,
    /// Places whose views become stale.
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

    /// An element is removed, and those behind it move up.
    pub(crate) fn removes(index: usize) -> Change<'static> {
        let next = index.saturating_add(1);
        Change { taken: Taken::Elements(index, next), shifted: vec![Effect::from(next)] }
    }
}

/// A [`Step`] that borrows its key.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum StepRef<'a> {
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
    pub(crate) fn to_step(self) -> Step {
        match self {
            StepRef::Key(key) => Step::Key(key.into()),
            StepRef::Index(index) => Step::Index(index),
        }
    }
}
