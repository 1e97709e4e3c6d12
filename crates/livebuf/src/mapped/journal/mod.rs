//! Edits of a document's file: after a crash the file is as before an edit or as after.
//!
//! An edit is made on a private copy of the pages that it touches, and the places of its
//! changes are noted. Committing writes the changes to a journal and waits until it is on the
//! disk. Then it writes them to their places and waits again. The next to open the file may
//! find a complete journal. Whoever opens it to be edited syncs the journal and writes its
//! changes once more. Whoever reads makes the changes in a private copy of the pages, and writes
//! nothing. An incomplete journal means nothing: the document was not touched yet.
//!
//! Any file may end like a journal. So one counts only behind a document, and only if there is a
//! document after its changes.
//!
//! The journal lies at the end of the document's own file, behind its used bytes and the room
//! that the edit needs. So it goes wherever the file goes: to other names, to other
//! directories, into copies. Numbers are little-endian:
//!
//! ```text
//!  for each range, ascending, without overlap:
//!      [offset 4][length 4][bytes after]
//!  then, as the last 32 bytes of the file:
//!      [journal's length, these included 8][used bytes after 4][ranges 4][0 4]
//!      [CRC-32 of all before 4][magic 8]
//! ```
//!
//! A finished commit zeroes the magic and does not wait for the disk. After a power cut the
//! journal may come back. It then says what the document already holds. The next commit of a
//! session writes its journal to the same place. Closing the file cuts it to its used bytes.

use crate::edit::Editor;
use crate::error::{Error, ErrorKind, Result};
use crate::format::layout::{HEADER_SIZE, HEADER_USED, MAGIC as DOCUMENT, VERSION};
use crate::mapped::file::{
    Access, allocate_ahead, forget_pages, invalid, map_private, must_be_of, must_have_name,
    open_with, refused, rename_durably, round_up_to_page,
};
use crate::mapped::medium::Medium;
use crate::mapped::remove_leftovers;
use crate::store::space::Listener;
use crate::store::storage::Storage;
use crate::view::{Doc, Header};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use memmap2::{Mmap, MmapMut};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last bytes of a file with a journal. The fifth byte is the journal's version.
const MAGIC: [u8; 8] = [0xAB, b'L', b'B', b'J', 1, 0, 0, 0];
/// Bytes of a journal behind its ranges.
const FOOTER: usize = 32;

/// One edit or several of a document's file, all or nothing.
///
/// Nothing reaches the file before [`commit`](Self::commit). After a crash at any moment the
/// file is as before or as after. After a commit the next edits can begin: the editor and its
/// handles stay good. When this is dropped, changes that were not committed are lost.
///
/// ```
/// use livebuf::mapped::FileEdit;
/// # let directory = std::env::temp_dir().join(format!("livebuf-doc-e-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("edit.lbuf");
/// std::fs::write(&path, livebuf::json!({"lap": 55}).as_bytes())?;
///
/// let mut edit = FileEdit::open(&path)?;
/// edit.editor().set_pointer("/lap", 56)?;
/// let committed = edit.commit()?;
/// assert!(committed.bytes < 16);
/// edit.editor().set_pointer("/lap", 57)?;
/// drop(edit);
/// let file = livebuf::mapped::MappedFile::open(&path)?;
/// assert_eq!(file.doc()?.pointer("/lap")?.unwrap().as_i64(), Some(56));
/// # drop(file);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FileEdit(Editor<FileStorage>);

impl FileEdit {
    /// Opens a document's file and takes its exclusive lock. An edit that was
    /// interrupted earlier is finished or dropped first.
    ///
    /// The document is neither read nor validated. It is not trusted, like one opened by
    /// [`Editor::open_unvalidated`]. Validate it so that freed space is reused and wiped.
    ///
    /// # Errors
    /// As [`FileStorage::open`].
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Editor::open_unvalidated(FileStorage::open(path)?).map(FileEdit).map_err(invalid)
    }

    /// The editor. Its changes are private until [`commit`](Self::commit).
    pub fn editor(&mut self) -> &mut Editor<FileStorage> {
        &mut self.0
    }

    /// Writes the changes since the last commit to the file.
    ///
    /// # Errors
    /// As [`FileStorage::commit`]. [`io::ErrorKind::InvalidInput`] while a
    /// [transaction](Editor::transaction) is open.
    pub fn commit(&mut self) -> io::Result<Committed> {
        if self.0.transactions() > 0 {
            let message = "a transaction is open: commit it or roll it back before";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.0.storage().commit()
    }

    /// Renames a finished file over this document's, and closes this one without committing.
    /// Programs that wait for the lock then open the new file.
    ///
    /// # Errors
    /// As [`replace`](super::replace).
    pub fn replace_by(self, temporary: &Path, path: &Path) -> io::Result<()> {
        // An open file cannot be renamed over there.
        #[cfg(windows)]
        drop(self);
        rename_durably(temporary, path)
    }
}

impl core::fmt::Debug for FileEdit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("FileEdit").field(self.0.storage()).finish()
    }
}

/// What [`FileEdit::commit`] wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Bytes of the document that edits wrote, each counted once. (The commit may also write
    /// some unchanged bytes between them, where that takes fewer calls.)
    pub bytes: u64,
    /// In how many places.
    pub places: u64,
    /// Bytes of the document now.
    pub used: u64,
}

/// The private copy that a [`FileEdit`] edits. Pages are the file's until they are written.
/// Then they are the process's own, until they are committed.
///
/// [`Storage`] for an [`Editor`]. (An [`Encoder`](crate::Encoder) needs a storage of zeros.)
pub struct FileStorage {
    // Dropped before the file: the map may prevent that the file is cut.
    map: MmapMut,
    session: Mutex<Session>,
}

/// The locked file, and what is not in it yet.
struct Session {
    file: File,
    path: PathBuf,
    /// Changed since the last commit.
    changes: Changes,
    /// Bytes that others write without telling, until they are [taken back](FileStorage::commit).
    lent: Changes,
    /// Closing cuts the file to this length.
    length: u64,
    /// How much the file was made longer for edits.
    grown: u64,
    /// Why nothing can be committed any more.
    broken: Option<String>,
    rolled_back: bool,
    /// The file has a journal that the next one to open it needs.
    journal_stays: bool,
    /// The process that opened it. A forked process has the file too, and must leave it alone.
    process: u32,
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.journal_stays
            && self.process == std::process::id()
            && self.file.metadata().is_ok_and(|metadata| metadata.len() > self.length)
        {
            let _ = self.file.set_len(self.length);
        }
    }
}

impl FileStorage {
    /// Maps a document's file and takes its exclusive lock, in constant time. An edit
    /// that was interrupted earlier is finished or dropped first.
    ///
    /// # Errors
    /// - [`io::ErrorKind::WouldBlock`]: another process, or this one, has the file open.
    /// - [`io::ErrorKind::InvalidData`], with an [`Error`](crate::Error) inside: the file holds
    ///   no document.
    /// - Any other error that the system reports.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let (file, path) = open_recovered(path.as_ref())?;
        let map = map_private(&file, file.metadata()?.len())?;
        Doc::open(&map).map_err(invalid)?;
        // Spare room behind the document stays as it is until the first commit.
        let length = map.len() as u64;
        let session = Session {
            file,
            path,
            changes: Changes::default(),
            lent: Changes::default(),
            length,
            grown: 0,
            broken: None,
            rolled_back: false,
            journal_stays: false,
            process: std::process::id(),
        };
        Ok(FileStorage { map, session: Mutex::new(session) })
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        // Nothing panics while the lock is held. If something did, the state would still be
        // sound.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that the next commit writes, each counted once, and in how many places.
    pub fn changed(&self) -> (u64, u64) {
        let session = self.session();
        if session.broken.is_some() { (0, 0) } else { session.changes.count() }
    }

    /// From now on nothing is committed. Changes that were not are lost when this is dropped.
    pub fn roll_back(&self) {
        let mut session = self.session();
        session.rolled_back = true;
        session.broken.get_or_insert_with(|| "its edits were rolled back".into());
    }

    /// Whether [`roll_back`](Self::roll_back) was called.
    pub fn is_rolled_back(&self) -> bool {
        self.session().rolled_back
    }

    /// Notes bytes that others will write through pointers of their own. Every commit from now
    /// on writes them, up to one by [`commit_returned`](Self::commit_returned).
    pub fn lend(&self, offset: u64, length: u64) {
        self.session().lent.add(offset, offset.saturating_add(length));
    }

    /// Writes the changes since the last commit to the file, whole or not at all, and
    /// waits until they are on the disk. Nothing is written where nothing changed.
    ///
    /// # Errors
    /// What the system reports. The file is then as before, and the changes are still to be
    /// committed. There is one exception, which the message names: the changes are complete in
    /// the journal. Then the next one to open the file to edit it finishes the commit, readers
    /// see the changes, and this session can commit nothing more.
    ///
    /// [`io::ErrorKind::NotFound`] where the file was removed or renamed, or another one has its
    /// name now: the changes would be in no file that anybody finds. They are in
    /// [`bytes`](Storage::bytes) still. [Write](super::write) these to another name, or rename
    /// the file back and commit again.
    pub fn commit(&self) -> io::Result<Committed> {
        let mut session = self.session();
        let session = &mut *session;
        if let Some(reason) = &session.broken {
            return Err(io::Error::other(reason.clone()));
        }
        must_be_of(session.process)?;
        let used = number(&self.map, HEADER_USED as usize).unwrap_or(0).min(self.map.len() as u64);
        let new = &self.map[..used as usize];
        for (&start, &end) in &session.lent.0 {
            session.changes.add(start, end);
        }
        let ranges = session.changes.below(used);
        if ranges.is_empty() {
            return Ok(Committed { used, ..Committed::default() });
        }
        must_have_name(&session.file, &session.path)?;
        let journal = Journal::of(&joined(&ranges), new);
        match journal.commit(&mut &session.file, self.map.len() as u64) {
            Ok(()) => {}
            Err(Failed { error, durable: false }) => return Err(error),
            Err(Failed { error, durable: true }) => {
                let reason = std::format!(
                    "{error}; the changes are complete in the journal and will be finished when \
                     the document is next opened for editing"
                );
                session.broken = Some(reason.clone());
                session.journal_stays = true;
                return Err(io::Error::new(error.kind(), reason));
            }
        }
        session.changes = Changes::default();
        session.length = used;
        if session.lent.0.is_empty() {
            forget_pages(&self.map, &ranges, used);
        }
        let bytes = ranges.iter().map(|(start, end)| end - start).sum();
        Ok(Committed { bytes, places: ranges.len() as u64, used })
    }

    /// As [`commit`](Self::commit). From then on nobody else writes the bytes that were
    /// [lent](Self::lend): they are the editor's alone again.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_returned(&self) -> io::Result<Committed> {
        let committed = self.commit()?;
        self.session().lent = Changes::default();
        Ok(committed)
    }
}

impl core::fmt::Debug for FileStorage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FileStorage").field("file", &self.session().file).finish_non_exhaustive()
    }
}

impl Storage for FileStorage {
    // What lies behind the used bytes of an opened file may be anything.
    const ZEROED: bool = false;

    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }

    fn will_change(&mut self, offset: u64, length: u64) {
        let session = self.session.get_mut().unwrap_or_else(PoisonError::into_inner);
        session.changes.add(offset, offset.saturating_add(length));
    }

    fn abandon(&mut self) {
        self.roll_back();
    }

    fn grow(&mut self, capacity: u64) -> Result<()> {
        let length = self.map.len() as u64;
        if capacity <= length {
            return Ok(());
        }
        let session = self.session.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A journal's end is the file's end, and must stay so. It may be one that the process from
        // which this one was forked writes just now.
        if session.journal_stays || must_be_of(session.process).is_err() {
            return Err(Error::new(ErrorKind::ReadOnly, 0));
        }
        // The file gets the room now: once the journal is written, it is too late to learn that
        // the disk is full. At first this is a page more than needed, later half of what the
        // file grew by so far. So n edits map it anew O(log n) times.
        let target = round_up_to_page(capacity + 4096 + session.grown / 2);
        let grown = allocate_ahead(&session.file, length, capacity, target)
            .and_then(|length| Ok((map_private(&session.file, length)?, length)));
        let (mut map, target) = grown.map_err(|error| refused(&error))?;
        for changed in [&session.changes, &session.lent] {
            for (start, end) in changed.below(length) {
                let range = start as usize..end as usize;
                map[range.clone()].copy_from_slice(&self.map[range]);
            }
        }
        session.grown += target - length;
        self.map = map;
        Ok(())
    }
}

/// A listener that notes which bytes changed: disjoint ranges that do not touch, start to end.
#[derive(Debug, Default)]
pub struct Changes(BTreeMap<u64, u64>);

impl Listener for Changes {
    fn will_change(&mut self, _bytes: &[u8], offset: u64, length: u64) {
        self.add(offset, offset + length);
    }
}

impl Changes {
    fn add(&mut self, mut start: u64, mut end: u64) {
        if start == end {
            return;
        }
        if let Some((&before, before_end)) = self.0.range_mut(..=start).next_back()
            && *before_end >= start
        {
            if *before_end >= end {
                return;
            }
            start = before;
            end = end.max(*before_end);
        }
        while let Some((&next, &next_end)) = self.0.range(start..=end).next() {
            end = end.max(next_end);
            self.0.remove(&next);
        }
        self.0.insert(start, end);
    }

    /// Bytes changed so far, each counted once, and in how many places.
    pub fn count(&self) -> (u64, u64) {
        (self.0.iter().map(|(start, end)| end - start).sum(), self.0.len() as u64)
    }

    /// The ranges (first byte, byte after the last), cut off at `limit`.
    fn below(&self, limit: u64) -> Vec<(u64, u64)> {
        self.0.range(..limit).map(|(&start, &end)| (start, end.min(limit))).collect()
    }
}

/// Joins ranges that are near each other: one write costs less than two.
fn joined(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    const NEAR: u64 = 128;
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for &(start, end) in ranges {
        match joined.last_mut() {
            Some((_, last)) if start - *last < NEAR => *last = end,
            _ => joined.push((start, end)),
        }
    }
    joined
}

// --- the journal ------------------------------------------------------------------

/// A complete journal, as it is stored.
#[derive(Debug)]
struct Journal(Vec<u8>);

/// Why a commit failed, and whether the journal was complete by then.
struct Failed {
    error: io::Error,
    durable: bool,
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes).into())
}

/// The length that a file's last bytes claim for a journal.
fn claimed(footer: &[u8]) -> Option<u64> {
    let magic = footer.get(FOOTER - 8..)?;
    let length = u64::from_le_bytes(*footer.first_chunk()?);
    (magic == MAGIC && length >= FOOTER as u64).then_some(length)
}

impl Journal {
    /// The journal that turns a file's document into `new`, which differs in `ranges` only.
    fn of(ranges: &[(u64, u64)], new: &[u8]) -> Journal {
        // Everything fits 32 bits, as documents do, except for the journal's own length.
        let word = |number: u64| (number as u32).to_le_bytes();
        let size: u64 = ranges.iter().map(|(start, end)| 8 + end - start).sum();
        let length = size + FOOTER as u64;
        let mut bytes = Vec::with_capacity(length as usize);
        for &(start, end) in ranges {
            bytes.extend(word(start));
            bytes.extend(word(end - start));
            bytes.extend_from_slice(&new[start as usize..end as usize]);
        }
        bytes.extend(length.to_le_bytes());
        bytes.extend(word(new.len() as u64));
        bytes.extend(word(ranges.len() as u64));
        bytes.extend(word(0));
        bytes.extend(crc32(&bytes).to_le_bytes());
        bytes.extend(MAGIC);
        Journal(bytes)
    }

    /// Checks a journal that begins at `place` of its file; `None` where it is incomplete.
    fn parse(bytes: Vec<u8>, place: u64) -> Option<Self> {
        let body = bytes.len().checked_sub(12)?;
        if claimed(bytes.get(bytes.len().checked_sub(FOOTER)?..)?)? != bytes.len() as u64
            || number(&bytes, body)? != crc32(&bytes[..body]).into()
        {
            return None;
        }
        let journal = Journal(bytes);
        let (mut seen, mut at, mut size) = (0, 0, FOOTER);
        for (offset, new) in journal.changes() {
            if offset < at {
                return None;
            }
            at = offset + new.len() as u64;
            size += 8 + new.len();
            seen += 1;
        }
        let complete = size == journal.0.len() && seen == journal.field(12)?;
        (complete && at <= journal.used() && journal.used() <= place).then_some(journal)
    }

    /// A number of the last bytes.
    fn field(&self, at: usize) -> Option<u64> {
        number(&self.0, self.0.len().checked_sub(FOOTER)? + at)
    }

    /// The used bytes of the document that it makes.
    fn used(&self) -> u64 {
        self.field(8).unwrap_or(0)
    }

    /// Makes the changes in memory, as far as they lie in these first bytes of the file.
    fn make(&self, bytes: &mut [u8]) {
        for (offset, new) in self.changes() {
            let Some(old) = bytes.get_mut(offset as usize..) else { return };
            let length = old.len().min(new.len());
            old[..length].copy_from_slice(&new[..length]);
        }
    }

    /// The changes: where, and the bytes after.
    fn changes(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest = &self.0[..self.0.len().saturating_sub(FOOTER)];
        core::iter::from_fn(move || {
            let (offset, length) = (number(rest, 0)?, number(rest, 4)?);
            let (new, behind) = rest.get(8..)?.split_at_checked(length as usize)?;
            rest = behind;
            Some((offset, new))
        })
    }

    /// Stores the journal behind `floor` bytes of the file, applies it, and marks it done.
    fn commit(&self, medium: &mut impl Medium, floor: u64) -> Result<(), Failed> {
        let length = self.0.len() as u64;
        let mut place = round_up_to_page(floor);
        let mut before = place;
        let stored = medium.length().and_then(|end| {
            before = end;
            // The journal ends where the file ends, and the file never gets shorter here. So a
            // journal is found at one place only, whichever part of it is on the disk.
            place = place.max(end.saturating_sub(length));
            medium.write(place, &self.0)?;
            medium.sync()
        });
        let last = place + length - MAGIC.len() as u64;
        if let Err(error) = stored {
            // The document was not touched. Nobody may find what is left of the journal
            // complete.
            let gone = medium
                .write(last, &[0; MAGIC.len()])
                .or_else(|_| medium.set_length(before.min(place)))
                .is_ok()
                || journal_in(medium).is_ok_and(|journal| journal.is_none());
            return Err(Failed { error, durable: !gone });
        }
        self.apply(medium).map_err(|error| Failed { error, durable: true })?;
        // If this fails, the journal says again what the document already holds.
        let _ = medium.write(last, &[0; MAGIC.len()]);
        Ok(())
    }

    /// Writes the changes to their places. May be repeated.
    fn apply(&self, medium: &mut impl Medium) -> io::Result<()> {
        for (offset, new) in self.changes() {
            medium.write(offset, new)?;
        }
        medium.sync()
    }
}

/// The complete journal at a document's end, and where it begins.
///
/// The file's own magic and version come first: a journal never changes them, so whoever wrote
/// one behind them wrote it for a document that this library knows. The rest of the header may be
/// half of what the journal says. So it is looked at as it will be.
fn journal_in(medium: &mut impl Medium) -> io::Result<Option<(u64, Journal)>> {
    let end = medium.length()?;
    let Some(footer) = end.checked_sub(FOOTER as u64) else { return Ok(None) };
    let footer = medium.read(footer, FOOTER as u64)?;
    let place = claimed(&footer).and_then(|length| end.checked_sub(length));
    let Some(place) = place.filter(|&place| place >= HEADER_SIZE.into()) else { return Ok(None) };
    let mut header = medium.read(0, HEADER_SIZE.into())?;
    if header.strip_prefix(&DOCUMENT).is_none_or(|rest| rest.first() != Some(&VERSION)) {
        return Ok(None);
    }
    let Some(journal) = Journal::parse(medium.read(place, end - place)?, place) else {
        return Ok(None);
    };
    journal.make(&mut header);
    let leads_to_a_document =
        Header::check(&header).is_ok_and(|header| u64::from(header.used) == journal.used());
    Ok(leads_to_a_document.then_some((place, journal)))
}

/// Opens a file to edit it, and finishes what a journal at its end says. Returns its path, too.
pub(super) fn open_recovered(path: &Path) -> io::Result<(File, PathBuf)> {
    let path = fs::canonicalize(path)?;
    let file = open_with(&path, Access::Write)?;
    remove_leftovers(&path);
    recover(&mut &file)?;
    Ok((file, path))
}

/// Finishes what a journal at the file's end says; the caller holds the exclusive lock.
fn recover(medium: &mut impl Medium) -> io::Result<()> {
    let Some((place, journal)) = journal_in(medium)? else { return Ok(()) };
    // The process that wrote the journal may have died before it was on the disk. A power
    // failure while it is applied would then leave a torn document and no journal. So it is
    // written again: systems forget what an earlier, failed sync did not write.
    medium.write(place, &journal.0)?;
    medium.sync()?;
    journal.apply(medium)?;
    medium.set_length(journal.used())
}

/// The document of a file as the last commit left it, if a journal at the file's end is needed for
/// that. Nothing is written; pages that the journal changes are copied. The caller holds the
/// shared lock, so nobody commits or recovers meanwhile.
pub(super) fn recovered(file: &File) -> io::Result<Option<Mmap>> {
    let Some((_, journal)) = journal_in(&mut &*file)? else { return Ok(None) };
    let mut map = map_private(file, journal.used())?;
    journal.make(&mut map);
    map.make_read_only().map(Some)
}

/// CRC-32 (IEEE 802.3, reflected).
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut word = at as u32;
            let mut bit = 0;
            while bit < 8 {
                word = if word & 1 == 1 { word >> 1 ^ 0xEDB8_8320 } else { word >> 1 };
                bit += 1;
            }
            table[at] = word;
            at += 1;
        }
        table
    };
    let step = |crc: u32, byte: &u8| crc >> 8 ^ TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize];
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests;
