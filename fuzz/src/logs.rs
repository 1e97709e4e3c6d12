//! Logs: any bytes as a log's file, and work on a log beside a plain list of its rows.
//!
//! A file is read, refused, written on, compacted and repaired; nothing panics or hangs. A log
//! that a writer made equals the list, also when it was closed, compacted or cut at any byte. A
//! damaged frame takes its own rows away and changes no others.

use crate::bytes;
use crate::fresh;
use crate::input::Input;
use crate::note;
use crate::samples;
use crate::tree::Tree;
use crate::walk;
use livebuf_log::{ErrorKind, Log, LogOptions, LogReader, repair};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// Bytes of a log's header and mark, of a frame's header, and of the identity (LOG 2 and 3).
const START: usize = 64;
const FRAME: usize = 32;
const IDENTITY: std::ops::Range<usize> = 8..16;
/// Rows that are looked at in a log that was not made by a writer.
const ROWS: usize = 4_000;

/// What an input met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// Any bytes that were read as a log with rows.
    pub read: bool,
    /// Any bytes that were refused.
    pub refused: bool,
    /// Logs that were cut, and open.
    pub cut: usize,
    /// Logs that were cut, and are refused.
    pub cut_short: usize,
    /// Damaged logs with rows that are still read.
    pub damaged: usize,
    /// Rows of the list.
    pub rows: usize,
}

/// The first byte chooses: any bytes, a sample, or work.
///
/// # Panics
/// Where the library does what it must not.
pub fn run(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let mut met = Met::default();
    let choice = input.byte();
    if choice < 20 {
        attack(input.rest(), &mut input.clone(), &mut met);
        return met;
    }
    if choice < 50 {
        let all = samples::logs();
        let mut bytes = all[input.below(all.len())].clone();
        harm(&mut bytes, &mut input);
        attack(&bytes, &mut input, &mut met);
        return met;
    }
    let mut work = Work::new(&mut input);
    for _ in 0..1 + input.below(24) {
        work.step(&mut input, &mut met);
    }
    met.rows = work.rows.len();
    let mut bytes = work.close();
    if choice < 150 {
        work.damage(bytes, &mut input, &mut met);
    } else {
        harm(&mut bytes, &mut input);
        attack(&bytes, &mut input, &mut met);
    }
    met
}

/// Damages a log by chance, or so that its CRCs are right.
fn harm(bytes: &mut Vec<u8>, input: &mut Input<'_>) {
    for _ in 0..input.below(5) {
        match input.one_in(3) {
            true => bytes::damage(bytes, input),
            false => forge(bytes, input),
        }
    }
}

fn place() -> (TempDir, PathBuf) {
    // In memory, where there is such a folder.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let directory = directory.expect("a folder");
    let path = directory.path().join("fuzz.lblog");
    (directory, path)
}

// --- any bytes --------------------------------------------------------------

/// Reads, writes, compacts and repairs any bytes.
fn attack(bytes: &[u8], input: &mut Input<'_>, met: &mut Met) {
    let (_directory, path) = place();
    fs::write(&path, bytes).expect("room");
    match LogReader::open(&path) {
        Ok(mut reader) => {
            look(&reader);
            met.read = !reader.is_empty();
            let refreshed = reader.refresh().expect("nothing changed");
            assert_eq!((refreshed.rows, refreshed.replaced), (0, false));
        }
        Err(_) => met.refused = true,
    }
    assert!(fs::read(&path).expect("readable") == bytes, "a reader changed the file");
    let row = fresh::tree(input, 1).to_document();
    if let Ok(mut log) = options(input).0.open(&path) {
        let before = log.len();
        // A group that is damaged may have to be written anew.
        if log.append(&row).is_ok() {
            assert_eq!(log.len(), before + 1);
        }
        let _ = (log.extend([&row; 3]), log.sync(), log.compact(), log.append(&row));
        look(log.reader());
    }
    fs::write(&path, bytes).expect("room");
    if let Ok(repaired) = repair(&path) {
        let reader = LogReader::open(&path).expect("repaired");
        assert_eq!(reader.len(), repaired.rows);
        reader.validate().expect("repaired");
        assert!(fs::read(repaired.old).expect("kept") == bytes, "the old file is kept");
    }
}

/// Asks a log everything.
fn look(reader: &LogReader) {
    let sound = reader.validate().is_ok();
    let stats = reader.stats();
    assert_eq!(stats.rows, reader.len());
    for (number, row) in reader.rows(..).take(ROWS).enumerate() {
        let Ok(row) = row else {
            assert!(!sound, "a row of a sound log is an error");
            continue;
        };
        assert!(!sound || row.number() == number as u64);
        row.value().expect("a row");
    }
    for at in 0..reader.group_count().min(64) {
        match reader.group(at) {
            Ok(group) => {
                let group = group.expect("a group");
                walk::valid(group.document().valid().expect("validated"));
                let (first, last) = (group.first_row(), group.len() as u64 - 1);
                let found = reader.get(first + last).expect("a group that was read");
                assert_eq!(found.expect("a row").number(), first + last);
            }
            Err(_) => assert!(!sound, "a group of a sound log is an error"),
        }
    }
    assert!(reader.get(reader.len()).expect("no row").is_none());
}

/// Changes a frame, and makes its CRCs right.
fn forge(bytes: &mut [u8], input: &mut Input<'_>) {
    let frames = frames(bytes);
    if frames.is_empty() {
        return;
    }
    let frame = frames[input.below(frames.len())];
    let (header, body) = (frame.at, frame.at + FRAME..frame.at + frame.size);
    match input.byte() % 8 {
        // Another kind, number of rows, first row, or distance to the disk.
        0 => bytes[header + 3] = input.pick(b"SRGIX"),
        1 => bytes[header + 16] = input.byte(),
        2 => bytes[header + 8] = input.byte(),
        3 => bytes[header + 20..header + 24].copy_from_slice(&[input.byte(), input.byte(), 0, 0]),
        4 => bytes[header + 4] = input.byte() & !7,
        // Another frame's bytes in its place.
        5 => {
            let other = frames[input.below(frames.len())];
            let copied = bytes[other.at..other.at + other.size].to_vec();
            let end = (header + copied.len()).min(bytes.len());
            bytes[header..end].copy_from_slice(&copied[..end - header]);
        }
        // A changed body, whose CRC is right below.
        _ => {
            let mut damaged = bytes[body.clone()].to_vec();
            bytes::damage(&mut damaged, input);
            damaged.resize(body.len(), 0);
            bytes[body].copy_from_slice(&damaged);
        }
    }
    let length = u32::from_le_bytes(bytes[header + 4..header + 8].try_into().expect("four"));
    if let Some(body) = bytes.get(header + FRAME..header + FRAME + length as usize) {
        let crc = crc32fast::hash(body);
        bytes[header + 24..header + 28].copy_from_slice(&crc.to_le_bytes());
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[IDENTITY]);
    crc.update(&(header as u64).to_le_bytes());
    crc.update(&bytes[header..header + 28]);
    bytes[header + 28..header + FRAME].copy_from_slice(&crc.finalize().to_le_bytes());
}

/// A frame, as its header says it.
#[derive(Clone, Copy, Debug)]
struct Frame {
    at: usize,
    size: usize,
    kind: u8,
    first: usize,
    rows: usize,
}

/// The frames that lie behind each other from a file's beginning on.
fn frames(bytes: &[u8]) -> Vec<Frame> {
    let (mut frames, mut at) = (Vec::new(), START);
    while let Some(header) = bytes.get(at..at + FRAME) {
        let word = |from: usize| {
            u32::from_le_bytes(header[from..from + 4].try_into().expect("four")) as usize
        };
        let size = FRAME + word(4);
        if header[..3] != [0xAB, b'L', b'B'] || at + size > bytes.len() {
            break;
        }
        frames.push(Frame { at, size, kind: header[3], first: word(8), rows: word(16) });
        at += size;
    }
    frames
}

// --- work -------------------------------------------------------------------

/// Small groups; and whether each call syncs.
fn options(input: &mut Input<'_>) -> (LogOptions, bool) {
    let options = LogOptions::new().group_rows(1 + input.below(12));
    let options = options.group_bytes(64 + 16 * u64::from(input.byte()));
    let syncs = input.one_in(4);
    (options.sync(syncs), syncs)
}

/// A log, and a list of its rows.
struct Work {
    _directory: TempDir,
    path: PathBuf,
    options: LogOptions,
    /// Whether each call syncs.
    syncs: bool,
    log: Option<Log>,
    rows: Vec<Tree>,
    /// Bytes of the file after some steps, and how many rows there were.
    moments: Vec<(usize, usize)>,
    /// Bytes of the file that a sync has passed.
    durable: usize,
    /// Rows that were ever made. No two are alike.
    made: i64,
}

impl Work {
    fn new(input: &mut Input<'_>) -> Work {
        let (_directory, path) = place();
        let (options, syncs) = options(input);
        let log = Some(options.create(&path).expect("a new log"));
        let (rows, moments) = (Vec::new(), vec![(0, 0)]);
        Work { _directory, path, options, syncs, log, rows, moments, durable: START, made: 0 }
    }

    fn row(&mut self, input: &mut Input<'_>) -> Tree {
        self.made += 1;
        Tree::Array(vec![Tree::Int(self.made), fresh::tree(input, 2)])
    }

    fn open(&mut self) -> &mut Log {
        if self.log.is_none() {
            let log = self.options.open(&self.path).expect("a sound log");
            assert_eq!(log.dropped(), None);
            self.durable = log.stats().file.bytes as usize;
            self.log = Some(log);
        }
        self.log.as_mut().expect("open")
    }

    /// Closes the log. Answers the file's bytes, all of which are on the disk then.
    fn close(&mut self) -> Vec<u8> {
        self.open();
        self.log.take().expect("open").close().expect("a disk");
        let bytes = fs::read(&self.path).expect("readable");
        self.durable = bytes.len();
        bytes
    }

    fn step(&mut self, input: &mut Input<'_>, met: &mut Met) {
        let choice = input.byte() % 16;
        note(|| format!("{choice}: {} rows, {} bytes durable", self.rows.len(), self.durable));
        match choice {
            0..7 => {
                let row = self.row(input);
                let number = self.open().append(&row.to_document()).expect("room");
                assert_eq!(number, self.rows.len() as u64);
                self.rows.push(row);
            }
            7..10 => {
                let rows: Vec<Tree> = (0..input.below(20)).map(|_| self.row(input)).collect();
                let added = match choice {
                    9 => {
                        let all = Tree::Array(rows.clone()).to_document();
                        self.open().extend_document(all.valid().expect("made here"))
                    }
                    _ => {
                        let documents: Vec<_> = rows.iter().map(Tree::to_document).collect();
                        self.open().extend(documents.iter())
                    }
                };
                assert_eq!(added.expect("room"), rows.len() as u64);
                self.rows.extend(rows);
            }
            10 => {
                self.open().sync().expect("a disk");
                self.durable = self.open().stats().file.bytes as usize;
            }
            11 => {
                let compacted = self.open().compact().expect("sound");
                self.durable = compacted.after as usize;
                self.moments = vec![(0, 0)];
            }
            12 => drop(self.close()),
            13 => self.log = None,
            14 => {
                self.log = None;
                (self.options, self.syncs) = options(input);
            }
            _ => self.cut(input, met),
        }
        let log = self.open();
        let (length, reader) = (log.stats().file.bytes as usize, log.reader().clone());
        self.compare(&reader, self.rows.len());
        self.moments.push((length, self.rows.len()));
        if self.syncs {
            self.durable = length;
        }
    }

    /// The log's rows are the first ones of the list.
    fn compare(&self, reader: &LogReader, count: usize) {
        assert_eq!(reader.len(), count as u64);
        for (row, expected) in reader.rows(..).zip(&self.rows) {
            let found = Tree::of_valid(row.expect("sound").value().expect("a row"));
            assert!(found.same(expected), "{found:?} is not {expected:?}");
        }
    }

    /// Cuts the file anywhere, as if the writer had died in a write.
    fn cut(&mut self, input: &mut Input<'_>, met: &mut Met) {
        self.log = None;
        let whole = fs::read(&self.path).expect("readable");
        let length = usize::from(input.word()) % (whole.len() + 1);
        // Most cuts are of what was not promised.
        let from = if input.one_in(3) { 0 } else { self.durable.min(whole.len()) };
        let length = from + length % (whole.len() + 1 - from);
        fs::write(&self.path, &whole[..length]).expect("room");
        let read = LogReader::open(&self.path).map(|reader| reader.len());
        match self.options.open(&self.path) {
            Ok(log) => {
                let count = log.len() as usize;
                if length > 0 {
                    assert_eq!(read.expect("a writer opened it"), log.len());
                }
                self.compare(log.reader(), count);
                self.moments.retain(|&(bytes, _)| bytes <= length);
                let least = self.moments.iter().map(|&(_, rows)| rows).max().unwrap_or(0);
                assert!(count >= least, "{count} rows of {least} are left at {length}");
                self.durable = log.stats().file.bytes as usize;
                self.rows.truncate(count);
                self.log = Some(log);
                met.cut += 1;
            }
            Err(error) => {
                assert!(length < self.durable, "{error:?}: cut to {length} of {}", self.durable);
                let kinds = [ErrorKind::CutShort, ErrorKind::Damaged, ErrorKind::NotALog];
                assert!(kinds.contains(&error.kind()), "{error:?}");
                assert!(read.is_err(), "a reader opened it");
                assert!(fs::read(&self.path).expect("readable") == whole[..length]);
                fs::write(&self.path, whole).expect("room");
                met.cut_short += 1;
            }
        }
    }

    /// Changes bytes of one frame of a log that is on the disk.
    fn damage(&self, mut bytes: Vec<u8>, input: &mut Input<'_>, met: &mut Met) {
        let frames = frames(&bytes);
        if frames.is_empty() {
            return;
        }
        let at = input.below(frames.len());
        let frame = frames[at];
        for _ in 0..1 + input.below(3) {
            // One in four may be in the frame's header.
            let from = if input.one_in(4) { 0 } else { FRAME };
            let place = frame.at + from + usize::from(input.word()) % (frame.size - from);
            bytes[place] ^= 1 + input.byte() % 255;
        }
        fs::write(&self.path, &bytes).expect("room");
        // Rows of a frame that a group took the place of are in that.
        let dead = frame.kind != b'G' && frames[at..].iter().any(|later| later.kind == b'G');
        let lost = match frame.kind {
            _ if dead => 0..0,
            b'I' => 0..0,
            _ => frame.first..frame.first + frame.rows,
        };
        match LogReader::open(&self.path) {
            Ok(reader) => {
                met.damaged += usize::from(frames.len() > 1);
                self.groups_but(&reader, &lost);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Damaged, "{error:?}"),
        }
        let repaired = repair(&self.path).expect("a log's header");
        let reader = LogReader::open(&self.path).expect("repaired");
        let mut found = reader.rows(..).map(|row| {
            row.map(|row| Tree::of_valid(row.value().expect("a row"))).expect("repaired")
        });
        let mut next = found.next();
        for (number, expected) in self.rows.iter().enumerate() {
            if next.as_ref().is_some_and(|next| next.same(expected)) {
                next = found.next();
            } else {
                assert!(lost.contains(&number), "row {number} is lost, though not of {lost:?}");
            }
        }
        assert!(next.is_none(), "repair made a row up: {next:?}");
        fs::remove_file(repaired.old).expect("kept");
    }

    /// All groups but those with some rows are as the list says.
    fn groups_but(&self, reader: &LogReader, lost: &std::ops::Range<usize>) {
        assert_eq!(reader.len(), self.rows.len() as u64);
        let mut next = 0;
        for at in 0..reader.group_count() {
            match reader.group(at) {
                Ok(group) => {
                    let group = group.expect("a group");
                    assert!(at == 0 || group.first_row() >= next);
                    next = group.first_row() + group.len() as u64;
                    let rows = group.array().expect("rows");
                    for (row, number) in rows.iter().zip(group.first_row() as usize..) {
                        let (found, expected) = (Tree::of_valid(row), &self.rows[number]);
                        assert!(found.same(expected), "row {number}: {found:?}");
                    }
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Damaged, "{error:?}");
                    assert!(!lost.is_empty(), "{error:?}");
                }
            }
        }
        let first = (0..reader.len()).find(|&row| reader.get(row).is_err());
        if let Some(first) = first {
            // Rows behind the last group are read together.
            let tail = reader.stats().rows - reader.stats().tail_rows;
            assert!(first as usize == lost.start || first == tail, "row {first} of {lost:?}");
        }
    }
}
