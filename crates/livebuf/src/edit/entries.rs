//! Members of maps whose values are not in cells: rows above all (FORMAT 7, EDITING 5).
//!
//! A removed entry leaves null among the values. When most are removed, holes are squeezed out of
//! the columns and of the entries.

use super::column::{ColumnEdit, ColumnPlace};
use super::editor::{Container, Editor};
use super::feed::Put;
use super::handles::NodeId;
use super::new::New;
use super::object::store_entry;
use super::sink::Sink;
use crate::block::map::{self, Map};
use crate::block::record::Raw;
use crate::error::Result;
use crate::format::bytes::load_u64;
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

    /// Sets or adds a member of a map whose values are not in cells.
    pub(super) fn set_in_map(
        &mut self,
        node: NodeId,
        map: Map,
        key: &str,
        new: New<'_>,
    ) -> Result<(u8, u64)> {
        let array = map.values(self.space.bytes())?;
        match map::plan_insert(self.space.bytes(), &map, key.as_bytes())? {
            map::InsertPlace::Found(number) => {
                self.measure(&new, node)?;
                let place = ColumnPlace::array(array);
                self.change(ColumnEdit::Set { place, slot: number, new })
            }
            map::InsertPlace::New(plan) => {
                self.check_trust()?;
                self.check_elements(u64::from(map.live) + 1)?;
                self.measure(&new, node)?;
                let (array, index) = (Container::Array(array), map.used);
                let insert = ColumnEdit::Insert { array, index, new };
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
        self.free_owned(key_cell);
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
        let index = plan.number;
        let is_last = index + 1 == map.used;
        let value = match is_last {
            true => ColumnEdit::Take { array, index, keeps },
            false => {
                let (place, put) = (ColumnPlace::array(array), Put::Value(New::Null));
                ColumnEdit::Empty { place, slot: index, put, keeps }
            }
        };
        let take = |sink: &mut Sink<'_, S>| {
            let taken = value.run(sink)?;
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
                let array = Container::Array(map.values(self.space.bytes())?);
                Some(ColumnEdit::Reserve { array, more: additional })
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
