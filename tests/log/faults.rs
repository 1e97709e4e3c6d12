//! Files that are cut, damaged, or left by a power cut: all rows that were synced are there, and
//! others only as a beginning; or the error says where the damage is.

use crate::forge::Forge;
use crate::{json_of, place, read, row, rows_of, small, with_rows};
use livebuf_log::{ErrorKind, Log, LogOptions, LogReader, repair};
use std::fs;
use std::path::Path;

fn all(rows: u64) -> Vec<String> {
    (0..rows).map(json_of).collect()
}

/// Opens a copy for writing, and adds a row. Answers the rows, or the kind of error.
fn reopen(path: &Path, bytes: &[u8]) -> Result<Vec<String>, ErrorKind> {
    fs::write(path, bytes).unwrap();
    let read = read(path);
    let mut log = match small().open(path) {
        Ok(log) => log,
        Err(error) => {
            assert_eq!(fs::read(path).unwrap(), bytes, "an error changes nothing");
            // A reader may have found it later, when it read the rows.
            assert!(read.is_err());
            return Err(error.kind());
        }
    };
    let rows = match rows_of(log.reader()) {
        Ok(rows) => rows,
        Err(error) => {
            assert!(read.is_err() || fs::read(path).unwrap().is_empty());
            return Err(error.kind());
        }
    };
    // What the writer cut off, readers passed over.
    if let Ok(read) = read {
        assert_eq!(read, rows);
    }
    log.append(&row(rows.len() as u64)).unwrap();
    let again = rows_of(log.reader()).unwrap();
    assert_eq!(again[..rows.len()], rows);
    log.close().unwrap();
    Ok(rows)
}

/// What was on the disk, and how many rows were promised, at some moments of a log's life.
fn moments(options: LogOptions) -> Vec<(Vec<u8>, u64, u64)> {
    let (_directory, path) = place();
    let mut log = options.create(&path).unwrap();
    let mut moments = vec![(fs::read(&path).unwrap(), 64, 0)];
    let (mut durable, mut promised) = (64, 0);
    for number in 0..40 {
        match number % 10 {
            9 => {
                let next = log.len();
                let rows: Vec<_> = (next..next + 5).map(row).collect();
                log.extend(rows.iter()).unwrap();
            }
            _ => drop(log.append(&row(log.len())).unwrap()),
        }
        if number % 7 == 6 {
            log.sync().unwrap();
            (durable, promised) = (log.stats().file.bytes, log.len());
        }
        moments.push((fs::read(&path).unwrap(), durable, promised));
    }
    moments
}

#[test]
fn a_file_cut_anywhere_has_a_beginning_of_the_rows() {
    let (_directory, path) = place();
    let stride = if std::env::var_os("LIVEBUF_LONG").is_some() { 8 } else { 24 };
    for (bytes, durable, promised) in moments(small()).into_iter().step_by(stride) {
        for length in 64..=bytes.len() {
            let rows = reopen(&path, &bytes[..length]);
            match rows {
                Ok(rows) => {
                    assert_eq!(rows, all(rows.len() as u64));
                    assert!(length < durable as usize || rows.len() as u64 >= promised);
                }
                // What was on the disk once is not there any more.
                Err(kind) => {
                    assert!(length < durable as usize, "{kind:?} at {length}");
                    assert!(matches!(kind, ErrorKind::CutShort | ErrorKind::Damaged));
                }
            }
        }
    }
}

#[test]
fn a_flipped_byte_never_makes_other_rows() {
    let (_directory, path) = place();
    let (bytes, durable, _) = moments(small()).pop().unwrap();
    let whole = reopen(&path, &bytes).unwrap();
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        match reopen(&path, &damaged) {
            Ok(rows) => {
                assert_eq!(rows, whole[..rows.len()], "byte {at}");
                // Fewer rows only where nothing said that they were on the disk.
                assert!(rows.len() == whole.len() || at as u64 >= durable, "byte {at}");
                *kinds.entry(format!("ok {}", rows.len() == whole.len())).or_default() += 1;
            }
            Err(kind) => *kinds.entry(format!("{kind:?}")).or_default() += 1,
        }
    }
    // Each verdict there is was met.
    println!("{kinds:?}");
    assert!(kinds.contains_key("NotALog") && kinds.contains_key("Damaged"), "{kinds:?}");
}

/// A power cut: of the bytes that were not synced, each block of 512 is there or is not.
#[test]
fn a_power_cut_keeps_what_was_synced() {
    let (_directory, path) = place();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut whole, mut fewer) = (0, 0);
    for (bytes, durable, promised) in moments(small()) {
        for _ in 0..20 {
            let mut left = bytes.clone();
            let mut at = durable as usize;
            while at < left.len() {
                let end = (at / 512 * 512 + 512).min(left.len());
                if random() % 3 == 0 {
                    left[at..end].fill(0);
                }
                at = end;
            }
            // The file's length is one that it had since the sync.
            if random() % 2 == 0 {
                left.truncate(
                    durable as usize + random() as usize % (left.len() + 1 - durable as usize),
                );
            }
            let rows = reopen(&path, &left).unwrap();
            assert_eq!(rows, all(rows.len() as u64));
            assert!(rows.len() as u64 >= promised);
            let least = if left == bytes { &mut whole } else { &mut fewer };
            *least += 1;
        }
    }
    assert!(whole > 50 && fewer > 50, "{whole} {fewer}");
}

/// Bug: the mark names an index that was not synced. A reader believed it after a power cut that
/// lost a group before it, so that the log was damaged: rows that were synced could not be
/// appended to. Now a reader begins at an index among the durable bytes.
#[test]
fn an_index_that_was_not_synced_is_not_believed() {
    let (_directory, path) = place();
    for promised in [0, 50, 128, 140] {
        let _ = fs::remove_file(&path);
        let mut log = with_rows(&path, LogOptions::new().group_rows(1), 0..promised);
        log.sync().unwrap();
        for number in promised..300 {
            log.append(&row(number)).unwrap();
        }
        drop(log);
        let bytes = fs::read(&path).unwrap();
        let groups: Vec<usize> = bytes
            .windows(4)
            .enumerate()
            .filter_map(|(at, bytes)| (bytes == b"\xabLBG").then_some(at))
            .collect();
        assert_eq!(groups.len(), 300);
        for lost in promised as usize..300 {
            let mut left = bytes.clone();
            // Its header, or a byte of its body.
            match lost % 2 {
                0 => left[groups[lost]..groups[lost] + 32].fill(0),
                _ => left[groups[lost] + 40] ^= 1,
            }
            assert_eq!(reopen(&path, &left).unwrap(), all(lost as u64), "{promised}, {lost}");
        }
    }
}

#[test]
fn a_torn_end_is_dropped_with_a_message() {
    let (_directory, path) = place();
    drop(with_rows(&path, small(), 0..5));
    let bytes = fs::read(&path).unwrap();
    let torn = &bytes[..bytes.len() - 3];
    fs::write(&path, torn).unwrap();
    let reader = LogReader::open(&path).unwrap();
    assert_eq!(rows_of(&reader).unwrap(), all(4));
    let passed = reader.torn().unwrap();
    assert_eq!(passed.offset + passed.bytes, torn.len() as u64);
    assert_eq!(fs::read(&path).unwrap(), torn, "readers change nothing");
    let mut log = Log::open(&path).unwrap();
    assert_eq!(log.dropped().map(|dropped| dropped.torn), Some(passed));
    assert_eq!(log.dropped().unwrap().kept, None);
    assert_eq!(fs::metadata(&path).unwrap().len(), passed.offset);
    log.append(&row(4)).unwrap();
    log.close().unwrap();
    let log = Log::open(&path).unwrap();
    assert_eq!((log.len(), log.dropped()), (5, None));
}

/// Bug in what was proposed first: in a log that was never synced, one changed byte made the next
/// writer drop all rows behind it. They are dropped still, since a power cut leaves the same, but
/// kept in a file.
#[test]
fn whole_frames_behind_a_torn_one_are_kept_beside_the_log() {
    let (directory, path) = place();
    let mut log = with_rows(&path, LogOptions::new(), 0..5);
    log.append(&row(5)).unwrap();
    drop(log);
    let mut bytes = fs::read(&path).unwrap();
    bytes[64 + 9] ^= 1;
    for time in 0..2 {
        fs::write(&path, &bytes).unwrap();
        let log = Log::open(&path).unwrap();
        let dropped = log.dropped().unwrap();
        assert_eq!((log.len(), dropped.torn.offset, dropped.torn.frames), (0, 64, 5));
        let kept = dropped.kept.as_ref().unwrap();
        let name = ["test.lblog.torn-64", "test.lblog.torn-64-1"][time];
        assert_eq!(kept.file_name().unwrap(), name);
        assert_eq!(fs::read(kept).unwrap(), bytes[64..]);
        assert!(dropped.to_string().contains("they have 5 whole frames, and are kept in "));
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
}

/// Frames whose CRCs are right, and that say anything: nothing panics, nothing is endless.
#[test]
fn doctored_logs_are_read_or_refused() {
    let (_directory, path) = place();
    let mut state = 7u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let (mut opened, mut refused) = (0, 0);
    for round in 0..600 {
        let mut forge = Forge::new();
        let (mut next, mut offsets) = (0, vec![0, 64]);
        for _ in 0..random(8) {
            let rows = 1 + random(3);
            let text: Vec<_> = (next..next + rows).map(json_of).collect();
            let mut document = crate::forge::document(&format!("[{}]", text.join(",")));
            let mut kind = b"RRRGGSI"[random(7) as usize];
            if kind == b'I' {
                let (offset, previous) =
                    (offsets[random(offsets.len() as u64) as usize], random(200));
                let text = format!(
                    r#"{{"previous":{previous},"groups":[{{"offset":{offset},"rows":{rows},"bytes":{},"crc":{}}}]}}"#,
                    random(300),
                    random(9)
                );
                document = crate::forge::document(&text);
                if random(2) == 0 {
                    kind = b'R';
                }
            }
            let mut body = document.as_bytes().to_vec();
            if random(4) == 0 {
                let at = random(body.len() as u64) as usize;
                body[at] = random(256) as u8;
            }
            let first = if random(6) == 0 { random(u64::MAX) } else { next };
            let count = if random(6) == 0 { random(1 << 32) as u32 } else { rows as u32 };
            offsets.push(forge.frame(kind, first, count, &body));
            next += rows;
            forge.durable = if random(2) == 0 { 0 } else { random(forge.end()) / 8 * 8 };
        }
        if random(2) == 0 {
            let (durable, index) =
                (random(forge.end() + 9), offsets[random(offsets.len() as u64) as usize]);
            forge.mark(durable, index);
        }
        fs::write(&path, &forge.bytes).unwrap();
        if let Ok(mut reader) = LogReader::open(&path) {
            opened += 1;
            let rows = reader.rows(..).filter(Result::is_ok).count() as u64;
            assert!(rows <= reader.len());
            let _ = (reader.validate(), reader.stats(), reader.refresh());
            let _ = (reader.get(random(20)), reader.get(u64::MAX), reader.group(0));
        } else {
            refused += 1;
        }
        if let Ok(mut log) = small().open(&path) {
            let _ = (log.append(&row(1)), log.extend((0..9).map(row).collect::<Vec<_>>().iter()));
            let _ = (log.compact(), log.append(&row(2)));
        }
        fs::write(&path, &forge.bytes).unwrap();
        let repaired = repair(&path).unwrap();
        let reader = LogReader::open(&path).unwrap();
        reader.validate().unwrap();
        assert_eq!(reader.len(), repaired.rows, "round {round}");
        fs::remove_file(repaired.old).unwrap();
    }
    assert!(opened > 50 && refused > 50, "{opened} {refused}");
}

#[test]
fn damage_in_the_middle_is_an_error_and_repair_keeps_the_rest() {
    let (_directory, path) = place();
    let mut log = with_rows(&path, small().sync(true), 0..29);
    let offset = 64;
    log.append(&row(29)).unwrap();
    drop(log);
    let bytes = fs::read(&path).unwrap();
    // The header of the first row's frame. Its group is there.
    let mut damaged = bytes.clone();
    damaged[offset + 5] ^= 1;
    fs::write(&path, &damaged).unwrap();
    for error in [Log::open(&path).unwrap_err(), LogReader::open(&path).unwrap_err()] {
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Damaged, Some(64)));
        assert!(error.to_string().contains("`repair` keeps what is left"));
    }
    let repaired = repair(&path).unwrap();
    assert_eq!((repaired.rows, repaired.lost_rows), (30, 0));
    assert!(repaired.lost_bytes > 0);
    assert_eq!(read(&path).unwrap(), all(30));
    assert_eq!(fs::read(&repaired.old).unwrap(), damaged);
    // Bug: the second repair of a file was an error, since the first one's old file had the name for
    // another. It takes a name that is free, and writes over none.
    let mut again = fs::read(&path).unwrap();
    let middle = again.len() / 2;
    again[middle] ^= 1;
    for number in [2, 3] {
        fs::write(&path, &again).unwrap();
        let old = repair(&path).unwrap().old;
        assert!(old.to_str().unwrap().ends_with(&format!(".damaged-{number}")));
        assert_eq!(fs::read(&old).unwrap(), again);
    }
    assert_eq!(fs::read(&repaired.old).unwrap(), damaged);
    // A group's body: the rows by themselves are still there.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains("LBG"));
    let group = bytes.windows(4).position(|bytes| bytes == b"\xabLBG").unwrap();
    let mut damaged = bytes;
    damaged[group + 60] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::Damaged);
    let repaired = repair(&path).unwrap();
    assert_eq!((repaired.rows, repaired.lost_rows), (29, 1), "only the row that began the group");
}

#[test]
fn rows_that_a_damaged_last_frame_had_are_counted() {
    let (_directory, path) = place();
    let mut log = with_rows(&path, small(), 0..3);
    log.extend((3..500).map(row).collect::<Vec<_>>().iter()).unwrap();
    log.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let repaired = repair(&path).unwrap();
    assert!(repaired.rows < 500, "nothing was lost");
    assert_eq!(repaired.rows + repaired.lost_rows, 500);
}

/// Old bytes behind the end, in a log whose frames say nothing about the disk.
#[test]
fn bytes_of_another_file_are_no_frames() {
    let (_directory, path) = place();
    let mut forge = Forge::new();
    forge.rows(b'R', 0, "[1]");
    let end = forge.end();
    // The same frames at other offsets, as if parts of a file were moved.
    let frame = forge.bytes[64..].to_vec();
    forge.bytes.extend([0; 8]);
    forge.bytes.extend(&frame);
    forge.bytes.extend(&frame);
    fs::write(&path, &forge.bytes).unwrap();
    let log = Log::open(&path).unwrap();
    assert_eq!((log.len(), log.dropped().unwrap().torn.offset), (1, end));
}

/// A row that holds a whole frame of this very file must not be taken for it.
#[test]
fn frames_within_rows_are_no_frames() {
    let (_directory, path) = place();
    let mut forge = Forge::new();
    let mut inner = Forge::new();
    inner.bytes.resize(64 + 32 + 48, 0);
    inner.durable = inner.end();
    inner.rows(b'R', 0, "[\"not a row\"]");
    let frame = inner.bytes[inner.durable as usize..].to_vec();
    let mut builder = livebuf::DocBuf::new().unwrap();
    builder.set_root(livebuf::New::Items(&[livebuf::New::Bytes(&frame)])).unwrap();
    let document = builder.doc().compacted().unwrap();
    forge.frame(b'R', 0, 1, document.as_bytes());
    forge.rows(b'R', 1, "[2]");
    fs::write(&path, &forge.bytes).unwrap();
    let reader = LogReader::open(&path).unwrap();
    assert_eq!(reader.len(), 2);
    assert_eq!(reader.get(0).unwrap().unwrap().value().unwrap().as_bytes(), Some(&frame[..]));
}

/// Bug: where the disk had no room for the copy of a torn end, a part of it stayed, and each further
/// try left one more.
#[test]
#[cfg(target_os = "linux")]
fn a_torn_end_that_cannot_be_kept_leaves_no_file() {
    use std::process::Command;
    if let Some(path) = std::env::var_os("LIVEBUF_LOG_TORN") {
        let error = Log::open(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("cannot be kept"), "{error}");
        return;
    }
    let (directory, path) = place();
    let mut log = LogOptions::new().create(&path).unwrap();
    for _ in 0..3 {
        log.append(&livebuf::json!("x".repeat(40_000))).unwrap();
    }
    drop(log);
    let mut bytes = fs::read(&path).unwrap();
    bytes[64 + 9] ^= 1;
    fs::write(&path, &bytes).unwrap();
    // The limit of a file's size stands for a full disk. It is set for a process of its own.
    let test = std::env::current_exe().unwrap();
    let name = "faults::a_torn_end_that_cannot_be_kept_leaves_no_file";
    let script = format!("trap '' XFSZ; ulimit -f 64; exec {} --exact {name}", test.display());
    let run = Command::new("bash").args(["-c", &script]).env("LIVEBUF_LOG_TORN", &path).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert_eq!(fs::read(&path).unwrap(), bytes);
}
