//! Any JSON text, against serde_json: accepted or refused alike, the same
//! value, and text to document to text to document gives the same bytes.

use serde_json::Value;

/// Pieces that JSON is made of, so that random bytes often make some.
const TOKENS: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\"a\"",
    "\"b\"",
    "\"a longer key\"",
    "\"a\":",
    "\"b\":",
    "\"a longer key\":",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "127",
    "255",
    "256",
    "65536",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1.5",
    "0.1",
    "1e5",
    "1e400",
    "1e-400",
    "0.12345678901234567890",
    "12345678901234567890123",
    "\"\\u00e9\\n\"",
    "\"\\ud800\"",
    " ",
    "\n",
    "\"text of some length\"",
];

/// Odd first byte: the rest is text as it is. Even: each byte names a token.
pub fn run(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    if first % 2 == 1 {
        return check(rest);
    }
    let text: String = rest.iter().map(|&byte| TOKENS[byte as usize % TOKENS.len()]).collect();
    check(text.as_bytes());
}

fn check(text: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(text);
    let doc = match (livebuf_json::from_slice(text), &theirs) {
        (Ok(doc), _) => doc,
        (Err(_), Err(_)) => return,
        (Err(error), Ok(_)) => panic!("{error}: serde_json accepts it"),
    };
    doc.doc().validate().expect("what was converted is valid");
    let printed = livebuf_json::to_vec(doc.doc().root()).expect("it prints");
    match theirs {
        Ok(value) => {
            let again: Value = serde_json::from_slice(&printed).expect("what is printed is JSON");
            assert_eq!(again, value);
        }
        // Numbers beyond doubles and deep nesting are kept here and refused there.
        Err(error) => {
            let message = error.to_string();
            let beyond =
                ["out of range", "recursion limit"].iter().any(|why| message.contains(why));
            assert!(beyond, "{message}: accepted here");
        }
    }
    let again = livebuf_json::from_slice(&printed).expect("what is printed converts");
    assert_eq!(again.as_bytes(), doc.as_bytes());
}
