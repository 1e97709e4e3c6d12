//! The format's vectors (`testdata/vectors/`), and that FORMAT's worked
//! example is what the encoder writes.

use crate::refused::{accepted, refused};
use livebuf::{
    ColumnType, Date, DateTime, Decimal, Doc, DocBuf, Editor, Encoder, New, State, Tensor, Time,
    Timestamp, Uuid, VecStorage, json,
};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn vectors() -> PathBuf {
    root().join("testdata/vectors")
}

#[test]
fn vectors_give_their_verdicts() {
    let mut counts = [0; 3];
    for entry in fs::read_dir(vectors()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "lbuf") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let bytes = fs::read(&path).unwrap();
        let verdict = Doc::open(&bytes).and_then(|doc| doc.validate());
        if let Some(rest) = name.strip_prefix("n_") {
            let expected = rest.split('_').next().unwrap();
            let error = verdict.err().unwrap_or_else(|| panic!("{name}: must be refused"));
            assert_eq!(error.kind().name(), expected, "{name}: {error}");
            counts[2] += 1;
            continue;
        }
        let doc = verdict.unwrap_or_else(|error| panic!("{name}: {error}"));
        if name.starts_with("y_reserved_") {
            // No JSON says it; copies keep it.
            assert!(livebuf_json::to_string(doc.root()).is_err(), "{name}");
            assert_eq!(doc.compacted().unwrap().as_bytes(), bytes, "{name}");
            counts[1] += 1;
            continue;
        }
        let json = fs::read_to_string(path.with_extension("json")).unwrap();
        let json = json.trim_end();
        assert_eq!(livebuf_json::to_string(doc.root()).unwrap(), json, "{name}");
        if name.starts_with("y_encoded_") {
            let encoded = livebuf_json::from_slice(json.as_bytes()).unwrap();
            let alike = encoded.as_bytes().iter().zip(&bytes).take_while(|(a, b)| a == b).count();
            let same = encoded.as_bytes() == bytes;
            assert!(same, "{name}: the encoder writes other bytes from {alike} on");
            counts[0] += 1;
        } else if name.starts_with("y_tensor_") {
            assert_eq!(doc.compacted().unwrap().as_bytes(), bytes, "{name}");
            counts[0] += 1;
        } else if name.starts_with("y_recognized_") {
            assert_eq!(recognized_from(json).as_bytes(), bytes, "{name}");
            counts[0] += 1;
        } else {
            counts[1] += 1;
        }
    }
    assert!(counts[0] >= 20 && counts[1] >= 8 && counts[2] >= 25, "{counts:?}");
}

/// FORMAT 10, byte by byte.
#[test]
fn the_worked_example_is_what_the_encoder_writes() {
    let format = fs::read_to_string(root().join("docs/FORMAT.md")).unwrap();
    let (_, rest) = format.split_once("<!-- example").unwrap();
    let (_, rest) = rest.split_once("```text\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let mut bytes = Vec::new();
    for line in example.lines() {
        let (offset, rest) = line.trim_start().split_once("  ").unwrap();
        assert_eq!(offset.parse(), Ok(bytes.len()));
        bytes.extend(
            rest.split_whitespace().take(8).map(|byte| u8::from_str_radix(byte, 16).unwrap()),
        );
    }
    let json = br#"{"event":"lap_complete","lap":55,"time_sec":88.427}"#;
    assert_eq!(livebuf_json::from_slice(json).unwrap().as_bytes(), bytes);
}

pub(crate) fn encoded() -> Vec<(&'static str, String)> {
    let plain = [
        ("null", "null"),
        ("booleans", "[true,false,true,true]"),
        ("true", "true"),
        ("int_least", "-9223372036854775808"),
        ("uint_most", "18446744073709551615"),
        ("uint_least", "9223372036854775808"),
        ("float", "0.1"),
        ("minus_zero", "-0.0"),
        ("number_text", "[1e400,-1e-400,123456789012345678901234567890,0.1234567890123456789]"),
        ("text_empty", "\"\""),
        ("text_inline", "\"seven b\""),
        ("text_elsewhere", "\"eight by\""),
        ("text_unicode", "[\"é\",\"日本語\",\"😀😀\",\"\\u0000\"]"),
        ("text_shared", "[\"a text said twice\",\"once only\",\"a text said twice\"]"),
        ("array_empty", "[]"),
        ("object_empty", "{}"),
        ("lap", "{\"event\":\"lap_complete\",\"lap\":55,\"time_sec\":88.427}"),
        ("keys_odd", "{\"\":1,\"\\u0000\":2,\"a/b\":3,\"m~n\":4,\"é\":5,\"a long key here\":6}"),
        ("columns_i", "{\"a\":[-1,1],\"b\":[-129,0],\"c\":[-32769,0],\"d\":[-2147483649,0]}"),
        (
            "columns_u",
            "{\"a\":[0,255],\"b\":[0,65535],\"c\":[0,4294967295],\"d\":[0,18446744073709551615]}",
        ),
        ("columns_f", "{\"a\":[0.5,1.5],\"b\":[0.1,0.2]}"),
        // Four bytes and eight; at and beyond the bounds of integers; −0.0 is a float.
        (
            "columns_numbers",
            "{\"a\":[1.5,2,3.25],\"b\":[0.1,2,-0.0],\"c\":[0.5,16777216],\"d\":[0.5,16777217],\
             \"e\":[0.5,9007199254740992],\"f\":[0.5,9007199254740993],\"g\":[1,16777218.0]}",
        ),
        (
            "columns_marked",
            "{\"a\":[2,2.0,2.5],\"b\":[2,2.0,0.1],\"c\":[0.1,16777218.0,1],\"d\":[1,null,1.0,null,2.5,6,7,8,9,10]}",
        ),
        ("column_null", "[null,null,null]"),
        ("column_nullable", "[1,null,3,null,null,300,7,8,9,10,11,12]"),
        ("list", "[[1,2,3],[],[4],[5,6],[],[],[7],[8,9],[10]]"),
        ("list_fixed", "[[1.5,2.5],[3.5,4.5],[5.5,6.5],[7.5,8.5]]"),
        ("column_mixed", "[1,\"two\",3.0,null,true,[],{},\"a longer text\",9,10]"),
        ("column_objects", "[{\"a\":1},{\"a\":2,\"b\":3},{\"b\":4}]"),
        ("column_arrays", "[[],[1],[[2]]]"),
        (
            "shapes_prefix",
            "[{\"a\":1,\"b\":2,\"c\":3},{\"a\":4},{\"a\":5,\"b\":6},{\"a\":7,\"x\":8}]",
        ),
        ("nested", "{\"a\":{\"b\":{\"c\":[{\"d\":[[[1]]]}]}}}"),
    ];
    let rows = |row: &dyn Fn(usize) -> String| {
        let rows: Vec<_> = (0..10).map(row).collect();
        format!("[{}]", rows.join(","))
    };
    let mut all: Vec<_> = plain.map(|(name, json)| (name, json.to_string())).into();
    all.push((
        "table",
        rows(&|row| {
            format!(r#"{{"id":{},"name":"a name","at":{{"x":{row}.5,"y":-1}}}}"#, row * 300)
        }),
    ));
    all.push((
        "table_gaps",
        rows(&|row| match row % 5 {
            0 => format!(r#"{{"id":{row},"at":null,"tags":[],"both":1}}"#),
            1 => format!(r#"{{"id":{row},"at":{{"x":1}},"tags":["a","b"]}}"#),
            2 => format!(r#"{{"id":{row},"at":{{"x":2}},"tags":["c"],"both":null}}"#),
            3 => format!(r#"{{"id":{row},"at":{{"x":null}},"both":3}}"#),
            _ => r#"{"id":"mixed","at":{"x":4},"tags":null}"#.to_owned(),
        }),
    ));
    let floats = "[1.0,-0.0,0.00001,9.99e-6,1000000000000000.0,1e+16,1.5e+300,5e-324,true]";
    all.push(("floats_as_text", floats.to_owned()));
    // Keys are written in their order.
    all.push(("keys_long", r#"{"the first key":1,"the second key":[],"a":2}"#.to_owned()));
    let shared = "x".repeat(1024);
    all.push(("text_of_1024_shared", format!("[\"{shared}\",\"{shared}\",0]")));
    // A run in 16 columns.
    let name = |n: usize| {
        let row = format!("{{\"k\":\"number {n}\"}}");
        (0..15).fold(row, |row, _| format!("{{\"k\":{row}}}"))
    };
    all.push((
        "run_in_16_columns",
        format!("[{}]", (0..16).map(name).collect::<Vec<_>>().join(",")),
    ));
    let long = "k".repeat(256);
    let keys = format!(r#"{{"the first key":1,"the second key":2,"{long}":3,"the last key":4}}"#);
    all.push(("map_of_long_keys", keys));
    // A key of any length may stand for a bit in each row.
    all.push(("rows_of_long_keys", rows(&|row| format!("{{\"{:k>255}\":{}}}", "", row % 3 == 0))));
    // Of 1,024 searched none repeats; the next 64 are not searched, those behind them are.
    let texts: Vec<_> = (0..1100)
        .map(|at| match at {
            0..1024 => format!("\"number {at}\""),
            _ => format!("\"number {}\"", at % 2),
        })
        .collect();
    // With a number among them they are cells.
    all.push(("texts_not_searched", format!("[{},0]", texts.join(","))));
    // The pause ends with its array.
    let again = r#"["a text that repeats","a text that repeats",0]"#;
    let searched = format!(r#"{{"different":[{},0],"again":{again}}}"#, texts[..1024].join(","));
    all.push(("texts_searched_again", searched));
    // Of arrays like these the first two become dictionaries: with nulls, and of eight slots. The
    // others do not: of seven slots, of texts that hardly repeat, and with one that is too long.
    let list = |texts: &[&str]| texts.iter().map(|text| format!("\"{text}\"")).collect::<Vec<_>>();
    let open = ["open", "closed for good", "open", "open", "held", "open", "closed for good", "x"];
    let arrays = [
        [vec!["null".into()], list(&open)].concat(),
        list(&["same"; 8]),
        list(&["same"; 7]),
        list(&["1", "2", "3", "4", "5", "6", "7", "1"]),
        [list(&["same"; 8]), list(&[&"too long for a dictionary. ".repeat(38)])].concat(),
    ];
    let arrays =
        arrays.iter().zip('a'..).map(|(texts, key)| format!("\"{key}\":[{}]", texts.join(",")));
    all.push(("dictionary", format!("{{{}}}", arrays.collect::<Vec<_>>().join(","))));
    let wide: Vec<_> = (0..300).chain(0..300).map(|at| format!("\"number {at}\"")).collect();
    all.push(("dictionary_wide", format!("[{}]", wide.join(","))));
    // Texts that a cell has before, a run, and cells and runs behind it: alone, with nulls, in a
    // column of rows that miss it, in arrays, and of more than 255 bytes.
    let names = ["Ada", "Bé", "", "number four", "Dora", "number six", "Fay", "Gus", "number nine"];
    let more = ["Hal", "Ian", "Jo", "Kim", "Liz", "Mo", "Ned"];
    let names = [list(&names), list(&more)].concat().join(",");
    let gaps: Vec<_> = (0..20).map(|at| format!("\"o{at}\"")).collect();
    let rows: Vec<_> = (0..12)
        .map(|at| match at % 4 {
            0 => format!("{{\"id\":{at}}}"),
            _ => format!("{{\"id\":{at},\"name\":\"a name: {at}\"}}"),
        })
        .collect();
    let lists = (0..9).map(|at| {
        let texts: Vec<_> = (0..at % 4).map(|of| format!("\"é {of} in {}\"", 5 * at)).collect();
        format!("[{}]", texts.join(","))
    });
    let members = [
        "\"first\":\"number four\"".to_owned(),
        format!("\"run\":[{names}]"),
        "\"cell\":\"number six\"".to_owned(),
        format!("\"gaps\":[null,{}]", gaps.join(",")),
        "\"mixed\":[\"number nine\",\"number ten\",10]".to_owned(),
        format!("\"rows\":[{}]", rows.join(",")),
        format!("\"lists\":[{}]", lists.collect::<Vec<_>>().join(",")),
        format!("\"long\":[{names},\"{}\"]", "x".repeat(1025)),
    ];
    all.push(("run", format!("{{{}}}", members.join(","))));
    let wide: Vec<_> = (0..60).map(|at| format!("\"a text: {at}\"")).collect();
    all.push(("run_wide", format!("[{}]", wide.join(","))));
    // Of one length: alone, of texts that a cell would have for nothing, with few nulls and with
    // too many, in a column of rows that miss it, and in arrays.
    let ids = |range: std::ops::Range<usize>| {
        range.map(|at| format!("\"é id {at:03}\"")).collect::<Vec<_>>()
    };
    let short: Vec<_> = (0..16).map(|at| format!("\"{at:02}\"")).collect();
    let rows: Vec<_> = (0..12)
        .map(|at| match at % 4 {
            0 => format!("{{\"id\":{at}}}"),
            _ => format!("{{\"id\":{at},\"name\":\"a name: {at:04}\"}}"),
        })
        .collect();
    let lists = (0..9).map(|at| format!("[{}]", ids(20 * at..20 * at + at % 4).join(",")));
    let members = [
        format!("\"alone\":[{}]", ids(0..12).join(",")),
        format!("\"short\":[{}]", short.join(",")),
        format!("\"gaps\":[null,{},null]", ids(300..312).join(",")),
        format!("\"many\":[{},{}]", ids(400..410).join(","), ["null"; 11].join(",")),
        format!("\"rows\":[{}]", rows.join(",")),
        format!("\"lists\":[{}]", lists.collect::<Vec<_>>().join(",")),
    ];
    all.push(("run_of_one_length", format!("{{{}}}", members.join(","))));
    all.push(("rows_in_orders", rows_in_orders()));
    // The keys of wide rows once more, in an object by itself, which is a map.
    let wide = many(257);
    all.push(("rows_wide_and_map", format!("{{\"rows\":[{wide},{wide}],\"one\":{wide}}}")));
    all.push(("record_nine_fields", many(9)));
    all.push(("map_few", map_few()));
    all.push(("map_hashed", many(256)));
    // Of the keys of one home, 12 are in each bucket from there on. With 39 of 64 keys the mark says
    // 3 of 8 buckets. Of 194 of 200, two are in none of the 16, so there is a tree.
    // One key is too long for a record.
    for (name, same, count) in [("map_crowded", 39, 64), ("map_colliding", 194, 200)] {
        let (buckets, long) = (count as u64 / 8, "k".repeat(256));
        let keys = (0..).map(|number: u32| format!("k{number}")).take(8000);
        let (home, others): (Vec<_>, Vec<_>) = keys.partition(|key| home(key, buckets) == 7);
        let others = others.iter().take(count - same - 1);
        let members = home.iter().take(same).chain(others).chain([&long]);
        let members: Vec<_> = members.map(|key| format!("\"{key}\":0")).collect();
        all.push((name, format!("{{{}}}", members.join(","))));
    }
    all.push(("map_of_rows", map_of_rows(7)));
    // Text of rows and beside them waits; so does a record that is no row.
    let texts = |n: usize| ["a text of many", "another text"][n % 2].to_owned();
    let rows = |n| format!("{{\"t\":\"{}\",\"l\":[{n}],\"o\":{{\"{n}\":{n}}}}}", texts(n));
    let inner: Vec<_> = (0..8).map(|n| format!("\"{n}\":{}", rows(n))).collect();
    let inner = format!("{{\"{}\":null,{}}}", "k".repeat(256), inner.join(","));
    all.push(("map_of_rows_in_array", format!("[{{\"t\":\"{}\",\"m\":{inner}}},[]]", texts(0))));
    all.push(("map_of_rows_after", format!("{{\"t\":\"{}\",\"m\":{inner}}}", texts(1))));
    // Each object has a key of its own, so there are no rows.
    let members: Vec<_> = (0..8).map(|n| format!("\"{n}\":{{\"a{n}\":\"12345678\"}}")).collect();
    let long = "k".repeat(256);
    let refused = format!("{{\"a longer key\":{{\"a\":1}},\"{long}\":null,{}}}", members.join(","));
    all.push(("map_of_no_rows", refused));
    all.push(("table_wide", wide_rows(4, &|_| 256)));
    // Of 12 rows, which lack keys, one is null.
    let merged = wide_rows(12, &|row| 260 - row % 3).replacen("{", "null,{", 1);
    all.push(("table_wide_merged", merged));
    // Tables of one list of keys, of one more, and records and a table of its first keys.
    let few: Vec<_> = (0..9).map(|row| wide_row(row, 2)).collect();
    all.push((
        "tables_wide_and_narrow",
        format!(
            "{{\"a\":{},\"b\":{},\"c\":{},\"d\":{},\"e\":[{}]}}",
            wide_rows(4, &|_| 257),
            wide_rows(5, &|_| 256),
            wide_rows(6, &|_| 257),
            wide_row(1, 3),
            few.join(",")
        ),
    ));
    // One by itself, one of similar objects, and keys that no table has together.
    let similar: Vec<_> = (0..256).map(|n| format!("\"id {n}\":{{\"n\":{n}}}")).collect();
    let other = |row: usize| {
        let members = (0..256).map(|n| format!("\"key {row} {n}\":{n}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    };
    all.push((
        "objects_wide_as_maps",
        format!("[{},{{{}}},[{},{}]]", wide_row(1, 256), similar.join(","), other(1), other(2)),
    ));
    all
}

/// A row of so many keys, of which two are long, and one has text.
fn wide_row(row: usize, keys: usize) -> String {
    let member = |number: usize| match number {
        0 => format!("\"the first of many\":{row}"),
        7 => format!("\"a longer key\":\"text number {row}\""),
        _ => format!("\"c{number}\":{}", number * row % 100),
    };
    format!("{{{}}}", (0..keys).map(member).collect::<Vec<_>>().join(","))
}

fn wide_rows(rows: usize, keys: &dyn Fn(usize) -> usize) -> String {
    let rows: Vec<_> = (0..rows).map(|row| wide_row(row, keys(row))).collect();
    format!("[{}]", rows.join(","))
}

/// Rows whose members are in three orders, one of which is that of the columns.
pub(crate) fn few_rows_in_orders() -> String {
    let row = |n: usize| match n % 4 {
        1 => format!("{{\"y\":{},\"x\":{n}}}", n % 3),
        3 => format!("{{\"z\":{n},\"x\":{n}}}"),
        _ => format!("{{\"x\":{n},\"y\":{},\"z\":1}}", n % 3),
    };
    let rows = (0..16).map(|n| if n == 9 { "null".to_owned() } else { row(n) });
    rows.collect::<Vec<_>>().join(",")
}

/// The same, and a second table, whose orders are longer than a cell holds.
fn rows_in_orders() -> String {
    let few = few_rows_in_orders();
    let wide = |first: usize| {
        let members = (0..9).map(|at| format!("\"k{}\":{at}", (first + at) % 9));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    };
    let many: Vec<_> = (0..24).map(|n| wide([0, 4, 7][n % 3])).collect();
    format!("{{\"few\":[{few}],\"many\":[{}]}}", many.join(","))
}

fn many(count: usize) -> String {
    let members: Vec<_> =
        (0..count).map(|at| format!("\"key {}\":{at}", at * 7919 % 1000)).collect();
    format!("{{{}}}", members.join(","))
}

fn map_few() -> String {
    format!("{{\"{}\":1,\"b\":2}}", "k".repeat(256))
}

/// A map of so many ids, and a long key that makes it one.
fn map_of_rows(count: usize) -> String {
    let row = |n| format!("{{\"n\":{},\"on\":{}}}", 10 + n, n % 4 < 2);
    let ids: Vec<_> = (0..count).map(|n| format!("\"id{n}\":{}", row(n))).collect();
    format!("{{{},\"{}\":{}}}", ids.join(","), "k".repeat(256), row(count))
}

/// A key's home among so many buckets, as FORMAT 7.4 has it.
fn home(key: &str, buckets: u64) -> u64 {
    let mix = |(a, b): (u32, u32), [v, w]: [u32; 2]| {
        let (x, y) = (a ^ v, b ^ w);
        ((x ^ y >> 14).wrapping_mul(0x85EB_CA6B), (y ^ x >> 18).wrapping_mul(0xC2B2_AE35))
    };
    let mut lanes = (key.len() as u32, 0x9E37_79B1);
    for bytes in key.as_bytes().chunks(8) {
        let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        lanes = mix(lanes, [word as u32, (word >> 32) as u32]);
    }
    let (a, b) = mix(lanes, [0, 0]);
    (u64::from(a ^ b) * buckets) >> 32
}

/// JSON text whose dates, times and UUIDs are recognized.
fn recognized() -> Vec<(&'static str, String)> {
    let id = |n: usize| format!("\"0000000{n}-0000-4000-8000-00000000000f\"");
    let row = |n: usize| {
        let due = if n == 2 { "null".to_owned() } else { format!("\"2026-11-2{n}\"") };
        format!("{{\"id\":{},\"due\":{due},\"at\":\"2026-11-23T08:30:0{n}.125Z\"}}", id(n))
    };
    let rows: Vec<_> = (1..6).map(row).collect();
    let some: Vec<_> = (1..9).map(|n| if n == 3 { "null".to_owned() } else { id(n) }).collect();
    vec![
        (
            "values",
            format!(
                "{{\"first\":\"0001-01-01\",\"last\":\"9999-12-31\",\"id\":{},\
                 \"local\":\"2026-11-23T08:30:00\",\"moment\":\"1969-12-31T23:59:59.999999Z\",\
                 \"text\":[\"2026-02-29\",\"08:30:00\",\"19.90\",\"2026-11-23T08:30:00+0200\"]}}",
                id(7)
            ),
        ),
        ("uuids", format!("[{}]", [id(1), id(2)].join(","))),
        ("uuids_nullable", format!("[{}]", some.join(","))),
        ("uuids_mixed", format!("[{},1]", id(1))),
        ("table", format!("[{}]", rows.join(","))),
    ]
}

fn recognized_from(json: &str) -> DocBuf {
    let options = livebuf_json::ReadOptions::new().recognize(true);
    livebuf_json::from_slice_with(json.as_bytes(), &options).unwrap()
}

/// Values that no JSON text becomes.
fn extended() -> Vec<(&'static str, DocBuf)> {
    let time = |microseconds| Time::from_microseconds(microseconds).unwrap();
    let day = |days| Date::from_days(days).unwrap();
    let moment = |microseconds| Timestamp::from_microseconds(microseconds).unwrap();
    let local = |microseconds| DateTime::from_microseconds(microseconds).unwrap();
    let a_day = 86_400_000_000i64;
    let decimal = |coefficient, scale| Decimal::new(coefficient, scale).unwrap();
    let most = 10i128.pow(38) - 1;
    let (large, small) = (1i128 << 55, (1i128 << 55) - 1);
    vec![
        ("times", json!([time(0), time(1), time(86_399_999_999)])),
        (
            "times_first_and_last",
            json!([
                day(-719_162),
                day(2_932_896),
                moment(-719_162 * a_day),
                moment(2_932_897 * a_day - 1),
                local(-719_162 * a_day),
                local(2_932_897 * a_day - 1),
            ]),
        ),
        (
            "decimals",
            json!([decimal(1990, 2), decimal(-5, 38), decimal(small, 0), decimal(!small, 9)]),
        ),
        (
            "decimals_large",
            json!([decimal(large, 0), decimal(!large, 1), decimal(most, 38), decimal(-most, 0)]),
        ),
        ("decimal", json!(decimal(0, 2))),
    ]
}

/// What an encoder writes that is told which arrays are tensors.
pub(crate) fn tensors() -> Vec<(&'static str, DocBuf)> {
    let doc = |with: &dyn Fn(&mut Encoder)| {
        let mut encoder = Encoder::new();
        encoder.begin_array().unwrap();
        with(&mut encoder);
        encoder.end_array().unwrap();
        encoder.finish().unwrap()
    };
    let of = |column, shape: &[usize], bytes: &[u8], encoder: &mut Encoder| {
        encoder.tensor(&Tensor::from_bytes(column, shape, bytes).unwrap()).unwrap();
    };
    use ColumnType::*;
    let types = [Bool8, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64];
    let pair = |at: u8| [at, 0, 0, 0x3F, at, 0, 0, 0x40];
    let rows = |absent: u8| {
        doc(&|encoder| {
            for row in 0..5 {
                encoder.begin_object().unwrap();
                encoder.key("at").unwrap();
                match row == absent {
                    true => encoder.null().unwrap(),
                    false => of(F32, &[2], &pair(row), encoder),
                }
                encoder.key("image").unwrap();
                of(U8, &[1, 2, 3], &[row; 6], encoder);
                encoder.end_object().unwrap();
            }
        })
    };
    vec![
        (
            "types",
            doc(&|encoder| {
                for (column, width) in types.into_iter().zip([1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8]) {
                    let bytes: Vec<u8> = (0..3 * width).map(|at| (at % width == 0) as u8).collect();
                    of(column, &[3], &bytes, encoder);
                }
                of(F16, &[4], &[0, 0x3C, 0, 0x80, 1, 0, 0xFF, 0x7B], encoder);
            }),
        ),
        ("dimensions", {
            let mut encoder = Encoder::new();
            let bytes: Vec<u8> = (0..24).collect();
            of(I16, &[2, 3, 2], &bytes, &mut encoder);
            encoder.finish().unwrap()
        }),
        ("empty", {
            let mut encoder = Encoder::new();
            of(F64, &[0, 3], &[], &mut encoder);
            encoder.finish().unwrap()
        }),
        ("rows", rows(9)),
        ("rows_nullable", rows(2)),
        (
            "mixed",
            doc(&|encoder| {
                of(F32, &[2], &pair(1), encoder);
                of(F32, &[1, 2], &pair(2), encoder);
                encoder.begin_array().unwrap();
                encoder.i64(3).unwrap();
                encoder.end_array().unwrap();
            }),
        ),
    ]
}

fn edited() -> Vec<(&'static str, DocBuf)> {
    let json = |text: &str| livebuf_json::from_slice(text.as_bytes()).unwrap();
    let edit = |text: &str, edit: &dyn Fn(&mut DocBuf)| {
        let mut doc = json(text);
        edit(&mut doc);
        doc
    };
    let ordered = |doc: &mut DocBuf| doc.order(doc.root_id().unwrap()).unwrap();
    let id = |n: u8| Uuid::from_bytes([n; 16]);
    let day = |n: i32| Date::from_days(n).unwrap();
    let stated = |doc: &mut DocBuf| {
        doc.remove_pointer("/note").unwrap();
        doc.set_state(State::from_bytes(*b"sixteen by fate.")).unwrap();
    };
    vec![
        ("state", edit(r#"{"lap":55,"note":"a note that goes"}"#, &stated)),
        (
            "state_ended",
            edit(r#"{"lap":55,"note":"a note that goes"}"#, &|doc| {
                stated(doc);
                doc.set_pointer("/lap", 56).unwrap();
            }),
        ),
        ("tensor", {
            let (_, mut doc) = tensors().into_iter().find(|(name, _)| *name == "rows").unwrap();
            doc.set_pointer("/1/at/0", 0.1).unwrap();
            doc.set_pointer("/3/image/0/1/2", 255).unwrap();
            let at = Tensor::new(&[2], &[1.5f32, 2.5]).unwrap();
            let image = Tensor::new(&[1, 2, 3], &[7u8; 6]).unwrap();
            let row = [("at", (&at).into()), ("image", (&image).into())];
            doc.set_pointer("/-", New::Fields(&row)).unwrap();
            doc.set_pointer("/0/image", New::Items(&[New::Int(1)])).unwrap();
            doc
        }),
        ("uuids", {
            let mut doc = json!({"grown": [id(1)], "cells": [id(1), id(2)], "gaps": [id(1), ()]});
            for n in 2..5 {
                doc.set_pointer("/grown/-", id(n)).unwrap();
            }
            doc.set_pointer("/grown/1", id(9)).unwrap();
            doc.set_pointer("/cells/1", "text").unwrap();
            doc.set_pointer("/gaps/1", id(3)).unwrap();
            doc
        }),
        ("dates", {
            let mut doc = json!({"grown": [day(1)], "cells": [day(1), day(2)]});
            doc.set_pointer("/grown/-", day(-1)).unwrap();
            doc.set_pointer("/cells/0", Timestamp::from_microseconds(0).unwrap()).unwrap();
            doc
        }),
        (
            "forward",
            edit("{\"r\":{\"a\":1},\"s\":{\"a\":2}}", &|doc| {
                for (key, value) in [("b", 2), ("c", 3), ("d", 4)] {
                    doc.set_pointer(&format!("/r/{key}"), value).unwrap();
                }
            }),
        ),
        (
            "hole",
            edit("{\"a\":1,\"b\":2,\"c\":3}", &|doc| {
                doc.remove_pointer("/b").unwrap();
            }),
        ),
        (
            "array_with_gaps",
            edit(
                r#"{"pushed":[1,2],"set":[1.5,2.5],"text":["a longer text"],"first":[]}"#,
                &|doc| {
                    for pointer in ["/pushed/-", "/set/0", "/text/-", "/first/-"] {
                        doc.set_pointer(pointer, ()).unwrap();
                    }
                    doc.set_pointer("/pushed/-", 3).unwrap();
                    doc.set_pointer("/first/-", 1).unwrap();
                    let items = [New::Int(1), New::Null, New::Float(2.5)];
                    doc.set_pointer("/items", New::Items(&items)).unwrap();
                },
            ),
        ),
        (
            "empty_array_grown",
            edit("{\"list\":[],\"after\":1}", &|doc| {
                for value in 1..4 {
                    doc.set_pointer("/list/-", value).unwrap();
                }
            }),
        ),
        (
            "column_widened",
            edit("[1,2,3]", &|doc| {
                doc.set_pointer("/1", 70_000).unwrap();
                doc.set_pointer("/-", "text").unwrap();
            }),
        ),
        (
            "numbers",
            edit(
                "{\"ints\":[1,2,3],\"floats\":[1.5,2.5],\"marks\":[1,1.5],\"cells\":[0.5]}",
                &|doc| {
                    doc.set_pointer("/ints/0", 0.1).unwrap();
                    doc.set_pointer("/floats/-", 2).unwrap();
                    doc.set_pointer("/marks/-", 2.0).unwrap();
                    doc.set_pointer("/marks/-", 3).unwrap();
                    doc.set_pointer("/cells/-", (1i64 << 53) + 1).unwrap();
                },
            ),
        ),
        (
            "free_list_few_classes",
            edit("{\"a\":\"some text to free\",\"b\":\"more text to free\",\"c\":1}", &|doc| {
                doc.remove_pointer("/a").unwrap();
                doc.set_pointer("/b", "x").unwrap();
            }),
        ),
        ("free_list_many_classes", {
            let mut doc = json("{\"list\":[]}");
            for value in 0..400 {
                doc.set_pointer("/list/-", format!("text number {value}").as_str()).unwrap();
            }
            for _ in 0..395 {
                doc.remove_pointer("/list/1").unwrap();
            }
            doc
        }),
        ("free_blocks_not_zero", {
            // What takes these blocks must not rely on zeros.
            let mut doc = json("{\"list\":[],\"kept\":[1,2]}");
            doc.set_wipe(false);
            for value in 0..60usize {
                let text = "\u{ff}".repeat(4 * value);
                doc.set_pointer("/list/-", text.as_str()).unwrap();
            }
            for _ in 0..59 {
                doc.remove_pointer("/list/1").unwrap();
            }
            doc
        }),
        ("dictionary", {
            let items: Vec<_> =
                (0..16).map(|at| ["\"short\"", "\"a longer text\""][at % 2]).collect();
            let mut doc = json(&format!("{{\"a\":[{0}],\"b\":[{0}]}}", items.join(",")));
            doc.set_pointer("/a/0", "a longer text").unwrap();
            doc.set_pointer("/a/1", "a new text").unwrap();
            doc.set_pointer("/a/2", ()).unwrap();
            doc.set_pointer("/a/-", "pushed").unwrap();
            doc.remove_pointer("/a/3").unwrap();
            // More texts than slots.
            for at in 0..15 {
                doc.set_pointer(&format!("/b/{at}"), format!("text {at}").as_str()).unwrap();
            }
            doc
        }),
        ("run", {
            let items =
                |word: &str| (0..12).map(|at| format!("\"{word} é {at}\"")).collect::<Vec<_>>();
            let rows = items("date")
                .iter()
                .map(|d| format!("{{\"o\":{{\"d\":{d}}}}}"))
                .collect::<Vec<_>>();
            let (a, b) = (items("text").join(","), items("word").join(","));
            let mut doc = json(&format!("{{\"a\":[{a}],\"b\":[{b}],\"c\":[{}]}}", rows.join(",")));
            doc.set_pointer("/a/0", "TEXT é 0").unwrap();
            doc.set_pointer("/a/1", "longer than before").unwrap();
            doc.set_pointer("/a/2", "").unwrap();
            doc.set_pointer("/a/3", ()).unwrap();
            doc.set_pointer("/a/-", "pushed").unwrap();
            doc.remove_pointer("/a/4").unwrap();
            let a = doc.find("/a").unwrap().unwrap();
            doc.insert(a, 1, "inserted").unwrap();
            doc.swap(a, 0, 2).unwrap();
            // The offsets need two bytes.
            doc.set_pointer("/a/5", "x".repeat(300).as_str()).unwrap();
            // Cells.
            doc.set_pointer("/b/1", 1).unwrap();
            // A row that is not there.
            doc.set_pointer("/c/2/o", ()).unwrap();
            doc
        }),
        ("run_of_one_length", {
            let ids = |word: &str| {
                let ids: Vec<_> = (0..12).map(|at| format!("\"{word} é {at:03}\"")).collect();
                ids.join(",")
            };
            let rows: Vec<_> =
                (0..12).map(|at| format!("{{\"o\":{{\"d\":\"date {at:04}\"}}}}")).collect();
            let (a, b, c) = (ids("text"), ids("word"), rows.join(","));
            let mut doc = json(&format!("{{\"a\":[{a}],\"b\":[null,{b}],\"c\":[{c}]}}"));
            doc.set_pointer("/a/0", "TEXT é 000").unwrap();
            doc.set_pointer("/a/3", ()).unwrap();
            doc.set_pointer("/a/-", "more é 012").unwrap();
            doc.remove_pointer("/a/4").unwrap();
            let a = doc.find("/a").unwrap().unwrap();
            doc.insert(a, 1, ()).unwrap();
            doc.swap(a, 0, 4).unwrap();
            // Another length: they get offsets.
            doc.set_pointer("/b/2", "short").unwrap();
            doc.set_pointer("/b/-", "another").unwrap();
            // A row that is not there.
            doc.set_pointer("/c/2/o", ()).unwrap();
            doc
        }),
        // Three with a tree. FORMAT 7.2 shows two.
        ("map_small_leaf", edit(&map_few(), &ordered)),
        ("map_inner_nodes", edit(&many(300), &ordered)),
        ("map_two_leaves", {
            let few: Vec<_> = (0..64).map(|n| format!("\"k{n:02}\":{n}")).collect();
            let text = format!("{{{},\"{}\":64}}", few.join(","), "l".repeat(256));
            edit(&text, &ordered)
        }),
        // The 193rd key of one home, in blocks of any size, finds no place: the tree is made.
        ("map_colliding", {
            let mut doc = json("{}");
            let node = doc.set_root(New::Map { capacity: 0 }).unwrap().unwrap();
            let keys = (0..).map(|number: u32| format!("k{number}"));
            for key in keys.filter(|key| home(key, 384) == 100).take(194) {
                doc.set(node, key.as_str(), ()).unwrap();
            }
            doc
        }),
        // Entries got other numbers, and the hash block fewer buckets.
        ("map_squeezed", {
            let mut doc = json(&many(256));
            for at in 0..200 {
                doc.remove_pointer(&format!("/key {}", at * 7919 % 1000)).unwrap();
            }
            doc
        }),
        ("map_with_holes", {
            let mut doc = json("{}");
            let node = doc.set_root(New::Map { capacity: 0 }).unwrap().unwrap();
            for value in 0..100 {
                doc.set(node, format!("key {}", value * 37 % 100).as_str(), value).unwrap();
            }
            for value in 0..40 {
                doc.remove(node, format!("key {value}").as_str()).unwrap();
            }
            doc
        }),
        ("map_hashed", {
            let mut doc = json("{}");
            let node = doc.set_root(New::Map { capacity: 0 }).unwrap().unwrap();
            for value in 0..80 {
                doc.set(node, format!("key {value}").as_str(), value).unwrap();
            }
            doc.remove(node, "key 7").unwrap();
            doc.rename(node, "key 8", "another key").unwrap();
            doc.set(node, "key 7", "again").unwrap();
            doc
        }),
        ("map_of_rows", {
            let mut doc = json(&map_of_rows(7));
            doc.remove_pointer("/id1").unwrap();
            let row = json(r#"{"n":18,"on":false}"#);
            doc.set_pointer("/id8", row.doc()).unwrap();
            doc
        }),
        ("rows_in_orders", {
            let mut doc = json(&rows_in_orders());
            doc.remove_pointer("/few/4").unwrap();
            doc.remove_pointer("/few/0/x").unwrap();
            doc.set_pointer("/few/2/y", 7).unwrap();
            doc.set_pointer("/few/1/more", true).unwrap();
            doc.set_pointer("/few/-", json(r#"{"z":1,"x":2}"#).doc()).unwrap();
            // Rows become objects by themselves.
            doc.set_pointer("/many/-", 1).unwrap();
            doc
        }),
        ("map_of_rows_with_extras", {
            let mut doc = json(&map_of_rows(40));
            doc.set_pointer("/id5/more", 5).unwrap();
            doc.set_pointer("/id39/more", 39).unwrap();
            for value in 0..5 {
                doc.remove_pointer(&format!("/id{value}")).unwrap();
            }
            doc
        }),
        ("map_of_rows_squeezed", {
            let mut doc = json(&map_of_rows(40));
            doc.set_pointer("/id5/more", 5).unwrap();
            doc.set_pointer("/id39/more", 39).unwrap();
            for value in 7..30 {
                doc.remove_pointer(&format!("/id{value}")).unwrap();
            }
            doc
        }),
        ("map_of_values", {
            let mut doc = json(&map_of_rows(7));
            doc.set_pointer("/id3", "no object").unwrap();
            doc.remove_pointer("/id5").unwrap();
            doc
        }),
        ("record_became_map", {
            let mut doc = json("{\"o\":{\"a\":1,\"a longer key\":2}}");
            doc.set_pointer(&format!("/o/{}", "k".repeat(256)), 3).unwrap();
            doc
        }),
        ("table_wide", {
            let mut doc = json(&wide_rows(8, &|_| 256));
            doc.set_pointer("/1/c255", "no number").unwrap();
            doc.remove_pointer("/2/c100").unwrap();
            doc.set_pointer("/3/one more", 1).unwrap();
            doc.remove_pointer("/4").unwrap();
            doc
        }),
        ("table_wide_dissolved", {
            let mut doc = json(&wide_rows(5, &|_| 256));
            let root = doc.root_id().unwrap();
            doc.set_pointer("/3/one more", 1).unwrap();
            doc.push(root, true).unwrap();
            doc
        }),
        ("table_extras", {
            let rows: Vec<_> = (0..8).map(|row| format!(r#"{{"a":{row},"b":"{row}"}}"#)).collect();
            let mut doc = json(&format!("[{}]", rows.join(",")));
            doc.set_pointer("/2/c", 1).unwrap();
            doc.set_pointer("/5/a longer key", "and text").unwrap();
            doc.remove_pointer("/5/a").unwrap();
            doc.set_pointer("/6/a", "no number").unwrap();
            doc.remove_pointer("/0").unwrap();
            doc
        }),
        ("absent_rows", {
            let rows: Vec<_> = (0..9)
                .map(|row| match row % 3 {
                    0 => r#"{"at":null}"#.to_owned(),
                    _ => format!(r#"{{"at":{{"x":{row},"p":{{"q":[{row},1]}},"l":["text"]}}}}"#),
                })
                .collect();
            let mut doc = json(&format!("[{}]", rows.join(",")));
            // Columns below the absent rows become cells and get gaps.
            doc.set_pointer("/1/at/x", "no number").unwrap();
            doc.set_pointer("/2/at/p/q/0", true).unwrap();
            doc.remove_pointer("/4/at/p").unwrap();
            doc.set_pointer("/5/at/l/0", ()).unwrap();
            doc.set_pointer("/-", json(r#"{"at":null,"further":1}"#).doc().root()).unwrap();
            doc
        }),
        ("bytes_and_capacity", {
            let mut doc = Editor::create(VecStorage::default()).unwrap();
            let node = doc.set_root(New::object(5)).unwrap().unwrap();
            doc.set(node, "short", &b"\x00\xFF"[..]).unwrap();
            doc.set(node, "long", &b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\xFF"[..]).unwrap();
            doc.set(node, "list", New::array(10)).unwrap();
            doc
        }),
    ]
}

/// Documents of other writers: (name, bytes).
fn foreign() -> Vec<(&'static str, Vec<u8>)> {
    let free = edited().into_iter().find(|(name, _)| *name == "free_list_few_classes").unwrap().1;
    let flagged = |flag: usize| {
        let mut bytes = free.to_vec();
        let aux = bytes[28] as usize;
        // A flag that we do not know, and a reserved field that it gives a meaning.
        (bytes[flag], bytes[aux + 16]) = (1, 7);
        bytes
    };
    let longer = [free.as_bytes(), b"bytes behind the document"].concat();
    vec![
        ("read_only_flag", flagged(6)),
        ("ignore_flag", flagged(7)),
        ("bytes_behind", longer),
        ("map_of_numbers", map_of_numbers()),
    ]
}

/// A map whose values are a column of integers, of 64 bits.
fn map_of_numbers() -> Vec<u8> {
    let members: Vec<_> = (0..5).map(|n| format!("\"id{n}\":{n}")).collect();
    let json = format!("{{{},\"{}\":7}}", members.join(","), "k".repeat(256));
    let mut bytes = livebuf_json::from_slice(json.as_bytes()).unwrap().to_vec();
    // Its cells become numbers. The word with their tags is no part of them.
    let map = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize;
    bytes[map + 33] = 5;
    bytes[map + 44] += 8;
    bytes
}

/// So many lists of one array, each behind the one before. `tensor` is byte 3 of all headers.
fn lists_in_one_another(lists: u32, tensor: u8) -> Vec<u8> {
    let mut bytes = livebuf_json::from_slice(b"[1]").unwrap().as_bytes()[..32].to_vec();
    bytes.extend([5, 18, 0, tensor, 1, 0, 0, 0, 1, 0, 0, 0, 48, 0, 0, 0]);
    for level in 0..lists {
        let at = 48 + 32 * level;
        let owner = if level == 0 { 32 } else { at - 32 };
        let column = if level == lists - 1 { 6 } else { 18 };
        bytes.extend([9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(u32::to_le_bytes(owner));
        bytes.extend([5, column, 0, tensor, 1, 0, 0, 0, 1, 0, 0, 0]);
        bytes.extend((at + 32).to_le_bytes());
    }
    bytes.extend([7, 0, 0, 0, 0, 0, 0, 0]);
    let used = bytes.len() as u32;
    bytes[20..24].copy_from_slice(&used.to_le_bytes());
    bytes
}

/// Damaged documents: (error and what is damaged, bytes).
fn damaged() -> Vec<(&'static str, Vec<u8>)> {
    let json = |text: &str| livebuf_json::from_slice(text.as_bytes()).unwrap().to_vec();
    let patch = |bytes: &[u8], changes: &[(usize, u8)]| {
        let mut bytes = bytes.to_vec();
        for &(at, value) in changes {
            bytes[at] = value;
        }
        bytes
    };
    let given = |doc: DocBuf| doc.to_vec();
    let day = Date::from_days(20_780).unwrap();
    let time = Time::from_microseconds(1).unwrap();
    let moment = Timestamp::from_microseconds(1).unwrap();
    let price = Decimal::new(1990, 2).unwrap();
    let large = Decimal::new(1 << 55, 0).unwrap();
    let id = Uuid::from_bytes(std::array::from_fn(|at| 15 - at as u8));
    // The worked example of FORMAT 10: record at 48, key text at 88, shape at 96.
    let lap = json("{\"event\":\"lap_complete\",\"lap\":55,\"time_sec\":88.427}");
    // Array header at 32, its data at 48.
    let numbers = json("[1,2,3]");
    let cells = json("[1,\"x\"]");
    let text = json("\"eight bytes or more\"");
    // A map with a tree and a hole.
    let map = {
        let members: Vec<_> = (0..62).map(|n| format!("\"{n}\":{n}")).collect();
        let mut doc = json!(null);
        let root = format!("{{{},\"{}\":0}}", members.join(","), "k".repeat(256));
        doc.set_root(livebuf_json::from_slice(root.as_bytes()).unwrap().doc()).unwrap();
        doc.remove_pointer("/7").unwrap();
        doc.order(doc.root_id().unwrap()).unwrap();
        doc.to_vec()
    };
    let word = |bytes: &[u8], at: usize| {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    };
    let header = word(&map, 8);
    let node = word(&map, header + 24);
    let tree_of = |name: &str| {
        let bytes = edited().into_iter().find(|(other, _)| *other == name).unwrap().1.to_vec();
        let root = word(&bytes, word(&bytes, 8) + 24);
        (bytes, root)
    };
    let (small, leaf) = tree_of("map_small_leaf");
    let free =
        edited().into_iter().find(|(name, _)| *name == "free_list_few_classes").unwrap().1.to_vec();
    let aux = word(&free, 28);
    let plain = livebuf_json::ReadOptions::new().tables(false);
    let shared =
        livebuf_json::from_slice_with(b"[{\"a\":{}},{\"a\":{}}]", &plain).unwrap().to_vec();
    let rows = word(&shared, word(&shared, 8) + 12);
    let child = word(&shared, word(&shared, rows) + 16);
    let repeated = ["\"a\""; 15].join(",");
    // The array's header at 32, codes at 48, header of the texts at 64, their cells at 96.
    let coded = json(&format!("[{repeated},\"a longer text\"]"));
    // The array's header at 32, its list at 48, offsets at 96, bytes at 112.
    let names = r#""Cy","Dora","Eve","Fay","Gus","Hal","Ian","Jo","Kim","Liz","Mo""#;
    let run = json(&format!(r#"["Ada","Bé","",{names},"Neil"]"#));
    let of = |name: &str| {
        let (_, text) = encoded().into_iter().find(|(other, _)| *other == name).unwrap();
        json(&text)
    };
    // The first bucket of a hash block with a free last slot, and its first entry number.
    let hashed = of("map_hashed");
    let hashed_map = word(&hashed, 8);
    let bucket = (word(&hashed, hashed_map + 8).next_multiple_of(64)..)
        .step_by(64)
        .find(|&at| hashed[at] != 0 && hashed[at + 11] == 0 && hashed[at + 12] == 0)
        .unwrap();
    let numbers_at = bucket + 16;
    // Bucket 7, the home of most keys.
    let reaching = |bytes: &[u8]| word(bytes, word(bytes, 8) + 8).next_multiple_of(64) + 7 * 64;
    let (crowded, colliding) = (of("map_crowded"), of("map_colliding"));
    let (crowd, collision) = (reaching(&crowded), reaching(&colliding));
    let few = of("map_few");
    let few_map = word(&few, 8);
    let (few_keys, few_data) = (word(&few, few_map + 20), word(&few, few_map + 44));
    // A map whose values are numbers, and one of cells with a hole.
    let values = map_of_numbers();
    let values_map = word(&values, 8);
    let any = edited().into_iter().find(|(name, _)| *name == "map_of_values").unwrap().1.to_vec();
    let any_data = word(&any, word(&any, 8) + 44);
    // A map with room for nine members.
    let roomy = {
        let mut doc = json!({"a": 1});
        doc.set_pointer(&format!("/{}", "k".repeat(256)), 2).unwrap();
        doc.to_vec()
    };
    // Behind the forward at home.
    let roomy_keys = word(&roomy, word(&roomy, word(&roomy, 8) + 4) + 20);
    // An object's members: rows with an extra object, then a map of rows, whose place is cleared.
    let mut extra_form =
        json(&format!("{{\"t\":[{}],\"m\":{}}}", [r#"{"a":1}"#; 9].join(","), map_of_rows(7)));
    let fields = word(&extra_form, 8);
    let extra_form = {
        let mut doc = DocBuf::from_bytes_unvalidated(&extra_form).unwrap();
        doc.set_pointer("/t/3/b", 1).unwrap();
        extra_form = doc.to_vec();
        let data = word(&extra_form, 8);
        assert_eq!(data, fields);
        let (tags, cells) = (data + 8, data + 16);
        assert_eq!(extra_form[tags..tags + 2], [0x21, 0x20]);
        let table = word(&extra_form, word(&extra_form, cells) + 12);
        let entries = word(&extra_form, word(&extra_form, table + 16) + 12);
        extra_form.copy_within(cells + 8..cells + 12, entries);
        extra_form[tags + 1] = 0x01;
        extra_form[cells + 8..cells + 16].fill(0);
        extra_form
    };
    // A table of three columns and orders. The first order has two bytes in its cell.
    let ordered = json(&format!("[{}]", few_rows_in_orders()));
    let orders = word(&ordered, word(&ordered, 8) + 12) + 24 + 16 * 3;
    // Behind two bitmaps of 8 bytes and 16 codes.
    let order = word(&ordered, word(&ordered, orders + 12) + 8 + 16 + 12);
    // The root array's header leads to its table or list.
    let below = |bytes: &[u8]| word(bytes, word(bytes, 8) + 12);
    let (table, list) = (of("table"), of("list"));
    let (rows_of, list_at) = (below(&table), below(&list));
    let offsets = word(&list, list_at + 44);
    let extras = edited().into_iter().find(|(name, _)| *name == "table_extras").unwrap().1.to_vec();
    let entries = word(&extras, word(&extras, below(&extras) + 16) + 12);
    // The table of 256 columns, and its shape: its order, and its keys.
    let wide = of("table_wide");
    let (wide_shape, wide_keys) = (word(&wide, 24), word(&wide, 24) + 16 + 512);
    let wide_order = |place: usize| [0, 1].map(|byte| wide[wide_shape + 16 + 2 * place + byte]);
    // Two tables of 257 columns, one of 256, and a record and a table of few.
    let wides = of("tables_wide_and_narrow");
    let member = |index: usize| word(&wides, word(&wides, 8) + 16 + 8 * index);
    let table_of = |index: usize| word(&wides, member(index) + 12);
    let shape_of = |block: usize| (0..4).map(move |byte| block + 4 + byte);
    let with_shape = |block: usize, shape: usize| {
        let changes: Vec<_> = shape_of(block).zip((shape as u32).to_le_bytes()).collect();
        patch(&wides, &changes)
    };
    let wide_shape_of = |index: usize| word(&wides, table_of(index) + 4);
    let padding = wide_shape_of(0) + 16 + 2 * 257;
    // Rows 1 and 3 are absent: of "a" an i8 column, of "b" one with gaps, of "c" cells, of "d"
    // a list with offsets, of "e" one of fixed length, of "f" a column of nulls.
    let more: Vec<_> = (5..12)
        .map(|n| format!(r#"{{"o":{{"a":{n},"b":{n},"c":{n},"d":[],"e":[{n},{n}],"f":null}}}}"#))
        .collect();
    let absent = json(&format!(
        r#"[{{"o":{{"a":1,"b":null,"c":1,"d":["x"],"e":[1,2],"f":null}}}},{{"o":null}},
            {{"o":{{"a":2,"b":5,"c":"t","d":["y","z"],"e":[3,4],"f":null}}}},{{"o":null}},{}]"#,
        more.join(","),
    ));
    let objects = word(&absent, below(&absent) + 24 + 12);
    let column = |index: usize| word(&absent, objects + 24 + 16 * index + 12);
    // Values behind 8 bytes of each bitmap; the data of elements and offsets.
    let (fixed, texts) = (word(&absent, column(4) + 28), word(&absent, column(3) + 44));
    let nullable = of("column_nullable");
    // A struct column with gaps, without rows and room, and its shape.
    let no_rows = {
        let blocks: [u64; 10] = [
            0x11005,
            0x3000000000,
            0x5800000008,
            0x2000000000,
            0x100000000,
            0x205,
            0x0,
            0x10101,
            0x88,
            0x8100000000000061,
        ];
        let mut bytes = numbers[..32].to_vec();
        bytes.extend(blocks.iter().flat_map(|word| word.to_le_bytes()));
        patch(&bytes, &[(20, bytes.len() as u8), (24, 88)])
    };
    let deep = {
        let mut bytes = livebuf_json::from_slice(b"[[]]").unwrap().to_vec();
        // The inner array's home leads back to the outer array.
        let outer = word(&bytes, 8) as u8;
        let data = word(&bytes, outer as usize + 12);
        bytes[data] = outer;
        bytes
    };
    let second = {
        // Both elements are the first object.
        let first = word(&shared, rows) as u8;
        patch(&shared, &[(rows + 4, first)])
    };
    vec![
        ("NotADocument_json", b"{\"a\": 1}".to_vec()),
        ("NotADocument_empty", Vec::new()),
        ("Truncated_header", lap[..31].to_vec()),
        ("Truncated_body", lap[..128].to_vec()),
        ("UnsupportedVersion_0", patch(&lap, &[(4, 0)])),
        ("UnsupportedVersion_2", patch(&lap, &[(4, 2)])),
        ("UnsupportedFeature_refuse_flag", patch(&lap, &[(5, 0x80)])),
        ("BadCount_used_below_header", patch(&lap, &[(20, 24)])),
        ("Misaligned_used", patch(&lap, &[(20, 0x84)])),
        ("BadCode_root_tag", patch(&lap, &[(16, 0x40)])),
        ("UnsupportedFeature_reserved_node", patch(&lap, &[(16, 0x22)])),
        ("NotZero_header", patch(&lap, &[(18, 1)])),
        ("OutOfBounds_root_home", patch(&lap, &[(9, 0x10)])),
        ("Misaligned_root_home", patch(&numbers, &[(8, 33), (33, 5), (34, 0)])),
        ("BadCell_node_high_bits", patch(&lap, &[(12, 1)])),
        ("WrongBlock_root_is_a_shape", patch(&lap, &[(8, 96)])),
        (
            "WrongBlock_forward_to_forward",
            patch(&lap, &[(48, 3), (49, 0), (50, 0), (51, 0), (52, 48)]),
        ),
        ("BadCount_record_used_above_capacity", patch(&lap, &[(49, 2)])),
        ("BadCount_record_live", patch(&lap, &[(51, 2)])),
        ("WrongBlock_record_shape", patch(&lap, &[(52, 88)])),
        ("BadCode_tag_undefined", patch(&lap, &[(57, 0x30)])),
        ("NotZero_map_header", patch(&map, &[(header + 1, 1)])),
        ("NotZero_map_unused", patch(&map, &[(header + 28, 1)])),
        ("NotZero_map_key", patch(&roomy, &[(roomy_keys + 8 * 5, 1)])),
        ("WrongBlock_map_values", patch(&values, &[(values_map + 32, 8)])),
        ("BadCode_map_of_extras", extra_form),
        ("BadCode_map_of_a_tensor", patch(&values, &[(values_map + 35, 1)])),
        ("BadCount_map_keys", patch(&values, &[(values_map + 16, 5)])),
        ("BadCount_map_hole_with_value", patch(&any, &[(any_data + 5, 2)])),
        ("NotZero_unused_tag", patch(&lap, &[(60, 1)])),
        ("BadCell_null_with_bits", patch(&lap, &[(57, 1)])),
        ("BadCell_uint_too_small", patch(&lap, &[(57, 5)])),
        ("OutOfBounds_text", patch(&lap, &[(65, 1)])),
        ("Overlap_text_in_shape", patch(&lap, &[(64, 96)])),
        ("BadText_not_utf8", patch(&lap, &[(40, 0xFF)])),
        ("BadIndex_fingerprint", patch(&lap, &[(104, 0)])),
        ("BadCode_shape_flags", patch(&lap, &[(99, 2)])),
        ("DuplicateKey_in_shape", {
            let twice = patch(&lap, &[(105, 0x4f)]);
            let mut bytes = twice;
            bytes.copy_within(112..120, 120);
            bytes
        }),
        // The extra object's one key becomes that of the first column, which all rows have.
        ("DuplicateKey_in_extras", {
            let shape = |at: usize| word(&extras, at + 4);
            let (column, extra) = (shape(below(&extras)), shape(word(&extras, entries)));
            let mut bytes = patch(&extras, &[(extra + 8, extras[column + 8])]);
            bytes.copy_within(column + 16..column + 24, extra + 16);
            bytes
        }),
        ("BadCount_private_shape", {
            let object = word(&shared, rows);
            patch(&shared, &[(word(&shared, object + 4) + 3, 1)])
        }),
        ("BadCell_inline_length", patch(&lap, &[(119, 0x88)])),
        // The third key's cell is at 128, its text at 88.
        ("BadCell_shape_key_owned", patch(&lap, &[(135, 0x40)])),
        ("BadCell_shape_key_length", {
            // A byte more, which is padding.
            let key = json(&format!("{{\"{:k>255}\":1}}", ""));
            let cell = key.len() - 8;
            assert_eq!(key[cell + 4..], [255, 0, 0, 0]);
            patch(&key, &[(cell + 4, 0), (cell + 5, 1)])
        }),
        ("BadCell_long_text_not_owned", {
            let long = json(&format!("\"{:x>1025}\"", ""));
            patch(&long, &[(15, 0)])
        }),
        ("BadCell_short_text_elsewhere", patch(&text, &[(12, 3)])),
        ("NotZero_text_padding", {
            let mut doc = livebuf_json::from_slice(b"[]").unwrap();
            doc.set_pointer("/-", "ten bytes!").unwrap();
            let mut bytes = doc.to_vec();
            let at = bytes.windows(10).position(|text| text == b"ten bytes!").unwrap();
            bytes[at + 12] = 1;
            bytes
        }),
        ("BadCode_column", patch(&numbers, &[(33, 0x7F)])),
        ("BadCode_gaps", patch(&numbers, &[(34, 4)])),
        ("BadCount_null_column_without_gaps", {
            let nulls = json("[1,2,3]");
            patch(&nulls, &[(33, 15), (48, 0), (49, 0), (50, 0)])
        }),
        ("NotZero_gap_value", {
            let values = word(&nullable, word(&nullable, 8) + 12) + 8;
            patch(&nullable, &[(values + 2, 1)])
        }),
        ("BadCode_missing_bit", patch(&absent, &[(column(0), 0b1111_0111)])),
        ("BadCode_missing_null", patch(&absent, &[(column(1) + 8, 0b00011)])),
        ("BadCode_missing_as_null", patch(&absent, &[(objects + 24 + 16 * 5 + 2, 1)])),
        ("NotZero_missing_tag", patch(&absent, &[(column(2) + 3, 1)])),
        ("BadCode_missing_element", patch(&absent, &[(fixed, 0b0011_0111)])),
        ("BadCode_element_is_missing", patch(&absent, &[(fixed, 0b0011_0010), (fixed + 8, 0)])),
        ("BadCount_gap_list", patch(&absent, &[(texts + 1, 0), (texts + 2, 1)])),
        ("NotZero_null_column_bit", patch(&absent, &[(column(5), 1)])),
        ("WrongBlock_table_owner_column", patch(&absent, &[(objects + 2, 1)])),
        ("BadCode_table_form", patch(&absent, &[(objects + 1, 2)])),
        ("BadCode_orders_column", patch(&ordered, &[(orders + 1, 6)])),
        ("BadCode_orders_gaps", patch(&ordered, &[(orders + 2, 1)])),
        ("BadIndex_order_beyond", patch(&ordered, &[(order, 3)])),
        ("BadIndex_order_twice", patch(&ordered, &[(order, 0), (order + 1, 0)])),
        ("BadIndex_wide_order", {
            let ([a, b], [c, d]) = (wide_order(9), wide_order(10));
            let at = wide_shape + 16 + 2 * 9;
            patch(&wide, &[(at, c), (at + 1, d), (at + 2, a), (at + 3, b)])
        }),
        ("BadIndex_wide_order_beyond", patch(&wide, &[(wide_shape + 17, 1), (wide_shape + 16, 0)])),
        ("DuplicateKey_in_wide_shape", {
            let first: Vec<_> =
                (0..8).map(|at| (wide_keys + 8 * 10 + at, wide[wide_keys + 8 + at])).collect();
            patch(&wide, &first)
        }),
        ("BadCell_wide_key_owned", patch(&wide, &[(wide_keys + 7, 0x40)])),
        ("BadCode_wide_shape_flags", patch(&wide, &[(wide_shape + 3, 3)])),
        ("BadCount_wide_shape_few", patch(&wide, &[(wide_shape + 8, 255), (wide_shape + 9, 0)])),
        ("BadCount_wide_shape_many", patch(&wide, &[(wide_shape + 10, 1)])),
        ("OutOfBounds_wide_shape", patch(&wide, &[(wide_shape + 9, 255)])),
        ("NotZero_wide_shape_header", patch(&wide, &[(wide_shape + 1, 1)])),
        ("NotZero_wide_order_padding", patch(&wides, &[(padding, 1)])),
        ("BadCount_private_wide_shape", patch(&wides, &[(wide_shape_of(0) + 3, 1)])),
        ("BadCount_wide_shape_of_table", with_shape(table_of(1), wide_shape_of(0))),
        ("WrongBlock_wide_shape_of_record", with_shape(member(3), wide_shape_of(0))),
        ("WrongBlock_wide_shape_of_table", with_shape(table_of(4), wide_shape_of(0))),
        ("WrongBlock_shape_of_wide_table", with_shape(table_of(0), word(&wides, member(3) + 4))),
        ("BadCount_table_rows", patch(&table, &[(rows_of + 28, 9)])),
        ("WrongBlock_table_owner", patch(&table, &[(rows_of + 12, 8)])),
        ("BadIndex_extras", patch(&extras, &[(entries + 4, 3), (entries + 12, 3)])),
        ("BadCount_list_offsets", patch(&list, &[(offsets + 9, 9)])),
        ("BadIndex_list_offsets", patch(&list, &[(offsets + 2, 1)])),
        ("BadCount_array_capacity", patch(&numbers, &[(40, 2)])),
        ("NotZero_array_slack", patch(&numbers, &[(51, 7)])),
        ("NotZero_array_header", patch(&numbers, &[(35, 2)])),
        ("OutOfBounds_array_count", patch(&cells, &[(39, 0x10), (43, 0x10)])),
        ("NotZero_unused_cell_tag", patch(&cells, &[(52, 1)])),
        ("Overlap_circle", deep),
        ("Overlap_object_reached_twice", second),
        ("BadCount_map_live", patch(&map, &[(header + 4, 59)])),
        // Its second entry is a hole, and so is no entry.
        ("BadCount_map_last_hole", {
            let key = (0..8).map(|at| (few_keys + 8 + at, 0));
            let value = [(few_data + 1, 1), (few_data + 16, 0), (few_map + 4, 1)];
            patch(&few, &key.chain(value).collect::<Vec<_>>())
        }),
        ("BadIndex_root_of_one", {
            // Above the leaf an inner node that has it as its only child.
            let mut bytes = map.clone();
            let root = bytes.len() as u32;
            bytes.extend([1, 1, 0, 0]);
            bytes.extend((node as u32).to_le_bytes());
            bytes.extend([0; 4 * 62]);
            bytes[header + 24..header + 28].copy_from_slice(&root.to_le_bytes());
            let used = bytes.len() as u32;
            bytes[20..24].copy_from_slice(&used.to_le_bytes());
            bytes
        }),
        // Entry 1 comes before entry 0.
        ("BadIndex_tree_order", patch(&small, &[(leaf + 4, 0), (leaf + 8, 1)])),
        ("BadIndex_tree_level", {
            let (bytes, root) = tree_of("map_two_leaves");
            patch(&bytes, &[(word(&bytes, root + 8), 1)])
        }),
        ("BadIndex_tree_hole", patch(&map, &[(node + 4, 7)])),
        ("BadIndex_tree_entry", patch(&small, &[(leaf + 8, 2)])),
        ("DuplicateKey_map_tree", patch(&small, &[(leaf + 8, 1)])),
        ("BadCount_map_tree", patch(&small, &[(leaf + 1, 1)])),
        ("NotZero_tree_header", patch(&small, &[(leaf + 3, 1)])),
        ("NotZero_tree_item", patch(&small, &[(leaf + 255, 1)])),
        ("BadFreeList_count", patch(&free, &[(aux + 8, 9)])),
        ("BadCode_state_without_place", patch(&free, &[(7, 2)])),
        ("BadCount_aux_classes", patch(&free, &[(aux + 1, 3)])),
        ("Overlap_state", patch(&free, &[(aux + 20, aux as u8)])),
        ("NotZero_aux_reserved", patch(&free, &[(aux + 16, 1)])),
        ("BadCount_bitmaps_of_no_capacity", patch(&no_rows, &[(below(&no_rows) + 8, 8)])),
        ("WrongBlock_record_kind", patch(&shared, &[(child, 9)])),
        // Three values and a word of marks behind them; bitmap, ten values, marks.
        ("NotZero_mark_behind_count", patch(&json("[2,2.0,2.5]"), &[(64, 0b1010)])),
        ("NotZero_mark_of_gap", patch(&json("[1,null,1.0,null,2.5,6,7,8,9,10]"), &[(96, 0b0110)])),
        ("BadIndex_hash_place", patch(&hashed, &[(numbers_at, hashed[numbers_at] ^ 1)])),
        ("BadIndex_hash_fingerprint", patch(&hashed, &[(bucket, hashed[bucket] ^ 0x80 | 1)])),
        ("BadIndex_hash_entry_missing", {
            let gone = [bucket, numbers_at, numbers_at + 1, numbers_at + 2, numbers_at + 3];
            patch(&hashed, &gone.map(|at| (at, 0)))
        }),
        ("BadIndex_hash_reach", patch(&crowded, &[(crowd + 12, 2)])),
        ("BadIndex_hash_reach_too_far", patch(&crowded, &[(crowd + 12, 8)])),
        ("BadIndex_hash_beyond", patch(&colliding, &[(collision + 12, 15)])),
        ("BadIndex_hash_beyond_without_tree", patch(&crowded, &[(crowd + 12, 16 + 3)])),
        ("BadCount_map_without_index", {
            patch(&hashed, &[8, 9, 10, 11, 12].map(|at| (hashed_map + at, 0)))
        }),
        // The first two entries of a bucket have one key, and one fingerprint.
        ("DuplicateKey_map_hashed", {
            let key = |place: usize| {
                word(&hashed, hashed_map + 20) + 8 * word(&hashed, numbers_at + 4 * place)
            };
            let mut bytes = patch(&hashed, &[(bucket + 1, hashed[bucket])]);
            bytes.copy_within(key(0)..key(0) + 8, key(1));
            bytes
        }),
        ("DuplicateKey_map_few", {
            let mut bytes = few.clone();
            bytes.copy_within(few_keys + 8..few_keys + 16, few_keys);
            bytes
        }),
        ("BadCount_hash_buckets", patch(&hashed, &[(hashed_map + 12, 0), (hashed_map + 13, 0)])),
        ("NotZero_hash_unused_place", patch(&hashed, &[(bucket + 63, 1)])),
        ("NotZero_hash_mark", patch(&hashed, &[(bucket + 13, 1)])),
        ("BadIndex_dictionary_code", patch(&coded, &[(63, 2)])),
        ("WrongBlock_dictionary_texts", patch(&coded, &[(64, 6)])),
        ("BadCode_dictionary_texts", patch(&coded, &[(65, 13)])),
        ("BadCode_dictionary_texts_gaps", patch(&coded, &[(66, 4)])),
        ("BadCount_dictionary_texts", patch(&coded, &[(68, 0)])),
        ("BadCount_dictionary_capacity", {
            let changes = [36, 40, 44].map(|at| (at, 0));
            patch(&coded, &changes)
        }),
        ("BadCell_dictionary_text_owned", patch(&coded, &[(111, 0x40)])),
        (
            "NotZero_dictionary_slack",
            patch(&json(&format!("[{},\"b\"]", ["\"a\""; 8].join(","))), &[(57, 1)]),
        ),
        ("BadIndex_run_offset_falls", patch(&run, &[(99, 5)])),
        ("BadIndex_run_first_offset", patch(&run, &[(96, 1)])),
        ("BadCount_run_bytes", patch(&run, &[(111, 40)])),
        ("BadText_run", patch(&run, &[(116, 0xFF)])),
        ("BadText_run_offset_in_character", patch(&run, &[(97, 5)])),
        ("WrongBlock_run_bytes", patch(&run, &[(64, 6)])),
        ("WrongBlock_run_offsets", patch(&run, &[(81, 2)])),
        ("BadCode_run_bytes", patch(&run, &[(65, 2)])),
        ("BadCode_run_bytes_gaps", patch(&run, &[(66, 4)])),
        ("BadCode_run_form", patch(&run, &[(49, 2), (52, 1)])),
        ("BadCount_run_capacity", patch(&run, &[(40, 16)])),
        ("NotZero_run_slack", patch(&run, &[(154, 1)])),
        (
            "NotZero_run_offsets_slack",
            patch(&json(&format!(r#"["Ada","Bo","Al","",{names},"Ned"]"#)), &[(96 + 17, 1)]),
        ),
        // A bitmap of 8 bytes before the offsets.
        (
            "BadCount_run_gap",
            patch(&json(&format!(r#"["Ada",null,"Al","Di",{names},"Ned"]"#)), &[(106, 4)]),
        ),
        ("BadCell_date", patch(&given(json!(day)), &[(10, 0x2D)])),
        ("BadCell_time", patch(&given(json!(time)), &[(14, 1)])),
        ("BadCell_timestamp", patch(&given(json!(moment)), &[(15, 0x7F)])),
        ("BadCell_decimal_scale", patch(&given(json!(price)), &[(8, 39)])),
        // The bytes of the root are at 33: a byte of 0 is before them.
        ("BadCell_decimal_large_too_small", patch(&given(json!(large)), &[(39, 0x3F)])),
        ("BadCell_decimal_large_scale", patch(&given(json!(large)), &[(49, 39)])),
        ("BadCell_uuid_length", patch(&given(json!(id)), &[(12, 15)])),
        // The column's data is at 48.
        ("BadCell_date_column", patch(&given(json!([day, day])), &[(54, 0x2D)])),
        ("BadCell_decimal_column", patch(&given(json!([price, price])), &[(48, 39)])),
        // A bitmap, then slots of 16 bytes.
        ("NotZero_uuid_gap", patch(&given(json!([id, (), id, id])), &[(80, 1)])),
        // The array's header is at 32; of rows, the elements' header is 16 behind the list's.
        ("BadCode_tensor_type", patch(&given(json!(["a"])), &[(35, 1)])),
        ("BadCode_tensor_gaps", patch(&given(json!([1, 2, (), 4, 5, 6, 7, 8])), &[(35, 1)])),
        ("BadCode_tensor_elements", {
            let (_, doc) = tensors().into_iter().find(|(name, _)| *name == "dimensions").unwrap();
            patch(doc.as_bytes(), &[(48 + 16 + 3, 0)])
        }),
        ("BadCode_tensor_column", {
            let table = json("[{\"a\":1},{\"a\":2}]");
            patch(&table, &[(below(&table) + 24 + 3, 1)])
        }),
        // Of 17 dimensions.
        ("NestingLimit_tensor", lists_in_one_another(16, 1)),
        ("NestingLimit_columns", lists_in_one_another(17, 0)),
        ("NotZero_offsets_tensor", patch(&list, &[(list_at + 32 + 3, 1)])),
        ("BadCode_f16_column", patch(&json("[300,400]"), &[(33, 32)])),
        ("BadCell_bool8", {
            let mut doc = DocBuf::new().unwrap();
            let bits = Tensor::from_bytes(ColumnType::Bool8, &[2], &[0, 1]).unwrap();
            doc.set_root(&bits).unwrap();
            patch(doc.as_bytes(), &[(49, 2)])
        }),
        ("BadNumber_text", {
            let mut bytes = json("123456789012345678901234567890");
            let at = bytes.windows(8).position(|text| text == b"12345678").unwrap();
            bytes[at] = b'x';
            bytes
        }),
    ]
}

#[test]
#[ignore = "adds vectors that are not there yet"]
fn write_missing() {
    let write = |name: String, bytes: &[u8]| {
        let path = vectors().join(name);
        if !path.exists() {
            fs::write(path, bytes).unwrap();
        }
    };
    for (name, json) in encoded() {
        let doc = livebuf_json::from_slice(json.as_bytes()).unwrap();
        write(format!("y_encoded_{name}.lbuf"), doc.as_bytes());
        write(format!("y_encoded_{name}.json"), format!("{json}\n").as_bytes());
    }
    for (name, json) in recognized() {
        write(format!("y_recognized_{name}.lbuf"), recognized_from(&json).as_bytes());
        write(format!("y_recognized_{name}.json"), format!("{json}\n").as_bytes());
    }
    for (name, doc) in extended() {
        doc.doc().validate().unwrap();
        let json = livebuf_json::to_string(doc.doc().root()).unwrap();
        write(format!("y_extended_{name}.lbuf"), doc.as_bytes());
        write(format!("y_extended_{name}.json"), format!("{json}\n").as_bytes());
    }
    for (name, doc) in tensors() {
        doc.doc().validate().unwrap();
        let json = livebuf_json::to_string(doc.doc().root()).unwrap();
        write(format!("y_tensor_{name}.lbuf"), doc.as_bytes());
        write(format!("y_tensor_{name}.json"), format!("{json}\n").as_bytes());
    }
    for (name, doc) in edited() {
        doc.doc().validate().unwrap();
        let json = livebuf_json::to_string(doc.doc().root()).unwrap();
        write(format!("y_edited_{name}.lbuf"), doc.as_bytes());
        write(format!("y_edited_{name}.json"), format!("{json}\n").as_bytes());
    }
    for (name, bytes) in foreign().into_iter().chain(accepted()) {
        let doc = Doc::open(&bytes).unwrap().validate().unwrap();
        let json = livebuf_json::to_string(doc.root()).unwrap();
        write(format!("y_edited_{name}.lbuf"), &bytes);
        write(format!("y_edited_{name}.json"), format!("{json}\n").as_bytes());
    }
    let reserved = json!({"immediate": 0.5, "inline": b"xyz", "span": b"bytes by themselves"});
    let mut reserved = reserved.to_vec();
    let tags = reserved.windows(3).position(|tags| tags == [0x06, 0x11, 0x11]).unwrap();
    reserved[tags..tags + 3].copy_from_slice(&[0x0C, 0x15, 0x1F]);
    Doc::open(&reserved).unwrap().validate().unwrap();
    write("y_reserved_tags.lbuf".to_owned(), &reserved);
    for (name, bytes) in damaged().into_iter().chain(refused()) {
        let error = Doc::open(&bytes).and_then(|doc| doc.validate()).err();
        let expected = name.split('_').next().unwrap();
        let given = error.map(|error| error.kind().name());
        assert_eq!(given, Some(expected), "{name}: {error:?}");
        write(format!("n_{name}.lbuf"), &bytes);
    }
}

/// Their page lists them by sections, and each stands somewhere.
#[test]
fn every_vector_is_listed() {
    let page = std::fs::read_to_string(root().join("testdata/vectors/README.md")).unwrap();
    let named: std::collections::BTreeSet<&str> =
        page.split('`').filter(|word| word.starts_with("y_") || word.starts_with("n_")).collect();
    let mut files = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(root().join("testdata/vectors")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        files.extend(name.strip_suffix(".lbuf").map(str::to_owned));
    }
    for name in named.iter().filter(|name| !name.contains(['*', '<'])) {
        assert!(files.contains(*name), "the page lists {name}, which is not there");
    }
    for name in &files {
        assert!(named.contains(name.as_str()), "the page does not list {name}");
    }
}
