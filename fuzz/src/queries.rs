//! Queries against a naive evaluator over plain trees: the same values and normalized paths in
//! the same order, whatever the document's layout; edits of all matches against edits of the
//! tree; and any text, which is a query or is refused where it errs.

use crate::changes::{self, Path, at_mut};
use crate::fresh;
use crate::input::Input;
use crate::samples;
use crate::tree::{Budget, Tree};
use livebuf::{Checked, DocBuf, ErrorKind, Extended, Mode, New, Result, Valid, Value};
use livebuf_query::{Query, remove_all, set_all, update_all};
use std::cmp::Ordering;

/// Queries of one input.
const ROUNDS: usize = 12;
/// Values above which a document is not queried.
const ENOUGH: usize = 1_500;
/// Steps of the naive evaluator after which a query is left.
const STEPS: usize = 60_000;

/// What a run met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// Queries whose matches were compared.
    pub queries: usize,
    /// Of these, queries with at least one match.
    pub found: usize,
    /// Matches.
    pub matches: usize,
    /// Queries that took the naive evaluator too long.
    pub left: usize,
    /// Texts by chance that are queries, and that are not.
    pub texts: [usize; 2],
    /// Matches that were set, removed and updated.
    pub edited: [usize; 3],
}

/// Decodes a document and queries from any bytes.
///
/// # Panics
/// Where an answer is not what it should be.
pub fn run(data: &[u8]) -> Met {
    let mut input = Input::new(data);
    let mut met = Met::default();
    let seed = u64::from(input.word());
    let (tree, documents) = match seed % 4 {
        0 => {
            let (_, doc) = samples::grown(seed);
            // Edits leave the members of rows in another order than the tree's.
            (Tree::of_valid(doc.valid().expect("valid").root()), vec![doc])
        }
        1 => both(samples::tree(seed)),
        _ => both(fresh::tree(&mut input, 4)),
    };
    let tree = tree.without_tensors();
    if tree.count() > ENOUGH {
        return met;
    }
    let mut pool = Pool::default();
    pool.fill(&tree);
    for _ in 0..ROUNDS {
        if input.is_empty() {
            break;
        }
        let aimed = if input.one_in(2) { aimed(&tree, &mut input) } else { None };
        let path = aimed.unwrap_or_else(|| path(&pool, &mut input, true, 0));
        let text = path.text(&mut input);
        crate::note(|| format!("{text}\n{tree:?}"));
        asked(&tree, &documents, &path, &text, &mut met);
        match input.below(6) {
            0 => edited(&tree, &path, &text, &mut input, &mut met),
            1 => any_text(&documents, text, &mut input, &mut met),
            _ => {}
        }
    }
    met
}

fn both(tree: Tree) -> (Tree, Vec<DocBuf>) {
    let documents = vec![tree.to_document(), tree.to_records()];
    (tree, documents)
}

/// A match: its normalized path and its value.
type Found = (String, Tree);

fn found<'d, M: Mode>(
    query: &Query,
    root: Value<'d, M>,
    read: impl Fn(Value<'d, M>) -> Tree,
) -> Result<Vec<Found>> {
    let placed: Vec<Found> = query
        .find(root)
        .map(|found| {
            let found = found?;
            Ok((found.location().to_string(), read(found.value()).without_tensors()))
        })
        .collect::<Result<_>>()?;
    let values = query.values(root).map(|value| Ok(read(value?).without_tensors()));
    let values = values.collect::<Result<Vec<_>>>()?;
    let same = placed.len() == values.len() && placed.iter().zip(&values).all(|(a, b)| a.1.same(b));
    assert!(same, "with places and without: {query}");
    Ok(placed)
}

fn read_checked(value: Value<'_, Checked>) -> Tree {
    Tree::read(value, &mut { Budget::AMPLE }).expect("sound")
}

fn read_valid(value: Value<'_, Valid>) -> Tree {
    Tree::of_valid(value)
}

fn same(one: &[Found], two: &[Found]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(a, b)| a.0 == b.0 && a.1.same(&b.1))
}

/// All matches, from documents of every layout.
fn asked(tree: &Tree, documents: &[DocBuf], path: &Asked, text: &str, met: &mut Met) {
    let query = Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut naive = Naive { root: tree, steps: STEPS };
    let Some(nodes) = naive.nodes(path, tree) else {
        met.left += 1;
        return;
    };
    let wanted: Vec<Found> =
        nodes.iter().map(|node| (node.normalized(), node.value.clone())).collect();
    for doc in documents {
        for found in [
            found(&query, doc.doc().root(), read_checked),
            found(&query, doc.valid().expect("valid").root(), read_valid),
        ] {
            let found = found.unwrap_or_else(|error| panic!("{text}: {error:?}\n{tree:?}"));
            assert!(same(&found, &wanted), "{text}\n{found:?}\n{wanted:?}\n{tree:?}");
        }
    }
    met.queries += 1;
    met.found += usize::from(!wanted.is_empty());
    met.matches += wanted.len();
}

// --- any text -------------------------------------------------------------------------

const TOKENS: [&str; 40] = [
    "$",
    "@",
    ".",
    "..",
    "[",
    "]",
    "(",
    ")",
    "?",
    "*",
    ",",
    ":",
    "==",
    "!=",
    "<=",
    ">",
    "&&",
    "||",
    "!",
    "'",
    "\"",
    "\\",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "0",
    "-0",
    "1e400",
    "9007199254740992",
    "null",
    "true",
    "length(",
    "count(",
    "match(",
    "search(",
    "value(",
    " ",
    "\n",
    "é",
    "\u{0}",
];

/// A query changed by chance, or any text: no panic, a place of the error, and the same answer
/// from every layout.
fn any_text(documents: &[DocBuf], text: String, input: &mut Input<'_>, met: &mut Met) {
    let mut text: Vec<char> = match input.one_in(6) {
        true => String::from_utf8_lossy(input.take(24)).chars().collect(),
        false => text.chars().collect(),
    };
    for _ in 0..1 + input.below(3) {
        let place = input.below(text.len() + 1);
        match input.below(4) {
            0 if place < text.len() => drop(text.remove(place)),
            1 if place < text.len() => {
                let end = place + 1 + input.below(8).min(text.len() - place - 1);
                let copy: Vec<char> = text[place..end].to_vec();
                let to = input.below(text.len() + 1);
                text.splice(to..to, copy);
            }
            _ => drop(text.splice(place..place, input.pick(&TOKENS).chars())),
        }
    }
    let text: String = text.into_iter().collect();
    let query = match Query::parse(&text) {
        Ok(query) => query.with_budget(20_000),
        Err(error) => {
            met.texts[1] += 1;
            let before = text.get(..error.offset()).expect("at a character");
            assert_eq!(error.column(), before.chars().count() + 1, "{text}");
            assert_eq!(error.found(), text[error.offset()..].chars().next(), "{text}");
            return;
        }
    };
    met.texts[0] += 1;
    assert_eq!(query.to_string(), text);
    let mut first: Option<Vec<Found>> = None;
    for doc in documents {
        let valid = found(&query, doc.valid().expect("valid").root(), read_valid);
        let checked = found(&query, doc.doc().root(), read_checked);
        for found in [checked, valid] {
            match found {
                Ok(found) => {
                    if let Some(first) = &first {
                        assert!(same(first, &found), "{text}\n{first:?}\n{found:?}");
                    }
                    first = Some(found);
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::BudgetExceeded, "{text}: {error:?}");
                }
            }
        }
    }
    // A normalized path is a query of one value.
    for (path, value) in first.iter().flatten().take(8) {
        let query = Query::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(query.is_singular(), "{path}");
        let again = query.first(&documents[0]).expect("sound").expect("there");
        assert!(read_checked(again.value()).without_tensors().same(value), "{path}");
        assert_eq!(again.location().to_string(), *path);
    }
}

// --- edits of all matches -------------------------------------------------------------

/// How values are updated: integers by one, containers of an even count to it, all else is left.
fn updated(tree: &Tree) -> Option<Tree> {
    match tree {
        Tree::Int(value) => Some(Tree::Int(value.wrapping_add(1))),
        Tree::Array(elements) if elements.len() % 2 == 0 => Some(Tree::Int(elements.len() as i64)),
        Tree::Object(members, _) if members.len() % 2 == 0 => Some(Tree::Int(members.len() as i64)),
        _ => None,
    }
}

fn edited(tree: &Tree, path: &Asked, text: &str, input: &mut Input<'_>, met: &mut Met) {
    let mut naive = Naive { root: tree, steps: STEPS };
    let Some(nodes) = naive.nodes(path, tree) else { return };
    let mut places: Vec<Path> = nodes.iter().map(Node::pointer_parts).collect();
    let mut steps: Vec<Vec<At>> = nodes.into_iter().map(|node| node.steps).collect();
    // Elements with the greatest index first, what lies within before it.
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| steps[b].cmp(&steps[a]));
    order.dedup_by(|a, b| places[*a] == places[*b]);
    places = order.iter().map(|&at| places[at].clone()).collect();
    steps = order.iter().map(|&at| steps[at].clone()).collect();
    let outer: Vec<Path> = (0..places.len())
        .filter(|&at| {
            let within =
                |outer: &Vec<At>| outer.len() < steps[at].len() && steps[at].starts_with(outer);
            !steps.iter().any(within)
        })
        .map(|at| places[at].clone())
        .collect();
    let query = Query::parse(text).expect("a query");
    let new = changes::fresh(input).without_tensors();
    let what = || format!("{text}\n{tree:?}");
    let choice = input.below(3);
    for mut doc in [tree.to_document(), tree.to_records()] {
        let before = doc.to_vec();
        let mut model = tree.clone();
        let (done, count) = match choice {
            0 => {
                for place in &outer {
                    *at_mut(&mut model, place) = new.clone();
                }
                let new = new.to_document();
                (set_all(&mut doc, &query, new.doc().root()), outer.len())
            }
            1 if outer.iter().any(Vec::is_empty) => {
                let error = remove_all(&mut doc, &query).expect_err("the root stays");
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{}", what());
                assert_eq!(doc.as_bytes(), before, "{}", what());
                continue;
            }
            1 => {
                for place in &outer {
                    let (last, parent) = place.split_last().expect("not the root");
                    match at_mut(&mut model, parent) {
                        Tree::Array(elements) => {
                            elements.remove(last.parse().expect("an index"));
                        }
                        Tree::Object(members, _) => members.retain(|member| member.0 != *last),
                        _ => unreachable!("a container"),
                    }
                }
                (remove_all(&mut doc, &query), outer.len())
            }
            _ => {
                let mut count = 0;
                for place in &places {
                    let value = at_mut(&mut model, place);
                    if let Some(new) = updated(value) {
                        *value = new;
                        count += 1;
                    }
                }
                let update = |value: Value<'_, Checked>| {
                    Ok(match updated(&read_checked(value)) {
                        Some(Tree::Int(new)) => Some(New::Int(new)),
                        _ => None,
                    })
                };
                (update_all(&mut doc, &query, update), count)
            }
        };
        assert_eq!(done.as_ref().ok(), Some(&count), "{done:?}: {}", what());
        doc.doc().validate().unwrap_or_else(|error| panic!("{error:?}: {}", what()));
        let after = changes::read(&doc).without_tensors();
        assert!(changes::equal(&after, &model), "{}\n{after:?}\n{model:?}", what());
        met.edited[choice] += count;
    }
}

// --- queries as data ------------------------------------------------------------------

/// A query: from the root or from the value that is looked at.
#[derive(Clone, Debug)]
struct Asked {
    absolute: bool,
    segments: Vec<(bool, Vec<Selector>)>,
}

#[derive(Clone, Debug)]
enum Selector {
    Name(String),
    Wildcard,
    Index(i64),
    Slice(Option<i64>, Option<i64>, Option<i64>),
    Filter(Filter),
}

#[derive(Clone, Debug)]
enum Filter {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    Not(Box<Filter>),
    Exists(Asked),
    Compare(Operand, &'static str, Operand),
    Matches(bool, Operand, usize),
}

#[derive(Clone, Debug)]
enum Operand {
    Literal(Tree),
    One(Asked),
    Length(Box<Operand>),
    Count(Asked),
    Value(Asked),
}

/// Names and scalars of a document, which queries ask for.
#[derive(Default)]
struct Pool {
    names: Vec<String>,
    scalars: Vec<Tree>,
}

impl Pool {
    fn fill(&mut self, tree: &Tree) {
        match tree {
            Tree::Array(elements) => elements.iter().for_each(|element| self.fill(element)),
            Tree::Object(members, _) => {
                for (name, value) in members {
                    self.names.push(name.clone());
                    self.fill(value);
                }
            }
            scalar => self.scalars.push(scalar.clone()),
        }
    }

    fn name(&self, input: &mut Input<'_>) -> String {
        match self.names.is_empty() || input.one_in(9) {
            true => fresh::key(input),
            false => self.names[input.below(self.names.len())].clone(),
        }
    }

    /// A literal: null, a boolean, text, or a number that text can name.
    fn literal(&self, input: &mut Input<'_>) -> Tree {
        let scalar = match self.scalars.is_empty() || input.one_in(3) {
            true => fresh::scalar(input),
            false => self.scalars[input.below(self.scalars.len())].clone(),
        };
        match scalar {
            Tree::Float(bits) if !f64::from_bits(bits).is_finite() => Tree::Int(0),
            // Beside what is there.
            Tree::Int(value) if input.one_in(3) => Tree::Int(value.saturating_add(1)),
            Tree::Int(value) if input.one_in(3) => Tree::Float((value as f64).to_bits()),
            Tree::Number(text) => Tree::Number(text),
            Tree::Extended(Extended::Decimal(value)) => Tree::Number(value.to_string()),
            other => match text_of(&other) {
                Some(text) => Tree::String(text),
                None if other.is_container() || matches!(other, Tree::Tensor(_)) => Tree::Null,
                None => other,
            },
        }
    }
}

fn path(pool: &Pool, input: &mut Input<'_>, absolute: bool, depth: usize) -> Asked {
    let count = if depth == 0 { 1 + input.below(4) } else { input.below(3) };
    let mut segments = Vec::new();
    for _ in 0..count {
        let several = if input.one_in(5) { 2 + input.below(2) } else { 1 };
        let selectors = (0..several).map(|_| selector(pool, input, depth)).collect();
        segments.push((input.one_in(5), selectors));
    }
    Asked { absolute, segments }
}

/// The arrays of two objects or more, with the ways to them.
fn tables<'t>(node: Node<'t>, found: &mut Vec<(Vec<At>, &'t [Tree])>) {
    if let Tree::Array(rows) = node.value
        && rows.iter().filter(|row| matches!(row, Tree::Object(..))).count() > 1
    {
        found.push((node.steps.clone(), rows));
    }
    node.children().into_iter().for_each(|child| tables(child, found));
}

/// A query that compares a field of rows with what is there, and asks for fields of those: mostly
/// a scan of columns, where the rows are a table.
fn aimed(tree: &Tree, input: &mut Input<'_>) -> Option<Asked> {
    let mut found = Vec::new();
    tables(Node { steps: Vec::new(), value: tree }, &mut found);
    if found.is_empty() {
        return None;
    }
    let (steps, rows) = &found[input.below(found.len())];
    let one = |selector| (false, vec![selector]);
    let mut segments: Vec<_> = steps
        .iter()
        .map(|step| match step {
            At::Key(key) => one(Selector::Name(key.clone())),
            At::Index(index) => one(Selector::Index(*index as i64)),
        })
        .collect();
    // A way of names that some row has, and all that is there in any row.
    let names = |input: &mut Input<'_>| {
        let (mut names, mut values) = (Vec::new(), rows.iter().collect::<Vec<&Tree>>());
        while names.len() < 3 && !(names.len() == 1 && input.one_in(3)) {
            let members = match values[input.below(values.len())] {
                Tree::Object(members, _) if !members.is_empty() => members,
                _ => break,
            };
            let name = members[input.below(members.len())].0.clone();
            let below = values.iter().filter_map(|value| match value {
                Tree::Object(members, _) => {
                    members.iter().find(|member| member.0 == name).map(|member| &member.1)
                }
                _ => None,
            });
            values = below.collect();
            names.push(name);
        }
        let scalars = values.into_iter().filter(|value| !value.is_container()).cloned().collect();
        (names, scalars)
    };
    let comparison = |input: &mut Input<'_>| {
        let (names, scalars) = names(input);
        let segments = names.into_iter().map(|name| one(Selector::Name(name))).collect();
        let field = Operand::One(Asked { absolute: false, segments });
        let literal = Operand::Literal(Pool { names: Vec::new(), scalars }.literal(input));
        let comparison = input.pick(&["==", "!=", "<", "<=", ">", ">="]);
        match input.one_in(4) {
            true => Filter::Compare(literal, comparison, field),
            false => Filter::Compare(field, comparison, literal),
        }
    };
    let filter = match input.below(6) {
        0 => Filter::All((0..2).map(|_| comparison(input)).collect()),
        1 => Filter::Any((0..2).map(|_| comparison(input)).collect()),
        _ => comparison(input),
    };
    segments.push(one(match input.below(8) {
        0 => Selector::Wildcard,
        _ => Selector::Filter(filter),
    }));
    if !input.one_in(3) {
        segments.extend(names(input).0.into_iter().map(|name| one(Selector::Name(name))));
    }
    if input.one_in(6) {
        segments.push((input.one_in(2), vec![Selector::Wildcard]));
    }
    Some(Asked { absolute: true, segments })
}

fn selector(pool: &Pool, input: &mut Input<'_>, depth: usize) -> Selector {
    let index = |input: &mut Input<'_>| match input.below(12) {
        0 => 9_007_199_254_740_991,
        1 => -9_007_199_254_740_991,
        _ => input.below(14) as i64 - 5,
    };
    let some = |input: &mut Input<'_>| (!input.one_in(3)).then(|| index(input));
    match input.below(12) {
        0..4 => Selector::Name(pool.name(input)),
        4..6 => Selector::Wildcard,
        6 => Selector::Index(index(input)),
        7 => Selector::Slice(some(input), some(input), some(input)),
        _ if depth < 3 => Selector::Filter(filter(pool, input, depth + 1)),
        _ => Selector::Wildcard,
    }
}

fn filter(pool: &Pool, input: &mut Input<'_>, depth: usize) -> Filter {
    let parts = |input: &mut Input<'_>| {
        (0..2 + input.below(2)).map(|_| filter(pool, input, depth + 1)).collect()
    };
    let absolute = input.one_in(8);
    match input.below(14) {
        0 if depth < 4 => Filter::Any(parts(input)),
        1 | 2 if depth < 4 => Filter::All(parts(input)),
        3 if depth < 4 => Filter::Not(Box::new(filter(pool, input, depth + 1))),
        4 | 5 => Filter::Exists(path(pool, input, absolute, depth)),
        6 => {
            let text = operand(pool, input, depth);
            Filter::Matches(input.one_in(2), text, input.below(PATTERNS.len()))
        }
        _ => {
            let comparison = input.pick(&["==", "!=", "<", "<=", ">", ">="]);
            let (one, two) = (operand(pool, input, depth), Operand::Literal(pool.literal(input)));
            match input.below(5) {
                0 => Filter::Compare(two, comparison, one),
                1 => Filter::Compare(one, comparison, operand(pool, input, depth)),
                _ => Filter::Compare(one, comparison, two),
            }
        }
    }
}

fn operand(pool: &Pool, input: &mut Input<'_>, depth: usize) -> Operand {
    let absolute = input.one_in(8);
    match input.below(12) {
        0 => Operand::Literal(pool.literal(input)),
        1 if depth < 4 => Operand::Length(Box::new(operand(pool, input, depth + 1))),
        2 => Operand::Count(path(pool, input, absolute, depth)),
        3 => Operand::Value(path(pool, input, absolute, depth)),
        _ => {
            let one = |input: &mut Input<'_>| match input.one_in(5) {
                true => Selector::Index(input.below(6) as i64 - 2),
                false => Selector::Name(pool.name(input)),
            };
            let segments = (0..input.below(3)).map(|_| (false, vec![one(input)])).collect();
            Operand::One(Asked { absolute, segments })
        }
    }
}

/// An expression: its text, whether it is all of a text, and whether it is somewhere in it.
type Pattern = (&'static str, fn(&str) -> bool, fn(&str) -> bool);

const PATTERNS: [Pattern; 7] = [
    ("a", |text| text == "a", |text| text.contains('a')),
    (".*", |text| !text.contains(['\n', '\r']), |_| true),
    (
        "[a-c]+",
        |text| !text.is_empty() && text.chars().all(|letter| matches!(letter, 'a'..='c')),
        |text| text.contains(['a', 'b', 'c']),
    ),
    ("(se|ei).*(7|8)", pair, |text| (0..text.len()).any(|at| inner(text, at))),
    ("a{2,}", |text| text.len() > 1 && text.bytes().all(|b| b == b'a'), |text| text.contains("aa")),
    (
        "[^a]",
        |text| text.chars().count() == 1 && text != "a",
        |text| text.chars().any(|c| c != 'a'),
    ),
    ("a(", |_| false, |_| false),
];

fn pair(text: &str) -> bool {
    let begins = text.starts_with("se") || text.starts_with("ei");
    begins && text.len() > 2 && text.ends_with(['7', '8']) && !text.contains(['\n', '\r'])
}

fn inner(text: &str, at: usize) -> bool {
    let Some(rest) = text.get(at..) else { return false };
    let line = rest.split(['\n', '\r']).next().unwrap_or("");
    line.match_indices(['7', '8']).any(|(end, _)| pair(&line[..end + 1]))
}

// --- their texts ----------------------------------------------------------------------

impl Asked {
    fn text(&self, input: &mut Input<'_>) -> String {
        let mut text = String::from(if self.absolute { "$" } else { "@" });
        for (descendant, selectors) in &self.segments {
            if input.one_in(12) {
                text.push_str(input.pick(&[" ", "\n\t"]));
            }
            if *descendant {
                text.push_str("..");
            }
            let dot = if *descendant { "" } else { "." };
            match &selectors[..] {
                [Selector::Name(name)] if is_short(name) && !input.one_in(4) => {
                    text.push_str(&format!("{dot}{name}"));
                }
                [Selector::Wildcard] if !input.one_in(4) => text.push_str(&format!("{dot}*")),
                _ => {
                    let selectors: Vec<_> =
                        selectors.iter().map(|selector| selector.text(input)).collect();
                    text.push_str(&format!("[{}]", selectors.join(input.pick(&[",", " , "]))));
                }
            }
        }
        text
    }
}

fn is_short(name: &str) -> bool {
    let first = |letter: char| letter.is_ascii_alphabetic() || letter == '_' || !letter.is_ascii();
    name.starts_with(first) && name.chars().all(|letter| first(letter) || letter.is_ascii_digit())
}

impl Selector {
    fn text(&self, input: &mut Input<'_>) -> String {
        let part =
            |number: &Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        match self {
            Selector::Name(name) => quoted(name, input),
            Selector::Wildcard => "*".into(),
            Selector::Index(index) => index.to_string(),
            Selector::Slice(start, end, None) => format!("{}:{}", part(start), part(end)),
            Selector::Slice(start, end, step) => {
                format!("{}:{}: {}", part(start), part(end), part(step))
            }
            Selector::Filter(filter) => format!("?{}", filter.text(input, true)),
        }
    }
}

impl Filter {
    fn text(&self, input: &mut Input<'_>, bare: bool) -> String {
        let mut joined = |parts: &[Filter], with: &str| {
            let parts: Vec<_> = parts.iter().map(|part| part.text(input, false)).collect();
            if bare { parts.join(with) } else { format!("({})", parts.join(with)) }
        };
        match self {
            Filter::Any(parts) => joined(parts, " || "),
            Filter::All(parts) => joined(parts, "&&"),
            Filter::Not(inner) => match **inner {
                Filter::Exists(_) | Filter::Matches(..) => format!("!{}", inner.text(input, false)),
                _ => format!("!({})", inner.text(input, true)),
            },
            Filter::Exists(path) => path.text(input),
            Filter::Compare(one, comparison, two) => {
                let (one, two) = (one.text(input), two.text(input));
                let space = input.pick(&["", " "]);
                format!("{one}{space}{comparison}{space}{two}")
            }
            Filter::Matches(whole, text, pattern) => {
                let name = if *whole { "match" } else { "search" };
                format!("{name}({}, '{}')", text.text(input), PATTERNS[*pattern].0)
            }
        }
    }
}

impl Operand {
    fn text(&self, input: &mut Input<'_>) -> String {
        match self {
            Operand::Literal(Tree::Null) => "null".into(),
            Operand::Literal(Tree::Bool(value)) => value.to_string(),
            Operand::Literal(Tree::Int(value)) => value.to_string(),
            Operand::Literal(Tree::Uint(value)) => value.to_string(),
            Operand::Literal(Tree::Float(bits)) => format!("{:?}", f64::from_bits(*bits)),
            Operand::Literal(Tree::Number(text)) => text.clone(),
            Operand::Literal(Tree::String(text)) => quoted(text, input),
            Operand::Literal(other) => unreachable!("no literal: {other:?}"),
            Operand::One(path) => path.text(input),
            Operand::Length(inner) => format!("length({})", inner.text(input)),
            Operand::Count(path) => format!("count( {} )", path.text(input)),
            Operand::Value(path) => format!("value({})", path.text(input)),
        }
    }
}

fn quoted(name: &str, input: &mut Input<'_>) -> String {
    let quote = input.pick(&['\'', '"']);
    let mut text = String::from(quote);
    for letter in name.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            letter if letter == quote => text.extend(['\\', quote]),
            letter if letter < ' ' || input.one_in(40) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04X}"));
                }
            }
            letter => text.push(letter),
        }
    }
    text.push(quote);
    text
}

// --- the naive evaluator --------------------------------------------------------------

/// A step down. Keys come in any order, but one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Key(String),
    Index(usize),
}

#[derive(Clone, Debug)]
struct Node<'t> {
    steps: Vec<At>,
    value: &'t Tree,
}

impl<'t> Node<'t> {
    fn child(&self, step: At, value: &'t Tree) -> Node<'t> {
        Node { steps: [&self.steps[..], &[step]].concat(), value }
    }

    fn children(&self) -> Vec<Node<'t>> {
        match self.value {
            Tree::Array(elements) => {
                let nodes = elements.iter().enumerate();
                nodes.map(|(index, value)| self.child(At::Index(index), value)).collect()
            }
            Tree::Object(members, _) => {
                members.iter().map(|(key, value)| self.child(At::Key(key.clone()), value)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn pointer_parts(&self) -> Path {
        let part = |step: &At| match step {
            At::Key(key) => key.clone(),
            At::Index(index) => index.to_string(),
        };
        self.steps.iter().map(part).collect()
    }

    fn normalized(&self) -> String {
        let mut text = String::from("$");
        for step in &self.steps {
            match step {
                At::Index(index) => text += &format!("[{index}]"),
                At::Key(key) => {
                    text += "['";
                    for letter in key.chars() {
                        match letter {
                            '\u{8}' => text += "\\b",
                            '\u{9}' => text += "\\t",
                            '\u{a}' => text += "\\n",
                            '\u{c}' => text += "\\f",
                            '\u{d}' => text += "\\r",
                            '\'' => text += "\\'",
                            '\\' => text += "\\\\",
                            control if control < ' ' => {
                                text += &format!("\\u{:04x}", u32::from(control));
                            }
                            other => text.push(other),
                        }
                    }
                    text += "']";
                }
            }
        }
        text
    }
}

struct Naive<'t> {
    root: &'t Tree,
    steps: usize,
}

impl<'t> Naive<'t> {
    fn spend(&mut self, steps: usize) -> Option<()> {
        self.steps = self.steps.checked_sub(steps)?;
        Some(())
    }

    /// All matches; `None` where that takes too many steps.
    fn nodes(&mut self, path: &Asked, current: &'t Tree) -> Option<Vec<Node<'t>>> {
        let value = if path.absolute { self.root } else { current };
        let mut nodes = vec![Node { steps: Vec::new(), value }];
        for (descendant, selectors) in &path.segments {
            let mut next = Vec::new();
            for node in nodes {
                let mut visited = vec![node];
                if *descendant {
                    self.below(&mut visited)?;
                }
                for node in &visited {
                    for selector in selectors {
                        self.select(node, selector, &mut next)?;
                    }
                }
            }
            nodes = next;
        }
        Some(nodes)
    }

    /// The last with all below it, each before its children.
    fn below(&mut self, nodes: &mut Vec<Node<'t>>) -> Option<()> {
        let children = nodes.last()?.children();
        for child in children {
            self.spend(1)?;
            nodes.push(child);
            self.below(nodes)?;
        }
        Some(())
    }

    fn select(
        &mut self,
        node: &Node<'t>,
        selector: &Selector,
        found: &mut Vec<Node<'t>>,
    ) -> Option<()> {
        self.spend(1)?;
        let children = node.children();
        self.spend(children.len())?;
        let is_array = matches!(node.value, Tree::Array(_));
        let length = children.len() as i64;
        match selector {
            Selector::Name(name) => {
                let named = |child: &&Node<'_>| child.steps.last() == Some(&At::Key(name.clone()));
                found.extend(children.iter().find(named).cloned());
            }
            Selector::Wildcard => found.extend(children),
            Selector::Index(index) if is_array => {
                let index = if *index < 0 { length + index } else { *index };
                if (0..length).contains(&index) {
                    found.push(children[index as usize].clone());
                }
            }
            Selector::Slice(start, end, step) if is_array => {
                let step = step.unwrap_or(1);
                let normal = |index: i64| if index < 0 { length + index } else { index };
                // As the pseudocode of the RFC has it, by looking at every index.
                if step > 0 {
                    let lower = normal(start.unwrap_or(0)).max(0);
                    let upper = normal(end.unwrap_or(length)).min(length);
                    for index in lower..upper.max(lower) {
                        if (index - lower) % step == 0 {
                            found.push(children[index as usize].clone());
                        }
                    }
                } else if step < 0 {
                    let upper = normal(start.unwrap_or(length - 1)).min(length - 1);
                    let lower = normal(end.unwrap_or(-length - 1)).max(-1);
                    for index in (lower + 1..=upper).rev() {
                        if (upper - index) % step == 0 {
                            found.push(children[index as usize].clone());
                        }
                    }
                }
            }
            Selector::Filter(filter) => {
                for child in children {
                    if self.keeps(filter, child.value)? {
                        found.push(child);
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    fn keeps(&mut self, filter: &Filter, current: &'t Tree) -> Option<bool> {
        self.spend(1)?;
        Some(match filter {
            Filter::Any(parts) => {
                let mut any = false;
                for part in parts {
                    any |= self.keeps(part, current)?;
                }
                any
            }
            Filter::All(parts) => {
                let mut all = true;
                for part in parts {
                    all &= self.keeps(part, current)?;
                }
                all
            }
            Filter::Not(inner) => !self.keeps(inner, current)?,
            Filter::Exists(path) => !self.nodes(path, current)?.is_empty(),
            Filter::Compare(one, comparison, two) => {
                let as_literal =
                    |operand: &Operand, value: Option<Tree>, other: &Option<Tree>| match (
                        operand, value, other,
                    ) {
                        (Operand::Literal(_), Some(Tree::Number(text)), Some(Tree::Float(_))) => {
                            Some(near(text))
                        }
                        (_, value, _) => value,
                    };
                let (left, right) = (self.operand(one, current)?, self.operand(two, current)?);
                let one = as_literal(one, left.clone(), &right);
                let two = as_literal(two, right, &left);
                let equal = match (&one, &two) {
                    (None, None) => true,
                    (Some(one), Some(two)) => equal(one, two),
                    _ => false,
                };
                let order = match (&one, &two) {
                    (Some(one), Some(two)) => order(one, two),
                    _ => None,
                };
                match *comparison {
                    "==" => equal,
                    "!=" => !equal,
                    "<" => order == Some(Ordering::Less),
                    "<=" => order == Some(Ordering::Less) || equal,
                    ">" => order == Some(Ordering::Greater),
                    _ => order == Some(Ordering::Greater) || equal,
                }
            }
            Filter::Matches(whole, text, pattern) => {
                let (_, is_whole, is_part) = PATTERNS[*pattern];
                let text = self.operand(text, current)?.as_ref().and_then(text_of);
                text.is_some_and(|text| if *whole { is_whole(&text) } else { is_part(&text) })
            }
        })
    }

    /// The value of an operand: in full `Some(None)` where it is nothing.
    fn operand(&mut self, operand: &Operand, current: &'t Tree) -> Option<Option<Tree>> {
        Some(match operand {
            Operand::Literal(value) => Some(value.clone()),
            Operand::One(path) => self.nodes(path, current)?.first().map(|node| node.value.clone()),
            Operand::Length(inner) => match self.operand(inner, current)? {
                Some(Tree::Array(elements)) => Some(Tree::Int(elements.len() as i64)),
                Some(Tree::Object(members, _)) => Some(Tree::Int(members.len() as i64)),
                Some(other) => text_of(&other).map(|text| Tree::Int(text.chars().count() as i64)),
                None => None,
            },
            Operand::Count(path) => Some(Tree::Int(self.nodes(path, current)?.len() as i64)),
            Operand::Value(path) => match &self.nodes(path, current)?[..] {
                [one] => Some(one.value.clone()),
                _ => None,
            },
        })
    }
}

/// A literal to a double: it is the double next to it, unless that is infinite or it is written
/// as an integer.
fn near(text: String) -> Tree {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && text.contains(['.', 'e', 'E']) => {
            Tree::Float(value.to_bits())
        }
        _ => Tree::Number(text),
    }
}

/// The text that a value is in JSON.
fn text_of(tree: &Tree) -> Option<String> {
    match tree {
        Tree::String(text) => Some(text.clone()),
        Tree::Bytes(bytes) => Some(base64(bytes)),
        Tree::Extended(Extended::Decimal(_)) => None,
        Tree::Extended(value) => Some(value.to_string()),
        _ => None,
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let word = word << (8 * (3 - three.len()));
        for digit in 0..4 {
            let value = word >> (18 - 6 * digit) & 63;
            let letter = char::from(DIGITS[value as usize]);
            text.push(if digit > three.len() { '=' } else { letter });
        }
    }
    text
}

fn equal(one: &Tree, two: &Tree) -> bool {
    match (one, two) {
        (Tree::Array(one), Tree::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| equal(one, two))
        }
        (Tree::Object(one, _), Tree::Object(two, _)) => {
            let find = |key: &str| two.iter().find(|member| member.0 == key);
            one.len() == two.len()
                && one.iter().all(|(key, value)| find(key).is_some_and(|two| equal(value, &two.1)))
        }
        (Tree::Null, Tree::Null) => true,
        (Tree::Bool(one), Tree::Bool(two)) => one == two,
        _ => order(one, two) == Some(Ordering::Equal),
    }
}

fn order(one: &Tree, two: &Tree) -> Option<Ordering> {
    if let (Some(one), Some(two)) = (text_of(one), text_of(two)) {
        return Some(one.chars().cmp(two.chars()));
    }
    let float = |tree: &Tree| match tree {
        Tree::Float(bits) => Some(f64::from_bits(*bits)),
        _ => None,
    };
    let whole = |tree: &Tree| matches!(tree, Tree::Int(_) | Tree::Uint(_));
    let (digits_one, digits_two) = match (float(one), float(two)) {
        (Some(one), Some(two)) => return one.partial_cmp(&two),
        (Some(value), _) if !value.is_finite() && digits(two).is_some() => {
            return value.partial_cmp(&0.0);
        }
        (_, Some(value)) if !value.is_finite() && digits(one).is_some() => {
            return 0.0.partial_cmp(&value);
        }
        // Exactly, in binary.
        (Some(value), _) if whole(two) => (decimal(&format!("{value:.1100}")), digits(two)?),
        (_, Some(value)) if whole(one) => (digits(one)?, decimal(&format!("{value:.1100}"))),
        _ => (digits(one)?, digits(two)?),
    };
    let sign = |number: &Digits| match (number.1.is_empty(), number.0) {
        (true, _) => 0,
        (_, true) => -1,
        _ => 1,
    };
    let by_size = digits_one.2.cmp(&digits_two.2).then_with(|| digits_one.1.cmp(&digits_two.1));
    Some(match (sign(&digits_one), sign(&digits_two)) {
        (1, 1) => by_size,
        (-1, -1) => by_size.reverse(),
        (one, two) => one.cmp(&two),
    })
}

/// A sign, digits without zeros at their ends, and the exponent of the point before them.
type Digits = (bool, String, i64);

fn digits(tree: &Tree) -> Option<Digits> {
    Some(match tree {
        Tree::Int(value) => decimal(&value.to_string()),
        Tree::Uint(value) => decimal(&value.to_string()),
        Tree::Float(bits) => decimal(&format!("{:e}", f64::from_bits(*bits))),
        Tree::Number(text) => decimal(text),
        Tree::Extended(Extended::Decimal(value)) => decimal(&value.to_string()),
        _ => return None,
    })
}

fn decimal(text: &str) -> Digits {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.trim_start_matches('-').to_owned() + fraction;
    let significant = digits.trim_start_matches('0');
    let zeros = digits.len() - significant.len();
    let point = whole.trim_start_matches('-').len() as i64 - zeros as i64;
    let exponent: i64 = exponent.parse().unwrap_or(0);
    (text.starts_with('-'), significant.trim_end_matches('0').to_owned(), point + exponent)
}
