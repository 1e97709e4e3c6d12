//! Arrays and objects of a document to Arrow: what is exported, how, and the streams of it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use livebuf::{Checked, Column, Kind, Valid, Value};
use livebuf_json::NonFinite;

use crate::column::{Slot, Source, changed};
use crate::document::{Document, Known, Pinned, can_have};
use crate::error::{Error, ErrorKind, Result};
use crate::ffi::made::{self, Batches};
use crate::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema, RecordBatch};
use crate::infer::{Choice, Left, Mixed, Numbers, Path, Rows, Seen};
use crate::kept;
use crate::schema::{Field, Layout, Number, Type};
use crate::take::take;

/// How text is laid out in Arrow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextLayout {
    /// `Utf8`: offsets and a copy of all text. What every consumer understands.
    #[default]
    Utf8,
    /// `LargeUtf8`: the same for more than 2 GiB of text in a batch.
    LargeUtf8,
    /// `Utf8View`: views of 16 bytes; text of more than 12 bytes stays in the document.
    ///
    /// Consumers see the document's memory as the buffer. Those that write buffers out
    /// whole, as Arrow's own IPC writers do, write the document with every batch unless
    /// they compact views first.
    Utf8View,
}

/// How arrays of documents become Arrow's.
///
/// ```
/// use livebuf_arrow::{ExportOptions, Exporter, ImportOptions, TextLayout, from_stream};
/// use std::sync::Arc;
/// let document = Arc::new(livebuf_json::from_str(r#"[{"lap": 1}, {"lap": 2}, {"lap": 3}]"#)?);
/// // Numbers as they are stored, so that they are borrowed; two rows a batch.
/// let options = ExportOptions::new().narrow(true).text(TextLayout::Utf8View).batch_rows(2);
/// let stream = Exporter::new(document)?.options(options).stream()?;
/// let copy = from_stream(stream, &ImportOptions::new())?;
/// assert_eq!(copy.valid().unwrap().root().as_array().unwrap().len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExportOptions {
    pub(crate) choice: Choice,
    copy: bool,
    eager: bool,
    non_finite: NonFinite,
    pub(crate) batch_rows: usize,
    pub(crate) max_cells: Option<u64>,
}

/// Places for values that are exported for each byte of a document, unless told otherwise.
/// Values take a bit at least, so that there are more only where most are missing.
pub(crate) const CELLS: u64 = 64;

impl Default for ExportOptions {
    fn default() -> Self {
        let (batch_rows, max_cells) = (1 << 16, None);
        ExportOptions {
            choice: Choice::default(),
            copy: false,
            eager: false,
            non_finite: NonFinite::default(),
            batch_rows,
            max_cells,
        }
    }
}

impl ExportOptions {
    /// 64-bit numbers, borrowed memory, `Utf8`, batches of 65,536 rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Numbers in the widths that the document stores them in, `Int8` to `Float32`, and
    /// dictionaries of texts as such, with codes of `UInt8` or `UInt16`: so that numbers and
    /// codes are borrowed.
    #[must_use]
    pub fn narrow(mut self, narrow: bool) -> Self {
        self.choice.narrow = narrow;
        self
    }

    /// What a column of numbers is that no type of numbers holds exactly. An error, unless you say
    /// otherwise: nothing is rounded in silence.
    ///
    /// ```
    /// use livebuf_arrow::{ExportOptions, Exporter, Numbers};
    /// let doc = livebuf::json!([{"n": 0.5}, {"n": 9_007_199_254_740_993_i64}]);
    /// let exporter = Exporter::new(std::sync::Arc::new(doc))?;
    /// assert!(exporter.columns().is_err());
    /// let exporter = exporter.options(ExportOptions::new().numbers(Numbers::Decimal));
    /// assert_eq!(exporter.columns()?, [("n".to_owned(), "decimal128(38, 1)".to_owned())]);
    /// # Ok::<(), livebuf_arrow::Error>(())
    /// ```
    #[must_use]
    pub fn numbers(mut self, numbers: Numbers) -> Self {
        self.choice.numbers = numbers;
        self
    }

    /// What a column of values of several kinds is: text, unless you say otherwise.
    ///
    /// ```
    /// use livebuf_arrow::{ExportOptions, Exporter, Mixed};
    /// let doc = livebuf::json!([{"seat": "A1"}, {"seat": 5}]);
    /// let exporter = Exporter::new(std::sync::Arc::new(doc))?;
    /// assert_eq!(exporter.columns()?[0].1, "text of mixed values");
    /// let exporter = exporter.options(ExportOptions::new().mixed(Mixed::Error));
    /// assert!(exporter.columns().unwrap_err().to_string().contains("integers, texts"));
    /// # Ok::<(), livebuf_arrow::Error>(())
    /// ```
    #[must_use]
    pub fn mixed(mut self, mixed: Mixed) -> Self {
        self.choice.mixed = mixed;
        self
    }

    /// Copies everything, so that nothing keeps the document.
    #[must_use]
    pub fn copy(mut self, copy: bool) -> Self {
        self.copy = copy;
        self
    }

    /// How text is laid out, JSON text too.
    #[must_use]
    pub fn text(mut self, text: TextLayout) -> Self {
        self.choice.text = match text {
            TextLayout::Utf8 => Layout::Small,
            TextLayout::LargeUtf8 => Layout::Large,
            TextLayout::Utf8View => Layout::View,
        };
        self
    }

    /// Rows of each batch of a stream; 0 means one. Validity can be borrowed where it is
    /// a multiple of eight.
    #[must_use]
    pub fn batch_rows(mut self, batch_rows: usize) -> Self {
        self.batch_rows = batch_rows.max(1);
        self
    }

    /// Whether a stream makes all its batches at once: of documents that can be read now only, such
    /// as those in `livebuf::Partial::read`.
    #[must_use]
    pub fn eager(mut self, eager: bool) -> Self {
        self.eager = eager;
        self
    }

    /// What NaN and infinities are in columns of mixed values, which are JSON text. JSON has
    /// neither, so they are an error unless you say otherwise. In columns of floats they are
    /// floats.
    #[must_use]
    pub fn non_finite(mut self, non_finite: NonFinite) -> Self {
        self.non_finite = non_finite;
        self
    }

    /// The most rows times columns, elements of lists included: missing values take place in
    /// Arrow, so that rows with many different keys would become much larger than their
    /// document. By default 64 for each byte of the document; what a consumer
    /// [requests](Exporter::requested_schema) is not limited.
    #[must_use]
    pub fn max_cells(mut self, max_cells: u64) -> Self {
        self.max_cells = Some(max_cells);
        self
    }
}

/// Exports an array of a document, or an object.
///
/// An object's members are rows, with their keys as the first column. It is named `key`, with as
/// many `_` before it as columns need that have that name. Where the object is a
/// [table](livebuf::Object::table), columns are borrowed as those of an array are. A batch in which
/// rows of removed members would lie is copied without them.
///
/// ```
/// use livebuf_arrow::Exporter;
/// let doc = livebuf::json!({"ada": {"laps": 12}, "bea": {"laps": 9}});
/// let names = Exporter::new(std::sync::Arc::new(doc))?.columns()?;
/// assert_eq!(names, [("key".into(), "utf8".into()), ("laps".into(), "int64".into())]);
/// # Ok::<(), livebuf_arrow::Error>(())
/// ```
///
/// See the [crate](crate) for an example, and for what becomes of which values.
#[derive(Clone)]
pub struct Exporter {
    pinned: Arc<Pinned>,
    known: Arc<Known>,
    value: Value<'static, Checked>,
    /// Leads to the value.
    pointer: String,
    options: ExportOptions,
    requested: Option<Field>,
    /// The schema that is kept beside the rows.
    kept: Option<Field>,
    selected: Option<Vec<Vec<String>>>,
    rows: Range<usize>,
}

impl Exporter {
    /// Exports the document's root.
    ///
    /// Where the document was not [validated](Document::valid) yet, an export validates what it
    /// reads: the [selected](Self::select) columns, where rows are stored as columns, else the
    /// array or object. This exporter and its clones do so once.
    ///
    /// # Errors
    /// [`ErrorKind::Document`] where it is no document.
    pub fn new<D: Document>(owner: Arc<D>) -> Result<Exporter> {
        let pinned = Pinned::new(owner)?;
        let value = pinned.doc.root();
        let options = ExportOptions::default();
        Ok(Exporter {
            pinned: Arc::new(pinned),
            known: Arc::default(),
            value,
            pointer: String::new(),
            options,
            requested: None,
            kept: None,
            selected: None,
            rows: 0..usize::MAX,
        })
    }

    /// Exports what is at a JSON pointer (RFC 6901) below instead.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Document`] where the way is damaged.
    pub fn at(self, pointer: &str) -> Result<Exporter> {
        let nothing = || {
            let message = format!("the document has nothing at {pointer:?}");
            Error::new(ErrorKind::NotFound, message)
        };
        let value = match self.value.pointer(pointer) {
            Ok(value) => value.ok_or_else(nothing)?,
            Err(error) if error.kind() == livebuf::ErrorKind::BadPointer => return Err(nothing()),
            Err(error) => return Err(error.into()),
        };
        let pointer = self.pointer + pointer;
        let kept = kept_beside(self.pinned.doc.root(), &pointer).unwrap_or_default();
        Ok(Exporter { value, pointer, kept, ..self })
    }

    /// Relies on what other exports have validated, and lets them rely on what this one does.
    ///
    /// # Safety
    /// All exporters that are given `known` are of the same bytes, and nobody changes these
    /// bytes as long as `known` is given to exporters; but where the document
    /// [is shared](Document::is_shared), others may.
    #[allow(unsafe_code)]
    #[must_use]
    pub unsafe fn remember(self, known: Arc<Known>) -> Exporter {
        Exporter { known, ..self }
    }

    /// Exports by these options.
    #[must_use]
    pub fn options(self, options: ExportOptions) -> Exporter {
        Exporter { options, ..self }
    }

    /// Exports the columns of a consumer's schema, in its order and as its types, as far
    /// as values fit: see the [crate](crate). Columns of the document that the schema
    /// does not have are left out.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] where it is not a schema of columns,
    /// [`ErrorKind::Unsupported`] for types that this crate does not know.
    pub fn requested_schema(self, schema: &ArrowSchema) -> Result<Exporter> {
        Ok(self.requested(schema.field()?))
    }

    pub(crate) fn requested(self, requested: Field) -> Exporter {
        Exporter { requested: Some(requested), ..self }
    }

    /// Exports these columns only, in this order. Each is named by the keys that lead to it: one
    /// key of the rows' objects, or more through objects in them. In Arrow its name is the keys
    /// with dots between them.
    ///
    /// What is not selected is not looked at, where the rows are stored as columns.
    ///
    /// ```
    /// use livebuf_arrow::Exporter;
    /// let doc = livebuf::json!([{"id": 1, "user": {"name": "Ada"}}, {"id": 2, "user": null}]);
    /// let exporter = Exporter::new(std::sync::Arc::new(doc))?;
    /// let selected = exporter.select([vec!["user".to_owned(), "name".to_owned()]]);
    /// assert_eq!(selected.columns()?, [("user.name".to_owned(), "utf8".to_owned())]);
    /// # Ok::<(), livebuf_arrow::Error>(())
    /// ```
    #[must_use]
    pub fn select(self, columns: impl IntoIterator<Item = Vec<String>>) -> Exporter {
        Exporter { selected: Some(columns.into_iter().collect()), ..self }
    }

    /// Exports these rows only, cut to those there are.
    #[must_use]
    pub fn rows(self, rows: Range<usize>) -> Exporter {
        Exporter { rows, ..self }
    }

    /// The name of each column, and its type in words.
    ///
    /// # Errors
    /// As [`schema`](Self::schema).
    pub fn columns(&self) -> Result<Vec<(String, String)>> {
        let fields = self.fields()?.into_iter();
        Ok(fields.map(|field| (field.name, field.kind.to_string())).collect())
    }

    /// Whether each column is text or JSON of mixed values, or has such in it.
    ///
    /// # Errors
    /// As [`schema`](Self::schema).
    pub fn mixed(&self) -> Result<Vec<bool>> {
        Ok(self.fields()?.iter().map(|field| field.kind.is_mixed()).collect())
    }

    /// The schema: a struct with a field for each column. Constant time for each column where
    /// its storage tells the type: nothing else is then read, and nothing validated. Else one
    /// pass over the array.
    ///
    /// # Errors
    /// [`ErrorKind::NotAnArray`]; [`ErrorKind::NotFound`] for a selected column that no row has;
    /// [`ErrorKind::Limit`] for too many columns, or
    /// rows that have few of them ([`ExportOptions::max_cells`]);
    /// [`ErrorKind::Unsupported`] for a key with a zero character; [`ErrorKind::Cast`]
    /// where a requested type cannot hold what a column has.
    pub fn schema(&self) -> Result<ArrowSchema> {
        schema_with(self.fields()?, self.metadata())
    }

    /// All rows as one record batch.
    ///
    /// # Errors
    /// As [`schema`](Self::schema), and for values: [`ErrorKind::Cast`] where one does not
    /// fit a requested type, [`ErrorKind::Json`], and [`ErrorKind::Limit`] for more than
    /// 2 GiB of text or 2³¹ elements of lists.
    pub fn batch(&self) -> Result<RecordBatch> {
        let plan = self.plan()?;
        let (schema, array) = (plan.schema()?, plan.array(0, plan.range.len())?);
        Ok(made::batch(schema, array))
    }

    /// The one column that is exported, by itself: the selected one, or the elements of an array
    /// that holds no objects.
    ///
    /// # Errors
    /// As [`batch`](Self::batch), and [`ErrorKind::Mismatch`] where there is not one column.
    pub fn column(&self) -> Result<(ArrowSchema, ArrowArray)> {
        let plan = self.plan()?;
        let (fields, mut columns) = (plan.fields(), plan.columns(0, plan.range.len())?);
        match (fields.as_slice(), columns.pop()) {
            ([field], Some(column)) => Ok((made::schema(field)?, column)),
            (fields, _) => {
                let message = format!("one column is wanted, not {}", fields.len());
                Err(Error::new(ErrorKind::Mismatch, message))
            }
        }
    }

    /// All rows as a stream of batches, which are made as they are asked for, or
    /// [now](ExportOptions::eager).
    ///
    /// # Errors
    /// As [`schema`](Self::schema). What values bring about, the stream reports; or where batches
    /// are made now, as [`batch`](Self::batch).
    pub fn stream(&self) -> Result<ArrowArrayStream> {
        let plan = self.plan()?;
        // Names that C cannot hold are found now.
        plan.schema()?;
        let mut stream = Stream { plan, batch_rows: self.options.batch_rows, next: 0 };
        if !self.options.eager {
            return Ok(made::stream(Box::new(stream)));
        }
        let mut batches = VecDeque::new();
        while let Some(batch) = stream.next()? {
            batches.push_back(batch);
        }
        Ok(made::stream(Box::new(Collected { plan: stream.plan, batches })))
    }

    /// Refuses objects: several of them are no rows of one table.
    pub(crate) fn of_an_array(self) -> Result<Exporter> {
        if self.value.kind() == Kind::Array {
            return Ok(self);
        }
        let message = format!("the value is no array but {:?}", self.value.kind());
        Err(Error::new(ErrorKind::NotAnArray, message))
    }

    fn items(&self) -> Result<Items> {
        let items = self.all_items()?;
        match can_have(self.pinned.doc.as_bytes().len(), items.part(0..usize::MAX).len()) {
            true => Ok(items),
            false => Err(changed(livebuf::ErrorKind::BadCount)),
        }
    }

    fn all_items(&self) -> Result<Items> {
        if let Some(paths) = &self.selected
            && let Some(items) = self.chosen(paths)?
        {
            return Ok(items);
        }
        let no_rows = || {
            let message =
                format!("the value is no array and no object but {:?}", self.value.kind());
            Error::new(ErrorKind::NotAnArray, message)
        };
        if !matches!(self.value.kind(), Kind::Array | Kind::Object) {
            return Err(no_rows());
        }
        Items::of(self.whole()?).ok_or_else(no_rows)
    }

    /// The value, validated.
    #[allow(unsafe_code)]
    fn whole(&self) -> Result<Value<'static, Valid>> {
        if self.pinned.is_valid || self.known.has(&self.pointer, None) {
            // SAFETY: the document is valid, or the value was found to be, and nobody has
            // changed it since. Where others can, see `Source`.
            return Ok(unsafe { self.value.assume_valid() });
        }
        let value = self.value.validate()?;
        self.known.add(&self.pointer, None);
        Ok(value)
    }

    /// The columns that paths lead to, validated. `None` where one of them is not stored as such,
    /// and where that needs no look at columns one by one.
    #[allow(unsafe_code)]
    fn chosen(&self, paths: &[Vec<String>]) -> Result<Option<Items>> {
        if self.pinned.is_valid || self.known.has(&self.pointer, None) {
            return Ok(None);
        }
        let Some(array) = self.value.as_array()? else { return Ok(None) };
        let Some(table) = array.table()? else { return Ok(None) };
        let mut chosen = Vec::with_capacity(paths.len());
        for path in paths {
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            let Some(column) = table.column(keys.as_slice())? else { return Ok(None) };
            chosen.push((path.clone(), keys, column));
        }
        let columns = chosen.into_iter().map(|(path, keys, column)| {
            if self.known.has(&self.pointer, Some(&path)) {
                // SAFETY: as in `whole`.
                return Ok((path, unsafe { column.assume_valid() }));
            }
            let found = self.value.validate_column(&keys);
            let found = found.map_err(|error| Error::from(error).within(&path.join(".")))?;
            let column = found.ok_or_else(|| no_column(&path))?;
            self.known.add(&self.pointer, Some(&path));
            Ok((path, column))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Some(Items { chosen: Some((table.rows(), columns)), ..Items::default() }))
    }

    /// Which of all rows are exported.
    fn range(&self, all: RowPart<'_>) -> Range<usize> {
        let start = self.rows.start.min(all.len());
        start..self.rows.end.clamp(start, all.len())
    }

    pub(crate) fn plan(&self) -> Result<Plan> {
        let items = self.items()?;
        let all = items.part(0..usize::MAX);
        let shape = self.shape(all, items.part(self.range(all)))?;
        if self.pinned.is_shared {
            check_names(&shape.fields())?;
        }
        Ok(self.planned(items, shape))
    }

    /// Exports as columns that were found by others.
    pub(crate) fn plan_as(&self, shape: Rows) -> Result<Plan> {
        Ok(self.planned(self.items()?, shape))
    }

    fn planned(&self, items: Items, shape: Rows) -> Plan {
        let range = self.range(items.part(0..usize::MAX));
        let options = &self.options;
        let rounds = options.choice.numbers == Numbers::Float;
        let pinned = Arc::clone(&self.pinned);
        let source = Source::new(pinned, options.copy, options.non_finite, rounds);
        Plan { source, items, range, shape, metadata: self.metadata() }
    }

    /// Adds what the rows' columns hold.
    pub(crate) fn see(&self, seen: &mut Seen<'static>) -> Result<()> {
        self.items()?.part(self.rows.clone()).seen(seen);
        Ok(())
    }

    /// The same of the column that a path leads to. Returns whether any row has it.
    pub(crate) fn see_at(&self, path: &[String], seen: &mut Seen<'static>) -> Result<bool> {
        Ok(self.items()?.part(self.rows.clone()).seen_below(path, seen))
    }

    /// Counts of rows, and of the document's bytes.
    pub(crate) fn rows_and_bytes(&self) -> Result<(u64, u64)> {
        let rows = self.items()?.part(self.rows.clone()).len();
        Ok((rows as u64, self.pinned.doc.as_bytes().len() as u64))
    }

    fn fields(&self) -> Result<Vec<Field>> {
        let shape = match self.outline() {
            // Where it is damaged, validation says how.
            Err(_) | Ok(None) => self.plan()?.shape,
            Ok(Some(outline)) => outline?,
        };
        let fields = shape.fields();
        if self.pinned.is_shared {
            check_names(&fields)?;
        }
        Ok(fields)
    }

    /// The types of the columns as headers tell them, of a document that need not be valid. `None`
    /// where values decide.
    fn outline(&self) -> livebuf::Result<Option<Result<Rows>>> {
        if self.requested.is_some() || self.kept.is_some() {
            return Ok(None);
        }
        let (column, is_object) = match (self.value.as_array()?, self.value.as_object()?) {
            (Some(array), _) => (array.as_column(), false),
            (None, Some(object)) => match object.as_column()? {
                Some(column) if column.len() == object.len() => (column, true),
                // Rows of removed members have no values.
                Some(column) if self.rows.start == 0 && self.rows.end >= column.len() => {
                    (column, true)
                }
                _ => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        let bytes = self.pinned.doc.as_bytes().len();
        if !can_have(bytes, column.len()) {
            return Ok(None);
        }
        let (rows, table) = (column.slice(self.rows.clone()), column.table()?);
        let count = rows.len() as u64;
        let mut left = Left::of(bytes);
        let Some(paths) = &self.selected else {
            let mut seen = Seen::of(self.choice());
            let has = |name: &str| {
                table.is_some_and(|table| table.column(name).is_ok_and(|column| column.is_some()))
            };
            let key = is_object.then(|| key_name(has));
            return Ok(match seen.header(rows, 0, &mut left)? {
                true => Some(self.shape_of(seen, count, key)),
                false => None,
            });
        };
        // An object's keys may be meant.
        let Some(table) = table.filter(|_| !is_object) else { return Ok(None) };
        let (mut cells, mut chosen) = (0u64, Vec::with_capacity(paths.len()));
        for path in paths {
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            let Some(column) = table.column(keys.as_slice())? else { return Ok(None) };
            let mut seen = Seen::of(self.choice());
            if !seen.header(column.slice(self.rows.clone()), 1, &mut left)? {
                return Ok(None);
            }
            cells = cells.saturating_add(seen.cells(count));
            match seen.into_field(path.join("."), self.choice()) {
                Ok(field) => chosen.push((Path::Below(path.clone()), field)),
                Err(error) => return Ok(Some(Err(error))),
            }
        }
        Ok((cells <= self.most_cells()).then_some(Ok(Rows::Selected(chosen))))
    }

    /// The types of the columns of some of all rows.
    fn shape(&self, all: RowPart<'_>, rows: RowPart<'_>) -> Result<Rows> {
        if let Some(selected) = &self.selected {
            return self.select_from(all, rows, selected);
        }
        let mut seen = Seen::of(self.choice());
        rows.seen(&mut seen);
        let key = rows.keys.map(|_| key_name(|name| all.has(name)));
        self.shape_of(seen, rows.len() as u64, key)
    }

    /// The types of the columns that were seen in so many rows; with a column for the rows' keys,
    /// where they have any.
    fn shape_of(&self, seen: Seen<'static>, rows: u64, key: Option<String>) -> Result<Rows> {
        if self.requested.is_none() && seen.cells(rows) > self.most_cells() {
            let most = self.most_cells();
            let message = format!(
                "most values would be missing: more than {most} rows times columns; request a \
                 schema of fewer columns, or set `max_cells` higher"
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let mut shape = seen.into_rows(self.choice())?;
        if let Some(key) = key {
            let mut chosen = vec![(Path::Key, self.key_field(key))];
            match shape {
                Rows::Objects(fields) => chosen.extend(fields.into_iter().map(|field| {
                    let path = Path::Below(vec![field.name.clone()]);
                    (path, field)
                })),
                Rows::Values(field) => chosen.push((Path::Below(Vec::new()), field)),
                Rows::Selected(_) => {}
            }
            return self.fit_selected(chosen);
        }
        if let Some(requested) = &self.requested {
            shape = fit_rows(shape, requested)?;
        } else if let Some(kept) = &self.kept {
            shape = keep_rows(shape, kept)?;
        }
        Ok(shape)
    }

    /// The column of an object's keys.
    fn key_field(&self, name: String) -> Field {
        Field { nullable: false, ..Field::new(name, Type::Text(self.options.choice.text)) }
    }

    fn choice(&self) -> Choice {
        match self.requested.is_some() || self.kept.is_some() {
            true => self.options.choice.of_requested(),
            false => self.options.choice,
        }
    }

    /// That of the schema. That of some columns may be about others.
    fn metadata(&self) -> Metadata {
        let whole = self.selected.is_none() && self.requested.is_none();
        let kept = self.kept.as_ref().filter(|_| whole);
        kept.map(|kept| kept.metadata.clone()).unwrap_or_default()
    }

    fn most_cells(&self) -> u64 {
        let bytes = self.pinned.doc.as_bytes().len() as u64;
        self.options.max_cells.unwrap_or(CELLS * bytes)
    }

    /// The types of selected columns.
    fn select_from(
        &self,
        all: RowPart<'_>,
        rows: RowPart<'_>,
        paths: &[Vec<String>],
    ) -> Result<Rows> {
        let mut cells = 0u64;
        let mut chosen = Vec::with_capacity(paths.len());
        let key = rows.keys.map(|_| self.key_field(key_name(|name| all.has(name))));
        for path in paths {
            if let (Some(key), [name]) = (&key, path.as_slice())
                && *name == key.name
            {
                cells = cells.saturating_add(rows.len() as u64);
                chosen.push((Path::Key, key.clone()));
                continue;
            }
            let mut seen = Seen::of(self.choice());
            let there = rows.seen_below(path, &mut seen);
            // Other rows than the chosen ones may have it.
            if !there && all.len() > 0 && all.below(path).all(|slot| slot.is_none()) {
                return Err(no_column(path));
            }
            cells = cells.saturating_add(seen.cells(rows.len() as u64));
            let field = seen.into_field(path.join("."), self.choice())?;
            chosen.push((Path::Below(path.clone()), field));
        }
        if cells > self.most_cells() {
            let most = self.most_cells();
            let message = format!("more than {most} rows times columns: set `max_cells` higher");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.fit_selected(chosen)
    }

    /// Chosen columns as the consumer wants them.
    fn fit_selected(&self, chosen: Vec<(Path, Field)>) -> Result<Rows> {
        let Some(requested) = &self.requested else {
            let Some(kept) = &self.kept else { return Ok(Rows::Selected(chosen)) };
            let kept = chosen.into_iter().map(|(path, field)| {
                let known = match &path {
                    Path::Below(keys) => below(kept, keys),
                    Path::Key => None,
                };
                match known {
                    Some(known) => {
                        Ok((path, Field { name: field.name.clone(), ..fit(&field, known)? }))
                    }
                    None => Ok((path, field)),
                }
            });
            return Ok(Rows::Selected(kept.collect::<Result<_>>()?));
        };
        let Type::Struct(wanted) = &requested.kind else { return Err(no_columns(requested)) };
        let fitted = wanted.iter().map(|field| {
            let (path, known) = match chosen.iter().find(|(_, known)| known.name == field.name) {
                Some((path, known)) => (path.clone(), known.clone()),
                None if self.selected.is_none() => {
                    let name = field.name.clone();
                    (Path::Below(vec![name.clone()]), Field::new(name, Type::Null))
                }
                None => {
                    let message = format!("{:?} is not among the selected columns", field.name);
                    return Err(Error::new(ErrorKind::NotFound, message));
                }
            };
            Ok((path, fit(&known, field)?))
        });
        Ok(Rows::Selected(fitted.collect::<Result<_>>()?))
    }
}

/// The name of the column of an object's keys: the first of `key`, `_key` and so on that its members
/// do not have.
///
/// ```
/// assert_eq!(livebuf_arrow::key_name(|name| name == "key"), "_key");
/// ```
pub fn key_name(has: impl Fn(&str) -> bool) -> String {
    let mut name = "key".to_owned();
    while has(&name) {
        name.insert(0, '_');
    }
    name
}

/// The elements of an array, or the members of an object.
#[derive(Default)]
struct Items {
    /// How many there are, and all columns that may be looked at: with the keys that lead to them.
    chosen: Option<(usize, Vec<Chosen>)>,
    /// Where they are stored as one.
    column: Option<Column<'static, Valid>>,
    /// Which rows of the column they are, where it has rows of removed members, too.
    live: Option<Vec<usize>>,
    /// Where they are not.
    slots: Vec<Slot>,
    /// The members' keys.
    keys: Option<Vec<&'static str>>,
}

/// A column, and the keys that lead to it.
type Chosen = (Vec<String>, Column<'static, Valid>);

impl Items {
    fn of(value: Value<'static, Valid>) -> Option<Items> {
        if let Some(array) = value.as_array() {
            return Some(Items { column: Some(array.as_column()), ..Items::default() });
        }
        let object = value.as_object()?;
        let column = object.as_column();
        let (mut keys, mut slots) = (Vec::with_capacity(object.len()), Vec::new());
        // Where members were removed, the column has rows for them.
        if let Some(column) = column.filter(|column| column.len() != object.len()) {
            let mut live = Vec::with_capacity(object.len());
            for row in 0..column.len() {
                if let Some(key) = object.key_of_row(row) {
                    keys.push(key);
                    live.push(row);
                }
            }
            let (column, live) = (Some(column), Some(live));
            return Some(Items { column, live, keys: Some(keys), ..Items::default() });
        }
        for (key, value) in object.iter() {
            keys.push(key);
            if column.is_none() {
                slots.push(Some(value));
            }
        }
        Some(Items { column, slots, keys: Some(keys), ..Items::default() })
    }

    /// Some of them, cut to those there are.
    fn part(&self, range: Range<usize>) -> RowPart<'_> {
        fn cut<T>(all: &[T], range: Range<usize>) -> &[T] {
            let start = range.start.min(all.len());
            &all[start..range.end.clamp(start, all.len())]
        }
        let chosen = self.chosen.as_ref().map(|(count, columns)| {
            let start = range.start.min(*count);
            (start, range.end.clamp(start, *count), columns.as_slice())
        });
        let live = self.live.as_deref().map(|live| cut(live, range.clone()));
        let rows = match live {
            Some([first, .., last]) => *first..last + 1,
            Some([only]) => *only..only + 1,
            Some([]) => 0..0,
            None => range.clone(),
        };
        RowPart {
            chosen,
            column: self.column.map(|column| column.slice(rows.clone())),
            live: live.filter(|live| live.len() < rows.len()).map(|live| (rows.start, live)),
            slots: cut(&self.slots, range.clone()),
            keys: self.keys.as_deref().map(|keys| cut(keys, range)),
        }
    }
}

/// Some of the rows.
#[derive(Clone, Copy)]
struct RowPart<'i> {
    /// The first row, the one after the last, and the columns of all rows.
    chosen: Option<(usize, usize, &'i [Chosen])>,
    column: Option<Column<'static, Valid>>,
    /// If they are not all rows of the column: its first row, and the rows that they are.
    live: Option<(usize, &'i [usize])>,
    slots: &'i [Slot],
    keys: Option<&'i [&'static str]>,
}

impl<'i> RowPart<'i> {
    fn len(&self) -> usize {
        match (self.chosen, self.live) {
            (Some((start, end, _)), _) => end - start,
            (_, Some((_, live))) => live.len(),
            _ => self.column.map_or(self.slots.len(), |column| column.len()),
        }
    }

    fn get(&self, row: usize) -> Slot {
        match (self.column, self.live) {
            (Some(column), Some((first, live))) => column.get(live.get(row)? - first),
            (Some(column), None) => column.get(row),
            (None, _) => self.slots.get(row).copied().flatten(),
        }
    }

    fn seen(&self, seen: &mut Seen<'static>) {
        match self.column {
            Some(column) => seen.column(column, 0),
            None => self.slots.iter().flatten().for_each(|value| seen.value(*value, 0)),
        }
    }

    /// The rows of the column that these are, as ranges; `None` where it is all.
    fn live(&self) -> Option<Vec<Range<usize>>> {
        let (first, live) = self.live?;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for row in live.iter().map(|row| row - first) {
            match ranges.last_mut() {
                Some(range) if range.end == row => range.end += 1,
                _ => ranges.push(row..row + 1),
            }
        }
        Some(ranges)
    }

    /// The column that a path leads to, where rows are stored as columns. It may have
    /// [more rows](Self::live).
    fn stored(&self, path: &[String]) -> Option<Column<'static, Valid>> {
        if let Some((start, end, columns)) = self.chosen {
            let (_, column) = columns.iter().find(|(known, _)| known == path)?;
            return Some(column.slice(start..end));
        }
        if path.is_empty() {
            return self.column;
        }
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        self.column?.table()?.column(keys.as_slice())
    }

    /// The value that a path leads to in each row.
    fn below<'p>(self, path: &'p [String]) -> impl Iterator<Item = Slot> + use<'i, 'p> {
        (0..self.len()).map(move |row| {
            path.iter().try_fold(self.get(row)?, |value, key| value.as_object()?.get(key.as_str()))
        })
    }

    /// Adds what the column that a path leads to holds. Returns whether any row has it.
    fn seen_below(self, path: &[String], seen: &mut Seen<'static>) -> bool {
        if let Some(column) = self.stored(path) {
            seen.column(column, 1);
            return true;
        }
        let mut there = false;
        for slot in self.below(path) {
            there |= slot.is_some();
            slot.into_iter().for_each(|value| seen.value(value, 1));
        }
        there
    }

    /// Whether a row has a member of this name.
    fn has(&self, name: &str) -> bool {
        let path = [name.to_owned()];
        match self.column.and_then(|column| column.table()) {
            Some(table) if !table.has_further_fields() => table.column(name).is_some(),
            _ => self.below(&path).any(|slot| slot.is_some()),
        }
    }
}

#[cold]
pub(crate) fn no_column(path: &[String]) -> Error {
    Error::new(ErrorKind::NotFound, format!("no row has the column {:?}", path.join(".")))
}

#[cold]
fn no_columns(requested: &Field) -> Error {
    let message = format!("the requested schema is {}, not columns", requested.kind);
    Error::new(ErrorKind::Mismatch, message)
}

impl std::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Exporter({:?}, {:?})", self.value, self.options)
    }
}

/// What is exported, and as which types.
pub(crate) struct Plan {
    source: Source,
    items: Items,
    /// Which of them.
    range: Range<usize>,
    shape: Rows,
    metadata: Metadata,
}

impl Plan {
    fn schema(&self) -> Result<ArrowSchema> {
        schema_with(self.fields(), self.metadata.clone())
    }

    pub(crate) fn fields(&self) -> Vec<Field> {
        self.shape.fields()
    }

    pub(crate) fn rows(&self) -> usize {
        self.range.len()
    }

    pub(crate) fn array(&self, start: usize, end: usize) -> Result<ArrowArray> {
        let columns = self.columns(start, end)?;
        let rows = end.min(self.range.len()) - start;
        Ok(made::array(rows, 0, vec![None], columns))
    }

    /// The rows in ranges, which rise.
    pub(crate) fn some(&self, ranges: &[Range<usize>]) -> Result<ArrowArray> {
        let end = |range: &Range<usize>| range.end.min(self.range.len());
        let (start, last) = match ranges {
            [] => (0, 0),
            [range] => return self.array(range.start, end(range)),
            [first, .., last] => (first.start, end(last)),
        };
        let rows: Vec<_> =
            ranges.iter().map(|range| range.start - start..end(range) - start).collect();
        let columns = self.columns(start, last)?.into_iter().zip(self.fields());
        let columns = columns.map(|(made, field)| {
            take(&field.kind, made, &rows).map_err(|error| error.within(&field.name))
        });
        let length = rows.iter().map(|range| range.len()).sum();
        Ok(made::array(length, 0, vec![None], columns.collect::<Result<_>>()?))
    }

    fn columns(&self, start: usize, end: usize) -> Result<Vec<ArrowArray>> {
        let first = self.range.start;
        let rows = self.items.part(first + start..(first + end).min(self.range.end));
        let columns = match &self.shape {
            // Rows that have keys are selected: here are all rows of the column.
            Rows::Objects(fields) => match rows.column {
                Some(column) => self.source.rows(fields, column),
                None => self.source.objects(fields, rows.slots),
            },
            Rows::Selected(columns) => {
                let live = rows.live();
                let made = columns.iter().map(|(path, field)| {
                    let made = match path {
                        Path::Key => self.source.keys(field, rows.keys.unwrap_or_default()),
                        Path::Below(path) => {
                            let each = || rows.below(path).collect::<Vec<_>>();
                            match (rows.stored(path), &live) {
                                (Some(column), None) => self.source.whole(field, column),
                                // An error that only other rows cause must not fail these.
                                (Some(column), Some(live)) => self
                                    .source
                                    .some(field, column, live)
                                    .or_else(|_| self.source.slots(field, &each())),
                                (None, _) => self.source.slots(field, &each()),
                            }
                        }
                    };
                    made.map_err(|error| error.within(&field.name))
                });
                made.collect()
            }
            Rows::Values(field) => {
                let made = match rows.column {
                    Some(column) => self.source.whole(field, column),
                    None => self.source.slots(field, rows.slots),
                };
                made.map(|column| vec![column]).map_err(|error| error.within(&field.name))
            }
        };
        columns.map_err(|error| error.after_row(start))
    }
}

/// Refuses names that are no text. Others may have written over them since they were validated.
fn check_names(fields: &[Field]) -> Result<()> {
    let mut left: Vec<&Field> = fields.iter().collect();
    while let Some(field) = left.pop() {
        if std::str::from_utf8(field.name.as_bytes()).is_err() {
            return Err(changed(livebuf::ErrorKind::BadText));
        }
        match &field.kind {
            Type::Struct(fields) => left.extend(fields),
            kind => left.extend(kind.item()),
        }
    }
    Ok(())
}

/// The schema of rows of these columns.
pub(crate) fn schema_of(fields: Vec<Field>) -> Result<ArrowSchema> {
    schema_with(fields, Metadata::new())
}

type Metadata = Vec<(Vec<u8>, Vec<u8>)>;

fn schema_with(fields: Vec<Field>, metadata: Metadata) -> Result<ArrowSchema> {
    let rows = Field::new("", Type::Struct(fields));
    made::schema(&Field { nullable: false, metadata, ..rows })
}

/// The schema that is kept beside the rows at a pointer, if there is one.
fn kept_beside(root: Value<'_, Checked>, pointer: &str) -> Option<Option<Field>> {
    let above = pointer.strip_suffix(kept::ROWS)?.strip_suffix('/')?;
    let beside = root.pointer(above).ok()??.get(kept::SCHEMA).ok()??;
    let kept = kept::read(&beside).ok()?;
    Some(matches!(kept.kind, Type::Struct(_)).then_some(kept))
}

/// The field that keys lead to in a kept schema.
fn below<'f>(kept: &'f Field, keys: &[String]) -> Option<&'f Field> {
    keys.iter().try_fold(kept, |field, key| match &field.kind {
        Type::Struct(fields) => fields.iter().find(|field| field.name == *key),
        _ => None,
    })
}

/// Rows as the types that were kept, and after them what edits have added.
fn keep_rows(shape: Rows, kept: &Field) -> Result<Rows> {
    let (Rows::Objects(columns), Type::Struct(fields)) = (&shape, &kept.kind) else {
        return Ok(shape);
    };
    let mut all = fit_fields(columns, fields)?;
    let is_new = |column: &&Field| !fields.iter().any(|field| field.name == column.name);
    all.extend(columns.iter().filter(is_new).cloned());
    Ok(Rows::Objects(all))
}

struct Stream {
    plan: Plan,
    batch_rows: usize,
    next: usize,
}

impl Batches for Stream {
    fn schema(&mut self) -> Result<ArrowSchema> {
        self.plan.schema()
    }

    fn next(&mut self) -> Result<Option<ArrowArray>> {
        let (start, rows) = (self.next, self.plan.range.len());
        if start >= rows {
            return Ok(None);
        }
        let end = start.saturating_add(self.batch_rows).min(rows);
        let array = self.plan.array(start, end)?;
        self.next = end;
        Ok(Some(array))
    }
}

/// Batches of a stream that were made before.
struct Collected {
    plan: Plan,
    batches: VecDeque<ArrowArray>,
}

impl Batches for Collected {
    fn schema(&mut self) -> Result<ArrowSchema> {
        self.plan.schema()
    }

    fn next(&mut self) -> Result<Option<ArrowArray>> {
        Ok(self.batches.pop_front())
    }
}

// --- requested schemas ------------------------------------------------------

fn fit_rows(shape: Rows, requested: &Field) -> Result<Rows> {
    let Type::Struct(fields) = &requested.kind else { return Err(no_columns(requested)) };
    match shape {
        Rows::Objects(columns) => Ok(Rows::Objects(fit_fields(&columns, fields)?)),
        Rows::Values(column) => match fields.as_slice() {
            [field] if field.name == column.name => Ok(Rows::Values(fit(&column, field)?)),
            _ => {
                let message = "the array holds no objects: it has the one column \"value\"";
                Err(Error::new(ErrorKind::Cast, message))
            }
        },
        selected => Ok(selected),
    }
}

fn fit_fields(columns: &[Field], requested: &[Field]) -> Result<Vec<Field>> {
    let missing = |name: &str| Field::new(name, Type::Null);
    let fields = requested.iter().map(|field| {
        match columns.iter().find(|column| column.name == field.name) {
            Some(column) => fit(column, field),
            None => fit(&missing(&field.name), field),
        }
    });
    fields.collect()
}

/// The column as the consumer wants it.
fn fit(column: &Field, requested: &Field) -> Result<Field> {
    let kind =
        fit_type(&column.kind, &requested.kind).map_err(|error| error.within(&requested.name))?;
    Ok(Field { kind, ..requested.clone() })
}

fn fit_type(column: &Type, requested: &Type) -> Result<Type> {
    let item = |item: &Field, requested: &Field| {
        let kind = fit_type(&item.kind, &requested.kind).map_err(Error::within_list)?;
        Ok::<_, Error>(Box::new(Field { kind, ..requested.clone() }))
    };
    let list = |kind: &Type| match kind {
        Type::List(item) | Type::LargeList(item) | Type::FixedList(item, _) => {
            Some((**item).clone())
        }
        Type::Null => Some(Field::new("item", Type::Null)),
        _ => None,
    };
    let unknown =
        || Error::new(ErrorKind::Cast, format!("{column} cannot be exported as {requested}"));
    Ok(match (column, requested) {
        // Nothing but nulls fits any type that can be exported.
        (Type::Null, Type::Null | Type::Bool | Type::Number(_) | Type::Text(_))
        | (Type::Null, Type::Binary(_) | Type::FixedBinary(_) | Type::Uuid)
        | (Type::Null, Type::Date32 | Type::Date64 | Type::Time(_) | Type::Timestamp(..))
        | (Type::Null | Type::Decimal { .. } | Type::Number(_), Type::Decimal { .. })
        | (Type::Json(_), Type::Decimal { .. } | Type::Json(_))
        | (Type::Date32, Type::Date32 | Type::Date64)
        | (Type::Time(_), Type::Time(_))
        | (Type::Timestamp(..), Type::Date64)
        // Of texts, those by ISO 8601.
        | (
            Type::Text(_) | Type::Dictionary(..) | Type::Json(_),
            Type::Date32 | Type::Date64 | Type::Time(_) | Type::Timestamp(..) | Type::Duration(_),
        )
        | (Type::Null, Type::Duration(_))
        | (Type::Timestamp(..), Type::Timestamp(..))
        | (Type::Uuid, Type::Uuid | Type::FixedBinary(16))
        | (Type::Bool, Type::Bool)
        // Whether each value fits is seen when it is exported.
        | (Type::Number(_) | Type::Json(_), Type::Number(_))
        | (Type::Decimal { .. }, Type::Number(Number::F32 | Number::F64))
        | (Type::Text(_) | Type::Dictionary(..), Type::Text(_))
        | (
            Type::Text(_) | Type::Dictionary(..) | Type::Binary(_),
            Type::Binary(_) | Type::FixedBinary(_),
        ) => {
            requested.clone()
        }
        (Type::Null | Type::Text(_) | Type::Dictionary(..), Type::Dictionary(_, texts))
            if matches!(**texts, Type::Text(_)) =>
        {
            requested.clone()
        }
        // A dictionary of other values is exported as the values themselves.
        (_, Type::Dictionary(_, values)) if !matches!(**values, Type::Text(_)) => {
            fit_type(column, values)?
        }
        (Type::Null | Type::Struct(_), Type::Struct(fields)) => {
            let columns = if let Type::Struct(columns) = column { columns.as_slice() } else { &[] };
            Type::Struct(fit_fields(columns, fields)?)
        }
        (_, Type::List(to)) => Type::List(item(&list(column).ok_or_else(unknown)?, to)?),
        (_, Type::LargeList(to)) => Type::LargeList(item(&list(column).ok_or_else(unknown)?, to)?),
        (_, Type::FixedList(to, length)) => {
            Type::FixedList(item(&list(column).ok_or_else(unknown)?, to)?, *length)
        }
        (_, Type::Tensor(lists)) => Type::Tensor(Box::new(fit_type(column, lists)?)),
        // Any value has a text, and JSON.
        (_, Type::Text(layout)) => Type::Plain(*layout),
        (_, Type::Json(layout)) => Type::Json(*layout),
        _ => return Err(unknown()),
    })
}
