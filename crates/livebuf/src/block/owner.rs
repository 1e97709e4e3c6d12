//! Owners: the column whose data a table or list is (FORMAT 6.3, 6.4).

use crate::error::Result;
use crate::format::bytes::{load_u16, load_u32};
use crate::format::layout::*;
use crate::store::space::Space;
use crate::store::storage::Storage;
use crate::store::target::Target;

/// The column whose data a table or list is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Owner {
    /// Offset of the block with the column: an array's header, a table or a list.
    pub(crate) block: u32,
    /// The column's number in a table; 0 in an array or a list.
    pub(crate) column: u16,
}

impl Owner {
    /// The owner of the table or list at `nested`.
    pub(crate) fn load(bytes: &[u8], nested: u32) -> Result<Owner> {
        let block = load_u32(bytes, nested as u64 + NESTED_OWNER as u64)?;
        Ok(Owner { block, column: load_u16(bytes, nested as u64 + NESTED_COLUMN as u64)? })
    }

    /// Writes what tables and lists begin with: kind and form, a shape or a length, and where the
    /// bitmaps lie.
    pub(crate) fn write(
        &self,
        target: &mut impl Target,
        (kind, form): (u8, u8),
        nested: u32,
        shape_or_length: u32,
        bits: u32,
    ) {
        let place = (self.column as u32) << 16;
        let first = u32::from_le_bytes([kind, form, 0, 0]) | place;
        target.write_u64(nested as u64, first as u64 | (shape_or_length as u64) << 32);
        let words = bits as u64 | (self.block as u64) << 32;
        target.write_u64((nested + NESTED_BITS) as u64, words);
    }
}

/// Writes where the bitmaps of a table's rows or a list's arrays lie.
pub(crate) fn set_nested_bits<S: Storage>(space: &mut Space<S>, nested: u32, bits: u32) {
    space.write_u32((nested + NESTED_BITS) as u64, bits);
}
