package io.github.livebuf;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * An object or an array of a document that is edited, from {@link Editor#handle(String)}. It follows its value when
 * others are inserted, removed or put in another order before it. Once the value was removed or replaced, calls with it
 * throw an exception of kind {@link ErrorKind#STALE_HANDLE}. The editor keeps a handle as long as its value is there,
 * and gives the same one for the same value.
 *
 * <p>Its methods are edits, of which {@link Editor} says what they cost and throw.
 */
public final class Handle {
    // A node has its home. A row of a table and an array in a list have their table or list, which stay where they are
    // while they live, and their number in it.

    static final long NO_ROW = Layout.U32; // of what has a home

    Editor editor; // null once the value is no more
    int depth; // in how many containers it is, itself counted; 0 if that is not known
    long home;
    long row;

    Handle(Editor editor) {
        this.editor = editor;
    }

    /** Says whether the value is still there. */
    public boolean isAlive() {
        return editor != null;
    }

    private Editor editor() {
        if (editor == null) {
            throw LivebufException.of(ErrorKind.STALE_HANDLE);
        }
        return editor;
    }

    /** The value as it is now, to read it until the next edit. */
    public Value value() {
        return editor().read(this);
    }

    /** Sets a member of an object. A new one comes behind the others. */
    public void set(String key, @Nullable Object value) {
        editor().set(editor.spot(this), key, value);
    }

    /** Sets element i of an array. */
    public void set(int i, @Nullable Object value) {
        editor().set(editor.spot(this), i, value);
    }

    /** Removes a member of an object. Without such a member, the exception is of kind {@link ErrorKind#NOT_FOUND}. */
    public void remove(String key) {
        editor().remove(editor.spot(this), key);
    }

    /** Removes element i of an array. */
    public void remove(int i) {
        splice(i, 1);
    }

    /** Gives a member another key; see {@link Editor#rename}. */
    public void rename(String from, String to) {
        editor().rename(editor.spot(this), from, to);
    }

    /** Adds elements to the end of an array. */
    public void push(@Nullable Object @Nullable ... values) {
        editor().push(editor.spot(this), values);
    }

    /** Puts elements before element i of an array; i may be the count of elements. */
    public void insert(int i, @Nullable Object @Nullable ... values) {
        editor().splice(editor.spot(this), i, 0, values);
    }

    /** Removes n elements of an array from element i on, and puts others in their place. */
    public void splice(int i, int n, @Nullable Object @Nullable ... values) {
        editor().splice(editor.spot(this), i, n, values);
    }

    /** Puts the elements of an array in another order; see {@link Editor#reorder}. */
    public void reorder(int... order) {
        editor().reorder(editor.spot(this), order);
    }

    /** A handle, and what it was before an edit. */
    record Saved(Handle handle, long home, long row, int depth) {}

    /** The handles of a document, by their homes and rows. */
    static final class Table {
        private final Map<Long, Map<Long, Handle>> homes = new HashMap<>();

        Handle get(long home, long row) {
            Map<Long, Handle> rows = homes.get(home);
            return rows == null ? null : rows.get(row);
        }

        boolean isEmpty() {
            return homes.isEmpty();
        }

        /** Gives a handle another value. */
        void keep(Handle handle, long home, long row) {
            handle.home = home;
            handle.row = row;
            homes.computeIfAbsent(home, any -> new HashMap<>()).put(row, handle);
        }

        /** The handle of a row or an array in a list, which is to be kept elsewhere; null if there is none. */
        Handle take(long home, long row) {
            Map<Long, Handle> rows = homes.get(home);
            return rows == null ? null : rows.remove(row);
        }

        /** The rows of a table or a list that have handles. */
        List<Long> rows(long home) {
            Map<Long, Handle> rows = homes.get(home);
            return rows == null ? List.of() : List.copyOf(rows.keySet());
        }

        /** Ends the handles of a node, or of all rows of a table or a list. */
        void end(long home) {
            Map<Long, Handle> rows = homes.remove(home);
            if (rows != null) {
                rows.values().forEach(handle -> handle.editor = null);
            }
        }

        /** Gives rows other numbers; handles of those below 0 end. */
        void moveRows(long home, LongUnaryOperator to) {
            Map<Long, Handle> rows = homes.get(home);
            if (rows == null || rows.isEmpty()) {
                return;
            }
            Map<Long, Handle> moved = new HashMap<>();
            for (Handle handle : rows.values()) {
                handle.row = to.applyAsLong(handle.row);
                if (handle.row >= 0) {
                    moved.put(handle.row, handle);
                } else {
                    handle.editor = null;
                }
            }
            homes.put(home, moved);
        }

        /** All handles as they are now. */
        List<Saved> save() {
            List<Saved> all = new ArrayList<>();
            for (Map<Long, Handle> rows : homes.values()) {
                rows.values().forEach(h -> all.add(new Saved(h, h.home, h.row, h.depth)));
            }
            return all;
        }

        /** Gives handles back what they were. */
        void restore(List<Saved> all, Editor editor) {
            homes.clear();
            for (Saved saved : all) {
                saved.handle.editor = editor;
                saved.handle.depth = saved.depth;
                keep(saved.handle, saved.home, saved.row);
            }
        }
    }
}
