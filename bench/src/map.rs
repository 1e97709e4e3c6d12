//! Owns large objects: look-ups, building one by one and removing, against
//! `BTreeMap<String, i64>` filled in the same order.
//!
//! Keys come in random order. Look-ups use copies of the keys that lie one
//! after the other, so that fetching the wanted key costs neither side a miss.
//! Both own their keys: building clones the `String` for the `BTreeMap`.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use livebuf::{DocBuf, New, Object, Valid};

use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort, Outcome, Place};

const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Look-ups between two turns of the competitors.
const WINDOW: usize = 10_000;

#[derive(Clone, Copy)]
enum Style {
    /// 16 random letters and digits.
    Random,
    /// A prefix that all keys share, then 8 random digits.
    Prefixed,
}

impl Style {
    fn name(self) -> &'static str {
        match self {
            Style::Random => "random keys",
            Style::Prefixed => "common prefix",
        }
    }

    /// Times the `BTreeMap`, for hits.
    fn hit_target(self) -> f64 {
        match self {
            Style::Random => 0.9,
            Style::Prefixed => 1.1,
        }
    }

    fn key(self, rng: &mut Rng) -> String {
        match self {
            Style::Random => (0..16).map(|_| rng.alphanumeric()).collect(),
            Style::Prefixed => format!("measurement/sensor/{:08}", rng.u32(..100_000_000)),
        }
    }
}

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    for style in [Style::Random, Style::Prefixed] {
        for size in SIZES.into_iter().filter(|size| *size <= effort.largest_map) {
            run_size(style, size, effort, report)?;
        }
    }
    Ok(())
}

/// Keys in the map, in the order of insertion, and as many that are not.
fn keys(style: Style, size: usize) -> (Vec<String>, Vec<String>) {
    let mut rng = Rng::with_seed(size as u64);
    let mut distinct = BTreeSet::new();
    while distinct.len() < 2 * size {
        distinct.insert(style.key(&mut rng));
    }
    let mut keys: Vec<String> = distinct.into_iter().collect();
    rng.shuffle(&mut keys);
    let absent = keys.split_off(size);
    (keys, absent)
}

/// The same keys in another order, copied in that order.
fn reordered(keys: &[String], rng: &mut Rng) -> Vec<String> {
    let mut order: Vec<&String> = keys.iter().collect();
    rng.shuffle(&mut order);
    order.into_iter().cloned().collect()
}

fn build_btree(keys: &[String]) -> BTreeMap<String, i64> {
    let mut map = BTreeMap::new();
    for (index, key) in keys.iter().enumerate() {
        map.insert(key.clone(), index as i64);
    }
    map
}

fn build_document(keys: &[String]) -> Result<DocBuf> {
    let mut document = DocBuf::new()?;
    let root = document.set_root(New::object(0))?.context("no root")?;
    for (index, key) in keys.iter().enumerate() {
        document.set(root, key.as_str(), index as i64)?;
    }
    Ok(document)
}

fn object_of(document: &DocBuf) -> Option<Object<'_, Valid>> {
    document.valid().ok()?.root().as_object()
}

fn check(
    object: Object<'_, Valid>,
    map: &BTreeMap<String, i64>,
    keys: &[String],
    absent: &[String],
) -> Result<()> {
    ensure!(object.len() == map.len());
    for key in keys {
        let value = object.get(key.as_str()).and_then(|value| value.as_i64());
        ensure!(value.is_some() && value.as_ref() == map.get(key), "{key}: {value:?}");
    }
    for key in absent {
        ensure!(object.get(key.as_str()).is_none() && !map.contains_key(key), "{key} is absent");
    }
    ensure!(object.keys().eq(keys.iter().map(String::as_str)), "keys in another order");
    let ordered = object.range(..).map(|(key, _)| key);
    ensure!(ordered.eq(map.keys().map(String::as_str)), "ordered keys in another order");
    Ok(())
}

/// Goes through all keys, a window at each turn.
struct Windows<'k> {
    keys: &'k [String],
    start: usize,
}

impl<'k> Windows<'k> {
    fn new(keys: &'k [String]) -> Self {
        Windows { keys, start: 0 }
    }

    fn next(&mut self) -> &'k [String] {
        let window = &self.keys[self.start..][..WINDOW.min(self.keys.len())];
        self.start = (self.start + window.len()) % self.keys.len();
        window
    }
}

fn run_size(style: Style, size: usize, effort: Effort, report: &mut Report) -> Result<()> {
    let (keys, absent) = keys(style, size);
    let map = &build_btree(&keys);
    let document = build_document(&keys)?;
    let object = object_of(&document).context("no object")?;
    check(object, map, &keys, &absent)?;
    let mut rows = Rows { style, size, report };

    let mut rng = Rng::with_seed(0);
    for (task, lookups, target) in [
        ("hits", reordered(&keys, &mut rng), Target::AtMost(style.hit_target())),
        ("misses", reordered(&absent, &mut rng), Target::AtMost(1.0)),
    ] {
        let mut contest = Contest::new();
        let mut windows = Windows::new(&lookups);
        let ours = contest.add("livebuf", WINDOW.min(size), move || {
            let object = black_box(object);
            let values = windows.next().iter().filter_map(|key| object.get(key.as_str())?.as_i64());
            values.fold(0, i64::wrapping_add)
        });
        let mut windows = Windows::new(&lookups);
        let theirs = contest.add("BTreeMap", WINDOW.min(size), move || {
            let map = black_box(map);
            let values = windows.next().iter().filter_map(|key| map.get(key.as_str()));
            values.copied().fold(0, i64::wrapping_add)
        });
        rows.add(task, target, &contest.run(effort), ours, theirs);
    }

    let lookups = reordered(&keys, &mut rng);
    let mut contest = Contest::new();
    let (mut windows, mut edited) = (Windows::new(&lookups), document.clone());
    let root = edited.root_id().context("no root")?;
    let ours = contest.add("livebuf", WINDOW.min(size), move || {
        let set = |key: &String| edited.set(root, key.as_str(), 7).is_ok();
        windows.next().iter().map(set).filter(|&set| set).count()
    });
    let (mut windows, mut edited) = (Windows::new(&lookups), map.clone());
    let theirs = contest.add("BTreeMap", WINDOW.min(size), move || {
        let set = |key: &String| edited.get_mut(key.as_str()).map(|value| *value = 7).is_some();
        windows.next().iter().map(set).filter(|&set| set).count()
    });
    rows.add("overwriting", Target::None, &contest.run(effort), ours, theirs);

    let mut contest = Contest::new();
    let ours = contest.add_consuming("livebuf", size, || keys.as_slice(), build_document);
    let theirs = contest.add_consuming("BTreeMap", size, || keys.as_slice(), build_btree);
    rows.add("building", Target::AtMost(1.0), &contest.run(effort), ours, theirs);

    let order = reordered(&keys, &mut rng);
    let order = order.as_slice();
    let emptied = remove_from_document(document.clone(), order)?;
    ensure!(object_of(&emptied).is_some_and(|object| object.is_empty()), "removing left keys");
    ensure!(remove_from_btree(map.clone(), order).is_empty());
    let mut contest = Contest::new();
    let ours = contest.add_consuming(
        "livebuf",
        size,
        || document.clone(),
        |document| remove_from_document(document, order),
    );
    let theirs = contest.add_consuming(
        "BTreeMap",
        size,
        || build_btree(&keys),
        |map| remove_from_btree(map, order),
    );
    rows.add("removals", Target::AtMost(1.0), &contest.run(effort), ours, theirs);
    Ok(())
}

fn remove_from_btree(mut map: BTreeMap<String, i64>, keys: &[String]) -> BTreeMap<String, i64> {
    for key in keys {
        black_box(map.remove(key));
    }
    map
}

fn remove_from_document(mut document: DocBuf, keys: &[String]) -> Result<DocBuf> {
    let root = document.root_id().context("no root")?;
    for key in keys {
        black_box(document.remove(root, key.as_str())?);
    }
    Ok(document)
}

/// Where the rows of one map go.
struct Rows<'r> {
    style: Style,
    size: usize,
    report: &'r mut Report,
}

impl Rows<'_> {
    fn add(&mut self, task: &str, target: Target, outcome: &Outcome, ours: Place, theirs: Place) {
        let name = format!("map/{}/{}/{task}", self.style.name(), self.size);
        self.report.times(&name, outcome);
        self.report.add(
            name,
            Measured::Ratio(outcome.ratio(ours, theirs)),
            target,
            format!(
                "{}, BTreeMap {}",
                duration(outcome.nanoseconds(ours)),
                duration(outcome.nanoseconds(theirs)),
            ),
        );
    }
}
