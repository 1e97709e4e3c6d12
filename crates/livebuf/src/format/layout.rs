//! FORMAT.md as constants: the numbers of the byte layout, and the limits.
//!
//! Each item names its section. Sizes and offsets are in bytes.

// --- FORMAT 2: header -------------------------------------------------------

/// First four bytes of every document. `0xAB` can begin no UTF-8 text.
pub const MAGIC: [u8; 4] = [0xAB, b'L', b'B', b'F'];
/// The version that this library reads and writes. Drafts had 0.
pub const VERSION: u8 = 1;
/// Size of the header, and the smallest document.
pub const HEADER_SIZE: u32 = 32;
/// Offset of the version byte.
pub const HEADER_VERSION: u32 = 4;
/// Offset of the flags that make an unaware reader refuse.
pub const HEADER_REFUSE_FLAGS: u32 = 5;
/// Offset of the flags that make an unaware editor refuse.
pub const HEADER_READ_ONLY_FLAGS: u32 = 6;
/// Offset of the flags that anyone may ignore.
pub const HEADER_IGNORE_FLAGS: u32 = 7;
/// Offset of the root value's cell.
pub const HEADER_ROOT_CELL: u32 = 8;
/// Offset of the root value's tag (three zero bytes follow).
pub const HEADER_ROOT_TAG: u32 = 16;
/// Offset of the count of used bytes.
pub const HEADER_USED: u32 = 20;
/// Offset of the newest shape's offset.
pub const HEADER_NEWEST_SHAPE: u32 = 24;
/// Offset of the aux block's offset.
pub const HEADER_AUX: u32 = 28;

/// Most bytes a document may use.
pub const MAX_DOCUMENT: u64 = (1 << 32) - 8;

// --- FORMAT 3: cells and tags -----------------------------------------------

/// No value here: a hole or an unused place.
pub const TAG_HOLE: u8 = 0x00;
/// JSON null.
pub const TAG_NULL: u8 = 0x01;
/// JSON false.
pub const TAG_FALSE: u8 = 0x02;
/// JSON true.
pub const TAG_TRUE: u8 = 0x03;
/// A signed 64-bit integer.
pub const TAG_INT: u8 = 0x04;
/// An unsigned integer above the signed range.
pub const TAG_UINT: u8 = 0x05;
/// An IEEE 754 double.
pub const TAG_FLOAT: u8 = 0x06;
/// A decimal whose coefficient has at most 56 bits.
pub const TAG_DECIMAL: u8 = 0x07;
/// A moment: microseconds since 1970-01-01T00:00:00Z.
pub const TAG_TIMESTAMP: u8 = 0x08;
/// A date: days since 1970-01-01.
pub const TAG_DATE: u8 = 0x09;
/// A time of day: microseconds since midnight.
pub const TAG_TIME: u8 = 0x0A;
/// A date and time of day without a time zone: microseconds since 1970-01-01T00:00:00.
pub const TAG_DATE_TIME: u8 = 0x0B;
/// Text: a span of UTF-8. The first tag of the span class.
pub const TAG_STRING: u8 = 0x10;
/// A span of arbitrary bytes.
pub const TAG_BYTES: u8 = 0x11;
/// A span holding a JSON number's text.
pub const TAG_NUMBER: u8 = 0x12;
/// A UUID: a span of sixteen bytes.
pub const TAG_UUID: u8 = 0x13;
/// A decimal with a larger coefficient: a span of [`DECIMAL_SIZE`] bytes.
pub const TAG_LARGE_DECIMAL: u8 = 0x14;
/// A node: an object. Its home is a record, a map or an empty block.
pub const TAG_OBJECT: u8 = 0x20;
/// A node: an array.
pub const TAG_ARRAY: u8 = 0x21;

/// Last tag of the immediate class.
pub const TAG_IMMEDIATE_LAST: u8 = 0x0F;
/// Last tag of the span class.
pub const TAG_SPAN_LAST: u8 = 0x1F;
/// Last tag of the node class.
pub const TAG_NODE_LAST: u8 = 0x2F;

/// Bit of a span's length word: the text lies in the cell itself.
pub const SPAN_INLINE: u32 = 1 << 31;
/// Bit of a span's length word: this cell is the only reference.
pub const SPAN_OWNED: u32 = 1 << 30;
/// Bytes of a UUID.
pub const UUID_SIZE: usize = 16;
/// Bytes of a large decimal: the coefficient, then the scale.
pub const DECIMAL_SIZE: usize = 17;
/// Most bytes of a string, byte string or number text.
pub const MAX_SPAN: u32 = (1 << 30) - 1;
/// Most bytes that a cell holds itself.
pub const MAX_INLINE: usize = 7;
/// Most bytes of a span that is not owned. Many cells may share one, so this bounds the work of
/// checking it for each of them.
pub const MAX_SHARED: u32 = 1024;

// --- FORMAT 4 to 9: block kinds (first byte of a block) ---------------------

/// A list of keys.
pub const KIND_SHAPE: u8 = 1;
/// An object of up to 255 fields.
pub const KIND_RECORD: u8 = 2;
/// A home whose block lives elsewhere.
pub const KIND_FORWARD: u8 = 3;
/// An object of any number of members: keys, a column of values, and up to two indexes.
pub const KIND_MAP: u8 = 4;
/// An array of one column.
pub const KIND_ARRAY: u8 = 5;
/// A list of more than [`MAX_FIELDS`] keys, of a table.
pub const KIND_WIDE_SHAPE: u8 = 6;
/// The aux block.
pub const KIND_AUX: u8 = 7;
/// The columns of an array of similar objects.
pub const KIND_TABLE: u8 = 8;
/// The elements of an array of arrays, one array after the other.
pub const KIND_LIST: u8 = 9;

// --- FORMAT 4: shapes -------------------------------------------------------

/// Most keys of a shape that is not wide, and fields of a record.
pub const MAX_FIELDS: usize = 255;
/// Most columns of a table, and keys of a wide shape.
pub const MAX_COLUMNS: usize = 65_535;
/// Most bytes of a key in a shape.
pub const MAX_SHAPE_KEY: usize = 255;
/// Offset of a shape's flags; the only one is [`SHAPE_PRIVATE`].
pub const SHAPE_FLAGS: u32 = 3;
/// This shape is used by one record at most.
pub const SHAPE_PRIVATE: u8 = 1;
/// Offset of the next older shape.
pub const SHAPE_OLDER: u32 = 4;
/// Offset of the fingerprints.
pub const SHAPE_FINGERPRINTS: u32 = 8;

/// Offset of a wide shape's count of keys.
pub const WIDE_SHAPE_COUNT: u32 = 8;
/// Offset of the numbers of a wide shape's keys, in the order of the keys.
pub const WIDE_SHAPE_ORDER: u32 = 16;

/// Offset of the key cells in a shape of this capacity. One above [`MAX_FIELDS`] is that of a wide
/// shape.
pub const fn shape_keys(capacity: u32) -> u32 {
    match capacity > MAX_FIELDS as u32 {
        true => (WIDE_SHAPE_ORDER + 2 * capacity + 7) & !7,
        false => narrow_shape_keys(capacity),
    }
}

/// The same of a shape that is not wide.
pub(crate) const fn narrow_shape_keys(capacity: u32) -> u32 {
    (SHAPE_FINGERPRINTS + capacity + 7) & !7
}

/// Size of a shape of this capacity.
pub const fn shape_size(capacity: u32) -> u32 {
    shape_keys(capacity) + 8 * capacity
}

// --- FORMAT 5: records ------------------------------------------------------

/// Offset of the count of fields that hold a value, a byte.
pub const RECORD_LIVE: u32 = 3;
/// Offset of the shape's offset.
pub const RECORD_SHAPE: u32 = 4;
/// Offset of a record's cells (header before).
pub const RECORD_CELLS: u32 = 8;

/// Size of a record of this capacity.
pub const fn record_size(capacity: u32) -> u32 {
    RECORD_CELLS + tagged_size(capacity as u64) as u32
}

// --- FORMAT 3.4: tagged cells, in groups of eight ---------------------------

/// Bytes of `count` tagged cells: groups of eight tags and up to eight cells.
pub const fn tagged_size(count: u64) -> u64 {
    8 * count + 8 * count.div_ceil(8)
}

/// Offset of tag `index` in tagged cells.
pub const fn tag_at(index: u32) -> u64 {
    72 * (index as u64 >> 3) + (index as u64 & 7)
}

/// Offset of cell `index` in tagged cells.
pub const fn cell_at(index: u32) -> u64 {
    8 + 8 * index as u64 + 8 * (index as u64 >> 3)
}

// --- FORMAT 6: arrays -------------------------------------------------------

/// Size of an array's header.
pub const ARRAY_SIZE: u32 = 16;
/// Offset of the column code.
pub const ARRAY_COLUMN: u32 = 1;
/// Offset of the code that says which slots may be without a value.
pub const ARRAY_GAPS: u32 = 2;
/// Offset of the byte that is 1 in a tensor.
pub const ARRAY_TENSOR: u32 = 3;
/// Offset of the count of elements.
pub const ARRAY_COUNT: u32 = 4;
/// Offset of the capacity in elements.
pub const ARRAY_CAPACITY: u32 = 8;
/// Offset of the data's offset.
pub const ARRAY_DATA: u32 = 12;

// --- FORMAT 6.2 to 6.4: gaps, tables, lists ---------------------------------

/// Every slot holds a value.
pub const GAPS_NONE: u8 = 0;
/// A slot without a value is null.
pub const GAPS_NULL: u8 = 1;
/// A slot without a value is missing.
pub const GAPS_MISSING: u8 = 2;
/// A slot without a value is null or missing; a second bitmap tells (1: null).
pub const GAPS_BOTH: u8 = 3;

/// Bytes of a bitmap of `count` bits.
pub const fn bitmap_size(count: u64) -> u64 {
    count.div_ceil(64) * 8
}

/// Bytes of the bitmaps before (or, for structs and lists, beside) a column's slots.
pub const fn gaps_size(gaps: u8, count: u64) -> u64 {
    match gaps {
        GAPS_NONE => 0,
        GAPS_BOTH => 2 * bitmap_size(count),
        _ => bitmap_size(count),
    }
}

/// Most levels of struct and list columns inside each other.
pub const MAX_COLUMN_DEPTH: usize = 16;

/// Most dimensions of a tensor (FORMAT 6.6).
pub const MAX_DIMENSIONS: usize = 16;

/// Offset of a table's or list's form.
pub const NESTED_FORM: u32 = 1;
/// Offset of the number of the owner's column that a table or list is the data of: 2 bytes.
pub const NESTED_COLUMN: u32 = 2;
/// Offset of the offset of a table's or list's bitmaps.
pub const NESTED_BITS: u32 = 8;
/// Offset of the offset of a table's or list's owner: an array, a table or a list.
pub const NESTED_OWNER: u32 = 12;
/// Offset of a table's shape: its columns' keys.
pub const TABLE_SHAPE: u32 = 4;
/// Offset of the offset of a table's extras: an array of objects, and their rows.
pub const TABLE_EXTRAS: u32 = 16;
/// Offset of a table's count of columns: 2 bytes, and 2 that are 0.
pub const TABLE_COLUMNS: u32 = 20;
/// Offset of a table's column headers.
pub const TABLE_HEADERS: u32 = 24;

/// Size of a table of this many columns.
pub const fn table_size(columns: u32) -> u32 {
    TABLE_HEADERS + ARRAY_SIZE * columns
}

/// Offset of the header of a table's column.
pub const fn table_column(index: u32) -> u32 {
    TABLE_HEADERS + ARRAY_SIZE * index
}

/// Offset of the fixed length of a list's elements.
pub const LIST_LENGTH: u32 = 4;
/// Offset of the header of a list's elements.
pub const LIST_CHILD: u32 = 16;
/// Offset of the header of a list's offsets. The list ends behind this header.
pub const LIST_OFFSETS: u32 = 32;
/// Size of a list of fixed length.
pub const FIXED_LIST_SIZE: u32 = 32;
/// Size of a list with offsets.
pub const LIST_SIZE: u32 = 48;

// --- FORMAT 7: maps ---------------------------------------------------------

/// Size of a map's header, that of its values included.
pub const MAP_SIZE: u32 = 48;
/// Offset of the count of live entries.
pub const MAP_LIVE: u32 = 4;
/// Offset of the hash block's offset.
pub const MAP_HASH: u32 = 8;
/// Offset of the count of the hash block's buckets.
pub const MAP_BUCKETS: u32 = 12;
/// Offset of the keys' capacity.
pub const MAP_CAPACITY: u32 = 16;
/// Offset of the keys' offset.
pub const MAP_KEYS: u32 = 20;
/// Offset of the index root's offset.
pub const MAP_ROOT: u32 = 24;
/// Offset of four bytes that are 0.
pub const MAP_UNUSED: u32 = 28;
/// Offset of the header of the column with the values. Its count is that of used entries, holes
/// included.
pub const MAP_VALUES: u32 = 32;

/// Size of a bucket of a hash block.
pub const BUCKET_SIZE: u32 = 64;
/// Entries that a bucket names at most.
pub const BUCKET_PLACES: u32 = 12;
/// Offset of a bucket's mark.
pub const BUCKET_MARK: u32 = 12;
/// Offset of a bucket's entry numbers.
pub const BUCKET_NUMBERS: u32 = 16;
/// Bits of a mark: keys of the bucket are in it and in so many buckets after it.
pub const MARK_REACH: u8 = 15;
/// A bit of a mark: some keys of the bucket are in none of these.
pub const MARK_BEYOND: u8 = 16;
/// Most entries in use, holes included, of a map without a hash block and without a tree.
pub const FEW_ENTRIES: u32 = 16;

/// Bytes of a hash block. Its buckets begin at the first multiple of 64 in it.
pub const fn hash_size(buckets: u32) -> u64 {
    if buckets == 0 { 0 } else { (buckets as u64 + 1) * BUCKET_SIZE as u64 - 8 }
}

/// Offset of a node's count of items.
pub const NODE_COUNT: u32 = 1;
/// Most items of a node.
pub const NODE_ITEMS: u32 = 63;
/// Bytes of a node: its header, then the items.
pub const NODE_SIZE: u32 = 4 + 4 * NODE_ITEMS;
/// Most levels of an index, leaves included.
pub const MAX_LEVELS: usize = 12;

// --- FORMAT 8: aux and free space -------------------------------------------

/// Most free-list classes; an aux block may have fewer.
pub const FREE_CLASSES: u32 = 18;
/// Classes of the aux block of a small document.
pub const FEW_CLASSES: u32 = 2;
/// Offset of the count of classes.
pub const AUX_CLASSES: u32 = 1;
/// Offset of the count of free bytes.
pub const AUX_FREE_BYTES: u32 = 4;
/// Offset of the count of free blocks.
pub const AUX_FREE_BLOCKS: u32 = 8;
/// Offset of the count of frees since the last merge.
pub const AUX_FREED: u32 = 12;
/// Offset of the revision (reserved, zero).
pub const AUX_REVISION: u32 = 16;
/// Offset of the place of the document's state, 0 where it has none.
pub const AUX_STATE: u32 = 20;
/// Bytes of a document's state.
pub const STATE_SIZE: u32 = 16;
/// The ignore flag that says that the state is that of the bytes.
pub const FLAG_STATE: u8 = 2;
/// Offset of the free-list heads.
pub const AUX_HEADS: u32 = 24;

/// Size of an aux block with this many classes (an even number).
pub const fn aux_size(classes: u32) -> u32 {
    AUX_HEADS + 4 * classes
}

/// The class of a free block of `size` bytes among `classes`.
pub const fn free_class(size: u64, classes: u32) -> u32 {
    let class = if size < 16 { 0 } else { (size / 8).ilog2() };
    if class < classes { class } else { classes - 1 }
}

/// Offset of a free block's size, after the next block's offset.
pub const FREE_SIZE: u32 = 4;

// --- limits -----------------------------------------------------------------

/// Settings that bound how large a document may become and how much work a walk may do.
///
/// A limit above the format's own counts as the format's.
///
/// ```
/// use livebuf::{DocBuf, ErrorKind, Limits, New};
/// let mut limits = Limits::default();
/// limits.elements = 2;
/// let mut doc = DocBuf::new()?;
/// doc.set_limits(limits);
/// let list = doc.set_root(New::array(0))?.unwrap();
/// doc.push(list, 1)?;
/// doc.push(list, 2)?;
/// let error = doc.push(list, 3).unwrap_err();
/// assert_eq!((error.kind(), error.detail()), (ErrorKind::ElementLimit, 2));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes a document may use (format: 2³² − 8).
    pub document: u64,
    /// Most bytes of a string, key or byte string (format: 2³⁰ − 1).
    pub string: u32,
    /// Most elements of an array or entries of an object (format: 2³¹ − 1).
    pub elements: u32,
    /// Deepest nesting of containers (format: 1,000); a scalar at the root has depth 0.
    pub nesting: u16,
    /// Most values of another document that one call copies or encodes again. It is never more
    /// than a valid document of that size can hold (`docs/bounds.md`).
    pub budget: u64,
}

/// Most elements of an array, entries of a map.
pub const MAX_ELEMENTS: u32 = i32::MAX as u32;

/// Deepest nesting of a document: recursion must fit small stacks, in every language.
pub const MAX_NESTING: u16 = 1_000;

impl Limits {
    /// These limits, none above the format's own.
    #[inline]
    pub(crate) fn cut(self) -> Self {
        Limits {
            document: self.document.min(MAX_DOCUMENT),
            string: self.string.min(MAX_SPAN),
            elements: self.elements.min(MAX_ELEMENTS),
            nesting: self.nesting.min(MAX_NESTING),
            budget: self.budget,
        }
    }
}

impl Default for Limits {
    #[inline]
    fn default() -> Self {
        Limits {
            document: MAX_DOCUMENT,
            string: MAX_SPAN,
            elements: MAX_ELEMENTS,
            nesting: MAX_NESTING,
            budget: u64::MAX,
        }
    }
}
