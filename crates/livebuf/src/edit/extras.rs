//! The extras of a table: its rows that have further fields, and the homes of the objects with
//! these fields (FORMAT 6.3).

use super::editor::Editor;
use crate::block::map;
use crate::block::record::Raw;
use crate::block::table::{Table, extra, extra_entry};
use crate::block::walk::Node;
use crate::error::Result;
use crate::format::layout::*;
use crate::store::storage::Storage;

impl<S: Storage> Editor<S> {
    /// Adds an entry for a row that has none; room was made.
    pub(super) fn insert_extra(&mut self, table: Table, row: u32, home: u32) -> Result<()> {
        let table = Table::load(self.space.bytes(), table.offset)?;
        let (at, _) = table.find_extra(self.space.bytes(), row)?;
        let Some(extras) = table.extras(self.space.bytes())? else { return Ok(()) };
        extras.move_slots(&mut self.space, at, at + 1, extras.count - at);
        extras.put(&mut self.space, at, extra_entry(row, home));
        extras.set_count(&mut self.space, extras.count + 1);
        Ok(())
    }

    /// Changes the entries from row `at` on. Those of `removed` rows are dropped; the rows behind
    /// these get numbers that are lower by `removed` and higher by `added`.
    pub(super) fn shift_extras(
        &mut self,
        table: Table,
        at: u32,
        removed: u32,
        added: u32,
    ) -> Result<()> {
        let Some(extras) = table.extras(self.space.bytes())? else { return Ok(()) };
        let (from, _) = table.find_extra(self.space.bytes(), at)?;
        let mut to = from;
        for index in from..extras.count {
            let (row, home) = extra(extras.slot(self.space.bytes(), index)?);
            // Rows are in order, except where the undo log is full: then writes before were
            // dropped, and this edit is refused at its end.
            if row.wrapping_sub(at) < removed {
                continue;
            }
            let row = row.wrapping_sub(removed).wrapping_add(added);
            extras.put(&mut self.space, to, extra_entry(row, home));
            to += 1;
        }
        if to < extras.count {
            extras.clear(&mut self.space, to..extras.count);
            extras.set_count(&mut self.space, to);
        }
        Ok(())
    }

    /// Takes a row's entry out of the extras; its object is freed where that is due.
    pub(super) fn drop_extra(&mut self, table: Table, row: u32, held: bool) -> Result<()> {
        let home = table.extra(self.space.bytes(), row)?;
        if home != 0 {
            self.shift_extras_out(table, row)?;
            if held {
                self.release(Raw::object(home));
            }
        }
        Ok(())
    }

    /// Takes a row's entry out of the extras.
    pub(super) fn shift_extras_out(&mut self, table: Table, row: u32) -> Result<()> {
        let Some(extras) = table.extras(self.space.bytes())? else { return Ok(()) };
        let (at, home) = table.find_extra(self.space.bytes(), row)?;
        if home.is_some() {
            extras.move_slots(&mut self.space, at + 1, at, extras.count - at - 1);
            extras.set_count(&mut self.space, extras.count - 1);
        }
        Ok(())
    }

    /// Frees the object with a row's further fields. The fields and their keys are in another
    /// object already, with the row's others.
    pub(super) fn free_extra_shell(&mut self, table: Table, row: u32) -> Result<()> {
        let home = table.extra(self.space.bytes(), row)?;
        let shell = Raw::object(home);
        match Node::of(self.space.bytes(), shell)? {
            Node::Map(offset) => {
                self.free_map_body(&map::Map::load(self.space.bytes(), offset as u64)?);
                self.space.free(offset as u64, MAP_SIZE as u64);
                if offset != home {
                    self.space.free(home as u64, 8);
                }
            }
            node => self.release_block(shell, node),
        }
        self.shift_extras_out(table, row)
    }
}
