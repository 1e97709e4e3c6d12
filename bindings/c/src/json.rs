//! JSON text in and out. Other than the buffer API it takes memory from the system for its
//! own work, also where the result goes to memory of the caller's.

use core::ffi::c_char;
use std::io;

use livebuf::{DocBuf, DuplicateKeys, Editor, Value};
use livebuf_json::{
    ErrorKind, NonFinite, NumberPolicy, PrintOptions, ReadOptions, Surrogates, default_max_bytes,
    from_slice_with, to_vec_with, to_writer,
};

use crate::args::{Array, Buffer, In, Out, Terminated};
use crate::context::{from_io, hand_out, livebuf_allocator, made, path_of, replace_file};
use crate::document::{Memory, guard, livebuf_doc, livebuf_limits, place_editor};
use crate::read::livebuf_value;
use crate::status::{OK, Result, livebuf_code, livebuf_error, livebuf_status};
use crate::text::Text;

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
    pub limits: In<livebuf_limits>,
}

const DEFAULT: livebuf_json_options = livebuf_json_options {
    flags: 0,
    indent: 0,
    max_bytes: 0,
    min_width: 0,
    reserved: 0,
    limits: In::NULL,
};

impl livebuf_json_options {
    fn given(options: In<livebuf_json_options>) -> Self {
        options.option().copied().unwrap_or(DEFAULT)
    }

    fn read(&self) -> ReadOptions {
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
        match self.limits.option() {
            Some(limits) => options.limits(limits.limits()),
            None => options,
        }
    }

    fn print(&self, doc: In<livebuf_doc>) -> PrintOptions {
        let mut options = PrintOptions::new();
        if self.indent > 0 {
            options = options.indent(&" ".repeat(self.indent.min(64) as usize));
        }
        if self.flags & LIVEBUF_JSON_NON_FINITE_NULL != 0 {
            options = options.non_finite(NonFinite::Null);
        }
        options.max_bytes(match (self.max_bytes, doc.option()) {
            (0, Some(doc)) => default_max_bytes(doc.length, doc.is_trusted()),
            (0, None) => default_max_bytes(0, false),
            (given, _) => given,
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

fn read(text: Array<c_char>, length: usize, options: In<livebuf_json_options>) -> Result<DocBuf> {
    parse(text.some()?.bytes(length)?, options)
}

fn read_file(path: Terminated<c_char>, options: In<livebuf_json_options>) -> Result<DocBuf> {
    parse(&std::fs::read(path_of(path)?).map_err(from_io)?, options)
}

fn parse(text: &[u8], options: In<livebuf_json_options>) -> Result<DocBuf> {
    let options = livebuf_json_options::given(options).read();
    guard(|| from_slice_with(text, &options).map_err(|error| from_json(&error)))
}

/// A document that is made in C's memory.
fn made_into(
    doc: Out<livebuf_doc>,
    buffer: Buffer<u8>,
    capacity: usize,
    make: impl FnOnce() -> Result<DocBuf>,
) -> livebuf_status {
    let make = || -> Result<Editor<Memory>> {
        let memory = Memory::fixed(buffer, capacity)?;
        Ok(make()?.copy_to(memory)?)
    };
    place_editor(doc, make())
}

/// A document that manages its memory, made from JSON text (RFC 8259, strictly; a byte order mark
/// is passed over).
///
/// Memory: livebuf_destroy frees what it returns; the text is not needed afterwards. NULL:
/// `options` for the defaults, `allocator` for the system's, `error` if it is not wanted;
/// `text` LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_JSON_SYNTAX and its kin with line,
/// column and offset in the text; limits. Threads: as livebuf_create.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_from_json(
    text: Array<c_char>,
    length: usize,
    options: In<livebuf_json_options>,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    made(read(text, length, options), allocator, error)
}

/// The same in the caller's memory, to be edited there.
///
/// Memory: as livebuf_init; takes memory from the system while it runs. NULL: `options` for
/// the defaults; others LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_from_json, in `doc->error`;
/// LIVEBUF_NO_SPACE with the missing bytes. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_from_json_into(
    doc: Out<livebuf_doc>,
    buffer: Buffer<u8>,
    capacity: usize,
    text: Array<c_char>,
    length: usize,
    options: In<livebuf_json_options>,
) -> livebuf_status {
    made_into(doc, buffer, capacity, || read(text, length, options))
}

/// A document that manages its memory, made from a file with JSON text.
///
/// Memory: livebuf_destroy frees what it returns; `path` ends with NUL. NULL: as
/// livebuf_from_json; `path` LIVEBUF_NULL_ARGUMENT. Errors: NULL: as livebuf_from_json;
/// LIVEBUF_IO with the system's number. Threads: as livebuf_create.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_from_json_file(
    path: Terminated<c_char>,
    options: In<livebuf_json_options>,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    made(read_file(path, options), allocator, error)
}

/// The same in the caller's memory, to be edited there.
///
/// Memory: as livebuf_init; takes memory from the system while it runs; `path` ends with NUL.
/// NULL: as livebuf_from_json_into. Errors: as livebuf_from_json_into, and LIVEBUF_IO with the
/// system's number. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_from_json_file_into(
    doc: Out<livebuf_doc>,
    buffer: Buffer<u8>,
    capacity: usize,
    path: Terminated<c_char>,
    options: In<livebuf_json_options>,
) -> livebuf_status {
    made_into(doc, buffer, capacity, || read_file(path, options))
}

impl io::Write for Text<'_> {
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
pub extern "C" fn livebuf_to_json(
    value: livebuf_value,
    options: In<livebuf_json_options>,
    mut text: Buffer<c_char>,
    capacity: usize,
    length: Out<usize>,
) -> livebuf_status {
    let mut sink = Text::new(&mut text, capacity);
    let mut print = || {
        let (view, options) = to_print(&value, options)?;
        guard(|| print_to(view, &mut sink, &options))?;
        match sink.is_cut() {
            true => Err(livebuf_error::of(livebuf_code::LIVEBUF_NO_SPACE)),
            false => Ok(()),
        }
    };
    let status = print().err().map_or(OK, |error| error.status);
    length.put(sink.length);
    if status == OK {
        sink.end_if_room();
    }
    status
}

/// What is printed, and how.
fn to_print(
    value: &livebuf_value,
    options: In<livebuf_json_options>,
) -> Result<(Value<'_>, PrintOptions)> {
    Ok((value.view()?, livebuf_json_options::given(options).print(value.doc)))
}

fn printed(view: Value<'_>, options: &PrintOptions) -> Result<Vec<u8>> {
    to_vec_with(view, options).map_err(|error| from_json(&error))
}

fn print_to(view: Value<'_>, sink: &mut Text<'_>, options: &PrintOptions) -> Result<()> {
    to_writer(sink, view, options).map_err(|error| from_json(&error))
}

/// Prints a value as JSON to new memory; a NUL follows its `*length` bytes.
///
/// Memory: livebuf_free with the same allocator and `*length + 1` frees it. NULL: `options`
/// for the defaults, `allocator` for the system's, `error` if it is not wanted; `length`:
/// NULL. Errors: NULL: as livebuf_to_json, LIVEBUF_IO. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_to_json_new(
    value: livebuf_value,
    options: In<livebuf_json_options>,
    allocator: In<livebuf_allocator>,
    length: Out<usize>,
    error: Out<livebuf_error>,
) -> *mut c_char {
    let print = || {
        let (view, options) = to_print(&value, options)?;
        let (allocator, length) = (livebuf_allocator::given(allocator)?, length.some()?);
        let mut text = guard(|| printed(view, &options))?;
        length.put(text.len());
        text.push(0);
        Ok(allocator.copy(&text)?)
    };
    hand_out(print(), error).cast()
}

/// Prints a value as JSON to a new file beside the old one, and renames it. So there is always
/// the old file or the new one, whole.
///
/// Memory: takes memory from the system while it runs; `path` ends with NUL. NULL: `options`
/// for the defaults, `error` if it is not wanted; `path` LIVEBUF_NULL_ARGUMENT. Errors: as
/// livebuf_to_json, and LIVEBUF_IO with the system's number. Threads: a read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_to_json_file(
    value: livebuf_value,
    options: In<livebuf_json_options>,
    path: Terminated<c_char>,
    error: Out<livebuf_error>,
) -> livebuf_status {
    let print = || {
        let ((view, options), path) = (to_print(&value, options)?, path_of(path)?);
        guard(|| replace_file(&path, &printed(view, &options)?))
    };
    let what = print().err().unwrap_or(livebuf_error::NONE);
    error.put(what);
    what.status
}
