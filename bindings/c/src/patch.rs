//! Patches (RFC 6902), merge patches (RFC 7396), and differences of two documents.

use core::ffi::c_char;

use livebuf::{Valid, Value};
use livebuf_patch::{DiffOptions, Patch, PatchError, PatchErrorKind};

use crate::args::{Array, In, InOut, Out};
use crate::context::{livebuf_allocator, made};
use crate::document::{edit, guard, livebuf_doc};
use crate::edit::UnderEdit;
use crate::json::from_json;
use crate::read::livebuf_value;
use crate::status::{Result, livebuf_code, livebuf_error, livebuf_status};

/// The order of an object's members counts.
pub const LIVEBUF_DIFF_ORDERED: u32 = 1;

impl From<PatchError> for livebuf_error {
    #[cold]
    fn from(error: PatchError) -> livebuf_error {
        use livebuf_code::*;
        let code = match error.kind() {
            PatchErrorKind::Malformed => LIVEBUF_BAD_PATCH,
            PatchErrorKind::NotFound => LIVEBUF_NOT_FOUND,
            PatchErrorKind::WrongType => LIVEBUF_WRONG_TYPE,
            PatchErrorKind::IndexOutOfRange => LIVEBUF_INDEX_OUT_OF_RANGE,
            PatchErrorKind::IntoItself => LIVEBUF_INTO_ITSELF,
            PatchErrorKind::TestFailed => LIVEBUF_TEST_FAILED,
            PatchErrorKind::Unsupported => LIVEBUF_UNSUPPORTED,
            _ => LIVEBUF_INTERNAL,
        };
        let known = match (error.core_error(), error.json_error()) {
            (Some(core), _) => core.into(),
            (_, Some(json)) => from_json(json),
            _ => livebuf_error::of(code),
        };
        let operation = error.operation().map_or(0, |number| number.saturating_add(1));
        livebuf_error { operation: u32::try_from(operation).unwrap_or(u32::MAX), ..known }
    }
}

/// A value of a document that this process wrote, or that is validated here.
fn valid(value: &livebuf_value) -> Result<Value<'_, Valid>> {
    let view = value.view()?;
    match value.doc.option().is_some_and(livebuf_doc::is_trusted) {
        // SAFETY: an editor wrote or validated the document, and the header asks C that nobody else
        // writes its memory.
        true => Ok(unsafe { view.assume_valid() }),
        false => Ok(view.validate()?),
    }
}

/// Applies a JSON patch (RFC 6902), whole or not at all: `patch` is an array of operations, as
/// livebuf_from_json or livebuf_diff make it. `test` compares numbers as numbers, so 1 equals 1.0,
/// and objects in any order.
///
/// Memory: `patch` is not needed afterwards; takes memory from the system while it runs. NULL:
/// `doc` LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BAD_PATCH, LIVEBUF_TEST_FAILED, LIVEBUF_NOT_FOUND
/// and others: `doc->error.operation` says which operation. The document is unchanged then.
/// Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_patch(doc: InOut<livebuf_doc>, patch: livebuf_value) -> livebuf_status {
    let patch = guard(|| Ok(Patch::from_value(valid(&patch)?)?));
    edit(doc, |editor| Ok(patch?.apply(editor)?))
}

/// livebuf_patch with JSON text of `length` bytes.
///
/// Memory: `text` is not needed afterwards; takes memory from the system while it runs. NULL:
/// LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_patch; LIVEBUF_JSON_SYNTAX and its kin. Threads: an
/// edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_patch_json_n(
    doc: InOut<livebuf_doc>,
    text: Array<c_char>,
    length: usize,
) -> livebuf_status {
    edit(doc, |editor| {
        let patch = Patch::from_slice(text.some()?.bytes(length)?)?;
        Ok(patch.apply(editor)?)
    })
}

/// Merges a value into a document (RFC 7396), whole or not at all: members of `patch` replace
/// those of the document, objects member by member, and null removes a member.
///
/// Memory: `patch`, of another document, is not needed afterwards. NULL: `doc`
/// LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_OVERLAP for a value of the same document;
/// LIVEBUF_NO_SPACE, limits. The document is unchanged then. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_merge(doc: InOut<livebuf_doc>, patch: livebuf_value) -> livebuf_status {
    let at = doc.address();
    edit(doc, |editor| {
        UnderEdit::of(at, editor).other_value(&patch)?;
        Ok(livebuf_patch::merge(editor, valid(&patch)?)?)
    })
}

/// livebuf_merge with JSON text of `length` bytes.
///
/// Memory: `text` is not needed afterwards; takes memory from the system while it runs. NULL:
/// LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_merge; LIVEBUF_JSON_SYNTAX and its kin. Threads: an
/// edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_merge_json_n(
    doc: InOut<livebuf_doc>,
    text: Array<c_char>,
    length: usize,
) -> livebuf_status {
    edit(doc, |editor| Ok(livebuf_patch::merge_json(editor, text.some()?.bytes(length)?)?))
}

/// The patch (RFC 6902) that makes `one` equal to `two`: a document with an array of operations.
/// Equal values make an empty array. `flags`: LIVEBUF_DIFF_ORDERED or 0.
///
/// Memory: livebuf_destroy frees what it returns. NULL: `allocator` for the system's, `error` if
/// it is not wanted. Errors: NULL: the values' own, what is damaged, LIVEBUF_IO. Threads: a read
/// of both.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_diff(
    one: livebuf_value,
    two: livebuf_value,
    flags: u32,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let options = DiffOptions::new().ordered(flags & LIVEBUF_DIFF_ORDERED != 0);
    let make = || Ok(livebuf_patch::diff(valid(&one)?, valid(&two)?, &options)?.into_doc());
    made(guard(make), allocator, error)
}

/// The merge patch (RFC 7396) that makes `one` equal to `two`, as a document.
///
/// Memory, NULL, Threads: as livebuf_diff. Errors: as livebuf_diff; LIVEBUF_UNSUPPORTED where a
/// null of `two` would be needed, which a merge patch cannot say.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_merge_diff(
    one: livebuf_value,
    two: livebuf_value,
    allocator: In<livebuf_allocator>,
    error: Out<livebuf_error>,
) -> *mut livebuf_doc {
    let make = || Ok(livebuf_patch::merge_diff(valid(&one)?, valid(&two)?)?);
    made(guard(make), allocator, error)
}
