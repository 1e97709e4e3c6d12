//! One writer, and readers beside it.

use crate::{json_of, place, read, row, rows_of, small, with_rows};
use livebuf_log::{ErrorKind, Log, LogOptions, LogReader};
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn there_is_one_writer() {
    let (_directory, path) = place();
    let log = with_rows(&path, small(), 0..3);
    let error = Log::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert_eq!(error.to_string(), "the log is locked: another writer has it open");
    assert_eq!(livebuf_log::repair(&path).unwrap_err().kind(), ErrorKind::Locked);
    drop(log);
    drop(Log::open(&path).unwrap());
}

/// A reader in another thread sees a beginning of the rows, ever longer, while they are appended,
/// gathered and compacted.
#[test]
fn readers_see_a_beginning_of_the_rows() {
    let (_directory, path) = place();
    let mut log = small().create(&path).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut reader = LogReader::open(&path).unwrap();
                    let (mut seen, mut rounds) = (0, 0);
                    loop {
                        let last = done.load(Ordering::Acquire);
                        reader.refresh().unwrap();
                        assert!(reader.len() >= seen);
                        for row in reader.rows(seen.saturating_sub(20)..) {
                            let row = row.unwrap();
                            let text = livebuf_json::to_string(row.value().unwrap()).unwrap();
                            assert_eq!(text, json_of(row.number()));
                        }
                        seen = reader.len();
                        rounds += 1;
                        if last {
                            return (seen, rounds);
                        }
                    }
                })
            })
            .collect();
        for number in 0..3000 {
            log.append(&row(number)).unwrap();
            if number % 500 == 499 {
                log.compact().unwrap();
            }
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            let (seen, rounds) = reader.join().unwrap();
            assert_eq!(seen, 3000);
            assert!(rounds > 1);
        }
    });
    assert_eq!(rows_of(log.reader()).unwrap().len(), 3000);
}

#[test]
fn a_reader_keeps_the_old_file_until_it_is_refreshed() {
    let (_directory, path) = place();
    let mut log = with_rows(&path, small(), 0..30);
    let mut reader = LogReader::open(&path).unwrap();
    let copy = reader.clone();
    log.compact().unwrap();
    log.append(&row(30)).unwrap();
    assert_eq!(rows_of(&reader).unwrap().len(), 30);
    let refreshed = reader.refresh().unwrap();
    assert_eq!((refreshed.rows, refreshed.replaced), (1, true));
    assert_eq!(rows_of(&reader).unwrap().len(), 31);
    assert_eq!(rows_of(&copy).unwrap().len(), 30);
    // Where the name is gone, or another file's, the reader goes on with what it has.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(reader.refresh().unwrap().rows, 0);
    assert_eq!(log.compact().unwrap_err().kind(), ErrorKind::Replaced);
    std::fs::write(&path, "another file").unwrap();
    assert_eq!(reader.refresh().unwrap().rows, 0);
    assert_eq!(log.compact().unwrap_err().kind(), ErrorKind::Replaced);
    assert_eq!(std::fs::read(&path).unwrap(), b"another file");
    // These rows end with the process, so no sync may say that they are safe.
    log.append(&row(31)).unwrap();
    assert_eq!(log.sync().unwrap_err().kind(), ErrorKind::Replaced);
}

/// All make the log at the same moment, or find it made. Nobody may remove or begin again what
/// another one has.
#[test]
fn writers_that_start_together_make_one_log() {
    for _ in 0..200 {
        let (_directory, path) = place();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let mut log = loop {
                        match LogOptions::new().open_or_create(&path) {
                            Err(error) if error.kind() == ErrorKind::Locked => {}
                            log => break log.unwrap(),
                        }
                    };
                    log.append(&row(7)).unwrap();
                });
            }
        });
        assert_eq!(read(&path).unwrap().len(), 8);
    }
}

/// Bug: relative paths were followed again later, from another directory. A log was called removed
/// when it was compacted, and a reader became one of another log of the same name.
#[test]
fn a_log_is_found_again_from_another_directory() {
    // The directory is that of a process of its own.
    if std::env::var_os("LIVEBUF_LOG_DIRECTORY").is_none() {
        let name = "sharing::a_log_is_found_again_from_another_directory";
        let mut run = std::process::Command::new(std::env::current_exe().unwrap());
        let run = run.args(["--exact", name]).env("LIVEBUF_LOG_DIRECTORY", "1").output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
        return;
    }
    let (directory, path) = place();
    let (other_directory, other) = place();
    drop(with_rows(&other, small(), 0..30));
    std::env::set_current_dir(&directory).unwrap();
    let name = path.file_name().unwrap().as_ref();
    let mut log = with_rows(name, small(), 0..3);
    let mut reader = LogReader::open(name).unwrap();
    std::env::set_current_dir(&other_directory).unwrap();
    let refreshed = reader.refresh().unwrap();
    assert_eq!((refreshed.rows, refreshed.replaced), (0, false));
    log.compact().unwrap();
    assert!(reader.refresh().unwrap().replaced);
    assert_eq!(rows_of(&reader).unwrap(), (0..3).map(json_of).collect::<Vec<_>>());
    assert_eq!(read(&other).unwrap().len(), 30);
    std::env::set_current_dir("/").unwrap();
}

/// Bug: the name of a log elsewhere, which is for messages, was opened as a file by `refresh`: the
/// reader became one of that file.
#[test]
fn a_log_elsewhere_stays_elsewhere() {
    let (directory, path) = place();
    drop(with_rows(&path, small(), 0..3));
    let other = directory.path().join("other.lblog");
    drop(with_rows(&other, small(), 0..30));
    let source = std::fs::File::open(&path).unwrap();
    let mut reader = LogReader::elsewhere(source, &other).unwrap();
    assert_eq!(reader.path(), other);
    drop(with_rows(&path, small(), 3..5));
    let refreshed = reader.refresh().unwrap();
    assert_eq!((refreshed.rows, refreshed.replaced), (2, false));
    assert_eq!(rows_of(&reader).unwrap(), (0..5).map(json_of).collect::<Vec<_>>());
}
