//! Owns JSON in and out: text to document against parsers building their trees,
//! document to text against serde_json printing its own tree.
//!
//! simd-json parses in place, so its input is copied first; the copy does not
//! count. Dropping a result does not count for anyone.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::data::{self, Sample};
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};
use crate::yyjson::Document;

/// Of simd-json parsing the same bytes into its borrowed tree.
const PARSE_TARGET: f64 = 1.0;
/// Of serde_json printing its own value.
const PRINT_TARGET: f64 = 0.67;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    for sample in data::samples()? {
        check(&sample)?;
        let is_asked = matches!(sample.name.as_str(), "twitter" | "citm_catalog");
        let target = |limit| if is_asked { Target::AtMost(limit) } else { Target::None };
        parse(&sample, target(PARSE_TARGET), effort, report);
        print(&sample, target(PRINT_TARGET), effort, report)?;
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

/// The time simd-json takes for its borrowed tree; `copy` is overwritten.
pub(crate) fn time_simd_json(json: &[u8], copy: &mut [u8]) -> Duration {
    copy.copy_from_slice(json);
    let start = Instant::now();
    let tree = black_box(simd_json::to_borrowed_value(black_box(copy)));
    let elapsed = start.elapsed();
    drop(tree);
    elapsed
}

fn parse(sample: &Sample, target: Target, effort: Effort, report: &mut Report) {
    let json = sample.json.as_slice();
    let mut copy = json.to_vec();
    let mut contest = Contest::new();
    let ours = contest.add_consuming(1, || json, livebuf_json::from_slice);
    let simd_json = contest.add_timed(1, move || time_simd_json(json, &mut copy));
    let yyjson = contest.add_consuming(1, || json, Document::parse);
    let serde_json = contest.add_consuming(1, || json, serde_json::from_slice::<serde_json::Value>);
    let outcome = contest.run(effort);
    let time = |place| duration(outcome.nanoseconds(place));
    report.add(
        format!("json/parse/{}", sample.name),
        Measured::Ratio(outcome.ratio(ours, simd_json)),
        target,
        format!(
            "to document {} ({:.0} MB/s), simd-json's tree {}; yyjson's {}, serde_json's {}",
            time(ours),
            json.len() as f64 / outcome.nanoseconds(ours) * 1e3,
            time(simd_json),
            time(yyjson),
            time(serde_json),
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
    let ours = contest.add_consuming(1, || root, livebuf_json::to_vec);
    let serde_json = contest.add_consuming(1, || value, serde_json::to_vec);
    let outcome = contest.run(effort);
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
