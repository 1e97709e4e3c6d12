//! Owns sizes: every data file as a document, as minified JSON and as MessagePack.

use anyhow::Result;

use crate::data;
use crate::report::{Measured, Report, Target};
use crate::timing::Effort;

/// Of MessagePack.
const TARGETS: [(&str, f64); 6] = [
    ("twitter", 0.52),
    ("citm_catalog", 0.40),
    ("instruments", 0.25),
    ("random", 0.62),
    ("mesh", 1.0),
    ("canada", 0.97),
];
/// Of MessagePack, over all files; and of the compressed JSON when compressed, too.
const MEAN_TARGET: f64 = 0.68;
const COMPRESSED_TARGET: f64 = 1.25;

pub(crate) fn run(_effort: Effort, report: &mut Report) -> Result<()> {
    let mut logarithms = [0.0, 0.0, 0.0];
    let samples = data::samples()?;
    for sample in &samples {
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
        logarithms[0] += of_json.ln();
        logarithms[1] += of_message_pack.ln();
        logarithms[2] += of_compressed.ln();
        let target = TARGETS
            .iter()
            .find(|(name, _)| *name == sample.name)
            .map_or(Target::None, |&(_, target)| Target::AtMost(target));
        report.add(
            format!("bytes/{}", sample.name),
            Measured::Ratio(of_message_pack),
            target,
            format!(
                "of MessagePack: {document_bytes} B over {} B; minified JSON {json_bytes} B ({of_json:.3} ×); zstd-3 {of_compressed:.3} × of its",
                message_pack.len(),
            ),
        );
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
    Ok(())
}
