//! Owns sizes: every data file as a document, as minified JSON and as MessagePack.

use anyhow::Result;

use crate::data;
use crate::report::{Measured, Report, Target};
use crate::timing::Effort;

/// Of MessagePack, for twitter, without tables.
const TWITTER_TARGET: f64 = 0.70;

pub(crate) fn run(_effort: Effort, report: &mut Report) -> Result<()> {
    let mut logarithms = [0.0, 0.0];
    let samples = data::samples()?;
    for sample in &samples {
        let document = livebuf_json::from_slice(&sample.json)?;
        data::check(&sample.value, &document)?;
        let document_bytes = document.as_bytes().len() as f64;
        let json_bytes = serde_json::to_vec(&sample.value)?.len() as f64;
        let message_pack = rmp_serde::to_vec(&sample.value)?;
        let of_json = document_bytes / json_bytes;
        let of_message_pack = document_bytes / message_pack.len() as f64;
        logarithms[0] += of_json.ln();
        logarithms[1] += of_message_pack.ln();
        let target = match sample.name.as_str() {
            "twitter" => Target::AtMost(TWITTER_TARGET),
            _ => Target::None,
        };
        report.add(
            format!("bytes/{}", sample.name),
            Measured::Ratio(of_message_pack),
            target,
            format!(
                "of MessagePack: {document_bytes} B over {} B; minified JSON {json_bytes} B ({of_json:.3} ×)",
                message_pack.len(),
            ),
        );
    }
    let [of_json, of_message_pack] = logarithms.map(|sum| (sum / samples.len() as f64).exp());
    report.add(
        "bytes/geometric mean",
        Measured::Ratio(of_message_pack),
        Target::None,
        format!("of MessagePack; {of_json:.3} × of minified JSON"),
    );
    Ok(())
}
