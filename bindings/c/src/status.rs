//! Statuses and errors: the core's numbers, and a few of this interface's own.

use core::ffi::{CStr, c_char, c_int};
use core::fmt;

use livebuf::ErrorKind;

/// First number of a version: rises when programs must be changed.
pub const LIVEBUF_VERSION_MAJOR: c_int = 0;
/// Second number of a version. Before 1.0 programs may have to be changed when it rises.
pub const LIVEBUF_VERSION_MINOR: c_int = 1;
/// Third number of a version: rises when nothing but errors are mended.
pub const LIVEBUF_VERSION_PATCH: c_int = 0;

/// How a call went: LIVEBUF_OK (0) or one of enum livebuf_code.
pub type livebuf_status = c_int;

/// NUL-terminated text, checked by the compiler.
const fn terminated(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

macro_rules! statuses {
    ($function:ident, else $otherwise:ident: $($name:ident, $message:literal;)+) => {
        const fn $function(status: livebuf_status) -> &'static CStr {
            $(if status == livebuf_code::$name as livebuf_status {
                return const { terminated(concat!($message, "\0")) };
            })+
            $otherwise(status)
        }
    };
}

statuses! {
    message, else of_changes:
    LIVEBUF_OK, "no error";
    LIVEBUF_NOT_A_DOCUMENT, "not a LiveBuf document";
    LIVEBUF_UNSUPPORTED_VERSION, "the document is of another version";
    LIVEBUF_UNSUPPORTED_FEATURE, "the document uses a feature this library does not know";
    LIVEBUF_TRUNCATED, "the document is cut short";
    LIVEBUF_OUT_OF_BOUNDS, "an offset or length points outside the document";
    LIVEBUF_MISALIGNED, "an offset is not a multiple of eight";
    LIVEBUF_WRONG_BLOCK, "a block is not of the kind its reference says";
    LIVEBUF_BAD_CODE, "an undefined tag, kind or column code";
    LIVEBUF_BAD_COUNT, "a count disagrees with its block";
    LIVEBUF_BAD_TEXT, "text is not UTF-8";
    LIVEBUF_BAD_CELL, "a cell holds bits its tag does not allow";
    LIVEBUF_OVERLAP, "blocks overlap or are reached twice";
    LIVEBUF_BAD_INDEX, "a fingerprint or index disagrees with the keys";
    LIVEBUF_DUPLICATE_KEY, "a key occurs twice in one object";
    LIVEBUF_BAD_FREE_LIST, "the free list is damaged";
    LIVEBUF_NOT_ZERO, "reserved or unused bytes are not zero";
    LIVEBUF_BUDGET_EXCEEDED, "the walk went over its budget";
    LIVEBUF_NESTING_LIMIT, "containers are nested deeper than the limit";
    LIVEBUF_DOCUMENT_LIMIT, "the document would grow past its size limit";
    LIVEBUF_STRING_LIMIT, "a string is longer than the limit";
    LIVEBUF_ELEMENT_LIMIT, "a container would hold more elements than the limit";
    LIVEBUF_NO_SPACE, "the buffer is too small";
    LIVEBUF_STALE_HANDLE, "the handle is stale";
    LIVEBUF_WRONG_TYPE, "the value is of another type";
    LIVEBUF_NOT_FOUND, "no such key, index or path";
    LIVEBUF_INDEX_OUT_OF_RANGE, "the index is past the end";
    LIVEBUF_KEY_EXISTS, "the key is already there";
    LIVEBUF_READ_ONLY, "the document is read-only";
    LIVEBUF_BAD_POINTER, "malformed JSON pointer";
    LIVEBUF_BAD_NUMBER, "not a valid number";
    LIVEBUF_BAD_SEQUENCE, "the calls came in an impossible order";
    LIVEBUF_IO, "the operating system refused";
    LIVEBUF_UNSUPPORTED, "the operation does not support this value";
    LIVEBUF_SCRATCH_TOO_SMALL, "the scratch memory is too small";
    LIVEBUF_CUSTOM, "the value's serde implementation reported an error";
    LIVEBUF_NOT_VALIDATED, "the document was not validated: validate it first";
    LIVEBUF_BROKEN, "an edit ended half way: go back to a copy of the document";
    LIVEBUF_BAD_VALUE, "not a valid date, time, decimal or UUID";
    LIVEBUF_TENSOR_MISMATCH, "a tensor keeps its type and the lengths of its elements, and this does not fit them";
    LIVEBUF_JSON_SYNTAX, "the text is not JSON";
    LIVEBUF_JSON_END, "the JSON text ends inside a value, or holds none";
    LIVEBUF_JSON_NOT_FINITE, "JSON has no infinity and no NaN";
    LIVEBUF_JSON_OUTPUT_LIMIT, "the JSON text would be longer than allowed";
    LIVEBUF_NULL_ARGUMENT, "an argument is NULL that must not be";
    LIVEBUF_NOT_OPEN, "the document was not initialised or opened";
    LIVEBUF_INTERNAL, "an error of the library itself: please report it";
}

// The buffer API by itself answers none of these.
#[cfg(feature = "std")]
statuses! {
    of_changes, else unknown:
    LIVEBUF_BAD_PATCH, "not a JSON patch: an array of operations";
    LIVEBUF_TEST_FAILED, "the value is not the one that the patch expects";
    LIVEBUF_INTO_ITSELF, "a value cannot move into itself";
    LIVEBUF_BAD_QUERY, "the text is no JSONPath query";
    LIVEBUF_NOT_A_DELTA, "not a delta of LiveBuf documents";
    LIVEBUF_BAD_DELTA, "the delta is damaged or cut short";
    LIVEBUF_NO_STATE, "the document has no state: set one first";
    LIVEBUF_WRONG_STATE, "the delta begins at another state";
    LIVEBUF_WRONG_BYTES, "the document has not the bytes that the delta was made of";
    LIVEBUF_NO_DIGEST, "the delta has no digest to compare with";
    LIVEBUF_NO_OLD_BYTES, "the delta was recorded without old bytes";
}

#[cfg(not(feature = "std"))]
const fn of_changes(status: livebuf_status) -> &'static CStr {
    unknown(status)
}

const fn unknown(_status: livebuf_status) -> &'static CStr {
    c"unknown status"
}

/// The statuses. To 63 they are those of every language. Of the rest, 64 to 95 belong to JSON
/// text, patches, queries and deltas, and 96 on to this interface.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum livebuf_code {
    /// No error.
    LIVEBUF_OK = 0,
    /// The bytes do not begin with a LiveBuf header.
    LIVEBUF_NOT_A_DOCUMENT = 1,
    /// The document is of a version that this library does not read: a draft of before version 1,
    /// or newer.
    LIVEBUF_UNSUPPORTED_VERSION = 2,
    /// A flag of the "refuse" class is set that this library does not know.
    LIVEBUF_UNSUPPORTED_FEATURE = 3,
    /// Fewer bytes than the header says are used; `detail` bytes are needed.
    LIVEBUF_TRUNCATED = 4,
    /// An offset or length points outside the used bytes.
    LIVEBUF_OUT_OF_BOUNDS = 5,
    /// An offset that must be a multiple of eight is not.
    LIVEBUF_MISALIGNED = 6,
    /// A block is not of the kind its reference says.
    LIVEBUF_WRONG_BLOCK = 7,
    /// A tag, column type or other code is not one this version defines.
    LIVEBUF_BAD_CODE = 8,
    /// Counts disagree with each other or with the room there is.
    LIVEBUF_BAD_COUNT = 9,
    /// Text is not UTF-8.
    LIVEBUF_BAD_TEXT = 10,
    /// A cell holds bits its tag does not allow.
    LIVEBUF_BAD_CELL = 11,
    /// Two blocks overlap, or a block is reached twice.
    LIVEBUF_OVERLAP = 12,
    /// A fingerprint or index disagrees with the keys.
    LIVEBUF_BAD_INDEX = 13,
    /// A key occurs twice in one object.
    LIVEBUF_DUPLICATE_KEY = 14,
    /// The free list is damaged.
    LIVEBUF_BAD_FREE_LIST = 15,
    /// Bytes that must be zero are not.
    LIVEBUF_NOT_ZERO = 16,
    /// The work budget of a walk ran out; `detail` is the budget.
    LIVEBUF_BUDGET_EXCEEDED = 17,
    /// Containers are nested deeper than the limit in `detail`.
    LIVEBUF_NESTING_LIMIT = 18,
    /// The document would grow past the limit of bytes in `detail`.
    LIVEBUF_DOCUMENT_LIMIT = 19,
    /// A string or key is longer than the limit of bytes in `detail`.
    LIVEBUF_STRING_LIMIT = 20,
    /// An array or object would hold more elements than the limit in `detail`.
    LIVEBUF_ELEMENT_LIMIT = 21,
    /// A fixed buffer is full: `detail` bytes are missing.
    LIVEBUF_NO_SPACE = 22,
    /// The handle, value, iterator or column is of another state of the document, or of
    /// another document.
    LIVEBUF_STALE_HANDLE = 23,
    /// The value is not of the type the call needs.
    LIVEBUF_WRONG_TYPE = 24,
    /// No such key, index or path.
    LIVEBUF_NOT_FOUND = 25,
    /// The index is past the end; `detail` is the length.
    LIVEBUF_INDEX_OUT_OF_RANGE = 26,
    /// The key is already there.
    LIVEBUF_KEY_EXISTS = 27,
    /// The document or its storage cannot be written.
    LIVEBUF_READ_ONLY = 28,
    /// A JSON pointer (RFC 6901) is malformed.
    LIVEBUF_BAD_POINTER = 29,
    /// A number's text is not a JSON number.
    LIVEBUF_BAD_NUMBER = 30,
    /// The calls of a transaction, recorder or history came in an impossible order.
    LIVEBUF_BAD_SEQUENCE = 31,
    /// The system or an allocator refused memory or a file operation; `detail` is the
    /// system's error number, or the bytes asked for.
    LIVEBUF_IO = 32,
    /// The operation does not support this value.
    LIVEBUF_UNSUPPORTED = 33,
    /// The scratch memory given is too small: `detail` bytes are needed.
    LIVEBUF_SCRATCH_TOO_SMALL = 34,
    /// Not met from C.
    LIVEBUF_CUSTOM = 35,
    /// The edit changes columns of a document that was not validated.
    LIVEBUF_NOT_VALIDATED = 36,
    /// An edit ended half way, because memory changed that nobody else may write.
    LIVEBUF_BROKEN = 37,
    /// A number or text that is no date, time, decimal or UUID.
    LIVEBUF_BAD_VALUE = 38,
    /// A tensor keeps its type and the lengths of its elements: a value does not fit these, an edit
    /// would change the length of an array in it, or a new one is no tensor of this type and shape.
    LIVEBUF_TENSOR_MISMATCH = 39,
    /// The text is not JSON (RFC 8259); the error has line and column.
    LIVEBUF_JSON_SYNTAX = 64,
    /// The JSON text ends inside a value, or holds none.
    LIVEBUF_JSON_END = 65,
    /// JSON has no infinity and no NaN.
    LIVEBUF_JSON_NOT_FINITE = 66,
    /// The printed text would be longer than allowed.
    LIVEBUF_JSON_OUTPUT_LIMIT = 67,
    /// The value is no JSON patch (RFC 6902); the error has the operation.
    LIVEBUF_BAD_PATCH = 68,
    /// The value is another one than the `test` of a patch expects.
    LIVEBUF_TEST_FAILED = 69,
    /// A patch would move a value into itself.
    LIVEBUF_INTO_ITSELF = 70,
    /// The text is no JSONPath query (RFC 9535); the error has the column.
    LIVEBUF_BAD_QUERY = 71,
    /// The bytes do not begin as a delta does.
    LIVEBUF_NOT_A_DELTA = 72,
    /// The delta is damaged or cut short at `offset`.
    LIVEBUF_BAD_DELTA = 73,
    /// The document has no state, from which deltas lead on.
    LIVEBUF_NO_STATE = 74,
    /// The delta begins at another state. `offset` and `detail` are the first halves of the
    /// document's state and of the delta's, the first byte highest.
    LIVEBUF_WRONG_STATE = 75,
    /// The state is right, but the document has not the bytes that the delta was made of.
    LIVEBUF_WRONG_BYTES = 76,
    /// The delta has no digest to compare with.
    LIVEBUF_NO_DIGEST = 77,
    /// The delta was recorded without old bytes, so it cannot be inverted.
    LIVEBUF_NO_OLD_BYTES = 78,
    /// An argument is NULL that must not be.
    LIVEBUF_NULL_ARGUMENT = 96,
    /// The document was not initialised or opened.
    LIVEBUF_NOT_OPEN = 97,
    /// An error of the library itself, caught.
    LIVEBUF_INTERNAL = 98,
}

pub(crate) const OK: livebuf_status = livebuf_code::LIVEBUF_OK as livebuf_status;
const WRONG_STATE: livebuf_status = livebuf_code::LIVEBUF_WRONG_STATE as livebuf_status;
const BAD_DELTA: livebuf_status = livebuf_code::LIVEBUF_BAD_DELTA as livebuf_status;

/// What went wrong and where.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct livebuf_error {
    /// The status that the call returned.
    pub status: livebuf_status,
    /// Line in JSON text or a query, the first is 1; 0 for all else.
    pub line: u32,
    /// Column there in characters, the first is 1; 0 for all else.
    pub column: u32,
    /// The operation of a patch, the first is 1; 0 for all else.
    pub operation: u32,
    /// Byte offset in the document, the JSON text, the query or the delta; 0 where no place
    /// applies.
    pub offset: u64,
    /// A number that the status explains: missing bytes, a limit, a length.
    pub detail: u64,
}

const _: () = assert!(size_of::<livebuf_error>() == 32);

impl livebuf_error {
    pub(crate) const NONE: livebuf_error =
        livebuf_error { status: OK, line: 0, column: 0, operation: 0, offset: 0, detail: 0 };

    #[cold]
    pub(crate) const fn of(code: livebuf_code) -> Self {
        livebuf_error { status: code as livebuf_status, ..Self::NONE }
    }
}

#[cold]
fn from_core(error: livebuf::Error) -> livebuf_error {
    livebuf_error {
        status: error.code().into(),
        offset: error.offset(),
        detail: error.detail(),
        ..livebuf_error::NONE
    }
}

impl From<livebuf::Error> for livebuf_error {
    fn from(error: livebuf::Error) -> Self {
        from_core(error)
    }
}

/// What calls of this crate answer inside.
pub(crate) type Result<T> = core::result::Result<T, livebuf_error>;

pub(crate) const NULL: livebuf_error = livebuf_error::of(livebuf_code::LIVEBUF_NULL_ARGUMENT);

/// The version of the library that runs, "0.1.0"; LIVEBUF_VERSION_* is that of the header.
///
/// Memory: static. NULL: never. Errors: none. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_version() -> *const c_char {
    const { terminated(concat!(env!("CARGO_PKG_VERSION"), "\0")) }.as_ptr()
}

/// What a status means, in English: one line without a full stop.
///
/// Memory: static. NULL: never; an unknown number is "unknown status". Errors: none.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_strerror(status: livebuf_status) -> *const c_char {
    message(status).as_ptr()
}

impl fmt::Display for livebuf_error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = || message(self.status).to_str().unwrap_or_default();
        let is_kind = |kind: &&ErrorKind| **kind as livebuf_status == self.status;
        // Of an error in JSON text the offset is none of the document's.
        let of_json = self.line != 0;
        match ErrorKind::ALL.iter().find(is_kind) {
            Some(&kind) if !of_json || self.detail != 0 => {
                let offset = if of_json { 0 } else { self.offset };
                livebuf::Error::with_detail(kind, offset, self.detail).fmt(f)?;
            }
            _ => f.write_str(message())?,
        }
        let livebuf_error { line, column, operation, offset, detail, .. } = self;
        if of_json {
            write!(f, ", at line {line}, column {column} (byte {offset})")?;
        }
        if cfg!(not(feature = "std")) {
            return Ok(());
        }
        if *operation != 0 {
            write!(f, ", in operation {operation} of the patch (the first is 1)")?;
        }
        match self.status {
            WRONG_STATE => write!(f, ": {detail:016x}..., not {offset:016x}..."),
            BAD_DELTA => write!(f, " (at byte {offset})"),
            _ => Ok(()),
        }
    }
}
