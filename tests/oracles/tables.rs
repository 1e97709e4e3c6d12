//! Tables: edited as any array, never much larger than without, written in few bytes.

use livebuf::Editor;
use livebuf_fuzz::changes;
use livebuf_fuzz::input::{Input, Random};
use livebuf_fuzz::tables;
use livebuf_fuzz::tree::Tree;

#[test]
fn edits_of_tables() {
    let seeds = 300;
    let mut met = tables::Met::default();
    let mut with_tables = 0;
    for seed in 0..seeds {
        let mut data = Random(seed).bytes(2_000);
        data[0] = seed as u8;
        let one = tables::run(&data);
        with_tables += u64::from(one.tables);
        met.good += one.good;
        met.stale += one.stale;
        met.steps += one.steps;
    }
    assert!(with_tables > seeds / 2, "{with_tables} of {seeds} documents have tables");
    let tables::Met { good, stale, steps, .. } = met;
    assert!(good > 5_000, "{steps} steps, handles: {good} good, {stale} stale");
}

/// The same with more than 255 columns.
#[test]
fn edits_of_wide_tables() {
    let seeds = 20;
    let (mut with_tables, mut steps) = (0, 0);
    for seed in 0..seeds {
        let met = tables::run_wide(&Random(seed).bytes(1_500));
        with_tables += u64::from(met.tables);
        steps += met.steps;
    }
    assert!(with_tables > seeds / 2, "{with_tables} of {seeds} documents have tables");
    assert!(steps > 500, "{steps} steps");
}

/// The cost rule: never more than 5 % larger than without tables.
#[test]
fn tables_are_never_much_larger() {
    for seed in 0..3_000 {
        let bytes = Random(seed).bytes(16 << 10);
        let mut input = Input::new(&bytes);
        let rows = input.below(30);
        let tree = match input.below(3) {
            0 => Tree::Array((0..rows).map(|_| changes::fresh(&mut input)).collect()),
            1 => Tree::Array((0..rows).map(|_| changes::object(&mut input, 1)).collect()),
            _ => Tree::Array((0..rows).map(|_| changes::object(&mut input, 0)).collect()),
        };
        let [with, without] =
            [tree.to_document(), tree.to_records()].map(|doc| doc.as_bytes().len());
        assert!(
            with as f64 <= 1.05 * without as f64 + 64.0,
            "seed {seed}: {with} bytes with tables, {without} without"
        );
    }
}

/// Counts the bytes written.
#[derive(Default)]
struct Written(u64);

impl livebuf::Listener for Written {
    fn will_change(&mut self, _: &[u8], _: u64, length: u64) {
        self.0 += length;
    }
}

/// Amortized: pushing a row writes a constant, whatever the count of rows; setting a
/// field writes its value.
#[test]
fn edits_write_few_bytes() {
    let row = |number: i64| {
        let text = |text: &str| Tree::String(text.into());
        let place = vec![("x".to_owned(), Tree::Int(number)), ("y".to_owned(), Tree::Int(1))];
        Tree::Object(
            vec![
                ("id".into(), Tree::Int(number % 100)),
                ("name".into(), text("name")),
                ("on".into(), Tree::Bool(true)),
                ("place".into(), Tree::Object(place, false)),
                ("tags".into(), Tree::Array(vec![Tree::Int(1); number as usize % 3])),
            ],
            false,
        )
    };
    let bytes = Tree::Array((0..100).map(row).collect()).to_document().to_vec();
    let storage = livebuf::VecStorage::from_slice(&bytes).unwrap();
    let mut doc = Editor::open_unvalidated(storage).unwrap();
    doc.validate().unwrap();
    doc.listen(Written::default());
    let written =
        |doc: &mut livebuf::DocBuf| std::mem::take(doc.listener_mut::<Written>().unwrap()).0;
    let root = doc.root_id().unwrap();
    let mut pushed = Vec::new();
    for number in 100..20_000 {
        let fresh = row(number).to_document();
        doc.push(root, fresh.doc().root()).unwrap();
        if (number + 1) % 5_000 == 0 {
            pushed.push(written(&mut doc));
        }
    }
    // 5,000 rows of some 40 bytes and 60 of counts; columns that move are written again.
    for bytes in pushed {
        assert!(bytes < 5_000 * 400, "{bytes} bytes written for 5,000 rows");
    }
    assert!(doc.doc().stats().unwrap().table_count >= 2, "still a table");
    let some = doc.child(root, 12_345usize).unwrap().unwrap();
    doc.set(some, "id", 7).unwrap();
    doc.set(some, "on", false).unwrap();
    let bytes = written(&mut doc);
    assert!(bytes <= 16, "{bytes} bytes written");
    doc.set(some, "a further field", 1).unwrap();
    let bytes = written(&mut doc);
    assert!(bytes < 512, "{bytes} bytes written");
}
