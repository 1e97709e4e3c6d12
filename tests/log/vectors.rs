//! `testdata/logs`: files that every implementation must read alike, or refuse.

use crate::forge::{Forge, document};
use crate::{read, small};
use livebuf_log::{ErrorKind, LogReader};
use std::fs;
use std::path::PathBuf;

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/logs")
}

fn forged(make: impl FnOnce(&mut Forge)) -> Vec<u8> {
    let mut forge = Forge::new();
    make(&mut forge);
    forge.bytes
}

const FIRST: &str = r#"[{"lap":1,"sec":88.25},{"lap":2,"sec":null}]"#;
const SECOND: &str = r#"[{"lap":3,"sec":87.5}]"#;

/// Name, and the file.
fn valid() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("empty", forged(|_| {})),
        (
            "rows",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                log.rows(b'R', 2, SECOND);
            }),
        ),
        (
            "single_rows",
            forged(|log| {
                log.frame(b'S', 0, 1, document(r#"{"lap":1,"sec":88.25}"#).as_bytes());
                log.frame(b'S', 1, 1, document("[2]").as_bytes());
                log.rows(b'R', 2, SECOND);
                log.frame(b'S', 3, 1, document("null").as_bytes());
            }),
        ),
        (
            "group",
            forged(|log| {
                log.rows(b'G', 0, FIRST);
            }),
        ),
        (
            "group_in_place_of_rows",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                log.rows(b'R', 2, SECOND);
                log.rows(
                    b'G',
                    0,
                    r#"[{"lap":1,"sec":88.25},{"lap":2,"sec":null},{"lap":3,"sec":87.5},"four"]"#,
                );
                log.rows(b'R', 4, "[[5]]");
            }),
        ),
        (
            "indexes",
            forged(|log| {
                let first = log.rows(b'G', 0, FIRST);
                let second = log.rows(b'G', 2, SECOND);
                let index = log.index(3, 0, &[(first, 2), (second, 1)]);
                let third = log.rows(b'G', 3, "[4]");
                let last = log.index(4, index, &[(third, 1)]);
                log.rows(b'R', 4, "[5]");
                let end = log.end();
                log.mark(end, last);
            }),
        ),
        (
            "torn_index_not_durable",
            forged(|log| {
                let first = log.rows(b'G', 0, FIRST);
                log.durable = log.end();
                let second = log.rows(b'G', 2, SECOND);
                let index = log.index(3, 0, &[(first, 2), (second, 1)]);
                log.mark(log.durable, index);
                log.bytes[second as usize..second as usize + 32].fill(0);
            }),
        ),
        (
            "mark_damaged",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                log.bytes[40] = 9;
            }),
        ),
        (
            "ignore_flag",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                log.bytes[7] = 1;
                log.seal_header();
            }),
        ),
        (
            "torn",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                log.durable = log.end();
                log.rows(b'R', 2, SECOND);
                let end = log.bytes.len();
                log.bytes.truncate(end - 8);
            }),
        ),
        (
            "torn_out_of_order",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                log.durable = log.end();
                let lost = log.rows(b'R', 2, SECOND) as usize;
                log.rows(b'R', 3, "[4]");
                log.bytes[lost..lost + 32].fill(0);
            }),
        ),
    ]
}

/// Error, name, and the file.
fn damaged() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let header = |at: usize, byte: u8| {
        forged(|log| {
            log.rows(b'R', 0, FIRST);
            log.bytes[at] = byte;
            log.seal_header();
        })
    };
    vec![
        ("NotALog", "document", document(FIRST).as_bytes().to_vec()),
        ("NotALog", "header_cut", forged(|log| log.bytes.truncate(63))),
        ("NotALog", "header_damaged", forged(|log| log.bytes[9] ^= 1)),
        ("Unsupported", "version", header(4, 9)),
        ("Unsupported", "refuse_flag", header(5, 1)),
        ("Unsupported", "reserved", header(16, 1)),
        (
            "Unsupported",
            "frame_kind",
            forged(|log| {
                log.rows(b'Z', 0, FIRST);
            }),
        ),
        (
            "CutShort",
            "mark_beyond_end",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                let end = log.end();
                log.mark(end + 8, 0);
            }),
        ),
        (
            "Damaged",
            "frame_header",
            forged(|log| {
                let at = log.rows(b'R', 0, FIRST) as usize;
                log.durable = log.end();
                log.rows(b'R', 2, SECOND);
                log.bytes[at + 8] ^= 1;
            }),
        ),
        (
            "Damaged",
            "frame_body",
            forged(|log| {
                let at = log.rows(b'R', 0, FIRST) as usize;
                log.durable = log.end();
                log.rows(b'R', 2, SECOND);
                log.bytes[at + 32 + 8] ^= 1;
            }),
        ),
        (
            "Damaged",
            "frame_without_rows",
            forged(|log| {
                log.rows(b'R', 0, "[]");
            }),
        ),
        (
            "Damaged",
            "frame_length",
            forged(|log| {
                log.frame(b'R', 0, 1, &[0; 36]);
            }),
        ),
        (
            "Damaged",
            "gap",
            forged(|log| {
                log.rows(b'R', 1, FIRST);
            }),
        ),
        (
            "Damaged",
            "group_too_short",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                log.rows(b'G', 0, "[1]");
            }),
        ),
        (
            "Damaged",
            "group_replaced",
            forged(|log| {
                log.rows(b'G', 0, FIRST);
                log.rows(b'G', 0, FIRST);
            }),
        ),
        (
            "Damaged",
            "index_before_its_groups",
            forged(|log| {
                log.rows(b'R', 0, FIRST);
                log.index(0, 0, &[]);
            }),
        ),
        (
            "Damaged",
            "no_document",
            forged(|log| {
                log.frame(b'R', 0, 1, &[7; 64]);
            }),
        ),
        (
            "Damaged",
            "no_array",
            forged(|log| {
                log.frame(b'R', 0, 1, document("{}").as_bytes());
            }),
        ),
        (
            "Damaged",
            "row_count",
            forged(|log| {
                log.frame(b'R', 0, 3, document(FIRST).as_bytes());
            }),
        ),
        (
            "Damaged",
            "single_row_count",
            forged(|log| {
                log.frame(b'S', 0, 2, document(FIRST).as_bytes());
            }),
        ),
        (
            "Damaged",
            "bytes_behind_document",
            forged(|log| {
                let mut bytes = document(FIRST).as_bytes().to_vec();
                bytes.extend([0; 8]);
                log.frame(b'R', 0, 2, &bytes);
            }),
        ),
    ]
}

#[test]
#[ignore = "adds vectors that are not there yet"]
fn write_missing() {
    let write = |name: String, bytes: &[u8]| {
        let path = vectors().join(name);
        if !path.exists() {
            fs::write(path, bytes).unwrap();
        }
    };
    fs::create_dir_all(vectors()).unwrap();
    for (name, bytes) in valid() {
        write(format!("y_{name}.lblog"), &bytes);
        let rows = read(&vectors().join(format!("y_{name}.lblog"))).unwrap();
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        write(format!("y_{name}.ndjson"), lines.as_bytes());
    }
    for (error, name, bytes) in damaged() {
        write(format!("n_{error}_{name}.lblog"), &bytes);
    }
}

#[test]
fn vectors_are_read_or_refused() {
    let (mut read_well, mut refused) = (0, 0);
    for entry in fs::read_dir(vectors()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|extension| extension != "lblog") {
            continue;
        }
        let rows = read(&path);
        if let Some(name) = name.strip_prefix("n_") {
            let kind = format!("{:?}", rows.unwrap_err().kind());
            assert_eq!(name.split('_').next(), Some(kind.as_str()), "{name}");
            refused += 1;
            continue;
        }
        let lines = fs::read_to_string(path.with_extension("ndjson")).unwrap();
        assert_eq!(rows.unwrap(), lines.lines().collect::<Vec<_>>(), "{name}");
        let torn = LogReader::open(&path).unwrap().torn().is_some();
        assert_eq!(torn, name.contains("torn"), "{name}");
        read_well += 1;
        // A writer goes on where a reader stops.
        let (_directory, copy) = crate::place();
        fs::copy(&path, &copy).unwrap();
        let mut log = small().open(&copy).unwrap();
        log.append(&livebuf::json!("more")).unwrap();
        log.close().unwrap();
        let rows = read(&copy).unwrap();
        assert_eq!(rows[..rows.len() - 1], lines.lines().collect::<Vec<_>>(), "{name}");
    }
    assert_eq!((read_well, refused), (valid().len(), damaged().len()));
}

/// What the forge of this test makes today is what was reviewed.
#[test]
fn vectors_are_as_they_were() {
    for (name, bytes) in valid() {
        assert_eq!(fs::read(vectors().join(format!("y_{name}.lblog"))).unwrap(), bytes, "{name}");
    }
    for (error, name, bytes) in damaged() {
        let path = vectors().join(format!("n_{error}_{name}.lblog"));
        assert_eq!(fs::read(path).unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_flag_that_forbids_writing_lets_readers_read() {
    let (_directory, path) = crate::place();
    let bytes = forged(|log| {
        log.rows(b'R', 0, FIRST);
        log.bytes[6] = 1;
        log.seal_header();
    });
    fs::write(&path, bytes).unwrap();
    assert_eq!(read(&path).unwrap().len(), 2);
    assert_eq!(livebuf_log::Log::open(&path).unwrap_err().kind(), ErrorKind::Unsupported);
}
