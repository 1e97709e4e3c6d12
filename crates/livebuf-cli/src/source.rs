//! Where commands read from: documents (mapped, so that a look-up touches few
//! pages) and JSON text, from files or standard input.

use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::progress;
use crate::told::{shown, tell};
use livebuf::layout::MAX_NESTING;
use livebuf::mapped::MappedFile;
use livebuf::{Checked, Doc, DocBuf, Encoder, ErrorKind, Region, RegionKind};
use livebuf_json::ReadOptions;
use livebuf_log::{LogReader, Torn};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a command waits for another one to finish with a file.
const PATIENCE: Duration = Duration::from_secs(3);

/// A document's bytes.
pub(crate) enum Source {
    Mapped(MappedFile),
    Read(Vec<u8>),
    /// It was made of JSON, or of a log.
    Made(Box<DocBuf>),
}

impl Source {
    /// Maps a file. Reads standard input and whatever cannot be mapped.
    pub(crate) fn open(path: &Path) -> Outcome<Source> {
        if path == Path::new("-") {
            return read(path).map(Source::Read);
        }
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                read(path).map(Source::Read)
            }
            Ok(_) => patiently(|| MappedFile::open(path))
                .map(Source::Mapped)
                .map_err(|error| Failure::io(path, &error)),
            Err(error) => Err(Failure::io(path, &error)),
        }
    }

    /// Opens what a command reads: a document. Of JSON, and of a log's rows, one is made in
    /// memory.
    pub(crate) fn load(path: &Path) -> Outcome<Source> {
        let source = Source::open(path)?;
        let bytes = source.bytes();
        let made = match Doc::open(bytes) {
            Err(error) if error.kind() == ErrorKind::NotADocument && is_log(bytes) => {
                rows(path, &source)?
            }
            Err(error) if error.kind() == ErrorKind::NotADocument && looks_like_json(bytes) => {
                converted(path, bytes)?
            }
            _ => return Ok(source),
        };
        Ok(Source::Made(Box::new(made)))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Source::Mapped(file) => file.as_bytes(),
            Source::Read(bytes) => bytes,
            Source::Made(doc) => doc.as_bytes(),
        }
    }

    /// The document in these bytes.
    pub(crate) fn doc(&self, path: &Path) -> Outcome<Doc<'_, Checked>> {
        Doc::open(self.bytes()).map_err(|error| not_a_document(path, self.bytes(), error))
    }

    /// The document, validated: damage is found before a byte is printed.
    pub(crate) fn validated(&self, path: &Path) -> Outcome<Doc<'_, Checked>> {
        let doc = self.doc(path)?;
        if !matches!(self, Source::Made(_)) {
            validate(path, doc).map_err(|error| Failure::document(path, error))?;
        }
        Ok(doc)
    }
}

/// JSON text, or what is in a file: a document, JSON or a log. It is validated.
pub(crate) fn given(argument: &Path) -> Outcome<Source> {
    let text = argument.to_str().filter(|text| {
        text.trim_start().starts_with(['{', '[']) || !(*text == "-" || argument.exists())
    });
    let Some(text) = text else {
        let source = Source::load(argument)?;
        source.validated(argument)?;
        return Ok(source);
    };
    let made = livebuf_json::from_slice(text.as_bytes());
    made.map(|doc| Source::Made(Box::new(doc))).map_err(|error| {
        if error.kind() == livebuf_json::ErrorKind::NestingLimit {
            return Failure::trouble(format!("the value is {}", too_deep(&error)));
        }
        Failure::trouble(format!("{text:?} is not JSON: {error}"))
            .with_hint("there is no file of this name either")
    })
}

/// Whether bytes begin as a log does.
pub(crate) fn is_log(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xABLBL")
}

/// The log in a file, or in bytes that were read.
pub(crate) fn log(path: &Path, source: &Source) -> Outcome<LogReader> {
    let log = match source {
        Source::Read(bytes) => {
            let io = |error| Failure::io(path, &error);
            let mut file = tempfile::tempfile().map_err(io)?;
            file.write_all(bytes).map_err(io)?;
            LogReader::elsewhere(file, path)
        }
        _ => LogReader::open(path),
    };
    log.map_err(|error| Failure::log(path, &error))
}

/// Says that bytes at the end of a log that is only read are no rows.
pub(crate) fn told_torn(path: &Path, torn: Option<Torn>) {
    if let Some(torn) = torn {
        tell(&format!(
            "livebuf: {}: passed over {} from offset {} on: a write that did not end",
            shown(&name(path)),
            counted(torn.bytes, "byte"),
            torn.offset
        ));
    }
}

/// An array of a log's rows.
fn rows(path: &Path, source: &Source) -> Outcome<DocBuf> {
    let log = log(path, source)?;
    let mut encoder = Encoder::new();
    let failure = |error| Failure::document(path, error);
    progress::during(&format!("reading {}", name(path)), || {
        encoder.begin_array().map_err(failure)?;
        for row in log.rows(..) {
            let row = row.map_err(|error| Failure::log(path, &error))?;
            if let Some(value) = row.value() {
                encoder.value(&value).map_err(failure)?;
            }
        }
        encoder.end_array().map_err(failure)?;
        told_torn(path, log.torn());
        encoder.finish().map_err(failure)
    })
}

/// JSON as a document; JSON lines as an array of them, if the file's name says so.
fn converted(path: &Path, text: &[u8]) -> Outcome<DocBuf> {
    let total = Some(text.len() as u64);
    let is_lines = path.extension().is_some_and(|kind| kind == "ndjson" || kind == "jsonl");
    progress::counting(&format!("converting {}", name(path)), total, |done| {
        let options = ReadOptions::new().progress(Arc::clone(done));
        match is_lines {
            true => livebuf_json::from_lines(text, &options),
            false => livebuf_json::from_slice_with(text, &options),
        }
    })
    .map_err(|error| not_read(path, text, is_lines, &error))
}

/// Whether text may be JSON, by its first character.
fn looks_like_json(text: &[u8]) -> bool {
    matches!(
        text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text).trim_ascii_start().first(),
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
    )
}

/// Validates, and shows the progress.
pub(crate) fn validate(path: &Path, doc: Doc<'_, Checked>) -> livebuf::Result<()> {
    let total = doc.as_bytes().len() as u64;
    progress::counting(&format!("validating {}", name(path)), Some(total), |done| {
        doc.regions(tally(done))
    })
}

/// Counts the bytes that a validation has finished.
pub(crate) fn tally(done: &AtomicU64) -> impl FnMut(Region) {
    let mut bytes = 0;
    move |region| {
        // The validation meets shared text each time that something refers to it.
        if region.kind != RegionKind::SharedText {
            bytes += region.length;
            done.store(bytes, Ordering::Relaxed);
        }
    }
}

/// Calls `open` again for a while if the file is locked.
pub(crate) fn patiently<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let start = Instant::now();
    loop {
        match open() {
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && start.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

/// The error for text that is no JSON: where, and what the user may have meant.
pub(crate) fn not_read(
    path: &Path,
    text: &[u8],
    lines: bool,
    error: &livebuf_json::Error,
) -> Failure {
    let failure = Failure::trouble(format!("{}: not JSON: {error}", name(path)));
    match error.kind() {
        livebuf_json::ErrorKind::Syntax | livebuf_json::ErrorKind::UnexpectedEnd => {
            // A whole value, and another one behind it.
            let mut values = livebuf_json::documents(text, &ReadOptions::new());
            let mut is_value = || values.next().is_some_and(|value| value.is_ok());
            if !lines && is_value() && is_value() {
                return failure.with_hint("if these are JSON lines, give --lines");
            }
            failure
        }
        livebuf_json::ErrorKind::NestingLimit => {
            Failure::trouble(format!("{}: {}", name(path), too_deep(error)))
        }
        livebuf_json::ErrorKind::InvalidUtf8 => failure,
        _ => Failure::trouble(format!("{}: {error}", name(path))),
    }
}

/// What is wrong with JSON lines, behind the line.
pub(crate) fn in_line(error: &livebuf_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(", at line ").map_or(&*text, |(what, _)| what);
    match error.position() {
        Some(at) => format!("line {}, column {}: {what}", grouped(at.line), at.column),
        None => text,
    }
}

/// Lines that were passed over.
#[derive(Default)]
pub(crate) struct Skipped {
    count: u64,
    first: Option<String>,
}

impl Skipped {
    pub(crate) fn add(&mut self, error: &livebuf_json::Error) {
        self.count += 1;
        self.first.get_or_insert_with(|| in_line(error));
    }

    /// Says how many there were.
    pub(crate) fn told(&self, path: &Path) {
        if let Some(first) = &self.first {
            let (path, count) = (shown(&name(path)).into_owned(), counted(self.count, "line"));
            tell(&format!("livebuf: {path}: {count} skipped; the first is {first}"));
        }
    }
}

/// How JSON that is nested too deeply is described: the limit is the caller's, or the format's.
pub(crate) fn too_deep(error: &livebuf_json::Error) -> String {
    let limit = error.core_error().map(|error| error.detail());
    let what = match limit {
        Some(limit) if limit >= MAX_NESTING.into() => {
            format!("nested deeper than a document can be ({} levels)", grouped(limit))
        }
        _ => "nested too deeply".to_owned(),
    };
    match error.position() {
        Some(position) => format!("{what}, at {position}"),
        None => what,
    }
}

/// Why bytes are no document, and what to do.
pub(crate) fn not_a_document(path: &Path, bytes: &[u8], error: livebuf::Error) -> Failure {
    if error.kind() != ErrorKind::NotADocument {
        return Failure::document(path, error);
    }
    let failure = |what: &str| Failure::trouble(format!("{}: {what}", name(path)));
    if bytes.is_empty() {
        return failure("not a LiveBuf document: it is empty");
    }
    if is_log(bytes) {
        return failure("a log, not a document").with_hint(
            "livebuf log reads and compacts logs; get, query, keys, stats, validate, diff, to-json \
             and to-parquet take a log, too, as an array of its rows",
        );
    }
    if looks_like_json(bytes) {
        let (input, output) = (path.display(), path.with_extension("lbuf"));
        return failure("not a LiveBuf document; it looks like JSON").with_hint(format!(
            "run livebuf from-json {input} -o {} to make a document of it",
            if path == Path::new("-") { Path::new("OUT") } else { &output }.display()
        ));
    }
    failure("not a LiveBuf document")
}

/// Why a file could not be opened for an edit.
pub(crate) fn not_opened(path: &Path, error: &io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<livebuf::Error>()) {
        // Reads the file again: its bytes may tell more.
        Some(&inner) => match Source::open(path) {
            Ok(source) => not_a_document(path, source.bytes(), inner),
            Err(_) => Failure::document(path, inner),
        },
        None => Failure::io(path, error),
    }
}

/// All bytes of a file or of standard input.
pub(crate) fn read(path: &Path) -> Outcome<Vec<u8>> {
    let failure = |error: io::Error| Failure::io(path, &error);
    let is_stdin = path == Path::new("-");
    let mut file: Box<dyn Read> = match is_stdin {
        true => Box::new(io::stdin().lock()),
        false => Box::new(fs::File::open(path).map_err(failure)?),
    };
    // Pipes do not know their length.
    let known = fs::metadata(path).ok().filter(|found| found.is_file() && !is_stdin);
    let total = known.map(|found| found.len());
    let mut bytes = Vec::new();
    bytes.try_reserve(total.and_then(|total| total.try_into().ok()).unwrap_or(0)).map_err(
        |_| Failure::trouble(format!("{}: longer than the memory there is", name(path))),
    )?;
    progress::counting(&format!("reading {}", name(path)), total, |done| {
        while file.by_ref().take(PIECE).read_to_end(&mut bytes)? > 0 {
            done.store(bytes.len() as u64, Ordering::Relaxed);
        }
        Ok(bytes)
    })
    .map_err(failure)
}

/// How much is read at once.
const PIECE: u64 = 4 << 20;
