//! Edits: handles of objects and arrays, new values, and what is done with them.

use core::ffi::{c_char, c_void};
#[cfg(feature = "small")]
use core::hint::black_box;
use core::mem::{MaybeUninit, offset_of, size_of};
#[cfg(feature = "small")]
use core::sync::atomic::{AtomicPtr, Ordering};
use core::{ptr, slice};

use livebuf::layout::MAX_SPAN;
#[cfg(not(feature = "small"))]
use livebuf::layout::{MAX_SHAPE_KEY, TAG_FALSE, TAG_FLOAT, TAG_INT, TAG_NULL};
#[cfg(not(feature = "small"))]
use livebuf::raw::Simple;
use livebuf::{
    Child, Date, DateTime, Decimal, Editor, Extended, New, NodeId, Time, Timestamp, Uuid, Value,
};

use crate::args::{Array, In, InOut, Out, text_in};
use crate::document::{Memory, edit, livebuf_doc, overlap};
use crate::read::{livebuf_decimal, livebuf_key, livebuf_value};
#[cfg(not(feature = "small"))]
use crate::status::OK;
use crate::status::{NULL, Result, livebuf_code, livebuf_error, livebuf_status};
use crate::tensor::given_tensor;

/// A place to edit: an object or array. It stays good when the document grows, when values
/// move and when other containers are freed. It goes stale, and calls say so, when its own
/// container is removed or replaced. A document remembers the last 8 such changes: older
/// places are stale too, but for the last four that edits used. Zeroed (LIVEBUF_ROOT) it is
/// the root. One of another document is stale. Never change the words.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_node {
    /// Private.
    pub private_place: u64,
    /// Private.
    pub private_time: u64,
}

/// What stands for no place: stale for every document.
const NONE: livebuf_node = livebuf_node { private_place: 0, private_time: (u32::MAX as u64) << 32 };

impl livebuf_node {
    fn of(id: Option<NodeId>) -> Self {
        id.map_or(NONE, livebuf_node::good)
    }

    /// As two words, which go by registers.
    #[inline]
    fn good(id: NodeId) -> Self {
        let [private_place, private_time] = id.to_words();
        livebuf_node { private_place, private_time }
    }

    /// The handle for a document.
    #[inline]
    fn id(self, editor: &Editor<Memory>) -> Result<NodeId> {
        let (place, time) = (self.private_place, self.private_time);
        if place | time == 0 {
            return root_of(editor);
        }
        Ok(self.handle())
    }

    /// The handle of a place that may be good.
    #[inline]
    fn handle(self) -> NodeId {
        // SAFETY: C never changes the words that `good` or `NONE` wrote, or zeros, as the
        // documentation of this type asks.
        unsafe { NodeId::from_words([self.private_place, self.private_time]) }
    }
}

fn root_of(editor: &Editor<Memory>) -> Result<NodeId> {
    editor.root_id().ok_or(livebuf_error::of(livebuf_code::LIVEBUF_WRONG_TYPE))
}

/// Kinds of new values.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum livebuf_new_kind {
    /// Null.
    LIVEBUF_NEW_NULL = 0,
    /// `i64` is 0 or not.
    LIVEBUF_NEW_BOOL = 1,
    /// `i64`
    LIVEBUF_NEW_I64 = 2,
    /// `u64`
    LIVEBUF_NEW_U64 = 3,
    /// `f64`
    LIVEBUF_NEW_F64 = 4,
    /// `length` bytes of text at `pointer`.
    LIVEBUF_NEW_STRING = 5,
    /// `length` bytes at `pointer`.
    LIVEBUF_NEW_BYTES = 6,
    /// A number's text: `length` bytes at `pointer`.
    LIVEBUF_NEW_NUMBER_TEXT = 7,
    /// An empty object with room for `length` members.
    LIVEBUF_NEW_OBJECT = 8,
    /// An empty object with an ordered index from the start.
    LIVEBUF_NEW_MAP = 9,
    /// An empty array with room for `length` elements of eight bytes.
    LIVEBUF_NEW_ARRAY = 10,
    /// A copy of the livebuf_value at `pointer`, of another document.
    LIVEBUF_NEW_COPY = 11,
    /// An object of the `length` livebuf_fields at `pointer`.
    LIVEBUF_NEW_FIELDS = 12,
    /// A date: `i64` days.
    LIVEBUF_NEW_DATE = 13,
    /// A time of day: `i64` microseconds.
    LIVEBUF_NEW_TIME = 14,
    /// A date and time of day without a time zone: `i64` microseconds.
    LIVEBUF_NEW_DATE_TIME = 15,
    /// A moment: `i64` microseconds.
    LIVEBUF_NEW_TIMESTAMP = 16,
    /// A decimal: `i64` / 10^`length`.
    LIVEBUF_NEW_DECIMAL = 17,
    /// A decimal: the livebuf_decimal at `pointer`; `length` is its size.
    LIVEBUF_NEW_LARGE_DECIMAL = 18,
    /// A UUID: the 16 bytes at `pointer`; `length` is 16.
    LIVEBUF_NEW_UUID = 19,
    /// The date, time, decimal or UUID whose text is `length` bytes at `pointer`.
    LIVEBUF_NEW_EXTENDED = 20,
    /// A tensor: the livebuf_tensor at `pointer`.
    LIVEBUF_NEW_TENSOR = 21,
}

/// What a new value holds.
#[repr(C)]
#[derive(Clone, Copy)]
pub union livebuf_payload {
    /// Of booleans, integers, dates, times and small decimals.
    pub i64: i64,
    /// Of integers without sign.
    pub u64: u64,
    /// Of doubles.
    pub f64: f64,
    /// Of all that lies elsewhere.
    pub pointer: *const c_void,
}

/// A value to be stored: made by livebuf_i64, livebuf_string and their kin, 16 bytes. It
/// borrows what its pointer leads to until the call that stores it returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_new {
    /// The value, or where it is.
    pub payload: livebuf_payload,
    /// Bytes, members or elements; of a decimal its scale.
    pub length: u32,
    /// One of enum livebuf_new_kind.
    pub kind: u32,
}

/// A copy of a value of another document, with all below it.
///
/// Memory: `value` is read by the call that stores the copy. NULL: that call answers
/// LIVEBUF_NULL_ARGUMENT. Errors: none. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_copy(value: In<livebuf_value>) -> livebuf_new {
    // Hidden from the compiler, which would else call the only function that is ever stored.
    #[cfg(feature = "small")]
    LINK_TABLES.store(black_box(Editor::<Memory>::link_tables as *mut ()), Ordering::Relaxed);
    livebuf_new {
        payload: livebuf_payload { pointer: value.address().cast() },
        length: 0,
        kind: kind::COPY,
    }
}

/// Links a document with the edits of tables, once a copy was made. A program that makes none
/// is linked without them.
#[cfg(feature = "small")]
static LINK_TABLES: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

#[cfg(feature = "small")]
fn link_tables(editor: &mut Editor<Memory>) {
    let link = LINK_TABLES.load(Ordering::Relaxed);
    if !link.is_null() {
        // SAFETY: only `livebuf_copy` stores here.
        let link: fn(&mut Editor<Memory>) = unsafe { core::mem::transmute(link) };
        link(editor);
    }
}

/// The date, time, decimal or UUID that this text of `length` bytes is, as livebuf_extended_text
/// makes it. Digits alone are a decimal.
///
/// Memory: `text` is read by the call that stores the value. NULL: that call answers
/// LIVEBUF_NULL_ARGUMENT. Errors: none here; for other text that call answers LIVEBUF_BAD_VALUE.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_extended_n(text: Array<c_char>, length: usize) -> livebuf_new {
    // Hidden as in `livebuf_copy`.
    #[cfg(feature = "small")]
    PARSE.store(black_box(parse_text as *mut ()), Ordering::Relaxed);
    livebuf_new {
        payload: livebuf_payload { pointer: text.address().cast() },
        // NULL is no text of no bytes.
        length: u32::try_from(length).unwrap_or(u32::MAX).max(text.is_null().into()),
        kind: kind::EXTENDED,
    }
}

fn parse_text(text: &str) -> livebuf::Result<Extended> {
    text.parse()
}

/// What parses text, once some was given. A program that gives none is linked without it.
#[cfg(feature = "small")]
static PARSE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

#[cfg(feature = "small")]
fn parse(text: &str) -> Result<Extended> {
    let parse = PARSE.load(Ordering::Relaxed);
    if parse.is_null() {
        return Err(livebuf_error::of(livebuf_code::LIVEBUF_UNSUPPORTED));
    }
    // SAFETY: only `livebuf_extended_n` stores here.
    let parse: fn(&str) -> livebuf::Result<Extended> = unsafe { core::mem::transmute(parse) };
    Ok(parse(text)?)
}

#[cfg(not(feature = "small"))]
fn parse(text: &str) -> Result<Extended> {
    Ok(parse_text(text)?)
}

/// A member of an object that is made at once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_field {
    /// The key's first byte.
    pub key: Array<c_char>,
    /// The key's length in bytes.
    pub key_length: usize,
    /// The member's value; not LIVEBUF_NEW_FIELDS.
    pub value: livebuf_new,
}

/// Most members that LIVEBUF_NEW_FIELDS takes.
pub const LIVEBUF_MAX_NEW_FIELDS: u32 = 64;

const MAX_FIELDS: usize = LIVEBUF_MAX_NEW_FIELDS as usize;

/// Bytes of text that are copied to the stack when they lie in the document under edit.
const SMALL: usize = 256;

/// Whether some of these bytes are in the memory of the document under edit, which may move
/// them: the edit is done with a copy of them then, by [`put_aside`].
#[inline]
fn lies_in(doc: &InOut<livebuf_doc>, text: Array<c_char>, length: usize) -> bool {
    let place = (text.address().cast(), length);
    doc.option().is_some_and(|doc| overlap((doc.bytes, doc.capacity), place))
}

/// If the text, or that of the new value, lies in the document under edit, the function that has this
/// calls itself with a copy of it.
macro_rules! apart {
    ($doc:ident, $text:ident, $length:ident, $again:expr) => {
        if lies_in(&$doc, $text, $length) {
            return put_aside($doc, $text, $length, &mut move |$doc, $text| $again);
        }
    };
    ($doc:ident, $value:ident, $again:expr) => {
        if $value.lies_in(&$doc) {
            return $value.put_aside($doc, &mut move |$doc, $value| $again);
        }
    };
}
#[cfg(feature = "json")]
pub(crate) use apart;

/// Calls `edit` with a copy of text that lies in the document under edit.
#[cold]
#[inline(never)]
fn put_aside(
    mut doc: InOut<livebuf_doc>,
    text: Array<c_char>,
    length: usize,
    edit: &mut dyn FnMut(InOut<livebuf_doc>, Array<c_char>) -> livebuf_status,
) -> livebuf_status {
    let mut edit_with = |doc, copy: &[u8]| {
        // SAFETY: the copy has this length, and stays until `edit` returns.
        edit(doc, unsafe { Array::from_raw(copy.as_ptr().cast()) })
    };
    let error = match storable(&text, length) {
        Ok(bytes) if length <= SMALL => {
            let mut small = [0; SMALL];
            small[..length].copy_from_slice(bytes);
            return edit_with(doc, &small);
        }
        #[cfg(feature = "std")]
        Ok(bytes) => return edit_with(doc, &Box::<[u8]>::from(bytes)),
        #[cfg(not(feature = "std"))]
        Ok(_) => livebuf_error {
            detail: SMALL as u64,
            ..livebuf_error::of(livebuf_code::LIVEBUF_UNSUPPORTED)
        },
        Err(error) => error,
    };
    doc.option_mut().map_or(NULL.status, |doc| doc.status(Err(error)))
}

/// `livebuf_new_kind` as what C passes.
pub(crate) mod kind {
    use super::livebuf_new_kind::*;
    pub(crate) const NULL: u32 = LIVEBUF_NEW_NULL as u32;
    pub(crate) const BOOL: u32 = LIVEBUF_NEW_BOOL as u32;
    pub(crate) const INT: u32 = LIVEBUF_NEW_I64 as u32;
    pub(crate) const UINT: u32 = LIVEBUF_NEW_U64 as u32;
    pub(crate) const FLOAT: u32 = LIVEBUF_NEW_F64 as u32;
    pub(crate) const STRING: u32 = LIVEBUF_NEW_STRING as u32;
    pub(crate) const BYTES: u32 = LIVEBUF_NEW_BYTES as u32;
    pub(crate) const NUMBER: u32 = LIVEBUF_NEW_NUMBER_TEXT as u32;
    pub(crate) const OBJECT: u32 = LIVEBUF_NEW_OBJECT as u32;
    pub(crate) const MAP: u32 = LIVEBUF_NEW_MAP as u32;
    pub(crate) const ARRAY: u32 = LIVEBUF_NEW_ARRAY as u32;
    pub(crate) const COPY: u32 = LIVEBUF_NEW_COPY as u32;
    pub(crate) const FIELDS: u32 = LIVEBUF_NEW_FIELDS as u32;
    pub(crate) const DATE: u32 = LIVEBUF_NEW_DATE as u32;
    pub(crate) const TIME: u32 = LIVEBUF_NEW_TIME as u32;
    pub(crate) const DATE_TIME: u32 = LIVEBUF_NEW_DATE_TIME as u32;
    pub(crate) const TIMESTAMP: u32 = LIVEBUF_NEW_TIMESTAMP as u32;
    pub(crate) const DECIMAL: u32 = LIVEBUF_NEW_DECIMAL as u32;
    pub(crate) const LARGE_DECIMAL: u32 = LIVEBUF_NEW_LARGE_DECIMAL as u32;
    pub(crate) const UUID: u32 = LIVEBUF_NEW_UUID as u32;
    pub(crate) const EXTENDED: u32 = LIVEBUF_NEW_EXTENDED as u32;
    pub(crate) const TENSOR: u32 = LIVEBUF_NEW_TENSOR as u32;
}

impl livebuf_new {
    /// JSON null.
    #[cfg(feature = "json")]
    pub(crate) const NULL: livebuf_new =
        livebuf_new { payload: livebuf_payload { i64: 0 }, length: 0, kind: kind::NULL };

    /// What it holds as a word: the integer, or the bits of the double.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        // SAFETY: the kinds that have a number hold all of it, and any bits are one.
        unsafe { self.payload.u64 }
    }

    /// What the pointer of the kinds that have several of something leads to.
    #[inline]
    pub(crate) fn array<T>(&self) -> &Array<T> {
        // SAFETY: of these kinds C gave the pointer, which is good for as many of what the kind says
        // as `length` says. An `Array` is a pointer.
        unsafe { &*(&raw const self.payload.pointer).cast() }
    }

    /// What the pointer of the kinds that have one of something leads to.
    #[inline]
    fn one<T>(&self) -> &In<T> {
        // SAFETY: of these kinds C gave the pointer, which is good for what the kind says. An `In`
        // is a pointer.
        unsafe { &*(&raw const self.payload.pointer).cast() }
    }

    /// The integer, where it is one that fits.
    #[inline]
    pub(crate) fn integer(&self) -> Option<i64> {
        match self.kind {
            kind::INT => Some(self.word() as i64),
            kind::UINT => i64::try_from(self.word()).ok(),
            _ => None,
        }
    }

    /// What the core stores, but a tensor. With `apart` its text must not lie in the document
    /// under edit; else that was looked at before.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn new_by(&self, under_edit: &UnderEdit, apart: bool) -> Result<New<'_>> {
        let length = self.length as usize;
        Ok(match self.kind {
            kind::NULL => New::Null,
            kind::BOOL => New::Bool(self.word() != 0),
            kind::INT => New::Int(self.word() as i64),
            kind::UINT => New::Uint(self.word()),
            kind::FLOAT => New::Float(f64::from_bits(self.word())),
            kind::OBJECT => New::object(length),
            kind::MAP => New::Map { capacity: self.length },
            kind::ARRAY => New::array(length),
            kind::COPY => New::Copy(under_edit.other(self.one())?),
            kind @ (kind::STRING
            | kind::BYTES
            | kind::NUMBER
            | kind::LARGE_DECIMAL..=kind::EXTENDED) => {
                let bytes = match apart {
                    true => outside(under_edit, self.array(), length)?,
                    false => storable(self.array(), length)?,
                };
                match kind {
                    kind::STRING => New::Str(text_in(bytes)?),
                    kind::BYTES => New::Bytes(bytes),
                    kind::NUMBER => New::NumberText(text_in(bytes)?),
                    _ => New::Extended(extended_in(kind, bytes)?),
                }
            }
            kind @ kind::DATE..=kind::DECIMAL => {
                New::Extended(extended_of(kind, self.word() as i64, self.length)?)
            }
            _ => return Err(livebuf_error::of(livebuf_code::LIVEBUF_UNSUPPORTED)),
        })
    }

    /// What the core stores; its text does not lie in the document under edit.
    #[inline(never)]
    pub(crate) fn convert(&self, under_edit: &UnderEdit) -> Result<New<'_>> {
        match self.kind {
            kind::TENSOR => self.tensor(under_edit),
            _ => self.new_by(under_edit, false),
        }
    }

    /// The tensor, which is larger than all other new values: those are made without its room.
    #[inline(never)]
    fn tensor(&self, under_edit: &UnderEdit) -> Result<New<'_>> {
        Ok(New::Tensor(given_tensor(under_edit, self.one())?))
    }

    /// Whether it has text, or bytes, in the memory of the document under edit.
    #[inline]
    pub(crate) fn lies_in(&self, doc: &InOut<livebuf_doc>) -> bool {
        (matches!(self.kind, kind::STRING | kind::BYTES | kind::NUMBER)
            || matches!(self.kind, kind::LARGE_DECIMAL..=kind::EXTENDED))
            && lies_in(doc, *self.array(), self.length as usize)
    }

    /// Calls `edit` with the same value, its text put aside.
    #[cold]
    pub(crate) fn put_aside(
        self,
        doc: InOut<livebuf_doc>,
        edit: &mut dyn FnMut(InOut<livebuf_doc>, livebuf_new) -> livebuf_status,
    ) -> livebuf_status {
        put_aside(doc, *self.array(), self.length as usize, &mut move |doc, text| {
            let payload = livebuf_payload { pointer: text.address().cast() };
            edit(doc, livebuf_new { payload, ..self })
        })
    }

    /// What the core stores as a part of an object made at once, but a tensor: nothing of it may
    /// lie in the document under edit.
    #[inline]
    pub(crate) fn part(&self, under_edit: &UnderEdit) -> Result<New<'_>> {
        self.new_by(under_edit, true)
    }
}

/// The date, time or decimal of a number and a scale.
#[inline(never)]
fn extended_of(kind: u32, number: i64, scale: u32) -> Result<Extended> {
    let value = match kind {
        kind::DATE => i32::try_from(number).ok().and_then(Date::from_days).map(Extended::Date),
        kind::TIME => Time::from_microseconds(number).map(Extended::Time),
        kind::DATE_TIME => DateTime::from_microseconds(number).map(Extended::DateTime),
        kind::TIMESTAMP => Timestamp::from_microseconds(number).map(Extended::Timestamp),
        _ => return decimal(number.into(), scale),
    };
    value.ok_or(livebuf_error::of(livebuf_code::LIVEBUF_BAD_VALUE))
}

fn decimal(coefficient: i128, scale: u32) -> Result<Extended> {
    let made = u8::try_from(scale).ok().and_then(|scale| Decimal::new(coefficient, scale));
    made.map(Extended::Decimal).ok_or(livebuf_error::of(livebuf_code::LIVEBUF_BAD_VALUE))
}

/// The decimal or UUID of these bytes, or the value of this text.
#[inline(never)]
fn extended_in(kind: u32, bytes: &[u8]) -> Result<Extended> {
    let bad = livebuf_error::of(livebuf_code::LIVEBUF_BAD_VALUE);
    if kind == kind::EXTENDED {
        return parse(text_in(bytes)?);
    }
    if kind == kind::UUID {
        let id = bytes.try_into().map_err(|_| bad)?;
        return Ok(Extended::Uuid(Uuid::from_bytes(id)));
    }
    // A `livebuf_decimal`, which may be a copy that is not aligned.
    let number =
        |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    if bytes.len() != size_of::<livebuf_decimal>() {
        return Err(bad);
    }
    let scale = bytes[offset_of!(livebuf_decimal, scale)..].first_chunk();
    let (low, high) =
        (number(offset_of!(livebuf_decimal, low)), number(offset_of!(livebuf_decimal, high)));
    let coefficient = i128::from(high as i64) << 64 | i128::from(low);
    decimal(coefficient, scale.map_or(0, |scale| u32::from_ne_bytes(*scale)))
}

/// The document that an edit changes: where it lies, so that nothing is read from there.
pub(crate) struct UnderEdit {
    doc: *const livebuf_doc,
    start: *const u8,
    capacity: usize,
}

impl UnderEdit {
    /// No document is.
    pub(crate) const NONE: UnderEdit =
        UnderEdit { doc: ptr::null(), start: ptr::null(), capacity: 0 };

    /// What is written lies in this memory.
    #[inline]
    pub(crate) fn memory(start: *const u8, capacity: usize) -> Self {
        UnderEdit { doc: ptr::null(), start, capacity }
    }

    #[inline]
    pub(crate) fn of(doc: *const livebuf_doc, editor: &Editor<Memory>) -> Self {
        let &Memory { pointer, capacity, .. } = editor.storage();
        UnderEdit { doc, start: pointer, capacity }
    }

    /// Whether some of these bytes are its own.
    #[inline]
    pub(crate) fn has(&self, pointer: *const u8, length: usize) -> bool {
        overlap((self.start, self.capacity), (pointer, length))
    }

    /// A value of another document.
    pub(crate) fn other<'d>(&self, value: &'d In<livebuf_value>) -> Result<Value<'d>> {
        self.other_value(value.get()?)
    }

    /// The same of a value that C passed by itself.
    pub(crate) fn other_value<'d>(&self, value: &'d livebuf_value) -> Result<Value<'d>> {
        // It would be read while it is written.
        let own = livebuf_error::of(livebuf_code::LIVEBUF_OVERLAP);
        if !value.doc.is_null() && value.doc.address() == self.doc {
            return Err(own);
        }
        let view = value.view()?;
        match value.doc.option() {
            Some(other) if self.has(other.bytes, other.length) => Err(own),
            _ => Ok(view),
        }
    }
}

type Field<'a> = (&'a str, New<'a>);

/// A call of the editor's that stores a value.
trait Store {
    fn store<'v>(
        &self,
        editor: &mut Editor<Memory>,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeId>>;
}

macro_rules! stores {
    ($($name:ident($($place:ident: $type:ty),*), $editor:ident, $new:ident => $call:expr;)+) => {
        $(
            struct $name($($type),*);

            impl Store for $name {
                #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
                fn store<'v>(
                    &self,
                    $editor: &mut Editor<Memory>,
                    $new: impl Into<New<'v>>,
                ) -> Result<Option<NodeId>> {
                    let &$name($($place),*) = self;
                    Ok($call?)
                }
            }
        )+
    };
}
stores! {
    SetRoot(), editor, new => editor.set_root(new);
    SetPointer(pointer: Array<c_char>, length: usize), editor, new =>
        editor.set_pointer(key_text(&pointer, length)?, new);
    SetText(node: livebuf_node, key: Array<c_char>, length: usize), editor, new => {
        let key = key_text(&key, length)?;
        within(editor, node, New::object, move |editor, id| editor.set_in_general(id, key, new))
    };
    Push(node: livebuf_node), editor, new =>
        within(editor, node, New::array, move |editor, id| editor.push(id, new));
    Insert(node: livebuf_node, index: usize), editor, new =>
        within(editor, node, New::array, move |editor, id| editor.insert(id, index, new));
}

/// Stores in the container of a place. In a document that was just begun the root is null: it
/// becomes what `empty` makes, with room for a few. If nothing is stored there, it is null again.
#[inline]
fn within(
    editor: &mut Editor<Memory>,
    node: livebuf_node,
    empty: fn(usize) -> New<'static>,
    store: impl FnOnce(&mut Editor<Memory>, NodeId) -> livebuf::Result<Option<NodeId>>,
) -> Result<Option<NodeId>> {
    let (id, begun) = place_of(editor, node, empty)?;
    let stored = store(editor, id);
    if begun && stored.is_err() {
        end_root(editor);
    }
    Ok(stored?)
}

/// The handle of a place, and whether its container was made for it.
#[cfg_attr(feature = "small", inline(never))]
#[cfg_attr(not(feature = "small"), inline)]
fn place_of(
    editor: &mut Editor<Memory>,
    node: livebuf_node,
    empty: fn(usize) -> New<'static>,
) -> Result<(NodeId, bool)> {
    match node.id(editor) {
        Ok(id) => Ok((id, false)),
        Err(error) => Ok((begin_root(editor, error, empty)?, true)),
    }
}

/// Makes a container of a root that is null.
#[cold]
#[inline(never)]
fn begin_root(
    editor: &mut Editor<Memory>,
    error: livebuf_error,
    empty: fn(usize) -> New<'static>,
) -> Result<NodeId> {
    match editor.root().is_null() {
        true => editor.set_root(empty(4))?.ok_or(error),
        false => Err(error),
    }
}

/// Takes it back.
#[cold]
#[inline(never)]
fn end_root(editor: &mut Editor<Memory>) {
    // Null needs no room, so it cannot fail.
    let _ = editor.set_root(New::Null);
}

struct Set<C>(livebuf_node, C);

impl<C: Child> Store for Set<C> {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn store<'v>(
        &self,
        editor: &mut Editor<Memory>,
        new: impl Into<New<'v>>,
    ) -> Result<Option<NodeId>> {
        let &Set(node, at) = self;
        // An index finds nothing in an object.
        within(editor, node, New::object, move |editor, id| editor.set(id, at, new))
    }
}

/// Stores what has no place of its own.
#[inline]
fn store_scalar<'v, V: Into<New<'v>>>(
    doc: InOut<livebuf_doc>,
    store: impl Store,
    value: impl FnOnce() -> Result<V>,
) -> livebuf_status {
    edit(doc, move |editor| store.store(editor, value()?).map(|_| ()))
}

/// Stores a new value as the core takes it. Numbers and text go there as such: an enum that is
/// put together here and taken apart there stalls the processor for longer than storing an
/// integer takes. Where size counts, they do not get code of their own.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
fn store(
    doc: InOut<livebuf_doc>,
    new: &livebuf_new,
    child: Out<livebuf_node>,
    store: impl Store,
) -> livebuf_status {
    let (at, length) = (doc.address(), new.length as usize);
    let status = match new.kind {
        kind::INT if cfg!(feature = "std") => {
            store_scalar(doc, store, move || Ok(new.word() as i64))
        }
        kind::FLOAT if cfg!(feature = "std") => {
            store_scalar(doc, store, move || Ok(f64::from_bits(new.word())))
        }
        kind::STRING if cfg!(feature = "std") => {
            store_scalar(doc, store, move || text_in(storable(new.array(), length)?))
        }
        kind::OBJECT if cfg!(feature = "std") => {
            return store_container(doc, child, move |editor| {
                store.store(editor, New::object(length))
            });
        }
        kind::FIELDS if cfg!(feature = "std") => {
            return store_container(doc, child, move |editor| {
                let (under_edit, mut places) = (UnderEdit::of(at, editor), places());
                store.store(editor, New::Fields(fields_of(&under_edit, new, &mut places)?))
            });
        }
        _ => {
            return store_container(doc, child, move |editor| {
                #[cfg(feature = "small")]
                link_tables(editor);
                let (under_edit, mut answer) = (UnderEdit::of(at, editor), None);
                with_new(&under_edit, new, &mut |new| {
                    answer = store.store(editor, new)?;
                    Ok(())
                })?;
                Ok(answer)
            });
        }
    };
    child.put(NONE);
    status
}

/// Stores what may have a place.
#[inline]
fn store_container(
    doc: InOut<livebuf_doc>,
    child: Out<livebuf_node>,
    store: impl FnOnce(&mut Editor<Memory>) -> Result<Option<NodeId>>,
) -> livebuf_status {
    let mut place = NONE;
    let status = edit(doc, |editor| {
        if let Some(id) = store(editor)? {
            place = livebuf_node::good(id);
        }
        Ok(())
    });
    child.put(place);
    status
}

/// Hands over a new value as the core takes it.
#[inline(never)]
pub(crate) fn with_new(
    under_edit: &UnderEdit,
    new: &livebuf_new,
    then: &mut dyn FnMut(New<'_>) -> Result<()>,
) -> Result<()> {
    if new.kind == kind::FIELDS {
        return then(New::Fields(fields_of(under_edit, new, &mut places())?));
    }
    then(new.convert(under_edit)?)
}

/// Memory for the fields of one object.
type Places<'a> = [MaybeUninit<Field<'a>>; MAX_FIELDS];

fn places<'a>() -> Places<'a> {
    [const { MaybeUninit::uninit() }; MAX_FIELDS]
}

#[inline(never)]
fn fields_of<'a>(
    under_edit: &UnderEdit,
    new: &'a livebuf_new,
    places: &'a mut Places<'a>,
) -> Result<&'a [Field<'a>]> {
    let count = new.length as usize;
    if count > MAX_FIELDS {
        return Err(livebuf_error {
            detail: MAX_FIELDS as u64,
            ..livebuf_error::of(livebuf_code::LIVEBUF_ELEMENT_LIMIT)
        });
    }
    let fields: &[livebuf_field] = new.array().slice(count)?;
    for (place, field) in places.iter_mut().zip(fields) {
        let key = text_in(outside(under_edit, &field.key, field.key_length)?)?;
        match field.value.kind {
            kind::TENSOR => place.write((key, field.value.tensor(under_edit)?)),
            _ => place.write((key, field.value.part(under_edit)?)),
        };
    }
    // SAFETY: the first `count` were written, one for each field.
    Ok(unsafe { slice::from_raw_parts(places.as_ptr().cast(), count) })
}

/// Text or bytes that do not lie in the document under edit.
#[inline]
pub(crate) fn outside<'a>(
    under_edit: &UnderEdit,
    text: &'a Array<c_char>,
    length: usize,
) -> Result<&'a [u8]> {
    if under_edit.has(text.address().cast(), length) {
        return Err(livebuf_error::of(livebuf_code::LIVEBUF_OVERLAP));
    }
    storable(text, length)
}

/// Text or bytes that the format can hold: a longer length is not looked at.
#[inline]
fn storable(text: &Array<c_char>, length: usize) -> Result<&[u8]> {
    if length > MAX_SPAN as usize {
        return Err(livebuf_error {
            detail: MAX_SPAN.into(),
            ..livebuf_error::of(livebuf_code::LIVEBUF_STRING_LIMIT)
        });
    }
    text.bytes(length)
}

/// A key as the core takes it; it does not lie in the document under edit.
#[inline]
fn key_text(key: &Array<c_char>, length: usize) -> Result<&str> {
    text_in(storable(key.some()?, length)?)
}

/// Sets a child that the core can name.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
fn set_child(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    at: impl Child,
    new: &livebuf_new,
    child: Out<livebuf_node>,
) -> livebuf_status {
    apart!(doc, new, set_child(doc, node, at, &new, child));
    store(doc, new, child, Set(node, at))
}

// --- handles --------------------------------------------------------------------------

/// The place of the root; LIVEBUF_ROOT stands for it in every call.
///
/// Memory: none. NULL, and where the root is no object or array: a place that is stale.
/// Errors: none. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_root_node(doc: In<livebuf_doc>) -> livebuf_node {
    livebuf_node::of(doc.option().and_then(|doc| doc.editor().ok()?.root_id()))
}

/// The place of the object or array at a JSON pointer of `length` bytes.
///
/// Memory: none. NULL: a place that is stale. Errors: the same (livebuf_node_exists).
/// Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_find_n(
    doc: In<livebuf_doc>,
    pointer: Array<c_char>,
    length: usize,
) -> livebuf_node {
    let find = || -> Result<Option<NodeId>> {
        let (doc, pointer) = (doc.get()?, pointer.text(length)?);
        Ok(doc.editor()?.find(pointer)?)
    };
    livebuf_node::of(find().unwrap_or(None))
}

/// The place of an object or array that was got as a value of this document, as a child of
/// the place `parent`.
///
/// Memory: none. NULL: a place that is stale. Errors: the same, for scalars, values that are
/// stale, of other documents or no child of `parent`. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_node_of(
    doc: In<livebuf_doc>,
    value: livebuf_value,
    parent: livebuf_node,
) -> livebuf_node {
    let find = || -> Result<Option<NodeId>> {
        let (known, view) = (doc.get()?, value.view()?);
        if value.doc.address() != doc.address() {
            return Err(NULL);
        }
        let editor = known.editor()?;
        Ok(editor.handle_of(&view, parent.id(editor)?))
    };
    livebuf_node::of(find().unwrap_or(None))
}

/// A place as a value, to be read.
///
/// Memory: borrows the document. NULL: a value that is not there. Errors: in the value,
/// LIVEBUF_STALE_HANDLE among them. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_node_value(doc: In<livebuf_doc>, node: livebuf_node) -> livebuf_value {
    let find = || {
        let known = doc.get()?;
        let editor = known.editor()?;
        let value = editor.value(node.id(editor)?)?;
        Ok(livebuf_value::of(doc, known.generation, &value))
    };
    find().unwrap_or_else(livebuf_value::missing)
}

/// Whether a place is good in this document.
///
/// Memory: none. NULL: false. Errors: false. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_node_is_current(doc: In<livebuf_doc>, node: livebuf_node) -> bool {
    let editor = doc.option().and_then(|doc| doc.editor().ok());
    editor.is_some_and(|editor| node.id(editor).is_ok_and(|id| editor.is_current(id)))
}

/// The place of the object or array under a key of `length` bytes.
///
/// Memory: none. NULL: a place that is stale. Errors: the same. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_child_n(
    doc: In<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    length: usize,
) -> livebuf_node {
    match key.text(length) {
        Ok(key) => child_of(doc, node, key),
        Err(_) => NONE,
    }
}

/// The place of the object or array at an index of an array.
///
/// Memory: none. NULL: a place that is stale. Errors: the same. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_child_at(
    doc: In<livebuf_doc>,
    node: livebuf_node,
    index: usize,
) -> livebuf_node {
    child_of(doc, node, index)
}

fn child_of(doc: In<livebuf_doc>, node: livebuf_node, at: impl Child) -> livebuf_node {
    let find = || -> Result<Option<NodeId>> {
        let editor = doc.get()?.editor()?;
        Ok(editor.child(node.id(editor)?, at)?)
    };
    livebuf_node::of(find().unwrap_or(None))
}

// --- setting --------------------------------------------------------------------------

/// Replaces the whole document's value. `*child` becomes the place of a new object or array.
///
/// Memory: copies what `value` refers to. NULL: `doc` LIVEBUF_NULL_ARGUMENT; `child` if it is
/// not wanted. Errors: LIVEBUF_NO_SPACE, limits, text that is not UTF-8; the document is
/// unchanged then. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_root(
    #[cfg_attr(feature = "small", allow(unused_mut))] mut doc: InOut<livebuf_doc>,
    value: livebuf_new,
    child: Out<livebuf_node>,
) -> livebuf_status {
    apart!(doc, value, livebuf_set_root(doc, value, child));
    #[cfg(not(feature = "small"))]
    if value.kind == kind::FIELDS && set_message(&mut doc, &value, child)
        || value.kind == kind::OBJECT && begin_object(&mut doc, value.length, child)
    {
        return OK;
    }
    store(doc, &value, child, SetRoot())
}

/// Sets the member with this key of `length` bytes, adding it where it is missing. A root that is
/// null, as after livebuf_init, becomes an object.
///
/// Memory: copies key and value. NULL: `doc`, `key` LIVEBUF_NULL_ARGUMENT; `child` if the
/// place of a new object or array is not wanted. Errors: LIVEBUF_STALE_HANDLE,
/// LIVEBUF_WRONG_TYPE, LIVEBUF_NO_SPACE, limits, text that is not UTF-8, and
/// LIVEBUF_TENSOR_MISMATCH where a tensor cannot hold the value; the document
/// is unchanged then. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_n(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    length: usize,
    value: livebuf_new,
    child: Out<livebuf_node>,
) -> livebuf_status {
    apart!(doc, key, length, livebuf_set_n(doc, node, key, length, value, child));
    apart!(doc, value, livebuf_set_n(doc, node, key, length, value, child));
    // These have code of their own.
    let status = match value.kind {
        kind::INT => livebuf_set_i64_n(doc, node, key, length, value.word() as i64),
        kind::FLOAT => livebuf_set_f64_n(doc, node, key, length, f64::from_bits(value.word())),
        kind::STRING => {
            livebuf_set_str_n(doc, node, key, length, *value.array(), value.length as usize)
        }
        _ => return store(doc, &value, child, SetText(node, key, length)),
    };
    child.put(NONE);
    status
}

/// Sets the member with this key of `length` bytes to an integer: livebuf_set_n, faster.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_i64_n(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    length: usize,
    value: i64,
) -> livebuf_status {
    apart!(doc, key, length, livebuf_set_i64_n(doc, node, key, length, value));
    set_number(doc, SetText(node, key, length), (kind::INT, value as u64), value)
}

/// Sets the member with this key of `length` bytes to a double: livebuf_set_n, faster.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_f64_n(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    length: usize,
    value: f64,
) -> livebuf_status {
    apart!(doc, key, length, livebuf_set_f64_n(doc, node, key, length, value));
    set_number(doc, SetText(node, key, length), (kind::FLOAT, value.to_bits()), value)
}

/// Sets the member with this key of `length` bytes to text of `text_length` bytes:
/// livebuf_set_n, faster.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_str_n(
    #[cfg_attr(feature = "small", allow(unused_mut))] mut doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    length: usize,
    text: Array<c_char>,
    text_length: usize,
) -> livebuf_status {
    apart!(doc, key, length, livebuf_set_str_n(doc, node, key, length, text, text_length));
    apart!(doc, text, text_length, livebuf_set_str_n(doc, node, key, length, text, text_length));
    #[cfg(feature = "small")]
    {
        // NULL is no text of no bytes.
        let bytes = u32::try_from(text_length).unwrap_or(u32::MAX).max(text.is_null().into());
        let payload = livebuf_payload { pointer: text.address().cast() };
        set_in_general(doc, node, key, length, kind::STRING, payload, bytes)
    }
    #[cfg(not(feature = "small"))]
    {
        let value = text.some().and_then(|text| storable(text, text_length)).map(Simple::text);
        match value.is_ok_and(|value| set_shortly(&mut doc, node, key, length, value)) {
            true => OK,
            false => set_in_general(doc, node, key, length, || key_text(&text, text_length)),
        }
    }
}

/// Sets a member to a number, which is also given as kind and word.
#[inline]
fn set_number<'v>(
    #[cfg_attr(feature = "small", allow(unused_mut))] mut doc: InOut<livebuf_doc>,
    SetText(node, key, length): SetText,
    (kind, word): (u32, u64),
    value: impl Into<New<'v>>,
) -> livebuf_status {
    #[cfg(feature = "small")]
    {
        let (_, payload) = (value, livebuf_payload { u64: word });
        set_in_general(doc, node, key, length, kind, payload, 0)
    }
    #[cfg(not(feature = "small"))]
    {
        let tag = if kind == kind::INT { TAG_INT } else { TAG_FLOAT };
        match set_shortly(&mut doc, node, key, length, Simple::cell(tag, word)) {
            true => OK,
            false => set_in_general(doc, node, key, length, || Ok(value)),
        }
    }
}

/// The general way of livebuf_set_i64_n and its kin: where size counts, that of all new values.
#[cfg(feature = "small")]
#[inline(never)]
fn set_in_general(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    key_length: usize,
    kind: u32,
    payload: livebuf_payload,
    length: u32,
) -> livebuf_status {
    let new = livebuf_new { payload, length, kind };
    store(doc, &new, Out::NULL, SetText(node, key, key_length))
}

/// The general way of livebuf_set_i64_n and its kin.
#[cfg(not(feature = "small"))]
#[inline(never)]
fn set_in_general<'v, V: Into<New<'v>>>(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    length: usize,
    value: impl FnOnce() -> Result<V>,
) -> livebuf_status {
    store_scalar(doc, SetText(node, key, length), value)
}

/// Sets a member by [`Editor::set_shortly`]: what most edits of messages are, in few instructions.
/// False where that does not do, or anything is wrong; nothing has changed then. The key does not
/// lie in the document under edit.
#[cfg(not(feature = "small"))]
#[cfg_attr(not(debug_assertions), inline(always))]
fn set_shortly(
    doc: &mut InOut<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    length: usize,
    value: Simple<'_>,
) -> bool {
    let Some(doc) = doc.option_mut() else { return false };
    if key.is_null() || length > MAX_SHAPE_KEY {
        return false;
    }
    let (Ok(editor), Ok(key)) = (doc.editor_mut(), key.bytes(length)) else { return false };
    let set = editor.set_shortly(node.handle(), key, &value);
    if set {
        doc.renew();
    }
    set
}

/// Makes the root an empty object by [`Editor::begin_root`], as [`set_shortly`] sets members.
#[cfg(not(feature = "small"))]
#[inline]
fn begin_object(doc: &mut InOut<livebuf_doc>, members: u32, child: Out<livebuf_node>) -> bool {
    let Some(doc) = doc.option_mut() else { return false };
    let (Ok(editor), Ok(members)) = (doc.editor_mut(), u8::try_from(members)) else { return false };
    let Some(id) = editor.begin_root(members) else { return false };
    doc.renew();
    child.put(livebuf_node::good(id));
    true
}

/// Sets the root to an object of numbers and texts by [`Editor::set_root_message`], as
/// [`set_shortly`] does members. The value is of livebuf_fields.
#[cfg(not(feature = "small"))]
#[inline(never)]
fn set_message(doc: &mut InOut<livebuf_doc>, new: &livebuf_new, child: Out<livebuf_node>) -> bool {
    let Some(doc) = doc.option_mut() else { return false };
    let (count, memory) = (new.length as usize, (doc.bytes, doc.capacity));
    if count > MAX_FIELDS {
        return false;
    }
    let fields = new.array::<livebuf_field>();
    let Ok(fields) = fields.some().and_then(|fields| fields.slice(count)) else { return false };
    fn text(memory: (*const u8, usize), text: &Array<c_char>, length: usize) -> Option<&[u8]> {
        let is_given = !text.is_null() && length <= MAX_SPAN as usize;
        let is_apart = is_given && !overlap(memory, (text.address().cast(), length));
        if is_apart { text.bytes(length).ok() } else { None }
    }
    let key = |at: usize| fields.get(at).and_then(|one| text(memory, &one.key, one.key_length));
    let value = |at: usize| {
        let value = &fields.get(at)?.value;
        match value.kind {
            kind::INT => Some(Simple::cell(TAG_INT, value.word())),
            kind::FLOAT => Some(Simple::cell(TAG_FLOAT, value.word())),
            kind::STRING => text(memory, value.array(), value.length as usize).map(Simple::text),
            kind::BOOL => Some(Simple::cell(TAG_FALSE + u8::from(value.word() != 0), 0)),
            kind::NULL => Some(Simple::cell(TAG_NULL, 0)),
            _ => None,
        }
    };
    let Ok(editor) = doc.editor_mut() else { return false };
    let Some(id) = editor.set_root_message(count, false, key, value) else { return false };
    doc.renew();
    child.put(livebuf_node::good(id));
    true
}

/// Sets the member with a remembered key, adding it where it is missing.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n; a key that was not made is
/// LIVEBUF_NULL_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_key(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: In<livebuf_key>,
    value: livebuf_new,
    child: Out<livebuf_node>,
) -> livebuf_status {
    match key.get().and_then(livebuf_key::made) {
        Ok(key) => set_child(doc, node, key, &value, child),
        Err(error) => error.status,
    }
}

/// Replaces the element at an index of an array.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n; LIVEBUF_INDEX_OUT_OF_RANGE from the
/// array's length on.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_at(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    index: usize,
    value: livebuf_new,
    child: Out<livebuf_node>,
) -> livebuf_status {
    set_child(doc, node, index, &value, child)
}

/// Sets the value at a JSON pointer of `length` bytes. What holds it must be there; the last
/// token names a member (added where it is missing), an element, or "-" behind the last.
///
/// Memory, NULL, Threads: as livebuf_set_n. Errors: those, LIVEBUF_NOT_FOUND,
/// LIVEBUF_BAD_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_pointer_n(
    doc: InOut<livebuf_doc>,
    pointer: Array<c_char>,
    length: usize,
    value: livebuf_new,
    child: Out<livebuf_node>,
) -> livebuf_status {
    apart!(doc, pointer, length, livebuf_set_pointer_n(doc, pointer, length, value, child));
    apart!(doc, value, livebuf_set_pointer_n(doc, pointer, length, value, child));
    store(doc, &value, child, SetPointer(pointer, length))
}

/// Adds an element at the end of an array. A root that is null, as after livebuf_init, becomes
/// an array.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_push(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    value: livebuf_new,
    child: Out<livebuf_node>,
) -> livebuf_status {
    apart!(doc, value, livebuf_push(doc, node, value, child));
    store(doc, &value, child, Push(node))
}

/// Adds an element before the one at an index of an array, or at the end; to a root that is null
/// as livebuf_push.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n; LIVEBUF_INDEX_OUT_OF_RANGE beyond the end.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_insert(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    index: usize,
    value: livebuf_new,
    child: Out<livebuf_node>,
) -> livebuf_status {
    apart!(doc, value, livebuf_insert(doc, node, index, value, child));
    store(doc, &value, child, Insert(node, index))
}

// --- taking out -----------------------------------------------------------------------

/// An edit of the container at a place.
fn edit_at(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    work: impl FnOnce(&mut Editor<Memory>, NodeId) -> Result<()>,
) -> livebuf_status {
    edit(doc, |editor| {
        let id = node.id(editor)?;
        work(editor, id)
    })
}

fn was_there(removed: bool) -> Result<()> {
    match removed {
        true => Ok(()),
        false => Err(livebuf_error::of(livebuf_code::LIVEBUF_NOT_FOUND)),
    }
}

fn remove(doc: InOut<livebuf_doc>, node: livebuf_node, at: impl Child) -> livebuf_status {
    edit_at(doc, node, |editor, id| was_there(editor.remove(id, at)?))
}

/// Takes the member with this key of `length` bytes out; what it held is free and wiped.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND,
/// LIVEBUF_STALE_HANDLE, LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads:
/// an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_remove_n(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: Array<c_char>,
    length: usize,
) -> livebuf_status {
    apart!(doc, key, length, livebuf_remove_n(doc, node, key, length));
    edit_at(doc, node, |editor, id| was_there(editor.remove(id, key_text(&key, length)?)?))
}

/// Takes the member with a remembered key out.
///
/// Memory, NULL, Errors, Threads: as livebuf_remove_n.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_remove_key(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    key: In<livebuf_key>,
) -> livebuf_status {
    match key.get().and_then(livebuf_key::made) {
        Ok(key) => remove(doc, node, key),
        Err(error) => error.status,
    }
}

/// Takes the element at an index of an array out; those behind it move up.
///
/// Memory, NULL, Errors, Threads: as livebuf_remove_n.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_remove_at(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    index: usize,
) -> livebuf_status {
    remove(doc, node, index)
}

/// Takes the value at a JSON pointer of `length` bytes out.
///
/// Memory, NULL, Errors, Threads: as livebuf_remove_n; LIVEBUF_BAD_POINTER; LIVEBUF_UNSUPPORTED for
/// the root, since a document always has a value: set it to null.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_remove_pointer_n(
    doc: InOut<livebuf_doc>,
    pointer: Array<c_char>,
    length: usize,
) -> livebuf_status {
    apart!(doc, pointer, length, livebuf_remove_pointer_n(doc, pointer, length));
    edit(doc, |editor| was_there(editor.remove_pointer(key_text(&pointer, length)?)?))
}

/// Takes all members or elements out; the container stays, empty.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_STALE_HANDLE,
/// LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_clear(doc: InOut<livebuf_doc>, node: livebuf_node) -> livebuf_status {
    edit_at(doc, node, |editor, id| Ok(editor.clear(id)?))
}

/// Takes the elements of an array from `length` on out; their room is kept.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_STALE_HANDLE,
/// LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_truncate(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    length: usize,
) -> livebuf_status {
    edit_at(doc, node, |editor, id| Ok(editor.truncate(id, length)?))
}

/// Exchanges two elements of an array.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_INDEX_OUT_OF_RANGE,
/// LIVEBUF_STALE_HANDLE, LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads:
/// an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_swap(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    first: usize,
    second: usize,
) -> livebuf_status {
    edit_at(doc, node, |editor, id| Ok(editor.swap(id, first, second)?))
}

/// Gives a member another key, in its place.
///
/// Memory: copies the new key. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND,
/// LIVEBUF_KEY_EXISTS, LIVEBUF_STALE_HANDLE, LIVEBUF_NO_SPACE, limits. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_rename_n(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    from: Array<c_char>,
    from_length: usize,
    to: Array<c_char>,
    to_length: usize,
) -> livebuf_status {
    apart!(doc, from, from_length, livebuf_rename_n(doc, node, from, from_length, to, to_length));
    apart!(doc, to, to_length, livebuf_rename_n(doc, node, from, from_length, to, to_length));
    edit_at(doc, node, |editor, id| {
        Ok(editor.rename(id, key_text(&from, from_length)?, key_text(&to, to_length)?)?)
    })
}

/// Makes room for `additional` members or elements, so that adding them takes no more space
/// beside their keys and text. The room is part of the document, so this makes it longer; for
/// memory that a document grows into, see livebuf_create_with_capacity.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE (the root of a new
/// document is null, which has no members), LIVEBUF_STALE_HANDLE, LIVEBUF_TENSOR_MISMATCH,
/// LIVEBUF_NO_SPACE, limits. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_reserve(
    doc: InOut<livebuf_doc>,
    node: livebuf_node,
    additional: usize,
) -> livebuf_status {
    edit_at(doc, node, |editor, id| Ok(editor.reserve(id, additional)?))
}

/// Gives an object the index that answers for the order of its keys, and keeps it up from then on:
/// livebuf_range and livebuf_prefix then begin in O(log n). Without it they look at all members of
/// a large object, and sort them in memory that the thread keeps meanwhile. Small objects need
/// none. It takes some 4 to 9 bytes for each member.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE,
/// LIVEBUF_STALE_HANDLE, LIVEBUF_NO_SPACE, limits. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_order(doc: InOut<livebuf_doc>, node: livebuf_node) -> livebuf_status {
    edit_at(doc, node, |editor, id| Ok(editor.order(id)?))
}
