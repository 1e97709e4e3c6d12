//! Members and elements in order, from either end, and ranges ordered by key.
//!
//! A `livebuf_iter` holds the core's iterator in place. It borrows the document for as long
//! as its generation lasts, which is looked at before every step.

use core::ffi::c_char;
use core::mem::{MaybeUninit, align_of, size_of};
use core::ops::Bound;

use livebuf::layout::TAG_OBJECT;
use livebuf::{ArrayIter, Checked, Fields, Searched, Value};

use crate::args::{Array, In, InOut, Out};
use crate::document::livebuf_doc;
use crate::read::{livebuf_str, livebuf_value, stale};
use crate::status::{NULL, OK, Result, livebuf_code, livebuf_error, livebuf_status};

/// Begins at the last instead of the first.
pub const LIVEBUF_DESCENDING: u32 = 1;
/// `low` itself is left out of a range.
pub const LIVEBUF_LOW_EXCLUDED: u32 = 2;
/// `high` itself is part of a range.
pub const LIVEBUF_HIGH_INCLUDED: u32 = 4;

/// An iteration: the caller's own variable. Ends, with LIVEBUF_STALE_HANDLE, when the
/// document is edited.
#[repr(C)]
pub struct livebuf_iter {
    /// The key, where it goes over an object.
    pub key: livebuf_str,
    /// The member or element.
    pub value: livebuf_value,
    /// How many were met before this one.
    pub index: usize,
    /// LIVEBUF_OK, or why it ended early.
    pub error: livebuf_error,
    /// Private.
    pub private_doc: In<livebuf_doc>,
    /// Private.
    pub private_generation: u32,
    /// Private.
    pub private_flags: u32,
    /// Private: the cell of the next row, where the elements are rows of a table; where members are
    /// sorted, which order it is.
    pub private_row: u64,
    /// Private: how many such rows are left.
    pub private_rows: u64,
    /// Private.
    pub private_words: [MaybeUninit<u64>; 36],
}

enum Steps {
    Fields(Fields<'static, Checked>),
    Elements(ArrayIter<'static, Checked>),
    Ordered(Searched<'static, 'static, Checked>),
}

const _: () = assert!(size_of::<Steps>() <= 36 * 8 && align_of::<Steps>() <= 8);
/// Nothing is left to drop when an iteration is forgotten.
const _: () = assert!(!core::mem::needs_drop::<Steps>());

const STEPS: u32 = 0x4C42_4900;
/// The elements are rows of a table, which the header's `livebuf_next` steps through, too.
const ROWS: u32 = 0x4C42_5200;

/// Begins an iteration in the caller's variable, which is long to copy: `make` writes there.
#[inline]
fn begin(
    iter: Out<livebuf_iter>,
    value: &livebuf_value,
    flags: u32,
    make: impl FnOnce(Value<'static>, &mut livebuf_iter) -> Result<()>,
) -> livebuf_status {
    let Some(mut iter) = iter.place() else { return NULL.status };
    // SAFETY: C passes a variable of this type. All fields are written before they are read; they
    // are numbers, pointers and words that may be anything until then. What is written there is
    // looked at while the document has the same generation, as `livebuf_next` checks.
    let (iter, view) = unsafe { (iter.as_mut(), value.kept_view()) };
    iter.key = livebuf_str::of(None, 0);
    iter.value = livebuf_value::NOT_FOUND;
    iter.index = usize::MAX;
    iter.error = livebuf_error::NONE;
    iter.private_doc = value.doc;
    iter.private_generation = value.generation;
    iter.private_flags = STEPS | (flags & LIVEBUF_DESCENDING);
    iter.private_row = 0;
    iter.private_rows = 0;
    if let Err(error) = view.and_then(|value| make(value, iter)) {
        iter.private_flags = 0;
        iter.error = error;
    }
    iter.error.status
}

impl livebuf_iter {
    /// Whether the document is as it was when this began.
    #[inline]
    fn is_current(&self) -> bool {
        self.private_doc.current(self.private_generation).is_some()
    }

    #[inline]
    fn put(&mut self, steps: Steps) {
        // SAFETY: the words have its size and alignment.
        unsafe { self.private_words.as_mut_ptr().cast::<Steps>().write(steps) };
    }
}

fn wrong_type() -> livebuf_error {
    livebuf_error::of(livebuf_code::LIVEBUF_WRONG_TYPE)
}

/// Begins to go over an object's members in insertion order, or an array's elements.
/// `flags`: LIVEBUF_DESCENDING or 0. Then livebuf_next steps to the first.
///
/// Memory: writes `*iter`, which needs no clean-up; borrows as `value`. NULL:
/// LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE, what is damaged; livebuf_next is false
/// then. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_iterate(
    value: livebuf_value,
    flags: u32,
    iter: Out<livebuf_iter>,
) -> livebuf_status {
    let make = |value: Value<'static>, iter: &mut livebuf_iter| {
        let Some(array) = value.as_array()? else {
            iter.put(Steps::Fields(value.as_object()?.ok_or_else(wrong_type)?.iter()));
            return Ok(());
        };
        match array.row_cells() {
            Some((first, count)) if flags & LIVEBUF_DESCENDING == 0 => {
                iter.private_row = first;
                iter.private_rows = count.into();
                iter.private_flags = ROWS;
            }
            _ => iter.put(Steps::Elements(array.iter())),
        }
        Ok(())
    };
    begin(iter, &value, flags, make)
}

/// Begins to go over the members of an object whose keys lie from `low` to before `high`,
/// ordered by the keys' bytes. A bound that is NULL is none. `flags`: LIVEBUF_DESCENDING,
/// LIVEBUF_LOW_EXCLUDED, LIVEBUF_HIGH_INCLUDED. O(log n) to begin and O(1) a step in objects that
/// have an index for it (livebuf_order). In other large ones it looks at all keys to begin, and
/// sorts them at the second step, in memory that the thread keeps; the small library, which has
/// none, looks at all keys at each step, as all do in small objects.
///
/// Memory: writes `*iter`, which needs no clean-up; borrows as `object`, and keeps `low` and
/// `high` until the iteration ends. NULL: `iter` LIVEBUF_NULL_ARGUMENT. Errors:
/// LIVEBUF_WRONG_TYPE, LIVEBUF_BAD_TEXT, what is damaged. Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_range_n(
    object: livebuf_value,
    low: Array<c_char>,
    low_length: usize,
    high: Array<c_char>,
    high_length: usize,
    flags: u32,
    iter: Out<livebuf_iter>,
) -> livebuf_status {
    let bound = |text: Array<c_char>, length, included| -> Result<Bound<&'static str>> {
        if text.is_null() {
            return Ok(Bound::Unbounded);
        }
        // SAFETY: C keeps both bounds where they are until the iteration ends.
        let text = unsafe { text.kept_text(length) }?;
        Ok(if included { Bound::Included(text) } else { Bound::Excluded(text) })
    };
    let make = |value: Value<'static>, iter: &mut livebuf_iter| {
        let object = value.as_object()?.ok_or_else(wrong_type)?;
        let low = bound(low, low_length, flags & LIVEBUF_LOW_EXCLUDED == 0)?;
        let high = bound(high, high_length, flags & LIVEBUF_HIGH_INCLUDED != 0)?;
        iter.put(Steps::Ordered(object.range((low, high)).into_searched()));
        Ok(())
    };
    begin(iter, &object, flags, make)
}

/// Begins to go over the members of an object whose keys begin with `prefix`, ordered by the
/// keys' bytes. `flags`: LIVEBUF_DESCENDING or 0. Costs as livebuf_range_n.
///
/// Memory: writes `*iter`, which needs no clean-up; borrows as `object`, and keeps `prefix`
/// until the iteration ends. NULL: LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_range_n.
/// Threads: a read.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_prefix_n(
    object: livebuf_value,
    prefix: Array<c_char>,
    length: usize,
    flags: u32,
    iter: Out<livebuf_iter>,
) -> livebuf_status {
    let make = |value: Value<'static>, iter: &mut livebuf_iter| {
        let object = value.as_object()?.ok_or_else(wrong_type)?;
        // SAFETY: C keeps the prefix where it is until the iteration ends.
        let prefix: &'static str = unsafe { prefix.kept_text(length) }?;
        iter.put(Steps::Ordered(object.prefix(prefix).into_searched()));
        Ok(())
    };
    begin(iter, &object, flags, make)
}

type Member<'d> = (Option<&'d str>, Value<'d>);

/// Steps to the next member or element: `iter->key` and `iter->value`. False at the end, and
/// after an error, which `iter->error` tells.
///
/// Memory: what it gives borrows the document's bytes until its next edit. NULL: false.
/// Errors: LIVEBUF_STALE_HANDLE after an edit, or what is damaged; false from then on.
/// Threads: a read, and an edit of `*iter`.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_next(mut iter: InOut<livebuf_iter>) -> bool {
    let Some(iter) = iter.option_mut() else { return false };
    if iter.private_flags == ROWS {
        return next_row(iter);
    }
    if iter.private_flags & !LIVEBUF_DESCENDING != STEPS {
        return false;
    }
    let backwards = iter.private_flags & LIVEBUF_DESCENDING != 0;
    let found = match iter.is_current() {
        true => {
            // SAFETY: these flags say that `begin` put it there, and the generation that the
            // bytes it borrows are as they were.
            let steps = unsafe { &mut *iter.private_words.as_mut_ptr().cast::<Steps>() };
            step(steps, &mut iter.private_row, backwards).transpose()
        }
        false => Err(stale()),
    };
    match found {
        Ok(Some((key, value))) => {
            iter.index = iter.index.wrapping_add(1);
            iter.key = livebuf_str::of(key.map(str::as_bytes), iter.private_generation);
            iter.value = livebuf_value::of(iter.private_doc, iter.private_generation, &value);
            true
        }
        end => {
            iter.private_flags = 0;
            iter.error = end.err().unwrap_or(livebuf_error::NONE);
            false
        }
    }
}

/// The same through the rows of a table.
fn next_row(iter: &mut livebuf_iter) -> bool {
    let current = iter.is_current();
    if !current || iter.private_rows == 0 {
        iter.private_flags = 0;
        iter.private_rows = 0;
        iter.error = if current { livebuf_error::NONE } else { stale() };
        return false;
    }
    iter.index = iter.index.wrapping_add(1);
    iter.value = livebuf_value {
        doc: iter.private_doc,
        cell: iter.private_row,
        tag: TAG_OBJECT.into(),
        generation: iter.private_generation,
        status: OK,
        ..livebuf_value::NOT_FOUND
    };
    iter.private_row = iter.private_row.wrapping_add(1 << 32);
    iter.private_rows -= 1;
    true
}

#[inline]
fn step<'s>(steps: &'s mut Steps, sorted: &mut u64, backwards: bool) -> Option<Result<Member<'s>>> {
    fn member<'d>(item: livebuf::Result<(&'d str, Value<'d>)>) -> Result<Member<'d>> {
        let (key, value) = item?;
        Ok((Some(key), value))
    }
    fn element(item: livebuf::Result<Value<'_>>) -> Result<Member<'_>> {
        Ok((None, item?))
    }
    match (steps, backwards) {
        (Steps::Elements(elements), false) => elements.next().map(element),
        (Steps::Elements(elements), true) => elements.next_back().map(element),
        (Steps::Fields(fields), false) => fields.next().map(member),
        (Steps::Fields(fields), true) => fields.next_back().map(member),
        #[cfg(feature = "std")]
        (Steps::Ordered(ordered), _) => sorted::step(ordered, sorted, backwards).map(member),
        #[cfg(not(feature = "std"))]
        (Steps::Ordered(ordered), _) => {
            let _ = sorted;
            ordered.step(backwards).map(member)
        }
    }
}

/// Members that were sorted, since their object has no index for the order. An iteration needs no
/// clean-up, so each thread keeps the latest few. One that lost its own sorts those that are left.
#[cfg(feature = "std")]
mod sorted {
    use livebuf::{Checked, Result, Searched, Value};
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::vec::IntoIter;

    const KEPT: usize = 4;

    struct Sorted {
        number: u64,
        members: IntoIter<(u64, u32)>,
    }

    thread_local! {
        static KEPT_SORTED: RefCell<Vec<Sorted>> = const { RefCell::new(Vec::new()) };
    }

    /// Of all threads, since an iteration may go on in another one.
    static LATEST: AtomicU64 = AtomicU64::new(0);

    /// The next member. `number`: which of the kept orders is the iteration's, 0 for none.
    pub(super) fn step<'a>(
        ordered: &mut Searched<'a, 'a, Checked>,
        number: &mut u64,
        backwards: bool,
    ) -> Option<Result<(&'a str, Value<'a>)>> {
        // While the thread ends there is nothing that keeps an order: each step searches.
        let next = KEPT_SORTED.try_with(|kept| {
            let Ok(mut kept) = kept.try_borrow_mut() else { return None };
            let mut at = kept.iter().position(|sorted| sorted.number == *number);
            if at.is_none() {
                let members = ordered.sort()?.into_iter();
                *number = LATEST.fetch_add(1, Ordering::Relaxed) + 1;
                if kept.len() == KEPT {
                    kept.remove(0);
                }
                kept.push(Sorted { number: *number, members });
                at = Some(kept.len() - 1);
            }
            let at = at?;
            let members = &mut kept[at].members;
            let next = if backwards { members.next_back() } else { members.next() };
            if next.is_none() {
                kept.remove(at);
            }
            Some(next)
        });
        match next {
            Ok(Some(next)) => ordered.step_to(next?.1, backwards),
            _ => ordered.step(backwards),
        }
    }
}
