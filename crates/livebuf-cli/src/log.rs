//! Logs: `append`, `cat`, `info`, `compact` and `repair`.

use crate::args::{Log, LogAppend, LogCat, LogFile, LogInfo};
use crate::convert::{non_finite, not_printed, print_options};
use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::progress;
use crate::sink::{Out, Owner};
use crate::source::{Skipped, in_line, is_nul, told_torn};
use crate::told::{shown, tell};
use livebuf_json::{ErrorKind, ReadOptions};
use livebuf_log::{Dropped, LogOptions, LogReader};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// How much of the input is read at once.
const PIECE: usize = 4 << 20;
/// How often `cat --follow` looks for new rows.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) fn run(command: &Log) -> Outcome {
    match command {
        Log::Append(args) => append(args),
        Log::Cat(args) => cat(args),
        Log::Info(args) => info(args),
        Log::Compact(args) => compact(args),
        Log::Repair(args) => repair(args),
    }
}

/// Says that bytes at a log's end are no rows.
fn told_dropped(path: &Path, dropped: Option<&Dropped>) {
    if let Some(dropped) = dropped {
        tell(&format!("livebuf: {}: {dropped}", shown(&name(path))));
    }
}

fn append(args: &LogAppend) -> Outcome {
    let path = &args.file;
    let failure = |error: livebuf_log::Error| Failure::log(path, &error);
    let is_stdin = args.input == Path::new("-");
    let mut input: Box<dyn Read> = match is_stdin {
        true => Box::new(io::stdin().lock()),
        false => {
            Box::new(File::open(&args.input).map_err(|error| Failure::io(&args.input, &error))?)
        }
    };
    let mut log = LogOptions::new().sync(args.sync).open_or_create(path).map_err(failure)?;
    told_dropped(path, log.dropped());
    let options = ReadOptions::new().surrogates(args.surrogates.into());
    let (mut lines, mut skipped) = (0, Skipped::default());
    let appended = pieces(&mut input, &args.input, |mut text, is_last| {
        let mut wrong = None;
        let mut read = |text: &[u8]| match args.skip_bad {
            true => livebuf_json::from_lines_skipping(text, &options, |error| {
                skipped.add(&error.behind(lines, 0));
            }),
            false => livebuf_json::from_lines(text, &options),
        };
        let rows = read(text).or_else(|error| {
            let hint = is_nul(text, &error).then_some("--skip-bad passes over such lines");
            // The values before it are rows.
            let whole = error.value_position().map_or(0, |value| value.offset as usize);
            text = &text[..whole.min(text.len())];
            let may_end = error.kind() == ErrorKind::UnexpectedEnd && !is_last;
            wrong = (!may_end).then_some((error, hint));
            read(text)
        });
        if let Ok(rows) = rows {
            let rows = rows.valid().map_err(|error| Failure::document(&args.input, error))?;
            log.extend_document(rows).map_err(failure)?;
        }
        if let Some((error, hint)) = wrong {
            let what = in_line(&error.behind(lines, 0));
            let failure = Failure::trouble(format!("{}: {what}", name(&args.input)));
            return Err(match hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            });
        }
        lines += text.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(text.len())
    });
    skipped.told(&args.input);
    let rows = log.len();
    let closed = log.close().map_err(failure);
    appended.map_err(|failure| {
        failure.with_hint(format!("the log has {} now", counted(rows, "row")))
    })?;
    closed
}

/// Gives whole lines of an input, as many as there are at a time, and whether they are the last ones.
/// `each` says how many bytes it used: the rest comes again with more.
fn pieces(
    input: &mut dyn Read,
    path: &Path,
    mut each: impl FnMut(&[u8], bool) -> Outcome<usize>,
) -> Outcome {
    let mut text = Vec::new();
    let mut piece = vec![0; PIECE];
    // What was left of a value over many lines.
    let mut left = 0;
    loop {
        let read = match input.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::io(path, &error)),
        };
        if read == 0 {
            return each(&text, true).map(drop);
        }
        let start = text.len();
        text.extend_from_slice(&piece[..read]);
        if let Some(end) = text[start..].iter().rposition(|&byte| byte == b'\n') {
            let end = start + end + 1;
            let line =
                text[..end - 1].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            // A value rarely ends with an indented line. Once in a while it is tried all the same.
            if !matches!(text[line], b' ' | b'\t') || end >= 2 * left {
                let used = each(&text[..end], false)?;
                text.drain(..used);
                left = end - used;
            }
        }
    }
}

fn cat(args: &LogCat) -> Outcome {
    let path = &args.file;
    let failure = |error: livebuf_log::Error| Failure::log(path, &error);
    let mut log = LogReader::open(path).map_err(failure)?;
    let options = print_options(false).non_finite(non_finite(args.non_finite));
    let mut out = Out::new();
    let mut next = args.from;
    loop {
        for row in log.rows(next..args.to.unwrap_or(u64::MAX)) {
            let row = row.map_err(failure)?;
            if let Some(value) = row.value() {
                livebuf_json::to_writer(out.writer(), value, &options)
                    .map_err(|error| not_printed(path, &error))?;
                out.write(b"\n")?;
            }
            next = row.number() + 1;
        }
        if !args.follow || args.to.is_some_and(|end| next >= end) {
            break;
        }
        out.flush()?;
        std::thread::sleep(PAUSE);
        log.refresh().map_err(failure)?;
    }
    out.finish()?;
    told_torn(path, log.torn());
    Ok(())
}

fn info(args: &LogInfo) -> Outcome {
    let log = LogReader::open(&args.file).map_err(|error| Failure::log(&args.file, &error))?;
    if args.validate {
        validated(&args.file, &log)?;
    }
    let all = log.stats().named();
    let mut out = Out::new();
    if args.json {
        let all: serde_json::Map<_, _> =
            all.into_iter().map(|(what, number)| (what.to_owned(), number.into())).collect();
        out.line(&serde_json::Value::Object(all).to_string())?;
        return out.finish();
    }
    for (what, number) in all {
        out.line(&format!("{:<12} {:>15}", what.replace('_', " "), grouped(number)))?;
    }
    out.finish()
}

/// Validates a log. That it is damaged is an answer.
pub(crate) fn validated(path: &Path, log: &LogReader) -> Outcome {
    let what = format!("validating {}", name(path));
    progress::during(&what, || log.validate()).map_err(|error| {
        match (error.kind(), Failure::log(path, &error)) {
            (livebuf_log::ErrorKind::Damaged, Failure::Trouble(message, _)) => Failure::No(message),
            (_, failure) => failure,
        }
    })
}

fn compact(args: &LogFile) -> Outcome {
    let failure = |error: livebuf_log::Error| Failure::log(&args.file, &error);
    let mut log = LogOptions::new().open(&args.file).map_err(failure)?;
    told_dropped(&args.file, log.dropped());
    let owner = Owner::of(&args.file);
    let compacted = log.compact().map_err(failure)?;
    owner.told(&args.file);
    log.close().map_err(failure)?;
    let mut out = Out::new();
    out.line(&format!(
        "{} before, {} now",
        counted(compacted.before, "byte"),
        counted(compacted.after, "byte")
    ))?;
    out.finish()
}

fn repair(args: &LogFile) -> Outcome {
    let owner = Owner::of(&args.file);
    let repaired =
        livebuf_log::repair(&args.file).map_err(|error| Failure::log(&args.file, &error))?;
    owner.told(&args.file);
    let mut out = Out::new();
    out.line(&format!(
        "{} kept, {} lost, {} in no whole frame; the old file is {}",
        counted(repaired.rows, "row"),
        grouped(repaired.lost_rows),
        counted(repaired.lost_bytes, "byte"),
        repaired.old.display()
    ))?;
    out.finish()
}
