//! The steps that commits and logs take on a file. Tests take them on a simulated disk.

use std::fs::File;
use std::io;
use std::vec::Vec;

/// A file, one step for each call. Tests can stop between any two steps, fail one, and lose what
/// was not synced.
pub trait Medium {
    /// Bytes of the file.
    ///
    /// # Errors
    /// What the system reports.
    fn length(&mut self) -> io::Result<u64>;

    /// Reads some bytes from an offset on. Answers how many; 0 at the end.
    ///
    /// # Errors
    /// What the system reports.
    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes at an offset, or the first of them. Answers how many.
    ///
    /// # Errors
    /// What the system reports.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Makes the file shorter, or longer by zeros.
    ///
    /// # Errors
    /// What the system reports.
    fn set_length(&mut self, length: u64) -> io::Result<()>;

    /// Waits until all that was written, and the file's length, is on the disk.
    ///
    /// # Errors
    /// What the system reports. It may forget then what it did not write.
    fn sync(&mut self) -> io::Result<()>;

    /// Fills `bytes` from an offset on. Answers how many there were.
    ///
    /// # Errors
    /// What the system reports.
    fn fill(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.read_at(rest, offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Bytes of the file, fewer where it ends.
    ///
    /// # Errors
    /// What the system reports.
    fn read(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let length = length.min(self.length()?.saturating_sub(offset));
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        bytes.resize(length, 0);
        let read = self.fill(&mut bytes, offset)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Writes all bytes at an offset.
    ///
    /// # Errors
    /// What the system reports. The first bytes may be written.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match self.write_at(rest, offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Medium for &File {
    fn length(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(*self, bytes, offset)
    }

    #[cfg(unix)]
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(*self, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(*self, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(*self, bytes, offset)
    }

    #[cfg(not(any(unix, windows)))]
    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        io::Seek::seek(self, io::SeekFrom::Start(offset))?;
        io::Read::read(self, bytes)
    }

    #[cfg(not(any(unix, windows)))]
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        io::Seek::seek(self, io::SeekFrom::Start(offset))?;
        io::Write::write(self, bytes)
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
