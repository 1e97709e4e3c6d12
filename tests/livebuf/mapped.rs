//! Documents in files: reading, editing in place, edits through the journal,
//! locks, full disks, files that are no documents.
#![cfg(all(unix, not(miri)))]

use livebuf::mapped::{self, FileEdit, FileStorage, MappedFile, MappedStorage};
use livebuf::{DocBuf, Editor, Error, ErrorKind, New, Storage, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of a test's own, removed at its end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("livebuf-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn laps(count: i64) -> DocBuf {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::object(2)).unwrap().unwrap();
    doc.set(root, "event", "lap_complete").unwrap();
    let laps = doc.set(root, "laps", New::array(0)).unwrap().unwrap();
    for lap in 0..count {
        doc.push(laps, lap).unwrap();
    }
    doc
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn core_kind(error: &io::Error) -> Option<ErrorKind> {
    error.get_ref()?.downcast_ref::<Error>().map(Error::kind)
}

#[test]
fn a_file_is_read_as_it_is() {
    let place = Place::new("read");
    let doc = laps(1000);
    let path = place.file("laps.lbuf", doc.as_bytes());
    let file = MappedFile::open(&path).unwrap();
    assert_eq!(file.as_bytes(), doc.as_bytes());
    let lap = file.doc().unwrap().pointer("/laps/999").unwrap().unwrap();
    assert_eq!(lap.as_i64(), Some(999));
    // Spare room behind a document is no part of it.
    let mut longer = doc.to_vec();
    longer.resize(longer.len() + 5000, 7);
    let path = place.file("longer.lbuf", &longer);
    assert_eq!(MappedFile::open(&path).unwrap().doc().unwrap().as_bytes(), doc.as_bytes());
}

#[test]
fn what_is_no_document_is_an_error() {
    let place = Place::new("wrong");
    for (name, bytes, kind) in [
        ("empty", &b""[..], ErrorKind::NotADocument),
        ("json", b"{\"lap\": 55}", ErrorKind::NotADocument),
        ("cut", &laps(9).as_bytes()[..100], ErrorKind::Truncated),
    ] {
        let path = place.file(name, bytes);
        let file = MappedFile::open(&path).unwrap();
        assert_eq!(file.doc().unwrap_err().kind(), kind, "{name}");
        drop(file);
        let error = MappedStorage::open(&path).unwrap_err();
        assert_eq!(core_kind(&error), Some(kind), "{name}");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let error = FileEdit::open(&path).unwrap_err();
        assert_eq!(core_kind(&error), Some(kind), "{name}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name} is not touched");
    }
    assert_eq!(MappedFile::open(&place.0).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    let missing = place.0.join("missing");
    assert_eq!(MappedFile::open(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(FileEdit::open(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    let path = place.file("there", b"");
    let error = MappedStorage::create(&path, 0).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn a_file_is_edited_in_place_and_cut_to_size() {
    let place = Place::new("edit");
    let path = place.0.join("new.lbuf");
    let mut editor = Editor::create(MappedStorage::create(&path, 100).unwrap()).unwrap();
    let mut same = DocBuf::new().unwrap();
    let list = editor.set_root(New::array(0)).unwrap().unwrap();
    let same_list = same.set_root(New::array(0)).unwrap().unwrap();
    for number in 0..100_000 {
        editor.push(list, number).unwrap();
        same.push(same_list, number).unwrap();
    }
    let used = editor.as_bytes().len() as u64;
    // Never much more on the disk than is used.
    assert!(length(&path) < used + used / 4 + (128 << 10), "{} for {used}", length(&path));
    editor.into_storage().finish(used).unwrap();
    assert_eq!(fs::read(&path).unwrap(), same.as_bytes(), "as in memory");

    // Again: garbage behind the document must not come back as its own bytes.
    let mut bytes = same.to_vec();
    bytes.resize(bytes.len() + 3000, 0xEE);
    fs::write(&path, &bytes).unwrap();
    let mut editor = Editor::open_unvalidated(MappedStorage::open(&path).unwrap()).unwrap();
    editor.validate().unwrap();
    for number in 0..1000 {
        editor.set_pointer("/-", &*format!("text {number}")).unwrap();
    }
    let used = editor.as_bytes().len() as u64;
    editor.doc().validate().unwrap();
    editor.into_storage().finish(used).unwrap();
    let file = MappedFile::open(&path).unwrap();
    let doc = file.doc().unwrap().validate().unwrap();
    assert_eq!(doc.root().len(), Some(101_000));
    assert_eq!(doc.pointer("/100999").unwrap().as_str(), Some("text 999"));
}

#[test]
fn a_file_that_was_not_finished_is_still_a_document() {
    let place = Place::new("left");
    let path = place.0.join("left.lbuf");
    let mut editor = Editor::create(MappedStorage::create(&path, 0).unwrap()).unwrap();
    editor.set_root("left open").unwrap();
    drop(editor);
    let file = MappedFile::open(&path).unwrap();
    assert_eq!(file.doc().unwrap().root().as_str().unwrap(), Some("left open"));
    drop(file);
    let storage = MappedStorage::open(&path).unwrap();
    assert_eq!(storage.bytes().len(), 48, "cut to what is used");
}

#[test]
fn readers_share_and_editors_exclude() {
    let place = Place::new("locks");
    let path = place.file("laps.lbuf", laps(10).as_bytes());
    let locked = |error: io::Error| {
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(error.to_string().contains("in this process or another"), "{error}");
    };
    let reader = MappedFile::open(&path).unwrap();
    let second = MappedFile::open(&path).unwrap();
    locked(MappedStorage::open(&path).unwrap_err());
    locked(FileEdit::open(&path).unwrap_err());
    drop((reader, second));
    let edit = FileEdit::open(&path).unwrap();
    locked(MappedFile::open(&path).unwrap_err());
    locked(FileEdit::open(&path).unwrap_err());
    drop(edit);
    let storage = MappedStorage::open(&path).unwrap();
    locked(MappedFile::open(&path).unwrap_err());
    drop(storage);
    MappedFile::open(&path).unwrap();
}

#[test]
fn no_half_of_a_transaction_is_committed() {
    let place = Place::new("half");
    let path = place.file("half.lbuf", laps(10).as_bytes());
    let mut edit = FileEdit::open(&path).unwrap();
    edit.editor().begin_transaction().unwrap();
    edit.editor().set_root(1).unwrap();
    assert_eq!(edit.commit().unwrap_err().kind(), io::ErrorKind::InvalidInput);
    edit.editor().commit_transaction().unwrap();
    edit.commit().unwrap();
    drop(edit);
    assert_eq!(MappedFile::open(&path).unwrap().doc().unwrap().root(), 1);
}

#[test]
fn a_journalled_edit_is_all_or_nothing() {
    let place = Place::new("journal");
    let doc = laps(100_000);
    let path = place.file("laps.lbuf", doc.as_bytes());

    // Dropped: nothing happened, whatever was tried.
    let mut edit = FileEdit::open(&path).unwrap();
    edit.editor().validate().unwrap();
    edit.editor().set_pointer("/laps/7", 70).unwrap();
    edit.editor().set_pointer("/more", &*"x".repeat(1 << 20)).unwrap();
    assert!(edit.editor().doc().pointer("/more").unwrap().is_some());
    drop(edit);
    assert_eq!(fs::read(&path).unwrap(), doc.as_bytes());

    // A number: few bytes, at the right place.
    let mut edit = FileEdit::open(&path).unwrap();
    edit.editor().set_pointer("/laps/7", 70).unwrap();
    let committed = edit.commit().unwrap();
    drop(edit);
    assert!(committed.bytes <= 9 && committed.places == 1, "{committed:?}");
    assert_eq!(committed.used, doc.as_bytes().len() as u64);
    let file = MappedFile::open(&path).unwrap();
    let lap = file.doc().unwrap().pointer("/laps/7").unwrap().unwrap();
    assert_eq!(lap.as_i64(), Some(70));
    drop(file);

    // Growth while there are changes already: they must not be lost on the way.
    let mut edit = FileEdit::open(&path).unwrap();
    edit.editor().validate().unwrap();
    edit.editor().set_pointer("/event", "changed first").unwrap();
    for round in 0..40 {
        let text = "y".repeat(3000 + round);
        edit.editor().set_pointer(&format!("/text{round}"), &*text).unwrap();
    }
    edit.commit().unwrap();
    drop(edit);
    let file = MappedFile::open(&path).unwrap();
    assert_eq!(file.as_bytes().len(), file.doc().unwrap().as_bytes().len(), "no spare room");
    let root = file.doc().unwrap().validate().unwrap().root();
    assert_eq!(root.get("event").unwrap().as_str(), Some("changed first"));
    assert_eq!(root.get("text39").unwrap().as_str().unwrap().len(), 3039);
    drop(file);

    // Shrinking cuts the file.
    let before = length(&path);
    let mut edit = FileEdit::open(&path).unwrap();
    edit.editor().validate().unwrap();
    edit.editor().remove_pointer("/laps").unwrap();
    edit.editor().compact().unwrap();
    edit.commit().unwrap();
    drop(edit);
    assert!(length(&path) < before / 4);
    MappedFile::open(&path).unwrap().doc().unwrap().validate().unwrap();

    // Nothing changed, nothing written.
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    assert_eq!(FileEdit::open(&path).unwrap().commit().unwrap().bytes, 0);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
    assert_eq!(place.names(), ["laps.lbuf"], "no journal is left");
}

#[test]
fn an_edit_through_a_symlink_goes_to_the_file() {
    let place = Place::new("symlink");
    fs::create_dir(place.0.join("real")).unwrap();
    let path = place.file("real/laps.lbuf", laps(5).as_bytes());
    let link = place.0.join("link.lbuf");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut edit = FileEdit::open(&link).unwrap();
    edit.editor().set_pointer("/laps/0", 1).unwrap();
    edit.commit().unwrap();
    drop(edit);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let file = MappedFile::open(&path).unwrap();
    let lap = file.doc().unwrap().pointer("/laps/0").unwrap().unwrap();
    assert_eq!(lap.as_i64(), Some(1));
    // So does a new file.
    mapped::write(&link, laps(2).as_bytes()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), laps(2).as_bytes());
}

/// A writing session was one commit once. It is as many as one likes, its handles stay
/// good, and what was not committed is gone with it.
#[test]
fn a_session_commits_again_and_again() {
    let place = Place::new("session");
    let path = place.file("laps.lbuf", laps(1000).as_bytes());
    // What another program would find, were the lock not there.
    let now = || {
        let bytes = fs::read(&path).unwrap();
        let doc = livebuf::Doc::open(&bytes).unwrap();
        doc.validate().unwrap();
        doc.as_bytes().to_vec()
    };
    let mut edit = FileEdit::open(&path).unwrap();
    let editor = edit.editor();
    editor.validate().unwrap();
    let list = editor.child(editor.root_id().unwrap(), "laps").unwrap().unwrap();
    let mut model = laps(1000);
    model.validate().unwrap();
    let model_list = model.child(model.root_id().unwrap(), "laps").unwrap().unwrap();
    let mut before = now();
    for round in 0..60i64 {
        // Growing by more than the room made so far, at places all over, and shrinking.
        for push in 0..round * round {
            edit.editor().push(list, push << 40).unwrap();
            model.push(model_list, push << 40).unwrap();
        }
        for index in [1, 200, 800] {
            edit.editor().set(list, index, round).unwrap();
            model.set(model_list, index, round).unwrap();
        }
        if round % 7 == 6 {
            for _ in 0..round * 10 {
                edit.editor().pop(list).unwrap();
                model.pop(model_list).unwrap();
            }
        }
        if round % 10 == 9 {
            let text = "x".repeat(300_000);
            edit.editor().set_pointer("/event", &*text).unwrap();
            model.set_pointer("/event", &*text).unwrap();
        }
        assert_eq!(now(), before, "nothing is in the file before the commit");
        let committed = edit.commit().unwrap();
        before = now();
        assert_eq!(before, model.as_bytes(), "round {round}");
        assert_eq!(edit.editor().as_bytes(), model.as_bytes(), "round {round}");
        assert_eq!(committed.used, before.len() as u64);
        assert_eq!(edit.commit().unwrap().bytes, 0, "nothing is left to commit");
    }
    edit.editor().set(list, 0usize, "never committed").unwrap();
    edit.editor().set_pointer("/event", &*"y".repeat(1 << 20)).unwrap();
    edit.editor().storage().roll_back();
    assert!(edit.commit().unwrap_err().to_string().contains("rolled back"));
    drop(edit);
    assert_eq!(fs::read(&path).unwrap(), model.as_bytes(), "rolled back, and cut to size");
    assert_eq!(place.names(), ["laps.lbuf"]);
}

/// Memory that was written by other ways than the editor's, as numpy arrays do.
#[test]
fn lent_bytes_are_part_of_each_commit() {
    let place = Place::new("lent");
    let path = place.file("laps.lbuf", laps(100).as_bytes());
    let storage = FileStorage::open(&path).unwrap();
    let mut editor = Editor::open_unvalidated(storage).unwrap();
    // The last lap's byte is the document's last that is not zero.
    let at = editor.as_bytes().iter().rposition(|&byte| byte == 99).unwrap();
    editor.storage().lend(at as u64, 1);
    assert_eq!(editor.storage().commit().unwrap().bytes, 1);
    // Growing keeps it.
    editor.set_pointer("/event", &*"x".repeat(100_000)).unwrap();
    assert!(editor.storage().commit().unwrap().bytes > 100_000);
    assert_eq!(editor.storage().commit_returned().unwrap().bytes, 1);
    assert_eq!(editor.storage().commit_returned().unwrap().bytes, 0);
    drop(editor);
    MappedFile::open(&path).unwrap().doc().unwrap().validate().unwrap();
}

/// `write` cut the file of its readers to nothing before it filled it, as Python's `dump`
/// did: a reader's next look-up ended its process.
#[test]
fn a_file_is_replaced_beside_its_readers_and_not_beside_its_editors() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("write");
    let path = place.0.join("laps.lbuf");
    mapped::write(&path, laps(3).as_bytes()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let reader = MappedFile::open(&path).unwrap();
    mapped::write(&path, laps(50_000).as_bytes()).unwrap();
    assert_eq!(reader.doc().unwrap().as_bytes(), laps(3).as_bytes());
    assert_eq!(fs::read(&path).unwrap(), laps(50_000).as_bytes());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    drop(reader);
    for shared in [false, true] {
        let storage = shared.then(|| MappedStorage::open(&path).unwrap());
        let edit = (!shared).then(|| FileEdit::open(&path).unwrap());
        let error = mapped::write(&path, laps(3).as_bytes()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(error.to_string().contains("is locked"), "{error}");
        drop((storage, edit));
    }
    assert_eq!(fs::read(&path).unwrap(), laps(50_000).as_bytes());
    // A file that may not be written is not exchanged either (root may write all).
    fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
    if fs::OpenOptions::new().write(true).open(&path).is_err() {
        let error = mapped::write(&path, laps(3).as_bytes()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
    let error = mapped::write(&place.0, b"").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    let error = mapped::write(place.0.join("no/where"), b"").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert_eq!(place.names(), ["laps.lbuf"], "nothing is left beside it");
}

fn word(number: usize) -> [u8; 4] {
    (number as u32).to_le_bytes()
}

/// A journal, as `docs/FORMAT.md` describes it.
fn journal(used: usize, ranges: &[(usize, &[u8])]) -> Vec<u8> {
    let parts = ranges.iter().map(|(at, new)| [&word(*at)[..], &word(new.len()), new].concat());
    let mut journal = parts.collect::<Vec<_>>().concat();
    journal.extend((journal.len() as u64 + 32).to_le_bytes());
    journal.extend([word(used), word(ranges.len()), word(0)].concat());
    let crc = crc32fast::hash(&journal);
    journal.extend(crc.to_le_bytes());
    journal.extend(b"\xABLBJ\x01\0\0\0");
    journal
}

/// Gives a file a time that is long ago, so that any write to it is seen.
fn aged(path: &Path) -> std::time::SystemTime {
    let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    then
}

/// Readers that open a file at once after a crash all wanted to finish the edit, and were told
/// that the file is locked. Then they waited for each other. Now they write nothing: each
/// makes the changes in its own memory.
#[test]
fn readers_see_an_interrupted_edit_and_leave_it_to_editors() {
    let place = Place::new("at-once");
    let old = laps(10);
    let mut new = laps(10);
    new.set_pointer("/laps/3", 77).unwrap();
    let at = (0..).find(|&at| old.as_bytes()[at] != new.as_bytes()[at]).unwrap();
    let journal = journal(new.as_bytes().len(), &[(at, &new.as_bytes()[at..=at])]);
    let bytes = [old.as_bytes(), &[7; 5000], &journal].concat();
    let path = place.file("laps.lbuf", &bytes);
    let then = aged(&path);
    for _ in 0..30 {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let file = MappedFile::open(&path).unwrap();
                    assert!(file.as_bytes() == new.as_bytes(), "cut to what is used");
                    assert_eq!(file.doc().unwrap().as_bytes(), new.as_bytes());
                });
            }
        });
    }
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), then);
    // Nobody who reads needs the right to write. (Root has it always.)
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(MappedFile::open(&path).unwrap().as_bytes(), new.as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    // Who edits finishes it.
    drop(FileEdit::open(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), new.as_bytes());
}

/// Looking at any file that ended like a journal finished "its edit", whatever the file was:
/// it was cut to nothing, or written into. Now reading writes nothing; and a journal counts if
/// the file is a document, and is one after the changes.
#[test]
fn reading_writes_nothing_and_only_documents_have_journals() {
    let place = Place::new("tails");
    let doc = laps(10).to_vec();
    let text = b"Dear diary, this is a long and dear text that is no document.\n";
    let bases = [
        ("empty", vec![]),
        ("short", b"text".to_vec()),
        ("text", text.repeat(3)),
        ("zeros", vec![0; 200]),
        ("log", [b"\xABLBL", &text.repeat(3)[..]].concat()),
        ("magic", doc[..4].to_vec()),
        ("header", doc[..32].to_vec()),
        ("newer", [&doc[..4], &[9], &doc[5..]].concat()),
        ("document", doc.clone()),
        ("with room", [&doc[..], &[0; 4000]].concat()),
    ];
    let used = doc.len();
    let with_used = |used: usize| [&doc[..20], &word(used), &doc[24..32]].concat();
    let (none, some) = (with_used(0), with_used(used - 8));
    let mut wrong = journal(used, &[(used - 8, &[0; 8])]);
    wrong[9] ^= 1;
    let mut claims = journal(used, &[]);
    claims[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let crc = crc32fast::hash(&claims[..20]);
    claims[20..24].copy_from_slice(&crc.to_le_bytes());
    let tails = [
        ("nothing used", journal(0, &[])),
        ("less than a header used", journal(24, &[])),
        ("a header used", journal(32, &[])),
        ("written into", journal(40, &[(0, b"OVERWRITTEN")])),
        ("less than the header says", journal(used - 8, &[])),
        ("more than the header says", journal(used + 8, &[])),
        ("everything", journal(u32::MAX as usize, &[])),
        ("beyond the end", journal(used, &[(used, b"x")])),
        ("far beyond the end", journal(used, &[(u32::MAX as usize, b"x")])),
        ("descending", journal(used, &[(40, b"x"), (32, b"x")])),
        ("no magic", journal(used, &[(0, b"\xABLBX")])),
        ("another version", journal(used, &[(4, b"\x09")])),
        ("no room for a header", journal(0, &[(0, &none)])),
        ("a root of no kind", journal(used, &[(16, b"\xFF")])),
        ("a wrong checksum", wrong),
        ("any length", claims),
        ("cut", journal(used, &[])[1..].to_vec()),
        ("magic only", b"\xABLBJ\x01\0\0\0".to_vec()),
    ];
    // These lead to a document where the file is one.
    let right = [
        ("nothing to do", journal(used, &[])),
        ("shorter", journal(used - 8, &[(0, &some)])),
        ("a value", journal(used, &[(used - 8, &[1, 0, 0, 0, 0, 0, 0, 0])])),
    ];
    let cases = tails.iter().map(|tail| (tail, false)).chain(right.iter().map(|tail| (tail, true)));
    for ((tail, end), is_right) in cases {
        for (base, begin) in &bases {
            let what = format!("{base}, then {tail}");
            let bytes = [&begin[..], end].concat();
            let path = place.file("any", &bytes);
            let then = aged(&path);
            let as_it_was = |what: &str| {
                assert_eq!(fs::read(&path).unwrap(), bytes, "{what}");
                assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), then, "{what}");
            };
            let is_document = matches!(*base, "document" | "with room");
            let file = MappedFile::open(&path).unwrap();
            if is_document {
                let shorter = if *tail == "shorter" { used - 8 } else { used };
                assert_eq!(file.doc().unwrap().as_bytes().len(), shorter, "{what}");
                assert_eq!(file.as_bytes() == bytes, !is_right, "{what}");
            } else {
                assert_eq!(file.as_bytes(), bytes, "{what}");
            }
            drop(file);
            as_it_was(&what);
            // Whoever edits finds a document, or an error and writes nothing.
            let edit = FileEdit::open(&path);
            assert_eq!(edit.is_ok(), livebuf::Doc::open(&bytes).is_ok(), "{what}");
            drop(edit);
            if !(is_document && is_right) {
                as_it_was(&what);
            }
            fs::write(&path, &bytes).unwrap();
            let then = aged(&path);
            if MappedStorage::open(&path).is_err() {
                assert_eq!(fs::read(&path).unwrap(), bytes, "{what}");
                assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), then, "{what}");
            }
        }
    }
}

/// Another file was renamed over the open one, or it was removed. Commits reported success, and
/// the edits were lost.
#[test]
fn edits_of_a_file_whose_name_is_gone_are_not_committed() {
    let place = Place::new("no-name");
    for gone in ["removed", "replaced", "renamed"] {
        let path = place.file("laps.lbuf", laps(10).as_bytes());
        let other = place.file("other.lbuf", laps(3).as_bytes());
        let mut edit = FileEdit::open(&path).unwrap();
        edit.editor().set_pointer("/laps/3", 77).unwrap();
        match gone {
            "removed" => fs::remove_file(&path).unwrap(),
            "replaced" => fs::rename(&other, &path).unwrap(),
            _ => fs::rename(&path, place.0.join("moved.lbuf")).unwrap(),
        }
        let error = edit.commit().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{gone}: {error}");
        assert!(error.to_string().contains("save the document under another name"), "{error}");
        // The edits are there, and can be saved, or committed once the name is back.
        assert!(edit.editor().storage().changed().0 > 0, "{gone}");
        assert_eq!(edit.editor().doc().pointer("/laps/3").unwrap().unwrap(), 77);
        let saved = place.0.join("saved.lbuf");
        mapped::write(&saved, edit.editor().as_bytes()).unwrap();
        if gone == "renamed" {
            fs::rename(place.0.join("moved.lbuf"), &path).unwrap();
            edit.commit().unwrap();
        } else {
            assert!(edit.commit().is_err());
        }
        drop(edit);
        if gone == "replaced" {
            assert_eq!(fs::read(&path).unwrap(), laps(3).as_bytes());
        }
        let file = MappedFile::open(if gone == "renamed" { &path } else { &saved }).unwrap();
        assert_eq!(file.doc().unwrap().pointer("/laps/3").unwrap().unwrap(), 77, "{gone}");
    }
    // What is edited in the file's own memory has no other place either.
    let path = place.file("shared.lbuf", laps(10).as_bytes());
    let storage = MappedStorage::open(&path).unwrap();
    storage.flush().unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(storage.flush().unwrap_err().kind(), io::ErrorKind::NotFound);
    let used = storage.bytes().len() as u64;
    assert_eq!(storage.finish(used).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// A link to a file that is not there yet was replaced by a file: symbolic links stay.
#[test]
fn a_link_to_nothing_is_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new("dangling");
    fs::create_dir(place.0.join("real")).unwrap();
    symlink("real/second", place.0.join("first")).unwrap();
    symlink("laps.lbuf", place.0.join("real/second")).unwrap();
    mapped::write(place.0.join("first"), laps(2).as_bytes()).unwrap();
    assert!(fs::symlink_metadata(place.0.join("first")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(place.0.join("real/second")).unwrap().is_symlink());
    assert_eq!(fs::read(place.0.join("real/laps.lbuf")).unwrap(), laps(2).as_bytes());
    symlink("round", place.0.join("round")).unwrap();
    assert!(mapped::write(place.0.join("round"), laps(2).as_bytes()).is_err());
    symlink("no/where", place.0.join("lost")).unwrap();
    let error = mapped::write(place.0.join("lost"), laps(2).as_bytes()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert_eq!(place.names(), ["first", "lost", "real", "round"]);
}

/// A file that root replaced was root's from then on: at mode 640 its owner was locked out.
#[test]
fn a_file_in_anothers_place_has_its_owner_and_rights() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let place = Place::new("owner");
    let path = place.file("laps.lbuf", laps(3).as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
    if chown(&path, Some(1234), Some(4321)).is_err() {
        return println!("skipped: only root may give files away");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
    mapped::write(&path, laps(4).as_bytes()).unwrap();
    let now = fs::metadata(&path).unwrap();
    assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (1234, 4321, 0o4640));
    assert_eq!(fs::read(&path).unwrap(), laps(4).as_bytes());
}

/// What a killed process left beside a file stayed there for ever.
#[test]
fn abandoned_files_are_found_and_those_of_others_are_not() {
    let place = Place::new("abandoned");
    let path = place.file("laps.lbuf", laps(3).as_bytes());
    let (killed, gone) = mapped::new_beside(&path, None).unwrap();
    let (_working, stays) = mapped::new_beside(&path, None).unwrap();
    fs::create_dir(place.0.join(".livebuf-directory.tmp")).unwrap();
    std::os::unix::fs::symlink(&path, place.0.join(".livebuf-link.tmp")).unwrap();
    place.file(".livebuf-other", b"");
    drop(killed);
    assert!(gone.exists());
    mapped::remove_abandoned(&path);
    assert!(!gone.exists() && stays.exists());
    let name = stays.file_name().unwrap().to_str().unwrap();
    let mut names =
        vec![name, ".livebuf-directory.tmp", ".livebuf-link.tmp", ".livebuf-other", "laps.lbuf"];
    names.sort();
    assert_eq!(place.names(), names);
    // While others look for them, each file is made, and none is lost.
    std::thread::scope(|scope| {
        scope.spawn(|| (0..2000).for_each(|_| mapped::remove_abandoned(&path)));
        for count in 0..200 {
            mapped::write(&path, laps(count).as_bytes()).unwrap();
        }
    });
}

/// What the child of [`a_session_killed_at_any_system_call`] does.
#[test]
#[ignore = "run by a_session_killed_at_any_system_call"]
fn one_session() {
    let Some(path) = std::env::var_os("LIVEBUF_TEST_FILE").map(PathBuf::from) else { return };
    let mut edit = match FileEdit::open(&path) {
        Ok(edit) => edit,
        Err(error) => return println!("not opened: {error}"),
    };
    edit.editor().validate().unwrap();
    for lap in [100, 200] {
        let text = "x".repeat(lap as usize * 100);
        let edited = edit.editor().set_pointer("/laps/3", lap).map(drop);
        let edited = edited.and_then(|()| edit.editor().set_pointer("/event", &*text).map(drop));
        if let Err(error) = edited {
            return println!("not edited: {error}");
        }
        match edit.commit() {
            Ok(_) => println!("committed {lap}"),
            Err(error) => println!("failed {lap}: {error}"),
        }
    }
}

/// Runs a child test under strace: with a fault, or counting its system calls.
struct Traced {
    place: Place,
    path: PathBuf,
    child: &'static str,
}

impl Traced {
    fn new(child: &'static str) -> Traced {
        let place = Place::new(child);
        let path = place.0.join("laps.lbuf");
        Traced { place, path, child }
    }

    /// What the child printed; `None` where strace does not work.
    fn run(&self, expression: &str) -> Option<String> {
        fs::write(&self.path, laps(1000).as_bytes()).unwrap();
        let output = Command::new("strace")
            .args(["-f", "-o"])
            .arg(self.place.0.join("trace"))
            .args(["-e", expression])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", self.child, "--ignored", "--nocapture", "--test-threads=1"])
            .env("LIVEBUF_TEST_FILE", &self.path)
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The system calls of these names, in order.
    fn calls(&self, names: &str) -> Vec<String> {
        self.run(&format!("trace={names}")).unwrap();
        let trace = fs::read_to_string(self.place.0.join("trace")).unwrap();
        let calls = trace.lines().filter_map(|line| line.split_once(' '));
        let calls =
            calls.filter(|(_, call)| names.split(',').any(|name| call.trim().starts_with(name)));
        calls.map(|(_, call)| call.trim().to_owned()).collect()
    }
}

/// The faults that are injected at each call.
fn faults() -> Vec<&'static str> {
    match std::env::var_os("LIVEBUF_LONG") {
        Some(_) => vec!["signal=KILL", "error=EIO", "error=ENOSPC", "error=EINTR"],
        None => vec!["signal=KILL", "error=EIO"],
    }
}

/// Killed before each system call on the file, and with an error for each.
///
/// A session whose commit had failed in the middle could still grow the file. Its journal
/// was then not at the end, where it is looked for, and the document was torn.
#[test]
fn a_session_killed_at_any_system_call() {
    let traced = Traced::new("one_session");
    // What was committed for certain, and what the file holds through the journal.
    let outcome = |text: &str| {
        // strace may be gone a little before the process that it killed is.
        let mut tries = 0;
        let file = loop {
            match MappedFile::open(&traced.path) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries < 100 => {
                    tries += 1;
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                file => break file.unwrap(),
            }
        };
        let doc = file.doc().unwrap().validate().unwrap();
        let lap = doc.pointer("/laps/3").unwrap().as_i64().unwrap();
        let length = doc.pointer("/event").unwrap().as_str().unwrap().len() as i64;
        let whole = if lap == 3 { 12 } else { lap * 100 };
        assert_eq!(length, whole, "{text}");
        let least = [200, 100].into_iter().find(|lap| text.contains(&format!("committed {lap}")));
        assert!(lap >= least.unwrap_or(3), "{lap}: {text}");
        lap
    };
    if traced.run("trace=fdatasync").is_none_or(|text| outcome(&text) != 200) {
        return println!("skipped: strace does not work here");
    }
    assert_eq!(traced.calls("fdatasync").len(), 4, "two syncs for each commit");
    let (mut seen, mut runs) = (std::collections::BTreeSet::new(), 0);
    let (truncate, map) = match cfg!(target_pointer_width = "64") {
        true => ("ftruncate", "mmap"),
        false => ("ftruncate64", "mmap2"),
    };
    for call in ["fdatasync", "pwrite64", "write", truncate, "fallocate", "madvise", map] {
        let count = traced.calls(call).len();
        assert!(count > 0, "{call}");
        // Memory is mapped many times before the file is, and a thread needs its stack.
        let (first, kills_only) = if call == map { (count - 4, true) } else { (1, false) };
        for when in first..=count {
            for fault in faults() {
                if kills_only && fault != "signal=KILL" {
                    continue;
                }
                let text = traced.run(&format!("inject={call}:{fault}:when={when}")).unwrap();
                seen.insert(outcome(&text));
                runs += 1;
            }
        }
    }
    println!("{runs} runs");
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [3, 100, 200]);
}

/// What the child of [`a_new_file_is_whole_whatever_happens`] does.
#[test]
#[ignore = "run by a_new_file_is_whole_whatever_happens"]
fn one_write() {
    let Some(path) = std::env::var_os("LIVEBUF_TEST_FILE").map(PathBuf::from) else { return };
    match mapped::write(&path, laps(2000).as_bytes()) {
        Ok(()) => println!("written"),
        Err(error) => println!("failed: {error}"),
    }
}

#[test]
fn a_new_file_is_whole_whatever_happens() {
    let traced = Traced::new("one_write");
    let (old, new) = (laps(1000).to_vec(), laps(2000).to_vec());
    if traced.run("trace=fsync").is_none_or(|_| fs::read(&traced.path).unwrap() != new) {
        return println!("skipped: strace does not work here");
    }
    let calls = traced.calls("fsync,rename").join(" ");
    let (first, rename, last) =
        (calls.find("fsync("), calls.find("rename("), calls.rfind("fsync("));
    assert!(first.is_some() && first < rename && rename < last, "{calls}");
    let mut seen = [0, 0];
    for call in ["fsync", "rename", "write", "flock", "fchmod"] {
        for when in 1..=traced.calls(call).len() {
            for fault in faults() {
                let text = traced.run(&format!("inject={call}:{fault}:when={when}")).unwrap();
                let found = fs::read(&traced.path).unwrap();
                assert!(found == old || found == new, "{call} {when} {fault}: {text}");
                assert!(!text.contains("written") || found == new, "{call} {when} {fault}: {text}");
                seen[(found == new) as usize] += 1;
                let left = traced.place.names();
                let left: Vec<_> = left.iter().filter(|name| name.ends_with(".tmp")).collect();
                assert!(
                    left.is_empty() || fault == "signal=KILL",
                    "{call} {when} {fault}: {left:?}"
                );
                for name in left {
                    fs::remove_file(traced.place.0.join(name)).unwrap();
                }
            }
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// What the child of [`killed_sessions_leave_whole_documents`] does until it is killed.
#[test]
#[ignore = "run by killed_sessions_leave_whole_documents"]
fn edit_until_killed() {
    let Some(path) = std::env::var_os("LIVEBUF_TEST_FILE").map(PathBuf::from) else { return };
    let mut edit = FileEdit::open(&path).unwrap();
    edit.editor().validate().unwrap();
    let mut count = edit.editor().doc().pointer("/count").unwrap().unwrap().as_i64().unwrap();
    println!("ready");
    loop {
        count += 1;
        edit.editor().set_pointer("/count", count).unwrap();
        for index in [count % 100, (count * 7) % 100, 99] {
            edit.editor().set_pointer(&format!("/laps/{index}"), count).unwrap();
        }
        let text = "x".repeat((count * 7919 % 30_000) as usize);
        edit.editor().set_pointer("/event", &*text).unwrap();
        if count % 5 == 0 {
            edit.editor().compact().unwrap();
        }
        edit.commit().unwrap();
        if count % 11 == 0 {
            drop(edit);
            edit = FileEdit::open(&path).unwrap();
            edit.editor().validate().unwrap();
        }
    }
}

/// A process that was killed left files invalid that it edited in place; one in a commit
/// leaves them old or new. `LIVEBUF_LONG=1` kills for longer.
#[test]
fn killed_sessions_leave_whole_documents() {
    use std::io::BufRead;
    let place = Place::new("killed");
    let mut doc = laps(100);
    doc.set_pointer("/count", 0).unwrap();
    let path = place.file("laps.lbuf", doc.as_bytes());
    let rounds = if std::env::var_os("LIVEBUF_LONG").is_some() { 3000 } else { 40 };
    let (mut last, mut recovered) = (0, 0);
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "mapped::edit_until_killed", "--ignored", "--nocapture"])
            .env("LIVEBUF_TEST_FILE", &path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let output = io::BufReader::new(child.stdout.take().unwrap());
        assert!(output.lines().any(|line| line.unwrap().contains("ready")), "round {round}");
        let wait = std::time::Duration::from_micros(round % 50 * 400);
        std::thread::sleep(wait);
        child.kill().unwrap();
        child.wait().unwrap();
        // Through the journal where there is one.
        let bytes = fs::read(&path).unwrap();
        let file = MappedFile::open(&path).unwrap();
        recovered += u64::from(file.as_bytes().len() != bytes.len());
        let doc = file.doc().unwrap().validate().unwrap();
        let count = doc.pointer("/count").unwrap().as_i64().unwrap();
        assert!(count >= last, "round {round}: {count} after {last}");
        if count > 0 {
            // All of one commit, or nothing of it.
            assert_eq!(doc.pointer("/laps/99").unwrap().as_i64(), Some(count), "round {round}");
            let text = doc.pointer("/event").unwrap();
            let length = text.as_str().unwrap().len() as i64;
            assert_eq!(length, count * 7919 % 30_000, "round {round}");
        }
        last = count;
    }
    assert!(last > rounds as i64, "{last} commits: too few to say anything");
    println!("{rounds} kills, {last} commits, {recovered} recoveries");
    assert_eq!(place.names(), ["laps.lbuf"]);
}

#[test]
fn a_file_renamed_over_while_waiting_for_the_lock_is_not_edited() {
    let place = Place::new("renamed");
    let path = place.file("laps.lbuf", laps(5).as_bytes());
    let first = FileEdit::open(&path).unwrap();
    let other = place.file("other.lbuf", laps(6).as_bytes());
    fs::rename(&other, &path).unwrap();
    // The old file is still locked, the one with the name is not.
    let mut edit = FileEdit::open(&path).unwrap();
    assert_eq!(edit.editor().doc().pointer("/laps").unwrap().unwrap().len().unwrap(), Some(6));
    drop(first);
}

/// What the child of [`a_full_disk_is_an_error`] does, under a limit of file sizes.
#[test]
#[ignore = "run by a_full_disk_is_an_error"]
fn fill_the_disk() {
    // Run by itself (`--ignored`) it has no limit to meet.
    let Some(place) = std::env::var_os("LIVEBUF_TEST_PLACE").map(PathBuf::from) else { return };
    let path = place.join("laps.lbuf");
    let before = fs::read(&path).unwrap();

    let mut editor = Editor::open_unvalidated(MappedStorage::open(&path).unwrap()).unwrap();
    editor.validate().unwrap();
    let mut pushed = 0;
    let error = loop {
        match editor.set_pointer("/laps/-", pushed) {
            Ok(_) => pushed += 1,
            Err(error) => break error,
        }
        assert!(pushed < 1_000_000, "no limit was met");
    };
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.detail(), 27, "EFBIG");
    editor.doc().validate().unwrap();
    assert!(pushed > 1000);
    let used = editor.as_bytes().len() as u64;
    editor.into_storage().finish(used).unwrap();

    fs::write(&path, &before).unwrap();
    let mut edit = FileEdit::open(&path).unwrap();
    edit.editor().validate().unwrap();
    let text = "x".repeat(200_000);
    let error = edit.editor().set_pointer("/text", &*text).unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Io, 27));
    drop(edit);
    assert_eq!(fs::read(&path).unwrap(), before);

    // Room for the file, but not for its journal.
    let mut edit = FileEdit::open(&path).unwrap();
    edit.editor().validate().unwrap();
    for round in 0..10 {
        edit.editor().set_pointer(&format!("/{round}"), &*"x".repeat(2000)).unwrap();
    }
    for lap in 0..5000 {
        edit.editor().set_pointer(&format!("/laps/{lap}"), -1).unwrap();
    }
    let error = edit.commit().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert!(edit.editor().storage().changed().0 > 0, "the changes are still there");
    drop(edit);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_full_disk_is_an_error() {
    let place = Place::new("full");
    place.file("laps.lbuf", laps(5000).as_bytes());
    let limit = "trap '' XFSZ; ulimit -f 160; exec \"$0\" --exact mapped::fill_the_disk --ignored";
    let output = Command::new("sh")
        .args(["-c", limit])
        .arg(std::env::current_exe().unwrap())
        .env("LIVEBUF_TEST_PLACE", &place.0)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

/// Writes into a file, as another process would, when an edit begins to write.
struct Meddler {
    file: fs::File,
    at: Option<u64>,
}

impl livebuf::Listener for Meddler {
    fn will_change(&mut self, _: &[u8], _: u64, _: u64) {
        if let Some(at) = self.at.take() {
            std::os::unix::fs::FileExt::write_at(&self.file, &[0xFF], at).unwrap();
        }
    }
}

#[test]
fn text_that_changes_while_it_is_copied_ends_the_edit() {
    let place = Place::new("meddler");
    let ascii = "x".repeat(300);
    let run: Vec<String> = (0..200).map(|row| format!("ü text {row} of a run")).collect();
    let texts: [(DocBuf, &[u8]); 6] = [
        (json!(["a text of more than seven bytes"]), b"a text"),
        (json!({"a key of more than seven bytes": 1}), b"a key"),
        (json!({"x": "short", "y": [1]}), b"short"),
        (json!({ascii.as_str(): 1, "other": 2}), b"other"),
        (json!([{"x": run.clone()}]), "ü text 70".as_bytes()),
        (livebuf::to_doc(&["one of few texts", "another of them"].repeat(40)).unwrap(), b"one of"),
    ];
    for (source, found) in texts {
        let path = place.file("source.lbuf", source.as_bytes());
        let at = source.as_bytes().windows(found.len()).position(|part| part == found).unwrap();
        let mapped = MappedFile::open(&path).unwrap();
        let view = mapped.doc().unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::object(1)).unwrap().unwrap();
        doc.listen(Meddler { file, at: Some(at as u64) });
        let error = doc.set(root, "copy", view.root()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::BadText | ErrorKind::Broken), "{error}");
        assert!(!doc.is_trusted() && doc.valid().is_err());
        assert_eq!(doc.set(root, "next", 1).unwrap_err().kind(), ErrorKind::Broken);
    }
}

/// The same where the copy becomes a part of a run of texts.
#[test]
fn text_that_changes_while_it_joins_a_run_ends_the_edit() {
    let place = Place::new("run-meddler");
    let source = json!([{"x": "a text of more than seven bytes"}]);
    let at = source.as_bytes().windows(6).position(|part| part == b"a text").unwrap();
    let path = place.file("source.lbuf", source.as_bytes());
    let mapped = MappedFile::open(&path).unwrap();
    let view = mapped.doc().unwrap();
    let row =
        |row: u32| std::collections::BTreeMap::from([("x", format!("ü text {row} of a run"))]);
    let mut doc = livebuf::to_doc(&(0..200).map(row).collect::<Vec<_>>()).unwrap();
    let root = doc.root_id().unwrap();
    let table = doc.root().as_array().unwrap().unwrap().table().unwrap().unwrap();
    let column = table.column("x").unwrap().unwrap().column_type();
    assert_eq!(column, livebuf::ColumnType::TextRun);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    doc.listen(Meddler { file, at: Some(at as u64) });
    let error = doc.push(root, view.root().get(0).unwrap().unwrap()).unwrap_err();
    assert!(!doc.is_trusted() && doc.valid().is_err(), "{error}");
    assert_eq!(doc.push(root, 1).unwrap_err().kind(), ErrorKind::Broken);
}
