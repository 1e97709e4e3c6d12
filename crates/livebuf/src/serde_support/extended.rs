//! Dates, times, decimals and UUIDs in Rust values. For other formats they are their text.

use crate::format::date::{Date, DateTime, Time, Timestamp};
use crate::format::decimal::Decimal;
use crate::format::extended::Extended;
use crate::format::uuid::Uuid;
use core::fmt;
use serde_core::de::{self, Deserialize, Deserializer, Visitor};
use serde_core::ser::{Serialize, Serializer};

/// The name of the newtype struct by which our own serializer knows the text of these values.
pub(crate) const EXTENDED_TOKEN: &str = "$livebuf::Extended";

/// A text in the making of a newtype struct.
struct AsText<T>(T);

impl<T: fmt::Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

struct FromText<T>(core::marker::PhantomData<T>, &'static str);

impl<T: core::str::FromStr> Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

macro_rules! by_text {
    ($($type:ident: $expected:literal;)+) => {
        $(
            /// A value of its own kind in documents, its text in other formats.
            impl Serialize for $type {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_newtype_struct(EXTENDED_TOKEN, &AsText(self))
                }
            }

            /// From a value of its own kind, or from its text.
            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let visitor = FromText(core::marker::PhantomData, $expected);
                    deserializer.deserialize_str(visitor)
                }
            }
        )+
    };
}
by_text! {
    Date: "a date such as 2026-11-23";
    Time: "a time of day such as 08:30:00";
    DateTime: "a date and time such as 2026-11-23T08:30:00";
    Timestamp: "a date and time with its offset such as 2026-11-23T08:30:00Z";
    Decimal: "the text of a decimal number";
    Uuid: "a UUID";
    Extended: "a date, time, decimal number or UUID";
}
