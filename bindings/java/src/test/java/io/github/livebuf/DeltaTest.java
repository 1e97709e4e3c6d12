package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Deltas lead from one state of a document to another; digests name values. */
class DeltaTest {
    private record Vector(Path file, byte[] delta, byte[] base, byte[] after) {}

    private static byte[] beside(Path file, String part) throws IOException {
        String name = file.getFileName().toString().replace(".delta", part);
        Path document = file.resolveSibling(name + ".lbuf");
        return Files.readAllBytes(Files.exists(document) ? document : file.resolveSibling(name));
    }

    private static List<Path> files(String prefix) throws IOException {
        try (Stream<Path> all = Stream.concat(Files.walk(VectorsTest.TESTDATA.resolve("deltas")),
            Files.walk(VectorsTest.TESTDATA.resolve("frozen")))) {
            return all.filter(x -> x.toString().endsWith(".delta")
                && x.getFileName().toString().startsWith("n_") == prefix.equals("n_")).toList();
        }
    }

    private static List<Vector> vectors() throws IOException {
        List<Vector> all = new ArrayList<>();
        for (Path x : files("y_")) {
            all.add(new Vector(x, Files.readAllBytes(x), beside(x, ".base"), beside(x, ".after")));
        }
        assertTrue(all.size() >= 5);
        return all;
    }

    private static byte[] applied(Delta d, byte[] document) {
        return Arrays.copyOf(d.apply(document.clone()), (int) d.length());
    }

    @Test
    void deltasLeadToTheDocumentAfterwards() throws IOException {
        for (Vector x : vectors()) {
            Delta d = Delta.read(x.delta);
            assertArrayEquals(x.delta, d.toByteArray(), x.file.toString());
            assertArrayEquals(x.after, applied(d, x.base), x.file.toString());
            assertArrayEquals(d.state(), Delta.stateOf(Document.open(x.after)).orElseThrow());
            for (int n = 0; n < x.delta.length; n++) {
                byte[] cut = Arrays.copyOf(x.delta, n);
                assertThrows(LivebufException.class, () -> Delta.read(cut));
            }
            byte[] room = Arrays.copyOf(x.base, Math.max(x.base.length, x.after.length) + 64);
            assertSame(room, d.apply(room));
            if (d.digest().isPresent()) {
                d.check(x.base);
            } else {
                assertEquals(ErrorKind.NO_DIGEST, assertThrows(LivebufException.class, () -> d.check(x.base)).kind());
            }
            if (d.hasOld()) {
                assertArrayEquals(x.base, applied(Delta.read(d.invert().toByteArray()), x.after));
            } else {
                assertEquals(ErrorKind.NO_OLD_BYTES, assertThrows(LivebufException.class, d::invert).kind());
            }
            byte[] other = x.base.clone();
            other[(int) Delta.statePlace(new Mem(other, other.length))] ^= 1;
            byte[] before = other.clone();
            assertEquals(ErrorKind.WRONG_STATE, assertThrows(LivebufException.class, () -> d.apply(other)).kind());
            assertArrayEquals(before, other);
        }
    }

    @Test
    void damagedDeltasAreRefused() throws IOException {
        assertTrue(files("n_").size() >= 19);
        byte[] base = Files.readAllBytes(VectorsTest.TESTDATA.resolve("deltas/y_one_byte.base.lbuf"));
        for (Path x : files("n_")) {
            byte[] data = Files.readAllBytes(x), document = base.clone();
            // Those of n_apply_ can be read, but would lead to no document.
            Delta read = x.getFileName().toString().startsWith("n_apply_") ? Delta.read(data) : null;
            LivebufException e = assertThrows(LivebufException.class,
                () -> (read == null ? Delta.read(data) : read).apply(document), x.toString());
            assertTrue(read == null || e.kind() == ErrorKind.BAD_DELTA, x.toString());
            assertArrayEquals(base, document, x.toString());
        }
        for (int at : new int[] {6, 7}) {
            // What a document with an unknown feature has as its state does not count.
            byte[] other = base.clone();
            other[at] |= 1;
            assertTrue(Delta.stateOf(Document.open(other)).isEmpty());
        }
        Random r = new Random(1);
        for (Vector x : vectors()) {
            for (int round = 0; round < 2000; round++) {
                byte[] data = x.delta.clone();
                data[r.nextInt(data.length)] = (byte) r.nextInt();
                try {
                    Delta.read(data).apply(x.base.clone());
                } catch (LivebufException e) {
                    // as it should be
                }
            }
        }
    }

    @Test
    void deltasOfEdits() throws IOException {
        List<byte[]> all = new ArrayList<>(EditSequence.editable().values());
        for (int seed = 0; seed < 40; seed++) {
            Editor first = Editor.open(all.get(seed * 37 % all.size()).clone());
            first.beginState();
            byte[] before = first.toByteArray();
            Document.open(before).validate();
            EditSequence s = new EditSequence(before, 4 * seed);
            for (int i = 0; i < 3; i++) {
                s.step();
            }
            byte[] after = s.e.toByteArray();
            Delta d = Delta.read(Delta.between(before, after, true, true).toByteArray());
            Document.open(after).validate();
            d.check(before);
            assertArrayEquals(after, applied(d, before));
            assertArrayEquals(before, applied(d.invert(), after));
            assertArrayEquals(d.state(), Delta.between(before, s.e.toByteArray(), false, false).state());
            Editor next = Editor.open(after);
            next.set("", 1);
            assertTrue(Delta.stateOf(next.document()).isEmpty());
        }
    }

    @Test
    void aDocumentThatIsEncodedAnewKeepsAPlaceForItsState() {
        Editor e = Editor.of(Map.of("a", "x".repeat(20_000), "b", 1));
        e.beginState();
        byte[] before = e.toByteArray();
        e.set("/a", 1);
        byte[] after = e.toByteArray();
        assertTrue(after.length < 1000);
        Document.open(after).validate();
        Delta d = Delta.between(before, after, true, true);
        Document.open(after).validate();
        d.check(before);
        assertArrayEquals(after, applied(d, before));
        assertArrayEquals(before, applied(d.invert(), after));
        e.set("/c", List.of(1, 2));
        byte[] next = e.toByteArray();
        assertArrayEquals(next, applied(Delta.between(after, next, false, false), after));
    }

    @Test
    void digestsNameValues() throws IOException {
        Document d = Document.open(Livebuf.fromJson("{\"a\":[1,null]}"));
        assertEquals("250dc2bc89b19d2c37e5cbf2b13aa71441345312020aa896e836f6b2f656c5a4",
            HexFormat.of().formatHex(Digest.of(d.root())));
        for (byte[] data : EditSequence.editable().values()) {
            Value v = Document.open(data).validate().root();
            byte[] anew = Livebuf.encode(v, Option.NO_TABLES);
            assertArrayEquals(Digest.of(v), Digest.of(Document.open(anew).root()));
        }
    }

    @Test
    void longKeysOfManyRowsAreNoDamage() {
        String row = "{\"" + "k".repeat(255) + "\":";
        byte[] data = Livebuf.fromJson("[" + (row + "true},").repeat(100_000) + row + "false}]");
        assertTrue(data.length < 20_000);
        assertEquals(32, Digest.of(Document.open(data).root()).length);
    }
}
