//! Makes rows of tables objects by themselves, and elements of lists arrays by themselves (EDITING
//! 9, 10). Their values move from columns to a record, a map or an array.

use super::feed::Put;
use super::handles::Event;
use super::literal::{array, part, tensor};
use super::parts::{add_entry, new_map};
use super::rules::Layout;
use super::sink::Sink;
use crate::block::column::{Elements, row_of};
use crate::block::column_type::ColumnType;
use crate::block::record::{Raw, Record};
use crate::block::shape;
use crate::block::table::Table;
use crate::block::tensor::Form;
use crate::block::walk::{Cursor, Node};
use crate::error::Result;
use crate::format::bytes::{load_u64, round_up};
use crate::format::cell::{Needle, span_at, span_bytes};
use crate::format::layout::*;
use crate::store::storage::Storage;
use crate::view::{Checked, Object};

/// Stores a value in a slot of its own: its tag and cell.
pub(super) fn store<S: Storage>(sink: &mut Sink<'_, S>, put: &Put<'_>) -> Result<(u8, u64)> {
    match put {
        Put::Value(new) => {
            let value = part(sink, new, 0)?;
            // Before the next value is stored, an old one may be freed with its shape.
            sink.lose_shapes();
            Ok(value)
        }
        Put::Here(raw) => materialize(sink, *raw),
        Put::Missing => Ok((TAG_HOLE, 0)),
    }
}

/// Makes a row or an element of a list a record, map or array by itself: its parts move there. A
/// text in a run is copied. Other values stay as they are, as all do in the run that counts.
pub(super) fn materialize<S: Storage>(sink: &mut Sink<'_, S>, raw: Raw) -> Result<(u8, u64)> {
    if raw.is_lent() {
        return copy_lent(sink, raw);
    }
    // Rows of a document that was not validated stay where they are.
    let row = raw.tag > TAG_SPAN_LAST && row_of(raw.cell).is_some();
    if !row || !sink.editor().space.trusted {
        return Ok((raw.tag, raw.cell));
    }
    let home = match Node::of(sink.bytes(), raw)? {
        Node::Row(table, row)
            if !shape::is_wide(table.columns)
                && table.extra(sink.bytes(), row)? == 0
                && table.order(sink.bytes(), row)?.is_empty() =>
        {
            materialize_record(sink, table, row)?
        }
        Node::Row(table, row) => materialize_map(sink, raw, table, row)?,
        Node::Array(elements) => materialize_array(sink, elements)?,
        _ => return Ok((raw.tag, raw.cell)),
    };
    let Some((editor, _)) = sink.writing() else { return Ok((raw.tag, raw.cell)) };
    let from = (raw.cell as u32, row_of(raw.cell).unwrap_or(0));
    editor.note(Event::Moved { from, to: (home, 0) });
    Ok((raw.tag, home as u64))
}

/// Copies a text out of a run.
fn copy_lent<S: Storage>(sink: &mut Sink<'_, S>, raw: Raw) -> Result<(u8, u64)> {
    let text = span_bytes(sink.bytes(), raw.cell, 0)?;
    if text.len() <= MAX_INLINE {
        return Ok((raw.tag, Needle::new(text).cell));
    }
    let length = text.len() as u32;
    let to = sink.carve(round_up(length.into()));
    // Where the text is now, it can be compared with others.
    let Some((editor, _)) = sink.writing() else { return Ok((raw.tag, raw.cell)) };
    editor.space.copy_within(raw.cell as u32 as u64, to.into(), length.into());
    Ok((raw.tag, span_at(to, length, true)))
}

fn materialize_record<S: Storage>(sink: &mut Sink<'_, S>, table: Table, row: u32) -> Result<u32> {
    let capacity = table.columns;
    let home = sink.carve(record_size(capacity) as u64);
    let record = Record::new(home, capacity, 0, 0, 0);
    let (mut used, mut live) = (0, 0);
    for index in 0..capacity {
        let raw = table.field(sink.bytes(), row, index)?;
        if raw.tag == TAG_HOLE {
            continue;
        }
        let value = materialize(sink, raw)?;
        sink.write(|editor, _| record.put(&mut editor.space, index, value));
        (used, live) = (index + 1, live + 1);
    }
    sink.write(|editor, _| {
        let shape = if used == 0 { 0 } else { table.shape };
        if used > 0 {
            shape::adopt(&mut editor.space, shape);
        }
        Record::new(home, capacity, used, live, shape).write_header(&mut editor.space);
    });
    Ok(home)
}

fn materialize_map<S: Storage>(
    sink: &mut Sink<'_, S>,
    raw: Raw,
    table: Table,
    row: u32,
) -> Result<u32> {
    let count = Object::of(Checked, sink.bytes(), raw.cell)?.len() as u32;
    let map = new_map(sink, count, count);
    let mut cursor = Cursor::new(sink.bytes(), raw)?;
    while let Some((index, child)) = cursor.next(sink.bytes())? {
        let key_at = cursor.key_at(sink.bytes(), index)?.unwrap_or_default();
        let key = load_u64(sink.bytes(), key_at)?;
        let value = materialize(sink, child)?;
        add_entry(sink, map, key, value);
    }
    if table.extra(sink.bytes(), row)? != 0 {
        sink.try_write(|editor, _| editor.free_extra_shell(table, row))?;
    }
    Ok(map)
}

fn materialize_array<S: Storage>(sink: &mut Sink<'_, S>, elements: Elements) -> Result<u32> {
    if let Some((form, from)) = Form::of(sink.bytes(), elements)? {
        let home = tensor(sink, &form, 0)?;
        sink.write(|editor, _| editor.space.copy_within(from, home.numbers, form.size()));
        return Ok(home.at);
    }
    let count = elements.count;
    let array = array(sink, Layout::alone(elements), count, count);
    for index in 0..count {
        let raw = elements.element(sink.bytes(), index)?;
        let value = match array.column {
            ColumnType::Uuid => Put::Here(raw).store_uuid(sink, array, index)?,
            _ => materialize(sink, raw)?,
        };
        sink.write(|editor, _| array.put(&mut editor.space, index, value));
    }
    Ok(array.offset)
}
