package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;
import static io.github.livebuf.Layout.*;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Changes a document where its bytes lie (FORMAT 12). An edit changes a few bytes, whatever the size of the document,
 * and uses the space of what it replaces again. One that fails changes nothing.
 *
 * <p>What is changed is an object or an array, named by a JSON pointer or held by a {@link Handle}, which follows it.
 * Values that can be stored are those of the encoder, values of documents, and handles.
 *
 * <p>A tensor takes and loses elements as any array does, but it keeps its type and the lengths of its elements
 * (EDITING 11). It takes numbers that its type holds, and rounds floats to its width. If its elements are arrays, it
 * takes arrays of the same length: a float[], a list or another tensor, but not a byte[], which is no array. An array
 * within a tensor, or in a list of tensors, keeps its length and its order.
 *
 * <p>One thread may use an editor at a time. Values and buffers that lie over the document's bytes are good until the
 * next edit.
 *
 * <p>All edits throw a {@link LivebufException}: of kind NOT_FOUND or WRONG_TYPE if the pointer does not lead to an
 * object or an array as the edit needs it, of STALE_HANDLE if the handle's value is no more or a {@link Value} that is
 * to be stored is from before the last edit, of BAD_VALUE, BAD_TEXT or NESTING_LIMIT if a value cannot be stored, of
 * TENSOR_MISMATCH if a tensor would lose what it keeps, of DOCUMENT_LIMIT if the document would become too long, and of
 * BROKEN if an earlier edit ended half way.
 */
public final class Editor extends EditValues {
    private Document out; // of the values that were given out since the last edit
    private int height; // at most so many containers are within each other; 0 if it is not known
    private byte[] backup; // the document before an edit that may become too long
    private List<Handle.Saved> saved; // and its handles
    private boolean broken;

    private Editor(Mem m) {
        super(m);
    }

    /**
     * Opens a document to edit it. It is validated first, which takes time by its length. The editor changes the bytes
     * in place, uses those behind the document as room, and moves to another array when there is no more.
     *
     * @throws LivebufException as {@link Document#open(byte[])} and {@link Document#validate}, and of kind READ_ONLY if
     *     only a newer version of this library may edit the document
     */
    public static Editor open(byte[] document) {
        Editor e = trust(document);
        e.live.validate();
        return e;
    }

    /**
     * Opens a document that is known to be valid (FORMAT 9), such as one that this library made: it is not checked. An
     * edit of others may spoil them further, may not end, and may take all memory; {@link #limit} bounds only that of
     * the document.
     *
     * @throws LivebufException as {@link Document#open(byte[])}, and of kind READ_ONLY
     */
    public static Editor trust(byte[] document) {
        Mem m = Document.header(new Mem(document, document.length));
        if (m.u8(HEADER_READ_ONLY) != 0) {
            throw LivebufException.at(READ_ONLY, HEADER_READ_ONLY);
        }
        return new Editor(m);
    }

    /** Makes a document of a value, to edit it further. */
    public static Editor of(@Nullable Object value) {
        Mem m = new Mem(new byte[256], HEADER_SIZE);
        m.put32(0, MAGIC);
        m.put8(HEADER_VERSION, VERSION);
        m.put8(HEADER_ROOT_TAG, TAG_NULL);
        m.put32(HEADER_USED, HEADER_SIZE);
        Editor e = new Editor(m);
        e.set("", value);
        return e;
    }

    /**
     * Sets how many bytes the document may have. An edit that would need more is an error of kind DOCUMENT_LIMIT, and
     * is taken back. Near the limit each edit copies the document first.
     *
     * @return this editor
     */
    public Editor limit(long bytes) {
        limit = Math.min(Math.max(bytes, 0), MAX_USED) & ~7;
        return this;
    }

    // --- Reading

    /** The document as it is now, to read it until the next edit. */
    public Document document() {
        if (out == null) {
            out = new Document(m, true);
        }
        return out;
    }

    /** The value of the whole document, to read it until the next edit. */
    public Value root() {
        return document().root();
    }

    /** The value at a JSON pointer, to read it until the next edit; see {@link Value#pointer}. */
    public Value pointer(String pointer) {
        return document().pointer(pointer);
    }

    /** The document's bytes, where they lie until the next edit; they cannot be changed through this buffer. */
    public ByteBuffer buffer() {
        return document().buffer();
    }

    /** A copy of the document's bytes. */
    public byte[] toByteArray() {
        return document().toByteArray();
    }

    /** How a document's bytes are used: of all, some are free for edits; the others are in use, or spare room. */
    public record Stats(int used, int free) {}

    /** Says how many bytes the document has, and how many of them are free. */
    public Stats stats() {
        long aux = m.u32(HEADER_AUX);
        return new Stats(m.size, aux == 0 ? 0 : (int) m.u32(aux + 4));
    }

    /** The value of a handle. */
    Value read(Handle h) {
        Document d = document();
        if (h.row == Handle.NO_ROW) {
            return m.u8(Read.resolve(m, h.home)) == KIND_ARRAY ? Read.array(d, h.home) : Read.object(d, h.home);
        }
        return m.u8(h.home) == KIND_TABLE ? Read.row(d, h.home, h.row) : Read.slice(d, h.home, h.row);
    }

    // --- Targets

    /** An object or an array that is to be changed, and in how many containers it is, itself counted; 0 if unknown. */
    record Spot(Value v, int depth) {
        Spot array() {
            if (v.form != Value.ARRAY) {
                throw v.wrong("an array");
            }
            return this;
        }

        Spot object() {
            if (v.form == Value.ARRAY) {
                throw v.wrong("an object");
            }
            return this;
        }
    }

    Spot spot(Handle h) {
        return spot(read(h), h.depth);
    }

    private Spot spot(String pointer) {
        return spot(Value.pointerSteps(pointer));
    }

    private Spot spot(List<String> steps) {
        Value v = root();
        for (String step : steps) {
            v = v.form == Value.ARRAY ? v.get(Value.pointerIndex(step)) : v.get(step);
        }
        if (!v.exists()) {
            throw LivebufException.of(NOT_FOUND).withPath(path(steps));
        }
        return spot(v, steps.size() + 1);
    }

    private static String path(List<String> steps) {
        StringBuilder path = new StringBuilder();
        steps.forEach(step -> Encoder.step(path, step));
        return path.toString();
    }

    /** The index that the last step of a pointer to an element of an array names. */
    private static int index(List<String> steps) {
        String step = steps.get(steps.size() - 1);
        int i = Value.pointerIndex(step);
        if (i < 0) {
            throw LivebufException.of(INDEX_OUT_OF_RANGE,
                "the elements of an array have numbers from 0 on: \"%s\" is none", step).withPath(path(steps));
        }
        return i;
    }

    private Spot spot(Value v, int depth) {
        if (broken) {
            throw LivebufException.of(BROKEN);
        }
        if (v.form == Value.SCALAR) {
            throw v.wrong("an object or an array");
        }
        return new Spot(v, depth);
    }

    /**
     * Gives the object or the array at a JSON pointer a handle, which follows it through edits.
     *
     * @throws LivebufException of kind NOT_FOUND, WRONG_TYPE or BAD_POINTER
     */
    public Handle handle(String pointer) {
        return handle(spot(pointer));
    }

    /**
     * Gives an object or an array that was looked up since the last edit a handle. How deep it is is not known then: if
     * objects or arrays come into it, the whole document may be looked at.
     *
     * @throws LivebufException of kind NOT_FOUND or WRONG_TYPE; of kind STALE_HANDLE if the value was looked up before
     *     the last edit, or in another document
     */
    public Handle handle(Value value) {
        if (value.exists() && (out == null || value.doc != out)) {
            throw LivebufException.of(STALE_HANDLE, "the value was looked up before the last edit, or in another "
                + "document: look it up again, or take a handle before you edit");
        }
        return handle(spot(value, 0));
    }

    private Handle handle(Spot spot) {
        Value v = spot.v;
        Handle h = handles.get(v.home, rowOf(v));
        if (h == null) {
            h = new Handle(this);
            handles.keep(h, v.home, rowOf(v));
        }
        h.depth = Math.max(h.depth, spot.depth);
        return h;
    }

    /** The number of a row or of an array in its table or list; NO_ROW of what has a home. */
    private static long rowOf(Value v) {
        return v.form == Value.ROW || v.form == Value.ARRAY ? v.row & U32 : Handle.NO_ROW;
    }

    // --- Edits

    /** Makes an edit of values that have at most so many containers within each other. */
    private void edit(int tall, long cost, Runnable change) {
        Deep.call(limit -> {
            if (tall > limit) {
                throw Deep.stop(limit, 0);
            }
            edit(cost, change);
            return null;
        });
    }

    /** Makes an edit, which takes at most so many bytes more. */
    private void edit(long cost, Runnable change) {
        boolean near = m.size + cost + 1024 > limit;
        backup = near ? toByteArray() : null;
        saved = near ? handles.save() : null;
        int flags = m.u8(HEADER_IGNORE);
        try {
            if (flags != 0) {
                long aux = m.u32(HEADER_AUX);
                if ((flags & ~FLAG_STATE) != 0 && aux != 0) {
                    m.put64(aux + 16, 0);
                }
                m.put8(HEADER_IGNORE, 0);
            }
            if (out != null) {
                out.valid = false; // its values may be others from now on
                out.isStale = true;
                out = null;
            }
            change.run();
            squeeze();
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
            if (e != NoRoom.NO_ROOM || backup == null) {
                broken = true;
                throw LivebufException.of(BROKEN, "the document is damaged or there is no memory, and the edit ended "
                    + "half way: %s", e);
            }
            m.size = backup.length;
            write(0, backup);
            forget();
            handles.restore(saved, this);
            throw LivebufException.of(DOCUMENT_LIMIT, "a document has at most %d bytes: the edit was taken back",
                limit);
        }
    }

    /** Checks that values may come into a container (FORMAT 1). */
    private void deep(Node.Maker p) {
        if (p.height == 0) {
            return;
        }
        int depth = p.depth;
        if (depth == 0) {
            // It is at most as deep as any is.
            if (height == 0 || height + p.height > MAX_NESTING) {
                height = heightOf(live.root());
            }
            depth = height;
        }
        if (depth + p.height > MAX_NESTING) {
            throw LivebufException.of(NESTING_LIMIT, "values would be nested in more than %d levels", MAX_NESTING);
        }
        if (height > 0) {
            height = Math.max(height, depth + p.height);
        }
    }

    /** How many containers are within each other in a value. */
    private int heightOf(Value v) {
        return Deep.call(limit -> heightOf(v, limit, limit));
    }

    private int heightOf(Value v, int left, int limit) {
        if (v.form == Value.SCALAR) {
            return 0;
        }
        if (left == 0) {
            throw Deep.stop(limit, v.at);
        }
        int most = 0;
        if (v.form == Value.RECORD) {
            for (int i = 0; i < v.fields(); i++) {
                most = Math.max(most, heightOf(Read.field(v, i), left - 1, limit));
            }
        } else if (v.form == Value.ROW) {
            return heightOfRows(v.at, v.row & U32, 1, left, limit);
        } else if (v.form == Value.MAP) {
            most = heightOfSlots(v.at + MAP_VALUES, 0, m.u32(v.at + MAP_VALUES + 4), left - 1, limit);
        } else {
            most = heightOfSlots(v.at, v.first(), v.count(), left - 1, limit);
        }
        return most + 1;
    }

    /** How many containers are within each other in n slots of a column. */
    private int heightOfSlots(long at, long i, long n, int left, int limit) {
        Read.Head c = col(at);
        int tag = columnTag(c.code), most = 0;
        if (n == 0 || tag != TAG_NOTHING && tag != TAG_OBJECT && tag != TAG_ARRAY) {
            return 0;
        }
        if (left <= 0) {
            throw Deep.stop(limit, at); // columns of a damaged document may lead in a circle
        }
        if (c.code == CODE_STRUCT) {
            return heightOfRows(c.data, i, n, left, limit);
        }
        if (isNested(c.code)) {
            long first = offset(c.data, i);
            return 1 + heightOfSlots(c.data + LIST_ELEMENTS, first, offset(c.data, i + n) - first, left - 1, limit);
        }
        for (long end = i + n; i < end; i++) {
            most = Math.max(most, heightOf(Read.slot(live, c, i), left, limit));
        }
        return most;
    }

    private int heightOfRows(long table, long row, long n, int left, int limit) {
        int most = 0;
        for (long j = 0; j < m.u16(table + 20); j++) {
            most = Math.max(most, heightOfSlots(header(table, j), row, n, left - 1, limit));
        }
        for (long i = row; i < row + n && m.u32(table + 16) != 0; i++) {
            most = Math.max(most, heightOf(Read.extra(Read.row(live, table, i)), left, limit) - 1);
        }
        return most + 1;
    }

    /** Says whether a column of a code may have objects and arrays. */
    private static boolean hasContainers(int code) {
        int tag = columnTag(code);
        return tag == TAG_NOTHING || tag == TAG_OBJECT || tag == TAG_ARRAY;
    }

    void set(Spot target, String key, @Nullable Object value) {
        Value v = target.object().v;
        Node.Maker p = new Node.Maker(target.depth);
        Key k = p.key(key);
        Node node = p.value(value);
        deep(p);
        int tall = Math.max(p.height, heightOf(Read.member(v, k)));
        edit(tall, p.size + memberCost(v, k), () -> setMember(v, k, node));
    }

    void set(Spot target, int i, @Nullable Object value) {
        Value v = target.array().v;
        checkIndex(v, i, v.count() - 1);
        Node.Maker p = new Node.Maker(target.depth);
        p.numbers = numbers(v);
        Node node = p.value(value);
        deep(p);
        keepShape(v, List.of(node), false);
        int tall = Math.max(p.height, heightOf(v.get(i)));
        edit(tall, p.size + columnCost(v.at), () -> put(v.at, v.first() + i, node, false));
    }

    private static void checkIndex(Value v, int i, int most) {
        if (i < 0 || i > most) {
            throw LivebufException.of(INDEX_OUT_OF_RANGE, "the array has %d elements: there is no place %d",
                v.count(), i);
        }
    }

    void remove(Spot target, String key) {
        Value v = target.object().v;
        Key k = Key.forShapes(key);
        edit(heightOf(member(v, key, k)), memberCost(v, k), () -> removeMember(v, k));
    }

    private static Value member(Value v, String key, Key k) {
        Value member = Read.member(v, k);
        if (!member.exists()) {
            throw LivebufException.of(NOT_FOUND).withPath(path(List.of(key)));
        }
        return member;
    }

    void push(Spot target, @Nullable Object @Nullable ... values) {
        splice(target, target.array().v.count(), 0, values);
    }

    void splice(Spot target, int i, int n, @Nullable Object @Nullable ... values) {
        Value v = target.array().v;
        checkIndex(v, i, v.count());
        if (n < 0 || n > v.count() - i) {
            throw LivebufException.of(INDEX_OUT_OF_RANGE, "the array has %d elements: there are no %d from %d on",
                v.count(), n, i);
        }
        Node.Maker p = new Node.Maker(target.depth);
        p.numbers = numbers(v);
        List<Node> items = new ArrayList<>();
        for (Object value : values == null ? new Object[1] : values) { // a null alone is no array
            items.add(p.value(value));
        }
        deep(p);
        if (n == 0 && items.isEmpty()) {
            return;
        }
        if (v.count() - n > MAX_ELEMENTS - items.size()) {
            throw LivebufException.of(ELEMENT_LIMIT, "an array has at most %d elements", MAX_ELEMENTS);
        }
        keepShape(v, items, true);
        int tall = Math.max(p.height, Deep.call(limit -> heightOfSlots(v.at, v.first() + i, n, limit, limit)));
        edit(tall, p.size + 64L * items.size() + arrayCost(v), () -> {
            long column = detach(v);
            closeSlots(column, i, n);
            if (m.u32(column + 4) > 0 || p.numbers != 0) {
                insertSlots(column, i, items);
                return;
            }
            // An array without elements has no column, unless it is a tensor.
            freeStorage(column);
            m.put64(column, KIND_ARRAY);
            m.put64(column + 8, 0);
            fill(column, items);
        });
    }

    /** The type of a tensor's numbers; 0 of any other array. */
    private int numbers(Value v) {
        Read.Head c = col(v.at);
        for (int i = 1; i < MAX_DIMENSIONS && c.tensor && c.code == CODE_FIXED_LIST; i++) {
            c = col(c.data + LIST_ELEMENTS);
        }
        return c.tensor ? c.code : 0;
    }

    /** Checks that an array, if it is a tensor, takes elements, and that those that it has may move. */
    private void keepShape(Value v, List<Node> items, boolean moves) {
        if (m.u8(v.at + 3) == 1 && (moves && v.row != Value.NOT_IN_LIST
                || !items.stream().allMatch(x -> fitsTensor(v.at, x)))) {
            throw LivebufException.of(TENSOR_MISMATCH);
        }
    }

    /** At most how many bytes it takes to change the elements of an array. */
    private long arrayCost(Value v) {
        return columnCost(v.row == Value.NOT_IN_LIST ? v.at : owner(v.home));
    }

    /**
     * The column of an array that stands by itself, so that its length can change: a list that it is in becomes a
     * column of arrays.
     */
    private long detach(Value v) {
        if (v.row == Value.NOT_IN_LIST) {
            return v.at;
        }
        long column = owner(v.home);
        convert(column, CODE_ARRAYS, NONE);
        return Read.slot(live, col(column), v.row & U32).at;
    }

    void reorder(Spot target, int... order) {
        Value v = target.array().v;
        boolean[] seen = new boolean[v.count()];
        boolean good = order.length == seen.length;
        for (int i = 0; good && i < order.length; i++) {
            good = order[i] >= 0 && order[i] < seen.length && !seen[order[i]];
            if (good) {
                seen[order[i]] = true;
            }
        }
        if (!good) {
            throw LivebufException.of(BAD_VALUE, "an order has the index of each of the %d elements once", seen.length);
        }
        keepShape(v, List.of(), true);
        if (order.length > 0) {
            edit(0, arrayCost(v), () -> arrange(detach(v), order));
        }
    }

    void rename(Spot target, String from, String to) {
        Value v = target.object().v;
        Node.Maker p = new Node.Maker(0);
        Key old = Key.forShapes(from), key = p.key(to);
        Value member = member(v, from, old);
        if (from.equals(to)) {
            return;
        }
        if (Read.member(v, key).exists()) {
            throw LivebufException.of(KEY_EXISTS, "the object has the key \"%s\" already: remove it first", to);
        }
        if (v.form != Value.ROW) {
            edit(0, p.size + memberCost(v, old), () -> renameField(v.home, old, key));
            return;
        }
        Node node = p.value(member);
        edit(p.height, p.size + memberCost(v, old) + memberCost(v, key), () -> {
            removeMember(v, old);
            setMember(v, key, node);
        });
    }

    /**
     * Sets the value at a JSON pointer. Its last step may be a new key, which comes behind the others, or "-" for a new
     * element behind the others of an array; "" is the whole document. It takes the same time in documents of any size,
     * but where a column must become wider, and for texts and arrays in tables that lie among others.
     */
    public void set(String pointer, @Nullable Object value) {
        if (pointer.isEmpty()) {
            if (broken) {
                throw LivebufException.of(BROKEN);
            }
            Node.Maker p = new Node.Maker(0);
            Node node = p.value(value);
            edit(Math.max(p.height, heightOf(live.root())), p.size, () -> putCell(HEADER_ROOT_TAG, HEADER_ROOT, node));
            height = p.height;
            return;
        }
        List<String> steps = Value.pointerSteps(pointer);
        String step = steps.get(steps.size() - 1);
        Spot target = spot(steps.subList(0, steps.size() - 1));
        if (target.v.form != Value.ARRAY) {
            set(target, step, value);
        } else if (step.equals("-")) {
            push(target, new Object[] {value});
        } else {
            set(target, index(steps), value);
        }
    }

    /** Removes the value at a JSON pointer. */
    public void remove(String pointer) {
        if (pointer.isEmpty()) {
            throw LivebufException.of(UNSUPPORTED, "a document always has a value: set(\"\", ...) sets another");
        }
        List<String> steps = Value.pointerSteps(pointer);
        String step = steps.get(steps.size() - 1);
        Spot target = spot(steps.subList(0, steps.size() - 1));
        if (target.v.form == Value.ARRAY) {
            splice(target, index(steps), 1);
        } else {
            remove(target, step);
        }
    }

    /** Adds elements to the end of the array at a pointer. A list is one element. */
    public void push(String pointer, @Nullable Object @Nullable ... values) {
        push(spot(pointer), values);
    }

    /** Puts elements before element i of the array at a pointer; i may be the count of elements. */
    public void insert(String pointer, int i, @Nullable Object @Nullable ... values) {
        splice(spot(pointer), i, 0, values);
    }

    /** Removes n elements of the array at a pointer from element i on, and puts others in their place. */
    public void splice(String pointer, int i, int n, @Nullable Object @Nullable ... values) {
        splice(spot(pointer), i, n, values);
    }

    /**
     * Puts the elements of the array at a pointer in another order: element i becomes the one that is now at order[i].
     * An order that has not each index once is an error of kind BAD_VALUE.
     */
    public void reorder(String pointer, int... order) {
        reorder(spot(pointer), order);
    }

    /**
     * Gives a member of the object at a pointer another key. In a record or a map it keeps its place. In a row of a
     * table it is stored with the column of the new key, or behind the other members, and handles of it end, since it
     * is copied. The exception is of kind NOT_FOUND or KEY_EXISTS.
     */
    public void rename(String pointer, String from, String to) {
        rename(spot(pointer), from, to);
    }

    /**
     * Gives the document a state that no other document has, from which deltas lead on ({@link Delta#between}). Any
     * other edit takes it away.
     */
    public void beginState() {
        if (broken) {
            throw LivebufException.of(BROKEN);
        }
        byte[] state = new byte[STATE_SIZE];
        new SecureRandom().nextBytes(state);
        edit(0, 0, () -> {}); // squeezes the document, if that is to be done
        edit(0, 1024, () -> write(placeOfState(), state));
        m.put8(HEADER_IGNORE, FLAG_STATE);
    }

    /** The place of the document's state, which is made where there is none. */
    private long placeOfState() {
        long place = Delta.statePlace(m);
        if (place == 0) {
            long aux = aux();
            place = alloc(STATE_SIZE);
            m.put32(aux + 20, place);
        }
        return place;
    }

    // --- Squeezing

    /**
     * Encodes the document again where more than three quarters of it and more than 4 KiB are free. Handles follow
     * their values, and a state keeps a place, so that a delta can lead here.
     */
    private void squeeze() {
        long aux = m.u32(HEADER_AUX), free = m.u32(aux + 4);
        if (aux == 0 || free <= 4096 || 4 * free <= 3L * m.size) {
            return;
        }
        Value root = live.root();
        byte[] data;
        try {
            // Edits make no tables.
            boolean isTabled = Deep.call(limit -> isTabled(root, limit, limit));
            data = Encoder.run(isTabled ? new Option[0] : new Option[] {Option.NO_TABLES}, e -> e.value(root));
        } catch (LivebufException e) {
            return; // a value of a later version
        }
        if (data.length > m.size - 1024) {
            return; // the place of the state comes behind it
        }
        boolean isStated = Delta.statePlace(m) != 0;
        Handle.Table old = handles;
        handles = new Handle.Table();
        if (!old.isEmpty()) {
            Value made = new Document(new Mem(data, data.length), true).root();
            Deep.call(limit -> follow(old, root, made, limit, limit));
        }
        forget();
        write(0, data);
        resize(data.length);
        if (isStated) {
            placeOfState();
        }
    }

    /** Gives the handles of a value and those in it to another one that is equal. */
    private Void follow(Handle.Table old, Value from, Value to, int left, int limit) {
        if (from.form == Value.SCALAR) {
            return null;
        }
        if (left == 0) {
            throw Deep.stop(limit, from.at);
        }
        Handle h = old.get(from.home, rowOf(from));
        if (h != null) {
            handles.keep(h, to.home, rowOf(to));
        }
        if (from.form != Value.ARRAY) {
            Read.Members a = new Read.Members(from), b = new Read.Members(to);
            while (a.next() && b.next()) {
                follow(old, a.value, b.value, left - 1, limit);
            }
        } else if (hasContainers(m.u8(from.at + 1))) {
            for (int i = 0; i < from.count(); i++) {
                follow(old, from.get(i), to.get(i), left - 1, limit);
            }
        }
        return null;
    }

    /** Says whether a value has columns of another kind than edits make. */
    private boolean isTabled(Value v, int left, int limit) {
        if (left == 0) {
            throw Deep.stop(limit, v.at);
        }
        if (v.form == Value.RECORD) {
            for (int i = 0; i < v.fields(); i++) {
                if (isTabled(Read.field(v, i), left - 1, limit)) {
                    return true;
                }
            }
        } else if (v.form != Value.SCALAR) {
            Read.Head c = col(v.form == Value.MAP ? v.at + MAP_VALUES : v.at);
            if (isNested(c.code) || isDictionary(c.code) || c.code == CODE_UUID) {
                return !c.tensor;
            }
            for (long i = 0; hasContainers(c.code) && i < c.count; i++) {
                if (isTabled(Read.slot(live, c, i), left - 1, limit)) {
                    return true;
                }
            }
        }
        return false;
    }
}
