//! Files: opening and locking them, reading and writing at offsets, and counting what is written.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use livebuf::ReadAt;
use livebuf::mapped::{self, Medium};
use tempfile::TempPath;

use crate::error::{Error, ErrorKind, Result};

enum Source {
    File(File),
    /// For readers only, which take turns.
    Elsewhere(Mutex<Box<dyn ReadAt<Error = io::Error> + Send>>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(file) => file.fmt(f),
            Source::Elsewhere(_) => f.write_str("Elsewhere"),
        }
    }
}

/// An open file. One process may write it (see [`open_locked`]); any number may read.
#[derive(Debug)]
pub(crate) struct LogFile {
    place: Source,
    /// The process that opened it. A forked process has the file and its lock, too, and must leave
    /// it alone: both would write at the same end.
    process: u32,
    written: AtomicU64,
    syncs: AtomicU64,
}

impl LogFile {
    pub(crate) fn new(file: File) -> LogFile {
        LogFile::at(Source::File(file))
    }

    pub(crate) fn elsewhere(source: impl ReadAt<Error = io::Error> + Send + 'static) -> LogFile {
        LogFile::at(Source::Elsewhere(Mutex::new(Box::new(source))))
    }

    fn at(place: Source) -> LogFile {
        let process = std::process::id();
        LogFile { place, process, written: AtomicU64::new(0), syncs: AtomicU64::new(0) }
    }

    fn file(&self) -> io::Result<&File> {
        match &self.place {
            Source::File(file) => Ok(file),
            Source::Elsewhere(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.place, Source::Elsewhere(_))
    }

    #[cfg(not(all(test, target_os = "linux")))]
    fn medium(&self) -> io::Result<impl Medium + '_> {
        self.file()
    }

    #[cfg(all(test, target_os = "linux"))]
    fn medium(&self) -> io::Result<impl Medium + '_> {
        self.file().map(crate::faults::Simulated)
    }

    pub(crate) fn len(&self) -> Result<u64> {
        let length = match &self.place {
            Source::File(_) => self.medium().and_then(|mut medium| medium.length()),
            Source::Elsewhere(source) => turn(source).size(),
        };
        length.map_err(reading)
    }

    /// Fills `bytes` from an offset on, and returns how many the file had.
    pub(crate) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        let read = match &self.place {
            Source::File(_) => self.medium().and_then(|mut medium| medium.fill(bytes, offset)),
            Source::Elsewhere(source) => fill(turn(source).as_mut(), bytes, offset),
        };
        read.map_err(reading)
    }

    /// Refuses a forked process. It is asked before a frame is written, a sync and a compaction,
    /// and not at each write, because it is a system call.
    pub(crate) fn must_be_ours(&self) -> io::Result<()> {
        mapped::must_be_of(self.process)
    }

    /// Writes bytes at an offset.
    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.medium()?.write(offset, bytes)?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn set_len(&self, length: u64) -> io::Result<()> {
        self.medium()?.set_length(length)
    }

    /// Waits until what was written is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.medium()?.sync()
    }

    /// Bytes written and syncs since the file was opened.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.syncs.load(Ordering::Relaxed))
    }

    /// Adds what was counted for the file that this one replaces.
    pub(crate) fn count_on_from(&self, replaced: &LogFile) {
        let (written, syncs) = replaced.counts();
        self.written.fetch_add(written, Ordering::Relaxed);
        self.syncs.fetch_add(syncs, Ordering::Relaxed);
    }

    /// Whether a path still names this file.
    pub(crate) fn has_name(&self, path: &Path) -> io::Result<bool> {
        mapped::has_name(self.file()?, path)
    }

    /// Whether no path names the file any more, so that it is gone when it is closed. Never on
    /// systems that do not remove open files.
    pub(crate) fn is_removed(&self) -> io::Result<bool> {
        #[cfg(unix)]
        return Ok(std::os::unix::fs::MetadataExt::nlink(&self.metadata()?) == 0);
        #[cfg(not(unix))]
        Ok(false)
    }

    pub(crate) fn metadata(&self) -> io::Result<fs::Metadata> {
        self.file()?.metadata()
    }
}

/// Fills `bytes` as far as the source has them, and returns how many those were.
fn fill(
    source: &mut dyn ReadAt<Error = io::Error>,
    bytes: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let there = source.size()?.saturating_sub(offset).min(bytes.len() as u64) as usize;
    match bytes.get_mut(..there).filter(|there| !there.is_empty()) {
        Some(there) => source.read_at(there, offset).map(|()| there.len()),
        None => Ok(0),
    }
}

fn turn<T: ?Sized>(source: &Mutex<Box<T>>) -> MutexGuard<'_, Box<T>> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reading(error: io::Error) -> Error {
    Error::io("the log cannot be read", error)
}

/// Opens a file for its one writer, and locks it.
pub(crate) fn open_locked(path: &Path) -> Result<File> {
    mapped::open_locked(path).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => locked(),
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => {
            let message = format!("not a log: {} is not a regular file", path.display());
            Error::new(ErrorKind::NotALog, message)
        }
        _ => Error::io(format!("{} cannot be opened", path.display()), error),
    })
}

fn locked() -> Error {
    Error::new(ErrorKind::Locked, "the log is locked: another writer has it open")
}

/// Gives a temporary file a name, in place of the file that has it.
pub(crate) fn rename(temporary: TempPath, path: &Path) -> io::Result<()> {
    #[cfg(all(test, target_os = "linux"))]
    crate::faults::renaming(&temporary)?;
    temporary.persist(path).map_err(|error| error.error)
}

/// Waits until the name of a file is on the disk.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    #[cfg(all(test, target_os = "linux"))]
    if let Some(synced) = crate::faults::sync_names() {
        return synced;
    }
    mapped::sync_directory_of(path)
}
