//! Digests of values: equal values have equal digests, however they are laid out.

use crate::error::{Error, ErrorKind, Result};
use crate::layout::MAX_NESTING;
use crate::reader::{Array, Checked, Kind, Mode, Object, Value};
use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// SHA-256 (FIPS 180-4).
type Hash = [u8; 32];

impl<M: Mode> Value<'_, M> {
    /// A SHA-256 of the value, whatever its layout: equal by [`deep_eq`](Self::deep_eq) are
    /// those with equal digests. FORMAT 13 says what is hashed.
    ///
    /// O(n) but for the members of objects, which are sorted by their keys. Each value
    /// visited takes one from `budget`, so that damaged documents cannot make the work
    /// unbounded.
    ///
    /// # Errors
    /// [`ErrorKind::BudgetExceeded`], [`ErrorKind::NestingLimit`], or what is damaged.
    ///
    /// ```
    /// use livebuf::json;
    /// let (a, b) = (json!({"x": [1, 2], "y": null}), json!({"y": null, "x": [1, 2]}));
    /// let digest = |doc: &livebuf::DocBuf| doc.doc().root().digest(&mut 100);
    /// assert_eq!(digest(&a)?, digest(&b)?);
    /// assert_ne!(digest(&a)?, digest(&json!({"x": [1, 2.0], "y": null}))?);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn digest(&self, budget: &mut u64) -> Result<Hash> {
        let mut hasher = Sha256::new();
        hash(&self.checked(), &mut hasher, budget, 0)?;
        Ok(hasher.finalize().into())
    }
}

fn hash(value: &Value<'_, Checked>, into: &mut Sha256, budget: &mut u64, depth: u16) -> Result<()> {
    let Some(left) = budget.checked_sub(1) else {
        return Err(Error::new(ErrorKind::BudgetExceeded, 0));
    };
    *budget = left;
    match value.kind() {
        Kind::Null => into.update(b"n"),
        Kind::Bool => into.update(if value.as_bool() == Some(true) { b"t" } else { b"f" }),
        Kind::Int => word(into, b"i", value.as_i64().unwrap_or(0) as u64),
        Kind::Uint => word(into, b"u", value.as_u64().unwrap_or(0)),
        Kind::Float => word(into, b"d", value.as_f64().unwrap_or(0.0).to_bits()),
        Kind::Number => bytes(into, b"#", value.as_number_text()?.unwrap_or("").as_bytes()),
        Kind::String => bytes(into, b"s", value.as_str()?.unwrap_or("").as_bytes()),
        Kind::Bytes => bytes(into, b"b", value.as_bytes()?.unwrap_or_default()),
        Kind::Array | Kind::Object if depth >= MAX_NESTING => {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, MAX_NESTING.into()));
        }
        Kind::Array => {
            if let Some(array) = value.as_array()? {
                elements(&array, into, budget, depth + 1)?;
            }
        }
        Kind::Object => {
            if let Some(object) = value.as_object()? {
                members(&object, into, budget, depth + 1)?;
            }
        }
        Kind::Reserved => return Err(Error::new(ErrorKind::UnsupportedFeature, 0)),
    }
    Ok(())
}

fn elements(
    array: &Array<'_, Checked>,
    into: &mut Sha256,
    budget: &mut u64,
    depth: u16,
) -> Result<()> {
    word(into, b"[", array.len() as u64);
    for element in array.iter() {
        hash(&element?, into, budget, depth)?;
    }
    Ok(())
}

fn members(
    object: &Object<'_, Checked>,
    into: &mut Sha256,
    budget: &mut u64,
    depth: u16,
) -> Result<()> {
    word(into, b"{", object.len() as u64);
    let mut members = object.iter().collect::<Result<Vec<_>>>()?;
    members.sort_unstable_by_key(|&(key, _)| key.as_bytes());
    for (key, value) in members {
        bytes(into, b"k", key.as_bytes());
        hash(&value, into, budget, depth)?;
    }
    Ok(())
}

fn word(into: &mut Sha256, kind: &[u8; 1], word: u64) {
    into.update(kind);
    into.update(word.to_le_bytes());
}

fn bytes(into: &mut Sha256, kind: &[u8; 1], bytes: &[u8]) {
    word(into, kind, bytes.len() as u64);
    into.update(bytes);
}
