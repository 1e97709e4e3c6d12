//! Keeping what can be read of a damaged log.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::file::{LogFile, open_locked, sync_directory_of};
use crate::frames::{Frame, Headers};
use crate::group::Group;
use crate::layout::{self, FRAME_SIZE, FrameHeader, FrameKind, HEADER_SIZE};
use crate::writer::{Log, LogOptions};

/// What [`repair`] kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// Rows of the log now.
    pub rows: u64,
    /// Rows whose numbers are missing, as far as other frames and the heads of damaged ones tell.
    pub lost_rows: u64,
    /// Bytes that belong to no whole frame.
    pub lost_bytes: u64,
    /// The damaged file, which is kept.
    pub old: PathBuf,
}

/// Writes all rows that can be read to a new log in the damaged one's place.
///
/// The damaged file is kept beside it, with `.damaged` behind its name, or `.damaged-2` and so on
/// where files have such names. Rows behind a gap get new numbers: those that follow the rows before
/// it. Linear in the file.
///
/// # Errors
/// [`NotALog`](crate::ErrorKind::NotALog) where the file's header is damaged,
/// [`Locked`](crate::ErrorKind::Locked), and what the system reports. Nothing is changed then. Only if
/// the directory cannot be synced, the new log is in its place already, and the damaged file beside it.
/// A power cut may undo that.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("laps.lblog");
/// let mut log = livebuf_log::LogOptions::new().sync(true).create(&path)?;
/// for lap in 1..=3 {
///     log.append(&livebuf::json!({"lap": lap}))?;
/// }
/// log.close()?;
/// let mut bytes = std::fs::read(&path)?;
/// let middle = bytes.len() / 2; // in the second row
/// bytes[middle] ^= 1;
/// std::fs::write(&path, bytes)?;
/// let repaired = livebuf_log::repair(&path)?;
/// assert_eq!((repaired.rows, repaired.lost_rows), (2, 1));
/// assert_eq!(livebuf_log::LogReader::open(&path)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair(path: impl AsRef<Path>) -> Result<Repaired> {
    let path = path.as_ref();
    let refused = |error| Error::io(format!("{} cannot be repaired", path.display()), error);
    let path = fs::canonicalize(path).map_err(refused)?;
    let file = LogFile::new(open_locked(&path)?);
    let Found { frames, bytes, claimed } = whole_frames(&file)?;
    let (mut log, temporary) = Log::beside(LogOptions::new(), &path, &file)?;
    let (mut next, mut lost_rows) = (0, 0);
    for frame in frames {
        lost_rows += frame.first.saturating_sub(next);
        next = next.max(frame.end());
        log.copy(&Group::read(&file, &frame)?)?;
    }
    lost_rows += claimed.saturating_sub(next);
    let lost_bytes = file.len()?.saturating_sub(HEADER_SIZE + bytes);
    let old = beside(&path)?;
    let rows = log.len();
    log.put_in_place(temporary, &path).inspect_err(|_| {
        // The file keeps its first name.
        if file.has_name(&path).unwrap_or(false) {
            let _ = fs::remove_file(&old);
        }
    })?;
    sync_directory_of(&path).map_err(refused)?;
    Ok(Repaired { rows, lost_rows, lost_bytes, old })
}

/// Gives the file a second name that no file has yet.
fn beside(path: &Path) -> Result<PathBuf> {
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(".damaged");
        if number > 1 {
            name.push(format!("-{number}"));
        }
        let old = PathBuf::from(name);
        match keep_as(path, &old) {
            Ok(()) => return Ok(old),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                let what = format!("the old file cannot be kept as {}", old.display());
                return Err(Error::io(what, error));
            }
        }
    }
}

fn keep_as(path: &Path, old: &Path) -> io::Result<()> {
    match fs::hard_link(path, old) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
        done => return done,
    }
    // The file system has no hard links. `create_new` keeps the copy from overwriting a file.
    fs::File::create_new(old)?;
    fs::copy(path, old).map(drop).inspect_err(|_| drop(fs::remove_file(old)))
}

/// What a damaged log has.
struct Found {
    /// The frames whose rows can be read, but for those that later frames replaced.
    frames: Vec<Frame>,
    /// Bytes of all whole frames.
    bytes: u64,
    /// How many rows the log had, as the heads of damaged frames say.
    claimed: u64,
}

fn whole_frames(file: &LogFile) -> Result<Found> {
    let mut header = [0; HEADER_SIZE as usize];
    let read = file.read(&mut header, 0)?;
    let identity = layout::read_header(header.get(..read).unwrap_or(&[]))?;
    let mut headers = Headers::new(file, identity, HEADER_SIZE, file.len()?);
    let (mut frames, mut bytes, mut claimed) = (Vec::<Frame>::new(), 0, 0);
    while let Some(found) = headers.next() {
        let (offset, header) = found?;
        let FrameHeader { kind, length, first, rows, crc, .. } = header;
        let frame = Frame { kind, offset, first, rows, length, crc };
        let is_whole = match kind {
            FrameKind::Index => crate::frames::has_crc(file, offset, &header)?,
            _ => Group::read(file, &frame).is_ok(),
        };
        if !is_whole {
            if kind != FrameKind::Index {
                claimed = claimed.max(frame.end());
            }
            continue;
        }
        bytes += FRAME_SIZE + u64::from(length);
        headers.skip_to(offset + header.size());
        if kind != FrameKind::Index {
            // A later frame has the rows from its first one on.
            while frames.last().is_some_and(|last| last.first >= first) {
                frames.pop();
            }
            // No frame of a log begins within the rows of another.
            if frames.last().is_none_or(|last| last.end() <= first) {
                frames.push(frame);
            }
        }
    }
    Ok(Found { frames, bytes, claimed })
}
