//! Why a text is no query.

use std::fmt;

/// Why a text is not a query of RFC 9535: where, and what was expected there.
///
/// ```
/// use livebuf_query::Query;
///
/// let error = Query::parse("$.laps[?@.time >]").unwrap_err();
/// assert_eq!(error.column(), 17);
/// assert_eq!(
///     error.to_string(),
///     "column 17: expected a literal, a query of one value or a function, found `]`"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    pub(crate) column: usize,
    pub(crate) offset: usize,
    pub(crate) expected: &'static str,
    pub(crate) found: Option<char>,
}

impl QueryError {
    /// Where, counted in characters from 1. One beyond the last where the text ends too soon.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The same as an offset in bytes, from 0.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The thing that was expected there, in words.
    pub fn expected(&self) -> &'static str {
        self.expected
    }

    /// The character that was found there; `None` at the text's end.
    pub fn found(&self) -> Option<char> {
        self.found
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: expected {}, found ", self.column, self.expected)?;
        match self.found {
            Some(found) if found.is_control() => write!(f, "{found:?}"),
            Some(found) => write!(f, "`{found}`"),
            None => f.write_str("the end"),
        }
    }
}

impl std::error::Error for QueryError {}
