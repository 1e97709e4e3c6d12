//! Owns the record of cpp-serializers: a vector of 1,000 integers of 64 bits and one of 100
//! texts. Its texts are all the same, so a second record has texts that differ.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use capnp::message::{ReaderOptions, TypedReader};
use fastrand::Rng;
use flatbuffers::{FlatBufferBuilder, VerifierOptions};
use livebuf::{Array, Doc, Valid};
use prost::Message;
use rkyv::rancor::Error;
use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::peers::{avro, bitcode, by_serde, flat, wincode};
use crate::peers_capnp::vectors as capn;
use crate::report::Report;
use crate::timing::{Contest, Effort, Entry};

const IDS: usize = 1_000;
const TEXTS: usize = 100;
const LETTERS: usize = 86;

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Message,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
    wincode::SchemaWrite,
    wincode::SchemaRead,
)]
struct Vectors {
    #[prost(int64, repeated, tag = "1")]
    ids: Vec<i64>,
    #[prost(string, repeated, tag = "2")]
    texts: Vec<String>,
}

impl Vectors {
    /// Integers of one, two, four and eight bytes, as many of each, as in the original.
    fn random(alike: bool) -> Vectors {
        let mut random = Rng::with_seed(41);
        let ids = (0..IDS).map(|at| random.i64(..) >> [0, 32, 48, 56][at % 4]).collect();
        let mut text = || (0..LETTERS).map(|_| random.lowercase()).collect::<String>();
        let first = text();
        let texts = (0..TEXTS).map(|_| if alike { first.clone() } else { text() }).collect();
        Vectors { ids, texts }
    }

    fn sum(&self) -> Sum {
        (self.ids.iter().fold(0, |sum, id| sum ^ id), self.texts.iter().map(String::len).sum())
    }
}

/// Of all integers, and the bytes of all texts.
type Sum = (i64, usize);
type Read<'a> = Box<dyn Fn() -> Result<Sum> + 'a>;

const AVRO: &str = r#"{"type": "record", "name": "Vectors", "fields": [
    {"name": "ids", "type": {"type": "array", "items": "long"}},
    {"name": "texts", "type": {"type": "array", "items": "string"}}
]}"#;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    record("equal texts", &Vectors::random(true), effort, report)?;
    record("other texts", &Vectors::random(false), effort, report)
}

fn record(kind: &str, vectors: &Vectors, effort: Effort, report: &mut Report) -> Result<()> {
    let family = format!("vectors of integers and {kind}");
    let mut formats = vec![wincode(), bitcode()];
    formats.extend(by_serde());
    formats.push(avro(AVRO)?);
    formats.push(Format::new(
        "prost",
        |vectors: &Vectors| Ok(vectors.encode_to_vec()),
        |bytes| Ok(Vectors::decode(bytes)?),
    ));
    formats.push(Format::new(
        "rkyv",
        |vectors| Ok(rkyv::to_bytes::<Error>(vectors)?.into_vec()),
        |bytes| Ok(rkyv::from_bytes::<Vectors, Error>(bytes)?),
    ));
    let ours = Format::new(
        "livebuf",
        |vectors| Ok(livebuf::to_vec(vectors)?),
        |bytes| Ok(livebuf::from_slice(bytes)?),
    );
    formats.insert(0, ours);
    let formats = &formats;
    let expected = vectors.sum();

    let (mut serialize, mut to_structs) = (Contest::new(), Contest::new());
    let mut sizes = Vec::new();
    for format in formats {
        let bytes = (format.pack)(vectors)?;
        ensure!((format.parse)(&bytes)? == *vectors, "{} gives another record", format.name);
        sizes.push(Entry::amount(format.name, bytes.len() as f64));
        serialize.add(format.name, 1, || (format.pack)(black_box(vectors)));
        to_structs.add(format.name, 1, move || (format.parse)(black_box(&bytes)));
    }

    let mut builder = FlatBufferBuilder::new();
    pack_flat(vectors, &mut builder);
    let flat_bytes = &builder.finished_data().to_vec();
    let capnp_bytes = &pack_capnp(vectors)?;
    let ours_bytes = &livebuf::to_vec(vectors)?;
    let rkyv_bytes = &rkyv::to_bytes::<Error>(vectors)?;
    sizes.push(Entry::amount("flatbuffers", flat_bytes.len() as f64));
    sizes.push(Entry::amount("capnp", capnp_bytes.len() as f64));
    serialize.add("flatbuffers", 1, move || pack_flat(black_box(vectors), &mut builder));
    serialize.add("capnp", 1, || pack_capnp(black_box(vectors)));

    let mut open = Contest::new();
    let readers: [(&str, Read<'_>); 4] = [
        ("livebuf", Box::new(|| sum_of_ours(black_box(ours_bytes)))),
        ("rkyv", Box::new(|| sum_of_rkyv(black_box(rkyv_bytes)))),
        ("flatbuffers", Box::new(|| sum_of_flat(black_box(flat_bytes)))),
        ("capnp", Box::new(|| sum_of_capnp(black_box(capnp_bytes)))),
    ];
    for (name, read) in readers {
        ensure!(read()? == expected, "{name} gives another sum");
        open.add(name, 1, read);
    }
    for format in formats.iter().skip(1).filter(|format| format.name != "rkyv") {
        let bytes = (format.pack)(vectors)?;
        open.add(format.name, 1, move || Some((format.parse)(black_box(&bytes)).ok()?.sum()));
    }

    report.entries(format!("{family}/bytes"), "B", sizes);
    for (task, contest) in
        [("serialize", serialize), ("to structs", to_structs), ("open and read all", open)]
    {
        let outcome = contest.run(effort);
        let name = format!("{family}/{task}");
        report.times(&name, &outcome);
        report.told(name, &outcome);
    }
    Ok(())
}

fn sum_of_ours(bytes: &[u8]) -> Result<Sum> {
    let root = Doc::open(bytes)?.validate()?.root();
    let array = |key: &str| -> Option<Array<'_, Valid>> { root.get(key)?.as_array() };
    let ids = array("ids").context("no ids")?;
    let ids = match ids.as_slice::<i64>() {
        Some(slice) => slice.iter().fold(0, |sum, id| sum ^ id),
        None => ids.iter().filter_map(|id| id.as_i64()).fold(0, |sum, id| sum ^ id),
    };
    let texts = array("texts").context("no texts")?;
    Ok((ids, texts.iter().filter_map(|text| Some(text.as_str()?.len())).sum()))
}

fn sum_of_rkyv(bytes: &[u8]) -> Result<Sum> {
    let vectors = rkyv::access::<ArchivedVectors, Error>(bytes)?;
    let ids = vectors.ids.iter().fold(0, |sum, id| sum ^ id.to_native());
    Ok((ids, vectors.texts.iter().map(|text| text.len()).sum()))
}

fn pack_flat(vectors: &Vectors, builder: &mut FlatBufferBuilder<'_>) -> usize {
    builder.reset();
    let texts: Vec<_> = vectors.texts.iter().map(|text| builder.create_string(text)).collect();
    let texts = Some(builder.create_vector(&texts));
    let ids = Some(builder.create_vector(&vectors.ids));
    let made = flat::Vectors::create(builder, &flat::VectorsArgs { ids, texts });
    builder.finish(made, None);
    builder.finished_data().len()
}

fn sum_of_flat(bytes: &[u8]) -> Result<Sum> {
    let options = VerifierOptions::default();
    let vectors = flatbuffers::root_with_opts::<flat::Vectors<'_>>(&options, bytes)?;
    let ids = vectors.ids().context("no ids")?.iter().fold(0, |sum, id| sum ^ id);
    Ok((ids, vectors.texts().context("no texts")?.iter().map(str::len).sum()))
}

fn pack_capnp(vectors: &Vectors) -> Result<Vec<u8>> {
    let mut message = capnp::message::Builder::new_default();
    let mut root = message.init_root::<capn::Builder<'_>>();
    root.set_ids(vectors.ids.as_slice())?;
    root.set_texts(vectors.texts.as_slice())?;
    Ok(capnp::serialize::write_message_to_words(&message))
}

fn sum_of_capnp(mut bytes: &[u8]) -> Result<Sum> {
    let message = capnp::serialize::read_message_from_flat_slice(&mut bytes, ReaderOptions::new())?;
    let message = TypedReader::<_, capn::Owned>::new(message);
    let vectors = message.get()?;
    let ids = vectors.get_ids()?.iter().fold(0, |sum, id| sum ^ id);
    let mut letters = 0;
    for text in vectors.get_texts()? {
        letters += text?.to_str()?.len();
    }
    Ok((ids, letters))
}
