//! Places in documents: `$.a.b[0]` as SQLite writes them, and JSON pointers (`/a/b/0`).

use crate::error::Fault;
use livebuf::Value;
use livebuf::raw::pointer;
use livebuf_query::Step as Place;
use std::borrow::Cow;
use std::fmt::Write;

/// One step down.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step<'p> {
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
#[derive(Clone)]
pub(crate) struct Path<'p> {
    text: &'p str,
    rest: &'p str,
    is_pointer: bool,
}

impl<'p> Path<'p> {
    /// A path in either notation. Its steps are looked at as they are taken.
    pub(crate) fn new(text: &'p str) -> Result<Path<'p>, Fault> {
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
    fn wrong(&self, expected: &'static str) -> Fault {
        let at = self.text.len() - self.rest.len();
        Fault::Path { path: self.text.to_owned(), at, expected }
    }

    /// The next step; none at the path's end.
    pub(crate) fn step(&mut self) -> Result<Option<Step<'p>>, Fault> {
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

    fn member(&mut self, rest: &'p str) -> Result<Step<'p>, Fault> {
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

    fn element(&mut self, rest: &'p str) -> Result<Step<'p>, Fault> {
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
    pub(crate) fn steps(mut self) -> Result<Vec<Step<'p>>, Fault> {
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
    pub(crate) fn find<'d>(mut self, root: Value<'d>) -> Result<Option<Value<'d>>, Fault> {
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
    fn find<'d>(&self, value: &Value<'d>) -> Result<Option<Value<'d>>, Fault> {
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
    pub(crate) fn resolved(&self, value: &Value<'_>) -> Result<Option<Step<'_>>, Fault> {
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
pub(crate) fn push(path: &mut String, step: Place<'_>) {
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
