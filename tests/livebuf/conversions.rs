//! Columns that edits send from one encoding to another and back: a conversion is done once, so
//! that many edits together write little for each (EDITING 9).

use livebuf::{Date, DocBuf, New, NodeId, json};

/// Counts the bytes that edits write.
#[derive(Default)]
struct Written(u64);

impl livebuf::Listener for Written {
    fn will_change(&mut self, _: &[u8], _: u64, length: u64) {
        self.0 += length;
    }
}

const ROWS: usize = 20_000;
const EDITS: usize = 400;

/// Conversions of a whole column that a series of edits may need.
const CONVERSIONS: u64 = 2;
/// Bytes that a splice of a run may write (EDITING 9).
const EACH: u64 = 1 << 16;

/// Edits an array of so many rows again and again. All edits together write no more than a few
/// conversions, and a bound for each that does not grow with the rows.
fn bounce(name: &str, source: &DocBuf, each: u64, edit: impl Fn(&mut DocBuf, NodeId, usize)) {
    let mut doc = DocBuf::new().unwrap();
    doc.set_root(source.doc().root()).unwrap();
    let root = doc.root_id().unwrap();
    let before = doc.as_bytes().len() as u64;
    doc.listen(Written::default());
    let mut largest = before;
    for number in 0..EDITS {
        edit(&mut doc, root, number);
        largest = largest.max(doc.as_bytes().len() as u64);
    }
    doc.validate().unwrap();
    // A column that becomes cells takes nine bytes a slot, and its old place is wiped.
    let conversion = before + 20 * ROWS as u64;
    let most = CONVERSIONS * conversion + EDITS as u64 * each;
    let Written(written) = doc.stop_listening().unwrap();
    assert!(written <= most, "{name}: {written} bytes written, {most} allowed");
    assert!(largest <= 3 * conversion, "{name}: {largest} bytes, {before} before");
}

fn column<'v, N: Into<New<'v>>>(value: impl Fn(usize) -> N) -> DocBuf {
    let mut doc = DocBuf::new().unwrap();
    let root = doc.set_root(New::array(0)).unwrap().unwrap();
    for row in 0..ROWS {
        doc.push(root, value(row)).unwrap();
    }
    doc.compact().unwrap();
    doc
}

/// Sets one element to these values in turn.
fn turns<'v>(values: &'v [New<'v>]) -> impl Fn(&mut DocBuf, NodeId, usize) + 'v {
    move |doc, root, number| {
        doc.set(root, 5, values[number % values.len()]).unwrap();
    }
}

#[test]
fn a_column_is_not_converted_again_and_again() {
    let date = || New::from(Date::from_ymd(2026, 11, 26).unwrap());
    let long = "x".repeat(2_000);
    let few = 200;
    let numbers = column(|row| row as i64);
    bounce("integers, a float", &numbers, few, turns(&[New::Float(1.5), New::Int(7)]));
    bounce("integers, wider", &numbers, few, turns(&[New::Int(1 << 40), New::Int(7)]));
    let floats = column(|_| 1.5);
    bounce("floats, whole", &floats, few, turns(&[New::Float(2.0), New::Int(2)]));
    bounce("floats, null", &floats, few, turns(&[New::Null, New::Float(2.5)]));
    let mixed = column(|row| if row % 2 == 0 { New::Int(3) } else { New::Float(1.5) });
    bounce("numbers, text", &mixed, few, turns(&[New::Str("x"), New::Int(2)]));
    let dates = column(|_| date());
    bounce("dates, text", &dates, few, turns(&[New::Str("x"), date()]));
    let named = column(|row| ["first of two", "second of two"][row % 2]);
    bounce("names, long", &named, 5_000, turns(&[New::Str(&long), New::Str("first of two")]));
    bounce("names, new", &named, few, |doc, root, number| {
        doc.set(root, 5, format!("a new name {number}").as_str()).unwrap();
    });
    let texts: Vec<String> = (0..ROWS).map(|row| format!("text {row}")).collect();
    let texts = livebuf::to_doc(&texts).unwrap();
    bounce("a run, at its front", &texts, few, |doc, root, number| {
        doc.set(root, 5, &long[..number % 20]).unwrap();
    });
    bounce("a run, near its end", &texts, EACH, |doc, root, number| {
        doc.set(root, ROWS - 3_000, &long[..number % 20]).unwrap();
    });
    let alike: Vec<String> = (0..ROWS).map(|row| format!("text {row:06}")).collect();
    let alike = livebuf::to_doc(&alike).unwrap();
    bounce("texts of one length", &alike, few, |doc, root, number| {
        doc.set(root, ROWS - 1, &long[..10 + number % 2]).unwrap();
    });
    bounce("at its end", &alike, few, |doc, root, number| match number % 2 {
        0 => assert!(doc.pop(root).unwrap()),
        _ => drop(doc.push(root, "other").unwrap()),
    });
}

#[test]
fn a_table_and_a_map_are_not_converted_again_and_again() {
    let row = |row: usize| json!({"v": (row as i64), "w": 1}).to_vec();
    let rows: Vec<_> = (0..ROWS).map(row).map(|row| DocBuf::open(&row).unwrap()).collect();
    let rows = livebuf::to_doc(&rows).unwrap();
    assert!(rows.doc().stats().unwrap().table_count == 1);
    let values = [New::Int(1), New::Null, New::Float(1.5), New::Str("x"), New::Float(2.0)];
    bounce("a member of all kinds", &rows, 200, |doc, root, number| {
        let row = doc.find("/7").unwrap().unwrap();
        doc.set(row, "v", values[number % values.len()]).unwrap();
        assert!(doc.is_current(root));
    });
    let fields = [("v", New::Int(1)), ("w", New::Int(2))];
    for (name, other) in [("a row, null", New::Null), ("a row, a number", New::Int(5))] {
        bounce(name, &rows, 200, |doc, root, number| {
            let new = if number % 2 == 0 { other } else { New::Fields(&fields) };
            doc.set(root, 7, new).unwrap();
        });
    }
    let users: std::collections::BTreeMap<String, serde_json::Value> = (0..ROWS)
        .map(|row| (format!("user {row}"), serde_json::json!({"v": row, "w": 1})))
        .collect();
    let users = livebuf::to_doc(&users).unwrap();
    bounce("a member of a map", &users, 200, |doc, root, number| {
        let new = if number % 2 == 0 { New::Int(5) } else { New::Fields(&fields) };
        doc.set(root, "user 7", new).unwrap();
    });
    bounce("a member that comes and goes", &users, 5_000, |doc, root, number| match number % 2 {
        0 => assert!(doc.remove(root, "user 7").unwrap()),
        _ => drop(doc.set(root, "user 7", New::Fields(&fields)).unwrap()),
    });
}
