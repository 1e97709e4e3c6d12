//! `livebuf.Array`: a view of an array, as a `MutableSequence`.

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyTuple, PyType};

use crate::compare;
use crate::decode;
use crate::edit::{Edits, Start};
use crate::encode::Given;
use crate::error::{self, Fault, Held, expected};
use crate::export::{self, Numbers, Rows, Wish};
use crate::history::{Move, Taken};
use crate::patch;
use crate::pointer::{fallback, pointer_below, remove_at, set_at};
use crate::query::{self, Base, Matches};
use crate::table::{Column, Table};
use crate::typed::decoder::typed;
use crate::view::{
    Above, Array, Columnar, Document, Found, Index, Object, child, found, is_container,
};

/// The index from the front that a Python index means; `None` beyond the ends.
fn place(index: isize, length: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add_unsigned(length)? } else { index };
    usize::try_from(index).ok().filter(|&index| index < length)
}

/// A plain list of the elements of two lists or arrays; `NotImplemented` where one is neither.
fn joined<'py>(one: &Bound<'py, PyAny>, two: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = one.py();
    let all = PyList::empty(py);
    for part in [one, two] {
        if let Ok(array) = part.cast::<Array>() {
            all.call_method1("extend", (array.call_method0("to_python")?,))?;
        } else if part.is_instance_of::<PyList>() {
            all.call_method1("extend", (part,))?;
        } else {
            return Ok(py.NotImplemented().into_bound(py));
        }
    }
    Ok(all.into_any())
}

impl Array {
    fn numbers(slf: &Bound<'_, Self>) -> Numbers {
        Numbers::new(Columnar::Array(slf.clone().unbind()), Vec::new(), Rows::ALL)
    }

    /// The element at an index from the front; `None` beyond the end.
    #[inline]
    fn at<'py>(slf: &Bound<'py, Self>, index: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, view) = (slf.py(), &slf.get().view);
        view.reach(py, |document, state, node| {
            let editor = state.editor()?;
            match found(py, editor, editor.value(node)?.get(index)?, node)? {
                Found::Nothing => Ok(None),
                Found::Scalar(value) => Ok(Some(value)),
                Found::Container(below) => {
                    let above = Above::Array(Some(slf.clone().unbind()), index);
                    Ok(Some(child(py, document, below, above)?))
                }
            }
        })
    }

    /// An index from the front, of an element that must be there.
    fn index_of(&self, key: &Bound<'_, PyAny>) -> PyResult<usize> {
        let length = self.view.len(key.py())?;
        let Ok(Index(index)) = key.extract() else {
            return Err(expected("an index or slice", key));
        };
        place(index, length).ok_or_else(|| error::index(key.py(), error::digits(key), length))
    }

    /// The indexes of a slice, where it begins (also if it is empty), and its step.
    fn indexes(&self, slice: &Bound<'_, PySlice>) -> PyResult<(Vec<usize>, usize, isize)> {
        let length = self.view.len(slice.py())?;
        let found = slice.indices(isize::try_from(length)?)?;
        let indexes = (0..found.slicelength)
            .map(|step| (found.start + step as isize * found.step) as usize)
            .collect();
        Ok((indexes, found.start.max(0) as usize, found.step))
    }

    fn put(&self, py: Python<'_>, index: usize, given: &Given<'_>) -> PyResult<()> {
        self.view.edit(py, Taken::element(index), |editor, node, done| {
            editor.set(node, index, given.value())?;
            done.changed = true;
            Ok(())
        })
    }

    fn remove_at(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        self.view.edit(py, Taken::element(index), |editor, node, done| {
            if editor.remove(node, index)? {
                done.removed(index);
            }
            Ok(())
        })
    }

    /// Replaces what lies from `first` on, `removed` elements, by others.
    fn splice(
        &self,
        py: Python<'_>,
        first: usize,
        removed: usize,
        items: &[Given<'_>],
    ) -> PyResult<()> {
        let taken = Taken::Elements(first, first + removed);
        let edits = Edits::Splice(first, removed, items);
        self.view.edit_many(py, true, taken, |editor, node, done| {
            edits.attempt(py, &self.view, editor, node)?;
            Ok(edits.make(editor, node, done)?)
        })
    }

    /// Puts the element that is at `order[index]` to `index`, for each.
    fn arrange(&self, py: Python<'_>, mut order: Vec<usize>) -> PyResult<()> {
        let length = order.len();
        // Which element is where, and where each one is.
        let (mut elements, mut now) = (error::room_for(length)?, error::room_for(length)?);
        elements.extend(0..length);
        now.resize(length, 0);
        self.view.edit_many(py, true, Taken::Nothing, |editor, node, done| {
            if editor.value(node)?.len()? != Some(length) {
                return Err(Fault::Edited);
            }
            let mut cursor = editor.node_mut(node)?;
            let mut arranged = Ok(());
            'all: for start in 0..length {
                let mut at = start;
                // Round a circle: the element from its start comes along, to its end.
                while order[at] != start {
                    let from = std::mem::replace(&mut order[at], at);
                    arranged = cursor.swap(at, from);
                    if arranged.is_err() {
                        break 'all;
                    }
                    elements.swap(at, from);
                    at = from;
                }
                order[at] = at;
            }
            for (index, &element) in elements.iter().enumerate() {
                now[element] = index;
            }
            done.moved(Move::Arranged(std::mem::take(&mut now)));
            Ok(arranged?)
        })
    }

    fn push_all(&self, py: Python<'_>, items: &[Given<'_>]) -> PyResult<()> {
        self.view.edit_many(py, true, Taken::Nothing, |editor, node, _| {
            let array = editor.value(node)?.as_array()?;
            let length = array.map_or(0, |array| array.len());
            // What does not fit a tensor is found before anything is changed.
            if array.map(|array| array.tensor()).transpose()?.flatten().is_some() {
                Edits::Splice(length, 0, items).attempt(py, &self.view, editor, node)?;
            }
            let mut cursor = editor.node_mut(node)?;
            for item in items {
                if let Err(failure) = cursor.push(item.value()) {
                    // All or none are added.
                    cursor.truncate(length)?;
                    return Err(failure.into());
                }
            }
            Ok(())
        })
    }
}

/// The elements of an iterable. This runs Python code, so it comes before any lock.
fn collect<'py>(items: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut held = Vec::new();
    for item in items.try_iter()? {
        if held.len() == held.capacity() {
            held.try_reserve(1).map_err(|_| PyMemoryError::new_err(()))?;
        }
        held.push(item?);
    }
    Ok(held)
}

fn given<'a>(items: &'a [Bound<'_, PyAny>]) -> PyResult<Vec<Given<'a>>> {
    let mut given = error::room_for(items.len())?;
    for item in items {
        given.push(Given::of(item)?);
    }
    Ok(given)
}

#[pymethods]
impl Array {
    /// The matches of a JSONPath query with this view as its root, as `Document.query`.
    #[pyo3(signature = (query, /, **parameters))]
    fn query(
        slf: &Bound<'_, Self>,
        query: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Matches> {
        query::find(Base::Array(slf.clone().unbind()), slf.py(), query, parameters)
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = key.cast::<PySlice>() {
            let (indexes, _, _) = slf.get().indexes(slice)?;
            let items = PyList::empty(slf.py());
            for index in indexes {
                match Self::at(slf, index)? {
                    Some(item) => items.append(item)?,
                    None => break,
                }
            }
            return Ok(items.into_any());
        }
        if let Ok(index) = key.extract::<usize>()
            && let Some(item) = Self::at(slf, index)?
        {
            return Ok(item);
        }
        let index = slf.get().index_of(key)?;
        match Self::at(slf, index)? {
            Some(item) => Ok(item),
            None => Err(error::index(slf.py(), index as isize, slf.get().view.len(slf.py())?)),
        }
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        if let Ok(slice) = key.cast::<PySlice>() {
            let items = collect(value)?;
            let items = given(&items)?;
            let (indexes, first, step) = slf.get().indexes(slice)?;
            if step == 1 {
                return slf.get().splice(py, first, indexes.len(), &items);
            }
            if indexes.len() != items.len() {
                return Err(PyValueError::new_err(format!(
                    "{} elements for a slice of {}",
                    items.len(),
                    indexes.len()
                )));
            }
            slf.get().view.attempt(py, &Edits::Elements(&indexes, &items))?;
            for (index, item) in indexes.into_iter().zip(&items) {
                slf.get().put(py, index, item)?;
            }
            return Ok(());
        }
        let given = Given::of(value)?;
        let index = slf.get().index_of(key)?;
        slf.get().put(py, index, &given)
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        if let Ok(slice) = key.cast::<PySlice>() {
            let (mut indexes, first, step) = slf.get().indexes(slice)?;
            if step == 1 {
                return slf.get().splice(py, first, indexes.len(), &[]);
            }
            indexes.sort_unstable();
            for index in indexes.into_iter().rev() {
                slf.get().remove_at(py, index)?;
            }
            return Ok(());
        }
        let index = slf.get().index_of(key)?;
        slf.get().remove_at(py, index)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.view.len(py)
    }

    fn __iter__(slf: &Bound<'_, Self>) -> Elements {
        Elements {
            array: slf.clone().unbind(),
            next: 0,
            ready: Vec::new().into_iter(),
            read_at: (0, 0),
        }
    }

    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("backwards")?.call1((slf,))
    }

    fn __contains__(slf: &Bound<'_, Self>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        for element in slf.try_iter()? {
            if element?.eq(item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first index of a value. Raises `ValueError` where there is none.
    #[pyo3(
        signature = (value, start=Index(0), stop=Index(isize::MAX), /),
        text_signature = "($self, value, start=0, stop=..., /)"
    )]
    fn index(
        slf: &Bound<'_, Self>,
        value: &Bound<'_, PyAny>,
        start: Index,
        stop: Index,
    ) -> PyResult<usize> {
        let slice = PySlice::new(slf.py(), start.0, stop.0, 1);
        for index in slf.get().indexes(&slice)?.0 {
            match Self::at(slf, index)? {
                Some(element) if element.eq(value)? => return Ok(index),
                Some(_) => {}
                None => break,
            }
        }
        Err(PyValueError::new_err(format!("{} is not in the array", value.repr()?)))
    }

    /// How often a value occurs.
    fn count(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut count = 0;
        for element in slf.try_iter()? {
            count += usize::from(element?.eq(value)?);
        }
        Ok(count)
    }

    /// The element at an index, or `default` where there is none.
    #[pyo3(signature = (index, default=None, /))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        index: Index,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = match place(index.0, slf.get().view.len(slf.py())?) {
            Some(index) => Self::at(slf, index)?,
            None => None,
        };
        Ok(found.or(default).unwrap_or_else(|| slf.py().None().into_bound(slf.py())))
    }

    /// Adds an element at the end.
    fn append(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = Given::of(value)?;
        self.view.edit(value.py(), Taken::Nothing, |editor, node, _| {
            editor.push(node, given.value())?;
            Ok(())
        })
    }

    /// Adds all elements of an iterable at the end.
    fn extend(&self, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let items_held = collect(items)?;
        self.push_all(items.py(), &given(&items_held)?)
    }

    fn __iadd__(slf: &Bound<'_, Self>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.get().extend(items)
    }

    /// Inserts an element before an index.
    fn insert(&self, index: isize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        let given = Given::of(value)?;
        let length = self.view.len(py)?;
        let index = match index < 0 {
            true => index.saturating_add_unsigned(length).max(0) as usize,
            false => (index as usize).min(length),
        };
        self.view.edit(py, Taken::Nothing, |editor, node, done| {
            editor.insert(node, index, given.value())?;
            if index < length {
                done.inserted(index);
            }
            Ok(())
        })
    }

    /// Removes an element, the last by default, and returns it. A container is returned as
    /// plain Python objects.
    #[pyo3(signature = (index=-1, /), text_signature = "($self, index=-1, /)")]
    fn pop<'py>(slf: &Bound<'py, Self>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let length = slf.get().view.len(py)?;
        let found = place(index, length).ok_or_else(|| error::index(py, index, length))?;
        let value = slf.get().view.read(py, |value| match value.get(found)? {
            Some(value) => decode::to_python(py, &value, None),
            None => Err(Fault::Stale("the element is gone")),
        })?;
        slf.get().remove_at(py, found)?;
        Ok(value)
    }

    /// Removes the first element that equals a value. Raises `ValueError` where there is none.
    fn remove(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let index = Self::index(slf, value, Index(0), Index(isize::MAX))?;
        slf.get().remove_at(slf.py(), index)
    }

    /// Reverses the order of the elements.
    fn reverse(&self, py: Python<'_>) -> PyResult<()> {
        let length = self.view.len(py)?;
        let mut order = error::room_for(length)?;
        order.extend((0..length).rev());
        self.arrange(py, order)
    }

    /// Exchanges two elements.
    fn swap(&self, py: Python<'_>, one: isize, other: isize) -> PyResult<()> {
        let length = self.view.len(py)?;
        let find = |index| place(index, length).ok_or_else(|| error::index(py, index, length));
        let (one, other) = (find(one)?, find(other)?);
        self.view.edit(py, Taken::Nothing, |editor, node, done| {
            editor.swap(node, one, other)?;
            done.moved(Move::Swapped(one, other));
            Ok(())
        })
    }

    /// Removes all elements.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.view.edit(py, Taken::All, |editor, node, done| {
            editor.clear(node)?;
            done.changed = true;
            Ok(())
        })
    }

    /// The value at a JSON pointer (RFC 6901) below this array, as `Document.pointer`.
    #[pyo3(signature = (pointer, *default))]
    fn pointer<'py>(
        slf: &Bound<'py, Self>,
        pointer: &str,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        pointer_below(slf.as_any(), &slf.get().view, pointer, fallback(default)?)
    }

    /// The rows as columns, for Arrow: see `Table`.
    #[getter]
    fn table(slf: &Bound<'_, Self>) -> Table {
        Table::new(Columnar::Array(slf.clone().unbind()))
    }

    /// The elements as a column, which can be searched.
    #[getter]
    fn column(slf: &Bound<'_, Self>) -> Column {
        Column { source: Columnar::Array(slf.clone().unbind()), path: Vec::new(), rows: Rows::ALL }
    }

    /// The elements as a numpy array: integers as `int64`, or `uint64` where some need it, floats
    /// as `float64`, booleans, dates and times as numpy's, whatever width they are stored by.
    /// Tensors keep their own type. `numpy.asarray(array)` gives the same. Where the stored
    /// type is that already, the array is on the document's memory, and edits raise
    /// `ExportedError` while it lives, unless `copy=True`.
    ///
    /// With `narrow=True` it has the stored type, such as `int8`, and is never a copy: mind that
    /// arithmetic on such arrays wraps. With `writable=True`, which needs `narrow=True` unless the
    /// array is a tensor, writing to it changes the document.
    ///
    /// With `masked=True` elements may be null: it is a masked array, `numpy.ma`, in which these
    /// are masked. A masked array cannot be `writable`.
    ///
    /// Raises `WrongTypeError` where an element is null, or numpy has no type for all of them.
    #[pyo3(signature = (*, copy=false, writable=false, masked=false, narrow=false))]
    fn numpy<'py>(
        slf: &Bound<'py, Self>,
        copy: bool,
        writable: bool,
        masked: bool,
        narrow: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wish = Wish { copy, writable, masked, narrow, shares: false };
        Self::numbers(slf).array(slf.py(), wish)
    }

    /// For `numpy.asarray(array)`: as `numpy()`, or for other values what numpy makes of a list.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let list = || compare::plain(slf.py(), &slf.get().view, None);
        Self::numbers(slf).for_numpy(slf.py(), dtype, copy, list)
    }

    /// A `memoryview` of the numbers as they are stored, without a copy: bytes of 8 to 64 bits,
    /// days and microseconds of dates and times. Edits raise `ExportedError` while it lives.
    ///
    /// Raises `BufferError` where the elements are not stored as numbers of one type.
    fn memoryview<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::numbers(slf).memoryview(slf.py())
    }

    /// The length of each dimension, where the array is a tensor; else `None`.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let shape = self.view.read(py, |value| {
            let array = value.as_array()?.ok_or(Fault::Stale("it is no array any more"))?;
            Ok(array.tensor()?.map(|tensor| tensor.shape().to_vec()))
        })?;
        shape.map(|shape| PyTuple::new(py, shape)).transpose()
    }

    /// Sets the value at a JSON pointer below this array, as `Document.set_pointer`.
    fn set_pointer<'py>(
        slf: &Bound<'py, Self>,
        pointer: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        set_at(Start::View(&slf.get().view), pointer, value)
    }

    /// Removes the value at a JSON pointer below this array, as `Document.remove_pointer`.
    fn remove_pointer(&self, py: Python<'_>, pointer: &str) -> PyResult<()> {
        remove_at(py, Start::View(&self.view), pointer)
    }

    /// Applies a JSON patch (RFC 6902) to this array, as `Document.patch`. Pointers in errors lead
    /// from the document's root.
    fn patch(&self, patch: &Bound<'_, PyAny>) -> PyResult<()> {
        patch::apply(Start::View(&self.view), patch)
    }

    /// Merges a merge patch (RFC 7396) into this array, as `Document.merge`.
    fn merge(&self, patch: &Bound<'_, PyAny>) -> PyResult<()> {
        patch::merge(Start::View(&self.view), patch)
    }

    /// Sets all matches of a query with this view as its root, as `Document.set_all`.
    #[pyo3(signature = (query, value, /, **parameters))]
    fn set_all<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<usize> {
        query::set_all(Start::View(&self.view), query, value, parameters)
    }

    /// Removes all matches of a query with this view as its root, as `Document.remove_all`.
    #[pyo3(signature = (query, /, **parameters))]
    fn remove_all(
        &self,
        query: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<usize> {
        query::remove_all(query.py(), Start::View(&self.view), query, parameters)
    }

    /// Sets all matches of a query with this view as its root to what a function makes of them, as
    /// `Document.update_all`.
    #[pyo3(signature = (query, function, /, **parameters))]
    fn update_all(
        slf: &Bound<'_, Self>,
        query: &Bound<'_, PyAny>,
        function: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<usize> {
        query::update_all(Base::Array(slf.clone().unbind()), query, function, parameters)
    }

    /// SHA-256 of the value, whatever its layout: equal values have equal digests.
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.view.digest(py)
    }

    /// The document that this is a view of.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> Bound<'py, Document> {
        self.view.document(py)
    }

    /// A copy of the array in a document of its own, which can be edited: a view as this one.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.view.copy(py)
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.view.copy(py)
    }

    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.view.copy(py)
    }

    /// Unpickled, it is a view of a document of its own.
    fn __reduce_ex__<'py>(
        &self,
        py: Python<'py>,
        protocol: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        self.view.reduce(py, protocol)
    }

    /// What notebooks show.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._show")?.call_method1("html", (slf,))
    }

    /// What notebooks with a view for JSON show; `None` for what is large.
    fn _repr_json_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._show")?.call_method1("plain", (slf,))
    }

    /// What the library rich prints.
    fn __rich_repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._show")?.call_method1("parts", (slf,))
    }

    /// Sorts the elements in place, as `list.sort` does. Views follow their elements.
    #[pyo3(signature = (*, key=None, reverse=false))]
    fn sort(slf: &Bound<'_, Self>, key: Option<&Bound<'_, PyAny>>, reverse: bool) -> PyResult<()> {
        let py = slf.py();
        let edits = || slf.get().view.edits(py);
        let before = edits()?;
        let order = py.import("livebuf._views")?.getattr("order")?.call1((slf, key, reverse))?;
        if edits()? != before {
            return Err(PyValueError::new_err("the document was edited while it was sorted"));
        }
        let mut indexes = error::room_for(order.len()?)?;
        for index in order.try_iter()? {
            indexes.push(index?.extract()?);
        }
        slf.get().arrange(py, indexes)
    }

    /// A plain list of both.
    fn __add__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        joined(slf.as_any(), other)
    }

    fn __radd__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        joined(other, slf.as_any())
    }

    /// A plain list, so many times.
    fn __mul__<'py>(slf: &Bound<'py, Self>, times: isize) -> PyResult<Bound<'py, PyAny>> {
        slf.call_method0("to_python")?.mul(times)
    }

    fn __imul__(slf: &Bound<'_, Self>, times: isize) -> PyResult<()> {
        match times {
            ..=0 => slf.call_method0("clear").map(drop),
            _ => slf.get().extend(&Self::__mul__(slf, times - 1)?),
        }
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, times: isize) -> PyResult<Bound<'py, PyAny>> {
        Self::__mul__(slf, times)
    }

    /// A plain list, with plain elements; with `type` an object of that type, as by `Decoder`.
    #[pyo3(signature = (*, r#type=None, max_values=None))]
    fn to_python<'py>(
        slf: &Bound<'py, Self>,
        r#type: Option<&Bound<'py, PyAny>>,
        max_values: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match r#type {
            Some(target) => typed(slf.as_any(), target, max_values),
            None => compare::plain(slf.py(), &slf.get().view, max_values),
        }
    }

    /// For fields of pydantic models.
    #[classmethod]
    fn __get_pydantic_core_schema__<'py>(
        class: &Bound<'py, PyType>,
        _source: &Bound<'py, PyAny>,
        _handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("livebuf._pydantic")?.call_method1("core_schema", (class,))
    }

    /// For the JSON schema of pydantic models.
    #[classmethod]
    fn __get_pydantic_json_schema__<'py>(
        class: &Bound<'py, PyType>,
        _schema: &Bound<'py, PyAny>,
        _handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("livebuf._pydantic")?.call_method1("json_schema", (class,))
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        compare::answer(slf.as_any(), other, operator)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let length = slf.get().view.len(slf.py())?;
        let mut shown = Vec::new();
        for index in 0..length.min(4) {
            match Self::at(slf, index)? {
                Some(item) if item.is_instance_of::<Self>() => shown.push("[…]".to_owned()),
                Some(item) if item.is_instance_of::<Object>() => {
                    shown.push("{…}".to_owned());
                }
                Some(item) => {
                    let text = item.repr()?.to_string();
                    match text.char_indices().nth(40) {
                        Some((end, _)) => shown.push(format!("{}…", &text[..end])),
                        None => shown.push(text),
                    }
                }
                None => break,
            }
        }
        let more = if length > shown.len() { ", …" } else { "" };
        Ok(format!("<livebuf.Array of {length}: {}{more}>", shown.join(", ")))
    }

    /// The buffer protocol, of tensors: C passes a structure to fill.
    #[allow(unsafe_code)]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: std::os::raw::c_int,
    ) -> PyResult<()> {
        export::of_tensor(slf.py(), slf.as_any(), &Self::numbers(&slf), view, flags)
    }

    #[allow(unsafe_code)]
    unsafe fn __releasebuffer__(slf: Bound<'_, Self>, view: *mut pyo3::ffi::Py_buffer) {
        export::release(slf.get().view.document(slf.py()).get(), view);
    }
}

/// Elements that are read at once.
const MANY: usize = 64;

/// An iterator of an array's elements. As with lists, edits before its place shift it.
#[pyclass(module = "livebuf")]
pub(crate) struct Elements {
    array: Py<Array>,
    /// Index of the element that is given next.
    next: usize,
    ready: std::vec::IntoIter<Py<PyAny>>,
    /// The document's edits and layout when they were read.
    read_at: (u64, u64),
}

#[pymethods]
impl Elements {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let array = self.array.bind(py);
        let view = &array.get().view;
        if self.ready.len() > 0 && view.edits(py)? == self.read_at {
            self.next += 1;
            return Ok(self.ready.next());
        }
        // Scalars are read many at once, and again after an edit.
        let (scalars, first, read_at) = view.reach(py, |document, state, node| -> Held<_> {
            let (mut scalars, mut first) = (Vec::new(), None);
            let editor = state.editor()?;
            let value = editor.value(node)?;
            let found = value.as_array()?.ok_or(Fault::Stale("it is no array any more"))?;
            let most = if self.next == 0 { 8 } else { MANY };
            for index in self.next..found.len().min(self.next + most) {
                let Some(value) = found.get(index)? else { break };
                if is_container(value.kind()) {
                    if scalars.is_empty() {
                        first = editor.handle_of(&value, node).map(|below| (value.kind(), below));
                    }
                    break;
                }
                scalars.push(decode::scalar(py, &value)?.unbind());
            }
            let above = |index| Above::Array(Some(array.clone().unbind()), index);
            let first = match first {
                Some(below) => Some(child(py, document, below, above(self.next))?.unbind()),
                None => None,
            };
            Ok((scalars, first, (state.edits, state.layout)))
        })?;
        self.read_at = read_at;
        self.ready = scalars.into_iter();
        self.next += 1;
        Ok(first.or_else(|| self.ready.next()))
    }
}
