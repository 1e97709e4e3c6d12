//! Owns tables: a scan of many objects against plain vectors, and the list of like
//! objects of the data-definition paper against MessagePack.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use livebuf::{Encoder, Table, Valid, Value};
use serde::Serialize;

use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    scan(effort, report)?;
    for count in [10_000, 100_000, 500_000] {
        if count <= 100_000 || effort.largest_map > 100_000 {
            definition(count, false, effort, report)?;
            definition(count, true, effort, report)?;
        }
    }
    Ok(())
}

/// Objects of Kostya's benchmark, as its public `generate_json.rb` makes them: three random
/// coordinates, a name of six letters and a number, and a small object of options.
const COORDINATES: usize = 524_288;

fn scan(effort: Effort, report: &mut Report) -> Result<()> {
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

/// The object that the data-definition paper serializes.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Object {
    array_long: [i64; 2],
    only_int: i32,
    array_int: [i32; 2],
    title: String,
    array_string: Vec<String>,
    only_date: String,
    array_date: [String; 2],
    only_text: String,
    only_byte: u8,
    image_type: String,
    array_bool: [bool; 3],
    only_bool: bool,
    tags: Vec<String>,
}

impl Object {
    fn alike() -> Object {
        let date = "2017-12-21T01:28:59.1368455-06:00";
        Object {
            array_long: [i64::MIN, i64::MAX],
            only_int: 23,
            array_int: [i32::MIN, i32::MAX],
            title: "BSWS Test".into(),
            array_string: ["string1", "string2", "string3"].map(str::to_owned).into(),
            only_date: "2017-11-21T01:28:59.1308284-06:00".into(),
            array_date: [date; 2].map(str::to_owned),
            only_text: "This is a test object to be serialized/deserialized.".into(),
            only_byte: 1,
            image_type: "AQIDBA==".into(),
            array_bool: [true, false, true],
            only_bool: true,
            tags: Vec::new(),
        }
    }

    fn random(random: &mut fastrand::Rng) -> Object {
        let mut text =
            |length: usize| -> String { (0..length).map(|_| random.alphanumeric()).collect() };
        let (title, only_text, image_type) = (text(9), text(52), text(8));
        let array_string = vec![text(7), text(7), text(7)];
        let mut date = || {
            format!(
                "20{:02}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}-06:00",
                random.u8(0..99),
                random.u8(1..13),
                random.u8(1..29),
                random.u8(0..24),
                random.u8(0..60),
                random.u8(0..60),
                random.u32(0..10_000_000)
            )
        };
        let (only_date, array_date) = (date(), [date(), date()]);
        Object {
            array_long: [random.i64(..), random.i64(..)],
            only_int: random.i32(..),
            array_int: [random.i32(..), random.i32(..)],
            title,
            array_string,
            only_date,
            array_date,
            only_text,
            only_byte: random.u8(..),
            image_type,
            array_bool: [random.bool(), random.bool(), random.bool()],
            only_bool: random.bool(),
            tags: Vec::new(),
        }
    }
}

fn definition(count: usize, random: bool, effort: Effort, report: &mut Report) -> Result<()> {
    let mut generator = fastrand::Rng::with_seed(2);
    let objects: Vec<Object> = (0..count)
        .map(|_| if random { Object::random(&mut generator) } else { Object::alike() })
        .collect();
    let ours = livebuf::to_vec(&objects)?;
    let message_pack = rmp_serde::to_vec_named(&objects)?;
    let value: serde_json::Value = livebuf::from_slice(&ours)?;
    ensure!(value == serde_json::to_value(&objects)?, "the document's value is another");
    let (kind, target) = if random { ("random", 0.82) } else { ("alike", 0.35) };
    report.add(
        format!("table/{count} objects, {kind}"),
        Measured::Ratio(ours.len() as f64 / message_pack.len() as f64),
        Target::AtMost(target),
        format!("of MessagePack: {} B over {} B", ours.len(), message_pack.len()),
    );
    let mut contest = Contest::new();
    let ours = contest.add("livebuf", 1, || livebuf::to_doc(black_box(&objects)));
    let message_pack = contest.add("rmp-serde", 1, || rmp_serde::to_vec_named(black_box(&objects)));
    let outcome = contest.run(effort);
    report.times(format!("table/serialize {count} objects, {kind}"), &outcome);
    report.add(
        format!("table/serialize {count} objects, {kind}"),
        Measured::Ratio(outcome.ratio(ours, message_pack)),
        Target::AtMost(1.0),
        format!(
            "through serde {}, rmp-serde with field names {}",
            duration(outcome.nanoseconds(ours)),
            duration(outcome.nanoseconds(message_pack))
        ),
    );
    Ok(())
}
