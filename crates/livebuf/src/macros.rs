//! The `json!` macro, and what its expansion calls: encoder events, one by one.

use crate::edit::{DocBuf, Editor, New};
use crate::encode::Encoder;
use crate::error::{Error, ErrorKind, Result};
use crate::format::date::{Date, DateTime, Time, Timestamp};
use crate::format::decimal::Decimal;
use crate::format::extended::Extended;
use crate::format::uuid::Uuid;
use crate::store::storage::Storage;
use crate::view::{Doc, Mode, Value};
use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A document from a JSON literal: a [`DocBuf`].
///
/// ```
/// use livebuf::json;
/// let (event, lap) = (String::from("lap_complete"), 55);
/// let doc = json!({
///     "event": event,
///     "laps": [lap, lap + 1, null],
///     "driver": { "name": "Ada", "retired": false },
///     (format!("lap_{lap}")): Some(88.427),
/// });
/// let root = doc.valid().unwrap().root();
/// assert_eq!(root.pointer("/laps/1").unwrap().as_i64(), Some(56));
/// assert_eq!(root.get("lap_55").unwrap().as_f64(), Some(88.427));
///
/// let both = json!([root.get("driver").unwrap(), &doc]);      // copies of subtrees
/// assert_eq!(both.valid().unwrap().pointer("/1/event").unwrap().as_str(), Some("lap_complete"));
/// ```
///
/// A value may be any expression of a boolean, a number, text, `Option`, slice
/// or `Vec` of such (`u8`s become bytes), [`New`], a [`Value`], [`Doc`] or
/// [`DocBuf`]. With the feature `serde` it may be of any other type that implements
/// `Serialize`: structs, maps, tuples. A key is a literal or an expression of text.
/// Variables are borrowed, not moved. As elsewhere, the last of equal keys counts.
///
/// # Panics
/// If the document cannot be built. Literals alone cannot bring that about:
///
/// - a limit of nesting, string or document size is exceeded;
/// - a value is of a damaged document (validate it first);
/// - a [`New::NumberText`] is no number;
/// - a value is a [`New::Detached`];
/// - a `Serialize` reports an error.
///
/// An [`Encoder`] returns errors instead.
#[macro_export]
macro_rules! json {
    ($($json:tt)+) => {{
        #[allow(unused_imports)]
        use $crate::macros::OrSerialize as _;
        let mut builder = $crate::macros::Builder::new();
        $crate::json_internal!(@value done builder $($json)+);
        builder.finish()
    }};
}

/// `(array | object | done) builder tokens…` goes through the tokens that are
/// left; `@value` takes the next value, then goes on in the given way.
#[doc(hidden)]
#[macro_export]
macro_rules! json_internal {
    ($mode:ident $builder:ident) => {};

    // Values of one token eight by eight, for the recursion limit's sake.
    (array $builder:ident
        $a:tt, $b:tt, $c:tt, $d:tt, $e:tt, $f:tt, $g:tt, $h:tt, $($rest:tt)*) => {
        $crate::json_internal!(@value done $builder $a);
        $crate::json_internal!(@value done $builder $b);
        $crate::json_internal!(@value done $builder $c);
        $crate::json_internal!(@value done $builder $d);
        $crate::json_internal!(@value done $builder $e);
        $crate::json_internal!(@value done $builder $f);
        $crate::json_internal!(@value done $builder $g);
        $crate::json_internal!(@value done $builder $h);
        $crate::json_internal!(array $builder $($rest)*);
    };
    (array $builder:ident $($rest:tt)+) => {
        $crate::json_internal!(@value array $builder $($rest)+);
    };

    (object $builder:ident $key:literal : $($rest:tt)+) => {
        $builder.key(&$key);
        $crate::json_internal!(@value object $builder $($rest)+);
    };
    (object $builder:ident ($key:expr) : $($rest:tt)+) => {
        $builder.key(&$key);
        $crate::json_internal!(@value object $builder $($rest)+);
    };
    (object $builder:ident $($rest:tt)+) => {
        $crate::json_internal!(@key $builder () $($rest)+);
    };
    (@key $builder:ident ($($key:tt)+) : $($rest:tt)+) => {
        $builder.key(&($($key)+));
        $crate::json_internal!(@value object $builder $($rest)+);
    };
    (@key $builder:ident ($($key:tt)*) $next:tt $($rest:tt)+) => {
        $crate::json_internal!(@key $builder ($($key)* $next) $($rest)+);
    };

    (@value $mode:ident $builder:ident null $(, $($rest:tt)*)?) => {
        $builder.null();
        $crate::json_internal!($mode $builder $($($rest)*)?);
    };
    (@value $mode:ident $builder:ident [$($array:tt)*] $(, $($rest:tt)*)?) => {
        $builder.begin_array();
        $crate::json_internal!(array $builder $($array)*);
        $builder.end_array();
        $crate::json_internal!($mode $builder $($($rest)*)?);
    };
    (@value $mode:ident $builder:ident {$($object:tt)*} $(, $($rest:tt)*)?) => {
        $builder.begin_object();
        $crate::json_internal!(object $builder $($object)*);
        $builder.end_object();
        $crate::json_internal!($mode $builder $($($rest)*)?);
    };
    (@value $mode:ident $builder:ident $value:expr $(, $($rest:tt)*)?) => {
        $crate::macros::Given(&$value).put(&mut $builder);
        $crate::json_internal!($mode $builder $($($rest)*)?);
    };
}

/// An encoder that keeps its first error to the end.
#[doc(hidden)]
pub struct Builder {
    encoder: Encoder,
    /// In words, since it can only end the program.
    result: Result<(), String>,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

#[doc(hidden)]
#[allow(missing_docs)]
impl Builder {
    pub fn new() -> Self {
        Builder { encoder: Encoder::new(), result: Ok(()) }
    }

    fn event<E: ToString>(&mut self, with: impl FnOnce(&mut Encoder) -> Result<(), E>) {
        if self.result.is_ok() {
            self.result = with(&mut self.encoder).map_err(|error| error.to_string());
        }
    }

    pub fn key<K: AsRef<str> + ?Sized>(&mut self, key: &K) {
        self.event(|encoder| encoder.key(key.as_ref()));
    }

    pub fn null(&mut self) {
        self.event(Encoder::null);
    }

    pub fn begin_array(&mut self) {
        self.event(Encoder::begin_array);
    }

    pub fn end_array(&mut self) {
        self.event(Encoder::end_array);
    }

    pub fn begin_object(&mut self) {
        self.event(Encoder::begin_object);
    }

    pub fn end_object(&mut self) {
        self.event(Encoder::end_object);
    }

    #[track_caller]
    pub fn finish(self) -> DocBuf {
        let finished = match self.result {
            Ok(()) => self.encoder.finish().map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        match finished {
            Ok(doc) => doc,
            Err(error) => panic!("json!: {error}"),
        }
    }
}

/// The value of an expression. Its own `put` is found first, where the type has one: bytes
/// and number text are kept then, which `Serialize` cannot tell from others.
#[doc(hidden)]
#[derive(Debug)]
pub struct Given<'v, T: ?Sized>(pub &'v T);

#[doc(hidden)]
#[allow(missing_docs)]
impl<T: JsonValue + ?Sized> Given<'_, T> {
    pub fn put(&self, builder: &mut Builder) {
        builder.event(|encoder| self.0.put(encoder));
    }
}

/// `put` for all other types.
#[doc(hidden)]
pub trait OrSerialize {
    /// The events of the value.
    fn put(&self, builder: &mut Builder);
}

#[cfg(feature = "serde")]
impl<T: serde_core::Serialize + ?Sized> OrSerialize for Given<'_, T> {
    fn put(&self, builder: &mut Builder) {
        builder.event(|encoder| self.0.serialize(encoder));
    }
}

/// What an expression in [`json!`](crate::json) may be without serde.
#[doc(hidden)]
pub trait JsonValue {
    /// The events of the value.
    ///
    /// # Errors
    /// As the encoder.
    fn put(&self, encoder: &mut Encoder) -> Result<()>;

    /// The events of a slice of such values.
    ///
    /// # Errors
    /// As the encoder.
    fn put_slice(values: &[Self], encoder: &mut Encoder) -> Result<()>
    where
        Self: Sized,
    {
        encoder.begin_array()?;
        for value in values {
            value.put(encoder)?;
        }
        encoder.end_array()
    }
}

/// What types put: their generics, and the events of a value.
macro_rules! json_values {
    ($([$($generics:tt)*] $type:ty => |$value:ident, $encoder:ident| $events:expr;)+) => {
        $(
            impl<$($generics)*> JsonValue for $type {
                #[inline]
                fn put(&self, $encoder: &mut Encoder) -> Result<()> {
                    let $value = self;
                    $events
                }
            }
        )+
    };
}

json_values! {
    [] () => |_value, encoder| encoder.null();
    [] bool => |value, encoder| encoder.bool(*value);
    [] i8 => |value, encoder| encoder.i64((*value).into());
    [] i16 => |value, encoder| encoder.i64((*value).into());
    [] i32 => |value, encoder| encoder.i64((*value).into());
    [] i64 => |value, encoder| encoder.i64(*value);
    [] isize => |value, encoder| encoder.i64(*value as i64);
    [] u16 => |value, encoder| encoder.u64((*value).into());
    [] u32 => |value, encoder| encoder.u64((*value).into());
    [] u64 => |value, encoder| encoder.u64(*value);
    [] usize => |value, encoder| encoder.u64(*value as u64);
    [] f32 => |value, encoder| encoder.f64((*value).into());
    [] f64 => |value, encoder| encoder.f64(*value);
    [] Extended => |value, encoder| encoder.extended(*value);
    [] Date => |value, encoder| encoder.extended(*value);
    [] Time => |value, encoder| encoder.extended(*value);
    [] DateTime => |value, encoder| encoder.extended(*value);
    [] Timestamp => |value, encoder| encoder.extended(*value);
    [] Decimal => |value, encoder| encoder.extended(*value);
    [] Uuid => |value, encoder| encoder.extended(*value);
    [] char => |value, encoder| encoder.str(value.encode_utf8(&mut [0; 4]));
    [] i128 => |value, encoder| match (i64::try_from(*value), u64::try_from(*value)) {
        (Ok(value), _) => encoder.i64(value),
        (_, Ok(value)) => encoder.u64(value),
        _ => encoder.number_text(&value.to_string()),
    };
    [] u128 => |value, encoder| match u64::try_from(*value) {
        Ok(value) => encoder.u64(value),
        Err(_) => encoder.number_text(&value.to_string()),
    };
    [] str => |value, encoder| encoder.str(value);
    [] String => |value, encoder| encoder.str(value);
    [T: JsonValue] [T] => |values, encoder| T::put_slice(values, encoder);
    [T: JsonValue, const N: usize] [T; N] => |values, encoder| T::put_slice(values, encoder);
    [T: JsonValue] Vec<T> => |values, encoder| T::put_slice(values, encoder);
    [T: JsonValue] Option<T> => |value, encoder| match value {
        Some(value) => value.put(encoder),
        None => encoder.null(),
    };
    [T: JsonValue + ?Sized] &T => |value, encoder| (**value).put(encoder);
    [T: JsonValue + ?Sized] &mut T => |value, encoder| (**value).put(encoder);
    [T: JsonValue + ?Sized] Box<T> => |value, encoder| (**value).put(encoder);
    [T: JsonValue + ToOwned + ?Sized] Cow<'_, T> => |value, encoder| (**value).put(encoder);
    [M: Mode] Value<'_, M> => |value, encoder| encoder.value(value);
    [M: Mode] Doc<'_, M> => |doc, encoder| encoder.value(&doc.root());
    [S: Storage] Editor<S> => |doc, encoder| encoder.value(&doc.doc().root());
}

impl JsonValue for u8 {
    fn put(&self, encoder: &mut Encoder) -> Result<()> {
        encoder.u64((*self).into())
    }

    /// Bytes, as `New` has it.
    fn put_slice(values: &[u8], encoder: &mut Encoder) -> Result<()> {
        encoder.bytes(values)
    }
}

impl JsonValue for New<'_> {
    fn put(&self, encoder: &mut Encoder) -> Result<()> {
        match *self {
            New::Null => encoder.null(),
            New::Bool(value) => encoder.bool(value),
            New::Int(value) => encoder.i64(value),
            New::Uint(value) => encoder.u64(value),
            New::Float(value) => encoder.f64(value),
            New::Str(value) => encoder.str(value),
            New::Bytes(value) => encoder.bytes(value),
            New::NumberText(value) => encoder.number_text(value),
            New::Extended(value) => encoder.extended(value),
            New::Object { .. } | New::Map { .. } => {
                encoder.begin_object()?;
                encoder.end_object()
            }
            New::Array { .. } => {
                encoder.begin_array()?;
                encoder.end_array()
            }
            New::Fields(fields) => {
                encoder.begin_object()?;
                for (key, value) in fields {
                    encoder.key(key)?;
                    value.put(encoder)?;
                }
                encoder.end_object()
            }
            New::Items(items) => items.put(encoder),
            New::Tensor(ref tensor) => encoder.tensor(*tensor),
            New::Copy(ref value) => encoder.value(value),
            New::Detached(_) => Err(Error::new(ErrorKind::Unsupported, 0)),
        }
    }
}
