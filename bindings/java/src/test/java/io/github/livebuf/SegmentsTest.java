package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Documents in segments of memory, which only the jar knows, and only from Java 22 on. */
class SegmentsTest {
    private static final String USE = """
        import io.github.livebuf.*;
        import java.lang.foreign.*;
        public class Use {
            public static String run() {
                byte[] bytes = Livebuf.fromJson("{\\"laps\\": [1, 2.5, \\"a longer text\\"]}");
                String all = Document.open(MemorySegment.ofArray(bytes)).toJson();
                try (Arena arena = Arena.ofShared()) {
                    MemorySegment native_ = arena.allocate(bytes.length + 100).copyFrom(MemorySegment.ofArray(bytes));
                    Document doc = Document.open(native_);
                    all += doc.validate().toJson() + doc.pointer("/laps/2").asText() + doc.size();
                    all += Document.open(native_.asReadOnly()).pointer("/laps/1").asDouble();
                    arena.close();
                    doc.root();
                    return "read after the arena was closed";
                } catch (IllegalStateException e) {
                    return all;
                }
            }
        }
        """;

    @TempDir
    Path folder;

    private void jar(Path classes, Path jar) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MULTI_RELEASE, "true");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
            Stream<Path> all = Files.walk(classes)) {
            for (Path file : all.filter(f -> f.toString().endsWith(".class")).toList()) {
                out.putNextEntry(new JarEntry(classes.relativize(file).toString().replace('\\', '/')));
                Files.copy(file, out);
            }
        }
    }

    @Test
    void segmentsAreRead() throws Exception {
        Path classes = Path.of(Document.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        assumeTrue(Files.exists(classes.resolve("META-INF/versions/22")), "not built by a JDK of 22 or newer");
        Path jar = folder.resolve("livebuf.jar");
        jar(classes, jar);
        Path source = folder.resolve("Use.java");
        Files.writeString(source, USE);
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        int status = ToolProvider.getSystemJavaCompiler().run(null, said, said, "-cp", jar.toString(), "-d",
            folder.toString(), source.toString());
        assertEquals(0, status, said.toString(StandardCharsets.UTF_8));
        URL[] path = {folder.toUri().toURL(), jar.toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
            String json = "{\"laps\":[1,2.5,\"a longer text\"]}";
            int size = Livebuf.fromJson(json).length;
            assertEquals(json + json + "a longer text" + size + 2.5,
                loader.loadClass("Use").getMethod("run").invoke(null));
        }
    }
}
