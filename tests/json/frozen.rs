//! Documents, logs and deltas of earlier days must be read to the same values, and edited.
//!
//! `testdata/freeze.py` makes a folder of them. What is in `testdata/frozen` is never made again.

use livebuf::mapped::{FileEdit, MappedFile};
use livebuf::{Delta, DocBuf, Editor, ErrorKind};
use livebuf_json::{NonFinite, PrintOptions, to_string_with};
use livebuf_log::{Log, LogReader};
use serde_json::{Value as Model, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The frozen files with a name's ending, each with a copy in a folder of the test's own.
fn frozen(ending: &str) -> (TempDir, Vec<(PathBuf, PathBuf)>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/frozen");
    let place = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for day in fs::read_dir(folder).unwrap() {
        for file in fs::read_dir(day.unwrap().path()).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|extension| extension == ending) {
                let copy = place.path().join(format!("{}.{ending}", files.len()));
                fs::copy(&file, &copy).unwrap();
                files.push((file, copy));
            }
        }
    }
    assert!(!files.is_empty(), "no files *.{ending} in testdata/frozen");
    (place, files)
}

fn printed(doc: livebuf::Doc<'_>) -> String {
    to_string_with(doc.root(), &PrintOptions::new().non_finite(NonFinite::Null)).unwrap()
}

/// The pointers to all values that are no containers.
fn scalars(value: &Model, at: &str, found: &mut Vec<String>) {
    let name = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Model::Object(members) => {
            members.iter().for_each(|(key, value)| scalars(value, &name(key), found));
        }
        Model::Array(elements) => {
            let parts = elements.iter().enumerate();
            parts.for_each(|(index, value)| scalars(value, &format!("{at}/{index}"), found));
        }
        _ => found.push(at.to_owned()),
    }
}

/// Sets up to 40 of the values, and adds a member or an element to the root. The model follows.
fn edit(editor: &mut Editor<impl livebuf::Storage>, model: &mut Model) {
    let mut pointers = Vec::new();
    scalars(model, "", &mut pointers);
    let stride = pointers.len().div_ceil(40);
    for (number, pointer) in pointers.iter().step_by(stride.max(1)).enumerate() {
        let old = model.pointer_mut(pointer).unwrap();
        let (set, new) = match number % 4 {
            // A tensor of floats has no integers.
            0 if old.is_f64() => (editor.set_pointer(pointer, 0.5), json!(0.5)),
            0 => (editor.set_pointer(pointer, number as u64), json!(number)),
            1 => (editor.set_pointer(pointer, "not inline, this"), json!("not inline, this")),
            2 => (editor.set_pointer(pointer, ()), Model::Null),
            _ => (editor.set_pointer(pointer, true), json!(true)),
        };
        match set {
            Ok(_) => *old = new,
            Err(error) => assert_eq!(error.kind(), ErrorKind::TensorMismatch, "{pointer}"),
        }
    }
    match model {
        Model::Object(members) => {
            editor.set_pointer("/of a later day", 1).unwrap();
            members.insert("of a later day".to_owned(), json!(1));
        }
        Model::Array(elements) => {
            editor.set_pointer("/-", "of a later day").unwrap();
            elements.push(json!("of a later day"));
        }
        _ => {}
    }
}

#[test]
fn documents_have_the_same_values_and_are_edited() {
    let (_place, files) = frozen("lbuf");
    assert!(files.len() >= 70);
    for (file, copy) in files {
        let name = file.display();
        let text = fs::read_to_string(file.with_extension("json")).unwrap();
        let mapped = MappedFile::open(&copy).unwrap();
        let doc = mapped.doc().unwrap();
        doc.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(printed(doc), text.trim_end(), "{name}");
        drop(mapped);

        let mut model: Model = serde_json::from_str(&text).unwrap();
        let mut file = FileEdit::open(&copy).unwrap();
        file.editor().validate().unwrap();
        edit(file.editor(), &mut model);
        file.commit().unwrap();
        drop(file);
        let mapped = MappedFile::open(&copy).unwrap();
        let doc = mapped.doc().unwrap();
        doc.validate().unwrap_or_else(|error| panic!("{name}, edited: {error}"));
        assert_eq!(serde_json::from_str::<Model>(&printed(doc)).unwrap(), model, "{name}");
    }
}

#[test]
fn deltas_lead_to_the_same_bytes() {
    for (file, _) in frozen("delta").1 {
        let read = |ending| fs::read(file.with_extension(ending)).unwrap();
        let delta = Delta::from_bytes(&read("delta")).unwrap();
        let mut doc = DocBuf::open(&read("base")).unwrap();
        delta.apply_checked(&mut doc).unwrap();
        assert_eq!(doc.as_bytes(), read("after"), "{}", file.display());
        doc.validate().unwrap();
        if delta.keeps_old() {
            delta.invert().unwrap().apply(&mut doc).unwrap();
            let base = DocBuf::open(&read("base")).unwrap();
            assert_eq!(printed(doc.doc()), printed(base.doc()), "{}", file.display());
        }
    }
}

#[test]
fn logs_have_the_same_rows_and_are_written_on() {
    let (_place, files) = frozen("lblog");
    for (file, copy) in files {
        let rows = |path: &Path| -> Vec<Model> {
            let reader = LogReader::open(path).unwrap();
            let rows = reader.rows(..).map(|row| {
                let text = livebuf_json::to_string(row.unwrap().value().unwrap()).unwrap();
                serde_json::from_str(&text).unwrap()
            });
            rows.collect()
        };
        let text = fs::read_to_string(file.with_extension("ndjson")).unwrap();
        let mut wanted: Vec<Model> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows(&copy), wanted, "{}", file.display());
        let row = livebuf::json!({"of": "a later day"});
        Log::open(&copy).unwrap().append(&row).unwrap();
        wanted.push(json!({"of": "a later day"}));
        assert_eq!(rows(&copy), wanted, "{}", file.display());
    }
}
