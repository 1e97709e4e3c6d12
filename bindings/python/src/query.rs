//! JSONPath (RFC 9535): `livebuf.Query`, its matches, and edits of all matches.
#![allow(unsafe_code)]

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::vec;

use livebuf::{Checked, Editor, Kind, NodeId, Storage, Value};
use livebuf_query::{Location, Step as Key};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::decode::{self, CollectorPause};
use crate::edit::edit;
use crate::encode::Given;
use crate::error::{self, Fault, Held};
use crate::history::Step;
use crate::memory::Memory;
use crate::patch::snapshot;
use crate::view::{Above, Array, Document, Object, State, child, is_container};

/// A compiled JSONPath query (RFC 9535), for `query`, `set_all`, `remove_all` and `update_all`.
///
/// These take the text, too; compiling it once saves time. `budget` is the most steps that one
/// search may take; by default it grows with the document. Raises `QueryError`.
///
/// >>> import livebuf
/// >>> doc = livebuf.from_json('{"laps": [{"sec": 88.4}, {"sec": 87.2}]}')
/// >>> fast = livebuf.Query("$.laps[?@.sec < 88].sec")
/// >>> [(match.path, match.value) for match in doc.query(fast)]
/// [("$['laps'][1]['sec']", 87.2)]
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Query {
    query: Arc<livebuf_query::Query>,
    budget: Option<u64>,
}

/// The query that a caller gave: a `Query`, or text.
fn compiled(query: &Bound<'_, PyAny>) -> PyResult<Arc<livebuf_query::Query>> {
    if let Ok(query) = query.cast::<Query>() {
        return Ok(Arc::clone(&query.get().query));
    }
    let Ok(text) = query.cast::<PyString>() else {
        return Err(error::expected("a Query or its text", query));
    };
    parse(query.py(), text.to_str()?).map(Arc::new)
}

fn parse(py: Python<'_>, text: &str) -> PyResult<livebuf_query::Query> {
    livebuf_query::Query::parse(text).map_err(|failure| error::query(py, &failure))
}

/// The text, and the budget.
type Pickled = (String, Option<u64>);

#[pymethods]
impl Query {
    #[new]
    #[pyo3(signature = (text, *, budget=None))]
    fn new(py: Python<'_>, text: &str, budget: Option<u64>) -> PyResult<Query> {
        let query = parse(py, text)?;
        let query = match budget {
            Some(budget) => query.with_budget(budget),
            None => query,
        };
        Ok(Query { query: Arc::new(query), budget })
    }

    fn __str__(&self) -> &str {
        self.query.as_str()
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<String> {
        let text = PyString::new(py, self.query.as_str()).repr()?;
        Ok(match self.budget {
            Some(budget) => format!("livebuf.Query({text}, budget={budget})"),
            None => format!("livebuf.Query({text})"),
        })
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> Py<PyAny> {
        match other.cast::<Query>() {
            Ok(other) => {
                let other = other.get();
                let equal =
                    (self.query.as_str(), self.budget) == (other.query.as_str(), other.budget);
                pyo3::types::PyBool::new(py, equal).to_owned().into_any().unbind()
            }
            Err(_) => py.NotImplemented(),
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.query.as_str(), self.budget).hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let restore = slf.py().import("livebuf._livebuf")?.getattr("_query")?;
        Ok((restore, (slf.get().query.as_str().to_owned(), slf.get().budget)))
    }
}

/// A query of a pickle.
#[pyfunction]
pub(crate) fn _query(py: Python<'_>, text: &str, budget: Option<u64>) -> PyResult<Query> {
    Query::new(py, text, budget)
}

fn owned(steps: &[Key<'_>]) -> Vec<Step> {
    let step = |step: &Key<'_>| match *step {
        Key::Key(key) => Step::Key(key.into()),
        Key::Index(index) => Step::Index(index),
    };
    steps.iter().map(step).collect()
}

/// One match: its value, and its place.
///
/// `value` is a view for objects and arrays, as by `doc[key]`.
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Match {
    value: Py<PyAny>,
    steps: Vec<Step>,
}

impl Match {
    fn with_location<R>(&self, look: impl FnOnce(&Location<'_>) -> R) -> R {
        let steps = self.steps.iter().map(|step| match step {
            Step::Key(key) => Key::Key(key),
            Step::Index(index) => Key::Index(*index),
        });
        look(&steps.collect())
    }
}

#[pymethods]
impl Match {
    /// The value; a view, if it is an object or array.
    #[getter]
    fn value(&self, py: Python<'_>) -> Py<PyAny> {
        self.value.clone_ref(py)
    }

    /// The normalized path (RFC 9535): `$['laps'][1]`.
    #[getter]
    fn path(&self) -> String {
        self.with_location(|place| place.to_string())
    }

    /// The JSON pointer (RFC 6901): `/laps/1`. It leads from the document or view that was queried.
    #[getter]
    fn pointer(&self) -> String {
        self.with_location(|place| place.to_pointer())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<livebuf.Match {}: {}>", self.path(), self.value.bind(py).repr()?))
    }
}

/// Where a query begins: at a document's root, or at a view.
enum Base {
    Root,
    Object(Py<Object>),
    Array(Py<Array>),
}

impl Base {
    /// The container, if it is one; `None` for a scalar root.
    fn node(&self, py: Python<'_>, state: &State) -> Held<Option<NodeId>> {
        match self {
            Base::Root => Ok(state.editor()?.root_id()),
            Base::Object(object) => object.get().view.node(py, state).map(Some),
            Base::Array(array) => array.get().view.node(py, state).map(Some),
        }
    }

    fn value<'a>(&self, py: Python<'_>, state: &'a State) -> Held<Value<'a>> {
        let editor = state.whole()?;
        match (self, self.node(py, state)?) {
            (Base::Root, _) | (_, None) => Ok(editor.doc().root()),
            (_, Some(node)) => Ok(editor.value(node)?),
        }
    }

    /// What is above the children: the view, or nothing where there is none of the root.
    fn above(&self, py: Python<'_>, step: &Step) -> Above {
        match (self, step) {
            (Base::Object(object), Step::Key(key)) => {
                Above::Object(Some(object.clone_ref(py)), PyString::new(py, key).unbind())
            }
            (Base::Array(array), Step::Index(index)) => {
                Above::Array(Some(array.clone_ref(py)), *index)
            }
            (_, Step::Key(key)) => Above::Object(None, PyString::new(py, key).unbind()),
            (_, Step::Index(index)) => Above::Array(None, *index),
        }
    }
}

/// The value at a place, as Python has it. Views are made of all containers on the way.
fn at<'py>(
    py: Python<'py>,
    state: &State,
    document: &Bound<'py, Document>,
    base: &Base,
    steps: &[Step],
) -> Held<Bound<'py, PyAny>> {
    const GONE: Fault = Fault::Stale("its place is gone");
    let _pause = CollectorPause::new();
    let editor = state.whole()?;
    let Some(mut node) = base.node(py, state)? else {
        return decode::scalar(py, &editor.doc().root());
    };
    let mut view = match base {
        Base::Root => None,
        Base::Object(object) => Some(object.bind(py).clone().into_any()),
        Base::Array(array) => Some(array.bind(py).clone().into_any()),
    };
    for (depth, step) in steps.iter().enumerate() {
        let above = editor.value(node)?;
        let value = match step {
            Step::Key(key) => above.get(&**key)?,
            Step::Index(index) => above.get(*index)?,
        };
        let value = value.ok_or(GONE)?;
        if !is_container(value.kind()) {
            return match depth + 1 == steps.len() {
                true => decode::scalar(py, &value),
                false => Err(GONE),
            };
        }
        let under = match &view {
            Some(view) => {
                let parent = match view.cast::<Object>() {
                    Ok(object) => Base::Object(object.clone().unbind()),
                    Err(_) => match view.cast::<Array>() {
                        Ok(array) => Base::Array(array.clone().unbind()),
                        Err(_) => return Err(GONE),
                    },
                };
                parent.above(py, step)
            }
            None => base.above(py, step),
        };
        node = editor.handle_of(&value, node).ok_or(GONE)?;
        view = Some(child(py, state, document, (value.kind(), node), under)?);
    }
    match view {
        Some(view) => Ok(view),
        None => {
            let kind: Kind = editor.doc().root().kind();
            child(py, state, document, (kind, node), Above::Nothing)
        }
    }
}

type Walk = livebuf_query::Matches<'static, 'static, Checked>;

/// How far a search is.
enum Progress {
    /// It goes on in the document's bytes. With it, where they lie.
    Walking(Walk, *const [u8]),
    /// Places that were found already.
    Found(vec::IntoIter<Vec<Step>>),
    Ended,
}

// SAFETY: a walk holds the bytes of a document, the query, and places in both. It is used by one
// thread at a time, under a mutex.
unsafe impl Send for Progress {}

/// The matches of a query, found one after the other as you ask for them.
///
/// After an edit of the document the next one raises `StaleError`. To edit as you go, take
/// `list(...)` of the matches first, or use `set_all`, `remove_all` or `update_all`.
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Matches {
    // It borrows from the query, so it is dropped first.
    progress: Mutex<Progress>,
    query: Arc<livebuf_query::Query>,
    document: Py<Document>,
    base: Base,
    /// Count of the document's edits when the search began.
    edits: u64,
}

impl Matches {
    fn new(
        document: &Bound<'_, Document>,
        state: &State,
        base: Base,
        query: Arc<livebuf_query::Query>,
    ) -> Held<Matches> {
        let py = document.py();
        let value = base.value(py, state)?;
        let memory = state.editor()?.storage();
        let progress = if memory.is_bytes() {
            // SAFETY: the walk goes on only while the bytes are the same, as `next` checks, and
            // while the query lives, which this object keeps. Nothing else is reached through it.
            let (query, value) = unsafe {
                let query: *const livebuf_query::Query = &*query;
                (&*query, std::mem::transmute::<Value<'_>, Value<'static>>(value))
            };
            Progress::Walking(query.find(value), memory.bytes())
        } else {
            // Others may write this memory, so no place in it may be kept from call to call.
            let places: Vec<Vec<Step>> = query
                .find(value)
                .map(|found| found.map(|found| owned(found.location().steps())))
                .collect::<livebuf::Result<_>>()?;
            Progress::Found(places.into_iter())
        };
        let (progress, document) = (Mutex::new(progress), document.clone().unbind());
        Ok(Matches { progress, query, document, base, edits: state.edits })
    }

    fn next(&self, py: Python<'_>) -> Held<Option<Match>> {
        let document = self.document.bind(py);
        let state = document.get().lock(py)?;
        let editor = state.whole()?;
        if state.edits != self.edits {
            return Err(Fault::Edited);
        }
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = match &mut *progress {
            Progress::Ended => return Ok(None),
            Progress::Found(places) => places.next(),
            Progress::Walking(walk, bytes) => {
                if !std::ptr::eq(*bytes, editor.storage().bytes()) {
                    return Err(Fault::Edited);
                }
                // The bytes are a `bytes` object's, which nobody else can write. Each edit of this
                // document counts, and while the lock is held there is none.
                match walk.next().transpose() {
                    Ok(Some(found)) => {
                        let steps = owned(found.location().steps());
                        let value = found.value();
                        if !is_container(value.kind()) {
                            let _pause = CollectorPause::new();
                            let value = decode::scalar(py, &value)?.unbind();
                            return Ok(Some(Match { value, steps }));
                        }
                        Some(steps)
                    }
                    Ok(None) => None,
                    Err(failure) => {
                        *progress = Progress::Ended;
                        return Err(failure.into());
                    }
                }
            }
        };
        let Some(steps) = steps else {
            *progress = Progress::Ended;
            return Ok(None);
        };
        let value = at(py, &state, document, &self.base, &steps)?.unbind();
        Ok(Some(Match { value, steps }))
    }
}

#[pymethods]
impl Matches {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Match>> {
        Ok(self.next(py)?)
    }

    /// The values of all matches as plain Python objects, in one go and without their places,
    /// which is faster.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let state = self.document.get().lock(py)?;
        if state.edits != self.edits {
            return Err(Fault::Edited.into());
        }
        let gather = || -> Held<Bound<'py, PyList>> {
            let value = self.base.value(py, &state)?;
            let limit = decode::default_budget(value.document_length());
            let _pause = CollectorPause::new();
            let list = PyList::empty(py);
            for value in self.query.values(value) {
                list.append(decode::to_python(py, &value?, limit)?)?;
            }
            Ok(list)
        };
        let gathered = gather();
        drop(state);
        Ok(gathered?)
    }

    fn __repr__(&self) -> String {
        format!("<livebuf.Matches of {}>", self.query.as_str())
    }
}

/// The matches in a document.
pub(crate) fn query_document(
    document: &Bound<'_, Document>,
    query: &Bound<'_, PyAny>,
) -> PyResult<Matches> {
    let query = compiled(query)?;
    let state = document.get().lock(document.py())?;
    Ok(Matches::new(document, &state, Base::Root, query)?)
}

/// The matches below an object.
pub(crate) fn query_object(
    object: &Bound<'_, Object>,
    query: &Bound<'_, PyAny>,
) -> PyResult<Matches> {
    let query = compiled(query)?;
    object.get().view.reach(object.py(), |document, state, _| {
        Matches::new(document, state, Base::Object(object.clone().unbind()), query)
    })
}

/// The matches below an array.
pub(crate) fn query_array(array: &Bound<'_, Array>, query: &Bound<'_, PyAny>) -> PyResult<Matches> {
    let query = compiled(query)?;
    array.get().view.reach(array.py(), |document, state, _| {
        Matches::new(document, state, Base::Array(array.clone().unbind()), query)
    })
}

/// Edits all matches. Answers how many there were.
fn edit_all(
    document: &Bound<'_, Document>,
    edits: Option<u64>,
    mut work: impl FnMut(&mut Editor<Memory>) -> Held<usize>,
) -> PyResult<usize> {
    let (py, document) = (document.py(), document.get());
    let mut state = document.lock(py)?;
    if edits.is_some_and(|edits| edits != state.edits) {
        return Err(Fault::Edited.into());
    }
    document.begin_edit(py, &mut state)?;
    let count = edit(&mut state, |editor| work(editor))?;
    if count > 0 {
        Document::settle_whole(&mut state);
    }
    Ok(count)
}

pub(crate) fn set_all(
    document: &Bound<'_, Document>,
    query: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<usize> {
    let (query, given) = (compiled(query)?, Given::of(value)?);
    edit_all(document, None, |editor| Ok(livebuf_query::set_all(editor, &query, given.value())?))
}

pub(crate) fn remove_all(
    document: &Bound<'_, Document>,
    query: &Bound<'_, PyAny>,
) -> PyResult<usize> {
    let query = compiled(query)?;
    edit_all(document, None, |editor| Ok(livebuf_query::remove_all(editor, &query)?))
}

/// Calls the function with each match while no lock is held, then sets all in one transaction.
///
/// Where a match lies within another, the outer one must be seen with the inner one changed. So
/// the function then gets values of a copy, which is edited along the way.
pub(crate) fn update_all(
    document: &Bound<'_, Document>,
    query: &Bound<'_, PyAny>,
    function: &Bound<'_, PyAny>,
) -> PyResult<usize> {
    let (py, query) = (document.py(), compiled(query)?);
    let (places, edits) = {
        let state = document.get().lock(py)?;
        let root = state.whole()?.doc().root();
        let found = query.find(root).map(|found| found.map(|found| found.into_location()));
        let found = found.collect::<livebuf::Result<Vec<Location<'_>>>>();
        let mut found = found.map_err(Fault::Core)?;
        found.sort_unstable();
        found.dedup();
        // The deepest and last first, as in the core.
        let places = found.iter().rev().map(|place| (owned(place.steps()), place.to_pointer()));
        (places.collect::<Vec<_>>(), state.edits)
    };
    let is_nested = places.windows(2).any(|pair| pair[0].0.starts_with(&pair[1].0));
    let copy = match is_nested {
        true => {
            let copy = snapshot(document.as_any())?;
            let mut copy = Document::owned(py, &copy)?;
            copy.source = None;
            Some(Bound::new(py, copy)?)
        }
        false => None,
    };
    if document.get().lock(py)?.edits != edits {
        return Err(Fault::Edited.into());
    }
    let mut updates = Vec::new();
    for (steps, pointer) in &places {
        let seen = copy.as_ref().unwrap_or(document);
        let value = {
            let state = seen.get().lock(py)?;
            if copy.is_none() && state.edits != edits {
                return Err(Fault::Edited.into());
            }
            at(py, &state, seen, &Base::Root, steps)
        }?;
        let new = function.call1((&value,))?;
        if new.is(&value) {
            continue;
        }
        if let Some(copy) = &copy {
            match pointer.as_str() {
                "" => copy.setattr("root", &new)?,
                _ => copy.call_method1("set_pointer", (pointer, &new)).map(drop)?,
            }
        }
        updates.push((pointer, new));
    }
    let given: Vec<(&String, Given<'_>)> = updates
        .iter()
        .map(|(pointer, new)| Ok((*pointer, Given::of(new)?)))
        .collect::<PyResult<_>>()?;
    if given.is_empty() {
        return Ok(0);
    }
    edit_all(document, Some(edits), |editor| {
        let set = editor.transaction(|editor| {
            for (pointer, new) in &given {
                editor.set_pointer(pointer, new.value())?;
            }
            Ok::<usize, livebuf::Error>(given.len())
        });
        Ok(set?)
    })
}
