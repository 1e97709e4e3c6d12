//! Owns the clock: competitors run in turns, so that a noisy minute hits all of
//! them, and the fastest of many repetitions counts, because noise only adds.
//!
//! A ratio of a table is always a ratio of two minima of one contest. The clock
//! is the thread's processor time, which stands still while other processes have
//! the core.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;

/// How long a contest may take.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Measuring time, times the number of competitors.
    pub(crate) budget: Duration,
    /// Rounds run even when they take longer than the budget.
    pub(crate) minimum_rounds: u32,
    /// Keys of the largest map.
    pub(crate) largest_map: usize,
}

impl Effort {
    pub(crate) const FULL: Effort =
        Effort { budget: Duration::from_millis(1000), minimum_rounds: 3, largest_map: 1_000_000 };
    pub(crate) const QUICK: Effort =
        Effort { budget: Duration::from_millis(100), minimum_rounds: 2, largest_map: 100_000 };
}

/// Long enough to hide the clock's own few hundred ns, short enough to slip in
/// between two interruptions.
const BATCH: Duration = Duration::from_micros(200);

/// Runs a number of repetitions and returns the time that counts.
type Batch<'a> = Box<dyn FnMut(u32) -> Duration + 'a>;

struct Competitor<'a> {
    operations: f64,
    batch: Batch<'a>,
    repetitions: u32,
    best_nanoseconds: f64,
    used: Duration,
}

/// The place of a competitor in its contest.
#[derive(Clone, Copy)]
pub(crate) struct Place(usize);

/// Competitors that do the same work.
#[derive(Default)]
pub(crate) struct Contest<'a> {
    competitors: Vec<Competitor<'a>>,
}

impl<'a> Contest<'a> {
    pub(crate) fn new() -> Self {
        Contest::default()
    }

    /// Adds work that can be repeated as it is; one call does `operations` of
    /// the operation that is reported.
    pub(crate) fn add<R>(&mut self, operations: usize, mut work: impl FnMut() -> R + 'a) -> Place {
        self.push(operations, move |repetitions| {
            let start = ThreadTime::now();
            for _ in 0..repetitions {
                black_box(work());
            }
            start.elapsed()
        })
    }

    /// Adds work that uses up what `prepare` makes; neither preparing nor
    /// dropping what was made counts.
    pub(crate) fn add_consuming<I, R>(
        &mut self,
        operations: usize,
        mut prepare: impl FnMut() -> I + 'a,
        mut work: impl FnMut(I) -> R + 'a,
    ) -> Place {
        self.add_timed(operations, move || {
            let input = black_box(prepare());
            let start = ThreadTime::now();
            let result = black_box(work(input));
            let elapsed = start.elapsed();
            drop(result);
            elapsed
        })
    }

    /// Adds work that says itself which of its time counts.
    pub(crate) fn add_timed(
        &mut self,
        operations: usize,
        mut work: impl FnMut() -> Duration + 'a,
    ) -> Place {
        self.push(operations, move |repetitions| (0..repetitions).map(|_| work()).sum())
    }

    fn push(&mut self, operations: usize, batch: impl FnMut(u32) -> Duration + 'a) -> Place {
        self.competitors.push(Competitor {
            operations: operations as f64,
            batch: Box::new(batch),
            repetitions: 1,
            best_nanoseconds: f64::INFINITY,
            used: Duration::ZERO,
        });
        Place(self.competitors.len() - 1)
    }

    /// Runs all competitors in turns.
    pub(crate) fn run(mut self, effort: Effort) -> Outcome {
        for competitor in &mut self.competitors {
            competitor.choose_repetitions();
        }
        let mut round = 0;
        let budget = effort.budget * self.competitors.len() as u32;
        while round < effort.minimum_rounds
            || self.competitors.iter().map(|each| each.used).sum::<Duration>() < budget
        {
            for competitor in &mut self.competitors {
                competitor.take_turn();
            }
            round += 1;
        }
        Outcome { nanoseconds: self.competitors.iter().map(|each| each.best_nanoseconds).collect() }
    }
}

impl Competitor<'_> {
    /// Doubles the repetitions until a batch is long enough; warms up on the way.
    fn choose_repetitions(&mut self) {
        let mut elapsed = (self.batch)(self.repetitions);
        while elapsed < BATCH && self.repetitions < 1 << 24 {
            self.repetitions *= 2;
            elapsed = (self.batch)(self.repetitions);
        }
    }

    /// Runs two batches: the first finds the caches as the competitor before
    /// left them, the second as this one did.
    fn take_turn(&mut self) {
        for _ in 0..2 {
            let start = ThreadTime::now();
            let counted = (self.batch)(self.repetitions);
            self.used += start.elapsed();
            let operations = f64::from(self.repetitions) * self.operations;
            let each = counted.as_nanos() as f64 / operations;
            self.best_nanoseconds = self.best_nanoseconds.min(each);
        }
    }
}

/// The fastest time of each competitor.
pub(crate) struct Outcome {
    nanoseconds: Vec<f64>,
}

impl Outcome {
    /// Nanoseconds of one operation.
    pub(crate) fn nanoseconds(&self, place: Place) -> f64 {
        self.nanoseconds[place.0]
    }

    /// How many times `reference` the time of `place` is: under 1 is faster.
    pub(crate) fn ratio(&self, place: Place, reference: Place) -> f64 {
        self.nanoseconds(place) / self.nanoseconds(reference)
    }
}
