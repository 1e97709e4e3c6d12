//! Many values: JSON lines (NDJSON), or values one after another. A document for each, or one
//! array of them all.

use livebuf::{DocBuf, Encoder};

use crate::error::{Before, Error};
use crate::options::ReadOptions;
use crate::read::{Failure, Reader};

/// Reads JSON lines into one document, an array with an element for each.
///
/// Values may also follow one another without line ends, and each may take several lines, as `jq`
/// and `kubectl` print them. White space is all that is between them, and it may be missing beside
/// `{}`, `[]` and `""`. Text without a value is an empty array.
///
/// Linear in the text; memory as [`from_slice`](crate::from_slice).
///
/// # Errors
/// As [`from_slice`](crate::from_slice), with the place in all of `text`.
///
/// ```
/// let text = b"{\"a\":1}\n\n[2]\r\n{\n  \"a\": 3\n}{\"a\":4}";
/// let document = livebuf_json::from_lines(text, &Default::default())?;
/// assert_eq!(livebuf_json::to_string(&document)?, r#"[{"a":1},[2],{"a":3},{"a":4}]"#);
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn from_lines(text: &[u8], options: &ReadOptions) -> Result<DocBuf, Error> {
    let mut reader = options.reader(text);
    array(text.len(), options, |encoder| {
        while reader.another(encoder, options.progress_to())? {
            options.done(reader.offset());
        }
        Ok(())
    })
    .map_err(|failure| failure.into_error(text, Before::default()))
}

/// The same, but passes over lines that are no JSON: `skipped` gets the error of each, with its
/// line. Here each line must be a value by itself, so that one that is cut short costs no other.
///
/// Takes twice the time: each line is read once to see whether it can be.
///
/// # Errors
/// Those of the document as a whole, such as that it gets too large.
///
/// ```
/// let (text, mut lines) = (b"{\"lap\":1}\n{\"lap\":\n{\"lap\":3}\n", Vec::new());
/// let skip = |error: livebuf_json::Error| lines.extend(error.position().map(|at| at.line));
/// let document = livebuf_json::from_lines_skipping(text, &Default::default(), skip)?;
/// assert_eq!(livebuf_json::to_string(&document)?, r#"[{"lap":1},{"lap":3}]"#);
/// assert_eq!(lines, [2]);
/// # Ok::<(), livebuf_json::Error>(())
/// ```
pub fn from_lines_skipping(
    text: &[u8],
    options: &ReadOptions,
    mut skipped: impl FnMut(Error),
) -> Result<DocBuf, Error> {
    let mut sound = Vec::new();
    for line in Lines::new(text) {
        let read = |encoder: &mut Encoder| options.reader(line.text).only(encoder, None);
        match array(0, options, read) {
            Ok(_) => sound.push((line.before.bytes, line.text)),
            Err(failure) => skipped(failure.into_error(line.text, line.before)),
        }
        options.done(line.before.bytes + line.text.len());
    }
    array(text.len(), options, |encoder| {
        sound.iter().try_for_each(|&(before, line)| {
            let read = options.reader(line).only(encoder, None);
            read.map_err(|failure| failure.behind(before))
        })
    })
    .map_err(|failure| failure.into_error(text, Before::default()))
}

/// Encodes an array of what `elements` gives. `text` is the length of its text.
fn array(
    text: usize,
    options: &ReadOptions,
    elements: impl FnOnce(&mut Encoder) -> Result<(), Failure>,
) -> Result<DocBuf, Failure> {
    options.encode(text, |encoder| {
        encoder.begin_array().map_err(|error| Failure::at(error, 0))?;
        elements(encoder)?;
        let failure = |error| Failure::at(error, text);
        encoder.end_array().map_err(failure)?;
        encoder.finish_one().map_err(failure)
    })
}

/// Reads values into a document each: an iterator over JSON lines, or over values one after another,
/// as [`from_lines`] reads them.
///
/// It ends behind an error, or goes on with the next line ([`Documents::each_line`]). Memory as
/// [`from_slice`](crate::from_slice) for the longest value.
///
/// ```
/// let mut documents = livebuf_json::documents(b"1\n\n[2,\n3] nor", &Default::default());
/// assert!(documents.next().unwrap().is_ok());
/// assert!(documents.next().unwrap().is_ok());
/// assert_eq!(documents.next().unwrap().unwrap_err().position().unwrap().line, 4);
/// assert!(documents.next().is_none());
/// ```
pub fn documents<'t>(text: &'t [u8], options: &ReadOptions) -> Documents<'t> {
    Documents { text, values: Values::All(options.reader(text)), options: options.clone() }
}

/// A document for each value: [`documents`].
#[derive(Clone, Debug)]
pub struct Documents<'t> {
    text: &'t [u8],
    values: Values<'t>,
    options: ReadOptions,
}

#[derive(Clone, Debug)]
enum Values<'t> {
    All(Reader<'t>),
    Lines(Lines<'t>),
    None,
}

impl<'t> Documents<'t> {
    /// Takes each line by itself: it must be a value, or it is an error, and the next step goes on
    /// with the next line. To be called before the first step.
    ///
    /// ```
    /// let documents = livebuf_json::documents(b"1\n[2,\n[3]", &Default::default()).each_line();
    /// let are_sound: Vec<_> = documents.map(|document| document.is_ok()).collect();
    /// assert_eq!(are_sound, [true, false, true]);
    /// ```
    #[must_use]
    pub fn each_line(self) -> Self {
        Documents { values: Values::Lines(Lines::new(self.text)), ..self }
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<DocBuf, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let options = &self.options;
        match &mut self.values {
            Values::All(reader) => {
                let read = options.encode(0, |encoder| {
                    if !reader.another(encoder, None)? {
                        return Ok(None);
                    }
                    let failure = |error| Failure::at(error, reader.offset());
                    encoder.finish_one().map(Some).map_err(failure)
                });
                options.done(reader.offset());
                if !matches!(read, Ok(Some(_))) {
                    self.values = Values::None;
                }
                read.map_err(|failure| failure.into_error(self.text, Before::default())).transpose()
            }
            Values::Lines(lines) => {
                let line = lines.next()?;
                let read = options.read(line.text, None);
                options.done(line.before.bytes + line.text.len());
                Some(read.map_err(|failure| failure.into_error(line.text, line.before)))
            }
            Values::None => None,
        }
    }
}

impl std::iter::FusedIterator for Documents<'_> {}

/// The lines that are not blank.
#[derive(Clone, Debug)]
struct Lines<'t> {
    rest: &'t [u8],
    before: Before,
}

struct Line<'t> {
    text: &'t [u8],
    before: Before,
}

impl<'t> Lines<'t> {
    fn new(text: &'t [u8]) -> Self {
        Lines { rest: text, before: Before::default() }
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest);
            let (text, before) = (&self.rest[..end.unwrap_or(self.rest.len())], self.before);
            self.rest = self.rest.get(text.len() + 1..).unwrap_or_default();
            self.before = Before { bytes: before.bytes + text.len() + 1, lines: before.lines + 1 };
            if !text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
                return Some(Line { text, before });
            }
        }
        None
    }
}
