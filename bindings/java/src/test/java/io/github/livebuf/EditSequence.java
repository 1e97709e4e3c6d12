package io.github.livebuf;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.IntStream;

/**
 * Random edits of a document beside a plain model of its values: maps, lists, and of a scalar the kind and the JSON.
 */
final class EditSequence {
    final Editor e;
    final List<String> log = new ArrayList<>();
    private final Random r;
    private final boolean limited;
    private final boolean hasTensor;
    private final List<String> keys = new ArrayList<>();
    private final Map<Handle, Object> held = new LinkedHashMap<>();
    private Object model;

    EditSequence(byte[] data, long seed) {
        r = new Random(seed);
        limited = seed % 4 == 3;
        e = Editor.open(data.clone());
        if (limited) {
            e.limit(data.length + seed % 3000 + 256);
        }
        model = modelOf(e.root());
        hasTensor = hasTensor(e.root());
        keys.addAll(List.of("a", "b", "c", "id", "name", "x", "a longer key", "another longer key", "", "naïve"));
        collect(model);
    }

    private void collect(Object m) {
        if (m instanceof List<?> all) {
            all.stream().limit(30).forEach(this::collect);
        } else if (m instanceof Map<?, ?> all) {
            all.keySet().stream().limit(20).forEach(key -> keys.add((String) key));
            all.values().stream().limit(30).forEach(this::collect);
        }
    }

    // --- models

    static String scalarModel(Value v) {
        String text = v.tag == Layout.TAG_FLOAT ? String.valueOf(v.bits) : v.toJson();
        return v.kind() + " " + text;
    }

    static Object modelOf(Value v) {
        if (v.isArray()) {
            List<Object> all = new ArrayList<>();
            v.elements().forEach(x -> all.add(modelOf(x)));
            return all;
        }
        if (v.isObject()) {
            Map<String, Object> all = new LinkedHashMap<>();
            v.members().forEach(x -> all.put(x.key(), modelOf(x.value())));
            return all;
        }
        return scalarModel(v);
    }

    private static Object cloneOf(Object m) {
        if (m instanceof List<?> all) {
            List<Object> copy = new ArrayList<>();
            all.forEach(x -> copy.add(cloneOf(x)));
            return copy;
        }
        if (m instanceof Map<?, ?> all) {
            Map<String, Object> copy = new LinkedHashMap<>();
            all.forEach((key, x) -> copy.put((String) key, cloneOf(x)));
            return copy;
        }
        return m;
    }

    /** Says where a value is not that of the model, whatever the order of members; null if it is. */
    private static String differs(Object m, Value v, String path) {
        if (m instanceof List<?> all) {
            if (!v.isArray() || v.size() != all.size()) {
                return path + ": " + v.kind() + " of " + v.size() + ", want an array of " + all.size();
            }
            int i = 0;
            for (Value x : v.elements()) {
                String d = differs(all.get(i), x, path + "/" + i++);
                if (d != null) {
                    return d;
                }
            }
            return null;
        }
        if (m instanceof Map<?, ?> all) {
            int n = 0;
            for (Member member : v.members()) {
                if (!all.containsKey(member.key())) {
                    return path + ": a key too many: " + member.key();
                }
                String d = differs(all.get(member.key()), member.value(), path + "/" + member.key());
                if (d != null) {
                    return d;
                }
                n++;
            }
            if (!v.isObject() || n != all.size() || v.size() != n) {
                return path + ": " + v.kind() + " of " + n + ", size " + v.size() + ", want " + all.size();
            }
            for (Object key : all.keySet()) {
                if (!v.get((String) key).exists()) {
                    return path + ": no " + key;
                }
            }
            return null;
        }
        String got = scalarModel(v);
        return got.equals(m) ? null : path + ": " + got + ", want " + m;
    }

    private static boolean hasTensor(Value v) {
        if (v.isArray()) {
            if (Read.column(v.doc.m, v.at).tensor) {
                return true;
            }
            for (Value x : v.elements()) {
                if (hasTensor(x)) {
                    return true;
                }
            }
        }
        for (Member x : v.members()) {
            if (hasTensor(x.value())) {
                return true;
            }
        }
        return false;
    }

    // --- random values

    /** A value and its model. */
    private record Pair(Object value, Object model) {}

    private Pair scalar(Object x) {
        return new Pair(x, modelOf(Editor.of(x).root()));
    }

    private Object of(Object... all) {
        return all[r.nextInt(all.length)];
    }

    private String key() {
        return r.nextInt(100) == 0 ? "k".repeat(250 + r.nextInt(10)) : keys.get(r.nextInt(keys.size()));
    }

    private Pair value(int depth) {
        switch (r.nextInt(depth > 2 ? 18 : 24)) {
            case 0:
                return scalar(null);
            case 1:
                return scalar(r.nextBoolean());
            case 2:
                return scalar(r.nextInt(100));
            case 3:
                return scalar(of(-1L, -129L, 256L, 70_000L, 1L << 31, 1L << 32, -(1L << 31) - 1, 1L << 53,
                    (1L << 24) + 1, (1L << 53) + 1));
            case 4:
                return scalar(of((1L << 53) + 1, Long.MAX_VALUE, BigInteger.ONE.shiftLeft(63),
                    BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE), 5));
            case 5, 6:
                return scalar(of(0.5, -1.25, 3.5, 1e100, 0.1, -2.5, 2.0, -0.0, 3.0, 16_777_218.0, 1e15, 0.0));
            case 7, 8, 9:
                return scalar(of("", "short", "seven b", "eight by", "a text of some length", "naïve",
                    "long ".repeat(1 + r.nextInt(40))));
            case 10:
                return scalar("very long ".repeat(110));
            case 11:
                return scalar(of("".getBytes(), "bytes".getBytes(), "more than seven bytes".getBytes()));
            case 12:
                return scalar(new UUID(0x0102030400000000L + r.nextInt(4), 0));
            case 13:
                return scalar(LocalDate.ofEpochDay(r.nextInt(20000)));
            case 14:
                return scalar(of(LocalTime.ofNanoOfDay(5_000_000_000L), LocalDateTime.of(1969, 12, 31, 23, 59, 59),
                    Instant.ofEpochSecond(1_700_000_000, 1000)));
            case 15:
                return scalar(of(new BigDecimal("1.50"), new BigDecimal("-1"),
                    new BigDecimal("0.92233720368547758087654321").setScale(38)));
            case 16:
                return part();
            case 17:
                return scalar(of("C", "F", "K", "unit"));
            case 18, 19:
                return list(r.nextInt(5), depth);
            case 20:
                List<Object> same = new ArrayList<>(), models = new ArrayList<>();
                Pair one = value(3);
                for (int i = r.nextInt(20); i > 0; i--) {
                    same.add(one.value);
                    models.add(cloneOf(one.model));
                }
                return new Pair(same, models);
            case 21:
                if (depth == 0 && r.nextInt(4) == 0) {
                    Map<String, Object> all = new LinkedHashMap<>(), model = new LinkedHashMap<>();
                    int n = r.nextInt(400);
                    for (int i = 0; i < n; i++) {
                        Pair x = value(3);
                        all.put("key " + i, x.value);
                        model.put("key " + i, x.model);
                    }
                    return new Pair(all, model);
                }
                break;
            default:
        }
        Map<String, Object> all = new LinkedHashMap<>(), model = new LinkedHashMap<>();
        for (int i = r.nextInt(6); i > 0; i--) {
            Pair x = value(depth + 1);
            String key = key();
            all.put(key, x.value);
            model.put(key, x.model);
        }
        return new Pair(all, model);
    }

    private Pair list(int n, int depth) {
        List<Object> all = new ArrayList<>(), model = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Pair x = value(depth + 1);
            all.add(x.value);
            model.add(x.model);
        }
        return new Pair(all, model);
    }

    /** A value of the document itself, to be copied. */
    private Pair part() {
        Place p = container();
        Value v = p == null ? Value.MISSING : e.pointer(p.path);
        if (p == null || v.toString().length() > 5000 || v.toString().contains("[[[[[[[[")) {
            return scalar(1);
        }
        return new Pair(v, modelOf(v));
    }

    // --- places

    private record Place(String path, Object model) {}

    /** A container of the document and its model; null where the root is a scalar. */
    private Place container() {
        String path = "";
        Object m = model;
        if (m instanceof String) {
            return null;
        }
        for (int level = 0; level < 12; level++) {
            List<Place> next = new ArrayList<>();
            if (m instanceof List<?> all) {
                for (int k = 0; k < Math.min(all.size(), 12); k++) {
                    int i = r.nextInt(all.size());
                    next.add(new Place(path + "/" + i, all.get(i)));
                }
            } else if (m instanceof Map<?, ?> all) {
                List<?> names = new ArrayList<>(all.keySet());
                for (int k = 0; k < Math.min(names.size(), 12); k++) {
                    String key = (String) names.get(r.nextInt(names.size()));
                    next.add(new Place(path + "/" + key.replace("~", "~0").replace("/", "~1"), all.get(key)));
                }
            }
            next.removeIf(x -> x.model instanceof String);
            if (next.isEmpty() || r.nextInt(3) == 0 && level > 0) {
                break;
            }
            path = next.get(0).path;
            m = next.get(0).model;
        }
        return new Place(path, m);
    }

    // --- steps

    private String what;
    private Runnable change; // of the model

    private LivebufException attempt(String what, Runnable edit, Runnable change) {
        this.what = what;
        this.change = change;
        try {
            edit.run();
            return null;
        } catch (LivebufException x) {
            return x;
        }
    }

    /** Makes one edit of the document and of the model. */
    void step() {
        Place place = container();
        Pair x = value(0);
        byte[] before = e.toByteArray();
        LivebufException error;
        change = () -> {};
        if (place == null) {
            error = attempt("replace", () -> e.set("", x.value), () -> model = x.model);
        } else {
            int how = r.nextInt(3);
            Handle h = how == 0 ? null : how == 1 ? e.handle(e.pointer(place.path)) : e.handle(place.path);
            if (h != null) {
                held.put(h, place.model);
                if (held.size() > 40) {
                    held.remove(held.keySet().iterator().next());
                }
            }
            if (place.model instanceof Map<?, ?>) {
                error = object(place, h, x);
            } else {
                error = array(place, h, x);
            }
        }
        String given = x.value instanceof Value ? "a value" : String.valueOf(x.value);
        given = given.substring(0, Math.min(60, given.length()));
        log.add((place == null ? "" : place.path) + ": " + what + " (" + given + ")");
        if (error == null) {
            change.run();
        } else if (error.kind() == ErrorKind.TENSOR_MISMATCH || limited && error.kind() == ErrorKind.DOCUMENT_LIMIT) {
            if (!"many".equals(what) && !java.util.Arrays.equals(before, e.toByteArray())) {
                throw fail("an edit that failed changed something", error);
            }
        } else {
            throw fail("the edit failed", error);
        }
        if (hasTensor) {
            model = modelOf(e.root());
            held.clear();
        }
    }

    @SuppressWarnings("unchecked")
    private LivebufException object(Place place, Handle h, Pair x) {
        Map<String, Object> m = (Map<String, Object>) place.model;
        String old = m.isEmpty() ? "" : (String) m.keySet().toArray()[r.nextInt(m.size())];
        String key = r.nextBoolean() && !m.isEmpty() ? old : key();
        String pointer = place.path + "/" + key.replace("~", "~0").replace("/", "~1");
        int n = r.nextInt(10);
        if (n < 6) {
            return attempt("set " + key, h != null ? () -> h.set(key, x.value) : () -> e.set(pointer, x.value),
                () -> m.put(key, x.model));
        }
        LivebufException error;
        if (n < 8) {
            error = attempt("remove " + old, h != null ? () -> h.remove(old)
                : () -> e.remove(place.path + "/" + old.replace("~", "~0").replace("/", "~1")), () -> m.remove(old));
            return m.isEmpty() && error != null && error.kind() == ErrorKind.NOT_FOUND ? null : error;
        }
        if (n < 9) {
            if (e.pointer(place.path).form == Value.ROW) {
                held.clear(); // the member of a row is copied
            }
            error = attempt("rename " + old + " to " + key, () -> e.rename(place.path, old, key), () -> {});
            if (!m.containsKey(old) || m.containsKey(key) && !key.equals(old)) {
                ErrorKind kind = error == null ? null : error.kind();
                return kind == ErrorKind.NOT_FOUND || kind == ErrorKind.KEY_EXISTS ? null : fail("renamed", error);
            }
            change = () -> {
                Object value = m.remove(old);
                m.put(key, value);
            };
            return error;
        }
        // Many members, so that records and extras become maps.
        what = "many";
        for (int i = 0, count = r.nextInt(300); i < count; i++) {
            Pair y = value(3);
            String name = "many " + i;
            error = attempt("many", () -> e.set(place.path + "/" + name, y.value), () -> {});
            if (error != null) {
                return error;
            }
            m.put(name, y.model);
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    private LivebufException array(Place place, Handle h, Pair x) {
        List<Object> m = (List<Object>) place.model;
        int n = m.size(), k = r.nextInt(12), i = r.nextInt(n + 1);
        String path = place.path;
        if (k < 5 && i < n) {
            return attempt("set " + i, h != null ? () -> h.set(i, x.value) : () -> e.set(path + "/" + i, x.value),
                () -> m.set(i, x.model));
        }
        if (k < 6 && i < n) {
            return attempt("remove " + i, h != null ? () -> h.remove(i) : () -> e.remove(path + "/" + i),
                () -> m.remove(i));
        }
        if (k < 7) {
            return attempt("push", h != null ? () -> h.push(new Object[] {x.value}) : () -> e.set(path + "/-", x.value),
                () -> m.add(x.model));
        }
        if (k < 8) {
            List<Integer> shuffled = new ArrayList<>(IntStream.range(0, n).boxed().toList());
            Collections.shuffle(shuffled, r);
            int[] order = shuffled.stream().mapToInt(Integer::intValue).toArray();
            return attempt("reorder", h != null ? () -> h.reorder(order) : () -> e.reorder(path, order), () -> {
                List<Object> was = new ArrayList<>(m);
                for (int j = 0; j < order.length; j++) {
                    m.set(j, was.get(order[j]));
                }
            });
        }
        int count = Math.min(n - i, r.nextInt(4));
        List<Object> all = new ArrayList<>(), models = new ArrayList<>();
        for (int j = r.nextInt(8); j > 0; j--) {
            Pair y = value(1);
            all.add(y.value);
            models.add(y.model);
        }
        return attempt("splice " + i + " " + count + " " + all.size(),
            h != null ? () -> h.splice(i, count, all.toArray()) : () -> e.splice(path, i, count, all.toArray()), () -> {
                m.subList(i, i + count).clear();
                m.addAll(i, models);
            });
    }

    // --- checks

    AssertionError failure(String message, Throwable cause) {
        int n = log.size();
        return new AssertionError(message + "\n" + String.join("\n", log.subList(Math.max(0, n - 4), n)), cause);
    }

    private LivebufException fail(String message, Throwable cause) {
        throw failure(message, cause);
    }

    void check() {
        String d = differs(model, e.root(), "");
        if (d != null) {
            throw failure(d, null);
        }
        try {
            Document.open(e.toByteArray()).validate();
        } catch (LivebufException x) {
            throw failure("the document is not valid", x);
        }
        Set<Object> there = Collections.newSetFromMap(new IdentityHashMap<>());
        walk(model, there);
        for (Map.Entry<Handle, Object> x : held.entrySet()) {
            boolean isAlive = x.getKey().isAlive();
            if (isAlive != there.contains(x.getValue())) {
                throw failure("a handle is alive: " + isAlive, null);
            }
            d = isAlive && log.size() % 10 == 0 ? differs(x.getValue(), x.getKey().value(), "handle") : null;
            if (d != null) {
                throw failure(d, null);
            }
        }
    }

    private static void walk(Object m, Set<Object> there) {
        there.add(m);
        if (m instanceof List<?> all) {
            all.forEach(x -> walk(x, there));
        } else if (m instanceof Map<?, ?> all) {
            all.values().forEach(x -> walk(x, there));
        }
    }

    // --- documents to begin with

    /** Documents of all kinds, by their names. */
    static Map<String, byte[]> editable() throws IOException {
        Map<String, byte[]> all = new TreeMap<>();
        for (String folder : List.of("vectors", "frozen")) {
            for (Path file : VectorsTest.documents(folder, folder.equals("vectors") ? "y_" : "")) {
                byte[] data = Files.readAllBytes(file);
                String name = VectorsTest.TESTDATA.relativize(file).toString();
                if (data[Layout.HEADER_READ_ONLY] == 0 && data.length < 20_000 && !name.contains("reserved")
                    && !name.contains("nesting")) {
                    all.put(name, data);
                }
            }
        }
        for (int i = 0; i < 40; i++) {
            all.put("table " + i, Livebuf.fromJson(tableJson(i)));
        }
        return all;
    }

    /** JSON of similar objects, with all kinds of columns. */
    static String tableJson(long seed) {
        Random r = new Random(seed + 1000);
        List<Integer> kinds = new ArrayList<>(IntStream.range(0, 16).boxed().toList());
        Collections.shuffle(kinds, r);
        int k = 1 + r.nextInt(8);
        StringBuilder text = new StringBuilder("[");
        for (int i = 0, n = 8 + r.nextInt(60); i < n; i++) {
            text.append(i > 0 ? ",{" : "{");
            boolean first = true;
            for (int j = 0; j < k; j++) {
                if (r.nextInt(12) != 0) {
                    text.append(first ? "" : ",").append('"').append((char) ('a' + j)).append(j).append("\":");
                    text.append(cellJson(kinds.get(j), i, r));
                    first = false;
                }
            }
            text.append('}');
        }
        return text.append(']').toString();
    }

    private static String cellJson(int kind, int i, Random r) {
        return switch (kind) {
            case 0 -> "" + i;
            case 1 -> "" + r.nextInt(1 << 20);
            case 2 -> "" + r.nextInt(1000) / 4.0;
            case 3 -> new String[] {"1.5", "2", "3.25"}[r.nextInt(3)];
            case 4 -> new String[] {"1.5", "2", "2.0"}[r.nextInt(3)];
            case 5 -> new String[] {"\"C\"", "\"F\"", "\"a longer unit\""}[r.nextInt(3)];
            case 6 -> "\"name " + i + "x".repeat(r.nextInt(9)) + "\"";
            case 7 -> String.format("\"A%03d\"", i);
            case 8 -> "" + r.nextBoolean();
            case 9 -> new String[] {"null", "1", "5"}[r.nextInt(3)];
            case 10 -> new String[] {"[]", "[1]", "[1,2,3]", "[7,8]"}[r.nextInt(4)];
            case 11 -> "[" + r.nextInt(9) + "," + r.nextInt(9) + "]";
            case 12 -> "[{\"p\":" + r.nextInt(9) + ",\"q\":\"t\"},{\"p\":2,\"q\":\"u\"}]";
            case 13 -> "{\"lat\":" + r.nextInt(90) + ",\"lon\":" + r.nextInt(90) + ".5}";
            case 14 -> "[[1,2],[3,4]]";
            default -> new String[] {"\"2026-11-23\"", "null"}[r.nextInt(2)];
        };
    }
}
