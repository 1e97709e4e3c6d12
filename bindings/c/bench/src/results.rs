//! What the tasks took, for `bench/run.py`.

use std::path::Path;
use std::sync::{Mutex, OnceLock};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

static RESULTS: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// What names of tasks must have in them.
static PART: OnceLock<String> = OnceLock::new();

pub(crate) fn want(part: &str) {
    let _ = PART.set(part.to_owned());
}

/// Tasks in which a peer's answers differ, and how.
static DIFFERENT: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Notes that a peer's answers differ in a task. It is timed all the same.
#[cfg(lite3)]
pub(crate) fn differ(task: &str, how: String) {
    if let Ok(mut all) = DIFFERENT.lock() {
        all.push((task.to_owned(), how));
    }
}

fn differences() -> Vec<(String, String)> {
    DIFFERENT.lock().map(|all| all.clone()).unwrap_or_default()
}

pub(crate) fn wanted(task: &str) -> bool {
    PART.get().is_none_or(|part| task.contains(part.as_str()))
}

/// Keeps nanoseconds of competitors, which are sorted. Another answer of ours has ended the run
/// before it.
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
        results.push(json!({
            "task": task,
            "unit": "s",
            "answers_compared": differences().iter().all(|(other, _)| other != task),
            "competitors": competitors,
        }));
    }
}

/// Writes all of them.
pub(crate) fn write(path: &Path) -> Result<()> {
    let results = RESULTS.lock().map(|results| results.clone()).unwrap_or_default();
    let mut skipped = match cfg!(lite3) {
        true => Vec::new(),
        false => vec!["Lite³: LITE3 named no checkout when this was compiled".to_owned()],
    };
    skipped
        .extend(differences().into_iter().map(|(task, how)| format!("answers in {task}: {how}")));
    let all = json!({ "results": results, "skipped": skipped, "failed": [] });
    std::fs::write(path, serde_json::to_string_pretty(&all)?)
        .with_context(|| format!("cannot write {}", path.display()))
}
