//! The undo log of transactions: the bytes that edits overwrote, to be put back from the last to
//! the first.
//!
//! Entries lie one after the other. Each has the old bytes, and then their offset and length in
//! eight bytes. A savepoint is an entry, too, so savepoints nest without memory of their own.
//!
//! The log is allocated memory. If nothing may be allocated, it is the second half of the room
//! after the document in its buffer.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::load_u32;
use core::ops::Range;

/// The offset of an entry that is a savepoint.
const SAVEPOINT: u32 = u32::MAX;
/// The offset of a savepoint whose transaction was committed into the one around it.
const MERGED: u32 = u32::MAX - 1;
/// The bit beside the count of transactions: the document has a state, which the next change ends.
/// Both are in one word, so that a write asks only once whether there is anything to do.
const STATED: u32 = 1 << 31;
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
    /// Bytes from here on were not used at any savepoint that is open: they need not be kept.
    pub(super) base: u32,
    /// Bytes of the log when it was made.
    pub(super) mark: u32,
}

impl Savepoint {
    const SIZE: usize = 16;

    fn to_bytes(self) -> [u8; Self::SIZE] {
        let flags = u32::from(self.trusted) | u32::from(self.clean_list) << 1;
        let mut bytes = [0; Self::SIZE];
        for (place, word) in bytes.chunks_exact_mut(4).zip([self.used, flags, self.base, self.mark])
        {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Savepoint> {
        let word = |at| load_u32(bytes, at).ok();
        let flags = word(4)?;
        Some(Savepoint {
            used: word(0)?,
            trusted: flags & 1 != 0,
            clean_list: flags & 2 != 0,
            base: word(8)?,
            mark: word(12)?,
        })
    }
}

/// The log of the open transactions.
pub(crate) struct Undo {
    /// In a box, so that the editor of a document without transactions is small.
    #[cfg(feature = "alloc")]
    #[expect(clippy::box_collection, reason = "see above")]
    heap: Option<alloc::boxed::Box<alloc::vec::Vec<u8>>>,
    /// The part of the document's buffer that is the log. Its end is 0 if the log is allocated.
    start: u32,
    end: u32,
    /// Open transactions, each within the one before; and [`STATED`].
    depth: u32,
    /// The last savepoint. Those before it are in the log.
    savepoint: Savepoint,
    /// No byte from here on was changed since the first savepoint.
    high: u32,
    /// Bytes of the log.
    length: u32,
    /// The bytes of the last entry, if it is younger than the savepoint. Loops often write one
    /// place again and again: the log has what was there before.
    last: Range<u32>,
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
            savepoint: Savepoint { used: 0, trusted: false, clean_list: false, base: 0, mark: 0 },
            high: 0,
            length: 0,
            last: 0..0,
            missing: 0,
        }
    }

    /// Whether a transaction is open, so that changes are to be noted.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.depth() > 0
    }

    /// Whether the log lies behind the document, in its buffer.
    pub(super) fn is_behind(&self) -> bool {
        self.end > 0
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth & !STATED
    }

    /// Whether there is anything to do before a change: a transaction is open, or the document has
    /// a state.
    #[inline]
    pub(super) fn is_watching(&self) -> bool {
        self.depth > 0
    }

    /// Whether the next change ends the document's state.
    pub(super) fn is_stated(&self) -> bool {
        self.depth & STATED != 0
    }

    pub(super) fn set_stated(&mut self, stated: bool) {
        self.depth = self.depth() | if stated { STATED } else { 0 };
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

    /// Remembers why the log could not hold a change; `None` once the change was taken back.
    pub(super) fn set_refusal(&mut self, error: Option<Error>) {
        self.missing = error.map_or(0, |error| (error.detail() as u32).max(1));
    }

    /// Why the log could not hold a change.
    pub(super) fn refusal(&self) -> Option<Error> {
        let missing = (self.missing > 0).then_some(self.missing as u64)?;
        Some(match self.end > 0 {
            true => Error::with_detail(ErrorKind::NoSpace, 0, missing),
            false => Error::out_of_memory(missing),
        })
    }

    /// Opens a transaction. With `behind` its log takes the later half of what the document
    /// leaves of its buffer, else it is allocated.
    pub(super) fn begin(
        &mut self,
        buffer: &mut [u8],
        behind: bool,
        savepoint: Savepoint,
    ) -> Result<()> {
        if self.depth() == 0 {
            let end = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
            let start = savepoint.used + end.saturating_sub(savepoint.used) / 2;
            (self.start, self.end) = if behind { (start, end) } else { (0, 0) };
            (self.high, self.length) = (0, 0);
        } else {
            let outer = self.savepoint.to_bytes();
            self.push(buffer, SAVEPOINT, Bytes::Given(&outer))?;
        }
        self.depth += 1;
        let base = self.savepoint.base.max(savepoint.used);
        self.savepoint = Savepoint { base, mark: self.length, ..savepoint };
        self.high = self.high.max(savepoint.used);
        self.last = 0..0;
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
        let (start, end) = (changed.start as u32, (changed.end as u32).min(self.savepoint.base));
        if start >= end || (self.last.start <= start && end <= self.last.end) {
            return Ok(());
        }
        self.push(buffer, start, Bytes::Document(start as usize..end as usize))?;
        self.last = start..end;
        Ok(())
    }

    #[inline]
    fn push(&mut self, buffer: &mut [u8], offset: u32, bytes: Bytes<'_>) -> Result<()> {
        let length = match &bytes {
            Bytes::Document(place) => place.len(),
            Bytes::Given(bytes) => bytes.len(),
        };
        let foot = (offset as u64 | (length as u64) << 32).to_le_bytes();
        let size = (length + FOOT) as u64;
        #[cfg(feature = "alloc")]
        if self.end == 0 {
            let full = || Error::out_of_memory(size);
            let end = u32::try_from(self.length as u64 + size).map_err(|_| full())?;
            let heap = self.heap.get_or_insert_default();
            heap.try_reserve(size as usize).map_err(|_| full())?;
            let old = match bytes {
                Bytes::Document(place) => buffer.get(place).unwrap_or_default(),
                Bytes::Given(bytes) => bytes,
            };
            match <[u8; 8]>::try_from(old) {
                // Most edits write a cell: one store for it and the foot.
                Ok(cell) => {
                    let entry =
                        u64::from_le_bytes(cell) as u128 | (u64::from_le_bytes(foot) as u128) << 64;
                    heap.extend_from_slice(&entry.to_le_bytes());
                }
                Err(_) => {
                    heap.extend_from_slice(old);
                    heap.extend_from_slice(&foot);
                }
            }
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
            // This can only be if the storage got shorter.
            Bytes::Document(_) => {}
            Bytes::Given(bytes) => put(buffer, start, bytes),
        }
        put(buffer, after, &foot);
        self.length += size as u32;
        Ok(())
    }

    /// Takes the last entry since the last savepoint out: the offset of old bytes, and where the
    /// log has them until [`close`](Self::close). `None` when all are out.
    pub(super) fn pop(&mut self, buffer: &[u8]) -> Option<(u64, Range<usize>)> {
        while self.length > self.savepoint.mark {
            let (offset, place) = self.entry_before(buffer, self.length as usize)?;
            self.length = place.start as u32;
            if offset != MERGED {
                return Some((offset as u64, place));
            }
        }
        None
    }

    /// The entry that ends at `end`: its offset and the place of its bytes.
    fn entry_before(&self, buffer: &[u8], end: usize) -> Option<(u32, Range<usize>)> {
        let foot = end.checked_sub(FOOT)?;
        let head = u64::from_le_bytes(*self.log(buffer).get(foot..)?.first_chunk()?);
        Some((head as u32, foot.checked_sub((head >> 32) as usize)?..foot))
    }

    /// Commits the last transaction into the one around it.
    pub(super) fn merge(&mut self, buffer: &mut [u8]) {
        let mark = self.savepoint.mark as usize;
        let merged = MERGED.to_le_bytes();
        let outer = self.outer(buffer);
        #[cfg(feature = "alloc")]
        let buffer = match &mut self.heap {
            Some(heap) if self.end == 0 => heap,
            _ => buffer,
        };
        put(buffer, self.start as usize + mark.saturating_sub(FOOT), &merged);
        self.savepoint = outer;
        self.depth -= u32::from(self.is_open());
        self.last = 0..0;
    }

    /// Ends the last transaction, whose entries were all taken out, and returns its savepoint.
    pub(super) fn close(&mut self, buffer: &[u8]) -> Savepoint {
        let savepoint = self.savepoint;
        self.length = savepoint.mark;
        if self.depth() > 1 {
            self.savepoint = self.outer(buffer);
            self.length = self.length.saturating_sub((Savepoint::SIZE + FOOT) as u32);
        }
        #[cfg(feature = "alloc")]
        if let Some(heap) = &mut self.heap {
            heap.truncate(self.length as usize);
        }
        self.depth -= u32::from(self.is_open());
        self.last = 0..0;
        savepoint
    }

    /// The savepoint before the last one.
    fn outer(&self, buffer: &[u8]) -> Savepoint {
        let entry = self.entry_before(buffer, self.savepoint.mark as usize);
        let bytes = entry.and_then(|(_, place)| self.log(buffer).get(place));
        bytes.and_then(Savepoint::from_bytes).unwrap_or_default()
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
    #[inline]
    pub(super) fn end(&mut self, buffer: &mut [u8]) {
        #[cfg(feature = "alloc")]
        if let Some(heap) = &mut self.heap {
            heap.clear();
            if heap.capacity() > KEPT {
                heap.shrink_to(KEPT);
            }
        }
        if self.end > 0 {
            let log = self.start as usize..self.end as usize;
            buffer.get_mut(log).unwrap_or_default().fill(0);
        }
        (self.start, self.end, self.length) = (0, 0, 0);
        self.depth &= STATED;
        self.savepoint = Savepoint::default();
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
