//! Space: the one `write` through which every edit goes, and the free list.
//!
//! A [`Space`] owns the storage, its listeners and the count of used bytes. An edit first calls
//! [`Space::ensure`], which may fail and changes no used byte. Then it calls [`Space::take`]
//! and [`Space::free`], which cannot fail. Sizes of blocks are multiples of eight bytes. A
//! block does not state its size: the code that refers to it knows it (FORMAT 8).
//!
//! Free blocks are linked in lists, one for each power of two. When an eighth of the document
//! is free, and enough was freed since the last time, the lists are sorted by address. Then
//! neighbours are merged, and free bytes at the end are given back.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u32, load_u64, round_up, slice, zero};
use crate::format::layout::*;
use crate::store::storage::Storage;
use crate::store::target::{Plain, Target};
use crate::store::undo::{Savepoint, Undo};
#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec::Vec};
#[cfg(feature = "alloc")]
use core::any::Any;
use core::ops::Range;
#[cfg(feature = "alloc")]
use core::panic::{RefUnwindSafe, UnwindSafe};

/// Hears of each change of a document's bytes before it is made.
///
/// Recordings, copies that are kept equal, and durable files are made with this hook. A change may
/// be told behind the used bytes. It becomes part of the document once the header's used count
/// (bytes 20 to 23) covers it. The new bytes may equal the old ones.
///
/// A document has any number of listeners ([`Editor::listen`](crate::Editor::listen)). A storage
/// hears of changes, too, by a method of its own ([`Storage::will_change`]).
///
/// ```
/// use livebuf::{Listener, json};
///
/// /// Which bytes changed.
/// #[derive(Default)]
/// struct Changed(Vec<(u64, u64)>);
///
/// impl Listener for Changed {
///     fn will_change(&mut self, _bytes: &[u8], offset: u64, length: u64) {
///         self.0.push((offset, length));
///     }
/// }
///
/// let mut doc = json!({"lap": 55});
/// let mut copy = doc.to_vec();
/// doc.listen(Changed::default());
/// doc.set_pointer("/lap", 56)?;
/// let Changed(ranges) = doc.stop_listening().unwrap();
/// assert_eq!(ranges.len(), 1);
/// for (offset, length) in ranges {
///     let range = offset as usize..(offset + length) as usize;
///     copy[range.clone()].copy_from_slice(&doc.as_bytes()[range]);
/// }
/// assert_eq!(copy, doc.as_bytes());
/// # Ok::<(), livebuf::Error>(())
/// ```
#[cfg(feature = "alloc")]
pub trait Listener: Any + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// These bytes are written next. `bytes` are all bytes of the storage, as they are before that.
    fn will_change(&mut self, bytes: &[u8], offset: u64, length: u64);
}

/// Zeroed bytes that were taken for one edit, to be cut into blocks.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    cursor: u64,
    end: u64,
}

impl Extent {
    /// The next `size` bytes (a multiple of eight).
    pub(crate) fn carve(&mut self, size: u64) -> u32 {
        let offset = self.cursor;
        self.cursor += size;
        debug_assert!(size.is_multiple_of(8));
        offset as u32
    }
}

/// A free block that satisfies a request, and the list word that points at it.
struct FittingBlock {
    link: u64,
    block: u32,
    next: u32,
    size: u32,
}

/// What is known of the free lists without a look at them.
#[derive(Clone, Copy)]
struct FreeHints {
    /// A bit for each class that may have free blocks. A class without its bit has none.
    filled: u32,
    /// The size of the last request, if the rest of the block that it got stayed in its list; else
    /// 0. Until something is freed, no smaller block fits the same request.
    size: u32,
    /// The list word that leads to that rest, and the rest.
    link: u32,
    block: u32,
    /// How many bytes were free then.
    free_bytes: u32,
}

impl FreeHints {
    const NOTHING: FreeHints =
        FreeHints { filled: u32::MAX, size: 0, link: 0, block: 0, free_bytes: 0 };
}

/// The aux block's place and counts. They are loaded once, changed, and stored once.
#[derive(Clone, Copy)]
pub(crate) struct Aux {
    pub(crate) at: u64,
    pub(crate) classes: u32,
    free_bytes: u32,
    free_blocks: u32,
    freed: u32,
}

impl Aux {
    /// Offset of the word that leads to the first block of a class.
    fn head(&self, class: u32) -> u64 {
        self.at + AUX_HEADS as u64 + 4 * class as u64
    }

    fn class(&self, size: u64) -> u32 {
        free_class(size, self.classes)
    }

    /// Whether it is time to sort and merge: an eighth of `used` is free, and the work pays. It
    /// pays if enough was freed since the last merge, or if the request is large compared with
    /// the count of free blocks.
    fn worth_merging(&self, used: u32, size: u64) -> bool {
        let (freed, blocks) = (self.freed, self.free_blocks);
        self.free_bytes > used / 8
            && (freed >= (blocks / 4).max(8) || (freed > 0 && size >= 64 * blocks as u64))
    }
}

/// How many blocks of one class are looked at before the next class. Of 8, 16 and 32 only 32
/// keeps documents with log-uniform lengths below twice their live bytes.
const SCAN: usize = 32;
/// The same for the last class, which no other follows.
const SCAN_LAST: usize = 64;
/// Up to this many free blocks, a full buffer is searched for neighbours that could merge.
const MERGE_CHECK: u32 = 512;

/// The bytes of a document under edit.
pub(crate) struct Space<S> {
    storage: S,
    /// Somebody is to be told of each change: the undo log, the document's state, a listener or the
    /// storage; or the storage cannot be written.
    watched: bool,
    used: u32,
    /// From here on the storage is known to be zero.
    clean_from: u64,
    /// Every block of the free list is known to be zero but for its first word.
    pub(crate) clean_list: bool,
    known: FreeHints,
    /// The last [`ensure`](Self::ensure) counted on merging free blocks.
    must_merge: bool,
    /// With more free bytes than this the document may be squeezed.
    squeeze_above: u32,
    /// The document is to be squeezed: it has more free bytes than it should.
    pub(crate) must_squeeze: bool,
    /// We wrote or validated this document: freed space may be reused.
    pub(crate) trusted: bool,
    /// No edit may follow: one ended half way, or the undo log is full.
    refuses: bool,
    /// How to take back the edits of the open transactions.
    undo: Undo,
    /// In a box, so that the editor of a document without listeners is small.
    #[cfg(feature = "alloc")]
    #[expect(clippy::box_collection, reason = "see above")]
    listeners: Option<Box<Vec<Box<dyn Listener>>>>,
    wipe: bool,
    limits: Limits,
}

impl<S: Storage> Target for Space<S> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn write(&mut self, offset: u64, new: &[u8]) {
        self.write(offset, new);
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn write_word<const N: usize>(&mut self, offset: u64, bytes: [u8; N]) {
        self.write_word(offset, bytes);
    }
}

/// The ignore flags that edits keep right.
pub(crate) const KEPT_FLAGS: u8 = if cfg!(feature = "delta") { FLAG_STATE } else { 0 };

/// A document of fewer used bytes begins with a small aux block.
const SMALL: u32 = 4096;
/// A document with fewer free bytes is never squeezed.
const SQUEEZE: u32 = 4096;

impl<S: Storage> Space<S> {
    /// Wraps storage whose header says `used` bytes are used (checked by the caller).
    pub(crate) fn new(storage: S, used: u32, trusted: bool, limits: Limits) -> Self {
        let clean_from = storage.bytes().len() as u64;
        Space {
            watched: storage.hears() || !storage.is_writable(),
            storage,
            used,
            clean_from,
            clean_list: trusted,
            known: FreeHints::NOTHING,
            must_merge: false,
            squeeze_above: SQUEEZE,
            must_squeeze: false,
            trusted,
            refuses: false,
            undo: Undo::new(),
            #[cfg(feature = "alloc")]
            listeners: None,
            wipe: true,
            limits: limits.cut(),
        }
    }

    /// For a document just created or encoded: nothing is free, and all bytes behind it are
    /// zero.
    #[cfg(feature = "alloc")]
    pub(crate) fn clean(storage: S, used: u32, limits: Limits) -> Self {
        let space = Space::new(storage, used, true, limits);
        Space { clean_from: used as u64, ..space }
    }

    #[inline]
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits.cut();
    }

    /// Whether freed bytes are zeroed.
    pub(crate) fn set_wipe(&mut self, wipe: bool) {
        self.wipe = wipe;
        self.clean_list &= wipe;
    }

    /// Refuses all further edits, because one ended half way. If the undo log was full, edits are
    /// refused already: that one wrote no more, and can be taken back. Returns the error to report.
    #[cold]
    pub(crate) fn set_broken(&mut self, error: Error) -> Error {
        self.trusted = false;
        if self.refuses {
            return self.undo.refusal().unwrap_or(error);
        }
        self.refuses = true;
        self.storage.abandon();
        // This makes the end of the edit ask whether it ended half way.
        self.must_squeeze = true;
        error
    }

    /// An edit cannot do what it planned: because of a bug here, or because memory changed that
    /// nobody else may write. It is refused at its end, and so are all later ones.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault(&mut self, at: u64) {
        debug_assert!(self.refuses, "an edit cannot do what it planned at {at}");
        self.set_broken(Error::new(ErrorKind::OutOfBounds, at));
    }

    /// Refuses edits of a read-only storage, and those after an edit that ended half way or did
    /// not fit into the undo log. Every edit asks this first.
    #[inline]
    pub(crate) fn editable(&self) -> Result<()> {
        if self.storage.is_writable() && !self.refuses { Ok(()) } else { Err(self.refusal()) }
    }

    #[cold]
    fn refusal(&self) -> Error {
        match self.refuses {
            true => self.undo.refusal().unwrap_or(Error::new(ErrorKind::Broken, 0)),
            false => Error::new(ErrorKind::ReadOnly, 0),
        }
    }

    /// The used bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        let bytes = self.storage.bytes();
        bytes.get(..self.used as usize).unwrap_or(bytes)
    }

    /// The used bytes, and `size` bytes after them as scratch memory. The scratch memory is zero,
    /// and must be zero again afterwards. `None` if there are fewer bytes.
    pub(crate) fn scratch(&mut self, size: usize) -> Option<(&[u8], &mut [u8])> {
        let used = self.used as usize;
        if self.capacity().checked_sub(used as u64)? < size as u64 {
            return None;
        }
        // Through `zero`, so that listeners and storages hear of it.
        self.zero(used as u64, size as u64);
        let (used, room) = self.storage.bytes_mut().split_at_mut_checked(used)?;
        Some((used, room.get_mut(..size)?))
    }

    #[inline]
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    pub(crate) fn storage(&self) -> &S {
        &self.storage
    }

    pub(crate) fn into_storage(self) -> S {
        self.storage
    }

    // --- who hears of changes -----------------------------------------------

    #[cfg(feature = "alloc")]
    pub(crate) fn listeners(&self) -> &[Box<dyn Listener>] {
        self.listeners.as_ref().map_or(&[], |listeners| listeners)
    }

    /// The same, to be changed. Call [`watch`](Self::watch) afterwards.
    #[cfg(feature = "alloc")]
    pub(crate) fn listeners_mut(&mut self) -> &mut Vec<Box<dyn Listener>> {
        self.listeners.get_or_insert_default()
    }

    /// Asks again whether anybody is to be told of changes.
    pub(crate) fn watch(&mut self) {
        #[cfg(feature = "alloc")]
        let is_heard = !self.listeners().is_empty();
        #[cfg(not(feature = "alloc"))]
        let is_heard = false;
        let storage = self.storage.hears() || !self.storage.is_writable();
        self.watched = is_heard || storage || self.undo.is_watching();
    }

    /// Whether somebody is to be told of changes.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    /// The bytes that may be written without telling anybody: all of them, or none.
    #[inline]
    fn unwatched(&mut self) -> &mut [u8] {
        if self.watched { &mut [] } else { self.storage.bytes_mut() }
    }

    // --- transactions -------------------------------------------------------

    /// If nothing is allocated, the undo log may take a part of the storage.
    const LOG_BEHIND: bool = S::FIXED || cfg!(not(feature = "alloc"));

    /// How many bytes the document may have where the storage does not grow.
    #[inline]
    fn capacity(&self) -> u64 {
        let buffer = self.storage.bytes().len() as u64;
        if Self::LOG_BEHIND { self.undo.capacity(buffer) } else { buffer }
    }

    /// How many transactions are open, each within the one before.
    pub(crate) fn transactions(&self) -> u32 {
        self.undo.depth()
    }

    /// Opens a transaction: from here on the bytes that edits overwrite are noted.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.editable()?;
        let (used, trusted, clean_list) = (self.used, self.trusted, self.clean_list);
        let savepoint = Savepoint { used, trusted, clean_list, ..Savepoint::default() };
        let behind =
            Self::LOG_BEHIND && (cfg!(not(feature = "alloc")) || self.storage.log_behind());
        self.undo.begin(self.storage.bytes_mut(), behind, savepoint)?;
        self.watch();
        Ok(())
    }

    /// Keeps the edits of the last transaction. False where none is open.
    pub(crate) fn commit(&mut self) -> bool {
        match self.undo.depth() {
            0 => return false,
            1 => {
                self.undo.end(self.storage.bytes_mut());
                self.watch();
            }
            _ => self.undo.merge(self.storage.bytes_mut()),
        }
        true
    }

    /// Takes back the edits of the last transaction. False where none is open.
    pub(crate) fn roll_back(&mut self) -> bool {
        if !self.undo.is_open() {
            return false;
        }
        let mut undo = core::mem::replace(&mut self.undo, Undo::new());
        let high = undo.high();
        while let Some((mut offset, mut place)) = undo.pop(self.storage.bytes()) {
            // In pieces, since the log may be in the same memory.
            let mut piece = [0; 512];
            while let Some(old) = undo.log(self.storage.bytes()).get(place.clone())
                && !old.is_empty()
            {
                let size = old.len().min(piece.len());
                piece[..size].copy_from_slice(&old[..size]);
                self.write(offset, &piece[..size]);
                offset += size as u64;
                place.start += size;
            }
        }
        let savepoint = undo.close(self.storage.bytes());
        self.zero(savepoint.used as u64, high.saturating_sub(savepoint.used as u64));
        self.used = savepoint.used;
        self.clean_list = savepoint.clean_list && self.wipe;
        self.known = FreeHints::NOTHING;
        (self.must_merge, self.must_squeeze) = (false, false);
        if !self.refuses || undo.refusal().is_some() {
            self.trusted = savepoint.trusted;
            self.refuses = false;
            undo.set_refusal(None);
        }
        if !undo.is_open() {
            undo.end(self.storage.bytes_mut());
        }
        self.undo = undo;
        self.watch_state();
        true
    }

    /// Tells everybody who must know of a change, before it is made. False if the undo log is full:
    /// then the edit changes nothing more, and is refused at its end.
    #[inline]
    fn may_change(&mut self, offset: u64, length: u64) -> bool {
        !self.watched || self.tell(offset, length)
    }

    #[cold]
    #[inline(never)]
    fn tell(&mut self, offset: u64, length: u64) -> bool {
        if self.undo.is_stated() && offset < self.used as u64 {
            // A state stands for the bytes that a document has, so a change ends it.
            self.undo.set_stated(false);
            self.watch();
            self.write_u8(HEADER_IGNORE_FLAGS as u64, 0);
        }
        if self.undo.is_open() {
            if self.refuses {
                return false;
            }
            let changed = offset..offset + length;
            if let Err(error) = self.undo.note(self.storage.bytes_mut(), changed) {
                self.undo.set_refusal(Some(error));
                (self.refuses, self.trusted, self.must_squeeze) = (true, false, true);
                return false;
            }
        }
        #[cfg(feature = "alloc")]
        for listener in self.listeners.iter_mut().flat_map(|listeners| listeners.iter_mut()) {
            listener.will_change(self.storage.bytes(), offset, length);
        }
        self.storage.will_change(offset, length);
        true
    }

    // --- the state ----------------------------------------------------------

    /// Makes the next change end the document's state, if it has one. Called whenever bytes come
    /// from elsewhere, so that no write has to look at the header's flag.
    pub(crate) fn watch_state(&mut self) {
        let flags = load_u8(self.bytes(), HEADER_IGNORE_FLAGS as u64).unwrap_or(0);
        self.undo.set_stated(cfg!(feature = "delta") && flags & FLAG_STATE != 0);
        self.watch();
    }

    /// Makes room for a state at the end of the document.
    #[cfg(feature = "delta")]
    pub(crate) fn place_state(&mut self) -> Result<u64> {
        let aux_bytes = aux_size(FEW_CLASSES) as u64;
        let missing = if self.aux().is_none() { aux_bytes } else { 0 };
        self.ensure(0, missing + STATE_SIZE as u64)?;
        let aux = match self.aux() {
            Some(aux) => aux,
            None => {
                let at = self.used as u64;
                self.extend(aux_bytes);
                self.start_aux(at, FEW_CLASSES)
            }
        };
        let place = self.used as u64;
        self.extend(STATE_SIZE as u64);
        self.write_u32(aux.at + AUX_STATE as u64, place as u32);
        Ok(place)
    }

    /// Writes the state to its place: it is that of the bytes as they are.
    #[cfg(feature = "delta")]
    pub(crate) fn put_state(&mut self, place: u64, state: &[u8; STATE_SIZE as usize]) {
        self.write(place, state);
        self.write_u8(HEADER_IGNORE_FLAGS as u64, FLAG_STATE);
        self.watch_state();
    }

    /// Makes the document as long as another one whose bytes are written next. If it is to be
    /// longer, [`ensure`](Self::ensure) made room.
    #[cfg(feature = "delta")]
    pub(crate) fn begin_replacing(&mut self, length: u64) {
        let used = self.used as u64;
        if length >= used {
            self.extend(length - used);
        } else {
            self.zero(length, used - length);
            self.set_used(length);
        }
        (self.known, self.clean_list) = (FreeHints::NOTHING, false);
        (self.must_merge, self.must_squeeze) = (false, self.refuses);
        self.squeeze_above = SQUEEZE;
    }

    // --- the one way to change a byte ---------------------------------------

    /// Writes `new` at `offset`. The plan of the edit has checked the range. A range outside of
    /// the document would be a bug, and is not written.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn write(&mut self, offset: u64, new: &[u8]) {
        let start = offset as usize;
        match self.unwatched().get_mut(start..start + new.len()) {
            Some(place) => place.copy_from_slice(new),
            None => self.write_watched(offset, new),
        }
    }

    /// Whether nobody is told of changes.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !cfg!(feature = "small") && !self.watched
    }

    /// The used bytes, if nobody is told of changes.
    #[inline]
    pub(crate) fn plain(&mut self) -> Option<Plain<'_>> {
        if cfg!(feature = "small") {
            return None;
        }
        let used = self.used as usize;
        self.unwatched().get_mut(..used).map(Plain)
    }

    /// The bytes up to `end`, which may lie after the used ones, if there are as many and nobody is
    /// told of changes. [`use_to`](Self::use_to) makes what is written there used.
    #[inline]
    pub(crate) fn plain_to(&mut self, end: u64) -> Option<Plain<'_>> {
        self.unwatched().get_mut(..end as usize).map(Plain)
    }

    /// All bytes, used or not, if nobody is told of changes; else no bytes.
    #[inline]
    pub(crate) fn plain_all(&mut self) -> Plain<'_> {
        Plain(self.unwatched())
    }

    /// Counts the bytes up to `end` as used, as the header does already.
    #[inline]
    pub(crate) fn use_to(&mut self, end: u64) {
        self.used = end as u32;
    }

    #[cold]
    #[inline(never)]
    fn write_watched(&mut self, offset: u64, new: &[u8]) {
        self.write_told(offset, new);
    }

    /// Tells everybody who must know of a write, and makes it.
    #[inline]
    fn write_told(&mut self, offset: u64, new: &[u8]) {
        if !self.may_change(offset, new.len() as u64) {
            return;
        }
        let start = offset as usize;
        match self.storage.bytes_mut().get_mut(start..start + new.len()) {
            Some(place) => place.copy_from_slice(new),
            None => self.fault(offset),
        }
    }

    #[inline]
    pub(crate) fn write_u8(&mut self, offset: u64, value: u8) {
        self.write_word(offset, value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn write_u32(&mut self, offset: u64, value: u32) {
        self.write_word(offset, value.to_le_bytes());
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn write_u64(&mut self, offset: u64, value: u64) {
        self.write_word(offset, value.to_le_bytes());
    }

    /// Writes the bytes of a number. If somebody is told, they are passed on as a number: for a
    /// reference, each caller would first have to store it to memory.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn write_word<const N: usize>(&mut self, offset: u64, bytes: [u8; N]) {
        let rest = self.unwatched().get_mut(offset as usize..);
        match rest.and_then(|rest| rest.first_chunk_mut()) {
            Some(place) => *place = bytes,
            None => {
                let mut word = [0; 8];
                word[..N].copy_from_slice(&bytes);
                self.write_word_watched(offset, u64::from_le_bytes(word), N);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn write_word_watched(&mut self, offset: u64, value: u64, length: usize) {
        self.write_told(offset, value.to_le_bytes().get(..length).unwrap_or_default());
    }

    /// Moves bytes within the document (the ranges may overlap).
    pub(crate) fn copy_within(&mut self, source: u64, target: u64, length: u64) {
        if length == 0 || source == target {
            return;
        }
        let (from, to, count) = (source as usize, target as usize, length as usize);
        if !self.may_change(target, length) {
            return;
        }
        let bytes = self.storage.bytes_mut();
        if from + count > bytes.len() || to + count > bytes.len() {
            return self.fault(source);
        }
        bytes.copy_within(from..from + count, to);
    }

    /// Zeroes a range.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn zero(&mut self, offset: u64, length: u64) {
        let start = offset as usize;
        match self.unwatched().get_mut(start..start + length as usize) {
            Some(place) => zero(place),
            None => self.zero_told(offset, length),
        }
    }

    /// Tells everybody who must know, and zeroes a range.
    fn zero_told(&mut self, offset: u64, length: u64) {
        if length == 0 {
            return;
        }
        if !self.may_change(offset, length) {
            return;
        }
        let start = offset as usize;
        match self.storage.bytes_mut().get_mut(start..start + length as usize) {
            Some(place) => place.fill(0),
            None => self.fault(offset),
        }
    }

    /// Puts a whole document in place of this one (its room was ensured).
    #[cfg(feature = "alloc")]
    pub(crate) fn overwrite(&mut self, document: &[u8]) {
        let (old, new) = (self.used as u64, document.len() as u64);
        self.zero(new, old.saturating_sub(new));
        self.used = new as u32;
        self.known = FreeHints::NOTHING;
        self.squeeze_above = SQUEEZE;
        self.write(0, document);
    }

    fn set_used(&mut self, used: u64) {
        self.used = used as u32;
        self.write_u32(HEADER_USED as u64, used as u32);
    }

    // --- planning -----------------------------------------------------------

    /// Makes sure that [`extend`](Self::extend) by `tail` bytes followed by
    /// [`take`](Self::take) of `fresh` bytes cannot fail. Changes no used byte.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] with the missing bytes, [`ErrorKind::DocumentLimit`],
    /// [`ErrorKind::Io`].
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn ensure(&mut self, fresh: u64, tail: u64) -> Result<()> {
        let needed = self.used as u64 + fresh + tail;
        if needed <= self.capacity() && needed <= self.limits.document {
            return Ok(());
        }
        self.ensure_slowly(fresh, tail)
    }

    #[cold]
    fn ensure_slowly(&mut self, fresh: u64, tail: u64) -> Result<()> {
        let from_list = fresh > 0 && self.aux().is_some_and(|aux| self.find(&aux, fresh).is_some());
        let needed = self.used as u64 + tail + if from_list { 0 } else { fresh };
        let limit = self.limits.document;
        let problem = if needed > limit {
            Error::with_detail(ErrorKind::DocumentLimit, 0, limit)
        } else if needed <= self.capacity() {
            return Ok(());
        } else {
            let short =
                Error::with_detail(ErrorKind::NoSpace, self.capacity(), needed - self.capacity());
            let grown = if self.undo.is_behind() { Err(short) } else { self.storage.grow(needed) };
            match grown {
                Ok(()) if self.storage.bytes().len() as u64 >= needed => return Ok(()),
                Ok(()) => short,
                Err(error) => error,
            }
        };
        // Without room at the tail, merging neighbours may still help.
        if tail == 0 && fresh > 0 && self.merging_yields(fresh) {
            self.must_merge = true;
            return Ok(());
        }
        Err(problem)
    }

    /// Whether merged neighbours (or a merged block at the tail) would give `size` bytes.
    /// Reads only. Each step to a neighbour searches all lists, so only for few blocks.
    fn merging_yields(&self, size: u64) -> bool {
        let Some(aux) = self.aux() else { return false };
        let may_merge = self.trusted && !self.undo.is_open();
        if !may_merge || aux.free_blocks > MERGE_CHECK || (aux.free_bytes as u64) < size {
            return false;
        }
        let room = self.capacity().min(self.limits.document);
        self.free_blocks().any(|(start, length)| {
            let mut end = start as u64 + length as u64;
            while let Some((_, length)) = self.free_blocks().find(|&(next, _)| next as u64 == end) {
                end += length as u64;
            }
            let end = if end == self.used as u64 { room & !7 } else { end };
            end.saturating_sub(start as u64) >= size
        })
    }

    // --- committing ---------------------------------------------------------

    /// Takes `size` zeroed bytes that [`ensure`](Self::ensure) promised.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn take(&mut self, size: u64) -> Extent {
        if size == 0 {
            return Extent::default();
        }
        if load_u32(self.storage.bytes(), HEADER_AUX as u64) != Ok(0)
            && let Some(extent) = self.take_from_list(size)
        {
            return extent;
        }
        self.take_from_tail(size)
    }

    #[inline]
    fn take_from_tail(&mut self, size: u64) -> Extent {
        let start = self.used as u64;
        self.extend(size);
        Extent { cursor: start, end: start + size }
    }

    #[inline(never)]
    fn take_from_list(&mut self, size: u64) -> Option<Extent> {
        if !self.trusted {
            return None;
        }
        // Merge on demand: edits that only remove never pay for it. Not within transactions: the
        // log would note all free blocks, and if it got full, a list half sorted would have no end.
        let mut aux = self.aux()?;
        let may_merge = !self.undo.is_open();
        if core::mem::take(&mut self.must_merge) || (may_merge && aux.worth_merging(self.used, 0)) {
            aux = self.merge(aux);
        }
        let mut found = self.find_again(&aux, size);
        if found.is_none() {
            found = self.find(&aux, size);
        }
        if found.is_none() && may_merge && aux.worth_merging(self.used, size) {
            aux = self.merge(aux);
            found = self.find(&aux, size);
        }
        // Merging sorts the lists, so the promised block may now lie deep in its class.
        if found.is_none() && !self.tail_holds(size) {
            found = self.find_among(&aux, size, usize::MAX);
        }
        let FittingBlock { link, block, next, size: block_size } = found?;
        let (block, rest) = (block as u64, (block_size as u64).saturating_sub(size));
        aux.free_bytes = aux.free_bytes.saturating_sub(size as u32);
        if rest > 0 && aux.class(rest) == aux.class(block_size as u64) {
            // The rest keeps the block's place in its list.
            let left = (block + size) as u32;
            self.write_u64(left.into(), next as u64 | rest << 32);
            self.write_u32(link, left);
            let (size, link, free_bytes) = (size as u32, link as u32, aux.free_bytes);
            self.known = FreeHints { size, link, block: left, free_bytes, ..self.known };
        } else {
            self.known.size = 0;
            self.write_u32(link, next);
            if rest > 0 {
                self.link(&aux, block + size, rest);
            } else {
                aux.free_blocks = aux.free_blocks.saturating_sub(1);
            }
        }
        self.set_counts(&aux);
        if self.clean_list {
            self.write_u64(block, 0);
        } else {
            self.zero(block, size);
        }
        Some(Extent { cursor: block, end: block + size })
    }

    /// Makes the used bytes longer by `size` zeroed bytes.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn extend(&mut self, size: u64) {
        if size == 0 {
            return;
        }
        let start = self.used as u64;
        debug_assert!(start + size <= self.capacity() || self.refuses);
        let dirty = if S::ZEROED { self.clean_from.saturating_sub(start) } else { size };
        self.zero(start, size.min(dirty));
        self.set_used(start + size);
    }

    /// Appends text to the used bytes, and zeros up to the next multiple of eight.
    /// [`ensure`](Self::ensure) made room. Returns where the text is.
    #[inline]
    pub(crate) fn append(&mut self, text: &[u8]) -> u32 {
        let start = self.used;
        let end = start as u64 + round_up(text.len() as u64);
        self.write_u64(end.saturating_sub(8), 0);
        self.write(start as u64, text);
        self.set_used(end);
        start
    }

    /// Gives back what was taken and not cut into blocks.
    #[inline]
    pub(crate) fn free_rest(&mut self, extent: Extent) {
        let Extent { cursor, end } = extent;
        if cursor != end {
            self.give_back(cursor..end);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_back(&mut self, rest: Range<u64>) {
        if rest.start > rest.end {
            // More was cut than was taken.
            self.fault(rest.end);
        } else if !rest.is_empty() {
            self.free(rest.start, rest.end - rest.start);
        }
    }

    /// Frees a block; place and size are multiples of eight. In a document that is not trusted
    /// the bytes only become garbage.
    pub(crate) fn free(&mut self, offset: u64, size: u64) {
        if size == 0 || !self.trusted {
            return;
        }
        debug_assert!(offset.is_multiple_of(8) && size.is_multiple_of(8));
        if offset + size == self.used as u64 {
            self.zero(offset, size);
            self.set_used(offset);
            return;
        }
        if self.wipe {
            self.zero(offset, size);
        }
        let classes = if self.used < SMALL { FEW_CLASSES } else { FREE_CLASSES };
        let aux_size = aux_size(classes) as u64;
        let (mut aux, offset, size) = match self.aux() {
            Some(aux) if size >= aux_size && aux.classes < classes => {
                (self.replace_aux(&aux, offset, classes), offset + aux_size, size - aux_size)
            }
            Some(aux) => (aux, offset, size),
            None if size >= aux_size => {
                (self.start_aux(offset, classes), offset + aux_size, size - aux_size)
            }
            None if self.ensure(0, aux_size).is_ok() => {
                let aux = self.used as u64;
                self.extend(aux_size);
                (self.start_aux(aux, classes), offset, size)
            }
            // A full buffer without a free list: the bytes are lost until the document is
            // compacted.
            None => return,
        };
        if size > 0 {
            self.push_free(&mut aux, offset, size);
            aux.freed = aux.freed.saturating_add(1);
        }
        self.set_counts(&aux);
        // More than three times as many bytes are free as are not. So squeezing copies a third
        // of what was freed, at most.
        self.must_squeeze |=
            aux.free_bytes > self.squeeze_above && aux.free_bytes / 3 > self.used - aux.free_bytes;
    }

    /// Squeezing gained nothing. It is tried again when twice as many bytes are free.
    #[cfg(feature = "alloc")]
    pub(crate) fn defer_squeezing(&mut self) {
        let free = self.aux().map_or(0, |aux| aux.free_bytes);
        self.squeeze_above = free.saturating_mul(2).max(SQUEEZE);
    }

    /// Frees the bytes of an owned span (FORMAT 3.3): a span that begins at a
    /// multiple of eight owns its padding, another owns its own bytes only.
    pub(crate) fn free_span(&mut self, offset: u64, length: u64) {
        let padded = offset.is_multiple_of(8);
        self.free_range(offset, offset + if padded { round_up(length) } else { length });
    }

    /// Wipes any bytes and frees the whole words among them.
    pub(crate) fn free_range(&mut self, start: u64, end: u64) {
        if !self.trusted {
            return;
        }
        let (inner, inner_end) = (round_up(start), end & !7);
        if inner >= inner_end {
            self.zero(start, end - start);
        } else {
            self.zero(start, inner - start);
            self.zero(inner_end, end - inner_end);
            self.free(inner, inner_end - inner);
        }
    }

    fn start_aux(&mut self, at: u64, classes: u32) -> Aux {
        self.zero(at, aux_size(classes) as u64);
        self.write(at, &[KIND_AUX, classes as u8]);
        self.write_u32(HEADER_AUX as u64, at as u32);
        Aux { at, classes, free_bytes: 0, free_blocks: 0, freed: 0 }
    }

    /// Makes an aux block of more classes at `new`, and frees the old one.
    fn replace_aux(&mut self, old: &Aux, new: u64, classes: u32) -> Aux {
        let mut block = self.gather(old);
        let mut aux = self.start_aux(new, classes);
        while block != 0 {
            let start = block as u64;
            block = self.word(start);
            let size = self.word(start + FREE_SIZE as u64) as u64;
            self.push_free(&mut aux, start, size);
        }
        let old_size = aux_size(old.classes) as u64;
        self.zero(old.at, old_size);
        self.push_free(&mut aux, old.at, old_size);
        aux
    }

    /// Puts a block in its list and counts it. The caller stores the counts.
    fn push_free(&mut self, aux: &mut Aux, block: u64, size: u64) {
        self.link(aux, block, size);
        aux.free_bytes = aux.free_bytes.saturating_add(size as u32);
        aux.free_blocks = aux.free_blocks.saturating_add(1);
    }

    fn link(&mut self, aux: &Aux, block: u64, size: u64) {
        let class = aux.class(size);
        self.known.filled |= 1 << class;
        let head = aux.head(class);
        let next = self.word(head);
        self.write_u64(block, next as u64 | size << 32);
        self.write_u32(head, block as u32);
    }

    // --- the free list ------------------------------------------------------

    fn word(&self, offset: u64) -> u32 {
        load_u32(self.bytes(), offset).unwrap_or(0)
    }

    /// The aux block, where there is one.
    #[inline]
    pub(crate) fn aux(&self) -> Option<Aux> {
        let at = self.word(HEADER_AUX as u64) as u64;
        let header = slice(self.bytes(), at, AUX_REVISION as u64).ok()?;
        if at == 0 || header.first() != Some(&KIND_AUX) {
            return None;
        }
        let word = |at: u32| match header.get(at as usize..).and_then(|rest| rest.first_chunk()) {
            Some(word) => u32::from_le_bytes(*word),
            None => 0,
        };
        let classes = (word(0) >> 8 & 0xFF).clamp(1, FREE_CLASSES);
        let (free_bytes, free_blocks) = (word(AUX_FREE_BYTES), word(AUX_FREE_BLOCKS));
        Some(Aux { at, classes, free_bytes, free_blocks, freed: word(AUX_FREED) })
    }

    fn set_counts(&mut self, aux: &Aux) {
        let counts = aux.free_bytes as u64 | (aux.free_blocks as u64) << 32;
        self.write_u64(aux.at + AUX_FREE_BYTES as u64, counts);
        self.write_u32(aux.at + AUX_FREED as u64, aux.freed);
    }

    /// Every free block as (offset, size), at most as many as the aux block counts.
    pub(crate) fn free_blocks(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let aux = self.aux();
        let mut class = 0;
        let mut block = 0;
        core::iter::from_fn(move || {
            let aux = aux?;
            while block == 0 {
                if class >= aux.classes {
                    return None;
                }
                block = self.word(aux.head(class));
                class += 1;
            }
            let found = (block, self.word(block as u64 + FREE_SIZE as u64));
            block = self.word(block as u64);
            Some(found)
        })
        .take(aux.map_or(0, |aux| aux.free_blocks as usize))
    }

    fn tail_holds(&self, size: u64) -> bool {
        let room = self.capacity().min(self.limits.document);
        self.used as u64 + size <= room
    }

    /// The rest that a request of this size left, without a search.
    fn find_again(&self, aux: &Aux, size: u64) -> Option<FittingBlock> {
        let FreeHints { size: asked, link, block, free_bytes, .. } = self.known;
        if cfg!(feature = "small") || u64::from(asked) != size || free_bytes != aux.free_bytes {
            return None;
        }
        let word = load_u64(self.bytes(), block.into()).ok()?;
        let (next, left) = (word as u32, (word >> 32) as u32);
        let found = FittingBlock { link: link.into(), block, next, size: left };
        (u64::from(left) >= size && self.word(link.into()) == block).then_some(found)
    }

    /// Best fit among few blocks of the request's class, else of a larger one.
    fn find(&mut self, aux: &Aux, size: u64) -> Option<FittingBlock> {
        self.find_among(aux, size, SCAN)
    }

    /// The same, looking at up to `most` blocks of each class. In the last class it looks at
    /// `SCAN_LAST` at least.
    fn find_among(&mut self, aux: &Aux, size: u64, most: usize) -> Option<FittingBlock> {
        if !self.trusted || (aux.free_bytes as u64) < size {
            return None;
        }
        let mut classes = self.known.filled & u32::MAX << aux.class(size);
        while classes.trailing_zeros() < aux.classes {
            let class = classes.trailing_zeros();
            classes &= classes - 1;
            let mut link = aux.head(class);
            let mut block = self.word(link);
            if block == 0 {
                self.known.filled &= !(1 << class);
            }
            let scan = if class == aux.classes - 1 { most.max(SCAN_LAST) } else { most };
            // The best fit among a few blocks. In a larger class every block fits.
            let mut best: Option<FittingBlock> = None;
            for _ in 0..scan {
                if block == 0 {
                    break;
                }
                let word = load_u64(self.bytes(), block as u64).ok()?;
                let (next, found) = (word as u32, (word >> 32) as u32);
                if found as u64 >= size && best.as_ref().is_none_or(|best| found < best.size) {
                    best = Some(FittingBlock { link, block, next, size: found });
                    if found as u64 == size {
                        break;
                    }
                }
                (link, block) = (block as u64, next);
            }
            if best.is_some() {
                return best;
            }
        }
        None
    }

    /// Sorts all free blocks by address, merges neighbours, gives the tail back.
    fn merge(&mut self, aux: Aux) -> Aux {
        let all = self.gather(&aux);
        let mut block = self.sort_by_address(all);
        // Where the next block of each class is linked: lists are in the order
        // of addresses, so that low ones are used first and the end gets free.
        let mut links: [u64; FREE_CLASSES as usize] =
            core::array::from_fn(|class| aux.head(class as u32));
        let mut merged = Aux { free_bytes: 0, free_blocks: 0, freed: 0, ..aux };
        while block != 0 {
            let start = block as u64;
            let mut end = start + self.word(start + FREE_SIZE as u64) as u64;
            block = self.word(start);
            while block as u64 == end && block != 0 {
                let next = self.word(end);
                let size = self.word(end + FREE_SIZE as u64) as u64;
                self.write_u64(end, 0);
                end += size;
                block = next;
            }
            if end == self.used as u64 {
                self.zero(start, end - start);
                self.set_used(start);
            } else {
                self.write_u64(start, (end - start) << 32);
                if let Some(link) = links.get_mut(aux.class(end - start) as usize) {
                    let place = core::mem::replace(link, start);
                    self.write_u32(place, start as u32);
                }
                merged.free_bytes = merged.free_bytes.saturating_add((end - start) as u32);
                merged.free_blocks += 1;
            }
        }
        self.known = FreeHints::NOTHING;
        self.set_counts(&merged);
        merged
    }

    /// Empties all classes into one list.
    fn gather(&mut self, aux: &Aux) -> u32 {
        let mut all = 0;
        for class in 0..aux.classes {
            let link = aux.head(class);
            let head = self.word(link);
            if head == 0 {
                continue;
            }
            let mut last = head as u64;
            while self.word(last) != 0 {
                last = self.word(last) as u64;
            }
            self.write_u32(last, all);
            self.write_u32(link, 0);
            all = head;
        }
        all
    }

    /// Bottom-up merge sort of a list linked by first words: no memory, n log n.
    fn sort_by_address(&mut self, mut list: u32) -> u32 {
        let mut width = 1u64;
        loop {
            let (mut rest, mut sorted, mut last, mut merges) = (list, 0u32, 0u32, 0);
            while rest != 0 {
                merges += 1;
                let (mut left, mut right, mut left_size) = (rest, rest, 0);
                while left_size < width && right != 0 {
                    left_size += 1;
                    right = self.word(right as u64);
                }
                let mut right_size = width;
                while left_size > 0 || (right_size > 0 && right != 0) {
                    let from_left =
                        left_size > 0 && (right_size == 0 || right == 0 || left <= right);
                    let next = if from_left { left } else { right };
                    if from_left {
                        left = self.word(left as u64);
                        left_size -= 1;
                    } else {
                        right = self.word(right as u64);
                        right_size -= 1;
                    }
                    if last == 0 {
                        sorted = next;
                    } else if self.word(last as u64) != next {
                        self.write_u32(last as u64, next);
                    }
                    last = next;
                }
                rest = right;
            }
            if last != 0 {
                self.write_u32(last as u64, 0);
            }
            if merges <= 1 {
                return sorted;
            }
            list = sorted;
            width *= 2;
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::store::storage::VecStorage;

    /// A space with the bytes of an empty document.
    fn empty() -> Space<VecStorage> {
        let storage = VecStorage::with_capacity(1 << 16).unwrap();
        Space::new(storage, HEADER_SIZE, true, Limits::default())
    }

    /// Two spaces are edited alike, but one of them searches for every block.
    #[test]
    fn a_request_like_the_last_one_finds_the_block_that_a_search_finds() {
        let mut random = 1u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % below
        };
        let (mut spaces, mut found_again) = ([empty(), empty()], 0);
        let mut taken: alloc::vec::Vec<(u64, u64)> = alloc::vec::Vec::new();
        for _ in 0..20_000 {
            match next(10) {
                0..4 => {
                    // Several small blocks of one size, or a large one.
                    let large = next(4) == 0;
                    let (count, words) = if large { (1, next(400)) } else { (next(8), next(6)) };
                    let size = u64::from(8 * (1 + words));
                    for _ in 0..count {
                        if let Some(aux) = spaces[0].aux() {
                            found_again += u32::from(spaces[0].find_again(&aux, size).is_some());
                        }
                        spaces[1].known.size = 0;
                        let [a, b] = spaces.each_mut().map(|space| {
                            space.ensure(size, 0).unwrap();
                            space.take(size).cursor
                        });
                        assert_eq!(a, b);
                        taken.push((a, size));
                    }
                }
                4..9 if !taken.is_empty() => {
                    let (offset, size) = taken.swap_remove(next(taken.len() as u32) as usize);
                    spaces.iter_mut().for_each(|space| space.free(offset, size));
                }
                9 => {
                    // What a transaction took and freed is as before.
                    let size = u64::from(8 * (1 + next(60)));
                    for space in &mut spaces {
                        space.begin().unwrap();
                        space.ensure(size, 0).unwrap();
                        space.take(size);
                        assert!(space.roll_back());
                    }
                }
                _ => {}
            }
            assert_eq!(spaces[0].bytes(), spaces[1].bytes());
        }
        assert!(found_again > 1000, "{found_again}");
    }
}
