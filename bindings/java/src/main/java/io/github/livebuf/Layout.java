package io.github.livebuf;

/** The numbers of docs/FORMAT.md. Offsets and sizes are longs, so that no sum of two of them overflows. */
final class Layout {
    private Layout() {}

    static final int MAGIC = 0x46424cab; // AB 4C 42 46, as a little-endian number
    static final int VERSION = 1;
    static final int HEADER_SIZE = 32;
    static final long MAX_USED = Integer.MAX_VALUE & ~7; // of documents in Java, whose arrays have no more bytes
    static final long U32 = 0xffffffffL;

    // Fields of the header (FORMAT 2).
    static final int HEADER_VERSION = 4;
    static final int HEADER_REFUSE = 5;
    static final int HEADER_READ_ONLY = 6;
    static final int HEADER_IGNORE = 7;
    static final int HEADER_ROOT = 8;
    static final int HEADER_ROOT_TAG = 16;
    static final int HEADER_USED = 20;
    static final int HEADER_SHAPES = 24;
    static final int HEADER_AUX = 28;

    static final int FLAG_STATE = 2; // bit 1 of HEADER_IGNORE

    // Kinds of blocks (FORMAT 3.5).
    static final int KIND_SHAPE = 1;
    static final int KIND_RECORD = 2;
    static final int KIND_FORWARD = 3;
    static final int KIND_MAP = 4;
    static final int KIND_ARRAY = 5;
    static final int KIND_WIDE_SHAPE = 6;
    static final int KIND_AUX = 7;
    static final int KIND_TABLE = 8;
    static final int KIND_LIST = 9;

    // Tags of values (FORMAT 3.2 and 3.6).
    static final int TAG_NOTHING = 0x00;
    static final int TAG_NULL = 0x01;
    static final int TAG_FALSE = 0x02;
    static final int TAG_TRUE = 0x03;
    static final int TAG_INT = 0x04;
    static final int TAG_UINT = 0x05;
    static final int TAG_FLOAT = 0x06;
    static final int TAG_DECIMAL = 0x07;
    static final int TAG_TIMESTAMP = 0x08;
    static final int TAG_DATE = 0x09;
    static final int TAG_TIME = 0x0a;
    static final int TAG_DATE_TIME = 0x0b;
    static final int TAG_TEXT = 0x10; // the first tag of a span
    static final int TAG_BYTES = 0x11;
    static final int TAG_NUMBER_TEXT = 0x12;
    static final int TAG_UUID = 0x13;
    static final int TAG_LARGE_DECIMAL = 0x14;
    static final int TAG_OBJECT = 0x20; // the first tag of a node
    static final int TAG_ARRAY = 0x21;
    static final int TAG_UNDEFINED = 0x30; // the first tag that is an error

    // Codes of columns (FORMAT 6.1).
    static final int CODE_CELLS = 0;
    static final int CODE_BOOL = 1;
    static final int CODE_I8 = 2;
    static final int CODE_I16 = 3;
    static final int CODE_I32 = 4;
    static final int CODE_I64 = 5;
    static final int CODE_U8 = 6;
    static final int CODE_U16 = 7;
    static final int CODE_U32 = 8;
    static final int CODE_U64 = 9;
    static final int CODE_F32 = 10;
    static final int CODE_F64 = 11;
    static final int CODE_TEXT = 12;
    static final int CODE_OBJECTS = 13;
    static final int CODE_ARRAYS = 14;
    static final int CODE_NULL = 15;
    static final int CODE_STRUCT = 16;
    static final int CODE_LIST = 17;
    static final int CODE_FIXED_LIST = 18;
    static final int CODE_NUMBERS_F32 = 19;
    static final int CODE_NUMBERS_F64 = 20;
    static final int CODE_MARKED_F32 = 21;
    static final int CODE_MARKED_F64 = 22;
    static final int CODE_DICTIONARY_U8 = 23;
    static final int CODE_DICTIONARY_U16 = 24;
    static final int CODE_RUN = 25;
    static final int CODE_DATE = 26;
    static final int CODE_TIME = 27;
    static final int CODE_DATE_TIME = 28;
    static final int CODE_TIMESTAMP = 29;
    static final int CODE_DECIMAL = 30;
    static final int CODE_UUID = 31;
    static final int CODE_F16 = 32; // tensors only
    static final int CODE_BOOL8 = 33; // tensors only
    static final int CODE_COUNT = 34;

    // By the code of a column: bytes of a slot, 0 where slots are tagged cells, take bits or nothing.
    private static final byte[] WIDTHS = {
        0, 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 4, 4, 0, 0, 0, 0, 4, 8, 4, 8, 1, 2, 0, 4, 8, 8, 8, 8, 16, 2, 1,
    };

    // By the code of a column: the tag of the values; those of a slot differ where it is TAG_NOTHING.
    private static final byte[] TAGS = {
        TAG_NOTHING, TAG_TRUE, TAG_INT, TAG_INT, TAG_INT, TAG_INT, TAG_INT, TAG_INT, TAG_INT, TAG_UINT, TAG_FLOAT,
        TAG_FLOAT, TAG_TEXT, TAG_OBJECT, TAG_ARRAY, TAG_NULL, TAG_OBJECT, TAG_ARRAY, TAG_ARRAY, TAG_FLOAT, TAG_FLOAT,
        TAG_FLOAT, TAG_FLOAT, TAG_TEXT, TAG_TEXT, TAG_TEXT, TAG_DATE, TAG_TIME, TAG_DATE_TIME, TAG_TIMESTAMP,
        TAG_DECIMAL, TAG_UUID, TAG_FLOAT, TAG_TRUE,
    };

    // Limits (FORMAT 1 and 3.3).
    static final int MAX_SHARED = 1024; // bytes of a span that is not owned
    static final int MAX_SPAN = (1 << 30) - 1;
    static final int MAX_KEY = 255;
    static final int MAX_FIELDS = 255;
    static final int MAX_COLUMNS = 65535;
    static final int MAX_ELEMENTS = Integer.MAX_VALUE;
    static final int MAX_NESTING = 1000;
    /** Bytes of text that the values of a valid document have at most, for each of its bytes (FORMAT 11). */
    static final long TEXT_PER_BYTE = 1025;
    static final int MAX_COLUMN_NESTING = 16;
    static final int MAX_DIMENSIONS = 16;
    static final int MAX_TREE_LEVEL = 11;
    static final int MAX_BUCKETS = 1 << 26;
    static final int MAX_UNINDEXED = 16; // entries in use of a map without an index

    // Limits of values that JSON lacks (FORMAT 3.6).
    static final int MIN_DAY = -719162; // 0001-01-01
    static final int MAX_DAY = 2932896; // 9999-12-31
    static final long DAY_MICROS = 86_400_000_000L;
    static final int MAX_SCALE = 38;

    // Sizes and places of parts of blocks.
    static final int COLUMN_SIZE = 16; // the header of a column
    static final int MAP_SIZE = 48;
    static final int MAP_VALUES = 32; // in a map, the header of its values
    static final int TABLE_SIZE = 24; // a table before the headers of its columns
    static final int LIST_ELEMENTS = 16; // in a list, the header of its elements
    static final int LIST_OFFSETS = 32; // in a list with offsets, their header
    static final int TREE_NODE_SIZE = 256;
    static final int TREE_NODE_ITEMS = 63;
    static final int BUCKET_SIZE = 64;
    static final int BUCKET_PLACES = 12;
    static final int AUX_SIZE = 24; // the aux block before the heads of its classes
    static final int STATE_SIZE = 16;

    static final long SPAN_INLINE = 1L << 63; // of a span cell: its bytes are in the cell
    static final long SPAN_OWNED = 1L << 62; // of any other: no other cell refers to its bytes

    /** The bytes of a slot of a column; 0 where slots are tagged cells, take bits or nothing. */
    static int width(int code) {
        return WIDTHS[code];
    }

    /** The tag of a column's values, or TAG_NOTHING where each slot has its own. */
    static int columnTag(int code) {
        return TAGS[code];
    }

    /** Whether slots of a column may be without a value. */
    static boolean mayHaveGaps(int code) {
        return code != CODE_CELLS && code < CODE_F16;
    }

    /** n, rounded up to a multiple of 8. */
    static long word(long n) {
        return (n + 7) & ~7;
    }

    /** Where tag i of tagged cells is, from their beginning (FORMAT 3.4). */
    static long tagAt(long i) {
        return (i >> 3) * 72 + (i & 7);
    }

    /** Where cell i of tagged cells is. */
    static long cellAt(long i) {
        return 8 + 8 * (i + (i >> 3));
    }

    /** The size of n tagged cells. */
    static long cellsSize(long n) {
        return 8 * (n + ((n + 7) >> 3));
    }

    /** The size of a record by its capacity (FORMAT 5). */
    static long recordSize(long capacity) {
        return 8 + cellsSize(capacity);
    }

    /** The size of a shape by its capacity (FORMAT 4.1). */
    static long shapeSize(long capacity) {
        return word(8 + capacity) + 8 * capacity;
    }

    /** The size of a wide shape by its count of keys (FORMAT 4.3). */
    static long wideShapeSize(long count) {
        return word(16 + 2 * count) + 8 * count;
    }

    /** The size of one bitmap of so many slots (FORMAT 6.2). */
    static long bitmapSize(long slots) {
        return ((slots + 63) >> 6) << 3;
    }

    /** The size of all bitmaps of a column. */
    static long bitmapsSize(int gaps, long slots) {
        return gaps == 0 ? 0 : gaps == 3 ? 2 * bitmapSize(slots) : bitmapSize(slots);
    }

    /** Whether a column's data is a table or a list, which names its bitmaps. */
    static boolean isNested(int code) {
        return code >= CODE_STRUCT && code <= CODE_FIXED_LIST || code == CODE_RUN;
    }

    /** Whether a column's slots are numbers of texts. */
    static boolean isDictionary(int code) {
        return code == CODE_DICTIONARY_U8 || code == CODE_DICTIONARY_U16;
    }

    /** Whether a column's slots are integers and floats, with or without marks (codes 19 to 22). */
    static boolean isNumbers(int code) {
        return code >= CODE_NUMBERS_F32 && code <= CODE_MARKED_F64;
    }

    /** Whether there are marks behind a column's values. */
    static boolean isMarked(int code) {
        return code == CODE_MARKED_F32 || code == CODE_MARKED_F64;
    }

    /**
     * The size of a column's values, without bitmaps, by its code and its capacity (FORMAT 6.1). It is 0 for columns
     * whose data is a table or a list.
     */
    static long valuesSize(int code, long capacity) {
        long size = word(width(code) * capacity);
        if (code == CODE_CELLS) {
            return cellsSize(capacity);
        }
        if (code == CODE_BOOL) {
            return bitmapSize(capacity);
        }
        return isMarked(code) ? size + bitmapSize(capacity) : isDictionary(code) ? size + COLUMN_SIZE : size;
    }
}
