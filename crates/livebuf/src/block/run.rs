//! Runs: the texts of a column behind each other, and where each ends (FORMAT 6.1).
//!
//! ```text
//! slots: end of each text    header of a column of `U8`    its elements: the bytes of all texts
//! ```
//!
//! A slot without a value has an empty text. So the ends never fall, and the last one is the
//! count of bytes. Texts of one length have no ends. There a slot without a value has zeros.

use crate::block::column::Elements;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u32, slice};
use crate::format::layout::*;
use crate::store::space::{Observer, Space};
use crate::store::storage::Storage;
use core::ops::Range;

/// Capacity in bytes from which on a run gives some of it back.
const LEAST_GIVEN_BACK: u32 = 64;

/// Bytes of ends that are changed at once.
const PIECE: usize = 512;

impl Elements {
    /// Checks that the ends of these slots never fall, and reach at most `limit`. The last one; 0
    /// where there is no slot.
    pub(crate) fn check_ends(&self, bytes: &[u8], limit: u32) -> Result<u32> {
        if self.is_fixed() {
            let slots = self.first.saturating_add(self.count);
            return match slots {
                0 => Ok(0),
                _ => Some(self.end(bytes, slots - 1)?)
                    .filter(|&end| end <= limit)
                    .ok_or(Error::new(ErrorKind::BadIndex, self.entries_at())),
            };
        }
        let width = self.column.width();
        let start = self.values_at() + self.first as u64 * width;
        let ends = slice(bytes, start, self.count as u64 * width)?;
        let mut last = match self.first {
            0 => 0,
            first => self.end(bytes, first - 1)?,
        };
        let mut rises = true;
        let mut next = |end: u32| {
            rises &= last <= end;
            last = end;
        };
        match width {
            1 => ends.iter().for_each(|&end| next(end.into())),
            2 => {
                let ends = ends.as_chunks().0.iter();
                ends.for_each(|&end| next(u16::from_le_bytes(end).into()));
            }
            _ => ends.as_chunks().0.iter().for_each(|&end| next(u32::from_le_bytes(end))),
        }
        match rises && last <= limit {
            true => Ok(last),
            false => Err(Error::new(ErrorKind::BadIndex, start)),
        }
    }
}

/// Writing. The plan of the edit has made sure that all of it fits.
impl Elements {
    pub(crate) fn set_end<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        slot: u32,
        end: u32,
    ) {
        let width = self.column.width();
        let at = self.values_at() + slot as u64 * width;
        space.write(at, &end.to_le_bytes()[..width as usize]);
    }

    /// Moves the ends of these slots.
    fn add_to_ends<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        slots: Range<u32>,
        by: u32,
    ) -> Result<()> {
        let width = self.column.width() as usize;
        if self.is_fixed() {
            return Ok(());
        }
        let mut piece = [0; PIECE];
        let mut first = slots.start;
        while first < slots.end && by != 0 {
            let count = (slots.end - first).min((PIECE / width) as u32);
            let at = self.values_at() + first as u64 * width as u64;
            let piece = &mut piece[..count as usize * width];
            piece.copy_from_slice(slice(space.bytes(), at, piece.len() as u64)?);
            // A loop for each width, which the compiler makes of many ends at once.
            match width {
                1 => piece.iter_mut().for_each(|end| *end = end.wrapping_add(by as u8)),
                2 => piece.as_chunks_mut().0.iter_mut().for_each(|end| {
                    *end = u16::from_le_bytes(*end).wrapping_add(by as u16).to_le_bytes();
                }),
                _ => piece.as_chunks_mut().0.iter_mut().for_each(|end| {
                    *end = u32::from_le_bytes(*end).wrapping_add(by).to_le_bytes();
                }),
            }
            space.write(at, piece);
            first += count;
        }
        Ok(())
    }

    /// Makes `new` bytes of the `old` ones at `at` in the run. Those behind them move. The bytes
    /// that are left at the end become zero. A run that uses at most a quarter of its capacity
    /// gives all but twice its bytes back.
    fn resize_run<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        at: u32,
        old: u32,
        new: u32,
    ) -> Result<()> {
        let Some(run) = self.entries(space.bytes())? else { return Ok(()) };
        let count = run.count - old + new;
        if old != new {
            let (from, to) =
                (run.data as u64 + (at + old) as u64, run.data as u64 + (at + new) as u64);
            space.copy_within(from, to, (run.count - at - old) as u64);
            space.zero(run.data as u64 + count as u64, run.count.saturating_sub(count) as u64);
            run.set_count(space, count);
        }
        if count < run.count && count <= run.capacity / 4 && run.capacity >= LEAST_GIVEN_BACK {
            let capacity = (2 * count).max(8).next_multiple_of(8);
            let (kept, all) = (run.column.data_size(capacity), run.data_size());
            run.set_capacity(space, capacity);
            space.free(run.data as u64 + kept, all - kept);
        }
        Ok(())
    }

    /// Gives the text of a slot another length, and moves all behind it. Returns the offset of
    /// the text. Its bytes are still to be written.
    pub(crate) fn resize_text<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        slot: u32,
        length: u32,
    ) -> Result<u64> {
        let (start, end) = self.bounds(space.bytes(), slot)?;
        if self.is_fixed() {
            return self.clear_text(space, (start, end), length);
        }
        self.resize_run(space, start, end - start, length)?;
        self.add_to_ends(space, slot..self.count, length.wrapping_sub(end - start))?;
        self.run_at(space.bytes(), start)
    }

    /// Makes room in the run for the texts of new slots: `length` bytes for the `added` slots from
    /// `at` on. The slots are there already, but their ends are not yet right: they are left over
    /// from other slots. [`fill_text`](Self::fill_text) sets them, slot by slot.
    pub(crate) fn open_texts<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        at: u32,
        added: u32,
        length: u32,
    ) -> Result<()> {
        let start = match at {
            // The bytes of the run are not yet those of all slots.
            _ if self.is_fixed() => length / added.max(1) * at,
            0 => 0,
            at => self.end(space.bytes(), at - 1)?,
        };
        self.resize_run(space, start, 0, length)?;
        self.add_to_ends(space, at + added..self.count, length)
    }

    /// Sets the length of the text in the next slot that was opened. Returns the offset of the
    /// text. Its bytes are still to be written.
    pub(crate) fn fill_text<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        slot: u32,
        length: u32,
    ) -> Result<u64> {
        let (start, end) = self.bounds(space.bytes(), slot)?;
        if self.is_fixed() {
            return self.clear_text(space, (start, end), length);
        }
        self.set_end(space, slot, start + length);
        self.run_at(space.bytes(), start)
    }

    /// Makes a text of a fixed length zero where the slot is to have none. Returns its offset.
    fn clear_text<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        (start, end): (u32, u32),
        length: u32,
    ) -> Result<u64> {
        let at = self.run_at(space.bytes(), start)?;
        if length == 0 {
            space.zero(at, (end - start) as u64);
        }
        Ok(at)
    }

    /// Gives the texts of a column `old`, which are equally long, ends in this one, where both have
    /// the same run. Slots that `has` says have no text get an empty one.
    pub(crate) fn end_texts<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        old: Elements,
        has: impl Fn(&[u8], u32) -> Result<bool>,
    ) -> Result<()> {
        let length = old.text_length(space.bytes())?;
        let (run, mut end) = (self.run_at(space.bytes(), 0)?, 0);
        for slot in 0..old.count {
            if has(space.bytes(), slot)? {
                let from = run + slot as u64 * length as u64;
                space.copy_within(from, run + end as u64, length.into());
                end += length;
            }
            self.set_end(space, slot, end);
        }
        // No room is given back: the edit is to put a text there.
        let Some(run) = self.entries(space.bytes())? else { return Ok(()) };
        space.zero(run.data as u64 + end as u64, run.count.saturating_sub(end) as u64);
        run.set_count(space, end);
        Ok(())
    }

    /// Takes the texts of `count` slots from `at` on out of the run. The slots are still to be
    /// taken out: their ends are as they were.
    pub(crate) fn close_texts<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        at: u32,
        count: u32,
    ) -> Result<()> {
        let start = self.bounds(space.bytes(), at)?.0;
        let end = self.end(space.bytes(), at + count - 1)?;
        self.resize_run(space, start, end - start, 0)?;
        self.add_to_ends(space, at + count..self.count, start.wrapping_sub(end))
    }

    /// Empties the texts of `count` slots from `at` on.
    pub(crate) fn blank_texts<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        at: u32,
        count: u32,
    ) -> Result<()> {
        let start = self.bounds(space.bytes(), at)?.0;
        if self.is_fixed() {
            let end = self.end(space.bytes(), at + count - 1)?;
            return self.clear_text(space, (start, end), 0).map(|_| ());
        }
        self.close_texts(space, at, count)?;
        (at..at + count).for_each(|slot| self.set_end(space, slot, start));
        Ok(())
    }

    /// Exchanges the texts of two slots: all bytes from the first to the second are turned round,
    /// and then each of the three parts.
    pub(crate) fn exchange_texts<S: Storage, O: Observer>(
        &self,
        space: &mut Space<S, O>,
        a: u32,
        b: u32,
    ) -> Result<()> {
        let (a, b) = (a.min(b), a.max(b));
        if a == b {
            return Ok(());
        }
        let (first, second) = (self.bounds(space.bytes(), a)?, self.bounds(space.bytes(), b)?);
        let (one, other) = (first.1 - first.0, second.1 - second.0);
        let start = self.run_at(space.bytes(), first.0)?;
        let length = (second.1 - first.0) as u64;
        if one == other {
            exchange_bytes(space, start, start + length - one as u64, one as u64)?;
            return Ok(());
        }
        let (one_at, other_at) = (start + length - one as u64, start + other as u64);
        reverse(space, start, length)?;
        reverse(space, start, other as u64)?;
        reverse(space, other_at, one_at - other_at)?;
        reverse(space, one_at, one as u64)?;
        self.add_to_ends(space, a..b, other.wrapping_sub(one))
    }

    /// The offset of byte `at` of the run.
    pub(crate) fn run_at(&self, bytes: &[u8], at: u32) -> Result<u64> {
        Ok(load_u32(bytes, self.entries_at() + ARRAY_DATA as u64)? as u64 + at as u64)
    }
}

/// Bytes that are turned round at once.
const TURNED: usize = 64;

/// Turns bytes round: the last one becomes the first.
fn reverse<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    mut start: u64,
    mut length: u64,
) -> Result<()> {
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
fn exchange_bytes<S: Storage, O: Observer>(
    space: &mut Space<S, O>,
    a: u64,
    b: u64,
    length: u64,
) -> Result<()> {
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
