//! Files with rows: documents and logs, found by patterns, and read by columns in parts.

use crate::error::Fault;
use arrow_array::RecordBatch;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{Field, Schema};
use glob::{MatchOptions, Pattern, glob_with};
use livebuf::mapped::MappedFile;
use livebuf_arrow::{
    ArrowArrayStream, ArrowSchema, Document, Documents, ErrorKind, ExportOptions, Exporter, Joined,
    Numbers, Refused,
};
use livebuf_log::LogReader;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Rows of a document that a thread takes at once: whole vectors.
const PART_ROWS: usize = 60 * 2048;
/// Rows that are made into columns at once: few enough for a processor's cache.
const BATCH_ROWS: usize = 8 * 2048;
/// How logs begin.
const LOG: [u8; 4] = *b"\xabLBL";

/// The files that a path, a folder or a pattern stands for, in order.
///
/// Of a folder all documents and logs in it and below are taken. Names that begin with `.` or `_`
/// are passed over there.
pub(crate) fn find(pattern: &str) -> Result<Vec<String>, Fault> {
    let path = Path::new(pattern);
    let mut found = Vec::new();
    if path.is_file() {
        found.push(pattern.to_owned());
    } else {
        let is_folder = path.is_dir();
        let pattern = match is_folder {
            true => format!("{}/**/*", Pattern::escape(pattern.trim_end_matches('/'))),
            false => pattern.to_owned(),
        };
        let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
        for entry in glob_with(&pattern, options)? {
            let entry = entry?;
            let below = entry.strip_prefix(path).unwrap_or(&entry);
            if entry.is_file() && (!is_folder || is_data(below)) {
                let name = entry.into_os_string().into_string();
                found.push(name.map_err(|name| {
                    Fault::Other(format!("{}: the name is not UTF-8", name.to_string_lossy()))
                })?);
            }
        }
    }
    found.sort_unstable();
    match found.is_empty() {
        true => Err(Fault::Other(format!("{pattern}: no such file"))),
        false => Ok(found),
    }
}

/// Whether a path below a folder is that of a document or a log.
fn is_data(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|name| name == "lbuf" || name == "lblog");
    let hidden = |name: std::path::Component<'_>| {
        matches!(name.as_os_str().as_encoded_bytes().first(), Some(b'.' | b'_'))
    };
    is_named && !path.components().any(hidden)
}

/// A file that is open for reading.
pub(crate) struct Source {
    rows: Rows,
    /// Which of the wanted columns it has, where it does not have all.
    present: OnceLock<Vec<bool>>,
}

enum Rows {
    /// An array or object of a document, and how many rows it has.
    Document {
        exporter: Box<Exporter>,
        rows: usize,
        is_array: bool,
    },
    Log(Arc<LogReader>),
}

/// The groups of a log.
struct Groups(Arc<LogReader>);

impl Documents for Groups {
    fn count(&self) -> usize {
        self.0.group_count()
    }

    fn document(&self, index: usize) -> Result<Arc<dyn Document>, Refused> {
        match self.0.group(index)? {
            Some(group) => Ok(Arc::clone(group.document()) as Arc<dyn Document>),
            None => Err("the log has become shorter".into()),
        }
    }
}

impl Source {
    /// Opens a file: a document, whose rows are at a JSON pointer, or a log.
    pub(crate) fn open(path: &str, pointer: &str) -> Result<Source, Fault> {
        let mut magic = [0; 4];
        let read = File::open(path)?.read(&mut magic)?;
        let rows = match read == LOG.len() && magic == LOG {
            true => Rows::Log(Arc::new(LogReader::open(path)?)),
            false => Source::document(path, pointer)?,
        };
        Ok(Source { rows, present: OnceLock::new() })
    }

    fn document(path: &str, pointer: &str) -> Result<Rows, Fault> {
        let file = Arc::new(MappedFile::open(path)?);
        let exporter = Exporter::new(Arc::clone(&file))?.at(pointer)?;
        let exporter = exporter.options(options());
        let (mut rows, mut is_array) = (0, false);
        if let Some(value) = file.doc()?.pointer(pointer)? {
            if let Some(array) = value.as_array()? {
                (rows, is_array) = (array.len(), true);
            } else if let Some(object) = value.as_object()? {
                rows = object.len();
            }
        }
        Ok(Rows::Document { exporter: Box::new(exporter), rows, is_array })
    }

    pub(crate) fn rows(&self) -> u64 {
        match &self.rows {
            Rows::Document { rows, .. } => *rows as u64,
            Rows::Log(log) => log.len(),
        }
    }

    /// In how many parts it is read. An object is read as a whole: its keys are no columns.
    pub(crate) fn parts(&self) -> usize {
        match &self.rows {
            Rows::Document { rows, is_array: true, .. } => rows.div_ceil(PART_ROWS).max(1),
            Rows::Document { .. } => 1,
            Rows::Log(log) => log.group_count(),
        }
    }

    /// Its columns.
    pub(crate) fn schema(&self) -> Result<Schema, Fault> {
        let schema = match &self.rows {
            Rows::Document { exporter, .. } => exporter.schema()?,
            Rows::Log(log) => Joined::new(Groups(Arc::clone(log))).options(options()).schema()?,
        };
        received(schema)
    }

    /// Some of its columns, as these types: a part of the rows.
    pub(crate) fn read(&self, part: usize, wanted: &[Field]) -> Result<Reader, Fault> {
        let mut reader = self.reader(part, wanted)?;
        if let Rows::Document { is_array: true, .. } = &self.rows {
            reader.first_row = part * PART_ROWS;
        }
        Ok(reader)
    }

    fn reader(&self, part: usize, wanted: &[Field]) -> Result<Reader, Fault> {
        let exporter = match &self.rows {
            Rows::Document { exporter, is_array: false, .. } => (**exporter).clone(),
            Rows::Document { exporter, .. } => {
                (**exporter).clone().rows(part * PART_ROWS..(part + 1) * PART_ROWS)
            }
            Rows::Log(log) => {
                let Some(group) = log.group(part)? else {
                    return Err(Fault::Other("the log has become shorter".to_owned()));
                };
                let exporter = Exporter::new(Arc::clone(group.document()))?;
                exporter.options(options())
            }
        };
        // A log's groups may have different columns.
        let known = match &self.rows {
            Rows::Document { .. } => self.present.get(),
            Rows::Log(_) => None,
        };
        if known.is_none() {
            match stream(&exporter, wanted, true)? {
                Ok(stream) => return Reader::new(stream, (0..wanted.len()).map(Some).collect()),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        let found;
        let present = match known {
            Some(present) => present,
            None => {
                found = present_of(&exporter, wanted)?;
                match &self.rows {
                    Rows::Document { .. } => self.present.get_or_init(|| found),
                    Rows::Log(_) => &found,
                }
            }
        };
        // Rows that are no objects have one column, which cannot be selected.
        let missing =
            |name| wanted.iter().zip(present).any(|(field, there)| !there && field.name() == name);
        if !present.contains(&true) || missing("value") {
            let stream = stream(&exporter, wanted, false)??;
            return Reader::new(stream, (0..wanted.len()).map(Some).collect());
        }
        let mut next = 0..;
        let places = present.iter().map(|&there| if there { next.next() } else { None });
        let there = wanted.iter().zip(present).filter(|(_, there)| **there);
        let there: Vec<Field> = there.map(|(field, _)| field.clone()).collect();
        Reader::new(stream(&exporter, &there, true)??, places.collect())
    }
}

/// Numbers that no type of numbers holds exactly are text: a query has no option for them.
fn options() -> ExportOptions {
    ExportOptions::new().batch_rows(BATCH_ROWS).numbers(Numbers::Text)
}

/// Which of the columns the rows have.
fn present_of(exporter: &Exporter, wanted: &[Field]) -> Result<Vec<bool>, Fault> {
    let has = |field: &Field| match exporter.clone().select([vec![field.name().clone()]]).schema() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    };
    wanted.iter().map(has).collect()
}

/// Rows of a file, in batches.
pub(crate) struct Reader {
    stream: RecordBatchStreamReader,
    /// The row of its file that it begins with.
    pub(crate) first_row: usize,
    /// Where a batch has each of the wanted columns; none for columns that the file lacks.
    pub(crate) places: Vec<Option<usize>>,
}

impl Reader {
    #[allow(unsafe_code)]
    fn new(stream: ArrowArrayStream, places: Vec<Option<usize>>) -> Result<Reader, Fault> {
        let mut theirs = FFI_ArrowArrayStream::empty();
        // SAFETY: both are the C Stream Interface's structure.
        unsafe { stream.give((&raw mut theirs).cast()) };
        Ok(Reader { stream: RecordBatchStreamReader::try_new(theirs)?, first_row: 0, places })
    }

    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, Fault> {
        Ok(self.stream.next().transpose()?)
    }
}

/// A schema of ours as one of the arrow crates.
#[allow(unsafe_code)]
fn received(schema: ArrowSchema) -> Result<Schema, Fault> {
    let mut theirs = FFI_ArrowSchema::empty();
    // SAFETY: both are the C Data Interface's structure.
    unsafe { schema.give((&raw mut theirs).cast()) };
    Ok(Schema::try_from(&theirs)?)
}

/// A stream of batches, with these columns only, and as these types. `selects` reads no others.
#[allow(unsafe_code)]
fn stream(
    exporter: &Exporter,
    wanted: &[Field],
    selects: bool,
) -> Result<Result<ArrowArrayStream, livebuf_arrow::Error>, Fault> {
    let mut theirs = FFI_ArrowSchema::try_from(Schema::new(wanted.to_vec()))?;
    // SAFETY: both are the C Data Interface's structure, which nobody releases twice: an empty
    // one is left behind.
    let schema = unsafe { ArrowSchema::take((&raw mut theirs).cast()) };
    let exporter = match selects {
        true => exporter.clone().select(wanted.iter().map(|field| vec![field.name().clone()])),
        false => exporter.clone(),
    };
    Ok(exporter.requested_schema(&schema).and_then(|exporter| exporter.stream()))
}
