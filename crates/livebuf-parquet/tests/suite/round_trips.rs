//! Documents to Parquet and back.

use std::sync::Arc;

use livebuf::DocBuf;
use livebuf_parquet::WriteOptions;
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
