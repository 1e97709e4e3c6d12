//! Attaching values again that were taken out of their places.

use super::editor::Editor;
use super::handles::{Event, NodeId};
use super::new::Detached;
use crate::error::{Error, ErrorKind, Result};
use crate::format::layout::*;
use crate::store::storage::Storage;
use core::sync::atomic::Ordering;

impl<S: Storage> Editor<S> {
    /// Checks that a detached value can be attached to the container `under`
    /// ([`NodeId::NONE`]: the root). Returns how many containers it nests.
    pub(super) fn height_of(&self, detached: &Detached, under: NodeId) -> Result<u16> {
        let Detached { raw, generation, depth, .. } = *detached;
        let spent = detached.spent.load(Ordering::Relaxed);
        if spent || generation != self.handles.generation {
            return Err(Error::new(ErrorKind::StaleHandle, raw.position.into()));
        }
        if raw.tag <= TAG_SPAN_LAST {
            return Ok(0);
        }
        let height = (self.table_edits()?.height)(self, raw, under.home())?;
        let deeper = under.depth().saturating_add(1) > depth;
        let reaches = if deeper { under.depth().saturating_add(height) } else { 0 };
        detached.reaches.store(reaches, Ordering::Relaxed);
        Ok(height)
    }

    /// Attaches a detached value to a new place.
    pub(super) fn rehang(&mut self, detached: &Detached) {
        detached.spent.store(true, Ordering::Relaxed);
        self.attached(detached);
        match detached.reaches.load(Ordering::Relaxed) {
            0 => {}
            depth => self.note(Event::Deeper(depth)),
        }
    }

    /// Counts a detached value that is attached again, or freed.
    pub(super) fn attached(&mut self, detached: &Detached) {
        let counted = detached.raw.tag > TAG_IMMEDIATE_LAST;
        self.handles.detached = self.handles.detached.saturating_sub(u32::from(counted));
    }
}
