package io.github.livebuf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.AnnotatedArrayType;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.AnnotatedWildcardType;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What may be null is marked as such, and nothing else is. */
class NullnessTest {
    /** All that has a mark, with a question mark behind each type that may be null. */
    private static final List<String> MARKED = List.of(
        "Column.toArray(IntFunction<T?[]>, Function<Value, out T?>): T?[]",
        "Column.toTexts(): String?[]",
        "DocumentWriter.value(Object?): DocumentWriter",
        "Editor.insert(String, int, Object?[]?): void",
        "Editor.of(Object?): Editor",
        "Editor.push(String, Object?[]?): void",
        "Editor.set(String, Object?): void",
        "Editor.splice(String, int, int, Object?[]?): void",
        "Handle.insert(int, Object?[]?): void",
        "Handle.push(Object?[]?): void",
        "Handle.set(String, Object?): void",
        "Handle.set(int, Object?): void",
        "Handle.splice(int, int, Object?[]?): void",
        "Key.equals(Object?): boolean",
        "Livebuf.encode(Object?, Option[]): byte[]",
        "Livebuf.toObject(Value): Object?",
        "LogWriter.append(Object?): long",
        "Mapper.decode(Document): T?",
        "Mapper.decode(Value): T?",
        "Mapper.decode(byte[]): T?",
        "Mapper.encode(T?, Option[]): byte[]",
        "Mapper.listOf(Class<E>): Mapper<List<E?>>",
        "Mapper.mapOf(Class<E>): Mapper<Map<String, E?>>",
        "NumberText.equals(Object?): boolean");

    @TempDir
    Path folder;

    private static String text(AnnotatedType type) {
        String name;
        if (type instanceof AnnotatedArrayType array) {
            name = text(array.getAnnotatedGenericComponentType()) + "[]";
        } else if (type instanceof AnnotatedParameterizedType p) {
            name = ((Class<?>) ((ParameterizedType) p.getType()).getRawType()).getSimpleName()
                + Stream.of(p.getAnnotatedActualTypeArguments()).map(NullnessTest::text)
                    .collect(Collectors.joining(", ", "<", ">"));
        } else if (type instanceof AnnotatedWildcardType w) {
            name = "out " + text(w.getAnnotatedUpperBounds()[0]);
        } else {
            name = type.getType() instanceof Class<?> c ? c.getSimpleName() : type.getType().getTypeName();
        }
        return type.isAnnotationPresent(Nullable.class) ? name + "?" : name;
    }

    private static String text(Executable x) {
        String parameters = Stream.of(x.getAnnotatedParameterTypes()).map(NullnessTest::text)
            .collect(Collectors.joining(", ", "(", ")"));
        return x.getDeclaringClass().getSimpleName() + (x instanceof Method ? "." + x.getName() : "") + parameters
            + ": " + text(x.getAnnotatedReturnType());
    }

    /** The classes that a program can name. */
    private static List<Class<?>> classes() throws Exception {
        Path all = Path.of(Livebuf.class.getResource("Livebuf.class").toURI()).getParent();
        List<Class<?>> found = new ArrayList<>();
        try (Stream<Path> files = Files.list(all)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                String name = file.getFileName().toString();
                if (name.endsWith(".class") && !name.equals("package-info.class")) {
                    Class<?> c = Class.forName("io.github.livebuf." + name.replace(".class", ""), false,
                        Livebuf.class.getClassLoader());
                    Class<?> around = c.getDeclaringClass();
                    if (Modifier.isPublic(c.getModifiers())
                        && (around == null || Modifier.isPublic(around.getModifiers()))) {
                        found.add(c);
                    }
                }
            }
        }
        return found;
    }

    @Test
    void exactlyTheseMayBeNull() throws Exception {
        assertTrue(Livebuf.class.getPackage().isAnnotationPresent(NullMarked.class));
        TreeSet<String> marked = new TreeSet<>();
        int count = 0;
        for (Class<?> c : classes()) {
            List<Executable> all = new ArrayList<>(Arrays.asList(c.getDeclaredMethods()));
            all.addAll(Arrays.asList(c.getDeclaredConstructors()));
            for (Executable x : all) {
                boolean isSeen = Modifier.isPublic(x.getModifiers()) || Modifier.isProtected(x.getModifiers());
                if (isSeen && !x.isSynthetic()) {
                    count++;
                    if (text(x).contains("?")) {
                        marked.add(text(x));
                    }
                }
            }
        }
        assertEquals(String.join("\n", MARKED), String.join("\n", marked));
        assertTrue(count > 200, count + " methods");
    }

    record Point(int x) {}

    @Test
    void resultsThatAreMarkedAreNull() {
        byte[] none = Livebuf.encode(null);
        Document doc = Document.open(none);
        assertNull(Livebuf.toObject(doc.root()));
        Mapper<Point> mapper = Mapper.of(Point.class);
        assertEquals("null", Document.open(mapper.encode(null)).toJson());
        assertNull(mapper.decode(none));
        assertNull(mapper.decode(doc));
        assertNull(mapper.decode(doc.root()));
        assertNull(Mapper.listOf(Point.class).decode(Livebuf.fromJson("[null]")).get(0));
        Map<String, Point> points = Mapper.mapOf(Point.class).decode(Livebuf.fromJson("{\"a\":null}"));
        assertTrue(points.containsKey("a") && points.get("a") == null);
        Value rows = Document.open(Livebuf.fromJson("[{\"a\":\"x\"},{\"a\":null},{}]")).root();
        assertEquals(Arrays.asList("x", null, null), Arrays.asList(rows.column("a").toTexts()));
        assertEquals(Arrays.asList(5, null, null), Arrays.asList(rows.column("a").toArray(Integer[]::new, v -> 5)));
        assertNull(rows.column("a").toArray(Integer[]::new, v -> null)[0]);
    }

    @Test
    void whatIsMissingIsNotNull() {
        Value root = Document.open(Livebuf.fromJson("{\"a\":[1]}")).root();
        Value[] missing = {root.get("b"), root.get(Key.of("b")), root.get("a").get(7), root.pointer("/x/y"),
            root.get("a").column().get(1), root.get("a").column("none").get(0),
            Document.open(Livebuf.encode(null)).cursor().get(Key.of("b")).value()};
        for (Value v : missing) {
            assertFalse(v.exists());
        }
        assertEquals(List.of(), root.get("a").column().keys());
        DocumentReader reader = new DocumentReader(root);
        assertEquals("", reader.key());
        assertTrue(reader.value().isObject());
    }

    @Test
    void parametersThatAreMarkedTakeNull() {
        Editor edit = Editor.of(null);
        assertEquals("null", edit.root().toJson());
        edit.set("", Map.of("all", List.of(1, 2, 3)));
        edit.set("/none", null);
        edit.push("/all", (Object[]) null);
        edit.push("/all", 4, null);
        edit.insert("/all", 0, (Object[]) null);
        edit.insert("/all", 0, null, 0);
        edit.splice("/all", 3, 1, (Object[]) null);
        edit.splice("/all", 4, 1, null, 5);
        assertEquals("{\"all\":[null,0,null,null,null,5,3,null,4,null],\"none\":null}", edit.root().toJson());
        edit.set("", Map.of("all", List.of(1, 2, 3)));
        Handle root = edit.handle("");
        root.set("none", null);
        Handle all = edit.handle("/all");
        all.set(0, null);
        all.push((Object[]) null);
        all.push(4, null);
        all.insert(0, (Object[]) null);
        all.insert(0, null, 0);
        all.splice(4, 1, (Object[]) null);
        all.splice(5, 1, null, 5);
        assertEquals("{\"all\":[null,0,null,null,null,null,5,null,4,null],\"none\":null}", edit.root().toJson());
        assertEquals("null", Document.open(new DocumentWriter().value((Object) null).finish()).toJson());
        assertNotEquals(Key.of("a"), null);
        assertNotEquals(NumberText.of("1e400"), null);
    }

    @Test
    void rowsMayBeNull() {
        Path path = folder.resolve("rows.lblog");
        try (LogWriter writer = LogWriter.open(path)) {
            writer.append(null);
            writer.extend(Collections.nCopies(2, null));
        }
        try (Log log = Log.open(path)) {
            log.rows(0, log.size()).forEach(row -> assertTrue(row.isNull()));
            assertEquals(3, log.size());
        }
    }
}
