//! JSON text in and out. Other than the buffer API it takes memory from the system for its
//! own work, also where the result goes to memory of the caller's.

use core::ffi::c_char;
use core::ptr;
use std::io;

use livebuf::{DocBuf, DuplicateKeys, Editor, Value};
use livebuf_json::{
    ErrorKind, NonFinite, NumberPolicy, PrintOptions, ReadOptions, Surrogates, default_max_bytes,
    from_slice_with, to_vec_with, to_writer,
};

use crate::context::{from_io, hand_out, livebuf_allocator, made, path_of, replace_file};
use crate::document::{
    Memory, bytes_of, guard, livebuf_doc, livebuf_is_trusted, livebuf_limits, place_editor,
};
use crate::read::livebuf_value;
use crate::status::{NULL, OK, Result, Text, livebuf_code, livebuf_error, livebuf_status};

/// Every number keeps its text, so that printing gives back each literal as it was.
pub const LIVEBUF_JSON_TEXT_NUMBERS: u32 = 1;
/// Equal keys in one object are an error; else the last wins, at the place of the first.
pub const LIVEBUF_JSON_REFUSE_DUPLICATE_KEYS: u32 = 2;
/// Arrays of similar objects do not become columns.
pub const LIVEBUF_JSON_NO_TABLES: u32 = 4;
/// Infinities and NaN are printed as null; else they are an error.
pub const LIVEBUF_JSON_NON_FINITE_NULL: u32 = 8;
/// Reading: text that is a date, a date and time, a timestamp or a UUID becomes such a value;
/// else it stays text. Printed again, a timestamp is in UTC, and a UUID in lower case.
pub const LIVEBUF_JSON_RECOGNIZE: u32 = 16;
/// Reading: escapes that are half of a surrogate pair become U+FFFD; else they are an error.
pub const LIVEBUF_JSON_REPLACE_SURROGATES: u32 = 32;

/// How JSON is read and printed; zeroed it is the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct livebuf_json_options {
    /// LIVEBUF_JSON_*
    pub flags: u32,
    /// Printing: spaces of each level; 0 for all on one line.
    pub indent: u32,
    /// Printing: most bytes. 0: 2,048 for each byte of the document, or 16,384 if it is trusted
    /// (livebuf_is_trusted); only much white space makes sound documents longer.
    pub max_bytes: u64,
    /// Reading: fewest bytes of a number in a column, 1, 2, 4 or 8; 0 stands for 1.
    pub min_width: u32,
    /// Zero.
    pub reserved: u32,
    /// Reading: limits of the document; NULL for the usual ones.
    pub limits: *const livebuf_limits,
}

const DEFAULT: livebuf_json_options = livebuf_json_options {
    flags: 0,
    indent: 0,
    max_bytes: 0,
    min_width: 0,
    reserved: 0,
    limits: ptr::null(),
};

impl livebuf_json_options {
    /// # Safety
    /// `options` is NULL or good for reading, and so are its limits.
    unsafe fn given(options: *const livebuf_json_options) -> Self {
        // SAFETY: the caller's word.
        unsafe { options.as_ref() }.copied().unwrap_or(DEFAULT)
    }

    /// # Safety
    /// The limits are NULL or good for reading.
    unsafe fn read(&self) -> ReadOptions {
        let mut options = ReadOptions::new().tables(self.flags & LIVEBUF_JSON_NO_TABLES == 0);
        if self.flags & LIVEBUF_JSON_TEXT_NUMBERS != 0 {
            options = options.numbers(NumberPolicy::AllText);
        }
        if self.flags & LIVEBUF_JSON_REFUSE_DUPLICATE_KEYS != 0 {
            options = options.duplicate_keys(DuplicateKeys::Error);
        }
        if self.flags & LIVEBUF_JSON_RECOGNIZE != 0 {
            options = options.recognize(true);
        }
        if self.flags & LIVEBUF_JSON_REPLACE_SURROGATES != 0 {
            options = options.surrogates(Surrogates::Replace);
        }
        if let width @ (1 | 2 | 4 | 8) = self.min_width {
            options = options.min_width(width as u8);
        }
        // SAFETY: the caller's word.
        match unsafe { self.limits.as_ref() } {
            Some(limits) => options.limits(limits.limits()),
            None => options,
        }
    }

    /// # Safety
    /// `doc` is NULL or a document.
    unsafe fn print(&self, doc: *const livebuf_doc) -> PrintOptions {
        let mut options = PrintOptions::new();
        if self.indent > 0 {
            options = options.indent(&" ".repeat(self.indent.min(64) as usize));
        }
        if self.flags & LIVEBUF_JSON_NON_FINITE_NULL != 0 {
            options = options.non_finite(NonFinite::Null);
        }
        // SAFETY: the caller's word.
        let (trusted, doc) = unsafe { (livebuf_is_trusted(doc), doc.as_ref()) };
        options.max_bytes(match self.max_bytes {
            0 => default_max_bytes(doc.map_or(0, |doc| doc.length), trusted),
            given => given,
        })
    }
}

#[cold]
pub(crate) fn from_json(error: &livebuf_json::Error) -> livebuf_error {
    use livebuf_code::*;
    let code = match error.kind() {
        ErrorKind::Syntax => LIVEBUF_JSON_SYNTAX,
        ErrorKind::UnexpectedEnd => LIVEBUF_JSON_END,
        ErrorKind::InvalidUtf8 => LIVEBUF_BAD_TEXT,
        ErrorKind::DuplicateKey => LIVEBUF_DUPLICATE_KEY,
        ErrorKind::NestingLimit => LIVEBUF_NESTING_LIMIT,
        ErrorKind::NotFinite => LIVEBUF_JSON_NOT_FINITE,
        ErrorKind::OutputLimit => LIVEBUF_JSON_OUTPUT_LIMIT,
        ErrorKind::Io => LIVEBUF_IO,
        _ => LIVEBUF_INTERNAL,
    };
    let core = error.core_error().map(livebuf_error::from);
    // What the core says is as much or more, but for the place.
    let known = core.unwrap_or(livebuf_error::of(code));
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    match error.position() {
        Some(position) => livebuf_error {
            line: small(position.line),
            column: small(position.column),
            offset: position.offset,
            ..known
        },
        None => known,
    }
}

/// # Safety
/// `text` is NULL or good for `length` bytes, `options` NULL or good for reading.
unsafe fn read(
    text: *const c_char,
    length: usize,
    options: *const livebuf_json_options,
) -> Result<DocBuf> {
    if text.is_null() {
        return Err(NULL);
    }
    // SAFETY: the caller's word.
    let (text, options) =
        unsafe { (bytes_of(text.cast(), length)?, livebuf_json_options::given(options).read()) };
    guard(|| from_slice_with(text, &options).map_err(|error| from_json(&error)))
}

/// A document that manages its memory, made from JSON text (RFC 8259, strictly; a byte order mark
/// is passed over).
///
/// Memory: livebuf_destroy frees what it returns; the text is not needed afterwards. NULL:
/// `options` for the defaults, `allocator` for the system's, `error` if it is not wanted;
/// `text` LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_JSON_SYNTAX and its kin with line,
/// column and offset in the text; limits. Threads: as livebuf_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_from_json(
    text: *const c_char,
    length: usize,
    options: *const livebuf_json_options,
    allocator: *const livebuf_allocator,
    error: *mut livebuf_error,
) -> *mut livebuf_doc {
    // SAFETY: the caller's word.
    unsafe { made(read(text, length, options), allocator, error) }
}

/// The same in the caller's memory, to be edited there.
///
/// Memory: as livebuf_init; takes memory from the system while it runs. NULL: `options` for
/// the defaults; others LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_from_json, in `doc->error`;
/// LIVEBUF_NO_SPACE with the missing bytes. Threads: an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_from_json_into(
    doc: *mut livebuf_doc,
    buffer: *mut u8,
    capacity: usize,
    text: *const c_char,
    length: usize,
    options: *const livebuf_json_options,
) -> livebuf_status {
    let make = || -> Result<Editor<Memory>> {
        if buffer.is_null() {
            return Err(NULL);
        }
        // SAFETY: the caller's word.
        let document = unsafe { read(text, length, options) }?;
        Ok(document.copy_to(Memory::fixed(buffer, capacity))?)
    };
    // SAFETY: the caller's word.
    unsafe { place_editor(doc, make()) }
}

/// # Safety
/// `path` is NULL or ends with NUL, `options` is NULL or good for reading.
unsafe fn read_file(path: *const c_char, options: *const livebuf_json_options) -> Result<DocBuf> {
    // SAFETY: the caller's word.
    let text = std::fs::read(unsafe { path_of(path) }?).map_err(from_io)?;
    // SAFETY: the caller's word.
    unsafe { read(text.as_ptr().cast(), text.len(), options) }
}

/// A document that manages its memory, made from a file with JSON text.
///
/// Memory: livebuf_destroy frees what it returns; `path` ends with NUL. NULL: as
/// livebuf_from_json; `path` LIVEBUF_NULL_ARGUMENT. Errors: NULL: as livebuf_from_json;
/// LIVEBUF_IO with the system's number. Threads: as livebuf_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_from_json_file(
    path: *const c_char,
    options: *const livebuf_json_options,
    allocator: *const livebuf_allocator,
    error: *mut livebuf_error,
) -> *mut livebuf_doc {
    // SAFETY: the caller's word.
    unsafe { made(read_file(path, options), allocator, error) }
}

/// The same in the caller's memory, to be edited there.
///
/// Memory: as livebuf_init; takes memory from the system while it runs; `path` ends with NUL.
/// NULL: as livebuf_from_json_into. Errors: as livebuf_from_json_into, and LIVEBUF_IO with the
/// system's number. Threads: an edit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_from_json_file_into(
    doc: *mut livebuf_doc,
    buffer: *mut u8,
    capacity: usize,
    path: *const c_char,
    options: *const livebuf_json_options,
) -> livebuf_status {
    let make = || -> Result<Editor<Memory>> {
        if buffer.is_null() {
            return Err(NULL);
        }
        // SAFETY: the caller's word.
        let document = unsafe { read_file(path, options) }?;
        Ok(document.copy_to(Memory::fixed(buffer, capacity))?)
    };
    // SAFETY: the caller's word.
    unsafe { place_editor(doc, make()) }
}

impl io::Write for Text {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.add(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints a value as JSON to memory of the caller's. `*length` becomes the text's length,
/// also where it does not fit. A NUL follows the text if there is room.
///
/// Memory: writes at most `capacity` bytes to `text`; takes memory from the system while it
/// runs. NULL: `options` for the defaults; `length` if it is not wanted; `text` if `capacity`
/// is 0, to ask for the length. Errors: LIVEBUF_NO_SPACE, LIVEBUF_JSON_NOT_FINITE, what is
/// damaged; the value's own status. Threads: a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_to_json(
    value: livebuf_value,
    options: *const livebuf_json_options,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> livebuf_status {
    // SAFETY: the caller's word.
    let mut sink = unsafe { Text::new(text, capacity) };
    let mut print = || {
        // SAFETY: the caller's word.
        let (view, options) =
            unsafe { (value.view()?, livebuf_json_options::given(options).print(value.doc)) };
        guard(|| print_to(view, &mut sink, &options))?;
        if sink.length < sink.capacity {
            // SAFETY: within the capacity.
            unsafe { text.add(sink.length).write(0) };
        }
        match sink.length > sink.capacity {
            true => Err(livebuf_error::of(livebuf_code::LIVEBUF_NO_SPACE)),
            false => Ok(()),
        }
    };
    let status = print().err().map_or(OK, |error| error.status);
    // SAFETY: the caller's word.
    if let Some(length) = unsafe { length.as_mut() } {
        *length = sink.length;
    }
    status
}

fn print_to(view: Value<'_>, sink: &mut Text, options: &PrintOptions) -> Result<()> {
    to_writer(sink, view, options).map_err(|error| from_json(&error))
}

/// Prints a value as JSON to new memory; a NUL follows its `*length` bytes.
///
/// Memory: livebuf_free with the same allocator and `*length + 1` frees it. NULL: `options`
/// for the defaults, `allocator` for the system's, `error` if it is not wanted; `length`:
/// NULL. Errors: NULL: as livebuf_to_json, LIVEBUF_IO. Threads: a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_to_json_new(
    value: livebuf_value,
    options: *const livebuf_json_options,
    allocator: *const livebuf_allocator,
    length: *mut usize,
    error: *mut livebuf_error,
) -> *mut c_char {
    let print = || {
        // SAFETY: the caller's word.
        let (view, options, allocator, length) = unsafe {
            (
                value.view()?,
                livebuf_json_options::given(options).print(value.doc),
                livebuf_allocator::given(allocator)?,
                length.as_mut().ok_or(NULL)?,
            )
        };
        let mut text = guard(|| to_vec_with(view, &options).map_err(|error| from_json(&error)))?;
        *length = text.len();
        text.push(0);
        Ok(allocator.copy(&text)?)
    };
    // SAFETY: the caller's word.
    unsafe { hand_out(print(), error) }.cast()
}

/// Prints a value as JSON to a new file beside the old one, and renames it. So there is always
/// the old file or the new one, whole.
///
/// Memory: takes memory from the system while it runs; `path` ends with NUL. NULL: `options`
/// for the defaults, `error` if it is not wanted; `path` LIVEBUF_NULL_ARGUMENT. Errors: as
/// livebuf_to_json, and LIVEBUF_IO with the system's number. Threads: a read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn livebuf_to_json_file(
    value: livebuf_value,
    options: *const livebuf_json_options,
    path: *const c_char,
    error: *mut livebuf_error,
) -> livebuf_status {
    let print = || {
        // SAFETY: the caller's word.
        let (view, options, path) = unsafe {
            (value.view()?, livebuf_json_options::given(options).print(value.doc), path_of(path)?)
        };
        guard(|| {
            let text = to_vec_with(view, &options).map_err(|error| from_json(&error))?;
            replace_file(&path, &text)
        })
    };
    let what = print().err().unwrap_or(livebuf_error::NONE);
    // SAFETY: the caller's word.
    if let Some(error) = unsafe { error.as_mut() } {
        *error = what;
    }
    what.status
}
