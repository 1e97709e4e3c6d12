//! Tables whose rows have their members in orders of their own.

use livebuf::{ColumnType, DocBuf, New, NodeId};
use livebuf_fuzz::input::Random;
use livebuf_fuzz::tree::Tree;

/// A row with most of a few members, in one of a few orders.
fn row(random: &mut Random, keys: &[&str]) -> Tree {
    let number = random.below(1000) as i64;
    let value = |at: usize| match at % 4 {
        0 => Tree::Int(number),
        1 => Tree::String(format!("a text of some length {}", number % 9)),
        2 if keys[at] == LIST => Tree::Array(vec![Tree::Int(number), Tree::Int(7)]),
        2 => Tree::Bool(number % 2 == 0),
        _ => Tree::Float((number as f64 / 2.0).to_bits()),
    };
    let all = keys.iter().enumerate().map(|(at, key)| ((*key).to_owned(), value(at)));
    let mut members: Vec<_> = all.filter(|_| random.below(8) > 0).collect();
    match random.below(4) {
        0 => members.reverse(),
        1 if !members.is_empty() => members.rotate_left(1),
        _ => {}
    }
    Tree::Object(members, false)
}

/// A row, and whether an edit may have changed the order of its members.
type Row = (Tree, bool);

fn rows(random: &mut Random, count: usize, keys: &[&str]) -> Vec<Row> {
    (0..count).map(|_| (row(random, keys), false)).collect()
}

fn document(rows: &[Row]) -> DocBuf {
    Tree::Array(rows.iter().map(|row| row.0.clone()).collect()).to_document()
}

fn sorted(tree: &Tree) -> Tree {
    match tree {
        Tree::Object(members, is_map) => {
            let mut members = members.clone();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Tree::Object(members, *is_map)
        }
        other => other.clone(),
    }
}

fn check(doc: &DocBuf, rows: &[Row]) {
    let stored = Tree::of_valid(doc.valid().unwrap().root());
    let Tree::Array(stored) = stored else { panic!("no array") };
    assert_eq!(stored.len(), rows.len());
    for (at, (stored, (row, any_order))) in stored.iter().zip(rows).enumerate() {
        let same = if *any_order { sorted(stored).same(&sorted(row)) } else { stored.same(row) };
        assert!(same, "row {at}: {stored:?} for {row:?}");
    }
    let array = doc.valid().unwrap().root().as_array().unwrap();
    for (at, (row, any_order)) in rows.iter().enumerate() {
        let (Tree::Object(members, _), Some(value)) = (row, array.get(at)) else { continue };
        let object = value.as_object().unwrap();
        assert_eq!(object.len(), members.len());
        for (key, expected) in members {
            assert!(Tree::of_valid(object.get(key).unwrap()).same(expected));
        }
        if !*any_order {
            let backwards: Vec<_> = object.iter().rev().map(|member| member.0.to_owned()).collect();
            let expected: Vec<_> = members.iter().rev().map(|member| member.0.clone()).collect();
            assert_eq!(backwards, expected);
        }
    }
}

fn has_orders(doc: &DocBuf) -> bool {
    let array = doc.valid().unwrap().root().as_array().unwrap();
    array.table().is_some_and(|table| table.orders().is_some())
}

const LIST: &str = "list";
const KEYS: [&str; 5] = ["id", "a longer name", LIST, "score", "x"];
const FLAT: [&str; 5] = ["id", "a longer name", "flag", "score", "x"];

#[test]
fn are_read_as_they_came() {
    let long: Vec<_> = (0..120).map(|at| format!("key number {at}")).collect();
    let long: Vec<_> = long.iter().map(String::as_str).collect();
    for keys in [&KEYS[..], &KEYS[..2], &long[..], &long[..9]] {
        for seed in 0..8 {
            let rows = rows(&mut Random(seed), 30 + 300 * seed as usize % 900, keys);
            let doc = document(&rows);
            assert!(has_orders(&doc), "or this tests nothing");
            check(&doc, &rows);
            // Encoding the document's value gives the same bytes.
            let mut encoder = livebuf::Encoder::new();
            encoder.value(&doc.doc().root()).unwrap();
            assert!(encoder.finish().unwrap().as_bytes() == doc.as_bytes());
        }
    }
}

#[test]
fn more_columns_than_a_byte_of_text_names_have_one_order() {
    let keys: Vec<_> = (0..129).map(|at| format!("key {at}")).collect();
    let keys: Vec<_> = keys.iter().map(String::as_str).collect();
    let rows = rows(&mut Random(1), 40, &keys);
    let doc = document(&rows);
    assert!(!has_orders(&doc));
    check(&doc, &rows);
}

fn root(doc: &DocBuf) -> NodeId {
    doc.root_id().unwrap()
}

fn step(doc: &mut DocBuf, rows: &mut Vec<Row>, keys: &[&str], random: &mut Random) {
    let array = root(doc);
    let at = random.below(rows.len());
    let key = keys[random.below(keys.len())];
    match random.below(12) {
        0 => {
            let fresh = row(random, keys);
            let other = fresh.to_document();
            doc.insert(array, at, other.doc()).unwrap();
            rows.insert(at, (fresh, true));
        }
        1 => {
            let fresh = row(random, keys);
            let other = fresh.to_document();
            doc.push(array, other.doc()).unwrap();
            rows.push((fresh, true));
        }
        2 if rows.len() > 8 => {
            doc.remove(array, at).unwrap();
            rows.remove(at);
        }
        // Where there are lists, rows that change places become objects by themselves.
        3 | 4 if !keys.contains(&LIST) => {
            let other = random.below(rows.len());
            doc.swap(array, at, other).unwrap();
            rows.swap(at, other);
        }
        5..=7 => {
            let Tree::Object(members, _) = &mut rows[at].0 else { return };
            let node = doc.child(array, at).unwrap().unwrap();
            let value = random.below(2000) as i64;
            doc.set(node, key, value).unwrap();
            match members.iter_mut().find(|member| member.0 == key) {
                Some(member) => member.1 = Tree::Int(value),
                None => {
                    members.push((key.to_owned(), Tree::Int(value)));
                    rows[at].1 = true;
                }
            }
        }
        8 => {
            let Tree::Object(members, _) = &mut rows[at].0 else { return };
            let node = doc.child(array, at).unwrap().unwrap();
            assert_eq!(doc.remove(node, key).unwrap(), members.iter().any(|m| m.0 == key));
            members.retain(|member| member.0 != key);
        }
        9 => {
            let Tree::Object(members, _) = &mut rows[at].0 else { return };
            let node = doc.child(array, at).unwrap().unwrap();
            // Further members come last.
            let more = format!("more {}", random.below(3));
            if members.iter().all(|member| member.0 != more) {
                doc.set(node, more.as_str(), true).unwrap();
                members.push((more, Tree::Bool(true)));
            }
        }
        10 => {
            let fresh = row(random, keys);
            let other = fresh.to_document();
            doc.set(array, at, other.doc()).unwrap();
            rows[at] = (fresh, true);
        }
        _ => {
            doc.set(array, at, New::Null).unwrap();
            rows[at] = (Tree::Null, false);
        }
    }
}

#[test]
fn stay_with_their_rows() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let keys = if seed % 2 == 0 { &FLAT } else { &KEYS };
        let mut rows = rows(&mut random, 20 + seed as usize, keys);
        let mut doc = document(&rows);
        assert!(has_orders(&doc), "or this tests nothing");
        for _ in 0..60 {
            step(&mut doc, &mut rows, keys, &mut random);
            check(&doc, &rows);
        }
        assert!(has_orders(&doc), "or this tests less");
        // Another document gets them by columns, or a row by itself.
        let mut other = DocBuf::new().unwrap();
        other.set_root(doc.doc()).unwrap();
        check(&other, &rows);
        // Rows by themselves keep their order.
        let array = root(&doc);
        doc.push(array, "no object").unwrap();
        rows.push((Tree::String("no object".to_owned()), false));
        assert_ne!(
            doc.valid().unwrap().root().as_array().unwrap().column_type(),
            ColumnType::Struct
        );
        check(&doc, &rows);
    }
}
