//! Texts of the document that may be shared: equal ones are written once (FORMAT 11.3).

use super::output::Output;
use super::room::{make_room, make_room_in};
use super::stack::TAG_WAITING;
use crate::error::Result;
use crate::format::cell::{Needle, shared_span, span_at};
use crate::format::layout::*;
use crate::store::storage::Storage;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

/// All texts that were searched, in the order of their writing.
pub(super) struct Texts {
    pub(super) list: Vec<Text>,
    table: HashTable<u32>,
    /// Some texts found lately, by a few of their bytes: most repeat soon.
    recent: [u32; RECENT],
    pub(super) repeats: Repeats,
    hasher: DefaultHashBuilder,
}

pub(super) struct Text {
    /// Kept, so that the table grows without reading texts again.
    pub(super) hash: u64,
    pub(super) offset: u32,
    pub(super) length: u32,
    /// Position of the only cell that refers to it; [`WAITING`] or [`SHARED`].
    pub(super) cell: u32,
}

impl Text {
    /// Whether no second cell refers to it so far, and none was written.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.cell == WAITING
    }
}

/// Whether texts repeat: where they do not, searching each costs more than it saves
/// (FORMAT 11.3).
pub(super) struct Repeats {
    /// Texts yet that are not searched.
    pub(super) pause: u32,
    /// Length of the next pause.
    pub(super) next: u32,
    /// Texts searched since the last pause or verdict, and whether one was found. So it counts
    /// while texts are few.
    pub(super) searched: u32,
    pub(super) found: bool,
}

/// Texts that are searched before it is judged whether that is worth it.
const JUDGED: u32 = 64;

/// With fewer different texts, all are searched: sensors may take turns.
const FEW: usize = 1 << 10;

const SHORTEST_PAUSE: u32 = 1 << 6;
const LONGEST_PAUSE: u32 = 1 << 14;

impl Repeats {
    const NEW: Repeats = Repeats { pause: 0, next: SHORTEST_PAUSE, searched: 0, found: false };

    #[inline]
    pub(super) fn skip(&mut self) -> bool {
        let skips = self.pause > 0;
        self.pause -= skips as u32;
        skips
    }

    #[inline]
    pub(super) fn searched(&mut self, found: bool, texts: usize) {
        self.searched += 1;
        self.found |= found;
        if self.searched == JUDGED {
            self.found |= texts < FEW;
            self.judge();
        }
    }

    #[cold]
    pub(super) fn judge(&mut self) {
        if self.found {
            self.next = SHORTEST_PAUSE;
        } else {
            self.pause = self.next;
            self.next = (2 * self.next).min(LONGEST_PAUSE);
        }
        (self.searched, self.found) = (0, false);
    }
}

/// Texts that are remembered beside the table of all.
const RECENT: usize = 128;

const WAITING: u32 = 0;
const SHARED: u32 = u32::MAX;

impl Default for Texts {
    fn default() -> Self {
        Texts {
            list: Vec::new(),
            table: HashTable::new(),
            recent: [0; RECENT],
            repeats: Repeats::NEW,
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl Texts {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.table.clear();
        self.recent = [0; RECENT];
        self.repeats = Repeats::NEW;
    }

    /// Finds equal text, or writes it.
    pub(super) fn intern<S: Storage>(
        &mut self,
        out: &mut Output<S>,
        text: &[u8],
        limit: u32,
    ) -> Result<u32> {
        let recent = Needle::new(text).fingerprint as usize % RECENT;
        let number = self.recent[recent];
        if let Some(found) = self.list.get(number as usize)
            && found.length as usize == text.len()
            && let Some(written) = out.bytes().get(found.offset as usize..)
            && written.starts_with(text)
        {
            self.repeats.searched(true, self.list.len());
            self.share(out, number);
            return Ok(number);
        }
        let hash = self.hasher.hash_one(text);
        make_room(&mut self.list)?;
        let (texts, written) = (&self.list, out.bytes());
        let equal = |&number: &u32| {
            let found = &texts[number as usize];
            found.length as usize == text.len()
                && written[found.offset as usize..][..text.len()] == *text
        };
        let hash_of = |&number: &u32| texts[number as usize].hash;
        make_room_in(&mut self.table, hash_of);
        let place = match self.table.entry(hash, equal, hash_of) {
            Entry::Vacant(place) => place,
            Entry::Occupied(place) => {
                let number = *place.get();
                self.recent[recent] = number;
                self.repeats.searched(true, self.list.len());
                self.share(out, number);
                return Ok(number);
            }
        };
        self.repeats.searched(false, self.list.len() + 1);
        let offset = out.store(text, limit)? as u32;
        let number = self.list.len() as u32;
        place.insert(number);
        self.recent[recent] = number;
        self.list.push(Text { hash, offset, length: text.len() as u32, cell: WAITING });
        Ok(number)
    }

    /// A further cell refers to this text.
    #[inline]
    fn share<S: Storage>(&mut self, out: &mut Output<S>, number: u32) {
        let found = &mut self.list[number as usize];
        if found.cell != SHARED {
            if found.cell != WAITING {
                // The cell that thought itself the owner shares from now on.
                let word = found.length & !SPAN_OWNED;
                let at = found.cell + 4;
                out.put_u32(at, word);
            }
            found.cell = SHARED;
        }
    }
}

/// Writes tagged cells (FORMAT 3.4).
#[inline]
pub(super) fn put_tagged(
    texts: &mut [Text],
    place: &mut [u8],
    mut position: u32,
    tags: &[u8],
    cells: &[u64],
) {
    let groups = place.chunks_mut(72).zip(tags.chunks(8).zip(cells.chunks(8)));
    for (group, (tags, cells)) in groups {
        let (tag_place, cell_place) = group.split_at_mut(8);
        position += 8;
        let slots = tag_place.iter_mut().zip(cell_place.chunks_exact_mut(8));
        for ((tag_slot, cell_slot), (&tag, &cell)) in slots.zip(tags.iter().zip(cells)) {
            let (tag, cell) = settle(texts, tag, cell, position);
            *tag_slot = tag;
            cell_slot.copy_from_slice(&cell.to_le_bytes());
            position += 8;
        }
    }
}

/// The final cell of a waiting value that comes to lie at `position`.
#[inline]
pub(super) fn settle(texts: &mut [Text], tag: u8, cell: u64, position: u32) -> (u8, u64) {
    if tag != TAG_WAITING {
        return (tag, cell);
    }
    let text = &mut texts[cell as usize];
    let owned = text.cell == WAITING;
    if owned {
        text.cell = position;
    }
    (TAG_STRING, span_at(text.offset, text.length, owned))
}

/// The final cell of a text of a dictionary: no cell owns it.
pub(super) fn settle_shared(texts: &mut [Text], tag: u8, cell: u64) -> u64 {
    if tag != TAG_WAITING {
        return shared_span(cell);
    }
    let text = &mut texts[cell as usize];
    text.cell = SHARED;
    span_at(text.offset, text.length, false)
}
