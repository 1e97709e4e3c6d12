package io.github.livebuf.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.math.BigDecimal;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

import io.github.livebuf.Livebuf;
import io.github.livebuf.LogWriter;

/** The data source in a session of two threads. */
class SourceTest {
    private static SparkSession spark;

    @TempDir
    Path folder;

    @BeforeAll
    static void start() {
        spark = Session.builder("local[2]").getOrCreate();
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    /** The list that both data sources pass. */
    @TestFactory
    Stream<DynamicTest> cases() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (JsonNode test : Cases.all()) {
            tests.add(DynamicTest.dynamicTest(test.get("name").asText(), () -> {
                Path own = Files.createTempDirectory(folder, "case");
                Cases.write(test.get("files"), own);
                if (test.has("error")) {
                    Throwable error = assertThrows(Throwable.class, () -> load(test, own).collectAsList());
                    String message = messages(error);
                    for (JsonNode part : test.get("error")) {
                        assertTrue(message.contains(part.asText()), () -> part.asText() + " is not in: " + message);
                    }
                } else {
                    Dataset<Row> frame = load(test, own);
                    assertEquals(test.get("schema").asText(), frame.schema().simpleString());
                    List<String> found = new ArrayList<>(
                        frame.selectExpr("to_json(struct(*))").as(Encoders.STRING()).collectAsList());
                    found.sort(null);
                    List<String> wanted = new ArrayList<>();
                    test.get("rows").forEach(row -> wanted.add(row.asText()));
                    assertEquals(wanted, found);
                }
            }));
        }
        return tests.stream();
    }

    private static String messages(Throwable error) {
        return Stream.iterate(error, e -> e != null, Throwable::getCause).map(Throwable::toString).toList().toString();
    }

    private static Dataset<Row> load(JsonNode test, Path folder) {
        DataFrameReader reader = spark.read().format("livebuf");
        if (test.has("options")) {
            test.get("options").fields().forEachRemaining(o -> reader.option(o.getKey(), o.getValue().asText()));
        }
        if (test.has("given")) {
            reader.schema(test.get("given").asText());
        }
        return reader.load(test.has("path") ? folder + "/" + test.get("path").asText() : folder.toString());
    }

    private Dataset<Row> load() {
        return spark.read().format("livebuf").load(folder.toString());
    }

    private static Map<String, Object> row(int n) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("id", n);
        row.put("half", n % 3 == 0 ? null : n / 2.0);
        row.put("text", "text number " + n % 9);
        row.put("at", Map.of("x", n));
        return row;
    }

    private void document(String name, int from, int to) throws IOException {
        Files.write(folder.resolve(name), Livebuf.encode(IntStream.range(from, to).mapToObj(SourceTest::row).toList()));
    }

    private static long metric(Dataset<Row> frame, String name) {
        List<SQLMetric> found = new ArrayList<>();
        frame.queryExecution().executedPlan().foreach(plan -> {
            plan.metrics().get(name).foreach(found::add);
            return null;
        });
        return found.stream().mapToLong(SQLMetric::value).sum();
    }

    @Test
    void readsTheColumnsOfAQuery() throws IOException {
        document("a.lbuf", 0, 200_000);
        Dataset<Row> frame = load().selectExpr("sum(half)", "count(at.x)");
        String plan = frame.queryExecution().executedPlan().toString();
        assertTrue(plan.contains("half") && !plan.contains("text#"), plan);
        double sum = IntStream.range(0, 200_000).filter(n -> n % 3 != 0).mapToDouble(n -> n / 2.0).sum();
        assertEquals(sum, frame.first().getDouble(0));
        assertEquals(200_000, frame.first().getLong(1));
        assertEquals(200_000, load().count());
        assertEquals(2, load().javaRDD().getNumPartitions());
        assertEquals(7, spark.read().format("livebuf").option("partitionRows", 30_000).load(folder.toString())
            .javaRDD().getNumPartitions());
    }

    @Test
    void passesOverBlocksThatNoFilterPasses() throws IOException {
        spark.conf().set("spark.sql.adaptive.enabled", "false");
        document("a.lbuf", 0, 200_000);
        try (LogWriter log = LogWriter.create(folder.resolve("b.lblog")).groupsOf(10_000, 1 << 30)) {
            for (int n = 200_000; n < 250_000; n += 10_000) {
                log.extend(IntStream.range(n, n + 10_000).mapToObj(SourceTest::row).toList());
            }
        }
        // The document's halves have two blocks each, the log five groups.
        filters("id = 70000", 1, 1);
        filters("id >= 239999 and text = 'text number 5'", 1112, 2);
        filters("id in (1, 249999)", 2, 2);
        filters("id < 5 or half > 124990", 17, 2);
        filters("at.x = 123456", 1, 1);
        filters("id > 300000", 0, 0);
        filters("text = 'text number 1'", 27_778, 9);
        filters("not id < 249999", 1, 1);
        spark.conf().unset("spark.sql.adaptive.enabled");
    }

    /**
     * A block's range had doubles as they are stored, so a filter on a FLOAT passed over rows that pass once they are
     * read, which rounds. Ranges are not looked at where values are converted.
     */
    @Test
    void comparesFloatsAsTheyAreRead() throws IOException {
        Files.write(folder.resolve("a.lbuf"), Livebuf.encode(Collections.nCopies(100, Map.of("x", 0.1))));
        Dataset<Row> frame = spark.read().format("livebuf").schema("x float").load(folder.toString());
        assertEquals(100, frame.filter("x = cast(0.1 as float)").collectAsList().size());
        assertEquals(0, frame.filter("x = cast(0.2 as float)").collectAsList().size());
    }

    /** A filter passed over the values, so a query with it had no rows where one without it had an error. */
    @Test
    void namesAWrongValueWhateverTheFilterIs() throws IOException {
        Files.write(folder.resolve("a.lbuf"), Livebuf.encode(Collections.nCopies(100, Map.of("id", 40_000))));
        Dataset<Row> frame = spark.read().format("livebuf").schema("id smallint").load(folder.toString());
        Throwable error = assertThrows(Exception.class, () -> frame.filter("id < 5").collectAsList());
        assertTrue(messages(error).contains("the value 40000 (INT) is no SMALLINT"), () -> messages(error));
    }

    /** The schema was DOUBLE or DECIMAL(38, 20), and reading by it an error. */
    @Test
    void infersNoTypeThatDoesNotHoldAllNumbers() throws IOException {
        // So many keys that differ that each row, and each list, is stored by itself.
        Map<String, Object> one = new LinkedHashMap<>();
        one.put("list", Collections.nCopies(50, Map.of("n", (1L << 53) + 1)));
        Map<String, Object> other = new LinkedHashMap<>();
        other.put("list", Collections.nCopies(50, Map.of("n", 0.5)));
        for (int i = 0; i < 40; i++) {
            one.put("x" + i, i);
            other.put("y" + i, i);
        }
        noTypeHolds(List.of(one, other));
        noTypeHolds(List.of(Map.of("n", new BigDecimal("1e30")), Map.of("n", new BigDecimal("1e-20"))));
    }

    private void noTypeHolds(List<?> rows) throws IOException {
        Files.write(folder.resolve("a.lbuf"), Livebuf.encode(rows));
        Throwable error = assertThrows(Exception.class, this::load);
        assertTrue(messages(error).contains("has numbers that no type of Spark holds together"), () -> messages(error));
    }

    /** NaN ended the job, since JSON has none, and dates had the quotes of their JSON. */
    @Test
    void readsAnyScalarAsAText() throws IOException {
        List<?> values = List.of(Double.NaN, Double.NEGATIVE_INFINITY, 0.5, "text", LocalDate.of(2024, 2, 29), true);
        Files.write(folder.resolve("a.lbuf"), Livebuf.encode(values));
        assertEquals(List.of("NaN", "-Infinity", "0.5", "text", "2024-02-29", "true"),
            load().as(Encoders.STRING()).collectAsList());
    }

    /** The local file system by a name that is not, which counts what is opened. */
    public static final class Elsewhere extends RawLocalFileSystem {
        static final AtomicInteger OPENED = new AtomicInteger();

        @Override
        public URI getUri() {
            return URI.create("elsewhere:///");
        }

        @Override
        public FSDataInputStream open(org.apache.hadoop.fs.Path path, int bufferSize) throws IOException {
            OPENED.incrementAndGet();
            return super.open(path, bufferSize);
        }
    }

    /** The driver read each document whole to count its rows, before a task read it again. */
    @Test
    void plansDocumentsElsewhereWithoutOpeningThem() throws IOException {
        document("a.lbuf", 0, 10);
        document("b.lbuf", 10, 30);
        spark.sparkContext().hadoopConfiguration().set("fs.elsewhere.impl", Elsewhere.class.getName());
        String there = "elsewhere:" + folder;
        Dataset<Row> frame = spark.read().format("livebuf").schema("id bigint")
            .load(there + "/a.lbuf", there + "/b.lbuf");
        assertEquals(2, frame.javaRDD().getNumPartitions());
        assertEquals(0, Elsewhere.OPENED.get());
        assertEquals(435, frame.selectExpr("sum(id)").first().getLong(0));
        assertEquals(2, Elsewhere.OPENED.get());
    }

    /** Folders that a glob finds were passed over. */
    @Test
    void readsFoldersThatAGlobFinds() throws IOException {
        for (String name : List.of("year=1", "year=2/month", "_temporary")) {
            Files.createDirectories(folder.resolve(name));
            document(name + "/a.lbuf", 0, 10);
        }
        document("b.lbuf", 10, 30);
        assertEquals(20, spark.read().format("livebuf").load(folder + "/year=*").count());
        assertEquals(40, spark.read().format("livebuf").load(folder + "/*").count());
    }

    private void filters(String filter, long rows, long blocks) {
        Dataset<Row> frame = load().filter(filter).select("id", "text");
        assertEquals(rows, frame.collectAsList().size(), filter);
        assertEquals(blocks, metric(frame, "blocksRead"), filter);
        assertEquals(9 - blocks, metric(frame, "blocksSkipped"), filter);
    }

    @Test
    void readsPathsThatAreGiven() throws IOException {
        document("a.lbuf", 0, 10);
        document("b.lbuf", 10, 30);
        DataFrameReader reader = spark.read().format("livebuf");
        assertEquals(30, reader.load(folder + "/a.lbuf", "file:" + folder + "/b.lbuf").count());
        spark.sql("create temporary view t using livebuf options (path '" + folder + "')");
        assertEquals(435, spark.sql("select sum(id) from t").first().getLong(0));
    }

    @Test
    void namesTheRowOfAValueThatIsWrong() throws IOException {
        document("a.lbuf", 0, 50_000);
        Throwable error = assertThrows(Exception.class, () -> spark.read().format("livebuf")
            .schema("id smallint").load(folder.toString()).selectExpr("sum(id)").collectAsList());
        assertTrue(messages(error).contains("a.lbuf, row 32768, column id: the value 32768 (INT) is no SMALLINT"),
            () -> messages(error));
    }

    @Test
    void refusesTypesThatNoDocumentHas() throws IOException {
        document("a.lbuf", 0, 1);
        for (String type : List.of("MAP<STRING, INT>", "INTERVAL DAY")) {
            Throwable error = assertThrows(Exception.class, () -> spark.read().format("livebuf")
                .schema("id " + type).load(folder.toString()).collectAsList());
            assertTrue(messages(error).contains("column id is " + type + ", which livebuf does not read"),
                () -> messages(error));
        }
    }
}
