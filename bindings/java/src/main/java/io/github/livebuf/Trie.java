package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Keys and key lists: a trie while the document is encoded, shapes at its end (PROFILE 5). */
final class Trie {
    private static final int MOST_WIDE_LISTS = 1 << 20; // lists of more than 255 keys that an outermost array makes
    private static final int FEW_CHILDREN = 8; // longer lists up to which they are searched one by one
    private static final int KEPT_KEYS = 4096; // keys that are kept for the next document
    private static final int MOST_ORDERED = 128; // columns of rows with orders of their own

    /** A key of a document. */
    static final class Name {
        final byte[] bytes;
        final int hash;
        private final Key key;
        boolean isPlain = true; // JSON has it as it is, without escapes
        private String text;
        private int written; // where its text was written in the document of this turn
        private int turn;
        private int merge; // the merge that it was met in last, and its number there
        private int number;

        Name(byte[] bytes, int hash) {
            this.bytes = bytes;
            this.hash = hash;
            key = Key.forShapes(bytes);
            for (byte c : bytes) {
                isPlain &= (c < 0 || c >= ' ') && c != '"' && c != '\\';
            }
        }

        String text() {
            if (text == null) {
                text = new String(bytes, StandardCharsets.UTF_8);
            }
            return text;
        }

        boolean is(byte[] other, int start, int length) {
            if (length != bytes.length) {
                return false;
            }
            if (length <= 7 && start <= other.length - 8) {
                return (Mem.get64(other, start) ^ key.cell) << 8 * (7 - length) << 8 == 0;
            }
            if (length > 7 && length <= 16) { // by two words, which may overlap
                return Mem.get64(other, start) == Mem.get64(bytes, 0)
                    && Mem.get64(other, start + length - 8) == Mem.get64(bytes, length - 8);
            }
            return Arrays.equals(bytes, 0, length, other, start, start + length);
        }
    }

    // What is known of a list of keys is in these words from list * SIZE on. It has the keys of the list before, and
    // one more. List 0 has no keys, and stands for none elsewhere.
    private static final int PARENT = 0;
    private static final int CHILD = 1; // the longer list most lately taken
    private static final int NEEDED = 2; // while shapes are written: the first longer list that is needed
    private static final int NEWEST = 3; // of the longer lists; each has the one that was added before
    private static final int SIBLING = 4;
    private static final int CHILDREN = 5;
    private static final int KEY = 6; // the last key
    private static final int DEPTH = 7;
    private static final int USERS = 8;
    private static final int LATEST = 9; // the record or table of this list that was written last
    private static final int PLAN = 10; // the plan of a table that it was met in last, and its number there
    private static final int NUMBER = 11;
    private static final int SIZE = 12;

    private final List<Name> names = new ArrayList<>();
    private int[] known = new int[64]; // numbers of keys, and 1, by their hashes
    private int[] lists = new int[64 * SIZE];
    private int count;
    private final Map<Long, Integer> many = new HashMap<>(); // longer lists by list and key, of lists that have many
    private int wide; // lists of more than 255 keys since the outermost array began
    private int turn;
    private int merges;
    private int plans;
    private int stepKey;

    void begin() {
        if (names.size() > KEPT_KEYS) {
            names.clear();
            known = new int[64];
        }
        count = 0;
        many.clear();
        newList(0, 0, 0, 0);
        wide = 0;
        turn++;
    }

    /** Bytes of memory. */
    long memory() {
        return 4L * (lists.length + known.length);
    }

    /** Begins an outermost array. */
    void beginOutermost() {
        wide = 0;
    }

    Name name(int key) {
        return names.get(key);
    }

    int depth(int list) {
        return lists[list * SIZE + DEPTH];
    }

    boolean isWide(int list) {
        return depth(list) > MAX_FIELDS;
    }

    int lastKey(int list) {
        return lists[list * SIZE + KEY];
    }

    /** The longer list most lately taken; 0 where there is none. */
    int child(int list) {
        return lists[list * SIZE + CHILD];
    }

    /**
     * Says that a longer list is taken. From the last key of a record on none is expected: what waits may become a row,
     * and what stands by itself a map.
     */
    void take(int list, int child) {
        if (depth(list) != MAX_FIELDS) {
            lists[list * SIZE + CHILD] = child;
        }
    }

    /** The number of a key's text. */
    int key(byte[] text, int start, int length) {
        if (2 * names.size() >= known.length) {
            known = new int[4 * known.length];
            for (int i = 0; i < names.size(); i++) {
                int at = names.get(i).hash & known.length - 1;
                while (known[at] != 0) {
                    at = at + 1 & known.length - 1;
                }
                known[at] = i + 1;
            }
        }
        int hash = Texts.hash(text, start, length);
        int at = hash & known.length - 1;
        for (; known[at] != 0; at = at + 1 & known.length - 1) {
            Name name = names.get(known[at] - 1);
            if (name.hash == hash && name.is(text, start, length)) {
                return known[at] - 1;
            }
        }
        names.add(new Name(Arrays.copyOfRange(text, start, start + length), hash));
        known[at] = names.size();
        return names.size() - 1;
    }

    private static long pair(int list, int key) {
        return (long) list << 32 | key;
    }

    /** A list with one key more, if it was met; else 0. */
    int find(int list, int key) {
        if (lists[list * SIZE + CHILDREN] > FEW_CHILDREN) {
            return many.getOrDefault(pair(list, key), 0);
        }
        int child = lists[list * SIZE + NEWEST];
        while (child != 0 && lists[child * SIZE + KEY] != key) {
            child = lists[child * SIZE + SIBLING];
        }
        return child;
    }

    /** As find, for a key's text, whose number stepKey then has. */
    int step(int list, byte[] text, int start, int length) {
        if (lists[list * SIZE + CHILDREN] <= FEW_CHILDREN) {
            for (int next = lists[list * SIZE + NEWEST]; next != 0; next = lists[next * SIZE + SIBLING]) {
                stepKey = lists[next * SIZE + KEY];
                if (names.get(stepKey).is(text, start, length)) {
                    return next;
                }
            }
            stepKey = key(text, start, length);
            return 0;
        }
        stepKey = key(text, start, length);
        return find(list, stepKey);
    }

    /** The key of the last step. */
    int stepKey() {
        return stepKey;
    }

    /** Adds a list with one key more; 0 where there is no room for longer lists. */
    int longer(int list, int key) {
        return depth(list) >= MAX_FIELDS && ++wide > MOST_WIDE_LISTS ? 0 : add(list, key);
    }

    private int newList(int parent, int key, int depth, int sibling) {
        int at = count * SIZE;
        if (at + (long) SIZE > lists.length) {
            lists = Arrays.copyOf(lists, Output.capacity(lists.length, at + (long) SIZE));
        }
        Arrays.fill(lists, at, at + SIZE, 0);
        lists[at + PARENT] = parent;
        lists[at + KEY] = key;
        lists[at + DEPTH] = depth;
        lists[at + SIBLING] = sibling;
        return count++;
    }

    private int add(int list, int key) {
        int child = newList(list, key, depth(list) + 1, lists[list * SIZE + NEWEST]);
        lists[list * SIZE + NEWEST] = child;
        int children = ++lists[list * SIZE + CHILDREN];
        if (children > FEW_CHILDREN) {
            // Once there are many, all others are there already.
            for (int each = child; each != 0; each = children > FEW_CHILDREN + 1 ? 0 : lists[each * SIZE + SIBLING]) {
                many.put(pair(list, lists[each * SIZE + KEY]), each);
            }
        }
        return child;
    }

    /** Whether a list has a key. */
    boolean has(int list, int key) {
        for (; list != 0; list = lists[list * SIZE + PARENT]) {
            if (lists[list * SIZE + KEY] == key) {
                return true;
            }
        }
        return false;
    }

    /** The keys of a list, in their order. */
    int[] keysOf(int list) {
        int[] keys = new int[depth(list)];
        for (int i = keys.length; --i >= 0; list = lists[list * SIZE + PARENT]) {
            keys[i] = lists[list * SIZE + KEY];
        }
        return keys;
    }

    /** The list of these keys, which may be new. */
    int listOf(int[] keys) {
        int list = 0;
        for (int key : keys) {
            int next = find(list, key);
            list = next != 0 ? next : add(list, key);
        }
        return list;
    }

    // --- plans of tables

    /** Begins to number the lists that are met in a plan. */
    void beginPlan() {
        plans++;
    }

    /** Whether a list is met for the first time in this plan; it then has a number. */
    boolean isNew(int list, int number) {
        int at = list * SIZE;
        if (lists[at + PLAN] == plans) {
            return false;
        }
        lists[at + PLAN] = plans;
        lists[at + NUMBER] = number;
        return true;
    }

    /** The number of a list that was met in this plan. */
    int number(int list) {
        return lists[list * SIZE + NUMBER];
    }

    /**
     * Merges key lists into one of all their keys. The orders become the places of each list's keys in it. Null where
     * there are more than so many keys, or more than 128 in lists that contradict each other.
     */
    int[] merge(int[] met, int lists, int most, int[][] orders) {
        merges++;
        int[] keys = new int[16];
        int[] before = new int[16]; // keys that a key follows; -1 once it is placed
        int[] first = new int[16]; // by the number of a key: the first of those that follow it, and 1
        int[] to = new int[16]; // of each pair of a key and one that follows it: that one, and the next pair
        int[] next = new int[16];
        int width = 0;
        int pairs = 0;
        for (int i = 0; i < lists; i++) {
            int[] order = orders[i] = keysOf(met[i]);
            for (int j = 0; j < order.length; j++) {
                Name name = names.get(order[j]);
                if (name.merge != merges) {
                    if (width >= most) {
                        return null;
                    }
                    if (width == keys.length) {
                        keys = Arrays.copyOf(keys, 2 * width);
                        before = Arrays.copyOf(before, 2 * width);
                        first = Arrays.copyOf(first, 2 * width);
                    }
                    name.merge = merges;
                    name.number = width;
                    keys[width++] = order[j];
                }
                order[j] = name.number;
                if (j > 0) {
                    if (pairs == to.length) {
                        to = Arrays.copyOf(to, 2 * pairs);
                        next = Arrays.copyOf(next, 2 * pairs);
                    }
                    to[pairs] = name.number;
                    next[pairs] = first[order[j - 1]];
                    first[order[j - 1]] = ++pairs;
                    before[name.number]++;
                }
            }
        }
        BitSet free = new BitSet(width); // keys that follow no key that is left
        for (int number = 0; number < width; number++) {
            free.set(number, before[number] == 0);
        }
        int[] place = new int[width];
        int[] merged = new int[width];
        for (int i = 0; i < width; i++) {
            int least = free.nextSetBit(0);
            if (least < 0) {
                if (width > MOST_ORDERED) {
                    return null;
                }
                for (least = 0; before[least] < 0; least++) {}
            }
            free.clear(least);
            before[least] = -1;
            place[least] = i;
            merged[i] = keys[least];
            for (int pair = first[least]; pair != 0; pair = next[pair - 1]) {
                int follower = to[pair - 1];
                if (before[follower] > 0 && --before[follower] == 0) {
                    free.set(follower);
                }
            }
        }
        for (int i = 0; i < lists; i++) {
            for (int j = 0; j < orders[i].length; j++) {
                orders[i][j] = place[orders[i][j]];
            }
        }
        return merged;
    }

    // --- shapes

    /** Notes that a record or table of a list is at an offset. */
    void use(Output out, int block, int list) {
        int at = list * SIZE;
        out.put32(block + 4, lists[at + LATEST]);
        lists[at + LATEST] = block;
        lists[at + USERS]++;
    }

    /** Writes a shape for each leaf that has users, and tells the users. The newest shape. */
    int writeShapes(Output out) {
        // Longer lists come behind those that they begin with: so the first one that is needed is found last.
        for (int i = count - 1; i > 0; i--) {
            int at = i * SIZE;
            if (!isWide(i) && (lists[at + LATEST] != 0 || lists[at + NEEDED] != 0)) {
                lists[lists[at + PARENT] * SIZE + NEEDED] = i;
            }
        }
        int newest = 0;
        for (int i = 1; i < count; i++) {
            if (lists[i * SIZE + NEEDED] != 0 || lists[i * SIZE + LATEST] == 0) {
                continue;
            }
            newest = writeShape(out, i, newest);
            long users = 0;
            for (int list = i; ; ) {
                int at = list * SIZE;
                users += lists[at + USERS];
                for (int user = lists[at + LATEST]; user != 0; ) {
                    int earlier = out.mem.i32(user + 4);
                    out.put32(user + 4, newest);
                    user = earlier;
                }
                // A wide shape serves its own list alone.
                int parent = lists[at + PARENT];
                if (parent == 0 || lists[parent * SIZE + NEEDED] != list) {
                    break;
                }
                list = parent;
            }
            if (users == 1) {
                out.put8(newest + 3, 1);
            }
        }
        return newest;
    }

    private int writeShape(Output out, int leaf, int older) {
        int[] keys = keysOf(leaf);
        int n = keys.length;
        for (int key : keys) {
            Name name = names.get(key);
            if (name.bytes.length > 7 && name.turn != turn) {
                name.written = out.append(name.bytes, 0, name.bytes.length);
                name.turn = turn;
            }
        }
        out.align();
        boolean isWide = n > MAX_FIELDS;
        int shape = out.grow(isWide ? wideShapeSize(n) : shapeSize(n));
        int cells = shape + (int) word(isWide ? 16 + 2L * n : 8L + n);
        if (isWide) {
            out.put8(shape, KIND_WIDE_SHAPE);
            out.put32(shape + 8, n);
            Integer[] order = new Integer[n];
            Arrays.setAll(order, i -> i);
            Arrays.sort(order, (a, b) -> Arrays.compareUnsigned(names.get(keys[a]).bytes, names.get(keys[b]).bytes));
            for (int i = 0; i < n; i++) {
                out.put16(shape + 16 + 2 * i, order[i]);
            }
        } else {
            out.put32(shape, KIND_SHAPE | n << 8 | n << 16);
        }
        out.put32(shape + 4, older);
        for (int i = 0; i < n; i++) {
            Name name = names.get(keys[i]);
            if (!isWide) {
                out.put8(shape + 8 + i, name.key.fingerprint);
            }
            int length = name.bytes.length;
            out.put64(cells + 8 * i, length <= 7 ? name.key.cell : Output.spanCell(name.written, length, false));
        }
        return shape;
    }
}
