//! Owns the inputs: the real JSON files beside the repository, found from this
//! crate's directory, and seeded random keys. Absent files are told, never replaced.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use livebuf::{DocBuf, Kind, Value};

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
    let json = std::fs::read(&path).with_context(|| format!("no data file {}", path.display()))?;
    let value =
        serde_json::from_slice(&json).with_context(|| format!("{} is not JSON", path.display()))?;
    Ok(Sample { name: name.to_owned(), json, value })
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

/// The document's value in serde_json's tree, by way of the checked reader.
pub(crate) fn to_json(value: Value<'_>) -> Result<serde_json::Value> {
    let json = match value.kind() {
        Kind::Null => serde_json::Value::Null,
        Kind::Bool => value.as_bool().into(),
        Kind::Int => value.as_i64().into(),
        Kind::Uint => value.as_u64().into(),
        Kind::Float | Kind::NumberText => value.as_f64().into(),
        Kind::String => value.as_str()?.into(),
        Kind::Array => {
            let array = value.as_array()?.context("no array")?;
            array.iter().map(|element| to_json(element?)).collect::<Result<_>>()?
        }
        Kind::Object => {
            let object = value.as_object()?.context("no object")?;
            object
                .iter()
                .map(|field| {
                    let (key, value) = field?;
                    Ok((key.to_owned(), to_json(value)?))
                })
                .collect::<Result<_>>()?
        }
        kind => bail!("{kind:?} has no JSON"),
    };
    Ok(json)
}

/// The document holds this value: the same keys in the same order, numbers by bits.
pub(crate) fn check(expected: &serde_json::Value, document: &DocBuf) -> Result<()> {
    let actual = to_json(document.doc().root())?;
    let is_same = serde_json::to_vec(&actual)? == serde_json::to_vec(expected)?;
    ensure!(is_same, "the document's value differs from serde_json's");
    Ok(())
}
