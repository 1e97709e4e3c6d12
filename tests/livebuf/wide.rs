//! Tables of more than 255 columns.

use livebuf::{
    DocBuf, DuplicateKeys, EncodeOptions, Encoder, ErrorKind, Key, New, RegionKind, Result, Value,
    VecStorage, json, layout,
};
use std::time::{Duration, Instant};

type Given<'g> = &'g dyn Fn(&mut Encoder, usize, usize) -> Result<()>;

fn key(number: usize) -> String {
    format!("column {:05}", number * 7919 % 65_537)
}

/// An array of objects with these values.
fn rows(rows: usize, keys: usize, value: Given<'_>) -> DocBuf {
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    for row in 0..rows {
        encoder.begin_object().unwrap();
        for number in 0..keys {
            encoder.key(&key(number)).unwrap();
            value(&mut encoder, row, number).unwrap();
        }
        encoder.end_object().unwrap();
    }
    encoder.end_array().unwrap();
    let doc = encoder.finish().unwrap();
    assert!(doc.doc().validate().is_ok());
    doc
}

fn number(encoder: &mut Encoder, row: usize, column: usize) -> Result<()> {
    encoder.i64((row * column % 100) as i64)
}

fn float(encoder: &mut Encoder, row: usize, column: usize) -> Result<()> {
    encoder.f64((row + 3 * column) as f64 / 7.0)
}

fn regions(doc: &DocBuf, kind: RegionKind) -> usize {
    let mut count = 0;
    doc.doc().regions(|region| count += usize::from(region.kind == kind)).unwrap();
    count
}

fn is_table(doc: &DocBuf) -> bool {
    doc.doc().root().as_array().unwrap().unwrap().table().unwrap().is_some()
}

#[test]
fn wide_rows_take_their_share() {
    let values: [(usize, Given<'_>); 2] = [(20, &number), (500, &float)];
    for (count, value) in values {
        let few = rows(count, 255, value).as_bytes().len() as f64;
        for keys in [256, 300, 1_000, 20_000, 65_535] {
            if count * keys > 2_000_000 {
                continue;
            }
            let doc = rows(count, keys, value);
            assert!(is_table(&doc), "{count} rows of {keys} keys");
            let share = doc.as_bytes().len() as f64 / (few * keys as f64 / 255.0);
            assert!(share < 1.02, "{count} rows of {keys} keys take {share} of their share");
        }
        // More keys than any table has.
        if count == 20 {
            let doc = rows(3, 65_536, value);
            assert!(!is_table(&doc));
            assert_eq!(regions(&doc, RegionKind::Map), 3);
        }
    }
}

#[test]
fn each_column_is_found() {
    for keys in [255, 256, 257, 1_000, 65_535] {
        let doc = rows(6, keys, &|encoder, row, column| encoder.i64((row + 10 * column) as i64));
        let array = doc.doc().root().as_array().unwrap().unwrap();
        let table = array.table().unwrap().unwrap();
        assert_eq!(table.columns().count(), keys);
        let valid = doc.valid().unwrap().root().as_array().unwrap();
        let row = valid.get(1).unwrap().as_object().unwrap();
        assert_eq!(row.len(), keys);
        for (number, member) in row.iter().enumerate() {
            let (name, value) = member;
            assert_eq!((name, value.as_i64()), (&*key(number), Some(1 + 10 * number as i64)));
        }
        for number in (0..keys).step_by(1 + keys / 300).chain([keys - 1]) {
            let (name, wanted) = (key(number), Some(1 + 10 * number as i64));
            assert_eq!(row.get(&*name).unwrap().as_i64(), wanted);
            let remembered = Key::new(&name);
            for _ in 0..2 {
                assert_eq!(row.get(&remembered).unwrap().as_i64(), wanted);
                let column = table.column(&remembered).unwrap().unwrap();
                assert_eq!(column.get(1).unwrap().unwrap().as_i64(), wanted);
            }
            assert_eq!(row.get(&row.bind(&name).unwrap()).unwrap().as_i64(), wanted);
            let other = format!("{name}!");
            assert!(row.get(&*other).is_none() && row.get(&Key::new(&other)).is_none());
        }
        assert!(row.get("").is_none() && row.get("column").is_none());
    }
}

/// The bytes are those of the values, whatever the way.
#[test]
fn encoded_again_it_is_the_same() {
    let texts = ["a", "another one", "x"];
    let values: [Given<'_>; 4] = [
        &number,
        &|encoder, row, column| match (row + column) % 3 {
            0 => encoder.null(),
            _ => encoder.str(texts[(row * column) % 3]),
        },
        &|encoder, row, column| {
            encoder.begin_object()?;
            encoder.key("x")?;
            encoder.i64(row as i64)?;
            if column == 7 {
                encoder.key("y")?;
                encoder.i64(column as i64)?;
            }
            encoder.end_object()
        },
        &|encoder, row, column| match column {
            0 => encoder.i64(row as i64),
            _ => {
                encoder.begin_array()?;
                encoder.i64(column as i64)?;
                encoder.end_array()
            }
        },
    ];
    for value in values {
        for count in [1, 2, 7, 30] {
            let doc = rows(count, 300, value);
            let mut encoder = Encoder::new();
            encoder.value(&doc.doc().root()).unwrap();
            let again = encoder.finish().unwrap();
            assert!(again.as_bytes() == doc.as_bytes(), "{count} rows");
        }
    }
}
