//! Functions are inlined by force only if the page of that decision says what it gains: its table
//! has each file with such functions, and how many.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The decision, with the table.
const PAGE: &str = "docs/decisions/2026-11-26-inlining-by-force.md";

/// Roots of sources, from the repository's own on. In the table, paths of the core begin in `src`.
const SOURCES: [(&str, &str); 3] = [
    ("crates/livebuf/src/", ""),
    ("crates/livebuf-json/src/", "livebuf-json/"),
    ("bindings/c/src/", "bindings/c/"),
];

/// How often a folder's files ask for it.
fn forced(folder: &Path, name: &str, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{name}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            forced(&entry.path(), &format!("{name}/"), found);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).unwrap();
            // In the build for small machines one function is, which is not for speed.
            let count = text.matches("inline(always)").count()
                - text.matches("feature = \"small\", inline(always)").count();
            if count > 0 {
                found.insert(name, count);
            }
        }
    }
}

#[test]
fn forced_inlining_is_measured() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    for (folder, prefix) in SOURCES {
        forced(&root.join(folder), prefix, &mut found);
    }
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.split(" | ");
        let name = cells.next()?.strip_prefix("| `")?.strip_suffix('`')?;
        let count = cells.next()?.parse().ok()?;
        assert!(cells.next().is_some_and(|gain| gain.contains('.')), "{name}: no figure");
        Some((name.to_owned(), count))
    });
    assert_eq!(rows.collect::<BTreeMap<String, usize>>(), found);
}
