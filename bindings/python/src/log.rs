//! `livebuf.Log`: files of rows that only grow.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use livebuf::{Checked, Doc, Valid, Value};
use livebuf_arrow::{Document, Documents, ExportOptions, ImportOptions, Joined, Refused, Types};
use livebuf_log::{Group, LogOptions, LogReader, Stats, Torn};
use pyo3::exceptions::{PyRuntimeWarning, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator, PyList, PySlice, PyTuple};

use crate::decode;
use crate::encode;
use crate::error::{self, expected};
use crate::export::{self, Rows, named, with_column};
use crate::memory::Memory;
use crate::remote::Remote;
use crate::search::{Between, Span};
use crate::table;
use crate::typed::decoder::{self, Decoder};
use crate::view::{self, Index};

/// About how many bytes of memory rows take that are encoded at once.
const GROUP_BYTES: u64 = 8 << 20;

/// A log: a file of rows that only grows, for what files of JSON lines are used for.
///
/// Modes: `"r"` reads. `"a"` adds rows, and makes the file if there is none. `"x"` makes a new
/// file. `"w"` puts a new one in place of an old one. One process adds rows. Any number read
/// meanwhile, and see new ones by `refresh()`.
///
/// A row is anything that `dumps` takes; `default(obj)` is called for all else. With `sync=True`
/// rows are on the disk when `append` and `extend` return. Otherwise `sync()` and `close()` wait
/// for that.
///
/// While another process adds rows, `"a"` and `"w"` raise `BlockingIOError`. With `timeout` they
/// wait up to so many seconds for its end, or with `None` as long as it takes. So processes can take
/// turns, each opening the log for its rows.
///
/// Rows that come one by one take more bytes than those that come many at a time. So the log
/// compacts itself, as by `compact()`, when half of its bytes are wasted in this way and they are at
/// least `compact_at`. `None` means never.
///
/// `log[i]`, slices and iteration give plain Python objects, or objects of `type`, as `loads` makes them.
/// `polars.DataFrame(log)`, `pyarrow.table(log)` and DuckDB read it by columns.
///
/// A write that did not end, at the end of the file, is cut off when rows are to be added, with a
/// `RuntimeWarning`. Readers pass over it (`torn`).
///
/// >>> import tempfile
/// >>> path = tempfile.mkdtemp() + "/events.lblog"
/// >>> with livebuf.Log(path, "x") as log:
/// ...     log.append({"kind": "start", "user": 7})
/// ...     print(log.extend({"kind": "click", "user": n} for n in range(1000)))
/// 1000
/// >>> log = livebuf.Log(path)
/// >>> len(log), log[0], log[-1]["user"]
/// (1001, {'kind': 'start', 'user': 7}, 999)
#[pyclass(frozen, sequence, module = "livebuf")]
pub(crate) struct Log {
    state: Mutex<State>,
    /// What was found in the groups of the file that is open now.
    found: Mutex<Arc<GroupsMet>>,
    path: PathBuf,
    mode: String,
    default: Option<Py<PyAny>>,
    /// What makes rows into objects of a type.
    decoder: Option<Py<Decoder>>,
}

enum State {
    /// Shared, since what is read of a log elsewhere runs Python code, without the lock.
    Reads(Arc<LogReader>),
    Writes(Box<livebuf_log::Log>),
    Closed,
}

/// What was found in the groups of a file. Another file, which a log gets when it is compacted, has
/// other groups.
#[derive(Default)]
struct GroupsMet {
    /// Of the file; zeros if there is none yet.
    identity: [u8; 8],
    types: Arc<Types>,
    spans: Mutex<HashMap<Vec<String>, Spans>>,
    /// For a key with dots in it, how many of the first groups have no row with it.
    absent: Mutex<HashMap<String, usize>>,
    /// The rows that are not in a group yet, and the file's length then. They lie in many frames,
    /// and each export needs them twice: for its schema and for its rows.
    tail: Mutex<Option<(u64, Group)>>,
}

/// Of each group the least and the greatest value in a column, as far as they are known.
type Spans = HashMap<usize, Span>;

/// Columns whose values are remembered.
const MOST_COLUMNS: usize = 64;

impl GroupsMet {
    fn spans(&self) -> MutexGuard<'_, HashMap<Vec<String>, Spans>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows behind the last group, made a group when they are first asked for. In one file,
    /// as many bytes have the same rows.
    fn tail(&self, reader: &LogReader, index: usize) -> livebuf_log::Result<Option<Group>> {
        let bytes = reader.stats().bytes;
        let kept = || self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, group)) = &*kept()
            && *known == bytes
        {
            return Ok(Some(group.clone()));
        }
        // Of a log elsewhere, Python's code reads: no lock is held meanwhile.
        let group = reader.group(index)?;
        *kept() = group.clone().map(|group| (bytes, group));
        Ok(group)
    }

    /// A group of the log. In the first `settled` ones nothing will change.
    fn group(
        &self,
        reader: &LogReader,
        settled: usize,
        index: usize,
    ) -> livebuf_log::Result<Option<Group>> {
        match index < settled {
            true => reader.group(index),
            false => self.tail(reader, index),
        }
    }

    /// Finds the least and the greatest value of a group's column, and remembers them.
    fn look(
        &self,
        path: &[String],
        group: usize,
        column: &livebuf::Column<'_, Checked>,
    ) -> livebuf::Result<()> {
        let known = self.spans().get(path).is_some_and(|spans| spans.contains_key(&group));
        if !known && let Some(span) = Span::of(column)? {
            let mut spans = self.spans();
            if spans.len() >= MOST_COLUMNS && !spans.contains_key(path) {
                spans.clear();
            }
            spans.entry(path.to_vec()).or_default().insert(group, span);
        }
        Ok(())
    }
}

/// Why work on a log did not happen.
enum Fault {
    Log(livebuf_log::Error),
    Closed,
    ReadOnly,
}

impl From<livebuf_log::Error> for Fault {
    fn from(error: livebuf_log::Error) -> Fault {
        Fault::Log(error)
    }
}

impl State {
    fn reader(&self) -> Result<&LogReader, Fault> {
        match self {
            State::Reads(reader) => Ok(reader),
            State::Writes(log) => Ok(log.reader()),
            State::Closed => Err(Fault::Closed),
        }
    }

    fn writer(&mut self) -> Result<&mut livebuf_log::Log, Fault> {
        match self {
            State::Writes(log) => Ok(log),
            State::Reads(_) => Err(Fault::ReadOnly),
            State::Closed => Err(Fault::Closed),
        }
    }
}

impl Log {
    /// Works on the log, without the interpreter's lock: no Python code may run meanwhile.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> Result<R, Fault> + Send,
    ) -> PyResult<R> {
        let done = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut state)
        });
        done.map_err(|fault| match fault {
            Fault::Log(failure) => error::log(py, &failure, &self.path),
            Fault::Closed => error::closed_log(py),
            Fault::ReadOnly => error::read_only_log(py),
        })
    }

    /// The log as it is now.
    fn snapshot(&self, py: Python<'_>) -> PyResult<LogReader> {
        self.with(py, |state| Ok(state.reader()?.clone()))
    }

    /// Reads of the log. It is locked only where this process adds rows, whose files run no Python
    /// code.
    fn read<R: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&LogReader) -> livebuf_log::Result<R> + Send + Sync,
    ) -> PyResult<R> {
        let reader = match self.with(py, |state| match state {
            State::Reads(reader) => Ok(Ok(Arc::clone(reader))),
            state => Ok(Err(work(state.reader()?)?)),
        })? {
            Ok(reader) => reader,
            Err(done) => return Ok(done),
        };
        py.detach(|| work(&reader)).map_err(|failure| error::log(py, &failure, &self.path))
    }

    fn length(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| Ok(state.reader()?.len()))
    }
}

/// A document that this library has just encoded.
fn encoded(bytes: &[u8]) -> Result<Doc<'_, Valid>, Fault> {
    let document = Doc::open(bytes).map_err(livebuf_log::Error::from)?;
    // SAFETY: the encoder made these bytes, in memory that nobody else has.
    Ok(unsafe { document.assume_valid() })
}

/// A row as plain objects, or as an object of a type.
fn to_python(
    py: Python<'_>,
    row: Value<'_, Checked>,
    decoder: Option<&Py<Decoder>>,
) -> PyResult<Py<PyAny>> {
    match decoder {
        Some(decoder) => Ok(decoder.try_borrow(py)?.value(py, &row)?.unbind()),
        None => Ok(decode::to_python(py, &row, None)?.unbind()),
    }
}

/// The longest pause between two tries to lock a log.
const PAUSE: Duration = Duration::from_millis(5);

/// Tries again while another process has the lock, for `timeout` seconds, or for ever.
fn waiting<R: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    path: &Path,
    open: impl Fn() -> livebuf_log::Result<R> + Send + Sync,
) -> PyResult<R> {
    let seconds = timeout.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)));
    let seconds = seconds.transpose().ok().flatten();
    let (start, mut pause) = (Instant::now(), Duration::from_micros(50));
    loop {
        let failure = match py.detach(&open) {
            Ok(opened) => return Ok(opened),
            Err(failure) => failure,
        };
        let is_over = seconds.is_some_and(|seconds| start.elapsed() >= seconds);
        if is_over || failure.kind() != livebuf_log::ErrorKind::Locked {
            return Err(error::log(py, &failure, path));
        }
        py.detach(|| std::thread::sleep(pause));
        py.check_signals()?;
        pause = (pause * 2).min(PAUSE);
    }
}

fn torn_pair(torn: Option<Torn>) -> Option<(u64, u64)> {
    torn.map(|torn| (torn.offset, torn.bytes))
}

#[pymethods]
impl Log {
    #[new]
    #[pyo3(
        signature = (
            path, mode="r", *, sync=false, default=None, r#type=None, timeout=0.0,
            compact_at=Some(16_384)
        ),
        text_signature = "(path, mode='r', *, sync=False, default=None, type=None, timeout=0.0, \
            compact_at=16384)"
    )]
    #[allow(clippy::too_many_arguments, reason = "options by their names")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        mode: &str,
        sync: bool,
        default: Option<Py<PyAny>>,
        r#type: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        compact_at: Option<u64>,
    ) -> PyResult<Log> {
        if !["r", "a", "x", "w"].contains(&mode) {
            let message = format!("mode must be \"r\", \"a\", \"x\" or \"w\", not {mode:?}");
            return Err(PyValueError::new_err(message));
        }
        let decoder = r#type.map(decoder::of).transpose()?;
        let state = waiting(py, timeout, &path, || {
            let options = LogOptions::new().sync(sync).compact_at(compact_at.unwrap_or(u64::MAX));
            let writes = |log| State::Writes(Box::new(log));
            match mode {
                "r" => LogReader::open(&path).map(|reader| State::Reads(Arc::new(reader))),
                "a" => options.open_or_create(&path).map(writes),
                "x" => options.create(&path).map(writes),
                _ => options.replace(&path).map(writes),
            }
        })?;
        if let State::Writes(log) = &state
            && let Some(dropped) = log.dropped()
        {
            let message = format!("{}: {dropped}", path.display());
            let message = std::ffi::CString::new(message)?;
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1)?;
        }
        Ok(Log {
            state: Mutex::new(state),
            found: Mutex::default(),
            path,
            mode: mode.to_owned(),
            default,
            decoder,
        })
    }

    /// Writes all rows of a damaged log that can be read to a new one in its place. Answers
    /// `rows`, the rows there are now; `lost_rows` and `lost_bytes`, as far as the rest tells; and `old`, the
    /// path of the damaged file, which is kept: `PATH.damaged`, or `PATH.damaged-2` and so on where
    /// files have such names. Rows after a gap get new numbers.
    ///
    /// Raises `DamagedError` where not even the file's header can be read, `BlockingIOError` while
    /// somebody adds rows, and `OSError`. Nothing is changed then.
    #[staticmethod]
    fn repair<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let repaired = py.detach(|| livebuf_log::repair(&path));
        let repaired = repaired.map_err(|failure| error::log(py, &failure, &path))?;
        let parts = (repaired.rows, repaired.lost_rows, repaired.lost_bytes, repaired.old);
        py.import("livebuf._files")?.getattr("Repaired")?.call1(parts)
    }

    /// Adds a row.
    ///
    /// Raises `EncodeError` where it cannot be stored, `OSError` where it cannot be written. The
    /// log is as before then.
    fn append(&self, py: Python<'_>, row: &Bound<'_, PyAny>) -> PyResult<()> {
        let default = self.default.as_ref().map(|default| default.clone_ref(py));
        let document = encode::document(row, default, Default::default())?;
        let bytes = document.as_bytes();
        self.with(py, |state| {
            let log = state.writer()?;
            log.append_document(encoded(bytes)?)?;
            Ok(())
        })
    }

    /// Adds rows: of any iterable, or from Arrow (`__arrow_c_stream__`). Answers how many.
    ///
    /// Rows are added up to 65,536 at a time. After an exception `len(log)` says how many were;
    /// of the others that were encoded with the one that is at fault, none was.
    fn extend(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<u64> {
        // First of all: an iterator must not be used up for nothing.
        self.with(py, |state| state.writer().map(drop))?;
        if rows.hasattr("__arrow_c_stream__")? {
            let document = table::imported(rows, ImportOptions::new())?;
            return self.with(py, |state| {
                let rows = document.valid().map_err(livebuf_log::Error::from)?;
                Ok(state.writer()?.extend_document(rows)?)
            });
        }
        let mut rows: Bound<'_, PyIterator> = rows.try_iter()?;
        let mut total = 0;
        loop {
            let room = self.with(py, |state| Ok(state.writer()?.room()))?;
            let default = self.default.as_ref().map(|default| default.clone_ref(py));
            let encode::Rows { document, count, more } =
                encode::rows(&mut rows, default, total, room, GROUP_BYTES)?;
            let bytes = document.as_bytes();
            if count > 0 {
                self.with(py, |state| {
                    state.writer()?.extend_document(encoded(bytes)?)?;
                    Ok(())
                })?;
            }
            total += count;
            if !more {
                return Ok(total as u64);
            }
        }
    }

    /// Waits until all rows are on the disk.
    ///
    /// Raises `OSError`. Then nobody knows what is on the disk, and the log takes no more rows.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| Ok(state.writer()?.sync()?))
    }

    /// Looks at what was written since by another process. Answers how many rows came.
    fn refresh(&self, py: Python<'_>) -> PyResult<u64> {
        loop {
            let before = self.with(py, |state| match state {
                State::Reads(reader) => Ok(Some(Arc::clone(reader))),
                State::Writes(_) => Ok(None),
                State::Closed => Err(Fault::Closed),
            })?;
            let Some(before) = before else { return Ok(0) };
            let mut reader = LogReader::clone(&before);
            let refreshed = py.detach(|| reader.refresh());
            let refreshed = refreshed.map_err(|failure| error::log(py, &failure, &self.path))?;
            let is_settled = self.with(py, |state| match state {
                State::Reads(now) if Arc::ptr_eq(now, &before) => {
                    *now = Arc::new(reader);
                    Ok(true)
                }
                State::Closed => Err(Fault::Closed),
                // Another thread was faster: what it saw may be newer.
                _ => Ok(false),
            })?;
            if is_settled {
                return Ok(refreshed.rows);
            }
        }
    }

    /// Writes the log anew, without the bytes of rows that were written twice. Rows keep their
    /// numbers. Readers see the new file after `refresh()`. Answers the bytes before and now.
    fn compact(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.with(py, |state| {
            let compacted = state.writer()?.compact()?;
            Ok((compacted.before, compacted.after))
        })
    }

    /// Waits until all rows are on the disk, and closes the file. Closing again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| match std::mem::replace(state, State::Closed) {
            State::Writes(log) => Ok(log.close()?),
            State::Reads(_) | State::Closed => Ok(()),
        })
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |state| Ok(matches!(state, State::Closed)))
    }

    /// The path that it was opened by.
    #[getter]
    fn name(&self) -> PathBuf {
        self.path.clone()
    }

    /// The mode that it was opened with.
    #[getter]
    fn mode(&self) -> &str {
        &self.mode
    }

    /// Offset and count of the bytes at the end that are no whole row: passed over, or cut off
    /// where rows are added. `None` where there are none.
    #[getter]
    fn torn(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        self.with(py, |state| match state {
            State::Writes(log) => Ok(torn_pair(log.dropped().map(|dropped| dropped.torn))),
            state => Ok(torn_pair(state.reader()?.torn())),
        })
    }

    /// Where the file's bytes go: rows, groups, bytes and others by their names.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats: Stats = self.with(py, |state| Ok(state.reader()?.stats()))?;
        let dict = PyDict::new(py);
        for (what, number) in stats.named() {
            dict.set_item(what, number)?;
        }
        Ok(dict)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.length(py)?)?)
    }

    /// A row by its number, or a list of rows by a slice.
    fn __getitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let length = self.length(py)?;
        let get = |row: u64| -> PyResult<Option<Py<PyAny>>> {
            let row = self.read(py, |reader| reader.get(row))?;
            let value = row.as_ref().and_then(|row| row.value());
            value.map(|value| to_python(py, value.checked(), self.decoder.as_ref())).transpose()
        };
        if let Ok(slice) = index.cast::<PySlice>() {
            let part = slice.indices(isize::try_from(length)?)?;
            let rows = PyList::empty(py);
            let mut at = part.start;
            for _ in 0..part.slicelength {
                if let Some(row) = get(at as u64)? {
                    rows.append(row)?;
                }
                at += part.step;
            }
            return Ok(rows.into_any().unbind());
        }
        let Ok(Index(given)) = index.extract() else {
            return Err(expected("a row's number or a slice", index));
        };
        let row = if given < 0 { given.checked_add_unsigned(length as usize) } else { Some(given) };
        let row = row.and_then(|row| u64::try_from(row).ok()).filter(|&row| row < length);
        let found = row.map(get).transpose()?.flatten();
        found.ok_or_else(|| error::row(py, error::digits(index), length))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.default)?;
        visit.call(&self.decoder)
    }

    /// The rows there are now, in order.
    fn __iter__(&self, py: Python<'_>) -> PyResult<LogRows> {
        self.rows(py, 0, None, None)
    }

    /// The rows from number `start` on, up to `stop`, in order.
    ///
    /// `skip_bad` takes a function. Damaged rows are then passed over, and it is called with the
    /// `DamagedError` of each, or of many that are damaged together.
    #[pyo3(signature = (start=0, stop=None, *, skip_bad=None))]
    fn rows(
        &self,
        py: Python<'_>,
        start: u64,
        stop: Option<u64>,
        skip_bad: Option<Py<PyAny>>,
    ) -> PyResult<LogRows> {
        if let Some(function) = &skip_bad
            && !function.bind(py).is_callable()
        {
            let function = function.bind(py);
            return Err(expected("a function for skip_bad, such as print,", function));
        }
        let reader = self.snapshot(py)?;
        let end = stop.unwrap_or(u64::MAX).min(reader.len());
        let decoder = self.decoder.as_ref().map(|decoder| decoder.clone_ref(py));
        let here = 0..0;
        Ok(LogRows {
            reader,
            decoder,
            skip_bad,
            rows: start..end,
            next: 0,
            here,
            group: None,
            tail: Vec::new().into_iter(),
        })
    }

    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("backwards")?.call1((slf,))
    }

    /// The number of the first row, from `start` up to `stop`, that equals a value, as a list's
    /// `index`. Raises `ValueError` where there is none.
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

    /// How many rows equal a value.
    fn count<'py>(
        slf: &Bound<'py, Self>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("count")?.call1((slf, value))
    }

    /// These columns only, in this order, for Arrow. A column is named by its key, by keys with
    /// dots between them (`"user.id"`) or by a tuple of keys. If any row has a key `"user.id"`, the
    /// text means that one, for which all rows are looked at once; the tuple `("user", "id")` always means keys within each other.
    fn select(&self, py: Python<'_>, columns: &Bound<'_, PyAny>) -> PyResult<LogColumns> {
        self.columns(py)?.select(py, columns)
    }

    /// The rows whose value in a column lies between two bounds, both included, for Arrow. The
    /// bounds are as those of `Column.filter`, the column is named as for `select`. Rows may have any
    /// order: the column is looked at in each group, which is read for it, and only such rows are
    /// exported. The log remembers the least and the greatest number, date, time or UUID of each group,
    /// so a later `between` reads only the groups that may have such rows.
    ///
    /// >>> import tempfile
    /// >>> log = livebuf.Log(tempfile.mkdtemp() + "/events.lblog", "x")
    /// >>> log.extend({"ts": n / 10, "kind": "tick"} for n in range(1000))
    /// 1000
    /// >>> livebuf.from_arrow(log.select(["ts"]).between("ts", 20, 20.2)).to_python()
    /// [{'ts': 20.0}, {'ts': 20.1}, {'ts': 20.2}]
    fn between(
        &self,
        py: Python<'_>,
        column: &Bound<'_, PyAny>,
        low: &Bound<'_, PyAny>,
        high: &Bound<'_, PyAny>,
    ) -> PyResult<LogColumns> {
        self.columns(py)?.between(py, column, low, high)
    }

    /// A `pandas.DataFrame` of the columns: as `Table.to_pandas`.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        table::frame(slf.as_any(), "to_pandas")
    }

    /// A `polars.DataFrame` of the columns.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        table::frame(slf.as_any(), "to_polars")
    }

    /// The same columns with other options for the export: as those of `Table.with_options`.
    #[pyo3(signature = (*, non_finite="error", numbers="raise", mixed="text"))]
    fn with_options(
        &self,
        py: Python<'_>,
        non_finite: &str,
        numbers: &str,
        mixed: &str,
    ) -> PyResult<LogColumns> {
        self.columns(py)?.with_options(non_finite, numbers, mixed)
    }

    /// The columns' names and their Arrow types in words. Reads the groups that no schema and no
    /// export of this `Log` has read yet: all of them at first.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.columns(py)?.schema(py)
    }

    /// The Arrow C stream (the PyCapsule interface), of the rows there are now. The log is read
    /// twice: for the columns' types, which are remembered, and for the rows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.columns(py)?.__arrow_c_stream__(py, requested_schema)
    }

    /// The Arrow C schema (the PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.columns(py)?.__arrow_c_schema__(py)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// A log elsewhere, by a `Ranges` of `_files.py`, to be read.
    #[staticmethod]
    fn _elsewhere(py: Python<'_>, source: Py<PyAny>, name: PathBuf) -> PyResult<Log> {
        let opened = py.detach(|| LogReader::elsewhere(Remote(source), &name));
        Ok(Log {
            state: Mutex::new(State::Reads(Arc::new(
                opened.map_err(|failure| error::log(py, &failure, &name))?,
            ))),
            found: Mutex::default(),
            path: name,
            mode: "r".to_owned(),
            default: None,
            decoder: None,
        })
    }

    /// The first row of each group, and the one behind its last: for `_sources.py`.
    fn _groups(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        let reader = self.snapshot(py)?;
        let rows = (0..).map_while(|index| reader.group_rows(index));
        Ok(rows.map(|rows| (rows.start, rows.end)).collect())
    }

    /// The document of a group's rows. It was not validated.
    fn _group(&self, py: Python<'_>, index: usize, trusted: bool) -> PyResult<view::Document> {
        let bytes = self.read(py, |reader| reader.group_bytes(index))?;
        match bytes {
            Some(bytes) => view::Document::open(Memory::copy(py, &bytes)?, trusted),
            None => Err(error::row(py, index as isize, self._groups(py)?.len() as u64)),
        }
    }

    /// What can be read of the rows of a damaged group, if they are behind the last full one: the
    /// first row of each part, the one behind its last, and a document or an error.
    fn _sound<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Vec<(u64, u64, Bound<'py, PyAny>)>> {
        let reader = self.snapshot(py)?;
        if index < reader.stats().groups as usize {
            return Ok(Vec::new());
        }
        let parts = py
            .detach(|| reader.sound_tail())
            .map_err(|failure| error::log(py, &failure, &self.path))?;
        let parts = parts.into_iter().map(|(rows, found)| {
            let found = match found {
                Ok(group) => {
                    let document = view::Document::owned(py, group.document())?;
                    Bound::new(py, document)?.into_any()
                }
                Err(failure) => {
                    let failure = error::log(py, &failure, &self.path);
                    failure.into_value(py).into_bound(py).into_any()
                }
            };
            Ok((rows.start, rows.end, found))
        });
        parts.collect()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.path.display();
        if self.closed(py)? {
            return Ok(format!("<livebuf.Log {name}, closed>"));
        }
        Ok(format!("<livebuf.Log {name} of {} rows>", self.length(py)?))
    }
}

impl Log {
    fn columns(&self, py: Python<'_>) -> PyResult<LogColumns> {
        self.with(py, |state| {
            let reader = state.reader()?.clone();
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            let identity = reader.identity();
            if found.identity != identity {
                *found = Arc::new(GroupsMet { identity, ..GroupsMet::default() });
            }
            // Groups stay as they are in this file.
            let found = (Arc::clone(&found), reader.stats().groups as usize);
            let (selected, options) = (None, ExportOptions::default());
            Ok(LogColumns { reader, found, selected, between: None, options })
        })
    }
}

/// Rows of a log, one by one, as plain Python objects or objects of a type.
#[pyclass(module = "livebuf")]
pub(crate) struct LogRows {
    reader: LogReader,
    decoder: Option<Py<Decoder>>,
    skip_bad: Option<Py<PyAny>>,
    /// The numbers of those to come.
    rows: Range<u64>,
    /// The group that comes next.
    next: usize,
    /// The rows of the group before that, and the group. `None` before the first one.
    here: Range<u64>,
    group: Option<Group>,
    /// The rest of what can be read behind the last whole group, where that is damaged.
    tail: std::vec::IntoIter<(Range<u64>, livebuf_log::Result<Group>)>,
}

impl LogRows {
    /// Opens the group of the next row.
    fn enter(&mut self, py: Python<'_>) -> PyResult<()> {
        for (rows, found) in self.tail.by_ref() {
            if rows.end > self.rows.start {
                return self.enter_rows(py, rows, found.map(Some));
            }
        }
        let (index, rows) = loop {
            let Some(rows) = self.reader.group_rows(self.next) else {
                self.rows.start = self.rows.end;
                return Ok(());
            };
            self.next += 1;
            if rows.end > self.rows.start {
                break (self.next - 1, rows);
            }
        };
        let reader = &self.reader;
        match py.detach(|| reader.group(index)) {
            // Rows of a frame are damaged together, and those of other frames are not.
            Err(_) if index as u64 >= reader.stats().groups => {
                let tail = py.detach(|| reader.sound_tail());
                let tail = tail.map_err(|failure| error::log(py, &failure, reader.path()))?;
                self.tail = tail.into_iter();
                Ok(())
            }
            found => self.enter_rows(py, rows, found),
        }
    }

    fn enter_rows(
        &mut self,
        py: Python<'_>,
        rows: Range<u64>,
        found: livebuf_log::Result<Option<Group>>,
    ) -> PyResult<()> {
        self.here = rows;
        match found {
            Ok(group) => self.group = group,
            Err(failure) => {
                self.rows.start = self.here.end.min(self.rows.end);
                self.bad(py, &failure)?;
            }
        }
        Ok(())
    }

    /// Tells of damage.
    fn bad(&self, py: Python<'_>, failure: &livebuf_log::Error) -> PyResult<()> {
        let failure = error::log(py, failure, self.reader.path());
        match &self.skip_bad {
            Some(function) => function.call1(py, (failure.into_value(py),)).map(drop),
            None => Err(failure),
        }
    }
}

#[pymethods]
impl LogRows {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.decoder)?;
        visit.call(&self.skip_bad)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        while !self.rows.is_empty() {
            let row = self.rows.start;
            if !self.here.contains(&row) {
                self.enter(py)?;
                continue;
            }
            self.rows.start += 1;
            let group = self.group.as_ref();
            let value = group.and_then(|group| group.get((row - self.here.start) as usize));
            return value
                .map(|value| to_python(py, value.checked(), self.decoder.as_ref()))
                .transpose();
        }
        Ok(None)
    }
}

/// The groups of a log, as documents for Arrow.
struct InLog {
    reader: LogReader,
    found: (Arc<GroupsMet>, usize),
    between: Option<Arc<(Vec<String>, Between)>>,
}

impl Documents for InLog {
    fn count(&self) -> usize {
        self.reader.group_count()
    }

    fn document(&self, index: usize) -> Result<Arc<dyn Document>, Refused> {
        match self.found.0.group(&self.reader, self.found.1, index)? {
            Some(group) => Ok(Arc::clone(group.document()) as Arc<dyn Document>),
            None => Err("no such group".into()),
        }
    }

    /// It is not validated: of a group without wanted rows nothing else is read, and to validate it
    /// would take longer than all the rest.
    fn document_for_schema(&self, index: usize) -> Result<Arc<dyn Document>, Refused> {
        if index >= self.found.1 {
            return self.document(index);
        }
        let bytes = self.reader.group_bytes(index)?.ok_or("no such group")?;
        if let Some((path, _)) = self.between.as_deref() {
            let root = Doc::open(&bytes)?.root();
            // What is wrong here is an error when the rows are read.
            let _ = named(&root, path.clone()).and_then(|keys| {
                with_column(&root, &keys, Rows::ALL, |column| {
                    Ok(self.found.0.look(path, index, &column)?)
                })
            });
        }
        Ok(Arc::new(bytes))
    }

    fn rows(
        &self,
        index: usize,
        document: &dyn Document,
    ) -> Result<Option<Vec<Range<usize>>>, Refused> {
        let Some((path, between)) = self.between.as_deref() else { return Ok(None) };
        let root = document.open()?.root();
        let found = match named(&root, path.clone()) {
            Ok(keys) => with_column(&root, &keys, Rows::ALL, |column| {
                if index < self.found.1 {
                    self.found.0.look(path, index, &column)?;
                }
                between.rows(&column)
            }),
            Err(error::Fault::Missing(_)) => Ok(Vec::new()),
            Err(fault) => Err(fault),
        };
        let rows = found.map_err(|fault| PyErr::from(fault).to_string())?;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for row in rows {
            match ranges.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => ranges.push(row..row + 1),
            }
        }
        Ok(Some(ranges))
    }

    fn has_no_rows(&self, index: usize) -> bool {
        let Some((path, between)) = self.between.as_deref() else { return false };
        let spans = self.found.0.spans();
        let span = spans.get(path).and_then(|spans| spans.get(&index));
        index < self.found.1 && span.is_some_and(|span| !between.meets(span))
    }
}

/// Columns of a log, for Arrow, polars, pyarrow, pandas and DuckDB: what `Log.select` and
/// `Log.between` give.
#[pyclass(frozen, module = "livebuf")]
#[derive(Clone)]
pub(crate) struct LogColumns {
    reader: LogReader,
    /// What was found in the first groups, and in how many of them nothing will change.
    found: (Arc<GroupsMet>, usize),
    selected: Option<Vec<Vec<String>>>,
    between: Option<Arc<(Vec<String>, Between)>>,
    options: ExportOptions,
}

impl LogColumns {
    fn joined(&self) -> Joined {
        let groups = InLog {
            reader: self.reader.clone(),
            found: self.found.clone(),
            between: self.between.clone(),
        };
        let joined = Joined::new(groups).options(self.options.clone());
        let joined = joined.remember(Arc::clone(&self.found.0.types), self.found.1);
        match &self.selected {
            Some(selected) => joined.select(selected.iter().cloned()),
            None => joined,
        }
    }

    /// Raises what is wrong with the group that an export could not have, of which it knows the
    /// text only.
    fn damage(&self, py: Python<'_>, failure: &livebuf_arrow::Error) -> PyResult<()> {
        if failure.kind() != livebuf_arrow::ErrorKind::Document {
            return Ok(());
        }
        for index in 0..self.reader.group_count() {
            py.detach(|| self.reader.group(index).map(drop))
                .map_err(|failure| error::log(py, &failure, self.reader.path()))?;
        }
        Ok(())
    }

    /// Raises `MissingKeyError` where rows are chosen by a column that none has.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let Some((path, _)) = self.between.as_deref() else { return Ok(()) };
        if self.found.0.spans().contains_key(path) {
            return Ok(());
        }
        let mut missing = None;
        for index in 0..self.reader.group_count() {
            let group = py.detach(|| self.reader.group_bytes(index));
            let group = group.map_err(|failure| error::log(py, &failure, self.reader.path()))?;
            let Some(group) = group else { break };
            let root = Doc::open(&group).map_err(error::Fault::Core)?.root();
            match named(&root, path.clone()) {
                Ok(_) => return Ok(()),
                Err(fault @ error::Fault::Missing(_)) => missing = Some(fault),
                Err(fault) => return Err(fault.into()),
            }
        }
        missing.map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The keys that a name in text stands for: itself, where any row has such a key.
    fn keys_in(&self, py: Python<'_>, name: String) -> PyResult<Vec<String>> {
        if !name.contains('.') {
            return Ok(vec![name]);
        }
        let (found, settled) = (&self.found.0, self.found.1);
        let absent = || found.absent.lock().unwrap_or_else(PoisonError::into_inner);
        let first = absent().get(&name).copied().unwrap_or(0);
        let whole = vec![name];
        for index in first..self.reader.group_count() {
            let group = py.detach(|| found.group(&self.reader, settled, index));
            let group = group.map_err(|failure| error::log(py, &failure, self.reader.path()))?;
            let Some(group) = group else { break };
            let root = group.document().open().map_err(error::Fault::Core)?.root();
            if export::has(&root, &whole)? {
                return Ok(whole);
            }
        }
        let mut absent = absent();
        if absent.len() >= MOST_COLUMNS {
            absent.clear();
        }
        absent.insert(whole[0].clone(), first.max(settled));
        Ok(whole[0].split('.').map(str::to_owned).collect())
    }
}

#[pymethods]
impl LogColumns {
    /// These columns only: as `Log.select`.
    fn select(&self, py: Python<'_>, columns: &Bound<'_, PyAny>) -> PyResult<LogColumns> {
        let selected = table::chosen(columns, |name| self.keys_in(py, name))?;
        Ok(LogColumns { selected: Some(selected), ..self.clone() })
    }

    /// The rows whose value in a column lies between two bounds, in place of an earlier such choice:
    /// as `Log.between`.
    fn between(
        &self,
        py: Python<'_>,
        column: &Bound<'_, PyAny>,
        low: &Bound<'_, PyAny>,
        high: &Bound<'_, PyAny>,
    ) -> PyResult<LogColumns> {
        let keys = table::keys_of(column, |name| self.keys_in(py, name))?;
        let between = (keys, Between::of(low, high)?);
        Ok(LogColumns { between: Some(Arc::new(between)), ..self.clone() })
    }

    /// A `pandas.DataFrame` of the columns: as `Table.to_pandas`.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        table::frame(slf.as_any(), "to_pandas")
    }

    /// A `polars.DataFrame` of the columns.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        table::frame(slf.as_any(), "to_polars")
    }

    /// The same columns with other options for the export: as those of `Table.with_options`.
    #[pyo3(signature = (*, non_finite="error", numbers="raise", mixed="text"))]
    fn with_options(&self, non_finite: &str, numbers: &str, mixed: &str) -> PyResult<LogColumns> {
        Ok(LogColumns { options: table::exact(numbers, mixed, non_finite)?, ..self.clone() })
    }

    /// The columns' names and their Arrow types in words: as `Log.schema`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = py.detach(|| self.joined().columns());
        columns.as_ref().err().map_or(Ok(()), |failure| self.damage(py, failure))?;
        table::schema_of(py, columns)
    }

    /// The Arrow C stream (the PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.check(py)?;
        let joined = table::requested(self.joined(), requested_schema, Joined::requested_schema)?;
        let stream = py.detach(|| joined.stream());
        stream.as_ref().err().map_or(Ok(()), |failure| self.damage(py, failure))?;
        table::stream_capsule(py, || stream)
    }

    /// The Arrow C schema (the PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = py.detach(|| self.joined().schema());
        schema.as_ref().err().map_or(Ok(()), |failure| self.damage(py, failure))?;
        table::schema_capsule(py, || schema)
    }
}
