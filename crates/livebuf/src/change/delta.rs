//! Delta: the changes from one state of a document to the next.

use super::error::DeltaError;
use super::recorder::Recorder;
use crate::edit::{Editor, state_place};
use crate::error::{Error, ErrorKind};
use crate::format::bytes::{load_u8, load_u32};
use crate::format::layout::*;
use crate::format::memory::{self, require_memory};
use crate::format::state::State;
use crate::store::storage::Storage;
use crate::view::{Doc, Header};
use alloc::vec::Vec;
use core::ops::Range;
use sha2::{Digest, Sha256};

/// Bytes of the header that no delta changes by a range: what is the same in all documents, and
/// the flags; the count of used bytes, which is the delta's new length.
pub(super) const FIXED: [Range<u64>; 2] =
    [0..HEADER_ROOT_CELL as u64, HEADER_USED as u64..HEADER_NEWEST_SHAPE as u64];
/// Equal bytes between two changed ones that cost less than a new range.
const BRIDGE: u64 = 2;
/// Bytes that are compared at a time.
const PIECE: usize = 512;

/// The changes from one state of a document to another one, as a value.
///
/// It is made of what a [`Recorder`] saw. Applied to a copy of the document as it was, it makes the
/// copy equal, byte by byte. If it has the old bytes, it can be inverted, and so taken back.
///
/// This replicates, it does not merge: a delta fits only to the state that it begins at. Two copies
/// that were both edited cannot exchange deltas. `docs/DELTA.md` specifies its
/// [encoding](Self::to_bytes).
///
/// ```
/// use livebuf::{Delta, Recorder, State, json};
///
/// let mut doc = json!({"lap": 55});
/// doc.set_state(State::random())?;
/// let mut copy = doc.clone();
///
/// doc.listen(Recorder::new(doc.as_bytes()));
/// doc.set_pointer("/lap", 56)?;
/// let recorder = doc.stop_listening().unwrap();
/// let delta = Delta::make(&mut doc, recorder)?;
///
/// let sent = delta.to_bytes();
/// assert!(sent.len() <= 72);
/// Delta::from_bytes(&sent)?.apply(&mut copy)?;
/// assert_eq!(copy.as_bytes(), doc.as_bytes());
/// assert_eq!(copy.state(), Some(delta.state()));
/// assert!(delta.apply(&mut copy).is_err());            // it has another state now
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub(super) base: State,
    pub(super) state: State,
    pub(super) base_length: u32,
    pub(super) length: u32,
    /// (offset, length), ascending, without overlap. With old bytes they reach to the end of the
    /// longer one of both documents, else to the end of the new one.
    pub(super) places: Vec<(u32, u32)>,
    /// Bytes of all places below the new length.
    pub(super) new: Vec<u8>,
    /// Bytes of all places below the old length.
    pub(super) old: Option<Vec<u8>>,
    /// Of the document afterwards.
    pub(super) digest: Option<[u8; 32]>,
}

/// A range of bytes that a delta changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'d> {
    /// Where in the document.
    pub offset: u64,
    /// The bytes there afterwards; fewer than `old` where the document ends in this range.
    pub new: &'d [u8],
    /// The bytes there before, if the delta has them; fewer than `new` where the document ended
    /// in this range.
    pub old: Option<&'d [u8]>,
}

impl Delta {
    /// Makes a delta of what a recorder saw since it was made, and gives the document the state
    /// that the delta leads to.
    ///
    /// The recorder must have seen all changes of this document: as its listener, or from its
    /// storage. Take it out first. The next recording begins by a new recorder.
    ///
    /// The new state follows from the base and the changes: it is a hash of both. O(n) for n bytes
    /// that changed.
    ///
    /// # Errors
    /// [`DeltaError::NoState`] where the document had no state when the recording began.
    /// [`ErrorKind::BadSequence`] within a transaction, which may still be rolled back. Memory, and
    /// what an edit reports where it finds no room.
    pub fn make<S: Storage>(
        editor: &mut Editor<S>,
        mut recorder: Recorder,
    ) -> Result<Delta, DeltaError> {
        let base = recorder.base.ok_or(DeltaError::NoState)?;
        if editor.transactions() > 0 {
            return Err(Error::new(ErrorKind::BadSequence, 0).into());
        }
        // If the document was encoded again, its state needs a place again.
        if state_place(editor.as_bytes()).is_none() {
            let (bytes, used) = (editor.storage().bytes(), editor.as_bytes().len() as u64);
            let aux = load_u32(bytes, HEADER_AUX as u64)? as u64;
            recorder.will_change(bytes, used, (aux_size(FEW_CLASSES) + STATE_SIZE) as u64);
            recorder.will_change(bytes, HEADER_AUX as u64, 4);
            if aux != 0 {
                recorder.will_change(bytes, aux + AUX_STATE as u64, 4);
            }
        }
        let place = editor.place_state()?;
        if recorder.is_lost() {
            return Err(DeltaError::memory(recorder.base_length() as usize));
        }
        let mut delta = Delta {
            base,
            state: base,
            base_length: recorder.base_length() as u32,
            length: editor.as_bytes().len() as u32,
            places: Vec::new(),
            new: Vec::new(),
            old: recorder.keeps_old().then(Vec::new),
            digest: None,
        };
        // The state itself is no range, if it stays in its place.
        let left = recorder.base_place.unwrap_or(place);
        let places = [place, left].map(|place| place..place + STATE_SIZE as u64);
        let bytes = editor.storage().bytes();
        places.iter().for_each(|place| recorder.will_change(bytes, place.start, STATE_SIZE as u64));
        delta.collect(bytes, &recorder, &places, recorder.base_place == Some(place))?;
        let hash = Sha256::new().chain_update(base.to_bytes()).chain_update(delta.content());
        let hash: [u8; 32] = hash.finalize().into();
        let state = hash.first_chunk().copied().unwrap_or_default();
        delta.state = State::from_bytes(state);
        editor.space.put_state(place, &state);
        editor.space.editable()?;
        Ok(delta)
    }

    /// Takes the changed ranges, without those that must not be in a delta. `states`: where the
    /// state is, and where it was. A state that left its place is a range there even if nothing
    /// wrote these bytes: an earlier delta has put it there, and not as a range.
    fn collect(
        &mut self,
        bytes: &[u8],
        recorder: &Recorder,
        states: &[Range<u64>; 2],
        is_fixed: bool,
    ) -> Result<(), DeltaError> {
        let longer = match self.old {
            Some(_) => self.length.max(self.base_length),
            None => self.length,
        } as u64;
        let shorter = self.length.min(self.base_length) as u64;
        // Twice as many ranges while the list of them grows.
        require_memory(3 * size_of::<(u64, u64)>() * (recorder.count() + 1))?;
        let (mut ranges, mut refused): (Vec<Range<u64>>, _) = (Vec::new(), Ok(()));
        let mut push = |range: Range<u64>| match ranges.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if range.start <= last.end + BRIDGE => last.end = last.end.max(range.end),
            _ if refused.is_err() => {}
            _ => refused = memory::push(&mut ranges, range, 0),
        };
        let mut old = [0; PIECE];
        for (start, length) in recorder.ranges(shorter) {
            let mut at = start;
            let end = start + length;
            // Old bytes say which of them are as they were.
            while self.old.is_some() && at < end {
                let size = (end - at).min(PIECE as u64) as usize;
                let now = bytes.get(at as usize..at as usize + size).unwrap_or_default();
                let old = &mut old[..now.len()];
                old.copy_from_slice(now);
                recorder.restore(at, old);
                for (index, (old, new)) in old.iter().zip(now).enumerate() {
                    // The state is written there later.
                    let index = at + index as u64;
                    if old != new || states.iter().any(|place| place.contains(&index)) {
                        push(index..index + 1);
                    }
                }
                at += size.max(1) as u64;
            }
            push(at..end);
        }
        // The bytes by which one document is longer.
        push(shorter..longer);
        refused?;
        let place = if is_fixed { states[0].clone() } else { 0..0 };
        for range in ranges {
            let mut at = range.start;
            for hole in FIXED.iter().chain([&place]) {
                if hole.end > at && hole.start < range.end && !hole.is_empty() {
                    self.add(bytes, recorder, at..hole.start.max(at))?;
                    at = hole.end;
                }
            }
            self.add(bytes, recorder, at..range.end.max(at))?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        bytes: &[u8],
        recorder: &Recorder,
        range: Range<u64>,
    ) -> Result<(), DeltaError> {
        if range.is_empty() {
            return Ok(());
        }
        let missing = || DeltaError::memory((range.end - range.start) as usize);
        let end = range.end.min(self.length as u64).max(range.start);
        let now = bytes.get(range.start as usize..end as usize).unwrap_or_default();
        extend(&mut self.new, now)?;
        if let Some(old) = &mut self.old {
            let size = range.end.min(self.base_length as u64).saturating_sub(range.start) as usize;
            let now = now.get(..size).unwrap_or(now);
            let (before, rest) = (old.len(), size - now.len());
            extend(old, now)?;
            recorder.restore(range.start, &mut old[before..]);
            // The document got shorter. The storage may no longer have the rest.
            old.try_reserve(rest).map_err(|_| missing())?;
            old.resize(before + size, 0);
            let place = &mut old[before + now.len()..];
            if recorder.restore(range.start + now.len() as u64, place) < rest {
                return Err(missing());
            }
        }
        self.places.try_reserve(1).map_err(|_| missing())?;
        self.places.push((range.start as u32, (range.end - range.start) as u32));
        Ok(())
    }

    /// The state that the delta begins at.
    pub fn base(&self) -> State {
        self.base
    }

    /// The state that the delta leads to.
    pub fn state(&self) -> State {
        self.state
    }

    /// Used bytes of the document before.
    pub fn base_length(&self) -> u64 {
        self.base_length as u64
    }

    /// Used bytes of the document afterwards.
    pub fn length(&self) -> u64 {
        self.length as u64
    }

    /// Whether the delta has the old bytes, so that it can be inverted.
    pub fn keeps_old(&self) -> bool {
        self.old.is_some()
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.base_length == self.length
    }

    /// Bytes of memory that it takes, about.
    pub fn memory(&self) -> usize {
        let old = self.old.as_ref().map_or(0, Vec::len);
        self.new.len() + old + self.places.len() * 8 + size_of::<Delta>()
    }

    /// What changes, in ascending order. The count of used bytes, the header's first eight bytes
    /// and the state are not among it.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let (mut new, mut old) = (&self.new[..], self.old.as_deref());
        self.places.iter().map(move |&(offset, length)| {
            let size = |document: u32| document.saturating_sub(offset).min(length) as usize;
            let (now, rest) = new.split_at_checked(size(self.length)).unwrap_or_default();
            new = rest;
            let before = old.map(|bytes| {
                let (before, rest) =
                    bytes.split_at_checked(size(self.base_length)).unwrap_or_default();
                old = Some(rest);
                before
            });
            Change { offset: offset as u64, new: now, old: before }
        })
    }

    /// The delta without old bytes: it is smaller, and cannot be inverted.
    #[must_use]
    pub fn without_old(&self) -> Delta {
        let mut delta = Delta {
            places: Vec::with_capacity(self.places.len()),
            new: self.new.clone(),
            old: None,
            ..*self
        };
        for &(offset, length) in &self.places {
            let length = self.length.saturating_sub(offset).min(length);
            if length > 0 {
                delta.places.push((offset, length));
            }
        }
        delta
    }

    /// The delta that leads back: it takes the changes of this one back.
    ///
    /// # Errors
    /// [`DeltaError::NoOldBytes`].
    pub fn invert(&self) -> Result<Delta, DeltaError> {
        let mut delta = self.clone();
        delta.turn()?;
        Ok(delta)
    }

    /// The same, in place. Constant time.
    pub(super) fn turn(&mut self) -> Result<(), DeltaError> {
        let old = self.old.take().ok_or(DeltaError::NoOldBytes)?;
        self.old = Some(core::mem::replace(&mut self.new, old));
        core::mem::swap(&mut self.base, &mut self.state);
        core::mem::swap(&mut self.base_length, &mut self.length);
        self.digest = None;
        Ok(())
    }

    /// One delta that does what this one and then `next` do. It has old bytes if both have.
    /// Linear in their bytes.
    ///
    /// # Errors
    /// [`DeltaError::NotConsecutive`] where `next` does not begin where this one ends.
    pub fn compose(&self, next: &Delta) -> Result<Delta, DeltaError> {
        if (self.state, self.length) != (next.base, next.base_length) {
            return Err(DeltaError::NotConsecutive { first: self.state, second: next.base });
        }
        let keeps_old = self.old.is_some() && next.old.is_some();
        let mut both = Delta {
            base: self.base,
            base_length: self.base_length,
            places: Vec::new(),
            new: Vec::new(),
            old: keeps_old.then(Vec::new),
            ..*next
        };
        let end = if keeps_old { next.length.max(self.base_length) } else { next.length };
        let mut cuts: Vec<u32> = [self.base_length, self.length, next.length, end].into();
        for &(offset, length) in self.places.iter().chain(&next.places) {
            cuts.extend([offset, offset + length]);
        }
        cuts.sort_unstable();
        cuts.dedup();
        let (mut first, mut second) = (self.changes().peekable(), next.changes().peekable());
        for cut in cuts.windows(2) {
            let (start, stop) = (cut[0] as u64, cut[1] as u64);
            if stop > end as u64 {
                break;
            }
            let size = (stop - start) as usize;
            while first.next_if(|change| change.end() <= start).is_some() {}
            while second.next_if(|change| change.end() <= start).is_some() {}
            let first = first.peek().filter(|change| change.offset <= start);
            let second = second.peek().filter(|change| change.offset <= start);
            if first.is_none() && second.is_none() {
                continue;
            }
            let part = |change: Option<&Change<'_>>, new: bool| {
                let change = change?;
                let bytes = if new { change.new } else { change.old? };
                let at = (start - change.offset) as usize;
                bytes.get(at..at + size).filter(|bytes| !bytes.is_empty()).map(<[u8]>::to_vec)
            };
            if start < next.length as u64 {
                let new = part(second, true).or_else(|| part(first, true));
                extend(&mut both.new, &new.ok_or(DeltaError::damaged(size, "bytes are missing"))?)?;
            }
            if let Some(bytes) = &mut both.old
                && start < self.base_length as u64
            {
                let old = if first.is_some() { part(first, false) } else { part(second, false) };
                extend(bytes, &old.ok_or(DeltaError::damaged(size, "bytes are missing"))?)?;
            }
            match both.places.last_mut() {
                Some((offset, length)) if *offset + *length == cut[0] => *length += size as u32,
                _ => both.places.push((cut[0], size as u32)),
            }
        }
        Ok(both)
    }

    /// Notes the digest of a document that has the state that this delta leads to, so that
    /// [`apply_checked`](Self::apply_checked) can compare all bytes. The encoding grows by 32
    /// bytes. Linear in the document.
    ///
    /// # Errors
    /// [`DeltaError::WrongBase`] where the document has another state.
    pub fn set_digest(&mut self, document: Doc<'_>) -> Result<(), DeltaError> {
        if document.state() != Some(self.state) {
            let document = document.state();
            return Err(DeltaError::WrongBase { document, delta: self.state });
        }
        self.digest = Some(Sha256::digest(document.as_bytes()).into());
        Ok(())
    }

    /// The SHA-256 of the document afterwards, if the delta has it.
    pub fn digest(&self) -> Option<[u8; 32]> {
        self.digest
    }

    /// Changes a document from the base state to the state of this delta.
    ///
    /// The document is not [trusted](Editor::is_trusted) afterwards, until it is validated: the
    /// delta may be untrusted. Handles and detached values are stale. Within a transaction
    /// it can be rolled back.
    ///
    /// O(n + r) for n bytes and r ranges of the delta: linear in the delta, whatever the size of
    /// the document. All is checked before the first byte is written.
    ///
    /// # Errors
    /// [`DeltaError::WrongBase`] or [`DeltaError::WrongLength`]; [`DeltaError::Damaged`] where the
    /// document would be none; what an edit reports: no room, read only. Nothing is written then,
    /// unless a transaction's log was full: then it can be rolled back.
    pub fn apply<S: Storage>(&self, editor: &mut Editor<S>) -> Result<(), DeltaError> {
        editor.space.editable()?;
        let bytes = editor.as_bytes();
        let place = self.check(bytes)?;
        let growth = (self.length as u64).saturating_sub(bytes.len() as u64);
        editor.space.ensure(0, growth)?;
        let space = &mut editor.space;
        space.begin_replacing(self.length as u64);
        for change in self.changes() {
            if !change.new.is_empty() {
                space.write(change.offset, change.new);
            }
        }
        space.put_state(place, &self.state.to_bytes());
        space.trusted = false;
        editor.handles.reset();
        editor.space.editable()?;
        Ok(())
    }

    /// The same, and compares the document afterwards with the digest, before the first byte is
    /// written. Linear in the document, of which a copy is made.
    ///
    /// # Errors
    /// As [`apply`](Self::apply); [`DeltaError::NoDigest`]; [`DeltaError::WrongDigest`].
    pub fn apply_checked<S: Storage>(&self, editor: &mut Editor<S>) -> Result<(), DeltaError> {
        let digest = self.digest.ok_or(DeltaError::NoDigest)?;
        let bytes = editor.as_bytes();
        let place = self.check(bytes)? as usize;
        let length = self.length as usize;
        let mut after = Vec::new();
        after.try_reserve(length).map_err(|_| DeltaError::memory(length))?;
        after.resize(length, 0);
        self.read_after(bytes, 0, &mut after);
        let used = self.length.to_le_bytes();
        let own =
            [(HEADER_USED as usize, &used[..]), (HEADER_IGNORE_FLAGS as usize, &[FLAG_STATE])];
        let state = self.state.to_bytes();
        for (at, new) in own.into_iter().chain([(place, &state[..])]) {
            if let Some(target) = after.get_mut(at..at + new.len()) {
                target.copy_from_slice(new);
            }
        }
        if <[u8; 32]>::from(Sha256::digest(&after)) != digest {
            return Err(DeltaError::WrongDigest);
        }
        self.apply(editor)
    }

    /// Checks that the delta fits a document, and that the document is one afterwards. Answers
    /// where it then has its state.
    fn check(&self, document: &[u8]) -> Result<u64, DeltaError> {
        let state = Doc::open(document)?.state();
        if state != Some(self.base) {
            return Err(DeltaError::WrongBase { document: state, delta: self.base });
        }
        if document.len() != self.base_length as usize {
            let (document, delta) = (document.len() as u64, self.base_length as u64);
            return Err(DeltaError::WrongLength { document, delta });
        }
        let mut header = [0; HEADER_SIZE as usize];
        self.read_after(document, 0, &mut header);
        header[HEADER_USED as usize..][..4].copy_from_slice(&self.length.to_le_bytes());
        Header::check(&header)?;
        let reserved = HEADER_ROOT_TAG as usize + 1;
        if header[reserved..HEADER_USED as usize] != [0; 3] {
            return Err(DeltaError::damaged(reserved, "the header is none"));
        }
        let lost = DeltaError::Damaged {
            offset: HEADER_AUX as u64,
            problem: "the document would have no place for its state",
        };
        let length = self.length as u64;
        let aux = load_u32(&header, HEADER_AUX as u64)? as u64;
        let mut head = [0; AUX_HEADS as usize];
        if aux == 0 || aux + AUX_HEADS as u64 > length {
            return Err(lost);
        }
        self.read_after(document, aux, &mut head);
        let place = load_u32(&head, AUX_STATE as u64)? as u64;
        let is_block = place >= HEADER_SIZE as u64 && place.is_multiple_of(8);
        if load_u8(&head, 0)? != KIND_AUX || !is_block || place + STATE_SIZE as u64 > length {
            return Err(lost);
        }
        Ok(place)
    }

    /// Reads bytes as they are afterwards.
    fn read_after(&self, document: &[u8], start: u64, target: &mut [u8]) {
        let end = start + target.len() as u64;
        let from = document.get(start as usize..).unwrap_or_default();
        let size = from.len().min(target.len());
        target[..size].copy_from_slice(&from[..size]);
        for change in self.changes() {
            let (left, right) =
                (change.offset.max(start), (change.offset + change.new.len() as u64).min(end));
            if left < right {
                let new = &change.new[(left - change.offset) as usize..];
                let size = (right - left) as usize;
                target[(left - start) as usize..][..size].copy_from_slice(&new[..size]);
            }
        }
    }
}

impl Change<'_> {
    /// The end of the range.
    fn end(&self) -> u64 {
        self.offset + self.new.len().max(self.old.map_or(0, <[u8]>::len)) as u64
    }
}

pub(super) fn extend(target: &mut Vec<u8>, bytes: &[u8]) -> Result<(), DeltaError> {
    target.try_reserve(bytes.len()).map_err(|_| DeltaError::memory(bytes.len()))?;
    target.extend_from_slice(bytes);
    Ok(())
}
