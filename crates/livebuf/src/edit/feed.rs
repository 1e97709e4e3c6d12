//! New values for columns. A value is described once, and each column asks it for its part. A
//! struct's column takes a member of each object, a list's the elements of each array.

use super::new::New;
use super::sink::Sink;
use crate::block::column::{Elements, Gap};
use crate::block::list::elements_of;
use crate::block::record::Raw;
use crate::block::shape::Shape;
use crate::block::table::Table;
use crate::block::tensor::Form;
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::{Needle, span_bytes, span_inline};
use crate::format::extended::Extended;
use crate::format::layout::*;
use crate::store::storage::Storage;
use crate::view::{Checked, Object};

/// Is called with the sink and each member.
type ForMember<'w, 'v, S> = dyn FnMut(&mut Sink<'_, S>, &'v str, Put<'v>) -> Result<()> + 'w;
/// Is called with the sink and each value.
type ForValue<'w, 'v, S> = dyn FnMut(&mut Sink<'_, S>, Put<'v>) -> Result<()> + 'w;

/// A new value for a slot.
#[derive(Clone, Copy)]
pub(super) enum Put<'v> {
    /// A value from elsewhere.
    Value(New<'v>),
    /// A detached value of this document.
    Here(Raw),
    /// A row has no such field, or the row or array around it is not there.
    Missing,
}

/// A value as columns see it.
pub(super) enum Incoming {
    /// The tag, and the cell if the type of a column depends on it.
    Value(u8, u64),
    Gap(Gap),
}

impl<'v> Put<'v> {
    pub(super) fn new(new: New<'v>) -> Put<'v> {
        match new {
            New::Detached(detached) => Put::Here(detached.raw()),
            new => Put::Value(new),
        }
    }

    /// The tag, and the cell if the type of a column depends on it.
    pub(super) fn probe(&self) -> (u8, u64) {
        match self {
            Put::Value(new) => new.probe(),
            Put::Here(raw) => (raw.tag, raw.cell),
            Put::Missing => (TAG_HOLE, 0),
        }
    }

    pub(super) fn incoming(&self) -> Incoming {
        match (self, self.probe()) {
            (Put::Missing, _) => Incoming::Gap(Gap::Missing),
            (_, (TAG_NULL, _)) => Incoming::Gap(Gap::Null),
            (_, (tag, cell)) => Incoming::Value(tag, cell),
        }
    }

    pub(super) fn is(&self, tag: u8) -> bool {
        matches!(self.incoming(), Incoming::Value(found, _) if found == tag)
    }

    /// A text, to be searched for. If it is short and lies in a document, only the cell.
    pub(super) fn text<'b>(&self, bytes: &'b [u8]) -> Result<Option<Needle<'b>>>
    where
        'v: 'b,
    {
        let (document, raw) = match self {
            Put::Value(New::Str(text)) => return Ok(Some(Needle::new(text.as_bytes()))),
            Put::Value(New::Copy(value)) => (value.document(), value.raw()),
            Put::Here(raw) => (bytes, *raw),
            _ => return Ok(None),
        };
        Ok(match (raw.tag, span_inline(raw.cell)) {
            (TAG_STRING, Some(_)) => Some(Needle { text: &[], cell: raw.cell, fingerprint: 0 }),
            (TAG_STRING, None) => Some(Needle::new(span_bytes(document, raw.cell, 0)?)),
            _ => None,
        })
    }

    /// The text for a slot of a run: empty if it is no text. A short one of this document is copied
    /// to `short`, since its cell may be nowhere.
    pub(super) fn run_text<'b>(&self, bytes: &'b [u8], short: &'b mut [u8; 8]) -> Result<&'b [u8]>
    where
        'v: 'b,
    {
        let raw = match self {
            Put::Here(raw) if raw.tag == TAG_STRING => raw,
            _ => return self.foreign_text(short),
        };
        match span_inline(raw.cell) {
            Some(length) => {
                *short = raw.cell.to_le_bytes();
                Ok(&short[..length])
            }
            None => span_bytes(bytes, raw.cell, 0),
        }
    }

    /// The same where it is not in this document.
    pub(super) fn foreign_text<'b>(&self, short: &'b mut [u8; 8]) -> Result<&'b [u8]>
    where
        'v: 'b,
    {
        match self {
            Put::Value(New::Str(text)) => Ok(text.as_bytes()),
            Put::Value(New::Copy(value)) if value.raw().tag == TAG_STRING => {
                let raw = value.raw();
                span_bytes(value.document(), raw.cell, raw.position.into())
            }
            _ => Ok(&short[..0]),
        }
    }

    /// Stores a UUID in its slot, and nothing for another value. Returns the tag.
    pub(super) fn store_uuid<S: Storage>(
        &self,
        sink: &mut Sink<'_, S>,
        column: Elements,
        slot: u32,
    ) -> Result<(u8, u64)> {
        if !sink.writes() {
            match self {
                Put::Value(New::Copy(value)) => drop(value.extended()?),
                // If the document was not validated, the cell may be anything.
                Put::Here(raw) if raw.tag == TAG_UUID => {
                    let bytes = span_bytes(sink.bytes(), raw.cell, raw.position.into())?;
                    if span_inline(raw.cell).is_some() || bytes.len() != UUID_SIZE {
                        return Err(Error::new(ErrorKind::BadCell, raw.position.into()));
                    }
                }
                _ => {}
            }
        }
        sink.try_write(|editor, _| {
            let space = &mut editor.space;
            let at = column.values_at() + slot as u64 * column.column.width();
            match *self {
                Put::Here(raw) if raw.tag == TAG_UUID => {
                    space.copy_within(raw.cell as u32 as u64, at, UUID_SIZE as u64);
                    editor.release(raw);
                }
                Put::Value(New::Extended(Extended::Uuid(id))) => space.write(at, id.as_bytes()),
                Put::Value(New::Copy(value)) if value.raw().tag == TAG_UUID => {
                    let bytes = span_bytes(value.document(), value.raw().cell, 0)?;
                    space.write(at, bytes.get(..UUID_SIZE).unwrap_or(&[0; UUID_SIZE]));
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok((self.probe().0, 0))
    }

    /// The member for a column of a table; missing where this is no object.
    pub(super) fn column_member(&self, bytes: &[u8], table: Table, index: u32) -> Result<Put<'v>> {
        if !self.is(TAG_OBJECT) {
            return Ok(Put::Missing);
        }
        if index >= table.columns {
            // It gets no order of its own.
            return Ok(Put::Missing);
        }
        let key = Shape::of_table(bytes, table.shape as u64, table.columns)?.key(bytes, index)?;
        self.member(bytes, &Needle::new(key))
    }

    fn member(&self, bytes: &[u8], needle: &Needle<'_>) -> Result<Put<'v>> {
        let found = match self {
            Put::Value(New::Fields(fields)) => fields
                .iter()
                .find(|(key, _)| key.as_bytes() == needle.text)
                .map(|(_, new)| Put::new(*new)),
            Put::Value(New::Copy(value)) => match value.object()? {
                Some(object) => object.find(needle)?.map(|value| Put::Value(New::Copy(value))),
                None => None,
            },
            Put::Here(raw) => Object::of(Checked, bytes, raw.cell)?
                .find(needle)?
                .map(|value| Put::Here(value.raw())),
            _ => None,
        };
        Ok(found.unwrap_or(Put::Missing))
    }

    /// Element `index` of an array.
    fn element(&self, bytes: &[u8], index: u32) -> Result<Put<'v>> {
        let missing = || Error::new(ErrorKind::IndexOutOfRange, 0);
        Ok(match self {
            Put::Value(New::Items(items)) => {
                Put::new(*items.get(index as usize).ok_or_else(missing)?)
            }
            Put::Value(New::Copy(value)) => match value.array()? {
                Some(array) => {
                    Put::Value(New::Copy(array.get(index as usize)?.ok_or_else(missing)?))
                }
                None => return Err(missing()),
            },
            Put::Here(raw) => Put::Here(elements_of(bytes, raw.cell)?.element(bytes, index)?),
            Put::Value(New::Tensor(tensor)) => Put::Value(tensor.element(index)?.into()),
            _ => return Err(missing()),
        })
    }

    /// The count of an array's elements, or of a text's bytes. 0 for other values.
    pub(super) fn length(&self, bytes: &[u8]) -> Result<u32> {
        if self.is(TAG_STRING) {
            return Ok(self.run_text(bytes, &mut [0; 8])?.len() as u32);
        }
        match self {
            Put::Value(New::Items(items)) => Ok(items.len() as u32),
            Put::Value(New::Tensor(tensor)) => Ok(tensor.length()),
            Put::Value(New::Copy(value)) => {
                Ok(value.array()?.map_or(0, |array| array.len() as u32))
            }
            Put::Here(raw) if raw.tag == TAG_ARRAY => Ok(elements_of(bytes, raw.cell)?.count),
            _ => Ok(0),
        }
    }

    /// The form of a tensor.
    pub(super) fn form(&self, bytes: &[u8]) -> Result<Option<Form>> {
        let (bytes, raw) = match self {
            Put::Value(New::Tensor(tensor)) => return tensor.form().map(Some),
            Put::Value(New::Copy(value)) => (value.document(), value.raw()),
            Put::Here(raw) => (bytes, *raw),
            _ => return Ok(None),
        };
        match raw.tag {
            TAG_ARRAY => Ok(Form::of(bytes, elements_of(bytes, raw.cell)?)?.map(|(form, _)| form)),
            _ => Ok(None),
        }
    }

    /// Hands `with` the members of an object from elsewhere whose keys are not a table's, and
    /// the sink. An object of this document that is stored in a row has none.
    pub(super) fn each_further<S: Storage>(
        &self,
        sink: &mut Sink<'_, S>,
        table: Table,
        with: &mut ForMember<'_, 'v, S>,
    ) -> Result<()> {
        let mut pass = |key: &'v str, put| {
            let bytes = sink.bytes();
            let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
            match table.has(bytes, shape, key.as_bytes())? {
                true => Ok(()),
                false => with(sink, key, put),
            }
        };
        match self {
            Put::Value(New::Fields(fields)) => {
                fields.iter().try_for_each(|(key, new)| pass(key, Put::new(*new)))
            }
            Put::Value(New::Copy(value)) => match value.object()? {
                Some(object) => object.iter().try_for_each(|member| {
                    let (key, value) = member?;
                    pass(key, Put::Value(New::Copy(value)))
                }),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// How many members of an object are not a table's, and whether a record can hold them.
    pub(super) fn count_further(&self, bytes: &[u8], table: Table) -> Result<(u32, bool)> {
        let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
        let (mut count, mut record) = (0, true);
        let mut pass = |key: &str| -> Result<()> {
            if !table.has(bytes, shape, key.as_bytes())? {
                count += 1;
                record &= key.len() <= MAX_SHAPE_KEY && count as usize <= MAX_FIELDS;
            }
            Ok(())
        };
        match self {
            Put::Value(New::Fields(fields)) => {
                fields.iter().try_for_each(|(key, _)| pass(key))?;
            }
            Put::Value(New::Copy(value)) => {
                if let Some(object) = value.object()? {
                    object.iter().try_for_each(|member| pass(member?.0))?;
                }
            }
            Put::Here(raw) if raw.tag == TAG_OBJECT => {
                let object = Object::of(Checked, bytes, raw.cell)?;
                object.iter().try_for_each(|member| pass(member?.0))?;
            }
            _ => {}
        }
        Ok((count, record))
    }

    /// Whether an object has members that are not a table's.
    pub(super) fn has_further(&self, bytes: &[u8], table: Table) -> Result<bool> {
        Ok(self.is(TAG_OBJECT) && self.count_further(bytes, table)?.0 > 0)
    }
}

/// The values for a column, one for each slot that is opened.
#[derive(Clone, Copy)]
pub(super) enum Feed<'f, 'v> {
    One(Put<'v>),
    /// The members of objects that a table's column holds.
    Members(&'f Feed<'f, 'v>, Table, u32),
    /// The elements of arrays; of a list of fixed length, missing ones where there is no array.
    Elements(&'f Feed<'f, 'v>, Option<u32>),
}

impl<'v> Feed<'_, 'v> {
    /// The members for a column of a table.
    pub(super) fn members<'f>(
        &'f self,
        bytes: &[u8],
        table: Table,
        index: u32,
    ) -> Result<Feed<'f, 'v>> {
        Ok(match self {
            Feed::One(put) => Feed::One(put.column_member(bytes, table, index)?),
            _ => Feed::Members(self, table, index),
        })
    }

    /// Calls `with` on the sink and each value. The values do not change by what it writes.
    #[inline]
    pub(super) fn each<S: Storage>(
        &self,
        sink: &mut Sink<'_, S>,
        mut with: impl FnMut(&mut Sink<'_, S>, Put<'v>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Feed::One(put) => with(sink, *put),
            _ => self.each_of_many(sink, &mut with),
        }
    }

    fn each_of_many<S: Storage>(
        &self,
        sink: &mut Sink<'_, S>,
        with: &mut ForValue<'_, 'v, S>,
    ) -> Result<()> {
        match self {
            Feed::One(put) => with(sink, *put),
            Feed::Members(feed, table, index) => feed.each_of_many(sink, &mut |sink, put| {
                let member = put.column_member(sink.bytes(), *table, *index)?;
                with(sink, member)
            }),
            Feed::Elements(feed, fixed) => feed.each_of_many(sink, &mut |sink, put| {
                if !put.is(TAG_ARRAY) {
                    return (0..fixed.unwrap_or(0)).try_for_each(|_| with(sink, Put::Missing));
                }
                for index in 0..put.length(sink.bytes())? {
                    let element = put.element(sink.bytes(), index)?;
                    with(sink, element)?;
                }
                Ok(())
            }),
        }
    }

    /// The numbers for a tensor's column, if they are given as they are stored, because they are
    /// those of one other tensor of the same type.
    pub(super) fn numbers(&self, column: Elements) -> Option<&'v [u8]> {
        if !column.tensor {
            return None;
        }
        let (mut feed, mut dimensions) = (self, 0);
        while let Feed::Elements(arrays, _) = feed {
            (feed, dimensions) = (arrays, dimensions + 1);
        }
        match feed {
            Feed::One(Put::Value(new)) => new.tensor()?.numbers(column.column, dimensions),
            _ => None,
        }
    }

    pub(super) fn count<S: Storage>(&self, sink: &mut Sink<'_, S>) -> Result<u32> {
        let mut count = 0;
        self.each(sink, |_, _| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }
}
