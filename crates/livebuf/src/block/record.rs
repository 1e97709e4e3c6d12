//! Records: objects of up to 255 fields, and the homes of all nodes (FORMAT 5).
//!
//! ```text
//! byte 0     1         2     3     4..8   8..
//!      kind  capacity  used  live  shape  tagged cells
//! ```

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u64};
use crate::format::layout::*;

/// A value as it lies in the document: its tag, its cell, and where the cell is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Raw {
    pub(crate) cell: u64,
    /// Offset of the cell (for text that lies in it); 0 where the value has none.
    pub(crate) position: u32,
    pub(crate) tag: u8,
}

impl Raw {
    pub(crate) const NULL: Raw = Raw::unplaced(TAG_NULL, 0);
    /// What is where there is no value.
    pub(crate) const HOLE: Raw = Raw::unplaced(TAG_HOLE, 0);

    /// A value whose cell lies nowhere.
    pub(crate) const fn unplaced(tag: u8, cell: u64) -> Raw {
        Raw { tag, cell, position: 0 }
    }

    /// The object of this home.
    pub(crate) const fn object(home: u32) -> Raw {
        Raw::unplaced(TAG_OBJECT, home as u64)
    }
}

/// The first eight bytes of a node's block, and where it is (a forward is followed).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) offset: u32,
    pub(crate) header: u64,
}

impl Block {
    /// Follows a home to its block. A forward to a forward is corrupt.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn resolve(bytes: &[u8], home: u32) -> Result<Block> {
        let header = load_u64(bytes, home as u64)?;
        if header as u8 != KIND_FORWARD {
            return Ok(Block { offset: home, header });
        }
        Block::forwarded(bytes, (header >> 32) as u32)
    }

    fn forwarded(bytes: &[u8], offset: u32) -> Result<Block> {
        let header = load_u64(bytes, offset as u64)?;
        if header as u8 == KIND_FORWARD {
            return Err(Error::new(ErrorKind::WrongBlock, offset as u64));
        }
        Ok(Block { offset, header })
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn kind(&self) -> u8 {
        self.header as u8
    }

    /// The error of a block of this kind where others are due.
    #[cold]
    pub(crate) fn unexpected(&self) -> Error {
        Error::new(ErrorKind::WrongBlock, self.offset as u64)
    }

    #[inline]
    pub(crate) fn record(&self) -> Result<Record> {
        if self.kind() != KIND_RECORD {
            return Err(self.unexpected());
        }
        Ok(Record { offset: self.offset, header: self.header })
    }
}

/// A record's place and header.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    pub(crate) offset: u32,
    header: u64,
}

impl Record {
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn capacity(&self) -> u32 {
        (self.header >> 8) as u8 as u32
    }

    /// Fields in use, holes included.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn used(&self) -> u32 {
        (self.header >> 16) as u8 as u32
    }

    /// Fields that hold a value.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn live(&self) -> u32 {
        (self.header >> 24) as u8 as u32
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn shape(&self) -> u32 {
        (self.header >> 32) as u32
    }

    pub(crate) fn size(&self) -> u64 {
        record_size(self.capacity()) as u64
    }

    /// The record, its whole capacity checked to lie in the document: for edits.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn whole(self, bytes: &[u8]) -> Result<Record> {
        check(bytes, self.offset as u64, self.size())?;
        if self.used() > self.capacity() {
            return Err(Error::new(ErrorKind::BadCount, self.offset as u64));
        }
        Ok(self)
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn tag_position(&self, index: u32) -> u64 {
        (self.offset + RECORD_CELLS) as u64 + tag_at(index)
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn cell_position(&self, index: u32) -> u64 {
        (self.offset + RECORD_CELLS) as u64 + cell_at(index)
    }

    /// Field `index`; its tag is [`TAG_HOLE`] where it was deleted.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn field(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        tagged(bytes, (self.offset + RECORD_CELLS) as u64, index)
    }

    /// The record's header word for these counts.
    pub(crate) fn header_word(capacity: u32, used: u32, live: u32, shape: u32) -> u64 {
        KIND_RECORD as u64
            | (capacity as u64 & 0xFF) << 8
            | (used as u64 & 0xFF) << 16
            | (live as u64 & 0xFF) << 24
            | (shape as u64) << 32
    }
}

/// Checks that an immediate cell holds only bits that its tag allows (FORMAT 3.2).
pub(crate) fn check_immediate(raw: Raw) -> Result<()> {
    let kind = match raw.tag {
        TAG_HOLE => ErrorKind::BadCode,
        TAG_NULL | TAG_FALSE | TAG_TRUE if raw.cell != 0 => ErrorKind::BadCell,
        TAG_UINT if raw.cell <= i64::MAX as u64 => ErrorKind::BadCell,
        _ => return Ok(()),
    };
    Err(Error::new(kind, raw.position as u64))
}

/// Element `index` of tagged cells at `base`.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn tagged(bytes: &[u8], base: u64, index: u32) -> Result<Raw> {
    let position = base + cell_at(index);
    Ok(Raw {
        tag: load_u8(bytes, base + tag_at(index))?,
        cell: load_u64(bytes, position)?,
        // A load at `position` succeeded, so it fits 32 bits.
        position: position as u32,
    })
}

/// Hands `with` every field that holds a value: (index, value).
pub(crate) fn each_field(
    bytes: &[u8],
    record: Record,
    mut with: impl FnMut(u32, Raw) -> Result<()>,
) -> Result<()> {
    for index in 0..record.used() {
        let raw = record.field(bytes, index)?;
        if raw.tag != TAG_HOLE {
            with(index, raw)?;
        }
    }
    Ok(())
}
