//! Column scans against the plain path: the same rows in documents with tables and without.

use livebuf::{ColumnType, DocBuf, EncodeOptions, Encoder, Mode, TensorRef, Value};
use livebuf_query::Query;
use serde_json::{Value as Json, json};

fn put(encoder: &mut Encoder, value: &Json) {
    match value {
        Json::Null => encoder.null(),
        Json::Bool(value) => encoder.bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => encoder.i64(value),
            (_, Some(value)) => encoder.u64(value),
            _ => encoder.f64(number.as_f64().unwrap()),
        },
        Json::String(text) => encoder.str(text),
        Json::Array(elements) => {
            encoder.begin_array().unwrap();
            elements.iter().for_each(|element| put(encoder, element));
            encoder.end_array()
        }
        Json::Object(members) => {
            encoder.begin_object().unwrap();
            for (key, value) in members {
                encoder.key(key).unwrap();
                put(encoder, value);
            }
            encoder.end_object()
        }
    }
    .unwrap();
}

fn document(value: &Json, tables: bool) -> DocBuf {
    let mut encoder = Encoder::with_options(EncodeOptions { tables, ..EncodeOptions::default() });
    put(&mut encoder, value);
    encoder.finish().unwrap()
}

fn found<'d, M: Mode>(query: &Query, root: Value<'d, M>) -> Vec<String> {
    let text = |value: Value<'d, M>| livebuf_json::to_string(value).unwrap();
    let placed: Vec<_> = query
        .find(root)
        .map(|found| found.unwrap())
        .map(|found| format!("{} {}", found.location(), text(found.value())))
        .collect();
    let values: Vec<_> = query.values(root).map(|value| text(value.unwrap())).collect();
    assert_eq!(placed.len(), values.len(), "{query}");
    for (placed, value) in placed.iter().zip(values) {
        assert!(placed.ends_with(&format!(" {value}")), "{query}");
    }
    placed
}

fn compare(rows: &DocBuf, plain: &DocBuf, literals: &[&str], fields: &[&str]) -> usize {
    let mut total = 0;
    for field in fields {
        for comparison in ["==", "!=", "<", "<=", ">", ">="] {
            for literal in literals {
                for text in [
                    format!("$[?@{field} {comparison} {literal}]"),
                    format!("$[?{literal} {comparison} @{field}]{field}"),
                    format!("$[?@{field} {comparison} {literal} && @{field}]{field}"),
                    format!("$[?@.n >= 3 && !(@{field} {comparison} {literal})].n"),
                    format!("$[?@{field} {comparison} {literal} || @.n == 2]..*"),
                ] {
                    let query = Query::parse(&text).unwrap();
                    let wanted = found(&query, plain.doc().root());
                    assert_eq!(found(&query, rows.doc().root()), wanted, "{query}");
                    assert_eq!(found(&query, rows.valid().unwrap().root()), wanted, "{query}");
                    total += wanted.len();
                }
            }
        }
    }
    total
}

const LITERALS: [&str; 16] = [
    "0",
    "3",
    "-1",
    "2.5",
    "1e2",
    "127",
    "255.5",
    "9007199254740992",
    "9007199254740992.0",
    "9007199254740993",
    "18446744073709551615",
    "1e400",
    "'open'",
    "''",
    "null",
    "true",
];

/// A table of this field beside a number, and the same without tables.
fn with_field(value: impl Fn(usize) -> Option<Json>) -> [DocBuf; 2] {
    let row = |at: usize| match value(at) {
        Some(value) => json!({"n": at, "f": value}),
        None => json!({"n": at}),
    };
    // Fewer farther on, so that all comparisons are quick; 127 is there.
    let rows = Json::Array((0..22).chain((22..150).step_by(7)).map(row).collect());
    let (table, plain) = (document(&rows, true), document(&rows, false));
    let array = table.valid().unwrap().root().as_array().unwrap();
    assert!(array.table().is_some(), "no table: {rows}");
    [table, plain]
}

#[test]
fn columns_of_every_kind_answer_as_rows_do() {
    let texts = ["open", "closed for good", "", "held"];
    let fields: [&dyn Fn(usize) -> Option<Json>; 14] = [
        &|at| Some(json!(at)),
        &|at| Some(json!(at as i64 * 7 - 300)),
        &|at| Some(json!(at as f64 / 4.0)),
        &|at| (at % 3 > 0).then(|| json!(at)),
        &|at| Some(if at % 3 > 0 { json!(at) } else { Json::Null }),
        &|at| (at % 3 > 0).then(|| json!(at as f64 - 2.5)),
        &|at| Some(json!((1u64 << 53) + at as u64 % 4 - 1)),
        &|at| Some(json!(((1u64 << 53) - 2) as f64 + (at % 4) as f64)),
        &|at| Some(json!(u64::MAX - at as u64 % 3)),
        &|at| Some(json!(texts[at % 4])),
        &|at| Some(json!(format!("{} {at}", texts[at % 4]))),
        &|at| Some(json!(at % 2 == 0)),
        &|at| {
            Some(match at % 6 {
                0 => json!(at),
                1 => json!("open"),
                2 => json!(at as f64 + 0.5),
                3 => Json::Null,
                4 => json!([at]),
                _ => json!({"g": at}),
            })
        },
        &|at| (at % 5 > 1).then(|| json!(texts[at % 4])),
    ];
    for field in fields {
        let [table, plain] = with_field(field);
        assert!(compare(&table, &plain, &LITERALS, &[".f"]) > 130);
    }
}

#[test]
fn fields_of_objects_in_rows_are_columns_too() {
    let [table, plain] = with_field(|at| match at % 7 {
        0 => None,
        1 => Some(Json::Null),
        2 => Some(json!({"g": at})),
        3 => Some(json!({"g": null, "h": {"i": at}})),
        _ => Some(json!({"g": at as i64 - 60, "h": {"i": 1.5}})),
    });
    compare(&table, &plain, &LITERALS, &[".f.g", ".f.h.i", ".f.h", ".f.missing", ".f.g.h"]);
    for text in
        ["$[*].f.g", "$[*].f.h.i", "$[*].f.g.x", "$[*].f", "$..i", "$[*].f.*", "$[*]['f'].h"]
    {
        let query = Query::parse(text).unwrap();
        assert_eq!(found(&query, table.doc().root()), found(&query, plain.doc().root()), "{text}");
    }
}

/// Null rows, further fields, holes and other orders of keys come about by edits.
#[test]
fn edited_tables_answer_as_rows_do() {
    let [mut table, mut plain] = with_field(|at| Some(json!({"g": at, "t": "open"})));
    for doc in [&mut table, &mut plain] {
        doc.set_pointer("/3", ()).unwrap();
        doc.set_pointer("/4/further", 5).unwrap();
        doc.set_pointer("/5/f/further", "open").unwrap();
        doc.set_pointer("/6/f", "open").unwrap();
        doc.set_pointer("/7/f/g", 2.5).unwrap();
        doc.remove_pointer("/8/f").unwrap();
        doc.remove_pointer("/9/n").unwrap();
        doc.set_pointer("/9/n", 3).unwrap();
        doc.set_pointer("/10", "no object").unwrap();
        doc.set_pointer("/11/f", ()).unwrap();
        doc.set_pointer("/-", &livebuf::json!({"f": {"t": "open", "g": 3}, "n": 1})).unwrap();
    }
    compare(&table, &plain, &LITERALS, &[".f.g", ".f", ".further", ".f.further", ".f.t", ".n"]);
}

#[test]
fn tensors_are_arrays_to_queries() {
    let numbers = [1.5f32, -2.0, 3.0, 4.5, 5.0, 6.25];
    let mut encoder = Encoder::new();
    let bytes = numbers.map(f32::to_le_bytes).concat();
    encoder.tensor(TensorRef::from_bytes(ColumnType::F32, &[3, 2], &bytes).unwrap()).unwrap();
    let tensor = encoder.finish().unwrap();
    let plain = document(&json!([[1.5, -2.0], [3.0, 4.5], [5.0, 6.25]]), true);
    for (text, count) in [
        ("$[*][1]", 3),
        ("$..*", 9),
        ("$[?@[0] >= 3]", 2),
        ("$[?@[1] != 4.5][0]", 2),
        ("$[::-1][?@ > 3]", 3),
        ("$[?@ == $[1]]", 1),
        ("$[?length(@) == 2][-1:]", 3),
    ] {
        let query = Query::parse(text).unwrap();
        let wanted = found(&query, plain.doc().root());
        assert_eq!(wanted.len(), count, "{text}");
        assert_eq!(found(&query, tensor.doc().root()), wanted, "{text}");
        assert_eq!(found(&query, tensor.valid().unwrap().root()), wanted, "{text}");
    }
}
