//! Which bytes edits change: a callback, and a recorder of ranges in an array of the caller's.
//! Both hear it from the storage of the core's editor (`Memory::will_change`).

use core::ffi::c_void;
use core::slice;

use crate::args::{Buffer, InOut, Out};
use crate::document::{self, OnChange, livebuf_doc};
use crate::status::{NULL, Result, livebuf_code, livebuf_error, livebuf_status};

/// Calls `callback` before each change of the document's bytes, until it is called again with
/// a NULL `callback`. A document has one callback: a recorder is one, too. `bytes` is the
/// document's first byte at that time; the old bytes lie at `bytes + offset`. One edit makes
/// several changes. They may reach behind the document, and the new bytes may equal the old
/// ones. Going back in a transaction is told as well.
///
/// The callback may read these bytes. It may use other documents, but not this one, and does
/// not leave by longjmp or an exception.
///
/// Memory: keeps `user` until then; livebuf_init, livebuf_open and livebuf_destroy end it, too.
/// NULL: `callback` ends it; `user` is yours; `doc` LIVEBUF_NULL_ARGUMENT. Errors:
/// LIVEBUF_READ_ONLY, LIVEBUF_NOT_OPEN. Threads: as an edit, but values stay current.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_on_change(
    mut doc: InOut<livebuf_doc>,
    callback: Option<
        unsafe extern "C" fn(user: *mut c_void, bytes: *const u8, offset: usize, length: usize),
    >,
    user: *mut c_void,
) -> livebuf_status {
    doc.option_mut().map_or(NULL.status, |doc| tell(doc, callback, user))
}

fn tell(doc: &mut livebuf_doc, on_change: Option<OnChange>, user: *mut c_void) -> livebuf_status {
    let result = doc.editor_mut().map(|editor| document::tell(editor, on_change, user));
    doc.status(result)
}

/// A stretch of a document's bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct livebuf_changed {
    /// Offset of the first byte.
    pub offset: usize,
    /// Count of bytes.
    pub length: usize,
}

impl livebuf_changed {
    fn end(&self) -> usize {
        self.offset + self.length
    }
}

/// Notes which bytes of a document are changed: a variable of yours.
#[repr(C)]
pub struct livebuf_recorder {
    /// Your array: the changed ranges, in order. They neither touch nor overlap.
    pub ranges: *mut livebuf_changed,
    /// Count of ranges.
    pub count: usize,
    /// Most ranges that the array holds.
    pub capacity: usize,
    /// Bytes of the document when livebuf_record_end was called.
    pub length: usize,
}

/// Notes from here on which bytes of the document are changed, until livebuf_record_end. Where
/// the array is full, the two ranges with the least between them become one. So the ranges
/// always cover all changes, and a longer array only makes them closer. A document has one
/// recorder or one callback.
///
/// Memory: writes `*recorder` and all `capacity` elements of `ranges`, and keeps both until
/// livebuf_record_end. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NO_SPACE for a capacity
/// of 0, LIVEBUF_READ_ONLY, LIVEBUF_NOT_OPEN. Threads: as an edit, but values stay current.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_record(
    mut doc: InOut<livebuf_doc>,
    recorder: Out<livebuf_recorder>,
    mut ranges: Buffer<livebuf_changed>,
    capacity: usize,
) -> livebuf_status {
    let Some(doc) = doc.option_mut() else { return NULL.status };
    if recorder.is_null() || ranges.is_null() {
        return doc.status(Err(NULL));
    }
    if capacity == 0 {
        let full = livebuf_error { detail: 1, ..livebuf_error::of(livebuf_code::LIVEBUF_NO_SPACE) };
        return doc.status(Err(full));
    }
    for range in ranges.room(capacity) {
        range.write(livebuf_changed::default());
    }
    let (ranges, length) = (ranges.into_raw(), doc.length);
    recorder.put(livebuf_recorder { ranges, count: 0, capacity, length });
    tell(doc, Some(note), recorder.address().cast_mut().cast())
}

/// Ends what livebuf_record began. `recorder->ranges` are the changed bytes of the document as
/// it is now, `recorder->count` of them, and `recorder->length` is its length. No range reaches
/// behind it. Who has the document as it was can copy these bytes, and has it as it is.
///
/// Memory: the document keeps nothing any more. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
/// LIVEBUF_BAD_SEQUENCE where this recorder does not note this document's changes. Threads: as
/// livebuf_record.
#[unsafe(no_mangle)]
pub extern "C" fn livebuf_record_end(
    mut doc: InOut<livebuf_doc>,
    mut recorder: InOut<livebuf_recorder>,
) -> livebuf_status {
    let Some(doc) = doc.option_mut() else { return NULL.status };
    let mut end = || -> Result<()> {
        let recorder = recorder.get_mut()?;
        let editor = doc.editor_mut()?;
        if editor.storage().told() != Some((&raw mut *recorder).cast()) {
            return Err(livebuf_error::of(livebuf_code::LIVEBUF_BAD_SEQUENCE));
        }
        document::tell(editor, None, core::ptr::null_mut());
        recorder.length = doc.length;
        // SAFETY: the document tells it of changes, so `livebuf_record` made it.
        let (ranges, count) = unsafe { noted(recorder) };
        *count = cut(&mut ranges[..*count], doc.length);
        Ok(())
    };
    let result = end();
    doc.status(result)
}

/// Notes a change in a recorder.
///
/// # Safety
/// `user` is a recorder that `livebuf_record` made.
unsafe extern "C" fn note(user: *mut c_void, _bytes: *const u8, offset: usize, length: usize) {
    // SAFETY: `livebuf_record` gave this pointer together with this function, and the header asks C
    // to keep the recorder until it ends.
    let Some(recorder) = (unsafe { user.cast::<livebuf_recorder>().as_mut() }) else { return };
    // SAFETY: as above, `livebuf_record` made it.
    let (ranges, count) = unsafe { noted(recorder) };
    *count = add(ranges, *count, livebuf_changed { offset, length });
}

/// The array of a recorder, and how many of its ranges are noted.
///
/// # Safety
/// `livebuf_record` made it, so the array is good for its capacity.
unsafe fn noted(recorder: &mut livebuf_recorder) -> (&mut [livebuf_changed], &mut usize) {
    recorder.count = recorder.count.min(recorder.capacity);
    // SAFETY: the header asks C to keep the array, of which `livebuf_record` wrote all elements.
    let ranges = unsafe { slice::from_raw_parts_mut(recorder.ranges, recorder.capacity) };
    (ranges, &mut recorder.count)
}

/// Adds a range to the first `count` ones, which are in order. Returns how many there are then.
fn add(ranges: &mut [livebuf_changed], mut count: usize, new: livebuf_changed) -> usize {
    if new.length == 0 {
        return count;
    }
    loop {
        let first = ranges[..count].partition_point(|range| range.end() < new.offset);
        let behind = ranges[first..count].partition_point(|range| range.offset <= new.end());
        if behind > 0 {
            let last = first + behind - 1;
            let start = new.offset.min(ranges[first].offset);
            let end = new.end().max(ranges[last].end());
            ranges[first] = livebuf_changed { offset: start, length: end - start };
            ranges.copy_within(last + 1..count, first + 1);
            return count - (behind - 1);
        }
        if count < ranges.len() {
            ranges.copy_within(first..count, first + 1);
            ranges[first] = new;
            return count + 1;
        }
        // Full: one gap is to be closed, the smallest. The new range lies in the gap before
        // `first` and leaves one at each side.
        let left = first.checked_sub(1).map(|at| new.offset - ranges[at].end());
        let right = ranges[..count].get(first).map(|range| range.offset - new.end());
        let gaps = ranges[..count].windows(2).map(|pair| pair[1].offset - pair[0].end());
        let others = gaps.enumerate().filter(|&(at, _)| at + 1 != first);
        let least = others.min_by_key(|&(_, gap)| gap);
        let beside = left.unwrap_or(usize::MAX).min(right.unwrap_or(usize::MAX));
        match least {
            Some((at, gap)) if gap < beside => {
                ranges[at].length = ranges[at + 1].end() - ranges[at].offset;
                ranges.copy_within(at + 2..count, at + 1);
                count -= 1;
            }
            _ if left == Some(beside) => {
                ranges[first - 1].length = new.end() - ranges[first - 1].offset;
                return count;
            }
            _ => {
                let end = ranges[first].end();
                ranges[first] = livebuf_changed { offset: new.offset, length: end - new.offset };
                return count;
            }
        }
    }
}

/// Cuts ranges to a length. Returns how many are left.
fn cut(ranges: &mut [livebuf_changed], length: usize) -> usize {
    let count = ranges.partition_point(|range| range.offset < length);
    if let Some(last) = ranges[..count].last_mut() {
        last.length = last.length.min(length - last.offset);
    }
    count
}
