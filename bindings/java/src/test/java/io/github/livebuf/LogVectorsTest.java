package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Logs of testdata are read and refused as their names say. */
class LogVectorsTest {
    private static List<Path> logs(String folder, String prefix) throws IOException {
        try (Stream<Path> files = Files.walk(VectorsTest.TESTDATA.resolve(folder))) {
            return files.filter(f -> f.toString().endsWith(".lblog") && f.getFileName().toString().startsWith(prefix))
                .sorted().toList();
        }
    }

    private static List<String> lines(Iterable<Value> rows) {
        List<String> all = new ArrayList<>();
        rows.forEach(row -> all.add(new String(Json.print(row, true, 0), Json.UTF_8)));
        return all;
    }

    private static void checkReading(String folder, String prefix, int least) throws IOException {
        List<Path> all = logs(folder, prefix);
        assertTrue(all.size() >= least, folder + " has only " + all.size());
        for (Path file : all) {
            List<String> want = Files.readAllLines(Path.of(file.toString().replace(".lblog", ".ndjson")));
            try (Log log = Log.open(file)) {
                assertEquals(want.size(), log.size(), file.toString());
                assertEquals(want, lines(log.rows(0, Long.MAX_VALUE)), file.toString());
                for (int i = 0; i < want.size(); i += 1 + want.size() / 20) {
                    assertEquals(want.get(i), new String(Json.print(log.get(i), true, 0), Json.UTF_8));
                    assertEquals(want.subList(i, Math.min(want.size(), i + 3)), lines(log.rows(i, i + 3L)));
                }
                long rows = 0;
                for (Log.Group group : log.groups(0, Long.MAX_VALUE)) {
                    assertEquals(rows, group.first());
                    rows += group.size();
                }
                assertEquals(want.size(), rows);
                assertEquals(0, log.refresh());
                assertEquals(want.size(), log.stats().rows());
                assertEquals(Files.size(file), log.stats().bytes() + log.stats().tornBytes());
                log.validate();
                assertEquals(ErrorKind.INDEX_OUT_OF_RANGE,
                    assertThrows(LivebufException.class, () -> log.get(want.size())).kind());
            }
            Log same = Log.open(LogSource.of(Files.readAllBytes(file)));
            assertEquals(want, lines(same.rows(0, Long.MAX_VALUE)));
        }
    }

    @Test
    void logsHaveTheirRows() throws IOException {
        checkReading("logs", "y_", 8);
        checkReading("frozen", "", 1);
    }

    @Test
    void damagedLogsAreRefused() throws IOException {
        List<Path> all = logs("logs", "n_");
        assertTrue(all.size() > 15);
        for (Path file : all) {
            LivebufException e = assertThrows(LivebufException.class, () -> {
                try (Log log = Log.open(file)) {
                    log.validate();
                }
            }, file.toString());
            assertEquals(file.getFileName().toString().split("_")[1], e.logFault().orElseThrow().title(),
                file + ": " + e);
            assertEquals(ErrorKind.BAD_LOG, e.kind());
        }
    }

    @Test
    void changedBytesDoNoHarm() throws IOException {
        Random random = new Random(2);
        for (Path file : logs("logs", "y_")) {
            byte[] bytes = Files.readAllBytes(file);
            for (int round = 0; round < Command.amount(20, 500, 20_000); round++) {
                byte[] damaged = bytes.clone();
                damaged[random.nextInt(bytes.length)] = (byte) random.nextInt();
                try {
                    Log log = Log.open(LogSource.of(damaged));
                    log.validate();
                    lines(log.rows(0, Long.MAX_VALUE));
                } catch (LivebufException e) {
                    assertTrue(e.getMessage().length() > 10);
                }
            }
        }
    }
}
