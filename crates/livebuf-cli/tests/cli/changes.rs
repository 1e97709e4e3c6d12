//! Batches of edits, queries, patches, diffs and deltas on the command line.

use super::{Place, USERS, says};
use std::fs;

#[test]
fn several_edits_happen_all_or_not_at_all() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    let edits = [
        "edit",
        "a.lbuf",
        "set /n 6",
        "push /users/1/tags \"sea\"",
        "remove /users/0/age",
        "move /users/0/name /first",
        "copy /n /users/0/n",
        "test /first \"Ada\"",
        "set \"/a b\" [1, 2]",
    ];
    place.command(&edits).assert().success().stdout("");
    assert_eq!(
        place.yes("to-json a.lbuf"),
        "{\"users\":[{\"n\":6},{\"name\":\"Grace\",\"tags\":[\"navy\",\"cobol\",\"sea\"]}],\
         \"n\":6,\"first\":\"Ada\",\"a b\":[1,2]}\n"
    );

    let before = fs::read(place.path("a.lbuf")).unwrap();
    for (last, words) in [
        ("test /n 8", vec!["edit 2", "test", "/n"]),
        ("remove /gone", vec!["edit 2", "/gone is not there"]),
        ("move /users /users/0", vec!["edit 2", "move"]),
        ("set /users/9 1", vec!["edit 2", "2 elements", "appends"]),
        ("put /n 7", vec!["put /n 7", "no word that edit knows", "'set /lap 56'"]),
        ("set /n", vec!["has no value"]),
        ("set", vec!["a pointer too few"]),
        ("set \"/n 7", vec!["in quotes"]),
        ("set /n {", vec!["not JSON"]),
        ("remove /n 7", vec!["goes on behind its end"]),
    ] {
        says(place.command(&["edit", "a.lbuf", "set /n 7", last]).assert(), 2, &words);
        assert!(fs::read(place.path("a.lbuf")).unwrap() == before, "{last}");
    }

    let lines = "set /n 8\n\nremove /first\n";
    place.command(&["edit", "a.lbuf", "-"]).write_stdin(lines).assert().success();
    assert_eq!(place.yes("get a.lbuf /n"), "8\n");
    place.run("get a.lbuf /first").code(1);
}

#[test]
fn numbers_are_added_to() {
    let place = Place::new();
    let numbers = r#"{"n":5,"f":1.5,"max":9223372036854775807,"top":18446744073709551615,"long":12345678901234567890123,"t":"a"}"#;
    place.document("x.lbuf", numbers);
    let adds = ["add /n 1", "add /n -7", "add /f 1", "add /max 1", "add /top -9223372036854775808"];
    place.command(&[&["edit", "x.lbuf"], &adds[..]].concat()).assert().success().stdout("");
    assert_eq!(
        place.yes("get x.lbuf /n /f /max /top"),
        "-1\n2.5\n9223372036854775808\n9223372036854775807\n"
    );
    place.command(&["edit", "x.lbuf", "add /n 0.5"]).assert().success();
    assert_eq!(place.yes("get x.lbuf /n"), "-0.5\n");
    place.document("x.lbuf", numbers);
    let before = fs::read(place.path("x.lbuf")).unwrap();
    for (operation, words) in [
        ("add /top 1", "/top would become a number that add cannot keep"),
        ("add /top -36893488147419103230", "adds no number"),
        ("add /max 0.5", "/max would become a number"),
        ("add /f 1e400", "adds no number"),
        ("add /t 1", "/t is text, not a number"),
        ("add /long 1", "/long has more digits than add keeps"),
        ("add /n \"1\"", "adds no number"),
        ("add /gone 1", "/gone is not there"),
        ("add /n", "has no value"),
    ] {
        says(place.command(&["edit", "x.lbuf", operation]).assert(), 2, &[words]);
        assert_eq!(fs::read(place.path("x.lbuf")).unwrap(), before, "{operation}");
    }
}

/// Bug: decimals were said to have more digits than `add` keeps, 1.5 too. Fix: their type is named.
#[test]
fn decimals_are_not_added_to() {
    let place = Place::new();
    let mut doc = livebuf::json!({});
    doc.set_pointer("/price", "1.5".parse::<livebuf::Decimal>().unwrap()).unwrap();
    fs::write(place.path("x.lbuf"), doc.as_bytes()).unwrap();
    let words = "/price is a decimal number; add adds to integers and floats";
    says(place.command(&["edit", "x.lbuf", "add /price 1"]).assert(), 2, &[words]);
}

#[test]
fn queries_find_values_and_their_places() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    assert_eq!(place.yes("query a.lbuf $.users[*].name"), "\"Ada\"\n\"Grace\"\n");
    assert_eq!(place.yes("query -r a.lbuf $.users[?@.age>30].name"), "Ada\n");
    assert_eq!(place.yes("query --paths a.lbuf $..tags[-1]"), "$['users'][1]['tags'][1]\n");
    assert_eq!(place.yes("query --pointers a.lbuf $..tags[-1]"), "/users/1/tags/1\n");
    says(place.run("query a.lbuf $.nothing"), 1, &["$.nothing finds nothing"]);
    says(place.run("query a.lbuf $.users["), 2, &["is no query", "column 9"]);
    says(place.run("query a.lbuf /users"), 2, &["is no query", "begins with $"]);
}

#[test]
fn all_that_a_query_finds_is_edited() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    place.yes("set --all a.lbuf $.users[*].age 40");
    place.yes("remove a.lbuf $..tags[0] --all");
    assert_eq!(
        place.yes("to-json a.lbuf"),
        "{\"users\":[{\"name\":\"Ada\",\"age\":40},{\"name\":\"Grace\",\"tags\":[\"cobol\"]}],\"n\":5}\n"
    );
    says(place.run("set --all a.lbuf $.gone 1"), 1, &["finds nothing"]);
    says(place.run("remove --all a.lbuf $.gone"), 1, &["finds nothing"]);
    says(place.run("set --all -p a.lbuf $.n 1"), 2, &["cannot be used with"]);
}

/// A valid document of 34 kB was refused, and no option allowed more.
#[test]
fn a_query_of_a_valid_document_has_the_steps_that_it_needs() {
    let place = Place::new();
    let leaves = vec!["true"; 4_000].join(",");
    place.document("a.lbuf", &format!("{}{leaves}{}", "[".repeat(900), "]".repeat(900)));
    assert_eq!(place.yes("query --pointers a.lbuf $..[?@==true]").lines().count(), 4_000);
    let few = ["more than 1,000 steps", "--budget STEPS allows more"];
    says(place.run("query --budget 1000 a.lbuf $..*"), 2, &few);
    says(place.run("set --all --budget 1000 a.lbuf $..[?@==true] 1"), 2, &few);
    says(place.run("remove --all --budget 1000 a.lbuf $..[?@==true]"), 2, &few);
    place.yes("remove --all a.lbuf $..[?@==true]");
    says(place.run("query a.lbuf $..[?@==true]"), 1, &["finds nothing"]);
}

#[test]
fn a_diff_is_shown_and_applied() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    let changed =
        USERS.replace("36", "37").replace("\"navy\",", "").replace("\"n\":5", "\"m\":[5]");
    place.file("b.json", &changed);
    let shown = place.run("diff a.lbuf b.json").code(1);
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    for line in ["- /users/0/age: 36\n", "+ /users/0/age: 37\n", "- /n: 5\n", "+ /m: [5]\n"] {
        assert!(shown.contains(line), "{shown}");
    }
    place.run("diff -q a.lbuf b.json").code(1).stdout("").stderr("");
    place.run("diff a.lbuf a.lbuf").success().stdout("");
    let coloured = place.command(&["diff", "a.lbuf", "b.json"]).env("CLICOLOR_FORCE", "1").assert();
    assert!(coloured.get_output().stdout.contains(&0x1B));

    for (how, command) in [("--patch", "patch"), ("--merge", "merge")] {
        let patch = place.run(&format!("diff {how} a.lbuf b.json")).code(1);
        let patch = String::from_utf8(patch.get_output().stdout.clone()).unwrap();
        fs::copy(place.path("a.lbuf"), place.path("c.lbuf")).unwrap();
        let arguments: &[&str] = &[command, "c.lbuf", "-"];
        place.command(arguments).write_stdin(patch).assert().success();
        place.run("diff c.lbuf b.json").success();
    }
    // A filter: the document from standard input, the patched one to standard output.
    place.file("p.json", r#"[{"op":"replace","path":"/n","value":6}]"#);
    let document = fs::read(place.path("a.lbuf")).unwrap();
    let patched = place.command(&["patch", "-", "p.json"]).write_stdin(document).assert().success();
    place.file("d.lbuf", &patched.get_output().stdout);
    assert_eq!(place.yes("get d.lbuf /n"), "6\n");

    says(place.run("diff - -"), 2, &["standard input cannot be both"]);
    says(place.run("diff a.lbuf gone"), 2, &["gone", "no such file"]);
    place.file("null.json", r#"{"n":null}"#);
    says(place.run("diff --merge a.lbuf null.json"), 2, &["null", "--patch"]);
    place.run("diff --ordered a.lbuf a.lbuf").success();
}

#[test]
fn a_patch_that_cannot_be_changes_nothing() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    let before = fs::read(place.path("a.lbuf")).unwrap();
    place.file("good.json", r#"[{"op":"replace","path":"/n","value":6}]"#);
    place
        .file("bad.json", r#"[{"op":"add","path":"/x","value":1},{"op":"remove","path":"/gone"}]"#);
    place.file("none.json", r#"{"op":"remove"}"#);
    says(place.run("patch a.lbuf good.json bad.json"), 2, &["bad.json", "operation 1", "/gone"]);
    says(place.run("patch a.lbuf good.json none.json"), 2, &["none.json", "no JSON patch"]);
    says(place.run("merge a.lbuf {"), 2, &["not JSON"]);
    assert!(fs::read(place.path("a.lbuf")).unwrap() == before);
    place.yes("patch a.lbuf good.json good.json");
    place.command(&["merge", "a.lbuf", r#"{"n":null,"users":7}"#]).assert().success();
    assert_eq!(place.yes("to-json a.lbuf"), "{\"users\":7}\n");
}

#[test]
fn deltas_keep_copies_equal() {
    let place = Place::new();
    place.document("a.lbuf", USERS);
    let edit = |out: &str, edit: &str, option: &str| {
        place.command(&["delta", "make", option, "a.lbuf", out, edit]).assert()
    };
    says(edit("d1", "set /n 6", "--old"), 2, &["has no state", "livebuf delta begin a.lbuf"]);
    let state = place.yes("delta begin a.lbuf");
    assert_eq!(state.trim().len(), 32);
    assert_eq!(place.yes("delta begin a.lbuf"), state, "the state stays");
    fs::copy(place.path("a.lbuf"), place.path("b.lbuf")).unwrap();
    fs::copy(place.path("a.lbuf"), place.path("first.lbuf")).unwrap();

    edit("d1", "set /n 6", "--old").success();
    edit("d2", "push /users {\"name\":\"Alan\"}", "--old").success();
    edit("d3", "remove /users/0", "--digest").success();
    says(place.run("delta apply b.lbuf d2"), 2, &["the delta is for state", &state.trim()[..32]]);
    place.yes("delta apply b.lbuf d1 d2 d3");
    assert!(fs::read(place.path("a.lbuf")).unwrap() == fs::read(place.path("b.lbuf")).unwrap());

    says(place.run("delta apply --revert b.lbuf d3"), 2, &["without old bytes", "--old"]);
    fs::copy(place.path("first.lbuf"), place.path("b.lbuf")).unwrap();
    place.yes("delta apply b.lbuf d1 d2");
    place.yes("delta apply --revert b.lbuf d1 d2");
    assert!(fs::read(place.path("first.lbuf")).unwrap() == fs::read(place.path("b.lbuf")).unwrap());

    let shown = place.yes("delta show d1");
    assert!(shown.contains(state.trim()) && shown.contains("05 -> 06"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&place.yes("delta show --json d3")).unwrap();
    assert!(json["digest"].is_string() && json["changes"][0]["offset"].is_u64());

    // An edit that no delta tells ends the state.
    place.yes("set b.lbuf /n 7");
    says(place.run("delta apply b.lbuf d1"), 2, &["has no state"]);
    // Damaged deltas change nothing.
    let before = fs::read(place.path("first.lbuf")).unwrap();
    let delta = fs::read(place.path("d1")).unwrap();
    place.file("cut", &delta[..delta.len() - 1]);
    says(place.run("delta apply first.lbuf cut"), 2, &["cut"]);
    says(place.run("delta show a.lbuf"), 2, &["not a delta"]);
    assert!(fs::read(place.path("first.lbuf")).unwrap() == before);
    says(place.run("delta apply - d1"), 2, &["documents in files"]);
}
