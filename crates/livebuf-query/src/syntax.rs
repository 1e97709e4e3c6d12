//! A query as its parts: what the parser makes and the walk reads.

use crate::regexp::Regexp;
use livebuf::Number;
use std::cmp::Ordering;

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
    Number(Literal),
    Text(String),
    Singular(Path),
    Length(Box<Operand>),
    Count(Path),
    Value(Path),
}

/// A number of the query's text: an integer where it is written as one, else a double.
#[derive(Clone, Debug)]
pub(crate) enum Literal {
    Int(i128),
    Float(f64),
    /// A number that neither of them holds.
    Text(String),
    /// A number with more digits than its nearest double. A document of that text has the double, a
    /// decimal the digits. So it meets doubles as a double, and all else as digits.
    Long(String, f64),
}

impl Literal {
    pub(crate) fn parse(text: &str) -> Literal {
        if let Ok(whole) = text.parse() {
            return Literal::Int(whole);
        }
        match text.parse::<f64>() {
            // An integer beyond `i128` is not a double.
            Ok(value) if value.is_finite() && text.contains(['.', 'e', 'E']) => {
                match Number::Float(value) == Number::Text(text) {
                    true => Literal::Float(value),
                    false => Literal::Long(text.to_owned(), value),
                }
            }
            _ => Literal::Text(text.to_owned()),
        }
    }

    /// `None` if that depends on the number that it is compared with.
    pub(crate) fn number(&self) -> Option<Number<'_>> {
        match self {
            Literal::Long(..) => None,
            other => Some(other.meets(Number::Int(0))),
        }
    }

    pub(crate) fn compare(&self, other: &Literal) -> Option<Ordering> {
        // If both are long, by digits.
        let to = other.number().unwrap_or(Number::Int(0));
        let number = self.meets(to);
        number.partial_cmp(&other.meets(number))
    }

    /// The number as which it is compared with another one.
    pub(crate) fn meets(&self, other: Number<'_>) -> Number<'_> {
        match self {
            Literal::Int(value) => Number::Int(*value),
            Literal::Float(value) => Number::Float(*value),
            Literal::Long(_, value) if matches!(other, Number::Float(_)) => Number::Float(*value),
            Literal::Text(text) | Literal::Long(text, _) => Number::Text(text),
        }
    }
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
