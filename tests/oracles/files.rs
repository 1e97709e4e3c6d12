//! Long random edits of large documents, with tables and without, against a plain tree.
//!
//! `LIVEBUF_DATA` names a folder of JSON files, in place of `../shared/data`; where there is
//! none, a generated document must do. `LIVEBUF_STEPS` says how many edits.

use livebuf::{Doc, DocBuf};
use livebuf_fuzz::changes::{self, Edit, Given, How};
use livebuf_fuzz::input::{Input, Random};
use livebuf_fuzz::samples;
use livebuf_fuzz::tree::Tree;
use std::path::PathBuf;

fn steps() -> usize {
    let few = if std::env::var_os("LIVEBUF_ALL").is_some() { 500 } else { 150 };
    std::env::var("LIVEBUF_STEPS").map_or(few, |steps| steps.parse().expect("a number"))
}

fn files() -> Vec<(String, Tree)> {
    let generated = Tree::Object(
        (0..64).map(|seed| (format!("part {seed}"), samples::tree(seed))).collect(),
        false,
    );
    let mut all = vec![("generated".to_owned(), generated)];
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");
    let folder = std::env::var_os("LIVEBUF_DATA").map_or(PathBuf::from(beside), PathBuf::from);
    let Ok(entries) = folder.read_dir() else {
        println!("skipped: real files, since {} is not there", folder.display());
        return all;
    };
    let mut paths: Vec<_> = entries.flatten().collect();
    paths.sort_by_key(|entry| entry.path());
    for path in paths.into_iter().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "json") {
            let doc = livebuf_json::from_slice(&std::fs::read(&path).expect("readable"));
            let tree = Tree::of_valid(doc.expect("JSON").valid().expect("ours").root());
            all.push((path.file_name().expect("a name").to_string_lossy().into_owned(), tree));
        }
    }
    all
}

/// A part of the file as it was: what is stored is like what is there.
fn donor(original: &Tree, input: &mut Input<'_>) -> Option<Given> {
    let path = changes::pick(original, input);
    let tree = changes::at(original, &path)?.clone();
    let how = input.pick(&[How::Tables, How::Records, How::Part, How::Literal]);
    (tree.count() < 400).then_some(Given { tree, how })
}

fn run(name: &str, original: &Tree, tables: bool, seed: u64, steps: usize) {
    let mut tree = original.clone();
    let mut doc = if tables { tree.to_document() } else { tree.to_records() };
    let most = 2 * tree.count() + 20_000;
    let mut random = Random(seed);
    let (mut count, mut step) = (tree.count(), 0);
    while step < steps {
        let bytes = random.bytes(400);
        let mut input = Input::new(&bytes);
        let path = changes::pick(&tree, &mut input);
        let mut edit = changes::choose(&tree, &path, &mut input);
        let small = |path: &[String], tree: &Tree| {
            changes::at(tree, path).is_some_and(|tree| tree.count() < 200)
        };
        edit = match edit {
            // What would end the file soon is left out; copying the whole is rare.
            Edit::Root(_) => continue,
            Edit::Compact if !step.is_multiple_of(40) => continue,
            Edit::Clear | Edit::Truncate(_) if !small(&path, &tree) => continue,
            edit if input.one_in(3) => match (edit, donor(original, &mut input)) {
                (Edit::Set(key, _), Some(given)) => Edit::Set(key, given),
                (Edit::Push(_), Some(given)) => Edit::Push(given),
                (Edit::Insert(at, _), Some(given)) => Edit::Insert(at, given),
                (Edit::Element(at, _), Some(given)) => Edit::Element(at, given),
                (edit, _) => edit,
            },
            edit => edit,
        };
        if count > most && edit.how().is_some() {
            continue;
        }
        let gone = |part: &str| !small(&[path.as_slice(), &[part.to_owned()]].concat(), &tree);
        let large = match &edit {
            Edit::Remove(key) | Edit::Discard(key) | Edit::Set(key, _) => gone(key),
            Edit::RemovePointer(to) | Edit::SetPointer(to, _) => !small(to, &tree),
            Edit::Take(at) | Edit::Element(at, _) => gone(&at.to_string()),
            Edit::Move(_, to) => gone(to),
            _ => false,
        };
        if large && !input.one_in(50) {
            continue;
        }
        let name =
            || format!("{name}, tables {tables}, seed {seed}, step {step}, {path:?}: {edit:?}");
        changes::perform(&mut doc, &path, &edit, &mut |_| {})
            .unwrap_or_else(|error| panic!("{}: {error:?}", name()));
        changes::apply(&mut tree, &path, &edit);
        // Near the edit after each step, the whole now and then.
        let near = doc.doc().pointer(&changes::pointer(&path)).expect("sound");
        let expected = changes::at(&tree, &path);
        if let (Some(near), Some(expected)) = (near, expected)
            && (step.is_multiple_of(64) || expected.count() < 300)
        {
            let mut budget = livebuf_fuzz::tree::Budget::AMPLE;
            let found = Tree::read(near, &mut budget).expect("readable");
            assert!(changes::equal(&found, expected), "{}", name());
        }
        if step.is_multiple_of(1_000) || step + 1 == steps {
            whole(&doc, &tree, &name);
            count = tree.count();
        }
        step += 1;
    }
}

fn whole(doc: &DocBuf, tree: &Tree, name: &dyn Fn() -> String) {
    let valid: Doc<'_, _> = doc.doc().validate().unwrap_or_else(|error| {
        panic!("{}: {error:?}", name());
    });
    assert!(changes::equal(&Tree::of_valid(valid.root()), tree), "{}", name());
    // By other code as well: printed, and read by serde_json.
    if let Ok(text) = livebuf_json::to_string(valid.root()) {
        let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let direct: serde_json::Value = livebuf::from_doc(valid).expect("sound");
        assert_eq!(found.as_array().map(Vec::len), direct.as_array().map(Vec::len), "{}", name());
        let expected = livebuf_json::to_string(tree.to_records().doc().root()).expect("prints");
        let expected: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
        assert!(found == expected, "{}: printed", name());
    }
}

#[test]
fn long_edits() {
    for (number, (name, tree)) in files().into_iter().enumerate() {
        for tables in [true, false] {
            let begun = std::time::Instant::now();
            run(&name, &tree, tables, number as u64, steps());
            println!("{name}, tables {tables}: {} steps in {:.1?}", steps(), begun.elapsed());
        }
    }
}
