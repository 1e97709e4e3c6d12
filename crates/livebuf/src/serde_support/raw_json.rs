//! JSON text within values that serde serializes (`serde_json::value::RawValue`), as events.
//!
//! serde_json has parsed the text already. It is checked again all the same, since any type
//! may claim to be raw JSON. For text of your own use `livebuf-json`, which is faster.

use crate::encode::Encoder;
use crate::error::ErrorKind;
use crate::serde_support::error::SerdeError;
use crate::serde_support::number::number;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

type Result<T> = core::result::Result<T, SerdeError>;

/// Gives `encoder` the value that `text` is.
///
/// # Errors
/// [`ErrorKind::Custom`] where it is no JSON, and the errors of the encoder.
pub(crate) fn encode(encoder: &mut Encoder, text: &str) -> Result<()> {
    let mut text = Text { text, at: 0 };
    // The brackets that are to close.
    let mut open = Vec::new();
    'value: loop {
        match text.peek() {
            Some(b'[') => {
                text.at += 1;
                encoder.begin_array()?;
                if !text.takes(b']') {
                    open.push(b']');
                    continue 'value;
                }
                encoder.end_array()?;
            }
            Some(b'{') => {
                text.at += 1;
                encoder.begin_object()?;
                if !text.takes(b'}') {
                    open.push(b'}');
                    text.key(encoder)?;
                    continue 'value;
                }
                encoder.end_object()?;
            }
            Some(b'"') => encoder.str(&text.string()?)?,
            Some(b't') => text.word("true").map(|()| encoder.bool(true))??,
            Some(b'f') => text.word("false").map(|()| encoder.bool(false))??,
            Some(b'n') => text.word("null").map(|()| encoder.null())??,
            _ => number(encoder, text.number())?,
        }
        // Behind a value: the next one, or containers that end.
        loop {
            let Some(&close) = open.last() else { return text.end() };
            if text.takes(b',') {
                if close == b'}' {
                    text.key(encoder)?;
                }
                continue 'value;
            }
            if !text.takes(close) {
                return Err(text.wrong());
            }
            open.pop();
            if close == b']' { encoder.end_array()? } else { encoder.end_object()? }
        }
    }
}

struct Text<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Text<'t> {
    #[cold]
    fn wrong(&self) -> SerdeError {
        let message = format!("raw JSON text is wrong at byte {}", self.at);
        SerdeError::new(ErrorKind::Custom, message)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.rest().bytes();
        self.at += rest.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.rest().bytes().next()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn end(&mut self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { Err(self.wrong()) }
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if !self.rest().starts_with(word) {
            return Err(self.wrong());
        }
        self.at += word.len();
        Ok(())
    }

    /// The bytes that may belong to a number. The caller checks whether they are one.
    fn number(&mut self) -> &'t str {
        let rest = self.rest();
        let part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.bytes().take_while(part).count();
        self.at += length;
        &rest[..length]
    }

    fn key(&mut self, encoder: &mut Encoder) -> Result<()> {
        let key = match self.peek() {
            Some(b'"') => self.string()?,
            _ => return Err(self.wrong()),
        };
        encoder.key(&key)?;
        if self.takes(b':') { Ok(()) } else { Err(self.wrong()) }
    }

    /// The string that begins here.
    fn string(&mut self) -> Result<Cow<'t, str>> {
        self.at += 1;
        let mut decoded: Option<String> = None;
        loop {
            let rest = self.rest();
            let plain = rest.find(|next| matches!(next, '"' | '\\' | '\0'..='\x1F'));
            let Some(plain) = plain else { return Err(self.wrong()) };
            let text = &rest[..plain];
            self.at += plain;
            match rest.as_bytes()[plain] {
                b'"' => {
                    self.at += 1;
                    return Ok(match decoded {
                        Some(decoded) => Cow::Owned(decoded + text),
                        None => Cow::Borrowed(text),
                    });
                }
                b'\\' => {
                    let decoded = decoded.get_or_insert_default();
                    decoded.push_str(text);
                    decoded.push(self.escaped()?);
                }
                _ => return Err(self.wrong()),
            }
        }
    }

    fn escaped(&mut self) -> Result<char> {
        let byte = self.rest().as_bytes().get(1).copied();
        let plain = match byte {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{C}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(byte @ (b'"' | b'\\' | b'/')) => byte.into(),
            Some(b'u') => return self.unicode(),
            _ => return Err(self.wrong()),
        };
        self.at += 2;
        Ok(plain)
    }

    /// `\uXXXX`, or two of them for a character beyond U+FFFF.
    fn unicode(&mut self) -> Result<char> {
        let first = self.unit()?;
        let pair = (0xD800..0xDC00).contains(&first) && self.rest().starts_with("\\u");
        let units = if pair { [first, self.unit()?] } else { [first, 0] };
        let mut decoded = char::decode_utf16(units.into_iter().take(1 + usize::from(pair)));
        match (decoded.next(), decoded.next()) {
            (Some(Ok(char)), None) => Ok(char),
            _ => Err(self.wrong()),
        }
    }

    fn unit(&mut self) -> Result<u16> {
        let digits = self.rest().get(2..6).filter(|digits| !digits.starts_with('+'));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        self.at += 6;
        unit.ok_or_else(|| self.wrong())
    }
}
