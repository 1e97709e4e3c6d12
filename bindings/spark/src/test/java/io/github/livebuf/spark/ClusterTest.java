package io.github.livebuf.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import io.github.livebuf.Livebuf;
import io.github.livebuf.LogWriter;

/** A cluster of two processes, one of which is killed in the middle of a job. */
class ClusterTest {
    private static final int COUNT = 20_000;

    @TempDir
    Path folder;

    /** Spark starts executors from a folder with its jars, which here are those of the class path. */
    private static String makeHome() throws IOException {
        Path jars = Files.createDirectories(Path.of(System.getenv("SPARK_HOME"), "jars"));
        for (Path old : Files.list(jars).toList()) {
            Files.delete(old); // of an earlier run, maybe with another Spark
        }
        List<String> folders = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (Files.isDirectory(Path.of(entry))) {
                folders.add(entry);
            } else {
                Files.createSymbolicLink(jars.resolve(Path.of(entry).getFileName()), Path.of(entry));
            }
        }
        return String.join(File.pathSeparator, folders);
    }

    @Test
    void readsAllRowsThoughAnExecutorIsKilled() throws Exception {
        Path in = Files.createDirectory(folder.resolve("in"));
        Files.write(in.resolve("a.lbuf"), Livebuf.encode(IntStream.range(0, COUNT)
            .mapToObj(n -> Map.of("id", n, "text", "text " + n)).toList()));
        try (LogWriter log = LogWriter.create(in.resolve("b.lblog")).groupsOf(4_000, 1 << 30)) {
            for (int n = COUNT; n < 2 * COUNT; n += 1000) {
                log.extend(IntStream.range(n, n + 1000).mapToObj(i -> Map.of("id", i)).toList());
            }
        }
        String started = Files.createDirectory(folder.resolve("started")).toString();
        SparkSession spark = Session.builder("local-cluster[2,1,1024]")
            .config("spark.executor.extraClassPath", makeHome()).getOrCreate();
        try {
            CompletableFuture<Long> killed = CompletableFuture.supplyAsync(() -> killOne(Path.of(started)));
            List<Row> rows = spark.read().format("livebuf").option("partitionRows", 3000).load(in.toString())
                .mapPartitions(slowly(started), Encoders.LONG()).toDF("id").collectAsList();
            assertNotNull(killed.get());
            long[] ids = rows.stream().mapToLong(row -> row.getLong(0)).sorted().toArray();
            assertTrue(Arrays.equals(LongStream.range(0, 2 * COUNT).toArray(), ids));
            // There are 14 partitions, of which those of the executor were begun again.
            assertTrue(Files.list(Path.of(started)).count() > 14);
            // The functions run on executors, too.
            assertEquals(7L * 39, spark.range(0, 40).repartition(4).selectExpr(
                "max(lb_get_bigint(lb_from_json(to_json(struct(id * 7 as x))), '/x'))").first().getLong(0));
        } finally {
            spark.stop();
        }
    }

    /** Says that a partition was begun and by which process, and hands on its ids after some time. */
    private static MapPartitionsFunction<Row, Long> slowly(String started) {
        return (Iterator<Row> rows) -> {
            Files.createFile(Path.of(started, ProcessHandle.current().pid() + "-" + UUID.randomUUID()));
            Thread.sleep(700);
            List<Long> ids = new ArrayList<>();
            rows.forEachRemaining(row -> ids.add(row.getLong(row.fieldIndex("id"))));
            return ids.iterator();
        };
    }

    /** Kills the executor that began the last of five partitions. */
    private static long killOne(Path started) {
        try {
            for (int i = 0; i < 6000; i++) {
                List<Path> begun;
                try (Stream<Path> all = Files.list(started)) {
                    begun = all.sorted((a, b) -> Long.compare(a.toFile().lastModified(), b.toFile().lastModified()))
                        .toList();
                }
                if (begun.size() >= 5) {
                    long pid = Long.parseLong(begun.get(begun.size() - 1).getFileName().toString().split("-")[0]);
                    ProcessHandle.of(pid).orElseThrow().destroyForcibly();
                    return pid;
                }
                Thread.sleep(20);
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
        throw new IllegalStateException("no executor began five partitions");
    }
}
