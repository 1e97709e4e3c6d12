package io.github.livebuf;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The key of a member, prepared for looking it up in many objects. It does not change, and may be used by any number of
 * threads.
 */
public final class Key {
    /** Keys that were looked up lately, by the hashes of their strings, since programs mostly ask for the same. */
    private static final Key[] RECENT = new Key[256];
    private static final int MAX_RECENT = 100; // characters of such a key

    private final String text; // null where it was made of bytes
    final byte[] utf8;
    final long cell; // its span cell, if it is inline; else 0
    final int place; // by which its bucket is found
    final int mark; // its fingerprint in a bucket; 0 while place and mark are not known
    final int fingerprint; // its fingerprint in shapes

    private Key(String text, byte[] utf8, long cell, int fingerprint, long hash) {
        this.text = text;
        this.utf8 = utf8;
        this.cell = cell;
        this.fingerprint = fingerprint;
        this.place = (int) hash;
        this.mark = (int) (hash >>> 32);
    }

    /**
     * Prepares a key.
     *
     * @throws LivebufException of kind BAD_TEXT if the text has half of a surrogate pair, which UTF-8 lacks
     */
    public static Key of(String text) {
        byte[] utf8 = utf8(text);
        return make(text, utf8, hash(utf8));
    }

    /** The key of a text, which may be prepared already. Threads may take one from each other, or not see it. */
    static Key forShapes(String text) {
        int place = text.hashCode() & RECENT.length - 1;
        Key key = RECENT[place];
        if (key == null || !text.equals(key.text)) {
            key = of(text);
            if (text.length() <= MAX_RECENT) {
                RECENT[place] = key;
            }
        }
        return key;
    }

    /** Prepares a key by its bytes, which are kept, for the search in shapes; in maps, it is hashed at each search. */
    static Key forShapes(byte[] utf8) {
        return make(null, utf8, 0);
    }

    private static Key make(String text, byte[] utf8, long hash) {
        int n = utf8.length;
        if (n <= 7) {
            long cell = start(utf8, 0, n) | (long) (0x80 + n) << 56;
            return new Key(text, utf8, cell, fingerprint(cell), hash);
        }
        long x = Mem.get64(utf8, 0) ^ Long.rotateLeft(Mem.get64(utf8, n - 8), 29) ^ n;
        return new Key(text, utf8, 0, fingerprint(x), hash);
    }

    /** The key's text. */
    @Override
    public String toString() {
        return text != null ? text : new String(utf8, StandardCharsets.UTF_8);
    }

    /** Whether the other one is the same key. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Key k && java.util.Arrays.equals(utf8, k.utf8);
    }

    @Override
    public int hashCode() {
        return java.util.Arrays.hashCode(utf8);
    }

    /** The UTF-8 of a text; BAD_TEXT if it has half of a surrogate pair. */
    static byte[] utf8(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isSurrogate(c)) {
                if (Character.isLowSurrogate(c) || ++i == text.length() || !Character.isLowSurrogate(text.charAt(i))) {
                    throw LivebufException.of(ErrorKind.BAD_TEXT,
                        "the text has half of a surrogate pair at %d: UTF-8 has no such character", i);
                }
            }
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Up to seven bytes as a number. */
    static long start(byte[] b, int at, int count) {
        long x = 0;
        for (int i = 0; i < count; i++) {
            x |= (b[at + i] & 0xffL) << 8 * i;
        }
        return x;
    }

    /** The fingerprint of a key in a shape (FORMAT 4.2), by 64 bits of it. */
    static int fingerprint(long x) {
        return (int) (x * 0x9e3779b97f4a7c15L >>> 56);
    }

    /** The hash of a key in a map: in the lower half its place, and above it its mark (FORMAT 7.4). */
    static long hash(byte[] utf8) {
        int a = utf8.length;
        int b = 0x9e3779b1;
        int place = 0;
        // The whole words, the rest if there is one, and two rounds of zeros.
        int rounds = (utf8.length + 7) / 8 + 2;
        for (int i = 0; i < rounds; i++) {
            int left = utf8.length - 8 * i;
            long x = left >= 8 ? Mem.get64(utf8, 8 * i) : left > 0 ? start(utf8, 8 * i, left) : 0;
            int v = a ^ (int) x;
            int w = b ^ (int) (x >>> 32);
            a = (v ^ w >>> 14) * 0x85ebca6b;
            b = (w ^ v >>> 18) * 0xc2b2ae35;
            if (i == rounds - 2) {
                place = a ^ b;
            }
        }
        return (long) Math.max(b >>> 24, 1) << 32 | place & Layout.U32;
    }
}
