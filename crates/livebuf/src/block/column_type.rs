//! The types of columns: a row each in one table (FORMAT 6.1).

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::round_up;
use crate::format::half::to_half;
use crate::format::layout::*;

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
    /// No values at all: all null, or null and missing in some rows of a table.
    Null = 15,
    /// Objects that are the rows of a table, which has a column for each key.
    Struct = 16,
    /// Arrays: their elements lie behind each other in one column.
    List = 17,
    /// Arrays that all have one length: their elements lie behind each other in one column.
    FixedList = 18,
    /// Integers and floats that four bytes hold exactly: whole values are integers.
    NumbersF32 = 19,
    /// Integers and floats in eight bytes: whole values are integers.
    NumbersF64 = 20,
    /// Numbers as in `NumbersF32`, and a bit for each slot: it says which whole values are floats.
    MarkedF32 = 21,
    /// Numbers as in `NumbersF64`, and a bit for each slot: it says which whole values are floats.
    MarkedF64 = 22,
    /// Text: codes of one byte, and the different texts behind them.
    DictionaryU8 = 23,
    /// Text: codes of two bytes, and the different texts behind them.
    DictionaryU16 = 24,
    /// Text: all texts behind each other, and where each begins if they differ in length.
    TextRun = 25,
    /// Dates: days in four bytes.
    Date = 26,
    /// Times of day: microseconds.
    Time = 27,
    /// Dates and times of day without a time zone: microseconds.
    DateTime = 28,
    /// Moments: microseconds.
    Timestamp = 29,
    /// Decimals whose coefficients have at most 56 bits, each with its scale.
    Decimal = 30,
    /// UUIDs: sixteen bytes.
    Uuid = 31,
    /// Floats of two bytes (IEEE 754 binary16): in tensors only.
    F16 = 32,
    /// Booleans of one byte, 0 or 1: in tensors only.
    Bool8 = 33,
}

/// A row of the table of types.
struct Type {
    column: ColumnType,
    slot: SlotKind,
    /// Bytes of a slot that takes whole bytes, as many in each column of the type; else 0.
    width: u8,
    /// The tag of its values; [`TAG_HOLE`] where these have several or none.
    tag: u8,
    /// The least and the greatest value of a column of integers; else 0 and 0.
    range: (i64, u64),
    tensors: Tensors,
}

/// What a column keeps for each of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// A tag and a cell.
    Tagged,
    /// A bit.
    Bit,
    /// Nothing: all elements are null or missing.
    Nothing,
    /// Nothing here: the elements lie in a table or list that the header's data leads to.
    Nested,
    /// Nothing here: the texts are a list's bytes.
    Run,
    /// An integer.
    Integer,
    /// A float.
    Float,
    /// A float. Whole ones are integers.
    Number,
    /// The same, and a bit after the slots, which says whether a whole one is a float.
    Marked,
    /// The cell of a text.
    Span,
    /// The home of an object or array.
    Home,
    /// The code of a text, which lies behind the slots.
    Code,
    /// The cell of a date, time or decimal.
    Extended,
    /// The bytes of a UUID.
    Bytes,
    /// A byte of 0 or 1.
    Flag,
}

/// Whether tensors can be of a type.
#[derive(Clone, Copy, PartialEq)]
enum Tensors {
    Not,
    Also,
    Only,
}

/// The table of types, in the order of their codes.
const TYPES: &[Type; 34] = &{
    use ColumnType::*;
    [
        row(Cells, SlotKind::Tagged, 0, TAG_HOLE),
        row(Bool, SlotKind::Bit, 0, TAG_HOLE),
        integers(I8, 1, (i8::MIN as i64, i8::MAX as u64)),
        integers(I16, 2, (i16::MIN as i64, i16::MAX as u64)),
        integers(I32, 4, (i32::MIN as i64, i32::MAX as u64)),
        integers(I64, 8, (i64::MIN, i64::MAX as u64)),
        integers(U8, 1, (0, u8::MAX as u64)),
        integers(U16, 2, (0, u16::MAX as u64)),
        integers(U32, 4, (0, u32::MAX as u64)),
        integers(U64, 8, (0, u64::MAX)),
        row(F32, SlotKind::Float, 4, TAG_FLOAT).of_tensors(Tensors::Also),
        row(F64, SlotKind::Float, 8, TAG_FLOAT).of_tensors(Tensors::Also),
        row(String, SlotKind::Span, 8, TAG_STRING),
        row(Objects, SlotKind::Home, 4, TAG_OBJECT),
        row(Arrays, SlotKind::Home, 4, TAG_ARRAY),
        row(Null, SlotKind::Nothing, 0, TAG_HOLE),
        row(Struct, SlotKind::Nested, 0, TAG_OBJECT),
        row(List, SlotKind::Nested, 0, TAG_ARRAY),
        row(FixedList, SlotKind::Nested, 0, TAG_ARRAY),
        row(NumbersF32, SlotKind::Number, 4, TAG_HOLE),
        row(NumbersF64, SlotKind::Number, 8, TAG_HOLE),
        row(MarkedF32, SlotKind::Marked, 4, TAG_HOLE),
        row(MarkedF64, SlotKind::Marked, 8, TAG_HOLE),
        row(DictionaryU8, SlotKind::Code, 1, TAG_STRING),
        row(DictionaryU16, SlotKind::Code, 2, TAG_STRING),
        row(TextRun, SlotKind::Run, 0, TAG_STRING),
        row(Date, SlotKind::Extended, 4, TAG_DATE),
        row(Time, SlotKind::Extended, 8, TAG_TIME),
        row(DateTime, SlotKind::Extended, 8, TAG_DATE_TIME),
        row(Timestamp, SlotKind::Extended, 8, TAG_TIMESTAMP),
        row(Decimal, SlotKind::Extended, 8, TAG_DECIMAL),
        row(Uuid, SlotKind::Bytes, UUID_SIZE as u8, TAG_UUID),
        row(F16, SlotKind::Float, 2, TAG_FLOAT).of_tensors(Tensors::Only),
        row(Bool8, SlotKind::Flag, 1, TAG_HOLE).of_tensors(Tensors::Only),
    ]
};

const fn row(column: ColumnType, slot: SlotKind, width: u8, tag: u8) -> Type {
    Type { column, slot, width, tag, range: (0, 0), tensors: Tensors::Not }
}

const fn integers(column: ColumnType, width: u8, range: (i64, u64)) -> Type {
    Type { range, tensors: Tensors::Also, ..row(column, SlotKind::Integer, width, TAG_HOLE) }
}

impl Type {
    const fn of_tensors(self, tensors: Tensors) -> Type {
        Type { tensors, ..self }
    }
}

// A row stands where its code says.
const _: () = {
    let mut code = 0;
    while code < TYPES.len() {
        assert!(TYPES[code].column as usize == code);
        code += 1;
    }
};

impl ColumnType {
    #[inline]
    pub(crate) fn from_code(code: u8, offset: u64) -> Result<ColumnType> {
        match TYPES.get(code as usize) {
            Some(row) => Ok(row.column),
            None => Err(Error::new(ErrorKind::BadCode, offset)),
        }
    }

    #[inline]
    const fn row(self) -> &'static Type {
        &TYPES[self as usize]
    }

    /// What the column keeps for each of its elements.
    #[inline]
    pub(crate) const fn slot(self) -> SlotKind {
        self.row().slot
    }

    /// Bytes of a slot that takes whole bytes, as many in each column of the type; 0 for other
    /// columns.
    #[inline]
    pub(crate) const fn width(self) -> u64 {
        self.row().width as u64
    }

    /// Whether its values lie in a table or list that the header's data leads to.
    #[inline]
    pub(crate) const fn is_nested(self) -> bool {
        matches!(self.slot(), SlotKind::Nested | SlotKind::Run)
    }

    /// Whether its values lie in a list that the header's data leads to.
    #[inline]
    pub(crate) const fn is_list(self) -> bool {
        self.is_nested() && !matches!(self, ColumnType::Struct)
    }

    /// Whether its slots lead to texts, or to objects and arrays of their own or in a table or
    /// list.
    pub(crate) const fn holds_references(self) -> bool {
        matches!(self.slot(), SlotKind::Tagged | SlotKind::Span | SlotKind::Home | SlotKind::Nested)
    }

    /// The integer that this value is in a column of numbers: by the rule alone, without marks.
    /// `None` for floats, and for other columns.
    ///
    /// ```
    /// use livebuf::{ColumnType, json};
    /// let doc = json!([1.5, 2, 3.25]);
    /// let array = doc.valid()?.root().as_array().unwrap();
    /// assert_eq!(array.as_slice::<f32>(), Some(&[1.5, 2.0, 3.25][..]));
    /// assert_eq!(array.column_type().integer(2.0), Some(2));
    /// assert_eq!(array.column_type().integer(1.5), None);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn integer(self, value: f64) -> Option<i64> {
        self.bound().filter(|&bound| is_whole(value, bound)).map(|_| value as i64)
    }

    /// The greatest magnitude of an integer in a column of numbers; `None` for other columns.
    pub(crate) const fn bound(self) -> Option<f64> {
        match (self.slot(), self.width()) {
            (SlotKind::Number | SlotKind::Marked, 4) => Some(WHOLE_F32),
            (SlotKind::Number | SlotKind::Marked, _) => Some(WHOLE_F64),
            _ => None,
        }
    }

    /// Whether a bit for each slot, behind the values, says which whole values are floats.
    pub(crate) const fn is_marked(self) -> bool {
        matches!(self.slot(), SlotKind::Marked)
    }

    /// Whether its slots are codes of texts that lie behind them.
    #[inline]
    pub(crate) const fn is_dictionary(self) -> bool {
        matches!(self.slot(), SlotKind::Code)
    }

    /// Whether a list of this form can have its values: with offsets, or of one length.
    pub(crate) const fn takes_list(self, fixed: bool) -> bool {
        match self {
            ColumnType::List => !fixed,
            ColumnType::FixedList => fixed,
            _ => self.is_run(),
        }
    }

    /// Whether its texts lie behind each other, as a list's bytes.
    #[inline]
    pub(crate) const fn is_run(self) -> bool {
        matches!(self.slot(), SlotKind::Run)
    }

    /// Whether the bytes of its values are a part of the column, so that a value is copied when it
    /// leaves the column, and when it comes to it.
    #[inline]
    pub(crate) const fn lends(self) -> bool {
        matches!(self.slot(), SlotKind::Run | SlotKind::Bytes)
    }

    /// The tag of its values, where these are dates, times or decimals; `None` for other columns.
    pub(crate) const fn extended_tag(self) -> Option<u8> {
        match self.slot() {
            SlotKind::Extended => Some(self.row().tag),
            _ => None,
        }
    }

    /// Whether all values are integers or floats. Columns of tensors only are left out.
    pub(crate) const fn holds_numbers(self) -> bool {
        matches!(
            self.slot(),
            SlotKind::Integer | SlotKind::Float | SlotKind::Number | SlotKind::Marked
        ) && !self.is_tensor_only()
    }

    /// Whether a tensor can be of this type.
    pub(crate) const fn is_tensor_type(self) -> bool {
        !matches!(self.row().tensors, Tensors::Not)
    }

    /// Whether only a tensor can be of this type.
    pub(crate) const fn is_tensor_only(self) -> bool {
        matches!(self.row().tensors, Tensors::Only)
    }

    /// The bits that a tensor of this type stores for a value: the nearest float, and an integer
    /// as a float where that is exact. `None` where the type does not hold the value.
    pub(crate) fn fit_tensor(self, tag: u8, cell: u64) -> Option<u64> {
        let row = self.row();
        let bound = match (row.slot, row.width) {
            (SlotKind::Float, 2) => 1 << 11,
            (SlotKind::Float, 4) => WHOLE_F32 as u64,
            (SlotKind::Float, _) => WHOLE_F64 as u64,
            _ => return self.fit(tag, cell),
        };
        let value = match tag {
            TAG_FLOAT => f64::from_bits(cell),
            TAG_INT if (cell as i64).unsigned_abs() <= bound => cell as i64 as f64,
            _ => return None,
        };
        let (bits, finite) = match row.width {
            2 => {
                let bits = to_half(value);
                (bits.into(), bits & 0x7C00 != 0x7C00)
            }
            4 => ((value as f32).to_bits().into(), (value as f32).is_finite()),
            _ => (value.to_bits(), true),
        };
        (finite || !value.is_finite()).then_some(bits)
    }

    /// Whether a value of `other` has the same bits in this column and means the same. So a column
    /// of floats can become one of numbers in its place.
    #[inline]
    pub(crate) fn takes_over(self, other: ColumnType) -> bool {
        let becomes = (other.slot(), self.slot()) == (SlotKind::Float, SlotKind::Number);
        self == other || becomes && self.width() == other.width()
    }

    /// Bytes of `count` elements, a multiple of eight. For nested columns, the bytes of the
    /// smallest table or list.
    #[inline]
    pub(crate) const fn data_size(self, count: u32) -> u64 {
        let count = count as u64;
        let slots = round_up(count * self.width());
        match self.slot() {
            SlotKind::Tagged => tagged_size(count),
            SlotKind::Bit => bitmap_size(count),
            SlotKind::Nested if matches!(self, ColumnType::Struct) => TABLE_HEADERS as u64,
            SlotKind::Nested | SlotKind::Run => FIXED_LIST_SIZE as u64,
            SlotKind::Marked => slots + bitmap_size(count),
            SlotKind::Code if count > 0 => slots + ARRAY_SIZE as u64,
            _ => slots,
        }
    }

    /// Bytes of `count` slots in the column itself, bitmaps included.
    pub(crate) fn slots_size(self, gaps: u8, count: u32) -> u64 {
        let values = if self.is_nested() { 0 } else { self.data_size(count) };
        gaps_size(gaps, count as u64) + values
    }

    /// The column that holds the same values by themselves: objects and arrays with homes of
    /// their own, and texts in cells.
    pub(crate) fn plain(self) -> ColumnType {
        match self.slot() {
            SlotKind::Nested if self == ColumnType::Struct => ColumnType::Objects,
            SlotKind::Nested => ColumnType::Arrays,
            SlotKind::Code | SlotKind::Run => ColumnType::String,
            _ => self,
        }
    }

    /// The least and the greatest integer of a column of integers; `None` for other columns.
    pub(crate) const fn integers(self) -> Option<(i128, i128)> {
        let (low, high) = self.row().range;
        match self.slot() {
            SlotKind::Integer => Some((low as i128, high as i128)),
            _ => None,
        }
    }

    /// The bits that the column stores for this value; `None` if it cannot hold the value. For a
    /// dictionary the cell of a text is its code. For runs and UUIDs the bits do not matter.
    pub(crate) fn fit(self, tag: u8, cell: u64) -> Option<u64> {
        let row = self.row();
        match row.slot {
            SlotKind::Tagged => Some(cell),
            SlotKind::Bit | SlotKind::Flag => {
                (tag == TAG_FALSE || tag == TAG_TRUE).then_some((tag == TAG_TRUE).into())
            }
            SlotKind::Float if tag == TAG_FLOAT => match row.width {
                4 => single(cell),
                8 => Some(cell),
                _ => None,
            },
            SlotKind::Number | SlotKind::Marked => self.fit_number(tag, cell),
            SlotKind::Integer => {
                let value = match tag {
                    TAG_INT => cell as i64 as i128,
                    TAG_UINT => cell as i128,
                    _ => return None,
                };
                let (low, high) = row.range;
                (low as i128 <= value && value <= high as i128).then_some(cell)
            }
            SlotKind::Span
            | SlotKind::Home
            | SlotKind::Code
            | SlotKind::Run
            | SlotKind::Extended
            | SlotKind::Bytes => (tag == row.tag).then_some(cell),
            SlotKind::Float | SlotKind::Nothing | SlotKind::Nested => None,
        }
    }

    /// The bits that a column of numbers stores for a number.
    fn fit_number(self, tag: u8, cell: u64) -> Option<u64> {
        let bound = self.bound()?;
        let value = match tag {
            TAG_INT if (cell as i64).unsigned_abs() <= bound as u64 => cell as i64 as f64,
            TAG_FLOAT if self.is_marked() || !is_whole(f64::from_bits(cell), bound) => {
                f64::from_bits(cell)
            }
            _ => return None,
        };
        if self.width() == 4 { single(value.to_bits()) } else { Some(value.to_bits()) }
    }

    /// Whether a marked column has a mark at this value: a float that is whole.
    pub(crate) fn is_mark(self, tag: u8, cell: u64) -> bool {
        let bound = self.bound().unwrap_or(0.0);
        self.is_marked() && tag == TAG_FLOAT && is_whole(f64::from_bits(cell), bound)
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
            TAG_DATE => ColumnType::Date,
            TAG_TIME => ColumnType::Time,
            TAG_DATE_TIME => ColumnType::DateTime,
            TAG_TIMESTAMP => ColumnType::Timestamp,
            TAG_DECIMAL => ColumnType::Decimal,
            TAG_UUID => ColumnType::Uuid,
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

/// The greatest magnitude up to which binary32 and binary64 hold every integer.
const WHOLE_F32: f64 = (1u32 << 24) as f64;
pub(super) const WHOLE_F64: f64 = (1u64 << 53) as f64;

/// The bits of a double as binary32, where that holds it exactly.
fn single(bits: u64) -> Option<u64> {
    let single = f64::from_bits(bits) as f32;
    ((single as f64).to_bits() == bits).then_some(single.to_bits() as u64)
}

/// Whether binary32 holds a double exactly.
pub(crate) fn is_f32(bits: u64) -> bool {
    single(bits).is_some()
}

/// Whether a value is an integer by the rule of columns of numbers (FORMAT 6.1).
#[inline]
pub(super) fn is_whole(value: f64, bound: f64) -> bool {
    value.abs() <= bound
        && value as i64 as f64 == value
        && (value != 0.0 || value.is_sign_positive())
}

/// What the column of some numbers depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// There are integers above `i64`.
    pub(crate) large: bool,
    /// Four bytes hold all floats.
    pub(crate) single: bool,
    /// The least magnitude of a float that would be an integer in a column of numbers.
    whole: f64,
}

impl Default for Numbers {
    fn default() -> Self {
        let (low, high) = (i64::MAX, i64::MIN);
        Numbers { low, high, large: false, single: true, whole: f64::INFINITY }
    }
}

impl Numbers {
    #[inline]
    pub(crate) fn add(&mut self, tag: u8, cell: u64) {
        match tag {
            TAG_INT => {
                self.low = self.low.min(cell as i64);
                self.high = self.high.max(cell as i64);
            }
            TAG_UINT => self.large = true,
            _ => {
                self.single = self.single && is_f32(cell);
                let value = f64::from_bits(cell);
                if value.abs() < self.whole && is_whole(value, WHOLE_F64) {
                    self.whole = value.abs();
                }
            }
        }
    }

    /// Adds a value if it is a number. Returns whether it is.
    pub(crate) fn add_number(&mut self, tag: u8, cell: u64) -> bool {
        let is_number = matches!(tag, TAG_INT | TAG_UINT | TAG_FLOAT);
        if is_number {
            self.add(tag, cell);
        }
        is_number
    }

    /// The narrowest column of numbers, of at least so many bytes, that holds these integers and
    /// floats; `None` where there is none.
    pub(crate) fn column(&self, min_width: u8) -> Option<ColumnType> {
        let magnitude = match self.low <= self.high {
            true => self.low.unsigned_abs().max(self.high.unsigned_abs()),
            // There is no integer.
            false => 0,
        };
        if self.large || magnitude > WHOLE_F64 as u64 {
            return None;
        }
        let narrow = self.single && magnitude <= WHOLE_F32 as u64 && min_width <= 4;
        Some(match (narrow, self.whole) {
            (true, whole) if whole <= WHOLE_F32 => ColumnType::MarkedF32,
            (true, _) => ColumnType::NumbersF32,
            (false, whole) if whole <= WHOLE_F64 => ColumnType::MarkedF64,
            (false, _) => ColumnType::NumbersF64,
        })
    }
}
