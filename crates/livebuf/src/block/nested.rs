//! Walks what the columns of tables and lists lead to, column by column, for validation. A walk
//! row by row could take many steps for each byte of a document.

use crate::block::column::Elements;
use crate::block::column_type::SlotKind;
use crate::block::list::List;
use crate::block::owner::Owner;
use crate::block::record::Raw;
use crate::block::table::{Table, extra};
use crate::error::Result;
use crate::format::bytes::{load_u8, slice};
use crate::format::layout::*;

/// A place in the walk through the slots below a struct or list column. The columns there are
/// already checked. What their slots lead to is not.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    /// The table or list where the walk began.
    first: u32,
    /// The current table or list, and the number of its column. The number behind the last
    /// column stands for the extras.
    block: u32,
    column: u32,
    /// The next slot of the column, or entry of the extras.
    slot: u32,
    /// The number behind the last column of the first block.
    end: u32,
    /// Containers around what the slots hold.
    above: u16,
}

/// A container that a slot leads to.
pub(crate) enum SlotContainer {
    Node(Raw),
    /// The object with a row's further fields.
    Further(Raw),
}

impl Columns {
    /// Begins at the column of an array, with `above` containers around the array.
    pub(crate) fn new(column: Elements, above: u16) -> Columns {
        // The array, and its rows or the arrays in it.
        let above = above.saturating_add(2);
        let (first, end) = (column.data, u32::MAX);
        Columns { first, block: first, column: 0, slot: 0, end, above }
    }

    /// Walks one column of a table alone, with `above` containers around what its slots hold.
    #[cfg(feature = "alloc")]
    pub(crate) fn one(table: Table, column: u32, above: u16) -> Columns {
        let (first, end) = (table.offset, column + 1);
        Columns { first, block: first, column, slot: 0, end, above }
    }

    /// The next container that a slot leads to, and the count of containers around it. Calls
    /// `scalar` on scalars that may lie elsewhere.
    pub(crate) fn next(
        &mut self,
        bytes: &[u8],
        mut scalar: impl FnMut(Raw) -> Result<()>,
    ) -> Result<Option<(SlotContainer, u16)>> {
        loop {
            if self.column >= self.end && self.block == self.first {
                return Ok(None);
            }
            let in_table = load_u8(bytes, self.block as u64)? == KIND_TABLE;
            let header = if in_table {
                let table = Table::load(bytes, self.block)?;
                if self.column >= table.columns {
                    if let Some(extras) = table.extras(bytes)?
                        && self.slot < extras.count
                    {
                        let (_, home) = extra(extras.slot(bytes, self.slot)?);
                        self.slot += 1;
                        return Ok(Some((SlotContainer::Further(Raw::object(home)), self.above)));
                    }
                    if !self.up(bytes)? {
                        return Ok(None);
                    }
                    continue;
                }
                table.header(self.column)
            } else {
                if self.column > 0 {
                    if !self.up(bytes)? {
                        return Ok(None);
                    }
                    continue;
                }
                self.block + LIST_CHILD
            };
            let column = Elements::at(bytes, header)?;
            // A run has bytes only.
            if column.column.slot() == SlotKind::Nested {
                self.block = column.data;
                (self.column, self.slot) = (0, 0);
                self.above = self.above.saturating_add(1);
                continue;
            }
            if let Some(node) = self.slots(bytes, column, &mut scalar)? {
                return Ok(Some((SlotContainer::Node(node), self.above)));
            }
            (self.column, self.slot) = (self.column + 1, 0);
        }
    }

    /// Goes on through the slots of a column, up to one with a container.
    fn slots(
        &mut self,
        bytes: &[u8],
        column: Elements,
        scalar: &mut impl FnMut(Raw) -> Result<()>,
    ) -> Result<Option<Raw>> {
        let cells = match column.column.slot() {
            SlotKind::Tagged => true,
            SlotKind::Span | SlotKind::Home => false,
            _ => return Ok(None),
        };
        while self.slot < column.count {
            let slot = self.slot;
            self.slot += 1;
            let raw = column.slot(bytes, slot)?;
            // Slots without a value are 0, and so are missing members.
            let absent = match cells {
                true => raw.tag == TAG_HOLE,
                false => column.gap(bytes, slot)?.is_some(),
            };
            if absent && raw.cell == 0 {
                continue;
            }
            if raw.tag > TAG_SPAN_LAST {
                return Ok(Some(raw));
            }
            scalar(raw)?;
        }
        Ok(None)
    }

    /// Leaves the current table or list for what comes after it. False if it is the first.
    fn up(&mut self, bytes: &[u8]) -> Result<bool> {
        if self.block == self.first {
            return Ok(false);
        }
        let owner = Owner::load(bytes, self.block)?;
        self.block = owner.block;
        (self.column, self.slot) = (owner.column as u32 + 1, 0);
        self.above -= 1;
        Ok(true)
    }
}

/// Counts the slots of a column that have a value, and those that are null. `slots` is the
/// count of its slots below rows and arrays that are there.
pub(crate) fn count_slots(bytes: &[u8], column: Elements, slots: u64) -> Result<(u64, u64)> {
    if column.gaps == GAPS_NONE {
        return Ok((slots, 0));
    }
    let (bits, size) = (column.bits_at(bytes)?, bitmap_size(column.capacity as u64));
    let ones = |at: u64| -> Result<u64> {
        let length = bitmap_size(column.count as u64);
        Ok(slice(bytes, at, length)?.iter().map(|byte| byte.count_ones() as u64).sum())
    };
    let valid = ones(bits)?;
    Ok(match column.gaps {
        GAPS_NULL => (valid, slots.saturating_sub(valid)),
        GAPS_MISSING => (valid, 0),
        _ => (valid, ones(bits + size)?),
    })
}

/// Counts the elements of a list's arrays. `arrays` is the count of its
/// arrays that are there.
pub(crate) fn count_elements(bytes: &[u8], list: List, arrays: u64) -> Result<u64> {
    Ok(match list.length {
        Some(length) => arrays * length as u64,
        None => list.child(bytes)?.count as u64,
    })
}
