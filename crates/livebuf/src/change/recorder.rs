//! Recorder: which bytes of a document changed, and how they were.

use crate::format::bytes::load_u32;
use crate::format::layout::*;
use crate::format::memory::require_memory;
use crate::store::space::Listener;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};

/// Records which bytes of a document change.
///
/// It is a [`Listener`]. A storage can also hold it, and tell it what
/// [`will_change`](crate::Storage::will_change).
///
/// It can keep the bytes as they were, too: each byte when it is first overwritten. Its memory is
/// linear in the bytes that changed of the document that was there at the beginning, however many
/// edits there are. A write that overwrites bytes of the last one again costs constant time. Any
/// other costs O(log r) for r ranges.
///
/// ```
/// use livebuf::{Recorder, json};
///
/// let mut doc = json!({"lap": 55, "laps": [1]});
/// doc.listen(Recorder::new(doc.as_bytes()));           // from here on
/// let mut copy = doc.as_bytes().to_vec();
///
/// doc.set_pointer("/lap", 56)?;
/// let length = doc.as_bytes().len();
/// copy.resize(length, 0);
/// let recorder = doc.stop_listening::<Recorder>().unwrap();
/// for (offset, size) in recorder.ranges(length as u64) {
///     let range = offset as usize..(offset + size) as usize;
///     copy[range.clone()].copy_from_slice(&doc.as_bytes()[range]);
/// }
/// assert_eq!(copy, doc.as_bytes());
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Used bytes of the document as it was at the beginning.
    base_length: u32,
    #[cfg(feature = "delta")]
    pub(super) base: Option<crate::format::state::State>,
    /// Where the document's state was at the beginning.
    #[cfg(feature = "delta")]
    pub(super) base_place: Option<u64>,
    /// Pieces that were changed, by their offsets. Of each its end, and where its old bytes begin
    /// in `old`.
    pieces: BTreeMap<u32, (u32, u32)>,
    /// How many pieces the system has memory for, as it said.
    room: usize,
    /// The piece that was changed last.
    last: (u32, u32),
    keeps_old: bool,
    old: Vec<u8>,
    /// There was no memory for what changed.
    is_lost: bool,
}

/// The nodes of the tree of pieces are too small to ask the system for one by one. So it is asked
/// for many pieces at once, of `PIECE` bytes each. Most recordings have few pieces, and do not ask.
const FEW_PIECES: usize = 64;
const PIECES_AHEAD: usize = 1024;
const PIECE: usize = 64;

impl Recorder {
    /// Records the changes of a document whose bytes are these now.
    pub fn new(document: &[u8]) -> Recorder {
        let used = load_u32(document, HEADER_USED as u64).unwrap_or(0);
        let document = document.get(..used as usize).unwrap_or(document);
        Recorder {
            base_length: document.len() as u32,
            #[cfg(feature = "delta")]
            base: crate::view::Doc::open(document).ok().and_then(|doc| doc.state()),
            #[cfg(feature = "delta")]
            base_place: crate::edit::state_place(document),
            ..Recorder::default()
        }
    }

    /// Records the changes of a document whose bytes are these now, and keeps the bytes that are
    /// overwritten.
    pub fn with_old(document: &[u8]) -> Recorder {
        Recorder { keeps_old: true, ..Recorder::new(document) }
    }

    /// Used bytes of the document at the beginning.
    pub fn base_length(&self) -> u64 {
        self.base_length as u64
    }

    /// Whether overwritten bytes are kept.
    pub fn keeps_old(&self) -> bool {
        self.keeps_old
    }

    /// Bytes of memory that it takes, about.
    pub fn memory(&self) -> usize {
        self.old.capacity() + self.pieces.len() * 24
    }

    /// Notes that `length` bytes at `offset` change next. Storages call it. `bytes` are all bytes
    /// of the storage, as they are before the change.
    pub fn will_change(&mut self, bytes: &[u8], offset: u64, length: u64) {
        let (offset, end) = (offset as usize, offset.saturating_add(length) as usize);
        if let Some(old) = bytes.get(offset..end.min(bytes.len())) {
            self.note(offset as u64, old);
        }
    }

    /// Whether anything changed. `length`: used bytes of the document now. Constant time.
    pub fn has_changes(&self, length: u64) -> bool {
        self.base_length() != length || !self.pieces.is_empty()
    }

    /// The ranges that changed, each as (offset, length). They ascend, and between two of them are
    /// bytes that did not change. `length`: used bytes of the document now. If the document grew,
    /// its new bytes are in a range, too. Bytes behind `length` are in none.
    pub fn ranges(&self, length: u64) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let growth = (self.base_length as u64, length);
        let pieces = self.pieces.iter().map(|(&start, &(end, _))| (start as u64, end as u64));
        for (start, end) in pieces.chain([growth]) {
            let end = end.min(length);
            match ranges.last_mut() {
                _ if start >= end => {}
                Some(last) if last.0 + last.1 == start => last.1 = end - last.0,
                _ => ranges.push((start, end - start)),
            }
        }
        ranges
    }

    /// Puts the bytes of the document as it was over those of its storage now, which begin at
    /// `start`. Returns the number of bytes that it put.
    #[cfg(feature = "delta")]
    #[doc(hidden)]
    pub fn restore(&self, start: u64, bytes: &mut [u8]) -> usize {
        let mut count = 0;
        let end = start + bytes.len() as u64;
        let first = self.pieces.range(..=start as u32).next_back().map_or(0, |(&start, _)| start);
        for (&from, &(to, at)) in self.pieces.range(first..) {
            let (from, to) = (from as u64, to as u64);
            if from >= end {
                break;
            }
            let (left, right) = (from.max(start), to.min(end));
            if left < right {
                let old = at as usize + (left - from) as usize;
                let old = self.old.get(old..old + (right - left) as usize);
                let place = bytes.get_mut((left - start) as usize..(right - start) as usize);
                if let (Some(old), Some(place)) = (old, place) {
                    place.copy_from_slice(old);
                    count += place.len();
                }
            }
        }
        count
    }

    /// How many pieces were changed.
    #[cfg(feature = "delta")]
    pub(super) fn count(&self) -> usize {
        self.pieces.len()
    }

    /// Whether changes are missing, since there was no memory for them.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    #[inline]
    fn note(&mut self, offset: u64, old: &[u8]) {
        let end = (offset + old.len() as u64).min(self.base_length as u64) as u32;
        let start = offset as u32;
        let is_known = start >= self.last.0 && end <= self.last.1;
        if offset < end as u64 && !is_known {
            self.add(start, end, old);
        }
    }

    /// Adds what is not there yet of `start..end`.
    #[inline(never)]
    fn add(&mut self, start: u32, end: u32, old: &[u8]) {
        let before = self.pieces.range(..=start).next_back();
        let mut at = before.map_or(start, |(_, &(end, _))| end.max(start));
        while at < end {
            let next = self.pieces.range((Excluded(at), Unbounded)).next();
            // A piece that begins here has no gap before it.
            let here = self.pieces.get(&at).map(|&(end, _)| end);
            if let Some(here) = here {
                at = here;
                continue;
            }
            let (gap_end, after) = match next {
                Some((&next, &(after, _))) if next < end => (next, after),
                _ => (end, end),
            };
            self.insert(at, gap_end, old.get((at - start) as usize..(gap_end - start) as usize));
            at = after;
        }
        let last = self.pieces.range(..=start).next_back();
        self.last = last.map_or((0, 0), |(&start, &(end, _))| (start, end));
    }

    fn insert(&mut self, mut start: u32, mut end: u32, old: Option<&[u8]>) {
        if self.pieces.len() >= self.room.max(FEW_PIECES) {
            self.is_lost |= require_memory(PIECES_AHEAD * PIECE).is_err();
            self.room = self.pieces.len() + PIECES_AHEAD;
        }
        if self.is_lost {
            return;
        }
        let mut at = self.old.len() as u32;
        if self.keeps_old {
            let old = old.unwrap_or_default();
            if self.old.try_reserve(old.len()).is_err() {
                self.is_lost = true;
                return;
            }
            self.old.extend_from_slice(old);
        }
        // Joined with its neighbours, if their old bytes are neighbours, too.
        if let Some((&before, &(before_end, before_at))) = self.pieces.range(..start).next_back()
            && before_end == start
            && (!self.keeps_old || before_at + (before_end - before) == at)
        {
            (start, at) = (before, before_at);
        }
        if !self.keeps_old
            && let Some((after, _)) = self.pieces.remove(&end)
        {
            end = after;
        }
        self.pieces.insert(start, (end, at));
    }
}

impl Listener for Recorder {
    fn will_change(&mut self, bytes: &[u8], offset: u64, length: u64) {
        self.will_change(bytes, offset, length);
    }
}
