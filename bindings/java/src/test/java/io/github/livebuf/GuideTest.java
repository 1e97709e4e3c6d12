package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/java.md, docs/start.md and bindings/java/README.md compiles, and prints what its comments say. */
class GuideTest {
    private static final String IMPORTS = """
        import io.github.livebuf.*;
        import java.math.*;
        import java.nio.*;
        import java.nio.file.*;
        import java.time.*;
        import java.util.*;
        """;

    @TempDir
    Path folder;

    private void check(Path page) throws Exception {
        StringBuilder code = new StringBuilder(IMPORTS + "class Guide { static void run() throws Exception {\n");
        List<String> want = new ArrayList<>();
        Matcher block = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(Files.readString(page));
        while (block.find()) {
            code.append(block.group(1));
            Matcher line = Pattern.compile("println\\(.*\\); // (.*)").matcher(block.group(1));
            while (line.find()) {
                want.add(line.group(1));
            }
        }
        Path source = folder.resolve("Guide.java");
        Files.writeString(source, code + "}}\n");
        String classes = System.getProperty("java.class.path");
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        int status = ToolProvider.getSystemJavaCompiler().run(null, said, said, "-cp", classes, "-d",
            folder.toString(), source.toString());
        assertEquals(0, status, said.toString(StandardCharsets.UTF_8));
        PrintStream out = System.out;
        said.reset();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            System.setOut(new PrintStream(said, true, StandardCharsets.UTF_8));
            var run = loader.loadClass("Guide").getDeclaredMethod("run");
            run.setAccessible(true);
            run.invoke(null);
        } finally {
            System.setOut(out);
        }
        assertEquals(String.join("\n", want), said.toString(StandardCharsets.UTF_8).strip());
        assertTrue(want.size() > 1);
    }

    @Test
    void theGuidePrintsWhatItSays() throws Exception {
        check(Path.of("../../docs/java.md"));
    }

    @Test
    void thePageOfAllLanguagesPrintsWhatItSays() throws Exception {
        check(Path.of("../../docs/start.md"));
    }

    @Test
    void theReadmePrintsWhatItSays() throws Exception {
        check(Path.of("README.md"));
    }
}
