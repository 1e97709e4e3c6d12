//! Members of maps whose values are not in cells: rows above all (FORMAT 7, EDITING 5).
//!
//! A removed entry leaves null among the values. When most are removed, holes are squeezed out of
//! the columns and of the entries.

use super::column::{ColumnEdit, ColumnPlace};
use super::editor::{Container, Editor};
use super::handles::NodeId;
use super::new::New;
use super::object::store_entry;
use super::sink::Sink;
use crate::block::column::Elements;
use crate::block::map::{self, Map};
use crate::block::record::Raw;
use crate::error::Result;
use crate::format::bytes::load_u64;
use crate::format::cell::owned_span;
use crate::store::storage::Storage;

impl<S: Storage> Editor<S> {
    /// Gives a map a tree.
    pub(super) fn order_entries(&mut self, map: Map) -> Result<()> {
        if map.root != 0 {
            return Ok(());
        }
        map.check_keys(self.space.bytes())?;
        let make = |sink: &mut Sink<'_, S>| {
            sink.set_aside(map::tree_limit(map.used));
            sink.write(|editor, extent| map::make_tree(&mut editor.space, &map, extent));
            Ok(())
        };
        self.carry_out(make, NodeId::NONE)
    }

    /// A map's values, as steps know an array.
    fn values_of(&self, map: &Map, depth: u16) -> Result<(NodeId, Elements)> {
        let values = map.values(self.space.bytes())?;
        Ok((self.handles.give(map.values_at(), 0, depth), values))
    }

    /// Sets or adds a member of a map whose values are not in cells.
    pub(super) fn set_in_map(
        &mut self,
        node: NodeId,
        map: Map,
        key: &str,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        let (values, array) = self.values_of(&map, node.depth())?;
        match map::plan_insert(self.space.bytes(), &map, key.as_bytes())? {
            map::InsertPlace::Found(number) => {
                self.measure(&new, node)?;
                let place = ColumnPlace::array(map.values_at(), array);
                self.change(ColumnEdit::Set { place, slot: number, new })
            }
            map::InsertPlace::New(plan) => {
                self.check_trust()?;
                self.check_elements(u64::from(map.live) + 1)?;
                self.measure(&new, node)?;
                let (array, index) = (Container::Array(array), map.used);
                let insert = ColumnEdit::Insert { node: values, array, index, new };
                let add = |sink: &mut Sink<'_, S>| {
                    // The value goes into the column, and then its key into the map.
                    let value = insert.run(sink)?;
                    store_entry(sink, &map, &plan, key, &New::Null)?;
                    Ok(value)
                };
                self.carry_out(add, NodeId::NONE)
            }
        }
    }

    /// Takes an entry out of a map. The caller took its value, or will free it.
    pub(super) fn remove_entry(&mut self, map: &Map, plan: &map::RemovePlan) -> Result<()> {
        let key_cell = load_u64(self.space.bytes(), map.key_at(plan.number)?)?;
        map::remove(&mut self.space, map, plan);
        if let Some((offset, length)) = owned_span(key_cell) {
            self.space.free_span(offset as u64, length as u64);
        }
        Ok(())
    }

    /// Takes the value of an entry, which is not in cells, out of its column, and the entry.
    /// `keeps`: it is attached elsewhere, else it is freed.
    pub(super) fn take_value(
        &mut self,
        map: Map,
        plan: &map::RemovePlan,
        keeps: bool,
    ) -> Result<Raw> {
        self.check_trust()?;
        let array = map.values(self.space.bytes())?;
        let (home, index) = (map.values_at(), plan.number);
        let is_last = index + 1 == map.used;
        let take = |sink: &mut Sink<'_, S>| {
            let taken = match is_last {
                true => ColumnEdit::Take { array, index, keeps }.run(sink)?,
                false => ColumnEdit::Empty { home, array, index, keeps }.run(sink)?,
            };
            sink.try_write(|editor, _| {
                editor.remove_entry(&map, plan)?;
                if is_last {
                    // The holes before it are no entries any more.
                    let used = map.used_without(editor.space.bytes(), index);
                    let array = map.values(editor.space.bytes())?;
                    editor.close(array, used, index.saturating_sub(used))?;
                }
                let map = Map::load(editor.space.bytes(), map.at)?;
                if map.squeezes() {
                    editor.close_holes(array.offset, &map, 1)?;
                    map::squeeze(&mut editor.space, &map);
                }
                Ok(())
            })?;
            Ok(taken)
        };
        let (tag, cell) = self.carry_out(take, NodeId::NONE)?;
        Ok(Raw::unplaced(tag, cell))
    }

    /// Makes room for more members of a map.
    pub(super) fn reserve_entries(&mut self, map: Map, additional: u32) -> Result<()> {
        self.check_elements(u64::from(map.live) + u64::from(additional))?;
        let growth = map::plan_reserve(self.space.bytes(), &map, additional)?;
        let values = match map.cells {
            Some(_) => None,
            None => {
                self.check_trust()?;
                let (node, array) = self.values_of(&map, 0)?;
                Some(ColumnEdit::Reserve { node, array: Container::Array(array), more: additional })
            }
        };
        let reserve = |sink: &mut Sink<'_, S>| {
            if let Some(values) = &values {
                values.run(sink)?;
            }
            sink.set_aside(growth.fresh);
            sink.extend(growth.tail);
            sink.write(|editor, extent| map::reserve(&mut editor.space, &map, &growth, extent));
            Ok(())
        };
        self.carry_out(reserve, NodeId::NONE)
    }
}
