package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;
import static io.github.livebuf.Layout.*;

/**
 * Reading values where they lie (FORMAT 3 to 7). Nothing is trusted: what leads out of the document or contradicts
 * itself is an exception with the kind of damage and its offset.
 *
 * <p>Functions that find a value have a parameter {@code into}: a value of a cursor, which becomes the one that is
 * found, or null for a new object. It may be the value that they begin at.
 */
final class Read {
    private Read() {}

    /** The tag that stands for a slot with a value. */
    static final int HAS_VALUE = 0xff;

    private static final long ONES = 0x0101010101010101L;
    private static final long HIGHS = 0x8080808080808080L;

    // --- spans and immediate values

    /** Where the bytes of a span cell are, and how many in the upper half (FORMAT 3.3). They lie in the document. */
    static long span(Mem m, long cell) {
        long bits = m.u64(cell);
        if (bits < 0) {
            long size = bits >>> 56 & 0x7f;
            if (size > 7 || !m.reaches(cell, 8)) {
                throw LivebufException.at(BAD_CELL, cell);
            }
            return size << 32 | cell;
        }
        long start = bits & U32;
        long size = bits >>> 32 & MAX_SPAN;
        if (!m.reaches(start, size)) {
            throw LivebufException.at(OUT_OF_BOUNDS, cell);
        }
        return size << 32 | start;
    }

    /** The value of a span of so many bytes, which lie in the document. */
    static Value spanValue(Document d, int tag, long start, long size, Value into) {
        if (tag == TAG_UUID && size != 16
            || tag == TAG_LARGE_DECIMAL && (size != 17 || d.m.u8(start + 16) > MAX_SCALE)) {
            throw LivebufException.at(BAD_CELL, start);
        }
        return Value.in(into, d, (int) start, 0, size, 0, tag, Value.SCALAR);
    }

    /** Whether the bits of an immediate value are those of one of its tag (FORMAT 3.6). */
    static boolean isImmediate(int tag, long x) {
        return switch (tag) {
            case TAG_DATE -> x >= MIN_DAY && x <= MAX_DAY;
            case TAG_TIME -> x >= 0 && x < DAY_MICROS;
            case TAG_DATE_TIME, TAG_TIMESTAMP -> x >= MIN_DAY * DAY_MICROS && x < (MAX_DAY + 1) * DAY_MICROS;
            case TAG_DECIMAL -> (x & 0xff) <= MAX_SCALE;
            default -> true;
        };
    }

    /** The value of an immediate tag. */
    static Value immediate(Document d, int tag, long bits, long at, Value into) {
        if (!isImmediate(tag, bits)) {
            throw LivebufException.at(BAD_CELL, at);
        }
        return Value.in(into, d, 0, 0, bits, 0, tag, Value.SCALAR);
    }

    /** The value that a tag and the cell at an offset stand for. */
    static Value cell(Document d, int tag, long at, Value into) {
        Mem m = d.m;
        if (!m.reaches(at, 8)) {
            throw LivebufException.at(OUT_OF_BOUNDS, at);
        }
        if (tag == TAG_NOTHING) {
            return Value.MISSING;
        }
        if (tag < TAG_TEXT) {
            return immediate(d, tag, m.u64(at), at, into);
        }
        if (tag < TAG_OBJECT) {
            long span = span(m, at);
            return spanValue(d, tag, span & U32, span >>> 32, into);
        }
        if (tag == TAG_OBJECT) {
            return object(d, m.u32(at), into);
        }
        if (tag == TAG_ARRAY) {
            return array(d, m.u32(at), into);
        }
        throw LivebufException.at(tag < TAG_UNDEFINED ? UNSUPPORTED_FEATURE : BAD_CODE, at);
    }

    // --- nodes

    /** The block of a node: its home, or where the forward there leads (FORMAT 3.5). It has at least 8 bytes. */
    static long resolve(Mem m, long home) {
        m.need(home, 8);
        if (m.u8(home) != KIND_FORWARD) {
            return home;
        }
        long block = m.u32(home + 4);
        m.need(block, 8);
        if (m.u8(block) == KIND_FORWARD) {
            throw LivebufException.at(WRONG_BLOCK, home);
        }
        return block;
    }

    /** The record or the map of a home. */
    static Value object(Document d, long home, Value into) {
        Mem m = d.m;
        long block = resolve(m, home);
        long head = m.u64(block);
        switch ((int) head & 0xff) {
            case KIND_RECORD -> {
                long capacity = head >> 8 & 0xff;
                if ((head >> 16 & 0xff) > capacity) {
                    throw LivebufException.at(BAD_COUNT, block);
                }
                m.need(block, recordSize(capacity));
                return Value.in(into, d, (int) block, (int) home, head, 0, TAG_OBJECT, Value.RECORD);
            }
            case KIND_MAP -> {
                m.need(block, MAP_SIZE);
                return Value.in(into, d, (int) block, (int) home, head, 0, TAG_OBJECT, Value.MAP);
            }
            default -> throw LivebufException.at(WRONG_BLOCK, block);
        }
    }

    /** The array of a home. */
    static Value array(Document d, long home, Value into) {
        long block = resolve(d.m, home);
        long count = columnHead(d.m, block) >>> 32;
        return Value.in(into, d, (int) block, (int) home, count << 32, Value.NOT_IN_LIST, TAG_ARRAY, Value.ARRAY);
    }

    /** A row of a table. */
    static Value row(Document d, long table, long row, Value into) {
        return Value.in(into, d, (int) table, (int) table, table(d.m, table), (int) row, TAG_OBJECT, Value.ROW);
    }

    /**
     * Checks a table (FORMAT 6.3). The answer has the offset of its shape in the upper half; below it are the count of
     * columns and, at bit 31, whether there are orders.
     */
    static long table(Mem m, long at) {
        m.need(at, TABLE_SIZE);
        long head = m.u64(at);
        long columns = m.u16(at + 20);
        if ((head & 0xff) != KIND_TABLE) {
            throw LivebufException.at(WRONG_BLOCK, at);
        }
        long ordered = head >> 8 & 1;
        m.need(at, TABLE_SIZE + COLUMN_SIZE * (columns + ordered));
        return head >>> 32 << 32 | ordered << 31 | columns;
    }

    /**
     * Which elements the array `row` of a list has, or which bytes a text of a run (FORMAT 6.4): the first one in the
     * upper half, and behind the last one in the lower half.
     */
    static long listRange(Mem m, long list, long row) {
        m.need(list, LIST_OFFSETS);
        long head = m.u64(list);
        long elements = m.u32(list + LIST_ELEMENTS + 4);
        long first;
        long end;
        if ((head & 0xff) != KIND_LIST) {
            throw LivebufException.at(WRONG_BLOCK, list);
        }
        if ((head >> 8 & 1) == 1) {
            long length = head >>> 32;
            if (length > 0 && row >= elements / length) {
                throw LivebufException.at(BAD_COUNT, list);
            }
            first = row * length;
            end = first + length;
        } else {
            m.need(list, LIST_OFFSETS + COLUMN_SIZE);
            int code = m.u8(list + LIST_OFFSETS + 1);
            if (row + 1 >= m.u32(list + LIST_OFFSETS + 4)) {
                throw LivebufException.at(BAD_COUNT, list);
            }
            if (code < CODE_U8 || code > CODE_U32) {
                throw LivebufException.at(WRONG_BLOCK, list);
            }
            long at = m.u32(list + LIST_OFFSETS + 12) + width(code) * row;
            if (!m.reaches(at, 2 * width(code))) {
                throw LivebufException.at(OUT_OF_BOUNDS, list);
            }
            first = unsigned(m, code, at);
            end = unsigned(m, code, at + width(code));
            if (first > end) {
                throw LivebufException.at(BAD_INDEX, list);
            }
        }
        if (end > elements) {
            throw LivebufException.at(BAD_COUNT, list);
        }
        return first << 32 | end;
    }

    /** A number of a slot of codes u8 to u32. */
    static long unsigned(Mem m, int code, long at) {
        return code == CODE_U8 ? m.u8(at) : code == CODE_U16 ? m.u16(at) : m.u32(at);
    }

    /** An array in a list. */
    static Value slice(Document d, long list, long row, Value into) {
        long range = listRange(d.m, list, row);
        long first = range >>> 32;
        columnHead(d.m, list + LIST_ELEMENTS);
        return Value.in(into, d, (int) list + LIST_ELEMENTS, (int) list, (range & U32) - first << 32 | first, (int) row,
            TAG_ARRAY, Value.ARRAY);
    }

    // --- columns

    /** What the header of a column says (FORMAT 6.1). */
    static final class Head {
        long at;
        long count;
        long capacity;
        long data;
        long bitmaps; // where they are, if there are gaps
        long values; // where the values are, behind the bitmaps
        int code;
        int gaps;
        boolean tensor;
    }

    /** Checks a column's header, of which it gives the first 8 bytes. Loops over the slots are bounded (FORMAT 11). */
    static long columnHead(Mem m, long at) {
        m.need(at, COLUMN_SIZE);
        long head = m.u64(at);
        if ((head & 0xff) != KIND_ARRAY) {
            throw LivebufException.at(WRONG_BLOCK, at);
        }
        if ((head >> 8 & 0xff) >= CODE_COUNT || (head >> 16 & 0xff) > 3) {
            throw LivebufException.at(BAD_CODE, at);
        }
        long count = head >>> 32;
        if (count > 8L * m.size || count > MAX_ELEMENTS) {
            throw LivebufException.at(BAD_COUNT, at);
        }
        if ((m.u32(at + 12) & 7) != 0) {
            throw LivebufException.at(MISALIGNED, at);
        }
        return head;
    }

    /** Reads and checks a header. */
    static Head column(Mem m, long at) {
        long head = columnHead(m, at);
        long tail = m.u64(at + 8);
        Head c = new Head();
        c.at = at;
        c.count = head >>> 32;
        c.capacity = tail & U32;
        c.data = tail >>> 32;
        c.code = (int) (head >> 8) & 0xff;
        c.gaps = (int) (head >> 16) & 0xff;
        c.tensor = (head >> 24 & 0xff) == 1;
        c.bitmaps = c.data;
        c.values = c.data;
        if (c.gaps != 0) {
            if (isNested(c.code)) {
                c.bitmaps = m.u32(c.data + 8);
            } else {
                c.values += bitmapsSize(c.gaps, c.capacity);
            }
        }
        return c;
    }

    /** The tag of a slot without a value: null, or nothing where it is missing (FORMAT 6.2); else HAS_VALUE. */
    static int gap(Mem m, Head c, long slot) {
        if (c.gaps == 0 || m.bit(c.bitmaps, slot)) {
            return HAS_VALUE;
        }
        boolean isNull = c.gaps == 1 || c.gaps == 3 && m.bit(c.bitmaps + bitmapSize(c.capacity), slot);
        return isNull ? TAG_NULL : TAG_NOTHING;
    }

    /** The value of a slot of a column. */
    static Value slot(Document d, Head c, long slot, Value into) {
        Mem m = d.m;
        if (slot < 0 || slot >= c.count) {
            throw LivebufException.at(BAD_COUNT, c.at);
        }
        if (c.code == CODE_CELLS) {
            if (!m.reaches(c.data, cellAt(slot) + 8)) {
                throw LivebufException.at(OUT_OF_BOUNDS, c.at);
            }
            return cell(d, m.u8(c.data + tagAt(slot)), c.data + cellAt(slot), into);
        }
        int gap = gap(m, c, slot);
        if (gap != HAS_VALUE) {
            return gap == TAG_NULL ? Value.in(into, d, 0, 0, 0, 0, TAG_NULL, Value.SCALAR) : Value.MISSING;
        }
        long at = c.values + width(c.code) * slot;
        if (!m.reaches(at, width(c.code))) {
            throw LivebufException.at(OUT_OF_BOUNDS, c.at);
        }
        int tag = columnTag(c.code);
        switch (c.code) {
            case CODE_I8, CODE_I16, CODE_I32, CODE_I64, CODE_U8, CODE_U16, CODE_U32, CODE_U64, CODE_F32, CODE_F64 -> {
                return number(d, c.code, at, into);
            }
            case CODE_F16 -> {
                return Value.in(into, d, 0, 0, half(m.u16(at)), 0, tag, Value.SCALAR);
            }
            case CODE_NUMBERS_F32, CODE_NUMBERS_F64, CODE_MARKED_F32, CODE_MARKED_F64 -> {
                return number(d, c, slot, at, into);
            }
            case CODE_BOOL -> tag = m.bit(c.values, slot) ? TAG_TRUE : TAG_FALSE;
            case CODE_BOOL8 -> tag = m.u8(at) != 0 ? TAG_TRUE : TAG_FALSE;
            case CODE_TEXT -> {
                return cell(d, TAG_TEXT, at, into);
            }
            case CODE_DICTIONARY_U8, CODE_DICTIONARY_U16 -> {
                return cell(d, TAG_TEXT, dictionaryCell(m, c, slot), into);
            }
            case CODE_RUN -> {
                long range = listRange(m, c.data, slot);
                long first = m.u32(c.data + LIST_ELEMENTS + 12);
                if (!m.reaches(first, range & U32)) {
                    throw LivebufException.at(OUT_OF_BOUNDS, c.data);
                }
                return spanValue(d, TAG_TEXT, first + (range >>> 32), (range & U32) - (range >>> 32), into);
            }
            case CODE_OBJECTS -> {
                return object(d, m.u32(at), into);
            }
            case CODE_ARRAYS -> {
                return array(d, m.u32(at), into);
            }
            case CODE_STRUCT -> {
                return row(d, c.data, slot, into);
            }
            case CODE_LIST, CODE_FIXED_LIST -> {
                return slice(d, c.data, slot, into);
            }
            case CODE_DATE -> {
                return immediate(d, tag, m.i32(at), at, into);
            }
            case CODE_TIME, CODE_DATE_TIME, CODE_TIMESTAMP, CODE_DECIMAL -> {
                return immediate(d, tag, m.u64(at), at, into);
            }
            case CODE_UUID -> {
                return spanValue(d, tag, at, 16, into);
            }
            default -> throw LivebufException.at(BAD_CODE, c.at); // null has no slots with values
        }
        return Value.in(into, d, 0, 0, 0, 0, tag, Value.SCALAR);
    }

    /** The value of a slot of codes 2 to 11. */
    private static Value number(Document d, int code, long at, Value into) {
        Mem m = d.m;
        long bits = switch (code) {
            case CODE_I8 -> (byte) m.u8(at);
            case CODE_I16 -> (short) m.u16(at);
            case CODE_I32 -> m.i32(at);
            case CODE_F32 -> Double.doubleToRawLongBits(Float.intBitsToFloat(m.i32(at)));
            case CODE_U8, CODE_U16, CODE_U32 -> unsigned(m, code, at);
            default -> m.u64(at);
        };
        int tag = code >= CODE_F32 ? TAG_FLOAT : code == CODE_U64 && bits < 0 ? TAG_UINT : TAG_INT;
        return Value.in(into, d, 0, 0, bits, 0, tag, Value.SCALAR);
    }

    /** The value of a slot of the column that has a header. It is a short way for the most frequent columns. */
    static Value slot(Document d, long header, long slot, Value into) {
        Mem m = d.m;
        m.need(header, COLUMN_SIZE);
        long head = m.u64(header);
        long data = m.u32(header + 12);
        int code = (int) (head >> 8) & 0xff;
        int gaps = (int) (head >> 16) & 0xff;
        boolean isPlain = (head & 0xff) == KIND_ARRAY && gaps <= 3 && (data & 7) == 0 && slot >= 0
            && slot < head >>> 32;
        if (isPlain && code == CODE_STRUCT && (gaps == 0 || m.bit(m.u32(data + 8), slot))) {
            return row(d, data, slot, into);
        }
        if (isPlain && code == CODE_CELLS && gaps == 0 && m.reaches(data, cellAt(slot) + 8)) {
            return cell(d, m.u8(data + tagAt(slot)), data + cellAt(slot), into);
        }
        if (isPlain && code >= CODE_I8 && code <= CODE_OBJECTS && (gaps == 0 || m.bit(data, slot))) {
            long at = data + bitmapsSize(gaps, m.u32(header + 8)) + width(code) * slot;
            if (m.reaches(at, width(code))) {
                return code == CODE_TEXT ? cell(d, TAG_TEXT, at, into)
                    : code == CODE_OBJECTS ? object(d, m.u32(at), into) : number(d, code, at, into);
            }
        }
        return slot(d, column(m, header), slot, into);
    }

    /** The value of a slot of codes 19 to 22: an integer or a float (FORMAT 6.1). */
    private static Value number(Document d, Head c, long slot, long at, Value into) {
        boolean narrow = width(c.code) == 4;
        double x = narrow ? Float.intBitsToFloat(d.m.i32(at)) : Double.longBitsToDouble(d.m.u64(at));
        if (isWhole(x, narrow) && !(isMarked(c.code) && d.m.bit(marks(c), slot))) {
            return Value.in(into, d, 0, 0, (long) x, 0, TAG_INT, Value.SCALAR);
        }
        return Value.in(into, d, 0, 0, Double.doubleToRawLongBits(x), 0, TAG_FLOAT, Value.SCALAR);
    }

    /** Whether a number in a column of codes 19 to 22, of 4 bytes or 8, is an integer unless it has a mark. */
    static boolean isWhole(double x, boolean narrow) {
        return Math.abs(x) <= (narrow ? 1 << 24 : 1L << 53) && x == (long) x
            && Double.doubleToRawLongBits(x) != Long.MIN_VALUE;
    }

    /** Where the marks of a column of codes 21 and 22 are. */
    static long marks(Head c) {
        return c.values + word(width(c.code) * c.capacity);
    }

    /** The bits of a double that is a float of 16 bits. */
    static long half(int bits) {
        long sign = (long) (bits >> 15) << 63;
        int exponent = bits >> 10 & 31;
        long fraction = bits & 1023;
        if (exponent == 31) {
            return sign | 0x7ffL << 52 | fraction << 42; // the bits of a NaN are kept
        }
        double x = exponent == 0 ? fraction * 0x1p-24 : Math.scalb((double) (1024 + fraction), exponent - 25);
        return sign | Double.doubleToRawLongBits(x);
    }

    /** The column of a dictionary's texts, behind the codes of all slots. */
    static Head dictionary(Mem m, Head c) {
        return column(m, c.values + word(width(c.code) * c.capacity));
    }

    /** The cell of a slot's text. */
    static long dictionaryCell(Mem m, Head c, long slot) {
        long texts = c.values + word(width(c.code) * c.capacity);
        long code = c.code == CODE_DICTIONARY_U8 ? m.u8(c.values + slot) : m.u16(c.values + 2 * slot);
        m.need(texts, COLUMN_SIZE);
        if (code >= m.u32(texts + 4)) {
            throw LivebufException.at(BAD_INDEX, c.at);
        }
        return m.u32(texts + 12) + 8 * code;
    }

    // --- shapes

    /** Where the keys of a shape begin, and in the upper half how many it has (FORMAT 4). */
    static long shape(Mem m, long at) {
        m.need(at, 16);
        long head = m.u64(at);
        switch ((int) head & 0xff) {
            case KIND_SHAPE -> {
                long capacity = head >> 8 & 0xff;
                m.need(at, shapeSize(capacity));
                return Math.min(head >> 16 & 0xff, capacity) << 32 | at + word(8 + capacity);
            }
            case KIND_WIDE_SHAPE -> {
                long count = m.u32(at + 8);
                if (count > MAX_COLUMNS) {
                    throw LivebufException.at(BAD_COUNT, at);
                }
                m.need(at, wideShapeSize(count));
                return count << 32 | at + word(16 + 2 * count);
            }
            default -> throw LivebufException.at(WRONG_BLOCK, at);
        }
    }

    /** The place of a key among the first n of a shape, or -1. */
    static int findInShape(Mem m, long at, long n, Key k) {
        long head = m.u64(at);
        long capacity = head >> 8 & 0xff;
        if ((head & 0xff) != KIND_SHAPE || !m.has(at, shapeSize(capacity))) {
            return findInWideShape(m, at, n, k);
        }
        long keys = at + word(8 + capacity);
        n = Math.min(Math.min(n, head >> 16 & 0xff), capacity);
        for (int i = 0; i < n; i += 8) {
            // Bytes that are equal become 0, and of a byte that is 0 the highest bit is set. Others may be, too.
            long x = m.u64(at + 8 + i) ^ k.fingerprint * ONES;
            for (long t = x - ONES & ~x & HIGHS; t != 0; t &= t - 1) {
                int place = i + (Long.numberOfTrailingZeros(t) >> 3);
                if (place < n && isKey(m, keys + 8 * place, k)) {
                    return place;
                }
            }
        }
        return -1;
    }

    /** findInShape for a wide shape, or one that is damaged. */
    private static int findInWideShape(Mem m, long at, long n, Key k) {
        long shape = shape(m, at);
        long keys = shape & U32;
        int count = (int) (shape >>> 32);
        for (int low = 0, high = count; low < high;) {
            int middle = (low + high) >>> 1;
            int place = m.u16(at + 16 + 2 * middle);
            if (place >= count) {
                throw LivebufException.at(BAD_INDEX, at);
            }
            int order = compare(m, keys + 8 * place, k.utf8);
            if (order == 0) {
                return place < n ? place : -1;
            }
            if (order < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return -1;
    }

    /** Whether a span cell is that of a key. */
    static boolean isKey(Mem m, long cell, Key k) {
        long bits = m.u64(cell);
        if (k.cell != 0) {
            return bits == k.cell;
        }
        return (bits >>> 32 & ~(1L << 30)) == k.utf8.length && m.equal(bits & U32, k.utf8);
    }

    /** The order of the text in a span cell and another one, by their bytes. */
    static int compare(Mem m, long cell, byte[] text) {
        long span = span(m, cell);
        return m.compare(span & U32, span >>> 32, text);
    }

    // --- maps

    /** What the header of a map says (FORMAT 7.1). */
    static final class MapHead {
        long at;
        long block; // the hash block
        long buckets; // their count
        long keys; // where they are
        long used; // how many entries are in use
        long root; // the tree's root
    }

    /** A map's header as it stands. */
    static MapHead mapFields(Mem m, long at) {
        MapHead o = new MapHead();
        o.at = at;
        o.block = m.u32(at + 8);
        o.buckets = m.u32(at + 12);
        o.keys = m.u32(at + 20);
        o.used = m.u32(at + MAP_VALUES + 4);
        o.root = m.u32(at + 24);
        return o;
    }

    /** Reads a map's header. All its keys lie in the document. */
    static MapHead map(Mem m, long at) {
        m.need(at, MAP_SIZE);
        MapHead o = mapFields(m, at);
        if (o.used > m.u32(at + 16) || o.buckets > MAX_BUCKETS) {
            throw LivebufException.at(BAD_COUNT, at);
        }
        if (o.used > 0) {
            m.need(o.keys, 8 * o.used);
        }
        return o;
    }

    /** The bucket where a key is at home. */
    static long bucketOf(int place, long buckets) {
        return (place & U32) * buckets >>> 32;
    }

    /** The entry of a map that has a key, or -1. */
    static int find(Mem m, MapHead o, Key k) {
        if (o.used == 0) {
            return -1;
        }
        if (o.block != 0) {
            long hash = k.mark != 0 ? (long) k.mark << 32 | k.place & U32 : Key.hash(k.utf8);
            if (o.buckets == 0 || !m.has(o.block, BUCKET_SIZE * o.buckets + 56)) {
                throw LivebufException.at(BAD_COUNT, o.at);
            }
            long first = o.block + 63 & ~63;
            long here = bucketOf((int) hash, o.buckets);
            int home = m.u8(first + BUCKET_SIZE * here + BUCKET_PLACES);
            for (int reach = home & 15; reach >= 0; reach--) {
                int entry = findInBucket(m, o, first + BUCKET_SIZE * here, (int) (hash >>> 32), k);
                if (entry >= 0) {
                    return entry;
                }
                if (++here == o.buckets) {
                    here = 0;
                }
            }
            if ((home & 16) == 0) {
                return -1;
            }
        }
        if (o.root != 0) {
            long entry = new Tree(m, o, k.utf8).next();
            return entry >= 0 && isKey(m, o.keys + 8 * entry, k) ? (int) entry : -1;
        }
        for (int i = 0; i < Math.min(o.used, MAX_UNINDEXED); i++) {
            if (isKey(m, o.keys + 8 * i, k)) {
                return i;
            }
        }
        return -1;
    }

    private static int findInBucket(Mem m, MapHead o, long bucket, int mark, Key k) {
        for (int i = 0; i < BUCKET_PLACES; i += 8) {
            long x = m.u64(bucket + i) ^ mark * ONES;
            for (long t = x - ONES & ~x & HIGHS; t != 0; t &= t - 1) {
                int j = i + (Long.numberOfTrailingZeros(t) >> 3);
                if (j >= BUCKET_PLACES) {
                    break;
                }
                long entry = m.u32(bucket + 16 + 4 * j);
                if (entry >= o.used) {
                    throw LivebufException.at(BAD_INDEX, bucket);
                }
                if (isKey(m, o.keys + 8 * entry, k)) {
                    return (int) entry;
                }
            }
        }
        return -1;
    }

    /**
     * A walk over the entries of a map's tree in the order of their keys, from the first one that is not before a key
     * on (FORMAT 7.2 and 7.3).
     */
    static final class Tree {
        private final Mem m;
        private final MapHead o;
        private final long[] nodes = new long[MAX_TREE_LEVEL + 1]; // by levels; those above the root are not in use
        private final int[] items = new int[MAX_TREE_LEVEL + 1]; // the next item of each
        private final int top;
        private long left; // a valid tree has no more entries

        Tree(Mem m, MapHead o, byte[] from) {
            this.m = m;
            this.o = o;
            left = o.used;
            top = enter(o.root, MAX_TREE_LEVEL);
            // Down to the leaf where the key is, or would stand.
            for (int level = top; ; level--) {
                items[level] = search(level, from);
                if (level == 0) {
                    break;
                }
                long node = m.u32(nodes[level] + 4 + 4L * items[level]++);
                if (enter(node, level - 1) != level - 1) {
                    throw LivebufException.at(BAD_INDEX, node);
                }
            }
        }

        /** Takes a node as the one of its level, which is at most `most`. */
        private int enter(long node, int most) {
            m.need(node, TREE_NODE_SIZE);
            int level = m.u8(node);
            int count = m.u8(node + 1);
            if (level > most || count == 0 || count > TREE_NODE_ITEMS) {
                throw LivebufException.at(BAD_INDEX, node);
            }
            nodes[level] = node;
            items[level] = 0;
            return level;
        }

        /** In a leaf the first item that is not before a key, in another node the one below which it would be. */
        private int search(int level, byte[] from) {
            long node = nodes[level];
            int low = 0;
            for (int high = m.u8(node + 1); low < high;) {
                int middle = (low + high) >>> 1;
                if (compare(m, o.keys + 8 * firstEntry(node, middle), from) < (level == 0 ? 0 : 1)) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            return level == 0 ? low : Math.max(low - 1, 0);
        }

        /** The first entry below an item of a node. */
        private long firstEntry(long node, int i) {
            for (int steps = 0; steps < MAX_TREE_LEVEL + 2; steps++) {
                m.need(node, TREE_NODE_SIZE);
                long item = m.u32(node + 4 + 4L * i);
                if (m.u8(node) == 0) {
                    if (item >= o.used) {
                        break;
                    }
                    return item;
                }
                node = item;
                i = 0;
            }
            throw LivebufException.at(BAD_INDEX, node);
        }

        /** The next entry, or -1 behind the last one. */
        long next() {
            int level = 0;
            while (items[level] >= m.u8(nodes[level] + 1)) {
                if (level++ == top) {
                    return -1;
                }
            }
            for (; level > 0; level--) {
                long node = m.u32(nodes[level] + 4 + 4L * items[level]++);
                if (enter(node, level - 1) != level - 1) {
                    throw LivebufException.at(BAD_INDEX, node);
                }
            }
            long entry = m.u32(nodes[0] + 4 + 4L * items[0]++);
            if (entry >= o.used || left-- == 0) {
                throw LivebufException.at(BAD_INDEX, nodes[0]);
            }
            return entry;
        }
    }

    // --- values as objects of their own

    static Value cell(Document d, int tag, long at) {
        return cell(d, tag, at, null);
    }

    static Value object(Document d, long home) {
        return object(d, home, null);
    }

    static Value array(Document d, long home) {
        return array(d, home, null);
    }

    static Value row(Document d, long table, long row) {
        return row(d, table, row, null);
    }

    static Value slice(Document d, long list, long row) {
        return slice(d, list, row, null);
    }

    static Value slot(Document d, Head c, long slot) {
        return slot(d, c, slot, null);
    }

    static Value field(Value record, long i) {
        return field(record, i, null);
    }

    static Value extra(Value row) {
        return extra(row, null);
    }

    static Value member(Value v, Key k) {
        return member(v, k, null);
    }

    // --- members

    /** The column of a row's table whose place is i. */
    static Value inColumn(Value row, long i, Value into) {
        return slot(row.doc, row.at + TABLE_SIZE + COLUMN_SIZE * i, row.row & U32, into);
    }

    /** The value of entry i of a map. */
    static Value entry(Value map, long i, Value into) {
        return slot(map.doc, map.at + MAP_VALUES, i, into);
    }

    /** Field i of a record, missing where it is a hole. */
    static Value field(Value record, long i, Value into) {
        long at = record.at + 8;
        return cell(record.doc, record.doc.m.u8(at + tagAt(i)), at + cellAt(i), into);
    }

    /** The member of a key. */
    static Value member(Value v, Key k, Value into) {
        switch (v.form) {
            case Value.RECORD -> {
                if (v.fields() == 0) {
                    return Value.MISSING;
                }
                int i = findInShape(v.doc.m, v.shape(), v.fields(), k);
                return i < 0 ? Value.MISSING : field(v, i, into);
            }
            case Value.ROW -> {
                int i = findInShape(v.doc.m, v.shape(), v.fields(), k);
                return i < 0 ? member(extra(v, into), k, into) : inColumn(v, i, into);
            }
            case Value.MAP -> {
                Mem m = v.doc.m;
                int i = find(m, map(m, v.at), k);
                return i < 0 ? Value.MISSING : entry(v, i, into);
            }
            default -> {
                return Value.MISSING;
            }
        }
    }

    /**
     * The places of the columns with which a row's members begin: where their bytes are, and in the upper half how many
     * (FORMAT 6.3).
     */
    static long order(Value row) {
        Mem m = row.doc.m;
        int columns = row.fields();
        if ((row.bits >> 31 & 1) == 0) {
            return 0;
        }
        Head c = column(m, row.at + TABLE_SIZE + COLUMN_SIZE * (long) columns);
        if (!isDictionary(c.code) || (row.row & U32) >= c.count) {
            throw LivebufException.at(BAD_CODE, c.at);
        }
        if (gap(m, c, row.row & U32) != HAS_VALUE) {
            return 0;
        }
        long cell = dictionaryCell(m, c, row.row & U32);
        long span = span(m, cell);
        boolean good = span >>> 32 <= 128;
        for (long at = span & U32, end = at + (span >>> 32); good && at < end; at++) {
            good = m.u8(at) < columns;
        }
        if (!good) {
            throw LivebufException.at(BAD_INDEX, cell);
        }
        return span;
    }

    /** The object with a row's members beside the columns, missing where there is none (FORMAT 6.3). */
    static Value extra(Value row, Value into) {
        Mem m = row.doc.m;
        long header = m.u32(row.at + 16);
        if (header == 0) {
            return Value.MISSING;
        }
        Head c = column(m, header);
        if (c.count > 0) {
            m.need(c.data, 8 * c.count);
        }
        for (long low = 0, high = c.count; low < high;) {
            long middle = (low + high) >>> 1;
            long x = m.u64(c.data + 8 * middle);
            int order = Long.compare(x >>> 32, row.row & U32);
            if (order == 0) {
                return object(row.doc, x & U32, into);
            }
            if (order < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return Value.MISSING;
    }

    /** Goes through the members of an object, in its order. */
    static final class Members {
        /** Where the key of the member is that next came to, and how many bytes it has. */
        long keyAt;
        int keySize;
        Value value;
        /** Places without a member that were passed. */
        int skipped;

        private Value object;
        private int i; // the next place; below 0 those of the order
        private int n;
        private long keys;
        private long order;
        private long[] named; // a bit for each column that the order names

        Members(Value object) {
            start(object);
        }

        private void start(Value v) {
            object = v;
            i = 0;
            n = 0;
            order = 0;
            if (v.form == Value.MAP) {
                MapHead o = map(v.doc.m, v.at);
                keys = o.keys;
                n = (int) o.used;
            } else if (v.form == Value.RECORD || v.form == Value.ROW) {
                n = v.fields();
                if (n == 0) {
                    return;
                }
                long shape = shape(v.doc.m, v.shape());
                keys = shape & U32;
                if (n > shape >>> 32) {
                    throw LivebufException.at(BAD_COUNT, v.at);
                }
                if (v.form == Value.ROW) {
                    order = order(v);
                    named = order == 0 ? null : new long[4];
                    i = -(int) (order >>> 32);
                    for (int k = i; k < 0; k++) {
                        int place = ordered(k);
                        named[place >> 6] |= 1L << place;
                    }
                }
            }
        }

        /** The place of the column that the order names, counted from its end by numbers below 0. */
        private int ordered(int i) {
            return object.doc.m.u8((order & U32) + (order >>> 32) + i);
        }

        /** Goes on to the next member; false behind the last. */
        boolean next() {
            for (;;) {
                Value v = object;
                while (i < n) {
                    int place = i++;
                    skipped++;
                    if (v.form == Value.RECORD) {
                        value = field(v, place, null);
                    } else if (v.form == Value.ROW) {
                        if (place < 0) {
                            place = ordered(place);
                        } else if (order != 0 && place < 256 && (named[place >> 6] >>> place & 1) != 0) {
                            continue;
                        }
                        value = inColumn(v, place, null);
                    } else {
                        if (v.doc.m.u64(keys + 8L * place) == 0) {
                            continue; // a hole
                        }
                        value = entry(v, place, null);
                        if (value.tag == TAG_NOTHING) {
                            throw LivebufException.at(BAD_CODE, v.at);
                        }
                    }
                    if (value.tag == TAG_NOTHING) {
                        continue;
                    }
                    skipped--;
                    long span = span(v.doc.m, keys + 8L * place);
                    keyAt = span & U32;
                    keySize = (int) (span >>> 32);
                    return true;
                }
                if (v.form != Value.ROW) {
                    return false;
                }
                start(extra(v, null));
            }
        }

        /** The key of the member. */
        String key() {
            return value.doc.m.text(keyAt, keySize);
        }

        /** The bytes of the member's key. */
        byte[] keyBytes() {
            return value.doc.m.copy(keyAt, keySize);
        }
    }
}
