//! LiveBuf against its peers: each workload first proves that every library
//! gives the same answer, then times them in turns, and compares the ratios of
//! that one run with the targets of the project.
//!
//! ```text
//! cargo run --release -p livebuf-bench -- [--filter NAME] [--json FILE] [--quick]
//! ```
//!
//! With `--features arrow` also JSON lines to Arrow against `arrow-json`, with `--features peers`
//! also the graph and the record of vectors against rkyv, FlatBuffers, Cap'n Proto and others.

mod allocator;
mod array;
#[cfg(feature = "arrow")]
mod arrow;
mod bytes;
mod data;
mod delta;
mod edit;
#[cfg(unix)]
mod files;
mod format;
#[cfg(feature = "peers")]
mod graph;
mod growth;
mod json;
mod lists;
mod map;
mod memory;
mod patch;
#[cfg(feature = "peers")]
mod peers;
#[cfg(feature = "peers")]
#[allow(
    clippy::all,
    clippy::uninlined_format_args,
    clippy::semicolon_if_nothing_returned,
    dead_code,
    missing_docs,
    rust_2018_idioms,
    unreachable_pub,
    reason = "made by capnpc, which wants to be at the root"
)]
#[path = "peers/peers_capnp.rs"]
#[rustfmt::skip]
mod peers_capnp;
mod query;
mod record;
mod report;
mod table;
mod timing;
mod twitter;
#[cfg(feature = "peers")]
mod vectors;
mod yyjson;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;

use report::Report;
use timing::Effort;

/// Checks the answers, then times LiveBuf and its peers.
#[derive(Parser)]
#[command(name = "livebuf-bench")]
struct Arguments {
    /// Run only groups whose name contains this.
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// Write all competitors' times to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Time nothing: work once for each competitor, for callgrind.
    #[arg(long)]
    count: bool,
    /// Fewer repetitions and no million-key maps, for a first look.
    #[arg(long)]
    quick: bool,
}

/// Workloads that share their inputs.
struct Group {
    name: &'static str,
    /// Reads the files of `../shared/data`, and is skipped where they are absent.
    needs_data: bool,
    run: fn(Effort, &mut Report) -> Result<()>,
}

const GROUPS: &[Group] = &[
    Group { name: "twitter", needs_data: true, run: twitter::run },
    Group { name: "record", needs_data: false, run: record::run },
    Group { name: "map", needs_data: false, run: map::run },
    Group { name: "growth", needs_data: false, run: growth::run },
    Group { name: "edit", needs_data: false, run: edit::run },
    #[cfg(unix)]
    Group { name: "files", needs_data: false, run: files::run },
    Group { name: "array", needs_data: false, run: array::run },
    Group { name: "table", needs_data: false, run: table::run },
    #[cfg(feature = "arrow")]
    Group { name: "arrow", needs_data: false, run: arrow::run },
    Group { name: "lists", needs_data: false, run: lists::run },
    #[cfg(feature = "peers")]
    Group { name: "graph", needs_data: false, run: graph::run },
    #[cfg(feature = "peers")]
    Group { name: "vectors", needs_data: false, run: vectors::run },
    Group { name: "delta", needs_data: true, run: delta::run },
    Group { name: "patch", needs_data: true, run: patch::run },
    Group { name: "query", needs_data: true, run: query::run },
    Group { name: "json", needs_data: true, run: json::run },
    Group { name: "bytes", needs_data: true, run: bytes::run },
    Group { name: "memory", needs_data: true, run: memory::run },
];

fn run(arguments: &Arguments) -> Result<Report> {
    let effort = match (arguments.count, arguments.quick) {
        (true, _) => Effort::COUNTING,
        (false, true) => Effort::QUICK,
        (false, false) => Effort::FULL,
    };
    let part = arguments.filter.as_deref().unwrap_or_default();
    let wanted: Vec<&Group> = GROUPS.iter().filter(|group| group.name.contains(part)).collect();
    let names = GROUPS.iter().map(|group| group.name).collect::<Vec<_>>().join(", ");
    ensure!(!wanted.is_empty(), "no group is called {part:?}; there are {names}");

    let data = data::directory();
    let mut report = Report::default();
    for group in wanted {
        if group.needs_data && !data.is_dir() {
            report.skip(format!("{}: no data directory {}", group.name, data.display()));
        } else if let Err(error) = (group.run)(effort, &mut report) {
            report.fail(format!("{}: {error:#}", group.name));
        }
    }
    Ok(report)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    allocator::keep_memory();
    eprintln!("{}", report::machine());
    let outcome = run(&arguments).and_then(|report| {
        println!("{}", report.table());
        if let Some(path) = &arguments.json {
            std::fs::write(path, report.json()?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(report)
    });
    match outcome {
        Ok(report) if report.is_complete() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("livebuf-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
