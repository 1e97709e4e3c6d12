//! Reading: rows by number, groups, and what a writer adds meanwhile.

use std::fs::File;
use std::io;
use std::ops::{Bound, Range, RangeBounds};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use livebuf::{EncodeOptions, ReadAt, Storage};

use crate::error::{Error, Result};
use crate::file::LogFile;
use crate::frames::{Frame, Frames, Torn, read_body};
use crate::group::{Builder, Group, Row};
use crate::layout::{self, HEADER_SIZE};

/// A log that is read. It takes no lock: a writer and any number of readers work side by side.
///
/// It sees the rows that were there when it was opened, or [refreshed](Self::refresh) last.
/// Memory: 32 bytes for each group, and one group of rows.
///
/// ```
/// use livebuf_log::{Log, LogReader};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("laps.lblog");
/// let mut log = Log::create(&path)?;
/// log.append(&livebuf::json!({"lap": 1}))?;
///
/// let mut reader = LogReader::open(&path)?;
/// log.append(&livebuf::json!({"lap": 2}))?;
/// assert_eq!(reader.len(), 1);
/// assert_eq!(reader.refresh()?.rows, 1);
/// assert_eq!(reader.get(1)?.unwrap().value().unwrap().get("lap").unwrap(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LogReader {
    pub(crate) file: Arc<LogFile>,
    pub(crate) path: PathBuf,
    pub(crate) frames: Frames,
    /// The group that was read last, with its offset. If it is the tail as one group, the offset is
    /// that of the tail's end.
    kept: Mutex<Option<(u64, Group)>>,
}

/// A copy has its own place in the log, and shares the open file.
impl Clone for LogReader {
    fn clone(&self) -> LogReader {
        LogReader::over(Arc::clone(&self.file), self.path.clone(), self.frames.clone())
    }
}

/// What [`LogReader::refresh`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refreshed {
    /// Rows that came to those before.
    pub rows: u64,
    /// Another file has the log's name: it was compacted, and rows keep their numbers; or
    /// somebody put another log in its place.
    pub replaced: bool,
}

/// Where a log's bytes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of rows.
    pub rows: u64,
    /// Number of groups.
    pub groups: u64,
    /// Rows behind the last group.
    pub tail_rows: u64,
    /// Frames behind the last group.
    pub tail_frames: u64,
    /// Bytes of the file, up to the last whole frame.
    pub bytes: u64,
    /// Bytes of frames that a group took the place of. [`Log::compact`](crate::Log::compact)
    /// takes them back.
    pub dead_bytes: u64,
    /// Bytes of indexes.
    pub index_bytes: u64,
    /// Bytes behind the last whole frame.
    pub torn_bytes: u64,
}

impl Stats {
    /// Each number with its name, in the order of the fields.
    ///
    /// ```
    /// let stats = livebuf_log::Stats::default();
    /// assert_eq!(stats.named()[0], ("rows", 0));
    /// ```
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("rows", self.rows),
            ("groups", self.groups),
            ("tail_rows", self.tail_rows),
            ("tail_frames", self.tail_frames),
            ("bytes", self.bytes),
            ("dead_bytes", self.dead_bytes),
            ("index_bytes", self.index_bytes),
            ("torn_bytes", self.torn_bytes),
        ]
    }
}

impl LogReader {
    /// Opens a log to be read. Reads an index and the frames behind it: few, however long the
    /// log is.
    ///
    /// Bytes of an unfinished write at the end are passed over: see [`torn`](Self::torn).
    ///
    /// # Errors
    /// [`NotALog`](crate::ErrorKind::NotALog), [`Unsupported`](crate::ErrorKind::Unsupported),
    /// [`Damaged`](crate::ErrorKind::Damaged), [`CutShort`](crate::ErrorKind::CutShort), and
    /// what the system reports.
    pub fn open(path: impl AsRef<Path>) -> Result<LogReader> {
        let name = path.as_ref().display();
        let opening = |error| Error::io(format!("{name} cannot be opened"), error);
        let path = std::path::absolute(path.as_ref()).map_err(opening)?;
        let file = File::open(&path).map_err(opening)?;
        if file.metadata().map_err(opening)?.is_dir() {
            let message = format!("not a log: {name} is a directory");
            return Err(Error::new(crate::ErrorKind::NotALog, message));
        }
        let file = LogFile::new(file);
        let frames = Frames::open(&file)?;
        Ok(LogReader::over(Arc::new(file), path, frames))
    }

    /// Opens a log elsewhere. A group is fetched by one read, and opening reads an index and the
    /// headers of the frames behind it. `path` is its name in messages, and in
    /// [`path`](Self::path).
    ///
    /// ```
    /// use livebuf_log::{Log, LogReader};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("laps.lblog");
    /// Log::create(&path)?.append(&livebuf::json!({"lap": 1}))?;
    /// // A program of yours implements `livebuf::ReadAt` by requests for ranges.
    /// let source = std::fs::File::open(&path)?;
    /// let reader = LogReader::elsewhere(source, "https://host/laps.lblog")?;
    /// assert_eq!(reader.get(0)?.unwrap().value().unwrap().get("lap").unwrap(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn elsewhere(
        source: impl ReadAt<Error = io::Error> + Send + 'static,
        path: impl Into<PathBuf>,
    ) -> Result<LogReader> {
        let file = LogFile::elsewhere(source);
        let frames = Frames::open(&file)?;
        Ok(LogReader::over(Arc::new(file), path.into(), frames))
    }

    pub(crate) fn over(file: Arc<LogFile>, path: PathBuf, frames: Frames) -> LogReader {
        LogReader { file, path, frames, kept: Mutex::new(None) }
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.frames.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The path that the log was opened by, as an absolute one: the process may change its directory.
    /// The name of a log [elsewhere](Self::elsewhere) stays as it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes behind the last whole frame, if there are any: a write that did not end, or has not
    /// ended yet. They are no rows.
    pub fn torn(&self) -> Option<Torn> {
        self.frames.torn
    }

    /// A row by its number, from 0 on; `None` behind the last one.
    ///
    /// The row's group is read, unless it was the last one read: linear in the group's bytes,
    /// some 0.2 ms for 65,536 small rows.
    ///
    /// # Errors
    /// [`Damaged`](crate::ErrorKind::Damaged), and what the system reports.
    pub fn get(&self, row: u64) -> Result<Option<Row>> {
        let Some(frame) = self.frames.find(row) else { return Ok(None) };
        let kept = self.kept(|offset, group| {
            let behind = row.checked_sub(group.first_row());
            let whole_tail = frame.first >= self.frames.settled() && offset == self.frames.end;
            (offset == frame.offset || whole_tail)
                && behind.is_some_and(|behind| behind < group.len() as u64)
        });
        let group = match kept {
            Some(group) => group,
            None => self.group_of(&frame)?,
        };
        let index = row.saturating_sub(group.first_row()) as usize;
        Ok(Some(Row { group, index }))
    }

    /// The groups that hold some rows, in order. Each is read when it is asked for. The rows
    /// behind the last group come as one group, which is made in memory.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("laps.lblog");
    /// let mut log = livebuf_log::Log::create(&path)?;
    /// log.extend((1..=1000).map(|lap| livebuf::json!({"lap": lap})).collect::<Vec<_>>().iter())?;
    /// for group in log.reader().groups(..) {
    ///     let group = group?;
    ///     let laps = group.array().unwrap().table().unwrap().column("lap").unwrap();
    ///     assert_eq!(laps.i64s().flatten().sum::<i64>(), 500_500);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn groups(&self, rows: impl RangeBounds<u64>) -> Groups<'_> {
        let (start, end) = self.bounds(rows);
        let settled = self.frames.settled();
        let next = self.frames.groups.partition_point(|group| group.end() <= start);
        Groups { reader: self, next, end, tail: end > start && end > settled }
    }

    /// How many groups there are, the rows behind the last one counted as one.
    pub fn group_count(&self) -> usize {
        self.frames.groups.len() + usize::from(!self.frames.tail.is_empty())
    }

    /// A group by its place, from 0 on; `None` behind the last one. As [`groups`](Self::groups).
    ///
    /// # Errors
    /// [`Damaged`](crate::ErrorKind::Damaged), and what the system reports.
    pub fn group(&self, index: usize) -> Result<Option<Group>> {
        match self.frames.groups.get(index) {
            Some(frame) => self.group_of(frame).map(Some),
            None if index < self.group_count() => self.tail().map(Some),
            None => Ok(None),
        }
    }

    /// The numbers of a group's rows, by its place; `None` behind the last one. Constant time.
    pub fn group_rows(&self, index: usize) -> Option<Range<u64>> {
        match self.frames.groups.get(index) {
            Some(frame) => Some(frame.first..frame.end()),
            None => (index < self.group_count()).then(|| self.frames.settled()..self.len()),
        }
    }

    /// The document of a group's rows, by its place; `None` behind the last one. Its checksum was
    /// compared, and it was not validated: for those who read few of its columns, and validate
    /// these.
    ///
    /// # Errors
    /// [`Damaged`](crate::ErrorKind::Damaged), and what the system reports.
    pub fn group_bytes(&self, index: usize) -> Result<Option<Vec<u8>>> {
        match self.frames.groups.get(index) {
            Some(frame) => {
                let body = read_body(&self.file, frame)?;
                Ok(body.bytes().get(..frame.length as usize).map(<[u8]>::to_vec))
            }
            None => Ok(self.group(index)?.map(|group| group.document().as_bytes().to_vec())),
        }
    }

    /// What can be read of the rows behind the last group, where one frame of them is damaged: the
    /// rows of sound frames that follow each other as one group, and an error for each damaged
    /// frame; in order, with the numbers of the rows.
    ///
    /// # Errors
    /// What the system reports.
    pub fn sound_tail(&self) -> Result<Vec<(Range<u64>, Result<Group>)>> {
        let mut found = Vec::new();
        let mut sound: Vec<Group> = Vec::new();
        let join = |sound: &mut Vec<Group>, found: &mut Vec<_>| -> Result<()> {
            let (Some(first), Some(last)) = (sound.first(), sound.last()) else { return Ok(()) };
            let rows = first.first_row()..last.first_row() + last.len() as u64;
            let mut builder = Builder::new(EncodeOptions::default());
            builder.begin()?;
            for group in sound.iter() {
                builder.rows_of(group.document().doc())?;
            }
            let (document, count) = (builder.finish()?, builder.count());
            let group = Group::new(document, rows.start, count)
                .ok_or_else(|| Error::damaged(self.frames.end, "the log is damaged"));
            found.push((rows, group));
            sound.clear();
            Ok(())
        };
        for frame in &self.frames.tail {
            match Group::read(&self.file, frame) {
                Ok(group) => sound.push(group),
                Err(error) if error.kind() == crate::ErrorKind::Damaged => {
                    join(&mut sound, &mut found)?;
                    found.push((frame.first..frame.end(), Err(error)));
                }
                Err(error) => return Err(error),
            }
        }
        join(&mut sound, &mut found)?;
        Ok(found)
    }

    /// Rows by their numbers, in order; of all with `..`.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("laps.lblog");
    /// let mut log = livebuf_log::Log::create(&path)?;
    /// log.extend([&livebuf::json!("a"), &livebuf::json!("b"), &livebuf::json!("c")])?;
    /// let mut rows = log.reader().rows(1..);
    /// assert_eq!(rows.next().unwrap()?.value().unwrap(), "b");
    /// assert_eq!(rows.next().unwrap()?.number(), 2);
    /// assert!(rows.next().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(&self, rows: impl RangeBounds<u64>) -> Rows<'_> {
        let (start, end) = self.bounds(rows);
        Rows { groups: self.groups(start..end), group: None, next: start, end }
    }

    fn bounds(&self, rows: impl RangeBounds<u64>) -> (u64, u64) {
        let start = match rows.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match rows.end_bound() {
            Bound::Included(&end) => end.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u64::MAX,
        };
        (start, end.min(self.len()))
    }

    /// Looks at what was written since: rows that came, and whether another file has the log's
    /// name now. Of a log [elsewhere](Self::elsewhere), rows that came to the same source.
    ///
    /// # Errors
    /// As [`open`](Self::open). The reader then stays as it was.
    pub fn refresh(&mut self) -> Result<Refreshed> {
        let before = self.len();
        if !self.file.is_elsewhere()
            && let Ok(file) = File::open(&self.path)
        {
            let file = LogFile::new(file);
            let mut header = [0; HEADER_SIZE as usize];
            let read = file.read(&mut header, 0)?;
            let identity = layout::read_header(header.get(..read).unwrap_or(&[]));
            if identity.is_ok_and(|identity| identity != self.frames.identity) {
                let frames = Frames::open(&file)?;
                *self = LogReader::over(Arc::new(file), self.path.clone(), frames);
                let rows = self.len().saturating_sub(before);
                return Ok(Refreshed { rows, replaced: true });
            }
        }
        let mut frames = self.frames.clone();
        frames.advance(&self.file)?;
        self.frames = frames;
        Ok(Refreshed { rows: self.len().saturating_sub(before), replaced: false })
    }

    /// What tells this file from all others (LOG 2). A log that was compacted is another file, whose
    /// groups may be others.
    pub fn identity(&self) -> [u8; 8] {
        self.frames.identity
    }

    /// Where the file's bytes go. Linear in the number of groups and of frames behind them.
    pub fn stats(&self) -> Stats {
        let frames = &self.frames;
        let live = frames.groups.iter().chain(&frames.tail).map(Frame::size).sum::<u64>();
        let used = HEADER_SIZE + live + frames.index_bytes;
        Stats {
            rows: frames.rows(),
            groups: frames.groups.len() as u64,
            tail_rows: frames.rows() - frames.settled(),
            tail_frames: frames.tail.len() as u64,
            bytes: frames.end,
            dead_bytes: frames.end.saturating_sub(used),
            index_bytes: frames.index_bytes,
            torn_bytes: frames.torn.map_or(0, |torn| torn.bytes),
        }
    }

    /// Reads and validates every row. Linear in the file.
    ///
    /// # Errors
    /// [`Damaged`](crate::ErrorKind::Damaged) with the first bad frame's offset.
    pub fn validate(&self) -> Result<()> {
        for frame in self.frames.groups.iter().chain(&self.frames.tail) {
            Group::read(&self.file, frame)?;
        }
        Ok(())
    }

    /// The rows after the last group as one group.
    pub(crate) fn tail(&self) -> Result<Group> {
        let end = self.frames.end;
        if let Some(group) = self.kept(|offset, _| offset == end) {
            return Ok(group);
        }
        let made = match self.frames.tail.as_slice() {
            [frame] => Group::read(&self.file, frame)?,
            frames => {
                let mut builder = Builder::new(EncodeOptions::default());
                builder.begin()?;
                builder.frames(&self.file, frames)?;
                let (document, rows) = (builder.finish()?, builder.count());
                Group::new(document, self.frames.settled(), rows)
                    .ok_or_else(|| Error::damaged(self.frames.end, "the log is damaged"))?
            }
        };
        Ok(self.keep(end, made))
    }

    /// The rows of a frame.
    fn group_of(&self, frame: &Frame) -> Result<Group> {
        let kept = self.kept(|offset, group| {
            offset == frame.offset
                && (group.first_row(), group.len() as u64) == (frame.first, u64::from(frame.rows))
        });
        match kept {
            Some(group) => Ok(group),
            None => Ok(self.keep(frame.offset, Group::read(&self.file, frame)?)),
        }
    }

    fn kept(&self, is_it: impl FnOnce(u64, &Group) -> bool) -> Option<Group> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref()
            .filter(|(offset, group)| is_it(*offset, group))
            .map(|(_, group)| group.clone())
    }

    fn keep(&self, offset: u64, group: Group) -> Group {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((offset, group.clone()));
        group
    }
}

/// The groups of a log: [`LogReader::groups`].
#[derive(Debug)]
pub struct Groups<'l> {
    reader: &'l LogReader,
    next: usize,
    /// Number of the row after the last one that is wanted.
    end: u64,
    tail: bool,
}

impl Iterator for Groups<'_> {
    type Item = Result<Group>;

    fn next(&mut self) -> Option<Result<Group>> {
        if let Some(frame) = self.reader.frames.groups.get(self.next)
            && frame.first < self.end
        {
            self.next += 1;
            return Some(self.reader.group_of(frame));
        }
        self.next = usize::MAX;
        std::mem::take(&mut self.tail).then(|| self.reader.tail())
    }
}

impl std::iter::FusedIterator for Groups<'_> {}

/// Rows of a log: [`LogReader::rows`].
#[derive(Debug)]
pub struct Rows<'l> {
    groups: Groups<'l>,
    group: Option<Group>,
    next: u64,
    end: u64,
}

impl Iterator for Rows<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        while self.next < self.end {
            if let Some(group) = &self.group {
                let index = self.next.saturating_sub(group.first_row());
                if index < group.len() as u64 {
                    self.next += 1;
                    return Some(Ok(Row { group: group.clone(), index: index as usize }));
                }
            }
            match self.groups.next()? {
                Ok(group) => self.group = Some(group),
                Err(error) => {
                    self.next = self.end;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl std::iter::FusedIterator for Rows<'_> {}
