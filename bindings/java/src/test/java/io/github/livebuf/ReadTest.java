package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What reading gives, and its exceptions. */
class ReadTest {
    private static Value read(String json) {
        return Document.open(Livebuf.fromJson(json)).validate().root();
    }

    private static LivebufException fails(ErrorKind kind, Executable call) {
        LivebufException e = assertThrows(LivebufException.class, call);
        assertEquals(kind, e.kind(), e.getMessage());
        return e;
    }

    @Test
    void filesThatCannotBeOpenedAreNamed(@TempDir Path folder) {
        Path none = folder.resolve("none.lbuf");
        for (Executable call : List.<Executable>of(() -> Document.open(none), () -> Document.map(none),
            () -> Log.open(none))) {
            assertEquals(none + ": there is no such file", fails(ErrorKind.IO, call).advice());
        }
        for (Executable call : List.<Executable>of(() -> Document.open(folder), () -> Document.map(folder))) {
            assertEquals(folder + " is a folder, and no document", fails(ErrorKind.IO, call).advice());
        }
    }

    @Test
    void numbersAreExact() {
        Value v = read("[1, -1, 18446744073709551615, 1.5, 1e400, 123456789012345678901234567890, -0.0, 4294967296]");
        assertEquals(1, v.get(0).asInt());
        assertEquals(-1, v.get(1).asLong());
        assertEquals(new BigInteger("18446744073709551615"), v.get(2).asBigInteger());
        assertEquals(18446744073709551615.0, v.get(2).asDouble());
        assertEquals(1.5, v.get(3).asDouble());
        assertEquals(new BigDecimal("1.5"), v.get(3).asBigDecimal());
        assertEquals(new BigDecimal("1e400"), v.get(4).asBigDecimal());
        assertEquals(new BigInteger("123456789012345678901234567890"), v.get(5).asBigInteger());
        assertEquals("-0.0", v.get(6).numberText());
        fails(ErrorKind.WRONG_TYPE, () -> v.get(2).asLong());
        fails(ErrorKind.WRONG_TYPE, () -> v.get(3).asLong());
        fails(ErrorKind.WRONG_TYPE, () -> v.get(4).asDouble());
        fails(ErrorKind.WRONG_TYPE, () -> v.get(4).asBigInteger());
        fails(ErrorKind.WRONG_TYPE, () -> v.get(7).asInt());
        fails(ErrorKind.NOT_FOUND, () -> v.get(8).asInt());
    }

    @Test
    void floatsPrintAsTheirShortestDigits() {
        String[] texts = {"0.0", "-0.0", "1.0", "0.1", "0.00001", "9.99e-6", "1e-5", "1000000000000000.0", "1e+16",
            "5e-324", "2.2250738585072014e-308", "1.7976931348623157e+308", "9007199254740993.0", "2e-44", "1e+23",
            "8.41e+21", "9.5e-300", "4.35", "0.3", "1.23e+22", "9.409340012568248e+18"};
        for (String text : texts) {
            String want = text.equals("1e-5") ? "0.00001" : text.replace("93.0", "92.0");
            assertEquals(want, Json.floatText(Double.parseDouble(text)));
        }
        Random random = new Random(1);
        for (int i = 0; i < 20_000; i++) {
            double x = Double.longBitsToDouble(random.nextLong());
            if (Double.isFinite(x)) {
                assertEquals(x, Double.parseDouble(Json.floatText(x)));
                assertTrue(Json.floatText(x).length() <= Double.toString(x).length() + 2);
            }
        }
    }

    @Test
    void pointersAreThoseOfRfc6901() {
        Value v = read("{\"\": 1, \"a/b\": 2, \"m~n\": 3, \"x\": [10, [11]], \"~1\": 4, \"01\": 5}");
        assertEquals("1", v.pointer("/").toJson());
        assertEquals("2", v.pointer("/a~1b").toJson());
        assertEquals("3", v.pointer("/m~0n").toJson());
        assertEquals("11", v.pointer("/x/1/0").toJson());
        assertEquals("4", v.pointer("/~01").toJson());
        assertEquals("5", v.pointer("/01").toJson());
        assertEquals(v.toJson(), v.pointer("").toJson());
        assertFalse(v.pointer("/x/01").exists() || v.pointer("/x/-").exists() || v.pointer("/x/").exists()
            || v.pointer("/x/99999999999").exists() || v.pointer("/no/way/0").exists());
        for (String bad : new String[] {"x", "/~", "/~2", "/a~", "/~~10", "no/way"}) {
            fails(ErrorKind.BAD_POINTER, () -> v.pointer(bad));
        }
    }

    @Test
    void keysMustBeText() {
        Value v = read("{\"?\": 1, \"\\ud83d\\ude00\": 2}");
        assertEquals(2, v.get("\ud83d\ude00").asInt());
        fails(ErrorKind.BAD_TEXT, () -> v.get("\ud83d"));
        fails(ErrorKind.BAD_TEXT, () -> Key.of("\ude00\ud83d"));
        assertEquals(Key.of("a longer key"), Key.of("a longer key"));
        assertEquals("a longer key", Key.of("a longer key").toString());
    }

    @Test
    void whatIsDeepIsReadOnASmallStack() throws Exception {
        String deep = "[".repeat(1000) + "]".repeat(1000);
        String objects = "{\"a\":[".repeat(499) + "1" + "]}".repeat(499);
        byte[] made = Livebuf.fromJson(deep);
        byte[] other = Livebuf.fromJson(objects);
        Throwable[] failure = new Throwable[1];
        Thread thread = new Thread(null, () -> {
            assertEquals(deep, Document.open(made).validate().toJson());
            assertEquals(objects, Document.open(other).validate().toJson());
        }, "small", 256 << 10);
        thread.setUncaughtExceptionHandler((t, e) -> failure[0] = e);
        thread.start();
        thread.join();
        assertEquals(null, failure[0]);
    }

    @Test
    void iteratorsEnd() {
        var it = read("{\"a\": 1}").members().iterator();
        assertTrue(it.hasNext() && it.hasNext());
        assertEquals("a", it.next().key());
        assertFalse(it.hasNext());
        assertThrows(NoSuchElementException.class, it::next);
        assertFalse(read("1").members().iterator().hasNext() || read("1").elements().iterator().hasNext()
            || read("1").range("", "").iterator().hasNext() || Value.MISSING.keys().iterator().hasNext());
    }

    @Test
    void columnsSayWhichValueDoesNotFit() {
        Value v = read("[{\"a/b\": 1, \"c\": {\"d\": 2.5}}, {\"a/b\": 300, \"c\": null}, {\"a/b\": \"x\", \"c\": {}}]");
        assertEquals("/2/a~1b", fails(ErrorKind.WRONG_TYPE, () -> v.column("a/b").toInts()).path());
        assertArrayEquals(new double[] {2.5, 0, 0}, v.column("c", "d").toDoubles());
        assertTrue(v.column("c", "d").has(0) && !v.column("c", "d").has(1) && !v.column("c", "d").hasAll());
        fails(ErrorKind.WRONG_TYPE, () -> read("1").column());
        fails(ErrorKind.WRONG_TYPE, () -> v.column("a/b").slots());
        fails(ErrorKind.NOT_FOUND, () -> Value.MISSING.column());
    }

    @Test
    void bytesBehindAndBeforeADocumentAreNoPartOfIt(@TempDir Path folder) throws Exception {
        byte[] bytes = Livebuf.fromJson("{\"a\": [1, 2, \"a longer text\"]}");
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length + 20).order(ByteOrder.BIG_ENDIAN);
        direct.position(7);
        direct.put(bytes).position(7);
        Document doc = Document.open(direct).validate();
        assertEquals(bytes.length, doc.size());
        assertEquals(7, direct.position());
        assertEquals("a longer text", doc.pointer("/a/2").asText());
        assertArrayEquals(bytes, doc.toByteArray());
        assertTrue(doc.buffer().isReadOnly());
        assertEquals(ByteBuffer.wrap(bytes), doc.buffer());

        Path file = folder.resolve("a.lbuf");
        Files.write(file, Arrays.copyOf(bytes, bytes.length + 100));
        assertEquals("2", Document.map(file).pointer("/a/1").toJson());
        Files.write(file, new byte[0]);
        fails(ErrorKind.NOT_A_DOCUMENT, () -> Document.map(file));
        fails(ErrorKind.IO, () -> Document.map(folder.resolve("none")));
        fails(ErrorKind.TRUNCATED, () -> Document.open(Arrays.copyOf(bytes, bytes.length - 8)));
        fails(ErrorKind.TRUNCATED, () -> Document.open(Arrays.copyOf(bytes, 20)));
        bytes[23] = (byte) 0x80;
        fails(ErrorKind.DOCUMENT_LIMIT, () -> Document.open(bytes));
    }

    @Test
    void printingHasALimit() {
        Value v = read("[\"a text\", \"another one\"]");
        assertEquals("[\"a text\",\"another one\"]", new String(Json.print(v, false, 24), Json.UTF_8));
        for (int most = 1; most < 24; most++) {
            int limit = most;
            fails(ErrorKind.BUDGET_EXCEEDED, () -> Json.print(v, false, limit));
        }
        fails(ErrorKind.NOT_FOUND, () -> v.get(2).toJson());
        assertEquals("a text", v.get(0).toString());
    }
}
