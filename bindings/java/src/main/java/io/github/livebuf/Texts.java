package io.github.livebuf;

import static io.github.livebuf.Layout.MAX_SHARED;

import java.security.SecureRandom;
import java.util.Arrays;

/**
 * The texts that may be shared (PROFILE 3). Those of the outermost open array wait beside its values, since they may
 * become part of a run.
 */
final class Texts {
    // What is known of the cells that refer to a text: none does so far, or several do. Else it is where the only one
    // is.
    private static final int NONE = 0;
    static final int MANY = -1;

    // Where the bytes of a text are: beside the values of the outermost array, in the document, or there within a run.
    private static final int WAITS = 0;
    private static final int WRITTEN = 1;
    private static final int IN_RUN = 2;

    // Texts that are searched before it is judged whether that is worth it; different texts up to which all are
    // searched; and how long pauses are.
    private static final int JUDGED = 64;
    private static final int FEW = 1024;
    private static final int SHORTEST_PAUSE = 64;
    private static final int LONGEST_PAUSE = 16_384;

    // What is known of text number i is in these words from i * SIZE on. It is written once, though several cells may
    // refer to it.
    private static final int AT = 0;
    private static final int LENGTH = 1;
    private static final int CELL = 2;
    private static final int HASH = 3;
    private static final int PLACE = 4;
    private static final int SIZE = 5;

    // So that nobody can choose texts that collide.
    private static final long SEED = new SecureRandom().nextLong();
    private static final long FACTOR = new SecureRandom().nextLong() | 1;

    private final Output out;
    final Utf8.Buffer waiting = new Utf8.Buffer();
    private int[] list = new int[64 * SIZE];
    private int count;
    private int[] index = new int[64]; // numbers of texts, and 1, by their hashes
    private int unwritten; // from which text on some may wait
    private int pause; // texts that are not searched in this pause
    private int next; // the length of the next one
    private int searched; // texts since the last verdict
    private boolean found; // whether one of them was found

    Texts(Output out) {
        this.out = out;
    }

    void begin() {
        if (index.length > 1 << 16 && index.length > 16L * count) {
            index = new int[64]; // it would take longer to clear than the last document took
        } else if (count > 0) {
            Arrays.fill(index, 0);
        }
        count = unwritten = waiting.length = 0;
        endPause();
    }

    /** Bytes of memory. */
    long memory() {
        return waiting.bytes.length + 4L * (list.length + index.length);
    }

    /** Ends a pause and a group. */
    void endPause() {
        pause = searched = 0;
        next = SHORTEST_PAUSE;
        found = false;
    }

    /** Whether the next text is in a pause. */
    boolean skips() {
        return pause > 0 && pause-- > 0;
    }

    private void judge(boolean isFound) {
        searched++;
        found |= isFound;
        if (searched < JUDGED) {
            return;
        }
        if (found || count < FEW) {
            next = SHORTEST_PAUSE;
        } else {
            pause = next;
            next = Math.min(2 * next, LONGEST_PAUSE);
        }
        searched = 0;
        found = false;
    }

    /** Keeps bytes beside the values of the outermost array; where they are. */
    int keep(byte[] text, int start, int length) {
        int at = waiting.length;
        waiting.append(text, start, length);
        return at;
    }

    private byte[] bytes(int number) {
        return list[number * SIZE + PLACE] == WAITS ? waiting.bytes : out.mem.bytes;
    }

    int length(int number) {
        return list[number * SIZE + LENGTH];
    }

    /** One number for two, such that nobody can choose pairs that collide. */
    static long mix(long a, long b) {
        long x = a ^ SEED;
        long y = b ^ FACTOR;
        return x * y ^ Math.multiplyHigh(x, y);
    }

    /** A hash of bytes that differs in each process. */
    static int hash(byte[] b, int start, int length) {
        long h = length;
        int at = start;
        int end = start + length;
        for (; end - at >= 8; at += 8) {
            h = mix(h, Mem.get64(b, at));
        }
        long rest = 0;
        for (int i = 0; at + i < end; i++) {
            rest |= (b[at + i] & 0xffL) << 8 * i;
        }
        h = mix(h, rest) * FACTOR;
        return (int) (h >>> 32);
    }

    /** The number of a text that is searched. If it is new, it is kept where it waits, or else written. */
    int intern(byte[] text, int start, int length, boolean waits) {
        if (2L * count >= index.length) {
            index = new int[Output.capacity(0, 4L * index.length)];
            for (int number = 0; number < count; number++) {
                int at = list[number * SIZE + HASH] & index.length - 1;
                while (index[at] != 0) {
                    at = at + 1 & index.length - 1;
                }
                index[at] = number + 1;
            }
        }
        int hash = hash(text, start, length);
        int at = hash & index.length - 1;
        for (; index[at] != 0; at = at + 1 & index.length - 1) {
            int number = index[at] - 1;
            int i = number * SIZE;
            if (list[i + HASH] == hash && Arrays.equals(bytes(number), list[i + AT], list[i + AT] + list[i + LENGTH],
                text, start, start + length)) {
                judge(true);
                share(i);
                if (!waits) {
                    write(number);
                }
                return number;
            }
        }
        int number = count;
        int i = number * SIZE;
        if (i + SIZE > list.length) {
            list = Arrays.copyOf(list, Output.capacity(list.length, i + (long) SIZE));
        }
        index[at] = number + 1;
        count++;
        judge(false);
        list[i + AT] = waits ? keep(text, start, length) : out.store(text, start, length);
        list[i + LENGTH] = length;
        list[i + CELL] = NONE;
        list[i + HASH] = hash;
        list[i + PLACE] = waits ? WAITS : WRITTEN;
        return number;
    }

    /** Notes that a further cell refers to a text. The cell that thought itself the owner shares from now on. */
    private void share(int i) {
        if (list[i + CELL] != NONE && list[i + CELL] != MANY) {
            out.put32(list[i + CELL] + 4, list[i + LENGTH]);
        }
        list[i + CELL] = MANY;
    }

    /** Says that several cells refer to a text. */
    void isShared(int number) {
        list[number * SIZE + CELL] = MANY;
    }

    /** Writes a text that a cell is to refer to, where it is not written yet. */
    private void write(int number) {
        int i = number * SIZE;
        if (list[i + PLACE] != WRITTEN) {
            list[i + AT] = out.store(bytes(number), list[i + AT], list[i + LENGTH]);
            list[i + PLACE] = WRITTEN;
        }
    }

    /** Writes all texts that still wait, and forgets their bytes: the array ends. */
    void writeRest() {
        for (; unwritten < count; unwritten++) {
            if (list[unwritten * SIZE + PLACE] == WAITS) {
                write(unwritten);
            }
        }
        waiting.length = 0;
    }

    /** Whether nothing else refers to a text, as far as is known. */
    boolean isSingle(int number) {
        return list[number * SIZE + CELL] == NONE;
    }

    /** The cell at a position that refers to a text, which it may own. */
    long cell(int number, int position) {
        int i = number * SIZE;
        boolean isOwned = list[i + CELL] == NONE;
        if (isOwned) {
            list[i + CELL] = position;
        }
        return Output.spanCell(list[i + AT], list[i + LENGTH], isOwned);
    }

    /** Writes the bytes that the cell of a text that is searched is to refer to. */
    void writeText(long number) {
        write((int) number);
    }

    /** Writes bytes that waited; the cell that owns them. */
    long writeLoose(long bits) {
        int length = (int) (bits >>> 32);
        return Output.spanCell(out.store(waiting.bytes, (int) bits, length), length, true);
    }

    /** Copies the bytes of a text into a run, which is in the document; how many they are. */
    int copyTo(int tag, long bits, int to) {
        if (tag == Planner.ITEM_LOOSE) {
            int length = (int) (bits >>> 32);
            System.arraycopy(waiting.bytes, (int) bits, out.mem.bytes, to, length);
            return length;
        }
        if (tag != Planner.ITEM_TEXT) {
            int length = (int) (bits >>> 56) & 7;
            for (int i = 0; i < length; i++) {
                out.mem.bytes[to + i] = (byte) (bits >>> 8 * i);
            }
            return length;
        }
        int number = (int) bits;
        int i = number * SIZE;
        System.arraycopy(bytes(number), list[i + AT], out.mem.bytes, to, list[i + LENGTH]);
        if (list[i + PLACE] == WAITS) {
            list[i + AT] = to;
            list[i + PLACE] = IN_RUN;
        }
        return list[i + LENGTH];
    }
}
