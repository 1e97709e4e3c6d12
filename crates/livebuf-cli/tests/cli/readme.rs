//! The commands that the README shows print what it says that they print.

use super::{BINARY, Place};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a shell prints for a line, with errors.
fn printed(place: &Place, line: &str) -> String {
    let folder = Path::new(BINARY).parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let script = format!("({line}) 2>&1");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(place.0.path()).env("PATH", format!("{folder}:{path}"));
    String::from_utf8(shell.output().expect("a shell").stdout).expect("text")
}

#[test]
fn the_commands_of_the_readme() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(project.join("README.md")).expect("the README");
    let place = Place::new();
    let tweets = project.join("../shared/data/twitter.json");
    let has_tweets = fs::copy(&tweets, place.path("twitter.json")).is_ok();
    let mut commands = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().expect("text");
        if block.contains("twitter.json") && !has_tweets {
            println!("skipped: a block, since {} is not there", tweets.display());
            continue;
        }
        for part in block.split("$ ").skip(1) {
            let (line, expected) = part.split_once('\n').expect("a line");
            assert_eq!(printed(&place, line), expected, "{line}");
            commands += 1;
        }
    }
    assert!(commands >= 6, "{commands} commands");
}
