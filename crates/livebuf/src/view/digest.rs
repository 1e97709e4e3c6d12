//! Digests of values: equal values have equal digests, however they are laid out.

use crate::error::{Error, ErrorKind, Result};
use crate::format::layout::MAX_NESTING;
use crate::format::memory::vec_for;
use crate::view::{ArrayIter, Checked, Kind, Mode, Value};
use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// SHA-256 (FIPS 180-4).
type Hash = [u8; 32];

impl<M: Mode> Value<'_, M> {
    /// A SHA-256 of the value, whatever its layout: values have equal digests if they are equal by
    /// [`deep_eq`](Self::deep_eq), and only then. DELTA 5 says what is hashed.
    ///
    /// O(n), except that members of objects are sorted by their keys. Does not recurse. Needs the
    /// feature `digest`. Each value visited takes one from `budget`, and one more for each 64 bytes
    /// of keys and text: damaged documents cannot make the work unbounded. Takes 56 bytes of memory
    /// for each member of the objects around a value, which are at most one for each byte of the
    /// document: damaged documents with more are refused.
    ///
    /// # Errors
    /// [`ErrorKind::BudgetExceeded`], [`ErrorKind::NestingLimit`], or the damage.
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
        let room = self.document_length();
        let mut walk = Digester { hasher: Sha256::new(), budget, spent: 0, room };
        let mut open = Vec::new();
        open.extend(walk.value(&self.checked(), 0)?);
        while let Some(container) = open.last_mut() {
            let next = match container {
                OpenValue::Array(elements) => elements.next().transpose()?,
                OpenValue::Object(members, _) => match members.next() {
                    Some((key, value)) => {
                        walk.bytes(b"k", key.as_bytes())?;
                        Some(value)
                    }
                    None => None,
                },
            };
            match next {
                Some(value) => {
                    let below = walk.value(&value, open.len())?;
                    open.extend(below);
                }
                None => {
                    if let Some(OpenValue::Object(_, count)) = open.pop() {
                        walk.room += count;
                    }
                }
            }
        }
        Ok(walk.hasher.finalize().into())
    }
}

/// The rest of an open container.
enum OpenValue<'a> {
    Array(ArrayIter<'a, Checked>),
    /// By their keys, and how many there were.
    Object(alloc::vec::IntoIter<(&'a str, Value<'a, Checked>)>, usize),
}

struct Digester<'b> {
    hasher: Sha256,
    budget: &'b mut u64,
    /// What was taken from it.
    spent: u64,
    /// How many more members may be held at once. A valid document has no more than
    /// bytes, since each has a cell or a column of its own. A damaged one can lead to the same
    /// members from each of 1,000 levels.
    room: usize,
}

impl Digester<'_> {
    fn spend(&mut self, work: u64) -> Result<()> {
        let exceeded = self.exceeded();
        *self.budget = self.budget.checked_sub(work).ok_or(exceeded)?;
        self.spent += work;
        Ok(())
    }

    fn exceeded(&self) -> Error {
        Error::with_detail(ErrorKind::BudgetExceeded, 0, self.spent + *self.budget)
    }

    /// Hashes a scalar, or the beginning of a container, `depth` others around it.
    fn value<'a>(
        &mut self,
        value: &Value<'a, Checked>,
        depth: usize,
    ) -> Result<Option<OpenValue<'a>>> {
        self.spend(1)?;
        match value.kind() {
            Kind::Null => self.hasher.update(b"n"),
            Kind::Bool => {
                self.hasher.update(if value.as_bool() == Some(true) { b"t" } else { b"f" });
            }
            Kind::Int => self.word(b"i", value.as_i64().unwrap_or(0) as u64),
            Kind::Uint => self.word(b"u", value.as_u64().unwrap_or(0)),
            Kind::Float => self.word(b"d", value.as_f64().unwrap_or(0.0).to_bits()),
            Kind::NumberText => {
                self.bytes(b"#", value.as_number_text()?.unwrap_or("").as_bytes())?;
            }
            Kind::String => self.bytes(b"s", value.as_str()?.unwrap_or("").as_bytes())?,
            Kind::Bytes => self.bytes(b"b", value.as_bytes()?.unwrap_or_default())?,
            Kind::Array | Kind::Object if depth >= MAX_NESTING as usize => {
                return Err(Error::with_detail(ErrorKind::NestingLimit, 0, MAX_NESTING.into()));
            }
            Kind::Array => {
                let Some(array) = value.as_array()? else { return Ok(None) };
                self.word(b"[", array.len() as u64);
                return Ok(Some(OpenValue::Array(array.iter())));
            }
            Kind::Object => {
                let Some(object) = value.as_object()? else { return Ok(None) };
                self.word(b"{", object.len() as u64);
                // All members are held at once, so they are paid for first.
                let count = object.len().max(object.places() / 64);
                if *self.budget < count as u64 {
                    self.spend(count as u64)?;
                }
                let held = object.len();
                let exceeded = self.exceeded();
                self.room = self.room.checked_sub(held).ok_or(exceeded)?;
                let mut members = vec_for(held)?;
                for member in object.iter() {
                    members.push(member?);
                }
                members.sort_unstable_by_key(|&(key, _)| key.as_bytes());
                return Ok(Some(OpenValue::Object(members.into_iter(), held)));
            }
            kind @ (Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp) => {
                // Damaged ones have no digest.
                value.as_extended()?;
                let letter = match kind {
                    Kind::Date => b"D",
                    Kind::Time => b"T",
                    Kind::DateTime => b"L",
                    _ => b"Z",
                };
                self.word(letter, value.raw().cell);
            }
            Kind::Decimal => {
                let Some(decimal) = value.as_decimal()? else { return Ok(None) };
                self.word(b"c", decimal.scale().into());
                self.hasher.update(decimal.coefficient().to_le_bytes());
            }
            Kind::Uuid => {
                let Some(id) = value.as_uuid()? else { return Ok(None) };
                self.hasher.update(b"U");
                self.hasher.update(id.as_bytes());
            }
            Kind::Reserved => return Err(Error::new(ErrorKind::UnsupportedFeature, 0)),
        }
        Ok(None)
    }

    fn word(&mut self, kind: &[u8; 1], word: u64) {
        self.hasher.update(kind);
        self.hasher.update(word.to_le_bytes());
    }

    fn bytes(&mut self, kind: &[u8; 1], bytes: &[u8]) -> Result<()> {
        self.spend(bytes.len() as u64 / 64)?;
        self.word(kind, bytes.len() as u64);
        self.hasher.update(bytes);
        Ok(())
    }
}
