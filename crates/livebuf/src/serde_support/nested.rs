//! Bounds of a walk over a document by serde: its depth, and its work.

use crate::block::walk::Allowance;
use crate::error::{Error, ErrorKind};
use crate::serde_support::error::SerdeError;
use crate::view::{Mode, Value};
use alloc::format;
use core::cell::Cell;

/// Deepest nesting that serde follows in a document, in both directions, unless
/// [`Value::nested`] says otherwise.
///
/// serde calls itself for each level, on the thread's stack. A level takes up to 4 KiB of it
/// in unoptimised builds, and about 1 KiB in optimised ones; so 64 fit a thread of 256 KiB.
pub const SERDE_NESTING: u16 = 64;

/// Bytes of keys for each byte of a document, unless [`Nested::key_bytes`] says otherwise. serde
/// gets the keys of each row: eight rows of one boolean under a key of 255 bytes stay below.
const KEY_BYTES: u64 = 2048;

/// Bounds a walk: its depth, its work on a damaged document, and the keys that are written out.
pub(crate) struct WalkBounds {
    left: Cell<Allowance>,
    /// Bytes of keys, and how many were allowed at first.
    keys: Cell<u64>,
    most_keys: u64,
    nesting: u16,
}

impl WalkBounds {
    pub(crate) fn new<M: Mode>(nested: &Nested<'_, M>) -> WalkBounds {
        let document = nested.value.document();
        let most_keys = nested.key_bytes.unwrap_or(KEY_BYTES * document.len() as u64);
        WalkBounds {
            left: Cell::new(Allowance::new(document, u64::MAX)),
            keys: Cell::new(most_keys),
            most_keys,
            nesting: nested.nesting,
        }
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
        let refused = Error::with_detail(ErrorKind::BudgetExceeded, 0, self.most_keys);
        self.keys.set(self.keys.get().checked_sub(key.len() as u64).ok_or(refused)?);
        self.take(|left| left.value().and_then(|()| left.key(key.len())))
    }

    /// One level down, into the container at this offset, with places for so many members.
    #[inline(never)]
    pub(crate) fn descend(&self, left: u16, offset: u64, places: usize) -> Result<u16, SerdeError> {
        self.take(|left| left.work(places))?;
        left.checked_sub(1).ok_or_else(|| self.too_deep(offset))
    }

    #[cold]
    fn too_deep(&self, offset: u64) -> SerdeError {
        let limit = self.nesting;
        let error = Error::with_detail(ErrorKind::NestingLimit, offset, limit.into());
        let message = format!("{error}; `Value::nested` sets the limit for serde");
        SerdeError::with_message(error, message)
    }
}

/// A value for serde with other bounds than usual: [`Value::nested`].
#[derive(Clone, Copy, Debug)]
pub struct Nested<'a, M: Mode> {
    pub(crate) value: Value<'a, M>,
    pub(crate) nesting: u16,
    key_bytes: Option<u64>,
}

impl<M: Mode> Nested<'_, M> {
    /// At most so many bytes of keys are given to serde; more is
    /// [`ErrorKind::BudgetExceeded`]. By default 2,048 for each byte of the document. A table has
    /// its keys once, and serde gets them for each row, so a few bytes may stand for very many.
    ///
    /// ```
    /// let doc = livebuf::json!([{"lap": 1}, {"lap": 2}]);
    /// let few = doc.doc().root().nested(64).key_bytes(5);
    /// assert!(serde_json::to_string(&few).is_err());
    /// assert!(serde_json::to_string(&few.key_bytes(6)).is_ok());
    /// ```
    #[must_use]
    pub fn key_bytes(self, most: u64) -> Self {
        Nested { key_bytes: Some(most), ..self }
    }
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
        Nested { value: self, nesting, key_bytes: None }
    }
}
