package io.github.livebuf;

import static io.github.livebuf.Layout.*;
import static io.github.livebuf.Read.HAS_VALUE;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Values come into cells and into the slots of columns, which are converted where they must be (EDITING 6 and 9). */
abstract class EditValues extends EditObjects {
    private static final int MOST_MOVED = 65_536; // bytes of a run that are moved; else it becomes a column of text

    /**
     * Says where the texts of a large dictionary are, by their hashes. A text that it misses comes into the dictionary
     * once more, which is allowed (FORMAT 6.1).
     */
    private static final class Hint {
        long known; // texts that are in it
        final Map<Integer, Integer> codes = new HashMap<>();
    }

    private final Map<Long, Hint> hints = new HashMap<>();

    EditValues(Mem m) {
        super(m);
    }

    /** Forgets what is known of the document beside its bytes. */
    @Override
    void forget() {
        super.forget();
        hints.clear();
    }

    @Override
    final void forgetTexts(long column) {
        hints.remove(column);
    }

    // --- Cells

    /** Writes what a value's cell does not hold yet; then its cell is ready. */
    private void settle(Node node) {
        if (node.items != null) {
            node.bits = node.tag == TAG_ARRAY ? storeArray(node) : storeObject(node);
            if (node.handle != null) {
                handles.keep(node.handle, node.bits, Handle.NO_ROW);
            }
        } else if (node.bytes != null) {
            long at = alloc(node.bytes.length);
            write(at, node.bytes);
            node.bits = at | (long) node.bytes.length << 32 | SPAN_OWNED;
        }
        node.items = null;
        node.bytes = null;
    }

    @Override
    final void putCell(long tag, long cell, Node node) {
        replace(m.u8(tag), cell, node);
        m.put8(tag, node.tag);
    }

    private void replace(int old, long cell, Node node) {
        long bits = m.u64(cell);
        if (node.bytes != null && old >= TAG_TEXT && old < TAG_OBJECT && bits >>> 62 == 1 && (bits & 7) == 0) {
            long at = bits & U32, room = word(bits >>> 32 & MAX_SPAN), n = node.bytes.length, size = word(n);
            if (size <= room && 2 * size >= room) {
                // A text goes over the old one.
                write(at, node.bytes);
                zero(at + n, size - n);
                m.put64(cell, at | n << 32 | SPAN_OWNED);
                free(at + size, room - size);
                return;
            }
        }
        freeCell(old, bits);
        settle(node);
        m.put64(cell, node.bits);
    }

    // --- New arrays

    /** Writes a new array; its home. */
    private long storeArray(Node node) {
        long home = alloc(COLUMN_SIZE);
        m.put8(home, KIND_ARRAY);
        if (node.tensor != null) {
            storeTensor(home, home, node, 0, 1);
        } else {
            fill(home, node.items);
        }
        return home;
    }

    /** Writes a dimension of a tensor and those below it. There are so many arrays of it. */
    private void storeTensor(long at, long owner, Node node, int dimension, long arrays) {
        long[] lengths = node.tensor.lengths;
        long n = arrays * lengths[dimension];
        boolean last = dimension == lengths.length - 1;
        m.put32(at, KIND_ARRAY | (last ? node.tensor.code : CODE_FIXED_LIST) << 8 | 1 << 24);
        m.put32(at + 4, n);
        m.put32(at + 8, n);
        if (last) {
            long data = alloc(node.tensor.data.length);
            write(data, node.tensor.data);
            m.put32(at + 12, data);
            return;
        }
        long list = alloc(LIST_OFFSETS);
        m.put32(list, KIND_LIST | 1 << 8);
        m.put32(list + 4, lengths[dimension + 1]);
        m.put32(list + 12, owner);
        m.put32(at + 12, list);
        for (Node.Inner x : node.inner) {
            if (x.dimension() == dimension + 1) {
                handles.keep(x.handle(), list, x.row());
            }
        }
        storeTensor(list + LIST_ELEMENTS, list, node, dimension + 1, n);
    }

    /** Gives an array without elements a column of these values. */
    final void fill(long at, List<Node> items) {
        if (items.isEmpty()) {
            return;
        }
        int code = CODE_NULL, gaps = 0;
        for (Node item : items) {
            if (item.tag == TAG_NULL) {
                gaps = 1;
            } else if (code == CODE_NULL) {
                code = codeOf(item.tag);
            } else if (code != codeOf(item.tag)) {
                code = joined(code, codeOf(item.tag), items);
            }
        }
        beginColumn(at, code, code == CODE_CELLS ? 0 : gaps, items.size(), items.size());
        for (int i = 0; i < items.size(); i++) {
            putPlain(at, i, items.get(i));
        }
    }

    /** The column of a first element, by its tag. */
    private static int codeOf(int tag) {
        return switch (tag) {
            case TAG_NULL -> CODE_NULL;
            case TAG_FALSE, TAG_TRUE -> CODE_BOOL;
            case TAG_INT -> CODE_I64;
            case TAG_UINT -> CODE_U64;
            case TAG_FLOAT -> CODE_F64;
            case TAG_DECIMAL -> CODE_DECIMAL;
            case TAG_TIMESTAMP -> CODE_TIMESTAMP;
            case TAG_DATE -> CODE_DATE;
            case TAG_TIME -> CODE_TIME;
            case TAG_DATE_TIME -> CODE_DATE_TIME;
            case TAG_TEXT -> CODE_TEXT;
            case TAG_UUID -> CODE_UUID;
            case TAG_OBJECT -> CODE_OBJECTS;
            case TAG_ARRAY -> CODE_ARRAYS;
            default -> CODE_CELLS;
        };
    }

    private static int joined(int a, int b, List<Node> items) {
        if ((a == CODE_I64 || a == CODE_F64 || a == CODE_MARKED_F64) && (b == CODE_I64 || b == CODE_F64)) {
            return items.stream().allMatch(x -> x.tag != TAG_INT || x.isSafe()) ? CODE_MARKED_F64 : CODE_CELLS;
        }
        return CODE_CELLS;
    }

    // --- Which column holds a value

    private static boolean isInteger(int code) {
        return code >= CODE_I8 && code <= CODE_U64;
    }

    /** The code that a column must have to hold a value: the one that it has, if it does. */
    private int codeFor(Read.Head c, Node node) {
        int code = c.code;
        boolean found = switch (code) {
            case CODE_CELLS -> true;
            case CODE_RUN, CODE_DICTIONARY_U8, CODE_DICTIONARY_U16 -> node.tag == TAG_TEXT;
            case CODE_STRUCT -> node.tag == TAG_OBJECT;
            default -> false;
        };
        if (found) {
            return code;
        }
        if (code == CODE_NULL) {
            return codeOf(node.tag);
        }
        return switch (node.tag) {
            case TAG_ARRAY -> code == CODE_LIST || code == CODE_FIXED_LIST ? listFor(c, node)
                    : code == CODE_ARRAYS ? code : CODE_CELLS;
            case TAG_UINT -> code >= CODE_U8 && code <= CODE_U64 ? CODE_U64 : CODE_CELLS;
            case TAG_INT -> isInteger(code) ? integerFor(code, node.bits) : integerAmongFloats(code, node);
            case TAG_FLOAT -> isInteger(code) ? floatAmongIntegers(c) : floatFor(code, node);
            default -> codeOf(node.tag) == code ? code : CODE_CELLS;
        };
    }

    private int listFor(Read.Head c, Node node) {
        // What has a home is not taken apart, and a tensor stays one.
        if (node.items == null || node.tensor != null || m.u8(c.data + LIST_ELEMENTS + 3) == 1) {
            return CODE_ARRAYS;
        }
        long n = node.items.size();
        boolean other = c.code == CODE_FIXED_LIST && n != m.u32(c.data + 4);
        return other || n + m.u32(c.data + LIST_ELEMENTS + 4) > MAX_ELEMENTS ? CODE_ARRAYS : c.code;
    }

    private static int integerFor(int code, long x) {
        if (code == CODE_I64 || code == CODE_U64) {
            return code == CODE_U64 && x < 0 ? CODE_CELLS : code;
        }
        int width = 8 * width(code);
        boolean fits = code >= CODE_U8 ? x >>> width == 0 : x >> width - 1 == x >> 63;
        return fits ? code : CODE_I64;
    }

    private static int integerAmongFloats(int code, Node node) {
        if (columnTag(code) != TAG_FLOAT || !node.isSafe()) {
            return CODE_CELLS;
        }
        boolean narrow = code == CODE_NUMBERS_F32 || code == CODE_MARKED_F32;
        return code == CODE_NUMBERS_F64 || narrow && Math.abs(node.bits) <= 1 << 24 ? code : CODE_MARKED_F64;
    }

    private int floatAmongIntegers(Read.Head c) {
        for (long i = 0; i < c.count && width(c.code) == 8; i++) {
            long x = m.u64(c.values + 8 * i);
            if (!new Node(TAG_INT, x).isSafe() || c.code == CODE_U64 && x < 0) {
                return CODE_CELLS;
            }
        }
        return CODE_MARKED_F64;
    }

    private static int floatFor(int code, Node node) {
        double x = node.number();
        if (columnTag(code) != TAG_FLOAT) {
            return CODE_CELLS;
        }
        boolean holds = switch (code) {
            case CODE_F64, CODE_MARKED_F64 -> true;
            case CODE_NUMBERS_F64 -> !Read.isWhole(x, false);
            case CODE_NUMBERS_F32 -> isSingle(node.bits) && !Read.isWhole(x, true);
            default -> isSingle(node.bits);
        };
        return holds ? code : code == CODE_F32 ? CODE_F64 : CODE_MARKED_F64;
    }

    /** Says whether a float of 32 bits holds a float, by its bits. A signalling NaN may become quiet on the way. */
    private static boolean isSingle(long bits) {
        double x = Double.longBitsToDouble(bits);
        return x != x ? (bits & (1 << 29) - 1) == 0 && (bits >> 51 & 1) == 1 : (float) x == x;
    }

    /** Says whether a tensor's slot takes a value (EDITING 11), and makes numbers what it stores. */
    final boolean fitsTensor(long at, Node node) {
        Read.Head c = col(at);
        switch (c.code) {
            case CODE_FIXED_LIST -> {
                long elements = c.data + LIST_ELEMENTS, n = m.u32(c.data + 4);
                if (node.tensor != null) {
                    return node.tensor.lengths[0] == n && node.tensor.code == m.u8(elements + 1);
                }
                return node.tag == TAG_ARRAY && node.items != null && node.items.size() == n
                    && node.items.stream().allMatch(x -> fitsTensor(elements, x));
            }
            case CODE_BOOL8 -> {
                return node.tag == TAG_TRUE || node.tag == TAG_FALSE;
            }
            case CODE_F16, CODE_F32, CODE_F64 -> {
                long bound = c.code == CODE_F16 ? 1 << 11 : c.code == CODE_F32 ? 1 << 24 : 1L << 53;
                if (node.tag == TAG_INT && node.bits <= bound && node.bits >= -bound) {
                    node.bits = Double.doubleToRawLongBits(node.number());
                    node.tag = TAG_FLOAT;
                }
                double x = node.number();
                double stored = c.code == CODE_F16 ? Double.longBitsToDouble(Read.half(toHalf(x)))
                        : c.code == CODE_F32 ? (float) x : x;
                return node.tag == TAG_FLOAT && (!Double.isInfinite(stored) || Double.isInfinite(x));
            }
            default -> {
                return (node.tag == TAG_INT || node.tag == TAG_UINT) && codeFor(c, node) == c.code;
            }
        }
    }

    /** The bits of the float of 16 bits that is nearest, of two the even one. */
    static int toHalf(double x) {
        double size = Math.abs(x);
        int sign = (int) (Double.doubleToRawLongBits(x) >>> 48) & 0x8000;
        if (x != x || size >= 65520) {
            return sign | (x != x ? 0x7e00 : 0x7c00);
        }
        int exponent = Math.max(Math.getExponent(size), -14);
        // Where it is rounded up to the next power, the carry goes into the exponent.
        return sign | (int) Math.rint(Math.scalb(size, 10 - exponent)) + (exponent + 14) * 1024;
    }

    // --- Slots

    @Override
    final void put(long at, long slot, Node node, boolean empty) {
        if (node.tag <= TAG_NULL) {
            // An empty slot, too: it has a value if the column was converted since it was opened.
            clear(at, slot, 1);
            absent(at, slot, 1, node.tag);
            return;
        }
        Read.Head c = col(at);
        if (c.tensor && c.code == CODE_FIXED_LIST) {
            endRows(c.data, slot, 1);
            int n = node.items.size();
            if (node.tensor != null) {
                write(col(c.data + LIST_ELEMENTS).values + slot * node.tensor.data.length, node.tensor.data);
            }
            for (int i = 0; i < n; i++) {
                put(c.data + LIST_ELEMENTS, slot * n + i, node.items.get(i), false);
            }
            return;
        }
        int code = c.tensor ? c.code : codeFor(c, node);
        if (code != c.code) {
            clear(at, slot, 1);
            convert(at, code, slot);
        }
        switch (code) {
            case CODE_STRUCT -> putRow(at, slot, node, empty);
            case CODE_LIST, CODE_FIXED_LIST -> putList(at, slot, node, empty);
            case CODE_RUN -> putRun(at, slot, node);
            case CODE_DICTIONARY_U8, CODE_DICTIONARY_U16 -> putText(at, slot, node);
            default -> putPlain(at, slot, node);
        }
    }

    /**
     * Writes a value that a column without parts holds as it is; what was there is freed. Null is for slots that are
     * empty.
     */
    @Override
    final void putPlain(long at, long slot, Node node) {
        Read.Head c = col(at);
        if (c.code == CODE_CELLS) {
            putCell(c.data + tagAt(slot), c.data + cellAt(slot), node);
            return;
        }
        if (node.tag <= TAG_NULL) {
            absent(at, slot, 1, node.tag);
            return;
        }
        if (c.code == CODE_TEXT) {
            replace(TAG_TEXT, c.values + 8 * slot, node);
        } else if (c.code == CODE_OBJECTS || c.code == CODE_ARRAYS) {
            long old = m.u32(c.values + 4 * slot);
            if (old != 0) {
                freeCell(columnTag(c.code), old);
            }
            settle(node);
            m.put32(c.values + 4 * slot, node.bits);
        } else {
            putNumber(c, slot, node);
        }
        setValue(c, slot);
    }

    /** Says that a slot has a value. */
    private void setValue(Read.Head c, long slot) {
        if (c.gaps != 0) {
            putBit(c.bitmaps, slot, true);
            if (c.gaps == 3) {
                putBit(c.bitmaps + bitmapSize(c.capacity), slot, false);
            }
        }
    }

    /** Writes a value of a fixed width. */
    private void putNumber(Read.Head c, long slot, Node node) {
        int width = width(c.code);
        long at = c.values + width * slot, bits = node.bits;
        switch (c.code) {
            case CODE_BOOL -> {
                putBit(c.values, slot, node.tag == TAG_TRUE);
                return;
            }
            case CODE_BOOL8 -> bits = node.tag == TAG_TRUE ? 1 : 0;
            case CODE_UUID -> {
                if (node.bytes != null) {
                    write(at, node.bytes);
                } else {
                    copy(at, bits & U32, 16);
                    freeSpan(bits);
                }
                return;
            }
            case CODE_F16 -> bits = toHalf(node.number());
            case CODE_F32, CODE_NUMBERS_F32, CODE_MARKED_F32 -> bits = Float.floatToRawIntBits((float) node.number());
            case CODE_F64, CODE_NUMBERS_F64, CODE_MARKED_F64 -> bits = Double.doubleToRawLongBits(node.number());
            default -> {}
        }
        if (isMarked(c.code)) {
            double x = node.number();
            putBit(Read.marks(c), slot, node.tag == TAG_FLOAT && x == Math.rint(x));
        }
        putWidth(at, width, bits);
    }

    /** Gives a row of a table the members of an object, and no others. */
    private void putRow(long at, long row, Node node, boolean empty) {
        Read.Head c = col(at);
        if (!empty) {
            clear(at, row, 1);
        }
        setValue(c, row);
        int k = m.u16(c.data + 20);
        Node[] fields = new Node[k];
        Node rest = Node.container(TAG_OBJECT);
        for (int i = 0; i < node.items.size(); i++) {
            int place = Read.findInShape(m, m.u32(c.data + 4), k, node.keys.get(i));
            if (place >= 0) {
                fields[place] = node.items.get(i);
            } else {
                rest.add(node.keys.get(i), node.items.get(i));
            }
        }
        for (int j = 0; j < k; j++) {
            put(header(c.data, j), row, fields[j] == null ? new Node(TAG_NOTHING, 0) : fields[j], true);
        }
        if (m.u8(c.data + 1) == 1) {
            absent(header(c.data, k), row, 1, TAG_NOTHING);
        }
        if (!rest.items.isEmpty()) {
            addExtra(c.data, row, storeObject(rest));
        }
    }

    /** Puts an array's elements among those of the others in a list. */
    private void putList(long at, long slot, Node node, boolean empty) {
        Read.Head c = col(at);
        if (!empty) {
            clear(at, slot, 1);
        }
        setValue(c, slot);
        int n = node.items.size();
        if (c.code == CODE_FIXED_LIST) {
            for (int i = 0; i < n; i++) {
                put(c.data + LIST_ELEMENTS, slot * n + i, node.items.get(i), true);
            }
            return;
        }
        insertSlots(c.data + LIST_ELEMENTS, offset(c.data, slot), node.items);
        addOffsets(c.data, slot + 1, n);
    }

    /** Puts new slots with values among those of a column. */
    @Override
    final void insertSlots(long at, long i, List<Node> items) {
        Read.Head c = col(at);
        int n = items.size();
        if (isNested(c.code) && !c.tensor) {
            // One by one, since columns below may be converted while a slot has no value. Many come to the end first.
            boolean behind = i < c.count && n > 4;
            long slot = behind ? c.count : i;
            for (Node item : items) {
                openSlots(at, slot, 1);
                put(at, slot++, item, true);
            }
            if (behind) {
                int[] order = new int[(int) c.count + n];
                for (int j = 0; j < order.length; j++) {
                    order[j] = (int) (j < i ? j : j < i + n ? c.count + j - i : j - n);
                }
                arrange(at, order);
            }
            return;
        }
        // The column is converted while all its slots have their values.
        for (boolean stable = c.tensor; !stable;) {
            stable = true;
            for (Node item : items) {
                if (item.tag > TAG_NULL) {
                    Read.Head now = col(at);
                    int code = codeFor(now, item);
                    if (code != now.code) {
                        convert(at, code, NONE);
                        stable = false;
                    }
                }
            }
        }
        openSlots(at, i, n);
        for (Node item : items) {
            put(at, i++, item, true);
        }
    }

    /** Puts a text into a run. */
    private void putRun(long at, long slot, Node node) {
        Read.Head c = col(at);
        long elements = c.data + LIST_ELEMENTS, all = m.u32(elements + 4);
        long start = offset(c.data, slot), end = offset(c.data, slot + 1);
        byte[] text = node.text();
        int n = text.length;
        if (n != end - start) {
            if (isFixed(c.data) || all - end + 4 * (c.count - slot) > MOST_MOVED || all + n > MAX_SPAN) {
                clear(at, slot, 1);
                convert(at, CODE_TEXT, slot);
                putPlain(at, slot, node);
                return;
            }
            if (end > start) {
                clear(at, slot, 1);
            }
            openSlots(elements, start, n);
            addOffsets(c.data, slot + 1, n);
        }
        write(m.u32(elements + 12) + start, text);
        setValue(c, slot);
    }

    /** Puts a text into a dictionary. */
    private void putText(long at, long slot, Node node) {
        Read.Head c = col(at), texts = Read.dictionary(m, c);
        byte[] text = node.text();
        int code = text.length <= MAX_SHARED ? findText(texts, at, text) : -1;
        if (code < 0) {
            long n = texts.count;
            if (text.length > MAX_SHARED || n >= 1 << 16 || n >= c.count && n >= 8) {
                convert(at, CODE_TEXT, slot);
                putPlain(at, slot, node);
                return;
            }
            openSlots(texts.at, n, 1);
            settle(node);
            long bits = node.bits < 0 ? node.bits : node.bits & ~SPAN_OWNED;
            m.put64(m.u32(texts.at + 12) + 8 * n, bits);
            code = (int) n;
            if (n == 256 && c.code == CODE_DICTIONARY_U8) {
                relayout(at, CODE_DICTIONARY_U16, c.gaps, c.capacity);
                c = col(at);
            }
        }
        putNumber(c, slot, new Node(TAG_INT, code));
        setValue(c, slot);
    }

    /** The code of a text in a dictionary, or -1. */
    private int findText(Read.Head texts, long at, byte[] text) {
        Key k = Key.forShapes(text);
        if (texts.count <= 64) {
            for (int i = 0; i < texts.count; i++) {
                if (Read.isKey(m, texts.data + 8L * i, k)) {
                    return i;
                }
            }
            return -1;
        }
        Hint known = hints.computeIfAbsent(at, any -> new Hint());
        for (; known.known < texts.count; known.known++) {
            known.codes.put((int) Key.hash(spanBytes(texts.data + 8 * known.known)), (int) known.known);
        }
        int code = known.codes.getOrDefault((int) Key.hash(text), -1);
        return code >= 0 && code < texts.count && Read.isKey(m, texts.data + 8L * code, k) ? code : -1;
    }

    // --- Values that are taken out

    /**
     * Takes the value of a slot out: what has a home keeps it, and texts stay where they are. Rows, arrays in lists and
     * the texts of runs have to be written again. The slot is to be thrown away.
     */
    @Override
    final Node lift(Read.Head c, long slot) {
        if (c.code == CODE_CELLS) {
            return liftCell(m.u8(c.data + tagAt(slot)), c.data + cellAt(slot));
        }
        int gap = Read.gap(m, c, slot);
        if (gap != HAS_VALUE) {
            return new Node(gap, 0);
        }
        switch (c.code) {
            case CODE_TEXT -> {
                return liftCell(TAG_TEXT, c.values + 8 * slot);
            }
            case CODE_DICTIONARY_U8, CODE_DICTIONARY_U16 -> {
                return liftCell(TAG_TEXT, Read.dictionaryCell(m, c, slot));
            }
            case CODE_OBJECTS, CODE_ARRAYS -> {
                long home = m.u32(c.values + 4 * slot);
                // Where a slot was opened and its value comes next, there is none.
                return home == 0 ? new Node(TAG_NULL, 0) : new Node(columnTag(c.code), home);
            }
            case CODE_STRUCT -> {
                return liftRow(c.data, slot);
            }
            case CODE_LIST, CODE_FIXED_LIST -> {
                return liftSlice(c.data, slot);
            }
            default -> {
                Value v = Read.slot(live, c, slot);
                return v.tag >= TAG_TEXT ? Node.span(v.tag, m.copy(v.at, v.bits)) : new Node(v.tag, v.bits);
            }
        }
    }

    private Node liftRow(long table, long row) {
        Value v = Read.row(live, table, row), extra = Read.extra(v);
        long order = Read.order(v);
        int k = v.fields();
        boolean plain = k <= MAX_FIELDS && order == 0 && extra.tag == TAG_NOTHING;
        Node made = Node.container(TAG_OBJECT);
        made.handle = handles.take(table, row);
        if (plain) {
            made.shape = v.shape();
        }
        int named = (int) (order >>> 32);
        byte[] places = m.copy(order & U32, named);
        boolean[] done = new boolean[k];
        for (int i = 0; i < named + k; i++) {
            int place = i < named ? places[i] : i - named;
            if (done[place]) {
                continue;
            }
            done[place] = true;
            Node node = lift(col(header(table, place)), row);
            if (plain) {
                made.items.add(node);
            } else if (node.tag != TAG_NOTHING) {
                made.add(keyOf(v.shape(), place), node);
            }
        }
        if (extra.form == Value.RECORD) {
            for (int i = 0; i < extra.fields(); i++) {
                Node node = liftCell(m.u8(extra.at + 8 + tagAt(i)), extra.at + 8 + cellAt(i));
                if (node.tag != TAG_NOTHING) {
                    made.add(keyOf(extra.shape(), i), node);
                }
            }
        } else if (extra.form == Value.MAP) {
            Read.Head c = col(extra.at + MAP_VALUES);
            long keys = m.u32(extra.at + 20);
            for (long i = 0; i < c.count; i++) {
                if (m.u64(keys + 8 * i) != 0) {
                    made.add(Key.forShapes(spanBytes(keys + 8 * i)), lift(c, i));
                }
            }
        }
        return made;
    }

    private Node liftSlice(long list, long row) {
        long range = Read.listRange(m, list, row), first = range >>> 32, end = range & U32;
        Read.Head c = col(list + LIST_ELEMENTS);
        Node made = Node.container(TAG_ARRAY);
        made.handle = handles.take(list, row);
        if (!c.tensor) {
            for (long i = first; i < end; i++) {
                made.items.add(lift(c, i));
            }
            return made;
        }
        made.tensor = Encoder.tensorOf(Read.slice(live, list, row));
        made.inner = new ArrayList<>();
        for (int d = 1; c.code == CODE_FIXED_LIST; d++) {
            for (long held : handles.rows(c.data)) {
                if (held >= first && held < end) {
                    made.inner.add(new Node.Inner(d, held - first, handles.take(c.data, held)));
                }
            }
            long length = m.u32(c.data + 4);
            first *= length;
            end *= length;
            c = col(c.data + LIST_ELEMENTS);
        }
        return made;
    }
}
