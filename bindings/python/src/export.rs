//! Buffers (PEP 3118) on a document's memory. While one lives, edits are refused.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::CStr;
use std::os::raw::{c_int, c_void};
use std::sync::atomic::Ordering;

use livebuf::{Checked, ColumnType, Encoder, Extended, Tensor, Value};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};

use crate::decode;
use crate::error::{self, Fault, Held};
use crate::view::{Columnar, Document};

/// All used bytes, read-only.
pub(crate) fn document(
    owner: &Bound<'_, Document>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let py = owner.py();
    let state = owner.get().lock(py)?;
    state.outside_transactions()?;
    let bytes = state.all_bytes()?;
    // SAFETY: the caller passes a structure to fill. The bytes stay in place until the count of
    // exports is lowered again. It is raised under the same lock.
    let filled = unsafe {
        let start = bytes.as_ptr().cast_mut().cast::<c_void>();
        let length = bytes.len() as ffi::Py_ssize_t;
        ffi::PyBuffer_FillInfo(view, owner.as_ptr(), start, length, 1, flags)
    };
    if filled != 0 {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: as above.
    unsafe { (*view).internal = std::ptr::null_mut() };
    owner.get().exports().fetch_add(1, Ordering::AcqRel);
    Ok(())
}

/// Releases what [`document`] or [`numbers`] filled.
pub(crate) fn release(document: &Document, view: *mut ffi::Py_buffer) {
    // SAFETY: the structure was filled here, and has what was put into it.
    unsafe {
        let internal = (*view).internal.cast::<Layout>();
        if !internal.is_null() {
            drop(Box::from_raw(internal));
        }
    }
    document.end_export();
}

/// What a buffer's pointers to its shape and strides point at.
struct Layout {
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
}

impl Layout {
    /// Of numbers of `size` bytes, those of the last dimension next to each other.
    fn new(lengths: &[usize], size: usize) -> Layout {
        let shape = lengths.iter().map(|&length| length as ffi::Py_ssize_t).collect();
        let mut stride = size;
        let strides = lengths.iter().rev().map(|&length| {
            // Where there are no numbers, lengths may be anything.
            let next = stride.saturating_mul(length.max(1));
            std::mem::replace(&mut stride, next).min(isize::MAX as usize) as ffi::Py_ssize_t
        });
        let mut strides: Vec<_> = strides.collect();
        strides.reverse();
        Layout { shape, strides }
    }
}

/// Rows of an array: from the first up to, without, the last; cut to those there are.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) start: usize,
    pub(crate) stop: usize,
}

impl Rows {
    pub(crate) const ALL: Rows = Rows { start: 0, stop: usize::MAX };

    /// How many of `length` rows these are.
    pub(crate) fn count(self, length: usize) -> usize {
        self.stop.min(length).saturating_sub(self.start)
    }

    /// Those of these rows that lie in `part`, whose numbers begin at the first of these.
    pub(crate) fn part(self, part: std::ops::Range<usize>) -> Rows {
        let place = |row: usize| self.start.saturating_add(row).min(self.stop);
        Rows { start: place(part.start), stop: place(part.end) }
    }
}

/// Numbers of one type in a document's memory: an array, or a column of its table.
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Numbers {
    source: Columnar,
    path: Vec<String>,
    rows: Rows,
    writable: bool,
    /// Whether rows may lack a value: their numbers are then 0.
    gaps: bool,
}

/// Where numbers lie in memory.
struct Slots {
    start: *const u8,
    /// The length of each dimension: of a column one.
    shape: Vec<usize>,
    size: usize,
    format: &'static CStr,
}

impl Slots {
    fn of<T>(slots: &[T], format: &'static CStr) -> Slots {
        let (start, shape) = (slots.as_ptr().cast(), vec![slots.len()]);
        Slots { start, shape, size: size_of::<T>(), format }
    }

    /// In bytes.
    fn length(&self) -> usize {
        self.shape.iter().product::<usize>() * self.size
    }

    /// A copy, and what numpy makes of it.
    fn copied(self, then: Then) -> Copied {
        // SAFETY: the numbers lie there, of types without padding, and the caller holds the lock.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.length()) };
        Copied::Stored { bytes: bytes.to_vec(), format: self.format, shape: self.shape, then }
    }
}

/// The memory of a tensor. `None` where it does not lie aligned, or a boolean is neither 0 nor 1.
fn tensor(tensor: &Tensor<'_>) -> Option<Slots> {
    let (size, format) = match tensor.column_type() {
        ColumnType::Bool8 => (1, c"?"),
        ColumnType::I8 => (1, c"b"),
        ColumnType::I16 => (2, c"h"),
        ColumnType::I32 => (4, c"i"),
        ColumnType::I64 => (8, c"q"),
        ColumnType::U8 => (1, c"B"),
        ColumnType::U16 => (2, c"H"),
        ColumnType::U32 => (4, c"I"),
        ColumnType::U64 => (8, c"Q"),
        ColumnType::F16 => (2, c"e"),
        ColumnType::F32 => (4, c"f"),
        ColumnType::F64 => (8, c"d"),
        _ => return None,
    };
    let bytes = tensor.as_bytes();
    let known = tensor.column_type() != ColumnType::Bool8 || bytes.iter().all(|&byte| byte <= 1);
    let aligned = bytes.as_ptr().addr().is_multiple_of(size);
    let shape = tensor.shape().iter().map(|&length| length as usize).collect();
    (known && aligned).then_some(Slots { start: bytes.as_ptr(), shape, size, format })
}

/// The elements of an array, or the values of an object, as a column. `None` for an object whose
/// values do not lie so, or of which a member was removed since: rows would not be members.
pub(crate) fn values<'a>(value: &Value<'a, Checked>) -> Held<Option<livebuf::Column<'a, Checked>>> {
    if let Some(array) = value.as_array()? {
        return Ok(Some(array.as_column()));
    }
    let object = value.as_object()?.ok_or(Fault::Stale("it is no container any more"))?;
    // A removed member left a row.
    Ok(object.as_column()?.filter(|column| column.len() == object.len()))
}

/// A column of a value's table that lies in the document as one; the value itself as a column
/// where the path is empty. `None` for one whose values lie elsewhere, and for what is no column.
fn in_place<'a>(
    value: &Value<'a, Checked>,
    path: &[String],
) -> Held<Option<livebuf::Column<'a, Checked>>> {
    let values = values(value)?;
    if path.is_empty() {
        return Ok(values);
    }
    if let Some(table) = values.map(|values| values.table()).transpose()?.flatten() {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        if let Some(column) = table.column(keys.as_slice())? {
            return Ok(Some(column));
        }
    }
    match (value.as_object()?, values) {
        (Some(object), Some(_)) if is_key(value, path)? => Ok(object.keys_as_column()?),
        _ => Ok(None),
    }
}

/// Whether a path names the column of an object's keys.
fn is_key(value: &Value<'_, Checked>, path: &[String]) -> Held<bool> {
    let [name] = path else { return Ok(false) };
    if value.as_object()?.is_none() || !name.ends_with("key") {
        return Ok(false);
    }
    let failed = Cell::new(None);
    let key = livebuf_arrow::key_name(|name| {
        has(value, &[name.to_owned()]).unwrap_or_else(|fault| {
            failed.set(Some(fault));
            false
        })
    });
    failed.into_inner().map_or(Ok(key == *name), Err)
}

/// Calls `look` with each row of a value from one on: an element, or a member with its key. It
/// answers whether it wants more.
fn each_row<'a>(
    value: &Value<'a, Checked>,
    first: usize,
    mut look: impl FnMut(Option<&'a str>, Value<'a, Checked>) -> Held<bool>,
) -> Held<()> {
    if let Some(array) = value.as_array()? {
        for row in first..array.len() {
            let Some(value) = array.get(row)? else { break };
            if !look(None, value)? {
                break;
            }
        }
        return Ok(());
    }
    let object = value.as_object()?.ok_or(Fault::Stale("it is no container any more"))?;
    for member in object.iter().skip(first) {
        let (key, value) = member?;
        if !look(Some(key), value)? {
            break;
        }
    }
    Ok(())
}

/// What keys lead to from a row.
fn below<'a>(row: Value<'a, Checked>, path: &[String]) -> Held<Option<Value<'a, Checked>>> {
    let mut value = row;
    for key in path {
        match value.as_object()?.map(|object| object.get(key.as_str())).transpose()?.flatten() {
            Some(below) => value = below,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// Whether any row has what keys lead to.
pub(crate) fn has(value: &Value<'_, Checked>, path: &[String]) -> Held<bool> {
    if let Some(table) = values(value)?.map(|values| values.table()).transpose()?.flatten() {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        if table.column(keys.as_slice())?.is_some() {
            return Ok(true);
        }
        if path.len() == 1 && !table.has_further_fields() {
            return Ok(false);
        }
    }
    let mut found = false;
    each_row(value, 0, |_, row| {
        found = below(row, path)?.is_some();
        Ok(!found)
    })?;
    Ok(found)
}

/// Name of the one column of an array that holds other things than objects. Arrow exports use it,
/// too.
const VALUES: &str = "value";

/// The names of a value's columns, those of Arrow exports.
pub(crate) fn names(value: &Value<'_, Checked>) -> Held<Vec<String>> {
    let (mut names, mut known) = (Vec::new(), HashSet::new());
    let mut add = |name: &str| {
        if !known.contains(name) {
            known.insert(name.to_owned());
            names.push(name.to_owned());
        }
    };
    let table = values(value)?.map(|values| values.table()).transpose()?.flatten();
    let mut is_values = false;
    if let Some(table) = &table {
        for column in table.columns() {
            add(column?.0);
        }
    }
    if table.is_none_or(|table| table.has_further_fields()) {
        each_row(value, 0, |_, row| {
            let Some(object) = row.as_object()? else {
                is_values = !row.is_null();
                return Ok(!is_values);
            };
            for key in object.keys() {
                add(key?);
            }
            Ok(true)
        })?;
    }
    if is_values {
        names = vec![VALUES.to_owned()];
    }
    if value.as_object()?.is_some() {
        let key = livebuf_arrow::key_name(|name| names.iter().any(|known| known == name));
        names.insert(0, key);
    }
    Ok(names)
}

/// The path of a column that the caller named: an empty one for the values themselves. An error
/// where no row has it.
pub(crate) fn named(value: &Value<'_, Checked>, path: Vec<String>) -> Held<Vec<String>> {
    if has(value, &path)? || is_key(value, &path)? {
        return Ok(path);
    }
    let is_empty = value.len()?.unwrap_or(0) == 0;
    if is_empty {
        return Ok(path);
    }
    let names = names(value)?;
    match path.as_slice() {
        [name] if name == VALUES && names.contains(name) => Ok(Vec::new()),
        _ => Err(missing_column(&path, names)),
    }
}

/// Calls `look` with some rows of a column. Values that do not lie in the document as a column are
/// put together for it.
pub(crate) fn with_column<R>(
    value: &Value<'_, Checked>,
    path: &[String],
    rows: Rows,
    look: impl FnOnce(livebuf::Column<'_, Checked>) -> Held<R>,
) -> Held<R> {
    let (mut look, mut seen) = (Some(look), None);
    look_at_column(value, path, rows, &mut |column| {
        seen = look.take().map(|look| look(column)).transpose()?;
        Ok(())
    })?;
    seen.ok_or(Fault::Stale("the column was not read"))
}

/// The same, once for all kinds of results, since it is long.
fn look_at_column(
    value: &Value<'_, Checked>,
    path: &[String],
    rows: Rows,
    look: &mut dyn FnMut(livebuf::Column<'_, Checked>) -> Held<()>,
) -> Held<()> {
    if let Some(column) = in_place(value, path)? {
        return look(column.slice(rows.start..rows.stop));
    }
    let mut left = rows.count(value.len()?.unwrap_or(0));
    let is_key = is_key(value, path)?;
    let mut encoder = Encoder::new();
    encoder.begin_array()?;
    if left > 0 {
        each_row(value, rows.start, |key, row| {
            match (key, is_key) {
                (Some(key), true) => encoder.str(key)?,
                _ => match below(row, path)? {
                    Some(value) => encoder.value(&value)?,
                    None => encoder.null()?,
                },
            }
            left -= 1;
            Ok(left > 0)
        })?;
    }
    encoder.end_array()?;
    let gathered = encoder.finish()?;
    let document = gathered.doc();
    let array = document.root().as_array()?.ok_or(Fault::Stale("it is no container any more"))?;
    look(array.as_column())
}

fn missing_column(path: &[String], names: Vec<String>) -> Fault {
    let (path, names) = (path.join("/"), names[..names.len().min(20)].join(", "));
    Fault::Missing(format!("the table has no column {path:?}; its columns are {names}"))
}

/// The memory of a column of numbers of one type, if no value is missing or `gaps` may be.
fn slots(column: &livebuf::Column<'_, Checked>, gaps: bool) -> Held<Option<Slots>> {
    Ok(match column.tensor()? {
        Some(found) => tensor(&found),
        None => numbers_of(column, gaps),
    })
}

/// Tensors of one type and shape that lie one by one, as one array.
fn tensors(column: &livebuf::Column<'_, Checked>) -> Held<Option<Copied>> {
    let (mut bytes, mut first) = (Vec::new(), None::<Slots>);
    for value in column.iter() {
        let array = value?.map(|value| value.as_array()).transpose()?.flatten();
        let Some(found) = array.map(|array| array.tensor()).transpose()?.flatten() else {
            return Ok(None);
        };
        let Some(slots) = tensor(&found) else { return Ok(None) };
        bytes.extend_from_slice(found.as_bytes());
        match &first {
            Some(known) if (known.format, &known.shape) != (slots.format, &slots.shape) => {
                return Ok(None);
            }
            Some(_) => {}
            None => first = Some(slots),
        }
    }
    Ok(first.map(|Slots { format, mut shape, .. }| {
        shape.insert(0, column.len());
        Copied::Stored { bytes, format, shape, then: Then::Keep }
    }))
}

fn numbers_of(column: &livebuf::Column<'_, Checked>, gaps: bool) -> Option<Slots> {
    if !column.is_complete() && !gaps {
        return None;
    }
    if let Some(days) = column.days() {
        return Some(Slots::of(days, c"i"));
    }
    if let Some(microseconds) = column.microseconds() {
        return Some(Slots::of(microseconds, c"q"));
    }
    macro_rules! of {
        ($($kind:ident $type:ty, $format:literal;)+) => {
            match column.column_type() {
                $(ColumnType::$kind => Some(Slots::of(column.slots::<$type>()?, $format)),)+
                _ => None,
            }
        };
    }
    of! {
        I8 i8, c"b"; I16 i16, c"h"; I32 i32, c"i"; I64 i64, c"q";
        U8 u8, c"B"; U16 u16, c"H"; U32 u32, c"I"; U64 u64, c"Q";
        F32 f32, c"f"; NumbersF32 f32, c"f"; MarkedF32 f32, c"f";
        F64 f64, c"d"; NumbersF64 f64, c"d"; MarkedF64 f64, c"d";
    }
}

/// Values of a column, where they are not numbers in memory; 0 for those that are missing.
enum Copied {
    Nothing,
    /// Numbers as they are stored.
    Stored {
        bytes: Vec<u8>,
        format: &'static CStr,
        shape: Vec<usize>,
        then: Then,
    },
    Booleans(Vec<u8>),
    Integers(Vec<i64>),
    Unsigned(Vec<u64>),
    Floats(Vec<f64>),
    /// Dates and times, by their type in numpy.
    Moments(Vec<i64>, &'static str),
    /// No type of numpy holds them, or none that this makes.
    Other,
    /// A float would round an integer among them.
    Rounded,
}

/// A column's values, unless only the mask is wanted, and its mask: 1 for each row without a value.
fn copied(column: &livebuf::Column<'_, Checked>, only_mask: bool) -> Held<(Copied, Vec<u8>)> {
    use livebuf::Kind;
    let mut mask = Vec::with_capacity(column.len());
    let (mut kinds, mut unit) = (0u8, None);
    const BOOLEAN: u8 = 1;
    const INTEGER: u8 = 2;
    const FLOAT: u8 = 4;
    const MOMENT: u8 = 8;
    const OTHER: u8 = 16;
    let (mut integers, mut floats) = (Vec::new(), Vec::new());
    for value in column.iter() {
        let value = value?.filter(|value| !value.is_null());
        mask.push(u8::from(value.is_none()));
        if only_mask {
            continue;
        }
        let (mut integer, mut float) = (0i128, 0.0);
        if let Some(value) = value {
            kinds |= match value.kind() {
                Kind::Bool => {
                    integer = i128::from(value.as_bool() == Some(true));
                    BOOLEAN
                }
                Kind::Int | Kind::Uint => {
                    let found = value.as_i64().map(i128::from);
                    integer = found.or(value.as_u64().map(i128::from)).unwrap_or(0);
                    INTEGER
                }
                Kind::Float => {
                    float = value.as_f64().unwrap_or(0.0);
                    FLOAT
                }
                Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp => {
                    let (ticks, of) = match value.as_extended()? {
                        Some(Extended::Date(date)) => (date.days().into(), ColumnType::Date),
                        Some(Extended::Time(time)) => (time.microseconds(), ColumnType::Time),
                        Some(Extended::DateTime(at)) => (at.microseconds(), ColumnType::DateTime),
                        Some(Extended::Timestamp(at)) => (at.microseconds(), ColumnType::Timestamp),
                        _ => (0, ColumnType::Cells),
                    };
                    integer = ticks.into();
                    match unit.replace(of) {
                        Some(other) if other != of => OTHER,
                        _ => MOMENT,
                    }
                }
                _ => OTHER,
            };
        }
        if kinds & OTHER != 0 {
            return Ok((Copied::Other, Vec::new()));
        }
        integers.push(integer);
        floats.push(float);
    }
    let signed = || integers.iter().map(|&integer| i64::try_from(integer)).collect();
    let values = match kinds {
        _ if only_mask => Copied::Nothing,
        BOOLEAN => Copied::Booleans(integers.iter().map(|&integer| integer as u8).collect()),
        INTEGER => match signed() {
            Ok(integers) => Copied::Integers(integers),
            Err(_) => {
                let unsigned = integers.iter().map(|&integer| u64::try_from(integer));
                unsigned.collect::<Result<_, _>>().map_or(Copied::Rounded, Copied::Unsigned)
            }
        },
        0 | FLOAT => Copied::Floats(floats),
        kinds if kinds == INTEGER | FLOAT => {
            let is_exact = |&integer: &i128| integer as f64 as i128 == integer;
            match integers.iter().all(is_exact) {
                true => {
                    let mixed = floats.iter_mut().zip(&integers);
                    let mixed = mixed.filter(|(_, integer)| **integer != 0);
                    mixed.for_each(|(float, &integer)| *float = integer as f64);
                    Copied::Floats(floats)
                }
                false => Copied::Rounded,
            }
        }
        MOMENT => match (unit.and_then(self::unit), signed()) {
            (Some((unit, _)), Ok(ticks)) => Copied::Moments(ticks, unit),
            _ => Copied::Other,
        },
        _ => Copied::Other,
    };
    Ok((values, mask))
}

impl Copied {
    fn array<'py>(self, numpy: &Bound<'py, PyModule>) -> PyResult<Made<'py>> {
        Ok(Made::Copy(match self {
            Copied::Nothing => numpy.call_method1("empty", (0,))?,
            Copied::Stored { bytes, format, shape, then } => {
                let flat = of_bytes(numpy, &bytes, &format.to_string_lossy())?;
                then.done(flat.call_method1("reshape", (shape,))?)?
            }
            Copied::Booleans(values) => of_bytes(numpy, &values, "?")?,
            Copied::Integers(values) => {
                of_bytes(numpy, &bytes_of(&values, i64::to_le_bytes), "<i8")?
            }
            Copied::Unsigned(values) => {
                of_bytes(numpy, &bytes_of(&values, u64::to_le_bytes), "<u8")?
            }
            Copied::Floats(values) => of_bytes(numpy, &bytes_of(&values, f64::to_le_bytes), "<f8")?,
            Copied::Moments(values, unit) => {
                of_bytes(numpy, &bytes_of(&values, i64::to_le_bytes), "<i8")?
                    .call_method1("view", (unit,))?
            }
            Copied::Rounded => return Ok(Made::Rounded),
            Copied::Other => return Ok(Made::Other),
        }))
    }
}

/// An array of numpy, or why there is none.
enum Made<'py> {
    /// On the document's memory.
    There(Bound<'py, PyAny>),
    Copy(Bound<'py, PyAny>),
    /// This row has no value.
    Null(usize),
    /// A float would round an integer.
    Rounded,
    /// Numpy has no type for the values.
    Other,
}

impl<'py> Made<'py> {
    fn array(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let message = match self {
            Made::There(array) | Made::Copy(array) => return Ok(array),
            Made::Null(row) => format!(
                "row {row} has no value, and an array of numpy has no place for that; masked=True \
                 gives a masked array"
            ),
            Made::Rounded => "no type of numpy holds all of these numbers: floats would round the \
                              integers among them; to_python() gives a list of the exact values"
                .to_owned(),
            Made::Other => "only arrays and columns of numbers, booleans, dates or times become \
                            arrays of numpy; to_python() gives a list of the values"
                .to_owned(),
        };
        Err(error::wrong_type(py, message))
    }
}

fn bytes_of<T: Copy>(values: &[T], bytes: impl Fn(T) -> [u8; 8]) -> Vec<u8> {
    values.iter().flat_map(|&value| bytes(value)).collect()
}

fn of_bytes<'py>(
    numpy: &Bound<'py, PyModule>,
    bytes: &[u8],
    dtype: &str,
) -> PyResult<Bound<'py, PyAny>> {
    numpy.call_method1("frombuffer", (PyByteArray::new(numpy.py(), bytes), dtype))
}

/// What the numbers of a column of dates or times are to numpy: its type, and whether it has as
/// many bytes.
fn unit(column: ColumnType) -> Option<(&'static str, bool)> {
    match column {
        ColumnType::Date => Some(("datetime64[D]", false)),
        ColumnType::DateTime | ColumnType::Timestamp => Some(("datetime64[us]", true)),
        ColumnType::Time => Some(("timedelta64[us]", true)),
        _ => None,
    }
}

/// Fills a buffer with a column's numbers.
pub(crate) fn numbers(
    py: Python<'_>,
    owner: &Bound<'_, PyAny>,
    numbers: &Numbers,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let fortran = flags & ffi::PyBUF_F_CONTIGUOUS == ffi::PyBUF_F_CONTIGUOUS;
    if flags & ffi::PyBUF_WRITABLE != 0 && !numbers.writable {
        return Err(PyBufferError::new_err("the buffer is read-only"));
    }
    let view_of_array = numbers.source.view();
    view_of_array.reach(py, |document, state, _| {
        let document = document.get();
        if numbers.writable {
            document.begin_edit(py, state)?;
            if !livebuf::Storage::is_writable(state.editor()?.storage()) {
                return Err(livebuf::Error::new(livebuf::ErrorKind::ReadOnly, 0).into());
            }
        }
        // Found again, since the beginning of the edit may have moved the document.
        let node = view_of_array.node(py, state)?;
        let value = state.editor()?.value(node)?;
        let column = in_place(&value, &numbers.path)?
            .map(|column| column.slice(numbers.rows.start..numbers.rows.stop));
        let slots = column.as_ref().map(|column| slots(column, numbers.gaps)).transpose()?;
        let (Some(column), Some(slots)) = (column, slots.flatten()) else {
            let message = "memoryview() and numpy(narrow=True, writable=True) take tensors, and numbers, \
                           dates or times of one type, without null, of more than a few rows; numpy() \
                           takes others, too";
            return Err(PyBufferError::new_err(message).into());
        };
        if fortran && slots.shape.iter().filter(|&&length| length != 1).count() > 1 {
            let message = "the numbers are in C order, not in Fortran's";
            return Err(PyBufferError::new_err(message).into());
        }
        if numbers.writable && unit(column.column_type()).is_some() {
            let message = "dates and times cannot be written through numpy, since not every \
                           number is one; assign them";
            return Err(PyBufferError::new_err(message).into());
        }
        state.outside_transactions()?;
        if numbers.writable {
            state.lent = true;
            state.editor()?.storage().lend(slots.start, slots.length());
        }
        // A consumer that asks for no shape takes the numbers as a run of bytes, which they are.
        let dimensions = if flags & ffi::PyBUF_ND == 0 { 1 } else { slots.shape.len() };
        let layout = Box::into_raw(Box::new(Layout::new(&slots.shape, slots.size)));
        // SAFETY: the caller passes a structure to fill. Memory and layout stay until the
        // buffer is released.
        unsafe {
            (*view).buf = slots.start.cast_mut().cast();
            (*view).len = slots.length() as ffi::Py_ssize_t;
            (*view).itemsize = slots.size as ffi::Py_ssize_t;
            (*view).readonly = c_int::from(!numbers.writable);
            (*view).ndim = dimensions as c_int;
            (*view).format = match flags & ffi::PyBUF_FORMAT {
                0 => std::ptr::null_mut(),
                _ => slots.format.as_ptr().cast_mut(),
            };
            (*view).shape = match flags & ffi::PyBUF_ND {
                0 => std::ptr::null_mut(),
                _ => (*layout).shape.as_mut_ptr(),
            };
            (*view).strides = match flags & ffi::PyBUF_STRIDES {
                ffi::PyBUF_STRIDES => (*layout).strides.as_mut_ptr(),
                _ => std::ptr::null_mut(),
            };
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = layout.cast();
            (*view).obj = owner.clone().into_ptr();
        }
        document.exports().fetch_add(1, Ordering::AcqRel);
        Ok(())
    })
}

/// What an array of numpy is to be.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wish {
    pub(crate) copy: bool,
    pub(crate) writable: bool,
    pub(crate) masked: bool,
    pub(crate) narrow: bool,
    /// On the document's memory wherever that has them as wide. Without it numbers are copied even where
    /// they need not be, so that it never depends on the values whether an array keeps the document from
    /// being edited.
    pub(crate) shares: bool,
}

/// What numpy is to make of an array on the stored numbers.
enum Then {
    Keep,
    /// The same bytes as another type.
    View(&'static str),
    /// A copy of this type.
    Cast(&'static str),
    Copy,
}

impl Then {
    fn done<'py>(&self, array: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Then::Keep => Ok(array),
            Then::View(dtype) => array.call_method1("view", (dtype,)),
            // Copies, if it is of this type, too.
            Then::Cast(dtype) => array.call_method1("astype", (dtype,)),
            Then::Copy => array.call_method0("copy"),
        }
    }

    /// Numbers become as wide as in exports to Arrow, unless they are those of tensors.
    fn of(column: &livebuf::Column<'_, Checked>, wish: Wish) -> Held<Then> {
        use ColumnType::{F32, I8, I16, I32, MarkedF32, NumbersF32, U8, U16, U32, U64};
        if let Some((unit, is_as_wide)) = unit(column.column_type()) {
            return Ok(if is_as_wide { Then::View(unit) } else { Then::Cast(unit) });
        }
        if wish.narrow || column.tensor()?.is_some() {
            return Ok(Then::Keep);
        }
        let fits = |slot: &u64| i64::try_from(*slot).is_ok();
        Ok(match column.column_type() {
            I8 | I16 | I32 | U8 | U16 | U32 => Then::Cast("int64"),
            U64 if column.slots::<u64>().is_some_and(|slots| slots.iter().all(fits)) => {
                if wish.shares { Then::View("int64") } else { Then::Cast("int64") }
            }
            F32 | NumbersF32 | MarkedF32 => Then::Cast("float64"),
            _ if wish.shares => Then::Keep,
            _ => Then::Copy,
        })
    }
}

impl Numbers {
    pub(crate) fn new(source: Columnar, path: Vec<String>, rows: Rows) -> Numbers {
        Numbers { source, path, rows, writable: false, gaps: false }
    }

    /// A numpy array as the caller wishes.
    pub(crate) fn array<'py>(self, py: Python<'py>, wish: Wish) -> PyResult<Bound<'py, PyAny>> {
        if wish.masked && wish.writable {
            let message = "a masked array cannot be writable: assign values, or None";
            return Err(PyValueError::new_err(message));
        }
        let writes = wish.writable && !wish.copy;
        if writes && !wish.narrow && self.is_narrowed(py)? {
            let message = "numbers are written by the type that they are stored by, which may be \
                           as narrow as 8 bits: give narrow=True, too";
            return Err(PyValueError::new_err(message));
        }
        if writes {
            return match self.stored(py, wish) {
                Err(failure) if failure.is_instance_of::<PyBufferError>(py) => {
                    Err(error::wrong_type(py, failure.value(py).to_string()))
                }
                made => made?.array(py),
            };
        }
        self.made(py, wish)?.array(py)
    }

    /// For numpy, which asks for an array of a type, and whether to copy. Values that numpy has
    /// no type for are what it makes of a list.
    pub(crate) fn for_numpy<'py>(
        self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
        list: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (copies, shares) = (copy == Some(true), copy == Some(false));
        let wish = Wish { copy: copies, shares, ..Wish::default() };
        let made = match self.made(py, wish)? {
            Made::There(array) => {
                let is_as_asked = dtype.map_or(Ok(true), |dtype| array.getattr("dtype")?.eq(dtype));
                if is_as_asked? {
                    return Ok(array);
                }
                Some(array)
            }
            Made::Copy(array) => Some(array),
            // A caller who names a type has said what becomes of the numbers.
            Made::Rounded if dtype.is_none() => return Made::Rounded.array(py),
            Made::Null(_) | Made::Rounded | Made::Other => None,
        };
        if copy == Some(false) {
            let message = "the numbers are not stored as this array has them, so it is a copy; \
                           numpy(narrow=True) gives them as they are stored";
            return Err(PyValueError::new_err(message));
        }
        match (made, dtype) {
            (Some(array), None) => Ok(array),
            (Some(array), Some(dtype)) => array.call_method1("astype", (dtype,)),
            (None, dtype) => py.import("numpy")?.call_method1("array", (list()?, dtype)),
        }
    }

    /// A `memoryview` of the numbers as they are stored.
    pub(crate) fn memoryview<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let exporter = Bound::new(py, self)?;
        Ok(pyo3::types::PyMemoryView::from(exporter.as_any())?.into_any())
    }

    /// Whether the values lie in the document as a column.
    pub(crate) fn are_in_place(&self, py: Python<'_>) -> PyResult<bool> {
        self.source.view().read(py, |value| Ok(in_place(value, &self.path)?.is_some()))
    }

    /// Whether values have their width from the numbers that there are. Dates and times do not.
    fn is_narrowed(&self, py: Python<'_>) -> PyResult<bool> {
        let view = self.source.view();
        view.read(py, |value| {
            with_column(value, &self.path, self.rows, |column| {
                Ok(unit(column.column_type()).is_none() && column.tensor()?.is_none())
            })
        })
    }

    fn is_tensor(&self, py: Python<'_>) -> PyResult<bool> {
        let view = self.source.view();
        view.read(py, |value| {
            with_column(value, &self.path, self.rows, |column| Ok(column.tensor()?.is_some()))
        })
    }

    /// A numpy array by the kind of the values, masked if that is wished.
    fn made<'py>(self, py: Python<'py>, wish: Wish) -> PyResult<Made<'py>> {
        let (source, path) = (self.source.clone_ref(py), self.path.clone());
        let rows = self.rows;
        let on_memory = Numbers { gaps: wish.masked, ..self }.stored(py, wish);
        let on_memory = match on_memory {
            Err(failure) if failure.is_instance_of::<PyBufferError>(py) => None,
            made if !wish.masked => return made,
            made => Some(made?),
        };
        let has_memory = on_memory.is_some();
        // A buffer keeps the column as it is.
        let (values, mask) = source.view().read(py, |value| {
            let most = decode::default_budget(value.document_length());
            with_column(value, &path, rows, |column| {
                if column.len() as u64 > most {
                    return Err(livebuf::Error::new(livebuf::ErrorKind::BudgetExceeded, 0).into());
                }
                let stored = match has_memory {
                    true => None,
                    // They were put together, and are gone afterwards.
                    false => match slots(&column, wish.masked)? {
                        Some(slots) => {
                            Some(slots.copied(Then::of(&column, Wish { shares: true, ..wish })?))
                        }
                        None => tensors(&column)?,
                    },
                };
                let only_mask = has_memory || stored.is_some();
                let (values, mask) = match only_mask && column.is_complete() {
                    true => (Copied::Nothing, Vec::new()),
                    false => copied(&column, only_mask)?,
                };
                Ok((stored.unwrap_or(values), mask))
            })
        })?;
        let numpy = py.import("numpy")?;
        let made = match on_memory {
            Some(made) => made,
            None => values.array(&numpy)?,
        };
        let missing = mask.iter().position(|&hidden| hidden == 1);
        let array = match (made, missing) {
            (Made::There(array) | Made::Copy(array), _) if wish.masked => array,
            (Made::Copy(_), Some(row)) => return Ok(Made::Null(row)),
            (made, _) => return Ok(made),
        };
        let how = PyDict::new(py);
        // In damaged documents a column may have another length than its numbers.
        let size: usize = array.getattr("size")?.extract()?;
        if !mask.is_empty() && mask.len() != size {
            return Err(error::raise(livebuf::Error::new(livebuf::ErrorKind::BadCount, 0)));
        }
        if missing.is_some() {
            how.set_item("mask", of_bytes(&numpy, &mask, "?")?)?;
        }
        let masked = numpy.getattr("ma")?.getattr("MaskedArray")?;
        Ok(Made::Copy(masked.call((array,), Some(&how))?))
    }

    /// A numpy array of the numbers that lie in memory. `BufferError` where they lie nowhere as
    /// such.
    fn stored<'py>(self, py: Python<'py>, wish: Wish) -> PyResult<Made<'py>> {
        let numpy = py.import("numpy")?;
        let writable = wish.writable && !wish.copy;
        let exporter = Bound::new(py, Numbers { writable, ..self })?;
        let buffer = pyo3::types::PyMemoryView::from(exporter.as_any())?;
        let array = numpy.call_method1("asarray", (buffer,))?;
        // The buffer keeps the column as it is.
        let numbers = exporter.get();
        let then = numbers.source.view().read(py, |value| {
            let look = |column: livebuf::Column<'_, _>| Then::of(&column, wish);
            with_column(value, &numbers.path, numbers.rows, look)
        })?;
        let array = then.done(array)?;
        Ok(match (&then, wish.copy) {
            (Then::Cast(_) | Then::Copy, _) => Made::Copy(array),
            (_, true) => Made::Copy(array.call_method0("copy")?),
            (_, false) => Made::There(array),
        })
    }
}

/// Fills a buffer with a tensor's numbers. That of others is refused: numpy asks for it just as
/// `memoryview` does, and would compute with numbers as narrow as they happen to be stored.
pub(crate) fn of_tensor(
    py: Python<'_>,
    owner: &Bound<'_, PyAny>,
    numbers: &Numbers,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    if numbers.is_tensor(py)? {
        return self::numbers(py, owner, numbers, view, flags);
    }
    let message = "only tensors have a buffer; of other arrays and columns, memoryview() gives the \
                   numbers as they are stored, numpy() and numpy.asarray 64 bits wide";
    Err(PyBufferError::new_err(message))
}

#[pymethods]
impl Numbers {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        numbers(slf.py(), slf.as_any(), slf.get(), view, flags)
    }

    unsafe fn __releasebuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer) {
        release(slf.get().source.view().document(slf.py()).get(), view);
    }
}
