//! Checked access to a document's bytes: the only place that loads from them.
//!
//! Every load names its offset and fails with [`ErrorKind::OutOfBounds`]; all
//! offset arithmetic is done in 64 bits, so nothing wraps on any target. Loads
//! tolerate an unaligned base and are little-endian on every host.

use crate::error::{Error, ErrorKind, Result};

/// Inlined, unlike other errors. A valid view drops the error, and the compiler then drops the
/// code that makes it. Otherwise look-ups spill registers, which is a third of the time of
/// finding one of a hundred tweets.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn out_of_bounds(offset: u64, length: u64) -> Error {
    Error::with_detail(ErrorKind::OutOfBounds, offset, length)
}

/// `length` bytes from `offset`.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn slice(bytes: &[u8], offset: u64, length: u64) -> Result<&[u8]> {
    // `offset + length` cannot wrap: both are sums of few 32-bit numbers.
    trace::read(bytes, offset, length);
    let found = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(offset + length).ok())
        .and_then(|(start, end)| bytes.get(start..end));
    #[cfg(feature = "partial")]
    let found = found.filter(|found| partial::is_there(found));
    found.ok_or_else(|| out_of_bounds(offset, length))
}

/// Makes sure that a range lies in the document, without touching it.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn check(bytes: &[u8], offset: u64, length: u64) -> Result<()> {
    if offset + length > bytes.len() as u64 {
        return Err(out_of_bounds(offset, length));
    }
    Ok(())
}

/// Makes sure that a range is zero: [`ErrorKind::NotZero`] at its first byte that is not.
pub(crate) fn check_zero(bytes: &[u8], offset: u64, length: u64) -> Result<()> {
    match slice(bytes, offset, length)?.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => Err(Error::new(ErrorKind::NotZero, offset + at as u64)),
    }
}

#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn array<const N: usize>(bytes: &[u8], offset: u64) -> Result<[u8; N]> {
    match slice(bytes, offset, N as u64)?.try_into() {
        Ok(array) => Ok(array),
        Err(_) => Err(out_of_bounds(offset, N as u64)),
    }
}

/// Zeroes bytes. Up to 64 take few stores that overlap: a call of `memset` costs more.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn zero(place: &mut [u8]) {
    match place.len() {
        8..=16 => zero_ends::<8>(place),
        17..=32 => zero_ends::<16>(place),
        33..=64 => zero_ends::<32>(place),
        _ => place.fill(0),
    }
}

/// Zeroes the first and last `N` bytes.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn zero_ends<const N: usize>(place: &mut [u8]) {
    if let Some(first) = place.first_chunk_mut::<N>() {
        *first = [0; N];
    }
    if let Some(last) = place.last_chunk_mut::<N>() {
        *last = [0; N];
    }
}

/// Copies bytes to a place of the same length. From 8 to 32 take few stores that overlap: a call
/// of `memcpy` costs more.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn copy(place: &mut [u8], bytes: &[u8]) {
    match bytes.len() {
        8..=16 => copy_ends::<8>(place, bytes),
        17..=32 => copy_ends::<16>(place, bytes),
        _ => place.copy_from_slice(bytes),
    }
}

/// Copies the first and last `N` bytes.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn copy_ends<const N: usize>(place: &mut [u8], bytes: &[u8]) {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) {
        if let Some(place) = place.first_chunk_mut() {
            *place = *first;
        }
        if let Some(place) = place.last_chunk_mut() {
            *place = *last;
        }
    }
}

/// The byte at `offset`.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn load_u8(bytes: &[u8], offset: u64) -> Result<u8> {
    array::<1>(bytes, offset).map(|[byte]| byte)
}

/// The 16-bit word at `offset`.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn load_u16(bytes: &[u8], offset: u64) -> Result<u16> {
    array(bytes, offset).map(u16::from_le_bytes)
}

/// The 32-bit word at `offset`.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn load_u32(bytes: &[u8], offset: u64) -> Result<u32> {
    array(bytes, offset).map(u32::from_le_bytes)
}

/// The 64-bit word at `offset`.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn load_u64(bytes: &[u8], offset: u64) -> Result<u64> {
    array(bytes, offset).map(u64::from_le_bytes)
}

/// Whether all bytes are ASCII. Short texts take two loads that may overlap, which is faster than a
/// call.
#[inline]
pub fn is_ascii(bytes: &[u8]) -> bool {
    if let (17..=32, Some(first), Some(last)) =
        (bytes.len(), bytes.first_chunk::<16>(), bytes.last_chunk::<16>())
    {
        let high = u128::from_ne_bytes(*first) | u128::from_ne_bytes(*last);
        return high & 0x8080_8080_8080_8080_8080_8080_8080_8080 == 0;
    }
    if bytes.len() > 32 {
        return bytes.is_ascii();
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let high = u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last);
        return high & 0x8080_8080_8080_8080 == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return (u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last)) & 0x8080_8080 == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<2>(), bytes.last_chunk::<2>()) {
        return (u16::from_ne_bytes(*first) | u16::from_ne_bytes(*last)) & 0x8080 == 0;
    }
    bytes.first().is_none_or(u8::is_ascii)
}

/// The bytes as text, checked.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn text(bytes: &[u8], offset: u64) -> Result<&str> {
    // Most texts are short and ASCII. The library checks each byte of these: without that, serde
    // reads structs in a sixteenth to an eighth less time, with 14 % fewer instructions.
    if cfg!(not(feature = "small")) && bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { core::str::from_utf8_unchecked(bytes) });
    }
    core::str::from_utf8(bytes)
        .map_err(|error| Error::new(ErrorKind::BadText, offset + error.valid_up_to() as u64))
}

/// The bytes as text, unchecked.
///
/// # Safety
/// The bytes must be UTF-8: a validator checked them, and nobody could write them since.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
#[allow(unsafe_code)]
pub(crate) unsafe fn text_unchecked(bytes: &[u8]) -> &str {
    debug_assert!(core::str::from_utf8(bytes).is_ok());
    // SAFETY: the caller promises that the bytes are UTF-8. Checking that costs 3 to 5 µs of the 6
    // µs that reading eight fields of a hundred tweets takes.
    unsafe { core::str::from_utf8_unchecked(bytes) }
}

/// Whether two keys are equal. Short keys are compared by a few overlapping loads, which is
/// faster than a call of the library's comparison.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.len() > 16 || cfg!(feature = "small") {
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
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(crate) const fn round_up(value: u64) -> u64 {
    (value + 7) & !7
}

/// Counts what reads touch, for tests and the demo. Compiles to nothing without the `trace`
/// feature.
#[cfg(not(feature = "trace"))]
mod trace {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
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

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
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

/// Documents that this thread reads while some of their bytes are missing.
#[cfg(feature = "partial")]
pub(crate) mod partial {
    use core::ops::Range;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::cell::RefCell;
    use std::vec::Vec;

    /// Bytes that are fetched together, or not at all.
    pub(crate) const CHUNK: usize = 512;

    /// How many documents are read like this now, by all threads. While there are none, reads
    /// only look at this.
    static READ: AtomicUsize = AtomicUsize::new(0);

    std::thread_local! {
        static READING: RefCell<Vec<Reading>> = const { RefCell::new(Vec::new()) };
    }

    /// The chunks of a document that are there: a bit each.
    #[derive(Debug, Default)]
    pub(crate) struct Chunks(Vec<u64>);

    impl Chunks {
        pub(crate) fn of(length: usize) -> Chunks {
            Chunks(std::vec![0; length.div_ceil(CHUNK).div_ceil(64)])
        }

        pub(crate) fn has(&self, chunk: usize) -> bool {
            self.0.get(chunk / 64).is_some_and(|bits| bits >> (chunk % 64) & 1 == 1)
        }

        pub(crate) fn add(&mut self, chunk: usize) {
            if let Some(bits) = self.0.get_mut(chunk / 64) {
                *bits |= 1 << (chunk % 64);
            }
        }
    }

    /// A document that is read now.
    struct Reading {
        memory: Range<usize>,
        chunks: Chunks,
        /// The first range that was read and is not there, as offsets.
        missing: Option<Range<usize>>,
    }

    /// Runs `work`, which may read the document `bytes`. If it read a range that is missing,
    /// answers the first such range: then what `work` answered means nothing.
    pub(crate) fn reading<T>(
        bytes: &[u8],
        chunks: &mut Chunks,
        work: impl FnOnce() -> T,
    ) -> core::result::Result<T, Range<usize>> {
        /// Ends the reading even if `work` panics.
        struct Ended;
        impl Drop for Ended {
            fn drop(&mut self) {
                READING.with(|reading| reading.borrow_mut().pop());
                READ.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let start = bytes.as_ptr().addr();
        let memory = start..start + bytes.len();
        let reading = Reading { memory, chunks: core::mem::take(chunks), missing: None };
        READING.with(|all| all.borrow_mut().push(reading));
        READ.fetch_add(1, Ordering::Relaxed);
        let ended = Ended;
        let answer = work();
        let missing = READING.with(|all| {
            let mut all = all.borrow_mut();
            all.last_mut().and_then(|reading| {
                *chunks = core::mem::take(&mut reading.chunks);
                reading.missing.take()
            })
        });
        drop(ended);
        match missing {
            None => Ok(answer),
            Some(missing) => Err(missing),
        }
    }

    /// Whether all of these bytes are there. If not, notes them.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn is_there(bytes: &[u8]) -> bool {
        READ.load(Ordering::Relaxed) == 0 || look(bytes)
    }

    #[cold]
    #[inline(never)]
    fn look(bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let at = bytes.as_ptr().addr();
        READING.with(|all| {
            let mut all = all.borrow_mut();
            let Some(reading) = all.iter_mut().find(|one| one.memory.contains(&at)) else {
                return true;
            };
            let from = at - reading.memory.start;
            let to = from + bytes.len();
            let is_there =
                (from / CHUNK..to.div_ceil(CHUNK)).all(|chunk| reading.chunks.has(chunk));
            if !is_there {
                reading.missing.get_or_insert(from..to);
            }
            is_there
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_places_are_zeroed_and_copied_whole() {
        let bytes: [u8; 100] = core::array::from_fn(|at| at as u8 + 1);
        for length in 0..=80 {
            let mut place = [0xFF; 100];
            zero(&mut place[10..10 + length]);
            assert!(place[10..10 + length].iter().all(|&byte| byte == 0));
            copy(&mut place[10..10 + length], &bytes[..length]);
            assert_eq!(place[10..10 + length], bytes[..length]);
            assert!(place[..10].iter().chain(&place[10 + length..]).all(|&byte| byte == 0xFF));
        }
    }
}
