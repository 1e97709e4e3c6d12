//! The commands that the pages show print what they say that they print. The page of all commands
//! is what the command says.

use super::{BINARY, Place};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a shell prints for a line, with errors.
fn printed(place: &Place, line: &str) -> String {
    let folder = Path::new(BINARY).parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let script = format!("({line}) 2>&1");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(place.0.path()).env("PATH", format!("{folder}:{path}"));
    String::from_utf8(shell.output().expect("a shell").stdout).expect("text")
}

/// The pages in a folder and below.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).expect("pages") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_commands_of_the_pages() {
    let orders = project().join("docs/tutorial/orders.json");
    let mut commands = 0;
    for page in pages(&project().join("docs")).into_iter().chain([project().join("README.md")]) {
        let text = fs::read_to_string(&page).expect("a page");
        let place = Place::new();
        fs::copy(&orders, place.path("orders.json")).expect("the tutorial's file");
        for block in text.split("```console\n").skip(1) {
            let block = block.split("```").next().expect("text");
            for part in block.split("$ ").skip(1) {
                let (line, expected) = part.split_once('\n').expect("a line");
                assert_eq!(printed(&place, line), expected, "{}: {line}", page.display());
                commands += 1;
            }
        }
    }
    assert!(commands >= 30, "{commands} commands");
}

/// `docs/images/terminal.py` draws it anew.
#[test]
fn the_picture_of_inspect_shows_what_it_prints() {
    let place = Place::new();
    place.document("lap.lbuf", r#"{"lap": 55, "driver": "Ada", "sec": [88.25, 87.5]}"#);
    let said = printed(&place, "livebuf inspect lap.lbuf");
    let picture = fs::read_to_string(project().join("docs/images/inspect.svg")).expect("a picture");
    let picture = picture.replace("&#160;", " ").replace("&quot;", "\"").replace("&#x27;", "'");
    let (_, shown) = picture.split_once("$ livebuf inspect lap.lbuf").expect("the command");
    let texts = shown.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text);
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(texts.map(letters).collect::<String>(), letters(&said));
}

const BEGINNING: &str = "# Command line

`cargo install --path crates/livebuf-cli` installs the command. `pip install ./bindings/python` brings it with the Python package, but for `demo`, `completions` and `man`, and `python -m livebuf` calls it there, too. `livebuf completions bash` prints completions for your shell, and `livebuf man get` the manual page of a command. [Start](start.md#command-line) shows ten lines.

This page is what `livebuf --help` and `livebuf COMMAND --help` print.
";

/// Help of a command, and of those below it.
fn help(words: &[&str], page: &mut String) {
    let mut command = Command::new(BINARY);
    command.args(words).arg("--help").env("COLUMNS", "100").env("NO_COLOR", "1");
    let text = String::from_utf8(command.output().expect("help").stdout).expect("text");
    let name = ["livebuf"].iter().chain(words).copied().collect::<Vec<_>>().join(" ");
    let level = "#".repeat(2 + words.len().saturating_sub(1));
    page.push_str(&format!("\n{level} {name}\n\n```text\n{}\n```\n", text.trim_end()));
    let Some((_, commands)) = text.split_once("\nCommands:\n") else { return };
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        let below = line.split_whitespace().next().filter(|&below| is_name && below != "help");
        if let Some(below) = below {
            help(&[words, &[below]].concat(), page);
        }
    }
}

/// `UPDATE=1 cargo test -p livebuf-cli the_page_of_all_commands` writes it.
#[test]
fn the_page_of_all_commands() {
    let mut page = BEGINNING.to_owned();
    help(&[], &mut page);
    let path = project().join("docs/cli.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).expect("the page is written");
    }
    assert!(page.matches("\n```text\n").count() > 20);
    assert!(fs::read_to_string(&path).is_ok_and(|there| there == page), "run with UPDATE=1");
}
