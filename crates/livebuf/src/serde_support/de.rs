//! serde: documents to Rust values, borrowing text and bytes.
//!
//! The mapping is serde_json's (see `ser`). Unknown fields are skipped without a look. Bytes go to
//! types that ask for bytes or for a sequence of `u8`. Number text goes to `i128` and `u128`
//! exactly, to everything else as serde_json parses it: integers of 64 bits, else the nearest
//! double.
//!
//! In both modes, a damaged document costs no more work than a valid one of its size. The
//! depth is bounded by [`SERDE_NESTING`](crate::SERDE_NESTING).

use crate::block::column::{self, row_of};
use crate::block::column_type::ColumnType;
use crate::block::record::Raw;
use crate::error::{Error, ErrorKind};
use crate::format::layout::{TAG_ARRAY, TAG_HOLE, TAG_OBJECT};
use crate::serde_support::error::SerdeError;
use crate::serde_support::known::{KnownBlocks, Rows};
use crate::serde_support::nested::{Nested, SERDE_NESTING, WalkBounds};
use crate::serde_support::number::Number;
use crate::view::{AsValue, Doc, Fields, Kind, Mode, Object, Value};
use alloc::format;
use alloc::string::ToString;
use serde_core::de::value::{BorrowedStrDeserializer, SeqDeserializer};
use serde_core::de::{
    self, Deserialize, DeserializeSeed, EnumAccess, Error as _, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde_core::forward_to_deserialize_any;

type Result<T, E = SerdeError> = core::result::Result<T, E>;

/// A Rust value from a document's bytes, which are opened and not validated;
/// text and bytes may borrow from them.
///
/// ```
/// let bytes = livebuf::json!([["lap", 55], ["pit", 56]]).to_vec();
/// let events: Vec<(&str, u32)> = livebuf::from_slice(&bytes)?;
/// assert_eq!(events, [("lap", 55), ("pit", 56)]);
/// # Ok::<(), livebuf::SerdeError>(())
/// ```
///
/// # Errors
/// As [`Doc::open`] and [`from_value`].
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    from_doc(Doc::open(bytes)?)
}

/// A Rust value from a whole document: [`from_value`], as the counterpart of
/// [`to_doc`](crate::to_doc).
///
/// # Errors
/// As [`from_value`].
pub fn from_doc<'de, T: Deserialize<'de>>(doc: impl AsValue<'de>) -> Result<T> {
    from_value(doc)
}

/// A Rust value from a value of a document, or from a whole document. Of an editor's
/// document text is checked; `doc.valid()?` spares that.
///
/// ```
/// let doc = livebuf::json!({"drivers": [{"name": "Ada", "laps": [88.4, 87.9]}]});
/// let laps: Vec<f32> = livebuf::from_value(doc.valid()?.pointer("/drivers/0/laps").unwrap())?;
/// assert_eq!(laps, [88.4, 87.9]);
/// let all: serde_json::Value = livebuf::from_value(&doc)?;
/// assert_eq!(all["drivers"][0]["name"], "Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - A value does not fit the type; the error has the pointer to it.
/// - The document is damaged, or asks for more work than its size allows.
/// - Nesting goes beyond [`SERDE_NESTING`]; [`Value::nested`] sets another limit.
pub fn from_value<'de, T: Deserialize<'de>>(value: impl AsValue<'de>) -> Result<T> {
    T::deserialize(value.as_value().nested(SERDE_NESTING))
}

/// What one reading of a document shares.
struct Reading<'de> {
    walk: WalkBounds,
    known: KnownBlocks<'de>,
}

/// A value on a walk.
#[derive(Clone, Copy)]
struct ValueDeserializer<'de, 'w, M> {
    value: Value<'de, M>,
    reading: &'w Reading<'de>,
    left: u16,
}

impl<'de, 'w, M: Mode> ValueDeserializer<'de, 'w, M> {
    /// What the cell holds, or that it is damaged.
    #[inline]
    fn held<T>(&self, found: Result<Option<T>, Error>) -> Result<T> {
        match found {
            Ok(Some(held)) => Ok(held),
            Ok(None) => {
                Err(Error::new(ErrorKind::BadCell, u64::from(self.value.raw().position)).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    #[inline]
    fn text(&self) -> Result<&'de str> {
        let text = self.held(M::result(self.value.as_str()))?;
        self.reading.walk.text(text.as_bytes())?;
        Ok(text)
    }

    #[inline]
    fn bytes(&self) -> Result<&'de [u8]> {
        let bytes = self.held(M::result(self.value.as_bytes()))?;
        self.reading.walk.text(bytes)?;
        Ok(bytes)
    }

    // Not inlined: visitors are many, and each would have its copy.
    #[inline(never)]
    fn object(&self) -> Result<Object<'de, M>> {
        self.held(self.value.object())
    }

    #[inline]
    fn visit_array<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let mut elements = Elements::new(&self);
        elements.begin()?;
        let count = elements.left();
        let value = visitor.visit_seq(&mut elements)?;
        match elements.left() {
            0 => Ok(value),
            _ => Err(SerdeError::invalid_length(count, &"fewer elements in array")),
        }
    }

    #[inline]
    fn visit_object<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let mut members = Members::new(&self);
        members.begin()?;
        let value = visitor.visit_map(&mut members)?;
        match members.is_at_end() {
            true => Ok(value),
            false => Err(self.has_more()),
        }
    }

    #[cold]
    #[inline(never)]
    fn has_more(&self) -> SerdeError {
        match self.object() {
            Ok(object) => SerdeError::invalid_length(object.len(), &"fewer elements in map"),
            Err(error) => error,
        }
    }

    /// The only member of an object, which is an enum's variant.
    #[inline(never)]
    fn single(&self) -> Result<(&'de str, Self)> {
        let single = || SerdeError::invalid_value(Unexpected::Map, &"object with a single key");
        let mut members = Members::new(self);
        members.begin()?;
        let variant = members.next_key()?.ok_or_else(single)?;
        let place = members.place();
        if !members.is_at_end() {
            return Err(single());
        }
        Ok((variant, place))
    }

    /// An integer or float; number text, with 128-bit integers exact where `wide`.
    #[inline]
    fn visit_number<V: Visitor<'de>>(self, wide: bool, visitor: V) -> Result<V::Value> {
        let cell = self.value.raw().cell;
        match self.value.kind() {
            // Visitors see integers as from serde_json: unsigned unless negative.
            Kind::Int if cell as i64 >= 0 => visitor.visit_u64(cell),
            Kind::Int => visitor.visit_i64(cell as i64),
            Kind::Uint => visitor.visit_u64(cell),
            Kind::Float => visitor.visit_f64(f64::from_bits(cell)),
            Kind::NumberText => {
                let text = self.held(M::result(self.value.as_number_text()))?;
                self.reading.walk.text(text.as_bytes())?;
                visit_number_text(text, wide, visitor)
            }
            _ => Err(self.invalid_type(&visitor)),
        }
    }

    /// A date, time, decimal or UUID: its text.
    #[cold]
    #[inline(never)]
    fn visit_extended<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let value = self.held(M::result(self.value.as_extended()))?;
        visitor.visit_string(value.to_string())
    }

    #[cold]
    #[inline(never)]
    fn invalid_type(self, expected: &dyn Expected) -> SerdeError {
        let cell = self.value.raw().cell;
        let found = match self.value.kind() {
            Kind::Null => Unexpected::Unit,
            Kind::Bool => Unexpected::Bool(self.value.as_bool() == Some(true)),
            Kind::Int => Unexpected::Signed(cell as i64),
            Kind::Uint => Unexpected::Unsigned(cell),
            Kind::Float => Unexpected::Float(f64::from_bits(cell)),
            Kind::NumberText => Unexpected::Other("number"),
            Kind::String => match self.text() {
                Ok(text) => Unexpected::Str(text),
                Err(error) => return error,
            },
            Kind::Bytes => Unexpected::Other("byte string"),
            Kind::Object => Unexpected::Map,
            Kind::Array => Unexpected::Seq,
            kind if kind.is_extended() => Unexpected::Other("date, time, decimal or UUID"),
            _ => {
                let at = u64::from(self.value.raw().position);
                return Error::new(ErrorKind::Unsupported, at).into();
            }
        };
        SerdeError::invalid_type(found, expected)
    }
}

fn visit_number_text<'de, V: Visitor<'de>>(text: &str, wide: bool, visitor: V) -> Result<V::Value> {
    match Number::parse(text)? {
        Number::U64(value) => visitor.visit_u64(value),
        Number::I64(value) => visitor.visit_i64(value),
        Number::U128(value) if wide => visitor.visit_u128(value),
        Number::I128(value) if wide => visitor.visit_i128(value),
        Number::U128(value) => visitor.visit_f64(value as f64),
        Number::I128(value) => visitor.visit_f64(value as f64),
        Number::F64(value) => visitor.visit_f64(value),
        Number::OutOfRange => Err(Number::out_of_range()),
    }
}

macro_rules! numbers {
    ($wide:literal: $($method:ident)+) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.visit_number($wide, visitor)
            }
        )+
    };
}

/// Types that are read as another one is. Their names and lengths do not matter.
macro_rules! read_as {
    ($($other:ident: $($method:ident($($argument:ty),*))+;)+) => {
        $($(
            #[inline]
            fn $method<V: Visitor<'de>>(self, $(_: $argument,)* visitor: V) -> Result<V::Value> {
                self.$other(visitor)
            }
        )+)+
    };
}

impl<'de, M: Mode> de::Deserializer<'de> for ValueDeserializer<'de, '_, M> {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.kind() {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool => visitor.visit_bool(self.value.as_bool() == Some(true)),
            Kind::Int | Kind::Uint | Kind::Float | Kind::NumberText => {
                self.visit_number(false, visitor)
            }
            Kind::String => visitor.visit_borrowed_str(self.text()?),
            Kind::Bytes => visitor.visit_borrowed_bytes(self.bytes()?),
            Kind::Array => self.visit_array(visitor),
            Kind::Object => self.visit_object(visitor),
            kind if kind.is_extended() => self.visit_extended(visitor),
            _ => Err(self.invalid_type(&visitor)),
        }
    }

    numbers!(false:
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    );
    numbers!(true: deserialize_i128 deserialize_u128);

    read_as! {
        deserialize_str: deserialize_char() deserialize_string() deserialize_identifier();
        deserialize_bytes: deserialize_byte_buf();
        deserialize_unit: deserialize_unit_struct(&'static str);
        deserialize_seq: deserialize_tuple(usize) deserialize_tuple_struct(&'static str, usize);
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.as_bool() {
            Some(value) => visitor.visit_bool(value),
            None => Err(self.invalid_type(&visitor)),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.kind() {
            Kind::String => visitor.visit_borrowed_str(self.text()?),
            kind if kind.is_extended() => self.visit_extended(visitor),
            _ => Err(self.invalid_type(&visitor)),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.kind() {
            Kind::Bytes => visitor.visit_borrowed_bytes(self.bytes()?),
            Kind::String => visitor.visit_borrowed_str(self.text()?),
            Kind::Array => self.deserialize_seq(visitor),
            _ => Err(self.invalid_type(&visitor)),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.value.is_null() { visitor.visit_unit() } else { Err(self.invalid_type(&visitor)) }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.kind() {
            Kind::Array => self.visit_array(visitor),
            Kind::Bytes => {
                let bytes = self.bytes()?.iter().copied();
                let mut bytes = SeqDeserializer::<_, SerdeError>::new(bytes);
                let value = visitor.visit_seq(&mut bytes)?;
                bytes.end()?;
                Ok(value)
            }
            _ => Err(self.invalid_type(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value.kind() {
            Kind::Object => self.visit_object(visitor),
            _ => Err(self.invalid_type(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.value.kind() {
            Kind::Object => self.visit_object(visitor),
            Kind::Array => self.visit_array(visitor),
            _ => Err(self.invalid_type(&visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let (variant, value) = match self.value.kind() {
            Kind::String => (self.text()?, None),
            Kind::Object => {
                let (variant, place) = self.single()?;
                (variant, Some(place))
            }
            _ => return Err(self.invalid_type(&"string or object")),
        };
        visitor.visit_enum(Variant { variant, value })
    }

    /// What is ignored is not walked.
    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }
}

// --- arrays -----------------------------------------------------------------

/// A value as two words, which functions answer in registers: its cell, and its position and
/// tag. The tag is that of a hole where there is none.
type Words = (u64, u64);

#[inline]
fn words(Raw { cell, position, tag }: Raw) -> Words {
    (cell, u64::from(position) | u64::from(tag) << 32)
}

#[inline]
fn raw((cell, rest): Words) -> Raw {
    Raw { cell, position: rest as u32, tag: (rest >> 32) as u8 }
}

struct Elements<'p, 'de, 'w, M> {
    array: &'p ValueDeserializer<'de, 'w, M>,
    elements: column::Elements,
    next: u32,
    left: u16,
    error: Option<Error>,
}

impl<'p, 'de, 'w, M: Mode> Elements<'p, 'de, 'w, M> {
    /// To be begun in its place, since what a function answers is copied.
    #[inline]
    fn new(array: &'p ValueDeserializer<'de, 'w, M>) -> Self {
        Elements {
            array,
            elements: column::Elements::new(0, ColumnType::Cells, 0, 0, 0),
            next: 0,
            left: 0,
            error: None,
        }
    }

    // Not inlined: visitors are many, and each would have its copy. And frames of recursive
    // functions stay small in unoptimised builds.
    #[inline(never)]
    fn begin(&mut self) -> Result<()> {
        let ValueDeserializer { value, reading, left } = self.array;
        let Raw { cell, tag, .. } = value.raw();
        let (bytes, at) = (value.document(), cell as u32);
        let known = match row_of(cell).filter(|_| tag == TAG_ARRAY) {
            Some(row) => reading.known.arrays(bytes, at).and_then(|arrays| arrays.get(bytes, row)),
            None => None,
        };
        self.elements = match known {
            Some(elements) => elements,
            None => self.array.held(value.array())?.parts().2,
        };
        self.left = reading.walk.descend(*left, at.into(), 0)?;
        Ok(())
    }

    /// The next element, in registers. As in `begin`, one copy for all visitors.
    #[inline(never)]
    fn advance(&mut self) -> Words {
        if self.next >= self.elements.count {
            return words(Raw::HOLE);
        }
        let element = self.elements.element_inlined(self.array.value.document(), self.next);
        self.next += 1;
        match element {
            Ok(element) => match self.array.reading.walk.value() {
                Ok(()) => words(element),
                Err(error) => self.fail(error),
            },
            Err(error) => self.fail(error),
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Words {
        self.error = Some(error);
        words(Raw::HOLE)
    }

    fn left(&self) -> usize {
        (self.elements.count - self.next) as usize
    }

    #[cold]
    fn end<T>(&mut self) -> Result<Option<T>> {
        match self.error.take() {
            Some(error) => Err(SerdeError::from(error).below_index(self.next as usize - 1)),
            None => Ok(None),
        }
    }
}

impl<'de, M: Mode> SeqAccess<'de> for Elements<'_, 'de, '_, M> {
    type Error = SerdeError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let found = raw(self.advance());
        if found.tag == TAG_HOLE {
            return self.end();
        }
        let ValueDeserializer { value, reading, .. } = self.array;
        match seed.deserialize(ValueDeserializer {
            value: value.another(found),
            reading,
            left: self.left,
        }) {
            Ok(element) => Ok(Some(element)),
            Err(error) => Err(error.below_index(self.next as usize - 1)),
        }
    }

    /// Exact: the data was seen to lie in the document, so the count is bounded by its bits.
    fn size_hint(&self) -> Option<usize> {
        Some(self.left())
    }
}

// --- objects ----------------------------------------------------------------

struct Members<'p, 'de, 'w, M> {
    object: &'p ValueDeserializer<'de, 'w, M>,
    /// A table that is known, with the row and the next column. Other objects have `iter`.
    rows: Option<&'w Rows<'de>>,
    row: u32,
    next: u32,
    iter: Option<Fields<'de, M>>,
    left: u16,
    /// The last member that was met.
    key: Option<&'de str>,
    found: Words,
    error: Option<Error>,
}

impl<'p, 'de, 'w, M: Mode> Members<'p, 'de, 'w, M> {
    /// To be begun in its place.
    #[inline]
    fn new(object: &'p ValueDeserializer<'de, 'w, M>) -> Self {
        let found = words(Raw::HOLE);
        let (rows, iter, key, error) = (None, None, None, None);
        Members { object, rows, row: 0, next: 0, iter, left: 0, key, found, error }
    }

    #[inline(never)]
    fn begin(&mut self) -> Result<()> {
        let ValueDeserializer { value, reading, left } = self.object;
        let Raw { cell, tag, .. } = value.raw();
        let at = cell as u32;
        if let Some(row) = row_of(cell)
            && tag == TAG_OBJECT
            && let Some(rows) = reading.known.rows::<M>(value.document(), at)
            && rows.has(row)
        {
            (self.rows, self.row) = (Some(rows), row);
            self.left = reading.walk.descend(*left, at.into(), rows.len())?;
            return Ok(());
        }
        let object = self.object.held(value.object())?;
        self.left = reading.walk.descend(*left, at.into(), object.places())?;
        let iter = self.iter.insert(object.iter_uncounted());
        if !object.is_row() && iter.len() != object.len() {
            // The header is damaged, so the entries cannot be read.
            return Err(Error::new(ErrorKind::BadCount, at.into()).into());
        }
        Ok(())
    }

    /// Goes on to the next member, and answers its key. As in `begin`, one copy for all
    /// visitors.
    #[inline(never)]
    fn advance(&mut self) -> Option<&'de str> {
        let key = match self.rows {
            Some(rows) => self.in_row(rows)?,
            None => match M::item_result(self.iter.as_mut()?.next()?) {
                Ok((key, value)) => {
                    self.found = words(value.raw());
                    key
                }
                Err(error) => return self.fail(error),
            },
        };
        if let Err(error) = self.object.reading.walk.member(key) {
            return self.fail(error);
        }
        self.key = Some(key);
        self.key
    }

    #[inline]
    fn in_row(&mut self, rows: &'w Rows<'de>) -> Option<&'de str> {
        let bytes = self.object.value.document();
        loop {
            let (key, column) = rows.column(self.next as usize)?;
            self.next += 1;
            match column.element_inlined(bytes, self.row) {
                Ok(Raw { tag: TAG_HOLE, .. }) => {}
                Ok(found) => {
                    self.found = words(found);
                    return Some(key);
                }
                Err(error) => return self.fail(error),
            }
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Option<&'de str> {
        self.error = Some(error);
        None
    }

    #[inline]
    fn next_key(&mut self) -> Result<Option<&'de str>> {
        match self.advance() {
            Some(key) => Ok(Some(key)),
            None => self.error.take().map_or(Ok(None), |error| Err(error.into())),
        }
    }

    /// The value of the last member.
    #[inline]
    fn place(&self) -> ValueDeserializer<'de, 'w, M> {
        let ValueDeserializer { value, reading, .. } = self.object;
        ValueDeserializer { value: value.another(raw(self.found)), reading, left: self.left }
    }

    fn is_at_end(&mut self) -> bool {
        self.advance().is_none() && self.error.is_none()
    }

    fn most(&self) -> usize {
        match (self.rows, &self.iter) {
            (Some(rows), _) => rows.len() - self.next as usize,
            (None, iter) => iter.as_ref().map_or(0, |iter| iter.len()),
        }
    }
}

impl<'de, M: Mode> MapAccess<'de> for Members<'_, 'de, '_, M> {
    type Error = SerdeError;

    #[inline]
    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(key) = self.next_key()? else { return Ok(None) };
        match seed.deserialize(KeyText(key)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(error.below_key(key)),
        }
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let Some(key) = self.key.take() else {
            return Err(SerdeError::custom("a value was asked for before its key"));
        };
        seed.deserialize(self.place()).map_err(|error| error.below_key(key))
    }

    /// Exact but for rows with missing members, and bounded by the bytes of the entries.
    fn size_hint(&self) -> Option<usize> {
        Some(self.most())
    }
}

/// A key, to be taken as text, or as the number or boolean that it writes.
struct KeyText<'de>(&'de str);

impl KeyText<'_> {
    #[cold]
    fn invalid(&self, expected: &dyn Expected) -> SerdeError {
        let message = format!("invalid key: {:?}, expected {expected}", self.0);
        SerdeError::new(ErrorKind::WrongType, message)
    }

    fn visit_number<'de, V: Visitor<'de>>(self, wide: bool, visitor: V) -> Result<V::Value> {
        if crate::format::number::is_json_number(self.0.as_bytes()) {
            visit_number_text(self.0, wide, visitor)
        } else {
            Err(self.invalid(&visitor))
        }
    }
}

impl<'de> de::Deserializer<'de> for KeyText<'de> {
    type Error = SerdeError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(self.0)
    }

    numbers!(false:
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    );
    numbers!(true: deserialize_i128 deserialize_u128);

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(self.invalid(&visitor)),
        }
    }

    /// A key cannot be null.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        BorrowedStrDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

// --- enums ------------------------------------------------------------------

/// A variant's name, and what it holds where it was the key of an object.
struct Variant<'de, 'w, M> {
    variant: &'de str,
    value: Option<ValueDeserializer<'de, 'w, M>>,
}

impl<'de, M: Mode> EnumAccess<'de> for Variant<'de, '_, M> {
    type Error = SerdeError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self)> {
        let name = seed.deserialize(BorrowedStrDeserializer::<SerdeError>::new(self.variant))?;
        Ok((name, self))
    }
}

impl<'de, 'w, M: Mode> Variant<'de, 'w, M> {
    fn held<T>(
        self,
        expected: &str,
        with: impl FnOnce(ValueDeserializer<'de, 'w, M>) -> Result<T>,
    ) -> Result<T> {
        match self.value {
            Some(place) => with(place).map_err(|error| error.below_key(self.variant)),
            None => Err(SerdeError::invalid_type(Unexpected::UnitVariant, &expected)),
        }
    }
}

impl<'de, M: Mode> VariantAccess<'de> for Variant<'de, '_, M> {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<()> {
        match self.value {
            Some(_) => self.held("unit variant", Deserialize::deserialize),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        self.held("newtype variant", |place| seed.deserialize(place))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value> {
        self.held("tuple variant", |place| de::Deserializer::deserialize_seq(place, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.held("struct variant", |place| {
            de::Deserializer::deserialize_struct(place, "", fields, visitor)
        })
    }
}

// --- values as deserializers ------------------------------------------------

macro_rules! from_the_top {
    ($($method:ident($($argument:ident: $type:ty),*);)+) => {
        /// The deserializer that [`from_value`] uses, for `T::deserialize(value)`.
        impl<'de, M: Mode> de::Deserializer<'de> for Value<'de, M> {
            type Error = SerdeError;

            $(
                fn $method<V: Visitor<'de>>(
                    self,
                    $($argument: $type,)*
                    visitor: V,
                ) -> Result<V::Value> {
                    self.nested(SERDE_NESTING).$method($($argument,)* visitor)
                }
            )+
        }

        impl<'de, M: Mode> de::Deserializer<'de> for Nested<'de, M> {
            type Error = SerdeError;

            $(
                fn $method<V: Visitor<'de>>(
                    self,
                    $($argument: $type,)*
                    visitor: V,
                ) -> Result<V::Value> {
                    let (walk, value) = (WalkBounds::new(&self), self.value);
                    let left = walk.nesting();
                    let reading = Reading { walk, known: KnownBlocks::default() };
                    let place = ValueDeserializer { value, reading: &reading, left };
                    place.$method($($argument,)* visitor)
                }
            )+
        }
    };
}

from_the_top! {
    deserialize_any();
    deserialize_bool();
    deserialize_i8();
    deserialize_i16();
    deserialize_i32();
    deserialize_i64();
    deserialize_i128();
    deserialize_u8();
    deserialize_u16();
    deserialize_u32();
    deserialize_u64();
    deserialize_u128();
    deserialize_f32();
    deserialize_f64();
    deserialize_char();
    deserialize_str();
    deserialize_string();
    deserialize_bytes();
    deserialize_byte_buf();
    deserialize_option();
    deserialize_unit();
    deserialize_unit_struct(name: &'static str);
    deserialize_newtype_struct(name: &'static str);
    deserialize_seq();
    deserialize_tuple(length: usize);
    deserialize_tuple_struct(name: &'static str, length: usize);
    deserialize_map();
    deserialize_struct(name: &'static str, fields: &'static [&'static str]);
    deserialize_enum(name: &'static str, variants: &'static [&'static str]);
    deserialize_identifier();
    deserialize_ignored_any();
}

impl<'de, M: Mode> IntoDeserializer<'de, SerdeError> for Value<'de, M> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
