//! The tasks by rows, and small messages by literal keys: C through LiveBuf, and where `LITE3`
//! names a checkout of Lite³, through that. Both sides must give the same answers.

use std::ffi::{c_char, c_int};
use std::hint::black_box;
use std::mem::MaybeUninit;

use anyhow::{Context as _, Result, ensure};
use livebuf::DocBuf;
use livebuf_c::document::livebuf_doc;

use crate::{
    FIND_ID, MOST, TIMES, contest, livebuf_open, livebuf_read, livebuf_validate, results, stamp,
};

#[repr(C)]
#[derive(Clone, Copy)]
struct Span {
    data: *const c_char,
    length: usize,
}

impl Span {
    const NONE: Span = Span { data: std::ptr::null(), length: 0 };

    fn bytes(&self) -> &[u8] {
        match self.data.is_null() {
            true => &[],
            // SAFETY: text of a document that is there for as long as the program runs.
            false => unsafe { std::slice::from_raw_parts(self.data.cast(), self.length) },
        }
    }
}

#[repr(C)]
struct TopRow {
    text: Span,
    screen_name: Span,
    retweet_count: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct PartialRow {
    texts: [Span; 3],
    numbers: [i64; 5],
}

unsafe extern "C" {
    fn c_get_literal(doc: *const livebuf_doc, times: usize) -> i64;
    fn c_set_literal(doc: *mut livebuf_doc, times: usize) -> c_int;
    fn c_set_text(doc: *mut livebuf_doc, times: usize) -> c_int;
    fn c_event_is(doc: *const livebuf_doc, text: *const c_char) -> bool;
    fn c_get_row(doc: *const livebuf_doc, times: usize) -> i64;
    fn c_sum_rows(doc: *const livebuf_doc) -> i64;
    fn c_top_tweet_rows(doc: *const livebuf_doc, most: i64, top: *mut TopRow) -> bool;
    fn c_partial_tweets_rows(doc: *const livebuf_doc, out: *mut PartialRow, room: usize) -> usize;
    fn c_find_tweet_rows(doc: *const livebuf_doc, id: i64) -> Span;
    fn c_prepare_rows();
    fn c_top_tweet_keys(doc: *const livebuf_doc, most: i64, top: *mut TopRow) -> bool;
    fn c_partial_tweets_keys(doc: *const livebuf_doc, out: *mut PartialRow, room: usize) -> usize;
    fn c_find_tweet_keys(doc: *const livebuf_doc, id: i64) -> Span;
    fn c_set_other_text(doc: *mut livebuf_doc, times: usize) -> c_int;
    fn c_build_literal(
        buffer: *mut u8,
        capacity: usize,
        keys: *const *const c_char,
        length: *mut usize,
    ) -> c_int;
    fn c_build_literal_at_once(
        buffer: *mut u8,
        capacity: usize,
        keys: *const *const c_char,
        length: *mut usize,
    ) -> c_int;
}

#[cfg(lite3)]
mod lite3 {
    use super::{PartialRow, Span, TopRow};
    use livebuf_c::document::livebuf_doc;
    use std::ffi::{c_char, c_int};

    #[repr(C)]
    pub(super) struct Buffer(std::cell::UnsafeCell<[usize; 3]>);

    unsafe extern "C" {
        pub(super) fn lite3_make(doc: *const livebuf_doc, capacity: usize) -> *mut Buffer;
        pub(super) fn lite3_get_literal(from: *const Buffer, times: usize) -> i64;
        pub(super) fn lite3_set_literal(from: *mut Buffer, times: usize) -> c_int;
        pub(super) fn lite3_set_text(from: *mut Buffer, times: usize) -> c_int;
        pub(super) fn lite3_set_other_text(from: *mut Buffer, times: usize) -> c_int;
        pub(super) fn lite3_event_is(from: *const Buffer, text: *const c_char) -> bool;
        pub(super) fn lite3_get_row(from: *const Buffer, times: usize) -> i64;
        pub(super) fn lite3_sum_rows(from: *const Buffer) -> i64;
        pub(super) fn lite3_top_tweet(from: *const Buffer, most: i64, top: *mut TopRow) -> bool;
        pub(super) fn lite3_partial_tweets(
            from: *const Buffer,
            out: *mut PartialRow,
            room: usize,
        ) -> usize;
        pub(super) fn lite3_find_tweet(from: *const Buffer, id: i64) -> Span;
        pub(super) fn lite3_build(buffer: *mut u8, capacity: usize, length: *mut usize) -> c_int;
    }
}

/// A document for C that is there for as long as the program runs.
fn reader(document: DocBuf) -> Result<*const livebuf_doc> {
    let bytes = Box::leak(Box::new(document)).as_bytes();
    let doc = Box::leak(Box::new(MaybeUninit::uninit()));
    // SAFETY: the bytes are there for ever, and so is the variable.
    let status = unsafe { livebuf_read(doc.as_mut_ptr(), bytes.as_ptr(), bytes.len()) };
    ensure!(status == 0, "status {status}");
    Ok(doc.as_ptr())
}

/// One line: LiveBuf, and Lite³ where it is there.
pub(crate) fn row(
    name: &str,
    operations: usize,
    mut livebuf: impl FnMut(),
    lite3: Option<&mut dyn FnMut()>,
) {
    let task = format!("c/{name}");
    if !results::wanted(&task) {
        return;
    }
    match lite3 {
        Some(other) => {
            let [ours, theirs] = contest(operations, livebuf, other);
            println!("| {name} | {:.1} | {:.1} | {:.2} |", ours[0], theirs[0], ours[0] / theirs[0]);
            results::add(&task, &[("livebuf", &ours), ("Lite³", &theirs)]);
        }
        None => {
            let [ours, _] = contest(operations, &mut livebuf, || ());
            println!("| {name} | {:.1} | – | – |", ours[0]);
            results::add(&task, &[("livebuf", &ours)]);
        }
    }
}

#[cfg(lite3)]
macro_rules! theirs {
    ($work:expr) => {
        Some(&mut || {
            let _ = black_box($work);
        })
    };
}
#[cfg(not(lite3))]
macro_rules! theirs {
    ($work:expr) => {
        None
    };
}
pub(crate) use theirs;

const ROWS: i64 = 524_288;

pub(crate) fn run(json: Option<&[u8]>) -> Result<()> {
    println!("\n| by rows, literal keys | LiveBuf, ns | Lite³, ns | ratio |\n|---|---|---|---|");
    // SAFETY (all calls below): documents that were opened, and room as said.
    unsafe {
        small()?;
        sum()?;
        match json {
            Some(json) => twitter(json),
            None => Ok(()),
        }
    }
}

unsafe fn small() -> Result<()> {
    let mut buffers = vec![[0xA5_u8; 256]; 32];
    let mut length = 0;
    type Build = unsafe extern "C" fn(*mut u8, usize, *const *const c_char, *mut usize) -> c_int;
    let builds: [(&str, Build); 2] = [
        ("message of three fields, three calls", c_build_literal),
        ("the same, livebuf_fields", c_build_literal_at_once),
    ];
    #[cfg(lite3)]
    let mut others = vec![[[0xA5_u8; 256]; 4]; 32];
    for (name, build) in builds {
        let mut message = [0xA5_u8; 256];
        // SAFETY: each buffer has as many bytes as the call is told.
        let status = unsafe { build(message.as_mut_ptr(), 256, std::ptr::null(), &raw mut length) };
        ensure!(status == 0);
        stamp::check(&message)?;
        let ours = || {
            for buffer in &mut buffers {
                let mut length = 0;
                // SAFETY: each buffer has as many bytes as the call is told.
                unsafe { build(buffer.as_mut_ptr(), 256, std::ptr::null(), &raw mut length) };
                black_box(length);
            }
        };
        row(
            name,
            32,
            ours,
            theirs!({
                for buffer in &mut others {
                    let mut length = 0;
                    // SAFETY: each buffer has as many bytes as the call is told.
                    unsafe {
                        lite3::lite3_build(buffer.as_mut_ptr().cast(), 1024, &raw mut length)
                    };
                    black_box(length);
                }
            }),
        );
    }
    let mut buffer = [0_u8; 256];
    // SAFETY: each buffer has as many bytes as the call is told.
    unsafe {
        ensure!(c_build_literal(buffer.as_mut_ptr(), 256, std::ptr::null(), &raw mut length) == 0);
        let mut doc = MaybeUninit::<livebuf_doc>::uninit();
        ensure!(livebuf_open(doc.as_mut_ptr(), buffer.as_mut_ptr(), length, 256) == 0);
        let doc = doc.as_mut_ptr();
        // As the program that made the document has it: text is written in place.
        ensure!(livebuf_validate(doc) == 0);
        #[cfg(lite3)]
        let other = lite3::lite3_make(doc, 4096);
        #[cfg(lite3)]
        ensure!(!other.is_null() && lite3::lite3_get_literal(other, 1) == 55);
        ensure!(c_get_literal(doc, 1) == 55);
        row(
            "get an i64 of a record",
            TIMES,
            || {
                black_box(c_get_literal(doc, TIMES));
            },
            theirs!(lite3::lite3_get_literal(other, TIMES)),
        );
        ensure!(c_set_literal(doc, 8) == 0 && c_get_literal(doc, 1) == 7);
        ensure!(c_set_text(doc, 1) == 0 && c_event_is(doc, c"lap_finished".as_ptr()));
        #[cfg(lite3)]
        {
            ensure!(lite3::lite3_set_literal(other, 8) == 0);
            ensure!(lite3::lite3_get_literal(other, 1) == 7);
            ensure!(lite3::lite3_set_text(other, 1) == 0);
            ensure!(lite3::lite3_event_is(other, c"lap_finished".as_ptr()));
        }
        row(
            "set an i64 over an i64",
            TIMES,
            || {
                black_box(c_set_literal(doc, TIMES));
            },
            theirs!(lite3::lite3_set_literal(other, TIMES)),
        );
        row(
            "set text of the same length",
            TIMES,
            || {
                black_box(c_set_text(doc, TIMES));
            },
            theirs!(lite3::lite3_set_text(other, TIMES)),
        );
        ensure!(c_set_text(doc, TIMES) == 0, "an edit of text failed while it was timed");
        ensure!(c_set_other_text(doc, 1) == 0 && c_event_is(doc, c"the_lap_is_over".as_ptr()));
        #[cfg(lite3)]
        {
            ensure!(lite3::lite3_set_other_text(other, 1) == 0);
            ensure!(lite3::lite3_event_is(other, c"the_lap_is_over".as_ptr()));
        }
        row(
            "set text of another length",
            TIMES,
            || {
                black_box(c_set_other_text(doc, TIMES));
            },
            theirs!(lite3::lite3_set_other_text(other, TIMES)),
        );
        ensure!(c_set_other_text(doc, TIMES) == 0, "an edit of text failed while it was timed");
    }
    Ok(())
}

const GET_ROW: &str = "get an i64 of a table's row";
const SUM_ROWS: &str = "sum three fields of a row, of 524,288";

unsafe fn sum() -> Result<()> {
    // The documents are large.
    if ![GET_ROW, SUM_ROWS].iter().any(|name| results::wanted(&format!("c/{name}"))) {
        return Ok(());
    }
    let mut json = Vec::from("[");
    for at in 0..ROWS {
        let (x, y, z) = (at % 1000, at * 7 % 100_000, at * 31 % 10_007);
        json.extend_from_slice(format!("{{\"x\":{x},\"y\":{y},\"z\":{z}}},").as_bytes());
    }
    json.pop();
    json.push(b']');
    let doc = reader(livebuf_json::from_slice(&json)?)?;
    let expected = (0..ROWS).map(|at| at % 1000 + at * 7 % 100_000 + at * 31 % 10_007).sum::<i64>();
    // SAFETY: an open document.
    unsafe {
        ensure!(c_sum_rows(doc) == expected && c_get_row(doc, 1) == 7);
        #[cfg(lite3)]
        let other = lite3::lite3_make(doc, 512 << 20);
        #[cfg(lite3)]
        ensure!(!other.is_null() && lite3::lite3_sum_rows(other) == expected);
        #[cfg(lite3)]
        ensure!(lite3::lite3_get_row(other, 1) == 7);
        row(
            GET_ROW,
            TIMES,
            || {
                black_box(c_get_row(doc, TIMES));
            },
            theirs!(lite3::lite3_get_row(other, TIMES)),
        );
        row(
            SUM_ROWS,
            ROWS as usize,
            || {
                black_box(c_sum_rows(doc));
            },
            theirs!(lite3::lite3_sum_rows(other)),
        );
    }
    Ok(())
}

unsafe fn twitter(json: &[u8]) -> Result<()> {
    let (most, id) = (MOST as i64, FIND_ID as i64);
    let doc = reader(livebuf_json::from_slice(json)?)?;
    let none = || TopRow { text: Span::NONE, screen_name: Span::NONE, retweet_count: 0 };
    let mut top = none();
    let mut partial = [PartialRow { texts: [Span::NONE; 3], numbers: [0; 5] }; 200];
    // SAFETY: an open document, and room as said.
    unsafe {
        ensure!(c_top_tweet_rows(doc, most, &raw mut top) && !top.text.bytes().is_empty());
        ensure!(c_partial_tweets_rows(doc, partial.as_mut_ptr(), 200) == 100);
        let found = c_find_tweet_rows(doc, id);
        ensure!(!found.bytes().is_empty());
        #[cfg(lite3)]
        let other = lite3::lite3_make(doc, 16 << 20);
        #[cfg(lite3)]
        let mut their_partial = partial;
        #[cfg(lite3)]
        let mut their_top = none();
        #[cfg(lite3)]
        {
            ensure!(!other.is_null());
            ensure!(lite3::lite3_top_tweet(other, most, &raw mut their_top));
            ensure!(top.text.bytes() == their_top.text.bytes());
            ensure!(top.screen_name.bytes() == their_top.screen_name.bytes());
            ensure!(top.retweet_count == their_top.retweet_count);
            let count = lite3::lite3_partial_tweets(other, their_partial.as_mut_ptr(), 200);
            ensure!(count == 100);
            for (ours, theirs) in partial.iter().zip(&their_partial) {
                ensure!(ours.numbers == theirs.numbers);
                let mut texts = ours.texts.iter().zip(&theirs.texts);
                ensure!(texts.all(|(ours, theirs)| ours.bytes() == theirs.bytes()));
            }
            let text = lite3::lite3_find_tweet(other, id);
            ensure!(text.bytes() == found.bytes());
        }
        found.bytes().first().context("text")?;
        row(
            "twitter: top tweet",
            1,
            || {
                black_box(c_top_tweet_rows(doc, black_box(most), &raw mut top));
            },
            theirs!(lite3::lite3_top_tweet(other, black_box(most), &raw mut their_top)),
        );
        row(
            "twitter: partial tweets",
            1,
            || {
                black_box(c_partial_tweets_rows(doc, partial.as_mut_ptr(), 200));
            },
            theirs!(lite3::lite3_partial_tweets(other, their_partial.as_mut_ptr(), 200)),
        );
        row(
            "twitter: find a tweet",
            1,
            || {
                black_box(c_find_tweet_rows(doc, black_box(id)));
            },
            theirs!(lite3::lite3_find_tweet(other, black_box(id))),
        );
        c_prepare_rows();
        let (text, name, numbers) = (top.text, top.screen_name, partial[0].numbers);
        ensure!(c_top_tweet_keys(doc, most, &raw mut top));
        ensure!(top.text.bytes() == text.bytes() && top.screen_name.bytes() == name.bytes());
        partial[0].numbers = [0; 5];
        ensure!(c_partial_tweets_keys(doc, partial.as_mut_ptr(), 200) == 100);
        ensure!(partial[0].numbers == numbers);
        ensure!(c_find_tweet_keys(doc, id).bytes() == found.bytes());
        row(
            "twitter: top tweet, remembered keys",
            1,
            || {
                black_box(c_top_tweet_keys(doc, black_box(most), &raw mut top));
            },
            theirs!(lite3::lite3_top_tweet(other, black_box(most), &raw mut their_top)),
        );
        row(
            "twitter: partial tweets, remembered keys",
            1,
            || {
                black_box(c_partial_tweets_keys(doc, partial.as_mut_ptr(), 200));
            },
            theirs!(lite3::lite3_partial_tweets(other, their_partial.as_mut_ptr(), 200)),
        );
        row(
            "twitter: find a tweet, remembered keys",
            1,
            || {
                black_box(c_find_tweet_keys(doc, black_box(id)));
            },
            theirs!(lite3::lite3_find_tweet(other, black_box(id))),
        );
    }
    Ok(())
}
