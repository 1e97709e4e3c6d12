package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Logs are compacted and repaired, and writers are killed meanwhile. */
class LogCompactTest {
    @TempDir
    Path folder;

    private static List<String> lines(Path log) {
        List<String> all = new ArrayList<>();
        try (Log l = Log.open(log)) {
            l.rows(0, Long.MAX_VALUE).forEach(row -> all.add(row.toJson()));
            l.validate();
        }
        return all;
    }

    /** A log's rows, as this library and the command line read them. */
    private static List<String> same(Path log) throws IOException, InterruptedException {
        List<String> ours = lines(log);
        List<String> theirs = Command.run("log", "cat", log.toString());
        if (theirs != null) {
            assertEquals(theirs, ours);
        }
        return ours;
    }

    private static List<Map<String, Integer>> rows(int from, int to) {
        return IntStream.range(from, to).mapToObj(n -> Map.of("i", n)).toList();
    }

    private static List<String> texts(int from, int to) {
        return IntStream.range(from, to).mapToObj(n -> "{\"i\":" + n + "}").toList();
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.sorted().toList();
        }
    }

    @Test
    void compactingKeepsTheRows() throws Exception {
        Path log = folder.resolve("a.lblog");
        Files.createFile(folder.resolve(".livebuf-1-1.tmp")); // of a process that was killed
        try (LogWriter w = LogWriter.create(log).groupsOf(100, 1 << 20).compactAt(Long.MAX_VALUE)) {
            Files.setPosixFilePermissions(log, PosixFilePermissions.fromString("rw-r--r--"));
            for (Map<String, Integer> row : rows(0, 250)) {
                w.append(row);
            }
            Log reader = Log.open(log);
            long before = Files.size(log);
            LogWriter.Compacted done = w.compact();
            assertEquals(new LogWriter.Compacted(before, Files.size(log)), done);
            assertTrue(done.after() < before / 8, done.toString());
            assertEquals("rw-r--r--", PosixFilePermissions.toString(Files.getPosixFilePermissions(log)));
            assertEquals(250, reader.size());
            assertEquals(0, reader.refresh()); // it reads the new file now
            assertEquals(0, reader.stats().deadBytes());
            reader.close();
            assertEquals(texts(0, 250), same(log));
            // The writer goes on, with the lock.
            assertEquals(250, w.append(rows(250, 251).get(0)));
            assertEquals(149, w.extend(rows(251, 400)));
            assertThrows(LivebufException.class, () -> LogWriter.open(log));
            w.compact();
            assertEquals(400, w.size());
        }
        assertEquals(texts(0, 400), same(log));
        assertEquals(List.of(log), files());
        try (LogWriter w = LogWriter.open(log)) {
            assertEquals(400, w.size());
            Files.move(log, folder.resolve("b.lblog"));
            assertEquals(LogFault.REPLACED,
                assertThrows(LivebufException.class, w::compact).logFault().orElseThrow());
            Files.move(folder.resolve("b.lblog"), log);
            w.append(1);
            w.compact();
            assertEquals(401, w.size());
        }
    }

    @Test
    void damageLeavesTheLogAsItIs() throws Exception {
        Path log = folder.resolve("damaged.lblog");
        try (LogWriter w = LogWriter.create(log).groupsOf(100, 1 << 20)) {
            w.extend(rows(0, 300));
        }
        byte[] bytes = Files.readAllBytes(log);
        bytes[200] ^= 1; // in the first group
        Files.write(log, bytes);
        try (LogWriter w = LogWriter.open(log)) {
            assertEquals(LogFault.DAMAGED, assertThrows(LivebufException.class, w::compact).logFault().orElseThrow());
            w.append(1);
            assertEquals(301, w.size());
        }
        assertEquals(List.of(log), files());
    }

    @Test
    void logsCompactThemselves() throws Exception {
        Path log = folder.resolve("itself.lblog");
        long largest = 0;
        try (LogWriter w = LogWriter.create(log).compactAt(10_000)) {
            for (Map<String, Integer> row : rows(0, 3000)) {
                w.append(row);
                largest = Math.max(largest, Files.size(log));
            }
            // An eighth of the rows may wait for their group, by 120 bytes each, and as many bytes are wasted at most.
            assertTrue(largest < 100_000, largest + " bytes");
        }
        assertEquals(texts(0, 3000), same(log));
        Path large = folder.resolve("large.lblog");
        try (LogWriter w = LogWriter.create(large).compactAt(Long.MAX_VALUE)) {
            for (Map<String, Integer> row : rows(0, 3000)) {
                w.append(row);
            }
        }
        assertTrue(Files.size(large) > 300_000);
        assertEquals(List.of(log, large), files());
    }

    @Test
    void repairKeepsWhatCanBeRead() throws Exception {
        Path log = folder.resolve("rows.lblog");
        try (LogWriter w = LogWriter.create(log).syncEach()) {
            for (int i = 0; i < 3; i++) {
                w.append(Map.of("lap", i));
            }
        }
        byte[] good = Files.readAllBytes(log);
        byte[] bytes = good.clone();
        bytes[bytes.length / 2] ^= 1; // in the second row
        Files.write(log, bytes);
        assertThrows(LivebufException.class, () -> LogWriter.open(log).size());
        LogWriter.Repaired done = LogWriter.repair(log);
        assertEquals(2, done.rows());
        assertEquals(1, done.lostRows());
        assertEquals((good.length - 64) / 3, done.lostBytes());
        assertArrayEquals(bytes, Files.readAllBytes(done.old()));
        assertEquals(List.of("{\"lap\":0}", "{\"lap\":2}"), same(log));
        // Bug: it was an error where a file had the name for the old one. It takes another name.
        Path second = folder.resolve("rows.lblog.damaged-2");
        assertEquals(new LogWriter.Repaired(2, 0, 0, second), LogWriter.repair(log));
        assertEquals(List.of("{\"lap\":0}", "{\"lap\":2}"), same(log));
        assertArrayEquals(bytes, Files.readAllBytes(done.old()));
        Files.write(log, new byte[100]);
        assertEquals(LogFault.NOT_A_LOG,
            assertThrows(LivebufException.class, () -> LogWriter.repair(log)).logFault().orElseThrow());
        assertEquals(List.of(log, done.old(), second), files());
    }

    /** A damaged log with groups, indexes and tails is repaired as the command line does it. */
    @Test
    void repairsAreThoseOfTheCommand() throws Exception {
        Random r = new Random(8);
        Path log = folder.resolve("log.lblog");
        Path theirs = folder.resolve("theirs.lblog");
        for (int round = 0; round < 12; round++) {
            Files.deleteIfExists(log);
            try (LogWriter w = LogWriter.create(log).groupsOf(30, 1 << 20).compactAt(Long.MAX_VALUE)) {
                for (int n = 0; n < 300;) {
                    int count = r.nextInt(3) == 0 ? r.nextInt(50) : 1;
                    w.extend(rows(n, n + count));
                    n += count;
                }
            }
            byte[] bytes = Files.readAllBytes(log);
            for (int k = r.nextInt(5); k >= 0; k--) {
                bytes[64 + r.nextInt(bytes.length - 64)] ^= (byte) (1 << r.nextInt(8));
            }
            Files.write(log, bytes);
            Files.write(theirs, bytes);
            LogWriter.Repaired done = LogWriter.repair(log);
            List<String> kept = same(log);
            assertEquals(done.rows(), kept.size());
            List<String> said = Command.run("log", "repair", theirs.toString());
            if (said != null) {
                assertEquals(lines(theirs), kept);
                assertTrue(said.get(0).replace(",", "").startsWith(done.rows() + " row"), said + " " + done);
                Files.delete(folder.resolve("theirs.lblog.damaged"));
            }
            Files.delete(done.old());
        }
    }

    // --- killed writers

    /** The writer that is killed: it adds rows and compacts, and says how many rows there are for certain. */
    public static void main(String[] args) throws InterruptedException {
        LogWriter w = opened(Path.of(args[0])).groupsOf(50, 1 << 20).compactAt(1000);
        for (long n = w.size();; n = w.size()) {
            if (n % 40 == 39) {
                w.compact();
            }
            if (n % 5 == 0) {
                w.extend(List.of(n, n + 1, n + 2));
            } else {
                w.append(n);
            }
            System.out.println(w.size());
        }
    }

    /** Opens a log whose lock may last for a moment after its writer was killed. */
    private static LogWriter opened(Path log) throws InterruptedException {
        for (int tries = 0;; tries++) {
            try {
                return LogWriter.open(log);
            } catch (LivebufException e) {
                if (tries == 50 || !e.getMessage().contains("locked")) {
                    throw e;
                }
                Thread.sleep(100);
            }
        }
    }

    @Test
    void killedWritersLoseNothing() throws Exception {
        Path log = folder.resolve("killed.lblog");
        Random r = new Random(9);
        long said = 0;
        for (int round = 0; round < Command.amount(8, 40, 1000); round++) {
            Process p = Command.java(LogCompactTest.class, log).start();
            BufferedReader out = new BufferedReader(new InputStreamReader(p.getInputStream(), Json.UTF_8));
            for (int wanted = r.nextInt(300); wanted >= 0; wanted--) {
                said = Long.parseLong(out.readLine());
            }
            p.toHandle().destroyForcibly();
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                said = line.isEmpty() ? said : Math.max(said, Long.parseLong(line)); // the last one may be cut
            }
            p.waitFor();
            List<String> all = lines(log);
            assertTrue(all.size() >= said, "round " + round + ": " + all.size() + " rows, and " + said + " were there");
            for (int i = 0; i < all.size(); i++) {
                assertEquals(Integer.toString(i), all.get(i));
            }
            if (round % 2 == 1) {
                try (LogWriter w = opened(log)) {
                    said = w.append(w.size()) + 1;
                    w.compact(); // which removes what the killed one left
                }
                assertEquals(said, same(log).size());
                assertFalse(files().stream().anyMatch(f -> f.toString().endsWith(".tmp")), files().toString());
            }
        }
        assertTrue(said > 10);
    }
}
