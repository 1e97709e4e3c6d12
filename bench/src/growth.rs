//! Owns growth: the same operation on stored bytes of 10² to 10⁶ entries, its time and the bytes
//! that it writes, against text and MessagePack, which are parsed and written anew, and against
//! maps and vectors in memory.
//!
//! Keys come in random order. Each edit is taken back before the next batch, outside of the time.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cpu_time::ThreadTime;
use fastrand::Rng;
use livebuf::{DocBuf, Editor, New, NodeId, Recorder, VecStorage};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::report::Report;
use crate::timing::{Contest, Effort, Entry, counted};

const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// Edits of a batch, which is then taken back.
const EDITS: usize = 32;

type Map = BTreeMap<String, i64>;
type Packed<T> = fn(&T) -> Result<Vec<u8>>;
type Parsed<T> = fn(&[u8]) -> Result<T>;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    for size in SIZES.into_iter().filter(|size| *size <= effort.largest_map) {
        map(size, effort, report)?;
        array(size, effort, report)?;
    }
    Ok(())
}

/// A map of so many entries, and as many keys as a batch sets that it does not have.
fn entries(size: usize) -> (Map, Vec<String>) {
    let mut random = Rng::with_seed(size as u64);
    let mut key = || (0..16).map(|_| random.alphanumeric()).collect::<String>();
    let (mut map, mut absent) = (Map::new(), Vec::new());
    while map.len() < size {
        let number = map.len() as i64;
        map.insert(key(), number);
    }
    while absent.len() < EDITS {
        absent.push(key());
    }
    (map, absent)
}

/// Keys of the map, drawn at random, and copied.
fn drawn(map: &Map) -> Vec<String> {
    let mut keys: Vec<&String> = map.keys().collect();
    Rng::with_seed(1).shuffle(&mut keys);
    keys.into_iter().take(EDITS).cloned().collect()
}

/// Bytes that edits change, each by itself, on average.
fn changed<T>(
    document: &DocBuf,
    places: &[T],
    edit: impl Fn(&mut Editor<VecStorage, Recorder>, NodeId, &T) -> livebuf::Result<()>,
) -> Result<f64> {
    let storage = VecStorage::from_slice(document.as_bytes())?;
    let mut editor = Editor::open_unvalidated_with(storage, Recorder::default())?;
    editor.validate()?;
    let root = editor.root_id().context("no root")?;
    let mut sum = 0;
    for place in places {
        let recorder = Recorder::new(editor.as_bytes());
        *editor.observer_mut() = recorder;
        edit(&mut editor, root, place)?;
        let length = editor.as_bytes().len() as u64;
        sum += editor.observer().ranges(length).iter().map(|(_, length)| length).sum::<u64>();
    }
    Ok(sum as f64 / places.len() as f64)
}

/// Reports these bytes, beside all bytes of formats that are written as a whole.
fn bytes<T: Serialize + DeserializeOwned>(
    task: &str,
    size: usize,
    ours: f64,
    value: &T,
    report: &mut Report,
) -> Result<()> {
    let mut entries = vec![Entry::bytes("livebuf", ours)];
    for (name, pack, _) in whole::<T>() {
        entries.push(Entry::bytes(name, pack(value)?.len() as f64));
    }
    report.entries(format!("growth/{task}, bytes written/{size}"), "B", entries);
    Ok(())
}

fn json<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(value)?)
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    Ok(serde_json::from_slice(bytes)?)
}

fn message_pack<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    Ok(rmp_serde::to_vec(value)?)
}

fn from_message_pack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    Ok(rmp_serde::from_slice(bytes)?)
}

/// Formats that are parsed and written as a whole.
fn whole<T: Serialize + DeserializeOwned>() -> [(&'static str, Packed<T>, Parsed<T>); 2] {
    [
        ("JSON, parsed and written by serde_json", json::<T>, from_json::<T>),
        ("MessagePack, by rmp-serde", message_pack::<T>, from_message_pack::<T>),
    ]
}

/// The time of some work, and then untimed work.
fn timed<S>(state: &mut S, work: impl FnOnce(&mut S), back: impl FnOnce(&mut S)) -> Duration {
    let start = ThreadTime::now();
    counted(|| work(black_box(state)));
    let elapsed = start.elapsed();
    back(state);
    elapsed
}

/// A document and its root, which an edit may move.
struct Ours {
    document: DocBuf,
    root: NodeId,
}

impl Ours {
    fn new(document: &DocBuf) -> Result<Ours> {
        let document = document.clone();
        let root = document.root_id().context("no root")?;
        Ok(Ours { document, root })
    }

    fn insert(&mut self, keys: &[String]) {
        for key in keys {
            let _ = black_box(self.document.set(self.root, key.as_str(), 7));
        }
    }

    fn remove(&mut self, keys: &[String]) {
        for key in keys {
            let _ = black_box(self.document.remove(self.root, key.as_str()));
        }
    }
}

fn insert(map: &mut Map, keys: &[String]) {
    for key in keys {
        black_box(map.insert(key.clone(), 7));
    }
}

fn remove(map: &mut Map, keys: &[String]) {
    for key in keys {
        black_box(map.remove(key));
    }
}

fn map(size: usize, effort: Effort, report: &mut Report) -> Result<()> {
    let (map, absent) = &entries(size);
    let mut document = DocBuf::new()?;
    let root = document.set_root(New::object(size))?.context("no root")?;
    for (key, number) in map {
        document.set(root, key.as_str(), *number)?;
    }
    let document = &document;
    let keys = &drawn(map);

    let find = |document: &DocBuf, key: &str| {
        document.valid().ok()?.root().as_object()?.get(key)?.as_i64()
    };
    for key in keys {
        ensure!(find(document, key) == map.get(key).copied(), "{key} is another number");
    }
    let mut contest = Contest::new();
    contest.add("livebuf", keys.len(), || {
        keys.iter().filter_map(|key| find(black_box(document), key)).fold(0, i64::wrapping_add)
    });
    contest.add("BTreeMap in memory", keys.len(), || {
        keys.iter().filter_map(|key| black_box(map).get(key)).fold(0, |sum, it| sum ^ it)
    });
    for (name, pack, parse) in whole::<Map>() {
        let bytes = pack(map)?;
        ensure!(parse(&bytes)? == *map, "{name} gives another map");
        let mut turns = keys.iter().cycle();
        contest.add(name, 1, move || parse(black_box(&bytes)).ok()?.get(turns.next()?).copied());
    }
    report.times(format!("growth/look-up/{size}"), &contest.run(effort));

    let mut edited = Ours::new(document)?;
    edited.insert(absent);
    ensure!(absent.iter().all(|key| find(&edited.document, key) == Some(7)), "no such keys");
    edited.remove(absent);
    let object = edited.document.doc().root().as_object()?.context("no object")?;
    ensure!(object.len() == size, "{} entries", object.len());

    let mut contest = Contest::new();
    let mut ours = Ours::new(document)?;
    contest.add_timed("livebuf", EDITS, move || {
        timed(&mut ours, |ours| ours.insert(absent), |ours| ours.remove(absent))
    });
    let mut theirs = map.clone();
    contest.add_timed("BTreeMap in memory", EDITS, move || {
        timed(&mut theirs, |map| insert(map, absent), |map| remove(map, absent))
    });
    rewrite(&mut contest, map, |map| insert(map, &absent[..1]))?;
    report.times(format!("growth/insert/{size}"), &contest.run(effort));

    let mut contest = Contest::new();
    let mut ours = Ours::new(document)?;
    contest.add_timed("livebuf", keys.len(), move || {
        timed(&mut ours, |ours| ours.remove(keys), |ours| ours.insert(keys))
    });
    let mut theirs = map.clone();
    contest.add_timed("BTreeMap in memory", keys.len(), move || {
        timed(&mut theirs, |map| remove(map, keys), |map| insert(map, keys))
    });
    rewrite(&mut contest, map, |map| remove(map, &keys[..1]))?;
    report.times(format!("growth/remove/{size}"), &contest.run(effort));

    let ours =
        changed(document, absent, |editor, root, key| editor.set(root, key.as_str(), 7).map(drop))?;
    bytes("insert", size, ours, map, report)?;
    let ours =
        changed(document, keys, |editor, root, key| editor.remove(root, key.as_str()).map(drop))?;
    bytes("remove", size, ours, map, report)
}

/// Adds those that parse all, change it and write all.
fn rewrite<'a, T: Serialize + DeserializeOwned + 'a>(
    contest: &mut Contest<'a>,
    value: &T,
    change: impl Fn(&mut T) + Copy + 'a,
) -> Result<()> {
    for (name, pack, parse) in whole::<T>() {
        let bytes = pack(value)?;
        contest.add(name, 1, move || {
            let mut value = parse(black_box(&bytes))?;
            change(&mut value);
            pack(&value)
        });
    }
    Ok(())
}

#[derive(Clone, PartialEq, Serialize, serde::Deserialize)]
struct Row {
    id: i64,
    name: String,
    score: f64,
}

fn new_row(id: usize) -> Row {
    Row { id: id as i64, name: format!("user {}", id * 7919 % 10_007), score: id as f64 / 8.0 }
}

/// An array of numbers that is pushed to, and one of objects that is appended to.
fn array(size: usize, effort: Effort, report: &mut Report) -> Result<()> {
    let numbers: Vec<i64> = (0..size as i64).map(|number| number * 7919 % 1_000_003).collect();
    pushes("push a number", &numbers, &12_345, New::Int(12_345), effort, report)?;

    let rows: Vec<Row> = (0..size).map(new_row).collect();
    let row = new_row(size);
    let new = livebuf::to_doc(&row)?;
    pushes("append an object", &rows, &row, New::from(new.doc()), effort, report)
}

fn pushes<T: Clone + PartialEq + Serialize + DeserializeOwned>(
    task: &str,
    values: &Vec<T>,
    added: &T,
    new: New<'_>,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let size = values.len();
    let document = livebuf::to_doc(values)?;
    let mut edited = document.clone();
    let root = edited.root_id().context("no root")?;
    edited.push(root, new)?;
    let found: Vec<T> = livebuf::from_doc(edited.doc())?;
    ensure!(found.len() == size + 1 && found.last() == Some(added), "{task}: another array");

    let mut contest = Contest::new();
    let mut ours = document.clone();
    let root = ours.root_id().context("no root")?;
    contest.add_timed("livebuf", EDITS, move || {
        let push = |ours: &mut DocBuf| {
            (0..EDITS).all(|_| black_box(ours.push(root, new)).is_ok());
        };
        timed(&mut ours, push, |ours| {
            (0..EDITS).rev().all(|at| ours.remove(root, size + at).is_ok());
        })
    });
    let mut theirs = values.clone();
    contest.add_timed("Vec in memory", EDITS, move || {
        let push = |vector: &mut Vec<T>| (0..EDITS).for_each(|_| vector.push(added.clone()));
        timed(&mut theirs, push, |vector| vector.truncate(size))
    });
    rewrite(&mut contest, values, |values| values.push(added.clone()))?;
    report.times(format!("growth/{task}/{size}"), &contest.run(effort));

    let ours =
        changed(&document, &[(); EDITS], |editor, root, ()| editor.push(root, new).map(drop))?;
    bytes(task, size, ours, values, report)
}
