//! JSON lines (NDJSON): a document per line, or one array of them all.

use livebuf::DocBuf;

use crate::error::Error;
use crate::options::ReadOptions;
use crate::read::{Failure, read, read_str};

/// Reads JSON lines into one document, an array with an element per line.
///
/// Lines end with `\n` (a `\r` before it is white space to JSON); lines of nothing but
/// white space are skipped, so text without a value is an empty array.
///
/// Linear in the text; memory as [`from_slice`](crate::from_slice).
///
/// # Errors
/// As [`from_slice`](crate::from_slice), with the place in all of `text`.
///
/// ```
/// let document = livebuf_json::from_lines(b"{\"a\":1}\n\n[2]\r\n", &Default::default())?;
/// let text = livebuf_json::to_string(&document)?;
/// assert_eq!(text, r#"[{"a":1},[2]]"#);
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn from_lines(text: &[u8], options: &ReadOptions) -> Result<DocBuf, Error> {
    options.encode(text.len(), |encoder| {
        let failure = |error| Failure::at(error, 0).into_error(text, 0);
        encoder.begin_array().map_err(failure)?;
        // It takes less time to check the UTF-8 of all lines at once than of each.
        let all = simdutf8::basic::from_utf8(text).ok();
        for line in Lines::new(text) {
            let read = match all.and_then(|all| all.get(line.offset..)?.get(..line.text.len())) {
                Some(line) => read_str(line, options.policy, encoder, None),
                None => read(line.text, options.policy, encoder, None),
            };
            read.map_err(|failure| failure.into_error(text, line.offset))?;
            options.done(line.offset + line.text.len());
        }
        let failure = |error| Failure::at(error, text.len()).into_error(text, 0);
        encoder.end_array().map_err(failure)?;
        encoder.finish_one().map_err(failure)
    })
}

/// Reads JSON lines into one document each: an iterator, a line per step.
///
/// Lines of nothing but white space are skipped. A line with an error yields it, and the
/// next step goes on behind that line. Memory as [`from_slice`](crate::from_slice) for the
/// longest line.
///
/// ```
/// let mut documents = livebuf_json::documents(b"1\n\nnot\n[2]", &Default::default());
/// assert!(documents.next().unwrap().is_ok());
/// assert_eq!(documents.next().unwrap().unwrap_err().position().unwrap().line, 3);
/// assert!(documents.next().unwrap().is_ok());
/// assert!(documents.next().is_none());
/// ```
pub fn documents<'t>(text: &'t [u8], options: &ReadOptions) -> Documents<'t> {
    Documents { text, lines: Lines::new(text), options: options.clone() }
}

/// One document per line: [`documents`].
#[derive(Clone, Debug)]
pub struct Documents<'t> {
    text: &'t [u8],
    lines: Lines<'t>,
    options: ReadOptions,
}

impl Iterator for Documents<'_> {
    type Item = Result<DocBuf, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        let read = self.options.read(line.text, None);
        self.options.done(line.offset + line.text.len());
        Some(read.map_err(|failure| failure.into_error(self.text, line.offset)))
    }
}

impl std::iter::FusedIterator for Documents<'_> {}

/// The lines that hold anything.
#[derive(Clone, Debug)]
struct Lines<'t> {
    text: &'t [u8],
    offset: usize,
}

struct Line<'t> {
    text: &'t [u8],
    offset: usize,
}

impl<'t> Lines<'t> {
    fn new(text: &'t [u8]) -> Self {
        Lines { text, offset: 0 }
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        while self.offset < self.text.len() {
            let offset = self.offset;
            let rest = &self.text[offset..];
            let text = memchr::memchr(b'\n', rest).map_or(rest, |end| &rest[..end]);
            self.offset = offset + text.len() + 1;
            if !text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
                return Some(Line { text, offset });
            }
        }
        None
    }
}
