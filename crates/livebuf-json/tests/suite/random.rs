//! Random text against serde_json: the same verdict, the same value.

use proptest::prelude::*;

use crate::tree::{Tree, round_trip};

/// JSON text of any kind, with white space and odd numbers.
fn json() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<i64>().prop_map(|value| value.to_string()),
        any::<u64>().prop_map(|value| value.to_string()),
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| format!("{value:?}")),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
    ];
    let string = prop_oneof![
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        "\"(\\\\(n|t|u00[0-9a-f]{2}|\"|\\\\|/)|[a-z ]|é|😀){0,20}\"",
    ];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number,
        string.clone()
    ];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        let space = "[ \t\r\n]{0,3}";
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..8), space).prop_map(
                |(elements, space)| format!(
                    "[{space}{}]{space}",
                    elements.join(&format!("{space},"))
                )
            ),
            (proptest::collection::vec((string.clone(), inner), 0..8), space).prop_map(
                |(entries, space)| {
                    let entries: Vec<_> = entries
                        .iter()
                        .map(|(key, value)| format!("{key}{space}:{value}"))
                        .collect();
                    format!("{{{space}{}}}", entries.join(","))
                }
            ),
        ]
    })
}

/// Whether serde_json takes it for JSON, numbers beyond f64 included.
fn is_json(text: &[u8]) -> bool {
    // RawValue checks strings' syntax, not their surrogates; Tree looks at every string.
    std::str::from_utf8(text).is_ok_and(|text| Tree::parse(text).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn json_survives(text in json()) {
        round_trip(text.as_bytes());
    }

    #[test]
    fn changed_json_gets_the_same_verdict(text in json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut text = text.into_bytes();
        let at = at.index(text.len());
        if cut { text.truncate(at) } else { text[at] = byte }
        let read = livebuf_json::from_slice(&text);
        prop_assert_eq!(read.is_ok(), is_json(&text), "{:?}", String::from_utf8_lossy(&text));
        if read.is_ok() {
            round_trip(&text);
        }
    }

    #[test]
    fn any_bytes_get_the_same_verdict(text in proptest::collection::vec(
        prop_oneof![4 => prop::sample::select(&b"{}[]\",:\\0123456789-+.eEtrufalsn \n"[..]), 1 => any::<u8>()], 0..24)) {
        let read = livebuf_json::from_slice(&text);
        prop_assert_eq!(read.is_ok(), is_json(&text), "{:?}", String::from_utf8_lossy(&text));
        if read.is_ok() {
            round_trip(&text);
        }
    }
}
