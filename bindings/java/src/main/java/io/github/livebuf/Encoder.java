package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import io.github.livebuf.Plan.Summary;
import io.github.livebuf.Plan.Tensor;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;

/**
 * Events become a document (PROFILE): values, keys, and the beginnings and ends of containers, in their order in JSON.
 *
 * <p>It takes one pass, and no memory for each value but an item. Text outside of arrays is written when it comes, a
 * container when it ends, behind all that it holds. Shapes come last, when the key lists are known. Containers and
 * texts within arrays wait until the outermost array ends. Then the plan decides which of them become columns, and all
 * of them are written.
 */
final class Encoder extends Writer {
    static final int LEAST_MEMBERS = 8; // of a map whose values are rows
    private static final long MOST_KEPT = 32 << 20; // bytes of memory of one encoder that are kept for another document

    private static final AtomicReferenceArray<Encoder> KEPT = new AtomicReferenceArray<>(16);

    /** An open container. */
    private static final class Frame {
        int start; // its first item
        long plain; // bytes of the containers in it, by themselves
        int first; // of a map, its first key among those of all open maps
        Set<Integer> met; // the keys of an object of very many, so that one that comes twice is found
        int list; // the keys of an object that is no map
        boolean isObject;
        boolean isMap;
    }

    private Frame[] frames = new Frame[16];
    private int depth;
    int nesting; // the most containers within each other
    private final Utf8.Buffer scratch = new Utf8.Buffer();
    private boolean replaces;
    private boolean refusesDuplicates;
    boolean recognizes;
    private int outermost; // the frame of the outermost open array, or map of similar objects; -1 for none
    private boolean isAnew; // garbage is left, or values should have waited: the document is to be encoded again
    private boolean knows; // it is known which maps are of similar objects
    private long left; // values of a document that may still be met, and bytes of them
    private long leftBytes;

    // --- documents

    /** A document of what `fill` adds to an encoder. */
    static byte[] run(Option[] options, Consumer<Encoder> fill) {
        try {
            return attempt(options, fill);
        } catch (StackOverflowError x) {
            throw tooDeepHere();
        }
    }

    static LivebufException tooDeepHere() {
        return LivebufException.of(ErrorKind.NESTING_LIMIT,
            "containers are nested too deep for the stack of this thread: use one with a larger stack");
    }

    /** The same for what may be added twice: once more, in a thread with a large stack, if this one's is too small. */
    static byte[] runAgain(Option[] options, Consumer<Encoder> fill) {
        return Deep.call(limit -> {
            try {
                return attempt(options, fill);
            } catch (StackOverflowError x) {
                throw Deep.stop(limit, -1);
            }
        });
    }

    private static byte[] attempt(Option[] options, Consumer<Encoder> fill) {
        Encoder e = started(options);
        try {
            fill.accept(e);
            return e.ended();
        } catch (LivebufException x) {
            throw e.placed(x);
        }
    }

    /** An encoder that takes a new document. */
    static Encoder started(Option[] options) {
        Encoder e = KEPT.getAndSet(place(), null);
        if (e == null) {
            e = new Encoder();
        }
        e.begin(options);
        return e;
    }

    private static int place() {
        return Thread.currentThread().hashCode() & KEPT.length() - 1;
    }

    /** The document of what was added. The encoder is kept for another one, and must not be used any more. */
    byte[] ended() {
        byte[] data = finish();
        if (isAnew) {
            Document d = new Document(new Mem(data, data.length), true);
            begin();
            knows = true;
            limit(d);
            copy(d.root());
            data = finish();
        }
        if (memory() <= MOST_KEPT) {
            KEPT.set(place(), this);
        }
        return data;
    }

    /** An error with the path to the value that it is about. */
    LivebufException placed(LivebufException x) {
        return x.path().isEmpty() && x.offset() < 0 ? x.withPath(path()) : x;
    }

    private void begin(Option[] options) {
        areTables = true;
        recognizes = replaces = refusesDuplicates = false;
        for (Option option : options) {
            switch (option) {
                case NO_TABLES -> areTables = false;
                case RECOGNIZE -> recognizes = true;
                case REPLACE -> replaces = true;
                case REFUSE_DUPLICATES -> refusesDuplicates = true;
            }
        }
        begin();
    }

    private long memory() {
        return out.mem.bytes.length + texts.memory() + trie.memory() + 13L * tags.length + 4L * places.length
            + 8L * mapKeys.length + scratch.bytes.length;
    }

    private void begin() {
        out.begin();
        texts.begin();
        trie.begin();
        items = placed = mapKeyCount = depth = 0;
        nesting = MAX_NESTING;
        tensors.clear();
        outermost = -1;
        isAnew = knows = false;
    }

    /** Writes the shapes and the header. */
    private byte[] finish() {
        int newest = trie.writeShapes(out);
        putFinal(HEADER_ROOT_TAG, HEADER_ROOT, 0);
        out.align();
        out.put32(0, MAGIC);
        out.put8(HEADER_VERSION, VERSION);
        out.put32(HEADER_USED, out.mem.size);
        out.put32(HEADER_SHAPES, newest);
        return Arrays.copyOf(out.mem.bytes, out.mem.size);
    }

    /** Whether values wait for the end of an array. */
    boolean waits() {
        return outermost >= 0;
    }

    private Frame frame() {
        return frames[depth - 1];
    }

    /** How many containers are open. */
    int depth() {
        return depth;
    }

    /** Whether the innermost open container is an object. */
    boolean isInObject() {
        return frames[depth - 1].isObject;
    }

    // --- values that are no containers

    void bool(boolean x) {
        push(x ? TAG_TRUE : TAG_FALSE, 0);
    }

    void integer(long x) {
        push(TAG_INT, x);
    }

    /** Adds an integer by its 64 bits, of which none is a sign. */
    void unsigned(long x) {
        push(x < 0 ? TAG_UINT : TAG_INT, x);
    }

    /** Adds an integer of any size. */
    void integer(BigInteger x) {
        if (x.bitLength() < 64) {
            integer(x.longValue());
        } else if (x.signum() > 0 && x.bitLength() == 64) {
            unsigned(x.longValue());
        } else {
            JsonReader.number(this, x.toString());
        }
    }

    /** Adds a number of JSON, exactly. */
    void number(NumberText x) {
        JsonReader.number(this, x.toString());
    }

    void number(double x) {
        push(TAG_FLOAT, Double.doubleToRawLongBits(x));
    }

    /** Adds a text. It must be UTF-8. */
    void text(byte[] text, int start, int length) {
        if (length <= 7) {
            push(TAG_TEXT, Output.inlineCell(text, start, length));
        } else if (length > MAX_SPAN) {
            throw LivebufException.of(ErrorKind.STRING_LIMIT,
                "a text has more than 2³⁰ - 1 bytes: store it in parts");
        } else if (length <= MAX_SHARED && !texts.skips()) {
            push(ITEM_TEXT, texts.intern(text, start, length, waits()));
        } else if (waits()) {
            push(ITEM_LOOSE, Output.spanCell(texts.keep(text, start, length), length, false));
        } else {
            owned(TAG_TEXT, text, start, length);
        }
    }

    /** Adds a text, or the date, time or UUID that it is, where these are recognized. */
    void text(String text) {
        utf8(text);
        if (!recognizes || !JsonReader.recognized(this, scratch.bytes, 0, scratch.length)) {
            text(scratch.bytes, 0, scratch.length);
        }
    }

    /** Makes the scratch the UTF-8 of a string. */
    private void utf8(String text) {
        if (!scratch.set(text) && !replaces) {
            throw LivebufException.of(ErrorKind.BAD_TEXT,
                "a string has half of a surrogate pair, which UTF-8 lacks: the option REPLACE puts U+FFFD for it");
        }
    }

    /** Whether U+FFFD is put for halves of surrogate pairs. */
    boolean replaces() {
        return replaces;
    }

    /** The UTF-8 of a whole text of JSON. */
    byte[] utf8Copy(String text) {
        utf8(text);
        return Arrays.copyOf(scratch.bytes, scratch.length);
    }

    /** Adds bytes, number text, or what is stored as bytes. */
    void span(int tag, byte[] bytes, int start, int length) {
        if (tag == TAG_UUID && waits()) { // it may become a slot of a column
            push(ITEM_UUID, Output.spanCell(texts.keep(bytes, start, length), length, false));
        } else if (length <= 7) {
            push(tag, Output.inlineCell(bytes, start, length));
        } else if (length > MAX_SPAN) {
            throw LivebufException.of(ErrorKind.STRING_LIMIT,
                "a value has more than 2³⁰ - 1 bytes: store it in parts");
        } else {
            owned(tag, bytes, start, length);
        }
    }

    private void owned(int tag, byte[] bytes, int start, int length) {
        push(tag, Output.spanCell(out.store(bytes, start, length), length, true));
    }

    /** Adds a date, a time, or a date and time. */
    void immediate(int tag, long x) {
        if (!Read.isImmediate(tag, x)) {
            throw LivebufException.of(ErrorKind.BAD_VALUE, "a date or a time is beyond the years 1 to 9999");
        }
        push(tag, x);
    }

    void uuid(long high, long low) {
        byte[] bytes = new byte[16];
        Mem.set64(bytes, 0, Long.reverseBytes(high));
        Mem.set64(bytes, 8, Long.reverseBytes(low));
        span(TAG_UUID, bytes, 0, 16);
    }

    /**
     * Adds a decimal. One with zeros before the point that are no digits gets them as digits; one of more than 38 is
     * kept as a number of JSON.
     */
    void decimal(BigDecimal x) {
        if (x.scale() > MAX_SCALE || x.precision() - Math.min(x.scale(), 0L) > MAX_SCALE) {
            JsonReader.number(this, x.toString());
            return;
        }
        BigInteger coefficient = x.scale() < 0 ? x.setScale(0).unscaledValue() : x.unscaledValue();
        int scale = Math.max(x.scale(), 0);
        if (coefficient.bitLength() < 56) {
            push(TAG_DECIMAL, coefficient.longValue() << 8 | scale);
            return;
        }
        byte[] bytes = new byte[17];
        Mem.set64(bytes, 0, coefficient.longValue());
        Mem.set64(bytes, 8, coefficient.shiftRight(64).longValue());
        bytes[16] = (byte) scale;
        span(TAG_LARGE_DECIMAL, bytes, 0, 17);
    }

    /** Adds an array that is a tensor (FORMAT 6.6). */
    void tensor(Tensor t) {
        int levels = t.lengths[0] == 0 ? 1 : t.lengths.length;
        if (depth + levels > nesting) {
            throw tooDeep();
        }
        if (!waits()) {
            push(TAG_ARRAY, writeTensor(t));
            return;
        }
        push(ITEM_TENSOR, tensors.size());
        tensors.add(t);
        frame().plain += t.arraySize();
    }

    // --- containers

    LivebufException tooDeep() {
        return LivebufException.of(ErrorKind.NESTING_LIMIT,
            "containers are nested more than %d deep: if a value holds itself, leave it out there", nesting);
    }

    private Frame open(boolean isObject) {
        if (depth >= nesting) {
            throw tooDeep();
        }
        if (depth == frames.length) {
            frames = Arrays.copyOf(frames, 2 * depth);
        }
        Frame f = frames[depth];
        if (f == null) {
            f = frames[depth] = new Frame();
        }
        depth++;
        f.start = items;
        f.plain = f.first = f.list = 0;
        f.met = null;
        f.isObject = isObject;
        f.isMap = false;
        return f;
    }

    void beginArray() {
        if (waits()) {
            push(ITEM_ARRAY, 0);
        } else if (areTables) {
            beginOutermost(depth);
        }
        open(false);
    }

    private void beginOutermost(int frame) {
        outermost = frame;
        trie.beginOutermost();
    }

    void beginObject() {
        if (waits()) {
            push(ITEM_OBJECT, 0);
        }
        open(true);
    }

    /** Begins an object that is known to become a map of similar objects. */
    private void beginMapOfRows() {
        beginObject();
        becomeMap(frame());
        beginOutermost(depth - 1);
    }

    /** The list with the key that is expected to come next, or 0. */
    private int expected() {
        Frame f = frame();
        return f.isMap ? 0 : trie.child(f.list);
    }

    /** Takes the key that is expected, if the bytes are it, as they stand in JSON with their quote: its size, or -1. */
    int takeExpected(byte[] text, int start, int end) {
        int next = expected();
        if (next == 0) {
            return -1;
        }
        Trie.Name name = trie.name(trie.lastKey(next));
        byte[] key = name.bytes;
        int n = key.length;
        if (!name.isPlain || n >= end - start || text[start + n] != '"' || !name.is(text, start, n)) {
            return -1;
        }
        take(next);
        return n;
    }

    private void take(int next) {
        Frame f = frame();
        f.list = next;
        if (f.met != null) {
            f.met.add(trie.lastKey(next));
        }
    }

    /** The key of the value that comes next. It must be UTF-8. */
    void key(byte[] text, int start, int length) {
        Frame f = frame();
        if (!f.isMap) {
            int next = trie.child(f.list);
            if (next != 0 && trie.name(trie.lastKey(next)).is(text, start, length)) {
                take(next);
                return;
            }
            if (otherKey(f, text, start, length)) {
                return;
            }
            becomeMap(f);
        }
        mapKey(text, start, length);
    }

    /** The same for a string. */
    void key(String text) {
        int next = expected();
        if (next != 0 && trie.name(trie.lastKey(next)).text().equals(text)) {
            take(next);
            return;
        }
        utf8(text);
        key(scratch.bytes, 0, scratch.length);
    }

    /** Takes a key that does not follow the way most lately taken. False where the object is no record for it. */
    private boolean otherKey(Frame f, byte[] text, int start, int length) {
        int most = waits() ? MAX_COLUMNS : MAX_FIELDS; // it may become a row
        if (trie.depth(f.list) >= most || length > MAX_KEY) {
            return false;
        }
        int next = trie.step(f.list, text, start, length);
        int key = next != 0 ? trie.lastKey(next) : trie.stepKey();
        if (next == 0) {
            // Only a new way can hold a key twice.
            if (hasKey(f, key)) {
                keyTwice(trie.name(key).bytes);
                return false;
            }
            next = trie.longer(f.list, key);
            if (next == 0) {
                return false;
            }
        }
        trie.take(f.list, next);
        f.list = next;
        if (f.met != null) {
            f.met.add(key);
        }
        return true;
    }

    private boolean hasKey(Frame f, int key) {
        if (!trie.isWide(f.list)) {
            return trie.has(f.list, key);
        }
        if (f.met == null) {
            f.met = new HashSet<>();
            for (int k : trie.keysOf(f.list)) {
                f.met.add(k);
            }
        }
        return f.met.contains(key);
    }

    @Override
    void keyTwice(byte[] key) {
        if (refusesDuplicates) {
            throw LivebufException.of(ErrorKind.DUPLICATE_KEY, "the key \"%s\" comes twice in an object",
                new String(key, 0, Math.min(key.length, 60), StandardCharsets.UTF_8));
        }
        isAnew = true;
    }

    @Override
    void encodeAnew() {
        isAnew = true;
    }

    private void becomeMap(Frame f) {
        f.isMap = true;
        f.first = mapKeyCount;
        putMapKeys(f.list);
    }

    /** Ends the innermost container, whose item is pushed in place of what it holds. */
    private void close(int start, int tag, int home) {
        depth--;
        items = start;
        push(tag, home);
    }

    void endObject() {
        Frame f = frame();
        int start = f.start;
        f.met = null;
        // The keys of many similar objects are those of a map, not of a row.
        if (!f.isMap && trie.isWide(f.list) && areRows(start)) {
            becomeMap(f);
        }
        if (f.isMap) {
            boolean isOutermost = outermost == depth - 1;
            int home = endMap(f.first, start, waits(), isOutermost && !knows);
            if (isOutermost && waits()) {
                endOutermost();
            } else if (waits()) {
                start--; // the item that waited for a record is the map's
            }
            close(start, TAG_OBJECT, home);
        } else if (waits()) {
            endWaiting(objectSize(trie.depth(f.list)), (long) f.list << 32);
        } else {
            close(start, TAG_OBJECT, writeRecord(start, f.list));
        }
    }

    /** Ends a container that waits: one of so many bytes by itself. */
    private void endWaiting(long own, long high) {
        Frame f = frame();
        long size = own + f.plain;
        int at = f.start - 1;
        inside[at] = items - f.start;
        bits[at] = high | Math.min(size, U32);
        depth--;
        frame().plain += size;
    }

    void endArray() {
        Frame f = frame();
        int start = f.start;
        if (waits() && outermost < depth - 1) {
            Summary s = new Summary();
            for (int at = start; at < items; at = behind(at)) {
                add(s, at);
            }
            s.leaf(true);
            endWaiting(COLUMN_SIZE + s.size, 0);
            return;
        }
        outermost = -1;
        int home = layOutArray(start);
        endOutermost();
        close(start, TAG_ARRAY, home);
    }

    /** Ends the outermost container within which values waited. */
    private void endOutermost() {
        outermost = -1;
        texts.writeRest();
        // That texts did not repeat here says nothing of those of the next array.
        if (areTables) {
            texts.endPause();
        }
        tensors.clear();
    }

    // --- values of documents

    /** Adds a value of a document, exactly. */
    void value(Value v) {
        if (!v.exists()) {
            throw v.wrong("");
        }
        if (v.doc.isStale) {
            throw LivebufException.of(ErrorKind.STALE_HANDLE, "the value was looked up before the last edit of its "
                + "document: look it up again, or take a handle before you edit");
        }
        limit(v.doc);
        copy(v);
    }

    /** Limits what a document may stand for. Where it is damaged, that may be any number of values (FORMAT 11). */
    private void limit(Document d) {
        long n = d.m.size;
        left = 8 * n + 1_000_000 + (d.valid ? 136 * n : 0);
        leftBytes = 2048 * n;
    }

    private void pay(long values, long bytes) {
        left -= values;
        leftBytes -= bytes;
        if (left < 0 || leftBytes < 0) {
            throw LivebufException.of(ErrorKind.BUDGET_EXCEEDED);
        }
    }

    private void copy(Value v) {
        pay(1, v.form == Value.SCALAR && v.tag >= TAG_TEXT ? v.bits : 0);
        if (v.form == Value.SCALAR) {
            copyScalar(v);
            return;
        }
        if (v.form == Value.ARRAY) {
            Read.Head c = Read.column(v.doc.m, v.at);
            if (c.tensor) {
                Tensor t = tensorOf(v);
                pay(0, t.data.length);
                tensor(t);
                return;
            }
            beginArray();
            for (int i = 0, n = v.count(); i < n; i++) {
                copy(Read.slot(v.doc, c, v.first() + i));
            }
            endArray();
            return;
        }
        if (isMapOfRows(v)) {
            beginMapOfRows();
        } else {
            beginObject();
        }
        Read.Members it = new Read.Members(v);
        while (it.next()) {
            pay(0, it.keySize);
            checked(v.doc.m, it.keyAt, it.keySize);
            key(scratch.bytes, 0, scratch.length);
            copy(it.value);
        }
        pay(it.skipped, 0);
        endObject();
    }

    /** Makes the scratch some bytes of a document that must be UTF-8. */
    private void checked(Mem m, long at, long count) {
        scratch.set(m, at, count);
        if (!Utf8.isValid(scratch.bytes, 0, scratch.length)) {
            throw LivebufException.at(ErrorKind.BAD_TEXT, at);
        }
    }

    private void copyScalar(Value v) {
        Mem m = v.doc == null ? null : v.doc.m;
        switch (v.tag) {
            case TAG_NOTHING -> throw LivebufException.at(ErrorKind.BAD_CODE, v.at);
            case TAG_NULL, TAG_FALSE, TAG_TRUE -> push(v.tag, 0);
            case TAG_UINT -> unsigned(v.bits);
            case TAG_TEXT -> {
                checked(m, v.at, v.bits);
                text(scratch.bytes, 0, scratch.length);
            }
            case TAG_LARGE_DECIMAL -> {
                BigDecimal x = v.asBigDecimal();
                if (x.precision() > MAX_SCALE || x.unscaledValue().bitLength() < 56) {
                    throw LivebufException.at(ErrorKind.BAD_CELL, v.at);
                }
                decimal(x);
            }
            default -> {
                if (v.tag == TAG_NUMBER_TEXT && !Json.isNumber(m, v.at, v.bits)) {
                    throw LivebufException.at(ErrorKind.BAD_NUMBER, v.at);
                }
                if (v.tag < TAG_TEXT) {
                    push(v.tag, v.bits);
                    return;
                }
                scratch.set(m, v.at, v.bits);
                span(v.tag, scratch.bytes, 0, scratch.length);
            }
        }
    }

    /** A tensor as it lies in a document; null if the array is none. */
    static Tensor tensorOf(Value v) {
        Mem m = v.doc.m;
        long first = v.first();
        long count = v.count();
        Read.Head c = Read.column(m, v.at);
        if (!c.tensor) {
            return null;
        }
        long[] lengths = {count};
        while (c.code == CODE_FIXED_LIST) {
            int n = lengths.length;
            long length = m.u32(c.data + 4);
            if (n >= MAX_DIMENSIONS || length == 0) {
                throw LivebufException.at(ErrorKind.BAD_COUNT, c.data);
            }
            lengths = Arrays.copyOf(lengths, n + 1);
            lengths[n] = length;
            // No number that is in the document is beyond these.
            first = Math.min(first * length, MAX_USED);
            count = Math.min(count * length, MAX_USED);
            c = Read.column(m, c.data + LIST_ELEMENTS);
        }
        if ((c.code < CODE_I8 || c.code > CODE_F64) && c.code < CODE_F16) {
            throw LivebufException.at(ErrorKind.BAD_CODE, c.at);
        }
        long width = width(c.code);
        if (count > 0 && !m.reaches(c.values + width * first, width * count)) {
            throw LivebufException.at(ErrorKind.OUT_OF_BOUNDS, c.at);
        }
        byte[] data = count > 0 ? m.copy(c.values + width * first, width * count) : new byte[0];
        for (int i = 0; c.code == CODE_BOOL8 && i < data.length; i++) {
            if (data[i] >> 1 != 0) {
                throw LivebufException.at(ErrorKind.BAD_CELL, c.at);
            }
        }
        return new Tensor(c.code, lengths, data);
    }

    /** Whether an object becomes a map whose values may be rows (PROFILE 4). */
    private boolean isMapOfRows(Value v) {
        if (v.form != Value.MAP || !areTables || waits() || recordMembers(v) >= 0) {
            return false;
        }
        long count = 0;
        long all = 0;
        long most = 0;
        for (Read.Members it = new Read.Members(v); it.next(); count++) {
            if (it.value.tag == TAG_NULL) {
                continue;
            }
            int n = recordMembers(it.value);
            if (n < 0) {
                return false;
            }
            all += n;
            most = Math.max(most, n);
        }
        return areSimilar(count, all, most);
    }

    /** The members of an object that becomes a record; -1 where it becomes a map, or is no object. */
    private static int recordMembers(Value v) {
        if (v.form == Value.RECORD) {
            return v.size();
        }
        if (v.form != Value.MAP && v.form != Value.ROW) {
            return -1;
        }
        int count = 0;
        for (Read.Members it = new Read.Members(v); it.next(); ) {
            if (++count > MAX_FIELDS || it.keySize > MAX_KEY) {
                return -1;
            }
        }
        return count;
    }

    /** Begins an object that probably becomes a map of similar objects. Where that is wrong, all is encoded again. */
    void beginProbableMapOfRows() {
        if (waits() || !areTables) {
            beginObject();
        } else {
            beginMapOfRows();
        }
    }

    // --- where an error is

    /** The JSON pointer of the value that is being added. */
    private String path() {
        StringBuilder path = new StringBuilder();
        for (int i = 0; i < depth && path.length() <= 1000; i++) {
            Frame f = frames[i];
            int end = i + 1 == depth ? items : frames[i + 1].start - (waits() && i >= outermost ? 1 : 0);
            if (!f.isObject) {
                int n = 0;
                for (int at = f.start; at < end; at = behind(at)) {
                    n++;
                }
                path.append('/').append(n);
            } else if (f.isMap) {
                int next = mapKeyCount;
                for (int j = depth - 1; j > i; j--) {
                    next = frames[j].isMap ? frames[j].first : next;
                }
                if (next > f.first) {
                    step(path, new String(keyBytes(next - 1), StandardCharsets.UTF_8));
                }
            } else if (f.list == 0) {
                break;
            } else {
                step(path, trie.name(trie.lastKey(f.list)).text());
            }
        }
        return path.toString();
    }

    /** Appends a key to a JSON pointer. */
    static void step(StringBuilder path, String key) {
        path.append('/').append(key.replace("~", "~0").replace("/", "~1"));
    }
}
