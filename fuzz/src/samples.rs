//! Small documents that together hold every kind of block: to be damaged.

use crate::changes::{self, Edit};
use crate::fresh::numbers;
use crate::input::{Input, Random};
use crate::tree::Tree;
use livebuf::{
    ColumnType, Date, DateTime, Decimal, DocBuf, Encoder, Extended, New, NodeId, RegionKind,
    Result, Tensor, Time, Timestamp, Uuid,
};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// A name and a document's bytes.
pub type Sample = (&'static str, Vec<u8>);

/// The documents; all valid.
///
/// # Panics
/// Where they cannot be made.
pub fn all() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(|| make().expect("sound"))
}

/// The log files of `testdata/logs`, sound ones and others.
///
/// # Panics
/// Where they cannot be read.
pub fn logs() -> &'static [Vec<u8>] {
    static LOGS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    LOGS.get_or_init(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/logs");
        let files = std::fs::read_dir(folder).expect("the folder of log files");
        let mut paths: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "lblog"));
        paths.sort();
        paths.iter().map(|path| std::fs::read(path).expect("readable")).collect()
    })
}

/// A value of which encoders make tables, lists, maps and many shapes, by a seed.
pub fn tree(seed: u64) -> Tree {
    let bytes = Random(seed).bytes(6_000);
    let mut input = Input::new(&bytes);
    let rows = 2 + input.below(24);
    let mut array = |value: &dyn Fn(&mut Input<'_>) -> Tree| {
        Tree::Array((0..rows).map(|_| value(&mut input)).collect())
    };
    match seed % 8 {
        0..3 => array(&|input| changes::object(input, 0)),
        3 => array(&|input| changes::object(input, 1)),
        4 => array(&|input| Tree::Array(vec![changes::object(input, 2); input.below(4)])),
        5 => array(&changes::fresh),
        6 => {
            let rows = array(&|input| changes::object(input, 1));
            let lists = array(&|input| Tree::Array(vec![Tree::Int(seed as i64); input.below(3)]));
            Tree::Object(
                vec![
                    ("rows".into(), rows),
                    ("kinds".into(), changes::kinds(&mut input)),
                    ("lists".into(), lists),
                    ("note".into(), Tree::String("a longer text of some length".into())),
                ],
                false,
            )
        }
        7 if seed % 16 == 15 => {
            let mut members: Vec<(String, Tree)> = (0..8 + rows)
                .map(|number| (format!("m{number}"), changes::object(&mut input, 1)))
                .collect();
            members.insert(rows, ("k".repeat(256), Tree::Null));
            Tree::Object(members, true)
        }
        _ => {
            let mut members: Vec<(String, Tree)> = (0..257 + rows)
                .map(|number| (format!("m{number}"), Tree::Int(number as i64)))
                .collect();
            members[7].1 = changes::object(&mut input, 0);
            members[9].1 = Tree::Array((0..rows).map(|_| changes::object(&mut input, 2)).collect());
            Tree::Object(members, true)
        }
    }
}

/// Rows of more than 255 keys, of which each row may lack some, alone or in an object.
pub fn wide_tree(input: &mut Input<'_>) -> Tree {
    let (rows, keys) = (2 + input.below(7), 256 + input.below(20));
    let kinds: Vec<usize> = (0..keys).map(|_| input.below(8)).collect();
    let lacking = input.below(3);
    let mut row = |number: usize| {
        let lacks: Vec<usize> = (0..lacking).map(|_| input.below(keys)).collect();
        let value = |(column, &kind): (usize, &usize)| match kind {
            0 if number.is_multiple_of(3) => Tree::Null,
            0 | 1 => Tree::String(["a", "a longer text", "b"][(number + column) % 3].into()),
            2 => Tree::Float((number as f64 / 3.0).to_bits()),
            3 => Tree::Array(vec![Tree::Int(number as i64); column % 3]),
            4 => Tree::Object(vec![("x".into(), Tree::Int(number as i64))], false),
            _ => Tree::Int((number * column) as i64),
        };
        let members = kinds.iter().enumerate().filter(|(column, _)| !lacks.contains(column));
        let members = members.map(|member| (format!("key {}", member.0), value(member)));
        Tree::Object(members.collect(), false)
    };
    let rows = Tree::Array((0..rows).map(&mut row).collect());
    // The keys of the rows once more, in an object by itself.
    let one = ("one".to_owned(), row(7));
    match input.one_in(3) {
        true => Tree::Object(vec![("rows".into(), rows), one, ("note".into(), Tree::Null)], false),
        false => rows,
    }
}

/// Such a document after some edits, and its value: with holes, gaps, extras, forwards
/// and free space.
///
/// # Panics
/// Where an edit fails or leaves the document invalid.
pub fn grown(seed: u64) -> (Tree, DocBuf) {
    let bytes = Random(!seed).bytes(2_000);
    let mut input = Input::new(&bytes);
    let mut tree = tree(seed / 2);
    let mut doc = if input.one_in(4) { tree.to_records() } else { tree.to_document() };
    for _ in 0..if seed.is_multiple_of(2) { 0 } else { 1 + input.below(16) } {
        if !tree.is_container() {
            break;
        }
        let path = changes::pick(&tree, &mut input);
        let edit = changes::choose(&tree, &path, &mut input);
        if matches!(edit, Edit::Root(_) | Edit::Compact) {
            continue;
        }
        changes::apply(&mut tree, &path, &edit);
        let done = changes::perform(&mut doc, &path, &edit, &mut |_| {});
        let valid = doc.doc().validate().map(drop);
        assert!(done.is_ok() && valid.is_ok(), "{path:?} {edit:?}: {done:?}, {valid:?}");
    }
    (tree, doc)
}

fn make() -> Result<Vec<Sample>> {
    let samples = vec![
        ("scalar", edited(|doc| doc.set_root("inline").map(drop))?),
        ("record", encoded(record)?),
        ("forwarded record", edited(forwarded_record)?),
        ("holes", edited(holes)?),
        ("shapes", encoded(shapes)?),
        ("edited shapes", edited(edited_shapes)?),
        ("small map", edited(small_map)?),
        ("large map", edited(large_map)?),
        ("small map with a tree", edited(|doc| ordered(doc, small_map))?),
        ("map with inner nodes", edited(|doc| ordered(doc, large_map))?),
        ("encoded map", encoded(encoded_map)?),
        ("map of rows", encoded(map_of_rows)?),
        ("edited map of rows", edited_map_of_rows()?),
        ("columns", encoded(columns)?),
        ("edited columns", edited(edited_columns)?),
        ("dictionaries", dictionaries()?),
        ("runs", runs()?),
        ("extended", extended()?),
        ("tensors", tensors()?),
        ("tables", encoded(tables)?),
        ("rows in orders", rows_in_orders()?),
        ("lists", encoded(lists)?),
        ("edited tables", edited_tables()?),
        ("empty", encoded(empty)?),
        ("free list", edited(free_list)?),
        ("text", encoded(text)?),
        ("nested", encoded(nested)?),
    ];
    let mut kinds = BTreeSet::new();
    for (name, bytes) in &samples {
        let doc = livebuf::Doc::open(bytes)?;
        doc.regions(|region| {
            kinds.insert(region.kind);
        })
        .unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
    assert_eq!(kinds.len(), RegionKind::SharedText as usize + 1, "every kind of block");
    Ok(samples)
}

fn encoded(with: fn(&mut Encoder) -> Result<()>) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new();
    with(&mut encoder)?;
    Ok(encoder.finish()?.to_vec())
}

fn edited(with: fn(&mut DocBuf) -> Result<()>) -> Result<Vec<u8>> {
    let mut doc = DocBuf::new()?;
    with(&mut doc)?;
    Ok(doc.to_vec())
}

fn root(doc: &mut DocBuf, new: New<'_>) -> Result<NodeId> {
    Ok(doc.set_root(new)?.expect("a container"))
}

fn record(encoder: &mut Encoder) -> Result<()> {
    encoder.begin_object()?;
    encoder.key("event")?;
    encoder.str("lap_complete")?;
    encoder.key("lap")?;
    encoder.i64(55)?;
    encoder.key("time_sec")?;
    encoder.f64(88.427)?;
    encoder.end_object()
}

fn forwarded_record(doc: &mut DocBuf) -> Result<()> {
    let root = root(doc, New::object(1))?;
    doc.set(root, "a", 1)?;
    let inner = doc.set(root, "inner", New::object(0))?.expect("a container");
    doc.set(root, "text", "to have something behind the record")?;
    for key in ["b", "c", "d", "e", "f", "a long key here"] {
        doc.set(root, key, 2)?;
        doc.set(inner, key, true)?;
    }
    Ok(())
}

fn holes(doc: &mut DocBuf) -> Result<()> {
    let root = root(doc, New::object(6))?;
    for key in ["a", "b", "c", "another key"] {
        doc.set(root, key, "nine byte")?;
    }
    doc.remove(root, "b")?;
    doc.remove(root, "another key").map(drop)
}

fn shapes(encoder: &mut Encoder) -> Result<()> {
    encoder.begin_array()?;
    for row in 0..5 {
        encoder.begin_object()?;
        encoder.key("id")?;
        encoder.i64(row)?;
        encoder.key("a long key shared")?;
        encoder.bool(row % 2 == 0)?;
        if row % 2 == 0 {
            encoder.key("only some")?;
            encoder.null()?;
        }
        if row == 4 {
            encoder.key("only one")?;
            encoder.null()?;
        }
        encoder.end_object()?;
    }
    encoder.end_array()
}

fn edited_shapes(doc: &mut DocBuf) -> Result<()> {
    let root = root(doc, New::array(3))?;
    for row in 0..3 {
        let object = doc.push(root, New::object(2))?.expect("a container");
        doc.set(object, "key", row)?;
        doc.set(object, "second key", row)?;
    }
    let odd = doc.child(root, 1usize)?.expect("a container");
    doc.rename(odd, "key", "renamed")?;
    doc.set(odd, "third", 0)?;
    Ok(())
}

fn small_map(doc: &mut DocBuf) -> Result<()> {
    let root = root(doc, New::Map { capacity: 3 })?;
    for key in ["b", "a", "a longer key", "a longer kez", ""] {
        doc.set(root, key, "value")?;
    }
    doc.remove(root, "a").map(drop)
}

fn large_map(doc: &mut DocBuf) -> Result<()> {
    let root = root(doc, New::Map { capacity: 0 })?;
    for number in 0..70 {
        doc.set(root, &*format!("k{}", number * 37 % 70), number)?;
    }
    for number in 3..9 {
        doc.remove(root, &*format!("k{number}"))?;
    }
    Ok(())
}

fn ordered(doc: &mut DocBuf, make: fn(&mut DocBuf) -> Result<()>) -> Result<()> {
    make(doc)?;
    doc.order(doc.root_id().expect("a container"))
}

fn encoded_map(encoder: &mut Encoder) -> Result<()> {
    encoder.begin_object()?;
    for length in [260usize, 9, 3] {
        encoder.key(&"k".repeat(length))?;
        encoder.i64(length as i64)?;
    }
    encoder.end_object()
}

/// Objects by their keys, one of which is too long for a record.
fn map_of(rows: i64) -> Tree {
    let key = |number| match number {
        3 => "k".repeat(256),
        4 => "a longer key".to_owned(),
        _ => format!("id{number}"),
    };
    Tree::Object((0..rows).map(|number| (key(number), row(number))).collect(), true)
}

fn map_of_rows(encoder: &mut Encoder) -> Result<()> {
    let rows = map_of(12).to_document();
    encoder.value(&rows.doc().root())
}

fn edited_map_of_rows() -> Result<Vec<u8>> {
    let mut doc = map_of(20).to_document();
    let root = doc.root_id().expect("an object");
    for number in [0, 1, 5, 12, 15, 16] {
        doc.remove(root, &*format!("id{number}"))?;
    }
    let row = doc.find("/id2")?.expect("a row");
    doc.set(row, "a further field", "with some text")?;
    Ok(doc.to_vec())
}

/// Rows with members in three orders, one of them longer than a cell holds, and edited ones.
fn rows_in_orders() -> Result<Vec<u8>> {
    let row = |number: usize| {
        let members = (0..9).map(|at| (format!("k{at}"), Tree::Int((number * at) as i64)));
        let mut members: Vec<_> = members.take(if number % 4 == 3 { 5 } else { 9 }).collect();
        match number % 3 {
            0 => members.reverse(),
            1 if number > 6 => members.rotate_left(2),
            _ => {}
        }
        Tree::Object(members, false)
    };
    let mut doc = Tree::Array((0..14).map(row).collect()).to_document();
    let rows = doc.root_id().expect("an array");
    doc.set(rows, 3usize, New::Null)?;
    doc.swap(rows, 1, 6)?;
    doc.push(rows, livebuf::json!({"k1": 1}).doc())?;
    let row = doc.find("/6")?.expect("a row");
    doc.set(row, "a further field", "with some text")?;
    doc.remove(row, "k1")?;
    Ok(doc.to_vec())
}

/// A float, or the integer that it is.
fn number(value: f64, float: bool) -> Tree {
    if float { Tree::Float(value.to_bits()) } else { Tree::Int(value as i64) }
}

fn columns(encoder: &mut Encoder) -> Result<()> {
    let ints = |list: &[i64]| Tree::Array(list.iter().map(|&int| Tree::Int(int)).collect());
    let floats =
        |list: &[f64]| Tree::Array(list.iter().map(|float| Tree::Float(float.to_bits())).collect());
    let numbers = |list: &[(f64, bool)]| {
        Tree::Array(list.iter().map(|&(value, float)| number(value, float)).collect())
    };
    let string = |text: &str| Tree::String(text.into());
    let arrays = vec![
        ints(&[-1, 127]),
        ints(&[-129, 5]),
        ints(&[-70_000]),
        ints(&[i64::MIN, i64::MAX]),
        ints(&[200, 0, 3]),
        ints(&[65_535]),
        ints(&[1 << 31]),
        Tree::Array(vec![Tree::Uint(u64::MAX), Tree::Int(1)]),
        floats(&[0.5, f64::NAN]),
        floats(&[0.1]),
        numbers(&[(1.0, false), (0.5, true), (2.0, false)]),
        numbers(&[(1.0, false), (0.1, true), (-0.0, true)]),
        numbers(&[(1.0, false), (1.0, true), (2.5, true)]),
        numbers(&[(1.0, false), (1.0, true), (0.1, true)]),
        Tree::Array(vec![Tree::Bool(true), Tree::Bool(false), Tree::Bool(true)]),
        Tree::Array(vec![string("a"), string("nine byte")]),
        Tree::Array(vec![Tree::Object(vec![("x".into(), Tree::Null)], false)]),
        Tree::Array(vec![Tree::Null, string("mixed, and long"), Tree::Int(3), Tree::Array(vec![])]),
    ];
    Tree::Array(arrays).encode(encoder)
}

fn edited_columns(doc: &mut DocBuf) -> Result<()> {
    let root = root(doc, New::object(4))?;
    let ints = doc.set(root, "ints", New::array(4))?.expect("a container");
    let moved = doc.set(root, "moved", New::array(0))?.expect("a container");
    let strings = doc.set(root, "strings", New::array(1))?.expect("a container");
    for number in 0..5 {
        doc.push(ints, number)?;
        doc.push(moved, number)?;
        doc.push(strings, "a longer text")?;
    }
    doc.push(ints, "widened")?;
    doc.insert(moved, 0, 0.5)?;
    doc.truncate(strings, 2)
}

/// Dictionaries by themselves, with gaps, in a table and in a list, some of them edited.
fn dictionaries() -> Result<Vec<u8>> {
    let texts = ["open", "closed for good", "held"];
    let text = |at: usize| Tree::String(texts[at % 3].into());
    let some = |at: usize| if at % 5 == 2 { Tree::Null } else { text(at) };
    let row = |at: usize| {
        let mut members = vec![("state".to_owned(), some(at))];
        if !at.is_multiple_of(4) {
            members.push(("other".to_owned(), text(at / 2)));
        }
        Tree::Object(members, false)
    };
    let list = |at: usize| Tree::Array((0..at % 3).map(text).collect());
    let arrays = vec![
        Tree::Array((0..9).map(text).collect()),
        Tree::Array((0..11).map(some).collect()),
        Tree::Array((0..10).map(row).collect()),
        Tree::Array((0..12).map(list).collect()),
        Tree::Array((0..8).map(text).collect()),
    ];
    let mut doc = Tree::Array(arrays).to_document();
    doc.set_pointer("/4/0", "a new text")?;
    doc.set_pointer("/4/-", "and another")?;
    doc.set_pointer("/2/3/state", "new, too")?;
    Ok(doc.to_vec())
}

/// Runs of different texts by themselves, with gaps, in a table and in a list, some of them edited.
fn runs() -> Result<Vec<u8>> {
    let text = |at: usize| Tree::String("run é".repeat(at % 4) + &at.to_string());
    let some = |at: usize| if at % 5 == 2 { Tree::Null } else { text(at) };
    let row = |at: usize| {
        let mut members = vec![("name".to_owned(), some(at))];
        if !at.is_multiple_of(4) {
            members.push(("other".to_owned(), text(at + 20)));
        }
        Tree::Object(members, false)
    };
    let list = |at: usize| Tree::Array((0..at % 3).map(|of| text(10 * at + of)).collect());
    let arrays = vec![
        Tree::Array((0..9).map(text).collect()),
        Tree::Array((0..11).map(some).collect()),
        Tree::Array((0..10).map(row).collect()),
        Tree::Array((0..12).map(list).collect()),
        Tree::Array((0..8).map(|at| Tree::String(format!("{at}, as long"))).collect()),
        Tree::Array((0..60).map(text).collect()),
        Tree::Array((0..10).map(|at| Tree::String(format!("2026-01-{:02}", at + 1))).collect()),
        Tree::Array(
            (0..30)
                .map(|at| match at % 7 {
                    3 => Tree::Null,
                    _ => Tree::String(format!("2026-01-{:02}T00:00:00Z", at + 1)),
                })
                .collect(),
        ),
    ];
    let mut doc = Tree::Array(arrays).to_document();
    doc.set_pointer("/4/0", "longer than the others")?;
    doc.set_pointer("/4/3", "")?;
    doc.set_pointer("/4/-", "and another")?;
    doc.set_pointer("/2/3/name", "new, too")?;
    doc.remove_pointer("/2/5")?;
    // Of one length, and left so.
    doc.set_pointer("/6/1", "2026-02-01")?;
    doc.set_pointer("/6/-", "2026-02-02")?;
    doc.set_pointer("/7/4", ())?;
    doc.remove_pointer("/7/9")?;
    Ok(doc.to_vec())
}

/// Dates, times, decimals and UUIDs by themselves, in columns with and without gaps, in a table and
/// in a list, some of them edited.
fn extended() -> Result<Vec<u8>> {
    let date = |at: usize| Date::from_days(20_000 + at as i32).expect("a date");
    let time = |at: usize| Time::from_microseconds(at as i64 * 1_234_567).expect("a time");
    let value = |kind: usize, at: usize| -> Tree {
        let local = DateTime::new(date(at), time(at));
        let value: Extended = match kind {
            0 => date(at).into(),
            1 => time(at).into(),
            2 => local.into(),
            3 => Timestamp::from_microseconds(local.microseconds()).expect("a moment").into(),
            4 => Decimal::new(at as i128 * 1999, 2).expect("a decimal").into(),
            5 => Decimal::new((at as i128) << 100, 30).expect("a decimal").into(),
            _ => Uuid::from_bytes([at as u8 + 1; 16]).into(),
        };
        Tree::Extended(value)
    };
    let some = |kind, at: usize| if at % 3 == 1 { Tree::Null } else { value(kind, at) };
    let row = |at: usize| {
        let mut members = vec![("id".to_owned(), value(6, at)), ("paid".to_owned(), some(4, at))];
        if !at.is_multiple_of(4) {
            members.push(("due".to_owned(), value(0, at)));
        }
        Tree::Object(members, false)
    };
    let list = |at: usize| Tree::Array((0..at % 3).map(|of| value(6, 10 * at + of)).collect());
    let mut arrays: Vec<Tree> =
        (0..7).map(|kind| Tree::Array((0..5).map(|at| value(kind, at)).collect())).collect();
    arrays.extend([0, 3, 6].map(|kind| Tree::Array((0..7).map(|at| some(kind, at)).collect())));
    arrays.push(Tree::Array((0..7).map(|kind| value(kind, kind)).collect()));
    arrays.push(Tree::Array((0..10).map(row).collect()));
    arrays.push(Tree::Array((0..12).map(list).collect()));
    arrays.push(Tree::Array((0..4).map(|at| value(6, at)).collect()));
    let mut doc = Tree::Array(arrays).to_document();
    doc.set_pointer("/6/1", Uuid::from_bytes([7; 16]))?;
    doc.set_pointer("/6/-", Uuid::from_bytes([8; 16]))?;
    doc.set_pointer("/13/2", "text, so all are cells")?;
    doc.set_pointer("/11/3/id", ())?;
    doc.remove_pointer("/11/5")?;
    Ok(doc.to_vec())
}

/// An object of a table: some fields of others are null or missing.
fn row(row: i64) -> Tree {
    let text = |text: &str| Tree::String(text.into());
    let inner = vec![
        ("x".into(), Tree::Float((row as f64 / 4.0).to_bits())),
        ("name".into(), text(if row % 2 == 0 { "a name" } else { "a longer name" })),
    ];
    let place = if row == 3 { Tree::Null } else { Tree::Object(inner, false) };
    let mixed = [Tree::Int(row), text("mixed, and long"), Tree::Array(vec![]), Tree::Null];
    let mut fields = vec![
        ("id".into(), Tree::Int(row * 300)),
        ("price".into(), number(row as f64 / 2.0, row % 2 > 0)),
        ("marked".into(), number(row as f64 / 2.0, row % 4 > 0)),
        ("place".into(), place),
        ("pair".into(), Tree::Array(vec![Tree::Int(row), Tree::Int(-row)])),
        ("tags".into(), Tree::Array(vec![text("tag"); row as usize % 3])),
        ("mixed".into(), mixed[row as usize % 4].clone()),
        ("nothing".into(), Tree::Null),
    ];
    if row % 3 > 0 {
        fields.push(("some".into(), Tree::Bool(row % 2 == 0)));
    }
    if row % 4 > 0 {
        fields.push(("both".into(), if row % 4 == 1 { Tree::Null } else { Tree::Int(1) }));
    }
    Tree::Object(fields, false)
}

fn tables(encoder: &mut Encoder) -> Result<()> {
    Tree::Array((0..12).map(row).collect()).encode(encoder)
}

fn lists(encoder: &mut Encoder) -> Result<()> {
    let object = |value| Tree::Object(vec![("a key".into(), Tree::Int(value))], false);
    let list = |row: i64| Tree::Array((0..row % 5).map(object).collect());
    Tree::Array((0..10).map(list).collect()).encode(encoder)
}

fn edited_tables() -> Result<Vec<u8>> {
    let mut doc = Tree::Array((0..12).map(row).collect()).to_document();
    let root = doc.root_id().expect("an array");
    let [first, second, third] = [0usize, 1, 2].map(|index| doc.child(root, index));
    let (first, second) = (first?.expect("a row"), second?.expect("a row"));
    doc.set(first, "a further field", "with some text")?;
    doc.set(second, "a further field", 1)?;
    doc.set(third?.expect("a row"), "k".repeat(300).as_str(), ())?;
    doc.set(first, "id", "text for a number")?;
    doc.remove(second, "id")?;
    let fresh = row(7).to_document();
    doc.push(root, fresh.doc().root())?;
    doc.remove(root, 5usize)?;
    let pair = doc.find("/0/pair")?.expect("an array");
    doc.push(pair, 3)?;
    Ok(doc.to_vec())
}

fn empty(encoder: &mut Encoder) -> Result<()> {
    encoder.begin_array()?;
    encoder.begin_array()?;
    encoder.end_array()?;
    encoder.begin_object()?;
    encoder.end_object()?;
    encoder.str("")?;
    encoder.end_array()
}

fn free_list(doc: &mut DocBuf) -> Result<()> {
    let root = root(doc, New::array(8))?;
    for length in [100, 8, 200, 16, 64, 9] {
        doc.push(root, &*"x".repeat(length))?;
    }
    doc.push(root, New::object(3))?;
    doc.push(root, "last")?;
    for index in [0usize, 2, 4, 6] {
        doc.set(root, index, ())?;
    }
    Ok(())
}

/// Tensors by themselves, in a table with gaps, and in a list, one of them edited.
fn tensors() -> Result<Vec<u8>> {
    let tensor = |column, shape: &[u32], at: usize| {
        let seed = [at as u8 + 1; 8];
        Tree::Tensor(Box::new(numbers(&mut Input::new(&seed), column, shape.to_vec())))
    };
    let row = |at: usize| {
        let pair = match at % 4 {
            1 => Tree::Null,
            _ => tensor(ColumnType::F32, &[2], at),
        };
        let image = ("image".to_owned(), tensor(ColumnType::U8, &[2, 2, 3], at));
        Tree::Object(vec![("pair".to_owned(), pair), image], false)
    };
    let arrays = vec![
        tensor(ColumnType::F16, &[3], 0),
        tensor(ColumnType::Bool8, &[2, 5], 1),
        tensor(ColumnType::I64, &[0, 2], 2),
        Tree::Array((0..6).map(row).collect()),
        Tree::Array((0..5).map(|at| tensor(ColumnType::I16, &[3], at)).collect()),
    ];
    let mut doc = Tree::Array(arrays).to_document();
    doc.set_pointer("/0/1", 0.5)?;
    doc.set_pointer("/3/2/image/1/1/2", 7)?;
    doc.set_pointer("/3/4/pair", ())?;
    doc.set_pointer("/4/-", &Tensor::new(&[3], &[1i16, 2, 3])?)?;
    Ok(doc.to_vec())
}

fn text(encoder: &mut Encoder) -> Result<()> {
    encoder.begin_array()?;
    encoder.str("inline")?;
    encoder.str("owned text here, é√")?;
    encoder.str("shared text")?;
    encoder.str("shared text")?;
    encoder.bytes(b"bytes \xFF\xFE that are no text")?;
    encoder.bytes(b"\xFF")?;
    encoder.number_text("123456789012345678901234567890")?;
    encoder.number_text("1e400")?;
    encoder.end_array()
}

fn nested(encoder: &mut Encoder) -> Result<()> {
    for _ in 0..6 {
        encoder.begin_object()?;
        encoder.key("down")?;
        encoder.begin_array()?;
    }
    encoder.null()?;
    for _ in 0..6 {
        encoder.end_array()?;
        encoder.end_object()?;
    }
    Ok(())
}
