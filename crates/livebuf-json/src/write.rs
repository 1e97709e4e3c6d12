//! JSON text out: layout, strings, numbers; bounded output through one buffer.
//!
//! Text is made in a buffer that is longer than what it holds, so that short pieces are copied as
//! whole words without a call. Without a writer it grows and is the result; with one it is handed
//! over whenever it is full. Room is made before each piece, and the budget is checked then.

use std::io;

use base64::Engine;
use livebuf::{ColumnType, Extended};

use crate::error::{Error, ErrorKind};
use crate::number::literal_length;
use crate::words::{bytes_below, bytes_equal};

/// Size of the buffer in front of a writer.
const BUFFER: usize = 64 << 10;

/// The most bytes of text handled at once: six times as many after escaping fit the
/// buffer. A multiple of 3, so that base64 needs padding in the last piece only.
pub(crate) const PIECE: usize = 6 << 10;

/// Bytes after a piece that a copy may write, too; the next piece overwrites them.
const SLACK: usize = 64;

const _: () = assert!(6 * PIECE + SLACK < BUFFER && PIECE.is_multiple_of(3));

/// What happens to infinities and NaN, which JSON does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NonFinite {
    /// Printing stops with [`ErrorKind::NotFinite`].
    #[default]
    Error,
    /// They are printed as `null`.
    Null,
}

/// A piece of a printer's text.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) start: u32,
    /// At most [`PIECE`].
    pub(crate) length: u16,
}

impl Piece {
    /// A short piece. Less than the slack.
    pub(crate) const SHORT: usize = 48;
}

/// zmij's buffer in a cache line of its own: its 16-byte stores across two lines took
/// 36 ns for a float instead of 21 (numbers.json), depending on the caller's frame.
#[repr(align(64))]
struct Digits(zmij::Buffer);

/// The text being printed.
pub(crate) struct Printer<'w> {
    /// The text, and room behind it.
    out: Vec<u8>,
    /// Length of the text.
    at: usize,
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
        budget: u64,
        indent: &'w str,
        non_finite: NonFinite,
    ) -> Self {
        // Most values are short: clearing a whole buffer would take longer than printing them.
        Printer { out: vec![0; 4 * SLACK], at: 0, written: 0, budget, writer, indent, non_finite }
    }

    /// Makes sure of room for `length` bytes (at most six pieces) and the slack.
    #[inline]
    fn room(&mut self, length: usize) -> Result<(), Error> {
        if self.out.len() - self.at < length + SLACK { self.make_room(length) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, length: usize) -> Result<(), Error> {
        self.spend()?;
        if self.writer.is_some() && self.out.len() == BUFFER {
            self.hand_over()
        } else if self.writer.is_some() {
            let more = BUFFER - self.out.len();
            self.out.try_reserve_exact(more).map_err(|_| Error::memory(more))?;
            self.out.resize(BUFFER, 0);
            Ok(())
        } else {
            // No further than a budget that is soon spent: it bounds memory, too.
            let left = usize::try_from(self.budget - self.at as u64).unwrap_or(usize::MAX);
            let more = self.out.len().min(left).max(length) + SLACK;
            self.out.try_reserve_exact(more).map_err(|_| Error::memory(more))?;
            self.out.resize(self.out.len() + more, 0);
            Ok(())
        }
    }

    fn spend(&self) -> Result<(), Error> {
        if self.at as u64 > self.budget - self.written {
            return Err(Error::new(
                ErrorKind::OutputLimit,
                "the JSON would be longer than the limit for a document of this size; validate the \
                 document, indent less, or set the limit of bytes higher",
            ));
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), Error> {
        if let Some(writer) = &mut self.writer {
            writer.write_all(&self.out[..self.at]).map_err(Error::writing)?;
            self.written += self.at as u64;
            self.at = 0;
        }
        Ok(())
    }

    /// Hands the rest to the writer; without one, returns the text.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, Error> {
        self.spend()?;
        self.hand_over()?;
        if let Some(writer) = &mut self.writer {
            writer.flush().map_err(Error::writing)?;
        }
        self.out.truncate(self.at);
        Ok(self.out)
    }

    /// Appends a byte; room was made.
    #[inline]
    fn byte(&mut self, byte: u8) {
        self.out[self.at] = byte;
        self.at += 1;
    }

    /// Appends text as it is, a piece at most.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn text(&mut self, text: &[u8]) -> Result<(), Error> {
        self.room(text.len())?;
        copy(&mut self.out[self.at..], text);
        self.at += text.len();
        Ok(())
    }

    // -- layout: serde_json's, so that texts compare -----------------------------

    #[inline]
    pub(crate) fn open(&mut self, bracket: u8) -> Result<(), Error> {
        self.room(1)?;
        self.byte(bracket);
        Ok(())
    }

    /// What comes before an element or a key.
    #[inline]
    pub(crate) fn separate<const PRETTY: bool>(
        &mut self,
        first: bool,
        depth: usize,
    ) -> Result<(), Error> {
        if !first {
            self.room(1)?;
            self.byte(b',');
        }
        if PRETTY { self.line(depth) } else { Ok(()) }
    }

    /// What comes before a closing bracket, and the bracket.
    #[inline]
    pub(crate) fn close<const PRETTY: bool>(
        &mut self,
        bracket: u8,
        empty: bool,
        depth: usize,
    ) -> Result<(), Error> {
        if PRETTY && !empty {
            self.line(depth)?;
        }
        self.open(bracket)
    }

    fn line(&mut self, depth: usize) -> Result<(), Error> {
        self.open(b'\n')?;
        for _ in 0..depth {
            for piece in self.indent.as_bytes().chunks(PIECE) {
                self.text(piece)?;
            }
        }
        Ok(())
    }

    /// A key with what comes before and behind it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn key<const PRETTY: bool>(
        &mut self,
        key: &str,
        first: bool,
        depth: usize,
    ) -> Result<(), Error> {
        if PRETTY {
            self.separate::<PRETTY>(first, depth)?;
            self.quote(key, false)?;
        } else {
            self.quote(key, !first)?;
        }
        // Within the slack of the text's room.
        self.byte(b':');
        if PRETTY {
            self.byte(b' ');
        }
        Ok(())
    }

    // -- values ------------------------------------------------------------------

    #[inline]
    pub(crate) fn literal(&mut self, literal: &str) -> Result<(), Error> {
        self.text(literal.as_bytes())
    }

    /// What another printer printed, a comma first.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn again<const PRETTY: bool>(
        &mut self,
        from: &Printer<'_>,
        piece: Piece,
        first: bool,
        depth: usize,
    ) -> Result<(), Error> {
        if PRETTY {
            self.separate::<PRETTY>(first, depth)?;
        }
        let skip = usize::from(first | PRETTY);
        let (start, length) = (piece.start as usize + skip, usize::from(piece.length) - skip);
        self.room(length)?;
        // Short pieces are copied with some of the slack after them.
        let (text, place) = (&from.out, &mut self.out);
        if let (Some(block), Some(place)) = (chunk(text, start), chunk_mut::<16>(place, self.at)) {
            *place = *block;
        }
        if length > 16 {
            match (chunk::<{ Piece::SHORT }>(text, start), chunk_mut(place, self.at)) {
                (Some(block), Some(place)) if length <= Piece::SHORT => *place = *block,
                _ => self.copy_long(&text[start..start + length]),
            }
        }
        self.at += length;
        Ok(())
    }

    #[inline(never)]
    fn copy_long(&mut self, text: &[u8]) {
        self.out[self.at..self.at + text.len()].copy_from_slice(text);
    }

    /// Prints a piece of this text again.
    pub(crate) fn repeat(&mut self, piece: Piece) -> Result<(), Error> {
        let (start, length) = (piece.start as usize, usize::from(piece.length));
        self.room(length)?;
        self.out.copy_within(start..start + length, self.at);
        self.at += length;
        Ok(())
    }

    /// The text from `start` on as a piece; `None` if it is longer than `most`.
    pub(crate) fn piece(&self, start: usize, most: usize) -> Option<Piece> {
        let length = u16::try_from(self.at - start).ok()?;
        let fits = usize::from(length) <= most && start <= u32::MAX as usize;
        fits.then_some(Piece { start: start as u32, length })
    }

    /// Length of the text that was not handed over.
    pub(crate) fn length(&self) -> usize {
        self.at
    }

    /// Drops the text from here on.
    pub(crate) fn cut(&mut self, length: usize) {
        self.at = self.at.min(length);
    }

    #[inline]
    pub(crate) fn i64(&mut self, value: i64) -> Result<(), Error> {
        self.digits(itoa::Buffer::new().format(value).as_bytes())
    }

    #[inline]
    pub(crate) fn u64(&mut self, value: u64) -> Result<(), Error> {
        self.digits(itoa::Buffer::new().format(value).as_bytes())
    }

    /// Appends an integer's digits, two at a time from the end, as they were written:
    /// a processor waits long for words of which parts were just stored.
    #[inline]
    fn digits(&mut self, digits: &[u8]) -> Result<(), Error> {
        self.room(digits.len())?;
        let place = &mut self.out[self.at..][..digits.len()];
        for (place, pair) in place.rchunks_exact_mut(2).zip(digits.rchunks_exact(2)) {
            place.copy_from_slice(pair);
        }
        if digits.len() % 2 == 1 {
            place[0] = digits[0];
        }
        self.at += digits.len();
        Ok(())
    }

    #[inline]
    pub(crate) fn f64(&mut self, value: f64) -> Result<(), Error> {
        if value.is_finite() {
            let mut digits = Digits(zmij::Buffer::new());
            self.literal(digits.0.format_finite(value))
        } else {
            self.not_finite()
        }
    }

    /// A value of a column of numbers in four bytes: an integer or a float.
    #[inline]
    pub(crate) fn number_f32(&mut self, value: f64) -> Result<(), Error> {
        match ColumnType::NumbersF32.integer(value) {
            Some(value) => self.i64(value),
            None => self.f64(value),
        }
    }

    /// The same in eight bytes.
    #[inline]
    pub(crate) fn number_f64(&mut self, value: f64) -> Result<(), Error> {
        match ColumnType::NumbersF64.integer(value) {
            Some(value) => self.i64(value),
            None => self.f64(value),
        }
    }

    #[cold]
    fn not_finite(&mut self) -> Result<(), Error> {
        match self.non_finite {
            NonFinite::Null => self.literal("null"),
            NonFinite::Error => Err(Error::new(
                ErrorKind::NotFinite,
                "JSON has no infinity and no NaN; an option prints null for them",
            )),
        }
    }

    /// A number kept as text. A damaged document can hold any text here, so it is checked.
    pub(crate) fn number_text(&mut self, text: &str) -> Result<(), Error> {
        if literal_length(text.as_bytes()) != Some(text.len()) {
            return Err(Error::new(
                ErrorKind::Document,
                "the document is damaged: a number's text is no number",
            ));
        }
        text.as_bytes().chunks(PIECE).try_for_each(|piece| self.text(piece))
    }

    /// A value that JSON lacks: a decimal as a number, others as a string of their text.
    #[cold]
    pub(crate) fn extended(&mut self, value: &Extended) -> Result<(), Error> {
        let text = value.to_string();
        match value {
            Extended::Decimal(_) => self.number_text(&text),
            _ => self.string(&text),
        }
    }

    #[inline]
    pub(crate) fn string(&mut self, text: &str) -> Result<(), Error> {
        self.quote(text, false)
    }

    /// A string, with a comma before it or not. Leaves a slack of room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn quote(&mut self, text: &str, comma: bool) -> Result<(), Error> {
        let text = text.as_bytes();
        if text.len() > PIECE {
            return self.quote_long(text, comma);
        }
        self.room(text.len())?;
        // The length is kept in a register: through memory it would be the longest
        // chain of dependent steps here.
        let mut at = self.at;
        self.out[at] = b',';
        at += usize::from(comma);
        self.out[at] = b'"';
        at += 1;
        let clean = copy_clean(&mut self.out[at..], text);
        at += clean;
        if clean < text.len() {
            self.at = at;
            self.escape(&text[clean..])?;
            at = self.at;
        }
        self.out[at] = b'"';
        self.at = at + 1;
        Ok(())
    }

    #[cold]
    fn quote_long(&mut self, text: &[u8], comma: bool) -> Result<(), Error> {
        if comma {
            self.open(b',')?;
        }
        self.open(b'"')?;
        // Characters may be cut in two here: each byte is escaped, or not, by itself.
        text.chunks(PIECE).try_for_each(|piece| self.escape(piece))?;
        self.open(b'"')
    }

    /// Escapes what RFC 8259 requires and nothing else. Leaves a slack of room.
    #[inline(never)]
    fn escape(&mut self, mut rest: &[u8]) -> Result<(), Error> {
        self.room(6 * rest.len())?;
        loop {
            let clean = copy_clean(&mut self.out[self.at..], rest);
            self.at += clean;
            let Some(&byte) = rest.get(clean) else { return Ok(()) };
            let short = match byte {
                b'"' | b'\\' => byte,
                0x08 => b'b',
                0x09 => b't',
                0x0A => b'n',
                0x0C => b'f',
                0x0D => b'r',
                _ => 0,
            };
            if short != 0 {
                self.byte(b'\\');
                self.byte(short);
            } else {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                copy(&mut self.out[self.at..], &[b'\\', b'u', b'0', b'0', high, low]);
                self.at += 6;
            }
            rest = &rest[clean + 1..];
        }
    }

    /// Bytes, as a string of their base64 (RFC 4648 section 4, with padding).
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.open(b'"')?;
        for piece in bytes.chunks(PIECE) {
            self.room(2 * piece.len() + 4)?;
            // There is room for four thirds, so it cannot fail.
            let length = base64::engine::general_purpose::STANDARD
                .encode_slice(piece, &mut self.out[self.at..])
                .unwrap_or_default();
            self.at += length;
        }
        self.open(b'"')
    }
}

/// Copies `from` to the start of `to`, which is longer. Short pieces by overlapping words.
#[cfg_attr(not(debug_assertions), inline(always))]
fn copy(to: &mut [u8], from: &[u8]) {
    let length = from.len();
    match length {
        0 => {}
        1..=3 => {
            for at in [0, length / 2, length - 1] {
                to[at] = from[at];
            }
        }
        4..=7 => overlapping::<4>(to, from),
        8..=16 => overlapping::<8>(to, from),
        17..=32 => overlapping::<16>(to, from),
        _ => to[..length].copy_from_slice(from),
    }
}

/// Copies `N` to `2 * N` bytes as two words.
#[cfg_attr(not(debug_assertions), inline(always))]
fn overlapping<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        to[..N].copy_from_slice(first);
        to[from.len() - N..from.len()].copy_from_slice(last);
    }
}

/// Copies the beginning of `from` that needs no escape to the start of `to`, which is longer, and
/// returns its length. One pass both copies and looks.
#[cfg_attr(not(debug_assertions), inline(always))]
fn copy_clean(to: &mut [u8], from: &[u8]) -> usize {
    let length = from.len();
    let mut at = 0;
    let clean = if length >= 16 {
        loop {
            // The last block begins early, so that it is a whole one.
            at = at.min(length - 16);
            let (Some(block), Some(place)) = (chunk::<16>(from, at), chunk_mut(to, at)) else {
                break false;
            };
            *place = *block;
            if !is_clean(block) {
                break false;
            }
            at += 16;
            if at >= length {
                break true;
            }
        }
    } else {
        copy(to, from);
        // The same overlapping words: a block of them is put together byte by byte.
        if let (Some(first), Some(last)) = (from.first_chunk::<8>(), from.last_chunk::<8>()) {
            are_clean(u64::from_le_bytes(*first)) && are_clean(u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (from.first_chunk::<4>(), from.last_chunk::<4>())
        {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            are_clean(u64::from(first) | u64::from(last) << 32)
        } else {
            !from.iter().any(|&byte| needs_escape(byte))
        }
    };
    if clean {
        return length;
    }
    for (to, &from) in to[at..].iter_mut().zip(&from[at..]) {
        if needs_escape(from) {
            break;
        }
        *to = from;
        at += 1;
    }
    at
}

/// Whether no byte needs an escape, in a form that compilers turn into vector code.
#[cfg_attr(not(debug_assertions), inline(always))]
fn is_clean(block: &[u8; 16]) -> bool {
    let mut marks = [0; 16];
    for (mark, &byte) in marks.iter_mut().zip(block) {
        *mark = if needs_escape(byte) { 0xFF } else { 0 };
    }
    u128::from_ne_bytes(marks) == 0
}

/// The same of eight bytes.
#[inline]
fn are_clean(word: u64) -> bool {
    bytes_below(word, 0x20) | bytes_equal(word, b'"') | bytes_equal(word, b'\\') == 0
}

#[inline]
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

#[inline]
fn chunk_mut<const N: usize>(bytes: &mut [u8], at: usize) -> Option<&mut [u8; N]> {
    bytes.get_mut(at..)?.first_chunk_mut()
}

#[inline]
fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}
