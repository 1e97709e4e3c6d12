//! Places in a document as keys and indexes, and how edits move them.

use livebuf::{Kind, Value};

use crate::error::Held;

/// A key or index on the way from the root.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Key(Box<str>),
    Index(usize),
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

impl Taken<'_> {
    /// Whether an edit that takes this from a container may free bytes: not if it sets a number or
    /// the like, which has none of its own.
    pub(crate) fn may_free<'d>(self, container: impl FnOnce() -> Held<Value<'d>>) -> Held<bool> {
        let old = match self {
            Taken::Member(key) => container()?.get(key)?,
            Taken::Elements(first, end) if end == first + 1 => container()?.get(first)?,
            _ => None,
        };
        Ok(!old.is_some_and(|old| {
            matches!(old.kind(), Kind::Null | Kind::Bool | Kind::Int | Kind::Float)
        }))
    }

    /// One element.
    pub(crate) fn element(index: usize) -> Taken<'static> {
        Taken::Elements(index, index.saturating_add(1))
    }
}

/// How an edit moved what is in a container to other places in it.
#[derive(Debug, PartialEq)]
pub(crate) enum Move {
    /// This many elements were inserted before an index.
    Inserted(usize, usize),
    /// This many elements were removed from an index on.
    Removed(usize, usize),
    Swapped(usize, usize),
    /// Of each element, where it is now.
    Arranged(Vec<usize>),
    /// A member got another key.
    Renamed(Box<str>, Box<str>),
}

impl Move {
    /// Where an element is afterwards; `None` if it was removed.
    pub(crate) fn follow(&self, index: usize) -> Option<usize> {
        Some(match self {
            Move::Inserted(at, count) if index >= *at => index + count,
            Move::Removed(at, count) if index >= *at => {
                return (index - at >= *count).then(|| index - count);
            }
            Move::Swapped(one, other) if index == *one => *other,
            Move::Swapped(one, other) if index == *other => *one,
            Move::Arranged(now) => return now.get(index).copied(),
            _ => index,
        })
    }
}

/// What an edit of a container did.
#[derive(Default)]
pub(crate) struct Done {
    /// Whether something changed.
    pub(crate) changed: bool,
    pub(crate) moves: Vec<Move>,
}

impl Done {
    /// An element was inserted before an index.
    pub(crate) fn inserted(&mut self, index: usize) {
        match self.moves.last_mut() {
            Some(Move::Inserted(at, count)) if *at + *count == index => *count += 1,
            _ => self.moves.push(Move::Inserted(index, 1)),
        }
        self.changed = true;
    }

    /// The element at an index was removed.
    pub(crate) fn removed(&mut self, index: usize) {
        match self.moves.last_mut() {
            Some(Move::Removed(at, count)) if *at == index => *count += 1,
            _ => self.moves.push(Move::Removed(index, 1)),
        }
        self.changed = true;
    }

    pub(crate) fn moved(&mut self, way: Move) {
        self.moves.push(way);
        self.changed = true;
    }
}
