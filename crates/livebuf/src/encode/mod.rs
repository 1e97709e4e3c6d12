//! Encoding: a stream of events becomes a document (FORMAT, part two).
//!
//! One pass, no object per value. Text is written as it comes; a container is
//! written when it ends, its children before it; shapes come last, when the
//! key lists are known. Values of open containers wait on a stack of cells.
//! Containers in arrays wait there too, until the outermost array ends: then
//! `plan` decides which arrays become columns, and `layout` writes them.
//!
//! Key lists live in a trie while encoding: an object walks it key by key, and
//! each leaf that records use becomes one shape, which serves every prefix too.
//! Until its shape's place is known, a record's shape field links the records
//! of one trie node, so patching needs no memory.

mod emit;
mod plan;
mod shred;

use crate::block::map;
use crate::block::record::{Raw, Record, check_immediate};
use crate::block::walk::{Allowance, Cursor, Node};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{equal, text};
use crate::format::cell::{Needle, inline_span, span_at, span_bytes, span_offset};
use crate::format::layout::*;
use crate::format::number::is_json_number;
use crate::store::storage::{Storage, VecStorage};
use crate::view::{Doc, Mode, Value};
use alloc::vec::Vec;
use core::hash::BuildHasher;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

/// What becomes of a key that an object has already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// The last value counts, at the first one's place.
    #[default]
    Last,
    /// [`ErrorKind::DuplicateKey`].
    Error,
}

/// Settings of an [`Encoder`].
#[derive(Clone, Copy, Debug)]
pub struct EncodeOptions {
    /// Bounds on what is built.
    pub limits: Limits,
    /// What becomes of a key that an object has already.
    pub duplicate_keys: DuplicateKeys,
    /// Whether arrays of like objects and of arrays become columns where that takes no
    /// more bytes. On by default.
    pub tables: bool,
    /// Fewest bytes of an integer or float in a column: 1 (the default) stores numbers as
    /// narrow as they are, 8 makes every column an `i64`, `u64` or `f64` one, ready to be
    /// borrowed as such and to take any value.
    pub min_width: u8,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        EncodeOptions {
            limits: Limits::default(),
            duplicate_keys: DuplicateKeys::default(),
            tables: true,
            min_width: 1,
        }
    }
}

/// Indexes over more entries begin at a page of 4,096 bytes.
const MANY_ENTRIES: usize = 4000;

/// Places of the stack that stay allocated when an outermost array is laid out.
const KEPT_PLACES: usize = 1 << 14;

/// Waiting tag of text that may turn out to be shared: the cell is a [`Text`]'s number.
const TAG_WAITING: u8 = 0xF0;
/// A waiting array: the count of places that what it holds takes, and the bytes it would
/// take as a plain array (later its home).
const TAG_WAITING_ARRAY: u8 = 0xF1;
/// A waiting object: its key list, and the count of places; if that is not 0, the place
/// behind it is [`TAG_WAITING_SIZE`].
const TAG_WAITING_OBJECT: u8 = 0xF2;
/// The bytes that the object before would take as a record (later its home).
const TAG_WAITING_SIZE: u8 = 0xF3;
/// A waiting array or object that became part of a column.
const TAG_ABSORBED_ARRAY: u8 = 0xF4;
const TAG_ABSORBED_OBJECT: u8 = 0xF5;

/// Builds a document from events, as JSON would give them.
///
/// The same events give the same bytes (profile `livebuf-1`). Memory beside the
/// result: 9 bytes a value of the open containers, some 30 a distinct key
/// list's key, some 30 a distinct text of 8 to 1,024 bytes.
///
/// ```
/// use livebuf::Encoder;
/// let mut encoder = Encoder::new();
/// encoder.begin_object()?;
/// encoder.key("lap")?;
/// encoder.i64(55)?;
/// encoder.end_object()?;
/// let doc = encoder.finish()?;
/// assert_eq!(doc.valid().unwrap().root().get("lap").unwrap().as_i64(), Some(55));
/// # Ok::<(), livebuf::Error>(())
/// ```
pub struct Encoder<S = VecStorage> {
    options: EncodeOptions,
    out: Output<S>,
    /// Values of open containers: cells and, apart, tags.
    cells: Vec<u64>,
    tags: Vec<u8>,
    frames: Vec<Frame>,
    /// What [`plan`] lists.
    places: Vec<u32>,
    /// Number of the outermost open array's frame: what it holds waits.
    outermost: Option<usize>,
    /// Rows of the outermost open array, as far as they are alike.
    shred: shred::Shred,
    hasher: DefaultHashBuilder,
    keys: Vec<KeyText>,
    key_text: Vec<u8>,
    key_table: HashTable<u32>,
    /// Trie of key lists; node 0 is the empty list.
    nodes: Vec<KeyList>,
    node_table: HashTable<u32>,
    texts: Vec<Text>,
    text_table: HashTable<u32>,
    /// Some texts found lately, by a few of their bytes: most repeat soon.
    recent: [u32; RECENT],
    repeats: Repeats,
    /// Key cells of open objects that are too big for a record.
    map_keys: Vec<u64>,
    /// A duplicate replaced a value: what it held is garbage to squeeze out.
    replaced: bool,
    /// The latest mark of an object.
    mark: u32,
}

/// The document being written.
pub(crate) struct Output<S> {
    storage: S,
    used: usize,
    limit: u64,
}

impl<S: Storage> Output<S> {
    /// Appends `size` zero bytes and returns them with their offset.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn grow(&mut self, size: usize) -> Result<(u32, &mut [u8])> {
        let start = self.used;
        let end = start + size;
        if end > self.storage.bytes().len() {
            self.reserve(end as u64)?;
        }
        self.used = end;
        match self.storage.bytes_mut().get_mut(start..end) {
            Some(place) => Ok((start as u32, place)),
            None => Err(Error::new(ErrorKind::NoSpace, start as u64)),
        }
    }

    #[cold]
    fn reserve(&mut self, end: u64) -> Result<()> {
        if end > self.limit {
            return Err(Error::with_detail(ErrorKind::DocumentLimit, 0, self.limit));
        }
        self.storage.grow(end)
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn align(&mut self) {
        self.used = (self.used + 7) & !7;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.storage.bytes()
    }

    /// Appends bytes that one cell will own.
    fn store(&mut self, text: &[u8], limit: u32) -> Result<u64> {
        let length = text.len();
        if length > limit as usize {
            return Err(Error::with_detail(ErrorKind::StringLimit, 0, limit.into()));
        }
        // An owned span at a multiple of eight would own padding (FORMAT 3.3).
        if self.used.is_multiple_of(8) && !length.is_multiple_of(8) {
            self.grow(1)?;
        }
        let (offset, place) = self.grow(length)?;
        place.copy_from_slice(text);
        Ok(span_at(offset, length as u32, true))
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn put_u32(&mut self, offset: u32, value: u32) {
        let at = offset as usize;
        if let Some(place) = self.storage.bytes_mut().get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }
}

struct Frame {
    /// First value on the stack.
    start: usize,
    /// Trie node of an object; unused in arrays.
    node: u32,
    /// What the object's keys are marked with ([`KeyText::user`]); 0: not yet.
    mark: u32,
    state: State,
    /// Bytes that the waiting containers in it would take as records and plain arrays.
    plain: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Array,
    /// The outermost array, while its rows are expected to be alike (`shred`).
    Rows,
    /// An object that waits for a key, or its end.
    Key,
    /// An object that waits for a value.
    Value,
    /// The same, where the value replaces an earlier one.
    Replace(usize),
    /// A map's states; its keys begin at this place of `map_keys`.
    MapKey(usize),
    MapValue(usize),
}

struct KeyText {
    start: u32,
    length: u8,
    fingerprint: u8,
    /// Mark of the object that used the key last, of those that mark theirs.
    user: u32,
    /// Where the text of a long key was written; 0: not yet.
    written: u32,
}

#[derive(Clone, Copy, Default)]
struct KeyList {
    parent: u32,
    key: u32,
    /// The key's text, as its [`KeyText`] has it.
    start: u32,
    /// Where a program keeps the text, if it was given as static; else 0.
    #[cfg(feature = "serde")]
    address: usize,
    length: u8,
    depth: u8,
    /// Count of children, as far as it matters.
    children: u8,
    /// The child most lately taken; while shapes are written, the first that is needed.
    child: u32,
    /// Last record of this key list; each record links the one before.
    records: u32,
    count: u32,
    /// The child added last, of those that are not in the table, and the one added before
    /// this to the parent.
    last: u32,
    sibling: u32,
}

/// A key list's first children are found by going through them, more by a table.
const FEW_CHILDREN: u8 = 8;

struct Text {
    /// Kept, so that the table grows without reading texts again.
    hash: u64,
    offset: u32,
    length: u32,
    /// Position of the only cell that refers to it; [`WAITING`] or [`SHARED`].
    cell: u32,
}

/// Whether texts repeat: where they do not, searching each costs more than it saves
/// (FORMAT 11.3).
struct Repeats {
    /// Texts yet that are not searched.
    pause: u32,
    /// Length of the next pause.
    next: u32,
    /// Texts searched since the last pause or verdict, and whether one was found.
    searched: u32,
    found: bool,
}

/// Texts that are searched before it is judged whether that is worth it.
const JUDGED: u32 = 64;

const SHORTEST_PAUSE: u32 = 1 << 6;
const LONGEST_PAUSE: u32 = 1 << 14;

impl Repeats {
    const NEW: Repeats = Repeats { pause: 0, next: SHORTEST_PAUSE, searched: 0, found: false };

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn skip(&mut self) -> bool {
        let skips = self.pause > 0;
        self.pause -= skips as u32;
        skips
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn searched(&mut self, found: bool) {
        self.searched += 1;
        self.found |= found;
        if self.searched == JUDGED {
            self.judge();
        }
    }

    #[cold]
    fn judge(&mut self) {
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

/// Room for one more: much more while small, later a quarter more, to bound memory.
#[cfg_attr(not(feature = "small"), inline(always))]
fn make_room<T>(items: &mut Vec<T>) -> Result<()> {
    if items.len() < items.capacity() {
        return Ok(());
    }
    let length = items.len();
    let more = match length {
        ..512 => (3 * length).max(64),
        512..4096 => length,
        _ => length / 4,
    };
    let refused = |_| Error::with_detail(ErrorKind::Io, 0, (more * size_of::<T>()) as u64);
    items.try_reserve_exact(more).map_err(refused)
}

/// Room for one more number in a table; while it is small for many, since each growth hashes
/// all of them again.
#[inline]
fn make_room_in(table: &mut HashTable<u32>, hash_of: impl Fn(&u32) -> u64) {
    if table.len() == table.capacity() && table.len() < 4096 {
        table.reserve((3 * table.len()).max(28), hash_of);
    }
}

#[cold]
fn sequence() -> Error {
    Error::new(ErrorKind::BadSequence, 0)
}

impl Default for Encoder {
    fn default() -> Self {
        Encoder::new()
    }
}

impl Encoder {
    /// An encoder with the default options.
    pub fn new() -> Self {
        Encoder::with_options(EncodeOptions::default())
    }

    /// An encoder with these options.
    pub fn with_options(options: EncodeOptions) -> Self {
        Encoder::in_storage(VecStorage::default(), options)
    }
}

impl<S: Storage> Encoder<S> {
    /// An encoder that writes to this storage. What it holds is overwritten; it must be
    /// zero where it is longer than the header.
    pub fn in_storage(storage: S, mut options: EncodeOptions) -> Self {
        options.limits = options.limits.cut();
        Encoder {
            options,
            out: Output { storage, used: HEADER_SIZE as usize, limit: options.limits.document },
            cells: Vec::new(),
            tags: Vec::new(),
            frames: Vec::new(),
            places: Vec::new(),
            outermost: None,
            shred: shred::Shred::default(),
            hasher: DefaultHashBuilder::default(),
            keys: Vec::new(),
            key_text: Vec::new(),
            key_table: HashTable::new(),
            nodes: alloc::vec![KeyList::default()],
            node_table: HashTable::new(),
            texts: Vec::new(),
            text_table: HashTable::new(),
            recent: [0; RECENT],
            repeats: Repeats::NEW,
            map_keys: Vec::new(),
            replaced: false,
            mark: 0,
        }
    }

    /// Forgets what was encoded, and goes on in other storage by other options. The memory
    /// that encoding takes beside the document is kept, so that many small documents cost
    /// few allocations.
    pub fn restart(&mut self, storage: S, mut options: EncodeOptions) {
        options.limits = options.limits.cut();
        self.options = options;
        let (used, limit) = (HEADER_SIZE as usize, options.limits.document);
        self.out = Output { storage, used, limit };
        self.cells.clear();
        self.tags.clear();
        self.frames.clear();
        self.places.clear();
        self.outermost = None;
        self.shred.stop();
        self.keys.clear();
        self.key_text.clear();
        self.key_table.clear();
        self.nodes.clear();
        self.nodes.push(KeyList::default());
        self.node_table.clear();
        self.texts.clear();
        self.text_table.clear();
        self.recent = [0; RECENT];
        self.repeats = Repeats::NEW;
        self.map_keys.clear();
        self.replaced = false;
        self.mark = 0;
    }

    // --- values -------------------------------------------------------------

    /// A null.
    ///
    /// # Errors
    /// This and all other events: [`ErrorKind::BadSequence`] where JSON would
    /// not allow the event; limits as set in the options.
    pub fn null(&mut self) -> Result<()> {
        self.push(TAG_NULL, 0)
    }

    /// A boolean.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    pub fn bool(&mut self, value: bool) -> Result<()> {
        self.push(TAG_FALSE + value as u8, 0)
    }

    /// A signed integer.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn i64(&mut self, value: i64) -> Result<()> {
        self.push(TAG_INT, value as u64)
    }

    /// An unsigned integer.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn u64(&mut self, value: u64) -> Result<()> {
        self.push(if value > i64::MAX as u64 { TAG_UINT } else { TAG_INT }, value)
    }

    /// A double, kept by its bits.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn f64(&mut self, value: f64) -> Result<()> {
        self.push(TAG_FLOAT, value.to_bits())
    }

    /// Text.
    ///
    /// # Errors
    /// As [`null`](Self::null), and [`ErrorKind::StringLimit`].
    #[inline]
    pub fn str(&mut self, text: &str) -> Result<()> {
        let text = text.as_bytes();
        let (tag, cell) = if text.len() <= MAX_INLINE {
            (TAG_STRING, Needle::new(text).cell)
        } else if text.len() > MAX_SHARED as usize || self.repeats.skip() {
            (TAG_STRING, self.store(text)?)
        } else {
            (TAG_WAITING, self.intern(text)? as u64)
        };
        self.push(tag, cell)
    }

    /// Bytes.
    ///
    /// # Errors
    /// As [`str`](Self::str).
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let cell = self.span(bytes)?;
        self.push(TAG_BYTES, cell)
    }

    /// A number that only its text holds exactly.
    ///
    /// # Errors
    /// As [`str`](Self::str), and [`ErrorKind::BadNumber`] where the text is no JSON number.
    pub fn number_text(&mut self, text: &str) -> Result<()> {
        if !is_json_number(text.as_bytes()) {
            return Err(Error::new(ErrorKind::BadNumber, 0));
        }
        let cell = self.span(text.as_bytes())?;
        self.push(TAG_NUMBER, cell)
    }

    /// A value of another document, with all below it.
    ///
    /// # Errors
    /// As [`null`](Self::null), what is damaged in the other document, and
    /// [`ErrorKind::BudgetExceeded`] where its values alias beyond what a valid
    /// one can hold.
    pub fn value<M: Mode>(&mut self, value: &Value<'_, M>) -> Result<()> {
        let bytes = value.document();
        let mut allowance = Allowance::new(bytes, self.options.limits.budget);
        let mut stack = Vec::new();
        let mut next = Some(value.raw());
        loop {
            if let Some(raw) = next.take() {
                match raw.tag {
                    ..=TAG_SPAN_LAST => self.scalar(bytes, raw, &mut allowance)?,
                    TAG_OBJECT | TAG_ARRAY => {
                        let cursor = Cursor::new(bytes, raw)?;
                        allowance.container(cursor.places(bytes)?)?;
                        match cursor.node {
                            Node::Array(_) => self.begin_array()?,
                            _ => self.begin_object()?,
                        }
                        stack.push(cursor);
                    }
                    _ => return Err(Error::new(ErrorKind::Unsupported, raw.position.into())),
                }
            }
            let Some(cursor) = stack.last_mut() else { return Ok(()) };
            match cursor.next(bytes)? {
                Some((index, raw)) => {
                    if let Some(key) = cursor.key(bytes, index)? {
                        allowance.key(key.len())?;
                        self.key(text(key, 0)?)?;
                    }
                    next = Some(raw);
                }
                None => {
                    match cursor.node {
                        Node::Array(_) => self.end_array()?,
                        _ => self.end_object()?,
                    }
                    stack.pop();
                }
            }
        }
    }

    fn scalar(&mut self, document: &[u8], raw: Raw, allowance: &mut Allowance) -> Result<()> {
        allowance.value()?;
        if raw.tag <= TAG_IMMEDIATE_LAST {
            check_immediate(raw)?;
            return self.push(raw.tag, raw.cell);
        }
        let bytes = span_bytes(document, raw.cell, raw.position.into())?;
        allowance.text(bytes.len())?;
        match raw.tag {
            TAG_STRING => self.str(text(bytes, span_offset(raw.cell, raw.position))?),
            TAG_NUMBER => self.number_text(text(bytes, span_offset(raw.cell, raw.position))?),
            tag => {
                let cell = self.span(bytes)?;
                self.push(tag, cell)
            }
        }
    }

    /// Puts a value on the stack.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn push(&mut self, tag: u8, cell: u64) -> Result<()> {
        if self.expected_value(tag, cell)? {
            return Ok(());
        }
        match self.frames.last_mut() {
            Some(frame) => match frame.state {
                State::Array => {}
                State::Rows => return self.push_unexpected(tag, cell),
                State::Value => frame.state = State::Key,
                State::MapValue(keys) => frame.state = State::MapKey(keys),
                State::Replace(place) => {
                    frame.state = State::Key;
                    self.cells[place] = cell;
                    self.tags[place] = tag;
                    return Ok(());
                }
                _ => return Err(sequence()),
            },
            None if self.cells.is_empty() => {}
            None => return Err(sequence()),
        }
        self.put(tag, cell)
    }

    #[cold]
    fn push_unexpected(&mut self, tag: u8, cell: u64) -> Result<()> {
        self.expect_nothing()?;
        self.push(tag, cell)
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn put(&mut self, tag: u8, cell: u64) -> Result<()> {
        if self.cells.len() == self.cells.capacity() {
            self.grow_stack()?;
        }
        self.cells.push(cell);
        self.tags.push(tag);
        Ok(())
    }

    #[cold]
    fn grow_stack(&mut self) -> Result<()> {
        make_room(&mut self.cells)?;
        self.tags.reserve_exact(self.cells.capacity() - self.tags.len());
        Ok(())
    }

    // --- text ---------------------------------------------------------------

    /// Writes bytes that one cell will own.
    fn store(&mut self, text: &[u8]) -> Result<u64> {
        self.out.store(text, self.options.limits.string)
    }

    fn span(&mut self, bytes: &[u8]) -> Result<u64> {
        if bytes.len() <= MAX_INLINE { Ok(inline_span(bytes)) } else { self.store(bytes) }
    }

    /// Finds equal text, or writes it.
    fn intern(&mut self, text: &[u8]) -> Result<u32> {
        let recent = Needle::new(text).fingerprint as usize % RECENT;
        let number = self.recent[recent];
        if let Some(found) = self.texts.get(number as usize)
            && found.length as usize == text.len()
            && let Some(written) = self.out.bytes().get(found.offset as usize..)
            && written.starts_with(text)
        {
            self.repeats.searched(true);
            self.share(number);
            return Ok(number);
        }
        let hash = self.hasher.hash_one(text);
        make_room(&mut self.texts)?;
        let (texts, out) = (&self.texts, &self.out);
        let equal = |&number: &u32| {
            let found = &texts[number as usize];
            found.length as usize == text.len()
                && out.bytes()[found.offset as usize..][..text.len()] == *text
        };
        let hash_of = |&number: &u32| texts[number as usize].hash;
        make_room_in(&mut self.text_table, hash_of);
        let place = match self.text_table.entry(hash, equal, hash_of) {
            Entry::Vacant(place) => place,
            Entry::Occupied(place) => {
                let number = *place.get();
                self.recent[recent] = number;
                self.repeats.searched(true);
                self.share(number);
                return Ok(number);
            }
        };
        self.repeats.searched(false);
        let offset = self.out.store(text, self.options.limits.string)? as u32;
        let number = self.texts.len() as u32;
        place.insert(number);
        self.recent[recent] = number;
        self.texts.push(Text { hash, offset, length: text.len() as u32, cell: WAITING });
        Ok(number)
    }

    /// A further cell refers to this text.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn share(&mut self, number: u32) {
        let found = &mut self.texts[number as usize];
        if found.cell != SHARED {
            if found.cell != WAITING {
                // The cell that thought itself the owner shares from now on.
                let word = found.length & !SPAN_OWNED;
                let at = found.cell + 4;
                self.out.put_u32(at, word);
            }
            found.cell = SHARED;
        }
    }

    // --- containers ---------------------------------------------------------

    #[inline]
    fn begin(&mut self, state: State) -> Result<()> {
        if self.expected_begin(state) { Ok(()) } else { self.begin_unexpected(state) }
    }

    #[inline(never)]
    fn begin_unexpected(&mut self, state: State) -> Result<()> {
        match self.frames.last() {
            Some(Frame { state: State::Rows, .. }) => {
                self.expect_nothing()?;
                return self.begin_unexpected(state);
            }
            Some(frame) if matches!(frame.state, State::Key | State::MapKey(_)) => {
                return Err(sequence());
            }
            None if !self.cells.is_empty() => return Err(sequence()),
            _ => {}
        }
        let limit = self.options.limits.nesting as usize;
        if self.frames.len() >= limit {
            return Err(Error::with_detail(ErrorKind::NestingLimit, 0, limit as u64));
        }
        if self.outermost.is_some() {
            self.begin_waiting(state)?;
        } else if state == State::Array && self.options.tables {
            self.outermost = Some(self.frames.len());
            self.shred.restart(self.cells.len());
        }
        self.frames.push(Frame { start: self.cells.len(), node: 0, mark: 0, state, plain: 0 });
        Ok(())
    }

    /// Puts a container on the stack that is to wait there.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn begin_waiting(&mut self, state: State) -> Result<()> {
        if state == State::Array {
            return self.push(TAG_WAITING_ARRAY, 0);
        }
        self.push(TAG_WAITING_OBJECT, 0)?;
        self.put(TAG_WAITING_SIZE, 0)
    }

    /// Ends a waiting object of this key list.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn end_waiting_object(&mut self, start: usize, node: u32) -> Result<()> {
        let count = u32::from(self.nodes[node as usize].depth);
        self.check_elements(count as usize)?;
        let places = self.cells.len() - start;
        let plain = self.frames.pop().map_or(0, |frame| frame.plain) + record_size(count) as u64;
        self.cells[start - 2] = node as u64 | (places as u64) << 32;
        if places == 0 {
            self.cells.truncate(start - 1);
            self.tags.truncate(start - 1);
        } else {
            self.cells[start - 1] = plain;
        }
        self.add_plain(plain);
        Ok(())
    }

    /// Ends a waiting array.
    fn end_waiting_array(&mut self, start: usize) -> Result<()> {
        let places = self.cells.len() - start;
        let (mut summary, mut at) = (plan::Summary::default(), start);
        while at < self.cells.len() {
            summary.add(self.tags[at], self.cells[at]);
            at += plan::places(&self.tags, &self.cells, at);
        }
        self.check_elements(summary.count as usize)?;
        let mut plain = self.frames.pop().map_or(0, |frame| frame.plain);
        plain += match summary.count {
            0 => 8,
            _ => ARRAY_SIZE as u64 + summary.leaf(self.options.min_width).size,
        };
        // Documents are smaller than 4 GiB; what is not is refused when it is written.
        self.cells[start - 1] = places as u64 | plain.min(u32::MAX as u64) << 32;
        self.add_plain(plain);
        Ok(())
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn add_plain(&mut self, plain: u64) {
        if let Some(frame) = self.frames.last_mut() {
            frame.plain += plain;
        }
    }

    /// Begins an object.
    ///
    /// # Errors
    /// As [`null`](Self::null), and [`ErrorKind::NestingLimit`].
    #[inline]
    pub fn begin_object(&mut self) -> Result<()> {
        self.begin(State::Key)
    }

    /// Begins an array.
    ///
    /// # Errors
    /// As [`begin_object`](Self::begin_object).
    #[inline]
    pub fn begin_array(&mut self) -> Result<()> {
        self.begin(State::Array)
    }

    /// The key of the value that comes next.
    ///
    /// # Errors
    /// As [`null`](Self::null), [`ErrorKind::StringLimit`], and
    /// [`ErrorKind::DuplicateKey`] where the options refuse duplicates (for
    /// objects stored as maps, when the object ends).
    #[inline]
    pub fn key(&mut self, key: &str) -> Result<()> {
        let text = key.as_bytes();
        let Some(frame) = self.frames.last_mut() else { return Err(sequence()) };
        if frame.state != State::Key {
            return self.expected_or_map_key(text);
        }
        let child = self.nodes[frame.node as usize].child;
        if self.key_text_is(child, text) {
            self.take_key(child);
            return Ok(());
        }
        self.other_key(text)
    }

    #[inline(never)]
    fn expected_or_map_key(&mut self, text: &[u8]) -> Result<()> {
        match self.expected_key() {
            0 => self.other_key(text),
            child if self.key_text_is(child, text) => {
                self.key_came();
                Ok(())
            }
            _ => self.other_key(text),
        }
    }

    /// Whether this is the last key of a key list.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn key_text_is(&self, list: u32, text: &[u8]) -> bool {
        let expected = &self.nodes[list as usize];
        let start = expected.start as usize;
        list != 0
            && expected.length as usize == text.len()
            && self.key_text.get(start..start + text.len()).is_some_and(|key| equal(key, text))
    }

    /// The expected key comes, which makes this key list.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn take_key(&mut self, child: u32) {
        match self.frames.last_mut() {
            Some(frame) if frame.state == State::Key => {
                (frame.node, frame.state) = (child, State::Value);
            }
            _ => self.key_came(),
        }
    }

    /// The key list that the expected key makes; 0 where none is expected.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn next_key(&self) -> u32 {
        match (self.expected_key(), self.frames.last()) {
            (0, Some(frame)) if frame.state == State::Key => self.nodes[frame.node as usize].child,
            (expected, _) => expected,
        }
    }

    /// [`key`](Self::key), where the text is static: it need not be compared again.
    #[cfg(feature = "serde")]
    #[inline]
    pub(crate) fn key_static(&mut self, key: &'static str) -> Result<()> {
        let (address, child) = (key.as_ptr().addr(), self.next_key());
        let expected = &self.nodes[child as usize];
        if expected.address == address && expected.length as usize == key.len() && child != 0 {
            self.take_key(child);
            return Ok(());
        }
        self.new_key_static(key)
    }

    #[cfg(feature = "serde")]
    #[inline(never)]
    fn new_key_static(&mut self, key: &'static str) -> Result<()> {
        self.key(key)?;
        let list = self.key_list();
        if list != 0 {
            self.nodes[list as usize].address = key.as_ptr().addr();
        }
        Ok(())
    }

    /// The number of the innermost object's key list; 0 where it has no keys, or is a map.
    ///
    /// Until the encoder ends or restarts, a number stands for the same keys. So a caller
    /// whose keys are objects can keep the last one of each list, and recognise it by its
    /// address where it is expected ([`key_if`](Self::key_if)): text need not be compared.
    #[inline]
    pub fn key_list(&self) -> u32 {
        match self.frames.last() {
            Some(Frame { state: State::Rows, .. }) => self.expected_list(),
            frame => frame.map_or(0, |frame| frame.node),
        }
    }

    /// Gives the key that is expected, where `is_same` says so of its
    /// [list](Self::key_list): that to which the object most lately in this state went on.
    /// False where none is expected or it is another: nothing has happened then.
    ///
    /// ```
    /// # let mut encoder = livebuf::Encoder::new();
    /// encoder.begin_array()?;
    /// encoder.begin_object()?;
    /// encoder.key("lap")?;
    /// let lap = encoder.key_list();
    /// encoder.i64(1)?;
    /// encoder.end_object()?;
    /// encoder.begin_object()?;
    /// assert!(encoder.key_if(|list| list == lap)); // "lap" again
    /// encoder.i64(2)?;
    /// assert!(!encoder.key_if(|_| true));
    /// encoder.end_object()?;
    /// encoder.end_array()?;
    /// let doc = encoder.finish()?;
    /// assert_eq!(doc.doc().pointer("/1/lap")?.unwrap().as_i64(), Some(2));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[inline]
    pub fn key_if(&mut self, is_same: impl FnOnce(u32) -> bool) -> bool {
        let child = self.next_key();
        let taken = child != 0 && is_same(child);
        if taken {
            self.take_key(child);
        }
        taken
    }

    /// A key that does not follow the way most lately taken.
    #[inline(never)]
    fn other_key(&mut self, text: &[u8]) -> Result<()> {
        let Some(frame) = self.frames.last() else { return Err(sequence()) };
        if frame.state == State::Rows {
            self.expect_nothing()?;
            return match self.frames.last() {
                Some(Frame { state: State::Key, .. }) => self.other_key(text),
                _ => self.map_key(text),
            };
        }
        if frame.state != State::Key {
            return self.map_key(text);
        }
        let (node, start) = (frame.node, frame.start);
        if text.len() > MAX_SHAPE_KEY || usize::from(self.nodes[node as usize].depth) == MAX_FIELDS
        {
            self.become_map()?;
            return self.map_key(text);
        }
        if let Some(child) = self.child_of(node, text) {
            return self.follow(node, child);
        }
        let key = self.key_number(text)?;
        let child = match self.child_in_table(node, key) {
            Some(child) => child,
            None => {
                // Only a new way can hold a key twice.
                if let Some(depth) = self.depth_of(node, key) {
                    return self.duplicate(start + depth as usize - 1, text);
                }
                self.add_child(node, key)?
            }
        };
        self.follow(node, child)
    }

    fn follow(&mut self, node: u32, child: u32) -> Result<()> {
        self.nodes[node as usize].child = child;
        if let Some(frame) = self.frames.last_mut() {
            frame.node = child;
            frame.state = State::Value;
        }
        Ok(())
    }

    /// The child of `node` by this key, of those that are not in the table: cheaper than to
    /// hash the text.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn child_of(&self, node: u32, text: &[u8]) -> Option<u32> {
        let mut child = self.nodes[node as usize].last;
        while child != 0 {
            let found = &self.nodes[child as usize];
            if usize::from(found.length) == text.len()
                && self.key_text.get(found.start as usize..)?.starts_with(text)
            {
                return Some(child);
            }
            child = found.sibling;
        }
        None
    }

    /// Where the innermost object has this key already, and marks it as its own otherwise.
    ///
    /// Each key knows the object that marked it last. Marks rise, and an object marks all
    /// keys that it has before a further one: so one that this object marked is in it, one
    /// with an older mark is not, and only with a newer one, of an object within this, its
    /// keys must be gone through.
    fn depth_of(&mut self, node: u32, key: u32) -> Option<u32> {
        let frame = self.frames.last_mut()?;
        let first = frame.mark == 0;
        if first {
            self.mark += 1;
            frame.mark = self.mark;
        }
        let mark = frame.mark;
        let user = core::mem::replace(&mut self.keys[key as usize].user, mark);
        if !first && user < mark {
            return None;
        }
        let mut ancestor = node;
        while ancestor != 0 {
            let found = self.nodes[ancestor as usize];
            if found.key == key {
                return Some(found.depth.into());
            }
            self.keys[found.key as usize].user = mark;
            ancestor = found.parent;
        }
        None
    }

    /// The key list of `node` and one key more, if it was met.
    fn find_child(&self, node: u32, key: u32) -> Option<u32> {
        let mut child = self.nodes[node as usize].last;
        while child != 0 {
            let found = &self.nodes[child as usize];
            if found.key == key {
                return Some(child);
            }
            child = found.sibling;
        }
        self.child_in_table(node, key)
    }

    /// The same, of those that are not listed at the node.
    fn child_in_table(&self, node: u32, key: u32) -> Option<u32> {
        if self.nodes[node as usize].children <= FEW_CHILDREN {
            return None;
        }
        let equal = |&child: &u32| {
            let child = &self.nodes[child as usize];
            child.parent == node && child.key == key
        };
        self.node_table.find(self.hasher.hash_one((node, key)), equal).copied()
    }

    fn add_child(&mut self, node: u32, key: u32) -> Result<u32> {
        let child = self.nodes.len() as u32;
        let depth = self.nodes[node as usize].depth.saturating_add(1);
        make_room(&mut self.nodes)?;
        let KeyText { start, length, .. } = self.keys[key as usize];
        let parent = &mut self.nodes[node as usize];
        parent.children = parent.children.saturating_add(1);
        let few = parent.children <= FEW_CHILDREN;
        let sibling = if few { core::mem::replace(&mut parent.last, child) } else { 0 };
        let list =
            KeyList { parent: node, key, start, length, depth, sibling, ..KeyList::default() };
        self.nodes.push(list);
        if few {
            return Ok(child);
        }
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        let hash_of = |&child: &u32| {
            let child = &nodes[child as usize];
            hasher.hash_one((child.parent, child.key))
        };
        make_room_in(&mut self.node_table, hash_of);
        self.node_table.insert_unique(hasher.hash_one((node, key)), child, hash_of);
        Ok(child)
    }

    /// The key list of `node` and one key more.
    fn longer_list(&mut self, node: u32, key: u32) -> Result<u32> {
        match self.find_child(node, key) {
            Some(child) => Ok(child),
            None => self.add_child(node, key),
        }
    }

    #[cold]
    fn duplicate(&mut self, place: usize, text: &[u8]) -> Result<()> {
        if self.options.duplicate_keys == DuplicateKeys::Error {
            return Err(Error::new(ErrorKind::DuplicateKey, 0));
        }
        self.replaced = true;
        if self.outermost.is_some() {
            // Values that wait have no fixed place: a map sorts out its duplicates.
            self.become_map()?;
            return self.map_key(text);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.state = State::Replace(place);
        }
        Ok(())
    }

    fn key_number(&mut self, text: &[u8]) -> Result<u32> {
        make_room(&mut self.keys)?;
        let (keys, key_text, hasher) = (&self.keys, &self.key_text, &self.hasher);
        let text_of = |number: u32| {
            let key = &keys[number as usize];
            &key_text[key.start as usize..][..key.length as usize]
        };
        let equal = |&number: &u32| text_of(number) == text;
        let hash_of = |&number: &u32| hasher.hash_one(text_of(number));
        make_room_in(&mut self.key_table, hash_of);
        let place = match self.key_table.entry(hasher.hash_one(text), equal, hash_of) {
            Entry::Vacant(place) => place,
            Entry::Occupied(place) => return Ok(*place.get()),
        };
        let number = keys.len() as u32;
        place.insert(number);
        self.keys.push(KeyText {
            start: self.key_text.len() as u32,
            length: text.len() as u8,
            fingerprint: Needle::new(text).fingerprint,
            user: 0,
            written: 0,
        });
        self.key_text.extend_from_slice(text);
        Ok(number)
    }

    // --- objects too big for a record ---------------------------------------

    #[cold]
    fn become_map(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last_mut() else { return Err(sequence()) };
        let first = self.map_keys.len();
        frame.state = State::MapKey(first);
        let mut node = self.nodes[frame.node as usize];
        frame.node = 0;
        let key_text = core::mem::take(&mut self.key_text);
        while node.depth > 0 {
            let key = &self.keys[node.key as usize];
            let (start, length) = (key.start as usize, key.length as usize);
            let cell = self.span(&key_text[start..start + length])?;
            self.map_keys.push(cell);
            node = self.nodes[node.parent as usize];
        }
        self.key_text = key_text;
        self.map_keys[first..].reverse();
        Ok(())
    }

    #[inline(never)]
    fn map_key(&mut self, text: &[u8]) -> Result<()> {
        match self.frames.last() {
            Some(&Frame { state: State::MapKey(first), .. }) => {
                let cell = self.span(text)?;
                self.map_keys.push(cell);
                if let Some(frame) = self.frames.last_mut() {
                    frame.state = State::MapValue(first);
                }
                Ok(())
            }
            _ => Err(sequence()),
        }
    }

    fn map_key_text(&self, first: usize, index: u32) -> &[u8] {
        let position = &self.map_keys[first + index as usize];
        let cell = *position;
        if cell >> 63 == 1 {
            // Inline: the text is the cell's own first bytes.
            let length = (cell >> 56 & 0x7F) as usize;
            &bytemuck::bytes_of(position)[..length]
        } else {
            let length = (cell >> 32) as u32 & MAX_SPAN;
            &self.out.bytes()[cell as u32 as usize..][..length as usize]
        }
    }

    /// Entry numbers by key order, each key once; a duplicate's last value moves to its first place.
    fn sort_map(&mut self, first: usize, start: usize) -> Result<Vec<u32>> {
        let count = (self.map_keys.len() - first) as u32;
        let text = |&(_, index): &(u64, u32)| self.map_key_text(first, index);
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(count as usize);
        order.extend((0..count).map(|index| (map::first_eight(text(&(0, index))), index)));
        order.sort_unstable_by_key(|&(start, _)| start);
        let (mut doubles, mut moves) = (Vec::new(), Vec::new());
        for alike in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            alike.sort_unstable_by(|a, b| text(a).cmp(text(b)).then(a.1.cmp(&b.1)));
            for equal in alike.chunk_by(|a, b| text(a) == text(b)) {
                if let [kept, .., last] = equal {
                    moves.push((kept.1 as usize, last.1 as usize));
                    doubles.extend(equal[1..].iter().map(|&(_, index)| index));
                }
            }
        }
        let mut sorted: Vec<u32> = order.into_iter().map(|(_, index)| index).collect();
        if doubles.is_empty() {
            return Ok(sorted);
        }
        if self.options.duplicate_keys == DuplicateKeys::Error {
            return Err(Error::new(ErrorKind::DuplicateKey, 0));
        }
        self.replaced = true;
        for (kept, last) in moves {
            self.cells[start + kept] = self.cells[start + last];
            self.tags[start + kept] = self.tags[start + last];
        }
        doubles.sort_unstable();
        // Take the doubles out of the entries, and renumber the order.
        let mut next = 0;
        let mut renumbered = alloc::vec![u32::MAX; count as usize];
        for (index, place) in renumbered.iter_mut().enumerate() {
            if doubles.binary_search(&(index as u32)).is_err() {
                *place = next as u32;
                self.map_keys[first + next] = self.map_keys[first + index];
                self.cells[start + next] = self.cells[start + index];
                self.tags[start + next] = self.tags[start + index];
                next += 1;
            }
        }
        self.map_keys.truncate(first + next);
        self.cells.truncate(start + next);
        self.tags.truncate(start + next);
        sorted.retain_mut(|index| {
            *index = renumbered[*index as usize];
            *index != u32::MAX
        });
        Ok(sorted)
    }

    fn end_map(&mut self, start: usize, first: usize) -> Result<u32> {
        if self.outermost.is_some() {
            self.settle_waiting(start)?;
        }
        let sorted = self.sort_map(first, start)?;
        let count = (self.cells.len() - start) as u32;
        self.check_elements(count as usize)?;
        self.out.align();
        let (home, _) = self.out.grow(MAP_SIZE as usize)?;
        let size = entries_size(count as u64) as usize;
        let (entries, place) = self.out.grow(size)?;
        for index in 0..count {
            let (key, tag) = (entry_key_at(index), entry_tag_at(index) as usize);
            let position = entries + key as u32 + 8;
            let at = start + index as usize;
            let (value_tag, value) =
                settle(&mut self.texts, self.tags[at], self.cells[at], position);
            let key = key as usize;
            place[tag] = value_tag;
            place[key..key + 8]
                .copy_from_slice(&self.map_keys[first + index as usize].to_le_bytes());
            place[key + 8..key + 16].copy_from_slice(&value.to_le_bytes());
        }
        let root = self.build_index(entries, &sorted)?;
        let header = [KIND_MAP as u32, count, count, count, entries, root];
        for (word, at) in header.into_iter().zip(0u32..) {
            self.out.put_u32(home + 4 * at, word);
        }
        self.map_keys.truncate(first);
        Ok(home)
    }

    fn build_index(&mut self, entries: u32, sorted: &[u32]) -> Result<u32> {
        self.out.align();
        if sorted.len() > MANY_ENTRIES {
            // Its nodes do not lie across pages, and the topmost share one.
            self.out.used = self.out.used.next_multiple_of(4096);
        }
        let mut nodes = alloc::vec![0; map::index_size(sorted.len()) as usize];
        let (root, _) = self.out.grow(nodes.len())?;
        map::build(self.out.bytes(), entries, sorted, root.into(), &mut nodes)?;
        self.out.storage.bytes_mut()[root as usize..][..nodes.len()].copy_from_slice(&nodes);
        Ok(if sorted.is_empty() { 0 } else { root })
    }

    // --- ends ---------------------------------------------------------------

    /// Ends the object that began last.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn end_object(&mut self) -> Result<()> {
        if self.expected_end_object()? { Ok(()) } else { self.end_unexpected_object() }
    }

    #[inline(never)]
    fn end_unexpected_object(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last() else { return Err(sequence()) };
        if frame.state == State::Rows {
            self.expect_nothing()?;
            return self.end_unexpected_object();
        }
        let (start, node) = (frame.start, frame.node);
        let waits = self.outermost.is_some();
        let home = match frame.state {
            State::Key if waits => {
                self.end_waiting_object(start, node)?;
                return self.row_ended();
            }
            State::Key => self.end_record(start, node)?,
            State::MapKey(first) => self.end_map(start, first)?,
            _ => return Err(sequence()),
        };
        if waits {
            // The place that waited for a record holds the map.
            self.frames.pop();
            self.cells.truncate(start - 1);
            self.tags.truncate(start - 1);
            self.cells[start - 2] = home as u64;
            self.tags[start - 2] = TAG_OBJECT;
            return Ok(());
        }
        self.end(start, TAG_OBJECT, home)
    }

    /// A container ended that may be a row of the outermost array.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn row_ended(&mut self) -> Result<()> {
        let is_row = self.outermost.is_some_and(|outermost| outermost + 1 == self.frames.len());
        if self.cells.len() >= self.shred.due && is_row { self.shred() } else { Ok(()) }
    }

    fn check_elements(&self, count: usize) -> Result<()> {
        let limit = self.options.limits.elements;
        if count > limit as usize {
            return Err(Error::with_detail(ErrorKind::ElementLimit, 0, limit as u64));
        }
        Ok(())
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    fn end(&mut self, start: usize, tag: u8, home: u32) -> Result<()> {
        self.frames.pop();
        self.cells.truncate(start);
        self.tags.truncate(start);
        self.push(tag, home as u64)
    }

    fn end_record(&mut self, start: usize, node: u32) -> Result<u32> {
        let count = self.cells.len() - start;
        self.check_elements(count)?;
        self.out.align();
        let (home, place) = self.out.grow(record_size(count as u32) as usize)?;
        let (list, count) = (&mut self.nodes[node as usize], count as u32);
        let header = Record::header_word(count, count, count, list.records);
        if count > 0 {
            list.records = home;
            list.count += 1;
        }
        let (header_place, place) = place.split_at_mut(RECORD_CELLS as usize);
        header_place.copy_from_slice(&header.to_le_bytes());
        let (tags, cells) = (&self.tags[start..], &self.cells[start..]);
        put_tagged(&mut self.texts, place, home + RECORD_CELLS, tags, cells);
        Ok(home)
    }

    /// Ends the array that began last.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn end_array(&mut self) -> Result<()> {
        if self.expected_end_array()? { Ok(()) } else { self.end_unexpected_array() }
    }

    #[inline(never)]
    fn end_unexpected_array(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last() else { return Err(sequence()) };
        if frame.state == State::Rows {
            self.expect_nothing()?;
            return self.end_unexpected_array();
        }
        if frame.state != State::Array {
            return Err(sequence());
        }
        let start = frame.start;
        match self.outermost {
            Some(outermost) if outermost + 1 < self.frames.len() => {
                self.end_waiting_array(start)?;
                return self.row_ended();
            }
            Some(_) => self.outermost = None,
            None => {}
        }
        let home = self.lay_out_array(start)?;
        self.shred.stop();
        self.end(start, TAG_ARRAY, home)?;
        if self.cells.capacity() > KEPT_PLACES {
            self.cells.shrink_to(KEPT_PLACES.max(self.cells.len()));
            self.tags.shrink_to(KEPT_PLACES.max(self.tags.len()));
            self.places.shrink_to(KEPT_PLACES);
        }
        Ok(())
    }

    // --- the end ------------------------------------------------------------

    /// Writes the shapes and the header; gives the storage, its used bytes and the limits.
    pub(crate) fn into_storage(mut self) -> Result<(S, u32, Limits)> {
        let used = self.complete()?;
        Ok((self.out.storage, used, self.options.limits))
    }

    /// The same, to [`restart`](Self::restart) afterwards: until then the encoder is in
    /// empty storage.
    pub(crate) fn take_storage(&mut self) -> Result<(S, u32, Limits)>
    where
        S: Default,
    {
        let used = self.complete()?;
        Ok((core::mem::take(&mut self.out.storage), used, self.options.limits))
    }

    /// Writes what comes last; the bytes that are used.
    fn complete(&mut self) -> Result<u32> {
        if !self.frames.is_empty() || self.cells.len() != 1 {
            return Err(sequence());
        }
        let newest = self.write_shapes()?;
        let (tag, cell) = settle(&mut self.texts, self.tags[0], self.cells[0], HEADER_ROOT_CELL);
        self.out.align();
        let used = self.out.used;
        // An empty document still has its header.
        self.out.reserve(used as u64)?;
        let bytes = self.out.storage.bytes_mut();
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[HEADER_VERSION as usize] = VERSION;
        bytes[HEADER_ROOT_CELL as usize..][..8].copy_from_slice(&cell.to_le_bytes());
        bytes[HEADER_ROOT_TAG as usize] = tag;
        bytes[HEADER_USED as usize..][..4].copy_from_slice(&(used as u32).to_le_bytes());
        bytes[HEADER_NEWEST_SHAPE as usize..][..4].copy_from_slice(&newest.to_le_bytes());
        if self.replaced {
            let mut again = Encoder::with_options(self.options);
            again.value(&Doc::over(&bytes[..used]).root())?;
            let again = again.finish()?;
            let again = again.as_bytes();
            // Shorter as a rule, but what is searched for sharing may differ.
            self.out.reserve(again.len() as u64)?;
            let bytes = self.out.storage.bytes_mut();
            bytes[..used].fill(0);
            bytes[..again.len()].copy_from_slice(again);
            return Ok(again.len() as u32);
        }
        Ok(used as u32)
    }

    /// Writes a shape for every leaf of the trie that records need, patches the
    /// records, and returns the newest shape.
    fn write_shapes(&mut self) -> Result<u32> {
        // Children come after parents: one pass backwards finds, for each node,
        // the first child below which there are records.
        for node in &mut self.nodes {
            node.child = 0;
        }
        for index in (1..self.nodes.len()).rev() {
            let node = self.nodes[index];
            if node.records != 0 || node.child != 0 {
                self.nodes[node.parent as usize].child = index as u32;
            }
        }
        let mut newest = 0;
        for index in 1..self.nodes.len() {
            let leaf = self.nodes[index];
            if leaf.child != 0 || leaf.records == 0 {
                continue;
            }
            let shape = self.write_shape(leaf, newest)?;
            newest = shape;
            // The shape serves the leaf and every ancestor whose first needed child leads here.
            let (mut at, mut users) = (index as u32, 0);
            loop {
                let node = self.nodes[at as usize];
                users += node.count;
                let mut record = node.records;
                while record != 0 {
                    let bytes = self.out.bytes();
                    let before = crate::format::bytes::load_u32(bytes, record as u64 + 4)?;
                    self.out.put_u32(record + 4, shape);
                    record = before;
                }
                if node.parent == 0 || self.nodes[node.parent as usize].child != at {
                    break;
                }
                at = node.parent;
            }
            if users == 1 {
                let at = shape as usize + SHAPE_FLAGS as usize;
                self.out.storage.bytes_mut()[at] = SHAPE_PRIVATE;
            }
        }
        Ok(newest)
    }

    fn write_shape(&mut self, leaf: KeyList, older: u32) -> Result<u32> {
        // Text of long keys first, so that the shape is whole.
        let mut node = leaf;
        while node.depth > 0 {
            let key = &self.keys[node.key as usize];
            let (start, length) = (key.start as usize, key.length as usize);
            if length > MAX_INLINE && key.written == 0 {
                let (offset, place) = self.out.grow(length)?;
                place.copy_from_slice(&self.key_text[start..start + length]);
                self.keys[node.key as usize].written = offset;
            }
            node = self.nodes[node.parent as usize];
        }
        self.out.align();
        let count = u32::from(leaf.depth);
        let (shape, place) = self.out.grow(shape_size(count) as usize)?;
        place[..4].copy_from_slice(&[KIND_SHAPE, count as u8, count as u8, 0]);
        place[SHAPE_OLDER as usize..][..4].copy_from_slice(&older.to_le_bytes());
        let mut node = leaf;
        while node.depth > 0 {
            let key = &self.keys[node.key as usize];
            let index = node.depth as usize - 1;
            place[SHAPE_FINGERPRINTS as usize + index] = key.fingerprint;
            let text = &self.key_text[key.start as usize..][..key.length as usize];
            let cell = match key.written {
                0 => inline_span(text),
                offset => span_at(offset, key.length.into(), false),
            };
            place[shape_keys(count) as usize + 8 * index..][..8]
                .copy_from_slice(&cell.to_le_bytes());
            node = self.nodes[node.parent as usize];
        }
        Ok(shape)
    }
}

/// Writes tagged cells (FORMAT 3.4).
#[cfg_attr(not(feature = "small"), inline(always))]
fn put_tagged(texts: &mut [Text], place: &mut [u8], mut position: u32, tags: &[u8], cells: &[u64]) {
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
#[cfg_attr(not(feature = "small"), inline(always))]
fn settle(texts: &mut [Text], tag: u8, cell: u64, position: u32) -> (u8, u64) {
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
