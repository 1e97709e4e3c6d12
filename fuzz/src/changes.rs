//! Edits as data: chosen for a tree, done to the tree, and done to any document of the
//! same value, with tables or without.
//!
//! Members are compared in any order: tables keep another order after edits than records
//! do, and [`crate::edits`] has the exact one.

use crate::fresh::{Fresh, extended, numbers, tensor, token};
use crate::input::Input;
use crate::tree::{Budget, Tree};
use livebuf::{
    ColumnType, Date, Decimal, DocBuf, Editor, ErrorKind, Extended, NodeId, Result, Storage, Uuid,
};

// --- values -------------------------------------------------------------------

fn text(input: &mut Input<'_>) -> Tree {
    let texts = ["", "a", "seven77", "eight888", "a longer text of some length", "é√"];
    Tree::String(texts[input.below(texts.len())].into())
}

fn scalar(input: &mut Input<'_>) -> Tree {
    match input.below(11) {
        0 => Tree::Null,
        1 => Tree::Bool(input.one_in(2)),
        2 => Tree::Int(input.below(100) as i64 - 50),
        3 => Tree::Int(input.below(1 << 16) as i64 * 1_000_003),
        4 => Tree::Uint(u64::MAX - input.below(5) as u64),
        5 => Tree::Float((input.below(50) as f64 / 4.0).to_bits()),
        6 => Tree::Float((input.below(50) as f64 / 7.0).to_bits()),
        7 => Tree::Number("123456789012345678901234567890".into()),
        8 | 9 => Tree::Extended(extended(input)),
        _ => text(input),
    }
}

/// Now and then null in place of a value: among objects and lists, too.
fn or_null(input: &mut Input<'_>, value: impl FnOnce(&mut Input<'_>) -> Tree) -> Tree {
    if input.one_in(7) { Tree::Null } else { value(input) }
}

fn list(input: &mut Input<'_>, most: usize, mut value: impl FnMut(&mut Input<'_>) -> Tree) -> Tree {
    Tree::Array((0..input.below(most)).map(|_| or_null(input, &mut value)).collect())
}

/// A value much like those that stand under the same key elsewhere.
fn like(key: usize, input: &mut Input<'_>, depth: usize) -> Tree {
    let small = |input: &mut Input<'_>| Tree::Int(input.below(300) as i64);
    match key {
        0 => Tree::Int(input.below(200) as i64),
        // Nearly all of one length.
        1 if depth > 0 && !input.one_in(30) => {
            Tree::String(format!("id {:05}", input.below(10_000)))
        }
        1 => text(input),
        2 => Tree::Float((input.below(50) as f64 / 4.0).to_bits()),
        3 => Tree::Bool(input.one_in(2)),
        4 if depth < 3 => or_null(input, |input| object(input, depth + 1)),
        5 => list(input, 4, small),
        6 => Tree::Array((0..2).map(|_| Tree::Float((input.below(9) as f64).to_bits())).collect()),
        7 if depth < 3 => list(input, 3, |input| object(input, depth + 1)),
        8 if depth < 3 => {
            list(input, 3, |input| list(input, 3, |input| Tree::Array(vec![small(input); 2])))
        }
        9 => or_null(input, |input| Tree::Extended(uuid(input))),
        // Nearly all of one type and shape.
        11 if input.one_in(9) => tensor(input),
        11 => or_null(input, |input| {
            Tree::Tensor(Box::new(numbers(input, ColumnType::F32, vec![2, 2])))
        }),
        10 => Tree::Extended(Date::from_days(input.below(20_000) as i32).expect("a date").into()),
        12 => Tree::Extended(Decimal::new(input.below(500) as i128, 2).expect("small").into()),
        13 => list(input, 4, |input| Tree::Extended(uuid(input))),
        _ => Tree::Null,
    }
}

fn uuid(input: &mut Input<'_>) -> Extended {
    Uuid::from_bytes([input.byte(); 16]).into()
}

/// An object of up to twelve fields, like others of its depth.
pub fn object(input: &mut Input<'_>, depth: usize) -> Tree {
    let mut members = Vec::new();
    for key in 0..12 {
        match input.below(24) {
            0 => {}
            1 => members.push((format!("key {key}"), Tree::Null)),
            2 if depth == 0 => members.push((format!("key {key}"), scalar(input))),
            _ => members.push((format!("key {key}"), like(key, input, depth))),
        }
    }
    if depth > 0 {
        let first = members.len().min(input.below(7));
        members.drain(..first);
        members.truncate(4);
    }
    Tree::Object(members, false)
}

/// Objects of more kinds than an editor looks through for a shape that fits.
pub fn kinds(input: &mut Input<'_>) -> Tree {
    let count = 60 + input.below(12);
    let mut rows: Vec<_> = (0..count)
        .map(|row| Tree::Object(vec![(format!("s{row}"), Tree::Int(row as i64))], false))
        .collect();
    let point = vec![("x".into(), Tree::Int(7)), ("y".into(), Tree::Int(8))];
    rows.insert(0, Tree::Object(point, false));
    Tree::Array(rows)
}

/// Any value; mostly like others.
pub fn fresh(input: &mut Input<'_>) -> Tree {
    match input.below(9) {
        0 => object(input, 0),
        1 => object(input, 2),
        2 => Tree::Array((0..input.below(5)).map(|_| scalar(input)).collect()),
        3 => list(input, 5, |input| object(input, 2)),
        4 => like(8, input, 0),
        5 if input.one_in(12) => kinds(input),
        5 => Tree::Object(vec![("x".into(), scalar(input)), ("y".into(), scalar(input))], false),
        _ => scalar(input),
    }
}

/// How a value is handed to the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A copy out of a document that has tables where it may.
    Tables,
    /// A copy out of one that has none.
    Records,
    /// A copy of a part of a row, or of an element of a list.
    Part,
    /// `New::Fields`, `New::Items` and scalars.
    Literal,
}

/// A value to be stored.
#[derive(Clone, Debug)]
pub struct Given {
    /// The value.
    pub tree: Tree,
    /// How it is handed over.
    pub how: How,
}

impl Given {
    /// Large values are no literals: slices of slices are made by recursion.
    pub fn new(tree: Tree, input: &mut Input<'_>) -> Given {
        let how = input.pick(&[How::Tables, How::Records, How::Part, How::Literal, How::Literal]);
        let how = if how == How::Literal && tree.count() > 400 { How::Tables } else { how };
        Given { tree, how }
    }

    fn with<R>(&self, take: impl FnOnce(livebuf::New<'_>) -> R) -> R {
        match self.how {
            How::Tables => take(self.tree.to_document().doc().root().into()),
            How::Records => take(self.tree.to_records().doc().root().into()),
            How::Part => {
                let row = Tree::Object(
                    vec![
                        ("v".into(), self.tree.clone()),
                        ("w".into(), Tree::Array(vec![self.tree.clone()])),
                    ],
                    false,
                );
                let rows = Tree::Array(vec![row; 3]).to_document();
                let part = if self.tree.count().is_multiple_of(2) { "/1/v" } else { "/2/w/0" };
                take(rows.doc().pointer(part).expect("sound").expect("there").into())
            }
            How::Literal => Fresh::Whole(self.tree.clone(), false).with_new(take),
        }
    }
}

// --- edits --------------------------------------------------------------------

/// Tokens of a pointer, not escaped.
pub type Path = Vec<String>;

/// The JSON pointer of these tokens.
pub fn pointer(path: &[String]) -> String {
    path.iter().map(|part| token(part)).collect()
}

/// An edit of a container.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A member set.
    Set(String, Given),
    /// A member set by a pointer from the root.
    SetPointer(Path, Given),
    /// A member removed.
    Remove(String),
    /// A member or element removed by a pointer from the root.
    RemovePointer(Path),
    /// A member renamed; refused where the name is taken.
    Rename(String, String),
    /// Emptied.
    Clear,
    /// A member detached and hung under another key, in the place of what is there.
    Move(String, String),
    /// A member or element detached and hung at the end of the array there, or under this
    /// key of the object there: where that is afterwards.
    Hang(String, Path, Option<String>),
    /// A member or element detached and discarded.
    Discard(String),
    /// An element replaced.
    Element(usize, Given),
    /// An element added at the end.
    Push(Given),
    /// An element inserted.
    Insert(usize, Given),
    /// An element removed.
    Take(usize),
    /// The last element removed, if any.
    Pop,
    /// All elements from here on removed.
    Truncate(usize),
    /// Two elements exchanged.
    Swap(usize, usize),
    /// Room made.
    Reserve(usize),
    /// An element detached and hung at the end.
    Rotate(usize),
    /// The root replaced.
    Root(Given),
    /// The document written anew.
    Compact,
}

impl Edit {
    /// Its name without its values.
    pub fn name(&self) -> &'static str {
        match self {
            Edit::Set(..) => "set",
            Edit::SetPointer(..) => "set_pointer",
            Edit::Remove(..) => "remove",
            Edit::RemovePointer(..) => "remove_pointer",
            Edit::Rename(..) => "rename",
            Edit::Clear => "clear",
            Edit::Move(..) => "move",
            Edit::Hang(..) => "hang",
            Edit::Discard(..) => "discard",
            Edit::Element(..) => "element",
            Edit::Push(..) => "push",
            Edit::Insert(..) => "insert",
            Edit::Take(..) => "take",
            Edit::Pop => "pop",
            Edit::Truncate(..) => "truncate",
            Edit::Swap(..) => "swap",
            Edit::Reserve(..) => "reserve",
            Edit::Rotate(..) => "rotate",
            Edit::Root(..) => "root",
            Edit::Compact => "compact",
        }
    }

    /// How it hands over its value.
    pub fn how(&self) -> Option<How> {
        match self {
            Edit::Set(_, given)
            | Edit::SetPointer(_, given)
            | Edit::Element(_, given)
            | Edit::Push(given)
            | Edit::Insert(_, given)
            | Edit::Root(given) => Some(given.how),
            _ => None,
        }
    }
}

fn step<'t>(tree: &'t Tree, part: &str) -> Option<&'t Tree> {
    match tree {
        Tree::Object(members, _) => {
            members.iter().find(|member| member.0 == part).map(|member| &member.1)
        }
        Tree::Array(elements) => elements.get(part.parse::<usize>().ok()?),
        _ => None,
    }
}

/// The value at a path.
pub fn at<'t>(tree: &'t Tree, path: &[String]) -> Option<&'t Tree> {
    path.iter().try_fold(tree, |tree, part| step(tree, part))
}

/// The same, to be changed.
///
/// # Panics
/// Where nothing is there.
pub fn at_mut<'t>(tree: &'t mut Tree, path: &[String]) -> &'t mut Tree {
    path.iter().fold(tree, |tree, part| match tree {
        Tree::Object(members, _) => {
            &mut members.iter_mut().find(|member| member.0 == *part).expect("a member").1
        }
        Tree::Array(elements) => &mut elements[part.parse::<usize>().expect("an index")],
        _ => panic!("nothing is below a scalar"),
    })
}

/// A container on a random way down. The tree must be one.
pub fn pick(tree: &Tree, input: &mut Input<'_>) -> Path {
    let (mut tree, mut path) = (tree, Path::new());
    loop {
        let (part, child) = match tree {
            Tree::Array(elements) if !elements.is_empty() && input.below(5) > 0 => {
                let index = input.below(elements.len());
                (index.to_string(), &elements[index])
            }
            Tree::Object(members, _) if !members.is_empty() && input.below(4) > 0 => {
                let member = &members[input.below(members.len())];
                (member.0.clone(), &member.1)
            }
            _ => return path,
        };
        if !child.is_container() {
            return path;
        }
        path.push(part);
        tree = child;
    }
}

/// Where a detached child of `path` can be hung once it is gone.
fn elsewhere(
    root: &Tree,
    path: &[String],
    child: &str,
    input: &mut Input<'_>,
) -> (Path, Option<String>) {
    let mut rest = root.clone();
    take(at_mut(&mut rest, path), child);
    let target = pick(&rest, input);
    let key = match at(&rest, &target) {
        Some(Tree::Object(..)) => Some(format!("key {}", input.below(11))),
        _ => None,
    };
    (target, key)
}

/// Chooses an edit of the container at `path`. Whole-document edits are rare.
///
/// # Panics
/// Where no container is there.
pub fn choose(root: &Tree, path: &[String], input: &mut Input<'_>) -> Edit {
    let target = at(root, path).expect("a container");
    if input.one_in(100) {
        return match input.below(3) {
            0 => {
                let tree = Tree::Array((0..6).map(|_| object(input, 0)).collect());
                Edit::Root(Given::new(tree, input))
            }
            _ => Edit::Compact,
        };
    }
    let below = |part: String| [path, &[part]].concat();
    // Moving copies the tree: not in large ones.
    let movable = |input: &mut Input<'_>| input.one_in(2) && root.count() < 4_000;
    match target {
        Tree::Object(members, _) => {
            let some = |input: &mut Input<'_>| match members.len() {
                0 => "none".to_owned(),
                count => members[input.below(count)].0.clone(),
            };
            let any = |input: &mut Input<'_>| match input.below(15) {
                0 => "k".repeat(300),
                1 => "new".to_owned(),
                2 => "another new".to_owned(),
                key => format!("key {}", key % 10),
            };
            match input.below(16) {
                0 => Edit::Remove(some(input)),
                1 => Edit::RemovePointer(below(some(input))),
                2 | 3 => Edit::Rename(some(input), any(input)),
                4 if input.below(4) == 0 => Edit::Clear,
                4 if !members.is_empty() => Edit::Discard(some(input)),
                5 => Edit::Move(some(input), any(input)),
                6 if !members.is_empty() && movable(input) => {
                    let from = some(input);
                    let (to, key) = elsewhere(root, path, &from, input);
                    Edit::Hang(from, to, key)
                }
                7 => {
                    let value = fresh(input);
                    Edit::Set(any(input), Given::new(value, input))
                }
                8..=10 => {
                    let key = input.below(14);
                    let value = like(key, input, 1);
                    Edit::Set(format!("key {key}"), Given::new(value, input))
                }
                11 => Edit::Reserve(input.below(40)),
                12 => {
                    let value = scalar(input);
                    Edit::SetPointer(below(any(input)), Given::new(value, input))
                }
                _ => {
                    let value = scalar(input);
                    Edit::Set(any(input), Given::new(value, input))
                }
            }
        }
        Tree::Array(elements) => {
            let count = elements.len();
            let index = |input: &mut Input<'_>| input.below(count.max(1));
            let value = |input: &mut Input<'_>| {
                let tree = match input.below(5) {
                    0 => fresh(input),
                    1 => scalar(input),
                    // Like one that is there, and changed a little.
                    2 if count > 0 => {
                        let mut tree = elements[input.below(count)].clone();
                        if tree.count() > 300 {
                            tree = Tree::Null;
                        }
                        vary(&mut tree, input);
                        tree
                    }
                    _ => object(input, 0),
                };
                Given::new(tree, input)
            };
            match input.below(19) {
                0..=2 => Edit::Push(value(input)),
                3 | 4 => Edit::Insert(input.below(count + 1), value(input)),
                5 | 6 if count > 0 => Edit::Take(index(input)),
                7 if input.below(4) == 0 => Edit::Truncate(input.below(count + 1)),
                7 if input.below(8) == 0 => Edit::Clear,
                8 | 9 if count > 0 => Edit::Swap(index(input), index(input)),
                10 => Edit::Reserve(input.below(20)),
                11 if count > 0 => Edit::Rotate(index(input)),
                12 if count > 0 && movable(input) => {
                    let from = index(input).to_string();
                    let (to, key) = elsewhere(root, path, &from, input);
                    Edit::Hang(from, to, key)
                }
                13 => Edit::Pop,
                14 if count > 0 => Edit::RemovePointer(below(index(input).to_string())),
                14 => Edit::SetPointer(below("-".into()), value(input)),
                15 if count > 0 => Edit::SetPointer(below(index(input).to_string()), value(input)),
                16 if count > 0 => Edit::Discard(index(input).to_string()),
                _ if count > 0 => Edit::Element(index(input), value(input)),
                _ => Edit::Push(value(input)),
            }
        }
        _ => panic!("not a container"),
    }
}

/// Changes a value a little, null among containers first of all.
fn vary(tree: &mut Tree, input: &mut Input<'_>) {
    match tree {
        Tree::Array(elements) if !elements.is_empty() => {
            let index = input.below(elements.len());
            match input.below(4) {
                0 => elements[index] = Tree::Null,
                1 => elements.push(Tree::Null),
                _ => vary(&mut elements[index], input),
            }
        }
        Tree::Object(members, _) if !members.is_empty() => {
            let index = input.below(members.len());
            match input.below(4) {
                0 => members[index].1 = Tree::Null,
                1 => drop(members.remove(index)),
                _ => vary(&mut members[index].1, input),
            }
        }
        Tree::Int(value) => *value = input.below(1 << 12) as i64,
        _ => {}
    }
}

// --- on a tree ------------------------------------------------------------------

fn find(members: &[(String, Tree)], key: &str) -> Option<usize> {
    members.iter().position(|member| member.0 == key)
}

fn put(tree: &mut Tree, part: &str, value: Tree) {
    match tree {
        Tree::Object(members, _) => match find(members, part) {
            Some(at) => members[at].1 = value,
            None => members.push((part.to_owned(), value)),
        },
        Tree::Array(elements) if part == "-" => elements.push(value),
        Tree::Array(elements) => elements[part.parse::<usize>().expect("an index")] = value,
        _ => panic!("not a container"),
    }
}

fn take(tree: &mut Tree, part: &str) -> Option<Tree> {
    match tree {
        Tree::Object(members, _) => find(members, part).map(|at| members.remove(at).1),
        Tree::Array(elements) => {
            let index: usize = part.parse().ok()?;
            (index < elements.len()).then(|| elements.remove(index))
        }
        _ => None,
    }
}

/// Does the edit of the container at `path` to the tree.
///
/// # Panics
/// Where it does not fit.
pub fn apply(root: &mut Tree, path: &[String], edit: &Edit) {
    match edit {
        Edit::Root(given) => return *root = given.tree.clone(),
        Edit::Compact => return,
        Edit::SetPointer(path, given) => {
            let (last, path) = path.split_last().expect("not the root");
            return put(at_mut(root, path), last, given.tree.clone());
        }
        Edit::RemovePointer(path) => {
            let (last, path) = path.split_last().expect("not the root");
            return drop(take(at_mut(root, path), last));
        }
        Edit::Hang(from, to, key) => {
            if let Some(value) = take(at_mut(root, path), from) {
                put(at_mut(root, to), key.as_deref().unwrap_or("-"), value);
            }
            return;
        }
        _ => {}
    }
    let target = at_mut(root, path);
    match edit {
        Edit::Set(key, given) => put(target, key, given.tree.clone()),
        Edit::Remove(part) | Edit::Discard(part) => drop(take(target, part)),
        Edit::Move(from, to) => {
            if let Some(value) = take(target, from) {
                put(target, to, value);
            }
        }
        Edit::Push(given) => put(target, "-", given.tree.clone()),
        Edit::Element(index, given) => put(target, &index.to_string(), given.tree.clone()),
        Edit::Take(index) => drop(take(target, &index.to_string())),
        Edit::Reserve(_) => {}
        _ => match (target, edit) {
            (Tree::Object(members, _), Edit::Rename(from, to)) => {
                if let (Some(at), None) = (find(members, from), find(members, to)) {
                    members[at].0.clone_from(to);
                }
            }
            (Tree::Object(members, _), Edit::Clear) => members.clear(),
            (Tree::Array(elements), Edit::Clear) => elements.clear(),
            (Tree::Array(elements), Edit::Insert(index, given)) => {
                elements.insert(*index, given.tree.clone());
            }
            (Tree::Array(elements), Edit::Pop) => drop(elements.pop()),
            (Tree::Array(elements), Edit::Truncate(length)) => elements.truncate(*length),
            (Tree::Array(elements), Edit::Swap(a, b)) => elements.swap(*a, *b),
            (Tree::Array(elements), Edit::Rotate(index)) => {
                let value = elements.remove(*index);
                elements.push(value);
            }
            _ => panic!("{edit:?} does not fit"),
        },
    }
}

/// Where what was at `path` is after an edit of the container at `target`; `None` where it
/// is gone. `before`: what the whole tree was.
///
/// # Panics
/// Where the path does not exist.
pub fn follow(path: &[String], target: &[String], before: &Tree, edit: &Edit) -> Option<Path> {
    let whole = path.to_vec();
    let (target, edit) = match edit {
        Edit::Root(_) | Edit::Compact => return None,
        Edit::SetPointer(to, given) => {
            let (last, to) = to.split_last()?;
            (to, Edit::Set(last.clone(), given.clone()))
        }
        Edit::RemovePointer(from) => {
            let (last, from) = from.split_last()?;
            (from, Edit::Remove(last.clone()))
        }
        Edit::Hang(from, to, key) => {
            let child = [target, std::slice::from_ref(from)].concat();
            let mut rest = before.clone();
            take(at_mut(&mut rest, target), from)?;
            let place = match (key, at(&rest, to)) {
                (Some(key), _) => key.clone(),
                (None, Some(Tree::Array(elements))) => elements.len().to_string(),
                _ => return None,
            };
            let hung = [to.as_slice(), &[place]].concat();
            if path.starts_with(&child) {
                return Some([&hung, &path[child.len()..]].concat());
            }
            let shifted = follow(path, target, before, &Edit::Remove(from.clone()))?;
            // What the detached value replaces is gone, with all below it.
            return (!shifted.starts_with(&hung)).then_some(shifted);
        }
        other => (target, other.clone()),
    };
    if path.len() <= target.len() || !path.starts_with(target) {
        return Some(whole);
    }
    let part = &path[target.len()];
    let moved = match at(before, target)? {
        Tree::Object(members, _) => {
            let has = |key: &str| find(members, key).is_some();
            match &edit {
                Edit::Set(key, _) | Edit::Remove(key) | Edit::Discard(key) if key == part => {
                    return None;
                }
                Edit::Clear => return None,
                Edit::Rename(from, to) if from == part && !has(to) => to.clone(),
                Edit::Move(from, to) if from == part => to.clone(),
                Edit::Move(from, to) if to == part && has(from) => return None,
                _ => part.clone(),
            }
        }
        Tree::Array(elements) => {
            let index: usize = part.parse().ok()?;
            let gone =
                |at: usize| if index == at { None } else { Some(index - (index > at) as usize) };
            let index = match &edit {
                Edit::Element(at, _) if *at == index => return None,
                Edit::Set(key, _) if *key == *part => return None,
                Edit::Take(at) => gone(*at)?,
                Edit::Remove(at) | Edit::Discard(at) => gone(at.parse().ok()?)?,
                Edit::Pop => gone(elements.len().checked_sub(1)?)?,
                Edit::Clear => return None,
                Edit::Truncate(length) if index >= *length => return None,
                Edit::Insert(at, _) if index >= *at => index + 1,
                Edit::Swap(a, b) if index == *a => *b,
                Edit::Swap(a, b) if index == *b => *a,
                Edit::Rotate(at) if index == *at => elements.len() - 1,
                Edit::Rotate(at) if index > *at => index - 1,
                _ => index,
            };
            index.to_string()
        }
        _ => return None,
    };
    Some([target, &[moved], &path[target.len() + 1..]].concat())
}

/// Whether two values are equal, members in any order.
pub fn equal(a: &Tree, b: &Tree) -> bool {
    match (a, b) {
        (Tree::Array(a), Tree::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Tree::Object(a, _), Tree::Object(b, _)) => {
            a.len() == b.len()
                && a.iter().enumerate().all(|(place, (key, value))| {
                    let same = b.get(place).filter(|member| member.0 == *key);
                    same.or_else(|| b.iter().find(|member| member.0 == *key))
                        .is_some_and(|member| equal(value, &member.1))
                })
        }
        _ => a == b,
    }
}

// --- on a document --------------------------------------------------------------

/// Does the edit to the container at `path`. Detaching and hanging are two edits:
/// `between` is given the bytes after the first. Where the second fails the value is
/// discarded.
///
/// # Errors
/// What the editor says.
///
/// # Panics
/// Where the container is not there, or a detached value cannot be discarded.
pub fn perform<S: Storage>(
    doc: &mut Editor<S>,
    path: &[String],
    edit: &Edit,
    between: &mut dyn FnMut(&[u8]),
) -> Result<()> {
    let node = doc.find(&pointer(path))?.expect("a container");
    let is_array = doc.value(node)?.kind() == livebuf::Kind::Array;
    let index = |part: &str| part.parse::<usize>().expect("an index");
    let detach = |doc: &mut Editor<S>, part: &str| {
        if is_array { doc.detach(node, index(part)) } else { doc.detach(node, part) }
    };
    let mut hang = |doc: &mut Editor<S>, part: &str, to: &[String], key: Option<&str>| {
        let Some(detached) = detach(doc, part)? else { return Ok(()) };
        between(doc.as_bytes());
        let bytes = doc.as_bytes().to_vec();
        let hung = doc.find(&pointer(to)).and_then(|node| {
            let node = node.expect("a container");
            match key {
                Some(key) => doc.set(node, key, &detached),
                None => doc.push(node, &detached),
            }
        });
        if hung.is_err() {
            assert!(bytes == doc.as_bytes(), "refused to hang, but changed used bytes");
            doc.discard(detached).expect("what is not hung can be discarded");
        }
        hung.map(drop)
    };
    match edit {
        Edit::Set(key, given) => given.with(|new| doc.set(node, key.as_str(), new)).map(drop),
        Edit::SetPointer(path, given) => {
            given.with(|new| doc.set_pointer(&pointer(path), new)).map(drop)
        }
        Edit::Remove(key) => doc.remove(node, key.as_str()).map(drop),
        Edit::RemovePointer(path) => doc.remove_pointer(&pointer(path)).map(drop),
        Edit::Rename(from, to) => match doc.rename(node, from, to) {
            Err(error) if matches!(error.kind(), ErrorKind::KeyExists | ErrorKind::NotFound) => {
                Ok(())
            }
            other => other,
        },
        Edit::Clear => doc.clear(node),
        Edit::Move(from, to) => hang(doc, from, path, Some(to)),
        Edit::Hang(from, to, key) => hang(doc, from, to, key.as_deref()),
        Edit::Rotate(index) => hang(doc, &index.to_string(), path, None),
        Edit::Discard(part) => match detach(doc, part)? {
            Some(detached) => {
                between(doc.as_bytes());
                doc.discard(detached)
            }
            None => Ok(()),
        },
        Edit::Element(index, given) => given.with(|new| doc.set(node, *index, new)).map(drop),
        Edit::Push(given) => given.with(|new| doc.push(node, new)).map(drop),
        Edit::Insert(index, given) => given.with(|new| doc.insert(node, *index, new)).map(drop),
        Edit::Take(index) => doc.remove(node, *index).map(drop),
        Edit::Pop => doc.pop(node).map(drop),
        Edit::Truncate(length) => doc.truncate(node, *length),
        Edit::Swap(a, b) => doc.swap(node, *a, *b),
        Edit::Reserve(count) => doc.reserve(node, *count),
        Edit::Root(given) => given.with(|new| doc.set_root(new)).map(drop),
        Edit::Compact => doc.compact(),
    }
}

/// A document's whole value.
///
/// # Panics
/// Where it cannot be read.
pub fn read<S: Storage>(doc: &Editor<S>) -> Tree {
    Tree::read(doc.doc().root(), &mut Budget::AMPLE.clone()).expect("readable")
}

/// A handle that was taken before an edit is stale, or leads to the same container.
/// `after`: where that is now. Whether it is good.
///
/// # Panics
/// Where it leads elsewhere.
pub fn check_handle(doc: &DocBuf, handle: NodeId, after: Option<&[String]>, tree: &Tree) -> bool {
    match (doc.value(handle), after) {
        (Err(error), _) => {
            assert_eq!(error.kind(), ErrorKind::StaleHandle);
            false
        }
        (Ok(_), None) => panic!("a handle to what is gone is good"),
        (Ok(value), Some(path)) => {
            let found = Tree::read(value, &mut Budget::AMPLE.clone()).expect("readable");
            let expected = at(tree, path).expect("there");
            assert!(equal(&found, expected), "{path:?}: {found:?}");
            true
        }
    }
}
