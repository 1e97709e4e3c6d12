//! Where a match lies: its steps from the root, as a normalized path or a JSON pointer.

use smallvec::SmallVec;
use std::fmt::{self, Write};

/// One step down: a member's key, or an element's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step<'a> {
    /// Into an object, to the member of this key.
    Key(&'a str),
    /// Into an array, to the element of this index.
    Index(usize),
}

/// Steps that need no allocation.
const INLINE: usize = 4;

pub(crate) type Steps<'a> = SmallVec<[Step<'a>; INLINE]>;

/// The place of a match: the [`Step`]s from the value that was queried to it.
///
/// `Display` gives the normalized path of RFC 9535. No text is built before it is asked for; up
/// to four steps need no allocation.
///
/// ```
/// use livebuf::json;
/// use livebuf_query::{Query, Step};
///
/// let doc = json!({"teams": [{"a/b": 1}]});
/// let query = Query::parse("$..['a/b']")?;
/// let found = query.first(&doc)?.unwrap();
/// assert_eq!(found.location().to_string(), "$['teams'][0]['a/b']");
/// assert_eq!(found.location().to_pointer(), "/teams/0/a~1b");
/// assert_eq!(found.location().steps()[1], Step::Index(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location<'a> {
    steps: Steps<'a>,
}

impl<'a> Location<'a> {
    pub(crate) fn new(steps: &[Step<'a>]) -> Self {
        Location { steps: SmallVec::from_slice(steps) }
    }

    /// The steps, from the root on; none for the root.
    pub fn steps(&self) -> &[Step<'a>] {
        &self.steps
    }

    /// The place as a JSON pointer (RFC 6901), as the calls of editors take it.
    ///
    /// Linear in the length of the keys.
    pub fn to_pointer(&self) -> String {
        let mut text = String::new();
        for step in &self.steps {
            match *step {
                Step::Index(index) => {
                    let _ = write!(text, "/{index}");
                }
                Step::Key(key) => {
                    text.push('/');
                    for letter in key.chars() {
                        match letter {
                            '~' => text.push_str("~0"),
                            '/' => text.push_str("~1"),
                            other => text.push(other),
                        }
                    }
                }
            }
        }
        text
    }
}

impl<'a> FromIterator<Step<'a>> for Location<'a> {
    /// The place that these steps lead to, such as steps that you kept.
    fn from_iter<I: IntoIterator<Item = Step<'a>>>(steps: I) -> Self {
        Location { steps: steps.into_iter().collect() }
    }
}

/// The normalized path (RFC 9535, 2.7).
impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('$')?;
        for step in &self.steps {
            match *step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    f.write_str("['")?;
                    for letter in key.chars() {
                        match letter {
                            '\u{8}' => f.write_str("\\b")?,
                            '\t' => f.write_str("\\t")?,
                            '\n' => f.write_str("\\n")?,
                            '\u{c}' => f.write_str("\\f")?,
                            '\r' => f.write_str("\\r")?,
                            '\'' => f.write_str("\\'")?,
                            '\\' => f.write_str("\\\\")?,
                            other if other < ' ' => write!(f, "\\u{:04x}", other as u32)?,
                            other => f.write_char(other)?,
                        }
                    }
                    f.write_str("']")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}
