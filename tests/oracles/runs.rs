//! Runs of texts: edited as a plain list is, in few bytes, and given up once at most.

use livebuf::{Column, DocBuf, New, NodeId, Storage, Valid};
use livebuf_fuzz::input::Random;
use livebuf_fuzz::shadow::{Shadow, shadow};
use livebuf_fuzz::tree::Tree;

type Model = Vec<Option<String>>;

/// Texts that differ, of up to `longest` bytes or so.
fn text(random: &mut Random, longest: usize) -> String {
    let length = random.below(longest + 1);
    let parts = ["a", "é", "日", "zz"];
    (0..length).map(|_| parts[random.below(parts.len())]).collect()
}

fn value(text: &Option<String>) -> Tree {
    text.clone().map_or(Tree::Null, Tree::String)
}

fn new(text: &Option<String>) -> New<'_> {
    text.as_deref().map_or(New::Null, New::Str)
}

/// The texts by themselves, as members of rows, and as members of objects in rows.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Array,
    Rows,
    Inner,
}

impl Shape {
    fn element(self, index: usize, text: &Option<String>) -> Tree {
        let row = |value| Tree::Object(vec![("text".into(), value)], false);
        match self {
            Shape::Array => value(text),
            Shape::Rows => Tree::Object(
                vec![("n".into(), Tree::Int(index as i64)), ("text".into(), value(text))],
                false,
            ),
            Shape::Inner => Tree::Object(vec![("in".into(), row(value(text)))], false),
        }
    }

    fn document(self, model: &Model) -> DocBuf {
        let elements = model.iter().enumerate().map(|(index, text)| self.element(index, text));
        Tree::Array(elements.collect()).to_document()
    }

    fn column<'a>(self, doc: &'a DocBuf) -> Option<Column<'a, Valid>> {
        let array = doc.valid().unwrap().root().as_array().unwrap();
        match self {
            Shape::Array => Some(array.as_column()),
            Shape::Rows => array.table()?.column("text"),
            Shape::Inner => array.table()?.column(&["in", "text"]),
        }
    }

    fn set(self, doc: &mut DocBuf, root: NodeId, at: usize, to: New<'_>) {
        match self {
            Shape::Array => doc.set(root, at, to).unwrap(),
            Shape::Rows => doc.set_pointer(&format!("/{at}/text"), to).unwrap(),
            Shape::Inner => doc.set_pointer(&format!("/{at}/in/text"), to).unwrap(),
        };
    }
}

fn observed(doc: &DocBuf) -> DocBuf {
    let mut copy = DocBuf::new().unwrap();
    Shadow::listen(&mut copy);
    copy.set_root(doc.doc().root()).unwrap();
    copy
}

fn is_run(shape: Shape, doc: &DocBuf) -> bool {
    shape.column(doc).is_some_and(|column| column.run().is_some())
}

fn check(shape: Shape, doc: &DocBuf, model: &Model) {
    let copy = doc.listener::<Shadow>().unwrap().copy(doc.storage().bytes());
    assert!(copy[..doc.as_bytes().len()] == *doc.as_bytes(), "the write hook told of all");
    doc.doc().validate().expect("an edited document is valid");
    let Some(column) = shape.column(doc) else { return assert!(model.is_empty()) };
    let texts: Vec<_> = column.strs().map(|text| text.map(str::to_owned)).collect();
    assert_eq!(texts, *model);
    if let Some(wanted) = model.iter().flatten().next() {
        let first = model.iter().position(|text| text.as_ref() == Some(wanted));
        assert_eq!(column.find(wanted.as_str()), first);
    }
}

#[test]
fn any_edits_of_runs() {
    let (mut kept, seeds) = (0, 400);
    for seed in 0..seeds {
        let mut random = Random(seed);
        let shape = [Shape::Array, Shape::Rows, Shape::Inner][random.below(3)];
        let longest = [3, 12, 40, 300][random.below(4)];
        // One in so many is null; 0: none.
        let nulls = [0, 0, 4, 2][random.below(4)];
        // All of one length, but for a few that are set later.
        let fixed = random.below(3) == 0;
        let text = |random: &mut Random, longest: usize| match fixed && random.below(200) > 0 {
            true => format!("{:0longest$}", random.below(1_000)),
            false if fixed => text(random, 200),
            false => text(random, longest),
        };
        let mut model: Model = (0..8 + random.below(60))
            .map(|_| {
                Some(text(&mut random, longest)).filter(|_| nulls == 0 || random.below(nulls) > 0)
            })
            .collect();
        let mut doc = observed(&shape.document(&model));
        let root = doc.root_id().unwrap();
        let began = is_run(shape, &doc);
        for step in 0..120 {
            let (count, other) = (model.len(), random.below(model.len().max(1)));
            let at = random.below(count.max(1));
            let fresh = Some(text(&mut random, longest))
                .filter(|_| nulls == 0 || random.below(nulls + 2) > 0);
            match random.below(8) {
                0 | 1 if count > 0 => {
                    shape.set(&mut doc, root, at, new(&fresh));
                    model[at] = fresh;
                }
                // Of the same length.
                2 if count > 0 => {
                    let same = model[at].as_ref().map(|text| "=".repeat(text.len()));
                    shape.set(&mut doc, root, at, new(&same));
                    model[at] = same;
                }
                3 | 4 => {
                    let at = if random.below(2) == 0 { count } else { at.min(count) };
                    let element = shape.element(step, &fresh).to_document();
                    doc.insert(root, at, element.doc().root()).unwrap();
                    model.insert(at, fresh);
                }
                5 if count > 1 => {
                    doc.remove(root, at).unwrap();
                    model.remove(at);
                }
                6 if count > 0 => {
                    doc.swap(root, at, other).unwrap();
                    model.swap(at, other);
                }
                // Out, and in again at the end.
                7 if count > 1 => {
                    let taken = doc.detach(root, at).unwrap().expect("an element");
                    doc.push(root, &taken).unwrap();
                    let moved = model.remove(at);
                    model.push(moved);
                }
                _ => {}
            }
            check(shape, &doc, &model);
        }
        kept += u64::from(began && is_run(shape, &doc));
        let again = doc.doc().compacted().unwrap();
        assert_eq!(
            Tree::of_valid(again.valid().unwrap().root()),
            Tree::of_valid(doc.valid().unwrap().root())
        );
    }
    assert!(kept > seeds / 3, "{kept} of {seeds} ended as runs");
}

fn numbered(count: usize, length: usize) -> Model {
    (0..count).map(|at| Some(format!("{at:0length$}"))).collect()
}

/// A text of the same length is written in its place. Another length moves what is behind it, at
/// most 64 KiB and as many ends, and now and then the run to a larger place.
#[test]
fn texts_of_runs_are_set_in_few_bytes() {
    let mut doc = observed(&Shape::Rows.document(&numbered(2_000, 30)));
    let root = doc.root_id().unwrap();
    let mut set = |at: usize, to: &str| {
        shadow(&mut doc).reported = 0;
        Shape::Rows.set(&mut doc, root, at, New::Str(to));
        shadow(&mut doc).reported
    };
    assert!(set(7, &"x".repeat(30)) <= 30 + 16);
    assert!(set(1_000, &"y".repeat(29)) <= 2 * (30_000 + 4 * 1_000));
    assert!(set(1_999, &"z".repeat(29)) <= 128);
    assert!(set(1_990, "longer than all others, by much") <= 512);
    assert!(is_run(Shape::Rows, &doc));
}

/// What would move too many bytes makes the run text cells, once.
#[test]
fn a_run_is_given_up_once() {
    let mut doc = observed(&Shape::Array.document(&numbered(5_000, 40)));
    let root = doc.root_id().unwrap();
    let used = doc.as_bytes().len();
    shadow(&mut doc).reported = 0;
    let mut model = numbered(5_000, 40);
    for step in 0..400 {
        // At the front and at the end, shorter and longer, as a text and as null.
        let at = if step % 2 == 0 { step } else { 4_999 - step };
        let to = [Some("short".to_owned()), None, Some("q".repeat(90))][step % 3].clone();
        Shape::Array.set(&mut doc, root, at, new(&to));
        model[at] = to;
    }
    check(Shape::Array, &doc, &model);
    assert!(!is_run(Shape::Array, &doc));
    let reported = shadow(&mut doc).reported;
    assert!(reported < 6 * used, "{reported} bytes for 400 edits of {used}");
}

/// Found by a review: the room that an edit had made for a long text was given back by the same
/// edit.
#[test]
fn few_texts_of_one_length_get_a_long_text() {
    let mut model = numbered(100, 10);
    let mut doc = observed(&Shape::Array.document(&model));
    let root = doc.root_id().unwrap();
    for (at, text) in model.iter_mut().enumerate().take(90) {
        Shape::Array.set(&mut doc, root, at, New::Null);
        *text = None;
    }
    let long = Some("x".repeat(500));
    doc.insert(root, 100, new(&long)).unwrap();
    model.push(long.clone());
    check(Shape::Array, &doc, &model);
    Shape::Array.set(&mut doc, root, 3, new(&long));
    model[3] = long;
    check(Shape::Array, &doc, &model);
    assert!(is_run(Shape::Array, &doc));
}

/// Found by a review: each element of an array that was set to null moved the whole run.
#[test]
fn arrays_of_texts_are_emptied_at_once() {
    let list = |row: usize| {
        let texts =
            (0..1_000).map(|at| Tree::String("ab".repeat(at % 9) + &(row * at).to_string()));
        Tree::Array(texts.collect())
    };
    let row = |at: usize| Tree::Object(vec![("a".into(), list(at))], false);
    let mut doc = observed(&Tree::Array((0..20).map(row).collect()).to_document());
    let column = doc.valid().unwrap().root().as_array().unwrap().table().unwrap().column("a");
    assert!(column.unwrap().elements().is_some_and(|texts| texts.run().is_some()));
    let used = doc.as_bytes().len();
    shadow(&mut doc).reported = 0;
    doc.set_pointer("/0/a", New::Null).unwrap();
    assert!(shadow(&mut doc).reported < 2 * used, "{} bytes", shadow(&mut doc).reported);
    doc.doc().validate().unwrap();
    assert_eq!(doc.pointer("/19/a/999").unwrap().unwrap().as_str().unwrap(), Some("18981"));
}

/// Near texts are exchanged in their run, far ones make it cells.
#[test]
fn texts_of_runs_change_places() {
    let mut model = numbered(5_000, 40);
    model[1] = Some("of another length".into());
    let mut doc = observed(&Shape::Array.document(&model));
    let root = doc.root_id().unwrap();
    for (a, b) in [(1, 700), (0, 1), (4_000, 3_999)] {
        doc.swap(root, a, b).unwrap();
        model.swap(a, b);
        assert!(is_run(Shape::Array, &doc));
        check(Shape::Array, &doc, &model);
    }
    doc.swap(root, 2, 4_500).unwrap();
    model.swap(2, 4_500);
    assert!(is_run(Shape::Array, &doc), "they are equally long");
    doc.swap(root, 700, 4_000).unwrap();
    model.swap(700, 4_000);
    check(Shape::Array, &doc, &model);
    assert!(!is_run(Shape::Array, &doc));
}

/// A copy of a part of a run has its texts alone.
#[test]
fn arrays_of_lists_take_their_texts_with_them() {
    let list = |at: usize| {
        let texts = (0..8 + at % 3).map(|of| Tree::String(format!("{at} é {}", "x".repeat(of))));
        Tree::Array(texts.collect())
    };
    let doc = Tree::Array((0..20).map(list).collect()).to_document();
    let lists = doc.valid().unwrap().root().as_array().unwrap();
    assert!(lists.as_column().elements().is_some_and(|texts| texts.run().is_some()));
    for (at, value) in lists.iter().enumerate() {
        let mut copy = DocBuf::new().unwrap();
        copy.set_root(doc.get(at).unwrap().unwrap()).unwrap();
        copy.doc().validate().expect("a copy is valid");
        assert_eq!(Tree::of_valid(copy.valid().unwrap().root()), list(at));
        assert!(value.as_array().unwrap().as_column().run().is_some());
        assert!(copy.valid().unwrap().root().as_array().unwrap().as_column().run().is_some());
    }
}

/// A run's list is none of the columns that may lie in one another, so it lies below the last one.
#[test]
fn runs_lie_below_as_many_columns_as_there_may_be() {
    let row = |at: usize| {
        let text = Tree::String(format!("a text of row {at}"));
        (0..16).fold(text, |value, _| Tree::Object(vec![("in".into(), value)], false))
    };
    let tree = Tree::Array((0..20).map(row).collect());
    let doc = tree.to_document();
    doc.doc().validate().expect("a valid document");
    let table = doc.valid().unwrap().root().as_array().unwrap().table().unwrap();
    assert!(table.column(&["in"; 16]).unwrap().run().is_some());
    assert_eq!(Tree::of_valid(observed(&doc).valid().unwrap().root()), tree);
    let mut doc = observed(&doc);
    doc.set_pointer(&format!("/3{}", "/in".repeat(16)), "another text").unwrap();
    doc.doc().validate().unwrap();
}
