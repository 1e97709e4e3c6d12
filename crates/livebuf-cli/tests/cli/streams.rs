//! Standard output and standard error: closed, full, or a terminal on which keys of documents
//! must not write what they like.

use super::{BINARY, Place, USERS, says};
use std::process::Output;

/// Runs a line in a shell, with `livebuf` in its path.
fn shell(place: &Place, line: &str) -> Output {
    let folder = std::path::Path::new(BINARY).parent().unwrap().display();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).current_dir(place.0.path()).env("PATH", format!("{folder}:{path}"));
    shell.output().unwrap()
}

#[test]
fn a_closed_standard_output_is_an_error() {
    let place = Place::new();
    place.file("in.json", USERS);
    place.document("x.lbuf", USERS);
    for command in [
        "to-json x.lbuf",
        "to-json x.lbuf -o -",
        "get x.lbuf /n",
        "query x.lbuf '$.n'",
        "query --csv x.lbuf '$.users[*].name'",
        "keys x.lbuf",
        "validate x.lbuf",
        "stats x.lbuf",
        "tree x.lbuf",
        "inspect x.lbuf",
        "diff x.lbuf in.json --patch",
        "from-json in.json",
        "compact x.lbuf -o -",
        "set - /n 1 < x.lbuf",
        "completions bash",
        "man",
        "--help",
        "--version",
    ] {
        let output = shell(&place, &format!("livebuf {command} >&-"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("standard output: it is closed"), "{command}: {said}");
    }
    // Where nothing is written, nothing is missed. /dev/null is no closed file.
    for command in [
        "set x.lbuf /n 6 >&-",
        "validate -q x.lbuf >&-",
        "get x.lbuf /n >/dev/null",
        "get x.lbuf /n 1<>/dev/null",
    ] {
        let output = shell(&place, &format!("livebuf {command}"));
        assert_eq!(output.status.code(), Some(0), "{command}");
    }
}

#[test]
fn messages_that_cannot_be_written_are_an_error_and_no_panic() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    for (command, status) in [
        ("set -v x.lbuf /n 7", 2),
        ("set --all x.lbuf '$.n' 7", 2),
        ("compact -v x.lbuf", 2),
        ("get x.lbuf /none", 2),
        ("query x.lbuf '$.none'", 2),
        ("get none.lbuf /n", 2),
        ("nonsense", 2),
        ("set x.lbuf /n 7", 0),
    ] {
        for full in ["2>&-", "2>/dev/full"] {
            if full.contains("full") && !std::path::Path::new("/dev/full").exists() {
                continue;
            }
            place.yes("set x.lbuf /n 1");
            let output = shell(&place, &format!("livebuf {command} {full}"));
            assert_eq!(output.status.code(), Some(status), "{command} {full}");
            assert!(output.stdout.is_empty(), "{command} {full}");
            let set = if command.starts_with("set") { "7\n" } else { "1\n" };
            assert_eq!(place.yes("get x.lbuf /n"), set, "{command} {full}");
        }
    }
}

#[test]
fn keys_with_control_characters_take_one_line() {
    let place = Place::new();
    place.document("x.lbuf", r#"{"two\nlines": 1, "red\u001b[31m": {"a": 1}, "plain": "\u001b"}"#);
    place.document("y.lbuf", r#"{"red\u001b[31m": {"a": 2}, "plain": "\u001b"}"#);
    assert_eq!(
        place.yes("query --pointers x.lbuf $.*"),
        "\"/two\\nlines\"\n\"/red\\u001b[31m\"\n/plain\n"
    );
    assert_eq!(place.yes("query --paths x.lbuf $.*").lines().count(), 3);
    let differ = place.run("diff x.lbuf y.lbuf").code(1);
    assert_eq!(
        String::from_utf8_lossy(&differ.get_output().stdout),
        "- \"/red\\u001b[31m/a\": 1\n+ \"/red\\u001b[31m/a\": 2\n- \"/two\\nlines\": 1\n"
    );
    // What is printed is taken.
    let quoted = r#""/red\u001b[31m/a""#;
    for (arguments, printed) in [
        (vec!["get", "x.lbuf", quoted], "1\n"),
        (vec!["set", "x.lbuf", quoted, "5"], ""),
        (vec!["get", "x.lbuf", quoted], "5\n"),
        (vec!["keys", "x.lbuf", r#""/red\u001b[31m""#], "\"a\"\n"),
        (vec!["remove", "x.lbuf", quoted], ""),
        (vec!["get", "x.lbuf", r#""/red\u001b[31m""#], "{}\n"),
    ] {
        place.command(&arguments).assert().success().stdout(printed);
    }
    let messages: [&[&str]; 6] = [
        &["get", "x.lbuf", "/a\nb\u{1b}[31m"],
        &["remove", "x.lbuf", "/a\nb\u{1b}[31m"],
        &["set", "x.lbuf", "/a\nb\u{1b}[31m/c", "1"],
        &["get", "a\nb\u{1b}[31m", "/a"],
        &["keys", "x.lbuf", "/two\nlines"],
        &["edit", "x.lbuf", "test \"/red\\u001b[31m/x\\ny\" 1"],
    ];
    for arguments in messages {
        let assert = place.command(arguments).assert();
        let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        let hints = said.lines().skip(1).all(|line| line.starts_with("  "));
        assert!(said.ends_with('\n') && hints && said.lines().count() < 3, "{said:?}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
        assert!(said.contains("\\n"), "{said:?}");
    }
    assert!(!place.yes("tree x.lbuf").contains('\u{1b}'));
    // The command's words for terminals, U+009B among them, are escaped as in JSON.
    place.document("c1.lbuf", "{\"k\u{9b}31m\u{7f}\": {\"v\": \"\u{9b}\"}}");
    place.document("c2.lbuf", "{\"k\u{9b}31m\u{7f}\": {\"v\": \"\u{9c}\"}}");
    assert_eq!(place.yes("keys c1.lbuf"), "\"k\\u009b31m\\u007f\"\n");
    assert_eq!(place.yes("keys --raw c1.lbuf"), "k\u{9b}31m\u{7f}\n");
    let path = place.yes("query --paths c1.lbuf $.*.v");
    assert_eq!(path, "$['k\\u009b31m\\u007f']['v']\n");
    assert_eq!(place.yes(&format!("query c1.lbuf {}", path.trim())), "\"\u{9b}\"\n");
    let differ = place.run("diff c1.lbuf c2.lbuf").code(1);
    let differ = String::from_utf8_lossy(&differ.get_output().stdout).into_owned();
    assert!(differ.contains(r#"/v": "\u009b""#), "{differ}");
    assert!(place.yes("to-json c1.lbuf").contains('\u{9b}'), "JSON allows it");
    place.document("columns.lbuf", r#"{"a\nb\u001b": [1, 2, 3, 4, 5, 6, 7, 8]}"#);
    assert!(place.yes("stats columns.lbuf").contains("/a\\nb\\u001b/*"));
    says(place.command(&["get", "x.lbuf", "\"/a"]).assert(), 2, &["POINTER"]);
}

/// Some messages had Rust's escapes, \u{1b}, and others those of JSON.
#[test]
fn messages_have_the_escapes_of_json() {
    let place = Place::new();
    place.document("x.lbuf", r#"{"a": [1]}"#);
    place.file("double.json", "{\"\\u001b[31m\": 1, \"\\u001b[31m\": 2}");
    let patch = r#"[{"op": "remove", "path": "/\u001b[31m"}]"#;
    let below = r#"[{"op": "add", "path": "/a/0/\u009b", "value": 1}]"#;
    let key = r#"[{"op": "add", "path": "/a/\u009b", "value": 1}]"#;
    let cases: [(&[&str], &str); 8] = [
        (&["patch", "x.lbuf", patch], r#""/\u001b[31m""#),
        (&["patch", "x.lbuf", below], r#""/a/0/\u009b""#),
        (&["patch", "x.lbuf", key], r#""\u009b" is no index"#),
        (&["from-json", "--duplicate-keys", "error", "double.json"], r#"the key "\u001b[31m""#),
        (&["get", "x.lbuf", "a\u{1b}"], r#""a\u001b" is not a JSON pointer"#),
        (&["set", "x.lbuf", "/a", "\u{1b}\\u{1b}"], r#""\u001b\\u{1b}" is not JSON"#),
        (&["set", "x.lbuf", "/a/\u{9b}/b", "1"], r#"none is "\u009b""#),
        (&["query", "x.lbuf", "\u{1b}\u{e0001}"], r#""\u001b\udb40\udc01" is no query"#),
    ];
    for (arguments, words) in cases {
        says(place.command(arguments).assert(), 2, &[words]);
    }
}
