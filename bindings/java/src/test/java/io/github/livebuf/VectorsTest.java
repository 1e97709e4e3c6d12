package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

/** Documents of testdata are read, validated and refused as their names say. */
class VectorsTest {
    static final Path TESTDATA = Path.of(System.getProperty("livebuf.testdata", "../../testdata"));

    /** All files with documents in a folder of testdata whose names begin so. */
    static List<Path> documents(String folder, String prefix) throws IOException {
        try (Stream<Path> files = Files.walk(TESTDATA.resolve(folder))) {
            return files.filter(f -> f.toString().endsWith(".lbuf") && f.getFileName().toString().startsWith(prefix))
                .sorted().toList();
        }
    }

    /** The file beside a document that has its JSON. */
    private static Path json(Path document) {
        return document.resolveSibling(document.getFileName().toString().replace(".lbuf", ".json"));
    }

    private static String print(Value v) {
        return new String(Json.print(v, true, 0), Json.UTF_8);
    }

    private void checkPrinting(String folder, String prefix, int least) throws IOException {
        int n = 0;
        for (Path file : documents(folder, prefix)) {
            if (!Files.exists(json(file))) {
                continue; // a reserved tag
            }
            n++;
            String want = Files.readString(json(file)).strip();
            Document doc = Document.map(file);
            assertEquals(want, print(doc.root()), file.toString());
            assertEquals(want, print(doc.validate().root()), file.toString());
            assertEquals(want, print(Document.open(file).validate().root()), file.toString());
            byte[] bytes = doc.toByteArray(); // where a file has a journal, it is none of them
            // The same in a longer array, and in the memory outside of Java's heap.
            byte[] longer = new byte[bytes.length + 40];
            Arrays.fill(longer, (byte) 0xee);
            System.arraycopy(bytes, 0, longer, 13, bytes.length);
            Document within = Document.open(ByteBuffer.wrap(longer, 13, bytes.length + 9));
            assertEquals(want, print(within.validate().root()), file.toString());
            if (bytes.length < 100_000) {
                new Walker(file.toString(), 4_000).check(within.root());
                new Walker(file.toString(), 500).check(doc.root());
            }
        }
        assertTrue(n >= least, folder + " has only " + n);
    }

    @Test
    void validDocumentsPrintAsTheirJson() throws IOException {
        checkPrinting("vectors", "y_", 130);
        checkPrinting("frozen", "", 100);
    }

    @Test
    void damagedDocumentsAreRefused() throws IOException {
        int named = 0;
        List<Path> all = documents("vectors", "n_");
        for (Path file : all) {
            byte[] bytes = Files.readAllBytes(file);
            LivebufException e = assertThrows(LivebufException.class, () -> Document.open(bytes).validate(),
                file.toString());
            if (e.kind().title().equals(file.getFileName().toString().split("_")[1])) {
                named++;
            }
            exercise(bytes);
        }
        // Names are advice: where a fault breaks several rules, another may be met first.
        assertTrue(all.size() > 400 && named >= all.size() * 98 / 100, named + " of " + all.size());
    }

    @Test
    void reservedTagsHaveNoJson() throws IOException {
        for (Path file : documents("vectors", "y_reserved_")) {
            Document doc = Document.open(Files.readAllBytes(file)).validate();
            assertEquals(ErrorKind.UNSUPPORTED, assertThrows(LivebufException.class, doc::toJson).kind());
            assertTrue(doc.root().toString().startsWith("<"));
        }
    }

    @Test
    void tensorsAreTheNumbersOfTheirArrays() throws IOException {
        int n = 0;
        for (Path file : documents("vectors", "y_tensor_")) {
            List<Value> left = new ArrayList<>(List.of(Document.open(Files.readAllBytes(file)).root()));
            while (!left.isEmpty()) {
                Value v = left.remove(left.size() - 1);
                v.elements().forEach(left::add);
                v.members().forEach(m -> left.add(m.value()));
                if (!v.isArray() || !Read.column(v.doc.m, v.at).tensor) {
                    assertThrows(LivebufException.class, v::tensor);
                    continue;
                }
                n++;
                Column all = v.tensor();
                assertEquals(Arrays.stream(all.shape()).asLongStream().reduce(1, (a, b) -> a * b), all.size());
                List<Value> flat = new ArrayList<>();
                flatten(v, flat);
                if (all.type().startsWith("bool")) {
                    boolean[] found = all.toBooleans();
                    for (int i = 0; i < found.length; i++) {
                        assertEquals(flat.get(i).asBoolean(), found[i]);
                    }
                } else {
                    assertArrayEquals(flat.stream().mapToDouble(Value::asDouble).toArray(), all.toDoubles());
                    assertEquals(0,
                        all.slots().remaining() % Math.max(all.size(), 1));
                }
            }
        }
        assertTrue(n > 10, "only " + n);
    }

    private static void flatten(Value v, List<Value> into) {
        if (v.isArray()) {
            v.elements().forEach(x -> flatten(x, into));
        } else {
            into.add(v);
        }
    }

    /** Looks each value of a valid document up in every way, and compares. */
    static final class Walker {
        private final String name;
        private int left;

        Walker(String name, int left) {
            this.name = name;
            this.left = left;
        }

        private void same(Value got, Value want) {
            assertTrue(got.tag == want.tag && got.form == want.form && got.bits == want.bits && got.at == want.at
                && got.home == want.home && got.row == want.row, () -> name + ": " + got + ", not " + want);
        }

        void check(Value v) {
            if (--left < 0) {
                return;
            }
            if (v.isObject()) {
                object(v);
            } else if (v.isArray()) {
                int i = 0;
                for (Value x : v.elements()) {
                    if (left < 0) {
                        return;
                    }
                    same(v.get(i), x);
                    same(v.pointer("/" + i++), x);
                    check(x);
                }
                assertEquals(i, v.size(), name);
                assertFalse(v.get(i).exists() || v.get(-1).exists() || v.get("a").exists(), name);
                columns(v);
            }
            assertTrue(v.exists(), name);
        }

        private void object(Value v) {
            List<String> keys = new ArrayList<>();
            for (Member x : v.members()) {
                if (left < 0) {
                    return;
                }
                String key = x.key();
                keys.add(key);
                same(v.get(key), x.value());
                same(v.get(Key.of(key)), x.value());
                same(v.pointer("/" + key.replace("~", "~0").replace("/", "~1")), x.value());
                check(x.value());
            }
            assertEquals(keys, list(v.keys(), k -> k));
            Set<String> known = new HashSet<>(keys);
            for (String key : keys) {
                assertEquals(known.contains(key + "?"), v.get(key + "?").exists(), name);
            }
            assertEquals(keys.size(), v.size(), name);
            keys.sort((a, b) -> Arrays.compareUnsigned(Key.utf8(a), Key.utf8(b)));
            for (Member x : v.range("", "")) {
                same(x.value(), v.get(x.key()));
            }
            assertEquals(keys, list(v.range("", ""), Member::key), name);
            for (int i = 0; i < keys.size(); i += 1 + keys.size() / 2) {
                String last = keys.get(keys.size() - 1);
                assertEquals(last.isEmpty() ? keys : keys.subList(i, keys.size() - 1),
                    list(v.range(keys.get(i), last), Member::key), name);
                String prefix = keys.get(i).codePointCount(0, keys.get(i).length()) == 0 ? ""
                    : keys.get(i).substring(0, keys.get(i).offsetByCodePoints(0, 1));
                assertEquals(keys.stream().filter(k -> k.startsWith(prefix)).toList(),
                    list(v.prefix(prefix), Member::key), name);
            }
        }

        private static <A, B> List<B> list(Iterable<A> all, Function<A, B> part) {
            return StreamSupport.stream(all.spliterator(), false).map(part).toList();
        }

        /** Compares the columns of an array with its elements. */
        private void columns(Value v) {
            List<String[]> paths = new ArrayList<>();
            paths.add(new String[0]);
            for (Member x : v.get(0).members()) {
                paths.add(new String[] {x.key()});
                x.value().keys().forEach(inner -> paths.add(new String[] {x.key(), inner}));
            }
            for (String[] path : paths) {
                if (left < 0 || v.size() > 5000) {
                    return;
                }
                Column c = v.column(path);
                List<Value> want = new ArrayList<>();
                for (int i = 0; i < v.size(); i++) {
                    Value x = v.get(i);
                    for (String key : path) {
                        x = x.get(key);
                    }
                    want.add(x);
                    same(c.get(i), x);
                    assertEquals(x.exists() && !x.isNull(), c.has(i), name);
                    left--;
                }
                compare(want, Value::asLong, 0L, () -> boxed(c.toLongs()));
                compare(want, Value::asInt, 0, () -> boxed(c.toInts()));
                compare(want, Value::asDouble, 0.0, () -> boxed(c.toDoubles()));
                compare(want, Value::asBoolean, false, () -> boxed(c.toBooleans()));
                compare(want, VectorsTest::asFloat, 0f, () -> boxed(c.toFloats()));
                compare(want, Value::asText, null, () -> List.of(c.toTexts()));
                compare(want, Value::asDate, null, () -> Arrays.asList(c.toArray(Object[]::new, Value::asDate)));
                compare(want, Value::asUuid, null, () -> Arrays.asList(c.toArray(Object[]::new, Value::asUuid)));
                compare(want, Value::asBigDecimal, null,
                    () -> Arrays.asList(c.toArray(Object[]::new, Value::asBigDecimal)));
            }
        }

        private interface Made {
            List<?> get();
        }

        private <T> void compare(List<Value> values, Function<Value, T> as, T none, Made made) {
            List<T> want = new ArrayList<>();
            try {
                for (Value v : values) {
                    want.add(v.exists() && !v.isNull() ? as.apply(v) : none);
                }
            } catch (LivebufException e) {
                assertEquals(e.kind(), assertThrows(LivebufException.class, made::get, name).kind(), name);
                return;
            }
            List<?> got;
            try {
                got = made.get();
            } catch (NullPointerException e) {
                assertTrue(want.contains(null)); // List.of has no null
                return;
            }
            assertEquals(want, got, name);
        }
    }

    private static float asFloat(Value v) {
        double x = v.asDouble();
        if (x == x && (float) x != x) {
            throw v.wrong("a float");
        }
        return (float) x;
    }

    private static List<Object> boxed(Object array) {
        List<Object> all = new ArrayList<>();
        for (int i = 0; i < java.lang.reflect.Array.getLength(array); i++) {
            all.add(java.lang.reflect.Array.get(array, i));
        }
        return all;
    }

    /** Calls everything on a document that may be damaged. It must end, and throw nothing but its own exception. */
    static void exercise(byte[] bytes) {
        Document doc;
        try {
            doc = Document.open(bytes);
        } catch (LivebufException e) {
            return;
        }
        attempt(() -> Json.print(doc.root(), false, 1 << 16));
        attempt(() -> walk(doc.root(), 0, new int[] {150}));
        attempt(doc::validate);
    }

    private static void attempt(Runnable run) {
        try {
            run.run();
        } catch (LivebufException e) {
            Objects.requireNonNull(e.getMessage());
        }
    }

    private static void walk(Value v, int depth, int[] left) {
        if (--left[0] < 0 || depth > 1100) {
            return;
        }
        List<Runnable> calls = List.of(v::kind, v::asDouble, v::asBigDecimal, v::asBigInteger, v::asUuid, v::asText,
            v::asInstant, v::asDate, v::asTime, v::asDateTime, v::size, v::numberText, () -> v.get("a"),
            () -> v.get("a longer key"), () -> v.get(Key.of("key 0")), () -> v.get(1), () -> v.pointer("/0/a"),
            v::asBytes, v::textBuffer);
        calls.forEach(VectorsTest::attempt);
        attempt(() -> {
            for (Value x : v.elements()) {
                walk(x, depth + 1, left);
                if (left[0] < 0) {
                    return;
                }
            }
        });
        attempt(() -> {
            for (Member x : v.members()) {
                v.get(x.key());
                walk(x.value(), depth + 1, left);
                if (left[0] < 0) {
                    return;
                }
            }
        });
        attempt(() -> {
            int n = 0;
            for (Member x : v.range("b", "")) {
                if (n++ > 20) {
                    return;
                }
            }
        });
        if (v.isArray() && v.size() < 1 << 16) {
            attempt(() -> v.column().toLongs());
            attempt(() -> v.column("a").toDoubles());
            attempt(() -> v.column("b").toTexts());
            attempt(() -> v.tensor().toFloats());
        }
    }

    /** Vectors with a few bytes changed. */
    @Test
    void changedBytesDoNoHarm() throws IOException {
        List<byte[]> all = new ArrayList<>();
        for (Path file : documents("vectors", "y_")) {
            if (Files.size(file) < 20_000) {
                all.add(Files.readAllBytes(file));
            }
        }
        Random random = new Random(1);
        for (int round = 0; round < Command.amount(600, 100_000, 10_000_000); round++) {
            byte[] damaged = all.get(round % all.size()).clone();
            for (int i = random.nextInt(3); i >= 0 && damaged.length > 33; i--) {
                int at = 32 + random.nextInt(damaged.length - 32);
                int[] changes = {0, 1, 255, random.nextInt(256), damaged[at] ^ 1 << random.nextInt(8)};
                damaged[at] = (byte) changes[random.nextInt(5)];
            }
            exercise(damaged);
        }
    }
}
