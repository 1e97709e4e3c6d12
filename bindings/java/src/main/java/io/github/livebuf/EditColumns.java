package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.util.Arrays;

/** Columns that are edited (FORMAT 6): slots are opened, closed and put in order, in every kind of column. */
abstract class EditColumns extends Space {
    static final int NONE = -1;

    /** The document that edits look at. */
    final Document live;
    Handle.Table handles = new Handle.Table();

    EditColumns(Mem m) {
        super(m);
        live = new Document(m, true);
    }

    // What objects and values have to do with columns.

    abstract void freeObject(long home);

    abstract void freeShape(long shape);

    abstract void dropExtras(long table, long row, long n, boolean shells);

    abstract void shiftExtras(long table, long from, long by);

    abstract void arrangeExtras(long table, int[] places);

    abstract Node lift(Read.Head c, long slot);

    abstract void putPlain(long at, long slot, Node node);

    abstract void forgetTexts(long column);

    /** The header of a column. */
    final Read.Head col(long at) {
        return Read.column(m, at);
    }

    /** Says whether the arrays of a list or the texts of a run are equally long, so that it has no offsets. */
    final boolean isFixed(long list) {
        return m.u8(list + 1) == 1;
    }

    /** How many columns a table has, the orders among them. */
    final int headers(long table) {
        return m.u16(table + 20) + m.u8(table + 1);
    }

    static long header(long table, long place) {
        return table + TABLE_SIZE + COLUMN_SIZE * place;
    }

    /** The size of a column's data block, of a nested one that of its bitmaps. */
    static long dataSize(int code, int gaps, long capacity) {
        long size = bitmapsSize(gaps, capacity);
        return isNested(code) || capacity == 0 ? size : size + valuesSize(code, capacity);
    }

    /** Does something with slots of a column. */
    private interface Slots {
        void at(long column, long i, long n);
    }

    /** Does the same with the slots below n slots of a table or of a list of fixed length. */
    private void below(Read.Head c, long i, long n, Slots action) {
        if (c.code == CODE_STRUCT) {
            for (long j = 0; j < headers(c.data); j++) {
                action.at(header(c.data, j), i, n);
            }
        } else if (isNested(c.code) && isFixed(c.data)) {
            long l = m.u32(c.data + 4);
            action.at(c.data + LIST_ELEMENTS, i * l, n * l);
        }
    }

    // --- Planes

    private static final int CELL_BITS = 72;

    /** A part of a column's data: so many bits for each slot, or CELL_BITS where they are tagged cells. */
    private record Plane(int bits, long start) {}

    /** All parts of a column's data. First come those of the bitmaps. */
    private static Plane[] planes(Read.Head c) {
        Plane[] all = new Plane[4];
        int n = 0, width = width(c.code);
        if (c.capacity == 0) {
            return new Plane[0];
        }
        if (c.code == CODE_CELLS) {
            return new Plane[] {new Plane(CELL_BITS, c.data)};
        }
        if (c.gaps != 0) {
            all[n++] = new Plane(1, c.bitmaps);
        }
        if (c.gaps == 3) {
            all[n++] = new Plane(1, c.bitmaps + bitmapSize(c.capacity));
        }
        if (width > 0 || c.code == CODE_BOOL) {
            all[n++] = new Plane(Math.max(8 * width, 1), c.values);
        }
        if (isMarked(c.code)) {
            all[n++] = new Plane(1, c.values + word(width * c.capacity));
        }
        return Arrays.copyOf(all, n);
    }

    /** Copies the parts of n slots from number i of a plane on to those from number j on of another one. */
    private void copyPart(int bits, long from, long i, long to, long j, long n) {
        if (bits == 1 || bits == CELL_BITS) {
            long k = 0;
            if (bits == 1 && (i | j) == 0) {
                copy(to, from, n >> 3);
                k = n & ~7;
            }
            for (; k < n; k++) {
                long offset = j > i ? n - 1 - k : k;
                movePart(bits, m.bytes, from, i + offset, to, j + offset);
            }
        } else {
            copy(to + bits / 8 * j, from + bits / 8 * i, bits / 8 * n);
        }
    }

    /** Writes the part of slot j, as slot i has it in other bytes. */
    private void movePart(int bits, byte[] bytes, long from, long i, long to, long j) {
        if (bits == 1) {
            putBit(to, j, (bytes[(int) (from + (i >> 3))] >> (i & 7) & 1) == 1);
        } else if (bits == CELL_BITS) {
            m.put8(to + tagAt(j), bytes[(int) (from + tagAt(i))]);
            m.put64(to + cellAt(j), Mem.get64(bytes, (int) (from + cellAt(i))));
        } else {
            int size = bits / 8;
            System.arraycopy(bytes, (int) (from + size * i), m.bytes, (int) (to + size * j), size);
        }
    }

    private void zeroPart(Plane p, long i, long n) {
        if (p.bits == 1) {
            for (long k = i; k < i + n; k++) {
                putBit(p.start, k, false);
            }
        } else if (p.bits == CELL_BITS) {
            for (long k = i; k < i + n; k++) {
                m.put8(p.start + tagAt(k), 0);
                m.put64(p.start + cellAt(k), 0);
            }
        } else {
            zero(p.start + p.bits / 8 * i, p.bits / 8 * n);
        }
    }

    // --- Room

    /** Gives a column another capacity, more gaps, or codes of a dictionary two bytes instead of one. */
    final void relayout(long at, int code, int gaps, long capacity) {
        Read.Head c = col(at);
        Plane[] from = planes(c);
        long block = alloc(dataSize(code, gaps, capacity));
        m.put8(at + 1, code);
        m.put8(at + 2, gaps);
        m.put32(at + 8, capacity);
        long old = c.data;
        if (isNested(code)) {
            old = m.u32(c.data + 8);
            m.put32(c.data + 8, block);
        } else {
            m.put32(at + 12, block);
        }
        Read.Head d = col(at);
        Plane[] to = planes(d);
        if (c.capacity > 0) {
            int i = (int) bitmapsSize(c.gaps, 1) / 8; // the first that is no bitmap
            for (int j = (int) bitmapsSize(gaps, 1) / 8; j < to.length; i++, j++) {
                if (code == c.code) {
                    copyPart(to[j].bits, from[i].start, 0, to[j].start, 0, c.count);
                    continue;
                }
                for (long k = 0; k < c.count; k++) {
                    m.put8(to[j].start + 2 * k, m.u8(from[i].start + k));
                }
            }
        }
        if (gaps != 0 && to.length > 0) {
            for (long i = 0; i < c.count; i++) {
                int tag = Read.gap(m, c, i);
                putBit(to[0].start, i, tag == Read.HAS_VALUE);
                if (gaps == 3) {
                    putBit(to[1].start, i, tag == TAG_NULL);
                }
            }
        }
        if (isDictionary(code)) {
            copy(textsOf(d), textsOf(c), COLUMN_SIZE);
        }
        free(old, dataSize(c.code, c.gaps, c.capacity));
    }

    /** The header of a dictionary's texts. */
    static long textsOf(Read.Head c) {
        return c.values + word(width(c.code) * c.capacity);
    }

    /** Makes room for n slots. */
    private void makeRoom(long at, long n) {
        Read.Head c = col(at);
        if (n <= c.capacity || isNested(c.code) && c.gaps == 0) {
            return;
        }
        if (c.gaps == 0 && c.capacity > 0 && !isMarked(c.code) && !isDictionary(c.code)
                && c.data + dataSize(c.code, 0, c.capacity) == m.size) {
            // The data ends the document, and grows in place.
            long more = Math.min(n + n / 16, MAX_ELEMENTS);
            resize(c.data + dataSize(c.code, 0, more));
            m.put32(at + 8, more);
            return;
        }
        relayout(at, c.code, c.gaps, Math.min(word(Math.max(n, c.count + c.count / 2)), MAX_ELEMENTS));
    }

    // --- Slots

    /** Opens n slots without a value, and leaves them for put. */
    final void openSlots(long at, long i, long n) {
        if (n == 0) {
            return;
        }
        makeRoom(at, m.u32(at + 4) + n);
        Read.Head c = col(at);
        m.put32(at + 4, c.count + n);
        if (i < c.count) {
            for (Plane p : planes(c)) {
                copyPart(p.bits, p.start, i, p.start, i + n, c.count - i);
                zeroPart(p, i, n);
            }
        }
        if (!isNested(c.code)) {
            return;
        }
        if (c.gaps == 0) {
            m.put32(at + 8, c.count + n);
        }
        if (i < c.count) {
            handles.moveRows(c.data, row -> row < i ? row : row + n);
        }
        below(c, i, n, this::openSlots);
        if (c.code == CODE_STRUCT) {
            shiftExtras(c.data, i, n);
        } else if (!isFixed(c.data)) {
            long value = offset(c.data, i);
            openSlots(c.data + LIST_OFFSETS, i, n);
            for (long j = 0; j < n; j++) {
                setOffset(c.data, i + j, value);
            }
        }
    }

    /** Where the elements of array i of a list begin. */
    final long offset(long list, long i) {
        if (isFixed(list)) {
            return i * m.u32(list + 4);
        }
        long data = m.u32(list + LIST_OFFSETS + 12);
        return switch (m.u8(list + LIST_OFFSETS + 1)) {
            case CODE_U8 -> m.u8(data + i);
            case CODE_U16 -> m.u16(data + 2 * i);
            default -> m.u32(data + 4 * i);
        };
    }

    private void setOffset(long list, long i, long value) {
        int width = width(m.u8(list + LIST_OFFSETS + 1));
        putWidth(m.u32(list + LIST_OFFSETS + 12) + width * i, width, value);
    }

    /** Adds to the offsets of a list from number i on. */
    final void addOffsets(long list, long i, long more) {
        long n = m.u32(list + LIST_OFFSETS + 4), most = offset(list, n - 1) + more;
        int code = m.u8(list + LIST_OFFSETS + 1);
        if (code == CODE_U8 && most > 0xff || code == CODE_U16 && most > 0xffff) {
            convert(list + LIST_OFFSETS, most > 0xffff ? CODE_U32 : CODE_U16, NONE);
        }
        for (; i < n; i++) {
            setOffset(list, i, offset(list, i) + more);
        }
    }

    /** Frees the values of n slots: they are as if they had just been opened. */
    final void clear(long at, long i, long n) {
        if (n == 0) {
            return;
        }
        Read.Head c = col(at);
        switch (c.code) {
            case CODE_CELLS -> {
                for (long j = i; j < i + n; j++) {
                    freeCell(m.u8(c.data + tagAt(j)), m.u64(c.data + cellAt(j)));
                }
            }
            case CODE_TEXT -> {
                for (long j = i; j < i + n; j++) {
                    freeSpan(m.u64(c.values + 8 * j));
                }
            }
            case CODE_OBJECTS, CODE_ARRAYS -> {
                for (long j = i; j < i + n; j++) {
                    long home = m.u32(c.values + 4 * j);
                    if (home != 0) {
                        freeCell(columnTag(c.code), home);
                    }
                }
            }
            case CODE_STRUCT -> {
                below(c, i, n, this::clear);
                dropExtras(c.data, i, n, false);
                endRows(c.data, i, n);
            }
            case CODE_LIST, CODE_FIXED_LIST, CODE_RUN -> {
                below(c, i, n, this::clear);
                endRows(c.data, i, n);
                long first = offset(c.data, i), end = offset(c.data, i + n);
                if (end > first && !isFixed(c.data)) {
                    closeSlots(c.data + LIST_ELEMENTS, first, end - first);
                    for (long j = i + 1; j < i + n; j++) {
                        setOffset(c.data, j, first);
                    }
                    addOffsets(c.data, i + n, first - end);
                }
            }
            default -> {}
        }
        for (Plane p : planes(c)) {
            zeroPart(p, i, n);
        }
    }

    /** Ends the handles of n rows. */
    final void endRows(long data, long i, long n) {
        handles.moveRows(data, row -> row >= i && row < i + n ? NONE : row);
    }

    /** Removes n slots that have no values any more. */
    final void shut(long at, long i, long n) {
        if (n == 0) {
            return;
        }
        Read.Head c = col(at);
        long end = i + n, left = c.count - n;
        for (Plane p : planes(c)) {
            copyPart(p.bits, p.start, end, p.start, i, c.count - end);
            zeroPart(p, left, n);
        }
        m.put32(at + 4, left);
        if (isNested(c.code) && c.gaps == 0) {
            m.put32(at + 8, left);
        } else if (c.capacity >= Math.max(64, 4 * left)) {
            relayout(at, c.code, c.gaps, word(Math.max(8, 2 * left))); // most of the room is given back
        }
        if (!isNested(c.code)) {
            return;
        }
        below(c, i, n, this::shut);
        if (c.code == CODE_STRUCT) {
            shiftExtras(c.data, end, -n);
        } else if (!isFixed(c.data)) {
            shut(c.data + LIST_OFFSETS, i, n);
        }
        if (end < c.count) {
            handles.moveRows(c.data, row -> row < end ? row : row - n);
        }
    }

    /** Removes n slots and their values. */
    final void closeSlots(long at, long i, long n) {
        clear(at, i, n);
        shut(at, i, n);
    }

    /** Makes slots that were cleared null or missing, and all below them missing (FORMAT 6.2). */
    final void absent(long at, long i, long n, int tag) {
        if (n == 0) {
            return;
        }
        Read.Head c = col(at);
        if (c.code == CODE_CELLS) {
            for (long j = i; j < i + n; j++) {
                m.put8(c.data + tagAt(j), tag);
            }
            return;
        }
        int gaps = c.gaps | (tag == TAG_NULL ? 1 : 2);
        if (gaps != c.gaps) {
            relayout(at, c.code, gaps, Math.max(c.capacity, c.count));
            c = col(at);
        }
        for (long j = i; j < i + n; j++) {
            putBit(c.bitmaps, j, false);
            if (gaps == 3) {
                putBit(c.bitmaps + bitmapSize(c.capacity), j, tag == TAG_NULL);
            }
        }
        if (c.code == CODE_STRUCT || c.code == CODE_FIXED_LIST && m.u8(c.data + LIST_ELEMENTS + 3) == 0) {
            below(c, i, n, (column, first, count) -> absent(column, first, count, TAG_NOTHING));
        }
    }

    // --- Whole columns

    /** Frees the value of a cell. */
    final void freeCell(int tag, long bits) {
        if (tag >= TAG_ARRAY) {
            long home = bits & U32, block = Read.resolve(m, home);
            clear(block, 0, m.u32(block + 4));
            freeStorage(block);
            freeNode(home, block, COLUMN_SIZE);
        } else if (tag == TAG_OBJECT) {
            freeObject(bits & U32);
        } else if (tag >= TAG_TEXT) {
            freeSpan(bits);
        }
    }

    /** Frees the block of a node, and a forward to it. */
    final void freeNode(long home, long block, long size) {
        free(block, size);
        if (block != home) {
            free(home, 8);
        }
        handles.end(home);
    }

    /** Frees all that a column takes but its header. Its values were freed, or are elsewhere. */
    final void freeStorage(long at) {
        Read.Head c = col(at);
        if (!isNested(c.code)) {
            if (isDictionary(c.code)) {
                freeStorage(textsOf(c));
            }
            free(c.data, dataSize(c.code, c.gaps, c.capacity));
            forgetTexts(at);
            return;
        }
        free(m.u32(c.data + 8), bitmapsSize(c.gaps, c.capacity));
        handles.end(c.data);
        if (c.code != CODE_STRUCT) {
            boolean fixed = isFixed(c.data);
            freeStorage(c.data + LIST_ELEMENTS);
            if (!fixed) {
                freeStorage(c.data + LIST_OFFSETS);
            }
            free(c.data, fixed ? LIST_OFFSETS : LIST_OFFSETS + COLUMN_SIZE);
            return;
        }
        long k = headers(c.data);
        for (long j = 0; j < k; j++) {
            freeStorage(header(c.data, j));
        }
        dropExtras(c.data, 0, c.count, true);
        long extras = m.u32(c.data + 16);
        if (extras != 0) {
            freeStorage(extras);
            free(extras, COLUMN_SIZE);
        }
        long shape = m.u32(c.data + 4);
        free(c.data, TABLE_SIZE + COLUMN_SIZE * k);
        freeShape(shape);
    }

    /** Writes the header of a column, whose data is new. */
    final void beginColumn(long at, int code, int gaps, long count, long capacity) {
        long data = alloc(dataSize(code, gaps, capacity));
        m.put32(at, KIND_ARRAY | code << 8 | gaps << 16);
        m.put32(at + 4, count);
        m.put32(at + 8, capacity);
        m.put32(at + 12, data);
    }

    /** Gives a column another code that can hold all its values. Slot but is left without one. */
    final void convert(long at, int code, long but) {
        Read.Head c = col(at);
        // The new column is made behind a header of its own, which then takes the old one's place.
        long made = alloc(COLUMN_SIZE);
        beginColumn(made, code, code == CODE_CELLS ? 0 : c.gaps, c.count, isNested(c.code) ? c.count : c.capacity);
        for (long i = 0; i < c.count; i++) {
            if (i != but) {
                putPlain(made, i, lift(c, i));
            }
        }
        freeStorage(at);
        copy(at, made, COLUMN_SIZE);
        free(made, COLUMN_SIZE);
    }

    /**
     * Puts the slots of a column in another order: slot i gets the value of slot order[i]. Slots that are left out have
     * no value any more.
     */
    final void arrange(long at, int[] order) {
        Read.Head c = col(at);
        int n = order.length;
        for (Plane p : planes(c)) {
            long size = p.bits == 1 ? bitmapSize(c.count) : p.bits == CELL_BITS ? cellsSize(c.count)
                    : p.bits / 8 * c.count;
            byte[] copied = m.copy(p.start, size);
            zeroPart(p, 0, c.count);
            for (int i = 0; i < n; i++) {
                movePart(p.bits, copied, 0, order[i], p.start, i);
            }
        }
        m.put32(at + 4, n);
        if (!isNested(c.code)) {
            return;
        }
        if (c.gaps == 0) {
            m.put32(at + 8, n);
        }
        int[] places = new int[(int) c.count];
        Arrays.fill(places, NONE);
        for (int i = 0; i < n; i++) {
            places[order[i]] = i;
        }
        handles.moveRows(c.data, row -> row < places.length ? places[(int) row] : NONE);
        if (c.code == CODE_STRUCT) {
            for (long j = 0; j < headers(c.data); j++) {
                arrange(header(c.data, j), order);
            }
            arrangeExtras(c.data, places);
            return;
        }
        int[] offsets = new int[n + 1];
        for (int i = 0; i < n; i++) {
            offsets[i + 1] = offsets[i] + (int) (offset(c.data, order[i] + 1L) - offset(c.data, order[i]));
        }
        int[] inner = new int[offsets[n]];
        for (int i = 0; i < n; i++) {
            for (int j = offsets[i], from = (int) offset(c.data, order[i]); j < offsets[i + 1]; j++) {
                inner[j] = from + j - offsets[i];
            }
        }
        arrange(c.data + LIST_ELEMENTS, inner);
        if (!isFixed(c.data)) {
            shut(c.data + LIST_OFFSETS, n + 1, c.count - n);
            for (int i = 0; i <= n; i++) {
                setOffset(c.data, i, offsets[i]);
            }
        }
    }

    /** The header of the column that a table or a list is the data of. */
    final long owner(long data) {
        long at = m.u32(data + 12);
        return switch (m.u8(at)) {
            case KIND_TABLE -> header(at, m.u16(data + 2));
            case KIND_LIST -> at + LIST_ELEMENTS;
            default -> at;
        };
    }

    /** At most how many bytes it takes to change a column, which may have to move or to be converted. */
    final long columnCost(long at) {
        long[] headers = {m.size / COLUMN_SIZE}; // no document has more
        return 4 * bytesBelow(at, headers, MAX_COLUMN_NESTING + 1); // a run is one more
    }

    private long bytesBelow(long at, long[] headers, int depth) {
        if (headers[0]-- == 0 || depth < 0) {
            throw LivebufException.at(ErrorKind.OVERLAP, at); // columns lead in a circle
        }
        Read.Head c = col(at);
        if (c.data == 0 || !isNested(c.code)) {
            return 64 + (width(c.code) + 10) * c.capacity;
        }
        long size = 64 + 64 * c.count;
        if (c.code != CODE_STRUCT) {
            size += bytesBelow(c.data + LIST_ELEMENTS, headers, depth - 1);
            return isFixed(c.data) ? size : size + bytesBelow(c.data + LIST_OFFSETS, headers, depth - 1);
        }
        for (long j = 0; j < headers(c.data); j++) {
            size += bytesBelow(header(c.data, j), headers, depth - 1);
        }
        long extras = m.u32(c.data + 16);
        return extras == 0 ? size
            : size + bytesBelow(extras, headers, depth - 1) + extrasBelow(c.data, extras);
    }

    /**
     * How many bytes the members of those rows take that have an extra object, but for their values: such a row may
     * become a map, which has copies of all keys. For more than 32 rows it is an estimate, so that no edit goes through
     * all of them.
     */
    private long extrasBelow(long table, long extras) {
        Read.Head c = col(extras);
        long own = keysBelow(Read.shape(m, m.u32(table + 4)) & U32, m.u16(table + 20));
        long size = 0;
        long step = Math.max(1, c.count / 32);
        for (long i = 0; i < c.count; i += step) {
            long block = Read.resolve(m, m.u32(c.data + 8 * i));
            long used = m.u8(block + 2);
            if (m.u8(block) == KIND_MAP) {
                size += step * (own + keysBelow(m.u32(block + 20), m.u32(block + 36)));
            } else if (used > 0) {
                size += step * (own + keysBelow(Read.shape(m, m.u32(block + 4)) & U32, used));
            }
        }
        return size;
    }

    /** At most how many bytes n keys take, and what comes with them in an object. */
    private long keysBelow(long cells, long n) {
        long size = 64 + 32 * n;
        for (long i = 0; i < Math.min(n, m.size / 8); i++) {
            long cell = m.u64(cells + 8 * i);
            size += (cell & SPAN_INLINE) != 0 ? 0 : (cell >>> 32 & MAX_SPAN);
        }
        return size;
    }
}
