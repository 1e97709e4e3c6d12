//! Where the elements of a list's arrays begin, and the texts of a run (FORMAT 6.4).

use crate::block::column_type::ColumnType;
use crate::block::record::{LENT, Raw};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u16, load_u32, load_u64};
use crate::format::cell::span_at;
use crate::format::layout::*;

/// Number `row` of the offsets whose header is at `header`, and the next one.
// The header is not loaded as a whole, because each text of a run is found with this.
#[inline]
pub(super) fn two_offsets(bytes: &[u8], header: u32, row: u32) -> Result<(u32, u32)> {
    const fn head(column: ColumnType) -> u32 {
        KIND_ARRAY as u32 | (column as u32) << 8
    }
    const OF_U8: u32 = head(ColumnType::U8);
    const OF_U16: u32 = head(ColumnType::U16);
    const OF_U32: u32 = head(ColumnType::U32);
    let head = load_u64(bytes, header as u64)?;
    if row as u64 + 1 >= head >> 32 {
        return Err(Error::new(ErrorKind::BadCount, header as u64));
    }
    let (data, row) = (load_u32(bytes, header as u64 + ARRAY_DATA as u64)? as u64, row as u64);
    // Each arm loads both at once.
    Ok(match head as u32 {
        OF_U8 => {
            let pair = load_u16(bytes, data + row)? as u32;
            (pair & 0xFF, pair >> 8)
        }
        OF_U16 => {
            let pair = load_u32(bytes, data + 2 * row)?;
            (pair & 0xFFFF, pair >> 16)
        }
        OF_U32 => {
            let pair = load_u64(bytes, data + 4 * row)?;
            (pair as u32, (pair >> 32) as u32)
        }
        _ => return Err(Error::new(ErrorKind::WrongBlock, header as u64)),
    })
}

/// The narrowest column for offsets that reach `last`.
pub(crate) fn offsets_column(last: u64) -> ColumnType {
    match last {
        0..=0xFF => ColumnType::U8,
        0x100..=0xFFFF => ColumnType::U16,
        _ => ColumnType::U32,
    }
}

/// The text of a slot of the run at `list`. Its bytes stay in the run.
#[inline(never)]
pub(super) fn lent(bytes: &[u8], list: u32, slot: u32) -> Result<Raw> {
    let head = load_u64(bytes, list as u64)?;
    let data = load_u32(bytes, list as u64 + (LIST_CHILD + ARRAY_DATA) as u64)?;
    let bounds = if (head >> 8) as u8 != 0 {
        let length = (head >> 32) as u32;
        slot.checked_mul(length).zip(Some(length))
    } else {
        let (start, end) = two_offsets(bytes, list.wrapping_add(LIST_OFFSETS), slot)?;
        Some(start).zip(end.checked_sub(start))
    };
    let bounds = bounds.and_then(|(start, length)| Some((data.checked_add(start)?, length)));
    match bounds.filter(|&(_, length)| length <= MAX_SPAN) {
        Some((offset, length)) => {
            Ok(Raw { tag: TAG_STRING, cell: span_at(offset, length, false), position: LENT })
        }
        None => Err(Error::new(ErrorKind::BadIndex, list as u64)),
    }
}
