//! Prepared messages: templates and what is stamped from them.

use core::ffi::{CStr, c_char};
use core::mem::{MaybeUninit, align_of, size_of};
use core::slice;

use livebuf::layout::{TAG_FLOAT, TAG_INT, TAG_STRING};
use livebuf::{New, Stamped, Template};

use crate::document::{Memory, adopt, bytes_of_mut, guard, livebuf_doc, overlap, place};
use crate::edit::{UnderEdit, kind, livebuf_new, outside, with_new};
use crate::read::text_in;
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

/// A place's pointer, NUL-terminated and known to be UTF-8.
#[repr(transparent)]
struct Place(*const c_char);

impl Place {
    /// # Safety
    /// The pointer is good for NUL-terminated text.
    unsafe fn text(&self) -> Result<&str> {
        // SAFETY: the caller's word.
        text_in(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }
}

impl AsRef<str> for Place {
    fn as_ref(&self) -> &str {
        // SAFETY: looked at before it is given to the core.
        unsafe { self.text() }.unwrap_or_default()
    }
}

/// # Safety
/// As [`livebuf_template_init`].
unsafe fn make(
    example: &livebuf_new,
    places: *const *const c_char,
    count: usize,
    memory: *mut u8,
    capacity: usize,
) -> Result<InMemory> {
    if memory.is_null() || (places.is_null() && count > 0) {
        return Err(NULL);
    }
    let places: &[Place] = match count {
        0 => &[],
        // SAFETY: the caller's word; a place is a pointer.
        _ => unsafe { slice::from_raw_parts(places.cast(), count) },
    };
    for place in places {
        if place.0.is_null() {
            return Err(NULL);
        }
        // SAFETY: the caller's word.
        unsafe { place.text() }?;
    }
    let mut made = None;
    let capacity = capacity.min(isize::MAX as usize);
    let under_edit = UnderEdit::memory(memory, capacity);
    let mut then = |new: New<'_>| {
        let half = capacity / 2;
        let front = Memory::fixed(memory, half);
        // SAFETY: within the capacity.
        let back = Memory::fixed(unsafe { memory.add(half) }, capacity - half);
        // SAFETY: the caller's word; what was written at the beginning stays.
        made = Some(unsafe {
            Template::new_between(new, places, front, back, |size| {
                slice::from_raw_parts_mut(memory, size)
            })?
        });
        Ok(())
    };
    // SAFETY: the caller's word.
    unsafe { with_new(&under_edit, example, &mut then) }?;
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
pub unsafe extern "C" fn livebuf_template_init(
    prepared: *mut livebuf_template,
    example: livebuf_new,
    places: *const *const c_char,
    count: usize,
    memory: *mut u8,
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
    // SAFETY: the caller's word.
    match guard(|| unsafe { make(&example, places, count, memory, capacity) }) {
        Ok(template) => {
            (made.size, made.count) = (template.size(), template.places());
            made.private_state = MADE;
            // SAFETY: the words have its size and alignment, and nothing lies in them yet.
            unsafe { made.private_template.as_mut_ptr().cast::<InMemory>().write(template) };
        }
        Err(error) => made.error = error,
    }
    let status = made.error.status;
    // SAFETY: the caller's word; what it holds is not looked at.
    unsafe { prepared.write(made) };
    status
}

/// The template that C gives.
///
/// # Safety
/// `template` is NULL or good for reading.
#[inline]
unsafe fn given<'t>(template: *const livebuf_template) -> Result<&'t InMemory> {
    // SAFETY: the caller's word.
    let Some(template) = (unsafe { template.as_ref() }) else { return Err(NULL) };
    if template.private_state != MADE {
        return Err(livebuf_error::of(livebuf_code::LIVEBUF_NOT_OPEN));
    }
    // SAFETY: in this state it lies there.
    Ok(unsafe { &*template.private_template.as_ptr().cast() })
}

/// What is stamped and where to, looked at.
///
/// # Safety
/// As [`livebuf_stamp`].
#[inline]
unsafe fn given_all<'t>(
    template: *const livebuf_template,
    values: *const livebuf_new,
    count: usize,
    buffer: *mut u8,
    capacity: usize,
) -> Result<(&'t InMemory, &'t [livebuf_new], UnderEdit)> {
    // SAFETY: the caller's word.
    let template = unsafe { given(template) }?;
    if buffer.is_null() || values.is_null() && count > 0 {
        return Err(NULL);
    }
    if overlap(template.memory(), (buffer, capacity)) {
        return Err(livebuf_error::of(livebuf_code::LIVEBUF_OVERLAP));
    }
    let values = match count {
        0 => &[],
        // SAFETY: the caller's word.
        _ => unsafe { slice::from_raw_parts(values, count) },
    };
    Ok((template, values, UnderEdit::memory(buffer, capacity)))
}

/// A value as the core stamps it. The most frequent kinds by themselves: an enum that is put
/// together here and taken apart there costs more than storing it.
///
/// # Safety
/// As [`livebuf_stamp`].
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
unsafe fn stamped<'v>(value: &livebuf_new, under_edit: &UnderEdit) -> Result<Stamped<'v>> {
    // SAFETY: all that a union of numbers and a pointer holds may be read as a number;
    // pointers are passed on.
    unsafe {
        match value.kind {
            kind::INT => Ok(Stamped::Cell(TAG_INT, value.payload.u64)),
            kind::FLOAT => Ok(Stamped::Cell(TAG_FLOAT, value.payload.u64)),
            kind::STRING => {
                let (pointer, length) = (value.payload.pointer.cast(), value.length as usize);
                let text = text_in(outside(under_edit, pointer, length)?)?;
                Ok(Stamped::Span(TAG_STRING, text.as_bytes()))
            }
            _ => rest(value, under_edit),
        }
    }
}

/// # Safety
/// As [`livebuf_stamp`].
#[inline(never)]
unsafe fn rest<'v>(value: &livebuf_new, under_edit: &UnderEdit) -> Result<Stamped<'v>> {
    // SAFETY: passed on.
    Ok(Stamped::of(&unsafe { value.part(under_edit) }?)?)
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
pub unsafe extern "C" fn livebuf_stamp(
    prepared: *const livebuf_template,
    values: *const livebuf_new,
    count: usize,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> livebuf_status {
    // SAFETY: the caller's word.
    let Some(length) = (unsafe { length.as_mut() }) else { return NULL.status };
    // SAFETY: the caller's word.
    let stamp = || unsafe {
        let (template, values, under_edit) = given_all(prepared, values, count, buffer, capacity)?;
        let buffer = bytes_of_mut(buffer, capacity.min(isize::MAX as usize))?;
        template.fill_with(buffer, count, |index| match values.get(index) {
            Some(value) => stamped(value, &under_edit),
            None => Err(NULL),
        })
    };
    match stamp() {
        Ok(used) => {
            *length = used;
            OK
        }
        // SAFETY: the caller's word.
        Err(error) => unsafe { failed(&error, prepared, values, count, buffer, capacity, length) },
    }
}

/// Says what a document takes that did not fit, and leaves none in the buffer.
///
/// # Safety
/// As [`livebuf_stamp`].
#[cold]
unsafe fn failed(
    error: &livebuf_error,
    template: *const livebuf_template,
    values: *const livebuf_new,
    count: usize,
    buffer: *mut u8,
    capacity: usize,
    length: &mut usize,
) -> livebuf_status {
    *length = 0;
    // SAFETY: the caller's word.
    let template = unsafe { given(template) };
    if let Ok(template) = template
        && error.status == livebuf_code::LIVEBUF_NO_SPACE as livebuf_status
    {
        let under_edit = UnderEdit::memory(buffer, capacity);
        *length = template.stamped_length(&[]);
        for index in 0..count {
            // SAFETY: the caller's word. A value that is wrong adds nothing.
            let value = unsafe { stamped(&*values.add(index), &under_edit) };
            *length = length.saturating_add(value.map_or(0, |value| value.length_behind()));
        }
    }
    let own = template.is_ok_and(|template| overlap(template.memory(), (buffer, capacity)));
    // What lies in the template's memory is the template's.
    if !buffer.is_null() && !own {
        for at in 0..capacity.min(livebuf::layout::MAGIC.len()) {
            // SAFETY: within the capacity.
            unsafe { buffer.add(at).write(0) };
        }
    }
    error.status
}

/// The same, and opens the document to be read and edited. It counts as written by this
/// library: livebuf_is_trusted.
///
/// Memory: as livebuf_init and livebuf_stamp. NULL: as livebuf_stamp. Errors: as livebuf_stamp,
/// in `doc->error`; the document is not open then. Threads: as livebuf_stamp, and an edit of
/// `doc`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_stamp_doc(
    prepared: *const livebuf_template,
    values: *const livebuf_new,
    count: usize,
    doc: *mut livebuf_doc,
    buffer: *mut u8,
    capacity: usize,
) -> livebuf_status {
    // Not shared with `livebuf_stamp`: the compiler then inlines neither, which takes a fifth more
    // time.
    // SAFETY: the caller's word.
    let stamp = || unsafe {
        let (template, values, under_edit) = given_all(prepared, values, count, buffer, capacity)?;
        let buffer = bytes_of_mut(buffer, capacity.min(isize::MAX as usize))?;
        template.fill_with(buffer, count, |index| match values.get(index) {
            Some(value) => stamped(value, &under_edit),
            None => Err(NULL),
        })
    };
    match stamp() {
        Ok(_) if doc.is_null() => NULL.status,
        // SAFETY: the caller's word; what a template stamps is valid.
        Ok(used) => unsafe {
            adopt(doc, Memory::fixed(buffer, capacity), used);
            #[cfg(feature = "small")]
            if let Ok(editor) = (*doc).editor_mut() {
                editor.link_tables();
            }
            OK
        },
        // SAFETY: the caller's word.
        Err(error) => unsafe {
            let mut length = 0;
            failed(&error, prepared, values, count, buffer, capacity, &mut length);
            place(doc, Err(error))
        },
    }
}
