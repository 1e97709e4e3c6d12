//! What commands take beside one document: JSON, logs, several files, text in place of a file.
//! And forms in which they print it.

use super::{Place, USERS, says};
use std::fs;

fn log(place: &Place) {
    let mut command = place.command(&["log", "append", "l.lblog"]);
    command.write_stdin("{\"a\":1}\n{\"a\":2,\"b\":\"x\"}\n[3]\n").assert().success();
}

#[test]
fn json_is_read_where_a_document_is() {
    let place = Place::new();
    place.file("in.json", USERS);
    place.document("x.lbuf", USERS);
    place.file("rows.ndjson", "{\"a\":1}\n{\"a\":2}\n");
    for command in [
        "to-json FILE",
        "get FILE /users/0/name /n",
        "keys FILE",
        "query FILE $..age",
        "stats FILE",
        "tree FILE",
    ] {
        let of_json = place.yes(&command.replace("FILE", "in.json"));
        assert_eq!(of_json, place.yes(&command.replace("FILE", "x.lbuf")), "{command}");
    }
    assert_eq!(place.yes("query rows.ndjson $[*].a"), "1\n2\n");
    place.command(&["get", "-", "/n"]).write_stdin(USERS).assert().success().stdout("5\n");
    place.file("bad.json", "{\"a\":1,}");
    says(place.run("get bad.json /a"), 2, &["bad.json: not JSON", "column 8"]);
}

/// They were read as lines only where the file's name said so, and the message named an option that
/// only from-json has.
#[test]
fn json_lines_are_found_by_what_they_hold() {
    let place = Place::new();
    let lines = "{\"a\":1}\n\n{\n  \"a\": 2\n}\n[3]\n";
    place.file("x.json", lines);
    place.file("x.ndjson", lines);
    for command in [
        "query FILE $..a",
        "get FILE /1/a",
        "keys FILE /0",
        "stats FILE",
        "tree FILE",
        "to-json FILE",
        "to-json --lines FILE",
        "diff FILE x.ndjson",
    ] {
        let named = place.yes(&command.replace("FILE", "x.ndjson"));
        assert_eq!(place.yes(&command.replace("FILE", "x.json")), named, "{command}");
        let piped = command.replace("FILE", "-");
        let mut piped = place.command(&piped.split(' ').collect::<Vec<_>>());
        piped.write_stdin(lines).assert().success().stdout(named);
    }
    // One document with a fault is one all the same, and its place is told.
    for (text, words) in [
        ("{\n  \"a\": 1,\n}\n", "line 3, column 1"),
        (
            "{\"a\":1}\n}\n",
            "text behind the value; many values need to be read as lines, at line 2, column 1",
        ),
        ("{\"a\":1} {\"a\":2}\n", "at line 1, column 9"),
        ("{\"a\":1}\n{\"a\":2\n", "at line 2, column 1"),
        ("[1, 2] 3", "at line 1, column 8"),
        ("{\"a\":1}\nnone\n", "at line 2, column 1"),
    ] {
        place.file("bad.json", text);
        for command in ["get bad.json /a", "query bad.json $.a", "merge bad.lbuf bad.json"] {
            place.document("bad.lbuf", "{}");
            let run = place.run(command);
            let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
            says(run, 2, &["bad.json: not JSON", words]);
            assert!(!told.contains("give --lines"), "{told}");
        }
    }
    // Lines that begin well have their error by their line.
    place.file("bad.json", "{\"a\":1}\n{\"a\":2}\n{\"a\" 3}\n");
    says(place.run("get bad.json /0/a"), 2, &["bad.json: not JSON", "line 3, column 6"]);
    // Two merge patches are none.
    place.document("x.lbuf", USERS);
    says(place.run("merge x.lbuf x.json"), 2, &["x.json: not JSON", "line 3", "from-json --lines"]);
    assert_eq!(place.yes("to-json x.lbuf"), format!("{USERS}\n"));
    let demo = place.run("demo x.json").code(2);
    assert!(!String::from_utf8_lossy(&demo.get_output().stderr).contains("--"));
    // What is to be edited needs a document, and the hint works.
    for name in ["x.json", "x.ndjson"] {
        let hint = format!("run livebuf from-json --lines {name} -o x.lbuf");
        says(place.run(&format!("set {name} /0 1")), 2, &["looks like JSON lines", &hint]);
        says(place.run(&format!("validate {name}")), 2, &["looks like JSON lines", &hint]);
    }
}

#[test]
fn edits_of_json_on_standard_input_print_json() {
    let place = Place::new();
    let filter = |arguments: &[&str], input: &str| {
        let assert = place.command(arguments).write_stdin(input).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    };
    let json = "{\n  \"a\": 1,\n  \"l\": [1, 2]\n}\n";
    for (arguments, edited) in [
        (&["set", "-", "/a", "2"][..], "{\"a\":2,\"l\":[1,2]}\n"),
        (&["set", "--all", "-", "$.l[*]", "0"], "{\"a\":1,\"l\":[0,0]}\n"),
        (&["edit", "-", "add /a 6", "remove /l/0"], "{\"a\":7,\"l\":[2]}\n"),
        (&["merge", "-", "{\"a\":null}"], "{\"l\":[1,2]}\n"),
        (&["patch", "-", "[{\"op\":\"remove\",\"path\":\"/a\"}]"], "{\"l\":[1,2]}\n"),
        (&["remove", "-", "/a"], "{\"l\":[1,2]}\n"),
        (&["push", "-", "/l", "3"], "{\"a\":1,\"l\":[1,2,3]}\n"),
        (&["compact", "-"], "{\"a\":1,\"l\":[1,2]}\n"),
        (&["set", "-", "", "5"], "5\n"),
    ] {
        assert_eq!(filter(arguments, json), edited, "{arguments:?}");
    }
    filter(&["compact", "-v", "-", "-o", "out.json"], json);
    assert_eq!(fs::read_to_string(place.path("out.json")).unwrap(), "{\"a\":1,\"l\":[1,2]}\n");
    // Lines go out as lines, as long as there are any.
    let lines = "{\"a\":1}\n{\"a\":2}\n";
    assert_eq!(filter(&["set", "-", "/1/a", "3"], lines), "{\"a\":1}\n{\"a\":3}\n");
    assert_eq!(filter(&["push", "-", "", "[]"], lines), "{\"a\":1}\n{\"a\":2}\n[]\n");
    assert_eq!(filter(&["compact", "-"], lines), lines);
    assert_eq!(filter(&["set", "-", "", "{}"], lines), "{}\n");
    // All or nothing, as with documents.
    let failed = ["edit", "-", "set /a 2", "remove /gone"];
    let failed = place.command(&failed).write_stdin(json).assert();
    says(failed, 2, &["edit 2", "standard input: /gone is not there"]);
    let wrong = place.command(&["set", "-", "/a", "2"]).write_stdin("{\"a\":1,}").assert();
    says(wrong, 2, &["standard input: not JSON", "column 8"]);
    log(&place);
    let bytes = fs::read(place.path("l.lblog")).unwrap();
    let of_log = place.command(&["set", "-", "/0", "1"]).write_stdin(bytes).assert();
    says(of_log, 2, &["standard input: a log, not a document", "tree"]);
}

#[test]
fn a_log_is_read_where_a_document_is() {
    let place = Place::new();
    log(&place);
    assert_eq!(place.yes("to-json l.lblog"), "[{\"a\":1},{\"a\":2,\"b\":\"x\"},[3]]\n");
    assert_eq!(place.yes("query l.lblog $[*].a"), "1\n2\n");
    assert_eq!(place.yes("get l.lblog /1/b /2"), "\"x\"\n[3]\n");
    assert_eq!(place.yes("validate l.lblog"), "l.lblog: valid, a log of 3 rows\n");
    assert_eq!(place.yes("keys l.lblog /0"), "\"a\"\n");
    assert!(
        place.yes("stats l.lblog").contains("3 arrays")
            || place.yes("stats l.lblog").contains("2 arrays")
    );
    place.file("same.json", "[{\"a\":1},{\"a\":2,\"b\":\"x\"},[3]]");
    place.yes("diff l.lblog same.json");
    let bytes = fs::read(place.path("l.lblog")).unwrap();
    let piped = place.command(&["get", "-", "/2"]).write_stdin(bytes.clone()).assert();
    piped.success().stdout("[3]\n");
    for command in
        ["set l.lblog /0 1", "inspect l.lblog", "compact l.lblog", "edit l.lblog remove\u{a0}/0"]
    {
        says(place.run(command), 2, &["l.lblog: a log, not a document", "livebuf log"]);
        assert_eq!(fs::read(place.path("l.lblog")).unwrap(), bytes, "{command}");
    }
    says(place.run("from-json l.lblog"), 2, &["a LiveBuf log", "livebuf log cat"]);
    // A damaged one is a no to validate.
    let mut damaged = bytes;
    damaged[100] ^= 1;
    place.file("bad.lblog", damaged);
    says(place.run("validate bad.lblog"), 1, &["bad.lblog", "damaged"]);
    says(place.run("get bad.lblog /0"), 2, &["bad.lblog", "damaged"]);
}

#[test]
fn what_is_no_json_at_all_is_named() {
    let place = Place::new();
    let cases: [(&[u8], &str); 6] = [
        (b"\x1f\x8b\x08\0", "gzip -dc"),
        (b"\x28\xb5\x2f\xfd\0", "Zstandard"),
        (b"PAR1\x15\x04", "from-parquet"),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (b"{\0}\0", "iconv"),
        (b"\xABLBL\0\0\0\0", "livebuf log cat"),
    ];
    for (bytes, word) in cases {
        place.file("in", bytes);
        says(place.run("from-json in -o out"), 2, &["in: not JSON", word]);
        if !bytes.starts_with(b"\xABLBL") {
            for command in ["get in /a", "query in $", "tree in", "validate in", "set in /a 1"] {
                says(place.run(command), 2, &["in: not", word]);
            }
        }
    }
}

/// A file that was allocated in advance or cut off by a crash: "expected a value".
#[test]
fn nul_bytes_are_named() {
    let place = Place::new();
    let nuls = "\0".repeat(64);
    place.file("in.ndjson", format!("{{\"e\":1}}\n{nuls}{{\"e\":2}}\n{{\"e\":3}}\n"));
    place.file("end.ndjson", format!("{{\"e\":1}}\n{{\"e\":2}}\n{nuls}"));
    place.file("text.ndjson", format!("{{\"e\":1}}\n{{\"e\":\"a{nuls}\n"));
    for (name, line, rows) in [("in", 2, "1\n3\n"), ("end", 3, "1\n2\n"), ("text", 2, "1\n")] {
        let (line, name) = (format!("line {line}, column"), format!("{name}.ndjson"));
        let words = ["NUL bytes", "crash", &line, "--skip-bad"];
        says(place.run(&format!("from-json --lines {name} -o no.lbuf")), 2, &words);
        says(place.run(&format!("query {name} $[*].e")), 2, &words);
        says(place.run(&format!("log append new.lblog {name}")), 2, &words);
        let skipped = place.run(&format!("from-json --lines --skip-bad -f {name} -o x.lbuf"));
        let told = String::from_utf8_lossy(&skipped.success().get_output().stderr).into_owned();
        assert!(told.contains("1 line skipped") && told.contains("NUL bytes"), "{told}");
        assert_eq!(place.yes("query x.lbuf $[*].e"), rows);
    }
    says(place.run("from-json in.ndjson -o no.lbuf"), 2, &["NUL bytes", "--lines --skip-bad"]);
    place.file("one.json", format!("{{\"e\":1}}\n{nuls}"));
    says(place.run("get one.json /e"), 2, &["NUL bytes", "line 2, column 1"]);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let place = Place::new();
    place.file("in.json", "\u{feff}{\"a\":1}");
    place.yes("from-json in.json -o x.lbuf");
    assert_eq!(place.yes("to-json x.lbuf"), "{\"a\":1}\n");
    assert_eq!(place.yes("get in.json /a"), "1\n");
    place.file("in.ndjson", "\u{feff}1\n2\n");
    assert_eq!(place.yes("query in.ndjson $[*]"), "1\n2\n");
    place.yes("log append x.lblog in.ndjson");
    assert_eq!(place.yes("log cat x.lblog"), "1\n2\n");
}

#[test]
fn half_surrogates_are_replaced_if_asked() {
    let place = Place::new();
    place.file("in.json", r#"["\ud800"]"#);
    says(place.run("from-json in.json -o x.lbuf"), 2, &["in.json: not JSON", "surrogate"]);
    place.yes("from-json --surrogates replace in.json -o x.lbuf");
    assert_eq!(place.yes("to-json x.lbuf"), "[\"\u{fffd}\"]\n");
    says(place.run("log append x.lblog in.json"), 2, &["surrogate", "line 1, column 9"]);
    place.yes("log append --surrogates replace x.lblog in.json");
    assert_eq!(place.yes("log cat x.lblog"), "[\"\u{fffd}\"]\n");
}

/// As `jq` and `kubectl` print them.
#[test]
fn values_one_after_another_are_read_as_lines() {
    let place = Place::new();
    let values = "{\n  \"a\": [\n    1\n  ]\n}\n{\n  \"a\": []\n}{}7\n";
    let lines = "{\"a\":[1]}\n{\"a\":[]}\n{}\n7\n";
    place.file("in.json", values);
    says(place.run("from-json in.json"), 2, &["in.json: not JSON", "line 6", "give --lines"]);
    place.yes("from-json --lines in.json -o x.lbuf");
    assert_eq!(place.yes("to-json --lines x.lbuf"), lines);
    place.yes("from-json --lines --each in.json -o each");
    assert_eq!(place.yes("to-json each/000002.lbuf"), "{\"a\":[]}\n");
    place.file("in.jsonl", values);
    assert_eq!(place.yes("query in.jsonl $[*]"), lines);
    place.yes("log append x.lblog in.json");
    assert_eq!(place.yes("log cat x.lblog"), lines);
    place.file("bad.json", "{\n  \"a\": 1\n}\n{\n  \"a\" 2\n}\n");
    let words = ["bad.json: line 5, column 7", "the log has 5 rows now"];
    says(place.run("log append x.lblog bad.json"), 2, &words);
    place.file("cut.json", "{\n  \"a\": 2\n}\n{\n  \"a\":\n");
    let words = ["cut.json: line 6, column 1", "begins in line 4", "the log has 6 rows now"];
    says(place.run("log append x.lblog cut.json"), 2, &words);
    assert_eq!(place.yes("log cat --from 4 x.lblog"), "{\"a\":1}\n{\"a\":2}\n");
}

/// Values come in the pieces that a pipe gives. What is whole is appended at once.
#[test]
fn values_are_appended_as_they_come() {
    use std::io::Write as _;
    let place = Place::new();
    let mut command = std::process::Command::new(crate::BINARY);
    command.current_dir(place.0.path()).args(["log", "append", "x.lblog"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut rows = String::new();
    let mut give = |text: &str, row: Option<&str>| {
        input.write_all(text.as_bytes()).unwrap();
        rows.extend(row.map(|row| format!("{row}\n")));
        for _ in 0..500 {
            let found = place.path("x.lblog").exists().then(|| place.run("log cat x.lblog"));
            let found = found.map(|found| found.get_output().stdout.clone()).unwrap_or_default();
            if found == rows.as_bytes() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{rows:?} are not there behind {text:?}");
    };
    give("{\n  \"a\": [\n", None);
    give("    1,\n", None);
    give("    2\n  ]\n}\n{\n", Some("{\"a\":[1,2]}"));
    give("  \"a\": 1}\n", Some("{\"a\":1}"));
    give("{\"b\":1}\n", Some("{\"b\":1}"));
    give("  {\"c\":1}\n", Some("{\"c\":1}"));
    input.write_all("{\"d\":\n1".as_bytes()).unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert_eq!(place.yes("log cat x.lblog"), rows);
}

#[test]
fn bad_lines_are_skipped_and_counted() {
    let place = Place::new();
    place.file("in.ndjson", "{\"a\":1}\n{\"a\":\n\n{\"a\":2}\n{} {}\n[3]\n");
    let told = |command: &str| {
        let assert = place.run(command).success().stdout("");
        String::from_utf8(assert.get_output().stderr.clone()).unwrap()
    };
    let expected = "livebuf: in.ndjson: 2 lines skipped; the first is line 2, column 6: \
                    the text ends where a value should be\n";
    assert_eq!(told("from-json --lines --skip-bad in.ndjson -o x.lbuf"), expected);
    assert_eq!(place.yes("to-json x.lbuf"), "[{\"a\":1},{\"a\":2},[3]]\n");
    assert_eq!(told("from-json --lines --each --skip-bad in.ndjson -o each"), expected);
    assert_eq!(place.yes("to-json each/000003.lbuf"), "[3]\n");
    assert_eq!(told("log append --skip-bad x.lblog in.ndjson"), expected);
    assert_eq!(place.yes("log cat x.lblog"), "{\"a\":1}\n{\"a\":2}\n[3]\n");
    place.file("sound.ndjson", "1\n2\n");
    assert_eq!(told("from-json --lines --skip-bad -f sound.ndjson -o x.lbuf"), "");
    says(place.run("from-json --skip-bad in.ndjson"), 2, &["--lines"]);
    says(
        place.run("from-json --lines in.ndjson -o y.lbuf"),
        2,
        &["begins in line 2, at line 5, column 1"],
    );
    // Behind many pieces of the input.
    let many = "{\"a\":1}\n".repeat(1_000_000) + "{\n1\n";
    place.file("many.ndjson", many);
    let told = told("log append --skip-bad y.lblog many.ndjson");
    assert!(told.contains("1 line skipped; the first is line 1,000,001, column 2"), "{told}");
}

#[test]
fn several_files_are_validated_and_queried() {
    let place = Place::new();
    place.document("a.lbuf", r#"{"n": 1}"#);
    place.document("b.lbuf", r#"{"m": 2}"#);
    place.document("c.lbuf", r#"{"n": 3}"#);
    let mut bytes = fs::read(place.path("c.lbuf")).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 0xFF;
    place.file("damaged.lbuf", bytes);
    assert_eq!(place.yes("query a.lbuf b.lbuf c.lbuf $.n"), "1\n3\n");
    assert_eq!(place.yes("query --pointers a.lbuf c.lbuf $.n"), "a.lbuf:/n\nc.lbuf:/n\n");
    says(place.run("query a.lbuf b.lbuf $.none"), 1, &["finds nothing in these files"]);
    let some = place.run("query a.lbuf none.lbuf c.lbuf $.n").code(2);
    assert_eq!(some.get_output().stdout, b"1\n3\n");
    assert_eq!(place.yes("validate a.lbuf b.lbuf").lines().count(), 2);
    let some = place.run("validate a.lbuf damaged.lbuf c.lbuf").code(1);
    assert_eq!(String::from_utf8_lossy(&some.get_output().stdout).lines().count(), 2);
    place.run("validate damaged.lbuf none.lbuf").code(2);
}

#[test]
fn patches_are_files_or_text() {
    let place = Place::new();
    place.document("a.lbuf", r#"{"n": 1}"#);
    place.file("merge.json", r#"{"n": 2, "m": 1}"#);
    place.document("merge.lbuf", r#"{"n": 3}"#);
    place.file("patch.json", r#"[{"op": "remove", "path": "/m"}]"#);
    for (arguments, text) in [
        (&["merge", "a.lbuf", "merge.json"][..], r#"{"n":2,"m":1}"#),
        (&["merge", "a.lbuf", "merge.lbuf"], r#"{"n":3,"m":1}"#),
        (&["merge", "a.lbuf", r#"{"n":4}"#], r#"{"n":4,"m":1}"#),
        (&["patch", "a.lbuf", "patch.json"], r#"{"n":4}"#),
        (
            &["patch", "a.lbuf", r#"[{"op": "add", "path": "/m", "value": 7}]"#, "patch.json"],
            r#"{"n":4}"#,
        ),
        (&["merge", "a.lbuf", "-5"], "-5"),
    ] {
        place.command(arguments).assert().success();
        assert_eq!(place.yes("to-json a.lbuf"), format!("{text}\n"), "{arguments:?}");
    }
    says(place.run("merge a.lbuf none.json"), 2, &["\"none.json\" is not JSON", "no file"]);
    says(place.run("patch a.lbuf none.json"), 2, &["\"none.json\" is not JSON", "no file"]);
}

#[test]
fn the_root_is_not_removed() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    let commands: [&[&str]; 4] = [
        &["remove", "x.lbuf", ""],
        &["remove", "--all", "x.lbuf", "$"],
        &["edit", "x.lbuf", "remove \"\""],
        &["patch", "x.lbuf", r#"[{"op": "remove", "path": ""}]"#],
    ];
    for arguments in commands {
        let assert = place.command(arguments).assert();
        says(assert, 2, &["a document always has a value", "replace it by null"]);
        assert_eq!(place.yes("to-json x.lbuf"), format!("{USERS}\n"));
    }
    place.command(&["set", "x.lbuf", "", "null"]).assert().success();
}

#[test]
fn edits_of_all_matches_say_how_many() {
    let place = Place::new();
    place.document("x.lbuf", "[1,2,3,4]");
    let set = place.run("set --all x.lbuf $[0,1] 9").success().stdout("");
    assert_eq!(String::from_utf8_lossy(&set.get_output().stderr), "x.lbuf: set 2 values\n");
    let removed = place.run("remove --all x.lbuf $[3]").success().stdout("");
    assert_eq!(String::from_utf8_lossy(&removed.get_output().stderr), "x.lbuf: removed 1 value\n");
    assert_eq!(place.yes("to-json x.lbuf"), "[9,9,3]\n");
}

#[test]
fn keys_of_an_array_tell_its_length() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    says(place.run("keys x.lbuf /users"), 2, &["/users is an array of 2 elements"]);
    says(place.run("keys x.lbuf /users/1/tags"), 2, &["an array of 2 elements"]);
    says(place.run("keys x.lbuf /n"), 2, &["/n is no object"]);
}

#[test]
fn lines_are_printed_of_an_array() {
    let place = Place::new();
    place.document("x.lbuf", r#"[{"a":1},{"a":2},"x",[]]"#);
    let lines = "{\"a\":1}\n{\"a\":2}\n\"x\"\n[]\n";
    assert_eq!(place.yes("to-json --lines x.lbuf"), lines);
    place.yes("to-json --lines x.lbuf -o out.ndjson");
    assert_eq!(fs::read_to_string(place.path("out.ndjson")).unwrap(), lines);
    assert_eq!(place.yes("to-json --lines out.ndjson"), lines);
    place.document("no.lbuf", USERS);
    says(place.run("to-json --lines no.lbuf"), 2, &["no.lbuf: the root is no array", "--lines"]);
    let odd =
        ["\"],[\\\\\"", "{\"a,b\":[{},[],\"\\\"\",1]}", "[[1,2],[]]", "\"\\\\\"", "\"{\"", "null"];
    place.document("odd.lbuf", &format!("[{}]", odd.join(",")));
    assert_eq!(place.yes("to-json --lines odd.lbuf"), odd.join("\n") + "\n");
    place.document("empty.lbuf", "[]");
    assert_eq!(place.yes("to-json --lines empty.lbuf"), "");
}

#[test]
fn a_query_prints_rows() {
    let place = Place::new();
    place.document(
        "x.lbuf",
        r#"[{"id":1,"type":"a, \"b\"","n":null},{"type":"c\nd"},{"id":[1,2],"n":2.5},{"o":1}]"#,
    );
    let query = r#"$[*]["id","type","n"]"#;
    let run = |option: &str| {
        let assert = place.command(&["query", option, "x.lbuf", query]).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    };
    assert_eq!(
        run("--rows"),
        "{\"id\":1,\"type\":\"a, \\\"b\\\"\",\"n\":null}\n{\"type\":\"c\\nd\"}\n{\"id\":[1,2],\"n\":2.5}\n"
    );
    assert_eq!(run("--csv"), "id,type,n\n1,\"a, \"\"b\"\"\",\n,\"c\nd\",\n\"[1,2]\",,2.5\n");
    // A column that is met late stands where the query has it.
    place.document("late.lbuf", r#"[{"b":1},{"a":2,"b":3},{"a":4}]"#);
    let late = place.command(&["query", "--csv", "late.lbuf", r#"$[*]["a","b"]"#]).assert();
    late.success().stdout("a,b\n,1\n2,3\n4,\n");
    assert_eq!(place.yes("query --csv late.lbuf $[*].a"), "a\n2\n4\n");
    says(place.run("query --csv late.lbuf $[*].c"), 1, &["finds nothing"]);
}

/// A late column stood somewhere, and each of several files had its own columns.
#[test]
fn csv_has_the_columns_of_the_query_once() {
    let place = Place::new();
    place.document("x.lbuf", r#"[{"q":1,"b":2},{"c":3},{"a":4,"b":5}]"#);
    place.document("y.lbuf", r#"[{"c":6,"a":7}]"#);
    place.document("none.lbuf", r#"[{"other":1}]"#);
    let csv = |arguments: &[&str]| {
        let assert = place.command(&[&["query", "--csv"], arguments].concat()).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    };
    let rows = "a,b,c,q\n,2,,1\n,,3,\n4,5,,\n";
    for query in [
        r#"$[*]["a","b","c","q"]"#,
        "$[*]['a', 'b' , 'c','a','q']",
        "$..['a','b','c','q']",
        r#"$[?@['q'] || true == true]["a","b","\u0063",'q']"#,
    ] {
        assert_eq!(csv(&["x.lbuf", query]), rows, "{query}");
        let both = csv(&["none.lbuf", "x.lbuf", "y.lbuf", query]);
        assert_eq!(both, format!("{rows}7,,6,\n"), "{query}");
    }
    // A name that no row has is a column all the same.
    assert_eq!(csv(&["y.lbuf", "$[*]['n','a']"]), "n,a\n,7\n");
    place.document("odd.lbuf", r#"[{"it's":1,"a\"b":2,"],[":3}]"#);
    let odd = r#"$[*]['],[','it\'s','a"b']"#;
    assert_eq!(csv(&["odd.lbuf", odd]), "\"],[\",it's,\"a\"\"b\"\n3,1,2\n");
    // Others have them as they come, all files the same.
    let all = "q,b,c,a,other\n1,2,,,\n,,3,,\n,5,,4,\n,,6,7,\n,,,,1\n";
    assert_eq!(csv(&["x.lbuf", "y.lbuf", "none.lbuf", "$[*].*"]), all);
    assert_eq!(csv(&["x.lbuf", "$[*]['a',*]"]).lines().next(), Some("q,b,c,a"));
    // A file that cannot be read is told, and the others are printed.
    let some = place.run("query --csv x.lbuf gone.lbuf y.lbuf $[*].*").code(2);
    let some = String::from_utf8_lossy(&some.get_output().stdout).into_owned();
    assert_eq!(some, "q,b,c,a\n1,2,,\n,,3,\n,5,,4\n,,6,7\n");
}

/// Beyond 16 MiB each row was validated with all of its table.
#[test]
fn a_query_prints_more_than_it_keeps() {
    let place = Place::new();
    let text = "long ".repeat(40);
    let rows = (0..100_000).map(|id| format!(r#"{{"id":{id},"text":"{id} {text}"}}"#));
    place.document("x.lbuf", &format!("[{}]", rows.collect::<Vec<_>>().join(",")));
    // Where it validated the document for each further match, this took minutes.
    let (lines, found) = (place.yes("to-json --lines x.lbuf"), place.yes("query x.lbuf $[*]"));
    assert!(lines == found && found.len() > 20_000_000, "{} bytes", found.len());
}

#[test]
fn a_tree_shows_keys_kinds_and_counts() {
    let place = Place::new();
    place.document("x.lbuf", USERS);
    assert_eq!(
        place.yes("tree x.lbuf"),
        "1 object
  users: 1 array of 2 elements
    []: 2 objects
      name: 2 text
      age: 1 integer, not in all
      tags: 1 array of 2 elements, not in all
        []: 2 text
  n: 1 integer
"
    );
    assert_eq!(place.yes("tree x.lbuf /users/1/tags"), "1 array of 2 elements\n  []: 2 text\n");
    says(place.run("tree x.lbuf /none"), 1, &["/none is not there"]);
    let members: Vec<_> =
        (0..100).map(|key| format!(r#""k{key}":{{"a":{key},"b{key}":[1]}}"#)).collect();
    place.document("map.lbuf", &format!("{{{}}}", members.join(",")));
    let map = place.yes("tree map.lbuf");
    assert!(
        map.starts_with("1 object\n  *: 100 objects\n    *: 100 integers, 100 arrays of"),
        "{map}"
    );
    let members: Vec<_> = (0..50).map(|key| format!(r#""k{key}":{{"a":{{"b":1}}}}"#)).collect();
    place.document("wide.lbuf", &format!("{{\"o\":{{{0}}},\"p\":{{{0}}}}}", members.join(",")));
    let wide = place.yes("tree wide.lbuf");
    assert_eq!(wide.lines().count(), 61, "{wide}");
    assert!(wide.contains("more lines: give a pointer"), "{wide}");
    let members: Vec<_> = (0..30).map(|key| format!(r#""k{key}":1"#)).collect();
    place.document("keys.lbuf", &format!("{{{}}}", members.join(",")));
    assert!(place.yes("tree keys.lbuf").ends_with("  ... 10 more keys\n"));
}

#[test]
fn manual_pages_say_what_help_says() {
    let place = Place::new();
    let page = place.yes("man");
    assert!(page.contains(".TH livebuf 1") && page.contains("Exit status"), "{page}");
    let page = place.yes("man log append");
    assert!(
        page.contains("livebuf-log-append") || page.contains("livebuf\\-log\\-append"),
        "{page}"
    );
    assert!(page.contains("Makes the log if there is none"), "{page}");
    says(place.run("man nonsense"), 2, &["no command nonsense"]);
}
