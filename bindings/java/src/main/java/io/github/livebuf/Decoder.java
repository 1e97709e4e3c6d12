package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** Makes values of Java of those of a document, and no more than the document can reasonably stand for (FORMAT 11). */
final class Decoder {
    private final int limit; // containers that may be within each other
    private long values;
    private long bytes;
    private int depth;
    private final Map<Long, String> keys = new HashMap<>(); // those of shapes, by where they are

    Decoder(Value v, int limit) {
        this.limit = limit;
        long n = v.doc.m.size;
        values = 8 * n + 1_000_000;
        bytes = TEXT_PER_BYTE * n + (1 << 20);
    }

    /** What a function makes of a value. It may be run twice. */
    static <T extends @Nullable Object> T run(Value v, BiFunction<Decoder, Value, T> decode) {
        if (!v.exists()) {
            throw v.wrong("");
        }
        return Deep.call(limit -> decode.apply(new Decoder(v, limit), v));
    }

    /** Pays for so many values, and bytes of memory. */
    void pay(long values, long bytes, Value v) {
        this.values -= values;
        this.bytes -= bytes;
        if (this.values < 0 || this.bytes < 0) {
            throw LivebufException.at(ErrorKind.BUDGET_EXCEEDED, v.at);
        }
    }

    /** Goes into a container. A damaged document may lead in circles. */
    void enter(Value v) {
        if (depth >= limit) {
            throw Deep.stop(limit, v.at);
        }
        depth++;
        pay(1, 16, v);
    }

    /** Leaves the container that was entered last. */
    void leave() {
        depth--;
    }

    /** A value as one of Java; see {@link Livebuf#toObject}. */
    @Nullable Object plain(Value v) {
        if (v.form == Value.SCALAR) {
            return scalar(v);
        }
        enter(v);
        Object all;
        if (v.form == Value.ARRAY) {
            int count = v.count();
            pay(count, 0, v);
            Read.Head c = Read.column(v.doc.m, v.at);
            List<@Nullable Object> list = new ArrayList<>(count);
            Rows rows = Rows.of(v, c);
            String[] names = rows == null ? null : rows.keys(this, v);
            for (int i = 0; i < count; i++) {
                long slot = v.first() + i;
                boolean isRow = rows != null && rows.isThere(slot);
                list.add(isRow ? plain(v, rows, names, slot) : plain(Read.slot(v.doc, c, slot)));
            }
            all = list;
        } else {
            Map<String, @Nullable Object> map = new LinkedHashMap<>();
            Read.Members it = new Read.Members(v);
            while (it.next()) {
                Value value = it.value;
                map.put(key(v, it), plain(value));
            }
            pay(it.skipped, 0, v);
            all = map;
        }
        leave();
        return all;
    }

    /** A row of a table as a map. */
    private Map<String, @Nullable Object> plain(Value v, Rows rows, String[] names, long row) {
        enter(v);
        pay(names.length, 0, v);
        Map<String, @Nullable Object> map = new LinkedHashMap<>();
        for (int i = 0; i < names.length; i++) {
            Value x = Read.slot(v.doc, rows.columns[i], row);
            if (x.tag != TAG_NOTHING) {
                map.put(names[i], plain(x));
            }
        }
        leave();
        return map;
    }

    /** The columns of rows whose members are all in them, in their order, so that each header is read once. */
    static final class Rows {
        private final Mem m;
        private final Read.Head rows;
        private final long table; // as Read.table has it
        final Read.Head[] columns;

        private Rows(Mem m, Read.Head rows, long table) {
            this.m = m;
            this.rows = rows;
            this.table = table;
            columns = new Read.Head[(int) table & 0xffff];
            for (int i = 0; i < columns.length; i++) {
                columns[i] = Read.column(m, rows.data + TABLE_SIZE + (long) COLUMN_SIZE * i);
            }
        }

        /** The rows of an array whose elements are in a column; null if it has none, or they may have other members. */
        static @Nullable Rows of(Value v, Read.Head c) {
            Mem m = v.doc.m;
            long table = c.code == CODE_STRUCT && v.size() > 1 ? Read.table(m, c.data) : 1L << 31;
            return (table >> 31 & 1) == 1 || m.u32(c.data + 16) != 0 ? null : new Rows(m, c, table);
        }

        boolean isThere(long row) {
            return Read.gap(m, rows, row) == Read.HAS_VALUE;
        }

        /** The column of a key; null where there is none. */
        Read.@Nullable Head column(Key key) {
            int place = Read.findInShape(m, table >>> 32, columns.length, key);
            return place < 0 ? null : columns[place];
        }

        private String[] keys(Decoder d, Value v) {
            long keys = Read.shape(m, table >>> 32);
            if (columns.length > keys >>> 32) {
                throw LivebufException.at(ErrorKind.BAD_COUNT, rows.data);
            }
            String[] names = new String[columns.length];
            for (int i = 0; i < names.length; i++) {
                long span = Read.span(m, (keys & U32) + 8L * i);
                d.pay(1, span >>> 32, v);
                names[i] = m.text(span & U32, span >>> 32);
            }
            return names;
        }
    }

    /** The key of a member. Those of shapes are made once. */
    String key(Value object, Read.Members it) {
        if (object.form == Value.MAP) {
            pay(0, it.keySize, object);
            return it.key();
        }
        String key = keys.get((long) it.keySize << 32 | it.keyAt);
        if (key == null) {
            pay(0, it.keySize, object);
            key = it.key();
            keys.put((long) it.keySize << 32 | it.keyAt, key);
        }
        return key;
    }

    /** Pays for a value that is no container. */
    void payScalar(Value v) {
        pay(1, v.tag >= TAG_TEXT ? v.bits : 0, v);
    }

    private @Nullable Object scalar(Value v) {
        payScalar(v);
        return switch (v.kind()) {
            case NULL -> null;
            case BOOLEAN -> v.tag == TAG_TRUE;
            case INT -> v.bits;
            case UINT -> v.asBigInteger();
            case FLOAT -> Double.longBitsToDouble(v.bits);
            case NUMBER_TEXT -> NumberText.of(v.numberText());
            case TEXT -> v.asText();
            case BYTES -> v.asBytes();
            case DECIMAL -> v.asBigDecimal();
            case DATE -> v.asDate();
            case TIME -> v.asTime();
            case DATE_TIME -> v.asDateTime();
            case TIMESTAMP -> v.asInstant();
            case UUID -> v.asUuid();
            case MISSING -> throw LivebufException.at(ErrorKind.BAD_CODE, v.at);
            default -> throw v.wrong("of a kind that this version of the library knows");
        };
    }
}
