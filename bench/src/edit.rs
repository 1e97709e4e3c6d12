//! Owns small edits: setting an integer, building a message by keys known at
//! run time in a buffer that was used before, and the message's size.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use livebuf::{Child, DocBuf, Editor, Key, New, NodeId, Storage, VecStorage};

use crate::data;
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

const MESSAGE: &str = r#"{"event":"lap_complete","lap":55,"time_sec":88.427}"#;
const KEYS: [&str; 3] = ["event", "lap", "time_sec"];

const SET_TARGET: f64 = 15.0;
const BUILD_TARGET: f64 = 60.0;
/// Bytes of the message from JSON, built with a hint of three fields, and without.
const SIZE_TARGETS: [f64; 3] = [144.0, 148.0, 168.0];
const EMPTY_TARGET: f64 = 48.0;
/// A transaction of one and of 100 edits, against the edits alone.
const TRANSACTION_TARGETS: [f64; 2] = [2.5, 1.5];

/// Edits between two looks at the clock.
const EDITS: usize = 1000;
/// Buffers built into in turn; together they fit the first-level cache.
const BUFFERS: usize = 32;
const BUFFER_BYTES: usize = 256;

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    sizes(report)?;
    set(effort, report)?;
    transactions(effort, report)?;
    build(effort, report)
}

/// Writes the message field by field.
#[inline(always)]
fn build_message<S: Storage>(
    storage: S,
    keys: &[&str; 3],
    hint: usize,
) -> livebuf::Result<Editor<S>> {
    let mut message = Editor::create(storage)?;
    if let Some(root) = message.set_root(New::object(hint))? {
        message.set(root, keys[0], "lap_complete")?;
        message.set(root, keys[1], 55)?;
        message.set(root, keys[2], 88.427)?;
    }
    Ok(message)
}

/// Writes the message by one call.
#[inline(always)]
fn build_at_once<S: Storage>(storage: S, keys: &[&str; 3]) -> livebuf::Result<Editor<S>> {
    let mut message = Editor::create(storage)?;
    let fields = [(keys[0], "lap_complete".into()), (keys[1], 55.into()), (keys[2], 88.427.into())];
    message.set_root(New::Fields(&fields))?;
    Ok(message)
}

fn sizes(report: &mut Report) -> Result<()> {
    let expected = serde_json::from_str(MESSAGE)?;
    let from_json = livebuf_json::from_str(MESSAGE)?;
    data::check(&expected, &from_json)?;
    let mut buffers = [[0; BUFFER_BYTES]; 2];
    let [hinted, grown] = &mut buffers;
    let hinted = build_message(&mut hinted[..], &KEYS, 3)?;
    let grown = build_message(&mut grown[..], &KEYS, 0)?;
    for message in [&hinted, &grown] {
        let value = data::to_json(message.doc().root())?;
        ensure!(value == expected, "the built message differs: {value}");
    }
    let sizes = [from_json.as_bytes(), hinted.as_bytes(), grown.as_bytes()].map(<[u8]>::len);
    let names = ["from JSON", "built with a hint", "built without"];
    for ((name, size), target) in names.into_iter().zip(sizes).zip(SIZE_TARGETS) {
        let measured = Measured::Bytes(size as f64);
        report.add(
            format!("edit/bytes of the lap message {name}"),
            measured,
            Target::AtMost(target),
            MESSAGE,
        );
    }
    let empty = livebuf_json::from_str("{}")?.as_bytes().len();
    report.add(
        "edit/bytes of an empty object",
        Measured::Bytes(empty as f64),
        Target::AtMost(EMPTY_TARGET),
        "{}",
    );
    Ok(())
}

fn set(effort: Effort, report: &mut Report) -> Result<()> {
    let mut buffer = [0; BUFFER_BYTES];
    let mut fixed = build_message(&mut buffer[..], &KEYS, 3)?;
    let fixed_root = fixed.root_id().context("no root")?;
    let mut growable = livebuf_json::from_str(MESSAGE)?;
    let growable_root = growable.root_id().context("no root")?;
    let remembered = Key::new(KEYS[1]);

    set_all(&mut fixed, fixed_root, KEYS[1])?;
    set_all(&mut growable, growable_root, &remembered)?;
    for document in [fixed.doc(), growable.doc()] {
        let lap = document.root().get(KEYS[1])?.and_then(|lap| lap.as_i64());
        ensure!(lap == Some(EDITS as i64 - 1), "the last value set is not there: {lap:?}");
    }

    let mut contest = Contest::new();
    let by_name = contest.add("livebuf, fixed buffer", EDITS, || {
        set_all(&mut fixed, fixed_root, black_box(KEYS[1]))
    });
    let by_key = contest.add("livebuf, growable, remembered key", EDITS, || {
        set_all(&mut growable, growable_root, black_box(&remembered))
    });
    let outcome = contest.run(effort);
    report.times("edit/set an existing i64", &outcome);
    report.add(
        "edit/set an existing i64",
        Measured::Nanoseconds(outcome.nanoseconds(by_name)),
        Target::AtMost(SET_TARGET),
        format!(
            "by a run-time name in a fixed buffer; by remembered key in a growable one {}",
            duration(outcome.nanoseconds(by_key)),
        ),
    );
    Ok(())
}

#[inline(always)]
fn set_all<S: Storage>(
    document: &mut Editor<S>,
    root: NodeId,
    key: impl Child,
) -> livebuf::Result<()> {
    for value in 0..EDITS as i64 {
        black_box(document.set(root, black_box(key), value)?);
    }
    Ok(())
}

/// Sets an integer of a growable document, alone and in transactions.
fn transactions(effort: Effort, report: &mut Report) -> Result<()> {
    let mut plain = livebuf_json::from_str(MESSAGE)?;
    let (mut one, mut hundred) = (plain.clone(), plain.clone());
    let root = |document: &DocBuf| document.root_id().context("no root");
    let roots = [root(&plain)?, root(&one)?, root(&hundred)?];
    let mut contest = Contest::new();
    let alone =
        contest.add("livebuf, alone", EDITS, || set_all(&mut plain, roots[0], black_box(KEYS[1])));
    let by_one = contest.add("livebuf, a transaction each", EDITS, || -> livebuf::Result<()> {
        for value in 0..EDITS as i64 {
            one.transaction(|doc| doc.set(roots[1], black_box(KEYS[1]), value))?;
        }
        Ok(())
    });
    let by_hundred =
        contest.add("livebuf, a transaction of 100", EDITS, || -> livebuf::Result<()> {
            for first in (0..EDITS as i64).step_by(100) {
                hundred.transaction(|doc| {
                    let mut sets = first..first + 100;
                    sets.try_for_each(|value| {
                        doc.set(roots[2], black_box(KEYS[1]), value).map(drop)
                    })
                })?;
            }
            Ok(())
        });
    let outcome = contest.run(effort);
    report.times("edit/transactions", &outcome);
    let of = duration(outcome.nanoseconds(alone));
    let cases = [("one set", by_one), ("100 sets", by_hundred)];
    for ((name, place), target) in cases.into_iter().zip(TRANSACTION_TARGETS) {
        report.add(
            format!("edit/transaction of {name}, to the sets alone"),
            Measured::Ratio(outcome.ratio(place, alone)),
            Target::AtMost(target),
            format!("{} a set; alone {of}", duration(outcome.nanoseconds(place))),
        );
    }
    Ok(())
}

fn build(effort: Effort, report: &mut Report) -> Result<()> {
    // What lay in the buffer before must not show in the document.
    let mut clean = [0; BUFFER_BYTES];
    let expected = build_message(&mut clean[..], &KEYS, 3)?;
    let mut rng = Rng::with_seed(1);
    let mut buffers = vec![[0; BUFFER_BYTES]; BUFFERS];
    for buffer in &mut buffers {
        rng.fill(buffer);
        let message = build_message(&mut buffer[..], &KEYS, 3)?;
        ensure!(message.as_bytes() == expected.as_bytes(), "old bytes show in the message");
        let value = data::to_json(build_at_once(&mut buffer[..], &KEYS)?.doc().root())?;
        ensure!(value == data::to_json(expected.doc().root())?, "one call builds {value}");
    }
    for buffer in &mut buffers {
        rng.fill(buffer);
    }

    let mut contest = Contest::new();
    let (mut second, mut third) = (buffers.clone(), buffers.clone());
    let hinted =
        contest.add("livebuf, three calls", BUFFERS, move || build_in_all(&mut buffers, 3));
    let unhinted = contest.add("livebuf, no hint", BUFFERS, move || build_in_all(&mut second, 0));
    let at_once = contest.add("livebuf, one call", BUFFERS, move || build_all_at_once(&mut third));
    let growable = contest.add("livebuf, new growable buffer", 1, || {
        build_message(VecStorage::default(), black_box(&KEYS), 3)
    });
    let outcome = contest.run(effort);
    report.times("edit/build the lap message", &outcome);
    report.add(
        "edit/build the lap message",
        Measured::Nanoseconds(outcome.nanoseconds(hinted)),
        Target::AtMost(BUILD_TARGET),
        format!(
            "run-time keys, dirty fixed buffer, three calls, hint of 3 fields; in one call {}, without a hint {}, in a new growable buffer {}",
            duration(outcome.nanoseconds(at_once)),
            duration(outcome.nanoseconds(unhinted)),
            duration(outcome.nanoseconds(growable)),
        ),
    );
    Ok(())
}

fn build_all_at_once(buffers: &mut [[u8; BUFFER_BYTES]]) -> livebuf::Result<()> {
    for buffer in buffers {
        black_box(build_at_once(&mut buffer[..], black_box(&KEYS))?.as_bytes());
    }
    Ok(())
}

fn build_in_all(buffers: &mut [[u8; BUFFER_BYTES]], hint: usize) -> livebuf::Result<()> {
    for buffer in buffers {
        black_box(build_message(&mut buffer[..], black_box(&KEYS), hint)?.as_bytes());
    }
    Ok(())
}
