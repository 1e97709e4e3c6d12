//! Places in documents: `$.a.b[0]` as SQLite writes them, and JSON pointers (`/a/b/0`).

use livebuf::Value;
use livebuf::raw::pointer;
use livebuf_query::Step as Place;
use std::borrow::Cow;
use std::fmt::{self, Write};

/// Why a path does not lead to a value.
#[derive(Clone, Debug)]
pub enum PathError {
    /// Text that is no path.
    Malformed {
        /// The text.
        path: String,
        /// From which byte on it is wrong.
        at: usize,
        /// The text that would be right there.
        expected: &'static str,
    },
    /// The core: damage on the way, or a pointer that is none.
    Core(livebuf::Error),
}

impl From<livebuf::Error> for PathError {
    #[cold]
    fn from(error: livebuf::Error) -> PathError {
        PathError::Core(error)
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::Malformed { path, at, expected } => {
                write!(f, "bad path '{path}' at byte {at}: expected {expected}")
            }
            PathError::Core(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for PathError {}

/// One step down.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<'p> {
    /// Into an object.
    Key(Cow<'p, str>),
    /// Into an array.
    Index(usize),
    /// Into an array, counted from its end. 0 is the place behind the last element.
    FromEnd(usize),
    /// Of a JSON pointer: a key, or an index where there is an array.
    Token(&'p str),
}

/// A path that is read step by step.
#[derive(Clone, Debug)]
pub struct Path<'p> {
    text: &'p str,
    rest: &'p str,
    is_pointer: bool,
}

impl<'p> Path<'p> {
    /// A path in either notation. Its steps are looked at as they are taken.
    ///
    /// # Errors
    /// Text that begins as no path.
    pub fn new(text: &'p str) -> Result<Path<'p>, PathError> {
        if let Some(rest) = text.strip_prefix('$') {
            return Ok(Path { text, rest, is_pointer: false });
        }
        let path = Path { text, rest: text, is_pointer: true };
        match text.is_empty() || text.starts_with('/') {
            true => Ok(path),
            false => Err(path.wrong("'$' or '/'")),
        }
    }

    #[cold]
    fn wrong(&self, expected: &'static str) -> PathError {
        let at = self.text.len() - self.rest.len();
        PathError::Malformed { path: self.text.to_owned(), at, expected }
    }

    /// The next step; none at the path's end.
    ///
    /// # Errors
    /// Text that is no step.
    pub fn step(&mut self) -> Result<Option<Step<'p>>, PathError> {
        if self.is_pointer {
            let Some((token, rest)) = pointer::split(self.rest)? else { return Ok(None) };
            self.rest = rest;
            return Ok(Some(Step::Token(token)));
        }
        if let Some(rest) = self.rest.strip_prefix('.') {
            return self.member(rest).map(Some);
        }
        match self.rest.strip_prefix('[') {
            Some(rest) => self.element(rest).map(Some),
            None if self.rest.is_empty() => Ok(None),
            None => Err(self.wrong("'.' or '['")),
        }
    }

    fn member(&mut self, rest: &'p str) -> Result<Step<'p>, PathError> {
        let Some(quoted) = rest.strip_prefix('"') else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (key, behind) = rest.split_at(end);
            self.rest = if key.is_empty() { rest } else { behind };
            return match key {
                "" => Err(self.wrong("a key")),
                key => Ok(Step::Key(Cow::Borrowed(key))),
            };
        };
        let bytes = quoted.as_bytes();
        let mut end = 0;
        while bytes.get(end).is_some_and(|&byte| byte != b'"') {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let (Some(key), Some(behind)) = (quoted.get(..end), quoted.get(end + 1..)) else {
            self.rest = rest;
            return Err(self.wrong("a key in quotes"));
        };
        let key = match key.contains('\\') {
            false => Cow::Borrowed(key),
            true => match unquoted(&rest[..end + 2]) {
                Some(key) => Cow::Owned(key),
                None => {
                    self.rest = rest;
                    return Err(self.wrong("a key in quotes, with the escapes of JSON"));
                }
            },
        };
        self.rest = behind;
        Ok(Step::Key(key))
    }

    fn element(&mut self, rest: &'p str) -> Result<Step<'p>, PathError> {
        const EXPECTED: &str = "an index: [3], [#-1] from the end, or [#] behind the last";
        let Some((index, behind)) = rest.split_once(']') else {
            return Err(self.wrong(EXPECTED));
        };
        // No array has as many elements as an index that is too large for a number.
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            plain.then(|| digits.parse().unwrap_or(usize::MAX))
        };
        let step = match index.strip_prefix('#') {
            Some("") => Some(Step::FromEnd(0)),
            Some(back) => back.strip_prefix('-').and_then(number).map(Step::FromEnd),
            None => number(index).map(Step::Index),
        };
        let step = step.ok_or_else(|| self.wrong(EXPECTED))?;
        self.rest = behind;
        Ok(step)
    }

    /// All steps that are left.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn steps(mut self) -> Result<Vec<Step<'p>>, PathError> {
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            steps.push(step);
        }
        Ok(steps)
    }

    /// A plain key that comes next, which is the usual step: `.key`.
    #[inline]
    fn plain_key(&mut self) -> Option<&'p str> {
        let rest = if self.is_pointer { None } else { self.rest.strip_prefix('.') }?;
        let end = rest.bytes().position(|byte| matches!(byte, b'.' | b'[')).unwrap_or(rest.len());
        let (key, behind) = rest.split_at_checked(end)?;
        if key.is_empty() || key.starts_with('"') {
            return None;
        }
        self.rest = behind;
        Some(key)
    }

    /// The value at this path. The whole path is looked at, also where it leads nowhere.
    ///
    /// # Errors
    /// As [`step`](Self::step), and damage on the way.
    pub fn find<'d>(mut self, root: Value<'d>) -> Result<Option<Value<'d>>, PathError> {
        let mut found = root;
        loop {
            let next = match self.plain_key() {
                Some(key) => found.get(key)?,
                None => match self.step()? {
                    Some(step) => step.find(&found)?,
                    None => return Ok(Some(found)),
                },
            };
            match next {
                Some(next) => found = next,
                None => {
                    while self.step()?.is_some() {}
                    return Ok(None);
                }
            }
        }
    }
}

/// The text of a JSON string.
fn unquoted(json: &str) -> Option<String> {
    let doc = livebuf_json::from_str(json).ok()?;
    Some(doc.root().as_str().ok()??.to_owned())
}

impl Step<'_> {
    /// The value that is one step below this one; none where the step leads nowhere.
    ///
    /// # Errors
    /// Damage.
    pub fn find<'d>(&self, value: &Value<'d>) -> Result<Option<Value<'d>>, PathError> {
        Ok(match self {
            Step::Key(key) => value.get(&**key)?,
            Step::Index(index) => value.get(*index)?,
            _ => match self.resolved(value)? {
                Some(Step::Key(key)) => value.get(&*key)?,
                Some(Step::Index(index)) => value.get(index)?,
                _ => None,
            },
        })
    }

    /// The same step as a key or as an index, by what the value is; none where it leads nowhere.
    /// The index may be that behind the last element.
    ///
    /// # Errors
    /// Damage.
    pub fn resolved(&self, value: &Value<'_>) -> Result<Option<Step<'_>>, PathError> {
        if value.is_object() {
            return Ok(match self {
                Step::Key(key) => Some(Step::Key(Cow::Borrowed(key))),
                Step::Token(token) => Some(Step::Key(pointer::unescaped(token)?)),
                _ => None,
            });
        }
        let Some(array) = value.as_array()? else { return Ok(None) };
        let length = array.len();
        Ok(match *self {
            Step::Index(index) => Some(index),
            Step::FromEnd(back) => length.checked_sub(back),
            Step::Token("-") => Some(length),
            Step::Token(token) => pointer::index(token).map(|index| index as usize),
            Step::Key(_) => None,
        }
        .map(Step::Index))
    }
}

/// Adds a step to a path in SQLite's notation, as `json_each` writes it.
pub fn push(path: &mut String, step: Place<'_>) {
    let key = match step {
        Place::Index(index) => {
            let _ = write!(path, "[{index}]");
            return;
        }
        Place::Key(key) => key,
    };
    path.push('.');
    let plain = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if plain {
        path.push_str(key);
        return;
    }
    path.push('"');
    for letter in key.chars() {
        match letter {
            '"' => path.push_str("\\\""),
            '\\' => path.push_str("\\\\"),
            '\u{8}' => path.push_str("\\b"),
            '\t' => path.push_str("\\t"),
            '\n' => path.push_str("\\n"),
            '\u{c}' => path.push_str("\\f"),
            '\r' => path.push_str("\\r"),
            control if control < ' ' => {
                let _ = write!(path, "\\u{:04x}", control as u32);
            }
            other => path.push(other),
        }
    }
    path.push('"');
}
