//! JSON text in, encoder events out. Two ways through the same text:
//!
//! * **fast**: serde_json's deserializer drives the encoder. It gives integers exactly
//!   and other numbers as the nearest f64; whether that stands for the literal is looked
//!   up in the text, where a cursor follows. It is abandoned at any error at all.
//! * **exact**: jiter's pull parser, with the literal of each number at hand, a stack
//!   of its own (no recursion, so any nesting limit works) and the place of errors.
//!
//! Whatever the fast way refuses is read again by the exact one from the start, so
//! that verdicts, places and odd cases come from one parser. At worst text is read
//! twice. Neither keeps anything of the text, so memory is the encoder's.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};
use livebuf::{Encoder, Extended};
use serde_core::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, ErrorKind};
use crate::number::{Cursor, Number, is_short_float, literal_length};

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

/// What values text becomes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) numbers: NumberPolicy,
    /// Whether text is looked at for values that JSON lacks.
    pub(crate) recognize: bool,
}

/// Where to tell, at the end of each container, how far the reading is.
pub(crate) type Progress<'p> = Option<&'p AtomicU64>;

/// Reads one value, which must be all of `text`, into `encoder` the fast way.
///
/// `false` says nothing but that the exact way must be gone, with a new encoder.
pub(crate) fn read_fast(text: &str, encoder: &mut Encoder, progress: Progress<'_>) -> bool {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut events = Events { encoder, cursor: Cursor::new(text), progress };
    ValueEvents(&mut events).deserialize(&mut deserializer).is_ok() && deserializer.end().is_ok()
}

/// Leaves the fast way. The message is never seen.
#[cold]
fn leave<E: de::Error>() -> E {
    E::custom("")
}

macro_rules! event {
    ($call:expr) => {
        $call.map_err(|_| leave())
    };
}

/// Where serde_json's values go.
struct Events<'e, 't> {
    encoder: &'e mut Encoder,
    /// Behind what was read.
    cursor: Cursor<'t>,
    progress: Progress<'e>,
}

impl Events<'_, '_> {
    #[inline]
    fn key<E: de::Error>(&mut self, key: &str) -> Result<(), E> {
        // Were serde_json built with `arbitrary_precision` (any crate of a program can
        // turn it on for all), numbers would come as objects with such a key.
        if key.starts_with("$serde_json::private::") {
            return Err(leave());
        }
        event!(self.encoder.key(key))
    }

    /// A container ends.
    #[inline]
    fn ended(&self) {
        if let Some(progress) = self.progress {
            progress.store(self.cursor.offset() as u64, Ordering::Relaxed);
        }
    }

    /// A number that is no integer in i64 or u64, which serde_json gives as the nearest
    /// f64 (by its feature `float_roundtrip`). `None`: the fast way must be left.
    #[inline]
    fn number(&mut self, value: f64) -> Option<()> {
        let literal = self.cursor.literal()?;
        if value != 0.0 && is_short_float(literal) {
            return self.encoder.f64(value).ok();
        }
        match Number::of(std::str::from_utf8(literal).ok()?) {
            Number::F64(value) => self.encoder.f64(value).ok(),
            Number::Text(literal) => self.encoder.number_text(literal).ok(),
            Number::I64(_) | Number::U64(_) => None,
        }
    }
}

struct ValueEvents<'a, 'e, 't>(&'a mut Events<'e, 't>);

impl<'de> DeserializeSeed<'de> for ValueEvents<'_, '_, '_> {
    type Value = ();

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueEvents<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    #[inline]
    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        event!(self.0.encoder.null())
    }

    #[inline]
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        event!(self.0.encoder.bool(value))
    }

    #[inline]
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.0.cursor.pass();
        event!(self.0.encoder.i64(value))
    }

    #[inline]
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.0.cursor.pass();
        event!(self.0.encoder.u64(value))
    }

    #[inline]
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.0.number(value).ok_or_else(leave)
    }

    #[inline]
    fn visit_borrowed_str<E: de::Error>(self, value: &'de str) -> Result<(), E> {
        self.0.cursor.pass_string(value);
        event!(self.0.encoder.str(value))
    }

    #[inline]
    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        self.0.cursor.pass();
        event!(self.0.encoder.str(value))
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        event!(self.0.encoder.begin_array())?;
        while elements.next_element_seed(ValueEvents(self.0))?.is_some() {}
        self.0.ended();
        event!(self.0.encoder.end_array())
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        event!(self.0.encoder.begin_object())?;
        while entries.next_key_seed(KeyEvents(self.0))?.is_some() {
            entries.next_value_seed(ValueEvents(self.0))?;
        }
        self.0.ended();
        event!(self.0.encoder.end_object())
    }
}

struct KeyEvents<'a, 'e, 't>(&'a mut Events<'e, 't>);

impl<'de> DeserializeSeed<'de> for KeyEvents<'_, '_, '_> {
    type Value = ();

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyEvents<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    #[inline]
    fn visit_borrowed_str<E: de::Error>(self, key: &'de str) -> Result<(), E> {
        self.0.cursor.pass_string(key);
        self.0.key(key)
    }

    #[inline]
    fn visit_str<E: de::Error>(self, key: &str) -> Result<(), E> {
        self.0.cursor.pass();
        self.0.key(key)
    }
}

/// Reads one value, which must be all of `text`, into `encoder` the exact way.
///
/// # Errors
/// Everything that can be wrong with the text or too much for the encoder, with its
/// offset in `text`.
pub(crate) fn read_exact(
    text: &[u8],
    policy: Policy,
    encoder: &mut Encoder,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    let mut pull = Pull { text, jiter: Jiter::new(text), base: 0 };
    pull.read(policy, encoder, progress).map_err(|cause| {
        let offset = match &cause {
            // In strings with escapes jiter counts decoded bytes.
            Cause::Text(error) if error.is_utf8() => match std::str::from_utf8(text) {
                Err(error) => error.valid_up_to(),
                Ok(_) => pull.base + error.offset,
            },
            Cause::Text(error) => pull.base + error.offset,
            Cause::Core(_) => pull.offset(),
        };
        Failure { offset, cause }
    })
}

/// jiter, and how far in `text` it began.
///
/// jiter reads no integer of more than 4,300 digits. As it keeps nothing but its place,
/// a new one takes over behind such an integer.
struct Pull<'t> {
    text: &'t [u8],
    jiter: Jiter<'t>,
    base: usize,
}

impl<'t> Pull<'t> {
    fn offset(&self) -> usize {
        self.base + self.jiter.current_index()
    }

    fn read(
        &mut self,
        policy: Policy,
        encoder: &mut Encoder,
        progress: Progress<'_>,
    ) -> Result<(), Cause> {
        /// An open container.
        #[derive(Clone, Copy)]
        enum Open {
            Array,
            Object,
        }
        // One byte per level; the encoder refuses levels beyond its limit.
        let mut open: Vec<Open> = Vec::new();
        let mut peek = self.jiter.peek()?;
        'value: loop {
            match peek {
                Peek::String => {
                    let text = self.jiter.known_str()?;
                    match policy.recognize.then(|| Extended::recognize(text)).flatten() {
                        Some(value) => encoder.extended(value)?,
                        None => encoder.str(text)?,
                    }
                }
                Peek::Null => {
                    self.jiter.known_null()?;
                    encoder.null()?;
                }
                Peek::True | Peek::False => encoder.bool(self.jiter.known_bool(peek)?)?,
                Peek::Array => {
                    encoder.begin_array()?;
                    match self.jiter.known_array()? {
                        Some(first) => {
                            open.push(Open::Array);
                            peek = first;
                            continue 'value;
                        }
                        None => encoder.end_array()?,
                    }
                }
                Peek::Object => {
                    encoder.begin_object()?;
                    match self.jiter.known_object()? {
                        Some(key) => {
                            encoder.key(key)?;
                            open.push(Open::Object);
                            peek = self.jiter.peek()?;
                            continue 'value;
                        }
                        None => encoder.end_object()?,
                    }
                }
                _ => {
                    let literal = self.literal(peek)?;
                    match policy.numbers {
                        NumberPolicy::AllText => encoder.number_text(literal)?,
                        NumberPolicy::Exact => match Number::of(literal) {
                            Number::I64(value) => encoder.i64(value)?,
                            Number::U64(value) => encoder.u64(value)?,
                            Number::F64(value) => encoder.f64(value)?,
                            Number::Text(literal) => encoder.number_text(literal)?,
                        },
                    }
                }
            }
            // Behind a value: the next element or key, or containers that end.
            loop {
                match open.last() {
                    None => return Ok(self.jiter.finish()?),
                    Some(Open::Array) => match self.jiter.array_step()? {
                        Some(next) => {
                            peek = next;
                            continue 'value;
                        }
                        None => encoder.end_array()?,
                    },
                    Some(Open::Object) => match self.jiter.next_key()? {
                        Some(key) => {
                            encoder.key(key)?;
                            peek = self.jiter.peek()?;
                            continue 'value;
                        }
                        None => encoder.end_object()?,
                    },
                }
                open.pop();
                if let Some(progress) = progress {
                    progress.store(self.offset() as u64, Ordering::Relaxed);
                }
            }
        }
    }

    /// The literal of the number that starts here, and past it.
    fn literal(&mut self, peek: Peek) -> Result<&'t str, Cause> {
        let start = self.offset();
        let end = match self.jiter.known_number_bytes(peek) {
            Ok(literal) => start + literal.len(),
            Err(error) => match literal_length(&self.text[start..]) {
                Some(length) if is_too_long(&error) => {
                    self.base = start + length;
                    self.jiter = Jiter::new(&self.text[self.base..]);
                    self.base
                }
                _ => return Err(error.into()),
            },
        };
        std::str::from_utf8(&self.text[start..end]).map_err(|_| {
            Cause::Text(TextError { error: JsonErrorType::InvalidNumber, offset: start })
        })
    }
}

fn is_too_long(error: &JiterError) -> bool {
    error.error_type == JiterErrorType::JsonError(JsonErrorType::NumberOutOfRange)
}

/// What stopped the exact way, and where in its text.
pub(crate) struct Failure {
    offset: usize,
    cause: Cause,
}

enum Cause {
    Text(TextError),
    Core(livebuf::Error),
}

struct TextError {
    error: JsonErrorType,
    offset: usize,
}

impl TextError {
    fn is_utf8(&self) -> bool {
        self.error == JsonErrorType::InvalidUnicodeCodePoint
    }
}

impl From<livebuf::Error> for Cause {
    #[cold]
    fn from(error: livebuf::Error) -> Self {
        Cause::Core(error)
    }
}

impl From<JiterError> for Cause {
    #[cold]
    fn from(error: JiterError) -> Self {
        let offset = error.index;
        let error = match error.error_type {
            JiterErrorType::JsonError(error) => error,
            // Types are always asked for after a peek, so this cannot come.
            JiterErrorType::WrongType { .. } => JsonErrorType::ExpectedSomeValue,
        };
        Cause::Text(TextError { error, offset })
    }
}

impl Failure {
    /// A failure at the end of what was read, as when the encoder finishes.
    pub(crate) fn at(error: livebuf::Error, offset: usize) -> Failure {
        Failure { offset, cause: Cause::Core(error) }
    }

    /// The public error, for a failure in a part of `text` that begins at `base`.
    #[cold]
    pub(crate) fn into_error(self, text: &[u8], base: usize) -> Error {
        let offset = base + self.offset;
        let (kind, message) = match self.cause {
            Cause::Core(error) => return Error::encoding(error, text, offset),
            Cause::Text(TextError { error, .. }) => explain(&error, text, offset),
        };
        Error::at(kind, message, text, offset)
    }
}

/// The kind of a syntax error, and a message that says what to do.
fn explain(error: &JsonErrorType, text: &[u8], offset: usize) -> (ErrorKind, &'static str) {
    use ErrorKind::{InvalidUtf8, Syntax, UnexpectedEnd};
    use JsonErrorType as E;
    match error {
        E::EofWhileParsingList => (UnexpectedEnd, "the text ends inside an array, `]` is missing"),
        E::EofWhileParsingObject => {
            (UnexpectedEnd, "the text ends inside an object, `}` is missing")
        }
        E::EofWhileParsingString => {
            (UnexpectedEnd, "the text ends inside a string, `\"` is missing")
        }
        E::EofWhileParsingValue if text.iter().all(u8::is_ascii_whitespace) => {
            (UnexpectedEnd, "there is no text; JSON is at least one value, such as `null`")
        }
        E::EofWhileParsingValue => (UnexpectedEnd, "the text ends where a value should be"),
        E::ExpectedColon => (Syntax, "expected `:` after a key"),
        E::ExpectedListCommaOrEnd => (Syntax, "expected `,` or `]` after an element"),
        E::ExpectedObjectCommaOrEnd => (Syntax, "expected `,` or `}` after a value"),
        E::ExpectedSomeIdent => (Syntax, "expected `true`, `false` or `null`"),
        E::ExpectedSomeValue if offset == 0 && text.starts_with(b"\xEF\xBB\xBF") => {
            (Syntax, "a byte order mark is not JSON; remove the first three bytes")
        }
        E::ExpectedSomeValue => (
            Syntax,
            "expected a value: `{`, `[`, a string in `\"`, a number, `true`, `false` or `null`",
        ),
        E::InvalidEscape => (Syntax, "no such escape in strings; write `\\\\` for a backslash"),
        E::InvalidNumber => {
            (Syntax, "not a JSON number (digits first, no leading zero, digits after `.` and `e`)")
        }
        E::InvalidUnicodeCodePoint => (InvalidUtf8, "the text is not UTF-8; convert it first"),
        E::ControlCharacterWhileParsingString => (
            Syntax,
            "a control character in a string; write it as an escape such as `\\n` or `\\u0000`",
        ),
        E::KeyMustBeAString => (Syntax, "expected a key, a string in `\"`"),
        E::LoneLeadingSurrogateInHexEscape | E::UnexpectedEndOfHexEscape => (
            InvalidUtf8,
            "half of a surrogate pair: `\\uD800` to `\\uDBFF` need one of `\\uDC00` to `\\uDFFF` behind",
        ),
        E::TrailingComma => (Syntax, "a comma before the closing bracket; remove it"),
        E::TrailingCharacters => {
            (Syntax, "text behind the value; many values need to be read as lines")
        }
        // What the pull parser does not report.
        E::FloatExpectingInt
        | E::DuplicateKey(_)
        | E::InternalError(_)
        | E::NumberOutOfRange
        | E::RecursionLimitExceeded => (Syntax, "not JSON"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fast(text: &str) -> Option<Vec<u8>> {
        let mut encoder = Encoder::new();
        read_fast(text, &mut encoder, None).then(|| encoder.finish().unwrap().as_bytes().to_vec())
    }

    fn exact(text: &str) -> Option<Vec<u8>> {
        let mut encoder = Encoder::new();
        read_exact(text.as_bytes(), Policy::default(), &mut encoder, None).ok()?;
        Some(encoder.finish().unwrap().as_bytes().to_vec())
    }

    /// Where the fast way is taken it must give what the exact way gives, bit for bit.
    #[test]
    fn both_ways_agree_on_numbers() {
        let numbers = [
            "0",
            "-0",
            "-0.0",
            "1.5",
            "-1e300",
            "5e-324",
            "2.5e-320",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "1e400",
            "1e-400",
            "-1e-400",
            "1E-0400",
            "0.1234567890123456",
            "1234567890.12345678",
            "1.00000000000000000",
            "0e-999",
            "0e999",
        ];
        for first in numbers {
            for second in numbers {
                let text = format!("[{first}, {second}]");
                if let Some(fast) = fast(&text) {
                    assert_eq!(Some(fast), exact(&text), "{text}");
                }
            }
        }
    }

    #[test]
    fn ordinary_text_goes_the_fast_way() {
        // With `arbitrary_precision`, numbers never do.
        if serde_json::from_str::<serde_json::Value>("1e400").is_ok() {
            return;
        }
        for text in [
            "{\"a\":[1,-2.5,true,null,\"\\u00e9\"]}",
            "0.0",
            "[0.0,-0.0,1e-7]",
            "\"505874924095815681\"",
        ] {
            assert!(fast(text).is_some(), "{text}");
            assert_eq!(fast(text), exact(text), "{text}");
        }
    }

    #[test]
    fn what_must_go_the_exact_way_does() {
        for text in ["[1e400]", "{\"$serde_json::private::Number\":\"1\"}"] {
            assert!(fast(text).is_none(), "{text}");
            assert!(exact(text).is_some(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(fast(&deep).is_none());
        assert!(exact(&deep).is_some());
    }

    #[test]
    fn integers_longer_than_jiter_reads() {
        let long = "7".repeat(10_000);
        for text in [long.clone(), format!("[-{long}, {long}e5, \"a\", [{long}.5]]")] {
            assert!(exact(&text).is_some());
        }
        let text = format!("[{long}, x]");
        let failure = read_exact(text.as_bytes(), Policy::default(), &mut Encoder::new(), None)
            .err()
            .unwrap();
        assert_eq!(failure.offset, text.len() - 2);
    }
}
