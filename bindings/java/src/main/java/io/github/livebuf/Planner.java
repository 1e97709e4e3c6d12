package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import io.github.livebuf.Plan.Summary;
import io.github.livebuf.Plan.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Decides which arrays become columns, by their values and by the size of each layout (PROFILE 6).
 *
 * <p>A plan is made from the outside in. The elements of an array are one column. Similar objects in it are a struct,
 * with a column for each key; arrays in it are a list, with one column for all their elements; and so on.
 */
abstract class Planner {
    private static final int MISSING = -1; // the place of a member that is not there
    private static final int MOST_LISTS = 4096; // different key lists of similar objects
    private static final int MOST_LISTED = 1 << 20; // keys that these have together
    private static final int LEAST_TEXTS = 8; // slots of a column with a dictionary or a run
    private static final int MOST_TEXTS = 65_536; // texts of a dictionary
    private static final long INFINITE = 1L << 62;
    static final long NARROW_WHOLE = 1 << 24; // integers that binary32 holds
    static final long WIDEST_WHOLE = 1L << 53; // and binary64

    // Tags of items that wait.
    static final int ITEM_TEXT = 0x70; // bits is the number of a text that may turn out to be shared
    static final int ITEM_LOOSE = 0x71; // text that is not searched: where its bytes wait, and their count
    static final int ITEM_UUID = 0x72; // the same of a UUID
    static final int ITEM_TENSOR = 0x73; // bits is the number of a tensor that waits
    static final int ITEM_ARRAY = 0x74; // bits is the size as a plain array, and later the home
    static final int ITEM_OBJECT = 0x75; // the lower half: the size as a record, later the home; the upper: the keys
    static final int ITEM_ABSORBED = 0x76; // a container that became part of a column
    static final int ITEM_PART = 0x77; // a tensor that did

    // Kinds of values, a bit for each.
    static final int OF_NULL = 1;
    static final int OF_BOOL = 1 << 1;
    static final int OF_INT = 1 << 2;
    static final int OF_FLOAT = 1 << 3;
    static final int OF_TEXT = 1 << 4;
    static final int OF_OBJECT = 1 << 5;
    static final int OF_ARRAY = 1 << 6;
    static final int OF_OTHER = 1 << 7;
    static final int OF_UUID = 1 << 8;
    static final int OF_TENSOR = 1 << 9;
    static final int OF_DATE = 1 << 10;
    static final int OF_TIME = 1 << 11;
    static final int OF_DATE_TIME = 1 << 12;
    static final int OF_TIMESTAMP = 1 << 13;
    static final int OF_DECIMAL = 1 << 14;

    private static final int[] KINDS = new int[128];

    static {
        Arrays.fill(KINDS, OF_OTHER);
        int[][] kinds = {{TAG_NOTHING, 0}, {TAG_NULL, OF_NULL}, {TAG_FALSE, OF_BOOL}, {TAG_TRUE, OF_BOOL},
            {TAG_INT, OF_INT}, {TAG_UINT, OF_INT}, {TAG_FLOAT, OF_FLOAT}, {TAG_TEXT, OF_TEXT}, {ITEM_TEXT, OF_TEXT},
            {ITEM_LOOSE, OF_TEXT}, {TAG_DATE, OF_DATE}, {TAG_TIME, OF_TIME}, {TAG_DATE_TIME, OF_DATE_TIME},
            {TAG_TIMESTAMP, OF_TIMESTAMP}, {TAG_DECIMAL, OF_DECIMAL}, {ITEM_UUID, OF_UUID}, {TAG_OBJECT, OF_OBJECT},
            {ITEM_OBJECT, OF_OBJECT}, {TAG_ARRAY, OF_ARRAY}, {ITEM_ARRAY, OF_ARRAY}, {ITEM_TENSOR, OF_TENSOR}};
        for (int[] kind : kinds) {
            KINDS[kind[0]] = kind[1];
        }
    }

    final Output out = new Output();
    final Texts texts = new Texts(out);
    final Trie trie = new Trie();

    // Items: values that are no part of a container yet. Each has the tag and the cell that it has in the document, or
    // one of the tags above. A container's contents are behind it: so many items.
    byte[] tags = new byte[256];
    long[] bits = new long[256];
    int[] inside = new int[256];
    int items;

    int[] places = new int[256]; // the items of all columns' slots
    int placed;
    final List<Tensor> tensors = new ArrayList<>(); // that wait
    private int[] codes = new int[128]; // numbers, and 1, of a dictionary's texts, by their hashes
    boolean areTables; // whether tables are wanted

    /** The item behind one and all that it holds. */
    final int behind(int at) {
        return at + 1 + inside[at];
    }

    final Tensor tensor(int at) {
        return tensors.get((int) bits[at]);
    }

    /** The key list of an object that waits. */
    final int list(int at) {
        return (int) (bits[at] >>> 32);
    }

    /** Whether a slot has a value, by its place. */
    final boolean isThere(int at) {
        return at >= 0 && tags[at] != TAG_NULL;
    }

    /** The size of an object of so many members that is no row: of a record, or else of a map. */
    static long objectSize(long members) {
        if (members <= MAX_FIELDS) {
            return recordSize(members);
        }
        return MAP_SIZE + 8 * members + cellsSize(members) + BUCKET_SIZE * bucketsOf(members) + 56;
    }

    /** The count of buckets of a map of so many entries (PROFILE 7). */
    static int bucketsOf(long entries) {
        return entries <= MAX_UNINDEXED ? 0 : (int) Math.min((entries + 7) / 8, MAX_BUCKETS);
    }

    /** The narrowest column for offsets that reach a number. */
    private static int offsetsCode(long last) {
        return last <= 0xff ? CODE_U8 : last <= 0xffff ? CODE_U16 : CODE_U32;
    }

    /** Whether binary32 holds a float exactly, by its bits. A signalling NaN may become quiet on the way. */
    private static boolean isSingle(long bits) {
        double f = Double.longBitsToDouble(bits);
        return f != f ? (bits & (1 << 29) - 1) == 0 && (bits >> 51 & 1) == 1 : (float) f == f;
    }

    /** Whether a float would be an integer in a column of numbers of this bound (FORMAT 6.1). */
    static boolean isWhole(double f, long bound) {
        return Math.abs(f) <= bound && f == (long) f && (f != 0 || Double.doubleToRawLongBits(f) == 0);
    }

    /** Adds an item to a summary. */
    final void add(Summary s, int at) {
        s.count++;
        int tag = tags[at];
        s.kinds |= KINDS[tag];
        switch (tag) {
            case TAG_INT -> {
                s.low = Math.min(s.low, bits[at]);
                s.high = Math.max(s.high, bits[at]);
            }
            case TAG_UINT -> s.isLarge = true;
            case TAG_FLOAT -> {
                double f = Double.longBitsToDouble(bits[at]);
                s.isDouble = s.isDouble || !isSingle(bits[at]);
                if (Math.abs(f) < s.whole && isWhole(f, WIDEST_WHOLE)) {
                    s.whole = Math.abs(f);
                }
            }
            case ITEM_UUID -> s.uuids++;
            case ITEM_ARRAY, ITEM_OBJECT -> s.plain += bits[at] & U32;
            case ITEM_TENSOR -> s.plain += tensor(at).arraySize();
            default -> { }
        }
    }

    private static Plan newPlan(Summary s, int from) {
        Plan p = new Plan();
        p.code = s.code;
        p.from = from;
        p.count = (int) s.count;
        p.size = s.size + s.plain;
        p.gaps = s.code != CODE_CELLS ? s.gaps() : 0;
        p.waits = (s.kinds & (OF_OBJECT | OF_ARRAY | OF_TENSOR)) != 0;
        return p;
    }

    /** Takes so many places; the first one. */
    private int room(long count) {
        int from = placed;
        if (from + count > places.length) {
            places = Arrays.copyOf(places, Output.capacity(places.length, from + count));
        }
        placed += (int) count;
        return from;
    }

    /** The plan for the items from start to end as one array's column. */
    final Plan planArray(int start, int end) {
        Summary s = new Summary();
        int from = placed;
        for (int at = start; at < end; at = behind(at)) {
            int to = room(1);
            places[to] = at;
            add(s, at);
        }
        return planColumn(s, from, 0);
    }

    /** The smallest plan for these values, with so many structs and lists around them. */
    private Plan planColumn(Summary s, int from, int depth) {
        int kinds = s.kinds & ~OF_NULL;
        int end = placed;
        s.leaf(areTables);
        Plan p = newPlan(s, from);
        if (!areTables) {
            p.waits = false;
            return p;
        }
        if ((kinds == OF_OBJECT || kinds == OF_ARRAY || kinds == OF_TENSOR) && p.count >= 2
            && depth < MAX_COLUMN_NESTING) {
            long bitmaps = bitmapsSize(s.gaps(), s.count);
            long size = p.size - Math.min(bitmaps, p.size);
            s.code = CODE_STRUCT;
            Plan other = newPlan(s, from);
            boolean isFound = kinds == OF_OBJECT ? planStruct(other, depth, size)
                : kinds == OF_ARRAY ? planList(other, depth) : planTensors(other, depth);
            if (isFound && other.size <= size) {
                other.size += bitmaps;
                return other;
            }
            placed = end;
        }
        if (kinds == OF_TEXT && p.count >= LEAST_TEXTS) {
            planTexts(p, s.gaps());
        }
        return p;
    }

    /** Makes a column of texts a dictionary or a run, where that is smaller. */
    private void planTexts(Plan p, int gaps) {
        long bytes = 0;
        long more = 0; // bytes that cells would have for nothing
        long singles = 0;
        long there = 0;
        long same = 0;
        boolean isUniform = true;
        for (int i = p.from; i < p.from + p.count; i++) {
            int at = places[i];
            if (!isThere(at)) {
                continue;
            }
            long length = bits[at] >>> 32;
            boolean isSingle = tags[at] == ITEM_LOOSE;
            if (tags[at] == ITEM_TEXT) {
                length = texts.length((int) bits[at]);
                isSingle = texts.isSingle((int) bits[at]);
            } else if (tags[at] == TAG_TEXT) {
                length = length >> 24 & 0x7f;
            } else if (length > MAX_SHARED) {
                return;
            }
            singles += isSingle ? 1 : 0;
            more += isSingle ? 0 : length;
            bytes += length;
            if (there++ == 0) {
                same = length;
            }
            isUniform &= same == length;
        }
        long bitmaps = bitmapsSize(gaps, p.count);
        // Texts of one length need no offsets. Then slots without a value have bytes, too.
        long all = bytes;
        long head = 32;
        int offsets = 0;
        long spare = (p.count - there) * same;
        if (isUniform && same > 0 && spare <= bytes) {
            all += spare;
        } else {
            offsets = offsetsCode(bytes);
            head = 48 + valuesSize(offsets, p.count + 1L);
        }
        long run = all <= MAX_SPAN ? bitmaps + head + more + word(all) - bytes : INFINITE;
        // A dictionary comes first where both are equal.
        long most = (Math.min(run, p.size - 1) - (bitmaps + word(p.count) + COLUMN_SIZE)) / 8;
        long size = INFINITE;
        if (singles <= most && most >= 1 && findDictionary(p, (int) Math.min(most, MOST_TEXTS))) {
            int code = p.textCount > 256 ? CODE_DICTIONARY_U16 : CODE_DICTIONARY_U8;
            size = bitmaps + valuesSize(code, p.count) + 8L * p.textCount;
            if (size <= run && size < p.size) {
                p.code = code;
                p.size = size;
                p.gaps = gaps;
                return;
            }
        }
        if (run < p.size) {
            p.code = CODE_RUN;
            p.size = run;
            p.offsets = offsets;
            p.bytes = all;
            p.gaps = gaps;
        }
    }

    /** Finds the different texts of a column, and their codes; false if there are more than so many, or none. */
    private boolean findDictionary(Plan p, int most) {
        int size = Integer.highestOneBit(Math.max(2 * Math.min(most, p.count) - 1, 63)) << 1;
        if (codes.length < size) {
            codes = new int[size];
        }
        Arrays.fill(codes, 0, size, 0);
        p.codes = new char[p.count];
        p.texts = new long[16];
        p.textTags = new byte[16];
        p.textCount = 0;
        int latest = -1;
        for (int i = 0; i < p.count; i++) {
            int at = places[p.from + i];
            if (!isThere(at)) {
                continue;
            }
            if (latest >= 0 && p.texts[latest] == bits[at] && p.textTags[latest] == tags[at]) {
                p.codes[i] = (char) latest;
                continue;
            }
            int code = -1;
            // What was met once equals no other.
            if (tags[at] == TAG_TEXT || tags[at] == ITEM_TEXT && !texts.isSingle((int) bits[at])) {
                int slot = (int) Texts.mix(bits[at], 0) & size - 1;
                for (; codes[slot] != 0 && code < 0; slot = slot + 1 & size - 1) {
                    if (p.texts[codes[slot] - 1] == bits[at]) {
                        code = codes[slot] - 1;
                    }
                }
                if (code < 0) {
                    codes[slot] = p.textCount + 1;
                }
            }
            if (code < 0) {
                if (p.textCount >= most) {
                    return false;
                }
                code = addText(p, tags[at], bits[at]);
            }
            p.codes[i] = (char) code;
            latest = code;
        }
        return p.textCount > 0;
    }

    private static int addText(Plan p, int tag, long bits) {
        if (p.textCount == p.texts.length) {
            p.texts = Arrays.copyOf(p.texts, 2 * p.textCount);
            p.textTags = Arrays.copyOf(p.textTags, 2 * p.textCount);
        }
        p.texts[p.textCount] = bits;
        p.textTags[p.textCount] = (byte) tag;
        return p.textCount++;
    }

    /** Makes a struct of objects; false if it would take more than so many bytes, or cannot be had. */
    private boolean planStruct(Plan p, int depth, long size) {
        // The different key lists as they are met.
        int[] met = new int[8];
        int different = 0;
        long filled = 0;
        long listed = 0;
        int latest = -1;
        trie.beginPlan();
        for (int i = p.from; i < p.from + p.count; i++) {
            int at = places[i];
            if (!isThere(at)) {
                continue;
            }
            if (tags[at] != ITEM_OBJECT) {
                return false; // a map among the objects has no key list
            }
            int list = list(at);
            filled += trie.depth(list);
            if (list != latest && trie.isNew(list, different)) {
                if (different == met.length) {
                    met = Arrays.copyOf(met, 2 * different);
                }
                met[different++] = list;
                listed += trie.depth(list);
            }
            latest = list;
        }
        boolean isMerged = different > 1;
        if (different > MOST_LISTS || isMerged && listed > MOST_LISTED) {
            return false;
        }
        // Keys that few rows have make wide tables of nothing.
        int most = (int) Math.min(4 * filled / p.count, MAX_COLUMNS);
        int[][] orders = new int[different][];
        int[] keys = isMerged ? trie.merge(met, different, most, orders) : trie.keysOf(met[0]);
        int count = p.count;
        if (keys == null || keys.length == 0 || keys.length > most) {
            return false;
        }
        int width = keys.length;
        int below = room((long) width * count);
        Summary[] columns = new Summary[width];
        for (int i = 0; i < width; i++) {
            columns[i] = new Summary();
        }
        if (isMerged || filled < (long) width * count) {
            Arrays.fill(places, below, placed, MISSING);
        }
        for (int i = 0; i < count; i++) {
            int row = places[p.from + i];
            if (!isThere(row)) {
                continue;
            }
            int[] order = isMerged ? orders[trie.number(list(row))] : null;
            int end = behind(row);
            for (int at = row + 1, k = 0; at < end; at = behind(at), k++) {
                int column = order != null ? order[k] : k;
                places[below + column * count + i] = at;
                add(columns[column], at);
            }
        }
        Plan own = isMerged ? planOrders(p, orders) : null;
        // What the columns take at least, so that those of no use are not planned.
        p.size = TABLE_SIZE + (long) COLUMN_SIZE * width;
        if (isMerged) {
            p.size += width > MAX_FIELDS ? wideShapeSize(width) : shapeSize(width);
        }
        long least = p.size;
        for (Summary s : columns) {
            s.missing = count - s.count;
            s.count = count;
            least += s.least();
        }
        p.keys = keys;
        p.waits = false;
        p.columns = new Plan[own != null ? width + 1 : width];
        for (int i = 0; i < width; i++) {
            if (least > size) {
                return false;
            }
            least -= columns[i].least();
            Plan c = planColumn(columns[i], below + i * count, depth + 1);
            p.columns[i] = c;
            p.size += c.size;
            least += c.size;
            p.waits |= c.waits;
        }
        if (own != null) {
            p.columns[width] = own;
            p.size += COLUMN_SIZE + own.size;
        }
        return true;
    }

    private static boolean isSorted(int[] order) {
        for (int i = 1; i < order.length; i++) {
            if (order[i] < order[i - 1]) {
                return false;
            }
        }
        return true;
    }

    /**
     * The column with the orders of rows whose members are not in that of the columns; null where there are none. It is
     * planned right after the key lists were numbered.
     */
    private Plan planOrders(Plan table, int[][] orders) {
        Plan p = new Plan();
        p.count = table.count;
        p.texts = new long[16];
        p.textTags = new byte[16];
        int[] listCodes = new int[orders.length];
        byte[] text = new byte[128];
        for (int i = 0; i < orders.length; i++) {
            int n = orders[i].length;
            listCodes[i] = -1;
            if (isSorted(orders[i])) {
                continue;
            }
            for (int j = 0; j < n; j++) {
                text[j] = (byte) orders[i][j];
            }
            if (n <= 7) {
                listCodes[i] = addText(p, TAG_TEXT, Output.inlineCell(text, 0, n));
            } else {
                p.size += n;
                listCodes[i] = addText(p, ITEM_LOOSE, Output.spanCell(texts.keep(text, 0, n), n, false));
            }
        }
        if (p.textCount == 0) {
            return null;
        }
        p.codes = new char[p.count];
        p.from = room(p.count);
        for (int i = 0; i < p.count; i++) {
            int row = places[table.from + i];
            int code = isThere(row) ? listCodes[trie.number(list(row))] : -1;
            if (code < 0) {
                row = MISSING;
                p.gaps = 2;
            } else {
                p.codes[i] = (char) code;
            }
            places[p.from + i] = row;
        }
        p.code = p.textCount > 256 ? CODE_DICTIONARY_U16 : CODE_DICTIONARY_U8;
        p.size += bitmapsSize(p.gaps, p.count) + valuesSize(p.code, p.count) + 8L * p.textCount;
        return p;
    }

    /** Makes a list of arrays; false if it cannot be had. */
    private boolean planList(Plan p, int depth) {
        Summary elements = new Summary();
        int[] ends = new int[p.count];
        int begin = placed;
        int length = -1;
        int absent = 0;
        boolean isUniform = true;
        for (int i = 0; i < p.count; i++) {
            int row = places[p.from + i];
            if (!isThere(row)) {
                absent++;
            } else if (tags[row] != ITEM_ARRAY) {
                return false; // an array that was laid out already cannot be part of a list
            } else {
                int first = placed;
                for (int at = row + 1, end = behind(row); at < end; at = behind(at)) {
                    int to = room(1);
            places[to] = at;
                    add(elements, at);
                }
                int here = placed - first;
                isUniform &= length < 0 || length == here;
                length = here;
            }
            ends[i] = (int) elements.count;
        }
        long total = elements.count;
        if (total == 0 && p.count < 4) {
            return false;
        }
        boolean isFixed = isUniform && length > 0 && (long) absent * length <= total;
        if (isFixed && absent > 0) {
            // Spread from the last, each behind those that are missing before it.
            int end = placed;
            room((long) absent * length);
            for (int i = p.count - 1; i >= 0; i--) {
                int to = begin + i * length;
                if (isThere(places[p.from + i])) {
                    end -= length;
                    System.arraycopy(places, end, places, to, length);
                } else {
                    Arrays.fill(places, to, to + length, MISSING);
                }
            }
            elements.missing = (long) absent * length;
            elements.count = (long) p.count * length;
        }
        p.child = planColumn(elements, begin, depth + 1);
        p.waits = p.child.waits;
        p.code = CODE_FIXED_LIST;
        p.size = 32 + p.child.size;
        if (!isFixed) {
            p.code = CODE_LIST;
            p.ends = ends;
            p.offsets = offsetsCode(total);
            p.size += 16 + valuesSize(p.offsets, p.count + 1L);
        }
        return true;
    }

    /** Makes a list of tensors of one type and shape; false if it cannot be had. */
    private boolean planTensors(Plan p, int depth) {
        Tensor first = null;
        int there = 0;
        for (int i = p.from; i < p.from + p.count; i++) {
            if (!isThere(places[i])) {
                continue;
            }
            Tensor t = tensor(places[i]);
            first = first == null ? t : first;
            if (t.code != first.code || !Arrays.equals(t.lengths, first.lengths)) {
                return false;
            }
            there++;
        }
        int dimensions = first.lengths.length;
        long numbers = p.count;
        for (long length : first.lengths) {
            numbers = Math.min(numbers * length, MAX_USED);
        }
        if (numbers == 0 || depth + dimensions > MAX_COLUMN_NESTING || numbers > MAX_ELEMENTS || p.count > 2 * there) {
            return false;
        }
        p.code = CODE_FIXED_LIST;
        p.tensor = first;
        p.waits = false;
        p.size = 32L * dimensions + word((long) p.count * first.data.length);
        return true;
    }
}
