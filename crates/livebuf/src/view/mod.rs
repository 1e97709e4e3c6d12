//! Reading: views that borrow the buffer, in two modes over one implementation.
//!
//! A view over bytes that were only opened is [`Checked`]. Every access is bounds-checked, text
//! is checked as it is taken, and damage surfaces as an error: calls return
//! `Result<Option<_>>`. After [`Doc::validate`] the view is [`Valid`]: the same calls return
//! plain `Option`s, and text is not checked again. Neither ever panics or reads outside of the
//! buffer.

mod array;
mod as_value;
#[cfg(feature = "digest")]
mod digest;
mod element;
mod equal;
mod key;
mod kind;
mod mode;
mod number;
mod object;
#[cfg(feature = "partial")]
mod partial;
mod scalar;
mod table;
pub(crate) mod tensor;
mod text;
pub(crate) mod validate;

pub use array::{Array, ArrayIter};
pub use as_value::AsValue;
pub use element::Element;
pub use key::{Bound, Key, Lookup};
pub use kind::{Kind, View};
pub use mode::{Checked, Mode, Valid};
pub use number::Number;
pub use object::{Fields, Keys, Object, Ordered, Position, RowSlots, Searched, Slots, Values};
#[cfg(feature = "partial")]
pub use partial::{Partial, PartialError};
pub use scalar::Scalar;
pub(crate) use scalar::from_scalars;
pub use table::{Column, ColumnPath, Pointer, Table};
pub use tensor::{Tensor, TensorRef};
pub use text::{Codes, Dictionary, Offsets, Run};

use crate::block::column::Elements;
use crate::block::list::elements_of;
use crate::block::record::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u8, load_u32, load_u64};
use crate::format::cell::{span_bytes, span_length, span_offset};
use crate::format::date::{Date, DateTime, Time, Timestamp};
use crate::format::decimal::Decimal;
use crate::format::extended::{Extended, is_extended_span};
use crate::format::layout::*;
use crate::format::pointer;
use crate::format::uuid::Uuid;
use core::fmt;

/// A document, read in place. Copying it copies a pointer.
///
/// ```
/// # #[cfg(feature = "serde")] {
/// let bytes = livebuf::to_vec(&[("lap", 55)].into_iter().collect::<std::collections::BTreeMap<_, _>>()).unwrap();
/// let doc = livebuf::Doc::open(&bytes)?;              // constant time, nothing parsed
/// assert_eq!(doc.root().get("lap")?.unwrap().as_i64(), Some(55));
/// let doc = doc.validate()?;                           // one linear pass
/// assert_eq!(doc.root().get("lap").unwrap().as_i64(), Some(55));
/// # }
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Doc<'a, M = Checked> {
    bytes: &'a [u8],
    mode: M,
}

impl<'a> Doc<'a, Checked> {
    /// A document whose header was looked at: every answer is checked.
    #[inline]
    pub(crate) fn over(bytes: &'a [u8]) -> Self {
        Doc { bytes, mode: Checked }
    }

    /// Opens a document: looks at its 32 header bytes only.
    ///
    /// # Errors
    /// [`ErrorKind::NotADocument`], [`ErrorKind::UnsupportedVersion`],
    /// [`ErrorKind::UnsupportedFeature`], [`ErrorKind::Truncated`] or what is
    /// wrong with the header.
    ///
    /// ```
    /// use livebuf::{Doc, json};
    /// let sent = json!({"lap": 55}).to_vec();
    /// let doc = Doc::open(&sent)?;
    /// assert_eq!(doc.root().get("lap")?.unwrap().as_i64(), Some(55));
    /// assert!(Doc::open(b"{}").is_err());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let used = Header::check(bytes)?.used as u64;
        match usize::try_from(used).ok().and_then(|used| bytes.get(..used)) {
            Some(bytes) => Ok(Doc::over(bytes)),
            None => Err(Error::with_detail(ErrorKind::Truncated, bytes.len() as u64, used)),
        }
    }

    /// Opens a document of which only a beginning is at hand.
    ///
    /// A read beyond it answers [`ErrorKind::OutOfBounds`], with the offset, and the length
    /// in the error's detail. Fetch those bytes and open the document again.
    ///
    /// # Errors
    /// As [`Doc::open`], except that the header is enough.
    ///
    /// ```
    /// use livebuf::{Doc, ErrorKind, json};
    /// let sent = json!(["near", "text that lies behind what was fetched so far"]).to_vec();
    /// let missing = Doc::open_partial(&sent[..64])?.pointer("/1").and_then(|text| text.unwrap().as_str());
    /// assert_eq!(missing.unwrap_err().kind(), ErrorKind::OutOfBounds);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn open_partial(bytes: &'a [u8]) -> Result<Self> {
        let used = Header::check(bytes)?.used as usize;
        Ok(Doc::over(bytes.get(..used).unwrap_or(bytes)))
    }
}

impl<'a, M: Mode> Doc<'a, M> {
    /// The used bytes: the document as it is sent or stored.
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The same where all bytes are needed: within [`Partial::read`], where some may be missing,
    /// all of them are fetched first.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfBounds`] while some are missing.
    #[cfg(feature = "partial")]
    pub fn require_all(self) -> Result<&'a [u8]> {
        crate::format::bytes::slice(self.bytes, 0, self.bytes.len() as u64)
    }

    /// The root value.
    ///
    /// ```
    /// let doc = livebuf::json!({"lap": 55});
    /// assert!(doc.doc().root().is_object());
    /// assert_eq!(doc.valid()?.root().get("lap").unwrap(), 55);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn root(self) -> Value<'a, M> {
        // Opening made sure of the header.
        let tag = load_u8(self.bytes, HEADER_ROOT_TAG as u64).unwrap_or(TAG_NULL);
        let cell = load_u64(self.bytes, HEADER_ROOT_CELL as u64).unwrap_or(0);
        Value::new(self.mode, self.bytes, Raw { tag, cell, position: HEADER_ROOT_CELL })
    }

    /// The value at a JSON pointer (RFC 6901); `""` is the root.
    ///
    /// # Errors
    /// In checked mode [`ErrorKind::BadPointer`] or the damage; a valid
    /// view answers `None` to a malformed pointer.
    ///
    /// ```
    /// let doc = livebuf::json!({"a/b": [88.4, 87.9]});
    /// assert_eq!(doc.doc().pointer("/a~1b/1")?.unwrap(), 87.9);
    /// assert!(doc.valid()?.pointer("/a~1b/2").is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn pointer(self, pointer: &str) -> M::Out<Value<'a, M>> {
        self.root().pointer(pointer)
    }

    /// The same document with plain answers, as after [`validate`](Doc::validate).
    ///
    /// # Safety
    /// The bytes were validated, or written by an editor that is
    /// [trusted](crate::Editor::is_trusted), and nobody else could write them since or can
    /// while the view lives: text is not checked to be UTF-8 any more.
    #[allow(unsafe_code)]
    pub unsafe fn assume_valid(self) -> Doc<'a, Valid> {
        // SAFETY: the caller promises that the bytes are valid, and that nobody writes them.
        Doc { bytes: self.bytes, mode: unsafe { Valid::promised() } }
    }

    /// The same document with every answer checked.
    pub fn checked(self) -> Doc<'a, Checked> {
        Doc { bytes: self.bytes, mode: Checked }
    }
}

/// The header's fields, checked in constant time.
pub(crate) struct Header {
    pub(crate) used: u32,
    pub(crate) read_only: u8,
    pub(crate) ignore: u8,
}

impl Header {
    pub(crate) fn check(bytes: &[u8]) -> Result<Header> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::new(ErrorKind::NotADocument, 0));
        }
        if bytes.len() < HEADER_SIZE as usize {
            let length = bytes.len() as u64;
            return Err(Error::with_detail(ErrorKind::Truncated, length, HEADER_SIZE as u64));
        }
        let version = load_u8(bytes, HEADER_VERSION as u64)?;
        if version != VERSION {
            let (kind, at) = (ErrorKind::UnsupportedVersion, HEADER_VERSION as u64);
            return Err(Error::with_detail(kind, at, version.into()));
        }
        if load_u8(bytes, HEADER_REFUSE_FLAGS as u64)? != 0 {
            return Err(Error::new(ErrorKind::UnsupportedFeature, HEADER_REFUSE_FLAGS as u64));
        }
        let used = load_u32(bytes, HEADER_USED as u64)?;
        if used < HEADER_SIZE {
            return Err(Error::new(ErrorKind::BadCount, HEADER_USED as u64));
        }
        if !used.is_multiple_of(8) {
            return Err(Error::new(ErrorKind::Misaligned, HEADER_USED as u64));
        }
        let tag = load_u8(bytes, HEADER_ROOT_TAG as u64)?;
        if tag == TAG_HOLE || tag > TAG_NODE_LAST {
            return Err(Error::new(ErrorKind::BadCode, HEADER_ROOT_TAG as u64));
        }
        Ok(Header {
            used,
            read_only: load_u8(bytes, HEADER_READ_ONLY_FLAGS as u64)?,
            ignore: load_u8(bytes, HEADER_IGNORE_FLAGS as u64)?,
        })
    }
}

/// One value of a document: a loaded cell. Copying it is cheap.
///
/// ```
/// let doc = livebuf::json!({"driver": "Ada", "laps": [88.4, 87.9]});
/// let root = doc.valid()?.root();                     // plain answers
/// assert_eq!(root.get("driver").unwrap().as_str(), Some("Ada"));
/// assert_eq!(root.pointer("/laps/1").unwrap(), 87.9);
/// let root = doc.root();                              // every answer checked
/// assert_eq!(root.get("driver")?.unwrap().as_str()?, Some("Ada"));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Value<'a, M = Checked> {
    bytes: &'a [u8],
    raw: Raw,
    mode: M,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(core::mem::size_of::<Value<'_>>() == 32);

/// A value without its document, which can be kept when the borrow ends. It is for bindings,
/// whose values cannot hold a borrow.
///
/// ```
/// use livebuf::Value;
/// let doc = livebuf::json!({"lap": 55});
/// let parts = doc.doc().root().get("lap")?.unwrap().parts();
/// assert_eq!(Value::from_parts(doc.as_bytes(), parts).as_i64(), Some(55));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueParts {
    /// The value's bits, or where it lies (FORMAT 3).
    pub cell: u64,
    /// Offset of the cell in the document; 0 where it has none.
    pub position: u32,
    /// The cell's tag (FORMAT 3.1); 0 where there is no value.
    pub tag: u8,
}

impl<'a> Value<'a, Checked> {
    /// The value of these parts in a document's used bytes.
    ///
    /// Parts of another document, or from before an edit, are safe: the value is some
    /// other one then, or every look into it an error.
    #[inline]
    pub fn from_parts(bytes: &'a [u8], parts: ValueParts) -> Self {
        let ValueParts { cell, position, tag } = parts;
        Value::new(Checked, bytes, Raw { cell, position, tag })
    }

    /// What the column of a table whose header is at `column` has for a row: for the C header,
    /// which finds columns by itself.
    #[doc(hidden)]
    pub fn in_column(&self, column: u64, row: u32) -> Result<Option<Self>> {
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        let raw = Elements::one(self.bytes, column, row)?;
        Ok((raw.tag != TAG_HOLE).then(|| Value::new(Checked, self.bytes, raw)))
    }
}

impl<'a, M: Mode> Value<'a, M> {
    #[inline]
    pub(crate) fn new(mode: M, bytes: &'a [u8], raw: Raw) -> Self {
        Value { bytes, raw, mode }
    }

    /// The same value with plain answers, as after [`validate`](Self::validate).
    ///
    /// # Safety
    /// As [`Doc::assume_valid`], but for this value and all below it, and for the document's
    /// shapes.
    #[allow(unsafe_code)]
    pub unsafe fn assume_valid(&self) -> Value<'a, Valid> {
        // SAFETY: the caller promises that these bytes are valid, and that nobody writes them.
        Value { bytes: self.bytes, raw: self.raw, mode: unsafe { Valid::promised() } }
    }

    pub(crate) fn raw(&self) -> Raw {
        self.raw
    }

    /// Another value of the same document.
    #[cfg(feature = "serde")]
    #[inline]
    pub(crate) fn another(&self, raw: Raw) -> Self {
        Value { raw, ..*self }
    }

    pub(crate) fn document(&self) -> &'a [u8] {
        self.bytes
    }

    /// The value without its document.
    #[inline]
    pub fn parts(&self) -> ValueParts {
        let Raw { cell, position, tag } = self.raw;
        ValueParts { cell, position, tag }
    }

    /// The value's kind.
    ///
    /// ```
    /// use livebuf::{Kind, json};
    /// let doc = json!({"lap": 55});
    /// assert_eq!(doc.root().kind(), Kind::Object);
    /// assert_eq!(doc.get("lap")?.unwrap().kind(), Kind::Int);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn kind(&self) -> Kind {
        match self.raw.tag {
            TAG_NULL => Kind::Null,
            TAG_FALSE | TAG_TRUE => Kind::Bool,
            TAG_INT => Kind::Int,
            TAG_UINT => Kind::Uint,
            TAG_FLOAT => Kind::Float,
            TAG_STRING => Kind::String,
            TAG_BYTES => Kind::Bytes,
            TAG_NUMBER => Kind::NumberText,
            TAG_OBJECT => Kind::Object,
            TAG_ARRAY => Kind::Array,
            TAG_DATE => Kind::Date,
            TAG_TIME => Kind::Time,
            TAG_DATE_TIME => Kind::DateTime,
            TAG_TIMESTAMP => Kind::Timestamp,
            TAG_DECIMAL | TAG_LARGE_DECIMAL => Kind::Decimal,
            TAG_UUID => Kind::Uuid,
            _ => Kind::Reserved,
        }
    }

    /// Whether it is null.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.raw.tag == TAG_NULL
    }

    /// The boolean.
    ///
    /// ```
    /// let doc = livebuf::json!([true, 1]);
    /// let root = doc.valid()?.root();
    /// assert_eq!(root.get(0).unwrap().as_bool(), Some(true));
    /// assert_eq!(root.get(1).unwrap().as_bool(), None);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self.raw.tag {
            TAG_FALSE => Some(false),
            TAG_TRUE => Some(true),
            _ => None,
        }
    }

    /// The integer, if it is one and fits. `1.0` is not an integer (as in serde_json).
    ///
    /// ```
    /// let doc = livebuf::json!([-5, 1.0, u64::MAX]);
    /// let answers: Vec<_> = doc.valid()?.root().as_array().unwrap().iter().map(|n| n.as_i64()).collect();
    /// assert_eq!(answers, [Some(-5), None, None]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        (self.raw.tag == TAG_INT).then_some(self.raw.cell as i64)
    }

    /// The integer, if it is one and not negative. `1.0` is not an integer.
    ///
    /// ```
    /// let doc = livebuf::json!([5, -5, u64::MAX]);
    /// let answers: Vec<_> = doc.valid()?.root().as_array().unwrap().iter().map(|n| n.as_u64()).collect();
    /// assert_eq!(answers, [Some(5), None, Some(u64::MAX)]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        match self.raw.tag {
            TAG_INT if self.raw.cell as i64 >= 0 => Some(self.raw.cell),
            TAG_UINT => Some(self.raw.cell),
            _ => None,
        }
    }

    /// The number as a double: floats as they are, integers and number text
    /// rounded to the nearest (`None` for text beyond the range of doubles).
    ///
    /// ```
    /// let doc = livebuf::json!([1, 1.5, "1"]);
    /// let answers: Vec<_> = doc.valid()?.root().as_array().unwrap().iter().map(|n| n.as_f64()).collect();
    /// assert_eq!(answers, [Some(1.0), Some(1.5), None]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_f64(&self) -> Option<f64> {
        match self.raw.tag {
            TAG_FLOAT => Some(f64::from_bits(self.raw.cell)),
            TAG_INT => Some(self.raw.cell as i64 as f64),
            TAG_UINT => Some(self.raw.cell as f64),
            TAG_NUMBER => self.number_as_f64(),
            _ => None,
        }
    }

    #[cold]
    fn number_as_f64(&self) -> Option<f64> {
        let bytes = span_bytes(self.bytes, self.raw.cell, self.raw.position as u64).ok()?;
        let value: f64 = core::str::from_utf8(bytes).ok()?.parse().ok()?;
        value.is_finite().then_some(value)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    fn span(&self, tag: u8) -> Result<Option<&'a [u8]>> {
        if self.raw.tag != tag {
            return Ok(None);
        }
        span_bytes(self.bytes, self.raw.cell, self.raw.position as u64).map(Some)
    }

    #[inline]
    fn span_text(&self, tag: u8) -> Result<Option<&'a str>> {
        match self.span(tag)? {
            Some(bytes) => M::text(bytes, span_offset(self.raw.cell, self.raw.position)).map(Some),
            None => Ok(None),
        }
    }

    /// The text, borrowed from the document.
    ///
    /// ```
    /// let doc = livebuf::json!({"name": "Ada"});
    /// let name: &str = doc.valid()?.root().get("name").unwrap().as_str().unwrap();
    /// assert_eq!(name, "Ada");
    /// assert_eq!(doc.get("name")?.unwrap().as_str()?, Some("Ada"));   // checked
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_str(&self) -> M::Out<&'a str> {
        M::out(self.span_text(TAG_STRING))
    }

    /// The bytes of the text, borrowed from the document. Unlike those of
    /// [`as_str`](Self::as_str) they are not checked to be UTF-8, which only validated
    /// documents promise: for languages whose text need not be.
    #[inline]
    pub fn as_text_bytes(&self) -> M::Out<&'a [u8]> {
        M::out(self.span(TAG_STRING))
    }

    /// The bytes of a byte string, borrowed from the document.
    ///
    /// ```
    /// let doc = livebuf::json!({"key": vec![1u8, 2, 3]});
    /// assert_eq!(doc.valid()?.pointer("/key").unwrap().as_bytes(), Some(&[1, 2, 3][..]));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_bytes(&self) -> M::Out<&'a [u8]> {
        M::out(self.span(TAG_BYTES))
    }

    /// The text of a number that is kept as text ([`Kind::NumberText`]).
    ///
    /// ```
    /// let doc = livebuf::json!([1u128 << 100]);
    /// let text = doc.valid()?.pointer("/0").unwrap().as_number_text();
    /// assert_eq!(text, Some("1267650600228229401496703205376"));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn as_number_text(&self) -> M::Out<&'a str> {
        M::out(self.span_text(TAG_NUMBER))
    }

    /// The date, time, decimal or UUID: a value that JSON lacks.
    ///
    /// ```
    /// use livebuf::{Decimal, Extended, json};
    /// let price: Decimal = "19.90".parse()?;
    /// let doc = json!([price, 19.9, "19.90"]);
    /// let values: Vec<_> =
    ///     doc.valid()?.root().as_array().unwrap().iter().map(|value| value.as_extended()).collect();
    /// assert_eq!(values, [Some(Extended::Decimal(price)), None, None]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn as_extended(&self) -> M::Out<Extended> {
        M::out(self.extended())
    }

    pub(crate) fn extended(&self) -> Result<Option<Extended>> {
        let Raw { tag, cell, position } = self.raw;
        let value = match tag {
            TAG_DECIMAL..=TAG_DATE_TIME => Extended::from_cell(tag, cell),
            tag if is_extended_span(tag) => {
                Extended::from_span(tag, span_bytes(self.bytes, cell, position.into())?)
            }
            _ => return Ok(None),
        };
        // The position is 0 if the value has no cell of its own.
        value.map(Some).ok_or(Error::new(ErrorKind::BadCell, position.into()))
    }

    /// The object.
    ///
    /// ```
    /// let doc = livebuf::json!({"lap": 55, "driver": "Ada"});
    /// for (key, value) in doc.valid()?.root().as_object().unwrap() {
    ///     println!("{key}: {value:?}");
    /// }
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_object(&self) -> M::Out<Object<'a, M>> {
        M::out(self.object())
    }

    /// The array.
    ///
    /// ```
    /// let doc = livebuf::json!([88.4, 87.9]);
    /// for lap in doc.valid()?.root().as_array().unwrap() {
    ///     assert!(lap.as_f64().unwrap() > 87.0);
    /// }
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn as_array(&self) -> M::Out<Array<'a, M>> {
        M::out(self.array())
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn object(&self) -> Result<Option<Object<'a, M>>> {
        if self.raw.tag != TAG_OBJECT {
            return Ok(None);
        }
        Object::of(self.mode, self.bytes, self.raw.cell).map(Some)
    }

    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn array(&self) -> Result<Option<Array<'a, M>>> {
        if self.raw.tag != TAG_ARRAY {
            return Ok(None);
        }
        Ok(Some(Array::new(self.mode, self.bytes, elements_of(self.bytes, self.raw.cell)?)))
    }

    /// The member with this key, or the element with this index.
    ///
    /// ```
    /// let doc = livebuf::json!({"laps": [88.4, 87.9]});
    /// let root = doc.valid()?.root();
    /// assert_eq!(root.get("laps").unwrap().get(1).unwrap(), 87.9);
    /// assert!(root.get("driver").is_none() && root.get(0).is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn get(&self, lookup: impl Lookup) -> M::Out<Value<'a, M>> {
        M::out(lookup.find_in_value(self))
    }

    /// The value at a JSON pointer (RFC 6901) below this one.
    ///
    /// # Errors
    /// As [`Doc::pointer`].
    ///
    /// ```
    /// let doc = livebuf::json!({"drivers": [{"name": "Ada"}]});
    /// let drivers = doc.valid()?.root().get("drivers").unwrap();
    /// assert_eq!(drivers.pointer("/0/name").unwrap(), "Ada");
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn pointer(&self, pointer: &str) -> M::Out<Value<'a, M>> {
        M::out(self.follow(pointer))
    }

    pub(crate) fn follow(&self, mut pointer: &str) -> Result<Option<Self>> {
        let mut value = *self;
        while let Some((raw, rest)) = pointer::split(pointer)? {
            pointer = rest;
            let next = match value.raw.tag {
                TAG_OBJECT => pointer::with_text(raw, |key| key.find_in_value(&value))?,
                TAG_ARRAY => match pointer::index(raw) {
                    Some(index) => (index as usize).find_in_value(&value)?,
                    None => None,
                },
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    /// Bytes of the whole document that the value lies in.
    pub fn document_length(&self) -> usize {
        self.bytes.len()
    }

    /// Count of elements, members, or bytes of text; `None` for other values.
    ///
    /// ```
    /// let doc = livebuf::json!([[1, 2], "text", null]);
    /// let lengths: Vec<_> = doc.valid()?.root().as_array().unwrap().iter().map(|v| v.len()).collect();
    /// assert_eq!(lengths, [Some(2), Some(4), None]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn len(&self) -> M::Out<usize> {
        M::out(match self.raw.tag {
            TAG_OBJECT => self.object().map(|object| object.map(|object| object.len())),
            TAG_ARRAY => self.array().map(|array| array.map(|array| array.len())),
            TAG_STRING | TAG_BYTES => Ok(Some(span_length(self.raw.cell) as usize)),
            _ => Ok(None),
        })
    }

    /// The same value with every answer checked.
    ///
    /// ```
    /// use livebuf::{Mode, Result, Value, json};
    ///
    /// fn lap<M: Mode>(value: &Value<'_, M>) -> Result<Option<i64>> {
    ///     Ok(value.checked().get("lap")?.and_then(|lap| lap.as_i64()))
    /// }
    ///
    /// let doc = json!({"lap": 55});
    /// assert_eq!(lap(&doc.root())?, lap(&doc.valid()?.root())?);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn checked(&self) -> Value<'a, Checked> {
        Value::new(Checked, self.bytes, self.raw)
    }
}

macro_rules! as_extended {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ident;)+) => {
        impl<M: Mode> Value<'_, M> {
            $(
                $(#[doc = $doc])+
                pub fn $name(&self) -> M::Out<$type> {
                    M::out(self.extended().map(|value| match value {
                        Some(Extended::$type(value)) => Some(value),
                        _ => None,
                    }))
                }
            )+
        }
    };
}
as_extended! {
    /// The date.
    as_date: Date;
    /// The time of day.
    as_time: Time;
    /// The date and time of day without a time zone.
    as_date_time: DateTime;
    /// The moment.
    as_timestamp: Timestamp;
    /// The decimal number. Integers and floats are not decimals.
    as_decimal: Decimal;
    /// The UUID.
    as_uuid: Uuid;
}

/// Containers in each other that `{:#?}` prints.
const PRINTED: u32 = 16;

/// Prints like JSON, for debugging: of containers their lengths, or by `{:#?}` what is in
/// them, down to 16 levels.
impl<M: Mode> fmt::Debug for Value<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printed { value: self.checked(), left: if f.alternate() { PRINTED } else { 0 } }.fmt(f)
    }
}

/// A value and how many levels below it are printed.
struct Printed<'a> {
    value: Value<'a, Checked>,
    left: u32,
}

impl fmt::Debug for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Printed { value, left } = *self;
        let below = |value| Printed { value, left: left.saturating_sub(1) };
        match value.view() {
            Ok(View::Null) => f.write_str("null"),
            Ok(View::Bool(value)) => write!(f, "{value}"),
            Ok(View::Int(value)) => write!(f, "{value}"),
            Ok(View::Uint(value)) => write!(f, "{value}"),
            Ok(View::Float(value)) => write!(f, "{value:?}"),
            Ok(View::NumberText(text)) => f.write_str(text),
            Ok(View::String(text)) => write!(f, "{text:?}"),
            Ok(View::Bytes(bytes)) => write!(f, "{bytes:?}"),
            Ok(View::Extended(value)) => write!(f, "{value}"),
            Ok(View::Object(object)) if left > 0 => {
                let members = object.iter().map_while(|member| member.ok());
                f.debug_map().entries(members.map(|(key, value)| (key, below(value)))).finish()
            }
            Ok(View::Array(array)) if left > 0 => {
                f.debug_list().entries(array.iter().map_while(|item| item.ok()).map(below)).finish()
            }
            Ok(View::Object(object)) => write!(f, "Object({})", object.len()),
            Ok(View::Array(array)) => write!(f, "Array({})", array.len()),
            Ok(View::Reserved) => {
                write!(f, "Reserved({:#04x}, {:#018x})", value.raw.tag, value.raw.cell)
            }
            Err(error) => write!(f, "Err({error:?})"),
        }
    }
}

/// The used bytes, as [`Doc::as_bytes`].
impl<M: Mode> AsRef<[u8]> for Doc<'_, M> {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

impl<M: Mode> fmt::Debug for Doc<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Doc({} bytes, ", self.bytes.len())?;
        self.root().fmt(f)?;
        f.write_str(")")
    }
}
