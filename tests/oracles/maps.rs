//! Maps of similar objects, whose values are rows of a table: edited as a plain list of members is.

use livebuf::{ColumnType, Detached, DocBuf, ErrorKind, New, NodeId, json};
use livebuf_fuzz::input::Random;
use livebuf_fuzz::tree::Tree;

type Members = Vec<(String, Tree)>;

fn member(key: &str, value: Tree) -> (String, Tree) {
    (key.to_owned(), value)
}

/// A row with a number, text, a list and a nested object, some of which may be missing or null.
fn row(random: &mut Random) -> Tree {
    let number = random.below(200) as i64;
    let text = ["", "short", "a text that is longer than seven", "Zürich"][random.below(4)];
    let mut members = vec![member("n", Tree::Int(number))];
    if random.below(8) > 0 {
        members.push(member("name", Tree::String(format!("{text}{}", number % 7))));
    }
    let list = (0..random.below(4)).map(|n| Tree::Int(n as i64)).collect();
    members.push(member("list", if random.below(9) == 0 { Tree::Null } else { Tree::Array(list) }));
    // Lists and texts of one length, and lists within those.
    let pair = |from: i64| Tree::Array(vec![Tree::Int(from), Tree::Int(-from)]);
    members.push(member("pair", pair(number)));
    members.push(member("pairs", Tree::Array(vec![pair(number), pair(number + 1)])));
    members.push(member("code", Tree::String(format!("c{:09}", random.below(1_000_000_000)))));
    if random.below(3) > 0 {
        let inner = vec![member("x", Tree::Float((number as f64 / 4.0).to_bits()))];
        members.push(member("in", Tree::Object(inner, false)));
    }
    Tree::Object(members, false)
}

fn key(random: &mut Random) -> String {
    match random.below(3) {
        0 => format!("k{}", random.below(1000)),
        _ => format!("a key of some length {}", random.below(1000)),
    }
}

fn members(random: &mut Random, count: usize) -> Members {
    let mut members = Members::new();
    while members.len() < count {
        let key = key(random);
        if members.iter().all(|(other, _)| *other != key) {
            members.push((key, row(random)));
        }
    }
    members
}

/// The document of a map by itself, or within an object, or within rows.
fn document(members: &Members, within: usize) -> (DocBuf, &'static str) {
    let map = Tree::Object(members.clone(), true);
    let (tree, pointer) = match within {
        0 => (map, ""),
        1 => {
            (Tree::Object(vec![member("before", Tree::Int(1)), member("map", map)], false), "/map")
        }
        _ => {
            let row =
                |map| Tree::Object(vec![member("id", Tree::Int(7)), member("map", map)], false);
            (Tree::Array(vec![row(Tree::Null), row(map), row(Tree::Null)]), "/1/map")
        }
    };
    (tree.to_document(), pointer)
}

fn stored(doc: &DocBuf, pointer: &str) -> Tree {
    let valid = doc.doc().validate().unwrap();
    Tree::of_valid(valid.pointer(pointer).unwrap())
}

fn has_rows(doc: &DocBuf, pointer: &str) -> bool {
    let valid = doc.valid().unwrap();
    valid.pointer(pointer).unwrap().as_object().unwrap().table().is_some()
}

/// The same values, whatever objects are stored as.
fn same(stored: &Tree, members: &Members) -> bool {
    stored.same(&Tree::Object(members.clone(), true))
}

struct Edits {
    doc: DocBuf,
    pointer: &'static str,
    members: Members,
    detached: Vec<(Detached, Tree)>,
}

impl Edits {
    fn map(&self) -> NodeId {
        self.doc.find(self.pointer).unwrap().unwrap()
    }

    fn step(&mut self, random: &mut Random) {
        let map = self.map();
        let count = self.members.len();
        let at = random.below(count.max(1));
        let fresh = |members: &Members, random: &mut Random| loop {
            let key = key(random);
            if members.iter().all(|(other, _)| *other != key) {
                break key;
            }
        };
        match random.below(16) {
            0..=2 => {
                let (key, value) = (fresh(&self.members, random), row(random));
                let other = Tree::Array(vec![value.clone()]).to_document();
                let new = other.doc().root().get(0).unwrap().unwrap();
                self.doc.set(map, key.as_str(), new).unwrap();
                self.members.push((key, value));
            }
            3..=6 if count > 0 => {
                assert!(self.doc.remove(map, self.members[at].0.as_str()).unwrap());
                self.members.remove(at);
            }
            7 if count > 0 => {
                let value = row(random);
                let other = value.to_document();
                self.doc.set(map, self.members[at].0.as_str(), other.doc()).unwrap();
                self.members[at].1 = value;
            }
            8 if count > 0 && random.below(6) == 0 => {
                let number = random.below(9) as i64;
                self.doc.set(map, self.members[at].0.as_str(), number).unwrap();
                self.members[at].1 = Tree::Int(number);
            }
            9 if count > 0 => {
                let new = fresh(&self.members, random);
                self.doc.rename(map, &self.members[at].0, &new).unwrap();
                self.members[at].0 = new;
            }
            10 if count > 0 => {
                let (key, value) = self.members.remove(at);
                let detached = self.doc.detach(map, key.as_str()).unwrap().unwrap();
                self.detached.push((detached, value));
            }
            11 if !self.detached.is_empty() => {
                let (detached, value) = self.detached.pop().unwrap();
                let key = fresh(&self.members, random);
                self.doc.set(map, key.as_str(), &detached).unwrap();
                self.members.push((key, value));
            }
            12..=14 if count > 0 => {
                let (key, value) = &mut self.members[at];
                let Tree::Object(fields, _) = value else { return };
                let node = self.doc.child(map, key.as_str()).unwrap().unwrap();
                let number = random.number() as i64 >> random.below(63);
                let name = ["n", "more"][random.below(2)];
                self.doc.set(node, name, number).unwrap();
                match fields.iter_mut().find(|(key, _)| key == name) {
                    Some((_, value)) => *value = Tree::Int(number),
                    None => fields.push((name.to_owned(), Tree::Int(number))),
                }
            }
            15 if random.below(10) == 0 => self.doc.reserve(map, random.below(40)).unwrap(),
            _ => {}
        }
    }
}

#[test]
fn are_edited_as_a_list_of_members_is() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let within = random.below(3);
        let count = 256 + random.below(100);
        let members = members(&mut random, count);
        let (doc, pointer) = document(&members, within);
        assert!(has_rows(&doc, pointer), "{seed} {within} {count}");
        assert!(same(&stored(&doc, pointer), &members));
        let mut edits = Edits { doc, pointer, members, detached: Vec::new() };
        for step in 0..400 {
            edits.step(&mut random);
            if step % 20 == 0 {
                let found = stored(&edits.doc, pointer);
                assert!(same(&found, &edits.members), "{seed} {step}");
            }
        }
        edits.detached.clear();
        edits.doc.compact().unwrap();
        assert!(same(&stored(&edits.doc, pointer), &edits.members), "{seed}");
    }
}

/// The order of members stays, and so does that of the columns, when most members are removed.
#[test]
fn holes_are_squeezed_out_of_the_columns() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut members = members(&mut random, 1000);
        let (mut doc, pointer) = document(&members, seed as usize % 3);
        let map = doc.find(pointer).unwrap().unwrap();
        let column = |key| {
            let rows = doc.valid().unwrap().pointer(pointer).unwrap().as_object().unwrap();
            rows.table().unwrap().column(key).unwrap().column_type()
        };
        assert_eq!(column("pair"), ColumnType::FixedList);
        assert_eq!(column("pairs"), ColumnType::FixedList);
        assert_eq!(column("code"), ColumnType::TextRun);
        // Some rows have a further field, whose row's number changes with the squeezing.
        for _ in 0..40 {
            let (key, value) = &mut members[random.below(1000)];
            let (Tree::Object(fields, _), more) = (value, random.below(5) as i64) else { continue };
            if fields.iter().any(|(key, _)| key == "more") {
                continue;
            }
            let row = doc.child(map, key.as_str()).unwrap().unwrap();
            doc.set(row, "more", more).unwrap();
            fields.push(("more".to_owned(), Tree::Int(more)));
        }
        while members.len() > 5 {
            let at = random.below(members.len() - 1);
            assert!(doc.remove(map, members[at].0.as_str()).unwrap());
            members.remove(at);
            if members.len() % 100 == 3 {
                assert!(same(&stored(&doc, pointer), &members), "{seed}");
                assert!(members.len() < 256 || has_rows(&doc, pointer));
            }
        }
        assert!(same(&stored(&doc, pointer), &members), "{seed}");
    }
}

/// Holes before the last member leave the columns with it.
#[test]
fn the_last_member_goes_behind_holes() {
    let mut random = Random(4);
    for within in 0..3 {
        let mut members = members(&mut random, 300);
        let (mut doc, pointer) = document(&members, within);
        let map = doc.find(pointer).unwrap().unwrap();
        for at in [298, 297, 297, 296, 290, 295, 294] {
            let at: usize = at;
            let (key, _) = members.remove(at.min(members.len() - 1));
            assert!(doc.remove(map, key.as_str()).unwrap());
            assert!(same(&stored(&doc, pointer), &members), "{at}");
        }
    }
}

#[test]
fn a_map_is_cleared_and_filled_again() {
    let mut random = Random(3);
    let members = members(&mut random, 300);
    let (mut doc, pointer) = document(&members, 1);
    let map = doc.find(pointer).unwrap().unwrap();
    doc.clear(map).unwrap();
    assert!(same(&stored(&doc, pointer), &Vec::new()));
    doc.set(map, "a", 1).unwrap();
    doc.set(map, "b", json!({"n": 1}).doc()).unwrap();
    doc.doc().validate().unwrap();
    assert_eq!(doc.doc().pointer("/map/b/n").unwrap().unwrap(), 1);
}

/// In a buffer without room nothing changes.
#[test]
fn a_refused_edit_changes_nothing() {
    let mut random = Random(5);
    let members = members(&mut random, 300);
    let (doc, _) = document(&members, 0);
    let mut bytes = doc.to_vec();
    let length = bytes.len();
    for room in (0..).step_by(16) {
        bytes.truncate(length);
        bytes.resize(length + 8 * room, 0);
        let mut storage = bytes.clone();
        let mut editor = livebuf::Editor::open_unvalidated(&mut storage[..]).unwrap();
        let _ = editor.validate();
        let root = editor.root_id().unwrap();
        let text = "a text that is longer than all the others of the documents so far";
        let value = json!({"n": 70_000_000_000i64, "name": text, "list": [1, 2, 3]});
        let refused = match editor.set(root, "a new key, of its own", New::from(value.doc())) {
            Ok(_) => false,
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::NoSpace | ErrorKind::NotValidated),
                    "{error}"
                );
                true
            }
        };
        let copy = DocBuf::from_bytes_unvalidated(editor.as_bytes()).unwrap();
        let found = stored(&copy, "");
        assert_eq!(same(&found, &members), refused, "{room}");
        if !refused {
            return;
        }
    }
}
