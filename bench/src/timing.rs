//! Owns the clock: competitors run in turns, so that a noisy minute hits all of
//! them, and the fastest of many repetitions counts, because noise only adds.
//!
//! A ratio of a table is always a ratio of two minima of one contest. The clock
//! is the thread's processor time, which stands still while other processes have
//! the core.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use cpu_time::ThreadTime;
use serde::Serialize;

/// How long a contest may take.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Measuring time, times the number of competitors.
    pub(crate) budget: Duration,
    /// Rounds run even when they take longer than the budget.
    pub(crate) minimum_rounds: u32,
    /// Keys of the largest map.
    pub(crate) largest_map: usize,
    /// Nothing is timed: each competitor works twice, and valgrind counts instructions.
    pub(crate) counting: bool,
}

impl Effort {
    pub(crate) const FULL: Effort = Effort {
        budget: Duration::from_millis(1000),
        minimum_rounds: 3,
        largest_map: 1_000_000,
        counting: false,
    };
    pub(crate) const QUICK: Effort = Effort {
        budget: Duration::from_millis(100),
        minimum_rounds: 2,
        largest_map: 100_000,
        counting: false,
    };
    pub(crate) const COUNTING: Effort =
        Effort { budget: Duration::ZERO, minimum_rounds: 0, largest_map: 10_000, counting: true };
}

/// Calls of [`counted`] so far, which are numbered from one.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// What counts. Callgrind finds this function and the next by their names: where the first
/// begins, it counts anew, and where the second ends, it writes a file.
#[inline(never)]
pub(crate) fn counted<R>(work: impl FnOnce() -> R) -> R {
    CALLS.fetch_add(1, Relaxed);
    work_once(work)
}

#[inline(never)]
fn work_once<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Long enough to hide the clock's own few hundred ns, short enough to slip in
/// between two interruptions.
const BATCH: Duration = Duration::from_micros(200);

/// Runs a number of repetitions and returns the time that counts.
type Batch<'a> = Box<dyn FnMut(u32) -> Duration + 'a>;

struct Competitor<'a> {
    name: String,
    operations: f64,
    batch: Batch<'a>,
    repetitions: u32,
    /// Nanoseconds of an operation, by batch.
    batches: Vec<f64>,
    used: Duration,
    call: Option<u64>,
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
    pub(crate) fn add<R>(
        &mut self,
        name: &str,
        operations: usize,
        mut work: impl FnMut() -> R + 'a,
    ) -> Place {
        self.push(name, operations, move |repetitions| {
            let start = ThreadTime::now();
            counted(|| {
                for _ in 0..repetitions {
                    black_box(work());
                }
            });
            start.elapsed()
        })
    }

    /// Adds work that uses up what `prepare` makes; neither preparing nor
    /// dropping what was made counts.
    pub(crate) fn add_consuming<I, R>(
        &mut self,
        name: &str,
        operations: usize,
        mut prepare: impl FnMut() -> I + 'a,
        mut work: impl FnMut(I) -> R + 'a,
    ) -> Place {
        self.add_timed(name, operations, move || {
            let input = black_box(prepare());
            let start = ThreadTime::now();
            let result = black_box(counted(|| work(input)));
            let elapsed = start.elapsed();
            drop(result);
            elapsed
        })
    }

    /// Adds work that says itself which of its time counts.
    pub(crate) fn add_timed(
        &mut self,
        name: &str,
        operations: usize,
        mut work: impl FnMut() -> Duration + 'a,
    ) -> Place {
        self.push(name, operations, move |repetitions| (0..repetitions).map(|_| work()).sum())
    }

    fn push(
        &mut self,
        name: &str,
        operations: usize,
        batch: impl FnMut(u32) -> Duration + 'a,
    ) -> Place {
        self.competitors.push(Competitor {
            name: name.to_owned(),
            operations: operations as f64,
            batch: Box::new(batch),
            repetitions: 1,
            batches: Vec::new(),
            used: Duration::ZERO,
            call: None,
        });
        Place(self.competitors.len() - 1)
    }

    /// Runs all competitors in turns.
    pub(crate) fn run(mut self, effort: Effort) -> Outcome {
        if effort.counting {
            for competitor in &mut self.competitors {
                competitor.count();
            }
            return self.outcome();
        }
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
        self.outcome()
    }

    fn outcome(self) -> Outcome {
        Outcome { entries: self.competitors.into_iter().map(Competitor::entry).collect() }
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
            self.batches.push(each);
        }
    }

    /// Works once to warm up and once to be counted.
    fn count(&mut self) {
        let before = CALLS.load(Relaxed);
        self.take_turn();
        let after = CALLS.load(Relaxed);
        self.call = (after > before).then_some(after);
    }

    fn entry(self) -> Entry {
        let mut entry = Entry::new(&self.name, self.batches);
        (entry.operations, entry.call) = (self.operations, self.call);
        entry
    }
}

/// What a competitor took for one operation, in seconds, bytes or pages.
#[derive(Clone, Serialize)]
pub(crate) struct Entry {
    name: String,
    minimum: f64,
    median: f64,
    /// From the first to the third quartile, over the median.
    spread: f64,
    runs: usize,
    /// Operations of a run.
    operations: f64,
    /// Of [`counted`].
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
}

impl Entry {
    fn new(name: &str, mut nanoseconds: Vec<f64>) -> Entry {
        nanoseconds.sort_by(f64::total_cmp);
        let last = nanoseconds.len().saturating_sub(1) as f64;
        let at = |share: f64| {
            nanoseconds.get((last * share).round() as usize).map_or(0.0, |it| it * 1e-9)
        };
        let spread = (at(0.75) - at(0.25)) / at(0.5);
        Entry {
            name: name.to_owned(),
            minimum: at(0.0),
            median: at(0.5),
            spread: if spread.is_finite() { spread } else { 0.0 },
            runs: nanoseconds.len(),
            operations: 1.0,
            call: None,
        }
    }

    /// Times that were measured outside of a contest.
    pub(crate) fn times(name: &str, times: &[Duration]) -> Entry {
        Entry::new(name, times.iter().map(|time| time.as_nanos() as f64).collect())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Nanoseconds of an operation, the fastest.
    pub(crate) fn nanoseconds(&self) -> f64 {
        self.minimum * 1e9
    }

    /// Bytes or pages, which do not vary.
    pub(crate) fn amount(name: &str, amount: f64) -> Entry {
        Entry { minimum: amount, median: amount, runs: 1, ..Entry::new(name, Vec::new()) }
    }
}

/// The times of each competitor, of which the fastest counts.
pub(crate) struct Outcome {
    entries: Vec<Entry>,
}

impl Outcome {
    /// Nanoseconds of one operation.
    pub(crate) fn nanoseconds(&self, place: Place) -> f64 {
        self.entries[place.0].minimum * 1e9
    }

    /// The first of ours, and the fastest of others that holds bytes.
    pub(crate) fn ours_and_best_peer(&self) -> Option<(&Entry, &Entry)> {
        let is_ours = |entry: &&Entry| entry.name.starts_with("livebuf");
        let is_peer = |entry: &&Entry| !is_ours(entry) && !entry.name.ends_with("in memory");
        let peers = self.entries.iter().filter(is_peer);
        let best = peers.min_by(|one, other| one.minimum.total_cmp(&other.minimum))?;
        Some((self.entries.iter().find(is_ours)?, best))
    }

    /// All competitors, for the report.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many times `reference` the time of `place` is: under 1 is faster.
    pub(crate) fn ratio(&self, place: Place, reference: Place) -> f64 {
        self.nanoseconds(place) / self.nanoseconds(reference)
    }
}
