//! Arrays: one column of elements (FORMAT 6).
//!
//! ```text
//! byte 0     1       2..4  4..8   8..12     12..16
//!      kind  column  zero  count  capacity  data
//! ```

use crate::bytes::{check, load_u8, load_u16, load_u32, load_u64, round_up};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::*;
use crate::record::{Block, Raw, tagged};

/// How an array's elements are stored. Widths are storage only: an `I8` column
/// answers `as_i64` as any integer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum ColumnType {
    /// Any mix of values: tagged cells.
    Cells = 0,
    /// Booleans as bits.
    Bool = 1,
    /// Integers that fit one signed byte.
    I8 = 2,
    /// Integers that fit two signed bytes.
    I16 = 3,
    /// Integers that fit four signed bytes.
    I32 = 4,
    /// Integers that fit eight signed bytes.
    I64 = 5,
    /// Integers that fit one unsigned byte.
    U8 = 6,
    /// Integers that fit two unsigned bytes.
    U16 = 7,
    /// Integers that fit four unsigned bytes.
    U32 = 8,
    /// Integers that fit eight unsigned bytes.
    U64 = 9,
    /// Doubles that four bytes hold exactly.
    F32 = 10,
    /// Doubles.
    F64 = 11,
    /// Text: span cells.
    String = 12,
    /// Objects: 4-byte homes.
    Objects = 13,
    /// Arrays: 4-byte homes.
    Arrays = 14,
}

impl ColumnType {
    const ALL: [ColumnType; 15] = {
        use ColumnType::*;
        [Cells, Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, String, Objects, Arrays]
    };

    #[inline(always)]
    pub(crate) fn from_code(code: u8, offset: u64) -> Result<ColumnType> {
        match Self::ALL.get(code as usize) {
            Some(&column) => Ok(column),
            None if code <= COLUMN_RESERVED_LAST => {
                Err(Error::new(ErrorKind::UnsupportedFeature, offset))
            }
            None => Err(Error::new(ErrorKind::BadCode, offset)),
        }
    }

    /// Bytes of an element of a fixed whole width; 0 for bits and tagged cells.
    #[inline(always)]
    pub(crate) const fn width(self) -> u64 {
        match self {
            ColumnType::Cells | ColumnType::Bool => 0,
            ColumnType::I8 | ColumnType::U8 => 1,
            ColumnType::I16 | ColumnType::U16 => 2,
            ColumnType::I32
            | ColumnType::U32
            | ColumnType::F32
            | ColumnType::Objects
            | ColumnType::Arrays => 4,
            ColumnType::I64 | ColumnType::U64 | ColumnType::F64 | ColumnType::String => 8,
        }
    }

    /// Bytes of `count` elements, a multiple of eight.
    #[inline(always)]
    pub(crate) const fn data_size(self, count: u32) -> u64 {
        match self {
            ColumnType::Cells => tagged_size(count as u64),
            ColumnType::Bool => (count as u64).div_ceil(64) * 8,
            _ => round_up(count as u64 * self.width()),
        }
    }

    /// The integers that the column holds, where it holds integers.
    pub(crate) const fn integers(self) -> Option<(i128, i128)> {
        Some(match self {
            ColumnType::I8 => (i8::MIN as i128, i8::MAX as i128),
            ColumnType::I16 => (i16::MIN as i128, i16::MAX as i128),
            ColumnType::I32 => (i32::MIN as i128, i32::MAX as i128),
            ColumnType::I64 => (i64::MIN as i128, i64::MAX as i128),
            ColumnType::U8 => (0, u8::MAX as i128),
            ColumnType::U16 => (0, u16::MAX as i128),
            ColumnType::U32 => (0, u32::MAX as i128),
            ColumnType::U64 => (0, u64::MAX as i128),
            _ => return None,
        })
    }

    /// Whether this value can be stored, and as what bits.
    pub(crate) fn fit(self, tag: u8, cell: u64) -> Option<u64> {
        match (self, tag) {
            (ColumnType::Cells, _) => Some(cell),
            (ColumnType::Bool, TAG_FALSE) => Some(0),
            (ColumnType::Bool, TAG_TRUE) => Some(1),
            (ColumnType::F64, TAG_FLOAT) | (ColumnType::String, TAG_STRING) => Some(cell),
            (ColumnType::F32, TAG_FLOAT) => {
                let single = f64::from_bits(cell) as f32;
                ((single as f64).to_bits() == cell).then_some(single.to_bits() as u64)
            }
            (ColumnType::Objects, TAG_OBJECT) | (ColumnType::Arrays, TAG_ARRAY) => Some(cell),
            (ColumnType::I64, TAG_INT) => Some(cell),
            (_, TAG_INT | TAG_UINT) => {
                let value = if tag == TAG_INT { cell as i64 as i128 } else { cell as i128 };
                let (low, high) = self.integers()?;
                (low <= value && value <= high).then_some(cell)
            }
            _ => None,
        }
    }

    /// The column for a first element.
    pub(crate) fn for_first(tag: u8) -> ColumnType {
        match tag {
            TAG_FALSE | TAG_TRUE => ColumnType::Bool,
            TAG_INT => ColumnType::I64,
            TAG_UINT => ColumnType::U64,
            TAG_FLOAT => ColumnType::F64,
            TAG_STRING => ColumnType::String,
            TAG_OBJECT => ColumnType::Objects,
            TAG_ARRAY => ColumnType::Arrays,
            _ => ColumnType::Cells,
        }
    }

    /// The column that holds this one's elements and a value that does not fit it.
    ///
    /// Integers go to `I64` where both signs fit that; anything else to tagged cells.
    pub(crate) fn widened(self, tag: u8) -> ColumnType {
        match (self.integers(), tag) {
            (Some((_, high)), TAG_INT) if high <= i64::MAX as i128 => ColumnType::I64,
            (Some((0, _)), TAG_UINT) => ColumnType::U64,
            (None, TAG_FLOAT) if self == ColumnType::F32 => ColumnType::F64,
            _ => ColumnType::Cells,
        }
    }
}

/// An array's header, its data range checked to lie in the document.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    /// The header's offset; the home of an empty array that never grew.
    pub(crate) offset: u32,
    pub(crate) count: u32,
    pub(crate) capacity: u32,
    pub(crate) data: u32,
    pub(crate) column: ColumnType,
    /// Whether the block is an eight-byte home without a header.
    pub(crate) bare: bool,
}

impl Elements {
    #[inline(always)]
    pub(crate) fn load(bytes: &[u8], block: Block) -> Result<Elements> {
        let offset = block.offset;
        if block.kind() == KIND_ARRAY {
            let column = ColumnType::from_code((block.header >> 8) as u8, offset as u64)?;
            let count = (block.header >> 32) as u32;
            let rest = load_u64(bytes, (offset + ARRAY_CAPACITY) as u64)?;
            let (capacity, data) = (rest as u32, (rest >> 32) as u32);
            check(bytes, data as u64, column.data_size(count))?;
            return Ok(Elements { offset, count, capacity, data, column, bare: false });
        }
        if block.kind() == KIND_EMPTY_ARRAY {
            let column = ColumnType::Cells;
            return Ok(Elements { offset, count: 0, capacity: 0, data: 0, column, bare: true });
        }
        Err(block.unexpected())
    }

    pub(crate) fn data_size(&self) -> u64 {
        self.column.data_size(self.capacity)
    }

    /// The array, its whole capacity checked to lie in the document: for edits.
    pub(crate) fn whole(self, bytes: &[u8]) -> Result<Elements> {
        check(bytes, self.data as u64, self.data_size())?;
        if self.count > self.capacity {
            return Err(Error::new(ErrorKind::BadCount, self.offset as u64));
        }
        Ok(self)
    }

    /// Element `index` (the caller compared it with the count).
    #[inline(always)]
    pub(crate) fn element(&self, bytes: &[u8], index: u32) -> Result<Raw> {
        let data = self.data as u64;
        let at = data + index as u64 * self.column.width();
        let int = |value: i64| Raw { tag: TAG_INT, cell: value as u64, position: 0 };
        let node = |tag, home: u32| Raw { tag, cell: home as u64, position: 0 };
        let float = |value: f64| Raw { tag: TAG_FLOAT, cell: value.to_bits(), position: 0 };
        Ok(match self.column {
            ColumnType::Cells => return tagged(bytes, data, index),
            ColumnType::Bool => {
                let bit = load_u8(bytes, data + (index >> 3) as u64)? >> (index & 7) & 1;
                Raw { tag: TAG_FALSE + bit, cell: 0, position: 0 }
            }
            ColumnType::I8 => int(load_u8(bytes, at)? as i8 as i64),
            ColumnType::I16 => int(load_u16(bytes, at)? as i16 as i64),
            ColumnType::I32 => int(load_u32(bytes, at)? as i32 as i64),
            ColumnType::I64 => int(load_u64(bytes, at)? as i64),
            ColumnType::U8 => int(load_u8(bytes, at)? as i64),
            ColumnType::U16 => int(load_u16(bytes, at)? as i64),
            ColumnType::U32 => int(load_u32(bytes, at)? as i64),
            ColumnType::U64 => {
                let value = load_u64(bytes, at)?;
                let tag = if value > i64::MAX as u64 { TAG_UINT } else { TAG_INT };
                Raw { tag, cell: value, position: 0 }
            }
            ColumnType::F32 => float(f32::from_bits(load_u32(bytes, at)?) as f64),
            ColumnType::F64 => float(f64::from_bits(load_u64(bytes, at)?)),
            ColumnType::String => {
                Raw { tag: TAG_STRING, cell: load_u64(bytes, at)?, position: at as u32 }
            }
            ColumnType::Objects => node(TAG_OBJECT, load_u32(bytes, at)?),
            ColumnType::Arrays => node(TAG_ARRAY, load_u32(bytes, at)?),
        })
    }
}
