//! Values of documents as objects of a type, by its plan.
//!
//! Nothing goes through dicts: values become the arguments of constructors. Where an array is
//! stored as columns, each field finds its column once, and then its value of each row.
//!
//! Constructors and hooks run Python code, so no document is locked meanwhile.
#![allow(unsafe_code)]

use livebuf::raw::Allowance;
use livebuf::{Array, Checked, Column, ColumnType, ErrorKind, Extended, Kind, Table, Uuid, Value};
use pyo3::exceptions::{PyArithmeticError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple, PyType,
};

use crate::decode;
use crate::error::{self, Fault};
use crate::extended;
use crate::history::Step;
use crate::typed::failure::{At, Failure, Typed, too_deep};
use crate::typed::plan::{
    Build, Class, Field, Missing, NONE, Node, Parse, Plan, Sequence, Union, arm_of,
};

/// Containers within each other that are followed. Each takes stack, and threads may have
/// little of it.
const DEEPEST: u32 = 200;

type Made<'py> = Typed<Bound<'py, PyAny>>;

/// One call of a decoder.
pub(super) struct Run<'p, 'py> {
    py: Python<'py>,
    plan: &'p Plan,
    /// Values of fields of objects that are not complete yet.
    values: Vec<Option<Bound<'py, PyAny>>>,
    /// Values and text that may still be made.
    allowance: Allowance,
    /// Columns that may still be looked for: a damaged document has them without end.
    columns: u64,
    depth: u32,
}

/// A table for rows that become objects of a class: where each field is.
struct Rows<'a, 'p> {
    class: &'p Class,
    sources: Vec<Source<'a, 'p>>,
}

/// Where the rows of a table have a field.
enum Source<'a, 'p> {
    /// In no column.
    Absent,
    Values(Column<'a, Checked>),
    /// In the columns of a table within the table.
    Rows(Column<'a, Checked>, Box<Rows<'a, 'p>>),
    /// In lists of rows of another table.
    Lists(Column<'a, Checked>, Sequence, Box<Elements<'a, 'p>>),
}

/// The elements of all lists of a column, which are rows.
struct Elements<'a, 'p> {
    node: u32,
    column: Column<'a, Checked>,
    rows: Rows<'a, 'p>,
}

/// The value of a document, or of a part of it, by a plan.
pub(super) fn run<'py>(
    py: Python<'py>,
    plan: &Plan,
    value: &Value<'_, Checked>,
    max_values: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(exact) = plan.exact_now() {
        match run_by(py, exact, value, max_values) {
            // The class itself may know how to convert it, or says what is wrong.
            Err(failure) if failure.is_mismatch() => plan.was_not_exact(),
            made => return made.map_err(|failure| failure.into_error(py)),
        }
    }
    run_by(py, plan, value, max_values).map_err(|failure| failure.into_error(py))
}

fn run_by<'py>(
    py: Python<'py>,
    plan: &Plan,
    value: &Value<'_, Checked>,
    max_values: Option<u64>,
) -> Made<'py> {
    // Programs with finalisers that Python code in this call waits for need the collector.
    let _pause = (!plan.runs_code).then(decode::CollectorPause::new);
    let columns = decode::default_budget(value.document_length());
    let allowance = decode::allowance(value, max_values);
    let mut run = Run { py, plan, values: Vec::new(), allowance, columns, depth: 0 };
    run.value(plan.root, value)
}

impl<'p, 'py> Run<'p, 'py> {
    /// Calls `make` one level deeper.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deeper<T>(&mut self, make: impl FnOnce(&mut Self) -> Typed<T>) -> Typed<T> {
        if self.depth == DEEPEST {
            return Err(too_deep(DEEPEST));
        }
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        made
    }

    #[inline]
    fn value(&mut self, at: u32, value: &Value<'_, Checked>) -> Made<'py> {
        let (py, kind) = (self.py, value.kind());
        match (self.plan.node(at), kind) {
            (Node::Str, Kind::String) => {
                let text = value.as_text_bytes()?.unwrap_or_default();
                self.allowance.text(text.len())?;
                Ok(decode::text(py, text)?.into_any())
            }
            (Node::Int, Kind::Int) => Ok(PyInt::new(py, value.as_i64().unwrap_or(0)).into_any()),
            (Node::Float, Kind::Float) => {
                Ok(PyFloat::new(py, value.as_f64().unwrap_or(0.0)).into_any())
            }
            (Node::Float, Kind::Int) => {
                Ok(PyFloat::new(py, value.as_i64().unwrap_or(0) as f64).into_any())
            }
            (Node::Bool, Kind::Bool) => {
                Ok(PyBool::new(py, value.as_bool() == Some(true)).to_owned().into_any())
            }
            (Node::None, Kind::Null) => Ok(py.None().into_bound(py)),
            (Node::Union(union), _) => self.union(union, value),
            (Node::Object(class), _) => self.object(class, value),
            (&Node::Sequence(sequence, item), _) => self.sequence(sequence, item, value),
            (Node::Any, _) => self.any(value),
            (node, _) => self.rare(node, value),
        }
    }

    #[inline(never)]
    fn any(&mut self, value: &Value<'_, Checked>) -> Made<'py> {
        Ok(decode::to_python_within(self.py, value, &mut self.allowance)?)
    }

    /// Nodes that few documents need, and values that are converted.
    #[inline(never)]
    fn rare(&mut self, node: &'p Node, value: &Value<'_, Checked>) -> Made<'py> {
        match node {
            Node::Items(items) => self.items(items, value),
            &Node::Dict(item) => self.dict(item, value),
            Node::Named(class) => self.named(class, value),
            Node::Tagged { .. } => self.tagged(node, value),
            Node::Call { inner, function } => {
                let made = self.value(*inner, value)?;
                self.call(function, &made)
            }
            _ => self.scalar(node, value),
        }
    }

    /// A value that is no container, and mismatches.
    #[inline(never)]
    fn scalar(&mut self, node: &'p Node, value: &Value<'_, Checked>) -> Made<'py> {
        let (py, kind) = (self.py, value.kind());
        match node {
            Node::Bytes if kind == Kind::Bytes => {
                let bytes = value.as_bytes()?.unwrap_or_default();
                self.allowance.text(bytes.len())?;
                Ok(error::bytes(py, bytes)?.into_any())
            }
            Node::Int if matches!(kind, Kind::Uint | Kind::NumberText) => {
                let number = decode::scalar(py, value)?;
                match number.is_instance_of::<PyInt>() {
                    true => Ok(number),
                    false => self.wanted("int", value),
                }
            }
            Node::Float if matches!(kind, Kind::Uint | Kind::NumberText | Kind::Decimal) => {
                let number = decode::scalar(py, value)?;
                self.call_type(py.get_type::<PyFloat>(), &number)
            }
            Node::Extended(kinds, _) if kinds.contains(&kind) => Ok(decode::scalar(py, value)?),
            Node::Extended(_, parse) => self.parsed(parse, value),
            Node::Literal(values, names) => {
                let found = self.any(value)?;
                for (given, stored) in values {
                    let stored = stored.bind(py);
                    if stored.get_type().is(found.get_type()) && stored.eq(&found)? {
                        return Ok(given.bind(py).clone());
                    }
                }
                self.wanted(&format!("one of {names}"), value)
            }
            Node::Enum { members, class } => self.member(members, class, value),
            Node::Int => self.lax(value, "int", |value| match value {
                Lax::Text(text) if is_integer(text) => {
                    let class = py.get_type::<PyInt>();
                    class.call1((text,)).map(Some)
                }
                Lax::Float(float) if float.fract() == 0.0 => {
                    let class = py.get_type::<PyInt>();
                    class.call1((float,)).map(Some)
                }
                _ => Ok(None),
            }),
            Node::Float => self.lax(value, "float", |value| match value {
                Lax::Text(text) => py.get_type::<PyFloat>().call1((text,)).map(Some),
                _ => Ok(None),
            }),
            Node::Bool => self.lax(value, "bool", |value| {
                let truth = match value {
                    Lax::Text(text) if text == "1" || text.eq_ignore_ascii_case("true") => true,
                    Lax::Text(text) if text == "0" || text.eq_ignore_ascii_case("false") => false,
                    Lax::Int(number @ (0 | 1)) => number == 1,
                    _ => return Ok(None),
                };
                Ok(Some(PyBool::new(py, truth).to_owned().into_any()))
            }),
            Node::None => self.lax(value, "None", |value| match value {
                Lax::Text(text) if text.eq_ignore_ascii_case("null") => {
                    Ok(Some(py.None().into_bound(py)))
                }
                _ => Ok(None),
            }),
            Node::Str => self.wanted("str", value),
            _ => self.wanted("bytes", value),
        }
    }

    /// What a decoder that is not strict makes of another kind.
    fn lax(
        &self,
        value: &Value<'_, Checked>,
        wanted: &str,
        convert: impl FnOnce(Lax<'_>) -> PyResult<Option<Bound<'py, PyAny>>>,
    ) -> Made<'py> {
        let given = match value.kind() {
            _ if self.plan.strict => None,
            Kind::String => value.as_str()?.map(|text| Lax::Text(text.trim())),
            Kind::Int => value.as_i64().map(Lax::Int),
            Kind::Float => value.as_f64().map(Lax::Float),
            _ => None,
        };
        match given.map(convert) {
            Some(Ok(Some(made))) => Ok(made),
            _ => self.wanted(wanted, value),
        }
    }

    /// The mismatch of a value, which says what it is.
    #[cold]
    fn wanted<T>(&self, wanted: &str, value: &Value<'_, Checked>) -> Typed<T> {
        let found = self.found(value)?;
        Err(Failure::mismatch(format!("{wanted} is wanted, not {found}")))
    }

    /// A value as messages show it.
    #[cold]
    fn found(&self, value: &Value<'_, Checked>) -> Typed<String> {
        Ok(match value.kind() {
            Kind::Object => "an object".to_owned(),
            Kind::Array => "an array".to_owned(),
            Kind::Null => "null".to_owned(),
            _ => {
                let value = decode::scalar(self.py, value)?;
                let class = value.get_type().name()?.to_string();
                format!("{class} {:.60}", value.repr()?.to_string())
            }
        })
    }

    fn call(&self, function: &Py<PyAny>, argument: &Bound<'py, PyAny>) -> Made<'py> {
        let made = function.bind(self.py).call1((argument,));
        made.map_err(|error| Failure::raised(self.py, error))
    }

    fn call_type(&self, class: Bound<'py, PyType>, argument: &Bound<'py, PyAny>) -> Made<'py> {
        class.call1((argument,)).map_err(|error| Failure::raised(self.py, error))
    }

    /// A date, time, decimal or UUID of what is not stored as such.
    fn parsed(&self, parse: &Parse, value: &Value<'_, Checked>) -> Made<'py> {
        let py = self.py;
        let is_decimal = parse.name == "Decimal";
        let found = match value.kind() {
            Kind::String => {
                let text = value.as_str()?.unwrap_or_default();
                if parse.name == "UUID"
                    && let Ok(id) = text.parse::<Uuid>()
                {
                    return Ok(extended::to_python(py, &Extended::Uuid(id))?);
                }
                decode::text(py, text.as_bytes())?.into_any()
            }
            Kind::NumberText | Kind::Int | Kind::Uint if is_decimal => decode::scalar(py, value)?,
            // As it is printed, not with the digits that the float has beyond.
            Kind::Float if is_decimal => decode::scalar(py, value)?.repr()?.into_any(),
            Kind::Int | Kind::Float if !self.plan.strict => {
                let Some(seconds) = &parse.from_seconds else {
                    return self.wanted(parse.name, value);
                };
                let number = decode::scalar(py, value)?;
                let made = seconds.bind(py).call1((number,));
                return made.or_else(|_| self.wanted(parse.name, value));
            }
            _ => return self.wanted(parse.name, value),
        };
        match parse.from_text.bind(py).call1((found,)) {
            Ok(made) => Ok(made),
            Err(error)
                if error.is_instance_of::<PyValueError>(py)
                    || error.is_instance_of::<PyArithmeticError>(py) =>
            {
                self.wanted(parse.name, value)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A member of an enum, by its value.
    fn member(
        &mut self,
        members: &Py<PyDict>,
        class: &Py<PyAny>,
        value: &Value<'_, Checked>,
    ) -> Made<'py> {
        let py = self.py;
        let found = self.any(value)?;
        let class = class.bind(py);
        let known = |key: &Bound<'py, PyAny>| match members.bind(py).get_item(key) {
            Err(error) if error.is_instance_of::<PyTypeError>(py) => Ok(None),
            known => known,
        };
        if let Some(member) = known(&found)? {
            return Ok(member);
        }
        if !self.plan.strict
            && let Ok(text) = found.cast::<PyString>()
            && is_integer(text.to_str()?)
            && let Some(member) = known(&py.get_type::<PyInt>().call1((text,))?)?
        {
            return Ok(member);
        }
        // Flags, and enums with `_missing_`.
        class.call1((found,)).map_err(|error| Failure::raised(py, error))
    }

    #[inline(never)]
    fn union(&mut self, union: &'p Union, value: &Value<'_, Checked>) -> Made<'py> {
        let is_integer = || value.as_number_text().is_ok_and(|text| text.is_some_and(is_integer));
        let arm = arm_of(value.kind(), is_integer).map_or(NONE, |arm| union.arms[arm]);
        if arm != NONE {
            return self.value(arm, value);
        }
        if value.kind() == Kind::String {
            let first = self.values.len();
            for &node in &union.tried {
                match self.value(node, value) {
                    Err(failure) if failure.is_mismatch() => self.values.truncate(first),
                    made => return made,
                }
            }
        }
        self.wanted(&union.names, value)
    }

    // --- arrays ---

    fn array<'a>(&self, value: &Value<'a, Checked>) -> Typed<Array<'a, Checked>> {
        match value.as_array()? {
            Some(array) => Ok(array),
            None => self.wanted("an array", value),
        }
    }

    #[inline(never)]
    fn sequence(&mut self, kind: Sequence, item: u32, value: &Value<'_, Checked>) -> Made<'py> {
        let array = self.array(value)?;
        self.allowance.values(array.len())?;
        let list = self.deeper(|run| {
            if let Some(class) = run.plan.object_arm(item)
                && let Some(table) = array.table()?
                && let Some(rows) = run.rows(class, &table)?
            {
                let elements = Elements { node: item, column: array.as_column(), rows };
                return run.elements(&elements, 0, array.len());
            }
            run.list(array.len(), |run, index| {
                let value = array.get(index)?.ok_or(Fault::from(bad_count()))?;
                run.value(item, &value)
            })
        })?;
        self.finish(kind, list)
    }

    /// A list of what `make` gives for each index.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn list(
        &mut self,
        count: usize,
        mut make: impl FnMut(&mut Self, usize) -> Made<'py>,
    ) -> Typed<Bound<'py, PyList>> {
        let py = self.py;
        // SAFETY: a new list. The garbage collector does not know it until all places are
        // filled, so that no Python code can find it before. Each index is below the length.
        unsafe {
            let list: Bound<'py, PyList> =
                Bound::from_owned_ptr_or_err(py, ffi::PyList_New(count as ffi::Py_ssize_t))?
                    .cast_into_unchecked();
            ffi::PyObject_GC_UnTrack(list.as_ptr().cast());
            for index in 0..count {
                let item = make(self, index).at(|| Step::Index(index))?.into_ptr();
                #[cfg(not(feature = "abi3"))]
                ffi::PyList_SET_ITEM(list.as_ptr(), index as ffi::Py_ssize_t, item);
                #[cfg(feature = "abi3")]
                ffi::PyList_SetItem(list.as_ptr(), index as ffi::Py_ssize_t, item);
            }
            ffi::PyObject_GC_Track(list.as_ptr().cast());
            Ok(list)
        }
    }

    fn finish(&self, kind: Sequence, list: Bound<'py, PyList>) -> Made<'py> {
        let made = match kind {
            Sequence::List => return Ok(list.into_any()),
            Sequence::Tuple => return Ok(list.to_tuple().into_any()),
            Sequence::Set => PySet::empty(self.py).and_then(|set| {
                set.call_method1("update", (list,))?;
                Ok(set.into_any())
            }),
            Sequence::FrozenSet => self.py.get_type::<PyFrozenSet>().call1((list,)),
        };
        made.map_err(|error| Failure::raised(self.py, error))
    }

    fn items(&mut self, items: &'p [u32], value: &Value<'_, Checked>) -> Made<'py> {
        let array = self.array(value)?;
        if array.len() != items.len() {
            return Err(wrong_length(items.len(), array.len()));
        }
        self.allowance.values(array.len())?;
        let list = self.deeper(|run| {
            run.list(items.len(), |run, index| {
                let value = array.get(index)?.ok_or(Fault::from(bad_count()))?;
                run.value(items[index], &value)
            })
        })?;
        Ok(list.to_tuple().into_any())
    }

    // --- objects ---

    #[inline(never)]
    fn dict(&mut self, item: u32, value: &Value<'_, Checked>) -> Made<'py> {
        let Some(object) = value.as_object()? else { return self.wanted("an object", value) };
        self.allowance.values(object.len())?;
        let dict = decode::new_dict(self.py)?;
        self.deeper(|run| {
            if let Some(class) = run.plan.object_arm(item)
                && let Some(table) = object.table()?
                && let Some(column) = object.as_column()?
                && let Some(rows) = run.rows(class, &table)?
            {
                return run.members(&dict, &object, &Elements { node: item, column, rows });
            }
            for member in object.iter() {
                let (key, value) = member?;
                // Copied first: Python code may write where the bytes are.
                run.allowance.key(key.len())?;
                let key = decode::text(run.py, key.as_bytes())?;
                let made = run.value(item, &value);
                dict.set_item(&key, made.at(|| Step::Key(key.to_string().into()))?)?;
            }
            Ok(())
        })?;
        Ok(dict.into_any())
    }

    /// The members of an object whose values are the rows of a table.
    #[inline(never)]
    fn members(
        &mut self,
        dict: &Bound<'py, PyDict>,
        object: &livebuf::Object<'_, Checked>,
        elements: &Elements<'_, 'p>,
    ) -> Typed<()> {
        // A damaged document may have rows without end.
        for row in 0..elements.column.len().min(object.places()) {
            // Copied first, as above. A row whose member was removed has no key.
            let Some(key) = object.key_of_row(row)? else { continue };
            self.allowance.key(key.len())?;
            let key = decode::text(self.py, key.as_bytes())?;
            let made = self.element(elements, row);
            dict.set_item(&key, made.at(|| Step::Key(key.to_string().into()))?)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn object(&mut self, class: &'p Class, value: &Value<'_, Checked>) -> Made<'py> {
        let Some(object) = value.as_object()? else {
            let found = self.found(value)?;
            return Err(Failure::mismatch(format!("{} wants an object, not {found}", class.name)));
        };
        if class.tag.is_some() || class.forbids_unknown {
            self.look_over(class, &object)?;
        }
        self.made_of(class, |run, _, field| match object.get(field.key.get())? {
            Some(value) => {
                let made = run.value(field.node, &value);
                made.at(|| Step::Key(field.key.text().into())).map(Some)
            }
            None => run.missing(class, field),
        })
    }

    /// The object of the values that `find` gives for each field.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn made_of(
        &mut self,
        class: &'p Class,
        mut find: impl FnMut(&mut Self, usize, &'p Field) -> Typed<Option<Bound<'py, PyAny>>>,
    ) -> Made<'py> {
        self.allowance.values(class.fields.len())?;
        let first = self.values.len();
        self.deeper(|run| {
            for (index, field) in class.fields.iter().enumerate() {
                let found = find(run, index, field)?;
                run.values.push(found);
            }
            Ok(())
        })?;
        self.build(class, first)
    }

    /// A value must be the class's tag.
    fn check_tag(
        &mut self,
        class: &Class,
        tag: &Py<PyAny>,
        value: &Value<'_, Checked>,
        step: impl FnOnce() -> Step,
    ) -> Typed<()> {
        if self.any(value)?.eq(tag)? {
            return Ok(());
        }
        let wanted = format!("the tag {} of {}", tag.bind(self.py).repr()?, class.name);
        self.wanted(&wanted, value).at(step)
    }

    /// Whether an object has the class's tag, and no other fields where it must not.
    #[inline(never)]
    fn look_over(&mut self, class: &'p Class, object: &livebuf::Object<'_, Checked>) -> Typed<()> {
        if let Some((key, tag)) = &class.tag
            && let Some(value) = object.get(key.get())?
        {
            self.check_tag(class, tag, &value, || Step::Key(key.text().into()))?;
        }
        if class.forbids_unknown {
            self.allowance.values(object.len())?;
            for key in object.keys() {
                let key = key?;
                let is_tag = class.tag.as_ref().is_some_and(|(tag, _)| tag.text() == key);
                if !is_tag && !class.fields.iter().any(|field| field.key.text() == key) {
                    let message =
                        format!("{} has no field {key:?}, and forbids others", class.name);
                    return Err(Failure::mismatch(message));
                }
            }
        }
        Ok(())
    }

    /// What a field gets that the document does not have. A model gets it in the end, since it knows
    /// which fields were given.
    #[inline]
    fn missing(&self, class: &Class, field: &Field) -> Typed<Option<Bound<'py, PyAny>>> {
        match &field.missing {
            Missing::Value(_) | Missing::Factory(_) if class.build == Build::Model => Ok(None),
            _ => self.default(class, field),
        }
    }

    #[inline]
    fn default(&self, class: &Class, field: &Field) -> Typed<Option<Bound<'py, PyAny>>> {
        match &field.missing {
            Missing::Left => Ok(None),
            Missing::Value(value) => Ok(Some(value.bind(self.py).clone())),
            Missing::Factory(factory) => {
                let made = factory.bind(self.py).call0();
                made.map(Some).map_err(|error| Failure::raised(self.py, error))
            }
            Missing::Required => Err(Failure::mismatch(format!(
                "{} wants a field '{}'",
                class.name,
                field.key.text()
            ))),
        }
    }

    /// The object whose fields' values were collected last.
    #[inline]
    fn build(&mut self, class: &'p Class, first: usize) -> Made<'py> {
        let py = self.py;
        match class.build {
            Build::Direct => {
                let made = new_object(class.class.bind(py))?;
                for (field, value) in class.fields.iter().zip(self.values.drain(first..)) {
                    let Some(value) = value else { continue };
                    // SAFETY: live objects. As the class's `__init__` does, which sets these
                    // attributes and does nothing else.
                    let set = unsafe {
                        let name = field.name.as_ptr();
                        ffi::PyObject_GenericSetAttr(made.as_ptr(), name, value.as_ptr())
                    };
                    if set != 0 {
                        return Err(PyErr::fetch(py).into());
                    }
                }
                Ok(made)
            }
            Build::Model => self.model(class, first),
            Build::Call => self.called(class, first),
            Build::Tuple => {
                let values = self.values.drain(first..).flatten().collect::<Vec<_>>();
                let values = PyTuple::new(py, values)?;
                new_tuple(class.class.bind(py), &values)
            }
            Build::Dict => {
                let dict = decode::new_dict(py)?;
                for (field, value) in class.fields.iter().zip(self.values.drain(first..)) {
                    if let Some(value) = value {
                        dict.set_item(&field.name, value)?;
                    }
                }
                Ok(dict.into_any())
            }
        }
    }

    /// A model of pydantic that has nothing but its fields, as pydantic itself makes it.
    fn model(&mut self, class: &'p Class, first: usize) -> Made<'py> {
        let py = self.py;
        let given = match &class.all_given {
            Some(all) if self.values[first..].iter().all(Option::is_some) => {
                // SAFETY: a live frozenset, of which a set is made.
                let set = unsafe { ffi::PySet_New(all.as_ptr()) };
                // SAFETY: a new object, or none and an exception.
                unsafe { Bound::from_owned_ptr_or_err(py, set)? }
            }
            _ => {
                let pairs = class.fields.iter().zip(&self.values[first..]);
                let names =
                    pairs.filter(|(_, value)| value.is_some()).map(|(field, _)| &field.name);
                PySet::new(py, names)?.into_any()
            }
        };
        let fields = decode::new_dict(py)?;
        for (index, field) in class.fields.iter().enumerate() {
            let value = match self.values[first + index].take() {
                None => self.default(class, field)?,
                value => value,
            };
            fields.set_item(&field.name, value)?;
        }
        self.values.truncate(first);
        let made = new_object(class.class.bind(py))?;
        for (name, value) in [
            (intern!(py, "__dict__"), fields.into_any()),
            (intern!(py, "__pydantic_fields_set__"), given),
            (intern!(py, "__pydantic_extra__"), py.None().into_bound(py)),
            (intern!(py, "__pydantic_private__"), py.None().into_bound(py)),
        ] {
            // SAFETY: live objects. pydantic sets these attributes in the same way.
            let set = unsafe {
                ffi::PyObject_GenericSetAttr(made.as_ptr(), name.as_ptr(), value.as_ptr())
            };
            if set != 0 {
                return Err(PyErr::fetch(py).into());
            }
        }
        Ok(made)
    }

    /// The object that the class makes, called with the fields that there are.
    #[inline]
    fn called(&mut self, class: &'p Class, first: usize) -> Made<'py> {
        let py = self.py;
        let values = self.values.get(first..).unwrap_or_default();
        let made = match values.iter().all(Option::is_some) {
            true => {
                let names = class.names.as_ref().map(|names| names.bind_borrowed(py));
                call(class.class.bind(py), values, class.by_position, names)
            }
            // Those after the first gap are given by name.
            false => {
                let by_position = values.iter().take(class.by_position);
                let by_position = by_position.take_while(|value| value.is_some()).count();
                let behind = class.fields.iter().zip(values).skip(by_position);
                let behind = behind.filter(|(_, value)| value.is_some());
                let names = PyTuple::new(
                    py,
                    behind.map(|(field, _)| field.name.bind(py)).collect::<Vec<_>>(),
                )?;
                let names = (!names.is_empty()).then_some(names);
                let names = names.as_ref().map(|names| names.as_borrowed());
                call(class.class.bind(py), values, by_position, names)
            }
        };
        let made = made.map_err(|error| Failure::raised(py, error));
        self.values.truncate(first);
        made
    }

    /// An object from an array of its fields' values. A `NamedTuple` may be an object, too.
    #[inline(never)]
    fn named(&mut self, class: &'p Class, value: &Value<'_, Checked>) -> Made<'py> {
        // Where Structs are arrays, no object is one of them.
        let is_tuple = class.class.bind(self.py).is_subclass_of::<PyTuple>()?;
        if value.kind() == Kind::Object && is_tuple {
            return self.object(class, value);
        }
        let array = self.array(value)?;
        let tagged = usize::from(class.tag.is_some());
        if let Some((_, tag)) = &class.tag {
            let Some(value) = array.first()? else {
                return self.wanted(&format!("an array for {}", class.name), value);
            };
            self.check_tag(class, tag, &value, || Step::Index(0))?;
        }
        let most = class.fields.len() + tagged;
        if (is_tuple || class.forbids_unknown) && array.len() > most {
            return Err(wrong_length(most, array.len()));
        }
        self.made_of(class, |run, index, field| match array.get(index + tagged)? {
            Some(value) => {
                let made = run.value(field.node, &value);
                made.at(|| Step::Index(index + tagged)).map(Some)
            }
            None if matches!(field.missing, Missing::Required) => {
                Err(wrong_length(most, array.len()))
            }
            None => run.missing(class, field),
        })
    }

    /// One of several Structs.
    #[inline(never)]
    fn tagged(&mut self, node: &'p Node, value: &Value<'_, Checked>) -> Made<'py> {
        let Node::Tagged { key, in_array, arms } = node else { return self.any(value) };
        let found = match in_array {
            true => self.array(value)?.first()?,
            false => match value.as_object()? {
                Some(object) => object.get(key.get())?,
                None => return self.wanted("an object", value),
            },
        };
        let step = || match in_array {
            true => Step::Index(0),
            false => Step::Key(key.text().into()),
        };
        let Some(found) = found else {
            let message = format!("a tag '{}' is wanted", key.text());
            return Err(Failure::mismatch(message));
        };
        let tag = match found.kind() {
            Kind::String | Kind::Int => decode::scalar(self.py, &found)?,
            _ => return self.wanted("a tag", &found).at(step),
        };
        match arms.bind(self.py).get_item(tag)? {
            Some(arm) => self.value(arm.extract()?, value),
            None => {
                let known = arms.bind(self.py).keys().repr()?.to_string();
                self.wanted(&format!("one of the tags {known}"), &found).at(step)
            }
        }
    }

    // --- rows of tables ---

    /// Where the fields of a class are in a table. `None` where its rows must be looked at one
    /// by one.
    fn rows<'a>(
        &mut self,
        class: &'p Class,
        table: &Table<'a, Checked>,
    ) -> Typed<Option<Rows<'a, 'p>>> {
        if class.tag.is_some() || class.forbids_unknown || table.has_further_fields() {
            return Ok(None);
        }
        let exceeded = livebuf::Error::new(ErrorKind::BudgetExceeded, 0);
        self.columns = self.columns.checked_sub(1 + class.fields.len() as u64).ok_or(exceeded)?;
        let mut sources = Vec::with_capacity(class.fields.len());
        self.deeper(|run| {
            for field in &class.fields {
                sources.push(match table.column(field.key.get())? {
                    None => Source::Absent,
                    Some(column) => run.source(field.node, column)?,
                });
            }
            Ok(())
        })?;
        Ok(Some(Rows { class, sources }))
    }

    fn source<'a>(&mut self, node: u32, column: Column<'a, Checked>) -> Typed<Source<'a, 'p>> {
        match column.column_type() {
            ColumnType::Struct => {
                if let Some(class) = self.plan.object_arm(node)
                    && let Some(table) = column.table()?
                    && let Some(rows) = self.rows(class, &table)?
                {
                    return Ok(Source::Rows(column, Box::new(rows)));
                }
            }
            ColumnType::List | ColumnType::FixedList => {
                if let Some((sequence, item)) = self.plan.array_arm(node)
                    && let Some(class) = self.plan.object_arm(item)
                    && let Some(elements) = column.elements()?
                    && let Some(table) = elements.table()?
                    && let Some(rows) = self.rows(class, &table)?
                {
                    let elements = Elements { node: item, column: elements, rows };
                    return Ok(Source::Lists(column, sequence, Box::new(elements)));
                }
            }
            _ => {}
        }
        Ok(Source::Values(column))
    }

    /// A list of rows.
    fn elements(
        &mut self,
        elements: &Elements<'_, 'p>,
        first: usize,
        count: usize,
    ) -> Typed<Bound<'py, PyList>> {
        if elements.column.is_complete() && first + count > elements.column.len() {
            return Err(bad_count().into());
        }
        self.list(count, |run, index| run.element(elements, first + index))
    }

    /// One of them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn element(&mut self, elements: &Elements<'_, 'p>, row: usize) -> Made<'py> {
        let Elements { node, column, rows } = elements;
        if column.is_complete() {
            return self.row(rows, row);
        }
        let value = column.get(row)?.ok_or(Fault::from(bad_count()))?;
        match value.kind() {
            Kind::Object => self.row(rows, row),
            _ => self.value(*node, &value),
        }
    }

    /// An object of a row that is there.
    #[inline(never)]
    fn row(&mut self, rows: &Rows<'_, 'p>, row: usize) -> Made<'py> {
        let class = rows.class;
        self.allowance.values(class.fields.len())?;
        let first = self.values.len();
        for (field, source) in class.fields.iter().zip(&rows.sources) {
            let found = match source {
                Source::Absent => None,
                Source::Values(column) => match column.get(row)? {
                    Some(value) => {
                        let made = self.value(field.node, &value);
                        Some(made.at(|| Step::Key(field.key.text().into()))?)
                    }
                    None => None,
                },
                _ => self.nested(field, source, row).at(|| Step::Key(field.key.text().into()))?,
            };
            let found = match found {
                None => self.missing(class, field)?,
                found => found,
            };
            self.values.push(found);
        }
        self.build(class, first)
    }

    /// A field of a row that is an object or an array of them.
    fn nested(
        &mut self,
        field: &Field,
        source: &Source<'_, 'p>,
        row: usize,
    ) -> Typed<Option<Bound<'py, PyAny>>> {
        let (Source::Rows(column, _) | Source::Lists(column, ..)) = source else {
            return Ok(None);
        };
        if !column.is_complete() {
            match column.get(row)? {
                None => return Ok(None),
                Some(value) if !matches!(value.kind(), Kind::Object | Kind::Array) => {
                    return self.value(field.node, &value).map(Some);
                }
                Some(_) => {}
            }
        }
        match source {
            Source::Rows(_, rows) => self.deeper(|run| run.row(rows, row)).map(Some),
            Source::Lists(column, sequence, elements) => {
                let Some(bounds) = column.bounds(row)? else { return Err(bad_count().into()) };
                self.allowance.values(bounds.len())?;
                let list = self.deeper(|run| run.elements(elements, bounds.start, bounds.len()))?;
                self.finish(*sequence, list).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// A value that may be converted.
enum Lax<'a> {
    Text(&'a str),
    Int(i64),
    Float(f64),
}

/// Whether text is digits, with or without a sign.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cold]
fn wrong_length(wanted: usize, found: usize) -> Box<Failure> {
    Failure::mismatch(format!("an array of {wanted} is wanted, not one of {found}"))
}

#[cold]
fn bad_count() -> livebuf::Error {
    livebuf::Error::new(ErrorKind::BadCount, 0)
}

/// `object.__new__(class)`.
#[inline]
fn new_object<'py>(class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    // SAFETY: the slot of `object`, which all classes derive from, called as `object.__new__`
    // does; the plan made sure that the class has no other.
    unsafe {
        let base = &raw mut ffi::PyBaseObject_Type;
        let slot = ffi::PyType_GetSlot(base, ffi::Py_tp_new);
        let new: ffi::newfunc = std::mem::transmute(slot);
        let nothing = PyTuple::empty(py);
        let made = new(class.as_type_ptr(), nothing.as_ptr(), std::ptr::null_mut());
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// `tuple.__new__(class, values)`.
fn new_tuple<'py>(class: &Bound<'py, PyType>, values: &Bound<'py, PyTuple>) -> Made<'py> {
    let py = class.py();
    let arguments = PyTuple::new(py, [values])?;
    // SAFETY: the slot of `tuple`, which the class derives from.
    unsafe {
        let base = &raw mut ffi::PyTuple_Type;
        let slot = ffi::PyType_GetSlot(base, ffi::Py_tp_new);
        let new: ffi::newfunc = std::mem::transmute(slot);
        let made = new(class.as_type_ptr(), arguments.as_ptr(), std::ptr::null_mut());
        Ok(Bound::from_owned_ptr_or_err(py, made)?)
    }
}

/// Calls a class with the values that are there: some by position, the others by these names.
#[cfg(not(feature = "abi3"))]
#[inline]
fn call<'py>(
    class: &Bound<'py, PyType>,
    values: &[Option<Bound<'py, PyAny>>],
    by_position: usize,
    names: Option<Borrowed<'_, 'py, PyTuple>>,
) -> PyResult<Bound<'py, PyAny>> {
    const FEW: usize = 16;
    let (mut few, many);
    let given = values.iter().flatten().map(Bound::as_ptr);
    // The place before the first is the callee's to use.
    let arguments: &[*mut ffi::PyObject] = match values.len() < FEW {
        true => {
            few = [std::ptr::null_mut(); FEW];
            for (place, pointer) in few[1..].iter_mut().zip(given) {
                *place = pointer;
            }
            &few
        }
        false => {
            many = std::iter::once(std::ptr::null_mut()).chain(given).collect::<Vec<_>>();
            &many
        }
    };
    // SAFETY: live objects: `by_position` of them, and after them as many as there are names. The
    // caller keeps them.
    unsafe {
        let made = ffi::PyObject_Vectorcall(
            class.as_ptr(),
            arguments.as_ptr().add(1),
            by_position | ffi::PY_VECTORCALL_ARGUMENTS_OFFSET,
            names.map_or(std::ptr::null_mut(), |names| names.as_ptr()),
        );
        Bound::from_owned_ptr_or_err(class.py(), made)
    }
}

#[cfg(feature = "abi3")]
fn call<'py>(
    class: &Bound<'py, PyType>,
    values: &[Option<Bound<'py, PyAny>>],
    by_position: usize,
    names: Option<Borrowed<'_, 'py, PyTuple>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let mut given = values.iter().flatten();
    let arguments = PyTuple::new(py, given.by_ref().take(by_position).collect::<Vec<_>>())?;
    let named = PyDict::new(py);
    if let Some(names) = names {
        for (name, value) in names.iter().zip(given) {
            named.set_item(name, value)?;
        }
    }
    class.call(arguments, Some(&named))
}
