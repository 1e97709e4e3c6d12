//! Commits stopped at every step, on a simulated disk that loses what was not
//! synced, and on real files.

use super::*;
use crate::editor::DocBuf;
use crate::reader::Doc;
use crate::storage::VecStorage;
use std::string::{String, ToString};
use std::vec;

/// Deterministic numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A step on a file that a crash may undo as long as it was not synced.
#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    SetLength(u64),
}

#[derive(Clone, Debug, Default)]
struct Contents {
    durable: Vec<u8>,
    pending: Vec<Step>,
}

impl Contents {
    fn step(bytes: &mut Vec<u8>, step: &Step) {
        match step {
            Step::Write(offset, new) => {
                let start = *offset as usize;
                bytes.resize(bytes.len().max(start + new.len()), 0);
                bytes[start..start + new.len()].copy_from_slice(new);
            }
            Step::SetLength(length) => bytes.resize(*length as usize, 0),
        }
    }

    fn now(&self) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        self.pending.iter().for_each(|step| Self::step(&mut bytes, step));
        bytes
    }

    fn sync(&mut self) {
        self.durable = self.now();
        self.pending.clear();
    }

    /// After a power cut: any of the pending steps happened, writes in part.
    fn crashed(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for step in &self.pending {
            match step {
                Step::Write(offset, new) => {
                    // Pieces of a few bytes: harsher than sectors.
                    for (at, piece) in new.chunks(5).enumerate() {
                        if random.below(2) == 0 {
                            let offset = offset + 5 * at as u64;
                            Self::step(&mut bytes, &Step::Write(offset, piece.to_vec()));
                        }
                    }
                }
                other if random.below(2) == 0 => Self::step(&mut bytes, other),
                _ => {}
            }
        }
        bytes
    }
}

/// A document's file, its journal, and how many steps are left before the power fails.
#[derive(Clone, Debug)]
struct Disk {
    document: Contents,
    journal: Option<Contents>,
    /// The journal as the directory on the disk has it: may differ until synced.
    durable_journal: Option<Contents>,
    steps_left: u64,
}

impl Disk {
    fn new(document: &[u8], steps_left: u64) -> Disk {
        let document = Contents { durable: document.to_vec(), pending: Vec::new() };
        Disk { document, journal: None, durable_journal: None, steps_left }
    }

    fn step(&mut self) -> io::Result<()> {
        match self.steps_left.checked_sub(1) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(io::Error::other("the power failed")),
        }
    }

    /// The disk after the power comes back.
    fn crashed(&self, random: &mut Random) -> Disk {
        let journal = match random.below(2) {
            0 => &self.journal,
            _ => &self.durable_journal,
        };
        let survive = |contents: &Contents, random: &mut Random| Contents {
            durable: contents.crashed(random),
            pending: Vec::new(),
        };
        let journal = journal.as_ref().map(|journal| survive(journal, random));
        Disk {
            document: survive(&self.document, random),
            durable_journal: journal.clone(),
            journal,
            steps_left: u64::MAX,
        }
    }
}

impl Medium for Disk {
    fn read_journal(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.journal.as_ref().map(Contents::now))
    }

    fn create_journal(&mut self) -> io::Result<()> {
        self.step()?;
        assert!(self.journal.is_none(), "a journal is never written over");
        self.journal = Some(Contents::default());
        Ok(())
    }

    /// Each byte is a step.
    fn append_journal(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            self.step()?;
            let journal = self.journal.as_mut().unwrap();
            let end = journal.now().len() as u64;
            journal.pending.push(Step::Write(end, vec![*byte]));
        }
        Ok(())
    }

    fn sync_journal(&mut self) -> io::Result<()> {
        self.step()?;
        self.journal.as_mut().unwrap().sync();
        self.step()?;
        self.durable_journal = self.journal.clone();
        Ok(())
    }

    fn remove_journal(&mut self) -> io::Result<()> {
        self.step()?;
        self.journal = None;
        self.step()?;
        self.durable_journal = None;
        Ok(())
    }

    fn length(&mut self) -> io::Result<u64> {
        Ok(self.document.now().len() as u64)
    }

    fn read(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let now = self.document.now();
        let start = now.len().min(offset as usize);
        let end = now.len().min(start + length as usize);
        Ok(now[start..end].to_vec())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        for (at, byte) in bytes.iter().enumerate() {
            self.step()?;
            self.document.pending.push(Step::Write(offset + at as u64, vec![*byte]));
        }
        Ok(())
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.step()?;
        self.document.pending.push(Step::SetLength(length));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step()?;
        self.document.sync();
        Ok(())
    }
}

type Edit = fn(&mut Editor<VecStorage, Changes>) -> Result<()>;

/// Edits of every kind: within a cell, at the end, freeing at the end (the file
/// gets shorter), moving, and the whole document.
fn edits() -> Vec<(&'static str, Edit)> {
    vec![
        ("number", |editor| editor.set_pointer("/lap", 56).map(drop)),
        ("longer text", |editor| {
            editor.set_pointer("/event", "a lap that was completed in the rain").map(drop)
        }),
        ("new key", |editor| editor.set_pointer("/driver", "Ada Lovelace").map(drop)),
        ("push", |editor| editor.set_pointer("/laps/-", 77.25).map(drop)),
        ("remove", |editor| editor.remove_pointer("/event").map(drop)),
        ("remove array", |editor| editor.remove_pointer("/laps").map(drop)),
        ("root", |editor| editor.set_root("nothing but this text").map(drop)),
        ("compact", |editor| {
            editor.remove_pointer("/laps")?;
            editor.compact()
        }),
    ]
}

fn document() -> DocBuf {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(crate::New::object(3)).unwrap().unwrap();
    doc.set(root, "event", "lap_complete").unwrap();
    doc.set(root, "lap", 55).unwrap();
    let laps = doc.set(root, "laps", crate::New::array(0)).unwrap().unwrap();
    for lap in 0..6 {
        doc.push(laps, lap as f64 + 0.5).unwrap();
    }
    doc
}

/// The document after an edit, and what it changed.
fn edited(old: &[u8], edit: Edit) -> (Vec<u8>, Vec<(u64, u64)>) {
    let storage = VecStorage::from_slice(old).unwrap();
    let mut editor = Editor::open_with(storage, Changes::default()).unwrap();
    editor.validate().unwrap();
    edit(&mut editor).unwrap();
    let ranges = editor.observer().below(editor.as_bytes().len() as u64);
    (editor.as_bytes().to_vec(), ranges)
}

/// Recovers, and tells whether the document is then the new one.
fn recovered(mut disk: Disk, old: &[u8], new: &[u8], what: &str) -> bool {
    recover(&mut disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(disk.journal.is_none(), "{what}: a journal is left");
    let bytes = disk.document.now();
    let doc = Doc::open(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    doc.validate().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!([old, new].contains(&doc.as_bytes()), "{what}: neither old nor new");
    doc.as_bytes() == new
}

#[test]
#[cfg_attr(miri, ignore)]
fn a_commit_stopped_anywhere_leaves_the_document_old_or_new() {
    let mut random = Random(0x5EED);
    let old = document();
    let old = old.as_bytes();
    for (name, edit) in edits() {
        let (new, ranges) = edited(old, edit);
        let mut outcomes = [0, 0];
        for steps in 0.. {
            let mut disk = Disk::new(old, steps);
            let journal = Journal::of(&mut disk, &ranges, old.len() as u64, &new).unwrap();
            let done = journal.commit(&mut disk);
            for round in 0..20 {
                let what = std::format!("{name}, stopped after {steps} steps, round {round}");
                let is_new = recovered(disk.crashed(&mut random), old, &new, &what);
                outcomes[is_new as usize] += 1;
                assert!(done.is_err() || is_new, "{what}: a finished commit was lost");
            }
            // The process dies, the machine lives: nothing is lost.
            disk.steps_left = u64::MAX;
            recovered(disk.clone(), old, &new, name);
            if done.is_ok() {
                break;
            }
        }
        assert!(outcomes[0] > 0 && outcomes[1] > 0, "{name}: {outcomes:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn a_recovery_stopped_anywhere_is_repeated() {
    let mut random = Random(0xFEED);
    let old = document();
    let old = old.as_bytes();
    for (name, edit) in edits() {
        let (new, ranges) = edited(old, edit);
        // The commit stopped somewhere in the file.
        let mut disk = Disk::new(old, u64::MAX);
        let journal = Journal::of(&mut disk, &ranges, old.len() as u64, &new).unwrap();
        let steps = journal.bytes().len() as u64 + 3 + random.below(8);
        let mut disk = Disk::new(old, steps);
        journal.commit(&mut disk).err().unwrap();
        let crashed = disk.crashed(&mut random);
        for steps in 0.. {
            let mut disk = crashed.clone();
            disk.steps_left = steps;
            let done = recover(&mut disk).is_ok();
            for round in 0..5 {
                let what = std::format!("{name}, recovery stopped after {steps}, round {round}");
                assert!(recovered(disk.crashed(&mut random), old, &new, &what));
            }
            if done {
                break;
            }
        }
    }
}

#[test]
fn a_journal_cut_anywhere_is_dropped_and_any_changed_byte_is_noticed() {
    let old = document();
    let old = old.as_bytes();
    let (new, ranges) = edited(old, edits()[1].1);
    let mut disk = Disk::new(old, u64::MAX);
    let journal = Journal::of(&mut disk, &ranges, old.len() as u64, &new).unwrap();
    let bytes = journal.bytes();
    assert!(Journal::parse(bytes).is_some());
    for length in 0..bytes.len() {
        assert!(Journal::parse(&bytes[..length]).is_none(), "cut to {length}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[at] ^= 0x10;
        assert!(Journal::parse(&changed).is_none(), "byte {at}");
        // The checksum put right, what is read must still be bounded.
        let end = changed.len() - 4;
        let crc = crc32(&changed[..end]).to_le_bytes();
        changed[end..].copy_from_slice(&crc);
        if let Some(journal) = Journal::parse(&changed) {
            let mut disk = Disk::new(old, u64::MAX);
            let _ = journal.fits(&mut disk);
        }
    }
}

#[test]
fn a_journal_of_another_state_is_refused() {
    let old = document();
    let (new, ranges) = edited(old.as_bytes(), edits()[0].1);
    let used = old.as_bytes().len() as u64;
    let mut disk = Disk::new(old.as_bytes(), u64::MAX);
    let journal = Journal::of(&mut disk, &ranges, used, &new).unwrap();
    // The same place holds something else; the header differs; the file is shorter.
    let other = edited(old.as_bytes(), |editor| editor.set_pointer("/lap", 7).map(drop)).0;
    let longer = edited(old.as_bytes(), edits()[2].1).0;
    for (file, fits) in [
        (old.as_bytes(), true),
        (&new[..], true),
        (&other[..], false),
        (&longer[..], false),
        (&old.as_bytes()[..used as usize - 8], false),
        (b"not a document", false),
    ] {
        let mut disk = Disk::new(file, u64::MAX);
        assert_eq!(journal.fits(&mut disk).unwrap(), fits);
        let bytes = Contents { durable: journal.bytes().to_vec(), pending: Vec::new() };
        disk.journal = Some(bytes);
        let result = recover(&mut disk);
        assert_eq!(result.is_ok(), fits);
        if let Err(error) = result {
            assert!(error.to_string().contains("another document or state"), "{error}");
            assert_eq!(disk.document.now(), file, "the file is not touched");
        }
    }
}

#[test]
fn ranges_merge() {
    let mut random = Random(7);
    for _ in 0..500 {
        let (mut ranges, mut model) = (Ranges::default(), [false; 64]);
        for _ in 0..random.below(12) {
            let start = random.below(60);
            let end = start + random.below(64 - start);
            ranges.add(start, end);
            model[start as usize..end as usize].fill(true);
        }
        let mut found = [false; 64];
        let mut last = None;
        for (&start, &end) in &ranges.0 {
            assert!(start < end && last.is_none_or(|last| last < start), "{ranges:?}");
            found[start as usize..end as usize].fill(true);
            last = Some(end);
        }
        assert_eq!(found, model);
    }
}

#[test]
fn the_checksum_is_the_usual_one() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
}

/// Real files, stopped before every call.
struct Stopped<'f> {
    files: Files<'f>,
    left: u64,
}

impl Stopped<'_> {
    fn step(&mut self) -> io::Result<&mut Self> {
        self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other("stopped"))?;
        Ok(self)
    }
}

impl Medium for Stopped<'_> {
    fn read_journal(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.files.read_journal()
    }

    fn create_journal(&mut self) -> io::Result<()> {
        self.step()?.files.create_journal()
    }

    fn append_journal(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(16) {
            self.step()?.files.append_journal(piece)?;
        }
        Ok(())
    }

    fn sync_journal(&mut self) -> io::Result<()> {
        self.step()?.files.sync_journal()
    }

    fn remove_journal(&mut self) -> io::Result<()> {
        self.step()?.files.remove_journal()
    }

    fn length(&mut self) -> io::Result<u64> {
        self.files.length()
    }

    fn read(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        self.files.read(offset, length)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        for (at, piece) in bytes.chunks(3).enumerate() {
            self.step()?.files.write(offset + 3 * at as u64, piece)?;
        }
        Ok(())
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.step()?.files.set_length(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step()?.files.sync()
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn real_files_are_old_or_new_for_readers_and_editors() {
    let directory =
        std::env::temp_dir().join(std::format!("livebuf-journal-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("document.lbuf");
    let journal_path = journal_of(&path);
    let old = document();
    let old = old.as_bytes();
    let kinds = |path: &Path| -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    for (name, edit) in edits() {
        let (new, ranges) = edited(old, edit);
        for steps in 0.. {
            let what = std::format!("{name}, stopped after {steps}");
            // The file as an edit finds it: with room made for growth.
            let mut room = old.to_vec();
            room.resize(new.len().max(old.len()) + 4096, 0);
            fs::write(&path, &room).unwrap();
            let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
            let mut stopped = Stopped { files: Files::new(&path, &file), left: steps };
            let journal = Journal::of(&mut stopped, &ranges, old.len() as u64, &new).unwrap();
            let done = journal.commit(&mut stopped).is_ok();
            drop(stopped);
            drop(file);
            if steps % 2 == 0 {
                let file = super::super::MappedFile::open(&path).unwrap();
                let doc = file.doc().unwrap().as_bytes();
                assert!([old, &new].contains(&doc), "{what}");
                assert!(!done || doc == new, "{what}");
                file.doc().unwrap().validate().unwrap();
            } else {
                let mut edit = FileEdit::open(&path).unwrap();
                assert_eq!(kinds(&path), ["document.lbuf"], "{what}");
                let doc = edit.editor().as_bytes();
                assert!([old, &new[..]].contains(&doc), "{what}");
                edit.editor().validate().unwrap();
            }
            let _ = fs::remove_file(&journal_path);
            if done {
                break;
            }
        }
    }
    fs::remove_dir_all(&directory).unwrap();
}
