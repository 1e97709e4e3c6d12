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

use crate::document::{Memory, bytes_of, edit, livebuf_doc, overlap};
use crate::read::{key_of, livebuf_decimal, livebuf_key, livebuf_value, text_in};
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
        // SAFETY: the words are those of a handle, by the documentation of `livebuf_node`.
        Ok(unsafe { NodeId::from_words([place, time]) })
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
pub unsafe extern "C" fn livebuf_copy(value: *const livebuf_value) -> livebuf_new {
    // Hidden from the compiler, which would else call the only function that is ever stored.
    #[cfg(feature = "small")]
    LINK_TABLES.store(black_box(Editor::<Memory>::link_tables as *mut ()), Ordering::Relaxed);
    livebuf_new { payload: livebuf_payload { pointer: value.cast() }, length: 0, kind: kind::COPY }
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
pub unsafe extern "C" fn livebuf_extended_n(text: *const c_char, length: usize) -> livebuf_new {
    // Hidden as in `livebuf_copy`.
    #[cfg(feature = "small")]
    PARSE.store(black_box(parse_text as *mut ()), Ordering::Relaxed);
    livebuf_new {
        payload: livebuf_payload { pointer: text.cast() },
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
    pub key: *const c_char,
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
///
/// # Safety
/// `doc` is NULL or a document.
#[inline]
unsafe fn lies_in<T>(doc: *const livebuf_doc, pointer: *const T, length: usize) -> bool {
    // SAFETY: the caller's word.
    unsafe { doc.as_ref() }
        .is_some_and(|doc| overlap((doc.bytes, doc.capacity), (pointer.cast(), length)))
}

/// Calls `edit` with a copy of text that lies in the document under edit.
///
/// # Safety
/// As [`bytes_of`]; `doc` is a document that nobody else uses now.
#[cold]
#[inline(never)]
unsafe fn put_aside(
    doc: *mut livebuf_doc,
    pointer: *const c_void,
    length: usize,
    edit: &mut dyn FnMut(*const c_void) -> livebuf_status,
) -> livebuf_status {
    // SAFETY: passed on.
    let error = match unsafe { storable(pointer.cast(), length) } {
        Ok(bytes) if length <= SMALL => {
            let mut small = [0; SMALL];
            small[..length].copy_from_slice(bytes);
            return edit(small.as_ptr().cast());
        }
        #[cfg(feature = "std")]
        Ok(bytes) => return edit(Box::<[u8]>::from(bytes).as_ptr().cast()),
        #[cfg(not(feature = "std"))]
        Ok(_) => livebuf_error {
            detail: SMALL as u64,
            ..livebuf_error::of(livebuf_code::LIVEBUF_UNSUPPORTED)
        },
        Err(error) => error,
    };
    // SAFETY: the caller's word.
    unsafe { doc.as_mut() }.map_or(NULL.status, |doc| doc.status(Err(error)))
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

    /// The integer, where it is one that fits.
    #[inline]
    pub(crate) fn integer(&self) -> Option<i64> {
        // SAFETY: all that a union of numbers and a pointer holds may be read as a number.
        let integer = unsafe { self.payload.i64 };
        let fits = self.kind == kind::INT || self.kind == kind::UINT && integer >= 0;
        fits.then_some(integer)
    }

    /// What the core stores, but a tensor. With `apart` its text must not lie in the document
    /// under edit; else it does not, by the caller's word.
    ///
    /// # Safety
    /// The pointer is good for what the kind says.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    unsafe fn new_by<'a>(&self, under_edit: &UnderEdit, apart: bool) -> Result<New<'a>> {
        let (payload, length) = (self.payload, self.length as usize);
        // SAFETY: all that a union of numbers and a pointer holds may be read as a number.
        // Only the kinds that have a pointer read it, and the caller's word is for them.
        unsafe {
            Ok(match self.kind {
                kind::NULL => New::Null,
                kind::BOOL => New::Bool(payload.i64 != 0),
                kind::INT => New::Int(payload.i64),
                kind::UINT => New::Uint(payload.u64),
                kind::FLOAT => New::Float(payload.f64),
                kind::OBJECT => New::object(length),
                kind::MAP => New::Map { capacity: self.length },
                kind::ARRAY => New::array(length),
                kind::COPY => New::Copy(under_edit.other(payload.pointer.cast())?),
                kind @ (kind::STRING
                | kind::BYTES
                | kind::NUMBER
                | kind::LARGE_DECIMAL..=kind::EXTENDED) => {
                    let bytes = match apart {
                        true => outside(under_edit, payload.pointer.cast(), length)?,
                        false => storable(payload.pointer.cast(), length)?,
                    };
                    match kind {
                        kind::STRING => New::Str(text_in(bytes)?),
                        kind::BYTES => New::Bytes(bytes),
                        kind::NUMBER => New::NumberText(text_in(bytes)?),
                        _ => New::Extended(extended_in(kind, bytes)?),
                    }
                }
                kind @ kind::DATE..=kind::DECIMAL => {
                    New::Extended(extended_of(kind, payload.i64, self.length)?)
                }
                _ => return Err(livebuf_error::of(livebuf_code::LIVEBUF_UNSUPPORTED)),
            })
        }
    }

    /// What the core stores; its text does not lie in the document under edit.
    ///
    /// # Safety
    /// As [`new_by`](Self::new_by).
    #[inline(never)]
    pub(crate) unsafe fn convert<'a>(&self, under_edit: &UnderEdit) -> Result<New<'a>> {
        // SAFETY: passed on.
        unsafe {
            match self.kind {
                kind::TENSOR => self.tensor(under_edit),
                _ => self.new_by(under_edit, false),
            }
        }
    }

    /// The tensor, which is larger than all other new values: those are made without its room.
    ///
    /// # Safety
    /// The payload is a pointer that is good for what its tensor says.
    #[inline(never)]
    unsafe fn tensor<'a>(&self, under_edit: &UnderEdit) -> Result<New<'a>> {
        // SAFETY: the caller's word.
        Ok(New::Tensor(unsafe { given_tensor(under_edit, self.payload.pointer.cast()) }?))
    }

    /// Whether it has text, or bytes, in the memory of the document under edit.
    ///
    /// # Safety
    /// `doc` is NULL or a document.
    #[inline]
    pub(crate) unsafe fn lies_in(&self, doc: *const livebuf_doc) -> bool {
        // SAFETY: all that a union of numbers and a pointer holds may be read as a pointer;
        // the caller's word.
        (matches!(self.kind, kind::STRING | kind::BYTES | kind::NUMBER)
            || matches!(self.kind, kind::LARGE_DECIMAL..=kind::EXTENDED))
            && unsafe { lies_in(doc, self.payload.pointer, self.length as usize) }
    }

    /// Calls `edit` with the same value, its text put aside.
    ///
    /// # Safety
    /// As [`put_aside`].
    #[cold]
    pub(crate) unsafe fn put_aside(
        self,
        doc: *mut livebuf_doc,
        edit: &mut dyn FnMut(livebuf_new) -> livebuf_status,
    ) -> livebuf_status {
        // SAFETY: passed on.
        unsafe {
            put_aside(doc, self.payload.pointer, self.length as usize, &mut move |pointer| {
                edit(livebuf_new { payload: livebuf_payload { pointer }, ..self })
            })
        }
    }

    /// What the core stores as a part of an object made at once, but a tensor: nothing of it may
    /// lie in the document under edit.
    ///
    /// # Safety
    /// As [`new_by`](Self::new_by).
    #[inline]
    pub(crate) unsafe fn part<'a>(&self, under_edit: &UnderEdit) -> Result<New<'a>> {
        // SAFETY: passed on.
        unsafe { self.new_by(under_edit, true) }
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
    ///
    /// # Safety
    /// `value` is NULL or a value.
    pub(crate) unsafe fn other<'d>(&self, value: *const livebuf_value) -> Result<Value<'d>> {
        // SAFETY: the caller's word.
        let value = unsafe { value.as_ref() }.ok_or(NULL)?;
        // It would be read while it is written.
        let own = livebuf_error::of(livebuf_code::LIVEBUF_OVERLAP);
        if !value.doc.is_null() && value.doc == self.doc {
            return Err(own);
        }
        // SAFETY: a document, and not the one under edit.
        let view = unsafe { value.view() }?;
        // SAFETY: as above.
        match unsafe { value.doc.as_ref() } {
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
// SAFETY (of both that take text): the caller of the exported function promised it.
stores! {
    SetRoot(), editor, new => editor.set_root(new);
    SetPointer(pointer: *const c_char, length: usize), editor, new =>
        // SAFETY: see above.
        editor.set_pointer(unsafe { key_text(pointer, length) }?, new);
    SetText(node: livebuf_node, key: *const c_char, length: usize), editor, new => {
        // SAFETY: see above.
        let key = unsafe { key_text(key, length) }?;
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
///
/// # Safety
/// As the exported functions.
#[inline]
unsafe fn store_scalar<'v, V: Into<New<'v>>>(
    doc: *mut livebuf_doc,
    store: impl Store,
    value: impl FnOnce() -> Result<V>,
) -> livebuf_status {
    let work = move |editor: &mut Editor<Memory>| store.store(editor, value()?).map(|_| ());
    // SAFETY: passed on.
    unsafe { edit(doc, work) }
}

/// Stores a new value as the core takes it. Numbers and text go there as such: an enum that is
/// put together here and taken apart there stalls the processor for longer than storing an
/// integer takes. Where size counts, they do not get code of their own.
///
/// # Safety
/// As the exported functions.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
unsafe fn store(
    doc: *mut livebuf_doc,
    new: &livebuf_new,
    child: *mut livebuf_node,
    store: impl Store,
) -> livebuf_status {
    // SAFETY: all that a union of numbers and a pointer holds may be read as a number;
    // pointers are passed on.
    unsafe {
        let (payload, length) = (new.payload, new.length as usize);
        let status = match new.kind {
            kind::INT if cfg!(feature = "std") => store_scalar(doc, store, move || Ok(payload.i64)),
            kind::FLOAT if cfg!(feature = "std") => {
                store_scalar(doc, store, move || Ok(payload.f64))
            }
            kind::STRING if cfg!(feature = "std") => {
                let text = move || text_in(storable(payload.pointer.cast(), length)?);
                store_scalar(doc, store, text)
            }
            kind::OBJECT if cfg!(feature = "std") => {
                return store_container(doc, child, move |editor| {
                    store.store(editor, New::object(length))
                });
            }
            kind::FIELDS if cfg!(feature = "std") => {
                return store_container(doc, child, move |editor| {
                    let (under_edit, mut places) = (UnderEdit::of(doc, editor), places());
                    store.store(editor, New::Fields(fields_of(&under_edit, new, &mut places)?))
                });
            }
            _ => {
                return store_container(doc, child, move |editor| {
                    #[cfg(feature = "small")]
                    link_tables(editor);
                    let (under_edit, mut answer) = (UnderEdit::of(doc, editor), None);
                    with_new(&under_edit, new, &mut |new| {
                        answer = store.store(editor, new)?;
                        Ok(())
                    })?;
                    Ok(answer)
                });
            }
        };
        no_place(child, status)
    }
}

/// Stores what may have a place.
///
/// # Safety
/// As the exported functions.
#[inline]
unsafe fn store_container(
    doc: *mut livebuf_doc,
    child: *mut livebuf_node,
    store: impl FnOnce(&mut Editor<Memory>) -> Result<Option<NodeId>>,
) -> livebuf_status {
    let mut place = NONE;
    let work = |editor: &mut Editor<Memory>| {
        if let Some(id) = store(editor)? {
            place = livebuf_node::good(id);
        }
        Ok(())
    };
    // SAFETY: passed on.
    let status = unsafe { edit(doc, work) };
    // SAFETY: the caller's word.
    if let Some(child) = unsafe { child.as_mut() } {
        *child = place;
    }
    status
}

/// # Safety
/// `child` is NULL or good for writing.
#[inline]
unsafe fn no_place(child: *mut livebuf_node, status: livebuf_status) -> livebuf_status {
    // SAFETY: the caller's word.
    if let Some(child) = unsafe { child.as_mut() } {
        *child = NONE;
    }
    status
}

/// Hands over a new value as the core takes it.
///
/// # Safety
/// The value's pointer is good for what its kind says.
#[inline(never)]
pub(crate) unsafe fn with_new(
    under_edit: &UnderEdit,
    new: &livebuf_new,
    then: &mut dyn FnMut(New<'_>) -> Result<()>,
) -> Result<()> {
    if new.kind == kind::FIELDS {
        let mut places = places();
        // SAFETY: passed on.
        let fields = unsafe { fields_of(under_edit, new, &mut places) }?;
        return then(New::Fields(fields));
    }
    // SAFETY: passed on.
    then(unsafe { new.convert(under_edit) }?)
}

/// Memory for the fields of one object.
type Places<'a> = MaybeUninit<[Field<'a>; MAX_FIELDS]>;

fn places<'a>() -> Places<'a> {
    MaybeUninit::uninit()
}

/// # Safety
/// As [`with_new`].
#[inline(never)]
unsafe fn fields_of<'a>(
    under_edit: &UnderEdit,
    new: &livebuf_new,
    places: &'a mut Places<'a>,
) -> Result<&'a [Field<'a>]> {
    let count = new.length as usize;
    if count > MAX_FIELDS {
        return Err(livebuf_error {
            detail: MAX_FIELDS as u64,
            ..livebuf_error::of(livebuf_code::LIVEBUF_ELEMENT_LIMIT)
        });
    }
    // SAFETY: the payload is a pointer in this kind, and the caller's word is for `count`.
    let fields: &[livebuf_field] = match unsafe { new.payload.pointer } {
        pointer if pointer.is_null() && count > 0 => return Err(NULL),
        _ if count == 0 => &[],
        // SAFETY: as above.
        pointer => unsafe { slice::from_raw_parts(pointer.cast(), count) },
    };
    let first = places.as_mut_ptr().cast::<Field<'a>>();
    for (index, field) in fields.iter().enumerate() {
        // SAFETY: pointers are passed on; `index` is less than the places.
        unsafe {
            let key = text_in(outside(under_edit, field.key.cast(), field.key_length)?)?;
            match field.value.kind {
                kind::TENSOR => first.add(index).write((key, field.value.tensor(under_edit)?)),
                _ => first.add(index).write((key, field.value.part(under_edit)?)),
            }
        }
    }
    // SAFETY: the first `count` were written.
    Ok(unsafe { slice::from_raw_parts(first, count) })
}

/// # Safety
/// As [`bytes_of`].
#[inline]
pub(crate) unsafe fn outside<'a>(
    under_edit: &UnderEdit,
    pointer: *const u8,
    length: usize,
) -> Result<&'a [u8]> {
    if under_edit.has(pointer, length) {
        return Err(livebuf_error::of(livebuf_code::LIVEBUF_OVERLAP));
    }
    // SAFETY: passed on.
    unsafe { storable(pointer, length) }
}

/// Text or bytes that the format can hold: a longer length is not looked at.
///
/// # Safety
/// As [`bytes_of`].
#[inline]
unsafe fn storable<'a>(pointer: *const u8, length: usize) -> Result<&'a [u8]> {
    if length > MAX_SPAN as usize {
        return Err(livebuf_error {
            detail: MAX_SPAN.into(),
            ..livebuf_error::of(livebuf_code::LIVEBUF_STRING_LIMIT)
        });
    }
    // SAFETY: passed on.
    unsafe { bytes_of(pointer, length) }
}

/// A key as the core takes it; it does not lie in the document under edit.
///
/// # Safety
/// `key` is NULL or good for `length` bytes.
#[inline]
unsafe fn key_text<'k>(key: *const c_char, length: usize) -> Result<&'k str> {
    if key.is_null() {
        return Err(NULL);
    }
    // SAFETY: passed on.
    text_in(unsafe { storable(key.cast(), length) }?)
}

/// Sets a child that the core can name.
///
/// # Safety
/// As the exported functions.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
unsafe fn set_child(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    at: impl Child,
    new: &livebuf_new,
    child: *mut livebuf_node,
) -> livebuf_status {
    // SAFETY: passed on.
    unsafe {
        if new.lies_in(doc) {
            return new.put_aside(doc, &mut move |new| set_child(doc, node, at, &new, child));
        }
    }
    // SAFETY: passed on.
    unsafe { store(doc, new, child, Set(node, at)) }
}

// --- handles --------------------------------------------------------------------------

/// The place of the root; LIVEBUF_ROOT stands for it in every call.
///
/// Memory: none. NULL, and where the root is no object or array: a place that is stale.
/// Errors: none. Threads: a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_root_node(doc: *const livebuf_doc) -> livebuf_node {
    // SAFETY: the caller's word.
    livebuf_node::of(unsafe { doc.as_ref() }.and_then(|doc| doc.editor().ok()?.root_id()))
}

/// The place of the object or array at a JSON pointer of `length` bytes.
///
/// Memory: none. NULL: a place that is stale. Errors: the same (livebuf_node_exists).
/// Threads: a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_find_n(
    doc: *const livebuf_doc,
    pointer: *const c_char,
    length: usize,
) -> livebuf_node {
    let find = || -> Result<Option<NodeId>> {
        // SAFETY: the caller's word.
        let (doc, text) = unsafe { (doc.as_ref().ok_or(NULL)?, bytes_of(pointer.cast(), length)?) };
        Ok(doc.editor()?.find(text_in(text)?)?)
    };
    livebuf_node::of(find().unwrap_or(None))
}

/// The place of an object or array that was got as a value of this document, as a child of
/// the place `parent`.
///
/// Memory: none. NULL: a place that is stale. Errors: the same, for scalars, values that are
/// stale, of other documents or no child of `parent`. Threads: a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_node_of(
    doc: *const livebuf_doc,
    value: livebuf_value,
    parent: livebuf_node,
) -> livebuf_node {
    let find = || -> Result<Option<NodeId>> {
        // SAFETY: the caller's word.
        let (known, view) = unsafe { (doc.as_ref().ok_or(NULL)?, value.view()?) };
        if value.doc != doc {
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
pub unsafe extern "C" fn livebuf_node_value(
    doc: *const livebuf_doc,
    node: livebuf_node,
) -> livebuf_value {
    let find = || {
        // SAFETY: the caller's word.
        let known = unsafe { doc.as_ref() }.ok_or(NULL)?;
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
pub unsafe extern "C" fn livebuf_node_is_current(
    doc: *const livebuf_doc,
    node: livebuf_node,
) -> bool {
    // SAFETY: the caller's word.
    let editor = unsafe { doc.as_ref() }.and_then(|doc| doc.editor().ok());
    editor.is_some_and(|editor| node.id(editor).is_ok_and(|id| editor.is_current(id)))
}

/// The place of the object or array under a key of `length` bytes.
///
/// Memory: none. NULL: a place that is stale. Errors: the same. Threads: a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_child_n(
    doc: *const livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
) -> livebuf_node {
    // SAFETY: the caller's word.
    match unsafe { bytes_of(key.cast(), length) }.and_then(text_in) {
        // SAFETY: the caller's word.
        Ok(key) => unsafe { child_of(doc, node, key) },
        Err(_) => NONE,
    }
}

/// The place of the object or array at an index of an array.
///
/// Memory: none. NULL: a place that is stale. Errors: the same. Threads: a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_child_at(
    doc: *const livebuf_doc,
    node: livebuf_node,
    index: usize,
) -> livebuf_node {
    // SAFETY: the caller's word.
    unsafe { child_of(doc, node, index) }
}

/// # Safety
/// `doc` is NULL or a document.
unsafe fn child_of(doc: *const livebuf_doc, node: livebuf_node, at: impl Child) -> livebuf_node {
    let find = || -> Result<Option<NodeId>> {
        // SAFETY: the caller's word.
        let editor = unsafe { doc.as_ref() }.ok_or(NULL)?.editor()?;
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
pub unsafe extern "C" fn livebuf_set_root(
    doc: *mut livebuf_doc,
    value: livebuf_new,
    child: *mut livebuf_node,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if value.lies_in(doc) {
            return value.put_aside(doc, &mut move |value| livebuf_set_root(doc, value, child));
        }
        #[cfg(not(feature = "small"))]
        if value.kind == kind::FIELDS && set_message(doc, &value, child)
            || value.kind == kind::OBJECT && begin_object(doc, value.length, child)
        {
            return OK;
        }
    }
    // SAFETY: the caller's word.
    unsafe { store(doc, &value, child, SetRoot()) }
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
pub unsafe extern "C" fn livebuf_set_n(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
    value: livebuf_new,
    child: *mut livebuf_node,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if lies_in(doc, key, length) {
            return put_aside(doc, key.cast(), length, &mut move |key| {
                livebuf_set_n(doc, node, key.cast(), length, value, child)
            });
        }
        if value.lies_in(doc) {
            return value.put_aside(doc, &mut move |value| {
                livebuf_set_n(doc, node, key, length, value, child)
            });
        }
    }
    // These have code of their own.
    // SAFETY: the caller's word; the payload is what the kind says.
    unsafe {
        let payload = value.payload;
        let status = match value.kind {
            kind::INT => livebuf_set_i64_n(doc, node, key, length, payload.i64),
            kind::FLOAT => livebuf_set_f64_n(doc, node, key, length, payload.f64),
            kind::STRING => {
                let (text, text_length) = (payload.pointer.cast(), value.length as usize);
                livebuf_set_str_n(doc, node, key, length, text, text_length)
            }
            _ => return store(doc, &value, child, SetText(node, key, length)),
        };
        no_place(child, status)
    }
}

/// Where size counts, numbers and text go the way of all new values.
///
/// # Safety
/// As the exported functions.
#[cfg(feature = "small")]
#[inline(never)]
unsafe fn set_text(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    key_length: usize,
    kind: u32,
    payload: livebuf_payload,
    length: u32,
) -> livebuf_status {
    let new = livebuf_new { payload, length, kind };
    // SAFETY: passed on.
    unsafe { store(doc, &new, ptr::null_mut(), SetText(node, key, key_length)) }
}

/// Sets the member with this key of `length` bytes to an integer: livebuf_set_n, faster.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_set_i64_n(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
    value: i64,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if lies_in(doc, key, length) {
            return put_aside(doc, key.cast(), length, &mut move |key| {
                livebuf_set_i64_n(doc, node, key.cast(), length, value)
            });
        }
        #[cfg(feature = "small")]
        return set_text(doc, node, key, length, kind::INT, livebuf_payload { i64: value }, 0);
        #[cfg(not(feature = "small"))]
        match set_shortly(doc, node, key, length, Simple::cell(TAG_INT, value as u64)) {
            true => OK,
            false => set_number(doc, node, key, length, value),
        }
    }
}

/// Sets the member with this key of `length` bytes to a double: livebuf_set_n, faster.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_set_f64_n(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
    value: f64,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if lies_in(doc, key, length) {
            return put_aside(doc, key.cast(), length, &mut move |key| {
                livebuf_set_f64_n(doc, node, key.cast(), length, value)
            });
        }
        #[cfg(feature = "small")]
        return set_text(doc, node, key, length, kind::FLOAT, livebuf_payload { f64: value }, 0);
        #[cfg(not(feature = "small"))]
        match set_shortly(doc, node, key, length, Simple::cell(TAG_FLOAT, value.to_bits())) {
            true => OK,
            false => set_number(doc, node, key, length, value),
        }
    }
}

/// Sets the member with this key of `length` bytes to text of `text_length` bytes:
/// livebuf_set_n, faster.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_set_str_n(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
    text: *const c_char,
    text_length: usize,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if lies_in(doc, key, length) {
            return put_aside(doc, key.cast(), length, &mut move |key| {
                livebuf_set_str_n(doc, node, key.cast(), length, text, text_length)
            });
        }
        if lies_in(doc, text, text_length) {
            return put_aside(doc, text.cast(), text_length, &mut move |text| {
                livebuf_set_str_n(doc, node, key, length, text.cast(), text_length)
            });
        }
        #[cfg(feature = "small")]
        {
            // NULL is no text of no bytes.
            let bytes = u32::try_from(text_length).unwrap_or(u32::MAX).max(text.is_null().into());
            let payload = livebuf_payload { pointer: text.cast() };
            set_text(doc, node, key, length, kind::STRING, payload, bytes)
        }
        #[cfg(not(feature = "small"))]
        {
            let set = match text.is_null() || text_length > MAX_SPAN as usize {
                true => false,
                false => {
                    let text = slice::from_raw_parts(text.cast(), text_length);
                    set_shortly(doc, node, key, length, Simple::text(text))
                }
            };
            match set {
                true => OK,
                false => set_str(doc, node, key, length, text, text_length),
            }
        }
    }
}

/// The general way of [`livebuf_set_i64_n`] and [`livebuf_set_f64_n`].
///
/// # Safety
/// As there.
#[cfg(not(feature = "small"))]
#[inline(never)]
unsafe fn set_number<'v>(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
    value: impl Into<New<'v>>,
) -> livebuf_status {
    // SAFETY: passed on.
    unsafe { store_scalar(doc, SetText(node, key, length), move || Ok(value)) }
}

/// The general way of [`livebuf_set_str_n`].
///
/// # Safety
/// As there.
#[cfg(not(feature = "small"))]
#[inline(never)]
unsafe fn set_str(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
    text: *const c_char,
    text_length: usize,
) -> livebuf_status {
    let value = move || {
        // SAFETY: the caller's word.
        unsafe { key_text(text, text_length) }
    };
    // SAFETY: passed on.
    unsafe { store_scalar(doc, SetText(node, key, length), value) }
}

/// Sets a member by [`Editor::set_shortly`]: what most edits of messages are, in few instructions.
/// False where that does not do, or anything is wrong; nothing has changed then.
///
/// # Safety
/// As the exported functions; the key does not lie in the document under edit.
#[cfg(not(feature = "small"))]
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn set_shortly(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
    value: Simple<'_>,
) -> bool {
    // SAFETY: the caller's word.
    let Some(doc) = (unsafe { doc.as_mut() }) else { return false };
    if key.is_null() || length > MAX_SHAPE_KEY {
        return false;
    }
    // SAFETY: the caller's word.
    let key: &[u8] = unsafe { slice::from_raw_parts(key.cast(), length) };
    let Ok(editor) = doc.editor_mut() else { return false };
    // SAFETY: the words are those of a handle, by the documentation of `livebuf_node`, or of none.
    let node = unsafe { NodeId::from_words([node.private_place, node.private_time]) };
    let set = editor.set_shortly(node, key, &value);
    if set {
        doc.renew();
    }
    set
}

/// Makes the root an empty object by [`Editor::begin_root`], as [`set_shortly`] sets members.
///
/// # Safety
/// As the exported functions.
#[cfg(not(feature = "small"))]
#[inline]
unsafe fn begin_object(doc: *mut livebuf_doc, members: u32, child: *mut livebuf_node) -> bool {
    // SAFETY: the caller's word.
    let Some(doc) = (unsafe { doc.as_mut() }) else { return false };
    let (Ok(editor), Ok(members)) = (doc.editor_mut(), u8::try_from(members)) else { return false };
    let Some(id) = editor.begin_root(members) else { return false };
    doc.renew();
    // SAFETY: the caller's word.
    if let Some(child) = unsafe { child.as_mut() } {
        *child = livebuf_node::good(id);
    }
    true
}

/// Sets the root to an object of numbers and texts by [`Editor::set_root_message`], as
/// [`set_shortly`] does members.
///
/// # Safety
/// As the exported functions; the value is of livebuf_fields.
#[cfg(not(feature = "small"))]
#[inline(never)]
unsafe fn set_message(doc: *mut livebuf_doc, new: &livebuf_new, child: *mut livebuf_node) -> bool {
    // SAFETY: the caller's word; the payload is a pointer in this kind.
    let (doc, first) = unsafe { (doc.as_mut(), new.payload.pointer.cast::<livebuf_field>()) };
    let Some(doc) = doc else { return false };
    let (count, memory) = (new.length as usize, (doc.bytes, doc.capacity));
    if count > MAX_FIELDS || first.is_null() {
        return false;
    }
    // SAFETY: the caller's word.
    let fields: &[livebuf_field] = unsafe { slice::from_raw_parts(first, count) };
    let text = |pointer: *const u8, length: usize| {
        let given = !pointer.is_null() && length <= MAX_SPAN as usize;
        // SAFETY: the caller's word.
        (given && !overlap(memory, (pointer, length)))
            .then(|| unsafe { slice::from_raw_parts(pointer, length) })
    };
    let key = |at: usize| fields.get(at).and_then(|one| text(one.key.cast(), one.key_length));
    let value = |at: usize| {
        let livebuf_new { payload, length, kind } = fields.get(at)?.value;
        // SAFETY: all that a union of numbers and a pointer holds may be read as a number; only
        // the kind that has a pointer reads it.
        unsafe {
            match kind {
                kind::INT => Some(Simple::cell(TAG_INT, payload.u64)),
                kind::FLOAT => Some(Simple::cell(TAG_FLOAT, payload.u64)),
                kind::STRING => text(payload.pointer.cast(), length as usize).map(Simple::text),
                kind::BOOL => Some(Simple::cell(TAG_FALSE + u8::from(payload.i64 != 0), 0)),
                kind::NULL => Some(Simple::cell(TAG_NULL, 0)),
                _ => None,
            }
        }
    };
    let Ok(editor) = doc.editor_mut() else { return false };
    let Some(id) = editor.set_root_message(count, false, key, value) else { return false };
    doc.renew();
    // SAFETY: the caller's word.
    if let Some(child) = unsafe { child.as_mut() } {
        *child = livebuf_node::good(id);
    }
    true
}

/// Sets the member with a remembered key, adding it where it is missing.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n; a key that was not made is
/// LIVEBUF_NULL_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_set_key(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const livebuf_key,
    value: livebuf_new,
    child: *mut livebuf_node,
) -> livebuf_status {
    // SAFETY: the caller's word.
    match unsafe { key_of(key) } {
        // SAFETY: the caller's word.
        Ok(key) => unsafe { set_child(doc, node, key, &value, child) },
        Err(error) => error.status,
    }
}

/// Replaces the element at an index of an array.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n; LIVEBUF_INDEX_OUT_OF_RANGE from the
/// array's length on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_set_at(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    index: usize,
    value: livebuf_new,
    child: *mut livebuf_node,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe { set_child(doc, node, index, &value, child) }
}

/// Sets the value at a JSON pointer of `length` bytes. What holds it must be there; the last
/// token names a member (added where it is missing), an element, or "-" behind the last.
///
/// Memory, NULL, Threads: as livebuf_set_n. Errors: those, LIVEBUF_NOT_FOUND,
/// LIVEBUF_BAD_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_set_pointer_n(
    doc: *mut livebuf_doc,
    pointer: *const c_char,
    length: usize,
    value: livebuf_new,
    child: *mut livebuf_node,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if lies_in(doc, pointer, length) {
            return put_aside(doc, pointer.cast(), length, &mut move |pointer| {
                livebuf_set_pointer_n(doc, pointer.cast(), length, value, child)
            });
        }
        if value.lies_in(doc) {
            return value.put_aside(doc, &mut move |value| {
                livebuf_set_pointer_n(doc, pointer, length, value, child)
            });
        }
    }
    // SAFETY: the caller's word.
    unsafe { store(doc, &value, child, SetPointer(pointer, length)) }
}

/// Adds an element at the end of an array. A root that is null, as after livebuf_init, becomes
/// an array.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_push(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    value: livebuf_new,
    child: *mut livebuf_node,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if value.lies_in(doc) {
            return value.put_aside(doc, &mut move |value| livebuf_push(doc, node, value, child));
        }
    }
    // SAFETY: the caller's word.
    unsafe { store(doc, &value, child, Push(node)) }
}

/// Adds an element before the one at an index of an array, or at the end; to a root that is null
/// as livebuf_push.
///
/// Memory, NULL, Errors, Threads: as livebuf_set_n; LIVEBUF_INDEX_OUT_OF_RANGE beyond the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_insert(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    index: usize,
    value: livebuf_new,
    child: *mut livebuf_node,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if value.lies_in(doc) {
            return value
                .put_aside(doc, &mut move |value| livebuf_insert(doc, node, index, value, child));
        }
    }
    // SAFETY: the caller's word.
    unsafe { store(doc, &value, child, Insert(node, index)) }
}

// --- taking out -----------------------------------------------------------------------

fn was_there(removed: bool) -> Result<()> {
    match removed {
        true => Ok(()),
        false => Err(livebuf_error::of(livebuf_code::LIVEBUF_NOT_FOUND)),
    }
}

/// # Safety
/// `doc` is NULL or a document that nobody else uses now.
unsafe fn remove(doc: *mut livebuf_doc, node: livebuf_node, at: impl Child) -> livebuf_status {
    let work = |editor: &mut Editor<Memory>| {
        let id = node.id(editor)?;
        was_there(editor.remove(id, at)?)
    };
    // SAFETY: passed on.
    unsafe { edit(doc, work) }
}

/// Takes the member with this key of `length` bytes out; what it held is free and wiped.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND,
/// LIVEBUF_STALE_HANDLE, LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads:
/// an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_remove_n(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const c_char,
    length: usize,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if lies_in(doc, key, length) {
            return put_aside(doc, key.cast(), length, &mut move |key| {
                livebuf_remove_n(doc, node, key.cast(), length)
            });
        }
    }
    let work = |editor: &mut Editor<Memory>| {
        let id = node.id(editor)?;
        // SAFETY: the caller's word.
        was_there(editor.remove(id, unsafe { key_text(key, length) }?)?)
    };
    // SAFETY: the caller's word.
    unsafe { edit(doc, work) }
}

/// Takes the member with a remembered key out.
///
/// Memory, NULL, Errors, Threads: as livebuf_remove_n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_remove_key(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    key: *const livebuf_key,
) -> livebuf_status {
    // SAFETY: the caller's word.
    match unsafe { key_of(key) } {
        // SAFETY: the caller's word.
        Ok(key) => unsafe { remove(doc, node, key) },
        Err(error) => error.status,
    }
}

/// Takes the element at an index of an array out; those behind it move up.
///
/// Memory, NULL, Errors, Threads: as livebuf_remove_n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_remove_at(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    index: usize,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe { remove(doc, node, index) }
}

/// Takes the value at a JSON pointer of `length` bytes out.
///
/// Memory, NULL, Errors, Threads: as livebuf_remove_n; LIVEBUF_BAD_POINTER; LIVEBUF_UNSUPPORTED for
/// the root, since a document always has a value: set it to null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_remove_pointer_n(
    doc: *mut livebuf_doc,
    pointer: *const c_char,
    length: usize,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if lies_in(doc, pointer, length) {
            return put_aside(doc, pointer.cast(), length, &mut move |pointer| {
                livebuf_remove_pointer_n(doc, pointer.cast(), length)
            });
        }
    }
    let work = |editor: &mut Editor<Memory>| {
        // SAFETY: the caller's word.
        was_there(editor.remove_pointer(unsafe { key_text(pointer, length) }?)?)
    };
    // SAFETY: the caller's word.
    unsafe { edit(doc, work) }
}

/// Takes all members or elements out; the container stays, empty.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_STALE_HANDLE,
/// LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads: an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_clear(
    doc: *mut livebuf_doc,
    node: livebuf_node,
) -> livebuf_status {
    let work = |editor: &mut Editor<Memory>| Ok(editor.clear(node.id(editor)?)?);
    // SAFETY: the caller's word.
    unsafe { edit(doc, work) }
}

/// Takes the elements of an array from `length` on out; their room is kept.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_STALE_HANDLE,
/// LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads: an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_truncate(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    length: usize,
) -> livebuf_status {
    let work = |editor: &mut Editor<Memory>| Ok(editor.truncate(node.id(editor)?, length)?);
    // SAFETY: the caller's word.
    unsafe { edit(doc, work) }
}

/// Exchanges two elements of an array.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_INDEX_OUT_OF_RANGE,
/// LIVEBUF_STALE_HANDLE, LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads:
/// an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_swap(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    first: usize,
    second: usize,
) -> livebuf_status {
    let work = |editor: &mut Editor<Memory>| Ok(editor.swap(node.id(editor)?, first, second)?);
    // SAFETY: the caller's word.
    unsafe { edit(doc, work) }
}

/// Gives a member another key, in its place.
///
/// Memory: copies the new key. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND,
/// LIVEBUF_KEY_EXISTS, LIVEBUF_STALE_HANDLE, LIVEBUF_NO_SPACE, limits. Threads: an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_rename_n(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    from: *const c_char,
    from_length: usize,
    to: *const c_char,
    to_length: usize,
) -> livebuf_status {
    // SAFETY: the caller's word.
    unsafe {
        if lies_in(doc, from, from_length) {
            return put_aside(doc, from.cast(), from_length, &mut move |from| {
                livebuf_rename_n(doc, node, from.cast(), from_length, to, to_length)
            });
        }
        if lies_in(doc, to, to_length) {
            return put_aside(doc, to.cast(), to_length, &mut move |to| {
                livebuf_rename_n(doc, node, from, from_length, to.cast(), to_length)
            });
        }
    }
    let work = |editor: &mut Editor<Memory>| {
        let id = node.id(editor)?;
        // SAFETY: the caller's word.
        let (from, to) = unsafe { (key_text(from, from_length)?, key_text(to, to_length)?) };
        Ok(editor.rename(id, from, to)?)
    };
    // SAFETY: the caller's word.
    unsafe { edit(doc, work) }
}

/// Makes room for `additional` members or elements, so that adding them takes no more space
/// beside their keys and text. The room is part of the document, so this makes it longer; for
/// memory that a document grows into, see livebuf_create_with_capacity.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE (the root of a new
/// document is null, which has no members), LIVEBUF_STALE_HANDLE, LIVEBUF_TENSOR_MISMATCH,
/// LIVEBUF_NO_SPACE, limits. Threads: an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_reserve(
    doc: *mut livebuf_doc,
    node: livebuf_node,
    additional: usize,
) -> livebuf_status {
    let work = |editor: &mut Editor<Memory>| Ok(editor.reserve(node.id(editor)?, additional)?);
    // SAFETY: the caller's word.
    unsafe { edit(doc, work) }
}

/// Gives an object the index that answers for the order of its keys, and keeps it up from then on:
/// livebuf_range and livebuf_prefix then begin in O(log n). Without it they look at all members of
/// a large object, and sort them in memory that the thread keeps meanwhile. Small objects need
/// none. It takes some 4 to 9 bytes for each member.
///
/// Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE,
/// LIVEBUF_STALE_HANDLE, LIVEBUF_NO_SPACE, limits. Threads: an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_order(
    doc: *mut livebuf_doc,
    node: livebuf_node,
) -> livebuf_status {
    let work = |editor: &mut Editor<Memory>| Ok(editor.order(node.id(editor)?)?);
    // SAFETY: the caller's word.
    unsafe { edit(doc, work) }
}
