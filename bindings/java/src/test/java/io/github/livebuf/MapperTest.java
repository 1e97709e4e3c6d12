package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
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

    @Test
    void typesWithoutAPlaceAreRefusedWhenTheMapperIsMade() {
        record Bad(int good, List<Thread> bad) {}
        LivebufException e = assertThrows(LivebufException.class, () -> Mapper.of(Bad.class));
        assertEquals(ErrorKind.BAD_VALUE, e.kind());
        assertEquals("/bad", e.path());
    }
}
