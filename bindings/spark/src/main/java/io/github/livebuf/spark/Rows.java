package io.github.livebuf.spark;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

import org.apache.spark.sql.types.StructType;

import io.github.livebuf.Document;
import io.github.livebuf.Livebuf;
import io.github.livebuf.LivebufException;
import io.github.livebuf.Log;
import io.github.livebuf.LogSource;
import io.github.livebuf.Value;

/** The rows of a file: of an array in a document, or of a log. */
abstract class Rows implements AutoCloseable {
    /** Most rows of a block. Filters pass over whole blocks, and so does what is damaged. */
    static final int BLOCK = 65_536;

    private static final int LOG_MAGIC = 0xab4c424c; // the first bytes of a log, the highest byte first

    /**
     * Some rows that lie behind each other in an array.
     *
     * @param array the array; of a log a group
     * @param first the first of the rows in it
     * @param count how many they are
     * @param row the number of the first one in the file
     * @param isValid whether all of the array was validated
     */
    record Block(Value array, int first, int count, long row, boolean isValid) {
        /** The block in parts of at most BLOCK rows. */
        private Stream<Block> parts() {
            return LongStream.iterate(0, i -> i < count, i -> i + BLOCK).mapToObj(i ->
                new Block(array, first + (int) i, (int) Math.min(BLOCK, count - i), row + i, isValid));
        }
    }

    final String name;

    private Rows(String name) {
        this.name = name;
    }

    /** How many there are. */
    abstract long size();

    /** The rows from one number up to another one. A document's are looked up, a log's are read when they come. */
    abstract Iterator<Block> blocks(long from, long to);

    /** The same, and what is damaged is passed over; the work is told of it. */
    abstract Iterator<Block> soundBlocks(long from, long to, Consumer<DataException> damaged);

    /** The columns of all rows; null if there are none. */
    final StructType schema(Files files) {
        StructType joined = null;
        Value last = null;
        Iterator<Block> all = files.options.skips()
            ? soundBlocks(0, Long.MAX_VALUE, files::warn) : blocks(0, Long.MAX_VALUE);
        while (all.hasNext()) {
            Block block = all.next();
            if (block.array() != last) {
                last = block.array();
                StructType found = schema(last);
                joined = joined == null ? found : Found.join(joined, found);
            }
        }
        return joined;
    }

    /** The columns of an array of rows. */
    final StructType schema(Value array) {
        try {
            return Found.schema(array);
        } catch (LivebufException e) {
            throw DataException.at(name, e);
        } catch (IllegalArgumentException e) {
            throw DataException.wrong(name, e.getMessage());
        }
    }

    @Override
    public abstract void close();

    /** Opens a file. Its first bytes tell a document from a log. */
    static Rows open(FileSystem fs, Path path, String table) throws IOException {
        String name = path.toString();
        if (Files.isLocal(name)) {
            java.nio.file.Path file = java.nio.file.Path.of(path.toUri().getPath());
            boolean isLog;
            try (DataInputStream in = new DataInputStream(java.nio.file.Files.newInputStream(file))) {
                isLog = in.available() >= 4 && in.readInt() == LOG_MAGIC;
            }
            return isLog ? new OfLog(name, Log.open(file), null) : new OfDocument(name, Document.map(file), table);
        }
        long size = fs.getFileStatus(path).getLen();
        FSDataInputStream in = fs.open(path);
        try {
            if (size >= 4 && in.readInt() == LOG_MAGIC) {
                return new OfLog(name, Log.open(source(in, size)), in);
            }
            byte[] all = new byte[(int) Math.min(size, Integer.MAX_VALUE - 8)];
            in.readFully(0, all);
            in.close();
            return new OfDocument(name, Document.open(all), table);
        } catch (IOException | RuntimeException e) {
            in.close();
            throw e;
        }
    }

    private static LogSource source(FSDataInputStream in, long size) {
        return new LogSource() {
            @Override
            public long size() {
                return size;
            }

            @Override
            public byte[] read(long offset, int count) {
                byte[] bytes = new byte[(int) Math.max(Math.min(count, size - offset), 0)];
                try {
                    in.readFully(offset, bytes);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                return bytes;
            }
        };
    }

    /** An array of a document, which is not validated: what is damaged shows when it is read. */
    private static final class OfDocument extends Rows {
        private final Value array;

        OfDocument(String name, Document doc, String table) {
            super(name);
            array = doc.pointer(table);
            if (!array.isArray()) {
                throw DataException.wrong(name, array.exists()
                    ? "the value at \"" + table + "\" is no array of rows: the option table says where it is"
                    : "there is nothing at \"" + table + "\": the option table says where the rows are");
            }
        }

        @Override
        long size() {
            return array.size();
        }

        @Override
        Iterator<Block> blocks(long from, long to) {
            int end = (int) Math.min(to, array.size());
            return new Block(array, (int) from, (int) Math.max(end - from, 0), from, false).parts().iterator();
        }

        @Override
        Iterator<Block> soundBlocks(long from, long to, Consumer<DataException> damaged) {
            return blocks(from, to);
        }

        @Override
        public void close() {
            // The mapping ends with its last value.
        }
    }

    /** The rows of a log. A group is checked and validated when it is read. */
    private static final class OfLog extends Rows {
        private final Log log;
        private final FSDataInputStream in; // null if the file is local

        OfLog(String name, Log log, FSDataInputStream in) {
            super(name);
            this.log = log;
            this.in = in;
        }

        @Override
        long size() {
            return log.size();
        }

        @Override
        Iterator<Block> blocks(long from, long to) {
            Iterator<Block> found = StreamSupport.stream(log.groups(from, to).spliterator(), false)
                .flatMap(g -> block(g, from, to).parts()).iterator();
            return new Iterator<>() {
                @Override
                public boolean hasNext() {
                    try {
                        return found.hasNext();
                    } catch (LivebufException e) {
                        throw DataException.at(name, e);
                    }
                }

                @Override
                public Block next() {
                    hasNext();
                    return found.next();
                }
            };
        }

        private static Block block(Log.Group g, long from, long to) {
            Value rows = g.rows();
            if (g.size() == 1 && !rows.isArray()) { // it is the row itself
                rows = Document.open(Livebuf.encode(List.of(rows))).root();
            }
            int first = (int) Math.max(from - g.first(), 0);
            int end = (int) Math.min(to - g.first(), g.size());
            return new Block(rows, first, end - first, g.first() + first, true);
        }

        /** Group by group; the rows behind the last group by what was written in one call, so one by one. */
        @Override
        Iterator<Block> soundBlocks(long from, long to, Consumer<DataException> damaged) {
            List<Block> all = new ArrayList<>();
            long end = Math.min(to, log.size());
            for (long row = from; row < end;) {
                try {
                    Log.Group group = log.groups(row, row + 1).iterator().next();
                    long next = Math.min(group.first() + group.size(), end);
                    all.add(block(group, row, next));
                    row = next;
                } catch (LivebufException e) {
                    row = soundTail(row, end, all, damaged);
                }
            }
            return all.stream().flatMap(Block::parts).iterator();
        }

        /** Takes rows one by one up to and with a damaged frame; the row behind it. */
        private long soundTail(long from, long end, List<Block> all,
            Consumer<DataException> damaged) {
            List<Value> rows = new ArrayList<>();
            long next = from;
            LivebufException fault = null;
            for (; next < end && fault == null; next += fault == null ? 1 : 0) {
                fault = fault(next);
                if (fault == null) {
                    rows.add(log.get(next));
                }
            }
            if (!rows.isEmpty()) {
                Value array = Document.open(Livebuf.encode(rows)).root();
                all.add(new Block(array, 0, rows.size(), from, true));
            }
            if (fault == null) {
                return next;
            }
            damaged.accept(DataException.at(name + ", row " + next, fault));
            // Looks for the first row that is not in the damaged frame.
            long low = next + 1;
            for (long high = end; low < high;) {
                long middle = (low + high) >>> 1;
                LivebufException there = fault(middle);
                if (there != null && there.offset() == fault.offset()) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            return low;
        }

        /** Why a row cannot be read, or null. */
        private LivebufException fault(long row) {
            try {
                log.get(row);
                return null;
            } catch (LivebufException e) {
                return e;
            }
        }

        @Override
        public void close() {
            log.close();
            if (in != null) {
                try {
                    in.close();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }
}
