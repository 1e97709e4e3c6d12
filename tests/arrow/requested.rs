//! Schemas that a consumer requests.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use livebuf_arrow::{Error, ErrorKind, Exporter};

use crate::exchange::{schema_from_arrow, schema_to_arrow, stream_to_arrow, to_arrow};

const ROWS: usize = 40;

fn exporter() -> Exporter {
    let row = |n: usize| {
        let null = n % 4 == 3;
        format!(
            r#"{{"int":{n},"big":{},"float":{n}.25,"text":"text {n} of some length","gap":{},
            "flag":true,"in":{{"a":{n},"b":"b"}},"list":[{n},2],"any":{},"none":null}}"#,
            300 + n,
            if null { "null".into() } else { n.to_string() },
            if null { "1" } else { "\"x\"" },
        )
    };
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    let document = livebuf_json::from_str(&format!("[{}]", rows.join(","))).unwrap();
    Exporter::new(Arc::new(document)).unwrap()
}

fn field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

fn request(fields: Vec<Field>) -> Result<RecordBatch, Error> {
    let schema = Schema::new(fields);
    let exporter = exporter().requested_schema(&schema_from_arrow(&schema)).unwrap();
    let batch = to_arrow(exporter.batch()?);
    assert_eq!(*batch.schema_ref().fields(), schema.fields);
    assert_eq!(schema_to_arrow(exporter.schema()?).fields, schema.fields);
    let streamed: Vec<_> = stream_to_arrow(exporter.stream()?).map(Result::unwrap).collect();
    assert_eq!(streamed, std::slice::from_ref(&batch));
    Ok(batch)
}

fn refused(requested: Field) -> Error {
    request(vec![requested]).unwrap_err()
}

#[test]
fn the_exported_schema_is_honoured() {
    let schema = schema_to_arrow(exporter().schema().unwrap());
    let batch = request(schema.fields.iter().map(|field| (**field).clone()).collect()).unwrap();
    assert_eq!(batch, to_arrow(exporter().batch().unwrap()));
}

#[test]
fn numbers_are_cast() {
    for kind in [DataType::Int8, DataType::UInt8, DataType::Int32, DataType::UInt64] {
        let batch = request(vec![field("int", kind.clone()), field("gap", kind)]).unwrap();
        assert_eq!(batch.column(1).null_count(), ROWS / 4);
    }
    let batch = request(vec![
        field("float", DataType::Float32),
        field("int", DataType::Float64),
        field("big", DataType::Float32),
        field("gap", DataType::Float64),
        field("int", DataType::Int16),
    ]);
    let batch = batch.unwrap();
    assert_eq!(batch.column(0).as_primitive::<Float32Type>().value(7), 7.25);
    assert_eq!(batch.column(1).as_primitive::<Float64Type>().value(7), 7.0);
    assert_eq!(batch.column(2).as_primitive::<Float32Type>().value(7), 307.0);
    assert_eq!(batch.column(4).as_primitive::<Int16Type>().value(39), 39);

    let error = refused(field("big", DataType::Int8));
    assert_eq!((error.kind(), error.column(), error.row()), (ErrorKind::Cast, "big", Some(0)));
    assert_eq!(error.to_string(), "column \"big\", row 0: 300 does not fit int8");
    assert_eq!(refused(field("float", DataType::Int64)).kind(), ErrorKind::Cast);
    assert_eq!(refused(field("text", DataType::Int64)).kind(), ErrorKind::Cast);
    // What is mixed is tried value by value.
    let error = refused(field("any", DataType::Int64));
    assert_eq!(error.to_string(), "column \"any\", row 0: \"x\" does not fit int64");
}

#[test]
fn text_takes_any_layout() {
    let batch = request(vec![
        field("text", DataType::Utf8View),
        field("text", DataType::LargeUtf8),
        field("text", DataType::Binary),
        field("text", DataType::BinaryView),
        field("text", DataType::LargeBinary),
        field("any", DataType::Utf8View),
        field("int", DataType::Utf8),
        field("in", DataType::LargeUtf8),
    ]);
    let batch = batch.unwrap();
    let expected = "text 7 of some length";
    assert_eq!(batch.column(0).as_string_view().value(7), expected);
    assert_eq!(batch.column(1).as_string::<i64>().value(7), expected);
    assert_eq!(batch.column(2).as_binary::<i32>().value(7), expected.as_bytes());
    assert_eq!(batch.column(3).as_binary_view().value(7), expected.as_bytes());
    assert_eq!(batch.column(4).as_binary::<i64>().value(7), expected.as_bytes());
    assert_eq!(batch.column(5).as_string_view().value(0), "x");
    assert_eq!(batch.column(6).as_string::<i32>().value(7), "7");
    assert_eq!(batch.column(7).as_string::<i64>().value(7), r#"{"a":7,"b":"b"}"#);
}

#[test]
fn nested_types_are_cast_within() {
    let item = |kind| Arc::new(field("element", kind));
    let inner = |a| Fields::from(vec![field("a", a), field("none", DataType::Boolean)]);
    let batch = request(vec![
        field("in", DataType::Struct(inner(DataType::Float32))),
        field("list", DataType::LargeList(item(DataType::Int16))),
        field("list", DataType::List(item(DataType::Utf8))),
        field("list", DataType::FixedSizeList(item(DataType::Int8), 2)),
    ]);
    let batch = batch.unwrap();
    let object = batch.column(0).as_struct();
    assert_eq!(object.column(0).as_primitive::<Float32Type>().value(9), 9.0);
    assert_eq!(object.column(1).null_count(), ROWS);
    let list = batch.column(1).as_list::<i64>().value(5);
    assert_eq!(list.as_primitive::<Int16Type>().values()[..], [5, 2]);

    let error = refused(field("list", DataType::FixedSizeList(item(DataType::Int8), 3)));
    assert_eq!((error.kind(), error.row()), (ErrorKind::Cast, Some(0)));
    let error = refused(field("list", DataType::List(item(DataType::Boolean))));
    assert_eq!((error.kind(), error.column()), (ErrorKind::Cast, "list[]"));
    let error = refused(field("in", DataType::Struct(inner(DataType::Boolean))));
    assert_eq!(error.to_string(), "column \"in.a\": int64 cannot be exported as bool");
    assert_eq!(refused(field("int", DataType::Struct(Fields::empty()))).kind(), ErrorKind::Cast);
}

#[test]
fn columns_that_are_not_there() {
    let batch = request(vec![
        field("nowhere", DataType::Utf8View),
        field("none", DataType::Int32),
        field("nowhere", DataType::List(Arc::new(field("item", DataType::Utf8)))),
        field("nowhere", DataType::FixedSizeList(Arc::new(field("item", DataType::Utf8)), 3)),
        field("nowhere", DataType::FixedSizeBinary(3)),
        field("nowhere", DataType::Struct(Fields::from(vec![field("x", DataType::Null)]))),
    ]);
    assert!(batch.unwrap().columns().iter().all(|column| column.logical_null_count() == ROWS));
}

#[test]
fn nulls_where_none_may_be() {
    let full = |name: &str, kind| Field::new(name, kind, false);
    request(vec![full("int", DataType::Int64), full("text", DataType::Utf8)]).unwrap();
    for missing in [full("gap", DataType::Int64), full("nowhere", DataType::Utf8)] {
        let name = missing.name().clone();
        let error = refused(missing);
        assert_eq!((error.kind(), error.column()), (ErrorKind::Cast, name.as_str()));
    }
    // In a struct that is null a field may be.
    let rows: Vec<String> = (0..ROWS)
        .map(
            |n| if n % 2 == 0 { r#"{"o":null}"#.into() } else { format!(r#"{{"o":{{"x":{n}}}}}"#) },
        )
        .collect();
    let inside = DataType::Struct(Fields::from(vec![full("x", DataType::Int32)]));
    let schema = schema_from_arrow(&Schema::new(vec![field("o", inside)]));
    for document in [rows.join(","), rows[..3].join(",")] {
        let document = livebuf_json::from_str(&format!("[{document}]")).unwrap();
        let exporter = Exporter::new(Arc::new(document)).unwrap();
        to_arrow(exporter.requested_schema(&schema).unwrap().batch().unwrap());
    }
}

#[test]
fn what_cannot_be_requested() {
    for kind in [
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Second, None),
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        DataType::Boolean,
    ] {
        assert_eq!(refused(field("int", kind)).kind(), ErrorKind::Cast);
    }
    let schema = schema_from_arrow(&Schema::new(vec![field("int", DataType::new_list_view())]));
    let error = exporter().requested_schema(&schema).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Unsupported, "int"));
    let mut other = livebuf_arrow::ArrowSchema::released();
    assert!(other.is_released());
    assert_eq!(exporter().requested_schema(&other).unwrap_err().kind(), ErrorKind::Producer);
    other = exporter().schema().unwrap();
    assert!(!other.is_released());
}

trait ListView {
    fn new_list_view() -> DataType;
}

impl ListView for DataType {
    fn new_list_view() -> DataType {
        DataType::ListView(Arc::new(field("item", DataType::Utf8)))
    }
}

/// Dates, times and decimals in the units that a consumer wants, where no digit is lost.
#[test]
fn units_and_scales_are_cast() {
    use livebuf::{Date, Decimal, Time, Timestamp, json};
    let date = Date::from_days(3).unwrap();
    let time = Time::from_microseconds(2_000_000).unwrap();
    let moment = Timestamp::from_microseconds(5_000_000).unwrap();
    let price = Decimal::new(150, 2).unwrap();
    let (id, zero) = (livebuf::Uuid::from_bytes([7; 16]), Decimal::new(0, 38).unwrap());
    let document = Arc::new(json!([
        {"date": date, "time": time, "moment": moment, "price": price, "id": id, "zero": zero},
        {"date": date, "time": time, "moment": moment, "price": price, "id": id, "zero": zero},
    ]));
    let cast = |name: &str, kind: DataType| {
        let schema = schema_from_arrow(&Schema::new(vec![field(name, kind)]));
        let exporter = Exporter::new(Arc::clone(&document)).unwrap().requested_schema(&schema);
        exporter.unwrap().batch().map(to_arrow)
    };
    let (unit, zone) = (TimeUnit::Second, Some("Asia/Tokyo".into()));
    let batch = cast("moment", DataType::Timestamp(unit, zone)).unwrap();
    assert_eq!(batch.column(0).as_primitive::<TimestampSecondType>().value(1), 5);
    let batch = cast("moment", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())));
    let values = batch.unwrap();
    let values = values.column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(values.value(0), 5_000_000_000);
    let batch = cast("time", DataType::Time32(TimeUnit::Second)).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Time32SecondType>().value(1), 2);
    let batch = cast("date", DataType::Date64).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Date64Type>().value(1), 3 * 86_400_000);
    let batch = cast("price", DataType::Decimal64(10, 4)).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Decimal64Type>().value(1), 15_000);
    let batch = cast("price", DataType::Decimal32(2, 1)).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Decimal32Type>().value(1), 15);
    let batch = cast("zero", DataType::Decimal128(38, -2)).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Decimal128Type>().value(1), 0);
    let batch = cast("id", DataType::FixedSizeBinary(16)).unwrap();
    assert_eq!(batch.column(0).as_fixed_size_binary().value(1), [7; 16]);
    for (name, kind) in [
        ("price", DataType::Decimal128(38, 0)),
        ("price", DataType::Decimal32(1, 1)),
        ("moment", DataType::Timestamp(TimeUnit::Second, None)),
        ("date", DataType::Time64(TimeUnit::Nanosecond)),
    ] {
        assert_eq!(cast(name, kind).unwrap_err().kind(), ErrorKind::Cast, "{name}");
    }
}

/// A field of the extension `arrow.fixed_shape_tensor`, as other libraries write it.
pub(crate) fn tensors(name: &str, kind: DataType, length: i32, parameters: &str) -> Field {
    let metadata = [
        ("ARROW:extension:metadata", parameters),
        ("other", "value"),
        ("ARROW:extension:name", "arrow.fixed_shape_tensor"),
    ];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let item = Arc::new(field("item", kind));
    field(name, DataType::FixedSizeList(item, length)).with_metadata(metadata)
}

/// Rows with a tensor of two by three numbers, of which one may be null.
fn images(absent: Option<usize>) -> Arc<livebuf::DocBuf> {
    let mut encoder = livebuf::Encoder::new();
    encoder.begin_array().unwrap();
    for row in 0..20i16 {
        encoder.begin_object().unwrap();
        encoder.key("image").unwrap();
        let numbers: [i16; 6] = std::array::from_fn(|at| 100 * row + at as i16);
        match absent == Some(row as usize) {
            true => encoder.null().unwrap(),
            false => {
                encoder.tensor(&livebuf::Tensor::new(&[2, 3], &numbers).unwrap()).unwrap();
            }
        }
        encoder.key("lists").unwrap();
        encoder.begin_array().unwrap();
        for part in 0..2 {
            encoder.begin_array().unwrap();
            (0..3).for_each(|at| encoder.i64((10 * part + at).into()).unwrap());
            encoder.end_array().unwrap();
        }
        encoder.end_array().unwrap();
        encoder.end_object().unwrap();
    }
    encoder.end_array().unwrap();
    Arc::new(encoder.finish().unwrap())
}

#[test]
fn tensors_are_one_list_on_the_documents_memory() {
    for absent in [None, Some(3)] {
        let document = images(absent);
        let schema = Schema::new(vec![
            tensors("image", DataType::Int16, 6, r#"{"shape":[2,3]}"#),
            tensors("lists", DataType::Int32, 6, r#"{"shape":[2,3],"permutation":null}"#),
        ]);
        let exporter = Exporter::new(Arc::clone(&document)).unwrap();
        let exporter = exporter.requested_schema(&schema_from_arrow(&schema)).unwrap();
        let batch = to_arrow(exporter.batch().unwrap());
        let made = batch.schema_ref().field(0).metadata();
        assert_eq!(made["ARROW:extension:name"], "arrow.fixed_shape_tensor");
        assert_eq!(made["ARROW:extension:metadata"], r#"{"shape":[2,3]}"#);
        let image = batch.column(0).as_fixed_size_list();
        assert_eq!((image.len(), image.value_length()), (20, 6));
        assert_eq!(image.nulls().map(|nulls| nulls.null_count()), absent.map(|_| 1));
        let numbers = image.values().as_primitive::<Int16Type>().values();
        let memory = document.as_bytes().as_ptr_range();
        assert!(memory.contains(&numbers.as_ptr().cast()), "borrowed");
        assert_eq!(numbers[6 * 7..6 * 8], [700, 701, 702, 703, 704, 705]);
        let lists = batch.column(1).as_fixed_size_list();
        let numbers = lists.values().as_primitive::<Int32Type>().values();
        assert_eq!(numbers[..6], [0, 1, 2, 10, 11, 12]);
        // And back.
        let again = crate::exchange::import_rows(&batch);
        let text = |document| livebuf_json::to_string(document).unwrap();
        assert_eq!(text(&again), text(&*document));
        let array = |row: usize| again.valid().unwrap().root().get(row)?.get("image")?.as_array();
        for row in 0..20 {
            let tensor = array(row).map(|array| array.tensor().unwrap().shape().to_vec());
            assert_eq!(tensor, (absent != Some(row)).then(|| vec![2, 3]));
        }
    }
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let request = |document: &Arc<livebuf::DocBuf>, wanted: Field| {
        let schema = Schema::new(vec![wanted]);
        let exporter = Exporter::new(Arc::clone(document)).unwrap();
        let exporter = exporter.requested_schema(&schema_from_arrow(&schema))?;
        exporter.batch().map(to_arrow)
    };
    let document = images(None);
    for shape in ["[3,2]", "[6]", "[2,3,1]"] {
        let parameters = format!(r#"{{"shape":{shape}}}"#);
        let wanted = tensors("image", DataType::Int16, 6, &parameters);
        assert_eq!(request(&document, wanted).unwrap_err().kind(), ErrorKind::Cast, "{shape}");
    }
    // A list within is null, or has another length.
    for odd in ["[null,[1,2,3]]", "[[1,2],[1,2,3]]", "[1,2]", "7"] {
        let rows = format!(r#"[{{"image":[[1,2,3],[4,5,6]]}},{{"image":{odd}}},{{"image":null}}]"#);
        let document = Arc::new(livebuf_json::from_str(&rows).unwrap());
        let wanted = tensors("image", DataType::Int16, 6, r#"{"shape":[2,3]}"#);
        assert_eq!(request(&document, wanted).unwrap_err().kind(), ErrorKind::Cast, "{odd}");
    }
    // Without a shape that fits it is a list as others.
    let flat = livebuf_json::from_str(r#"[{"image":[1,2,3,4,5,6]}]"#).unwrap();
    for parameters in [
        "",
        "{}",
        r#"{"shape":[2,2]}"#,
        r#"{"shape":[]}"#,
        r#"{"shape":[-6]}"#,
        r#"{"shape":[4294967296,4294967296,0]}"#,
        r#"{"shape":[2,3],"permutation":[1,0]}"#,
    ] {
        let wanted = tensors("image", DataType::Int16, 6, parameters);
        let found = request(&Arc::new(flat.clone()), wanted).unwrap();
        let again = crate::exchange::import_rows(&found);
        let row = again.valid().unwrap().root().get(0).unwrap();
        assert_eq!(row.get("image").unwrap().len(), Some(6), "{parameters}");
    }
}
