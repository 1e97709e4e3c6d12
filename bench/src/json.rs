//! Owns JSON in and out: text to document against parsers building their trees,
//! document to text against serde_json printing its own tree, and the change of one number of what
//! is stored.
//!
//! simd-json parses in place, so every parser gets a copy of the text, which
//! does not count.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cpu_time::ThreadTime;
use livebuf::{Editor, VecStorage};

use crate::data::{self, Sample};
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort, Place, counted};
use crate::yyjson::{Document, Mutable};

/// Of simd-json parsing the same bytes into its borrowed tree: with tables, and without.
const PARSE_TARGET: f64 = 1.5;
const PARSE_PLAIN_TARGET: f64 = 1.0;
/// Of serde_json printing its own value.
const PRINT_TARGET: f64 = 0.67;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    for sample in data::samples()? {
        check(&sample)?;
        let is_asked = matches!(sample.name.as_str(), "twitter" | "citm_catalog");
        let target = |limit| if is_asked { Target::AtMost(limit) } else { Target::None };
        parse(&sample, true, target(PARSE_TARGET), effort, report);
        if is_asked {
            parse(&sample, false, target(PARSE_PLAIN_TARGET), effort, report);
        }
        print(&sample, target(PRINT_TARGET), effort, report)?;
        change(&sample, effort, report)?;
    }
    Ok(())
}

fn check(sample: &Sample) -> Result<()> {
    let name = &sample.name;
    let document = livebuf_json::from_slice(&sample.json)?;
    data::check(&sample.value, &document)?;
    let mut copy = sample.json.clone();
    let tree = simd_json::to_borrowed_value(&mut copy)?;
    ensure!(serde_json::to_value(&tree)? == sample.value, "simd-json reads {name} differently");
    let parsed = Document::parse(&sample.json).context("yyjson refuses the file")?;
    ensure!(parsed.root().to_json() == sample.value, "yyjson reads {name} differently");
    Ok(())
}

/// A parser's time for a fresh copy of the text, so that all find it equally
/// close and may write to it. Neither copying nor dropping the result counts.
fn time<'c, R>(json: &[u8], copy: &'c mut [u8], parse: impl FnOnce(&'c mut [u8]) -> R) -> Duration {
    copy.copy_from_slice(json);
    let start = ThreadTime::now();
    let result = black_box(counted(|| parse(black_box(copy))));
    let elapsed = start.elapsed();
    drop(result);
    elapsed
}

/// Parsers of one text in a contest.
pub(crate) struct Parsers {
    pub(crate) livebuf: Place,
    pub(crate) simd_json: Place,
    pub(crate) yyjson: Place,
}

impl Parsers {
    pub(crate) fn enter<'a>(contest: &mut Contest<'a>, json: &'a [u8], tables: bool) -> Parsers {
        let mut copy = json.to_vec();
        let options = livebuf_json::ReadOptions::new().tables(tables);
        let livebuf = contest.add_timed("livebuf", 1, move || {
            time(json, &mut copy, |text| livebuf_json::from_slice_with(text, &options))
        });
        let mut copy = json.to_vec();
        let simd_json = contest
            .add_timed("simd-json", 1, move || time(json, &mut copy, simd_json::to_borrowed_value));
        let mut copy = json.to_vec();
        let yyjson = contest
            .add_timed("yyjson", 1, move || time(json, &mut copy, |text| Document::parse(text)));
        Parsers { livebuf, simd_json, yyjson }
    }
}

fn parse(sample: &Sample, tables: bool, target: Target, effort: Effort, report: &mut Report) {
    let json = sample.json.as_slice();
    let mut contest = Contest::new();
    let Parsers { livebuf: ours, simd_json, yyjson } = Parsers::enter(&mut contest, json, tables);
    let mut copy = json.to_vec();
    let serde_json = contest.add_timed("serde_json", 1, move || {
        time(json, &mut copy, |text| serde_json::from_slice::<serde_json::Value>(text))
    });
    let outcome = contest.run(effort);
    report.times(
        format!("json/parse/{}{}", sample.name, if tables { "" } else { " without tables" }),
        &outcome,
    );
    let took = |place| duration(outcome.nanoseconds(place));
    report.add(
        format!("json/parse/{}{}", sample.name, if tables { "" } else { " without tables" }),
        Measured::Ratio(outcome.ratio(ours, simd_json)),
        target,
        format!(
            "to document {} ({:.0} MB/s), simd-json's tree {}; yyjson's {}, serde_json's {}",
            took(ours),
            json.len() as f64 / outcome.nanoseconds(ours) * 1e3,
            took(simd_json),
            took(yyjson),
            took(serde_json),
        ),
    );
}

fn print(sample: &Sample, target: Target, effort: Effort, report: &mut Report) -> Result<()> {
    let document = livebuf_json::from_slice(&sample.json)?;
    let root = document.valid().context("the document is not trusted")?.root();
    let value = &sample.value;
    let printed = livebuf_json::to_vec(root)?;
    ensure!(
        serde_json::from_slice::<serde_json::Value>(&printed)? == *value,
        "printing {} changes it",
        sample.name
    );
    let mut contest = Contest::new();
    let ours = contest.add_consuming("livebuf", 1, || root, livebuf_json::to_vec);
    let serde_json = contest.add_consuming("serde_json", 1, || value, serde_json::to_vec);
    let outcome = contest.run(effort);
    report.times(format!("json/print/{}", sample.name), &outcome);
    report.add(
        format!("json/print/{}", sample.name),
        Measured::Ratio(outcome.ratio(ours, serde_json)),
        target,
        format!(
            "document {} ({:.0} MB/s), serde_json's value {}",
            duration(outcome.nanoseconds(ours)),
            printed.len() as f64 / outcome.nanoseconds(ours) * 1e3,
            duration(outcome.nanoseconds(serde_json)),
        ),
    );
    Ok(())
}

/// The keys and indices of the last number without sign or fraction, as a JSON pointer.
fn last_number(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Object(members) => members.iter().rev().find_map(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            last_number(value).map(|rest| format!("/{key}{rest}"))
        }),
        serde_json::Value::Array(elements) => elements
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, value)| last_number(value).map(|rest| format!("/{at}{rest}"))),
        serde_json::Value::Number(number) => number.is_u64().then(String::new),
        _ => None,
    }
}

/// A number at the end of stored bytes or text becomes another one, and there are bytes or text
/// again. Copying the document counts, since the others leave what was stored as it is, too.
fn change(sample: &Sample, effort: Effort, report: &mut Report) -> Result<()> {
    let (name, json) = (&sample.name, sample.json.as_slice());
    let Some(pointer) = last_number(&sample.value) else { return Ok(()) };
    let steps: Vec<&str> = pointer.split('/').skip(1).collect();
    if steps.iter().any(|step| step.contains('~')) {
        return Ok(());
    }
    const NUMBER: u64 = 77;
    let stored = livebuf_json::from_slice(json)?.as_bytes().to_vec();
    let ours = || -> Result<Vec<u8>> {
        let mut editor = Editor::open_unvalidated(black_box(&stored).clone())?;
        editor.set_pointer(&pointer, NUMBER)?;
        Ok(editor.into_vec())
    };
    let serde_json = || -> Result<Vec<u8>> {
        let mut value: serde_json::Value = serde_json::from_slice(black_box(json))?;
        *value.pointer_mut(&pointer).context("no such place")? = NUMBER.into();
        Ok(serde_json::to_vec(&value)?)
    };
    let yyjson = || {
        let document = Document::parse(black_box(json))?;
        let mut mutable = Mutable::copy(&document)?;
        mutable.set(&steps, NUMBER).then(|| mutable.write())?
    };
    let expected: serde_json::Value = serde_json::from_slice(&serde_json()?)?;
    ensure!(expected != sample.value, "the number of {name} was {NUMBER} before");
    let document = Editor::open_unvalidated(VecStorage::from_slice(&ours()?)?)?;
    data::check(&expected, &document)?;
    let text = yyjson().context("yyjson cannot change it")?;
    let found: serde_json::Value = serde_json::from_slice(text.as_bytes())?;
    ensure!(found == expected, "yyjson changes {name} differently");

    let document = Document::parse(json).context("yyjson refuses the file")?;
    let mut kept = Mutable::copy(&document).context("no memory")?;
    let mut contest = Contest::new();
    contest.add("livebuf", 1, ours);
    contest.add("yyjson, mutable", 1, yyjson);
    contest.add("yyjson, mutable, in memory", 1, || {
        black_box(&mut kept).set(&steps, NUMBER).then(|| kept.write())
    });
    contest.add("serde_json", 1, serde_json);
    report.times(format!("json/change a number/{name}"), &contest.run(effort));
    Ok(())
}
