//! The oracles in short: seeded inputs, and every input that found something before.

use livebuf_fuzz::input::Random;
use livebuf_fuzz::{TARGETS, deltas, logs, mutate, one_of, patches, queries, refusals, templates};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

fn first_seed() -> u64 {
    match std::env::var("LIVEBUF_FUZZ_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => 1,
    }
}

fn share(of_all: usize) -> usize {
    of_all / one_of(4)
}

fn all_inputs() -> bool {
    one_of(2) == 1
}

/// Runs an oracle on as many seeded inputs, or the [`share`] of them; a failing one's seed is printed.
fn seeded<T>(most: usize, count: usize, oracle: impl Fn(&[u8]) -> T) -> Vec<T> {
    let seeds = first_seed()..first_seed() + share(count) as u64;
    let run = |seed| {
        let mut random = Random(seed);
        let length = 1 + random.below(most);
        let data = random.bytes(length);
        catch_unwind(AssertUnwindSafe(|| oracle(&data))).unwrap_or_else(|panic| {
            eprintln!("seed {seed}: LIVEBUF_FUZZ_SEED={seed} replays it first");
            resume_unwind(panic)
        })
    };
    seeds.map(run).collect()
}

fn some(name: &str, count: usize) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    seeded(target.most, count, target.run);
}

/// Inputs that found a bug once, shrunk: `regressions/TARGET/` has them, named by it. Where an
/// oracle comes to decode its decisions otherwise they are inputs like any; what must be
/// kept for ever is told in `found.rs`.
#[test]
fn regressions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/regressions");
    let mut count = 0;
    for of_target in folder.read_dir().expect("a folder of findings") {
        let of_target = of_target.expect("readable");
        let name = of_target.file_name();
        let target = TARGETS.iter().find(|target| target.name == name).expect("a target's name");
        let mut files: Vec<_> = of_target.path().read_dir().expect("a folder").collect();
        files.sort_by_key(|file| file.as_ref().expect("readable").path());
        for file in files {
            let file = file.expect("readable").path();
            let data = std::fs::read(&file).expect("readable");
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(&data))) {
                eprintln!("{}", file.display());
                resume_unwind(panic);
            }
            count += 1;
        }
    }
    assert!(count >= 5, "{count} inputs replayed");
}

#[test]
fn edits() {
    some("edits", 2_500);
}

#[test]
fn bytes() {
    some("bytes", 4_000);
}

#[test]
fn json() {
    some("json", 100_000);
}

/// Enough of the damaged documents still open, and still validate; else the oracle would
/// look at nothing.
#[test]
fn mutations() {
    let met = seeded(500, 1_250, mutate::run);
    let count = |met: &dyn Fn(&mutate::Met) -> bool, all: &[mutate::Met]| {
        all.iter().filter(|one| met(one)).count()
    };
    assert!(count(&|met| met.opens, &met) > share(900), "few open");
    assert!(count(&|met| met.changed, &met) > share(900), "few are changed");
    let sound = count(&|met| met.changed && met.valid, &met);
    assert!(sound > share(75), "{sound} are changed and valid");
    let later: usize = met.iter().map(|met| met.later).sum();
    assert!(later > share(6_000), "{later} edits after");
}

/// Enough places are bound, in records and in rows, and enough text is stamped.
#[test]
fn stamps() {
    let met = seeded(900, 2_000, templates::run);
    let sum = |count: &dyn Fn(&templates::Met) -> usize| met.iter().map(count).sum::<usize>();
    assert!(sum(&|met| met.places) > share(8_000), "{} places", sum(&|met| met.places));
    assert!(sum(&|met| met.elements) > share(2_000), "{} in arrays", sum(&|met| met.elements));
    assert!(sum(&|met| met.texts) > share(1_000), "{} texts", sum(&|met| met.texts));
}

/// Enough logs are read, refused, cut and damaged.
#[test]
fn rows_of_logs() {
    let met = seeded(700, 2_000, logs::run);
    let sum = |count: &dyn Fn(&logs::Met) -> usize| met.iter().map(count).sum::<usize>();
    let read = sum(&|met| met.read.into());
    let refused = sum(&|met| met.refused.into());
    let (cut, cut_short) = (sum(&|met| met.cut), sum(&|met| met.cut_short));
    let (damaged, rows) = (sum(&|met| met.damaged), sum(&|met| met.rows));
    let all = (read, refused, cut, cut_short, damaged, rows);
    println!("{all:?}");
    assert!(
        read > share(100) && refused > share(100) && cut > share(100) && cut_short > share(100),
        "{all:?}"
    );
    assert!(damaged > share(100) && rows > share(10_000), "{all:?}");
}

/// Enough edits are recorded, undone and redone, and enough damaged deltas are applied and refused.
#[test]
fn recorded_deltas() {
    let met = seeded(400, 1_000, deltas::run);
    let sum = |count: &dyn Fn(&deltas::Met) -> usize| met.iter().map(count).sum::<usize>();
    let (recorded, turned) = (sum(&|met| met.recorded), sum(&|met| met.turned));
    let (applied, refused) = (sum(&|met| met.applied), sum(&|met| met.refused));
    println!("{recorded} recorded, {turned} turned, {applied} applied, {refused} refused");
    assert!(recorded > share(2_000) && turned > share(500), "{recorded} recorded, {turned} turned");
    assert!(applied > share(400) && refused > share(500), "{applied} applied, {refused} refused");
}

/// Enough patches are applied, of every operation, and enough are refused; enough diffs change,
/// move and cannot be merged.
#[test]
fn patches_and_diffs() {
    let met = seeded(900, 1_500, patches::run);
    let sum = |count: &dyn Fn(&patches::Met) -> usize| met.iter().map(count).sum::<usize>();
    let (applied, refused) = (sum(&|met| met.applied), sum(&|met| met.refused));
    let operations = [0, 1, 2, 3, 4, 5].map(|at| sum(&|met| met.operations[at]));
    let (merged, diffs, moves) =
        (sum(&|met| met.merged), sum(&|met| met.diffs), sum(&|met| met.moves));
    let merge_diffs = [0, 1].map(|at| sum(&|met| met.merge_diffs[at]));
    let all = (applied, refused, operations, merged, diffs, moves, merge_diffs);
    println!("{all:?}");
    assert!(applied > share(1_000) && refused > share(1_000) && merged > share(500), "{all:?}");
    assert!(operations.iter().all(|&count| count > share(200)), "{all:?}");
    assert!(
        diffs > share(1_000)
            && moves > share(50)
            && merge_diffs.iter().all(|&count| count > share(100)),
        "{all:?}"
    );
}

/// Enough queries find something, enough texts are and are no queries, and enough matches are
/// edited.
#[test]
fn queries_and_edits_by_them() {
    let met = seeded(900, 1_500, queries::run);
    let sum = |count: &dyn Fn(&queries::Met) -> usize| met.iter().map(count).sum::<usize>();
    let (asked, found, left) =
        (sum(&|met| met.queries), sum(&|met| met.found), sum(&|met| met.left));
    let matches = sum(&|met| met.matches);
    let texts = [0, 1].map(|at| sum(&|met| met.texts[at]));
    let edited = [0, 1, 2].map(|at| sum(&|met| met.edited[at]));
    let all = (asked, found, matches, left, texts, edited);
    println!("{all:?}");
    assert!(
        asked > share(2_500)
            && found > share(1_000)
            && matches > share(10_000)
            && left < asked / 20,
        "{all:?}"
    );
    assert!(texts.iter().all(|&count| count > share(100)), "{all:?}");
    assert!(edited.iter().all(|&count| count > share(100)), "{all:?}");
}

/// Every edit was refused for want of room somewhere, of every kind of container: so it is for all
/// inputs, and for the fewer of `make test` of most.
#[test]
fn refused_edits() {
    let met = seeded(100, 1_200, refusals::run);
    let (mut edits, mut containers) = (BTreeMap::new(), BTreeMap::new());
    for one in met.iter().filter(|one| one.refused > 0) {
        *edits.entry(one.edit).or_insert(0) += 1;
        *containers.entry(one.container).or_insert(0) += 1;
    }
    println!("{edits:?}\n{containers:?}");
    let growing = [
        "set",
        "set_pointer",
        "rename",
        "move",
        "hang",
        "element",
        "push",
        "insert",
        "swap",
        "reserve",
        "rotate",
        "root",
        "discard",
        "take",
        "remove",
        "remove_pointer",
    ];
    let never: Vec<_> = growing.iter().filter(|&&edit| !edits.contains_key(edit)).collect();
    let most = if all_inputs() { 0 } else { 3 };
    assert!(never.len() <= most, "{never:?} were never refused: {edits:?}");
    let kinds = ["record", "map", "array", "cells", "table", "list", "row", "listed array"];
    for kind in kinds {
        assert!(containers.contains_key(kind), "no edit of a {kind} was refused: {containers:?}");
    }
}
