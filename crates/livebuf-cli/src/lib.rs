//! The `livebuf` command: [`run`] is what the program and the Python package call.
//!
//! | module | job |
//! |---|---|
//! | `args` | what the command line takes |
//! | `failure` | errors and the exit status |
//! | `source`, `sink`, `told`, `progress` | input, output, messages, and progress on a terminal |
//! | `convert`, `look`, `query`, `edit`, `diff`, `delta`, `inspect`, `log`, `parquet`, `tree`, `demo` | the commands |

mod args;
mod columns;
mod convert;
mod delta;
#[cfg(feature = "full")]
mod demo;
mod diff;
mod edit;
mod failure;
mod inspect;
mod log;
mod look;
#[cfg(feature = "parquet")]
mod parquet;
mod progress;
mod query;
mod sink;
mod source;
mod told;
mod tree;

use args::{Cli, Command};
#[cfg(feature = "full")]
use clap::CommandFactory;
use clap::Parser;
use failure::{Failure, Outcome};
use std::ffi::OsString;

#[cfg(unix)]
pub use told::{look_at_streams, replace_closed_streams};

/// Runs the command with these arguments, the first of which is its name, and returns the exit
/// status. The process should end then, since the command may handle its signals.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    survive_large_files();
    let done = match Cli::try_parse_from(arguments) {
        Ok(cli) => run_command(cli.command),
        Err(usage) => explain(&usage),
    };
    match done.map_or_else(|failure| failure.tell(), |()| 0) {
        _ if told::is_untold() => 2,
        status => status,
    }
}

/// Prints help, or what is wrong with the command line.
fn explain(usage: &clap::Error) -> Outcome {
    let text = usage.render();
    if usage.use_stderr() {
        told::tell(text.ansi().to_string().trim_end());
        // It was told already.
        return Err(Failure::trouble(""));
    }
    let mut out = sink::Out::new();
    match sink::colours() {
        true => out.write(text.ansi().to_string().as_bytes())?,
        false => out.write(text.to_string().as_bytes())?,
    }
    out.finish()
}

/// Where a file grows beyond its limit (`ulimit -f`), Unix sends a signal that ends the
/// process, which would leave temporary files behind. With the signal blocked the write fails
/// with EFBIG instead, and is reported. New threads inherit this.
fn survive_large_files() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigSet, Signal};
        // Blocked instead of ignored, which works as well and needs no `unsafe` with nix.
        let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
    }
}

fn run_command(command: Command) -> Outcome {
    match command {
        Command::FromJson(args) => convert::from_json(&args),
        Command::ToJson(args) => convert::to_json(&args),
        Command::Compact(args) => convert::compact(&args),
        #[cfg(feature = "parquet")]
        Command::ToParquet(args) => parquet::to_parquet(&args),
        #[cfg(feature = "parquet")]
        Command::FromParquet(args) => parquet::from_parquet(&args),
        #[cfg(not(feature = "parquet"))]
        Command::ToParquet(_) | Command::FromParquet(_) => Err(without_parquet()),
        Command::Get(args) => look::get(&args),
        Command::Keys(args) => look::keys(&args),
        Command::Validate(args) => look::validate(&args),
        Command::Stats(args) => look::stats(&args),
        Command::Tree(args) => tree::tree(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Set(args) => edit::set(&args),
        Command::Remove(args) => edit::remove(&args),
        Command::Push(args) => edit::push(&args),
        Command::Edit(args) => edit::edit(&args),
        Command::Patch(args) => edit::patch(&args),
        Command::Merge(args) => edit::merge(&args),
        Command::Query(args) => query::query(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Delta(args) => delta::run(&args),
        Command::Log(args) => log::run(&args),
        #[cfg(feature = "full")]
        Command::Completions(args) => completions(args.shell),
        #[cfg(feature = "full")]
        Command::Man(args) => man(&args.command),
        #[cfg(feature = "full")]
        Command::Demo(args) => demo::demo(&args),
        #[cfg(not(feature = "full"))]
        Command::LeftOut(_) => {
            Err(Failure::trouble("the Python package has the command without this")
                .with_hint("cargo install --path crates/livebuf-cli builds the full one"))
        }
    }
}

/// Parquet takes longer to build than all the rest, so only a feature turns it on.
#[cfg(not(feature = "parquet"))]
fn without_parquet() -> Failure {
    Failure::trouble("this command was built without Parquet").with_hint(
        "cargo install --path crates/livebuf-cli --features parquet builds one that has it",
    )
}

#[cfg(feature = "full")]
fn completions(shell: clap_complete::Shell) -> Outcome {
    // Written to memory first: clap_complete panics where a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "livebuf", &mut script);
    let mut out = sink::Out::new();
    out.write(&script)?;
    out.finish()
}

/// The page of a command, of the same text as its help.
#[cfg(feature = "full")]
fn man(words: &[String]) -> Outcome {
    let mut all = Cli::command();
    all.build();
    let mut command = &all;
    for word in words {
        command = command
            .find_subcommand(word)
            .ok_or_else(|| Failure::trouble(format!("there is no command {}", words.join(" "))))?;
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| Failure::trouble(format!("the page: {error}")))?;
    let mut out = sink::Out::new();
    out.write(&page)?;
    out.finish()
}
