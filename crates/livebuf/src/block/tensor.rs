//! Tensors: numbers of one type, in rows of one shape, behind each other (FORMAT 6.6).
//!
//! A tensor of one dimension is a column by itself. One of more is a list of fixed length in a list
//! of fixed length, and so on. An encoder and an editor write its blocks one after the other:
//!
//! ```text
//! [array, 16 bytes] [list, 40 bytes] for each dimension but the first [numbers]
//! ```

use super::column::Elements;
use super::column_type::ColumnType;
use super::list::List;
use super::owner::Owner;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, round_up};
use crate::format::layout::*;
use crate::store::target::Target;

/// The type and the shape of a tensor. Its numbers are no more than an array can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Form {
    pub(crate) column: ColumnType,
    lengths: [u32; MAX_DIMENSIONS],
    dimensions: u8,
}

#[cold]
pub(crate) fn mismatch(offset: u32) -> Error {
    Error::new(ErrorKind::TensorMismatch, offset.into())
}

/// Checks that a column is a tensor only where one can be, and that its type is one of tensors only
/// there. `in_table`: it is a column of a table.
pub(crate) fn check_tensor(bytes: &[u8], column: Elements, in_table: bool) -> Result<()> {
    let child = match column.column {
        kind if kind.is_list() => List::load(bytes, column.data)?.child(bytes)?.tensor,
        _ => false,
    };
    let known = match (column.tensor, column.column) {
        (true, ColumnType::FixedList) => child,
        (true, kind) => kind.is_tensor_type(),
        (false, ColumnType::List | ColumnType::TextRun) => !child,
        (false, kind) => !kind.is_tensor_only(),
    };
    if !known || column.tensor && (in_table || column.gaps != GAPS_NONE) {
        let at = column.offset as u64 + ARRAY_TENSOR as u64;
        return Err(Error::new(ErrorKind::BadCode, at));
    }
    let (mut below, mut dimensions) = (column, 1);
    while below.tensor && below.column == ColumnType::FixedList {
        if dimensions == MAX_DIMENSIONS {
            let (offset, limit) = (column.offset.into(), MAX_DIMENSIONS as u64);
            return Err(Error::with_detail(ErrorKind::NestingLimit, offset, limit));
        }
        below = List::load(bytes, below.data)?.child(bytes)?;
        dimensions += 1;
    }
    Ok(())
}

impl Form {
    /// The form with these lengths, from the outermost dimension on. `None` where a tensor cannot
    /// be of this type or shape.
    pub(crate) fn new(column: ColumnType, shape: impl Iterator<Item = u64>) -> Option<Form> {
        let mut form = Form { column, lengths: [0; MAX_DIMENSIONS], dimensions: 0 };
        let mut count = 1u64;
        for length in shape {
            form.add(u32::try_from(length).ok()?)?;
            count = count.saturating_mul(length);
        }
        if !column.is_tensor_type() || form.dimensions == 0 {
            return None;
        }
        // Only the first can be 0, because no list has the fixed length 0.
        let inner = form.lengths().iter().skip(1).all(|&length| length > 0);
        (count <= MAX_ELEMENTS as u64 && inner).then_some(form)
    }

    /// The form of an array, and where its numbers begin; `None` where it is no tensor. Checks that
    /// the numbers lie in the document.
    pub(crate) fn of(bytes: &[u8], array: Elements) -> Result<Option<(Form, u64)>> {
        if !array.tensor {
            return Ok(None);
        }
        let bad = |kind| Error::new(kind, array.offset.into());
        let mut form = Form { column: array.column, lengths: [0; MAX_DIMENSIONS], dimensions: 1 };
        form.lengths[0] = array.count;
        let mut elements = array;
        while elements.column == ColumnType::FixedList {
            let list = List::load(bytes, elements.data)?;
            let (length, child) = (list.length.unwrap_or(0), list.child(bytes)?);
            let limit = MAX_DIMENSIONS as u64;
            let nested = Error::with_detail(ErrorKind::NestingLimit, array.offset.into(), limit);
            form.add(length).ok_or(nested)?;
            let (first, count) = (elements.first as u64, elements.count as u64);
            let (first, count) = (first * length as u64, count * length as u64);
            if !child.tensor || length == 0 || first + count > child.count as u64 {
                return Err(bad(ErrorKind::BadCount));
            }
            elements = Elements { first: first as u32, count: count as u32, ..child };
        }
        form.column = elements.column;
        if !form.column.is_tensor_type() || elements.gaps != GAPS_NONE {
            return Err(bad(ErrorKind::BadCode));
        }
        let start = elements.data as u64 + elements.first as u64 * form.column.width();
        check(bytes, start, form.size())?;
        Ok(Some((form, start)))
    }

    /// The form of the arrays in a list of fixed length, if they are tensors. The list may have
    /// none.
    pub(crate) fn in_list(bytes: &[u8], mut list: List) -> Result<Option<Form>> {
        let bad = |kind, list: List| Error::new(kind, list.offset.into());
        let mut form =
            Form { column: ColumnType::Cells, lengths: [0; MAX_DIMENSIONS], dimensions: 0 };
        loop {
            let child = list.child(bytes)?;
            if !child.tensor {
                return Ok(None);
            }
            let length = list.length.ok_or(bad(ErrorKind::BadCode, list))?;
            form.add(length).ok_or(bad(ErrorKind::NestingLimit, list))?;
            form.column = child.column;
            if child.column != ColumnType::FixedList {
                return Ok(child.column.is_tensor_type().then_some(form));
            }
            list = List::load(bytes, child.data)?;
        }
    }

    /// Adds an inner dimension. `None` if there are as many as there can be.
    fn add(&mut self, length: u32) -> Option<()> {
        *self.lengths.get_mut(self.dimensions as usize)? = length;
        self.dimensions += 1;
        Some(())
    }

    /// The length of each dimension.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths[..self.dimensions as usize]
    }

    /// How many arrays nest.
    pub(crate) fn height(&self) -> u16 {
        if self.lengths[0] == 0 { 1 } else { self.dimensions.into() }
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> u64 {
        // Without numbers, a damaged document may have any lengths.
        self.lengths().iter().fold(1, |count, &length| count.saturating_mul(length.into()))
    }

    /// Bytes of the numbers.
    pub(crate) fn size(&self) -> u64 {
        self.count().saturating_mul(self.column.width())
    }

    /// The form of each element; `None` where these are numbers.
    pub(crate) fn element(&self) -> Option<Form> {
        let mut form = *self;
        form.lengths.rotate_left(1);
        form.lengths[MAX_DIMENSIONS - 1] = 0;
        form.dimensions -= 1;
        (form.dimensions > 0).then_some(form)
    }

    /// Bytes of an array of this form by itself.
    pub(crate) fn array_size(&self) -> u64 {
        let lists = (self.dimensions as u64 - 1) * FIXED_LIST_SIZE as u64;
        ARRAY_SIZE as u64 + lists + round_up(self.size())
    }

    /// The blocks of an array of this form at `home`, but for its numbers. Returns where
    /// these lie.
    pub(crate) fn array(&self, home: u32, target: &mut impl Target) -> u32 {
        let (length, below) = (self.lengths[0], self.element());
        let data = home + ARRAY_SIZE;
        let kind = if below.is_some() { ColumnType::FixedList } else { self.column };
        self.header(home, kind, length, data, target);
        let owner = Owner { block: home, column: 0 };
        below.map_or(data, |below| below.lists(length, data, owner, 0, target))
    }

    /// The lists of `rows` arrays of this form, from `at` on, and the headers in them. Behind the
    /// first list are bitmaps of so many bytes. Returns where the numbers lie.
    pub(crate) fn lists(
        &self,
        rows: u32,
        at: u32,
        owner: Owner,
        bits: u32,
        target: &mut impl Target,
    ) -> u32 {
        let bits_at = if bits > 0 { at + FIXED_LIST_SIZE } else { 0 };
        List { offset: at, length: Some(self.lengths[0]) }.write_header(target, owner, bits_at);
        let (count, data) = (rows * self.lengths[0], at + FIXED_LIST_SIZE + bits);
        let below = self.element();
        let kind = if below.is_some() { ColumnType::FixedList } else { self.column };
        self.header(at + LIST_CHILD, kind, count, data, target);
        let owner = Owner { block: at, column: 0 };
        below.map_or(data, |below| below.lists(count, data, owner, 0, target))
    }

    /// The header of a column at `at`, whose data follows.
    fn header(&self, at: u32, column: ColumnType, count: u32, data: u32, target: &mut impl Target) {
        let empty = count == 0 && column != ColumnType::FixedList;
        let elements = Elements::new(at, column, count, count, if empty { 0 } else { data });
        Elements { tensor: true, ..elements }.write_header(target);
    }
}
