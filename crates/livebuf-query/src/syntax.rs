//! A query as its parts: what the parser makes and the walk reads.

use crate::number::Number;
use crate::regexp::Regexp;

/// A query, or one within a filter.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// Whether it begins at the root (`$`), not at the value that is looked at (`@`).
    pub(crate) absolute: bool,
    pub(crate) segments: Vec<Segment>,
    /// Whether it finds one value at most, by its form: names and indexes only.
    pub(crate) singular: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Whether its selectors apply to the value and to all below it (`..`).
    pub(crate) descendant: bool,
    pub(crate) selectors: Vec<Selector>,
}

#[derive(Clone, Debug)]
pub(crate) enum Selector {
    Name(String),
    Wildcard,
    Index(i64),
    Slice { start: Option<i64>, end: Option<i64>, step: i64 },
    Filter(Logical),
}

#[derive(Clone, Debug)]
pub(crate) enum Logical {
    Any(Vec<Logical>),
    All(Vec<Logical>),
    Not(Box<Logical>),
    Exists(Path),
    Compare(Operand, Comparison, Operand),
    /// `match` and `search`.
    Matches {
        text: Operand,
        pattern: Pattern,
        whole: bool,
    },
}

/// What is to be compared: a value, or nothing.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Singular(Path),
    Length(Box<Operand>),
    Count(Path),
    Value(Path),
}

#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Compiled with the query; `None` where it is no I-Regexp, which matches nothing.
    Fixed(Option<Regexp>),
    /// Compiled for each value.
    Computed(Operand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The same with its sides exchanged.
    pub(crate) fn mirrored(self) -> Comparison {
        use Comparison::*;
        match self {
            Less => Greater,
            LessOrEqual => GreaterOrEqual,
            Greater => Less,
            GreaterOrEqual => LessOrEqual,
            same => same,
        }
    }
}
