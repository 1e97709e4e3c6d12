package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/** Objects that are edited: records and their shapes (FORMAT 4, 5), maps (7), and the extras of rows (6.3). */
abstract class EditObjects extends EditColumns {
    private static final int NEWEST_SHAPES = 64; // so many shapes are looked at, from the newest on

    private final Map<Key, Long> keyTexts = new HashMap<>(); // where keys of shapes were written

    EditObjects(Mem m) {
        super(m);
    }

    void forget() {
        keyTexts.clear();
    }

    // What values have to do with objects.

    /** Puts a value in place of another that has a tag and a cell. */
    abstract void putCell(long tag, long cell, Node node);

    /** Sets a slot of a column to a value, or null, or makes it missing. One that is empty has nothing to free. */
    abstract void put(long at, long slot, Node node, boolean empty);

    abstract void insertSlots(long at, long i, List<Node> items);

    // --- Keys and shapes

    /** A copy of the bytes of a span cell. */
    final byte[] spanBytes(long cell) {
        long span = Read.span(m, cell);
        return m.copy(span & U32, span >>> 32);
    }

    /** Key i of a shape. */
    final Key keyOf(long shape, long i) {
        return Key.forShapes(spanBytes((Read.shape(m, shape) & U32) + 8 * i));
    }

    /**
     * Writes a key's cell, and its text if that is not in it. In a map the text is owned; in shapes it is shared, and
     * never freed.
     */
    private void writeKey(long cell, Key k, boolean owned) {
        if (k.cell != 0) {
            m.put64(cell, k.cell);
            return;
        }
        Long known = owned ? null : keyTexts.get(k);
        long at = known != null ? known : alloc(k.utf8.length);
        if (known == null) {
            write(at, k.utf8);
        }
        if (!owned) {
            keyTexts.put(k, at);
        }
        m.put64(cell, at | (long) k.utf8.length << 32 | (owned ? SPAN_OWNED : 0));
    }

    private void share(long shape) {
        m.put8(shape + 3, m.u8(shape + 3) & ~1);
    }

    /** Adds a key to a shape that has room. */
    private void addKey(long shape, Key k) {
        int i = m.u8(shape + 2);
        writeKey(shape + word(8 + m.u8(shape + 1)) + 8 * i, k, false);
        m.put8(shape + 8 + i, k.fingerprint);
        m.put8(shape + 2, i + 1);
    }

    private boolean beginsWith(long shape, List<Key> keys) {
        if (m.u8(shape) != KIND_SHAPE || m.u8(shape + 2) < keys.size()) {
            return false;
        }
        long cells = Read.shape(m, shape) & U32;
        for (int i = 0; i < keys.size(); i++) {
            Key k = keys.get(i);
            if (m.u8(shape + 8 + i) != k.fingerprint || !Read.isKey(m, cells + 8 * i, k)) {
                return false;
            }
        }
        return true;
    }

    /** A shape that begins with these keys: one of the newest, or a new one of a capacity. */
    private long shapeOf(List<Key> keys, int capacity) {
        long at = m.u32(HEADER_SHAPES);
        for (int look = 0; at != 0 && look < NEWEST_SHAPES; look++) {
            if (beginsWith(at, keys)) {
                share(at);
                return at;
            }
            at = m.u32(at + 4);
        }
        at = alloc(shapeSize(capacity));
        m.put8(at, KIND_SHAPE);
        m.put8(at + 1, capacity);
        m.put8(at + 3, 1);
        for (Key k : keys) {
            addKey(at, k);
        }
        m.put32(at + 4, m.u32(HEADER_SHAPES));
        m.put32(HEADER_SHAPES, at);
        return at;
    }

    /** Frees a private shape whose only record or table is no more. */
    @Override
    final void freeShape(long shape) {
        if (shape == 0 || (m.u8(shape + 3) & 1) == 0) {
            return;
        }
        long before = HEADER_SHAPES;
        for (int look = 0; look < NEWEST_SHAPES; look++) {
            long at = m.u32(before);
            if (at == shape) {
                m.put32(before, m.u32(at + 4));
                boolean wide = m.u8(at) == KIND_WIDE_SHAPE;
                free(at, wide ? wideShapeSize(m.u32(at + 8)) : shapeSize(m.u8(at + 1)));
                return;
            }
            if (at == 0) {
                return;
            }
            before = at + 4;
        }
    }

    // --- Whole objects

    /** Writes a new object; its home. */
    final long storeObject(Node node) {
        int n = node.items.size();
        boolean isMap = n > MAX_FIELDS;
        for (Key k : node.keys) {
            isMap |= k.utf8.length > MAX_KEY;
        }
        if (isMap) {
            long at = alloc(MAP_SIZE);
            fillMap(at, node);
            return at;
        }
        long at = alloc(recordSize(n));
        m.put8(at, KIND_RECORD);
        m.put8(at + 1, n);
        int live = 0;
        for (int i = 0; i < n; i++) {
            if (node.items.get(i).tag != TAG_NOTHING) {
                putCell(at + 8 + tagAt(i), at + 8 + cellAt(i), node.items.get(i));
                live++;
            }
        }
        if (live > 0) {
            long shape = node.shape;
            if (shape == 0) {
                shape = shapeOf(node.keys, n);
            } else {
                share(shape);
            }
            m.put32(at + 4, shape);
            m.put8(at + 2, n);
            m.put8(at + 3, live);
        }
        return at;
    }

    /** Frees an object and all that is in it. */
    @Override
    final void freeObject(long home) {
        long block = Read.resolve(m, home);
        if (m.u8(block) == KIND_MAP) {
            clear(block + MAP_VALUES, 0, m.u32(block + MAP_VALUES + 4));
        } else {
            for (int i = 0; i < m.u8(block + 2); i++) {
                freeCell(m.u8(block + 8 + tagAt(i)), m.u64(block + 8 + cellAt(i)));
            }
        }
        freeShell(home);
    }

    /** Frees an object, but not the values in it. */
    private void freeShell(long home) {
        long block = Read.resolve(m, home);
        if (m.u8(block) == KIND_MAP) {
            long keys = m.u32(block + 20);
            for (long i = 0; i < m.u32(block + MAP_VALUES + 4); i++) {
                freeSpan(m.u64(keys + 8 * i));
            }
            free(keys, 8 * m.u32(block + 16));
            dropIndexes(block);
            freeStorage(block + MAP_VALUES);
            freeNode(home, block, MAP_SIZE);
            return;
        }
        long shape = m.u32(block + 4);
        freeNode(home, block, recordSize(m.u8(block + 1)));
        freeShape(shape);
    }

    /** Puts another block in place of a node's: its home becomes a forward (FORMAT 3.5). */
    private void relocate(long home, long block, long size, long to) {
        if (block == home) {
            free(home + 8, size - 8);
            m.put32(home, KIND_FORWARD);
        } else {
            free(block, size);
        }
        m.put32(home + 4, to);
    }

    /** At most how many bytes it takes to set or remove a member of a record or a map. */
    private long objectCost(long home) {
        long block = Read.resolve(m, home);
        if (m.u8(block) == KIND_MAP) {
            return 4096 + 40 * m.u32(block + 16) + 192 * m.u32(block + 12) + columnCost(block + MAP_VALUES);
        }
        return 8192 + 512 * m.u8(block + 2); // a map of it has copies of all keys
    }

    /** The same for any object. */
    final long memberCost(Value v, Key k) {
        if (v.form != Value.ROW) {
            return objectCost(v.home);
        }
        int i = Read.findInShape(m, v.shape(), v.fields(), k);
        if (i >= 0) {
            return columnCost(header(v.at, i));
        }
        long extras = m.u32(v.at + 16);
        Value extra = Read.extra(v);
        return 1024 + (extras != 0 ? columnCost(extras) : 0) + (extra.exists() ? objectCost(extra.home) : 0);
    }

    /** Sets a member of any object. */
    final void setMember(Value v, Key k, Node node) {
        if (v.form != Value.ROW) {
            setField(v.home, k, node);
            return;
        }
        int i = Read.findInShape(m, v.shape(), v.fields(), k);
        Value extra = i >= 0 ? Value.MISSING : Read.extra(v);
        if (i >= 0) {
            put(header(v.at, i), v.row & U32, node, false);
        } else if (extra.exists()) {
            setField(extra.home, k, node);
        } else {
            Node made = Node.container(TAG_OBJECT);
            made.add(k, node);
            addExtra(v.at, v.row & U32, storeObject(made));
        }
    }

    /** Removes a member of any object, which has it. */
    final void removeMember(Value v, Key k) {
        int i = v.form == Value.ROW ? Read.findInShape(m, v.shape(), v.fields(), k) : -1;
        if (i >= 0) {
            put(header(v.at, i), v.row & U32, new Node(TAG_NOTHING, 0), false);
        } else {
            removeField(v.form == Value.ROW ? Read.extra(v).home : v.home, k);
        }
    }

    // --- Records

    /** Sets a member of a record or a map. */
    private void setField(long home, Key k, Node node) {
        long block = Read.resolve(m, home);
        if (m.u8(block) == KIND_RECORD) {
            int used = m.u8(block + 2);
            int i = used > 0 ? Read.findInShape(m, m.u32(block + 4), used, k) : -1;
            if (i >= 0 || used < MAX_FIELDS && k.utf8.length <= MAX_KEY) {
                if (i < 0) {
                    i = used;
                    block = addField(home, block, k);
                }
                // A value that is written moves no block.
                long tag = block + 8 + tagAt(i);
                if (m.u8(tag) == TAG_NOTHING) {
                    m.put8(block + 3, m.u8(block + 3) + 1);
                }
                putCell(tag, block + 8 + cellAt(i), node);
                return;
            }
            toMap(home, block);
            block = Read.resolve(m, home);
        }
        setEntry(block, k, node);
    }

    /** Makes a field for a key that a record does not have; the block where the record is then. */
    private long addField(long home, long block, Key k) {
        int used = m.u8(block + 2), capacity = m.u8(block + 1);
        int more = Math.min(MAX_FIELDS, Math.max(4, used + 1 + used / 2));
        long old = m.u32(block + 4), known = old != 0 ? Read.shape(m, old) : 0;
        long shape = old;
        if (old != 0 && known >>> 32 == used && used < m.u8(old + 1)) {
            addKey(old, k);
        } else if (known >>> 32 <= used || !Read.isKey(m, (known & U32) + 8 * used, k)) {
            // The shape has not the key next.
            List<Key> keys = new ArrayList<>();
            for (int i = 0; i < used; i++) {
                keys.add(keyOf(old, i));
            }
            keys.add(k);
            shape = shapeOf(keys, more);
        }
        if (used == capacity) {
            long size = recordSize(capacity), wanted = recordSize(more);
            if (block + size == m.size) {
                resize(block + wanted);
            } else {
                long to = alloc(wanted);
                copy(to, block, size);
                relocate(home, block, size, to);
                block = to;
            }
            m.put8(block + 1, more);
        }
        m.put32(block + 4, shape);
        m.put8(block + 2, used + 1);
        if (shape != old) {
            freeShape(old);
        }
        return block;
    }

    /** Removes a member of a record or a map, which has it. */
    private void removeField(long home, Key k) {
        long block = Read.resolve(m, home);
        if (m.u8(block) == KIND_MAP) {
            removeEntry(block, k);
            return;
        }
        long shape = m.u32(block + 4);
        int i = Read.findInShape(m, shape, m.u8(block + 2), k), live = m.u8(block + 3) - 1;
        putCell(block + 8 + tagAt(i), block + 8 + cellAt(i), new Node(TAG_NOTHING, 0));
        m.put8(block + 3, live);
        if (live == 0) {
            m.put8(block + 2, 0);
            m.put32(block + 4, 0);
            freeShape(shape);
        }
    }

    /** Gives a member of a record or a map another key, which the object does not have. */
    final void renameField(long home, Key from, Key to) {
        long block = Read.resolve(m, home);
        if (m.u8(block) == KIND_RECORD && to.utf8.length > MAX_KEY) {
            toMap(home, block);
            block = Read.resolve(m, home);
        }
        if (m.u8(block) == KIND_MAP) {
            Read.MapHead o = Read.map(m, block);
            int i = Read.find(m, o, from);
            leave(block, i);
            freeSpan(m.u64(o.keys + 8L * i));
            writeKey(o.keys + 8L * i, to, true);
            enter(block, i);
            return;
        }
        // Holes are left out, since one of them may have the key.
        long shape = m.u32(block + 4);
        List<Key> keys = new ArrayList<>();
        for (int i = 0; i < m.u8(block + 2); i++) {
            long tag = block + 8 + tagAt(i), cell = block + 8 + cellAt(i);
            int there = m.u8(tag), j = keys.size();
            long bits = m.u64(cell);
            if (there != TAG_NOTHING) {
                Key k = keyOf(shape, i);
                keys.add(k.equals(from) ? to : k);
                m.put8(tag, 0);
                m.put64(cell, 0);
                m.put8(block + 8 + tagAt(j), there);
                m.put64(block + 8 + cellAt(j), bits);
            }
        }
        m.put32(block + 4, shapeOf(keys, keys.size()));
        m.put8(block + 2, keys.size());
        freeShape(shape);
    }

    // --- Extras

    /** The first of the extras whose row is not below this one. */
    private long findExtra(long extras, long row) {
        Read.Head c = col(extras);
        long low = 0;
        for (long high = c.count; low < high;) {
            long middle = (low + high) >>> 1;
            if (m.u32(c.data + 8 * middle + 4) < row) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Gives a row an extra object. */
    final void addExtra(long table, long row, long home) {
        long extras = m.u32(table + 16);
        if (extras == 0) {
            extras = alloc(COLUMN_SIZE);
            m.put32(extras, KIND_ARRAY | CODE_U64 << 8);
            m.put32(table + 16, extras);
        }
        long i = findExtra(extras, row);
        openSlots(extras, i, 1);
        m.put64(m.u32(extras + 12) + 8 * i, row << 32 | home);
    }

    /** Takes the extra objects of n rows away. With shells, what is in them is elsewhere already. */
    @Override
    final void dropExtras(long table, long row, long n, boolean shells) {
        long extras = m.u32(table + 16);
        if (extras == 0) {
            return;
        }
        long from = findExtra(extras, row), to = findExtra(extras, row + n);
        for (long i = from; i < to; i++) {
            long home = m.u32(m.u32(extras + 12) + 8 * i);
            if (shells) {
                freeShell(home);
            } else {
                freeObject(home);
            }
        }
        shut(extras, from, to - from);
    }

    /** Numbers the extras of rows again, from a row on. */
    @Override
    final void shiftExtras(long table, long from, long by) {
        long extras = m.u32(table + 16);
        if (extras != 0) {
            Read.Head c = col(extras);
            for (long i = findExtra(extras, from); i < c.count; i++) {
                add32(c.data + 8 * i + 4, by);
            }
        }
    }

    /** Gives the extras of rows their new numbers. */
    @Override
    final void arrangeExtras(long table, int[] places) {
        long extras = m.u32(table + 16);
        if (extras == 0) {
            return;
        }
        Read.Head c = col(extras);
        long[] all = LongStream.range(0, c.count).map(i -> m.u64(c.data + 8 * i))
            .map(x -> (long) places[(int) (x >>> 32)] << 32 | x & U32).sorted().toArray();
        for (int i = 0; i < all.length; i++) {
            m.put64(c.data + 8L * i, all[i]);
        }
    }

    // --- Maps

    /** Makes a map of a record, holes dropped. */
    private void toMap(long home, long block) {
        long shape = m.u32(block + 4);
        Node members = Node.container(TAG_OBJECT);
        for (int i = 0; i < m.u8(block + 2); i++) {
            Node value = liftCell(m.u8(block + 8 + tagAt(i)), block + 8 + cellAt(i));
            if (value.tag != TAG_NOTHING) {
                members.add(keyOf(shape, i), value);
            }
        }
        long at = alloc(MAP_SIZE);
        fillMap(at, members);
        relocate(home, block, recordSize(m.u8(block + 1)), at);
        freeShape(shape);
    }

    final Node liftCell(int tag, long cell) {
        return new Node(tag, m.u64(cell));
    }

    /** Makes a map of a block that was just taken. */
    private void fillMap(long at, Node members) {
        int n = members.items.size();
        beginColumn(at + MAP_VALUES, CODE_CELLS, 0, n, n);
        long values = m.u32(at + MAP_VALUES + 12), cells = alloc(8L * n);
        m.put8(at, KIND_MAP);
        m.put32(at + 4, n);
        m.put32(at + 16, n);
        m.put32(at + 20, cells);
        for (int i = 0; i < n; i++) {
            putCell(values + tagAt(i), values + cellAt(i), members.items.get(i));
            writeKey(cells + 8L * i, members.keys.get(i), true);
        }
        indexMap(at);
    }

    /** Gives the keys of a map another capacity. */
    private void moveKeys(long at, long used, long capacity) {
        long old = m.u32(at + 20), cells = alloc(8 * capacity);
        copy(cells, old, 8 * used);
        free(old, 8 * m.u32(at + 16));
        m.put32(at + 16, capacity);
        m.put32(at + 20, cells);
    }

    private void setEntry(long at, Key k, Node node) {
        Read.MapHead o = Read.map(m, at);
        int found = Read.find(m, o, k);
        if (found >= 0) {
            put(at + MAP_VALUES, found, node, false);
            return;
        }
        long capacity = m.u32(at + 16);
        if (o.used == capacity) {
            moveKeys(at, o.used, Math.max(8, capacity + capacity / 2));
        }
        insertSlots(at + MAP_VALUES, o.used, List.of(node));
        writeKey(m.u32(at + 20) + 8 * o.used, k, true);
        add32(at + 4, 1);
        long live = m.u32(at + 4), buckets = m.u32(at + 12);
        boolean crowded = live > 8 * buckets && buckets < MAX_BUCKETS;
        if (buckets > 0 ? crowded : o.used >= MAX_UNINDEXED && o.root == 0) {
            indexMap(at);
        } else {
            enter(at, o.used);
        }
    }

    private void removeEntry(long at, Key k) {
        Read.MapHead o = Read.map(m, at);
        long i = Read.find(m, o, k), live = m.u32(at + 4) - 1;
        leave(at, i);
        freeSpan(m.u64(o.keys + 8 * i));
        m.put64(o.keys + 8 * i, 0);
        m.put32(at + 4, live);
        if (i == o.used - 1) {
            while (i > 0 && m.u64(o.keys + 8 * (i - 1)) == 0) {
                i--;
            }
            closeSlots(at + MAP_VALUES, i, o.used - i);
        } else {
            put(at + MAP_VALUES, i, new Node(TAG_NULL, 0), false);
            if (o.used > 2 * live) {
                int[] order = new int[(int) live];
                int n = 0;
                for (int j = 0; j < o.used; j++) {
                    long key = m.u64(o.keys + 8L * j);
                    if (key != 0) {
                        m.put64(o.keys + 8L * n, key);
                        order[n++] = j;
                    }
                }
                zero(o.keys + 8 * live, 8 * (o.used - live));
                arrange(at + MAP_VALUES, order);
                indexMap(at);
            }
        }
        if (live == 0) {
            indexMap(at);
        }
        long used = m.u32(at + MAP_VALUES + 4);
        if (m.u32(at + 16) >= Math.max(64, 4 * used)) {
            moveKeys(at, used, Math.max(8, 2 * used)); // most of the room is given back
        }
    }

    // --- Indexes of maps

    /** Puts an entry into the indexes that a map has. */
    private void enter(long at, long entry) {
        boolean placed = place(at, entry);
        if (m.u32(at + 24) != 0) {
            growTree(at, entry);
        } else if (!placed) {
            indexMap(at);
        }
    }

    /** Takes an entry out of the indexes, while it still has its key. */
    private void leave(long at, long entry) {
        long hash = m.u32(at + 8) == 0 ? 0 : hashOf(at, entry);
        boolean found = false;
        for (int reach = 0; !found && reach < Math.min(16, m.u32(at + 12)); reach++) {
            long bucket = bucket(at, hash, reach);
            for (int i = 0; !found && i < BUCKET_PLACES; i++) {
                found = m.u8(bucket + i) == hash >>> 32 && m.u32(bucket + 16 + 4 * i) == entry;
                if (found) {
                    m.put8(bucket + i, 0);
                    m.put32(bucket + 16 + 4 * i, 0);
                }
            }
        }
        if (m.u32(at + 24) != 0) {
            shrinkTree(at, entry);
        }
    }

    private long hashOf(long at, long entry) {
        return Key.hash(spanBytes(m.u32(at + 20) + 8 * entry));
    }

    /** The bucket so far behind the one where a key is at home. */
    private long bucket(long at, long hash, int reach) {
        long first = m.u32(at + 8) + 63 & ~63, n = m.u32(at + 12);
        return first + BUCKET_SIZE * ((Read.bucketOf((int) hash, n) + reach) % n);
    }

    /** Gives an entry a place in the hash block, if the map has one; false if there is none. */
    private boolean place(long at, long entry) {
        if (m.u32(at + 8) == 0) {
            return true;
        }
        long hash = hashOf(at, entry), mark = bucket(at, hash, 0) + BUCKET_PLACES;
        for (int reach = 0; reach < Math.min(16, m.u32(at + 12)); reach++) {
            long bucket = bucket(at, hash, reach);
            for (int i = 0; i < BUCKET_PLACES; i++) {
                if (m.u8(bucket + i) == 0) {
                    m.put8(bucket + i, (int) (hash >>> 32));
                    m.put32(bucket + 16 + 4 * i, entry);
                    m.put8(mark, m.u8(mark) & 16 | Math.max(m.u8(mark) & 15, reach));
                    return true;
                }
            }
        }
        m.put8(mark, m.u8(mark) | 16);
        return false;
    }

    private void dropIndexes(long at) {
        if (m.u32(at + 8) != 0) {
            free(m.u32(at + 8), BUCKET_SIZE * m.u32(at + 12) + 56);
        }
        if (m.u32(at + 24) != 0) {
            freeTree(m.u32(at + 24));
        }
        m.put64(at + 8, 0);
        m.put32(at + 24, 0);
    }

    private void freeTree(long node) {
        for (int i = 0; m.u8(node) > 0 && i < m.u8(node + 1); i++) {
            freeTree(m.u32(node + 4 + 4 * i));
        }
        free(node, TREE_NODE_SIZE);
    }

    /**
     * Replaces the indexes of a map: by a hash block, and a tree where there was one or keys collide in the hash block.
     */
    private void indexMap(long at) {
        boolean all = m.u32(at + 24) == 0;
        dropIndexes(at);
        long live = m.u32(at + 4), used = m.u32(at + MAP_VALUES + 4), keys = m.u32(at + 20);
        if (used <= MAX_UNINDEXED) {
            return;
        }
        long buckets = Math.min(2 * ((live + 7) / 8), MAX_BUCKETS);
        long block = alloc(BUCKET_SIZE * buckets + 56);
        m.put32(at + 8, block);
        m.put32(at + 12, buckets);
        Long[] items = new Long[(int) live];
        int n = 0;
        for (long i = 0; i < used; i++) {
            if (m.u64(keys + 8 * i) != 0) {
                all = place(at, i) && all;
                items[n++] = i;
            }
        }
        if (all) {
            return;
        }
        Arrays.sort(items, (a, b) -> compareKeys(keys + 8 * a, keys + 8 * b));
        for (int level = 0; level == 0 || n > 1; level++) {
            int nodes = 0;
            for (int from = 0; from < n; from += TREE_NODE_ITEMS) {
                long node = alloc(TREE_NODE_SIZE);
                m.put8(node, level);
                for (int i = from; i < Math.min(n, from + TREE_NODE_ITEMS); i++) {
                    insertItem(node, i - from, items[i]);
                }
                items[nodes++] = node;
            }
            n = nodes;
        }
        m.put32(at + 24, items[0]);
    }

    private int compareKeys(long a, long b) {
        return Read.compare(m, a, spanBytes(b));
    }

    /** In a leaf the first item whose key is not before a key, in another node the one below which it would be. */
    private int search(long keys, long node, byte[] key) {
        boolean isLeaf = m.u8(node) == 0;
        int low = 0;
        for (int high = m.u8(node + 1); low < high;) {
            int middle = (low + high) >>> 1;
            if (Read.compare(m, keys + 8 * firstEntry(node, middle), key) < (isLeaf ? 0 : 1)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return isLeaf ? low : Math.max(low - 1, 0);
    }

    /** The first entry below an item of a node. */
    private long firstEntry(long node, int i) {
        long item = m.u32(node + 4 + 4 * i);
        return m.u8(node) == 0 ? item : firstEntry(item, 0);
    }

    private void insertItem(long node, int i, long item) {
        int n = m.u8(node + 1);
        copy(node + 8 + 4 * i, node + 4 + 4 * i, 4 * (n - i));
        m.put32(node + 4 + 4 * i, item);
        m.put8(node + 1, n + 1);
    }

    private void growTree(long at, long entry) {
        long root = m.u32(at + 24), keys = m.u32(at + 20), made = grow(keys, root, entry, spanBytes(keys + 8 * entry));
        if (made != 0) {
            long top = alloc(TREE_NODE_SIZE);
            m.put8(top, m.u8(root) + 1);
            insertItem(top, 0, root);
            insertItem(top, 1, made);
            m.put32(at + 24, top);
        }
    }

    /** Puts an entry below a node. If the node has no room, it splits: the new node behind it, else 0. */
    private long grow(long keys, long node, long entry, byte[] key) {
        int i = search(keys, node, key), n = m.u8(node + 1);
        long item = entry;
        if (m.u8(node) > 0) {
            item = grow(keys, m.u32(node + 4 + 4 * i++), entry, key);
        }
        if (item == 0 && m.u8(node) > 0) {
            return 0;
        }
        if (n < TREE_NODE_ITEMS) {
            insertItem(node, i, item);
            return 0;
        }
        // It splits at the end where the new item comes behind all others.
        int kept = i == n ? n : 32;
        long made = alloc(TREE_NODE_SIZE);
        m.put8(made, m.u8(node));
        m.put8(made + 1, n - kept);
        copy(made + 4, node + 4 + 4 * kept, 4 * (n - kept));
        zero(node + 4 + 4 * kept, 4 * (n - kept));
        m.put8(node + 1, kept);
        boolean behind = i > kept || kept == n;
        insertItem(behind ? made : node, behind ? i - kept : i, item);
        return made;
    }

    private void shrinkTree(long at, long entry) {
        long root = m.u32(at + 24), keys = m.u32(at + 20);
        if (shrink(keys, root, spanBytes(keys + 8 * entry))) {
            root = 0;
        }
        // A root that is left with one child is replaced by it.
        while (root != 0 && m.u8(root) != 0 && m.u8(root + 1) == 1) {
            long child = m.u32(root + 4);
            free(root, TREE_NODE_SIZE);
            root = child;
        }
        m.put32(at + 24, root);
    }

    /** Takes the entry of a key out of a node and those below. True if nothing is left, and the node was freed. */
    private boolean shrink(long keys, long node, byte[] key) {
        int i = search(keys, node, key), n = m.u8(node + 1) - 1;
        if (m.u8(node) > 0 && !shrink(keys, m.u32(node + 4 + 4 * i), key)) {
            return false;
        }
        m.put8(node + 1, n);
        copy(node + 4 + 4 * i, node + 8 + 4 * i, 4 * (n - i));
        m.put32(node + 4 + 4 * n, 0);
        if (n == 0) {
            free(node, TREE_NODE_SIZE);
        }
        return n == 0;
    }
}
