//! Runs the oracles on seeded inputs for as long as one likes, and says what was run.
//!
//! ```text
//! long [--minutes M] [--seed N] [--jobs J] [--slow SECONDS] [TARGET…]
//! long --replay TARGET FILE…
//! long --shrink TARGET FILE…
//! ```
//!
//! An input that fails is written to `target/fuzz/`, and the run goes on to the next
//! oracle; it ends with status 1. One that takes longer than `--slow` (10 seconds) fails too. `--shrink` writes a smaller input that fails beside it,
//! `--replay` runs one; it belongs in `fuzz/regressions/TARGET/` once it is understood. What ends the process at once (a
//! stack that overflows) leaves its seed in `target/fuzz/TARGET.seed`.

use livebuf_fuzz::{TARGETS, Target, input::Random};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A turn of one oracle, before it is the next one's.
const TURN: Duration = Duration::from_secs(2);
/// What became of one oracle's inputs.
#[derive(Default)]
struct Tally {
    runs: u64,
    time: Duration,
    slowest: (Duration, u64),
    failed: Vec<u64>,
}

fn main() -> ExitCode {
    let (mut minutes, mut seed, mut jobs, mut slow) = (10.0, None, 1, 10.0);
    let (mut names, mut replay, mut shrinks) = (Vec::new(), None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<f64>().ok());
        match &*argument {
            "--minutes" => minutes = number().expect("--minutes takes a number"),
            "--seed" => seed = Some(number().expect("--seed takes a number") as u64),
            "--jobs" => jobs = number().expect("--jobs takes a number") as usize,
            "--slow" => slow = number().expect("--slow takes seconds"),
            "--replay" | "--shrink" => {
                shrinks = argument == "--shrink";
                replay = Some(arguments.next().expect("which target?"));
            }
            _ => names.push(argument),
        }
    }
    if let Some(name) = replay {
        let target = find(&name);
        for file in names {
            println!("{file}");
            let data = fs::read(&file).expect("readable");
            if shrinks {
                let small = shrink(target, data);
                fs::write(format!("{file}.small"), &small).expect("room");
                println!("{} bytes in {file}.small", small.len());
            } else {
                (target.run)(&data);
            }
        }
        return ExitCode::SUCCESS;
    }
    let targets: Vec<&Target> = match names.is_empty() {
        true => TARGETS.iter().collect(),
        false => names.iter().map(|name| find(name)).collect(),
    };
    // Another run, other inputs; the first seed says which.
    let since = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    let slow = Duration::from_secs_f64(slow);
    run(&targets, minutes, seed.unwrap_or(since << 20), jobs.max(1), slow)
}

/// Leaves out and zeroes what is not needed to fail.
fn shrink(target: &Target, mut data: Vec<u8>) -> Vec<u8> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let fails = |data: &[u8]| catch_unwind(AssertUnwindSafe(|| (target.run)(data))).is_err();
    assert!(fails(&data), "it does not fail");
    let mut length = data.len();
    while length > 0 {
        let mut at = 0;
        while at < data.len() {
            let end = data.len().min(at + length);
            let without = [&data[..at], &data[end..]].concat();
            let mut zeroed = data.clone();
            zeroed[at..end].fill(0);
            if fails(&without) {
                data = without;
            } else {
                if zeroed != data && fails(&zeroed) {
                    data = zeroed;
                }
                at = end;
            }
        }
        length /= 2;
    }
    std::panic::set_hook(hook);
    data
}

fn find(name: &str) -> &'static Target {
    let names = TARGETS.map(|target| target.name).join(", ");
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        panic!("no target {name}: there are {names}");
    })
}

fn folder() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    let folder = folder.join("fuzz");
    fs::create_dir_all(&folder).expect("a folder for what is found");
    folder
}

fn run(
    targets: &[&'static Target],
    minutes: f64,
    first: u64,
    jobs: usize,
    slow: Duration,
) -> ExitCode {
    let end = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    let tallies: Vec<Mutex<Tally>> = targets.iter().map(|_| Mutex::default()).collect();
    let seeds: Vec<AtomicU64> = targets.iter().map(|_| AtomicU64::new(first)).collect();
    let folder = folder();
    println!("{minutes} minutes, {jobs} jobs, seeds from {first}");
    std::thread::scope(|scope| {
        for job in 0..jobs {
            let (tallies, seeds, folder) = (&tallies, &seeds, &folder);
            scope.spawn(move || {
                let mut turn = job;
                while Instant::now() < end {
                    let at = turn % targets.len();
                    turn += 1;
                    let until = end.min(Instant::now() + TURN);
                    let current = folder.join(format!("{}.seed{job}", targets[at].name));
                    let turn = Turn { target: targets[at], current, folder, until, slow };
                    turn.run(&seeds[at], &tallies[at]);
                }
            });
        }
    });
    println!(
        "{:<12}{:>12}{:>9}{:>12}{:>22}  seeds from",
        "target", "executions", "s", "slowest", "its seed"
    );
    let mut failed = false;
    for (target, tally) in targets.iter().zip(&tallies) {
        let tally = tally.lock().expect("no job panics");
        println!(
            "{:<12}{:>12}{:>9.1}{:>10.1}ms{:>22}  {first}",
            target.name,
            tally.runs,
            tally.time.as_secs_f64(),
            tally.slowest.0.as_secs_f64() * 1e3,
            tally.slowest.1,
        );
        failed |= !tally.failed.is_empty();
    }
    let all: u64 = tallies.iter().map(|tally| tally.lock().expect("no job panics").runs).sum();
    println!("{:<12}{all:>12}", "all");
    for (target, tally) in targets.iter().zip(&tallies) {
        for seed in &tally.lock().expect("no job panics").failed {
            println!(
                "FAILED {} seed {seed}: long --replay {0} target/fuzz/{0}-{seed}",
                target.name
            );
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A job's turn of one oracle.
struct Turn<'r> {
    target: &'r Target,
    /// The file that says which seed runs.
    current: PathBuf,
    folder: &'r Path,
    until: Instant,
    slow: Duration,
}

impl Turn<'_> {
    fn run(&self, seeds: &AtomicU64, tally: &Mutex<Tally>) {
        let (name, run) = (self.target.name, self.target.run);
        let mut current = fs::File::create(&self.current).expect("a file for the seed");
        let begun = Instant::now();
        let mut mine = Tally::default();
        while Instant::now() < self.until && mine.failed.len() < 5 {
            let seed = seeds.fetch_add(1, Ordering::Relaxed);
            let told = current.seek(SeekFrom::Start(0)).and_then(|_| write!(current, "{seed:020}"));
            told.expect("room for the seed");
            let mut random = Random(seed);
            let length = 1 + random.below(self.target.most);
            let data = random.bytes(length);
            let mut done = Ok(());
            let taken = livebuf_fuzz::least(self.slow, || {
                done = catch_unwind(AssertUnwindSafe(|| run(&data)));
            });
            mine.runs += 1;
            mine.slowest = mine.slowest.max((taken, seed));
            if done.is_err() || taken > self.slow {
                eprintln!("{name} seed {seed}: failed after {taken:?}");
                fs::write(self.folder.join(format!("{name}-{seed}")), &data).expect("room");
                mine.failed.push(seed);
            }
        }
        let mut tally = tally.lock().expect("no job panics");
        tally.runs += mine.runs;
        tally.time += begun.elapsed();
        tally.slowest = tally.slowest.max(mine.slowest);
        tally.failed.extend(mine.failed);
    }
}
