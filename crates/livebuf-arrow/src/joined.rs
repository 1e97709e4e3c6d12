//! Several documents as one table: what is in all of them, and one stream of batches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::export::{CELLS, ExportOptions, Exporter, Plan, no_column, schema_of};
use crate::ffi::made::{self, Batches};
use crate::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::infer::{Numbers, Path, Rows, Seen};
use crate::schema::{Field, Type};

/// Why a document could not be had.
pub type Refused = Box<dyn std::error::Error + Send + Sync>;

/// Documents in a row, each of which is opened when it is needed. The root of each is an array.
pub trait Documents: Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// A document by its place, from 0 on. It may be asked for more than once.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn document(&self, index: usize) -> std::result::Result<Arc<dyn Document>, Refused>;

    /// The same for its columns' names and types alone. Each document is asked for these first, and need
    /// not be validated for that.
    ///
    /// # Errors
    /// As [`document`](Self::document).
    fn document_for_schema(&self, index: usize) -> std::result::Result<Arc<dyn Document>, Refused> {
        self.document(index)
    }

    /// The rows of a document that are exported, as ranges that rise: all, where there is `None`. The
    /// columns and their types are those of all rows.
    ///
    /// # Errors
    /// Why they cannot be found.
    fn rows(
        &self,
        index: usize,
        document: &dyn Document,
    ) -> std::result::Result<Option<Vec<Range<usize>>>, Refused> {
        let _ = (index, document);
        Ok(None)
    }

    /// Whether it is known without a look at the document that none of its rows is exported.
    fn has_no_rows(&self, index: usize) -> bool {
        let _ = index;
        false
    }
}

impl<D: Document> Documents for Vec<Arc<D>> {
    fn count(&self) -> usize {
        self.len()
    }

    fn document(&self, index: usize) -> std::result::Result<Arc<dyn Document>, Refused> {
        match self.get(index) {
            Some(document) => Ok(Arc::clone(document) as Arc<dyn Document>),
            None => Err("no such document".into()),
        }
    }
}

/// Exports the arrays of several documents as one table, as if they were one array.
///
/// Types follow from the values of all documents, by the rules of the [crate](crate). So each
/// document is read twice: for the types, and for its batches. With a
/// [requested schema](Self::requested_schema) it is read once. One document is in memory at a
/// time, and those that arrays borrow from.
///
/// ```
/// use livebuf::json;
/// use livebuf_arrow::Joined;
/// use std::sync::Arc;
/// let documents = vec![
///     Arc::new(json!([{"lap": 1}, {"lap": 2}])),
///     Arc::new(json!([{"lap": 3.5, "driver": "Ada"}])),
/// ];
/// let joined = Joined::new(documents);
/// let columns = joined.columns()?;
/// assert_eq!(columns[0], ("lap".to_owned(), "float64".to_owned()));
/// assert_eq!(columns[1], ("driver".to_owned(), "utf8".to_owned()));
/// let copy = livebuf_arrow::from_stream(joined.stream()?, &Default::default())?;
/// let text = livebuf_json::to_string(&copy)?;
/// assert_eq!(text, r#"[{"lap":1.0,"driver":null},{"lap":2.0,"driver":null},{"lap":3.5,"driver":"Ada"}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Joined {
    documents: Arc<dyn Documents>,
    options: ExportOptions,
    requested: Option<Field>,
    selected: Option<Vec<Vec<String>>>,
    types: Arc<Types>,
    /// Documents that `types` may tell about.
    settled: usize,
}

/// What the columns of documents were found to hold, so that each document is looked at once:
/// [`Joined::remember`].
#[derive(Debug, Default)]
pub struct Types(Mutex<HashMap<Option<Vec<Vec<String>>>, FirstDocuments>>);

/// Selections that are remembered.
const MOST_SELECTIONS: usize = 64;

/// What the first documents hold.
#[derive(Default)]
struct FirstDocuments {
    documents: usize,
    rows: u64,
    bytes: u64,
    /// Of each selected column, or of all rows: what is in it, and whether any row has it.
    columns: Vec<(Seen<'static>, bool)>,
}

impl std::fmt::Debug for FirstDocuments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FirstDocuments({} documents)", self.documents)
    }
}

impl FirstDocuments {
    fn copy(&self) -> FirstDocuments {
        let columns = self.columns.iter().map(|(seen, there)| {
            let mut copy = Seen::default();
            copy.absorb(seen);
            (copy, *there)
        });
        FirstDocuments { columns: columns.collect(), ..*self }
    }
}

impl Types {
    fn get(&self, selected: &Option<Vec<Vec<String>>>, most: usize) -> Option<FirstDocuments> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(selected).filter(|known| known.documents <= most).map(FirstDocuments::copy)
    }

    fn set(&self, selected: &Option<Vec<Vec<String>>>, found: FirstDocuments) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SELECTIONS {
            known.clear();
        }
        known.insert(selected.clone(), found);
    }
}

impl Joined {
    /// Exports these documents.
    pub fn new(documents: impl Documents + 'static) -> Joined {
        Joined {
            documents: Arc::new(documents),
            options: ExportOptions::default(),
            requested: None,
            selected: None,
            types: Arc::default(),
            settled: 0,
        }
    }

    /// Exports by these options.
    #[must_use]
    pub fn options(self, options: ExportOptions) -> Joined {
        Joined { options, ..self }
    }

    /// Exports these columns only; as [`Exporter::select`]. A document may lack some of them.
    #[must_use]
    pub fn select(self, columns: impl IntoIterator<Item = Vec<String>>) -> Joined {
        Joined { selected: Some(columns.into_iter().collect()), ..self }
    }

    /// Relies on what was found of the first `settled` documents, and adds to it. All that are
    /// given the same `types` must have the same documents there, in the same order.
    ///
    /// ```
    /// use livebuf_arrow::{Joined, Types};
    /// use std::sync::Arc;
    /// let documents = vec![Arc::new(livebuf::json!([{"lap": 1}]))];
    /// let types = Arc::new(Types::default());
    /// let joined = Joined::new(documents).remember(Arc::clone(&types), 1);
    /// assert_eq!(joined.columns()?, joined.columns()?); // the second looks at no document
    /// # Ok::<(), livebuf_arrow::Error>(())
    /// ```
    #[must_use]
    pub fn remember(self, types: Arc<Types>, settled: usize) -> Joined {
        Joined { types, settled, ..self }
    }

    /// Exports the columns of a consumer's schema; as [`Exporter::requested_schema`].
    ///
    /// # Errors
    /// As [`Exporter::requested_schema`].
    pub fn requested_schema(self, schema: &ArrowSchema) -> Result<Joined> {
        Ok(Joined { requested: Some(schema.field()?), ..self })
    }

    /// The name of each column, and its type in words.
    ///
    /// # Errors
    /// As [`schema`](Self::schema).
    pub fn columns(&self) -> Result<Vec<(String, String)>> {
        let fields = self.shape()?.fields().into_iter();
        Ok(fields.map(|field| (field.name, field.kind.to_string())).collect())
    }

    /// The schema: a struct with a field for each column. Reads all documents, unless a schema was
    /// requested.
    ///
    /// # Errors
    /// As [`Exporter::schema`], and [`ErrorKind::Document`] where a document cannot be had.
    pub fn schema(&self) -> Result<ArrowSchema> {
        schema_of(self.shape()?.fields())
    }

    /// All rows as a stream of batches. A batch has rows of one document; if it does not export
    /// all of its rows ([`Documents::rows`]), those that it does.
    ///
    /// # Errors
    /// As [`schema`](Self::schema). What values bring about, the stream reports.
    pub fn stream(&self) -> Result<ArrowArrayStream> {
        let shape = self.shape()?;
        schema_of(shape.fields())?;
        let stream = Stream { joined: self.clone(), shape, next: 0, open: None };
        Ok(made::stream(Box::new(stream)))
    }

    fn exporter_of(&self, document: Arc<dyn Document>) -> Result<Exporter> {
        let exporter = Exporter::new(Arc::new(document))?.options(self.options.clone());
        let exporter = exporter.of_an_array()?;
        Ok(match &self.selected {
            Some(selected) => exporter.select(selected.iter().cloned()),
            None => exporter,
        })
    }

    /// The columns of all documents.
    fn shape(&self) -> Result<Rows> {
        let count = self.documents.count();
        if let Some(requested) = &self.requested {
            let Type::Struct(fields) = &requested.kind else {
                let message = format!("the requested schema is {}, not columns", requested.kind);
                return Err(Error::new(ErrorKind::Mismatch, message));
            };
            return Ok(Rows::Objects(fields.clone()));
        }
        let paths = self.selected.as_deref();
        // The digits of floats are looked at for decimals only.
        let remembers = self.options.choice.numbers != Numbers::Decimal;
        let known = remembers.then(|| self.types.get(&self.selected, self.settled)).flatten();
        let mut known = known.unwrap_or_default();
        known.columns.resize_with(paths.map_or(1, <[_]>::len), Default::default);
        let first = known.documents;
        for index in first..count {
            let document = self.documents.document_for_schema(index).map_err(refused)?;
            let exporter = self.exporter_of(document)?;
            let more = exporter.rows_and_bytes()?;
            known.rows = known.rows.saturating_add(more.0);
            known.bytes = known.bytes.saturating_add(more.1);
            match (paths, known.columns.as_mut_slice()) {
                (None, [(seen, _)]) => {
                    let mut found = Seen::of_some(self.options.choice);
                    exporter.see(&mut found)?;
                    seen.absorb(&found);
                }
                (paths, columns) => {
                    for (path, (seen, there)) in paths.unwrap_or_default().iter().zip(columns) {
                        let mut found = Seen::of_some(self.options.choice);
                        *there |= exporter.see_at(path, &mut found)?;
                        seen.absorb(&found);
                    }
                }
            }
            known.documents = index + 1;
            if remembers && known.documents == self.settled {
                self.types.set(&self.selected, known.copy());
            }
        }
        let FirstDocuments { rows, bytes, columns: mut all, .. } = known;
        let cells = all.iter().map(|(seen, _)| seen.cells(rows)).fold(0, u64::saturating_add);
        let most = self.options.max_cells.unwrap_or(bytes.saturating_mul(CELLS));
        if cells > most {
            let message = format!(
                "most values would be missing: more than {most} rows times columns; select \
                 columns, or set `max_cells` higher"
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let choice = self.options.choice;
        let Some(paths) = paths else {
            let seen = all.pop().unwrap_or_default().0;
            return seen.into_rows(choice);
        };
        let columns = paths.iter().zip(all).map(|(path, (seen, there))| match there || rows == 0 {
            true => Ok((Path::Below(path.clone()), seen.into_field(path.join("."), choice)?)),
            false => Err(no_column(path)),
        });
        Ok(Rows::Selected(columns.collect::<Result<_>>()?))
    }
}

impl std::fmt::Debug for Joined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Joined({} documents, {:?})", self.documents.count(), self.options)
    }
}

fn refused(why: Refused) -> Error {
    Error::new(ErrorKind::Document, format!("a document cannot be read: {why}"))
}

struct Stream {
    joined: Joined,
    shape: Rows,
    /// The document that comes next.
    next: usize,
    /// The one that is read, and its next row.
    open: Option<(Plan, usize)>,
}

impl Batches for Stream {
    fn schema(&mut self) -> Result<ArrowSchema> {
        schema_of(self.shape.fields())
    }

    fn next(&mut self) -> Result<Option<ArrowArray>> {
        loop {
            if let Some((plan, row)) = &mut self.open {
                if *row < plan.rows() {
                    let end = row.saturating_add(self.joined.options.batch_rows).min(plan.rows());
                    let array = plan.array(*row, end)?;
                    *row = end;
                    return Ok(Some(array));
                }
                self.open = None;
            }
            if self.next >= self.joined.documents.count() {
                return Ok(None);
            }
            let documents = &self.joined.documents;
            if documents.has_no_rows(self.next) {
                self.next += 1;
                continue;
            }
            let document = documents.document(self.next).map_err(refused)?;
            let rows = documents.rows(self.next, &*document).map_err(refused)?;
            if rows.as_ref().is_some_and(Vec::is_empty) {
                self.next += 1;
                continue;
            }
            let exporter = self.joined.exporter_of(document)?;
            let plan = match &self.joined.requested {
                Some(requested) => exporter.requested(requested.clone()).plan()?,
                None => exporter.plan_as(self.shape.clone())?,
            };
            self.next += 1;
            match rows {
                Some(rows) => return Ok(Some(plan.some(&rows)?)),
                None => self.open = Some((plan, 0)),
            }
        }
    }
}
