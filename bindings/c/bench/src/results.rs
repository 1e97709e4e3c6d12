//! What the tasks took, for `bench/run.py`.

use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

static RESULTS: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// Keeps nanoseconds of competitors, which are sorted.
pub(crate) fn add(task: &str, competitors: &[(&str, &[f64])]) {
    let competitors: Vec<Value> = competitors
        .iter()
        .map(|(name, batches)| {
            let last = batches.len().saturating_sub(1) as f64;
            let at = |share: f64| batches[(last * share).round() as usize] * 1e-9;
            json!({
                "name": name,
                "minimum": at(0.0),
                "median": at(0.5),
                "spread": (at(0.75) - at(0.25)) / at(0.5),
                "runs": batches.len(),
            })
        })
        .collect();
    if let Ok(mut results) = RESULTS.lock() {
        results.push(json!({ "task": task, "unit": "s", "competitors": competitors }));
    }
}

/// Writes all of them.
pub(crate) fn write(path: &Path) -> Result<()> {
    let results = RESULTS.lock().map(|results| results.clone()).unwrap_or_default();
    let skipped = match cfg!(lite3) {
        true => Vec::new(),
        false => vec!["Lite³: LITE3 named no checkout when this was compiled"],
    };
    let all = json!({ "results": results, "skipped": skipped, "failed": [] });
    std::fs::write(path, serde_json::to_string_pretty(&all)?)
        .with_context(|| format!("cannot write {}", path.display()))
}
