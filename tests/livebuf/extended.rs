//! Dates, times, decimals and UUIDs: stored, edited, found, stamped, and refused where damaged.

use livebuf::{
    ColumnType, Date, DateTime, Decimal, Doc, DocBuf, EncodeOptions, Encoder, ErrorKind, Extended,
    Kind, New, Template, Time, Timestamp, Uuid, View, json,
};

fn id(n: u8) -> Uuid {
    Uuid::from_bytes([n; 16])
}

fn date(days: i32) -> Date {
    Date::from_days(days).unwrap()
}

/// One of each kind; the last is a decimal that its cell does not hold.
fn each() -> Vec<(Extended, Kind)> {
    let time = Time::from_microseconds(86_399_999_999).unwrap();
    vec![
        (date(-719_162).into(), Kind::Date),
        (time.into(), Kind::Time),
        (DateTime::new(date(1), time).into(), Kind::DateTime),
        (Timestamp::from_microseconds(-1).unwrap().into(), Kind::Timestamp),
        (Decimal::new(1990, 2).unwrap().into(), Kind::Decimal),
        (id(7).into(), Kind::Uuid),
        (Decimal::new(10i128.pow(38) - 1, 38).unwrap().into(), Kind::Decimal),
    ]
}

fn column(doc: &DocBuf, pointer: &str) -> ColumnType {
    doc.doc().pointer(pointer).unwrap().unwrap().as_array().unwrap().unwrap().column_type()
}

#[test]
fn each_is_kept_at_the_root_in_objects_and_in_arrays() {
    for (value, kind) in each() {
        for doc in
            [json!(value), json!([value, value, ()]), json!({"a": {"b": value}, "c": [value]})]
        {
            let valid = doc.valid().unwrap();
            let found = ["", "/1", "/a/b"].iter().find_map(|at| {
                valid
                    .pointer(at)
                    .filter(|value| !matches!(value.kind(), Kind::Object | Kind::Array))
            });
            let found = found.unwrap();
            assert_eq!((found.kind(), found.as_extended()), (kind, Some(value)));
            assert!(kind.is_extended() && matches!(found.view(), View::Extended(_)));
            assert_eq!(format!("{found:?}"), value.to_string());
            // It is none of JSON's kinds, and none of the others of its own.
            assert!(!found.is_number() && found.as_str().is_none() && found.as_i64().is_none());
            let kinds = [
                found.as_date().is_some(),
                found.as_time().is_some(),
                found.as_date_time().is_some(),
                found.as_timestamp().is_some(),
                found.as_decimal().is_some(),
                found.as_uuid().is_some(),
            ];
            assert_eq!(kinds.iter().filter(|&&is| is).count(), 1);
            assert_eq!(doc.doc().compacted().unwrap().as_bytes(), doc.as_bytes());
        }
    }
}

#[test]
fn arrays_of_one_kind_are_typed_columns() {
    use ColumnType::{Cells, Date, DateTime, Decimal, Time, Timestamp, Uuid};
    let expected = [Date, Time, DateTime, Timestamp, Decimal, Uuid, Cells];
    for ((value, _), expected) in each().into_iter().zip(expected) {
        let mut doc = json!([value, value, value, value]);
        assert_eq!(column(&doc, ""), expected);
        // Pushed one by one, and given as a slice.
        let list = doc.set_root(New::array(0)).unwrap().unwrap();
        for _ in 0..5 {
            doc.push(list, value).unwrap();
        }
        assert_eq!(column(&doc, ""), expected);
        doc.set_root(New::Items(&[value.into(), value.into()])).unwrap();
        assert_eq!(column(&doc, ""), expected);
        let array = doc.valid().unwrap().root().as_array().unwrap();
        assert!(array.iter().all(|element| element.as_extended() == Some(value)));
        // Another kind makes it cells, and loses nothing.
        doc.set_pointer("/-", "text").unwrap();
        assert_eq!(column(&doc, ""), Cells);
        assert_eq!(doc.doc().pointer("/1").unwrap().unwrap().as_extended().unwrap(), Some(value));
        doc.doc().validate().unwrap();
    }
}

#[test]
fn uuids_leave_and_enter_their_column() {
    let mut doc = json!({"ids": [id(1), id(2), id(3)], "one": id(9), "rest": []});
    let root = doc.root_id().unwrap();
    let ids = doc.child(root, "ids").unwrap().unwrap();
    doc.swap(ids, 0, 2).unwrap();
    let taken = doc.detach(ids, 1usize).unwrap().unwrap();
    let one = doc.detach(root, "one").unwrap().unwrap();
    doc.push(ids, &one).unwrap();
    doc.set_pointer("/rest/-", &taken).unwrap();
    let other = json!([id(5)]);
    doc.insert(ids, 1, other.root().get(0).unwrap().unwrap()).unwrap();
    let found = |doc: &DocBuf, pointer: &str| {
        let array = doc.valid().unwrap().pointer(pointer).unwrap().as_array().unwrap();
        array.iter().map(|id| id.as_uuid().unwrap().as_bytes()[0]).collect::<Vec<_>>()
    };
    assert_eq!(found(&doc, "/ids"), [3, 5, 1, 9]);
    assert_eq!((found(&doc, "/rest"), column(&doc, "/ids")), (vec![2], ColumnType::Uuid));
    doc.doc().validate().unwrap();
    // A copy by itself, and one that is encoded anew.
    let copy = json!(doc.root());
    assert!(copy.root().deep_eq(doc.root(), &mut 100).unwrap());
    assert_eq!(column(&doc.doc().compacted().unwrap(), "/ids"), ColumnType::Uuid);
}

#[test]
fn find_looks_for_their_values() {
    for (value, _) in each() {
        let doc = json!([(), 1, value, value]);
        let valid = doc.valid().unwrap();
        assert_eq!(valid.root().as_array().unwrap().as_column().find(value), Some(2));
        let typed = json!([(), value, value]);
        let typed = typed.valid().unwrap().root().as_array().unwrap().as_column();
        assert_eq!(typed.find(value), Some(1));
        for (other, _) in each().into_iter().filter(|(other, _)| *other != value) {
            assert_eq!(typed.find(other), None);
        }
    }
    // A gap is no 1970-01-01.
    let doc = json!([(), date(0), date(1)]);
    let column = doc.valid().unwrap().root().as_array().unwrap().as_column();
    assert_eq!((column.find(date(0)), column.find(0)), (Some(1), None));
}

#[test]
fn templates_take_them() {
    let template =
        Template::new(&json!({"id": (), "at": (), "price": ()}), &["/id", "/at", "/price"]);
    let template = template.unwrap();
    let mut message = Vec::new();
    for (value, _) in each() {
        let doc =
            template.stamp_vec(&mut message, &[value.into(), id(1).into(), value.into()]).unwrap();
        assert_eq!(doc.root().get("id").unwrap().as_extended(), Some(value));
        assert_eq!(doc.root().get("at").unwrap().as_uuid(), Some(id(1)));
        Doc::open(&message).unwrap().validate().unwrap();
    }
    let long = json!(each()[6].0);
    template.stamp_vec(&mut message, &[long.root().into(), ().into(), ().into()]).unwrap();
    Doc::open(&message).unwrap().validate().unwrap();
}

/// Bits that no value has are damage wherever they are met, and are never copied.
#[test]
fn damage_is_refused() {
    for (value, at) in
        [(json!([date(1), date(2)]), 51), (json!(each()[6].0), 49), (json!(each()[1].0), 15)]
    {
        let mut bytes = value.to_vec();
        bytes[at] = 0x7F;
        let doc = Doc::open(&bytes).unwrap();
        assert_eq!(doc.validate().unwrap_err().kind(), ErrorKind::BadCell);
        let damaged = doc.pointer("/0").unwrap().unwrap_or(doc.root());
        assert_eq!(damaged.as_extended().unwrap_err().kind(), ErrorKind::BadCell);
        let mut sound = json!({"list": [date(3)]});
        for pointer in ["/copy", "/list/-", "/list/0"] {
            let before = sound.to_vec();
            assert!(sound.set_pointer(pointer, damaged).is_err());
            assert!(sound.set_pointer(pointer, doc.root()).is_err());
            assert_eq!(sound.as_bytes(), before);
        }
        assert!(Encoder::new().value(&doc.root()).is_err());
        assert!(doc.root().deep_eq(doc.root(), &mut 100).is_ok());
    }
}

/// Without tables a UUID is a cell.
#[test]
fn without_tables_uuids_are_cells() {
    let options = EncodeOptions { tables: false, ..EncodeOptions::default() };
    let mut encoder = Encoder::with_options(options);
    encoder.begin_array().unwrap();
    (0..4).for_each(|n| encoder.extended(id(n)).unwrap());
    encoder.end_array().unwrap();
    let doc = encoder.finish().unwrap();
    assert_eq!(column(&doc, ""), ColumnType::Cells);
    assert_eq!(doc.valid().unwrap().pointer("/3").unwrap().as_uuid(), Some(id(3)));
}

/// The limit of text is none of values of a fixed size.
#[test]
fn no_limit_of_text_refuses_them() {
    let mut limits = livebuf::Limits::default();
    limits.string = 3;
    for (value, _) in each() {
        let mut doc = DocBuf::new().unwrap();
        doc.set_limits(limits);
        let list = doc.set_root(New::array(0)).unwrap().unwrap();
        doc.push(list, value).unwrap();
        doc.push(list, json!(value).root()).unwrap();
        doc.push(list, "longer than a cell").unwrap_err();
        let mut encoder =
            Encoder::with_options(EncodeOptions { limits, ..EncodeOptions::default() });
        encoder.value(&doc.root()).unwrap();
        encoder.finish().unwrap();
    }
}

/// While the bytes of an edit are counted, an array that it takes out of a list is not there yet:
/// its gaps and UUIDs cannot be looked at.
#[test]
fn an_array_of_a_list_becomes_cells() {
    let full = [Some(id(1)), Some(id(2)), Some(id(3)), Some(id(4))];
    let some = [Some(id(5)), Some(id(6)), Some(id(7)), None];
    let rows = |count: usize| (0..count).map(|n| if n % 2 == 0 { full } else { some }).collect();
    for rows in [rows(2), rows(9), rows(40)] as [Vec<_>; 3] {
        for (pointer, old) in [("/0/-", 4), ("/1/-", 4), ("/1/2", 4)] {
            let mut doc = json!(rows);
            assert_eq!(column(&doc, ""), ColumnType::FixedList);
            doc.set_pointer(pointer, 1).unwrap();
            doc.doc().validate().unwrap();
            let valid = doc.valid().unwrap();
            for (row, ids) in rows.iter().enumerate() {
                let array = valid.root().get(row).unwrap().as_array().unwrap();
                for (index, id) in ids.iter().enumerate() {
                    if format!("/{row}/{index}") != pointer {
                        assert_eq!(array.get(index).unwrap().as_uuid(), *id);
                    }
                }
                assert!(array.len() == old || array.get(4).unwrap() == 1);
            }
        }
    }
}
