//! New values. Each is described once, for the sink that counts its bytes and for the one that
//! writes them.

use super::editor::{Editor, ValueSlot};
use super::feed::Put;
use super::handles::NodeId;
use super::new::New;
use super::parts::{add_entry, bytes_span, key, new_map, new_shape, put_text, span};
use super::rules::Layout;
use super::sink::{Sink, writer};
use crate::block::column::{Elements, Gap};
use crate::block::column_type::{ColumnType, Numbers};
use crate::block::record::{Raw, Record};
use crate::block::shape::{self, Shape};
use crate::block::tensor::Form;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{load_u64, round_up};
use crate::format::cell::{Needle, owned_span, span_at};
use crate::format::extended::Stored;
use crate::format::layout::*;
use crate::format::number::is_json_number;
use crate::store::space::Extent;
use crate::store::storage::Storage;
use crate::store::target::Target;

type Field<'v> = (&'v str, New<'v>);

/// Stores a new value's parts. Returns its tag and cell. In the run that counts, the cell is right
/// only if the type of a column depends on it. `above`: containers around it that are new, too.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(super) fn value<S: Storage>(
    sink: &mut Sink<'_, S>,
    new: &New<'_>,
    above: u16,
) -> Result<(u8, u64)> {
    match simple(sink, new, above)? {
        Some(value) => Ok(value),
        None => rest(sink, new, above),
    }
}

/// The same for a value in another one, or in a column. A detached value is refused there: it can
/// be attached only once.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(super) fn part<S: Storage>(
    sink: &mut Sink<'_, S>,
    new: &New<'_>,
    above: u16,
) -> Result<(u8, u64)> {
    match new {
        New::Detached(_) => Err(Error::new(ErrorKind::Unsupported, 0)),
        new => value(sink, new, above),
    }
}

/// Stores a number, text or an empty record, the most frequent values. `None` for others.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(super) fn simple<S: Storage>(
    sink: &mut Sink<'_, S>,
    new: &New<'_>,
    above: u16,
) -> Result<Option<(u8, u64)>> {
    if let Some(value) = new.immediate() {
        return Ok(Some(value));
    }
    Ok(match *new {
        New::Str(text) => Some((TAG_STRING, span(sink, text.as_bytes(), true)?)),
        New::Object { capacity } => {
            sink.nests(above + 1);
            let home = sink.carve(record_size(capacity as u32) as u64);
            let record = Record::new(home, capacity as u32, 0, 0, 0);
            if let Some((editor, _)) = sink.writing() {
                record.write_header(&mut editor.space);
            }
            Some((TAG_OBJECT, home as u64))
        }
        _ => None,
    })
}

fn rest<S: Storage>(sink: &mut Sink<'_, S>, new: &New<'_>, above: u16) -> Result<(u8, u64)> {
    match *new {
        New::Bytes(bytes) => Ok((TAG_BYTES, span(sink, bytes, true)?)),
        New::NumberText(text) => {
            if !sink.writes() && !is_json_number(text.as_bytes()) {
                return Err(Error::new(ErrorKind::BadNumber, 0));
            }
            Ok((TAG_NUMBER, span(sink, text.as_bytes(), true)?))
        }
        New::Extended(ref value) => match value.stored() {
            Stored::Cell(cell) => Ok((value.tag(), cell)),
            Stored::Span(bytes, length) => {
                Ok((value.tag(), bytes_span(sink, &bytes[..length], true)))
            }
        },
        New::Map { capacity } => {
            sink.editor().check_elements(capacity as u64)?;
            sink.nests(above.saturating_add(1));
            Ok((TAG_OBJECT, new_map(sink, capacity, 0) as u64))
        }
        New::Array { capacity } => {
            sink.editor().check_elements(capacity as u64)?;
            sink.nests(above.saturating_add(1));
            let layout = Layout { column: ColumnType::I64, gaps: GAPS_NONE };
            Ok((TAG_ARRAY, array(sink, layout, 0, capacity).offset as u64))
        }
        New::Fields(given) => fields(sink, given, above.saturating_add(1)),
        New::Items(given) => items(sink, given, above.saturating_add(1)),
        New::Tensor(ref given) => {
            let home = tensor(sink, &given.form()?, above)?;
            sink.write(|editor, _| editor.space.write(home.numbers, given.bytes()));
            Ok((TAG_ARRAY, home.at as u64))
        }
        New::Copy(ref value) => sink.copy(value, above),
        New::Detached(detached) => {
            if !sink.writes() {
                let height = sink.editor().height_of(detached, sink.under())?;
                sink.nests(height);
            }
            sink.write(|editor, _| editor.rehang(detached));
            Ok((detached.raw().tag, detached.raw().cell))
        }
        _ => Ok((TAG_NULL, 0)),
    }
}

/// Makes an array.
pub(super) fn array<S: Storage>(
    sink: &mut Sink<'_, S>,
    layout: Layout,
    count: u32,
    capacity: u32,
) -> Elements {
    let home = sink.carve(ARRAY_SIZE as u64);
    let size = layout.size(capacity);
    let data = if size == 0 { 0 } else { sink.carve(size) };
    let elements = layout.column(home, count, capacity, data);
    sink.write(|editor, _| elements.write_header(&mut editor.space));
    elements
}

/// A tensor that was made, and where its numbers go.
pub(super) struct Home {
    pub(super) at: u32,
    pub(super) numbers: u64,
}

/// Makes a tensor. Its numbers are still to be written. `above`: containers around it that are new,
/// too.
pub(super) fn tensor<S: Storage>(sink: &mut Sink<'_, S>, form: &Form, above: u16) -> Result<Home> {
    sink.editor().check_elements(form.count())?;
    sink.nests(above.saturating_add(form.height()));
    let at = sink.carve(form.array_size());
    let mut numbers = 0;
    sink.write(|editor, _| {
        let space = &mut editor.space;
        numbers = form.array(at, space).into();
    });
    Ok(Home { at, numbers })
}

/// `depth`: containers that are new up to this object, which counts.
#[inline(never)]
fn fields<S: Storage>(
    sink: &mut Sink<'_, S>,
    fields: &[Field<'_>],
    depth: u16,
) -> Result<(u8, u64)> {
    sink.nests(depth);
    if !sink.writes() {
        sink.editor().check_elements(fields.len() as u64)?;
        for (index, (key, _)) in fields.iter().enumerate() {
            if fields[..index].iter().any(|(other, _)| other == key) {
                return Err(Error::new(ErrorKind::DuplicateKey, 0));
            }
        }
    }
    let count = fields.len() as u32;
    if !fits_record(fields) {
        let map = new_map(sink, count, count);
        for (key, new) in fields {
            let key = span(sink, key.as_bytes(), true)?;
            let value = part(sink, new, depth)?;
            add_entry(sink, map, key, value);
        }
        return Ok((TAG_OBJECT, map as u64));
    }
    let home = sink.carve(record_size(count) as u64);
    let shape = shape_of(sink, fields)?;
    let record = Record::new(home, count, count, count, shape);
    if let Some((editor, _)) = sink.writing() {
        record.write_header(&mut editor.space);
    }
    let cells = (home + RECORD_CELLS) as u64;
    for (group, fields) in (0..).step_by(8).zip(fields.chunks(8)) {
        let mut tags = 0;
        for (index, (_, new)) in (group..).zip(fields) {
            let (tag, cell) = part(sink, new, depth)?;
            tags |= (tag as u64) << (8 * (index & 7));
            if let Some((editor, _)) = sink.writing() {
                editor.space.write_u64(cells + cell_at(index), cell);
            }
        }
        if let Some((editor, _)) = sink.writing() {
            editor.space.write_u64(cells + tag_at(group), tags);
        }
    }
    Ok((TAG_OBJECT, home as u64))
}

fn fits_record(fields: &[Field<'_>]) -> bool {
    fields.len() <= MAX_FIELDS && fields.iter().all(|(key, _)| key.len() <= MAX_SHAPE_KEY)
}

/// The shape of a record with these fields: one of the newest, or a new one.
fn shape_of<S: Storage>(sink: &mut Sink<'_, S>, fields: &[Field<'_>]) -> Result<u32> {
    if fields.is_empty() {
        return Ok(0);
    }
    // A shape that may be gone in the run that writes is not counted on. Bytes for one of its
    // own are given back if they are not needed.
    let found = match sink.writes() {
        true => find_shape(sink.bytes(), fields).unwrap_or(None),
        false if sink.shapes_stay() => find_shape(sink.bytes(), fields)?,
        false => None,
    };
    if let Some(shape) = found {
        sink.write(|editor, _| shape::adopt(&mut editor.space, shape.offset as u32));
        return Ok(shape.offset as u32);
    }
    let count = fields.len() as u32;
    let shape = new_shape(sink, count, count);
    let Some((editor, extent)) = sink.writing() else {
        for (text, _) in fields {
            key(sink, &Needle::new(text.as_bytes()))?;
        }
        return Ok(0);
    };
    let space = &mut editor.space;
    for (group, fields) in (0..).step_by(8).zip(fields.chunks(8)) {
        let mut fingerprints = 0;
        for (index, (text, _)) in (group..).zip(fields) {
            let needle = Needle::new(text.as_bytes());
            let cell = match needle.cell {
                0 => put_text(space, extent, needle.text, false),
                cell => cell,
            };
            fingerprints |= (needle.fingerprint as u64) << (8 * (index & 7));
            space.write_u64(shape.key_position(index), cell);
        }
        space.write_u64(shape.offset + (SHAPE_FINGERPRINTS + group) as u64, fingerprints);
    }
    Ok(shape.offset as u32)
}

/// A shape that begins with these keys, among the newest.
#[inline]
fn find_shape(bytes: &[u8], fields: &[Field<'_>]) -> Result<Option<Shape>> {
    shape::among_newest(bytes, false, |shape| {
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

/// `depth`: containers that are new up to this array, which counts.
#[inline(never)]
fn items<S: Storage>(sink: &mut Sink<'_, S>, items: &[New<'_>], depth: u16) -> Result<(u8, u64)> {
    sink.nests(depth);
    sink.editor().check_elements(items.len() as u64)?;
    let count = items.len() as u32;
    let layout = items_layout(sink.editor().is_trusted(), items);
    let elements = array(sink, layout, count, count);
    for (index, new) in (0..).zip(items) {
        let is_uuid = elements.column == ColumnType::Uuid && new.probe().0 == TAG_UUID;
        let value = match is_uuid && !matches!(new, New::Detached(_)) {
            true => Put::new(*new).store_uuid(sink, elements, index)?,
            false => part(sink, new, depth)?,
        };
        sink.write(|editor, _| elements.put(&mut editor.space, index, value));
    }
    Ok((TAG_ARRAY, elements.offset as u64))
}

/// The first element's column where all fit it, a column of numbers for integers and floats, else
/// cells. Null among the others makes gaps, where arrays with gaps are edited: in a document that
/// was validated.
fn items_layout(is_trusted: bool, items: &[New<'_>]) -> Layout {
    let cells = Layout { column: ColumnType::Cells, gaps: GAPS_NONE };
    let Some(first) = items.first() else { return cells };
    let mut layout = Layout { column: ColumnType::for_first(first.probe().0), ..cells };
    let column = layout.column;
    let mut is_gap = |tag| {
        let is_gap = is_trusted && tag == TAG_NULL;
        if is_gap {
            layout.take_gap(Gap::Null);
        }
        is_gap
    };
    let fits = |new: &New<'_>| {
        let (tag, cell) = new.probe();
        column.fit(tag, cell).is_some() || is_gap(tag)
    };
    if items.iter().all(fits) {
        return layout;
    }
    let mut numbers = Numbers::default();
    let is_number = |new: &New<'_>| {
        let (tag, cell) = new.probe();
        numbers.add_number(tag, cell) || is_gap(tag)
    };
    let all = items.iter().all(is_number);
    match numbers.column(8).filter(|_| all) {
        Some(column) => Layout { column, ..layout },
        None => cells,
    }
}

impl<S: Storage> Editor<S> {
    /// Bytes to take for a new value below `under`. Checks all limits.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn measure(&self, new: &New<'_>, under: NodeId) -> Result<u64> {
        // A sizer of its own: if `rest` got the same one, it would have to lie in memory.
        let mut sizer = self.sizer(under);
        match simple(&mut sizer, new, 0)? {
            Some(_) => sizer.sizes().map(|sizes| sizes.fresh),
            None => self.measure_rest(new, under),
        }
    }

    #[inline(never)]
    fn measure_rest(&self, new: &New<'_>, under: NodeId) -> Result<u64> {
        let mut sizer = self.sizer(under);
        rest(&mut sizer, new, 0)?;
        sizer.sizes().map(|sizes| sizes.fresh)
    }

    /// Writes a measured value's parts. Returns its tag and cell.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn build(&mut self, new: &New<'_>, extent: &mut Extent) -> (u8, u64) {
        match simple(&mut writer(self, extent), new, 0) {
            Ok(Some(value)) => value,
            _ => self.build_rest(new, extent),
        }
    }

    #[inline(never)]
    fn build_rest(&mut self, new: &New<'_>, extent: &mut Extent) -> (u8, u64) {
        rest(&mut writer(self, extent), new, 0).unwrap_or_else(|error| {
            // Another document changed since it was measured. The edit is refused at its end.
            self.space.set_broken(error);
            (TAG_NULL, 0)
        })
    }

    /// Stores a new value in bytes of its own. Returns its tag and cell.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn store(&mut self, new: &New<'_>, under: NodeId) -> Result<(u8, u64)> {
        if cfg!(not(feature = "small"))
            && let New::Fields(fields) = *new
            && let Some(home) = self.append_fields(fields, under)
        {
            return Ok((TAG_OBJECT, home.into()));
        }
        let fresh = self.measure(new, under)?;
        self.space.ensure(fresh, 0)?;
        let mut extent = self.space.take(fresh);
        let value = self.build(new, &mut extent);
        self.space.free_rest(extent);
        Ok(value)
    }

    /// Puts a new value where an old one is (a slot that takes any value).
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn replace(
        &mut self,
        tag: u64,
        cell: u64,
        new: &New<'_>,
        under: NodeId,
    ) -> Result<(u8, u64)> {
        let slot = ValueSlot::Tagged { tag, cell };
        let old = self.load(slot)?;
        let text = match *new {
            New::Str(text) => Some((TAG_STRING, text.as_bytes())),
            New::Bytes(bytes) => Some((TAG_BYTES, bytes)),
            _ => None,
        };
        if let Some((new_tag, text)) = text
            && self.replace_span(old, new_tag, text, tag, cell)?
        {
            return Ok((new_tag, 0));
        }
        let (new_tag, new_cell) = self.store(new, under)?;
        if new_tag != old.tag {
            self.space.write_u8(tag, new_tag);
        }
        self.space.write_u64(cell, new_cell);
        if old.tag > TAG_SPAN_LAST {
            self.handles.set_used(under);
        }
        if old.tag > TAG_IMMEDIATE_LAST {
            self.release(old);
        }
        Ok((new_tag, new_cell))
    }

    /// Writes text over text of the same length that its cell owns: the cell stays as it is.
    /// `cell`: its position. False where this is not the case; nothing has changed then.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(super) fn overwrite_text(&mut self, cell: u64, text: &str) -> bool {
        // A short text belongs in the cell.
        let fits = text.len() > MAX_INLINE && text.len() <= self.space.limits().string as usize;
        match load_u64(self.space.bytes(), cell).map(owned_span) {
            Ok(Some((offset, length)))
                if length as usize == text.len() && fits && self.space.trusted =>
            {
                match self.space.plain() {
                    Some(mut plain) => plain.write(offset.into(), text.as_bytes()),
                    None => self.space.write(offset.into(), text.as_bytes()),
                }
                true
            }
            _ => false,
        }
    }

    /// Writes text over an owned span that has the room, or the end of the document
    /// behind it. False where it has not.
    #[inline(never)]
    pub(super) fn replace_span(
        &mut self,
        old: Raw,
        new_tag: u8,
        text: &[u8],
        tag: u64,
        cell: u64,
    ) -> Result<bool> {
        let spanned = old.tag > TAG_IMMEDIATE_LAST && old.tag <= TAG_SPAN_LAST;
        let Some((offset, length)) = owned_span(old.cell).filter(|_| spanned) else {
            return Ok(false);
        };
        let mut sizer = self.sizer(NodeId::NONE);
        span(&mut sizer, text, true)?;
        let new_size = sizer.sizes()?.fresh;
        let offset = offset as u64;
        let (old_end, new_end) = if offset.is_multiple_of(8) {
            (offset + round_up(length as u64), offset + new_size)
        } else {
            (offset + length as u64, offset + text.len() as u64)
        };
        // In a document that is not trusted, something else may lie on the padding.
        if new_size == 0 || !self.space.trusted {
            return Ok(false);
        }
        if new_end > old_end {
            if old_end != self.space.used() as u64 || !offset.is_multiple_of(8) {
                return Ok(false);
            }
            self.space.ensure(0, new_end - old_end)?;
            self.space.extend(new_end - old_end);
        }
        self.space.write(offset, text);
        let text_end = offset + text.len() as u64;
        self.space.zero(text_end, new_end - text_end);
        if new_end < old_end {
            self.space.free_range(new_end, old_end);
        }
        if new_tag != old.tag {
            self.space.write_u8(tag, new_tag);
        }
        let new_cell = span_at(offset as u32, text.len() as u32, true);
        if new_cell != old.cell {
            self.space.write_u64(cell, new_cell);
        }
        Ok(true)
    }
}
