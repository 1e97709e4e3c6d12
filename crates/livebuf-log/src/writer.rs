//! Writing: appending rows, gathering them into groups, syncing, compacting.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use livebuf::mapped::{
    behind_links, create_locked, new_beside, remove_abandoned, remove_leftovers,
};
use livebuf::{AsValue, Doc, EncodeOptions, Encoder, Valid};
use tempfile::TempPath;

use crate::error::{Error, ErrorKind, Result};
use crate::file::{LogFile, open_locked, rename, sync_directory_of};
use crate::frames::{Frame, Frames, Torn, index_document};
use crate::group::{Builder, Group, Row, check_nesting, unlimited};
use crate::layout::{self, FRAME_SIZE, FrameHeader, FrameKind, HEADER_SIZE, Identity, MARK, Mark};
use crate::reader::{LogReader, Stats};

/// Groups that are listed in one index.
const INDEXED: usize = 128;

/// A frame of fewer rows and fewer bytes than these is mostly header and keys.
const SMALL_FRAME: (u32, u64) = (32, 4 << 10);

/// A log of more bytes does not compact itself, because a call that adds a row would take seconds.
const COMPACTS_ITSELF: u64 = 256 << 20;

/// How a log is written.
///
/// ```
/// use livebuf_log::LogOptions;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("laps.lblog");
/// // Each row is on the disk when `append` returns.
/// let mut log = LogOptions::new().sync(true).open_or_create(&path)?;
/// let before = log.stats().syncs;
/// log.append(&livebuf::json!({"lap": 1}))?;
/// assert_eq!(log.stats().syncs, before + 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    sync: bool,
    group_rows: usize,
    group_bytes: u64,
    compact_at: u64,
    encode: EncodeOptions,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            sync: false,
            group_rows: 1 << 16,
            group_bytes: 8 << 20,
            compact_at: 16 << 10,
            encode: EncodeOptions::default(),
        }
    }
}

impl LogOptions {
    /// No sync by itself; groups of up to 65,536 rows or about 8 MiB; compacts itself when 16 KiB
    /// or more are wasted.
    pub fn new() -> LogOptions {
        LogOptions::default()
    }

    /// Whether each call that adds rows returns only when they are on the disk: one sync each.
    ///
    /// Without it, rows are in the file when a call returns. They outlive the process; whether
    /// they outlive a power cut, [`Log::sync`] and [`Log::close`] decide.
    #[must_use]
    pub fn sync(mut self, sync: bool) -> LogOptions {
        self.sync = sync;
        self
    }

    /// The most rows of a group; 0 means 1. Readers read a group as a whole.
    #[must_use]
    pub fn group_rows(mut self, rows: usize) -> LogOptions {
        self.group_rows = rows.clamp(1, 1 << 30);
        self
    }

    /// About how many bytes of memory a group's rows take at most, before they are laid out as
    /// columns. A row that takes more is a group by itself.
    #[must_use]
    pub fn group_bytes(mut self, bytes: u64) -> LogOptions {
        self.group_bytes = bytes.clamp(1, 1 << 30);
        self
    }

    /// How many wasted bytes make the log [compact](Log::compact) itself, at the end of a call that
    /// adds rows. `u64::MAX` means never.
    ///
    /// Two kinds of bytes are wasted: those of frames that a group replaced, and those of rows that
    /// were appended one by one or a few at a time, because each of their frames has its own header
    /// and keys. The log waits until the wasted bytes are as many as all others. It does not count
    /// rows that wait for a group while they are fewer than an eighth of all rows, so a row is
    /// rewritten some eight times at most before its group is full, and seldom afterwards.
    ///
    /// A log whose other bytes are more than 256 MiB does not compact itself, since the call that did
    /// so would take seconds. If compacting fails, the call succeeds all the same, and the log tries
    /// again when it is twice as long.
    ///
    /// ```
    /// # use livebuf_log::LogOptions;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("laps.lblog");
    /// let mut log = LogOptions::new().compact_at(10_000).create(&path)?;
    /// for lap in 0..1000 {
    ///     log.append(&livebuf::json!({"lap": lap}))?;
    /// }
    /// assert!(log.stats().file.bytes < 25_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn compact_at(mut self, wasted: u64) -> LogOptions {
        self.compact_at = wasted;
        self
    }

    /// How documents of rows are laid out, and their limits. The limits are for rows that come: those
    /// that the log has already are gathered and compacted whatever they are.
    #[must_use]
    pub fn encode(mut self, encode: EncodeOptions) -> LogOptions {
        self.encode = encode;
        self
    }

    /// Makes a new log. The file must not exist. Two syncs, of the file and of its directory.
    ///
    /// # Errors
    /// What the system reports, such as a file that exists.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Log> {
        let making =
            |error| Error::io(format!("{} cannot be created", path.as_ref().display()), error);
        let path = std::path::absolute(path.as_ref()).map_err(making)?;
        let file = create_locked(&path).map_err(making)?;
        remove_leftovers(&path);
        // This handle keeps the lock until the file is removed.
        let same = file.try_clone().map_err(making)?;
        let made = self.begin(LogFile::new(file), path.clone()).and_then(|log| {
            sync_directory_of(&path).map_err(making)?;
            Ok(log)
        });
        if made.is_err() {
            let _ = fs::remove_file(&path);
        }
        drop(same);
        made
    }

    /// Opens a log to add rows, and locks it.
    ///
    /// Bytes of an unfinished write at its end are cut off: [`Log::dropped`] says which. An empty
    /// file becomes a log. Rows that no writer synced are written once more, and synced: of a log
    /// that was never synced, all.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`], [`ErrorKind::NotALog`], [`ErrorKind::Unsupported`],
    /// [`ErrorKind::Damaged`], [`ErrorKind::CutShort`], and what the system reports. No row is
    /// changed then.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Log> {
        let opening = |error: io::Error| {
            Error::io(format!("{} cannot be opened", path.as_ref().display()), error)
        };
        let path = fs::canonicalize(path.as_ref()).map_err(opening)?;
        let file = LogFile::new(open_locked(&path)?);
        remove_leftovers(&path);
        // Whoever made or compacted the log may have died before its name was on the disk.
        sync_directory_of(&path).map_err(opening)?;
        if is_blank(&file)? {
            return self.begin(file, path);
        }
        let mut header = [0; HEADER_SIZE as usize];
        file.read(&mut header, 0)?;
        let frames = Frames::open(&file)?;
        if layout::is_read_only(&header) {
            let message = "the log uses a feature that this library can read but not write";
            return Err(Error::new(ErrorKind::Unsupported, message).at(6));
        }
        let marked = Mark::read(&header, frames.identity);
        let mut log = Log::over(file, path, frames, self);
        log.marked = marked;
        log.drop_torn()?;
        Ok(log)
    }

    /// Opens a log, or makes a new one where there is no file.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`create`](Self::create).
    pub fn open_or_create(self, path: impl AsRef<Path>) -> Result<Log> {
        let path = path.as_ref();
        match self.create(path) {
            Err(error)
                if error.io_error().is_some_and(|io| io.kind() == io::ErrorKind::AlreadyExists) =>
            {
                self.open(path)
            }
            made => made,
        }
    }

    /// Makes a new log in place of what has this name. A log that is open for writing is not
    /// replaced. Readers that have the old one open keep it.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`], and what the system reports.
    pub fn replace(self, path: impl AsRef<Path>) -> Result<Log> {
        let path = path.as_ref();
        let replacing = |error| Error::io(format!("{} cannot be replaced", path.display()), error);
        let path = behind_links(path).map_err(replacing)?;
        if !path.exists() {
            return self.create(path);
        }
        let old = LogFile::new(open_locked(&path)?);
        let (log, temporary) = self.beside(&path, &old)?;
        let log = log.put_in_place(temporary, &path)?;
        sync_directory_of(&path).map_err(writing)?;
        Ok(log)
    }

    /// Makes an empty log in a file that holds none, and waits until it is on the disk.
    fn begin(self, file: LogFile, path: PathBuf) -> Result<Log> {
        let mut log = self.begin_unsynced(file, path)?;
        log.sync()?;
        Ok(log)
    }

    /// The same without waiting.
    fn begin_unsynced(self, file: LogFile, path: PathBuf) -> Result<Log> {
        let identity = identity()?;
        let log = Log::over(file, path, Frames::new(identity), self);
        let mut header = layout::header(identity).to_vec();
        header.extend(Mark::default().to_bytes(identity));
        log.reader.file.write(&header, 0).map_err(writing)?;
        Ok(log)
    }

    /// An empty log in a temporary file beside another, with the rights of that one, and locked.
    fn beside(self, path: &Path, old: &LogFile) -> Result<(Log, TempPath)> {
        let making =
            |error| Error::io(format!("no file can be made beside {}", path.display()), error);
        let old = old.metadata().map_err(making)?;
        let (file, temporary) = new_beside(path, Some(&old)).map_err(making)?;
        let temporary = TempPath::try_from_path(temporary).map_err(making)?;
        Ok((self.begin_unsynced(LogFile::new(file), path.to_path_buf())?, temporary))
    }
}

/// A log that rows are added to. One writer at a time: it holds the file's lock.
///
/// Rows are in the file when a call returns. Rows that are appended one by one are gathered: when
/// there are enough of them, they are written once more, as one group of columns.
///
/// A process that is forked meanwhile can read the log. It adds no rows
/// ([`ErrorKind::Io`]), and closing it there writes nothing.
///
/// Dropping it closes the file without waiting for the disk. [`close`](Self::close) waits.
///
/// ```
/// use livebuf_log::Log;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("laps.lblog");
/// let mut log = Log::create(&path)?;
/// assert_eq!(log.append(&livebuf::json!({"lap": 1, "sec": 88.4}))?, 0);
/// log.append(&livebuf::json!({"lap": 2, "sec": null}))?;
/// log.close()?;
///
/// let log = Log::open(&path)?;
/// assert_eq!(log.len(), 2);
/// assert_eq!(log.get(1)?.unwrap().value().unwrap().get("lap").unwrap(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Log {
    reader: LogReader,
    options: LogOptions,
    builder: Builder,
    /// A frame that is being written.
    frame: Vec<u8>,
    /// Bytes of the frames after the last group.
    tail_bytes: u64,
    /// The length from which on the log checks again whether it should compact itself.
    compact_from: u64,
    dropped: Option<Dropped>,
    /// What the file's mark says.
    marked: Mark,
    broken: bool,
}

/// What was cut off when a log was opened: [`Log::dropped`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// The bytes.
    pub torn: Torn,
    /// Where they are kept, if there are whole frames among them.
    pub kept: Option<PathBuf>,
}

/// `dropped 4 bytes from offset 1024 on: a write that did not end`
impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Torn { offset, bytes, frames } = &self.torn;
        let ending = |count: u64| if count == 1 { "" } else { "s" };
        write!(
            f,
            "dropped {bytes} byte{} from offset {offset} on: a write that did not end",
            ending(*bytes)
        )?;
        match &self.kept {
            Some(kept) => {
                let (ending, kept) = (ending(*frames), kept.display());
                write!(f, "; they have {frames} whole frame{ending}, and are kept in {kept}")
            }
            None => Ok(()),
        }
    }
}

/// What [`Log::compact`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of the file now.
    pub after: u64,
}

/// Where a log's bytes go, and what its writer did since it opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogStats {
    /// Where the file's bytes go.
    pub file: Stats,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// How often it waited for the disk.
    pub syncs: u64,
}

fn writing(error: io::Error) -> Error {
    Error::io("the log cannot be written", error)
}

fn keeping(error: io::Error) -> Error {
    Error::io("the log's end cannot be kept in a file beside it", error)
}

/// Copies a log's end to a new file beside it, and waits until it is on the disk. After an error
/// there is no file.
fn keep(file: &LogFile, path: &Path, torn: Torn) -> Result<PathBuf> {
    let mut number = 0;
    let (kept, copy) = loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".torn-{}", torn.offset));
        if number > 0 {
            name.push(format!("-{number}"));
        }
        let kept = PathBuf::from(name);
        match File::options().write(true).create_new(true).open(&kept) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            opened => break (kept, opened.map_err(keeping)?),
        }
    };
    copy_end(file, torn.offset, copy)
        .and_then(|()| sync_directory_of(&kept).map_err(keeping))
        .inspect_err(|_| drop(fs::remove_file(&kept)))?;
    Ok(kept)
}

fn copy_end(file: &LogFile, mut at: u64, mut copy: File) -> Result<()> {
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut piece, at)?;
        let bytes = piece.get(..read).unwrap_or(&[]);
        io::Write::write_all(&mut copy, bytes).map_err(keeping)?;
        at += read as u64;
        if read < piece.len() {
            return copy.sync_all().map_err(keeping);
        }
    }
}

/// Eight bytes that no other log has. The system gives them each time, so that forked processes do
/// not get the same ones.
fn identity() -> Result<Identity> {
    let mut identity = Identity::default();
    let filled = getrandom::fill(&mut identity).map_err(io::Error::other);
    filled.map_err(|error| Error::io("the system has no random bits", error))?;
    Ok(identity)
}

#[cold]
fn replaced() -> Error {
    let message = "the log was removed, or another file has its name: open the log again";
    Error::new(ErrorKind::Replaced, message)
}

/// That the encoder took a row of a call, or why it did not.
fn taken<E: Into<Error>>(number: u64, row: Result<(), E>) -> Result<bool> {
    row.map(|()| true).map_err(|error| error.into().of_row(number))
}

/// Whether a file has no header yet: it is empty, or a power cut left zeros of its header.
fn is_blank(file: &LogFile) -> Result<bool> {
    // One byte more, to see that the file is longer.
    let mut bytes = [0; HEADER_SIZE as usize + 1];
    let read = file.read(&mut bytes, 0)?;
    Ok(read < bytes.len() && bytes.iter().all(|&byte| byte == 0))
}

impl Log {
    /// Makes a new log; as [`LogOptions::create`].
    ///
    /// # Errors
    /// As [`LogOptions::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Log> {
        LogOptions::new().create(path)
    }

    /// Opens a log to add rows; as [`LogOptions::open`].
    ///
    /// # Errors
    /// As [`LogOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Log> {
        LogOptions::new().open(path)
    }

    fn over(file: LogFile, path: PathBuf, frames: Frames, options: LogOptions) -> Log {
        Log {
            tail_bytes: frames.tail_bytes(),
            reader: LogReader::over(Arc::new(file), path, frames),
            options,
            builder: Builder::new(options.encode),
            frame: Vec::new(),
            compact_from: 0,
            dropped: None,
            marked: Mark::default(),
            broken: false,
        }
    }

    // --- looking ------------------------------------------------------------

    /// What reads the log: all rows that were added are there. A clone of it goes on by itself.
    pub fn reader(&self) -> &LogReader {
        &self.reader
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.reader.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.reader.is_empty()
    }

    /// A row by its number; as [`LogReader::get`].
    ///
    /// # Errors
    /// As [`LogReader::get`].
    pub fn get(&self, row: u64) -> Result<Option<Row>> {
        self.reader.get(row)
    }

    /// The bytes at the log's end that were cut off when it was opened: an unfinished write, whose
    /// rows were never promised to be on the disk.
    ///
    /// Whole frames among them are kept in a file beside the log. A power cut leaves such frames,
    /// and so does damage where nothing was ever synced.
    pub fn dropped(&self) -> Option<&Dropped> {
        self.dropped.as_ref()
    }

    /// Where the file's bytes go, and what was written since it was opened: as [`LogReader::stats`].
    pub fn stats(&self) -> LogStats {
        let (written_bytes, syncs) = self.reader.file.counts();
        LogStats { file: self.reader.stats(), written_bytes, syncs }
    }

    // --- adding rows --------------------------------------------------------

    /// Adds a row: a value, document or view. Answers its number.
    ///
    /// One write of the row's document and 32 bytes; each row is written once more in its group, in fewer
    /// bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] where the value is damaged, too large, or nested more than 999 deep: a row
    /// is an element of an array, which may nest 1,000 deep. [`ErrorKind::Broken`], and what the
    /// system reports, such as a full disk. The log is as before then.
    pub fn append<'a>(&mut self, row: impl AsValue<'a>) -> Result<u64> {
        self.append_with(|encoder| Ok(encoder.value(&row.as_value())?))
    }

    /// Adds a row that serde serializes. Answers its number.
    ///
    /// ```
    /// # use livebuf_log::Log;
    /// # let directory = tempfile::tempdir()?;
    /// #[derive(serde::Serialize)]
    /// struct Lap { lap: u32, sec: Option<f64> }
    ///
    /// let mut log = Log::create(directory.path().join("laps.lblog"))?;
    /// log.append_from(&Lap { lap: 1, sec: Some(88.4) })?;
    /// log.extend_from((2..100).map(|lap| Lap { lap, sec: None }))?;
    /// assert_eq!(log.len(), 99);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`append`](Self::append).
    #[cfg(feature = "serde")]
    pub fn append_from<T: serde_core::Serialize + ?Sized>(&mut self, row: &T) -> Result<u64> {
        self.append_with(|encoder| Ok(row.serialize(encoder)?))
    }

    /// Adds a row by the events of an encoder: exactly one value. Answers its number.
    ///
    /// # Errors
    /// As [`append`](Self::append), and those of `row`.
    pub fn append_with<E: From<Error>>(
        &mut self,
        row: impl FnOnce(&mut Encoder) -> Result<(), E>,
    ) -> Result<u64, E> {
        self.check()?;
        let number = self.len();
        let document = self.builder.single(row)?;
        if self.fills(document.as_bytes(), 1) {
            self.gather(document.doc())?;
        } else {
            self.write(FrameKind::Row, document.as_bytes(), 1)?;
        }
        self.added()?;
        Ok(number)
    }

    /// Adds rows: values, documents or views. Answers how many.
    ///
    /// Many rows are written as groups at once, in memory for one group. They are added a group
    /// at a time: after an error [`len`](Self::len) says how many were. These are synced then, too,
    /// if the options ask for it.
    ///
    /// # Errors
    /// As [`append`](Self::append). [`Error::row`] says which row cannot be stored. It is in none
    /// of the groups that were added, nor are other rows of its group. If each row can be stored, but
    /// a group takes more than a document holds, it says with which row the group begins.
    pub fn extend<'a, R: AsValue<'a>>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<u64> {
        let mut rows = (0..).zip(rows);
        self.extend_with(|encoder| match rows.next() {
            Some((number, row)) => taken(number, encoder.value(&row.as_value())),
            None => Ok(false),
        })
    }

    /// Adds rows that serde serializes. Answers how many.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    #[cfg(feature = "serde")]
    pub fn extend_from<T: serde_core::Serialize>(
        &mut self,
        rows: impl IntoIterator<Item = T>,
    ) -> Result<u64> {
        let mut rows = (0..).zip(rows);
        self.extend_with(|encoder| match rows.next() {
            Some((number, row)) => taken(number, row.serialize(encoder)),
            None => Ok(false),
        })
    }

    /// Adds rows by the events of an encoder. `next` gives one value each time, or answers that
    /// there is none any more. Answers how many there were.
    ///
    /// ```
    /// # use livebuf_log::Log;
    /// # let directory = tempfile::tempdir()?;
    /// let mut log = Log::create(directory.path().join("laps.lblog"))?;
    /// let mut laps = 1..=100_000;
    /// log.extend_with::<livebuf_log::Error>(|encoder| {
    ///     let Some(lap) = laps.next() else { return Ok(false) };
    ///     encoder.begin_object()?;
    ///     encoder.key("lap")?;
    ///     encoder.i64(lap)?;
    ///     encoder.end_object()?;
    ///     Ok(true)
    /// })?;
    /// assert_eq!(log.len(), 100_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`extend`](Self::extend), and those of `next`, which are answered as they are. So
    /// [`Error::row`] of these is `None`, and only if `next` gives no whole value, or more than one,
    /// it says with which row the group begins.
    pub fn extend_with<E: From<Error>>(
        &mut self,
        next: impl FnMut(&mut Encoder) -> Result<bool, E>,
    ) -> Result<u64, E> {
        self.check()?;
        let start = self.len();
        let extended = self.extend_groups(next);
        if extended.is_ok() || self.len() > start {
            // An error of these comes first: it says that the rows before may not be on the disk.
            self.added()?;
        }
        extended.map(|()| self.len() - start)
    }

    /// Adds rows a group at a time. After an error groups may have been added.
    fn extend_groups<E: From<Error>>(
        &mut self,
        mut next: impl FnMut(&mut Encoder) -> Result<bool, E>,
    ) -> Result<(), E> {
        let start = self.len();
        loop {
            let room = self.room();
            self.builder.begin()?;
            let mut more = true;
            while self.builder.count() == 0
                || self.builder.count() < room && self.builder.bytes() < self.options.group_bytes
            {
                more = self.builder.row(&mut next)?;
                if !more {
                    break;
                }
            }
            let rows = self.builder.count();
            if rows > 0 {
                let before = self.len() - start;
                let large = self.builder.bytes() >= self.options.group_bytes;
                let added = self.builder.finish().and_then(|document| match large {
                    true => {
                        self.settle()?;
                        self.write(FrameKind::Group, document.as_bytes(), rows)
                    }
                    false => self.add(document.doc(), rows),
                });
                added.map_err(|error| error.of_row(before))?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Adds a document as a row. It is written as it is. Answers the row's number.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_document(&mut self, row: Doc<'_, Valid>) -> Result<u64> {
        self.check()?;
        check_nesting(row)?;
        let number = self.len();
        if self.fills(row.as_bytes(), 1) {
            self.gather(row.checked())?;
        } else {
            self.write(FrameKind::Row, row.as_bytes(), 1)?;
        }
        self.added()?;
        Ok(number)
    }

    /// Adds all elements of a document's root, which must be an array. Answers how many.
    ///
    /// Where there are at most as many as [`room`](Self::room) says, the document is written as it
    /// is.
    ///
    /// ```
    /// # use livebuf_log::Log;
    /// # let directory = tempfile::tempdir()?;
    /// let mut log = Log::create(directory.path().join("laps.lblog"))?;
    /// let laps = livebuf_json::from_lines(b"{\"lap\": 1}\n{\"lap\": 2}\n", &Default::default())?;
    /// assert_eq!(log.extend_document(laps.valid()?)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub fn extend_document(&mut self, rows: Doc<'_, Valid>) -> Result<u64> {
        self.check()?;
        let Some(array) = rows.root().as_array() else {
            return Err(livebuf::Error::new(livebuf::ErrorKind::WrongType, 0).into());
        };
        let (count, start) = (array.len(), self.len());
        if count > self.room() {
            return self.extend(array.iter());
        }
        if count > 0 {
            self.add(rows.checked(), count)?;
            self.added()?;
        }
        Ok(self.len() - start)
    }

    /// How many rows fit the group that is being gathered: at least one.
    pub fn room(&self) -> usize {
        let tail = self.len() - self.reader.frames.settled();
        let tail = usize::try_from(tail).unwrap_or(usize::MAX);
        match self.options.group_rows.saturating_sub(tail) {
            // The tail is of a writer with larger groups.
            0 => self.options.group_rows,
            room => room,
        }
    }

    /// Writes rows as a frame by themselves, or with those before them as a group.
    fn add(&mut self, document: Doc<'_>, rows: usize) -> Result<()> {
        let bytes = document.as_bytes();
        if !self.fills(bytes, rows) {
            return self.write(FrameKind::Rows, bytes, rows);
        }
        if self.is_large(bytes, rows) {
            self.settle()?;
        }
        if self.reader.frames.tail.is_empty() {
            return self.write(FrameKind::Group, bytes, rows);
        }
        self.begin_group()?;
        self.builder.rows_of(document)?;
        self.end_group()
    }

    /// Whether rows, with those after the last group, are enough for a group.
    fn fills(&self, bytes: &[u8], rows: usize) -> bool {
        let frames = &self.reader.frames;
        let tail_rows = frames.rows() - frames.settled();
        tail_rows + rows as u64 >= self.options.group_rows as u64
            || self.tail_bytes + bytes.len() as u64 >= self.options.group_bytes
    }

    /// Whether rows are a group by themselves.
    fn is_large(&self, bytes: &[u8], rows: usize) -> bool {
        rows >= self.options.group_rows / 2 || bytes.len() as u64 >= self.options.group_bytes / 2
    }

    /// Writes the rows after the last group as a group, with one more.
    fn gather(&mut self, row: Doc<'_>) -> Result<()> {
        if row.as_bytes().len() as u64 >= self.options.group_bytes / 2 {
            self.settle()?;
        }
        self.begin_group()?;
        self.builder.value(row.root())?;
        self.end_group()
    }

    /// Writes the rows after the last group as a group.
    fn settle(&mut self) -> Result<()> {
        if self.reader.frames.tail.is_empty() {
            return Ok(());
        }
        self.begin_group()?;
        self.end_group()
    }

    fn begin_group(&mut self) -> Result<()> {
        self.builder.begin_anew()?;
        self.builder.frames(&self.reader.file, &self.reader.frames.tail)
    }

    fn end_group(&mut self) -> Result<()> {
        let (document, rows) = (self.builder.finish()?, self.builder.count());
        self.write(FrameKind::Group, document.as_bytes(), rows)
    }

    /// The end of each call that added rows: compacting and syncing, if it is time.
    fn added(&mut self) -> Result<()> {
        if self.reader.frames.end >= self.compact_from {
            self.compact_if_wasteful()?;
        }
        if self.options.sync { self.sync() } else { Ok(()) }
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self.broken {
            true => Err(Error::new(
                ErrorKind::Broken,
                "an earlier sync failed, so that nobody knows what is on the disk: open the log \
                 again",
            )),
            false => Ok(()),
        }
    }

    // --- writing ------------------------------------------------------------

    /// Writes a frame of rows after the others.
    fn write(&mut self, kind: FrameKind, body: &[u8], rows: usize) -> Result<()> {
        let too_large = || Error::new(ErrorKind::Row, "the rows take more than a document holds");
        let length = u32::try_from(body.len()).map_err(|_| too_large())?;
        let count = u32::try_from(rows).map_err(|_| too_large())?;
        let frames = &self.reader.frames;
        let first = if kind == FrameKind::Group { frames.settled() } else { frames.rows() };
        let offset = frames.end;
        let crc = self.put(
            FrameHeader {
                kind,
                length,
                first,
                rows: count,
                durable: frames.durable,
                crc: layout::crc(body),
            },
            body,
        )?;
        let frame = Frame { kind, offset, first, rows: count, length, crc };
        let frames = &mut self.reader.frames;
        if kind != FrameKind::Group {
            frames.tail.push(frame);
            self.tail_bytes += frame.size();
            return Ok(());
        }
        frames.tail.clear();
        self.tail_bytes = 0;
        frames.groups.push(frame);
        if frames.groups.len() - frames.indexed >= INDEXED {
            // An index only speeds up opening. The rows are in the log without it.
            let _ = self.write_index();
        }
        Ok(())
    }

    fn write_index(&mut self) -> Result<()> {
        let frames = &self.reader.frames;
        let listed = frames.groups.get(frames.indexed..).unwrap_or(&[]);
        let body = index_document(frames.index, listed)?;
        let (offset, durable) = (frames.end, frames.durable);
        let length = body.len() as u32;
        let (first, crc) = (frames.settled(), layout::crc(&body));
        let header = FrameHeader { kind: FrameKind::Index, length, first, rows: 0, durable, crc };
        self.put(header, &body)?;
        let frames = &mut self.reader.frames;
        frames.index = offset;
        frames.indexed = frames.groups.len();
        frames.index_bytes += FRAME_SIZE + body.len() as u64;
        self.mark();
        Ok(())
    }

    /// Writes a frame's bytes, or none of them. Answers the body's CRC.
    fn put(&mut self, header: FrameHeader, body: &[u8]) -> Result<u32> {
        self.reader.file.must_be_ours().map_err(writing)?;
        let frames = &mut self.reader.frames;
        self.frame.clear();
        self.frame.extend(header.to_bytes(frames.identity, frames.end));
        self.frame.extend(body);
        if let Err(error) = self.reader.file.write(&self.frame, frames.end) {
            // If this fails, too, the bytes are a torn end.
            let _ = self.reader.file.set_len(frames.end);
            return Err(writing(error));
        }
        frames.end += self.frame.len() as u64;
        // A large group's memory is not kept.
        self.frame.shrink_to(1 << 20);
        Ok(header.crc)
    }

    /// Writes the mark, so that the log opens faster next time.
    fn mark(&mut self) {
        let frames = &self.reader.frames;
        let mark = Mark { durable: frames.durable, index: frames.index };
        if mark != self.marked
            && self.reader.file.must_be_ours().is_ok()
            && self.reader.file.write(&mark.to_bytes(frames.identity), MARK).is_ok()
        {
            self.marked = mark;
        }
    }

    /// Cuts an unfinished write off, and waits for the disk: what it held must never come back
    /// after new rows.
    fn drop_torn(&mut self) -> Result<()> {
        let frames = &mut self.reader.frames;
        if let Some(torn) = frames.torn.take() {
            let kept = match torn.frames {
                0 => None,
                _ => Some(keep(&self.reader.file, &self.reader.path, torn)?),
            };
            self.reader.file.set_len(torn.offset).map_err(writing)?;
            self.dropped = Some(Dropped { torn, kept });
        }
        if frames.durable < frames.end {
            self.write_again()?;
        } else if self.dropped.is_none() {
            return Ok(());
        }
        let waited = self.wait();
        if let (Err(_), Some(Dropped { torn, .. })) = (&waited, &self.dropped) {
            // The disk may have forgotten the cut. The next writer must cut it again.
            let _ = self.reader.file.set_len(torn.offset + torn.bytes);
        }
        waited
    }

    /// Writes the bytes again that may not be on the disk. If an earlier writer's sync failed, the
    /// system counts them as written, and a sync by itself does nothing.
    fn write_again(&self) -> Result<()> {
        let LogReader { file, frames, .. } = &self.reader;
        let (mut at, mut piece) = (frames.durable, vec![0; 1 << 20]);
        while at < frames.end {
            let length = (frames.end - at).min(piece.len() as u64) as usize;
            let piece = piece.get_mut(..length).unwrap_or(&mut []);
            let read = file.read(piece, at)?;
            let Some(piece) = piece.get(..read).filter(|piece| !piece.is_empty()) else { break };
            file.write(piece, at).map_err(writing)?;
            at += read as u64;
        }
        Ok(())
    }

    /// Waits until all rows are on the disk. Nothing to do where they are.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if the log was removed, so that the rows end with this process. What the
    /// system reports: nobody knows then what is on the disk, and the log takes no more rows
    /// ([`ErrorKind::Broken`]).
    pub fn sync(&mut self) -> Result<()> {
        self.check()?;
        if self.reader.frames.durable == self.reader.frames.end {
            return Ok(());
        }
        self.reader.file.must_be_ours().map_err(writing)?;
        if self.reader.file.is_removed().map_err(writing)? {
            return Err(replaced());
        }
        self.wait()
    }

    fn wait(&mut self) -> Result<()> {
        if let Err(error) = self.reader.file.sync() {
            self.broken = true;
            return Err(Error::io("the log cannot be written to the disk", error));
        }
        self.reader.frames.durable = self.reader.frames.end;
        Ok(())
    }

    /// Waits until all rows are on the disk, and closes the log.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn close(mut self) -> Result<()> {
        self.sync()
    }

    // --- compacting ---------------------------------------------------------

    /// Writes the log anew: full groups, and nothing else. Rows keep their numbers.
    ///
    /// The new file is made beside the old one, synced, and renamed over it. A crash leaves the
    /// one or the other. Readers keep the old file until they [refresh](LogReader::refresh).
    /// Linear in the log, and in the names of its directory; memory for a group. New files of
    /// killed processes are removed there.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if the log was removed, or the name is another file's; damage; what
    /// the system reports. The log is as before then. Only if the directory cannot be synced, it is
    /// the new file, and takes no more rows ([`ErrorKind::Broken`]): a power cut may bring the old
    /// one back.
    pub fn compact(&mut self) -> Result<Compacted> {
        self.check()?;
        self.reader.file.must_be_ours().map_err(writing)?;
        let path = self.reader.path.clone();
        if !self.reader.file.has_name(&path).map_err(writing)? {
            return Err(replaced());
        }
        remove_abandoned(&path);
        let encode = unlimited(self.options.encode);
        let options = LogOptions { sync: false, compact_at: u64::MAX, encode, ..self.options };
        let (mut log, temporary) = options.beside(&path, &self.reader.file)?;
        for frame in &self.reader.frames.groups {
            log.copy(&Group::read(&self.reader.file, frame)?)?;
        }
        if !self.reader.frames.tail.is_empty() {
            log.copy(&self.reader.tail()?)?;
        }
        let before = self.reader.frames.end;
        log.options = self.options;
        log.builder = Builder::new(self.options.encode);
        log.compact_from = 0;
        log.reader.file.count_on_from(&self.reader.file);
        *self = log.put_in_place(temporary, &path)?;
        let named = sync_directory_of(&path);
        // After a power cut the name may be the old file's. Rows of this one are lost then.
        self.broken = named.is_err();
        named.map_err(writing)?;
        Ok(Compacted { before, after: self.reader.frames.end })
    }

    /// Compacts the log if half of it is wasted, and as much as the options say.
    ///
    /// If that fails, the rows are in the log all the same, so the call that added them succeeds. It
    /// reports the error only if the log is broken now.
    fn compact_if_wasteful(&mut self) -> Result<()> {
        let frames = &self.reader.frames;
        let (mut small_rows, mut small_bytes) = (0, 0);
        for frame in &frames.tail {
            if frame.rows < SMALL_FRAME.0 && frame.size() < SMALL_FRAME.1 {
                small_rows += u64::from(frame.rows);
                small_bytes += frame.size();
            }
        }
        if small_rows < frames.rows() / 8 {
            small_bytes = 0;
        }
        let Stats { bytes: end, dead_bytes, .. } = self.reader.stats();
        let wasted = dead_bytes + small_bytes;
        let kept = end - wasted;
        let enough = self.options.compact_at.max(kept);
        if wasted < enough {
            self.compact_from = end.saturating_add(enough - wasted);
            return Ok(());
        }
        self.compact_from = end.saturating_mul(2);
        if kept > COMPACTS_ITSELF {
            return Ok(());
        }
        match self.compact() {
            Err(error) if self.broken => Err(error),
            _ => Ok(()),
        }
    }

    /// Adds a group of another log: as it is if it is large.
    pub(crate) fn copy(&mut self, group: &Group) -> Result<()> {
        let bytes = group.document().as_bytes();
        if self.reader.frames.tail.is_empty() && self.is_large(bytes, group.len()) {
            return self.write(FrameKind::Group, bytes, group.len());
        }
        let rows = group.array();
        self.extend(rows.iter().flat_map(|rows| rows.iter())).map(drop)
    }

    /// Gives a finished log in a temporary file its name. The caller syncs the directory.
    pub(crate) fn put_in_place(mut self, temporary: TempPath, path: &Path) -> Result<Log> {
        self.sync()?;
        self.mark();
        self.reader.file.sync().map_err(writing)?;
        rename(temporary, path).map_err(writing)?;
        Ok(self)
    }

    pub(crate) fn beside(
        options: LogOptions,
        path: &Path,
        old: &LogFile,
    ) -> Result<(Log, TempPath)> {
        options.beside(path, old)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if !self.broken {
            self.mark();
        }
    }
}
