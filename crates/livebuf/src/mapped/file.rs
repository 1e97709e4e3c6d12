//! Files: opening and locking, mapping, making longer, renaming durably.
//!
//! The unsafe code of mapping is here and nowhere else.
#![allow(unsafe_code)]

use crate::error::{Error, ErrorKind};
use memmap2::{Mmap, MmapMut, MmapOptions};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

pub(crate) fn round_up_to_page(length: u64) -> u64 {
    length.next_multiple_of(4096)
}

/// An error of the system as one of the core.
pub(crate) fn refused(error: &io::Error) -> Error {
    let number = error.raw_os_error().and_then(|number| u64::try_from(number).ok());
    Error::with_detail(ErrorKind::Io, 0, number.unwrap_or(0))
}

/// An error of the core as one of the system.
pub(crate) fn invalid(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Waits until the name of a file is on the disk: after it was created or renamed.
///
/// # Errors
/// What the system reports.
pub fn sync_directory_of(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        // Without the right to read a directory one cannot wait for it.
        let synced = File::open(directory_of(path)).and_then(|directory| directory.sync_all());
        if let Err(error) = synced
            && error.kind() != io::ErrorKind::PermissionDenied
        {
            return Err(error);
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The directory that a file is in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    let named = path.parent().filter(|parent| *parent != Path::new(""));
    named.unwrap_or(Path::new("."))
}

pub(crate) fn rename_durably(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_directory_of(to)
}

// --- opening and locking ------------------------------------------------------

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Access {
    Read,
    Write,
    /// Readers may go on, editors may not. Needs the right to write the file.
    Replace,
}

/// Opens a regular file for its one writer, and takes its exclusive lock: the file that still has
/// the name once it is locked. Tries for 100 ms.
///
/// # Errors
/// [`WouldBlock`](io::ErrorKind::WouldBlock) where it is locked,
/// [`IsADirectory`](io::ErrorKind::IsADirectory) and
/// [`InvalidInput`](io::ErrorKind::InvalidInput) for what is no regular file, and what the system
/// reports.
pub fn open_locked(path: &Path) -> io::Result<File> {
    open_with(path, Access::Write)
}

/// Makes a new file for its one writer, and takes its exclusive lock. Who cannot finish what it
/// begins may remove the file as long as it holds the lock.
///
/// Before this has the lock, another process may open the file as an empty one. Then the file is
/// that process's, and stays.
///
/// # Errors
/// [`AlreadyExists`](io::ErrorKind::AlreadyExists), also where another process was first with the
/// lock; what the system reports.
pub fn create_locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    let ours = match lock(&file, Access::Write) {
        Ok(()) => file.metadata()?.len() == 0 && has_name(&file, path)?,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
        // Nobody can have locked it.
        Err(error) => {
            let _ = fs::remove_file(path);
            return Err(error);
        }
    };
    match ours {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists")),
    }
}

/// Opens a regular file and locks it: the file that still has the name once it is locked.
///
/// A lock that was given back can last for a moment. A process that is being started shares the
/// files of its parent until its program begins. So this tries for 100 ms.
pub(crate) fn open_with(path: &Path, access: Access) -> io::Result<File> {
    let mut tries = 100;
    loop {
        let file = OpenOptions::new().read(true).write(access != Access::Read).open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        match lock(&file, access) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries > 0 => {
                tries -= 1;
                std::thread::sleep(core::time::Duration::from_millis(1));
                continue;
            }
            locked => locked?,
        }
        // Whoever held the lock may have renamed another file over this one.
        if has_name(&file, path)? {
            return Ok(file);
        }
    }
}

/// Whether a path still names this file: no other file, and not nothing. Where the system cannot
/// tell, open files keep their names.
///
/// # Errors
/// What the system reports.
#[cfg(unix)]
pub fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a path still names this file: open files keep their names here.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn has_name(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true) // An open file cannot be renamed over.
}

/// Refuses to write in a process that was forked from the one that opened a file, which has this
/// number. The child has the file and its lock, too, and the other one knows nothing of what it
/// writes.
///
/// # Errors
/// [`io::ErrorKind::Other`] in any other process.
pub fn must_be_of(process: u32) -> io::Result<()> {
    if process == std::process::id() {
        return Ok(());
    }
    let reason = "the file was opened by the process that this one was forked from";
    Err(io::Error::other(reason))
}

/// Refuses to write to a file that nobody finds by its path any more.
pub(crate) fn must_have_name(file: &File, path: &Path) -> io::Result<()> {
    if has_name(file, path)? {
        return Ok(());
    }
    let message = std::format!(
        "{} was removed or renamed, or is another file now, so that the edits are in no file: save \
         the document under another name",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

pub(crate) fn lock(file: &File, access: Access) -> io::Result<()> {
    let taken = match access {
        Access::Read | Access::Replace => file.try_lock_shared(),
        Access::Write => file.try_lock(),
    };
    match taken {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let message = "the file is locked: it is open elsewhere, in this process or another";
            Err(io::Error::new(io::ErrorKind::WouldBlock, message))
        }
        // The file system has no locks. Reading is then as safe as other programs make it.
        Err(TryLockError::Error(error))
            if access != Access::Write && error.kind() == io::ErrorKind::Unsupported =>
        {
            Ok(())
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

// --- mapping --------------------------------------------------------------------

pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: this is a regular file, and we hold its lock as long as the map lives. So no
    // program that respects the locks writes or cuts it. No process can promise what others do
    // (see the module's documentation).
    unsafe { MmapOptions::new().map(file) }
}

pub(crate) fn map_shared(file: &File) -> io::Result<MmapMut> {
    // SAFETY: as for `map`, with the exclusive lock.
    unsafe { MmapOptions::new().map_mut(file) }
}

/// Maps the first bytes of a file. What is written to the map stays in this process.
pub(crate) fn map_private(file: &File, length: u64) -> io::Result<MmapMut> {
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // Only touched pages take memory, so the system need not reserve any for the rest.
    // SAFETY: as for `map`, with the exclusive lock; the file is at least this long.
    unsafe { MmapOptions::new().len(length).no_reserve_swap().map_copy(file) }
}

/// Gives back the memory of a private map's pages whose bytes are in the file: those of
/// `ranges`, whole pages, and pages between near ranges. The next look reads them from the
/// file.
#[cfg(target_os = "linux")]
pub(crate) fn forget_pages(map: &MmapMut, ranges: &[(u64, u64)], limit: u64) {
    /// A multiple of every size of pages.
    const PAGES: u64 = 64 << 10;
    let limit = limit / PAGES * PAGES;
    let mut ranges = ranges.iter().peekable();
    while let Some(&(start, mut end)) = ranges.next() {
        while let Some(&(_, next)) = ranges.next_if(|(next, _)| *next < end + PAGES) {
            end = next;
        }
        let start = start / PAGES * PAGES;
        let end = end.next_multiple_of(PAGES).min(limit);
        if start < end {
            // SAFETY: below `limit` the file and the map hold the same bytes (the caller
            // wrote them), so nobody can tell the difference; nobody else changes the file,
            // whose exclusive lock we hold.
            let _ = unsafe {
                map.unchecked_advise_range(
                    memmap2::UncheckedAdvice::DontNeed,
                    start as usize,
                    (end - start) as usize,
                )
            };
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn forget_pages(_map: &MmapMut, _ranges: &[(u64, u64)], _limit: u64) {}

// --- room -----------------------------------------------------------------------

/// Makes a file longer and allocates the blocks on the disk. A full disk is an error here,
/// instead of a signal later. After an error the length is as before.
pub(crate) fn allocate(file: &File, from: u64, to: u64) -> io::Result<()> {
    let before = file.metadata()?.len();
    let done = allocate_blocks(file, from, to)
        .and_then(|()| if file.metadata()?.len() < to { file.set_len(to) } else { Ok(()) });
    if done.is_err() {
        let _ = file.set_len(before);
    }
    done
}

/// The same, but at least up to `needed` where a nearly full disk has no more. Returns the length.
pub(crate) fn allocate_ahead(file: &File, from: u64, needed: u64, wanted: u64) -> io::Result<u64> {
    let allocated = |to| allocate(file, from, to).map(|()| to);
    allocated(wanted).or_else(|_| allocated(needed))
}

#[cfg(all(unix, not(any(target_os = "netbsd", target_os = "openbsd", target_os = "dragonfly"))))]
fn allocate_blocks(file: &File, from: u64, to: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    loop {
        return match fallocate(file, FallocateFlags::empty(), from, to - from) {
            Ok(()) => Ok(()),
            Err(Errno::INTR) => continue,
            // The file system cannot allocate. Writing zeros does the same.
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
    // This allocates the clusters at once.
    if file.metadata()?.len() < to { file.set_len(to) } else { Ok(()) }
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
