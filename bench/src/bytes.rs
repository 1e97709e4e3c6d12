//! Owns sizes: every data file as a document, as minified JSON and as MessagePack, and data of
//! shapes that none of the files has.

use anyhow::Result;
use fastrand::Rng;
use serde_json::json;

use crate::data::{self, Sample};
use crate::report::{Measured, Report, Target};
use crate::timing::{Effort, Entry};

/// Of MessagePack.
const TARGETS: [(&str, f64); 6] = [
    ("twitter", 0.52),
    ("citm_catalog", 0.40),
    ("instruments", 0.25),
    ("random", 0.62),
    ("mesh", 1.0),
    ("canada", 0.97),
];
/// Of MessagePack: 200,000 readings.
const READINGS_TARGET: f64 = 0.36;
/// Of MessagePack, over all files; and of the compressed JSON when compressed, too.
const MEAN_TARGET: f64 = 0.68;
const COMPRESSED_TARGET: f64 = 1.25;

pub(crate) fn run(_effort: Effort, report: &mut Report) -> Result<()> {
    let mut logarithms = [0.0, 0.0, 0.0];
    let samples = data::samples()?;
    for sample in &samples {
        let target = TARGETS
            .iter()
            .find(|(name, _)| *name == sample.name)
            .map_or(Target::None, |&(_, target)| Target::AtMost(target));
        for (sum, ratio) in logarithms.iter_mut().zip(sizes(sample, target, report)?) {
            *sum += ratio.ln();
        }
    }
    let [of_json, of_message_pack, of_compressed] =
        logarithms.map(|sum| (sum / samples.len() as f64).exp());
    report.add(
        "bytes/geometric mean",
        Measured::Ratio(of_message_pack),
        Target::AtMost(MEAN_TARGET),
        format!("of MessagePack; {of_json:.3} × of minified JSON"),
    );
    report.add(
        "bytes/geometric mean, zstd-3",
        Measured::Ratio(of_compressed),
        Target::AtMost(COMPRESSED_TARGET),
        "of the minified JSON, both compressed",
    );
    sizes(&readings(200_000)?, Target::AtMost(READINGS_TARGET), report)?;
    sizes(&users_by_id(10_000)?, Target::None, report)?;
    Ok(())
}

/// Reports one sample's size; the ratios to minified JSON, to MessagePack, and to the JSON when
/// both are compressed.
fn sizes(sample: &Sample, target: Target, report: &mut Report) -> Result<[f64; 3]> {
    let document = livebuf_json::from_slice(&sample.json)?;
    data::check(&sample.value, &document)?;
    let document_bytes = document.as_bytes().len() as f64;
    let json = serde_json::to_vec(&sample.value)?;
    let compressed = |bytes: &[u8]| zstd::encode_all(bytes, 3).map(|bytes| bytes.len() as f64);
    let of_compressed = compressed(document.as_bytes())? / compressed(&json)?;
    let json_bytes = json.len() as f64;
    let message_pack = rmp_serde::to_vec(&sample.value)?;
    let of_json = document_bytes / json_bytes;
    let of_message_pack = document_bytes / message_pack.len() as f64;
    let name = format!("bytes/{}", sample.name);
    let entries = vec![
        Entry::amount("livebuf", document_bytes),
        Entry::amount("JSON, minified", json_bytes),
        Entry::amount("MessagePack", message_pack.len() as f64),
    ];
    report.entries(&name, "B", entries);
    report.add(
        name,
        Measured::Ratio(of_message_pack),
        target,
        format!(
            "of MessagePack: {document_bytes} B over {} B; minified JSON {json_bytes} B ({of_json:.3} ×); zstd-3 {of_compressed:.3} × of its",
            message_pack.len(),
        ),
    );
    Ok([of_json, of_message_pack, of_compressed])
}

/// Sensors' readings as JavaScript prints them: whole values without a point.
fn readings(count: usize) -> Result<Sample> {
    let mut rng = Rng::with_seed(1);
    let rows = (0..count).map(|row| {
        let half_degrees = rng.i64(30..60);
        json!({
            "t": 1_760_000_000_000_i64 + 250 * row as i64,
            "v": if half_degrees % 2 == 0 { json!(half_degrees / 2) } else { json!(half_degrees as f64 / 2.0) },
            "unit": if rng.bool() { "C" } else { "F" },
            "sensor": format!("sensor-{:03}", rng.u32(..500)),
            "ok": rng.u32(..10) > 0,
        })
    });
    generated("readings", rows.collect())
}

/// One object that maps ids to users.
fn users_by_id(count: usize) -> Result<Sample> {
    let mut rng = Rng::with_seed(1);
    let mut users = serde_json::Map::new();
    while users.len() < count {
        let tags: Vec<_> =
            (0..rng.usize(..3)).map(|_| *rng.choice(&["a", "bb", "ccc"]).unwrap_or(&"")).collect();
        let user = json!({
            "name": format!("name {}", rng.u32(..1000)),
            "age": rng.u32(..90),
            "score": f64::from(rng.u32(..1000)) / 10.0,
            "on": rng.bool(),
            "tags": tags,
        });
        users.insert(format!("user-{}", rng.u32(10_000_000..100_000_000)), user);
    }
    generated("users by id", users.into())
}

fn generated(name: &str, value: serde_json::Value) -> Result<Sample> {
    Ok(Sample { name: name.to_owned(), json: serde_json::to_vec(&value)?, value })
}
