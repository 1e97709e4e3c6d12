//! serde: Rust values to documents, and documents to other formats.
//!
//! The mapping is serde_json's, in its human-readable form. So a type reads and writes LiveBuf
//! and JSON alike. There are five additions:
//!
//! - bytes stay bytes;
//! - NaN and infinities stay floats;
//! - integers beyond 64 bits become number text;
//! - numbers of serde_json's `arbitrary_precision` keep their text;
//! - raw JSON text (`RawValue`) is read by what [`Encoder::set_raw_json`] was given.
//!
//! An `&mut Encoder` is the serializer: serde's calls are its events, without a tree
//! between them.

use crate::edit::{DocBuf, Editor};
use crate::encode::{EncodeOptions, Encoder};
use crate::error::{Error, ErrorKind};
use crate::format::extended::Extended;
use crate::serde_support::error::SerdeError;
use crate::serde_support::extended::EXTENDED_TOKEN;
use crate::serde_support::nested::{Nested, SERDE_NESTING, WalkBounds};
use crate::serde_support::number::{Number, number};
use crate::store::storage::{Storage, VecStorage};
use crate::view::{Array, ArrayIter, Doc, Fields, Kind, Mode, Object, Value};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use serde_core::ser::{self, Impossible, Serialize};

/// A value as a new document.
///
/// ```
/// let doc = livebuf::to_doc(&vec![Some(1.5), None])?;
/// assert_eq!(doc.valid().unwrap().pointer("/0").unwrap().as_f64(), Some(1.5));
/// # Ok::<(), livebuf::SerdeError>(())
/// ```
///
/// To set options or to write several values, serialize into an [`Encoder`]:
/// `value.serialize(&mut encoder)`. The thread keeps up to 4 MiB of memory for the next value
/// ([`Encoder::with_kept_memory`]).
///
/// # Errors
/// What the value's `Serialize` says, a map key that is not text, a number or
/// a boolean, and limits.
pub fn to_doc<T: Serialize + ?Sized>(value: &T) -> Result<DocBuf, SerdeError> {
    encoded(value, EncodeOptions::default())
}

/// The same with these options.
pub(super) fn encoded<T: Serialize + ?Sized>(
    value: &T,
    options: EncodeOptions,
) -> Result<DocBuf, SerdeError> {
    Encoder::with_kept_memory(VecStorage::default(), options, |encoder| {
        value.serialize(&mut *encoder)?;
        Ok(encoder.finish_one()?)
    })
}

/// A value as a new document's bytes.
///
/// # Errors
/// As [`to_doc`].
///
/// ```
/// let bytes = livebuf::to_vec(&[("lap", 55)])?;
/// let back: Vec<(String, u8)> = livebuf::from_slice(&bytes)?;
/// assert_eq!(back, [("lap".to_owned(), 55)]);
/// # Ok::<(), livebuf::SerdeError>(())
/// ```
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, SerdeError> {
    to_doc(value).map(|doc| doc.to_vec())
}

// --- Rust values to events --------------------------------------------------

/// Name of the struct by which serde_json's numbers pass on their text when
/// its `arbitrary_precision` is on, as any crate of a program may turn it on.
pub(crate) const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// The same of raw JSON text (`serde_json::value::RawValue`).
const RAW_TOKEN: &str = "$serde_json::private::RawValue";

macro_rules! numbers {
    ($($method:ident($type:ty) => $event:ident;)+) => {
        $(
            fn $method(self, value: $type) -> Result<(), SerdeError> {
                Ok(self.$event(value.into())?)
            }
        )+
    };
}

impl<'e> ser::Serializer for &'e mut Encoder {
    type Ok = ();
    type Error = SerdeError;
    type SerializeSeq = Elements<'e>;
    type SerializeTuple = Elements<'e>;
    type SerializeTupleStruct = Elements<'e>;
    type SerializeTupleVariant = Elements<'e>;
    type SerializeMap = Members<'e>;
    type SerializeStruct = Members<'e>;
    type SerializeStructVariant = Members<'e>;

    numbers! {
        serialize_i8(i8) => i64;
        serialize_i16(i16) => i64;
        serialize_i32(i32) => i64;
        serialize_i64(i64) => i64;
        serialize_u8(u8) => u64;
        serialize_u16(u16) => u64;
        serialize_u32(u32) => u64;
        serialize_u64(u64) => u64;
        serialize_f32(f32) => f64;
        serialize_f64(f64) => f64;
    }

    fn serialize_bool(self, value: bool) -> Result<(), SerdeError> {
        Ok(self.bool(value)?)
    }

    fn serialize_i128(self, value: i128) -> Result<(), SerdeError> {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Ok(self.i64(value)?),
            (_, Ok(value)) => Ok(self.u64(value)?),
            _ => Ok(self.number_text(&value.to_string())?),
        }
    }

    fn serialize_u128(self, value: u128) -> Result<(), SerdeError> {
        match u64::try_from(value) {
            Ok(value) => Ok(self.u64(value)?),
            Err(_) => Ok(self.number_text(&value.to_string())?),
        }
    }

    fn serialize_char(self, value: char) -> Result<(), SerdeError> {
        Ok(self.str(value.encode_utf8(&mut [0; 4]))?)
    }

    fn serialize_str(self, value: &str) -> Result<(), SerdeError> {
        Ok(self.str(value)?)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), SerdeError> {
        Ok(self.bytes(value)?)
    }

    fn serialize_none(self) -> Result<(), SerdeError> {
        Ok(self.null()?)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), SerdeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), SerdeError> {
        Ok(self.null()?)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), SerdeError> {
        Ok(self.null()?)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), SerdeError> {
        Ok(self.str(variant)?)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), SerdeError> {
        if name == EXTENDED_TOKEN {
            return value.serialize(Text { encoder: self, role: TextRole::Extended });
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), SerdeError> {
        self.begin_object()?;
        self.key(variant)?;
        value.serialize(&mut *self)?;
        Ok(self.end_object()?)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Elements<'e>, SerdeError> {
        self.begin_array_of(length.unwrap_or(0))?;
        Ok(Elements { encoder: self, in_variant: false })
    }

    fn serialize_tuple(self, length: usize) -> Result<Elements<'e>, SerdeError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        length: usize,
    ) -> Result<Elements<'e>, SerdeError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Elements<'e>, SerdeError> {
        self.begin_object()?;
        self.key(variant)?;
        self.begin_array()?;
        Ok(Elements { encoder: self, in_variant: true })
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Members<'e>, SerdeError> {
        self.begin_object()?;
        Ok(Members { encoder: self, role: Role::Plain })
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Members<'e>, SerdeError> {
        if name == NUMBER_TOKEN {
            return Ok(Members { encoder: self, role: Role::Text(TextRole::Number) });
        }
        if name == RAW_TOKEN {
            return Ok(Members { encoder: self, role: Role::Text(TextRole::Raw) });
        }
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Members<'e>, SerdeError> {
        self.begin_object()?;
        self.key(variant)?;
        self.begin_object()?;
        Ok(Members { encoder: self, role: Role::Variant })
    }
}

/// An array being serialized.
pub struct Elements<'e> {
    encoder: &'e mut Encoder,
    in_variant: bool,
}

impl Elements<'_> {
    fn close(self) -> Result<(), SerdeError> {
        self.encoder.end_array()?;
        if self.in_variant {
            self.encoder.end_object()?;
        }
        Ok(())
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident),+) => {
        $(
            impl ser::$trait for Elements<'_> {
                type Ok = ();
                type Error = SerdeError;

                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
                    value.serialize(&mut *self.encoder)
                }

                fn end(self) -> Result<(), SerdeError> {
                    self.close()
                }
            }
        )+
    };
}
elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// An object being serialized.
pub struct Members<'e> {
    encoder: &'e mut Encoder,
    role: Role,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Plain,
    Variant,
    /// No object at all: see [`NUMBER_TOKEN`].
    Text(TextRole),
}

impl Members<'_> {
    fn close(self) -> Result<(), SerdeError> {
        match self.role {
            Role::Text(_) => return Ok(()),
            Role::Plain => {}
            Role::Variant => self.encoder.end_object()?,
        }
        Ok(self.encoder.end_object()?)
    }
}

impl ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = SerdeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), SerdeError> {
        key.serialize(Text { encoder: self.encoder, role: TextRole::Key })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        value.serialize(&mut *self.encoder)
    }

    fn end(self) -> Result<(), SerdeError> {
        self.close()
    }
}

macro_rules! members {
    ($($trait:ident),+) => {
        $(
            impl ser::$trait for Members<'_> {
                type Ok = ();
                type Error = SerdeError;

                fn serialize_field<T: Serialize + ?Sized>(
                    &mut self,
                    key: &'static str,
                    value: &T,
                ) -> Result<(), SerdeError> {
                    if let Role::Text(role) = self.role {
                        return value.serialize(Text { encoder: self.encoder, role });
                    }
                    self.encoder.key_static(key)?;
                    value.serialize(&mut *self.encoder)
                }

                fn end(self) -> Result<(), SerdeError> {
                    self.close()
                }
            }
        )+
    };
}
members!(SerializeStruct, SerializeStructVariant);

/// Serializes a map's key, the text of a number of arbitrary precision, or raw JSON text.
struct Text<'e> {
    encoder: &'e mut Encoder,
    role: TextRole,
}

#[derive(Clone, Copy, PartialEq)]
enum TextRole {
    Key,
    Number,
    Raw,
    Extended,
}

/// Raw JSON text, as events.
fn raw_json(encoder: &mut Encoder, text: &str) -> Result<(), SerdeError> {
    let Some(read) = encoder.raw_json else {
        let message =
            "raw JSON text needs a reader, such as livebuf_json::read_into: Encoder::set_raw_json";
        return Err(SerdeError::new(ErrorKind::Unsupported, String::from(message)));
    };
    read(encoder, text).map_err(|error| {
        let core = error.source().and_then(|source| source.downcast_ref::<Error>());
        SerdeError::new(core.map_or(ErrorKind::Custom, Error::kind), error.to_string())
    })
}

#[cold]
fn bad_key<T>(found: &str) -> Result<T, SerdeError> {
    let message = format!("a map key must be text, a number or a boolean, not {found}");
    Err(SerdeError::new(ErrorKind::WrongType, message))
}

/// A float as serde_json writes it: the fewest digits that give it back, plain
/// where the decimal exponent lies in `plain`.
fn float_text(value: impl fmt::Display + fmt::LowerExp, plain: RangeInclusive<i32>) -> String {
    let text = format!("{value:e}");
    match text.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>())) {
        Some((digits, Ok(exponent))) if !plain.contains(&exponent) => {
            format!("{digits}e{exponent:+}")
        }
        _ => {
            let mut text = value.to_string();
            if !text.contains('.') {
                text.push_str(".0");
            }
            text
        }
    }
}

macro_rules! integer_keys {
    ($($method:ident: $type:ty),+) => {
        $(
            fn $method(self, value: $type) -> Result<(), SerdeError> {
                self.serialize_str(&value.to_string())
            }
        )+
    };
}

/// Methods for values that are no keys.
macro_rules! bad_keys {
    ($($found:literal: $method:ident($($type:ty),*) -> $ok:ty;)+) => {
        $(
            fn $method(self, $(_: $type),*) -> Result<$ok, SerdeError> {
                bad_key($found)
            }
        )+
    };
}

impl ser::Serializer for Text<'_> {
    type Ok = ();
    type Error = SerdeError;
    type SerializeSeq = Impossible<(), SerdeError>;
    type SerializeTuple = Impossible<(), SerdeError>;
    type SerializeTupleStruct = Impossible<(), SerdeError>;
    type SerializeTupleVariant = Impossible<(), SerdeError>;
    type SerializeMap = Impossible<(), SerdeError>;
    type SerializeStruct = Impossible<(), SerdeError>;
    type SerializeStructVariant = Impossible<(), SerdeError>;

    fn serialize_str(self, value: &str) -> Result<(), SerdeError> {
        match self.role {
            TextRole::Key => Ok(self.encoder.key(value)?),
            TextRole::Number => number(self.encoder, value),
            TextRole::Extended => Ok(self.encoder.extended(value.parse::<Extended>()?)?),
            TextRole::Raw => raw_json(self.encoder, value),
        }
    }

    integer_keys!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_u128: u128
    );

    fn serialize_bool(self, value: bool) -> Result<(), SerdeError> {
        self.serialize_str(if value { "true" } else { "false" })
    }

    fn serialize_f32(self, value: f32) -> Result<(), SerdeError> {
        if !value.is_finite() {
            return bad_key("NaN or infinite");
        }
        self.serialize_str(&float_text(value, -6..=12))
    }

    fn serialize_f64(self, value: f64) -> Result<(), SerdeError> {
        if !value.is_finite() {
            return bad_key("NaN or infinite");
        }
        self.serialize_str(&float_text(value, -5..=15))
    }

    fn serialize_char(self, value: char) -> Result<(), SerdeError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), SerdeError> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), SerdeError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), SerdeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<(), SerdeError> {
        bad_key("an object")
    }

    bad_keys! {
        "bytes": serialize_bytes(&[u8]) -> ();
        "null": serialize_none() -> ();
        "null": serialize_unit() -> ();
        "null": serialize_unit_struct(&'static str) -> ();
        "an array": serialize_seq(Option<usize>) -> Self::SerializeSeq;
        "an array": serialize_tuple(usize) -> Self::SerializeTuple;
        "an array": serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        "an object": serialize_tuple_variant(&'static str, u32, &'static str, usize)
            -> Self::SerializeTupleVariant;
        "an object": serialize_map(Option<usize>) -> Self::SerializeMap;
        "an object": serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        "an object": serialize_struct_variant(&'static str, u32, &'static str, usize)
            -> Self::SerializeStructVariant;
    }
}

// --- documents to other formats ---------------------------------------------

/// A value on a walk.
struct Below<'a, 'w, M> {
    value: Value<'a, M>,
    walk: &'w WalkBounds,
    left: u16,
}

/// Not inlined: the frames of recursive functions stay small in unoptimised builds.
impl<'a, M: Mode> Below<'a, '_, M> {
    /// What the cell holds, or that it is damaged (a valid view answers `None` then).
    #[inline(never)]
    fn held<T, E: ser::Error>(&self, found: Result<Option<T>, Error>) -> Result<T, E> {
        let at = u64::from(self.value.raw().position);
        let damaged = || Error::new(ErrorKind::BadCell, at);
        found.and_then(|found| found.ok_or_else(damaged)).map_err(ser::Error::custom)
    }

    fn below(&self, value: Value<'a, M>, left: u16) -> Self {
        Below { value, walk: self.walk, left }
    }

    #[inline(never)]
    fn enter_array<E: ser::Error>(&self) -> Result<(ArrayIter<'a, M>, u16), E> {
        let array: Array<'a, M> = self.held(self.value.array())?;
        let at = self.value.raw().cell & 0xFFFF_FFFF;
        let left = self.walk.descend(self.left, at, 0).map_err(ser::Error::custom)?;
        Ok((array.iter(), left))
    }

    #[inline(never)]
    fn next_element<E: ser::Error>(
        &self,
        elements: &mut ArrayIter<'a, M>,
        left: u16,
    ) -> Result<Option<Self>, E> {
        let Some(element) = elements.next() else { return Ok(None) };
        let value = M::item_result(element).map_err(ser::Error::custom)?;
        self.walk.value().map_err(ser::Error::custom)?;
        Ok(Some(self.below(value, left)))
    }

    #[inline(never)]
    fn array<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut iter, left) = self.enter_array()?;
        let (length, mut count) = (iter.len(), 0);
        let mut elements = serializer.serialize_seq(Some(length))?;
        while let Some(value) = self.next_element(&mut iter, left)? {
            ser::SerializeSeq::serialize_element(&mut elements, &value)?;
            count += 1;
        }
        whole(count, length)?;
        ser::SerializeSeq::end(elements)
    }

    #[inline(never)]
    fn enter_object<E: ser::Error>(&self) -> Result<(Fields<'a, M>, u16), E> {
        let object: Object<'a, M> = self.held(self.value.object())?;
        let at = self.value.raw().cell & 0xFFFF_FFFF;
        let places = object.places();
        let left = self.walk.descend(self.left, at, places).map_err(ser::Error::custom)?;
        let fields = object.iter();
        whole(fields.len(), object.len())?;
        Ok((fields, left))
    }

    #[inline(never)]
    fn next_member<E: ser::Error>(
        &self,
        fields: &mut Fields<'a, M>,
        left: u16,
    ) -> Result<Option<(&'a str, Self)>, E> {
        let Some(member) = fields.next() else { return Ok(None) };
        let (key, value) = M::item_result(member).map_err(ser::Error::custom)?;
        self.walk.member(key).map_err(ser::Error::custom)?;
        Ok(Some((key, self.below(value, left))))
    }

    #[inline(never)]
    fn object<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut fields, left) = self.enter_object()?;
        let (length, mut count) = (fields.len(), 0);
        let mut members = serializer.serialize_map(Some(length))?;
        while let Some((key, value)) = self.next_member(&mut fields, left)? {
            ser::SerializeMap::serialize_entry(&mut members, key, &value)?;
            count += 1;
        }
        whole(count, length)?;
        ser::SerializeMap::end(members)
    }

    #[inline(never)]
    fn scalar<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cell = self.value.raw().cell;
        let pay = |text: &[u8]| self.walk.text(text).map_err(ser::Error::custom);
        match self.value.kind() {
            Kind::Null => serializer.serialize_unit(),
            Kind::Bool => serializer.serialize_bool(self.value.as_bool() == Some(true)),
            Kind::Int => serializer.serialize_i64(cell as i64),
            Kind::Uint => serializer.serialize_u64(cell),
            Kind::Float => serializer.serialize_f64(f64::from_bits(cell)),
            Kind::String => {
                let text = self.held(M::result(self.value.as_str()))?;
                pay(text.as_bytes())?;
                serializer.serialize_str(text)
            }
            Kind::Bytes => {
                let bytes = self.held(M::result(self.value.as_bytes()))?;
                pay(bytes)?;
                serializer.serialize_bytes(bytes)
            }
            Kind::NumberText => {
                let text = self.held(M::result(self.value.as_number_text()))?;
                pay(text.as_bytes())?;
                match Number::parse(text).map_err(ser::Error::custom)? {
                    Number::U64(value) => serializer.serialize_u64(value),
                    Number::I64(value) => serializer.serialize_i64(value),
                    Number::U128(value) => serializer.serialize_u128(value),
                    Number::I128(value) => serializer.serialize_i128(value),
                    Number::F64(value) => serializer.serialize_f64(value),
                    Number::OutOfRange => Err(ser::Error::custom(Number::out_of_range())),
                }
            }
            kind if kind.is_extended() => {
                let value = self.held(M::result(self.value.as_extended()))?;
                value.serialize(serializer)
            }
            _ => {
                let at = u64::from(self.value.raw().position);
                Err(ser::Error::custom(Error::new(ErrorKind::Unsupported, at)))
            }
        }
    }
}

/// Formats that write counts first, or allocate by them, must not be given a wrong one.
fn whole<E: ser::Error>(count: usize, stated: usize) -> Result<(), E> {
    if count == stated {
        Ok(())
    } else {
        Err(ser::Error::custom(Error::new(ErrorKind::BadCount, 0)))
    }
}

impl<M: Mode> Serialize for Below<'_, '_, M> {
    #[inline]
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value.kind() {
            Kind::Object => self.object(serializer),
            Kind::Array => self.array(serializer),
            _ => self.scalar(serializer),
        }
    }
}

impl<M: Mode> Serialize for Nested<'_, M> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let walk = WalkBounds::new(self);
        Below { value: self.value, walk: &walk, left: self.nesting }.serialize(serializer)
    }
}

/// As the JSON that it stands for. Bytes go to `serialize_bytes`, of which serde_json makes an
/// array of numbers. Number text goes on exactly if it is an integer of up to 128 bits. Else it
/// goes on as the nearest double, or is an error beyond doubles.
///
/// Nesting beyond [`SERDE_NESTING`] is an error; [`Value::nested`] sets another limit.
impl<M: Mode> Serialize for Value<'_, M> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.nested(SERDE_NESTING).serialize(serializer)
    }
}

/// As its root.
impl<M: Mode> Serialize for Doc<'_, M> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(serializer)
    }
}

/// As the document's root.
impl<S: Storage> Serialize for Editor<S> {
    fn serialize<Z: ser::Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        self.doc().root().serialize(serializer)
    }
}
