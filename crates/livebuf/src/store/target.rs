//! Where the writers of blocks put bytes.

use crate::format::bytes::{copy, zero};

/// The document's [`Space`](super::space::Space), or its [`Plain`] bytes. Writes outside of the
/// document are not made: the plan of the edit has checked the range.
pub(crate) trait Target {
    /// The used bytes.
    fn bytes(&self) -> &[u8];

    /// Writes `new` at `offset`.
    fn write(&mut self, offset: u64, new: &[u8]);

    /// Writes the bytes of a number.
    #[inline]
    fn write_word<const N: usize>(&mut self, offset: u64, bytes: [u8; N]) {
        self.write(offset, &bytes);
    }

    #[inline]
    fn write_u8(&mut self, offset: u64, value: u8) {
        self.write_word(offset, value.to_le_bytes());
    }

    #[inline]
    fn write_u32(&mut self, offset: u64, value: u32) {
        self.write_word(offset, value.to_le_bytes());
    }

    #[inline]
    fn write_u64(&mut self, offset: u64, value: u64) {
        self.write_word(offset, value.to_le_bytes());
    }
}

/// The used bytes of a document if nobody is told of its changes. Several writes in a row take
/// fewer instructions here: none can move the bytes, so their address is loaded once.
pub(crate) struct Plain<'s>(pub(super) &'s mut [u8]);

impl<'s> Plain<'s> {
    /// A document that nobody else sees yet.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn over(bytes: &'s mut [u8]) -> Self {
        Plain(bytes)
    }

    /// Count of bytes.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Writes text of more than a cell at a multiple of eight, and zeros up to the next one.
    #[inline]
    pub(crate) fn write_padded(&mut self, offset: u64, text: &[u8]) {
        self.write_u64(offset + ((text.len() as u64 - 1) & !7), 0);
        self.write(offset, text);
    }

    #[inline]
    pub(crate) fn zero(&mut self, offset: u64, length: u64) {
        if let Some(place) = self.0.get_mut(offset as usize..(offset + length) as usize) {
            zero(place);
        }
    }
}

impl Target for Plain<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.0
    }

    #[inline]
    fn write(&mut self, offset: u64, new: &[u8]) {
        let start = offset as usize;
        let place = self.0.get_mut(start..start + new.len());
        debug_assert!(place.is_some(), "write outside the document at {offset}");
        if let Some(place) = place {
            copy(place, new);
        }
    }

    #[inline]
    fn write_word<const N: usize>(&mut self, offset: u64, bytes: [u8; N]) {
        debug_assert!(offset <= u32::MAX as u64, "write outside the document at {offset}");
        // So, if `usize` has 64 bits, the sum cannot wrap, and one comparison is enough.
        let start = offset as u32 as usize;
        let place = self.0.get_mut(start..start + N);
        debug_assert!(place.is_some(), "write outside the document at {offset}");
        if let Some(place) = place {
            place.copy_from_slice(&bytes);
        }
    }
}
