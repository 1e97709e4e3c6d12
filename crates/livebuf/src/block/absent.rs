//! Slots without a value, and the slots below them (FORMAT 6.2): all are 0, or their text is
//! empty.
//!
//! A slot is *absent* where its column says so (a gap), and where it is *blank*: the row
//! or array around it is absent. A column does not say which of its slots are blank; the
//! nearest column around it that has gaps does.

use crate::block::column::Elements;
use crate::block::column_type::{ColumnType, Slot};
use crate::block::list::List;
use crate::block::owner::Owner;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, slice};
use crate::format::layout::*;

/// Tells which slots of a column are blank.
#[derive(Clone, Copy)]
pub(crate) struct Blanks {
    /// The nearest column around that has gaps.
    around: Elements,
    /// How many slots of this column there are for each slot of `around`: more than one within
    /// lists of fixed length.
    per: u64,
}

impl Blanks {
    /// The blanks of the columns in the table or list that `column` leads to. `outer` is those
    /// of `column` itself. `length` is the length of the arrays, in a list of fixed length.
    pub(crate) fn below(column: Elements, length: u32, outer: Option<Blanks>) -> Option<Blanks> {
        if column.column.has_offsets() {
            return None;
        }
        if column.gaps != GAPS_NONE {
            return Some(Blanks { around: column, per: length as u64 });
        }
        // Lists of fixed length may lie in each other. Then a slot of the outermost column has as
        // many elements as the product of their lengths.
        outer.map(|outer| Blanks { per: outer.per.saturating_mul(length as u64), ..outer })
    }

    /// The blanks of the columns in the table or list at `within`, which is 0 for an array that
    /// is in neither.
    pub(crate) fn within(bytes: &[u8], within: u32) -> Result<Option<Blanks>> {
        let (mut within, mut per) = (within, 1u64);
        // At most `MAX_COLUMN_DEPTH` tables and lists lie around a column, and each turn leaves one
        // of them. One turn more finds that nothing is around the outermost array.
        for _ in 0..=MAX_COLUMN_DEPTH {
            if within == 0 {
                return Ok(None);
            }
            if load_u8(bytes, within as u64)? == KIND_LIST {
                match List::load(bytes, within)?.length {
                    Some(length) => per = per.saturating_mul(length as u64),
                    None => return Ok(None),
                }
            }
            let owner = Owner::load(bytes, within)?;
            let around = Elements::at(bytes, owner.header(bytes)?)?;
            if around.gaps != GAPS_NONE {
                return Ok(Some(Blanks { around, per }));
            }
            within = owner.within(bytes)?;
        }
        Err(Error::new(ErrorKind::NestingLimit, within as u64))
    }

    /// Whether a slot is blank.
    pub(crate) fn has(&self, bytes: &[u8], slot: u32) -> Result<bool> {
        let around = (slot as u64 / self.per.max(1)) as u32;
        Ok(self.around.gap(bytes, around)?.is_some())
    }

    /// Calls `with` on every blank slot below `end`.
    fn each(&self, bytes: &[u8], end: u32, with: &mut dyn FnMut(u32) -> Result<()>) -> Result<()> {
        let per = self.per.max(1);
        let around = (end as u64).div_ceil(per) as u32;
        each_gap(bytes, self.around, 0..around, &mut |slot| {
            let first = slot as u64 * per;
            (first..(first + per).min(end as u64)).try_for_each(|slot| with(slot as u32))
        })
    }
}

/// Whether a slot is blank. Without `blanks` no slot is.
pub(crate) fn is_blank(bytes: &[u8], blanks: Option<Blanks>, slot: u32) -> Result<bool> {
    match blanks {
        Some(blanks) => blanks.has(bytes, slot),
        None => Ok(false),
    }
}

/// Calls `with` on the slots of a range that have no value in a column with gaps.
fn each_gap(
    bytes: &[u8],
    column: Elements,
    range: core::ops::Range<u32>,
    with: &mut dyn FnMut(u32) -> Result<()>,
) -> Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    let base = column.bits_at(bytes)?;
    let (first, last) = (range.start / 8, (range.end - 1) / 8);
    let bits = slice(bytes, base + first as u64, (last - first) as u64 + 1)?;
    for (byte, &valid) in (first..).zip(bits) {
        // A column of nulls has no values, whatever damaged bits say.
        let mut gaps = if column.column == ColumnType::Null { 0xFF } else { !valid };
        while gaps != 0 {
            let slot = 8 * byte + gaps.trailing_zeros();
            gaps &= gaps - 1;
            if range.contains(&slot) {
                with(slot)?;
            }
        }
    }
    Ok(())
}

/// Checks that the absent slots of a column, or of an array in a list, are 0, and that they
/// have no elements in a list. Linear in the slots; does nothing where there are no gaps.
///
/// # Errors
/// [`ErrorKind::NotZero`]; [`ErrorKind::BadCount`] for elements of an absent array.
pub(crate) fn check(bytes: &[u8], column: Elements, blanks: Option<Blanks>) -> Result<()> {
    if column.gaps == GAPS_NONE && blanks.is_none() {
        return Ok(());
    }
    let range = column.first..column.first.saturating_add(column.count);
    if column.gaps != GAPS_NONE
        && let Some(blanks) = blanks
    {
        let bits = column.bits_at(bytes)?;
        let null = bits + bitmap_size(column.capacity as u64);
        blanks.each(bytes, range.end, &mut |slot| {
            bit_is_zero(bytes, bits, slot)?;
            if column.gaps == GAPS_BOTH { bit_is_zero(bytes, null, slot) } else { Ok(()) }
        })?;
    }
    let values = column.values_at();
    let mut absent: &mut dyn FnMut(u32) -> Result<()> = match column.column.slot() {
        Slot::Nested if column.column != ColumnType::List => return Ok(()),
        Slot::Nothing => return Ok(()),
        Slot::Nested | Slot::Run => &mut |slot| {
            let list = List::load(bytes, column.data)?;
            match list.bounds(bytes, slot)? {
                (_, 0) => Ok(()),
                _ => Err(Error::new(ErrorKind::BadCount, (list.offset + LIST_OFFSETS) as u64)),
            }
        },
        Slot::Tagged => &mut |slot| {
            is_zero(bytes, values + tag_at(slot), 1)?;
            is_zero(bytes, values + cell_at(slot), 8)
        },
        Slot::Bit => &mut |slot| bit_is_zero(bytes, values, slot),
        Slot::Marked => &mut |slot| {
            let width = column.column.width();
            is_zero(bytes, values + slot as u64 * width, width)?;
            bit_is_zero(bytes, column.marks_at(), slot)
        },
        Slot::Integer
        | Slot::Float
        | Slot::Number
        | Slot::Span
        | Slot::Home
        | Slot::Code
        | Slot::Extended
        | Slot::Bytes
        | Slot::Flag => {
            let width = column.column.width();
            &mut move |slot| is_zero(bytes, values + slot as u64 * width, width)
        }
    };
    match blanks {
        _ if column.gaps != GAPS_NONE => each_gap(bytes, column, range, &mut absent),
        Some(blanks) => blanks.each(bytes, range.end, &mut absent),
        None => Ok(()),
    }
}

fn bit_is_zero(bytes: &[u8], bits: u64, slot: u32) -> Result<()> {
    let at = bits + (slot >> 3) as u64;
    match load_u8(bytes, at)? >> (slot & 7) & 1 {
        0 => Ok(()),
        _ => Err(Error::new(ErrorKind::NotZero, at)),
    }
}

fn is_zero(bytes: &[u8], offset: u64, length: u64) -> Result<()> {
    match slice(bytes, offset, length)?.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => Err(Error::new(ErrorKind::NotZero, offset + at as u64)),
    }
}
