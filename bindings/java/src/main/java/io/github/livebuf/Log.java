package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A log that is read: a file of rows that only grows (docs/LOG.md). It takes no lock, so that a writer and any number
 * of readers use a log side by side. It has the rows that were there when it was opened, or refreshed last.
 *
 * <p>Any number of threads may use it at a time, as long as none of them calls {@link #refresh} or {@link #close}.
 * Exceptions about the bytes of a log are of kind BAD_LOG and have a {@link LivebufException#logFault}; what the system
 * reports is of kind IO.
 */
public final class Log implements AutoCloseable {
    private final Path path; // null if the bytes come from elsewhere
    private FileChannel file; // null if the bytes come from elsewhere
    private LogSource source;
    private LogFrames frames;
    private volatile Kept kept; // what was read last

    /** Rows that were read, by the offset of their frame; those behind the last group have the one of the log's end. */
    private record Kept(long offset, Group group) {}

    private Log(Path path, FileChannel file, LogSource source) {
        this.path = path;
        this.file = file;
        this.source = source;
        this.frames = LogFrames.open(source);
    }

    /**
     * Opens a log to read it. It reads an index and the frames behind it: few, however long the log is. Bytes of a
     * write that did not end are passed over; see {@link Stats#tornBytes}.
     *
     * @throws LivebufException of kind BAD_LOG with the fault NOT_A_LOG, UNSUPPORTED, DAMAGED or CUT_SHORT, or of kind
     *     IO
     */
    public static Log open(Path path) {
        FileChannel file = channel(path);
        try {
            return new Log(path, file, LogSource.of(file));
        } catch (LivebufException e) {
            close(file);
            throw e;
        }
    }

    /** Opens a log that is elsewhere: in memory, in an archive, on a server. A group is fetched by one read. */
    public static Log open(LogSource source) {
        return new Log(null, null, source);
    }

    private static FileChannel channel(Path path) {
        try {
            if (Files.exists(path) && !Files.isRegularFile(path)) {
                throw LivebufException.of(IO, "%s is no regular file", path);
            }
            return FileChannel.open(path, StandardOpenOption.READ);
        } catch (IOException e) {
            throw LivebufException.io(e);
        }
    }

    private static void close(FileChannel file) {
        try {
            file.close();
        } catch (IOException e) {
            throw LivebufException.io(e);
        }
    }

    /** Closes the file. Rows that were read are good further on. */
    @Override
    public void close() {
        if (file != null) {
            close(file);
        }
    }

    /** The number of rows. */
    public long size() {
        return frames.rows();
    }

    /**
     * Where a log's bytes go.
     *
     * @param rows the number of rows
     * @param groups the number of groups
     * @param tailRows rows behind the last group
     * @param tailFrames their frames
     * @param bytes bytes up to the last whole frame
     * @param deadBytes those of frames that a group took the place of, which compacting takes back
     * @param indexBytes those of indexes
     * @param tornBytes bytes behind the last whole frame: of a write that did not end, or has not ended yet
     * @param tornFrames whole headers among these: after a power cut, later frames may be there without an earlier one
     */
    public record Stats(long rows, int groups, long tailRows, int tailFrames, long bytes, long deadBytes,
        long indexBytes, long tornBytes, int tornFrames) {}

    /** Says where the file's bytes go. */
    public Stats stats() {
        LogFrames f = frames;
        return new Stats(f.rows(), f.groups.size(), f.rows() - f.settled(), f.tail.size(), f.end, f.deadBytes(),
            f.indexBytes, f.tornBytes, f.tornFrames);
    }

    /** Rows of a log that lie behind each other in one document, which was validated. */
    public static final class Group {
        private final LogFrames.Rows rows;

        private Group(LogFrames.Rows rows) {
            this.rows = rows;
        }

        /** The number of the first row. */
        public long first() {
            return rows.first();
        }

        /** The number of rows. */
        public int size() {
            return rows.size();
        }

        /** Row i of the group, from 0 on; missing where there is none. */
        public Value get(int i) {
            return rows.isSingle() && i != 0 ? Value.MISSING : rows.get(i);
        }

        /** The rows as an array, which can be read by columns; of a group that is a single row, the row itself. */
        public Value rows() {
            return rows.document().root();
        }
    }

    /**
     * The row of a number, from 0 on. The document that it is in is read and validated, unless it is the one that was
     * read last.
     *
     * @throws LivebufException of kind INDEX_OUT_OF_RANGE behind the last row, of kind BAD_LOG with the fault DAMAGED,
     *     or of kind IO
     */
    public Value get(long i) {
        LogFrames f = frames;
        if (i < 0 || i >= f.rows()) {
            throw LivebufException.of(INDEX_OUT_OF_RANGE,
                "the log has %d rows, and none of the number %d", f.rows(), i);
        }
        Kept last = kept;
        if (last != null && last.offset == f.end && i >= last.group.first()) {
            return last.group.get((int) (i - last.group.first()));
        }
        List<LogFrames.Frame> all = i < f.settled() ? f.groups : f.tail;
        int low = 0;
        for (int high = all.size(); low < high;) {
            int middle = (low + high) >>> 1;
            if (all.get(middle).end() <= i) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        LogFrames.Frame x = all.get(low);
        return group(source, f, x.offset(), x).get((int) (i - x.first()));
    }

    /**
     * The rows from one number up to another one, which may be beyond the last: {@code rows(0, Long.MAX_VALUE)} are
     * all. Exceptions are those of {@link #get}.
     */
    public Iterable<Value> rows(long from, long to) {
        return () -> groupStream(from, to).flatMap(g -> {
            int first = (int) Math.max(from - g.first(), 0);
            int end = (int) Math.min(to - g.first(), g.size());
            return IntStream.range(first, end).mapToObj(g::get);
        }).iterator();
    }

    /**
     * The groups that hold the rows from one number up to another one, to read them by columns. Each is read when it
     * comes. The rows behind the last group come as one group, which is made in memory. Exceptions are those of
     * {@link #get}.
     */
    public Iterable<Group> groups(long from, long to) {
        return () -> groupStream(from, to).iterator();
    }

    private Stream<Group> groupStream(long from, long to) {
        LogFrames f = frames.clone(); // as they are now, whatever is read meanwhile
        LogSource s = source;
        if (from >= to) {
            return Stream.empty();
        }
        List<LogFrames.Frame> wanted = new ArrayList<>(f.groups);
        wanted.removeIf(x -> x.end() <= from || x.first() >= to);
        if (f.rows() > from && f.settled() < to && !f.tail.isEmpty()) {
            wanted.add(null);
        }
        return wanted.stream().map(x -> group(s, f, x == null ? f.end : x.offset(), x));
    }

    /** The group of a frame, or that of the rows behind the last group, where the frame is null. */
    private Group group(LogSource s, LogFrames f, long offset, LogFrames.Frame x) {
        Kept last = kept;
        // A frame may begin where the rows behind the last group ended before.
        if (last != null && last.offset == offset
            && (x == null || last.group.first() == x.first() && last.group.size() == x.rows())) {
            return last.group;
        }
        Group group;
        if (x == null && f.tail.size() == 1 && f.tail.get(0).kind() == LogFrames.ROWS) {
            x = f.tail.get(0);
        }
        if (x != null) {
            group = new Group(LogFrames.rows(s, x));
        } else {
            byte[] bytes = f.gather(s, new Option[0], e -> { });
            Document made = new Document(Document.header(new Mem(bytes, bytes.length)), true);
            group = new Group(new LogFrames.Rows(made, f.settled(), false));
        }
        kept = new Kept(offset, group);
        return group;
    }

    /**
     * Looks at what was written since, and says how many rows came. Iterators that have begun go on over the rows that
     * were there before. If another file has the log's name now, since it was compacted or replaced, that one is read
     * from now on, and iterators that have begun end with an exception; in a log that was compacted, rows keep their
     * numbers. Exceptions are those of {@link #open}, and the log is then as before.
     */
    public long refresh() {
        long before = size();
        Log other = path == null ? null : replaced();
        if (other != null) {
            close();
            file = other.file;
            source = other.source;
            frames = other.frames;
            kept = null;
            return Math.max(size() - before, 0);
        }
        LogFrames next = frames.clone();
        next.advance(source);
        frames = next;
        return size() - before;
    }

    /** The log that has this one's name now, if it is another one; else null. */
    private Log replaced() {
        FileChannel other;
        try {
            other = channel(path);
        } catch (LivebufException e) {
            return null; // it was removed
        }
        boolean same;
        try {
            byte[] header = LogSource.of(other).read(0, LogFrames.HEADER_SIZE);
            LogFrames.checkHeader(header);
            same = Arrays.equals(Arrays.copyOfRange(header, 8, 16), frames.identity);
        } catch (LivebufException e) {
            same = true; // it is not written yet, or is no log
        }
        if (same) {
            close(other);
            return null;
        }
        try {
            return new Log(path, other, LogSource.of(other));
        } catch (LivebufException e) {
            close(other);
            throw e;
        }
    }

    /**
     * Reads and validates all rows.
     *
     * @throws LivebufException as {@link #get}
     */
    public void validate() {
        Stream.of(frames.groups, frames.tail).flatMap(List::stream).forEach(x -> LogFrames.rows(source, x));
    }
}
