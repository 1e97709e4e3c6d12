//! Rows in memory: validated documents of frames, and documents that are being made.

use std::sync::Arc;

use livebuf::{
    Array, Doc, DocBuf, Editor, EncodeOptions, Encoder, ErrorKind as Core, Limits, Mode, Valid,
    Value, VecStorage,
};

use crate::error::{Error, Result};
use crate::file::LogFile;
use crate::frames::{Frame, read_body};
use crate::layout::{FRAME_SIZE, FrameKind, crc};

/// Rows that lie in one document: an array, whose elements are the rows.
///
/// The document was validated. It can be shared, and exported to Arrow.
///
/// ```
/// use livebuf_log::{Log, LogOptions, LogReader};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("laps.lblog");
/// let mut log = LogOptions::new().group_rows(100).create(&path)?;
/// for lap in 0..250 {
///     log.append(&livebuf::json!({"lap": lap}))?;
/// }
/// log.close()?;
/// let mut laps = 0;
/// for group in LogReader::open(&path)?.groups(..) {
///     let group = group?;
///     let column = group.array().unwrap().table().unwrap().column("lap").unwrap();
///     laps += column.i64s().flatten().count();
/// }
/// assert_eq!(laps, 250);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Group {
    document: Arc<DocBuf>,
    first: u64,
    rows: usize,
}

impl Group {
    /// Reads the rows of a frame. Linear in its bytes.
    pub(crate) fn read(file: &LogFile, frame: &Frame) -> Result<Group> {
        let body = read_body(file, frame)?;
        let damaged = |error| {
            Error::damaged(frame.offset, "the log is damaged: a frame's document is damaged")
                .because(error)
        };
        let mut document = Editor::open_unvalidated(body).map_err(damaged)?;
        document.validate().map_err(damaged)?;
        if document.as_bytes().len() != frame.length as usize {
            return Err(damaged(livebuf::Error::new(Core::BadCount, 0)));
        }
        if frame.kind == FrameKind::Row {
            let mut builder = Builder::new(EncodeOptions::default());
            builder.begin()?;
            builder.value(document.doc().root()).map_err(damaged)?;
            document = builder.finish().map_err(|error| error.at(frame.offset))?;
        }
        Group::new(document, frame.first, frame.rows as usize)
            .ok_or_else(|| damaged(livebuf::Error::new(Core::BadCount, 0)))
    }

    /// `None` if the document is not an array of this many rows, or was not validated.
    pub(crate) fn new(document: DocBuf, first: u64, rows: usize) -> Option<Group> {
        let array = document.valid().ok()?.root().as_array()?;
        (array.len() == rows).then(|| Group { document: Arc::new(document), first, rows })
    }

    /// The number of the first row.
    pub fn first_row(&self) -> u64 {
        self.first
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none. No group of a log is empty.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The document, to be shared: for Arrow, say.
    pub fn document(&self) -> &Arc<DocBuf> {
        &self.document
    }

    /// The rows as an array; `None` is never answered.
    pub fn array(&self) -> Option<Array<'_, Valid>> {
        self.document.valid().ok()?.root().as_array()
    }

    /// A row by its place in the group, from 0 on; `None` behind the last one. Constant time.
    pub fn get(&self, index: usize) -> Option<Value<'_, Valid>> {
        self.array()?.get(index)
    }
}

/// One row of a log. It keeps its group in memory.
#[derive(Clone, Debug)]
pub struct Row {
    pub(crate) group: Group,
    pub(crate) index: usize,
}

impl Row {
    /// The row's number in the log, from 0 on.
    pub fn number(&self) -> u64 {
        self.group.first + self.index as u64
    }

    /// The row's value; `None` is never answered.
    pub fn value(&self) -> Option<Value<'_, Valid>> {
        self.group.get(self.index)
    }

    /// The group that the row is in.
    pub fn group(&self) -> &Group {
        &self.group
    }
}

/// The deepest nesting of a row: it is read as an element of an array (LOG 4).
const MAX_NESTING: u16 = 999;

/// Refuses a document that nests deeper than a row may.
pub(crate) fn check_nesting(row: Doc<'_, Valid>) -> Result<()> {
    // Each level is a block of 8 bytes at least.
    let may_be_deeper = row.as_bytes().len() > 8 * usize::from(MAX_NESTING);
    if may_be_deeper && row.stats()?.depth > MAX_NESTING.into() {
        return Err(livebuf::Error::with_detail(Core::NestingLimit, 0, MAX_NESTING.into()).into());
    }
    Ok(())
}

/// These options with the format's own limits.
pub(crate) fn unlimited(mut options: EncodeOptions) -> EncodeOptions {
    options.limits = Limits::default();
    options
}

/// Makes documents of rows, one after the other, with one encoder.
#[derive(Debug)]
pub(crate) struct Builder {
    encoder: Encoder,
    options: EncodeOptions,
    rows: usize,
}

impl Builder {
    pub(crate) fn new(options: EncodeOptions) -> Builder {
        Builder { encoder: Encoder::with_options(options), options, rows: 0 }
    }

    /// A document of one row. What was begun before is forgotten.
    pub(crate) fn single<E: From<Error>>(
        &mut self,
        row: impl FnOnce(&mut Encoder) -> Result<(), E>,
    ) -> Result<DocBuf, E> {
        let mut options = self.options;
        options.limits.nesting = options.limits.nesting.min(MAX_NESTING);
        self.encoder.restart(VecStorage::default(), options);
        row(&mut self.encoder)?;
        self.encoder.finish_one().map_err(|error| Error::from(error).into())
    }

    /// Begins an array. What was begun before is forgotten.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.begin_as(self.options)
    }

    /// The same for rows that are in the log already: the options' limits are for new ones.
    pub(crate) fn begin_anew(&mut self) -> Result<()> {
        self.begin_as(unlimited(self.options))
    }

    fn begin_as(&mut self, options: EncodeOptions) -> Result<()> {
        self.encoder.restart(VecStorage::default(), options);
        self.encoder.begin_array()?;
        self.rows = 0;
        Ok(())
    }

    /// Takes a row as events. False if there are no more.
    pub(crate) fn row<E>(
        &mut self,
        row: impl FnOnce(&mut Encoder) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let more = row(&mut self.encoder)?;
        self.rows += usize::from(more);
        Ok(more)
    }

    /// Copies a row.
    pub(crate) fn value(&mut self, row: Value<'_, impl Mode>) -> livebuf::Result<()> {
        self.encoder.value(&row)?;
        self.rows += 1;
        Ok(())
    }

    /// Copies all rows of a document.
    pub(crate) fn rows_of(&mut self, document: Doc<'_, impl Mode>) -> livebuf::Result<()> {
        let Some(array) = document.checked().root().as_array()? else {
            return Err(livebuf::Error::new(Core::WrongType, 0));
        };
        for row in &array {
            self.value(row?)?;
        }
        Ok(())
    }

    /// Copies all rows of frames that follow each other, which are read at once.
    pub(crate) fn frames(&mut self, file: &LogFile, frames: &[Frame]) -> Result<()> {
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else { return Ok(()) };
        let size = last.offset.saturating_add(last.size()).saturating_sub(first.offset);
        let mut bytes = Vec::new();
        if size <= file.len()?.saturating_sub(first.offset) {
            bytes.resize(usize::try_from(size).unwrap_or(0), 0);
        }
        file.read(&mut bytes, first.offset)?;
        for frame in frames {
            let damaged = |error| {
                let message = "the log is damaged: a frame's body is damaged";
                Error::damaged(frame.offset, message).because(error)
            };
            let bad = |kind| damaged(livebuf::Error::new(kind, 0));
            let start = (frame.offset - first.offset + FRAME_SIZE) as usize;
            let body = bytes.get(start..start.saturating_add(frame.length as usize));
            let body = body.filter(|body| crc(body) == frame.crc);
            let body = body.ok_or_else(|| bad(Core::Truncated))?;
            let document = Doc::open(body).map_err(damaged)?;
            let before = self.rows;
            match frame.kind {
                FrameKind::Row => self.value(document.root()),
                _ => self.rows_of(document),
            }
            .map_err(damaged)?;
            if self.rows - before != frame.rows as usize || document.as_bytes().len() != body.len()
            {
                return Err(bad(Core::BadCount));
            }
        }
        Ok(())
    }

    pub(crate) fn count(&self) -> usize {
        self.rows
    }

    /// Bytes of memory that the rows take while they wait.
    pub(crate) fn bytes(&self) -> u64 {
        self.encoder.pending_bytes()
    }

    /// Ends the array: a document of as many rows as were given.
    pub(crate) fn finish(&mut self) -> Result<DocBuf> {
        self.encoder.end_array()?;
        let document = self.encoder.finish_one()?;
        let rows = document.valid()?.root().as_array().map(|array| array.len());
        if rows != Some(self.rows) {
            return Err(livebuf::Error::new(Core::BadSequence, 0).into());
        }
        Ok(document)
    }
}
