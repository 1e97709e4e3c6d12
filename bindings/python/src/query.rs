//! JSONPath (RFC 9535): `livebuf.Query`, its matches, and edits of all matches.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::vec;

use livebuf::{Checked, Editor, ErrorKind, Kind, NodeId, Storage, Value};
use livebuf_query::{Location, Parameter, Step as Key};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::decode::{self, CollectorPause};
use crate::edit::Start;
use crate::encode::Given;
use crate::error::{self, Fault, Held};
use crate::memory::Memory;
use crate::patch::snapshot;
use crate::pointer::set_at;
use crate::view::{Above, Array, Document, Object, State, Trash, child, is_container};

/// A compiled JSONPath query (RFC 9535), for `query`, `set_all`, `remove_all` and `update_all`.
///
/// These take the text, too; compiling it once saves time. `budget` is the most steps that one
/// search may take; by default it grows with the document. Raises `QueryError`.
///
/// `$` and a name are a parameter, where the query compares or selects: `$[?@.id == $id]`,
/// `$.users[$name]`. Its value is given by name where the query is used. It is a scalar, and never
/// becomes part of the text.
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
    /// It has parameters, which have no values yet.
    is_open: bool,
}

/// The query that a caller gave, a `Query` or text, with the values of its parameters.
fn compiled(
    query: &Bound<'_, PyAny>,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Arc<livebuf_query::Query>> {
    let py = query.py();
    let mut given = Vec::new();
    for (name, value) in parameters.into_iter().flat_map(|parameters| parameters.iter()) {
        given.push((name.extract::<String>()?, parameter(&value)?, false));
    }
    let (text, budget) = match query.cast::<Query>() {
        Ok(query) => {
            let query = query.get();
            if !query.is_open && given.is_empty() {
                return Ok(Arc::clone(&query.query));
            }
            (query.query.as_str(), query.budget)
        }
        Err(_) => match query.cast::<PyString>() {
            Ok(text) => (text.to_str()?, None),
            Err(_) => return Err(error::expected("a Query or its text", query)),
        },
    };
    let parsed = parse(py, text, budget, |name| {
        let (_, value, is_used) = given.iter_mut().find(|(other, ..)| other == name)?;
        *is_used = true;
        Some(value.clone())
    })?;
    match given.iter().find(|(.., is_used)| !is_used) {
        Some((name, ..)) => {
            Err(PyTypeError::new_err(format!("the query {text:?} has no parameter ${name}")))
        }
        None => Ok(Arc::new(parsed)),
    }
}

/// The value of a parameter. Dates and others are as in JSON text.
fn parameter(value: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Parameter::Text(text.to_str()?.to_owned()));
    }
    let printed = value.py().import("livebuf._livebuf")?.getattr("to_json")?.call1((value,))?;
    let text: String = printed.call_method0("decode")?.extract()?;
    match text.as_bytes() {
        b"null" => Ok(Parameter::Null),
        b"true" => Ok(Parameter::Bool(true)),
        b"false" => Ok(Parameter::Bool(false)),
        [b'"', .., b'"'] => Ok(Parameter::Text(text[1..text.len() - 1].to_owned())),
        [b'{' | b'[', ..] => Err(error::expected("a scalar for a parameter", value)),
        _ => Ok(Parameter::Number(text)),
    }
}

fn parse(
    py: Python<'_>,
    text: &str,
    budget: Option<u64>,
    parameters: impl FnMut(&str) -> Option<Parameter>,
) -> PyResult<livebuf_query::Query> {
    let query = livebuf_query::Query::parse_with(text, parameters)
        .map(|query| query.with_interrupt(is_interrupted))
        .map_err(|failure| error::query(py, &failure))?;
    Ok(match budget {
        Some(budget) => query.with_budget(budget),
        None => query,
    })
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
        let mut is_open = false;
        // A name may stand in brackets, too.
        let query = parse(py, text, budget, |_| {
            is_open = true;
            Some(Parameter::Text(String::new()))
        })?;
        Ok(Query { query: Arc::new(query), budget, is_open })
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
    fn of(step: &Key<'_>) -> livebuf::Result<Step> {
        Ok(match *step {
            Key::Key(key) => {
                let mut text = String::new();
                let refused = |_| livebuf::Error::out_of_memory(key.len() as u64);
                text.try_reserve_exact(key.len()).map_err(refused)?;
                text.push_str(key);
                Step::Key(text.into_boxed_str())
            }
            Key::Index(index) => Step::Index(index),
        })
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
    /// How many steps lead to it.
    count: usize,
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
struct MatchPlace {
    above: Option<Arc<Shared>>,
    /// `None` for the root.
    last: Option<Step>,
    /// How many of its steps are those of the match before.
    shared: usize,
}

impl MatchPlace {
    /// How many steps lead to it.
    fn len(&self) -> usize {
        self.above.as_ref().map_or(0, |above| above.count) + usize::from(self.last.is_some())
    }

    /// The steps from number `first` on.
    fn steps_after(&self, first: usize) -> Vec<Key<'_>> {
        let mut steps = Vec::with_capacity(self.len().saturating_sub(first));
        steps.extend(self.last.iter().map(Step::get));
        let mut above = self.above.as_deref();
        while let Some(shared) = above.filter(|shared| shared.count > first) {
            steps.push(shared.step.get());
            above = shared.above.as_deref();
        }
        steps.reverse();
        steps
    }

    /// Whether this place has all steps of the next one.
    fn shared_by(&self, next: &MatchPlace) -> bool {
        next.len() == next.shared
    }

    fn location(&self) -> Location<'_> {
        self.steps_after(0).into_iter().collect()
    }
}

/// Makes places of which each shares what it can with the one before.
struct Places {
    above: Vec<Arc<Shared>>,
    /// Steps that may be made before the system is asked for memory again.
    room: usize,
}

/// Bytes that a step on the way takes in memory of its own.
const STEP: usize = size_of::<Shared>() + 4 * size_of::<usize>();
/// Steps are too small to ask the system for one by one, so it is asked for many. Most searches make few, and
/// do not ask.
const FEW_STEPS: usize = 64;
const STEPS_AHEAD: usize = 1024;

impl Default for Places {
    fn default() -> Places {
        Places { above: Vec::new(), room: FEW_STEPS }
    }
}

impl Places {
    /// The next one, whose first `shared` steps are those of the one before.
    fn next(&mut self, steps: &[Key<'_>], shared: usize) -> livebuf::Result<MatchPlace> {
        let Some((last, above)) = steps.split_last() else {
            self.above.clear();
            return Ok(MatchPlace::default());
        };
        self.above.truncate(shared.min(above.len()));
        for (step, count) in above.iter().zip(1..).skip(self.above.len()) {
            self.ask_for_memory()?;
            let above = self.above.last().cloned();
            self.above.push(Arc::new(Shared { above, step: Step::of(step)?, count }));
        }
        self.ask_for_memory()?;
        Ok(MatchPlace { above: self.above.last().cloned(), last: Some(Step::of(last)?), shared })
    }

    /// Called for each step.
    fn ask_for_memory(&mut self) -> livebuf::Result<()> {
        if self.room == 0 {
            livebuf::raw::require_memory(2 * STEPS_AHEAD * STEP)?;
            self.room = STEPS_AHEAD;
        }
        self.room -= 1;
        Ok(())
    }
}

/// One match: its value, and its place.
///
/// `value` is a view for objects and arrays, as by `doc[key]`.
#[pyclass(frozen, module = "livebuf")]
pub(crate) struct Match {
    value: Py<PyAny>,
    place: MatchPlace,
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
pub(crate) enum Base {
    Root(Py<Document>),
    Object(Py<Object>),
    Array(Py<Array>),
}

impl Base {
    fn clone_ref(&self, py: Python<'_>) -> Base {
        match self {
            Base::Root(document) => Base::Root(document.clone_ref(py)),
            Base::Object(object) => Base::Object(object.clone_ref(py)),
            Base::Array(array) => Base::Array(array.clone_ref(py)),
        }
    }

    /// Where edits of matches begin.
    fn start<'py>(&self, py: Python<'py>) -> Start<'_, 'py> {
        match self {
            Base::Root(document) => Start::Root(document.bind(py)),
            Base::Object(object) => Start::View(&object.get().view),
            Base::Array(array) => Start::View(&array.get().view),
        }
    }

    /// Calls `look` with the document, under its lock.
    fn look<'py, R>(
        &self,
        py: Python<'py>,
        look: impl FnOnce(&Bound<'py, Document>, &mut State) -> Held<R>,
    ) -> PyResult<R> {
        match self {
            Base::Root(document) => {
                let document = document.bind(py);
                Ok(look(document, &mut *document.get().lock(py)?)?)
            }
            Base::Object(object) => object.get().view.reach(py, |doc, state, _| look(doc, state)),
            Base::Array(array) => array.get().view.reach(py, |doc, state, _| look(doc, state)),
        }
    }

    /// The container, if it is one; `None` for a scalar root.
    fn node(&self, py: Python<'_>, state: &State) -> Held<Option<NodeId>> {
        match self {
            Base::Root(_) => Ok(state.editor()?.root_id()),
            Base::Object(object) => object.get().view.node(py, state).map(Some),
            Base::Array(array) => array.get().view.node(py, state).map(Some),
        }
    }

    fn value<'a>(&self, py: Python<'_>, state: &'a State) -> Held<Value<'a>> {
        let editor = state.whole()?;
        match (self, self.node(py, state)?) {
            (Base::Root(_), _) | (_, None) => Ok(editor.doc().root()),
            (_, Some(node)) => Ok(editor.value(node)?),
        }
    }

    /// What is above the children: the view, or nothing if the root has none.
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
    place: &MatchPlace,
) -> Held<Bound<'py, PyAny>> {
    const GONE: Fault = Fault::Stale("its place is gone");
    let _pause = CollectorPause::new();
    let editor = state.whole()?;
    let Some(root) = base.node(py, state)? else {
        return decode::scalar(py, &editor.doc().root());
    };
    let first = way.len();
    for (step, depth) in place.steps_after(first).into_iter().zip(first + 1..) {
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
            return match depth == place.len() {
                true => decode::scalar(py, &value),
                false => Err(GONE),
            };
        }
        let node = editor.handle_of(&value, node).ok_or(GONE)?;
        let view = child(py, document, (value.kind(), node), under)?;
        way.push((node, view.unbind()));
    }
    match (way.last(), base) {
        (Some((_, view)), _) => Ok(view.bind(py).clone()),
        (None, Base::Object(object)) => Ok(object.bind(py).clone().into_any()),
        (None, Base::Array(array)) => Ok(array.bind(py).clone().into_any()),
        (None, Base::Root(_)) => {
            let kind: Kind = editor.doc().root().kind();
            child(py, document, (kind, root), Above::Nothing)
        }
    }
}

type AllMatches = livebuf_query::Matches<'static, 'static, Checked>;

/// How far a search is.
enum Progress {
    /// It goes on in the document's bytes, which lie here.
    Walking(Box<AllMatches>, *const [u8]),
    /// Places that were found already.
    Found(vec::IntoIter<MatchPlace>),
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
            let place = shared.next(matches.steps(), matches.shared())?;
            livebuf::raw::push(&mut found, place, STEP)?;
        }
        Ok(Progress::Found(found.into_iter()))
    }

    /// The search, which goes on where Ctrl-C ended it.
    fn going_on(&self, py: Python<'_>, state: &State) -> Held<MutexGuard<'_, Search>> {
        let memory = state.whole()?.storage();
        if state.edits != self.edits {
            return Err(Fault::Edited);
        }
        let mut kept = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let Search { progress, places, way, count } = &mut *kept;
        if matches!(progress, Progress::Interrupted) {
            // From the beginning, to where it was.
            let mut begun = Self::begun(py, state, &self.base, &self.query)?;
            if let Progress::Walking(walk, _) = &mut begun {
                for _ in 0..*count {
                    walk.next_value().transpose().map_err(search)?;
                }
            }
            *progress = begun;
            (*places, *way) = Default::default();
        }
        match progress {
            Progress::Walking(_, bytes) if !std::ptr::eq(*bytes, memory.bytes()) => {
                Err(Fault::Edited)
            }
            _ => Ok(kept),
        }
    }

    /// How many matches there are. Those that were not asked for yet are found.
    fn count(&self, py: Python<'_>) -> Held<usize> {
        let state = self.document.bind(py).get().lock(py)?;
        let mut kept = self.going_on(py, &state)?;
        let Search { progress, places, count, .. } = &mut *kept;
        if let Progress::Walking(walk, _) = progress {
            let mut found = Vec::new();
            *progress = loop {
                match walk.next_value() {
                    Some(Ok(_)) => {
                        let place = places.next(walk.steps(), walk.shared())?;
                        livebuf::raw::push(&mut found, place, STEP)?;
                    }
                    None => break Progress::Found(found.into_iter()),
                    Some(Err(failure)) => {
                        *progress = match INTERRUPTED.get() {
                            true => Progress::Interrupted,
                            false => Progress::Ended,
                        };
                        return Err(search(failure));
                    }
                }
            };
        }
        Ok(*count
            + match progress {
                Progress::Found(places) => places.len(),
                _ => 0,
            })
    }

    fn next(&self, py: Python<'_>) -> Held<Option<Match>> {
        let document = self.document.bind(py);
        let state = document.get().lock(py)?;
        let mut kept = self.going_on(py, &state)?;
        let Search { progress, places, way, count } = &mut *kept;
        let place = match progress {
            Progress::Ended | Progress::Interrupted => None,
            Progress::Found(places) => places.next(),
            Progress::Walking(walk, _) => {
                // The bytes are a `bytes` object's, which nobody else can write. Each edit of this
                // document counts, and while the lock is held there is none.
                match walk.next_value().transpose() {
                    Ok(Some(value)) => {
                        let place = places.next(walk.steps(), walk.shared())?;
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
        let value = at(py, &state, document, &self.base, way, &place)?.unbind();
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

    /// How many matches there are, those that were given already among them.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        uninterrupted(py, || Ok(self.count(py)?))
    }

    /// The first match; `None` where there is none. The rest is not looked for.
    fn first(&self, py: Python<'_>) -> PyResult<Option<Match>> {
        uninterrupted(py, || {
            let again = self.base.look(py, |document, state| {
                if state.edits != self.edits {
                    return Err(Fault::Edited);
                }
                Matches::new(document, state, self.base.clone_ref(py), Arc::clone(&self.query))
            })?;
            Ok(again.next(py)?)
        })
    }

    /// The values of the matches that come, without their places: views for objects and arrays.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("livebuf._views")?.getattr("match_values")?.call1((slf,))
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
            let _pause = CollectorPause::new();
            let list = PyList::empty(py);
            for value in self.query.values(value) {
                let value = value.map_err(search)?;
                list.append(decode::to_python(py, &value, None)?)?;
            }
            Ok(list)
        };
        let gathered = gather();
        drop(state);
        Ok(gathered?)
    }
}

/// The matches of a query.
pub(crate) fn find(
    base: Base,
    py: Python<'_>,
    query: &Bound<'_, PyAny>,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Matches> {
    let query = compiled(query, parameters)?;
    uninterrupted(py, || {
        base.look(py, |document, state| {
            Matches::new(document, state, base.clone_ref(py), Arc::clone(&query))
        })
    })
}

/// Edits all matches. Answers how many there were.
fn edit_all<'py>(
    py: Python<'py>,
    start: Start<'_, 'py>,
    edits: Option<u64>,
    mut work: impl FnMut(&mut Editor<Memory>, &str) -> Held<usize>,
) -> PyResult<usize> {
    // Dropping these may run Python code, so it happens after the lock.
    let mut trash = Trash::default();
    start.change(py, |document, state, pointer| {
        // This one is counted.
        if edits.is_some_and(|edits| edits + 1 != state.edits) {
            return Err(Fault::Edited);
        }
        Document::edit_whole(document, state, &mut trash, |editor| work(editor, &pointer))
    })
}

pub(crate) fn set_all<'py>(
    start: Start<'_, 'py>,
    query: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
    parameters: Option<&Bound<'py, PyDict>>,
) -> PyResult<usize> {
    let (query, given) = (compiled(query, parameters)?, Given::of(value)?);
    uninterrupted(value.py(), || {
        edit_all(value.py(), start, None, |editor, pointer| {
            livebuf_query::set_all_at(editor, pointer, &query, given.value()).map_err(search)
        })
    })
}

pub(crate) fn remove_all<'py>(
    py: Python<'py>,
    start: Start<'_, 'py>,
    query: &Bound<'_, PyAny>,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<usize> {
    let query = compiled(query, parameters)?;
    uninterrupted(py, || {
        edit_all(py, start, None, |editor, pointer| {
            livebuf_query::remove_all_at(editor, pointer, &query).map_err(search)
        })
    })
}

/// Calls the function with each match while no lock is held, then sets all in one transaction.
///
/// Where a match lies within another, the outer one must be seen with the inner one changed. So
/// the function then gets values of a copy, which is edited along the way.
pub(crate) fn update_all(
    base: Base,
    query: &Bound<'_, PyAny>,
    function: &Bound<'_, PyAny>,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<usize> {
    let (py, query) = (function.py(), compiled(query, parameters)?);
    let (places, edits) = uninterrupted(py, || {
        base.look(py, |_, state| {
            let found = query.locations(base.value(py, state)?).map_err(search)?;
            // The deepest and last first, as in the core.
            let (mut shared, mut before) = (Places::default(), Vec::new());
            let mut places = error::room_for(found.len())?;
            for place in found.iter().rev() {
                let steps = place.steps();
                let same = steps.iter().zip(&before).take_while(|(one, two)| one == two).count();
                places.push(shared.next(&steps, same)?);
                before = steps;
            }
            Ok((places, state.edits))
        })
    })?;
    // A match lies within the next one if it has all of its steps.
    let is_nested = places.windows(2).any(|pair| pair[0].shared_by(&pair[1]));
    let seen = match (is_nested, &base) {
        (false, base) => base.clone_ref(py),
        (true, Base::Root(document)) => copied(document.bind(py))?,
        (true, Base::Object(object)) => copied(object.bind(py))?,
        (true, Base::Array(array)) => copied(array.bind(py))?,
    };
    if base.look(py, |_, state| Ok(state.edits))? != edits {
        return Err(Fault::Edited.into());
    }
    let mut updates = error::room_for(places.len())?;
    for place in &places {
        let value = seen.look(py, |document, state| {
            if !is_nested && state.edits != edits {
                return Err(Fault::Edited);
            }
            at(py, state, document, &seen, &mut Vec::new(), place)
        })?;
        let new = function.call1((&value,))?;
        if new.is(&value) {
            continue;
        }
        if is_nested {
            set_at(seen.start(py), &place.location().to_pointer(), &new)?;
        }
        updates.push((place, new));
    }
    let mut given: Vec<(&MatchPlace, Given<'_>)> = error::room_for(updates.len())?;
    for (place, new) in &updates {
        given.push((*place, Given::of(new)?));
    }
    if given.is_empty() {
        return Ok(0);
    }
    edit_all(py, base.start(py), Some(edits), |editor, pointer| {
        let set = editor.transaction(|editor| {
            for (place, new) in &given {
                let place = format!("{pointer}{}", place.location().to_pointer());
                editor.set_pointer(&place, new.value())?;
            }
            Ok::<usize, livebuf::Error>(given.len())
        });
        Ok(set?)
    })
}

/// A copy of a document or view, as a document.
fn copied(object: &Bound<'_, PyAny>) -> PyResult<Base> {
    let copy = Document::owned(object.py(), &snapshot(object)?)?;
    Ok(Base::Root(Py::new(object.py(), copy)?))
}
