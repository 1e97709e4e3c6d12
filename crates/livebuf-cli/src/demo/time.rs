//! Timing: the fastest of many runs, within a budget.
//!
//! Not the median. On a busy machine the median of long runs (parsing JSON) grows, and that of
//! short runs (a look-up) does not. That would flatter us.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long all runs of one work may take together.
const BUDGET: Duration = Duration::from_millis(300);

/// Nanoseconds of work that can be repeated as it is.
pub(super) fn repeated<T>(mut work: impl FnMut() -> T) -> f64 {
    let [fastest] = in_turns([&mut || {
        black_box(work());
    }]);
    fastest
}

/// Nanoseconds of each of several works, which take turns: what slows the machine down for a
/// while, or makes the allocator return memory to the system, then slows all of them alike. Each
/// is repeated in batches that are long enough for the clock.
pub(super) fn in_turns<const N: usize>(mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut once = |at: usize, batch: u32| {
        let start = Instant::now();
        for _ in 0..batch {
            works[at]();
        }
        start.elapsed()
    };
    let mut batches = [1u32; N];
    for (at, batch) in batches.iter_mut().enumerate() {
        while once(at, *batch) < Duration::from_micros(50) && *batch < 1 << 20 {
            *batch *= 2;
        }
    }
    let (start, mut rounds, mut fastest) = (Instant::now(), 0, [f64::INFINITY; N]);
    while rounds < 5 || (rounds < 500 && start.elapsed() < BUDGET * N as u32) {
        for (at, fastest) in fastest.iter_mut().enumerate() {
            let time = once(at, batches[at]).as_nanos() as f64 / f64::from(batches[at]);
            *fastest = fastest.min(time);
        }
        rounds += 1;
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

#[cfg(test)]
mod tests {
    use super::in_turns;
    use std::cell::RefCell;
    use std::time::Duration;

    /// Bug: parsing JSON alone was measured before parsing, editing and printing it. The
    /// allocator was warm for the second only, so the smaller work took longer.
    #[test]
    fn works_take_turns() {
        let order = RefCell::new(Vec::new());
        let note = |which| {
            order.borrow_mut().push(which);
            // Long enough for the clock, so that a batch is one run.
            std::thread::sleep(Duration::from_millis(2));
        };
        let times = in_turns([&mut || note(0), &mut || note(1)]);
        let order = order.into_inner();
        assert!(times.iter().all(|&time| time >= 2e6), "{times:?}");
        assert!(order.len() >= 12, "{order:?}");
        assert!(order.iter().enumerate().all(|(at, &which)| which == at % 2), "{order:?}");
    }
}
