package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Documents that are elsewhere are as whole ones, and fetch what is read. */
class PartialTest {
    @TempDir
    Path folder;

    private HttpServer server;

    /** A source of bytes that counts, and may fail. */
    private static final class Counted implements Partial.Source {
        byte[] data;
        int reads;
        IOException failure;

        Counted(byte[] data) {
            this.data = data;
        }

        @Override
        public byte[] read(long offset, int count) throws IOException {
            reads++;
            if (failure != null) {
                throw failure;
            }
            return LogSource.of(data).read(offset, count);
        }
    }

    private static byte[] orError(java.util.function.Supplier<byte[]> what) {
        try {
            return what.get();
        } catch (LivebufException e) {
            return e.getMessage().getBytes(Json.UTF_8);
        }
    }

    private static byte[] valid(Document doc) {
        return orError(() -> doc.validate().root().exists() ? new byte[1] : new byte[0]);
    }

    @Test
    void partialDocumentsAreAsWholeOnes() throws IOException {
        int n = 0;
        List<Path> all = new ArrayList<>(VectorsTest.documents("vectors", ""));
        all.addAll(VectorsTest.documents("frozen", ""));
        for (Path file : all) {
            byte[] data = Files.readAllBytes(file);
            Document doc;
            try {
                doc = Document.open(data);
            } catch (LivebufException e) {
                if (data.length >= 4096 && e.kind() == ErrorKind.TRUNCATED) {
                    continue; // only who reads behind the first page finds that
                }
                LivebufException same = assertThrows(LivebufException.class,
                    () -> Partial.open(new Counted(data), 1), file.toString());
                assertEquals(e.getMessage(), same.getMessage());
                continue;
            }
            Partial p = Partial.open(new Counted(data), 1);
            assertEquals(doc.size(), p.size());
            assertArrayEquals(orError(() -> Json.print(doc.root(), true, 1 << 20)),
                orError(() -> Json.print(p.document().root(), true, 1 << 20)), file.toString());
            assertArrayEquals(valid(doc), valid(p.document()), file.toString());
            assertArrayEquals(doc.toByteArray(), p.document().toByteArray());
            n += p.requests() > 1 ? 1 : 0;
            p.close();
        }
        assertTrue(n >= 20, "only " + n + " documents of several pages");
    }

    @Test
    void bytesAcrossPagesAreTheSame() {
        byte[] data = new byte[3 * 4096 + 100];
        new Random(1).nextBytes(data);
        Mem whole = new Mem(data, data.length);
        Mem parts = new Mem(new Pages(new Counted(data), 4096, data.length));
        for (int at = 4096 - 20; at < 4096 + 20; at++) {
            assertEquals(whole.u8(at), parts.u8(at));
            assertEquals(whole.u16(at), parts.u16(at));
            assertEquals(whole.u32(at), parts.u32(at));
            assertEquals(whole.u64(at), parts.u64(at));
            assertArrayEquals(whole.copy(at, 8000), parts.copy(at, 8000));
            assertEquals(whole.slice(at, 9).getLong(0), parts.slice(at, 9).getLong(0));
        }
        assertEquals(0, parts.u64(data.length - 7));
    }

    /** A document of many pages, each of whose users has an id, a name and a text. */
    private static byte[] large() {
        record User(int id, String name, String text) {}
        return Livebuf.encode(Map.of("users", IntStream.range(0, 5000)
            .mapToObj(i -> new User(i, "user " + i, i + " " + "text ".repeat(300))).toList()));
    }

    private static String name(Partial p, int i) {
        return p.document().root().get("users").get(i).get("name").asText();
    }

    @Test
    void theyFetchWhatIsRead() {
        byte[] data = large();
        Counted source = new Counted(data);
        Partial p = Partial.open(source, 0x10000);
        for (int i = 4000; i < 4003; i++) {
            assertEquals("user " + i, name(p, i));
        }
        assertTrue(p.requests() == source.reads && p.requests() <= 8 && p.fetched() <= data.length / 8,
            p.requests() + " requests, " + p.fetched() + " of " + data.length + " bytes");
        // All of a column.
        assertEquals(4999 * 5000 / 2,
            p.document().root().get("users").column("id").stream().mapToInt(Value::asInt).sum());
        // Errors of the source; afterwards one tries again.
        source.failure = new IOException("the line is cut");
        LivebufException e = assertThrows(LivebufException.class, () -> p.document().validate());
        assertTrue(e.kind() == ErrorKind.IO && e.getMessage().contains("the line is cut"), e.getMessage());
        source.failure = null;
        source.data = Arrays.copyOf(data, data.length / 2);
        assertEquals(ErrorKind.TRUNCATED,
            assertThrows(LivebufException.class, () -> p.document().validate()).kind());
        source.data = data;
        p.prefetch(-5, data.length / 3);
        int before = source.reads;
        p.document().validate();
        assertTrue(source.reads - before <= 20, source.reads - before + " requests");
        source.failure = new IOException("all is here");
        p.document().validate();
        p.close();
        p.close();
        assertEquals(ErrorKind.IO, assertThrows(LivebufException.class, () -> name(p, 1)).kind());
    }

    @Test
    void whoReadsOnNeedsFewRequests() {
        byte[] data = large();
        Partial p = Partial.open(new Counted(data), 4096);
        assertEquals(Document.open(data).toJson(), p.document().toJson());
        assertTrue(p.requests() < 150, p.requests() + " requests for " + data.length / 4096 + " pages");
    }

    @Test
    void threadsMayReadOneDocument() throws InterruptedException {
        Partial p = Partial.open(new Counted(large()), 4096);
        AtomicReference<Throwable> failed = new AtomicReference<>();
        Thread[] all = new Thread[4];
        for (int t = 0; t < all.length; t++) {
            int start = t;
            all[t] = new Thread(() -> {
                for (int i = start; i < 5000; i += 97) {
                    assertEquals("user " + i, name(p, i));
                }
            });
            all[t].setUncaughtExceptionHandler((thread, e) -> failed.set(e));
            all[t].start();
        }
        for (Thread each : all) {
            each.join();
        }
        assertEquals(null, failed.get());
    }

    @Test
    void filesAreReadByParts() throws IOException {
        byte[] data = large();
        Path file = folder.resolve("large.lbuf");
        Files.write(file, data);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            Partial p = Partial.open(channel);
            assertEquals("user 4000", name(p, 4000));
            assertTrue(p.fetched() < data.length / 8);
            channel.truncate(data.length / 2);
            LivebufException e = assertThrows(LivebufException.class, () -> p.document().validate());
            assertEquals(ErrorKind.TRUNCATED, e.kind());
            assertEquals("user 4000", name(p, 4000)); // whose pages are here
        }
    }

    @Test
    void damagedDocumentsDoNoHarm() throws IOException {
        Random random = new Random(6);
        List<Path> files = VectorsTest.documents("vectors", "y_");
        for (int round = 0; round < 2000; round++) {
            byte[] data = Files.readAllBytes(files.get(random.nextInt(files.size())));
            for (int k = random.nextInt(4); k >= 0; k--) {
                data[Math.min(32 + random.nextInt(data.length), data.length - 1)] = (byte) random.nextInt();
            }
            byte[] want = orError(() -> Json.print(Document.open(data).root(), true, 1 << 16));
            assertArrayEquals(want,
                orError(() -> Json.print(Partial.open(new Counted(data), 1).document().root(), true, 1 << 16)));
        }
    }

    /**
     * A header that claims almost 2 GiB made the count of pages overflow, which ended in a NegativeArraySizeException,
     * and validating took an array of all these bytes. Pages are counted in long now, and fetched some at a time.
     */
    @Test
    void aHeaderThatClaimsMuchTakesLittle() {
        int claimed = 0x7ffffff8;
        byte[] data = Arrays.copyOf(Livebuf.fromJson("[1]"), 9000);
        ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN).putInt(Layout.HEADER_USED, claimed);
        Counted all = new Counted(data);
        Partial.Source slow = (offset, count) -> all.read(offset, Math.min(count, 4096));
        for (int page : new int[] {1, 1 << 20, 1 << 30}) {
            assertEquals(claimed, Partial.open(slow, page).size());
        }
        Document doc = Partial.open(slow, 1).document();
        assertEquals("[1]", doc.toJson());
        assertEquals(ErrorKind.TRUNCATED, assertThrows(LivebufException.class, doc::validate).kind());
        Partial p = Partial.open(slow, 1);
        assertEquals(ErrorKind.TRUNCATED,
            assertThrows(LivebufException.class, () -> p.prefetch(claimed - 1, claimed)).kind());
        // The same of a text that claims a gigabyte.
        ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN).put(Layout.HEADER_ROOT_TAG, (byte) Layout.TAG_TEXT)
            .putLong(Layout.HEADER_ROOT, Layout.SPAN_OWNED | (long) Layout.MAX_SPAN << 32 | 40);
        Value text = Partial.open(slow, 1).document().root();
        assertEquals(ErrorKind.TRUNCATED, assertThrows(LivebufException.class, text::asText).kind());
    }

    // --- over HTTP

    /** How the server of a test answers. */
    private static final class Site {
        volatile byte[] data;
        volatile String tag = "\"1\"";
        volatile boolean hasRanges = true;
        volatile boolean hasTags = true;
        volatile boolean refuses;
        volatile int wrong; // by which an answer's range is wrong
        final List<String> asked = new ArrayList<>();

        void answer(HttpExchange x) throws IOException {
            try (x) {
                String range = x.getRequestHeaders().getFirst("Range");
                synchronized (asked) {
                    asked.add(range + " " + x.getRequestHeaders().getFirst("Authorization"));
                }
                byte[] all = data;
                if (hasTags) {
                    x.getResponseHeaders().set("ETag", tag);
                }
                String wanted = x.getRequestHeaders().getFirst("If-Match");
                if (refuses || hasTags && wanted != null && !wanted.equals(tag)) {
                    x.sendResponseHeaders(refuses ? 503 : 412, -1);
                } else if (hasRanges) {
                    String[] ends = range.replace("bytes=", "").split("-");
                    int from = Integer.parseInt(ends[0]);
                    int to = Math.min(Integer.parseInt(ends[1]), all.length - 1);
                    if (from >= all.length) {
                        x.sendResponseHeaders(416, -1);
                        return;
                    }
                    x.getResponseHeaders().set("Content-Range",
                        "bytes " + (from + wrong) + "-" + to + "/" + all.length);
                    x.sendResponseHeaders(206, to + 1 - from);
                    x.getResponseBody().write(all, from, to + 1 - from);
                } else {
                    x.sendResponseHeaders(200, all.length);
                    x.getResponseBody().write(all);
                }
            }
        }
    }

    private URI serve(Site site) throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/users.lbuf", site::answer);
        server.start();
        return URI.create("http://localhost:" + server.getAddress().getPort() + "/users.lbuf");
    }

    @AfterEach
    void stop() {
        if (server != null) {
            server.stop(0);
        }
    }

    @Test
    void documentsAreReadOverHttp() throws IOException {
        Site site = new Site();
        site.data = large();
        URI uri = serve(site);
        try (Partial p = Partial.open(uri)) {
            assertEquals("user 4711", name(p, 4711));
            assertTrue(p.requests() == site.asked.size() && p.fetched() < site.data.length / 8);
            p.document().validate();
            assertEquals(site.data.length, p.fetched());
        }
        HttpRequest request = HttpRequest.newBuilder(uri).header("Authorization", "Bearer x").build();
        site.asked.clear();
        try (Partial p = Partial.open(HttpClient.newHttpClient(), request, 5000)) {
            assertEquals("user 4711", name(p, 4711));
            assertEquals("bytes=0-8191 Bearer x", site.asked.get(0));
        }
    }

    @Test
    void aServerWithoutRangesSendsAllOfIt() throws IOException {
        Site site = new Site();
        site.data = large();
        site.hasRanges = false;
        try (Partial p = Partial.open(serve(site))) {
            assertEquals("user 4711", name(p, 4711));
            p.document().validate();
            assertEquals(1, site.asked.size());
        }
    }

    @Test
    void aFileThatChangesIsAnError() throws IOException {
        Site site = new Site();
        site.data = large();
        URI uri = serve(site);
        for (int kind = 0; kind < 3; kind++) {
            Partial p = Partial.open(uri);
            assertEquals("user 4711", name(p, 4711));
            switch (kind) {
                case 0 -> site.tag = "\"2\"";
                case 1 -> site.hasRanges = false;
                default -> {
                    site.hasTags = false;
                    site.data = Arrays.copyOf(site.data, site.data.length + 8);
                }
            }
            LivebufException e = assertThrows(LivebufException.class, () -> p.document().validate());
            assertTrue(e.kind() == ErrorKind.IO && e.getMessage().contains("changed"), e.getMessage());
            assertEquals("user 4711", name(p, 4711)); // whose pages are here
            site.hasRanges = true;
        }
        // Without tags, by the length.
        Partial p = Partial.open(uri);
        site.data = Arrays.copyOf(site.data, site.data.length + 8);
        assertThrows(LivebufException.class, () -> p.document().validate());
    }

    @Test
    void otherAnswersAreErrors() throws IOException {
        Site site = new Site();
        site.data = large();
        URI uri = serve(site);
        Partial p = Partial.open(uri);
        site.wrong = 1;
        assertTrue(assertThrows(LivebufException.class, () -> name(p, 10)).getMessage().contains("range"));
        site.wrong = 0;
        site.refuses = true;
        assertTrue(assertThrows(LivebufException.class, () -> name(p, 10)).getMessage().contains("503"));
        assertTrue(assertThrows(LivebufException.class, () -> Partial.open(uri)).getMessage().contains("503"));
        site.refuses = false;
        assertEquals("user 10", name(p, 10)); // it is tried again
        site.data = Arrays.copyOf(site.data, site.data.length / 2);
        Partial cut = Partial.open(uri);
        assertEquals(ErrorKind.TRUNCATED, assertThrows(LivebufException.class, () -> cut.document().validate()).kind());
        server.stop(0);
        LivebufException e = assertThrows(LivebufException.class, () -> Partial.open(uri));
        assertEquals(ErrorKind.IO, e.kind());
        assertNotNull(e.getCause());
        site.data = "{}".getBytes(Json.UTF_8);
        assertEquals(ErrorKind.NOT_A_DOCUMENT, assertThrows(LivebufException.class,
            () -> Partial.open(serve(site))).kind());
    }
}
