package io.github.livebuf;

import static io.github.livebuf.ErrorKind.*;
import static io.github.livebuf.Layout.*;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Base64;

/** Printing values as JSON: minified, members in their order, and exact (FORMAT 13.2). */
public final class Json {
    static final Charset UTF_8 = StandardCharsets.UTF_8;
    private static final byte[] HEX = "0123456789abcdef".getBytes(UTF_8);

    private final boolean nonFiniteNull;
    private final long most; // bytes that may be printed
    private final int limit; // containers that may be within each other
    private final Mem m;
    private long left; // places that may still be met
    private byte[] out; // has no more room than may be printed
    private int n; // bytes of out in use

    private Json(Value v, boolean nonFiniteNull, long maxBytes, int limit) {
        this.nonFiniteNull = nonFiniteNull;
        this.limit = limit;
        m = v.doc.m;
        left = 136L * m.size; // a walk over a valid document meets no more places (FORMAT 11)
        most = maxBytes > 0 ? maxBytes : (v.doc.valid ? 16384L : 2048L) * m.size;
        out = new byte[(int) Math.min(most, 256)];
    }

    /**
     * Prints a value as UTF-8. It takes time by what is printed.
     *
     * @param nonFiniteNull whether infinities and NaN are printed as null; they are errors otherwise, since JSON has
     *     none
     * @param maxBytes the most bytes that are printed. A small document may stand for very much text. 0 means 16,384
     *     for each byte of a document that was validated, and 2,048 for each byte of any other
     * @throws LivebufException of kind NOT_FOUND if the value is missing, BAD_NUMBER for infinities and NaN,
     *     UNSUPPORTED for values of later versions of the format, BUDGET_EXCEEDED where more would be printed than is
     *     allowed or than there is memory for; with the kind of damage if the document is damaged
     */
    public static byte[] print(Value value, boolean nonFiniteNull, long maxBytes) {
        if (!value.exists()) {
            throw LivebufException.of(NOT_FOUND);
        }
        return Deep.call(limit -> {
            Json p = new Json(value, nonFiniteNull, maxBytes, limit);
            p.value(value, 0);
            return p.n == p.out.length ? p.out : Arrays.copyOf(p.out, p.n);
        });
    }

    /** A value as the text of its JSON. */
    static String text(Value v) {
        return new String(print(v, false, 0), UTF_8);
    }

    private void value(Value v, int depth) {
        if (--left < 0) {
            throw LivebufException.at(BUDGET_EXCEEDED, v.at);
        }
        if (v.form == Value.SCALAR) {
            scalar(v);
            return;
        }
        if (depth >= limit) {
            throw Deep.stop(limit, v.at);
        }
        if (v.form == Value.ARRAY) {
            Read.Head c = Read.column(m, v.at);
            put('[');
            long first = v.first();
            for (int i = 0, count = v.count(); i < count; i++) {
                if (i > 0) {
                    put(',');
                }
                value(Read.slot(v.doc, c, first + i), depth + 1);
            }
            put(']');
            return;
        }
        put('{');
        Read.Members it = new Read.Members(v);
        for (boolean first = true; it.next(); first = false) {
            if (!first) {
                put(',');
            }
            text(it.keyAt, it.keySize);
            put(':');
            value(it.value, depth + 1);
        }
        left -= it.skipped;
        put('}');
    }

    private void scalar(Value v) {
        switch (v.tag) {
            case TAG_NOTHING -> throw LivebufException.at(BAD_CODE, v.at);
            case TAG_NULL -> put("null");
            case TAG_FALSE -> put("false");
            case TAG_TRUE -> put("true");
            case TAG_INT -> integer(v.bits);
            case TAG_UINT -> put(Long.toUnsignedString(v.bits));
            case TAG_FLOAT -> {
                double x = Double.longBitsToDouble(v.bits);
                if (Double.isFinite(x)) {
                    number(x);
                } else if (nonFiniteNull) {
                    put("null");
                } else {
                    throw LivebufException.of(BAD_NUMBER, "JSON has no %s: ask for null in its place", x);
                }
            }
            case TAG_TEXT -> text(v.at, (int) v.bits);
            case TAG_BYTES -> {
                put('"');
                ensure(v.bits / 3 * 4 + 4);
                byte[] text = Base64.getEncoder().encode(v.spanBytes());
                put(text, 0, text.length);
                put('"');
            }
            case TAG_NUMBER_TEXT -> {
                if (!isNumber(m, v.at, v.bits)) {
                    throw LivebufException.at(BAD_NUMBER, v.at);
                }
                ensure(v.bits);
                m.copy(v.at, out, n, (int) v.bits);
                n += (int) v.bits;
            }
            case TAG_DECIMAL, TAG_LARGE_DECIMAL -> put(v.asBigDecimal().toPlainString());
            case TAG_DATE -> {
                put('"');
                date(v.bits);
                put('"');
            }
            case TAG_TIME -> {
                put('"');
                time(v.bits);
                put('"');
            }
            case TAG_DATE_TIME, TAG_TIMESTAMP -> {
                put('"');
                long days = Math.floorDiv(v.bits, DAY_MICROS);
                date(days);
                put('T');
                time(v.bits - days * DAY_MICROS);
                if (v.tag == TAG_TIMESTAMP) {
                    put('Z');
                }
                put('"');
            }
            case TAG_UUID -> {
                put('"');
                put(v.asUuid().toString());
                put('"');
            }
            default -> throw LivebufException.of(UNSUPPORTED,
                "a value of tag %d has no JSON: a newer library may know it", v.tag);
        }
    }

    // --- bytes

    /** Makes room for so many more bytes. */
    private void ensure(long more) {
        if (n + more <= out.length) {
            return;
        }
        long need = n + more;
        if (need > Math.min(most, MAX_USED)) {
            throw LivebufException.of(BUDGET_EXCEEDED);
        }
        try {
            out = Arrays.copyOf(out, (int) Math.min(Math.max(need, 2L * out.length), Math.min(most, MAX_USED)));
        } catch (OutOfMemoryError e) {
            throw LivebufException.of(BUDGET_EXCEEDED, "there is no memory for %d bytes of JSON", need);
        }
    }

    private void put(char c) {
        if (n == out.length) {
            ensure(1);
        }
        out[n++] = (byte) c;
    }

    /** Puts text of ASCII only. */
    private void put(String s) {
        ensure(s.length());
        for (int i = 0; i < s.length(); i++) {
            out[n++] = (byte) s.charAt(i);
        }
    }

    private void put(byte[] b, int start, int count) {
        ensure(count);
        System.arraycopy(b, start, out, n, count);
        n += count;
    }

    private void integer(long x) {
        if (x == Long.MIN_VALUE) {
            put(Long.toString(x));
            return;
        }
        if (x < 0) {
            put('-');
            x = -x;
        }
        digits(x, size(x));
    }

    /** Puts the last so many digits of a number. */
    private void digits(long x, int count) {
        ensure(count);
        for (int i = n + count - 1; i >= n; i--) {
            out[i] = (byte) ('0' + x % 10);
            x /= 10;
        }
        n += count;
    }

    private void date(long days) {
        LocalDate date = LocalDate.ofEpochDay(days);
        digits(date.getYear(), 4);
        put('-');
        digits(date.getMonthValue(), 2);
        put('-');
        digits(date.getDayOfMonth(), 2);
    }

    private void time(long micros) {
        digits(micros / 3_600_000_000L, 2);
        put(':');
        digits(micros / 60_000_000 % 60, 2);
        put(':');
        digits(micros / 1_000_000 % 60, 2);
        if (micros % 1000 != 0) {
            put('.');
            digits(micros % 1_000_000, 6);
        } else if (micros % 1_000_000 != 0) {
            put('.');
            digits(micros / 1000 % 1000, 3);
        }
    }

    /** Puts a text that is at an offset. */
    private void text(long at, int size) {
        ensure(size + 2L);
        put('"');
        m.copy(at, out, n, size);
        int end = n + size;
        boolean ascii = true;
        int i = n;
        for (; i < end; i++) {
            int c = out[i];
            ascii &= c >= 0;
            if (c >= 0 && c < ' ' || c == '"' || c == '\\') {
                break;
            }
        }
        n = i;
        // What stands behind the first character that needs an escape is put one by one.
        for (long from = at + size - (end - i); from < at + size; from++) {
            int c = m.u8(from);
            ascii &= c < 0x80;
            int escape = c >= ' ' ? c == '"' || c == '\\' ? c : 0 : switch (c) {
                case '\b' -> 'b';
                case '\t' -> 't';
                case '\n' -> 'n';
                case '\f' -> 'f';
                case '\r' -> 'r';
                default -> 'u';
            };
            if (escape != 0) {
                put('\\');
                put((char) escape);
            }
            if (escape == 'u' && c < ' ') {
                put("00");
                put((char) HEX[c >> 4]);
                put((char) HEX[c & 15]);
            } else if (escape == 0) {
                put((char) c);
            }
        }
        put('"');
        if (!ascii && !m.isText(at, size)) {
            throw LivebufException.at(BAD_TEXT, at);
        }
    }

    // --- numbers

    /** Puts a finite float: never as an integer, and so that it is read as the same float again. */
    private void number(double x) {
        if (Double.doubleToRawLongBits(x) < 0) {
            put('-');
            x = -x;
        }
        if (x == 0) {
            put("0.0");
            return;
        }
        Floats.Decimal d = Floats.shortest(x);
        long digits = d.digits();
        int exponent = d.exponent();
        while (digits % 10 == 0) {
            digits /= 10;
            exponent++;
        }
        int size = size(digits);
        int point = size + exponent; // digits before the point
        boolean isPlain = x >= 1e-5 && x < 1e16;
        int whole = isPlain ? Math.min(Math.max(point, 0), size) : 1; // digits that are written before the point
        long power = power(size - whole);
        if (whole == 0) {
            put("0.");
            put("0".repeat(-point));
        } else {
            digits(digits / power, whole);
        }
        if (isPlain && point >= size) {
            put("0".repeat(point - size));
            put(".0");
        } else if (size > whole) {
            if (whole > 0) {
                put('.');
            }
            digits(digits % power, size - whole);
        }
        if (!isPlain) {
            put('e');
            put(point > 0 ? '+' : '-');
            put(Integer.toString(Math.abs(point - 1)));
        }
    }

    /** How many digits a number above -1 has. */
    private static int size(long x) {
        int size = 1;
        while (x >= 10) {
            x /= 10;
            size++;
        }
        return size;
    }

    private static long power(int exponent) {
        long power = 1;
        for (int i = 0; i < exponent; i++) {
            power *= 10;
        }
        return power;
    }

    /** A finite float as it is printed. */
    static String floatText(double x) {
        Document none = new Document(new Mem(new byte[HEADER_SIZE], HEADER_SIZE), true);
        return text(new Value(none, 0, 0, Double.doubleToRawLongBits(x), 0, TAG_FLOAT, Value.SCALAR));
    }

    /** The double that is nearest to an integer without a sign. */
    static double unsignedToDouble(long x) {
        return x >= 0 ? x : (x >>> 1 | x & 1) * 2.0;
    }

    /** Whether a text is a number of JSON (RFC 8259, section 6). */
    static boolean isNumber(Mem m, long at, long count) {
        long end = at + count;
        long i = at;
        if (i < end && m.u8(i) == '-') {
            i++;
        }
        if (i < end && m.u8(i) == '0') {
            i++;
        } else if ((i = digits(m, i, end)) < 0) {
            return false;
        }
        if (i < end && m.u8(i) == '.' && (i = digits(m, i + 1, end)) < 0) {
            return false;
        }
        if (i < end && (m.u8(i) | 32) == 'e') {
            i++;
            if (i < end && (m.u8(i) == '+' || m.u8(i) == '-')) {
                i++;
            }
            i = digits(m, i, end);
        }
        return i == end;
    }

    /** Behind the digits from an offset on, or -1 if there are none. */
    private static long digits(Mem m, long at, long end) {
        long i = at;
        while (i < end && m.u8(i) >= '0' && m.u8(i) <= '9') {
            i++;
        }
        return i > at ? i : -1;
    }
}
