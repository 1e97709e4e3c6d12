//! One word per idea: the table of names in `docs/glossary.md` against the names that users meet.
//! Each name in it must exist in its language.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn files(folder: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            found.extend(files(&name, extension));
        } else if name.ends_with(extension) {
            found.push(name);
        }
    }
    found
}

type Names = BTreeSet<String>;

/// What is `pub` in Rust: items, methods, fields, and the variants of enums and methods of
/// traits that are.
fn rust() -> Names {
    // A macro makes the kinds of errors.
    let mut names: Names =
        livebuf::ErrorKind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    let folders = [
        "livebuf",
        "livebuf-json",
        "livebuf-arrow",
        "livebuf-parquet",
        "livebuf-log",
        "livebuf-patch",
        "livebuf-query",
    ];
    for folder in folders {
        for file in files(&format!("crates/{folder}/src"), ".rs") {
            public(text(&file).parse().unwrap(), &mut names);
        }
    }
    names
}

fn public(tokens: TokenStream, names: &mut Names) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            public(group.stream(), names);
        }
        if !is_word(token, "pub") {
            continue;
        }
        let words: Vec<String> = tokens[at + 1..]
            .iter()
            .map_while(|token| match token {
                TokenTree::Ident(word) => Some(word.to_string()),
                _ => None,
            })
            .collect();
        let modifiers = ["const", "unsafe", "async", "extern"];
        let is_modifier = |word: &&String| modifiers.contains(&word.as_str());
        let skipped =
            words.iter().take_while(is_modifier).count().min(words.len().saturating_sub(2));
        let (kind, name) = match &words[skipped..] {
            // Of these the path or the file says more.
            [first, ..] if first == "use" || first == "mod" => continue,
            [name] => ("field", name),
            [kind, name, ..] => (kind.as_str(), name),
            // For a part of the crate only.
            [] => continue,
        };
        names.insert(name.clone());
        let body = tokens[at..].iter().find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
            _ => None,
        });
        match (kind, body) {
            ("enum", Some(body)) => names.extend(variants(body.stream())),
            ("trait", Some(body)) => {
                let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
                names.extend(tokens.windows(2).filter_map(|pair| match pair {
                    [word, TokenTree::Ident(name)] if is_word(word, "fn") => Some(name.to_string()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
}

fn is_word(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word == wanted)
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// The first words between commas, attributes aside.
fn variants(body: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let parts = tokens.split(|token| is_punct(token, ','));
    let first = |part: &[TokenTree]| {
        part.iter().find_map(|token| match token {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        })
    };
    parts.filter_map(first).collect()
}

/// What the C header declares. A name's prefix is none of its words.
fn c() -> Names {
    let header = text("bindings/c/include/livebuf.h");
    let mut code = String::new();
    for part in header.split("*/") {
        code.push_str(part.split("/*").next().unwrap());
    }
    identifiers(&code).collect()
}

/// What the package exports: functions, classes, methods, properties and arguments.
fn python() -> Names {
    let mut names = Names::new();
    for file in files("bindings/python/python/livebuf", ".pyi") {
        names.extend(defined(&text(&file)));
    }
    // Of the rest only what is public: the classes of errors, and functions.
    names.extend(defined(&text("bindings/python/python/livebuf/_errors.py")));
    names.extend(defined(&text("bindings/python/python/livebuf/__init__.py")));
    names.extend(defined(&text("bindings/python/python/livebuf/_parquet.py")));
    names.retain(|name| !name.starts_with('_'));
    names
}

/// Names after `class` and `def`, and those before a colon, which are arguments.
fn defined(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        for keyword in ["class ", "def "] {
            found.extend(line.strip_prefix(keyword).and_then(|rest| identifiers(rest).next()));
        }
        for (at, _) in line.match_indices(": ") {
            found.extend(identifiers(&line[..at]).last());
        }
    }
    found
}

/// What the command line takes, as `args.rs` defines it: commands, options, and their values.
fn command_line() -> Names {
    let tokens: TokenStream = text("crates/livebuf-cli/src/args.rs").parse().unwrap();
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut names = Names::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(TokenTree::Group(body)) = tokens.get(at + 2) else { continue };
        if is_word(token, "enum") {
            names.extend(variants(body.stream()));
        } else if is_word(token, "struct") {
            let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
            names.extend(tokens.windows(2).filter_map(|pair| match pair {
                [TokenTree::Ident(name), colon] if is_punct(colon, ':') => Some(name.to_string()),
                _ => None,
            }));
        }
    }
    names.iter().map(|name| words(name).join("-")).collect()
}

fn identifiers(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        .map(str::to_owned)
}

/// A name's words: `DuplicateKeys`, `duplicate_keys` and `--duplicate-keys` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        let begins = c.is_uppercase() && before.is_lowercase();
        if !c.is_alphanumeric() || begins {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().unwrap().extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A row of the table: the names in its cells.
struct Row {
    idea: String,
    rust: Vec<String>,
    c: Vec<String>,
    python: Vec<String>,
    command_line: Vec<String>,
}

fn table() -> Vec<Row> {
    let page = text("docs/glossary.md");
    let (_, table) = page.split_once("| idea | Rust |").expect("the table of names");
    // After the rest of its head, and the line of dashes.
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [idea, rust, c, python, command_line] = cells[..] else {
            panic!("five cells in {line}")
        };
        let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        let idea = idea.trim().to_owned();
        let (rust, c, python) = (names(rust), names(c), names(python));
        Row { idea, rust, c, python, command_line: names(command_line) }
    };
    rows.map(row).collect()
}

#[test]
fn each_name_in_the_table_exists() {
    let (rust, c, python, command_line) = (rust(), c(), python(), command_line());
    assert!(rust.len() > 300 && c.len() > 200 && python.len() > 100 && command_line.len() > 40);
    let rows = table();
    assert!(rows.len() > 50, "only {} rows", rows.len());
    let mut missing = Vec::new();
    for row in rows {
        let mut look = |language: &str, names: &[String], known: &Names| {
            for name in names {
                // A type's or module's name before it is one, too.
                let mut parts =
                    name.trim_start_matches("--").split("::").flat_map(|p| p.split('.'));
                if !parts.all(|part| known.contains(part)) {
                    missing.push(format!("{}: {language} has no {name}", row.idea));
                }
            }
        };
        look("Rust", &row.rust, &rust);
        look("C", &row.c, &c);
        look("Python", &row.python, &python);
        look("the command line", &row.command_line, &command_line);
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
