//! Owns tables: a scan of many objects against plain vectors.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use livebuf::{Encoder, Table, Valid, Value};

use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

/// Objects of Kostya's benchmark, as its public `generate_json.rb` makes them: three random
/// coordinates, a name of six letters and a number, and a small object of options.
const COORDINATES: usize = 524_288;
/// Sensors' readings as JavaScript prints them: whole values without a point.
const READINGS: usize = 200_000;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    coordinates(effort, report)?;
    readings(effort, report)
}

fn coordinates(effort: Effort, report: &mut Report) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut columns: [Vec<f64>; 3] = [const { Vec::new() }; 3];
    let mut encoder = Encoder::new();
    encoder.begin_object()?;
    encoder.key("coordinates")?;
    encoder.begin_array()?;
    let mut compact = 0;
    for _ in 0..COORDINATES {
        encoder.begin_object()?;
        for (key, column) in ["x", "y", "z"].into_iter().zip(&mut columns) {
            let value = random.f64();
            column.push(value);
            encoder.key(key)?;
            encoder.f64(value)?;
        }
        let letters: String = (0..6).map(|_| random.lowercase()).collect();
        let name = format!("{letters} {}", random.u32(0..10_000));
        encoder.key("name")?;
        encoder.str(&name)?;
        compact += name.len() + 100;
        encoder.key("opts")?;
        encoder.begin_object()?;
        encoder.key("1")?;
        encoder.begin_array()?;
        encoder.i64(1)?;
        encoder.bool(true)?;
        encoder.end_array()?;
        encoder.end_object()?;
        encoder.end_object()?;
    }
    encoder.end_array()?;
    encoder.key("info")?;
    encoder.str("some info")?;
    encoder.end_object()?;
    let document = encoder.finish()?;
    let root = document.valid().context("trusted")?.root();
    let size = document.as_bytes().len() as f64;
    report.add(
        "table/coordinates",
        Measured::Bytes(size),
        Target::AtMost(48e6),
        format!("{COORDINATES} objects, some {} MB as compact JSON", compact / 1_000_000),
    );

    let [x, y, z] = &columns;
    let plain =
        || -> f64 { black_box([x, y, z]).iter().map(|column| column.iter().sum::<f64>()).sum() };
    let expected = plain();
    ensure!(by_columns(root) == Some(expected), "by columns: another sum");
    let rows = by_rows(root).context("no sum by rows")?;
    ensure!((rows - expected).abs() < 1e-3, "by rows: another sum");
    let threads = by_rows_of(root, 2).context("no sum by threads")?;
    ensure!((threads - expected).abs() < 1e-3, "by threads: another sum");
    let mut contest = Contest::new();
    let reference = contest.add("three plain vectors", 1, plain);
    let columns = contest.add("livebuf, by columns", 1, || by_columns(black_box(root)));
    let rows = contest.add("livebuf, by rows", 1, || by_rows(black_box(root)));
    // By the clock on the wall: the others measure the time of their own thread.
    let by_threads = |threads| {
        move || {
            let start = Instant::now();
            black_box(by_rows_of(black_box(root), threads));
            start.elapsed()
        }
    };
    let one = contest.add_timed("livebuf, one thread (wall)", 1, by_threads(1));
    let two = contest.add_timed("livebuf, two threads (wall)", 1, by_threads(2));
    let outcome = contest.run(effort);
    report.times("table/sum", &outcome);
    let took = |place| duration(outcome.nanoseconds(place));
    for (name, place, target) in [("columns", columns, 1.5), ("rows", rows, 15.0)] {
        report.add(
            format!("table/sum by {name}"),
            Measured::Ratio(outcome.ratio(place, reference)),
            Target::AtMost(target),
            format!("{} for x, y and z, three plain vectors {}", took(place), took(reference)),
        );
    }
    report.add(
        "table/sum by rows, two threads",
        Measured::Ratio(outcome.ratio(two, one)),
        Target::AtMost(1.0 / 1.8),
        format!("{}, one thread {}; each has its part of the rows", took(two), took(one)),
    );
    Ok(())
}

/// The sum of measurements, of which some are whole and so integers.
fn readings(effort: Effort, report: &mut Report) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut plain = Vec::new();
    let mut encoder = Encoder::new();
    encoder.begin_array()?;
    for row in 0..READINGS as i64 {
        let half_degrees = random.i64(30..60);
        plain.push(half_degrees as f32 / 2.0);
        encoder.begin_object()?;
        encoder.key("t")?;
        encoder.i64(1_760_000_000_000 + 250 * row)?;
        encoder.key("v")?;
        match half_degrees % 2 {
            0 => encoder.i64(half_degrees / 2)?,
            _ => encoder.f64(half_degrees as f64 / 2.0)?,
        }
        encoder.end_object()?;
    }
    encoder.end_array()?;
    let document = encoder.finish()?;
    let root = document.valid().context("trusted")?.root();

    let by_column = || -> Option<f32> {
        let values = black_box(root).as_array()?.table()?.column("v")?;
        Some(values.as_slice::<f32>()?.iter().sum())
    };
    let by_vector = || black_box(&plain).iter().sum::<f32>();
    ensure!(by_column() == Some(by_vector()), "readings: another sum");
    let mut contest = Contest::new();
    let reference = contest.add("a plain vector", 1, by_vector);
    let column = contest.add("livebuf", 1, by_column);
    let outcome = contest.run(effort);
    report.times("table/sum of readings", &outcome);
    let took = |place| duration(outcome.nanoseconds(place));
    report.add(
        "table/sum of readings",
        Measured::Ratio(outcome.ratio(column, reference)),
        Target::AtMost(1.2),
        format!("{READINGS} values, {}; a plain vector of f32 {}", took(column), took(reference)),
    );
    Ok(())
}

/// The same sum, by threads that share the rows.
fn by_rows_of(root: Value<'_, Valid>, threads: usize) -> Option<f64> {
    let table = root.get("coordinates")?.as_array()?.table()?;
    let sum = |part: Table<'_, Valid>| -> Option<f64> {
        let first = part.row(0)?;
        let [x, y, z] = [first.bind("x")?, first.bind("y")?, first.bind("z")?];
        let mut sum = 0.0;
        for index in 0..part.rows() {
            let row = part.row(index)?;
            sum += row.get(&x)?.as_f64()? + row.get(&y)?.as_f64()? + row.get(&z)?.as_f64()?;
        }
        Some(sum)
    };
    thread::scope(|scope| {
        let parts: Vec<_> =
            table.split(threads).map(|part| scope.spawn(move || sum(part))).collect();
        parts.into_iter().map(|part| part.join().ok()?).sum()
    })
}

fn by_columns(root: Value<'_, Valid>) -> Option<f64> {
    let table = root.get("coordinates")?.as_array()?.table()?;
    ["x", "y", "z"]
        .into_iter()
        .map(|key| Some(table.column(key)?.as_slice::<f64>()?.iter().sum::<f64>()))
        .sum()
}

fn by_rows(root: Value<'_, Valid>) -> Option<f64> {
    let rows = root.get("coordinates")?.as_array()?;
    let first = rows.get(0)?.as_object()?;
    let [x, y, z] = [first.bind("x")?, first.bind("y")?, first.bind("z")?];
    let mut sum = 0.0;
    for row in rows {
        let row = row.as_object()?;
        sum += row.get(&x)?.as_f64()? + row.get(&y)?.as_f64()? + row.get(&z)?.as_f64()?;
    }
    Some(sum)
}
