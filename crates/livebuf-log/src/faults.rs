//! Logs on a simulated disk: every step of a writer fails, or is its last one.
//!
//! Files have their names, rights and locks in a real directory. Their bytes are in memory, as
//! long as a thread has a simulation.

use crate::error::{Error, ErrorKind, Result};
use crate::reader::LogReader;
use crate::writer::{Log, LogOptions};
use livebuf::mapped::Medium;
use livebuf_disk::{Faults, Image, Random};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

// --- the simulation ---------------------------------------------------------

/// The files of one directory, and which of them has the log's name.
struct Directory {
    faults: Faults,
    /// Each with its real file, kept open so that no other file gets its number.
    files: Vec<(File, Image)>,
    /// The file that has the name on the disk.
    durable_name: u64,
    /// Those that were renamed to it since.
    pending_names: Vec<u64>,
    /// Syncs that failed: of files, and of the directory.
    failed: [u32; 2],
}

thread_local! {
    static DIRECTORY: RefCell<Option<Directory>> = const { RefCell::new(None) };
}

fn number_of(file: &File) -> u64 {
    file.metadata().unwrap().ino()
}

impl Directory {
    /// With one file, whose bytes are on the disk.
    fn of(path: &Path, bytes: &[u8]) -> Directory {
        let file = File::open(path).unwrap();
        Directory {
            faults: Faults::NONE,
            durable_name: number_of(&file),
            files: vec![(file, Image::new(bytes))],
            pending_names: Vec::new(),
            failed: [0; 2],
        }
    }

    fn image(&mut self, file: &File) -> (&mut Image, &mut Faults) {
        let number = number_of(file);
        let at = self.files.iter().position(|(file, _)| number_of(file) == number);
        let at = at.unwrap_or_else(|| {
            // Opened once more: a duplicate would share the lock.
            let held = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
            self.files.push((held, Image::default()));
            self.files.len() - 1
        });
        (&mut self.files[at].1, &mut self.faults)
    }

    /// What has the log's name after a power cut.
    fn crashed(&self, random: &mut Random) -> Vec<u8> {
        let mut name = self.durable_name;
        for &pending in &self.pending_names {
            if random.flip() {
                name = pending;
            }
        }
        let (_, image) = self.files.iter().find(|(file, _)| number_of(file) == name).unwrap();
        image.crashed(random)
    }
}

/// The thread's simulation, if it has one.
fn in_directory<R>(work: impl FnOnce(&mut Directory) -> R) -> Option<R> {
    DIRECTORY.with_borrow_mut(|directory| directory.as_mut().map(work))
}

/// A file whose bytes are simulated, where the thread has a simulation.
pub(crate) struct Simulated<'f>(pub(crate) &'f File);

impl Medium for Simulated<'_> {
    fn length(&mut self) -> io::Result<u64> {
        in_directory(|directory| Ok(directory.image(self.0).0.seen.len() as u64))
            .unwrap_or_else(|| self.0.length())
    }

    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        in_directory(|directory| Ok(directory.image(self.0).0.read_at(bytes, offset)))
            .unwrap_or_else(|| self.0.read_at(bytes, offset))
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        in_directory(|directory| {
            let (image, faults) = directory.image(self.0);
            image.write_at(faults, bytes, offset)
        })
        .unwrap_or_else(|| self.0.write_at(bytes, offset))
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        in_directory(|directory| {
            let (image, faults) = directory.image(self.0);
            image.set_length(faults, length)
        })
        .unwrap_or_else(|| self.0.set_length(length))
    }

    fn sync(&mut self) -> io::Result<()> {
        in_directory(|directory| {
            let (image, faults) = directory.image(self.0);
            let synced = image.sync(faults);
            directory.failed[0] += u32::from(synced.is_err());
            synced
        })
        .unwrap_or_else(|| self.0.sync())
    }
}

/// A file is about to get the log's name.
pub(crate) fn renaming(from: &Path) -> io::Result<()> {
    let renamed = in_directory(|directory| {
        directory.faults.steps(1).1?;
        directory.pending_names.push(fs::metadata(from)?.ino());
        Ok(())
    });
    renamed.unwrap_or(Ok(()))
}

/// Syncs the directory, where the thread has a simulation. A sync that fails leaves names to the
/// next one: unlike bytes of files, systems do not go on without them.
pub(crate) fn sync_names() -> Option<io::Result<()>> {
    in_directory(|directory| {
        let synced = directory.faults.steps(1).1;
        match synced {
            Ok(()) => {
                let named = directory.pending_names.drain(..).next_back();
                directory.durable_name = named.unwrap_or(directory.durable_name);
            }
            Err(_) => directory.failed[1] += 1,
        }
        synced
    })
}

// --- work on a log ----------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Append,
    Extend(u64),
    Sync,
    Compact,
    Close,
}
use Step::{Append, Close, Compact, Extend, Sync};

/// A log on the simulated disk, beside a list of its rows. No two rows are alike, nor is one that
/// is written again.
struct Session {
    directory: TempDir,
    options: LogOptions,
    syncs: bool,
    compacts_itself: bool,
    log: Option<Log>,
    rows: Vec<u64>,
    /// How many of them were acknowledged to be on the disk.
    promised: usize,
    next: u64,
    random: Random,
}

fn numbers(reader: &LogReader) -> Result<Vec<u64>> {
    reader
        .rows(..)
        .map(|row| Ok(row?.value().unwrap().get("number").unwrap().as_u64().unwrap()))
        .collect()
}

impl Session {
    /// A log that was made before anything goes wrong.
    fn new(options: LogOptions, syncs: bool, seed: u64) -> Session {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.lblog");
        let options = options.sync(syncs).compact_at(u64::MAX);
        options.create(&path).unwrap().close().unwrap();
        DIRECTORY.set(Some(Directory::of(&path, &fs::read(&path).unwrap())));
        let (rows, random) = (Vec::new(), Random(seed));
        Session {
            directory,
            options,
            syncs,
            compacts_itself: false,
            log: None,
            rows,
            promised: 0,
            next: 0,
            random,
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("test.lblog")
    }

    fn faults(faults: Faults) {
        in_directory(|directory| directory.faults = faults).unwrap();
    }

    /// Rows that were found are those that were promised, and some of the others.
    fn compare(&self, found: &[u64], what: &str) {
        assert!(found.len() >= self.promised, "{what}: {found:?} of {:?}", self.rows);
        assert!(self.rows.starts_with(found), "{what}: {found:?} of {:?}", self.rows);
    }

    fn open(&mut self) -> Result<&mut Log> {
        if self.log.is_none() {
            let log = self.options.open(self.path())?;
            let found = numbers(log.reader())?;
            self.compare(&found, "opened again");
            self.rows = found;
            self.log = Some(log);
        }
        Ok(self.log.as_mut().unwrap())
    }

    fn step(&mut self, step: Step) -> Result<()> {
        let (before, next) = (self.open()?.len(), self.next);
        let log = self.log.as_mut().unwrap();
        let row = |number: u64| livebuf::json!({"number": number, "text": format!("{number:>9}")});
        let count = match step {
            Append => 1,
            Extend(count) => count,
            _ => 0,
        };
        let done = match step {
            Append => log.append(&row(next)).map(drop),
            Extend(_) => {
                let rows: Vec<_> = (next..next + count).map(row).collect();
                log.extend(rows.iter()).map(drop)
            }
            Sync => log.sync(),
            Compact => log.compact().map(drop),
            Close => self.log.take().unwrap().close(),
        };
        self.next += count;
        let after = match &self.log {
            Some(log) => log.len(),
            None => before,
        };
        self.rows.extend(next..next + (after - before));
        if let Some(log) = &self.log {
            assert_eq!(numbers(log.reader()).unwrap(), self.rows, "{step:?}, {done:?}");
        }
        if done.is_ok() {
            assert_eq!(after - before, count);
            if self.syncs || matches!(step, Sync | Compact | Close) {
                self.promised = self.rows.len();
            }
        }
        done
    }

    /// A step that may meet a fault. Looks at the writer and at the disk then, and opens the log
    /// again where it must.
    fn faulty(&mut self, step: Step) {
        let before = in_directory(|directory| directory.failed).unwrap();
        let Err(error) = self.step(step) else { return };
        let what = format!("{step:?}: {error}");
        assert_eq!(error.kind(), ErrorKind::Io, "{what}");
        self.power_cuts(3, &what);
        let stopped = in_directory(|directory| directory.faults.stopped()).unwrap();
        if stopped {
            self.log = None;
            Session::faults(Faults::NONE);
            self.power_cuts(2, &what);
        }
        if self.log.is_some() {
            let after = in_directory(|directory| directory.failed).unwrap();
            // A failed sync of the new file leaves the old one as it was.
            let is_broken =
                after[usize::from(step == Compact)] > before[usize::from(step == Compact)];
            let says_so = self.log.as_ref().is_some_and(|log| log.check().is_err());
            // The failed sync may be of either file if the log compacted itself.
            assert!(says_so == is_broken || self.compacts_itself && after != before, "{what}");
            if says_so {
                for step in [Append, Sync, Compact, Extend(2)] {
                    let refused = self.step(step).map_err(|error: Error| error.kind());
                    assert_eq!(refused, Err(ErrorKind::Broken), "{what}");
                }
                self.log = None;
            } else {
                self.step(step).unwrap();
            }
        }
        self.open().unwrap();
    }

    /// Power cuts now, each of which leaves something else.
    fn power_cuts(&mut self, rounds: usize, what: &str) {
        let directory = DIRECTORY.take().unwrap();
        let path = self.directory.path().join("after.lblog");
        File::create(&path).unwrap();
        for _ in 0..rounds {
            let left = directory.crashed(&mut self.random);
            DIRECTORY.set(Some(Directory::of(&path, &left)));
            let reader = LogReader::open(&path).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            let found = numbers(&reader).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            self.compare(&found, what);
            let mut log = LogOptions::new().open(&path).unwrap();
            log.append(&livebuf::json!({"number": u64::MAX})).unwrap();
            let mut again = numbers(log.reader()).unwrap();
            assert_eq!((again.pop(), again), (Some(u64::MAX), found), "{what}");
        }
        DIRECTORY.set(Some(directory));
    }

    /// Ends well: all rows are on the disk.
    fn end(mut self, what: &str) {
        Session::faults(Faults::NONE);
        self.step(Append).unwrap();
        self.step(Close).unwrap();
        assert_eq!(self.promised, self.rows.len());
        self.power_cuts(4, what);
        DIRECTORY.set(None);
    }
}

const STEPS: [Step; 14] = [
    Append,
    Sync,
    Append,
    Extend(4),
    Append,
    Sync,
    Close,
    Append,
    Compact,
    Append,
    Sync,
    Extend(3),
    Sync,
    Close,
];

/// Runs [`STEPS`] with every third of some faults, and with `LIVEBUF_LONG=1` with each. Answers how
/// many steps on the disk there are.
fn each_fault(syncs: bool, compacts_itself: bool, faults: impl Fn(u64) -> Faults) -> u64 {
    let stride = if std::env::var_os("LIVEBUF_LONG").is_some() { 1 } else { 3 };
    for at in (0..).step_by(stride) {
        let mut session = Session::new(LogOptions::new().group_rows(3), syncs, 1 + at);
        session.compacts_itself = compacts_itself;
        if compacts_itself {
            session.options = session.options.compact_at(400);
        }
        Session::faults(faults(at));
        for step in STEPS {
            session.faulty(step);
        }
        let left = in_directory(|directory| directory.faults).unwrap();
        session.end(&format!("{:?}", faults(at)));
        // After a process was stopped, the count begins again, far from zero.
        if left.until_error.is_some() || (1..u64::MAX / 2).contains(&left.left) {
            return at;
        }
    }
    unreachable!("some step is the last one")
}

/// Whether each call syncs, writes are short, and the log compacts itself.
const SESSIONS: [(bool, bool, bool); 4] =
    [(false, false, false), (true, true, false), (false, true, true), (true, false, true)];

#[test]
fn an_error_at_any_step_loses_no_row_that_was_promised() {
    for (syncs, short, compacts_itself) in SESSIONS {
        let faults = |at| Faults { until_error: Some(at), random: 1 + at, short, ..Faults::NONE };
        let steps = each_fault(syncs, compacts_itself, faults);
        assert!(steps > 2500, "{steps}");
    }
}

#[test]
fn a_process_that_stops_at_any_step_loses_no_row_that_was_promised() {
    for (syncs, short, compacts_itself) in SESSIONS {
        let steps =
            each_fault(syncs, compacts_itself, |at| Faults { left: at, short, ..Faults::NONE });
        assert!(steps > 2500, "{steps}");
    }
}

/// A full disk: what fits is kept, and what does not is refused, until there is room again.
#[test]
fn a_full_disk_refuses_rows_and_keeps_the_others() {
    let mut refused = 0;
    for most in (64..2000).step_by(9) {
        let mut session = Session::new(LogOptions::new().group_rows(3), false, most);
        Session::faults(Faults { most, ..Faults::NONE });
        for step in [Append, Sync, Append, Extend(4), Append, Sync] {
            let before = session.rows.len();
            if let Err(error) = session.step(step) {
                refused += 1;
                assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::StorageFull);
                assert!(step != Append || session.rows.len() == before);
            }
        }
        session.power_cuts(3, &format!("{most} bytes"));
        let error = session.step(Compact).err();
        assert!(error.is_none_or(|error| error.kind() == ErrorKind::Io));
        session.end(&format!("{most} bytes, and then more"));
    }
    assert!(refused > 100, "{refused}");
}

/// A torn end is cut off, the sync after that fails, and the disk forgets the cut. The next
/// writer's rows have the same size as the one that the end lacked. So the frames after it would
/// come back after new rows.
#[test]
fn a_cut_that_a_failed_sync_forgot_is_made_again() {
    let mut refused = 0;
    for seed in 1..30 {
        let mut session = Session::new(LogOptions::new(), false, seed);
        for step in [Append, Append, Sync, Append, Append, Append] {
            session.step(step).unwrap();
        }
        let end = session.log.take().unwrap().stats().file.bytes as usize;
        let directory = DIRECTORY.take().unwrap();
        let mut torn = directory.files[0].1.seen.clone();
        // Frames of one row are alike in size. The first one after the sync is lost.
        let frame = (end - 64) / 5;
        torn[64 + 2 * frame..][..frame].fill(0);
        DIRECTORY.set(Some(Directory::of(&session.path(), &torn)));
        session.rows.truncate(2);
        // Syncs of the directory, before and after a copy of the end; the cut; its sync.
        let until_error = Some(seed % 4);
        Session::faults(Faults { until_error, random: 1 + seed / 4, ..Faults::NONE });
        refused += u32::from(session.open().is_err());
        session.step(Append).unwrap();
        session.power_cuts(4, "cut again");
        session.end("cut again");
    }
    assert_eq!(refused, 29);
}

/// Bug: a repair that failed left the damaged file's second name, though it says that it changes
/// nothing then.
#[test]
fn a_repair_that_fails_changes_nothing() {
    let (repaired, left) = repaired_with(u64::MAX);
    assert_eq!(repaired.map(|repaired| (repaired.rows, repaired.lost_rows)).unwrap(), (2, 1));
    // The last steps. Others come before the second name, and the mark is only a hint.
    let steps = u64::MAX - left.unwrap();
    let failed = (steps - 100..steps).filter(|&at| repaired_with(at).0.is_err()).count();
    assert!(failed > 50, "{failed}");
}

/// Repairs a log that lacks a row, and compares the directory. Answers how many steps were left
/// until the error, too.
fn repaired_with(until_error: u64) -> (Result<crate::Repaired>, Option<u64>) {
    let mut session = Session::new(LogOptions::new(), true, 1);
    for step in [Append, Append, Append, Close] {
        session.step(step).unwrap();
    }
    let path = session.path();
    let mut damaged = DIRECTORY.take().unwrap().files[0].1.seen.clone();
    damaged[64 + 40] ^= 1;
    DIRECTORY.set(Some(Directory::of(&path, &damaged)));
    Session::faults(Faults { until_error: Some(until_error), ..Faults::NONE });
    let before = fs::metadata(&path).unwrap().ino();
    let repaired = crate::repair(&path);
    let is_old = fs::metadata(&path).unwrap().ino() == before;
    let files = fs::read_dir(session.directory.path()).unwrap().count();
    assert_eq!(files, if is_old { 1 } else { 2 }, "{until_error}: {repaired:?}");
    (repaired, DIRECTORY.take().unwrap().faults.until_error)
}
