//! Memory while JSON is read and printed, and while documents are encoded, by an allocator that counts, and refuses when
//! it is told. A binary of its own: the allocator counts for the whole process, and the one test keeps others away.

#![allow(unsafe_code)]

use livebuf::{EncodeOptions, Encoder, Tensor, VecStorage};
use livebuf_query::Query;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Bytes that were asked for last, and may be a question only: see [`settle`].
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// How many large pieces there are until all are refused.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Smaller ones are never refused.
const SMALL: usize = 4 << 10;

fn is_refused(size: usize) -> bool {
    let less = |left| if left == usize::MAX { None } else { Some(usize::saturating_sub(left, 1)) };
    size > SMALL && LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) == Ok(0)
}

fn add(size: usize) {
    settle();
    LIVE.fetch_add(size, Ordering::Relaxed);
}

/// Counts what is alive. Bytes that are given back before anything else is asked for were a question
/// whether there is memory (`raw::require_memory`): nobody wrote to them, so they take none.
fn settle() {
    ASKED.store(0, Ordering::Relaxed);
    PEAK.fetch_max(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged, or is refused.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return std::ptr::null_mut();
        }
        add(layout.size());
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        let pointer = unsafe { System.alloc(layout) };
        if layout.align() == 1 {
            ASKED.store(pointer as usize, Ordering::Relaxed);
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return std::ptr::null_mut();
        }
        add(layout.size());
        settle();
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if ASKED.load(Ordering::Relaxed) != pointer as usize {
            settle();
        }
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && is_refused(size) {
            return std::ptr::null_mut();
        }
        // Old and new can be alive together; large blocks are moved by
        // remapping their pages, so only their growth counts.
        const REMAPPED: usize = 128 << 10;
        if layout.size() >= REMAPPED {
            settle();
            LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
            add(size);
            settle();
        } else {
            add(size);
            settle();
            LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result, and the most bytes alive during `work` beyond those before it.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    settle();
    (result, PEAK.load(Ordering::Relaxed) - before)
}

/// Reads in a thread that keeps no memory of earlier texts.
fn read_anew(text: &[u8]) -> livebuf::DocBuf {
    let read = || livebuf_json::from_slice(text).unwrap();
    std::thread::scope(|scope| scope.spawn(read).join().unwrap())
}

/// A thread keeps at most 4 MiB of memory, however much it took.
fn threads_keep_little(text: &[u8]) {
    let before = LIVE.load(Ordering::Relaxed);
    for text in [text, b"[1, 2]"] {
        let (document, taken) = peak(|| livebuf_json::from_slice(text).unwrap());
        println!("reading {} bytes, {taken} are taken", text.len());
        drop(document);
        // It may have kept more before.
        let kept = LIVE.load(Ordering::Relaxed).saturating_sub(before);
        assert!(kept < (4 << 20) + (64 << 10), "the thread keeps {kept} bytes");
    }
}

/// Whether memory beside text and document is at most `times` the text while it is read,
/// and next to nothing while it is printed.
fn reads_within(name: &str, text: &[u8], times: f64) -> bool {
    let (document, peak_bytes) = peak(|| read_anew(text));
    // Vectors are not made for less.
    const LEAST: usize = 16 << 10;
    let peak_bytes = peak_bytes.saturating_sub(LEAST);
    let beside = peak_bytes.saturating_sub(document.as_bytes().len()) as f64 / text.len() as f64;
    let size = document.as_bytes().len() as f64 / text.len() as f64;
    let verdict = if beside <= times { "" } else { "  TOO MUCH" };
    println!(
        "{name}: {} bytes of text, document {size:.2}, memory beside {beside:.2}{verdict}",
        text.len()
    );

    let root = document.valid().unwrap().root();
    let options = livebuf_json::PrintOptions::new();
    let (result, peak_bytes) = peak(|| livebuf_json::to_writer(std::io::sink(), root, &options));
    result.unwrap();
    assert!(peak_bytes < 512 << 10, "{name}: printing took {peak_bytes} bytes");
    beside <= times
}

/// `count` pieces between brackets.
fn list(brackets: [char; 2], count: usize, mut piece: impl FnMut(&mut String, usize)) -> Vec<u8> {
    let mut text = String::from(brackets[0]);
    for index in 0..count {
        if index > 0 {
            text.push(',');
        }
        piece(&mut text, index);
    }
    text.push(brackets[1]);
    text.into_bytes()
}

/// Whether the encoder takes at most twice the bytes that `docs/bounds.md` states, here for each
/// value: its lists grow ahead of what they hold. The storage has room, so it does not count.
fn encodes_within(
    name: &str,
    values: usize,
    stated: f64,
    mut give: impl FnMut(&mut Encoder, usize) -> livebuf::Result<()>,
) -> bool {
    let storage = VecStorage::with_capacity(64 << 20).unwrap();
    let (result, peak_bytes) = peak(|| -> livebuf::Result<_> {
        let mut encoder = Encoder::in_storage(storage, EncodeOptions::default());
        encoder.begin_array()?;
        (0..values).try_for_each(|index| give(&mut encoder, index))?;
        encoder.end_array()?;
        Ok(encoder)
    });
    result.unwrap().finish().unwrap();
    let beside = peak_bytes as f64 / values as f64;
    let most = 2.0 * stated + (256 << 10) as f64 / values as f64;
    let verdict = if beside <= most { "" } else { "  TOO MUCH" };
    println!("encoding {name}: {beside:.1} bytes a value, {stated:.1} are stated{verdict}");
    beside <= most
}

/// Four encodings that each take another of the stated amounts.
fn encoding_takes_what_is_stated(values: usize) -> bool {
    let listed = encodes_within("integers", values, 9.0 + 4.0, |e, index| e.i64(index as i64));
    let alike = encodes_within("rows that are alike", values, 9.0, |e, index| {
        match index % 4 {
            0 => e.begin_array()?,
            3 => {
                e.i64(3)?;
                return e.end_array();
            }
            _ => {}
        }
        e.i64(index as i64)
    });
    let codes = encodes_within("a dictionary of few texts", values, 9.0 + 4.0 + 2.0, |e, index| {
        e.str(["open", "closed for good"][index % 2])
    });
    // Each text stands four times: a quarter of a text for each value.
    let stated = 9.0 + 4.0 + 2.0 + (60.0 + 50.0) / 4.0;
    let texts = encodes_within("a dictionary of many texts", values, stated, |e, index| {
        e.str(&format!("text {:08}", index / 4))
    });
    listed && alike && codes && texts
}

/// Whether the encoder says how much memory it keeps for the next document.
fn keeps_what_it_says(name: &str, give: impl FnOnce(&mut Encoder) -> livebuf::Result<()>) -> bool {
    const LEAST: usize = 64 << 10;
    let before = LIVE.load(Ordering::Relaxed);
    let mut encoder = Encoder::new();
    give(&mut encoder).unwrap();
    drop(encoder.finish_one().unwrap());
    encoder.restart(VecStorage::default(), EncodeOptions::default());
    let (said, held) = (encoder.kept_bytes(), LIVE.load(Ordering::Relaxed) - before);
    let verdict = if said.abs_diff(held) < LEAST + held / 20 { "" } else { "  NOT SO" };
    println!("encoder after {name}: keeps {held} bytes, says {said}{verdict}");
    verdict.is_empty()
}

/// What makes each part of the encoder large.
fn the_encoder_says_what_it_keeps() -> bool {
    let rows = keeps_what_it_says("a chunk whose last row is large", |encoder| {
        encoder.begin_array()?;
        for length in [1000; 8].into_iter().chain([1_000_000]) {
            encoder.begin_array()?;
            (0..length).try_for_each(|_| encoder.i64(0))?;
            encoder.end_array()?;
        }
        encoder.end_array()
    });
    let tensors = keeps_what_it_says("many tensors", |encoder| {
        encoder.begin_array()?;
        let tensor = Tensor::new(&[1], &[7u8])?;
        (0..100_000).try_for_each(|_| encoder.tensor(&tensor))?;
        encoder.end_array()
    });
    let maps = keeps_what_it_says("a map of rows", |encoder| {
        encoder.begin_object()?;
        for id in 0..50_000 {
            encoder.key(&format!("user {id}"))?;
            encoder.begin_object()?;
            encoder.key("name")?;
            encoder.str(&format!("the name of {id}"))?;
            encoder.end_object()?;
        }
        encoder.end_object()
    });
    let keys = keeps_what_it_says("different keys", |encoder| {
        encoder.begin_array()?;
        for id in 0..50_000 {
            encoder.begin_object()?;
            encoder.key(&format!("the key {id}"))?;
            encoder.null()?;
            encoder.end_object()?;
        }
        encoder.end_array()
    });
    let texts = keeps_what_it_says("texts that repeat", |encoder| {
        encoder.begin_array()?;
        (0..100_000).try_for_each(|at| encoder.str(&format!("a text {}", at % 700)))?;
        encoder.end_array()
    });
    rows && tensors && maps && keys && texts
}

/// Memory runs out at each large piece in turn. Encoding ends with an error each time.
fn refused_memory_is_an_error(name: &str, text: &[u8]) {
    let (mut pieces, mut errors) = (0, 0);
    loop {
        LEFT.store(pieces, Ordering::Relaxed);
        // In a thread that keeps no memory of earlier texts.
        let read = || livebuf_json::from_slice(text).map(drop);
        let result = std::thread::scope(|scope| scope.spawn(read).join().unwrap());
        if LEFT.swap(usize::MAX, Ordering::Relaxed) > 0 {
            assert!(result.is_ok());
            break;
        }
        // Memory for what is only expected can be done without.
        errors += result.is_err() as usize;
        pieces += 1;
    }
    println!("{name}: refused after each of {pieces} pieces of memory; {errors} errors");
    assert!(errors > 10, "{name}");
}

/// The places of all matches in a deep document: 24 kB took 520 MB. And expressions that the
/// document brings, of which few are kept.
fn queries_take_what_is_stated() {
    let deep = |leaves: usize, depth: usize| {
        let leaves = vec!["true"; leaves].join(",");
        let text = format!("{}[{leaves}]{}", "{\"key\":".repeat(depth), "}".repeat(depth));
        livebuf_json::from_str(&text).unwrap()
    };
    let all = Query::parse("$..*").unwrap();
    for (leaves, depth) in [(20_000, 900), (50_000, 40), (1, 990)] {
        let doc = deep(leaves, depth);
        let (matches, peak_bytes) =
            peak(|| all.find(&doc).map(|found| found.unwrap().into_location()).collect::<Vec<_>>());
        let each = peak_bytes as f64 / matches.len() as f64;
        println!("{} matches, {depth} deep: {each:.0} bytes for each", matches.len());
        // The list grows ahead of them.
        assert!(each < 3.0 * 128.0 + 1_000_000.0 / matches.len() as f64, "{each:.0} for a match");
        drop(matches);
        let mut doc = doc;
        let (set, peak_bytes) = peak(|| {
            let leaf = Query::parse("$..[?@ == true]").unwrap();
            livebuf_query::set_all(&mut doc, &leaf, false).unwrap()
        });
        assert_eq!(set, leaves);
        assert!(peak_bytes < 400 * (leaves + depth) + (4 << 20), "setting all took {peak_bytes}");
    }
    let rows = (0..200).map(|row| format!(r#"{{"a":"x","b":"(\\p{{L}}{{9}}){{9}}{row}"}}"#));
    let text = format!("[{}]", rows.collect::<Vec<_>>().join(","));
    let doc = livebuf_json::from_str(&text).unwrap();
    let computed = Query::parse("$[?search(@.a, @.b)]").unwrap().with_budget(u64::MAX);
    let (count, peak_bytes) = peak(|| computed.count(&doc));
    println!("expressions of {} bytes: {peak_bytes} are taken", text.len());
    assert_eq!(count, Ok(0));
    assert!(peak_bytes < 32 << 20, "{peak_bytes} bytes for expressions");
}

/// Damaged documents of 66 kB took 98 MB: each of many levels led to the same members.
fn digests_take_what_is_stated() {
    let members = (0..400).map(|member| format!("\"k{member}\":{{\"a{member}\":{member}}}"));
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    let whole = livebuf_json::from_str(&text).unwrap().to_vec();
    let root = livebuf::layout::HEADER_ROOT_CELL as usize;
    let mut refused = 0;
    for at in (root + 8..whole.len() - 8).step_by(40) {
        let mut damaged = whole.clone();
        damaged.copy_within(root..root + 8, at);
        let Ok(doc) = livebuf::Doc::open(&damaged) else { continue };
        let (digest, peak_bytes) = peak(|| doc.root().digest(&mut 1_000_000));
        refused += usize::from(digest.is_err());
        let most = 56 * damaged.len() + (256 << 10);
        assert!(peak_bytes < most, "{peak_bytes} bytes for {}: {digest:?}", damaged.len());
    }
    println!("digests: {refused} are refused");
    assert!(refused > 0, "{refused} are refused");
}

#[test]
fn reading_uses_little_memory() {
    queries_take_what_is_stated();
    digests_take_what_is_stated();
    assert!(
        the_encoder_says_what_it_keeps(),
        "the encoder keeps other memory than it says, see above"
    );
    let mut within = true;
    for values in [100_000, 164_000, 240_000] {
        within &= encoding_takes_what_is_stated(values);
    }
    assert!(within, "the encoder took more than is stated, see above");

    threads_keep_little(&list(['[', ']'], 1 << 20, |text, _| text.push_str("[1]")));

    let hostile: Vec<(&str, Vec<u8>)> = vec![
        ("[1,1,…", list(['[', ']'], 1 << 20, |text, _| text.push('1'))),
        ("[0.1,…", list(['[', ']'], 1 << 19, |text, _| text.push_str("0.1"))),
        (
            "[1e9,99999999999999999999,…",
            list(['[', ']'], 1 << 17, |text, index| {
                text.push_str(["1e9", "99999999999999999999"][index % 2]);
            }),
        ),
        (
            "[null,1,\"\",…",
            list(['[', ']'], 1 << 20, |text, index| {
                text.push_str(["null", "1", "\"\""][index % 3]);
            }),
        ),
        ("[[],…", list(['[', ']'], 1 << 20, |text, _| text.push_str("[]"))),
        ("[{},…", list(['[', ']'], 1 << 20, |text, _| text.push_str("{}"))),
        ("[[1],…", list(['[', ']'], 1 << 20, |text, _| text.push_str("[1]"))),
        ("[{\"\":0},…", list(['[', ']'], 1 << 19, |text, _| text.push_str("{\"\":0}"))),
        (
            "[{\"distinct\":0},…",
            list(['[', ']'], 1 << 17, |text, index| {
                write!(text, "{{\"{index:x}\":0}}").unwrap();
            }),
        ),
        (
            "{\"distinct\":0,…",
            list(['{', '}'], 1 << 18, |text, index| {
                write!(text, "\"{index:x}\":0").unwrap();
            }),
        ),
        ("{\"same\":0,…", list(['{', '}'], 1 << 18, |text, _| text.push_str("\"a\":0"))),
        (
            "distinct short strings",
            list(['[', ']'], 1 << 18, |text, index| {
                write!(text, "\"{index:x}\"").unwrap();
            }),
        ),
        (
            "distinct strings of 8",
            list(['[', ']'], 1 << 18, |text, index| {
                write!(text, "\"{index:08x}\"").unwrap();
            }),
        ),
        ("equal strings of 8", list(['[', ']'], 1 << 18, |text, _| text.push_str("\"abcdefgh\""))),
        (
            "one string",
            list(['[', ']'], 1, |text, _| {
                write!(text, "\"{}\"", "x".repeat(4 << 20)).unwrap();
            }),
        ),
        (
            "one string of escapes",
            list(['[', ']'], 1, |text, _| {
                write!(text, "\"{}\"", "\\n".repeat(2 << 20)).unwrap();
            }),
        ),
        ("nested to the limit", {
            let one = format!("{}{}", "[".repeat(999), "]".repeat(999));
            list(['[', ']'], 1000, |text, _| text.push_str(&one))
        }),
        ("objects nested to the limit", {
            let one = format!("{}0{}", "{\"\":".repeat(999), "}".repeat(999));
            list(['[', ']'], 500, |text, _| text.push_str(&one))
        }),
    ];
    let mut within = true;
    for (name, text) in &hostile {
        within &= reads_within(name, text, 10.0);
    }

    // Refused text must not cost more.
    for (name, text) in
        [("[[[[…", "[".repeat(4 << 20)), ("{\"\":{\"\":…", "{\"\":".repeat(1 << 20))]
    {
        let (result, peak_bytes) = peak(|| livebuf_json::from_str(&text).is_err());
        assert!(result);
        println!("{name}: refused with {peak_bytes} bytes");
        assert!(peak_bytes <= 10 * text.len(), "{name}: {peak_bytes}");
    }

    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let Ok(entries) = std::fs::read_dir(&data) else {
        println!("skipped: {} is absent", data.display());
        assert!(within, "more than 10 times the text, see above");
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            within &= reads_within(&name, &std::fs::read(&path).unwrap(), 3.0);
        }
    }
    assert!(within, "more than 10 times the text, or 3 times a data file, see above");

    let row = |text: &mut String, n| {
        write!(text, r#"{{"id":{n},"name":"name of {n}","x":{n}.5}}"#).unwrap();
    };
    refused_memory_is_an_error("rows", &list(['[', ']'], 40_000, row));
    let last = |text: &mut String, n| if n < 19_999 { row(text, n) } else { text.push('3') };
    refused_memory_is_an_error("rows and a number", &list(['[', ']'], 20_000, last));
    let mixed = |text: &mut String, n| write!(text, r#"{{"k{}":{n},"a":"é{n}"}}"#, n % 97).unwrap();
    refused_memory_is_an_error("objects", &list(['[', ']'], 30_000, mixed));
    let entry = |text: &mut String, n| write!(text, r#""key {n}":{n}"#).unwrap();
    let number = |text: &mut String, n| write!(text, "{n}").unwrap();
    refused_memory_is_an_error("numbers", &list(['[', ']'], 200_000, number));
    refused_memory_is_an_error("a map", &list(['{', '}'], 50_000, entry));
}
