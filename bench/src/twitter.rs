//! Owns the four tasks of simdjson's benchmark on twitter.json: our document
//! against a walk over trees that are already parsed, against parsing, and the
//! number of reads from which converting pays.
//!
//! As in simdjson's benchmark the result vector is reused, and sorting the
//! distinct ids belongs to checking the answer, not to the timed walk.

mod livebuf;
mod simd_json;
mod yyjson;

use std::hint::black_box;

use ::livebuf::Doc;
use anyhow::{Context as _, Result, ensure};

use crate::data::{self, Sample};
use crate::json::Parsers;
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};
use crate::yyjson::Document;

const FIND_ID: u64 = 505_874_901_689_851_904;
/// Against parsing, for every task.
const FASTER_THAN_PARSING: f64 = 60.0;
const MAX_RETWEET_COUNT: u64 = i32::MAX as u64;

#[derive(Debug, PartialEq)]
struct TopTweet<'a> {
    text: &'a str,
    screen_name: &'a str,
    retweet_count: u64,
}

#[derive(Debug, PartialEq)]
struct PartialTweet<'a> {
    created_at: &'a str,
    id: u64,
    text: &'a str,
    in_reply_to_status_id: u64,
    user: User<'a>,
    retweet_count: u64,
    favorite_count: u64,
}

#[derive(Debug, PartialEq)]
struct User<'a> {
    id: u64,
    screen_name: &'a str,
}

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    let sample = data::sample("twitter")?;
    let converted = livebuf_json::from_slice(&sample.json)?;
    data::check(&sample.value, &converted)?;
    let bytes = converted.as_bytes();
    let root = Doc::open(bytes)?.validate()?.root();
    let document = Document::parse(&sample.json).context("yyjson refuses the file")?;
    let parsed = document.root();
    let mut copy = sample.json.clone();
    let tree = &::simd_json::to_borrowed_value(&mut copy)?;

    check_same(
        "top_tweet",
        livebuf::top_tweet(root, MAX_RETWEET_COUNT),
        yyjson::top_tweet(parsed, MAX_RETWEET_COUNT),
        simd_json::top_tweet(tree, MAX_RETWEET_COUNT),
    )?;
    check_same(
        "partial_tweets",
        collect(|result| livebuf::partial_tweets(root, result)),
        collect(|result| yyjson::partial_tweets(parsed, result)),
        collect(|result| simd_json::partial_tweets(tree, result)),
    )?;
    check_same(
        "find_tweet",
        livebuf::find_tweet(root, FIND_ID),
        yyjson::find_tweet(parsed, FIND_ID),
        simd_json::find_tweet(tree, FIND_ID),
    )?;
    check_same(
        "distinct_user_id",
        collect(|result| livebuf::distinct_user_id(root, result)).map(distinct),
        collect(|result| yyjson::distinct_user_id(parsed, result)).map(distinct),
        collect(|result| simd_json::distinct_user_id(tree, result)).map(distinct),
    )?;

    let parsing = Parsing::measure(&sample, bytes, effort, report);
    parsing.report(report);

    let mut walks = Walks { effort, parsing: &parsing, report };
    walks.compare(
        "top_tweet",
        0.3,
        || livebuf::top_tweet(black_box(root), MAX_RETWEET_COUNT),
        || yyjson::top_tweet(black_box(parsed), MAX_RETWEET_COUNT),
        || simd_json::top_tweet(black_box(tree), MAX_RETWEET_COUNT),
    );
    walks.compare(
        "partial_tweets",
        0.6,
        refilling(|result| livebuf::partial_tweets(black_box(root), result)),
        refilling(|result| yyjson::partial_tweets(black_box(parsed), result)),
        refilling(|result| simd_json::partial_tweets(black_box(tree), result)),
    );
    walks.compare(
        "find_tweet",
        1.0,
        || livebuf::find_tweet(black_box(root), FIND_ID),
        || yyjson::find_tweet(black_box(parsed), FIND_ID),
        || simd_json::find_tweet(black_box(tree), FIND_ID),
    );
    check_same(
        "find_tweet by rows",
        livebuf::find_tweet_by_rows(root, FIND_ID),
        yyjson::find_tweet(parsed, FIND_ID),
        simd_json::find_tweet(tree, FIND_ID),
    )?;
    walks.compare(
        "find_tweet by rows",
        1.6,
        || livebuf::find_tweet_by_rows(black_box(root), FIND_ID),
        || yyjson::find_tweet(black_box(parsed), FIND_ID),
        || simd_json::find_tweet(black_box(tree), FIND_ID),
    );
    walks.compare(
        "distinct_user_id",
        0.75,
        refilling(|result| livebuf::distinct_user_id(black_box(root), result)),
        refilling(|result| yyjson::distinct_user_id(black_box(parsed), result)),
        refilling(|result| simd_json::distinct_user_id(black_box(tree), result)),
    );
    Ok(())
}

/// All three found the same, and something.
fn check_same<T: PartialEq>(
    task: &str,
    ours: Option<T>,
    yyjson: Option<T>,
    simd_json: Option<T>,
) -> Result<()> {
    ensure!(ours.is_some(), "{task}: no answer");
    ensure!(ours == yyjson, "{task}: livebuf and yyjson differ");
    ensure!(ours == simd_json, "{task}: livebuf and simd-json differ");
    Ok(())
}

/// The result of a task that fills a vector.
fn collect<T>(task: impl FnOnce(&mut Vec<T>) -> Option<()>) -> Option<Vec<T>> {
    let mut result = Vec::new();
    task(&mut result).map(|()| result)
}

/// The same as repeatable work: the vector keeps its capacity.
fn refilling<T>(mut task: impl FnMut(&mut Vec<T>) -> Option<()>) -> impl FnMut() {
    let mut result = Vec::new();
    move || {
        result.clear();
        black_box(task(&mut result));
        black_box(&result);
    }
}

fn distinct(mut ids: Vec<u64>) -> Vec<u64> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Nanoseconds to get from text to something that can be walked.
struct Parsing {
    convert: f64,
    validate: f64,
    yyjson: f64,
    simd_json: f64,
}

impl Parsing {
    fn measure(sample: &Sample, bytes: &[u8], effort: Effort, report: &mut Report) -> Parsing {
        let mut contest = Contest::new();
        let parsers = Parsers::enter(&mut contest, &sample.json, true);
        let validate = contest
            .add("livebuf, validate", 1, || Doc::open(black_box(bytes)).and_then(Doc::validate));
        let outcome = contest.run(effort);
        report.times("twitter/parse or validate", &outcome);
        Parsing {
            convert: outcome.nanoseconds(parsers.livebuf),
            validate: outcome.nanoseconds(validate),
            yyjson: outcome.nanoseconds(parsers.yyjson),
            simd_json: outcome.nanoseconds(parsers.simd_json),
        }
    }

    fn report(&self, report: &mut Report) {
        report.add(
            "twitter/validate",
            Measured::Nanoseconds(self.validate),
            Target::None,
            format!(
                "open and validate, once for all reads; converting {}, parsing: yyjson {}, simd-json {}",
                duration(self.convert),
                duration(self.yyjson),
                duration(self.simd_json),
            ),
        );
    }
}

/// Contests of reading tasks, beside what parsing takes.
struct Walks<'r> {
    effort: Effort,
    parsing: &'r Parsing,
    report: &'r mut Report,
}

impl Walks<'_> {
    fn compare<A, B, C>(
        &mut self,
        task: &str,
        target: f64,
        ours: impl FnMut() -> A,
        yyjson: impl FnMut() -> B,
        simd_json: impl FnMut() -> C,
    ) {
        let mut contest = Contest::new();
        let places = [
            contest.add("livebuf", 1, ours),
            contest.add("yyjson's tree", 1, yyjson),
            contest.add("simd-json's tree", 1, simd_json),
        ];
        let outcome = contest.run(self.effort);
        let (parsing, report) = (self.parsing, &mut *self.report);
        report.times(format!("twitter/{task}"), &outcome);
        let [ours, yyjson, simd_json] = places.map(|place| outcome.nanoseconds(place));
        report.add(
            format!("twitter/{task}"),
            Measured::Ratio(ours / yyjson),
            Target::AtMost(target),
            format!(
                "{}, walk over yyjson's tree {}, over simd-json's {}",
                duration(ours),
                duration(yyjson),
                duration(simd_json),
            ),
        );
        report.add(
            format!("twitter/{task} against parsing"),
            Measured::Faster(parsing.simd_json / ours),
            Target::AtLeast(FASTER_THAN_PARSING),
            format!(
                "{}, simd-json parsing its borrowed tree {}; {:.0} times faster than yyjson parsing, {}",
                duration(ours),
                duration(parsing.simd_json),
                parsing.yyjson / ours,
                duration(parsing.yyjson),
            ),
        );
        // Parsing anew each time costs parsing and a walk; converting once
        // saves both at every read and costs our read.
        let reads = |each: f64| parsing.convert / (each - ours);
        let each = parsing.simd_json + simd_json;
        report.add(
            format!("twitter/{task}: converting pays from"),
            Measured::Reads(reads(each)),
            Target::None,
            format!(
                "converting {} and then {} a read, against parsing with simd-json and walking, {} a read; \
                 against yyjson from {:.2} reads",
                duration(parsing.convert),
                duration(ours),
                duration(each),
                reads(parsing.yyjson + yyjson),
            ),
        );
    }
}
