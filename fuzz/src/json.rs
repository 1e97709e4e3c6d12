//! Any JSON text, against serde_json: accepted or refused alike, every value
//! exactly, in order; and printed, it is read as the same bytes again. Half surrogates are
//! replaced or refused, and the text is read as lines, too: as values one after another, cut
//! short at each byte, and line by line.

use crate::tree::Tree;
use livebuf::{DuplicateKeys, Extended, Kind};
use livebuf_json::{
    ErrorKind, NonFinite, NumberPolicy, PrintOptions, ReadOptions, Surrogates, documents,
    from_lines, from_lines_skipping, from_slice, from_slice_with, to_string_with, to_vec,
};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Nesting that is accepted.
const DEPTH: usize = 1_000;

/// A byte order mark.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Pieces that JSON is made of, so that random bytes often make some.
const TOKENS: [&str; 64] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    ",",
    "\"",
    "\"a\"",
    "\"b\"",
    "\"\"",
    "\"a\":",
    "\"a\":",
    "\"b\":",
    "\"a longer key\":",
    "\"key\\u0020escaped\":",
    "null",
    "true",
    "false",
    "nul",
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "00",
    "-",
    "127",
    "255",
    "256",
    "65536",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1.5",
    "0.1",
    ".5",
    "1.",
    "1e5",
    "E+2",
    "e-3",
    "1e400",
    "-1e-400",
    "2.2250738585072014e-308",
    "0.12345678901234567",
    "0.123456789012345678",
    "100000000000000000000",
    "12345678901234567890123",
    "0e999999999999",
    "\"\\u00e9\\n\\/\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\\udbffx\\uDE00\"",
    "\"é√😀\u{7f}\"",
    "\"\t\"",
    "\"\\x\"",
    " ",
    "\n",
    "\r\t",
    "\u{feff}",
    "\"text of some length\"",
];

/// The first byte chooses the text, and the question about it: one for each input, so that many texts are
/// tried.
///
/// # Panics
/// Where the two disagree.
pub fn run(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let text = text_of(first, rest);
    crate::note(|| String::from_utf8_lossy(&text).into_owned());
    match first / 4 % 8 {
        0 => sequence(&text, Surrogates::Error),
        1 => sequence(&text, Surrogates::Replace),
        2 => lines(&text, Surrogates::Error),
        3 => lines(&text, Surrogates::Replace),
        4 => replaced(&text),
        _ => value(&text),
    }
}

/// Bytes as they are; a token for each; or a value in an array or object for each, so that most of it is
/// sound.
fn text_of(first: u8, rest: &[u8]) -> Vec<u8> {
    let token = |byte: &u8| TOKENS[usize::from(*byte) % TOKENS.len()];
    match first % 4 {
        0 => rest.to_vec(),
        1 => rest.iter().map(token).collect::<String>().into_bytes(),
        2 => {
            let values: Vec<_> = rest.iter().map(|byte| sound(*byte)).collect();
            format!("[{}]", values.join(",")).into_bytes()
        }
        _ => {
            let mut text = String::new();
            let mut open = Vec::new();
            for byte in rest {
                let separator = match text.as_bytes().last() {
                    None | Some(b'[' | b'{') => "",
                    _ => ",",
                };
                match (byte % 8, open.last()) {
                    (0, _) => {
                        text.push_str(&format!("{separator}{}[", name(byte, open.last())));
                        open.push(']');
                    }
                    (1, _) => {
                        text.push_str(&format!("{separator}{}{{", name(byte, open.last())));
                        open.push('}');
                    }
                    (2, Some(_)) => text.extend(open.pop()),
                    (3, _) => {
                        let name = name(byte, open.last());
                        text.push_str(&format!("{separator}{name}{}.", byte % 3));
                        // Around the length from which a number keeps its text.
                        text.extend(std::iter::repeat_n('7', 1 + usize::from(byte / 8)));
                    }
                    _ => {
                        let name = name(byte, open.last());
                        text.push_str(&format!("{separator}{name}{}", sound(*byte)));
                    }
                }
            }
            text.extend(open.into_iter().rev());
            format!("[{text}]").into_bytes()
        }
    }
}

/// A token that is a value by itself, but for one byte in 256.
fn sound(byte: u8) -> &'static str {
    static SOUND: OnceLock<Vec<&str>> = OnceLock::new();
    let sound = SOUND.get_or_init(|| {
        let values = TOKENS
            .iter()
            .filter(|token| Expected::read(token.as_bytes(), Surrogates::Error).is_ok());
        values.copied().collect()
    });
    if byte == 255 { "00" } else { sound[usize::from(byte) % sound.len()] }
}

fn name(byte: &u8, open: Option<&char>) -> String {
    match open {
        Some('}') => format!("\"key {}\":", byte / 16),
        _ => String::new(),
    }
}

/// Asks everything about one text.
///
/// # Panics
/// Where the two disagree.
pub fn check(text: &[u8]) {
    for surrogates in [Surrogates::Error, Surrogates::Replace] {
        sequence(text, surrogates);
        lines(text, surrogates);
    }
    replaced(text);
    value(text);
}

/// The text as one value.
fn value(text: &[u8]) {
    let unmarked = text.strip_prefix(MARK).unwrap_or(text);
    let expected = Expected::read(unmarked, Surrogates::Error);
    let doc = match (from_slice(text), expected) {
        (Ok(doc), Ok(expected)) => {
            let found = Tree::of_valid(doc.valid().expect("ours").root());
            assert!(found.same(&expected.tree), "{found:?} for {:?}", expected.tree);
            let refused =
                from_slice_with(text, &ReadOptions::new().duplicate_keys(DuplicateKeys::Error));
            match refused {
                Ok(_) => assert!(!expected.doubled, "a key twice was accepted"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
                    assert!(expected.doubled, "a key twice was found");
                }
            }
            literals(text);
            doc
        }
        (Err(error), Err(refusal)) => {
            let deep = error.kind() == ErrorKind::NestingLimit;
            assert_eq!(deep, refusal == Refusal::Deep, "{error}");
            let position = error.position().expect("an error has its place");
            assert!(position.offset <= text.len() as u64, "{error}");
            return;
        }
        (Err(error), Ok(_)) => panic!("{error}: serde_json accepts it"),
        (Ok(_), Err(refusal)) => panic!("accepted, but {refusal:?}"),
    };
    doc.doc().validate().expect("what was converted is valid");
    let printed = to_vec(doc.doc().root()).expect("it prints");
    let again = from_slice(&printed).expect("what is printed converts");
    assert!(again.as_bytes() == doc.as_bytes(), "printed and read, other bytes");
    let pretty = to_string_with(doc.doc().root(), &PrintOptions::pretty()).expect("it prints");
    let again = from_slice(pretty.as_bytes()).expect("what is printed converts");
    assert!(again.as_bytes() == doc.as_bytes(), "printed over lines and read, other bytes");
    let limited = PrintOptions::new().max_bytes(printed.len() as u64);
    assert!(to_string_with(doc.doc().root(), &limited).is_ok(), "as long as it is");
    let limited = PrintOptions::new().max_bytes(printed.len() as u64 - 1);
    let error = to_string_with(doc.doc().root(), &limited).expect_err("a byte too few");
    assert_eq!(error.kind(), ErrorKind::OutputLimit);
}

/// With all texts kept, each number is printed as it was written.
fn literals(text: &[u8]) {
    let options = ReadOptions::new().numbers(NumberPolicy::AllText);
    let doc = from_slice_with(text, &options).expect("accepted as before");
    let found = Tree::of_valid(doc.valid().expect("ours").root());
    let unmarked = text.strip_prefix(MARK).unwrap_or(text);
    let expected = Expected::literal(unmarked).expect("accepted as before");
    assert!(found.same(&expected.tree), "{found:?} for {:?}", expected.tree);
}

/// With half surrogates replaced, the text is refused or read as serde_json has it.
fn replaced(text: &[u8]) {
    let options = ReadOptions::new().surrogates(Surrogates::Replace);
    let unmarked = text.strip_prefix(MARK).unwrap_or(text);
    match (from_slice_with(text, &options), Expected::read(unmarked, Surrogates::Replace)) {
        (Ok(doc), Ok(expected)) => {
            let found = Tree::of_valid(doc.valid().expect("ours").root());
            assert!(found.same(&expected.tree), "{found:?} for {:?}", expected.tree);
        }
        (Err(_), Err(_)) => {}
        (found, expected) => panic!("{found:?} for {:?}", expected.map(|expected| expected.tree)),
    }
}

/// Values one after another, as one array and as a document each; and again where the text is cut.
fn sequence(text: &[u8], surrogates: Surrogates) {
    let options = ReadOptions::new().surrogates(surrogates);
    let (expected, is_whole) = Expected::sequence(text, surrogates);
    let each: Vec<_> = documents(text, &options).collect();
    let sound = each.iter().map_while(|doc| doc.as_ref().ok());
    let found: Vec<_> =
        sound.map(|doc| Tree::of_valid(doc.valid().expect("ours").root())).collect();
    let found = Tree::Array(found);
    assert!(found.same(&expected), "{found:?} for {expected:?}");
    assert_eq!(each.last().is_none_or(Result::is_ok), is_whole, "{:?}", each.last());
    let all = |text| {
        let doc = from_lines(text, &options)?;
        Ok::<_, livebuf_json::Error>(Tree::of_valid(doc.valid().expect("ours").root()))
    };
    match all(text) {
        Ok(found) => assert!(is_whole && found.same(&expected), "{found:?} for {expected:?}"),
        Err(error) if is_whole => assert_eq!(error.kind(), ErrorKind::NestingLimit),
        Err(error) => {
            // What is before the value that is wrong is whole.
            let value = error.value_position().expect("a place").offset as usize;
            let before = all(&text[..value]).expect("whole values");
            assert!(before.same(&expected), "{before:?} for {expected:?}");
            return;
        }
    }
    if surrogates == Surrogates::Replace {
        return;
    }
    // Every eighth byte, first of all another one for each text.
    let first = text.iter().fold(0, |sum, &byte| sum + usize::from(byte)) % 8;
    for cut in (first..text.len()).step_by(8 + text.len() / 64) {
        let Err(error) = all(&text[..cut]) else { continue };
        // A character may be cut, too.
        assert!(error.kind() != ErrorKind::Syntax || text[cut] & 0xC0 == 0x80, "{error}");
        let value = error.value_position().expect("a place").offset as usize;
        let (Ok(before), Ok(behind)) = (all(&text[..value]), all(&text[value..])) else {
            assert_eq!(error.kind(), ErrorKind::NestingLimit);
            continue;
        };
        let (Tree::Array(mut both), Tree::Array(behind)) = (before, behind) else { panic!() };
        both.extend(behind);
        assert!(Tree::Array(both).same(&expected), "cut at {cut}: {error}");
    }
}

/// Each line by itself, and those skipped that are no JSON.
fn lines(text: &[u8], surrogates: Surrogates) {
    let options = ReadOptions::new().surrogates(surrogates);
    let is_blank = |line: &&[u8]| line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !is_blank(line));
    let expected: Vec<_> = lines
        .map(|line| Expected::read(line.strip_prefix(MARK).unwrap_or(line), surrogates))
        .collect();
    let each: Vec<_> = documents(text, &options).each_line().collect();
    assert_eq!(each.len(), expected.len());
    for (found, expected) in each.iter().zip(&expected) {
        match (found, expected) {
            (Ok(doc), Ok(expected)) => {
                let found = Tree::of_valid(doc.valid().expect("ours").root());
                assert!(found.same(&expected.tree), "{found:?} for {:?}", expected.tree);
            }
            (Err(_), Err(_)) => {}
            _ => panic!("{found:?}: another verdict"),
        }
    }
    let mut skipped = Vec::new();
    let skip = |error: livebuf_json::Error| skipped.push(error);
    let found = from_lines_skipping(text, &options, skip).expect("few lines");
    let found = Tree::of_valid(found.valid().expect("ours").root());
    // In the array there is a level less for the elements.
    let deep = |error: &livebuf_json::Error| error.kind() == ErrorKind::NestingLimit;
    if !skipped.iter().any(deep) {
        let sound = expected.into_iter().flatten().map(|expected| expected.tree).collect();
        assert!(found.same(&Tree::Array(sound)), "{found:?}");
        let wrong = each.into_iter().filter_map(Result::err);
        assert!(
            wrong.map(|error| error.position()).eq(skipped.iter().map(|error| error.position()))
        );
    }
}

// --- what serde_json says ---------------------------------------------------

/// Why serde_json, or the limit of nesting, refuses a text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusal {
    NotJson,
    Deep,
}

/// A text's value, taken apart level by level, every literal at hand.
struct Expected {
    tree: Tree,
    /// A key occurs twice in one object.
    doubled: bool,
    all_text: bool,
    surrogates: Surrogates,
}

impl Expected {
    fn read(text: &[u8], surrogates: Surrogates) -> Result<Expected, Refusal> {
        Self::read_as(text, surrogates, false)
    }

    fn literal(text: &[u8]) -> Result<Expected, Refusal> {
        Self::read_as(text, Surrogates::Error, true)
    }

    fn read_as(text: &[u8], surrogates: Surrogates, all_text: bool) -> Result<Expected, Refusal> {
        let raw: &RawValue = serde_json::from_slice(text).map_err(|_| Refusal::NotJson)?;
        let mut expected = Expected { tree: Tree::Null, doubled: false, all_text, surrogates };
        expected.tree = expected.value(raw.get(), 0)?;
        Ok(expected)
    }

    /// An array of the values that follow one another, as far as they are sound, and whether all are.
    fn sequence(mut text: &[u8], surrogates: Surrogates) -> (Tree, bool) {
        let space = |text: &[u8]| {
            text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
        };
        let mut values = Vec::new();
        loop {
            text = &text[space(text)..];
            text = text.strip_prefix(MARK).unwrap_or(text);
            let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
            let value = match stream.next() {
                None => return (Tree::Array(values), true),
                Some(Ok(raw)) => Expected::read(raw.get().as_bytes(), surrogates),
                Some(Err(_)) => return (Tree::Array(values), false),
            };
            text = &text[stream.byte_offset()..];
            // serde_json says of a comma behind a number that the next value is wrong.
            match (value, text.first()) {
                (Ok(value), None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'{' | b'[' | b'"')) => {
                    values.push(value.tree);
                }
                (Ok(value), _)
                    if matches!(
                        value.tree,
                        Tree::Array(_) | Tree::Object(..) | Tree::String(_)
                    ) =>
                {
                    values.push(value.tree);
                }
                _ => return (Tree::Array(values), false),
            }
        }
    }

    /// The text of a string, halves of surrogate pairs replaced or refused.
    fn text(&self, Wtf8(mut text): Wtf8) -> Result<String, Refusal> {
        for at in 0..text.len().saturating_sub(2) {
            if self.surrogates == Surrogates::Replace && text[at] == 0xED && text[at + 1] >= 0xA0 {
                text[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
            }
        }
        String::from_utf8(text).map_err(|_| Refusal::NotJson)
    }

    fn value(&mut self, text: &str, depth: usize) -> Result<Tree, Refusal> {
        let refused = |_| Refusal::NotJson;
        Ok(match text.as_bytes().first() {
            Some(b'n') => Tree::Null,
            Some(b't') => Tree::Bool(true),
            Some(b'f') => Tree::Bool(false),
            Some(b'"') => Tree::String(self.text(serde_json::from_str(text).map_err(refused)?)?),
            Some(b'[') if depth < DEPTH => {
                let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(refused)?;
                let elements = elements.into_iter().map(|raw| self.value(raw.get(), depth + 1));
                Tree::Array(elements.collect::<Result<_, _>>()?)
            }
            Some(b'{') if depth < DEPTH => {
                let raw: Members<'_> = serde_json::from_str(text).map_err(refused)?;
                let mut places = HashMap::new();
                let mut members: Vec<(String, Tree)> = Vec::new();
                for (key, raw) in raw.0 {
                    let key = self.text(key)?;
                    let value = self.value(raw.get(), depth + 1)?;
                    // The last of equal keys wins, at the place of the first.
                    match places.get(&key) {
                        Some(&place) => {
                            self.doubled = true;
                            let member: &mut (String, Tree) = &mut members[place];
                            member.1 = value;
                        }
                        None => {
                            places.insert(key.clone(), members.len());
                            members.push((key, value));
                        }
                    }
                }
                Tree::Object(members, false)
            }
            Some(b'[' | b'{') => return Err(Refusal::Deep),
            _ if self.all_text => Tree::Number(text.to_owned()),
            _ => number(text),
        })
    }
}

/// What a JSON number becomes (DESIGN principle 7).
pub fn number(literal: &str) -> Tree {
    let mantissa = literal.split(['e', 'E']).next().unwrap_or_default();
    if !literal.contains(['.', 'e', 'E']) && literal != "-0" {
        if let Ok(value) = literal.parse() {
            return Tree::Int(value);
        }
        return literal.parse().map_or_else(|_| Tree::Number(literal.to_owned()), Tree::Uint);
    }
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_start_matches('0').len();
    let value: f64 = literal.parse().expect("a JSON number");
    if significant <= 17 && value.is_finite() && (value != 0.0 || significant == 0) {
        Tree::Float(value.to_bits())
    } else {
        Tree::Number(literal.to_owned())
    }
}

/// An object's members as they are written, equal keys too.
struct Members<'t>(Vec<(Wtf8, &'t RawValue)>);

/// The text of a string, in which halves of surrogate pairs stand by themselves.
struct Wtf8(Vec<u8>);

impl<'t> serde::Deserialize<'t> for Wtf8 {
    fn deserialize<D: serde::Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Wtf8;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("text")
            }

            fn visit_bytes<E: serde::de::Error>(self, text: &[u8]) -> Result<Wtf8, E> {
                Ok(Wtf8(text.to_owned()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

impl<'t> serde::Deserialize<'t> for Members<'t> {
    fn deserialize<D: serde::Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'t> serde::de::Visitor<'t> for Visitor {
            type Value = Members<'t>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'t>>(
                self,
                mut map: A,
            ) -> Result<Members<'t>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

// --- what documents print ---------------------------------------------------

/// Prints any document: bounded; what is valid is read as the same value again.
///
/// # Panics
/// Where it is not.
pub fn printed(doc: livebuf::Doc<'_>, tree: Option<&Tree>) {
    let options = PrintOptions::new().non_finite(NonFinite::Null).max_bytes(1 << 16);
    let text = to_string_with(doc.root(), &options);
    let _ = to_string_with(doc.root(), &options.clone().indent("\t").nesting(20));
    let (Ok(text), Some(tree)) = (&text, tree) else {
        if let (Err(error), Some(tree)) = (&text, tree) {
            let long = error.kind() == ErrorKind::OutputLimit;
            assert!(long || tree.has_reserved(), "{error}");
        }
        return;
    };
    if tree.height() <= DEPTH {
        let again = from_slice(text.as_bytes()).expect("what is printed converts");
        let found = Tree::of_valid(again.valid().expect("ours").root());
        let expected = as_json(tree);
        assert!(found.same(&expected), "{text} for {expected:?}");
    }
    assert_eq!(doc.root().kind() == Kind::Object, text.starts_with('{'));
}

/// What a value is once it was JSON.
fn as_json(tree: &Tree) -> Tree {
    match tree {
        Tree::Array(elements) => Tree::Array(elements.iter().map(as_json).collect()),
        Tree::Object(members, map) => Tree::Object(
            members.iter().map(|(key, value)| (key.clone(), as_json(value))).collect(),
            *map,
        ),
        Tree::Bytes(bytes) => Tree::String(base64(bytes)),
        Tree::Float(bits) if !f64::from_bits(*bits).is_finite() => Tree::Null,
        Tree::Number(text) => number(text),
        Tree::Extended(value @ Extended::Decimal(_)) => number(&value.to_string()),
        Tree::Extended(value) => Tree::String(value.to_string()),
        Tree::Tensor(numbers) => as_json(&numbers.plain()),
        other => other.clone(),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            let padding = digit > three.len();
            text.push(if padding { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    text
}
