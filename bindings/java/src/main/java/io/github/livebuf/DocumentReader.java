package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.util.Arrays;

/**
 * Walks over a value and all that it holds, in the order of JSON, without recursion. It is what a parser is for text,
 * but that it can pass over a container without looking at what is in it.
 *
 * <pre>{@code
 * DocumentReader r = new DocumentReader(doc.root());
 * while (r.next() != DocumentReader.Event.END) {
 *     System.out.println(r.event() + " " + r.key() + " " + r.value());
 * }
 * }</pre>
 *
 * <p>It meets no more than the document can reasonably stand for, also where that is damaged: what is beyond is an
 * exception of kind BUDGET_EXCEEDED, as for {@link Livebuf#toObject}. It is for one thread at a time.
 */
public final class DocumentReader {
    /** What the reader came to. */
    public enum Event {
        /** The walk has not begun. */
        START,
        /** An object, whose members come next. */
        OBJECT,
        /** The end of the object. */
        END_OBJECT,
        /** An array, whose elements come next. */
        ARRAY,
        /** The end of the array. */
        END_ARRAY,
        /** A value that is no container. */
        SCALAR,
        /** There is nothing more. */
        END
    }

    /** An open container. */
    private static final class Frame {
        final Value container;
        final String key;
        final Read.Members members; // of an object, else null
        final Read.Head column; // of an array, else null
        int next; // the element that comes next

        Frame(Value container, String key) {
            this.container = container;
            this.key = key;
            boolean isArray = container.form == Value.ARRAY;
            members = isArray ? null : new Read.Members(container);
            column = isArray ? Read.column(container.doc.m, container.at) : null;
        }
    }

    private final Decoder decoder;
    private Frame[] frames = new Frame[8];
    private int depth;
    private Event event = Event.START;
    private Value value;
    private String key = "";

    /**
     * Begins a walk over a value.
     *
     * @throws LivebufException of kind NOT_FOUND if the value is missing
     */
    public DocumentReader(Value value) {
        if (!value.exists()) {
            throw value.wrong("");
        }
        this.value = value;
        decoder = new Decoder(value, MAX_NESTING);
    }

    /**
     * Goes on to the next event.
     *
     * @throws LivebufException with the kind of damage, or of kind BUDGET_EXCEEDED or NESTING_LIMIT
     */
    public Event next() {
        if (depth == 0) {
            event = event == Event.START ? met(value) : Event.END;
            return event;
        }
        Frame f = frames[depth - 1];
        if (f.members != null) {
            if (!f.members.next()) {
                return ended(f);
            }
            key = decoder.key(f.container, f.members);
            event = met(f.members.value);
        } else {
            if (f.next >= f.container.count()) {
                return ended(f);
            }
            key = "";
            event = met(Read.slot(f.container.doc, f.column, f.container.first() + f.next++));
        }
        return event;
    }

    /** Takes a value up. */
    private Event met(Value v) {
        value = v;
        if (v.form == Value.SCALAR) {
            if (v.tag == TAG_NOTHING) {
                throw LivebufException.at(ErrorKind.BAD_CODE, v.at);
            }
            decoder.payScalar(v);
            return Event.SCALAR;
        }
        decoder.enter(v);
        if (depth == frames.length) {
            frames = Arrays.copyOf(frames, 2 * depth);
        }
        frames[depth++] = new Frame(v, key);
        return v.form == Value.ARRAY ? Event.ARRAY : Event.OBJECT;
    }

    private Event ended(Frame f) {
        if (f.members != null) {
            decoder.pay(f.members.skipped, 0, f.container);
        }
        decoder.leave();
        frames[--depth] = null;
        value = f.container;
        key = f.key;
        event = f.members != null ? Event.END_OBJECT : Event.END_ARRAY;
        return event;
    }

    /** Goes to the end of the container that the reader came to, and looks at nothing in it. Elsewhere it stays. */
    public Event skip() {
        return event == Event.OBJECT || event == Event.ARRAY ? ended(frames[depth - 1]) : event;
    }

    /** What {@link #next} came to last. */
    public Event event() {
        return event;
    }

    /** The value that it came to; at the end of a container, that container. */
    public Value value() {
        return value;
    }

    /** The key of a member of an object; empty elsewhere. */
    public String key() {
        return key;
    }

    /** How many containers are open. */
    public int depth() {
        return depth;
    }
}
