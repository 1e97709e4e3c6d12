//! Values of documents, as SQL has them.

use livebuf::{Error, ErrorKind, Kind, Value};
use livebuf_json::{NonFinite, PrintOptions, ReadOptions, Surrogates, default_max_bytes};

/// A number by its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer of 64 bits.
    Integer(i64),
    /// The nearest float, of any other number.
    Float(f64),
}

/// A number by its text: an integer if it is one that SQL holds, else the nearest float. `None`
/// where it is no number.
pub fn number(text: &str) -> Option<Number> {
    match text.parse() {
        Ok(value) => Some(Number::Integer(value)),
        Err(_) => text.parse().ok().map(Number::Float),
    }
}

/// What [`read_options`] knows.
pub const READ_OPTIONS: &str = "'recognize', 'surrogates=replace' or both, with a space between";

/// How JSON is read, by words of SQL.
pub fn read_options(words: &str) -> Option<ReadOptions> {
    words.split(' ').try_fold(ReadOptions::new(), |options, word| match word {
        "recognize" => Some(options.recognize(true)),
        "surrogates=replace" => Some(options.surrogates(Surrogates::Replace)),
        _ => None,
    })
}

/// A value's JSON text of at most so many bytes.
///
/// # Errors
/// Damage, and text that would become longer.
pub fn json(value: Value<'_>, most: u64) -> Result<String, livebuf_json::Error> {
    let most = most.min(default_max_bytes(value.document_length(), false));
    let options = PrintOptions::new().non_finite(NonFinite::Null).max_bytes(most);
    livebuf_json::to_string_with(value, &options)
}

/// What a value is, in SQLite's words where it has some.
///
/// # Errors
/// Damage, and kinds that are newer than this crate.
pub fn type_name(value: &Value<'_>) -> Result<&'static str, Error> {
    Ok(match value.kind() {
        Kind::Null => "null",
        Kind::Bool if value.as_bool() == Some(true) => "true",
        Kind::Bool => "false",
        Kind::Int | Kind::Uint => "integer",
        Kind::Float => "real",
        Kind::NumberText => match value.as_number_text()? {
            Some(text) if text.contains(['.', 'e', 'E']) => "real",
            _ => "integer",
        },
        Kind::String => "text",
        Kind::Bytes => "blob",
        Kind::Object => "object",
        Kind::Array => "array",
        Kind::Date => "date",
        Kind::Time => "time",
        Kind::DateTime => "datetime",
        Kind::Timestamp => "timestamp",
        Kind::Decimal => "decimal",
        Kind::Uuid => "uuid",
        _ => return Err(Error::new(ErrorKind::Unsupported, 0)),
    })
}

/// Whether the bytes of a document are at fault, or are none.
pub fn is_damage(error: &Error) -> bool {
    use ErrorKind::{BudgetExceeded, NotADocument, UnsupportedFeature, UnsupportedVersion};
    let foreign = [NotADocument, UnsupportedVersion, UnsupportedFeature, BudgetExceeded];
    error.is_damage() || foreign.contains(&error.kind())
}
