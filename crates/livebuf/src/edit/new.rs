//! The arguments of edits: new values, detached values, and how children are named.

use crate::block::record::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::Needle;
use crate::format::extended::{Extended, Stored};
use crate::format::layout::*;
use crate::view::tensor::Part;
use crate::view::{Checked, Doc, Key, Mode, Scalar, Tensor, TensorRef, Value, View, from_scalars};
use core::sync::atomic::{AtomicBool, AtomicU16};

/// A value to be stored: what `set`, `insert` and `push` take.
///
/// ```
/// use livebuf::{New, json};
/// let mut doc = json!({"list": []});
/// doc.set_pointer("/list/-", "text")?;
/// doc.set_pointer("/list/-", 1.5)?;
/// doc.set_pointer("/list/-", New::array(0))?;
/// let other = json!({"grafted": true});
/// doc.set_pointer("/list/-", other.doc().root())?;
/// assert_eq!(doc.doc().pointer("/list")?.unwrap().len()?, Some(4));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum New<'v> {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A double, kept by its bits.
    Float(f64),
    /// Text.
    Str(&'v str),
    /// Bytes.
    Bytes(&'v [u8]),
    /// A number that only its text holds exactly.
    NumberText(&'v str),
    /// A date, time, decimal or UUID.
    Extended(Extended),
    /// An empty object with room for some fields.
    Object {
        /// Fields to make room for.
        capacity: u8,
    },
    /// An empty object stored as a map from the start.
    Map {
        /// Entries to make room for.
        capacity: u32,
    },
    /// An empty array with room for some elements of eight bytes.
    Array {
        /// Elements to make room for.
        capacity: u32,
    },
    /// An object of these members, each key once. One call, one allocation.
    Fields(&'v [(&'v str, New<'v>)]),
    /// An array of these elements.
    Items(&'v [New<'v>]),
    /// Numbers of one type, in rows of one shape.
    Tensor(TensorRef<'v>),
    /// A copy of a value of another document, with all below it.
    Copy(Value<'v, Checked>),
    /// A value that [`Editor::detach`](crate::Editor::detach) took out of this document. Once
    /// it is attached again, it cannot be used again.
    Detached(&'v Detached),
}

/// Each is copied many times.
const _: () = assert!(size_of::<New<'_>>() <= 48);

impl New<'_> {
    /// An empty object with room for `capacity` fields (a guess; it grows).
    ///
    /// ```
    /// use livebuf::{New, json};
    /// let mut doc = json!({});
    /// doc.set_pointer("/driver", New::object(2))?;
    /// doc.set_pointer("/driver/name", "Ada")?;
    /// assert_eq!(doc.pointer("/driver/name")?.unwrap(), "Ada");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn object(capacity: usize) -> Self {
        match u8::try_from(capacity) {
            Ok(capacity) => New::Object { capacity },
            Err(_) => New::Map { capacity: u32::try_from(capacity).unwrap_or(u32::MAX) },
        }
    }

    /// An empty array with room for `capacity` elements of eight bytes (a guess; it grows).
    ///
    /// ```
    /// use livebuf::{New, json};
    /// let mut doc = json!({});
    /// doc.set_pointer("/laps", New::array(100))?;
    /// doc.set_pointer("/laps/-", 88.4)?;
    /// assert_eq!(doc.pointer("/laps/0")?.unwrap(), 88.4);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn array(capacity: usize) -> Self {
        New::Array { capacity: u32::try_from(capacity).unwrap_or(u32::MAX) }
    }
}

/// # Errors
/// [`ErrorKind::Unsupported`] for number text, bytes and containers.
impl<'v> TryFrom<New<'v>> for Scalar<'v> {
    type Error = Error;

    fn try_from(new: New<'v>) -> Result<Scalar<'v>> {
        Ok(match new {
            New::Null => Scalar::Null,
            New::Bool(value) => Scalar::Bool(value),
            New::Int(value) => Scalar::Int(value),
            New::Uint(value) => Scalar::Uint(value),
            New::Float(value) => Scalar::Float(value),
            New::Str(text) => Scalar::Str(text),
            New::Extended(value) => Scalar::Extended(value),
            New::Copy(value) => match value.view()? {
                View::Null => Scalar::Null,
                View::Bool(value) => Scalar::Bool(value),
                View::Int(value) => Scalar::Int(value),
                View::Uint(value) => Scalar::Uint(value),
                View::Float(value) => Scalar::Float(value),
                View::String(text) => Scalar::Str(text),
                View::Extended(value) => Scalar::Extended(value),
                _ => return Err(Error::new(ErrorKind::Unsupported, 0)),
            },
            _ => return Err(Error::new(ErrorKind::Unsupported, 0)),
        })
    }
}

impl New<'_> {
    /// Tag and cell of a value that needs no more.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn immediate(&self) -> Option<(u8, u64)> {
        Some(match *self {
            New::Int(value) => (TAG_INT, value as u64),
            New::Float(value) => (TAG_FLOAT, value.to_bits()),
            New::Null => (TAG_NULL, 0),
            New::Bool(value) => (TAG_FALSE + value as u8, 0),
            New::Uint(value) if value <= i64::MAX as u64 => (TAG_INT, value),
            New::Uint(value) => (TAG_UINT, value),
            New::Extended(ref value) => return extended_cell(value),
            _ => return None,
        })
    }

    /// The tag that a new value will have, and its cell if the type of a column depends on it.
    pub(super) fn probe(&self) -> (u8, u64) {
        match *self {
            New::Str(_) => (TAG_STRING, 0),
            New::Bytes(_) => (TAG_BYTES, 0),
            New::NumberText(_) => (TAG_NUMBER, 0),
            New::Extended(ref value) => extended_cell(value).unwrap_or((value.tag(), 0)),
            New::Object { .. } | New::Map { .. } | New::Fields(_) => (TAG_OBJECT, 0),
            New::Array { .. } | New::Items(_) | New::Tensor(_) => (TAG_ARRAY, 0),
            New::Copy(ref value) => (value.raw().tag, value.raw().cell),
            New::Detached(detached) => (detached.raw().tag, detached.raw().cell),
            _ => self.immediate().unwrap_or((TAG_NULL, 0)),
        }
    }
}

impl<'v> New<'v> {
    /// The tensor that it is; `None` if it is another value, or damaged.
    pub(super) fn tensor(&self) -> Option<Tensor<'v>> {
        match self {
            New::Tensor(tensor) => tensor.tensor().ok(),
            New::Copy(value) => value.array().ok()??.tensor().ok()??.checked().ok(),
            _ => None,
        }
    }
}

/// Tag and cell of a value that has no span.
#[cold]
#[inline(never)]
fn extended_cell(value: &Extended) -> Option<(u8, u64)> {
    match value.stored() {
        Stored::Cell(cell) => Some((value.tag(), cell)),
        Stored::Span(..) => None,
    }
}

from_scalars!(New);
from_scalars! { New:
    &'v [u8] => |value| Bytes(value);
    &'v Detached => |value| Detached(value);
    TensorRef<'v> => |value| Tensor(value);
    &'v Tensor<'v> => |value| Tensor(value.into());
}

impl<'v, M: Mode> From<Value<'v, M>> for New<'v> {
    fn from(value: Value<'v, M>) -> New<'v> {
        New::Copy(value.checked())
    }
}

/// A copy of the document's value.
impl<'v, M: Mode> From<Doc<'v, M>> for New<'v> {
    fn from(doc: Doc<'v, M>) -> New<'v> {
        New::from(doc.root())
    }
}

/// An element of a tensor.
impl<'v> From<Part<'v>> for New<'v> {
    fn from(part: Part<'v>) -> New<'v> {
        match part {
            Part::Tensor(tensor) => New::Tensor(tensor),
            Part::Number(raw) => match raw.tag {
                TAG_FLOAT => New::Float(f64::from_bits(raw.cell)),
                TAG_INT => New::Int(raw.cell as i64),
                TAG_UINT => New::Uint(raw.cell),
                tag => New::Bool(tag == TAG_TRUE),
            },
        }
    }
}

impl<'v, const N: usize> From<&'v [u8; N]> for New<'v> {
    fn from(bytes: &'v [u8; N]) -> New<'v> {
        New::Bytes(bytes)
    }
}

#[cfg(feature = "alloc")]
impl<'v> From<&'v alloc::vec::Vec<u8>> for New<'v> {
    fn from(bytes: &'v alloc::vec::Vec<u8>) -> New<'v> {
        New::Bytes(bytes)
    }
}

#[cfg(feature = "alloc")]
impl<'v> From<&'v alloc::borrow::Cow<'_, str>> for New<'v> {
    fn from(text: &'v alloc::borrow::Cow<'_, str>) -> New<'v> {
        New::Str(text)
    }
}

impl<'v, T: Into<New<'v>>> From<Option<T>> for New<'v> {
    fn from(value: Option<T>) -> New<'v> {
        value.map_or(New::Null, Into::into)
    }
}

/// A value taken out of its place by [`Editor::detach`](crate::Editor::detach), still whole in
/// the document.
///
/// Setting, pushing or inserting `&detached` attaches it to its new place, once. If that fails,
/// for example for lack of space, you can still attach it elsewhere.
#[derive(Debug)]
#[must_use = "a detached value is garbage until it is set somewhere or discarded"]
pub struct Detached {
    pub(super) raw: Raw,
    /// Of the editor's handles, which compaction ends.
    pub(super) generation: u32,
    /// Containers on the way from the root to its old place, itself included.
    pub(super) depth: u16,
    /// How deep it reaches in its new place; 0 if no deeper than before.
    pub(super) reaches: AtomicU16,
    /// It is attached again.
    pub(super) spent: AtomicBool,
}

impl Detached {
    pub(super) fn new(raw: Raw, generation: u32, depth: u16) -> Self {
        let (reaches, spent) = (AtomicU16::new(0), AtomicBool::new(false));
        Detached { raw, generation, depth, reaches, spent }
    }

    pub(super) fn raw(&self) -> Raw {
        self.raw
    }
}

/// Names a child: a key of an object (`&str`, [`&Key`](Key)) or an index of an array.
pub trait Child: Copy {
    #[doc(hidden)]
    fn child(&self) -> At<'_>;
}

/// A child as the editor looks it up.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum At<'k> {
    Key(&'k str),
    Remembered(&'k Key<'k>),
    Index(usize),
}

impl<'k> At<'k> {
    pub(super) fn text(&self) -> &'k str {
        match *self {
            At::Key(key) => key,
            At::Remembered(key) => key.as_str(),
            At::Index(_) => "",
        }
    }

    /// The key to be searched for.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn needle(&self) -> Needle<'k> {
        match *self {
            At::Key(key) => Needle::new(key.as_bytes()),
            At::Remembered(key) => key.needle(),
            At::Index(_) => Needle::new(b""),
        }
    }
}

impl Child for &str {
    #[inline]
    fn child(&self) -> At<'_> {
        At::Key(self)
    }
}

impl Child for &Key<'_> {
    #[inline]
    fn child(&self) -> At<'_> {
        At::Remembered(self)
    }
}

#[cfg(feature = "alloc")]
impl Child for &alloc::string::String {
    #[inline]
    fn child(&self) -> At<'_> {
        At::Key(self)
    }
}

/// What a reference leads to.
impl<T: Child> Child for &T {
    #[inline]
    fn child(&self) -> At<'_> {
        T::child(self)
    }
}

impl Child for usize {
    #[inline]
    fn child(&self) -> At<'_> {
        At::Index(*self)
    }
}
