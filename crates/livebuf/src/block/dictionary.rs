//! Dictionaries: the different texts of a column, and a code for each slot (FORMAT 6.1).
//!
//! ```text
//! slots: code of each text    header of a column of `String`    its elements: the texts' cells
//! ```
//!
//! A slot without a value has the code 0. No cell owns a text, so the bytes of a text stay even if
//! no slot has it any more: others may refer to them.

use crate::block::column::Elements;
use crate::block::column_type::ColumnType;
use crate::block::record::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u16, load_u32, load_u64, slice};
use crate::format::cell::{Needle, shared_span, span_bytes, span_inline, span_length};
use crate::format::layout::*;

/// How many texts of a dictionary an edit compares with a text before it adds that as a new one.
const MOST_COMPARED: u32 = 1 << 12;

impl Elements {
    /// A slot's code.
    #[inline]
    pub(crate) fn code(&self, bytes: &[u8], slot: u32) -> Result<u32> {
        Ok(match self.column {
            ColumnType::DictionaryU8 => load_u8(bytes, self.values_at() + slot as u64)?.into(),
            _ => load_u16(bytes, self.values_at() + 2 * slot as u64)?.into(),
        })
    }

    /// The first slot of a dictionary whose code is not below `limit`. Linear in the slots.
    pub(crate) fn stray_code(&self, bytes: &[u8], limit: u32) -> Result<Option<u32>> {
        let width = self.column.width();
        let start = self.values_at() + self.first as u64 * width;
        let codes = slice(bytes, start, self.count as u64 * width)?;
        let most = match width {
            1 => codes.iter().copied().max().map(u32::from),
            _ => codes
                .as_chunks()
                .0
                .iter()
                .map(|&code| u16::from_le_bytes(code))
                .max()
                .map(u32::from),
        };
        if most.is_none_or(|most| most < limit) {
            return Ok(None);
        }
        for index in 0..self.count {
            if self.code(bytes, self.first.wrapping_add(index))? >= limit {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// The text that a slot's code stands for. No cell owns it.
    pub(super) fn text(&self, bytes: &[u8], slot: u32) -> Result<Raw> {
        let code = self.code(bytes, slot)?;
        let entries = self.entries_at();
        let count = (load_u64(bytes, entries)? >> 32) as u32;
        if code >= count {
            return Err(Error::new(ErrorKind::BadIndex, entries));
        }
        let data = load_u32(bytes, entries + ARRAY_DATA as u64)?;
        let position = data as u64 + 8 * code as u64;
        let cell = shared_span(load_u64(bytes, position)?);
        Ok(Raw { tag: TAG_STRING, cell, position: position as u32 })
    }

    /// Looks for a text in the column of a dictionary's texts, which this is. Returns its code.
    /// Linear in the texts. Of texts that are not inline, at most [`MOST_COMPARED`] are compared.
    pub(crate) fn find_entry(&self, bytes: &[u8], needle: &Needle<'_>) -> Result<Option<u32>> {
        let cells = slice(bytes, self.data as u64, 8 * self.count as u64)?;
        let mut compared = 0;
        for (code, cell) in (0..).zip(cells.as_chunks::<8>().0) {
            let cell = u64::from_le_bytes(*cell);
            if needle.cell != 0 {
                if cell == needle.cell {
                    return Ok(Some(code));
                }
                continue;
            }
            if span_inline(cell).is_none() && span_length(cell) as usize == needle.text.len() {
                compared += 1;
                if span_bytes(bytes, cell, 0)? == needle.text {
                    return Ok(Some(code));
                }
                if compared == MOST_COMPARED {
                    break;
                }
            }
        }
        Ok(None)
    }
}
