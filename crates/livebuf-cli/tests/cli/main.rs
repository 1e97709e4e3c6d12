//! The command as a user meets it: every command's way to succeed and to fail,
//! exit statuses, files that are never half written.
#![cfg(unix)]

mod changes;
mod inputs;
#[cfg(feature = "parquet")]
mod parquet;
mod readme;
mod streams;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use livebuf::{DocBuf, New};
use predicates::prelude::*;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_livebuf");

/// The command in a place where every user may run it, since the checkout may be in a folder that is
/// its owner's alone.
fn for_everybody(place: &Place) -> PathBuf {
    let copy = place.0.path().join("livebuf");
    if !copy.exists() {
        fs::copy(BINARY, &copy).unwrap();
    }
    copy
}

/// A directory of a test's own.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// A document of this JSON.
    fn document(&self, name: &str, json: &str) -> PathBuf {
        self.file(name, livebuf_json::from_str(json).unwrap().as_bytes())
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs the command in this directory: words apart by spaces.
    fn run(&self, line: &str) -> Assert {
        self.command(&line.split(' ').collect::<Vec<_>>()).assert()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.current_dir(self.0.path()).args(arguments);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// What `inspect` says, each meaning on one line again.
    fn inspected(&self, arguments: &[&str]) -> String {
        let assert = self.command(&[&["inspect"], arguments].concat()).assert().success();
        let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text.replace(&format!("\n{}", " ".repeat(37)), " ")
    }

    fn yes(&self, line: &str) -> String {
        let assert = self.run(line).success();
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    }
}

const USERS: &str =
    r#"{"users":[{"name":"Ada","age":36},{"name":"Grace","tags":["navy","cobol"]}],"n":5}"#;

/// A document of about a megabyte.
fn large() -> String {
    let rows: Vec<String> = (0..10_000)
        .map(|row| {
            format!(r#"{{"id":{row},"name":"user number {row}","score":{row}.5,"on":true}}"#)
        })
        .collect();
    format!(r#"{{"rows":[{}],"last":1}}"#, rows.join(","))
}

fn says(assert: Assert, status: i32, words: &[&str]) {
    let assert = assert.code(status).stdout("");
    let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
    assert!(text.starts_with("livebuf: ") || text.starts_with("error: "), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

// --- JSON in and out ------------------------------------------------------------------

#[test]
fn json_becomes_a_document_and_comes_back() {
    let place = Place::new();
    place.file("in.json", USERS);
    place.yes("from-json in.json -o out.lbuf");
    assert_eq!(place.yes("to-json out.lbuf"), format!("{USERS}\n"));
    let pretty = place.yes("to-json --pretty out.lbuf");
    assert!(pretty.starts_with("{\n  \"users\": [\n    {\n      \"name\": \"Ada\""), "{pretty}");
    place.yes("to-json out.lbuf -o back.json");
    assert_eq!(fs::read_to_string(place.path("back.json")).unwrap(), format!("{USERS}\n"));
    assert_eq!(place.names(), ["back.json", "in.json", "out.lbuf"], "nothing else is left");
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let place = Place::new();
    let document = place.command(&["from-json", "-"]).write_stdin(USERS).assert().success();
    let document = document.get_output().stdout.clone();
    assert!(livebuf::Doc::open(&document).is_ok());
    let given = |arguments: &[&str]| {
        let assert = place.command(arguments).write_stdin(document.clone()).assert().success();
        assert.get_output().stdout.clone()
    };
    assert_eq!(given(&["to-json", "-", "-o", "-"]), format!("{USERS}\n").as_bytes());
    assert_eq!(given(&["get", "-", "/n"]), b"5\n");
    assert!(given(&["validate", "-"]).starts_with(b"standard input: valid"));
    // Edits are filters.
    let edited = given(&["set", "-", "/n", "-6.5"]);
    let json = livebuf_json::to_string(livebuf::Doc::open(&edited).unwrap().root()).unwrap();
    assert!(json.ends_with(r#""n":-6.5}"#));
    assert!(livebuf::Doc::open(&given(&["compact", "-"])).is_ok());
    // A value from standard input.
    place.document("x.lbuf", USERS);
    place.command(&["set", "x.lbuf", "/n", "-"]).write_stdin("[1, 2]\n").assert().success();
    assert_eq!(place.yes("get x.lbuf /n"), "[1,2]\n");
    let both = place.command(&["set", "-", "/n", "-"]).write_stdin("1").assert();
    says(both, 2, &["cannot be both"]);
}

#[test]
fn numbers_keys_and_lines_are_taken_as_told() {
    let place = Place::new();
    place.file("in.json", r#"{"b": 1.50, "a": 1E3, "a": 2, "big": 123456789012345678901}"#);
    place.yes("from-json in.json -o exact.lbuf");
    let exact = "{\"b\":1.5,\"a\":2,\"big\":123456789012345678901}\n";
    assert_eq!(place.yes("to-json exact.lbuf"), exact);
    place.yes("from-json --numbers text in.json -o text.lbuf");
    assert!(place.yes("to-json text.lbuf").starts_with("{\"b\":1.50,"));
    says(
        place.run("from-json --duplicate-keys error in.json -o no.lbuf"),
        2,
        &["in.json", "twice", "line 1, column"],
    );

    place.file("lines.ndjson", "{\"a\":1}\n\n[2]\n\"three\"\n");
    place.yes("from-json --lines lines.ndjson -o lines.lbuf");
    assert_eq!(place.yes("to-json lines.lbuf"), "[{\"a\":1},[2],\"three\"]\n");
    says(place.run("from-json lines.ndjson -o no.lbuf"), 2, &["line 3, column 1", "give --lines"]);
    place.yes("from-json --lines --each lines.ndjson -o each");
    assert_eq!(place.yes("to-json each/000001.lbuf"), "{\"a\":1}\n");
    assert_eq!(place.yes("to-json each/000003.lbuf"), "\"three\"\n");
    says(place.run("from-json --lines --each lines.ndjson -o each"), 2, &["exists already", "-f"]);
    place.yes("from-json --lines --each -f lines.ndjson -o each");
    place.file("bad.ndjson", "1\n2\nthree\n");
    says(place.run("from-json --lines --each bad.ndjson -o other"), 2, &["bad.ndjson", "line 3"]);
    assert!(!place.path("other").exists(), "no document of a file with a bad line");
    let left =
        ["bad.ndjson", "each", "exact.lbuf", "in.json", "lines.lbuf", "lines.ndjson", "text.lbuf"];
    assert_eq!(place.names(), left);
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let place = Place::new();
    for (name, text, words) in [
        ("comma", "{\n  \"a\": 1,\n}", &["comma.json: not JSON", "line 3, column 1 (byte 12)"][..]),
        ("empty", "", &["empty.json", "line 1, column 1"]),
        ("binary", "\u{1}\u{2}", &["line 1, column 1"]),
    ] {
        place.file(&format!("{name}.json"), text);
        says(place.run(&format!("from-json {name}.json -o out.lbuf")), 2, words);
    }
    place.file("utf8.json", b"[\"\xFF\"]");
    says(place.run("from-json utf8.json -o out.lbuf"), 2, &["UTF-8", "line 1, column 3"]);
    place.document("is.lbuf", "1");
    says(
        place.run("from-json is.lbuf -o out.lbuf"),
        2,
        &["is a LiveBuf document already", "to-json"],
    );
    place.file("deep.json", "[".repeat(1000) + &"]".repeat(1000));
    place.yes("from-json deep.json -o out.lbuf");
    assert_eq!(place.yes("to-json out.lbuf").len(), 2001);
    place.yes("validate out.lbuf");
    place.yes(&format!("push out.lbuf {} null", "/0".repeat(999)));
    assert_eq!(place.yes("to-json out.lbuf").len(), 2005);
}

/// JSON that is nested too deeply was called "not JSON".
#[test]
fn the_limit_of_nesting_is_told() {
    let place = Place::new();
    let deep = "[".repeat(1001) + &"]".repeat(1001);
    place.file("deep.json", &deep);
    place.file("deep.ndjson", format!("1\n{deep}\n"));
    let said = |assert: Assert, words: &[&str]| {
        let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        says(assert, 2, words);
        assert!(!text.contains("not JSON"), "{text}");
    };
    let told = "deeper than a document can be (1,000 levels)";
    said(place.run("from-json deep.json -o out.lbuf"), &[told, "line 1, column 1001"]);
    for line in
        ["from-json --lines deep.ndjson -o out.lbuf", "from-json --lines --each deep.ndjson -o out"]
    {
        said(place.run(line), &[told]);
    }
    place.document("x.lbuf", "[]");
    said(place.command(&["push", "x.lbuf", "", &deep]).assert(), &["the value is nested deeper"]);
    let piped = place.command(&["push", "x.lbuf", "", "-"]).write_stdin(deep).assert();
    said(piped, &["standard input: nested deeper"]);
    assert_eq!(place.names(), ["deep.json", "deep.ndjson", "x.lbuf"]);
}

#[test]
fn what_json_has_not_is_an_error_before_anything_is_printed() {
    let place = Place::new();
    let mut document = DocBuf::new().unwrap();
    let list = document.set_root(New::array(0)).unwrap().unwrap();
    for number in 0..100_000 {
        document.push(list, f64::from(number)).unwrap();
    }
    document.push(list, f64::NAN).unwrap();
    place.file("nan.lbuf", document.as_bytes());
    says(place.run("to-json nan.lbuf"), 2, &["nan.lbuf", "--non-finite null"]);
    says(place.run("to-json nan.lbuf -o nan.json"), 2, &["--non-finite null"]);
    assert_eq!(place.names(), ["nan.lbuf"]);
    assert!(place.yes("to-json --non-finite null nan.lbuf").ends_with("99999.0,null]\n"));
    says(place.run("get nan.lbuf /100000"), 2, &["nan.lbuf"]);
    assert_eq!(place.yes("get nan.lbuf /1"), "1.0\n");
    place.yes("stats nan.lbuf");
}

/// A document whose JSON is longer than what `to-json` keeps in memory.
fn long_floats(last: f64) -> DocBuf {
    let mut document = DocBuf::new().unwrap();
    let list = document.set_root(New::array(0)).unwrap().unwrap();
    for number in 0..200_000 {
        document.push(list, f64::from(number)).unwrap();
    }
    document.push(list, last).unwrap();
    document
}

/// `to-json` validated all of a document, and then looked for what JSON has not, before its
/// first byte: 3.4 s for one of 369 MB. It begins at once; what goes wrong after that is an
/// error with status 2.
#[test]
fn to_json_begins_before_all_is_known() {
    let place = Place::new();
    place.file("nan.lbuf", long_floats(f64::NAN).as_bytes());
    let assert = place.run("to-json nan.lbuf").code(2);
    let output = assert.get_output();
    assert!(output.stdout.starts_with(b"[0.0,1.0,2.0,"), "nothing was printed");
    assert!(output.stdout.len() > 1 << 20, "{}", output.stdout.len());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    for word in ["livebuf: nan.lbuf: ", "--non-finite null", "is cut short or wrong"] {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
    // Into a file nothing goes that is not whole.
    says(place.run("to-json nan.lbuf -o nan.json"), 2, &["--non-finite null"]);
    assert_eq!(place.names(), ["nan.lbuf"]);
    let json = place.yes("to-json --non-finite null nan.lbuf");
    assert!(json.ends_with("199999.0,null]\n"));
}

/// Damage that stops no printing is told by the validation, which goes on beside it.
#[test]
fn to_json_tells_of_damage_that_it_prints_past() {
    let place = Place::new();
    let lists =
        [r#"["here"]"#.to_owned(), livebuf_json::to_string(long_floats(1.5).doc().root()).unwrap()];
    for (list, is_long) in lists.into_iter().zip([false, true]) {
        let json = format!(r#"{{"first key":1,"second":{list}}}"#);
        let mut bytes = livebuf_json::from_str(&json).unwrap().to_vec();
        // A fingerprint, by which keys are found, but not printed.
        let first = (32..bytes.len()).rev().find(|&at| {
            bytes[at] ^= 1;
            let doc = livebuf::Doc::open(&bytes).unwrap();
            let kind = doc.validate().err().map(|error| error.kind());
            let object = doc.root().as_object();
            let keys = object.into_iter().flatten().flat_map(|object| object.keys());
            let found = kind == Some(livebuf::ErrorKind::BadIndex)
                && keys.map_while(Result::ok).eq(["first key", "second"]);
            if !found {
                bytes[at] ^= 1;
            }
            found
        });
        assert!(first.is_some(), "no such byte");
        place.file("bad.lbuf", &bytes);
        let assert = place.run("to-json bad.lbuf").code(2);
        let output = assert.get_output();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("bad.lbuf: the document is damaged: a fingerprint"), "{text}");
        // Of a long text as much was printed as came before the validation's end.
        assert!(output.stdout.is_empty() || is_long);
        assert_eq!(text.contains("cut short or wrong"), !output.stdout.is_empty(), "{text}");
        says(place.run("to-json bad.lbuf -o bad.json"), 2, &["damaged: a fingerprint"]);
        assert!(place.yes("to-json --no-validate bad.lbuf") == format!("{json}\n"));
        place.yes("to-json --no-validate bad.lbuf -o bad.json");
        assert!(fs::read_to_string(place.path("bad.json")).unwrap() == format!("{json}\n"));
        fs::remove_file(place.path("bad.json")).unwrap();
    }
    let help = place.yes("to-json --help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("validated while it is printed"), "{help}");
}

/// 3 was taken, and columns became 4 bytes wide.
#[test]
fn a_width_that_no_column_has_is_refused() {
    let place = Place::new();
    place.file("in.json", "[1,2]");
    for width in ["0", "3", "5", "9", "-1", "x"] {
        let line = format!("from-json in.json -o out.lbuf --min-width={width}");
        says(place.run(&line), 2, &["--min-width", "1, 2, 4, 8"]);
    }
    assert_eq!(place.names(), ["in.json"]);
    for width in [1, 2, 4, 8] {
        place.yes(&format!("from-json in.json -f -o out.lbuf --min-width {width}"));
        assert!(place.yes("inspect out.lbuf").contains(&format!("column i{}", width * 8)));
    }
}

// --- files ----------------------------------------------------------------------------

#[test]
fn nothing_is_written_over_unless_forced() {
    let place = Place::new();
    place.file("in.json", USERS);
    place.file("there", "mine");
    place.document("x.lbuf", "1");
    for line in ["from-json in.json -o there", "to-json x.lbuf -o there", "compact x.lbuf -o there"]
    {
        says(place.run(line), 2, &["there: exists already", "-f"]);
        assert_eq!(fs::read(place.path("there")).unwrap(), b"mine");
    }
    // Not even where the work fails.
    place.file("bad.json", "{");
    says(place.run("from-json -f bad.json -o there"), 2, &["bad.json"]);
    assert_eq!(fs::read(place.path("there")).unwrap(), b"mine");
    place.yes("from-json -f in.json -o there");
    assert_eq!(place.yes("get there /n"), "5\n");
    assert_eq!(place.names(), ["bad.json", "in.json", "there", "x.lbuf"]);
    // Through a link, which stays; and rights are kept.
    use std::os::unix::fs::PermissionsExt;
    std::os::unix::fs::symlink("there", place.path("link")).unwrap();
    fs::set_permissions(place.path("there"), fs::Permissions::from_mode(0o640)).unwrap();
    place.yes("to-json -f x.lbuf -o link");
    assert!(place.path("link").is_symlink());
    assert_eq!(fs::read(place.path("there")).unwrap(), b"1\n");
    assert_eq!(fs::metadata(place.path("there")).unwrap().permissions().mode() & 0o777, 0o640);
    // A device is written as it is.
    place.yes("from-json in.json -o /dev/null");
    assert!(fs::metadata("/dev/null").unwrap().len() == 0);
}

#[test]
fn missing_files_directories_and_full_disks_are_trouble() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    fs::create_dir(place.path("dir")).unwrap();
    for command in [
        "from-json FILE -o out",
        "to-json FILE",
        "get FILE /a",
        "set FILE /a 1",
        "remove FILE /a",
        "push FILE /a 1",
        "keys FILE /a",
        "validate FILE",
        "stats FILE",
        "inspect FILE",
        "compact FILE",
        "demo FILE",
    ] {
        says(place.run(&command.replace("FILE", "gone.lbuf")), 2, &["gone.lbuf: no such file"]);
        says(place.run(&command.replace("FILE", "dir")), 2, &["dir: is a directory"]);
    }
    says(place.run("to-json x.lbuf -o dir"), 2, &["dir: is a directory"]);
    says(place.run("to-json x.lbuf -o gone/x"), 2, &["gone/x: no such file"]);
    assert_eq!(place.names(), ["dir", "x.lbuf"]);
    if Path::new("/dev/full").exists() {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = std::process::Command::new(BINARY)
            .args(["to-json"])
            .arg(place.path("x.lbuf"))
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("standard output: no space left"), "{text}");
    }
}

#[test]
fn json_where_a_document_is_due_is_told_what_to_do() {
    let place = Place::new();
    place.file("in.json", USERS);
    place.file("other", "neither this nor that");
    place.file("empty", "");
    for command in [
        "set FILE /a 1",
        "remove FILE /a",
        "push FILE /a 1",
        "validate FILE",
        "inspect FILE",
        "compact FILE",
    ] {
        let line = command.replace("FILE", "in.json");
        let words = [
            "in.json: not a LiveBuf document; it looks like JSON\n",
            "run livebuf from-json in.json -o in.lbuf",
            "get, query, keys, tree,",
        ];
        says(place.run(&line), 2, &words);
        says(place.run(&command.replace("FILE", "other")), 2, &["other: not a LiveBuf document"]);
        says(place.run(&command.replace("FILE", "empty")), 2, &["empty: not a LiveBuf document"]);
        assert_eq!(fs::read_to_string(place.path("in.json")).unwrap(), USERS);
    }
    for command in ["to-json FILE", "get FILE /a", "keys FILE /a", "stats FILE", "query FILE $"] {
        says(place.run(&command.replace("FILE", "other")), 2, &["other: not"]);
        says(place.run(&command.replace("FILE", "empty")), 2, &["empty: not a LiveBuf document"]);
    }
    let piped = place.command(&["validate", "-"]).write_stdin(USERS).assert();
    says(piped, 2, &["standard input: not a LiveBuf document", "run livebuf from-json - -o OUT"]);
}

#[test]
fn a_damaged_document_is_a_no_to_validate_and_trouble_elsewhere() {
    let place = Place::new();
    let document = livebuf_json::from_str(USERS).unwrap();
    let mut bytes = document.to_vec();
    // The root leads out of the document.
    bytes[8..12].copy_from_slice(&0x00FF_FFF8u32.to_le_bytes());
    place.file("bad.lbuf", &bytes);
    place.file("cut.lbuf", &document.as_bytes()[..100]);
    says(place.run("validate bad.lbuf"), 1, &["bad.lbuf: damaged", "offset"]);
    says(place.run("validate cut.lbuf"), 1, &["cut.lbuf: damaged", "cut short"]);
    place.run("validate -q bad.lbuf").code(1).stdout("").stderr("");
    // Quiet is the verdict, not trouble; --help says so.
    place.file("good.lbuf", document.as_bytes());
    place.run("validate -q good.lbuf").code(0).stdout("").stderr("");
    says(place.run("validate -q gone.lbuf"), 2, &["gone.lbuf: no such file"]);
    place.file("in.json", USERS);
    says(place.run("validate -q in.json"), 2, &["in.json: not a LiveBuf document"]);
    let help = place.yes("validate --help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("is still reported on standard error"), "{help}");
    for command in ["to-json FILE", "get FILE /n", "set FILE /n 1", "stats FILE", "compact FILE"] {
        for file in ["bad.lbuf", "cut.lbuf"] {
            says(place.run(&command.replace("FILE", file)), 2, &[file, "damaged"]);
        }
    }
    assert_eq!(
        fs::read(place.path("bad.lbuf")).unwrap(),
        bytes,
        "a damaged document is not edited"
    );
    // inspect shows what it can.
    let shown = place.run("inspect bad.lbuf").code(2);
    let text = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(text.contains("not reached") && text.contains("magic, version 1"), "{text}");
    // Every single byte changed: an answer or a complaint, never a crash.
    for at in (0..document.as_bytes().len()).step_by(7) {
        let mut bytes = document.to_vec();
        bytes[at] ^= 0xFF;
        place.file("x.lbuf", &bytes);
        for line in ["inspect x.lbuf", "get x.lbuf /users/1/tags", "validate x.lbuf"] {
            let assert = place.run(line);
            let status = assert.get_output().status.code();
            assert!(matches!(status, Some(0..=2)), "{line}, byte {at}: {status:?}");
            let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
            assert!(!text.contains("panicked"), "{line}, byte {at}: {text}");
        }
    }
    bytes = document.to_vec();
    bytes[4] = 9;
    place.file("new.lbuf", &bytes);
    says(place.run("validate new.lbuf"), 2, &["new.lbuf", "another version: 9"]);
}

// --- looking --------------------------------------------------------------------------

#[test]
fn values_are_got_as_json_and_raw() {
    let place = Place::new();
    place.document("x.lbuf", r#"{"a":{"b":[1,"two\n",null]},"k/~":1.5,"":true}"#);
    assert_eq!(place.yes("get x.lbuf /a/b/1"), "\"two\\n\"\n");
    assert_eq!(place.yes("get -r x.lbuf /a/b/1"), "two\n\n");
    assert_eq!(
        place.yes("get x.lbuf /a /k~1~0 / /a/b/2"),
        "{\"b\":[1,\"two\\n\",null]}\n1.5\ntrue\nnull\n"
    );
    assert_eq!(place.yes("get --pretty x.lbuf /a/b"), "[\n  1,\n  \"two\\n\",\n  null\n]\n");
    let all = place.command(&["get", "x.lbuf", ""]).assert().success();
    assert!(all.get_output().stdout.starts_with(b"{\"a\":"));
    // What is there is printed; the status tells of what is not.
    let some = place.run("get x.lbuf /a/b/0 /no /a/b/-").code(1).stdout("1\n");
    some.stderr(predicate::str::contains("/no is not there"));
    for pointer in ["/a/b/3", "/a/b/01", "/a/b/0/x", "/A"] {
        says(place.run(&format!("get x.lbuf {pointer}")), 1, &[pointer, "is not there"]);
    }
    says(place.run("get x.lbuf a/b"), 2, &["not a JSON pointer", "\"/a/b\""]);
    says(place.run("get x.lbuf /a~2"), 2, &["not a JSON pointer", "~1 stands for /"]);
    place.run("get x.lbuf /a~2 /a").code(2).stdout("");
    // Bytes, which JSON has not.
    let mut document = DocBuf::new().unwrap();
    document.set_root(&b"\x00\xFFbytes"[..]).unwrap();
    place.file("bytes.lbuf", document.as_bytes());
    let json = place.command(&["get", "bytes.lbuf", ""]).assert().success();
    json.stdout("\"AP9ieXRlcw==\"\n");
    place
        .command(&["get", "-r", "bytes.lbuf", ""])
        .assert()
        .success()
        .stdout(&b"\x00\xFFbytes"[..]);
}

/// `get` printed values as it went: what JSON has not, at a later pointer, ended it with
/// status 2 and half its output printed. And it advised an option that only to-json has.
#[test]
fn get_prints_all_its_output_or_none() {
    let place = Place::new();
    // The second value is short; then too long to be kept in memory while others are looked at.
    for length in [1, 17 << 20] {
        let mut document = DocBuf::new().unwrap();
        document.set_root(New::object(0)).unwrap();
        document.set_pointer("/event", "lap").unwrap();
        document.set_pointer("/time_sec", f64::NAN).unwrap();
        document.set_pointer("/list", New::array(0)).unwrap();
        document.set_pointer("/list/-", &*"x".repeat(length)).unwrap();
        document.set_pointer("/list/-", f64::INFINITY).unwrap();
        place.file("nan.lbuf", document.as_bytes());
        for (line, what) in [
            ("get nan.lbuf /event /time_sec", "/time_sec is an infinity or NaN"),
            ("get nan.lbuf /event /list", "/list holds an infinity or NaN"),
            ("get --pretty nan.lbuf /event /no /list/0 /list", "/list holds an infinity or NaN"),
            ("get nan.lbuf /event /list /time_sec", "/list holds an infinity or NaN"),
            ("get nan.lbuf /list/0 /time_sec", "/time_sec is an infinity or NaN"),
        ] {
            says(place.run(line), 2, &["nan.lbuf: ", what, "livebuf to-json --non-finite null"]);
        }
        let root = place.command(&["get", "nan.lbuf", "/event", ""]).assert();
        says(root, 2, &["the root holds an infinity or NaN"]);
        let long = place.yes("get nan.lbuf /event /list/0 /event");
        assert_eq!(long.len(), length + 15);
        assert!(long.starts_with("\"lap\"\n\"x") && long.ends_with("x\"\n\"lap\"\n"));
    }
    // A kind that this version does not know, behind one it knows.
    let unknown = unknown_kind();
    place.file("new.lbuf", &unknown);
    assert_eq!(place.yes("get new.lbuf /known"), "1\n");
    says(place.run("get new.lbuf /known /new"), 2, &["new.lbuf: ", "does not know"]);
    assert!(place.yes("get --help").contains("the exit status is 1"));
}

/// A valid document `{"known": 1, "new": …}` whose second value has a reserved tag.
fn unknown_kind() -> Vec<u8> {
    let mut bytes = livebuf_json::from_str(r#"{"known":1,"new":2.5}"#).unwrap().to_vec();
    let [int, float] = [livebuf::layout::TAG_INT, livebuf::layout::TAG_FLOAT];
    let tags: Vec<usize> =
        (0..bytes.len() - 1).filter(|&at| bytes[at..at + 2] == [int, float]).collect();
    let [tags] = tags[..] else { panic!("the tags are at one of {tags:?}") };
    bytes[tags + 1] = 0x0C;
    livebuf::Doc::open(&bytes).unwrap().validate().unwrap();
    bytes
}

#[test]
fn keys_are_listed_in_order_and_by_range() {
    let place = Place::new();
    place.document("x.lbuf", r#"{"o":{"pear":1,"apple":2,"plum\n":3,"fig":4},"l":[1]}"#);
    assert_eq!(place.yes("keys x.lbuf /o"), "\"pear\"\n\"apple\"\n\"plum\\n\"\n\"fig\"\n");
    assert_eq!(place.yes("keys -r x.lbuf /o --prefix p"), "pear\nplum\n\n");
    assert_eq!(place.yes("keys x.lbuf /o --from b --to pf"), "\"fig\"\n\"pear\"\n");
    assert_eq!(place.yes("keys x.lbuf /o --from fig"), "\"fig\"\n\"pear\"\n\"plum\\n\"\n");
    assert_eq!(place.yes("keys x.lbuf /o --to fig"), "\"apple\"\n");
    assert_eq!(place.yes("keys x.lbuf /o --prefix x"), "");
    // Without a pointer it is the whole document, as for inspect.
    assert_eq!(place.yes("keys x.lbuf"), "\"o\"\n\"l\"\n");
    assert_eq!(place.yes("keys -r x.lbuf --from n"), "o\n");
    says(place.run("keys x.lbuf /no"), 1, &["/no is not there"]);
    says(place.run("keys x.lbuf /l"), 2, &["/l is an array", "only objects"]);
    says(place.run("keys x.lbuf /o --prefix a --from b"), 2, &["cannot be used with"]);
    // The same over a map.
    let members: Vec<String> = (0..1000).map(|key| format!("\"key{key:04}\":{key}")).collect();
    place.document("map.lbuf", &format!("{{{}}}", members.join(",")));
    let keys = place.command(&["keys", "-r", "map.lbuf", "", "--prefix", "key012"]).assert();
    let expected: String = (120..130).map(|key| format!("key{key:04}\n")).collect();
    keys.success().stdout(expected);
}

#[test]
fn stats_and_inspect_tell_where_the_bytes_are() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    let stats = place.yes("stats x.lbuf");
    for word in
        ["records", "shapes", "live", "free", "garbage and padding", "used", "as JSON", "100.0 %"]
    {
        assert!(stats.contains(word), "{word}: {stats}");
    }
    let json_length = USERS.len().to_string();
    assert!(stats.contains(&format!("compact: {json_length} bytes")), "{stats}");

    let text = place.yes("inspect x.lbuf");
    for word in
        ["header", "record", "shape", "array data", "magic, version 1", "\"age\": integer 36"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains('\x1b'), "no colours into a pipe");
    // Every byte once.
    let hex = |line: &str| {
        let bytes = line.get(12..36).unwrap_or("");
        bytes.split_whitespace().filter(|word| word.len() == 2).count()
    };
    let shown: usize = text.lines().filter(|line| line.starts_with("   ")).map(hex).sum();
    assert_eq!(shown as u64, fs::metadata(place.path("x.lbuf")).unwrap().len());
    let coloured = place.command(&["inspect", "x.lbuf"]).env("CLICOLOR_FORCE", "1").assert();
    assert!(coloured.success().get_output().stdout.contains(&0x1B));
    let plain = place.command(&["inspect", "x.lbuf"]).env("NO_COLOR", "1").assert();
    assert_eq!(plain.success().get_output().stdout, text.as_bytes());

    let age = place.yes("inspect x.lbuf /users/0/age");
    assert_eq!(age.lines().count(), 2, "{age}");
    assert!(age.contains("in its record") && age.contains("\"age\": integer 36"), "{age}");
    let user = place.yes("inspect x.lbuf /users/1");
    assert!(
        user.contains("[1]: object at") && user.contains("cobol") && !user.contains("Ada"),
        "{user}"
    );
    says(place.run("inspect x.lbuf /users/9"), 1, &["/users/9 is not there"]);
}

/// `stats` failed with status 2 on a valid document that holds a reserved tag, because
/// it also prints the document as JSON to compare sizes.
#[test]
fn stats_list_the_columns_of_tables() {
    let place = Place::new();
    let lines: String = (0..50)
        .map(|row| format!("{{\"id\":{row},\"place\":{{\"x\":0.5}},\"tags\":[\"a\"]}}\n"))
        .collect();
    fs::write(place.path("rows.ndjson"), &lines).unwrap();
    place.yes("from-json --lines rows.ndjson -o x.lbuf");
    let stats = place.yes("stats x.lbuf");
    // `get` refuses these paths, so it is said what * is.
    let title = "2 tables with 4 columns; * stands for each element or member:";
    for word in [title, "/*/id", "/*/place/x", "f32", "/*/tags/*", "text"] {
        assert!(stats.contains(word), "{word:?} is not in\n{stats}");
    }
    let json: serde_json::Value = serde_json::from_str(&place.yes("stats --json x.lbuf")).unwrap();
    let columns = json["columns"].as_array().unwrap();
    let ids = columns.iter().find(|column| column["path"] == "/*/id").unwrap();
    assert_eq!((&ids["type"], &ids["rows"], &ids["bytes"]), (&"i8".into(), &50.into(), &56.into()));
    // A code each, the texts' header, and one text.
    let tags = columns.iter().find(|column| column["path"] == "/*/tags/*").unwrap();
    assert_eq!((&tags["type"], &tags["bytes"]), (&"dictionary u8".into(), &80.into()));
    assert_eq!((&json["depth"], &json["bytes"]["free"]), (&3.into(), &0.into()));
    assert_eq!((&tags["text"], &ids["text"]), (&0.into(), &0.into()));
    place.yes("from-json --lines --min-width 8 -f rows.ndjson -o x.lbuf");
    assert!(place.yes("stats x.lbuf").contains("f64"));
    place.yes("from-json --lines --no-tables -f rows.ndjson -o x.lbuf");
    assert!(!place.yes("stats x.lbuf").contains("tables with"));
    assert!(place.yes("stats --help").contains("* stands for each element"));
}

/// Texts of columns of each kind, by their bytes: a dictionary's once, those of a run as they lie
/// there, and those of a plain column but for those in cells.
#[test]
fn stats_count_the_text_of_columns() {
    let place = Place::new();
    let lines: String = (0..50)
        .map(|row| {
            let long = "a text that is too long for a run ".repeat(if row == 7 { 40 } else { 1 });
            let name = if row == 3 { "null".to_owned() } else { format!("\"the name {row}\"") };
            format!("{{\"name\":{name},\"unit\":\"unit {}\",\"long\":\"{long}\"}}\n", row % 2)
        })
        .collect();
    fs::write(place.path("rows.ndjson"), &lines).unwrap();
    place.yes("from-json --lines rows.ndjson -o x.lbuf");
    let json: serde_json::Value = serde_json::from_str(&place.yes("stats --json x.lbuf")).unwrap();
    let column = |path: &str| {
        let columns = json["columns"].as_array().unwrap();
        let column = columns.iter().find(|column| column["path"] == path).unwrap();
        [&column["type"], &column["bytes"], &column["text"], &column["gaps"]]
            .map(ToString::to_string)
    };
    // Nine names of 10 bytes and forty of 11: bits, and 51 offsets of two bytes.
    assert_eq!(column("/*/name"), ["\"text run\"", "112", "530", "true"]);
    // Codes, the header behind them, and two cells, which hold the texts.
    assert_eq!(column("/*/unit"), ["\"dictionary u8\"", "88", "0", "false"]);
    // Cells, and both texts once.
    assert_eq!(column("/*/long"), ["\"text\"", "400", "1394", "false"]);
    let stats = place.yes("stats x.lbuf");
    assert!(stats.contains("/*/name  text run") && stats.contains("530  some null"), "{stats}");
}

/// Bug: a map of similar objects is a table, whose columns were not listed. "1 table with 2
/// columns" stood over an empty list, and `--json` had none either. Maps are looked at as arrays are.
#[test]
fn stats_list_the_columns_of_maps() {
    let place = Place::new();
    let users: Vec<_> = (0..400)
        .map(|n| format!(r#""user {n}":{{"age":{},"at":{{"x":0.5}},"tags":[{n}]}}"#, n % 90))
        .collect();
    let users = format!("{{{}}}", users.join(","));
    place.document("x.lbuf", &users);
    place.document("below.lbuf", &format!(r#"{{"us/ers":{users}}}"#));
    for (file, above) in [("x.lbuf", ""), ("below.lbuf", "/us~1ers")] {
        let stats = place.yes(&format!("stats {file}"));
        let title = "2 tables with 4 columns; * stands for each element or member:";
        assert!(stats.contains(title), "{title} is not in\n{stats}");
        let json = stats_of(&place, file);
        assert_eq!((&json["tables"], &json["typed_arrays"]), (&2.into(), &0.into()));
        let columns = paths_of(&json);
        let expected = ["/*/age", "/*/at", "/*/at/x", "/*/tags", "/*/tags/*"];
        assert_eq!(columns, expected.map(|path| format!("{above}{path}")));
        for column in json["columns"].as_array().unwrap() {
            assert!(
                stats.contains(column["path"].as_str().unwrap()),
                "{column} is not in\n{stats}"
            );
            assert_eq!(column["rows"], 400, "{column}");
        }
        assert_eq!(
            (&json["columns"][0]["type"], &json["columns"][0]["bytes"]),
            (&"i8".into(), &400.into())
        );
    }
    // A row whose member was removed stays, as null.
    place.command(&["remove", "below.lbuf", "/us~1ers/user 7"]).assert().success();
    let json = stats_of(&place, "below.lbuf");
    assert_eq!((&json["columns"][0]["rows"], paths_of(&json).len()), (&400.into(), 5));
}

/// Bug: arrays outside of tables were not listed, so that nobody saw which of them are stored as
/// numbers, dictionaries or runs. They are listed with their type and bytes.
#[test]
fn stats_list_arrays_of_one_type() {
    let place = Place::new();
    let list = |of: &dyn Fn(usize) -> String| (0..50).map(of).collect::<Vec<_>>().join(",");
    let json = format!(
        r#"{{"floats":[{}],"codes":[{}],"run":[{}],"deep":[5,{{"bits":[{}]}}],"pairs":[{}],
            "gaps":[{}],"any":[1,"x",null],"none":[],"one":5}}"#,
        list(&|n| format!("{n}.1")),
        list(&|n| format!("\"unit {}\"", n % 2)),
        list(&|n| format!("\"the name {n}\"")),
        list(&|n| (n % 3 == 0).to_string()),
        list(&|n| format!("[{n},{n}]")),
        list(&|n| if n == 3 { "null".to_owned() } else { (1000 + n).to_string() }),
    );
    place.document("x.lbuf", &json);
    let json = stats_of(&place, "x.lbuf");
    let found: Vec<_> = json["columns"].as_array().unwrap().iter().map(row).collect();
    let expected = [
        ("/floats/*", "f64", 50, 400, 0),
        ("/codes/*", "dictionary u8", 50, 88, 0),
        ("/run/*", "text run", 50, 104, 540),
        ("/deep/1/bits/*", "bool", 50, 8, 0),
        ("/pairs/*", "list of fixed length", 50, 0, 0),
        ("/pairs/*/*", "i8", 100, 104, 0),
        ("/gaps/*", "i16", 50, 112, 0),
    ];
    let expected = expected.map(|(path, kind, rows, bytes, text)| {
        (path.to_owned(), kind.to_owned(), rows, bytes, text)
    });
    assert_eq!(found, expected);
    assert_eq!((&json["typed_arrays"], &json["more_columns"]), (&6.into(), &0.into()));
    let stats = place.yes("stats x.lbuf");
    assert!(stats.contains("\n6 arrays of one type; * stands for each element or member:\n"));
    for (path, kind, ..) in expected {
        let row = stats.lines().find(|row| row.trim_start().starts_with(&format!("{path} ")));
        assert!(row.is_some_and(|row| row.contains(&kind)), "{path} is not in\n{stats}");
    }
    assert!(stats.contains("some null") && !stats.contains("\nand "), "{stats}");

    let rows = list(&|n| format!(r#"{{"id":{n}}}"#));
    place.document("both.lbuf", &format!(r#"{{"rows":[{rows}],"list":[1,2]}}"#));
    let stats = place.yes("stats both.lbuf");
    assert!(stats.contains("1 table with 1 column, 1 array of one type; *"), "{stats}");
    assert_eq!(paths_of(&stats_of(&place, "both.lbuf")), ["/rows/*/id", "/list/*"]);
    place.document("root.lbuf", "[1,2,3]");
    assert_eq!(paths_of(&stats_of(&place, "root.lbuf")), ["/*"]);
    place.document("none.lbuf", r#"{"any":[1,"x"],"none":[]}"#);
    assert!(!place.yes("stats none.lbuf").contains("stands for"));
}

/// A document can have more arrays than anybody reads, or than memory holds a list of.
#[test]
fn stats_list_the_largest_arrays() {
    let place = Place::new();
    let numbers = |count: usize| vec!["1000"; count].join(",");
    // The large ones are far apart: number 7, 107, 207 and so on.
    let lists = (0..2500).map(|n| {
        let numbers = numbers(if n % 100 == 7 { 200 + n } else { 1 + n % 3 });
        format!(r#""list {n}":[{numbers}]"#)
    });
    let lists = lists.collect::<Vec<_>>().join(",");
    place.document("x.lbuf", &format!("{{{lists}}}"));
    let json = stats_of(&place, "x.lbuf");
    assert_eq!((&json["typed_arrays"], &json["more_columns"]), (&2500.into(), &1500.into()));
    let paths = paths_of(&json);
    assert_eq!(paths.len(), 1000);
    let large: Vec<_> = (7..2500).step_by(100).map(|n| format!("/list {n}/*")).collect();
    let stats = place.yes("stats x.lbuf");
    let listed: Vec<_> = stats
        .lines()
        .filter_map(|line| line.trim().split("  ").next().filter(|path| path.starts_with('/')))
        .collect();
    assert_eq!(listed.len(), 200);
    assert!(stats.contains("2,500 arrays of one type") && stats.contains("\nand 2,300 more\n"));
    // All large ones, in the document's order.
    for paths in [paths.iter().map(String::as_str).collect(), listed] {
        let found: Vec<_> =
            paths.iter().filter(|path| large.iter().any(|one| one == *path)).collect();
        assert_eq!(found, large.iter().collect::<Vec<_>>());
        let numbers =
            paths.iter().map(|path| path.split(['/', ' ']).nth(2).unwrap().parse().unwrap());
        assert!(numbers.collect::<Vec<u32>>().is_sorted());
    }
}

/// Arrays of rows differ from row to row: those of the first are none of the whole column.
#[test]
fn stats_list_no_arrays_of_one_row() {
    let place = Place::new();
    let rows: Vec<_> = (0..50)
        .map(|n| match n % 2 {
            0 => format!(r#"{{"id":{n},"any":[1,2,{n}]}}"#),
            _ => format!(r#"{{"id":{n},"any":{{"x":["a","b"]}}}}"#),
        })
        .collect();
    place.document("x.lbuf", &format!("[{}]", rows.join(",")));
    let json = stats_of(&place, "x.lbuf");
    assert_eq!(paths_of(&json), ["/*/id", "/*/any"]);
    assert_eq!(json["typed_arrays"], 0);
}

/// Path, type, rows, bytes and bytes of text of a listed column.
fn row(column: &serde_json::Value) -> (String, String, u64, u64, u64) {
    let text = |key: &str| column[key].as_str().unwrap().to_owned();
    let number = |key: &str| column[key].as_u64().unwrap();
    (text("path"), text("type"), number("rows"), number("bytes"), number("text"))
}

fn stats_of(place: &Place, file: &str) -> serde_json::Value {
    serde_json::from_str(&place.yes(&format!("stats --json {file}"))).unwrap()
}

fn paths_of(json: &serde_json::Value) -> Vec<String> {
    json["columns"].as_array().unwrap().iter().map(|column| row(column).0).collect()
}

/// Lines were up to 226 characters long. What is too long for 80 columns goes on below.
#[test]
fn inspect_fits_a_terminal() {
    let place = Place::new();
    let wide = "幅".repeat(40);
    let key = "a key of many short words, so that it can be cut anywhere";
    let json = format!(
        r#"{{"{key}":"{}","{wide}":["{wide}"],"word{}":[[],{{}},true,null,1.5,"text",[1],7]}}"#,
        "a text of many words ".repeat(9),
        "x".repeat(90),
    );
    place.document("x.lbuf", &json);
    let text = place.yes("inspect x.lbuf");
    // Han characters are two columns wide.
    let width = |line: &str| -> usize {
        line.chars().map(|letter| if letter == '幅' { 2 } else { 1 }).sum()
    };
    let widest = text.lines().map(width).max().unwrap();
    assert!((70..=80).contains(&widest), "{widest} in\n{text}");
    // Nothing is lost by it, and nothing added.
    assert!(!text.lines().any(|line| line.trim() == "unused"), "{text}");
    let letters = text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
    for word in [
        r#""akeyofmanyshortwords,sothatitca"…:text"atextofmanywordsatextofmanyword"…,at"#,
        &format!(r#""{wide}":arrayat"#),
        &format!(r#""word{}"…:arrayat"#, "x".repeat(36)),
        "tags:array,object,true,null,float,text,array,integer",
    ] {
        assert!(letters.contains(word), "{word} is not in\n{text}");
    }
}

/// "1 tables with 1 columns", "1 objects".
#[test]
fn one_is_no_plural() {
    let place = Place::new();
    let rows: Vec<String> = (0..50).map(|row| format!("{{\"id\":{row}}}")).collect();
    place.document("table.lbuf", &format!("[{}]", rows.join(",")));
    place.document("one.lbuf", "5");
    place.document("list.lbuf", "[[true]]");
    place.document("edit.lbuf", r#"{"a":"a text that is long","n":1,"l":[1]}"#);
    place.yes("remove edit.lbuf /a");
    let told = place.run("set -v edit.lbuf /n 2").success();
    let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
    let failed = place.run("set edit.lbuf /l/7 2").code(2);
    let failed = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    let patch = r#"[{"op":"add","path":"/l/7","value":2}]"#;
    let patched = place.command(&["patch", "edit.lbuf", patch]).assert().code(2);
    let patched = String::from_utf8_lossy(&patched.get_output().stderr).into_owned();
    let stats = place.yes("stats table.lbuf");
    let one = place.yes("stats one.lbuf");
    let bytes = place.yes("inspect edit.lbuf") + &place.yes("inspect list.lbuf");
    let table = place.yes("inspect table.lbuf");
    for (text, words) in [
        (&stats, &["1 table with 1 column;", "1 array,", "50 objects"][..]),
        (&one, &["1 value: 0 objects, 0 arrays", "compact: 1 byte;"]),
        (&bytes, &["1 block in the free list", "and on: 1 bit"]),
        (&table, &["further fields none; 1 column", "column struct, count 50"]),
        (&told, &["in 1 place"]),
        (&failed, &["has 1 element,"]),
        (&patched, &["has 1 element;"]),
    ] {
        for word in words {
            assert!(text.contains(word), "{word:?} is not in\n{text}");
        }
        let is_plural = |pair: &[&str]| pair[0] == "1" && pair[1].ends_with('s');
        let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric()).collect();
        let wrong: Vec<_> = words.windows(2).filter(|pair| is_plural(pair)).collect();
        assert!(wrong.is_empty(), "{wrong:?} in\n{text}");
    }
}

/// "/nope is not there" had no colour, where all other errors have it.
#[test]
fn errors_are_coloured_alike() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    for (arguments, status) in [
        (&["get", "x.lbuf", "/nope"][..], 1),
        (&["remove", "x.lbuf", "/nope"], 1),
        (&["get", "x.lbuf", "nope"], 2),
    ] {
        let assert = place.command(arguments).env("CLICOLOR_FORCE", "1").assert().code(status);
        let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(text.starts_with("\x1b[1m\x1b[31mlivebuf:\x1b[0m "), "{text:?}");
        says(place.command(arguments).assert(), status, &["nope"]);
    }
}

#[test]
fn stats_of_what_json_cannot_show_leave_the_comparison_out() {
    let place = Place::new();
    place.file("new.lbuf", unknown_kind());
    let stats = place.yes("stats new.lbuf");
    for word in ["records", "used", "3 values: 1 object,", "not as JSON", "does not know"] {
        assert!(stats.contains(word), "{word}: {stats}");
    }
    assert!(!stats.contains("as JSON, compact"), "{stats}");
}

#[test]
fn the_bytes_of_every_kind_of_block_are_named() {
    let place = Place::new();
    let long = "x".repeat(300);
    let members: Vec<String> = (0..600).map(|key| format!("\"{key} {long}\":{key}")).collect();
    let rows: Vec<String> = (0..40)
        .map(|row| match row % 2 {
            0 => format!(r#"{{"id":{row},"place":{{"at":[{row},2]}},"tags":[],"no":null}}"#),
            _ => format!(r#"{{"id":{row},"place":null,"tags":["x"],"no":null,"odd":true}}"#),
        })
        .collect();
    let json = format!(
        r#"{{"map":{{{}}},"i":[1,-300,70000],"f":[1.5,0.1],"b":[true,false],"s":["a","a longer text"],
           "mixed":[null,1,"x",{{}},[],123456789012345678901],"aa":[[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],["x"]],"shared":["a longer text"],
           "codes":["open","held, for a while","open","open","open","open","open","open","open","open","open","open"],
           "run":["Ada",null,"Bo","Cy","Dora","Eve","a longer text","Gus","Hal","Ian","Jo","Kim","Liz","Mo","Ned","Ole",
                  "Pia","Quy","Roy","Sue"],
           "table":[{}]}}"#,
        members.join(","),
        rows.join(",")
    );
    let mut document = livebuf_json::from_str(&json).unwrap();
    let map = document.find("/map").unwrap().unwrap();
    document.order(map).unwrap();
    place.file("x.lbuf", document.as_bytes());
    place.yes("remove x.lbuf /i");
    place.yes("set x.lbuf /new 1");
    place.yes("push x.lbuf /run --string Tom");
    let pointer = format!("/map/7 {long}");
    place.command(&["remove", "x.lbuf", &pointer]).assert().success();
    let text = place.inspected(&["x.lbuf"]);
    for word in [
        "aux, ",
        "free, ",
        "forward, ",
        "map, ",
        "map keys, ",
        "index node, ",
        "shared text, ",
        "classes; ",
        "freed since merged",
        "older shape",
        "live 599",
        "buckets 75",
        "tree at",
        "hash block, ",
        "bucket 66: fingerprints of",
        "all at home",
        "column dictionary u8, count 12",
        "[0]: text 0",
        "texts: column text, count 2",
        "column text run, count 21, some null",
        "list of texts of any length",
        "[0]: text \"Ada\", from 0, [1]: text \"\", from",
        "[20]: text \"Tom\", from",
        "texts end at",
        "elements: column u8, count",
        "AdaBoCyD",
        "entry 7: hole",
        "entry 8: key \"8 xxx",
        "[8]: integer 8",
        "leaf, count",
        "level 1, count",
        "item 0: entry",
        "item 0: node at",
        "fingerprints",
        "\"i\": hole",
        "the block is at",
        "column f64, count 2",
        "[1]: 0.1",
        "column bool",
        "[0] and on: 2 bits",
        "column text, count 2",
        "[0]: text \"a\", inline",
        "column cells, count 6",
        "[0]: null",
        "[5]: number text \"123456789012345678901\"",
        "column arrays, count 2",
        "[0]: array at",
        "column i8, count 16",
        "table; shape at",
        "bitmaps none; of the array at",
        "further fields none; 5 columns",
        "column 1 of the table at",
        "\"id\": column i8, count 40",
        "\"place\": column struct, count 40, some null",
        "\"odd\": column bool, count 40, some missing",
        "\"no\": column null, count 40, some null",
        "list of arrays of any length",
        "list of arrays of 2 each",
        "offsets: column u8, count 41",
        "bits 0 and on: has a value, or is null",
        "capacity 0, used 0",
        "unused",
        "bytes of zeros",
        "the last of its class; size",
    ] {
        assert!(text.contains(word), "{word:?} is not in what inspect says");
    }
    assert!(!text.contains("not reached"));
    let row = place.inspected(&["x.lbuf", "/run/6"]);
    assert!(
        row.contains("in its array data") && row.contains("[6]: text \"a longer text\""),
        "{row}"
    );
    let text = place.inspected(&["x.lbuf", &format!("/map/8 {long}")]);
    assert!(text.contains("in its map keys") && text.contains("entry 8: key "), "{text}");
    assert!(text.contains("in its array data") && text.contains("[8]: integer 8"), "{text}");
}

/// Bug: the header behind a dictionary's codes was followed like any other. In a damaged document
/// it may say that it is itself a dictionary's, whose texts' header is itself. `inspect` then
/// ended by a stack overflow. Fix: from a header behind slots no other one is followed.
#[test]
fn a_header_behind_slots_that_leads_to_itself_is_told() {
    let place = Place::new();
    let texts = [r#""a text that occurs again","b""#; 6].join(",");
    let doc = livebuf_json::from_str(&format!("[{texts}]")).unwrap();
    let good = doc.as_bytes();
    // The array's header is at 32, and its data at 48: 12 codes, then the header at 64.
    assert_eq!((good[33], good[40], good[44], good[65]), (23, 12, 48, 12));
    for code in 23..=25 {
        let mut bytes = good.to_vec();
        (bytes[33], bytes[65], bytes[72], bytes[76]) = (code, code, 12, 48);
        place.file("loop.lbuf", &bytes);
        let assert = place.run("inspect loop.lbuf").code(2);
        let output = assert.get_output();
        assert!(String::from_utf8_lossy(&output.stderr).contains("is damaged"));
        assert!(String::from_utf8_lossy(&output.stdout).contains("not reached"));
    }
}

// --- editing --------------------------------------------------------------------------

#[test]
fn edits_are_made_in_place() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    let json = |expected: &str| assert_eq!(place.yes("to-json x.lbuf"), format!("{expected}\n"));
    place.yes("set x.lbuf /n 6");
    place.yes("set x.lbuf /n -7");
    place.yes("set x.lbuf /users/0/age 37.5");
    place.yes("set x.lbuf /users/0/name --string Augusta");
    json(
        r#"{"users":[{"name":"Augusta","age":37.5},{"name":"Grace","tags":["navy","cobol"]}],"n":-7}"#,
    );
    place.yes(r#"set x.lbuf /users/1/tags/- {"more":[1,"two"]}"#);
    place.yes("push x.lbuf /users/1/tags null");
    place.yes("push x.lbuf /users/1/tags --string true");
    assert_eq!(
        place.yes("get x.lbuf /users/1/tags"),
        "[\"navy\",\"cobol\",{\"more\":[1,\"two\"]},null,\"true\"]\n"
    );
    place.yes("remove x.lbuf /users/1/tags/0");
    place.yes("remove x.lbuf /users/0");
    place.yes("remove x.lbuf /n");
    json(r#"{"users":[{"name":"Grace","tags":["cobol",{"more":[1,"two"]},null,"true"]}]}"#);
    place.command(&["set", "x.lbuf", "", "[1]"]).assert().success();
    place.command(&["push", "x.lbuf", "", "2"]).assert().success();
    json("[1,2]");
    place.yes("validate x.lbuf");
    assert_eq!(place.names(), ["x.lbuf"], "nothing is left beside it");
}

#[test]
fn parents_are_made_when_asked() {
    let place = Place::new();
    place.document("x.lbuf", r#"{"a":{"b":1},"l":[{"x":1}],"s":"text"}"#);
    says(place.run("set x.lbuf /c/d/e 1"), 2, &["x.lbuf: /c is not there", "-p makes"]);
    place.yes("set -p x.lbuf /c/d/e 1");
    place.yes("set -p x.lbuf /a/b 2");
    place.yes("set -p x.lbuf /a/k~1/~0z [3]");
    place.yes("set -p x.lbuf /l/-/y/- 4");
    place.yes("set -p x.lbuf /l/0/m/-/n 5");
    let expected = r#"{"a":{"b":2,"k/":{"~z":[3]}},"l":[{"x":1,"m":[{"n":5}]},{"y":[4]}],"s":"text","c":{"d":{"e":1}}}"#;
    assert_eq!(place.yes("to-json x.lbuf"), format!("{expected}\n"));
    says(place.run("set -p x.lbuf /s/t/u 1"), 2, &["/s is text, and has nothing in it"]);
    says(
        place.run("set -p x.lbuf /l/9/u 1"),
        2,
        &["/l has 2 elements, and none is \"9\"", "/l/- appends"],
    );
    assert_eq!(place.yes("to-json x.lbuf"), format!("{expected}\n"));
}

#[test]
fn edits_that_cannot_be_say_why_and_change_nothing() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    let before = fs::read(place.path("x.lbuf")).unwrap();
    for (line, status, words) in [
        (
            "set x.lbuf /users/5 1",
            2,
            &["/users has 2 elements, and none is \"5\"", "/users/- appends"][..],
        ),
        ("set x.lbuf /users/x 1", 2, &["/users has 2 elements"]),
        ("set x.lbuf /n/m 1", 2, &["/n is a number, and has nothing in it"]),
        ("set x.lbuf n 1", 2, &["not a JSON pointer", "\"/n\""]),
        ("set x.lbuf /n hello", 2, &["\"hello\" is not JSON", "--string"]),
        ("set x.lbuf /n {\"a\":}", 2, &["is not JSON", "line 1, column 6"]),
        ("push x.lbuf /n 1", 2, &["/n is a number, not an array"]),
        ("push x.lbuf /users/0 1", 2, &["/users/0 is an object, not an array", "livebuf set"]),
        ("push x.lbuf /no 1", 2, &["/no is not there"]),
        ("remove x.lbuf /no", 1, &["x.lbuf: /no is not there"]),
        ("remove x.lbuf /users/2", 1, &["/users/2 is not there"]),
        ("remove x.lbuf /users/-", 1, &["/users/- is not there"]),
        ("remove x.lbuf /~", 2, &["not a JSON pointer"]),
    ] {
        says(place.run(line), status, words);
        assert_eq!(fs::read(place.path("x.lbuf")).unwrap(), before, "{line}");
    }
    assert_eq!(place.names(), ["x.lbuf"]);
}

#[test]
fn an_edit_of_a_large_document_writes_few_bytes_and_says_so() {
    let place = Place::new();
    place.document("x.lbuf", &large());
    let size = fs::metadata(place.path("x.lbuf")).unwrap().len();
    let before = fs::read(place.path("x.lbuf")).unwrap();
    let said = |line: &str| -> u64 {
        let assert = place.run(line).success().stdout("");
        let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(text.starts_with("x.lbuf: wrote ") && text.contains(" place"), "{text}");
        text.split(' ').nth(2).unwrap().replace(',', "").parse().unwrap()
    };
    let bytes = said("set -v x.lbuf /rows/5000/id 77");
    assert!(bytes < 64, "{bytes} of {size}");
    let after = fs::read(place.path("x.lbuf")).unwrap();
    let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count() as u64;
    assert!(before.len() == after.len() && (1..=bytes).contains(&changed), "{changed} of {bytes}");
    assert!(said("set -v --no-validate x.lbuf /rows/5000/on false") < 64);
    // The first row without the field takes a bit for each row.
    assert!(said("remove -v x.lbuf /rows/5000/score") < size / 2);
    assert!(said("remove -v x.lbuf /rows/5001/score") < 64);
    // A text of the same length goes over the other one.
    assert!(said("set -v x.lbuf /rows/5000/name --string USER_NUMBER_5000") < 64);
    // Behind a longer one there are more than 64 KiB to move: the column becomes a plain one, once.
    // That writes a cell for each text, the texts, and zeros where they were.
    let bytes = said("set -v x.lbuf /rows/5000/name --string longer_than_it_was_before");
    assert!((size / 2..2 * size).contains(&bytes), "{bytes} of {size}");
    assert!(said("set -v x.lbuf /rows/5001/name --string longer_than_it_was_before") < 400);
    place.yes("validate x.lbuf");
    assert_eq!(
        place.yes("get x.lbuf /rows/5000"),
        "{\"id\":77,\"name\":\"longer_than_it_was_before\",\"on\":false}\n"
    );
}

#[test]
fn what_is_removed_is_wiped() {
    let place = Place::new();
    place.document("x.lbuf", r#"{"a":"the secret word","b":["another secret"],"c":1}"#);
    place.yes("remove x.lbuf /a");
    place.yes("set x.lbuf /b 1");
    let bytes = fs::read(place.path("x.lbuf")).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"secret"));
}

#[test]
fn compact_gives_space_back() {
    let place = Place::new();
    place.document("x.lbuf", &large());
    for row in (0..100).rev() {
        place.yes(&format!("remove x.lbuf /rows/{row}/name"));
    }
    let json = place.yes("to-json x.lbuf");
    let before = fs::metadata(place.path("x.lbuf")).unwrap().len();
    place.yes("compact x.lbuf -o y.lbuf");
    assert_eq!(fs::metadata(place.path("x.lbuf")).unwrap().len(), before);
    let assert = place.run("compact -v x.lbuf").success();
    let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(text.contains("bytes before"), "{text}");
    assert!(fs::metadata(place.path("x.lbuf")).unwrap().len() < before);
    assert_eq!(fs::read(place.path("x.lbuf")).unwrap(), fs::read(place.path("y.lbuf")).unwrap());
    assert_eq!(place.yes("to-json x.lbuf"), json);
}

/// `compact --help` promised "no garbage", and `stats` then showed some: padding, which
/// no value reaches either. Both say so now.
#[test]
fn what_compact_leaves_is_named() {
    let place = Place::new();
    place.document("x.lbuf", r#"{"lap_complete":1,"a longer key":"and a longer text"}"#);
    place.yes("remove x.lbuf /lap_complete");
    place.yes("compact x.lbuf");
    let stats = place.yes("stats x.lbuf");
    let bytes = |row: &str| -> u64 {
        let line = stats.lines().find(|line| line.trim().starts_with(row));
        let rest = line.unwrap().trim().trim_start_matches(row).trim();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    assert_eq!(bytes("free"), 0, "{stats}");
    assert!(bytes("garbage and padding") > 0, "{stats}");
    assert!(place.yes("compact --help").contains("no garbage but padding"));
}

#[test]
fn compact_takes_the_deepest_document() {
    let place = Place::new();
    place.file("deep.json", "[".repeat(1000) + &"]".repeat(1000));
    place.yes("from-json deep.json -o deep.lbuf");
    place.yes("compact deep.lbuf -o compact.lbuf");
    place.yes("compact deep.lbuf");
    for name in ["deep.lbuf", "compact.lbuf"] {
        place.yes(&format!("validate {name}"));
        assert_eq!(place.yes(&format!("to-json {name}")).trim().len(), 2000);
    }
}

// --- interrupted, at the same time, at the limit ----------------------------------------

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ (0xEDB8_8320 * (crc & 1)))
    })
}

/// A journal, as `docs/FORMAT.md` describes it.
fn journal(used: usize, ranges: &[(usize, &[u8])]) -> Vec<u8> {
    let word = |number: usize| (number as u32).to_le_bytes();
    let parts = ranges.iter().map(|(at, new)| [&word(*at)[..], &word(new.len()), new].concat());
    let mut journal = parts.collect::<Vec<_>>().concat();
    journal.extend((journal.len() as u64 + 32).to_le_bytes());
    journal.extend([word(used), word(ranges.len()), word(0)].concat());
    journal.extend(crc32(&journal).to_le_bytes());
    journal.extend(b"\xABLBJ\x01\0\0\0");
    journal
}

/// A file with a journal at its end.
fn with_journal(file: &[u8], new: &[u8], offset: usize, length: usize) -> Vec<u8> {
    let mut bytes = file.to_vec();
    bytes.resize(4096, 0);
    bytes.extend(journal(new.len(), &[(offset, &new[offset..offset + length])]));
    bytes
}

/// Root's `compact` and `-f` made a service's file root's: at mode 640 the service was locked out.
/// For others the command says why the owner changes.
#[test]
fn owner_and_group_stay_or_the_command_says_why_not() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    let path = place.document("x.lbuf", USERS);
    place.file("in.json", "[]");
    place.file("rows.ndjson", "{\"a\":1}\n");
    place.yes("log append x.lblog rows.ndjson");
    let log = place.path("x.lblog");
    if chown(&path, Some(1234), Some(4321)).is_err() {
        return println!("skipped: only root may give files away");
    }
    chown(&log, Some(1234), Some(4321)).unwrap();
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let whose = |path: &Path| {
        let found = fs::metadata(path).unwrap();
        (found.uid(), found.gid(), found.mode() & 0o777)
    };
    set(&path, 0o640);
    set(&log, 0o640);
    for line in ["compact x.lbuf", "from-json -f in.json -o x.lbuf", "log compact x.lblog"] {
        place.run(line).success().stderr("");
        assert_eq!((whose(&path), whose(&log)), ((1234, 4321, 0o640), (1234, 4321, 0o640)));
    }
    // Somebody else, who may write both, and is no member of the group.
    set(place.0.path(), 0o777);
    set(&path, 0o666);
    set(&log, 0o676);
    let as_another = |line: &str| {
        let mut command = std::process::Command::new(for_everybody(&place));
        command.current_dir(place.0.path()).args(line.split(' ')).uid(1000).gid(1000);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for line in ["compact x.lbuf", "log compact x.lblog"] {
        let said = as_another(line);
        assert!(said.contains("belongs to you now: only root may"), "{said}");
    }
    assert_eq!(whose(&path), (1000, 1000, 0o666));
    // Who was of the old group has the rights of all others.
    assert_eq!(whose(&log), (1000, 1000, 0o666));
}

/// `-f` put a file in the place of a link to a file that was not there yet.
#[test]
fn a_link_to_nothing_is_followed() {
    let place = Place::new();
    place.file("in.json", "[1]");
    std::os::unix::fs::symlink("real.lbuf", place.path("link.lbuf")).unwrap();
    for line in ["from-json in.json -o link.lbuf", "from-json -f in.json -o link.lbuf"] {
        place.yes(line);
        assert!(fs::symlink_metadata(place.path("link.lbuf")).unwrap().is_symlink(), "{line}");
        assert_eq!(place.yes("get real.lbuf /0"), "1\n");
        fs::remove_file(place.path("real.lbuf")).unwrap();
    }
    std::os::unix::fs::symlink("real.lblog", place.path("link.lblog")).unwrap();
    place.run("log append link.lblog in.json").failure();
    assert_eq!(place.names(), ["in.json", "link.lblog", "link.lbuf"]);
}

/// A command that was killed left its new file behind for ever.
#[test]
fn compacting_removes_what_killed_commands_left() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    place.file("rows.ndjson", "{\"a\":1}\n");
    place.yes("log append x.lblog rows.ndjson");
    for line in ["compact x.lbuf", "log compact x.lblog"] {
        let left = place.file(".livebuf-1-1.tmp", "what was written so far");
        let held = fs::File::create(place.path(".livebuf-2-1.tmp")).unwrap();
        held.lock().unwrap();
        place.yes(line);
        assert!(!left.exists(), "{line}");
        assert!(place.path(".livebuf-2-1.tmp").exists(), "{line}: somebody works on it");
    }
}

/// Only compactions did so.
#[test]
fn what_killed_commands_left_is_removed_by_the_next_one() {
    let place = Place::new();
    place.file("in.json", USERS);
    place.file("rows.ndjson", "{\"a\":1}\n");
    place.document("x.lbuf", USERS);
    place.yes("log append x.lblog rows.ndjson");
    place.yes("delta begin x.lbuf");
    // Two that were made at the same time.
    let leave = |name: &str| {
        let two = [(); 2].map(|()| livebuf::mapped::new_beside(&place.path(name), None).unwrap());
        two.map(|(_, path)| path)
    };
    let others = leave("other.lbuf");
    for (target, line) in [
        ("x.lbuf", "from-json -f in.json -o x.lbuf"),
        ("x.lbuf", "set x.lbuf /n 6"),
        ("x.lbuf", "edit x.lbuf remove\u{a0}/n"),
        ("x.lbuf", "delta begin x.lbuf"),
        ("new.lbuf", "from-json in.json -o new.lbuf"),
        ("out.json", "to-json x.lbuf -o out.json"),
        ("out.json", "to-json x.lbuf -f -o out.json"),
        ("d", "delta make x.lbuf d remove\u{a0}/users"),
        ("x.lblog", "log append x.lblog rows.ndjson"),
        ("new.lblog", "log append new.lblog rows.ndjson"),
    ] {
        let left = leave(target);
        place.run(line).success();
        assert!(left.iter().all(|path| !path.exists()), "{line}");
        assert!(others.iter().all(|path| path.exists()), "{line}: another file's");
    }
    place.yes("compact x.lbuf");
    assert!(!place.names().iter().any(|name| name.starts_with(".livebuf-")), "{:?}", place.names());

    // The same by real ones.
    let traced = |arguments: &str| {
        let mut command = std::process::Command::new("strace");
        command.args(["-qq", "-o", "/dev/null", "-e", "trace=fsync"]);
        command.args(["-e", "inject=fsync:signal=KILL", BINARY]).args(arguments.split(' '));
        command.current_dir(place.0.path()).output()
    };
    if traced("--version").is_ok_and(|output| output.status.success()) {
        let before = place.names();
        for line in ["from-json -f in.json -o x.lbuf", "to-json x.lbuf -f -o out.json"] {
            assert!(!traced(line).unwrap().status.success());
            assert_eq!(place.names().len(), before.len() + 1, "{line}");
            place.yes(line);
            assert_eq!(place.names(), before, "{line}");
        }
    }
    // A directory of documents.
    let text = "{\"a\":1}\n".repeat(100_000);
    place.file("many.ndjson", text);
    let mut child = std::process::Command::new(BINARY)
        .args(["from-json", "--lines", "--each", "many.ndjson", "-o", "each"])
        .current_dir(place.0.path())
        .spawn()
        .unwrap();
    let begun = || {
        let names = place.names();
        names.iter().any(|name| name.starts_with(".livebuf-") && name.ends_with(".each"))
    };
    while !begun() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(begun());
    place.yes("from-json --lines --each rows.ndjson -o each");
    assert!(!place.names().iter().any(|name| name.starts_with(".livebuf-")), "{:?}", place.names());
}

/// Commands that only read cut any file that ended like a journal, or wrote into it. The others
/// did so before they said that it is no document.
#[test]
fn commands_that_read_write_nothing() {
    let place = Place::new();
    let old = fs::read(place.document("x.lbuf", USERS)).unwrap();
    place.yes("set x.lbuf /n 6");
    let new = fs::read(place.path("x.lbuf")).unwrap();
    let at = (0..old.len()).find(|&at| old[at] != new[at]).unwrap();
    place.document("other.lbuf", USERS);
    place.file("rows.ndjson", "{\"a\":1}\n");
    place.yes("log append x.lblog rows.ndjson");
    let log = fs::read(place.path("x.lblog")).unwrap();
    let text = b"Dear diary, this is a long and dear text that is no document.\n".to_vec();
    let reads = [
        "to-json any",
        "get any /n",
        "query any $.n",
        "diff any other.lbuf",
        "diff other.lbuf any",
        "keys any",
        "validate any",
        "stats any",
        "inspect any",
        "compact any -o out -f",
        "delta show any",
        "from-json any -o out -f",
        "log cat any",
        "log info any",
        "log append out.lblog any",
        "patch other.lbuf any",
        "merge other.lbuf any",
    ];
    let edits = [
        "set any /n 1",
        "remove any /n",
        "push any /users 1",
        "edit any out",
        "patch any out",
        "merge any out",
        "delta begin any",
        "compact any",
        "log append any rows.ndjson",
    ];
    let cuts_all = journal(0, &[]);
    let writes = journal(40, &[(0, b"OVERWRITTEN")]);
    let whole = journal(new.len(), &[(at, &new[at..at + 8])]);
    let (cut, wrong) = (&whole[1..], [&whole[..20], &[1], &whole[21..]].concat());
    for (kind, begin) in [("text", &text), ("log", &log), ("document", &old), ("empty", &vec![])] {
        for end in [&cuts_all, &writes, &whole, cut, &wrong] {
            let bytes = [begin, end].concat();
            let unchanged = |line: &str| {
                let path = place.file("any", &bytes);
                let then = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
                fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
                place.file("out", "[]");
                let output = place.run(line);
                assert_eq!(fs::read(&path).unwrap(), bytes, "{line}, {kind}");
                let modified = fs::metadata(&path).unwrap().modified().unwrap();
                assert_eq!(modified, then, "{line}, {kind}");
                output
            };
            for line in reads {
                unchanged(line);
            }
            if kind == "document" {
                let shown = if *end == whole { "6\n" } else { "5\n" };
                unchanged("get any /n").success().stdout(shown);
            } else {
                for line in edits.iter().filter(|line| !(kind == "log" && line.starts_with("log")))
                {
                    unchanged(line).failure();
                }
            }
        }
    }
}

#[test]
fn an_interrupted_edit_is_finished_or_never_was() {
    let place = Place::new();
    let path = place.document("x.lbuf", USERS);
    let old = fs::read(&path).unwrap();
    place.yes("set x.lbuf /n 6");
    let new = fs::read(&path).unwrap();
    let at = (0..old.len()).find(|&at| old[at] != new[at]).unwrap();

    // The journal was complete, the document not touched, or touched in part. Those that read
    // see the new document, and leave the file as it is.
    for first in [0, 3, 8] {
        let mut torn = old.clone();
        torn[at..at + first].copy_from_slice(&new[at..at + first]);
        let bytes = with_journal(&torn, &new, at, 8);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(place.yes("get x.lbuf /n"), "6\n");
        place.yes("keys x.lbuf /users/0");
        place.yes("validate x.lbuf");
        // Also those who may not write the file, nor its directory.
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        use std::os::unix::process::CommandExt;
        fs::set_permissions(place.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let mut command = std::process::Command::new(for_everybody(&place));
        command.current_dir(place.0.path()).args(["get", "x.lbuf", "/n"]);
        if fs::metadata(&path).unwrap().uid() == 0 {
            command.uid(1000).gid(1000);
        }
        assert_eq!(command.output().unwrap().stdout, b"6\n");
        assert_eq!(fs::read(&path).unwrap(), bytes);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        // The next edit finishes it.
        place.yes("set x.lbuf /n 6");
        assert_eq!(fs::read(&path).unwrap(), new);
    }
    // It goes with the file, wherever that goes.
    fs::write(&path, with_journal(&old, &new, at, 8)).unwrap();
    fs::rename(&path, place.path("moved.lbuf")).unwrap();
    fs::hard_link(place.path("moved.lbuf"), place.path("other.lbuf")).unwrap();
    assert_eq!(place.yes("get other.lbuf /n"), "6\n");
    place.yes("set other.lbuf /n 6");
    assert_eq!(fs::read(place.path("moved.lbuf")).unwrap(), new);
    // It was not complete: cut at every length, to either side.
    let whole = with_journal(&old, &new, at, 8);
    for length in 4096..whole.len() {
        let lengthened: Vec<u8> = whole[..length].iter().copied().chain([0; 3]).collect();
        for file in [&whole[..length], &lengthened] {
            fs::write(&path, file).unwrap();
            if length % 16 == 0 {
                assert_eq!(place.yes("get x.lbuf /n"), "5\n", "cut to {length}");
            }
            place.yes("set x.lbuf /n 5");
            assert_eq!(&fs::read(&path).unwrap()[..old.len()], old, "cut to {length}");
        }
    }
    // The next edit cuts what is left of it.
    place.yes("set x.lbuf /n 6");
    assert_eq!(fs::read(&path).unwrap(), new);
    // A file in its place has nothing to do with it.
    fs::write(&path, with_journal(&old, &new, at, 8)).unwrap();
    place.file("in.json", r#"{"n":7}"#);
    place.yes("from-json -f in.json -o x.lbuf");
    assert_eq!(place.yes("get x.lbuf /n"), "7\n");
}

#[test]
fn killed_edits_leave_the_document_whole() {
    let place = Place::new();
    let path = place.document("x.lbuf", &large());
    let mut landed = 0;
    for round in 0..60u64 {
        let value = format!("{round} {}", "x".repeat(round as usize * 50));
        let mut child = std::process::Command::new(BINARY)
            .args(["set", "--string", "x.lbuf", "/last", &value])
            .current_dir(place.0.path())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(200 * round));
        let _ = child.kill();
        child.wait().unwrap();
        let got = place.yes("get -r x.lbuf /last");
        landed += u64::from(got.trim_end() == value);
        place.yes("validate -q x.lbuf");
    }
    assert_eq!(place.names(), ["x.lbuf"]);
    assert_eq!(place.yes("get x.lbuf /rows/9999/id"), "9999\n");
    // Some came before and some after, or this tests nothing.
    assert!(landed > 0, "no edit landed");
    drop(path);
}

#[test]
fn edits_at_the_same_time_wait_for_each_other() {
    let place = Place::new();
    place.document("x.lbuf", "[]");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..10 {
                    place.command(&["push", "x.lbuf", "", &number.to_string()]).assert().success();
                    place.command(&["get", "x.lbuf", "/0"]).assert().success();
                }
            });
        }
    });
    let list = place.command(&["get", "x.lbuf", ""]).assert().success();
    let numbers = String::from_utf8(list.get_output().stdout.clone()).unwrap();
    assert_eq!(numbers.matches(|letter: char| letter.is_ascii_digit()).count(), 40, "{numbers}");
    place.yes("validate x.lbuf");
}

#[test]
fn a_locked_file_is_waited_for_and_then_reported() {
    let place = Place::new();
    let path = place.document("x.lbuf", USERS);
    let holder = fs::File::options().read(true).write(true).open(&path).unwrap();
    holder.lock().unwrap();
    let start = Instant::now();
    says(place.run("get x.lbuf /n"), 2, &["x.lbuf", "is locked"]);
    assert!(start.elapsed() > Duration::from_secs(2));
    // A new file took the place of one that was being edited: the edits were lost.
    place.file("in.json", r#"{"n":7}"#);
    says(place.run("from-json -f in.json -o x.lbuf"), 2, &["x.lbuf", "is locked"]);
    holder.unlock().unwrap();
    holder.lock_shared().unwrap();
    assert_eq!(place.yes("get x.lbuf /n"), "5\n");
    says(place.run("set x.lbuf /n 1"), 2, &["is locked"]);
    // Readers keep the old file.
    place.yes("from-json -f in.json -o x.lbuf");
    assert_eq!(place.yes("get x.lbuf /n"), "7\n");
}

#[test]
fn a_full_disk_leaves_the_document_as_it_was() {
    let place = Place::new();
    let path = place.document("x.lbuf", USERS);
    let before = fs::read(&path).unwrap();
    let value = "x".repeat(60_000);
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 64; exec \"$0\" set x.lbuf /n --string \"$1\"", BINARY, &value])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("x.lbuf: file too large"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(place.names(), ["x.lbuf"]);
}

/// Beyond `ulimit -f` the command died by SIGXFSZ and left `.livebuf-….tmp` behind.
#[test]
fn a_file_beyond_the_limit_is_reported_and_leaves_nothing() {
    let place = Place::new();
    place.file("in.json", large());
    place.document("x.lbuf", &large());
    // All of a line's files are small, and the third is not.
    place.file("lines.ndjson", format!("1\n2\n{}\n", large()));
    let before = fs::read(place.path("x.lbuf")).unwrap();
    for (line, what) in [
        ("from-json in.json -o out.lbuf", "out.lbuf: file too large"),
        ("from-json --lines --each lines.ndjson -o out", "000003.lbuf: file too large"),
        ("to-json x.lbuf -o out.json", "out.json: file too large"),
        ("compact x.lbuf", "x.lbuf: file too large"),
        ("compact x.lbuf -o out.lbuf", "out.lbuf: file too large"),
        ("to-json x.lbuf > out.json; status=$?; rm out.json; exit $status", "standard output"),
    ] {
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("ulimit -f 100; \"$0\" {line}"), BINARY])
            .current_dir(place.0.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {text}");
        assert!(text.contains(what), "{line}: {text}");
        assert_eq!(place.names(), ["in.json", "lines.ndjson", "x.lbuf"], "{line}");
        assert_eq!(fs::read(place.path("x.lbuf")).unwrap(), before, "{line}");
    }
}

// --- terminals and pipes ----------------------------------------------------------------

#[test]
fn a_closed_pipe_is_no_trouble() {
    let place = Place::new();
    place.document("x.lbuf", &large());
    let keys: Vec<String> = (0..20_000).map(|key| format!("\"key number {key}\":1")).collect();
    place.document("map.lbuf", &format!("{{{}}}", keys.join(",")));
    let commands: [&[&str]; 6] = [
        &["to-json", "x.lbuf"],
        &["get", "x.lbuf", "/rows"],
        &["keys", "map.lbuf", ""],
        &["inspect", "x.lbuf"],
        &["compact", "x.lbuf", "-o", "-"],
        &["completions", "zsh"],
    ];
    for arguments in commands {
        let mut child = std::process::Command::new(BINARY)
            .args(arguments)
            .current_dir(place.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &*text), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn binary_is_not_written_to_a_terminal() {
    let place = Place::new();
    place.file("in.json", USERS);
    place.document("x.lbuf", USERS);
    // util-linux's script gives the command a terminal.
    let known = std::process::Command::new("script").arg("--version").output();
    if !known.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux")) {
        eprintln!("skipped: no script(1) here");
        return;
    }
    let on_terminal = |line: &str| {
        let output = std::process::Command::new("script")
            .args(["-qec", &format!("{BINARY} {line}"), "/dev/null"])
            .current_dir(place.0.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for line in [
        "from-json in.json",
        "from-json in.json -o -",
        "compact x.lbuf -o -",
        "from-json in.json -o /dev/tty",
    ] {
        let (status, text) = on_terminal(line);
        assert_eq!(status, Some(2), "{line}: {text}");
        assert!(text.contains("will not write binary to a terminal"), "{line}: {text}");
        assert!(!text.contains("LBF"), "{line}: {text:?}");
    }
    let (status, text) = on_terminal("inspect x.lbuf /n");
    assert!(status == Some(0) && text.contains("\x1b["), "colours on a terminal: {text:?}");
    let (status, text) = on_terminal("get x.lbuf /n");
    assert_eq!((status, text.trim()), (Some(0), "5"));
}

// --- the rest ---------------------------------------------------------------------------

#[test]
fn usage_is_explained() {
    let place = Place::new();
    says(place.run("nonsense"), 2, &["unrecognized subcommand"]);
    says(place.run("get x.lbuf"), 2, &["POINTER"]);
    says(place.run("from-json x --each -o y"), 2, &["--lines"]);
    let help = place.yes("--help");
    for command in ["from-json", "to-json", "get", "set", "remove", "push", "keys", "validate"] {
        assert!(help.contains(&format!("  {command} ")), "{help}");
    }
    assert!(help.contains("Exit status"), "{help}");
    assert!(place.yes("--version").starts_with("livebuf "));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(place.yes(&format!("completions {shell}")).contains("from-json"), "{shell}");
    }
}

#[test]
fn the_demo_tells_its_story_on_any_json() {
    let place = Place::new();
    place.file("in.json", large());
    let text = place.yes("demo in.json -o out.lbuf");
    for word in ["becomes a document", "Single fields", "Edits", "serde_json", "It validates"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.contains("byte for byte"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    place.yes("validate out.lbuf");
    says(place.run("demo in.json -o out.lbuf"), 2, &["exists already"]);
    let odd = [
        "5",
        "\"text\"",
        "[]",
        "{}",
        "[1]",
        "[[[[1]]]]",
        "{\"a\":{}}",
        "[null,null]",
        "[true,[false]]",
        r#"{"k/~":["a text","another"],"n":1.5,"u":18446744073709551615}"#,
        "[123456789012345678901234567890, 1.10]",
    ];
    for json in odd {
        place.file("odd.json", json);
        let text = place.yes("demo odd.json");
        assert!(text.contains("It validates"), "{json}: {text}");
    }
    place.file("bad.json", "{");
    says(place.run("demo bad.json"), 2, &["bad.json: not JSON"]);
}

#[test]
fn dates_and_uuids_are_recognized_where_asked_for() {
    let place = Place::new();
    let row = |n: usize| {
        format!(
            r#"{{"id":"0000000{n}-0000-4000-8000-000000000000","due":"2026-11-2{n}","at":"2026-11-23T08:30:0{n}Z","local":"2026-11-23T08:30:00","note":"2026-11-2{n}!"}}"#
        )
    };
    let json = format!("[{}]", (1..9).map(row).collect::<Vec<_>>().join(","));
    place.file("x.json", json.as_bytes());
    place.yes("from-json x.json -o plain.lbuf");
    place.yes("from-json --recognize x.json -o x.lbuf");
    assert_eq!(place.yes("to-json x.lbuf").trim_end(), json);
    assert_eq!(place.yes("to-json plain.lbuf").trim_end(), json);
    let columns = place.yes("stats x.lbuf");
    for kind in ["uuid", "date", "timestamp", "date and time"] {
        assert!(columns.contains(kind), "{columns}");
    }
    let inspected = place.yes("inspect x.lbuf");
    for shown in [
        "[1]: uuid",
        "00000002-0000-4000-8000-000000000000",
        "[1]: date 2026-11-22",
        "[1]: timestamp 2026-11-23T08:30:02Z",
        "[1]: date and time 2026-11-23T08:30:00",
    ] {
        assert!(inspected.contains(shown), "{shown} in {inspected}");
    }
    place.yes("set x.lbuf /1/due --string text");
    let inspected = place.yes("inspect x.lbuf");
    assert!(inspected.contains("date 2026-11-21"), "{inspected}");
    says(place.run("push x.lbuf /0/due 1"), 2, &["/0/due is a date"]);
    assert!(place.yes("get x.lbuf /0/due").starts_with("\"2026-11-21\""));
}

// --- logs -------------------------------------------------------------------

#[test]
fn logs_take_lines_and_give_them_back() {
    let place = Place::new();
    let lines: String = (0..1000).map(|n| format!("{{\"n\":{n},\"kind\":\"click\"}}\n")).collect();
    let append = |arguments: &[&str], text: &str| {
        let mut command = place.command(&["log", "append", "events.lblog"]);
        command.args(arguments).write_stdin(text.to_owned()).assert().success().stderr("");
    };
    append(&[], &lines);
    append(&["--sync"], "1\n\n[2]"); // a line without an end
    place.file("more.ndjson", "null\n");
    place.run("log append events.lblog more.ndjson").success();
    let all = format!("{lines}1\n[2]\nnull\n");
    place.run("log cat events.lblog").success().stdout(all.clone());
    place
        .run("log cat events.lblog --from 999 --to 1001")
        .success()
        .stdout("{\"n\":999,\"kind\":\"click\"}\n1\n");
    let info = place.run("log info events.lblog --json").success();
    let info: serde_json::Value = serde_json::from_slice(&info.get_output().stdout).unwrap();
    assert_eq!((&info["rows"], &info["torn_bytes"]), (&1003.into(), &0.into()));
    let info = "rows                   1,003\n";
    place.run("log info events.lblog").success().stdout(predicate::str::starts_with(info));
    place.run("log compact events.lblog").success().stdout(predicate::str::contains("bytes now"));
    place.run("log cat events.lblog").success().stdout(all);
    assert_eq!(place.names(), ["events.lblog", "more.ndjson"]);
}

#[test]
fn a_line_that_is_no_json_ends_an_append() {
    let place = Place::new();
    let mut command = place.command(&["log", "append", "events.lblog"]);
    command.write_stdin("1\n2\n{\"a\": }\n4\n").assert().code(2).stderr(
        predicate::str::starts_with("livebuf: standard input: line 3, column 7: ")
            .and(predicate::str::ends_with("\n  the log has 2 rows now\n")),
    );
    place.run("log cat events.lblog").success().stdout("1\n2\n");
}

#[test]
fn torn_and_damaged_logs_are_reported() {
    let place = Place::new();
    for _ in 0..2 {
        let mut command = place.command(&["log", "append", "events.lblog", "--sync"]);
        command.write_stdin("[1]\n[2]\n").assert().success();
    }
    let path = place.path("events.lblog");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, [bytes.as_slice(), b"torn"].concat()).unwrap();
    let message = format!("4 bytes from offset {} on: a write that did not end\n", bytes.len());
    place
        .run("log cat events.lblog")
        .success()
        .stdout("[1]\n[2]\n[1]\n[2]\n")
        .stderr(format!("livebuf: events.lblog: passed over {message}"));
    let mut command = place.command(&["log", "append", "events.lblog"]);
    let dropped = format!("livebuf: events.lblog: dropped {message}");
    command.write_stdin("[3]").assert().success().stderr(dropped);

    let mut bytes = fs::read(&path).unwrap();
    bytes[70] ^= 1;
    fs::write(&path, &bytes).unwrap();
    place.run("log cat events.lblog").code(2).stderr(predicate::str::contains("offset 64"));
    // A row's own bytes are looked at when it is read.
    bytes[70] ^= 1;
    bytes[64 + 32 + 24] ^= 1;
    fs::write(&path, &bytes).unwrap();
    place.run("log info events.lblog").success();
    let damaged =
        predicate::str::contains("the log is damaged").and(predicate::str::contains("64"));
    place.run("log info --validate events.lblog").code(1).stdout("").stderr(damaged);
    let kept = "3 rows kept, 2 lost, ";
    place.run("log repair events.lblog").success().stdout(predicate::str::starts_with(kept));
    place.run("log cat events.lblog").success().stdout("[1]\n[2]\n[3]\n");
    assert_eq!(place.names(), ["events.lblog", "events.lblog.damaged"]);
    let missing = "livebuf: none.lblog: no such file or directory\n";
    place.run("log cat none.lblog").code(2).stderr(missing);
    place.document("doc.lbuf", "[1,2,3,4,5,6,7,8,9,10]");
    let message = "livebuf: doc.lbuf: not a log but a LiveBuf document\n";
    for command in ["cat", "info", "compact", "append", "repair"] {
        place.run(&format!("log {command} doc.lbuf")).code(2).stderr(message);
    }
}

#[test]
fn a_log_is_followed() {
    let place = Place::new();
    let append = |line: &str| {
        let mut command = place.command(&["log", "append", "events.lblog"]);
        command.write_stdin(line.to_owned()).assert().success();
    };
    append("1\n");
    let mut follow = std::process::Command::new(BINARY)
        .args(["log", "cat", "--follow", "--from", "1", "events.lblog"])
        .current_dir(place.0.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    append("2\n");
    place.run("log compact events.lblog").success();
    append("3\n");
    let mut seen = [0; 4];
    follow.stdout.take().unwrap().read_exact(&mut seen).unwrap();
    assert_eq!(&seen, b"2\n3\n");
    let _ = follow.kill();
    follow.wait().unwrap();
}

/// The commands for Parquet are known to each build, and say how to get one that has them.
#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_how_to_get_one() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    for line in ["to-parquet a.lbuf -o a.parquet", "from-parquet a.lbuf -o b.lbuf"] {
        says(place.run(line), 2, &["without Parquet", "--features parquet"]);
    }
    assert_eq!(place.names(), ["a.lbuf"]);
}

/// All vectors through the command, by the runner that other implementations use, too.
#[test]
fn conformance() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut runner = std::process::Command::new("python3");
    runner.arg(testdata.join("conformance.py")).arg("python3");
    runner.arg(testdata.join("programs.py")).args(["command", BINARY]);
    match runner.output() {
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success(), "{said}");
            assert_eq!(said.matches("   0 failed    0 skipped").count(), 4, "{said}");
        }
        Err(error) => eprintln!("skipped: conformance, for want of python3 ({error})"),
    }
}
