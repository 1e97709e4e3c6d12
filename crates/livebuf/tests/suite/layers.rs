//! The layers of the crate: each file uses its own and those below it, never one above. And
//! files of one layer that name each other do so in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first, as `lib.rs` lists them.
const LAYERS: [&str; 10] = [
    "error",
    "format",
    "store",
    "block",
    "view",
    "encode",
    "edit",
    "serde_support",
    "macros",
    "mapped",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// First and second name of the paths that begin with `crate::`, outside of comments and
/// macros' bodies.
fn uses(text: &str) -> impl Iterator<Item = [&str; 2]> {
    let word =
        |path: &str| path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(move |line| {
        line.match_indices("crate::").filter_map(move |(at, name)| {
            let before = line[..at].chars().next_back();
            let path = &line[at + name.len()..];
            let (first, rest) = path.split_at(word(path));
            let second = rest.strip_prefix("::").map_or("", |rest| &rest[..word(rest)]);
            (!before.is_some_and(|c| c == '$' || c.is_alphanumeric())).then_some([first, second])
        })
    })
}

/// The files of the crate but for tests, as paths below `src`.
fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let text = |file: &PathBuf| {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        (path, fs::read_to_string(file).unwrap())
    };
    files.iter().map(text).filter(|(path, _)| !path.ends_with("tests.rs")).collect()
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|&layer| layer == name)
}

#[test]
fn nothing_is_used_from_a_layer_above() {
    let (mut back, mut seen) = (Vec::new(), 0);
    for (path, text) in files() {
        let own = path.split('/').next().unwrap().trim_end_matches(".rs");
        if own == "lib" {
            continue;
        }
        let level = layer(own).unwrap_or_else(|| panic!("{path} is in no layer"));
        for [name, _] in uses(&text) {
            seen += 1;
            match layer(name) {
                Some(used) if used <= level => {}
                Some(_) => back.push(format!("{path} uses {name}")),
                None => back.push(format!("{path} uses crate::{name}, which is no layer")),
            }
        }
    }
    assert!(seen > 200, "{seen} uses");
    assert!(back.is_empty(), "{back:#?}");
}

/// Of the layers below the views.
#[test]
fn no_blocks_use_each_other_in_a_circle() {
    let mut used = BTreeMap::<String, BTreeSet<String>>::new();
    for (path, text) in files() {
        let names: Vec<_> = path.trim_end_matches(".rs").split('/').collect();
        if let [layer @ ("format" | "store" | "block"), file, ..] = names[..]
            && file != "mod"
        {
            let below = uses(&text).filter(|[first, second]| *first == layer && *second != file);
            let below = below.map(|[layer, file]| format!("{layer}/{file}"));
            used.entry(format!("{layer}/{file}")).or_default().extend(below);
        }
    }
    assert!(used.len() > 12, "{used:?}");
    // What uses nothing that is left can go, again and again.
    while let Some(free) = used.iter().find(|(_, below)| below.is_empty()).map(|(file, _)| file) {
        let free = free.clone();
        used.remove(&free);
        for below in used.values_mut() {
            below.remove(&free);
        }
    }
    assert!(used.is_empty(), "a circle: {used:#?}");
}
