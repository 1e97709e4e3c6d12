//! Slots without a value (FORMAT 6.2): all are 0, or their text is empty.
//!
//! If a row or an array of fixed length is absent, the columns below it still have its slots, and
//! say that these are missing. So each column is complete by itself.

use crate::block::column::{Elements, Gap, bit};
use crate::block::column_type::{ColumnType, SlotKind};
use crate::block::list::List;
use crate::block::tensor::Form;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check_zero, load_u8, slice};
use crate::format::layout::*;

/// A column with gaps around another one: of structs, or of lists of fixed length.
#[derive(Clone, Copy)]
pub(crate) struct Above {
    column: Elements,
    /// Slots of the column below for each of this one's.
    per: u32,
    /// The column below has the elements of a list: they are missing nowhere else.
    elements: bool,
}

impl Above {
    /// What the rows of a struct column say about the columns of its table.
    pub(crate) fn rows(column: Elements) -> Option<Above> {
        let gaps = column.gaps != GAPS_NONE;
        gaps.then_some(Above { column, per: 1, elements: false })
    }

    /// What the arrays of a list column say about its elements. Those of a tensor have no gaps.
    pub(crate) fn arrays(bytes: &[u8], column: Elements, list: List) -> Result<Option<Above>> {
        match list.length {
            Some(per) if column.gaps != GAPS_NONE && !list.child(bytes)?.tensor => {
                Ok(Some(Above { column, per, elements: true }))
            }
            _ => Ok(None),
        }
    }

    /// Checks that a column below has its slots missing where this one's are without a value.
    fn check(&self, bytes: &[u8], below: Elements) -> Result<()> {
        let cells = below.column == ColumnType::Cells;
        each_gap(bytes, self.column, 0..self.column.count, &mut |above| {
            let first = above.saturating_mul(self.per);
            (first..first.saturating_add(self.per).min(below.count)).try_for_each(|slot| {
                if is_missing(bytes, below, slot)? {
                    return Ok(());
                }
                Err(match cells {
                    true => Error::new(ErrorKind::NotZero, below.values_at() + tag_at(slot)),
                    false => Error::new(ErrorKind::BadCode, (below.offset + ARRAY_GAPS).into()),
                })
            })
        })?;
        if !self.elements {
            return Ok(());
        }
        // An array that is there has all its elements.
        (0..below.count).try_for_each(|slot| {
            let stray = is_missing(bytes, below, slot)?
                && self.column.gap(bytes, slot / self.per.max(1))?.is_none();
            match stray {
                true => Err(Error::new(ErrorKind::BadCode, (below.offset + ARRAY_GAPS).into())),
                false => Ok(()),
            }
        })
    }
}

/// Whether a column says that a slot is missing.
pub(crate) fn is_missing(bytes: &[u8], column: Elements, slot: u32) -> Result<bool> {
    match column.column {
        ColumnType::Cells => Ok(load_u8(bytes, column.values_at() + tag_at(slot))? == TAG_HOLE),
        _ => Ok(column.gap(bytes, slot)? == Some(Gap::Missing)),
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

/// Checks that the slots of a column, or of an array in a list, that have no value are 0, that they
/// have no elements in a list, and that those below a slot without a value in `above` are missing.
/// Linear in the slots; does nothing where there are no gaps.
///
/// # Errors
/// [`ErrorKind::NotZero`]; [`ErrorKind::BadCount`] for elements of an absent array;
/// [`ErrorKind::BadCode`] if a slot should be missing and is not, or the reverse.
pub(crate) fn check(bytes: &[u8], column: Elements, above: Option<Above>) -> Result<()> {
    if let Some(above) = above {
        above.check(bytes, column)?;
    }
    if column.gaps == GAPS_NONE {
        return Ok(());
    }
    let range = column.first..column.first.saturating_add(column.count);
    let values = column.values_at();
    let mut absent: &mut dyn FnMut(u32) -> Result<()> = match column.column.slot() {
        // Cells have no gaps.
        SlotKind::Nothing | SlotKind::Tagged => return Ok(()),
        SlotKind::Nested if column.column == ColumnType::Struct => return Ok(()),
        SlotKind::Nested if column.column == ColumnType::FixedList => {
            // Elements say that they are missing. The numbers of a tensor do not.
            let list = List::load(bytes, column.data)?;
            let Some(form) = Form::in_list(bytes, list)? else { return Ok(()) };
            let Some((_, numbers)) = Form::of(bytes, list.child(bytes)?)? else { return Ok(()) };
            let size = form.size();
            &mut move |slot| check_zero(bytes, numbers + u64::from(slot).saturating_mul(size), size)
        }
        SlotKind::Nested | SlotKind::Run => {
            let list = List::load(bytes, column.data)?;
            let elements = list.child(bytes)?.data as u64;
            &mut move |slot| match (list.bounds(bytes, slot)?, list.length) {
                ((start, length), Some(_)) => check_zero(bytes, elements + start, length),
                ((_, 0), None) => Ok(()),
                _ => Err(Error::new(ErrorKind::BadCount, (list.offset + LIST_OFFSETS) as u64)),
            }
        }
        SlotKind::Bit => &mut |slot| bit_is_zero(bytes, values, slot),
        SlotKind::Marked => &mut |slot| {
            let width = column.column.width();
            check_zero(bytes, values + slot as u64 * width, width)?;
            bit_is_zero(bytes, column.marks_at(), slot)
        },
        SlotKind::Integer
        | SlotKind::Float
        | SlotKind::Number
        | SlotKind::Span
        | SlotKind::Home
        | SlotKind::Code
        | SlotKind::Extended
        | SlotKind::Bytes
        | SlotKind::Flag => {
            let width = column.column.width();
            &mut move |slot| check_zero(bytes, values + slot as u64 * width, width)
        }
    };
    each_gap(bytes, column, range, &mut absent)
}

fn bit_is_zero(bytes: &[u8], bits: u64, slot: u32) -> Result<()> {
    match bit(bytes, bits, slot)? {
        false => Ok(()),
        true => Err(Error::new(ErrorKind::NotZero, bits + (slot >> 3) as u64)),
    }
}
