package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import io.github.livebuf.Plan.Tensor;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Writes what was planned: records, arrays with their columns, and maps (PROFILE 1, 4, 6 and 7). */
abstract class Writer extends Planner {
    long[] mapKeys = new long[64]; // span cells of the keys of open maps
    int mapKeyCount;

    /** Adds a value. */
    final void push(int tag, long cell) {
        if (items == tags.length) {
            int longer = Output.capacity(items, items + 1L);
            tags = Arrays.copyOf(tags, longer);
            bits = Arrays.copyOf(bits, longer);
            inside = Arrays.copyOf(inside, longer);
        }
        tags[items] = (byte) tag;
        bits[items] = cell;
        inside[items++] = 0;
    }

    /** The tag that an item has in the document. */
    private static int finalTag(int tag) {
        return switch (tag) {
            case ITEM_TEXT, ITEM_LOOSE -> TAG_TEXT;
            case ITEM_UUID -> TAG_UUID;
            case ITEM_ARRAY -> TAG_ARRAY;
            case ITEM_OBJECT -> TAG_OBJECT;
            default -> tag;
        };
    }

    /** The cell of an item that is laid out, which comes to lie at a position. */
    private long finalCell(int at, int position) {
        return switch (tags[at]) {
            case ITEM_TEXT -> texts.cell((int) bits[at], position);
            case ITEM_OBJECT -> bits[at] & U32;
            default -> bits[at];
        };
    }

    /** Writes the last items as tagged cells (FORMAT 3.4). */
    private void putTagged(int place, int start) {
        for (int i = 0; start + i < items; i++) {
            putFinal(place + (int) tagAt(i), place + (int) cellAt(i), start + i);
        }
    }

    /** Writes the tag and the cell of an item to their places. */
    final void putFinal(int tagPlace, int cellPlace, int at) {
        out.put8(tagPlace, finalTag(tags[at]));
        out.put64(cellPlace, finalCell(at, cellPlace));
    }

    final int writeRecord(int start, int list) {
        int count = items - start;
        out.align();
        int home = out.grow(recordSize(count));
        out.put32(home, KIND_RECORD | count * 0x01010100);
        if (count > 0) {
            trie.use(out, home, list);
            putTagged(home + 8, start);
        }
        return home;
    }

    /** Writes the array whose elements are the items from start on, with all that waits in it. */
    final int layOutArray(int start) {
        int listed = placed;
        return writePlanned(planArray(start, items), start, items, listed, 0);
    }

    /** Writes an array, and before it what waits among its items. So many bytes are left before its header. */
    private int writePlanned(Plan p, int start, int end, int listed, int before) {
        if (p.waits) {
            absorb(p);
            layOut(start, end);
        }
        out.align();
        int home = out.grow(before + COLUMN_SIZE) + before;
        writeColumn(p, home, home, 0);
        placed = listed;
        return home;
    }

    /** Marks the containers that a plan makes part of columns. */
    private void absorb(Plan p) {
        if (p.tensor == null && p.columns == null && p.child == null) {
            return;
        }
        for (int i = p.from; i < p.from + p.count; i++) {
            if (isThere(places[i])) {
                tags[places[i]] = (byte) (p.tensor != null ? ITEM_PART : ITEM_ABSORBED);
            }
        }
        if (p.child != null) {
            absorb(p.child);
        }
        if (p.columns != null) {
            for (Plan column : p.columns) {
                absorb(column);
            }
        }
    }

    /** Writes all containers among the items that are no part of columns, each after its contents. */
    private void layOut(int at, int end) {
        while (at < end) {
            int next = at + 1;
            switch (tags[at]) {
                case ITEM_ARRAY -> {
                    next = behind(at);
                    int listed = placed;
                    int home = writePlanned(planArray(at + 1, next), at + 1, next, listed, 0);
                    bits[at] = home; // the items may have moved, so this is no part of the line above
                }
                case ITEM_OBJECT -> {
                    next = behind(at);
                    layOut(at + 1, next);
                    int home = writeObject(at);
                    bits[at] = bits[at] >>> 32 << 32 | home;
                }
                case ITEM_TENSOR -> {
                    bits[at] = writeTensor(tensor(at));
                    tags[at] = TAG_ARRAY;
                }
                default -> { }
            }
            at = next;
        }
    }

    /** Puts the items from one on up to the end, laid out, behind all others, one item each. */
    private void gather(int at, int end) {
        for (; at < end; at = behind(at)) {
            writeFor(at);
            int tag = tags[at];
            push(tag == ITEM_TEXT ? tag : finalTag(tag), tag == ITEM_OBJECT ? bits[at] & U32 : bits[at]);
        }
    }

    /** Writes the bytes that an item's cell is to refer to. An item of its own bytes then is a cell that owns them. */
    private void writeFor(int at) {
        if (tags[at] == ITEM_TEXT) {
            texts.writeText(bits[at]);
        } else if (tags[at] == ITEM_LOOSE || tags[at] == ITEM_UUID) {
            bits[at] = texts.writeLoose(bits[at]);
            tags[at] = (byte) finalTag(tags[at]);
        }
    }

    /** Writes a waiting object whose contents are laid out already. */
    private int writeObject(int at) {
        int list = list(at);
        int start = items;
        gather(at + 1, behind(at));
        int home;
        if (trie.isWide(list)) {
            int first = mapKeyCount;
            putMapKeys(list);
            MapIndex x = indexMap(first);
            out.align();
            home = writeMap(writeMapCells(start), first, x);
        } else {
            home = writeRecord(start, list);
        }
        items = start;
        return home;
    }

    /** Writes a column's data, and its header at a place that is there already. */
    private void writeColumn(Plan p, int header, int owner, int place) {
        int data;
        if (p.columns != null) {
            data = writeTable(p, owner, place);
        } else if (p.child != null) {
            data = writeList(p, owner, place);
        } else if (p.tensor != null) {
            data = writeTensors(p, owner, place);
        } else if (p.code == CODE_RUN) {
            data = writeRun(p, owner, place);
        } else {
            data = writeLeaf(p);
        }
        out.header(header, p.code, p.gaps, 0, p.count, p.count == 0 ? 0 : data);
    }

    private int writeTable(Plan p, int owner, int place) {
        int list = trie.listOf(p.keys);
        int table = out.grow(TABLE_SIZE + (long) COLUMN_SIZE * p.columns.length);
        int bitmaps = writeBits(p);
        int form = p.columns.length - p.keys.length; // 1 with orders
        out.put32(table, KIND_TABLE | form << 8 | place << 16);
        trie.use(out, table, list);
        out.put32(table + 8, bitmaps);
        out.put32(table + 12, owner);
        out.put32(table + 20, p.keys.length);
        for (int i = 0; i < p.columns.length; i++) {
            writeColumn(p.columns[i], table + TABLE_SIZE + COLUMN_SIZE * i, table, i);
        }
        return table;
    }

    private void listHeader(int list, int place, int form, long length, int bitmaps, int owner) {
        out.put32(list, KIND_LIST | form << 8 | place << 16);
        out.put32(list + 4, (int) length);
        out.put32(list + 8, bitmaps);
        out.put32(list + 12, owner);
    }

    /** Begins a list of form 0 or, where there is no code for offsets, of form 1. Where its offsets are is in it. */
    private int beginList(Plan p, long length, int owner, int place) {
        boolean isFixed = p.offsets == 0;
        int list = out.grow(isFixed ? 32 : 48);
        listHeader(list, place, isFixed ? 1 : 0, isFixed ? length : 0, writeBits(p), owner);
        if (!isFixed) {
            int data = out.grow(valuesSize(p.offsets, p.count + 1L));
            out.header(list + LIST_OFFSETS, p.offsets, 0, 0, p.count + 1L, data);
        }
        return list;
    }

    private int writeList(Plan p, int owner, int place) {
        int list = beginList(p, p.child.count / p.count, owner, place);
        for (int i = 0; p.ends != null && i < p.count; i++) { // the first offset is 0
            putNumber(width(p.offsets), out.mem.i32(list + LIST_OFFSETS + 12), i + 1, p.ends[i]);
        }
        writeColumn(p.child, list + LIST_ELEMENTS, list, 0);
        return list;
    }

    /** Writes the list of a run's texts: bitmaps, offsets, and the texts. */
    private int writeRun(Plan p, int owner, int place) {
        int length = (int) (p.bytes / p.count);
        int list = beginList(p, length, owner, place);
        int offsets = out.mem.i32(list + LIST_OFFSETS + 12);
        int run = out.grow(word(p.bytes));
        out.header(list + LIST_ELEMENTS, CODE_U8, 0, 0, p.bytes, p.bytes == 0 ? 0 : run);
        int end = 0;
        for (int i = 0; i < p.count; i++) {
            int at = places[p.from + i];
            if (isThere(at)) {
                end += texts.copyTo(tags[at], bits[at], run + end);
            }
            if (p.offsets == 0) {
                end = length * (i + 1);
            } else {
                putNumber(width(p.offsets), offsets, i + 1, end);
            }
        }
        return list;
    }

    /** Writes the bitmaps of a struct's, a list's or a run's gaps; 0 where there are none. */
    private int writeBits(Plan p) {
        if (p.gaps == 0) {
            return 0;
        }
        int at = out.grow(bitmapsSize(p.gaps, p.count));
        putBits(p, at);
        return at;
    }

    private void putBits(Plan p, int values) {
        int nulls = values + (int) bitmapSize(p.count);
        for (int i = 0; i < p.count; i++) {
            int at = places[p.from + i];
            setBit(values, i, isThere(at));
            if (p.gaps == 3) {
                setBit(nulls, i, at >= 0 && tags[at] == TAG_NULL);
            }
        }
    }

    private void setBit(int bitmap, int i, boolean isSet) {
        out.mem.bytes[bitmap + (i >> 3)] |= (byte) ((isSet ? 1 : 0) << (i & 7));
    }

    /** Writes the slots of a column without structs and lists, behind the texts that its cells refer to. */
    private int writeLeaf(Plan p) {
        if (p.code == CODE_TEXT || p.code == CODE_CELLS) {
            for (int i = p.from; i < p.from + p.count; i++) {
                if (places[i] >= 0) {
                    writeFor(places[i]);
                }
            }
            out.align();
        }
        int bitmaps = (int) bitmapsSize(p.gaps, p.count);
        int data = out.grow(bitmaps + valuesSize(p.code, p.count));
        if (bitmaps > 0) {
            putBits(p, data);
        }
        int values = data + bitmaps;
        if (isDictionary(p.code)) {
            writeDictionary(p, values);
            return data;
        }
        int width = width(p.code);
        for (int i = 0; i < p.count; i++) {
            int at = places[p.from + i];
            if (p.code == CODE_CELLS && at >= 0) {
                putFinal(values + (int) tagAt(i), values + (int) cellAt(i), at);
            }
            if (p.code == CODE_CELLS || !isThere(at)) {
                continue;
            }
            switch (p.code) {
                case CODE_TEXT -> out.put64(values + 8 * i, finalCell(at, values + 8 * i));
                case CODE_BOOL -> setBit(values, i, tags[at] == TAG_TRUE);
                case CODE_UUID ->
                    System.arraycopy(texts.waiting.bytes, (int) bits[at], out.mem.bytes, values + 16 * i, 16);
                case CODE_F32, CODE_NUMBERS_F32, CODE_MARKED_F32, CODE_F64, CODE_NUMBERS_F64, CODE_MARKED_F64 ->
                    putFloat(p, values, i, at);
                default -> putNumber(width, values, i, bits[at]);
            }
        }
        return data;
    }

    /** Writes number i of those of a width. */
    private void putNumber(int width, int data, int i, long x) {
        switch (width) {
            case 1 -> out.put8(data + i, (int) x);
            case 2 -> out.put16(data + 2 * i, (int) x);
            case 4 -> out.put32(data + 4 * i, (int) x);
            default -> out.put64(data + 8 * i, x);
        }
    }

    /** Writes a number into a column of floats, or of numbers. */
    private void putFloat(Plan p, int values, int i, int at) {
        long x = tags[at] == TAG_INT ? Double.doubleToRawLongBits((double) bits[at]) : bits[at];
        double f = Double.longBitsToDouble(x);
        boolean isNarrow = width(p.code) == 4;
        if (isNarrow) {
            out.put32(values + 4 * i, f == f ? Float.floatToRawIntBits((float) f)
                : (int) (x >>> 32) & 0x80000000 | 0x7f800000 | (int) (x >>> 29) & 0x7fffff);
        } else {
            out.put64(values + 8 * i, x);
        }
        if (isMarked(p.code)) {
            boolean isMark = tags[at] == TAG_FLOAT && isWhole(f, isNarrow ? NARROW_WHOLE : WIDEST_WHOLE);
            setBit(values + (int) word((isNarrow ? 4L : 8L) * p.count), i, isMark);
        }
    }

    /** Writes the codes of a dictionary, and its texts' header and cells. */
    private void writeDictionary(Plan p, int values) {
        for (int i = 0; i < p.count; i++) {
            putNumber(width(p.code), values, i, p.codes[i]);
        }
        int header = values + (int) valuesSize(p.code, p.count) - COLUMN_SIZE;
        for (int i = 0; i < p.textCount; i++) {
            if (p.textTags[i] == ITEM_TEXT) {
                texts.writeText(p.texts[i]);
            } else if (p.textTags[i] == ITEM_LOOSE) {
                p.texts[i] = texts.writeLoose(p.texts[i]) & ~SPAN_OWNED;
            }
        }
        out.align();
        int cells = out.grow(8L * p.textCount);
        for (int i = 0; i < p.textCount; i++) {
            long cell = p.texts[i];
            if (p.textTags[i] == ITEM_TEXT) {
                texts.isShared((int) cell);
                cell = texts.cell((int) cell, 0);
            }
            out.put64(cells + 8 * i, cell);
        }
        out.header(header, CODE_TEXT, 0, 0, p.textCount, cells);
    }

    // --- tensors

    /** Writes a tensor as an array by itself. */
    final int writeTensor(Tensor t) {
        out.align();
        int home = out.grow(t.arraySize());
        int data = home + COLUMN_SIZE;
        long count = t.lengths[0];
        if (t.lengths.length > 1) {
            out.header(home, CODE_FIXED_LIST, 0, 1, count, data);
            data = tensorLists(t, 1, count, data, home, 0, 0);
        } else {
            out.header(home, t.code, 0, 1, count, count > 0 ? data : 0);
        }
        System.arraycopy(t.data, 0, out.mem.bytes, data, t.data.length);
        return home;
    }

    /**
     * Writes the lists of so many arrays of a tensor, of its dimensions from number i on. Behind the first list are
     * bitmaps of so many bytes. Where the numbers are to lie.
     */
    private int tensorLists(Tensor t, int i, long rows, int list, int owner, int place, int bitmaps) {
        for (; i < t.lengths.length; i++) {
            listHeader(list, place, 1, t.lengths[i], bitmaps > 0 ? list + 32 : 0, owner);
            rows *= t.lengths[i];
            int data = list + 32 + bitmaps;
            boolean isLast = i + 1 == t.lengths.length;
            int code = isLast ? t.code : CODE_FIXED_LIST;
            out.header(list + LIST_ELEMENTS, code, 0, 1, rows, isLast && rows == 0 ? 0 : data);
            owner = list;
            list = data;
            place = bitmaps = 0;
        }
        return list;
    }

    /** Writes a column of tensors of one type and shape. */
    private int writeTensors(Plan p, int owner, int place) {
        Tensor t = p.tensor;
        long size = t.data.length;
        int bitmaps = (int) bitmapsSize(p.gaps, p.count);
        int list = out.grow(bitmaps + 32L * t.lengths.length + word(p.count * size));
        int data = tensorLists(t, 0, p.count, list, owner, place, bitmaps);
        for (int i = 0; i < p.count; i++) {
            int at = places[p.from + i];
            if (isThere(at)) {
                System.arraycopy(tensor(at).data, 0, out.mem.bytes, data + (int) (i * size), (int) size);
            }
        }
        if (bitmaps > 0) {
            putBits(p, list + 32);
        }
        return list;
    }

    // --- maps

    /** Adds a key of a map, which must be UTF-8. */
    final void mapKey(byte[] text, int start, int length) {
        if (length > MAX_SPAN) {
            throw LivebufException.of(ErrorKind.STRING_LIMIT, "a key has more than 2³⁰ - 1 bytes");
        }
        if (mapKeyCount == mapKeys.length) {
            mapKeys = Arrays.copyOf(mapKeys, Output.capacity(mapKeyCount, mapKeyCount + 1L));
        }
        mapKeys[mapKeyCount++] = length <= 7 ? Output.inlineCell(text, start, length)
            : Output.spanCell(out.store(text, start, length), length, true);
    }

    final void putMapKeys(int list) {
        for (int key : trie.keysOf(list)) {
            byte[] text = trie.name(key).bytes;
            mapKey(text, 0, text.length);
        }
    }

    /** A copy of the bytes of a key of an open map. */
    final byte[] keyBytes(int i) {
        long cell = mapKeys[i];
        if (cell >= 0) {
            int at = (int) cell;
            return Arrays.copyOfRange(out.mem.bytes, at, at + ((int) (cell >>> 32) & MAX_SPAN));
        }
        byte[] key = new byte[(int) (cell >>> 56) & 7];
        for (int j = 0; j < key.length; j++) {
            key[j] = (byte) (cell >>> 8 * j);
        }
        return key;
    }

    /** The order of the bytes of two keys of open maps. */
    private int compareKeys(int i, int j) {
        long a = mapKeys[i];
        long b = mapKeys[j];
        if (a >= 0 && b >= 0) {
            int p = (int) a;
            int q = (int) b;
            byte[] data = out.mem.bytes;
            return Arrays.compareUnsigned(data, p, p + ((int) (a >>> 32) & MAX_SPAN),
                data, q, q + ((int) (b >>> 32) & MAX_SPAN));
        }
        return Arrays.compareUnsigned(keyBytes(i), keyBytes(j));
    }

    private boolean isSameKey(int i, int j) {
        long a = mapKeys[i];
        long b = mapKeys[j];
        return a == b || (a | b) >= 0 && compareKeys(i, j) == 0;
    }

    /** The indexes of a map. */
    static final class MapIndex {
        byte[] block = {}; // the buckets
        int[] sorted = {}; // the entries by their keys, where a tree is needed
        Map<Integer, Integer> twice; // entries whose key came before, and the first one that has it

        private void isTwice(int entry, int before) {
            if (twice == null) {
                twice = new HashMap<>();
            }
            twice.put(entry, before);
        }
    }

    /** Makes the indexes of a map by its keys, from one on. */
    private MapIndex indexMap(int first) {
        MapIndex x = new MapIndex();
        int count = mapKeyCount - first;
        int total = bucketsOf(count);
        if (total == 0) {
            for (int i = 0; i < count; i++) {
                for (int k = 0; k < i; k++) {
                    if (isSameKey(first + k, first + i)) {
                        x.isTwice(i, k);
                        break;
                    }
                }
            }
        } else {
            if ((long) BUCKET_SIZE * total > Output.MOST) {
                throw Output.tooLong();
            }
            x.block = new byte[BUCKET_SIZE * total];
            boolean haveAllPlaces = true;
            for (int i = 0; i < count; i++) {
                haveAllPlaces &= addToBucket(x, total, first, i);
            }
            if (!haveAllPlaces) {
                sortKeys(x, first, count);
            }
        }
        if (x.twice != null) {
            int least = count;
            for (int entry : x.twice.keySet()) {
                least = Math.min(least, entry);
            }
            keyTwice(keyBytes(first + least));
        }
        return x;
    }

    /** Gives an entry its place in the hash block; false if there is none. */
    private boolean addToBucket(MapIndex x, int total, int first, int i) {
        byte[] block = x.block;
        long hash = Key.hash(keyBytes(first + i));
        byte fingerprint = (byte) (hash >>> 32);
        int at = (int) Read.bucketOf((int) hash, total);
        int mark = BUCKET_SIZE * at + BUCKET_PLACES;
        for (int distance = 0; distance <= Math.min(15, total - 1); distance++) {
            int bucket = BUCKET_SIZE * at;
            for (int k = 0; k < BUCKET_PLACES; k++) {
                int entry = bucket + 16 + 4 * k;
                if (block[bucket + k] == 0) {
                    block[bucket + k] = fingerprint;
                    for (int j = 0; j < 4; j++) {
                        block[entry + j] = (byte) (i >>> 8 * j);
                    }
                    block[mark] = (byte) (block[mark] & 16 | Math.max(block[mark] & 15, distance));
                    return true;
                }
                if (block[bucket + k] == fingerprint) {
                    int other = Mem.get32(block, entry);
                    if (isSameKey(first + other, first + i)) {
                        x.isTwice(i, other);
                        return true;
                    }
                }
            }
            if (++at == total) {
                at = 0;
            }
        }
        block[mark] |= 16;
        return false;
    }

    /** Sorts the entries by their keys, for a tree, and finds those whose key came before. */
    private void sortKeys(MapIndex x, int first, int count) {
        Integer[] order = new Integer[count];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, (a, b) -> compareKeys(first + a, first + b));
        x.sorted = new int[count];
        x.twice = null;
        int kept = order[0];
        for (int i = 0; i < count; i++) {
            int entry = x.sorted[i] = order[i];
            if (i > 0 && isSameKey(first + kept, first + entry)) {
                x.isTwice(entry, kept);
            } else {
                kept = entry;
            }
        }
    }

    /** What is to happen where a key comes twice in an object. */
    abstract void keyTwice(byte[] key);

    /** What is to happen where a document has to be encoded again, from its value. */
    abstract void encodeAnew();

    /**
     * Writes a map whose values are the items from start on, and whose keys are those from one on. Values that wait may
     * become rows. It may be a guess that they wait, which is wrong where they are not similar.
     */
    final int endMap(int first, int start, boolean areWaiting, boolean isGuess) {
        int home = 0;
        MapIndex x = indexMap(first);
        if (areWaiting) {
            if (isGuess && !areRows(start)) {
                encodeAnew();
            }
            if (x.twice == null && mapKeyCount - first >= Encoder.LEAST_MEMBERS) {
                int listed = placed;
                Plan p = planArray(start, items);
                if (p.code == CODE_STRUCT) {
                    home = writePlanned(p, start, items, listed, MAP_VALUES) - MAP_VALUES;
                }
                placed = listed;
            }
            if (home == 0) {
                // All that waits in it is laid out, and takes one item each.
                int end = items;
                layOut(start, end);
                gather(start, end);
                int count = items - end;
                System.arraycopy(tags, end, tags, start, count);
                System.arraycopy(bits, end, bits, start, count);
                System.arraycopy(inside, end, inside, start, count);
                items = start + count;
            }
        } else if (areTables && areRows(start)) {
            encodeAnew();
        }
        if (x.twice != null) {
            takeDoubles(first, start, x.twice);
            x = indexMap(first);
        }
        out.align();
        return writeMap(home == 0 ? writeMapCells(start) : home, first, x);
    }

    /** Takes doubles out of a map: a key's last value moves to its first place. */
    private void takeDoubles(int first, int start, Map<Integer, Integer> twice) {
        int count = mapKeyCount - first;
        int[] to = new int[count];
        int next = 0;
        for (int i = 0; i < count; i++) {
            Integer kept = twice.get(i);
            to[i] = kept != null ? to[kept] : next++;
            mapKeys[first + to[i]] = mapKeys[first + i];
            tags[start + to[i]] = tags[start + i];
            bits[start + to[i]] = bits[start + i];
        }
        mapKeyCount = first + next;
        items = start + next;
    }

    /** Writes a map's values as cells, behind the room for its header. */
    private int writeMapCells(int start) {
        int count = items - start;
        int home = out.grow(MAP_SIZE);
        int data = out.grow(cellsSize(count));
        putTagged(data, start);
        out.header(home + MAP_VALUES, CODE_CELLS, 0, 0, count, count == 0 ? 0 : data);
        return home;
    }

    /** Writes the keys, the indexes and the header of a map whose values are written. */
    private int writeMap(int home, int first, MapIndex x) {
        int count = mapKeyCount - first;
        int keys = out.grow(8L * count);
        for (int i = 0; i < count; i++) {
            out.put64(keys + 8 * i, mapKeys[first + i]);
        }
        mapKeyCount = first;
        int root = writeTree(x.sorted);
        out.put32(home, KIND_MAP);
        out.put32(home + 4, count);
        out.put32(home + 16, count);
        out.put32(home + 20, keys);
        out.put32(home + 24, root);
        if (x.block.length > 0) {
            int hash = out.grow(x.block.length + 56L);
            System.arraycopy(x.block, 0, out.mem.bytes, hash + 63 & ~63, x.block.length);
            out.put32(home + 8, hash);
            out.put32(home + 12, x.block.length / BUCKET_SIZE);
        }
        return home;
    }

    /** Writes a tree of full nodes, the leaves first; its root, or 0 without entries. */
    private int writeTree(int[] entries) {
        for (int level = 0; entries.length > 0; level++) {
            int[] nodes = new int[(entries.length + TREE_NODE_ITEMS - 1) / TREE_NODE_ITEMS];
            for (int n = 0; n < nodes.length; n++) {
                int from = n * TREE_NODE_ITEMS;
                int count = Math.min(entries.length - from, TREE_NODE_ITEMS);
                nodes[n] = out.grow(TREE_NODE_SIZE);
                out.put16(nodes[n], level | count << 8);
                for (int i = 0; i < count; i++) {
                    out.put32(nodes[n] + 4 + 4 * i, entries[from + i]);
                }
            }
            if (nodes.length == 1) {
                return nodes[0];
            }
            entries = nodes;
        }
        return 0;
    }

    /** Whether so many values, which are null or objects of so many members, may be rows (PROFILE 4). */
    static boolean areSimilar(long count, long members, long most) {
        return count >= Encoder.LEAST_MEMBERS && most > 0 && 4 * members >= count * most;
    }

    /** Whether a map's values, which wait or are written, may be rows. */
    final boolean areRows(int start) {
        long count = 0;
        long members = 0;
        long most = 0;
        for (int at = start; at < items; at = behind(at), count++) {
            if (tags[at] == TAG_NULL) {
                continue;
            }
            int n = MAX_FIELDS + 1;
            if (tags[at] == ITEM_OBJECT) {
                n = trie.depth(list(at));
            } else if (tags[at] == TAG_OBJECT && out.mem.u8(bits[at]) == KIND_RECORD) {
                n = out.mem.u8(bits[at] + 2);
            }
            if (n > MAX_FIELDS) {
                return false;
            }
            members += n;
            most = Math.max(most, n);
        }
        return areSimilar(count, members, most);
    }
}
