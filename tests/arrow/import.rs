//! Arrays of the `arrow` crate into documents: every type, offsets, what is refused.

use std::sync::Arc;

use arrow_array::builder::*;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use livebuf::EncodeOptions;
use livebuf_arrow::{ErrorKind, ExportOptions, Exporter, ImportOptions, from_batch, from_stream};

use crate::exchange::{from_arrow, import, import_rows, stream_from_arrow, text, to_arrow};

/// The array as JSON: whole, and in slices that begin within bytes of bitmaps.
fn json(array: &dyn Array) -> String {
    let whole = text(&import(array).unwrap());
    for (start, length) in [(0, array.len()), (1, array.len().saturating_sub(1)), (2, 1), (3, 0)] {
        if start + length > array.len() {
            continue;
        }
        let part = import(&*array.slice(start, length)).unwrap();
        let root = import(array).unwrap();
        let root = root.valid().unwrap().root().as_array().unwrap();
        let part_root = part.valid().unwrap().root().as_array().unwrap();
        let show = |value| livebuf_json::to_string(value).unwrap();
        let expected: Vec<String> = root.iter().skip(start).take(length).map(show).collect();
        assert_eq!(part_root.iter().map(show).collect::<Vec<_>>(), expected);
    }
    whole
}

#[test]
fn numbers() {
    let gaps = [Some(1), None, Some(3)];
    assert_eq!(json(&Int8Array::from(vec![Some(-128), None, Some(127)])), "[-128,null,127]");
    assert_eq!(json(&Int16Array::from_iter(gaps)), "[1,null,3]");
    assert_eq!(json(&Int32Array::from(vec![i32::MIN, i32::MAX])), "[-2147483648,2147483647]");
    assert_eq!(json(&Int64Array::from(vec![i64::MIN])), "[-9223372036854775808]");
    assert_eq!(json(&UInt8Array::from(vec![255])), "[255]");
    assert_eq!(json(&UInt16Array::from(vec![65_535])), "[65535]");
    assert_eq!(json(&UInt32Array::from(vec![u32::MAX])), "[4294967295]");
    assert_eq!(json(&UInt64Array::from(vec![u64::MAX, 1])), "[18446744073709551615,1]");
    let halves: Vec<_> =
        [0.5f32, -2.0, 65504.0].map(<Float16Type as ArrowPrimitiveType>::Native::from_f32).to_vec();
    assert_eq!(json(&Float16Array::from(halves)), "[0.5,-2.0,65504.0]");
    assert_eq!(json(&Float32Array::from(vec![0.5, -0.0])), "[0.5,-0.0]");
    assert_eq!(json(&Float64Array::from(vec![Some(0.1), None])), "[0.1,null]");
    assert_eq!(json(&BooleanArray::from(vec![Some(true), None, Some(false)])), "[true,null,false]");
    assert_eq!(json(&NullArray::new(3)), "[null,null,null]");
    let decimal = Decimal128Array::from(vec![Some(12_345), None, Some(-5)]);
    let decimal = decimal.with_precision_and_scale(10, 2).unwrap();
    assert_eq!(json(&decimal), "[123.45,null,-0.05]");
    let document = import(&decimal).unwrap();
    let first = document.valid().unwrap().root().get(0).unwrap();
    assert_eq!(first.as_decimal(), livebuf::Decimal::new(12_345, 2));
    let small = Decimal32Array::from(vec![7]).with_precision_and_scale(5, 0).unwrap();
    assert_eq!(json(&small), "[7]");
    let middle = Decimal64Array::from(vec![-7]).with_precision_and_scale(15, -2).unwrap();
    assert_eq!(json(&middle), "[-700]");
}

#[test]
fn texts_and_bytes() {
    let values = [Some("a"), None, Some(""), Some("a text of more than twelve bytes é")];
    let expected = r#"["a",null,"","a text of more than twelve bytes é"]"#;
    assert_eq!(json(&StringArray::from_iter(values)), expected);
    assert_eq!(json(&LargeStringArray::from_iter(values)), expected);
    assert_eq!(json(&StringViewArray::from_iter(values)), expected);
    let bytes = values.map(|value| value.map(str::as_bytes));
    let expected = text(&import(&BinaryArray::from_iter(bytes)).unwrap());
    assert_eq!(expected, r#"["YQ==",null,"","YSB0ZXh0IG9mIG1vcmUgdGhhbiB0d2VsdmUgYnl0ZXMgw6k="]"#);
    assert_eq!(json(&BinaryArray::from_iter(bytes)), expected);
    assert_eq!(json(&LargeBinaryArray::from_iter(bytes)), expected);
    assert_eq!(json(&BinaryViewArray::from_iter(bytes)), expected);
    let document = import(&BinaryViewArray::from_iter(bytes)).unwrap();
    let last = document.valid().unwrap().root().get(3).unwrap();
    assert_eq!(last.as_bytes(), bytes[3]);
    let fixed = [Some(*b"abc"), None, Some(*b"\0\xFF\0")].into_iter();
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 3).unwrap();
    assert_eq!(json(&fixed), r#"["YWJj",null,"AP8A"]"#);
    // Several buffers.
    let mut views = StringViewBuilder::new().with_fixed_block_size(32);
    (0..40).for_each(|n| views.append_value(format!("a text of number {n} in a buffer")));
    assert!(json(&views.finish()).contains("number 39 in"));
}

#[test]
fn times() {
    assert_eq!(json(&Date32Array::from(vec![Some(19_782), None])), r#"["2024-02-29",null]"#);
    let dates = Date64Array::from(vec![86_400_000, 1]);
    assert_eq!(json(&dates), r#"["1970-01-02","1970-01-01T00:00:00.001"]"#);
    assert_eq!(json(&Time32SecondArray::from(vec![3_661])), r#"["01:01:01"]"#);
    assert_eq!(json(&Time32MillisecondArray::from(vec![1])), r#"["00:00:00.001"]"#);
    assert_eq!(json(&Time64MicrosecondArray::from(vec![1])), r#"["00:00:00.000001"]"#);
    assert_eq!(json(&Time64NanosecondArray::from(vec![1])), r#"["00:00:00.000000001"]"#);
    let stamp = TimestampSecondArray::from(vec![1_709_212_045]);
    assert_eq!(json(&stamp), r#"["2024-02-29T13:07:25"]"#);
    assert_eq!(json(&stamp.clone().with_timezone("UTC")), r#"["2024-02-29T13:07:25Z"]"#);
    assert_eq!(json(&stamp.clone().with_timezone("+02:00")), r#"["2024-02-29T13:07:25Z"]"#);
    assert_eq!(json(&stamp.with_timezone("Asia/Tokyo")), r#"["2024-02-29T13:07:25Z"]"#);
    let stamp = TimestampMillisecondArray::from(vec![-1]);
    assert_eq!(json(&stamp), r#"["1969-12-31T23:59:59.999"]"#);
    let stamp = TimestampMicrosecondArray::from(vec![1]);
    assert_eq!(json(&stamp), r#"["1970-01-01T00:00:00.000001"]"#);
    let stamp = TimestampNanosecondArray::from(vec![1]);
    assert_eq!(json(&stamp), r#"["1970-01-01T00:00:00.000000001"]"#);
    assert_eq!(json(&DurationSecondArray::from(vec![90])), r#"["PT90S"]"#);
    assert_eq!(json(&DurationMillisecondArray::from(vec![-1_500])), r#"["-PT1.500S"]"#);
    // What no date or time holds stays text.
    for beyond in [
        json(&Date32Array::from(vec![2_932_897])),
        json(&Date64Array::from(vec![2_932_897 * 86_400_000])),
    ] {
        assert_eq!(beyond, r#"["+010000-01-01"]"#);
    }
    let beyond = TimestampSecondArray::from(vec![-62_135_596_801]).with_timezone("UTC");
    assert_eq!(json(&beyond), r#"["0000-12-31T23:59:59Z"]"#);
    let error = import(&Time32SecondArray::from(vec![0, 86_400])).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Mismatch, Some(1)));
    assert!(error.to_string().contains("86400 is no time of a day"), "{error}");
}

#[test]
fn nested() {
    let mut lists = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    for n in 0..5 {
        for m in 0..n {
            (0..m).for_each(|value| lists.values().values().append_value(value));
            lists.values().append(m != 2);
        }
        lists.append(n != 3);
    }
    let lists = lists.finish();
    assert_eq!(json(&lists), "[[],[[]],[[],[0]],null,[[],[0],null,[0,1,2]]]");
    let mut large = LargeListBuilder::new(StringBuilder::new());
    large.append_value([Some("a"), None]);
    large.append_null();
    large.append_value([Some("b")]);
    let large = large.finish();
    assert_eq!(json(&large), r#"[["a",null],null,["b"]]"#);
    let fixed = FixedSizeListArray::from_iter_primitive::<Int16Type, _, _>(
        [Some([Some(1), None]), None, Some([Some(5), Some(6)]), Some([Some(7), Some(8)])],
        2,
    );
    assert_eq!(json(&fixed), "[[1,null],null,[5,6],[7,8]]");
    let object = StructArray::new(
        Fields::from(vec![
            Field::new("a", DataType::Int32, true),
            Field::new("l", fixed.data_type().clone(), true),
        ]),
        vec![Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)])), Arc::new(fixed)],
        Some(NullBuffer::from(vec![true, true, false, true])),
    );
    assert_eq!(
        json(&object),
        r#"[{"a":1,"l":[1,null]},{"a":null,"l":null},null,{"a":4,"l":[7,8]}]"#
    );
    // Slices in slices: lists of structs of lists, cut at every level.
    let list = ListArray::new(
        Arc::new(Field::new("item", object.data_type().clone(), true)),
        OffsetBuffer::new(vec![0, 1, 3].into()),
        Arc::new(object.slice(1, 3)),
        None,
    );
    assert_eq!(json(&list), r#"[[{"a":null,"l":null}],[null,{"a":4,"l":[7,8]}]]"#);
    let empty = StructArray::new_empty_fields(3, None);
    assert_eq!(json(&empty), "[{},{},{}]");
}

#[test]
fn dictionaries() {
    let texts: DictionaryArray<Int8Type> =
        [Some("x"), None, Some("y"), Some("x")].into_iter().collect();
    assert_eq!(json(&texts), r#"["x",null,"y","x"]"#);
    let keys = UInt16Array::from(vec![2, 0, 1]);
    let values = Arc::new(Int64Array::from(vec![Some(10), None, Some(30)]));
    assert_eq!(json(&DictionaryArray::new(keys, values)), "[30,10,null]");
    let lists =
        ListArray::from_iter_primitive::<Int8Type, _, _>([Some([Some(1)]), Some([Some(2)])]);
    let keys = Int64Array::from(vec![1, 1, 0]);
    assert_eq!(json(&DictionaryArray::new(keys, Arc::new(lists))), "[[2],[2],[1]]");
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn rows_become_objects_and_tables() {
    let ids: Int64Array = (0..100).collect();
    let names: StringArray = (0..100).map(|n| (n % 3 > 0).then(|| format!("name {n}"))).collect();
    let rows = batch(vec![("id", Arc::new(ids)), ("name", Arc::new(names))]);
    let document = import_rows(&rows);
    let array = document.valid().unwrap().root().as_array().unwrap();
    assert!(array.table().is_some());
    assert_eq!(array.get(4).unwrap().get("name").unwrap().as_str(), Some("name 4"));
    assert!(array.get(3).unwrap().get("name").unwrap().is_null());
    let back = Exporter::new(Arc::new(document)).unwrap().batch().unwrap();
    assert_eq!(to_arrow(back).columns(), rows.columns());

    let options = ImportOptions::new().skip_nulls(true);
    let document = from_batch(&from_arrow(&StructArray::from(rows.clone())), &options).unwrap();
    let root = document.valid().unwrap().root();
    assert!(root.pointer("/3/name").is_none() && root.pointer("/4/name").is_some());

    // Columns of 64 bits come back without being built.
    let wide = EncodeOptions { min_width: 8, ..EncodeOptions::default() };
    let options = ImportOptions::new().encode(wide);
    let document = from_batch(&from_arrow(&StructArray::from(rows.clone())), &options).unwrap();
    let document = Arc::new(document);
    let back = to_arrow(Exporter::new(Arc::clone(&document)).unwrap().batch().unwrap());
    assert_eq!(back.columns(), rows.columns());
    let start = back.column(0).to_data().buffers()[0].as_ptr();
    assert!(document.as_bytes().as_ptr_range().contains(&start));
}

#[test]
fn skipped_nulls_in_dictionaries_and_structs() {
    let values = Arc::new(StringArray::from(vec![Some("x"), None]));
    let keys = Int8Array::from(vec![Some(0), Some(1), None]);
    let inner = StructArray::from(batch(vec![
        ("d", Arc::new(DictionaryArray::new(keys, values))),
        ("n", Arc::new(NullArray::new(3))),
        (
            "l",
            Arc::new(ListArray::from_iter_primitive::<Int8Type, _, _>([
                Some(vec![None]),
                None,
                Some(vec![]),
            ])),
        ),
    ]));
    let rows = StructArray::from(batch(vec![("o", Arc::new(inner))]));
    let options = ImportOptions::new().skip_nulls(true);
    let document = from_batch(&from_arrow(&rows), &options).unwrap();
    assert_eq!(text(&document), r#"[{"o":{"d":"x","l":[null]}},{"o":{}},{"o":{"l":[]}}]"#);
}

#[test]
fn empty_streams_and_batches() {
    let schema = Schema::new(vec![Field::new("a", DataType::Utf8, true)]);
    let empty = RecordBatch::new_empty(schema.clone().into());
    assert_eq!(text(&import_rows(&empty)), "[]");
    let stream = stream_from_arrow(&schema, Vec::new());
    assert_eq!(text(&from_stream(stream, &ImportOptions::new()).unwrap()), "[]");
}

#[test]
fn streams_of_ours_come_back() {
    let rows: Vec<String> = (0..100).map(|n| format!(r#"{{"n":{n},"l":["{n}",null]}}"#)).collect();
    let document = livebuf_json::from_str(&format!("[{}]", rows.join(","))).unwrap();
    let expected = text(&document);
    let exporter = Exporter::new(Arc::new(document)).unwrap();
    let exporter = exporter.options(ExportOptions::new().batch_rows(9));
    let back = from_stream(exporter.stream().unwrap(), &ImportOptions::new()).unwrap();
    assert_eq!(text(&back), expected);
}

#[test]
fn what_cannot_be_imported_says_so() {
    let unsupported = |array: ArrayRef| {
        let rows = StructArray::from(batch(vec![
            ("ok", Arc::new(NullArray::new(array.len()))),
            ("it", array),
        ]));
        let error = import(&rows).unwrap_err();
        assert_eq!((error.kind(), error.column()), (ErrorKind::Unsupported, "it"));
        error.to_string()
    };
    let wide = Decimal256Array::from(vec![i256::ONE]).with_precision_and_scale(50, 2).unwrap();
    assert_eq!(
        unsupported(Arc::new(wide)),
        "column \"it\": Arrow's type with the format \"d:50,2,256\" is not supported"
    );
    let message = unsupported(Arc::new(IntervalYearMonthArray::from(vec![1])));
    assert!(message.contains("\"tiM\""), "{message}");
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.append(true).unwrap();
    let message = unsupported(Arc::new(map.finish()));
    assert!(message.contains("\"+m\""), "{message}");
    let runs =
        RunArray::try_new(&Int32Array::from(vec![2]), &StringArray::from(vec!["a"])).unwrap();
    let message = unsupported(Arc::new(runs));
    assert!(message.contains("\"+r\""), "{message}");

    let field = || Field::new("twice", DataType::Null, true);
    let columns: Vec<ArrayRef> = vec![Arc::new(NullArray::new(1)), Arc::new(NullArray::new(1))];
    let twice = StructArray::new(Fields::from(vec![field(), field()]), columns, None);
    let error = import(&twice).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Mismatch, "twice"));

    let schema = Schema::new(vec![Field::new("a", DataType::Int8, true)]);
    let failing = vec![Err(ArrowError::ComputeError("out of coffee".into()))];
    let error =
        from_stream(stream_from_arrow(&schema, failing), &ImportOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Producer);
    assert!(error.to_string().contains("out of coffee"), "{error}");
    let released = livebuf_arrow::ArrowArrayStream::released();
    let error = from_stream(released, &ImportOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Producer);

    let mut limits = livebuf::Limits::default();
    limits.nesting = 2;
    let options = ImportOptions::new().encode(EncodeOptions { limits, ..EncodeOptions::default() });
    let inner = StructArray::from(batch(vec![("b", Arc::new(NullArray::new(1)))]));
    let rows = StructArray::from(batch(vec![("a", Arc::new(inner))]));
    let error = from_batch(&from_arrow(&rows), &options).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Document, "a"));
    assert_eq!(error.core_error().unwrap().kind(), livebuf::ErrorKind::NestingLimit);
}

/// Frames of more columns than a record has fields come in as tables, and go out as columns.
#[test]
fn wide_frames() {
    for (columns, rows) in [(255, 9), (256, 9), (1_000, 40), (20_000, 6)] {
        let column = |number: usize| -> ArrayRef {
            let at = |row: usize| (row + number) as i64;
            match number % 4 {
                0 => Arc::new(Int64Array::from_iter_values((0..rows).map(at))),
                1 => Arc::new(Float64Array::from_iter_values(
                    (0..rows).map(|row| at(row) as f64 / 7.0),
                )),
                2 => Arc::new(StringArray::from_iter_values(
                    (0..rows).map(|row| format!("the text of {}", at(row) % 5)),
                )),
                _ => Arc::new(BooleanArray::from_iter(
                    (0..rows).map(|row| (row % 3 > 0).then_some(at(row) % 2 == 0)),
                )),
            }
        };
        let named = (0..columns).map(|number| (format!("column {number}"), column(number)));
        let batch = RecordBatch::try_from_iter_with_nullable(
            named.map(|(name, values)| (name, values, true)),
        )
        .unwrap();
        let document = import_rows(&batch);
        document.doc().validate().unwrap();
        let stats = document.doc().stats().unwrap();
        assert_eq!((stats.table_count, stats.columns), (1, columns as u64), "{columns} columns");
        let exporter = Exporter::new(Arc::new(document)).unwrap();
        let back = to_arrow(exporter.batch().unwrap());
        assert_eq!(back.num_columns(), columns);
        for number in 0..columns {
            let (there, again) = (batch.column(number), back.column(number));
            assert_eq!(there.to_data(), again.to_data(), "column {number} of {columns}");
        }
        let one = exporter.select([vec![format!("column {}", columns - 1)]]);
        assert_eq!(to_arrow(one.batch().unwrap()).num_columns(), 1);
    }
}
