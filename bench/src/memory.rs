//! Owns memory: the most bytes that converting JSON holds at one time, by a
//! counting allocator, without the input and without the result.

use anyhow::Result;

use crate::allocator::count;
use crate::data;
use crate::report::{Measured, Report, Target};
use crate::timing::{Effort, Entry};

/// Times the input, on real files.
const TARGET: f64 = 3.0;

pub(crate) fn run(_effort: Effort, report: &mut Report) -> Result<()> {
    for sample in data::samples()? {
        let (document, taken) = count(|| livebuf_json::from_slice(&sample.json));
        let document = document?;
        data::check(&sample.value, &document)?;
        let mut copy = sample.json.clone();
        let (tree, taken_by_simd_json) = count(|| simd_json::to_borrowed_value(&mut copy));
        drop(tree?);

        let result_bytes = document.as_bytes().len();
        let scratch_bytes = taken.peak_bytes.saturating_sub(result_bytes);
        let name = format!("memory/{}", sample.name);
        let entries = vec![
            Entry::amount("livebuf, peak", taken.peak_bytes as f64),
            Entry::amount("simd-json's tree, peak", taken_by_simd_json.peak_bytes as f64),
        ];
        report.entries(&name, "B", entries);
        report.add(
            name,
            Measured::Ratio(scratch_bytes as f64 / sample.json.len() as f64),
            Target::AtMost(TARGET),
            format!(
                "of the input of {} B: peak {} B less result {result_bytes} B, in {} allocations; \
                 simd-json's tree, its result included: peak {} B in {}",
                sample.json.len(),
                taken.peak_bytes,
                taken.allocations,
                taken_by_simd_json.peak_bytes,
                taken_by_simd_json.allocations,
            ),
        );
    }
    Ok(())
}
