//! The header and the reference say what the source says: both are made from it here and
//! compared with what is committed. `UPDATE=1 cargo test -p livebuf-c --features header
//! --test header` writes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use livebuf::ErrorKind;

const HEADER: &str = "include/livebuf.h";
const REFERENCE: &str = "../../docs/c-reference.md";
/// The order of the reference.
const SOURCES: [&str; 16] = [
    "status",
    "text",
    "document",
    "read",
    "iterate",
    "column",
    "tensor",
    "edit",
    "template",
    "transaction",
    "changes",
    "context",
    "delta",
    "json",
    "patch",
    "query",
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn compare(path: &str, made: &str) {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&full, made).unwrap();
    }
    let committed = fs::read_to_string(&full).unwrap_or_default();
    if committed != made {
        let line = committed.lines().zip(made.lines()).position(|(old, new)| old != new);
        panic!(
            "{path} is not what the source says (line {}): run with UPDATE=1",
            line.map_or(0, |line| line + 1)
        );
    }
}

/// A source with the types of `args.rs` as C sees them.
fn with_pointers(mut text: String) -> String {
    let constant = ["In", "Array", "Terminated"].map(|name| (name, "*const "));
    let mutable = ["Out", "Buffer", "InOut", "Owned"].map(|name| (name, "*mut "));
    for (name, pointer) in constant.into_iter().chain(mutable) {
        let mut from = 0;
        while let Some(at) = text[from..].find(&format!("{name}<")).map(|at| from + at) {
            from = at + name.len();
            let (end, _) = text[from..].match_indices('>').next().expect("it is closed");
            if text[..at].ends_with([' ', '<', '\n']) {
                // Nested ones are closed one behind the other: which of these goes is the same.
                text.replace_range(from + end..from + end + 1, "");
                text.replace_range(at..=from, pointer);
            }
        }
    }
    text
}

/// The declarations that cbindgen makes of the exported functions, types and constants.
fn declarations() -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(manifest.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for source in SOURCES {
        let text = with_pointers(read(&format!("src/{source}.rs")));
        let path = folder.join(format!("{source}.rs"));
        fs::write(&path, text).unwrap();
        builder = builder.with_src(path);
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

/// They by their names, each with its comment, comments of one line as one line.
fn by_name(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (mut item, mut name) = (String::new(), String::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        let short = next.trim_start().strip_prefix("* ").filter(|_| line.trim() == "/**");
        match short {
            Some(comment) => {
                lines.next();
                let indent = &line[..line.len() - 3];
                match lines.next_if(|line| line.trim() == "*/") {
                    Some(_) => item.push_str(&format!("{indent}/** {comment} */\n")),
                    None => item.push_str(&format!("{line}\n{next}\n")),
                }
            }
            None => {
                item.push_str(line);
                item.push('\n');
            }
        }
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if let Some(rest) = line.strip_prefix("#define ") {
            name = rest.split(' ').next().unwrap_or_default().to_owned();
        } else if let Some(rest) = line.strip_prefix("} ") {
            name = rest.trim_end_matches(';').to_owned();
        } else if line.starts_with("typedef") && line.ends_with(';') {
            name = line.trim_end_matches(';').rsplit(' ').next().unwrap_or_default().to_owned();
        } else if let Some((before, _)) = line.split_once('(')
            && !line.starts_with([' ', '/'])
        {
            name = before.rsplit(|letter| !is_word(letter)).next().unwrap_or_default().to_owned();
        }
        if line.is_empty() {
            if !name.is_empty() {
                found.insert(std::mem::take(&mut name), item.trim().to_owned());
            }
            item.clear();
        }
    }
    if !name.is_empty() {
        found.insert(name, item.trim().to_owned());
    }
    found
}

/// The header: `src/livebuf.h.in`, where `@name` stands for a declaration of the library. An
/// inline function is declared where it stands there, and defined where `@bodies` stands.
fn header() -> String {
    let mut known = by_name(&declarations());
    let template = read("src/livebuf.h.in");
    let (mut header, mut bodies) = (String::new(), String::new());
    let mut lines = template.lines();
    let (mut documented, mut condition) = (false, None);
    while let Some(line) = lines.next() {
        condition = match line.starts_with("#endif") {
            true => None,
            false => line.strip_prefix("#if ").or(condition),
        };
        let inline = line.starts_with("static inline ") || line.starts_with("LIVEBUF_THIN_ ");
        if line == "@bodies" {
            header.push_str(&bodies);
        } else if let Some(name) = line.strip_prefix('@') {
            let item = known.remove(name);
            header.push_str(&item.unwrap_or_else(|| panic!("there is no {name}, or it is twice")));
            header.push('\n');
        } else if documented && inline {
            let mut function = line.to_owned();
            while !(function.ends_with("\n}") || line.ends_with('}')) {
                function.push('\n');
                function.push_str(lines.next().expect("the function ends"));
            }
            let (head, _) = function.split_once(" {").expect("a body");
            header.push_str(&head.replacen("LIVEBUF_THIN_ ", "static inline ", 1));
            header.push_str(";\n");
            match condition {
                Some(what) => bodies.push_str(&format!("#if {what}\n{function}\n#endif\n\n")),
                None => bodies.push_str(&format!("{function}\n\n")),
            }
        } else {
            header.push_str(line);
            header.push('\n');
        }
        // The end of a comment that documents what follows.
        documented = line.ends_with("*/")
            && header
                .rfind("/**")
                .is_some_and(|at| !header[at..].trim_end_matches("*/\n").contains("*/"));
    }
    assert!(known.is_empty(), "src/livebuf.h.in has no place for {:?}", known.keys());
    header
}

#[test]
fn the_header_is_what_the_source_says() {
    compare(HEADER, &header());
}

/// A declaration and its comment, as they stand in the header.
struct Item<'h> {
    comment: Vec<&'h str>,
    declaration: String,
}

/// All documented declarations of the header, in its order.
fn items(header: &str) -> Vec<Item<'_>> {
    let (mut items, mut comment, mut inside) = (Vec::new(), Vec::new(), false);
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        let text = line.trim();
        if text.starts_with("/**") {
            inside = true;
            comment.clear();
        }
        if inside {
            let text = text.trim_start_matches("/**").trim_end_matches("*/");
            let text = text.trim_start_matches('*');
            comment.push(text.strip_prefix(' ').unwrap_or(text).trim_end());
            inside = !line.contains("*/");
            continue;
        }
        // Members are indented; they are part of their type.
        if comment.is_empty() || text.is_empty() || line.starts_with(' ') || text.starts_with('}') {
            comment.clear();
            continue;
        }
        // That it is inlined in any case is between us and the compiler.
        let mut declaration = line.replacen("LIVEBUF_THIN_ ", "static inline ", 1);
        let compound = text.starts_with("typedef struct") || text.starts_with("typedef union");
        let list = text.starts_with("typedef enum");
        let ends = |text: &str| match compound || list {
            true => text.starts_with('}'),
            false => text.ends_with([';', '{', '}']) || text.starts_with('#'),
        };
        while !ends(declaration.lines().last().unwrap_or_default()) {
            let Some(line) = lines.next() else { break };
            declaration.push('\n');
            declaration.push_str(line);
        }
        // An inline function is shown without its body.
        if let Some(at) = declaration.find(" {").filter(|_| declaration.starts_with("static")) {
            declaration.truncate(at);
            declaration.push(';');
        }
        items.push(Item { comment: std::mem::take(&mut comment), declaration });
    }
    items
}

#[test]
fn the_reference_is_what_the_header_says() {
    let header = header();
    let items = items(&header);
    let mut page = String::from(
        "# The C API: reference\n\nMade from `livebuf.h` by `bindings/c/tests/header.rs`: do not \
         edit. [The guide](c-api.md) explains.\n",
    );
    let mut section = |title: &str, wanted: &dyn Fn(&Item<'_>) -> bool| {
        page.push_str(&format!("\n## {title}\n"));
        for item in items.iter().filter(|item| wanted(item)) {
            let text = item.comment.join("\n");
            page.push_str(&format!("\n```c\n{}\n```\n\n{}\n", item.declaration, text.trim()));
        }
    };
    let starts = |item: &Item<'_>, with: &str| item.declaration.starts_with(with);
    section("Constants", &|item| starts(item, "#define"));
    section("Types", &|item| starts(item, "typedef"));
    section("Functions", &|item| {
        !["#define", "typedef", "static"].iter().any(|with| starts(item, with))
    });
    section("Inline functions", &|item| starts(item, "static"));
    compare(REFERENCE, &page);
}

/// The pages name no call that is not there: users of Lite³ were sent to one that does
/// something else, and nothing looked. A name that ends with `_` or `…` stands for its kin.
#[test]
fn the_pages_name_what_there_is() {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let header = read(HEADER);
    let known: Vec<&str> = header.split(|letter| !is_word(letter)).collect();
    let pages = ["c-api.md", "migrate.md", "lite3.md", "concepts.md", "start.md", "glossary.md"];
    let guide: String = pages.iter().map(|page| read(&format!("../../docs/{page}"))).collect();
    let mut count = 0;
    for (at, _) in guide.match_indices("livebuf_") {
        let name = guide[at..].split(|letter| !is_word(letter)).next().unwrap_or_default();
        let before = guide[..at].chars().next_back().unwrap_or(' ');
        // Rust's crates have such names, too.
        let is_crate = guide[at + name.len()..].starts_with("::");
        if !is_word(before) && !is_crate {
            let is_there = match name.ends_with('_') {
                true => known.iter().any(|known| known.starts_with(name)),
                false => known.contains(&name),
            };
            assert!(is_there, "a page names {name}, which is not in the header");
            count += 1;
        }
    }
    assert!(count > 100, "only {count} names were found");
}

/// What C passes has the types of `args.rs`, so that no function argues by itself that it is good.
#[test]
fn functions_that_c_calls_are_safe() {
    for source in SOURCES {
        let text = read(&format!("src/{source}.rs"));
        assert!(!text.contains("pub unsafe extern"), "{source}");
    }
}

/// Every exported function says whose memory, what of NULL, which errors, which threads.
#[test]
fn every_function_says_what_the_caller_must_know() {
    let header = read(HEADER);
    let functions = items(&header);
    let exported = functions.iter().filter(|item| {
        item.declaration.contains("livebuf_")
            && !["#define", "typedef", "static"]
                .iter()
                .any(|with| item.declaration.starts_with(with))
    });
    let mut count = 0;
    for item in exported {
        let text = item.comment.join(" ");
        for word in ["Memory", "NULL", "Errors", "Threads"] {
            assert!(text.contains(word), "{} does not say {word}", item.declaration);
        }
        count += 1;
    }
    assert!(count > 70, "only {count} functions were found");
}

/// The statuses are those of the core, by number, name and words.
#[test]
fn statuses_are_those_of_every_language() {
    let (header, status) = (read(HEADER), read("src/status.rs"));
    for &kind in ErrorKind::ALL {
        let mut name = String::from("LIVEBUF");
        for letter in kind.name().chars() {
            if letter.is_uppercase() {
                name.push('_');
            }
            name.extend(letter.to_uppercase());
        }
        assert!(header.contains(&format!("{name} = {},", kind as u8)), "{name}");
        let text = livebuf::Error::new(kind, 0).to_string();
        let table = status.split("statuses! {").nth(1).unwrap();
        let line = table.lines().find(|line| line.trim().starts_with(&format!("{name},")));
        let message = line.unwrap_or_default().split('"').nth(1).unwrap_or_default();
        assert!(!message.is_empty() && text.starts_with(message), "{name}: {message:?}, {text:?}");
    }
}

/// LIVEBUF_VERSION_* is the crate's version.
#[test]
fn versions_agree() {
    let header = read(HEADER);
    let version = env!("CARGO_PKG_VERSION");
    let names = ["MAJOR", "MINOR", "PATCH"];
    for (name, number) in names.into_iter().zip(version.split('.')) {
        assert!(header.contains(&format!("#define LIVEBUF_VERSION_{name} {number}\n")), "{name}");
    }
    assert!(header.contains(&format!("#define LIVEBUF_VERSION_STRING \"{version}\"")));
}

/// The header has all types of columns, by the core's codes, and the numbers that its inline reader
/// gives to kinds of blocks.
#[test]
fn types_and_kinds_are_those_of_the_format() {
    let header = read(HEADER);
    let squeezed = |name: &str| name.replace('_', "").to_uppercase();
    let numbered = |text: &str, before: &str| -> BTreeMap<String, u32> {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix(before));
        lines
            .filter_map(|line| {
                let (name, number) = line.split_once([' ', ':'])?;
                let number = number.rsplit(' ').next()?.trim_end_matches([',', ';']);
                Some((squeezed(name), number.parse().ok()?))
            })
            .collect()
    };
    let source = read("../../crates/livebuf/src/block/column_type.rs");
    let (_, types) = source.split_once("pub enum ColumnType {").unwrap();
    let types = numbered(types.split_once("\n}").unwrap().0, "");
    assert!(types.len() > 30, "{types:?}");
    assert_eq!(numbered(&header, "LIVEBUF_COLUMN_"), types);

    let layout = numbered(&read("../../crates/livebuf/src/format/layout.rs"), "pub const KIND_");
    let kinds = numbered(&header, "#define LIVEBUF_KIND_");
    assert_eq!(kinds.len(), 5);
    for (kind, number) in kinds {
        assert_eq!(layout.get(&kind), Some(&number), "{kind}");
    }
}
