//! Cells: eight bytes of value, told apart by a tag (FORMAT 3).
//!
//! A span cell (text, bytes, number text, every key) holds up to seven bytes
//! itself, or the offset and length of longer ones:
//!
//! ```text
//!  byte  0   1   2   3   4   5   6   7
//!       [ up to seven bytes, then zeros ][80+n]   inline, n bytes
//!       [   offset     ][ length | 0x4000_0000 ]  elsewhere, owned
//!       [   offset     ][ length               ]  elsewhere, may be shared
//! ```

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{equal, is_ascii, load_u64, slice};
use crate::format::layout::*;

/// The inline cell of a text of at most seven bytes.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) const fn inline_span(text: &[u8]) -> u64 {
    pack(text) | (0x80 | text.len() as u64) << 56
}

/// A cell for bytes that lie elsewhere.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) const fn span_at(offset: u32, length: u32, owned: bool) -> u64 {
    let flag = if owned { SPAN_OWNED } else { 0 };
    offset as u64 | ((length | flag) as u64) << 32
}

/// Length in bytes that a span cell states.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) const fn span_length(cell: u64) -> u32 {
    let word = (cell >> 32) as u32;
    if word & SPAN_INLINE != 0 { (word >> 24) & 0x7F } else { word & MAX_SPAN }
}

/// Length of the text that lies in the cell itself.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) const fn span_inline(cell: u64) -> Option<usize> {
    let length = (cell >> 56) as usize & 0x7F;
    if cell >> 63 == 1 && length <= MAX_INLINE { Some(length) } else { None }
}

/// Where an owned span's bytes lie: (offset, length). `None` for inline and shared ones.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) const fn owned_span(cell: u64) -> Option<(u32, u32)> {
    let word = (cell >> 32) as u32;
    if word & (SPAN_INLINE | SPAN_OWNED) == SPAN_OWNED {
        Some((cell as u32, word & MAX_SPAN))
    } else {
        None
    }
}

/// The cell of the same span, not owned.
pub(crate) const fn shared_span(cell: u64) -> u64 {
    match owned_span(cell) {
        Some(_) => cell & !((SPAN_OWNED as u64) << 32),
        None => cell,
    }
}

/// Offset of the bytes of the span whose cell lies at `position`.
pub(crate) const fn span_offset(cell: u64, position: u32) -> u64 {
    if (cell >> 32) as u32 & SPAN_INLINE != 0 { position as u64 } else { cell & 0xFFFF_FFFF }
}

/// The bytes of the span whose cell lies at `position`.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) fn span_bytes(bytes: &[u8], cell: u64, position: u64) -> Result<&[u8]> {
    let word = (cell >> 32) as u32;
    if word & SPAN_INLINE == 0 {
        return slice(bytes, cell & 0xFFFF_FFFF, (word & MAX_SPAN) as u64);
    }
    let length = (word >> 24) & 0x7F;
    if length > MAX_INLINE as u32 {
        return Err(Error::new(ErrorKind::BadCell, position));
    }
    slice(bytes, position, length as u64)
}

/// The bytes of a span whose cell may be nowhere: those of an inline one are copied to `inline`.
pub(crate) fn unplaced_span<'b>(
    bytes: &'b [u8],
    cell: u64,
    inline: &'b mut [u8; 8],
) -> Result<&'b [u8]> {
    match span_inline(cell) {
        Some(length) => {
            *inline = cell.to_le_bytes();
            Ok(&inline[..length])
        }
        None => span_bytes(bytes, cell, 0),
    }
}

/// The bytes of the span cell at `position`.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) fn span_at_position(bytes: &[u8], position: u64) -> Result<&[u8]> {
    span_bytes(bytes, load_u64(bytes, position)?, position)
}

/// A key to be searched for: its text, and its cell if the text fits into one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needle<'k> {
    pub(crate) text: &'k [u8],
    /// The whole cell to compare for keys of at most seven bytes, else zero.
    pub(crate) cell: u64,
    pub(crate) fingerprint: u8,
}

impl<'k> Needle<'k> {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) const fn new(text: &'k [u8]) -> Self {
        match fold(text) {
            Some(mix) => Needle { text, cell: 0, fingerprint: fingerprint(mix) },
            None => {
                let cell = inline_span(text);
                Needle { text, cell, fingerprint: fingerprint(cell) }
            }
        }
    }

    /// Whether the key is ASCII.
    #[inline]
    pub(crate) fn is_ascii(&self) -> bool {
        match self.cell {
            0 => is_ascii(self.text),
            cell => cell & 0x0080_8080_8080_8080 == 0,
        }
    }

    /// Whether the key cell at `position` holds this key.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn is_at(&self, bytes: &[u8], position: u64) -> Result<bool> {
        let cell = load_u64(bytes, position)?;
        if self.cell != 0 {
            return Ok(cell == self.cell);
        }
        if cell >> 32 & (MAX_SPAN | SPAN_INLINE) as u64 != self.text.len() as u64 {
            return Ok(false);
        }
        Ok(equal(slice(bytes, cell & 0xFFFF_FFFF, self.text.len() as u64)?, self.text))
    }
}

/// The word that a key's fingerprint is made from: the cell of a key of at most seven bytes.
pub(crate) const fn mix(text: &[u8]) -> u64 {
    match fold(text) {
        Some(mix) => mix,
        None => inline_span(text),
    }
}

/// First and last eight bytes of a longer key, and its length, in one word (FORMAT 4.2).
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
const fn fold(text: &[u8]) -> Option<u64> {
    let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) else { return None };
    let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    Some(first ^ last.rotate_left(29) ^ text.len() as u64)
}

/// Up to seven bytes as a little-endian number, by two loads that may overlap: no jump by length.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(crate) const fn pack(text: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return first as u64 | (last as u64) << ((8 * (text.len() - 4)) & 63);
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let (first, last) = (u16::from_le_bytes(*first), u16::from_le_bytes(*last));
        return first as u64 | (last as u64) << ((8 * (text.len() - 2)) & 63);
    }
    if let [byte] = text { *byte as u64 } else { 0 }
}

/// The one-byte fingerprint of a key (FORMAT 4.2).
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
const fn fingerprint(mix: u64) -> u8 {
    (mix.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}
