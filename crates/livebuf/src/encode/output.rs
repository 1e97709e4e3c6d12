//! The document that is being written: blocks are appended, and words are patched later.

use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::copy;
use crate::format::cell::span_at;
use crate::format::layout::HEADER_SIZE;
use crate::store::storage::Storage;
use crate::store::target::Target;

/// The document being written.
pub(super) struct Output<S> {
    pub(super) storage: S,
    pub(super) used: usize,
    pub(super) limit: u64,
}

impl<S: Storage> Output<S> {
    /// Nothing behind the header, which comes last.
    pub(super) fn new(storage: S, limit: u64) -> Self {
        Output { storage, used: HEADER_SIZE as usize, limit }
    }

    /// Appends `size` zero bytes and returns them with their offset.
    #[inline]
    pub(super) fn grow(&mut self, size: usize) -> Result<(u32, &mut [u8])> {
        let start = self.used;
        let end = start + size;
        if end > self.storage.bytes().len() {
            self.reserve(end as u64)?;
        }
        self.used = end;
        match self.storage.bytes_mut().get_mut(start..end) {
            Some(place) => Ok((start as u32, place)),
            None => Err(Error::new(ErrorKind::NoSpace, start as u64)),
        }
    }

    /// The same for an owned span. At a multiple of eight it would own padding (FORMAT 3.3).
    #[inline]
    fn grow_owned(&mut self, size: usize) -> Result<(u32, &mut [u8])> {
        if self.used.is_multiple_of(8) && !size.is_multiple_of(8) {
            self.grow(1)?;
        }
        self.grow(size)
    }

    #[cold]
    pub(super) fn reserve(&mut self, end: u64) -> Result<()> {
        if end > self.limit {
            return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, self.limit));
        }
        self.storage.grow(end)
    }

    /// So many bytes more are written next.
    pub(super) fn expect(&mut self, bytes: u64) {
        let end = self.used as u64 + bytes;
        if end <= self.limit {
            self.storage.expect(end);
        }
    }

    #[inline]
    pub(super) fn align(&mut self) {
        self.used = (self.used + 7) & !7;
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.storage.bytes_mut()
    }

    /// Appends bytes that one cell will own.
    pub(super) fn store(&mut self, text: &[u8], limit: u32) -> Result<u64> {
        let length = text.len();
        if length > limit as usize {
            return Err(Error::with_detail(ErrorKind::StringLimit, 0, limit.into()));
        }
        let (offset, place) = self.grow_owned(length)?;
        copy(place, text);
        Ok(span_at(offset, length as u32, true))
    }

    /// Appends a copy of bytes that are written already. One cell will own it.
    pub(super) fn store_again(&mut self, offset: u32, length: u32) -> Result<u64> {
        let (copy, _) = self.grow_owned(length as usize)?;
        let source = offset as usize..(offset + length) as usize;
        self.storage.bytes_mut().copy_within(source, copy as usize);
        Ok(span_at(copy, length, true))
    }
}

/// Blocks are written to what was appended.
impl<S: Storage> Target for Output<S> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.storage.bytes()
    }

    #[inline]
    fn write(&mut self, offset: u64, new: &[u8]) {
        let start = offset as usize;
        if let Some(place) = self.storage.bytes_mut().get_mut(start..start + new.len()) {
            place.copy_from_slice(new);
        }
    }
}
