//! Patches, merge patches and diffs against plain trees: an impossible patch changes no byte, a
//! possible one gives what the tree says, and an applied diff gives exactly the other value.

use crate::changes::{self, Path, at, pick};
use crate::fresh;
use crate::input::Input;
use crate::samples;
use crate::tree::Tree;
use livebuf::{DocBuf, Editor, ErrorKind};
use livebuf_patch::{
    DiffOptions, Patch, PatchErrorKind, changes as differences, diff, merge, merge_diff,
};

/// Rounds of one input.
const ROUNDS: usize = 24;
/// Values above which no more are added.
const ENOUGH: usize = 2_000;

/// What a run met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// Patches that were applied, with at least one operation.
    pub applied: usize,
    /// Patches that were refused.
    pub refused: usize,
    /// Operations of each kind that were applied.
    pub operations: [usize; 6],
    /// Merge patches.
    pub merged: usize,
    /// Diffs with at least one operation.
    pub diffs: usize,
    /// Diffs with a move.
    pub moves: usize,
    /// Merge patches by diff, and those that would need a null.
    pub merge_diffs: [usize; 2],
}

/// Decodes a value and patches of it from any bytes.
///
/// # Panics
/// Where a document is not what it should be.
pub fn run(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let mut met = Met::default();
    let seed = u64::from(input.word());
    let mut tree = match seed % 3 {
        0 => samples::tree(seed),
        _ => fresh::tree(&mut input, 4),
    };
    let mut rounds = 0;
    while !input.is_empty() && rounds < ROUNDS {
        rounds += 1;
        match input.below(4) {
            0 => merged(&mut tree, &mut input, &mut met),
            1 => differ(&mut tree, &mut input, &mut met),
            _ => patched(&mut tree, &mut input, &mut met),
        }
        if tree.count() > ENOUGH || tree.height() > 100 {
            tree = fresh::tree(&mut input, 3);
        }
    }
    met
}

/// The tree as documents with tables and without.
fn documents(tree: &Tree) -> [DocBuf; 2] {
    [tree.to_document(), tree.to_records()]
}

/// The document is valid, and holds this value.
fn check(doc: &DocBuf, tree: &Tree, what: &dyn Fn() -> String) {
    if let Err(error) = doc.doc().validate() {
        panic!("{}: {error:?}", what());
    }
    let expected = tree.to_records();
    let same = doc.root().deep_eq(&expected, &mut { u64::MAX }).expect("sound");
    assert!(same, "{}\n{:?}\n{tree:?}", what(), changes::read(doc));
}

// --- patches ------------------------------------------------------------------------

/// An operation as the tree takes it.
#[derive(Clone, Debug)]
struct Operation {
    name: &'static str,
    path: Path,
    from: Path,
    value: Tree,
}

const NAMES: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

fn patched(tree: &mut Tree, input: &mut Input<'_>, met: &mut Met) {
    // Tensors refuse edits that arrays take.
    *tree = tree.without_tensors();
    let mut model = tree.clone();
    let mut possible = true;
    let mut operations = Vec::new();
    for _ in 0..1 + input.below(5) {
        let operation = choose(&model, input);
        possible = possible && apply(&mut model, &operation);
        operations.push(operation);
        // What comes behind an impossible one is never looked at.
    }
    let patch = written(&operations);
    let what = || format!("{tree:?}\n{operations:?}");
    let patch = match input.one_in(2) {
        true => Patch::from_doc(patch.to_document()),
        false => Patch::from_value(&patch.to_records()),
    };
    let patch = patch.unwrap_or_else(|error| panic!("{}: {error}", what()));
    assert_eq!(patch.len(), operations.len());
    for mut doc in documents(tree) {
        let before = doc.to_vec();
        let done = patch.apply(&mut doc);
        assert_eq!(done.is_ok(), possible, "{done:?}: {}", what());
        match done {
            Ok(()) => check(&doc, &model, &what),
            Err(error) => {
                assert_ne!(error.kind(), PatchErrorKind::Document, "{error}: {}", what());
                assert!(error.operation().is_some(), "{error}");
                assert_eq!(doc.as_bytes(), before, "{error}: {}", what());
            }
        }
        in_little_room(&before, &patch, possible.then_some(&model), input, &what);
    }
    if possible {
        met.applied += 1;
        for operation in &operations {
            let name = NAMES.iter().position(|name| *name == operation.name);
            met.operations[name.expect("a name")] += 1;
        }
        *tree = model;
    } else {
        met.refused += 1;
    }
}

/// In a fixed buffer the patch is applied whole, or nothing changes.
fn in_little_room(
    document: &[u8],
    patch: &Patch,
    expected: Option<&Tree>,
    input: &mut Input<'_>,
    what: &dyn Fn() -> String,
) {
    let mut buffer = document.to_vec();
    buffer.resize(document.len() + document.len() / 4 + input.below(4096), 0xA5);
    let mut doc = Editor::open_unvalidated(&mut buffer[..]).expect("a document");
    match (patch.apply(&mut doc), expected) {
        (Ok(()), Some(tree)) => {
            let copy = DocBuf::open(doc.as_bytes()).unwrap_or_else(|e| panic!("{e:?}: {}", what()));
            check(&copy, tree, what);
        }
        (Ok(()), None) => panic!("applied: {}", what()),
        (Err(error), _) => {
            if let Some(cause) = error.core_error() {
                let kinds = [ErrorKind::NoSpace, ErrorKind::NotValidated];
                assert!(kinds.contains(&cause.kind()), "{error}: {}", what());
            } else {
                assert!(expected.is_none(), "{error}: {}", what());
            }
            assert_eq!(doc.as_bytes(), document, "{error}: {}", what());
        }
    }
}

/// The operations as a patch.
fn written(operations: &[Operation]) -> Tree {
    let text = |text: &str| Tree::String(text.to_owned());
    let object = |operation: &Operation| {
        let mut members = vec![("op".to_owned(), text(operation.name))];
        if matches!(operation.name, "move" | "copy") {
            members.push(("from".to_owned(), text(&changes::pointer(&operation.from))));
        }
        members.push(("path".to_owned(), text(&changes::pointer(&operation.path))));
        if matches!(operation.name, "add" | "replace" | "test") {
            members.push(("value".to_owned(), operation.value.clone()));
        }
        Tree::Object(members, false)
    };
    Tree::Array(operations.iter().map(object).collect())
}

/// Mostly an operation that is possible.
fn choose(tree: &Tree, input: &mut Input<'_>) -> Operation {
    let name = input.pick(&NAMES);
    let is_new = matches!(name, "add" | "move" | "copy");
    let path = place(tree, is_new, input);
    let from = place(tree, false, input);
    let value = match (name, at(tree, &path)) {
        ("test", Some(found)) if input.below(8) > 0 => disguised(found, input),
        _ => changes::fresh(input).without_tensors(),
    };
    Operation { name, path, from, value }
}

/// A place in a tree, mostly one that is there, or where something can be added.
fn place(tree: &Tree, is_new: bool, input: &mut Input<'_>) -> Path {
    if !tree.is_container() || input.one_in(24) {
        return Path::new();
    }
    let mut path = pick(tree, input);
    let part = match at(tree, &path) {
        Some(Tree::Array(elements)) => match input.below(16) {
            0 => "-".to_owned(),
            1 => format!("0{}", input.below(4)),
            2 => (elements.len() + input.below(2)).to_string(),
            3 => fresh::key(input),
            _ => input.below(elements.len() + usize::from(is_new)).to_string(),
        },
        Some(Tree::Object(members, _)) => match input.below(8) {
            0..3 if is_new => fresh::key(input),
            0 => fresh::key(input),
            _ if members.is_empty() => fresh::key(input),
            _ => members[input.below(members.len())].0.clone(),
        },
        _ => return path,
    };
    path.push(part);
    if input.one_in(30) {
        path.push(fresh::key(input));
    }
    path
}

/// An equal value: integers as floats, members in another order.
fn disguised(tree: &Tree, input: &mut Input<'_>) -> Tree {
    match tree {
        Tree::Int(value) if input.one_in(2) && (*value as f64) as i128 == i128::from(*value) => {
            Tree::Float((*value as f64).to_bits())
        }
        Tree::Int(value) if input.one_in(3) => Tree::Number(format!("{value}.{}", "0".repeat(20))),
        Tree::Array(elements) => {
            Tree::Array(elements.iter().map(|element| disguised(element, input)).collect())
        }
        Tree::Object(members, map) => {
            let mut members: Vec<_> =
                members.iter().map(|(key, value)| (key.clone(), disguised(value, input))).collect();
            let turn = input.below(members.len());
            members.rotate_left(turn);
            Tree::Object(members, *map)
        }
        other => other.clone(),
    }
}

/// Whether `test` takes two values for equal.
fn passes(one: &Tree, two: &Tree) -> bool {
    match (one, two) {
        (Tree::Array(one), Tree::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| passes(one, two))
        }
        (Tree::Object(one, _), Tree::Object(two, _)) => {
            let find = |key: &str| two.iter().find(|member| member.0 == key);
            one.len() == two.len()
                && one.iter().all(|(key, value)| find(key).is_some_and(|two| passes(value, &two.1)))
        }
        _ => one == two || matches!((exact(one), exact(two)), (Some(one), Some(two)) if one == two),
    }
}

/// A number as its sign, digits and exponent, worked out on its text.
fn exact(tree: &Tree) -> Option<(bool, String, i64)> {
    let text = match tree {
        Tree::Int(value) => value.to_string(),
        Tree::Uint(value) => value.to_string(),
        Tree::Float(bits) if f64::from_bits(*bits).is_finite() => {
            let value = f64::from_bits(*bits);
            match value.fract() == 0.0 && value.abs() < 1e22 {
                true => (value as i128).to_string(),
                false => format!("{value:e}"),
            }
        }
        Tree::Number(text) => text.clone(),
        _ => return None,
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let mut exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let negative = whole.starts_with('-');
    let mut digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    exponent -= fraction.len() as i64;
    while digits.ends_with('0') {
        digits.pop();
        exponent += 1;
    }
    let digits = digits.trim_start_matches('0').to_owned();
    match digits.is_empty() {
        true => Some((false, digits, 0)),
        false => Some((negative, digits, exponent)),
    }
}

/// Applies an operation to a tree; false where it is impossible, and the tree is any then.
fn apply(tree: &mut Tree, operation: &Operation) -> bool {
    let Operation { path, from, value, .. } = operation;
    match operation.name {
        "add" => add(tree, path, value.clone()),
        "remove" => !path.is_empty() && take(tree, path).is_some(),
        "replace" => match find(tree, path) {
            Some(found) => {
                *found = value.clone();
                true
            }
            None => false,
        },
        "test" => find(tree, path).is_some_and(|found| passes(found, value)),
        "copy" => match find(tree, from).cloned() {
            Some(copy) => add(tree, path, copy),
            None => false,
        },
        _ if find(tree, from).is_none() => false,
        _ if from == path => true,
        _ if path.starts_with(from) => false,
        _ => match take(tree, from) {
            Some(value) => add(tree, path, value),
            None => false,
        },
    }
}

fn index(part: &str) -> Option<usize> {
    let is_plain = part == "0" || !part.starts_with('0');
    let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain && is_number { part.parse().ok() } else { None }
}

fn find<'t>(tree: &'t mut Tree, path: &[String]) -> Option<&'t mut Tree> {
    path.iter().try_fold(tree, |tree, part| match tree {
        Tree::Array(elements) => elements.get_mut(index(part)?),
        Tree::Object(members, _) => {
            members.iter_mut().find(|member| member.0 == *part).map(|member| &mut member.1)
        }
        _ => None,
    })
}

fn add(tree: &mut Tree, path: &[String], value: Tree) -> bool {
    let Some((last, parent)) = path.split_last() else {
        *tree = value;
        return true;
    };
    match find(tree, parent) {
        Some(Tree::Array(elements)) => {
            let at = if last == "-" { Some(elements.len()) } else { index(last) };
            let Some(at) = at.filter(|&at| at <= elements.len()) else { return false };
            elements.insert(at, value);
            true
        }
        Some(Tree::Object(members, _)) => {
            match members.iter_mut().find(|member| member.0 == *last) {
                Some(member) => member.1 = value,
                None => members.push((last.clone(), value)),
            }
            true
        }
        _ => false,
    }
}

fn take(tree: &mut Tree, path: &[String]) -> Option<Tree> {
    let (last, parent) = path.split_last()?;
    match find(tree, parent)? {
        Tree::Array(elements) => {
            let at = index(last).filter(|&at| at < elements.len())?;
            Some(elements.remove(at))
        }
        Tree::Object(members, _) => {
            let at = members.iter().position(|member| member.0 == *last)?;
            Some(members.remove(at).1)
        }
        _ => None,
    }
}

// --- merge patches --------------------------------------------------------------------

fn merged(tree: &mut Tree, input: &mut Input<'_>, met: &mut Met) {
    let patch = merge_patch(Some(tree), input, 4);
    let mut model = tree.clone();
    merge_into(&mut model, &patch);
    let what = || format!("{tree:?}\n{patch:?}");
    for mut doc in documents(tree) {
        let written = if input.one_in(2) { patch.to_document() } else { patch.to_records() };
        merge(&mut doc, &written).unwrap_or_else(|error| panic!("{error}: {}", what()));
        check(&doc, &model, &what);
    }
    met.merged += 1;
    *tree = model;
}

/// A patch that mostly names what is there.
fn merge_patch(tree: Option<&Tree>, input: &mut Input<'_>, depth: usize) -> Tree {
    let members = match tree {
        Some(Tree::Object(members, _)) => members.as_slice(),
        _ if depth > 0 && input.one_in(3) => &[],
        _ => return changes::fresh(input),
    };
    let mut patch: Vec<(String, Tree)> = Vec::new();
    for _ in 0..input.below(5) {
        let (key, below) = match members.is_empty() || input.one_in(4) {
            true => (fresh::key(input), None),
            false => {
                let (key, value) = &members[input.below(members.len())];
                (key.clone(), Some(value))
            }
        };
        if patch.iter().any(|member| member.0 == key) {
            continue;
        }
        let value = match input.below(4) {
            0 => Tree::Null,
            1 if depth > 0 => merge_patch(below, input, depth - 1),
            _ => changes::fresh(input),
        };
        patch.push((key, value));
    }
    Tree::Object(patch, false)
}

/// As RFC 7396 writes it down.
fn merge_into(target: &mut Tree, patch: &Tree) {
    let Tree::Object(members, _) = patch else {
        *target = patch.clone();
        return;
    };
    if !matches!(target, Tree::Object(..)) {
        *target = Tree::Object(Vec::new(), false);
    }
    let Tree::Object(into, _) = target else { unreachable!("made an object") };
    for (key, value) in members {
        let place = into.iter().position(|member| member.0 == *key);
        match (value, place) {
            (Tree::Null, Some(place)) => drop(into.remove(place)),
            (Tree::Null, None) => {}
            (value, Some(place)) => merge_into(&mut into[place].1, value),
            (value, None) => {
                let mut new = Tree::Null;
                merge_into(&mut new, value);
                into.push((key.clone(), new));
            }
        }
    }
}

// --- diffs ----------------------------------------------------------------------------

fn differ(tree: &mut Tree, input: &mut Input<'_>, met: &mut Met) {
    let other = changed(tree, input);
    let what = || format!("{tree:?}\n{other:?}");
    let (ones, twos) = (documents(tree), documents(&other));
    let two = &twos[input.below(2)];
    for one in &ones {
        for options in [DiffOptions::new(), DiffOptions::new().ordered(true)] {
            let patch = diff(one, two, &options).unwrap_or_else(|e| panic!("{e}: {}", what()));
            // By JSON's ways, too, it is a patch.
            let again = Patch::from_value(patch.doc()).expect("a patch");
            let mut doc = one.clone();
            again.apply(&mut doc).unwrap_or_else(|e| panic!("{e}: {patch:?}: {}", what()));
            check(&doc, &other, &|| format!("{options:?} {patch:?}: {}", what()));
            let moves = patch.operations().filter(|operation| operation.name() == "move").count();
            if options.ordered {
                let found = changes::read(&doc).without_tensors();
                assert!(found.same(&other.without_tensors()), "{patch:?}: {}", what());
            } else {
                met.diffs += usize::from(!patch.is_empty());
                met.moves += usize::from(moves > 0);
                let equal = one.root().deep_eq(two, &mut { u64::MAX }).expect("sound");
                assert_eq!(patch.is_empty(), equal, "{patch:?}: {}", what());
                let found = differences(one, two, &options).expect("sound");
                assert_eq!(found.is_empty(), equal);
            }
        }
        match merge_diff(one, two) {
            Ok(patch) => {
                let mut doc = one.clone();
                merge(&mut doc, &patch).unwrap_or_else(|error| panic!("{error}: {}", what()));
                check(&doc, &other, &what);
                met.merge_diffs[0] += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), PatchErrorKind::Unsupported, "{error}: {}", what());
                met.merge_diffs[1] += 1;
            }
        }
    }
    *tree = other;
}

/// The tree after some changes: of values and numbers' kinds, members and elements that come,
/// go and change places; or another tree.
fn changed(tree: &Tree, input: &mut Input<'_>) -> Tree {
    let mut other = tree.clone();
    if !other.is_container() || input.one_in(12) {
        return fresh::tree(input, 3);
    }
    for _ in 0..1 + input.below(4) {
        let path = pick(&other, input);
        let fresh = changes::fresh(input);
        match changes::at_mut(&mut other, &path) {
            Tree::Array(elements) if elements.len() > 1 => {
                let (one, two) = (input.below(elements.len()), input.below(elements.len()));
                match input.below(6) {
                    0 => elements.swap(one, two),
                    1 => elements.rotate_left(one),
                    2 => drop(elements.remove(one)),
                    3 => elements.insert(one, fresh),
                    4 => elements[one] = elements[two].clone(),
                    _ => elements[one] = fresh,
                }
            }
            Tree::Array(elements) => elements.push(fresh),
            Tree::Object(members, _) if !members.is_empty() => {
                let (one, two) = (input.below(members.len()), input.below(members.len()));
                let key = fresh::key(input);
                let is_new = !members.iter().any(|member| member.0 == key);
                match input.below(6) {
                    0 => members.swap(one, two),
                    1 => drop(members.remove(one)),
                    2 if is_new => members[one].0 = key,
                    3 if is_new => members.insert(one, (key, fresh)),
                    4 => {
                        let value = members[one].1.clone();
                        members[two].1 = value;
                    }
                    _ => members[one].1 = fresh,
                }
            }
            Tree::Object(members, _) => members.push((fresh::key(input), fresh)),
            _ => {}
        }
    }
    other
}
