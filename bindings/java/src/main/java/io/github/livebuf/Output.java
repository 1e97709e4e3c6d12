package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.util.Arrays;

/** The document that is being written: blocks are appended, and words are filled in later. */
final class Output {
    /** Bytes of the longest array of Java on which one can rely. */
    static final int MOST = Integer.MAX_VALUE - 15;

    final Mem mem = new Mem(new byte[4096], 0);

    /** The length of a longer array, for so many elements; an error where there is none. */
    static int capacity(int now, long needed) {
        if (needed > MOST) {
            throw tooLong();
        }
        return (int) Math.min(Math.max(needed, now + (now >> 1) + 16L), MOST);
    }

    static LivebufException tooLong() {
        return LivebufException.of(ErrorKind.DOCUMENT_LIMIT,
            "the document would have more than 2 GiB, which no array of Java holds: make several of it");
    }

    /** Begins a document, behind the room for its header. */
    void begin() {
        mem.size = 0;
        grow(HEADER_SIZE);
    }

    private int room(long bytes) {
        int at = mem.size;
        long end = at + bytes;
        if (end > mem.bytes.length) {
            mem.bytes = Arrays.copyOf(mem.bytes, capacity(mem.bytes.length, end));
        }
        mem.size = (int) end;
        return at;
    }

    /** Appends bytes that are 0; where they begin. */
    int grow(long bytes) {
        int at = room(bytes);
        Arrays.fill(mem.bytes, at, mem.size, (byte) 0);
        return at;
    }

    void align() {
        grow(-mem.size & 7);
    }

    /** Appends bytes of an array as they are; where they begin. */
    int append(byte[] from, int start, int length) {
        int at = room(length);
        System.arraycopy(from, start, mem.bytes, at, length);
        return at;
    }

    /**
     * Appends a span that one cell owns; where it begins. Such a span at a multiple of 8 would own the padding behind
     * it (FORMAT 3.3), so it does not begin there (PROFILE 3).
     */
    int store(byte[] from, int start, int length) {
        if ((mem.size & 7) == 0 && (length & 7) != 0) {
            grow(1);
        }
        return append(from, start, length);
    }

    void put8(int at, int x) {
        mem.put8(at, x);
    }

    void put16(int at, int x) {
        mem.put16(at, x);
    }

    void put32(int at, int x) {
        mem.put32(at, x);
    }

    void put64(int at, long x) {
        mem.put64(at, x);
    }

    /** Writes the header of a column (FORMAT 6.1). */
    void header(int at, int code, int gaps, int tensor, long count, int columnData) {
        put32(at, KIND_ARRAY | code << 8 | gaps << 16 | tensor << 24);
        put32(at + 4, (int) count);
        put32(at + 8, (int) count);
        put32(at + 12, columnData);
    }

    /** The span cell of at most seven bytes. */
    static long inlineCell(byte[] span, int start, int length) {
        long cell = 0x80L + length << 56;
        for (int i = 0; i < length; i++) {
            cell |= (span[start + i] & 0xffL) << 8 * i;
        }
        return cell;
    }

    /** The span cell of bytes that are elsewhere. */
    static long spanCell(int at, int length, boolean isOwned) {
        return at & 0xffffffffL | (long) length << 32 | (isOwned ? SPAN_OWNED : 0);
    }
}
