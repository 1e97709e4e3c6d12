//! Which frames a file has: walking over their headers, telling a torn end from damage, and
//! reading indexes (LOG 3 to 6).
//!
//! Nothing here looks at rows. A frame's body is only compared with its CRC, and only where the
//! file does not say that it is on the disk.

use livebuf::{Checked, Editor, Storage, Value, VecStorage};

use crate::error::{Error, ErrorKind, Result};
use crate::file::LogFile;
use crate::layout::{self, FRAME_SIZE, FrameHeader, FrameKind, HEADER_SIZE, Identity, Mark};

/// Where the rows of a frame are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    /// Where the frame's header begins.
    pub(crate) offset: u64,
    /// Number of the first row.
    pub(crate) first: u64,
    pub(crate) rows: u32,
    /// Bytes of the body.
    pub(crate) length: u32,
    pub(crate) crc: u32,
}

impl Frame {
    pub(crate) fn size(&self) -> u64 {
        FRAME_SIZE + u64::from(self.length)
    }

    /// Number of the row after the last one.
    pub(crate) fn end(&self) -> u64 {
        self.first + u64::from(self.rows)
    }
}

/// Bytes at a log's end that are no whole frame: of a write that did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Torn {
    /// Where they begin.
    pub offset: u64,
    /// How many there are.
    pub bytes: u64,
    /// How many whole headers of frames are among them. After a power cut later frames may be on
    /// the disk without an earlier one.
    pub frames: u64,
}

/// The frames of a file that hold its rows, as far as they are known.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    pub(crate) identity: Identity,
    pub(crate) groups: Vec<Frame>,
    /// Frames of single rows or few, after the last group.
    pub(crate) tail: Vec<Frame>,
    /// Where the next frame begins.
    pub(crate) end: u64,
    /// Bytes of the file that are known to be on the disk.
    pub(crate) durable: u64,
    /// The newest index frame; 0 for none.
    pub(crate) index: u64,
    /// How many groups indexes list.
    pub(crate) indexed: usize,
    /// Bytes of index frames.
    pub(crate) index_bytes: u64,
    pub(crate) torn: Option<Torn>,
}

/// Bytes that are read at once, to look at headers.
const WINDOW: usize = 64 << 10;

impl Frames {
    /// An empty log's.
    pub(crate) fn new(identity: Identity) -> Frames {
        Frames {
            identity,
            groups: Vec::new(),
            tail: Vec::new(),
            end: HEADER_SIZE,
            durable: 0,
            index: 0,
            indexed: 0,
            index_bytes: 0,
            torn: None,
        }
    }

    /// Looks through a file. Headers after the newest index are read, and bodies that may not be on
    /// the disk.
    pub(crate) fn open(file: &LogFile) -> Result<Frames> {
        let mut header = [0; HEADER_SIZE as usize];
        let read = file.read(&mut header, 0)?;
        let header = header.get(..read).unwrap_or(&[]);
        let mut frames = Frames::new(layout::read_header(header)?);
        let mark = Mark::read(header, frames.identity);
        frames.durable = mark.durable;
        // The mark is a hint. Without it the frames tell the same.
        if mark.index != 0
            && let Ok(Some(known)) = frames.by_indexes(file, mark.index)
        {
            frames = known;
        }
        frames.advance(file)?;
        Ok(frames)
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.tail.last().map_or(self.settled(), Frame::end)
    }

    /// Number of rows in groups.
    pub(crate) fn settled(&self) -> u64 {
        self.groups.last().map_or(0, Frame::end)
    }

    /// Bytes of the tail's frames.
    pub(crate) fn tail_bytes(&self) -> u64 {
        self.tail.iter().map(Frame::size).sum()
    }

    /// The frame that holds a row.
    pub(crate) fn find(&self, row: u64) -> Option<Frame> {
        let frames = if row < self.settled() { &self.groups } else { &self.tail };
        let at = frames.partition_point(|frame| frame.end() <= row);
        frames.get(at).copied()
    }

    /// Takes up what was written after the frames that are known.
    ///
    /// # Errors
    /// Damage where the bytes were on the disk once.
    pub(crate) fn advance(&mut self, file: &LogFile) -> Result<()> {
        let mut tried = None;
        loop {
            let length = file.len()?;
            if length < self.end {
                let message = "the log was cut while it was open: open it again";
                return Err(Error::new(ErrorKind::CutShort, message).at(length));
            }
            let before = self.durable;
            let fault = self.walk(file, length)?;
            let stopped = self.end;
            self.torn = (stopped < length).then(|| Torn {
                offset: stopped,
                bytes: length - stopped,
                frames: 0,
            });
            if stopped < self.durable && length < self.durable {
                let message = format!(
                    "the log was cut: it has {length} bytes, and {} were on the disk; `repair` \
                     keeps what is left",
                    self.durable
                );
                return Err(Error::new(ErrorKind::CutShort, message).at(length));
            }
            if stopped == length {
                return Ok(());
            }
            if stopped >= self.durable {
                self.look_ahead(file, length)?;
            }
            if stopped >= self.durable {
                return Ok(());
            }
            // A writer may have finished the frame, and others after it, while it was looked at. So
            // damage must be seen twice.
            if tried == Some(stopped) && before == self.durable {
                let message = format!("the log is damaged: {fault}; `repair` keeps what is left");
                return Err(Error::damaged(stopped, message));
            }
            tried = Some(stopped);
        }
    }

    /// Takes up frames until the file ends, or one is not whole. Says why that one is not.
    fn walk(&mut self, file: &LogFile, length: u64) -> Result<&'static str> {
        let mut window = Window::new(file);
        let (mut found, mut at) = (Vec::new(), self.end);
        let mut fault = "a frame's header is damaged";
        while let Some(header) = window.header(self.identity, at)? {
            if header.size() > length - at {
                fault = "a frame leads beyond the end";
                break;
            }
            self.durable = self.durable.max(header.durable);
            found.push((at, header));
            at += header.size();
        }
        // Only now is it known how far the file was on the disk.
        for (at, header) in found {
            if at + header.size() > self.durable && !has_crc(file, at, &header)? {
                return Ok("a frame's body is damaged");
            }
            self.take(at, &header)?;
        }
        Ok(fault)
    }

    /// Takes up one whole frame.
    fn take(&mut self, offset: u64, header: &FrameHeader) -> Result<()> {
        let FrameHeader { kind, length, first, rows, crc, .. } = *header;
        let frame = Frame { kind, offset, first, rows, length, crc };
        let misplaced = |message| Err(Error::damaged(offset, message));
        match kind {
            FrameKind::Row | FrameKind::Rows if first != self.rows() => {
                return misplaced("rows do not follow those before them");
            }
            FrameKind::Row | FrameKind::Rows => self.tail.push(frame),
            FrameKind::Group if first != self.settled() || frame.end() < self.rows() => {
                return misplaced("a group does not follow the one before it");
            }
            FrameKind::Group => {
                self.tail.clear();
                self.groups.push(frame);
            }
            FrameKind::Index if first != self.settled() || !self.tail.is_empty() => {
                return misplaced("an index is not behind the groups that it lists");
            }
            // The walk has seen the groups that it lists.
            FrameKind::Index => {
                self.index = offset;
                self.indexed = self.groups.len();
                self.index_bytes += header.size();
            }
        }
        self.end = offset + header.size();
        Ok(())
    }

    /// Looks for frames after a bad one, to learn how far the file was on the disk.
    fn look_ahead(&mut self, file: &LogFile, length: u64) -> Result<()> {
        let mut frames = 0;
        for at in Headers::new(file, self.identity, self.end + 8, length) {
            frames += 1;
            self.durable = self.durable.max(at?.1.durable);
            if self.durable > self.end {
                break;
            }
        }
        if let Some(torn) = &mut self.torn {
            torn.frames = frames;
        }
        Ok(())
    }

    /// The groups that indexes on the disk list, from the newest index on. `None` if an index is
    /// not as it should be, or if none is known to be on the disk.
    ///
    /// After a power cut a newer one may be there without the groups that it lists.
    fn by_indexes(&self, file: &LogFile, newest: u64) -> Result<Option<Frames>> {
        let (mut at, mut parts) = (newest, Vec::new());
        let mut known = Frames { index: 0, ..self.clone() };
        while at != 0 {
            let Some(index) = read_index(file, self.identity, at)? else { return Ok(None) };
            // They lead towards the beginning, so this ends.
            if index.previous >= at {
                return Ok(None);
            }
            known.durable = known.durable.max(index.durable);
            let end = at + index.size;
            if known.index == 0 && end <= known.durable {
                (known.index, known.end) = (at, end);
            }
            at = index.previous;
            if known.index != 0 {
                known.index_bytes += index.size;
                parts.push(index);
            }
        }
        if known.index == 0 {
            return Ok(None);
        }
        for part in parts.into_iter().rev() {
            if part.start != known.settled() {
                return Ok(None);
            }
            known.groups.extend(part.groups);
        }
        known.indexed = known.groups.len();
        Ok(Some(known))
    }
}

/// Whether a frame's body is as its header says.
pub(crate) fn has_crc(file: &LogFile, offset: u64, header: &FrameHeader) -> Result<bool> {
    let mut hasher = crc32fast::Hasher::new();
    let mut piece = vec![0; WINDOW.min(header.length as usize)];
    let (mut at, mut left) = (offset + FRAME_SIZE, header.length as usize);
    while left > 0 {
        let length = left.min(piece.len());
        let Some(piece) = piece.get_mut(..length) else { break };
        if file.read(piece, at)? < length {
            return Ok(false);
        }
        hasher.update(piece);
        (at, left) = (at + length as u64, left - length);
    }
    Ok(hasher.finalize() == header.crc)
}

/// Reads a frame's body, with memory only for what the file has.
///
/// # Errors
/// Damage.
pub(crate) fn read_body(file: &LogFile, frame: &Frame) -> Result<VecStorage> {
    let damaged = || Error::damaged(frame.offset, "the log is damaged: a frame's body is damaged");
    if frame.offset + frame.size() > file.len()? {
        return Err(damaged());
    }
    let length = frame.length as usize;
    let mut body =
        VecStorage::with_capacity(length as u64).map_err(|error| damaged().because(error))?;
    let Some(bytes) = body.bytes_mut().get_mut(..length) else { return Err(damaged()) };
    if file.read(bytes, frame.offset + FRAME_SIZE)? < length || layout::crc(bytes) != frame.crc {
        return Err(damaged());
    }
    Ok(body)
}

// --- headers ----------------------------------------------------------------

/// Reads headers that follow each other, many at once if frames are small.
struct Window<'f> {
    file: &'f LogFile,
    bytes: Vec<u8>,
    /// Offset of the first byte.
    start: u64,
}

impl<'f> Window<'f> {
    fn new(file: &'f LogFile) -> Window<'f> {
        Window { file, bytes: Vec::new(), start: 0 }
    }

    /// The header at an offset.
    fn header(&mut self, identity: Identity, offset: u64) -> Result<Option<FrameHeader>> {
        let size = FRAME_SIZE as usize;
        let place = |window: &Self| usize::try_from(offset.checked_sub(window.start)?).ok();
        let held = place(self).is_some_and(|at| self.bytes.len() >= at.saturating_add(size));
        if !held {
            // If frames are large, the bytes after a header are of no use.
            let near = place(self).is_some_and(|at| at < 2 * WINDOW);
            self.bytes.resize(if near { WINDOW } else { size }, 0);
            let read = self.file.read(&mut self.bytes, offset)?;
            self.bytes.truncate(read);
            self.start = offset;
        }
        let bytes = place(self).and_then(|at| self.bytes.get(at..at.checked_add(size)?));
        match bytes {
            Some(bytes) => FrameHeader::read(bytes, identity, offset),
            None => Ok(None),
        }
    }
}

/// All whole headers of a part of a file, at any multiple of eight: for what is damaged.
pub(crate) struct Headers<'f> {
    file: &'f LogFile,
    identity: Identity,
    at: u64,
    end: u64,
    bytes: Vec<u8>,
    start: u64,
}

impl<'f> Headers<'f> {
    pub(crate) fn new(file: &'f LogFile, identity: Identity, start: u64, end: u64) -> Headers<'f> {
        let at = start.next_multiple_of(8);
        Headers { file, identity, at, end, bytes: Vec::new(), start: at }
    }

    /// Goes on after a frame.
    pub(crate) fn skip_to(&mut self, offset: u64) {
        self.at = offset;
    }
}

impl Iterator for Headers<'_> {
    type Item = Result<(u64, FrameHeader)>;

    fn next(&mut self) -> Option<Self::Item> {
        let size = FRAME_SIZE as usize;
        while self.at + FRAME_SIZE <= self.end {
            let at = self.at.checked_sub(self.start).map_or(usize::MAX, |at| at as usize);
            let Some(bytes) = at.checked_add(size).and_then(|end| self.bytes.get(at..end)) else {
                self.bytes.resize(16 * WINDOW, 0);
                self.start = self.at;
                let read = match self.file.read(&mut self.bytes, self.at) {
                    Ok(read) if read >= size => read,
                    Ok(_) => return None,
                    Err(error) => return Some(Err(error)),
                };
                self.bytes.truncate(read);
                continue;
            };
            let offset = self.at;
            self.at += 8;
            // Damaged bytes may look like a frame of an unknown kind.
            if let Ok(Some(header)) = FrameHeader::read(bytes, self.identity, offset) {
                return Some(Ok((offset, header)));
            }
        }
        None
    }
}

// --- indexes (LOG 5) --------------------------------------------------------

struct Index {
    /// Bytes of its frame.
    size: u64,
    /// Bytes of the file that were on the disk when it was written.
    durable: u64,
    previous: u64,
    /// Number of the first row of its groups.
    start: u64,
    groups: Vec<Frame>,
}

/// The body of an index of these groups.
pub(crate) fn index_document(previous: u64, groups: &[Frame]) -> Result<Vec<u8>> {
    let mut encoder = livebuf::Encoder::new();
    encoder.begin_object()?;
    encoder.key("previous")?;
    encoder.u64(previous)?;
    encoder.key("groups")?;
    encoder.begin_array()?;
    for group in groups {
        encoder.begin_object()?;
        let members = [
            ("offset", group.offset),
            ("rows", group.rows.into()),
            ("bytes", group.length.into()),
            ("crc", group.crc.into()),
        ];
        for (key, value) in members {
            encoder.key(key)?;
            encoder.u64(value)?;
        }
        encoder.end_object()?;
    }
    encoder.end_array()?;
    encoder.end_object()?;
    Ok(encoder.finish()?.to_vec())
}

/// The index at an offset; `None` if there is none, or not one to rely on.
fn read_index(file: &LogFile, identity: Identity, offset: u64) -> Result<Option<Index>> {
    let Some(header) = Window::new(file).header(identity, offset)? else { return Ok(None) };
    if header.kind != FrameKind::Index || header.size() > file.len()?.saturating_sub(offset) {
        return Ok(None);
    }
    let FrameHeader { kind, first, rows, length, crc, durable } = header;
    let body = read_body(file, &Frame { kind, offset, first, rows, length, crc })?;
    let Ok(document) = Editor::open_unvalidated(body) else { return Ok(None) };
    Ok(list(document.doc().root(), offset, first).ok().flatten().map(
        |(previous, start, groups)| {
            let size = header.size();
            Index { size, durable, previous, start, groups }
        },
    ))
}

/// What an index's document says: the index before, the first row, and the groups.
type Listed = (u64, u64, Vec<Frame>);

fn list(root: Value<'_, Checked>, offset: u64, end: u64) -> livebuf::Result<Option<Listed>> {
    let number = |value: Option<Value<'_, Checked>>| value.and_then(|value| value.as_u64());
    let Some(previous) = number(root.get("previous")?) else { return Ok(None) };
    let Some(listed) = root.get("groups")? else { return Ok(None) };
    let Some(listed) = listed.as_array()? else { return Ok(None) };
    let mut groups = Vec::new();
    for group in &listed {
        let group = group?;
        let part = |key: &str| Ok::<_, livebuf::Error>(number(group.get(key)?));
        let small = |key: &str| {
            Ok::<_, livebuf::Error>(part(key)?.and_then(|number| u32::try_from(number).ok()))
        };
        let (Some(at), Some(rows), Some(length), Some(crc)) =
            (part("offset")?, small("rows")?, small("bytes")?, small("crc")?)
        else {
            return Ok(None);
        };
        let frame = Frame { kind: FrameKind::Group, offset: at, first: 0, rows, length, crc };
        if rows == 0 || at < HEADER_SIZE || at >= offset || frame.size() > offset - at {
            return Ok(None);
        }
        groups.push(frame);
    }
    let total: u64 = groups.iter().map(|group| u64::from(group.rows)).sum();
    let Some(start) = end.checked_sub(total) else { return Ok(None) };
    let mut next = start;
    for group in &mut groups {
        group.first = next;
        next = group.end();
    }
    Ok(Some((previous, start, groups)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_lists_what_it_was_made_of() {
        let groups: Vec<Frame> = (0..300u64)
            .map(|at| Frame {
                kind: FrameKind::Group,
                offset: 64 + 4096 * at,
                first: 1000 * at,
                rows: 1000,
                length: 4064,
                crc: at as u32,
            })
            .collect();
        let document = index_document(64, &groups[100..]).unwrap();
        let document = livebuf::Doc::open(&document).unwrap();
        let listed = list(document.root(), 1 << 30, 300_000).unwrap().unwrap();
        assert_eq!(listed, (64, 100_000, groups[100..].to_vec()));
        // An index that lies about its places is not one.
        assert!(list(document.root(), 1 << 20, 300_000).unwrap().is_none());
        assert!(list(document.root(), 1 << 30, 100).unwrap().is_none());
        let empty = livebuf::json!({"previous": 0});
        assert!(list(empty.doc().root(), 64, 0).unwrap().is_none());
    }
}
