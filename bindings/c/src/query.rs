//! JSONPath (RFC 9535): queries, their matches, and edits of all matches.

use core::ffi::{c_char, c_void};
use std::sync::Arc;

use ::livebuf_query::{Location, Matches, Query, QueryError};
use livebuf::{Checked, Editor};

use crate::args::{Array, Buffer, In, InOut, Out, Owned};
use crate::context::hand_out;
use crate::document::{Memory, edit, guard, livebuf_doc};
use crate::edit::{UnderEdit, apart, livebuf_new, livebuf_set_pointer_n, with_new};
use crate::read::{livebuf_pointer_n, livebuf_root, livebuf_value, stale};
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};
use crate::text::Text;
use crate::transaction::{livebuf_begin, livebuf_commit, livebuf_rollback};

/// A compiled query: got from livebuf_query_new. Any number of threads may use it.
pub struct livebuf_query {
    query: Arc<Query>,
}

impl From<QueryError> for livebuf_error {
    #[cold]
    fn from(error: QueryError) -> livebuf_error {
        livebuf_error {
            line: 1,
            column: u32::try_from(error.column()).unwrap_or(u32::MAX),
            offset: error.offset() as u64,
            ..livebuf_error::of(livebuf_code::LIVEBUF_BAD_QUERY)
        }
    }
}

/// Compiles a query's text (RFC 9535) of `length` bytes. `budget` bounds the work of each use:
/// about a step for each value that is looked at; 0 for a bound that grows with the document.
///
/// Memory: livebuf_query_free frees what it returns; the text is not needed afterwards. NULL:
/// `error` if it is not wanted; `text`: NULL. Errors: NULL: LIVEBUF_BAD_QUERY with the column.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_query_new_n(
    text: Array<c_char>,
    length: usize,
    budget: u64,
    error: Out<livebuf_error>,
) -> *mut livebuf_query {
    let make = || {
        let query = Query::parse(text.some()?.text(length)?)?;
        let query = if budget == 0 { query } else { query.with_budget(budget) };
        Ok(Box::into_raw(Box::new(livebuf_query { query: Arc::new(query) })))
    };
    hand_out(guard(make), error)
}

/// Frees a query. Matches that it found can still be stepped through.
///
/// Memory: `query` is gone. NULL: nothing is done. Errors: none. Threads: nobody else may use it.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_query_free(query: Owned<livebuf_query>) {
    drop(query.take());
}

/// The values that a query finds, one after the other: got from livebuf_matches_new.
#[repr(C)]
pub struct livebuf_matches {
    /// The match that livebuf_matches_next stepped to.
    pub value: livebuf_value,
    /// How many were met before this one.
    pub index: usize,
    /// LIVEBUF_OK, or why they ended early.
    pub error: livebuf_error,
    /// Private.
    pub private_steps: *mut c_void,
}

/// What a `livebuf_matches` steps through.
struct Steps {
    /// Borrows from the query and the document's bytes. Dropped first.
    matches: Matches<'static, 'static, Checked>,
    location: Option<Location<'static>>,
    root: livebuf_value,
    /// Keeps what the matches borrow.
    _query: Arc<Query>,
}

/// Begins to go over the values that a query finds in `value`. Then livebuf_matches_next steps to
/// the first. They are looked for as you ask for them.
///
/// Memory: livebuf_matches_free frees what it returns, which is never NULL; borrows as `value`.
/// NULL: LIVEBUF_NULL_ARGUMENT in its `error`. Errors: in its `error`: the value's own; there is
/// no match then. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_matches_new(
    query: In<livebuf_query>,
    value: livebuf_value,
) -> *mut livebuf_matches {
    let begin = || {
        let kept = Arc::clone(&query.get()?.query);
        // SAFETY: the view is looked at only while the document has the same generation, as
        // `livebuf_matches_next` checks.
        let view = unsafe { value.kept_view() }?;
        // SAFETY: the query stays where it is, on the heap, until `kept` is dropped, which is
        // after the matches are.
        let query: &'static Query = unsafe { &*Arc::as_ptr(&kept) };
        let matches = query.find(view);
        let steps = Steps { matches, location: None, root: value, _query: kept };
        Ok(Box::into_raw(Box::new(steps)).cast())
    };
    let (steps, error) = match guard(begin) {
        Ok(steps) => (steps, livebuf_error::NONE),
        Err(error) => (core::ptr::null_mut(), error),
    };
    Box::into_raw(Box::new(livebuf_matches {
        value: livebuf_value::NOT_FOUND,
        index: usize::MAX,
        error,
        private_steps: steps,
    }))
}

impl livebuf_matches {
    fn steps(&self) -> Option<&Steps> {
        // SAFETY: `livebuf_matches_new` put the steps on the heap, or there are none.
        unsafe { self.private_steps.cast::<Steps>().as_ref() }
    }

    fn steps_mut(&mut self) -> Option<&mut Steps> {
        // SAFETY: as in `steps`.
        unsafe { self.private_steps.cast::<Steps>().as_mut() }
    }

    fn next(&mut self) -> Result<Option<livebuf_value>> {
        let Some(steps) = self.steps_mut() else { return Ok(None) };
        // The bytes may be elsewhere after an edit.
        steps.root.view().map_err(|_| stale())?;
        let Some(found) = steps.matches.next().transpose()? else { return Ok(None) };
        let value = livebuf_value::of(steps.root.doc, steps.root.generation, &found.value());
        steps.location = Some(found.into_location());
        Ok(Some(value))
    }
}

/// Prints the place of a match. Its keys lie in the document.
fn print(
    matches: In<livebuf_matches>,
    mut text: Buffer<c_char>,
    capacity: usize,
    place: impl FnOnce(&Location<'_>) -> String,
) -> usize {
    let Some(matches) = matches.option() else { return 0 };
    let mut line = Text::new(&mut text, capacity);
    if let Some(steps) = matches.steps()
        && steps.root.view().is_ok()
        && let Some(location) = &steps.location
    {
        line.add(place(location).as_bytes());
    }
    line.end()
}

/// Steps to the next match: `matches->value`. False at the end, and where `matches->error` says
/// why it ended early.
///
/// Memory: none that you free. NULL: false. Errors: in `matches->error`: LIVEBUF_STALE_HANDLE
/// after an edit, LIVEBUF_BUDGET_EXCEEDED, what is damaged. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_matches_next(mut matches: InOut<livebuf_matches>) -> bool {
    let Some(matches) = matches.option_mut() else { return false };
    if matches.error.status != OK {
        return false;
    }
    let found = guard(|| matches.next());
    let error = found.as_ref().err().copied();
    match found.unwrap_or(None) {
        Some(value) => {
            matches.value = value;
            matches.index = matches.index.wrapping_add(1);
            true
        }
        None => {
            matches.value = livebuf_value::NOT_FOUND;
            matches.error = error.unwrap_or(livebuf_error::NONE);
            if let Some(steps) = matches.steps_mut() {
                steps.location = None;
            }
            false
        }
    }
}

/// The place of the match as a normalized path: "$['laps'][1]['sec']". Returns the text's length
/// without its NUL, as snprintf does; 0 where there is no match, and after an edit.
///
/// Memory: writes at most `capacity` bytes to `text`, a NUL at the end among them. NULL: `text` if
/// `capacity` is 0, to ask for the length; `matches`: 0. Errors: none. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_matches_path(
    matches: In<livebuf_matches>,
    text: Buffer<c_char>,
    capacity: usize,
) -> usize {
    print(matches, text, capacity, |location| location.to_string())
}

/// The place of the match as a JSON pointer: "/laps/1/sec", for livebuf_set_pointer. As
/// livebuf_matches_path; the pointer of the root is empty.
///
/// Memory, NULL, Errors, Threads: as livebuf_matches_path.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_matches_pointer(
    matches: In<livebuf_matches>,
    text: Buffer<c_char>,
    capacity: usize,
) -> usize {
    print(matches, text, capacity, |location| location.to_pointer())
}

/// Frees matches.
///
/// Memory: `matches` is gone. NULL: nothing is done. Errors: none. Threads: nobody else may use
/// them.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_matches_free(matches: Owned<livebuf_matches>) {
    drop(matches.take());
}

impl Drop for livebuf_matches {
    fn drop(&mut self) {
        if !self.private_steps.is_null() {
            // SAFETY: `livebuf_matches_new` put the steps on the heap for these matches alone.
            drop(unsafe { Box::from_raw(self.private_steps.cast::<Steps>()) });
        }
    }
}

/// The first value that a query finds in `value`.
///
/// Memory: borrows as `value`. NULL: a value that is not there. Errors: in the value:
/// LIVEBUF_NOT_FOUND, LIVEBUF_BUDGET_EXCEEDED, what is damaged. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_query_first(
    query: In<livebuf_query>,
    value: livebuf_value,
) -> livebuf_value {
    let find = || {
        let (query, view) = (&query.get()?.query, value.view()?);
        let found = query.values(view).next().transpose()?;
        Ok(found.map(|found| livebuf_value::of(value.doc, value.generation, &found)))
    };
    match guard(find) {
        Ok(found) => found.unwrap_or(livebuf_value::NOT_FOUND),
        Err(error) => livebuf_value::missing(error),
    }
}

/// How many values a query finds in `value`.
///
/// Memory: writes `*count`. NULL: LIVEBUF_NULL_ARGUMENT. Errors: the value's own,
/// LIVEBUF_BUDGET_EXCEEDED, what is damaged; `*count` is 0 then. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_query_count(
    query: In<livebuf_query>,
    value: livebuf_value,
    count: Out<usize>,
) -> livebuf_status {
    let find = || {
        let (query, view) = (&query.get()?.query, value.view()?);
        Ok(query.count(view)?)
    };
    if count.is_null() {
        return NULL.status;
    }
    let found = guard(find);
    count.put(found.unwrap_or(0));
    found.err().map_or(OK, |error| error.status)
}

/// An edit that answers how many matches it changed.
fn edit_all(
    doc: InOut<livebuf_doc>,
    count: Out<usize>,
    work: impl FnOnce(&mut Editor<Memory>) -> Result<usize>,
) -> livebuf_status {
    let mut changed = 0;
    let status = edit(doc, |editor| {
        changed = work(editor)?;
        Ok(())
    });
    count.put(changed);
    status
}

/// Sets all matches of a query in the document to a value, all or none. `*count` becomes how many
/// were set. A match within another one is gone with it, and does not count.
///
/// Memory: copies what `value` refers to. NULL: `count` if it is not wanted; others
/// LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BUDGET_EXCEEDED; as livebuf_set_pointer. The document is
/// unchanged then. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_set_all(
    doc: InOut<livebuf_doc>,
    query: In<livebuf_query>,
    value: livebuf_new,
    count: Out<usize>,
) -> livebuf_status {
    apart!(doc, value, livebuf_set_all(doc, query, value, count));
    let at = doc.address();
    edit_all(doc, count, |editor| {
        let query = &query.get()?.query;
        let (under_edit, mut changed) = (UnderEdit::of(at, editor), 0);
        with_new(&under_edit, &value, &mut |new| {
            changed = ::livebuf_query::set_all(editor, query, new)?;
            Ok(())
        })?;
        Ok(changed)
    })
}

/// Removes all matches of a query from the document, all or none. `*count` becomes how many were
/// removed. A match within another one is gone with it, and does not count.
///
/// Memory: none that you free. NULL: `count` if it is not wanted; others LIVEBUF_NULL_ARGUMENT.
/// Errors: LIVEBUF_UNSUPPORTED where the root is among them; LIVEBUF_BUDGET_EXCEEDED; as
/// livebuf_remove_pointer. The document is unchanged then. Threads: an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_remove_all(
    doc: InOut<livebuf_doc>,
    query: In<livebuf_query>,
    count: Out<usize>,
) -> livebuf_status {
    let work =
        |editor: &mut Editor<Memory>| Ok(::livebuf_query::remove_all(editor, &query.get()?.query)?);
    edit_all(doc, count, work)
}

/// Calls `update` with each match of a query in the document, and puts `*replacement` in its
/// place, all or none. `update` returns true where it wrote `*replacement`; else the match stays.
/// `*count` becomes how many were set. A match within another one comes before that one.
///
/// `update` may read the document, but not edit it, and does not leave by longjmp or an exception.
///
/// Memory: `user` is yours; what `*replacement` refers to is copied when `update` returned. NULL:
/// `count` if it is not wanted; others LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_set_all. Threads:
/// an edit.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_update_all(
    mut doc: InOut<livebuf_doc>,
    query: In<livebuf_query>,
    update: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            value: livebuf_value,
            replacement: *mut livebuf_new,
        ) -> bool,
    >,
    user: *mut c_void,
    count: Out<usize>,
) -> livebuf_status {
    count.put(0);
    let Some(known) = doc.option_mut() else { return NULL.status };
    let find = || Ok((query.get()?.query.places(known.view()?)?, update.ok_or(NULL)?));
    let (places, update) = match guard(find) {
        Ok(found) => found,
        Err(error) => return known.status(Err(error)),
    };
    let begun = livebuf_begin(doc.again());
    if begun != OK {
        return begun;
    }
    let mut changed = 0;
    for place in places {
        // SAFETY: the text of this length stays until the edit is done.
        let (text, length) = (unsafe { Array::from_raw(place.as_ptr().cast()) }, place.len());
        let value = livebuf_pointer_n(livebuf_root(doc.reader()), text, length);
        let mut replacement = livebuf_new::NULL;
        // SAFETY: C gave the function to be called so, with this pointer. The document is not
        // borrowed while it runs.
        if !unsafe { update(user, value, &raw mut replacement) } {
            continue;
        }
        let set = livebuf_set_pointer_n(doc.again(), text, length, replacement, Out::NULL);
        if set != OK {
            // The error that counts is that of the edit.
            livebuf_rollback(doc);
            return set;
        }
        changed += 1;
    }
    let committed = livebuf_commit(doc);
    if committed == OK {
        count.put(changed);
    }
    committed
}
