//! The layers of the crate: each file uses its own and those below it, never one above.

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

/// Paths that begin with `crate::` outside of comments and macros' bodies.
fn uses(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| {
        line.match_indices("crate::").filter_map(move |(at, name)| {
            let before = line[..at].chars().next_back();
            let path = &line[at + name.len()..];
            let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
            (!before.is_some_and(|c| c == '$' || c.is_alphanumeric())).then_some(&path[..end])
        })
    })
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|&layer| layer == name)
}

#[test]
fn nothing_is_used_from_a_layer_above() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let (mut back, mut seen) = (Vec::new(), 0);
    for file in files {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let own = path.split('/').next().unwrap().trim_end_matches(".rs");
        // Tests may use everything.
        if own == "lib" || path.ends_with("tests.rs") {
            continue;
        }
        let level = layer(own).unwrap_or_else(|| panic!("{path} is in no layer"));
        let text = fs::read_to_string(&file).unwrap();
        for name in uses(&text) {
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
