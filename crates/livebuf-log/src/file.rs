//! Files: opening and locking them, reading and writing at offsets, and counting what is written.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use livebuf::mapped;

use crate::error::{Error, ErrorKind, Result};

/// An open file. Who writes is alone (see [`lock`]); any number may read.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
    written: AtomicU64,
    syncs: AtomicU64,
}

impl LogFile {
    pub(crate) fn new(file: File) -> LogFile {
        LogFile { file, written: AtomicU64::new(0), syncs: AtomicU64::new(0) }
    }

    pub(crate) fn len(&self) -> Result<u64> {
        self.file.metadata().map(|metadata| metadata.len()).map_err(reading)
    }

    /// Fills `bytes` from an offset on. Says how many there were.
    pub(crate) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match read_at(&self.file, rest, offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(reading(error)),
            }
        }
        Ok(done)
    }

    /// Writes bytes at an offset.
    pub(crate) fn write(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match write_at(&self.file, bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.written.fetch_add(written as u64, Ordering::Relaxed);
                    offset += written as u64;
                    bytes = bytes.get(written..).unwrap_or(&[]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(crate) fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    /// Waits until what was written is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync_data()
    }

    /// Bytes written and syncs since the file was opened.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.syncs.load(Ordering::Relaxed))
    }

    /// Whether a path still names this file.
    pub(crate) fn has_name(&self, path: &Path) -> io::Result<bool> {
        mapped::has_name(&self.file, path)
    }

    pub(crate) fn permissions(&self) -> io::Result<fs::Permissions> {
        self.file.metadata().map(|metadata| metadata.permissions())
    }
}

fn reading(error: io::Error) -> Error {
    Error::io("the log cannot be read", error)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
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

/// Takes a file's exclusive lock.
pub(crate) fn lock(file: &File) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(locked()),
        Err(TryLockError::Error(error)) => Err(Error::io("the log cannot be locked", error)),
    }
}
