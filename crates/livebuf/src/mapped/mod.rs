//! Documents in files, mapped into memory.
//!
//! * [`MappedFile`] reads: a look-up brings in the pages it touches and no others.
//! * [`FileEdit`] edits a private copy of the pages it touches, and writes the changes when it
//!   is told to commit. Whatever happens, the file is as before or as after. [`FileStorage`] is
//!   the same for your own [`Editor`](crate::Editor).
//! * [`write()`] and [`replace`] put a new file in place of an old one, whole or not at all.
//! * [`MappedStorage`] edits in the file's own memory, which other processes may map and see at
//!   once. Nothing protects the file from half an edit. Its documentation states the rules for
//!   sharing it.
//!
//! # Locks and other programs
//!
//! Opening takes the lock of `File::lock` on the document: shared to read, exclusive to edit.
//! Everything in this module respects it. So programs that use it do not see each other's edits
//! half done.
//!
//! The locks are advisory. A program may ignore them and write the file while it is mapped:
//! then bytes change while they are read. If it cuts the file short, the next access is a
//! signal (SIGBUS), which ends the process. So never open a document's file to write over it.
//! Rename a new file over it, as [`write()`] does.
//!
//! That is why this storage is not [`Exclusive`](crate::Exclusive): its views check text each
//! time they return it.

mod beside;
mod file;
mod journal;
mod medium;

pub use beside::{behind_links, new_beside, remove_abandoned, remove_leftovers};
pub use file::{create_locked, has_name, must_be_of, open_locked, sync_directory_of};
pub use journal::{Changes, Committed, FileEdit, FileStorage};
/// For `livebuf-log`.
#[doc(hidden)]
pub use medium::Medium;

use crate::error::Result;
use crate::store::storage::Storage;
use crate::view::{Checked, Doc};
use file::{
    Access, allocate, allocate_ahead, invalid, map, map_shared, must_have_name, open_with, refused,
    rename_durably, round_up_to_page,
};
use memmap2::{Mmap, MmapMut};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
    /// Nothing is written, whatever the file holds. An edit that was interrupted, and whose
    /// journal is complete, is made in a private copy of its pages. Whoever next opens the file
    /// to edit it finishes it there.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while the file is open to be edited, and any error that the
    /// system reports.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = open_with(&fs::canonicalize(path)?, Access::Read)?;
        let map = match journal::recovered(&file)? {
            Some(map) => map,
            None => map(&file)?,
        };
        Ok(MappedFile { map, _file: file })
    }

    /// All bytes of the file. After an interrupted edit, those of the document.
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

/// A document's file that is edited in its own memory, for other processes to see at once:
/// [`Storage`] for an [`Editor`](crate::Editor).
///
/// Its rules:
/// * Every process that maps the file sees each write of an edit at once. The system decides
///   when it is on the disk.
/// * If a process dies during an edit, or the machine stops, the file may hold half an edit.
///   Validate it afterwards. [`FileEdit`] does not have this fault.
/// * This takes the exclusive lock. So there is one editor, and [`MappedFile`] opens the file
///   only before or after. Other processes map the file without a lock, and agree with the
///   editor when to look. During an edit, answers may be wrong or errors.
/// * The file grows in steps, ahead of need. Processes that mapped it before must map it again.
///   [`finish`](Self::finish) cuts off what is not used.
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
/// editor.into_storage().finish(used)?;
/// assert_eq!(std::fs::metadata(&path)?.len(), used);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MappedStorage {
    map: MmapMut,
    /// Holds the exclusive lock.
    file: File,
    path: PathBuf,
    /// The process that opened it.
    process: u32,
}

impl MappedStorage {
    /// Maps a document's file and takes its exclusive lock. Bytes past the
    /// used ones are cut off; an interrupted [`FileEdit`] is finished first.
    ///
    /// # Errors
    /// - [`io::ErrorKind::WouldBlock`]: another process holds the file.
    /// - [`io::ErrorKind::InvalidData`], with an [`Error`](crate::Error) inside: the file holds
    ///   no document.
    /// - Any other error that the system reports.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let (file, path) = journal::open_recovered(path.as_ref())?;
        let used = {
            let map = map(&file)?;
            Doc::open(&map).map_err(invalid)?.as_bytes().len() as u64
        };
        if file.metadata()?.len() > used {
            file.set_len(used)?;
        }
        let map = map_shared(&file)?;
        Ok(MappedStorage { map, file, path, process: std::process::id() })
    }

    /// Makes a new file of at least `capacity` bytes.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::AlreadyExists`].
    pub fn create(path: impl AsRef<Path>, capacity: u64) -> io::Result<Self> {
        let path = path.as_ref();
        let file = create_locked(path)?;
        remove_leftovers(path);
        let made = allocate(&file, 0, round_up_to_page(capacity.max(1)))
            .and_then(|()| Ok((map_shared(&file)?, fs::canonicalize(path)?)));
        match made {
            Ok((map, path)) => Ok(MappedStorage { map, file, path, process: std::process::id() }),
            Err(error) => {
                let _ = fs::remove_file(path);
                Err(error)
            }
        }
    }

    /// Waits until everything written so far is on the disk.
    ///
    /// # Errors
    /// What the system reports. [`io::ErrorKind::NotFound`] where the file was removed or renamed,
    /// or another one has its name now; write the [`bytes`](Storage::bytes) to another name then.
    /// [`io::ErrorKind::Other`] in a [forked](Self::is_of_this_process) process.
    pub fn flush(&self) -> io::Result<()> {
        must_be_of(self.process)?;
        must_have_name(&self.file, &self.path)?;
        self.map.flush()
    }

    /// Whether this process opened the file. One that was forked from it has the file's memory,
    /// too, and must not edit: the other one's editor knows nothing of its edits.
    pub fn is_of_this_process(&self) -> bool {
        must_be_of(self.process).is_ok()
    }

    /// Cuts the file to its used bytes, waits until they are on the disk, and
    /// closes it. (Without this call the file keeps its spare room, which harms
    /// nothing.)
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn finish(self, used: u64) -> io::Result<()> {
        self.flush()?;
        let MappedStorage { map, file, .. } = self;
        // The map may prevent that the file is cut.
        drop(map);
        if used < file.metadata()?.len() {
            file.set_len(used)?;
        }
        file.sync_all()
    }
}

impl Storage for MappedStorage {
    // New room comes from the system as zeros, and opening cut off what was behind the used
    // bytes.
    const ZEROED: bool = true;

    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
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
        allocate_ahead(&self.file, length, capacity, target).map_err(|error| refused(&error))?;
        match map_shared(&self.file) {
            Ok(map) => {
                self.map = map;
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

// --- a new file in place of another ---------------------------------------------

/// Writes a document to a file, whole or not at all: to a temporary file beside it,
/// which is then renamed. Waits until it is on the disk.
///
/// Processes that have the old file open keep reading the old one. Symbolic links stay, and the
/// file's rights, owner and group where the system allows it ([`new_beside`]). Other names of the
/// file (hard links) keep the old one. A pipe or a device is written directly.
///
/// ```
/// # let directory = std::env::temp_dir().join(format!("livebuf-doc-n-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("new.lbuf");
/// livebuf::mapped::write(&path, livebuf::json!({"lap": 55}).as_bytes())?;
/// let reader = livebuf::mapped::MappedFile::open(&path)?;
/// livebuf::mapped::write(&path, livebuf::json!({"lap": 56}).as_bytes())?;
/// assert_eq!(reader.doc()?.pointer("/lap")?.unwrap().as_i64(), Some(55));
/// # drop(reader);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What the system reports, such as a missing right to write the file or its directory;
/// [`io::ErrorKind::WouldBlock`] while the file is open to be edited.
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
            return OpenOptions::new().write(true).open(path)?.write_all(bytes);
        }
        _ => {}
    }
    let (path, old) = to_replace(path)?;
    let metadata = old.as_ref().map(File::metadata).transpose()?;
    let (mut file, temporary) = new_beside(&path, metadata.as_ref())?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    #[cfg(windows)]
    drop(old); // An open file cannot be renamed over there.
    let done = written.and_then(|()| fs::rename(&temporary, &path));
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    // Its lock is held until it has its name.
    drop(file);
    done.and_then(|()| sync_directory_of(&path))
}

/// Renames a finished and synced file over a document's file, or to a new name in the same
/// directory. Then it waits until the new name is on the disk.
///
/// # Errors
/// As [`write()`].
pub fn replace(temporary: &Path, path: &Path) -> io::Result<()> {
    let (path, _lock) = to_replace(path)?;
    #[cfg(windows)]
    drop(_lock); // An open file cannot be renamed over there.
    rename_durably(temporary, &path)
}

/// The path where a new file goes, and the old file there, locked. It must not be replaced
/// while somebody edits it: those commits would go to a file without a name.
fn to_replace(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let path = behind_links(path)?;
    match open_with(&path, Access::Replace) {
        Ok(old) => Ok((path, Some(old))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((path, None)),
        Err(error) => Err(error),
    }
}
