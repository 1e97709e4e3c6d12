//! Tensors that wait until the outermost array ends, and their bytes.

use super::output::Output;
use super::room::{make_room_for, memory};
use crate::block::owner::Owner;
use crate::block::tensor::Form;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::round_up;
use crate::format::layout::*;
use crate::store::storage::Storage;
use alloc::vec::Vec;

/// Tensors that wait.
#[derive(Default)]
pub(super) struct Tensors {
    /// The form of each, and where its numbers begin.
    list: Vec<(Form, usize)>,
    numbers: Vec<u8>,
}

impl Tensors {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.numbers = Vec::new();
    }

    /// Bytes of memory.
    pub(super) fn kept_bytes(&self) -> usize {
        memory(&self.list) + memory(&self.numbers)
    }

    /// Bytes of the numbers that wait.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.numbers.len()
    }

    /// Keeps a tensor. Returns the cell of its place. `limit`: most bytes of the document.
    pub(super) fn keep(&mut self, form: &Form, numbers: &[u8], limit: u64) -> Result<u64> {
        if self.numbers.len() as u64 + numbers.len() as u64 > limit {
            return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, limit));
        }
        make_room_for(&mut self.list, 1)?;
        make_room_for(&mut self.numbers, numbers.len())?;
        self.list.push((*form, self.numbers.len()));
        self.numbers.extend_from_slice(numbers);
        Ok(self.list.len() as u64 - 1)
    }

    pub(super) fn form(&self, cell: u64) -> &Form {
        &self.list[cell as usize].0
    }

    fn numbers(&self, cell: u64) -> &[u8] {
        let (form, start) = &self.list[cell as usize];
        &self.numbers[*start..start + form.size() as usize]
    }

    /// Writes a tensor as an array by itself.
    pub(super) fn write<S: Storage>(&self, out: &mut Output<S>, cell: u64) -> Result<u32> {
        write_tensor(out, self.form(cell), self.numbers(cell))
    }

    /// Writes the lists of a column whose arrays are tensors of one form, with bitmaps of so many
    /// bytes, and the numbers. `rows` are the tensors' cells, `None` for absent ones. Returns the
    /// offsets of the first list and of the bitmaps.
    pub(super) fn write_column<S: Storage>(
        &self,
        out: &mut Output<S>,
        form: &Form,
        owner: Owner,
        bits: u32,
        rows: impl ExactSizeIterator<Item = Option<u64>>,
    ) -> Result<(u32, u32)> {
        let (count, size) = (rows.len() as u64, form.size() as usize);
        let lists = form.array_size() - ARRAY_SIZE as u64 - round_up(form.size());
        let fixed = FIXED_LIST_SIZE as u64;
        let numbers = round_up(count * form.size());
        let (at, _) = out.grow((fixed + lists + bits as u64 + numbers) as usize)?;
        let data = form.lists(count as u32, at, owner, bits, out);
        let place = &mut out.bytes_mut()[data as usize..];
        for (to, row) in place.chunks_exact_mut(size).zip(rows) {
            if let Some(cell) = row {
                to.copy_from_slice(self.numbers(cell));
            }
        }
        Ok((at, if bits > 0 { at + FIXED_LIST_SIZE } else { 0 }))
    }
}

/// Writes a tensor as an array by itself. Returns its home.
pub(super) fn write_tensor<S: Storage>(
    out: &mut Output<S>,
    form: &Form,
    numbers: &[u8],
) -> Result<u32> {
    out.align();
    let (home, _) = out.grow(form.array_size() as usize)?;
    let data = form.array(home, out);
    out.bytes_mut()[data as usize..][..numbers.len()].copy_from_slice(numbers);
    Ok(home)
}
