//! Whole objects and arrays given as slices: measured at once, built at once.

use super::object::{append, index_limit};
use super::{Editor, New, NodeId, build_key};
use crate::block::column::{ColumnType, Elements, Numbers};
use crate::block::map;
use crate::block::record::Record;
use crate::block::shape::{self, Shape};
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::Needle;
use crate::format::layout::*;
use crate::store::space::{Extent, Observer};
use crate::store::storage::Storage;

type Field<'v> = (&'v str, New<'v>);

/// A shape that begins with these keys, among the newest.
#[cfg_attr(not(feature = "small"), inline(always))]
fn find_shape(bytes: &[u8], fields: &[Field<'_>]) -> Result<Option<Shape>> {
    shape::among_newest(bytes, |shape| {
        if (shape.count as usize) < fields.len() {
            return Ok(None);
        }
        for (index, (key, _)) in (0..).zip(fields) {
            if !Needle::new(key.as_bytes()).is_at(bytes, shape.key_position(index))? {
                return Ok(None);
            }
        }
        Ok(Some(shape))
    })
}

fn fits_record(fields: &[Field<'_>]) -> bool {
    fields.len() <= MAX_FIELDS && fields.iter().all(|(key, _)| key.len() <= MAX_SHAPE_KEY)
}

impl<S: Storage, O: Observer> Editor<S, O> {
    /// A part's bytes and height. What was detached can be hung once, so not from a slice.
    /// `first`: no shape was made or freed since the edit began.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(super) fn measure_part(&self, new: &New<'_>, first: bool) -> Result<(u64, u16)> {
        match new {
            New::Detached(_) => Err(Error::new(ErrorKind::Unsupported, 0)),
            // Parts before it may push a shape it could use out of the newest:
            // room for one of its own is taken, and given back if not needed.
            New::Fields(fields) => self.measure_fields(fields, first),
            other => self.measure_value(other, NodeId::NONE),
        }
    }

    #[inline(never)]
    pub(super) fn measure_fields(
        &self,
        fields: &[Field<'_>],
        outermost: bool,
    ) -> Result<(u64, u16)> {
        self.check_elements(fields.len() as u64)?;
        let (mut size, mut highest, mut keys) = (0, 0, 0);
        for (index, (key, new)) in fields.iter().enumerate() {
            if fields[..index].iter().any(|(other, _)| other == key) {
                return Err(Error::new(ErrorKind::DuplicateKey, 0));
            }
            let (part, height) = self.measure_part(new, false)?;
            size += part;
            keys += self.measure_span(key.as_bytes())?;
            highest = highest.max(height);
        }
        let count = fields.len() as u32;
        size += if !fits_record(fields) {
            map::create_size(count) + index_limit(count) + keys
        } else if count == 0 || (outermost && find_shape(self.space.bytes(), fields)?.is_some()) {
            record_size(count) as u64
        } else {
            record_size(count) as u64 + shape_size(count) as u64 + keys
        };
        Ok((size, highest.saturating_add(1)))
    }

    #[inline(never)]
    pub(super) fn build_fields(&mut self, fields: &[Field<'_>], extent: &mut Extent) -> (u8, u64) {
        let count = fields.len() as u32;
        if !fits_record(fields) {
            let map = map::create(&mut self.space, extent, count).at;
            for (key, new) in fields {
                let key = build_key(&mut self.space, key.as_bytes(), true, extent);
                let (tag, cell) = self.build(new, extent);
                append(&mut self.space, map, key, tag, cell, extent);
            }
            return (TAG_OBJECT, map);
        }
        let home = extent.carve(record_size(count) as u64);
        let shape = match find_shape(self.space.bytes(), fields) {
            _ if count == 0 => 0,
            Ok(Some(shape)) => {
                shape::adopt(&mut self.space, shape.offset as u32);
                shape.offset as u32
            }
            _ => self.make_shape(fields, extent),
        };
        Record::new(home, count, count, count, shape).write_header(&mut self.space);
        let cells = (home + RECORD_CELLS) as u64;
        for (group, fields) in (0..).step_by(8).zip(fields.chunks(8)) {
            let mut tags = 0;
            for (index, (_, new)) in (group..).zip(fields) {
                let (tag, cell) = self.build(new, extent);
                tags |= (tag as u64) << (8 * (index & 7));
                self.space.write_u64(cells + cell_at(index), cell);
            }
            self.space.write_u64(cells + tag_at(group), tags);
        }
        (TAG_OBJECT, home as u64)
    }

    fn make_shape(&mut self, fields: &[Field<'_>], extent: &mut Extent) -> u32 {
        let count = fields.len() as u32;
        let shape = shape::create(&mut self.space, count, count, extent);
        for (group, fields) in (0..).step_by(8).zip(fields.chunks(8)) {
            let mut fingerprints = 0;
            for (index, (key, _)) in (group..).zip(fields) {
                let needle = Needle::new(key.as_bytes());
                let cell = self.build_span_cell(&needle, extent);
                fingerprints |= (needle.fingerprint as u64) << (8 * (index & 7));
                self.space.write_u64(shape.key_position(index), cell);
            }
            let at = shape.offset + (SHAPE_FINGERPRINTS + group) as u64;
            self.space.write_u64(at, fingerprints);
        }
        shape.offset as u32
    }

    #[inline(never)]
    pub(super) fn measure_items(&self, items: &[New<'_>]) -> Result<(u64, u16)> {
        self.check_elements(items.len() as u64)?;
        let (mut size, mut highest) = (0, 0);
        for new in items {
            let (part, height) = self.measure_part(new, false)?;
            size += part;
            highest = highest.max(height);
        }
        size += ARRAY_SIZE as u64 + self.items_column(items).data_size(items.len() as u32);
        Ok((size, highest.saturating_add(1)))
    }

    /// The first element's column where all fit it, a column of numbers for integers and floats,
    /// else cells.
    fn items_column(&self, items: &[New<'_>]) -> ColumnType {
        let Some(first) = items.first() else { return ColumnType::Cells };
        let column = ColumnType::for_first(first.probe().0);
        let fits = |new: &New<'_>| {
            let (tag, cell) = new.probe();
            column.fit(tag, cell).is_some()
        };
        if items.iter().all(fits) {
            return column;
        }
        let mut numbers = Numbers::default();
        let is_number = |new: &New<'_>| {
            let (tag, cell) = new.probe();
            let number = matches!(tag, TAG_INT | TAG_UINT | TAG_FLOAT);
            if number {
                numbers.add(tag, cell);
            }
            number
        };
        let all = items.iter().all(is_number);
        numbers.column(8).filter(|_| all).unwrap_or(ColumnType::Cells)
    }

    #[inline(never)]
    pub(super) fn build_items(&mut self, items: &[New<'_>], extent: &mut Extent) -> (u8, u64) {
        let column = self.items_column(items);
        let count = items.len() as u32;
        let home = extent.carve(ARRAY_SIZE as u64);
        let data = if count == 0 { 0 } else { extent.carve(column.data_size(count)) };
        let elements = Elements::new(home, column, count, count, data);
        elements.write_header(&mut self.space);
        for (index, new) in (0..).zip(items) {
            let (tag, cell) = self.build(new, extent);
            elements.put(&mut self.space, index, (tag, cell));
        }
        (TAG_ARRAY, home as u64)
    }
}
