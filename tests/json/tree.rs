//! JSON as a plain tree that keeps what text says: key order, literals of numbers.
//!
//! serde_json parses, a level at a time through `RawValue`, because with its feature
//! `arbitrary_precision` (the other way to see literals) the library under test would
//! be another one, too.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Tree>),
    /// Distinct keys in the order of their first occurrence.
    Object(Vec<(String, Tree)>),
}

struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Collect).map(Entries)
    }
}

impl Tree {
    pub(crate) fn parse(text: &str) -> serde_json::Result<Tree> {
        Tree::of(serde_json::from_str(text)?)
    }

    fn of(raw: &RawValue) -> serde_json::Result<Tree> {
        let text = raw.get();
        Ok(match text.as_bytes()[0] {
            b'n' => Tree::Null,
            b't' => Tree::Bool(true),
            b'f' => Tree::Bool(false),
            b'"' => Tree::String(serde_json::from_str(text)?),
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(text)?;
                Tree::Array(elements.into_iter().map(Tree::of).collect::<Result<_, _>>()?)
            }
            b'{' => {
                let mut object: Vec<(String, Tree)> = Vec::new();
                let mut places = std::collections::HashMap::<String, usize>::new();
                for (key, value) in serde_json::from_str::<Entries<'_>>(text)?.0 {
                    let value = Tree::of(value)?;
                    match places.get(&key) {
                        Some(&place) => object[place].1 = value,
                        None => {
                            places.insert(key.clone(), object.len());
                            object.push((key, value));
                        }
                    }
                }
                Tree::Object(object)
            }
            _ => Tree::Number(text.to_owned()),
        })
    }

    /// Whether `self`, from a text that was read, says what `printed` says: the same keys
    /// in the same order, and numbers by the rules of DESIGN principle 7.
    pub(crate) fn same(&self, printed: &Tree) -> bool {
        match (self, printed) {
            (Tree::Null, Tree::Null) => true,
            (Tree::Bool(a), Tree::Bool(b)) => a == b,
            (Tree::String(a), Tree::String(b)) => a == b,
            (Tree::Number(a), Tree::Number(b)) => same_number(a, b),
            (Tree::Array(a), Tree::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Tree::Object(a), Tree::Object(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.same(&b.1))
            }
            _ => false,
        }
    }
}

/// What must be printed for a literal: a second statement of the rules, apart from the
/// library's.
fn same_number(literal: &str, printed: &str) -> bool {
    let is_float = |text: &str| text.contains(['.', 'e', 'E']);
    if literal == "-0" {
        return printed == "-0.0";
    }
    if !is_float(literal) {
        return literal == printed;
    }
    let mantissa = literal.split(['e', 'E']).next().unwrap();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_start_matches('0').len();
    let value: f64 = literal.parse().unwrap();
    if significant <= 17 && value.is_finite() && (value != 0.0 || significant == 0) {
        is_float(printed) && printed.parse::<f64>().unwrap().to_bits() == value.to_bits()
    } else {
        literal == printed
    }
}

/// The directory of shared files, when it is there.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let full = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(path);
    if full.exists() {
        return Some(full);
    }
    println!("skipped: {} is absent", full.display());
    None
}

/// The JSON files of shared/data with their names.
pub(crate) fn data_files() -> Vec<(String, Vec<u8>)> {
    let Some(directory) = shared("data") else { return Vec::new() };
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Compact JSON of a document's root.
pub(crate) fn print(document: &livebuf::DocBuf) -> String {
    livebuf_json::to_string(document.valid().unwrap().root()).unwrap()
}

/// Reads, prints, and compares value, order and numbers; then reads what was printed
/// and compares the bytes of both documents.
pub(crate) fn round_trip(text: &[u8]) {
    let document = livebuf_json::from_slice(text).unwrap();
    let printed = print(&document);
    let before = Tree::parse(std::str::from_utf8(text).unwrap()).unwrap();
    let after = Tree::parse(&printed).unwrap();
    assert!(before.same(&after), "{before:.200?}\n{after:.200?}");
    let again = livebuf_json::from_str(&printed).unwrap();
    assert!(
        document.as_bytes() == again.as_bytes(),
        "other bytes after a round trip of {printed:.200}"
    );
    assert_eq!(print(&again), printed);
    let pretty = livebuf_json::to_string_pretty(document.valid().unwrap().root()).unwrap();
    let again = livebuf_json::from_str(&pretty).unwrap();
    assert!(document.as_bytes() == again.as_bytes(), "other bytes from pretty text");
}
