//! Tables of more than 255 columns.

use livebuf::{
    Doc, DocBuf, DuplicateKeys, EncodeOptions, Encoder, Key, New, RegionKind, Result, VecStorage,
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

/// Bug: an object of more than 255 members, which stood by itself behind rows of the same keys, was
/// written as a record, because its keys came as those of the rows had. A record has at most 255, so the
/// document was damaged. Such an object is a map.
#[test]
fn an_object_with_the_keys_of_wide_rows_is_a_map() {
    for keys in [255, 256, 257, 300] {
        let members: Vec<_> =
            (0..keys).map(|number| format!("\"{}\":{number}", key(number))).collect();
        let wide = format!("{{{}}}", members.join(","));
        for text in [
            format!(r#"{{"rows":[{wide},{wide},{wide}],"one":{wide}}}"#),
            format!(r#"{{"rows":[{wide},{wide}],"one":{{"two":{wide}}},"more":[1,{wide}]}}"#),
            format!(r#"[[{wide},{wide}],{{"one":{wide}}},{wide},[{wide}]]"#),
        ] {
            let read = livebuf_json::from_str(&text).unwrap();
            read.doc().validate().unwrap();
            assert_eq!(livebuf_json::to_string(read.doc().root()).unwrap(), text);
            // The same by values, whose keys are given one by one.
            let mut encoder = Encoder::new();
            for _ in 0..2 {
                encoder.restart(VecStorage::default(), EncodeOptions::default());
                encoder.value(&read.doc().root()).unwrap();
                assert_eq!(encoder.finish_one().unwrap().as_bytes(), read.as_bytes());
            }
            if keys > 255 {
                assert!(regions(&read, RegionKind::Map) > 0);
            }
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

/// The objects of an array of which these are the values' counts and keys.
fn objects(counts: &[usize], key: impl Fn(usize, usize) -> String) -> DocBuf {
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    for (row, &count) in counts.iter().enumerate() {
        encoder.begin_object().unwrap();
        for number in 0..count {
            encoder.key(&key(row, number)).unwrap();
            encoder.i64(number as i64).unwrap();
        }
        encoder.end_object().unwrap();
    }
    encoder.end_array().unwrap();
    let doc = encoder.finish().unwrap();
    assert!(doc.doc().validate().is_ok());
    doc
}

/// Objects of many different keys become maps, in time that grows with their count.
#[test]
fn different_keys_are_maps() {
    let begin = Instant::now();
    for (rows, keys) in [(20, 300), (20, 20_000), (3, 65_535), (2, 70_000)] {
        let doc = objects(&vec![keys; rows], |row, number| format!("{row} {number}"));
        assert!(!is_table(&doc));
        assert_eq!(regions(&doc, RegionKind::Map), rows);
        assert_eq!(regions(&doc, RegionKind::Shape), 0);
    }
    // The same keys, of which each object begins with another.
    let doc = objects(&vec![2_000; 40], |row, number| format!("{}", (number + 50 * row) % 2_000));
    assert!(!is_table(&doc));
    // Each lacks some.
    let doc = objects(&vec![2_000; 40], |row, number| format!("{}", number + number / (40 + row)));
    assert!(is_table(&doc));
    // More lists than the encoder keeps.
    let doc = objects(&vec![20_000; 70], |row, number| format!("{}", number + number / (40 + row)));
    assert!(!is_table(&doc));
    assert_eq!(regions(&doc, RegionKind::Map), 70);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

/// The keys of an object are in objects within it, too, so that each seems to come again.
#[test]
fn keys_that_come_again_within() {
    let encode = |count: usize| {
        let mut encoder = Encoder::new();
        encoder.begin_array().unwrap();
        for number in 0..2 * count {
            encoder.begin_object().unwrap();
            encoder.key(&key(number % count)).unwrap();
            encoder.null().unwrap();
            encoder.end_object().unwrap();
        }
        encoder.begin_object().unwrap();
        encoder.key("number").unwrap();
        encoder.i64(3).unwrap();
        for number in 0..count {
            encoder.key(&key(number)).unwrap();
            encoder.begin_object().unwrap();
            for within in [number, number + 1] {
                encoder.key(&key(within.min(count - 1))).unwrap();
                encoder.i64(number as i64).unwrap();
                if number + 1 == count {
                    break;
                }
            }
            encoder.end_object().unwrap();
        }
        encoder.end_object().unwrap();
        encoder.end_array().unwrap();
        encoder.finish().unwrap()
    };
    let time = |count| {
        let begin = Instant::now();
        assert!(encode(count).doc().validate().is_ok());
        begin.elapsed()
    };
    time(4_000);
    let (few, many) = (time(4_000), time(64_000));
    assert!(many < 60 * few + Duration::from_millis(500), "{few:?}, then {many:?}");
}

#[test]
fn doubled_keys_of_wide_rows() {
    for (first, second) in [(0, 299), (255, 256), (10, 280), (298, 299)] {
        for nested in [false, true] {
            let mut encoder = Encoder::new();
            encoder.begin_array().unwrap();
            for row in 0..3 {
                encoder.begin_object().unwrap();
                for number in 0..300 {
                    let doubled = row == 1 && number == second;
                    encoder.key(&key(if doubled { first } else { number })).unwrap();
                    if nested {
                        encoder.begin_object().unwrap();
                        encoder.key(&key(number / 2)).unwrap();
                    }
                    encoder.i64(number as i64).unwrap();
                    if nested {
                        encoder.end_object().unwrap();
                    }
                }
                encoder.end_object().unwrap();
            }
            encoder.end_array().unwrap();
            let doc = encoder.finish().unwrap();
            let valid = doc.valid().unwrap();
            let row = valid.root().get(1).unwrap().as_object().unwrap();
            let value = row.get(&*key(first)).unwrap();
            let value = if nested { value.get(&*key(second / 2)).unwrap() } else { value };
            assert_eq!((row.len(), value.as_i64()), (299, Some(second as i64)));
        }
    }
    let options = EncodeOptions { duplicate_keys: DuplicateKeys::Error, ..Default::default() };
    let mut encoder = Encoder::in_storage(VecStorage::default(), options);
    encoder.begin_array().unwrap();
    encoder.begin_object().unwrap();
    for number in 0..300 {
        encoder.key(&key(number)).unwrap();
        encoder.null().unwrap();
    }
    encoder.key(&key(7)).unwrap_err();
    assert_eq!(encoder.doubled_key(), Some(&*key(7)));
}

#[test]
fn wide_rows_are_edited() {
    let mut doc = rows(8, 300, &number);
    let array = doc.root_id().unwrap();
    // A cell.
    doc.set_pointer(&format!("/3/{}", key(299)), "text").unwrap();
    doc.set_pointer(&format!("/4/{}", key(256)), 1.5).unwrap();
    assert!(doc.remove_pointer(&format!("/5/{}", key(270))).unwrap());
    // A key that no column has.
    doc.set_pointer("/6/another", 5).unwrap();
    // A row.
    let names: Vec<String> = (0..300).map(key).collect();
    let mut fields: Vec<(&str, New<'_>)> =
        names.iter().map(|name| (&**name, New::from(7))).collect();
    fields.push(("one more", 8.into()));
    doc.push(array, New::Fields(&fields)).unwrap();
    doc.push(array, New::Fields(&fields[1..3])).unwrap();
    assert!(doc.remove_pointer("/0").unwrap());
    assert!(is_table(&doc));
    doc.doc().validate().unwrap();
    let text = livebuf_json::to_string(doc.valid().unwrap().root()).unwrap();
    let again = livebuf_json::from_str(&text).unwrap();
    assert!(doc.doc().root().deep_eq(again.doc().root(), &mut u64::MAX.clone()).unwrap());
    // Copied, by an edit and anew.
    let mut other = livebuf::json!({"rows": null, "more": null});
    for place in ["/rows", "/more"] {
        other.set_pointer(place, doc.doc().root()).unwrap();
        let copy = other.doc().pointer(place).unwrap().unwrap();
        assert!(copy.deep_eq(doc.doc().root(), &mut u64::MAX.clone()).unwrap());
    }
    other.doc().validate().unwrap();
    assert_eq!(regions(&other, RegionKind::Table), 2);
    // Both have one shape, another one has the keys of an object, and two those of extras.
    let stats = other.doc().stats().unwrap();
    assert!(stats.shapes < 5_000, "{}", stats.shapes);
    // A row leaves the table: it becomes a map.
    let taken = doc.detach(array, 2).unwrap().unwrap();
    doc.doc().validate().unwrap();
    doc.push(array, &taken).unwrap();
    doc.doc().validate().unwrap();
    // No object: the rows become maps.
    doc.push(array, 1).unwrap();
    assert!(!is_table(&doc));
    doc.doc().validate().unwrap();
    assert!(doc.clear(array).is_ok());
    doc.doc().validate().unwrap();
}

/// Damage in a wide shape and in the head of its table: an error or a value, and no panic.
#[test]
fn damaged_wide_tables() {
    let doc = rows(4, 256, &number);
    let word = |at: usize| u32::from_le_bytes(doc.as_bytes()[at..at + 4].try_into().unwrap());
    let (shape, array) = (word(24) as usize, word(8) as usize);
    let table = word(array + 12) as usize;
    let places = (shape..shape + 60).chain(table..table + 40).chain(shape + 520..shape + 560);
    let (first, last, names) = (key(0), key(255), [key(1), key(100), key(200)]);
    for place in places {
        for change in [0x01u8, 0x02, 0x10, 0x80, 0xFF] {
            let mut bytes = doc.to_vec();
            bytes[place] ^= change;
            let Ok(damaged) = Doc::open(&bytes) else { continue };
            let valid = damaged.validate().is_ok();
            let read = |row: usize| -> Result<()> {
                let Some(row) = damaged.root().get(row)? else { return Ok(()) };
                let Some(row) = row.as_object()? else { return Ok(()) };
                for name in names.iter().chain([&first, &last]) {
                    row.get(&**name)?;
                    row.get(&Key::new(name))?;
                }
                row.iter().take(300).try_for_each(|member| member.map(drop))
            };
            let read = (0..4).try_for_each(read);
            assert!(!valid || read.is_ok(), "{place} ^ {change}: {read:?}");
            let _ = damaged.compacted();
            let mut copy = livebuf::json!({"copy": null});
            let _ = copy.set_pointer("/copy", damaged.root());
            copy.doc().validate().unwrap();
            let Ok(mut edited) = DocBuf::from_bytes_unvalidated(&bytes) else { continue };
            let _ = edited.set_pointer(&format!("/1/{last}"), 3);
            let _ = edited.set_pointer("/1/more", "more");
            let _ = edited.remove_pointer("/2");
            assert!(!valid || edited.doc().validate().is_ok());
        }
    }
}

#[test]
fn many_wide_shapes() {
    let mut encoder = Encoder::new();
    encoder.begin_object().unwrap();
    for list in 0..60 {
        encoder.key(&format!("list {list}")).unwrap();
        encoder.begin_array().unwrap();
        for row in 0..6 {
            encoder.begin_object().unwrap();
            for number in 0..1_000 {
                encoder.key(&format!("{list} {number}")).unwrap();
                encoder.i64(row * number).unwrap();
            }
            encoder.end_object().unwrap();
        }
        encoder.end_array().unwrap();
    }
    encoder.end_object().unwrap();
    let doc = encoder.finish().unwrap();
    assert_eq!((regions(&doc, RegionKind::Table), regions(&doc, RegionKind::Shape)), (60, 61));
    let begin = Instant::now();
    doc.doc().validate().unwrap();
    // An object by itself looks through the newest shapes.
    let mut doc = doc;
    let list = doc.set_pointer("/more", New::array(0)).unwrap().unwrap();
    for number in 0..1_000 {
        let object = doc.push(list, New::object(0)).unwrap().unwrap();
        doc.set(object, &*format!("{}", number % 90), 1).unwrap();
    }
    doc.doc().validate().unwrap();
    let again = doc.doc().compacted().unwrap();
    assert!(again.doc().root().deep_eq(doc.doc().root(), &mut u64::MAX.clone()).unwrap());
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}
