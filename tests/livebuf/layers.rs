//! The layers of the crates: each file of the core uses its own layer and those below it,
//! never one above. And no files use each other in a circle, in the core, in the crates
//! for patches and queries, in the command line tool, in the SQLite extension and in the
//! Python package.
//!
//! A file uses what its paths name: in `use` lines and in code, from `crate`, `super`, `self`
//! or a child module on. Text in comments and in strings names nothing. A `pub use` is no use
//! by itself: who names what it offers uses the file where that is defined.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The core's, lowest first, as `lib.rs` lists them.
const LAYERS: [&str; 12] = [
    "error",
    "format",
    "store",
    "block",
    "view",
    "encode",
    "edit",
    "change",
    "serde_support",
    "macros",
    "mapped",
    "instances",
];

/// Crates that are looked through for circles.
const CORE: Files = Files {
    root: "crates/livebuf/src",
    least: 40,
    knots: &[
        // Values answer objects and arrays, which answer values; keys look into all three, and
        // what to match on holds them.
        &["view", "view/array", "view/key", "view/kind", "view/object"],
    ],
};
const CLI: Files = Files { root: "crates/livebuf-cli/src", least: 40, knots: &[] };
const PATCH: Files = Files { root: "crates/livebuf-patch/src", least: 10, knots: &[] };
const QUERY: Files = Files { root: "crates/livebuf-query/src", least: 20, knots: &[] };
const SQLITE: Files = Files { root: "bindings/sqlite/src", least: 15, knots: &[] };
const DUCKDB: Files = Files { root: "bindings/duckdb/src", least: 10, knots: &[] };
const PYTHON: Files = Files { root: "bindings/python/src", least: 40, knots: &[] };

/// The sources of a crate.
struct Files {
    /// Where they are, from the root of the workspace on.
    root: &'static str,
    /// At least that many uses of modules by others are seen there.
    least: usize,
    /// Modules whose types hold or answer each other, so that they cannot but form a circle.
    knots: &'static [&'static [&'static str]],
}

/// The modules that each module's file uses. Modules are written `view/array`; the root is
/// the empty name. Files of tests are left out.
type Uses = BTreeMap<String, BTreeSet<String>>;

impl Files {
    fn uses(&self) -> Uses {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(self.root);
        let mut files = Vec::new();
        sources(&root, &mut files);
        let mut read = BTreeMap::new();
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            let path = file.strip_prefix(&root).unwrap().with_extension("");
            let mut module: Vec<String> =
                path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            module.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
            let tokens: TokenStream = fs::read_to_string(file).unwrap().parse().unwrap();
            let mut found = Source::default();
            found.read(tokens, &module);
            read.insert(module.join("/"), found);
        }
        let offered: BTreeMap<String, Vec<String>> =
            read.values().flat_map(|source| source.offered.clone()).collect();
        let module_of = |path: &[String], sure: usize| {
            let mut path = path.to_vec();
            // A name may be offered again by what offers it; circles of that do not compile. A
            // function of its module's name is no other module.
            while let Some((length, target)) = (1..=path.len()).find_map(|length| {
                let target = offered.get(&path[..length].join("/"))?;
                (!target.starts_with(&path[..length])).then_some((length, target))
            }) {
                path = [target, &path[length..]].concat();
            }
            let prefixes = (0..=path.len()).rev().map(|length| path[..length].join("/"));
            let found = prefixes.into_iter().find(|prefix| read.contains_key(prefix))?;
            let length = found.split('/').filter(|name| !name.is_empty()).count();
            (length >= sure).then_some(found)
        };
        let uses = read.iter().map(|(module, source)| {
            let mut used: BTreeSet<String> =
                source.named.iter().filter_map(|(path, sure)| module_of(path, *sure)).collect();
            // What a file offers it may use as well, by its bare name.
            for (name, target) in &source.offered {
                if source.words.contains(name.split('/').next_back().unwrap()) {
                    used.extend(module_of(target, 0));
                }
            }
            used.remove(module);
            (module.clone(), used)
        });
        uses.collect()
    }

    /// The modules of circles, each with those of them that it uses.
    fn circles(&self) -> Uses {
        let mut uses = self.uses();
        let total: usize = uses.values().map(BTreeSet::len).sum();
        assert!(total > self.least, "only {total} uses seen in {}", self.root);
        for name in self.knots.iter().copied().flatten() {
            assert!(uses.contains_key(*name), "{name} is no module any more");
        }
        for knot in self.knots {
            for (module, used) in &mut uses {
                if knot.contains(&module.as_str()) {
                    used.retain(|used| !knot.contains(&used.as_str()));
                }
            }
        }
        // What uses nothing that is left is in no circle, nor is what nothing left uses.
        loop {
            let left = uses.len();
            let used: BTreeSet<String> = uses.values().flatten().cloned().collect();
            uses.retain(|module, below| used.contains(module) && !below.is_empty());
            let modules: BTreeSet<String> = uses.keys().cloned().collect();
            uses.values_mut().for_each(|below| below.retain(|used| modules.contains(used)));
            if uses.len() == left {
                return uses;
            }
        }
    }
}

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

/// What a file names.
#[derive(Default)]
struct Source {
    /// Paths from the crate's root on. As many names at their beginning must be a module for
    /// the path to be one of ours: it may as well name another crate.
    named: Vec<(Vec<String>, usize)>,
    /// What `pub use` offers: by what path, and the path where it is from.
    offered: BTreeMap<String, Vec<String>>,
    /// Types and functions that it names without a path, its own among them.
    words: BTreeSet<String>,
}

impl Source {
    /// Adds what tokens of a module name.
    fn read(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let is_pub = tokens[..at].iter().rev().take(2).any(|token| is_word(token, "pub"));
            let is_use = is_word(&tokens[at], "use");
            match &tokens[at..] {
                [_, ..] if is_use => {
                    let end = |token: &TokenTree| is_punct(token, ';');
                    let length = tokens[at..].iter().position(end).unwrap_or(1);
                    let mut found = Vec::new();
                    paths(&tokens[at + 1..at + length], module, &mut found);
                    for Named { path, sure, name } in found {
                        match name {
                            Some(name) if is_pub && name != "_" => {
                                let offered = [module, &[name]].concat().join("/");
                                self.offered.insert(offered, path);
                            }
                            _ => self.named.push((path, sure)),
                        }
                    }
                    at += length;
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..]
                    if word == "mod" =>
                {
                    if name != "tests" {
                        self.read(body.stream(), &[module, &[name.to_string()]].concat());
                    }
                    at += 3;
                }
                [TokenTree::Group(group), ..] => {
                    self.read(group.stream(), module);
                    at += 1;
                }
                [TokenTree::Ident(word), rest @ ..] => {
                    let text = word.to_string();
                    let is_call = matches!(rest, [TokenTree::Group(_), ..])
                        && !tokens[..at]
                            .last()
                            .is_some_and(|t| is_punct(t, '.') || is_word(t, "fn"));
                    if is_call || text.starts_with(char::is_uppercase) {
                        self.words.insert(text);
                    }
                    if is_colons(rest) && !goes_on(&tokens[..at]) {
                        let mut found = Vec::new();
                        paths(&tokens[at..], module, &mut found);
                        self.named.extend(found.into_iter().map(|one| (one.path, one.sure)));
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }
}

/// A path from the crate's root on.
struct Named {
    path: Vec<String>,
    /// See [`Source::named`].
    sure: usize,
    /// The name that a `use` of it brings; none for `*`.
    name: Option<String>,
}

fn is_word(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word == wanted)
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_colons(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [one, two, ..] if is_punct(one, ':') && is_punct(two, ':'))
}

/// Whether a path before these tokens' end goes on behind it, or is a macro's `$crate`.
fn goes_on(before: &[TokenTree]) -> bool {
    before.last().is_some_and(|last| is_punct(last, '$'))
        || before.len() >= 2 && is_colons(&before[before.len() - 2..])
}

/// Adds the paths that begin with these tokens, in a module.
fn paths(tokens: &[TokenTree], module: &[String], found: &mut Vec<Named>) {
    let [TokenTree::Ident(word), rest @ ..] = tokens else { return };
    let (start, sure) = match word.to_string().as_str() {
        "crate" => (Vec::new(), 0),
        "self" => (module.to_vec(), module.len()),
        "super" => (module[..module.len().saturating_sub(1)].to_vec(), 0),
        name => ([module, &[name.to_owned()]].concat(), module.len() + 1),
    };
    if is_colons(rest) {
        tree(&rest[2..], start, sure, found);
    }
}

/// Adds the paths that begin with `start` and go on with these tokens, which follow `::`.
fn tree(tokens: &[TokenTree], mut start: Vec<String>, sure: usize, found: &mut Vec<Named>) {
    let mut name = None;
    match tokens {
        [TokenTree::Ident(word), rest @ ..] => {
            match word.to_string().as_str() {
                "super" => drop(start.pop()),
                "self" => {}
                word => start.push(word.to_owned()),
            }
            if is_colons(rest) {
                return tree(&rest[2..], start, sure, found);
            }
            name = match rest {
                [alias, TokenTree::Ident(name), ..] if is_word(alias, "as") => {
                    Some(name.to_string())
                }
                _ => start.last().cloned(),
            };
        }
        [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Brace => {
            let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
            for one in tokens.split(|token| is_punct(token, ',')) {
                if !one.is_empty() {
                    tree(one, start.clone(), sure, found);
                }
            }
            return;
        }
        _ => {}
    }
    found.push(Named { path: start, sure, name });
}

#[test]
fn nothing_is_used_from_a_layer_above() {
    let layer = |module: &str| {
        let first = module.split('/').next().unwrap();
        LAYERS.iter().position(|&layer| layer == first)
    };
    let (mut back, mut seen) = (Vec::new(), 0);
    for (module, used) in CORE.uses() {
        if module.is_empty() {
            continue;
        }
        let level = layer(&module).unwrap_or_else(|| panic!("{module} is in no layer"));
        for name in used {
            seen += 1;
            match layer(&name) {
                Some(used) if used <= level => {}
                Some(_) => back.push(format!("{module} uses {name}")),
                None => back.push(format!("{module} uses a name of the crate's root")),
            }
        }
    }
    assert!(seen > 150, "{seen} uses");
    assert!(back.is_empty(), "{back:#?}");
}

#[test]
fn no_files_of_the_core_use_each_other_in_a_circle() {
    assert_eq!(CORE.circles(), Uses::new());
}

#[test]
fn no_files_of_the_crate_for_patches_use_each_other_in_a_circle() {
    assert_eq!(PATCH.circles(), Uses::new());
}

#[test]
fn no_files_of_the_crate_for_queries_use_each_other_in_a_circle() {
    assert_eq!(QUERY.circles(), Uses::new());
}

#[test]
fn no_files_of_the_command_line_tool_use_each_other_in_a_circle() {
    assert_eq!(CLI.circles(), Uses::new());
}

#[test]
fn no_files_of_the_extensions_for_sql_use_each_other_in_a_circle() {
    assert_eq!(SQLITE.circles(), Uses::new());
    assert_eq!(DUCKDB.circles(), Uses::new());
}

#[test]
fn no_files_of_the_python_package_use_each_other_in_a_circle() {
    assert_eq!(PYTHON.circles(), Uses::new());
}

/// A library whose manifest has `test = false` has no tests in `src`, where they would not run.
#[test]
fn no_test_lies_where_none_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut looked_at = 0;
    let folders = ["crates", "bindings"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let folders = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    for folder in folders.chain([root.join("fuzz")]) {
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let library = manifest.split("\n[").find(|part| part.starts_with("lib]"));
        if !library.is_some_and(|library| library.contains("\ntest = false")) {
            continue;
        }
        let mut found = Vec::new();
        sources(&folder.join("src"), &mut found);
        for path in found {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains("#[test]"), "{} has a test that no run reaches", path.display());
            looked_at += 1;
        }
    }
    assert!(looked_at > 80);
}
