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

/// Nanoseconds of some work, and of that work with more that follows it, of the same runs. So the
/// second is never less than the first, whatever the machine and its allocator do meanwhile.
/// Dropping what was made does not count.
pub(super) fn in_two_steps<S, T>(
    mut first: impl FnMut() -> S,
    mut then: impl FnMut(&mut S) -> T,
) -> [f64; 2] {
    let (start, mut runs, mut fastest) = (Instant::now(), 0, [f64::INFINITY; 2]);
    while runs < 5 || (runs < 500 && start.elapsed() < 2 * BUDGET) {
        let start = Instant::now();
        let mut made = black_box(first());
        let of_first = start.elapsed();
        let more = black_box(then(&mut made));
        let of_both = start.elapsed();
        drop((made, more));
        for (fastest, time) in fastest.iter_mut().zip([of_first, of_both]) {
            *fastest = fastest.min(time.as_nanos() as f64);
        }
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

#[cfg(test)]
mod tests {
    use super::in_two_steps;
    use std::thread::sleep;
    use std::time::Duration;

    /// Bug: parsing JSON alone was measured in runs of its own, before those of parsing, editing
    /// and printing. The demo said that it took longer.
    #[test]
    fn two_steps_take_longer_than_the_first() {
        let step = Duration::from_millis(2);
        let [first, both] = in_two_steps(|| sleep(step), |()| sleep(step));
        assert!(first >= 2e6 && both >= first + 2e6, "{first} {both}");
    }
}
