//! Edits of a document's file that a crash leaves old or new.
//!
//! An edit is made on a private copy of the pages it touches, and the places it
//! changes are noted. Committing writes them to a journal beside the file,
//! waits until that is on the disk, then writes them to the file, waits again,
//! and removes the journal. Whoever opens the file next and finds a journal
//! writes its changes once more where it is complete, and drops it where it is
//! not: then the file was not yet touched.
//!
//! The journal of `x.lbuf` is `x.lbuf.journal`; numbers are little-endian:
//!
//! ```text
//!  byte 0        8         12        16       20   24                     56
//!       [magic 8][old used][new used][ranges][0   ][header before, 32 bytes]
//!  then for each range, ascending, without overlap:
//!       [offset 4][length 4][bytes before, below old used only][bytes after]
//!  last [CRC-32 of all before, 4]
//! ```
//!
//! Bytes before are kept so that a journal is never applied to a file that was
//! exchanged meanwhile: each byte it names must be as before or as after.

use super::{Access, allocate, invalid, map_private, open_locked, refused, round_up_to_page};
use crate::editor::Editor;
use crate::error::Result;
use crate::layout::{HEADER_SIZE, HEADER_USED};
use crate::space::Observer;
use crate::storage::Storage;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use memmap2::MmapMut;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// First bytes of a journal; the fifth is its version.
const MAGIC: [u8; 8] = [0xAB, b'L', b'B', b'J', 1, 0, 0, 0];
/// Size of what comes before the ranges.
const FIXED: usize = 24 + HEADER_SIZE as usize;

/// One edit, or several, of a document's file, all or nothing.
///
/// Nothing reaches the file before [`commit`](Self::commit); after a crash at any
/// moment the file is as before or as after. Dropped without it, the edit never was.
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
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FileEdit {
    editor: Editor<CopyStorage, Changes>,
    // Dropped after the editor, whose map may be in the way of a cut.
    room: Room,
    path: PathBuf,
    old_used: u64,
}

/// The locked file, to be cut to `length` when it is closed.
struct Room {
    file: File,
    length: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.file.metadata().is_ok_and(|metadata| metadata.len() > self.length) {
            let _ = self.file.set_len(self.length);
        }
    }
}

/// What [`FileEdit::commit`] wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Bytes written into the document's file, each counted once.
    pub bytes: u64,
    /// In how many places.
    pub places: u64,
    /// Bytes of the document now.
    pub used: u64,
}

impl FileEdit {
    /// Opens a document's file and takes its exclusive lock. An edit that was
    /// interrupted earlier is finished or dropped first.
    ///
    /// The document is foreign, as one opened by [`Editor::open`]: validate it to
    /// let freed space be reused and wiped.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::WouldBlock`] while another
    /// process holds the file; [`io::ErrorKind::InvalidData`] with an
    /// [`Error`](crate::Error) inside where the file holds no document, or where a
    /// journal lies beside it that is not its own.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let file = open_locked(&path, Access::Write)?;
        finish_locked(&path, &file)?;
        // Spare room behind the document is left as it is until there is a commit.
        let room = Room { length: file.metadata()?.len(), file };
        let changes = Changes::default();
        let storage = CopyStorage {
            map: map_private(&room.file)?,
            file: room.file.try_clone()?,
            changes: changes.clone(),
        };
        let editor = Editor::open_with(storage, changes).map_err(invalid)?;
        let old_used = editor.as_bytes().len() as u64;
        Ok(FileEdit { editor, room, path, old_used })
    }

    /// The editor. Its changes are private until [`commit`](Self::commit).
    pub fn editor(&mut self) -> &mut Editor<CopyStorage, Changes> {
        &mut self.editor
    }

    /// Writes the changes through the journal.
    ///
    /// # Errors
    /// What the system reports. The file is as before, unless the message says
    /// that the edit is complete in the journal: then the next to open the file
    /// finishes it.
    pub fn commit(self) -> io::Result<Committed> {
        let FileEdit { editor, mut room, path, old_used } = self;
        let new = editor.as_bytes();
        let used = new.len() as u64;
        let ranges = editor.observer().below(used);
        if ranges.is_empty() {
            return Ok(Committed { used, ..Committed::default() });
        }
        let mut files = Files::new(&path, &room.file);
        let journal = Journal::of(&mut files, &ranges, old_used, new)?;
        // A map of a file that is cut would be in the way on some systems.
        drop(editor);
        let applied = journal.commit(&mut files);
        match applied {
            Ok(()) => {
                room.length = used;
                let bytes = ranges.iter().map(|(start, end)| end - start).sum();
                Ok(Committed { bytes, places: ranges.len() as u64, used })
            }
            Err(Failed { error, durable: false }) => Err(error),
            Err(Failed { error, durable: true }) => {
                let message = std::format!(
                    "{error}; the edit is complete in {} and will be finished when the document \
                     is opened next",
                    files.journal.display()
                );
                // The room that the edit needs stays.
                room.length = u64::MAX;
                Err(io::Error::new(error.kind(), message))
            }
        }
    }
}

impl core::fmt::Debug for FileEdit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FileEdit").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The private copy that a [`FileEdit`] edits: the file's pages until they are
/// written, then the process's own.
pub struct CopyStorage {
    map: MmapMut,
    file: File,
    changes: Changes,
}

impl Storage for CopyStorage {
    // What lies behind the used bytes of an opened file may be anything.
    const ZEROED: bool = false;

    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }

    fn grow(&mut self, capacity: u64) -> Result<()> {
        let length = self.map.len() as u64;
        if capacity <= length {
            return Ok(());
        }
        // The file gets the room now: when the journal is written it is too late
        // to learn that the disk is full. Exactly what is needed and a page, for
        // the file is cut again soon.
        let target = round_up_to_page(capacity + 4096);
        allocate(&self.file, length, target)
            .or_else(|_| allocate(&self.file, length, capacity))
            .map_err(|error| refused(&error))?;
        let mut map = match map_private(&self.file) {
            Ok(map) => map,
            Err(error) => {
                let _ = self.file.set_len(length);
                return Err(refused(&error));
            }
        };
        for (start, end) in self.changes.below(length) {
            let range = start as usize..end as usize;
            map[range.clone()].copy_from_slice(&self.map[range]);
        }
        self.map = map;
        Ok(())
    }
}

/// An observer that notes which bytes changed.
#[derive(Clone, Debug, Default)]
pub struct Changes(Arc<Mutex<Ranges>>);

impl Changes {
    fn ranges(&self) -> MutexGuard<'_, Ranges> {
        // Nothing panics while the lock is held; if it did, the ranges hold.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes changed so far, each counted once, and in how many places.
    pub fn count(&self) -> (u64, u64) {
        let ranges = self.ranges();
        (ranges.0.iter().map(|(start, end)| end - start).sum(), ranges.0.len() as u64)
    }

    /// The changed ranges (first byte, byte after the last), those from `limit` on left out.
    fn below(&self, limit: u64) -> Vec<(u64, u64)> {
        let ranges = self.ranges();
        ranges.0.range(..limit).map(|(&start, &end)| (start, end.min(limit))).collect()
    }
}

impl Observer for Changes {
    fn write(&mut self, offset: u64, _old: &[u8], new: &[u8]) {
        self.ranges().add(offset, offset + new.len() as u64);
    }
}

/// Disjoint ranges that do not touch: start to end.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn add(&mut self, mut start: u64, mut end: u64) {
        if start == end {
            return;
        }
        if let Some((&before, &before_end)) = self.0.range(..start).next_back()
            && before_end >= start
        {
            start = before;
            end = end.max(before_end);
        }
        while let Some((&next, &next_end)) = self.0.range(start..=end).next() {
            end = end.max(next_end);
            self.0.remove(&next);
        }
        self.0.insert(start, end);
    }
}

// --- the journal ------------------------------------------------------------------

/// A complete journal.
#[derive(Debug)]
struct Journal<'b> {
    /// As it is stored.
    bytes: Bytes<'b>,
    old_used: u64,
    new_used: u64,
}

#[derive(Debug)]
enum Bytes<'b> {
    Owned(Vec<u8>),
    Borrowed(&'b [u8]),
}

/// One range of a journal.
struct Change<'b> {
    offset: u64,
    old: &'b [u8],
    new: &'b [u8],
}

/// Why a commit failed, and whether the journal was complete by then.
struct Failed {
    error: io::Error,
    durable: bool,
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes).into())
}

impl<'b> Journal<'b> {
    /// The journal that makes of a file's document `new`, which differs in `ranges` only.
    fn of(
        medium: &mut impl Medium,
        ranges: &[(u64, u64)],
        old_used: u64,
        new: &[u8],
    ) -> io::Result<Journal<'static>> {
        // Everything fits 32 bits, as documents do.
        let word = |number: u64| (number as u32).to_le_bytes();
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&MAGIC);
        bytes.extend(word(old_used));
        bytes.extend(word(new.len() as u64));
        bytes.extend(word(ranges.len() as u64));
        bytes.extend(word(0));
        bytes.extend(medium.read(0, HEADER_SIZE.into())?);
        for &(start, end) in ranges {
            bytes.extend(word(start));
            bytes.extend(word(end - start));
            let old_end = end.min(old_used);
            if start < old_end {
                bytes.extend(medium.read(start, old_end - start)?);
            }
            bytes.extend_from_slice(&new[start as usize..end as usize]);
        }
        bytes.extend(crc32(&bytes).to_le_bytes());
        Ok(Journal { bytes: Bytes::Owned(bytes), old_used, new_used: new.len() as u64 })
    }

    /// Reads a journal; `None` where it was never finished.
    fn parse(bytes: &'b [u8]) -> Option<Self> {
        let (body, crc) = bytes.split_last_chunk()?;
        if body.len() < FIXED
            || !body.starts_with(&MAGIC)
            || crc32(body) != u32::from_le_bytes(*crc)
        {
            return None;
        }
        let (old_used, new_used) = (number(body, 8)?, number(body, 12)?);
        let journal = Journal { bytes: Bytes::Borrowed(bytes), old_used, new_used };
        let count = number(body, 16)?;
        let mut changes = journal.changes();
        let (mut seen, mut at) = (0, 0);
        for change in &mut changes {
            if change.offset < at {
                return None;
            }
            at = change.offset + change.new.len() as u64;
            seen += 1;
        }
        (changes.rest.is_empty() && seen == count && at <= new_used).then_some(journal)
    }

    fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Owned(bytes) => bytes,
            Bytes::Borrowed(bytes) => bytes,
        }
    }

    fn changes(&self) -> ChangesIn<'_> {
        let bytes = self.bytes();
        ChangesIn { rest: &bytes[FIXED..bytes.len() - 4], old_used: self.old_used }
    }

    /// Stores the journal, applies it, removes it.
    fn commit(&self, medium: &mut impl Medium) -> Result<(), Failed> {
        let stored = medium.create_journal().and_then(|()| {
            medium.append_journal(self.bytes())?;
            medium.sync_journal()
        });
        if let Err(error) = stored {
            // Half a journal means nothing, and the file was not touched.
            let _ = medium.remove_journal();
            return Err(Failed { error, durable: false });
        }
        self.apply(medium).map_err(|error| Failed { error, durable: true })
    }

    /// Writes the changes to the file and removes the journal. May be repeated.
    fn apply(&self, medium: &mut impl Medium) -> io::Result<()> {
        for change in self.changes() {
            medium.write(change.offset, change.new)?;
        }
        medium.set_length(self.new_used)?;
        medium.sync()?;
        medium.remove_journal()
    }

    /// Whether the file is one that this journal leads from old to new, or on the way.
    fn fits(&self, medium: &mut impl Medium) -> io::Result<bool> {
        let length = medium.length()?;
        if length < self.old_used.min(self.new_used) {
            return Ok(false);
        }
        let bytes = self.bytes();
        let mut old_header = [0; HEADER_SIZE as usize];
        old_header.copy_from_slice(&bytes[FIXED - HEADER_SIZE as usize..FIXED]);
        let mut new_header = old_header;
        for change in self.changes() {
            let found = medium.read(change.offset, change.old.len() as u64)?;
            // As long as both the old and the new file, so all of it was found.
            let known = |(at, byte): (usize, &u8)| [change.old[at], change.new[at]].contains(byte);
            if found.len() != change.old.len() || !found.iter().enumerate().all(known) {
                return Ok(false);
            }
            let start = (change.offset as usize).min(new_header.len());
            let end = (start + change.new.len()).min(new_header.len());
            new_header[start..end].copy_from_slice(&change.new[..end - start]);
        }
        let header = medium.read(0, HEADER_SIZE.into())?;
        let fits = header.len() == old_header.len()
            && (0..header.len()).all(|at| [old_header[at], new_header[at]].contains(&header[at]));
        Ok(fits && number(&old_header, HEADER_USED as usize) == Some(self.old_used))
    }
}

struct ChangesIn<'b> {
    rest: &'b [u8],
    old_used: u64,
}

impl<'b> Iterator for ChangesIn<'b> {
    type Item = Change<'b>;

    fn next(&mut self) -> Option<Change<'b>> {
        let (offset, length) = (number(self.rest, 0)?, number(self.rest, 4)?);
        let old_length = (offset + length).min(self.old_used).saturating_sub(offset);
        let (old, rest) = self.rest.get(8..)?.split_at_checked(old_length as usize)?;
        let (new, rest) = rest.split_at_checked(length as usize)?;
        self.rest = rest;
        Some(Change { offset, old, new })
    }
}

/// Finishes or drops what a journal beside a file says. The caller holds the exclusive lock.
fn recover(medium: &mut impl Medium) -> io::Result<()> {
    let Some(bytes) = medium.read_journal()? else { return Ok(()) };
    match Journal::parse(&bytes) {
        None => medium.remove_journal(),
        Some(journal) if journal.fits(medium)? => journal.apply(medium),
        Some(_) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the journal beside it is of another document or state (the file was exchanged \
             after an edit was interrupted?); remove the .journal file to use this one as it is",
        )),
    }
}

/// [`recover`] for a file whose exclusive lock is held.
pub(super) fn finish_locked(path: &Path, file: &File) -> io::Result<()> {
    recover(&mut Files::new(path, file))
}

/// [`recover`] for a file that is not open.
pub(super) fn finish(path: &Path) -> io::Result<()> {
    let finished = open_locked(path, Access::Write).and_then(|file| finish_locked(path, &file));
    finished.map_err(|error| {
        let read_only = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
        if !read_only.contains(&error.kind()) {
            return error;
        }
        let message = "an interrupted edit must be finished first, which takes the right to write \
                       the file and its directory";
        io::Error::new(error.kind(), message)
    })
}

/// Whether a complete journal lies beside a file, so that it must not be read as
/// it is. (Beside an incomplete one the file is whole.)
pub(super) fn is_due(path: &Path) -> io::Result<bool> {
    match fs::read(journal_of(path)) {
        Ok(bytes) => Ok(Journal::parse(&bytes).is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn journal_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".journal");
    PathBuf::from(name)
}

// --- the file and its journal -------------------------------------------------------

/// What committing does to files, one step a call, so that tests can stop
/// between any two and lose what was not synced.
trait Medium {
    /// The journal's contents, if there is one.
    fn read_journal(&mut self) -> io::Result<Option<Vec<u8>>>;
    fn create_journal(&mut self) -> io::Result<()>;
    fn append_journal(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Waits until the journal's contents and name are on the disk.
    fn sync_journal(&mut self) -> io::Result<()>;
    /// Takes the journal's name away and waits until that is on the disk.
    fn remove_journal(&mut self) -> io::Result<()>;

    fn length(&mut self) -> io::Result<u64>;
    /// Bytes of the document's file, fewer where it ends.
    fn read(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>>;
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    fn set_length(&mut self, length: u64) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
}

/// Real files.
struct Files<'f> {
    document: &'f File,
    journal: PathBuf,
    open_journal: Option<File>,
}

impl<'f> Files<'f> {
    fn new(path: &Path, document: &'f File) -> Self {
        Files { document, journal: journal_of(path), open_journal: None }
    }

    fn sync_directory(&self) -> io::Result<()> {
        #[cfg(unix)]
        if let Some(directory) = self.journal.parent() {
            File::open(directory)?.sync_all()?;
        }
        Ok(())
    }
}

impl Medium for Files<'_> {
    fn read_journal(&mut self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(&self.journal) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create_journal(&mut self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // It holds parts of the document: nobody may read it who may not read that.
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
            options.mode(self.document.metadata()?.mode() & 0o777);
        }
        self.open_journal = Some(options.open(&self.journal)?);
        Ok(())
    }

    fn append_journal(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.open_journal {
            Some(journal) => journal.write_all(bytes),
            None => Ok(()),
        }
    }

    fn sync_journal(&mut self) -> io::Result<()> {
        if let Some(journal) = self.open_journal.take() {
            journal.sync_all()?;
        }
        self.sync_directory()
    }

    fn remove_journal(&mut self) -> io::Result<()> {
        self.open_journal = None;
        fs::remove_file(&self.journal)?;
        self.sync_directory()
    }

    fn length(&mut self) -> io::Result<u64> {
        Ok(self.document.metadata()?.len())
    }

    fn read(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        self.document.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        self.document.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.document.seek(SeekFrom::Start(offset))?;
        self.document.write_all(bytes)
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.document.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.document.sync_all()
    }
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
