//! Reading: values, the text they hold, keys that remember where they were.
//!
//! A `livebuf_value` is the core's value without its document: cell, position and tag, and
//! the generation in which they were right. Values that are not there carry a status, so
//! that calls chain.

use core::ffi::{c_char, c_void};
use core::fmt::Write;
use core::mem::{MaybeUninit, align_of, size_of};
use core::ptr::{self, NonNull};

use livebuf::layout::{TAG_DATE_TIME, TAG_TIMESTAMP};
use livebuf::raw::ValueParts;
use livebuf::{Extended, Key, Kind, Lookup, Value};

use crate::args::{Array, Buffer, In, Out};
use crate::document::livebuf_doc;
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};
use crate::text::Text;

/// A value of a document: 32 bytes, passed by value. Where there is none, why not.
///
/// Numbers, booleans, null, dates and times lie in it and stay good for ever. Text, decimals,
/// UUIDs and containers are looked up in the document, and are stale after any edit of it:
/// every call says so then.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_value {
    /// The document; NULL where there is no value.
    pub doc: In<livebuf_doc>,
    /// The number, or where the value lies. Of an error its offset.
    pub cell: u64,
    /// Private. Of an error the lower half of its detail.
    pub position: u32,
    /// The document's when the value was got. Of an error the upper half of its detail.
    pub generation: u32,
    /// One of LIVEBUF_TAG_*; 0 where there is no value.
    pub tag: u32,
    /// LIVEBUF_OK, or why there is no value.
    pub status: livebuf_status,
}

const _: () = assert!(size_of::<livebuf_value>() == 24 + size_of::<usize>().next_multiple_of(8));

/// `tag` of null.
pub const LIVEBUF_TAG_NULL: u8 = 0x01;
/// `tag` of false.
pub const LIVEBUF_TAG_FALSE: u8 = 0x02;
/// `tag` of true.
pub const LIVEBUF_TAG_TRUE: u8 = 0x03;
/// `tag` of an integer that fits int64_t: `cell` holds it.
pub const LIVEBUF_TAG_I64: u8 = 0x04;
/// `tag` of an integer that only fits uint64_t: `cell` holds it.
pub const LIVEBUF_TAG_U64: u8 = 0x05;
/// `tag` of a double: `cell` holds its bits.
pub const LIVEBUF_TAG_F64: u8 = 0x06;

/// `tag` of text.
pub const LIVEBUF_TAG_STRING: u8 = 0x10;
/// `tag` of an object.
pub const LIVEBUF_TAG_OBJECT: u8 = 0x20;
/// `tag` of an array.
pub const LIVEBUF_TAG_ARRAY: u8 = 0x21;

/// The header's inline functions look at tags, which are the format's.
const _: () = {
    use livebuf::layout::*;
    assert!(LIVEBUF_TAG_NULL == TAG_NULL && LIVEBUF_TAG_FALSE == TAG_FALSE);
    assert!(LIVEBUF_TAG_TRUE == TAG_TRUE && LIVEBUF_TAG_I64 == TAG_INT);
    assert!(LIVEBUF_TAG_U64 == TAG_UINT && LIVEBUF_TAG_F64 == TAG_FLOAT);
    assert!(LIVEBUF_TAG_STRING == TAG_STRING);
    assert!(LIVEBUF_TAG_OBJECT == TAG_OBJECT && LIVEBUF_TAG_ARRAY == TAG_ARRAY);
};

/// What a value is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum livebuf_kind {
    /// There is no value.
    LIVEBUF_KIND_NONE = 0,
    /// JSON null.
    LIVEBUF_KIND_NULL = 1,
    /// True or false.
    LIVEBUF_KIND_BOOL = 2,
    /// An integer that fits int64_t.
    LIVEBUF_KIND_I64 = 3,
    /// An integer that only fits uint64_t.
    LIVEBUF_KIND_U64 = 4,
    /// A double.
    LIVEBUF_KIND_F64 = 5,
    /// A number that only its text holds exactly.
    LIVEBUF_KIND_NUMBER_TEXT = 6,
    /// Text.
    LIVEBUF_KIND_STRING = 7,
    /// Bytes.
    LIVEBUF_KIND_BYTES = 8,
    /// An object.
    LIVEBUF_KIND_OBJECT = 9,
    /// An array.
    LIVEBUF_KIND_ARRAY = 10,
    /// A value of a kind that this version does not know.
    LIVEBUF_KIND_RESERVED = 11,
    /// A date.
    LIVEBUF_KIND_DATE = 12,
    /// A time of day.
    LIVEBUF_KIND_TIME = 13,
    /// A date and time of day without a time zone.
    LIVEBUF_KIND_DATE_TIME = 14,
    /// A moment.
    LIVEBUF_KIND_TIMESTAMP = 15,
    /// A decimal number.
    LIVEBUF_KIND_DECIMAL = 16,
    /// A UUID.
    LIVEBUF_KIND_UUID = 17,
}

/// A decimal number: a coefficient of at most 38 digits, `high` * 2^64 + `low`, divided by
/// 10^`scale`. 1.5 and 1.50 are two decimals.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_decimal {
    /// The lower half of the coefficient, which has 128 bits, in two's complement.
    pub low: u64,
    /// Its upper half. Of a coefficient that fits int64_t: -1 where it is negative, else 0.
    pub high: i64,
    /// How many of the digits are behind the point, 0 to 38.
    pub scale: u32,
    /// Zero. Not looked at.
    pub reserved: u32,
}

/// Text in a document: not NUL-terminated, good until the next edit (livebuf_str_is_current).
/// In documents that were validated, or written by this library, it is UTF-8.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_str {
    /// The first byte; NULL where there is no text.
    pub data: *const c_char,
    /// Count of bytes.
    pub length: u32,
    /// The document's when the text was got.
    pub generation: u32,
}

/// Bytes in a document: good until the next edit (livebuf_bytes_are_current).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_bytes {
    /// The first byte; NULL where there are none.
    pub data: *const u8,
    /// Count of bytes.
    pub length: u32,
    /// The document's when the bytes were got.
    pub generation: u32,
}

/// A key that remembers where it was found, so that finding it again in objects of the same
/// kind is one comparison. Made by livebuf_key_init; any number of threads may use it.
#[repr(C)]
pub struct livebuf_key {
    /// Private.
    pub private_state: u64,
    /// Private.
    pub private_mix: u64,
    /// Private.
    pub private_text: *const c_char,
    /// Private.
    pub private_length: usize,
    /// Private.
    pub private_words: [MaybeUninit<u64>; 7],
}

/// The state of a key that was made; the header's inline look-ups know it. They need what lies
/// before the words: in those is the core's key.
const KEY: u64 = 0x4C42_4B45_5900_0002;
const _: () = assert!(size_of::<Key<'_>>() <= 56 && align_of::<Key<'_>>() <= 8);

impl livebuf_key {
    /// The core's key.
    #[inline]
    pub(crate) fn made(&self) -> Result<&Key<'static>> {
        if self.private_state != KEY {
            return Err(NULL);
        }
        // SAFETY: `livebuf_key_init_n` put a key there before it wrote this state, and C never
        // writes these words.
        Ok(unsafe { &*self.private_words.as_ptr().cast() })
    }
}

impl livebuf_value {
    #[cold]
    pub(crate) fn missing(error: livebuf_error) -> Self {
        livebuf_value {
            doc: In::NULL,
            cell: error.offset,
            position: error.detail as u32,
            generation: (error.detail >> 32) as u32,
            tag: 0,
            status: error.status,
        }
    }

    pub(crate) const NOT_FOUND: livebuf_value = livebuf_value {
        doc: In::NULL,
        cell: 0,
        position: 0,
        generation: 0,
        tag: 0,
        status: livebuf_code::LIVEBUF_NOT_FOUND as livebuf_status,
    };

    #[cold]
    fn why_missing(&self) -> livebuf_error {
        if self.status == 0 {
            return NULL; // A zeroed variable.
        }
        livebuf_error {
            status: self.status,
            offset: self.cell,
            detail: self.position as u64 | (self.generation as u64) << 32,
            ..livebuf_error::NONE
        }
    }

    /// The value in the document of its generation.
    #[inline]
    pub(crate) fn view(&self) -> Result<Value<'_>> {
        // SAFETY: what this returns is borrowed from the value, so it is used within the call.
        unsafe { self.kept_view() }
    }

    /// The same for what C keeps: an iteration, a column or matches.
    ///
    /// # Safety
    /// It is used only while the document is there, is open and has this generation.
    #[inline]
    pub(crate) unsafe fn kept_view<'d>(&self) -> Result<Value<'d>> {
        match self.doc.current(self.generation) {
            // SAFETY: the bytes stay as they are as long as the generation does.
            Some(bytes) => Ok(Value::from_parts(unsafe { &*ptr::from_ref(bytes) }, self.parts())),
            None if self.doc.is_null() => Err(self.why_missing()),
            None => Err(stale()),
        }
    }

    /// The date, time, decimal or UUID.
    fn extended(&self) -> Result<Option<Extended>> {
        let parts = self.parts();
        let is_in_cell = matches!(parts.tag, TAG_TIMESTAMP..=TAG_DATE_TIME);
        let value = match is_in_cell && !self.doc.is_null() {
            true => Value::from_parts(&[], parts),
            false => self.view()?,
        };
        Ok(value.as_extended()?)
    }

    #[inline]
    fn parts(&self) -> ValueParts {
        let livebuf_value { cell, position, tag, .. } = *self;
        ValueParts { cell, position, tag: tag as u8 }
    }

    /// A value of the same document.
    #[inline]
    fn sibling(&self, value: &Value<'_>) -> Self {
        livebuf_value::of(self.doc, self.generation, value)
    }

    #[inline]
    pub(crate) fn of(doc: In<livebuf_doc>, generation: u32, value: &Value<'_>) -> Self {
        let ValueParts { cell, position, tag } = value.parts();
        livebuf_value { doc, cell, position, generation, tag: tag.into(), status: OK }
    }

    /// The member with this key. Apart: members of maps are found at the first look, without a
    /// stack frame.
    #[inline(never)]
    fn get(&self, key: &[u8]) -> Self {
        self.find(|value| value_at(value, key))
    }

    /// What a look-up finds, or why not.
    #[inline]
    fn find<'d>(
        &'d self,
        find: impl FnOnce(&Value<'d>) -> livebuf::Result<Option<Value<'d>>>,
    ) -> Self {
        match self.view() {
            Ok(value) => match find(&value) {
                Ok(Some(found)) => self.sibling(&found),
                Ok(None) => Self::NOT_FOUND,
                Err(error) => Self::missing(error.into()),
            },
            Err(error) => Self::missing(error),
        }
    }
}

#[cold]
pub(crate) fn stale() -> livebuf_error {
    livebuf_error::of(livebuf_code::LIVEBUF_STALE_HANDLE)
}

/// The root of a document.
///
/// Memory: borrows the document, which must stay where it is. NULL and documents that are
/// not open: a value that is not there. Errors: in the value. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_root(doc: In<livebuf_doc>) -> livebuf_value {
    let Some(known) = doc.option() else { return livebuf_value::missing(NULL) };
    match known.view() {
        Ok(view) => livebuf_value::of(doc, known.generation, &view.root()),
        Err(error) => livebuf_value::missing(error),
    }
}

/// The member of an object with this key of `length` bytes.
///
/// Memory: borrows as `object`. NULL: a value that is not there. Errors: in the value: a
/// value that is no object has no members. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_n(
    object: livebuf_value,
    key: Array<c_char>,
    length: usize,
) -> livebuf_value {
    // SAFETY: the object is this call's own, and there until the other returns.
    livebuf_get_in_n(unsafe { In::from_raw(&object) }, key, length)
}

/// The same of the object at an address. The inline livebuf_get and livebuf_get_n call it: the 32
/// bytes of a value that is passed by itself are copied through memory, which takes a third of
/// the time of a look-up.
///
/// Memory: borrows as `*object`. NULL: a value that is not there. Errors: in the value: a
/// value that is no object has no members. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_in_n(
    object: In<livebuf_value>,
    key: Array<c_char>,
    length: usize,
) -> livebuf_value {
    match (object.option(), key.bytes(length)) {
        (Some(object), Ok(key)) => {
            match object.view().ok().and_then(|value| value.first_look(key)) {
                Some(Some(found)) => object.sibling(&found),
                Some(None) => livebuf_value::NOT_FOUND,
                None => object.get(key),
            }
        }
        (None, _) => livebuf_value::missing(NULL),
        (_, Err(error)) => livebuf_value::missing(error),
    }
}

/// What a table's column has for a row. The inline livebuf_get calls it where it has found the
/// column, and does not read its kind itself.
///
/// `object`: any value of the document. `column`: the offset of the column's header (FORMAT 6.3).
///
/// Memory: borrows as `*object`. NULL: a value that is not there. Errors: in the value; any offset
/// may be given. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_in_column(
    object: In<livebuf_value>,
    column: u64,
    row: u32,
) -> livebuf_value {
    match object.option() {
        Some(object) => object.find(|value| value.in_column(column, row)),
        None => livebuf_value::missing(NULL),
    }
}

#[inline]
fn value_at<'d>(value: &Value<'d>, lookup: impl Lookup) -> livebuf::Result<Option<Value<'d>>> {
    value.get(lookup)
}

/// The member of an object with a remembered key.
///
/// Memory: borrows as `object`. NULL and keys that were not made: a value that is not there.
/// Errors: in the value. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_key(object: livebuf_value, key: In<livebuf_key>) -> livebuf_value {
    match key.get().and_then(livebuf_key::made) {
        Ok(key) => object.find(|value| value_at(value, key)),
        Err(error) => livebuf_value::missing(error),
    }
}

/// The integer member of an object with a remembered key, or `fallback` where there is none
/// that fits: livebuf_get_i64_or(livebuf_get_key(object, key), fallback) in one call.
///
/// Memory: none. NULL: `fallback`. Errors: `fallback`. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_key_i64_or(
    object: livebuf_value,
    key: In<livebuf_key>,
    fallback: i64,
) -> i64 {
    match (key.get().and_then(livebuf_key::made), object.view()) {
        (Ok(key), Ok(value)) => match value_at(&value, key) {
            Ok(Some(found)) => found.as_i64().unwrap_or(fallback),
            _ => fallback,
        },
        _ => fallback,
    }
}

/// The element of an array at an index. Constant time.
///
/// Memory: borrows as `array`. NULL: none. Errors: in the value: beyond the end, and of what
/// is no array, there are no elements. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_at(array: livebuf_value, index: usize) -> livebuf_value {
    array.find(|value| value_at(value, index))
}

/// The value at a JSON pointer (RFC 6901) of `length` bytes below this one; "" is itself.
///
/// Memory: borrows as `value`. NULL: a value that is not there. Errors: in the value,
/// LIVEBUF_BAD_POINTER among them. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_pointer_n(
    value: livebuf_value,
    pointer: Array<c_char>,
    length: usize,
) -> livebuf_value {
    match pointer.text(length) {
        Ok(pointer) => value.find(|value| value.pointer(pointer)),
        Err(error) => livebuf_value::missing(error),
    }
}

/// What a value is.
///
/// Memory: none. NULL: none; what is not there is LIVEBUF_KIND_NONE. Errors: none.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_kind_of(value: livebuf_value) -> livebuf_kind {
    use livebuf_kind::*;
    if value.doc.is_null() {
        return LIVEBUF_KIND_NONE;
    }
    match Value::from_parts(&[], value.parts()).kind() {
        Kind::Null => LIVEBUF_KIND_NULL,
        Kind::Bool => LIVEBUF_KIND_BOOL,
        Kind::Int => LIVEBUF_KIND_I64,
        Kind::Uint => LIVEBUF_KIND_U64,
        Kind::Float => LIVEBUF_KIND_F64,
        Kind::NumberText => LIVEBUF_KIND_NUMBER_TEXT,
        Kind::String => LIVEBUF_KIND_STRING,
        Kind::Bytes => LIVEBUF_KIND_BYTES,
        Kind::Object => LIVEBUF_KIND_OBJECT,
        Kind::Array => LIVEBUF_KIND_ARRAY,
        Kind::Date => LIVEBUF_KIND_DATE,
        Kind::Time => LIVEBUF_KIND_TIME,
        Kind::DateTime => LIVEBUF_KIND_DATE_TIME,
        Kind::Timestamp => LIVEBUF_KIND_TIMESTAMP,
        Kind::Decimal => LIVEBUF_KIND_DECIMAL,
        Kind::Uuid => LIVEBUF_KIND_UUID,
        _ => LIVEBUF_KIND_RESERVED,
    }
}

/// Count of an object's members, an array's elements, or the bytes of text; 0 for all else.
/// Counting the members of a table's row takes a step for each column.
///
/// Memory: none. NULL: none. Errors: 0. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_count(value: livebuf_value) -> usize {
    value.view().ok().and_then(|value| value.len().ok()?).unwrap_or(0)
}

/// The text of a string; `data` is NULL where it is none. Not NUL-terminated; UTF-8 in
/// documents that were validated or written by this library.
///
/// Memory: borrows the document's bytes until its next edit. NULL: none. Errors: no text;
/// livebuf_read_str tells why. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_str(value: livebuf_value) -> livebuf_str {
    let found = value.view().ok().and_then(|view| view.as_text_bytes().ok()?);
    livebuf_str::of(found, value.generation)
}

impl livebuf_str {
    #[inline]
    pub(crate) fn of(text: Option<&[u8]>, generation: u32) -> livebuf_str {
        match text {
            Some(text) => {
                livebuf_str { data: text.as_ptr().cast(), length: text.len() as u32, generation }
            }
            None => livebuf_str { data: ptr::null(), length: 0, generation: 0 },
        }
    }
}

/// The bytes of a byte string; `data` is NULL where it is none.
///
/// Memory: borrows the document's bytes until its next edit. NULL: none. Errors: no bytes;
/// livebuf_read_bytes tells why. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_bytes(value: livebuf_value) -> livebuf_bytes {
    match value.view().ok().and_then(|view| view.as_bytes().ok()?) {
        Some(bytes) => livebuf_bytes {
            data: bytes.as_ptr(),
            length: bytes.len() as u32,
            generation: value.generation,
        },
        None => livebuf_bytes { data: ptr::null(), length: 0, generation: 0 },
    }
}

/// The text of a number that is kept as text (LIVEBUF_KIND_NUMBER_TEXT); `data` is NULL for all
/// else.
///
/// Memory: borrows the document's bytes until its next edit. NULL: none. Errors: no text;
/// livebuf_read_number_text tells why. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_get_number_text(value: livebuf_value) -> livebuf_str {
    let found = value.view().ok().and_then(|view| view.as_number_text().ok()?);
    livebuf_str::of(found.map(str::as_bytes), value.generation)
}

/// The number in text that no other kind holds exactly (LIVEBUF_KIND_NUMBER_TEXT), rounded to the
/// nearest double; `fallback` beyond the range of doubles and for all else. The inline
/// livebuf_get_f64_or calls it.
///
/// Memory: none. NULL: none. Errors: `fallback`. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_number_text_f64_or(value: livebuf_value, fallback: f64) -> f64 {
    value.view().ok().and_then(|view| view.as_f64()).unwrap_or(fallback)
}

/// The days of a date, or the microseconds of a time.
pub(crate) fn units(value: &Extended) -> Option<i64> {
    Some(match value {
        Extended::Date(date) => date.days().into(),
        Extended::Time(time) => time.microseconds(),
        Extended::DateTime(time) => time.microseconds(),
        Extended::Timestamp(moment) => moment.microseconds(),
        _ => return None,
    })
}

/// The date, time, decimal or UUID in `*result`, where the value is of this `kind`:
/// LIVEBUF_KIND_DATE writes an int32_t, LIVEBUF_KIND_TIME, _DATE_TIME and _TIMESTAMP an int64_t,
/// LIVEBUF_KIND_DECIMAL a livebuf_decimal, LIVEBUF_KIND_UUID 16 bytes. The inline
/// livebuf_read_date and its kin call it.
///
/// Memory: writes `*result` where it returns LIVEBUF_OK. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
/// LIVEBUF_WRONG_TYPE where the value is of another kind; those of livebuf_value_error.
/// Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_read_extended(
    value: livebuf_value,
    kind: u32,
    result: Out<c_void>,
) -> livebuf_status {
    let Some(place) = result.place() else { return NULL.status };
    match value.extended() {
        Ok(Some(found)) if kind == livebuf_kind_of(value) as u32 => {
            // SAFETY: C passes the kind together with a variable for what such a value has, and
            // the value is of this kind.
            unsafe { write(&found, place) };
            OK
        }
        Ok(Some(_)) => livebuf_code::LIVEBUF_WRONG_TYPE as livebuf_status,
        Ok(None) => match livebuf_value_error(value).status {
            OK => livebuf_code::LIVEBUF_WRONG_TYPE as livebuf_status,
            status => status,
        },
        Err(error) => error.status,
    }
}

/// # Safety
/// `result` is good for writing what a value of this kind has.
unsafe fn write(value: &Extended, result: NonNull<c_void>) {
    // SAFETY: this function's caller knows that the variable is of the type that each arm writes.
    unsafe {
        match (value, units(value)) {
            (Extended::Date(date), _) => result.cast::<i32>().write(date.days()),
            (_, Some(microseconds)) => result.cast::<i64>().write(microseconds),
            (Extended::Decimal(decimal), _) => {
                let coefficient = decimal.coefficient();
                result.cast::<livebuf_decimal>().write(livebuf_decimal {
                    low: coefficient as u64,
                    high: (coefficient >> 64) as i64,
                    scale: decimal.scale().into(),
                    reserved: 0,
                });
            }
            (Extended::Uuid(id), _) => result.cast::<[u8; 16]>().write(*id.as_bytes()),
            _ => {}
        }
    }
}

/// The text of a date, time, decimal or UUID, as JSON has it: "2026-11-23", "08:30:00.250",
/// "2026-11-23T08:30:00Z", "19.90". Returns its length without its NUL, as snprintf does; 0 for
/// all else.
///
/// Memory: writes at most `capacity` bytes to `text`, a NUL at the end among them; 48 hold any
/// of these texts. NULL: `text` if `capacity` is 0, to ask for the length. Errors: 0 and empty
/// text; livebuf_value_error tells why. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_extended_text(
    value: livebuf_value,
    mut text: Buffer<c_char>,
    capacity: usize,
) -> usize {
    let mut line = Text::new(&mut text, capacity);
    if let Ok(Some(found)) = value.extended() {
        // Writing here never fails.
        let _ = write!(line, "{found}");
    }
    line.end()
}

/// Whether there is a value that can be read. LIVEBUF_OK for a good value of any type: whether
/// it is of the type you want, livebuf_read_i64 and its kin tell (LIVEBUF_WRONG_TYPE).
///
/// Memory: none. NULL: none. Errors: the value's own status and place; what is damaged in
/// text, bytes, dates, times, decimals, UUIDs or the header of a container;
/// LIVEBUF_STALE_HANDLE after an edit of the document. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_value_error(value: livebuf_value) -> livebuf_error {
    let looked = value.view().and_then(|view| {
        view.len()?;
        view.as_text_bytes()?;
        view.as_bytes()?;
        view.as_number_text()?;
        view.as_extended()?;
        Ok(())
    });
    match looked {
        Ok(()) => livebuf_error { status: OK, ..livebuf_error::NONE },
        Err(error) => error,
    }
}

/// Makes a remembered key of `length` bytes of text.
///
/// Memory: keeps `text`, which must stay as long as the key is used; `key` needs no clean-up.
/// NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BAD_TEXT; the key finds nothing then.
/// Threads: as writing a variable.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_key_init_n(
    key: Out<livebuf_key>,
    text: Array<c_char>,
    length: usize,
) -> livebuf_status {
    let Some(place) = key.place() else { return NULL.status };
    // SAFETY: C keeps the text where it is for as long as it uses the key.
    let given = unsafe { text.kept_text(length) };
    let text = given.unwrap_or_default();
    let made = Key::new(text);
    // SAFETY: C passes a variable of this type; the words have the key's size and alignment.
    unsafe {
        let key = place.as_ptr();
        (&raw mut (*key).private_mix).write(made.mix());
        (&raw mut (*key).private_text).write(text.as_ptr().cast());
        (&raw mut (*key).private_length).write(text.len());
        (&raw mut (*key).private_words).cast::<Key<'static>>().write(made);
        (&raw mut (*key).private_state).write(if given.is_ok() { KEY } else { 0 });
    }
    given.err().map_or(OK, |error| error.status)
}
