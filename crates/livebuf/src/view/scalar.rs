//! Values that are neither objects nor arrays, as programs have them.

use crate::format::extended::Extended;

/// A value to be searched for in a [`Column`](super::Column).
///
/// ```
/// let doc = livebuf::json!([{"name": "Ada"}, {"name": "Alan"}, {"name": "Grace"}]);
/// let table = doc.valid().unwrap().root().as_array().unwrap().table().unwrap();
/// assert_eq!(table.column("name").unwrap().find("Alan"), Some(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scalar<'v> {
    /// Null; a missing field is none.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A double.
    Float(f64),
    /// Text.
    Str(&'v str),
    /// A date, time, decimal or UUID.
    Extended(Extended),
}

/// Conversions of plain Rust values to a type that has the variants of [`Scalar`].
macro_rules! from_scalars {
    ($target:ident) => {
        $crate::view::from_scalars! { $target:
            () => |_value| Null {};
            bool => |value| Bool(value);
            i8, i16, i32, u8, u16, u32 => |value| Int(value.into());
            i64 => |value| Int(value);
            isize => |value| Int(value as i64);
            u64 => |value| Uint(value);
            usize => |value| Uint(value as u64);
            f32, f64 => |value| Float(value.into());
            &'v str => |value| Str(value);
            $crate::Extended => |value| Extended(value);
            $crate::Date, $crate::Time, $crate::DateTime, $crate::Timestamp, $crate::Decimal,
                $crate::Uuid => |value| Extended(value.into());
        }
        #[cfg(feature = "alloc")]
        $crate::view::from_scalars! { $target:
            &'v alloc::string::String => |value| Str(value);
        }
    };
    ($target:ident: $($($type:ty),+ => |$value:ident| $variant:ident $given:tt;)+) => {
        $($(
            impl<'v> From<$type> for $target<'v> {
                #[inline]
                fn from($value: $type) -> $target<'v> {
                    $target::$variant $given
                }
            }
        )+)+
    };
}
pub(crate) use from_scalars;

from_scalars!(Scalar);
