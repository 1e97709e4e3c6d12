//! The same random edits on a document with tables, on one without, and on a plain tree:
//! equal values after every step, and valid documents.

use livebuf::{Doc, DocBuf, Editor, EncodeOptions, Encoder, NodeId, Result, Storage, Value};
use livebuf_fuzz::input::{Input, Random};
use livebuf_fuzz::tree::{Budget, Tree};

fn text(input: &mut Input<'_>) -> Tree {
    let texts = ["", "a", "seven77", "eight888", "a longer text of some length", "é√"];
    Tree::String(texts[input.below(texts.len())].into())
}

fn scalar(input: &mut Input<'_>) -> Tree {
    match input.below(9) {
        0 => Tree::Null,
        1 => Tree::Bool(input.one_in(2)),
        2 => Tree::Int(input.below(100) as i64 - 50),
        3 => Tree::Int(input.below(1 << 20) as i64 * 1_000_003),
        4 => Tree::Uint(u64::MAX - input.below(5) as u64),
        5 => Tree::Float((input.below(50) as f64 / 4.0).to_bits()),
        6 => Tree::Float((input.below(50) as f64 / 7.0).to_bits()),
        7 => Tree::Number("123456789012345678901234567890".into()),
        _ => text(input),
    }
}

/// A value much like those that stand under the same key elsewhere.
fn like(key: usize, input: &mut Input<'_>, depth: usize) -> Tree {
    match key % 9 {
        0 => Tree::Int(input.below(200) as i64),
        1 => text(input),
        2 => Tree::Float((input.below(50) as f64 / 4.0).to_bits()),
        3 => Tree::Bool(input.one_in(2)),
        4 if depth < 3 => object(input, depth + 1),
        5 => Tree::Array((0..input.below(4)).map(|_| Tree::Int(input.below(300) as i64)).collect()),
        6 => Tree::Array((0..2).map(|_| Tree::Float((input.below(9) as f64).to_bits())).collect()),
        7 if depth < 3 => {
            Tree::Array((0..input.below(3)).map(|_| object(input, depth + 1)).collect())
        }
        _ => Tree::Null,
    }
}

fn object(input: &mut Input<'_>, depth: usize) -> Tree {
    let mut members = Vec::new();
    for key in 0..9 {
        match input.below(24) {
            0 => {}
            1 => members.push((format!("key {key}"), Tree::Null)),
            2 if depth == 0 => members.push((format!("key {key}"), scalar(input))),
            _ => members.push((format!("key {key}"), like(key, input, depth))),
        }
    }
    if depth > 0 {
        members.truncate(4);
    }
    Tree::Object(members, false)
}

fn fresh(input: &mut Input<'_>) -> Tree {
    match input.below(6) {
        0 => object(input, 0),
        1 => object(input, 2),
        2 => Tree::Array((0..input.below(5)).map(|_| scalar(input)).collect()),
        3 => Tree::Array((0..input.below(5)).map(|_| object(input, 2)).collect()),
        _ => scalar(input),
    }
}

fn document(tree: &Tree, tables: bool) -> DocBuf {
    let options = EncodeOptions { tables, ..EncodeOptions::default() };
    let mut encoder = Encoder::with_options(options);
    tree.encode(&mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// Whether two values are equal, members in any order.
fn equal(a: &Tree, b: &Tree) -> bool {
    match (a, b) {
        (Tree::Array(a), Tree::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Tree::Object(a, _), Tree::Object(b, _)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| {
                    b.iter().any(|(other, found)| key == other && equal(value, found))
                })
        }
        _ => a == b,
    }
}

/// A container on a random way down, and its pointer.
fn pick<'t>(tree: &'t mut Tree, input: &mut Input<'_>, pointer: &mut String) -> &'t mut Tree {
    let down = match tree {
        Tree::Array(elements) if !elements.is_empty() && input.below(5) > 0 => {
            let index = input.below(elements.len());
            elements[index].is_container().then(|| (index.to_string(), index))
        }
        Tree::Object(members, _) if !members.is_empty() && input.below(3) > 0 => {
            let index = input.below(members.len());
            members[index].1.is_container().then(|| (members[index].0.clone(), index))
        }
        _ => None,
    };
    let Some((token, index)) = down else { return tree };
    pointer.push('/');
    pointer.push_str(&token);
    match tree {
        Tree::Array(elements) => pick(&mut elements[index], input, pointer),
        Tree::Object(members, _) => pick(&mut members[index].1, input, pointer),
        _ => unreachable!(),
    }
}

#[derive(Debug)]
enum Edit {
    Set(String, Tree),
    Remove(String),
    Rename(String, String),
    Clear,
    Move(String, String),
    Element(usize, Tree),
    Push(Tree),
    Insert(usize, Tree),
    Take(usize),
    Truncate(usize),
    Swap(usize, usize),
    Reserve(usize),
    Rotate(usize),
}

fn choose(target: &Tree, input: &mut Input<'_>) -> Edit {
    match target {
        Tree::Object(members, _) => {
            let some = |input: &mut Input<'_>| match members.len() {
                0 => "none".to_owned(),
                count => members[input.below(count)].0.clone(),
            };
            let any = |input: &mut Input<'_>| match input.below(14) {
                0 => "k".repeat(300),
                1 => "new".to_owned(),
                2 => "another new".to_owned(),
                key => format!("key {}", key % 9),
            };
            match input.below(12) {
                0 | 1 => Edit::Remove(some(input)),
                2 => Edit::Rename(some(input), any(input)),
                3 if input.below(4) == 0 => Edit::Clear,
                4 => Edit::Move(some(input), any(input)),
                5 => Edit::Set(any(input), fresh(input)),
                6..=8 => {
                    let key = input.below(9);
                    Edit::Set(format!("key {key}"), like(key, input, 1))
                }
                _ => Edit::Set(any(input), scalar(input)),
            }
        }
        Tree::Array(elements) => {
            let count = elements.len();
            let index = |input: &mut Input<'_>| input.below(count.max(1));
            let value = |input: &mut Input<'_>| match input.below(4) {
                0 => fresh(input),
                1 => scalar(input),
                _ => object(input, 0),
            };
            match input.below(14) {
                0..=2 => Edit::Push(value(input)),
                3 | 4 => Edit::Insert(input.below(count + 1), value(input)),
                5 | 6 if count > 0 => Edit::Take(index(input)),
                7 if input.below(4) == 0 => Edit::Truncate(input.below(count + 1)),
                8 if count > 0 => Edit::Swap(index(input), index(input)),
                9 => Edit::Reserve(input.below(20)),
                10 if count > 0 => Edit::Rotate(index(input)),
                _ if count > 0 => Edit::Element(index(input), value(input)),
                _ => Edit::Push(value(input)),
            }
        }
        _ => unreachable!(),
    }
}

fn apply(target: &mut Tree, edit: &Edit) {
    match (target, edit) {
        (Tree::Object(members, _), edit) => {
            let find = |members: &[(String, Tree)], key: &str| {
                members.iter().position(|member| member.0 == key)
            };
            match edit {
                Edit::Set(key, value) => match find(members, key) {
                    Some(at) => members[at].1 = value.clone(),
                    None => members.push((key.clone(), value.clone())),
                },
                Edit::Remove(key) => members.retain(|member| member.0 != *key),
                Edit::Rename(from, to) => {
                    if let (Some(at), None) = (find(members, from), find(members, to)) {
                        members[at].0 = to.clone();
                    }
                }
                Edit::Clear => members.clear(),
                Edit::Move(from, to) => {
                    if let Some(at) = find(members, from) {
                        let value = members.remove(at).1;
                        match find(members, to) {
                            Some(at) => members[at].1 = value,
                            None => members.push((to.clone(), value)),
                        }
                    }
                }
                _ => unreachable!(),
            }
        }
        (Tree::Array(elements), edit) => match edit {
            Edit::Element(index, value) => elements[*index] = value.clone(),
            Edit::Push(value) => elements.push(value.clone()),
            Edit::Insert(index, value) => elements.insert(*index, value.clone()),
            Edit::Take(index) => drop(elements.remove(*index)),
            Edit::Truncate(length) => elements.truncate(*length),
            Edit::Swap(a, b) => elements.swap(*a, *b),
            Edit::Reserve(_) => {}
            Edit::Rotate(index) => {
                let value = elements.remove(*index);
                elements.push(value);
            }
            _ => unreachable!(),
        },
        _ => unreachable!(),
    }
}

/// Where the container at `pointer` is after an edit of the one at `target`; `None` where
/// it is gone. `before`: what the target was.
fn follow(pointer: &str, target: &str, before: &Tree, edit: &Edit) -> Option<String> {
    let below = match pointer.strip_prefix(target) {
        Some(below) if below.starts_with('/') => &below[1..],
        _ => return Some(pointer.to_owned()),
    };
    let (token, rest) = match below.split_once('/') {
        Some((token, rest)) => (token, format!("/{rest}")),
        None => (below, String::new()),
    };
    let token = match before {
        Tree::Object(members, _) => {
            let has = |key: &str| members.iter().any(|member| member.0 == key);
            match edit {
                Edit::Set(key, _) | Edit::Remove(key) if key == token => return None,
                Edit::Clear => return None,
                Edit::Rename(from, to) if from == token && !has(to) => to.clone(),
                Edit::Move(from, to) if from == token => to.clone(),
                Edit::Move(from, to) if to == token && has(from) => return None,
                _ => token.to_owned(),
            }
        }
        Tree::Array(elements) => {
            let index: usize = token.parse().unwrap();
            let index = match *edit {
                Edit::Element(at, _) | Edit::Take(at) if at == index => return None,
                Edit::Truncate(length) if index >= length => return None,
                Edit::Insert(at, _) if index >= at => index + 1,
                Edit::Take(at) if index > at => index - 1,
                Edit::Swap(a, b) if index == a => b,
                Edit::Swap(a, b) if index == b => a,
                Edit::Rotate(at) if index == at => elements.len() - 1,
                Edit::Rotate(at) if index > at => index - 1,
                _ => index,
            };
            index.to_string()
        }
        _ => unreachable!(),
    };
    Some(format!("{target}/{token}{rest}"))
}

/// The value at a pointer.
fn at<'t>(tree: &'t Tree, pointer: &str) -> &'t Tree {
    pointer.split('/').skip(1).fold(tree, |tree, token| match tree {
        Tree::Object(members, _) => {
            &members.iter().find(|member| member.0 == token).expect("a member").1
        }
        Tree::Array(elements) => &elements[token.parse::<usize>().unwrap()],
        _ => unreachable!(),
    })
}

fn perform<S: Storage>(doc: &mut Editor<S>, node: NodeId, edit: &Edit) -> Result<()> {
    let copy = |value: &Tree| document(value, true);
    match edit {
        Edit::Set(key, value) => {
            let other = copy(value);
            doc.set(node, key.as_str(), other.doc().root()).map(drop)
        }
        Edit::Remove(key) => doc.remove(node, key.as_str()).map(drop),
        Edit::Rename(from, to) => match doc.rename(node, from, to) {
            Err(error)
                if matches!(
                    error.kind(),
                    livebuf::ErrorKind::KeyExists | livebuf::ErrorKind::NotFound
                ) =>
            {
                Ok(())
            }
            other => other,
        },
        Edit::Clear => doc.clear(node),
        Edit::Move(from, to) => {
            let mut cursor = doc.node_mut(node)?;
            match cursor.detach(from.as_str())? {
                Some(detached) => cursor.set(to.as_str(), &detached).map(drop),
                None => Ok(()),
            }
        }
        Edit::Element(index, value) => {
            let other = copy(value);
            doc.set(node, *index, other.doc().root()).map(drop)
        }
        Edit::Push(value) => {
            let other = copy(value);
            doc.push(node, other.doc().root()).map(drop)
        }
        Edit::Insert(index, value) => {
            let other = copy(value);
            doc.insert(node, *index, other.doc().root()).map(drop)
        }
        Edit::Take(index) => doc.remove(node, *index).map(drop),
        Edit::Truncate(length) => doc.truncate(node, *length),
        Edit::Swap(a, b) => doc.swap(node, *a, *b),
        Edit::Reserve(count) => doc.reserve(node, *count),
        Edit::Rotate(index) => {
            let mut cursor = doc.node_mut(node)?;
            let detached = cursor.detach(*index)?.expect("an element");
            cursor.push(&detached).map(drop)
        }
    }
}

fn read(doc: &DocBuf) -> Tree {
    Tree::read(doc.doc().root(), &mut Budget { ..Budget::AMPLE }).expect("readable")
}

/// The edit in a buffer with little room: it is done, or nothing has changed.
fn tight(
    doc: &DocBuf,
    room: usize,
    pointer: &str,
    edit: &Edit,
    expected: &Tree,
    seed: u64,
    step: usize,
) {
    let used = doc.as_bytes().len();
    let mut buffer = doc.to_vec();
    buffer.resize(used + room, 0);
    let mut editor = Editor::open(&mut buffer[..]).unwrap();
    editor.validate().unwrap();
    let node = editor.find(pointer).unwrap().unwrap();
    let name = || format!("seed {seed} step {step}, {room} bytes of room, {pointer:?}: {edit:?}");
    let twice = matches!(edit, Edit::Move(..) | Edit::Rotate(_));
    match perform(&mut editor, node, edit) {
        Ok(()) => {
            editor.doc().validate().unwrap_or_else(|error| panic!("{}: {error:?}", name()));
            let root = editor.doc().root();
            let found = Tree::read(root, &mut Budget { ..Budget::AMPLE }).expect("readable");
            assert!(equal(&found, expected), "{}", name());
        }
        Err(error) => {
            assert_eq!(error.kind(), livebuf::ErrorKind::NoSpace, "{}", name());
            let same = editor.as_bytes() == doc.as_bytes();
            assert!(same || twice, "{}: {error:?}, but bytes changed", name());
        }
    }
}

/// A handle that was taken before an edit is stale, or leads to the same container.
/// `after`: where that is now. Whether it is good.
fn check_handle(doc: &DocBuf, handle: NodeId, after: Option<&str>, tree: &Tree) -> bool {
    match (doc.value(handle), after) {
        (Err(error), _) => {
            assert_eq!(error.kind(), livebuf::ErrorKind::StaleHandle);
            false
        }
        (Ok(_), None) => panic!("a handle to what is gone is good"),
        (Ok(value), Some(pointer)) => {
            let found = Tree::read(value, &mut Budget { ..Budget::AMPLE }).expect("readable");
            assert!(equal(&found, at(tree, pointer)), "{pointer:?}: {found:?}");
            true
        }
    }
}

/// What a run met.
#[derive(Default)]
struct Met {
    /// The document began with tables.
    tables: bool,
    /// Handles taken before an edit that were good, and stale, after it.
    good: u64,
    stale: u64,
}

fn run(seed: u64, rows: usize, steps: usize) -> Met {
    let bytes = Random(seed).bytes(64 << 10);
    let mut input = Input::new(&bytes);
    let mut tree = Tree::Array((0..rows).map(|_| object(&mut input, 0)).collect());
    let mut docs = [document(&tree, true), document(&tree, false)];
    let tables = docs[0].doc().stats().unwrap().table_count > 0;
    let mut met = Met { tables, ..Met::default() };
    assert!(read(&docs[0]).same(&tree), "seed {seed}: encoded");
    for step in 0..steps {
        let mut held = String::new();
        pick(&mut tree, &mut input, &mut held);
        let mut pointer = String::new();
        let target = pick(&mut tree, &mut input, &mut pointer);
        let edit = choose(target, &mut input);
        let after = follow(&held, &pointer, target, &edit);
        apply(target, &edit);
        if std::env::var_os("LIVEBUF_FUZZ_TRACE").is_some() {
            eprintln!("seed {seed} step {step} at {pointer:?}: {edit:?}");
        }
        let room = input.below(1 << 10);
        tight(&docs[0], room, &pointer, &edit, &tree, seed, step);
        for (doc, kind) in docs.iter_mut().zip(["with", "without"]) {
            let name = || format!("seed {seed} step {step} {kind} tables at {pointer:?}: {edit:?}");
            let node = doc.find(&pointer).unwrap().unwrap_or_else(|| panic!("{}", name()));
            let handle = doc.find(&held).unwrap().unwrap_or_else(|| panic!("{}", name()));
            perform(doc, node, &edit).unwrap_or_else(|error| panic!("{}: {error:?}", name()));
            doc.doc()
                .validate()
                .map(|_: Doc<'_, livebuf::Valid>| ())
                .unwrap_or_else(|error| panic!("{}: {error:?}", name()));
            let found = read(doc);
            assert!(equal(&found, &tree), "{}:\n{found:?}\n{tree:?}", name());
            if check_handle(doc, handle, after.as_deref(), &tree) {
                met.good += 1;
            } else {
                met.stale += 1;
            }
        }
        if step % 10 == 9 {
            let compact = docs[0].doc().compacted().unwrap();
            assert!(equal(&read(&compact), &tree), "seed {seed} step {step}: compacted");
            let mut target = vec![0; docs[0].as_bytes().len() * 3 + 4096];
            let length = docs[0].doc().compact_into(&mut target).unwrap();
            let copy = Doc::open(&target[..length]).unwrap();
            copy.validate().unwrap();
            let root: Value<'_> = copy.root();
            assert!(docs[0].doc().root().deep_eq(&root, &mut u64::MAX.clone()).unwrap());
        }
    }
    met
}

#[test]
fn edits_of_tables() {
    let (seeds, steps) = (300, 60);
    let (mut tables, mut good, mut stale) = (0, 0, 0);
    for seed in 0..seeds {
        let met = run(seed, 20 + seed as usize % 20, steps);
        tables += met.tables as u64;
        good += met.good;
        stale += met.stale;
    }
    assert!(tables > seeds * 9 / 10, "{tables} of {seeds} documents have tables");
    assert!(good > 5_000 && stale > 2_000, "{good} handles good, {stale} stale");
}

/// The cost rule: never more than 5 % larger than without tables.
#[test]
fn tables_are_never_much_larger() {
    for seed in 0..3_000 {
        let bytes = Random(seed).bytes(16 << 10);
        let mut input = Input::new(&bytes);
        let rows = input.below(30);
        let tree = match input.below(3) {
            0 => Tree::Array((0..rows).map(|_| fresh(&mut input)).collect()),
            1 => Tree::Array((0..rows).map(|_| object(&mut input, 1)).collect()),
            _ => Tree::Array((0..rows).map(|_| object(&mut input, 0)).collect()),
        };
        let [with, without] = [true, false].map(|tables| document(&tree, tables).to_vec().len());
        assert!(
            with as f64 <= 1.05 * without as f64 + 64.0,
            "seed {seed}: {with} bytes with tables, {without} without"
        );
    }
}

/// Counts the bytes written.
#[derive(Default)]
struct Written(u64);

impl livebuf::Observer for Written {
    fn write(&mut self, _offset: u64, _old: &[u8], new: &[u8]) {
        self.0 += new.len() as u64;
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
    let bytes = document(&Tree::Array((0..100).map(row).collect()), true).to_vec();
    let storage = livebuf::VecStorage::from_slice(&bytes).unwrap();
    let mut doc = Editor::open_with(storage, Written::default()).unwrap();
    doc.validate().unwrap();
    let root = doc.root().unwrap();
    let mut pushed = Vec::new();
    for number in 100..20_000 {
        let fresh = document(&row(number), true);
        doc.push(root, fresh.doc().root()).unwrap();
        if (number + 1) % 5_000 == 0 {
            pushed.push(std::mem::take(&mut doc.observer_mut().0));
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
    assert!(doc.observer().0 <= 16, "{} bytes written", doc.observer().0);
    doc.observer_mut().0 = 0;
    doc.set(some, "a further field", 1).unwrap();
    assert!(doc.observer().0 < 512, "{} bytes written", doc.observer().0);
}
