//! JSON text in, encoder events out: one pass over text whose UTF-8 was checked, without recursion.
//!
//! The encoder knows which key followed last time, so that key is compared with the text before any
//! look-up. Numbers are made while their digits are read. Nothing of the text is kept, so memory is
//! the encoder's.

use std::sync::atomic::{AtomicU64, Ordering};

use livebuf::{Encoder, Extended};

use crate::error::{Before, Error, ErrorKind, Position};
use crate::number::{MAX_DIGITS, Number, fraction};
use crate::words::{digits, not_plain, not_space};

/// What becomes of the numbers in JSON text.
///
/// ```
/// use livebuf_json::{NumberPolicy, ReadOptions, from_slice, from_slice_with, to_string};
/// let text = b"[1.50, 1E3]";
/// assert_eq!(to_string(&from_slice(text)?)?, "[1.5,1000.0]");
/// let document = from_slice_with(text, &ReadOptions::new().numbers(NumberPolicy::AllText))?;
/// assert_eq!(to_string(&document)?, "[1.50,1E3]");
/// # Ok::<(), livebuf_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NumberPolicy {
    /// Numbers that i64, u64 or f64 hold without loss become those; others keep their text.
    ///
    /// A literal with a point or exponent counts as held without loss when it has at most
    /// 17 significant digits, and is neither infinite nor, unless zero, zero as an f64.
    #[default]
    Exact,
    /// Every number keeps its text, so that printing gives back each literal
    /// (`1.50`, `1E3`) as it was.
    AllText,
}

/// What becomes of an escape that names half of a surrogate pair, such as `\ud800` by itself. JavaScript
/// and Python write them; no UTF-8 can hold them.
///
/// ```
/// use livebuf_json::{ReadOptions, Surrogates, from_slice, from_slice_with, to_string};
/// let text = br#"["cut \ud83d", "whole \ud83d\ude00"]"#;
/// assert!(from_slice(text).is_err());
/// let document = from_slice_with(text, &ReadOptions::new().surrogates(Surrogates::Replace))?;
/// assert_eq!(to_string(&document)?, "[\"cut \u{FFFD}\",\"whole 😀\"]");
/// # Ok::<(), livebuf_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Surrogates {
    /// It is an error, [`ErrorKind::InvalidUtf8`].
    #[default]
    Error,
    /// It becomes U+FFFD, the replacement character.
    Replace,
}

/// What values text becomes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) numbers: NumberPolicy,
    pub(crate) surrogates: Surrogates,
    /// Whether dates, UUIDs and such are recognized in texts.
    pub(crate) recognize: bool,
}

/// Where the reader notes, at the end of each container, how far it is.
pub(crate) type Progress<'p> = Option<&'p AtomicU64>;

/// A byte order mark in UTF-8.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Reads values out of text, one after another.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'t> {
    /// The text, as far as it is UTF-8.
    text: &'t str,
    /// Whether bytes follow that are not UTF-8.
    is_cut: bool,
    policy: Policy,
    /// Where the reader is: all before it was read. After an error, the place of the error.
    at: usize,
    /// Text of a string that has escapes.
    decoded: String,
}

/// An open container.
#[derive(Clone, Copy)]
enum ContainerKind {
    Array,
    Object,
}

impl<'t> Reader<'t> {
    /// A reader of this text.
    pub(crate) fn new(text: &'t [u8], policy: Policy) -> Reader<'t> {
        let (text, is_cut) = match simdutf8::basic::from_utf8(text) {
            Ok(text) => (text, false),
            Err(_) => (text.utf8_chunks().next().map_or("", |chunk| chunk.valid()), true),
        };
        Reader { text, is_cut, policy, at: 0, decoded: String::new() }
    }

    /// Bytes that were read.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Reads the one value of the text into `encoder`.
    ///
    /// # Errors
    /// Everything that can be wrong with the text or too much for the encoder, with its
    /// offset in the text.
    pub(crate) fn only(
        mut self,
        encoder: &mut Encoder,
        progress: Progress<'_>,
    ) -> Result<(), Failure> {
        self.pass_mark();
        let read = self.value(encoder, progress).and_then(|()| self.end());
        read.map_err(|cause| self.failure(None, cause, encoder))
    }

    /// Reads the next of the text's values. False if there is none.
    ///
    /// # Errors
    /// As [`only`](Self::only).
    pub(crate) fn another(
        &mut self,
        encoder: &mut Encoder,
        progress: Progress<'_>,
    ) -> Result<bool, Failure> {
        self.next();
        self.pass_mark();
        self.next();
        if self.end().is_ok() {
            return Ok(false);
        }
        let (begin, read) = (self.at, self.value(encoder, progress));
        match read.and_then(|()| self.apart()) {
            Ok(()) => Ok(true),
            Err(cause) => Err(self.failure(Some(begin), cause, encoder)),
        }
    }

    #[cold]
    fn failure(&self, begin: Option<usize>, cause: Cause, encoder: &Encoder) -> Failure {
        let key = match &cause {
            Cause::Core(error) if error.kind() == livebuf::ErrorKind::DuplicateKey => {
                encoder.doubled_key().map(str::to_owned)
            }
            _ => None,
        };
        Failure { offset: self.at, begin, cause, key }
    }

    /// Passes over a byte order mark.
    fn pass_mark(&mut self) {
        if self.text[self.at..].starts_with(BYTE_ORDER_MARK) {
            self.at += BYTE_ORDER_MARK.len_utf8();
        }
    }

    /// Makes sure that nothing but the text's end follows the last value.
    fn end(&self) -> Result<(), Cause> {
        if self.is_at_end() && !self.is_cut { Ok(()) } else { Err(Cause::Text(Problem::Behind)) }
    }

    /// Makes sure of white space between two values, unless a bracket or quote sets them apart.
    fn apart(&self) -> Result<(), Cause> {
        let text = self.text.as_bytes();
        let ends = matches!(text[self.at - 1], b'}' | b']' | b'"' | b' ' | b'\n' | b'\r' | b'\t');
        let begins = matches!(self.byte(), b'{' | b'[' | b'"');
        if ends || begins || self.end().is_ok() { Ok(()) } else { Err(Cause::Text(Problem::Apart)) }
    }

    /// Reads a value, and the white space after it.
    fn value(&mut self, encoder: &mut Encoder, progress: Progress<'_>) -> Result<(), Cause> {
        // One byte per level; the encoder refuses levels beyond its limit.
        let mut open: Vec<ContainerKind> = Vec::new();
        let (mut next, Policy { numbers, recognize, .. }) = (self.next(), self.policy);
        'value: loop {
            match next {
                b'"' => {
                    self.at += 1;
                    let text = self.string()?;
                    match recognize.then(|| Extended::recognize(text)).flatten() {
                        Some(value) => encoder.extended(value)?,
                        None => encoder.str(text)?,
                    }
                }
                b'-' | b'0'..=b'9' => self.number(numbers, encoder)?,
                b'{' => {
                    encoder.begin_object()?;
                    self.at += 1;
                    match self.next() {
                        b'}' => {
                            self.at += 1;
                            encoder.end_object()?;
                        }
                        b'"' => {
                            next = self.key(encoder)?;
                            open.push(ContainerKind::Object);
                            continue 'value;
                        }
                        _ => return Err(self.wrong(Problem::Key, Problem::EndInObject)),
                    }
                }
                b'[' => {
                    encoder.begin_array()?;
                    self.at += 1;
                    next = self.next();
                    if next != b']' {
                        if self.is_at_end() {
                            return Err(self.wrong(Problem::Value, Problem::EndInArray));
                        }
                        open.push(ContainerKind::Array);
                        continue 'value;
                    }
                    self.at += 1;
                    encoder.end_array()?;
                }
                b't' => {
                    self.word("true")?;
                    encoder.bool(true)?;
                }
                b'f' => {
                    self.word("false")?;
                    encoder.bool(false)?;
                }
                b'n' => {
                    self.word("null")?;
                    encoder.null()?;
                }
                _ => return Err(self.wrong(Problem::Value, Problem::EndOfValue)),
            }
            // After a value come the next element or key, or the ends of containers.
            loop {
                let behind = self.next();
                match (open.last(), behind) {
                    (Some(ContainerKind::Object), b',') => {
                        self.at += 1;
                        next = match self.next() {
                            b'"' => self.key(encoder)?,
                            b'}' => return Err(Cause::Text(Problem::Comma)),
                            _ => return Err(self.wrong(Problem::Key, Problem::EndInObject)),
                        };
                        continue 'value;
                    }
                    (Some(ContainerKind::Array), b',') => {
                        self.at += 1;
                        next = self.next();
                        if next == b']' {
                            return Err(Cause::Text(Problem::Comma));
                        }
                        continue 'value;
                    }
                    (Some(ContainerKind::Object), b'}') => encoder.end_object()?,
                    (Some(ContainerKind::Array), b']') => encoder.end_array()?,
                    (Some(ContainerKind::Object), _) => {
                        return Err(self.wrong(Problem::ObjectComma, Problem::EndInObject));
                    }
                    (Some(ContainerKind::Array), _) => {
                        return Err(self.wrong(Problem::ArrayComma, Problem::EndInArray));
                    }
                    (None, _) => return Ok(()),
                }
                self.at += 1;
                open.pop();
                if let Some(progress) = progress {
                    progress.store(self.at as u64, Ordering::Relaxed);
                }
            }
        }
    }

    /// What is wrong here, or that the text ends.
    #[cold]
    fn wrong(&self, problem: Problem, end: Problem) -> Cause {
        Cause::Text(match end {
            _ if !self.is_at_end() => problem,
            Problem::EndInString if self.is_cut => Problem::Utf8,
            // Outside of strings, what is not UTF-8 is no more than another wrong character.
            _ if self.is_cut => problem,
            _ => end,
        })
    }

    #[inline]
    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The byte here; at the end 0, which is allowed nowhere.
    #[inline]
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Skips white space, and returns the byte after it.
    #[inline]
    fn next(&mut self) -> u8 {
        let byte = self.byte();
        if byte > b' ' { byte } else { self.skip_space() }
    }

    fn skip_space(&mut self) -> u8 {
        // A local variable stays in a register, which `self.at` does not.
        let (bytes, mut at) = (self.text.as_bytes(), self.at);
        // A single space, as after a colon or comma.
        if let Some(&[b' ', byte, ..]) = bytes.get(at..)
            && byte > b' '
        {
            self.at = at + 1;
            return byte;
        }
        loop {
            match bytes.get(at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
                byte => {
                    self.at = at;
                    return byte.copied().unwrap_or(0);
                }
            }
            // Indentation.
            while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
                let others = not_space(block);
                if others != 0 {
                    at += others.trailing_zeros() as usize;
                    break;
                }
                at += block.len();
            }
        }
    }

    #[inline]
    fn word(&mut self, word: &str) -> Result<(), Cause> {
        let rest = &self.text.as_bytes()[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        self.at += rest.iter().zip(word.bytes()).take_while(|&(&one, two)| one == two).count();
        Err(self.wrong(Problem::Word, Problem::EndOfValue))
    }

    /// The key whose quote is here, and its colon. Returns the byte that begins its value.
    #[inline]
    fn key(&mut self, encoder: &mut Encoder) -> Result<u8, Cause> {
        self.at += 1;
        match encoder.key_in_json(&self.text.as_bytes()[self.at..]) {
            Some(length) => self.at += length + 1,
            None => encoder.key(self.string()?)?,
        }
        if self.next() != b':' {
            return Err(self.wrong(Problem::Colon, Problem::EndInObject));
        }
        self.at += 1;
        Ok(self.next())
    }

    /// Reads the string whose first character is here, and its closing quote.
    #[inline]
    fn string(&mut self) -> Result<&str, Cause> {
        let (start, end) = (self.at, self.plain_end());
        self.at = end;
        if self.byte() == b'"' {
            self.at += 1;
            return Ok(&self.text[start..end]);
        }
        self.decoded.clear();
        self.escaped(start)?;
        Ok(&self.decoded)
    }

    /// The end of the characters that stand for themselves: a quote, a backslash, a control
    /// character, or the text's end.
    #[inline]
    fn plain_end(&self) -> usize {
        let (bytes, mut at) = (self.text.as_bytes(), self.at);
        while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let others = not_plain(block);
            if others != 0 {
                return at + others.trailing_zeros() as usize;
            }
            at += block.len();
        }
        let other = |&byte: &u8| byte < b' ' || byte == b'"' || byte == b'\\';
        at + bytes[at..].iter().position(other).unwrap_or(bytes.len() - at)
    }

    /// Decodes the rest of a string; characters from `plain` on are plain until here.
    #[inline(never)]
    fn escaped(&mut self, mut plain: usize) -> Result<(), Cause> {
        loop {
            self.decoded.push_str(&self.text[plain..self.at]);
            match self.byte() {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    let decoded = self.escape()?;
                    self.decoded.push(decoded);
                }
                _ => return Err(self.wrong(Problem::Control, Problem::EndInString)),
            }
            plain = self.at;
            self.at = self.plain_end();
        }
    }

    /// The character of the escape whose backslash was just read.
    fn escape(&mut self) -> Result<char, Cause> {
        let decoded = match self.byte() {
            byte @ (b'"' | b'\\' | b'/') => byte.into(),
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.wrong(Problem::Escape, Problem::EndInString)),
        };
        self.at += 1;
        Ok(decoded)
    }

    /// The character of four hexadecimal digits, or of two surrogates, of which the second is an
    /// escape of its own.
    fn unicode(&mut self) -> Result<char, Cause> {
        let first = self.unit()?;
        if let Some(decoded) = char::from_u32(first) {
            return Ok(decoded);
        }
        let half = self.at;
        if first < 0xDC00 && self.text.as_bytes()[half..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.unit()?;
            if let 0xDC00..0xE000 = second {
                let both = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return char::from_u32(both).ok_or(Cause::Text(Problem::Surrogate));
            }
            self.at = half;
        }
        if self.policy.surrogates == Surrogates::Replace {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        if first >= 0xDC00 {
            self.at -= 1;
        }
        Err(self.wrong(Problem::Surrogate, Problem::EndInString))
    }

    fn unit(&mut self) -> Result<u32, Cause> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = char::from(self.byte()).to_digit(16) else {
                return Err(self.wrong(Problem::Escape, Problem::EndInString));
            };
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }

    #[inline]
    fn number(&mut self, numbers: NumberPolicy, encoder: &mut Encoder) -> Result<(), Cause> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let is_negative = bytes[start] == b'-';
        let first = start + usize::from(is_negative);
        let (mut value, end) = digits(bytes, first, 0);
        let mut count = end - first;
        self.at = end;
        if count == 0 || (count > 1 && bytes[first] == b'0') {
            self.at = end.min(first + 1);
            return Err(self.wrong(Problem::Number, Problem::EndOfValue));
        }
        let next = self.byte();
        if next != b'.' && next | 0x20 != b'e' {
            // 18 digits always fit an i64. -0 is a float.
            if count <= 18 && numbers == NumberPolicy::Exact && !(is_negative && value == 0) {
                let value = value as i64;
                return Ok(encoder.i64(if is_negative { -value } else { value })?);
            }
            return self.literal(start, numbers, encoder);
        }
        if next == b'.' {
            let end;
            (value, end) = digits(bytes, self.at + 1, value);
            let places = end - (self.at + 1);
            count += places;
            self.at = end;
            if places == 0 {
                return Err(self.wrong(Problem::Number, Problem::EndOfValue));
            }
            if self.byte() | 0x20 != b'e' {
                if count <= MAX_DIGITS && numbers == NumberPolicy::Exact {
                    let value = fraction(value, places);
                    return Ok(encoder.f64(if is_negative { -value } else { value })?);
                }
                return self.literal(start, numbers, encoder);
            }
        }
        self.at += 1;
        if let b'+' | b'-' = self.byte() {
            self.at += 1;
        }
        let (_, end) = digits(bytes, self.at, 0);
        if end == self.at {
            return Err(self.wrong(Problem::Number, Problem::EndOfValue));
        }
        self.at = end;
        self.literal(start, numbers, encoder)
    }

    /// The number whose literal begins at `start` and ends here.
    #[inline(never)]
    fn literal(
        &self,
        start: usize,
        numbers: NumberPolicy,
        encoder: &mut Encoder,
    ) -> Result<(), Cause> {
        let literal = &self.text[start..self.at];
        match numbers {
            NumberPolicy::AllText => encoder.number_text(literal)?,
            NumberPolicy::Exact => match Number::of(literal) {
                Number::I64(value) => encoder.i64(value)?,
                Number::U64(value) => encoder.u64(value)?,
                Number::F64(value) => encoder.f64(value)?,
                Number::Text(literal) => encoder.number_text(literal)?,
            },
        }
        Ok(())
    }
}

/// What stopped the reading, and where in its text.
pub(crate) struct Failure {
    offset: usize,
    /// Where the value begins, if it is one of many.
    begin: Option<usize>,
    cause: Cause,
    /// The key that came twice.
    key: Option<String>,
}

enum Cause {
    Text(Problem),
    Core(livebuf::Error),
}

/// What can be wrong with text.
#[derive(Clone, Copy)]
enum Problem {
    EndInArray,
    EndInObject,
    EndInString,
    EndOfValue,
    Colon,
    ArrayComma,
    ObjectComma,
    /// A comma before a bracket that closes.
    Comma,
    Word,
    Value,
    Escape,
    Number,
    Utf8,
    Control,
    Key,
    Surrogate,
    /// More text after the value.
    Behind,
    /// Two values that nothing separates.
    Apart,
}

impl From<livebuf::Error> for Cause {
    #[cold]
    fn from(error: livebuf::Error) -> Self {
        Cause::Core(error)
    }
}

impl Failure {
    /// A failure at the end of what was read, as when the encoder finishes.
    pub(crate) fn at(error: livebuf::Error, offset: usize) -> Failure {
        Failure { offset, begin: None, cause: Cause::Core(error), key: None }
    }

    /// The failure as one of longer text, with so many bytes before.
    pub(crate) fn behind(self, bytes: usize) -> Failure {
        let begin = self.begin.map(|begin| begin + bytes);
        Failure { offset: self.offset + bytes, begin, ..self }
    }

    /// The public error. `before` is what comes before `text`.
    #[cold]
    pub(crate) fn into_error(self, text: &[u8], before: Before) -> Error {
        let error = match self.cause {
            Cause::Core(error) => Error::encoding(error, self.key),
            Cause::Text(problem) => {
                let (kind, message) = problem.explain(text, self.offset, before.bytes);
                Error::new(kind, message)
            }
        };
        let place = |offset| Position::find(text, offset, before);
        error.with_position(place(self.offset), self.begin.map(place))
    }
}

impl Problem {
    /// The kind of a syntax error, and a message that says what to do. `before` is how many bytes
    /// come before the text.
    fn explain(self, text: &[u8], offset: usize, before: usize) -> (ErrorKind, &'static str) {
        use ErrorKind::{InvalidUtf8, Syntax, UnexpectedEnd};
        if let (0 | 1, Some(message)) = (before + offset, other_format(text)) {
            return (Syntax, message);
        }
        if text.get(offset) == Some(&0) {
            return (
                Syntax,
                "NUL bytes, as in a file that was allocated in advance or cut off by a crash",
            );
        }
        match self {
            Problem::EndInArray => (UnexpectedEnd, "the text ends inside an array, `]` is missing"),
            Problem::EndInObject => {
                (UnexpectedEnd, "the text ends inside an object, `}` is missing")
            }
            Problem::EndInString => {
                (UnexpectedEnd, "the text ends inside a string, `\"` is missing")
            }
            Problem::EndOfValue if text.iter().all(u8::is_ascii_whitespace) => {
                (UnexpectedEnd, "there is no text; JSON is at least one value, such as `null`")
            }
            Problem::EndOfValue => (UnexpectedEnd, "the text ends where a value should be"),
            Problem::Colon => (Syntax, "expected `:` after a key"),
            Problem::ArrayComma => (Syntax, "expected `,` or `]` after an element"),
            Problem::ObjectComma => (Syntax, "expected `,` or `}` after a value"),
            Problem::Comma => (Syntax, "a comma before the closing bracket; remove it"),
            Problem::Word => (Syntax, "expected `true`, `false` or `null`"),
            Problem::Value => (
                Syntax,
                "expected a value: `{`, `[`, a string in `\"`, a number, `true`, `false` or `null`",
            ),
            Problem::Escape => (Syntax, "no such escape in strings; write `\\\\` for a backslash"),
            Problem::Number => (
                Syntax,
                "not a JSON number (digits first, no leading zero, digits after `.` and `e`)",
            ),
            Problem::Utf8 => (InvalidUtf8, "the text is not UTF-8; convert it first"),
            Problem::Control => (
                Syntax,
                "a control character in a string; write it as an escape such as `\\n` or `\\u0000`",
            ),
            Problem::Key => (Syntax, "expected a key, a string in `\"`"),
            Problem::Surrogate => (
                InvalidUtf8,
                "half of a surrogate pair: `\\uD800` to `\\uDBFF` need one of `\\uDC00` to `\\uDFFF` behind; \
                 an option replaces such halves",
            ),
            Problem::Behind => {
                (Syntax, "text behind the value; many values need to be read as lines")
            }
            Problem::Apart => (Syntax, "expected white space or the end behind the value"),
        }
    }
}

/// Which other format a text begins as, and what reads that.
fn other_format(text: &[u8]) -> Option<&'static str> {
    Some(match text {
        [0x1F, 0x8B, ..] => "this is compressed by gzip; `gzip -dc` makes the text of it",
        [0x28, 0xB5, 0x2F, 0xFD, ..] => {
            "this is compressed by Zstandard; `zstd -dc` makes the text of it"
        }
        [b'P', b'A', b'R', b'1', ..] => "this is a Parquet file; `livebuf from-parquet` reads it",
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, b' '..=b'~', ..] | [b' '..=b'~', 0, ..] => {
            "this is UTF-16 or UTF-32; `iconv -f UTF-16 -t UTF-8` makes UTF-8 of it"
        }
        [0xAB, b'L', b'B', b'F', ..] => {
            "this is a LiveBuf document already; `livebuf to-json` prints it as JSON"
        }
        [0xAB, b'L', b'B', b'L', ..] => {
            "this is a LiveBuf log; `livebuf log cat` prints its rows as JSON"
        }
        _ => return None,
    })
}
