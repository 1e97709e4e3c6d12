//! `livebuf.Object`: a view of an object, as a `MutableMapping`.

use livebuf::raw::Position;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};

use crate::compare;
use crate::decode::{self, CollectorPause};
use crate::edit::{Edits, Start};
use crate::encode::{Given, key as text, lookup};
use crate::error::{self, Fault, Held};
use crate::history::{Move, Taken};
use crate::patch;
use crate::pointer::{Fallback, fallback, pointer_below, remove_at, set_at};
use crate::query::{self, Base, Matches};
use crate::table::Table;
use crate::typed::decoder::typed;
use crate::view::{Above, Columnar, Document, Found, Object, child, found, is_container};

/// A plain dict of the members of two mappings, those of the second in the place of the first's.
/// `NotImplemented` where one is no mapping.
fn either<'py>(one: &Bound<'py, PyAny>, two: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = one.py();
    let mapping = py.import("collections.abc")?.getattr("Mapping")?;
    if !one.is_instance(&mapping)? || !two.is_instance(&mapping)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
    let all = PyDict::new(py);
    for part in [one, two] {
        let part = match part.cast::<Object>() {
            Ok(object) => object.call_method0("to_python")?,
            Err(_) => part.clone(),
        };
        all.call_method1("update", (part,))?;
    }
    Ok(all.into_any())
}

impl Object {
    #[inline]
    fn find<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let Some(name) = lookup(key)? else { return Ok(None) };
        let view = &slf.get().view;
        view.reach(py, |document, state, node| {
            let editor = state.editor()?;
            match found(py, editor, editor.value(node)?.get(name)?, node)? {
                Found::Nothing => Ok(None),
                Found::Scalar(value) => Ok(Some(value)),
                Found::Container(below) => {
                    let key = key.cast::<PyString>().map_err(PyErr::from)?.clone().unbind();
                    let above = Above::Object(Some(slf.clone().unbind()), key);
                    Ok(Some(child(py, document, below, above)?))
                }
            }
        })
    }

    /// Reads members from a position on, at most `most`. Tells where the next begin.
    fn some<'py>(
        slf: &Bound<'py, Self>,
        from: Option<Position>,
        length: Option<usize>,
        want: Want,
        most: usize,
    ) -> PyResult<MemberBatch<'py>> {
        let py = slf.py();
        slf.get().view.reach(py, |document, state, node| {
            let _pause = CollectorPause::new();
            let mut containers = Vec::new();
            let mut items = Vec::new();
            let (position, count);
            {
                let editor = state.editor()?;
                let value = editor.value(node)?;
                let object = value.as_object()?.ok_or(Fault::Stale("it is no object any more"))?;
                count = object.len();
                if length.is_some_and(|length| length != count) {
                    let message = "object changed size during iteration";
                    return Err(PyRuntimeError::new_err(message).into());
                }
                let mut fields = match from {
                    Some(position) => object.iter_from(position),
                    None => object.iter(),
                };
                for member in fields.by_ref().take(most) {
                    let (key, value) = member?;
                    let key = decode::text(py, key.as_bytes())?;
                    let kind = value.kind();
                    let value = match (want, kind) {
                        (Want::Keys, _) => None,
                        (_, kind) if is_container(kind) => {
                            let below = editor.handle_of(&value, node);
                            containers.push((items.len(), kind, below, key.clone().unbind()));
                            None
                        }
                        _ => Some(decode::scalar(py, &value)?),
                    };
                    items.push((key, value));
                }
                let ended = fields.clone().next().is_none();
                position = (!ended).then(|| fields.position());
            }
            for (index, kind, below, key) in containers {
                let below = below.ok_or(Fault::Stale("its place is gone"))?;
                let above = Above::Object(Some(slf.clone().unbind()), key);
                items[index].1 = Some(child(py, document, (kind, below), above)?);
            }
            let items = items.into_iter().map(|(key, value)| -> Held<_> {
                Ok(match (want, value) {
                    (Want::Values, Some(value)) => value,
                    (Want::Items, Some(value)) => {
                        PyTuple::new(py, [key.into_any(), value])?.into_any()
                    }
                    (_, _) => key.into_any(),
                })
            });
            let (edits, layout) = (state.edits, state.layout);
            let items = items.collect::<Held<Vec<_>>>()?;
            Ok(MemberBatch { items, next: position, length: count, edits, layout })
        })
    }

    fn put(&self, py: Python<'_>, name: &str, given: &Given<'_>) -> PyResult<()> {
        self.view.edit(py, Taken::Member(name), |editor, node, done| {
            editor.set(node, name, given.value())?;
            done.changed = true;
            Ok(())
        })
    }

    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.view.edit(py, Taken::Member(name), |editor, node, done| {
            done.changed = editor.remove(node, name)?;
            Ok(done.changed)
        })
    }

    /// The keys from the last to the first.
    fn backwards<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut keys = Self::some(slf, None, None, Want::Keys, usize::MAX)?.items;
        keys.reverse();
        Ok(keys)
    }

    fn ordered<'py>(
        slf: &Bound<'py, Self>,
        list: impl FnOnce(&livebuf::Object<'_, livebuf::Checked>) -> Held<Vec<Bound<'py, PyString>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keys = slf.get().view.read(slf.py(), |value| {
            let object = value.as_object()?.ok_or(Fault::Stale("it is no object any more"))?;
            list(&object)
        })?;
        let iterator = Ordered {
            object: slf.clone().unbind(),
            keys: keys.into_iter().map(Bound::unbind).collect(),
        };
        Ok(Bound::new(slf.py(), iterator)?.into_any())
    }
}

#[pymethods]
impl Object {
    /// The matches of a JSONPath query with this view as its root, as `Document.query`.
    #[pyo3(signature = (query, /, **parameters))]
    fn query(
        slf: &Bound<'_, Self>,
        query: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Matches> {
        query::find(Base::Object(slf.clone().unbind()), slf.py(), query, parameters)
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match Self::find(slf, key)? {
            Some(value) => Ok(value),
            None => Err(error::missing_key(slf.py(), &key.to_string())),
        }
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let name = text(key)?;
        slf.get().put(slf.py(), name, &Given::of(value)?)
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match lookup(key)? {
            Some(name) if slf.get().remove(slf.py(), name)? => Ok(()),
            _ => Err(error::missing_key(slf.py(), &key.to_string())),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.view.len(py)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !key.is_instance_of::<PyString>() {
            return Ok(false);
        }
        let Some(name) = lookup(key)? else { return Ok(false) };
        self.view.read(key.py(), |value| Ok(value.get(name)?.is_some()))
    }

    fn __iter__(slf: &Bound<'_, Self>) -> Members {
        Members::new(slf, Want::Keys)
    }

    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let keys = Self::backwards(slf)?;
        Ok(pyo3::types::PyList::new(slf.py(), keys)?.try_iter()?.into_any())
    }

    /// An iterator of keys and values, from the last to the first.
    fn _reversed_items(slf: &Bound<'_, Self>) -> PyResult<Ordered> {
        let keys = Self::backwards(slf)?;
        let keys = keys.into_iter().map(|key| Ok(key.cast_into::<PyString>()?.unbind()));
        Ok(Ordered { object: slf.clone().unbind(), keys: keys.collect::<PyResult<_>>()? })
    }

    /// An iterator of keys and values.
    fn _items(slf: &Bound<'_, Self>) -> Members {
        Members::new(slf, Want::Items)
    }

    /// An iterator of values.
    fn _values(slf: &Bound<'_, Self>) -> Members {
        Members::new(slf, Want::Values)
    }

    /// The keys in their order, as a view that follows edits.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("Keys")?.call1((slf,))
    }

    /// The values in their order, as a view that follows edits.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("Values")?.call1((slf,))
    }

    /// Keys and values in their order, as a view that follows edits.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("Items")?.call1((slf,))
    }

    /// The value under a key, or `default`.
    #[pyo3(signature = (key, default=None, /))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match Self::find(slf, key)? {
            Some(value) => Ok(value),
            None => Ok(default.unwrap_or_else(|| slf.py().None().into_bound(slf.py()))),
        }
    }

    /// Removes a key and returns its value. A container is returned as plain Python objects.
    #[pyo3(signature = (key, /, *default))]
    fn pop<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, name) = (slf.py(), text(key)?);
        let fallback = fallback(default)?;
        let value = slf.get().view.read(py, |value| match value.get(name)? {
            Some(value) => Ok(Some(decode::to_python(py, &value, None)?)),
            None => Ok(None),
        })?;
        match (value, fallback) {
            (Some(value), _) => {
                slf.get().remove(py, name)?;
                Ok(value)
            }
            (None, Fallback::Give(default)) => Ok(default),
            (None, Fallback::Raise) => Err(error::missing_key(py, name)),
        }
    }

    /// Removes the last member and returns its key and value.
    fn popitem<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        let last = slf.get().view.read(py, |value| {
            let object = value.as_object()?.ok_or(Fault::Stale("it is no object any more"))?;
            match object.iter().next_back().transpose()? {
                Some((key, _)) => Ok(Some(decode::text(py, key.as_bytes())?)),
                None => Ok(None),
            }
        })?;
        let Some(key) = last else {
            return Err(error::missing_key(py, "popitem(): the object is empty"));
        };
        let value = Self::pop(slf, &key, &PyTuple::empty(py))?;
        Ok((key.into_any(), value))
    }

    /// The value under a key. If the key is missing it is set to `default` first.
    #[pyo3(signature = (key, default=None, /))]
    fn setdefault<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(value) = Self::find(slf, key)? {
            return Ok(value);
        }
        let default = default.unwrap_or_else(|| slf.py().None().into_bound(slf.py()));
        Self::__setitem__(slf, key, &default)?;
        Self::__getitem__(slf, key)
    }

    /// Sets many keys: from a mapping, from pairs, or by name.
    #[pyo3(signature = (other=None, /, **named))]
    fn update(
        slf: &Bound<'_, Self>,
        other: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let pairs = PyDict::new(slf.py());
        if let Some(other) = other {
            pairs.call_method1("update", (other,))?;
        }
        if let Some(named) = named {
            pairs.update(named.as_mapping())?;
        }
        let mut held = error::room_for(pairs.len())?;
        held.extend(pairs.iter());
        let mut members = error::room_for(held.len())?;
        for (key, value) in &held {
            members.push((text(key)?, Given::of(value)?));
        }
        slf.get().view.attempt(slf.py(), &Edits::Members(&members))?;
        for (name, given) in &members {
            slf.get().put(slf.py(), name, given)?;
        }
        Ok(())
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::update(slf, Some(other), None)
    }

    /// Removes all members.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.view.edit(py, Taken::All, |editor, node, done| {
            editor.clear(node)?;
            done.changed = true;
            Ok(())
        })
    }

    /// Gives a member another key, at the same place. The key must not be there already.
    fn rename(&self, py: Python<'_>, key: &str, to: &str) -> PyResult<()> {
        self.view.edit(py, Taken::Nothing, |editor, node, done| {
            editor.rename(node, key, to)?;
            done.moved(Move::Renamed(key.into(), to.into()));
            Ok(())
        })
    }

    /// Gives the object an index for the order of its keys, and keeps it up from then on.
    /// `range` and `prefix` then find the first member in O(log n). Without it they look at all
    /// members of a large object, and sort those that they find. Small objects need none.
    ///
    /// >>> doc = livebuf.Document.from_python({f"user {n}": n for n in range(1000)})
    /// >>> doc.root.order()
    /// >>> next(doc.root.prefix("user 99"))
    /// ('user 99', 99)
    fn order(&self, py: Python<'_>) -> PyResult<()> {
        self.view.edit(py, Taken::Nothing, |editor, node, _| Ok(editor.order(node)?))
    }

    /// Members whose keys lie from `start` up to `stop`, which is not included. They are
    /// ordered by the keys' UTF-8 bytes. `None` is no bound. `order` makes it fast in big
    /// objects.
    ///
    /// >>> doc = livebuf.from_json('{"b": 2, "a": 1, "c": 3}')
    /// >>> list(doc.root.range("a", "c"))
    /// [('a', 1), ('b', 2)]
    #[pyo3(signature = (start=None, stop=None))]
    fn range<'py>(
        slf: &Bound<'py, Self>,
        start: Option<&str>,
        stop: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let py = slf.py();
        Self::ordered(slf, |object| {
            let start = start.map_or(Unbounded, Included);
            let stop = stop.map_or(Unbounded, Excluded);
            let members = object.range((start, stop));
            members.map(|member| decode::text(py, member?.0.as_bytes())).collect()
        })
    }

    /// Members whose keys begin with `prefix`, ordered by the keys' UTF-8 bytes.
    fn prefix<'py>(slf: &Bound<'py, Self>, prefix: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        Self::ordered(slf, |object| {
            let members = object.prefix(prefix);
            members.map(|member| decode::text(py, member?.0.as_bytes())).collect()
        })
    }

    /// The value at a JSON pointer (RFC 6901) below this object, as `Document.pointer`.
    #[pyo3(signature = (pointer, *default))]
    fn pointer<'py>(
        slf: &Bound<'py, Self>,
        pointer: &str,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        pointer_below(slf.as_any(), &slf.get().view, pointer, fallback(default)?)
    }

    /// Sets the value at a JSON pointer below this object, as `Document.set_pointer`.
    fn set_pointer<'py>(
        slf: &Bound<'py, Self>,
        pointer: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        set_at(Start::View(&slf.get().view), pointer, value)
    }

    /// Removes the value at a JSON pointer below this object, as `Document.remove_pointer`.
    fn remove_pointer(&self, py: Python<'_>, pointer: &str) -> PyResult<()> {
        remove_at(py, Start::View(&self.view), pointer)
    }

    /// Applies a JSON patch (RFC 6902) to this object, as `Document.patch`. Pointers in errors lead
    /// from the document's root.
    fn patch(&self, patch: &Bound<'_, PyAny>) -> PyResult<()> {
        patch::apply(Start::View(&self.view), patch)
    }

    /// Merges a merge patch (RFC 7396) into this object, as `Document.merge`.
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
        query::update_all(Base::Object(slf.clone().unbind()), query, function, parameters)
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

    /// A copy of the object in a document of its own, which can be edited: a view as this one.
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

    /// The members as rows, for Arrow: see `Table`. A large object of similar objects is stored
    /// as columns.
    #[getter]
    fn table(slf: &Bound<'_, Self>) -> Table {
        Table::new(Columnar::Object(slf.clone().unbind()))
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

    /// Keys that IPython completes.
    fn _ipython_key_completions_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        slf.call_method0("keys")?
            .try_iter()?
            .take(1000)
            .collect::<PyResult<Vec<_>>>()
            .and_then(|keys| PyList::new(slf.py(), keys))
    }

    /// A plain dict of both.
    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        either(slf.as_any(), other)
    }

    fn __ror__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        either(other, slf.as_any())
    }

    /// A plain dict, with plain values; with `type` an object of that type, as by `Decoder`.
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
        let MemberBatch { items, length, .. } = Self::some(slf, None, None, Want::Keys, 8)?;
        let keys = items.iter().map(|key| Ok(key.repr()?.to_string()));
        let keys = keys.collect::<PyResult<Vec<_>>>()?.join(", ");
        let more = if length > items.len() { ", …" } else { "" };
        Ok(format!("<livebuf.Object of {length}: {keys}{more}>"))
    }
}

/// Members that were read at once.
struct MemberBatch<'py> {
    items: Vec<Bound<'py, PyAny>>,
    /// Where the next begin; `None` after the last.
    next: Option<Position>,
    /// Members of the object.
    length: usize,
    edits: u64,
    layout: u64,
}

/// What an iterator yields.
#[derive(Clone, Copy, PartialEq)]
enum Want {
    Keys,
    Values,
    Items,
}

/// Members that are read at once.
const MANY: usize = 64;

/// An iterator of an object's members in their order. If members are added or removed it ends
/// with `RuntimeError`, as in dicts.
#[pyclass(module = "livebuf")]
pub(crate) struct Members {
    object: Py<Object>,
    want: Want,
    ready: std::vec::IntoIter<Py<PyAny>>,
    /// Where the ready members begin, how many were yielded before them, and how many of them.
    begin: Option<Position>,
    before: usize,
    given: usize,
    next: Next,
    length: Option<usize>,
    /// The document's edits and layout when they were read.
    edits: u64,
    layout: u64,
}

enum Next {
    Begin,
    At(Position),
    Ended,
}

impl Members {
    fn new(object: &Bound<'_, Object>, want: Want) -> Members {
        Members {
            object: object.clone().unbind(),
            want,
            ready: Vec::new().into_iter(),
            begin: None,
            before: 0,
            given: 0,
            next: Next::Begin,
            length: None,
            edits: 0,
            layout: 0,
        }
    }
}

#[pymethods]
impl Members {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let object = self.object.bind(py);
        let (edits, layout) = object.get().view.edits(py)?;
        let unchanged = edits == self.edits && layout == self.layout || self.length.is_none();
        if unchanged && let Some(item) = self.ready.next() {
            self.given += 1;
            return Ok(Some(item));
        }
        // The first few members are often all that is wanted.
        let mut most = if matches!(self.next, Next::Begin) { 8 } else { MANY };
        // After an edit the ready members are read again.
        let mut skipped = 0;
        match self.next {
            // Positions belong to another layout: count from the front.
            _ if !unchanged && layout != self.layout => {
                skipped = self.before + self.given;
                (self.begin, self.before) = (None, 0);
                most += skipped;
            }
            _ if !unchanged => skipped = self.given,
            Next::Begin => {}
            Next::At(position) => {
                self.before += self.given;
                self.begin = Some(position);
            }
            Next::Ended => return Ok(None),
        }
        let part = Object::some(object, self.begin, self.length, self.want, most)?;
        let items = part.items.into_iter().skip(skipped).map(Bound::unbind);
        self.ready = items.collect::<Vec<_>>().into_iter();
        self.length = Some(part.length);
        (self.edits, self.layout) = (part.edits, part.layout);
        self.next = part.next.map_or(Next::Ended, Next::At);
        self.given = skipped;
        match self.ready.next() {
            Some(item) => {
                self.given += 1;
                Ok(Some(item))
            }
            // All ready members had been yielded when the edit came.
            None if matches!(self.next, Next::At(_)) => self.__next__(py),
            None => Ok(None),
        }
    }
}

/// An iterator of the members with certain keys.
#[pyclass(module = "livebuf")]
pub(crate) struct Ordered {
    object: Py<Object>,
    keys: std::collections::VecDeque<Py<PyString>>,
}

#[pymethods]
impl Ordered {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        while let Some(key) = self.keys.pop_front() {
            let key = key.into_bound(py).into_any();
            // A member that was removed meanwhile is skipped.
            if let Some(value) = Object::find(self.object.bind(py), &key)? {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }
}
