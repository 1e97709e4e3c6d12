//! The kind of a value, a view to match on, and conversions to plain Rust types.

use super::{Array, Checked, Mode, Object, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::format::extended::Extended;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// JSON null.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer that fits `i64`.
    Int,
    /// An integer above `i64` that fits `u64`.
    Uint,
    /// An IEEE 754 double.
    Float,
    /// A number kept as its JSON text, because no other kind holds it exactly.
    NumberText,
    /// Text.
    String,
    /// Arbitrary bytes.
    Bytes,
    /// An object.
    Object,
    /// An array.
    Array,
    /// A date.
    Date,
    /// A time of day.
    Time,
    /// A date and time of day without a time zone.
    DateTime,
    /// A moment.
    Timestamp,
    /// A decimal number.
    Decimal,
    /// A UUID.
    Uuid,
    /// A value of a class this version knows, but of a kind it does not.
    Reserved,
}

impl Kind {
    /// Whether JSON lacks values of this kind: dates, times, decimals and UUIDs.
    pub const fn is_extended(self) -> bool {
        use Kind::*;
        matches!(self, Date | Time | DateTime | Timestamp | Decimal | Uuid)
    }
}

/// A value with its contents, to match on: [`Value::view`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum View<'a, M: Mode = Checked> {
    /// JSON null.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits `i64`.
    Int(i64),
    /// An integer above `i64` that fits `u64`.
    Uint(u64),
    /// An IEEE 754 double.
    Float(f64),
    /// The JSON text of a number that no other kind holds exactly.
    NumberText(&'a str),
    /// Text.
    String(&'a str),
    /// Arbitrary bytes.
    Bytes(&'a [u8]),
    /// An object.
    Object(Object<'a, M>),
    /// An array.
    Array(Array<'a, M>),
    /// A date, time, decimal or UUID.
    Extended(Extended),
    /// A value of a class this version knows, but of a kind it does not.
    Reserved,
}

impl<'a, M: Mode> Value<'a, M> {
    /// The value with its contents, to match on.
    ///
    /// # Errors
    /// In checked mode, damage.
    ///
    /// ```
    /// use livebuf::{Valid, Value, View, json};
    ///
    /// fn depth(value: Value<'_, Valid>) -> usize {
    ///     match value.view() {
    ///         View::Array(array) => 1 + array.iter().map(depth).max().unwrap_or(0),
    ///         View::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
    ///         _ => 0,
    ///     }
    /// }
    ///
    /// let doc = json!({"laps": [{"time": 88.4}], "driver": "Ada"});
    /// assert_eq!(depth(doc.valid()?.root()), 3);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn view(&self) -> M::Item<View<'a, M>> {
        M::whole(self.matched(), View::Reserved)
    }

    fn matched(&self) -> Result<View<'a, M>> {
        /// The contents of a value of this kind.
        fn held<X>(found: Result<Option<X>>) -> Result<X> {
            found?.ok_or(Error::new(ErrorKind::BadCell, 0))
        }
        Ok(match self.kind() {
            Kind::Null => View::Null,
            Kind::Bool => View::Bool(self.as_bool() == Some(true)),
            Kind::Int => View::Int(self.raw.cell as i64),
            Kind::Uint => View::Uint(self.raw.cell),
            Kind::Float => View::Float(f64::from_bits(self.raw.cell)),
            Kind::NumberText => View::NumberText(held(M::result(self.as_number_text()))?),
            Kind::String => View::String(held(M::result(self.as_str()))?),
            Kind::Bytes => View::Bytes(held(M::result(self.as_bytes()))?),
            Kind::Object => View::Object(held(self.object())?),
            Kind::Array => View::Array(held(self.array())?),
            kind if kind.is_extended() => View::Extended(held(self.extended())?),
            _ => View::Reserved,
        })
    }

    /// Whether it is `true` or `false`.
    pub fn is_bool(&self) -> bool {
        self.kind() == Kind::Bool
    }

    /// Whether it is a number of any kind, one that is kept as text among them.
    ///
    /// ```
    /// let doc = livebuf::json!([1, 2.5, u128::MAX, "3"]);
    /// let numbers = doc.valid()?.root().as_array().unwrap().iter().filter(|value| value.is_number());
    /// assert_eq!(numbers.count(), 3);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn is_number(&self) -> bool {
        matches!(self.kind(), Kind::Int | Kind::Uint | Kind::Float | Kind::NumberText)
    }

    /// Whether it is text.
    pub fn is_string(&self) -> bool {
        self.kind() == Kind::String
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.kind() == Kind::Object
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        self.kind() == Kind::Array
    }

    #[cold]
    fn wrong_type(&self) -> Error {
        Error::new(ErrorKind::WrongType, self.raw.position.into())
    }
}

/// Conversions to plain Rust types, and comparisons with them, by the rules of `as_str`,
/// `as_f64` and so on.
macro_rules! plain {
    ($($($type:ty),+ => |$value:ident| $plain:expr;)+) => {
        $($(
            /// # Errors
            /// [`ErrorKind::WrongType`] where it is of another type or out of range, or the
            /// damage.
            impl<'a, M: Mode> TryFrom<Value<'a, M>> for $type {
                type Error = Error;

                fn try_from(value: Value<'a, M>) -> Result<$type> {
                    let $value = value.checked();
                    $plain.ok_or_else(|| value.wrong_type())
                }
            }
        )+)+
    };
}
plain! {
    bool => |value| value.as_bool();
    i8, i16, i32, isize => |value| value.as_i64().and_then(|value| value.try_into().ok());
    i64 => |value| value.as_i64();
    u8, u16, u32, usize => |value| value.as_u64().and_then(|value| value.try_into().ok());
    u64 => |value| value.as_u64();
    f32 => |value| value.as_f64().map(|value| value as f32);
    f64 => |value| value.as_f64();
    &'a str => |value| value.as_str()?;
    &'a [u8] => |value| value.as_bytes()?;
    Object<'a, Checked> => |value| value.as_object()?;
    Array<'a, Checked> => |value| value.as_array()?;
}
#[cfg(feature = "alloc")]
plain! {
    alloc::string::String => |value| value.as_str()?.map(Into::into);
}

/// Comparisons with plain Rust values, by the rules of `as_str`, `as_f64` and so on.
macro_rules! equal_to {
    ($($($type:ty),+ => |$value:ident, $other:ident| $equal:expr;)+) => {
        $($(
            impl<M: Mode> PartialEq<$type> for Value<'_, M> {
                fn eq(&self, $other: &$type) -> bool {
                    let $value = self.checked();
                    $equal
                }
            }
        )+)+
    };
}
equal_to! {
    str => |value, other| matches!(value.as_str(), Ok(Some(text)) if text == other);
    &str => |value, other| value == **other;
    bool => |value, other| value.as_bool() == Some(*other);
    i8, i16, i32, isize => |value, other| value.as_i64() == Some(*other as i64);
    i64 => |value, other| value.as_i64() == Some(*other);
    u8, u16, u32, usize => |value, other| value.as_u64() == Some(*other as u64);
    u64 => |value, other| value.as_u64() == Some(*other);
    f64 => |value, other| value.as_f64() == Some(*other);
}
#[cfg(feature = "alloc")]
equal_to! {
    alloc::string::String => |value, other| value == **other;
}
