package io.github.livebuf.spark;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;

import com.sun.management.OperatingSystemMXBean;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

import io.github.livebuf.Livebuf;

/**
 * Compares with Parquet, JSON and Variant: a million rows of eight columns in a file, and a million documents in a
 * column. Answers are compared first; the figures are processor time, the least of several runs. README.md has the command.
 */
public final class Bench {
    private static final String[] KINDS = {"view", "click", "buy", "leave"};

    private final SparkSession spark;
    private final int rows;
    private final int runs;

    private Bench(SparkSession spark, int rows, int runs) {
        this.spark = spark;
        this.rows = rows;
        this.runs = runs;
    }

    /** Takes the number of rows and of runs, or 1,000,000 and 7. */
    public static void main(String[] args) throws IOException {
        SparkSession spark = Session.builder("local[2]").config("spark.sql.codegen.wholeStage", "true").getOrCreate();
        Bench bench = new Bench(spark, args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000,
            args.length > 1 ? Integer.parseInt(args[1]) : 7);
        System.out.println("Spark " + spark.version() + ", Java " + System.getProperty("java.version") + ", "
            + bench.rows + " rows, processor time, the least of " + bench.runs + " runs");
        bench.files();
        bench.columns();
        spark.stop();
    }

    private static Map<String, Object> row(int n) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("id", n);
        row.put("kind", KINDS[n * 7 % 4]);
        row.put("user", n * 7919L % 50_000);
        row.put("seconds", n % 40_000 / 8.0);
        row.put("note", "note number " + n % 100_003);
        row.put("done", n % 3 == 0);
        row.put("at", 1_700_000_000_000_000L + n * 1_000L);
        row.put("place", Map.of("x", n % 360));
        return row;
    }

    private void files() throws IOException {
        Path folder = Files.createTempDirectory("livebuf-bench");
        String document = folder.resolve("rows.lbuf").toString();
        List<Map<String, Object>> all = new ArrayList<>();
        for (int n = 0; n < rows; n++) {
            all.add(row(n));
        }
        Files.write(Path.of(document), Livebuf.encode(all));
        all.clear();
        String parquet = folder.resolve("rows.parquet").toString();
        spark.read().format("livebuf").load(document).coalesce(1).write().parquet(parquet);
        System.out.printf("%-44s %10s %10s %6s%n", "query, from its path to its answer", "document", "Parquet", "ratio");
        for (String[] query : new String[][] {
            {"sum of two of eight columns", "select sum(seconds), sum(id) from t"},
            {"sum by four texts, two of eight columns", "select kind, sum(seconds) from t group by 1 order by 1"},
            {"one row by id, two of eight columns", "select id, note from t where id = " + rows / 3},
            {"greatest of long texts, two of eight columns", "select max(note), min(user) from t"},
            {"all columns", "select count(id), max(kind), sum(user), sum(seconds), max(note), sum(int(done)), max(at), "
                + "sum(place.x) from t"},
        }) {
            compare(query[0], () -> ask("livebuf", document, query[1]), () -> ask("parquet", parquet, query[1]));
        }
        for (Path file : Files.walk(folder).sorted((a, b) -> b.compareTo(a)).toList()) {
            Files.delete(file);
        }
    }

    private List<Row> ask(String format, String path, String query) {
        spark.read().format(format).load(path).createOrReplaceTempView("t");
        return spark.sql(query).collectAsList();
    }

    private void columns() {
        spark.conf().set("spark.sql.inMemoryColumnarStorage.compressed", "false");
        Dataset<Row> json = spark.range(0, rows, 1, 2).selectExpr("to_json(named_struct('name', concat('user ', id), "
            + "'tags', array('a', 'b', 'c'), 'score', id / 8, 'user', named_struct('id', id * 7, 'team', "
            + "concat('team ', id % 20)), 'note', 'some text that is here to be passed over', 'ok', id % 2 = 0)) as j");
        Map<String, String> columns = Map.of("j", "j", "d", "lb_from_json(j) as d", "v", "parse_json(j) as v");
        Map<String, Map<String, String>> queries = new LinkedHashMap<>();
        queries.put("a bigint, /user/id", Map.of("d", "sum(lb_get_bigint(d, '/user/id'))",
            "j", "sum(bigint(get_json_object(j, '$.user.id')))", "v", "sum(variant_get(v, '$.user.id', 'bigint'))"));
        queries.put("a double, /score", Map.of("d", "sum(lb_get_double(d, '/score'))",
            "j", "sum(double(get_json_object(j, '$.score')))", "v", "sum(variant_get(v, '$.score', 'double'))"));
        queries.put("a text, /user/team", Map.of("d", "max(lb_get(d, '/user/team'))",
            "j", "max(get_json_object(j, '$.user.team'))", "v", "max(variant_get(v, '$.user.team', 'string'))"));
        queries.put("the length alone", Map.of("d", "max(length(d)) > 0", "j", "max(length(j)) > 0", "v",
            "count(v) > 0"));
        Map<String, Map<String, Double>> times = new LinkedHashMap<>();
        Map<String, Object> answers = new LinkedHashMap<>();
        for (String c : List.of("d", "j", "v")) {
            Dataset<Row> column = json.selectExpr(columns.get(c)).cache();
            column.count();
            queries.forEach((name, q) -> {
                Object answer = column.selectExpr(q.get(c)).first().get(0);
                Object before = answers.putIfAbsent(name, answer);
                if (before != null && !before.equals(answer)) {
                    throw new IllegalStateException(name + ": " + before + " and " + answer);
                }
                times.computeIfAbsent(name, n -> new LinkedHashMap<>())
                    .put(c, time(() -> column.selectExpr(q.get(c)).first()));
            });
            column.unpersist(true);
        }
        System.out.printf("%n%-32s %12s %16s %12s %8s %8s%n", "one value of each document in memory", "LiveBuf",
            "get_json_object", "variant_get", "/ JSON", "/ Variant");
        times.forEach((name, t) -> System.out.printf(Locale.ROOT, "%-32s %9.1f ms %13.1f ms %9.1f ms %8.3f %8.2f%n",
            name, t.get("d"), t.get("j"), t.get("v"), t.get("d") / t.get("j"), t.get("d") / t.get("v")));
    }

    private void compare(String name, Supplier<List<Row>> one, Supplier<List<Row>> other) {
        List<Row> a = one.get();
        List<Row> b = other.get();
        if (!a.equals(b)) {
            throw new IllegalStateException(name + ": " + a + " and " + b);
        }
        double first = time(one);
        double second = time(other);
        System.out.printf(Locale.ROOT, "%-44s %7.1f ms %7.1f ms %6.2f%n", name, first, second, first / second);
    }

    /** Milliseconds of processors that the cheapest run took, so that it matters less what else the machine does. */
    private double time(Supplier<?> work) {
        OperatingSystemMXBean process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        double least = Double.MAX_VALUE;
        for (int i = 0; i < runs; i++) {
            long start = process.getProcessCpuTime();
            work.get();
            least = Math.min(least, (process.getProcessCpuTime() - start) / 1e6);
        }
        return least;
    }
}
