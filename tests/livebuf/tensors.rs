//! Tensors: what they keep, what they refuse, and where they go.

use livebuf::{
    ColumnType, DocBuf, EncodeOptions, Encoder, ErrorKind, New, Tensor, TensorRef, json,
};

const TYPES: [ColumnType; 12] = [
    ColumnType::Bool8,
    ColumnType::I8,
    ColumnType::I16,
    ColumnType::I32,
    ColumnType::I64,
    ColumnType::U8,
    ColumnType::U16,
    ColumnType::U32,
    ColumnType::U64,
    ColumnType::F16,
    ColumnType::F32,
    ColumnType::F64,
];

fn width(column: ColumnType) -> usize {
    match column {
        ColumnType::Bool8 | ColumnType::I8 | ColumnType::U8 => 1,
        ColumnType::I16 | ColumnType::U16 | ColumnType::F16 => 2,
        ColumnType::I32 | ColumnType::U32 | ColumnType::F32 => 4,
        _ => 8,
    }
}

/// Bytes of so many numbers, finite ones.
fn numbers(column: ColumnType, count: usize) -> Vec<u8> {
    (0..count as u64)
        .flat_map(|at| {
            let word = match column {
                ColumnType::Bool8 => at % 2,
                ColumnType::F16 => 0x3C00 + at % 1000,
                ColumnType::F32 => (at as f32 / 3.0).to_bits().into(),
                ColumnType::F64 => (at as f64 / 3.0).to_bits(),
                _ => at.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            };
            word.to_le_bytes()[..width(column)].to_vec()
        })
        .collect()
}

#[track_caller]
fn assert_tensor(doc: &DocBuf, pointer: &str, column: ColumnType, shape: &[usize], bytes: &[u8]) {
    doc.doc().validate().unwrap();
    let value = doc.doc().pointer(pointer).unwrap().unwrap();
    let tensor = value.as_array().unwrap().unwrap().tensor().unwrap().unwrap();
    let lengths: Vec<usize> = tensor.shape().iter().map(|&length| length as usize).collect();
    assert_eq!((tensor.column_type(), &lengths[..]), (column, shape));
    assert!(tensor.as_bytes() == bytes);
}

#[test]
fn every_type_and_shape_stays_as_it_is() {
    let shapes: [&[usize]; 8] =
        [&[1], &[7], &[0], &[3, 5], &[2, 3, 4], &[0, 3], &[1; 16], &[2, 1, 9, 1]];
    for column in TYPES {
        for shape in shapes {
            let bytes = numbers(column, shape.iter().product());
            let tensor = Tensor::from_bytes(column, shape, &bytes).unwrap();
            let mut encoder = Encoder::new();
            encoder.tensor(&tensor).unwrap();
            let encoded = encoder.finish().unwrap();
            assert_tensor(&encoded, "", column, shape, &bytes);

            let mut set = json!({"a": 1});
            set.set_pointer("/b", &tensor).unwrap();
            assert_tensor(&set, "/b", column, shape, &bytes);
            // A copy, one by an encoder, and one of what was not validated.
            let mut copy = json!([]);
            copy.set_pointer("/-", set.doc().pointer("/b").unwrap().unwrap()).unwrap();
            assert_tensor(&copy, "/0", column, shape, &bytes);
            copy.set_pointer("/-", encoded.doc().root()).unwrap();
            assert_tensor(&copy, "/1", column, shape, &bytes);
            let mut encoder = Encoder::new();
            encoder.value(&set.doc().root()).unwrap();
            assert_tensor(&encoder.finish().unwrap(), "/b", column, shape, &bytes);
            assert!(
                set.doc().pointer("/b").unwrap().unwrap().deep_eq(&encoded, &mut 10_000).unwrap()
            );

            // Each of its arrays is one, too.
            if shape.len() > 1 && shape[0] > 1 {
                let part = bytes.len() / shape[0];
                assert_tensor(&set, "/b/1", column, &shape[1..], &bytes[part..2 * part]);
                let mut part_of = json!([null]);
                part_of.set_pointer("/0", set.doc().pointer("/b/1").unwrap().unwrap()).unwrap();
                assert_tensor(&part_of, "/0", column, &shape[1..], &bytes[part..2 * part]);
            }
            // Freed, it leaves its place.
            let before = set.as_bytes().len();
            for _ in 0..3 {
                assert!(set.remove_pointer("/b").unwrap());
                set.doc().validate().unwrap();
                set.set_pointer("/b", &tensor).unwrap();
            }
            assert!(set.as_bytes().len() <= 2 * before + 200);
        }
    }
}

#[test]
fn shapes_and_bytes_that_are_none() {
    let refused = |column, shape: &[usize], count: usize| {
        let error = Tensor::from_bytes(column, shape, &vec![0; count]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TensorMismatch);
    };
    refused(ColumnType::F32, &[], 4);
    refused(ColumnType::F32, &[2], 4);
    refused(ColumnType::F32, &[1; 17], 4);
    refused(ColumnType::F32, &[2, 0], 0);
    // A length has 32 bits.
    #[cfg(target_pointer_width = "64")]
    refused(ColumnType::F32, &[0, usize::MAX], 0);
    refused(ColumnType::F32, &[usize::MAX, usize::MAX], 0);
    refused(ColumnType::Cells, &[1], 8);
    refused(ColumnType::Bool, &[1], 1);
    refused(ColumnType::Date, &[1], 4);
    let error = Tensor::from_bytes(ColumnType::Bool8, &[1], &[2]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TensorMismatch);
    assert_eq!(
        error.to_string(),
        "a tensor keeps its type and the lengths of its elements, and this does not fit them"
    );
    let many = vec![0u8; 5];
    let mut options = EncodeOptions::default();
    options.limits.elements = 4;
    let error =
        Encoder::with_options(options).tensor(&Tensor::new(&[5], &many).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ElementLimit);
    options.limits.elements = 5;
    options.limits.nesting = 2;
    let tensor = Tensor::new(&[1, 1, 5], &many).unwrap();
    let error = Encoder::with_options(options).tensor(&tensor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NestingLimit);
    let mut doc = json!({});
    doc.set_limits(options.limits);
    assert_eq!(doc.set_pointer("/a", &tensor).unwrap_err().kind(), ErrorKind::NestingLimit);
    let flat = Tensor::new(&[5], &many).unwrap();
    doc.set_pointer("/a", &flat).unwrap();
    options.limits.elements = 4;
    doc.set_limits(options.limits);
    assert_eq!(doc.set_pointer("/a", &flat).unwrap_err().kind(), ErrorKind::ElementLimit);
}

#[test]
fn elements_are_set_and_no_type_widens() {
    let takes = |column, value: New<'static>, stored: Option<f64>| {
        let bytes = vec![0; 4 * width(column)];
        let mut doc = DocBuf::new().unwrap();
        doc.set_root(&Tensor::from_bytes(column, &[2, 2], &bytes).unwrap()).unwrap();
        let before = doc.as_bytes().to_vec();
        let row = doc.find("/1").unwrap().unwrap();
        let checked = doc.check_set(row, 0, value).map_err(|error| error.kind());
        assert_eq!(checked, stored.map(drop).ok_or(ErrorKind::TensorMismatch));
        assert!(doc.as_bytes() == before);
        match (doc.set_pointer("/1/0", value), stored) {
            (Ok(_), Some(stored)) => {
                let found = doc.doc().pointer("/1/0").unwrap().unwrap();
                let number = found.as_bool().map(|bit| bit as u8 as f64).or(found.as_f64());
                let number = number.or(found.as_i64().map(|int| int as f64)).unwrap();
                assert!(number == stored || number.is_nan() && stored.is_nan(), "{number}");
                let value = doc.doc().root();
                let tensor = value.as_array().unwrap().unwrap().tensor().unwrap().unwrap();
                assert_eq!(tensor.column_type(), column);
                doc.doc().validate().unwrap();
            }
            (Err(error), None) => {
                assert_eq!(error.kind(), ErrorKind::TensorMismatch);
                assert!(doc.as_bytes() == before);
            }
            (result, _) => panic!("{column:?} {value:?}: {result:?}"),
        }
    };
    use ColumnType::*;
    for column in TYPES {
        for value in [New::Null, "1".into(), New::Str(""), New::Items(&[New::Int(1)])] {
            takes(column, value, None);
        }
        if column != Bool8 {
            takes(column, 1.into(), Some(1.0));
            takes(column, true.into(), None);
        }
    }
    takes(Bool8, true.into(), Some(1.0));
    takes(Bool8, 1.into(), None);
    takes(U8, 255.into(), Some(255.0));
    takes(U8, 256.into(), None);
    takes(U8, (-1).into(), None);
    takes(I8, (-128).into(), Some(-128.0));
    takes(I8, 128.into(), None);
    takes(I64, u64::MAX.into(), None);
    takes(U64, u64::MAX.into(), Some(u64::MAX as f64));
    takes(I32, 2.0.into(), None);
    takes(F32, 0.1.into(), Some(0.1f32.into()));
    takes(F32, 1e300.into(), None);
    takes(F32, f64::INFINITY.into(), Some(f64::INFINITY));
    takes(F32, f64::NAN.into(), Some(f64::NAN));
    takes(F32, (1 << 24).into(), Some((1 << 24) as f64));
    takes(F32, ((1 << 24) + 1).into(), None);
    takes(F16, 0.1.into(), Some(0.0999755859375));
    takes(F16, 65519.0.into(), Some(65504.0));
    takes(F16, 65520.0.into(), None);
    takes(F16, 2048.into(), Some(2048.0));
    takes(F16, 2049.into(), None);
    takes(F64, 0.1.into(), Some(0.1));
    takes(F64, ((1i64 << 53) + 1).into(), None);
    takes(F64, u64::MAX.into(), None);
}

#[test]
fn the_shape_stays() {
    let mut doc = json!({"other": [1, 2, 3]});
    doc.set_pointer("/t", &Tensor::new(&[2, 2, 2], &[1i32, 2, 3, 4, 5, 6, 7, 8]).unwrap()).unwrap();
    let refused = |result: Result<(), livebuf::Error>| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::TensorMismatch);
    };
    // Arrays within a tensor keep their lengths and their order. The tensor itself takes rows alone.
    let four = [1i32, 2, 3, 4];
    let flat = [New::Int(1), New::Int(2)];
    for pointer in ["/t", "/t/1", "/t/1/0"] {
        let node = doc.find(pointer).unwrap().unwrap();
        let before = doc.as_bytes().to_vec();
        for other in [
            1.into(),
            New::Items(&flat),
            New::Items(&[New::Items(&flat), New::Items(&flat[1..])]),
            New::Items(&[New::Items(&flat), New::Items(&[New::Int(1), New::Str("2")])]),
            (&Tensor::new(&[4], &four).unwrap()).into(),
            (&Tensor::new(&[2, 2], &[1i64 << 40; 4]).unwrap()).into(),
        ] {
            refused(doc.push(node, other).map(drop));
            refused(doc.insert(node, 0, other).map(drop));
            refused(doc.check_set(node, 2, other));
        }
        if pointer != "/t" {
            refused(doc.remove(node, 0).map(drop));
            refused(doc.detach(node, 0).map(drop));
            refused(doc.pop(node).map(drop));
            refused(doc.truncate(node, 1));
            refused(doc.clear(node));
            refused(doc.swap(node, 0, 1));
            refused(doc.reserve(node, 1));
        }
        assert!(doc.as_bytes() == before, "{pointer}");
    }
    // Arrays of the same length go over those that are there, whole or not at all.
    let two = [New::Float(1.0), New::Int(2)];
    let row = doc.find("/t/0").unwrap().unwrap();
    refused(doc.check_set(row, 1, New::Items(&two)));
    refused(doc.set_pointer("/t/0/1", New::Items(&two)).map(drop));
    doc.set_pointer("/t/0/1", New::Items(&two[1..])).unwrap_err();
    doc.set_pointer("/t/0/1", New::Items(&[New::Int(-3), New::Int(-4)])).unwrap();
    doc.set_pointer("/t/1", &Tensor::new(&[2, 2], &[10u8, 20, 30, 40]).unwrap()).unwrap();
    assert_eq!(text(&doc, "/t"), "[[[1,2],[-3,-4]],[[10,20],[30,40]]]");
    // What is detached is freed, its numbers are copied.
    let root = doc.root_id().unwrap();
    doc.set_pointer("/pair", New::Items(&[New::Int(5), New::Int(6)])).unwrap();
    let pair = doc.detach(root, "pair").unwrap().unwrap();
    let row = doc.find("/t/0").unwrap().unwrap();
    doc.set(row, 0, &pair).unwrap();
    assert_eq!(doc.discard(pair).unwrap_err().kind(), ErrorKind::StaleHandle);
    assert_eq!(text(&doc, "/t/0"), "[[5,6],[-3,-4]]");
    doc.doc().validate().unwrap();
    assert_eq!(doc.doc().stats().unwrap().garbage, 0);
    // The whole can be replaced by anything.
    doc.set_pointer("/t", "text").unwrap();
    doc.doc().validate().unwrap();
}

/// Elements are added, taken out and exchanged as in any array: the type stays, and so do the lengths
/// of the elements.
#[test]
fn elements_come_and_go() {
    let mut random = fastrand::Rng::with_seed(11);
    for case in 0..600 {
        let column = TYPES[case % TYPES.len()];
        let inner: &[usize] = [&[][..], &[3], &[2, 2], &[1]][random.usize(..4)];
        let size = width(column) * inner.iter().product::<usize>();
        let pool = numbers(column, 400 * size / width(column));
        let row_shape: Vec<u32> = inner.iter().map(|&length| length as u32).collect();
        let mut rows: Vec<Vec<u8>> =
            (0..random.usize(..4)).map(|at| pool[at * size..][..size].to_vec()).collect();
        let shape = |rows: &[Vec<u8>]| [&[rows.len()], inner].concat();
        let mut doc = json!({"other": ["before"]});
        let first = rows.concat();
        doc.set_pointer("/t", &Tensor::from_bytes(column, &shape(&rows), &first).unwrap()).unwrap();
        doc.set_pointer("/after", "text that lies behind the tensor").unwrap();
        let node = doc.find("/t").unwrap().unwrap();
        // Handles of some elements, which follow them.
        let mut handles: Vec<(livebuf::NodeId, Vec<u8>)> = Vec::new();
        for step in 0..30 {
            let (count, at) = (rows.len(), random.usize(..rows.len() + 1));
            let row = pool[random.usize(..400) * size..][..size].to_vec();
            let mut other = DocBuf::new().unwrap();
            let new = match inner {
                [] => scalar(column, &row),
                _ if random.bool() => {
                    other.set_root(&Tensor::from_bytes(column, inner, &row).unwrap()).unwrap();
                    other.doc().root().into()
                }
                _ => New::Tensor(TensorRef::from_bytes(column, &row_shape, &row).unwrap()),
            };
            match random.u8(..8) {
                0 | 1 => {
                    doc.check_set(node, count, new).unwrap();
                    doc.push(node, new).unwrap();
                    rows.push(row);
                }
                2 => {
                    doc.insert(node, at, new).unwrap();
                    rows.insert(at, row);
                }
                3 if at < count => {
                    doc.set(node, at, new).unwrap();
                    handles.retain(|(_, bytes)| *bytes != rows[at]);
                    rows[at] = row;
                }
                4 if at < count => {
                    let gone = rows.remove(at);
                    handles.retain(|(_, bytes)| *bytes != gone);
                    match random.bool() {
                        true => assert!(doc.remove(node, at).unwrap()),
                        false => {
                            let detached = doc.detach(node, at).unwrap().unwrap();
                            let root = doc.root_id().unwrap();
                            doc.set(root, "gone", &detached).unwrap();
                            if !inner.is_empty() {
                                assert_tensor(&doc, "/gone", column, inner, &gone);
                            }
                        }
                    }
                }
                5 if at < count => {
                    let other = random.usize(..count);
                    doc.swap(node, at, other).unwrap();
                    rows.swap(at, other);
                }
                6 if random.u8(..4) == 0 => {
                    doc.truncate(node, at).unwrap();
                    rows.truncate(at);
                    handles.clear();
                }
                7 if random.bool() => doc.reserve(node, random.usize(..20)).unwrap(),
                _ if at < count && !inner.is_empty() => {
                    let handle = doc.find(&format!("/t/{at}")).unwrap().unwrap();
                    handles.push((handle, rows[at].clone()));
                }
                _ => {}
            }
            assert_tensor(&doc, "/t", column, &shape(&rows), &rows.concat());
            for (handle, bytes) in &handles {
                if rows.iter().filter(|row| *row == bytes).count() == 1 {
                    let array = doc.value(*handle).unwrap().as_array().unwrap().unwrap();
                    let found = array.tensor().unwrap().unwrap();
                    assert!(found.as_bytes() == bytes, "case {case}, step {step}");
                }
            }
        }
        assert!(
            doc.doc().pointer("/after").unwrap().unwrap() == "text that lies behind the tensor"
        );
    }
}

/// A number of a tensor as a value.
fn scalar(column: ColumnType, bytes: &[u8]) -> New<'static> {
    let mut doc = DocBuf::new().unwrap();
    doc.set_root(&Tensor::from_bytes(column, &[1], bytes).unwrap()).unwrap();
    let value = doc.get(0).unwrap().unwrap();
    let int = value.as_i64().map(New::from).or(value.as_u64().map(New::from));
    int.or(value.as_bool().map(New::from)).or(value.as_f64().map(New::from)).unwrap()
}

/// Ten thousand rows, one by one, beside their bytes: room is made ahead, and little of it is left.
#[test]
fn a_tensor_grows_by_rows() {
    let mut doc = DocBuf::new().unwrap();
    let empty = Tensor::from_bytes(ColumnType::F32, &[0, 384], &[]).unwrap();
    let root = doc.set_root(&empty).unwrap().unwrap();
    let row = [0.5f32; 384];
    for at in 0..10_000 {
        if at % 2 == 0 {
            doc.push(root, &Tensor::new(&[384], &row).unwrap()).unwrap();
        } else {
            // Numbers become the type's.
            doc.push(root, &Tensor::new(&[384], &[0.5f64; 384]).unwrap()).unwrap();
        }
    }
    assert_tensor(
        &doc,
        "",
        ColumnType::F32,
        &[10_000, 384],
        &0.5f32.to_le_bytes().repeat(3_840_000),
    );
    assert!(doc.as_bytes().len() < 10_100 * 384 * 4, "{}", doc.as_bytes().len());
}

/// The numbers at a pointer, as JSON.
fn text(doc: &DocBuf, pointer: &str) -> String {
    let value = doc.doc().pointer(pointer).unwrap().unwrap();
    serde_json::to_string(&livebuf::from_value::<serde_json::Value>(&value).unwrap()).unwrap()
}

/// An array of objects with a tensor each.
fn rows(count: usize, odd: Option<usize>) -> DocBuf {
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    for row in 0..count {
        encoder.begin_object().unwrap();
        encoder.key("id").unwrap();
        encoder.u64(row as u64).unwrap();
        encoder.key("at").unwrap();
        let bytes = numbers(ColumnType::F32, 6);
        match odd {
            Some(odd) if odd == row => encoder.null().unwrap(),
            _ => encoder
                .tensor(&Tensor::from_bytes(ColumnType::F32, &[2, 3], &bytes).unwrap())
                .unwrap(),
        }
        encoder.end_object().unwrap();
    }
    encoder.end_array().unwrap();
    encoder.finish().unwrap()
}

fn column_of(doc: &DocBuf, key: &str) -> ColumnType {
    let table = doc.doc().root().as_array().unwrap().unwrap().table().unwrap().unwrap();
    table.column(key).unwrap().unwrap().column_type()
}

#[test]
fn tensors_of_one_shape_are_a_column() {
    let bytes = numbers(ColumnType::F32, 6);
    for odd in [None, Some(0), Some(4), Some(9)] {
        let doc = rows(10, odd);
        assert_eq!(column_of(&doc, "at"), ColumnType::FixedList);
        let there = odd.map_or(3, |odd| (odd + 1) % 10);
        assert_tensor(&doc, &format!("/{there}/at"), ColumnType::F32, &[2, 3], &bytes);
        assert!(doc.as_bytes().len() < 10 * bytes.len() + 400);
        // Encoded anew it is the same, and a copy has the same layout.
        let mut encoder = Encoder::new();
        encoder.value(&doc.doc().root()).unwrap();
        assert!(encoder.finish().unwrap().as_bytes() == doc.as_bytes());
        let mut copy = DocBuf::new().unwrap();
        copy.set_root(doc.doc().root()).unwrap();
        assert_eq!(column_of(&copy, "at"), ColumnType::FixedList);
        assert_tensor(&copy, &format!("/{there}/at"), ColumnType::F32, &[2, 3], &bytes);
    }
}

#[test]
fn rows_with_tensors_are_edited() {
    let bytes = numbers(ColumnType::F32, 6);
    let tensor = Tensor::from_bytes(ColumnType::F32, &[2, 3], &bytes).unwrap();
    // One more of the same shape stays in the column.
    let mut doc = rows(10, Some(2));
    let root = doc.root_id().unwrap();
    doc.push(root, New::Fields(&[("id", 10.into()), ("at", (&tensor).into())])).unwrap();
    doc.push(root, New::Fields(&[("id", 11.into())])).unwrap();
    assert_eq!(column_of(&doc, "at"), ColumnType::FixedList);
    assert_tensor(&doc, "/10/at", ColumnType::F32, &[2, 3], &bytes);
    doc.set_pointer("/10/at/1/1", 7).unwrap();
    doc.remove_pointer("/0").unwrap();
    assert_eq!(doc.doc().pointer("/9/at/1/1").unwrap().unwrap(), 7.0);
    let mut changed = bytes.clone();
    changed[16..20].copy_from_slice(&7f32.to_le_bytes());
    assert_tensor(&doc, "/9/at", ColumnType::F32, &[2, 3], &changed);
    // Another shape, another type, an array that is none, or another value: each is by itself.
    let other = Tensor::new(&[3, 2], &[1f32; 6]).unwrap();
    let double = Tensor::new(&[2, 3], &[1f64; 6]).unwrap();
    let three = [New::Float(1.0); 3];
    let plain = [New::Items(&three), New::Items(&three)];
    for value in [(&other).into(), (&double).into(), New::Items(&plain), "text".into()] {
        for push in [true, false] {
            let mut doc = rows(10, None);
            let root = doc.root_id().unwrap();
            match push {
                true => drop(doc.push(root, New::Fields(&[("at", value)])).unwrap()),
                false => drop(doc.set_pointer("/7/at", value).unwrap()),
            }
            doc.doc().validate().unwrap();
            assert_ne!(column_of(&doc, "at"), ColumnType::FixedList);
            assert_tensor(&doc, "/3/at", ColumnType::F32, &[2, 3], &bytes);
            assert_tensor(&doc, "/3/at/1", ColumnType::F32, &[3], &bytes[12..]);
            doc.set_pointer("/3/at/0/0", 9).unwrap();
            assert_eq!(doc.doc().pointer("/3/at/0/0").unwrap().unwrap(), 9.0);
            assert_eq!(doc.doc().stats().unwrap().garbage, 0);
            let mut encoder = Encoder::new();
            encoder.value(&doc.doc().root()).unwrap();
            let anew = encoder.finish().unwrap();
            assert!(anew.doc().root().deep_eq(&doc, &mut 10_000).unwrap());
        }
    }
    // Rows change places, are detached, and lose their tensors.
    let mut doc = rows(10, None);
    let root = doc.root_id().unwrap();
    doc.set_pointer("/4/at/0/0", 44).unwrap();
    doc.set_pointer("/6/at", ()).unwrap();
    doc.swap(root, 4, 8).unwrap();
    assert_eq!(doc.doc().pointer("/8/at/0/0").unwrap().unwrap(), 44.0);
    doc.doc().validate().unwrap();
    let mut doc = rows(10, None);
    let row = doc.find("/5").unwrap().unwrap();
    let taken = doc.detach(row, "at").unwrap().unwrap();
    doc.set_pointer("/5/at", &taken).unwrap();
    assert_tensor(&doc, "/5/at", ColumnType::F32, &[2, 3], &bytes);
    let root = doc.root_id().unwrap();
    let taken = doc.detach(root, 1).unwrap().unwrap();
    doc.push(root, &taken).unwrap();
    assert_tensor(&doc, "/9/at", ColumnType::F32, &[2, 3], &bytes);
}

#[test]
fn a_list_of_tensors_grows() {
    let mut encoder = Encoder::new();
    encoder.begin_array().unwrap();
    for row in 0..4 {
        encoder.tensor(&Tensor::new(&[3], &[row as i16; 3]).unwrap()).unwrap();
    }
    encoder.end_array().unwrap();
    let mut doc = encoder.finish().unwrap();
    let root = doc.root_id().unwrap();
    assert!(doc.doc().root().as_array().unwrap().unwrap().tensor().unwrap().is_none());
    for row in 4..300 {
        doc.push(root, &Tensor::new(&[3], &[row as i16; 3]).unwrap()).unwrap();
    }
    assert!(doc.as_bytes().len() < 300 * 6 * 4);
    assert_tensor(&doc, "/299", ColumnType::I16, &[3], &[43, 1, 43, 1, 43, 1]);
    assert_eq!(doc.set_pointer("/1/1", 40_000).unwrap_err().kind(), ErrorKind::TensorMismatch);
    doc.set_pointer("/1/1", 30_000).unwrap();
    let anew = {
        let mut encoder = Encoder::new();
        encoder.value(&doc.doc().root()).unwrap();
        encoder.finish().unwrap()
    };
    assert_tensor(&anew, "/299", ColumnType::I16, &[3], &[43, 1, 43, 1, 43, 1]);
    // A second copy by itself.
    let first = doc.detach(root, 0).unwrap().unwrap();
    doc.insert(root, 0, &first).unwrap();
    assert_tensor(&doc, "/0", ColumnType::I16, &[3], &[0; 6]);
    doc.doc().validate().unwrap();
}

#[test]
fn a_template_has_no_place_in_a_tensor() {
    let mut doc = json!({"id": 1});
    doc.set_pointer("/t", &Tensor::new(&[2], &[1.5f32, 2.5]).unwrap()).unwrap();
    for (place, kind) in [("/t/0", ErrorKind::TensorMismatch), ("/t", ErrorKind::WrongType)] {
        let error = livebuf::Template::new(&doc, &["/id", place]).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.detail()), (kind, 1));
    }
    let template = livebuf::Template::new(&doc, &["/id"]).unwrap();
    let stamped = template.stamp(&[7.into()]).unwrap();
    let bytes: Vec<u8> = [1.5f32, 2.5].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_tensor(&stamped, "/t", ColumnType::F32, &[2], &bytes);
}
