//! Runs: the texts of a column behind each other. They are a list of bytes whose values are text
//! (FORMAT 6.4). A slot without a value has an empty text, or zeros where all texts have one
//! length.

use crate::block::column_type::ColumnType;
use crate::block::list::List;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{slice, text};
use crate::format::layout::*;
use crate::store::space::Space;
use crate::store::storage::Storage;

/// Capacity in bytes from which on a run gives some of it back.
const LEAST_GIVEN_BACK: u32 = 64;

/// Checks what holds for a run's list beyond what holds for every list: its elements are the bytes
/// of UTF-8, not too many, and each text begins and ends between two characters.
pub(crate) fn check(bytes: &[u8], list: List) -> Result<()> {
    let run = list.child(bytes)?;
    let bad = |kind| Err(Error::new(kind, run.offset as u64));
    if run.column != ColumnType::U8 || run.gaps != GAPS_NONE {
        return bad(ErrorKind::BadCode);
    }
    if run.count > MAX_SPAN {
        return bad(ErrorKind::BadCount);
    }
    let all = text(slice(bytes, run.data.into(), run.count.into())?, run.data.into())?;
    let within = match list.length {
        Some(length) => {
            let mut starts = (0..run.count).step_by(length as usize);
            starts.find(|&start| !all.is_char_boundary(start as usize))
        }
        None => {
            let (offsets, mut within) = (list.offsets(bytes)?, None);
            offsets.each_offset(bytes, 0..offsets.count, |offset| {
                let between = all.is_char_boundary(offset as usize);
                if !between {
                    within = Some(offset);
                }
                between
            })?;
            within
        }
    };
    match within {
        Some(offset) => Err(Error::new(ErrorKind::BadText, run.data as u64 + offset as u64)),
        None => Ok(()),
    }
}

impl List {
    /// Where the text of a slot begins and ends in a run.
    pub(crate) fn text_bounds(&self, bytes: &[u8], slot: u32) -> Result<(u32, u32)> {
        let (start, length) = self.bounds(bytes, slot)?;
        match u32::try_from(start + length) {
            Ok(end) => Ok((start as u32, end)),
            Err(_) => Err(Error::new(ErrorKind::BadCount, self.offset as u64)),
        }
    }

    /// Gives back most bytes of a run that uses at most a quarter of its capacity: all but twice
    /// those in use.
    pub(crate) fn give_back<S: Storage>(&self, space: &mut Space<S>) -> Result<()> {
        let run = self.child(space.bytes())?;
        if run.count <= run.capacity / 4 && run.capacity >= LEAST_GIVEN_BACK {
            let capacity = (2 * run.count).max(8).next_multiple_of(8);
            let (kept, all) = (run.column.data_size(capacity), run.data_size());
            run.set_capacity(space, capacity);
            space.free(run.data as u64 + kept, all - kept);
        }
        Ok(())
    }

    /// Exchanges the texts of two slots of a run: all bytes from the first to the second are turned
    /// round, and then each of the three parts.
    pub(crate) fn exchange_texts<S: Storage>(
        &self,
        space: &mut Space<S>,
        a: u32,
        b: u32,
    ) -> Result<()> {
        let (a, b) = (a.min(b), a.max(b));
        if a == b {
            return Ok(());
        }
        let bytes = space.bytes();
        let (first, second) = (self.text_bounds(bytes, a)?, self.text_bounds(bytes, b)?);
        let (one, other) = (first.1 - first.0, second.1 - second.0);
        let start = self.child(bytes)?.data as u64 + first.0 as u64;
        let length = second.1.saturating_sub(first.0) as u64;
        if one == other {
            return exchange_bytes(space, start, start + length - one as u64, one as u64);
        }
        let (one_at, other_at) = (start + length - one as u64, start + other as u64);
        reverse(space, start, length)?;
        reverse(space, start, other as u64)?;
        reverse(space, other_at, one_at - other_at)?;
        reverse(space, one_at, one as u64)?;
        let offsets = self.offsets(space.bytes())?;
        offsets.add_to_offsets(space, a + 1..b + 1, other.wrapping_sub(one))
    }
}

/// Bytes that are turned round at once.
const TURNED: usize = 64;

/// Turns bytes round: the last one becomes the first.
fn reverse<S: Storage>(space: &mut Space<S>, mut start: u64, mut length: u64) -> Result<()> {
    while length > 1 {
        let size = (length / 2).min(TURNED as u64);
        let last = start + length - size;
        exchange_bytes(space, start, last, size)?;
        for at in [start, last] {
            let mut piece = [0; TURNED];
            let piece = &mut piece[..size as usize];
            piece.copy_from_slice(slice(space.bytes(), at, size)?);
            piece.reverse();
            space.write(at, piece);
        }
        (start, length) = (start + size, length - 2 * size);
    }
    Ok(())
}

/// Exchanges two ranges of bytes that do not overlap.
fn exchange_bytes<S: Storage>(space: &mut Space<S>, a: u64, b: u64, length: u64) -> Result<()> {
    let mut done = 0;
    while done < length {
        let size = (length - done).min(TURNED as u64);
        let mut pieces = [[0; TURNED]; 2];
        for (piece, at) in pieces.iter_mut().zip([a, b]) {
            piece[..size as usize].copy_from_slice(slice(space.bytes(), at + done, size)?);
        }
        space.write(a + done, &pieces[1][..size as usize]);
        space.write(b + done, &pieces[0][..size as usize]);
        done += size;
    }
    Ok(())
}
