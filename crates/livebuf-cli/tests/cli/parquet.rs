//! `to-parquet` and `from-parquet`.

use crate::{Place, USERS};
use predicates::prelude::*;

#[test]
fn there_and_back() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    place.run("to-parquet a.lbuf -o a.parquet").success().stdout("");
    place.run("from-parquet a.parquet -o b.lbuf").success().stdout("");
    place.run("diff a.lbuf b.lbuf").success();
    place.run("to-parquet a.lbuf --table /users -o users.parquet --compression zstd").success();
    place.run("from-parquet users.parquet -o users.lbuf").success();
    assert_eq!(
        place.yes("to-json users.lbuf").trim(),
        r#"[{"name":"Ada","age":36,"tags":null},{"name":"Grace","age":null,"tags":["navy","cobol"]}]"#
    );
    place.run("from-parquet users.parquet -f -o users.lbuf --skip-nulls").success();
    assert_eq!(
        place.yes("to-json users.lbuf").trim(),
        r#"[{"name":"Ada","age":36},{"name":"Grace","tags":["navy","cobol"]}]"#
    );
    // What columns lose, Variants keep.
    place
        .run("to-parquet a.lbuf --table /users --variant --no-shred -f -o users.parquet")
        .success();
    place.run("from-parquet users.parquet -f -o users.lbuf").success();
    assert_eq!(
        place.yes("to-json users.lbuf").trim(),
        r#"[{"name":"Ada","age":36},{"name":"Grace","tags":["navy","cobol"]}]"#
    );
}

#[test]
fn pipes() {
    let place = Place::new();
    place.document("a.lbuf", "[1,2,3]");
    let parquet = place.run("to-parquet a.lbuf").success().get_output().stdout.clone();
    assert!(parquet.starts_with(b"PAR1"));
    let mut back = place.command(&["from-parquet", "-"]);
    let document = back.write_stdin(parquet).assert().success().get_output().stdout.clone();
    place.file("b.lbuf", document);
    assert_eq!(place.yes("to-json b.lbuf").trim(), "[1,2,3]");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let place = Place::new();
    place.document("a.lbuf", r#"{"a":[1,{"b~":1e400}]}"#);
    let says = predicate::str::contains(r#""/a/1/b~0""#).and(predicate::str::contains("--lossy"));
    place.run("to-parquet a.lbuf -o a.parquet").code(2).stderr(says);
    assert_eq!(place.names(), ["a.lbuf"]);
    place.run("to-parquet a.lbuf --lossy -o a.parquet").success();
    place.run("from-parquet a.parquet -o b.lbuf").success();
    assert_eq!(place.yes("to-json b.lbuf").trim(), r#"{"a":[1,{"b~":"1e400"}]}"#);
}

#[test]
fn wrong_input() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    place.file("a.json", USERS);
    place.file("bad.json", "{]");
    place.file("bad", "?");
    for (line, says) in [
        ("to-parquet a.lbuf --table /nothing -o x", r#"nothing at "/nothing""#),
        ("to-parquet bad.json -o x", "bad.json: not JSON"),
        ("to-parquet bad -o x", "bad: not a LiveBuf document"),
        ("to-parquet missing.lbuf -o x", "no such file"),
        ("from-parquet a.json -o x", "a.json: "),
        ("from-parquet a.lbuf -o x", "a.lbuf: "),
        ("from-parquet missing.parquet -o x", "no such file"),
        ("from-parquet . -o x", "directory"),
        ("to-parquet a.lbuf -o a.json", "exists already"),
        ("from-parquet a.lbuf -o a.json", "exists already"),
    ] {
        place.run(line).code(2).stderr(predicate::str::contains(says));
    }
    assert_eq!(place.names(), ["a.json", "a.lbuf", "bad", "bad.json"]);
}

#[test]
fn json_and_logs_are_taken_too() {
    let place = Place::new();
    place.file("a.json", r#"[{"a":1},{"a":2}]"#);
    let mut append = place.command(&["log", "append", "a.lblog"]);
    append.write_stdin("{\"a\":1}\n{\"a\":2}\n").assert().success();
    for file in ["a.json", "a.lblog"] {
        place.run(&format!("to-parquet {file} -f -o a.parquet")).success();
        place.run("from-parquet a.parquet -f -o b.lbuf").success();
        assert_eq!(place.yes("to-json b.lbuf").trim(), r#"[{"a":1},{"a":2}]"#);
    }
}
