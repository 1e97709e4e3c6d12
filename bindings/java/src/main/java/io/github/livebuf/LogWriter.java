package io.github.livebuf;

import static io.github.livebuf.LogFrames.*;

import io.github.livebuf.LogFrames.Frame;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Adds rows to a log (LOG 7). It holds the file's lock, so there is one at a time, in all processes and languages;
 * readers go on beside it. One thread may use it at a time. Logs are written on Linux, where the program flock of
 * util-linux or BusyBox is there, on macOS and on the BSDs.
 *
 * <p>Rows are in the file when a call returns, and outlive the process. {@link #sync} and {@link #close} put them on
 * the disk, where they outlive a power cut. Rows that come one by one are gathered: when there are enough of them, they
 * are written once more, as a group of columns.
 *
 * <p>All methods throw a {@link LivebufException}: of kind IO if the system reports something, such as a full disk, of
 * kind BAD_LOG with a {@link LogFault}, and those that add rows also as {@link Livebuf#encode} does.
 */
public final class LogWriter implements AutoCloseable {
    /** What a file operation does. */
    private interface Action<T> {
        T run() throws IOException;
    }

    private static <T> T io(Action<T> action) {
        try {
            return action.run();
        } catch (IOException e) {
            throw LivebufException.io(e);
        }
    }

    private static final int SMALL_ROWS = 32; // a frame of fewer rows, and of fewer bytes,
    private static final int SMALL_BYTES = 4 << 10; // is mostly header and keys
    private static final long MOST_BYTES = 256 << 20; // of a log that compacts itself: a larger one takes seconds

    private LockedFile lock;
    private FileChannel file;
    private final Path path;
    private LogSource source;
    private final Option[] options;
    private LogFrames frames;
    private int groupRows = 1 << 16;
    private int groupBytes = 8 << 20;
    private long compactAt = 16 << 10;
    private long compactFrom; // how long the log is before it looks again whether it should compact itself
    private boolean syncs;
    private long tailBytes;
    private byte[] marked; // what the mark says
    private Dropped dropped;
    private boolean broken;
    private boolean closed;

    private LogWriter(LockedFile lock, Path path, Option[] options) {
        this.lock = lock;
        this.file = lock.channel;
        this.path = path;
        this.source = LogSource.of(file);
        this.options = options.clone();
    }

    /**
     * Makes a new log. A file that exists is an error of kind IO. It takes two syncs, of the file and of its directory.
     *
     * @param options how rows become documents
     */
    public static LogWriter create(Path path, Option... options) {
        return io(() -> {
            FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW).close();
            return opened(path, options, true, true);
        });
    }

    /**
     * Opens a log to add rows, and makes a new one where there is none, or only an empty file.
     *
     * <p>Bytes of a write that did not end are cut off: {@link #dropped} says which. Rows that no writer synced are
     * written once more, and synced: of a log that was never synced, all.
     *
     * @param options how rows become documents
     */
    public static LogWriter open(Path path, Option... options) {
        return io(() -> {
            boolean isMade = true;
            try {
                FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW).close();
            } catch (FileAlreadyExistsException e) {
                isMade = false; // it is gone on with
            }
            return opened(path.toRealPath(), options, isMade, false);
        });
    }

    /** Takes the lock of a file, which is removed if it was just made and this system has no locks for logs. */
    private static LockedFile lock(Path path, boolean isMade) throws IOException {
        try {
            return LockedFile.take(path);
        } catch (LivebufException e) {
            if (isMade && e.kind() == ErrorKind.UNSUPPORTED) {
                Files.deleteIfExists(path);
            }
            throw e;
        }
    }

    private static LogWriter opened(Path path, Option[] options, boolean isMade, boolean isNew) throws IOException {
        LockedFile lock = lock(path, isMade);
        boolean isOurs = false, isDone = false;
        try {
            if (isNew && lock.channel.size() > 0) {
                throw new FileAlreadyExistsException(path.toString()); // another writer was faster
            }
            isOurs = isNew;
            LogWriter w = new LogWriter(lock, path, options);
            w.begin();
            isDone = true;
            return w;
        } finally {
            if (isOurs && !isDone) {
                Files.deleteIfExists(path); // while it is locked
            }
            if (!isDone) {
                lock.close();
            }
        }
    }

    /** Looks through the file's log, or makes an empty one of a file that has none. */
    private void begin() throws IOException {
        // Whoever made or compacted the log may have died before its name was on the disk.
        LockedFile.syncDirectoryOf(path);
        byte[] header = source.read(0, LogFrames.HEADER_SIZE + 1);
        if (header.length <= LogFrames.HEADER_SIZE && Arrays.equals(header, new byte[header.length])) {
            beginNew();
            waitForDisk();
            return;
        }
        frames = LogFrames.open(source);
        if (header[6] != 0) {
            throw LivebufException.log(LogFault.UNSUPPORTED, 6,
                "the log has a feature that this library can read but not write");
        }
        tailBytes = frames.tail.stream().mapToLong(Frame::size).sum();
        marked = Arrays.copyOfRange(header, MARK_AT, LogFrames.HEADER_SIZE);
        dropTorn();
    }

    /** Writes the header of an empty log. */
    private void beginNew() throws IOException {
        byte[] identity = new byte[8];
        new SecureRandom().nextBytes(identity);
        frames = new LogFrames(identity);
        marked = frames.newMark();
        write(frames.newHeader(), 0);
    }

    private void write(byte[] bytes, long at) throws IOException {
        ByteBuffer b = ByteBuffer.wrap(bytes);
        while (b.hasRemaining()) {
            file.write(b, at + b.position());
        }
    }

    /** Makes the file longer, by zeros, or cuts it. */
    private void resize(long size) throws IOException {
        if (size > file.size()) {
            file.write(ByteBuffer.allocate(1), size - 1);
        } else {
            file.truncate(size);
        }
    }

    /** Cuts an unfinished write off, and waits for the disk: what it held must never come back behind new rows. */
    private void dropTorn() throws IOException {
        long end = frames.end, torn = frames.tornBytes;
        if (torn > 0) {
            dropped = new Dropped(end, torn, frames.tornFrames,
                Optional.ofNullable(frames.tornFrames > 0 ? keep(end, torn) : null));
            resize(end);
            frames.tornBytes = 0;
        }
        // Where an earlier writer's sync failed, the system counts bytes as written that it did not write.
        for (long at = frames.durable; at < end;) {
            byte[] part = source.read(at, (int) Math.min(end - at, 1 << 20));
            if (part.length == 0) {
                throw new IOException("the log was cut while it was opened");
            }
            write(part, at);
            at += part.length;
        }
        if (torn > 0 || frames.durable < end) {
            try {
                waitForDisk();
            } catch (IOException e) {
                if (torn > 0) {
                    resize(end + torn); // The disk may have forgotten the cut. The next one must cut it again.
                }
                throw e;
            }
        }
    }

    /** Copies the log's end to a new file beside it, and waits until it is on the disk. After an error there is none. */
    private Path keep(long at, long size) throws IOException {
        for (int number = 0;; number++) {
            Path name = path.resolveSibling(path.getFileName() + ".torn-" + at + (number > 0 ? "-" + number : ""));
            FileChannel made;
            try {
                made = FileChannel.open(name, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
            } catch (FileAlreadyExistsException e) {
                continue;
            }
            try (FileChannel copy = made) {
                for (long done = 0; done < size;) {
                    done += file.transferTo(at + done, size - done, copy);
                }
                copy.force(true);
                LockedFile.syncDirectoryOf(name);
                return name;
            } catch (IOException e) {
                Files.deleteIfExists(name);
                throw e;
            }
        }
    }

    /**
     * Bytes that were cut off when the log was opened: an unfinished write, whose rows were never promised to be on the
     * disk.
     *
     * @param offset where they were
     * @param bytes how many
     * @param frames whole headers among them
     * @param kept the file beside the log that keeps them, if there were whole headers among them
     */
    public record Dropped(long offset, long bytes, int frames, Optional<Path> kept) {}

    /** What was cut off when the log was opened, if there was something. */
    public Optional<Dropped> dropped() {
        return Optional.ofNullable(dropped);
    }

    /**
     * Makes each call that adds rows return only when they are on the disk: one sync each.
     *
     * @return this writer
     */
    public LogWriter syncEach() {
        syncs = true;
        return this;
    }

    /**
     * Sets the most rows of a group, and about how many bytes of memory they take at most before they are laid out as
     * columns. Readers read a group as a whole. Without it, groups have up to 65,536 rows or about 8 MiB.
     *
     * @return this writer
     */
    public LogWriter groupsOf(int rows, int bytes) {
        groupRows = Math.min(Math.max(rows, 1), 1 << 30);
        groupBytes = Math.min(Math.max(bytes, 1), 1 << 30);
        return this;
    }

    /**
     * Sets how many wasted bytes make the log {@link #compact} itself, at the end of a call that adds rows:
     * Long.MAX_VALUE means never, and without this it is 16,384. Wasted are the bytes of frames that a group took the
     * place of, and of rows that were added one by one or a few at a time. The log also waits until these are as many
     * as all others, and does not compact itself where the others are more than 256 MiB.
     *
     * @return this writer
     */
    public LogWriter compactAt(long wasted) {
        compactAt = wasted;
        return this;
    }

    /** The number of rows. */
    public long size() {
        return frames.rows();
    }

    // --- Adding rows

    /**
     * Adds a row, which is encoded as {@link Livebuf#encode} does it, and returns its number. It may nest 999 deep, since
     * it is read as an element of an array.
     */
    public long append(@Nullable Object row) {
        check();
        long number = size();
        byte[] data = Encoder.runAgain(options, e -> {
            e.nesting = Layout.MAX_NESTING - 1;
            Mapper.any(e, row);
        });
        if (!fills(data.length, 1)) {
            put(ROW, data, 1);
        } else {
            if (data.length >= groupBytes / 2) {
                settle();
            }
            Value value = new Document(new Mem(data, data.length), true).root();
            group(1, e -> e.value(value));
        }
        added();
        return number;
    }

    /**
     * Adds rows, which are encoded as {@link Livebuf#encode} does it, and returns how many there were. Many rows are
     * written as groups at once, in memory for one group. After an exception the rows of earlier groups are in the log,
     * and {@link #size} says how many; with {@link #syncEach} they are on the disk.
     */
    public long extend(Iterable<?> rows) {
        check();
        long start = size();
        try {
            extendGroups(rows.iterator(), start);
        } catch (RuntimeException | Error e) {
            if (syncs && size() > start) {
                sync();
            }
            throw e;
        }
        added();
        return size() - start;
    }

    /** Adds rows a group at a time. After an exception groups may have been added. */
    private void extendGroups(Iterator<?> next, long start) {
        while (next.hasNext()) {
            long tail = frames.rows() - frames.settled();
            long room = tail < groupRows ? groupRows - tail : groupRows; // a tail may be of a writer of larger groups
            int[] count = new int[1];
            boolean[] isLarge = new boolean[1];
            byte[] data;
            try {
                data = Encoder.run(options, e -> {
                    e.beginArray();
                    while (count[0] < room && !isLarge[0] && next.hasNext()) {
                        Mapper.any(e, next.next());
                        count[0]++;
                        isLarge[0] = e.out.mem.size + e.texts.waiting.length + 13L * e.items >= groupBytes;
                    }
                    e.endArray();
                });
            } catch (LivebufException e) {
                // It says which row of this call it is about, not which row of the group.
                throw e.withPath(e.path().replaceFirst("^/\\d+", "/" + (size() - start + count[0])));
            }
            if (isLarge[0]) {
                settle();
                put(GROUP, data, count[0]);
            } else {
                add(data, count[0]);
            }
        }
    }

    /** What each call that adds rows ends with. */
    private void added() {
        if (frames.end >= compactFrom) {
            compactIfWasteful();
        }
        if (syncs) {
            sync();
        }
    }

    /** Says whether rows, with those behind the last group, are enough for a group. */
    private boolean fills(int bytes, int rows) {
        return frames.rows() - frames.settled() + rows >= groupRows || tailBytes + bytes >= groupBytes;
    }

    /** Writes rows as a frame by themselves, or with those before them as a group. */
    private void add(byte[] data, int rows) {
        if (!fills(data.length, rows)) {
            put(ROWS, data, rows);
            return;
        }
        if (rows >= groupRows / 2 || data.length >= groupBytes / 2) {
            settle();
        }
        if (frames.tail.isEmpty()) {
            put(GROUP, data, rows);
        } else {
            Value all = new Document(new Mem(data, data.length), true).root();
            group(rows, e -> all.elements().forEach(e::value));
        }
    }

    /** Writes the rows behind the last group as a group. */
    private void settle() {
        if (!frames.tail.isEmpty()) {
            group(0, e -> {});
        }
    }

    /** Writes the rows behind the last group and others as a group. */
    private void group(int others, Consumer<Encoder> more) {
        byte[] data = frames.gather(source, options, more);
        put(GROUP, data, frames.rows() - frames.settled() + others);
    }

    /** Writes a frame of rows behind the others. */
    private void put(int kind, byte[] body, long rows) {
        putFrame(kind, kind == GROUP ? frames.settled() : frames.rows(), rows, body);
        tailBytes = kind == GROUP ? 0 : tailBytes + FRAME_SIZE + body.length;
        int groups = frames.groups.size();
        if (kind == GROUP && groups - frames.indexed >= GROUPS_AT_ONE) {
            try {
                byte[] index = newIndex(frames.index, frames.groups.subList(frames.indexed, groups));
                putFrame(INDEX, frames.settled(), 0, index);
                mark();
            } catch (LivebufException e) {
                // An index is a help only. The rows are in the log without it.
            }
        }
    }

    /** Writes a frame's bytes, or none of them. */
    private void putFrame(int kind, long first, long rows, byte[] body) {
        Frame x = new Frame(kind, frames.end, first, rows, body.length, LogFrames.crc(body));
        try {
            write(frames.newFrame(x, body), x.offset());
        } catch (IOException e) {
            try {
                file.truncate(x.offset());
            } catch (IOException f) {
                e.addSuppressed(f); // the bytes are a torn end
            }
            throw LivebufException.io(e);
        }
        frames.take(x);
    }

    /** Writes the mark, which is a help to the next one to open the log. */
    private void mark() {
        byte[] mark = frames.newMark();
        if (!Arrays.equals(mark, marked)) {
            try {
                write(mark, MARK_AT);
                marked = mark;
            } catch (IOException e) {
                // The frames tell the same.
            }
        }
    }

    // --- The disk

    private void check() {
        if (closed || broken || !lock.isHeld()) {
            throw LivebufException.log(LogFault.BROKEN, frames.end, closed ? "the writer was closed: open the log again"
                : broken ? "an earlier sync failed, so that nobody knows what is on the disk: open the log again"
                : "the process that holds the log's lock was ended: open the log again");
        }
    }

    /**
     * Waits until all rows are on the disk. If the log was removed or renamed, so that its rows are not in the log of
     * this name, the fault is REPLACED. After what the system reports, nobody knows what is on the disk, and the log
     * takes no more rows.
     */
    public void sync() {
        check();
        if (frames.durable < frames.end) {
            io(() -> {
                if (!lock.hasName()) {
                    throw LivebufException.log(LogFault.REPLACED, frames.end, "the log was removed while it was open");
                }
                waitForDisk();
                return null;
            });
        }
    }

    private void waitForDisk() throws IOException {
        try {
            file.force(false);
        } catch (IOException e) {
            broken = true;
            throw e;
        }
        frames.durable = frames.end;
    }

    // --- Writing it anew

    /**
     * Bytes of the log's file before and after {@link #compact}.
     *
     * @param before its bytes before
     * @param after its bytes now
     */
    public record Compacted(long before, long after) {}

    /**
     * Writes the log anew: full groups, and nothing else. Rows keep their numbers. It takes time by the length of the
     * log, and memory for a group.
     *
     * <p>The new file is made beside the old one, synced, and renamed over it, so that a crash leaves the one or the
     * other. Readers keep the old one until they refresh. New files of processes that were killed are removed.
     *
     * @throws LivebufException with the fault REPLACED if the log was removed or another file has its name, with damage
     *     that was found, or what the system reports. The log is as before then. Only if the directory cannot be
     *     synced, it is the new file and takes no more rows, since a power cut may bring the old one back
     */
    public Compacted compact() {
        check();
        return io(() -> {
            if (!lock.hasName()) {
                throw LivebufException.log(LogFault.REPLACED, frames.end,
                    "the log was removed, or another file has its name: open the log again");
            }
            LockedFile.removeAbandoned(path);
            long before = frames.end;
            LogWriter next = beside(path, options, w -> w.groupsOf(groupRows, groupBytes), w -> {
                for (Frame x : frames.groups) {
                    w.copy(LogFrames.rows(source, x));
                }
                if (!frames.tail.isEmpty()) {
                    byte[] tail = frames.gather(source, options, e -> { });
                    Document made = new Document(new Mem(tail, tail.length), true);
                    w.copy(new LogFrames.Rows(made, frames.settled(), false));
                }
            });
            LockedFile old = lock;
            lock = next.lock;
            file = next.file;
            source = next.source;
            frames = next.frames;
            marked = next.marked;
            tailBytes = next.tailBytes;
            compactFrom = 0;
            old.close();
            syncName();
            return new Compacted(before, frames.end);
        });
    }

    /** Waits until the log's name is on the disk. Otherwise a power cut may bring another file back. */
    private void syncName() throws IOException {
        try {
            LockedFile.syncDirectoryOf(path);
        } catch (IOException e) {
            broken = true;
            throw e;
        }
    }

    /** A new log in a file beside another one, whose name it gets when it is filled. The caller syncs the directory. */
    private static LogWriter beside(Path path, Option[] options, Consumer<LogWriter> set, Consumer<LogWriter> fill)
        throws IOException {
        LockedFile lock = LockedFile.beside(path);
        boolean isDone = false;
        try {
            LogWriter w = new LogWriter(lock, path, options).compactAt(Long.MAX_VALUE);
            set.accept(w);
            w.beginNew();
            fill.accept(w);
            w.sync();
            w.mark();
            w.file.force(true);
            lock.rename(path);
            isDone = true;
            return w;
        } finally {
            if (!isDone) {
                lock.remove();
            }
        }
    }

    /** Adds rows of another log: as they are where they are many. */
    private void copy(LogFrames.Rows rows) {
        Document all = rows.document();
        boolean isLarge = rows.size() >= groupRows / 2 || all.size() >= groupBytes / 2;
        if (rows.isSingle()) {
            extend(List.of(all.root()));
        } else if (frames.tail.isEmpty() && isLarge && rows.size() > 0) {
            put(GROUP, all.toByteArray(), rows.size());
        } else {
            extend(all.root().elements());
        }
    }

    /**
     * Compacts the log if half of it is wasted, and as much as was set. If that fails, the rows are in the log all the
     * same, so the call that added them succeeds, unless the log is broken now.
     */
    private void compactIfWasteful() {
        long smallRows = 0, smallBytes = 0;
        for (Frame x : frames.tail) {
            if (x.rows() < SMALL_ROWS && x.size() < SMALL_BYTES) {
                smallRows += x.rows();
                smallBytes += x.size();
            }
        }
        // Few rows may wait for their group. So each row is written some eight times before that is full.
        long wasted = frames.deadBytes() + (smallRows < frames.rows() / 8 ? 0 : smallBytes);
        long others = frames.end - wasted;
        long enough = Math.max(compactAt, others);
        if (wasted < enough) {
            compactFrom = enough - wasted > Long.MAX_VALUE - frames.end ? Long.MAX_VALUE : frames.end + enough - wasted;
            return;
        }
        compactFrom = 2 * frames.end;
        if (others > MOST_BYTES) {
            return;
        }
        try {
            compact();
        } catch (LivebufException e) {
            if (broken) {
                throw e;
            }
        }
    }

    /**
     * What {@link #repair} kept.
     *
     * @param rows rows of the log now
     * @param lostRows rows whose numbers are missing, as far as frames behind them tell
     * @param lostBytes bytes that belong to no whole frame
     * @param old the damaged file, which is kept
     */
    public record Repaired(long rows, long lostRows, long lostBytes, Path old) {}

    /**
     * Writes all rows that can be read to a new log in the place of one that is damaged. The damaged file is kept
     * beside it, with {@code .damaged} behind its name, or {@code .damaged-2} and so on where files have such names.
     * Rows behind a gap get new numbers: those that follow the rows before it. It takes time by the length of the file.
     *
     * @throws LivebufException with the fault NOT_A_LOG where the file's header is damaged, or what the system reports.
     *     Nothing is changed then
     */
    public static Repaired repair(Path log) {
        return io(() -> {
            Path path = log.toRealPath();
            try (LockedFile lock = LockedFile.take(path)) {
                LogSource source = LogSource.of(lock.channel);
                LogFrames.Readable found = LogFrames.readable(source);
                Path[] old = new Path[1];
                long[] lost = new long[1];
                LogWriter w = beside(path, new Option[0], each -> { }, each -> {
                    long next = 0;
                    for (Frame x : found.frames()) {
                        lost[0] += Math.max(x.first() - next, 0);
                        next = Math.max(next, x.end());
                        each.copy(LogFrames.rows(source, x));
                    }
                    old[0] = kept(path);
                });
                try {
                    w.syncName();
                } finally {
                    w.lock.close();
                }
                long bytes = lock.channel.size() - LogFrames.HEADER_SIZE - found.bytes();
                return new Repaired(w.size(), lost[0], Math.max(bytes, 0), old[0]);
            }
        });
    }

    /** Gives a file another name, too: one that no file has. */
    private static Path kept(Path path) {
        for (int number = 1;; number++) {
            Path old = path.resolveSibling(path.getFileName() + ".damaged" + (number == 1 ? "" : "-" + number));
            try {
                try {
                    Files.createLink(old, path);
                } catch (FileAlreadyExistsException e) {
                    throw e;
                } catch (IOException | UnsupportedOperationException e) {
                    Files.copy(path, old); // the file system has no second names
                }
                return old;
            } catch (FileAlreadyExistsException e) {
                continue; // with the next name
            } catch (IOException e) {
                throw LivebufException.of(ErrorKind.IO,
                    "the damaged file cannot be kept as %s, so nothing is changed", old);
            }
        }
    }

    /** Waits until all rows are on the disk, and closes the log; see {@link #sync}. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        try {
            sync();
        } finally {
            closed = true;
            if (!broken && lock.isHeld()) {
                mark();
            }
            io(() -> {
                lock.close();
                return null;
            });
        }
    }
}
