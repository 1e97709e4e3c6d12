//! Whole documents: from JSON, to JSON, compacted.

use crate::args::{self, Compact, Duplicates, FromJson, Numbers, Output, Surrogates, ToJson};
use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::progress;
use crate::sink::{
    NewFile, Out, check_new_file, directory, is_stdout, is_temporary, refuse_terminal,
};
use crate::source::{
    Skipped, Source, are_many, converted, is_nul, not_opened, not_read, patiently, read,
};
use crate::told::{OUTPUT, shown, tell, was_closed};
use livebuf::mapped::{self, FileEdit};
use livebuf::{Checked, ColumnType, Doc, DocBuf, DuplicateKeys, Kind, Value};
use livebuf_json::{NonFinite, NumberPolicy, PrintOptions, ReadOptions};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

const BINARY: &str = "give -o OUT, or send it to a file or a pipe";

impl From<Surrogates> for livebuf_json::Surrogates {
    fn from(surrogates: Surrogates) -> Self {
        match surrogates {
            Surrogates::Error => livebuf_json::Surrogates::Error,
            Surrogates::Replace => livebuf_json::Surrogates::Replace,
        }
    }
}

impl FromJson {
    fn options(&self) -> ReadOptions {
        let numbers = match self.numbers {
            Numbers::Exact => NumberPolicy::Exact,
            Numbers::Text => NumberPolicy::AllText,
        };
        let duplicates = match self.duplicate_keys {
            Duplicates::Last => DuplicateKeys::Last,
            Duplicates::Error => DuplicateKeys::Error,
        };
        ReadOptions::new()
            .numbers(numbers)
            .duplicate_keys(duplicates)
            .tables(!self.no_tables)
            .min_width(self.min_width)
            .recognize(self.recognize)
            .surrogates(self.surrogates.into())
    }

    fn refused(&self, text: &[u8], error: &livebuf_json::Error) -> Failure {
        let failure = not_read(&self.input, error);
        match (is_nul(text, error), self.lines) {
            (true, true) => failure.with_hint("--skip-bad passes over such lines"),
            (true, false) => {
                failure.with_hint("of JSON lines, --lines --skip-bad passes over such ones")
            }
            (false, false) if are_many(text, error) => {
                failure.with_hint("if these are JSON lines, give --lines")
            }
            _ => failure,
        }
    }
}

pub(crate) fn from_json(args: &FromJson) -> Outcome {
    let output = args.output.output.as_deref();
    if args.each {
        return from_each_line(args, output.unwrap_or(Path::new("")));
    }
    check_output(&args.output)?;
    let text = read(&args.input)?;
    let options = args.options();
    let total = Some(text.len() as u64);
    let mut skipped = Skipped::default();
    let document =
        progress::counting(&format!("converting {}", name(&args.input)), total, |done| {
            let options = options.progress(Arc::clone(done));
            if args.skip_bad {
                livebuf_json::from_lines_skipping(&text, &options, |error| skipped.add(&error))
            } else if args.lines {
                livebuf_json::from_lines(&text, &options)
            } else {
                livebuf_json::from_slice_with(&text, &options)
            }
        });
    let document = document.map_err(|error| args.refused(&text, &error))?;
    write(&args.output, document.as_bytes())?;
    skipped.told(&args.input);
    Ok(())
}

/// Refuses an output that [`write`] would refuse, before the work is done.
pub(crate) fn check_output(output: &Output) -> Outcome {
    match output.output.as_deref() {
        Some(path) if path != Path::new("-") => check_new_file(path, output.force),
        _ => refuse_terminal(BINARY),
    }
}

/// Writes binary where an option says.
pub(crate) fn write(output: &Output, bytes: &[u8]) -> Outcome {
    match output.output.as_deref() {
        Some(path) if path != Path::new("-") => {
            let mut file = NewFile::create(path, output.force)?;
            file.write(bytes)?;
            file.finish()
        }
        _ => {
            let mut out = Out::binary(BINARY)?;
            out.write(bytes)?;
            out.finish()
        }
    }
}

/// A directory that is removed in the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes documents `000001.lbuf` and so on in a directory: all of them or none.
fn from_each_line(args: &FromJson, output: &Path) -> Outcome {
    let failure = |path: &Path, error: &io::Error| Failure::io(path, error);
    if output == Path::new("-") {
        return Err(
            Failure::trouble("--each makes many files").with_hint("give a directory as OUT")
        );
    }
    if output.exists() && !output.is_dir() {
        return Err(failure(output, &io::ErrorKind::NotADirectory.into()));
    }
    let text = read(&args.input)?;
    let options = args.options();
    // A directory beside it, so that a bad line leaves nothing behind.
    let is_there = output.is_dir();
    let beside = if is_there { output.join("each") } else { output.to_path_buf() };
    // Holding this file reserves the directory of its name, which a killed command may have left.
    let begun = mapped::new_beside(&beside, None);
    let (_held, lock) = begun.map_err(|error| failure(directory(&beside), &error))?;
    is_temporary(&lock);
    let lock = tempfile::TempPath::try_from_path(lock)
        .map_err(|error| failure(directory(&beside), &error))?;
    let temporary = lock.with_extension("each");
    let _ = fs::remove_dir_all(&temporary);
    fs::create_dir(&temporary).map_err(|error| failure(&temporary, &error))?;
    is_temporary(&temporary);
    let temporary = Removed(temporary);
    let (mut made, mut skipped) = (Vec::new(), Skipped::default());
    let mut documents = livebuf_json::documents(&text, &options);
    if args.skip_bad {
        documents = documents.each_line();
    }
    for document in documents {
        let document = match document {
            Ok(document) => document,
            Err(error) if args.skip_bad => {
                skipped.add(&error);
                continue;
            }
            Err(error) => return Err(args.refused(&text, &error)),
        };
        let name = format!("{:06}.lbuf", made.len() + 1);
        let target = output.join(&name);
        if !args.output.force && target.exists() {
            return Err(Failure::trouble(format!("{}: exists already", target.display()))
                .with_hint("give -f to write over it, or another directory"));
        }
        let path = temporary.0.join(&name);
        fs::write(&path, document.as_bytes()).map_err(|error| failure(&path, &error))?;
        made.push((path, target));
    }
    fs::create_dir_all(output).map_err(|error| failure(output, &error))?;
    let mut count = 0;
    for (path, target) in made {
        fs::rename(&path, &target).map_err(|error| failure(&target, &error))?;
        count += 1;
    }
    let next = format!("{:06}.lbuf", count + 1);
    if output.join(&next).exists() {
        let output = output.display().to_string();
        tell(&format!("livebuf: {}: older files stay, from {next} on", shown(&output)));
    }
    skipped.told(&args.input);
    Ok(())
}

/// The error of a failed printing.
pub(crate) fn not_printed(path: &Path, error: &livebuf_json::Error) -> Failure {
    match (error.io_error(), error.core_error()) {
        (Some(error), _) => not_written(path, error),
        (None, Some(error)) => Failure::document(path, error),
        _ => Failure::trouble(format!("{}: {error}", name(path))),
    }
}

/// The error of standard output while a document is printed.
fn not_written(path: &Path, error: &io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        // The validation found damage and stopped the printing.
        Some(&damage) => Failure::document(path, damage),
        None => Failure::output(error),
    }
}

pub(crate) fn print_options(pretty: bool) -> PrintOptions {
    // Documents are validated before they are printed, or at the same time. So the text's
    // length is bounded by what they hold.
    let options = if pretty { PrintOptions::pretty() } else { PrintOptions::new() };
    options.max_bytes(u64::MAX)
}

pub(crate) fn non_finite(what: args::NonFinite) -> NonFinite {
    match what {
        args::NonFinite::Error => NonFinite::Error,
        args::NonFinite::Null => NonFinite::Null,
    }
}

pub(crate) fn to_json(args: &ToJson) -> Outcome {
    let output = args.output.output.as_deref();
    let target = output.filter(|_| !is_stdout(output));
    if let Some(path) = target {
        check_new_file(path, args.output.force)?;
    }
    let source = Source::load(&args.file)?;
    let mut options = match args.no_validate {
        // The limit for documents that were not validated, in which values can alias.
        true if args.pretty => PrintOptions::pretty(),
        true => PrintOptions::new(),
        false => print_options(args.pretty),
    };
    options = options.non_finite(non_finite(args.non_finite));
    match target {
        None => print_at_once(args, source, &options),
        Some(path) => {
            let doc = match args.no_validate {
                true => source.doc(&args.file)?,
                false => source.validated(&args.file)?,
            };
            check_lines(args, doc)?;
            let mut file = NewFile::create(path, args.output.force)?;
            let what = format!("writing {}", path.display());
            progress::counting(&what, None, |done| {
                let writer = Counted { writer: file.writer(), done };
                print(args, doc, writer, &options, |error| Failure::io(path, error))
            })?;
            file.finish()
        }
    }
}

/// Refuses to print lines of what is no array.
fn check_lines(args: &ToJson, doc: Doc<'_>) -> Outcome {
    let array = doc.root().as_array().map_err(|error| Failure::document(&args.file, error))?;
    if args.lines && array.is_none() {
        return Err(Failure::trouble(format!("{}: the root is no array", name(&args.file)))
            .with_hint("--lines prints the elements of an array, one a line"));
    }
    Ok(())
}

/// Prints a document and a line feed, or each element on a line.
fn print(
    args: &ToJson,
    doc: Doc<'_>,
    mut writer: impl Write,
    options: &PrintOptions,
    not_written: impl Fn(&io::Error) -> Failure,
) -> Outcome {
    let printed = match args.lines {
        true => to_lines(&mut writer, doc, options),
        false => livebuf_json::to_writer(&mut writer, doc, options).map(|()| true),
    };
    let any = printed.map_err(|error| match error.io_error() {
        Some(error) => not_written(error),
        None => not_converted(args, &error),
    })?;
    let end: &[u8] = if any { b"\n" } else { b"" };
    writer.write_all(end).map_err(|error| not_written(&error))
}

/// Prints the elements of an array with line feeds between them. Returns whether there are any.
fn to_lines(
    writer: impl Write,
    doc: Doc<'_>,
    options: &PrintOptions,
) -> Result<bool, livebuf_json::Error> {
    let mut lines = Lines { writer, depth: 0, in_text: false, escaped: false, any: false };
    livebuf_json::to_writer(&mut lines, doc, options)?;
    Ok(lines.any)
}

/// Makes lines of the compact JSON of an array. That is several times faster than row by row,
/// because columns are printed as a whole.
struct Lines<W> {
    writer: W,
    depth: u32,
    in_text: bool,
    escaped: bool,
    any: bool,
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut lines = Vec::with_capacity(text.len());
        for &byte in text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'[' | b'{' => {
                    self.depth += 1;
                    if self.depth == 1 {
                        continue;
                    }
                }
                b']' | b'}' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        continue;
                    }
                }
                b',' if self.depth == 1 => {
                    lines.push(b'\n');
                    continue;
                }
                _ => {}
            }
            lines.push(byte);
        }
        self.any |= !lines.is_empty();
        self.writer.write_all(&lines)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A document as the text that it was made of: JSON, or JSON lines as long as it is an array.
pub(crate) fn as_json(path: &Path, doc: Doc<'_>, lines: bool) -> Outcome<Vec<u8>> {
    let (mut text, options) = (Vec::new(), print_options(false));
    let is_array = doc.root().kind() == Kind::Array;
    let printed = match lines && is_array {
        true => to_lines(&mut text, doc, &options),
        false => livebuf_json::to_writer(&mut text, doc, &options).map(|()| true),
    };
    if printed.map_err(|error| not_printed(path, &error))? {
        text.push(b'\n');
    }
    Ok(text)
}

/// The error of `to-json` when printing fails.
fn not_converted(args: &ToJson, error: &livebuf_json::Error) -> Failure {
    let failure = not_printed(&args.file, error);
    match error.kind() {
        livebuf_json::ErrorKind::NotFinite => {
            failure.with_hint("--non-finite null prints null for it")
        }
        livebuf_json::ErrorKind::OutputLimit => {
            failure.with_hint("without --no-validate there is no such limit")
        }
        _ => failure,
    }
}

/// Counts the bytes that are written through it.
struct Counted<'a, W> {
    writer: W,
    done: &'a AtomicU64,
}

impl<W: io::Write> io::Write for Counted<'_, W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let length = self.writer.write(text)?;
        self.done.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Prints to standard output while another thread validates.
fn print_at_once(args: &ToJson, source: Source, options: &PrintOptions) -> Outcome {
    // It lives as long as the process: if nobody reads on, or the printing fails, the end of
    // the validation is not waited for.
    let source: &'static Source = Box::leak(Box::new(source));
    let doc = source.doc(&args.file)?;
    check_lines(args, doc)?;
    let validation = match args.no_validate {
        true => None,
        false => {
            let validate = move || doc.validate().map(drop);
            let thread = std::thread::Builder::new().spawn(validate);
            Some(thread.map_err(|error| Failure::io(&args.file, &error))?)
        }
    };
    let mut text = AtOnce { out: Out::new(), kept: Vec::new(), begun: false, validation };
    let printed = print(args, doc, &mut text, options, |error| not_written(&args.file, error))
        .and_then(|()| text.finish(&args.file));
    match printed {
        Err(failure) if text.begun && !was_closed(OUTPUT) => {
            Err(failure.with_hint("the JSON printed until then is cut short or wrong"))
        }
        printed => printed,
    }
}

/// Standard output that keeps the text until everything is known to be right, or until the text
/// gets too long to be kept.
struct AtOnce {
    out: Out,
    kept: Vec<u8>,
    begun: bool,
    validation: Option<JoinHandle<livebuf::Result<()>>>,
}

impl AtOnce {
    /// Most bytes of text that are kept: some milliseconds of printing.
    const KEPT: usize = 1 << 20;

    /// The validation's result, if it is finished or `wait` asks for it.
    fn valid(&mut self, wait: bool) -> livebuf::Result<()> {
        match self.validation.take_if(|validation| wait || validation.is_finished()) {
            Some(validation) => {
                validation.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            None => Ok(()),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            self.out.writer().write_all(&std::mem::take(&mut self.kept))?;
        }
        Ok(())
    }

    /// Ends the text.
    fn finish(&mut self, path: &Path) -> Outcome {
        let damaged = |error| Failure::document(path, error);
        if !self.begun {
            self.valid(true).map_err(damaged)?;
        }
        self.begin().map_err(|error| Failure::output(&error))?;
        self.out.flush()?;
        self.valid(true).map_err(damaged)
    }
}

impl io::Write for AtOnce {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.valid(false).map_err(io::Error::other)?;
        if !self.begun && self.kept.len() + text.len() <= Self::KEPT {
            self.kept.extend_from_slice(text);
        } else {
            self.begin()?;
            self.out.writer().write_all(text)?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a validated value can be printed as JSON without an error. Its nesting is bounded,
/// since it is valid.
pub(crate) fn is_printable(value: Value<'_>, any_float: bool) -> livebuf::Result<bool> {
    match value.kind() {
        Kind::Float => Ok(any_float || value.as_f64().is_some_and(f64::is_finite)),
        Kind::Object => {
            for member in value.as_object()?.iter().flat_map(|object| object.values()) {
                if !is_printable(member?, any_float)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Kind::Array => {
            let Some(array) = value.as_array()? else { return Ok(true) };
            use ColumnType::*;
            let kind = array.column_type();
            if matches!(kind, Bool | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | Null)
                || matches!(kind, String | DictionaryU8 | DictionaryU16 | TextRun)
                || matches!(kind, Date | Time | DateTime | Timestamp | Decimal | Uuid)
            {
                return Ok(true);
            }
            for element in array {
                if !is_printable(element?, any_float)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Kind::Null | Kind::Bool | Kind::Int | Kind::Uint | Kind::NumberText => Ok(true),
        Kind::String | Kind::Bytes => Ok(true),
        kind if kind.is_extended() => Ok(true),
        _ => Ok(false),
    }
}

pub(crate) fn compact(args: &Compact) -> Outcome {
    let output = args.output.as_deref();
    let in_place = output.is_none() && args.file != Path::new("-");
    let target = output.filter(|_| !is_stdout(output));
    if let Some(path) = target {
        check_new_file(path, args.force)?;
    }
    if !in_place {
        let source = Source::open(&args.file)?;
        let is_stdin = args.file == Path::new("-");
        let made = if is_stdin { converted(&args.file, source.bytes(), true)? } else { None };
        if made.is_none() && target.is_none() {
            refuse_terminal(BINARY)?;
        }
        let (json, document);
        let (before, after) = match made {
            Some((doc, lines)) => {
                json = as_json(&args.file, doc.doc(), lines)?;
                (source.bytes(), &*json)
            }
            None => {
                let doc = source.doc(&args.file)?;
                document = compacted(&args.file, doc)?;
                (doc.as_bytes(), document.as_bytes())
            }
        };
        match target {
            Some(path) => {
                let mut file = NewFile::create(path, args.force)?;
                file.write(after)?;
                file.finish()?;
            }
            None => {
                let mut out = Out::new();
                out.write(after)?;
                out.finish()?;
            }
        }
        return told(args, before, after);
    }
    // The lock is held until the new file has the name. Those who wait for it then find that
    // the old file is gone, and open the new one.
    let mut edit =
        patiently(|| FileEdit::open(&args.file)).map_err(|error| not_opened(&args.file, &error))?;
    let trouble = |error: io::Error| Failure::io(&args.file, &error);
    let doc = edit.editor().doc();
    let compacted = compacted(&args.file, doc)?;
    // Files of commands that were killed.
    mapped::remove_abandoned(&mapped::behind_links(&args.file).map_err(trouble)?);
    let mut file = NewFile::create(&args.file, true)?;
    file.write(compacted.as_bytes())?;
    told(args, doc.as_bytes(), compacted.as_bytes())?;
    file.finish_over(edit)
}

fn compacted(path: &Path, doc: Doc<'_, Checked>) -> Outcome<DocBuf> {
    let compacted = || doc.validate()?.compacted();
    progress::during(&format!("compacting {}", name(path)), compacted)
        .map_err(|error| Failure::document(path, error))
}

fn told(args: &Compact, before: &[u8], after: &[u8]) -> Outcome {
    if args.verbose {
        let (before, after) = (before.len() as u64, after.len() as u64);
        let (name, before, after) = (name(&args.file), counted(before, "byte"), grouped(after));
        tell(&format!("{}: {before} before, {after} now", shown(&name)));
    }
    Ok(())
}
