//! Checked access to a document's bytes: the only place that loads from them.
//!
//! Every load names its offset and fails with [`ErrorKind::OutOfBounds`]; all
//! offset arithmetic is done in 64 bits, so nothing wraps on any target. Loads
//! tolerate an unaligned base and are little-endian on every host.

use crate::error::{Error, ErrorKind, Result};

/// Inlined, unlike other errors. A valid view drops the error, and the compiler then drops the
/// code that makes it. Otherwise look-ups spill registers, which is a third of the time of
/// finding one of a hundred tweets.
#[cfg_attr(not(feature = "small"), inline(always))]
fn out_of_bounds(offset: u64, length: u64) -> Error {
    Error::with_detail(ErrorKind::OutOfBounds, offset, length)
}

/// `length` bytes from `offset`.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn slice(bytes: &[u8], offset: u64, length: u64) -> Result<&[u8]> {
    // `offset + length` cannot wrap: both are sums of few 32-bit numbers.
    trace::read(bytes, offset, length);
    usize::try_from(offset)
        .ok()
        .zip(usize::try_from(offset + length).ok())
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or_else(|| out_of_bounds(offset, length))
}

/// Makes sure that a range lies in the document, without touching it.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn check(bytes: &[u8], offset: u64, length: u64) -> Result<()> {
    if offset + length > bytes.len() as u64 {
        return Err(out_of_bounds(offset, length));
    }
    Ok(())
}

#[cfg_attr(not(feature = "small"), inline(always))]
fn array<const N: usize>(bytes: &[u8], offset: u64) -> Result<[u8; N]> {
    match slice(bytes, offset, N as u64)?.try_into() {
        Ok(array) => Ok(array),
        Err(_) => Err(out_of_bounds(offset, N as u64)),
    }
}

/// The byte at `offset`.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn load_u8(bytes: &[u8], offset: u64) -> Result<u8> {
    array::<1>(bytes, offset).map(|[byte]| byte)
}

/// The 16-bit word at `offset`.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn load_u16(bytes: &[u8], offset: u64) -> Result<u16> {
    array(bytes, offset).map(u16::from_le_bytes)
}

/// The 32-bit word at `offset`.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn load_u32(bytes: &[u8], offset: u64) -> Result<u32> {
    array(bytes, offset).map(u32::from_le_bytes)
}

/// The 64-bit word at `offset`.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn load_u64(bytes: &[u8], offset: u64) -> Result<u64> {
    array(bytes, offset).map(u64::from_le_bytes)
}

/// The bytes as text, checked.
#[inline]
pub(crate) fn text(bytes: &[u8], offset: u64) -> Result<&str> {
    core::str::from_utf8(bytes)
        .map_err(|error| Error::new(ErrorKind::BadText, offset + error.valid_up_to() as u64))
}

/// The bytes as text, unchecked.
///
/// # Safety
/// The bytes must be UTF-8: a validator checked them, and nobody could write them since.
#[cfg_attr(not(feature = "small"), inline(always))]
#[allow(unsafe_code)]
pub(crate) unsafe fn text_unchecked(bytes: &[u8]) -> &str {
    debug_assert!(core::str::from_utf8(bytes).is_ok());
    // SAFETY: the caller's contract. Checking costs 3 to 5 µs of the 6 µs
    // that reading eight fields of a hundred tweets takes.
    unsafe { core::str::from_utf8_unchecked(bytes) }
}

/// Whether two keys are equal. Short keys are compared by a few overlapping loads, which is
/// faster than a call of the library's comparison.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.len() > 16 {
        return a == b;
    }
    if let (Some(x), Some(y)) = (a.first_chunk::<8>(), b.first_chunk::<8>()) {
        return x == y && a.last_chunk::<8>() == b.last_chunk::<8>();
    }
    if let (Some(x), Some(y)) = (a.first_chunk::<4>(), b.first_chunk::<4>()) {
        return x == y && a.last_chunk::<4>() == b.last_chunk::<4>();
    }
    a.iter().eq(b)
}

/// `value` rounded up to a multiple of eight.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) const fn round_up(value: u64) -> u64 {
    (value + 7) & !7
}

/// Counts what reads touch, for tests and the demo. Compiles to nothing without the `trace`
/// feature.
#[cfg(not(feature = "trace"))]
mod trace {
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(super) fn read(_bytes: &[u8], _offset: u64, _length: u64) {}
}

#[cfg(feature = "trace")]
pub(crate) mod trace {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;
    use std::vec::Vec;

    std::thread_local! {
        /// Whether this thread counts. While it does not, reads only look at this.
        static COUNTING: Cell<bool> = const { Cell::new(false) };
        /// Ranges (first byte, byte after the last), in the order of reads.
        static READS: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
    }

    /// Starts counting on this thread.
    pub fn start() {
        READS.with(|reads| reads.borrow_mut().clear());
        COUNTING.set(true);
    }

    /// How many bytes were touched since counting began, each counted once.
    pub fn bytes() -> u64 {
        READS.with(|reads| {
            let mut reads = reads.borrow_mut();
            merge(&mut reads);
            reads.iter().map(|(start, end)| end - start).sum()
        })
    }

    /// Stops counting. Returns the 4 KiB pages that were touched: pages of the document, not of
    /// memory.
    pub fn stop() -> Vec<u64> {
        COUNTING.set(false);
        let reads = READS.with(|reads| core::mem::take(&mut *reads.borrow_mut()));
        let pages = |(start, end): (u64, u64)| start / 4096..=(end.max(start + 1) - 1) / 4096;
        reads.into_iter().flat_map(pages).collect::<BTreeSet<_>>().into_iter().collect()
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn read(_bytes: &[u8], offset: u64, length: u64) {
        if COUNTING.get() {
            note(offset, offset + length);
        }
    }

    #[cold]
    #[inline(never)]
    fn note(start: u64, end: u64) {
        READS.with(|reads| {
            let mut reads = reads.borrow_mut();
            if reads.len() == reads.capacity() {
                merge(&mut reads);
            }
            reads.push((start, end));
        });
    }

    /// Sorts the ranges and joins those that touch.
    fn merge(reads: &mut Vec<(u64, u64)>) {
        reads.sort_unstable();
        reads.dedup_by(|next, last| {
            let joined = next.0 <= last.1;
            if joined {
                last.1 = last.1.max(next.1);
            }
            joined
        });
    }
}
