//! The one error type of this crate: a kind, a place in the JSON text, a cause.
//!
//! Errors are built on cold paths only; the place is found by counting lines
//! after the fact, so reading never keeps count.

use std::fmt;
use std::io;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not JSON (RFC 8259).
    Syntax,
    /// The text ends inside a value, or holds no value at all.
    UnexpectedEnd,
    /// The text is not UTF-8, or an escape names half a surrogate pair.
    InvalidUtf8,
    /// A key occurs twice in one object and the options forbid that.
    DuplicateKey,
    /// Containers are nested deeper than the limit.
    NestingLimit,
    /// A limit of the document is passed: its size, a string, a count of elements.
    DocumentLimit,
    /// JSON has no infinity and no NaN, and the options do not turn them into `null`.
    NotFinite,
    /// The printed text would be longer than the options allow.
    OutputLimit,
    /// The document is damaged, or a value is of a kind this version cannot print.
    Document,
    /// The reader or writer reported an error.
    Io,
}

/// A place in JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Line, the first is 1. Lines end with `\n`.
    pub line: u64,
    /// Column, the first is 1, counted in characters (Unicode scalar values), as editors do.
    pub column: u64,
    /// Bytes before the place.
    pub offset: u64,
}

impl Position {
    /// Counts lines and characters before `offset`. `around` is what comes before `text`.
    /// O(offset), so for errors only.
    pub(crate) fn find(text: &[u8], offset: usize, around: Before) -> Position {
        let before = &text[..offset.min(text.len())];
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        // Every byte that does not continue a UTF-8 sequence starts a character;
        // bytes that are no UTF-8 at all still get a sensible place.
        let characters = before[start..].iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        Position {
            line: around.lines + memchr::memchr_iter(b'\n', before).count() as u64 + 1,
            column: characters as u64 + 1,
            offset: (around.bytes + before.len()) as u64,
        }
    }
}

/// What is before a line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    pub(crate) bytes: usize,
    pub(crate) lines: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {} (byte {})", self.line, self.column, self.offset)
    }
}

/// Why JSON could not be read or printed, and where.
///
/// The message says what to do; [`Error::kind`] is for programs.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: &'static str,
    /// The key that came twice.
    key: Option<String>,
    position: Option<Position>,
    value: Option<Position>,
    cause: Option<Cause>,
}

enum Cause {
    Core(livebuf::Error),
    Io(io::Error),
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: &'static str) -> Error {
        let (key, position, value, cause) = (None, None, None, None);
        Error(Box::new(Inner { kind, message, key, position, value, cause }))
    }

    /// An error of the core while a document is made from text, and a key that came twice.
    #[cold]
    pub(crate) fn encoding(cause: livebuf::Error, key: Option<String>) -> Error {
        use livebuf::ErrorKind as Core;
        let (kind, message) = match cause.kind() {
            Core::DuplicateKey => (ErrorKind::DuplicateKey, "a key occurs twice in one object"),
            Core::NestingLimit => {
                (ErrorKind::NestingLimit, "nested too deeply; raise the nesting limit to read it")
            }
            _ => (ErrorKind::DocumentLimit, "the document cannot hold this"),
        };
        let mut error = Error::new(kind, message);
        error.0.key = key;
        error.0.cause = Some(Cause::Core(cause));
        error
    }

    /// An error of the core while a document is printed.
    #[cold]
    pub(crate) fn document(cause: livebuf::Error) -> Error {
        let mut error = Error::new(ErrorKind::Document, "the document is damaged");
        error.0.cause = Some(Cause::Core(cause));
        error
    }

    /// The system refused this many bytes.
    #[cold]
    pub(crate) fn memory(bytes: usize) -> Error {
        let cause = livebuf::Error::out_of_memory(bytes as u64);
        let mut error = Error::new(ErrorKind::Document, "memory ran out");
        error.0.cause = Some(Cause::Core(cause));
        error
    }

    #[cold]
    pub(crate) fn writing(cause: io::Error) -> Error {
        Error::io("writing JSON failed", cause)
    }

    #[cold]
    pub(crate) fn reading(cause: io::Error) -> Error {
        Error::io("reading JSON failed", cause)
    }

    fn io(message: &'static str, cause: io::Error) -> Error {
        let mut error = Error::new(ErrorKind::Io, message);
        error.0.cause = Some(Cause::Io(cause));
        error
    }

    pub(crate) fn with_position(mut self, position: Position, value: Option<Position>) -> Error {
        (self.0.position, self.0.value) = (Some(position), value);
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where in the JSON text; `None` when printing.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// The error as one of longer text, with so many lines and bytes before.
    ///
    /// ```
    /// let error = livebuf_json::from_str("[1,]").unwrap_err().behind(9, 80);
    /// assert_eq!(error.position().unwrap().to_string(), "line 10, column 4 (byte 83)");
    /// ```
    #[must_use]
    pub fn behind(mut self, lines: u64, bytes: u64) -> Error {
        for place in [&mut self.0.position, &mut self.0.value].into_iter().flatten() {
            place.line += lines;
            place.offset += bytes;
        }
        self
    }

    /// The key that occurs twice in one object, if that is the error.
    pub fn doubled_key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// Where the value begins that could not be read, if values are read one after another. All
    /// before it are whole, so that a program which reads a stream can go on from here when more of
    /// it is there.
    ///
    /// ```
    /// use livebuf_json::{ErrorKind, from_lines};
    /// let error = from_lines(b"{\"lap\": 1}\n{\"lap\":", &Default::default()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnexpectedEnd);
    /// assert_eq!(error.value_position().unwrap().offset, 11);
    /// ```
    pub fn value_position(&self) -> Option<Position> {
        self.0.value
    }

    /// The core's error behind this one, if there is one.
    pub fn core_error(&self) -> Option<livebuf::Error> {
        match self.0.cause {
            Some(Cause::Core(cause)) => Some(cause),
            _ => None,
        }
    }

    /// The reader's or writer's error behind this one, if there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.0.cause {
            Some(Cause::Io(cause)) => Some(cause),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.key {
            Some(key) => write!(f, "the key {} occurs twice in one object", Short(key))?,
            None => f.write_str(self.0.message)?,
        }
        match &self.0.cause {
            // The message above already says it.
            Some(Cause::Core(cause)) if cause.kind() == livebuf::ErrorKind::DuplicateKey => {}
            Some(Cause::Core(cause)) => write!(f, ": {cause}")?,
            Some(Cause::Io(cause)) => write!(f, ": {cause}")?,
            None => {}
        }
        let Some(position) = &self.0.position else { return Ok(()) };
        // A value that is cut short is noticed in a later line.
        if let Some(value) = self.0.value.filter(|value| value.line < position.line) {
            write!(f, ", in a value that begins in line {}", value.line)?;
        }
        write!(f, ", at {position}")
    }
}

/// The beginning of a key, in quotes.
struct Short<'t>(&'t str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Most characters of a key in a message.
        const MOST: usize = 64;
        match self.0.char_indices().nth(MOST) {
            Some((end, _)) => write!(f, "{}…", quoted(&self.0[..end])),
            None => f.write_str(&quoted(self.0)),
        }
    }
}

/// Text in quotes for a message, with what cannot be seen escaped as JSON does it. For the crates
/// and the command beside this one.
#[doc(hidden)]
pub fn quoted(text: &str) -> String {
    let debug = format!("{text:?}");
    let (mut quoted, mut rest) = (String::with_capacity(debug.len()), &*debug);
    // Rust escapes as JSON does, but for two forms: \0 and \u{1b}.
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        quoted.push_str(before);
        let end = match escape.as_bytes().get(1) {
            Some(b'u') => escape.find('}').map_or(escape.len(), |end| end + 1),
            _ => 2.min(escape.len()),
        };
        let (escape, behind) = escape.split_at(end);
        let letter = match escape.get(3..end - 1) {
            Some(digits) => u32::from_str_radix(digits, 16).ok().and_then(char::from_u32),
            None => (escape == "\\0").then_some('\0'),
        };
        match letter {
            Some(letter) => letter
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| quoted.push_str(&format!("\\u{unit:04x}"))),
            None => quoted.push_str(escape),
        }
        rest = behind;
    }
    quoted.push_str(rest);
    quoted
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            Some(Cause::Core(cause)) => Some(cause),
            Some(Cause::Io(cause)) => Some(cause),
            None => None,
        }
    }
}
