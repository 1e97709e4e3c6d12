//! Owns long arrays of integers: pushing, the bytes of an element, and random access.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use livebuf::{Array, DocBuf, New, Valid};

use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

const PUSH_TARGET: f64 = 10.0;
/// Bytes of an element of an array that lies last in the document.
const LAST_BYTES_TARGET: f64 = 8.1;
/// Times the data, of an array that cannot grow in place.
const OTHER_BYTES_TARGET: f64 = 2.5;
/// Beyond what `Vec<i64>` pays for the same index: the cache miss.
const GET_TARGET: f64 = 10.0;
/// Random indices between two turns of the competitors.
const WINDOW: usize = 4096;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    for count in [1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        push(count, effort, report)?;
    }
    for count in [1_000, 100_000, 10_000_000] {
        get(count, effort, report)?;
    }
    Ok(())
}

/// Integers that need all 64 bits, so that no narrower column holds them.
fn random_values(count: usize) -> Vec<i64> {
    let mut rng = Rng::with_seed(count as u64);
    (0..count).map(|_| rng.i64(..)).collect()
}

fn build(values: &[i64]) -> Result<DocBuf> {
    let mut document = DocBuf::new()?;
    let array = document.set_root(New::array(0))?.context("no array")?;
    for value in values {
        document.push(array, *value)?;
    }
    Ok(document)
}

/// Two arrays that grow in turns: one of them never lies last.
fn build_two(values: &[i64]) -> Result<DocBuf> {
    let mut document = DocBuf::new()?;
    let root = document.set_root(New::object(2))?.context("no root")?;
    let first = document.set(root, "first", New::array(0))?.context("no array")?;
    let second = document.set(root, "second", New::array(0))?.context("no array")?;
    for pair in values.chunks_exact(2) {
        document.push(first, pair[0])?;
        document.push(second, pair[1])?;
    }
    Ok(document)
}

fn build_vector(values: &[i64]) -> Vec<i64> {
    let mut vector = Vec::new();
    for value in values {
        vector.push(black_box(*value));
    }
    vector
}

/// The array at a pointer of a document that this process wrote.
fn array_at<'d>(document: &'d DocBuf, pointer: &str) -> Result<Array<'d, Valid>> {
    let valid = document.valid().context("the document is not trusted")?;
    valid.pointer(pointer).and_then(|array| array.as_array()).context("no array")
}

fn holds(array: Array<'_, Valid>, values: impl Iterator<Item = i64>) -> bool {
    array.iter().map(|element| element.as_i64()).eq(values.map(Some))
}

fn push(count: usize, effort: Effort, report: &mut Report) -> Result<()> {
    let values = random_values(count);
    let one = build(&values)?;
    ensure!(holds(array_at(&one, "")?, values.iter().copied()), "pushed values differ");
    let two = build_two(&values)?;
    for (pointer, start) in [("/first", 0), ("/second", 1)] {
        let expected = values.iter().skip(start).step_by(2).copied();
        ensure!(holds(array_at(&two, pointer)?, expected), "{pointer}: pushed values differ");
    }

    let mut contest = Contest::new();
    let ours = contest.add_consuming("livebuf", count, || values.as_slice(), build);
    let vector = contest.add_consuming("Vec", count, || values.as_slice(), build_vector);
    let outcome = contest.run(effort);
    report.times(format!("array/push i64/{count}"), &outcome);
    report.add(
        format!("array/push i64/{count}"),
        Measured::Nanoseconds(outcome.nanoseconds(ours)),
        Target::AtMost(PUSH_TARGET),
        format!("growing from nothing; Vec<i64> {}", duration(outcome.nanoseconds(vector)),),
    );
    let bytes = one.as_bytes().len() as f64;
    report.add(
        format!("array/bytes of an element/{count}"),
        Measured::Bytes(bytes / count as f64),
        Target::AtMost(LAST_BYTES_TARGET),
        format!("array last in the document of {bytes} B"),
    );
    let bytes = two.as_bytes().len() as f64;
    report.add(
        format!("array/bytes of two arrays/{count}"),
        Measured::Ratio(bytes / (8.0 * count as f64)),
        Target::AtMost(OTHER_BYTES_TARGET),
        "of the data: two arrays that grow in turns",
    );
    Ok(())
}

fn get(count: usize, effort: Effort, report: &mut Report) -> Result<()> {
    let values = random_values(count);
    let document = build(&values)?;
    let array = array_at(&document, "")?;
    let mut rng = Rng::with_seed(1);
    let indices: Vec<usize> = (0..1 << 20).map(|_| rng.usize(..count)).collect();
    for index in &indices {
        let element = array.get(*index).and_then(|element| element.as_i64());
        ensure!(element == Some(values[*index]), "element {index} differs");
    }

    let mut contest = Contest::new();
    let mut windows = indices.chunks_exact(WINDOW).cycle();
    let ours = contest.add("livebuf", WINDOW, || {
        let array = black_box(array);
        chase(windows.next(), |index| array.get(index)?.as_i64())
    });
    let mut windows = indices.chunks_exact(WINDOW).cycle();
    let vector = contest.add("Vec", WINDOW, || {
        let values = black_box(values.as_slice());
        chase(windows.next(), |index| values.get(index).copied())
    });
    let outcome = contest.run(effort);
    report.times(format!("array/random get/{count}"), &outcome);
    let [ours, vector] = [ours, vector].map(|place| outcome.nanoseconds(place));
    report.add(
        format!("array/random get/{count}"),
        Measured::Nanoseconds(ours - vector),
        Target::AtMost(GET_TARGET),
        format!("{} less what Vec<i64> pays for the miss, {}", duration(ours), duration(vector)),
    );
    Ok(())
}

/// Gets one element after the other: each index waits for the element before,
/// as when one look-up leads to the next.
#[inline(always)]
fn chase(indices: Option<&[usize]>, get: impl Fn(usize) -> Option<i64>) -> usize {
    let zero = black_box(0);
    indices
        .into_iter()
        .flatten()
        .fold(0, |wait, index| get(index + wait).map_or(0, |element| element as usize & zero))
}
