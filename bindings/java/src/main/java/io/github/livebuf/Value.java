package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;
import static io.github.livebuf.Layout.*;

import java.lang.invoke.VarHandle;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A value of a document. It is small and refers to the document's bytes, of which it copies nothing. What is asked of a
 * value that is missing is missing, too, so calls can be chained:
 *
 * <pre>{@code String name = doc.root().get("users").get(0).get("name").asText();}</pre>
 *
 * <p>Every method throws a {@link LivebufException} with the kind of damage where the document is damaged. The methods
 * whose names begin with "as" throw one of kind NOT_FOUND where the value is missing, and of kind WRONG_TYPE where it
 * is of another type or does not fit.
 *
 * <p>A value is good until its document is changed. Afterwards it may be another one, so that neither an editor nor an
 * encoder takes it, but reading it does no harm.
 */
public final class Value {
    // Forms of values: where they are.
    static final int SCALAR = 0; // bits holds the cell, or at and bits a span
    static final int RECORD = 1; // at is the record, bits its first 8 bytes
    static final int MAP = 2; // at is the map
    static final int ROW = 3; // at and home are the table, row is the row, bits the shape and the count of columns
    static final int ARRAY = 4; // at is the header of the elements' column, bits the first one and how many

    static final int NOT_IN_LIST = -1; // the row of an array that has a home

    /** The value that is not there. */
    static final Value MISSING = new Value(null, 0, 0, 0, 0, TAG_NOTHING, SCALAR);

    // They change in the value of a cursor, and in no other one.
    Document doc; // null only in MISSING
    int at;
    int home; // that of a node; of a row or an array in a list its table or list
    long bits;
    int row; // of a row, or of an array in a list
    byte tag;
    byte form;

    Value(Document doc, int at, int home, long bits, int row, int tag, int form) {
        set(doc, at, home, bits, row, tag, form);
        VarHandle.storeStoreFence(); // other threads see no value that is half made, as for final fields
    }

    /** A value that is found: a new one, or `into`, which becomes it. */
    static Value in(Value into, Document doc, int at, int home, long bits, int row, int tag, int form) {
        if (into == null) {
            return new Value(doc, at, home, bits, row, tag, form);
        }
        into.set(doc, at, home, bits, row, tag, form);
        return into;
    }

    private void set(Document doc, int at, int home, long bits, int row, int tag, int form) {
        this.doc = doc;
        this.at = at;
        this.home = home;
        this.bits = bits;
        this.row = row;
        this.tag = (byte) tag;
        this.form = (byte) form;
    }

    // --- what the other classes of this package ask for

    /** The first element of an array in its column. */
    long first() {
        return bits & U32;
    }

    /** How many elements an array has. */
    int count() {
        return (int) (bits >>> 32);
    }

    /** The offset of the shape of a record or a row. */
    long shape() {
        return bits >>> 32;
    }

    /** How many keys of its shape a record or a row uses. */
    int fields() {
        return (int) (form == RECORD ? bits >> 16 & 0xff : bits & 0xffff);
    }

    /** A copy of the bytes of a span. */
    byte[] spanBytes() {
        return doc.m.copy(at, bits);
    }

    private String spanText() {
        return doc.m.text(at, bits);
    }

    /** The error of a value that is not of the type that was asked for. */
    LivebufException wrong(String wanted) {
        if (tag == TAG_NOTHING) {
            return LivebufException.of(NOT_FOUND);
        }
        return LivebufException.of(WRONG_TYPE, "the value is %s, and not %s", kind().title, wanted);
    }

    // --- what it is

    /** What the value is. */
    public Kind kind() {
        return Kind.of(tag);
    }

    /** Whether there is a value. Null is one. */
    public boolean exists() {
        return tag != TAG_NOTHING;
    }

    /** Whether the value is null. */
    public boolean isNull() {
        return tag == TAG_NULL;
    }

    /** Whether the value is an object. */
    public boolean isObject() {
        return tag == TAG_OBJECT;
    }

    /** Whether the value is an array. */
    public boolean isArray() {
        return tag == TAG_ARRAY;
    }

    // --- scalars

    /** The value of a boolean. */
    public boolean asBoolean() {
        if (tag != TAG_TRUE && tag != TAG_FALSE) {
            throw wrong("a boolean");
        }
        return tag == TAG_TRUE;
    }

    /** An integer that an int holds. Floats are none, whole ones neither. */
    public int asInt() {
        if (tag != TAG_INT || (int) bits != bits) {
            throw wrong("an integer that int holds");
        }
        return (int) bits;
    }

    /** An integer that a long holds. Floats are none, whole ones neither. */
    public long asLong() {
        if (tag != TAG_INT) {
            throw wrong("an integer that long holds");
        }
        return bits;
    }

    /** An integer of any size. Floats are none, whole ones neither. */
    public BigInteger asBigInteger() {
        switch (tag) {
            case TAG_INT:
                return BigInteger.valueOf(bits);
            case TAG_UINT:
                return new BigInteger(Long.toUnsignedString(bits));
            case TAG_NUMBER_TEXT:
                String text = spanText();
                if (Json.isNumber(doc.m, at, bits) && text.chars().allMatch(c -> c == '-' || c >= '0' && c <= '9')) {
                    checkDigits(bits);
                    return new BigInteger(text);
                }
                break;
            default:
        }
        throw wrong("an integer");
    }

    /** A number: a float as it is, any other rounded to the nearest double. */
    public double asDouble() {
        switch (tag) {
            case TAG_FLOAT:
                return Double.longBitsToDouble(bits);
            case TAG_INT:
                return bits;
            case TAG_UINT:
                return Json.unsignedToDouble(bits);
            case TAG_NUMBER_TEXT:
                if (Json.isNumber(doc.m, at, bits)) {
                    double x = Double.parseDouble(spanText());
                    if (!Double.isInfinite(x)) {
                        return x;
                    }
                }
                break;
            default:
        }
        throw wrong("a number that double holds");
    }

    /**
     * Any number as a decimal, exactly as it is printed. The scale of a decimal is kept: 1.5 and 1.50 are two values.
     */
    public BigDecimal asBigDecimal() {
        switch (tag) {
            case TAG_INT:
                return BigDecimal.valueOf(bits);
            case TAG_UINT:
                return new BigDecimal(asBigInteger());
            case TAG_FLOAT:
                double x = asDouble();
                if (Double.isFinite(x)) {
                    return new BigDecimal(Json.floatText(x));
                }
                break;
            case TAG_NUMBER_TEXT:
                if (Json.isNumber(doc.m, at, bits)) {
                    checkDigits(bits);
                    try {
                        return new BigDecimal(spanText());
                    } catch (NumberFormatException e) {
                        throw wrong("a number whose exponent BigDecimal holds");
                    }
                }
                break;
            case TAG_DECIMAL:
                return BigDecimal.valueOf(bits >> 8, (int) bits & 0xff);
            case TAG_LARGE_DECIMAL:
                byte[] coefficient = new byte[16];
                for (int i = 0; i < 16; i++) {
                    coefficient[i] = (byte) doc.m.u8(at + 15 - i);
                }
                return new BigDecimal(new BigInteger(coefficient), doc.m.u8(at + 16));
            default:
        }
        throw wrong("a number");
    }

    /** Numbers of very many digits would take time by the square of their length. */
    private static void checkDigits(long count) {
        if (count > 100_000) {
            throw LivebufException.of(BUDGET_EXCEEDED, "a number has more than 100,000 digits: numberText has it");
        }
    }

    /** Any number as its text in JSON, exactly. */
    public String numberText() {
        switch (tag) {
            case TAG_INT, TAG_UINT, TAG_FLOAT, TAG_NUMBER_TEXT, TAG_DECIMAL, TAG_LARGE_DECIMAL:
                return toJson();
            default:
                throw wrong("a number");
        }
    }

    /** A text. If the document was not validated and it is no UTF-8, it has U+FFFD in place of what is none. */
    public String asText() {
        if (tag != TAG_TEXT) {
            throw wrong("a text");
        }
        return spanText();
    }

    /** The UTF-8 of a text where it lies in the document; it cannot be changed. */
    public ByteBuffer textBuffer() {
        if (tag != TAG_TEXT) {
            throw wrong("a text");
        }
        return doc.m.slice(at, bits).asReadOnlyBuffer();
    }

    /** A copy of a byte string. */
    public byte[] asBytes() {
        if (tag != TAG_BYTES) {
            throw wrong("a byte string");
        }
        return spanBytes();
    }

    /** A byte string where it lies in the document; it cannot be changed. */
    public ByteBuffer bytesBuffer() {
        if (tag != TAG_BYTES) {
            throw wrong("a byte string");
        }
        return doc.m.slice(at, bits).asReadOnlyBuffer();
    }

    /** A timestamp. */
    public Instant asInstant() {
        if (tag != TAG_TIMESTAMP) {
            throw wrong("a timestamp");
        }
        return dateTime(bits).toInstant(ZoneOffset.UTC);
    }

    /** A date. */
    public LocalDate asDate() {
        if (tag != TAG_DATE) {
            throw wrong("a date");
        }
        return LocalDate.ofEpochDay(bits);
    }

    /** A time of day. */
    public LocalTime asTime() {
        if (tag != TAG_TIME) {
            throw wrong("a time of day");
        }
        return LocalTime.ofNanoOfDay(bits * 1000);
    }

    /** A date and time of a time zone that is not known. */
    public LocalDateTime asDateTime() {
        if (tag != TAG_DATE_TIME) {
            throw wrong("a date and time");
        }
        return dateTime(bits);
    }

    private static LocalDateTime dateTime(long micros) {
        long seconds = Math.floorDiv(micros, 1_000_000);
        return LocalDateTime.ofEpochSecond(seconds, (int) (micros - seconds * 1_000_000) * 1000, ZoneOffset.UTC);
    }

    /** A UUID. */
    public UUID asUuid() {
        if (tag != TAG_UUID) {
            throw wrong("a UUID");
        }
        return new UUID(Long.reverseBytes(doc.m.u64(at)), Long.reverseBytes(doc.m.u64(at + 8)));
    }

    // --- objects and arrays

    /**
     * The member of an object that has a key. It is missing where there is none, or the value is no object. It takes
     * the same time in objects of any size; in rows of tables of more than 255 columns it is O(log n).
     */
    public Value get(String key) {
        return form == SCALAR || form == ARRAY ? MISSING : Read.member(this, Key.forShapes(key));
    }

    /** The same with a key that was prepared once. */
    public Value get(Key key) {
        return Read.member(this, key);
    }

    /** Element i of an array. It is missing where there is none, or the value is no array. */
    public Value get(int i) {
        if (form != ARRAY || i < 0 || i >= count()) {
            return MISSING;
        }
        return Read.slot(doc, at, first() + i, null);
    }

    /**
     * How many elements an array or members an object has; 0 for other values. It looks at all columns of an object
     * that is the row of a table, and takes the same time for all others.
     */
    public int size() {
        switch (form) {
            case ARRAY:
                return count();
            case RECORD:
                return (int) (bits >> 24 & 0xff);
            case MAP:
                return (int) Math.min(doc.m.u32(at + 4), MAX_ELEMENTS);
            case ROW:
                int n = 0;
                for (Read.Members it = new Read.Members(this); it.next();) {
                    n++;
                }
                return n;
            default:
                return 0;
        }
    }

    /**
     * The value at a JSON pointer (RFC 6901), such as {@code "/users/0/name"}. The empty pointer leads to the value
     * itself. It is missing where there is none.
     *
     * @throws LivebufException of kind BAD_POINTER if the pointer is none
     */
    public Value pointer(String pointer) {
        Value v = this;
        for (String step : pointerSteps(pointer)) {
            v = v.form == ARRAY ? v.get(pointerIndex(step)) : v.get(step);
        }
        return v;
    }

    /** The steps of a pointer, in which ~0 and ~1 are what they stand for. */
    static List<String> pointerSteps(String pointer) {
        List<String> steps = new ArrayList<>();
        for (int start = 0; start < pointer.length();) {
            int end = pointer.indexOf('/', start + 1);
            end = end < 0 ? pointer.length() : end;
            String step = pointer.substring(start + 1, end);
            if (pointer.charAt(start) != '/') {
                throw LivebufException.of(BAD_POINTER);
            }
            for (int i = step.indexOf('~'); i >= 0; i = step.indexOf('~', i + 1)) {
                if (i + 1 == step.length() || step.charAt(i + 1) != '0' && step.charAt(i + 1) != '1') {
                    throw LivebufException.of(BAD_POINTER);
                }
            }
            step = step.replace("~1", "/").replace("~0", "~");
            steps.add(step);
            start = end;
        }
        return steps;
    }

    /** The index that a step of a pointer names, or -1. */
    static int pointerIndex(String step) {
        if (step.isEmpty() || step.length() > 10 || step.charAt(0) == '0' && step.length() > 1) {
            return -1;
        }
        long i = 0;
        for (int k = 0; k < step.length(); k++) {
            char c = step.charAt(k);
            if (c < '0' || c > '9') {
                return -1;
            }
            i = 10 * i + c - '0';
        }
        return (int) Math.min(i, MAX_ELEMENTS);
    }

    /** The members of an object in their order; none of another value. */
    public Iterable<Member> members() {
        return () -> {
            Read.Members it = new Read.Members(this);
            return iterator(it::next, () -> new Member(it.key(), it.value));
        };
    }

    /** The keys of an object in the order of its members; none of another value. */
    public Iterable<String> keys() {
        return () -> {
            Read.Members it = new Read.Members(this);
            return iterator(it::next, it::key);
        };
    }

    /** The elements of an array; none of another value. */
    public Iterable<Value> elements() {
        int count = form == ARRAY ? count() : 0;
        return () -> new Iterator<>() {
            private int i;

            @Override
            public boolean hasNext() {
                return i < count;
            }

            @Override
            public Value next() {
                if (i >= count) {
                    throw new NoSuchElementException();
                }
                return Read.slot(doc, at, first() + i++, null);
            }
        };
    }

    /** The elements of an array; none of another value. */
    public Stream<Value> stream() {
        if (form != ARRAY) {
            return Stream.empty();
        }
        return IntStream.range(0, count()).mapToObj(this::get);
    }

    /**
     * The members whose keys are at least `from` and, unless `to` is empty, before `to`. They come in the order of the
     * bytes of their keys' UTF-8. A map that has an index for it (FORMAT 7.2) takes O(log n) to begin; of other objects
     * all keys are looked at, and those in the range are sorted.
     */
    public Iterable<Member> range(String from, String to) {
        byte[] end = Key.utf8(to);
        return ordered(Key.utf8(from), key -> end.length == 0 || Arrays.compareUnsigned(key, end) < 0);
    }

    /** The members whose keys begin with a prefix, in the order of their keys' bytes, as {@link #range} has them. */
    public Iterable<Member> prefix(String prefix) {
        byte[] start = Key.utf8(prefix);
        return ordered(start, key -> key.length >= start.length
            && Arrays.equals(key, 0, start.length, start, 0, start.length));
    }

    /** The members in the order of their keys, from a key on while a condition holds. */
    private Iterable<Member> ordered(byte[] from, Predicate<byte[]> within) {
        return () -> {
            Mem m = form == SCALAR ? null : doc.m;
            Read.MapHead o = form == MAP ? Read.map(m, at) : null;
            if (o != null && o.root != 0) {
                Read.Tree tree = new Read.Tree(m, o, from);
                long[] entry = new long[1];
                return iterator(() -> {
                    entry[0] = tree.next();
                    return entry[0] >= 0 && within.test(keyBytes(o, entry[0]));
                }, () -> {
                    long span = Read.span(m, o.keys + 8 * entry[0]);
                    return new Member(m.text(span & U32, span >>> 32), Read.entry(this, entry[0], null));
                });
            }
            record Found(byte[] key, Member member) {}
            List<Found> found = new ArrayList<>();
            for (Read.Members it = new Read.Members(this); it.next();) {
                byte[] key = it.keyBytes();
                if (Arrays.compareUnsigned(key, from) >= 0 && within.test(key)) {
                    found.add(new Found(key, new Member(it.key(), it.value)));
                }
            }
            found.sort((a, b) -> Arrays.compareUnsigned(a.key, b.key));
            return found.stream().map(Found::member).iterator();
        };
    }

    private byte[] keyBytes(Read.MapHead o, long entry) {
        long span = Read.span(doc.m, o.keys + 8 * entry);
        return doc.m.copy(span & U32, span >>> 32);
    }

    /** An iterator over what `item` gives each time after `next` found another one. */
    private static <T> Iterator<T> iterator(BooleanSupplier next, Supplier<T> item) {
        return new Iterator<>() {
            private T ready;
            private boolean done;

            @Override
            public boolean hasNext() {
                if (ready == null && !done) {
                    if (next.getAsBoolean()) {
                        ready = item.get();
                    } else {
                        done = true;
                    }
                }
                return ready != null;
            }

            @Override
            public T next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                T x = ready;
                ready = null;
                return x;
            }
        };
    }

    /**
     * The values at a path of keys in each element of an array; without a path, the elements themselves.
     *
     * @throws LivebufException of kind WRONG_TYPE if the value is no array, and NOT_FOUND if it is missing
     */
    public Column column(String... path) {
        return Column.of(this, path);
    }

    /**
     * The numbers of a tensor, those of the last dimension next to each other (FORMAT 6.6).
     *
     * @throws LivebufException of kind WRONG_TYPE if the value is no tensor, and NOT_FOUND if it is missing
     */
    public Column tensor() {
        return Column.tensor(this);
    }

    // --- printing

    /** The value as JSON, exactly (FORMAT 13.2); see {@link Json#print}. A value that is missing is an error. */
    public String toJson() {
        return Json.text(this);
    }

    /**
     * The text of a text, the JSON of any other value, or a note in angle brackets where it has none. It is for people;
     * {@link #toJson} is exact.
     */
    @Override
    public String toString() {
        try {
            return tag == TAG_TEXT ? spanText() : new String(Json.print(this, true, 0), Json.UTF_8);
        } catch (LivebufException e) {
            return "<" + e.getMessage() + ">";
        }
    }
}
