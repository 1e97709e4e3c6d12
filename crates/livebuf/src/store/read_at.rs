//! Bytes elsewhere, read by ranges.

use crate::error::Error;
use crate::format::bytes::slice;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes elsewhere that are read from any offset on: a file, a blob in a database, what a server
/// sends by ranges. `Partial` documents and logs are read from them.
pub trait ReadAt {
    /// Why a read failed.
    type Error;

    /// How many bytes there are.
    ///
    /// # Errors
    /// The source's own.
    fn size(&mut self) -> Result<u64, Self::Error>;

    /// Fills the buffer with the bytes from `offset` on. They lie within [`size`](Self::size).
    ///
    /// # Errors
    /// The source's own. The buffer may be filled in part.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<(), Self::Error>;
}

impl ReadAt for &[u8] {
    type Error = Error;

    fn size(&mut self) -> Result<u64, Error> {
        Ok(self.len() as u64)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
        buffer.copy_from_slice(slice(self, offset, buffer.len() as u64)?);
        Ok(())
    }
}

impl ReadAt for File {
    type Error = io::Error;

    fn size(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.read_exact(buffer)
    }
}
