//! New files beside those whose place they will take.

use super::file::{Access, directory_of, lock};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The path behind symbolic links, which a new file takes so that the links stay: of the file, or
/// of one that is not there yet.
///
/// # Errors
/// What the system reports, such as links that lead in a circle.
pub fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    // The system found that the links end, and it follows no more than so many.
    for _ in 0..40 {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let Ok(next) = fs::read_link(&path) else { return Ok(path) };
                path = path.parent().unwrap_or(Path::new("")).join(next);
            }
            found => return found,
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Makes a new file beside another, with the rights, the owner and the group of the old one there.
/// The caller renames or removes it.
///
/// The file is locked as long as it is open, and its name comes from the other's. So this finds
/// and removes the files whose process was killed, as [`remove_leftovers`] does.
///
/// Only root may give files to other users, and only members of a group to that group. Where the
/// system refuses, the file is the user's, and whoever got rights as a member of the old file's
/// group has those of all others.
///
/// # Errors
/// What the system reports.
pub fn new_beside(path: &Path, old: Option<&Metadata>) -> io::Result<(File, PathBuf)> {
    remove_leftovers(path);
    let mut count = 0;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    // Those who may not read the old file must not read this one meanwhile.
    #[cfg(unix)]
    if old.is_some() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    loop {
        let temporary = numbered(path, count);
        let file = match options.open(&temporary) {
            Ok(file) => file,
            // Somebody else makes one, too.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                count += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        let made = claim(&file, &temporary).and_then(|ours| {
            if let Some(old) = old.filter(|_| ours) {
                take_after(&file, old)?;
            }
            Ok(ours)
        });
        match made {
            Ok(true) => return Ok((file, temporary)),
            // Somebody took it for an abandoned one before it was locked.
            Ok(false) => {}
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                return Err(error);
            }
        }
    }
}

const PREFIX: &str = ".livebuf-";
const SUFFIX: &str = ".tmp";

/// The path of a new file for a file's place. Two files whose names have the same hash (FNV-1a)
/// share them, which does no harm.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let step = |hash: u32, &byte: &u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.iter().fold(0x811C_9DC5, step);
    path.with_file_name(std::format!("{PREFIX}{hash:08x}-{number}{SUFFIX}"))
}

/// Locks a new file. Answers whether it is still there.
fn claim(file: &File, path: &Path) -> io::Result<bool> {
    match lock(file, Access::Write) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
        // Nobody takes files for abandoned ones there.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        locked => locked?,
    }
    super::has_name(file, path)
}

/// Removes the files of [`new_beside`] in a file's directory that nobody has open any more: their
/// processes were killed. Linear in the directory. What cannot be looked at or removed stays.
pub fn remove_abandoned(path: &Path) {
    let Ok(entries) = fs::read_dir(directory_of(path)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(PREFIX)
            || !name.ends_with(SUFFIX)
            || !entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            continue;
        }
        remove_if_abandoned(&entry.path());
    }
}

/// Removes the files of [`new_beside`] for this file's place that nobody has open any more. Whoever
/// makes a file or opens it to edit it calls this, so it looks at few names and not at the whole
/// directory.
pub fn remove_leftovers(path: &Path) {
    /// So many are made at the same time, at most. More would stay until [`remove_abandoned`].
    const MOST: u32 = 4;
    for number in 0..MOST {
        let left = numbered(path, number);
        if fs::symlink_metadata(&left).is_ok_and(|found| found.is_file()) {
            remove_if_abandoned(&left);
        }
    }
}

/// Whoever works on a file holds its lock, and so do we until it is gone: otherwise somebody who
/// has just made it could lock it, and find it there, before it is removed. Once we have the lock,
/// it may have got its place, and another file its name.
fn remove_if_abandoned(path: &Path) {
    if let Ok(file) = OpenOptions::new().read(true).write(true).open(path)
        && lock(&file, Access::Write).is_ok()
        && super::has_name(&file, path).is_ok_and(|ours| ours)
    {
        let _ = fs::remove_file(path);
    }
}

#[cfg(unix)]
fn take_after(new: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let ours = new.metadata()?;
    let mut mode = old.mode() & 0o7777;
    if (old.uid(), old.gid()) != (ours.uid(), ours.gid())
        && fchown(new, Some(old.uid()), Some(old.gid())).is_err()
    {
        let same_group = old.gid() == ours.gid() || fchown(new, None, Some(old.gid())).is_ok();
        // A program that runs as its owner must not run as another one.
        mode &= 0o1777;
        if !same_group {
            mode = mode & !0o070 | (mode & 0o007) << 3;
        }
    }
    // Last: a new owner takes rights away.
    new.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn take_after(new: &File, old: &Metadata) -> io::Result<()> {
    new.set_permissions(old.permissions())
}
