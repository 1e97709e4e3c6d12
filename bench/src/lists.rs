//! Owns the lists of the data-definition paper: 10,000 to 500,000 objects, all the same or
//! random. Bytes, serializing and deserializing, as they are and compressed; structs that take two
//! fields and ignore the others; and reading by threads that share the rows.

use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use livebuf::{Doc, Table, Valid};
use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort, Entry};

/// Of a quick run, of those whose compression is timed, and of all.
const COUNTS: [usize; 3] = [10_000, 100_000, 500_000];
const COMPRESSED: usize = 100_000;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    for count in COUNTS {
        if count <= 10_000 || effort.largest_map > 100_000 {
            list(count, false, effort, report)?;
            list(count, true, effort, report)?;
        }
    }
    Ok(())
}

/// The object that the data-definition paper serializes.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "peers", derive(wincode::SchemaWrite, wincode::SchemaRead))]
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

/// What a program takes that wants two fields only.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Few {
    only_int: i32,
    title: String,
}

impl From<&Object> for Few {
    fn from(object: &Object) -> Self {
        Few { only_int: object.only_int, title: object.title.clone() }
    }
}

/// A way to compress bytes, and back.
struct Codec {
    name: &'static str,
    pack: fn(&[u8]) -> Result<Vec<u8>>,
    unpack: fn(&[u8]) -> Result<Vec<u8>>,
}

const CODECS: [Codec; 3] = [
    Codec {
        name: "deflate-6",
        pack: |bytes| {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
            encoder.write_all(bytes)?;
            Ok(encoder.finish()?)
        },
        unpack: |packed| {
            let mut bytes = Vec::new();
            DeflateDecoder::new(packed).read_to_end(&mut bytes)?;
            Ok(bytes)
        },
    },
    Codec {
        name: "zstd-3",
        pack: |bytes| Ok(zstd::bulk::compress(bytes, 3)?),
        unpack: |packed| Ok(zstd::stream::decode_all(packed)?),
    },
    Codec {
        name: "lz4",
        pack: |bytes| Ok(lz4_flex::compress_prepend_size(bytes)),
        unpack: |packed| Ok(lz4_flex::decompress_size_prepended(packed)?),
    },
];

fn formats() -> Vec<Format<Vec<Object>>> {
    let formats = vec![
        Format::new(
            "livebuf",
            |objects| Ok(livebuf::to_vec(objects)?),
            |bytes| Ok(livebuf::from_slice(bytes)?),
        ),
        crate::format::rmp_serde_with_names(),
        crate::format::serde_json(),
    ];
    #[cfg(feature = "peers")]
    let formats = [formats, vec![crate::peers::postcard(), crate::peers::wincode()]];
    #[cfg(feature = "peers")]
    let formats = formats.into_iter().flatten().collect();
    formats
}

fn list(count: usize, random: bool, effort: Effort, report: &mut Report) -> Result<()> {
    let mut generator = fastrand::Rng::with_seed(2);
    let objects: &Vec<Object> = &(0..count)
        .map(|_| if random { Object::random(&mut generator) } else { Object::alike() })
        .collect();
    let kind = if random { "random" } else { "alike" };
    let family = format!("lists/{count} {kind}");

    let formats = &formats();
    let mut packed = Vec::new();
    for format in formats {
        let bytes = (format.pack)(objects)?;
        ensure!((format.parse)(&bytes)? == *objects, "{} gives another list", format.name);
        packed.push(bytes);
    }
    let packed = &packed;

    let sizes = formats.iter().zip(packed);
    let sizes = sizes.map(|(format, bytes)| Entry::amount(format.name, bytes.len() as f64));
    report.entries(format!("{family}/bytes/raw"), "B", sizes.collect());
    let [ours, message_pack] = [&packed[0], &packed[1]].map(|bytes| bytes.len() as f64);
    report.add(
        format!("{family}/bytes"),
        Measured::Ratio(ours / message_pack),
        Target::AtMost(if random { 0.82 } else { 0.35 }),
        format!("of MessagePack: {ours} B over {message_pack} B"),
    );

    let mut serialize = Contest::new();
    let mut deserialize = Contest::new();
    for (format, bytes) in formats.iter().zip(packed) {
        let pack = |()| (format.pack)(black_box(objects));
        serialize.add_consuming(format.name, 1, || (), pack);
        deserialize.add_consuming(format.name, 1, || (), |()| (format.parse)(black_box(bytes)));
    }
    let outcome = serialize.run(effort);
    report.times(format!("{family}/serialize/raw"), &outcome);
    let [ours, message_pack] = [0, 1].map(|at| outcome.entries()[at].nanoseconds());
    report.add(
        format!("{family}/serialize"),
        Measured::Ratio(ours / message_pack),
        Target::AtMost(1.0),
        format!(
            "through serde {}, rmp-serde with names {}",
            duration(ours),
            duration(message_pack)
        ),
    );
    let outcome = deserialize.run(effort);
    report.times(format!("{family}/deserialize/raw"), &outcome);
    report.told(format!("{family}/deserialize"), &outcome);

    for codec in &CODECS {
        compressed(codec, &family, objects, packed, effort, report)?;
    }
    two_fields(&family, objects, packed, effort, report)?;
    by_threads(&family, objects, &packed[0], effort, report)
}

/// Serialized and then compressed; decompressed and then deserialized.
fn compressed(
    codec: &Codec,
    family: &str,
    objects: &Vec<Object>,
    packed: &[Vec<u8>],
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let formats = &formats();
    let mut small = Vec::new();
    for (format, bytes) in formats.iter().zip(packed) {
        let compressed = (codec.pack)(bytes)?;
        let same = (codec.unpack)(&compressed)? == *bytes;
        ensure!(same, "{} and {} give other bytes", format.name, codec.name);
        small.push(compressed);
    }
    let sizes = formats.iter().zip(&small);
    let sizes = sizes.map(|(format, bytes)| Entry::amount(format.name, bytes.len() as f64));
    report.entries(format!("{family}/bytes/{}", codec.name), "B", sizes.collect());
    if objects.len() > COMPRESSED {
        return Ok(());
    }
    let mut serialize = Contest::new();
    let mut deserialize = Contest::new();
    for (format, bytes) in formats.iter().zip(&small) {
        let pack = |()| (codec.pack)(&(format.pack)(black_box(objects))?);
        serialize.add_consuming(format.name, 1, || (), pack);
        let parse = |()| (format.parse)(&(codec.unpack)(black_box(bytes))?);
        deserialize.add_consuming(format.name, 1, || (), parse);
    }
    report.times(format!("{family}/serialize/{}", codec.name), &serialize.run(effort));
    report.times(format!("{family}/deserialize/{}", codec.name), &deserialize.run(effort));
    Ok(())
}

/// Structs of two fields, of formats that say their keys.
fn two_fields(
    family: &str,
    objects: &[Object],
    packed: &[Vec<u8>],
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let expected: Vec<Few> = objects.iter().map(Few::from).collect();
    let [ours, message_pack, json] = [&packed[0], &packed[1], &packed[2]];
    ensure!(livebuf::from_slice::<Vec<Few>>(ours)? == expected, "another list of two fields");
    ensure!(few_by_columns(ours)? == expected, "other columns");
    ensure!(rmp_serde::from_slice::<Vec<Few>>(message_pack)? == expected, "rmp-serde");
    ensure!(serde_json::from_slice::<Vec<Few>>(json)? == expected, "serde_json");
    let mut contest = Contest::new();
    let none = || ();
    contest.add_consuming("livebuf", 1, none, |()| livebuf::from_slice::<Vec<Few>>(ours));
    contest.add_consuming("livebuf, by columns", 1, none, |()| few_by_columns(ours));
    contest.add_consuming("rmp-serde, with names", 1, none, |()| {
        rmp_serde::from_slice::<Vec<Few>>(message_pack)
    });
    contest.add_consuming("serde_json", 1, none, |()| serde_json::from_slice::<Vec<Few>>(json));
    let outcome = contest.run(effort);
    report.times(format!("{family}/deserialize/two fields"), &outcome);
    report.told(format!("{family}/deserialize two fields"), &outcome);
    Ok(())
}

fn few_by_columns(bytes: &[u8]) -> Result<Vec<Few>> {
    let few = |doc: Doc<'_, Valid>| -> Option<Vec<Few>> {
        let table = doc.root().as_array()?.table()?;
        let numbers = table.column("OnlyInt")?.i64s();
        let texts = table.column("Title")?.strs();
        numbers
            .zip(texts)
            .map(|(number, text)| {
                Some(Few { only_int: number?.try_into().ok()?, title: text?.to_owned() })
            })
            .collect()
    };
    few(Doc::open(bytes)?.validate()?).context("no such columns")
}

/// What reading finds: a sum of integers, and the bytes of texts.
type Sum = (i64, usize);

/// Four fields of all rows, by threads that each have a part of the table.
fn by_threads(
    family: &str,
    objects: &[Object],
    ours: &[u8],
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let rows = Doc::open(ours)?.validate()?.root().as_array();
    let table = rows.and_then(|rows| rows.table()).context("no table")?;
    let expected = objects.iter().fold((0, 0), |(sum, length), object| {
        (
            sum + i64::from(object.only_int) + i64::from(object.only_byte),
            length + object.title.len() + object.only_text.len(),
        )
    });
    for threads in [1, 2] {
        ensure!(sum_by(table, threads) == Some(expected), "{threads} threads: another sum");
    }
    // By the clock on the wall: others measure the time of their own thread.
    let by = |threads| {
        move || {
            let start = Instant::now();
            black_box(sum_by(black_box(table), threads));
            start.elapsed()
        }
    };
    let mut contest = Contest::new();
    let one = contest.add_timed("livebuf, one thread (wall)", 1, by(1));
    let two = contest.add_timed("livebuf, two threads (wall)", 1, by(2));
    let outcome = contest.run(effort);
    report.times(format!("{family}/read/by threads"), &outcome);
    report.add(
        format!("{family}/two threads"),
        Measured::Ratio(outcome.ratio(two, one)),
        Target::None,
        format!(
            "four fields of each row: {}, one thread {}",
            duration(outcome.nanoseconds(two)),
            duration(outcome.nanoseconds(one))
        ),
    );
    Ok(())
}

fn sum_by(table: Table<'_, Valid>, threads: usize) -> Option<Sum> {
    let sum = |part: Table<'_, Valid>| -> Option<Sum> {
        let first = part.row(0)?;
        let [int, byte] = [first.bind("OnlyInt")?, first.bind("OnlyByte")?];
        let [title, text] = [first.bind("Title")?, first.bind("OnlyText")?];
        let (mut sum, mut length) = (0, 0);
        for at in 0..part.rows() {
            let row = part.row(at)?;
            sum += row.get(&int)?.as_i64()? + row.get(&byte)?.as_i64()?;
            length += row.get(&title)?.as_str()?.len() + row.get(&text)?.as_str()?.len();
        }
        Some((sum, length))
    };
    if threads == 1 {
        return sum(table);
    }
    thread::scope(|scope| {
        let parts: Vec<_> =
            table.split(threads).map(|part| scope.spawn(move || sum(part))).collect();
        parts.into_iter().try_fold((0, 0), |(sum, length), part| {
            let (more, longer) = part.join().ok()??;
            Some((sum + more, length + longer))
        })
    })
}
