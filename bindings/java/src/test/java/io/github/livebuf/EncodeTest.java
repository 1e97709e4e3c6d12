package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** JSON and plain values become the bytes of the profile, and plain values what they were. */
class EncodeTest {
    private static final Option[] NONE = {};

    static byte[] copy(byte[] document, Option... options) {
        return Livebuf.encode(Document.open(document).root(), options);
    }

    private static String json(byte[] document) {
        return Document.open(document).validate().toJson();
    }

    /** The document of a JSON text; its value encodes again to the same bytes, and so do plain values. */
    private static byte[] check(byte[] text, Option... options) {
        byte[] made = Livebuf.fromJson(text, options);
        Document document = Document.open(made).validate();
        assertArrayEquals(made, copy(made, options));
        assertArrayEquals(made, Livebuf.encode(Livebuf.toObject(document.root()), options));
        return made;
    }

    @Test
    void vectorsComeOutByteForByte() throws IOException {
        int n = 0;
        for (String name : List.of("y_encoded_", "y_recognized_", "y_tensor_", "y_reserved_")) {
            for (Path file : VectorsTest.documents("vectors", name)) {
                byte[] want = Files.readAllBytes(file);
                Path json = file.resolveSibling(file.getFileName().toString().replace(".lbuf", ".json"));
                Option[] options = name.equals("y_recognized_") ? new Option[] {Option.RECOGNIZE} : NONE;
                assertArrayEquals(want, copy(want), file.toString());
                if (name.equals("y_encoded_") || name.equals("y_recognized_")) {
                    assertArrayEquals(want, check(Files.readAllBytes(json), options), file.toString());
                }
                n++;
            }
        }
        assertTrue(n >= 73, "only " + n);
    }

    @Test
    void valuesOfOtherDocumentsStayWhatTheyAre() throws IOException {
        for (Path file : VectorsTest.documents("frozen", "")) {
            Document document = Document.map(file);
            String want = new String(Json.print(document.root(), true, 0), StandardCharsets.UTF_8);
            for (Option[] options : new Option[][] {NONE, {Option.NO_TABLES}}) {
                byte[] again = Livebuf.encode(document, options);
                Value root = Document.open(again).validate().root();
                assertEquals(want, new String(Json.print(root, true, 0), StandardCharsets.UTF_8), file.toString());
                assertArrayEquals(again, copy(again, options), file.toString());
            }
        }
    }

    @Test
    void numbersOfJsonAreExact() {
        String[][] cases = {{"-0", "-0.0"}, {"-9223372036854775808", "-9223372036854775808"},
            {"-9223372036854775809", "-9223372036854775809"}, {"18446744073709551615", "18446744073709551615"},
            {"18446744073709551616", "18446744073709551616"}, {"1E5", "100000.0"}, {"1e400", "1e400"},
            {"1e-400", "1e-400"}, {"0e999999999999", "0.0"}, {"9007199254740993.0", "9007199254740992.0"},
            {"0.1234567890123456789", "0.1234567890123456789"}, {"00000000000000000000.1", null}, {"01", null},
            {"0.00000000000000000000123", "1.23e-21"}, {"1.", null}, {".5", null}, {"+1", null}, {"1e", null},
            {"123456789012345678e-1", "123456789012345678e-1"}, {"2e-324", "2e-324"}, {"3e-324", "5e-324"},
            {"1e99999999999999999999", "1e99999999999999999999"}, {"-", null}, {"0x1", null}, {"NaN", null}};
        for (String[] each : cases) {
            if (each[1] == null) {
                assertEquals(ErrorKind.BAD_JSON, kind(() -> Livebuf.fromJson(each[0])), each[0]);
            } else {
                assertEquals(each[1], json(check(each[0].getBytes(StandardCharsets.UTF_8))), each[0]);
            }
        }
    }

    @Test
    void doublesAreTheNearest() {
        Random random = new Random(1);
        for (int i = 0; i < 200_000; i++) {
            long digits = (random.nextLong() >>> 8 + random.nextInt(50)) % 100_000_000_000_000_000L;
            int power = random.nextInt(2) == 0 ? random.nextInt(60) - 30 : random.nextInt(700) - 360;
            double want = Double.parseDouble(digits + "e" + power);
            assertEquals(want, Doubles.nearest(digits, power), digits + "e" + power);
            BigDecimal near = new BigDecimal(Double.toString(Double.longBitsToDouble(random.nextLong() >>> 2)));
            digits = near.unscaledValue().longValueExact();
            assertEquals(near.doubleValue(), Doubles.nearest(digits, -near.scale()), near.toString());
        }
    }

    private static ErrorKind kind(Runnable call) {
        return assertThrows(LivebufException.class, call::run).kind();
    }

    @Test
    void badJsonIsRefusedWhereItIsBad() {
        Object[][] cases = {{"", 0}, {"[1,2", 4}, {"[1,]", 3}, {"{\"a\":1,}", 7}, {"{a:1}", 1}, {"{\"a\" 1}", 5},
            {"[1 2]", 3}, {"tru", 3}, {"nul]", 3}, {"\"a", 2}, {"\"\\x\"", 2}, {"\"\\u12g4\"", 5}, {"\"\n\"", 1},
            {"1 2", 2}, {"[1}", 2}, {"\"\\ud800x\"", 7}, {"\"\\udc00\"", 7}, {"\u0000", 0}, {"{\"a\":}", 5}};
        for (Object[] each : cases) {
            LivebufException e = assertThrows(LivebufException.class, () -> Livebuf.fromJson((String) each[0]));
            assertEquals(ErrorKind.BAD_JSON, e.kind(), e.getMessage());
            assertEquals(((Integer) each[1]).longValue(), e.offset(), each[0] + ": " + e.getMessage());
        }
        LivebufException e = assertThrows(LivebufException.class, () -> Livebuf.fromJson("{\n  \"é\": flase}"));
        assertTrue(e.advice().endsWith("(line 2, column 9)"), e.advice());
        int[][] all = {{0xc0, 0x80}, {0xe2, 0x82}, {0xed, 0xa0, 0x80}, {0xf4, 0x90, 0x80, 0x80}, {0xff}};
        for (int[] bytes : all) {
            byte[] text = "[\"some text before \u20ac\",\"xx\"]    ".getBytes(StandardCharsets.UTF_8);
            for (int i = 0; i < bytes.length; i++) {
                text[25 + i] = (byte) bytes[i];
            }
            text[25 + bytes.length] = '"';
            text[26 + bytes.length] = ']';
            assertEquals(25, assertThrows(LivebufException.class, () -> Livebuf.fromJson(text)).offset());
        }
    }

    @Test
    void optionsOfJson() {
        assertEquals("{\"a\":2,\"b\":0}", json(Livebuf.fromJson("{\"a\":1,\"b\":0,\"a\":2}")));
        String twice = "[{\"a\":1,\"a\":2}]";
        assertEquals(ErrorKind.DUPLICATE_KEY, kind(() -> Livebuf.fromJson(twice, Option.REFUSE_DUPLICATES)));
        assertEquals("[\"\ufffdA\",\"\ufffd\"]", json(Livebuf.fromJson("[\"\\ud800A\",\"\udc00\"]", Option.REPLACE)));
        assertEquals(ErrorKind.BAD_TEXT, kind(() -> Livebuf.fromJson("\"\ud800\"")));
        assertEquals("[1]", json(Livebuf.fromJson("\ufeff[1]")));
        Value day = Document.open(Livebuf.fromJson("[\"2024-02-29\",\"2023-02-29\"]", Option.RECOGNIZE)).root();
        assertEquals(LocalDate.of(2024, 2, 29), day.get(0).asDate());
        assertEquals(Kind.TEXT, day.get(1).kind());
        String deep = "[".repeat(1000) + "]".repeat(1000);
        assertEquals(deep, json(check(deep.getBytes(StandardCharsets.UTF_8))));
        assertEquals(ErrorKind.NESTING_LIMIT, kind(() -> Livebuf.fromJson("[" + deep + "]")));
    }

    /** Random values of all kinds, often similar ones. */
    private static final class Values {
        final Random random;

        Values(long seed) {
            random = new Random(seed);
        }

        Object scalar() {
            long x = random.nextLong() >> random.nextInt(64);
            return switch (random.nextInt(16)) {
                case 0 -> null;
                case 1 -> random.nextBoolean();
                case 2 -> BigInteger.ONE.shiftLeft(63).add(BigInteger.valueOf(x >>> 1));
                case 3 -> NumberText.of(random.nextBoolean() ? "1e400" : "-" + "9".repeat(20 + random.nextInt(30)));
                case 4 -> new byte[random.nextInt(12)];
                case 5 -> new BigDecimal(BigInteger.valueOf(x), random.nextInt(39));
                case 6 -> new UUID(x, random.nextLong());
                case 7 -> LocalDate.ofEpochDay(random.nextInt(30_000));
                case 8 -> LocalTime.ofNanoOfDay(random.nextInt(86_400) * 1_000_000_000L);
                case 9 -> LocalDateTime.of(2026, 1, 1, 0, 0).plusSeconds(random.nextInt());
                case 10 -> Instant.ofEpochSecond(random.nextInt(), 1000 * random.nextInt(1_000_000));
                case 11 -> x / 4.0;
                case 12 -> random.nextGaussian();
                case 13, 14 -> x;
                default -> text();
            };
        }

        String text() {
            return switch (random.nextInt(6)) {
                case 0 -> "t" + random.nextInt(9);
                case 1 -> "a text that repeats: " + random.nextInt(9);
                case 2 -> new String(Character.toChars(0x20 + random.nextInt(0xd000))) + "\ud83d\ude00";
                case 3 -> "x".repeat(random.nextInt(1100));
                default -> "text number " + random.nextLong();
            };
        }

        Object value(int depth) {
            int n = random.nextInt(random.nextInt(8) == 0 ? 300 : 12);
            switch (depth > 4 ? 0 : random.nextInt(6)) {
                case 0:
                case 1:
                    return scalar();
                case 2: {
                    List<Object> all = new ArrayList<>();
                    for (int i = 0; i < Math.min(n, 20); i++) {
                        all.add(value(depth + 1));
                    }
                    return all;
                }
                case 3: {
                    Map<String, Object> all = new LinkedHashMap<>();
                    for (int i = 0; i < n; i++) {
                        all.put(n < 12 ? text() : "key " + i, n < 12 ? value(depth + 1) : scalar());
                    }
                    return all;
                }
                default: {
                    List<Object> rows = new ArrayList<>();
                    Map<String, Object> map = new LinkedHashMap<>();
                    Object like = random.nextBoolean() ? row(1 + random.nextInt(5), depth) : scalar();
                    for (int i = 0; i < n; i++) {
                        rows.add(random.nextInt(20) == 0 ? null : similar(like));
                        map.put("id" + i, rows.get(i));
                    }
                    return random.nextInt(4) == 0 ? map : rows;
                }
            }
        }

        private Map<String, Object> row(int n, int depth) {
            Map<String, Object> row = new LinkedHashMap<>();
            for (int i = 0; i < n; i++) {
                row.put(random.nextBoolean() ? "k" + i : "a longer key " + i, value(depth + 2));
            }
            return row;
        }

        private Object similar(Object like) {
            if (like instanceof Map<?, ?> row) {
                Map<String, Object> other = new LinkedHashMap<>();
                List<Map.Entry<?, ?>> members = new ArrayList<>(row.entrySet());
                if (random.nextInt(20) == 0) {
                    Collections.shuffle(members, random);
                }
                for (Map.Entry<?, ?> member : members) {
                    if (random.nextInt(12) > 0) {
                        other.put((String) member.getKey(), similar(member.getValue()));
                    }
                }
                return other;
            }
            if (like instanceof List<?> all) {
                return all.stream().map(this::similar).toList();
            }
            return like instanceof Long x ? x + random.nextInt(9)
                : like instanceof Double x ? x + random.nextInt(3) / 2.0
                : like instanceof String && random.nextBoolean() ? text() : random.nextInt(9) == 0 ? scalar() : like;
        }
    }

    /** Values with the same members, of which arrays are equal where their elements are. */
    private static String show(Object x) {
        if (x instanceof Map<?, ?> map) {
            StringBuilder all = new StringBuilder("{");
            map.forEach((key, value) -> all.append(key).append('=').append(show(value)).append(", "));
            return all.append('}').toString();
        }
        if (x instanceof List<?> list) {
            return list.stream().map(EncodeTest::show).toList().toString();
        }
        return x instanceof byte[] bytes ? Arrays.toString(bytes)
            : x == null ? "null" : x.getClass().getSimpleName() + x;
    }

    @Test
    void randomValuesComeBack() {
        for (int seed = 0; seed < 400; seed++) {
            Object value = new Values(seed).value(0);
            for (Option[] options : new Option[][] {NONE, {Option.NO_TABLES}}) {
                byte[] made = Livebuf.encode(value, options);
                Value root = Document.open(made).validate().root();
                assertEquals(show(value), show(Livebuf.toObject(root)), "seed " + seed);
                assertArrayEquals(made, copy(made, options), "seed " + seed);
                assertArrayEquals(made, copy(copy(made, Option.NO_TABLES), options), "seed " + seed);
            }
        }
    }

    /**
     * An object of more than 255 members behind rows of the same keys was written as a record, which has at most 255:
     * its keys were those that were expected to come next, and not counted. It is a map now.
     */
    @Test
    void objectsWithTheKeysOfWideRowsAreMaps() {
        StringBuilder members = new StringBuilder("{\"key 0\":0");
        for (int i = 1; i < 262; i++) {
            members.append(",\"key ").append(i).append("\":").append(i);
        }
        String text = "{\"rows\":[" + members + "}," + members + "}],\"one\":" + members + "}}";
        byte[] made = check(text.getBytes(StandardCharsets.UTF_8));
        assertEquals(Value.MAP, Document.open(made).root().get("one").form);
    }

    /** Numbers of JSON in one array, as they may be spelt. */
    private static String numbers(Random random) {
        List<String> all = new ArrayList<>();
        for (int i = random.nextInt(40); i >= 0; i--) {
            long digits = random.nextLong() >>> random.nextInt(64);
            all.add((random.nextInt(4) == 0 ? "-" : "") + Long.toUnsignedString(digits)
                + (random.nextInt(3) == 0 ? "." + "0".repeat(random.nextInt(9)) + random.nextInt(100_000) : "")
                + (random.nextInt(3) == 0 ? (random.nextBoolean() ? "e" : "E-") + random.nextInt(400) : ""));
        }
        return all.toString();
    }

    @Test
    void randomDocumentsHaveTheBytesOfTheCommand(@TempDir Path folder) throws Exception {
        record Run(List<String> flags, Option... options) {}
        List<Run> runs = List.of(new Run(List.of()), new Run(List.of("--no-tables"), Option.NO_TABLES),
            new Run(List.of("--recognize"), Option.RECOGNIZE));
        Command.assumeBuilt();
        int n = Command.amount(100, 4000, 50_000);
        for (int first = 0; first < n; first += 1000) {
            List<String> lines = new ArrayList<>();
            for (int seed = first; seed < Math.min(first + 1000, n); seed++) {
                lines.add(seed % 10 == 9 ? numbers(new Random(seed))
                    : json(Livebuf.encode(new Values(seed).value(seed % 4))));
            }
            for (Run run : runs) {
                List<byte[]> want = Command.each(folder, lines, run.flags);
                for (int i = 0; i < want.size(); i++) {
                    byte[] got = check(lines.get(i).getBytes(StandardCharsets.UTF_8), run.options);
                    assertArrayEquals(want.get(i), got, "document " + (first + i) + " " + run.flags);
                }
            }
        }
    }

    @Test
    void valuesOfJavaThatHaveNoPlaceAreRefusedWithTheirPath() {
        Map<String, Object> map = new TreeMap<>();
        map.put("a/b~", List.of(1, new Object()));
        LivebufException e = assertThrows(LivebufException.class, () -> Livebuf.encode(map));
        assertEquals(ErrorKind.BAD_VALUE, e.kind());
        assertEquals("/a~1b~0/1", e.path());
        List<Object> circle = new ArrayList<>();
        circle.add(circle);
        assertEquals(ErrorKind.NESTING_LIMIT, kind(() -> Livebuf.encode(circle)));
        assertEquals(ErrorKind.BAD_VALUE, kind(() -> Livebuf.encode(Instant.MAX)));
        assertEquals(ErrorKind.BAD_VALUE, kind(() -> Livebuf.encode(LocalDate.MIN)));
        assertEquals(ErrorKind.BAD_VALUE, kind(() -> Livebuf.encode(LocalDateTime.MAX)));
        assertEquals(ErrorKind.BAD_TEXT, kind(() -> Livebuf.encode(Map.of("\ud800", 1))));
        assertEquals(ErrorKind.BAD_NUMBER, kind(() -> NumberText.of("1.")));
        assertEquals("10", json(Livebuf.encode(new BigDecimal("1e1"))));
        List<Object> all = Arrays.asList(Optional.empty(), new int[] {1, 2}, new char[] {'c'}, new StringBuilder("sb"),
            new float[] {1.5f}, DayOfWeek.MONDAY, Map.of(1, true), ByteBuffer.wrap(new byte[] {0, 1}));
        assertEquals("[null,[1,2],[\"c\"],\"sb\",[1.5],\"MONDAY\",{\"1\":true},\"AAE=\"]", json(Livebuf.encode(all)));
    }

    @Test
    void longPathsAreShortened() {
        Object deep = DayOfWeek.class;
        for (int i = 0; i < 900; i++) {
            deep = Map.of("key", deep);
        }
        Object value = deep;
        LivebufException e = assertThrows(LivebufException.class, () -> Livebuf.encode(value));
        assertTrue(e.path().length() > 500 && e.getMessage().length() < 500, e.getMessage());
        assertTrue(e.getMessage().contains("/key/key…"), e.getMessage());
    }

    @Test
    void damagedDocumentsGiveErrorsAndNothingWorse() throws IOException {
        Random random = new Random(5);
        List<Path> files = VectorsTest.documents("vectors", "");
        for (int i = 0; i < 3000; i++) {
            byte[] bytes = Files.readAllBytes(files.get(random.nextInt(files.size())));
            for (int k = random.nextInt(4); k >= 0 && bytes.length > 0; k--) {
                int x = random.nextBoolean() ? random.nextInt(33) : random.nextInt();
                bytes[random.nextInt(bytes.length)] = (byte) x;
            }
            try {
                Value root = Document.open(bytes).root();
                Livebuf.toObject(root);
                json(Livebuf.encode(root));
            } catch (LivebufException e) {
                // That is what they are for.
            }
        }
    }
}
