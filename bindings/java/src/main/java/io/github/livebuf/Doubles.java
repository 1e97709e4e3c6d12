package io.github.livebuf;

import java.math.BigInteger;

/**
 * The double that is nearest to a decimal number: Daniel Lemire's algorithm ("Number parsing at a gigabyte per
 * second"). Double.parseDouble takes several times as long.
 */
final class Doubles {
    private Doubles() {}

    private static final int MIN_POWER = -342;
    private static final int MAX_POWER = 308;

    /** The powers of ten that a double holds. */
    private static final double[] EXACT = new double[23];

    /** For each power of ten the first 128 bits of the power of five, as two numbers. */
    private static final long[] FIVES = new long[2 * (MAX_POWER - MIN_POWER + 1)];

    static {
        for (int q = 0; q < EXACT.length; q++) {
            EXACT[q] = Double.parseDouble("1e" + q);
        }
        for (int q = MIN_POWER; q <= MAX_POWER; q++) {
            BigInteger five = BigInteger.valueOf(5).pow(Math.abs(q));
            BigInteger c;
            if (q >= 0) {
                c = five.shiftLeft(Math.max(128 - five.bitLength(), 0));
            } else {
                int z = five.subtract(BigInteger.ONE).bitLength();
                c = BigInteger.ONE.shiftLeft(q >= -27 ? z + 127 : 2 * z + 128).divide(five).add(BigInteger.ONE);
            }
            c = c.shiftRight(Math.max(c.bitLength() - 128, 0));
            FIVES[2 * (q - MIN_POWER)] = c.shiftRight(64).longValue();
            FIVES[2 * (q - MIN_POWER) + 1] = c.longValue();
        }
    }

    /** The upper half of the product of two numbers without a sign. */
    private static long high(long a, long b) {
        return Math.multiplyHigh(a, b) + (a >> 63 & b) + (b >> 63 & a);
    }

    /** The double nearest to w · 10^q, of two such the even one. w has no sign and at most 19 digits. */
    static double nearest(long w, long q) {
        if (w == 0 || q < MIN_POWER) {
            return 0;
        }
        if (q > MAX_POWER) {
            return Double.POSITIVE_INFINITY;
        }
        int power = (int) q;
        if (Math.abs(power) < EXACT.length && w >>> 53 == 0) {
            // Both are exact, so the result is rounded once.
            return power < 0 ? w / EXACT[-power] : w * EXACT[power];
        }
        int zeros = Long.numberOfLeadingZeros(w);
        long x = w << zeros;
        int i = 2 * (power - MIN_POWER);
        long high = high(x, FIVES[i]);
        long low = x * FIVES[i];
        if ((high & 0x1ff) == 0x1ff) {
            long more = high(x, FIVES[i + 1]);
            low += more;
            if (Long.compareUnsigned(more, low) > 0) {
                high++;
            }
        }
        if (low == -1 && (power < -27 || power > 55)) {
            return Double.parseDouble(Long.toUnsignedString(w) + "e" + power);
        }
        int upper = (int) (high >>> 63);
        long mantissa = high >>> upper + 9;
        int exponent = (217_706 * power >> 16) + 63 + upper - zeros + 1023;
        if (exponent <= 0) {
            if (1 - exponent >= 64) {
                return 0;
            }
            mantissa >>>= 1 - exponent;
            mantissa = mantissa + (mantissa & 1) >>> 1;
            return Double.longBitsToDouble(mantissa); // which is normal where it was rounded up to that
        }
        if (Long.compareUnsigned(low, 1) <= 0 && power >= -4 && power <= 23 && (mantissa & 3) == 1
            && mantissa << upper + 9 == high) {
            mantissa &= ~1L; // half way between two: the even one
        }
        mantissa = mantissa + (mantissa & 1) >>> 1;
        if (mantissa >= 1L << 53) {
            mantissa = 1L << 52;
            exponent++;
        }
        if (exponent >= 0x7ff) {
            return Double.POSITIVE_INFINITY;
        }
        return Double.longBitsToDouble((long) exponent << 52 | mantissa & (1L << 52) - 1);
    }
}
