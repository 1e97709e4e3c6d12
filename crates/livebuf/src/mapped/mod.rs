//! Documents in files, mapped into memory.
//!
//! * [`MappedFile`] reads: a look-up brings in the pages it touches and no others.
//! * [`MappedStorage`] edits in the file itself. Fast; a crash may leave the file
//!   between two states.
//! * [`FileEdit`] edits a private copy of the pages it touches, then writes the
//!   changed bytes through a journal: a crash leaves the file old or new.
//!
//! # Locks and other programs
//!
//! Opening takes the lock of `File::lock` on the document: shared to read,
//! exclusive to edit. Everything in this module keeps to it, and so programs
//! that use it do not see each other's edits half done. The locks are advisory:
//! a program that ignores them and writes the file while it is mapped changes
//! bytes under a reader, and one that cuts it short makes the next access a
//! signal (SIGBUS). Replace a document by renaming a new file over it instead.
//! That is why this storage is not [`Exclusive`](crate::Exclusive): its views
//! check text each time they give it out.
//!
//! The unsafe code of mapping is here and nowhere else.
#![allow(unsafe_code)]

mod journal;

pub use journal::{Changes, Committed, CopyStorage, FileEdit};

use crate::error::{Error, ErrorKind, Result};
use crate::reader::{Checked, Doc};
use crate::storage::Storage;
use memmap2::{Mmap, MmapMut, MmapOptions};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// A document's file, mapped to be read.
///
/// ```
/// # let directory = std::env::temp_dir().join(format!("livebuf-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("read.lbuf");
/// std::fs::write(&path, livebuf::json!({"lap": 55}).as_bytes())?;
///
/// let file = livebuf::mapped::MappedFile::open(&path)?;
/// assert_eq!(file.doc()?.pointer("/lap")?.unwrap().as_i64(), Some(55));
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MappedFile {
    map: Mmap,
    /// Holds the shared lock.
    _file: File,
}

impl MappedFile {
    /// Maps a file and takes its shared lock, which others may hold too.
    ///
    /// An edit that was interrupted after its journal was complete is finished
    /// first, which takes the right to write the file.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::WouldBlock`] while another
    /// process edits the file; [`io::ErrorKind::InvalidData`] where a journal
    /// lies beside the file that is not this file's.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        loop {
            let file = open_locked(&path, Access::Read)?;
            if journal::is_due(&path)? {
                drop(file);
                journal::finish(&path)?;
                continue;
            }
            let map = map(&file)?;
            return Ok(MappedFile { map, _file: file });
        }
    }

    /// All bytes of the file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.map
    }

    /// The document.
    ///
    /// # Errors
    /// As [`Doc::open`].
    pub fn doc(&self) -> Result<Doc<'_, Checked>> {
        Doc::open(&self.map)
    }
}

/// A document's file, mapped to be edited in place: [`Storage`] for an
/// [`Editor`](crate::Editor).
///
/// Every edit is in the file at once, as far as other readers of the file are
/// concerned, and on the disk when the system writes it. A crash of the machine
/// may leave the file between two states; [`FileEdit`] does not. The file grows
/// by steps, ahead of need; [`finish`](Self::finish) cuts what is not used.
///
/// ```
/// use livebuf::{Editor, New, mapped::MappedStorage};
/// # let directory = std::env::temp_dir().join(format!("livebuf-doc-w-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("write.lbuf");
///
/// let mut editor = Editor::create(MappedStorage::create(&path, 0)?)?;
/// let list = editor.set_root(New::array(0))?.unwrap();
/// for lap in 1..=1000 {
///     editor.push(list, lap)?;
/// }
/// let used = editor.as_bytes().len() as u64;
/// editor.into_parts().0.finish(used)?;
/// assert_eq!(std::fs::metadata(&path)?.len(), used);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MappedStorage {
    /// `None` only while the file changes its length.
    map: Option<MmapMut>,
    /// Holds the exclusive lock.
    file: File,
}

impl MappedStorage {
    /// Maps a document's file and takes its exclusive lock. Bytes past the
    /// used ones are cut off; an interrupted [`FileEdit`] is finished first.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::WouldBlock`] while another
    /// process holds the file; [`io::ErrorKind::InvalidData`] with an [`Error`]
    /// inside where the file holds no document.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let file = open_locked(&path, Access::Write)?;
        journal::finish_locked(&path, &file)?;
        let used = {
            let map = map(&file)?;
            Doc::open(&map).map_err(invalid)?.as_bytes().len() as u64
        };
        if file.metadata()?.len() > used {
            file.set_len(used)?;
        }
        let map = map_shared(&file)?;
        Ok(MappedStorage { map: Some(map), file })
    }

    /// Makes a new file of at least `capacity` bytes.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::AlreadyExists`].
    pub fn create(path: impl AsRef<Path>, capacity: u64) -> io::Result<Self> {
        let path = path.as_ref();
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        let made = lock(&file, Access::Write)
            .and_then(|()| allocate(&file, 0, round_up_to_page(capacity.max(1))))
            .and_then(|()| map_shared(&file));
        match made {
            Ok(map) => Ok(MappedStorage { map: Some(map), file }),
            Err(error) => {
                drop(file);
                let _ = fs::remove_file(path);
                Err(error)
            }
        }
    }

    /// Waits until everything written so far is on the disk.
    ///
    /// # Errors
    /// What the system reports.
    pub fn flush(&self) -> io::Result<()> {
        match &self.map {
            Some(map) => map.flush(),
            None => Ok(()),
        }
    }

    /// Cuts the file to its used bytes, waits until they are on the disk, and
    /// closes it. (Without this call the file keeps its spare room, which harms
    /// nothing.)
    ///
    /// # Errors
    /// What the system reports.
    pub fn finish(mut self, used: u64) -> io::Result<()> {
        self.flush()?;
        self.map = None;
        if used < self.file.metadata()?.len() {
            self.file.set_len(used)?;
        }
        self.file.sync_all()
    }
}

impl Storage for MappedStorage {
    // New room comes from the system, and what was past the used bytes was cut.
    const ZEROED: bool = true;

    fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.map.as_deref_mut().unwrap_or(&mut [])
    }

    fn grow(&mut self, capacity: u64) -> Result<()> {
        let length = self.bytes().len() as u64;
        if capacity <= length {
            return Ok(());
        }
        // An eighth more each time, so that n pushes remap O(log n) times and
        // a crash leaves little behind.
        let target = capacity.max(length + length / 8).max(length + STEP);
        let target = round_up_to_page(target);
        // A fuller disk may still hold what is needed now.
        allocate(&self.file, length, target)
            .or_else(|_| allocate(&self.file, length, capacity))
            .map_err(|error| refused(&error))?;
        match map_shared(&self.file) {
            Ok(map) => {
                self.map = Some(map);
                Ok(())
            }
            Err(error) => {
                let _ = self.file.set_len(length);
                Err(refused(&error))
            }
        }
    }
}

/// Least growth of a mapped file.
const STEP: u64 = 64 << 10;

fn round_up_to_page(length: u64) -> u64 {
    length.next_multiple_of(4096)
}

/// The core's error for a system's.
fn refused(error: &io::Error) -> Error {
    let number = error.raw_os_error().and_then(|number| u64::try_from(number).ok());
    Error::with_detail(ErrorKind::Io, 0, number.unwrap_or(0))
}

/// A system's error that carries the core's.
fn invalid(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

// --- opening and locking ------------------------------------------------------

#[derive(Clone, Copy, PartialEq)]
enum Access {
    Read,
    Write,
}

/// Opens a regular file and locks it; the file that has the name when locked.
fn open_locked(path: &Path, access: Access) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(access == Access::Write).open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        lock(&file, access)?;
        // Whoever held the lock may have renamed another file over this one.
        if has_name(&file, path)? {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (ours, named) = (file.metadata()?, fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino()))
}

#[cfg(not(unix))]
fn has_name(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true) // An open file cannot be renamed over.
}

fn lock(file: &File, access: Access) -> io::Result<()> {
    let taken = match access {
        Access::Read => file.try_lock_shared(),
        Access::Write => file.try_lock(),
    };
    match taken {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let message = "the file is locked by another process";
            Err(io::Error::new(io::ErrorKind::WouldBlock, message))
        }
        // A file system without locks: reading is as safe as the others make it.
        Err(TryLockError::Error(error))
            if access == Access::Read && error.kind() == io::ErrorKind::Unsupported =>
        {
            Ok(())
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

// --- mapping --------------------------------------------------------------------

fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the file is a regular one whose lock we hold for as long as the
    // map lives, so no program that keeps to the locks writes or cuts it; what
    // others do is outside of what a process can promise (see the module's text).
    unsafe { MmapOptions::new().map(file) }
}

fn map_shared(file: &File) -> io::Result<MmapMut> {
    // SAFETY: as for `map`, with the exclusive lock.
    unsafe { MmapOptions::new().map_mut(file) }
}

/// Maps a file so that what is written stays in this process.
fn map_private(file: &File) -> io::Result<MmapMut> {
    // Only touched pages take memory; the system need not set aside the rest.
    // SAFETY: as for `map`, with the exclusive lock.
    unsafe { MmapOptions::new().no_reserve_swap().map_copy(file) }
}

// --- room -----------------------------------------------------------------------

/// Makes a file longer, by blocks of the disk and not by promise: a full disk is
/// an error here, and no signal later. After an error the length is as before.
fn allocate(file: &File, from: u64, to: u64) -> io::Result<()> {
    let done = allocate_blocks(file, from, to)
        .and_then(|()| if file.metadata()?.len() < to { file.set_len(to) } else { Ok(()) });
    if done.is_err() {
        let _ = file.set_len(from);
    }
    done
}

#[cfg(all(unix, not(any(target_os = "netbsd", target_os = "openbsd", target_os = "dragonfly"))))]
fn allocate_blocks(file: &File, from: u64, to: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    loop {
        return match fallocate(file, FallocateFlags::empty(), from, to - from) {
            Ok(()) => Ok(()),
            Err(Errno::INTR) => continue,
            // The file system cannot; writing zeros does the same.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => write_zeros(file, from, to),
            Err(error) => Err(error.into()),
        };
    }
}

#[cfg(all(unix, any(target_os = "netbsd", target_os = "openbsd", target_os = "dragonfly")))]
fn allocate_blocks(file: &File, from: u64, to: u64) -> io::Result<()> {
    write_zeros(file, from, to)
}

#[cfg(windows)]
fn allocate_blocks(file: &File, _from: u64, to: u64) -> io::Result<()> {
    file.set_len(to) // Takes the clusters at once.
}

#[cfg(unix)]
fn write_zeros(mut file: &File, from: u64, to: u64) -> io::Result<()> {
    use std::io::{Seek, Write};
    file.seek(io::SeekFrom::Start(from))?;
    let zeros = [0; 4096];
    let mut left = to - from;
    while left > 0 {
        let length = left.min(zeros.len() as u64);
        file.write_all(&zeros[..length as usize])?;
        left -= length;
    }
    Ok(())
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_written_where_blocks_cannot_be_allocated() {
        let path = std::env::temp_dir().join(std::format!("livebuf-zeros-{}", std::process::id()));
        fs::write(&path, b"ab").unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        write_zeros(&file, 2, 10_000).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(bytes.len(), 10_000);
        assert!(bytes.starts_with(b"ab") && bytes[2..].iter().all(|&byte| byte == 0));
    }
}
