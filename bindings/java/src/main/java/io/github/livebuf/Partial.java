package io.github.livebuf;

import static io.github.livebuf.Layout.HEADER_SIZE;
import static io.github.livebuf.Layout.HEADER_USED;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.util.Arrays;

/**
 * A document that is elsewhere, such as on a server that answers requests for ranges. Pages of it are fetched when they
 * are read, and kept:
 *
 * <pre>{@code
 * try (Partial remote = Partial.open(URI.create("https://example.org/users.lbuf"))) {
 *     String name = remote.document().pointer("/users/70000/name").asText();
 * }
 * }</pre>
 *
 * <p>Whatever reads the document may throw what the source does, in an exception of kind IO, and one of kind TRUNCATED
 * where the source ends early. Pages that were fetched stay, and reading may be tried again. Any number of threads may
 * read it; only those that fetch take turns. Buffers of its values are copies of the bytes.
 *
 * <p>The source must not change meanwhile. A server that tells its versions apart, by ETag or Last-Modified, is
 * believed: another version is an exception of kind IO. A journal at a file's end (LOG 9) is not looked at.
 */
public final class Partial implements AutoCloseable {
    private static final int PAGE = 1 << 16;
    private static final int LEAST_PAGE = 1 << 12;
    private static final int LARGEST_PAGE = 1 << 30;

    /** Where the bytes of a partial document are. */
    @FunctionalInterface
    public interface Source {
        /**
         * Some bytes from an offset on: none only if the source ends there, and never more than it was asked for.
         *
         * @throws IOException what the source reports, which reading the document then throws as one of kind IO
         */
        byte[] read(long offset, int count) throws IOException;
    }

    private final Pages pages;
    private final Document document;

    private Partial(Pages pages) {
        this.pages = pages;
        document = new Document(new Mem(pages), false);
    }

    /**
     * Opens a document that a server has, by requests for ranges of 64 KiB at least. It follows redirections, and waits
     * up to a minute for each answer. If the server sends the whole file instead, that is taken, and no more is asked.
     *
     * @throws LivebufException as {@link Document#open(byte[])}, and of kind IO if the server cannot be reached, or
     *     answers something else
     */
    public static Partial open(URI uri) {
        HttpClient client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL)
            .connectTimeout(Duration.ofMinutes(1)).build();
        return open(client, HttpRequest.newBuilder(uri).timeout(Duration.ofMinutes(1)).build(), PAGE);
    }

    /**
     * The same by a client and a request of your own, which may have what the server wants to see, such as a token.
     * Each request is like that one, for a range.
     *
     * @param page bytes that are fetched at once at least; it is rounded up to a power of two from 4,096 on
     */
    public static Partial open(HttpClient client, HttpRequest request, int page) {
        return open(new HttpSource(client, request), page);
    }

    /**
     * Opens a document with which a file begins, by pages of 64 KiB. Only what is looked at is read, and the file is
     * not mapped, so that cutting it is an exception and nothing worse. The channel stays open, and is yours.
     */
    public static Partial open(FileChannel file) {
        return open((offset, count) -> {
            long left = Math.max(file.size() - offset, 0);
            ByteBuffer b = ByteBuffer.allocate((int) Math.min(left, count));
            while (b.hasRemaining() && file.read(b, offset + b.position()) > 0) {
                // goes on
            }
            return Arrays.copyOf(b.array(), b.position());
        }, PAGE);
    }

    /**
     * Opens a document of any source, by its first page.
     *
     * @param page bytes that are fetched at once at least; it is rounded up to a power of two from 4,096 on
     * @throws LivebufException as {@link Document#open(byte[])}, and of kind IO with what the source reports
     */
    public static Partial open(Source source, int page) {
        int rounded = Integer.highestOneBit(Math.min(Math.max(page, LEAST_PAGE), LARGEST_PAGE) * 2 - 1);
        byte[] start = Pages.read(source, 0, rounded);
        for (byte[] more = start; more.length > 0 && start.length < HEADER_SIZE;) {
            more = Pages.read(source, start.length, rounded - start.length);
            start = Arrays.copyOf(start, start.length + more.length);
            System.arraycopy(more, 0, start, start.length - more.length, more.length);
        }
        try {
            Document.header(new Mem(start, start.length));
        } catch (LivebufException e) {
            boolean mayHaveMore = start.length == rounded || start.length >= HEADER_SIZE
                && Pages.read(source, start.length, 1).length > 0;
            if (e.kind() != ErrorKind.TRUNCATED || !mayHaveMore) {
                throw e;
            }
        }
        Pages pages = new Pages(source, rounded, (int) new Mem(start, start.length).u32(HEADER_USED));
        pages.begin(start);
        return new Partial(pages);
    }

    /** The document, whose pages are fetched when they are read. */
    public Document document() {
        return document;
    }

    /** How many bytes the whole document has. */
    public int size() {
        return pages.size();
    }

    /** How often the source was read. */
    public int requests() {
        return pages.requests();
    }

    /** How many bytes it gave. */
    public long fetched() {
        return pages.fetched();
    }

    /**
     * Fetches the bytes from one offset up to another one that are not here, so that reading them needs no further
     * request. Neighbours come by one request for up to 16 MiB. {@link Document#validate} fetches the whole document
     * in this way.
     */
    public void prefetch(int from, int to) {
        pages.fetch(Math.max(from, 0), Math.min(to, pages.size()));
    }

    /** Gives the pages back. What reads the document afterwards is an exception of kind IO. */
    @Override
    public void close() {
        pages.close();
    }
}
