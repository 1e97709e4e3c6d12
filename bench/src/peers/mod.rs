//! Owns the formats of other crates that the graph, the record of vectors and the lists share:
//! those that turn typed structs into bytes and back, and generated code.

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::format::{Format, rmp_serde_with_names, serde_json};

#[allow(
    clippy::all,
    missing_docs,
    rust_2018_idioms,
    unreachable_pub,
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    clippy::uninlined_format_args,
    reason = "made by flatc"
)]
#[rustfmt::skip]
mod flatbuffers_generated;

pub(crate) use flatbuffers_generated::peers as flat;

/// Through serde: formats that say their keys, then those that do not.
pub(crate) fn by_serde<T: Serialize + DeserializeOwned>() -> Vec<Format<T>> {
    let ciborium = Format::new(
        "ciborium",
        |value| {
            let mut bytes = Vec::new();
            ciborium::into_writer(value, &mut bytes)?;
            Ok(bytes)
        },
        |bytes| Ok(ciborium::from_reader(bytes)?),
    );
    let without_names = Format::new(
        "rmp-serde, without names",
        |value| Ok(rmp_serde::to_vec(value)?),
        |bytes| Ok(rmp_serde::from_slice(bytes)?),
    );
    vec![serde_json(), rmp_serde_with_names(), ciborium, without_names, postcard()]
}

pub(crate) fn postcard<T: Serialize + DeserializeOwned>() -> Format<T> {
    Format::new(
        "postcard",
        |value| Ok(postcard::to_stdvec(value)?),
        |bytes| Ok(postcard::from_bytes(bytes)?),
    )
}

/// By Avro, as datums without the schema.
pub(crate) fn avro<T: Serialize + DeserializeOwned>(schema: &str) -> Result<Format<T>> {
    use apache_avro::reader::datum::GenericDatumReader;
    use apache_avro::writer::datum::GenericDatumWriter;

    // Readers and writers borrow the schema for as long as they are used again.
    let schema: &'static apache_avro::Schema =
        Box::leak(Box::new(apache_avro::Schema::parse_str(schema)?));
    let writer = GenericDatumWriter::builder(schema).build().context("no Avro writer")?;
    let reader = GenericDatumReader::builder(schema).build().context("no Avro reader")?;
    Ok(Format::new(
        "apache-avro",
        move |value| Ok(writer.write_ser_to_vec(value)?),
        move |mut bytes| Ok(reader.read_deser(&mut bytes)?),
    ))
}

/// wincode's settings for more than 4 MB: as bincode's, and without a limit.
pub(crate) type Wincode =
    wincode::config::Configuration<true, { wincode::config::PREALLOCATION_SIZE_LIMIT_DISABLED }>;

/// bincode's bytes.
pub(crate) fn wincode<T>() -> Format<T>
where
    T: wincode::SchemaWrite<Wincode, Src = T> + for<'de> wincode::SchemaRead<'de, Wincode, Dst = T>,
{
    const SETTINGS: Wincode =
        wincode::config::Configuration::default().disable_preallocation_size_limit();
    Format::new(
        "wincode",
        |value| Ok(wincode::config::serialize(value, SETTINGS)?),
        |bytes| Ok(wincode::config::deserialize(bytes, SETTINGS)?),
    )
}

pub(crate) fn bitcode<T: bitcode::Encode + for<'de> bitcode::Decode<'de>>() -> Format<T> {
    Format::new("bitcode", |value| Ok(bitcode::encode(value)), |bytes| Ok(bitcode::decode(bytes)?))
}
