//! Documents to Parquet and back.

use std::sync::Arc;

use livebuf::DocBuf;
use livebuf_parquet::{Compression, ErrorKind, WriteOptions, to_parquet};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{back, json, text, written};

fn columns(document: &Arc<DocBuf>, options: &WriteOptions) -> Vec<String> {
    let bytes = written(document, options);
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let fields = builder.schema().fields().iter();
    let fields = fields.map(|field| match field.extension_type_name() {
        Some("arrow.parquet.variant") => format!("{} variant", field.name()),
        _ => format!("{} {}", field.name(), field.data_type()),
    });
    fields.collect()
}

#[test]
fn tables_are_typed_columns_and_all_else_is_variant() {
    let document = json(
        r#"[{"id": 1, "name": "Ada", "tags": ["a"], "any": 1}, {"id": 2, "name": null, "tags": [], "any": "x"}]"#,
    );
    let options = WriteOptions::new();
    assert_eq!(
        columns(&document, &options),
        ["id Int64", "name Utf8", "tags List(Utf8)", "any variant"]
    );
    assert_eq!(text(&back(&document, &options)), text(&document));
    let one = options.clone().variant(true);
    assert_eq!(columns(&document, &one), ["value variant"]);
    assert_eq!(text(&back(&document, &one)), text(&document));
    for whole in [
        r#"{"a":1,"b":[1,"x",null,{"c":2.5}]}"#,
        "1",
        "null",
        "[]",
        "{}",
        "[1,null,2]",
        "[[],{}]",
        "[{},{}]",
        r#"[null,{"a":1}]"#,
    ] {
        for options in [
            WriteOptions::new(),
            WriteOptions::new().shred(false),
            WriteOptions::new().variant(true),
        ] {
            assert_eq!(text(&back(&json(whole), &options)), whole, "{options:?}");
        }
    }
}

/// A table of more keys than a record may have keeps each as a column.
#[test]
fn wide_tables() {
    for count in [255, 256, 1_000] {
        let row = |row: usize| -> String {
            let members = (0..count).map(|column| match column % 3 {
                0 => format!("\"c{column}\":{}", row + column),
                1 => format!("\"c{column}\":{}.5", row * column),
                _ => format!("\"c{column}\":\"text {}\"", row % 7),
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        };
        let rows: Vec<_> = (0..20).map(row).collect();
        let document = json(&format!("[{}]", rows.join(",")));
        assert_eq!(document.doc().stats().unwrap().columns, count as u64);
        let columns = columns(&document, &WriteOptions::new());
        let expected = (0..count)
            .map(|column| format!("c{column} {}", ["Int64", "Float64", "Utf8"][column % 3]));
        assert_eq!(columns, expected.collect::<Vec<_>>());
        let back = back(&document, &WriteOptions::new());
        assert_eq!(text(&back), text(&document));
        assert_eq!(back.doc().stats().unwrap().columns, count as u64);
    }
}

#[test]
fn members_of_an_object_are_rows() {
    let document =
        json(r#"{"laps":{"ada":{"n":1,"t":1.5},"bea":{"n":2,"t":null}},"any":{"a":1,"b":"x"}}"#);
    let laps = WriteOptions::new().table("/laps");
    assert_eq!(columns(&document, &laps), ["key Utf8", "n Int64", "t Float64"]);
    assert_eq!(
        text(&back(&document, &laps)),
        r#"[{"key":"ada","n":1,"t":1.5},{"key":"bea","n":2,"t":null}]"#
    );
    let any = WriteOptions::new().table("/any");
    assert_eq!(columns(&document, &any), ["key Utf8", "value variant"]);
    assert_eq!(text(&back(&document, &any)), r#"[{"key":"a","value":1},{"key":"b","value":"x"}]"#);
    let whole = any.variant(true);
    assert_eq!(columns(&document, &whole), ["value variant"]);
    assert_eq!(text(&back(&document, &whole)), r#"{"a":1,"b":"x"}"#);
    // A pointer to one value.
    assert_eq!(text(&back(&document, &WriteOptions::new().table("/laps/ada/n"))), "1");
    for pointer in ["/nothing", "laps", "/laps/ada/n/x"] {
        let options = WriteOptions::new().table(pointer);
        let error = to_parquet(Arc::clone(&document), Vec::new(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}

/// A table whose columns no type of Parquet's holds as they are.
#[test]
fn columns_that_types_would_change_are_variants() {
    for (rows, column) in [
        (r#"[{"a":9007199254740993},{"a":0.5}]"#, "a variant"),
        (r#"[{"a":9007199254740992},{"a":0.5}]"#, "a Float64"),
        (r#"[{"a":18446744073709551615},{"a":1}]"#, "a UInt64"),
        (r#"[{"a":18446744073709551615},{"a":-1}]"#, "a variant"),
        (r#"[{"a":{}},{"a":{}}]"#, "a variant"),
        (r#"[{"a":{"b":1}},{"a":{"b":"x"}}]"#, "a variant"),
        (r#"[{"a":[{"b":1},2]}]"#, "a variant"),
        (r#"[{"a":null},{"a":null}]"#, "a Null"),
    ] {
        let document = json(rows);
        assert_eq!(columns(&document, &WriteOptions::new()), [column], "{rows}");
        if column != "a Float64" {
            assert_eq!(text(&back(&document, &WriteOptions::new())), rows);
        }
    }
}

#[test]
fn order_of_keys() {
    let rows = r#"[{"b":1,"a":{"z":1,"y":"x"}},{"a":{"y":2,"z":"x"},"b":2}]"#;
    let variants = WriteOptions::new().variant(true);
    assert_eq!(text(&back(&json(rows), &variants.clone().shred(false))), rows);
    // Columns have one order for all rows.
    let one = r#"[{"b":1,"a":{"z":1,"y":"x"}},{"b":2,"a":{"z":"x","y":2}}]"#;
    assert_eq!(text(&back(&json(rows), &WriteOptions::new().shred(false))).len(), one.len());
    assert_eq!(text(&back(&json(rows), &variants)).len(), rows.len());
}

/// Rows in many batches, in typed columns and in Variants that are shredded and not.
#[test]
fn many_rows() {
    let row = |n: usize| match n % 3 {
        0 => format!(r#"{{"id":{n},"any":{{"a":{n},"b":"text {n}"}}}}"#),
        1 => format!(r#"{{"id":{n},"any":[{n},"x"]}}"#),
        _ => format!(r#"{{"id":{n},"any":null}}"#),
    };
    let rows: Vec<String> = (0..20_000).map(row).collect();
    let document = json(&format!("[{}]", rows.join(",")));
    for options in [WriteOptions::new(), WriteOptions::new().variant(true)] {
        for options in [options.clone(), options.shred(false).compression(Compression::Zstd)] {
            assert!(text(&back(&document, &options)) == text(&document), "{options:?}");
        }
    }
}

#[test]
fn the_nearest_value_by_option() {
    for (value, kept, lossy) in [
        ("1.50", None, "1.50"),
        ("1E3", None, "1000.0"),
        ("1e400", None, r#""1e400""#),
        ("100000000000000000000", Some("100000000000000000000"), "100000000000000000000"),
        ("1000000000000000000000000000000000000000", None, "1e+39"),
    ] {
        let numbers = livebuf_json::ReadOptions::new().numbers(livebuf_json::NumberPolicy::AllText);
        let text_of = format!("[[],{value}]");
        let document =
            Arc::new(livebuf_json::from_slice_with(text_of.as_bytes(), &numbers).unwrap());
        let found = to_parquet(Arc::clone(&document), Vec::new(), &WriteOptions::new());
        match kept {
            Some(kept) => {
                found.unwrap();
                assert_eq!(text(&back(&document, &WriteOptions::new())), format!("[[],{kept}]"));
            }
            None => {
                let error = found.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                assert!(error.to_string().starts_with(r#"at "/1": "#), "{error}");
            }
        }
        let copy = text(&back(&document, &WriteOptions::new().lossy(true)));
        assert_eq!(copy, format!("[[],{lossy}]"));
    }
}

/// The shared memory of a file, and a document that is not known to be valid.
#[test]
fn documents_of_others() {
    let document = json(r#"[{"a":1,"b":[1,"x"]},{"a":2,"b":{}}]"#);
    let path = std::env::temp_dir().join(format!("livebuf-parquet-{}.lbuf", std::process::id()));
    std::fs::write(&path, document.as_bytes()).unwrap();
    let mapped = livebuf::mapped::MappedFile::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut bytes = Vec::new();
    to_parquet(Arc::new(mapped), &mut bytes, &WriteOptions::new()).unwrap();
    assert_eq!(bytes, written(&document, &WriteOptions::new()));
    let mut damaged = document.as_bytes().to_vec();
    let end = damaged.len() / 2;
    damaged[end..].fill(0xFF);
    let error = to_parquet(Arc::new(damaged), Vec::new(), &WriteOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Document);
    assert!(error.core_error().is_some());
}
