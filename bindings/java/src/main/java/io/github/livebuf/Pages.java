package io.github.livebuf;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The bytes of a document that is elsewhere, in pages that are fetched when they are read, and kept. */
final class Pages {
    private static final int MOST = 16 << 20; // bytes that one request asks for, unless a page is more

    final int mask; // of an offset in its page, or in what bytes gives
    private final Partial.Source source;
    private final int page; // bytes of one, a power of two
    private final int most; // pages of one request
    private final int size;
    private final AtomicReferenceArray<ByteBuffer> pages;
    private int requests;
    private long fetched;
    private boolean closed;

    Pages(Partial.Source source, int page, int size) {
        this.source = source;
        this.page = page;
        this.size = size;
        mask = page - 1;
        most = Math.max(MOST / page, 1);
        pages = new AtomicReferenceArray<>(pagesOf(size));
    }

    /** How many pages the first bytes of the document take. They may be almost 2 GiB, which a header just claims. */
    private int pagesOf(int bytes) {
        return (int) (((long) bytes + page - 1) / page);
    }

    int size() {
        return size;
    }

    synchronized int requests() {
        return requests;
    }

    synchronized long fetched() {
        return fetched;
    }

    synchronized void close() {
        closed = true;
        for (int i = 0; i < pages.length(); i++) {
            pages.set(i, null);
        }
    }

    /** The page of so many bytes, which stand in it from {@code at & mask} on. They lie in the document. */
    ByteBuffer bytes(int at, int count) {
        if ((at & mask) + count <= page) {
            return page(at / page);
        }
        ByteBuffer both = ByteBuffer.allocate((at & mask) + count).order(ByteOrder.LITTLE_ENDIAN);
        copy(at, both.array(), at & mask, count);
        return both;
    }

    private ByteBuffer page(int i) {
        ByteBuffer here = pages.getAcquire(i);
        return here != null ? here : fetched(i);
    }

    /** Fetches bytes of several pages by few requests, before memory is taken for what the header only claims. */
    void expect(int at, int count) {
        if (count > page) {
            fetch(at, at + count);
        }
    }

    /** Copies bytes that lie in the document. */
    void copy(int at, byte[] to, int start, int count) {
        expect(at, count);
        for (int done = 0; done < count;) {
            int from = at + done & mask;
            int n = Math.min(count - done, page - from);
            page((at + done) / page).get(from, to, start + done, n);
            done += n;
        }
    }

    /**
     * Fetches a page. Where pages beside it are here, somebody reads on: then as many come with it as are here in a
     * row, so that reading all of a document takes few requests, in whatever order its parts lie.
     */
    private synchronized ByteBuffer fetched(int i) {
        if (pages.get(i) == null) {
            int before = 0;
            while (before < most && i - before > 0 && pages.get(i - before - 1) != null) {
                before++;
            }
            int behind = 0;
            while (before == 0 && behind < most && i + behind + 1 < pages.length()
                && pages.get(i + behind + 1) != null) {
                behind++;
            }
            int from = Math.max(i - Math.max(behind - 1, 0), 0);
            fetchPages(from, (int) Math.min((long) i + Math.max(before, 1), pages.length()));
        }
        return pages.get(i);
    }

    /**
     * Fetches the pages of a range that are not here, neighbours by one request, unless they are very many: what the
     * header claims takes no memory before it arrives.
     */
    synchronized void fetch(int from, int to) {
        if (from < to) {
            fetchPages(from / page, pagesOf(to));
        }
    }

    private void fetchPages(int from, int to) {
        for (int i = from; i < to; i++) {
            int start = i;
            while (i < to && i < start + most && pages.get(i) == null) {
                i++;
            }
            if (start < i) {
                fetchRun(start, i--);
            }
        }
    }

    private void fetchRun(int from, int to) {
        if (closed) {
            throw LivebufException.of(ErrorKind.IO, "the partial document is closed: open it again");
        }
        long start = (long) from * page;
        byte[] all = new byte[(int) (Math.min((long) to * page, size) - start)];
        for (int done = 0; done < all.length;) { // a source may give less than it is asked for
            byte[] part = read(source, start + done, all.length - done);
            requests++;
            fetched += part.length;
            if (part.length == 0) {
                throw LivebufException.at(ErrorKind.TRUNCATED, start + done,
                    "the document has %d bytes, and its source ends after %d of them", size, start + done);
            }
            System.arraycopy(part, 0, all, done, part.length);
            done += part.length;
        }
        put(from, all);
    }

    /** Takes up the bytes of the first pages, which were fetched to see how long the document is. */
    synchronized void begin(byte[] bytes) {
        requests = 1;
        fetched = bytes.length;
        int whole = bytes.length >= size ? size : bytes.length & -page;
        put(0, Arrays.copyOf(bytes, whole));
    }

    private void put(int from, byte[] all) {
        for (int i = 0; i < pagesOf(all.length); i++) {
            int at = i * page;
            int count = Math.min(page, all.length - at);
            pages.setRelease(from + i, ByteBuffer.wrap(all, at, count).slice().order(ByteOrder.LITTLE_ENDIAN));
        }
    }

    /** What a source gives: as many bytes as it was asked for at most. */
    static byte[] read(Partial.Source source, long at, int count) {
        try {
            byte[] part = source.read(at, count);
            return part.length <= count ? part : Arrays.copyOf(part, count);
        } catch (IOException e) {
            throw LivebufException.io(e);
        }
    }
}
