//! What can be exported from, and how it is kept in place.

use std::sync::Arc;

#[cfg(any(unix, windows))]
use livebuf::mapped::MappedFile;
use livebuf::{Doc, DocBuf, Result, Valid};

/// What holds a document and can be shared: exports borrow from it.
///
/// Exported arrays share the [`Arc`] they were made from. While one lives, nobody can
/// get at the holder mutably, so that the document cannot be edited under it;
/// [`Arc::get_mut`] and [`Arc::try_unwrap`] succeed again after the last is released.
///
/// Documents that were not validated yet are validated by each export: one linear pass.
pub trait Document: Send + Sync + 'static {
    /// The document.
    ///
    /// # Errors
    /// What is damaged.
    fn valid(&self) -> Result<Doc<'_, Valid>>;
}

impl Document for DocBuf {
    fn valid(&self) -> Result<Doc<'_, Valid>> {
        DocBuf::valid(self).or_else(|_| self.doc().validate())
    }
}

#[cfg(any(unix, windows))]
impl Document for MappedFile {
    fn valid(&self) -> Result<Doc<'_, Valid>> {
        self.doc()?.validate()
    }
}

/// The bytes of a document. They may lie anywhere; where they are not aligned to eight,
/// less can be borrowed.
impl Document for Vec<u8> {
    fn valid(&self) -> Result<Doc<'_, Valid>> {
        Doc::open(self)?.validate()
    }
}

impl Document for Box<[u8]> {
    fn valid(&self) -> Result<Doc<'_, Valid>> {
        Doc::open(self)?.validate()
    }
}

/// Exports share the inner [`Arc`], too.
impl<D: Document + ?Sized> Document for Arc<D> {
    fn valid(&self) -> Result<Doc<'_, Valid>> {
        (**self).valid()
    }
}

/// A document that stays in place as long as this lives.
pub(crate) struct Pinned {
    /// Borrows the owner: must not leave this crate without it.
    pub(crate) doc: Doc<'static, Valid>,
    _owner: Arc<dyn Document>,
}

impl Pinned {
    #[allow(unsafe_code)]
    pub(crate) fn new(owner: Arc<dyn Document>) -> Result<Pinned> {
        // SAFETY: the owner lies in an `Arc` that lives as long as the reference does,
        // here and in all that is made from it; nobody gets a mutable reference to it
        // meanwhile. `valid` may be called on any lifetime, and must answer for it.
        let pinned: &'static dyn Document = unsafe { &*Arc::as_ptr(&owner) };
        Ok(Pinned { doc: pinned.valid()?, _owner: owner })
    }
}
