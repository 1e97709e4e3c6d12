package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.YearMonth;
import java.util.Arrays;

/** Makes events of JSON: one pass over its bytes, without recursion (FORMAT 13.1). */
final class JsonReader {
    private static final long ONES = 0x0101010101010101L;
    private static final long HIGHS = 0x8080808080808080L;
    private static final byte[] TRUE = {'t', 'r', 'u', 'e'};
    private static final byte[] FALSE = {'f', 'a', 'l', 's', 'e'};
    private static final byte[] NULL = {'n', 'u', 'l', 'l'};

    private final Encoder e;
    private final byte[] text;
    private final int end;
    private int at;
    // The string that was read last: where it is, in the text or, if it has escapes, in the room.
    private final Utf8.Buffer room = new Utf8.Buffer();
    private byte[] from;
    private int start;
    private int length;
    private int count; // of digits of the number that is read, all but leading zeros

    private JsonReader(Encoder e, byte[] text, int end) {
        this.e = e;
        this.text = text;
        this.end = end;
    }

    /** Adds the one value of a JSON text. */
    static void read(Encoder e, byte[] text) {
        JsonReader r = new JsonReader(e, text, text.length);
        try {
            if (text.length >= 3 && (Mem.get32(Arrays.copyOf(text, 4), 0) & 0xffffff) == 0xbfbbef) {
                r.at = 3; // a byte order mark
            }
            r.value();
            if (r.at < text.length) {
                throw r.wrong("there is more text behind the value");
            }
        } catch (LivebufException x) {
            // What the encoder refuses is refused here.
            throw x.offset() < 0 ? r.located(x.kind(), x.advice()) : x;
        }
    }

    /** Adds a number of JSON by its text. */
    static void number(Encoder e, String text) {
        new JsonReader(e, text.getBytes(StandardCharsets.ISO_8859_1), text.length()).number();
    }

    /** An error at the byte that is read. */
    private LivebufException located(ErrorKind kind, String message) {
        int line = 1;
        int column = 1;
        for (int i = 0; i < Math.min(at, end); i++) {
            if (text[i] == '\n') {
                line++;
                column = 1;
            } else if (text[i] >= -64) { // no later byte of a character
                column++;
            }
        }
        return LivebufException.at(kind, at, "%s (line %d, column %d)", message, line, column);
    }

    private LivebufException wrong(String message) {
        return located(ErrorKind.BAD_JSON, message);
    }

    /** The next byte that is no white space; 0 at the end, which is nowhere allowed. */
    private byte next() {
        for (; at < end; at++) {
            byte c = text[at];
            if (c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t') {
                return c;
            }
        }
        return 0;
    }

    /** The byte that is read; 0 at the end. */
    private byte here() {
        return at < end ? text[at] : 0;
    }

    private void value() {
        byte c = next();
        for (;;) {
            switch (c) {
                case '"':
                    at++;
                    string();
                    break;
                case '{':
                    e.beginObject();
                    at++;
                    c = next();
                    if (c != '}') {
                        c = key(c);
                        continue;
                    }
                    at++;
                    e.endObject();
                    break;
                case '[':
                    e.beginArray();
                    at++;
                    c = next();
                    if (c != ']') {
                        continue;
                    }
                    at++;
                    e.endArray();
                    break;
                case 't':
                    word(TRUE);
                    e.bool(true);
                    break;
                case 'f':
                    word(FALSE);
                    e.bool(false);
                    break;
                case 'n':
                    word(NULL);
                    e.push(TAG_NULL, 0);
                    break;
                default:
                    if (c != '-' && (c < '0' || c > '9')) {
                        throw wrong(at >= end ? "the text ends where a value should be"
                            : "expected a value: an object, an array, a string, a number, true, false or null");
                    }
                    number();
            }
            // Behind a value: the next element or key, or containers that end.
            for (;;) {
                c = next();
                if (e.depth() == 0) {
                    return;
                }
                boolean isObject = e.isInObject();
                if (c == ',') {
                    at++;
                    c = next();
                    if (c == ']' || c == '}') {
                        throw wrong("a comma before the closing bracket: remove it");
                    }
                    if (isObject) {
                        c = key(c);
                    }
                    break;
                }
                if (c == (isObject ? '}' : ']')) {
                    at++;
                    if (isObject) {
                        e.endObject();
                    } else {
                        e.endArray();
                    }
                } else if (at >= end) {
                    throw wrong("the text ends within an object or an array");
                } else {
                    throw wrong(isObject ? "expected `,` or `}` after a value"
                        : "expected `,` or `]` after an element");
                }
            }
        }
    }

    private void word(byte[] word) {
        for (byte c : word) {
            if (here() != c) {
                throw wrong("expected `true`, `false` or `null`");
            }
            at++;
        }
    }

    /** Reads a key, whose quote is here, and its colon; the byte that begins its value. */
    private byte key(byte c) {
        if (c != '"') {
            throw wrong("expected a key in quotes");
        }
        at++;
        int size = e.takeExpected(text, at, end);
        if (size >= 0) {
            at += size + 1;
        } else {
            quoted();
            e.key(from, start, length);
        }
        if (next() != ':') {
            throw wrong("expected `:` after a key");
        }
        at++;
        return next();
    }

    // --- strings

    private void string() {
        quoted();
        if (!e.recognizes || !recognized(e, from, start, length)) {
            e.text(from, start, length);
        }
    }

    /** Passes over the characters that stand for themselves, up to a quote, a backslash or a control character. */
    private void plain() {
        int begin = at;
        long or = 0;
        boolean isFound = false;
        // Eight at a time. The lowest byte with its highest bit set is one of those.
        for (; !isFound && end - at >= 8; ) {
            long x = Mem.get64(text, at);
            long hits = ((x ^ '"' * ONES) - ONES | (x ^ '\\' * ONES) - ONES | x - ' ' * ONES) & ~x & HIGHS;
            isFound = hits != 0;
            int n = isFound ? Long.numberOfTrailingZeros(hits) >> 3 : 8;
            or |= n < 8 ? x & (1L << 8 * n) - 1 : x;
            at += n;
        }
        for (; !isFound && at < end; at++) {
            byte c = text[at];
            if (c >= 0 && c < ' ' || c == '"' || c == '\\') {
                break;
            }
            or |= c;
        }
        if ((or & HIGHS) != 0) {
            int bad = Utf8.invalidAt(text, begin, at);
            if (bad >= 0) {
                at = bad;
                throw wrong("the text is not UTF-8: convert it first");
            }
        }
    }

    /** Reads the string whose first character is here, and its quote. */
    private void quoted() {
        int begin = at;
        plain();
        if (here() == '"') {
            from = text;
            start = begin;
            length = at++ - begin;
            return;
        }
        room.length = 0;
        room.append(text, begin, at - begin);
        for (;;) {
            if (here() == '"') {
                at++;
                from = room.bytes;
                start = 0;
                length = room.length;
                return;
            }
            if (here() != '\\') {
                throw wrong(at >= end ? "the text ends inside a string"
                    : "a control character in a string: write it as an escape, such as `\\n`");
            }
            at++;
            room.append(escape());
            begin = at;
            plain();
            room.append(text, begin, at - begin);
        }
    }

    /** Reads an escape, whose backslash is before. Half of a surrogate pair stands for U+FFFD. */
    private int escape() {
        int c = here();
        int i = c == 0 ? -1 : "\"\\/bfnrt".indexOf(c);
        if (i >= 0) {
            at++;
            return "\"\\/\b\f\n\r\t".charAt(i);
        }
        if (c != 'u') {
            throw wrong("no such escape in strings: write `\\\\` for a backslash");
        }
        at++;
        int first = unit();
        if (!Character.isSurrogate((char) first)) {
            return first;
        }
        int half = at;
        if (first < 0xdc00 && here() == '\\' && at + 1 < end && text[at + 1] == 'u') {
            at += 2;
            int second = unit();
            if (Character.isLowSurrogate((char) second)) {
                return Character.toCodePoint((char) first, (char) second);
            }
            at = half;
        }
        if (!e.replaces()) {
            throw wrong("an escape of half of a surrogate pair: the option REPLACE puts U+FFFD for it");
        }
        return first;
    }

    private int unit() {
        int unit = 0;
        for (int i = 0; i < 4; i++) {
            int c = here();
            int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
            if (digit < 0) {
                throw wrong("no such escape in strings: `\\u` has four hexadecimal digits");
            }
            unit = unit << 4 | digit;
            at++;
        }
        return unit;
    }

    // --- numbers

    /**
     * Passes over digits; the number that they are behind others of a number. It is right where there are at most 19
     * that count: all but leading zeros.
     */
    private long digits(long x) {
        for (; at < end; at++) {
            int c = text[at] - '0';
            if (c < 0 || c > 9) {
                break;
            }
            x = 10 * x + c;
            if (c != 0 || count > 0) {
                count++;
            }
        }
        return x;
    }

    private void number() {
        int begin = at;
        boolean isNegative = here() == '-';
        if (isNegative) {
            at++;
        }
        int first = at;
        count = 0;
        long x = digits(0);
        if (at == first || at > first + 1 && text[first] == '0') {
            at = Math.min(at, first + 1);
            throw notNumber();
        }
        byte c = here();
        if (c != '.' && (c | 32) != 'e') {
            integer(begin, x, isNegative);
            return;
        }
        long exponent = 0;
        if (c == '.') {
            int point = ++at;
            x = digits(x);
            exponent = point - at;
            if (at == point) {
                throw notNumber();
            }
        }
        if ((here() | 32) == 'e') {
            at++;
            boolean isDown = here() == '-';
            if (isDown || here() == '+') {
                at++;
            }
            int digits = at;
            int power = 0;
            for (; here() >= '0' && here() <= '9'; at++) {
                power = Math.min(10 * power + here() - '0', 100_000_000); // which is beyond all floats by far
            }
            if (at == digits) {
                throw notNumber();
            }
            exponent += isDown ? -power : power;
        }
        if (count <= 17) {
            double f = Doubles.nearest(x, exponent);
            if (!Double.isInfinite(f) && (f != 0 || count == 0)) {
                e.number(isNegative ? -f : f);
                return;
            }
        }
        e.span(TAG_NUMBER_TEXT, text, begin, at - begin);
    }

    private LivebufException notNumber() {
        return wrong("this is no number of JSON: it has digits first, no leading zero, and digits after `.` and `e`");
    }

    /** Adds a number without fraction and exponent. */
    private void integer(int begin, long x, boolean isNegative) {
        if (count > 19) {
            try {
                x = count > 20 ? -1 : Long.parseUnsignedLong(text(begin + (isNegative ? 1 : 0)));
            } catch (NumberFormatException beyond) {
                count = 21;
            }
        }
        if (count > 20) {
            e.span(TAG_NUMBER_TEXT, text, begin, at - begin);
        } else if (!isNegative) {
            e.unsigned(x);
        } else if (x == 0) {
            e.number(-0.0);
        } else if (x > 0 || x == Long.MIN_VALUE) {
            e.integer(-x);
        } else {
            e.span(TAG_NUMBER_TEXT, text, begin, at - begin);
        }
    }

    private String text(int begin) {
        return new String(text, begin, at - begin, StandardCharsets.ISO_8859_1);
    }

    // --- recognized values

    /** Adds a text as a date, a date and time, a timestamp or a UUID, if the whole of it is one (PROFILE 8). */
    static boolean recognized(Encoder e, byte[] text, int start, int length) {
        if (length < 10 || length > 36 || text[start + 4] != '-' && text[start + 8] != '-') {
            return false;
        }
        JsonReader r = new JsonReader(e, text, start + length);
        r.at = start;
        return length == 36 ? r.uuid() : length <= 32 && r.moment();
    }

    private boolean uuid() {
        long[] halves = new long[2];
        int digits = 0;
        for (int i = 0; i < 36; i++, at++) {
            if (i == 8 || i == 13 || i == 18 || i == 23) {
                if (here() != '-') {
                    return false;
                }
                continue;
            }
            int digit = here() < 0 ? -1 : Character.digit(here(), 16);
            if (digit < 0) {
                return false;
            }
            halves[digits / 16] = halves[digits / 16] << 4 | digit;
            digits++;
        }
        e.uuid(halves[0], halves[1]);
        return true;
    }

    /** The number of so many digits here, or -1. */
    private int digitsOf(int digits) {
        int x = 0;
        for (int i = 0; i < digits; i++, at++) {
            if (here() < '0' || here() > '9') {
                return -1;
            }
            x = 10 * x + here() - '0';
        }
        return x;
    }

    /** The number of two digits here behind another byte, or -1 where there is none below a limit. */
    private int part(int before, int limit) {
        if (here() != before) {
            return -1;
        }
        at++;
        int x = digitsOf(2);
        return x < limit ? x : -1;
    }

    private boolean moment() {
        int year = digitsOf(4);
        int month = year < 1 ? -1 : part('-', 13);
        int day = month < 1 ? -1 : part('-', 32);
        if (day < 1 || day > YearMonth.of(year, month).lengthOfMonth()) {
            return false;
        }
        long days = LocalDate.of(year, month, day).toEpochDay();
        if (at == end) {
            e.push(TAG_DATE, days);
            return true;
        }
        int hour = part('T', 24);
        int minute = hour < 0 ? -1 : part(':', 60);
        int second = minute < 0 ? -1 : part(':', 60);
        if (second < 0) {
            return false;
        }
        long micros = days * DAY_MICROS + (hour * 3600 + minute * 60 + second) * 1_000_000L;
        if (here() == '.') {
            int point = ++at;
            for (int unit = 100_000; here() >= '0' && here() <= '9'; at++, unit /= 10) {
                micros += unit * (here() - '0');
            }
            if (at == point || at > point + 6) {
                return false;
            }
        }
        if (at == end) {
            e.push(TAG_DATE_TIME, micros);
            return true;
        }
        if (here() == 'Z') {
            at++;
        } else {
            int sign = here() == '-' ? -1 : 1;
            hour = part(sign < 0 ? '-' : '+', 24);
            minute = hour < 0 ? -1 : part(':', 60);
            if (minute < 0) {
                return false;
            }
            micros -= sign * (hour * 3600 + minute * 60) * 1_000_000L;
        }
        if (at < end || !Read.isImmediate(TAG_TIMESTAMP, micros)) {
            return false;
        }
        e.push(TAG_TIMESTAMP, micros);
        return true;
    }
}
