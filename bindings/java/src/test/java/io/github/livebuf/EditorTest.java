package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Documents are edited in place. */
class EditorTest {
    static void sound(Editor e, String want) {
        Document.open(e.toByteArray()).validate();
        if (want != null) {
            assertEquals(want, e.root().toJson());
        }
    }

    static void fails(ErrorKind kind, Executable edit) {
        assertEquals(kind, assertThrows(LivebufException.class, edit).kind());
    }

    @Test
    void editsOfVectors() throws IOException {
        Path edits = VectorsTest.TESTDATA.resolve("edits.json");
        for (Value x : Document.open(Livebuf.fromJson(Files.readAllBytes(edits))).root().elements()) {
            Path file = VectorsTest.TESTDATA.resolve("vectors/" + x.get("document").asText() + ".lbuf");
            Editor e = Editor.open(Files.readAllBytes(file));
            e.set(x.get("pointer").asText(), x.get("value"));
            sound(e, x.get("gives").asText());
        }
    }

    /** Random edits, from the seed LIVEBUF_SEED on. Where the command is built, it validates the documents, too. */
    @Test
    void randomEdits(@TempDir Path folder) throws Exception {
        Map<String, byte[]> all = EditSequence.editable();
        List<String> names = new ArrayList<>(all.keySet());
        List<String> validate = new ArrayList<>(List.of("validate"));
        long first = Long.parseLong(System.getenv().getOrDefault("LIVEBUF_SEED", "0"));
        long end = first + Command.amount(40, 700, 10_000);
        for (long seed = first; seed < end; seed++) {
            EditSequence s = new EditSequence(all.get(names.get((int) (seed * 7919 % names.size()))), seed);
            for (int i = 0; i < 50; i++) {
                s.step();
                s.check();
                if (i % 10 == 9 && Command.isBuilt()) {
                    validate.add(Files.write(folder.resolve(seed + "-" + i + ".lbuf"), s.e.toByteArray()).toString());
                }
            }
            if (validate.size() > 400 || seed == end - 1) {
                Command.run(validate);
                for (String file : validate.subList(1, validate.size())) {
                    Files.delete(Path.of(file));
                }
                validate.subList(1, validate.size()).clear();
            }
        }
    }

    /** Documents that no editor makes: vectors with a few bytes changed, as long as they are valid. */
    @Test
    void randomEditsOfChangedDocuments() throws IOException {
        List<byte[]> all = new ArrayList<>(EditSequence.editable().values());
        Random r = new Random(21);
        int valid = 0, rounds = Command.amount(800, 20_000, 2_000_000);
        for (int round = 0; round < rounds; round++) {
            byte[] data = all.get(r.nextInt(all.size())).clone();
            for (int n = 1 + r.nextInt(3); n > 0; n--) {
                int at = Layout.HEADER_SIZE + r.nextInt(data.length);
                if (at < data.length) {
                    data[at] = (byte) new int[] {0, 1, 0xff, r.nextInt(), data[at] ^ 1 << r.nextInt(8)}[r.nextInt(5)];
                }
            }
            try {
                Json.print(Document.open(data).validate().root(), true, 0);
            } catch (LivebufException e) {
                continue; // damaged, or with a value of a later version
            }
            valid++;
            EditSequence s = new EditSequence(data, round);
            for (int i = 0; i < 8; i++) {
                s.step();
            }
            s.check();
        }
        assertTrue(valid > rounds / 10, "only " + valid + " were valid");
    }

    @Test
    void textsOfChangingLengthDoNotGrowTheDocument() {
        Editor e = Editor.of(Map.of());
        Random r = new Random(1);
        Handle h = e.handle("");
        int[] sizes = new int[200];
        for (int step = 0; step < 10_000; step++) {
            int key = r.nextInt(200);
            sizes[key] = r.nextInt(400);
            h.set("key " + key, "t".repeat(sizes[key]));
        }
        int live = Arrays.stream(sizes).sum();
        sound(e, null);
        assertTrue(e.stats().used() <= 2 * (live + 40 * 200), e.stats() + " for " + live);
    }

    @Test
    void aDocumentThatIsMostlyFreeIsEncodedAnew() {
        Editor e = Editor.of(List.of());
        List<Handle> rows = new ArrayList<>(), lists = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            e.push("", Map.of("id", i, "list", List.of(i), "text", "long".repeat(i)));
            rows.add(e.handle("/" + i));
            lists.add(e.handle("/" + i + "/list"));
        }
        rows.forEach(h -> h.set("text", "short"));
        for (int i = 0; i < 290; i++) {
            e.remove("/5");
            if (i + 6 < 295) {
                assertEquals("[" + (i + 6) + "]", lists.get(i + 6).value().toJson());
            }
        }
        sound(e, null);
        Editor.Stats s = e.stats();
        assertTrue(s.used() <= 4096 + 4 * (s.used() - s.free()), s.toString());
        lists.get(0).push("more");
        assertEquals("[0,\"more\"]", lists.get(0).value().toJson());
    }

    /** Editors may leave the bytes of free blocks as they were (FORMAT 8). */
    @Test
    void freeBlocksMayHaveAnyBytes() {
        List<Object> list = Arrays.asList(1, "two", null);
        Editor e = Editor.of(Map.of("a", "a".repeat(2000), "b", list, "c", Map.of()));
        e.set("/a", 1);
        byte[] data = e.toByteArray();
        Mem m = new Mem(data, data.length);
        long aux = m.u32(Layout.HEADER_AUX);
        int dirty = 0;
        for (int c = 0; c < m.u8(aux + 1); c++) {
            for (long at = m.u32(aux + Layout.AUX_SIZE + 4 * c); at != 0; at = m.u32(at)) {
                for (long i = at + 8; i < at + m.u32(at + 4); i++) {
                    data[(int) i] = (byte) 0xee;
                    dirty++;
                }
            }
        }
        assertTrue(dirty >= 1000, "only " + dirty + " bytes are free");
        e = Editor.open(data);
        for (int i = 0; i < 60; i++) {
            e.set("/key " + i, List.of(i, "x".repeat(i), Map.of("y", i)));
            e.push("/b", i, "long ".repeat(i));
            sound(e, null);
        }
    }

    @Test
    void handlesFollowTheirValues() {
        StringBuilder rows = new StringBuilder("{\"rows\":[");
        for (int i = 1; i < 10; i++) {
            rows.append(String.format("{\"a\":%d,\"l\":[%d,%d]},", i, 2 * i - 1, 2 * i));
        }
        byte[] data = Livebuf.fromJson(rows.substring(0, rows.length() - 1) + "],\"o\":{\"x\":{}}}");
        Editor e = Editor.open(data);
        assertEquals(Layout.CODE_STRUCT, Read.column(e.m, e.pointer("/rows").at).code);
        Handle row = e.handle("/rows/2"), list = e.handle("/rows/2/l");
        assertSame(row, e.handle(e.pointer("/rows/2")));
        e.insert("/rows", 0, Map.of("a", 0));
        e.remove("/rows/1");
        row.set("a", 33);
        list.push(9);
        row.set("extra", true);
        e.reorder("/rows", 8, 7, 6, 5, 4, 3, 2, 1, 0);
        row.set("b", 1);
        assertEquals("{\"a\":33,\"l\":[5,6,9],\"extra\":true,\"b\":1}", row.value().toJson());
        assertEquals("[5,6,9]", list.value().toJson());
        // A column of cells takes the rows out of the table.
        e.set("/rows/0", 5);
        row.set("a", "text");
        assertEquals("{\"a\":\"text\",\"l\":[5,6,9],\"extra\":true,\"b\":1}", row.value().toJson());
        e.remove("/rows/6");
        assertFalse(row.isAlive());
        fails(ErrorKind.STALE_HANDLE, () -> row.set("a", 1));
        fails(ErrorKind.STALE_HANDLE, row::value);
        fails(ErrorKind.STALE_HANDLE, () -> list.push(1));
        Value old = e.root();
        e.set("/new", 1);
        fails(ErrorKind.STALE_HANDLE, () -> e.handle(old));
        fails(ErrorKind.STALE_HANDLE, () -> e.handle(Editor.of(List.of()).root()));
        sound(e, null);
    }

    /** What lies there now may be another value. */
    @Test
    void valuesFromBeforeAnEditAreNotStored() {
        Editor e = Editor.of(Map.of("a", "a first text that is long"));
        Value old = e.pointer("/a");
        e.set("/a", "a second text, other");
        for (Object each : List.of(old, List.of(old), Set.of(old))) {
            fails(ErrorKind.STALE_HANDLE, () -> e.set("/b", each));
        }
        fails(ErrorKind.STALE_HANDLE, () -> Livebuf.encode(old));
        e.set("/b", List.of(e.pointer("/a")));
        sound(e, "{\"a\":\"a second text, other\",\"b\":[\"a second text, other\"]}");
    }

    @Test
    void handlesAreStoredAsTheirValues() {
        record Holder(Handle kept) {}
        Editor e = Editor.of(Map.of("a", List.of(1)));
        Handle h = e.handle("/a");
        assertEquals("[1]", Document.open(Livebuf.encode(h)).toJson());
        e.set("/b", Set.of(h));
        e.set("/c", new Holder(h));
        e.set("/d", h);
        sound(e, "{\"a\":[1],\"b\":[[1]],\"c\":{\"kept\":[1]},\"d\":[1]}");
        e.remove("/a");
        fails(ErrorKind.STALE_HANDLE, () -> e.set("/e", h));
        for (Object each : List.of(List.of(h), Set.of(h), new Holder[] {new Holder(h)})) {
            LivebufException x = assertThrows(LivebufException.class, () -> e.set("/e", each));
            assertEquals(ErrorKind.STALE_HANDLE, x.kind());
            assertEquals(each instanceof Holder[] ? "/0/kept" : "/0", x.path());
        }
        fails(ErrorKind.WRONG_TYPE, () -> Mapper.of(Holder.class).decode(Livebuf.fromJson("{\"kept\":[1]}")));
    }

    @Test
    void stepsThatAreNoIndexesAreNamed() {
        Editor e = Editor.of(Map.of("list", List.of(1)));
        for (Executable edit : List.<Executable>of(() -> e.set("/list/x", 2), () -> e.remove("/list/x"))) {
            LivebufException x = assertThrows(LivebufException.class, edit);
            assertEquals(ErrorKind.INDEX_OUT_OF_RANGE, x.kind());
            assertEquals("/list/x", x.path());
            assertTrue(x.advice().contains("\"x\""), x.advice());
        }
    }

    private static Object nested(int levels) {
        Object deep = 1;
        for (int i = 0; i < levels; i++) {
            deep = i % 2 == 0 ? List.of(deep) : Map.of("k", deep);
        }
        return deep;
    }

    @Test
    void editsThatFailChangeNothing() {
        Editor e = Editor.open(Livebuf.fromJson("{\"a\":[1,2],\"o\":{\"x\":1,\"y\":2},\"s\":\"text\"}"));
        List<Object> circle = new ArrayList<>();
        circle.add(circle);
        String before = e.root().toJson();
        fails(ErrorKind.WRONG_TYPE, () -> e.set("/s/x", 1));
        fails(ErrorKind.WRONG_TYPE, () -> e.handle("/s"));
        fails(ErrorKind.WRONG_TYPE, () -> e.handle("/a").set("x", 1));
        fails(ErrorKind.WRONG_TYPE, () -> e.handle("/o").set(0, 1));
        fails(ErrorKind.WRONG_TYPE, () -> e.push("/o", 1));
        fails(ErrorKind.NOT_FOUND, () -> e.set("/none/x", 1));
        fails(ErrorKind.NOT_FOUND, () -> e.remove("/o/z"));
        fails(ErrorKind.NOT_FOUND, () -> e.rename("/o", "z", "w"));
        fails(ErrorKind.NOT_FOUND, () -> e.set("/x", e.pointer("/none")));
        fails(ErrorKind.KEY_EXISTS, () -> e.rename("/o", "x", "y"));
        fails(ErrorKind.BAD_POINTER, () -> e.set("none", 1));
        fails(ErrorKind.BAD_POINTER, () -> e.set("/o/~2", 1));
        fails(ErrorKind.UNSUPPORTED, () -> e.remove(""));
        fails(ErrorKind.INDEX_OUT_OF_RANGE, () -> e.set("/a/2", 1));
        fails(ErrorKind.INDEX_OUT_OF_RANGE, () -> e.set("/a/x", 1));
        fails(ErrorKind.INDEX_OUT_OF_RANGE, () -> e.remove("/a/5"));
        fails(ErrorKind.INDEX_OUT_OF_RANGE, () -> e.splice("/a", 1, 2));
        fails(ErrorKind.INDEX_OUT_OF_RANGE, () -> e.insert("/a", 3, 1));
        fails(ErrorKind.BAD_VALUE, () -> e.reorder("/a", 0, 0));
        fails(ErrorKind.BAD_VALUE, () -> e.reorder("/a", 0));
        fails(ErrorKind.BAD_TEXT, () -> e.set("/x", "\ud800"));
        fails(ErrorKind.BAD_TEXT, () -> e.set("/\udc00", 1));
        fails(ErrorKind.NESTING_LIMIT, () -> e.push("/a", nested(999)));
        fails(ErrorKind.NESTING_LIMIT, () -> e.handle(e.pointer("/a")).push(nested(999)));
        fails(ErrorKind.NESTING_LIMIT, () -> e.splice("/a", 0, 1, 1, "text", circle));
        fails(ErrorKind.NESTING_LIMIT, () -> e.set("", circle));
        sound(e, before);
        e.set("/deep", nested(999));
        e.remove("/deep");
        sound(e, before);
    }

    /** Threads may have small stacks. */
    @Test
    void deepValuesNeedNoLargeStack() throws InterruptedException {
        List<Throwable> failures = new ArrayList<>();
        String text = "[{\"k\":".repeat(499) + "1" + "}]".repeat(499);
        Value deep = Document.open(Livebuf.fromJson(text)).validate().root();
        Thread small = new Thread(null, () -> {
            Editor e = Editor.of(List.of());
            Handle root = e.handle("");
            for (int i = 0; i < 20; i++) {
                root.push(deep);
                root.set(0, deep);
                root.push(e.pointer("/0/0/k/0"), root.value().get(0).get(0));
                root.splice(0, 3);
            }
            sound(e, "[]");
        }, "small", 200 << 10);
        small.setUncaughtExceptionHandler((thread, e) -> failures.add(e));
        small.start();
        small.join();
        assertEquals(List.of(), failures);
    }

    @Test
    void theLimitIsKept() {
        byte[] data = Livebuf.fromJson(EditSequence.tableJson(3));
        Editor e = Editor.open(data.clone()).limit(data.length + 250);
        Handle h = e.handle("/3");
        String before = h.value().toJson();
        fails(ErrorKind.DOCUMENT_LIMIT, () -> h.set("extra", "long".repeat(200)));
        fails(ErrorKind.DOCUMENT_LIMIT, () -> e.set("/0", "a row that is none"));
        assertArrayEquals(data, e.toByteArray());
        assertEquals(before, h.value().toJson());
        h.set("extra", 1);
        sound(e, null);
    }

    /** Near the limit, a row that becomes a map is made whole, or taken back: a map has copies of all keys. */
    @Test
    void theLimitIsKeptByRowsThatBecomeMaps() {
        List<Object> rows = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            Map<String, Object> row = new HashMap<>();
            for (int k = 0; k < 255; k++) {
                row.put("key " + k + "x".repeat(180), k);
            }
            rows.add(row);
        }
        Editor made = Editor.open(Livebuf.encode(Map.of("rows", rows)));
        for (int i = 0; i < 10; i++) {
            made.set("/rows/" + i + "/one more", i);
        }
        byte[] data = made.toByteArray();
        int refused = 0;
        for (int room = 0;; room += 20_000, refused++) {
            Editor e = Editor.open(data.clone()).limit(data.length + room);
            try {
                e.set("/rows/1", "no row");
                break;
            } catch (LivebufException x) {
                assertEquals(ErrorKind.DOCUMENT_LIMIT, x.kind(), room + " bytes of room");
                assertArrayEquals(data, e.toByteArray());
            }
        }
        assertTrue(refused > 0);
    }

    @Test
    void floatsOf16Bits() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            double x = Double.longBitsToDouble(Read.half(bits));
            assertTrue(x != x || EditValues.toHalf(x) == bits, Integer.toHexString(bits));
        }
        assertEquals(0x7bff, EditValues.toHalf(65519.999));
        assertEquals(0x7c00, EditValues.toHalf(65520));
        assertEquals(0x3c00, EditValues.toHalf(1 + 1.0 / 2048));
        assertEquals(0x3c02, EditValues.toHalf(1 + 3.0 / 2048));
        assertEquals(0, EditValues.toHalf(0x1p-25));
    }

    @Test
    void mapsOfCollidingKeys() {
        Random r = new Random(3);
        List<String> keys = new ArrayList<>();
        for (int i = 0; keys.size() < 400; i++) {
            String key = i + " colliding";
            if (i % 8 == 0 || (int) Key.hash(Key.utf8(key)) >>> 24 == 7) {
                keys.add(key);
            }
        }
        Editor e = Editor.of(Map.of());
        Map<String, Integer> model = new HashMap<>();
        for (int step = 0; step < 8000; step++) {
            String key = keys.get(r.nextInt(keys.size())), other = keys.get(r.nextInt(keys.size()));
            boolean grows = step / 2000 % 2 == 0;
            if (r.nextInt(4) == 0) {
                if (model.containsKey(key) && (!model.containsKey(other) || key.equals(other))) {
                    e.rename("", key, other);
                    int value = model.remove(key);
                    model.put(other, value);
                } else {
                    assertThrows(LivebufException.class, () -> e.rename("", key, other));
                }
            } else if (grows || r.nextInt(4) == 0) {
                e.set("/" + key, step);
                model.put(key, step);
            } else if (model.remove(key) != null) {
                e.remove("/" + key);
            }
            if (step % 100 == 0) {
                sound(e, null);
                for (String k : keys) {
                    assertEquals(model.get(k), e.root().get(k).exists() ? (Integer) e.root().get(k).asInt() : null);
                }
            }
        }
        assertEquals(Value.MAP, e.root().form);
        assertTrue(e.m.u32(e.root().at + 8) != 0);
    }

    /** An edit of damaged bytes, which were said to be valid, ends by an exception of this library or is made. */
    @Test
    void trustedDamageEndsByAnException() throws IOException {
        List<byte[]> all = new ArrayList<>(EditSequence.editable().values());
        Random r = new Random(5);
        for (int round = 0; round < 3000; round++) {
            byte[] data = all.get(r.nextInt(all.size())).clone();
            for (int n = 1 + r.nextInt(8); n > 0; n--) {
                int at = Layout.HEADER_SIZE + r.nextInt(data.length);
                if (at + 4 < data.length && round % 2 == 0) {
                    new Mem(data, data.length).put32(at & ~3, r.nextInt(data.length) & ~7); // an offset
                } else if (at < data.length) {
                    data[at] = (byte) r.nextInt();
                }
            }
            try {
                Editor e = Editor.trust(data).limit(1 << 20);
                Value root = e.root();
                if (root.isArray()) {
                    e.splice("", 0, Math.min(root.size(), r.nextInt(3)), 1, "a text that is long");
                } else if (root.isObject()) {
                    for (String key : root.keys()) {
                        e.handle("").remove(key);
                        break;
                    }
                    e.set("/new key", List.of(1));
                } else {
                    e.set("", 1);
                }
            } catch (LivebufException e) {
                // as it should be
            }
        }
    }

    @Test
    void trustedCellsOfNoValueAreNotCopied() {
        byte[] data = Livebuf.fromJson("[{\"a\":[1,\"b\"]}]", Option.NO_TABLES);
        Editor e = Editor.trust(data);
        e.m.put8(e.m.u32(e.pointer("/0/a").at + 12), Layout.TAG_NOTHING);
        fails(ErrorKind.BAD_CODE, () -> e.push("", e.pointer("/0/a")));
    }

    /** Columns that lead to themselves end edits, and do not take the stack or all time. */
    @Test
    void trustedColumnsThatLeadInACircle() {
        String row = "{\"a\":{\"b\":1,\"c\":[1,2]},\"d\":{\"e\":[\"x\",\"yy\"]}}";
        byte[] good = Livebuf.fromJson("[" + (row + ",").repeat(7) + row + "]");
        for (int at = Layout.HEADER_SIZE; at < good.length; at += 4) {
            for (int to = Layout.HEADER_SIZE; to < good.length; to += 8) {
                byte[] data = good.clone();
                new Mem(data, data.length).put32(at, to);
                for (Consumer<Editor> edit : List.<Consumer<Editor>>of(e -> e.push("", 5), e -> e.set("/0", 5),
                    e -> e.rename("/0", "a", "z"), e -> e.set("/0/a", 5), e -> e.handle(e.pointer("")).remove(0))) {
                    try {
                        edit.accept(Editor.trust(data.clone()).limit(1 << 20));
                    } catch (LivebufException e) {
                        // as it should be
                    }
                }
            }
        }
    }

    /** The column of the elements becomes one of cells at the first of them, while the next one has no value yet. */
    @Test
    void containersGiveWayToNumbers() {
        Map<String, String> cases = Map.of("[1,2]", "/5/c/0", "{\"x\":[1,2]}", "/5/c/0/x",
            "{\"x\":[[1],[2]],\"y\":{\"z\":[3,4]}}", "/5/c/0/y/z");
        cases.forEach((inner, pointer) -> {
            String row = "{\"b\":1,\"c\":[" + inner + "," + inner + "]}";
            Editor e = Editor.open(Livebuf.fromJson("[" + (row + ",").repeat(12) + row + "]"));
            e.set(pointer, List.of(Map.of("a", 1), "short", List.of(1, List.of())));
            for (List<?> value : List.of(List.of(0, 4), List.of(List.of(7), 4), List.of("a", List.of()))) {
                e.set("/7/c", value);
                e.push("", Map.of("b", 1, "c", value));
                e.document().validate();
            }
            assertEquals("[\"a\",[]]", e.root().get(7).get("c").toJson());
            assertEquals(16, e.root().size());
        });
    }

    /**
     * The column becomes one of texts. A slot that was opened for null had the dictionary's first text since, and kept
     * it.
     */
    @Test
    void nullsBesideATextThatIsTooLongForItsDictionary() {
        String text = "very long ".repeat(120);
        for (String row : List.of("\"same\"", "[\"a\",\"b\"]", "{\"k\":[\"a\",\"b\"]}")) {
            Editor e = Editor.open(Livebuf.fromJson("[" + (row + ",").repeat(12) + row + "]"));
            List<Object> pair = Arrays.asList(text, null);
            Object[] values = row.startsWith("{") ? new Object[] {Map.of("k", pair), null}
                : row.startsWith("[") ? new Object[] {pair} : new Object[] {text, null, null};
            e.insert("", 2, values);
            e.document().validate();
            assertEquals(13 + values.length, e.root().size(), row);
        }
    }
}
