//! Validation: one pass over everything a document holds.
//!
//! Every block and every owned text *claims* its bytes, and no byte may be claimed twice. So
//! blocks do not overlap, there are no circles, and the work is linear in the document's
//! size. Shared text may overlap shared text, but nothing owned. Bytes that are not claimed
//! are garbage. The same pass gives [`Stats`] and, for tools, every [`Region`].

use crate::block::absent::{self, Above};
use crate::block::column::{Elements, row_of};
use crate::block::column_type::{ColumnType, SlotKind};
use crate::block::list::List;
use crate::block::map;
use crate::block::owner::Owner;
use crate::block::record::{Block, Raw, Record, check_extended_span, check_immediate};
use crate::block::run;
use crate::block::shape::Shape;
use crate::block::table::{Table, check_orders, check_orders_header, extra};
use crate::block::tensor::check_tensor;
use crate::block::walk::{CHUNK, Cursor, Node, check_further};
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{
    check_zero, load_u8, load_u16, load_u32, load_u64, round_up, slice, text,
};
use crate::format::cell::{Needle, owned_span, span_bytes, span_inline, span_length, span_offset};
use crate::format::layout::*;
#[cfg(feature = "alloc")]
use crate::format::memory::zeros;
use crate::format::number::is_json_number;
#[cfg(feature = "alloc")]
use crate::view::Column;
use crate::view::{Doc, Mode, Valid, Value};

/// The use of some bytes of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RegionKind {
    /// The 32 bytes at the beginning.
    Header,
    /// The aux block: free-list heads and counters.
    Aux,
    /// A free block.
    Free,
    /// A shape: a list of keys.
    Shape,
    /// A record: an object's fields.
    Record,
    /// A home that forwards to where its block moved.
    Forward,
    /// A map's header.
    Map,
    /// The keys of a map.
    Keys,
    /// A node of a map's index.
    Node,
    /// A map's hash block.
    Hash,
    /// An array's header.
    Array,
    /// An array's elements, or a column's values.
    Data,
    /// A table, with the types of its columns.
    Table,
    /// A list: where the elements of each array are.
    List,
    /// Which rows of a struct or list column hold a value.
    Bitmap,
    /// Text, bytes or number text of one cell.
    Text,
    /// Text that several cells may share, keys among it.
    SharedText,
}

/// Kinds of regions, a bit each.
#[derive(Clone, Copy)]
pub(crate) struct Kinds(u32);

impl Kinds {
    pub(crate) const NONE: Kinds = Kinds(0);
    #[cfg(feature = "alloc")]
    pub(crate) const ALL: Kinds = Kinds(u32::MAX);
    /// Those to whose first byte a container's handle can lead.
    #[cfg(feature = "alloc")]
    pub(crate) const HOMES: Kinds = {
        use RegionKind::*;
        let homes = [Record, Forward, Map, Array, Table, List];
        let (mut bits, mut at) = (0, 0);
        while at < homes.len() {
            bits |= 1 << homes[at] as u32;
            at += 1;
        }
        Kinds(bits)
    };

    #[inline]
    pub(crate) fn has(self, kind: RegionKind) -> bool {
        self.0 >> kind as u32 & 1 == 1
    }
}

/// Some bytes and their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub offset: u64,
    /// Count of bytes.
    pub length: u64,
    /// Their use.
    pub kind: RegionKind,
}

/// Where a document's bytes are, by [`Doc::stats`]. All in bytes but the last six.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// All used bytes.
    pub used: u64,
    /// Bytes of the header and the aux block.
    pub overhead: u64,
    /// Shapes (without long keys' text).
    pub shapes: u64,
    /// Records and forwards.
    pub records: u64,
    /// Maps' headers and entries.
    pub maps: u64,
    /// Nodes of maps' indexes, and hash blocks.
    pub index: u64,
    /// Arrays' headers and elements, values of columns among them.
    pub arrays: u64,
    /// Tables and lists: headers of columns, and bitmaps of structs and lists.
    pub tables: u64,
    /// Text longer than a cell, keys included, each byte once.
    pub text: u64,
    /// In the free list, to be reused.
    pub free: u64,
    /// Neither reachable nor in the free list: compaction gets it back.
    pub garbage: u64,
    /// Count of values, containers included.
    pub values: u64,
    /// Count of objects.
    pub objects: u64,
    /// Count of arrays.
    pub array_count: u64,
    /// Count of tables, those of struct columns included.
    pub table_count: u64,
    /// Count of columns of tables.
    pub columns: u64,
    /// Deepest nesting of containers.
    pub depth: u64,
}

impl Stats {
    /// Bytes that hold the document's value.
    pub fn live(&self) -> u64 {
        self.used - self.free - self.garbage
    }
}

impl<'a, M: Mode> Doc<'a, M> {
    /// Bytes of scratch memory that [`validate_in`](Self::validate_in) needs:
    /// two bits a byte.
    pub fn validate_scratch(&self) -> usize {
        2 * self.as_bytes().len().div_ceil(8)
    }

    /// Validates in one linear pass: on the result every answer is right.
    ///
    /// # Errors
    /// The first problem with its offset; [`ErrorKind::ScratchTooSmall`].
    ///
    /// ```
    /// let sent = livebuf::json!({"lap": 55}).to_vec();
    /// let doc = livebuf::Doc::open(&sent)?;
    /// let mut scratch = [0; 64];                          // a quarter of the document's bytes
    /// assert!(doc.validate_scratch() <= scratch.len());
    /// assert_eq!(doc.validate_in(&mut scratch)?.pointer("/lap").unwrap(), 55);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[allow(unsafe_code)]
    pub fn validate_in(self, scratch: &mut [u8]) -> Result<Doc<'a, Valid>> {
        self.stats_in(scratch)?;
        // SAFETY: just validated; the view borrows the bytes, so nobody writes them.
        Ok(unsafe { self.assume_valid() })
    }

    /// [`validate_in`](Self::validate_in) with scratch memory of its own.
    ///
    /// # Errors
    /// The first problem with its offset.
    ///
    /// ```
    /// let mut sent = livebuf::json!({"lap": 55}).to_vec();
    /// assert_eq!(livebuf::Doc::open(&sent)?.validate()?.pointer("/lap").unwrap(), 55);
    /// sent[40] ^= 0xFF;
    /// assert!(livebuf::Doc::open(&sent)?.validate().unwrap_err().kind().is_damage());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    #[allow(unsafe_code)]
    pub fn validate(self) -> Result<Doc<'a, Valid>> {
        self.stats()?;
        // SAFETY: as in `validate_in`.
        Ok(unsafe { self.assume_valid() })
    }

    /// Validates, and tells where the bytes are, with as much scratch memory as
    /// [`validate_in`](Self::validate_in).
    ///
    /// # Errors
    /// The first problem with its offset; [`ErrorKind::ScratchTooSmall`].
    ///
    /// ```
    /// let doc = livebuf::json!({"laps": [71.5, 70.25]});
    /// let mut scratch = [0; 64];
    /// assert_eq!(doc.doc().stats_in(&mut scratch)?, doc.doc().stats()?);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn stats_in(self, scratch: &mut [u8]) -> Result<Stats> {
        scratch.fill(0);
        Validator::new(self.as_bytes(), scratch)?.document()
    }

    /// [`stats_in`](Self::stats_in) that tells `visit` of every region of these kinds.
    pub(crate) fn stats_in_with(
        self,
        scratch: &mut [u8],
        kinds: Kinds,
        visit: &mut dyn FnMut(Region),
    ) -> Result<Stats> {
        scratch.fill(0);
        let mut walk = Validator::new(self.as_bytes(), scratch)?;
        walk.visit = Some((kinds, visit));
        walk.document()
    }

    /// [`stats_in`](Self::stats_in) with scratch memory of its own.
    ///
    /// # Errors
    /// The first problem with its offset.
    ///
    /// ```
    /// let mut doc = livebuf::json!({"laps": [88.4, 87.9], "note": "a note that goes"});
    /// doc.remove_pointer("/note")?;
    /// let stats = doc.doc().stats()?;
    /// assert_eq!((stats.values, stats.array_count), (4, 1));
    /// assert!(stats.free > 0);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn stats(self) -> Result<Stats> {
        let mut scratch = zeros(self.validate_scratch())?;
        Validator::new(self.as_bytes(), &mut scratch)?.document()
    }

    /// Validates, and tells `visit` of every region as it is met; shared text
    /// once for each cell that refers to it. Bytes that are never named are garbage.
    ///
    /// # Errors
    /// The first problem with its offset.
    ///
    /// ```
    /// use livebuf::{RegionKind, json};
    /// let mut records = 0;
    /// json!({"a": {}, "b": {}}).doc().regions(|region| {
    ///     records += u32::from(region.kind == RegionKind::Record);
    /// })?;
    /// assert_eq!(records, 3);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn regions(self, mut visit: impl FnMut(Region)) -> Result<()> {
        let mut scratch = zeros(self.validate_scratch())?;
        self.stats_in_with(&mut scratch, Kinds::ALL, &mut visit).map(|_| ())
    }
}

impl<M: Mode> Value<'_, M> {
    /// Tells `visit` of every region that this value and its contents occupy (shapes
    /// apart).
    ///
    /// # Errors
    /// The first problem with its offset.
    #[cfg(feature = "alloc")]
    pub fn regions(&self, mut visit: impl FnMut(Region)) -> Result<()> {
        let bytes = self.document();
        let mut scratch = zeros(Doc::over(bytes).validate_scratch())?;
        let mut walk = Validator::new(bytes, &mut scratch)?;
        walk.shapes()?;
        walk.visit = Some((Kinds::ALL, &mut visit));
        walk.value(self.raw(), 0)
    }
}

impl<'a, M: Mode> Value<'a, M> {
    /// Validates this value, all below it, and the document's shapes: on the result every answer
    /// is right. What else the document holds is not looked at.
    ///
    /// A value that lies in columns has no bytes to itself: a row of a table, or an array of a
    /// list. There the whole document is validated.
    ///
    /// # Errors
    /// The first problem with its offset.
    ///
    /// ```
    /// let mut sent = livebuf::json!({"laps": [88.4, 87.9], "note": "a text with damage"}).to_vec();
    /// let damage = sent.windows(4).position(|bytes| bytes == b"text").unwrap();
    /// sent[damage] = 0xFF;
    /// let root = livebuf::Doc::open(&sent)?.root();
    /// assert!(root.validate().is_err());
    /// assert_eq!(root.get("laps")?.unwrap().validate()?.get(1).unwrap(), 87.9);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    #[allow(unsafe_code)]
    pub fn validate(&self) -> Result<Value<'a, Valid>> {
        let doc = Doc::over(self.document());
        if self.raw().tag > TAG_SPAN_LAST && row_of(self.raw().cell).is_some() {
            doc.stats()?;
        } else {
            let mut scratch = zeros(doc.validate_scratch())?;
            let mut walk = Validator::new(self.document(), &mut scratch)?;
            walk.shapes()?;
            walk.value(self.raw(), 0)?;
        }
        // SAFETY: just validated, with all that a view of it can reach. The view borrows the
        // bytes, so nobody writes them.
        Ok(unsafe { self.assume_valid() })
    }

    /// Validates one column of an array that is stored as a table, and all below it: on the result
    /// every answer is right. Other columns are not looked at. Keys lead to the column, as those of
    /// [`Table::column`](crate::Table::column) do.
    ///
    /// `None` where the array is no table, or has no such column.
    ///
    /// # Errors
    /// The first problem with its offset.
    ///
    /// ```
    /// use livebuf::{Doc, json};
    /// let rows = json!([
    ///     {"lap": 1, "by": "Ada"}, {"lap": 2, "by": "Bea"}, {"lap": 3, "by": "Ada"},
    ///     {"lap": 4, "by": "Cy"}, {"lap": 5, "by": "Ada"}, {"lap": 6, "by": "Cy"},
    /// ]);
    /// let mut sent = rows.to_vec();
    /// let damage = sent.windows(3).position(|bytes| bytes == b"Bea").unwrap();
    /// sent[damage] = 0xFF;
    /// let root = Doc::open(&sent)?.root();
    /// assert_eq!(root.validate_column(&["lap"])?.unwrap().find(2), Some(1));
    /// assert!(root.validate_column(&["by"]).is_err());
    /// assert!(root.validate_column(&["sec"])?.is_none());
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    #[allow(unsafe_code)]
    pub fn validate_column(&self, path: &[&str]) -> Result<Option<Column<'a, Valid>>> {
        let value = self.checked();
        let Some(array) = value.array()? else { return Ok(None) };
        let mut places = [0; MAX_COLUMN_DEPTH];
        let Some((column, places)) = array.as_column().below(path, &mut places)? else {
            return Ok(None);
        };
        if row_of(self.raw().cell).is_some() {
            Doc::over(self.document()).stats()?;
        } else {
            let doc = Doc::over(self.document());
            let mut scratch = zeros(doc.validate_scratch())?;
            let mut walk = Validator::new(self.document(), &mut scratch)?;
            walk.shapes()?;
            walk.one_column(self.raw(), places)?;
        }
        // SAFETY: the column was just validated, with all below it and the shapes. The view borrows
        // the bytes, so nobody writes them.
        Ok(Some(unsafe { column.assume_valid() }))
    }
}

/// A container whose children are being checked.
#[derive(Clone, Copy)]
struct OpenNode {
    cursor: Cursor,
    /// Containers around each child.
    above: u16,
    /// It is a column of a table or list. Its slots without a value are counted already.
    is_column: bool,
}

impl OpenNode {
    /// A column, or an object with a row's further fields, that was checked with its table or list.
    fn checked(bytes: &[u8], raw: Raw, above: u16) -> Result<OpenNode> {
        let is_column = raw.tag == TAG_ARRAY;
        Ok(OpenNode { cursor: Cursor::columns(bytes, raw)?, above, is_column })
    }
}

struct Validator<'a, 's> {
    bytes: &'a [u8],
    /// One bit a byte: claimed by a block or an owner.
    exclusive: &'s mut [u8],
    /// One bit a byte: part of shared text. Both bits: where a shape begins.
    shared: &'s mut [u8],
    stats: Stats,
    /// Holes of maps, whose values are counted as null.
    holes: u64,
    /// Cells of shared text that was seen to be UTF-8 lately.
    texts: [u64; 16],
    /// If only one column is checked: its place in each table that is still on the way to it.
    only: &'s [u32],
    /// That column, once it was found: its table, and its place there.
    chosen: Option<(Table, u32)>,
    /// What a column's data is: text while the bytes of a run are checked.
    data: RegionKind,
    /// Hears of regions of some kinds. It has no type of its own, so that there is one walk in a
    /// program.
    visit: Option<(Kinds, &'s mut dyn FnMut(Region))>,
}

#[cold]
fn error(kind: ErrorKind, offset: u64) -> Error {
    Error::new(kind, offset)
}

/// The bytes of a bitmap that cover a range, with the masks of first and last.
fn cover(map: &mut [u8], offset: u64, length: u64) -> Option<(&mut [u8], u8, u8)> {
    let (first, last) = ((offset / 8) as usize, ((offset + length - 1) / 8) as usize);
    let head = 0xFF << (offset % 8);
    let tail = 0xFF >> (7 - (offset + length - 1) % 8);
    map.get_mut(first..=last).map(|bytes| (bytes, head, tail))
}

/// Whether any bit of a range is set.
fn any(map: &mut [u8], offset: u64, length: u64) -> bool {
    match cover(map, offset, length) {
        Some(([only], head, tail)) => *only & head & tail != 0,
        Some(([first, middle @ .., last], head, tail)) => {
            *first & head != 0 || *last & tail != 0 || middle.iter().any(|&byte| byte != 0)
        }
        _ => true,
    }
}

/// Sets all bits of a range. Returns how many were not set before.
fn set(map: &mut [u8], offset: u64, length: u64) -> u64 {
    let mut added = 0;
    let mut put = |byte: &mut u8, mask: u8| {
        added += (mask & !*byte).count_ones() as u64;
        *byte |= mask;
    };
    match cover(map, offset, length) {
        Some(([only], head, tail)) => put(only, head & tail),
        Some(([first, middle @ .., last], head, tail)) => {
            put(first, head);
            put(last, tail);
            middle.iter_mut().for_each(|byte| put(byte, 0xFF));
        }
        _ => {}
    }
    added
}

impl<'a, 's> Validator<'a, 's> {
    /// The scratch memory is zero.
    fn new(bytes: &'a [u8], scratch: &'s mut [u8]) -> Result<Self> {
        let size = bytes.len().div_ceil(8);
        let Some(scratch) = scratch.get_mut(..2 * size) else {
            return Err(Error::with_detail(ErrorKind::ScratchTooSmall, 0, 2 * size as u64));
        };
        let (exclusive, shared) = scratch.split_at_mut(size);
        let stats = Stats { used: bytes.len() as u64, ..Stats::default() };
        let (texts, only, data) = ([0; 16], &[][..], RegionKind::Data);
        let (holes, chosen, visit) = (0, None, None);
        Ok(Validator { bytes, exclusive, shared, stats, holes, texts, only, chosen, data, visit })
    }

    fn document(mut self) -> Result<Stats> {
        self.header()?;
        self.aux()?;
        self.shapes()?;
        let root = Doc::over(self.bytes).root().raw();
        self.value(root, 0)?;
        let stats = &mut self.stats;
        stats.values = stats.values.saturating_sub(self.holes);
        let known = stats.overhead
            + stats.shapes
            + stats.records
            + stats.maps
            + stats.index
            + stats.arrays
            + stats.tables
            + stats.text
            + stats.free;
        stats.garbage = stats.used.saturating_sub(known);
        Ok(self.stats)
    }

    // --- claims -------------------------------------------------------------

    fn count(&mut self, kind: RegionKind, bytes: u64) {
        let stats = &mut self.stats;
        *match kind {
            RegionKind::Header | RegionKind::Aux => &mut stats.overhead,
            RegionKind::Free => &mut stats.free,
            RegionKind::Shape => &mut stats.shapes,
            RegionKind::Record | RegionKind::Forward => &mut stats.records,
            RegionKind::Map | RegionKind::Keys => &mut stats.maps,
            RegionKind::Node | RegionKind::Hash => &mut stats.index,
            RegionKind::Array | RegionKind::Data => &mut stats.arrays,
            RegionKind::Table | RegionKind::List | RegionKind::Bitmap => &mut stats.tables,
            RegionKind::Text | RegionKind::SharedText => &mut stats.text,
        } += bytes;
    }

    fn tell(&mut self, region: Region) {
        if let Some((kinds, visit)) = &mut self.visit
            && kinds.has(region.kind)
        {
            visit(region);
        }
    }

    /// Claims bytes for one block or owner.
    fn claim(&mut self, kind: RegionKind, offset: u64, length: u64) -> Result<()> {
        slice(self.bytes, offset, length)?;
        if length == 0 {
            return Ok(());
        }
        if any(self.exclusive, offset, length) || any(self.shared, offset, length) {
            return Err(error(ErrorKind::Overlap, offset));
        }
        set(self.exclusive, offset, length);
        self.count(kind, length);
        self.tell(Region { offset, length, kind });
        Ok(())
    }

    /// Claims a block: aligned, and only once.
    fn claim_block(&mut self, kind: RegionKind, offset: u64, length: u64) -> Result<()> {
        if !offset.is_multiple_of(8) {
            return Err(error(ErrorKind::Misaligned, offset));
        }
        self.claim(kind, offset, length)
    }

    fn claim_shared(&mut self, offset: u64, length: u64) -> Result<()> {
        slice(self.bytes, offset, length)?;
        if any(self.exclusive, offset, length) {
            return Err(error(ErrorKind::Overlap, offset));
        }
        let added = set(self.shared, offset, length);
        self.count(RegionKind::SharedText, added);
        self.tell(Region { offset, length, kind: RegionKind::SharedText });
        Ok(())
    }

    fn zero(&self, offset: u64, end: u64) -> Result<()> {
        check_zero(self.bytes, offset, end.saturating_sub(offset))
    }

    // --- the fixed parts ----------------------------------------------------

    fn header(&mut self) -> Result<()> {
        let used = load_u32(self.bytes, HEADER_USED as u64)? as u64;
        if used != self.bytes.len() as u64 {
            let length = self.bytes.len() as u64;
            return Err(Error::with_detail(ErrorKind::Truncated, length, used));
        }
        self.zero(HEADER_ROOT_TAG as u64 + 1, HEADER_USED as u64)?;
        self.claim(RegionKind::Header, 0, HEADER_SIZE as u64)
    }

    fn aux(&mut self) -> Result<()> {
        let aux = load_u32(self.bytes, HEADER_AUX as u64)? as u64;
        let flags = load_u16(self.bytes, HEADER_READ_ONLY_FLAGS as u64)?;
        let stated = (FLAG_STATE as u16) << 8;
        let nowhere = error(ErrorKind::BadCode, HEADER_IGNORE_FLAGS as u64);
        if aux == 0 {
            return if flags == stated { Err(nowhere) } else { Ok(()) };
        }
        if load_u8(self.bytes, aux)? != KIND_AUX {
            return Err(error(ErrorKind::WrongBlock, aux));
        }
        let classes = load_u8(self.bytes, aux + AUX_CLASSES as u64)? as u32;
        if classes == 0 || classes > FREE_CLASSES || !classes.is_multiple_of(2) {
            return Err(error(ErrorKind::BadCount, aux + AUX_CLASSES as u64));
        }
        self.claim_block(RegionKind::Aux, aux, aux_size(classes) as u64)?;
        self.zero(aux + AUX_CLASSES as u64 + 1, aux + AUX_FREE_BYTES as u64)?;
        // Flags that we do not know may give these fields a meaning.
        if flags & !stated == 0 {
            self.zero(aux + AUX_REVISION as u64, aux + AUX_STATE as u64)?;
            let state = load_u32(self.bytes, aux + AUX_STATE as u64)? as u64;
            if state != 0 {
                self.claim_block(RegionKind::Aux, state, STATE_SIZE as u64)?;
            } else if flags != 0 {
                return Err(nowhere);
            }
        }
        let (mut total, mut count) = (0u64, 0u32);
        for class in 0..classes {
            let mut block = load_u32(self.bytes, aux + (AUX_HEADS + 4 * class) as u64)? as u64;
            while block != 0 {
                let size = load_u32(self.bytes, block + FREE_SIZE as u64)? as u64;
                let in_class = free_class(size, classes) == class;
                if size < 8 || !size.is_multiple_of(8) || !in_class {
                    return Err(error(ErrorKind::BadFreeList, block));
                }
                self.claim_block(RegionKind::Free, block, size)?;
                total += size;
                count += 1;
                block = load_u32(self.bytes, block)? as u64;
            }
        }
        let stated = load_u64(self.bytes, aux + AUX_FREE_BYTES as u64)?;
        if stated != total | (count as u64) << 32 {
            return Err(error(ErrorKind::BadFreeList, aux + AUX_FREE_BYTES as u64));
        }
        Ok(())
    }

    fn shapes(&mut self) -> Result<()> {
        let mut offset = load_u32(self.bytes, HEADER_NEWEST_SHAPE as u64)? as u64;
        while offset != 0 {
            let shape = Shape::any(self.bytes, offset)?;
            self.claim_block(RegionKind::Shape, offset, shape.size())?;
            set(self.shared, offset, 1);
            if shape.flags & !SHAPE_PRIVATE != 0 {
                return Err(error(ErrorKind::BadCode, offset + SHAPE_FLAGS as u64));
            }
            if shape.is_wide() {
                self.wide_shape(shape)?;
            } else {
                self.narrow_shape(shape)?;
            }
            offset = load_u32(self.bytes, offset + SHAPE_OLDER as u64)? as u64;
        }
        Ok(())
    }

    fn narrow_shape(&mut self, shape: Shape) -> Result<()> {
        if shape.capacity == 0 || shape.count > shape.capacity {
            return Err(error(ErrorKind::BadCount, shape.offset));
        }
        for index in 0..shape.count {
            self.shape_key(shape, index)?;
        }
        let fingerprints = shape.offset + SHAPE_FINGERPRINTS as u64;
        self.zero(fingerprints + shape.count as u64, shape.key_position(0))?;
        self.zero(shape.key_position(shape.count), shape.offset + shape.size())
    }

    fn wide_shape(&mut self, shape: Shape) -> Result<()> {
        let (at, order) = (shape.offset, shape.offset + WIDE_SHAPE_ORDER as u64);
        self.zero(at + 1, at + SHAPE_FLAGS as u64)?;
        self.zero(at + WIDE_SHAPE_COUNT as u64 + 4, order)?;
        self.zero(order + 2 * shape.count as u64, shape.key_position(0))?;
        for index in 0..shape.count {
            self.key_text(shape, index)?;
        }
        shape.check_order(self.bytes)
    }

    /// Checks the cell and the text of a shape's key.
    fn key_text(&mut self, shape: Shape, index: u32) -> Result<&'a [u8]> {
        let position = shape.key_position(index);
        let cell = load_u64(self.bytes, position)?;
        if owned_span(cell).is_some() || span_length(cell) as usize > MAX_SHAPE_KEY {
            return Err(error(ErrorKind::BadCell, position));
        }
        self.span(Raw { tag: TAG_STRING, cell, position: position as u32 })
    }

    fn shape_key(&mut self, shape: Shape, index: u32) -> Result<()> {
        let position = shape.key_position(index);
        let needle = Needle::new(self.key_text(shape, index)?);
        let fingerprint = shape.offset + (SHAPE_FINGERPRINTS + index) as u64;
        if load_u8(self.bytes, fingerprint)? != needle.fingerprint {
            return Err(error(ErrorKind::BadIndex, fingerprint));
        }
        if shape.find(self.bytes, shape.count, &needle)? != Some(index) {
            return Err(error(ErrorKind::DuplicateKey, position));
        }
        Ok(())
    }

    // --- values -------------------------------------------------------------

    /// Checks a value and all below it, `above` containers around it.
    fn value(&mut self, raw: Raw, above: u16) -> Result<()> {
        if raw.tag <= TAG_SPAN_LAST {
            return self.scalar(raw);
        }
        let open = self.enter(raw, above)?;
        self.contents(open)
    }

    /// Checks one column of the table that an array is, and all below it.
    #[cfg(feature = "alloc")]
    fn one_column(&mut self, raw: Raw, places: &'s [u32]) -> Result<()> {
        let block = self.block(raw.cell as u32)?;
        self.only = places;
        self.array(block)?;
        // Places were looked up in the same bytes.
        let Some((table, place)) = self.chosen else {
            return Err(error(ErrorKind::BadCode, block.offset.into()));
        };
        let column = table.column(self.bytes, place)?;
        // The array, and the rows of each table on the way.
        let above = 1 + places.len() as u16;
        self.count_column(column, column.count.into(), above)?;
        let column = Raw::unplaced(TAG_ARRAY, table.header(place).into());
        self.contents(OpenNode::checked(self.bytes, column, above)?)
    }

    /// Checks the children of a container, and all below them.
    fn contents(&mut self, open: OpenNode) -> Result<()> {
        let none = OpenNode { cursor: Cursor::NONE, above: 0, is_column: false };
        let mut stack = [none; CHUNK];
        stack[0] = open;
        let mut depth = 1;
        while depth > 0 {
            let OpenNode { cursor, above, is_column } = &mut stack[depth - 1];
            let Some((_, raw)) = cursor.next(self.bytes)? else {
                depth -= 1;
                continue;
            };
            let is_absent = raw.tag == TAG_HOLE || raw.position == 0;
            if *is_column && is_absent && !cursor.gives_columns() {
                continue;
            }
            if raw.tag <= TAG_SPAN_LAST {
                self.scalar(raw)?;
                continue;
            }
            let open = match cursor.gives_columns() {
                true => OpenNode::checked(self.bytes, raw, *above + 1)?,
                false => self.enter(raw, *above)?,
            };
            if depth == CHUNK {
                self.contents(open)?;
                continue;
            }
            stack[depth] = open;
            depth += 1;
        }
        Ok(())
    }

    /// Counts the slots of a column below rows and arrays that are there, `above` containers around
    /// them, and all below it. Values that are counted when they are met are left out.
    fn count_column(&mut self, column: Elements, slots: u64, above: u16) -> Result<()> {
        let (values, nulls) = count_slots(self.bytes, column, slots)?;
        self.stats.values += nulls;
        if column.column.holds_references() && !column.column.is_nested() {
            return Ok(());
        }
        self.stats.values += values;
        if column.column.slot() != SlotKind::Nested {
            return Ok(());
        }
        if values > 0 {
            self.nest(above, column.offset as u64)?;
        }
        if column.column == ColumnType::Struct {
            self.stats.objects += values;
            let table = Table::load(self.bytes, column.data)?;
            for index in 0..table.columns {
                self.count_column(table.column(self.bytes, index)?, values, above + 1)?;
            }
            return Ok(());
        }
        self.stats.array_count += values;
        let list = List::load(self.bytes, column.data)?;
        let child = list.child(self.bytes)?;
        let elements = list.length.map_or(child.count.into(), |length| values * length as u64);
        self.count_column(child, elements, above + 1)
    }

    /// A container with `above` others around it.
    fn nest(&mut self, above: u16, offset: u64) -> Result<()> {
        if above >= MAX_NESTING {
            return Err(Error::with_detail(ErrorKind::NestingLimit, offset, MAX_NESTING as u64));
        }
        self.stats.depth = self.stats.depth.max(above as u64 + 1);
        Ok(())
    }

    fn scalar(&mut self, raw: Raw) -> Result<()> {
        self.stats.values += 1;
        if raw.tag <= TAG_IMMEDIATE_LAST {
            return check_immediate(raw);
        }
        let bytes = self.span(raw)?;
        if raw.tag == TAG_NUMBER && !is_json_number(bytes) {
            return Err(error(ErrorKind::BadNumber, span_offset(raw.cell, raw.position)));
        }
        check_extended_span(raw, bytes)
    }

    /// Checks and claims a container's own blocks; its children are to come.
    fn enter(&mut self, raw: Raw, above: u16) -> Result<OpenNode> {
        let position = raw.position as u64;
        self.stats.values += 1;
        if raw.tag > TAG_NODE_LAST {
            return Err(error(ErrorKind::BadCode, position));
        }
        if raw.tag != TAG_OBJECT && raw.tag != TAG_ARRAY {
            return Err(error(ErrorKind::UnsupportedFeature, position));
        }
        // Row cells exist in memory only; refuse stored ones.
        if position != 0 && raw.cell >> 32 != 0 {
            return Err(error(ErrorKind::BadCell, position));
        }
        self.nest(above, position)?;
        // A row's bytes are its table's, which was claimed with the array it is in.
        if row_of(raw.cell).is_none() {
            let block = self.block(raw.cell as u32)?;
            if raw.tag == TAG_ARRAY {
                self.stats.array_count += 1;
                return self.elements(raw, block, above);
            }
            if let Some(values) = self.object(block, above)? {
                self.stats.objects += 1;
                return Ok(values);
            }
        }
        let cursor = Cursor::references(self.bytes, raw)?;
        match cursor.node {
            Node::Array(elements) => {
                self.stats.array_count += 1;
                self.count_elements(elements);
            }
            _ => self.stats.objects += 1,
        }
        Ok(OpenNode { cursor, above: above + 1, is_column: false })
    }

    fn count_elements(&mut self, elements: Elements) {
        if !elements.column.holds_references() {
            self.stats.values += elements.count as u64;
        }
    }

    /// Checks and claims an array's own blocks.
    fn elements(&mut self, raw: Raw, block: Block, above: u16) -> Result<OpenNode> {
        let elements = self.array(block)?;
        match elements.column.slot() {
            SlotKind::Nested => self.count_column(elements, elements.count as u64, above + 1)?,
            _ => self.count_elements(elements),
        }
        let cursor = Cursor::columns(self.bytes, raw)?;
        Ok(OpenNode { cursor, above: above + 1, is_column: false })
    }

    /// Checks and claims an array by itself, but for its elements.
    fn array(&mut self, block: Block) -> Result<Elements> {
        if block.kind() != KIND_ARRAY {
            return Err(block.unexpected());
        }
        self.claim_block(RegionKind::Array, block.offset.into(), ARRAY_SIZE.into())?;
        let elements = Elements::load(self.bytes, block)?;
        self.column(elements, Owner { block: block.offset, column: 0 }, None, 0)?;
        Ok(elements)
    }

    /// A home's block; a forward is claimed.
    fn block(&mut self, home: u32) -> Result<Block> {
        let block = Block::resolve(self.bytes, home)?;
        if block.offset != home {
            self.claim_block(RegionKind::Forward, home as u64, 8)?;
            self.zero(home as u64 + 1, home as u64 + 4)?;
        }
        Ok(block)
    }

    /// Checks and claims an object's own blocks. Gives the values of a map.
    fn object(&mut self, block: Block, above: u16) -> Result<Option<OpenNode>> {
        match block.kind() {
            KIND_MAP => self.map(block, above).map(Some),
            _ => self.record(block.record()?).map(|()| None),
        }
    }

    /// Checks a span and claims its bytes.
    fn span(&mut self, raw: Raw) -> Result<&'a [u8]> {
        let (cell, position) = (raw.cell, raw.position as u64);
        let bytes = span_bytes(self.bytes, cell, position)?;
        let offset = if raw.is_lent() {
            // A value by itself: its column's run is not looked at.
            let offset = cell & 0xFFFF_FFFF;
            if !bytes.is_empty() {
                self.claim(RegionKind::Text, offset, bytes.len() as u64)?;
            }
            offset
        } else if let Some(length) = span_inline(cell) {
            let rest = (cell << 8 >> 8).checked_shr(8 * length as u32).unwrap_or(0);
            if rest != 0 {
                return Err(error(ErrorKind::BadCell, position));
            }
            position
        } else {
            let (offset, length) = (cell & 0xFFFF_FFFF, span_length(cell) as u64);
            if length <= MAX_INLINE as u64 {
                return Err(error(ErrorKind::BadCell, position));
            }
            if owned_span(cell).is_some() {
                let padded = offset.is_multiple_of(8);
                let end = offset + if padded { round_up(length) } else { length };
                self.claim(RegionKind::Text, offset, end - offset)?;
                self.zero(offset + length, end)?;
            } else if length > MAX_SHARED as u64 {
                return Err(error(ErrorKind::BadCell, position));
            } else {
                self.claim_shared(offset, length)?;
            }
            offset
        };
        if raw.tag == TAG_STRING || raw.tag == TAG_NUMBER {
            // Text that is shared is often met again soon.
            let place = cell.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
            let shares = span_inline(cell).is_none() && owned_span(cell).is_none();
            match self.texts.get_mut(place as usize).filter(|_| shares) {
                Some(known) if *known == cell => {}
                Some(known) => {
                    text(bytes, offset)?;
                    *known = cell;
                }
                None => {
                    text(bytes, offset)?;
                }
            }
        }
        Ok(bytes)
    }

    /// Checks the tags and cells behind the last used one of tagged cells.
    fn unused(&self, base: u64, used: u32, capacity: u32) -> Result<()> {
        let end = base + tagged_size(capacity as u64);
        let mut index = used;
        // The rest of the last group, then whole groups.
        while !index.is_multiple_of(8) && index < capacity {
            self.zero(base + cell_at(index), base + cell_at(index) + 8)?;
            index += 1;
        }
        if !used.is_multiple_of(8) {
            let group = base + tag_at(used & !7);
            self.zero(base + tag_at(used), group + 8)?;
        }
        if index.is_multiple_of(8) && index < capacity {
            self.zero(base + tag_at(index), end)?;
        }
        Ok(())
    }

    fn record(&mut self, record: Record) -> Result<()> {
        let offset = record.offset as u64;
        self.claim_block(RegionKind::Record, offset, record.size())?;
        let used = record.used();
        if used > record.capacity() || (used == 0) != (record.shape() == 0) {
            return Err(error(ErrorKind::BadCount, offset));
        }
        if used > 0 {
            self.use_shape(record.shape(), used, offset)?;
        }
        let mut live = 0;
        for index in 0..used {
            let raw = record.field(self.bytes, index)?;
            if raw.tag != TAG_HOLE {
                live += 1;
            } else if raw.cell != 0 {
                return Err(error(ErrorKind::NotZero, raw.position as u64));
            }
        }
        if live != record.live() {
            return Err(error(ErrorKind::BadCount, offset + 3));
        }
        self.unused(offset + RECORD_CELLS as u64, used, record.capacity())
    }

    /// Checks that the record or table at `offset` may use this many keys of a shape.
    fn use_shape(&mut self, shape: u32, used: u32, offset: u64) -> Result<()> {
        let shape = shape as u64;
        // Only the shapes of the list have both bits where they begin; so has their second
        // byte once they are used.
        let begins = shape.is_multiple_of(8);
        if !begins || !any(self.exclusive, shape, 1) || !any(self.shared, shape, 1) {
            return Err(error(ErrorKind::WrongBlock, offset + 4));
        }
        // Only tables have more columns than a record can have fields.
        let shape = Shape::of_table(self.bytes, shape, used)?;
        if shape.count < used || shape.is_wide() && shape.count != used {
            return Err(error(ErrorKind::BadCount, offset));
        }
        // The second byte's bit tells that a record used the shape.
        if set(self.shared, shape.offset + 1, 1) == 0 && shape.is_private() {
            return Err(error(ErrorKind::BadCount, shape.offset + SHAPE_FLAGS as u64));
        }
        Ok(())
    }

    fn map(&mut self, block: Block, above: u16) -> Result<OpenNode> {
        let (bytes, offset) = (self.bytes, block.offset as u64);
        let map = map::Map::load(bytes, offset)?;
        self.claim_block(RegionKind::Map, offset, MAP_VALUES.into())?;
        let (keys, size) = (map.keys.at(0), map::keys_size(map.capacity));
        self.claim_block(RegionKind::Keys, keys, size)?;
        // Before the indexes, which compare keys: that takes long if keys lie over one another.
        for number in 0..map.used {
            let position = map.keys.at(number);
            let cell = load_u64(bytes, position)?;
            if cell != 0 {
                self.span(Raw { tag: TAG_STRING, cell, position: position as u32 })?;
            }
        }
        map::check_index(bytes, offset, &mut |block, size| {
            let kind = if block == map.hash { RegionKind::Hash } else { RegionKind::Node };
            self.claim_block(kind, block as u64, size as u64)
        })?;
        self.zero(map.keys.at(map.used), keys + size)?;
        // The values: one for each entry, and null for each hole.
        let at = map.values_at();
        let raw = Raw { tag: TAG_ARRAY, cell: at.into(), position: 0 };
        let open = self.elements(raw, Block::resolve(bytes, at)?, above)?;
        let values = map.values(bytes)?;
        if values.tensor {
            return Err(error(ErrorKind::BadCode, at.into()));
        }
        for number in 0..map.used {
            let hole = !map.keys.is_live(bytes, number)?;
            if hole && values.element(bytes, number)?.tag != TAG_NULL {
                return Err(error(ErrorKind::BadCount, map.keys.at(number)));
            }
        }
        self.holes += u64::from(map.used - map.live);
        Ok(open)
    }

    /// Checks an array's column, `depth` structs and lists around it, and claims its data. Its
    /// header is claimed already. A slot can be missing only in a row of a table, or below an array
    /// of fixed length that is absent. `above`: what the slots are below.
    fn column(
        &mut self,
        column: Elements,
        owner: Owner,
        above: Option<Above>,
        depth: usize,
    ) -> Result<()> {
        let offset = column.offset as u64;
        let in_table = load_u8(self.bytes, owner.block as u64)? == KIND_TABLE;
        let may_miss = in_table || above.is_some();
        let gaps = load_u8(self.bytes, offset + ARRAY_GAPS as u64)?;
        let allowed = match column.column {
            ColumnType::Cells => gaps == GAPS_NONE,
            _ => true,
        };
        if !allowed || gaps > GAPS_BOTH || gaps & GAPS_MISSING != 0 && !may_miss {
            return Err(error(ErrorKind::BadCode, offset + ARRAY_GAPS as u64));
        }
        if load_u8(self.bytes, offset + ARRAY_TENSOR as u64)? > 1 {
            return Err(error(ErrorKind::NotZero, offset + ARRAY_TENSOR as u64));
        }
        let nested = column.column.is_nested();
        let without = column.capacity == 0 && !nested;
        let beyond = column.count > column.capacity || column.count > MAX_ELEMENTS;
        let bare = without && column.column.is_dictionary();
        if beyond || bare || without != (column.data == 0) {
            return Err(error(ErrorKind::BadCount, offset));
        }
        if !column.has_slots() && column.capacity != column.count {
            return Err(error(ErrorKind::BadCount, offset + ARRAY_CAPACITY as u64));
        }
        if !column.column.is_list() {
            check_tensor(self.bytes, column, in_table)?;
        }
        if without {
            return Ok(());
        }
        if nested {
            if depth == MAX_COLUMN_DEPTH && !column.column.is_run() {
                let limit = MAX_COLUMN_DEPTH as u64;
                return Err(Error::with_detail(ErrorKind::NestingLimit, offset, limit));
            }
            return match column.column {
                ColumnType::Struct => self.table(column, owner, above, depth + 1),
                _ => self.list(column, owner, above, depth + 1),
            };
        }
        let (data, end) = (column.data as u64, column.data as u64 + column.data_size());
        self.claim_block(self.data, data, end - data)?;
        self.bitmaps(column, data)?;
        let (values, count) = (column.values_at(), column.count);
        // Where the used slots end.
        let behind = values + count as u64 * column.column.width();
        match column.column.slot() {
            SlotKind::Tagged => {
                self.unused(values, count, column.capacity)?;
                // In an array by itself, this is found when its values are checked.
                for index in 0..if depth > 0 { count } else { 0 } {
                    let raw = column.slot(self.bytes, index)?;
                    if raw.tag == TAG_HOLE && (raw.cell != 0 || !may_miss) {
                        let kind = if may_miss { ErrorKind::NotZero } else { ErrorKind::BadCode };
                        return Err(error(kind, raw.position as u64));
                    }
                }
            }
            SlotKind::Nothing => self.zero(data, data + bitmap_size(column.capacity as u64))?,
            SlotKind::Bit => self.unused_bits(values, count, end)?,
            SlotKind::Marked => {
                let marks = column.marks_at();
                self.zero(behind, marks)?;
                self.unused_bits(marks, count, end)?;
            }
            SlotKind::Code => {
                self.zero(behind, column.entries_at())?;
                self.dictionary(column)?;
            }
            _ => self.zero(behind, end)?,
        }
        column.check_extended(self.bytes)?;
        absent::check(self.bytes, column, above)
    }

    /// Checks a dictionary's texts and claims them. Checks that each code has a text.
    fn dictionary(&mut self, column: Elements) -> Result<()> {
        let at = column.entries_at();
        let header = self.entries_header(at)?;
        let entries = column.entries(self.bytes)?.unwrap_or(header);
        let most = 1 << (8 * column.column.width());
        if entries.count == 0 || entries.count > entries.capacity.min(most) {
            return Err(error(ErrorKind::BadCount, at));
        }
        let (data, size) = (entries.data as u64, entries.data_size());
        self.claim_block(RegionKind::Data, data, size)?;
        self.zero(data + 8 * entries.count as u64, data + size)?;
        for index in 0..entries.count {
            let raw = entries.slot(self.bytes, index)?;
            if owned_span(raw.cell).is_some() {
                return Err(error(ErrorKind::BadCell, raw.position as u64));
            }
            self.span(raw)?;
        }
        match column.stray_code(self.bytes, entries.count)? {
            None => Ok(()),
            Some(slot) => {
                let at = column.values_at() + slot as u64 * column.column.width();
                Err(error(ErrorKind::BadIndex, at))
            }
        }
    }

    /// Checks that bits from `count` on are 0.
    fn unused_bits(&self, bits: u64, count: u32, end: u64) -> Result<()> {
        let (whole, rest) = ((count / 8) as u64, count % 8);
        let partial = if rest == 0 { 0 } else { load_u8(self.bytes, bits + whole)? };
        if partial >> rest != 0 {
            return Err(error(ErrorKind::NotZero, bits + whole));
        }
        self.zero(bits + count.div_ceil(8) as u64, end)
    }

    /// Checks the bitmaps of a column's gaps, which are claimed.
    fn bitmaps(&self, column: Elements, bits: u64) -> Result<()> {
        let size = bitmap_size(column.capacity as u64);
        if column.gaps != GAPS_NONE {
            self.unused_bits(bits, column.count, bits + size)?;
        }
        if column.gaps == GAPS_BOTH {
            self.unused_bits(bits + size, column.count, bits + 2 * size)?;
            let (valid, null) =
                (slice(self.bytes, bits, size)?, slice(self.bytes, bits + size, size)?);
            if let Some(at) = valid.iter().zip(null).position(|(valid, null)| valid & null != 0) {
                return Err(error(ErrorKind::NotZero, bits + size + at as u64));
            }
        }
        Ok(())
    }

    /// Checks the parts that tables and lists have in common: the owner, and their bitmaps.
    fn nested(&mut self, column: Elements, owner: Owner) -> Result<()> {
        let at = column.data as u64;
        if Owner::load(self.bytes, column.data)? != owner {
            return Err(error(ErrorKind::WrongBlock, at + NESTED_OWNER as u64));
        }
        let bits = load_u32(self.bytes, at + NESTED_BITS as u64)? as u64;
        let without = column.gaps == GAPS_NONE || column.capacity == 0;
        if (bits == 0) != without {
            return Err(error(ErrorKind::BadCount, at + NESTED_BITS as u64));
        }
        if bits != 0 {
            let size = gaps_size(column.gaps, column.capacity as u64);
            self.claim_block(RegionKind::Bitmap, bits, size)?;
            self.bitmaps(column, bits)?;
        }
        Ok(())
    }

    /// The header of a dictionary's texts, which has no gaps and is no tensor.
    fn entries_header(&self, at: u64) -> Result<Elements> {
        let header = Elements::at(self.bytes, at as u32)?;
        if load_u8(self.bytes, at + ARRAY_GAPS as u64)? != GAPS_NONE {
            return Err(error(ErrorKind::BadCode, at));
        }
        self.zero(at + ARRAY_TENSOR as u64, at + ARRAY_TENSOR as u64 + 1)?;
        Ok(header)
    }

    fn table(
        &mut self,
        column: Elements,
        owner: Owner,
        above: Option<Above>,
        depth: usize,
    ) -> Result<()> {
        let table = Table::load(self.bytes, column.data)?;
        let at = table.offset as u64;
        self.claim_block(RegionKind::Table, at, table.size())?;
        if load_u8(self.bytes, at + NESTED_FORM as u64)? > 1 {
            return Err(error(ErrorKind::BadCode, at + NESTED_FORM as u64));
        }
        self.zero(at + (TABLE_COLUMNS + 2) as u64, at + TABLE_HEADERS as u64)?;
        if table.rows != column.count {
            return Err(error(ErrorKind::BadCount, at));
        }
        self.nested(column, owner)?;
        absent::check(self.bytes, column, above)?;
        let rows = Above::rows(column);
        self.use_shape(table.shape, table.columns, at)?;
        self.stats.table_count += 1;
        self.stats.columns += table.columns as u64;
        let (mut columns, is_whole) = (0..table.headers(), self.only.is_empty());
        if let Some((&place, rest)) = self.only.split_first() {
            if place >= table.columns {
                return Err(error(ErrorKind::BadCount, at));
            }
            columns = place..place + 1;
            self.only = rest;
            self.chosen = Some((table, place));
        }
        for index in columns {
            let below = Elements::at(self.bytes, table.header(index))?;
            if below.count != table.rows {
                return Err(error(ErrorKind::BadCount, below.offset as u64));
            }
            let owner = Owner { block: table.offset, column: index as u16 };
            if index == table.columns {
                check_orders_header(below)?;
            }
            self.column(below, owner, rows, depth)?;
            if index == table.columns {
                check_orders(self.bytes, table, below)?;
            }
        }
        if is_whole { self.extras(table, column) } else { Ok(()) }
    }

    /// Checks the extras of the table of a struct column, and claims their objects.
    fn extras(&mut self, table: Table, rows: Elements) -> Result<()> {
        let Some(extras) = table.extras(self.bytes)? else { return Ok(()) };
        self.claim_block(RegionKind::Array, extras.offset as u64, ARRAY_SIZE as u64)?;
        let owner = Owner { block: extras.offset, column: 0 };
        let tensor = (extras.offset + ARRAY_TENSOR) as u64;
        self.zero(tensor, tensor + 1)?;
        self.column(extras, owner, None, MAX_COLUMN_DEPTH)?;
        let mut next = 0;
        for index in 0..extras.count {
            let (row, home) = extra(extras.slot(self.bytes, index)?);
            let known = row >= next && row < table.rows;
            if !known || rows.gap(self.bytes, row)?.is_some() {
                let at = extras.data as u64 + 8 * index as u64;
                return Err(error(ErrorKind::BadIndex, at));
            }
            next = row + 1;
            let block = self.block(home)?;
            self.object(block, 0)?;
            if block.kind() == KIND_MAP
                && map::Map::load(self.bytes, block.offset.into())?.cells.is_none()
            {
                return Err(error(ErrorKind::BadCode, (block.offset + MAP_VALUES).into()));
            }
            check_further(self.bytes, table, home)?;
        }
        Ok(())
    }

    fn list(
        &mut self,
        column: Elements,
        owner: Owner,
        above: Option<Above>,
        depth: usize,
    ) -> Result<()> {
        let list = List::load(self.bytes, column.data)?;
        let at = list.offset as u64;
        let form = load_u8(self.bytes, at + NESTED_FORM as u64)?;
        if form > 1 || !column.column.takes_list(form == 1) {
            return Err(error(ErrorKind::BadCode, at + NESTED_FORM as u64));
        }
        self.claim_block(RegionKind::List, at, list.size())?;
        self.nested(column, owner)?;
        let child = list.child(self.bytes)?;
        if list.length.is_none() {
            self.zero(at + LIST_LENGTH as u64, at + NESTED_BITS as u64)?;
            self.offsets(list)?;
        }
        list.check_elements(self.bytes, column.count)?;
        absent::check(self.bytes, column, above)?;
        let in_table = load_u8(self.bytes, owner.block as u64)? == KIND_TABLE;
        check_tensor(self.bytes, column, in_table)?;
        let owner = Owner { block: list.offset, column: 0 };
        if !column.column.is_run() {
            let above = Above::arrays(self.bytes, column, list)?;
            return self.column(child, owner, above, depth);
        }
        self.data = RegionKind::Text;
        self.column(child, owner, None, depth)?;
        self.data = RegionKind::Data;
        run::check(self.bytes, list)
    }

    /// Checks the column of a list's offsets.
    fn offsets(&mut self, list: List) -> Result<()> {
        let offsets = list.offsets(self.bytes)?;
        let owner = Owner { block: list.offset, column: 0 };
        let tensor = (offsets.offset + ARRAY_TENSOR) as u64;
        self.zero(tensor, tensor + 1)?;
        self.column(offsets, owner, None, MAX_COLUMN_DEPTH)
    }
}

/// Counts the slots of a column that have a value, and those that are null. `slots` is the
/// count of its slots below rows and arrays that are there.
fn count_slots(bytes: &[u8], column: Elements, slots: u64) -> Result<(u64, u64)> {
    if column.gaps == GAPS_NONE {
        return Ok((slots, 0));
    }
    let (bits, size) = (column.bits_at(bytes)?, bitmap_size(column.capacity as u64));
    let ones = |at: u64| -> Result<u64> {
        let length = bitmap_size(column.count as u64);
        Ok(slice(bytes, at, length)?.iter().map(|byte| byte.count_ones() as u64).sum())
    };
    let valid = ones(bits)?;
    Ok(match column.gaps {
        GAPS_NULL => (valid, slots.saturating_sub(valid)),
        GAPS_MISSING => (valid, 0),
        _ => (valid, ones(bits + size)?),
    })
}
