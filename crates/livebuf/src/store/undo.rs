//! The undo log of transactions: the bytes that edits overwrote, to be put back from the last to
//! the first.
//!
//! Entries lie behind each other, each of its bytes and eight more: the offset and the length.
//! A savepoint is an entry, too. So savepoints nest to any depth without memory of their own.
//!
//! The log is allocated memory. Where nothing may be allocated it is the later half of what the
//! document leaves of its own buffer.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::load_u32;
use core::ops::Range;

/// The offset of an entry that is a savepoint.
const SAVEPOINT: u32 = u32::MAX;
/// The offset of a savepoint whose transaction was committed into the one around it.
const MERGED: u32 = u32::MAX - 1;
/// Bytes of an entry's offset and length.
const FOOT: usize = 8;
/// Allocated memory up to this is kept for the next transaction.
#[cfg(feature = "alloc")]
const KEPT: usize = 1 << 16;

/// What a savepoint remembers beside bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Savepoint {
    /// Bytes of the document.
    pub(crate) used: u32,
    pub(crate) trusted: bool,
    pub(crate) clean_list: bool,
    pub(super) base: u32,
    pub(super) high: u32,
    /// Bytes of the log up to the savepoint before.
    pub(super) previous: u32,
}

impl Savepoint {
    const SIZE: usize = 20;

    fn to_bytes(self) -> [u8; Self::SIZE] {
        let flags = u32::from(self.trusted) | u32::from(self.clean_list) << 1;
        let words = [self.used, flags, self.base, self.high, self.previous];
        let mut bytes = [0; Self::SIZE];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Savepoint> {
        let word = |at| load_u32(bytes, at).ok();
        let flags = word(4)?;
        Some(Savepoint {
            used: word(0)?,
            base: word(8)?,
            high: word(12)?,
            trusted: flags & 1 != 0,
            clean_list: flags & 2 != 0,
            previous: word(16)?,
        })
    }
}

/// An entry of the log.
pub(super) enum Entry {
    /// Bytes to be put back at this offset, and where the log has them.
    Old(u64, Range<usize>),
    Savepoint(Savepoint),
    Nothing,
}

/// The log of the open transactions.
pub(crate) struct Undo {
    /// In a box, so that the editor of a document without transactions is small.
    #[cfg(feature = "alloc")]
    #[expect(clippy::box_collection, reason = "see above")]
    heap: Option<alloc::boxed::Box<alloc::vec::Vec<u8>>>,
    /// The part of the document's buffer that is the log; it ends at 0 where it is allocated.
    start: u32,
    end: u32,
    /// Open transactions, each within the one before.
    depth: u32,
    /// Bytes from here on were not used at any savepoint that is open: they need not be kept.
    base: u32,
    /// No byte from here on was changed since the first savepoint.
    high: u32,
    /// Bytes of the log.
    length: u32,
    /// Bytes of the log up to the last savepoint, with it.
    mark: u32,
    /// Bytes that the log could not hold.
    missing: u32,
}

impl Undo {
    pub(super) const fn new() -> Undo {
        Undo {
            #[cfg(feature = "alloc")]
            heap: None,
            start: 0,
            end: 0,
            depth: 0,
            base: 0,
            high: 0,
            length: 0,
            mark: 0,
            missing: 0,
        }
    }

    /// Whether a transaction is open, so that changes are to be noted.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.depth > 0
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// The bytes of the buffer that a document may use.
    #[inline]
    pub(super) fn capacity(&self, buffer: u64) -> u64 {
        if self.end > 0 { self.start as u64 } else { buffer }
    }

    /// The end of all that was changed.
    pub(super) fn high(&self) -> u64 {
        self.high as u64
    }

    /// Remembers why the log could not hold a change; `None` where that was taken back.
    pub(super) fn set_refusal(&mut self, error: Option<Error>) {
        self.missing = error.map_or(0, |error| (error.detail() as u32).max(1));
    }

    /// Why the log could not hold a change.
    pub(super) fn refusal(&self) -> Option<Error> {
        let kind = if self.end > 0 { ErrorKind::NoSpace } else { ErrorKind::Io };
        (self.missing > 0).then(|| Error::with_detail(kind, 0, self.missing as u64))
    }

    /// Opens a transaction. With `behind` its log takes the later half of what the document
    /// leaves of its buffer, else it is allocated.
    pub(super) fn begin(
        &mut self,
        buffer: &mut [u8],
        behind: bool,
        savepoint: Savepoint,
    ) -> Result<()> {
        if self.depth == 0 {
            let end = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
            let start = savepoint.used + end.saturating_sub(savepoint.used) / 2;
            (self.start, self.end) = if behind { (start, end) } else { (0, 0) };
            (self.base, self.high, self.length, self.mark) = (0, 0, 0, 0);
        }
        let (base, high, previous) = (self.base, self.high, self.mark);
        let savepoint = Savepoint { base, high, previous, ..savepoint };
        let pushed = self.push(buffer, SAVEPOINT, Bytes::Given(&savepoint.to_bytes()));
        if pushed.is_err() && self.depth == 0 {
            self.end = 0;
        }
        pushed?;
        self.depth += 1;
        self.mark = self.length;
        self.base = base.max(savepoint.used);
        self.high = high.max(savepoint.used);
        Ok(())
    }

    /// Notes that bytes will change.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] or [`ErrorKind::Io`] where the log cannot hold them.
    pub(super) fn note(&mut self, buffer: &mut [u8], changed: Range<u64>) -> Result<()> {
        let missing = changed.end.saturating_sub(self.capacity(u64::MAX));
        if missing > 0 {
            return Err(Error::with_detail(ErrorKind::NoSpace, changed.start, missing));
        }
        self.high = self.high.max(changed.end as u32);
        let end = changed.end.min(self.base as u64);
        if changed.start >= end {
            return Ok(());
        }
        let old = changed.start as usize..end as usize;
        self.push(buffer, changed.start as u32, Bytes::Document(old))
    }

    fn push(&mut self, buffer: &mut [u8], offset: u32, bytes: Bytes<'_>) -> Result<()> {
        let length = match &bytes {
            Bytes::Document(place) => place.len(),
            Bytes::Given(bytes) => bytes.len(),
        };
        let foot = (offset as u64 | (length as u64) << 32).to_le_bytes();
        let size = (length + FOOT) as u64;
        #[cfg(feature = "alloc")]
        if self.end == 0 {
            let full = || Error::with_detail(ErrorKind::Io, 0, size);
            let end = u32::try_from(self.length as u64 + size).map_err(|_| full())?;
            // Bytes of entries that were taken out are still there.
            let heap = self.heap.get_or_insert_default();
            heap.truncate(self.length as usize);
            heap.try_reserve(size as usize).map_err(|_| full())?;
            match bytes {
                Bytes::Document(place) => {
                    heap.extend_from_slice(buffer.get(place).unwrap_or_default());
                }
                Bytes::Given(bytes) => heap.extend_from_slice(bytes),
            }
            heap.extend_from_slice(&foot);
            self.length = end;
            return Ok(());
        }
        let start = self.start as u64 + self.length as u64;
        let missing = (start + size).saturating_sub(self.end as u64);
        if missing > 0 {
            return Err(Error::with_detail(ErrorKind::NoSpace, 0, missing));
        }
        let (start, after) = (start as usize, start as usize + length);
        match bytes {
            Bytes::Document(place) if place.end <= start => buffer.copy_within(place, start),
            // Storage that is shorter than it was.
            Bytes::Document(_) => {}
            Bytes::Given(bytes) => put(buffer, start, bytes),
        }
        put(buffer, after, &foot);
        self.length += size as u32;
        Ok(())
    }

    /// Takes the last entry out. Its bytes can be read until the next one is made.
    pub(super) fn pop(&mut self, buffer: &[u8]) -> Option<Entry> {
        let foot = (self.length as usize).checked_sub(FOOT)?;
        let log = self.log(buffer);
        let head = u64::from_le_bytes(*log.get(foot..)?.first_chunk()?);
        let start = foot.checked_sub((head >> 32) as usize)?;
        let entry = match head as u32 {
            SAVEPOINT => Entry::Savepoint(Savepoint::from_bytes(log.get(start..)?)?),
            MERGED => Entry::Nothing,
            offset => Entry::Old(offset as u64, start..foot),
        };
        self.length = start as u32;
        if let Entry::Savepoint(savepoint) = &entry {
            self.close(savepoint);
        }
        Some(entry)
    }

    /// Commits the last transaction into the one around it.
    pub(super) fn merge(&mut self, buffer: &mut [u8]) {
        let end = self.mark as usize;
        let start = end.saturating_sub(Savepoint::SIZE + FOOT);
        let savepoint = self.log(buffer).get(start..).and_then(Savepoint::from_bytes);
        let (offset, merged) = (end.saturating_sub(FOOT), MERGED.to_le_bytes());
        #[cfg(feature = "alloc")]
        let buffer = match &mut self.heap {
            Some(heap) if self.end == 0 => heap,
            _ => buffer,
        };
        put(buffer, self.start as usize + offset, &merged);
        let high = self.high;
        self.close(&savepoint.unwrap_or_default());
        self.high = high;
    }

    fn close(&mut self, savepoint: &Savepoint) {
        self.depth = self.depth.saturating_sub(1);
        (self.base, self.high, self.mark) = (savepoint.base, savepoint.high, savepoint.previous);
    }

    /// All entries.
    pub(super) fn log<'a>(&'a self, buffer: &'a [u8]) -> &'a [u8] {
        #[cfg(feature = "alloc")]
        if self.end == 0 {
            return self.heap.as_deref().map(|heap| &heap[..]).unwrap_or_default();
        }
        buffer.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Empties the log when the last transaction ended.
    pub(super) fn end(&mut self, buffer: &mut [u8]) {
        #[cfg(feature = "alloc")]
        if let Some(heap) = &mut self.heap {
            heap.clear();
            heap.shrink_to(KEPT);
        }
        let log = self.start as usize..self.end as usize;
        buffer.get_mut(log).unwrap_or_default().fill(0);
        (self.start, self.end, self.depth, self.length) = (0, 0, 0, 0);
    }
}

/// Bytes of a new entry.
enum Bytes<'a> {
    Document(Range<usize>),
    Given(&'a [u8]),
}

fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = buffer.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
