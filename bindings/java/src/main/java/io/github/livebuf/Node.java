package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A value on its way into a document, by its tag and its cell. A span that is still to be written is in bytes, and a
 * container in items.
 */
final class Node {
    /** An array that is a dimension of a tensor, and has a handle. */
    record Inner(int dimension, long row, Handle handle) {}

    int tag;
    long bits;
    byte[] bytes;
    /** Elements; of an object the values of its keys. Null unless this is a container that is still to be written. */
    List<Node> items;
    List<Key> keys;
    /** The table's shape, where a row becomes a record of all its columns. */
    long shape;
    /** The array is one. */
    Plan.Tensor tensor;
    /** That of a row or an array in a list, which it takes along. */
    Handle handle;
    /** Those of arrays in a tensor. */
    List<Inner> inner = List.of();

    Node(int tag, long bits) {
        this.tag = tag;
        this.bits = bits;
    }

    /** A container without items. */
    static Node container(int tag) {
        Node made = new Node(tag, 0);
        made.items = new ArrayList<>();
        made.keys = tag == TAG_OBJECT ? new ArrayList<>() : null;
        return made;
    }

    /** A span of bytes that nobody else changes. */
    static Node span(int tag, byte[] bytes) {
        Node made = new Node(tag, 0);
        if (bytes.length > 7) {
            made.bytes = bytes;
        } else {
            made.bits = Key.start(bytes, 0, bytes.length) | (long) (0x80 + bytes.length) << 56;
        }
        return made;
    }

    static Node ofDouble(double x) {
        return new Node(TAG_FLOAT, Double.doubleToRawLongBits(x));
    }

    void add(Key key, Node value) {
        keys.add(key);
        items.add(value);
    }

    /** A number as a float. */
    double number() {
        return tag == TAG_FLOAT ? Double.longBitsToDouble(bits) : bits;
    }

    /** Says of an integer of tag 04 whether it has at most the magnitude up to which floats hold all of them. */
    boolean isSafe() {
        return bits <= 1L << 53 && bits >= -1L << 53;
    }

    /** The bytes of a text that is not written yet. */
    byte[] text() {
        if (bytes != null) {
            return bytes;
        }
        byte[] text = new byte[(int) (bits >>> 56) & 7];
        for (int i = 0; i < text.length; i++) {
            text[i] = (byte) (bits >>> 8 * i);
        }
        return text;
    }

    /** Makes nodes of what a program gives. It writes nothing, and throws where a value cannot be stored. */
    static final class Maker {
        /** Of the container that the values come into; 0 if that is not known. */
        final int depth;
        /** Of the values. */
        int height;
        /** At most so many bytes they take. */
        long size;
        /** The type of the tensor that they come into; 0 of any other place. */
        int numbers;

        Maker(int depth) {
            this.depth = depth;
        }

        Key key(String text) {
            Key key = Key.forShapes(text);
            if (key.utf8.length > MAX_SPAN) {
                throw LivebufException.of(ErrorKind.STRING_LIMIT, "a key has at most %d bytes", MAX_SPAN);
            }
            size += 64 + 2L * key.utf8.length;
            return key;
        }

        /** What a value of Java becomes. */
        Node value(@Nullable Object value) {
            Node node = scalar(value);
            if (node != null) {
                return node;
            }
            try {
                return Deep.call(limit -> plain(value, 1, limit));
            } catch (LivebufException e) {
                Livebuf.encode(value, Option.NO_TABLES); // throws the same, and says where
                throw e;
            }
        }

        /** Makes nodes of the most usual values without an encoder. */
        private Node plain(@Nullable Object value, int level, int limit) {
            Node node = scalar(value);
            if (node != null) {
                return node;
            }
            if (value instanceof List<?> all) {
                Node made = container(TAG_ARRAY, level, limit);
                for (Object x : all) {
                    made.items.add(plain(x, level + 1, limit));
                }
                size += 16L * made.items.size();
                return made;
            }
            if (value instanceof Map<?, ?> all) {
                Node made = container(TAG_OBJECT, level, limit);
                for (Map.Entry<?, ?> x : all.entrySet()) {
                    if (!(x.getKey() instanceof String key)) {
                        return encoded(value, level, limit);
                    }
                    made.add(key(key), plain(x.getValue(), level + 1, limit));
                }
                return made;
            }
            return encoded(value, level, limit);
        }

        private Node encoded(@Nullable Object value, int level, int limit) {
            Object x = value instanceof Handle handle ? handle.value() : value;
            if (x instanceof Value v && v.exists() && v.doc.valid && !v.doc.isStale) {
                return copy(v, level, limit);
            }
            byte[] data = Livebuf.encode(x, Option.NO_TABLES);
            return copy(new Document(new Mem(data, data.length), true).root(), level, limit);
        }

        private Node container(int tag, int level, int limit) {
            if (level > limit) {
                throw Deep.stop(limit, -1);
            }
            height = Math.max(height, level);
            size += 96;
            return Node.container(tag);
        }

        /** What one of the most usual values becomes; null of another one. */
        private @Nullable Node scalar(@Nullable Object value) {
            if (value == null) {
                return new Node(TAG_NULL, 0);
            }
            if (value instanceof Boolean x) {
                return new Node(x ? TAG_TRUE : TAG_FALSE, 0);
            }
            if (value instanceof Integer || value instanceof Long) {
                return new Node(TAG_INT, ((Number) value).longValue());
            }
            if (value instanceof Double x) {
                return ofDouble(x);
            }
            if (value instanceof String x && x.length() <= MAX_SPAN / 3) {
                size += 8 + 3L * x.length();
                return span(TAG_TEXT, Key.utf8(x));
            }
            return null;
        }

        /** A copy of a value of a valid document. */
        private Node copy(Value v, int level, int limit) {
            if (v.tag == TAG_NOTHING) {
                throw LivebufException.at(ErrorKind.BAD_CODE, v.at);
            }
            Mem m = v.doc.m;
            if (v.form == Value.SCALAR) {
                if (v.tag < TAG_TEXT) {
                    return new Node(v.tag, v.bits);
                }
                size += 8 + v.bits;
                return span(v.tag, m.copy(v.at, v.bits));
            }
            Node made = container(v.tag, level, limit);
            if (v.form != Value.ARRAY) {
                for (Read.Members it = new Read.Members(v); it.next();) {
                    made.add(Key.forShapes(it.keyBytes()), copy(it.value, level + 1, limit));
                    size += 64 + 2L * it.keySize;
                }
                return made;
            }
            made.tensor = numbers == 0 ? Encoder.tensorOf(v) : null;
            if (made.tensor != null) {
                height = Math.max(height, level + made.tensor.lengths.length - 1);
                size += 48L * made.tensor.lengths.length + made.tensor.data.length;
                return made;
            }
            size += 16 * v.count();
            Read.Head c = Read.column(m, v.at);
            long width = width(c.code), start = c.values + width * v.first(), length = width * v.count();
            if (numbers != 0 && c.code == numbers && c.gaps == 0 && m.reaches(start, length)) {
                // A tensor takes them as they lie.
                made.tensor = new Plan.Tensor(c.code, new long[] {v.count()}, m.copy(start, length));
                return made;
            }
            for (long i = v.first(), end = i + v.count(); i < end; i++) {
                made.items.add(copy(Read.slot(v.doc, c, i), level + 1, limit));
            }
            return made;
        }
    }
}
