//! Parts that many edits store: text, keys, shapes, and maps that are filled entry by entry.

use super::sink::Sink;
use crate::block::map::{self, Map};
use crate::block::shape::{self, Shape};
use crate::error::Result;
use crate::format::bytes::{round_up, text};
use crate::format::cell::{Needle, span_at, span_offset, unplaced_span};
use crate::format::layout::*;
use crate::store::space::Extent;
use crate::store::storage::Storage;
use crate::store::target::Target;

/// Stores text that does not fit a cell. Returns its cell. A shape's keys are never owned.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(super) fn span<S: Storage>(sink: &mut Sink<'_, S>, text: &[u8], owned: bool) -> Result<u64> {
    if text.len() <= MAX_INLINE {
        return Ok(Needle::new(text).cell);
    }
    if !sink.writes() {
        sink.editor().check_length(text)?;
    }
    Ok(bytes_span(sink, text, owned))
}

/// Stores bytes that do not fit a cell, of any length. Returns their cell.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
pub(super) fn bytes_span<S: Storage>(sink: &mut Sink<'_, S>, text: &[u8], owned: bool) -> u64 {
    if let Some((editor, extent)) = sink.writing() {
        return put_text(&mut editor.space, extent, text, owned);
    }
    let offset = sink.carve(round_up(text.len() as u64));
    span_at(offset, text.len() as u32, owned)
}

/// Puts bytes into what was taken for them. Returns their cell.
#[inline]
pub(super) fn put_text(
    target: &mut impl Target,
    extent: &mut Extent,
    text: &[u8],
    owned: bool,
) -> u64 {
    let offset = extent.carve(round_up(text.len() as u64));
    target.write(offset as u64, text);
    span_at(offset, text.len() as u32, owned)
}

/// Checks text that was copied where it is now: its source may be memory that others write, and may
/// have changed since the first run checked it.
pub(super) fn check_copied<S: Storage>(sink: &Sink<'_, S>, cell: u64) -> Result<()> {
    if sink.writes() {
        let mut inline = [0; 8];
        text(unplaced_span(sink.bytes(), cell, &mut inline)?, span_offset(cell, 0))?;
    }
    Ok(())
}

/// Stores a shape's key. Returns its cell.
#[inline]
pub(super) fn key<S: Storage>(sink: &mut Sink<'_, S>, needle: &Needle<'_>) -> Result<u64> {
    match needle.cell {
        0 => span(sink, needle.text, false),
        cell => Ok(cell),
    }
}

/// Makes a shape. Its first `count` keys are still to be written.
#[inline]
pub(super) fn new_shape<S: Storage>(sink: &mut Sink<'_, S>, capacity: u32, count: u32) -> Shape {
    let mut made = Shape::new(0, capacity, count, 0);
    sink.set_aside(made.size());
    if let Some((editor, extent)) = sink.writing() {
        made = shape::create(&mut editor.space, capacity, count, extent);
    }
    made
}

/// Makes a map with room for `capacity` entries, into which [`add_entry`] puts at most `count`.
/// Returns its offset.
pub(super) fn new_map<S: Storage>(sink: &mut Sink<'_, S>, capacity: u32, count: u32) -> u32 {
    let mut at = 0;
    let buckets = map::encoded_buckets(count);
    // Whether keys collide, so that a tree is made, shows when they are put in.
    let tree = if buckets > 0 { map::tree_limit(count) } else { 0 };
    sink.set_aside(map::create_size(capacity) + hash_size(buckets) + tree);
    sink.write(|editor, extent| {
        at = map::create(&mut editor.space, extent, capacity, buckets).at as u32;
    });
    at
}

/// Adds an entry to a map that [`new_map`] made. A key that is there already (damaged bytes)
/// is passed over.
pub(super) fn add_entry<S: Storage>(
    sink: &mut Sink<'_, S>,
    map: u32,
    key_cell: u64,
    value: (u8, u64),
) {
    sink.write(|editor, extent| {
        let space = &mut editor.space;
        let (mut inline, bytes) = ([0; 8], space.bytes());
        let key = unplaced_span(bytes, key_cell, &mut inline);
        let place = Map::load(bytes, map as u64)
            .and_then(|map| Ok((map, map::plan_insert(bytes, &map, key?)?)));
        match place {
            Ok((map, map::InsertPlace::New(plan))) => {
                map::insert(space, &map, &plan, key_cell, value, extent);
            }
            Ok(_) => {}
            Err(error) => {
                space.set_broken(error);
            }
        }
    });
}
