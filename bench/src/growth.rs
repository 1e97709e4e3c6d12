//! Owns growth: the same operation on stored bytes of 10² to 10⁶ entries, its time and the bytes
//! and pages that it writes, against text and MessagePack, which are parsed and written anew, and
//! against maps and vectors in memory. Look-ups and pushes go on to 10⁷. Then the bytes that a
//! document has after up to a million edits.
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
/// Where only look-ups and pushes are measured, by full runs.
const LARGEST: usize = 10_000_000;
/// Edits of a batch, which is then taken back.
const EDITS: usize = 32;
/// Edits before the last ones whose bytes are counted: by then they have made themselves room.
const BEFORE: usize = 1_000;
/// What an edit makes dirty in a mapped file.
const PAGE: u64 = 4096;

type Map = BTreeMap<String, i64>;
type Packed<T> = fn(&T) -> Result<Vec<u8>>;
type Parsed<T> = fn(&[u8]) -> Result<T>;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    for size in SIZES.into_iter().filter(|size| *size <= effort.largest_map) {
        map(size, effort, report)?;
        array(size, effort, report)?;
    }
    if effort.largest_map > 100_000 {
        // Parsing takes seconds here, so all take turns once only.
        let effort = Effort { minimum_rounds: 1, ..effort };
        let (map, _) = entries(LARGEST);
        let document = document_of(&map)?;
        look_up(&document, &map, &drawn(&map)[..EDITS], effort, report)?;
        drop((map, document));
        push_number(LARGEST, effort, report)?;
    }
    after_edits(effort, report)
}

/// A map of so many entries, and keys that it does not have: as many as edits are counted.
fn entries(size: usize) -> (Map, Vec<String>) {
    let mut random = Rng::with_seed(size as u64);
    let mut key = || (0..16).map(|_| random.alphanumeric()).collect::<String>();
    let (mut map, mut absent) = (Map::new(), Vec::new());
    while map.len() < size {
        let number = map.len() as i64;
        map.insert(key(), number);
    }
    while absent.len() < BEFORE + EDITS {
        absent.push(key());
    }
    (map, absent)
}

/// Keys of the map, drawn at random, and copied: as many as edits are counted, but not most of it.
fn drawn(map: &Map) -> Vec<String> {
    let mut keys: Vec<&String> = map.keys().collect();
    Rng::with_seed(1).shuffle(&mut keys);
    keys.truncate((BEFORE + EDITS).min(map.len() * 4 / 5));
    keys.into_iter().cloned().collect()
}

/// What edits change, each by itself, on average.
#[derive(Clone, Copy)]
struct Changed {
    bytes: f64,
    pages: f64,
}

/// Pages that have any of these bytes. The ranges are in order.
fn pages_of(ranges: impl Iterator<Item = (u64, u64)>) -> u64 {
    let (mut pages, mut next) = (0, 0);
    for (start, length) in ranges.filter(|(_, length)| *length > 0) {
        let first = (start / PAGE).max(next);
        let end = (start + length).div_ceil(PAGE);
        pages += end.saturating_sub(first);
        next = next.max(end);
    }
    pages
}

/// What the first edits change, and the last of these.
fn changed<T>(
    document: &DocBuf,
    places: &[T],
    edit: impl Fn(&mut DocBuf, NodeId, &T) -> livebuf::Result<()>,
) -> Result<[Changed; 2]> {
    let storage = VecStorage::from_slice(document.as_bytes())?;
    let mut editor = Editor::open_unvalidated(storage)?;
    editor.validate()?;
    let root = editor.root_id().context("no root")?;
    let mut each = Vec::new();
    for place in places {
        editor.listen(Recorder::new(editor.as_bytes()));
        edit(&mut editor, root, place)?;
        let length = editor.as_bytes().len() as u64;
        let recorder = editor.stop_listening::<Recorder>().context("recorded")?;
        let ranges = recorder.ranges(length);
        let bytes = ranges.iter().map(|(_, length)| length).sum::<u64>();
        each.push((bytes, pages_of(ranges.iter().copied())));
    }
    let mean = |edits: &[(u64, u64)]| Changed {
        bytes: edits.iter().map(|(bytes, _)| bytes).sum::<u64>() as f64 / edits.len() as f64,
        pages: edits.iter().map(|(_, pages)| pages).sum::<u64>() as f64 / edits.len() as f64,
    };
    Ok([mean(&each[..EDITS]), mean(&each[each.len() - EDITS..])])
}

/// Reports these, beside all bytes and pages of formats that are written as a whole.
fn bytes<T: Serialize + DeserializeOwned>(
    task: &str,
    size: usize,
    [first, later]: [Changed; 2],
    value: &T,
    report: &mut Report,
) -> Result<()> {
    let ours = |amount: fn(Changed) -> f64| {
        vec![
            Entry::amount("livebuf", amount(first)),
            Entry::amount("livebuf, later edits", amount(later)),
        ]
    };
    let (mut bytes, mut pages) = (ours(|changed| changed.bytes), ours(|changed| changed.pages));
    for (name, pack, _) in whole::<T>() {
        let length = pack(value)?.len() as u64;
        bytes.push(Entry::amount(name, length as f64));
        pages.push(Entry::amount(name, length.div_ceil(PAGE) as f64));
    }
    report.entries(format!("growth/{task}, bytes written/{size}"), "B", bytes);
    report.entries(format!("pages that an edit touches/{task}/{size}"), "pages", pages);
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

fn document_of(map: &Map) -> Result<DocBuf> {
    let mut document = DocBuf::new()?;
    let root = document.set_root(New::object(map.len()))?.context("no root")?;
    for (key, number) in map {
        document.set(root, key.as_str(), *number)?;
    }
    Ok(document)
}

fn find(document: &DocBuf, key: &str) -> Option<i64> {
    document.valid().ok()?.root().as_object()?.get(key)?.as_i64()
}

fn look_up(
    document: &DocBuf,
    map: &Map,
    keys: &[String],
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
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
    report.times(format!("growth/look-up/{}", map.len()), &contest.run(effort));
    Ok(())
}

fn map(size: usize, effort: Effort, report: &mut Report) -> Result<()> {
    let (map, all_absent) = &entries(size);
    let document = &document_of(map)?;
    let all_keys = &drawn(map);
    let (keys, absent) = (&all_keys[..EDITS], &all_absent[..EDITS]);
    look_up(document, map, keys, effort, report)?;

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

    let ours = changed(document, all_absent, |editor, root, key| {
        editor.set(root, key.as_str(), 7).map(drop)
    })?;
    bytes("insert", size, ours, map, report)?;
    let ours = changed(document, all_keys, |editor, root, key| {
        editor.remove(root, key.as_str()).map(drop)
    })?;
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

fn push_number(size: usize, effort: Effort, report: &mut Report) -> Result<()> {
    let numbers: Vec<i64> = (0..size as i64).map(|number| number * 7919 % 1_000_003).collect();
    pushes("push a number", &numbers, &12_345, New::Int(12_345), effort, report)
}

/// An array of numbers that is pushed to, and one of objects that is appended to.
fn array(size: usize, effort: Effort, report: &mut Report) -> Result<()> {
    push_number(size, effort, report)?;

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

    let ours = changed(&document, &[(); BEFORE + EDITS], |editor, root, ()| {
        editor.push(root, new).map(drop)
    })?;
    bytes(task, size, ours, values, report)
}

/// Entries of the map that is edited for long.
const EDITED: usize = 10_000;

/// The bytes of a map of texts after so many edits: each sets an entry to a text of another
/// length, removes one, or inserts one. It keeps about as many entries.
fn after_edits(effort: Effort, report: &mut Report) -> Result<()> {
    let mut random = Rng::with_seed(7);
    let text = |random: &mut Rng| -> String {
        let length = random.usize(0..60);
        (0..length).map(|_| random.alphanumeric()).collect()
    };
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    for key in 0..EDITED {
        expected.insert(format!("key {key}"), text(&mut random));
    }
    let mut document = livebuf::to_doc(&expected)?;
    let root = document.root_id().context("no root")?;
    let most = if effort.largest_map > 100_000 { 10_000_000 } else { 100_000 };
    let mut edits = 0;
    let mut until = 100;
    while until <= most {
        while edits < until {
            let key = format!("key {}", random.usize(..EDITED * 5 / 4));
            if random.u8(..5) == 0 {
                document.remove(root, key.as_str())?;
                expected.remove(&key);
            } else {
                let new = text(&mut random);
                document.set(root, key.as_str(), new.as_str())?;
                expected.insert(key, new);
            }
            edits += 1;
        }
        let found: BTreeMap<String, String> = livebuf::from_doc(document.doc())?;
        ensure!(found == expected, "another map after {edits} edits");
        let mut compacted = document.clone();
        compacted.compact()?;
        let mut entries = vec![
            Entry::amount("livebuf", document.as_bytes().len() as f64),
            Entry::amount("livebuf, compacted then", compacted.as_bytes().len() as f64),
        ];
        for (name, pack, _) in whole::<BTreeMap<String, String>>() {
            entries.push(Entry::amount(name, pack(&expected)?.len() as f64));
        }
        report.entries(format!("bytes after so many edits of a map/{until}"), "B", entries);
        until *= 10;
    }
    Ok(())
}
