//! Random text against serde_json: the same verdict, the same value.

use proptest::prelude::*;

use crate::tree::{Tree, round_trip};
use livebuf_fuzz::one_of;

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

/// An array whose elements have one pattern, with some values null, members missing, and
/// containers of other kinds among them: most become columns.
fn rows() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i8>().prop_map(|value| value.to_string()),
        any::<f32>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| format!("{value:?}")),
        Just("\"a text \\n\"".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
    ];
    let pattern = leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0..4usize)
                .prop_map(|(value, count)| format!("[{}]", vec![value; count].join(","))),
            proptest::collection::vec(inner, 1..4).prop_map(|values| {
                let members = values.iter().enumerate();
                let members = members.map(|(key, value)| format!("\"key {key}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    });
    let odd = prop_oneof![
        Just("null".to_owned()),
        Just("[1,[2]]".to_owned()),
        Just("{\"key 1\":{\"other\":[[]]}}".to_owned()),
        Just("7".to_owned()),
    ];
    let odds = proptest::collection::vec((any::<prop::sample::Index>(), odd), 0..3);
    (pattern, 1..60usize, odds, any::<bool>()).prop_map(|(pattern, count, odds, within)| {
        let mut rows: Vec<_> = (0..count)
            .map(|row| pattern.replace("true", if row % 3 == 0 { "true" } else { "null" }))
            .map(|row| if row.len() % 2 == 0 { row.replace("\"key 2\"", "\"key 3\"") } else { row })
            .collect();
        for (at, odd) in odds {
            let at = at.index(count);
            rows[at] = if within { rows[at].replacen("null", &odd, 1) } else { odd };
        }
        format!("[{}]", rows.join(","))
    })
}

/// Maps that may be of similar objects, in records that may hold other things before and behind.
fn maps() -> impl Strategy<Value = String> {
    let texts = ["a text that repeats", "another text", "12345678", "short"];
    let odd = prop_oneof![
        6 => Just(None),
        1 => Just(Some("7")),
        2 => Just(Some("null")),
        2 => Just(Some(r#"{"name":"a text that repeats","n":[1,2],"o":{"p":"another text"}}"#)),
        2 => Just(Some(r#"{"n":2.5,"name":"another order of keys"}"#)),
        1 => Just(Some("[]")),
        1 => Just(Some("double")),
    ];
    let map = (240..600usize, odd, any::<prop::sample::Index>(), 0..4usize).prop_map(
        move |(count, odd, at, text)| {
            let row =
                |n: usize| format!(r#"{{"name":"{}","n":{}}}"#, texts[(n + text) % 4], n % 300);
            let mut members: Vec<_> =
                (0..count).map(|n| format!(r#""key {n:07}":{}"#, row(n))).collect();
            let at = at.index(count);
            match odd {
                Some("double") => members.push(format!(r#""key {at:07}":{}"#, row(at + 1))),
                Some(odd) => members[at] = format!(r#""odd":{odd}"#),
                None => {}
            }
            format!("{{{}}}", members.join(","))
        },
    );
    let part = prop_oneof![
        3 => map,
        1 => Just(r#""a text that repeats""#.to_owned()),
        1 => Just(r#"{"name":"a text that repeats","n":1}"#.to_owned()),
        1 => Just(r#"[{"name":"short","n":1},{"name":"short","n":2}]"#.to_owned()),
    ];
    part.prop_recursive(2, 8, 4, |inner| {
        proptest::collection::vec(inner, 1..5).prop_map(|parts| {
            let members = parts.iter().enumerate();
            let members = members.map(|(key, value)| format!("\"part {key}\":{value}"));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        })
    })
}

/// Whether serde_json takes it for JSON, numbers beyond f64 included.
fn is_json(text: &[u8]) -> bool {
    // RawValue checks strings' syntax, not their surrogates; Tree looks at every string.
    std::str::from_utf8(text).is_ok_and(|text| Tree::parse(text).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000 / one_of(4) as u32))]

    #[test]
    fn json_survives(text in json()) {
        round_trip(text.as_bytes());
    }

    /// Rows are printed by columns: as the same objects by themselves are.
    #[test]
    fn rows_are_printed_as_objects(text in rows()) {
        let plain = livebuf_json::ReadOptions::new().tables(false);
        let plain = livebuf_json::from_slice_with(text.as_bytes(), &plain).unwrap();
        let rows = livebuf_json::from_str(&text).unwrap();
        let (plain, checked) = (plain.valid().unwrap().root(), rows.doc().root());
        let rows = rows.valid().unwrap().root();
        let printed = livebuf_json::to_string(plain).unwrap();
        prop_assert_eq!(&printed, &livebuf_json::to_string(rows).unwrap());
        prop_assert_eq!(&printed, &livebuf_json::to_string(checked).unwrap());
        let printed = livebuf_json::to_string_pretty(plain).unwrap();
        prop_assert_eq!(printed, livebuf_json::to_string_pretty(rows).unwrap());
    }

    #[test]
    fn changed_json_gets_the_same_verdict(text in json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut text = text.into_bytes();
        let at = at.index(text.len());
        if cut { text.truncate(at) } else { text[at] = byte }
        // With all options, and as lines.
        livebuf_fuzz::json::check(&text);
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300 / one_of(4) as u32))]

    /// Whether a map is of similar objects is expected after 255 members, and known at its end.
    /// The bytes are those of an encoder that knew it before.
    #[test]
    fn maps_get_the_same_bytes_however_they_were_expected(text in maps()) {
        round_trip(text.as_bytes());
        let document = livebuf_json::from_str(&text).unwrap();
        let mut encoder = livebuf::Encoder::new();
        encoder.value(&document.doc().root()).unwrap();
        prop_assert!(encoder.finish().unwrap().as_bytes() == document.as_bytes());
    }
}
