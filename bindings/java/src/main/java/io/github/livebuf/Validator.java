package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;
import static io.github.livebuf.Layout.*;

import java.util.Arrays;

/**
 * Whether bytes are a valid document (FORMAT 9): one pass over all that the root leads to. Each block and each owned
 * span claims its bytes. So nothing overlaps, there are no circles, and the work is bounded. The first problem that is
 * met is thrown.
 */
final class Validator {
    private final Document doc;
    private final Mem m;
    private final int limit; // containers that may be within each other
    private final Mem claimed; // a bit for each byte: it belongs to a block or an owned span
    private final Mem shared; // a bit for each byte: it belongs to a span that may be shared
    private final long[] texts = new long[64]; // cells of shared texts that were found to be UTF-8 lately

    private Validator(Document doc, int limit) {
        this.doc = doc;
        this.limit = limit;
        m = doc.m;
        int n = m.size / 8 + 16; // with room to read and write eight bytes at the end
        claimed = new Mem(new byte[n], n);
        shared = new Mem(new byte[n], n);
    }

    /** Throws the first problem of a document, if it has one. */
    static void check(Document doc) {
        Deep.call(limit -> {
            new Validator(doc, limit).document();
            return null;
        });
    }

    /** Throws a problem at an offset, unless all is right there. */
    private static void is(boolean good, ErrorKind kind, long at) {
        if (!good) {
            throw LivebufException.at(kind, at);
        }
    }

    // --- bytes and bits

    /** Takes the bytes of a block. */
    private void claim(long at, long size) {
        is((at & 7) == 0, MISALIGNED, at);
        is(m.reaches(at, size), OUT_OF_BOUNDS, at);
        take(at, size, false);
    }

    /** Takes bytes of the document for one owner, or for all spans that share them. It looks at up to 64 at once. */
    private void take(long at, long size, boolean share) {
        for (long here = at, end = at + size; here < end;) {
            long n = Math.min(end - here, 64 - (here & 7));
            long mask = -1L >>> 64 - n << (here & 7);
            long place = here >> 3;
            long owned = claimed.u64(place);
            long lent = shared.u64(place);
            if (share) {
                shared.put64(place, lent | mask);
                lent = 0;
            } else {
                claimed.put64(place, owned | mask);
            }
            is(((owned | lent) & mask) == 0, OVERLAP, at);
            here += n;
        }
    }

    /** Checks that bytes up to an end are 0. */
    private void zero(long at, long end) {
        while (at < end) {
            if (at + 8 <= end && m.u64(at) == 0) {
                at += 8;
            } else {
                is(m.u8(at) == 0, NOT_ZERO, at);
                at++;
            }
        }
    }

    /** Checks that the bits of a bitmap are 0 from a number on. */
    private void zeroBits(long bitmap, long count, long end) {
        long at = bitmap + (count >> 3);
        is((count & 7) == 0 || m.u8(at) >> (count & 7) == 0, NOT_ZERO, at);
        zero(bitmap + (count + 7 >> 3), end);
    }

    /** Checks that a bitmap of so many bytes has no bit that another one lacks. */
    private void within(long bitmap, long other, long size) {
        for (long i = 0; i < size; i += 8) {
            is((m.u64(bitmap + i) & ~m.u64(other + i)) == 0, NOT_ZERO, bitmap + i);
        }
    }

    /** Checks the tags and cells behind the first ones of tagged cells. */
    private void unused(long base, long count, long capacity) {
        long tags = base + tagAt(count);
        long end = base + cellsSize(capacity);
        if ((count & 7) == 0) {
            zero(tags, end);
        } else {
            zero(tags, tags + 8 - (count & 7));
            zero(base + cellAt(count), end);
        }
    }

    // --- the document, its free space and its shapes

    private void document() {
        int tag = m.u8(HEADER_ROOT_TAG);
        zero(HEADER_ROOT_TAG + 1, HEADER_USED);
        claim(0, HEADER_SIZE);
        aux();
        shapes();
        is(tag != TAG_NOTHING, BAD_CODE, HEADER_ROOT_TAG);
        value(tag, HEADER_ROOT, 0);
    }

    private void aux() {
        long aux = m.u32(HEADER_AUX);
        int flags = m.u16(HEADER_READ_ONLY);
        boolean stated = flags == FLAG_STATE << 8;
        if (aux == 0) {
            is(!stated, BAD_CODE, HEADER_IGNORE);
            return;
        }
        m.need(aux, AUX_SIZE);
        int classes = m.u8(aux + 1);
        long place = m.u32(aux + 20);
        is(m.u8(aux) == KIND_AUX, WRONG_BLOCK, aux);
        is(classes > 0 && classes <= 18 && (classes & 1) == 0, BAD_COUNT, aux + 1);
        claim(aux, AUX_SIZE + 4 * classes);
        zero(aux + 2, aux + 4);
        if (flags == 0 || stated) { // flags that are not known may give these fields a meaning
            zero(aux + 16, aux + 20);
            is(place != 0 || !stated, BAD_CODE, HEADER_IGNORE);
            if (place != 0) {
                claim(place, STATE_SIZE);
            }
        }
        long size = 0;
        long count = 0;
        for (int i = 0; i < classes; i++) {
            for (long block = m.u32(aux + AUX_SIZE + 4 * i); block != 0; block = m.u32(block)) {
                long z = m.u32(block + 4);
                m.need(block, 8);
                is(z >= 8 && (z & 7) == 0 && Math.min(64 - Long.numberOfLeadingZeros(z >> 4), classes - 1) == i,
                    BAD_FREE_LIST, block);
                claim(block, z);
                size += z;
                count++;
            }
        }
        is(m.u32(aux + 4) == size && m.u32(aux + 8) == count, BAD_FREE_LIST, aux + 4);
    }

    private void shapes() {
        for (long at = m.u32(HEADER_SHAPES); at != 0; at = m.u32(at + 4)) {
            long shape = Read.shape(m, at);
            long keys = shape & U32;
            long count = shape >>> 32;
            boolean wide = m.u8(at) == KIND_WIDE_SHAPE;
            long capacity = wide ? count : m.u8(at + 1);
            is(capacity > 0 && wide == (count > MAX_FIELDS) && (wide || m.u8(at + 2) == count), BAD_COUNT, at);
            claim(at, keys + 8 * capacity - at);
            is(m.u8(at + 3) <= 1, BAD_CODE, at + 3);
            mark(at, 1); // together with its claim: a shape begins here
            for (long cell = keys; cell < keys + 8 * count; cell += 8) {
                long x = m.u64(cell);
                is(x < 0 || x >>> 32 <= MAX_KEY, BAD_CELL, cell);
                span(TAG_TEXT, cell);
            }
            zero(keys + 8 * count, keys + 8 * capacity);
            if (wide) {
                zero(at + 1, at + 3);
                zero(at + 12, at + 16);
                zero(at + 16 + 2 * count, keys);
                order(at, count, keys);
            } else {
                zero(at + 8 + count, keys);
                fingerprints(at, count, keys);
            }
        }
    }

    private void mark(long shape, int bit) {
        shared.put8(shape >> 3, shared.u8(shape >> 3) | bit);
    }

    /** The text of a span that was checked. */
    private byte[] key(long cell) {
        long span = Read.span(m, cell);
        return m.copy(span & U32, span >>> 32);
    }

    private void fingerprints(long at, long count, long keys) {
        for (int i = 0; i < count; i++) {
            Key key = Key.forShapes(key(keys + 8L * i));
            is(m.u8(at + 8 + i) == key.fingerprint, BAD_INDEX, at + 8 + i);
            is(Read.findInShape(m, at, count, key) == i, DUPLICATE_KEY, keys + 8L * i);
        }
    }

    /** Checks the order of a wide shape's keys. */
    private void order(long at, long count, long keys) {
        byte[] before = null;
        for (long i = at + 16; i < at + 16 + 2 * count; i += 2) {
            int place = m.u16(i);
            is(place < count, BAD_INDEX, i);
            byte[] key = key(keys + 8L * place);
            rises(before, key, keys + 8L * place);
            before = key;
        }
    }

    /** Checks that a key is behind the one before; null before the first. */
    private static void rises(byte[] before, byte[] key, long at) {
        int order = before == null ? -1 : Arrays.compareUnsigned(before, key);
        is(order != 0, DUPLICATE_KEY, at);
        is(order < 0, BAD_INDEX, at);
    }

    /** Checks that the record or table at an offset may use so many keys of a shape. */
    private void useShape(long shape, int count, long at) {
        boolean wide = count > MAX_FIELDS;
        boolean only = (m.u8(shape + 3) & 1) != 0;
        is((shape & 7) == 0 && m.reaches(shape, 8) && (claimed.u8(shape >> 3) & shared.u8(shape >> 3) & 1) != 0
            && wide == (m.u8(shape) == KIND_WIDE_SHAPE), WRONG_BLOCK, at + 4);
        is(wide ? m.u32(shape + 8) == count : m.u8(shape + 2) >= count, BAD_COUNT, at);
        // The bit of the shape's second byte says that another one used it.
        is(!only || (shared.u8(shape >> 3) & 2) == 0, BAD_COUNT, shape + 3);
        mark(shape, 2);
    }

    // --- values

    /** Checks a value by its tag and its cell, which lies in a block, with so many containers around it. */
    private void value(int tag, long cell, int depth) {
        long x = m.u64(cell);
        if (tag >= TAG_TEXT && tag < TAG_OBJECT) {
            span(tag, cell);
        } else if (tag == TAG_OBJECT || tag == TAG_ARRAY) {
            is(x >>> 32 == 0, BAD_CELL, cell);
            node(tag, x, depth);
        } else if (tag > TAG_ARRAY) {
            is(false, tag >= TAG_UNDEFINED ? BAD_CODE : UNSUPPORTED_FEATURE, cell);
        } else if (tag <= TAG_TRUE) {
            is(x == 0, BAD_CELL, cell);
        } else {
            is(tag == TAG_UINT ? x < 0 : Read.isImmediate(tag, x), BAD_CELL, cell);
        }
    }

    /** Checks that a container may be where so many are around it. */
    private void deeper(int depth, long at) {
        if (depth >= limit) {
            throw Deep.stop(limit, at);
        }
    }

    /** Checks the object or array of a home, with so many containers around it. */
    private void node(int tag, long home, int depth) {
        deeper(depth, home);
        if (tag == TAG_OBJECT) {
            object(home, depth + 1);
            return;
        }
        long block = block(home);
        is(m.u8(block) == KIND_ARRAY, WRONG_BLOCK, block);
        claim(block, COLUMN_SIZE);
        column(block, new Around(0, 0, 0, 0, depth + 1, m.u32(block + 4) > 0));
    }

    /** The block of a home. A forward is claimed. */
    private long block(long home) {
        long block = Read.resolve(m, home);
        if (block != home) {
            claim(home, 8);
            zero(home + 1, home + 4);
        }
        return block;
    }

    /** Checks an object, whose members have so many containers around them. It gives the object's block. */
    private long object(long home, int depth) {
        long block = block(home);
        long head = m.u64(block);
        if ((head & 0xff) == KIND_MAP) {
            map(block, depth);
            return block;
        }
        int capacity = m.u8(block + 1);
        int used = m.u8(block + 2);
        long shape = head >>> 32;
        is((head & 0xff) == KIND_RECORD, WRONG_BLOCK, block);
        claim(block, recordSize(capacity));
        is(used <= capacity && (used == 0) == (shape == 0), BAD_COUNT, block);
        if (used > 0) {
            useShape(shape, used, block);
        }
        unused(block + 8, used, capacity);
        is(cells(block + 8, used, depth, true) == m.u8(block + 3), BAD_COUNT, block + 3);
        return block;
    }

    /** Checks tagged cells, and counts those that have a value. */
    private long cells(long base, long count, int depth, boolean mayMiss) {
        long values = count;
        for (long i = 0; i < count; i++) {
            int tag = m.u8(base + tagAt(i));
            long cell = base + cellAt(i);
            if (tag == TAG_NOTHING) {
                is(mayMiss, BAD_CODE, cell);
                is(m.u64(cell) == 0, NOT_ZERO, cell);
                values--;
            } else if (tag != TAG_INT && tag != TAG_FLOAT) {
                value(tag, cell, depth);
            }
        }
        return values;
    }

    /** Checks a span by its tag and its cell, and claims its bytes (FORMAT 3.3). */
    private void span(int tag, long cell) {
        long x = m.u64(cell);
        long start = x & U32;
        long size = x >>> 32 & MAX_SPAN;
        boolean known = false; // that it is UTF-8
        if (x < 0) {
            start = cell;
            size = x >>> 56 & 0x7f;
            is(size <= 7 && (x << 8 >>> 8 >>> 8 * size) == 0, BAD_CELL, cell);
            known = (x << 8 & 0x8080808080808080L) == 0;
        } else {
            is(m.reaches(start, size), OUT_OF_BOUNDS, cell);
            is(size > 7 && (size <= MAX_SHARED || (x & SPAN_OWNED) != 0), BAD_CELL, cell);
            boolean owned = (x & SPAN_OWNED) != 0;
            if (owned && (start & 7) == 0) {
                is(m.reaches(start, word(size)), OUT_OF_BOUNDS, cell);
                take(start, word(size), false);
                zero(start + size, start + word(size)); // these bytes belong to it, too
            } else {
                take(start, size, !owned);
                int name = (int) (start >> 3 ^ size) & 63;
                known = !owned && texts[name] == x;
                if (!owned && tag == TAG_TEXT) {
                    texts[name] = x; // if it is none, the check ends here
                }
            }
        }
        switch (tag) {
            case TAG_TEXT -> is(known || m.isText(start, size), BAD_TEXT, start);
            case TAG_NUMBER_TEXT -> {
                is(known || m.isText(start, size), BAD_TEXT, start);
                is(Json.isNumber(m, start, size), BAD_NUMBER, start);
            }
            case TAG_UUID -> is(size == 16, BAD_CELL, cell);
            case TAG_LARGE_DECIMAL -> is(size == 17 && isLargeDecimal(start), BAD_CELL, cell);
            default -> { }
        }
    }

    /** Whether 17 bytes are a decimal that no smaller form holds (FORMAT 3.6). */
    private boolean isLargeDecimal(long at) {
        long low = m.u64(at);
        long high = m.u64(at + 8);
        if (high == low >> 63 && low << 8 >> 8 == low) {
            return false;
        }
        if (high < 0) {
            low = -low;
            high = low == 0 ? -high : ~high;
        }
        // 10³⁸, by its halves.
        int order = Long.compareUnsigned(high, 0x4b3b4ca85a86c47aL);
        return (order < 0 || order == 0 && Long.compareUnsigned(low, 0x098a224000000000L) < 0)
            && m.u8(at + 16) <= MAX_SCALE;
    }

    // --- columns

    /**
     * What is around a column.
     *
     * @param parent the table or list that it is in; 0 for none
     * @param place which column of the table it is
     * @param above the header of the column above, where what that one lacks is missing in this one; else 0
     * @param level struct and list columns around it
     * @param depth containers around its values
     * @param live whether it has slots below rows and arrays that are there
     */
    private record Around(long parent, int place, long above, int level, int depth, boolean live) {}

    private static final Around NOTHING = new Around(0, 0, 0, 0, 0, false);

    /**
     * Checks a column by its header, which is claimed, and all in it. It counts the column's dimensions if it is a
     * tensor.
     */
    private int column(long h, Around at) {
        Read.Head c = Read.column(m, h);
        boolean nested = isNested(c.code);
        boolean inTable = at.parent != 0 && m.u8(at.parent) == KIND_TABLE;
        boolean without = c.capacity == 0 && !nested;
        is(c.gaps == 0 || c.code != CODE_CELLS, BAD_CODE, h + 1);
        is(c.gaps <= 1 || inTable || at.above != 0, BAD_CODE, h + 2);
        is(m.u8(h + 3) <= 1, NOT_ZERO, h + 3);
        is(c.count <= c.capacity, BAD_COUNT, h);
        is(without == (c.data == 0) && !(without && isDictionary(c.code)), BAD_COUNT, h);
        is(c.gaps > 0 || c.code != CODE_NULL && (!nested || c.capacity == c.count), BAD_COUNT, h);
        is(c.tensor || c.code < CODE_F16, BAD_CODE, h + 3);
        is(!c.tensor || !inTable && c.gaps == 0 && (c.code >= CODE_I8 && c.code <= CODE_F64 || c.code >= CODE_F16
            || c.code == CODE_FIXED_LIST), BAD_CODE, h + 3);
        int dimensions = c.tensor ? 1 : 0;
        if (without) {
            return dimensions;
        }
        if (!nested) {
            leaf(c, at.depth, inTable || at.above != 0);
            missing(c, at.above);
            return dimensions;
        }
        boolean struct = c.code == CODE_STRUCT;
        long size = LIST_OFFSETS;
        if (struct) {
            size = TABLE_SIZE + COLUMN_SIZE * (m.u16(c.data + 20) + (m.u8(c.data + 1) & 1));
        } else if (m.u8(c.data + 1) == 0) {
            size += COLUMN_SIZE;
        }
        c.bitmaps = m.u32(c.data + 8);
        is(at.level < MAX_COLUMN_NESTING || c.code == CODE_RUN, NESTING_LIMIT, h);
        m.need(c.data, TABLE_SIZE);
        is(m.u8(c.data) == (struct ? KIND_TABLE : KIND_LIST), WRONG_BLOCK, c.data);
        claim(c.data, size);
        is(m.u32(c.data + 12) == (at.parent != 0 ? at.parent : h), WRONG_BLOCK, c.data + 12);
        is(m.u16(c.data + 2) == at.place, WRONG_BLOCK, c.data + 2);
        is((c.bitmaps == 0) == (c.gaps == 0 || c.capacity == 0), BAD_COUNT, c.data + 8);
        if (c.bitmaps != 0) {
            claim(c.bitmaps, bitmapsSize(c.gaps, c.capacity));
            bitmaps(c);
        }
        boolean live = at.live;
        if (c.gaps > 0) {
            live = false;
            for (long i = 0; i < c.count && !live; i += 8) {
                live = m.u8(c.bitmaps + (i >> 3)) != 0;
            }
        }
        if (live && c.code != CODE_RUN) {
            deeper(at.depth, h);
        }
        if (struct) {
            table(c, at, live);
            return 0;
        }
        return list(c, at, live);
    }

    /** Checks the data of a column that is no table and no list, and claims it. */
    private void leaf(Read.Head c, int depth, boolean mayMiss) {
        int width = width(c.code);
        int tag = columnTag(c.code);
        long end = c.values + valuesSize(c.code, c.capacity);
        long behind = c.values + word(width * c.capacity); // marks, or the header of a dictionary's texts
        claim(c.data, end - c.data);
        bitmaps(c);
        if (c.code == CODE_CELLS) {
            cells(c.values, c.count, depth, mayMiss);
            unused(c.values, c.count, c.capacity);
            return;
        }
        zero(c.values + width * c.count, behind);
        switch (c.code) {
            case CODE_NULL -> zero(c.data, c.data + bitmapSize(c.capacity)); // no slot has a value
            case CODE_BOOL, CODE_MARKED_F32, CODE_MARKED_F64 -> {
                zeroBits(behind, c.count, end);
                if (c.gaps > 0) {
                    within(behind, c.bitmaps, end - behind);
                }
            }
            case CODE_DICTIONARY_U8, CODE_DICTIONARY_U16 -> dictionary(c, behind);
            case CODE_TEXT, CODE_OBJECTS, CODE_ARRAYS -> {
                long slot = c.values;
                for (long i = 0; i < c.count; i++, slot += width) {
                    if (c.gaps > 0 && !m.bit(c.bitmaps, i)) {
                        zero(slot, slot + width);
                    } else if (c.code == CODE_TEXT) {
                        span(TAG_TEXT, slot);
                    } else {
                        node(tag, m.u32(slot), depth);
                    }
                }
                return;
            }
            case CODE_DATE, CODE_TIME, CODE_DATE_TIME, CODE_TIMESTAMP, CODE_DECIMAL -> {
                for (long slot = c.values; slot < c.values + width * c.count; slot += width) {
                    is(Read.isImmediate(tag, c.code == CODE_DATE ? m.i32(slot) : m.u64(slot)), BAD_CELL, slot);
                }
            }
            case CODE_BOOL8 -> {
                for (long slot = c.values; slot < c.values + c.count; slot++) {
                    is(m.u8(slot) <= 1, BAD_CELL, slot);
                }
            }
            default -> { }
        }
        // Slots without a value are 0. They are looked at by runs of them.
        for (long i = 0; c.gaps > 0 && i < c.count;) {
            long lacks = ~m.u64(c.bitmaps + (i >> 6 << 3)) >>> (i & 63);
            if (lacks == 0) {
                i = (i | 63) + 1;
                continue;
            }
            int skip = Long.numberOfTrailingZeros(lacks);
            long first = i + skip;
            i = first + Long.numberOfTrailingZeros(~(lacks >>> skip));
            zero(c.values + width * first, Math.min(c.values + width * i, behind));
        }
    }

    /** Checks the bitmaps of a column's gaps, which are claimed. */
    private void bitmaps(Read.Head c) {
        if (c.gaps == 0) {
            return;
        }
        long size = bitmapSize(c.capacity);
        long nulls = c.bitmaps + size;
        zeroBits(c.bitmaps, c.count, nulls);
        if (c.gaps == 3) {
            zeroBits(nulls, c.count, nulls + size);
            for (long i = 0; i < size; i += 8) {
                is((m.u64(c.bitmaps + i) & m.u64(nulls + i)) == 0, NOT_ZERO, nulls + i);
            }
        }
    }

    /** Checks that a column's slots are missing where those of the column above have no value (FORMAT 6.2). */
    private void missing(Read.Head c, long header) {
        if (header == 0) {
            return;
        }
        Read.Head above = Read.column(m, header);
        boolean list = above.code == CODE_FIXED_LIST;
        if (!list && c.gaps > 1) {
            // By 64 slots: no slot has a value, or is null, where the row above has none.
            long nulls = c.bitmaps + bitmapSize(c.capacity);
            for (long i = 0; i < bitmapSize(c.count); i += 8) {
                long some = m.u64(c.bitmaps + i) | (c.gaps == 3 ? m.u64(nulls + i) : 0);
                is((some & ~m.u64(above.bitmaps + i)) == 0, BAD_CODE, c.at + 2);
            }
            return;
        }
        long per = list ? m.u32(above.data + 4) : 1;
        long i = 0;
        for (long row = 0; i < c.count; row++) {
            boolean lacks = Read.gap(m, above, row) != Read.HAS_VALUE;
            if (!lacks && !list) {
                i++;
                continue;
            }
            // Elements of an array that is there are there, too.
            for (long end = Math.min(i + per, c.count); i < end; i++) {
                boolean cells = c.code == CODE_CELLS;
                int tag = cells ? m.u8(c.data + tagAt(i)) : Read.gap(m, c, i);
                is((tag == TAG_NOTHING) == lacks, cells && lacks ? NOT_ZERO : BAD_CODE, c.at + 2);
            }
        }
    }

    /** Checks the texts of a dictionary by their header, and that each code has a text. */
    private void dictionary(Read.Head c, long header) {
        int width = width(c.code);
        long count = m.u32(header + 4);
        long capacity = m.u32(header + 8);
        long data = m.u32(header + 12);
        is(m.u8(header) == KIND_ARRAY, WRONG_BLOCK, header);
        is(m.u8(header + 1) == CODE_TEXT && m.u8(header + 2) == 0, BAD_CODE, header);
        zero(header + 3, header + 4);
        is(count > 0 && count <= Math.min(capacity, 1 << 8 * width), BAD_COUNT, header);
        claim(data, 8 * capacity);
        zero(data + 8 * count, data + 8 * capacity);
        for (long cell = data; cell < data + 8 * count; cell += 8) {
            is(m.u64(cell) >>> 62 != 1, BAD_CELL, cell);
            span(TAG_TEXT, cell);
        }
        int most = 0;
        for (long at = c.values, end = at + width * c.count; at < end; at += width) {
            most = Math.max(most, width == 1 ? m.u8(at) : m.u16(at));
        }
        is(most < count, BAD_INDEX, c.values);
    }

    /** Checks the table of a struct column, which is claimed. */
    private void table(Read.Head c, Around at, boolean live) {
        long table = c.data;
        int columns = m.u16(table + 20);
        int ordered = m.u8(table + 1);
        is(ordered <= 1, BAD_CODE, table + 1);
        zero(table + 22, table + 24);
        is(columns > 0, BAD_COUNT, table);
        missing(c, at.above);
        useShape(m.u32(table + 4), columns, table);
        for (int i = 0; i < columns + ordered; i++) {
            long h = table + TABLE_SIZE + COLUMN_SIZE * i;
            boolean orders = i == columns;
            is(m.u32(h + 4) == c.count, BAD_COUNT, h);
            is(!orders || isDictionary(m.u8(h + 1)) && (m.u8(h + 2) & 1) == 0, BAD_CODE, h);
            column(h, new Around(table, i, c.gaps > 0 ? c.at : 0, at.level + 1, at.depth + 1, live));
            if (orders) {
                orders(h, columns);
            }
        }
        long extras = m.u32(table + 16);
        if (extras != 0) {
            extras(c, extras, at.depth + 1);
        }
    }

    /** Checks the orders that rows have their members in. */
    private void orders(long header, int columns) {
        Read.Head texts = Read.dictionary(m, Read.column(m, header));
        for (long cell = texts.data; cell < texts.data + 8 * texts.count; cell += 8) {
            boolean[] named = new boolean[Math.min(columns, 128)];
            for (byte place : key(cell)) {
                is(place >= 0 && place < named.length && !named[place], BAD_INDEX, cell);
                named[place] = true;
            }
        }
    }

    /** Checks the members that single rows of a struct column have beside the columns. */
    private void extras(Read.Head c, long header, int depth) {
        long table = c.data;
        claim(header, COLUMN_SIZE);
        zero(header + 3, header + 4);
        is(m.u8(header + 1) == CODE_U64 && m.u8(header + 2) == 0, WRONG_BLOCK, header);
        column(header, NOTHING);
        long data = m.u32(header + 12);
        long next = 0;
        for (long at = data; at < data + 8 * m.u32(header + 4); at += 8) {
            long home = m.u32(at);
            long row = m.u32(at + 4);
            is(row >= next && row < c.count && Read.gap(m, c, row) == Read.HAS_VALUE, BAD_INDEX, at);
            long block = object(home, depth);
            is(m.u8(block) != KIND_MAP || m.u16(block + MAP_VALUES + 1) == CODE_CELLS, BAD_CODE, block);
            next = row + 1;
            for (Read.Members it = new Read.Members(Read.object(doc, home)); it.next();) {
                Key key = Key.forShapes(it.keyBytes());
                is(Read.findInShape(m, m.u32(table + 4), m.u16(table + 20), key) < 0, DUPLICATE_KEY, header);
            }
        }
    }

    /** Checks the list of a list column or of a run, which is claimed, and counts its dimensions as column does. */
    private int list(Read.Head c, Around at, boolean live) {
        long list = c.data;
        long h = list + LIST_ELEMENTS;
        long length = m.u32(list + 4);
        int form = m.u8(list + 1);
        int tensor = m.u8(h + 3);
        boolean run = c.code == CODE_RUN;
        boolean fixed = form == 1;
        is(form <= 1 && (run || fixed == (c.code == CODE_FIXED_LIST)), BAD_CODE, list + 1);
        is(!fixed || length > 0, BAD_COUNT, list + 4);
        is(fixed || length == 0, NOT_ZERO, list + 4);
        long count = fixed ? length * c.count : offsets(c);
        is(m.u32(h + 4) == count, BAD_COUNT, h);
        missing(c, at.above);
        is(tensor == 0 ? !c.tensor : tensor > 1 || c.code == CODE_FIXED_LIST, BAD_CODE, c.at + 3);
        long above = fixed && !run && c.gaps > 0 && tensor == 0 ? c.at : 0;
        int dimensions = column(h, new Around(list, 0, above, at.level + 1, at.depth + 1,
            count > 0 && (live || !fixed)));
        if (run) {
            run(list, c.count);
        }
        if (fixed && (tensor != 0 || run)) {
            absent(c);
        }
        is(!c.tensor || dimensions < MAX_DIMENSIONS, NESTING_LIMIT, c.at);
        return c.tensor ? dimensions + 1 : 0;
    }

    /** Checks that elements of slots without a value are 0, in a run of fixed length or where a list has tensors. */
    private void absent(Read.Head c) {
        Read.Head numbers = Read.column(m, c.data + LIST_ELEMENTS);
        while (numbers.code == CODE_FIXED_LIST) {
            numbers = Read.column(m, numbers.data + LIST_ELEMENTS);
        }
        for (long i = 0; c.gaps > 0 && i < c.count; i++) {
            long each = numbers.count * width(numbers.code) / c.count;
            long at = numbers.data + each * i;
            if (Read.gap(m, c, i) != Read.HAS_VALUE) {
                zero(at, at + each);
            }
        }
    }

    /** Checks the offsets of a list or run, and gives the last of them. */
    private long offsets(Read.Head c) {
        long h = c.data + LIST_OFFSETS;
        int code = m.u8(h + 1);
        is(code >= CODE_U8 && code <= CODE_U32 && m.u8(h + 2) == 0, WRONG_BLOCK, h);
        zero(h + 3, h + 4);
        column(h, NOTHING);
        is(m.u32(h + 4) == c.count + 1, BAD_COUNT, h);
        long data = m.u32(h + 12);
        long last = 0;
        for (long i = 0; i <= c.count; i++) {
            long next = Read.unsigned(m, code, data + width(code) * i);
            // An array without a value has no elements.
            if (next != last) {
                is(i > 0 && next > last, BAD_INDEX, h);
                is(c.gaps == 0 || Read.gap(m, c, i - 1) == Read.HAS_VALUE, BAD_COUNT, h);
                last = next;
            }
        }
        return last;
    }

    /** Checks that the bytes of a run are UTF-8, and that each of its texts begins between two characters. */
    private void run(long list, long rows) {
        long h = list + LIST_ELEMENTS;
        long count = m.u32(h + 4);
        long data = m.u32(h + 12);
        is(m.u8(h + 1) == CODE_U8 && m.u8(h + 2) == 0, BAD_CODE, h);
        is(count <= MAX_SPAN, BAD_COUNT, h);
        is(m.isText(data, count), BAD_TEXT, data);
        for (long i = 0; i < rows; i++) {
            long first = Read.listRange(m, list, i) >>> 32;
            is(first >= count || (m.u8(data + first) & 0xc0) != 0x80, BAD_TEXT, data + first);
        }
    }

    // --- maps

    private void map(long at, int depth) {
        long h = at + MAP_VALUES;
        claim(at, MAP_SIZE);
        long live = m.u32(at + 4);
        long capacity = m.u32(at + 16);
        Read.MapHead o = Read.mapFields(m, at);
        zero(at + 1, at + 4);
        zero(at + 28, at + 32);
        is(o.used <= capacity && (capacity == 0) == (o.keys == 0), BAD_COUNT, at);
        is((o.block == 0) == (o.buckets == 0) && (live > 0 || o.root == 0), BAD_COUNT, at);
        is(o.block != 0 || o.root != 0 || o.used <= MAX_UNINDEXED, BAD_COUNT, at);
        if (capacity > 0) {
            claim(o.keys, 8 * capacity);
        }
        zero(o.keys + 8 * o.used, o.keys + 8 * capacity);
        long found = 0;
        for (long cell = o.keys; cell < o.keys + 8 * o.used; cell += 8) {
            if (m.u64(cell) != 0) {
                span(TAG_TEXT, cell);
                found++;
            }
        }
        is(found == live && (o.used == 0 || m.u64(o.keys + 8 * o.used - 8) != 0), BAD_COUNT, at);
        if (o.root != 0) {
            Walk walk = new Walk();
            tree(o, o.root, -1, walk);
            is(walk.found == live, BAD_COUNT, at);
        }
        if (o.block != 0) {
            hash(o);
        }
        for (int i = 0; o.root == 0 && o.block == 0 && i < o.used; i++) {
            long cell = o.keys + 8L * i;
            Key key = Key.forShapes(key(cell));
            for (int other = 0; other < i; other++) {
                is(!Read.isKey(m, o.keys + 8L * other, key) || m.u64(cell) == 0, DUPLICATE_KEY, cell);
            }
        }
        column(h, new Around(0, 0, 0, 0, depth, o.used > 0));
        Read.Head values = Read.column(m, h);
        is(!values.tensor, BAD_CODE, h);
        for (long i = 0; i < o.used; i++) {
            long cell = o.keys + 8 * i;
            is(m.u64(cell) != 0 || Read.slot(doc, values, i).isNull(), BAD_COUNT, cell);
        }
    }

    /** What a walk over a tree has met. */
    private static final class Walk {
        private byte[] before; // the last key
        private long found;
    }

    /**
     * Checks a node of a map's tree and those below it, which lie on the level below another one; above the root that
     * is -1.
     */
    private void tree(Read.MapHead o, long node, int above, Walk walk) {
        m.need(node, TREE_NODE_SIZE);
        int level = m.u8(node);
        int count = m.u8(node + 1);
        is(count > 0 && count <= TREE_NODE_ITEMS, BAD_INDEX, node);
        is(above < 0 ? level <= MAX_TREE_LEVEL && (level == 0 || count > 1) : level == above - 1, BAD_INDEX, node);
        zero(node + 2, node + 4);
        zero(node + 4 + 4 * count, node + TREE_NODE_SIZE);
        claim(node, TREE_NODE_SIZE);
        for (int i = 0; i < count; i++) {
            long item = m.u32(node + 4 + 4 * i);
            if (level > 0) {
                tree(o, item, level, walk);
            } else {
                is(item < o.used && m.u64(o.keys + 8 * item) != 0, BAD_INDEX, node);
                byte[] key = key(o.keys + 8 * item);
                rises(walk.before, key, node);
                walk.before = key;
                walk.found++;
            }
        }
    }

    /** Checks a map's hash block (FORMAT 7.4). */
    private void hash(Read.MapHead o) {
        long size = BUCKET_SIZE * o.buckets;
        long first = o.block + BUCKET_SIZE - 1 & -BUCKET_SIZE;
        long places = 0;
        is(o.buckets <= MAX_BUCKETS, BAD_COUNT, o.block);
        claim(o.block, size + 56);
        zero(o.block, first);
        zero(first + size, o.block + size + 56);
        for (long b = first; b < first + size; b += BUCKET_SIZE) {
            int mark = m.u8(b + BUCKET_PLACES);
            is(mark <= 31, NOT_ZERO, b + BUCKET_PLACES);
            zero(b + BUCKET_PLACES + 1, b + 16);
            is((mark & 15) < o.buckets && (mark <= 15 || o.root != 0), BAD_INDEX, b);
            for (int i = 0; i < BUCKET_PLACES; i++) {
                if (m.u8(b + i) != 0) {
                    places++;
                } else {
                    is(m.u32(b + 16 + 4 * i) == 0, NOT_ZERO, b);
                }
            }
        }
        for (long entry = 0; entry < o.used; entry++) {
            if (m.u64(o.keys + 8 * entry) == 0) {
                continue;
            }
            byte[] utf8 = key(o.keys + 8 * entry);
            Key key = Key.forShapes(utf8);
            long hash = Key.hash(utf8);
            long here = Read.bucketOf((int) hash, o.buckets);
            int home = m.u8(first + BUCKET_SIZE * here + BUCKET_PLACES);
            boolean found = false;
            for (int k = 0; !found && k < BUCKET_PLACES * ((home & 15) + 1); k++) {
                long b = first + BUCKET_SIZE * ((here + k / BUCKET_PLACES) % o.buckets);
                int i = k % BUCKET_PLACES;
                if (m.u8(b + i) == hash >>> 32) {
                    long other = m.u32(b + 16 + 4 * i);
                    found = other == entry;
                    // Of two entries with one key, one finds the other here. A tree shows them by itself.
                    is(found || o.root != 0 || other >= o.used || !Read.isKey(m, o.keys + 8 * other, key),
                        DUPLICATE_KEY, b);
                }
            }
            if (found) {
                places--;
            }
            is(found || home > 15, BAD_INDEX, first + BUCKET_SIZE * here);
        }
        is(places == 0, BAD_INDEX, o.block); // a place of no entry, or of one that has another
    }
}
