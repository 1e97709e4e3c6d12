//! The C API against Rust in one run, one thread: every task first gives the same answer
//! through both, then they are timed in turns, and the fastest of many batches counts.
//!
//! ```text
//! [LITE3=CHECKOUT] cargo run --release -p livebuf-c-bench \
//!     [-- [--quick] [--filter NAME] [--json FILE] DIRECTORY-OF-TWITTER.JSON]
//! ```
//!
//! The second table compares C through LiveBuf with C through Lite³, where `LITE3` names a
//! directory with Lite³'s `src/lite3.c` and `include/lite3.h`: a checkout, or `vendor/lite3` of
//! the source distribution of `pylite3` on PyPI. Its C code of both, and Lite³ itself, is
//! compiled with `-O2 -march=native`; LiveBuf's library is the release build. `--rows` prints
//! this table only.
// What this measures are calls of C; one comment for all calls of a task says why they may.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

mod maps;
mod results;
mod rows;
mod rust;
mod stamp;

use std::ffi::{CString, c_char, c_int};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cpu_time::ThreadTime;
use livebuf::{DocBuf, Editor, Key, New, Valid, Value};
use livebuf_c::document::livebuf_doc;
use livebuf_c::read::livebuf_str;

#[repr(C)]
struct TopTweet {
    text: livebuf_str,
    screen_name: livebuf_str,
    retweet_count: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct PartialTweet {
    created_at: livebuf_str,
    text: livebuf_str,
    screen_name: livebuf_str,
    id: u64,
    in_reply_to_status_id: u64,
    user_id: u64,
    retweet_count: u64,
    favorite_count: u64,
}

// As C sees them.
unsafe extern "C" {
    fn livebuf_open(
        doc: *mut livebuf_doc,
        buffer: *mut u8,
        length: usize,
        capacity: usize,
    ) -> c_int;
    fn livebuf_read(doc: *mut livebuf_doc, bytes: *const u8, length: usize) -> c_int;
    fn livebuf_validate(doc: *mut livebuf_doc) -> c_int;
}

unsafe extern "C" {
    fn c_get_literal(doc: *const livebuf_doc, times: usize) -> i64;
    fn c_get_key(doc: *const livebuf_doc, text: *const c_char, times: usize) -> i64;
    fn c_get_key_or(doc: *const livebuf_doc, text: *const c_char, times: usize) -> i64;
    fn c_set_literal(doc: *mut livebuf_doc, times: usize) -> c_int;
    fn c_set_key(doc: *mut livebuf_doc, text: *const c_char, times: usize) -> c_int;
    fn c_build(
        buffer: *mut u8,
        capacity: usize,
        keys: *const *const c_char,
        length: *mut usize,
    ) -> c_int;
    fn c_build_at_once(
        buffer: *mut u8,
        capacity: usize,
        keys: *const *const c_char,
        length: *mut usize,
    ) -> c_int;
    fn c_prepare();
    fn c_top_tweet(doc: *const livebuf_doc, most: u64, top: *mut TopTweet) -> bool;
    fn c_partial_tweets(doc: *const livebuf_doc, result: *mut PartialTweet, room: usize) -> usize;
    fn c_find_tweet(doc: *const livebuf_doc, id: u64) -> livebuf_str;
    fn c_distinct_user_id(doc: *const livebuf_doc, result: *mut u64, room: usize) -> usize;
}

const KEYS: [&str; 3] = ["event", "lap", "time_sec"];
const TIMES: usize = 1000;
const FIND_ID: u64 = 505_874_901_689_851_904;
const MOST: u64 = i32::MAX as u64;

/// Whether contests are short.
static QUICK: AtomicBool = AtomicBool::new(false);

fn quick() -> bool {
    QUICK.load(Relaxed)
}

/// Nanoseconds of an operation of C and of Rust, of all batches, which alternate; the fastest
/// comes first.
fn contest(operations: usize, mut c: impl FnMut(), mut rust: impl FnMut()) -> [Vec<f64>; 2] {
    const BATCH: Duration = Duration::from_micros(200);
    const ROUNDS: usize = 2000;
    let longest = Duration::from_millis(if quick() { 100 } else { 2000 });
    let time = |work: &mut dyn FnMut(), repetitions: u32| {
        let start = ThreadTime::now();
        for _ in 0..repetitions {
            work();
        }
        start.elapsed()
    };
    let mut works: [&mut dyn FnMut(); 2] = [&mut c, &mut rust];
    let repetitions = [0, 1].map(|at| {
        let mut repetitions = 1;
        while time(works[at], repetitions) < BATCH && repetitions < 1 << 24 {
            repetitions *= 2;
        }
        repetitions
    });
    let mut batches = [Vec::new(), Vec::new()];
    let start = ThreadTime::now();
    for round in 0..ROUNDS {
        if round > 0 && start.elapsed() > longest {
            break;
        }
        for at in [0, 1] {
            let elapsed = time(works[at], repetitions[at]).as_nanos() as f64;
            batches[at].push(elapsed / f64::from(repetitions[at]) / operations as f64);
        }
    }
    batches.iter_mut().for_each(|batches| batches.sort_by(f64::total_cmp));
    batches
}

/// Times and prints a task of C and Rust, whose answers were compared.
fn line(name: &str, target: &str, operations: usize, c: impl FnMut(), rust: impl FnMut()) {
    let task = format!("c-and-rust/{name}");
    if !results::wanted(&task) {
        return;
    }
    let times = contest(operations, c, rust);
    let [c, rust] = [0, 1].map(|at| times[at][0]);
    println!("| {name} | {c:.1} | {rust:.1} | {:.2} | {target} |", c / rust);
    let [c, rust] = &times;
    results::add(&task, &[("livebuf, C", c), ("livebuf, Rust", rust)]);
}

/// Opens bytes for C.
fn open(bytes: &mut [u8]) -> Result<Box<livebuf_doc>> {
    let mut doc = Box::new(MaybeUninit::uninit());
    // SAFETY: the bytes outlive the document in every use here.
    let status =
        unsafe { livebuf_open(doc.as_mut_ptr(), bytes.as_mut_ptr(), bytes.len(), bytes.len()) };
    ensure!(status == 0, "status {status}");
    // SAFETY: written by the call above.
    Ok(unsafe { doc.assume_init() })
}

fn build_message(buffer: &mut [u8]) -> livebuf::Result<Editor<&mut [u8]>> {
    let mut message = Editor::create(buffer)?;
    if let Some(root) = message.set_root(New::object(3))? {
        message.set(root, black_box(KEYS[0]), "lap_complete")?;
        message.set(root, black_box(KEYS[1]), 55)?;
        message.set(root, black_box(KEYS[2]), 88.427)?;
    }
    Ok(message)
}

fn build_at_once(buffer: &mut [u8]) -> livebuf::Result<Editor<&mut [u8]>> {
    let mut message = Editor::create(buffer)?;
    let keys = black_box(KEYS);
    let fields = [(keys[0], "lap_complete".into()), (keys[1], 55.into()), (keys[2], 88.427.into())];
    message.set_root(New::Fields(&fields))?;
    Ok(message)
}

fn small() -> Result<()> {
    let mut buffer = [0_u8; 256];
    build_message(&mut buffer)?;
    let mut copy = buffer;
    let mut doc = open(&mut buffer)?;
    let mut editor = Editor::open_unvalidated(&mut copy[..])?;
    let root = editor.root_id().context("a root")?;
    let key = CString::new("lap")?;
    let (doc_read, remembered) = (&raw const *doc, Key::new("lap"));
    // SAFETY (all calls): a document that was opened, text that ends with NUL.
    unsafe {
        ensure!(c_get_literal(doc_read, 2) == 110 && c_get_key(doc_read, key.as_ptr(), 2) == 110);
        ensure!(c_get_key_or(doc_read, key.as_ptr(), 2) == 110);
    }
    let bytes = editor.as_bytes().to_vec();
    let value = livebuf::Doc::open(&bytes)?.validate()?.root();
    let rust_get = |find: &dyn Fn(Value<'_, Valid>) -> i64| {
        for _ in 0..TIMES {
            black_box(find(black_box(value)));
        }
    };
    let by_name =
        |value: Value<'_, Valid>| value.get("lap").and_then(|it| it.as_i64()).unwrap_or(0);
    let by_key =
        |value: Value<'_, Valid>| value.get(&remembered).and_then(|it| it.as_i64()).unwrap_or(0);
    ensure!(by_name(value) == 55 && by_key(value) == 55);
    line(
        "get an i64 by literal key",
        "20 ns",
        TIMES,
        || {
            black_box(unsafe { c_get_literal(doc_read, TIMES) });
        },
        || rust_get(&by_name),
    );
    line(
        "get an i64 by remembered key",
        "8 ns",
        TIMES,
        || {
            black_box(unsafe { c_get_key(doc_read, key.as_ptr(), TIMES) });
        },
        || rust_get(&by_key),
    );
    line(
        "the same, livebuf_get_key_i64_or",
        "8 ns",
        TIMES,
        || {
            black_box(unsafe { c_get_key_or(doc_read, key.as_ptr(), TIMES) });
        },
        || rust_get(&by_key),
    );

    let doc = &raw mut *doc;
    for (count, by_key) in [(6, false), (8, true)] {
        match by_key {
            true => editor.set(root, &remembered, count)?,
            false => editor.set(root, "lap", count)?,
        };
        let root = livebuf::Doc::open(editor.as_bytes())?.validate()?.root();
        ensure!(root.get("lap").is_some_and(|lap| lap == count));
    }
    let mut set = |at: &dyn Fn(&mut Editor<&mut [u8]>, i64)| {
        for value in 0..TIMES as i64 {
            at(&mut editor, value);
        }
    };
    unsafe {
        ensure!(c_set_literal(doc, 7) == 0 && c_get_literal(doc, 1) == 6);
        ensure!(c_set_key(doc, key.as_ptr(), 9) == 0 && c_get_literal(doc, 1) == 8);
    }
    line(
        "set an existing i64 by literal key",
        "20 ns",
        TIMES,
        || {
            black_box(unsafe { c_set_literal(doc, TIMES) });
        },
        || {
            set(&|editor, value| {
                let _ = black_box(editor.set(root, black_box("lap"), value));
            });
        },
    );
    line(
        "set an existing i64 by remembered key",
        "20 ns",
        TIMES,
        || {
            black_box(unsafe { c_set_key(doc, key.as_ptr(), TIMES) });
        },
        || {
            set(&|editor, value| {
                let _ = black_box(editor.set(root, &remembered, value));
            });
        },
    );

    let names = KEYS.map(|key| CString::new(key).unwrap_or_default());
    let keys = [names[0].as_ptr(), names[1].as_ptr(), names[2].as_ptr()];
    type Build = unsafe extern "C" fn(*mut u8, usize, *const *const c_char, *mut usize) -> c_int;
    let by_c = |build: Build, buffer: &mut [u8; 256]| {
        let mut length = 0;
        let status = unsafe { build(buffer.as_mut_ptr(), 256, keys.as_ptr(), &mut length) };
        (status, length)
    };
    // Dirty buffers, used in turn, that fit the first cache together.
    let mut buffers = vec![[0xA5_u8; 256]; 32];
    let mut others = buffers.clone();
    let (status, length) = by_c(c_build, &mut buffers[0]);
    ensure!(status == 0 && build_message(&mut others[0])?.as_bytes() == &buffers[0][..length]);
    line(
        "build the three-field message, three calls",
        "85 ns",
        32,
        || {
            buffers.iter_mut().for_each(|buffer| {
                black_box(by_c(c_build, buffer));
            });
        },
        || {
            others.iter_mut().for_each(|buffer| {
                let _ = black_box(build_message(buffer));
            });
        },
    );
    let (status, length) = by_c(c_build_at_once, &mut buffers[0]);
    ensure!(status == 0 && build_at_once(&mut others[0])?.as_bytes() == &buffers[0][..length]);
    line(
        "build the three-field message, one call",
        "85 ns",
        32,
        || {
            buffers.iter_mut().for_each(|buffer| {
                black_box(by_c(c_build_at_once, buffer));
            });
        },
        || {
            others.iter_mut().for_each(|buffer| {
                let _ = black_box(build_at_once(buffer));
            });
        },
    );
    Ok(())
}

fn text(view: livebuf_str) -> &'static [u8] {
    // SAFETY: what C got from a document that is there for as long as the program runs.
    unsafe { std::slice::from_raw_parts(view.data.cast(), view.length as usize) }
}

fn twitter(json: &[u8]) -> Result<()> {
    let document: &'static DocBuf = Box::leak(Box::new(livebuf_json::from_slice(json)?));
    let bytes = document.as_bytes();
    let root = livebuf::Doc::open(bytes)?.validate()?.root();
    let mut doc = MaybeUninit::uninit();
    // SAFETY: the bytes are there for ever.
    let doc = unsafe {
        ensure!(livebuf_read(doc.as_mut_ptr(), bytes.as_ptr(), bytes.len()) == 0);
        doc.assume_init()
    };
    let doc = &raw const doc;
    // SAFETY: the function takes nothing from its caller.
    unsafe { c_prepare() };

    // SAFETY (all calls): an open document, and room as said.
    let mut top = MaybeUninit::<TopTweet>::uninit();
    ensure!(unsafe { c_top_tweet(doc, MOST, top.as_mut_ptr()) });
    let found = unsafe { top.assume_init_ref() };
    let expected = rust::top_tweet(root, MOST).context("a tweet")?;
    ensure!(text(found.text) == expected.text.as_bytes());
    ensure!(text(found.screen_name) == expected.screen_name.as_bytes());
    ensure!(found.retweet_count == expected.retweet_count);
    line(
        "twitter: top_tweet",
        "1.3",
        1,
        || {
            black_box(unsafe { c_top_tweet(doc, black_box(MOST), top.as_mut_ptr()) });
        },
        || {
            black_box(rust::top_tweet(black_box(root), MOST));
        },
    );

    let mut partial = vec![MaybeUninit::<PartialTweet>::uninit(); 200];
    let count = unsafe { c_partial_tweets(doc, partial.as_mut_ptr().cast(), 200) };
    let mut expected = Vec::new();
    rust::partial_tweets(root, &mut expected).context("tweets")?;
    ensure!(count == expected.len() && count == 100);
    for (found, expected) in partial.iter().zip(&expected) {
        let found = unsafe { found.assume_init_ref() };
        ensure!(text(found.created_at) == expected.created_at.as_bytes());
        ensure!(text(found.text) == expected.text.as_bytes());
        ensure!(text(found.screen_name) == expected.user.screen_name.as_bytes());
        ensure!(found.id == expected.id && found.user_id == expected.user.id);
        ensure!(found.in_reply_to_status_id == expected.in_reply_to_status_id);
        ensure!(found.retweet_count == expected.retweet_count);
        ensure!(found.favorite_count == expected.favorite_count);
    }
    line(
        "twitter: partial_tweets",
        "1.3",
        1,
        || {
            black_box(unsafe { c_partial_tweets(doc, partial.as_mut_ptr().cast(), 200) });
        },
        || {
            expected.clear();
            black_box(rust::partial_tweets(black_box(root), &mut expected));
        },
    );

    let expected = rust::find_tweet(root, FIND_ID).context("the tweet")?;
    ensure!(text(unsafe { c_find_tweet(doc, FIND_ID) }) == expected.as_bytes());
    line(
        "twitter: find_tweet",
        "1.3",
        1,
        || {
            black_box(unsafe { c_find_tweet(doc, black_box(FIND_ID)) });
        },
        || {
            black_box(rust::find_tweet(black_box(root), FIND_ID));
        },
    );

    let mut ids = vec![0; 400];
    let count = unsafe { c_distinct_user_id(doc, ids.as_mut_ptr(), ids.len()) };
    let mut expected = Vec::new();
    rust::distinct_user_id(root, &mut expected).context("ids")?;
    ensure!(ids[..count] == expected);
    line(
        "twitter: distinct_user_id",
        "1.3",
        1,
        || {
            black_box(unsafe { c_distinct_user_id(doc, ids.as_mut_ptr(), ids.len()) });
        },
        || {
            expected.clear();
            black_box(rust::distinct_user_id(black_box(root), &mut expected));
        },
    );
    Ok(())
}

fn main() -> Result<()> {
    let (mut rows_only, mut stamps_only, mut data, mut json_file) = (false, false, None, None);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--quick") => QUICK.store(true, Relaxed),
            Some("--json") => {
                json_file = Some(PathBuf::from(arguments.next().context("--json FILE")?));
            }
            Some("--filter") => {
                let part = arguments.next().context("--filter NAME")?;
                results::want(&part.to_string_lossy());
            }
            Some("--rows") => rows_only = true,
            Some("--stamps") => stamps_only = true,
            _ => data = Some(PathBuf::from(argument)),
        }
    }
    if stamps_only {
        return stamp::run();
    }
    // Beside the repository, as the Rust benchmark has it.
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/data");
    let data = data.unwrap_or_else(|| PathBuf::from(beside));
    let json = std::fs::read(data.join("twitter.json"));
    if !rows_only {
        println!("| task | C, ns | Rust, ns | C / Rust | target |\n|---|---|---|---|---|");
        small()?;
        if let Ok(json) = &json {
            twitter(json)?;
        }
    }
    rows::run(json.as_deref().ok())?;
    maps::run()?;
    stamp::run()?;
    if let Some(path) = json_file {
        results::write(&path)?;
    }
    if let Err(error) = &json {
        println!("\nNo twitter.json in {}: {error}", data.display());
    }
    if !cfg!(lite3) {
        println!("\nLITE3 named no checkout of Lite³ when this was compiled: not compared.");
    }
    Ok(())
}
