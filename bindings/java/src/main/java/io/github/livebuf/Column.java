package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;
import static io.github.livebuf.Layout.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The values at a path of keys in each element of an array; without a path, the elements themselves. Where the document
 * stores them as a column, they are read from there in one run. Where it does not, each is looked up, and the answers
 * are the same.
 *
 * <pre>{@code int[] ages = doc.root().get("users").column("age").toInts();}</pre>
 *
 * <p>A column is made by {@link Value#column} and {@link Value#tensor}. It is good until its document is changed. Its
 * methods convert as those of {@link Value}: integers into wider types and into floats, but a value that the type does
 * not hold is an exception of kind WRONG_TYPE, whose path says which one it is. A value that is null or missing is 0,
 * false or null in arrays; {@link #has} tells.
 */
public final class Column {
    private static final String[] TYPES = {
        "cells", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "text", "objects",
        "arrays", "null", "struct", "list", "fixed list", "numbers f32", "numbers f64", "marked f32", "marked f64",
        "dictionary u8", "dictionary u16", "text run", "date", "time", "date and time", "timestamp", "decimal", "uuid",
        "f16", "bool8",
    };

    private static final Key[] NO_PATH = {};

    private final Document doc;
    private final Mem m;
    private final Read.Head head; // of the column that has the values; with a path, of the elements
    private final Key[] path; // to the values below the elements; empty where head has them
    private final Key[] name; // the path that was asked for
    private final long first;
    private final int[] shape;
    private final int count;

    private Column(Document doc, Read.Head head, Key[] path, Key[] name, long first, long count, int[] shape) {
        this.doc = doc;
        this.m = doc.m;
        this.head = head;
        this.path = path;
        this.name = name;
        this.first = first;
        this.count = (int) count;
        this.shape = shape;
        if (first + count > head.count) {
            throw LivebufException.at(BAD_COUNT, head.at);
        }
    }

    /** The column at a path below an array's elements. */
    static Column of(Value array, String[] path) {
        if (array.form != Value.ARRAY) {
            throw array.wrong("an array");
        }
        Mem m = array.doc.m;
        Key[] keys = new Key[path.length];
        for (int i = 0; i < path.length; i++) {
            keys[i] = Key.of(path[i]);
        }
        Read.Head elements = Read.column(m, array.at);
        Read.Head c = elements;
        Key[] left = NO_PATH;
        for (Key key : keys) {
            int place = -1;
            if (c.code == CODE_STRUCT) {
                long table = Read.table(m, c.data);
                place = Read.findInShape(m, table >>> 32, table & 0xffff, key);
            }
            if (place < 0) { // it may still be among the extras of a few rows
                c = elements;
                left = keys;
                break;
            }
            c = Read.column(m, c.data + TABLE_SIZE + COLUMN_SIZE * place);
        }
        return new Column(array.doc, c, left, keys, array.first(), array.count(), new int[] {array.count()});
    }

    /** The numbers of a tensor. */
    static Column tensor(Value array) {
        if (array.form != Value.ARRAY) {
            throw array.wrong("a tensor");
        }
        Mem m = array.doc.m;
        Read.Head c = Read.column(m, array.at);
        if (!c.tensor) {
            throw LivebufException.of(WRONG_TYPE, "the array is no tensor: column reads it");
        }
        int[] shape = new int[MAX_DIMENSIONS];
        int dimensions = 1;
        long first = array.first();
        long count = array.count();
        for (shape[0] = (int) count; c.code == CODE_FIXED_LIST; dimensions++) {
            m.need(c.data, LIST_OFFSETS);
            long length = m.u32(c.data + 4);
            if (dimensions == MAX_DIMENSIONS) {
                throw LivebufException.at(NESTING_LIMIT, c.data);
            }
            Read.Head elements = Read.column(m, c.data + LIST_ELEMENTS);
            if (length == 0 || first + count > elements.count / length) {
                throw LivebufException.at(BAD_COUNT, c.data);
            }
            shape[dimensions] = (int) length;
            first *= length;
            count *= length;
            c = elements;
        }
        return new Column(array.doc, c, NO_PATH, NO_PATH, first, count, Arrays.copyOf(shape, dimensions));
    }

    /** How many values there are, those that are null or missing among them. */
    public int size() {
        return count;
    }

    /** The lengths of a tensor's dimensions, the outermost first; of other columns their size alone. */
    public int[] shape() {
        return shape.clone();
    }

    /** Value i, from 0 on; missing where there is none. */
    public Value get(int i) {
        if (i < 0 || i >= count) {
            return Value.MISSING;
        }
        Value v = Read.slot(doc, head, first + i);
        for (Key key : path) {
            v = v.get(key);
        }
        return v;
    }

    /** Whether value i is there and is not null. */
    public boolean has(int i) {
        if (path.length == 0 && head.code != CODE_CELLS && i >= 0 && i < count) {
            return Read.gap(m, head, first + i) == Read.HAS_VALUE;
        }
        Value v = get(i);
        return v.exists() && !v.isNull();
    }

    /** Whether all values are there because the column has no room for others. */
    public boolean hasAll() {
        return path.length == 0 && head.gaps == 0 && head.code != CODE_CELLS;
    }

    /** All values, each looked up. */
    public Stream<Value> stream() {
        return IntStream.range(0, count).mapToObj(this::get);
    }

    /**
     * How the document stores the values, by the names of FORMAT 6.1, such as "i32"; "cells" where they are in no
     * column.
     */
    public String type() {
        return TYPES[path.length > 0 ? CODE_CELLS : head.code];
    }

    /**
     * The keys of the elements, where these are objects that are stored by columns: first the keys of the columns, of
     * which not each has a value, then those that few elements have beside them. Empty where the elements are stored
     * otherwise. O(columns), and O(elements with other members than those).
     */
    public List<String> keys() {
        if (path.length > 0 || head.code != CODE_STRUCT) {
            return List.of();
        }
        Set<String> keys = new LinkedHashSet<>();
        long table = Read.table(m, head.data);
        long shape = Read.shape(m, table >>> 32);
        if ((table & 0xffff) > shape >>> 32) {
            throw LivebufException.at(BAD_COUNT, head.data);
        }
        for (int i = 0; i < (table & 0xffff); i++) {
            long span = Read.span(m, (shape & U32) + 8L * i);
            keys.add(m.text(span & U32, span >>> 32));
        }
        long others = m.u32(head.data + 16);
        if (others != 0) {
            Read.Head c = Read.column(m, others);
            m.need(c.data, 8 * c.count);
            for (long i = 0; i < c.count; i++) {
                Read.object(doc, m.u64(c.data + 8 * i) & U32).keys().forEach(keys::add);
            }
        }
        return List.copyOf(keys);
    }

    /**
     * The texts of a column whose {@link #type} is a dictionary. Its {@link #slots} are their numbers, of one byte or
     * two.
     *
     * @throws LivebufException of kind WRONG_TYPE if the values are stored otherwise
     */
    public Column dictionary() {
        if (path.length > 0 || !isDictionary(head.code)) {
            throw LivebufException.of(WRONG_TYPE, "the values are stored as %s, and have no dictionary", type());
        }
        Read.Head texts = Read.dictionary(m, head);
        return new Column(doc, texts, NO_PATH, NO_PATH, 0, texts.count, new int[] {(int) texts.count});
    }

    /**
     * The slots of a column of numbers, dates, times, timestamps, UUIDs or a dictionary where they lie in the document:
     * one behind the other, little-endian, as FORMAT 6.1 has them by their {@link #type}; slots without a value are 0.
     * The buffer cannot be changed.
     *
     * @throws LivebufException of kind WRONG_TYPE if the values are stored otherwise
     */
    public ByteBuffer slots() {
        if (!isPlain() && (path.length > 0 || !isDictionary(head.code))) {
            throw LivebufException.of(WRONG_TYPE, "the values are stored as %s, and are no run of numbers", type());
        }
        return run().asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Whether each slot is a number that stands for its value. */
    private boolean isPlain() {
        int code = head.code;
        return path.length == 0 && (code >= CODE_I8 && code <= CODE_F64 || isNumbers(code) || code >= CODE_DATE);
    }

    private ByteBuffer run() {
        long width = width(head.code);
        long start = head.values + width * first;
        if (!m.reaches(start, width * count)) {
            throw LivebufException.at(OUT_OF_BOUNDS, head.at);
        }
        return m.slice(start, width * count);
    }

    private boolean isFloat(int width) {
        return isPlain() && columnTag(head.code) == TAG_FLOAT && width(head.code) == width;
    }

    /** The values as integers. O(n). */
    public long[] toLongs() {
        long[] all = allocate(() -> new long[count]);
        if (isPlain() && head.code >= CODE_I8 && head.code <= CODE_U32) {
            ByteBuffer b = run();
            switch (head.code) {
                case CODE_I8 -> fill(all, b::get);
                case CODE_I16 -> fill(all, i -> b.getShort(2 * i));
                case CODE_I32 -> {
                    int[] narrow = toInts();
                    fill(all, i -> narrow[i]);
                }
                case CODE_U8 -> fill(all, i -> b.get(i) & 0xff);
                case CODE_U16 -> fill(all, i -> b.getShort(2 * i) & 0xffff);
                case CODE_U32 -> fill(all, i -> b.getInt(4 * i) & U32);
                default -> b.asLongBuffer().get(all);
            }
            return all;
        }
        each((i, v) -> all[i] = v.asLong());
        return all;
    }

    /** The values as integers that int holds. O(n). */
    public int[] toInts() {
        int[] all = allocate(() -> new int[count]);
        if (isPlain() && head.code == CODE_I32) {
            run().asIntBuffer().get(all);
        } else if (isPlain() && head.code >= CODE_I8 && head.code <= CODE_U16 && head.code != CODE_I64) {
            long[] wide = toLongs();
            for (int i = 0; i < count; i++) {
                all[i] = (int) wide[i];
            }
        } else {
            each((i, v) -> all[i] = v.asInt());
        }
        return all;
    }

    /** The values as doubles. O(n). */
    public double[] toDoubles() {
        double[] all = allocate(() -> new double[count]);
        if (isFloat(8)) {
            run().asDoubleBuffer().get(all);
        } else if (isFloat(4)) {
            float[] narrow = toFloats();
            for (int i = 0; i < count; i++) {
                all[i] = narrow[i];
            }
        } else if (isPlain() && head.code >= CODE_I8 && head.code <= CODE_U32) {
            long[] whole = toLongs();
            for (int i = 0; i < count; i++) {
                all[i] = whole[i];
            }
        } else {
            each((i, v) -> all[i] = v.asDouble());
        }
        return all;
    }

    /** The values as floats of 32 bits, which must hold them exactly. O(n). */
    public float[] toFloats() {
        float[] all = allocate(() -> new float[count]);
        if (isFloat(4)) {
            run().asFloatBuffer().get(all);
        } else {
            each((i, v) -> {
                double x = v.asDouble();
                all[i] = (float) x;
                if (x == x && all[i] != x) {
                    throw v.wrong("a number that float holds");
                }
            });
        }
        return all;
    }

    /** The values as booleans. O(n). */
    public boolean[] toBooleans() {
        boolean[] all = allocate(() -> new boolean[count]);
        each((i, v) -> all[i] = v.asBoolean());
        return all;
    }

    /** The values as texts; those that are null or missing are null. A text of a dictionary is made once. O(n). */
    public @Nullable String[] toTexts() {
        return toArray(String[]::new, Value::asText);
    }

    /**
     * The values as objects of any type; those that are null or missing are null. O(n).
     *
     * <pre>{@code LocalDate[] days = column.toArray(LocalDate[]::new, Value::asDate);}</pre>
     *
     * @param array makes the array
     * @param item makes an object of a value
     */
    public <T> @Nullable T[] toArray(IntFunction<@Nullable T[]> array, Function<Value, ? extends @Nullable T> item) {
        @Nullable T[] all = allocate(() -> array.apply(count));
        Map<Long, T> made = path.length == 0 && isDictionary(head.code) ? new HashMap<>() : null;
        long[] left = {TEXT_PER_BYTE * m.size}; // bytes of texts that may be made (FORMAT 11)
        each((i, v) -> {
            if (made == null) {
                if (v.tag >= TAG_TEXT && v.tag < TAG_OBJECT && (left[0] -= v.bits) < 0) {
                    throw LivebufException.at(BUDGET_EXCEEDED, v.at);
                }
                all[i] = item.apply(v);
            } else {
                all[i] = made.computeIfAbsent(v.bits << 32 | v.at, name -> item.apply(v));
            }
        });
        return all;
    }

    private interface Item {
        void set(int i, Value v);
    }

    /** Looks at each value that is there. */
    private void each(Item item) {
        int i = 0;
        try {
            for (; i < count; i++) {
                Value v = get(i);
                if (v.tag > TAG_NULL) {
                    item.set(i, v);
                }
            }
        } catch (LivebufException e) {
            StringBuilder at = new StringBuilder("/").append(i);
            for (Key key : name) {
                Encoder.step(at, key.toString());
            }
            throw e.withPath(at.toString());
        }
    }

    private static void fill(long[] all, IntToLongFunction item) {
        for (int i = 0; i < all.length; i++) {
            all[i] = item.applyAsLong(i);
        }
    }

    /** A column of nulls takes a bit for each, so damaged bytes may ask for very much memory. */
    private static <T> T allocate(Supplier<T> array) {
        try {
            return array.get();
        } catch (OutOfMemoryError e) {
            throw LivebufException.of(BUDGET_EXCEEDED, "there is no memory for the column");
        }
    }
}
