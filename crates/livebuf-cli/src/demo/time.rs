//! Timing: the fastest of many runs, within a budget.
//!
//! Not the median. On a busy machine the median of long runs (parsing JSON) grows, and that of
//! short runs (a look-up) does not. That would flatter us.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long all runs of one measurement may take together.
const BUDGET: Duration = Duration::from_millis(300);

/// Nanoseconds of work that can be repeated as it is. It is repeated in batches that are long
/// enough for the clock.
pub(super) fn repeated<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut batch = 1u32;
    let once = |batch: u32, work: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..batch {
            work();
        }
        start.elapsed()
    };
    let mut run = || {
        black_box(work());
    };
    while once(batch, &mut run) < Duration::from_micros(50) && batch < 1 << 20 {
        batch *= 2;
    }
    let (start, mut runs, mut fastest) = (Instant::now(), 0, f64::INFINITY);
    while runs < 5 || (runs < 500 && start.elapsed() < BUDGET) {
        fastest = fastest.min(once(batch, &mut run).as_nanos() as f64 / f64::from(batch));
        runs += 1;
    }
    fastest
}

/// Nanoseconds of work on something that is made anew for every run. Making it does not count.
/// Includes the clock's own time, some 30 ns.
pub(super) fn on_fresh<S, T>(
    mut make: impl FnMut() -> S,
    mut work: impl FnMut(&mut S) -> T,
) -> f64 {
    let (start, mut runs, mut fastest) = (Instant::now(), 0, f64::INFINITY);
    while runs < 5 || (runs < 500 && start.elapsed() < BUDGET) {
        let mut fresh = make();
        let start = Instant::now();
        black_box(work(black_box(&mut fresh)));
        fastest = fastest.min(start.elapsed().as_nanos() as f64);
        runs += 1;
    }
    fastest
}

/// A time in the unit that suits it.
pub(super) fn shown(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e4 => format!("{nanoseconds:.0} ns"),
        ..1e6 => format!("{:.1} µs", nanoseconds / 1e3),
        ..1e8 => format!("{:.1} ms", nanoseconds / 1e6),
        ..1e9 => format!("{:.0} ms", nanoseconds / 1e6),
        _ => format!("{:.2} s", nanoseconds / 1e9),
    }
}
