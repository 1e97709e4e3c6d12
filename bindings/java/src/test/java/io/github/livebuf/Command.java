package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The command line of this project, with which tests compare where it is built, and how much tests do. */
final class Command {
    private static final Path FILE = Stream.of("debug", "release")
        .map(kind -> VectorsTest.TESTDATA.resolveSibling("target/" + kind + "/livebuf"))
        .filter(Files::isExecutable).findFirst().orElse(null);

    private Command() {}

    /**
     * How much a test does: in short, with all tests of the project (LIVEBUF_ALL), or as long as it takes to be sure
     * (LIVEBUF_LONG).
     */
    static int amount(int few, int all, int many) {
        return isSet("LIVEBUF_LONG") ? many : isSet("LIVEBUF_ALL") ? all : few;
    }

    private static boolean isSet(String name) {
        return !System.getenv().getOrDefault(name, "").isEmpty();
    }

    static boolean isBuilt() {
        return FILE != null;
    }

    /** Skips a test that has nothing to compare with. */
    static void assumeBuilt() {
        assumeTrue(isBuilt(), "the command livebuf is not built: cargo build -p livebuf-cli");
    }

    /** The lines that the command writes; null where it is not built. */
    static List<String> run(List<String> args) throws IOException, InterruptedException {
        if (FILE == null) {
            return null;
        }
        List<String> line = new ArrayList<>(List.of(FILE.toString()));
        line.addAll(args);
        Process p = new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        List<String> out = new String(p.getInputStream().readAllBytes(), Json.UTF_8).lines().toList();
        assertEquals(0, p.waitFor(), () -> args.get(0) + ": " + String.join("\n", out));
        return out;
    }

    static List<String> run(String... args) throws IOException, InterruptedException {
        return run(Arrays.asList(args));
    }

    /** The documents that the command makes of lines of JSON, by files in a folder. */
    static List<byte[]> each(Path folder, List<String> lines, List<String> options)
        throws IOException, InterruptedException {
        Path input = Files.write(folder.resolve("lines"), lines), out = folder.resolve("out");
        List<String> args = new ArrayList<>(
            List.of("from-json", "--lines", "--each", "-o", out.toString(), input.toString()));
        args.addAll(options);
        run(args);
        List<byte[]> all = new ArrayList<>();
        for (int i = 1; i <= lines.size(); i++) {
            Path file = out.resolve(String.format("%06d.lbuf", i));
            all.add(Files.readAllBytes(file));
            Files.delete(file);
        }
        Files.delete(out);
        return all;
    }

    /** Another Java program of the tests, with their classes. */
    static ProcessBuilder java(Class<?> main, Path file) {
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), main.getName(), file.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT);
    }
}
