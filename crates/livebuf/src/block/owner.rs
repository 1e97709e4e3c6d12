//! Tables and lists are the data of columns: whose they are (FORMAT 6.3, 6.4).

use crate::error::Result;
use crate::format::bytes::{load_u8, load_u32};
use crate::format::layout::*;
use crate::store::space::{Observer, Space};
use crate::store::storage::Storage;

/// Whose column a table or list is the data of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Owner {
    /// Offset of an array's header, a table or a list.
    pub(crate) block: u32,
    /// Which of a table's columns; 0 of others.
    pub(crate) column: u8,
}

impl Owner {
    /// Of the table or list at `nested`.
    pub(crate) fn load(bytes: &[u8], nested: u32) -> Result<Owner> {
        let block = load_u32(bytes, nested as u64 + NESTED_OWNER as u64)?;
        Ok(Owner { block, column: load_u8(bytes, nested as u64 + NESTED_COLUMN as u64)? })
    }

    /// The table or list that the column is in; 0 for an array by itself.
    pub(crate) fn within(&self, bytes: &[u8]) -> Result<u32> {
        Ok(if load_u8(bytes, self.block as u64)? == KIND_ARRAY { 0 } else { self.block })
    }
}

/// Says where the bitmaps of a table's rows or a list's arrays lie.
pub(crate) fn set_nested_bits<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    nested: u32,
    bits: u32,
) {
    space.write_u32((nested + NESTED_BITS) as u64, bits);
}
