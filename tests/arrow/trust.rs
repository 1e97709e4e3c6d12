//! What an export validates, and what it copies where others can write the memory.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use livebuf::mapped::MappedFile;
use livebuf::{Doc, DocBuf, EncodeOptions};
use livebuf_arrow::{Document, Error, ErrorKind, ExportOptions, Exporter, Known, TextLayout};

use crate::exchange::{stream_to_arrow, to_arrow};
use livebuf_fuzz::one_of;

/// The columns, and the keys that lead to them.
const COLUMNS: [(&str, &[&str]); 8] = [
    ("number", &["number"]),
    ("name", &["name"]),
    ("state", &["state"]),
    ("tags", &["tags"]),
    ("mixed", &["mixed"]),
    ("user", &["user"]),
    ("user.id", &["user", "id"]),
    ("user.mail", &["user", "mail"]),
];

/// Rows of all kinds of columns that Arrow may borrow: numbers, a run and a dictionary of texts,
/// lists, values of several types, structs, and nulls.
fn document(rows: usize) -> DocBuf {
    let lines: Vec<String> = (0..rows)
        .map(|n| {
            let state = ["open", "shut", "held"][n % 3];
            let tags = [r#""early""#, r#""early","late""#, ""][n % 3];
            let mixed = [r#""some text that is long""#, "7", r#"{"deep":[1,2]}"#, "null"][n % 4];
            let user = match n % 5 {
                0 => "null".to_owned(),
                _ => format!(r#"{{"id":{n},"mail":"mail{n:05}@example.org"}}"#),
            };
            format!(
                r#"{{"number":{},"name":"name of {n:05}","state":"{state}","tags":[{tags}],"mixed":{mixed},"user":{user}}}"#,
                (n as i64) << 40
            )
        })
        .collect();
    let document = livebuf_json::from_str(&format!("[{}]", lines.join(","))).unwrap();
    let options = EncodeOptions { min_width: 8, ..EncodeOptions::default() };
    document.doc().compacted_with(options).unwrap()
}

/// Bytes that others may write.
struct Shared(Vec<u8>);

impl Document for Shared {
    fn open(&self) -> livebuf::Result<Doc<'_>> {
        Doc::open(&self.0)
    }

    fn is_shared(&self) -> bool {
        true
    }
}

fn select(exporter: Exporter, keys: &[&str]) -> Exporter {
    exporter.select([keys.iter().map(|&key| key.to_owned()).collect()])
}

fn export(bytes: &[u8], keys: &[&str], shared: bool) -> Result<arrow_array::RecordBatch, Error> {
    let exporter = match shared {
        true => Exporter::new(Arc::new(Shared(bytes.to_vec())))?,
        false => Exporter::new(Arc::new(bytes.to_vec()))?,
    };
    // Arrow checks all of it.
    select(exporter, keys).batch().map(to_arrow)
}

fn places(bytes: &[u8], needle: &str) -> Vec<usize> {
    let found = bytes.windows(needle.len()).enumerate();
    found.filter(|(_, window)| *window == needle.as_bytes()).map(|(at, _)| at).collect()
}

#[test]
fn others_damage_does_not_matter() {
    let sound = document(40).to_vec();
    for (damaged, needle) in [
        ("name", "name of 00017"),
        ("state", "shut"),
        ("tags", "early"),
        ("mixed", "some text"),
        ("user.mail", "mail00017"),
    ] {
        let mut bytes = sound.clone();
        let found = places(&bytes, needle);
        assert!(!found.is_empty(), "{needle}");
        for at in found {
            bytes[at] = 0xFF;
        }
        assert!(Doc::open(&bytes).unwrap().validate().is_err());
        for (name, keys) in COLUMNS {
            for shared in [false, true] {
                let exported = export(&bytes, keys, shared);
                if name == damaged || damaged.starts_with(&format!("{name}.")) {
                    let error = exported.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Document, "{name}: {error}");
                    assert_eq!(error.column(), name, "{error}");
                    assert_eq!(error.core_error().unwrap().kind(), livebuf::ErrorKind::BadText);
                } else {
                    assert_eq!(exported.unwrap(), export(&sound, keys, shared).unwrap(), "{name}");
                }
            }
        }
        let whole = Exporter::new(Arc::new(bytes)).unwrap();
        assert_eq!(whole.batch().err().unwrap().kind(), ErrorKind::Document);
    }
}

/// Any byte may be any other. Arrow gets what it can trust, or an error; and most columns do not
/// mind.
#[test]
fn damaged_bytes() {
    let sound = document(20).to_vec();
    let expected: Vec<_> =
        COLUMNS.map(|(_, keys)| export(&sound, keys, false).unwrap()).into_iter().collect();
    let (mut refused, mut same) = ([0; COLUMNS.len()], [0; COLUMNS.len()]);
    let mut bytes = sound.clone();
    let every = one_of(5);
    for at in (0..bytes.len()).step_by(every) {
        let damages = [[0xFF, sound[at] ^ 1], [sound[at].wrapping_add(8), 0]];
        for damage in damages[at % 2] {
            bytes[at] = damage;
            for (index, (_, keys)) in COLUMNS.iter().enumerate() {
                let (one, other) = (export(&bytes, keys, false), export(&bytes, keys, true));
                match (one, other) {
                    (Ok(one), Ok(other)) => {
                        assert_eq!(one, other);
                        same[index] += usize::from(one == expected[index]);
                    }
                    (Err(_), Err(_)) => refused[index] += 1,
                    (one, other) => panic!("byte {at}: {one:?}, {other:?}"),
                }
            }
            bytes[at] = sound[at];
        }
    }
    for index in 0..COLUMNS.len() {
        assert!(refused[index] > 50 / every, "{refused:?}");
        // The largest of them takes less than half of the bytes.
        assert!(same[index] > sound.len() / every, "{same:?} of {}", 2 * sound.len() / every);
    }
}

/// A byte behind the last value of a column must be 0. Only validation looks at it.
fn unused_byte(bytes: &[u8], keys: &[&str]) -> usize {
    let mut damaged = bytes.to_vec();
    let found = (0..bytes.len()).rev().find(|&at| {
        damaged[at] ^= 1;
        let refused = Doc::open(&damaged)
            .and_then(|doc| doc.root().validate_column(keys))
            .is_err_and(|error| error.kind() == livebuf::ErrorKind::NotZero);
        damaged[at] ^= 1;
        refused && bytes[at] == 0
    });
    found.unwrap()
}

fn write(file: &mut File, at: usize, bytes: &[u8]) {
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(bytes).unwrap();
}

/// A file of its own, and its name.
fn file(name: &str, bytes: &[u8]) -> (PathBuf, File) {
    let path = std::env::temp_dir().join(format!("livebuf-{name}-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    (path, file)
}

#[test]
#[allow(unsafe_code)]
fn validated_once() {
    let bytes = document(40).to_vec();
    let at = unused_byte(&bytes, &["name"]);
    let (path, mut file) = file("once", &bytes);
    let mapped = Arc::new(MappedFile::open(&path).unwrap());
    let known = Arc::new(Known::default());
    // SAFETY: all are of this file, and mapped files are shared.
    let exporter = |keys: &[&str]| unsafe {
        let exporter = Exporter::new(Arc::clone(&mapped)).unwrap();
        select(exporter.remember(Arc::clone(&known)), keys)
    };
    let expected = to_arrow(exporter(&["name"]).batch().unwrap());
    write(&mut file, at, &[1]);
    assert_eq!(to_arrow(exporter(&["name"]).batch().unwrap()), expected);
    // Who knows nothing finds it.
    let another = select(Exporter::new(Arc::clone(&mapped)).unwrap(), &["name"]);
    assert_eq!(another.batch().err().unwrap().kind(), ErrorKind::Document);
    // All columns were not validated yet.
    let all = Exporter::new(Arc::clone(&mapped)).unwrap();
    // SAFETY: as above.
    let all = unsafe { all.remember(Arc::clone(&known)) };
    assert_eq!(all.batch().err().unwrap().kind(), ErrorKind::Document);
    write(&mut file, at, &[0]);
    all.batch().unwrap();
    write(&mut file, at, &[1]);
    all.batch().unwrap();
    exporter(&["user", "id"]).batch().unwrap();
    std::fs::remove_file(path).unwrap();
}

/// A document that says that it is valid is not validated. Where others can write it, texts and
/// offsets are checked all the same.
#[test]
#[allow(unsafe_code)]
fn trusted_and_shared() {
    struct Trusted(Vec<u8>);
    impl Document for Trusted {
        fn open(&self) -> livebuf::Result<Doc<'_>> {
            Doc::open(&self.0)
        }

        fn valid(&self) -> Option<Doc<'_, livebuf::Valid>> {
            // SAFETY: not at all! But nothing reads text here without checking it.
            Some(unsafe { Doc::open(&self.0).ok()?.assume_valid() })
        }

        fn is_shared(&self) -> bool {
            true
        }
    }
    let mut bytes = document(40).to_vec();
    let unused = unused_byte(&bytes, &["name"]);
    bytes[unused] = 1;
    let exporter = |bytes: &[u8]| Exporter::new(Arc::new(Trusted(bytes.to_vec()))).unwrap();
    select(exporter(&bytes), &["name"]).batch().unwrap();
    let at = places(&bytes, "name of 00017")[0];
    bytes[at] = 0xFF;
    let error = select(exporter(&bytes), &["name"]).batch().err().unwrap();
    assert_eq!(error.core_error().unwrap().kind(), livebuf::ErrorKind::BadText);
    select(exporter(&bytes), &["user"]).batch().unwrap();
}

/// Numbers are borrowed from a mapped file, so they change with it. Text does not.
#[test]
fn what_is_borrowed_from_shared_memory() {
    let bytes = document(40).to_vec();
    let (path, mut file) = file("borrowed", &bytes);
    let mapped = Arc::new(MappedFile::open(&path).unwrap());
    let batch = |keys: &[&str]| {
        to_arrow(select(Exporter::new(Arc::clone(&mapped)).unwrap(), keys).batch().unwrap())
    };
    let (numbers, names) = (batch(&["number"]), batch(&["name"]));
    let numbers = numbers.column(0).as_primitive::<Int64Type>();
    assert_eq!(numbers.value(3), 3 << 40);
    let at = bytes.windows(8).position(|bytes| bytes == (3i64 << 40).to_le_bytes()).unwrap();
    write(&mut file, at, &1i64.to_le_bytes());
    assert_eq!(numbers.value(3), 1);
    write(&mut file, places(&bytes, "name of 00017")[0], b"NAME");
    assert_eq!(names.column(0).as_string::<i32>().value(17), "name of 00017");
    std::fs::remove_file(path).unwrap();
}

/// Somebody writes the file behind the export's back, after it was validated. What Arrow gets is
/// checked by Arrow: whatever it is, it keeps Arrow's rules.
#[test]
fn others_write_meanwhile() {
    let sound = document(64).to_vec();
    let (path, mut file) = file("meanwhile", &sound);
    let mapped = Arc::new(MappedFile::open(&path).unwrap());
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    // Keys are left alone. They are still read as if nobody could write them: debug builds panic
    // where they are no text, and others refuse the schema.
    let mut keys_at = Vec::new();
    let shapes = |region: livebuf::Region| {
        if region.kind == livebuf::RegionKind::Shape {
            keys_at.push(region.offset as usize..(region.offset + region.length) as usize);
        }
    };
    Doc::open(&sound).unwrap().regions(shapes).unwrap();
    let (mut refused, mut given) = (0, 0);
    for round in 0..2_000 {
        let text = [TextLayout::Utf8, TextLayout::LargeUtf8, TextLayout::Utf8View][round % 3];
        let options = ExportOptions::new().narrow(round % 2 == 0).text(text).batch_rows(16);
        let mut exporter = Exporter::new(Arc::clone(&mapped)).unwrap().options(options);
        let (_, keys) = COLUMNS[random(COLUMNS.len())];
        if round % 7 > 0 {
            exporter = select(exporter, keys);
        }
        // It validates here, or when it is asked again.
        let stream = exporter.stream().unwrap();
        let mut damaged = Vec::new();
        for _ in 0..1 + random(4) {
            let at = 32 + random(sound.len() - 32);
            if keys_at.iter().any(|range| range.contains(&at)) {
                continue;
            }
            let value = [0, 1, 0x7F, 0x80, 0xFF, sound[at] ^ 4][random(6)];
            write(&mut file, at, &[value]);
            damaged.push(at);
        }
        for batch in stream_to_arrow(stream) {
            match batch {
                Ok(batch) => {
                    for column in batch.columns() {
                        column.to_data().validate_full().unwrap();
                    }
                    given += 1;
                }
                // A stream says the same error each time it is asked.
                Err(_) => {
                    refused += 1;
                    break;
                }
            }
        }
        if let Ok(batch) = exporter.batch() {
            to_arrow(batch);
        }
        for at in damaged {
            write(&mut file, at, &sound[at..=at]);
        }
    }
    assert!(refused > 20 && given > 1_000, "{refused} {given}");
    std::fs::remove_file(path).unwrap();
}
