package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The SHA-256 that names a value, whatever its layout: equal values have equal digests, in any document (DELTA 5). */
public final class Digest {
    private final MessageDigest hash = Delta.sha256();
    private final int limit; // so deep may containers be
    private long left; // so many values may still be hashed
    private long leftText; // and so many bytes of their texts and of long keys

    private Digest(int limit, long n) {
        this.limit = limit;
        left = 8 * n + 1_000_000;
        leftText = TEXT_PER_BYTE * n;
    }

    /**
     * The digest of a value, of 32 bytes. It takes time by the value's size.
     *
     * @throws LivebufException of kind NOT_FOUND if the value is missing, of UNSUPPORTED_FEATURE if a value in it has a
     *     reserved tag, of BUDGET_EXCEEDED for a damaged document that stands for too many values, or with the kind of
     *     damage
     */
    public static byte[] of(Value v) {
        if (!v.exists()) {
            throw v.wrong("a value");
        }
        return Deep.call(limit -> {
            Digest d = new Digest(limit, v.doc.m.size);
            d.value(v, 0);
            return d.hash.digest();
        });
    }

    /** Hashes a letter and a number. */
    private void word(char letter, long n) {
        byte[] b = new byte[9];
        b[0] = (byte) letter;
        Mem.set64(b, 1, n);
        hash.update(b);
    }

    private void text(char letter, byte[] bytes) {
        // A short key, which a shape may have for many rows, is part of its value.
        if (letter != 'k' || bytes.length > MAX_KEY) {
            leftText -= bytes.length;
        }
        word(letter, bytes.length);
        hash.update(bytes);
    }

    /** Hashes a value that is in so many containers. */
    private void value(Value v, int depth) {
        if (--left < 0 || leftText < 0) {
            throw LivebufException.at(ErrorKind.BUDGET_EXCEEDED, v.at);
        }
        if (v.form == Value.SCALAR) {
            scalar(v);
            return;
        }
        if (depth >= limit) {
            throw Deep.stop(limit, v.at);
        }
        if (v.form == Value.ARRAY) {
            word('[', v.count());
            for (Value element : v.elements()) {
                value(element, depth + 1);
            }
            return;
        }
        record Member(byte[] key, Value value) {}
        List<Member> all = new ArrayList<>();
        for (Read.Members it = new Read.Members(v); it.next();) {
            all.add(new Member(it.keyBytes(), it.value));
        }
        all.sort((a, b) -> Arrays.compareUnsigned(a.key, b.key));
        word('{', all.size());
        for (Member member : all) {
            text('k', member.key);
            value(member.value, depth + 1);
        }
    }

    private void scalar(Value v) {
        switch (v.tag) {
            case TAG_NULL -> hash.update((byte) 'n');
            case TAG_FALSE -> hash.update((byte) 'f');
            case TAG_TRUE -> hash.update((byte) 't');
            case TAG_INT -> word('i', v.bits);
            case TAG_UINT -> word('u', v.bits);
            case TAG_FLOAT -> word('d', v.bits);
            case TAG_DATE -> word('D', v.bits);
            case TAG_TIME -> word('T', v.bits);
            case TAG_DATE_TIME -> word('L', v.bits);
            case TAG_TIMESTAMP -> word('Z', v.bits);
            case TAG_NUMBER_TEXT -> text('#', v.spanBytes());
            case TAG_TEXT -> text('s', v.spanBytes());
            case TAG_BYTES -> text('b', v.spanBytes());
            case TAG_UUID -> {
                hash.update((byte) 'U');
                hash.update(v.spanBytes());
            }
            case TAG_DECIMAL -> {
                word('c', v.bits & 0xff);
                byte[] coefficient = new byte[16];
                Mem.set64(coefficient, 0, v.bits >> 8);
                Mem.set64(coefficient, 8, v.bits >> 63);
                hash.update(coefficient);
            }
            case TAG_LARGE_DECIMAL -> {
                byte[] bytes = v.spanBytes();
                word('c', bytes[16]);
                hash.update(bytes, 0, 16);
            }
            default -> throw LivebufException.of(ErrorKind.UNSUPPORTED_FEATURE,
                "a value of a reserved tag has no digest: a newer version may know it");
        }
    }
}
