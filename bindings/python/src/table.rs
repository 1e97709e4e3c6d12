//! `livebuf.Table` and `livebuf.Column`: arrays of similar objects by columns, and Arrow.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use livebuf::{Checked, Doc, DocBuf, Extended, New, Scalar, Valid};
use livebuf_arrow::{
    ArrowArray, ArrowArrayStream, ArrowSchema, ExportOptions, Exporter, ImportOptions, RecordBatch,
    TextLayout,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict, PyList, PySlice, PyString, PyTuple};

use crate::decode::{self, CollectorPause};
use crate::encode::{self, Given};
use crate::error::{self, Held, expected};
use crate::export::{self, Numbers, Rows, Wish};
use crate::extended;
use crate::search::{Between, find_number_text, wanted};
use crate::view::{Columnar, Document, Index};

/// An array as columns, for Arrow, polars, pyarrow, pandas and DuckDB. No row becomes a Python
/// object. An object has columns, too: its members are the rows. An export has their keys as the
/// first column, named `key`, or `_key` if they have a column `key` themselves.
///
/// It has the Arrow PyCapsule interface (`__arrow_c_stream__`), and is no sequence:
/// `polars.DataFrame(array.table)`, `pyarrow.table(array.table)`,
/// `pandas.DataFrame.from_arrow(array.table)`.
///
/// Numbers are exported 64 bits wide (`narrow=True` keeps the width they are stored by), text
/// as `Utf8` (see `with_options`). Columns whose bytes are as Arrow needs them are not copied.
/// Edits then raise `ExportedError` while the export lives; `copy=True` avoids that.
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Table {
    pub(crate) source: Columnar,
    pub(crate) options: ExportOptions,
    pub(crate) copy: bool,
    /// The keys that lead to each chosen column; all columns without any.
    selected: Option<Vec<Vec<String>>>,
    rows: Rows,
}

/// A document's bytes, kept in place while an export of them lives.
struct Exported {
    start: *const u8,
    length: usize,
    /// Whether it was validated, or written by this library.
    is_valid: bool,
    /// Whether it lies in memory that others can write.
    is_shared: bool,
    /// Keeps the memory.
    document: Py<Document>,
}

// SAFETY: any thread may read the bytes. Nobody changes them while this lives.
unsafe impl Send for Exported {}
// SAFETY: as above.
unsafe impl Sync for Exported {}

impl livebuf_arrow::Document for Exported {
    fn open(&self) -> livebuf::Result<Doc<'_>> {
        // SAFETY: the count of exports keeps the bytes in place. Others may write them. What is
        // read is then wrong or an error; `is_shared` says that it must be checked.
        Doc::open(unsafe { std::slice::from_raw_parts(self.start, self.length) })
    }

    fn valid(&self) -> Option<Doc<'_, Valid>> {
        // SAFETY: the editor trusted it, and edits wait until the export is gone.
        self.is_valid.then(|| Some(unsafe { self.open().ok()?.assume_valid() }))?
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }
}

/// A copy of a document's bytes.
struct Copied {
    bytes: Vec<u8>,
    is_valid: bool,
}

impl livebuf_arrow::Document for Copied {
    fn open(&self) -> livebuf::Result<Doc<'_>> {
        Doc::open(&self.bytes)
    }

    fn valid(&self) -> Option<Doc<'_, Valid>> {
        // SAFETY: copied from a document that the editor trusted and nobody else could write.
        self.is_valid.then(|| Some(unsafe { self.open().ok()?.assume_valid() }))?
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        self.document.get().end_export();
    }
}

impl Table {
    pub(crate) fn new(source: Columnar) -> Table {
        let (options, rows) = (ExportOptions::default(), Rows::ALL);
        Table { source, options, copy: false, selected: None, rows }
    }

    fn clone_ref(&self, py: Python<'_>) -> Table {
        Table {
            source: self.source.clone_ref(py),
            options: self.options.clone(),
            copy: self.copy,
            selected: self.selected.clone(),
            rows: self.rows,
        }
    }

    /// The keys that a column's name stands for: a key, or keys with dots between them.
    fn path_of(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        keys_of(name, |name| self.keys_in(py, name))
    }

    /// The keys that a name in text stands for: itself, where there is such a column.
    fn keys_in(&self, py: Python<'_>, name: String) -> PyResult<Vec<String>> {
        if !name.contains('.') {
            return Ok(vec![name]);
        }
        let whole = vec![name];
        match self.source.view().read(py, |value| export::has(value, &whole))? {
            true => Ok(whole),
            false => Ok(whole[0].split('.').map(str::to_owned).collect()),
        }
    }

    fn exporter(&self, py: Python<'_>) -> PyResult<Exporter> {
        let view = self.source.view();
        let (owner, pointer, known, eager) = view.reach(py, |document, state, _| {
            let pointer = view.pointer(py)?;
            let (known, lent) = (state.known(), state.lent);
            let editor = state.whole()?;
            let is_valid = editor.is_trusted();
            let memory = editor.storage();
            // What was fetched is never edited, and can be read within this call only.
            let eager = memory.is_fetched();
            // Nobody else can write a `bytes`, or what was fetched.
            let is_shared = !(memory.is_bytes() || eager) || lent && !is_valid;
            let bytes = editor.as_bytes();
            if self.copy && !eager {
                let mut copy = error::room_for(bytes.len())?;
                copy.extend_from_slice(bytes);
                let copied = Copied { bytes: copy, is_valid: is_valid && !is_shared };
                let owner: Arc<dyn livebuf_arrow::Document> = Arc::new(copied);
                // The memory may say something else than when it was validated.
                return Ok((owner, pointer, if is_shared { Arc::default() } else { known }, eager));
            }
            state.outside_transactions()?;
            document.get().exports().fetch_add(1, Ordering::AcqRel);
            let (start, length) = (bytes.as_ptr(), bytes.len());
            let document = document.clone().unbind();
            let owner: Arc<dyn livebuf_arrow::Document> =
                Arc::new(Exported { start, length, is_valid, is_shared, document });
            Ok((owner, pointer, known, eager))
        })?;
        let options = self.options.clone().eager(eager);
        let (selected, Rows { start, stop }) = (self.selected.clone(), self.rows);
        let exporter = || {
            let exporter = Exporter::new(Arc::new(owner))?;
            // SAFETY: all are of this document. After an edit it begins with nothing known.
            let exporter = unsafe { exporter.remember(known) };
            let exporter = exporter.at(&pointer)?.options(options).rows(start..stop);
            Ok(match selected {
                Some(columns) => exporter.select(columns),
                None => exporter,
            })
        };
        py.detach(exporter).map_err(|failure: livebuf_arrow::Error| error::arrow(py, &failure))
    }
}

impl Table {
    fn column_of(&self, py: Python<'_>, path: Vec<String>) -> PyResult<Column> {
        let path = self.source.view().read(py, |value| export::named(value, path))?;
        Ok(Column { source: self.source.clone_ref(py), path, rows: self.rows })
    }
}

/// What Arrow's side gives.
type Arrow<T> = Result<T, livebuf_arrow::Error>;

/// The columns that were asked for by name; `split` gives the keys that a name stands for.
pub(crate) fn chosen(
    columns: &Bound<'_, PyAny>,
    mut split: impl FnMut(String) -> PyResult<Vec<String>>,
) -> PyResult<Vec<Vec<String>>> {
    if columns.is_instance_of::<PyString>() {
        return Err(expected("a list of columns", columns));
    }
    columns.try_iter()?.map(|name| keys_of(&name?, &mut split)).collect()
}

/// The keys that a column's name stands for: those of a tuple, or what `split` makes of text.
pub(crate) fn keys_of(
    name: &Bound<'_, PyAny>,
    split: impl FnOnce(String) -> PyResult<Vec<String>>,
) -> PyResult<Vec<String>> {
    if let Ok(keys) = name.cast::<PyTuple>() {
        return match keys.is_empty() {
            true => Err(PyValueError::new_err("a key is wanted")),
            false => keys.extract(),
        };
    }
    match name.extract::<String>() {
        Ok(name) => split(name),
        Err(_) => Err(expected("a column's key, or a tuple of keys,", name)),
    }
}

/// A frame of the columns: `make` is a function of `livebuf._frames`.
pub(crate) fn frame<'py>(columns: &Bound<'py, PyAny>, make: &str) -> PyResult<Bound<'py, PyAny>> {
    columns.py().import("livebuf._frames")?.call_method1(make, (columns,))
}

/// Options for values that have no type of Arrow in common.
pub(crate) fn exact(numbers: &str, mixed: &str, non_finite: &str) -> PyResult<ExportOptions> {
    let numbers = match numbers {
        "raise" => livebuf_arrow::Numbers::Error,
        "decimal" => livebuf_arrow::Numbers::Decimal,
        "text" => livebuf_arrow::Numbers::Text,
        "float" => livebuf_arrow::Numbers::Float,
        _ => {
            return Err(PyValueError::new_err(format!(
                "numbers must be \"raise\", \"decimal\", \"text\" or \"float\", not {numbers:?}"
            )));
        }
    };
    let mixed = match mixed {
        "text" => livebuf_arrow::Mixed::Text,
        "json" => livebuf_arrow::Mixed::Json,
        "raise" => livebuf_arrow::Mixed::Error,
        _ => {
            return Err(PyValueError::new_err(format!(
                "mixed must be \"text\", \"json\" or \"raise\", not {mixed:?}"
            )));
        }
    };
    let non_finite = encode::non_finite(non_finite)?;
    Ok(ExportOptions::new().numbers(numbers).mixed(mixed).non_finite(non_finite))
}

/// Names of columns and their Arrow types in words, as a dict.
pub(crate) fn schema_of<'py>(
    py: Python<'py>,
    columns: Arrow<Vec<(String, String)>>,
) -> PyResult<Bound<'py, PyDict>> {
    let schema = PyDict::new(py);
    for (name, kind) in columns.map_err(|failure| error::arrow(py, &failure))? {
        schema.set_item(name, kind)?;
    }
    Ok(schema)
}

/// What `request` makes of the schema in a consumer's capsule; `exporter` if there is none.
pub(crate) fn requested<E>(
    exporter: E,
    capsule: Option<&Bound<'_, PyCapsule>>,
    request: impl FnOnce(E, &ArrowSchema) -> Arrow<E>,
) -> PyResult<E> {
    let Some(capsule) = capsule else { return Ok(exporter) };
    let schema = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<ArrowSchema>();
    // SAFETY: a capsule with this name holds a schema, and keeps it alive.
    let schema = unsafe { schema.as_ref() };
    request(exporter, schema).map_err(|failure| error::arrow(capsule.py(), &failure))
}

/// A stream in a capsule (the PyCapsule interface).
pub(crate) fn stream_capsule(
    py: Python<'_>,
    make: impl FnOnce() -> Arrow<ArrowArrayStream> + Send,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = py.detach(make).map_err(|failure| error::arrow(py, &failure))?;
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// A schema in a capsule (the PyCapsule interface).
pub(crate) fn schema_capsule(
    py: Python<'_>,
    make: impl FnOnce() -> Arrow<ArrowSchema> + Send,
) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = py.detach(make).map_err(|failure| error::arrow(py, &failure))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

#[pymethods]
impl Table {
    /// The same columns with other options for the export. `narrow` keeps the width that
    /// numbers are stored by. `copy` lets the document be edited while the export lives. `text`
    /// is `"utf8"`, `"large"` or `"view"`. `batch_rows` is the count of rows in a record batch.
    /// Rows times columns above `max_cells`, by default 64 for each byte of the document, raise
    /// `LimitError`.
    ///
    /// `mixed` says what a column of several kinds of values is, such as texts and numbers:
    /// `"text"`, texts as they are and the JSON of others; `"json"`, JSON of each value, marked by
    /// the extension type `arrow.json`; or an error with `"raise"`. JSON has no infinity and no
    /// NaN: they raise an error there, or become null with `non_finite="null"`. `numbers` says what
    /// a column of numbers is that no type of numbers holds exactly, such as 0.5 and 2**53 + 1:
    /// an error with `"raise"`, `"decimal"`, `"text"`, or `"float"`, which rounds.
    #[pyo3(signature = (
        *, narrow=false, copy=false, text="utf8", batch_rows=None, max_cells=None,
        non_finite="error", numbers="raise", mixed="text"
    ))]
    #[allow(clippy::too_many_arguments, reason = "options by their names")]
    fn with_options(
        &self,
        py: Python<'_>,
        narrow: bool,
        copy: bool,
        text: &str,
        batch_rows: Option<usize>,
        max_cells: Option<u64>,
        non_finite: &str,
        numbers: &str,
        mixed: &str,
    ) -> PyResult<Table> {
        let layout = match text {
            "utf8" => TextLayout::Utf8,
            "large" => TextLayout::LargeUtf8,
            "view" => TextLayout::Utf8View,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "text must be \"utf8\", \"large\" or \"view\", not {text:?}"
                )));
            }
        };
        let mut options = exact(numbers, mixed, non_finite)?.narrow(narrow).text(layout);
        if let Some(rows) = batch_rows {
            options = options.batch_rows(rows);
        }
        if let Some(cells) = max_cells {
            options = options.max_cells(cells);
        }
        Ok(Table { options, copy, ..self.clone_ref(py) })
    }

    /// The same rows with these columns only, in this order. A column is named by its key, by
    /// keys with dots between them (`"user.id"`) or by a tuple of keys. If any row has a key
    /// `"user.id"`, the text means that one; the tuple `("user", "id")` always means keys within each
    /// other.
    ///
    /// An export of it raises `MissingKeyError` where no row has such a column.
    fn select(&self, py: Python<'_>, columns: &Bound<'_, PyAny>) -> PyResult<Table> {
        let selected = chosen(columns, |name| self.keys_in(py, name))?;
        Ok(Table { selected: Some(selected), ..self.clone_ref(py) })
    }

    /// The same columns with the rows from `start` up to, without, `stop` only. Negative numbers
    /// count from the end, as in slices.
    #[pyo3(signature = (start=0, stop=None))]
    fn slice(&self, py: Python<'_>, start: isize, stop: Option<isize>) -> PyResult<Table> {
        let part = PySlice::new(py, start, stop.unwrap_or(isize::MAX), 1);
        let length = self.num_rows(py)?;
        let part = part.indices(length as isize)?;
        let (start, stop) = (part.start as usize, part.stop.max(part.start) as usize);
        Ok(Table { rows: self.rows.part(start..stop), ..self.clone_ref(py) })
    }

    /// The rows in parts, in order, for threads that share the work: `parts` tables, or one for
    /// each row where there are fewer rows. Their lengths differ by one row at most.
    fn split(&self, py: Python<'_>, parts: usize) -> PyResult<Vec<Table>> {
        let rows = self.num_rows(py)?;
        let parts = parts.min(rows);
        let start = |part: usize| (rows as u64 * part as u64 / parts as u64) as usize;
        let part = |part| {
            let rows = self.rows.part(start(part)..start(part + 1));
            Table { rows, ..self.clone_ref(py) }
        };
        Ok((0..parts).map(part).collect())
    }

    /// The columns' names and their Arrow types in words.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let exporter = self.exporter(py)?;
        schema_of(py, py.detach(|| exporter.columns()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.num_rows(py)
    }

    /// A column by its key, by keys with dots between them, or by a tuple of keys, as for `select`.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Column> {
        self.column_of(py, self.path_of(py, key)?)
    }

    /// The Arrow C stream (the PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let exporter = requested(self.exporter(py)?, requested_schema, Exporter::requested_schema)?;
        stream_capsule(py, || exporter.stream())
    }

    /// The Arrow C schema (the PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let exporter = self.exporter(py)?;
        schema_capsule(py, || exporter.schema())
    }

    /// A `pandas.DataFrame` of the columns, of pandas' `ArrowDtype`: integers with nulls stay integers,
    /// and nothing is rounded. Needs pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frame(slf.as_any(), "to_pandas")
    }

    /// A `polars.DataFrame` of the columns.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frame(slf.as_any(), "to_polars")
    }

    /// Refuses: by this `pandas.DataFrame(table)` says what to call.
    fn __iter__(&self) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err(
            "a Table is not iterated: table.to_pandas() is a frame of pandas, the array has the rows",
        ))
    }

    /// Count of rows.
    #[getter]
    fn num_rows(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.rows.count(self.source.view().len(py)?))
    }

    /// Whether the rows lie in the document as columns. Tables do the same either way; this one
    /// faster.
    #[getter]
    fn stored(&self, py: Python<'_>) -> PyResult<bool> {
        self.source.view().read(py, |value| match export::values(value)? {
            Some(values) => Ok(values.table()?.is_some()),
            None => Ok(false),
        })
    }

    /// The columns' names, in the order in which the keys are met; those of `schema`. An array that
    /// holds other things than objects has one column, its elements: `["value"]`.
    #[getter]
    fn column_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        match &self.selected {
            Some(selected) => Ok(selected.iter().map(|path| path.join(".")).collect()),
            None => self.source.view().read(py, export::names),
        }
    }

    /// A column by its key, or by several keys that lead down through nested objects. If the rows are
    /// members of an object, `key` is the column of their keys; `_key` if they have a `key`
    /// themselves. Rows that lack the key have `None` there.
    ///
    /// Raises `MissingKeyError` where there are rows, and none has it.
    #[pyo3(signature = (*path))]
    fn column(&self, py: Python<'_>, path: &Bound<'_, PyTuple>) -> PyResult<Column> {
        if path.is_empty() {
            return Err(PyValueError::new_err("a key is wanted"));
        }
        self.column_of(py, path.extract()?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (rows, names) = (self.num_rows(py)?, self.column_names(py)?);
        Ok(format!("<livebuf.Table of {rows} rows: {}>", names.join(", ")))
    }
}

/// The values that the rows of a table have under one key, or the elements of an array.
///
/// >>> doc = livebuf.Document.from_python([{"lap": n, "time": 70 + n / 2} for n in range(100)])
/// >>> times = doc.root.table.column("time")
/// >>> times.find(75.0), times.filter(70, 71), len(times)
/// (10, [0, 1, 2], 100)
#[pyclass(frozen, sequence, module = "livebuf")]
pub(crate) struct Column {
    pub(crate) source: Columnar,
    pub(crate) path: Vec<String>,
    pub(crate) rows: Rows,
}

impl Column {
    fn numbers(&self, py: Python<'_>) -> Numbers {
        Numbers::new(self.source.clone_ref(py), self.path.clone(), self.rows)
    }

    fn read<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(livebuf::Column<'_, Checked>) -> Held<R>,
    ) -> PyResult<R> {
        self.read_some(py, self.rows, look)
    }

    fn read_some<R>(
        &self,
        py: Python<'_>,
        rows: Rows,
        look: impl FnOnce(livebuf::Column<'_, Checked>) -> Held<R>,
    ) -> PyResult<R> {
        let view = self.source.view();
        view.read(py, |value| export::with_column(value, &self.path, rows, look))
    }

    /// The plain value of a row.
    fn value<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        let row = self.rows.part(row..row + 1);
        self.read_some(py, row, |column| match column.get(0)? {
            Some(value) => Ok(decode::to_python(py, &value, None)?),
            None => Ok(py.None().into_bound(py)),
        })
    }
}

#[pymethods]
impl Column {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.rows.count(self.source.view().len(py)?))
    }

    /// The value of a row as a plain one; `None` where the row has none. With a slice, the column
    /// of these rows; a list of their values where it has steps.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let length = self.__len__(py)?;
        if let Ok(part) = index.cast::<PySlice>() {
            let part = part.indices(length as isize)?;
            if part.step != 1 {
                let mut values = error::room_for(part.slicelength)?;
                for number in 0..part.slicelength as isize {
                    values.push(self.value(py, (part.start + number * part.step) as usize)?);
                }
                return Ok(PyList::new(py, values)?.into_any());
            }
            let (start, stop) = (part.start as usize, part.stop.max(part.start) as usize);
            let rows = self.rows.part(start..stop);
            let (source, path) = (self.source.clone_ref(py), self.path.clone());
            return Ok(Bound::new(py, Column { source, path, rows })?.into_any());
        }
        let given: Index = index.extract()?;
        let row = if given.0 < 0 { given.0 + length as isize } else { given.0 };
        if row < 0 || row as usize >= length {
            return Err(error::index(py, error::digits(index), length));
        }
        self.value(py, row as usize)
    }

    /// The values as plain ones, from the first row on. They are read as they are asked for, some
    /// at a time.
    fn __iter__(slf: Bound<'_, Self>) -> ColumnValues {
        ColumnValues { column: slf.unbind(), next: 0, ready: Vec::new() }
    }

    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("backwards")?.call1((slf,))
    }

    /// The first row, from `start` up to `stop`, whose value equals this one, as a list's `index`.
    /// Raises `ValueError` where there is none. `find` is faster.
    #[pyo3(
        signature = (value, start=Index(0), stop=Index(isize::MAX), /),
        text_signature = "($self, value, start=0, stop=..., /)"
    )]
    fn index<'py>(
        slf: &Bound<'py, Self>,
        value: &Bound<'py, PyAny>,
        start: Index,
        stop: Index,
    ) -> PyResult<Bound<'py, PyAny>> {
        let views = slf.py().import("livebuf._views")?;
        views.getattr("index")?.call1((slf, value, start.0, stop.0))
    }

    /// How many rows have a value that equals this one.
    fn count<'py>(
        slf: &Bound<'py, Self>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("count")?.call1((slf, value))
    }

    /// How the values are stored: `"I8"`, `"F64"`, `"String"`, `"Cells"` (any mix) and others.
    /// Texts that repeat are a `"DictionaryU8"`, others behind each other a `"TextRun"`.
    #[getter]
    fn r#type(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |column| Ok(format!("{:?}", column.column_type())))
    }

    /// The first row, from `start` on, that holds this number, text, boolean, date, time or UUID,
    /// or, for `None`, has null or no value; `None` where there is none. An `int` of any size finds integers, a `float` floats,
    /// a `Decimal` decimals of the same value.
    #[pyo3(signature = (value, start=0))]
    fn find(&self, value: &Bound<'_, PyAny>, start: usize) -> PyResult<Option<usize>> {
        let given = match wanted(value)? {
            // 1.5 finds 1.50.
            Some(Extended::Decimal(decimal)) => {
                return self.read(value.py(), |column| {
                    for (row, value) in column.slice(start..).iter().enumerate() {
                        let found = value?.map(|value| value.as_decimal()).transpose()?.flatten();
                        if found.is_some_and(|found| {
                            extended::order_of_decimals(found, decimal).is_eq()
                        }) {
                            return Ok(Some(row + start));
                        }
                    }
                    Ok(None)
                });
            }
            Some(value) => Given::Extended(value),
            None => Given::of(value)?,
        };
        self.read(value.py(), |column| {
            let rows = column.slice(start..);
            let given = given.value();
            if matches!(given, New::Null) {
                for (row, value) in rows.iter().enumerate() {
                    if value?.is_none_or(|value| value.is_null()) {
                        return Ok(Some(row + start));
                    }
                }
                return Ok(None);
            }
            let number = match given {
                New::Copy(value) => value.as_number_text()?,
                _ => None,
            };
            let found = match number {
                Some(text) => find_number_text(&rows, text)?,
                None => rows.find(Scalar::try_from(given)?)?,
            };
            Ok(found.map(|row| row + start))
        })
    }

    /// The rows whose value lies between two bounds, both included. The bounds are numbers,
    /// dates, times, datetimes (with a time zone or without), UUIDs, or texts. Texts are ordered
    /// by their code points. Integers of any size are compared exactly, with floats too.
    fn filter(&self, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let between = Between::of(low, high)?;
        self.read(low.py(), |column| between.rows(&column))
    }

    /// How many rows have each text, in the order in which they are met. Other values are not
    /// counted. Fast where texts repeat: they are stored as codes then.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.read(py, |column| {
            let _pause = CollectorPause::new();
            let counts = PyDict::new(py);
            for (text, count) in column.counts()? {
                counts.set_item(decode::text(py, text.as_bytes())?, count)?;
            }
            Ok(counts)
        })
    }

    /// A list of plain values, `None` where a row has none; at most `max_values` of them.
    #[pyo3(signature = (*, max_values=None))]
    fn to_python<'py>(
        &self,
        py: Python<'py>,
        max_values: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = self.source.view();
        view.read(py, |value| {
            let _pause = CollectorPause::new();
            let mut left = decode::allowance(value, max_values);
            export::with_column(value, &self.path, self.rows, |column| {
                let values = PyList::empty(py);
                for value in column.iter() {
                    left.values(1)?;
                    values.append(match value? {
                        Some(value) => decode::to_python_within(py, &value, &mut left)?,
                        None => py.None().into_bound(py),
                    })?;
                }
                Ok(values.into_any())
            })
        })
    }

    /// The Arrow C array (the PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface lets a producer ignore this wish.
        let _ = requested_schema;
        let selected = (!self.path.is_empty()).then(|| vec![self.path.clone()]);
        let table = Table { selected, rows: self.rows, ..Table::new(self.source.clone_ref(py)) };
        let exporter = table.exporter(py)?;
        let (schema, array) =
            py.detach(|| exporter.column()).map_err(|failure| error::arrow(py, &failure))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// The values as a numpy array: as `Array.numpy`.
    #[pyo3(signature = (*, copy=false, writable=false, masked=false, narrow=false))]
    fn numpy<'py>(
        &self,
        py: Python<'py>,
        copy: bool,
        writable: bool,
        masked: bool,
        narrow: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wish = Wish { copy, writable, masked, narrow, shares: false };
        self.numbers(py).array(py, wish)
    }

    /// For `numpy.asarray(column)`: as `numpy()`, or for other values what numpy makes of a list.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(py).for_numpy(py, dtype, copy, || self.to_python(py, None))
    }

    /// A `memoryview` of the numbers as they are stored: as `Array.memoryview`. Numbers of rows that
    /// are not stored as columns, such as those of one row or two, are copied.
    fn memoryview<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let numbers = self.numbers(py);
        if numbers.are_in_place(py)? {
            return numbers.memoryview(py);
        }
        let document = py.get_type::<Document>();
        let copy = document.call_method1("from_python", (self.to_python(py, None)?,))?;
        copy.getattr("root")?.call_method0("memoryview")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (length, kind) = (self.__len__(py)?, self.r#type(py)?);
        Ok(format!("<livebuf.Column {:?} of {length} {kind}>", self.path.join("/")))
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: std::os::raw::c_int,
    ) -> PyResult<()> {
        let numbers = slf.get().numbers(slf.py());
        export::of_tensor(slf.py(), slf.as_any(), &numbers, view, flags)
    }

    unsafe fn __releasebuffer__(slf: Bound<'_, Self>, view: *mut pyo3::ffi::Py_buffer) {
        export::release(slf.get().source.view().document(slf.py()).get(), view);
    }
}

/// Rows that an iterator over a column reads at once.
const READ_AT_ONCE: usize = 256;

/// The values of a column, one by one.
#[pyclass(module = "livebuf")]
pub(crate) struct ColumnValues {
    column: Py<Column>,
    next: usize,
    /// Values that were read, the last first.
    ready: Vec<Py<PyAny>>,
}

#[pymethods]
impl ColumnValues {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        if self.ready.is_empty() {
            let (from, column) = (self.next, self.column.get());
            // More and more, since each time begins by finding its place.
            let count = from.clamp(READ_AT_ONCE, 64 * READ_AT_ONCE);
            let part = column.rows.part(from..from.saturating_add(count));
            self.ready = column.read_some(py, part, |column| {
                let mut left = None;
                let mut values = column.iter().map(|value| match value? {
                    Some(value) => {
                        let left = left.get_or_insert_with(|| decode::allowance(&value, None));
                        Ok(decode::to_python_within(py, &value, left)?.unbind())
                    }
                    None => Ok(py.None()),
                });
                values.by_ref().collect::<Held<Vec<_>>>()
            })?;
            self.next += self.ready.len();
            self.ready.reverse();
        }
        Ok(self.ready.pop())
    }
}

/// A document from Arrow: anything with `__arrow_c_stream__` or `__arrow_c_array__`, such as
/// frames of polars and tables of pyarrow. It becomes an array of objects, one a row.
///
/// With `skip_nulls=True` a row has no field where a column is null.
///
/// With `keep_types=True` the document is an object of two members: `rows`, and `arrow_schema` with
/// the types that the columns had. `doc["rows"].table` gives them back: units of times and
/// durations, zones, widths of numbers, precisions, dictionaries (without an order), the metadata
/// of fields and of the schema. Values are stored as they are otherwise; what documents have no
/// type for is text by ISO 8601.
#[pyfunction]
#[pyo3(signature = (data, *, skip_nulls=false, keep_types=false))]
pub(crate) fn from_arrow(
    data: &Bound<'_, PyAny>,
    skip_nulls: bool,
    keep_types: bool,
) -> PyResult<Document> {
    let options = ImportOptions::new().skip_nulls(skip_nulls).keep_types(keep_types);
    Document::owned(data.py(), &imported(data, options)?)
}

/// What comes from Arrow, as an array.
pub(crate) fn imported(data: &Bound<'_, PyAny>, options: ImportOptions) -> PyResult<DocBuf> {
    let py = data.py();
    let made = if data.hasattr("__arrow_c_stream__")? {
        let capsule = data.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: a capsule with this name holds a stream. The consumer may take it once.
        let stream = unsafe { ArrowArrayStream::take(stream.cast().as_ptr()) };
        py.detach(|| livebuf_arrow::from_stream(stream, &options))
    } else if data.hasattr("__arrow_c_array__")? {
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
            data.call_method0("__arrow_c_array__")?.extract()?;
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?;
        let array = array.pointer_checked(Some(c"arrow_array"))?;
        // SAFETY: as above. The interface says that the two belong together.
        let batch = unsafe {
            let array = ArrowArray::take(array.cast().as_ptr());
            RecordBatch::new(ArrowSchema::take(schema.cast().as_ptr()), array)
        };
        py.detach(move || livebuf_arrow::from_batch(&batch, &options))
    } else {
        return Err(expected("something with __arrow_c_stream__", data));
    };
    made.map_err(|failure| error::arrow(py, &failure))
}
