package io.github.livebuf;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The used bytes of a document, of which numbers are read. Whatever lies beyond the bytes reads as 0, so that no offset
 * can lead to an exception: where that would be a wrong answer, has or need is asked first. Only an editor changes
 * the fields, and only of its own.
 */
final class Mem {
    private static final VarHandle SHORT = view(short[].class);
    private static final VarHandle INT = view(int[].class);
    private static final VarHandle LONG = view(long[].class);

    /** The bytes, or null if they are in a buffer that has no array. */
    byte[] bytes;
    /** How many bytes are used. */
    int size;
    private final int base; // where the document begins in bytes
    private final ByteBuffer buffer; // where bytes is null; its order is little-endian
    private final Pages pages; // where both are null

    private static VarHandle view(Class<?> array) {
        return MethodHandles.byteArrayViewVarHandle(array, ByteOrder.LITTLE_ENDIAN);
    }

    Mem(byte[] bytes, int size) {
        this.bytes = bytes;
        this.size = size;
        this.base = 0;
        this.buffer = null;
        this.pages = null;
    }

    /** Bytes of which pages are fetched when they are read. */
    Mem(Pages pages) {
        this.size = pages.size();
        this.base = 0;
        this.buffer = null;
        this.pages = pages;
    }

    /** The bytes of a buffer from its position on. */
    Mem(ByteBuffer from) {
        size = from.remaining();
        pages = null;
        if (from.hasArray()) {
            bytes = from.array();
            base = from.arrayOffset() + from.position();
            buffer = null;
        } else {
            base = 0;
            buffer = from.slice().order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    int u8(long at) {
        if (at < 0 || at >= size) {
            return 0;
        }
        return (bytes != null ? bytes[base + (int) at] : other8((int) at)) & 0xff;
    }

    int u16(long at) {
        if (at < 0 || at > size - 2) {
            return 0;
        }
        return (bytes != null ? (short) SHORT.get(bytes, base + (int) at) : other16((int) at)) & 0xffff;
    }

    long u32(long at) {
        return i32(at) & Layout.U32;
    }

    int i32(long at) {
        if (at < 0 || at > size - 4) {
            return 0;
        }
        return bytes != null ? (int) INT.get(bytes, base + (int) at) : other32((int) at);
    }

    long u64(long at) {
        if (at < 0 || at > size - 8) {
            return 0;
        }
        return bytes != null ? (long) LONG.get(bytes, base + (int) at) : other64((int) at);
    }

    // Where there is no array.

    private byte other8(int at) {
        return buffer != null ? buffer.get(at) : pages.bytes(at, 1).get(at & pages.mask);
    }

    private short other16(int at) {
        return buffer != null ? buffer.getShort(at) : pages.bytes(at, 2).getShort(at & pages.mask);
    }

    private int other32(int at) {
        return buffer != null ? buffer.getInt(at) : pages.bytes(at, 4).getInt(at & pages.mask);
    }

    private long other64(int at) {
        return buffer != null ? buffer.getLong(at) : pages.bytes(at, 8).getLong(at & pages.mask);
    }

    /** Fetches all that is not here yet, since it will be read. */
    void fetchAll() {
        if (pages != null) {
            pages.fetch(0, size);
        }
    }

    /** Bit i of a bitmap. */
    boolean bit(long at, long i) {
        return (u8(at + (i >> 3)) >> (i & 7) & 1) == 1;
    }

    /** Whether so many bytes from an offset lie in the document. */
    boolean reaches(long at, long count) {
        return at >= 0 && count >= 0 && at + count <= size;
    }

    /** Whether a block lies in the document, at a multiple of 8. */
    boolean has(long at, long count) {
        return (at & 7) == 0 && at >= Layout.HEADER_SIZE && reaches(at, count);
    }

    /** Throws what is wrong where has is false. */
    void need(long at, long count) {
        if (!has(at, count)) {
            throw LivebufException.at((at & 7) != 0 ? ErrorKind.MISALIGNED : ErrorKind.OUT_OF_BOUNDS, at);
        }
    }

    /**
     * Some bytes in little-endian order, without a copy unless they are of pages. They were found to lie in the
     * document.
     */
    ByteBuffer slice(long at, long count) {
        if (pages != null) {
            return ByteBuffer.wrap(copy(at, count)).order(ByteOrder.LITTLE_ENDIAN);
        }
        ByteBuffer all = bytes != null ? ByteBuffer.wrap(bytes) : buffer;
        return all.slice((bytes != null ? base : 0) + (int) at, (int) count).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** A copy of bytes that were found to lie in the document. */
    byte[] copy(long at, long count) {
        if (pages != null) {
            pages.expect((int) at, (int) count);
        }
        byte[] to = new byte[(int) count];
        copy(at, to, 0, to.length);
        return to;
    }

    /** Copies bytes that were found to lie in the document. */
    void copy(long at, byte[] to, int start, int count) {
        if (bytes != null) {
            System.arraycopy(bytes, base + (int) at, to, start, count);
        } else if (buffer != null) {
            buffer.get((int) at, to, start, count);
        } else {
            pages.copy((int) at, to, start, count);
        }
    }

    /** The text of bytes that were found to lie in the document. What is no UTF-8 becomes U+FFFD. */
    String text(long at, long count) {
        if (bytes != null) {
            return new String(bytes, base + (int) at, (int) count, StandardCharsets.UTF_8);
        }
        return new String(copy(at, count), StandardCharsets.UTF_8);
    }

    /** Whether bytes that were found to lie in the document are UTF-8. */
    boolean isText(long at, long count) {
        if (bytes == null) {
            return Utf8.isValid(copy(at, count), 0, (int) count);
        }
        return Utf8.isValid(bytes, base + (int) at, base + (int) (at + count));
    }

    /** Whether there are these bytes at an offset. */
    boolean equal(long at, byte[] other) {
        if (!reaches(at, other.length)) {
            return false;
        }
        if (bytes != null) {
            int start = base + (int) at;
            return Arrays.equals(bytes, start, start + other.length, other, 0, other.length);
        }
        return slice(at, other.length).mismatch(ByteBuffer.wrap(other)) < 0;
    }

    /** The order of some bytes, which were found to lie in the document, and others; all are unsigned numbers. */
    int compare(long at, long count, byte[] other) {
        if (bytes != null) {
            int start = base + (int) at;
            return Arrays.compareUnsigned(bytes, start, start + (int) count, other, 0, other.length);
        }
        return Arrays.compareUnsigned(copy(at, count), other);
    }

    // --- writing, in an array at whose beginning the document is

    void put8(long at, int x) {
        bytes[(int) at] = (byte) x;
    }

    void put16(long at, int x) {
        SHORT.set(bytes, (int) at, (short) x);
    }

    void put32(long at, long x) {
        INT.set(bytes, (int) at, (int) x);
    }

    void put64(long at, long x) {
        LONG.set(bytes, (int) at, x);
    }

    // --- numbers of plain arrays, whose places were checked

    static int get32(byte[] b, int at) {
        return (int) INT.get(b, at);
    }

    static long get64(byte[] b, int at) {
        return (long) LONG.get(b, at);
    }

    static void set64(byte[] b, int at, long x) {
        LONG.set(b, at, x);
    }
}
