package io.github.livebuf.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.spark.unsafe.types.UTF8String;

import io.github.livebuf.Editor;
import io.github.livebuf.Handle;
import io.github.livebuf.Key;
import io.github.livebuf.Value;

/**
 * A path into a document, prepared once: a JSON pointer (RFC 6901) such as {@code /a/b/0}, or {@code $.a.b[0]} as Spark
 * writes paths, where {@code [#-1]} is the last element.
 */
public final class Pointer implements Serializable {
    private static final long serialVersionUID = 1;
    private static final Pattern STEP = Pattern.compile("\\G(?:"
        + "\\.([^.\\[\"]+)|(?:\\.\"([^\"]*)\"|\\[[\"']([^\"']*)[\"']\\])|\\[(\\d{1,9})\\]|\\[#-([1-9]\\d{0,8})\\])");
    private static final int NO_INDEX = Integer.MIN_VALUE;
    private static final int END = Integer.MAX_VALUE;

    /**
     * A step.
     *
     * @param key of a member; null where the step is an index alone
     * @param index of an element, counted from the end below 0; NO_INDEX where the step is a key alone, END where it is
     *     the place behind the last element, at which there is nothing yet
     */
    private record Step(Key key, int index) {
        /** The index of the element in an array; below 0 where it leads to none. */
        private int at(Value array) {
            return index >= 0 ? index : array.size() + index;
        }

        /** The value that it leads to, which may be missing. */
        Value in(Value v) {
            return v.isArray() || key == null ? v.get(at(v)) : v.get(key);
        }

        /** Sets the value that it leads to. A key in an array and an index in an object are errors. */
        void set(Value v, Handle in, Object value) {
            if (v.isArray() ? index == NO_INDEX : key != null) {
                in.set(key.toString(), value);
            } else if (index == END) {
                in.push(new Object[] {value});
            } else {
                in.set(at(v), value);
            }
        }
    }

    private final String text;
    private transient Step[] steps;
    private transient UTF8String source; // the text that Spark gave

    private Pointer(String text) {
        this.text = text;
        this.steps = parse(text);
    }

    /** Prepares a path; a malformed one is an IllegalArgumentException. */
    public static Pointer of(UTF8String path) {
        Pointer p = new Pointer(path.toString());
        p.source = path.copy();
        return p;
    }

    /** The one that was used last, if it is that of the path; else a new one. */
    public static Pointer of(UTF8String path, Pointer last) {
        return last != null && path.equals(last.source) ? last : of(path);
    }

    private static Step[] parse(String text) {
        List<Step> steps = new ArrayList<>();
        if (text.startsWith("$")) {
            Matcher m = STEP.matcher(text);
            int end = 1;
            for (m.region(1, text.length()); m.find(); end = m.end()) {
                String key = m.group(1) != null ? m.group(1) : m.group(2) != null ? m.group(2) : m.group(3);
                steps.add(key != null ? new Step(Key.of(key), NO_INDEX) : new Step(null,
                    m.group(4) != null ? Integer.parseInt(m.group(4)) : -Integer.parseInt(m.group(5))));
            }
            if (end < text.length()) {
                throw wrong(text);
            }
        } else if (!text.isEmpty()) {
            if (!text.startsWith("/") || text.replaceAll("~[01]", "").contains("~")) {
                throw wrong(text);
            }
            for (String step : text.substring(1).split("/", -1)) {
                boolean isIndex = step.matches("0|[1-9]\\d{0,8}");
                steps.add(new Step(Key.of(step.replace("~1", "/").replace("~0", "~")),
                    isIndex ? Integer.parseInt(step) : step.equals("-") ? END : NO_INDEX));
            }
        }
        return steps.toArray(Step[]::new);
    }

    private static IllegalArgumentException wrong(String text) {
        return new IllegalArgumentException("\"" + text + "\" is no path: write a JSON pointer such as /a/b/0, or "
            + "$.a.b[0]");
    }

    /** The value that it leads to, which may be missing. */
    Value in(Value root) {
        Value v = root;
        for (Step step : steps) {
            v = step.in(v);
        }
        return v;
    }

    /** Sets the value that it leads to. */
    void set(Editor edit, Object value) {
        if (steps.length == 0) {
            edit.set("", value);
            return;
        }
        Value v = edit.root();
        for (int i = 0; i < steps.length - 1; i++) {
            v = steps[i].in(v);
        }
        steps[steps.length - 1].set(v, edit.handle(v), value);
    }

    @Override
    public String toString() {
        return text;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Pointer p && p.text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    private Object readResolve() {
        return of(UTF8String.fromString(text));
    }
}
