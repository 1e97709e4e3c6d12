//! Where commands read from: documents (mapped, so that a look-up touches few
//! pages) and JSON text, from files or standard input.

use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::progress;
use crate::told::{shown, tell};
use livebuf::layout::MAX_NESTING;
use livebuf::mapped::MappedFile;
use livebuf::{Checked, Doc, DocBuf, Encoder, ErrorKind, Region, RegionKind};
use livebuf_json::{ReadOptions, quoted};
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

    /// Opens what a command reads: a document. Of JSON, of JSON lines, and of a log's rows, one is
    /// made in memory.
    pub(crate) fn load(path: &Path) -> Outcome<Source> {
        Source::load_as(path, true)
    }

    /// The same. `lines` says whether values one after another in any file are read as JSON lines,
    /// or only in a file that is named so.
    fn load_as(path: &Path, lines: bool) -> Outcome<Source> {
        let source = Source::open(path)?;
        let made = match is_log(source.bytes()) {
            true => Some(rows(path, &source)?),
            false => converted(path, source.bytes(), lines)?.map(|(made, _)| made),
        };
        Ok(made.map_or(source, |made| Source::Made(Box::new(made))))
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
        // Several merge patches must not become an array, which replaces the document.
        let source = Source::load_as(argument, false)?;
        source.validated(argument)?;
        return Ok(source);
    };
    let made = livebuf_json::from_slice(text.as_bytes());
    made.map(|doc| Source::Made(Box::new(doc))).map_err(|error| {
        if error.kind() == livebuf_json::ErrorKind::NestingLimit {
            return Failure::trouble(format!("the value is {}", too_deep(&error)));
        }
        Failure::trouble(format!("{} is not JSON: {error}", quoted(text)))
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

/// The document that JSON text is, or an array of JSON lines; and whether it is lines. `None` if the
/// bytes are no JSON.
///
/// Text is lines if the file's name says so. With `lines` it also is if it begins with a value, and
/// the next one begins on another line.
pub(crate) fn converted(path: &Path, text: &[u8], lines: bool) -> Outcome<Option<(DocBuf, bool)>> {
    if !Doc::open(text).is_err_and(|error| error.kind() == ErrorKind::NotADocument)
        || !looks_like_json(text)
    {
        return Ok(None);
    }
    let read = |is_lines| {
        let what = format!("converting {}", name(path));
        progress::counting(&what, Some(text.len() as u64), |done| {
            let options = ReadOptions::new().progress(Arc::clone(done));
            match is_lines {
                true => livebuf_json::from_lines(text, &options),
                false => livebuf_json::from_slice_with(text, &options),
            }
        })
    };
    let mut is_lines = is_named_lines(path);
    let mut made = read(is_lines);
    if lines && !is_lines && made.as_ref().is_err_and(|error| are_lines(text, error)) {
        is_lines = true;
        made = read(true);
    }
    made.map(|made| Some((made, is_lines))).map_err(|error| {
        let failure = not_read(path, &error);
        if is_nul(text, &error) {
            return failure.with_hint(
                "livebuf from-json --lines --skip-bad makes a document of the other lines",
            );
        }
        match !is_lines && are_many(text, &error) {
            true => failure.with_hint("livebuf from-json --lines makes an array of several values"),
            false => failure,
        }
    })
}

fn is_named_lines(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "ndjson" || kind == "jsonl")
}

/// Whether text that is no single value is several values, each whole.
pub(crate) fn are_many(text: &[u8], error: &livebuf_json::Error) -> bool {
    use livebuf_json::ErrorKind::{Syntax, UnexpectedEnd};
    let mut values = livebuf_json::documents(text, &ReadOptions::new());
    let mut is_value = || values.next().is_some_and(|value| value.is_ok());
    matches!(error.kind(), Syntax | UnexpectedEnd) && is_value() && is_value()
}

/// Whether these values are lines: the second one, where a single value is at its end, begins on
/// another line.
fn are_lines(text: &[u8], error: &livebuf_json::Error) -> bool {
    let behind = error.position().map_or(0, |at| at.offset as usize);
    let before = text.get(..behind).unwrap_or(text);
    before[before.trim_ascii_end().len()..].contains(&b'\n') && are_many(text, error)
}

/// Whether an error is at a NUL byte.
pub(crate) fn is_nul(text: &[u8], error: &livebuf_json::Error) -> bool {
    error.position().is_some_and(|at| text.get(at.offset as usize) == Some(&0))
}

/// Which other format bytes begin as, in the words of `from-json`.
fn other_format(bytes: &[u8]) -> Option<String> {
    let beginning = bytes.get(..16).unwrap_or(bytes);
    let error = livebuf_json::from_slice(beginning).err()?.to_string();
    let (what, _) = error.rsplit_once(", at line ")?;
    what.starts_with("this is ").then(|| what.to_owned())
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

/// The error for text that is no JSON, and where.
pub(crate) fn not_read(path: &Path, error: &livebuf_json::Error) -> Failure {
    use livebuf_json::ErrorKind::{InvalidUtf8, NestingLimit, Syntax, UnexpectedEnd};
    Failure::trouble(match error.kind() {
        Syntax | UnexpectedEnd | InvalidUtf8 => format!("{}: not JSON: {error}", name(path)),
        NestingLimit => format!("{}: {}", name(path), too_deep(error)),
        _ => format!("{}: {error}", name(path)),
    })
}

/// What is wrong with JSON lines: the line, and then the error.
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
        return failure("a log, not a document").with_hint(format!(
            "livebuf log reads and compacts logs; validate, {READERS} take a log, too, as an array of \
             its rows"
        ));
    }
    if let Some(what) = other_format(bytes) {
        return failure(&format!("not a LiveBuf document: {what}"));
    }
    if looks_like_json(bytes) {
        let single = livebuf_json::from_slice(bytes).err();
        let is_lines = is_named_lines(path) || single.is_some_and(|error| are_lines(bytes, &error));
        let (what, option) = if is_lines { ("JSON lines", " --lines") } else { ("JSON", "") };
        let (input, output) = (path.display(), path.with_extension("lbuf"));
        let output = if path == Path::new("-") { Path::new("OUT") } else { &output }.display();
        return failure(&format!("not a LiveBuf document; it looks like {what}"))
            .with_hint(format!(
                "run livebuf from-json{option} {input} -o {output} to make a document of it"
            ))
            .with_hint(format!("{READERS} read {what} as it is"));
    }
    failure("not a LiveBuf document")
}

/// The commands that take JSON and logs in place of documents.
const READERS: &str = "get, query, keys, tree, stats, diff, to-json and to-parquet";

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
