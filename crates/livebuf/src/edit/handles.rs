//! Handles, and how they follow their containers: one rule for every layout.
//!
//! A handle is good until its own container is freed or taken away. It follows its container when
//! that moves. Rows move when others are inserted or removed before them, and when two are
//! exchanged. A row may become an object by itself, and an object a row.
//!
//! A handle says when it was taken. The editor notes how edits change containers, as a list of
//! events. An older handle is led through the events since. The list has a limit: handles older
//! than it are refused, but for those that edits used lately.

use crate::store::storage::Storage;
#[cfg(feature = "alloc")]
use crate::view::validate::{Kinds, Region};
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

/// A place in a document that outlives borrows: an object or array.
///
/// It stays good when the container grows, moves or becomes a map, when rows around it shift, and
/// when other values are freed. It goes stale when its own container is removed or replaced, or one
/// around it is. A stale handle is refused.
///
/// An editor remembers the last 4,096 such changes, or 8 in a fixed buffer. Handles that
/// were taken before these are refused as stale too, but for the last four that edits used.
///
/// ```
/// let mut doc = livebuf::json!({"laps": [[1], [2]]});
/// let laps = doc.find("/laps")?.unwrap();
/// let second = doc.child(laps, 1)?.unwrap();
/// doc.remove(laps, 0)?;                               // the second is the first now
/// doc.push(second, 3)?;
/// assert_eq!(doc.pointer("/laps/0/1")?.unwrap(), 3);
/// # Ok::<(), livebuf::Error>(())
/// ```
// Two words, so that it is passed in registers: in parts it would be stored at each call, and
// loaded whole, which waits for the stores.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId {
    /// Home and row, 32 bits each.
    place: u64,
    /// Issuer (32 bits), time and depth.
    mark: u64,
}

impl NodeId {
    /// No container's.
    pub(super) const NONE: NodeId = NodeId { place: 0, mark: 0 };

    /// Home; of a row or an element of a list, the table or list.
    #[inline]
    pub(super) fn home(self) -> u32 {
        self.place as u32
    }

    #[inline]
    pub(super) fn row(self) -> u32 {
        (self.place >> 32) as u32
    }

    /// Names the editor; drawn again when its time wraps.
    #[inline]
    fn issuer(self) -> u32 {
        self.mark as u32
    }

    /// Events that the editor had noted since.
    #[inline]
    fn time(self) -> u16 {
        (self.mark >> 32) as u16
    }

    /// Containers on the way from the root, this one included; at least that many.
    #[inline]
    pub(super) fn depth(self) -> u16 {
        (self.mark >> 48) as u16
    }

    /// The handle, its container being at this place.
    #[inline]
    fn at(self, home: u32, row: u32) -> NodeId {
        NodeId { place: place(home, row), ..self }
    }

    /// The handle, at least so deep.
    fn deeper(self, depth: u16) -> NodeId {
        NodeId { mark: mark(self.issuer(), self.time(), self.depth().max(depth)), ..self }
    }

    /// The handle as one of this editor, taken at this time.
    fn taken(self, issuer: u32, time: u16) -> NodeId {
        NodeId { mark: mark(issuer, time, self.depth()), ..self }
    }

    /// Issuer and time.
    #[inline]
    fn moment(self) -> u64 {
        self.mark << 16
    }

    /// The handle as plain numbers, for bindings.
    ///
    /// ```
    /// let doc = livebuf::json!([]);
    /// let root = doc.root_id().unwrap();
    /// // Both are 0 in no handle.
    /// assert_ne!(root.to_words(), [0; 2]);
    /// ```
    #[inline]
    pub fn to_words(self) -> [u64; 2] {
        [self.place, self.mark]
    }

    /// The handle of these numbers.
    ///
    /// # Safety
    /// The words are those of a handle that some editor gave, by [`to_words`](Self::to_words).
    /// Invented ones may name bytes that are no container. An edit then damages a document that
    /// counts as valid, and its text is read unchecked.
    #[inline]
    #[allow(unsafe_code)]
    pub unsafe fn from_words([place, mark]: [u64; 2]) -> Self {
        NodeId { place, mark }
    }

    /// A number that no [editor](crate::Editor::number) has: for what a binding only reads.
    #[doc(hidden)]
    #[inline]
    pub fn draw() -> u32 {
        draw()
    }

    /// Whether this and another handle were taken for the same container at the same time.
    fn is_same(&self, other: &NodeId) -> bool {
        self.place == other.place && self.moment() == other.moment()
    }
}

#[inline]
fn place(home: u32, row: u32) -> u64 {
    home as u64 | (row as u64) << 32
}

#[inline]
fn mark(issuer: u32, time: u16, depth: u16) -> u64 {
    issuer as u64 | (time as u64) << 32 | (depth as u64) << 48
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeId")
            .field("home", &self.home())
            .field("row", &self.row())
            .field("issuer", &self.issuer())
            .field("time", &self.time())
            .field("depth", &self.depth())
            .finish()
    }
}

/// A change that an edit made to containers. Rows are those of a table or the arrays of a list,
/// which is named by its offset.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The blocks from the first offset up to the second are free.
    Freed(u32, u32),
    /// Rows were inserted before row `at`.
    Opened { table: u32, at: u32, count: u32 },
    /// Rows from `at` on were taken out.
    Closed { table: u32, at: u32, count: u32 },
    /// A row was emptied or replaced in its place.
    Gone { table: u32, row: u32 },
    /// Two rows were exchanged.
    Swapped { table: u32, a: u32, b: u32 },
    /// A container is elsewhere: homes and rows.
    Moved { from: (u32, u32), to: (u32, u32) },
    /// A detached container is attached deeper than before, so that some are at most this deep.
    Deeper(u16),
    /// All are elsewhere, as the list of this number says.
    #[cfg(feature = "alloc")]
    Squeezed(u32),
    /// The document was validated, and met the containers that the set of this number has.
    #[cfg(feature = "alloc")]
    Validated(u32),
}

/// The homes of all containers that a validation met, a bit for each eight bytes of the document.
#[cfg(feature = "alloc")]
#[derive(Clone)]
pub(super) struct Homes(alloc::vec::Vec<u8>);

#[cfg(feature = "alloc")]
impl Homes {
    /// None yet, in a document of so many bytes; `None` where there is no memory.
    pub(super) fn new(used: usize) -> Option<Homes> {
        let (mut bits, length) = (alloc::vec::Vec::new(), used.div_ceil(64));
        bits.try_reserve_exact(length).ok()?;
        bits.resize(length, 0);
        Some(Homes(bits))
    }

    /// Hears of a region of the document.
    pub(super) fn meet(&mut self, region: Region) {
        if Kinds::HOMES.has(region.kind)
            && let Some(byte) = self.0.get_mut((region.offset / 64) as usize)
        {
            *byte |= 1 << (region.offset / 8 % 8);
        }
    }

    fn has(&self, home: u32) -> bool {
        let byte = self.0.get(home as usize / 64).copied().unwrap_or(0);
        home.is_multiple_of(8) && byte >> (home / 8 % 8) & 1 == 1
    }
}

/// Where containers are after squeezing: by themselves, or rows behind each other.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub(super) struct MovedRun {
    pub(super) from: (u32, u32),
    pub(super) to: (u32, u32),
    pub(super) count: u32,
}

impl Event {
    /// The handle's container after the event; `None` where it is gone.
    fn apply(&self, node: NodeId, #[cfg(feature = "alloc")] many: Option<&Many>) -> Option<NodeId> {
        let (home, row) = (node.home(), node.row());
        let row = match *self {
            Event::Freed(start, end) if (start..end).contains(&home) => return None,
            Event::Opened { table, at, count } if table == home && row >= at => row + count,
            Event::Closed { table, at, count } if table == home && row >= at => {
                if row - at < count {
                    return None;
                }
                row - count
            }
            Event::Gone { table, row: gone } if (table, gone) == (home, row) => return None,
            Event::Swapped { table, a, b } if table == home && row == a => b,
            Event::Swapped { table, a, b } if table == home && row == b => a,
            Event::Moved { from, to } if from == (home, row) => {
                return Some(node.at(to.0, to.1));
            }
            Event::Deeper(depth) => return Some(node.deeper(depth)),
            #[cfg(feature = "alloc")]
            Event::Squeezed(number) => return follow(many?.runs.get(number as usize)?, node),
            #[cfg(feature = "alloc")]
            Event::Validated(number) => {
                let (homes, depth) = many?.met.get(number as usize)?;
                return homes.has(home).then(|| node.deeper(*depth));
            }
            _ => row,
        };
        Some(node.at(home, row))
    }
}

/// Events that are remembered in a fixed buffer, where nothing is allocated.
const FEW: usize = 8;
/// Events that are remembered otherwise.
const MANY: usize = if cfg!(feature = "alloc") { 4096 } else { FEW };
/// Handles that edits used lately, and where their containers were then.
const KEPT: usize = 4;

/// A number that no editor had; never 0.
#[cfg(not(feature = "std"))]
#[inline]
fn draw() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed).max(1)
}

/// A number that no editor had; never 0. A thread draws 64 at once: an atomic operation takes as
/// long as the rest of beginning a document.
#[cfg(feature = "std")]
#[inline]
fn draw() -> u32 {
    use core::cell::Cell;

    const BLOCK: u32 = 64;
    static BLOCKS: AtomicU32 = AtomicU32::new(0);
    std::thread_local! {
        static NEXT: Cell<u32> = const { Cell::new(0) };
    }

    NEXT.with(|next| {
        let mut drawn = next.get();
        if drawn.is_multiple_of(BLOCK) {
            drawn = BLOCKS.fetch_add(BLOCK, Ordering::Relaxed) + 1;
        }
        next.set(drawn + 1);
        drawn
    })
}

/// The state that an editor keeps for the handles that it gave.
#[derive(Clone)]
pub(crate) struct Handles {
    issuer: u32,
    time: u16,
    /// The time of the first event that is remembered.
    since: u16,
    /// Handles from before this time may be of damaged documents, and no list says which: see
    /// [`Editor::resolve`](super::editor::Editor).
    checked: u16,
    /// Of the kept handles, which is replaced next.
    turn: u8,
    /// The blocks that were freed last, while a value is: neighbours make one event.
    freeing: Option<(u32, u32)>,
    /// As it was given, and as it is.
    kept: [(NodeId, NodeId); KEPT],
    /// The same of the handle that the current edit uses.
    using: (NodeId, NodeId),
    /// Drawn again when nothing that was detached before can be attached any more.
    pub(super) generation: u32,
    /// Containers that were detached and not attached again.
    pub(super) detached: u32,
    few: [Event; FEW],
    /// In a box, so that short messages have a small editor.
    #[cfg(feature = "alloc")]
    many: Option<alloc::boxed::Box<Many>>,
    /// How many there were ever.
    pub(super) squeezes: u32,
}

/// What is remembered beyond a few events.
#[cfg(feature = "alloc")]
#[derive(Clone, Default)]
struct Many {
    /// All events, where there are more than a few.
    events: alloc::vec::Vec<Event>,
    /// Of all events [`Event::Squeezed`].
    runs: alloc::vec::Vec<Runs>,
    /// Of all events [`Event::Validated`]; with how deep the document was.
    met: alloc::vec::Vec<(Homes, u16)>,
}

/// Sorted by where the containers were.
#[cfg(feature = "alloc")]
type Runs = alloc::vec::Vec<MovedRun>;

#[cfg(feature = "alloc")]
fn follow(runs: &Runs, node: NodeId) -> Option<NodeId> {
    let place = (node.home(), node.row());
    let run = runs.get(runs.partition_point(|run| run.from <= place).checked_sub(1)?)?;
    let (from, to) = (run.from, run.to);
    if from.0 != node.home() || node.row() - from.1 >= run.count {
        return None;
    }
    Some(node.at(to.0, to.1 + (node.row() - from.1)))
}

impl Handles {
    #[inline]
    pub(super) fn new() -> Handles {
        let issuer = draw();
        Handles {
            issuer,
            time: 0,
            since: 0,
            checked: 0,
            turn: 0,
            freeing: None,
            kept: [(NodeId::NONE, NodeId::NONE); KEPT],
            using: (NodeId::NONE, NodeId::NONE),
            generation: issuer,
            detached: 0,
            few: [Event::Deeper(0); FEW],
            #[cfg(feature = "alloc")]
            many: None,
            squeezes: 0,
        }
    }

    #[inline]
    pub(super) fn issuer(&self) -> u32 {
        self.issuer
    }

    /// A new handle.
    #[inline]
    pub(super) fn give(&self, home: u32, row: u32, depth: u16) -> NodeId {
        NodeId { place: place(home, row), mark: mark(self.issuer, self.time, depth) }
    }

    /// Whether nothing happened since the handle was taken.
    #[inline]
    pub(super) fn is_fresh(&self, node: NodeId) -> bool {
        node.moment() == self.give(0, 0, 0).moment()
    }

    /// Where a handle's container is now; `None` where it is stale.
    #[inline(never)]
    pub(super) fn resolve(&self, node: NodeId) -> Option<NodeId> {
        if node.issuer() == 0 {
            return None;
        }
        let kept = self.kept.iter().find(|(given, _)| given.is_same(&node));
        let mut now = match kept {
            Some((_, kept)) => kept.deeper(node.depth()),
            None if self.remembers(node) => node,
            None => return None,
        };
        for event in self.events().get((now.time() - self.since) as usize..)? {
            #[cfg(feature = "alloc")]
            let after = event.apply(now, self.many.as_deref());
            #[cfg(not(feature = "alloc"))]
            let after = event.apply(now);
            now = after?;
        }
        Some(now.taken(self.issuer, self.time))
    }

    /// Whether all events since a handle was taken are remembered.
    pub(super) fn remembers(&self, node: NodeId) -> bool {
        node.issuer() == self.issuer && (self.since..=self.time).contains(&node.time())
    }

    /// Remembers that an edit uses a handle, and where its container is.
    pub(super) fn keep(&mut self, given: NodeId, now: NodeId) {
        self.using = (given, now);
        let place = match self.kept.iter().position(|(kept, _)| kept.is_same(&given)) {
            Some(place) => place,
            None => {
                self.turn = (self.turn + 1) % KEPT as u8;
                self.turn as usize
            }
        };
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = (given, now);
        }
    }

    /// The container that the last edit was about, wherever it is now.
    fn used(&self) -> Option<NodeId> {
        let (_, now) = self.using;
        if self.is_fresh(now) { Some(now) } else { self.resolve(now) }
    }

    /// The handle that the last edit was given.
    pub(super) fn given(&self) -> NodeId {
        self.using.0
    }

    /// Says which container the next edit is about, by a fresh handle.
    #[inline]
    pub(super) fn set_used(&mut self, node: NodeId) {
        self.using = (node, node);
    }

    fn events(&self) -> &[Event] {
        #[cfg(feature = "alloc")]
        if let Some(many) = &self.many
            && !many.events.is_empty()
        {
            return &many.events;
        }
        self.few.get(..self.noted()).unwrap_or_default()
    }

    /// Notes a change that an edit made.
    pub(super) fn note<S: Storage>(&mut self, event: Event) {
        self.make_room::<S>();
        #[cfg(feature = "alloc")]
        if !S::FIXED && self.noted() >= FEW {
            if self.note_among_many(event) {
                return;
            }
            // Without memory, fewer are remembered.
            self.forget();
        }
        let count = self.noted();
        if let Some(place) = self.few.get_mut(count) {
            *place = event;
        }
        self.time += 1;
    }

    /// The same where there are more than a few. False if there is no memory for it.
    #[cfg(feature = "alloc")]
    fn note_among_many(&mut self, event: Event) -> bool {
        let events = &mut self.many.get_or_insert_default().events;
        let before: &[Event] = if events.is_empty() { &self.few } else { &[] };
        let has_room = events.try_reserve(before.len() + 1).is_ok();
        if has_room {
            events.extend_from_slice(before);
            events.push(event);
            self.time += 1;
        }
        has_room
    }

    /// How many events are remembered.
    fn noted(&self) -> usize {
        (self.time - self.since) as usize
    }

    /// Forgets the events where there are as many as are remembered.
    fn make_room<S: Storage>(&mut self) {
        if self.noted() == Self::most::<S>() {
            self.forget();
        }
    }

    /// How many events are remembered at most.
    const fn most<S: Storage>() -> usize {
        if S::FIXED { FEW } else { MANY }
    }

    /// Forgets all events; the handles that edits used are led through them first.
    fn forget(&mut self) {
        let is_checked = self.using.1.time() >= self.checked;
        let used = self.used().filter(|_| is_checked).unwrap_or(NodeId::NONE);
        let kept = self.kept.map(|(given, _)| match self.resolve(given) {
            Some(now) if !self.is_unchecked(given) => (given, now),
            _ => (NodeId::NONE, NodeId::NONE),
        });
        #[cfg(feature = "alloc")]
        if let Some(many) = &mut self.many {
            many.events.clear();
            many.runs.clear();
            many.met.clear();
        }
        if self.time > u16::MAX / 2 {
            (self.issuer, self.time) = (draw(), 0);
        }
        (self.since, self.checked) = (self.time, self.time);
        let (issuer, time) = (self.issuer, self.time);
        let stamped = |node: NodeId| match node.issuer() {
            0 => NodeId::NONE,
            _ => node.taken(issuer, time),
        };
        self.kept = kept.map(|(given, now)| (given, stamped(now)));
        let (given, now) = (self.using.0, stamped(used));
        if now != NodeId::NONE {
            self.keep(given, now);
        }
    }

    /// Notes where all containers are after squeezing.
    #[cfg(feature = "alloc")]
    pub(super) fn squeezed<S: Storage>(&mut self, mut runs: Runs) {
        runs.sort_unstable_by_key(|run| run.from);
        self.make_room::<S>();
        self.squeezes += 1;
        let all = &mut self.many.get_or_insert_default().runs;
        all.push(runs);
        let number = all.len() as u32 - 1;
        self.note::<S>(Event::Squeezed(number));
    }

    /// The document was found valid, nests so deep, and has these homes: handles of other
    /// containers are stale from now on.
    #[cfg(feature = "alloc")]
    pub(super) fn validated<S: Storage>(&mut self, homes: Homes, depth: u64) {
        self.make_room::<S>();
        let met = &mut self.many.get_or_insert_default().met;
        met.push((homes, u16::try_from(depth).unwrap_or(u16::MAX)));
        let number = met.len() as u32 - 1;
        self.note::<S>(Event::Validated(number));
    }

    /// The same where no memory has the homes: older handles are looked for in the document when
    /// they are used.
    pub(super) fn validated_in_place<S: Storage>(&mut self, depth: u64) {
        self.note::<S>(Event::Deeper(u16::try_from(depth).unwrap_or(u16::MAX)));
        self.checked = self.time;
    }

    /// Whether a handle is from before the document was validated, and its container was not looked
    /// for since.
    pub(super) fn is_unchecked(&self, node: NodeId) -> bool {
        let kept = self.kept.iter().find(|(given, _)| given.is_same(&node));
        kept.map_or(node, |&(_, now)| now).time() < self.checked
    }

    /// How deep the container is that the edit is about, at least.
    #[inline]
    pub(super) fn used_depth(&self) -> u16 {
        self.using.1.depth()
    }

    /// Every handle is stale from now on, and every detached value.
    pub(crate) fn reset(&mut self) {
        *self = Handles::new();
    }

    /// Begins to free one value: its blocks are noted as few ranges.
    pub(super) fn begin_freeing(&mut self) -> bool {
        let first = self.freeing.is_none();
        if first {
            self.freeing = Some((0, 0));
        }
        first
    }

    /// Notes that a block is freed, where a value is.
    pub(super) fn freed<S: Storage>(&mut self, offset: u64, size: u64) {
        let Some((from, to)) = self.freeing else { return };
        let (start, end) = (offset as u32, (offset + size) as u32);
        // A gap between two blocks that is smaller than a block holds no home.
        let touches = start <= to.saturating_add(7) && from <= end.saturating_add(7);
        if to > 0 && !touches {
            self.note::<S>(Event::Freed(from, to));
        }
        self.freeing = match to > 0 && touches {
            true => Some((from.min(start), to.max(end))),
            false => Some((start, end)),
        };
    }

    /// The value is freed.
    pub(super) fn end_freeing<S: Storage>(&mut self) {
        if let Some((from, to)) = self.freeing.take()
            && to > 0
        {
            self.note::<S>(Event::Freed(from, to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an edit used before a validation stays unchecked, however many events come after it.
    #[test]
    fn forgetting_events_checks_no_handle() {
        let mut handles = Handles::new();
        let node = handles.give(32, 0, 1);
        handles.keep(node, node);
        handles.validated_in_place::<&mut [u8]>(3);
        for _ in 0..2 * FEW {
            handles.note::<&mut [u8]>(Event::Gone { table: 64, row: 1 });
        }
        assert!(handles.resolve(node).is_none() || handles.is_unchecked(node));
    }
}
