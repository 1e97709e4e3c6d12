package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;
import static io.github.livebuf.Layout.*;

import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * The changes that lead from one state of a document, its base, to another (docs/DELTA.md). Applied to a copy of the
 * base they give the other document, byte by byte. A delta fits to no other base.
 */
public final class Delta {
    /**
     * Bytes that change together.
     *
     * @param offset where they begin
     * @param after those of them that lie in the document afterwards
     * @param before those that lie in the base; empty if the delta has no old bytes
     */
    public record Change(long offset, byte[] after, byte[] before) {
        private long end() {
            return offset + Math.max(after.length, before.length);
        }
    }

    private static final int MAGIC = 0x44424cab; // AB 4C 42 44
    private static final int HEAD = 38; // bytes before the digest
    private static final int OLD = 1; // flags
    private static final int DIGEST = 2;

    private final byte[] base;
    private byte[] state;
    private final long baseLength;
    private final long length;
    private final boolean hasOld;
    private final List<Change> changes = new ArrayList<>();
    private byte[] digest; // null if there is none

    private Delta(byte[] base, byte[] state, long baseLength, long length, boolean hasOld) {
        this.base = base;
        this.state = state;
        this.baseLength = baseLength;
        this.length = length;
        this.hasOld = hasOld;
    }

    /** The state of the base: 16 bytes that stand for all of its bytes. */
    public byte[] base() {
        return base.clone();
    }

    /** The state that the delta leads to. */
    public byte[] state() {
        return state.clone();
    }

    /** The used bytes of the base. */
    public long baseLength() {
        return baseLength;
    }

    /** The used bytes afterwards. */
    public long length() {
        return length;
    }

    /** Whether the delta has old bytes, so that it can be inverted. */
    public boolean hasOld() {
        return hasOld;
    }

    /** The SHA-256 of the document afterwards, if the delta has one. */
    public Optional<byte[]> digest() {
        return Optional.ofNullable(digest).map(byte[]::clone);
    }

    /** The changes, in the order of their offsets. */
    public List<Change> changes() {
        return List.copyOf(changes);
    }

    // --- Reading and writing

    /** Reads the parts of a delta. */
    private static final class Reader {
        final byte[] data;
        int at = 4;

        Reader(byte[] data) {
            this.data = data;
        }

        LivebufException bad(String what) {
            return LivebufException.at(BAD_DELTA, at, "the delta is damaged: " + what);
        }

        byte[] take(long n) {
            if (n > data.length - at) {
                throw bad("it is cut short");
            }
            at += (int) n;
            return Arrays.copyOfRange(data, at - (int) n, at);
        }

        /** A number of up to 32 bits, in groups of seven. */
        long number() {
            long x = 0;
            for (int shift = 0;; shift += 7) {
                int next = take(1)[0];
                x |= (next & 0x7fL) << shift;
                if (x > U32 || next == 0 && shift > 0 || next < 0 && shift == 28) {
                    throw bad("a number has more than 32 bits, or bytes that it does not need");
                }
                if (next >= 0) {
                    return x;
                }
            }
        }

        long length() {
            long n = 8 * number();
            if (n < HEADER_SIZE || n > U32) {
                throw bad("no document has this length");
            }
            return n;
        }
    }

    /**
     * Reads a delta (DELTA 1).
     *
     * @throws LivebufException of kind NOT_A_DELTA, UNSUPPORTED_VERSION, UNSUPPORTED_FEATURE or BAD_DELTA
     */
    public static Delta read(byte[] data) {
        int start = Arrays.mismatch(data, new byte[] {(byte) MAGIC, 0x4c, 0x42, 0x44});
        if (data.length == 0 || start >= 0 && start < Math.min(data.length, 4)) {
            throw LivebufException.of(NOT_A_DELTA);
        }
        if (data.length > 4 && data[4] != 1) {
            throw LivebufException.at(UNSUPPORTED_VERSION, 4,
                "the delta is of a version that this library does not read");
        }
        if (data.length > 5 && (data[5] & ~(OLD | DIGEST)) != 0) {
            throw LivebufException.at(UNSUPPORTED_FEATURE, 5, "the delta has flags that this library does not know");
        }
        Reader r = new Reader(data);
        r.at = 0;
        int flags = r.take(HEAD)[5];
        byte[] digest = (flags & DIGEST) != 0 ? r.take(32) : null;
        Delta d = new Delta(Arrays.copyOfRange(data, 6, 22), Arrays.copyOfRange(data, 22, HEAD), r.length(), r.length(),
            (flags & OLD) != 0);
        d.digest = digest;
        long shorter = Math.min(d.length, d.baseLength);
        long longer = d.hasOld ? Math.max(d.length, d.baseLength) : d.length;
        long end = 0;
        for (long left = r.number(); left > 0; left--) {
            long last = end, offset = end + r.number(), size = r.number();
            end = offset + size;
            if (size == 0) {
                throw r.bad("a range is empty");
            }
            if (end > longer) {
                throw r.bad("a range leads beyond the document");
            }
            if (offset < HEADER_ROOT || offset < HEADER_SHAPES && end > HEADER_USED) {
                throw r.bad("a range lies over what no delta changes");
            }
            if (offset > last && offset > shorter) {
                throw r.bad("bytes of the longer document are missing");
            }
            byte[] after = r.take(Math.max(Math.min(end, d.length) - offset, 0));
            byte[] before = r.take(d.hasOld ? Math.max(Math.min(end, d.baseLength) - offset, 0) : 0);
            d.changes.add(new Change(offset, after, before));
        }
        if (longer > shorter && end != longer) {
            throw r.bad("bytes of the longer document are missing");
        }
        if (r.at < data.length) {
            throw r.bad("bytes are behind it");
        }
        return d;
    }

    /** The delta as bytes, for {@link #read}. */
    public byte[] toByteArray() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(new byte[] {(byte) MAGIC, 0x4c, 0x42, 0x44, 1});
        out.write((hasOld ? OLD : 0) | (digest != null ? DIGEST : 0));
        out.writeBytes(base);
        out.writeBytes(state);
        if (digest != null) {
            out.writeBytes(digest);
        }
        write(out, hasOld);
        return out.toByteArray();
    }

    /** Writes the delta from the number of used bytes of the base on. */
    private void write(ByteArrayOutputStream out, boolean withOld) {
        number(out, baseLength / 8);
        number(out, length / 8);
        number(out, changes.size());
        long end = 0;
        for (Change c : changes) {
            number(out, c.offset - end);
            number(out, c.end() - c.offset);
            out.writeBytes(c.after);
            if (withOld) {
                out.writeBytes(c.before);
            }
            end = c.end();
        }
    }

    private static void number(ByteArrayOutputStream out, long x) {
        for (; x >= 0x80; x >>= 7) {
            out.write((int) x | 0x80);
        }
        out.write((int) x);
    }

    // --- States

    /** Where a document's state lies, 0 for nowhere (FORMAT 8). */
    static long statePlace(Mem m) {
        long aux = m.u32(HEADER_AUX), place = m.u32(aux + 20);
        boolean there = aux >= HEADER_SIZE && m.reaches(aux, AUX_SIZE) && m.u8(aux) == KIND_AUX;
        return there && m.has(place, STATE_SIZE) ? place : 0;
    }

    /** The state of a document, if it has one (FORMAT 8). */
    public static Optional<byte[]> stateOf(Document document) {
        Mem m = document.m;
        long place = statePlace(m);
        boolean has = m.u8(HEADER_READ_ONLY) == 0 && m.u8(HEADER_IGNORE) == FLAG_STATE && place != 0;
        return has ? Optional.of(m.copy(place, STATE_SIZE)) : Optional.empty();
    }

    /** The state of a document that a delta begins at. */
    private static byte[] baseState(Document document) {
        byte[] state = stateOf(document).orElse(null);
        if (document.m.u8(HEADER_READ_ONLY) != 0) {
            throw LivebufException.of(READ_ONLY);
        }
        if (state == null) {
            throw LivebufException.of(NO_STATE);
        }
        return state;
    }

    // --- Applying

    /** Puts what there is afterwards of the bytes from an offset on into a part of the document. */
    private void put(byte[] part, long at) {
        for (Change c : changes) {
            long from = Math.max(c.offset, at), to = Math.min(c.offset + c.after.length, at + part.length);
            if (from < to) {
                System.arraycopy(c.after, (int) (from - c.offset), part, (int) (from - at), (int) (to - from));
            }
        }
    }

    /** Some bytes of the document afterwards; those behind it are 0. */
    private Mem after(Mem m, long at, int size) {
        byte[] part = new byte[size];
        long n = Math.min(size, m.size - at);
        if (n > 0) {
            m.copy(at, part, 0, (int) n);
        }
        put(part, at);
        return new Mem(part, size);
    }

    /** Checks that the delta fits to a document (DELTA 2). It gives the place of the state afterwards. */
    private long check(Document document) {
        Mem m = document.m;
        byte[] there = baseState(document);
        if (!Arrays.equals(there, base)) {
            throw LivebufException.of(WRONG_STATE, "the delta begins at state %s, and the document has %s",
                HexFormat.of().formatHex(base), HexFormat.of().formatHex(there));
        }
        if (m.size != baseLength) {
            throw LivebufException.of(WRONG_BYTES);
        }
        if (length > MAX_USED) {
            throw LivebufException.of(DOCUMENT_LIMIT);
        }
        Mem header = after(m, 0, HEADER_SIZE);
        long aux = header.u32(HEADER_AUX), place = 0;
        if (aux >= HEADER_SIZE && aux + AUX_SIZE <= length) {
            Mem head = after(m, aux, AUX_SIZE);
            place = head.u8(0) == KIND_AUX ? head.u32(20) : 0;
        }
        // The root's tag, and the three bytes behind it, which are 0.
        long tag = header.u32(HEADER_ROOT_TAG);
        if (place < HEADER_SIZE || (place & 7) != 0 || place + STATE_SIZE > length || tag == 0 || tag >= TAG_UNDEFINED) {
            throw LivebufException.of(BAD_DELTA,
                "the delta is damaged: what it leads to is no document with a state");
        }
        return place;
    }

    /** Makes bytes that are the base's the document afterwards. */
    private void finish(byte[] target, long place) {
        if (length > baseLength) {
            Arrays.fill(target, (int) baseLength, (int) length, (byte) 0);
        }
        put(target, 0);
        Mem m = new Mem(target, (int) length);
        m.put32(HEADER_USED, length);
        m.put8(HEADER_IGNORE, FLAG_STATE);
        System.arraycopy(state, 0, target, (int) place, STATE_SIZE);
    }

    /**
     * Makes a document of the base's state the one of the state afterwards (DELTA 2). It is done in place if the array
     * has room for it, else in a new one; which one has the document is returned. After an exception nothing was
     * changed. It takes time by the changes. Trust the document no more than the delta: validate it.
     *
     * @throws LivebufException of kind NO_STATE, WRONG_STATE, WRONG_BYTES (another length), BAD_DELTA or READ_ONLY, or
     *     as {@link Document#open(byte[])}
     */
    public byte[] apply(byte[] document) {
        long place = check(Document.open(document));
        byte[] target = length > document.length ? Arrays.copyOf(document, (int) length) : document;
        finish(target, place);
        return target;
    }

    /**
     * Compares the delta's digest with what a document would be after {@link #apply}, and changes nothing. It takes
     * time by the document's length.
     *
     * @throws LivebufException of kind NO_DIGEST or WRONG_BYTES, or as {@link #apply}
     */
    public void check(byte[] document) {
        long place = check(Document.open(document));
        if (digest == null) {
            throw LivebufException.of(NO_DIGEST);
        }
        byte[] after = Arrays.copyOf(document, (int) length);
        finish(after, place);
        if (!Arrays.equals(sha256().digest(after), digest)) {
            throw LivebufException.of(WRONG_BYTES);
        }
    }

    /**
     * The delta that leads back.
     *
     * @throws LivebufException of kind NO_OLD_BYTES
     */
    public Delta invert() {
        if (!hasOld) {
            throw LivebufException.of(NO_OLD_BYTES);
        }
        Delta back = new Delta(state, base, length, baseLength, true);
        changes.forEach(c -> back.changes.add(new Change(c.offset, c.before, c.after)));
        return back;
    }

    // --- Making

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e); // every Java has it
        }
    }

    /**
     * The delta from a document to what it became, by comparing their bytes. The second one gets the state that the
     * delta leads to (DELTA 3), in place. It must have been edited from a copy of the first, since it needs a place for
     * its state. It takes time by the length of both.
     *
     * @param withOld whether the delta gets the old bytes, so that it can be inverted
     * @param withDigest whether it gets the SHA-256 of the document afterwards
     * @throws LivebufException of kind NO_STATE or READ_ONLY, or as {@link Document#open(byte[])}
     */
    public static Delta between(byte[] before, byte[] after, boolean withOld, boolean withDigest) {
        Document from = Document.open(before), to = Document.open(after);
        byte[] state = baseState(from);
        Mem old = from.m, now = to.m;
        long was = statePlace(old), place = statePlace(now);
        if (place == 0) {
            throw LivebufException.of(NO_STATE,
                "the document afterwards has no place for its state: edit a copy of the first");
        }
        Delta d = new Delta(state, null, old.size, now.size, withOld);
        d.compare(old, now, was, place);
        ByteArrayOutputStream hashed = new ByteArrayOutputStream();
        hashed.writeBytes(state);
        d.write(hashed, false);
        d.state = Arrays.copyOf(sha256().digest(hashed.toByteArray()), STATE_SIZE);
        System.arraycopy(d.state, 0, after, (int) place, STATE_SIZE);
        now.put8(HEADER_READ_ONLY, 0);
        now.put8(HEADER_IGNORE, FLAG_STATE);
        if (withDigest) {
            d.digest = sha256().digest(to.toByteArray());
        }
        return d;
    }

    private void compare(Mem old, Mem now, long was, long place) {
        long shorter = Math.min(old.size, now.size), longer = hasOld ? Math.max(old.size, now.size) : now.size;
        long start = 0, last = 0; // of the range at hand: where it begins, 0 for none, and where its last change ends
        for (long i = HEADER_ROOT; i < longer; i++) {
            while (start == 0 && was == place && i + 8 <= shorter && old.u64(i) == now.u64(i)) {
                i += 8;
            }
            // The state itself is no change if it stays in its place. If it does not, both places are.
            boolean inState = i >= was && i < was + STATE_SIZE || i >= place && i < place + STATE_SIZE;
            if (i >= HEADER_USED && i < HEADER_SHAPES || was == place && inState) {
                add(old, now, start, last);
                start = 0;
            } else if (i < longer && (i >= shorter || old.u8(i) != now.u8(i) || inState)) {
                // Two ranges take more bytes than those between them.
                if (start > 0 && i - last > 2) {
                    add(old, now, start, last);
                    start = 0;
                }
                start = start > 0 ? start : i;
                last = i + 1;
            }
        }
        add(old, now, start, last);
    }

    private void add(Mem old, Mem now, long start, long end) {
        if (start > 0) {
            changes.add(new Change(start, part(now, start, end), hasOld ? part(old, start, end) : new byte[0]));
        }
    }

    private static byte[] part(Mem m, long start, long end) {
        return m.copy(Math.min(start, m.size), Math.max(Math.min(end, m.size) - start, 0));
    }
}
