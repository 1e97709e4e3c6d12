//! `Partial`: a document elsewhere, of which only what is read is fetched.

use super::{Doc, Header};
use crate::error::{Error, ErrorKind};
use crate::format::bytes::partial::{CHUNK, Chunks, reading};
use crate::format::memory::require_memory;
use crate::store::read_at::ReadAt;
use core::fmt;
use core::ops::Range;
use std::vec::Vec;

/// Why a partial document cannot be opened.
#[derive(Debug)]
pub enum PartialError<E> {
    /// The source failed.
    Source(E),
    /// The bytes are no document.
    Document(Error),
}

impl<E: fmt::Display> fmt::Display for PartialError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartialError::Source(error) => error.fmt(f),
            PartialError::Document(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for PartialError<E> {}

/// A document elsewhere. The parts that are read are fetched, in chunks of 512 bytes or in larger
/// [blocks](Self::with_block), and kept.
///
/// [`read`](Self::read) runs code over it as over a whole document. Where the code needs a part
/// that is missing, that part is fetched, and the code runs again.
///
/// ```
/// use livebuf::{Partial, json};
///
/// let doc = json!({"id": 7, "text": "x".repeat(100_000)});
/// let mut partial = Partial::open(doc.as_bytes())?;
/// let id = partial.read(|doc| Ok::<_, livebuf::Error>(doc.pointer("/id")?.and_then(|id| id.as_i64())))?;
/// assert_eq!(id?, Some(7));
/// assert!(partial.fetched() <= 2048);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Partial<R> {
    source: R,
    /// At least as long as the document. What was not fetched is whatever was there before.
    bytes: Vec<u8>,
    used: usize,
    chunks: Chunks,
    /// How many bytes are fetched at least: a multiple of a chunk.
    block: usize,
    fetched: u64,
    requests: u64,
}

impl<R: ReadAt> Partial<R> {
    /// Opens a document: fetches its first block.
    ///
    /// Memory: as many bytes as the document has. Where the system gives zeroed memory on demand,
    /// only what is fetched takes any.
    ///
    /// # Errors
    /// Those of the source, and of [`Doc::open`].
    pub fn open(source: R) -> Result<Self, PartialError<R::Error>> {
        Partial::open_in(source, Vec::new())
    }

    /// [`open`](Self::open), fetching at least `block` bytes at once, from a multiple of it on: as
    /// many as a source gives about as fast as a few. A block of 64 KiB fits requests over a
    /// network. It is rounded up to a multiple of 512 bytes.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_block(source: R, block: usize) -> Result<Self, PartialError<R::Error>> {
        Partial::begin(source, Vec::new(), block)
    }

    /// [`open`](Self::open) in memory that was used before ([`into_buffer`](Self::into_buffer)), so
    /// that none is cleared: what it holds is never read.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in(source: R, bytes: Vec<u8>) -> Result<Self, PartialError<R::Error>> {
        Partial::begin(source, bytes, CHUNK)
    }

    fn begin(
        mut source: R,
        mut bytes: Vec<u8>,
        block: usize,
    ) -> Result<Self, PartialError<R::Error>> {
        let block = block.clamp(CHUNK, usize::MAX / 2).next_multiple_of(CHUNK);
        let size = source.size().map_err(PartialError::Source)?;
        let begin = size.min(block as u64) as usize;
        if bytes.len() < begin {
            bytes.resize(begin, 0);
        }
        source.read_at(&mut bytes[..begin], 0).map_err(PartialError::Source)?;
        let used = Header::check(&bytes[..begin]).map_err(PartialError::Document)?.used;
        if u64::from(used) > size {
            let error = Error::with_detail(ErrorKind::Truncated, size, used.into());
            return Err(PartialError::Document(error));
        }
        let used = used as usize;
        if bytes.len() < used {
            // A header may claim any size. The vector is not grown: that would copy it, and clear
            // what the system clears on demand.
            require_memory(used).map_err(PartialError::Document)?;
            let mut all = std::vec![0; used];
            all[..begin.min(used)].copy_from_slice(&bytes[..begin.min(used)]);
            bytes = all;
        }
        let mut chunks = Chunks::of(used);
        (0..begin.min(used).div_ceil(CHUNK)).for_each(|chunk| chunks.add(chunk));
        Ok(Partial { source, bytes, used, chunks, block, fetched: begin as u64, requests: 1 })
    }

    /// What `read` makes of the document, as if all of it were there.
    ///
    /// `read` runs again after each fetch, so it should only read. It reads on this thread: bytes
    /// that other threads read are not fetched for them. What it answers while something is
    /// missing is dropped, errors too. From the eighth time on, each fetch takes twice as much as
    /// the one before. So `read` runs at most some ten times plus the logarithm of the chunks.
    ///
    /// # Errors
    /// Those of the source.
    pub fn read<T>(&mut self, mut read: impl FnMut(Doc<'_>) -> T) -> Result<T, R::Error> {
        let mut ahead = self.block >> 7;
        loop {
            let bytes = self.bytes.get(..self.used).unwrap_or_default();
            match reading(bytes, &mut self.chunks, || read(Doc::over(bytes))) {
                Ok(answer) => return Ok(answer),
                Err(missing) => {
                    let end = missing.end.max(missing.start.saturating_add(ahead));
                    self.fetch(missing.start..end)?;
                    ahead = ahead.saturating_mul(2);
                }
            }
        }
    }

    /// Fetches a range of bytes ahead of reading; what lies behind the document is left out.
    ///
    /// # Errors
    /// Those of the source.
    pub fn prefetch(&mut self, range: Range<u64>) -> Result<(), R::Error> {
        let bound = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(self.used);
        self.fetch(bound(range.start)..bound(range.end))
    }

    /// Fetches the chunks of a range that are missing, neighbours together. The range is widened
    /// to whole blocks.
    fn fetch(&mut self, range: Range<usize>) -> Result<(), R::Error> {
        let end = range.end.min(self.used).div_ceil(self.block).saturating_mul(self.block);
        let last = end.min(self.used).div_ceil(CHUNK);
        let mut chunk = range.start / self.block * (self.block / CHUNK);
        while chunk < last {
            if self.chunks.has(chunk) {
                chunk += 1;
                continue;
            }
            let first = chunk;
            while chunk < last && !self.chunks.has(chunk) {
                chunk += 1;
            }
            let (from, to) = (first * CHUNK, (chunk * CHUNK).min(self.used));
            self.source.read_at(&mut self.bytes[from..to], from as u64)?;
            self.fetched += (to - from) as u64;
            self.requests += 1;
            (first..chunk).for_each(|chunk| self.chunks.add(chunk));
        }
        Ok(())
    }

    /// How many bytes were fetched.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    /// How often the source was read.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The document's length in bytes.
    pub fn document_length(&self) -> usize {
        self.used
    }

    /// The memory, for [`open_in`](Self::open_in).
    pub fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }
}
