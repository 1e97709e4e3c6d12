//! The tests of logs.

mod basics;
mod faults;
mod forge;
mod model;
mod sharing;
mod vectors;

use livebuf_log::{Error, Log, LogOptions, LogReader};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory, and a path in it that no file has.
fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.lblog");
    (directory, path)
}

/// A row that differs from others in kind and in size.
fn row(number: u64) -> livebuf::DocBuf {
    match number % 7 {
        5 => livebuf::json!(null),
        6 => livebuf::json!([number, "a row that is an array"]),
        _ => livebuf::json!({"n": number, "kind": ["start", "click", "end"][number as usize % 3]}),
    }
}

fn json_of(row: u64) -> String {
    livebuf_json::to_string(&self::row(row)).unwrap()
}

/// All rows as JSON.
fn rows_of(reader: &LogReader) -> Result<Vec<String>, Error> {
    reader
        .rows(..)
        .map(|row| row.map(|row| livebuf_json::to_string(row.value().unwrap()).unwrap()))
        .collect()
}

fn read(path: &Path) -> Result<Vec<String>, Error> {
    rows_of(&LogReader::open(path)?)
}

/// Small groups, so that few rows make many.
fn small() -> LogOptions {
    LogOptions::new().group_rows(8)
}

fn with_rows(path: &Path, options: LogOptions, rows: std::ops::Range<u64>) -> Log {
    let mut log = options.open_or_create(path).unwrap();
    for number in rows {
        log.append(&row(number)).unwrap();
    }
    log
}
