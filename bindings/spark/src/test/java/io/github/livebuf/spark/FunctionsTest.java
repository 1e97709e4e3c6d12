package io.github.livebuf.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import scala.jdk.javaapi.CollectionConverters;

import io.github.livebuf.Document;
import io.github.livebuf.Livebuf;

/** The functions of SQL, in generated code and without it. */
class FunctionsTest {
    private static final UUID ID = new UUID(1, 2);

    private static SparkSession spark;

    @BeforeAll
    static void start() {
        spark = Session.builder("local[2]").getOrCreate();
        Map<String, Object> doc = new LinkedHashMap<>();
        doc.put("user", Map.of("id", 7, "näme", "Ädä \"x\" 🐘"));
        doc.put("list", List.of(1, 2.5, true));
        doc.put("big", new BigInteger("18446744073709551615"));
        doc.put("long", Long.MIN_VALUE);
        doc.put("price", new BigDecimal("1.50"));
        doc.put("day", LocalDate.of(2024, 2, 29));
        doc.put("clock", LocalTime.of(1, 2, 3));
        doc.put("naive", LocalDateTime.of(2024, 1, 2, 3, 4, 5, 6000));
        doc.put("moment", Instant.parse("2024-01-02T03:04:05.000006Z"));
        doc.put("uuid", ID);
        doc.put("bytes", new byte[] {0, -1});
        doc.put("none", null);
        doc.put("a/b~c", "escaped");
        documents("docs", Livebuf.encode(doc), null);
        documents("damaged", Livebuf.fromJson("{\"a\": 1}"), "no document".getBytes());
    }

    private static void documents(String view, byte[]... documents) {
        List<Row> rows = Arrays.stream(documents).map(d -> RowFactory.create((Object) d)).toList();
        spark.createDataFrame(rows, new StructType().add("d", DataTypes.BinaryType)).createOrReplaceTempView(view);
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    /** With and without code that Spark generates. */
    private static void generates(boolean generates) {
        spark.conf().set("spark.sql.codegen.wholeStage", String.valueOf(generates));
        spark.conf().set("spark.sql.codegen.factoryMode", generates ? "CODEGEN_ONLY" : "NO_CODEGEN");
    }

    private static Object ask(String expression) {
        List<Row> rows = spark.sql("select " + expression + " from docs").collectAsList();
        assertNull(rows.get(1).get(0), "null in, null out");
        return rows.get(0).get(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void getsTexts(boolean generates) {
        generates(generates);
        assertEquals("7", ask("lb_get(d, '/user/id')"));
        assertEquals("Ädä \"x\" 🐘", ask("lb_get(d, '/user/näme')"));
        assertEquals("Ädä \"x\" 🐘", ask("lb_get(d, '$[\\'user\\'].näme')"));
        assertEquals("[1,2.5,true]", ask("lb_get(d, '/list')"));
        assertEquals("true", ask("lb_get(d, '$.list[#-1]')"));
        assertEquals("2.5", ask("lb_get(d, '$.list[1]')"));
        assertEquals("18446744073709551615", ask("lb_get(d, '/big')"));
        assertEquals("1.50", ask("lb_get(d, '/price')"));
        assertEquals("2024-02-29", ask("lb_get(d, '/day')"));
        assertEquals(ID.toString(), ask("lb_get(d, '/uuid')"));
        // NaN ended the job, since JSON has none.
        assertEquals("NaN", ask("lb_get(lb_set(d, '/x', double('NaN')), '/x')"));
        assertEquals("-Infinity", ask("lb_get(lb_set(d, '/x', double('-Infinity')), '/x')"));
        assertEquals("escaped", ask("lb_get(d, '/a~1b~0c')"));
        assertNull(ask("lb_get(d, '/none')"));
        assertNull(ask("lb_get(d, '/nowhere/at/all')"));
        assertNull(ask("lb_get(d, null)"));
        assertEquals("7", ask("lb_get(d, concat('/user', if(d is null, '/no', '/id')))"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void getsTypedValues(boolean generates) {
        generates(generates);
        assertEquals(7L, ask("lb_get_bigint(d, '/user/id')"));
        assertEquals(Long.MIN_VALUE, ask("lb_get_bigint(d, '/long')"));
        for (String path : List.of("/big", "/list/1", "/price", "/user", "/nowhere", "/none")) {
            assertNull(ask("lb_get_bigint(d, '" + path + "')"), path);
        }
        assertEquals(7.0, ask("lb_get_double(d, '/user/id')"));
        assertEquals(0x1p64, ask("lb_get_double(d, '/big')"));
        assertEquals(1.5, ask("lb_get_double(d, '/price')"));
        assertNull(ask("lb_get_double(d, '/day')"));
        assertEquals(true, ask("lb_get_boolean(d, '/list/2')"));
        assertNull(ask("lb_get_boolean(d, '/list/0')"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void makesJsonAndVariants(boolean generates) {
        generates(generates);
        assertEquals("null", ask("lb_json(d, '/none')"));
        assertEquals("\"2024-02-29\"", ask("lb_json(d, '/day')"));
        assertNull(ask("lb_json(d, '/nowhere')"));
        assertEquals(true, ask("lb_json(d, '/user') = lb_json(lb_from_json(lb_json(d, '/user')))"));
        assertEquals("[1,2.5,true]", ask("to_json(lb_variant(d, '/list'))"));
        assertEquals(7L, ask("variant_get(lb_variant(d), '$.user.id', 'bigint')"));
        assertEquals("Ädä \"x\" 🐘", ask("variant_get(lb_variant(d), '$.user[\"näme\"]', 'string')"));
        assertEquals(new BigDecimal("18446744073709551615"), ask("variant_get(lb_variant(d), '$.big', 'decimal(20,0)')"));
        assertEquals("DECIMAL(2,1)", ask("schema_of_variant(lb_variant(d, '/price'))"));
        assertEquals("DATE", ask("schema_of_variant(lb_variant(d, '/day'))"));
        assertEquals("TIMESTAMP", ask("schema_of_variant(lb_variant(d, '/moment'))"));
        assertEquals("TIMESTAMP_NTZ", ask("schema_of_variant(lb_variant(d, '/naive'))"));
        assertEquals("BINARY", ask("schema_of_variant(lb_variant(d, '/bytes'))"));
        assertEquals(ID.toString(), ask("string(lb_variant(d, '/uuid'))"));
        assertNull(ask("lb_variant(d, '/nowhere')"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void sets(boolean generates) {
        generates(generates);
        assertEquals("{\"id\":8,\"x\":\"é\"}", ask("lb_get(lb_set(lb_set(lb_set(d, '/user/id', 8), '/user/x', 'é'), "
            + "'/user', parse_json('{\"id\": 8, \"x\": \"é\"}')), '/user')"));
        assertEquals("[1,2.5,null]", ask("lb_get(lb_set(d, '$.list[#-1]', null), '/list')"));
        assertEquals("[1,2.5,true,4]", ask("lb_get(lb_set(d, '/list/-', 4), '/list')"));
        for (String path : List.of("/user/0", "/user/-", "$.user.\"0\"", "$.user.\"-\"", "$.list[#-3]", "")) {
            assertEquals("5", ask("lb_get(lb_set(d, '" + path + "', 5), '" + path + "')"), path);
        }
        // Intervals were numbers.
        assertEquals("PT93784.500000S", ask("lb_get(lb_set(d, '/x', interval '1 02:03:04.5' day to second), '/x')"));
        assertEquals("-PT0.000001S", ask("lb_get(lb_set(d, '/x', interval '-0.000001' second), '/x')"));
        assertEquals("-P14M", ask("lb_get(lb_set(d, '/x', interval '-1-2' year to month), '/x')"));
        Object set = ask("lb_set(lb_set(lb_set(lb_set(lb_set(d, '/day', date'0001-01-01'), '/moment', "
            + "timestamp'1969-12-31 23:59:59.999999Z'), '/price', 12.345BD), '/bytes', X'01'), '/list', "
            + "to_variant_object(array(named_struct('a', 1.5D))))");
        Document doc = Document.open((byte[]) set).validate();
        assertEquals(LocalDate.of(1, 1, 1), doc.pointer("/day").asDate());
        assertEquals(Instant.parse("1969-12-31T23:59:59.999999Z"), doc.pointer("/moment").asInstant());
        assertEquals(new BigDecimal("12.345"), doc.pointer("/price").asBigDecimal());
        assertArrayEquals(new byte[] {1}, doc.pointer("/bytes").asBytes());
        assertEquals("[{\"a\":1.5}]", doc.pointer("/list").toJson());
        assertEquals("7", ask("lb_get(d, '/user/id')"), "the document itself is as it was");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void saysWhatIsWrong(boolean generates) {
        generates(generates);
        fails("lb_get_bigint(d, '/a')", "damaged", "lb_get_bigint(doc, '/a'): these bytes are no LiveBuf document");
        fails("lb_variant(d)", "damaged", "lb_variant(doc, ''): these bytes are no LiveBuf document");
        fails("lb_get(d, 'user')", "docs", "\"user\" is no path: write a JSON pointer such as /a/b/0, or $.a.b[0]");
        fails("lb_get(d, '$.a[x]')", "docs", "is no path");
        fails("lb_get(d, 5)", "docs", "lb_get(doc, path): argument 2 is INT, and must be STRING");
        fails("lb_get('text', '/a')", "docs", "lb_get(doc, path): argument 1 is STRING, and must be BINARY");
        fails("lb_get(d)", "docs", "lb_get(doc, path): it was given 1 arguments");
        fails("lb_set(d, '/a', array(1))", "docs", "a scalar that documents have, or a VARIANT: to_variant_object");
        fails("lb_set(d, '/a', make_interval(1))", "docs", "lb_set(doc, path, value): argument 3 is INTERVAL");
        fails("lb_set(d, '/no/where', 1)", "docs", "lb_set(doc, '/no/where'): ");
        // It added a member "0", set element 0, or added an element, where lb_get finds nothing.
        fails("lb_set(d, '$[0]', 1)", "docs", "lb_set(doc, '$[0]'): the value is an object, and not an array");
        fails("lb_set(d, '$.user[#-1]', 1)", "docs", "lb_set(doc, '$.user[#-1]'): the value is an object");
        fails("lb_set(d, '$.list.\"0\"', 1)", "docs", "the value is an array, and not an object");
        fails("lb_set(d, '$.list.\"-\"', 1)", "docs", "the value is an array, and not an object");
        fails("lb_set(d, '$.list[#-4]', 1)", "docs", "lb_set(doc, '$.list[#-4]'): the array has 3 elements");
        fails("lb_get(d, '$.list[#-0]')", "docs", "is no path");
        fails("lb_from_json('{')", "docs", "lb_from_json: ");
    }

    /** Between two threads, a row got the path of the other one. */
    @Test
    void threadsMayShareACall() {
        Expression doc = new BoundReference(0, DataTypes.BinaryType, true);
        Expression path = new BoundReference(1, DataTypes.StringType, true);
        Call call = new Call(Call.Function.GET_BIGINT, CollectionConverters.asScala(List.of(doc, path)).toList());
        byte[] bytes = Livebuf.fromJson("[0, 1]");
        assertTrue(IntStream.range(0, 5_000_000).parallel().allMatch(i -> {
            UTF8String element = UTF8String.fromString("/" + i % 2);
            return call.eval(new GenericInternalRow(new Object[] {bytes, element})).equals(i % 2L);
        }));
    }

    private static void fails(String expression, String view, String message) {
        Throwable error = assertThrows(Exception.class,
            () -> spark.sql("select " + expression + " from " + view).collectAsList(), expression);
        String all = Stream.iterate(error, e -> e != null, Throwable::getCause).map(Throwable::toString).toList()
            .toString();
        assertTrue(all.contains(message), () -> message + " is not in: " + all);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void worksInGroupsAndFilters(boolean generates) {
        generates(generates);
        List<Row> rows = spark.range(0, 1000).selectExpr("lb_from_json(to_json(struct(id, id % 3 as k))) as d")
            .filter("lb_get_bigint(d, '/id') >= 10").groupBy(org.apache.spark.sql.functions.expr("lb_get(d, '/k')"))
            .agg(org.apache.spark.sql.functions.expr("sum(lb_get_bigint(d, '/id') + lb_get_bigint(d, '/id'))"))
            .orderBy("lb_get(d, /k)").collectAsList();
        assertEquals(3, rows.size());
        assertEquals("0", rows.get(0).get(0));
        assertEquals(999_000 - 90, rows.stream().mapToLong(row -> row.getLong(1)).sum());
    }
}
