//! New values for columns. A value is described once, and each column asks it for its part. A
//! struct's column takes a member of each object, a list's the elements of each array.

use super::new::New;
use super::sink::Sink;
use crate::block::column::{Elements, Gap};
use crate::block::record::Raw;
use crate::block::shape::Shape;
use crate::block::table::Table;
use crate::block::tensor::Form;
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::{Needle, unplaced_span};
use crate::format::extended::Extended;
use crate::format::layout::*;
use crate::store::storage::Storage;
use crate::view::{Checked, Value};

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

    /// The value as it lies in a document: in another one, or in this one, whose bytes are given.
    #[inline]
    fn stored<'b>(&self, bytes: &'b [u8]) -> Option<Value<'b, Checked>>
    where
        'v: 'b,
    {
        match *self {
            Put::Value(New::Copy(value)) => Some(value),
            Put::Here(raw) => Some(Value::new(Checked, bytes, raw)),
            _ => None,
        }
    }

    /// A value below this one, which lies in the same document.
    #[inline]
    fn below(&self, raw: Raw) -> Put<'v> {
        match self {
            Put::Value(New::Copy(value)) => {
                Put::Value(New::Copy(Value::new(Checked, value.document(), raw)))
            }
            _ => Put::Here(raw),
        }
    }

    /// The bytes of a text or UUID, none for other values. A short text of a document is copied to
    /// `short`, since its cell may be nowhere.
    #[inline]
    pub(super) fn content<'b>(
        &'b self,
        bytes: &'b [u8],
        short: &'b mut [u8; 8],
    ) -> Result<&'b [u8]> {
        match self {
            Put::Value(New::Str(text)) => return Ok(text.as_bytes()),
            Put::Value(New::Extended(Extended::Uuid(id))) => return Ok(id.as_bytes()),
            _ => {}
        }
        let Some(value) = self.stored(bytes) else { return Ok(&[]) };
        let raw = value.raw();
        match raw.tag {
            TAG_STRING | TAG_UUID => unplaced_span(value.document(), raw.cell, short),
            _ => Ok(&[]),
        }
    }

    /// Stores a UUID in its slot, and nothing for another value. Returns the tag.
    pub(super) fn store_uuid<S: Storage>(
        &self,
        sink: &mut Sink<'_, S>,
        column: Elements,
        slot: u32,
    ) -> Result<(u8, u64)> {
        let (tag, _) = self.probe();
        if tag == TAG_UUID {
            // If the document was not validated, the cell may be anything.
            if !sink.writes()
                && let Some(value) = self.stored(sink.bytes())
            {
                value.extended()?;
            }
            let at = column.values_at() + slot as u64 * UUID_SIZE as u64;
            sink.try_write(|editor, _| editor.write_content(self, at, UUID_SIZE as u64))?;
        }
        Ok((tag, 0))
    }

    /// The member for a column of a table; missing where this is no object.
    pub(super) fn column_member(&self, bytes: &[u8], table: Table, index: u32) -> Result<Put<'v>> {
        // A row gets no order of its own.
        if !self.is(TAG_OBJECT) || index >= table.columns {
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
            _ => match self.stored(bytes) {
                Some(value) => match value.object()? {
                    Some(object) => object.find(needle)?.map(|value| self.below(value.raw())),
                    None => None,
                },
                None => None,
            },
        };
        Ok(found.unwrap_or(Put::Missing))
    }

    /// Element `index` of an array.
    fn element(&self, bytes: &[u8], index: u32) -> Result<Put<'v>> {
        let found = match self {
            Put::Value(New::Items(items)) => items.get(index as usize).map(|new| Put::new(*new)),
            Put::Value(New::Tensor(tensor)) => Some(Put::Value(tensor.element(index)?.into())),
            _ => match self.stored(bytes) {
                Some(value) => match value.array()? {
                    Some(array) => array.get(index as usize)?.map(|value| self.below(value.raw())),
                    None => None,
                },
                None => None,
            },
        };
        found.ok_or(Error::new(ErrorKind::IndexOutOfRange, 0))
    }

    /// The count of an array's elements, or of a text's bytes. 0 for other values.
    pub(super) fn length(&self, bytes: &[u8]) -> Result<u32> {
        if self.is(TAG_STRING) {
            return Ok(self.content(bytes, &mut [0; 8])?.len() as u32);
        }
        match self {
            Put::Value(New::Items(items)) => Ok(items.len() as u32),
            Put::Value(New::Tensor(tensor)) => Ok(tensor.length()),
            _ => match self.stored(bytes) {
                Some(value) => Ok(value.array()?.map_or(0, |array| array.len() as u32)),
                None => Ok(0),
            },
        }
    }

    /// The form of a tensor.
    pub(super) fn form(&self, bytes: &[u8]) -> Result<Option<Form>> {
        if let Put::Value(New::Tensor(tensor)) = self {
            return tensor.form().map(Some);
        }
        let Some(value) = self.stored(bytes) else { return Ok(None) };
        let Some(array) = value.array()? else { return Ok(None) };
        let (_, bytes, elements) = array.parts();
        Ok(Form::of(bytes, elements)?.map(|(form, _)| form))
    }

    /// Calls `with` on each member of an object.
    fn each_member<'b>(
        &self,
        bytes: &'b [u8],
        mut with: impl FnMut(&'b str, Put<'v>) -> Result<()>,
    ) -> Result<()>
    where
        'v: 'b,
    {
        if let Put::Value(New::Fields(fields)) = self {
            return fields.iter().try_for_each(|(key, new)| with(key, Put::new(*new)));
        }
        let Some(value) = self.stored(bytes) else { return Ok(()) };
        let Some(object) = value.object()? else { return Ok(()) };
        object.iter().try_for_each(|member| {
            let (key, value) = member?;
            with(key, self.below(value.raw()))
        })
    }

    /// Hands `with` the members of an object from elsewhere whose keys are not a table's, and
    /// the sink. An object of this document that is stored in a row has none.
    pub(super) fn each_further<S: Storage>(
        &self,
        sink: &mut Sink<'_, S>,
        table: Table,
        mut with: impl FnMut(&mut Sink<'_, S>, &'v str, Put<'v>) -> Result<()>,
    ) -> Result<()> {
        self.each_member(&[], |key, put| {
            let bytes = sink.bytes();
            let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
            match table.has(bytes, shape, key.as_bytes())? {
                true => Ok(()),
                false => with(sink, key, put),
            }
        })
    }

    /// How many members of an object are not a table's, and whether a record can hold them.
    pub(super) fn count_further(&self, bytes: &[u8], table: Table) -> Result<(u32, bool)> {
        let shape = Shape::of_table(bytes, table.shape as u64, table.columns)?;
        let (mut count, mut record) = (0, true);
        self.each_member(bytes, |key, _| {
            if !table.has(bytes, shape, key.as_bytes())? {
                count += 1;
                record &= key.len() <= MAX_SHAPE_KEY && count as usize <= MAX_FIELDS;
            }
            Ok(())
        })?;
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
}
