//! The encoder: its state, and the steps that all parts of it share.

use super::hash_index::HashIndex;
use super::keys::Keys;
use super::options::EncodeOptions;
use super::output::Output;
use super::plan::{Summary, object_size};
use super::room::{expect_values, make_room, make_room_for, memory};
use super::shred::Shred;
use super::stack::run;
use super::tensors::Tensors;
use super::texts::{Texts, put_tagged};
use crate::block::record::Record;
use crate::error::{Error, ErrorKind, Result};
use crate::format::cell::inline_span;
use crate::format::layout::*;
use crate::store::storage::{Storage, VecStorage};
#[cfg(feature = "serde")]
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Builds a document from events, as JSON would give them.
///
/// The same events give the same bytes (profile `livebuf-1`).
///
/// Beside the result it takes memory, in bytes:
///
/// - the text of the outermost open array, or map of similar objects;
/// - 9 for each value of the open containers, and 4 for each whose place is listed while columns
///   are planned;
/// - 9 for each slot of one column of texts, while its dictionary is planned;
/// - 2 for each slot of a dictionary, and about 60 for each of its texts;
/// - about 60 for each key of a distinct key list, and about 30 and its text for each different
///   key; the objects of an outermost array make at most 1,048,576 lists of more than 255 keys;
/// - about 50 for each different text of 8 to 1,024 bytes that is searched.
///
/// Lists grow ahead of their contents, so it may be twice as much.
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
    pub(super) options: EncodeOptions,
    pub(super) out: Output<S>,
    /// Values of open containers: cells and, apart, tags.
    pub(super) cells: Vec<u64>,
    pub(super) tags: Vec<u8>,
    pub(super) frames: Vec<Frame>,
    /// The places of the values of planned columns.
    pub(super) places: Vec<u32>,
    /// Elements that the outermost open array is to have; 0 where that is not known, or room for
    /// them was taken.
    pub(super) awaited: usize,
    /// Index of the outermost open array's frame, or that of a map of similar objects. All values
    /// within it wait.
    pub(super) outermost: Option<usize>,
    /// Rows of the outermost open array, if they are alike.
    pub(super) shred: Shred,
    pub(super) keys: Keys,
    pub(super) texts: Texts,
    /// Codes of the dictionary that is planned.
    pub(super) codes: HashIndex,
    pub(super) tensors: Tensors,
    /// Key cells of open objects that are too big for a record.
    pub(super) map_keys: Vec<[u8; 8]>,
    /// A duplicate key replaced a value, whose bytes are garbage, or a map's values wait or do not
    /// though they should: the document is encoded again at the end.
    pub(super) replaced: bool,
    pub(super) anew: Anew,
    /// Key lists that were there before. So a list's number never stands for other keys.
    pub(super) first_list: u32,
    /// The key that came twice, if that was refused.
    doubled: Option<Vec<u8>>,
    /// Reads the text of serde_json's `RawValue`.
    #[cfg(feature = "serde")]
    pub(crate) raw_json: Option<ReadJson<S>>,
}

/// Gives an encoder the value that JSON text is.
#[cfg(feature = "serde")]
pub type ReadJson<S = VecStorage> =
    fn(&mut Encoder<S>, &str) -> core::result::Result<(), Box<dyn core::error::Error>>;

/// Whether the encoder begins again when an object becomes a map, so that its values wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anew {
    May,
    /// It did already: once more would repeat too much.
    Did,
    /// It knows which maps are of similar objects.
    Never,
}

pub(super) struct Frame {
    /// First value on the stack.
    pub(super) start: usize,
    /// Trie node of an object; unused in arrays.
    pub(super) node: u32,
    /// The object's mark on its keys (`user` of a key); 0 while they have none.
    pub(super) mark: u32,
    pub(super) state: State,
    /// Size of the waiting containers in it, as records and plain arrays.
    pub(super) plain: u64,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum State {
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

#[cold]
pub(super) fn sequence() -> Error {
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

/// More values than a byte of any document holds, those that wait for the end of their array
/// included (`docs/bounds.md`). So a limit on the document bounds the memory of the encoder.
const MOST_VALUES: u64 = 1024;

impl<S: Storage> Encoder<S> {
    /// An encoder that writes to this storage, over its contents. All bytes behind the
    /// header's must be zero.
    pub fn in_storage(storage: S, mut options: EncodeOptions) -> Self {
        options.limits = options.limits.cut();
        Encoder {
            options,
            out: Output::new(storage, options.limits.document),
            cells: Vec::new(),
            tags: Vec::new(),
            frames: Vec::new(),
            places: Vec::new(),
            awaited: 0,
            outermost: None,
            shred: Shred::default(),
            keys: Keys::default(),
            texts: Texts::default(),
            codes: HashIndex::default(),
            tensors: Tensors::default(),
            map_keys: Vec::new(),
            replaced: false,
            anew: Anew::May,
            first_list: 0,
            doubled: None,
            #[cfg(feature = "serde")]
            raw_json: None,
        }
    }

    /// What reads raw JSON text (`serde_json::value::RawValue`) in values that serde serializes to
    /// this encoder: `livebuf_json::read_into`. Without it such text is an error.
    #[cfg(feature = "serde")]
    pub fn set_raw_json(&mut self, read: ReadJson<S>) {
        self.raw_json = Some(read);
    }

    /// Begins a new document, in other storage and with other options. The encoder keeps its
    /// own memory, so that many small documents cost few allocations. It keeps the keys of the
    /// documents before, too, as long as they are few, since the next one often has the same.
    ///
    /// Returns whether the numbers of [key lists](Self::key_list) stand for the same keys as
    /// before.
    pub fn restart(&mut self, storage: S, options: EncodeOptions) -> bool {
        self.out.storage = storage;
        self.set_options(options);
        self.begin_next()
    }

    /// Options for the document that begins now, of which no value has come yet. For bindings.
    #[doc(hidden)]
    pub fn set_options(&mut self, mut options: EncodeOptions) {
        options.limits = options.limits.cut();
        self.out.limit = options.limits.document;
        self.options = options;
    }

    /// Begins a new document, behind the header. Returns what [`restart`](Self::restart) does.
    pub(super) fn begin_next(&mut self) -> bool {
        self.out.used = HEADER_SIZE as usize;
        self.clear_values();
        let has_lists = self.first_list == 0 && self.keys.keep();
        if !has_lists {
            self.keys.clear();
        }
        (self.anew, self.first_list) = (Anew::May, 0);
        #[cfg(feature = "serde")]
        {
            self.raw_json = None;
        }
        has_lists
    }

    /// About how many bytes of memory [`restart`](Self::restart) keeps for the next document. The
    /// storage is not counted. O(columns of an array). A program that keeps an encoder for long
    /// can drop one that has grown large.
    ///
    /// ```
    /// use livebuf::{EncodeOptions, Encoder, VecStorage};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array()?;
    /// for number in 0..10_000 {
    ///     encoder.i64(number)?;
    /// }
    /// encoder.end_array()?;
    /// encoder.restart(VecStorage::default(), EncodeOptions::default());
    /// assert!(encoder.kept_bytes() > 80_000);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn kept_bytes(&self) -> usize {
        memory(&self.cells)
            + memory(&self.tags)
            + memory(&self.frames)
            + memory(&self.places)
            + memory(&self.map_keys)
            + self.shred.kept_bytes()
            + self.texts.kept_bytes()
            + self.codes.kept_bytes()
            + self.tensors.kept_bytes()
            + self.keys.kept_bytes()
    }

    /// Forgets all values that were given.
    pub(super) fn clear_values(&mut self) {
        self.cells.clear();
        self.tags.clear();
        self.frames.clear();
        self.places.clear();
        (self.awaited, self.outermost) = (0, None);
        self.shred.stop();
        self.texts.clear();
        self.tensors.clear();
        self.map_keys.clear();
        self.replaced = false;
        self.doubled = None;
    }

    /// The key that came twice, after an error [`ErrorKind::DuplicateKey`].
    ///
    /// ```
    /// use livebuf::{DuplicateKeys, EncodeOptions, Encoder};
    /// let options = EncodeOptions { duplicate_keys: DuplicateKeys::Error, ..Default::default() };
    /// let mut encoder = Encoder::with_options(options);
    /// encoder.begin_object()?;
    /// encoder.key("lap")?;
    /// encoder.i64(55)?;
    /// assert!(encoder.key("lap").is_err());
    /// assert_eq!(encoder.doubled_key(), Some("lap"));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn doubled_key(&self) -> Option<&str> {
        core::str::from_utf8(self.doubled.as_deref()?).ok()
    }

    /// The error for this key.
    #[cold]
    pub(super) fn came_twice(&mut self, key: Vec<u8>) -> Error {
        self.doubled = Some(key);
        Error::new(ErrorKind::DuplicateKey, 0)
    }

    /// Takes memory for the values of open containers that are still to come: those so far are
    /// `done` of `all`.
    pub(super) fn expect_more(&mut self, done: u64, all: u64) {
        let more_like = |count: usize| {
            let more = u128::from(all.saturating_sub(done)) * count as u128;
            usize::try_from(more / u128::from(done.max(1))).unwrap_or(usize::MAX)
        };
        let values = more_like(self.cells.len());
        expect_values(&mut self.tags, &mut self.cells, values);
        self.shred.expect(more_like);
        self.texts.expect(more_like(self.texts.waiting_bytes()));
    }

    /// About how many bytes of memory the values given so far take. O(columns of an open array).
    ///
    /// An open array of many rows is laid out when it ends, and then takes less. A program
    /// that makes documents of a stream of rows can end each one by this size.
    ///
    /// ```
    /// use livebuf::Encoder;
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array()?;
    /// while encoder.pending_bytes() < 10_000 {
    ///     encoder.i64(1)?;
    /// }
    /// encoder.end_array()?;
    /// assert!(encoder.finish()?.as_bytes().len() < 2_000);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn pending_bytes(&self) -> u64 {
        let waiting = self.texts.waiting_bytes() + self.tensors.waiting_bytes();
        (self.out.used + waiting) as u64 + 9 * self.waiting_values() as u64
    }

    /// Count of the values of open containers.
    pub(super) fn waiting_values(&self) -> usize {
        self.cells.len() + self.shred.count()
    }

    #[inline]
    pub(super) fn put(&mut self, tag: u8, cell: u64) -> Result<()> {
        if self.cells.len() == self.cells.capacity() {
            self.grow_stack()?;
        }
        self.cells.push(cell);
        self.tags.push(tag);
        Ok(())
    }

    #[cold]
    fn grow_stack(&mut self) -> Result<()> {
        self.check_values()?;
        make_room(&mut self.cells)?;
        let more = self.cells.capacity() - self.tags.len();
        // The room for cells stands for that of tags.
        make_room_for(&mut self.tags, more).inspect_err(|_| self.cells.shrink_to(0))
    }

    /// Makes sure that the document can hold the values that wait.
    pub(super) fn check_values(&self) -> Result<()> {
        let limit = self.options.limits.document;
        match self.waiting_values() as u64 / MOST_VALUES > limit {
            true => Err(Error::with_detail(ErrorKind::DocumentLimit, 0, limit)),
            false => Ok(()),
        }
    }

    /// Writes bytes that one cell will own.
    pub(super) fn store(&mut self, text: &[u8]) -> Result<u64> {
        self.out.store(text, self.options.limits.string)
    }

    pub(super) fn span(&mut self, bytes: &[u8]) -> Result<u64> {
        if bytes.len() <= MAX_INLINE { Ok(inline_span(bytes)) } else { self.store(bytes) }
    }

    /// Opens a container, whose values are those that are put next.
    #[inline]
    pub(super) fn open(&mut self, state: State) {
        self.frames.push(Frame { start: self.cells.len(), node: 0, mark: 0, state, plain: 0 });
    }

    /// Ends a waiting object of this key list.
    #[inline]
    pub(super) fn end_waiting_object(&mut self, start: usize, node: u32) -> Result<()> {
        let count = u32::from(self.keys.lists[node as usize].depth);
        self.check_elements(count as usize)?;
        let places = self.cells.len() - start;
        let plain = self.frames.pop().map_or(0, |frame| frame.plain) + object_size(count);
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
    pub(super) fn end_waiting_array(&mut self, start: usize) -> Result<()> {
        let (tags, cells) = (&self.tags[start..], &self.cells[start..]);
        let (places, inside) = (tags.len(), self.frames.last().map_or(0, |frame| frame.plain));
        let min_width = self.options.min_width;
        let (count, size) = if inside == 0 {
            // There are no containers in it.
            (places, Summary::size_of_array(tags, cells, min_width))
        } else {
            let mut summary = Summary::default();
            run(tags, cells, 0, places).for_each(|at| summary.add(tags[at], cells[at]));
            (summary.count as usize, summary.array_size(min_width))
        };
        self.check_elements(count)?;
        self.frames.pop();
        let plain = inside + size;
        // Documents are smaller than 4 GiB; a larger array is refused when it is written.
        self.cells[start - 1] = places as u64 | plain.min(u32::MAX as u64) << 32;
        self.add_plain(plain);
        Ok(())
    }

    #[inline]
    pub(super) fn add_plain(&mut self, plain: u64) {
        if let Some(frame) = self.frames.last_mut() {
            frame.plain += plain;
        }
    }

    pub(super) fn check_elements(&self, count: usize) -> Result<()> {
        let limit = self.options.limits.elements;
        if count > limit as usize {
            return Err(Error::with_detail(ErrorKind::ElementLimit, 0, limit as u64));
        }
        Ok(())
    }

    pub(super) fn end_record(&mut self, start: usize, node: u32) -> Result<u32> {
        let count = self.cells.len() - start;
        self.check_elements(count)?;
        self.out.align();
        let (home, place) = self.out.grow(record_size(count as u32) as usize)?;
        let (list, count) = (&mut self.keys.lists[node as usize], count as u32);
        let header = Record::header_word(count, count, count, list.records);
        if count > 0 {
            list.records = home;
            list.count = list.count.saturating_add(1);
        }
        let (header_place, place) = place.split_at_mut(RECORD_CELLS as usize);
        header_place.copy_from_slice(&header.to_le_bytes());
        let (tags, cells) = (&self.tags[start..], &self.cells[start..]);
        put_tagged(&mut self.texts.list, place, home + RECORD_CELLS, tags, cells);
        Ok(home)
    }
}
