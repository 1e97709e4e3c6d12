//! The state of documents, and putting the bytes of a delta into one.

use super::editor::Editor;
use crate::error::Result;
use crate::format::bytes::{load_u8, load_u32, slice};
use crate::format::layout::*;
use crate::format::state::State;
use crate::store::storage::Storage;
use crate::view::{Doc, Mode};

/// Where a document has its state, whether it holds or not.
pub(crate) fn state_place(bytes: &[u8]) -> Option<u64> {
    let aux = load_u32(bytes, HEADER_AUX as u64).ok()? as u64;
    if aux == 0 || load_u8(bytes, aux).ok()? != KIND_AUX {
        return None;
    }
    let place = load_u32(bytes, aux + AUX_STATE as u64).ok()? as u64;
    let is_block = place >= HEADER_SIZE as u64 && place.is_multiple_of(8);
    (is_block && slice(bytes, place, STATE_SIZE as u64).is_ok()).then_some(place)
}

impl<M: Mode> Doc<'_, M> {
    /// The document's state; `None` where it has none, or where an edit ended it. Constant time.
    pub fn state(&self) -> Option<State> {
        let bytes = self.as_bytes();
        let flags = slice(bytes, HEADER_READ_ONLY_FLAGS as u64, 2).ok()?;
        if flags != [0, FLAG_STATE] {
            return None;
        }
        let place = state_place(bytes)?;
        let state = slice(bytes, place, STATE_SIZE as u64).ok()?;
        Some(State::from_bytes(*state.first_chunk()?))
    }
}

impl<S: Storage> Editor<S> {
    /// The document's state; `None` where it has none, or where an edit ended it. Constant time.
    ///
    /// ```
    /// use livebuf::State;
    /// let mut doc = livebuf::json!({"lap": 55});
    /// assert_eq!(doc.state(), None);
    /// let state = State::random();
    /// doc.set_state(state)?;
    /// assert_eq!(doc.state(), Some(state));
    /// assert_eq!(livebuf::DocBuf::open(doc.as_bytes())?.state(), Some(state));
    ///
    /// doc.set_pointer("/lap", 56)?;                        // an edit that no delta tells
    /// assert_eq!(doc.state(), None);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn state(&self) -> Option<State> {
        self.doc().state()
    }

    /// Gives the document a state, from which [deltas](crate::Delta) can lead on. The next edit
    /// ends it, unless a recorder sees the edit and a delta is made of it.
    ///
    /// The first state takes 16 bytes of the document, and at most 32 more.
    ///
    /// # Errors
    /// What an edit reports where it finds no room.
    pub fn set_state(&mut self, state: State) -> Result<()> {
        let place = self.place_state()?;
        self.space.put_state(place, &state.to_bytes());
        self.space.editable()
    }

    /// Where the state is, or is to be.
    pub(crate) fn place_state(&mut self) -> Result<u64> {
        self.space.editable()?;
        match state_place(self.space.bytes()) {
            Some(place) => Ok(place),
            None => self.space.place_state(),
        }
    }
}
