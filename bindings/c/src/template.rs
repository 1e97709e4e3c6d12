//! Prepared messages: templates and what is stamped from them.

use core::ffi::c_char;
use core::mem::{MaybeUninit, align_of, size_of};
use core::{ptr, slice};

use livebuf::layout::{TAG_FLOAT, TAG_INT, TAG_STRING};
use livebuf::{New, Stamped, Template};

use crate::args::{Array, Buffer, In, Out, Terminated, text_in};
use crate::document::{Memory, adopt, guard, livebuf_doc, overlap, place};
use crate::edit::{UnderEdit, kind, livebuf_new, outside, with_new};
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};

/// A prepared message: made once from an example by livebuf_template_init, then stamped by
/// livebuf_stamp with other values in its places. The caller's own variable; the fields may be
/// read at any time and written never. It may be copied.
#[repr(C)]
pub struct livebuf_template {
    /// Bytes from the beginning of its memory that the template keeps. The rest may be used for
    /// something else.
    pub size: usize,
    /// Count of places.
    pub count: usize,
    /// What livebuf_template_init said. Of a wrong place `detail` is its number, from 0.
    pub error: livebuf_error,
    /// Private.
    pub private_state: u64,
    /// Private.
    pub private_template: [MaybeUninit<u64>; 3],
}

type InMemory = Template<&'static mut [u8]>;

const _: () = assert!(size_of::<InMemory>() <= 3 * 8 && align_of::<InMemory>() <= 8);

/// In a template that was made; a number that a forgotten variable will hardly hold.
const MADE: u64 = 0x4C42_0054_4C42_0054;

/// A place's pointer, known to be UTF-8.
impl AsRef<str> for Terminated<c_char> {
    fn as_ref(&self) -> &str {
        self.bytes().and_then(text_in).unwrap_or_default()
    }
}

fn make(
    example: &livebuf_new,
    places: Result<&[Terminated<c_char>]>,
    memory: Buffer<u8>,
    capacity: usize,
) -> Result<InMemory> {
    if memory.is_null() {
        return Err(NULL);
    }
    let places = places?;
    for place in places {
        text_in(place.bytes()?)?;
    }
    let mut made = None;
    let (start, capacity) = (memory.into_raw(), capacity.min(isize::MAX as usize));
    let under_edit = UnderEdit::memory(start, capacity);
    let mut then = |new: New<'_>| {
        let half = capacity / 2;
        // SAFETY: C passes memory of this capacity, and the header asks it to keep what the template
        // uses. The halves do not overlap.
        let (front, back) = unsafe {
            let back = Memory::of(start.add(half), capacity - half, ptr::null_mut());
            (Memory::of(start, half, ptr::null_mut()), back)
        };
        // SAFETY: the core asks for the first bytes of `front`, as it left them. It has dropped both
        // halves then, and C leaves the bytes to the template.
        made = Some(unsafe {
            Template::new_between(new, places, front, back, |size| {
                slice::from_raw_parts_mut(start, size)
            })?
        });
        Ok(())
    };
    with_new(&under_edit, example, &mut then)?;
    made.ok_or(NULL)
}

/// Prepares messages like `example`: livebuf_copy of a document's root or other value,
/// livebuf_fields, or a single value. `places` are `count` JSON pointers into it, each ended by
/// NUL: what differs from message to message. In the example they must hold no object or array.
/// A stamp gives them any value but these. The example may be a document that was not
/// validated: it is read with every check.
///
/// Memory: keeps the first `prepared->size` bytes of `memory` until the template is not used
/// any more. It works in all of `memory`, which takes at least twice the example's bytes and
/// eight for each place. Places in columns of narrow numbers need more. `example` does not lie
/// in `memory`. It and `places` are not kept. `prepared` needs no clean-up. NULL:
/// LIVEBUF_NULL_ARGUMENT; `places` may be NULL if `count` is 0. Errors: LIVEBUF_NO_SPACE if
/// `memory` is too small; it needs at least `detail` bytes more. LIVEBUF_NOT_FOUND if the
/// example has no such place. LIVEBUF_WRONG_TYPE if an object or array is there.
/// LIVEBUF_KEY_EXISTS if a later place is the same. LIVEBUF_BAD_POINTER if a place is no JSON
/// pointer. LIVEBUF_TENSOR_MISMATCH if it leads into a tensor. Damage in the example and limits are errors, too. `prepared->error` has the
/// details. Threads: as a read of the example.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_template_init(
    prepared: Out<livebuf_template>,
    example: livebuf_new,
    places: Array<Terminated<c_char>>,
    count: usize,
    memory: Buffer<u8>,
    capacity: usize,
) -> livebuf_status {
    if prepared.is_null() {
        return NULL.status;
    }
    let mut made = livebuf_template {
        size: 0,
        count: 0,
        error: livebuf_error::NONE,
        private_state: 0,
        private_template: [MaybeUninit::uninit(); 3],
    };
    match guard(|| make(&example, places.slice(count), memory, capacity)) {
        Ok(template) => {
            (made.size, made.count) = (template.size(), template.places());
            made.private_state = MADE;
            // SAFETY: the words have its size and alignment, and nothing lies in them yet.
            unsafe { made.private_template.as_mut_ptr().cast::<InMemory>().write(template) };
        }
        Err(error) => made.error = error,
    }
    let status = made.error.status;
    prepared.put(made);
    status
}

impl In<livebuf_template> {
    /// The core's template.
    #[inline]
    fn made(&self) -> Result<&InMemory> {
        let template = self.get()?;
        if template.private_state != MADE {
            return Err(livebuf_error::of(livebuf_code::LIVEBUF_NOT_OPEN));
        }
        // SAFETY: `livebuf_template_init` wrote a template there together with this state.
        Ok(unsafe { &*template.private_template.as_ptr().cast() })
    }
}

/// What is stamped and where to, looked at.
#[inline]
fn given<'t>(
    template: &'t In<livebuf_template>,
    values: &'t Array<livebuf_new>,
    count: usize,
    buffer: &Buffer<u8>,
    capacity: usize,
) -> Result<(&'t InMemory, &'t [livebuf_new], UnderEdit)> {
    let template = template.made()?;
    if buffer.is_null() {
        return Err(NULL);
    }
    let values = values.slice(count)?;
    if overlap(template.memory(), (buffer.address(), capacity)) {
        return Err(livebuf_error::of(livebuf_code::LIVEBUF_OVERLAP));
    }
    Ok((template, values, UnderEdit::memory(buffer.address(), capacity)))
}

/// Stamps; the bytes of the document, or why there is none. No function: the compiler would
/// inline it into neither of its callers, which takes a fifth more time.
macro_rules! fill {
    ($template:ident, $values:ident, $count:ident, $buffer:ident, $capacity:ident) => {
        given(&$template, &$values, $count, &$buffer, $capacity).and_then(
            |(template, values, under_edit)| {
                let buffer = $buffer.bytes($capacity.min(isize::MAX as usize))?;
                template.fill_with(buffer, $count, |index| match values.get(index) {
                    Some(value) => stamped(value, &under_edit),
                    None => Err(NULL),
                })
            },
        )
    };
}

/// A value as the core stamps it. The most frequent kinds by themselves: an enum that is put
/// together here and taken apart there costs more than storing it.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
fn stamped<'v>(value: &'v livebuf_new, under_edit: &UnderEdit) -> Result<Stamped<'v>> {
    match value.kind {
        kind::INT => Ok(Stamped::Cell(TAG_INT, value.word())),
        kind::FLOAT => Ok(Stamped::Cell(TAG_FLOAT, value.word())),
        kind::STRING => {
            let text = text_in(outside(under_edit, value.array(), value.length as usize)?)?;
            Ok(Stamped::Span(TAG_STRING, text.as_bytes()))
        }
        _ => rest(value, under_edit),
    }
}

#[inline(never)]
fn rest<'v>(value: &'v livebuf_new, under_edit: &UnderEdit) -> Result<Stamped<'v>> {
    Ok(Stamped::of(&value.part(under_edit)?)?)
}

/// Stamps a document into the caller's memory, with a value for each place in their order: a
/// copy of the example and a few stores. `*length` becomes the document's length; send, store
/// or open that many bytes of `buffer`. The document is valid. Equal to the same edits of the
/// example, it may have other bytes.
///
/// Memory: writes at most `capacity` bytes to `buffer`, which is neither the template's memory
/// nor text of the values; nothing is kept. NULL: LIVEBUF_NULL_ARGUMENT; `values` if `count` is
/// 0. Errors: LIVEBUF_NO_SPACE; LIVEBUF_INDEX_OUT_OF_RANGE where `count` is not that of the
/// places; LIVEBUF_UNSUPPORTED for objects and arrays; LIVEBUF_BAD_TEXT, LIVEBUF_BAD_NUMBER,
/// LIVEBUF_BAD_VALUE; LIVEBUF_OVERLAP; what is damaged in values that are copied; limits;
/// LIVEBUF_NOT_OPEN. Then `*length` is 0, but for LIVEBUF_NO_SPACE the bytes that the document
/// takes, and `buffer` begins with no document.
/// Threads: any number may stamp from one template at once.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_stamp(
    prepared: In<livebuf_template>,
    values: Array<livebuf_new>,
    count: usize,
    mut buffer: Buffer<u8>,
    capacity: usize,
    length: Out<usize>,
) -> livebuf_status {
    if length.is_null() {
        return NULL.status;
    }
    let (used, status) = match fill!(prepared, values, count, buffer, capacity) {
        Ok(used) => (used, OK),
        Err(error) => {
            (failed(&error, prepared, values, count, &mut buffer, capacity), error.status)
        }
    };
    length.put(used);
    status
}

/// Leaves no document in the buffer. Returns the bytes of one that did not fit.
#[cold]
fn failed(
    error: &livebuf_error,
    template: In<livebuf_template>,
    values: Array<livebuf_new>,
    count: usize,
    buffer: &mut Buffer<u8>,
    capacity: usize,
) -> usize {
    let (template, mut length) = (template.made(), 0);
    if let (Ok(template), Ok(values)) = (template, values.slice(count))
        && error.status == livebuf_code::LIVEBUF_NO_SPACE as livebuf_status
    {
        let under_edit = UnderEdit::memory(buffer.address(), capacity);
        length = template.stamped_length(&[]);
        for value in values {
            // A value that is wrong adds nothing.
            let value = stamped(value, &under_edit);
            length = length.saturating_add(value.map_or(0, |value| value.length_behind()));
        }
    }
    let memory = (buffer.address(), capacity);
    // What lies in the template's memory is the template's.
    if !template.is_ok_and(|template| overlap(template.memory(), memory)) {
        for byte in buffer.room(capacity.min(livebuf::layout::MAGIC.len())) {
            byte.write(0);
        }
    }
    length
}

/// The same, and opens the document to be read and edited. It counts as written by this
/// library: livebuf_is_trusted.
///
/// Memory: as livebuf_init and livebuf_stamp. NULL: as livebuf_stamp. Errors: as livebuf_stamp,
/// in `doc->error`; the document is not open then. Threads: as livebuf_stamp, and an edit of
/// `doc`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_stamp_doc(
    prepared: In<livebuf_template>,
    values: Array<livebuf_new>,
    count: usize,
    doc: Out<livebuf_doc>,
    mut buffer: Buffer<u8>,
    capacity: usize,
) -> livebuf_status {
    match (fill!(prepared, values, count, buffer, capacity), doc.place()) {
        (Ok(_), None) => NULL.status,
        (Ok(used), Some(place)) => {
            let Ok(memory) = Memory::fixed(buffer, capacity) else { return NULL.status };
            // SAFETY: what a template stamps is valid, and has no features.
            let _editor = unsafe { adopt(place, memory, used) };
            #[cfg(feature = "small")]
            _editor.link_tables();
            OK
        }
        (Err(error), _) => {
            failed(&error, prepared, values, count, &mut buffer, capacity);
            place(doc, Err(error))
        }
    }
}
