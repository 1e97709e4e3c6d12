package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.Vector;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.junit.jupiter.api.Test;

/** Records and beans become objects, and objects become them. */
class MapperTest {
    enum Color { RED, GREEN }

    record Point(double x, double y) {}

    record Pair<A, B>(A first, List<B> others) {}

    record Node(int v, Node next, List<Node> below) {}

    record Wide(boolean flag, byte b, short s, char c, float f, Long boxed, BigInteger big, BigDecimal price, UUID id,
        Instant at, LocalDate day, Color color, Optional<String> note, Map<Color, Integer> counts,
        SortedMap<Integer, Point> places, Set<String> words, SortedSet<Long> numbers, Object any,
        Pair<Point, Long> pair, Node node, @Mapped("renamed") String name, @Mapped(skip = true) String secret,
        @Mapped(omitEmpty = true) List<String> tags) {}

    static class Base {
        protected int id = 7;
        static int shared = 1;
    }

    static class Bean extends Base {
        private String name = "made by the constructor";
        transient int passing = 2;
        Point[] points;
        private double[] numbers;
    }

    private static ErrorKind kind(Runnable call) {
        return assertThrows(LivebufException.class, call::run).kind();
    }

    @Test
    void recordsComeBack() {
        Map<Color, Integer> counts = new EnumMap<>(Map.of(Color.RED, 1, Color.GREEN, 2));
        SortedMap<Integer, Point> places = new TreeMap<>(Map.of(3, new Point(1, 2), -1, new Point(0.5, 0)));
        Wide wide = new Wide(true, (byte) -1, (short) 300, 'é', 1.5f, null, BigInteger.TWO.pow(63),
            new BigDecimal("19.90"), new UUID(1, 2), Instant.parse("2026-11-23T06:30:00.000001Z"),
            LocalDate.of(2026, 11, 23), Color.GREEN,
            Optional.of("a note"), counts, places, Set.of("word"), new TreeSet<>(List.of(3L, 1L)),
            Map.of("k", List.of(1L)), new Pair<>(new Point(1, 1), List.of(5L)),
            new Node(1, new Node(2, null, null), List.of()), "n", "s", List.of());
        Mapper<Wide> mapper = Mapper.of(Wide.class);
        byte[] bytes = mapper.encode(wide);
        assertArrayEquals(bytes, Livebuf.encode(wide));
        Value root = Document.open(bytes).validate().root();
        assertEquals("n", root.get("renamed").asText());
        assertTrue(!root.get("secret").exists() && !root.get("tags").exists());
        Wide read = mapper.decode(bytes);
        assertNull(read.secret());
        assertNull(read.tags());
        String expected = wide.toString().replace("secret=s", "secret=null").replace("tags=[]", "tags=null");
        assertEquals(expected, read.toString());
    }

    @Test
    void rowsOfTablesComeBack() {
        List<Point> points = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            points.add(i % 13 == 0 ? null : new Point(i, i / 4.0));
        }
        Mapper<List<Point>> mapper = Mapper.listOf(Point.class);
        byte[] bytes = mapper.encode(points);
        assertEquals(Layout.CODE_STRUCT, Read.column(Document.open(bytes).m, 32).code);
        assertEquals(points, mapper.decode(bytes));
        assertEquals(points, mapper.decode(Livebuf.encode(points, Option.NO_TABLES)));
        Mapper<Map<String, Point>> map = Mapper.mapOf(Point.class);
        Map<String, Point> named = new TreeMap<>();
        points.forEach(p -> named.put("point " + named.size(), p));
        bytes = map.encode(named);
        assertEquals(named, map.decode(bytes));
        assertArrayEquals(bytes, Livebuf.fromJson(Document.open(bytes).toJson()));
    }

    @Test
    void beansAreTheirFields() {
        Mapper<Bean> mapper = Mapper.of(Bean.class);
        Bean bean = mapper.decode(Livebuf.fromJson("{\"id\":3,\"points\":[{\"y\":2,\"x\":1.5},null],\"unknown\":1}"));
        assertEquals("made by the constructor", bean.name);
        assertNull(bean.numbers);
        bean.numbers = new double[] {1, 2.5};
        assertEquals("{\"id\":3,\"name\":\"made by the constructor\",\"points\":[{\"x\":1.5,\"y\":2.0},null],"
            + "\"numbers\":[1.0,2.5]}", Document.open(mapper.encode(bean)).toJson());
    }

    @Test
    void valuesThatDoNotFitAreErrorsWithTheirPath() {
        Mapper<List<Point>> mapper = Mapper.listOf(Point.class);
        for (String last : List.of("\"no\"", "[]", "9007199254740993", "1e400")) {
            String text = "[{\"x\":1,\"y\":2},{\"x\":1,\"y\":" + last + "}]";
            LivebufException e = assertThrows(LivebufException.class, () -> mapper.decode(Livebuf.fromJson(text)));
            assertEquals(ErrorKind.WRONG_TYPE, e.kind());
            assertEquals("/1/y", e.path());
        }
        assertEquals(ErrorKind.WRONG_TYPE, kind(() -> Mapper.of(Integer.class).decode(Livebuf.fromJson("2147483648"))));
        assertEquals(ErrorKind.WRONG_TYPE, kind(() -> Mapper.of(Color.class).decode(Livebuf.fromJson("\"BLUE\""))));
        assertEquals(ErrorKind.WRONG_TYPE, kind(() -> Mapper.of(Instant.class).decode(Livebuf.fromJson("\"now\""))));
        assertEquals(ErrorKind.WRONG_TYPE, kind(() -> Mapper.of(Comparable.class).decode(Livebuf.fromJson("1"))));
        assertEquals(Instant.EPOCH, Mapper.of(Instant.class).decode(Livebuf.fromJson("\"1970-01-01T00:00:00Z\"")));
        assertArrayEquals(new byte[] {0, 1}, Mapper.of(byte[].class).decode(Livebuf.fromJson("\"AAE=\"")));
        Point none = Mapper.of(Point.class).decode(Livebuf.fromJson("{\"x\":null}"));
        assertEquals(new Point(0, 0), none);
    }

    static class Box<T> {
        T value;
        List<T> all;
    }

    static class IntBox extends Box<Integer> {}

    static class Chain<T extends Chain<T>> {
        T next;
        List<T> others;
    }

    record Bound<T extends Point>(T value, List<T> all) {}

    record Bounds(Bound<?> some, @SuppressWarnings("rawtypes") Bound raw) {}

    record Least<T extends Comparable<T>>(T value) {}

    static class Points extends Box<Point> {}

    @Test
    void membersOfGenericSuperclassesHaveTheirTypes() {
        IntBox box = Mapper.of(IntBox.class).decode(Livebuf.fromJson("{\"value\":5,\"all\":[1]}"));
        int sum = box.value + box.all.get(0);
        assertEquals(6, sum);
        assertEquals(ErrorKind.WRONG_TYPE,
            kind(() -> Mapper.of(IntBox.class).decode(Livebuf.fromJson("{\"all\":[5000000000]}"))));
        Points points = Mapper.of(Points.class)
            .decode(Livebuf.fromJson("{\"value\":{\"x\":1},\"all\":[{\"y\":2},{\"y\":3}]}"));
        Point last = points.all.get(1);
        assertEquals(List.of(new Point(1, 0), new Point(0, 3)), List.of(points.value, last));
    }

    @Test
    void variablesThatAreNotKnownAreTheirBounds() {
        String json = "{\"value\":{\"x\":1},\"all\":[{\"y\":2}]}";
        Bounds read = Mapper.of(Bounds.class).decode(Livebuf.fromJson("{\"some\":" + json + ",\"raw\":" + json + "}"));
        Point point = read.some.all.get(0);
        assertEquals(List.of(point), read.raw.all());
        Chain<?> chain = Mapper.of(Chain.class).decode(Livebuf.fromJson("{\"next\":{\"others\":[{\"next\":{}}]}}"));
        assertEquals(1L, Mapper.of(Least.class).decode(Livebuf.fromJson("{\"value\":1}")).value());
        Chain<?> other = chain.next.others.get(0);
        assertNull(other.next.next);
    }

    static class Lists<T> extends ArrayList<List<T>> {
        private static final long serialVersionUID = 1;
    }

    static class Reversed<V, K> extends HashMap<K, V> {
        private static final long serialVersionUID = 1;
    }

    @Test
    void argumentsOfCollectionsAreThoseOfTheirSupertypes() {
        record Holder(Lists<Point> lists, Reversed<Point, Long> map) {}
        Holder made = new Holder(new Lists<>(), new Reversed<>());
        made.lists.add(List.of(new Point(1, 2)));
        made.map.put(7L, new Point(3, 4));
        Mapper<Holder> mapper = Mapper.of(Holder.class);
        assertEquals(made, mapper.decode(mapper.encode(made)));
    }

    static class Tree extends ArrayList<Tree> {
        private static final long serialVersionUID = 1;
    }

    static class Named extends TreeMap<String, Named> {
        private static final long serialVersionUID = 1;
    }

    @Test
    void collectionsMayHoldTheirOwnType() {
        Mapper<Tree> trees = Mapper.of(Tree.class);
        Tree tree = trees.decode(Livebuf.fromJson("[[],[[],null]]"));
        assertEquals("[[],[[],null]]", Document.open(trees.encode(tree)).toJson());
        assertNull(tree.get(1).get(1));
        Named named = Mapper.of(Named.class).decode(Livebuf.fromJson("{\"a\":{\"b\":{}}}"));
        assertEquals(0, named.get("a").get("b").size());
    }

    record Growing<T>(T value, Growing<List<T>> next) {}

    record Doubling<T>(T value, Doubling<Pair<T, T>> next) {}

    @Test
    void typesThatGrowWithoutEndAreRefused() {
        assertEquals(ErrorKind.BAD_VALUE, kind(() -> Mapper.of(Growing.class)));
        assertEquals(ErrorKind.BAD_VALUE, kind(() -> Livebuf.encode(new Growing<>("a", null))));
        assertEquals(ErrorKind.BAD_VALUE, kind(() -> Mapper.of(Doubling.class)));
    }

    static class Stack<T> extends Vector<T> {
        private static final long serialVersionUID = 1;
    }

    record Kinds(EnumMap<Color, Integer> a, ConcurrentHashMap<String, Point> b, ConcurrentMap<String, Point> c,
        EnumSet<Color> d, Vector<Integer> e, Stack<Point> f, Reversed<Integer, Color> g, NavigableMap<String, Long> h,
        HashMap<Character, Long> i, Map<LocalDate, Long> j, Map<Boolean, Long> k, Map<Double, Long> l) {}

    @Test
    void collectionsOfAllKindsComeBack() {
        Stack<Point> stack = new Stack<>();
        stack.add(new Point(1, 2));
        Reversed<Integer, Color> reversed = new Reversed<>();
        reversed.put(Color.GREEN, 5);
        Map<String, Point> point = Map.of("p", new Point(3, 4));
        Kinds made = new Kinds(new EnumMap<>(Map.of(Color.RED, 1)), new ConcurrentHashMap<>(point),
            new ConcurrentHashMap<>(point), EnumSet.of(Color.GREEN), new Vector<>(List.of(1)), stack, reversed,
            new TreeMap<>(Map.of("n", 1L)), new HashMap<>(Map.of('c', 2L)), Map.of(LocalDate.EPOCH, 3L),
            Map.of(true, 4L), Map.of(0.5, 5L));
        Mapper<Kinds> mapper = Mapper.of(Kinds.class);
        assertEquals(made, mapper.decode(mapper.encode(made)));
        record Queues(ArrayDeque<Integer> a, Deque<Integer> b, Queue<Integer> c) {}
        Queues queues = Mapper.of(Queues.class).decode(Livebuf.fromJson("{\"a\":[1,2],\"b\":[3],\"c\":[4]}"));
        assertEquals("Queues[a=[1, 2], b=[3], c=[4]]", queues.toString());
        assertEquals(ErrorKind.WRONG_TYPE,
            kind(() -> Mapper.of(Queues.class).decode(Livebuf.fromJson("{\"a\":[null]}"))));
        assertEquals(ErrorKind.WRONG_TYPE,
            kind(() -> Mapper.of(Kinds.class).decode(Livebuf.fromJson("{\"b\":{\"none\":null}}"))));
    }

    sealed interface Shape permits Circle {}

    record Circle(double radius) implements Shape {}

    @Test
    void typesThatCannotBeMadeSayIt() {
        record Blocking(BlockingQueue<Integer> made, Shape shape, Map<Object, EnumSet<?>> sets) {}
        for (String json : List.of("{\"made\":[1]}", "{\"shape\":{\"radius\":1}}", "{\"sets\":{\"a\":[]}}")) {
            LivebufException e = assertThrows(LivebufException.class,
                () -> Mapper.of(Blocking.class).decode(Livebuf.fromJson(json)));
            assertEquals(ErrorKind.WRONG_TYPE, e.kind());
            assertTrue(e.getMessage().contains("cannot be made"), e.getMessage());
        }
    }

    @Test
    void keysAreReadAsTheyAreSpelt() {
        record Keys(Map<Integer, Long> i, Map<Character, Long> c, Map<LocalDate, Long> d, Map<Boolean, Long> b) {}
        Mapper<Keys> mapper = Mapper.of(Keys.class);
        assertEquals(Map.of(5, 1L, -7, 2L), mapper.decode(Livebuf.fromJson("{\"i\":{\"5\":1,\"-7\":2}}")).i);
        for (String bad : List.of("i/05", "i/+5", "i/x", "c/", "c/ab", "d/now", "b/yes")) {
            String[] parts = (bad + " ").split("/");
            String json = "{\"" + parts[0] + "\":{\"" + parts[1].strip() + "\":1}}";
            LivebufException e = assertThrows(LivebufException.class, () -> mapper.decode(Livebuf.fromJson(json)), bad);
            assertEquals(ErrorKind.WRONG_TYPE, e.kind());
            assertEquals("/" + bad, e.path());
        }
    }

    @Test
    void iterablesThatAreNoCollectionsAreArrays() {
        class Three implements Iterable<Point> {
            @Override
            public Iterator<Point> iterator() {
                return List.of(new Point(1, 2), new Point(3, 4)).iterator();
            }
        }
        record Named(String name) implements Iterable<String> {
            @Override
            public Iterator<String> iterator() {
                return List.of(name).iterator();
            }
        }
        assertEquals("[{\"x\":1.0,\"y\":2.0},{\"x\":3.0,\"y\":4.0}]",
            Document.open(Livebuf.encode(new Three())).toJson());
        assertEquals("{\"name\":\"a\"}", Document.open(Livebuf.encode(new Named("a"))).toJson());
        assertEquals(ErrorKind.BAD_VALUE, kind(() -> Livebuf.encode(Path.of("/a/b"))));
    }

    @Test
    void floatsAreTheNearest() {
        record Floats(float single, Float boxed, float[] all) {}
        Mapper<Floats> mapper = Mapper.of(Floats.class);
        Floats read = mapper.decode(Livebuf.fromJson("{\"single\":0.1,\"boxed\":3,\"all\":[1e-50,1.1]}"));
        assertEquals(0.1f, read.single);
        assertEquals(3f, read.boxed);
        assertArrayEquals(new float[] {0, 1.1f}, read.all);
        for (String bad : List.of("1e39", "-1e39", "16777217", "\"1\"")) {
            assertEquals(ErrorKind.WRONG_TYPE, kind(() -> mapper.decode(Livebuf.fromJson("{\"single\":" + bad + "}"))));
        }
        float[] all = {Float.NaN, Float.NEGATIVE_INFINITY, Float.MIN_VALUE};
        assertArrayEquals(all, mapper.decode(mapper.encode(new Floats(0, null, all))).all);
    }

    @Test
    void decimalsOfAnySizeComeBack() {
        Mapper<BigDecimal> mapper = Mapper.of(BigDecimal.class);
        for (String text : List.of("1e38", "1e50", "-12e400", "1e-39", "0e-60",
            "3.14159265358979323846264338327950288419716939937510", "1234567890".repeat(6))) {
            BigDecimal x = new BigDecimal(text);
            assertEquals(0, x.compareTo(mapper.decode(mapper.encode(x))), text);
            Editor e = Editor.of(Map.of());
            e.set("/price", x);
            assertEquals(0, x.compareTo(e.pointer("/price").asBigDecimal()), text);
        }
    }

    @Test
    void durationsAndAddressesAreTexts() {
        record Texts(Duration every, URI where) {}
        Mapper<Texts> mapper = Mapper.of(Texts.class);
        Texts made = new Texts(Duration.ofMinutes(90), URI.create("https://example.org/a"));
        assertEquals("{\"every\":\"PT1H30M\",\"where\":\"https://example.org/a\"}",
            Document.open(mapper.encode(made)).toJson());
        assertEquals(made, mapper.decode(mapper.encode(made)));
        assertEquals(ErrorKind.WRONG_TYPE, kind(() -> mapper.decode(Livebuf.fromJson("{\"every\":\"soon\"}"))));
        assertEquals(ErrorKind.WRONG_TYPE, kind(() -> mapper.decode(Livebuf.fromJson("{\"every\":5}"))));
    }

    record Optionals(OptionalInt i, OptionalLong l, OptionalDouble d, Optional<OptionalInt> within,
        List<OptionalLong> all, @Mapped(omitEmpty = true) OptionalInt omitted,
        @Mapped(omitEmpty = true) OptionalLong left, @Mapped(omitEmpty = true) OptionalDouble out) {}

    static class OptionalBean {
        OptionalInt i = OptionalInt.of(1);
        OptionalDouble d;
    }

    @Test
    void optionalNumbersAreNumbersOrNull() {
        Mapper<Optionals> mapper = Mapper.of(Optionals.class);
        Optionals full = new Optionals(OptionalInt.of(-5), OptionalLong.of(1L << 60), OptionalDouble.of(0.5),
            Optional.of(OptionalInt.of(0)), List.of(OptionalLong.of(1), OptionalLong.empty()), OptionalInt.of(2),
            OptionalLong.of(3), OptionalDouble.of(4));
        assertEquals("{\"i\":-5,\"l\":1152921504606846976,\"d\":0.5,\"within\":0,\"all\":[1,null],\"omitted\":2,"
            + "\"left\":3,\"out\":4.0}", Document.open(mapper.encode(full)).toJson());
        assertEquals(full, mapper.decode(mapper.encode(full)));
        Optionals empty = new Optionals(OptionalInt.empty(), OptionalLong.empty(), OptionalDouble.empty(),
            Optional.empty(), List.of(), OptionalInt.empty(), OptionalLong.empty(), OptionalDouble.empty());
        assertEquals("{\"i\":null,\"l\":null,\"d\":null,\"within\":null,\"all\":[]}",
            Document.open(mapper.encode(empty)).toJson());
        assertEquals(empty, mapper.decode(mapper.encode(empty)));
        assertEquals(empty, mapper.decode(Livebuf.fromJson("{\"all\":[]}")));
        Mapper<List<Optionals>> rows = Mapper.listOf(Optionals.class);
        List<Optionals> many = List.of(full, empty, full, empty);
        assertEquals(many, rows.decode(rows.encode(many)));
        OptionalBean bean = Mapper.of(OptionalBean.class).decode(Livebuf.fromJson("{\"i\":null,\"d\":3}"));
        assertEquals(OptionalInt.empty(), bean.i);
        assertEquals(OptionalDouble.of(3), bean.d);
        for (String bad : List.of("{\"i\":2147483648}", "{\"l\":1.0}", "{\"d\":9007199254740993}", "{\"d\":\"1\"}")) {
            LivebufException e = assertThrows(LivebufException.class, () -> mapper.decode(Livebuf.fromJson(bad)), bad);
            assertEquals(ErrorKind.WRONG_TYPE, e.kind());
            assertEquals("/" + bad.charAt(2), e.path());
        }
        assertEquals("7", Document.open(Livebuf.encode(OptionalLong.of(7))).toJson());
        assertEquals("null", Document.open(Livebuf.encode(OptionalInt.empty())).toJson());
        Editor edit = Editor.of(Map.of());
        edit.set("/d", OptionalDouble.of(1.5));
        assertEquals(1.5, edit.pointer("/d").asDouble());
    }

    @Test
    void nullAmongNumbersIsZero() {
        assertArrayEquals(new int[] {1, 0}, Mapper.of(int[].class).decode(Livebuf.fromJson("[1,null]")));
    }

    @Test
    void typesWithoutAPlaceAreRefusedWhenTheMapperIsMade() {
        record Bad(int good, List<Thread> bad) {}
        LivebufException e = assertThrows(LivebufException.class, () -> Mapper.of(Bad.class));
        assertEquals(ErrorKind.BAD_VALUE, e.kind());
        assertEquals("/bad", e.path());
    }
}
