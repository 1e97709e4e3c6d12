//! Owns JSON lines to Arrow: through a document, against `arrow-json`'s reader with the
//! same schema and batches of the same rows. Both give equal record batches.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::ptr;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use arrow_array::RecordBatch;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema;
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use livebuf_arrow::{ArrowSchema, ExportOptions, Exporter};
use livebuf_json::ReadOptions;

use crate::data;
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

/// Rows of a batch.
const ROWS: usize = 8192;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    compare("coordinates", &coordinates(), effort, report)?;
    if data::directory().is_dir() {
        compare("tweets", &tweets()?, effort, report)?;
    } else {
        report.skip(format!("arrow/tweets: no data directory {}", data::directory().display()));
    }
    Ok(())
}

/// Flat objects: three floats, a text and an integer.
fn coordinates() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(3);
    let mut lines = String::new();
    for id in 0..100_000 {
        let [x, y, z] = [(); 3].map(|()| random.f64());
        let name: String = (0..10).map(|_| random.lowercase()).collect();
        lines += &format!(r#"{{"id":{id},"x":{x:?},"y":{y:?},"z":{z:?},"name":"{name}"}}"#);
        lines.push('\n');
    }
    lines.into_bytes()
}

/// The tweets of twitter.json, forty times: nested objects and lists, missing fields.
fn tweets() -> Result<Vec<u8>> {
    let sample = data::sample("twitter")?;
    let tweets = sample.value["statuses"].as_array().context("no statuses")?;
    let mut lines = Vec::new();
    for tweet in tweets.iter().cycle().take(40 * tweets.len()) {
        serde_json::to_writer(&mut lines, tweet)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn compare(name: &str, lines: &[u8], effort: Effort, report: &mut Report) -> Result<()> {
    let (schema, _) = infer_json_schema(lines, None)?;
    let schema = Arc::new(schema);
    let ours = through_document(lines, &schema)?;
    ensure!(ours == directly(lines, &schema)?, "{name}: other record batches");
    let mut contest = Contest::new();
    let document = contest.add("livebuf", 1, || through_document(black_box(lines), &schema));
    let direct = contest.add("arrow-json", 1, || directly(black_box(lines), &schema));
    let outcome = contest.run(effort);
    report.times(format!("arrow/lines of {name}"), &outcome);
    report.add(
        format!("arrow/lines of {name}"),
        Measured::Ratio(outcome.ratio(document, direct)),
        Target::AtMost(1.5),
        format!(
            "{} rows, {} kB: through a document {}, arrow-json {}",
            ours.iter().map(RecordBatch::num_rows).sum::<usize>(),
            lines.len() / 1000,
            duration(outcome.nanoseconds(document)),
            duration(outcome.nanoseconds(direct))
        ),
    );
    Ok(())
}

fn directly(lines: &[u8], schema: &SchemaRef) -> Result<Vec<RecordBatch>> {
    let reader = ReaderBuilder::new(schema.clone()).with_batch_size(ROWS).build(lines)?;
    Ok(reader.collect::<Result<_, _>>()?)
}

fn through_document(lines: &[u8], schema: &SchemaRef) -> Result<Vec<RecordBatch>> {
    let document = livebuf_json::from_lines(lines, &ReadOptions::new())?;
    let mut requested = FFI_ArrowSchema::try_from(schema.as_ref())?;
    // SAFETY: the structure is Arrow's, of the same layout, and moved away.
    let requested = unsafe { ArrowSchema::take(ptr::from_mut(&mut requested).cast()) };
    let stream = Exporter::new(Arc::new(document))?
        .options(ExportOptions::new().batch_rows(ROWS))
        .requested_schema(&requested)?
        .stream()?;
    let mut theirs = FFI_ArrowArrayStream::empty();
    // SAFETY: both are the C Stream Interface's structure.
    unsafe { stream.give((&raw mut theirs).cast()) };
    Ok(RecordBatchStreamReader::try_new(theirs)?.collect::<Result<_, _>>()?)
}
