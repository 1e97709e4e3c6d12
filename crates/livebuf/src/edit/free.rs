//! Freeing values: what they hold is free, and their handles are stale.

use super::editor::Editor;
use crate::block::column::{Elements, row_of};
use crate::block::column_type::ColumnType;
use crate::block::list::List;
use crate::block::map::{self, Map};
use crate::block::record::{Raw, Record};
use crate::block::shape;
use crate::block::table::Table;
use crate::block::walk::{Allowance, CHUNK, Cursor, Node};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::load_u64;
use crate::format::cell::owned_span;
use crate::format::layout::*;
use crate::store::storage::Storage;

/// A container that is being freed, and the object with its further fields.
#[derive(Clone, Copy)]
struct Releasing {
    raw: Raw,
    cursor: Cursor,
    /// Its home, 0 for none.
    extra: u32,
    /// It is a column below an array's, which frees it.
    is_column: bool,
}

impl<S: Storage> Editor<S> {
    /// Frees all that a value holds; its handles are stale then. Whatever a damaged document
    /// makes unreadable stays garbage, and so does everything in one that was not validated.
    pub(super) fn release(&mut self, raw: Raw) {
        if raw.tag <= TAG_IMMEDIATE_LAST {
            return;
        }
        if raw.tag <= TAG_SPAN_LAST {
            return self.release_span(raw);
        }
        let budget = self.space.limits().budget;
        let mut allowance = match self.space.trusted {
            true => None,
            false => Some(Allowance::new(self.space.bytes(), budget)),
        };
        let released = self.freeing(|editor| editor.release_node(raw, false, 0, &mut allowance));
        if released.is_err() {
            // Values alias without end: nobody can tell whose handles are stale, so all are.
            self.handles.reset();
        }
    }

    fn release_span(&mut self, raw: Raw) {
        if let Some((offset, length)) = owned_span(raw.cell) {
            self.handles.freed::<S>(offset as u64, length as u64);
            self.space.free_span(offset as u64, length as u64);
        }
    }

    /// Frees a container and all it holds, each after its children; `above` are around it.
    fn release_node(
        &mut self,
        raw: Raw,
        is_column: bool,
        above: u16,
        allowance: &mut Option<Allowance>,
    ) -> Result<()> {
        const NONE: Releasing =
            Releasing { raw: Raw::NULL, cursor: Cursor::NONE, extra: 0, is_column: false };
        let Some(releasing) = self.begin_release(raw, is_column) else { return Ok(()) };
        let mut stack = [NONE; CHUNK];
        stack[0] = releasing;
        let mut depth = 1;
        while depth > 0 {
            if let Some(allowance) = allowance {
                allowance.value()?;
            }
            let top = &mut stack[depth - 1];
            match top.cursor.next(self.space.bytes()) {
                Ok(Some((_, raw))) if raw.tag > TAG_SPAN_LAST => {
                    let is_column = top.cursor.is_column(raw);
                    if depth == CHUNK {
                        let above = above + CHUNK as u16;
                        // Damage may hold itself.
                        if above > MAX_NESTING {
                            let limit = MAX_NESTING as u64;
                            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit));
                        }
                        self.release_node(raw, is_column, above, allowance)?;
                    } else if let Some(releasing) = self.begin_release(raw, is_column) {
                        stack[depth] = releasing;
                        depth += 1;
                    }
                }
                Ok(Some((_, raw))) if raw.tag > TAG_IMMEDIATE_LAST => self.release_span(raw),
                Ok(Some(_)) => {}
                _ => {
                    let Releasing { raw, cursor, extra, is_column } = *top;
                    if !is_column || !self.space.trusted {
                        self.release_block(raw, cursor.node);
                    }
                    let extra = (extra != 0).then(|| self.begin_release(Raw::object(extra), false));
                    match extra.flatten() {
                        Some(extra) => stack[depth - 1] = extra,
                        None => depth -= 1,
                    }
                }
            }
        }
        Ok(())
    }

    fn begin_release(&self, raw: Raw, is_column: bool) -> Option<Releasing> {
        let mut cursor = Cursor::columns(self.space.bytes(), raw).ok()?;
        let extra = cursor.take_extra();
        Some(Releasing { raw, cursor, extra, is_column })
    }

    /// Frees a container whose children are freed. A row is freed with its table.
    pub(super) fn release_block(&mut self, raw: Raw, node: Node) {
        if !self.space.trusted {
            // Nothing is freed, and columns may be in circles: just its handles are stale, and
            // those of its rows or of arrays in its list.
            if let Node::Array(elements) = node
                && elements.column.is_nested()
            {
                self.handles.freed::<S>(elements.data.into(), 8);
            }
            return self.handles.freed::<S>(raw.cell & 0xFFFF_FFFF, 8);
        }
        if row_of(raw.cell).is_some() {
            return;
        }
        let (offset, size) = match node {
            Node::Record(record) => {
                shape::leave(&mut self.space, record.shape());
                (record.offset, record.size())
            }
            Node::Map(offset) => (offset, self.free_map(offset)),
            Node::Array(elements) => {
                self.free_column(elements);
                (elements.offset, ARRAY_SIZE as u64)
            }
            Node::Row(..) => return,
        };
        self.handles.freed::<S>(offset as u64, size);
        self.space.free(offset as u64, size);
        let home = raw.cell as u32;
        if offset != home {
            self.handles.freed::<S>(home as u64, 8);
            self.space.free(home as u64, 8);
        }
    }

    /// Frees a column's data and all that belongs to it, but not the values in its slots.
    pub(super) fn free_column(&mut self, column: Elements) {
        let bytes = self.space.bytes();
        match column.column {
            ColumnType::Struct => {
                let Ok(table) = Table::load(bytes, column.data) else { return };
                let extras = table.extras(bytes).ok().flatten();
                self.free_bits(column);
                for index in 0..table.headers() {
                    if let Ok(below) = table.column(self.space.bytes(), index) {
                        self.free_column(below);
                    }
                }
                if let Some(extras) = extras {
                    self.free_column(extras);
                    self.space.free(extras.offset as u64, ARRAY_SIZE as u64);
                }
                shape::leave(&mut self.space, table.shape);
                self.handles.freed::<S>(table.offset as u64, table.size());
                self.space.free(table.offset as u64, table.size());
            }
            kind if kind.is_list() => {
                let Ok(list) = List::load(bytes, column.data) else { return };
                self.free_bits(column);
                if let Ok(child) = list.child(self.space.bytes()) {
                    self.free_column(child);
                }
                if list.length.is_none()
                    && let Ok(offsets) = list.offsets(self.space.bytes())
                {
                    self.free_column(offsets);
                }
                self.handles.freed::<S>(list.offset as u64, list.size());
                self.space.free(list.offset as u64, list.size());
            }
            _ => {
                self.free_entries(column);
                self.handles.freed::<S>(column.data as u64, column.data_size());
                self.space.free(column.data as u64, column.data_size());
            }
        }
    }

    /// Frees the cells of a dictionary's texts. The texts stay: other cells may refer to them.
    pub(super) fn free_entries(&mut self, column: Elements) {
        if let Ok(Some(entries)) = column.entries(self.space.bytes()) {
            self.space.free(entries.data as u64, entries.data_size());
        }
    }

    /// Frees the bitmaps of a struct or list.
    pub(super) fn free_bits(&mut self, column: Elements) {
        let size = gaps_size(column.gaps, column.capacity as u64);
        match column.bits_at(self.space.bytes()) {
            Ok(bits) if size > 0 => self.space.free(bits, size),
            _ => {}
        }
    }

    /// Frees all that belongs to a map but its header and its members' values. Returns the
    /// header's size.
    fn free_map(&mut self, offset: u32) -> u64 {
        if let Ok(map) = Map::load(self.space.bytes(), offset as u64) {
            self.release_keys(&map);
            self.free_map_body(&map);
        }
        MAP_SIZE as u64
    }

    /// Frees all that belongs to a map but its header, its keys and its members' values.
    pub(super) fn free_map_body(&mut self, map: &Map) {
        if self.space.trusted {
            map::free_body(&mut self.space, map);
            if let Ok(values) = map.values(self.space.bytes()) {
                self.free_column(values);
            }
        }
    }

    fn release_keys(&mut self, map: &Map) {
        for index in 0..map.used {
            if let Ok(cell) = load_u64(self.space.bytes(), map.keys.at(index)) {
                self.free_owned(cell);
            }
        }
    }

    /// Frees the bytes that a key's or a text's cell owns.
    pub(super) fn free_owned(&mut self, cell: u64) {
        if let Some((offset, length)) = owned_span(cell) {
            self.space.free_span(offset as u64, length as u64);
        }
    }

    /// Frees what a record's fields hold, and a shape that only it uses.
    pub(super) fn release_fields(&mut self, record: Record) {
        self.release_each(0..record.used(), |bytes, index| record.field(bytes, index));
        shape::leave(&mut self.space, record.shape());
    }

    /// Frees what a map's entries hold, their keys included.
    pub(super) fn release_entries(&mut self, map: &Map) {
        self.release_each(0..map.used, |bytes, index| map.value(bytes, index));
        if self.space.trusted {
            self.release_keys(map);
        }
    }

    /// Frees what an array's elements hold from `first` on.
    pub(super) fn release_elements(&mut self, elements: Elements, first: u32) {
        if elements.column.holds_references() {
            let element = |bytes: &[u8], index| elements.element(bytes, index);
            self.release_each(first..elements.count, element);
        }
    }

    /// Frees many values as one.
    fn release_each(
        &mut self,
        places: core::ops::Range<u32>,
        value: impl Fn(&[u8], u32) -> Result<Raw>,
    ) {
        self.freeing(|editor| {
            for place in places {
                if let Ok(raw) = value(editor.space.bytes(), place) {
                    editor.release(raw);
                }
            }
        });
    }

    /// Frees values: only here are the handles of the containers among them noted as stale, as few
    /// ranges. Elsewhere blocks are freed whose containers are in another place by then.
    pub(super) fn freeing<R>(&mut self, free: impl FnOnce(&mut Self) -> R) -> R {
        let first = self.handles.begin_freeing();
        let freed = free(self);
        if first {
            self.handles.end_freeing::<S>();
        }
        freed
    }
}
