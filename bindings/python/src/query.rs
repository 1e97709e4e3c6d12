//! JSONPath (RFC 9535): `livebuf.Query`, its matches, and edits of all matches.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::vec;

use livebuf::{Checked, Editor, ErrorKind, Kind, NodeId, Storage, Value};
use livebuf_query::{Location, Step as Key};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::decode::{self, CollectorPause};
use crate::edit::edit;
use crate::encode::Given;
use crate::error::{self, Fault, Held};
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
    livebuf_query::Query::parse(text)
        .map(|query| query.with_interrupt(is_interrupted))
        .map_err(|failure| error::query(py, &failure))
}

thread_local! {
    /// When this thread last let others run.
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Ctrl-C ended a search of this thread.
    static INTERRUPTED: Cell<bool> = const { Cell::new(false) };
}

/// How long a search goes on before it lets other threads run, and looks for Ctrl-C.
const TURN: Duration = Duration::from_millis(5);

/// Lets other threads run, and answers whether there was Ctrl-C. A search has the document's lock,
/// so no handler may run: that waits until the lock was given back.
fn is_interrupted() -> bool {
    let now = Instant::now();
    if ASKED.get().is_some_and(|asked| now - asked < TURN) {
        return false;
    }
    let pressed = Python::attach(|py| {
        py.detach(|| ());
        // SAFETY: this thread is attached. It answers 0 in all threads but the main one.
        unsafe { ffi::PyOS_InterruptOccurred() != 0 }
    });
    ASKED.set(Some(Instant::now()));
    INTERRUPTED.set(pressed || INTERRUPTED.get());
    pressed
}

/// Does work that Ctrl-C may end, and again where the handler of that goes on.
fn uninterrupted<R>(py: Python<'_>, mut work: impl FnMut() -> PyResult<R>) -> PyResult<R> {
    loop {
        INTERRUPTED.set(false);
        let done = work();
        if !INTERRUPTED.replace(false) {
            return done;
        }
        // SAFETY: this thread is attached. The signal was taken, and comes once more.
        unsafe { ffi::PyErr_SetInterrupt() };
        py.check_signals()?;
    }
}

/// An error of a search: that of a budget says how to set it.
fn search(error: livebuf::Error) -> Fault {
    match error.kind() {
        ErrorKind::BudgetExceeded => Fault::Budget(error),
        _ => Fault::Core(error),
    }
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

/// A step of a place, to keep.
enum Step {
    Key(Box<str>),
    Index(usize),
}

impl Step {
    fn of(step: &Key<'_>) -> Step {
        match *step {
            Key::Key(key) => Step::Key(key.into()),
            Key::Index(index) => Step::Index(index),
        }
    }

    fn get(&self) -> Key<'_> {
        match self {
            Step::Key(key) => Key::Key(key),
            Step::Index(index) => Key::Index(*index),
        }
    }
}

/// A container on the way to matches, which share it.
struct Shared {
    above: Option<Arc<Shared>>,
    step: Step,
}

impl Drop for Shared {
    /// Without recursion: documents nest deep.
    fn drop(&mut self) {
        let mut next = self.above.take();
        while let Some(mut last) = next.and_then(Arc::into_inner) {
            next = last.above.take();
        }
    }
}

/// The place of a match.
#[derive(Default)]
struct Place {
    above: Option<Arc<Shared>>,
    /// `None` for the root.
    last: Option<Step>,
    /// How many of its steps are those of the match before.
    shared: usize,
}

impl Place {
    fn steps(&self) -> Vec<Key<'_>> {
        let mut steps: Vec<Key<'_>> = self.last.iter().map(Step::get).collect();
        let mut above = self.above.as_deref();
        while let Some(shared) = above {
            steps.push(shared.step.get());
            above = shared.above.as_deref();
        }
        steps.reverse();
        steps
    }

    /// Whether all steps of the place behind this one are of this one, too.
    fn shared_by(&self, next: &Place) -> bool {
        next.steps().len() == next.shared
    }

    fn location(&self) -> Location<'_> {
        self.steps().into_iter().collect()
    }
}

/// Makes places of which each shares what it can with the one before.
#[derive(Default)]
struct Places(Vec<Arc<Shared>>);

impl Places {
    /// The next one, of whose steps so many are those of the one before.
    fn next(&mut self, steps: &[Key<'_>], shared: usize) -> Place {
        let Some((last, above)) = steps.split_last() else {
            self.0.clear();
            return Place::default();
        };
        self.0.truncate(shared.min(above.len()));
        for step in &above[self.0.len()..] {
            let above = self.0.last().cloned();
            self.0.push(Arc::new(Shared { above, step: Step::of(step) }));
        }
        Place { above: self.0.last().cloned(), last: Some(Step::of(last)), shared }
    }
}

/// One match: its value, and its place.
///
/// `value` is a view for objects and arrays, as by `doc[key]`.
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Match {
    value: Py<PyAny>,
    place: Place,
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
        self.place.location().to_string()
    }

    /// The JSON pointer (RFC 6901): `/laps/1`. It leads from the document or view that was queried.
    #[getter]
    fn pointer(&self) -> String {
        self.place.location().to_pointer()
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
    fn above(&self, py: Python<'_>, step: Key<'_>) -> Above {
        match (self, step) {
            (Base::Object(object), Key::Key(key)) => {
                Above::Object(Some(object.clone_ref(py)), PyString::new(py, key).unbind())
            }
            (Base::Array(array), Key::Index(index)) => {
                Above::Array(Some(array.clone_ref(py)), index)
            }
            (_, Key::Key(key)) => Above::Object(None, PyString::new(py, key).unbind()),
            (_, Key::Index(index)) => Above::Array(None, index),
        }
    }
}

/// The containers on the way to the last match, and views of them.
type Way = Vec<(NodeId, Py<PyAny>)>;

/// The value at a place, as Python has it. Views are made of all containers on the way that the
/// match before did not have.
fn at<'py>(
    py: Python<'py>,
    state: &State,
    document: &Bound<'py, Document>,
    base: &Base,
    way: &mut Way,
    steps: &[Key<'_>],
) -> Held<Bound<'py, PyAny>> {
    const GONE: Fault = Fault::Stale("its place is gone");
    let _pause = CollectorPause::new();
    let editor = state.whole()?;
    let Some(root) = base.node(py, state)? else {
        return decode::scalar(py, &editor.doc().root());
    };
    for (depth, &step) in steps.iter().enumerate().skip(way.len()) {
        let (node, under) = match way.last() {
            None => (root, base.above(py, step)),
            Some((node, view)) => {
                let view = view.bind(py);
                let parent = match view.cast::<Object>() {
                    Ok(object) => Base::Object(object.clone().unbind()),
                    Err(_) => match view.cast::<Array>() {
                        Ok(array) => Base::Array(array.clone().unbind()),
                        Err(_) => return Err(GONE),
                    },
                };
                (*node, parent.above(py, step))
            }
        };
        let above = editor.value(node)?;
        let value = match step {
            Key::Key(key) => above.get(key)?,
            Key::Index(index) => above.get(index)?,
        };
        let value = value.ok_or(GONE)?;
        if !is_container(value.kind()) {
            return match depth + 1 == steps.len() {
                true => decode::scalar(py, &value),
                false => Err(GONE),
            };
        }
        let node = editor.handle_of(&value, node).ok_or(GONE)?;
        let view = child(py, state, document, (value.kind(), node), under)?;
        way.push((node, view.unbind()));
    }
    match (way.last(), base) {
        (Some((_, view)), _) => Ok(view.bind(py).clone()),
        (None, Base::Object(object)) => Ok(object.bind(py).clone().into_any()),
        (None, Base::Array(array)) => Ok(array.bind(py).clone().into_any()),
        (None, Base::Root) => {
            let kind: Kind = editor.doc().root().kind();
            child(py, state, document, (kind, root), Above::Nothing)
        }
    }
}

type Walk = livebuf_query::Matches<'static, 'static, Checked>;

/// How far a search is.
enum Progress {
    /// It goes on in the document's bytes. With it, where they lie.
    Walking(Box<Walk>, *const [u8]),
    /// Places that were found already.
    Found(vec::IntoIter<Place>),
    /// Ctrl-C ended it, and may have been meant for something else.
    Interrupted,
    Ended,
}

/// A search, and what the last match leaves for the next one.
struct Search {
    progress: Progress,
    places: Places,
    way: Way,
    /// How many matches there were.
    count: usize,
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
    search: Mutex<Search>,
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
        let progress = Self::begun(document.py(), state, &base, &query)?;
        let search = Search { progress, places: Places::default(), way: Vec::new(), count: 0 };
        let (search, document) = (Mutex::new(search), document.clone().unbind());
        Ok(Matches { search, query, document, base, edits: state.edits })
    }

    fn begun(
        py: Python<'_>,
        state: &State,
        base: &Base,
        query: &Arc<livebuf_query::Query>,
    ) -> Held<Progress> {
        let value = base.value(py, state)?;
        let memory = state.editor()?.storage();
        if memory.is_bytes() {
            // SAFETY: the walk goes on only while the bytes are the same, as `next` checks, and
            // while the query lives, which this object keeps. Nothing else is reached through it.
            let (query, value) = unsafe {
                let query: *const livebuf_query::Query = &**query;
                (&*query, std::mem::transmute::<Value<'_>, Value<'static>>(value))
            };
            return Ok(Progress::Walking(Box::new(query.find(value)), memory.bytes()));
        }
        // Others may write this memory, so no place in it may be kept from call to call.
        let (mut found, mut shared) = (Vec::new(), Places::default());
        let mut matches = query.find(value);
        while let Some(value) = matches.next_value() {
            value.map_err(search)?;
            found.push(shared.next(matches.steps(), matches.shared()));
        }
        Ok(Progress::Found(found.into_iter()))
    }

    fn next(&self, py: Python<'_>) -> Held<Option<Match>> {
        let document = self.document.bind(py);
        let state = document.get().lock(py)?;
        let editor = state.whole()?;
        if state.edits != self.edits {
            return Err(Fault::Edited);
        }
        let mut kept = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let Search { progress, places, way, count } = &mut *kept;
        if matches!(progress, Progress::Interrupted) {
            // It goes on: from the beginning, to where it was.
            let mut begun = Self::begun(py, &state, &self.base, &self.query)?;
            if let Progress::Walking(walk, _) = &mut begun {
                for _ in 0..*count {
                    walk.next_value().transpose().map_err(search)?;
                }
            }
            *progress = begun;
            (*places, *way) = Default::default();
        }
        let place = match progress {
            Progress::Ended | Progress::Interrupted => None,
            Progress::Found(places) => places.next(),
            Progress::Walking(walk, bytes) => {
                if !std::ptr::eq(*bytes, editor.storage().bytes()) {
                    return Err(Fault::Edited);
                }
                // The bytes are a `bytes` object's, which nobody else can write. Each edit of this
                // document counts, and while the lock is held there is none.
                match walk.next_value().transpose() {
                    Ok(Some(value)) => {
                        let place = places.next(walk.steps(), walk.shared());
                        if !is_container(value.kind()) {
                            way.truncate(place.shared);
                            *count += 1;
                            let _pause = CollectorPause::new();
                            let value = decode::scalar(py, &value)?.unbind();
                            return Ok(Some(Match { value, place }));
                        }
                        Some(place)
                    }
                    Ok(None) => None,
                    Err(failure) => {
                        *progress = match INTERRUPTED.get() {
                            true => Progress::Interrupted,
                            false => Progress::Ended,
                        };
                        return Err(search(failure));
                    }
                }
            }
        };
        let Some(place) = place else {
            *progress = Progress::Ended;
            way.clear();
            return Ok(None);
        };
        way.truncate(place.shared);
        *count += 1;
        let value = at(py, &state, document, &self.base, way, &place.steps())?.unbind();
        Ok(Some(Match { value, place }))
    }
}

#[pymethods]
impl Matches {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Match>> {
        uninterrupted(py, || Ok(self.next(py)?))
    }

    /// The values of all matches as plain Python objects, in one go and without their places,
    /// which is faster.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        uninterrupted(py, || self.gathered(py))
    }

    fn __repr__(&self) -> String {
        format!("<livebuf.Matches of {}>", self.query.as_str())
    }
}

impl Matches {
    fn gathered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
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
                let value = value.map_err(search)?;
                list.append(decode::to_python(py, &value, limit)?)?;
            }
            Ok(list)
        };
        let gathered = gather();
        drop(state);
        Ok(gathered?)
    }
}

/// The matches in a document.
pub(crate) fn query_document(
    document: &Bound<'_, Document>,
    query: &Bound<'_, PyAny>,
) -> PyResult<Matches> {
    let (py, query) = (document.py(), compiled(query)?);
    uninterrupted(py, || {
        let state = document.get().lock(py)?;
        Ok(Matches::new(document, &state, Base::Root, Arc::clone(&query))?)
    })
}

/// The matches below an object.
pub(crate) fn query_object(
    object: &Bound<'_, Object>,
    query: &Bound<'_, PyAny>,
) -> PyResult<Matches> {
    let query = compiled(query)?;
    uninterrupted(object.py(), || {
        object.get().view.reach(object.py(), |document, state, _| {
            let base = Base::Object(object.clone().unbind());
            Matches::new(document, state, base, Arc::clone(&query))
        })
    })
}

/// The matches below an array.
pub(crate) fn query_array(array: &Bound<'_, Array>, query: &Bound<'_, PyAny>) -> PyResult<Matches> {
    let query = compiled(query)?;
    uninterrupted(array.py(), || {
        array.get().view.reach(array.py(), |document, state, _| {
            let base = Base::Array(array.clone().unbind());
            Matches::new(document, state, base, Arc::clone(&query))
        })
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
    document.begin_change(py, &mut state)?;
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
    uninterrupted(document.py(), || {
        edit_all(document, None, |editor| {
            livebuf_query::set_all(editor, &query, given.value()).map_err(search)
        })
    })
}

pub(crate) fn remove_all(
    document: &Bound<'_, Document>,
    query: &Bound<'_, PyAny>,
) -> PyResult<usize> {
    let query = compiled(query)?;
    uninterrupted(document.py(), || {
        edit_all(document, None, |editor| livebuf_query::remove_all(editor, &query).map_err(search))
    })
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
    let (places, edits) = uninterrupted(py, || {
        let state = document.get().lock(py)?;
        let root = state.whole()?.doc().root();
        let found = query.find(root).map(|found| found.map(|found| found.into_location()));
        let found = found.collect::<livebuf::Result<Vec<Location<'_>>>>();
        let mut found = found.map_err(search)?;
        found.sort_unstable();
        found.dedup();
        // The deepest and last first, as in the core.
        let (mut shared, mut before) = (Places::default(), Vec::new());
        let places = found.iter().rev().map(|place| {
            let steps = place.steps();
            let same = steps.iter().zip(&before).take_while(|(one, two)| one == two).count();
            let place = shared.next(&steps, same);
            before = steps;
            place
        });
        Ok((places.collect::<Vec<_>>(), state.edits))
    })?;
    // A match lies within the next one if it has all of its steps.
    let is_nested = places.windows(2).any(|pair| pair[0].shared_by(&pair[1]));
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
    for place in &places {
        let seen = copy.as_ref().unwrap_or(document);
        let value = {
            let state = seen.get().lock(py)?;
            if copy.is_none() && state.edits != edits {
                return Err(Fault::Edited.into());
            }
            at(py, &state, seen, &Base::Root, &mut Vec::new(), &place.steps())
        }?;
        let new = function.call1((&value,))?;
        if new.is(&value) {
            continue;
        }
        if let Some(copy) = &copy {
            match place.location().to_pointer().as_str() {
                "" => copy.setattr("root", &new)?,
                pointer => copy.call_method1("set_pointer", (pointer, &new)).map(drop)?,
            }
        }
        updates.push((place, new));
    }
    let given: Vec<(&Place, Given<'_>)> = updates
        .iter()
        .map(|(place, new)| Ok((*place, Given::of(new)?)))
        .collect::<PyResult<_>>()?;
    if given.is_empty() {
        return Ok(0);
    }
    edit_all(document, Some(edits), |editor| {
        let set = editor.transaction(|editor| {
            for (place, new) in &given {
                editor.set_pointer(&place.location().to_pointer(), new.value())?;
            }
            Ok::<usize, livebuf::Error>(given.len())
        });
        Ok(set?)
    })
}
