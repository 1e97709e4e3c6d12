//! Owns the inputs: the real JSON files beside the repository, found from this
//! crate's directory, and seeded random keys. Absent files are told, never replaced.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// One JSON file, as text and as the reference value for answers.
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) json: Vec<u8>,
    pub(crate) value: serde_json::Value,
}

/// `../shared/data` of the repository.
pub(crate) fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data")
}

/// The file of this name without `.json`; an error says where it was looked for.
pub(crate) fn sample(name: &str) -> Result<Sample> {
    let path = directory().join(format!("{name}.json"));
    let json =
        std::fs::read(&path).with_context(|| format!("no data file {}", path.display()))?;
    let value = serde_json::from_slice(&json)
        .with_context(|| format!("{} is not JSON", path.display()))?;
    Ok(Sample {
        name: name.to_owned(),
        json,
        value,
    })
}

/// All files, by name.
pub(crate) fn samples() -> Result<Vec<Sample>> {
    let directory = directory();
    let entries = std::fs::read_dir(&directory)
        .with_context(|| format!("no data directory {}", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json")
            && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    names.iter().map(|name| sample(name)).collect()
}
