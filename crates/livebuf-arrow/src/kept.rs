//! A schema of Arrow within a document, beside the rows that came with it.
//!
//! Such a document is an object of `arrow_schema` and `rows`. A schema is an object of what the C
//! Data Interface has: `name`, `format`, `nullable`, `children`, `dictionary`, `metadata`.

use livebuf::{Checked, Encoder, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Field, MAX_DEPTH, Type};

pub(crate) const SCHEMA: &str = "arrow_schema";
pub(crate) const ROWS: &str = "rows";

/// Writes a schema.
pub(crate) fn write(encoder: &mut Encoder, field: &Field) -> Result<()> {
    encoder.begin_object()?;
    encoder.key("name")?;
    encoder.str(&field.name)?;
    encoder.key("format")?;
    encoder.str(&field.kind.format())?;
    encoder.key("nullable")?;
    encoder.bool(field.nullable)?;
    let below: &[Field] = match &field.kind {
        Type::Struct(fields) | Type::Variant(fields) => fields,
        kind => kind.item().map_or(&[], std::slice::from_ref),
    };
    if !below.is_empty() {
        encoder.key("children")?;
        encoder.begin_array()?;
        below.iter().try_for_each(|child| write(encoder, child))?;
        encoder.end_array()?;
    }
    if let Type::Dictionary(_, texts) = &field.kind {
        encoder.key("dictionary")?;
        write(encoder, &Field::new("", (**texts).clone()))?;
    }
    if !field.metadata.is_empty() {
        encoder.key("metadata")?;
        encoder.begin_object()?;
        for (key, value) in &field.metadata {
            // Names that are not text have no place in an object.
            let Ok(key) = std::str::from_utf8(key) else { continue };
            encoder.key(key)?;
            match std::str::from_utf8(value) {
                Ok(value) => encoder.str(value)?,
                Err(_) => encoder.bytes(value)?,
            }
        }
        encoder.end_object()?;
    }
    Ok(encoder.end_object()?)
}

/// Reads what [`write`] wrote.
pub(crate) fn read(value: &Value<'_, Checked>) -> Result<Field> {
    read_at(value, 0)
}

fn read_at(value: &Value<'_, Checked>, depth: usize) -> Result<Field> {
    let bad = || Error::new(ErrorKind::Mismatch, "the kept schema is none");
    if depth > MAX_DEPTH + 2 {
        return Err(bad());
    }
    let object = value.as_object()?.ok_or_else(bad)?;
    let text = |key: &str| -> Result<Option<String>> {
        let value = object.get(key)?.map(|value| value.as_str()).transpose()?.flatten();
        Ok(value.map(str::to_owned))
    };
    let (name, format) = (text("name")?.unwrap_or_default(), text("format")?.ok_or_else(bad)?);
    let nullable = object.get("nullable")?.and_then(|value| value.as_bool()).unwrap_or(true);
    let mut children = Vec::new();
    if let Some(below) = object.get("children")? {
        for child in &below.as_array()?.ok_or_else(bad)? {
            children.push(read_at(&child?, depth + 1)?);
        }
    }
    let mut metadata = Vec::new();
    if let Some(pairs) = object.get("metadata")? {
        for pair in &pairs.as_object()?.ok_or_else(bad)? {
            let (key, value) = pair?;
            let text = value.as_str()?.map(str::as_bytes);
            let value = match text {
                Some(text) => text,
                None => value.as_bytes()?.ok_or_else(bad)?,
            };
            metadata.push((key.as_bytes().to_vec(), value.to_vec()));
        }
    }
    let dictionary = match object.get("dictionary")? {
        Some(dictionary) => Some(read_at(&dictionary, depth + 1)?.kind),
        None => None,
    };
    let kind = match Type::of(&format, children, dictionary, &metadata)? {
        // They are kept as the objects that they are stored as.
        Type::Variant(fields) => Type::Struct(fields),
        kind => kind,
    };
    Ok(Field { name, nullable, kind, metadata })
}
