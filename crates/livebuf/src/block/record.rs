//! Records: objects of up to 255 fields, and the homes of all nodes (FORMAT 5).
//!
//! ```text
//! byte 0     1         2     3     4..8   8..
//!      kind  capacity  used  live  shape  tagged cells
//! ```

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u64};
use crate::format::extended::{Extended, is_extended_span};
use crate::format::layout::*;
use crate::store::space::Space;
use crate::store::storage::Storage;
use crate::store::target::Target;

/// A value as it lies in the document: its tag, its cell, and where the cell is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Raw {
    pub(crate) cell: u64,
    /// Offset of the cell (for text that lies in it); 0 where the value has none.
    pub(crate) position: u32,
    pub(crate) tag: u8,
}

/// The position of a text that lies in a run, and of a UUID that lies in a column.
pub(super) const LENT: u32 = u32::MAX;

impl Raw {
    pub(crate) const NULL: Raw = Raw::unplaced(TAG_NULL, 0);
    /// Stands for a value that is not there.
    pub(crate) const HOLE: Raw = Raw::unplaced(TAG_HOLE, 0);

    /// A value whose cell is not in the document.
    pub(crate) const fn unplaced(tag: u8, cell: u64) -> Raw {
        Raw { tag, cell, position: 0 }
    }

    /// Whether this text lies in a run, or this UUID in a column. Whatever stores it elsewhere
    /// copies it, since the column's bytes may change.
    pub(crate) fn is_lent(&self) -> bool {
        self.position == LENT && matches!(self.tag, TAG_STRING | TAG_UUID)
    }

    /// The object whose home this is.
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
    #[inline]
    pub(crate) fn resolve(bytes: &[u8], home: u32) -> Result<Block> {
        let header = load_u64(bytes, home as u64)?;
        if header as u8 != KIND_FORWARD {
            return Ok(Block { offset: home, header });
        }
        Block::forwarded(bytes, (header >> 32) as u32)
    }

    #[inline]
    fn forwarded(bytes: &[u8], offset: u32) -> Result<Block> {
        let header = load_u64(bytes, offset as u64)?;
        if header as u8 == KIND_FORWARD {
            return Err(Error::new(ErrorKind::WrongBlock, offset as u64));
        }
        Ok(Block { offset, header })
    }

    #[inline]
    pub(crate) fn kind(&self) -> u8 {
        self.header as u8
    }

    /// The error for a block of this kind where another kind must be.
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
    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        (self.header >> 8) as u8 as u32
    }

    /// Fields in use, holes included.
    #[inline]
    pub(crate) fn used(&self) -> u32 {
        (self.header >> 16) as u8 as u32
    }

    /// Fields that hold a value.
    #[inline]
    pub(crate) fn live(&self) -> u32 {
        (self.header >> 24) as u8 as u32
    }

    #[inline]
    pub(crate) fn shape(&self) -> u32 {
        (self.header >> 32) as u32
    }

    pub(crate) fn size(&self) -> u64 {
        record_size(self.capacity()) as u64
    }

    /// The record, its whole capacity checked to lie in the document: for edits.
    #[inline]
    pub(crate) fn whole(self, bytes: &[u8]) -> Result<Record> {
        check(bytes, self.offset as u64, self.size())?;
        if self.used() > self.capacity() {
            return Err(Error::new(ErrorKind::BadCount, self.offset as u64));
        }
        Ok(self)
    }

    #[inline]
    pub(crate) fn tag_position(&self, index: u32) -> u64 {
        (self.offset + RECORD_CELLS) as u64 + tag_at(index)
    }

    #[inline]
    pub(crate) fn cell_position(&self, index: u32) -> u64 {
        (self.offset + RECORD_CELLS) as u64 + cell_at(index)
    }

    /// Field `index`; its tag is [`TAG_HOLE`] where it was deleted.
    #[inline]
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

    // --- writing ------------------------------------------------------------

    /// A record with this header at `offset`. The header is still to be written.
    #[inline]
    pub(crate) fn new(offset: u32, capacity: u32, used: u32, live: u32, shape: u32) -> Record {
        Record { offset, header: Record::header_word(capacity, used, live, shape) }
    }

    /// Writes the header.
    #[inline]
    pub(crate) fn write_header(&self, space: &mut impl Target) {
        space.write_u64(self.offset as u64, self.header);
    }

    /// Writes field `index`; the header stays.
    #[inline]
    pub(crate) fn put(&self, space: &mut impl Target, index: u32, (tag, cell): (u8, u64)) {
        put_tagged(space, (self.offset + RECORD_CELLS) as u64, index, tag, cell);
    }

    /// Adds a field at the end, where there must be room for it. From then on the record uses
    /// `shape`.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn append(self, space: &mut impl Target, shape: u32, value: (u8, u64)) {
        let used = self.used();
        self.put(space, used, value);
        let live = self.live() + 1;
        Record::new(self.offset, self.capacity(), used + 1, live, shape).write_header(space);
    }

    /// Puts a value where field `index` is a hole.
    pub(crate) fn fill<S: Storage>(self, space: &mut Space<S>, index: u32, value: (u8, u64)) {
        self.put(space, index, value);
        self.set_live(space, self.live() + 1);
    }

    /// Makes field `index` a hole. True if the record is empty then. It has no shape any more,
    /// so its next field may choose any.
    pub(crate) fn take<S: Storage>(self, space: &mut Space<S>, index: u32) -> bool {
        let live = self.live().saturating_sub(1);
        self.put(space, index, (TAG_HOLE, 0));
        if live > 0 {
            self.set_live(space, live);
            return false;
        }
        Record::new(self.offset, self.capacity(), 0, 0, 0).write_header(space);
        true
    }

    /// Makes the record empty.
    pub(crate) fn clear<S: Storage>(self, space: &mut Space<S>) {
        let cells = RECORD_CELLS as u64;
        space.zero(self.offset as u64 + cells, self.size() - cells);
        Record::new(self.offset, self.capacity(), 0, 0, 0).write_header(space);
    }

    /// Makes the record use another shape.
    pub(crate) fn set_shape<S: Storage>(&self, space: &mut Space<S>, shape: u32) {
        space.write_u32((self.offset + RECORD_SHAPE) as u64, shape);
    }

    /// Copies the fields to a larger place. Returns the record there; its header is still to be
    /// written.
    pub(crate) fn copy_to<S: Storage>(
        self,
        space: &mut Space<S>,
        offset: u32,
        capacity: u32,
    ) -> Record {
        let (from, to) = (self.offset + RECORD_CELLS, offset + RECORD_CELLS);
        space.copy_within(from as u64, to as u64, self.size() - RECORD_CELLS as u64);
        Record::new(offset, capacity, self.used(), self.live(), self.shape())
    }

    fn set_live<S: Storage>(&self, space: &mut Space<S>, live: u32) {
        space.write_u8((self.offset + RECORD_LIVE) as u64, live as u8);
    }
}

/// Writes element `index` of tagged cells at `base`.
#[inline]
pub(crate) fn put_tagged(space: &mut impl Target, base: u64, index: u32, tag: u8, cell: u64) {
    space.write_u8(base + tag_at(index), tag);
    space.write_u64(base + cell_at(index), cell);
}

/// Checks that an immediate cell holds only bits that its tag allows (FORMAT 3.2).
pub(crate) fn check_immediate(raw: Raw) -> Result<()> {
    let kind = match raw.tag {
        TAG_HOLE => ErrorKind::BadCode,
        TAG_NULL | TAG_FALSE | TAG_TRUE if raw.cell != 0 => ErrorKind::BadCell,
        TAG_UINT if raw.cell <= i64::MAX as u64 => ErrorKind::BadCell,
        TAG_DECIMAL..=TAG_DATE_TIME if Extended::from_cell(raw.tag, raw.cell).is_none() => {
            ErrorKind::BadCell
        }
        _ => return Ok(()),
    };
    Err(Error::new(kind, raw.position as u64))
}

/// Refuses bytes that the tag of a span does not allow, if its value is one that JSON lacks.
pub(crate) fn check_extended_span(raw: Raw, bytes: &[u8]) -> Result<()> {
    match is_extended_span(raw.tag) && Extended::from_span(raw.tag, bytes).is_none() {
        true => Err(Error::new(ErrorKind::BadCell, raw.position as u64)),
        false => Ok(()),
    }
}

/// Element `index` of tagged cells at `base`.
#[inline]
pub(crate) fn tagged(bytes: &[u8], base: u64, index: u32) -> Result<Raw> {
    let position = base + cell_at(index);
    Ok(Raw {
        tag: load_u8(bytes, base + tag_at(index))?,
        cell: load_u64(bytes, position)?,
        // A load at `position` succeeded, so it fits 32 bits.
        position: position as u32,
    })
}

/// Calls `with` on every field that holds a value, as (index, value).
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
