//! Owns deltas: the bytes of one of a set integer, of pushed tweets, and what applying one costs
//! against encoding the document anew.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use livebuf::{Delta, DocBuf, Editor, New, Recorder, State, VecStorage};

use crate::data;
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

/// Bytes of the delta of one set integer.
const SET_TARGET: f64 = 72.0;
/// Bytes of the delta of a pushed tweet, to those of the tweet as a document.
const PUSH_TARGET: f64 = 3.0;
/// How many times faster than `compact` a delta is applied.
const APPLY_TARGET: f64 = 100.0;
/// Tweets that are pushed.
const PUSHES: usize = 100;

fn recorded(document: &DocBuf) -> Result<DocBuf> {
    let storage = VecStorage::from_slice(document.as_bytes())?;
    let mut recorded = Editor::open_unvalidated(storage)?;
    recorded.validate()?;
    recorded.set_state(State::random())?;
    Ok(recorded)
}

/// The delta of an edit, which makes a copy of the base equal.
fn made(
    document: &mut DocBuf,
    edit: impl FnOnce(&mut DocBuf) -> livebuf::Result<()>,
) -> Result<Delta> {
    let mut copy = DocBuf::from_bytes_unvalidated(document.as_bytes())?;
    document.listen(Recorder::with_old(document.as_bytes()));
    edit(document)?;
    let recorder = document.stop_listening().context("recorded")?;
    let delta = Delta::make(document, recorder)?;
    let sent = delta.without_old().to_bytes();
    Delta::from_bytes(&sent)?.apply(&mut copy)?;
    ensure!(copy.as_bytes() == document.as_bytes(), "the copy differs");
    Ok(delta)
}

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    let sample = data::sample("twitter")?;
    let twitter = livebuf_json::from_slice(&sample.json)?;
    let mut document = recorded(&twitter)?;
    let mut size = |name: &str, pointer: &str| -> Result<()> {
        let delta = made(&mut document, |doc| doc.set_pointer(pointer, 12_345).map(drop))?;
        let (with_old, plain) = (delta.to_bytes().len(), delta.without_old().to_bytes().len());
        report.add(
            format!("delta/bytes of one set integer of twitter, {name}"),
            Measured::Bytes(plain as f64),
            Target::AtMost(SET_TARGET),
            format!("{pointer}; {with_old} with old bytes"),
        );
        Ok(())
    };
    size("in a table", "/statuses/50/retweet_count")?;
    size("in a record", "/search_metadata/count")?;

    pushes(&twitter, &sample.value, report)?;
    applying(&twitter, effort, report)
}

/// Pushes tweets of the file into its table.
fn pushes(twitter: &DocBuf, value: &serde_json::Value, report: &mut Report) -> Result<()> {
    let mut document = recorded(twitter)?;
    let statuses = value["statuses"].as_array().context("no tweets")?;
    let (mut ratios, mut moved) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for tweet in statuses.iter().cycle().take(PUSHES) {
        let tweet = livebuf_json::from_slice(&serde_json::to_vec(tweet)?)?;
        let before = document.as_bytes().len();
        let list = document.find("/statuses")?.context("no list")?;
        let delta = made(&mut document, |doc| doc.push(list, New::from(&tweet)).map(drop))?;
        let sent = delta.without_old().to_bytes().len();
        let ratio = sent as f64 / tweet.as_bytes().len() as f64;
        bytes += sent;
        // Whole columns move where they have no room: then the document grows by them.
        if document.as_bytes().len() > before + 4 * tweet.as_bytes().len() {
            moved.push(ratio);
        }
        ratios.push(ratio);
        document.validate()?;
    }
    ratios.sort_by(f64::total_cmp);
    let (median, most) = (ratios[PUSHES / 2], ratios[PUSHES - 1]);
    report.add(
        "delta/median of 100 pushed tweets, to their bytes as documents",
        Measured::Ratio(median),
        Target::AtMost(PUSH_TARGET),
        format!(
            "the largest {most:.1}; {} that moved whole columns; {bytes} bytes in all",
            moved.len()
        ),
    );
    Ok(())
}

fn applying(twitter: &DocBuf, effort: Effort, report: &mut Report) -> Result<()> {
    let mut document = recorded(twitter)?;
    let mut copy = DocBuf::open(document.as_bytes())?;
    let set = |doc: &mut DocBuf| doc.set_pointer("/statuses/50/retweet_count", 77).map(drop);
    let delta = made(&mut document, set)?;
    let back = delta.invert()?;
    let bytes = [delta.to_bytes(), back.to_bytes()];
    let mut compact = twitter.clone();
    let mut contest = Contest::new();
    let applied = contest.add("livebuf", 2, || -> Result<()> {
        for bytes in &bytes {
            Delta::from_bytes(black_box(bytes))?.apply(&mut copy)?;
        }
        Ok(())
    });
    let compacted = contest.add("livebuf, compact", 1, || compact.compact());
    let outcome = contest.run(effort);
    report.times("delta/apply, compact", &outcome);
    report.add(
        "delta/reading and applying one, to compact",
        Measured::Faster(1.0 / outcome.ratio(applied, compacted)),
        Target::AtLeast(APPLY_TARGET),
        format!(
            "{}; compact {}",
            duration(outcome.nanoseconds(applied)),
            duration(outcome.nanoseconds(compacted))
        ),
    );
    Ok(())
}
