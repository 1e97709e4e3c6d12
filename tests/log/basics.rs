use crate::{json_of, place, read, row, rows_of, small, with_rows};
use livebuf::json;
use livebuf_log::{Error, ErrorKind, Log, LogOptions, LogReader};
use std::fs;

#[test]
fn rows_are_gathered_into_groups_and_read_back() {
    let (_directory, path) = place();
    let mut log = with_rows(&path, small(), 0..100);
    let stats = log.stats().file;
    assert_eq!((stats.rows, stats.groups, stats.tail_rows), (100, 12, 4));
    assert_eq!(rows_of(log.reader()).unwrap(), (0..100).map(json_of).collect::<Vec<_>>());
    assert_eq!(log.extend((100..250).map(row).collect::<Vec<_>>().iter()).unwrap(), 150);
    let all: Vec<String> = (0..250).map(json_of).collect();
    assert_eq!(rows_of(log.reader()).unwrap(), all);
    for number in [0, 7, 8, 99, 100, 103, 104, 249] {
        let found = log.get(number).unwrap().unwrap();
        assert_eq!(found.number(), number);
        assert_eq!(livebuf_json::to_string(found.value().unwrap()).unwrap(), json_of(number));
    }
    assert!(log.get(250).unwrap().is_none());
    let some: Vec<_> = log.reader().rows(95..107).map(|row| row.unwrap().number()).collect();
    assert_eq!(some, (95..107).collect::<Vec<_>>());
    assert_eq!(log.reader().rows(..=3).count(), 4);
    #[allow(clippy::reversed_empty_ranges)]
    let none = log.reader().rows(9..3).count() + log.reader().rows(250..).count();
    assert_eq!(none, 0);
    let groups: Vec<_> = log.reader().groups(..).map(Result::unwrap).collect();
    assert_eq!(groups.iter().map(|group| group.len()).sum::<usize>(), 250);
    assert_eq!(log.reader().groups(249..).count(), 1);
    assert_eq!(log.reader().groups(..3).count(), 1);
    log.close().unwrap();
    assert_eq!(read(&path).unwrap(), all);
    LogReader::open(&path).unwrap().validate().unwrap();
}

#[test]
fn extending_writes_whole_groups_at_once() {
    let (_directory, path) = place();
    let mut log = small().create(&path).unwrap();
    log.extend((0..83).map(row).collect::<Vec<_>>().iter()).unwrap();
    let stats = log.stats().file;
    assert_eq!((stats.groups, stats.tail_rows, stats.tail_frames), (10, 3, 1));
    assert_eq!(stats.dead_bytes, 0);
    // A document goes in as it is, or in parts.
    let document = livebuf_json::from_str("[1,2,3]").unwrap();
    assert_eq!(log.extend_document(document.valid().unwrap()).unwrap(), 3);
    let many = livebuf_json::from_str(&format!("[{}0]", "1,".repeat(30))).unwrap();
    assert_eq!(log.extend_document(many.valid().unwrap()).unwrap(), 31);
    assert_eq!(log.len(), 117);
    let error = log.extend_document(json!({"not": "an array"}).valid().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Row);
    assert_eq!(log.extend_document(json!([]).valid().unwrap()).unwrap(), 0);
    assert_eq!(log.len(), 117);
}

#[test]
fn large_rows_end_groups_early() {
    let (_directory, path) = place();
    let mut log = LogOptions::new().group_bytes(64 << 10).create(&path).unwrap();
    let text = "x".repeat(3000);
    let rows: Vec<_> = (0..200).map(|n| json!({"n": n, "text": text.as_str()})).collect();
    log.extend(rows.iter()).unwrap();
    assert!(log.stats().file.groups >= 5, "{:?}", log.stats());
    for row in &rows {
        log.append(row).unwrap();
    }
    let large = json!("y".repeat(1 << 20));
    log.append(&large).unwrap();
    log.append(&json!(1)).unwrap();
    log.extend([&large, &json!(2), &large]).unwrap();
    assert_eq!(log.len(), 405);
    assert_eq!(log.get(400).unwrap().unwrap().value().unwrap().as_str().unwrap().len(), 1 << 20);
    assert_eq!(log.get(403).unwrap().unwrap().value().unwrap(), 2);
    let before = rows_of(log.reader()).unwrap();
    log.compact().unwrap();
    assert_eq!(rows_of(log.reader()).unwrap(), before);
}

#[test]
fn an_append_syncs_once_and_writes_little() {
    let (_directory, path) = place();
    let options = LogOptions::new().sync(true).group_rows(1000).compact_at(u64::MAX);
    let mut log = options.create(&path).unwrap();
    let before = log.stats();
    let event = |n: u64| {
        let kind = ["click", "scroll", "buy"][n as usize % 3];
        json!({"ts": 1_700_000_000_000u64 + n, "user": n * 7919 % 10_000, "kind": kind, "value": n as f64 / 8.0})
    };
    let (mut documents, mut text) = (0, 0);
    for n in 0..3000 {
        let event = event(n);
        documents += event.as_bytes().len() as u64;
        text += livebuf_json::to_string(&event).unwrap().len() as u64 + 1;
        log.append(&event).unwrap();
    }
    let after = log.stats();
    assert_eq!(after.syncs - before.syncs, 3000);
    let written = after.written_bytes - before.written_bytes;
    println!("{written} bytes written; rows are {documents} as documents, {text} as JSON lines");
    assert!(written <= 3 * documents);
    log.extend((0..10).map(event).collect::<Vec<_>>().iter()).unwrap();
    assert_eq!(log.stats().syncs - before.syncs, 3001);
}

/// However rows come, the file has at most 1.2 of the bytes of JSON lines as soon as there are some
/// of them, and no row is written too often.
#[test]
fn a_log_compacts_itself() {
    for (rows, opened_anew) in [(1, false), (1, true), (3, false)] {
        let (_directory, path) = place();
        let options = LogOptions::new().group_rows(4000);
        let (mut log, mut text, mut worst) = (options.create(&path).unwrap(), 0, 0.0_f64);
        let mut written = 0;
        for n in (0..20_000u64).step_by(rows) {
            let kind = ["click", "scroll", "buy"][n as usize % 3];
            let event = |n: u64| json!({"ts": 1_700_000_000_000u64 + 17 * n, "kind": kind});
            let events: Vec<_> = (n..n + rows as u64).map(event).collect();
            text += events
                .iter()
                .map(|event| livebuf_json::to_string(event).unwrap().len() as u64 + 1)
                .sum::<u64>();
            log.extend(events.iter()).unwrap();
            let stats = log.stats();
            assert_eq!(fs::metadata(&path).unwrap().len(), stats.file.bytes);
            if text > 200_000 {
                worst = worst.max(stats.file.bytes as f64 / text as f64);
            }
            if opened_anew && n % 50 == 49 {
                written += stats.written_bytes;
                drop(log);
                log = options.open(&path).unwrap();
            }
        }
        written += log.stats().written_bytes;
        println!(
            "{rows} rows a time: {worst:.2} of JSON lines, written {:.1}",
            written as f64 / text as f64
        );
        assert!(worst < 1.2, "{worst}");
        assert!(written < 12 * text, "{written} of {text}");
        log.close().unwrap();
        let reader = LogReader::open(&path).unwrap();
        reader.validate().unwrap();
        assert_eq!(reader.len(), 20_000_u64.div_ceil(rows as u64) * rows as u64);
        let last = reader.get(19_999).unwrap().unwrap();
        assert_eq!(last.value().unwrap().get("ts").unwrap(), 1_700_000_000_000u64 + 17 * 19_999);
    }
}

#[test]
fn a_log_that_cannot_compact_itself_goes_on() {
    let (directory, path) = place();
    let mut log = LogOptions::new().compact_at(1000).create(&path).unwrap();
    // Another name: compacting would give the first one to a new file.
    let elsewhere = directory.path().join("elsewhere.lblog");
    fs::rename(&path, &elsewhere).unwrap();
    for number in 0..1000 {
        log.append(&row(number)).unwrap();
    }
    assert!(!path.exists());
    assert_eq!(read(&elsewhere).unwrap(), (0..1000).map(json_of).collect::<Vec<_>>());
    // The name is back.
    fs::rename(&elsewhere, &path).unwrap();
    let before = log.stats().file.bytes;
    for number in 1000..4000 {
        log.append(&row(number)).unwrap();
    }
    assert!(log.stats().file.bytes < 2 * before);
    assert_eq!(read(&path).unwrap(), (0..4000).map(json_of).collect::<Vec<_>>());
}

#[test]
fn compacting_gives_dead_bytes_back() {
    let (_directory, path) = place();
    let options = LogOptions::new().group_rows(500).compact_at(u64::MAX);
    let mut log = with_rows(&path, options, 0..1700);
    let stats = log.stats().file;
    assert!(stats.dead_bytes > stats.bytes / 3, "{stats:?}");
    let compacted = log.compact().unwrap();
    assert!(compacted.after < compacted.before / 4, "{compacted:?}");
    let stats = log.stats().file;
    assert_eq!((stats.dead_bytes, stats.groups, stats.tail_rows), (0, 3, 200));
    // It goes on in the new file, which is locked.
    log.append(&row(1700)).unwrap();
    assert_eq!(Log::open(&path).unwrap_err().kind(), ErrorKind::Locked);
    log.close().unwrap();
    assert_eq!(read(&path).unwrap(), (0..1701).map(json_of).collect::<Vec<_>>());
    let files: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(files.len(), 1);
}

#[test]
fn compacted_logs_are_nearly_as_small_as_one_document() {
    let (_directory, path) = place();
    let rows: Vec<_> = (0..50_000u64)
        .map(|n| {
            let kind = ["click", "scroll", "buy"][n as usize % 3];
            json!({"ts": 1_700_000_000_000 + 17 * n, "user": n * 7919 % 10_000, "kind": kind})
        })
        .collect();
    let mut log = LogOptions::new().group_rows(20_000).create(&path).unwrap();
    log.extend(rows[..30_000].iter()).unwrap();
    for row in &rows[30_000..] {
        log.append(row).unwrap();
    }
    log.compact().unwrap();
    let lines: String =
        rows.iter().map(|row| livebuf_json::to_string(row).unwrap() + "\n").collect();
    let best = livebuf_json::from_lines(lines.as_bytes(), &Default::default()).unwrap();
    let (size, best) = (fs::metadata(&path).unwrap().len(), best.as_bytes().len() as u64);
    assert!(size as f64 <= 1.15 * best as f64, "{size} against {best}");
}

#[test]
fn a_long_log_has_indexes_which_opening_uses() {
    let (_directory, path) = place();
    let mut log = LogOptions::new().group_rows(2).create(&path).unwrap();
    let rows: Vec<_> = (0..1001).map(row).collect();
    log.extend(rows.iter()).unwrap();
    assert!(log.stats().file.index_bytes > 0);
    log.close().unwrap();
    let all: Vec<_> = (0..1001).map(json_of).collect();
    assert_eq!(read(&path).unwrap(), all);
    // Without its mark the file is read from the beginning.
    let bytes = fs::read(&path).unwrap();
    let mut without = bytes.clone();
    without[32..64].fill(0);
    fs::write(&path, &without).unwrap();
    assert_eq!(read(&path).unwrap(), all);
    // With it, headers of groups in indexes are not looked at.
    let mut damaged = bytes.clone();
    damaged[64 + 9] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert_eq!(read(&path).unwrap(), all);
    // Their bodies are, when they are read.
    let mut damaged = bytes;
    damaged[64 + 32 + 40] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let reader = LogReader::open(&path).unwrap();
    let error = reader.get(0).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Damaged, Some(64)));
    assert!(reader.get(2).unwrap().is_some());
    assert_eq!(reader.validate().unwrap_err().offset(), Some(64));
}

#[test]
fn failed_rows_leave_the_log_as_it_was() {
    let (_directory, path) = place();
    let mut log = small().create(&path).unwrap();
    log.append(&row(0)).unwrap();
    // No value, two values, half a value.
    type Events = fn(&mut livebuf::Encoder) -> Result<(), Error>;
    let events: [Events; 3] = [
        |_| Ok(()),
        |encoder| Ok(encoder.null().and_then(|()| encoder.null())?),
        |encoder| Ok(encoder.begin_object()?),
    ];
    for events in events {
        let error = log.append_with(events).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Row);
    }
    let error = log.append_from(&std::collections::BTreeMap::from([(vec![1], 2)])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Row);
    // Two groups are in when the 21st row fails; of the third there is nothing.
    let mut count = 0;
    let error = log.extend_with::<Error>(|encoder| {
        count += 1;
        if count == 21 {
            return Err(livebuf::Error::new(livebuf::ErrorKind::Custom, 0).into());
        }
        Ok(encoder.u64(count).map(|()| true)?)
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Row);
    assert_eq!(log.len(), 1 + 7 + 8);
    log.append(&row(1)).unwrap();
    assert_eq!(log.len(), 17);
    LogReader::open(&path).unwrap().validate().unwrap();
}

#[test]
fn files_that_are_no_logs_are_refused_and_left_alone() {
    let (_directory, path) = place();
    let document = json!({"a": "document that is long enough to be a header of a log"});
    let cases: [(&[u8], &str); 4] = [
        (b"{\"a\": 1}\n", "not a log: the file does not begin as one does"),
        (document.as_bytes(), "not a log but a LiveBuf document"),
        (b"\xabLBL", "not a log: the file is shorter than a header"),
        (b"\xab", "not a log: the file does not begin as one does"),
    ];
    for (bytes, message) in cases {
        fs::write(&path, bytes).unwrap();
        for error in [Log::open(&path).unwrap_err(), LogReader::open(&path).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::NotALog);
            assert_eq!(error.to_string(), message);
        }
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    // A header that a power cut kept from the disk.
    for length in [0, 5, 64] {
        fs::write(&path, vec![0; length]).unwrap();
        assert_eq!(LogReader::open(&path).unwrap_err().kind(), ErrorKind::NotALog);
        let mut log = Log::open(&path).unwrap();
        log.append(&row(0)).unwrap();
        assert_eq!(read(&path).unwrap(), [json_of(0)]);
    }
    let directory = path.parent().unwrap();
    assert!(LogReader::open(directory).is_err() && Log::open(directory).is_err());
    let missing = directory.join("missing");
    for error in [Log::open(&missing).unwrap_err(), LogReader::open(&missing).unwrap_err()] {
        assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    }
    let error = Log::create(&path).unwrap_err();
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn a_log_is_replaced_by_a_new_one() {
    let (_directory, path) = place();
    let mut log = LogOptions::new().replace(&path).unwrap();
    log.append(&row(0)).unwrap();
    assert_eq!(LogOptions::new().replace(&path).unwrap_err().kind(), ErrorKind::Locked);
    log.close().unwrap();
    let mut reader = LogReader::open(&path).unwrap();
    let mut log = LogOptions::new().replace(&path).unwrap();
    assert!(log.is_empty());
    log.append(&row(1)).unwrap();
    assert_eq!(rows_of(&reader).unwrap(), [json_of(0)]);
    assert!(reader.refresh().unwrap().replaced);
    assert_eq!(rows_of(&reader).unwrap(), [json_of(1)]);
}

#[test]
fn options_may_differ_from_one_writer_to_the_next() {
    let (_directory, path) = place();
    drop(with_rows(&path, LogOptions::new().group_rows(100), 0..90));
    drop(with_rows(&path, LogOptions::new().group_rows(10), 90..95));
    drop(with_rows(&path, LogOptions::new().group_rows(1), 95..100));
    let mut log = with_rows(&path, LogOptions::new().group_bytes(1), 100..103);
    log.extend((103..110).map(row).collect::<Vec<_>>().iter()).unwrap();
    assert_eq!(rows_of(log.reader()).unwrap(), (0..110).map(json_of).collect::<Vec<_>>());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_the_log_stays_whole() {
    use std::process::Command;
    // The limit of a file's size stands for a full disk. It is set for a process of its own.
    if std::env::var_os("LIVEBUF_LOG_FULL").is_none() {
        let test = std::env::current_exe().unwrap();
        let name = "basics::a_full_disk_is_an_error_and_the_log_stays_whole";
        let script = format!("trap '' XFSZ; ulimit -f 64; exec {} --exact {name}", test.display());
        let run = Command::new("bash").args(["-c", &script]).env("LIVEBUF_LOG_FULL", "1").output();
        let run = run.unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
        return;
    }
    let (_directory, path) = place();
    let mut log = LogOptions::new().compact_at(u64::MAX).create(&path).unwrap();
    let text = "x".repeat(1000);
    let mut rows = 0;
    let error = loop {
        match log.append(&json!({"n": rows, "text": text.as_str()})) {
            Ok(_) => rows += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(rows > 20 && rows < 70);
    assert_eq!(log.len(), rows);
    // A smaller one may still fit.
    let more = u64::from(log.append(&json!(null)).is_ok());
    log.close().unwrap();
    let log = Log::open(&path).unwrap();
    assert_eq!((log.len(), log.dropped()), (rows + more, None));
}

/// What engines read: documents of groups, of which only the checksum was compared.
#[test]
fn groups_as_bytes() {
    let (_directory, path) = place();
    let mut log = small().create(&path).unwrap();
    for number in 0..30 {
        log.append(&row(number)).unwrap();
    }
    let reader = log.reader();
    let (mut next, mut index) = (0, 0);
    while let Some(rows) = reader.group_rows(index) {
        assert_eq!(rows.start, next);
        let group = reader.group(index).unwrap().unwrap();
        assert_eq!((group.first_row(), group.len() as u64), (rows.start, rows.end - rows.start));
        let bytes = reader.group_bytes(index).unwrap().unwrap();
        assert_eq!(bytes, group.document().as_bytes());
        (next, index) = (rows.end, index + 1);
    }
    assert!(index == reader.group_count() && index > 1 && next == 30);
    assert!(reader.group_bytes(index).unwrap().is_none());

    // Damaged bodies are caught, each of them.
    let mut bytes = fs::read(&path).unwrap();
    let starts: Vec<_> =
        (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"\xab\x4cBG")).collect();
    starts.iter().for_each(|&start| bytes[start + 64] ^= 1);
    fs::write(&path, &bytes).unwrap();
    let reader = LogReader::open(&path).unwrap();
    for index in 0..reader.stats().groups as usize {
        assert_eq!(reader.group_bytes(index).unwrap_err().kind(), ErrorKind::Damaged);
    }
}

/// Bug: rows that nest 1,000 deep were added one by one. Rows are read as elements of an array, which
/// cannot hold these. So the log was damaged from then on, and a repair dropped the row. Such rows
/// are refused.
#[test]
fn rows_nest_at_most_999_deep() {
    let (_directory, path) = place();
    let mut log = small().create(&path).unwrap();
    let nested = |levels: usize| {
        let mut row = serde_json::json!([]);
        (1..levels).for_each(|_| row = serde_json::Value::Array(vec![row.take()]));
        row
    };
    type Add = fn(&mut Log, &serde_json::Value) -> Result<u64, Error>;
    let ways: [Add; 6] = [
        |log, row| log.append(&livebuf::to_doc(row).unwrap()),
        |log, row| log.append_from(row),
        |log, row| log.append_with(|encoder| Ok(encoder.value(&livebuf::to_doc(row)?.root())?)),
        |log, row| log.append_document(livebuf::to_doc(row).unwrap().valid().unwrap()),
        |log, row| log.extend([&livebuf::to_doc(row).unwrap()]),
        |log, row| log.extend_from([row]),
    ];
    let (deepest, too_deep) = (nested(999), nested(1000));
    for (number, add) in ways.iter().cycle().take(20).enumerate() {
        let error = add(&mut log, &too_deep).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Row, "{error}");
        assert_eq!(error.core_error().unwrap().kind(), livebuf::ErrorKind::NestingLimit);
        let message = "containers are nested deeper than the limit of";
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(log.len(), number as u64);
        add(&mut log, &deepest).unwrap();
    }
    // Large, and flat.
    let flat = livebuf::to_doc(&vec!["a text"; 10_000]).unwrap();
    log.append_document(flat.valid().unwrap()).unwrap();
    log.compact().unwrap();
    let text = serde_json::to_string(&deepest).unwrap();
    assert_eq!(rows_of(log.reader()).unwrap()[..20], vec![text; 20]);
    log.reader().validate().unwrap();
}

/// Bug: a writer's limits were those of its groups, too. A row that the log had already, or that is as
/// deep as the limit, was called damage when it was gathered with others, and nothing could be added
/// then.
#[test]
fn limits_of_a_writer_are_those_of_its_new_rows() {
    let (_directory, path) = place();
    let mut log = small().create(&path).unwrap();
    log.append(&json!([[[1]]])).unwrap();
    drop(log);
    let mut narrow = livebuf::EncodeOptions::default();
    narrow.limits.nesting = 2;
    let mut log = small().encode(narrow).open(&path).unwrap();
    for _ in 0..2 {
        for number in 0..20 {
            log.append(&json!([[number]])).unwrap();
            let error = log.append(&json!([[[number]]])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Row, "{error}");
        }
        log.compact().unwrap();
        assert_eq!(log.extend([&json!([[2]])]).unwrap_err().kind(), ErrorKind::Row);
    }
    assert_eq!(log.len(), 41);
    assert_eq!(rows_of(log.reader()).unwrap()[..2], ["[[[1]]]", "[[0]]"]);
}

/// Bug: after an error, groups that were added before it were not synced, though the options ask for
/// that.
#[test]
fn groups_before_an_error_are_synced() {
    let (_directory, path) = place();
    let mut log = small().sync(true).create(&path).unwrap();
    for (good, added) in [(20, 16), (8, 8), (7, 0)] {
        let (rows, syncs, mut count) = (log.len(), log.stats().syncs, 0);
        let error = log.extend_with::<Error>(|encoder| {
            count += 1;
            match count > good {
                true => Err(livebuf::Error::new(livebuf::ErrorKind::Custom, 0).into()),
                false => Ok(encoder.u64(count).map(|()| true)?),
            }
        });
        let error = error.unwrap_err().core_error().unwrap();
        assert_eq!(error.kind(), livebuf::ErrorKind::Custom);
        assert_eq!(log.len() - rows, added);
        assert_eq!(log.stats().syncs - syncs, u64::from(added > 0));
    }
}

/// Bug: errors of `extend` were to say which row cannot be stored, and did not.
#[test]
fn an_error_says_which_row_cannot_be_stored() {
    let (_directory, path) = place();
    let mut log = small().create(&path).unwrap();
    log.append(&row(0)).unwrap();
    let mut rows: Vec<_> = (0..20).map(row).collect();
    let text = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    rows[12] = livebuf_json::from_str(&text).unwrap();
    let error = log.extend(rows.iter()).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Row, Some(12)));
    assert!(error.to_string().contains("(row 12 of the call)"), "{error}");
    assert_eq!(log.len(), 1 + 7);
    let mut rows = vec![std::collections::BTreeMap::new(); 20];
    rows[17].insert(vec![1], 2);
    let error = log.extend_from(&rows).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Row, Some(17)));
    assert_eq!(log.len(), 1 + 7 + 16);
    // Rows of a document, which are more than a group.
    let mut narrow = livebuf::EncodeOptions::default();
    narrow.limits.nesting = 2;
    drop(log);
    let mut log = small().encode(narrow).open(&path).unwrap();
    let rows = livebuf_json::from_str(&format!("[{}[[1]]]", "[1],".repeat(30))).unwrap();
    let error = log.extend_document(rows.valid().unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Row, Some(30)));
    assert_eq!(log.len(), 24 + 24);
}
