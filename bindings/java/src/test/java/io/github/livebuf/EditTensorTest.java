package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tensors take and lose elements, but keep their type and the lengths of these. */
class EditTensorTest {
    private static final List<Integer> CODES = List.of(Layout.CODE_I8, Layout.CODE_I16, Layout.CODE_I32,
        Layout.CODE_I64, Layout.CODE_U8, Layout.CODE_U16, Layout.CODE_U32, Layout.CODE_U64, Layout.CODE_F16,
        Layout.CODE_F32, Layout.CODE_F64, Layout.CODE_BOOL8);
    /** Types that hold all numbers of others. */
    private static final Map<Integer, Integer> WIDER = Map.of(Layout.CODE_I8, Layout.CODE_I32, Layout.CODE_I32,
        Layout.CODE_I64, Layout.CODE_U8, Layout.CODE_I16, Layout.CODE_U16, Layout.CODE_U64, Layout.CODE_F16,
        Layout.CODE_F32, Layout.CODE_F32, Layout.CODE_F64);

    /** A tensor, from its numbers as they lie. */
    private static Value tensor(int code, byte[] data, long... lengths) {
        byte[] made = Encoder.run(new Option[0], e -> e.tensor(new Plan.Tensor(code, lengths, data)));
        return Document.open(made).validate().root();
    }

    // --- What is refused

    private int tensors;
    private int within;

    @Test
    void tensorsKeepTheirShape() throws IOException {
        for (Path file : VectorsTest.documents("vectors", "y_")) {
            if (file.toString().contains("tensor")) {
                Editor e = Editor.open(Files.readAllBytes(file));
                String before = e.root().toString();
                refuse(e, e.root(), "");
                EditorTest.sound(e, null);
                assertEquals(before, e.root().toString());
            }
        }
        assertTrue(tensors >= 20 && within >= 10, tensors + " tensors, " + within + " in others or in lists");
    }

    /** What does not fit is refused, and so is everything that moves elements of an array within another one. */
    private void refuse(Editor e, Value v, String path) {
        v.members().forEach(x -> refuse(e, x.value(), path + "/" + x.key()));
        int n = v.isArray() ? v.size() : 0;
        for (int i = 0; i < n; i++) {
            refuse(e, v.get(i), path + "/" + i);
        }
        if (!v.isArray() || !Read.column(v.doc.m, v.at).tensor) {
            return;
        }
        tensors++;
        for (Object x : new Object[] {"text", null, List.of(1, 2, 3, 4, 5, 6, 7), Map.of(), new byte[] {1}}) {
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.push(path, new Object[] {x}));
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.splice(path, 0, n, new Object[] {x}));
            if (n > 0) {
                EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.set(path + "/0", x));
            }
        }
        if (v.row != Value.NOT_IN_LIST) {
            within++;
            int[] order = IntStream.range(0, n).map(i -> n - 1 - i).toArray();
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.push(path, v.get(0)));
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.insert(path, 0, v.get(0)));
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.splice(path, 0, 1, v.get(0)));
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.remove(path + "/0"));
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.splice(path, 0, n));
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.reorder(path, order));
        }
    }

    // --- What fits

    /** Pushes a row of three numbers to a tensor, and sets the first one, in several ways. */
    private static void row(int code, Object row, String want) {
        Editor e = Editor.of(Map.of());
        e.set("/t", tensor(code, new byte[3 * Layout.width(code)], 1, 3));
        e.set("/others", Arrays.asList(row, row));
        String before = e.root().toJson();
        Handle t = e.handle("/t"), other = e.handle("/others/0");
        List<Supplier<Object>> ways = List.of(() -> row, () -> e.pointer("/others/0"), () -> other,
            () -> Editor.of(row).root());
        for (Supplier<Object> way : ways) {
            if (want == null) {
                EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> t.push(new Object[] {way.get()}));
                EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> t.set(0, way.get()));
                EditorTest.sound(e, before);
            } else {
                t.push(new Object[] {way.get()});
                t.set(0, way.get());
                assertEquals(want, e.pointer("/t/0").toJson());
                assertEquals(want, t.value().get(t.value().size() - 1).toJson());
                EditorTest.sound(e, null);
            }
        }
    }

    @Test
    void rowsAreAnyNumbersThatFit() {
        row(Layout.CODE_F32, new float[] {0.5f, 0.1f, 3}, "[0.5,0.10000000149011612,3.0]");
        row(Layout.CODE_F32, new double[] {0.5, 0.1, 3}, "[0.5,0.10000000149011612,3.0]");
        row(Layout.CODE_F32, new int[] {1, 2, 1 << 24}, "[1.0,2.0,16777216.0]");
        row(Layout.CODE_F32, List.of(1, 2.5, 3f), "[1.0,2.5,3.0]");
        row(Layout.CODE_F32, new Float[] {1f, 2f, -0.5f}, "[1.0,2.0,-0.5]");
        row(Layout.CODE_F32, new int[] {1, 2, (1 << 24) + 1}, null);
        row(Layout.CODE_F32, new double[] {1, 2, 1e40}, null);
        row(Layout.CODE_F32, new float[] {1, 2}, null);
        row(Layout.CODE_F32, new float[] {1, 2, 3, 4}, null);
        row(Layout.CODE_F32, new float[][] {{1}, {2}, {3}}, null);
        row(Layout.CODE_F32, new boolean[] {true, false, true}, null);
        row(Layout.CODE_F32, Arrays.asList(1, 2, null), null);
        row(Layout.CODE_F16, new float[] {0.5f, 0.1f, 3}, "[0.5,0.0999755859375,3.0]");
        row(Layout.CODE_F16, new float[] {0.5f, 0.1f, 65520}, null);
        row(Layout.CODE_F64, new float[] {0.5f, 1, 2}, "[0.5,1.0,2.0]");
        row(Layout.CODE_F64, new long[] {1, 2, (1L << 53) + 2}, null);
        row(Layout.CODE_I16, new short[] {-1, 2, 1 << 14}, "[-1,2,16384]");
        row(Layout.CODE_I16, new long[] {-1, 2, 1 << 14}, "[-1,2,16384]");
        row(Layout.CODE_I16, new int[] {1, 2, 1 << 15}, null);
        row(Layout.CODE_I16, new double[] {1, 2, 3}, null);
        row(Layout.CODE_U8, new int[] {1, 2, 255}, "[1,2,255]");
        row(Layout.CODE_U8, new int[] {1, 2, -1}, null);
        BigInteger most = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
        row(Layout.CODE_U64, List.of(1, 2, most), "[1,2,18446744073709551615]");
        row(Layout.CODE_I64, List.of(1, 2, most), null);
        row(Layout.CODE_BOOL8, new boolean[] {true, false, true}, "[true,false,true]");
        row(Layout.CODE_BOOL8, new int[] {1, 0, 1}, null);
    }

    /**
     * An integer just above the bound was rounded to it before it was compared, and so 2⁵³ was stored instead of
     * 2⁵³ + 1. Now integers are compared as such.
     */
    @Test
    void integersThatDoublesDoNotHold() {
        Editor e = Editor.of(tensor(Layout.CODE_F64, new byte[8], 1));
        for (long x : new long[] {(1L << 53) + 1, (-1L << 53) - 1, Long.MIN_VALUE, Long.MAX_VALUE}) {
            EditorTest.fails(ErrorKind.TENSOR_MISMATCH, () -> e.set("/0", x));
        }
        e.set("/0", 1L << 53);
        e.push("", -1L << 53);
        EditorTest.sound(e, "[9007199254740992.0,-9007199254740992.0]");
    }

    // --- Random edits

    /** An element of a tensor in the model: its numbers as they lie, and handles of it and of an array in it. */
    private static final class Row {
        final byte[] data;
        Handle handle;
        Handle inner;
        int column;

        Row(byte[] data) {
            this.data = data;
        }
    }

    /** A tensor in a document, beside plain bytes. */
    private static final class Model {
        final Random r;
        final int code;
        final long[] inner;
        final int width;
        final int each;
        final boolean limited;
        final Editor e = Editor.of(Map.of("other", List.of("before")));
        final Handle tensor;
        final List<Row> rows = new ArrayList<>();
        final List<Handle> gone = new ArrayList<>();

        Model(int seed) {
            r = new Random(seed);
            code = CODES.get(seed % CODES.size());
            inner = List.of(new long[0], new long[] {3}, new long[] {2, 2}, new long[] {1}, new long[] {2, 1, 3})
                .get(r.nextInt(5));
            width = Layout.width(code);
            each = (int) Arrays.stream(inner).reduce(1, (a, b) -> a * b);
            for (int i = r.nextInt(4); i > 0; i--) {
                rows.add(new Row(numbers()));
            }
            e.set("/t", tensor(code, all(), lengths()));
            if (r.nextBoolean()) {
                e.set("/after", "a text that lies behind the tensor");
            }
            limited = seed % 5 == 4;
            if (limited) {
                e.limit(e.m.size + each * width * r.nextInt(20) + r.nextInt(400));
            }
            tensor = e.handle("/t");
            if (inner.length > 1) { // as many numbers as a row has rows
                EditorTest.fails(ErrorKind.TENSOR_MISMATCH,
                    () -> tensor.push(tensor(code, new byte[(int) inner[0] * width], inner[0])));
            }
        }

        /** Numbers of an element, which wider types and floats of Java hold, too. */
        private byte[] numbers() {
            ByteBuffer data = ByteBuffer.allocate(each * width).order(ByteOrder.LITTLE_ENDIAN);
            while (data.hasRemaining()) {
                float x = (r.nextInt(4001) - 2000) / (float) (1 << r.nextInt(10));
                switch (code) {
                    case Layout.CODE_F16 -> data.putShort((short) EditValues.toHalf(x));
                    case Layout.CODE_F32 -> data.putFloat(x);
                    case Layout.CODE_F64 -> data.putDouble(x);
                    case Layout.CODE_BOOL8 -> data.put((byte) r.nextInt(2));
                    default -> {
                        long i = r.nextLong() >> r.nextInt(64);
                        data.put(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(i).array(), 0, width);
                    }
                }
            }
            return data.array();
        }

        private byte[] all() {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            rows.forEach(row -> all.writeBytes(row.data));
            return all.toByteArray();
        }

        private long[] lengths() {
            long[] lengths = new long[inner.length + 1];
            lengths[0] = rows.size();
            System.arraycopy(inner, 0, lengths, 1, inner.length);
            return lengths;
        }

        /** An element as a program may give it. */
        private Object given(byte[] data) {
            if (inner.length == 0) {
                return tensor(code, data, 1).get(0);
            }
            Value v = tensor(code, data, inner);
            switch (r.nextInt(5)) {
                case 0:
                    return Livebuf.toObject(v);
                case 1:
                    if (WIDER.containsKey(code) && inner.length == 1) {
                        int wide = WIDER.get(code);
                        byte[] numbers = new byte[each * Layout.width(wide)];
                        Editor e = Editor.of(tensor(wide, numbers, each));
                        for (int i = 0; i < each; i++) {
                            e.set("/" + i, v.get(i));
                        }
                        return e.root();
                    }
                    return v;
                case 2:
                    boolean single = inner.length == 1;
                    return single && Layout.columnTag(code) == Layout.TAG_FLOAT ? v.column().toFloats()
                        : single && Layout.columnTag(code) == Layout.TAG_INT ? v.column().toLongs() : v;
                default:
                    return v;
            }
        }

        private void forget(Row row) {
            for (Handle h : Arrays.asList(row.handle, row.inner)) {
                if (h != null) {
                    gone.add(h);
                }
            }
        }

        private void forget(int from, int to) {
            rows.subList(from, to).forEach(this::forget);
            rows.subList(from, to).clear();
        }

        private void attempt(Runnable edit, Runnable change) {
            byte[] before = e.toByteArray();
            try {
                edit.run();
            } catch (LivebufException x) {
                if (!limited || x.kind() != ErrorKind.DOCUMENT_LIMIT) {
                    throw x;
                }
                assertArrayEquals(before, e.toByteArray());
                return;
            }
            change.run();
        }

        void step() {
            int n = rows.size(), i = r.nextInt(n + 1), k = r.nextInt(10);
            boolean byHandle = r.nextBoolean();
            if (k < 5) {
                List<Object> values = new ArrayList<>();
                List<Row> added = new ArrayList<>();
                for (int left = 1 + r.nextInt(1 + r.nextInt(8)); left > 0; left--) {
                    byte[] data = numbers();
                    Object x = given(data);
                    if (n > 0 && r.nextInt(4) == 0) { // a copy of one that is there
                        int from = r.nextInt(n);
                        data = rows.get(from).data;
                        x = rows.get(from).handle != null ? rows.get(from).handle : e.pointer("/t/" + from);
                    }
                    values.add(x);
                    added.add(new Row(data));
                }
                Object[] all = values.toArray();
                int at = k < 2 ? n : i, count = k < 3 ? 0 : r.nextInt(n - at + 1);
                Runnable edit = k < 2 ? byHandle ? () -> tensor.push(all) : () -> e.push("/t", all)
                    : k < 3 ? byHandle ? () -> tensor.insert(at, all) : () -> e.insert("/t", at, all)
                    : byHandle ? () -> tensor.splice(at, count, all) : () -> e.splice("/t", at, count, all);
                attempt(edit, () -> {
                    forget(at, at + count);
                    rows.addAll(at, added);
                });
            } else if (k < 6 && i < n) {
                attempt(byHandle ? () -> tensor.remove(i) : () -> e.remove("/t/" + i), () -> forget(i, i + 1));
            } else if (k < 7 && i < n) {
                byte[] data = numbers();
                Object x = given(data);
                attempt(byHandle ? () -> tensor.set(i, x) : () -> e.set("/t/" + i, x), () -> {
                    forget(i, i + 1);
                    rows.add(i, new Row(data));
                });
            } else if (k < 8) {
                List<Integer> shuffled = new ArrayList<>(IntStream.range(0, n).boxed().toList());
                Collections.shuffle(shuffled, r);
                int[] order = shuffled.stream().mapToInt(Integer::intValue).toArray();
                attempt(byHandle ? () -> tensor.reorder(order) : () -> e.reorder("/t", order), () -> {
                    List<Row> was = List.copyOf(rows);
                    for (int j = 0; j < n; j++) {
                        rows.set(j, was.get(order[j]));
                    }
                });
            } else if (k < 9 && r.nextInt(4) == 0) {
                attempt(() -> tensor.splice(i, n - i), () -> forget(i, n));
            } else if (i < n && inner.length > 0) {
                Row row = rows.get(i);
                row.handle = e.handle("/t/" + i);
                if (inner.length > 1 && row.inner == null) {
                    row.column = r.nextInt((int) inner[0]);
                    row.inner = e.handle("/t/" + i + "/" + row.column);
                }
            } else {
                attempt(() -> e.set("/other", r.nextInt(1000)), () -> {});
            }
        }

        private void check(Value v, byte[] data, long... lengths) {
            Plan.Tensor found = Encoder.tensorOf(v);
            assertEquals(code, found.code);
            assertArrayEquals(lengths, found.lengths);
            assertArrayEquals(data, found.data);
        }

        void check() {
            EditorTest.sound(e, null);
            check(e.pointer("/t"), all(), lengths());
            check(tensor.value(), all(), lengths());
            for (Row row : rows) {
                if (row.handle != null) {
                    check(row.handle.value(), row.data, inner);
                }
                if (row.inner != null) {
                    int part = row.data.length / (int) inner[0];
                    byte[] data = Arrays.copyOfRange(row.data, part * row.column, part * (row.column + 1));
                    check(row.inner.value(), data, Arrays.copyOfRange(inner, 1, inner.length));
                }
            }
            gone.forEach(h -> assertFalse(h.isAlive()));
            if (e.root().get("after").exists()) {
                assertEquals("a text that lies behind the tensor", e.root().get("after").asText());
            }
        }
    }

    /** Elements come, go and change places, beside plain bytes. Where the command is built, it validates them, too. */
    @Test
    void elementsComeAndGo(@TempDir Path folder) throws Exception {
        List<String> validate = new ArrayList<>(List.of("validate"));
        int cases = Command.amount(240, 2_400, 100_000);
        for (int seed = 0; seed < cases; seed++) {
            Model model = new Model(seed);
            for (int step = 0; step < 30; step++) {
                try {
                    model.step();
                    model.check();
                } catch (RuntimeException | AssertionError x) {
                    throw new AssertionError("seed " + seed + ", step " + step, x);
                }
            }
            validate.add(Files.write(folder.resolve(validate.size() + ".lbuf"), model.e.toByteArray()).toString());
            if (validate.size() > 400 || seed == cases - 1) {
                Command.run(validate);
                validate.subList(1, validate.size()).clear();
            }
        }
    }

    /** A table of vectors begins without any. Rows grow in place, and little of the room that is made is left. */
    @Test
    void tensorsGrowByRows() {
        Editor e = Editor.of(tensor(Layout.CODE_F32, new byte[0], 0, 384));
        int n = Command.amount(1_000, 5_000, 10_000);
        float[] row = new float[384], want = new float[384 * n];
        for (int i = 0; i < n; i++) {
            row[i % 384]++;
            System.arraycopy(row, 0, want, 384 * i, 384);
            ByteBuffer bytes = ByteBuffer.allocate(4 * 384).order(ByteOrder.LITTLE_ENDIAN);
            bytes.asFloatBuffer().put(row);
            e.push("", i % 2 == 0 ? row : tensor(Layout.CODE_F32, bytes.array(), 384));
        }
        EditorTest.sound(e, null);
        assertArrayEquals(new int[] {n, 384}, e.root().tensor().shape());
        assertArrayEquals(want, e.root().tensor().toFloats());
        assertTrue(e.stats().used() <= n * 384L * 4 * 17 / 16 + 4096, e.stats().toString());
        e.splice("", 0, n);
        EditorTest.sound(e, "[]");
        e.push("", row);
        assertArrayEquals(new int[] {1, 384}, e.root().tensor().shape());
        EditorTest.sound(e, null);
    }

    /** Near the limit, an edit of a large row is made or taken back, and never ends half way. */
    @Test
    void theLimitIsKept() {
        int[] row = new int[10_000];
        for (int rows : new int[] {0, 1, 3}) {
            Map<Boolean, Integer> count = new HashMap<>();
            for (int limit = 0; limit < 400_000; limit += 5_000) {
                Editor e = Editor.of(tensor(Layout.CODE_F64, new byte[80_000 * rows], rows, 10_000));
                e.limit(e.m.size + limit);
                byte[] before = e.toByteArray();
                Value other = tensor(Layout.CODE_F64, new byte[80_000], 10_000);
                boolean made = true;
                try {
                    e.push("", row, other);
                } catch (LivebufException x) {
                    assertEquals(ErrorKind.DOCUMENT_LIMIT, x.kind());
                    assertArrayEquals(before, e.toByteArray());
                    made = false;
                }
                count.merge(made, 1, Integer::sum);
                EditorTest.sound(e, null);
            }
            assertTrue(count.get(true) >= 10 && count.get(false) >= 10, count.toString());
        }
    }
}
