package io.github.livebuf.jackson;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.Base64Variants;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.format.DataFormatDetector;
import com.fasterxml.jackson.core.format.DataFormatMatcher;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.livebuf.Document;
import io.github.livebuf.ErrorKind;
import io.github.livebuf.Kind;
import io.github.livebuf.Livebuf;
import io.github.livebuf.LivebufException;
import io.github.livebuf.NumberText;
import io.github.livebuf.Option;
import io.github.livebuf.Value;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jackson reads and writes documents as it does JSON. */
class LivebufFactoryTest {
    private static final ObjectMapper JSON = exact(new ObjectMapper());
    private static final ObjectMapper LIVEBUF = exact(new ObjectMapper(new LivebufFactory()));

    // Without exact decimals, as mappers are when they are new.
    private static final ObjectMapper DOUBLES = new ObjectMapper();
    private static final ObjectMapper DOCUMENTS = new ObjectMapper(new LivebufFactory());

    @TempDir
    Path folder;

    private static ObjectMapper exact(ObjectMapper mapper) {
        return mapper.enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .configure(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES, false);
    }

    // --- random trees

    private static JsonNode scalar(Random r) {
        JsonNodeFactory f = JSON.getNodeFactory();
        long x = r.nextLong() >> r.nextInt(64);
        return switch (r.nextInt(10)) {
            case 0 -> f.nullNode();
            case 1 -> f.booleanNode(r.nextBoolean());
            case 2 -> f.numberNode(x);
            case 3 -> f.numberNode(new BigInteger(1 + r.nextInt(200), r).negate().subtract(BigInteger.TWO.pow(64)));
            case 4 -> f.numberNode(BigInteger.TWO.pow(64).subtract(BigInteger.valueOf(1 + r.nextInt(1000))));
            // One digit behind the point at least: JSON has no other sign of a decimal.
            case 5 -> f.numberNode(new BigDecimal(BigInteger.valueOf(x), 1 + r.nextInt(37)));
            case 6 -> f.numberNode(new BigDecimal(new BigInteger(150, r), 1 + r.nextInt(60)));
            case 7 -> f.textNode("a text that repeats: " + r.nextInt(5));
            case 8 -> f.textNode("é\ud83d\ude00\"\\\n\0".repeat(r.nextInt(4)));
            default -> f.numberNode((int) x);
        };
    }

    private static JsonNode tree(Random r, int depth) {
        int n = r.nextInt(r.nextInt(10) == 0 ? 300 : 10);
        switch (depth > 4 ? 0 : r.nextInt(4)) {
            case 1 -> {
                ObjectNode object = JSON.createObjectNode();
                for (int i = 0; i < n; i++) {
                    object.set("key " + i, tree(r, depth + 1 + n / 20));
                }
                return object;
            }
            case 2 -> {
                ArrayNode array = JSON.createArrayNode();
                for (int i = 0; i < n; i++) {
                    array.add(tree(r, depth + 1 + n / 20));
                }
                return array;
            }
            case 3 -> { // similar objects, which become rows
                ArrayNode rows = JSON.createArrayNode();
                int seed = r.nextInt();
                for (int i = 0; i < n; i++) {
                    ObjectNode row = JSON.createObjectNode();
                    Random same = new Random(seed);
                    for (int k = same.nextInt(6); k >= 0; k--) {
                        JsonNode x = scalar(same);
                        if (r.nextInt(10) > 0) {
                            row.set("column " + k, x.isIntegralNumber() ? JSON.getNodeFactory().numberNode(i) : x);
                        }
                    }
                    rows.add(row);
                }
                return rows;
            }
            default -> {
                return scalar(r);
            }
        }
    }

    @Test
    void randomTreesAreThoseOfJson() throws IOException {
        for (int seed = 0; seed < Integer.getInteger("livebuf.trees", 500); seed++) {
            JsonNode made = tree(new Random(seed), 0);
            byte[] text = JSON.writeValueAsBytes(made);
            byte[] document = LIVEBUF.writeValueAsBytes(made);
            Document.open(document).validate();
            JsonNode read = LIVEBUF.readTree(document);
            assertEquals(JSON.readTree(text), read, "seed " + seed);
            assertEquals(made.toString(), read.toString(), "seed " + seed);
            // What Jackson reads of a document is what the document prints.
            byte[] printed = DOUBLES.writeValueAsBytes(LIVEBUF.readTree(Livebuf.fromJson(text)));
            assertEquals(DOUBLES.readTree(text), DOUBLES.readTree(printed), "seed " + seed);
            assertEquals(JSON.readTree(Document.open(document).toJson()), read, "seed " + seed);
            // The same bytes as those of the values themselves.
            if (made.isContainerNode()) {
                Object plain = Livebuf.toObject(Document.open(document).root());
                assertArrayEquals(Livebuf.encode(plain), document, "seed " + seed);
            }
        }
    }

    @Test
    void documentsOfTestdataAreReadAsTheirJson() throws IOException {
        List<Path> all;
        Path testdata = Path.of(System.getProperty("livebuf.testdata", "../../../testdata"));
        try (Stream<Path> files = Files.walk(testdata.resolve("vectors"))) {
            all = files.filter(f -> f.getFileName().toString().matches("y_.*\\.lbuf")).sorted().toList();
        }
        int n = 0;
        for (Path file : all) {
            Document doc = Document.open(Files.readAllBytes(file));
            String json;
            try {
                json = doc.toJson();
            } catch (LivebufException e) {
                continue; // infinities, and values of later versions
            }
            JsonNode tree = LIVEBUF.readTree(doc.toByteArray());
            // A decimal without digits behind the point, and bytes, are the same in JSON's text.
            assertEquals(JSON.readTree(json), JSON.readTree(JSON.writeValueAsBytes(tree)), file.toString());
            n++;
        }
        assertTrue(n > 120, n + " documents");
    }

    // --- objects of Java

    record Point(double x, double y) {}

    record Place(String name, Point at, List<Point> path, Map<String, Long> counts, byte[] photo, BigDecimal price,
        BigInteger id, UUID key) {}

    static class Bean {
        public int number = 7;
        public String text;
        public Bean next;
    }

    @Test
    void recordsAndBeansComeBack() throws IOException {
        Place place = new Place("a place", new Point(1, 2.5), List.of(new Point(3, 4), new Point(5, 6)),
            Map.of("n", 1L << 60), new byte[] {1, 2, -1}, new BigDecimal("19.90"), BigInteger.TEN.pow(40),
            new UUID(1, 2));
        byte[] document = LIVEBUF.writeValueAsBytes(place);
        Value root = Document.open(document).validate().root();
        assertEquals(Kind.BYTES, root.get("photo").kind());
        assertEquals(new BigDecimal("19.90"), root.get("price").asBigDecimal());
        assertEquals("00000000-0000-0001-0000-000000000002", root.get("key").asText());
        Place read = LIVEBUF.readValue(document, Place.class);
        assertArrayEquals(place.photo(), read.photo());
        assertEquals(place.toString().replaceAll("photo=[^,]*", ""), read.toString().replaceAll("photo=[^,]*", ""));

        Bean bean = new Bean();
        bean.next = new Bean();
        bean.next.text = "second";
        Bean again = LIVEBUF.readValue(LIVEBUF.writeValueAsBytes(bean), Bean.class);
        assertEquals("second", again.next.text);
        assertNull(again.next.next);

        // Members that a class does not have are passed over, whatever they hold.
        ObjectMapper lax = LIVEBUF.copy().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
        byte[] more = Livebuf.fromJson("{\"x\":1,\"other\":[[{}],{\"y\":3}],\"none\":{},\"y\":2}");
        assertEquals(new Point(1, 2), lax.readValue(more, Point.class));
        assertThrows(MismatchedInputException.class, () -> LIVEBUF.readValue(more, Point.class));
    }

    @Test
    void partsOfDocumentsAreRead() throws IOException {
        Document doc = Document.open(Livebuf.fromJson("{\"points\":[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4}]}"));
        LivebufFactory factory = (LivebufFactory) LIVEBUF.getFactory();
        try (JsonParser p = factory.createParser(doc.pointer("/points/1"))) {
            assertEquals(new Point(3, 4), p.readValueAs(Point.class));
            assertNull(p.nextToken());
            assertTrue(p.isClosed());
        }
        JsonParseException e = assertThrows(JsonParseException.class, () -> factory.createParser(doc.pointer("/no")));
        assertEquals(ErrorKind.NOT_FOUND, ((LivebufException) e.getCause()).kind());
    }

    @Test
    void datesTimesAndUuidsAreTexts() throws IOException {
        byte[] document = Livebuf.encode(new Object[] {LocalDate.of(2026, 11, 29), Instant.EPOCH, new UUID(0, 1)});
        assertEquals("[\"2026-11-29\",\"1970-01-01T00:00:00Z\",\"00000000-0000-0000-0000-000000000001\"]",
            LIVEBUF.readTree(document).toString());
        assertEquals(List.of(new UUID(0, 1)), Arrays.asList(LIVEBUF.readValue(
            Livebuf.encode(new Object[] {new UUID(0, 1)}), UUID[].class)));
        ObjectMapper recognizing = new ObjectMapper(new LivebufFactory(Option.RECOGNIZE));
        byte[] made = recognizing.writeValueAsBytes(new UUID[] {new UUID(0, 1)});
        assertEquals(Kind.UUID, Document.open(made).root().get(0).kind());
        assertArrayEquals(made, recognizing.copy().writeValueAsBytes(new UUID[] {new UUID(0, 1)}));
    }

    @Test
    void whatIsEmbeddedStaysWhatItIs() throws IOException {
        Value part = Document.open(Livebuf.fromJson("[[1,2]]")).root().get(0);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator g = LIVEBUF.createGenerator(out)) {
            g.writeStartArray();
            g.writeEmbeddedObject(LocalDate.EPOCH);
            g.writeEmbeddedObject(part);
            g.writeEmbeddedObject(new UUID(0, 1));
            g.writeEmbeddedObject(null);
            g.writeEndArray();
        }
        assertEquals(Kind.DATE, Document.open(out.toByteArray()).root().get(0).kind());
        assertEquals("[\"1970-01-01\",[1,2],\"00000000-0000-0000-0000-000000000001\",null]",
            Document.open(out.toByteArray()).toJson());
    }

    // --- numbers

    @Test
    void numbersAreExact() throws IOException {
        byte[] document = Livebuf.fromJson("[9007199254740993,18446744073709551615,1e400,"
            + "123456789012345678901234567890,0.1,3.0]");
        JsonNode tree = DOCUMENTS.readTree(document);
        assertEquals(9007199254740993L, tree.get(0).longValue());
        assertEquals(new BigInteger("18446744073709551615"), tree.get(1).bigIntegerValue());
        assertEquals(new BigDecimal("1e400"), DOCUMENTS.readTree(Livebuf.fromJson("[1e400]")).get(0).decimalValue());
        assertEquals(new BigInteger("123456789012345678901234567890"), tree.get(3).bigIntegerValue());
        assertTrue(tree.get(4).isDouble() && tree.get(4).doubleValue() == 0.1);
        assertEquals("[9007199254740993,18446744073709551615,1E+400,123456789012345678901234567890,0.1,3.0]",
            Document.open(DOCUMENTS.writeValueAsBytes(tree)).toJson());
        double[] special = {Double.NaN, Double.POSITIVE_INFINITY, -0.0};
        assertArrayEquals(special, DOCUMENTS.readValue(DOCUMENTS.writeValueAsBytes(special), double[].class));
        try (JsonParser p = DOCUMENTS.createParser(document)) {
            p.nextToken();
            p.nextToken();
            assertThrows(InputCoercionException.class, p::getIntValue);
            assertEquals(9007199254740993L, p.getLongValue());
            assertEquals(JsonParser.NumberType.LONG, p.getNumberType());
            p.nextToken();
            assertThrows(InputCoercionException.class, p::getLongValue);
            assertEquals("18446744073709551615", p.getText());
            p.nextToken();
            assertEquals(JsonToken.VALUE_NUMBER_FLOAT, p.currentToken());
            assertEquals(JsonParser.NumberType.BIG_DECIMAL, p.getNumberType());
            assertTrue(Double.isInfinite(p.getDoubleValue()));
            assertThrows(InputCoercionException.class, p::getIntValue);
            p.nextToken();
            assertEquals(JsonParser.NumberType.BIG_INTEGER, p.getNumberType());
            p.nextToken();
            assertEquals(0, p.getIntValue());
            assertEquals(0.1f, p.getFloatValue());
        }
        byte[] digits = Livebuf.fromJson("[" + "9".repeat(2000) + "]");
        assertThrows(StreamConstraintsException.class, () -> DOCUMENTS.readTree(digits));
    }

    // --- bytes, streams and errors

    @Test
    void bytesAreBytesAndTextsOfThem() throws IOException {
        byte[] bytes = {0, 1, 2, -1};
        assertArrayEquals(bytes, LIVEBUF.readTree(LIVEBUF.writeValueAsBytes(bytes)).binaryValue());
        assertArrayEquals(bytes, LIVEBUF.readValue(Livebuf.fromJson("\"AAEC/w==\""), byte[].class));
        assertEquals("\"AAEC/w==\"", LIVEBUF.readTree(LIVEBUF.writeValueAsBytes(bytes)).toString());
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator g = LIVEBUF.createGenerator(out)) {
            assertEquals(4, g.writeBinary(Base64Variants.MIME, new ByteArrayInputStream(bytes), 4));
        }
        assertArrayEquals(bytes, Document.open(out.toByteArray()).root().asBytes());
        for (byte[] document : List.of(out.toByteArray(), Livebuf.fromJson("\"AAEC/w==\""))) {
            ByteArrayOutputStream copy = new ByteArrayOutputStream();
            try (JsonParser p = LIVEBUF.createParser(document)) {
                p.nextToken();
                assertEquals(4, p.readBinaryValue(copy));
            }
            assertArrayEquals(bytes, copy.toByteArray());
        }
        JsonProcessingException e = assertThrows(JsonProcessingException.class,
            () -> LIVEBUF.readValue(Livebuf.fromJson("\"?\""), byte[].class));
        assertTrue(e.getMessage().contains("base64"), e.getMessage());
    }

    @Test
    void filesAndStreams() throws IOException {
        Path file = folder.resolve("points.lbuf");
        LIVEBUF.writeValue(file.toFile(), List.of(new Point(1, 2)));
        assertEquals(2, LIVEBUF.readValue(file.toFile(), Point[].class)[0].y());
        try (var in = Files.newInputStream(file)) {
            assertEquals(1, LIVEBUF.readTree(in).size());
        }
        for (JsonFactory f : ServiceLoader.load(JsonFactory.class)) {
            if (f instanceof LivebufFactory) {
                DataFormatMatcher match = new DataFormatDetector(new JsonFactory(), f).findFormat(
                    Files.readAllBytes(file));
                assertSame(f, match.getMatch());
                assertEquals("LiveBuf", match.getMatchedFormatName());
            }
        }
        assertThrows(UnsupportedOperationException.class, () -> LIVEBUF.readTree("{}"));
        assertThrows(UnsupportedOperationException.class, () -> LIVEBUF.writeValueAsString(1));
        assertFalse(LIVEBUF.getFactory().canUseCharArrays());
    }

    @Test
    void damageIsAnErrorWithItsOffset() throws IOException {
        byte[] document = Livebuf.fromJson("{\"event\":\"lap_complete\",\"lap\":55}");
        byte[] damaged = document.clone();
        damaged[4] = 9;
        JsonParseException e = assertThrows(JsonParseException.class, () -> LIVEBUF.readTree(damaged));
        assertEquals(4, e.getLocation().getByteOffset());
        assertTrue(e.getMessage().contains("UnsupportedVersion at byte 4"), e.getMessage());
        assertThrows(JsonParseException.class, () -> LIVEBUF.readTree(new byte[] {123, 125}));
        Random r = new Random(3);
        int found = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] changed = document.clone();
            changed[r.nextInt(changed.length)] = (byte) r.nextInt();
            try {
                LIVEBUF.readTree(changed);
            } catch (JsonProcessingException x) {
                found++;
            }
        }
        assertTrue(found > 1000);
    }

    @Test
    void misuseOfTheGeneratorIsAnError() throws IOException {
        try (JsonGenerator g = LIVEBUF.createGenerator(new ByteArrayOutputStream())) {
            g.writeNumber(1);
            assertThrows(JsonProcessingException.class, () -> g.writeNumber(2));
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator g = LIVEBUF.createGenerator(out)) {
            g.writeStartObject();
            assertThrows(JsonProcessingException.class, () -> g.writeNumber(1));
            assertThrows(JsonProcessingException.class, g::writeEndArray);
            assertThrows(UnsupportedOperationException.class, () -> g.writeRaw("1"));
            g.writeFieldName("a");
            assertThrows(JsonProcessingException.class, () -> g.writeFieldName("b"));
            g.writeStartArray();
            g.writeNumber("1e400");
        } // ends what is open
        assertEquals("{\"a\":[1e400]}", Document.open(out.toByteArray()).toJson());
        JsonProcessingException e = assertThrows(JsonProcessingException.class,
            () -> LIVEBUF.writeValueAsBytes(Map.of("a", "\ud800")));
        assertTrue(e.getMessage().contains("surrogate"), e.getMessage());
        ObjectMapper strict = new ObjectMapper(new LivebufFactory());
        strict.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
        assertEquals("{\"a\":1}", strict.readTree(Livebuf.fromJson("{\"a\":1}")).toString());
        assertEquals(NumberText.of("1e400"), Livebuf.toObject(Document.open(out.toByteArray()).pointer("/a/0")));
    }

    @Test
    void deepTreesAreReadAndRefused() throws IOException {
        ObjectMapper deep = new ObjectMapper(new LivebufFactory());
        String text = "[".repeat(900) + "]".repeat(900);
        assertEquals(text, deep.readTree(Livebuf.fromJson(text)).toString());
        assertEquals(text, Document.open(deep.writeValueAsBytes(deep.readTree(Livebuf.fromJson(text)))).toJson());
        deep.getFactory().setStreamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(10).build());
        assertThrows(StreamConstraintsException.class, () -> deep.readTree(Livebuf.fromJson(text)));
        Map<String, Object> itself = new LinkedHashMap<>();
        itself.put("a", itself);
        assertThrows(JsonProcessingException.class, () -> deep.writeValueAsBytes(itself));
    }
}
