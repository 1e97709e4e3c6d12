//! Owns what the benchmark found: rows with their targets, and all competitors' figures.

use std::fmt::{self, Display};

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use serde::Serialize;

use crate::timing::{Entry, Outcome};

/// A measured number in its unit.
#[derive(Clone, Copy)]
pub(crate) enum Measured {
    /// Our time or size over the peer's: under 1 is better.
    Ratio(f64),
    /// How many times faster than the peer.
    Faster(f64),
    Nanoseconds(f64),
    Bytes(f64),
    /// Break-even: how many reads.
    Reads(f64),
}

impl Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Measured::Ratio(ratio) => write!(formatter, "{ratio:.3} ×"),
            Measured::Faster(factor) => write!(formatter, "{factor:.0} times faster"),
            Measured::Nanoseconds(nanoseconds) => formatter.write_str(&duration(nanoseconds)),
            Measured::Bytes(bytes) if bytes.fract() == 0.0 => write!(formatter, "{bytes} B"),
            Measured::Bytes(bytes) => write!(formatter, "{bytes:.3} B"),
            Measured::Reads(reads) => write!(formatter, "{reads:.2} reads"),
        }
    }
}

/// A time in a readable unit.
pub(crate) fn duration(nanoseconds: f64) -> String {
    if nanoseconds < 1e3 {
        format!("{nanoseconds:.2} ns")
    } else if nanoseconds < 1e6 {
        format!("{:.2} µs", nanoseconds / 1e3)
    } else {
        format!("{:.2} ms", nanoseconds / 1e6)
    }
}

/// What is asked of a number.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// Told for the reader; nothing was asked.
    None,
}

impl Target {
    fn is_met(self, measured: f64) -> Option<bool> {
        match self {
            Target::AtMost(limit) => Some(measured <= limit),
            Target::AtLeast(limit) => Some(measured >= limit),
            Target::None => None,
        }
    }
}

impl Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::AtMost(limit) => write!(formatter, "≤ {limit}"),
            Target::AtLeast(limit) => write!(formatter, "≥ {limit}"),
            Target::None => formatter.write_str("–"),
        }
    }
}

struct Row {
    workload: String,
    measured: Measured,
    target: Target,
    detail: String,
}

impl Row {
    fn is_met(&self) -> Option<bool> {
        let (Measured::Ratio(number)
        | Measured::Faster(number)
        | Measured::Nanoseconds(number)
        | Measured::Bytes(number)
        | Measured::Reads(number)) = self.measured;
        self.target.is_met(number)
    }
}

/// All competitors of one task, or the bytes of all formats of one value.
#[derive(Serialize)]
struct Task {
    task: String,
    unit: &'static str,
    competitors: Vec<Entry>,
}

/// The rows of a run, and the groups that could not run.
#[derive(Default, Serialize)]
pub(crate) struct Report {
    #[serde(skip)]
    rows: Vec<Row>,
    results: Vec<Task>,
    skipped: Vec<String>,
    failed: Vec<String>,
}

impl Report {
    /// Adds a row; `detail` says what was compared with what.
    pub(crate) fn add(
        &mut self,
        workload: impl Into<String>,
        measured: Measured,
        target: Target,
        detail: impl Into<String>,
    ) {
        let row = Row { workload: workload.into(), measured, target, detail: detail.into() };
        eprintln!("{}: {} ({})", row.workload, row.measured, row.detail);
        self.rows.push(row);
    }

    /// Keeps all competitors of a task, for [`Report::json`].
    pub(crate) fn times(&mut self, task: impl Into<String>, outcome: &Outcome) {
        self.entries(task, "s", outcome.entries().to_vec());
    }

    /// Adds a row of the first of ours beside the fastest peer that holds bytes.
    pub(crate) fn told(&mut self, task: impl Into<String>, outcome: &Outcome) {
        let Some((ours, peer)) = outcome.ours_and_best_peer() else { return };
        let [mine, theirs] = [ours.nanoseconds(), peer.nanoseconds()];
        let detail =
            format!("{} {}, {} {}", ours.name(), duration(mine), peer.name(), duration(theirs));
        self.add(task, Measured::Ratio(mine / theirs), Target::None, detail);
    }

    /// Keeps what was measured otherwise, for [`Report::json`]: seconds, bytes or pages.
    pub(crate) fn entries(
        &mut self,
        task: impl Into<String>,
        unit: &'static str,
        competitors: Vec<Entry>,
    ) {
        self.results.push(Task { task: task.into(), unit, competitors });
    }

    /// The results for `bench/run.py`.
    pub(crate) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Notes a group whose inputs are absent.
    pub(crate) fn skip(&mut self, reason: String) {
        eprintln!("skipped {reason}");
        self.skipped.push(reason);
    }

    /// Notes a group that gave a wrong answer or an error.
    pub(crate) fn fail(&mut self, reason: String) {
        eprintln!("failed {reason}");
        self.failed.push(reason);
    }

    /// Nothing failed; a missed target is not a failure.
    pub(crate) fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// The rows as a Markdown table, then what was skipped.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table
            .load_style(ASCII_MARKDOWN)
            .set_header(["workload", "measured", "target", "met", "detail"]);
        for row in &self.rows {
            let met = match row.is_met() {
                Some(true) => "yes",
                Some(false) => "**no**",
                None => "",
            };
            table.add_row([
                row.workload.as_str(),
                &row.measured.to_string(),
                &row.target.to_string(),
                met,
                &row.detail,
            ]);
        }
        for column in [1, 2] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let missed = self.rows.iter().filter(|row| row.is_met() == Some(false));
        let met = self.rows.iter().filter(|row| row.is_met() == Some(true));
        let mut text =
            format!("{table}\n\n{} targets met, {} missed.\n", met.count(), missed.count());
        for (what, reasons) in [("Skipped", &self.skipped), ("Failed", &self.failed)] {
            for reason in reasons {
                text.push_str(&format!("{what}: {reason}\n"));
            }
        }
        text
    }
}

/// CPU, cores and operating system.
pub(crate) fn machine() -> String {
    let processor = first_value("/proc/cpuinfo", "model name", ':');
    let system = first_value("/etc/os-release", "PRETTY_NAME", '=');
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{processor}, {cores} cores, {} {system}, kernel {}",
        std::env::consts::ARCH,
        kernel.trim()
    )
}

/// The value of the first `name<separator>value` line of a system file.
fn first_value(path: &str, name: &str, separator: char) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(key, _)| key.trim() == name)
        .map_or("unknown", |(_, value)| value.trim().trim_matches('"'))
        .to_owned()
}
