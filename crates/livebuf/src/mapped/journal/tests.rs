//! Commits stopped at every step, on a simulated disk that loses or reorders what was
//! not synced and reports errors, and on real files.

use super::*;
use crate::edit::DocBuf;
use crate::store::storage::VecStorage;
use livebuf_disk::{Disk, Faults, Random};
use std::vec;

impl Medium for Disk {
    fn length(&mut self) -> io::Result<u64> {
        Ok(self.file.seen.len() as u64)
    }

    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(self.file.read_at(bytes, offset))
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(&mut self.faults, bytes, offset)
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.file.set_length(&mut self.faults, length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync(&mut self.faults)
    }
}

/// Memory that is not known to be zero where it was not written, as that of files.
struct Unknown(VecStorage);

impl Storage for Unknown {
    const ZEROED: bool = false;

    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }

    fn grow(&mut self, capacity: u64) -> Result<()> {
        self.0.grow(capacity)
    }
}

type Edit = fn(&mut Editor<Unknown>) -> Result<()>;

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
fn edited(
    old: &[u8],
    edit: impl FnOnce(&mut Editor<Unknown>) -> Result<()>,
) -> (Vec<u8>, Vec<(u64, u64)>) {
    let storage = Unknown(VecStorage::from_slice(old).unwrap());
    let mut editor = Editor::open_unvalidated(storage).unwrap();
    editor.listen(Changes::default());
    editor.validate().unwrap();
    edit(&mut editor).unwrap();
    let ranges = editor.stop_listening::<Changes>().unwrap().below(editor.as_bytes().len() as u64);
    (editor.as_bytes().to_vec(), ranges)
}

/// Commits as a [`FileStorage`] does: room first.
fn commit(disk: &mut Disk, ranges: &[(u64, u64)], new: &[u8]) -> Result<(), Failed> {
    let floor = disk.file.seen.len().max(new.len()) as u64;
    let room = if floor > disk.file.seen.len() as u64 { disk.set_length(floor) } else { Ok(()) };
    room.map_err(|error| Failed { error, durable: false })?;
    Journal::of(ranges, new).commit(disk, floor)
}

/// Recovers, and gives the document, which is the one that a reader sees before.
fn recovered(disk: &mut Disk, what: &str) -> Vec<u8> {
    let mut read = disk.file.seen.clone();
    if let Some((_, journal)) = journal_in(disk).unwrap() {
        read.truncate(journal.used() as usize);
        journal.make(&mut read);
    }
    recover(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(journal_in(disk).unwrap().is_none(), "{what}: a journal is left");
    let doc = Doc::open(&disk.file.seen).unwrap_or_else(|error| panic!("{what}: {error}"));
    doc.validate().unwrap_or_else(|error| panic!("{what}: {error}"));
    let read = Doc::open(&read).unwrap_or_else(|error| panic!("{what}, read: {error}"));
    assert!(read.as_bytes() == doc.as_bytes(), "{what}: readers see something else");
    doc.as_bytes().to_vec()
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
            let mut disk = Disk::new(old).stopped_after(steps);
            let done = commit(&mut disk, &ranges, &new).is_ok();
            for round in 0..12 {
                let what = std::format!("{name}, stopped after {steps} steps, round {round}");
                let found = recovered(&mut disk.crashed(&mut random), &what);
                assert!(found == old || found == new, "{what}: neither old nor new");
                outcomes[(found == new) as usize] += 1;
                assert!(!done || found == new, "{what}: a finished commit was lost");
            }
            // The process dies, the machine lives: nothing is lost.
            let found = recovered(&mut disk.killed(), name);
            assert!(found == old || found == new, "{name}, killed after {steps} steps");
            if done && disk.faults.left > 0 {
                assert!(journal_in(&mut disk).unwrap().is_none(), "a done journal is marked");
                break;
            }
        }
        assert!(outcomes[0] > 0 && outcomes[1] > 0, "{name}: {outcomes:?}");
    }
}

/// Recovery applied a journal that was complete for programs, but that its process had
/// been killed before syncing. A power cut while it was applied then left a torn document
/// and no journal. It syncs the journal first.
#[test]
#[cfg_attr(miri, ignore)]
fn a_recovery_stopped_anywhere_is_repeated() {
    let mut random = Random(0xFEED);
    let old = document();
    let old = old.as_bytes();
    for (name, edit) in edits() {
        let (new, ranges) = edited(old, edit);
        let mut recoveries = 0;
        for first in 0.. {
            let mut disk = Disk::new(old).stopped_after(first);
            let done = commit(&mut disk, &ranges, &new).is_ok();
            // Killed there, or the power failed; every step of the recovery.
            for start in [disk.killed(), disk.crashed(&mut random)] {
                if journal_in(&mut start.clone()).unwrap().is_none() {
                    continue;
                }
                recoveries += 1;
                // All steps of a few, some of the others.
                let stride = if recoveries % 64 == 1 { 1 } else { 20 + random.below(100) };
                for steps in (random.below(stride)..).step_by(stride as usize) {
                    let mut disk = start.stopped_after(steps);
                    let recovery = recover(&mut disk).is_ok();
                    for round in 0..4 {
                        let what = std::format!(
                            "{name}, killed after {first}, recovery stopped after {steps}, {round}"
                        );
                        let found = recovered(&mut disk.crashed(&mut random), &what);
                        assert!(found == old || found == new, "{what}: neither old nor new");
                        assert!(!recovery || found == new, "{what}: lost");
                    }
                    assert_eq!(recovered(&mut disk.killed(), name), new);
                    if recovery {
                        break;
                    }
                }
            }
            if done && disk.faults.left > 0 {
                break;
            }
        }
        assert!(recoveries > 3, "{name}");
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn an_error_at_any_step_leaves_the_document_old_or_new() {
    let mut random = Random(0xE10);
    let old = document();
    let old = old.as_bytes();
    let mut outcomes = [0, 0, 0];
    for (name, edit) in edits() {
        let (new, ranges) = edited(old, edit);
        for steps in 0.. {
            let what = std::format!("{name}, an error after {steps} steps");
            let mut disk = Disk::new(old).with(Faults {
                until_error: Some(steps),
                random: 1 + steps,
                ..Faults::NONE
            });
            let result = commit(&mut disk, &ranges, &new);
            let unreached = disk.faults.until_error.is_some();
            match result {
                Ok(()) => outcomes[0] += 1,
                Err(Failed { durable: false, .. }) => {
                    outcomes[1] += 1;
                    // Whoever opens the file now finds it as it was.
                    assert_eq!(recovered(&mut disk.killed(), &what), old, "{what}");
                    // And the session can try again.
                    commit(&mut disk, &ranges, &new).ok().unwrap();
                }
                Err(Failed { durable: true, .. }) => {
                    outcomes[2] += 1;
                    // The recovery meets errors as well, anywhere.
                    for again in (random.below(9)..200).step_by(9) {
                        let mut disk =
                            disk.with(Faults { until_error: Some(again), ..disk.faults });
                        let _ = recover(&mut disk);
                        for _ in 0..4 {
                            let found = recovered(&mut disk.crashed(&mut random), &what);
                            assert_eq!(found, new, "{what}, another after {again}");
                        }
                        assert_eq!(recovered(&mut disk.killed(), &what), new, "{what}");
                    }
                }
            }
            for _ in 0..10 {
                let found = recovered(&mut disk.crashed(&mut random), &what);
                assert_eq!(found, new, "{what}");
            }
            if unreached {
                break;
            }
        }
    }
    assert!(outcomes.iter().all(|&count| count > 0), "{outcomes:?}");
}

/// A sync of a journal fails, and the system forgets what it did not write; the process
/// dies. The recovery's sync succeeds then, though parts of the journal are not on the
/// disk: so it writes the journal again before.
#[test]
#[cfg_attr(miri, ignore)]
fn a_journal_that_a_failed_sync_forgot_is_written_again() {
    let mut random = Random(0xF0);
    let old = document();
    let old = old.as_bytes();
    let (new, ranges) = edited(old, edits()[1].1);
    let journal = Journal::of(&ranges, &new);
    for seed in 1..60 {
        let mut disk = Disk::new(old).with(Faults { random: seed, ..Faults::NONE });
        disk.write(4096, &journal.0).unwrap();
        disk.faults.until_error = Some(0);
        disk.sync().unwrap_err();
        for steps in 0.. {
            let mut disk = disk.stopped_after(steps);
            let done = recover(&mut disk).is_ok();
            let what = std::format!("seed {seed}, stopped after {steps}");
            let found = recovered(&mut disk.crashed(&mut random), &what);
            assert!(found == old || found == new, "{what}: neither old nor new");
            if done {
                break;
            }
        }
    }
}

/// Where the file may not grow the journal does not fit, nor its undoing: that must not
/// count as a commit that may yet happen.
#[test]
#[cfg_attr(miri, ignore)]
fn a_full_disk_leaves_the_document_old() {
    let old = document();
    let old = old.as_bytes();
    let (new, ranges) = edited(old, edits()[0].1);
    for most in (0..40).chain(4080..4096 + 60) {
        let mut disk =
            Disk::new(old).with(Faults { most: most.max(old.len() as u64), ..Faults::NONE });
        match commit(&mut disk, &ranges, &new) {
            Ok(()) => assert!(most > 4100, "{most}"),
            Err(Failed { durable, .. }) => assert!(!durable, "{most}"),
        }
        let found = recovered(&mut disk.killed(), "full");
        assert_eq!(
            found == new,
            disk.faults.most >= 4096 + Journal::of(&ranges, &new).0.len() as u64
        );
    }
}

/// Sessions of several commits, one after the other, stopped anywhere.
#[test]
#[cfg_attr(miri, ignore)]
fn sessions_lose_nothing_that_was_committed() {
    let mut random = Random(0xABCD);
    let (mut crashes, mut landed) = (0, 0);
    for round in 0..400 {
        let mut disk = Disk::new(document().as_bytes());
        let mut committed = disk.file.seen.clone();
        // What a crash may also leave: a commit that did not return.
        let mut maybe = committed.clone();
        disk.faults.left = random.below(2000);
        for session in 0..6 {
            let what = std::format!("round {round}, session {session}");
            let mut alive = recover(&mut disk).is_ok();
            for _ in 0..random.below(4) {
                if !alive {
                    break;
                }
                let number = random.below(1000) as i64;
                let text = "x".repeat(random.below(60) as usize);
                let (new, ranges) = edited(&committed, |editor| match number % 4 {
                    0 => editor.set_root(&*text).map(drop),
                    1 => editor.set_root(crate::New::array(number as usize % 20)).map(drop),
                    2 => editor.set_root(number).map(drop),
                    _ => {
                        editor.set_root(crate::New::object(2))?;
                        editor.set_pointer("/lap", number)?;
                        editor.set_pointer("/event", &*text).map(drop)
                    }
                });
                maybe.clone_from(&new);
                alive = commit(&mut disk, &ranges, &new).is_ok();
                if alive {
                    committed = new;
                }
            }
            // Closed, or dropped: cut, without a sync. Or not even that.
            if alive && random.below(3) > 0 {
                alive = disk.set_length(committed.len() as u64).is_ok();
            }
            if alive {
                maybe.clone_from(&committed);
                continue;
            }
            crashes += 1;
            let mut next = match random.below(2) {
                0 => disk.killed(),
                _ => disk.crashed(&mut random),
            };
            let found = recovered(&mut next, &what);
            assert!(found == committed || found == maybe, "{what}: {} bytes", found.len());
            landed += u64::from(found == maybe && maybe != committed);
            committed = found;
            maybe.clone_from(&committed);
            disk = next;
            disk.faults.left = random.below(2000);
        }
        disk.faults.left = u64::MAX;
        let found = recovered(&mut disk.crashed(&mut random), "the last power cut");
        assert_eq!(found, committed, "round {round}");
    }
    assert!(crashes > 100 && landed > 10, "{crashes} crashes, {landed} landed");
}

#[test]
#[cfg_attr(miri, ignore)]
fn a_journal_cut_anywhere_is_dropped_and_any_changed_byte_is_noticed() {
    let old = document();
    let (new, ranges) = edited(old.as_bytes(), edits()[1].1);
    let bytes = Journal::of(&ranges, &new).0;
    assert!(Journal::parse(bytes.clone(), 4096).is_some());
    for length in 0..bytes.len() {
        assert!(Journal::parse(bytes[..length].to_vec(), 4096).is_none(), "cut to {length}");
        assert!(Journal::parse(bytes[length + 1..].to_vec(), 4096).is_none(), "from {length}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(Journal::parse(changed.clone(), 4096).is_none(), "byte {at}");
        // The checksum put right, what is written must still lie in the document.
        let end = changed.len() - 12;
        let crc = crc32(&changed[..end]).to_le_bytes();
        changed[end..end + 4].copy_from_slice(&crc);
        let mut disk = Disk::new(old.as_bytes());
        disk.file.seen.resize(4096, 0);
        disk.file.seen.extend(&changed);
        let length = disk.file.seen.len();
        recover(&mut disk).unwrap();
        assert!(disk.file.seen.len() <= length, "byte {at}");
    }
    // A document that would reach into the journal itself.
    assert!(Journal::parse(bytes.clone(), new.len() as u64).is_some());
    assert!(Journal::parse(bytes, new.len() as u64 - 1).is_none());
}

#[test]
fn ranges_merge() {
    let mut random = Random(7);
    for _ in 0..500 {
        let (mut ranges, mut model) = (Changes::default(), [false; 64]);
        for _ in 0..random.below(12) {
            let start = random.below(60);
            let end = start + random.below(64 - start);
            ranges.add(start, end);
            model[start as usize..end as usize].fill(true);
        }
        let limit = random.below(64);
        let mut found = [false; 64];
        let mut last = None;
        for (start, end) in ranges.below(64) {
            assert!(start < end && last.is_none_or(|last| last < start), "{ranges:?}");
            found[start as usize..end as usize].fill(true);
            last = Some(end);
        }
        assert_eq!(found, model);
        let below: u64 = ranges.below(limit).iter().map(|(start, end)| end - start).sum();
        assert_eq!(below as usize, model[..limit as usize].iter().filter(|&&set| set).count());
        assert_eq!(ranges.count().0 as usize, model.iter().filter(|&&set| set).count());
    }
}

#[test]
fn the_checksum_is_the_usual_one() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
}

/// A real file, stopped before every call.
struct Stopped<'f> {
    file: &'f File,
    left: u64,
}

impl<'f> Stopped<'f> {
    fn step(&mut self) -> io::Result<&mut &'f File> {
        self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other("stopped"))?;
        Ok(&mut self.file)
    }
}

impl Medium for Stopped<'_> {
    fn length(&mut self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.step()?.write_at(&bytes[..bytes.len().min(3)], offset)
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.step()?.set_length(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step()?.sync()
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn real_files_are_old_or_new_for_readers_and_editors() {
    let directory =
        std::env::temp_dir().join(std::format!("livebuf-journal-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("document.lbuf");
    // A kill in the middle is found through any name of the file: a second one had no
    // journal beside it once.
    let other = directory.join("other.lbuf");
    let old = document();
    let old = old.as_bytes();
    for (name, edit) in edits() {
        let (new, ranges) = edited(old, edit);
        for steps in 0.. {
            let what = std::format!("{name}, stopped after {steps}");
            // The file as an edit finds it: with room made for growth.
            let mut room = old.to_vec();
            room.resize(new.len().max(old.len()) + 4096, 0);
            fs::write(&path, &room).unwrap();
            let _ = fs::remove_file(&other);
            fs::hard_link(&path, &other).unwrap();
            let file = File::options().read(true).write(true).open(&path).unwrap();
            let mut stopped = Stopped { file: &file, left: steps };
            let journal = Journal::of(&ranges, &new);
            let done = journal.commit(&mut stopped, room.len() as u64).is_ok();
            drop(file);
            if steps % 2 == 0 {
                let bytes = fs::read(&path).unwrap();
                let file = super::super::MappedFile::open(&other).unwrap();
                assert!(fs::read(&path).unwrap() == bytes, "{what}: a reader wrote");
                let doc = file.doc().unwrap().as_bytes();
                assert!([old, &new].contains(&doc), "{what}");
                assert!(!done || doc == new, "{what}");
                file.doc().unwrap().validate().unwrap();
            } else {
                let mut edit = FileEdit::open(&other).unwrap();
                let doc = edit.editor().as_bytes();
                assert!([old, &new[..]].contains(&doc), "{what}");
                edit.editor().validate().unwrap();
                edit.editor().set_root("edited").unwrap();
                edit.commit().unwrap();
                drop(edit);
                let file = super::super::MappedFile::open(&path).unwrap();
                assert_eq!(file.doc().unwrap().root().as_str().unwrap(), Some("edited"));
                assert_eq!(file.as_bytes().len(), file.doc().unwrap().as_bytes().len());
            }
            if done {
                break;
            }
        }
    }
    fs::remove_dir_all(&directory).unwrap();
}
