//! Owns queries: JSONPath on a table within `twitter.json` and on a table of half a million rows,
//! against jsonpath-rust on serde_json's tree. All queries are compiled before.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use livebuf::{Doc, DocBuf, Encoder, Valid};
use livebuf_query::Query;
use serde_json::Value as Json;

use crate::data;
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

const TWITTER: &str = "$.statuses[?@.retweet_count > 100].id";
const TWITTER_TARGET: f64 = 3_000.0;
/// Other shapes of queries: a scan of text, further conditions, and no scan at all.
const OTHERS: [&str; 4] = [
    "$.statuses[?@.lang == 'ja' && @.user.followers_count > 500].user.name",
    "$.statuses[*].user.screen_name",
    "$..hashtags[*].text",
    "$.statuses[?search(@.text, '[0-9]{3}')].id_str",
];
const ROWS: usize = 524_288;
const ROWS_TARGET: f64 = 8_000_000.0;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    let twitter = data::sample("twitter")?;
    let document = livebuf_json::from_slice(&twitter.json)?;
    compare(TWITTER, "twitter", &document, &twitter.value, TWITTER_TARGET, effort, report)?;
    for query in OTHERS {
        compare(query, "twitter", &document, &twitter.value, f64::NAN, effort, report)?;
    }
    rows(effort, report)
}

fn rows(effort: Effort, report: &mut Report) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut encoder = Encoder::new();
    let mut tree = Vec::with_capacity(ROWS);
    encoder.begin_array()?;
    for _ in 0..ROWS {
        let (x, y) = (random.f64(), random.f64());
        encoder.begin_object()?;
        for (key, value) in [("x", x), ("y", y)] {
            encoder.key(key)?;
            encoder.f64(value)?;
        }
        encoder.end_object()?;
        tree.push(serde_json::json!({"x": x, "y": y}));
    }
    encoder.end_array()?;
    let (document, tree) = (encoder.finish()?, Json::Array(tree));
    compare("$[?@.x > 0.5].y", "524,288 rows", &document, &tree, ROWS_TARGET, effort, report)
}

fn ours(query: &Query, document: Doc<'_, Valid>) -> Result<Vec<Json>> {
    query.values(document).map(|value| data::to_json(value?.checked())).collect()
}

fn theirs<'t>(query: &JpQuery, tree: &'t Json) -> Result<Vec<&'t Json>> {
    Ok(js_path_process(query, tree)?.into_iter().map(|found| found.val()).collect())
}

/// One query of both; no target where `most` is no number.
fn compare(
    text: &str,
    place: &str,
    document: &DocBuf,
    tree: &Json,
    most: f64,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let query = Query::parse(text)?;
    let peer = parse_json_path(text)?;
    let valid = document.valid().context("trusted")?;
    let (found, expected) = (ours(&query, valid)?, theirs(&peer, tree)?);
    ensure!(!found.is_empty(), "{text} finds nothing");
    ensure!(found.iter().eq(expected), "{text}: jsonpath-rust finds other values");
    let count = found.len();
    drop(found);

    let mut contest = Contest::new();
    let values =
        contest.add("livebuf", 1, || query.values(black_box(valid)).map(black_box).count());
    let placed = contest
        .add("livebuf, with places", 1, || query.find(black_box(valid)).map(black_box).count());
    let opened = contest.add("livebuf, not validated", 1, || {
        query.values(black_box(document)).map(black_box).count()
    });
    let compiling = contest.add("livebuf, compiling", 1, || Query::parse(black_box(text)));
    let peer = contest.add("jsonpath-rust on a tree", 1, || {
        theirs(&peer, black_box(tree)).map(|found| found.len())
    });
    let outcome = contest.run(effort);
    report.times(format!("query/{text} of {place}"), &outcome);
    let took = |place| duration(outcome.nanoseconds(place));
    report.add(
        format!("query/{text} of {place}"),
        Measured::Nanoseconds(outcome.nanoseconds(values)),
        if most.is_nan() { Target::None } else { Target::AtMost(most) },
        format!(
            "{count} values; with places {}, not validated {}, compiling {}; jsonpath-rust on a tree {}",
            took(placed),
            took(opened),
            took(compiling),
            took(peer),
        ),
    );
    Ok(())
}
