//! Options of reading, and reading one value by them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(doc)]
use livebuf::Extended;
use livebuf::{DocBuf, DuplicateKeys, EncodeOptions, Encoder, Limits, VecStorage};

use crate::error::{Before, Error};
use crate::read::{Failure, NumberPolicy, Policy, Progress, Reader, Surrogates};

/// The most room, in bytes, that a document gets before anything is written.
const MOST_ROOM: usize = 1 << 16;

/// How JSON text is read.
///
/// ```
/// use livebuf_json::{DuplicateKeys, ErrorKind, ReadOptions, from_slice_with};
///
/// let options = ReadOptions::new().duplicate_keys(DuplicateKeys::Error);
/// let error = from_slice_with(br#"{"a": 1, "a": 2}"#, &options).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::DuplicateKey);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    pub(crate) policy: Policy,
    encode: EncodeOptions,
    progress: Option<Arc<AtomicU64>>,
}

impl ReadOptions {
    /// Exact numbers, the last of equal keys wins, the core's limits (nesting to 1,000).
    pub fn new() -> Self {
        Self::default()
    }

    /// What becomes of numbers.
    #[must_use]
    pub fn numbers(mut self, numbers: NumberPolicy) -> Self {
        self.policy.numbers = numbers;
        self
    }

    /// What becomes of escapes that name half of a surrogate pair.
    #[must_use]
    pub fn surrogates(mut self, surrogates: Surrogates) -> Self {
        self.policy.surrogates = surrogates;
        self
    }

    /// Whether text that is a date, a date and time, a timestamp or a UUID becomes such a value, as
    /// [`Extended::recognize`] says; it stays text by default. Reading takes longer with it. Printed
    /// again, a timestamp is in UTC, a second's fraction has three or six digits or none, and a UUID
    /// is in lower case.
    ///
    /// ```
    /// use livebuf_json::{ReadOptions, from_slice_with, to_string};
    ///
    /// let text = br#"{"due":"2026-11-23","note":"2026-11-23?"}"#;
    /// let document = from_slice_with(text, &ReadOptions::new().recognize(true))?;
    /// assert_eq!(document.get("due")?.unwrap().as_date()?.unwrap().ymd(), (2026, 11, 23));
    /// assert_eq!(to_string(&document)?.as_bytes(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn recognize(mut self, recognize: bool) -> Self {
        self.policy.recognize = recognize;
        self
    }

    /// Whether the last of equal keys wins (at the place of the first) or is an error.
    #[must_use]
    pub fn duplicate_keys(mut self, duplicate_keys: DuplicateKeys) -> Self {
        self.encode.duplicate_keys = duplicate_keys;
        self
    }

    /// The limits of the document, nesting among them.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.encode.limits = limits;
        self
    }

    /// Whether arrays of similar objects and of arrays become columns, where that takes no
    /// more bytes. They do by default.
    #[must_use]
    pub fn tables(mut self, tables: bool) -> Self {
        self.encode.tables = tables;
        self
    }

    /// Fewest bytes of a number in a column: 1 by default; 8 makes every column of
    /// numbers one of `i64`, `u64` or `f64`.
    #[must_use]
    pub fn min_width(mut self, min_width: u8) -> Self {
        self.encode.min_width = min_width;
        self
    }

    /// Where to tell how many bytes of the text were read: to show, from another thread, how
    /// far the reading is. It is told now and then, and begins anew where a part of the text
    /// is read again.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
    ///
    /// let done = Arc::new(AtomicU64::new(0));
    /// let options = livebuf_json::ReadOptions::new().progress(Arc::clone(&done));
    /// livebuf_json::from_slice_with(br#"[1, "two", [3], {}]"#, &options)?;
    /// assert_eq!(done.load(Ordering::Relaxed), 19);
    /// # Ok::<(), livebuf_json::Error>(())
    /// ```
    #[must_use]
    pub fn progress(mut self, bytes: Arc<AtomicU64>) -> Self {
        self.progress = Some(bytes);
        self
    }

    /// Tells that so many bytes of the text were read.
    pub(crate) fn done(&self, bytes: usize) {
        if let Some(progress) = &self.progress {
            progress.store(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Encodes `text` bytes of text. A small document gets its room at once: a quarter of the text,
    /// since few documents take less.
    pub(crate) fn encode<R>(&self, text: usize, encode: impl FnOnce(&mut Encoder) -> R) -> R {
        let storage = VecStorage::with_capacity((text / 4).min(MOST_ROOM) as u64);
        Encoder::with_kept_memory(storage.unwrap_or_default(), self.encode, encode)
    }

    pub(crate) fn reader<'t>(&self, text: &'t [u8]) -> Reader<'t> {
        Reader::new(text, self.policy)
    }

    pub(crate) fn progress_to(&self) -> Progress<'_> {
        self.progress.as_deref()
    }

    /// Reads one value.
    pub(crate) fn read(&self, text: &[u8], progress: Progress<'_>) -> Result<DocBuf, Failure> {
        self.encode(text.len(), |encoder| {
            self.reader(text).only(encoder, progress)?;
            encoder.finish_one().map_err(|error| Failure::at(error, text.len()))
        })
    }
}

/// Reads JSON text into a document.
///
/// All of `text` must be one value (RFC 8259, strictly: no comments, no trailing commas, UTF-8
/// only), with white space around it at most. A byte order mark before it is passed over. Numbers become
/// what holds them without loss, see [`NumberPolicy`]; keys keep their order; of equal
/// keys the last wins, at the place of the first.
///
/// Linear in the text, which is read once. Memory beside text and document is what the encoder uses. The thread keeps up to
/// 4 MiB of it for the next text ([`Encoder::with_kept_memory`]).
///
/// # Errors
/// Everything in [`ErrorKind`](crate::ErrorKind) up to
/// [`DocumentLimit`](crate::ErrorKind::DocumentLimit), with the
/// [`Position`](crate::Position) in the text.
///
/// ```
/// let document = livebuf_json::from_slice(br#"{"lap": 55, "time": 88.427}"#)?;
/// assert_eq!(document.valid().unwrap().root().get("lap").unwrap().as_i64(), Some(55));
///
/// let error = livebuf_json::from_slice(b"{\n  \"lap\": 055\n}").unwrap_err();
/// assert_eq!(error.position().unwrap().to_string(), "line 2, column 11 (byte 12)");
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn from_slice(text: &[u8]) -> Result<DocBuf, Error> {
    from_slice_with(text, &ReadOptions::new())
}

/// Reads JSON text into a document; as [`from_slice`].
///
/// # Errors
/// As [`from_slice`].
///
/// ```
/// let document = livebuf_json::from_str(r#"{"lap": 55, "times": [88.4, 87.9]}"#)?;
/// assert_eq!(document.pointer("/times/1")?.unwrap(), 87.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_str(text: &str) -> Result<DocBuf, Error> {
    from_slice(text.as_bytes())
}

/// Reads JSON text into a document, all of what a reader gives; as [`from_slice`].
///
/// The text is in memory as a whole, beside the document.
///
/// # Errors
/// As [`from_slice`], and [`ErrorKind::Io`](crate::ErrorKind::Io) with the reader's error.
///
/// ```
/// let document = livebuf_json::from_reader(&br#"{"lap": 55}"#[..])?;
/// assert_eq!(livebuf_json::to_string(&document)?, r#"{"lap":55}"#);
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn from_reader(mut reader: impl io::Read) -> Result<DocBuf, Error> {
    let mut text = Vec::new();
    reader.read_to_end(&mut text).map_err(Error::reading)?;
    from_slice(&text)
}

/// Gives an encoder the value that JSON text is, as events among others. Of the options those of
/// values count; those of the document are the encoder's.
///
/// # Errors
/// As [`from_slice`]. The encoder cannot be used further.
///
/// ```
/// let mut encoder = livebuf::Encoder::new();
/// encoder.begin_array()?;
/// encoder.i64(1)?;
/// livebuf_json::read_into(&mut encoder, r#"{"lap": 2}"#, &Default::default())?;
/// encoder.end_array()?;
/// assert_eq!(livebuf_json::to_string(&encoder.finish()?)?, r#"[1,{"lap":2}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_into(encoder: &mut Encoder, text: &str, options: &ReadOptions) -> Result<(), Error> {
    let read = options.reader(text.as_bytes()).only(encoder, None);
    read.map_err(|failure| failure.into_error(text.as_bytes(), Before::default()))
}

/// Reads JSON text into a document by the options; as [`from_slice`].
///
/// # Errors
/// As [`from_slice`].
pub fn from_slice_with(text: &[u8], options: &ReadOptions) -> Result<DocBuf, Error> {
    let document = options
        .read(text, options.progress_to())
        .map_err(|failure| failure.into_error(text, Before::default()))?;
    options.done(text.len());
    Ok(document)
}
