//! A listener that keeps a copy of the document by what it is told of changes.

use livebuf::{Editor, Listener, Storage};
use std::ops::Range;

const HEADER: usize = livebuf::layout::HEADER_SIZE as usize;

/// A copy of the bytes, made of what was told alone.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    /// All bytes, but for the last change.
    bytes: Vec<u8>,
    /// The last change. The storage has the new bytes by the next time that it is seen.
    changing: Range<usize>,
    /// Bytes told since this was reset.
    pub reported: usize,
    /// How often another document was put in place of the whole: it was compacted or squeezed.
    pub replaced: usize,
}

impl Shadow {
    /// Listens to this document from here on.
    pub fn listen<S: Storage>(doc: &mut Editor<S>) {
        let bytes = doc.storage().bytes().to_vec();
        doc.listen(Shadow { bytes, ..Shadow::default() });
    }

    /// Takes over the last change from the bytes of the storage.
    pub fn settle(&mut self, bytes: &[u8]) {
        let changing = std::mem::take(&mut self.changing);
        // What a storage grows by is zero.
        if self.bytes.len() < bytes.len() {
            self.bytes.resize(bytes.len(), 0);
        }
        self.bytes[changing.clone()].copy_from_slice(&bytes[changing]);
    }

    /// Takes all from `used` on as it is in the storage, which wrote there without a word.
    pub fn forget(&mut self, used: usize, bytes: &[u8]) {
        self.settle(bytes);
        self.bytes[used..].copy_from_slice(&bytes[used..]);
    }

    /// The copy, when the storage has these bytes.
    pub fn copy(&self, bytes: &[u8]) -> Vec<u8> {
        let mut settled = self.clone();
        settled.settle(bytes);
        settled.bytes
    }
}

impl Listener for Shadow {
    fn will_change(&mut self, bytes: &[u8], offset: u64, length: u64) {
        self.settle(bytes);
        self.changing = offset as usize..(offset + length) as usize;
        let (old, there) = (&self.bytes[self.changing.clone()], &bytes[self.changing.clone()]);
        assert!(old == there, "old bytes at {offset} are not what was told");
        self.reported += length as usize;
        self.replaced += usize::from(offset == 0 && length as usize > HEADER);
    }
}

/// What the document's shadow heard.
pub fn shadow<S: Storage>(doc: &mut Editor<S>) -> &mut Shadow {
    doc.listener_mut().expect("a shadow listens")
}
