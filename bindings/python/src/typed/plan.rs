//! A Python type as a plan: what `livebuf/_types.py` says of it, ready to decode by.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use livebuf::{Key, Kind};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PyString, PyTuple, PyType};

/// Stands for no node.
pub(super) const NONE: u32 = u32::MAX;

/// Kinds of values, by which unions choose: `KINDS` in `_types.py` has the same order.
pub(super) const OBJECT: usize = 6;
pub(super) const ARRAY: usize = 7;
const KINDS: usize = 13;

/// The place of a value's kind among an union's arms; `None` for a kind of a newer version.
pub(super) fn arm_of(kind: Kind, is_integer: impl FnOnce() -> bool) -> Option<usize> {
    Some(match kind {
        Kind::Null => 0,
        Kind::Bool => 1,
        Kind::Int | Kind::Uint => 2,
        Kind::Float => 3,
        Kind::NumberText => {
            if is_integer() {
                2
            } else {
                11
            }
        }
        Kind::String => 4,
        Kind::Bytes => 5,
        Kind::Object => OBJECT,
        Kind::Array => ARRAY,
        Kind::Date => 8,
        Kind::Time => 9,
        Kind::DateTime | Kind::Timestamp => 10,
        Kind::Decimal => 11,
        Kind::Uuid => 12,
        _ => return None,
    })
}

/// A key that remembers where it was found, with its text.
pub(super) struct OwnedKey {
    key: Key<'static>,
    /// Never changed: the key refers to it.
    text: Arc<str>,
}

impl OwnedKey {
    fn new(text: String) -> OwnedKey {
        let text: Arc<str> = text.into();
        // SAFETY: the text is on the heap, is never changed, and lives as long as the key, which
        // leaves this struct by references of its lifetime only. Remembered places halve the
        // time of a look-up.
        let key = Key::new(unsafe { &*std::ptr::from_ref::<str>(&text) });
        OwnedKey { key, text }
    }

    #[inline]
    pub(super) fn get(&self) -> &Key<'_> {
        &self.key
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// What becomes of a missing field.
pub(super) enum Missing {
    /// It is an error.
    Required,
    /// The constructor, or nobody, gives it a value.
    Left,
    Value(Py<PyAny>),
    Factory(Py<PyAny>),
}

pub(super) struct Field {
    pub(super) key: OwnedKey,
    /// What the constructor calls it; of a `TypedDict` the key.
    pub(super) name: Py<PyString>,
    pub(super) node: u32,
    pub(super) missing: Missing,
}

/// How objects of a class are made.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Build {
    /// By `object.__new__`, and attributes as its `__init__` sets them.
    Direct,
    /// As a model of pydantic.
    Model,
    /// By a call.
    Call,
    /// By `tuple.__new__`.
    Tuple,
    /// A dict.
    Dict,
}

pub(super) struct Class {
    pub(super) class: Py<PyType>,
    pub(super) name: String,
    /// Those that are given by position first, where objects are made by a call.
    pub(super) fields: Box<[Field]>,
    pub(super) build: Build,
    /// How many fields are given by position, and the names of the others.
    pub(super) by_position: usize,
    pub(super) names: Option<Py<PyTuple>>,
    /// Of a model: the names of all fields.
    pub(super) all_given: Option<Py<PyFrozenSet>>,
    pub(super) forbids_unknown: bool,
    /// A key, and the value that it must have where it is there.
    pub(super) tag: Option<(OwnedKey, Py<PyAny>)>,
}

/// What a date, time, decimal or UUID is made of where it is not stored as such.
pub(super) struct Parse {
    pub(super) name: &'static str,
    pub(super) from_text: Py<PyAny>,
    pub(super) from_seconds: Option<Py<PyAny>>,
}

/// Kinds of arrays.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sequence {
    List,
    Tuple,
    Set,
    FrozenSet,
}

/// What a value is to become.
pub(super) enum Node {
    Any,
    None,
    Bool,
    Int,
    Float,
    Str,
    Bytes,
    Extended(&'static [Kind], Parse),
    Sequence(Sequence, u32),
    /// A tuple of as many elements.
    Items(Box<[u32]>),
    Dict(u32),
    Object(Box<Class>),
    /// An object from an array of its fields' values; a `NamedTuple` also from an object.
    Named(Box<Class>),
    Union(Box<Union>),
    /// One of several Structs, by their tags; those of arrays have it first.
    Tagged {
        key: OwnedKey,
        in_array: bool,
        arms: Py<PyDict>,
    },
    /// Values, each as it is given and as it is stored.
    Literal(Vec<(Py<PyAny>, Py<PyAny>)>, String),
    Enum {
        members: Py<PyDict>,
        class: Py<PyAny>,
    },
    /// What a function makes of another node's value.
    Call {
        inner: u32,
        function: Py<PyAny>,
    },
}

pub(super) struct Union {
    pub(super) arms: [u32; KINDS],
    /// Nodes that may take a text.
    pub(super) tried: Box<[u32]>,
    pub(super) names: String,
}

/// A compiled type.
pub(crate) struct Plan {
    pub(super) nodes: Vec<Node>,
    pub(super) root: u32,
    pub(super) strict: bool,
    /// Whether decoding may run Python code.
    pub(super) runs_code: bool,
    /// The same type, with models of pydantic made here, which takes half of the time. It is for
    /// values that have exactly the types of their fields; for others the plan itself is run.
    exact: Option<Box<Plan>>,
    /// How many values are still decoded without trying `exact`, since one was not exact.
    pause: AtomicU8,
}

/// Values that are not exactly of their types come together, as those of a file do.
const PAUSE: u8 = 32;

impl Plan {
    /// Compiles a type.
    pub(super) fn new(
        target: &Bound<'_, PyAny>,
        strict: bool,
        hook: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Plan> {
        let py = target.py();
        let types = py.import("livebuf._types")?;
        let described = types.getattr("describe")?.call1((target, strict, hook))?;
        let mut plan = Plan::compiled(&described, strict)?;
        let exact = types.getattr("describe_exactly")?.call1((target,))?;
        if !exact.is_none() {
            plan.exact = Some(Box::new(Plan::compiled(&exact, true)?));
        }
        Ok(plan)
    }

    fn compiled(described: &Bound<'_, PyAny>, strict: bool) -> PyResult<Plan> {
        let (nodes, root): (Vec<Bound<'_, PyTuple>>, u32) = described.extract()?;
        let mut same = vec![NONE; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            if node.get_item(0)?.extract::<&str>()? == "same" {
                same[at] = node.get_item(1)?.extract()?;
            }
        }
        // A type that is another name for itself ends at any of them, and fits nothing.
        let final_of = |mut at: u32| {
            for _ in 0..same.len() {
                match same.get(at as usize) {
                    Some(&next) if next != NONE => at = next,
                    _ => break,
                }
            }
            at
        };
        let root = final_of(root);
        let mut plan = Plan {
            nodes: Vec::new(),
            root,
            strict,
            runs_code: false,
            exact: None,
            pause: AtomicU8::new(0),
        };
        for node in &nodes {
            let node = plan.compile(node, &final_of)?;
            plan.nodes.push(node);
        }
        Ok(plan)
    }

    #[inline]
    pub(super) fn node(&self, at: u32) -> &Node {
        self.nodes.get(at as usize).unwrap_or(&Node::Any)
    }

    /// The class of objects that a node takes.
    pub(super) fn object_arm(&self, at: u32) -> Option<&Class> {
        match self.node(at) {
            Node::Object(class) => Some(class),
            Node::Union(union) => match self.node(union.arms[OBJECT]) {
                Node::Object(class) => Some(class),
                _ => None,
            },
            _ => None,
        }
    }

    /// The node of elements in arrays that a node takes, and what arrays become.
    pub(super) fn array_arm(&self, at: u32) -> Option<(Sequence, u32)> {
        match self.node(at) {
            &Node::Sequence(sequence, item) => Some((sequence, item)),
            Node::Union(union) => match self.node(union.arms[ARRAY]) {
                &Node::Sequence(sequence, item) => Some((sequence, item)),
                _ => None,
            },
            _ => None,
        }
    }

    fn compile(
        &mut self,
        node: &Bound<'_, PyTuple>,
        final_of: &impl Fn(u32) -> u32,
    ) -> PyResult<Node> {
        let part = |at: usize| node.get_item(at);
        let inner = |at: usize| -> PyResult<u32> { Ok(final_of(node.get_item(at)?.extract()?)) };
        let extended = |name, kinds| -> PyResult<Node> {
            let seconds = part(2)?;
            let from_seconds = (!seconds.is_none()).then(|| seconds.unbind());
            Ok(Node::Extended(kinds, Parse { name, from_text: part(1)?.unbind(), from_seconds }))
        };
        let kind = part(0)?;
        Ok(match kind.extract::<&str>()? {
            "any" | "same" => Node::Any,
            "none" => Node::None,
            "bool" => Node::Bool,
            "int" => Node::Int,
            "float" => Node::Float,
            "str" => Node::Str,
            "bytes" => Node::Bytes,
            "datetime" => extended("datetime", &[Kind::DateTime, Kind::Timestamp])?,
            "date" => extended("date", &[Kind::Date])?,
            "time" => extended("time", &[Kind::Time])?,
            "uuid" => extended("UUID", &[Kind::Uuid])?,
            "decimal" => extended("Decimal", &[Kind::Decimal])?,
            "list" => Node::Sequence(Sequence::List, inner(1)?),
            "tuple" => Node::Sequence(Sequence::Tuple, inner(1)?),
            "set" => self.hashes(Node::Sequence(Sequence::Set, inner(1)?)),
            "frozenset" => self.hashes(Node::Sequence(Sequence::FrozenSet, inner(1)?)),
            "items" => {
                let items: Vec<u32> = part(1)?.extract()?;
                Node::Items(items.into_iter().map(final_of).collect())
            }
            "dict" => Node::Dict(inner(1)?),
            "object" => Node::Object(Box::new(self.class(node, final_of)?)),
            "named" => Node::Named(Box::new(self.class(node, final_of)?)),
            "union" => {
                let arms: [u32; KINDS] = {
                    let places: [i64; KINDS] = part(1)?.extract()?;
                    places.map(|at| u32::try_from(at).map_or(NONE, final_of))
                };
                let tried: Vec<u32> = part(2)?.extract()?;
                let tried = tried.into_iter().map(final_of).collect();
                Node::Union(Box::new(Union { arms, tried, names: part(3)?.extract()? }))
            }
            "tagged" => Node::Tagged {
                in_array: part(1)?.extract::<&str>()? == "array",
                key: OwnedKey::new(part(2)?.extract()?),
                arms: part(3)?.cast_into::<PyDict>()?.unbind(),
            },
            "literal" => {
                let values = part(1)?.cast_into::<PyList>()?;
                Node::Literal(values.extract()?, part(2)?.extract()?)
            }
            "enum" => {
                self.runs_code = true;
                let members = part(1)?.cast_into::<PyDict>()?.unbind();
                Node::Enum { members, class: part(2)?.unbind() }
            }
            "call" => {
                self.runs_code = true;
                Node::Call { inner: inner(1)?, function: part(2)?.unbind() }
            }
            other => return Err(PyTypeError::new_err(format!("no node is called {other:?}"))),
        })
    }

    /// Hashing may run Python code.
    fn hashes(&mut self, node: Node) -> Node {
        self.runs_code = true;
        node
    }

    fn class(
        &mut self,
        node: &Bound<'_, PyTuple>,
        final_of: &impl Fn(u32) -> u32,
    ) -> PyResult<Class> {
        let py = node.py();
        let build = match node.get_item(4)?.extract::<&str>()? {
            "direct" => Build::Direct,
            "model" => Build::Model,
            "tuple" => Build::Tuple,
            "dict" => Build::Dict,
            _ => Build::Call,
        };
        // Making an object may run only the `__del__` of another one.
        self.runs_code |= build == Build::Call;
        let (mut fields, mut named) = (Vec::new(), Vec::new());
        for field in node.get_item(3)?.try_iter()? {
            let field = field?;
            type Parts<'py> = (
                String,
                Bound<'py, PyString>,
                u32,
                bool,
                Option<Bound<'py, PyAny>>,
                Option<Bound<'py, PyAny>>,
                bool,
            );
            let (key, name, inner, required, _, factory, by_position): Parts<'_> =
                field.extract()?;
            self.runs_code |= factory.is_some();
            let missing = match factory {
                _ if required => Missing::Required,
                _ if matches!(build, Build::Call | Build::Dict) => Missing::Left,
                Some(factory) => Missing::Factory(factory.unbind()),
                // `None` is a default, too.
                None => Missing::Value(field.get_item(4)?.unbind()),
            };
            let name = interned(&name);
            let key = OwnedKey::new(key);
            let field = Field { key, name, node: final_of(inner), missing };
            match by_position || build != Build::Call {
                true => fields.push(field),
                false => named.push(field),
            }
        }
        let by_position = fields.len();
        let names = named.iter().map(|field| field.name.clone_ref(py));
        let names = PyTuple::new(py, names.collect::<Vec<_>>())?;
        fields.extend(named);
        let all_given = match build {
            Build::Model => Some(PyFrozenSet::new(py, fields.iter().map(|field| &field.name))?),
            _ => None,
        };
        let tag: Option<(String, Bound<'_, PyAny>)> = node.get_item(6)?.extract()?;
        Ok(Class {
            class: node.get_item(1)?.cast_into::<PyType>()?.unbind(),
            name: node.get_item(2)?.extract()?,
            names: (fields.len() > by_position).then(|| names.unbind()),
            all_given: all_given.map(Bound::unbind),
            fields: fields.into(),
            build,
            by_position,
            forbids_unknown: node.get_item(5)?.extract()?,
            tag: tag.map(|(key, value)| (OwnedKey::new(key), value.unbind())),
        })
    }

    /// The plan to try first.
    pub(super) fn exact_now(&self) -> Option<&Plan> {
        let exact = self.exact.as_deref()?;
        match self.pause.load(Ordering::Relaxed) {
            0 => Some(exact),
            left => {
                self.pause.store(left - 1, Ordering::Relaxed);
                None
            }
        }
    }

    /// The value was not exactly of the type.
    pub(super) fn was_not_exact(&self) {
        self.pause.store(PAUSE, Ordering::Relaxed);
    }

    pub(super) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Shows the Python objects in it to the garbage collector.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(exact) = &self.exact {
            exact.traverse(visit)?;
        }
        for node in &self.nodes {
            match node {
                Node::Extended(_, parse) => {
                    visit.call(&parse.from_text)?;
                    visit.call(&parse.from_seconds)?;
                }
                Node::Object(class) | Node::Named(class) => class.traverse(visit)?,
                Node::Tagged { arms, .. } => visit.call(arms)?,
                Node::Literal(values, _) => {
                    for (given, stored) in values {
                        visit.call(given)?;
                        visit.call(stored)?;
                    }
                }
                Node::Enum { members, class } => {
                    visit.call(members)?;
                    visit.call(class)?;
                }
                Node::Call { function, .. } => visit.call(function)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Class {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.class)?;
        if let Some((_, tag)) = &self.tag {
            visit.call(tag)?;
        }
        for field in &self.fields {
            match &field.missing {
                Missing::Value(value) | Missing::Factory(value) => visit.call(value)?,
                Missing::Required | Missing::Left => {}
            }
        }
        Ok(())
    }
}

/// The one string object of this text that attributes are looked up by.
fn interned(name: &Bound<'_, PyString>) -> Py<PyString> {
    let mut pointer = name.clone().into_ptr();
    // SAFETY: takes a reference and gives one, maybe to another string.
    unsafe {
        ffi::PyUnicode_InternInPlace(&mut pointer);
        Bound::from_owned_ptr(name.py(), pointer).cast_into_unchecked().unbind()
    }
}
