package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.util.Arrays;

/** The bytes of a document that is edited: blocks are taken and freed, and the bytes grow (FORMAT 8, EDITING 7). */
abstract class Space {
    private static final int LOOKED = 32; // free blocks that a request looks at in each class
    private static final int CLASSES = 18;

    /** Ends an edit that would make the document longer than it may be. It is caught where edits end. */
    static final class NoRoom extends RuntimeException {
        private static final long serialVersionUID = 1;
        static final NoRoom NO_ROOM = new NoRoom();

        private NoRoom() {
            super(null, null, false, false);
        }
    }

    /** The document, at the beginning of an array that may have room behind it. */
    final Mem m;
    /** The most bytes that the document may have. */
    long limit = MAX_USED;

    Space(Mem m) {
        this.m = m;
    }

    /** Writes a number of 1, 2, 4 or 8 bytes. */
    final void putWidth(long at, int width, long x) {
        switch (width) {
            case 1 -> m.put8(at, (int) x);
            case 2 -> m.put16(at, (int) x);
            case 4 -> m.put32(at, x);
            default -> m.put64(at, x);
        }
    }

    final void add32(long at, long x) {
        m.put32(at, m.u32(at) + x);
    }

    final void putBit(long start, long i, boolean bit) {
        long at = start + (i >> 3);
        int mask = 1 << (i & 7);
        m.put8(at, bit ? m.u8(at) | mask : m.u8(at) & ~mask);
    }

    final void zero(long at, long size) {
        Arrays.fill(m.bytes, (int) at, (int) (at + size), (byte) 0);
    }

    /** Moves bytes within the document. */
    final void copy(long to, long from, long size) {
        System.arraycopy(m.bytes, (int) from, m.bytes, (int) to, (int) size);
    }

    final void write(long at, byte[] bytes) {
        System.arraycopy(bytes, 0, m.bytes, (int) at, bytes.length);
    }

    /** Gives the document another count of used bytes. New ones are 0. */
    final void resize(long used) {
        int old = m.size;
        if (used > limit && used > old) {
            throw NoRoom.NO_ROOM;
        }
        if (used > m.bytes.length) {
            long room = Math.max(Math.max(2L * old, used + used / 4), 256);
            m.bytes = Arrays.copyOf(m.bytes, (int) Math.min(room, MAX_USED));
        }
        m.size = (int) used;
        if (used > old) {
            zero(old, used - old); // behind the document there may be anything
        }
        m.put32(HEADER_USED, used);
    }

    /** Takes a block of zeros. Its size is rounded up to a multiple of 8; of no bytes it is 0. */
    final long alloc(long bytes) {
        long size = word(bytes), aux = m.u32(HEADER_AUX);
        if (size == 0) {
            return 0;
        }
        if (aux != 0 && m.u32(aux + 4) >= size) {
            long free = m.u32(aux + 4), blocks = m.u32(aux + 8), since = m.u32(aux + 12);
            if (8 * free > m.size && since >= Math.max(8, blocks / 4)) {
                merge();
            }
            long at = take(size);
            if (at == 0 && m.u32(aux + 12) > 0 && (blocks <= 64 || 16 * size > free && 16 * since > blocks)) {
                merge();
                at = take(size);
            }
            if (at != 0) {
                return at;
            }
        }
        long at = m.size;
        resize(at + size);
        return at;
    }

    /** The head of the list of free blocks of a size. */
    private long headOf(long size) {
        long aux = m.u32(HEADER_AUX);
        return aux + AUX_SIZE + 4 * Math.min(60 - Long.numberOfLeadingZeros(size), m.u8(aux + 1) - 1);
    }

    /** A block of the free list, 0 if none that it looks at is large enough. */
    private long take(long size) {
        long aux = m.u32(HEADER_AUX), end = aux + AUX_SIZE + 4 * m.u8(aux + 1);
        for (long head = headOf(size); head < end; head += 4) {
            long best = 0, before = 0, room = Long.MAX_VALUE, previous = head;
            for (int i = 0; i < LOOKED && room != size; i++) {
                long block = m.u32(previous), there = m.u32(block + 4);
                if (block == 0) {
                    break;
                }
                if (there >= size && there < room) {
                    best = block;
                    before = previous;
                    room = there;
                }
                previous = block;
            }
            if (best != 0) {
                m.put32(before, m.u32(best));
                zero(best, size); // another editor may have left what was there
                add32(aux + 4, -room);
                add32(aux + 8, -1);
                if (room > size) {
                    list(best + size, room - size);
                }
                return best;
            }
        }
        return 0;
    }

    /** Puts bytes into the free list. */
    private void list(long at, long size) {
        long aux = m.u32(HEADER_AUX), head = headOf(size);
        m.put32(at, m.u32(head));
        m.put32(at + 4, size);
        m.put32(head, at);
        add32(aux + 4, size);
        add32(aux + 8, 1);
    }

    /** Frees a block. Its size is rounded up to a multiple of 8. */
    final void free(long at, long bytes) {
        long size = word(bytes);
        if (size == 0) {
            return;
        }
        zero(at, size);
        if (at + size == m.size) {
            resize(at);
            return;
        }
        long aux = aux();
        list(at, size);
        add32(aux + 12, 1);
    }

    /** The aux block. It is made where there is none. */
    final long aux() {
        if (m.u32(HEADER_AUX) == 0) {
            long aux = alloc(AUX_SIZE + 4 * CLASSES);
            m.put8(aux, KIND_AUX);
            m.put8(aux + 1, CLASSES);
            m.put32(HEADER_AUX, aux);
        }
        return m.u32(HEADER_AUX);
    }

    /** Joins free blocks that are neighbours, and gives back the end of the document. */
    private void merge() {
        long aux = m.u32(HEADER_AUX);
        int[] blocks = new int[(int) Math.min(m.u32(aux + 8), m.size / 8)];
        int n = 0;
        for (long head = aux + AUX_SIZE; head < aux + AUX_SIZE + 4 * m.u8(aux + 1); head += 4) {
            for (long at = m.u32(head); at != 0 && n < blocks.length; at = m.u32(at)) {
                blocks[n++] = (int) at;
            }
            m.put32(head, 0);
        }
        Arrays.sort(blocks, 0, n);
        m.put64(aux + 4, 0);
        m.put32(aux + 12, 0);
        for (int i = 0; i < n;) {
            long at = blocks[i], end = at;
            for (; i < n && blocks[i] == end; i++) {
                long size = m.u32(end + 4);
                m.put64(end, 0);
                end += size;
            }
            if (end == m.size) {
                resize(at);
            } else {
                list(at, end - at);
            }
        }
    }

    /** Frees what a span cell owns (FORMAT 3.3): whole words only, since the bytes around them may be others'. */
    final void freeSpan(long cell) {
        if (cell >>> 62 != 1) {
            return; // it is inline, or not owned
        }
        long at = cell & U32, size = cell >>> 32 & MAX_SPAN;
        if ((at & 7) == 0) {
            free(at, size);
        } else if ((at + size & ~7) > word(at)) {
            free(word(at), (at + size & ~7) - word(at));
        }
    }
}
