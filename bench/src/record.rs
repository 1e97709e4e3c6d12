//! Owns the field of a record: by a name known at run time, by a remembered key
//! (also over objects of alternating shapes), and bound.
//!
//! Names are drawn at random, so a branch predictor cannot learn them all. One
//! operation is one lookup and one `as_i64`; lookups may overlap in the processor.

use std::hint::black_box;
use std::ops::RangeInclusive;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use livebuf::{Bound, Doc, DocBuf, Key, Lookup, Object, Valid};

use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};
use crate::yyjson::Document;

/// (fields, nanoseconds) by a name known at run time.
const NAME_TARGETS: [(usize, f64); 3] = [(3, 20.0), (20, 25.0), (100, 45.0)];
/// Keys of at most 7 bytes are compared as one word.
const SHORT_KEY_TARGET: f64 = 7.0;
const LONG_KEY_TARGET: f64 = 12.0;
const BOUND_TARGET: f64 = 3.0;
const LOOKUPS: usize = 4096;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    for (fields, target) in NAME_TARGETS {
        by_name(fields, target, effort, report)?;
    }
    by_key("short", 4..=7, SHORT_KEY_TARGET, effort, report)?;
    by_key("long", 8..=20, LONG_KEY_TARGET, effort, report)
}

/// Distinct names of random lower-case letters.
fn random_names(count: usize, lengths: RangeInclusive<usize>, rng: &mut Rng) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(count);
    while names.len() < count {
        let length = rng.usize(lengths.clone());
        let name: String = (0..length).map(|_| rng.lowercase()).collect();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// An object with the names in some order; each one's value is its place in `places`.
fn object_of(names: &[&String], places: &[String]) -> serde_json::Value {
    let place = |name: &String| places.iter().position(|each| each == name);
    names.iter().map(|name| (name.as_str(), place(name))).collect()
}

fn by_name(fields: usize, target: f64, effort: Effort, report: &mut Report) -> Result<()> {
    let mut rng = Rng::with_seed(fields as u64);
    let names = random_names(fields, 3..=14, &mut rng);
    let value = object_of(&names.iter().collect::<Vec<_>>(), &names);
    let json = serde_json::to_vec(&value)?;
    let bytes = livebuf_json::from_slice(&json)?;
    let object =
        Doc::open(bytes.as_bytes())?.validate()?.root().as_object().context("no object")?;
    let parsed = Document::parse(&json).context("yyjson refuses the object")?;
    let parsed = parsed.root();
    let map = value.as_object().context("no object")?;

    for (index, name) in names.iter().enumerate() {
        let index = Some(index as i64);
        ensure!(object.get(name.as_str()).and_then(|value| value.as_i64()) == index);
        ensure!(
            parsed.get(name).and_then(|value| value.as_u64()).map(|value| value as i64) == index
        );
        ensure!(map.get(name).and_then(|value| value.as_i64()) == index);
    }
    ensure!(object.get("absent").is_none() && parsed.get("absent").is_none());

    let lookups: Vec<&str> = (0..LOOKUPS).map(|_| names[rng.usize(..fields)].as_str()).collect();
    let lookups = lookups.as_slice();
    let mut contest = Contest::new();
    let ours = contest.add("livebuf", LOOKUPS, || {
        let object = black_box(object);
        sum(lookups, |name| object.get(name)?.as_i64())
    });
    let yyjson = contest.add("yyjson's tree", LOOKUPS, || {
        let parsed = black_box(parsed);
        sum(lookups, |name| parsed.get(name)?.as_u64().map(|value| value as i64))
    });
    let serde_json = contest.add("serde_json's tree", LOOKUPS, || {
        let map = black_box(map);
        sum(lookups, |name| map.get(name)?.as_i64())
    });
    let outcome = contest.run(effort);
    report.times(format!("record/by name/{fields} fields"), &outcome);
    report.add(
        format!("record/by name/{fields} fields"),
        Measured::Nanoseconds(outcome.nanoseconds(ours)),
        Target::AtMost(target),
        format!(
            "random names; yyjson's tree {}, serde_json's {}",
            duration(outcome.nanoseconds(yyjson)),
            duration(outcome.nanoseconds(serde_json)),
        ),
    );
    Ok(())
}

#[inline(always)]
fn sum<'n>(names: &[&'n str], mut get: impl FnMut(&'n str) -> Option<i64>) -> i64 {
    names.iter().fold(0, |sum, name| sum.wrapping_add(get(name).unwrap_or(0)))
}

/// Objects that are walked; they and their shapes fit the first-level cache.
const OBJECTS: usize = 64;
const KEY_FIELDS: usize = 20;
/// Of the 20 fields, those that are read.
const KEYS: usize = 8;

/// An array of objects that are alike but for the order of their fields: each
/// has the next of `shapes` orders.
fn alternating(names: &[String], shapes: usize, rng: &mut Rng) -> Result<DocBuf> {
    let mut order: Vec<&String> = names.iter().collect();
    let orders: Vec<serde_json::Value> = (0..shapes)
        .map(|_| {
            rng.shuffle(&mut order);
            object_of(&order, names)
        })
        .collect();
    let rows = orders.iter().cycle().take(OBJECTS).cloned().collect();
    let json = serde_json::to_vec(&serde_json::Value::Array(rows))?;
    Ok(livebuf_json::from_slice(&json)?)
}

fn by_key(
    kind: &str,
    lengths: RangeInclusive<usize>,
    target: f64,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let mut rng = Rng::with_seed(*lengths.end() as u64);
    let names = random_names(KEY_FIELDS, lengths, &mut rng);
    let wanted: Vec<&String> = rng.choose_multiple(&names, KEYS);
    let places = names.iter().enumerate().filter(|(_, name)| wanted.contains(name));
    let expected = places.map(|(place, _)| place as i64).sum::<i64>() * OBJECTS as i64;

    for shapes in [1, 2, 8] {
        let document = alternating(&names, shapes, &mut rng)?;
        let root = Doc::open(document.as_bytes())?.validate()?.root();
        let array = root.as_array().context("no array")?;
        let objects: Vec<Object<'_, Valid>> =
            array.iter().filter_map(|value| value.as_object()).collect();
        let remembered: Vec<Key<'_>> = wanted.iter().map(|name| Key::new(name)).collect();
        let bound: Vec<Bound<'_, '_>> =
            wanted.iter().filter_map(|name| objects.first()?.bind(name)).collect();
        ensure!(objects.len() == OBJECTS, "some rows are no objects");
        ensure!(sum_by(&objects, &remembered) == expected, "remembered keys find something else");
        ensure!(sum_by(&objects, &bound) == expected, "bound keys find something else");

        let mut contest = Contest::new();
        let remembered = contest.add("livebuf, remembered key", OBJECTS * KEYS, || {
            sum_by(black_box(&objects), black_box(&remembered))
        });
        let bound = contest.add("livebuf, bound key", OBJECTS * KEYS, || {
            sum_by(black_box(&objects), black_box(&bound))
        });
        let outcome = contest.run(effort);
        report.times(format!("record/{kind} key/{shapes} shapes"), &outcome);
        let asked = |limit, most| if shapes <= most { Target::AtMost(limit) } else { Target::None };
        report.add(
            format!("record/remembered {kind} key/{shapes} shapes"),
            Measured::Nanoseconds(outcome.nanoseconds(remembered)),
            asked(target, 2),
            "20 fields, 8 of them read, of objects that change shape from one to the next",
        );
        report.add(
            format!("record/bound {kind} key/{shapes} shapes"),
            Measured::Nanoseconds(outcome.nanoseconds(bound)),
            asked(BOUND_TARGET, 1),
            "bound to the first object's shape; objects of others are searched",
        );
    }
    Ok(())
}

#[inline(always)]
fn sum_by<L>(objects: &[Object<'_, Valid>], keys: &[L]) -> i64
where
    for<'l> &'l L: Lookup,
{
    let mut sum = 0_i64;
    for object in objects {
        for key in keys {
            sum = sum.wrapping_add(object.get(key).and_then(|value| value.as_i64()).unwrap_or(0));
        }
    }
    sum
}
