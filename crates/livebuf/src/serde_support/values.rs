//! serde: values of Rust programs stored in documents, and documents as fields of them.

use crate::edit::{Child, DocBuf, Editor, NodeId, NodeMut};
use crate::encode::{EncodeOptions, Encoder};
use crate::format::layout::Limits;
use crate::serde_support::error::SerdeError;
use crate::serde_support::number::number;
use crate::serde_support::ser::{NUMBER_TOKEN, encoded};
use crate::store::storage::{Storage, VecStorage};
use alloc::string::{String, ToString};
use core::fmt;
use serde_core::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_core::ser::{Serialize, Serializer};

// --- storing ----------------------------------------------------------------

/// A value as a document, within these limits.
fn encoded_within<T: Serialize + ?Sized>(value: &T, limits: Limits) -> Result<DocBuf, SerdeError> {
    encoded(value, EncodeOptions { limits, ..EncodeOptions::default() })
}

impl<S: Storage> Editor<S> {
    /// [`set`](Self::set) of any type that implements serde's `Serialize`.
    ///
    /// The value is made a document of its own first, and copied from there. So are values
    /// for the other edits, which take it as `&to_doc(&value)?`.
    ///
    /// # Errors
    /// As [`to_doc`](crate::to_doc) and [`set`](Self::set).
    ///
    /// ```
    /// #[derive(serde::Serialize)]
    /// struct Driver {
    ///     name: String,
    ///     laps: Vec<f64>,
    /// }
    ///
    /// let mut doc = livebuf::json!({"drivers": []});
    /// let drivers = doc.find("/drivers")?.unwrap();
    /// let ada = Driver { name: "Ada".into(), laps: vec![88.4, 87.9] };
    /// doc.push_value(drivers, &ada)?;
    /// doc.set_value(drivers, 0, &Driver { name: "Augusta".into(), ..ada })?;
    /// assert_eq!(doc.doc().pointer("/drivers/0/name")?.unwrap(), "Augusta");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_value<T: Serialize + ?Sized>(
        &mut self,
        node: NodeId,
        at: impl Child,
        value: &T,
    ) -> Result<Option<NodeId>, SerdeError> {
        let value = encoded_within(value, self.limits())?;
        Ok(self.set(node, at, &value)?)
    }

    /// [`push`](Self::push) of any type that implements serde's `Serialize`.
    ///
    /// # Errors
    /// As [`to_doc`](crate::to_doc) and [`push`](Self::push).
    pub fn push_value<T: Serialize + ?Sized>(
        &mut self,
        node: NodeId,
        value: &T,
    ) -> Result<Option<NodeId>, SerdeError> {
        let value = encoded_within(value, self.limits())?;
        Ok(self.push(node, &value)?)
    }
}

impl<S: Storage> NodeMut<'_, S> {
    /// [`Editor::set_value`]; a cursor on the new value where it is a container.
    ///
    /// # Errors
    /// As [`Editor::set_value`].
    pub fn set_value<T: Serialize + ?Sized>(
        &mut self,
        at: impl Child,
        value: &T,
    ) -> Result<Option<NodeMut<'_, S>>, SerdeError> {
        let value = encoded_within(value, self.limits())?;
        Ok(self.set(at, &value)?)
    }

    /// [`Editor::push_value`]; a cursor on the new value where it is a container.
    ///
    /// # Errors
    /// As [`Editor::push_value`].
    pub fn push_value<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<Option<NodeMut<'_, S>>, SerdeError> {
        let value = encoded_within(value, self.limits())?;
        Ok(self.push(&value)?)
    }
}

// --- documents as fields ----------------------------------------------------

/// A document with any value. A field of this type takes any value, as a field of
/// `serde_json::Value` does.
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct Message {
///     id: u32,
///     payload: livebuf::DocBuf,
/// }
///
/// let message: Message = serde_json::from_str(r#"{"id": 7, "payload": {"laps": [55, null]}}"#)?;
/// assert_eq!(message.id, 7);
/// assert_eq!(message.payload.doc().pointer("/laps/0")?.unwrap(), 55);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'de> Deserialize<'de> for DocBuf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (storage, options) = (VecStorage::default(), EncodeOptions::default());
        Encoder::with_kept_memory(storage, options, |encoder| {
            deserializer.deserialize_any(Events(encoder))?;
            encoder.finish_one().map_err(D::Error::custom)
        })
    }
}

/// Gives an encoder the value that a deserializer has.
struct Events<'e>(&'e mut Encoder);

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! events {
    ($($visit:ident($value:ident: $type:ty) => |$encoder:ident| $event:expr;)+) => {
        $(
            fn $visit<E: serde_core::de::Error>(self, $value: $type) -> Result<(), E> {
                let $encoder = self.0;
                $event.map_err(E::custom)
            }
        )+
    };
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    events! {
        visit_bool(value: bool) => |encoder| encoder.bool(value);
        visit_i64(value: i64) => |encoder| encoder.i64(value);
        visit_u64(value: u64) => |encoder| encoder.u64(value);
        visit_i128(value: i128) => |encoder| encoder.serialize_i128(value);
        visit_u128(value: u128) => |encoder| encoder.serialize_u128(value);
        visit_f64(value: f64) => |encoder| encoder.f64(value);
        visit_str(value: &str) => |encoder| encoder.str(value);
        visit_bytes(value: &[u8]) => |encoder| encoder.bytes(value);
    }

    fn visit_unit<E: serde_core::de::Error>(self) -> Result<(), E> {
        self.0.null().map_err(E::custom)
    }

    fn visit_none<E: serde_core::de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        self.0.begin_array().map_err(A::Error::custom)?;
        while elements.next_element_seed(Events(self.0))?.is_some() {}
        self.0.end_array().map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut key = members.next_key::<KeyText>()?;
        if let Some(KeyText(text)) = &key
            && text == NUMBER_TOKEN
        {
            let text: String = members.next_value()?;
            return number(self.0, &text).map_err(A::Error::custom);
        }
        self.0.begin_object().map_err(A::Error::custom)?;
        while let Some(KeyText(text)) = key {
            self.0.key(&text).map_err(A::Error::custom)?;
            members.next_value_seed(Events(self.0))?;
            key = members.next_key()?;
        }
        self.0.end_object().map_err(A::Error::custom)
    }
}

/// A key as text: of other formats, integers and booleans too, as they are written in JSON.
struct KeyText(String);

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ToText;

        impl Visitor<'_> for ToText {
            type Value = KeyText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key that is text, an integer or a boolean")
            }

            fn visit_str<E: serde_core::de::Error>(self, key: &str) -> Result<KeyText, E> {
                Ok(KeyText(key.into()))
            }

            fn visit_string<E: serde_core::de::Error>(self, key: String) -> Result<KeyText, E> {
                Ok(KeyText(key))
            }

            fn visit_i64<E: serde_core::de::Error>(self, key: i64) -> Result<KeyText, E> {
                Ok(KeyText(key.to_string()))
            }

            fn visit_u64<E: serde_core::de::Error>(self, key: u64) -> Result<KeyText, E> {
                Ok(KeyText(key.to_string()))
            }

            fn visit_bool<E: serde_core::de::Error>(self, key: bool) -> Result<KeyText, E> {
                Ok(KeyText(key.to_string()))
            }
        }

        deserializer.deserialize_any(ToText)
    }
}
