//! Arrays, and tables, by column.

use core::ffi::{c_char, c_void};
use core::mem::{MaybeUninit, align_of, size_of};
use core::ptr;

use livebuf::{
    Checked, Codes, Column, ColumnType, Element, New, Offsets, Pointer, Scalar, Table, Value,
};

use crate::args::{Array, Buffer, In, Out};
use crate::document::livebuf_doc;
use crate::edit::{UnderEdit, livebuf_new};
use crate::read::{livebuf_key, livebuf_str, livebuf_value, stale, units};
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};

/// How the values of a column are stored. Widths are storage only: each integer reads as
/// any other.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum livebuf_column_type {
    /// Any mix of values.
    LIVEBUF_COLUMN_CELLS = 0,
    /// Booleans as bits.
    LIVEBUF_COLUMN_BOOL = 1,
    /// int8_t
    LIVEBUF_COLUMN_I8 = 2,
    /// int16_t
    LIVEBUF_COLUMN_I16 = 3,
    /// int32_t
    LIVEBUF_COLUMN_I32 = 4,
    /// int64_t
    LIVEBUF_COLUMN_I64 = 5,
    /// uint8_t
    LIVEBUF_COLUMN_U8 = 6,
    /// uint16_t
    LIVEBUF_COLUMN_U16 = 7,
    /// uint32_t
    LIVEBUF_COLUMN_U32 = 8,
    /// uint64_t
    LIVEBUF_COLUMN_U64 = 9,
    /// float
    LIVEBUF_COLUMN_F32 = 10,
    /// double
    LIVEBUF_COLUMN_F64 = 11,
    /// Text.
    LIVEBUF_COLUMN_STRING = 12,
    /// Objects that differ.
    LIVEBUF_COLUMN_OBJECTS = 13,
    /// Arrays by themselves.
    LIVEBUF_COLUMN_ARRAYS = 14,
    /// No values at all.
    LIVEBUF_COLUMN_NULL = 15,
    /// Like objects, as columns of their own.
    LIVEBUF_COLUMN_STRUCT = 16,
    /// Arrays, their elements behind each other.
    LIVEBUF_COLUMN_LIST = 17,
    /// The same, all of one length.
    LIVEBUF_COLUMN_FIXED_LIST = 18,
    /// float: integers and floats; whole values are integers.
    LIVEBUF_COLUMN_NUMBERS_F32 = 19,
    /// double: integers and floats; whole values are integers.
    LIVEBUF_COLUMN_NUMBERS_F64 = 20,
    /// float: the same, where some whole values are floats.
    LIVEBUF_COLUMN_MARKED_F32 = 21,
    /// double: the same, where some whole values are floats.
    LIVEBUF_COLUMN_MARKED_F64 = 22,
    /// Text: uint8_t codes of texts that are stored once.
    LIVEBUF_COLUMN_DICTIONARY_U8 = 23,
    /// Text: uint16_t codes of texts that are stored once.
    LIVEBUF_COLUMN_DICTIONARY_U16 = 24,
    /// Texts behind each other, and where each begins.
    LIVEBUF_COLUMN_TEXT_RUN = 25,
    /// Dates: int32_t, days since 1970-01-01.
    LIVEBUF_COLUMN_DATE = 26,
    /// Times of day: int64_t, microseconds since midnight.
    LIVEBUF_COLUMN_TIME = 27,
    /// Dates and times of day without a time zone: int64_t, microseconds since 1970.
    LIVEBUF_COLUMN_DATE_TIME = 28,
    /// Moments: int64_t, microseconds since 1970 in UTC.
    LIVEBUF_COLUMN_TIMESTAMP = 29,
    /// Decimals whose coefficients have at most 56 bits.
    LIVEBUF_COLUMN_DECIMAL = 30,
    /// UUIDs: 16 bytes.
    LIVEBUF_COLUMN_UUID = 31,
    /// Floats of two bytes (IEEE 754 binary16), in tensors only: uint16_t, their bits.
    LIVEBUF_COLUMN_F16 = 32,
    /// Booleans of one byte, in tensors only: uint8_t, 0 or 1.
    LIVEBUF_COLUMN_BOOL8 = 33,
}

const _: () = {
    use livebuf_column_type::*;
    assert!(LIVEBUF_COLUMN_I8 as u32 == ColumnType::I8 as u32);
    assert!(LIVEBUF_COLUMN_F64 as u32 == ColumnType::F64 as u32);
    assert!(LIVEBUF_COLUMN_STRING as u32 == ColumnType::String as u32);
    assert!(LIVEBUF_COLUMN_FIXED_LIST as u32 == ColumnType::FixedList as u32);
    assert!(LIVEBUF_COLUMN_MARKED_F64 as u32 == ColumnType::MarkedF64 as u32);
    assert!(LIVEBUF_COLUMN_DICTIONARY_U16 as u32 == ColumnType::DictionaryU16 as u32);
    assert!(LIVEBUF_COLUMN_TEXT_RUN as u32 == ColumnType::TextRun as u32);
    assert!(LIVEBUF_COLUMN_DATE as u32 == ColumnType::Date as u32);
    assert!(LIVEBUF_COLUMN_TIME as u32 == ColumnType::Time as u32);
    assert!(LIVEBUF_COLUMN_DATE_TIME as u32 == ColumnType::DateTime as u32);
    assert!(LIVEBUF_COLUMN_TIMESTAMP as u32 == ColumnType::Timestamp as u32);
    assert!(LIVEBUF_COLUMN_DECIMAL as u32 == ColumnType::Decimal as u32);
    assert!(LIVEBUF_COLUMN_UUID as u32 == ColumnType::Uuid as u32);
    assert!(LIVEBUF_COLUMN_F16 as u32 == ColumnType::F16 as u32);
    assert!(LIVEBUF_COLUMN_BOOL8 as u32 == ColumnType::Bool8 as u32);
};

const NO_COLUMN: u32 = u32::MAX;

/// The values that all rows of a table have under one key, or the elements of an array: the
/// caller's own variable. Stale after any edit of the document.
#[repr(C)]
pub struct livebuf_column {
    /// Count of rows.
    pub length: usize,
    /// One of enum livebuf_column_type.
    pub column_type: u32,
    /// Private.
    pub private_generation: u32,
    /// Private.
    pub private_doc: In<livebuf_doc>,
    /// Private.
    pub private_words: [MaybeUninit<u64>; 9],
}

/// The texts of a column behind each other, and where each begins. The text of a row ends where that
/// of the next row begins; it is empty where the row has no text. Where all texts have one length,
/// `width` is 0: each of the `count` rows has `length` / `count` bytes, zeros where it has no text. In a damaged document that was not
/// validated, an offset may be less than the one before, or more than `length`.
#[repr(C)]
pub struct livebuf_run {
    /// The texts, without anything between them.
    pub bytes: *const c_char,
    /// Count of bytes.
    pub length: usize,
    /// Where the text of each row begins, from `bytes` on, and where the last one ends: `count` + 1
    /// numbers of uint8_t, uint16_t or uint32_t. The first is more than 0 where the rows are a part
    /// of a column, as the elements of an array in an array are. NULL where `width` is 0.
    pub offsets: *const c_void,
    /// Count of rows.
    pub count: usize,
    /// Bytes of one offset: 1, 2 or 4. 0 where all texts have one length, and there are none.
    pub width: u32,
}

impl livebuf_run {
    const NONE: livebuf_run =
        livebuf_run { bytes: ptr::null(), length: 0, offsets: ptr::null(), count: 0, width: 0 };
}

type View = Column<'static, Checked>;
const _: () = assert!(size_of::<View>() <= 9 * 8 && align_of::<View>() <= 8);
const _: () = assert!(!core::mem::needs_drop::<View>());

impl livebuf_column {
    pub(crate) fn view(&self) -> Result<&View> {
        match self.private_doc.current(self.private_generation) {
            // SAFETY: C passes zeroed variables, which have no document, and those that `write`
            // wrote, which have a column with it. Its bytes are as they were, as the generation
            // says.
            Some(_) => Ok(unsafe { &*self.private_words.as_ptr().cast::<View>() }),
            None if self.private_doc.is_null() => Err(NULL),
            None => Err(stale()),
        }
    }
}

impl In<livebuf_column> {
    pub(crate) fn view(&self) -> Result<&View> {
        self.get()?.view()
    }
}

/// The elements of an array, or the values of an object that are stored as a column.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
fn values_of<'d>(value: Value<'d>) -> Result<Option<Column<'d, Checked>>> {
    if let Some(array) = value.as_array()? {
        return Ok(Some(array.as_column()));
    }
    let wrong = livebuf_error::of(livebuf_code::LIVEBUF_WRONG_TYPE);
    Ok(value.as_object()?.ok_or(wrong)?.as_column()?)
}

#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
fn table_of<'d>(value: Value<'d>) -> Result<Option<Table<'d, Checked>>> {
    match values_of(value)? {
        Some(values) => Ok(values.table()?),
        None => Ok(None),
    }
}

pub(crate) fn not_found() -> livebuf_error {
    livebuf_error::of(livebuf_code::LIVEBUF_NOT_FOUND)
}

/// Puts what `find` finds into the caller's variable, field by field: it is long to copy.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
fn put(
    array: &livebuf_value,
    column: Out<livebuf_column>,
    find: impl FnOnce(Value<'static>) -> Result<View>,
) -> livebuf_status {
    if column.is_null() {
        return NULL.status;
    }
    // SAFETY: the column is looked at while the document has the same generation, as
    // `livebuf_column::view` checks.
    let view = unsafe { array.kept_view() };
    write(column, (array.doc, array.generation), view.and_then(find))
}

/// Writes what was found, of a document and its generation.
#[inline]
fn write(
    column: Out<livebuf_column>,
    (doc, generation): (In<livebuf_doc>, u32),
    found: Result<View>,
) -> livebuf_status {
    let Some(mut column) = column.place() else { return NULL.status };
    // SAFETY: C passes a variable of this type, whose fields may hold anything: they are numbers,
    // pointers and words, and only written here.
    let column = unsafe { column.as_mut() };
    match found {
        Ok(view) => {
            column.length = view.len();
            column.column_type = view.column_type() as u32;
            column.private_generation = generation;
            column.private_doc = doc;
            // SAFETY: the words have its size and alignment.
            unsafe { column.private_words.as_mut_ptr().cast::<View>().write(view) };
            OK
        }
        Err(error) => {
            column.length = 0;
            column.column_type = NO_COLUMN;
            column.private_doc = In::NULL;
            error.status
        }
    }
}

/// The column at a JSON pointer of `length` bytes in an array of similar objects: "/id", or
/// "/user/id" through objects in them. "" is the array itself, of any values. `array` may also be
/// a large object of similar objects: its members are rows then. livebuf_row_key has their keys.
///
/// Memory: writes `*column`, which needs no clean-up; borrows as `array`. NULL:
/// LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE for what is no array and no object;
/// LIVEBUF_NOT_FOUND where there is no such column, be it that the objects are not stored as
/// columns: read them by row then. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_n(
    array: livebuf_value,
    pointer: Array<c_char>,
    length: usize,
    column: Out<livebuf_column>,
) -> livebuf_status {
    let find = |value: Value<'static>| {
        let pointer = pointer.text(length)?;
        if pointer.is_empty() {
            return values_of(value)?.ok_or_else(not_found);
        }
        let table = table_of(value)?.ok_or_else(not_found)?;
        table.column(Pointer(pointer))?.ok_or_else(not_found)
    };
    put(&array, column, find)
}

/// The column with a remembered key in an array of similar objects: one comparison.
///
/// Memory, Errors, Threads: as livebuf_column_n. NULL, and keys that were not made:
/// LIVEBUF_NULL_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_key(
    array: livebuf_value,
    key: In<livebuf_key>,
    column: Out<livebuf_column>,
) -> livebuf_status {
    let find = |value: Value<'static>| {
        let key = key.get()?.made()?;
        let table = table_of(value)?.ok_or_else(not_found)?;
        table.column(key)?.ok_or_else(not_found)
    };
    put(&array, column, find)
}

/// Count of the columns of an array of similar objects; 0 where they are not stored as columns.
///
/// Memory: none. NULL: none. Errors: 0. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_count(array: livebuf_value) -> usize {
    let table = array.view().and_then(table_of).ok().flatten();
    table.map_or(0, |table| table.width())
}

/// The key of the member that is a row in an object's columns. One step.
///
/// Memory: borrows the document's bytes until its next edit. NULL: a text whose `data` is NULL,
/// for rows that are not there, rows of removed members, arrays, and objects that are not stored
/// as columns. Errors: the same. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_row_key(object: livebuf_value, row: usize) -> livebuf_str {
    let key = || {
        let object = object.view().ok()?.as_object().ok()??;
        object.as_column().ok()??;
        object.key_of_row(row).ok()?
    };
    livebuf_str::of(key().map(str::as_bytes), object.generation)
}

/// A column and its key by its number, from 0. Takes a step for each column before it.
///
/// Memory: as livebuf_column_n; `*key` borrows the document's bytes until its next edit.
/// NULL: `column` LIVEBUF_NULL_ARGUMENT; `key` if it is not wanted. Errors: as
/// livebuf_column_n. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_at(
    array: livebuf_value,
    index: usize,
    key: Out<livebuf_str>,
    column: Out<livebuf_column>,
) -> livebuf_status {
    let find = |value: Value<'static>| {
        let table = table_of(value)?.ok_or_else(not_found)?;
        let (name, found) = table.columns().nth(index).ok_or_else(not_found)??;
        key.put(livebuf_str::of(Some(name.as_bytes()), array.generation));
        Ok(found)
    };
    put(&array, column, find)
}

/// The value of a row.
///
/// Memory: borrows the document. NULL: a value that is not there. Errors: in the value;
/// LIVEBUF_NOT_FOUND where the field is missing. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_get(column: In<livebuf_column>, row: usize) -> livebuf_value {
    let get = || {
        let known = column.get()?;
        let value = known.view()?.get(row)?.ok_or_else(not_found)?;
        Ok(livebuf_value::of(known.private_doc, known.private_generation, &value))
    };
    get().unwrap_or_else(livebuf_value::missing)
}

/// The values as a C array of `count` elements of the type that `column->column_type` says.
/// Integers among floats are floats there; of a dictionary it has the codes of texts, which
/// livebuf_column_texts has; of UUIDs their bytes, 16 for each of `count`. NULL where a row
/// has no value, or no number, where the document's memory is not aligned for the type, and
/// where the machine is big-endian. livebuf_column_f64s and the like read all of these. Of
/// decimals, and of texts behind each other it has nothing: livebuf_column_get and
/// livebuf_column_run have them. In a damaged document that was not validated, dates and times
/// may be outside of their bounds, and booleans of a byte may be other bytes than 0 and 1.
///
/// Memory: borrows the document's bytes until its next edit. NULL: NULL; `count` if it is not
/// wanted. Errors: NULL. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_slice(
    column: In<livebuf_column>,
    count: Out<usize>,
) -> *const c_void {
    fn slice<T: Element>(column: &View) -> Option<*const c_void> {
        column.as_slice::<T>().map(|slice| slice.as_ptr().cast())
    }
    fn whole<T>(column: &View, slots: Option<&[T]>) -> Option<*const c_void> {
        slots.filter(|_| column.is_complete()).map(|slots| slots.as_ptr().cast())
    }
    let found = column.view().ok().and_then(|column| {
        match column.column_type() {
            ColumnType::I8 => slice::<i8>(column),
            ColumnType::I16 => slice::<i16>(column),
            ColumnType::I32 => slice::<i32>(column),
            ColumnType::I64 => slice::<i64>(column),
            ColumnType::U8 => slice::<u8>(column),
            ColumnType::U16 => slice::<u16>(column),
            ColumnType::U32 => slice::<u32>(column),
            ColumnType::U64 => slice::<u64>(column),
            ColumnType::F32 | ColumnType::NumbersF32 | ColumnType::MarkedF32 => {
                slice::<f32>(column)
            }
            ColumnType::F64 | ColumnType::NumbersF64 | ColumnType::MarkedF64 => {
                slice::<f64>(column)
            }
            ColumnType::Date => whole(column, column.days()),
            ColumnType::Time | ColumnType::DateTime | ColumnType::Timestamp => {
                whole(column, column.microseconds())
            }
            ColumnType::Uuid => whole(column, column.uuids()),
            ColumnType::F16 | ColumnType::Bool8 => whole(column, tensor_slots(column)),
            _ => match column.dictionary().ok()?.filter(|_| column.is_complete())?.codes() {
                Codes::U8(codes) => Some(codes.as_ptr().cast()),
                Codes::U16(codes) => Some(codes.as_ptr().cast()),
            },
        }
        .map(|data| (data, column.len()))
    });
    let (data, length) = found.unwrap_or((ptr::null(), 0));
    count.put(length);
    data
}

/// The halves or booleans of a column that is a tensor, as bytes.
fn tensor_slots(column: &View) -> Option<&'static [u8]> {
    let tensor = column.tensor().ok()??;
    let bytes = tensor.as_bytes();
    let halves = tensor.column_type() == ColumnType::F16;
    let lends = bytes.as_ptr().cast::<u16>().is_aligned() && !cfg!(target_endian = "big");
    (!halves || lends).then_some(bytes)
}

/// The texts of a dictionary column: row i is the text of code i. Several may be equal.
///
/// Memory: writes `*texts`, which needs no clean-up; borrows as `column`. NULL:
/// LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND where the column is no dictionary.
/// Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_texts(
    column: In<livebuf_column>,
    texts: Out<livebuf_column>,
) -> livebuf_status {
    let (Some(known), false) = (column.option(), texts.is_null()) else { return NULL.status };
    let place = (known.private_doc, known.private_generation);
    let find = || Ok(known.view()?.dictionary()?.ok_or_else(not_found)?.texts());
    write(texts, place, find())
}

/// Texts that lie behind each other, and where each begins: all texts of a column without a call
/// for each. livebuf_column_get tells whether a row with an empty text has one.
///
/// Memory: writes `*run`, which needs no clean-up; borrows the document's bytes until its next
/// edit. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND where texts are stored
/// otherwise, or offsets cannot be lent as slices can; `*run` is zeroed. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_run(
    column: In<livebuf_column>,
    run: Out<livebuf_run>,
) -> livebuf_status {
    if run.is_null() {
        return NULL.status;
    }
    let (found, status) = match column.view().and_then(run_of) {
        Ok(found) => (found, OK),
        Err(error) => (livebuf_run::NONE, error.status),
    };
    run.put(found);
    status
}

fn run_of(column: &View) -> Result<livebuf_run> {
    let run = column.run()?.ok_or_else(not_found)?;
    let (offsets, width) = match run.offsets() {
        Offsets::U8(offsets) => (offsets.as_ptr().cast(), 1),
        Offsets::U16(offsets) => (offsets.as_ptr().cast(), 2),
        Offsets::U32(offsets) => (offsets.as_ptr().cast(), 4),
        Offsets::Each(_) => (ptr::null(), 0),
    };
    let (bytes, length) = (run.bytes().as_ptr().cast(), run.bytes().len());
    Ok(livebuf_run { bytes, length, offsets, count: column.len(), width })
}

/// Copies `values` of rows from `first` on, as many as there are and as `count` allows.
#[inline]
fn copy<T: Copy, I: Iterator<Item = Option<T>>>(
    column: In<livebuf_column>,
    first: usize,
    mut values: Buffer<T>,
    count: usize,
    fallback: T,
    read: impl FnOnce(View) -> I,
) -> usize {
    let Ok(column) = column.view() else { return 0 };
    let rows = column.slice(first..first.saturating_add(count));
    let places = values.room(rows.len());
    let length = places.len();
    places.iter_mut().zip(read(rows)).for_each(|(place, value)| {
        place.write(value.unwrap_or(fallback));
    });
    length
}

/// Where all rows have a value and lie there as a slice of one of these types: a loop that
/// the compiler makes vectors of.
macro_rules! widen {
    ($column:ident, $first:ident, $values:ident, $count:ident, $wide:ty, $($type:ty),+) => {
        if cfg!(not(feature = "small"))
            && let Ok(column) = $column.view()
        {
            $(
                if let Some(slice) = column.as_slice::<$type>() {
                    let rows = slice.get($first..).unwrap_or(&[]);
                    let places = $values.room(rows.len().min($count));
                    for (place, &value) in places.iter_mut().zip(rows) {
                        place.write(value as $wide);
                    }
                    return places.len();
                }
            )+
        }
    };
}

/// Whether the values are days or microseconds.
fn is_of_time(column: ColumnType) -> bool {
    use ColumnType::{Date, DateTime, Time, Timestamp};
    matches!(column, Date | Time | DateTime | Timestamp)
}

/// Copies integers of any width: of `count` rows from `first` on, as many as there are.
/// Rows without one that fits int64_t become `fallback`. Of a column of dates it copies the
/// days, of times of day, dates and times, and timestamps the microseconds, as
/// livebuf_read_date and its kin give them.
///
/// Memory: writes to `values`. NULL: 0. Errors: 0, what is damaged `fallback`.
/// Threads: a read. Returns how many were written.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_i64s(
    column: In<livebuf_column>,
    first: usize,
    mut values: Buffer<i64>,
    count: usize,
    fallback: i64,
) -> usize {
    widen!(column, first, values, count, i64, i8, i16, i32, i64, u8, u16, u32);
    if column.view().is_ok_and(|column| is_of_time(column.column_type())) {
        return copy(column, first, values, count, fallback, |rows| {
            (0..rows.len()).map(move |row| units(&rows.get(row).ok()??.as_extended().ok()??))
        });
    }
    copy(column, first, values, count, fallback, |rows| rows.i64s())
}

/// Copies numbers as doubles: of `count` rows from `first` on, as many as there are. Rows
/// without a number become `fallback`.
///
/// Memory: writes to `values`. NULL: 0. Errors: 0, what is damaged `fallback`.
/// Threads: a read. Returns how many were written.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_f64s(
    column: In<livebuf_column>,
    first: usize,
    mut values: Buffer<f64>,
    count: usize,
    fallback: f64,
) -> usize {
    widen!(column, first, values, count, f64, f32, f64);
    copy(column, first, values, count, fallback, |rows| rows.f64s())
}

/// Copies views of text: of `count` rows from `first` on, as many as there are. Rows without
/// text get a NULL `data`.
///
/// Memory: writes to `values`, which borrow the document's bytes until its next edit.
/// NULL: 0. Errors: 0, what is damaged is no text. Threads: a read. Returns how many were
/// written.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_strs(
    column: In<livebuf_column>,
    first: usize,
    values: Buffer<livebuf_str>,
    count: usize,
) -> usize {
    let generation = column.option().map_or(0, |column| column.private_generation);
    let read = |rows: View| {
        (0..rows.len()).map(move |row| {
            let text = rows.get(row).ok().flatten().and_then(|value| value.as_text_bytes().ok()?);
            Some(livebuf_str::of(text, generation))
        })
    };
    copy(column, first, values, count, livebuf_str::of(None, 0), read)
}

/// The first row that holds this null, boolean, number, text, date, time, decimal or UUID; a
/// scan at memory speed where the column is typed. -1 where there is none.
///
/// Memory: none. NULL: -1. Errors: -1. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_column_find(column: In<livebuf_column>, value: livebuf_new) -> isize {
    let found = column.view().and_then(|column| {
        if let Some(integer) = value.integer() {
            return Ok(column.find(integer)?);
        }
        let wanted: New<'_> = value.convert(&UnderEdit::NONE)?;
        Ok(column.find(Scalar::try_from(wanted)?)?)
    });
    found.ok().flatten().map_or(-1, |row| row as isize)
}
