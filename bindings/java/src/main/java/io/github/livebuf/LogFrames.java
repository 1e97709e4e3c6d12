package io.github.livebuf;

import static io.github.livebuf.Layout.U32;
import static io.github.livebuf.LogFault.*;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/**
 * Which frames a log has: walking over their headers, telling a torn end from damage, and reading indexes (LOG 2 to 6).
 * A frame's body is only compared with its CRC, and only where the file does not say that it is on the disk.
 */
final class LogFrames implements Cloneable {
    static final int HEADER_SIZE = 64;
    static final int MARK_AT = 32;
    static final int FRAME_SIZE = 32;
    static final int GROUPS_AT_ONE = 128; // groups that one index lists

    // Kinds of frames (LOG 3).
    static final int ROW = 'S';
    static final int ROWS = 'R';
    static final int GROUP = 'G';
    static final int INDEX = 'I';

    private static final int MAGIC = 0x4c424cab; // AB 4C 42 4C
    private static final int FRAME_MAGIC = 0x424cab; // AB 4C 42; the kind is the next byte
    private static final int VERSION = 1;
    private static final int WINDOW = 64 << 10; // bytes that are read at once, to look at headers
    private static final String REPAIR = "`livebuf log repair` keeps the rest";

    /**
     * Where the rows of a frame are.
     *
     * @param offset of its header
     * @param first the number of its first row
     * @param length bytes of the body
     * @param crc of the body
     */
    record Frame(int kind, long offset, long first, long rows, long length, int crc) {
        /** Bytes of the frame, its header included. */
        long size() {
            return FRAME_SIZE + length;
        }

        /** The number of the row behind its last one. */
        long end() {
            return first + rows;
        }

        /** Where the next frame begins. */
        long next() {
            return offset + size();
        }
    }

    /** A header, and how many bytes of the file were on the disk when it was written. */
    private record Header(Frame frame, long durable) {}

    /** Rows that lie behind each other in one document, which was validated. */
    record Rows(Document document, long first, boolean isSingle) {
        int size() {
            return isSingle ? 1 : document.root().size();
        }

        Value get(int i) {
            return isSingle ? document.root() : document.root().get(i);
        }
    }

    byte[] identity;
    List<Frame> groups = new ArrayList<>();
    List<Frame> tail = new ArrayList<>(); // those of rows behind the last group
    long end = HEADER_SIZE; // where the next frame begins
    long durable; // bytes of the file that are known to be on the disk
    long index; // the newest index, 0 for none
    int indexed; // groups that indexes list
    long indexBytes;
    long tornBytes; // behind the last whole frame: a write that did not end
    int tornFrames; // whole headers among them

    /** Those of an empty log. */
    LogFrames(byte[] identity) {
        this.identity = identity;
    }

    /** Frames that can go on by themselves. */
    @Override
    public LogFrames clone() {
        try {
            LogFrames copy = (LogFrames) super.clone();
            copy.groups = new ArrayList<>(groups);
            copy.tail = new ArrayList<>(tail);
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /** The number of rows. */
    long rows() {
        return tail.isEmpty() ? settled() : tail.get(tail.size() - 1).end();
    }

    /** Bytes of frames that a group took the place of. */
    long deadBytes() {
        return end - HEADER_SIZE - indexBytes
            - Stream.of(groups, tail).flatMap(List::stream).mapToLong(Frame::size).sum();
    }

    /** The number of rows in groups. */
    long settled() {
        return groups.isEmpty() ? 0 : groups.get(groups.size() - 1).end();
    }

    /** Looks through a log. It reads an index and the headers behind it, and bodies that may not be on the disk. */
    static LogFrames open(LogSource s) {
        byte[] header = s.read(0, HEADER_SIZE);
        checkHeader(header);
        LogFrames f = new LogFrames(Arrays.copyOfRange(header, 8, 16));
        if (f.crc(header, MARK_AT, 28) == Mem.get32(header, MARK_AT + 28)) {
            // The mark is a hint. Without it the frames tell the same.
            long durable = Mem.get64(header, MARK_AT);
            f.durable = durable < 0 ? Long.MAX_VALUE : durable;
            LogFrames known = f.byIndexes(s, Mem.get64(header, MARK_AT + 8));
            f = known != null ? known : f;
        }
        f.advance(s);
        return f;
    }

    // --- Headers

    private static int crc(byte[] b, int at, int size, byte[] before) {
        CRC32 crc = new CRC32();
        crc.update(before);
        crc.update(b, at, size);
        return (int) crc.getValue();
    }

    static int crc(byte[] b) {
        return crc(b, 0, b.length, new byte[0]);
    }

    /** The CRC of the identity and some bytes. */
    private int crc(byte[] b, int at, int size) {
        return crc(b, at, size, identity);
    }

    /** Checks a log's header (LOG 2). */
    static void checkHeader(byte[] b) {
        Mem m = new Mem(b, b.length);
        String not = m.i32(0) == Layout.MAGIC ? "the file is no log but a document"
            : m.i32(0) != MAGIC ? "the file does not begin as a log does"
            : b.length < HEADER_SIZE ? "the file is shorter than a log's header"
            : crc(b, 0, 28, new byte[0]) != m.i32(28) ? "the log's header is damaged" : null;
        if (not != null) {
            throw LivebufException.log(NOT_A_LOG, 0, not);
        }
        if (m.u8(4) != VERSION) {
            throw LivebufException.log(UNSUPPORTED, 4, m.u8(4) == 0 ? "the log is of a draft of before version 1"
                : "the log is of a version that this library does not know: a newer one may");
        }
        if (m.u8(5) != 0 || m.u64(16) != 0 || m.u32(24) != 0) {
            throw LivebufException.log(UNSUPPORTED, 5,
                "the log has a feature that this library does not know: a newer one may");
        }
    }

    /** The first bytes of a log: its header and mark. */
    byte[] newHeader() {
        byte[] b = new byte[HEADER_SIZE];
        Mem m = new Mem(b, HEADER_SIZE);
        m.put32(0, MAGIC);
        m.put8(4, VERSION);
        System.arraycopy(identity, 0, b, 8, 8);
        m.put32(28, crc(b, 0, 28, new byte[0]));
        System.arraycopy(newMark(), 0, b, MARK_AT, 32);
        return b;
    }

    /** The mark's bytes. */
    byte[] newMark() {
        Mem m = new Mem(new byte[32], 32);
        m.put64(0, durable);
        m.put64(8, index);
        m.put32(28, crc(m.bytes, 0, 28));
        return m.bytes;
    }

    /** The CRC of a frame's header, which binds it to its file and its place. */
    private int headerCrc(byte[] b, int at, long offset) {
        byte[] bound = Arrays.copyOf(identity, 16);
        Mem.set64(bound, 8, offset);
        return crc(b, at, 28, bound);
    }

    /** The bytes of a frame. */
    byte[] newFrame(Frame x, byte[] body) {
        Mem m = new Mem(new byte[FRAME_SIZE + body.length], FRAME_SIZE);
        m.put32(0, FRAME_MAGIC | x.kind << 24);
        m.put32(4, x.length);
        m.put64(8, x.first);
        m.put32(16, x.rows);
        m.put32(20, Math.min((x.offset - durable + 7) / 8, U32));
        m.put32(24, x.crc);
        m.put32(28, headerCrc(m.bytes, 0, x.offset));
        System.arraycopy(body, 0, m.bytes, FRAME_SIZE, body.length);
        return m.bytes;
    }

    /** Reads the header of a frame; null where there is none that is whole. */
    private Header header(byte[] b, int at, long offset) {
        if (b.length - at < FRAME_SIZE || (Mem.get32(b, at) & 0xffffff) != FRAME_MAGIC
            || Mem.get32(b, at + 28) != headerCrc(b, at, offset)) {
            return null;
        }
        int kind = b[at + 3];
        Frame x = new Frame(kind, offset, Mem.get64(b, at + 8), Mem.get32(b, at + 16) & U32, Mem.get32(b, at + 4) & U32,
            Mem.get32(b, at + 24));
        if (kind != ROW && kind != ROWS && kind != GROUP && kind != INDEX) {
            throw LivebufException.log(UNSUPPORTED, offset,
                "the log has a kind of frame that only newer versions know");
        }
        boolean good = kind == INDEX ? x.rows == 0 : kind == ROW ? x.rows == 1 : x.rows > 0;
        if (!good || (x.length & 7) != 0 || x.length < Layout.HEADER_SIZE || x.first < 0) {
            throw LivebufException.log(DAMAGED, offset, "a frame's header says what no header may say");
        }
        long behind = Mem.get32(b, at + 20) & U32;
        return new Header(x, behind == U32 || 8 * behind > offset ? 0 : offset - 8 * behind);
    }

    // --- Walking

    /** Takes up what was written behind the frames that are known, and tells a torn end from damage (LOG 6). */
    void advance(LogSource s) {
        for (long tried = -1;;) {
            long size = s.size(), before = durable;
            if (size < end) {
                throw LivebufException.log(CUT_SHORT, size, "the log was cut while it was open: open it again");
            }
            String fault = walk(s, size);
            tornFrames = 0;
            tornBytes = Math.max(size - end, 0);
            if (size < durable) {
                throw LivebufException.log(CUT_SHORT, size,
                    "the log was cut: it has %d bytes, and %d were on the disk; %s", size, durable, REPAIR);
            }
            if (end == size) {
                return;
            }
            if (end >= durable) {
                lookAhead(s, size);
            }
            if (end >= durable) {
                return;
            }
            // A writer may have ended the frame, and others behind it, while it was looked at. So damage must be seen
            // twice.
            if (tried == end && before == durable) {
                throw LivebufException.log(DAMAGED, end, "%s; %s", fault, REPAIR);
            }
            tried = end;
        }
    }

    /** Takes up frames until the file ends or one is not whole. It says why that one is not. */
    private String walk(LogSource s, long size) {
        List<Frame> found = new ArrayList<>();
        String fault = "a frame's header is damaged";
        byte[] window = new byte[0];
        long start = 0; // of the window
        for (long at = end;;) {
            if (at < start || at + FRAME_SIZE > start + window.length) {
                // Where frames are large, the bytes behind a header are of no use.
                window = s.read(at, at - start < 2 * WINDOW ? WINDOW : FRAME_SIZE);
                start = at;
            }
            Header x = header(window, (int) (at - start), at);
            if (x == null) {
                break;
            }
            if (x.frame.size() > size - at) {
                fault = "a frame leads beyond the end";
                break;
            }
            durable = Math.max(durable, x.durable);
            found.add(x.frame);
            at = x.frame.next();
        }
        // Only now it is known how far the file was on the disk.
        for (Frame x : found) {
            if (x.next() > durable && !hasBody(s, x)) {
                return "a frame's body is damaged";
            }
            take(x);
        }
        return fault;
    }

    /** Takes up a whole frame (LOG 4 and 5). */
    void take(Frame x) {
        if (x.kind == GROUP) {
            if (x.first != settled() || x.end() < rows()) {
                throw LivebufException.log(DAMAGED, x.offset, "a group does not follow the one before it");
            }
            groups.add(x);
            tail = new ArrayList<>();
        } else if (x.kind == INDEX) {
            if (x.first != settled() || !tail.isEmpty()) {
                throw LivebufException.log(DAMAGED, x.offset, "an index is not behind the groups that it lists");
            }
            index = x.offset;
            indexed = groups.size();
            indexBytes += x.size();
        } else {
            if (x.first != rows()) {
                throw LivebufException.log(DAMAGED, x.offset, "rows do not follow those before them");
            }
            tail.add(x);
        }
        end = x.next();
    }

    /** Looks for headers behind a bad one, to learn how far the file was on the disk. */
    private void lookAhead(LogSource s, long size) {
        Headers all = new Headers(s, end + 8, size);
        while (all.next() != null) {
            tornFrames++;
            durable = Math.max(durable, all.found.durable);
            if (durable > end) {
                return;
            }
        }
    }

    /** Whole headers, which are looked for at every multiple of 8. */
    private final class Headers {
        private final LogSource s;
        private final long size;
        private long at;
        private byte[] window = {};
        private long start; // of the window
        private Header found;

        Headers(LogSource s, long at, long size) {
            this.s = s;
            this.at = at;
            this.size = size;
        }

        /** The next one, or null. */
        Header next() {
            for (found = null; found == null && at + FRAME_SIZE <= size; at += 8) {
                if (at < start || at + FRAME_SIZE > start + window.length) {
                    window = s.read(at, 16 * WINDOW);
                    start = at;
                    if (window.length < FRAME_SIZE) {
                        return null;
                    }
                }
                try {
                    found = header(window, (int) (at - start), at);
                } catch (LivebufException e) {
                    continue; // what looks like a frame and breaks a rule is none here
                }
            }
            return found;
        }
    }

    /**
     * What can be read of a log that is damaged.
     *
     * @param frames whose rows can be read, without those that others took the place of
     * @param bytes of all whole frames
     */
    record Readable(List<Frame> frames, long bytes) {}

    /** Looks for all frames of a log that can be read, whatever lies between them. */
    static Readable readable(LogSource s) {
        byte[] header = s.read(0, HEADER_SIZE);
        checkHeader(header);
        LogFrames f = new LogFrames(Arrays.copyOfRange(header, 8, 16));
        List<Frame> frames = new ArrayList<>();
        long bytes = 0;
        Headers all = f.new Headers(s, HEADER_SIZE, s.size());
        while (all.next() != null) {
            Frame x = all.found.frame;
            if (!isReadable(s, x)) {
                continue;
            }
            bytes += x.size();
            all.at = x.next();
            if (x.kind == INDEX) {
                continue;
            }
            // A later frame has the rows from its first one on.
            while (!frames.isEmpty() && frames.get(frames.size() - 1).first >= x.first) {
                frames.remove(frames.size() - 1);
            }
            // What begins within another frame is no log's.
            if (frames.isEmpty() || frames.get(frames.size() - 1).end() <= x.first) {
                frames.add(x);
            }
        }
        return new Readable(frames, bytes);
    }

    private static boolean isReadable(LogSource s, Frame x) {
        if (x.kind == INDEX) {
            return hasBody(s, x);
        }
        try {
            rows(s, x);
            return true;
        } catch (LivebufException e) {
            if (e.kind() == ErrorKind.IO) {
                throw e; // it may be read another time
            }
            return false;
        }
    }

    // --- Indexes

    /**
     * Takes groups from indexes, from the newest on. It is null where one is not as it should be, or none is known to
     * be on the disk (LOG 5): after a power cut a newer one may be there without the groups that it lists.
     */
    private LogFrames byIndexes(LogSource s, long newest) {
        LogFrames known = clone();
        List<List<Frame>> parts = new ArrayList<>(); // those of the newest index first
        long first = 0; // of the groups that are known
        try {
            for (long at = newest; at != 0;) {
                Header x = (at & 7) != 0 ? null : header(s.read(at, FRAME_SIZE), 0, at);
                if (x == null || x.frame.kind != INDEX) {
                    return null;
                }
                Value root = Document.open(body(s, x.frame)).validate().root();
                long previous = root.get("previous").asLong();
                known.durable = Math.max(known.durable, x.durable);
                if (known.index == 0 && x.frame.next() <= known.durable) {
                    known.index = at;
                    known.end = x.frame.next();
                    first = x.frame.first;
                }
                // They lead towards the beginning, so this ends.
                if (previous < 0 || previous >= at || known.index != 0 && x.frame.first != first) {
                    return null;
                }
                List<Frame> listed = listed(root.get("groups"), x.frame, first);
                if (known.index != 0) {
                    first = listed.isEmpty() ? first : listed.get(0).first;
                    known.indexBytes += x.frame.size();
                    parts.add(0, listed);
                }
                at = previous;
            }
        } catch (LivebufException e) {
            return null;
        }
        if (known.index == 0 || first != 0) {
            return null;
        }
        parts.forEach(known.groups::addAll);
        known.indexed = known.groups.size();
        return known;
    }

    /** The groups that an index lists, which end before a row. */
    private static List<Frame> listed(Value groups, Frame index, long end) {
        long[] rows = groups.stream().mapToLong(x -> x.get("rows").asLong()).toArray();
        long first = end - Arrays.stream(rows).sum();
        List<Frame> all = new ArrayList<>();
        for (Value x : groups.elements()) {
            Frame g = new Frame(GROUP, x.get("offset").asLong(), first, x.get("rows").asLong(), x.get("bytes").asLong(),
                (int) x.get("crc").asLong());
            boolean good = g.rows > 0 && g.rows <= U32 && g.length >= 0 && g.length <= U32 && g.offset >= HEADER_SIZE
                && g.offset <= index.offset && g.size() <= index.offset - g.offset;
            if (!good) {
                throw LivebufException.log(DAMAGED, index.offset, "an index lists what is no group");
            }
            all.add(g);
            first = g.end();
        }
        return all;
    }

    /** The body of an index of groups. */
    static byte[] newIndex(long previous, List<Frame> groups) {
        return Encoder.run(new Option[0], e -> {
            e.beginObject();
            e.key("previous");
            e.integer(previous);
            e.key("groups");
            e.beginArray();
            for (Frame g : groups) {
                e.beginObject();
                e.key("offset");
                e.integer(g.offset);
                e.key("rows");
                e.integer(g.rows);
                e.key("bytes");
                e.integer(g.length);
                e.key("crc");
                e.integer(g.crc & U32);
                e.endObject();
            }
            e.endArray();
            e.endObject();
        });
    }

    // --- Bodies

    private static LivebufException damagedBody(Frame x) {
        return LivebufException.log(DAMAGED, x.offset, "a frame's body is damaged: %s", REPAIR);
    }

    /** Reads a frame's body. It takes memory only for what the file has. */
    static byte[] body(LogSource s, Frame x) {
        if (x.next() > s.size()) {
            throw damagedBody(x);
        }
        if (x.length > Layout.MAX_USED) {
            throw LivebufException.at(ErrorKind.DOCUMENT_LIMIT, x.offset, "a frame's body has more than 2 GiB");
        }
        byte[] b = s.read(x.offset + FRAME_SIZE, (int) x.length);
        if (b.length < x.length || crc(b) != x.crc) {
            throw damagedBody(x);
        }
        return b;
    }

    /** Says whether a frame's body is as its header says. */
    private static boolean hasBody(LogSource s, Frame x) {
        CRC32 crc = new CRC32();
        for (long at = x.offset + FRAME_SIZE; at < x.next();) {
            byte[] b = s.read(at, (int) Math.min(x.next() - at, 16 * WINDOW));
            if (b.length == 0) {
                return false;
            }
            crc.update(b);
            at += b.length;
        }
        return (int) crc.getValue() == x.crc;
    }

    /** Reads the rows of a frame, whose body must be a document of them (LOG 4). */
    static Rows rows(LogSource s, Frame x) {
        byte[] body = body(s, x);
        LivebufException damaged = LivebufException.log(DAMAGED, x.offset, "a frame's document is damaged: %s", REPAIR);
        Rows rows;
        try {
            rows = new Rows(Document.open(body).validate(), x.first, x.kind == ROW);
        } catch (LivebufException e) {
            damaged.addSuppressed(e);
            throw damaged;
        }
        if (rows.document.size() != body.length || !rows.isSingle
            && (!rows.document.root().isArray() || rows.size() != x.rows)) {
            throw damaged;
        }
        return rows;
    }

    /** Encodes the rows behind the last group as an array, and then those that more adds. */
    byte[] gather(LogSource s, Option[] options, Consumer<Encoder> more) {
        List<Rows> all = tail.stream().map(x -> rows(s, x)).toList();
        return Encoder.run(options, e -> {
            e.beginArray();
            for (Rows rows : all) {
                for (int i = 0; i < rows.size(); i++) {
                    e.value(rows.get(i));
                }
            }
            more.accept(e);
            e.endArray();
        });
    }
}
