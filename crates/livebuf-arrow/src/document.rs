//! What can be exported from, how it is kept in place, and which of it is known to be valid.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(any(unix, windows))]
use livebuf::mapped::MappedFile;
use livebuf::{Doc, DocBuf, Result, Valid};

/// What holds a document and can be shared: exports borrow from it.
///
/// Exported arrays share the [`Arc`] they were made from. While one lives, nobody can
/// get at the holder mutably, so that the document cannot be edited under it;
/// [`Arc::get_mut`] and [`Arc::try_unwrap`] succeed again after the last is released.
pub trait Document: Send + Sync + 'static {
    /// The document.
    ///
    /// # Errors
    /// Where the bytes are none.
    fn open(&self) -> Result<Doc<'_>>;

    /// The same where it is valid. Of other documents an export validates what it reads.
    fn valid(&self) -> Option<Doc<'_, Valid>> {
        None
    }

    /// Whether somebody else may write the memory while exports of it live. Then nothing but
    /// values of a fixed width is borrowed, for which any bits will do. Bitmaps, offsets, codes
    /// and texts are copied, and the copies are checked.
    fn is_shared(&self) -> bool {
        false
    }
}

impl Document for DocBuf {
    fn open(&self) -> Result<Doc<'_>> {
        Ok(self.doc())
    }

    fn valid(&self) -> Option<Doc<'_, Valid>> {
        DocBuf::valid(self).ok()
    }
}

/// Other processes may write the file.
#[cfg(any(unix, windows))]
impl Document for MappedFile {
    fn open(&self) -> Result<Doc<'_>> {
        self.doc()
    }

    fn is_shared(&self) -> bool {
        true
    }
}

/// The bytes of a document. They may lie anywhere; where they are not aligned to eight,
/// less can be borrowed.
impl Document for Vec<u8> {
    fn open(&self) -> Result<Doc<'_>> {
        Doc::open(self)
    }
}

impl Document for Box<[u8]> {
    fn open(&self) -> Result<Doc<'_>> {
        Doc::open(self)
    }
}

/// Exports share the inner [`Arc`], too.
impl<D: Document + ?Sized> Document for Arc<D> {
    fn open(&self) -> Result<Doc<'_>> {
        (**self).open()
    }

    fn valid(&self) -> Option<Doc<'_, Valid>> {
        (**self).valid()
    }

    fn is_shared(&self) -> bool {
        (**self).is_shared()
    }
}

/// A document that stays in place as long as this lives.
pub(crate) struct Pinned {
    /// Borrows the owner: must not leave this crate without it.
    pub(crate) doc: Doc<'static>,
    pub(crate) is_valid: bool,
    pub(crate) is_shared: bool,
    _owner: Arc<dyn Document>,
}

impl Pinned {
    #[allow(unsafe_code)]
    pub(crate) fn new(owner: Arc<dyn Document>) -> Result<Pinned> {
        // SAFETY: the owner lies in an `Arc` that lives as long as the reference does,
        // here and in all that is made from it; nobody gets a mutable reference to it
        // meanwhile. `open` may be called on any lifetime, and must answer for it.
        let pinned: &'static dyn Document = unsafe { &*Arc::as_ptr(&owner) };
        let (valid, is_shared) = (pinned.valid(), pinned.is_shared());
        let doc = match valid {
            Some(doc) => doc.checked(),
            None => pinned.open()?,
        };
        Ok(Pinned { doc, is_valid: valid.is_some(), is_shared, _owner: owner })
    }
}

/// Values that a valid document may have for each byte.
const VALUES: usize = 136;

/// Whether a document can have this many rows. There are more only if somebody else has overwritten
/// their count since it was validated.
pub(crate) fn can_have(document: usize, rows: usize) -> bool {
    rows <= document.saturating_mul(VALUES)
}

/// What exports of a document have validated so far: each value and each column is validated
/// once. [`Exporter::remember`](crate::Exporter::remember) says how exports share it.
#[derive(Debug, Default)]
pub struct Known(Mutex<HashSet<Part>>);

/// A value by its pointer, and the keys that lead to one column of it; without keys, all of it.
type Part = (String, Option<Vec<String>>);

/// Parts that are remembered. Beyond this all are forgotten, and validated again if needed.
const MOST_PARTS: usize = 4096;

impl Known {
    /// Whether a column of the value at a pointer is valid, or all of the value.
    pub(crate) fn has(&self, pointer: &str, column: Option<&[String]>) -> bool {
        let parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |column: Option<&[String]>| {
            parts.contains(&(pointer.to_owned(), column.map(<[String]>::to_vec)))
        };
        has(None) || column.is_some() && has(column)
    }

    pub(crate) fn add(&self, pointer: &str, column: Option<&[String]>) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.len() >= MOST_PARTS {
            parts.clear();
        }
        parts.insert((pointer.to_owned(), column.map(<[String]>::to_vec)));
    }
}
