//! A failed edit changes no used byte: every edit in fixed buffers of every spare size,
//! and in storage that refuses to grow at every point, until it succeeds. And a transaction that
//! is rolled back leaves the bytes as they were, whether the edit was done or not.

use crate::changes::{Edit, apply, choose, equal, perform, pick, read};
use crate::input::Input;
use crate::samples;
use crate::tree::Tree;
use livebuf::{Editor, Error, ErrorKind, Result, Storage};

/// What lies behind the document.
const DIRT: u8 = 0xA5;

/// What an input met.
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// The edit's name, and of what kind its container is.
    pub edit: &'static str,
    /// Record, map, array, row, and so on.
    pub container: &'static str,
    /// How often it was refused for want of room.
    pub refused: usize,
}

/// Decodes a document and one edit of it from any bytes, and tries that with 0, 8, 16 …
/// bytes of room: by an editor that trusts the document, and by one that does not. Then
/// in storage whose first, second, third … growth fails.
///
/// # Panics
/// Where a refused edit changed something, or a done one is not what it should be.
pub fn run(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let (mut tree, doc) = samples::grown(u64::from(input.word()));
    if !tree.is_container() {
        return Met::default();
    }
    let path = pick(&tree, &mut input);
    let edit = choose(&tree, &path, &mut input);
    let container = container(&doc.doc(), &path);
    let mut met = Met { edit: edit.name(), container, refused: 0 };
    crate::note(|| format!("{container} at {path:?}: {edit:?}"));
    apply(&mut tree, &path, &edit);
    for trusted in [true, false] {
        let mut room = 0;
        while !within(doc.as_bytes(), room, trusted, &path, &edit, &tree) {
            met.refused += 1;
            // Fine steps where an edit's parts differ, coarse ones for large values.
            room += if room < 2048 { 8 } else { 8 * (1 + input.below(16)) };
        }
    }
    for grows in 0.. {
        if growing(doc.as_bytes(), grows, &path, &edit, &tree) {
            break;
        }
        met.refused += 1;
    }
    met
}

/// The kind of container at a path, for counts.
fn container(doc: &livebuf::Doc<'_>, path: &[String]) -> &'static str {
    let value = |path: &[String]| {
        doc.pointer(&crate::changes::pointer(path)).expect("sound").expect("there")
    };
    let here = value(path);
    let parent = path.split_last().map(|(_, parent)| value(parent));
    let in_column = parent.is_some_and(|parent| {
        let array = parent.as_array().ok().flatten();
        array.is_some_and(|array| {
            matches!(format!("{:?}", array.column_type()).as_str(), "Struct" | "List")
        })
    });
    match (here.as_object(), here.as_array()) {
        (Ok(Some(object)), _) if object.is_map() => "map",
        (Ok(Some(_)), _) if in_column => "row",
        (Ok(Some(_)), _) => "record",
        (_, Ok(Some(_))) if in_column => "listed array",
        (_, Ok(Some(array))) => match format!("{:?}", array.column_type()).as_str() {
            "Struct" => "table",
            "List" => "list",
            "Cells" => "cells",
            _ => "array",
        },
        _ => "scalar",
    }
}

/// The edit in a buffer with so much room: it is done right, or nothing has changed.
/// Whether room was enough.
///
/// # Panics
/// Where neither holds.
pub fn within(
    bytes: &[u8],
    room: usize,
    trusted: bool,
    path: &[String],
    edit: &Edit,
    expected: &Tree,
) -> bool {
    let mut buffer = bytes.to_vec();
    buffer.resize(bytes.len() + room, DIRT);
    let mut editor = Editor::open_unvalidated(&mut buffer[..]).expect("a document");
    if trusted {
        editor.validate().expect("valid");
    }
    let name = || format!("{room} bytes of room, trusted {trusted}, {path:?}: {edit:?}");
    let enough = attempt(&mut editor, trusted, path, edit, expected, &name);
    let behind = bytes.len().max(editor.as_bytes().len());
    let clean = editor.storage().bytes()[behind..].iter().all(|&byte| byte == DIRT || byte == 0);
    assert!(clean, "{}: wrote behind the document", name());
    enough
}

/// The same in storage that can grow `grows` times.
fn growing(bytes: &[u8], grows: usize, path: &[String], edit: &Edit, expected: &Tree) -> bool {
    let storage = Refusing { storage: bytes.to_vec(), grows };
    let mut editor = Editor::open_unvalidated(storage).expect("a document");
    let scratch = editor.validate_scratch();
    editor.validate_in(&mut vec![0; scratch]).expect("valid");
    let name = || format!("{grows} growths, {path:?}: {edit:?}");
    attempt(&mut editor, true, path, edit, expected, &name)
}

/// The edit in a transaction that is rolled back, whether it was done or not.
fn taken_back<S: Storage>(
    editor: &mut Editor<S>,
    path: &[String],
    edit: &Edit,
    expected: &Tree,
    name: &dyn Fn() -> String,
) {
    // What could not be hung cannot be discarded either where the log is full.
    let hangs = matches!(edit, Edit::Move(..) | Edit::Hang(..) | Edit::Rotate(_));
    if (hangs && S::FIXED) || editor.begin_transaction().is_err() {
        return;
    }
    let before = editor.as_bytes().to_vec();
    let done = perform(editor, path, edit, &mut |_| {});
    if done.is_ok() {
        let found = read(editor);
        let same = equal(&found, expected);
        assert!(same, "{}: within a transaction\n{found:?}\n{expected:?}", name());
    }
    editor.rollback_transaction().expect("open");
    assert!(before == editor.as_bytes(), "{}: {done:?}, then other bytes", name());
}

fn attempt<S: Storage>(
    editor: &mut Editor<S>,
    trusted: bool,
    path: &[String],
    edit: &Edit,
    expected: &Tree,
    name: &dyn Fn() -> String,
) -> bool {
    taken_back(editor, path, edit, expected, name);
    // Detaching is an edit of its own.
    let (mut before, mut halfway) = (editor.as_bytes().to_vec(), false);
    let done = perform(editor, path, edit, &mut |bytes| {
        before = bytes.to_vec();
        halfway = true;
    });
    let valid = editor.doc().validate().map(drop);
    valid.unwrap_or_else(|error| panic!("{}: {done:?}, then {error:?}", name()));
    match done {
        Ok(()) => {
            let found = read(editor);
            assert!(equal(&found, expected), "{}:\n{found:?}\n{expected:?}", name());
            true
        }
        Err(error) => {
            // What could not be hung was discarded since.
            let hangs = matches!(edit, Edit::Move(..) | Edit::Hang(..) | Edit::Rotate(_));
            let same = before == editor.as_bytes() || (hangs && halfway);
            assert!(same, "{}: {error:?}, but used bytes changed", name());
            match error.kind() {
                ErrorKind::NoSpace => {
                    assert!(error.detail() > 0, "{}: nothing is missing", name());
                    false
                }
                ErrorKind::Io => false,
                kind => {
                    assert!(!trusted && kind == ErrorKind::NotValidated, "{}: {error:?}", name());
                    true
                }
            }
        }
    }
}

/// Storage that grows exactly as it is asked, a few times, and then refuses once.
struct Refusing {
    storage: Vec<u8>,
    grows: usize,
}

impl Storage for Refusing {
    const ZEROED: bool = true;

    fn bytes(&self) -> &[u8] {
        &self.storage
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.storage
    }

    fn grow(&mut self, capacity: u64) -> Result<()> {
        if self.grows == 0 {
            self.grows = usize::MAX;
            return Err(Error::with_detail(ErrorKind::Io, 0, 28));
        }
        self.grows -= 1;
        self.storage.resize(capacity as usize, 0);
        Ok(())
    }
}
