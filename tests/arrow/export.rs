//! Documents to the `arrow` crate: types, values, what is borrowed.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrowPrimitiveType, BooleanArray, FixedSizeListArray, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use livebuf::{
    ColumnType, Date, DateTime, Decimal, DocBuf, EncodeOptions, Encoder, Extended, New, Tensor,
    Time, Timestamp, Uuid,
};
use livebuf_arrow::{
    ErrorKind, ExportOptions, Exporter, ImportOptions, Mixed, Numbers, TextLayout,
};

use crate::exchange::{import_rows, schema_from_arrow, stream_to_arrow, text, to_arrow};
use crate::requested::tensors;
use livebuf_fuzz::one_of;

const ROWS: usize = 100;

/// A document of an array, each row printed by `row`.
fn rows(row: impl Fn(usize) -> String) -> Arc<DocBuf> {
    let text: Vec<String> = (0..ROWS).map(row).collect();
    Arc::new(livebuf_json::from_str(&format!("[{}]", text.join(","))).unwrap())
}

fn is_table(document: &DocBuf) -> bool {
    document.valid().unwrap().root().as_array().unwrap().table().is_some()
}

/// The whole array by these options; batches of it and copies of it hold the same.
fn export_with(document: &Arc<DocBuf>, options: ExportOptions) -> RecordBatch {
    let exporter = Exporter::new(Arc::clone(document)).unwrap().options(options.clone());
    let batch = to_arrow(exporter.batch().unwrap());
    let lengths: &[usize] = if batch.num_rows() > 10_000 { &[8191] } else { &[7, 8, 64] };
    for &length in lengths {
        let options = options.clone().batch_rows(length);
        for options in [options.clone(), options.copy(true)] {
            let exporter = Exporter::new(Arc::clone(document)).unwrap().options(options);
            let mut start = 0;
            for part in stream_to_arrow(exporter.stream().unwrap()) {
                let part = part.unwrap();
                part.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
                assert_eq!(part, batch.slice(start, part.num_rows()));
                start += part.num_rows();
            }
            assert_eq!(start, batch.num_rows());
        }
    }
    batch
}

fn export(document: &Arc<DocBuf>) -> RecordBatch {
    export_with(document, ExportOptions::new())
}

fn types(batch: &RecordBatch) -> Vec<String> {
    let fields = batch.schema_ref().fields();
    fields.iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect()
}

/// Whether a column's numbers lie in the document.
fn borrows<T: ArrowPrimitiveType>(document: &DocBuf, column: &dyn Array) -> bool {
    let values = column.as_primitive::<T>().values();
    document.as_bytes().as_ptr_range().contains(&values.as_ptr().cast())
}

#[test]
fn every_type_by_default() {
    let document = rows(|n| {
        let (fixed, var) = (format!("[{n},{}]", n + 1), vec!["\"e\""; n % 4].join(","));
        format!(
            r#"{{"i8":{},"i16":{},"i32":{},"i64":{},"u64":{},"f32":{}.5,"f64":0.1{n},"mix":{},
            "text":"text number {n}","short":"s{n}","flag":{},"none":null,"struct":{{"x":{n},"y":"y"}},
            "fixed":{fixed},"list":[{var}],"any":{},"long":1000000000000000000000{n}}}"#,
            n as i32 - 50,
            300 * n,
            -100_000 * n as i64,
            -10_000_000_000 * n as i64,
            u64::MAX - n as u64,
            n,
            if n % 2 == 0 { "1" } else { "0.25" },
            n % 3 == 0,
            ["1", "\"one\"", "[1,{}]", "null"][n % 4],
        )
    });
    assert!(is_table(&document));
    let exporter = Exporter::new(Arc::clone(&document)).unwrap();
    let error = exporter.columns().unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Cast, "long"));
    let exporter = exporter.options(ExportOptions::new().numbers(Numbers::Text));
    let batch = to_arrow(exporter.batch().unwrap());
    assert_eq!(
        types(&batch),
        [
            "i8 Int64",
            "i16 Int64",
            "i32 Int64",
            "i64 Int64",
            "u64 UInt64",
            "f32 Float64",
            "f64 Float64",
            "mix Float64",
            "text Utf8",
            "short Utf8",
            "flag Boolean",
            "none Null",
            "struct Struct(\"x\": Int64, \"y\": Utf8)",
            "fixed List(Int64)",
            "list List(Utf8)",
            "any Utf8",
            "long Utf8",
        ]
    );
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("i8").as_primitive::<Int64Type>().value(3), -47);
    assert_eq!(column("u64").as_primitive::<UInt64Type>().value(3), u64::MAX - 3);
    assert_eq!(column("f32").as_primitive::<Float64Type>().value(3), 3.5);
    assert_eq!(column("mix").as_primitive::<Float64Type>().values()[..2], [1.0, 0.25]);
    assert_eq!(column("text").as_string::<i32>().value(99), "text number 99");
    assert!(column("flag").as_boolean().value(3) && !column("flag").as_boolean().value(4));
    assert_eq!(column("none").len(), ROWS);
    let point = column("struct").as_struct();
    assert_eq!(point.column(0).as_primitive::<Int64Type>().value(41), 41);
    let fixed = column("fixed").as_list::<i32>().value(5);
    assert_eq!(fixed.as_primitive::<Int64Type>().values()[..], [5, 6]);
    assert_eq!(column("list").as_list::<i32>().value(7).len(), 3);
    let any = column("any").as_string::<i32>();
    assert_eq!([any.value(0), any.value(1), any.value(2)], ["1", "one", "[1,{}]"]);
    assert!(any.is_null(3));
    assert_eq!(column("long").as_string::<i32>().value(12), "100000000000000000000012");

    // What is 64 bits wide is borrowed.
    assert!(borrows::<Int64Type>(&document, column("i64")));
    assert!(borrows::<UInt64Type>(&document, column("u64")));
    assert!(borrows::<Float64Type>(&document, column("f64")));
    assert!(!borrows::<Int64Type>(&document, column("i16")));
}

#[test]
fn narrow_columns_are_borrowed() {
    let document = rows(|n| {
        format!(
            r#"{{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{}.5,"i":0.1{n},"j":{}}}"#,
            n as i32 - 50,
            n + 150,
            n as i32 * 300 - 15_000,
            n * 600,
            n as i64 * -100_000,
            n * 40_000_000,
            n as i64 * -10_000_000_000,
            n,
            if n % 5 == 0 { "null".into() } else { n.to_string() },
        )
    });
    assert!(is_table(&document));
    let batch = export_with(&document, ExportOptions::new().narrow(true));
    assert_eq!(
        types(&batch),
        [
            "a Int8",
            "b UInt8",
            "c Int16",
            "d UInt16",
            "e Int32",
            "f UInt32",
            "g Int64",
            "h Float32",
            "i Float64",
            "j Int8"
        ]
    );
    let column = |index: usize| batch.column(index);
    assert!(
        borrows::<Int8Type>(&document, column(0)) && borrows::<UInt8Type>(&document, column(1))
    );
    assert!(borrows::<Int16Type>(&document, column(2)));
    assert!(borrows::<UInt16Type>(&document, column(3)));
    assert!(borrows::<Int32Type>(&document, column(4)));
    assert!(borrows::<UInt32Type>(&document, column(5)));
    assert!(borrows::<Int64Type>(&document, column(6)));
    assert!(borrows::<Float32Type>(&document, column(7)));
    assert!(borrows::<Float64Type>(&document, column(8)));
    // The bitmap, too.
    let nulls = column(9).nulls().unwrap();
    assert_eq!(nulls.null_count(), 20);
    assert!(document.as_bytes().as_ptr_range().contains(&nulls.validity().as_ptr()));
    let copy = export_with(&document, ExportOptions::new().narrow(true).copy(true));
    assert_eq!(copy, batch);
    assert!(!borrows::<Int8Type>(&document, copy.column(0)));
}

/// Texts that lie behind each other: their bytes are borrowed, and so are offsets of four bytes.
/// Others get Arrow's width.
#[test]
fn the_bytes_of_runs_are_borrowed() {
    let text = |n: usize| "é!".repeat(n % 5) + &n.to_string();
    let document = rows(|n| {
        let name = if n % 9 == 0 { "null".into() } else { format!("\"{}\"", text(n)) };
        let inner = format!(r#"{{"id":"{}"}}"#, text(n + 1_000));
        let many: Vec<String> = (0..n % 3).map(|m| format!("\"{}\"", text(n * m))).collect();
        let long = format!("{n}{}", "x".repeat(30 * n % 700));
        format!(r#"{{"name":{name},"o":{inner},"some":[{}],"l":"{long}"}}"#, many.join(","))
    });
    let table = document.valid().unwrap().root().as_array().unwrap().table().unwrap();
    assert!(table.columns().all(|(_, column)| column.run().is_some()
        == (column.elements().is_none() && column.table().is_none())));
    let batch = export(&document);
    assert_eq!(types(&batch)[0], "name Utf8");
    let within = |bytes: &[u8]| document.as_bytes().as_ptr_range().contains(&bytes.as_ptr());
    for column in [0, 3] {
        let texts = batch.column(column).as_string::<i32>();
        assert!(within(texts.values()));
    }
    let names = batch.column(0).as_string::<i32>();
    assert!(
        names.iter().enumerate().all(|(n, name)| name == (n % 9 > 0).then(|| text(n)).as_deref())
    );
    assert!(within(names.nulls().unwrap().validity()));
    let large = export_with(&document, ExportOptions::new().text(TextLayout::LargeUtf8));
    assert!(within(large.column(0).as_string::<i64>().values()));
    let views = export_with(&document, ExportOptions::new().text(TextLayout::Utf8View));
    assert!(views.column(0).as_string_view().iter().eq(names.iter()));
    let wide = rows(|n| format!(r#"{{"long":"{n}{}"}}"#, "x".repeat(700 + n)));
    let batch = export(&wide);
    let texts = batch.column(0).as_string::<i32>();
    let (bytes, offsets) = (wide.as_bytes().as_ptr_range(), texts.value_offsets());
    assert!(bytes.contains(&offsets.as_ptr().cast()) && bytes.contains(&texts.values().as_ptr()));
    assert_eq!((texts.value(0).len(), texts.value(11).len()), (701, 713));
}

#[test]
fn dictionaries_are_borrowed() {
    let document = rows(|n| {
        let unit = if n % 9 == 0 { "null".into() } else { format!("\"a unit {}\"", n % 3) };
        let inner = format!(r#"{{"state":"state {}"}}"#, n % 2);
        format!(r#"{{"unit":{unit},"o":{inner},"some":["x","y","x"],"mixed":{}}}"#, n % 2)
    });
    assert!(is_table(&document));
    let batch = export_with(&document, ExportOptions::new().narrow(true));
    let coded = "Dictionary(UInt8, Utf8)";
    assert_eq!(types(&batch)[0], format!("unit {coded}"));
    assert!(types(&batch)[1].contains(coded) && types(&batch)[2].contains(coded));
    let unit = batch.column(0).as_dictionary::<UInt8Type>();
    assert!(borrows::<UInt8Type>(&document, unit.keys()));
    assert!(
        document.as_bytes().as_ptr_range().contains(&unit.nulls().unwrap().validity().as_ptr())
    );
    assert_eq!((unit.null_count(), unit.values().len()), (12, 3));
    let plain = export(&document);
    assert_eq!(types(&plain)[0], "unit Utf8");
    let texts = unit.downcast_dict::<StringArray>().unwrap();
    assert!(texts.into_iter().eq(plain.column(0).as_string::<i32>().iter()));
    // Rows that are no table: the codes are made.
    let texts = [r#""a","b""#; 8].join(",");
    let mixed = format!(r#"[{{"list":[{texts}]}},{{"more":1}}]"#);
    let document = Arc::new(livebuf_json::from_str(&mixed).unwrap());
    assert!(!is_table(&document));
    let batch = export_with(&document, ExportOptions::new().narrow(true));
    assert!(types(&batch)[0].contains(coded), "{:?}", types(&batch));
    let requested = Exporter::new(document).unwrap().options(ExportOptions::new().narrow(true));
    let schema = requested.schema().unwrap();
    to_arrow(requested.requested_schema(&schema).unwrap().batch().unwrap());
}

/// A dictionary may hold equal texts twice: other writers made it, or an edit did not look at all
/// of its texts. It was handed to Arrow as it is, so that groups by its codes were too many, and
/// pandas refused it. Now its codes lead to the first of equal texts, and each is there once.
#[test]
fn equal_texts_of_a_dictionary_are_one() {
    fn distinct<T: ArrowDictionaryKeyType>(column: &dyn Array) -> Vec<String> {
        let coded = column.as_dictionary::<T>();
        match coded.values().data_type() {
            DataType::Utf8View => coded.values().as_string_view().iter().map(text_of).collect(),
            _ => coded.values().as_string::<i32>().iter().map(text_of).collect(),
        }
    }
    fn text_of(text: Option<&str>) -> String {
        text.unwrap().to_owned()
    }
    // Short texts, which lie in cells, and longer ones; at the top and within structs and lists.
    for word in ["w", "a longer word "] {
        let sound = rows(|n| {
            let unit = if n % 9 == 0 { "null".into() } else { format!("\"{word}{}\"", n % 4) };
            let [some, more] = [n % 4, 3 - n % 4].map(|digit| format!("{word}{digit}"));
            format!(r#"{{"unit":{unit},"o":{{"state":"{some}"}},"some":["{some}","{more}"]}}"#)
        });
        let mut bytes = sound.as_bytes().to_vec();
        let needle = format!("{word}3");
        let found: Vec<usize> = (0..bytes.len() - needle.len())
            .filter(|&at| bytes[at..].starts_with(needle.as_bytes()))
            .collect();
        assert!(!found.is_empty());
        found.iter().for_each(|&at| bytes[at + needle.len() - 1] = b'1');
        let document = Arc::new(DocBuf::open(&bytes).unwrap());
        let table = document.valid().unwrap().root().as_array().unwrap().table().unwrap();
        assert_eq!(table.column("unit").unwrap().dictionary().unwrap().texts().len(), 4);
        let plain = export(&document);
        for text in [TextLayout::Utf8, TextLayout::Utf8View] {
            let batch = export_with(&document, ExportOptions::new().narrow(true).text(text));
            let state = batch.column(1).as_struct().column(0);
            let some = batch.column(2).as_list::<i32>().values();
            for (column, first) in [(batch.column(0), 1), (state, 0), (some, 0)] {
                let mut texts = distinct::<UInt8Type>(column);
                assert_eq!(texts.len(), 3, "{texts:?}");
                assert_eq!(texts[0], format!("{word}{first}"));
                texts.sort();
                assert_eq!(texts, [0, 1, 2].map(|digit| format!("{word}{digit}")));
            }
            let unit = batch.column(0).as_dictionary::<UInt8Type>();
            let texts: Vec<_> = (0..ROWS)
                .map(|row| Some(&distinct::<UInt8Type>(unit)[unit.key(row)?]).cloned())
                .collect();
            let plain = plain.column(0).as_string::<i32>().iter();
            assert!(texts.iter().map(Option::as_deref).eq(plain));
        }
    }
}

/// The same where an edit made them: it looks at 4,096 of longer texts.
#[test]
fn texts_that_edits_added_twice_are_one() {
    let name = |n: usize| format!("a longer name {n:05}");
    let texts: Vec<String> = (0..30_000).map(|n| format!("\"{}\"", name(n / 5))).collect();
    let mut document = livebuf_json::from_str(&format!("[{}]", texts.join(","))).unwrap();
    let edited = [4_500, 5_000, 5_999];
    for n in edited {
        document.set_pointer(&format!("/{}", 5 * n), name(1).as_str()).unwrap();
        document.set_pointer(&format!("/{}", 5 * n), name(n).as_str()).unwrap();
    }
    let stored = document.valid().unwrap().root().as_array().unwrap().as_column();
    assert_eq!(stored.dictionary().unwrap().texts().len(), 6_000 + edited.len());
    let document = Arc::new(document);
    let batch = export_with(&document, ExportOptions::new().narrow(true));
    let coded = batch.column(0).as_dictionary::<UInt16Type>();
    assert_eq!(coded.values().len(), 6_000);
    let plain = export(&document);
    let texts = coded.downcast_dict::<StringArray>().unwrap();
    assert!(texts.into_iter().eq(plain.column(0).as_string::<i32>().iter()));
}

#[test]
fn nulls_and_missing_fields_are_null() {
    let document = rows(|n| match n % 4 {
        0 => format!(r#"{{"id":{n},"x":1{n}000000000000,"s":"s","o":{{"x":1,"y":[1]}}}}"#),
        1 => format!(r#"{{"id":{n},"x":null,"s":null,"o":null}}"#),
        2 => format!(r#"{{"id":{n}}}"#),
        _ => format!(r#"{{"id":{n},"x":1,"s":"","o":{{"x":null,"y":[]}}}}"#),
    });
    assert!(is_table(&document));
    let batch = export(&document);
    for column in ["x", "s", "o"] {
        let column = batch.column_by_name(column).unwrap();
        let valid: Vec<bool> = (0..4).map(|row| column.is_valid(row)).collect();
        assert_eq!(valid, [true, false, false, true]);
        assert_eq!(column.null_count(), ROWS / 2);
    }
    let object = batch.column_by_name("o").unwrap().as_struct();
    assert_eq!(object.column(0).null_count(), 3 * ROWS / 4);
    assert_eq!(object.column(1).as_list::<i32>().values().len(), ROWS / 4);
    assert!(borrows::<Int64Type>(&document, batch.column_by_name("x").unwrap()));
}

/// The same value without columns.
fn untabled(document: &DocBuf) -> Arc<DocBuf> {
    let options = EncodeOptions { tables: false, ..EncodeOptions::default() };
    Arc::new(document.doc().compacted_with(options).unwrap())
}

#[test]
fn rows_that_are_no_table_export_the_same() {
    let row = |n: usize| {
        format!(r#"{{"id":{n},"s":"s{n}","o":{{"x":{n}.5}},"l":[[{n}],[]],"m":{}}}"#, n < 50)
    };
    let table = rows(row);
    let plain = untabled(&table);
    assert!(is_table(&table) && !is_table(&plain));
    let (table, plain) = (export(&table), export(&plain));
    assert_eq!(types(&table)[..3], types(&plain)[..3]);
    assert_eq!(table.project(&[0, 1, 2, 4]).unwrap(), plain.project(&[0, 1, 2, 4]).unwrap());
    // Fixed lengths are known of storage only.
    assert_eq!(types(&plain)[3], "l List(List(Int64))");
}

#[test]
fn nested_columns() {
    let document = rows(|n| {
        format!(
            r#"{{"deep":{{"a":{{"b":{{"c":{n},"d":[{{"e":{n}}},{{"e":null}},{{}}]}}}}}},
            "lists":[[{n},{n}],[{n},1]],"gaps":{},"structs":{}}}"#,
            if n % 3 == 0 { "null".into() } else { format!("[{n},2,3]") },
            if n % 3 == 1 { "null".into() } else { format!(r#"{{"v":[{n}.25]}}"#) },
        )
    });
    assert!(is_table(&document));
    let batch = export(&document);
    assert_eq!(
        types(&batch),
        [
            "deep Struct(\"a\": Struct(\"b\": Struct(\"c\": Int64, \"d\": List(Struct(\"e\": Int64)))))",
            "lists List(List(Int64))",
            "gaps List(Int64)",
            "structs Struct(\"v\": List(Float64))",
        ]
    );
    let gaps = batch.column(2).as_list::<i32>();
    assert!(gaps.is_null(0) && gaps.is_valid(1));
    assert_eq!(gaps.value(98).as_primitive::<Int64Type>().values()[..], [98, 2, 3]);
    // All comes back: null, missing and empty objects are one to Arrow.
    let back = import_rows(&batch);
    let expected = text(&document).replace(r#"{"e":null},{}"#, r#"{"e":null},{"e":null}"#);
    assert_eq!(text(&back), expected);
}

/// Bug: the elements of an absent list are references of 0, which were followed.
#[test]
fn absent_lists_of_containers() {
    for text in [
        "[null,[[]],[[]]]",
        "[null,[[1]],[[2,3]]]",
        r#"[null,[[[1],2]],[["x"]]]"#,
        r#"[null,[{"a":1}],[{"b":[1]}]]"#,
        r#"[{"v":null},{"v":[[]]},{"v":[[]]}]"#,
        r#"[{"v":{"w":[[]]}},{"v":null},{"v":{"w":[[]]}}]"#,
        r#"[null,[{"a":[]}],[{"a":[]}]]"#,
        "[null,[[[]]],[[[]]]]",
    ] {
        let document = Arc::new(livebuf_json::from_str(text).unwrap());
        let plain = untabled(&document);
        assert!(document.as_bytes() != plain.as_bytes(), "{text} has columns");
        let exported = |document| {
            let batch = Exporter::new(Arc::clone(document)).unwrap().batch();
            import_rows(&to_arrow(batch.unwrap_or_else(|error| panic!("{text}: {error}"))))
        };
        let json = |document| livebuf_json::to_string(exported(document).doc()).unwrap();
        assert_eq!(json(&document), json(&plain), "{text}");
    }
}

#[test]
fn further_fields_become_columns() {
    let mut document = DocBuf::clone(&rows(|n| format!(r#"{{"id":{n},"in":{{"x":{n}}}}}"#)));
    document.set_pointer("/3/extra", "third").unwrap();
    document.set_pointer("/90/extra", "ninetieth").unwrap();
    document.set_pointer("/91/other", 7).unwrap();
    document.set_pointer("/5/in/more", New::object(0)).unwrap();
    document.set_pointer("/5/in/more/z", 1.5).unwrap();
    let root = document.valid().unwrap().root().as_array().unwrap();
    assert!(root.table().unwrap().has_further_fields(), "or this tests nothing");
    let document = Arc::new(document);
    let batch = export(&document);
    assert_eq!(
        types(&batch),
        [
            "id Int64",
            "in Struct(\"x\": Int64, \"more\": Struct(\"z\": Float64))",
            "extra Utf8",
            "other Int64"
        ]
    );
    let extra = batch.column(2).as_string::<i32>();
    assert_eq!((extra.value(3), extra.value(90), extra.null_count()), ("third", "ninetieth", 98));
    assert_eq!(batch.column(3).as_primitive::<Int64Type>().value(91), 7);
    let more = batch.column(1).as_struct().column(1).as_struct();
    assert_eq!(more.column(0).as_primitive::<Float64Type>().value(5), 1.5);
}

#[test]
fn edited_tables() {
    let mut document = DocBuf::clone(&rows(|n| format!(r#"{{"id":{n},"s":"s{n}","l":[{n}]}}"#)));
    document.set_pointer("/0/id", -5_000_000_000i64).unwrap();
    document.set_pointer("/1/s", New::Null).unwrap();
    document.remove_pointer("/2/s").unwrap();
    document.set_pointer("/3/s", "a text that is longer than before, and than views hold").unwrap();
    document.remove_pointer("/50").unwrap();
    document.set_pointer("/4/l/-", 7).unwrap();
    let root = document.find("").unwrap().unwrap();
    document.push(root, New::object(0)).unwrap();
    document.set_pointer("/99/id", 1234).unwrap();
    for layout in [TextLayout::Utf8, TextLayout::LargeUtf8, TextLayout::Utf8View] {
        let document = Arc::new(document.clone());
        let batch = export_with(&document, ExportOptions::new().text(layout));
        assert_eq!(batch.num_rows(), ROWS);
        let ids = batch.column(0).as_primitive::<Int64Type>().values();
        assert_eq!([ids[0], ids[49], ids[50], ids[99]], [-5_000_000_000, 49, 51, 1234]);
        let expected = "a text that is longer than before, and than views hold";
        let texts: Vec<Option<String>> = match layout {
            TextLayout::Utf8 => batch.column(1).as_string::<i32>().iter().map(own).collect(),
            TextLayout::LargeUtf8 => batch.column(1).as_string::<i64>().iter().map(own).collect(),
            TextLayout::Utf8View => batch.column(1).as_string_view().iter().map(own).collect(),
        };
        assert_eq!(texts[..3], [Some("s0".to_owned()), None, None]);
        assert_eq!(texts[3].as_deref(), Some(expected));
        assert_eq!(texts[99], None);
    }
}

fn own(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

#[test]
fn views_borrow_long_text() {
    let document = rows(|n| format!(r#"{{"s":"the text of row number {n}","t":"{n}"}}"#));
    let views = ExportOptions::new().text(TextLayout::Utf8View);
    let batch = export_with(&document, views.clone());
    let column = batch.column(0).as_string_view();
    assert_eq!(column.data_type(), &DataType::Utf8View);
    assert_eq!(column.data_buffers()[0].as_ptr(), document.as_bytes().as_ptr());
    assert_eq!(column.value(77), "the text of row number 77");
    assert!(batch.column(1).as_string_view().data_buffers().is_empty());
    let copy = export_with(&document, views.copy(true));
    assert_eq!(copy, batch);
    assert_ne!(
        copy.column(0).as_string_view().data_buffers()[0].as_ptr(),
        document.as_bytes().as_ptr()
    );
}

#[test]
fn bytes_are_binary() {
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    for n in 0..ROWS {
        encoder.begin_object().unwrap();
        encoder.key("b").unwrap();
        encoder.bytes(&vec![n as u8; n % 20]).unwrap();
        encoder.key("mixed").unwrap();
        match n % 2 {
            0 => encoder.bytes(b"\xFF").unwrap(),
            _ => encoder.str("text").unwrap(),
        }
        encoder.end_object().unwrap();
    }
    encoder.end_array().unwrap();
    let batch = export(&Arc::new(encoder.finish().unwrap()));
    assert_eq!(types(&batch), ["b Binary", "mixed Utf8"]);
    assert_eq!(batch.column(0).as_binary::<i32>().value(19), [19; 19]);
    let mixed = batch.column(1).as_string::<i32>();
    assert_eq!([mixed.value(0), mixed.value(1)], ["/w==", "text"]);
}

#[test]
fn arrays_of_other_things() {
    let json = |text: &str| Arc::new(livebuf_json::from_str(text).unwrap());
    let batch = export(&json("[1, 2, null, 4]"));
    assert_eq!(types(&batch), ["value Int64"]);
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().iter().flatten().sum::<i64>(), 7);
    assert_eq!(types(&export(&json(r#"[{"a": 1}, 2]"#))), ["value Utf8"]);
    assert_eq!(types(&export(&json("[[1, 2], []]"))), ["value List(Int64)"]);
    let empty = export(&json("[]"));
    assert_eq!((empty.num_rows(), empty.num_columns()), (0, 0));
    let empty = export(&json("[{}, {}, null]"));
    assert_eq!((empty.num_rows(), empty.num_columns()), (3, 0));
    let rows = export(&json(r#"[{"a": 1}, null, {"a": {}}, {"b": []}]"#));
    assert_eq!(types(&rows), ["a Utf8", "b List(Null)"]);
    assert_eq!((rows.column(0).null_count(), rows.column(1).null_count()), (2, 3));
}

#[test]
fn an_emptied_table() {
    let mut document = DocBuf::clone(&rows(|n| format!(r#"{{"id":{n},"s":"s{n}"}}"#)));
    document.clear(document.root_id().unwrap()).unwrap();
    let batch = export(&Arc::new(document));
    assert_eq!(batch.num_rows(), 0);
}

#[test]
fn pointers_and_kinds() {
    let document = Arc::new(livebuf_json::from_str(r#"{"a/b": {"rows": [{"x": 1}]}}"#).unwrap());
    let exporter = Exporter::new(Arc::clone(&document)).unwrap();
    let scalar = exporter.clone().at("/a~1b/rows/0/x").unwrap();
    assert_eq!(scalar.batch().err().unwrap().kind(), ErrorKind::NotAnArray);
    assert_eq!(exporter.clone().at("/none").unwrap_err().kind(), ErrorKind::NotFound);
    let batch = exporter.at("/a~1b").unwrap().at("/rows").unwrap().batch().unwrap();
    assert_eq!(batch.rows(), 1);
    assert_eq!(types(&to_arrow(batch)), ["x Int64"]);
}

#[test]
fn bytes_anywhere_are_documents() {
    let document = rows(|n| format!(r#"{{"x":1{n}000000000000,"y":{}}}"#, n % 7 == 0));
    let expected = export(&document);
    // Not aligned: built instead of borrowed.
    for skip in [0, 1] {
        struct Shifted(Vec<u8>, usize);
        impl livebuf_arrow::Document for Shifted {
            fn open(&self) -> livebuf::Result<livebuf::Doc<'_>> {
                livebuf::Doc::open(&self.0[self.1..])
            }
        }
        let bytes = [&[0; 1][..skip], document.as_bytes()].concat();
        let exporter = Exporter::new(Arc::new(Shifted(bytes, skip))).unwrap();
        assert_eq!(to_arrow(exporter.batch().unwrap()), expected);
    }
    let exporter = Exporter::new(Arc::new(document.to_vec())).unwrap();
    assert_eq!(to_arrow(exporter.batch().unwrap()), expected);
    let error = Exporter::new(Arc::new(b"[1, 2]".to_vec())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Document);
    assert_eq!(error.core_error().unwrap().kind(), livebuf::ErrorKind::NotADocument);
}

#[test]
fn what_cannot_be_exported_says_so() {
    let json = |text: &str| Exporter::new(Arc::new(livebuf_json::from_str(text).unwrap())).unwrap();
    let error = json(r#"[{"a": [{"b\u0000": 1}]}]"#).stream().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.column(), "a[].b\0");

    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    encoder.str("text").unwrap();
    encoder.f64(f64::NAN).unwrap();
    encoder.end_array().unwrap();
    let exporter = Exporter::new(Arc::new(encoder.finish().unwrap())).unwrap();
    let error = exporter.batch().err().unwrap();
    assert_eq!((error.kind(), error.column(), error.row()), (ErrorKind::Json, "value", Some(1)));
    let reader =
        stream_to_arrow(exporter.options(ExportOptions::new().batch_rows(1)).stream().unwrap());
    let parts: Vec<_> = reader.take(2).collect();
    assert!(parts[0].is_ok());
    let message = parts[1].as_ref().unwrap_err().to_string();
    assert!(message.contains("column \"value\", row 1"), "{message}");

    let wide: Vec<String> = (0..70_000).map(|n| format!("\"{n}\":0")).collect();
    let error = json(&format!("[{{{}}}]", wide.join(","))).schema().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
    // Within a row it is JSON text.
    let batch = json(&format!("[{{\"map\":{{{}}}}}]", wide.join(","))).batch().unwrap();
    assert_eq!(types(&to_arrow(batch)), ["map Utf8"]);
}

#[test]
fn deep_nesting_ends_in_text() {
    let deep = format!("[{}1{}]", "[".repeat(200), "]".repeat(200));
    let exporter = Exporter::new(Arc::new(livebuf_json::from_str(&deep).unwrap())).unwrap();
    let batch = exporter.batch().unwrap();
    let back = livebuf_arrow::from_batch(&batch, &livebuf_arrow::ImportOptions::new()).unwrap();
    // What is deeper is JSON, and comes back as what it was.
    assert_eq!(text(&back).matches('[').count(), deep.matches('[').count());
    assert!(!text(&back).contains("\"["), "{}", text(&back));
    let types = types(&to_arrow(batch));
    assert_eq!(types[0].matches("List").count(), 64);
}

/// A seed that failed is given again as `SEED=…`.
fn seed() -> u64 {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64
    });
    println!("SEED={seed}");
    seed | 1
}

#[test]
fn random_documents_come_back() {
    let seed = seed();
    let mut random = Random(seed);
    for _ in 0..300 / one_of(4) {
        let columns: Vec<(String, u64)> =
            (0..1 + random.below(6)).map(|n| (format!("k{n}"), random.below(9))).collect();
        let gaps = random.below(3);
        let mut json = Vec::new();
        for _ in 0..random.below(200) {
            let mut fields = Vec::new();
            for (key, kind) in &columns {
                fields.push(format!("{key:?}:{}", random.value(*kind, gaps, 0)));
            }
            json.push(format!("{{{}}}", fields.join(",")));
        }
        let text = format!("[{}]", json.join(","));
        let document = Arc::new(livebuf_json::from_str(&text).unwrap());
        for options in
            [ExportOptions::new(), ExportOptions::new().narrow(true).text(TextLayout::Utf8View)]
        {
            let batch = export_with(&document, options);
            let back = crate::exchange::text(&import_rows(&batch));
            assert_eq!(back, crate::exchange::text(&document), "SEED={seed}");
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    /// JSON of a kind that comes back from Arrow as it went.
    fn value(&mut self, kind: u64, gaps: u64, depth: u64) -> String {
        if gaps > 0 && self.below(10) < gaps {
            return "null".into();
        }
        match kind {
            0 => (self.below(200) as i64 - 100).to_string(),
            1 => (self.below(1 << 40) as i64 - (1 << 39)).to_string(),
            2 => format!("{}.5", self.below(1000)),
            3 => format!("0.{}1", self.below(1 << 30)),
            4 => format!("{:?}", "t".repeat(self.below(30) as usize)),
            5 => (self.below(2) == 0).to_string(),
            6 if depth < 3 => {
                let (a, b) = (self.value(0, gaps, depth + 1), self.value(7, gaps, depth + 1));
                format!(r#"{{"a":{a},"b":{b}}}"#)
            }
            7 if depth < 3 => {
                let items: Vec<String> =
                    (0..self.below(5)).map(|_| self.value(6, gaps, depth + 1)).collect();
                format!("[{}]", items.join(","))
            }
            8 if depth < 3 => {
                format!("[{},{}]", self.value(1, gaps, depth + 1), self.value(1, 0, depth + 1))
            }
            _ => "1".into(),
        }
    }
}

#[test]
fn random_edits_are_exported() {
    let seed = seed();
    let mut random = Random(seed);
    for _ in 0..200 / one_of(4) {
        let kinds: Vec<u64> = (0..1 + random.below(4)).map(|_| random.below(9)).collect();
        let rows: Vec<String> = (0..20 + random.below(100))
            .map(|_| {
                let fields = kinds.iter().enumerate();
                let fields: Vec<String> = fields
                    .filter_map(|(n, kind)| {
                        let missing = random.below(10) == 0;
                        (!missing).then(|| format!("\"k{n}\":{}", random.value(*kind, 1, 0)))
                    })
                    .collect();
                format!("{{{}}}", fields.join(","))
            })
            .collect();
        let mut document = livebuf_json::from_str(&format!("[{}]", rows.join(","))).unwrap();
        for _ in 0..random.below(40) {
            let row = random.below(rows.len() as u64);
            let mut pointer = format!("/{row}/k{}", random.below(6));
            pointer += ["", "", "", "/a", "/new", "/0", "/0/a", "/-"][random.below(8) as usize];
            let kind = random.below(10);
            let value = livebuf_json::from_str(&random.value(kind, 1, 0)).unwrap();
            // Paths may lead nowhere.
            let _ = match random.below(4) {
                0 => document.remove_pointer(&pointer).map(drop),
                1 => document.remove_pointer(&format!("/{row}/k0")).map(drop),
                _ => document.set_pointer(&pointer, value.valid().unwrap().root()).map(drop),
            };
        }
        document.doc().validate().unwrap();
        let document = Arc::new(document);
        let root = document.valid().unwrap().root();
        for options in
            [ExportOptions::new(), ExportOptions::new().narrow(true).text(TextLayout::Utf8View)]
        {
            let batch = export_with(&document, options);
            let back = import_rows(&batch);
            assert_same(Some(root), back.valid().unwrap().root(), seed);
        }
    }
}

type Value<'a> = livebuf::Value<'a, livebuf::Valid>;

/// What came back from Arrow is what the document has, or its JSON text.
fn assert_same(document: Option<Value<'_>>, arrow: Value<'_>, seed: u64) {
    let Some(document) = document.filter(|value| !value.is_null()) else {
        // An object of a row that is null comes back with nulls.
        return assert!(arrow.is_null(), "{arrow:?} SEED={seed}");
    };
    let json = || livebuf_json::to_string(document).unwrap();
    if let Some(object) = arrow.as_object() {
        let expected = document.as_object().unwrap_or_else(|| panic!("SEED={seed}"));
        assert!(expected.keys().all(|key| object.contains_key(key)), "SEED={seed}");
        object.iter().for_each(|(key, value)| assert_same(expected.get(key), value, seed));
    } else if let Some(array) = arrow.as_array() {
        let expected = document.as_array().unwrap_or_else(|| panic!("SEED={seed}"));
        assert_eq!(array.len(), expected.len(), "SEED={seed}");
        array.iter().zip(expected.iter()).for_each(|(a, b)| assert_same(Some(b), a, seed));
    } else if let Some(text) = arrow.as_str() {
        assert!(document.as_str() == Some(text) || json() == text, "{text} {} SEED={seed}", json());
    } else if arrow.kind() == livebuf::Kind::Float {
        assert_eq!(document.as_f64(), arrow.as_f64(), "SEED={seed}");
    } else {
        assert_eq!(json(), livebuf_json::to_string(arrow).unwrap(), "SEED={seed}");
    }
}

/// Bug: one row of 2,000 keys above many empty ones became 2,000 columns of as many rows.
/// Effect: 60 kB became 64 MB, and a few MB any memory. Fix: rows times columns are bounded
/// by the document's bytes.
#[test]
fn missing_values_are_bounded() {
    let wide: Vec<String> = (0..2000).map(|key| format!("\"k{key}\":{key}")).collect();
    let text = format!("[{{{}}}{}]", wide.join(","), ",{}".repeat(4000));
    let document = Arc::new(livebuf_json::from_str(&text).unwrap());
    let (used, cells) = (document.as_bytes().len() as u64, 2000 * 4001);
    assert!(used * 64 < cells, "{used} bytes");
    let exporter = Exporter::new(Arc::clone(&document)).unwrap();
    let error = exporter.schema().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("`max_cells`"), "{error}");
    let options = ExportOptions::new().max_cells(cells - 1);
    assert_eq!(exporter.clone().options(options).batch().err().unwrap().kind(), ErrorKind::Limit);
    let batch = to_arrow(exporter.options(ExportOptions::new().max_cells(cells)).batch().unwrap());
    assert_eq!((batch.num_columns(), batch.num_rows()), (2000, 4001));
    // Dense columns never come near it, the smallest among them.
    for row in ["{\"a\":true}", "{\"a\":{\"b\":[true,false]}}", "[[true]]", "null", "{\"a\":null}"]
    {
        let document = rows(|_| row.to_owned());
        let exporter = Exporter::new(document).unwrap();
        exporter.batch().unwrap();
    }
}

/// Rows with a value of each kind that JSON lacks; every fourth row has null in place of all.
fn extended() -> Arc<DocBuf> {
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    for n in 0..ROWS as i64 {
        encoder.begin_object().unwrap();
        let date = Date::from_days(20_000 + n as i32).unwrap();
        let time = Time::from_microseconds(n * 1_234_567).unwrap();
        let local = DateTime::new(date, time);
        let values: [(&str, Extended); 6] = [
            ("date", date.into()),
            ("time", time.into()),
            ("local", local.into()),
            ("moment", Timestamp::from_microseconds(-local.microseconds()).unwrap().into()),
            ("price", Decimal::new((n - 50).into(), (n % 3) as u8).unwrap().into()),
            ("id", Uuid::from_bytes([n as u8; 16]).into()),
        ];
        for (key, value) in values {
            encoder.key(key).unwrap();
            encoder.extended(value).unwrap();
            encoder.key(&format!("some {key}")).unwrap();
            match n % 4 {
                3 => encoder.null().unwrap(),
                _ => encoder.extended(value).unwrap(),
            }
        }
        encoder.end_object().unwrap();
    }
    encoder.end_array().unwrap();
    Arc::new(encoder.finish().unwrap())
}

#[test]
fn dates_times_decimals_and_uuids_keep_their_types() {
    let document = extended();
    assert!(is_table(&document));
    let batch = export(&document);
    let kinds = [
        "date Date32",
        "time Time64(Microsecond)",
        "local Timestamp(Microsecond, None)",
        "moment Timestamp(Microsecond, Some(\"UTC\"))",
        "price Decimal128(38, 2)",
        "id FixedSizeBinary(16)",
    ];
    let fields = batch.schema_ref().fields();
    for (index, kind) in kinds.iter().enumerate() {
        for index in [2 * index, 2 * index + 1] {
            let shown = format!("{} {:?}", fields[index].name(), fields[index].data_type());
            assert_eq!(shown.trim_start_matches("some "), *kind);
            assert_eq!(batch.column(index).null_count(), index % 2 * ROWS / 4);
        }
    }
    assert_eq!(fields[10].metadata()["ARROW:extension:name"], "arrow.uuid");
    for with_gaps in [0, 1] {
        let column = |index: usize| batch.column(2 * index + with_gaps);
        assert!(borrows::<Date32Type>(&document, column(0)));
        assert!(borrows::<Time64MicrosecondType>(&document, column(1)));
        assert!(borrows::<TimestampMicrosecondType>(&document, column(2)));
        assert!(borrows::<TimestampMicrosecondType>(&document, column(3)));
        let ids = column(5).as_fixed_size_binary().value_data();
        assert!(document.as_bytes().as_ptr_range().contains(&ids.as_ptr()));
        assert_eq!(column(4).as_primitive::<Decimal128Type>().value(1), -490);
        assert_eq!(column(4).as_primitive::<Decimal128Type>().value(0), -5_000);
    }
    // What comes back is what was: but for decimals, which have one scale now.
    let again = import_rows(&batch);
    let (before, after) = (document.valid().unwrap(), again.valid().unwrap());
    for row in 0..ROWS {
        for key in ["date", "some time", "local", "some moment", "id", "some id"] {
            let at = |doc: livebuf::Doc<'_, livebuf::Valid>| {
                doc.root().get(row).unwrap().get(key).unwrap().as_extended()
            };
            assert_eq!(at(before), at(after), "{key} of row {row}");
        }
    }
    let price = after.pointer("/1/price").unwrap().as_decimal();
    assert_eq!(price, Decimal::new(-490, 2));
}

/// Tensors keep their type and shape, and are borrowed; arrays of a fixed size become tensors.
#[test]
fn tensors_keep_their_types() {
    let rows = |nulls: bool| {
        let mut encoder = Encoder::new();
        encoder.begin_array().unwrap();
        for row in 0..20u8 {
            let bytes = [row, 0x30, row, 0x31];
            encoder.begin_object().unwrap();
            for (key, column, shape) in [
                ("halves", ColumnType::F16, &[2][..]),
                ("floats", ColumnType::F32, &[1]),
                ("image", ColumnType::U8, &[2, 2]),
                ("words", ColumnType::I16, &[2, 1]),
            ] {
                encoder.key(key).unwrap();
                match nulls && row == 3 {
                    true => encoder.null().unwrap(),
                    false => {
                        let tensor = Tensor::from_bytes(column, shape, &bytes).unwrap();
                        encoder.tensor(&tensor).unwrap();
                    }
                }
            }
            encoder.key("mask").unwrap();
            let mask = [row % 2, 1];
            encoder.tensor(&Tensor::from_bytes(ColumnType::Bool8, &[2], &mask).unwrap()).unwrap();
            encoder.end_object().unwrap();
        }
        encoder.end_array().unwrap();
        Arc::new(encoder.finish().unwrap())
    };
    for nulls in [false, true] {
        let document = rows(nulls);
        let batch = export(&document);
        assert_eq!(
            types(&batch),
            [
                "halves FixedSizeList(2 x Float16)",
                "floats FixedSizeList(1 x Float32)",
                "image FixedSizeList(2 x FixedSizeList(2 x UInt8))",
                "words FixedSizeList(2 x FixedSizeList(1 x Int16))",
                "mask FixedSizeList(2 x Boolean)",
            ]
        );
        let list = |index: usize| batch.column(index).as_fixed_size_list().values();
        assert!(borrows::<Float16Type>(&document, list(0)));
        assert!(borrows::<Float32Type>(&document, list(1)));
        assert!(borrows::<UInt8Type>(&document, list(2).as_fixed_size_list().values()));
        assert!(borrows::<Int16Type>(&document, list(3).as_fixed_size_list().values()));
        let again = Arc::new(import_rows(&batch));
        let (before, after) = (document.valid().unwrap(), again.valid().unwrap());
        for key in ["halves", "floats", "image", "words", "mask"] {
            let tensor = |doc: livebuf::Doc<'_, livebuf::Valid>, row: usize| {
                let array = doc.root().get(row).unwrap().get(key).unwrap().as_array()?;
                let tensor = array.tensor().unwrap();
                Some((tensor.column_type(), tensor.shape().to_vec(), tensor.as_bytes().to_vec()))
            };
            for row in 0..20 {
                assert_eq!(tensor(before, row).is_some(), !nulls || row != 3 || key == "mask");
                assert_eq!(tensor(before, row), tensor(after, row), "{key} of row {row}");
            }
        }
        assert_eq!(export(&again), batch);
    }
    // By themselves, and with numbers that are no tensor's.
    let mut document = (*rows(false)).clone();
    let other = Tensor::new(&[3], &[1.5f32, 2.5, 3.5]).unwrap();
    document.set_pointer("/4/floats", &other).unwrap();
    let batch = export(&Arc::new(document.clone()));
    assert_eq!(types(&batch)[1], "floats List(Float32)");
    document.set_pointer("/5/floats", livebuf::New::Items(&[1.into()])).unwrap();
    assert_eq!(types(&export(&Arc::new(document)))[1], "floats List(Float64)");
}

/// Booleans came back from Arrow as plain arrays, and numpy had no memory to look at. Their bits
/// are now unpacked, from any bit on. Where one is null they stay an array.
#[test]
fn tensors_of_booleans_come_back() {
    let bit = |row: usize, at: usize| u8::from((row * 9 + at) % 5 < 2 || at == row % 9);
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    for row in 0..20 {
        encoder.begin_object().unwrap();
        encoder.key("mask").unwrap();
        let bytes: Vec<u8> = (0..9).map(|at| bit(row, at)).collect();
        match row {
            4 => encoder.null().unwrap(),
            _ => {
                let mask = Tensor::from_bytes(ColumnType::Bool8, &[3, 3], &bytes).unwrap();
                encoder.tensor(&mask).unwrap();
            }
        }
        encoder.end_object().unwrap();
    }
    encoder.end_array().unwrap();
    let document = Arc::new(encoder.finish().unwrap());
    let batch = export(&document);
    assert_eq!(types(&batch), ["mask FixedSizeList(3 x FixedSizeList(3 x Boolean))"]);
    let shape = r#"{"shape":[3,3]}"#;
    let flat = Exporter::new(Arc::clone(&document)).unwrap();
    let wanted = Schema::new(vec![tensors("mask", DataType::Boolean, 9, shape)]);
    let flat = flat.requested_schema(&schema_from_arrow(&wanted)).unwrap();
    for (batch, first) in [
        (batch.clone(), 0),
        (batch.slice(3, 7), 3),
        (to_arrow(flat.batch().unwrap()), 0),
        (to_arrow(flat.rows(5..20).batch().unwrap()), 5),
    ] {
        let again = import_rows(&batch);
        let rows = again.valid().unwrap().root().as_array().unwrap();
        assert_eq!(rows.len(), batch.num_rows());
        for (row, value) in (first..).zip(rows.iter()) {
            let mask = value.get("mask").unwrap().as_array();
            assert_eq!(mask.is_none(), row == 4);
            let Some(mask) = mask else { continue };
            let tensor = mask.tensor().unwrap();
            assert_eq!((tensor.column_type(), tensor.shape()), (ColumnType::Bool8, &[3, 3][..]));
            assert!(tensor.as_bytes().iter().copied().eq((0..9).map(|at| bit(row, at))));
        }
    }
    let gap = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
    let item = Arc::new(Field::new("item", DataType::Boolean, true));
    let lists = FixedSizeListArray::new(item, 2, Arc::new(gap), None);
    let again = import_rows(&RecordBatch::try_from_iter([("mask", Arc::new(lists) as _)]).unwrap());
    let text = livebuf_json::to_string(&again).unwrap();
    assert_eq!(text, r#"[{"mask":[true,null]},{"mask":[false,true]}]"#);
    let is_tensor = |row: usize| {
        let array = again.valid().unwrap().root().get(row)?.get("mask")?.as_array()?;
        Some(array.tensor().is_some())
    };
    assert_eq!([is_tensor(0), is_tensor(1)], [Some(false), Some(true)]);
}

/// Where no one type holds all of a column, its values are JSON text.
#[test]
fn mixed_kinds_are_text() {
    let date = Date::from_days(0).unwrap();
    let document = livebuf::json!([{"a": date}, {"a": 1}, {"a": Uuid::from_bytes([0; 16])}]);
    let batch = export(&Arc::new(document));
    let texts: Vec<_> = batch.column(0).as_string::<i32>().iter().map(Option::unwrap).collect();
    assert_eq!(texts, ["1970-01-01", "1", "00000000-0000-0000-0000-000000000000"]);
    let wide = [(10i128.pow(37), 0), (1, 38)].map(|(n, scale)| Decimal::new(n, scale).unwrap());
    let wide = Arc::new(livebuf::json!([{"a": wide[0]}, {"a": wide[1]}]));
    for numbers in [Numbers::Error, Numbers::Decimal] {
        let options = ExportOptions::new().numbers(numbers);
        let exporter = Exporter::new(Arc::clone(&wide)).unwrap().options(options);
        assert_eq!(exporter.columns().unwrap_err().kind(), ErrorKind::Cast);
    }
    let batch = export_with(&wide, ExportOptions::new().numbers(Numbers::Text));
    assert_eq!(types(&batch), ["a Utf8"]);
    // JSON of each value, marked, comes back as it was.
    let mixed = Arc::new(livebuf::json!([{"a": 5}, {"a": "5"}, {"a": [1.5, null]}, {"a": null}]));
    let exporter = Exporter::new(Arc::clone(&mixed)).unwrap();
    let exporter = exporter.options(ExportOptions::new().mixed(Mixed::Json));
    let batch = exporter.batch().unwrap();
    let back = livebuf_arrow::from_batch(&batch, &livebuf_arrow::ImportOptions::new()).unwrap();
    assert_eq!(text(&back), text(&mixed));
    let metadata = to_arrow(batch).schema_ref().field(0).metadata().clone();
    assert_eq!(metadata["ARROW:extension:name"], "arrow.json");
    let exporter = exporter.options(ExportOptions::new().mixed(Mixed::Error));
    let error = exporter.batch().err().expect("two kinds");
    assert_eq!((error.kind(), error.column()), (ErrorKind::Cast, "a"));
}

/// Chosen columns, through nested objects, and a range of rows.
#[test]
fn columns_and_rows_are_selected() {
    let path = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<String> = (0..50)
        .map(|n| match n % 7 {
            3 => format!(r#"{{"id":{n},"user":null,"note":"n{n}"}}"#),
            _ => {
                format!(r#"{{"id":{n},"user":{{"name":"u{n}","age":{}}},"note":"n{n}"}}"#, n * 300)
            }
        })
        .collect();
    let text = format!("[{}]", rows.join(","));
    let table = Arc::new(livebuf_json::from_str(&text).unwrap());
    let options = livebuf_json::ReadOptions::new().tables(false);
    let plain = Arc::new(livebuf_json::from_slice_with(text.as_bytes(), &options).unwrap());
    for document in [table, plain] {
        let exporter = || Exporter::new(Arc::clone(&document)).unwrap();
        let chosen = || exporter().select([path("user.age"), path("id")]);
        let batch = to_arrow(chosen().batch().unwrap());
        assert_eq!(types(&batch), ["user.age Int64", "id Int64"]);
        let ages = batch.column(0).as_primitive::<Int64Type>();
        assert_eq!((ages.len(), ages.null_count(), ages.value(4)), (50, 7, 1200));
        let part = to_arrow(chosen().rows(10..20).batch().unwrap());
        assert_eq!(part, batch.slice(10, 10));
        assert_eq!(to_arrow(chosen().rows(45..99).batch().unwrap()).num_rows(), 5);
        assert_eq!(to_arrow(exporter().rows(1..3).batch().unwrap()), export(&document).slice(1, 2));
        assert_eq!(chosen().columns().unwrap()[1], ("id".to_owned(), "int64".to_owned()));
        let error = exporter().select([path("user.none")]).batch().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("user.none"), "{error}");
        // A consumer may want fewer of them, and other types.
        let schema = Schema::new(vec![Field::new("id", DataType::Int32, true)]);
        let requested = chosen().requested_schema(&schema_from_arrow(&schema)).unwrap();
        assert_eq!(types(&to_arrow(requested.batch().unwrap())), ["id Int32"]);
        let schema = Schema::new(vec![Field::new("note", DataType::Utf8, true)]);
        let requested = chosen().requested_schema(&schema_from_arrow(&schema)).unwrap();
        assert_eq!(requested.batch().map(drop).unwrap_err().kind(), ErrorKind::NotFound);
        let strict = Schema::new(vec![Field::new("user.age", DataType::Int64, false)]);
        let requested = chosen().requested_schema(&schema_from_arrow(&strict)).unwrap();
        assert_eq!(requested.batch().map(drop).unwrap_err().kind(), ErrorKind::Cast);
        let streamed = stream_to_arrow(
            chosen().options(ExportOptions::new().batch_rows(16)).stream().unwrap(),
        );
        let rows: usize = streamed.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 50);
    }
}

/// An object of so many rows.
fn by_key(rows: usize) -> livebuf::DocBuf {
    let members: Vec<_> =
        (0..rows).map(|row| format!("\"k{row}\":{{\"id\":{},\"on\":true}}", row * 300)).collect();
    livebuf_json::from_str(&format!("{{{}}}", members.join(","))).unwrap()
}

#[test]
fn an_object_has_its_keys_as_a_column() {
    for rows in [0, 5, 400] {
        for layout in [TextLayout::Utf8, TextLayout::LargeUtf8, TextLayout::Utf8View] {
            let document = Arc::new(by_key(rows));
            let batch = export_with(&document, ExportOptions::new().text(layout));
            assert_eq!((batch.num_rows(), batch.schema().field(0).is_nullable()), (rows, false));
            let exporter = Exporter::new(document).unwrap();
            let some = exporter.options(ExportOptions::new().text(layout)).rows(2..rows);
            let copy = livebuf_arrow::from_batch(&some.batch().unwrap(), &ImportOptions::new());
            let copy = copy.unwrap();
            let rest: Vec<_> = (2..rows.max(2))
                .map(|row| format!("{{\"key\":\"k{row}\",\"id\":{},\"on\":true}}", row * 300))
                .collect();
            let found = livebuf_json::to_string(copy.valid().unwrap().root()).unwrap();
            assert_eq!(found, format!("[{}]", rest.join(",")));
        }
    }
}

/// An object whose members have columns of all types; some rows lack some of them.
fn by_key_of_all_types(rows: usize) -> DocBuf {
    let date = |n: usize| Date::from_days(n as i32 % 50).unwrap();
    let mut encoder = Encoder::new();
    encoder.begin_object().unwrap();
    for n in 0..rows {
        encoder.key(&format!("k{n}")).unwrap();
        encoder.begin_object().unwrap();
        let mut add = |key: &str, value: Extended| {
            encoder.key(key).unwrap();
            encoder.extended(value).unwrap();
        };
        add("date", date(n).into());
        add("time", Time::from_microseconds(n as i64 % 50).unwrap().into());
        add("moment", Timestamp::from_microseconds(n as i64 % 50).unwrap().into());
        add("price", Decimal::new(n as i128 % 50, 2).unwrap().into());
        add("uuid", Uuid::from_bytes([n as u8 % 50; 16]).into());
        encoder.key("mask").unwrap();
        let mask = [0, 1, n as u8 % 2, 1];
        encoder.tensor(&Tensor::from_bytes(ColumnType::Bool8, &[2, 2], &mask).unwrap()).unwrap();
        encoder.key("image").unwrap();
        let image = [n as i16 % 50, 300];
        encoder.tensor(&Tensor::new(&[2], &image).unwrap()).unwrap();
        encoder.key("bytes").unwrap();
        encoder.bytes(&vec![7; n % 5]).unwrap();
        let (run, word) = ("é".repeat(n % 4), ["a longer word", "x", "another word"][n % 3]);
        let (cycle, list) = (n % 50, vec![(n % 7).to_string(); n % 3].join(","));
        let maybe = if n % 5 == 0 { "null".into() } else { cycle.to_string() };
        let rest = format!(
            r#"{{"i8":{},"i64":{}0000000000,"f32":{cycle}.5,"maybe":{maybe},"on":{},"run":"{run}{cycle}",
                "word":"{word}","list":[{list}],"lists":[[[{cycle}],[]],[]],"pair":["{run}","{word}"],
                "o":{{"x":{cycle},"word":"{word}","deep":[{{"y":{cycle}}}]}},"none":null,
                "any":[{cycle},"text",null,{{"z":[1]}}],"mixed":{}}}"#,
            cycle as i32 - 25,
            cycle + 1,
            n % 3 == 0,
            ["1", "\"a text\"", "[2]", "true"][n % 4],
        );
        let rest = livebuf_json::from_str(&rest).unwrap();
        for (key, value) in rest.valid().unwrap().root().as_object().unwrap() {
            encoder.key(key).unwrap();
            encoder.value(&value).unwrap();
        }
        encoder.end_object().unwrap();
    }
    encoder.end_object().unwrap();
    encoder.finish().unwrap()
}

/// A removed member leaves a row without a value. Such an object was exported row by row, which
/// took six times as long, and dictionaries and lists of one length were not told from others. Now
/// its columns are exported, and the rows that are left are taken of them.
#[test]
fn objects_with_removed_members_are_exported_by_columns() {
    let document = by_key_of_all_types(900);
    let by_columns = |document: &DocBuf| {
        let object = document.valid().unwrap().root().as_object().unwrap();
        object.table().map(|table| (table.rows(), object.len()))
    };
    assert_eq!(by_columns(&document), Some((900, 900)));
    let removals: [(&str, Vec<usize>); 5] = [
        ("one", vec![7]),
        ("the first and the last", vec![0, 899]),
        ("each third", (1..900).step_by(3).collect()),
        ("a third at once", (300..600).collect()),
        ("the last but one", (0..449).chain(898..899).collect()),
    ];
    for (name, removed) in removals {
        let mut holed = document.clone();
        for n in &removed {
            assert!(holed.remove_pointer(&format!("/k{n}")).unwrap());
        }
        let (rows, members) = by_columns(&holed).unwrap();
        assert!(rows > members && members == 900 - removed.len(), "{name}");
        let mut compacted = holed.clone();
        compacted.compact().unwrap();
        assert_eq!(by_columns(&compacted), Some((members, members)));
        // Validated before, and only opened: then the export does it.
        let (holed, compacted) = (Arc::new(holed), Arc::new(compacted));
        let unvalidated = Arc::new(holed.as_bytes().to_vec());
        for options in [
            ExportOptions::new(),
            ExportOptions::new().narrow(true),
            ExportOptions::new().text(TextLayout::LargeUtf8),
            ExportOptions::new().narrow(true).text(TextLayout::Utf8View),
        ]
        .into_iter()
        .step_by(one_of(3))
        {
            let batch = export_with(&holed, options.clone());
            let exporter =
                || Exporter::new(Arc::clone(&unvalidated)).unwrap().options(options.clone());
            assert_eq!(batch, to_arrow(exporter().batch().unwrap()));
            let columns = Exporter::new(Arc::clone(&compacted)).unwrap().options(options.clone());
            assert_eq!(batch, to_arrow(columns.batch().unwrap()), "{name}");
            assert_eq!(exporter().columns().unwrap(), columns.columns().unwrap());
            for range in [0..0, 0..1, 3..9, 5..120, 160..460, 340..1_000, 1_000..2_000] {
                let [part, expected] = [exporter(), columns.clone()]
                    .map(|exporter| to_arrow(exporter.rows(range.clone()).batch().unwrap()));
                part.columns().iter().for_each(|c| c.to_data().validate_full().unwrap());
                assert_eq!(part, expected, "{name}: {range:?}");
            }
        }
        // Chosen columns, one of them through an object. Types that have no null: the removed rows'
        // nulls, which lists of one length have elements for, are none. A time that does not fit is
        // told by its row among those that are left.
        let path = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect::<Vec<_>>();
        let chosen = [path(&["o", "deep"]), path(&["key"]), path(&["i64"])];
        let item = Field::new("item", DataType::Utf8, false);
        let schema = Schema::new(vec![
            Field::new("i64", DataType::Int64, false),
            Field::new("word", DataType::Utf8, false),
            tensors("image", DataType::Int16, 2, r#"{"shape":[2]}"#),
            tensors("mask", DataType::Boolean, 4, r#"{"shape":[2,2]}"#),
            Field::new("run", DataType::LargeBinary, false),
            Field::new("pair", DataType::FixedSizeList(Arc::new(item), 2), false),
            Field::new("time", DataType::Time32(arrow_schema::TimeUnit::Second), true),
        ]);
        let exports = [&holed, &compacted].map(|document| {
            let exporter = || Exporter::new(Arc::clone(document)).unwrap();
            let selected = exporter().select(chosen.clone());
            let requested = exporter().requested_schema(&schema_from_arrow(&schema)).unwrap();
            (
                to_arrow(selected.batch().unwrap()),
                requested.rows(0..9).batch().map(to_arrow).map_err(|error| error.to_string()),
                without_times(exporter(), &schema),
            )
        });
        assert_eq!(exports[0], exports[1], "{name}");
    }
}

fn without_times(exporter: Exporter, schema: &Schema) -> RecordBatch {
    let schema = Schema::new(schema.fields()[..6].to_vec());
    let requested = exporter.requested_schema(&schema_from_arrow(&schema)).unwrap();
    to_arrow(requested.batch().unwrap())
}

/// The same with members that are null, and with keys that no column has.
#[test]
fn objects_with_holes_and_edits() {
    let mut document = by_key(400);
    for n in [3, 7, 200] {
        assert!(document.remove_pointer(&format!("/k{n}")).unwrap());
    }
    document.set_pointer("/k9/new", "text").unwrap();
    document.set_pointer("/k10", New::Null).unwrap();
    document.set_pointer("/after", New::Fields(&[("id", 5.into())])).unwrap();
    let mut untabled = document.clone();
    let whole = document.valid().unwrap().root().as_object().unwrap();
    assert_eq!((whole.len(), whole.table().unwrap().rows()), (398, 401));
    untabled.compact().unwrap();
    let plain = EncodeOptions { tables: false, ..EncodeOptions::default() };
    let plain = Arc::new(untabled.doc().compacted_with(plain).unwrap());
    let document = Arc::new(document);
    let batch = export(&document);
    assert_eq!(types(&batch), ["key Utf8", "id Int64", "on Boolean", "new Utf8"]);
    assert_eq!(batch, export(&plain));
    assert_eq!(batch.column(0).as_string::<i32>().value(397), "after");
    // Values that are no objects any more.
    let mut document = (*document).clone();
    document.set_pointer("/k11", 5).unwrap();
    let document = Arc::new(document);
    let batch = export(&document);
    assert_eq!(types(&batch), ["key Utf8", "value Utf8"]);
    let values = batch.column(1).as_string::<i32>();
    let at = |key| batch.column(0).as_string::<i32>().iter().position(|k| k == Some(key)).unwrap();
    assert_eq!(values.value(at("k11")), "5");
    assert_eq!(values.value(at("after")), r#"{"id":5}"#);
    assert!(values.is_null(at("k10")));
}

#[test]
fn columns_of_an_object_are_borrowed_where_no_member_was_removed() {
    let mut document = by_key(400);
    let borrowed = |document: &DocBuf| {
        let document = Arc::new(document.clone());
        let options = ExportOptions::new().narrow(true);
        let batch = export_with(&document, options.clone());
        let exporter = Exporter::new(Arc::clone(&document)).unwrap().options(options);
        let part = to_arrow(exporter.rows(7..100).batch().unwrap());
        let is_borrowed = |batch: &RecordBatch| {
            borrows::<Int32Type>(&document, batch.column_by_name("id").unwrap())
        };
        (batch.num_rows(), is_borrowed(&batch), is_borrowed(&part))
    };
    assert_eq!(borrowed(&document), (400, true, true));
    assert!(document.remove_pointer("/k7").unwrap());
    // Rows without a gap still are.
    assert_eq!(borrowed(&document), (399, false, true));
    document.compact().unwrap();
    assert_eq!(borrowed(&document), (399, true, true));
}
