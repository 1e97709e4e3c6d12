//! Texts of the document that may be shared: equal ones are written once (PROFILE 3). Those of
//! the outermost open array wait beside its values, since they may become part of a run.

use super::hash_index::HashIndex;
use super::output::Output;
use super::room::{expect_room, make_room, make_room_for, memory};
use super::stack::{TAG_LOOSE, TAG_LOOSE_UUID, TAG_WAITING};
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::{Needle, shared_span, span_at, span_inline};
use crate::format::layout::*;
use crate::store::storage::Storage;
use crate::store::target::Target;
use alloc::vec::Vec;

/// All texts that were searched, in the order in which they were met.
pub(super) struct Texts {
    pub(super) list: Vec<Text>,
    /// The bytes of texts of the outermost open array.
    waiting: Vec<u8>,
    /// From which text on some may wait.
    unwritten: usize,
    index: HashIndex,
    /// Some texts found lately, by a few of their bytes: where texts repeat, most do so soon.
    recent: [u32; RECENT],
    pub(super) repeats: Repeats,
}

pub(super) struct Text {
    offset: u32,
    pub(super) length: u32,
    /// Position of the only cell that refers to it; [`WAITING`] or [`SHARED`].
    pub(super) cell: u32,
    place: TextPlace,
}

/// Where a text's bytes are.
#[derive(Clone, Copy, PartialEq)]
enum TextPlace {
    /// Beside the values of the outermost open array.
    Waits,
    /// In the document, for cells.
    Written,
    /// In a run. Cells do not refer to these.
    Run,
}

impl Text {
    /// Whether no second cell refers to it so far, and none was written.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.cell == WAITING
    }
}

/// Whether texts repeat. If they do not, searching each costs more than it saves (PROFILE 3).
pub(super) struct Repeats {
    /// How many of the next texts are not searched.
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
    pub(super) const NEW: Repeats =
        Repeats { pause: 0, next: SHORTEST_PAUSE, searched: 0, found: false };

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

/// Texts that are remembered beside the index of all.
const RECENT: usize = 128;

const WAITING: u32 = 0;
const SHARED: u32 = u32::MAX;

impl Default for Texts {
    fn default() -> Self {
        Texts {
            list: Vec::new(),
            waiting: Vec::new(),
            unwritten: 0,
            index: HashIndex::default(),
            recent: [0; RECENT],
            repeats: Repeats::NEW,
        }
    }
}

impl Texts {
    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.list.clear();
        self.waiting.clear();
        self.unwritten = 0;
        self.recent = [0; RECENT];
        self.repeats = Repeats::NEW;
    }

    /// Bytes of the texts that wait.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of memory.
    pub(super) fn kept_bytes(&self) -> usize {
        memory(&self.list) + memory(&self.waiting) + self.index.kept_bytes()
    }

    /// Takes room for so many bytes more of texts that wait.
    pub(super) fn expect(&mut self, bytes: usize) {
        expect_room(&mut self.waiting, bytes);
    }

    /// Finds equal text. If there is none, writes it, or keeps it if it `waits`.
    pub(super) fn intern<S: Storage>(
        &mut self,
        out: &mut Output<S>,
        text: &[u8],
        limits: &Limits,
        waits: bool,
    ) -> Result<u32> {
        let is_equal = |number: u32| {
            let Some(found) = self.list.get(number as usize) else { return false };
            found.length as usize == text.len()
                && bytes_of(found, &self.waiting, out.bytes()).is_some_and(|bytes| bytes == text)
        };
        let recent = Needle::new(text).fingerprint as usize % RECENT;
        if self.repeats.found && is_equal(self.recent[recent]) {
            return self.found(out, self.recent[recent], waits);
        }
        self.index.make_room()?;
        let hash = self.index.hash_text(text);
        let place = match self.index.find(hash, is_equal) {
            Ok(number) => {
                self.recent[recent] = number;
                return self.found(out, number, waits);
            }
            Err(place) => place,
        };
        self.repeats.searched(false, self.list.len() + 1);
        let (offset, kept) = match waits {
            true => (keep(&mut self.waiting, text, limits)? as u32, TextPlace::Waits),
            false => (out.store(text, limits.string)? as u32, TextPlace::Written),
        };
        let number = self.list.len() as u32;
        make_room(&mut self.list)?;
        self.index.put(place, hash, number);
        let length = text.len() as u32;
        self.list.push(Text { offset, length, cell: WAITING, place: kept });
        Ok(number)
    }

    #[inline]
    fn found<S: Storage>(&mut self, out: &mut Output<S>, number: u32, waits: bool) -> Result<u32> {
        self.repeats.searched(true, self.list.len());
        self.share(out, number);
        if !waits {
            self.write(out, TAG_WAITING, number.into())?;
        }
        Ok(number)
    }

    /// Keeps a text that is not searched until its place is known. Returns its [`TAG_LOOSE`] cell.
    pub(super) fn keep(&mut self, text: &[u8], limits: &Limits) -> Result<u64> {
        keep(&mut self.waiting, text, limits)
    }

    /// The bytes of a kept text.
    #[inline]
    pub(super) fn loose(&self, cell: u64) -> &[u8] {
        span_of(&self.waiting, cell as u32, (cell >> 32) as u32)
    }

    /// Writes a text that a cell is to refer to, if it is not written yet. Returns its tag and cell
    /// on the stack.
    #[inline]
    pub(super) fn write<S: Storage>(
        &mut self,
        out: &mut Output<S>,
        tag: u8,
        cell: u64,
    ) -> Result<(u8, u64)> {
        match tag {
            TAG_WAITING => {
                let text = &mut self.list[cell as usize];
                if text.place != TextPlace::Written {
                    text.offset = match text.place {
                        TextPlace::Waits => {
                            out.store(span_of(&self.waiting, text.offset, text.length), u32::MAX)?
                        }
                        _ => out.store_again(text.offset, text.length)?,
                    } as u32;
                    text.place = TextPlace::Written;
                }
                Ok((tag, cell))
            }
            TAG_LOOSE | TAG_LOOSE_UUID => {
                let text = self.loose(cell);
                let tag = if tag == TAG_LOOSE { TAG_STRING } else { TAG_UUID };
                Ok((tag, out.store(text, u32::MAX)?))
            }
            _ => Ok((tag, cell)),
        }
    }

    /// Whether nothing else refers to the text, as far as is known.
    #[inline]
    pub(super) fn is_single(&self, (tag, cell): (u8, u64)) -> bool {
        match tag {
            TAG_WAITING => self.list[cell as usize].is_single(),
            _ => tag > TAG_NULL && span_inline(cell).is_none(),
        }
    }

    /// The length of a text, and whether it takes bytes of its own if a cell holds it: it does
    /// not fit into the cell, and no other cell has it. `None` where it is written already.
    #[inline]
    pub(super) fn measure(&self, tag: u8, cell: u64) -> Option<(u32, bool)> {
        match (tag, span_inline(cell)) {
            (TAG_WAITING, _) => {
                let text = &self.list[cell as usize];
                Some((text.length, text.is_single()))
            }
            (TAG_LOOSE, _) => Some(((cell >> 32) as u32, true)),
            (_, Some(length)) => Some((length as u32, false)),
            _ => None,
        }
    }

    /// Writes the bytes of a text to `run`, which begins at `run_at` in the document, from byte
    /// `end` on. `written`: the document up to the run. Returns the text's length.
    #[inline]
    pub(super) fn write_in_run(
        &mut self,
        (tag, cell): (u8, u64),
        written: &[u8],
        (run, run_at): (&mut [u8], u32),
        end: usize,
    ) -> usize {
        let inline = cell.to_le_bytes();
        let text = match tag {
            TAG_WAITING => {
                let text = &mut self.list[cell as usize];
                let length = text.length as usize;
                if let Some(from) = text.offset.checked_sub(run_at)
                    && text.place == TextPlace::Run
                {
                    run.copy_within(from as usize..from as usize + length, end);
                    return length;
                }
                let bytes = bytes_of(text, &self.waiting, written).unwrap_or_default();
                run[end..end + length].copy_from_slice(bytes);
                if text.place == TextPlace::Waits {
                    (text.offset, text.place) = (run_at + end as u32, TextPlace::Run);
                }
                return length;
            }
            TAG_LOOSE => self.loose(cell),
            _ => &inline[..span_inline(cell).unwrap_or(0)],
        };
        run[end..end + text.len()].copy_from_slice(text);
        text.len()
    }

    /// Writes all texts that still wait, and forgets their bytes: the array ends.
    pub(super) fn write_rest<S: Storage>(&mut self, out: &mut Output<S>) -> Result<()> {
        for number in self.unwritten..self.list.len() {
            if self.list[number].place == TextPlace::Waits {
                self.write(out, TAG_WAITING, number as u64)?;
            }
        }
        self.unwritten = self.list.len();
        self.waiting.clear();
        self.waiting.shrink_to(KEPT_BYTES);
        Ok(())
    }

    /// A further cell refers to this text.
    #[inline]
    fn share<S: Storage>(&mut self, out: &mut Output<S>, number: u32) {
        let found = &mut self.list[number as usize];
        if found.cell != SHARED {
            if found.cell != WAITING {
                // The only cell so far owned the text, and shares it from now on.
                let word = found.length & !SPAN_OWNED;
                out.write_u32(u64::from(found.cell) + 4, word);
            }
            found.cell = SHARED;
        }
    }
}

/// Bytes of texts that stay allocated when an array ends.
const KEPT_BYTES: usize = 1 << 20;

/// Keeps a text: its offset and length there. All that are kept have at most as many bytes as the
/// document may have, since they are written to it.
fn keep(waiting: &mut Vec<u8>, text: &[u8], limits: &Limits) -> Result<u64> {
    let &Limits { string, document, .. } = limits;
    if text.len() > string as usize {
        return Err(Error::with_detail(ErrorKind::StringLimit, 0, string.into()));
    }
    // The limit of a document fits 32 bits.
    let offset = waiting.len();
    if (offset + text.len()) as u64 > document {
        return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, document));
    }
    make_room_for(waiting, text.len())?;
    waiting.extend_from_slice(text);
    Ok(span_at(offset as u32, text.len() as u32, false))
}

fn span_of(bytes: &[u8], offset: u32, length: u32) -> &[u8] {
    bytes.get(offset as usize..offset as usize + length as usize).unwrap_or_default()
}

/// The bytes of a text.
#[inline]
fn bytes_of<'b>(text: &Text, waiting: &'b [u8], written: &'b [u8]) -> Option<&'b [u8]> {
    let bytes = if text.place == TextPlace::Waits { waiting } else { written };
    bytes.get(text.offset as usize..)?.get(..text.length as usize)
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
