//! JSON text out: layout, strings, numbers; bounded output through one buffer.
//!
//! Text is made in a `String`. Without a writer that is the result; with one it is
//! handed over and emptied whenever it passes [`CHUNK`]. The same comparison
//! (`length > limit`) serves the writer and the budget, once per piece.

use std::io;

use base64::Engine;

use crate::error::{Error, ErrorKind};
use crate::number::literal_length;

/// Bytes gathered before they go to a writer.
const CHUNK: usize = 32 << 10;

/// The most bytes of a string that are looked at between two checks. A multiple of 3,
/// so that base64 needs padding in the last piece only.
const PIECE: usize = 12 << 10;

/// What happens to infinities and NaN, which JSON does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NonFinite {
    /// Printing stops with [`ErrorKind::NotFinite`].
    #[default]
    Error,
    /// They are printed as `null`.
    Null,
}

/// The text being printed.
pub(crate) struct Printer<'w> {
    out: String,
    /// The length at which `out` has to be looked at.
    limit: usize,
    /// Bytes handed to the writer so far.
    written: u64,
    budget: u64,
    writer: Option<&'w mut dyn io::Write>,
    indent: &'w str,
    non_finite: NonFinite,
}

impl<'w> Printer<'w> {
    pub(crate) fn new(
        writer: Option<&'w mut dyn io::Write>,
        capacity: usize,
        budget: u64,
        indent: &'w str,
        non_finite: NonFinite,
    ) -> Self {
        let capacity = if writer.is_some() { CHUNK + PIECE } else { capacity };
        let mut printer = Printer {
            out: String::with_capacity(capacity),
            limit: 0,
            written: 0,
            budget,
            writer,
            indent,
            non_finite,
        };
        printer.set_limit();
        printer
    }

    fn set_limit(&mut self) {
        let left = usize::try_from(self.budget - self.written).unwrap_or(usize::MAX);
        self.limit = if self.writer.is_some() { left.min(CHUNK) } else { left };
    }

    /// To be called after every piece, so that `out` stays small.
    #[inline]
    fn check(&mut self) -> Result<(), Error> {
        if self.out.len() > self.limit { self.spill() } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn spill(&mut self) -> Result<(), Error> {
        if self.out.len() as u64 > self.budget - self.written {
            return Err(Error::new(
                ErrorKind::OutputLimit,
                "the JSON would be longer than allowed; validate the document, or raise the limit",
            ));
        }
        if let Some(writer) = &mut self.writer {
            writer.write_all(self.out.as_bytes()).map_err(Error::io)?;
            self.written += self.out.len() as u64;
            self.out.clear();
            self.set_limit();
        }
        Ok(())
    }

    /// Hands the rest to the writer, or gives the text back when there is none.
    pub(crate) fn finish(mut self) -> Result<String, Error> {
        self.spill()?;
        if let Some(writer) = &mut self.writer {
            writer.flush().map_err(Error::io)?;
        }
        Ok(self.out)
    }

    // -- layout: serde_json's, so that texts compare -----------------------------

    #[inline]
    pub(crate) fn open(&mut self, bracket: char) -> Result<(), Error> {
        self.out.push(bracket);
        self.check()
    }

    /// What comes before an element or a key.
    #[inline]
    pub(crate) fn separate<const PRETTY: bool>(&mut self, first: bool, depth: usize) -> Result<(), Error> {
        if !first {
            self.out.push(',');
        }
        if PRETTY {
            self.line(depth)?;
        }
        Ok(())
    }

    /// What comes before a closing bracket, and the bracket.
    #[inline]
    pub(crate) fn close<const PRETTY: bool>(
        &mut self,
        bracket: char,
        empty: bool,
        depth: usize,
    ) -> Result<(), Error> {
        if PRETTY && !empty {
            self.line(depth)?;
        }
        self.out.push(bracket);
        self.check()
    }

    fn line(&mut self, depth: usize) -> Result<(), Error> {
        self.out.push('\n');
        for _ in 0..depth {
            self.out.push_str(self.indent);
            self.check()?;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn key<const PRETTY: bool>(&mut self, key: &str) -> Result<(), Error> {
        self.string(key)?;
        self.out.push_str(if PRETTY { ": " } else { ":" });
        Ok(())
    }

    // -- values ------------------------------------------------------------------

    #[inline]
    pub(crate) fn literal(&mut self, literal: &str) -> Result<(), Error> {
        self.out.push_str(literal);
        self.check()
    }

    #[inline]
    pub(crate) fn i64(&mut self, value: i64) -> Result<(), Error> {
        self.literal(itoa::Buffer::new().format(value))
    }

    #[inline]
    pub(crate) fn u64(&mut self, value: u64) -> Result<(), Error> {
        self.literal(itoa::Buffer::new().format(value))
    }

    #[inline]
    pub(crate) fn f64(&mut self, value: f64) -> Result<(), Error> {
        if value.is_finite() {
            self.literal(zmij::Buffer::new().format_finite(value))
        } else {
            self.not_finite()
        }
    }

    #[cold]
    fn not_finite(&mut self) -> Result<(), Error> {
        match self.non_finite {
            NonFinite::Null => self.literal("null"),
            NonFinite::Error => Err(Error::new(
                ErrorKind::NotFinite,
                "JSON has no infinity and no NaN; print them as null by option, or change them",
            )),
        }
    }

    /// A number kept as text. A damaged document can hold any text here, so it is checked.
    pub(crate) fn number_text(&mut self, text: &str) -> Result<(), Error> {
        if literal_length(text.as_bytes()) != Some(text.len()) {
            return Err(Error::new(ErrorKind::Document, "the document is damaged: a number's text is no number"));
        }
        // ASCII, so it can be cut anywhere.
        let mut rest = text;
        while rest.len() > PIECE {
            let (piece, behind) = rest.split_at(PIECE);
            self.literal(piece)?;
            rest = behind;
        }
        self.literal(rest)
    }

    #[inline]
    pub(crate) fn string(&mut self, text: &str) -> Result<(), Error> {
        if text.len() > PIECE {
            return self.long_string(text);
        }
        self.out.reserve(text.len() + 4);
        self.out.push('"');
        self.escape(text);
        self.out.push('"');
        self.check()
    }

    #[cold]
    fn long_string(&mut self, text: &str) -> Result<(), Error> {
        self.out.push('"');
        let mut rest = text;
        while !rest.is_empty() {
            let mut end = rest.len().min(PIECE);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (piece, behind) = rest.split_at(end);
            self.escape(piece);
            self.check()?;
            rest = behind;
        }
        self.out.push('"');
        self.check()
    }

    #[inline]
    fn escape(&mut self, text: &str) {
        let clean = clean_length(text.as_bytes());
        if clean == text.len() {
            self.out.push_str(text);
        } else {
            self.escape_from(text, clean);
        }
    }

    /// Escapes what RFC 8259 requires and nothing else; the first such byte is at `clean`.
    #[inline(never)]
    fn escape_from(&mut self, text: &str, mut clean: usize) {
        let mut rest = text;
        loop {
            self.out.push_str(&rest[..clean]);
            let Some(&byte) = rest.as_bytes().get(clean) else { return };
            match byte {
                b'"' => self.out.push_str("\\\""),
                b'\\' => self.out.push_str("\\\\"),
                0x08 => self.out.push_str("\\b"),
                0x09 => self.out.push_str("\\t"),
                0x0A => self.out.push_str("\\n"),
                0x0C => self.out.push_str("\\f"),
                0x0D => self.out.push_str("\\r"),
                _ => {
                    const HEX: &[u8; 16] = b"0123456789abcdef";
                    self.out.push_str("\\u00");
                    self.out.push(char::from(HEX[usize::from(byte >> 4)]));
                    self.out.push(char::from(HEX[usize::from(byte & 15)]));
                }
            }
            rest = &rest[clean + 1..];
            clean = clean_length(rest.as_bytes());
        }
    }

    /// Bytes, as a string of their base64 (RFC 4648 section 4, with padding).
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.push('"');
        for piece in bytes.chunks(PIECE) {
            base64::engine::general_purpose::STANDARD.encode_string(piece, &mut self.out);
            self.check()?;
        }
        self.out.push('"');
        self.check()
    }
}

/// How many bytes `text` begins with that need no escape.
///
/// Blocks of 16 in a form that compilers turn into vector code, then words of eight:
/// [`escape_mask`] is exact up to and including the first byte that needs an escape.
#[inline]
fn clean_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        if block.map(|byte| if needs_escape(byte) { 0xFF_u8 } else { 0 }) != [0; 32] {
            break;
        }
        at += 32;
    }
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let mask = escape_mask(u64::from_le_bytes(*word));
        if mask != 0 {
            return at + mask.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    if at == text.len() {
        return at;
    }
    // The last word overlaps the one before, whose bytes are known to be clean.
    if let Some(word) = text.last_chunk::<8>() {
        let mask = escape_mask(u64::from_le_bytes(*word));
        return if mask == 0 { text.len() } else { text.len() - 8 + mask.trailing_zeros() as usize / 8 };
    }
    text.iter().position(|&byte| needs_escape(byte)).unwrap_or(text.len())
}

#[inline(always)]
fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// The high bit of the first byte that is `"`, `\` or below 0x20 (bytes behind it may be
/// marked falsely, by a borrow). 0x22 is `"`, 0x5C is `\`.
#[inline]
fn escape_mask(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let quote = word ^ (ONES * 0x22);
    let backslash = word ^ (ONES * 0x5C);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (control | quote | backslash) & (ONES * 0x80)
}
