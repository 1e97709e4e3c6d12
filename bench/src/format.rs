//! Owns what turns typed structs into bytes and back.

use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

type Pack<T> = Box<dyn Fn(&T) -> Result<Vec<u8>>>;
type Parse<T> = Box<dyn Fn(&[u8]) -> Result<T>>;

/// Typed structs to bytes and back.
pub(crate) struct Format<T> {
    pub(crate) name: &'static str,
    pub(crate) pack: Pack<T>,
    pub(crate) parse: Parse<T>,
}

impl<T> Format<T> {
    pub(crate) fn new(
        name: &'static str,
        pack: impl Fn(&T) -> Result<Vec<u8>> + 'static,
        parse: impl Fn(&[u8]) -> Result<T> + 'static,
    ) -> Self {
        Format { name, pack: Box::new(pack), parse: Box::new(parse) }
    }
}

pub(crate) fn serde_json<T: Serialize + DeserializeOwned>() -> Format<T> {
    Format::new(
        "serde_json",
        |value| Ok(serde_json::to_vec(value)?),
        |bytes| Ok(serde_json::from_slice(bytes)?),
    )
}

pub(crate) fn rmp_serde_with_names<T: Serialize + DeserializeOwned>() -> Format<T> {
    Format::new(
        "rmp-serde, with names",
        |value| Ok(rmp_serde::to_vec_named(value)?),
        |bytes| Ok(rmp_serde::from_slice(bytes)?),
    )
}
