//! Deltas as bytes: `docs/DELTA.md`.

use super::delta::{Delta, FIXED, extend};
use super::error::DeltaError;
use crate::format::layout::{HEADER_SIZE, MAX_DOCUMENT};
use crate::format::state::State;
use alloc::vec::Vec;

const MAGIC: [u8; 4] = [0xAB, 0x4C, 0x42, 0x44];
const VERSION: u8 = 1;
const FLAG_OLD: u8 = 1;
const FLAG_DIGEST: u8 = 2;

impl Delta {
    /// The delta as bytes, to be sent or stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let old = self.old.as_ref().map_or(0, Vec::len);
        let most = 48 + 32 + self.new.len() + old + 10 * (self.places.len() + 2);
        let mut bytes = Vec::with_capacity(most);
        bytes.extend(MAGIC);
        let old = if self.old.is_some() { FLAG_OLD } else { 0 };
        let digest = if self.digest.is_some() { FLAG_DIGEST } else { 0 };
        bytes.extend([VERSION, old | digest]);
        bytes.extend(self.base.to_bytes());
        bytes.extend(self.state.to_bytes());
        bytes.extend(self.digest.iter().flatten());
        self.put_content(&mut bytes, true);
        bytes
    }

    /// What the state afterwards is a hash of: the changes, without old bytes.
    pub(super) fn content(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.new.len() + 10 * (self.places.len() + 2));
        self.put_content(&mut bytes, false);
        bytes
    }

    fn put_content(&self, bytes: &mut Vec<u8>, with_old: bool) {
        put(bytes, self.base_length / 8);
        put(bytes, self.length / 8);
        put(bytes, self.places.len() as u32);
        let mut end = 0;
        for (change, &(offset, length)) in self.changes().zip(&self.places) {
            put(bytes, offset - end);
            put(bytes, length);
            bytes.extend(change.new);
            if with_old {
                bytes.extend(change.old.unwrap_or_default());
            }
            end = offset + length;
        }
    }

    /// Reads a delta. O(n).
    ///
    /// # Errors
    /// [`DeltaError::NotADelta`], [`DeltaError::UnsupportedVersion`], [`DeltaError::Truncated`],
    /// [`DeltaError::Damaged`]; memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Delta, DeltaError> {
        let mut input = Input { bytes, at: 0 };
        match input.take(4) {
            Ok(magic) if magic == MAGIC => {}
            _ if !bytes.is_empty() && MAGIC.starts_with(bytes) => {
                return Err(DeltaError::Truncated(bytes.len()));
            }
            _ => return Err(DeltaError::NotADelta),
        }
        let version = input.array::<1>()?[0];
        if version != VERSION {
            return Err(DeltaError::UnsupportedVersion(version));
        }
        let flags = input.array::<1>()?[0];
        if flags & !(FLAG_OLD | FLAG_DIGEST) != 0 {
            return Err(input.damaged("unknown flags"));
        }
        let (base, state) = (input.array()?, input.array()?);
        let digest = if flags & FLAG_DIGEST != 0 { Some(input.array()?) } else { None };
        let mut delta = Delta {
            base: State::from_bytes(base),
            state: State::from_bytes(state),
            base_length: input.length()?,
            length: input.length()?,
            places: Vec::new(),
            new: Vec::new(),
            old: (flags & FLAG_OLD != 0).then(Vec::new),
            digest,
        };
        let count = input.number()?;
        let longer = if delta.old.is_some() { delta.base_length } else { 0 }.max(delta.length);
        let shorter = delta.base_length.min(delta.length) as u64;
        let mut end = 0u64;
        for _ in 0..count {
            let offset = end + input.number()? as u64;
            let length = input.number()? as u64;
            let before = end;
            end = offset + length;
            if length == 0 {
                return Err(input.damaged("an empty range"));
            }
            if end > longer as u64 {
                return Err(input.damaged("a range beyond the document"));
            }
            if FIXED.iter().any(|fixed| offset < fixed.end && end > fixed.start) {
                return Err(input.damaged("a range over what no delta changes"));
            }
            if offset > before && offset > shorter {
                return Err(input.damaged("bytes of the longer document are missing"));
            }
            let size = |document: u32| (end.min(document as u64).saturating_sub(offset)) as usize;
            extend(&mut delta.new, input.take(size(delta.length))?)?;
            if let Some(old) = &mut delta.old {
                extend(old, input.take(size(delta.base_length))?)?;
            }
            delta.places.try_reserve(1).map_err(|_| DeltaError::memory(8))?;
            delta.places.push((offset as u32, length as u32));
        }
        if longer as u64 > shorter && end != longer as u64 {
            return Err(input.damaged("bytes of the longer document are missing"));
        }
        if input.at != bytes.len() {
            return Err(input.damaged("bytes behind the delta"));
        }
        Ok(delta)
    }
}

struct Input<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Input<'b> {
    fn damaged(&self, problem: &'static str) -> DeltaError {
        DeltaError::damaged(self.at, problem)
    }

    fn take(&mut self, size: usize) -> Result<&'b [u8], DeltaError> {
        let end = self.at.checked_add(size);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(DeltaError::Truncated(self.bytes.len()))?;
        self.at += size;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DeltaError> {
        let taken = self.take(N)?;
        taken.first_chunk().copied().ok_or(DeltaError::Truncated(self.bytes.len()))
    }

    /// A number of 32 bits, seven bits a byte, the lowest first.
    fn number(&mut self) -> Result<u32, DeltaError> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.array::<1>()?[0];
            let bits = (byte & 0x7F) as u64;
            number |= bits << shift;
            if byte < 0x80 {
                if number > u32::MAX as u64 || (bits == 0 && shift > 0) {
                    break;
                }
                return Ok(number as u32);
            }
        }
        Err(self.damaged("a number of more than 32 bits, or with bytes that it does not need"))
    }

    /// A count of used bytes, in words.
    fn length(&mut self) -> Result<u32, DeltaError> {
        let bytes = self.number()? as u64 * 8;
        if !(HEADER_SIZE as u64..=MAX_DOCUMENT).contains(&bytes) {
            return Err(self.damaged("a length that no document has"));
        }
        Ok(bytes as u32)
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
