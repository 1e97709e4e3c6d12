//! Where a match lies: its steps from the root, as a normalized path or a JSON pointer.

use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// One step down: a member's key, or an element's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step<'a> {
    /// Into an object, to the member of this key.
    Key(&'a str),
    /// Into an array, to the element of this index.
    Index(usize),
}

/// How many steps need no allocation. Longer places share steps in pieces of this length.
const INLINE: usize = 4;

/// The first steps that several places share: four, and those above them.
struct Shared<'a> {
    above: Option<Arc<Shared<'a>>>,
    steps: [Step<'a>; INLINE],
    /// How many there are with those above.
    count: usize,
}

impl Drop for Shared<'_> {
    /// Without recursion: documents nest deep.
    fn drop(&mut self) {
        let mut next = self.above.take();
        while let Some(mut last) = next.and_then(Arc::into_inner) {
            next = last.above.take();
        }
    }
}

/// The way to where a walk stands.
#[derive(Default)]
pub(crate) struct Trail<'a> {
    steps: Vec<Step<'a>>,
    /// Its first steps, as far as earlier places have them: [`INLINE`] in each.
    shared: Vec<Arc<Shared<'a>>>,
    /// How many steps are the same since the last match.
    same: usize,
}

impl<'a> Trail<'a> {
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn steps(&self) -> &[Step<'a>] {
        &self.steps
    }

    #[inline]
    pub(crate) fn push(&mut self, step: Step<'a>) {
        self.steps.push(step);
    }

    #[inline]
    pub(crate) fn truncate(&mut self, length: usize) {
        self.steps.truncate(length);
        self.changed(length);
    }

    /// Sets a step, and keeps those after it.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, step: Step<'a>) {
        if let Some(old) = self.steps.get_mut(place) {
            *old = step;
        }
        self.changed(place);
    }

    #[inline]
    fn changed(&mut self, place: usize) {
        self.same = self.same.min(place);
        if self.shared.len() > place / INLINE {
            self.shared.truncate(place / INLINE);
        }
    }

    /// Called at a match: how many of its steps are those of the match before.
    #[inline]
    pub(crate) fn found(&mut self) -> usize {
        std::mem::replace(&mut self.same, self.steps.len())
    }

    /// The place. It shares all but its last steps with the places before.
    #[inline]
    pub(crate) fn location(&mut self) -> Location<'a> {
        if self.steps.len() <= INLINE {
            return Location { head: None, tail: SmallVec::from_slice(&self.steps) };
        }
        self.long_location()
    }

    #[inline(never)]
    fn long_location(&mut self) -> Location<'a> {
        // At least one step comes after those that are shared.
        let count = (self.steps.len() - 1) / INLINE;
        let (whole, _) = self.steps.as_chunks::<INLINE>();
        for steps in whole.iter().take(count).skip(self.shared.len()) {
            let above = self.shared.last().cloned();
            let count = above.as_ref().map_or(0, |above| above.count) + INLINE;
            self.shared.push(Arc::new(Shared { above, steps: *steps, count }));
        }
        let head = count.checked_sub(1).and_then(|last| self.shared.get(last)).cloned();
        let tail = self.steps.get(count * INLINE..).unwrap_or_default();
        Location { head, tail: SmallVec::from_slice(tail) }
    }
}

/// The place of a match: the [`Step`]s from the value that was queried to it.
///
/// `Display` gives the normalized path of RFC 9535. No text is built before it is asked for. Up
/// to four steps need no allocation. Of more, places of one search share those that they have in
/// common: a place takes some 120 bytes, however deep it lies.
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
#[derive(Clone)]
pub struct Location<'a> {
    head: Option<Arc<Shared<'a>>>,
    /// The last steps, up to four. It is empty only for the root.
    tail: SmallVec<[Step<'a>; INLINE]>,
}

impl<'a> Location<'a> {
    /// The steps, from the root on; none for the root.
    ///
    /// Linear in their count: they are gathered anew by each call.
    pub fn steps(&self) -> Vec<Step<'a>> {
        let mut steps = Vec::with_capacity(self.len());
        self.each(|step| steps.push(step));
        steps
    }

    /// The last step; `None` for the root.
    pub fn last(&self) -> Option<Step<'a>> {
        self.tail.last().copied()
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.head.as_ref().map_or(0, |head| head.count) + self.tail.len()
    }

    /// Whether it is the root: no step leads to it.
    pub fn is_empty(&self) -> bool {
        self.tail.is_empty()
    }

    /// Whether another place is this one, or lies within it.
    pub(crate) fn leads_to(&self, other: &Location<'a>) -> bool {
        self.len() <= other.len() && other.steps().starts_with(&self.steps())
    }

    fn each(&self, mut look: impl FnMut(Step<'a>)) {
        let mut above = self.head.as_deref();
        let mut shared: SmallVec<[&[Step<'a>]; 8]> = SmallVec::new();
        while let Some(steps) = above {
            shared.push(&steps.steps);
            above = steps.above.as_deref();
        }
        shared.into_iter().rev().flatten().chain(&self.tail).for_each(|step| look(*step));
    }

    /// Both without the first steps that they share in memory.
    fn apart(&self, other: &Location<'a>) -> Option<(Vec<Step<'a>>, Vec<Step<'a>>)> {
        let same = match (&self.head, &other.head) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => true,
            _ => false,
        };
        (!same).then(|| (self.steps(), other.steps()))
    }

    /// The place as a JSON pointer (RFC 6901), as the calls of editors take it.
    ///
    /// Linear in the length of the keys.
    pub fn to_pointer(&self) -> String {
        let mut text = String::new();
        self.each(|step| match step {
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
        });
        text
    }
}

impl Ord for Location<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match self.apart(other) {
            Some((one, two)) => one.cmp(&two),
            None => self.tail.cmp(&other.tail),
        }
    }
}

impl PartialOrd for Location<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Location<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.cmp(other).is_eq()
    }
}

impl Eq for Location<'_> {}

impl Hash for Location<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.each(|step| step.hash(state));
    }
}

impl<'a> FromIterator<Step<'a>> for Location<'a> {
    /// The place that these steps lead to, such as steps that you kept.
    fn from_iter<I: IntoIterator<Item = Step<'a>>>(steps: I) -> Self {
        let mut trail = Trail::default();
        steps.into_iter().for_each(|step| trail.push(step));
        trail.location()
    }
}

/// The normalized path (RFC 9535, 2.7).
impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('$')?;
        let mut written = Ok(());
        self.each(|step| {
            if written.is_ok() {
                written = write_step(f, step);
            }
        });
        written
    }
}

fn write_step(f: &mut fmt::Formatter<'_>, step: Step<'_>) -> fmt::Result {
    let key = match step {
        Step::Index(index) => return write!(f, "[{index}]"),
        Step::Key(key) => key,
    };
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
    f.write_str("']")
}

impl fmt::Debug for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}
