//! The bytes of headers: `docs/LOG.md` as constants and functions. Section numbers are its.

use crate::error::{Error, ErrorKind, Result};

/// Bytes of a file's header, mark included (LOG 2).
pub(crate) const HEADER_SIZE: u64 = 64;
/// Bytes of a frame's header (LOG 3).
pub(crate) const FRAME_SIZE: u64 = 32;
/// Where the mark lies (LOG 2).
pub(crate) const MARK: u64 = 32;
/// Smallest document (FORMAT 1).
const LEAST_BODY: u32 = 32;
/// What each log begins with, by which it is told from a document.
pub const MAGIC: [u8; 4] = [0xAB, b'L', b'B', b'L'];
/// What follows the magic: the version, and flags.
const VERSION: [u8; 4] = [1, 0, 0, 0];
/// What each frame begins with. Its kind is the next byte.
pub(crate) const FRAME_MAGIC: [u8; 3] = [0xAB, b'L', b'B'];

/// Names a file, so that frames of another one are not taken for its own (LOG 2).
pub(crate) type Identity = [u8; 8];

/// A number of `N` bytes at an offset; 0 beyond the end.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, at))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, at))
}

fn crc_of(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// CRC-32 (IEEE 802.3) of a frame's body.
pub(crate) fn crc(body: &[u8]) -> u32 {
    crc_of(&[body])
}

// --- the file's header (LOG 2) ----------------------------------------------

/// The part of a file's header that never changes.
pub(crate) fn header(identity: Identity) -> [u8; MARK as usize] {
    let mut bytes = [0; MARK as usize];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..8].copy_from_slice(&VERSION);
    bytes[8..16].copy_from_slice(&identity);
    let crc = crc_of(&[&bytes[..28]]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Reads a file's header.
///
/// # Errors
/// [`ErrorKind::NotALog`], [`ErrorKind::Unsupported`].
pub(crate) fn read_header(bytes: &[u8]) -> Result<Identity> {
    if !bytes.starts_with(&MAGIC) {
        let message = match bytes.get(..4) {
            _ if bytes.is_empty() => "not a log: the file is empty",
            Some([0xAB, b'L', b'B', b'F']) => "not a log but a LiveBuf document",
            _ => "not a log: the file does not begin as one does",
        };
        return Err(Error::new(ErrorKind::NotALog, message));
    }
    if bytes.len() < HEADER_SIZE as usize {
        let message = "not a log: the file is shorter than a header";
        return Err(Error::new(ErrorKind::NotALog, message));
    }
    // The fields of a damaged header mean nothing.
    if word(bytes, 28) != crc_of(&[&bytes[..28]]) {
        return Err(Error::new(ErrorKind::NotALog, "the log's header is damaged").at(0));
    }
    if bytes[4] != VERSION[0] {
        let age = if bytes[4] == 0 { "a draft of before version 1" } else { "newer" };
        let message =
            format!("the log's version {} is not read by this library: it is {age}", bytes[4]);
        return Err(Error::new(ErrorKind::Unsupported, message).at(4));
    }
    if bytes[5] != 0 || bytes[16..28] != [0; 12] {
        let message = "the log uses a feature that this library does not know";
        return Err(Error::new(ErrorKind::Unsupported, message).at(5));
    }
    Ok(bytes_at(bytes, 8))
}

/// Whether a header has a flag that this version may read but not write (LOG 2).
pub(crate) fn is_read_only(header: &[u8]) -> bool {
    header.get(6) != Some(&0)
}

/// What a file's mark says: hints, and how far the file is on the disk (LOG 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Bytes of the file that are on the disk.
    pub(crate) durable: u64,
    /// Offset of the newest index frame; 0 for none.
    pub(crate) index: u64,
}

impl Mark {
    pub(crate) fn to_bytes(self, identity: Identity) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.durable.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.index.to_le_bytes());
        let crc = crc_of(&[&identity, &bytes[..28]]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The mark of a header. A damaged one says nothing.
    pub(crate) fn read(header: &[u8], identity: Identity) -> Mark {
        let bytes = header.get(MARK as usize..HEADER_SIZE as usize).unwrap_or(&[]);
        match bytes.get(..28) {
            Some(said) if word(bytes, 28) == crc_of(&[&identity, said]) => {
                Mark { durable: long(bytes, 0), index: long(bytes, 8) }
            }
            _ => Mark::default(),
        }
    }
}

// --- frames (LOG 3) ---------------------------------------------------------

/// What a frame holds (LOG 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// One row, by itself. A group will take its place.
    Row,
    /// Rows. A group will take their place.
    Rows,
    /// A group of rows.
    Group,
    /// Where groups are.
    Index,
}

impl FrameKind {
    const ALL: [FrameKind; 4] =
        [FrameKind::Row, FrameKind::Rows, FrameKind::Group, FrameKind::Index];

    fn code(self) -> u8 {
        match self {
            FrameKind::Row => b'S',
            FrameKind::Rows => b'R',
            FrameKind::Group => b'G',
            FrameKind::Index => b'I',
        }
    }
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) kind: FrameKind,
    /// Bytes of the body.
    pub(crate) length: u32,
    /// Number of its first row; of an index, of the first row after those it lists.
    pub(crate) first: u64,
    pub(crate) rows: u32,
    /// Bytes of the file that were on the disk when it was written.
    pub(crate) durable: u64,
    /// CRC-32 of the body.
    pub(crate) crc: u32,
}

impl FrameHeader {
    /// The header of a frame at an offset.
    pub(crate) fn to_bytes(self, identity: Identity, offset: u64) -> [u8; FRAME_SIZE as usize] {
        let mut bytes = [0; FRAME_SIZE as usize];
        bytes[..3].copy_from_slice(&FRAME_MAGIC);
        bytes[3] = self.kind.code();
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.rows.to_le_bytes());
        let behind = offset.saturating_sub(self.durable).div_ceil(8);
        let behind = u32::try_from(behind).unwrap_or(u32::MAX);
        bytes[20..24].copy_from_slice(&behind.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.crc.to_le_bytes());
        let crc = crc_of(&[&identity, &offset.to_le_bytes(), &bytes[..28]]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The frame's header at an offset; `None` if there is none, or a damaged one.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a kind that this version does not know.
    pub(crate) fn read(bytes: &[u8], identity: Identity, offset: u64) -> Result<Option<Self>> {
        if bytes.get(..3) != Some(&FRAME_MAGIC) || bytes.len() < FRAME_SIZE as usize {
            return Ok(None);
        }
        if word(bytes, 28) != crc_of(&[&identity, &offset.to_le_bytes(), &bytes[..28]]) {
            return Ok(None);
        }
        let Some(kind) = FrameKind::ALL.into_iter().find(|kind| kind.code() == bytes[3]) else {
            let message = "the log has a kind of frame that this library does not know";
            return Err(Error::new(ErrorKind::Unsupported, message).at(offset));
        };
        let durable = match word(bytes, 20) {
            u32::MAX => 0,
            behind => offset.saturating_sub(8 * u64::from(behind)),
        };
        let header = FrameHeader {
            kind,
            length: word(bytes, 4),
            first: long(bytes, 8),
            rows: word(bytes, 16),
            durable,
            crc: word(bytes, 24),
        };
        let rows = match kind {
            FrameKind::Row => header.rows == 1,
            FrameKind::Index => header.rows == 0,
            FrameKind::Rows | FrameKind::Group => header.rows > 0,
        };
        let whole = rows
            && header.length.is_multiple_of(8)
            && header.length >= LEAST_BODY
            && header.first < 1 << 63;
        if !whole {
            return Err(Error::damaged(offset, "a frame's header says what no header may say"));
        }
        Ok(Some(header))
    }

    /// Bytes of the frame.
    pub(crate) fn size(&self) -> u64 {
        FRAME_SIZE + u64::from(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_read_back_and_every_flipped_bit_is_noticed() {
        let identity = *b"identity";
        let frame = FrameHeader {
            kind: FrameKind::Rows,
            length: 128,
            first: 7,
            rows: 3,
            durable: 64,
            crc: 5,
        };
        let bytes = frame.to_bytes(identity, 4096);
        assert_eq!(FrameHeader::read(&bytes, identity, 4096).unwrap(), Some(frame));
        assert_eq!(FrameHeader::read(&bytes, identity, 4104).unwrap(), None);
        assert_eq!(FrameHeader::read(&bytes, *b"another1", 4096).unwrap(), None);
        let mark = Mark { durable: 4096, index: 64 };
        let mut header = header(identity).to_vec();
        header.extend(mark.to_bytes(identity));
        assert_eq!(read_header(&header).unwrap(), identity);
        assert_eq!(Mark::read(&header, identity), mark);
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FrameHeader::read(&bytes, identity, 4096).unwrap(), None, "bit {bit}");
        }
        for bit in 0..8 * header.len() {
            let mut header = header.clone();
            header[bit / 8] ^= 1 << (bit % 8);
            match bit < 8 * MARK as usize {
                true => assert!(read_header(&header).is_err(), "bit {bit}"),
                false => assert_eq!(Mark::read(&header, identity), Mark::default(), "bit {bit}"),
            }
        }
    }

    #[test]
    fn what_is_durable_far_behind_is_rounded_down() {
        let header = |durable| FrameHeader {
            kind: FrameKind::Group,
            length: 32,
            first: 0,
            rows: 1,
            durable,
            crc: 0,
        };
        for (offset, durable) in [(1 << 40, 64), (4096, 4096), (4096, 100), (4096, 0)] {
            let bytes = header(durable).to_bytes([0; 8], offset);
            let read = FrameHeader::read(&bytes, [0; 8], offset).unwrap().unwrap().durable;
            assert!(read <= durable);
        }
    }
}
