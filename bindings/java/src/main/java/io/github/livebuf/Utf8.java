package io.github.livebuf;

import java.util.Arrays;

/** UTF-8: whether bytes are it, and making it of strings. */
final class Utf8 {
    private static final long HIGHS = 0x8080808080808080L;

    private Utf8() {}

    /** Whether the bytes from a start up to an end are UTF-8. O(n). */
    static boolean isValid(byte[] b, int start, int end) {
        return invalidAt(b, start, end) < 0;
    }

    /** Where the first bytes are that are no UTF-8; -1 where all are. */
    static int invalidAt(byte[] b, int start, int end) {
        for (int at = start; at < end; ) {
            while (end - at >= 8 && (Mem.get64(b, at) & HIGHS) == 0) {
                at += 8;
            }
            if (at < end) {
                int n = b[at] >= 0 ? 1 : characterSize(b, at, end);
                if (n == 0) {
                    return at;
                }
                at += n;
            }
        }
        return -1;
    }

    /** How many bytes the character of several has that begins here; 0 where it is none. */
    private static int characterSize(byte[] b, int at, int end) {
        int first = b[at] & 0xff;
        int n = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
        if (n == 0 || end - at < n) {
            return 0;
        }
        for (int i = 1; i < n; i++) {
            if (b[at + i] >= -64) {
                return 0;
            }
        }
        int second = b[at + 1] & 0xff;
        // The second byte says whether there is a shorter form, half of a surrogate pair, or too large a number.
        boolean isWrong = first == 0xe0 && second < 0xa0 || first == 0xed && second >= 0xa0
            || first == 0xf0 && second < 0x90 || first == 0xf4 && second >= 0x90;
        return isWrong ? 0 : n;
    }

    /** Bytes that others are appended to. */
    static final class Buffer {
        byte[] bytes = new byte[256];
        int length;

        void append(byte[] from, int start, int count) {
            room(count);
            System.arraycopy(from, start, bytes, length, count);
            length += count;
        }

        /** Makes this some bytes of a document. */
        void set(Mem m, long at, long count) {
            length = 0;
            room(count);
            length = (int) count;
            m.copy(at, bytes, 0, length);
        }

        private void room(long count) {
            if (bytes.length - length < count) {
                bytes = Arrays.copyOf(bytes, Output.capacity(bytes.length, length + count));
            }
        }

        /** Appends a character. Halves of surrogate pairs become U+FFFD. */
        void append(int c) {
            room(4);
            if (c < 0x80) {
                bytes[length++] = (byte) c;
                return;
            }
            if (c >= 0xd800 && c <= 0xdfff) {
                c = 0xfffd;
            }
            int n = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
            bytes[length++] = (byte) (0xff00 >> n + 1 | c >> 6 * n);
            while (--n >= 0) {
                bytes[length++] = (byte) (0x80 | c >> 6 * n & 0x3f);
            }
        }

        /**
         * Makes this the UTF-8 of a string. False where it has halves of surrogate pairs without the other half, for
         * which there is U+FFFD now.
         */
        boolean set(String text) {
            length = 0;
            int n = text.length(), i = 0;
            room(n);
            byte[] to = bytes;
            for (; i < n; i++) {
                char c = text.charAt(i);
                if (c >= 0x80) {
                    break;
                }
                to[i] = (byte) c;
            }
            length = i;
            boolean isWhole = true;
            while (i < n) {
                int c = text.codePointAt(i);
                i += c >= 0x10000 ? 2 : 1;
                isWhole &= c < 0xd800 || c > 0xdfff;
                append(c);
            }
            return isWhole;
        }
    }
}
