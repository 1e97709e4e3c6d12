//! Transactions: groups of edits of which all happen or none. The core keeps the bytes that
//! they overwrite; here are the calls.

use crate::args::{In, InOut};
use crate::document::{edit, livebuf_doc};
use crate::status::livebuf_status;

/// Begins a transaction: the edits from here on stay if livebuf_commit follows, and are taken
/// back by livebuf_rollback. Within a transaction this begins another one, which can be taken
/// back alone: a savepoint.
///
/// The edits take place at once, and can be read. Beside them the bytes that they overwrite are
/// kept in a log, never a copy of the document.
///
/// Memory: over your memory nothing is allocated: until the transaction ends, the log takes
/// the later half of the room behind the document. A document of the context API can grow in
/// transactions; its log is memory from the system. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
/// LIVEBUF_READ_ONLY, LIVEBUF_BROKEN; within a transaction also LIVEBUF_NO_SPACE or LIVEBUF_IO,
/// where the log has no room. An edit whose old bytes do not fit into the log fails with one of
/// these two; then only livebuf_rollback works. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_begin(doc: InOut<livebuf_doc>) -> livebuf_status {
    edit(doc, |editor| Ok(editor.begin_transaction()?))
}

/// Keeps the edits since the last livebuf_begin, if those are kept that it was called within.
/// Constant time.
///
/// Memory: the log's memory is free again when the outermost transaction ends. NULL:
/// LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BAD_SEQUENCE where no transaction is open; the error of
/// an edit that did not fit into the log: then the transaction stays open. Threads: an edit.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_commit(doc: InOut<livebuf_doc>) -> livebuf_status {
    edit(doc, |editor| Ok(editor.commit_transaction()?))
}

/// Takes back the edits since the last livebuf_begin: the document's bytes are as they were
/// then. All values, iterators and places are stale. Linear in the bytes that the edits
/// overwrote and added.
///
/// Memory: as livebuf_commit. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BAD_SEQUENCE where no
/// transaction is open. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_rollback(doc: InOut<livebuf_doc>) -> livebuf_status {
    edit(doc, |editor| Ok(editor.rollback_transaction()?))
}

/// How many transactions are open, each within the one before.
///
/// Memory: none. NULL and documents that are only read: 0. Errors: none. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_transactions(doc: In<livebuf_doc>) -> u32 {
    let editor = doc.option().and_then(|doc| doc.editor().ok());
    editor.map_or(0, |editor| editor.transactions())
}
