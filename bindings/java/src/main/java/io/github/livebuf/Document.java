package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;
import static io.github.livebuf.Layout.*;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32;

/**
 * A document that is read where its bytes lie. Any number of threads may read it at a time, as long as nobody changes
 * the bytes.
 */
public final class Document extends Segments {
    final Mem m; // the used bytes
    boolean valid; // whether they were validated, or made by this library
    boolean isStale; // whether an editor has changed them since

    Document(Mem m, boolean valid) {
        this.m = m;
        this.valid = valid;
    }

    /**
     * Opens a document that is in memory. It looks at the 32 bytes of its header and copies nothing, so the bytes must
     * not change while the document is read, unless by an editor. Bytes behind the document are no part of it.
     *
     * <p>Nothing else is checked. In bytes that others made, a value may turn out to be damaged when it is read: that
     * is then an exception, and nothing worse.
     *
     * @throws LivebufException of kind NOT_A_DOCUMENT, UNSUPPORTED_VERSION, UNSUPPORTED_FEATURE, TRUNCATED, BAD_COUNT
     *     or MISALIGNED (FORMAT 2); of kind DOCUMENT_LIMIT if the document is longer than 2 GiB, which Java's arrays
     *     cannot hold
     */
    public static Document open(byte[] bytes) {
        return new Document(header(new Mem(bytes, bytes.length)), false);
    }

    /**
     * Opens a document that begins at the position of a buffer and ends before its limit; see {@link #open(byte[])}.
     * The buffer's position stays as it is. A buffer that is direct or mapped is read where it is.
     */
    public static Document open(ByteBuffer buffer) {
        return new Document(header(new Mem(buffer)), false);
    }

    /**
     * Maps a file into memory and opens the document that it begins with. Only the pages that are looked at are read.
     * If an edit of another program was interrupted and its journal is complete (LOG 9), the document is as after the
     * edit; nothing is written.
     *
     * <p>The file must not be written over or cut while the document is in use. To replace it, rename a new one over
     * it. Java has no lock that the libraries of other languages see, so where they edit the file in place, read it
     * between their edits, by {@link #open(Path)}. The mapping ends when the document and its values are collected as
     * garbage.
     *
     * @throws LivebufException as {@link #open(byte[])}, and of kind IO if the file cannot be read
     */
    public static Document map(Path file) {
        return open(file, channel -> channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()));
    }

    /**
     * Reads the whole file into memory and opens the document that it begins with; see {@link #map}, which loads only
     * what is looked at. Afterwards the file may be changed, cut or removed.
     *
     * @throws LivebufException as {@link #map}
     */
    public static Document open(Path file) {
        return open(file, channel -> ByteBuffer.wrap(Channels.newInputStream(channel).readAllBytes()));
    }

    private interface Bytes {
        ByteBuffer of(FileChannel file) throws IOException;
    }

    private static Document open(Path file, Bytes bytes) {
        if (Files.isDirectory(file)) {
            throw LivebufException.of(IO, "%s is a folder, and no document", file);
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            if (channel.size() > MAX_USED) {
                throw LivebufException.of(DOCUMENT_LIMIT, "the file has 2 GiB or more, which Java cannot hold at once");
            }
            Mem m = new Mem(bytes.of(channel));
            byte[] edited = withJournal(m);
            return edited == null ? new Document(header(m), false) : open(edited);
        } catch (IOException e) {
            throw LivebufException.io(e);
        }
    }

    /** The document of a file with its journal's changes; null if the file has no complete journal (LOG 9). */
    private static byte[] withJournal(Mem m) {
        long end = m.size - 32L;
        if (end < HEADER_SIZE || m.i32(0) != MAGIC || m.u8(HEADER_VERSION) != VERSION
            || m.u64(end + 24) != 0x1_4a424cabL || m.u32(end + 16) != 0) {
            return null;
        }
        long length = m.u64(end);
        long used = m.u32(end + 8);
        long first = m.size - length;
        if (length < 32 || first < HEADER_SIZE || length > m.size || used < HEADER_SIZE || used > first) {
            return null;
        }
        CRC32 crc = new CRC32();
        crc.update(m.slice(first, length - 12));
        if (crc.getValue() != m.u32(end + 20)) {
            return null;
        }
        byte[] edited = m.copy(0, used);
        long before = 0;
        long at = first;
        for (long count = m.u32(end + 12); count > 0; count--) {
            long start = m.u32(at);
            long size = m.u32(at + 4);
            if (at + 8 + size > end || start < before || start + size > used) {
                return null;
            }
            m.copy(at + 8, edited, (int) start, (int) size);
            before = start + size;
            at += 8 + size;
        }
        return at == end && Mem.get32(edited, HEADER_USED) == used ? edited : null;
    }

    /** Checks a document's header, and makes the used bytes the size. */
    static Mem header(Mem m) {
        if (m.size < 4 && m.size > 0 && m.u8(0) == (MAGIC & 0xff) || m.size < HEADER_SIZE && m.i32(0) == MAGIC) {
            throw truncated(m.size, HEADER_SIZE);
        }
        if (m.i32(0) != MAGIC) {
            throw LivebufException.at(NOT_A_DOCUMENT, 0);
        }
        int version = m.u8(HEADER_VERSION);
        if (version != VERSION) {
            throw LivebufException.at(UNSUPPORTED_VERSION, HEADER_VERSION, version == 0
                ? "the document is of a draft before version 1: the library that wrote it can print it as JSON"
                : "the document is of a version that this library does not know: a newer one may read it");
        }
        if (m.u8(HEADER_REFUSE) != 0) {
            throw LivebufException.at(UNSUPPORTED_FEATURE, HEADER_REFUSE);
        }
        long used = m.u32(HEADER_USED);
        if (used < HEADER_SIZE) {
            throw LivebufException.at(BAD_COUNT, HEADER_USED);
        }
        if ((used & 7) != 0) {
            throw LivebufException.at(MISALIGNED, HEADER_USED);
        }
        if (used > MAX_USED) {
            throw LivebufException.at(DOCUMENT_LIMIT, HEADER_USED,
                "the document has %d bytes: in Java, one has less than 2 GiB", used);
        }
        if (used > m.size) {
            throw truncated(m.size, used);
        }
        m.size = (int) used;
        return m;
    }

    private static LivebufException truncated(long have, long need) {
        return LivebufException.at(TRUNCATED, have,
            "the document has %d bytes, and only %d are here: read the rest first", need, have);
    }

    /**
     * The value of the whole document.
     *
     * @throws LivebufException with the kind of damage
     */
    public Value root() {
        return root(null);
    }

    Value root(Value into) {
        int tag = m.u8(HEADER_ROOT_TAG);
        if (tag == TAG_NOTHING) {
            throw LivebufException.at(BAD_CODE, HEADER_ROOT_TAG);
        }
        return Read.cell(this, tag, HEADER_ROOT, into);
    }

    /** A cursor at the root, which goes to values without making objects. */
    public Cursor cursor() {
        return new Cursor(this);
    }

    /** The value at a JSON pointer (RFC 6901), such as {@code "/users/0/name"}; see {@link Value#pointer}. */
    public Value pointer(String pointer) {
        return root().pointer(pointer);
    }

    /** How many bytes the document has. */
    public int size() {
        return m.size;
    }

    /** The document's bytes, where they lie; they cannot be changed through this buffer. */
    public ByteBuffer buffer() {
        return m.slice(0, m.size).asReadOnlyBuffer();
    }

    /** A copy of the document's bytes. */
    public byte[] toByteArray() {
        return m.copy(0, m.size);
    }

    /**
     * Checks that the document is valid (FORMAT 9). In a valid document every answer is right, and it can be edited. It
     * takes time by the document's length, and a quarter of its bytes as memory. Nobody may read the document
     * meanwhile, since it is marked as valid afterwards.
     *
     * @return the document
     * @throws LivebufException with the kind of the first problem that is met, and its offset
     */
    public Document validate() {
        valid = false;
        m.fetchAll();
        Validator.check(this);
        valid = true;
        return this;
    }

    /** The document as JSON (FORMAT 13.2); see {@link Json#print}. */
    public String toJson() {
        return root().toJson();
    }
}
