//! Where commands read from: documents (mapped, so that a look-up touches few
//! pages) and JSON text, from files or standard input.

use crate::failure::{Failure, Outcome, name};
use crate::progress;
use livebuf::layout::MAX_NESTING;
use livebuf::mapped::MappedFile;
use livebuf::{Checked, Doc, DocBuf, ErrorKind, Limits, Region, RegionKind};
use livebuf_json::ReadOptions;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a command waits for another one to finish with a file.
const PATIENCE: Duration = Duration::from_secs(3);

/// A document's bytes.
pub(crate) enum Source {
    Mapped(MappedFile),
    Read(Vec<u8>),
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

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Source::Mapped(file) => file.as_bytes(),
            Source::Read(bytes) => bytes,
        }
    }

    /// The document in these bytes.
    pub(crate) fn doc(&self, path: &Path) -> Outcome<Doc<'_, Checked>> {
        Doc::open(self.bytes()).map_err(|error| not_a_document(path, self.bytes(), error))
    }

    /// The document, validated: damage is found before a byte is printed.
    pub(crate) fn validated(&self, path: &Path) -> Outcome<Doc<'_, Checked>> {
        let doc = self.doc(path)?;
        validate(path, doc).map_err(|error| Failure::document(path, error))?;
        Ok(doc)
    }
}

/// A document, or JSON text that was made one.
pub(crate) enum Loaded {
    Document(Source, PathBuf),
    Json(Box<DocBuf>),
}

impl Loaded {
    /// Opens and validates a document, or reads JSON text.
    pub(crate) fn open(path: &Path) -> Outcome<Loaded> {
        let source = Source::open(path)?;
        match Doc::open(source.bytes()) {
            // Bytes that begin no document may be JSON.
            Err(error) if error.kind() == ErrorKind::NotADocument => {
                let options = ReadOptions::new().limits(deepest());
                livebuf_json::from_slice_with(source.bytes(), &options)
                    .map(|doc| Loaded::Json(Box::new(doc)))
                    .map_err(|error| {
                        Failure::trouble(format!(
                            "{}: no document, and not JSON: {error}",
                            name(path)
                        ))
                    })
            }
            _ => {
                source.validated(path)?;
                Ok(Loaded::Document(source, path.to_path_buf()))
            }
        }
    }

    /// The document.
    pub(crate) fn doc(&self) -> Outcome<Doc<'_, Checked>> {
        match self {
            Loaded::Document(source, path) => source.doc(path),
            Loaded::Json(doc) => Ok(doc.doc()),
        }
    }
}

/// Limits that allow the deepest nesting.
fn deepest() -> Limits {
    let mut limits = Limits::default();
    limits.nesting = MAX_NESTING;
    limits
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

/// Why bytes are no document, and what to do.
pub(crate) fn not_a_document(path: &Path, bytes: &[u8], error: livebuf::Error) -> Failure {
    if error.kind() != ErrorKind::NotADocument {
        return Failure::document(path, error);
    }
    let failure = |what: &str| Failure::Trouble(format!("{}: {what}", name(path)));
    let text = bytes.trim_ascii_start();
    if bytes.is_empty() {
        return failure("not a LiveBuf document: it is empty");
    }
    match text.first() {
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
            let (input, output) = (path.display(), path.with_extension("lbuf"));
            failure("not a LiveBuf document; it looks like JSON").with_hint(format!(
                "run livebuf from-json {input} -o {} to make a document of it",
                if path == Path::new("-") { Path::new("OUT") } else { &output }.display()
            ))
        }
        _ => failure("not a LiveBuf document"),
    }
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
