package io.github.livebuf;

/**
 * A place in a document that goes from value to value. Where very many values are looked up, it saves the objects that
 * {@link Value} takes: a look-up by a {@link Key} makes none.
 *
 * <pre>{@code
 * Cursor c = doc.cursor(); // made once
 * long followers = c.root().get(statuses).get(50).get(user).get(followersCount).asLong();
 * }</pre>
 *
 * <p>Each step moves the cursor itself, and returns it. What is asked of a value that is missing is missing, too. The
 * methods throw what those of {@link Value} throw. A cursor is for one thread at a time.
 */
public final class Cursor {
    private final Document doc;
    private final Value own = new Value(null, 0, 0, 0, 0, Layout.TAG_NOTHING, Value.SCALAR);
    private Value here = Value.MISSING; // own, or the value that is not there

    Cursor(Document doc) {
        this.doc = doc;
        here = doc.root(own);
    }

    /** Goes to the value of the whole document. */
    public Cursor root() {
        here = doc.root(own);
        return this;
    }

    /** Goes to the member of an object that has a key; see {@link Value#get(Key)}. */
    public Cursor get(Key key) {
        here = Read.member(here, key, own);
        return this;
    }

    /** Goes to the member of an object that has a key. A prepared key takes less time. */
    public Cursor get(String key) {
        return get(Key.forShapes(key));
    }

    /** Goes to element i of an array; see {@link Value#get(int)}. */
    public Cursor get(int i) {
        Value v = here;
        here = v.form != Value.ARRAY || i < 0 || i >= v.count() ? Value.MISSING
            : Read.slot(v.doc, v.at, v.first() + i, own);
        return this;
    }

    /** The value as an object of its own, which stays when the cursor goes on. */
    public Value value() {
        return here == own
            ? new Value(own.doc, own.at, own.home, own.bits, own.row, own.tag, own.form) : Value.MISSING;
    }

    /** What the value is. */
    public Kind kind() {
        return here.kind();
    }

    /** Whether there is a value. Null is one. */
    public boolean exists() {
        return here.exists();
    }

    /** Whether the value is null. */
    public boolean isNull() {
        return here.isNull();
    }

    /** How many elements an array or members an object has; see {@link Value#size}. */
    public int size() {
        return here.size();
    }

    /** The value of a boolean. */
    public boolean asBoolean() {
        return here.asBoolean();
    }

    /** An integer that an int holds. */
    public int asInt() {
        return here.asInt();
    }

    /** An integer that a long holds. */
    public long asLong() {
        return here.asLong();
    }

    /** A number; see {@link Value#asDouble}. */
    public double asDouble() {
        return here.asDouble();
    }

    /** A text, which is a new string. */
    public String asText() {
        return here.asText();
    }

    /** The value as {@link Value#toString} has it. */
    @Override
    public String toString() {
        return here.toString();
    }
}
