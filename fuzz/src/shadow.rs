//! An observer that keeps a copy of the document by replaying every change.

use livebuf::Observer;

const HEADER: usize = livebuf::layout::HEADER_SIZE as usize;

/// A copy of the bytes, made of reported changes alone.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    /// All bytes; zero where nothing was reported.
    pub bytes: Vec<u8>,
    /// Bytes reported since this was reset.
    pub reported: usize,
    /// How often another document was put in place of the whole: it was compacted or squeezed.
    pub replaced: usize,
}

impl Shadow {
    /// A copy of storage that is not all zero to begin with.
    pub fn of(bytes: &[u8]) -> Self {
        Shadow { bytes: bytes.to_vec(), ..Shadow::default() }
    }
}

impl Observer for Shadow {
    fn write(&mut self, offset: u64, old: &[u8], new: &[u8]) {
        assert_eq!(old.len(), new.len(), "a change keeps its length");
        let start = offset as usize;
        let end = start + new.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        assert!(self.bytes[start..end] == *old, "old bytes at {start} are not what was replayed");
        self.bytes[start..end].copy_from_slice(new);
        self.reported += new.len();
        self.replaced += usize::from(start == 0 && new.len() > HEADER);
    }
}
