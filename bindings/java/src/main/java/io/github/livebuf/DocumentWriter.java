package io.github.livebuf;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes a document of values as they come: scalars, keys, and the beginnings and ends of objects and arrays. Nothing
 * but the document itself is built in memory.
 *
 * <pre>{@code
 * DocumentWriter w = new DocumentWriter();
 * w.beginObject().key("laps").beginArray().value(88.427).value(87.9).endArray().endObject();
 * byte[] bytes = w.finish(); // {"laps":[88.427,87.9]}
 * }</pre>
 *
 * <p>The bytes are those that {@link Livebuf#encode} makes of the same value. What comes out of order, such as a value
 * without its key, is an {@link IllegalStateException}. All methods also throw what {@link Livebuf#encode} throws. The
 * writer takes nothing more after an exception, nor after {@link #finish}. It is for one thread at a time.
 */
public final class DocumentWriter {
    private Encoder encoder; // null when it takes nothing more
    private boolean hasKey; // of the value that comes next
    private boolean hasRoot;

    /** Begins a document. */
    public DocumentWriter(Option... options) {
        encoder = Encoder.started(options);
    }

    private DocumentWriter add(Consumer<Encoder> what) {
        Encoder e = encoder;
        encoder = null; // until it has succeeded
        try {
            what.accept(e);
        } catch (LivebufException x) {
            throw e.placed(x);
        } catch (StackOverflowError x) {
            throw Encoder.tooDeepHere();
        }
        encoder = e;
        return this;
    }

    private void check(boolean isInOrder, String message) {
        if (encoder == null) {
            throw new IllegalStateException("the document is finished, or an exception ended it: begin another one");
        }
        if (!isInOrder) {
            encoder = null;
            throw new IllegalStateException(message);
        }
    }

    /** Notes that a value comes next. */
    private void next() {
        boolean isRoot = encoder != null && encoder.depth() == 0;
        check(!isRoot || !hasRoot, "a document has one value: put several into an array");
        check(isRoot || hasKey == encoder.isInObject(), "a member of an object begins with its key");
        hasRoot = true;
        hasKey = false;
    }

    /** Begins an object: its members come next, and then {@link #endObject}. */
    public DocumentWriter beginObject() {
        next();
        return add(Encoder::beginObject);
    }

    /** Ends the object that was begun last. */
    public DocumentWriter endObject() {
        check(isIn(true) && !hasKey, "no object is open here, or the value of its last key is missing");
        return add(Encoder::endObject);
    }

    /** Begins an array: its elements come next, and then {@link #endArray}. */
    public DocumentWriter beginArray() {
        next();
        return add(Encoder::beginArray);
    }

    /** Ends the array that was begun last. */
    public DocumentWriter endArray() {
        check(isIn(false), "no array is open here");
        return add(Encoder::endArray);
    }

    private boolean isIn(boolean isObject) {
        return encoder != null && encoder.depth() > 0 && encoder.isInObject() == isObject;
    }

    /** The key of the member whose value comes next. */
    public DocumentWriter key(String key) {
        check(isIn(true) && !hasKey, "a key stands in an object, and before each value");
        hasKey = true;
        return add(e -> e.key(key));
    }

    /** Adds a boolean. */
    public DocumentWriter value(boolean x) {
        next();
        encoder.bool(x);
        return this;
    }

    /** Adds an integer. */
    public DocumentWriter value(long x) {
        next();
        encoder.integer(x);
        return this;
    }

    /** Adds a float. */
    public DocumentWriter value(double x) {
        next();
        encoder.number(x);
        return this;
    }

    /** Adds a text, which must not be null. */
    public DocumentWriter value(String x) {
        next();
        return add(e -> e.text(x));
    }

    /** Adds a value of any type that {@link Livebuf#encode} takes, null and a part of another document among them. */
    public DocumentWriter value(@Nullable Object x) {
        next();
        return add(e -> Mapper.any(e, x));
    }

    /** The bytes of the document, whose root must be whole. */
    public byte[] finish() {
        check(encoder != null && hasRoot && encoder.depth() == 0,
            "the document has no value yet, or an object or array is still open");
        byte[][] data = new byte[1][];
        add(e -> data[0] = e.ended());
        encoder = null;
        return data[0];
    }
}
