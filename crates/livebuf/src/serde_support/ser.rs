//! serde: Rust values to documents, documents to other formats, and the error of both ways.
//!
//! The mapping is serde_json's, in its human-readable form. So a type reads and writes LiveBuf
//! and JSON alike. There are five additions:
//!
//! - bytes stay bytes;
//! - NaN and infinities stay floats;
//! - integers beyond 64 bits become number text;
//! - numbers of serde_json's `arbitrary_precision` keep their text;
//! - raw JSON text (`RawValue`) becomes the value that it stands for.
//!
//! An `&mut Encoder` is the serializer: serde's calls are its events, without a tree
//! between them.

use crate::block::walk::Allowance;
use crate::edit::{DocBuf, Editor};
use crate::encode::{EncodeOptions, Encoder};
use crate::error::{Error, ErrorKind};
use crate::format::extended::Extended;
use crate::format::number::is_json_number;
use crate::serde_support::extended::EXTENDED_TOKEN;
use crate::store::space::Observer;
use crate::store::storage::{Storage, VecStorage};
use crate::view::{Array, ArrayIter, Doc, Fields, Kind, Mode, Object, Value};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::ops::RangeInclusive;
use serde_core::de::{Expected, Unexpected};
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

// --- the error --------------------------------------------------------------

/// What serde reports: an [`Error`] of the document, or a message of a type's
/// own, with the JSON pointer to the value at fault.
///
/// [`error`](Self::error) is the [`Error`] alone, where only the kind matters.
///
/// ```
/// let doc = livebuf::json!({"laps": [{"time": 88.4}, {"time": "fast"}]});
/// type Laps = std::collections::BTreeMap<String, Vec<std::collections::BTreeMap<String, f64>>>;
/// let error = livebuf::from_value::<Laps>(&doc).unwrap_err();
/// assert_eq!(error.to_string(), "invalid type: string \"fast\", expected f64 at /laps/1/time");
/// assert_eq!(error.pointer(), "/laps/1/time");
/// assert_eq!(error.kind(), livebuf::ErrorKind::WrongType);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SerdeError(Box<Report>);

#[derive(Clone, PartialEq, Eq)]
struct Report {
    error: Error,
    /// serde's words; empty where the error says it all.
    message: String,
    pointer: String,
}

/// Longest pointer that an error collects, so that damage cannot blow it up.
const MAX_POINTER: usize = 1024;

impl SerdeError {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: String) -> Self {
        let error = Error::new(kind, 0);
        SerdeError(Box::new(Report { error, message, pointer: String::new() }))
    }

    /// The error without words.
    pub fn error(&self) -> Error {
        self.0.error
    }

    /// What went wrong: [`WrongType`](ErrorKind::WrongType),
    /// [`NotFound`](ErrorKind::NotFound) (a missing field),
    /// [`DuplicateKey`](ErrorKind::DuplicateKey), [`BadNumber`](ErrorKind::BadNumber)
    /// (out of range), [`Custom`](ErrorKind::Custom) for anything else a type
    /// says, or what is wrong with the document.
    pub fn kind(&self) -> ErrorKind {
        self.0.error.kind()
    }

    /// JSON pointer to the value at fault, while deserializing; empty for the
    /// root. Only the last 1 KiB is kept, after `…`.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    #[cold]
    pub(crate) fn below_key(self, key: &str) -> Self {
        self.below(key)
    }

    #[cold]
    pub(crate) fn below_index(self, index: usize) -> Self {
        self.below(&index.to_string())
    }

    fn below(mut self, token: &str) -> Self {
        let pointer = &mut self.0.pointer;
        if pointer.starts_with('…') {
            return self;
        }
        if pointer.len() + token.len() < MAX_POINTER {
            let token = token.replace('~', "~0").replace('/', "~1");
            pointer.insert_str(0, &token);
            pointer.insert(0, '/');
        } else {
            pointer.insert(0, '…');
        }
        self
    }
}

impl From<Error> for SerdeError {
    #[cold]
    fn from(error: Error) -> Self {
        SerdeError(Box::new(Report { error, message: String::new(), pointer: String::new() }))
    }
}

impl fmt::Display for SerdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.message {
            "" => write!(f, "{}", self.0.error)?,
            message => f.write_str(message)?,
        }
        match &*self.0.pointer {
            "" => Ok(()),
            pointer => write!(f, " at {pointer}"),
        }
    }
}

impl fmt::Debug for SerdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.kind().name())
    }
}

impl core::error::Error for SerdeError {}

impl ser::Error for SerdeError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        SerdeError::new(ErrorKind::Custom, message.to_string())
    }
}

impl serde_core::de::Error for SerdeError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        SerdeError::new(ErrorKind::Custom, message.to_string())
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!("invalid type: {}, expected {expected}", Found(unexpected));
        SerdeError::new(ErrorKind::WrongType, message)
    }

    #[cold]
    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!("invalid value: {}, expected {expected}", Found(unexpected));
        SerdeError::new(ErrorKind::Custom, message)
    }

    #[cold]
    fn missing_field(field: &'static str) -> Self {
        SerdeError::new(ErrorKind::NotFound, format!("missing field `{field}`"))
    }

    #[cold]
    fn duplicate_field(field: &'static str) -> Self {
        SerdeError::new(ErrorKind::DuplicateKey, format!("duplicate field `{field}`"))
    }
}

/// What was found, in JSON's words.
struct Found<'a>(Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Unit => f.write_str("null"),
            Unexpected::Seq => f.write_str("array"),
            Unexpected::Map => f.write_str("object"),
            ref other => other.fmt(f),
        }
    }
}

// --- Rust values to events --------------------------------------------------

/// Name of the struct by which serde_json's numbers pass on their text when
/// its `arbitrary_precision` is on, as any crate of a program may turn it on.
pub(crate) const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// The same of raw JSON text (`serde_json::value::RawValue`).
const RAW_TOKEN: &str = "$serde_json::private::RawValue";

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

    fn serialize_bool(self, value: bool) -> Result<(), SerdeError> {
        Ok(self.bool(value)?)
    }

    fn serialize_i8(self, value: i8) -> Result<(), SerdeError> {
        Ok(self.i64(value.into())?)
    }

    fn serialize_i16(self, value: i16) -> Result<(), SerdeError> {
        Ok(self.i64(value.into())?)
    }

    fn serialize_i32(self, value: i32) -> Result<(), SerdeError> {
        Ok(self.i64(value.into())?)
    }

    fn serialize_i64(self, value: i64) -> Result<(), SerdeError> {
        Ok(self.i64(value)?)
    }

    fn serialize_i128(self, value: i128) -> Result<(), SerdeError> {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Ok(self.i64(value)?),
            (_, Ok(value)) => Ok(self.u64(value)?),
            _ => Ok(self.number_text(&value.to_string())?),
        }
    }

    fn serialize_u8(self, value: u8) -> Result<(), SerdeError> {
        Ok(self.u64(value.into())?)
    }

    fn serialize_u16(self, value: u16) -> Result<(), SerdeError> {
        Ok(self.u64(value.into())?)
    }

    fn serialize_u32(self, value: u32) -> Result<(), SerdeError> {
        Ok(self.u64(value.into())?)
    }

    fn serialize_u64(self, value: u64) -> Result<(), SerdeError> {
        Ok(self.u64(value)?)
    }

    fn serialize_u128(self, value: u128) -> Result<(), SerdeError> {
        match u64::try_from(value) {
            Ok(value) => Ok(self.u64(value)?),
            Err(_) => Ok(self.number_text(&value.to_string())?),
        }
    }

    fn serialize_f32(self, value: f32) -> Result<(), SerdeError> {
        Ok(self.f64(value.into())?)
    }

    fn serialize_f64(self, value: f64) -> Result<(), SerdeError> {
        Ok(self.f64(value)?)
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
    fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        value.serialize(&mut *self.encoder)
    }

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
                    self.put(value)
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
    fn put<T: Serialize + ?Sized>(
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
                    self.put(key, value)
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
            TextRole::Raw => crate::serde_support::raw_json::encode(self.encoder, value),
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

    fn serialize_bytes(self, _value: &[u8]) -> Result<(), SerdeError> {
        bad_key("bytes")
    }

    fn serialize_none(self) -> Result<(), SerdeError> {
        bad_key("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), SerdeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), SerdeError> {
        bad_key("null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), SerdeError> {
        bad_key("null")
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

    fn serialize_seq(self, _length: Option<usize>) -> Result<Self::SerializeSeq, SerdeError> {
        bad_key("an array")
    }

    fn serialize_tuple(self, _length: usize) -> Result<Self::SerializeTuple, SerdeError> {
        bad_key("an array")
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleStruct, SerdeError> {
        bad_key("an array")
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleVariant, SerdeError> {
        bad_key("an object")
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Self::SerializeMap, SerdeError> {
        bad_key("an object")
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStruct, SerdeError> {
        bad_key("an object")
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStructVariant, SerdeError> {
        bad_key("an object")
    }
}

// --- number text ------------------------------------------------------------

/// What a JSON number's text is worth, exactly where that can be.
pub(crate) enum Number {
    U64(u64),
    I64(i64),
    U128(u128),
    I128(i128),
    /// The nearest double.
    F64(f64),
    /// Beyond the range of doubles.
    OutOfRange,
}

impl Number {
    /// # Errors
    /// [`ErrorKind::BadNumber`] where the text is no JSON number.
    pub(crate) fn parse(text: &str) -> Result<Number, Error> {
        if !is_json_number(text.as_bytes()) {
            return Err(Error::new(ErrorKind::BadNumber, 0));
        }
        // As in serde_json, `-0` is a float.
        if text != "-0" && !text.contains(['.', 'e', 'E']) {
            if let Ok(value) = text.parse() {
                return Ok(Number::U64(value));
            }
            if let Ok(value) = text.parse() {
                return Ok(Number::I64(value));
            }
            if let Ok(value) = text.parse() {
                return Ok(Number::U128(value));
            }
            if let Ok(value) = text.parse() {
                return Ok(Number::I128(value));
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Number::F64(value)),
            _ => Ok(Number::OutOfRange),
        }
    }

    #[cold]
    pub(crate) fn out_of_range() -> SerdeError {
        SerdeError::new(ErrorKind::BadNumber, String::from("number out of range"))
    }
}

/// Most significant digits that a double always gives back.
const EXACT_DIGITS: usize = 17;

/// The event for a number's text: an integer or float where nothing is lost
/// (as in `livebuf-json`), else the text.
pub(crate) fn number(encoder: &mut Encoder, text: &str) -> Result<(), SerdeError> {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    let significant = digits.skip_while(|&digit| digit == b'0').count();
    let exact = significant <= EXACT_DIGITS;
    match Number::parse(text)? {
        Number::I64(value) => encoder.i64(value)?,
        Number::U64(value) => encoder.u64(value)?,
        // A zero that was none is no float.
        Number::F64(value) if exact && (value != 0.0 || significant == 0) => encoder.f64(value)?,
        _ => encoder.number_text(text)?,
    }
    Ok(())
}

// --- documents to other formats ---------------------------------------------

/// Deepest nesting that serde follows in a document, in both directions, unless
/// [`Value::nested`] says otherwise.
///
/// serde calls itself for each level, on the thread's stack. A level takes up to 4 KiB of it
/// in unoptimised builds, and about 1 KiB in optimised ones; so 64 fit a thread of 256 KiB.
pub const SERDE_NESTING: u16 = 64;

/// Bounds a walk: its depth, and its work on a damaged document.
pub(crate) struct Walk {
    left: Cell<Allowance>,
    nesting: u16,
}

impl Walk {
    pub(crate) fn new(document: &[u8], nesting: u16) -> Walk {
        Walk { left: Cell::new(Allowance::new(document, u64::MAX)), nesting }
    }

    /// Deepest nesting that is followed.
    pub(crate) fn nesting(&self) -> u16 {
        self.nesting
    }

    #[inline]
    fn take(&self, pay: impl FnOnce(&mut Allowance) -> Result<(), Error>) -> Result<(), Error> {
        let mut left = self.left.get();
        let paid = pay(&mut left);
        self.left.set(left);
        paid
    }

    /// Pays for a value.
    #[inline]
    pub(crate) fn value(&self) -> Result<(), Error> {
        self.take(Allowance::value)
    }

    /// Pays for text.
    #[inline]
    pub(crate) fn text(&self, text: &[u8]) -> Result<(), Error> {
        self.take(|left| left.text(text.len()))
    }

    /// Pays for a member: its key, and that it is a value.
    #[inline]
    pub(crate) fn member(&self, key: &str) -> Result<(), Error> {
        self.take(|left| left.value().and_then(|()| left.key(key.len())))
    }

    /// One level down, into the container at this offset, with places for so many members.
    #[inline(never)]
    pub(crate) fn descend(&self, left: u16, offset: u64, places: usize) -> Result<u16, SerdeError> {
        self.take(|left| left.key(places))?;
        left.checked_sub(1).ok_or_else(|| self.too_deep(offset))
    }

    #[cold]
    fn too_deep(&self, offset: u64) -> SerdeError {
        let limit = self.nesting;
        let error = Error::with_detail(ErrorKind::NestingLimit, offset, limit.into());
        let message = format!("{error}; `Value::nested` sets the limit for serde");
        SerdeError(Box::new(Report { error, message, pointer: String::new() }))
    }
}

/// A value for serde with another bound of nesting than [`SERDE_NESTING`]: [`Value::nested`].
#[derive(Clone, Copy, Debug)]
pub struct Nested<'a, M: Mode> {
    pub(crate) value: Value<'a, M>,
    pub(crate) nesting: u16,
}

impl<'a, M: Mode> Value<'a, M> {
    /// The value for serde, nested at most this deep instead of [`SERDE_NESTING`]. It can be
    /// serialized, and is a deserializer.
    ///
    /// Each level takes stack, up to 4 KiB in unoptimised builds: run it on a thread that has
    /// it. What needs no stack: [`deep_eq`](Value::deep_eq), `Value::digest`, copies,
    /// and printing by `livebuf-json`.
    ///
    /// ```
    /// use serde::Deserialize;
    /// let mut doc = livebuf::json!(1);
    /// for _ in 0..100 {
    ///     doc = livebuf::json!([(doc.doc().root())]);
    /// }
    /// let root = doc.doc().root();
    /// let error = livebuf::from_value::<serde_json::Value>(root).unwrap_err();
    /// assert_eq!(error.kind(), livebuf::ErrorKind::NestingLimit);
    /// let value = serde_json::Value::deserialize(root.nested(100))?;
    /// assert_eq!(serde_json::to_string(&root.nested(100)).unwrap(), value.to_string());
    /// # Ok::<(), livebuf::SerdeError>(())
    /// ```
    pub fn nested(self, nesting: u16) -> Nested<'a, M> {
        Nested { value: self, nesting }
    }
}

/// A value on a walk.
struct Below<'a, 'w, M> {
    value: Value<'a, M>,
    walk: &'w Walk,
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
        let walk = Walk::new(self.value.document(), self.nesting);
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
impl<S: Storage, O: Observer> Serialize for Editor<S, O> {
    fn serialize<Z: ser::Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        self.doc().root().serialize(serializer)
    }
}
