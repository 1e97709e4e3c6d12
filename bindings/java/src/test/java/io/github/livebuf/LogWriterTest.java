package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Rows are added to logs. */
class LogWriterTest {
    @TempDir
    Path folder;

    private static List<String> lines(Path log) {
        List<String> all = new ArrayList<>();
        try (Log l = Log.open(log)) {
            for (long i = 0; i < l.size(); i++) {
                all.add(l.get(i).toJson());
            }
        }
        return all;
    }

    @Test
    void aWriterThatWasClosedSaysSo() {
        LogWriter w = LogWriter.create(folder.resolve("closed.lblog"));
        w.close();
        for (Executable call : List.<Executable>of(() -> w.append(1), () -> w.extend(List.of()), w::sync, w::compact)) {
            LivebufException e = assertThrows(LivebufException.class, call);
            assertTrue(e.advice().contains("the writer was closed"), e.advice());
        }
    }

    @Test
    void rowsComeBack() throws IOException {
        Path log = folder.resolve("a.lblog");
        Random r = new Random(1);
        List<String> want = new ArrayList<>();
        LogWriter w = LogWriter.create(log).groupsOf(20, 1 << 20);
        for (int i = 0; i < 800; i++) {
            if (r.nextInt(3) == 0) {
                List<Map<String, Integer>> rows = IntStream.range(0, r.nextInt(30)).mapToObj(n -> Map.of("i", n))
                    .toList();
                assertEquals(rows.size(), w.extend(rows));
                rows.forEach(x -> want.add("{\"i\":" + x.get("i") + "}"));
            } else {
                assertEquals(want.size(), w.append(i % 2 == 0 ? i : "a text " + i));
                want.add(i % 2 == 0 ? "" + i : "\"a text " + i + "\"");
            }
            if (r.nextInt(100) == 0) {
                w.close();
                w = LogWriter.open(log).groupsOf(20, 1 << 20);
                assertTrue(w.dropped().isEmpty());
            }
        }
        assertEquals(want.size(), w.size());
        w.close();
        w.close();
        assertEquals(want, lines(log));
        try (Log l = Log.open(log)) {
            Log.Stats s = l.stats();
            assertTrue(s.groups() > LogFrames.GROUPS_AT_ONE && s.indexBytes() > 0, s.toString());
        }
        // A log whose mark is damaged, and one that is copied, are the same.
        byte[] bytes = Files.readAllBytes(log);
        bytes[LogFrames.MARK_AT] ^= 1;
        Files.write(log, bytes);
        LogWriter.open(log).close();
        assertEquals(want, lines(log));
    }

    @Test
    void manyRowsAreGroupsAtOnce() {
        Path log = folder.resolve("many.lblog");
        String text = "long ".repeat(100);
        try (LogWriter w = LogWriter.open(log).groupsOf(1000, 100_000)) {
            assertEquals(2500, w.extend(() -> IntStream.range(0, 2500).mapToObj(i -> (Object) i).iterator()));
            assertEquals(500, w.extend(() -> IntStream.range(0, 500).mapToObj(i -> (Object) (text + i)).iterator()));
            assertEquals(3000, w.append(text.repeat(1000)));
            LivebufException e = assertThrows(LivebufException.class, () -> w.extend(
                List.of(1, Map.of("a", List.of(1, "\ud800")))));
            assertEquals("/1/a/1", e.path());
            assertEquals(3001, w.size());
        }
        try (Log l = Log.open(log)) {
            assertEquals(3001, l.size());
            assertEquals(2499, l.get(2499).asInt());
            assertEquals(text + 499, l.get(2999).asText());
            assertTrue(l.stats().groups() >= 5, l.stats().toString());
        }
    }

    /** Bug: a row that nests 1,000 deep was taken, and no reader could hold it in an array. */
    @Test
    void rowsNestAtMost999Deep() {
        Object row = 1;
        for (int i = 0; i < 999; i++) {
            row = List.of(row);
        }
        List<Object> deeper = List.of(row);
        try (LogWriter w = LogWriter.create(folder.resolve("deep.lblog")).groupsOf(3, 1 << 20)) {
            for (int i = 0; i < 4; i++) { // the third makes a group
                assertEquals(i, w.append(row));
            }
            LivebufException e = assertThrows(LivebufException.class, () -> w.append(deeper));
            assertEquals(ErrorKind.NESTING_LIMIT, e.kind());
            assertTrue(e.getMessage().contains("999"), e.getMessage());
            assertThrows(LivebufException.class, () -> w.extend(List.of(deeper)));
            assertEquals(4, w.size());
        }
        Livebuf.encode(deeper);
    }

    /** Bug: groups before an error were in the log, and not on the disk. */
    @Test
    void groupsBeforeAnErrorAreSynced() throws Exception {
        try (LogWriter w = LogWriter.create(folder.resolve("synced.lblog")).groupsOf(4, 1 << 20).syncEach()) {
            List<Object> rows = new ArrayList<>(Collections.nCopies(10, 1));
            rows.set(9, "\ud800");
            assertThrows(LivebufException.class, () -> w.extend(rows));
            assertEquals(8, w.size());
            var field = LogWriter.class.getDeclaredField("frames");
            field.setAccessible(true);
            LogFrames frames = (LogFrames) field.get(w);
            assertEquals(frames.end, frames.durable);
        }
    }

    @Test
    void thereIsOneWriter() throws Exception {
        Path log = folder.resolve("one.lblog");
        LogWriter w = LogWriter.open(log);
        assertEquals(ErrorKind.IO, assertThrows(LivebufException.class, () -> LogWriter.open(log)).kind());
        assertEquals(ErrorKind.IO, assertThrows(LivebufException.class, () -> LogWriter.create(log)).kind());
        w.append(1);
        assertEquals(List.of("1"), lines(log)); // readers need no lock
        w.close();
        try (LogWriter next = LogWriter.open(log).syncEach()) {
            next.append(2);
            Files.move(log, folder.resolve("moved.lblog"));
            LivebufException e = assertThrows(LivebufException.class, () -> next.append(3));
            assertEquals(LogFault.REPLACED, e.logFault().orElseThrow());
            Files.move(folder.resolve("moved.lblog"), log);
        }
        assertEquals(List.of("1", "2", "3"), lines(log));
        assertEquals(ErrorKind.IO, assertThrows(LivebufException.class, () -> LogWriter.open(folder)).kind());
        Path empty = Files.createFile(folder.resolve("empty.lblog"));
        LogWriter.open(empty).close();
        assertEquals(List.of(), lines(empty));
        assertThrows(LivebufException.class, () -> LogWriter.open(folder.resolve("none/x.lblog")));
    }

    /** A program in whose path there is no flock. */
    public static void main(String[] args) {
        Path log = Path.of(args[0]);
        for (Executable make : List.<Executable>of(() -> LogWriter.create(log), () -> LogWriter.open(log))) {
            System.out.println(assertThrows(LivebufException.class, make).kind());
        }
    }

    /** The file was left there, empty, so that the next one to create it heard that it exists. It is removed now. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void nothingIsLeftWhereNoLogCanBeWritten() throws Exception {
        Path log = folder.resolve("none.lblog");
        ProcessBuilder program = Command.java(LogWriterTest.class, log);
        program.environment().put("PATH", folder.toString());
        Process p = program.start();
        assertEquals(List.of("UNSUPPORTED", "UNSUPPORTED"),
            new String(p.getInputStream().readAllBytes(), Json.UTF_8).lines().toList());
        assertEquals(0, p.waitFor());
        assertFalse(Files.exists(log));
    }

    @Test
    void tornEndsAreCutOff() throws IOException {
        Path log = folder.resolve("torn.lblog");
        byte[] empty, first;
        try (LogWriter w = LogWriter.create(log)) {
            empty = Files.readAllBytes(log);
            w.append("the first row");
            first = Files.readAllBytes(log);
            w.append("the second row");
            w.append("the third row");
        }
        byte[] all = Files.readAllBytes(log);
        for (int cut = first.length; cut < all.length; cut += 24) {
            // As after a power cut: nothing is promised, and a part of the end is there.
            byte[] torn = Arrays.copyOf(all, cut);
            System.arraycopy(empty, 0, torn, 0, empty.length);
            Files.write(log, torn);
            try (LogWriter w = LogWriter.open(log)) {
                long rows = w.size();
                assertTrue(rows >= 1 && rows < 3);
                assertEquals(cut > w.dropped().map(LogWriter.Dropped::offset).orElse((long) cut),
                    w.dropped().isPresent());
                w.append("another row");
                assertEquals(rows + 1, w.size());
            }
            assertEquals("\"another row\"", lines(log).get(lines(log).size() - 1));
        }
        // A whole frame behind a damaged one is kept beside the log.
        byte[] damaged = all.clone();
        System.arraycopy(empty, 0, damaged, 0, empty.length);
        damaged[first.length + 60] ^= 1;
        Files.write(log, damaged);
        try (LogWriter w = LogWriter.open(log)) {
            LogWriter.Dropped dropped = w.dropped().orElseThrow();
            assertEquals(1, w.size());
            assertEquals(1, dropped.frames());
            assertArrayEquals(Arrays.copyOfRange(damaged, first.length, damaged.length),
                Files.readAllBytes(dropped.kept().orElseThrow()));
        }
        assertEquals(first.length, Files.size(log));
        // What was on the disk is no torn end.
        byte[] lost = Arrays.copyOf(all, all.length - 8);
        Files.write(log, lost);
        LivebufException e = assertThrows(LivebufException.class, () -> LogWriter.open(log));
        assertEquals(LogFault.CUT_SHORT, e.logFault().orElseThrow());
        assertArrayEquals(lost, Files.readAllBytes(log));
        assertFalse(Files.exists(folder.resolve("torn.lblog.torn-" + lost.length)));
    }
}
