package io.github.livebuf;

import java.math.BigInteger;

/**
 * The shortest decimal digits that are read as the same double, and of several such the nearest to it: Raffaello
 * Giulietti's algorithm "Schubfach". Double.toString gives them from Java 19 on only, and there at least two digits.
 */
final class Floats {
    private Floats() {}

    private static final int MIN_POWER = -324;
    private static final int MAX_POWER = 292;
    private static final long MASK_63 = Long.MAX_VALUE;

    /** For each k the number g = ⌊10⁻ᵏ · 2⁻ʳ⌋ + 1 of 126 bits: its upper and its lower 63. */
    private static final long[] POWERS = new long[2 * (MAX_POWER - MIN_POWER + 1)];

    static {
        for (int k = MIN_POWER; k <= MAX_POWER; k++) {
            BigInteger ten = BigInteger.TEN.pow(Math.abs(k));
            BigInteger g = k <= 0
                ? shift(ten, 126 - ten.bitLength())
                : BigInteger.ONE.shiftLeft(125 + ten.bitLength()).divide(ten);
            g = g.add(BigInteger.ONE);
            POWERS[2 * (k - MIN_POWER)] = g.shiftRight(63).longValue();
            POWERS[2 * (k - MIN_POWER) + 1] = g.longValue() & MASK_63;
        }
    }

    private static BigInteger shift(BigInteger x, int by) {
        return by >= 0 ? x.shiftLeft(by) : x.shiftRight(-by);
    }

    /** A finite double above 0 is digits · 10^exponent. */
    record Decimal(long digits, int exponent) {}

    /** The shortest digits of a finite double above 0; the last of them may be 0. */
    static Decimal shortest(double x) {
        long bits = Double.doubleToRawLongBits(x);
        long fraction = bits & (1L << 52) - 1;
        int biased = (int) (bits >>> 52) & 0x7ff;
        long c = biased == 0 ? fraction : fraction | 1L << 52;
        int q = Math.max(biased, 1) - 1075;
        // A whole number is its own digits, and of these the zeros at the end are no news.
        if (q <= 0 && q > -53 && c >> -q << -q == c) {
            return new Decimal(c >> -q, 0);
        }
        boolean even = (c & 1) == 0;
        boolean regular = fraction != 0 || biased <= 1;
        long middle = c << 2;
        long left = regular ? middle - 2 : middle - 1;
        long right = middle + 2;
        int k = (int) (q * 661_971_961_083L + (regular ? 0 : -274_743_187_321L) >> 41); // ⌊log₁₀⌋ of the distance
        int h = q + (int) (-k * 913_124_641_741L >> 38) + 2;
        long g1 = POWERS[2 * (k - MIN_POWER)];
        long g0 = POWERS[2 * (k - MIN_POWER) + 1];
        long v = product(g1, g0, middle << h);
        long low = product(g1, g0, left << h) + (even ? 0 : 1);
        long high = product(g1, g0, right << h) - (even ? 0 : 1);
        long s = v >> 2;
        if (s >= 10) {
            long ten = s / 10 * 10;
            boolean below = low <= ten << 2;
            boolean above = ten + 10 << 2 <= high;
            if (below != above) {
                return new Decimal(below ? ten : ten + 10, k);
            }
        }
        boolean below = low <= s << 2;
        boolean above = s + 1 << 2 <= high;
        if (below != above) {
            return new Decimal(below ? s : s + 1, k);
        }
        long order = v - (s + s + 1 << 1);
        return new Decimal(order < 0 || order == 0 && (s & 1) == 0 ? s : s + 1, k);
    }

    /** The upper bits of a product, where a lowest bit of 1 stands for all that are cut off. */
    private static long product(long g1, long g0, long x) {
        long upper = Math.multiplyHigh(g0, x);
        long z = (g1 * x >>> 1) + upper;
        long w = Math.multiplyHigh(g1, x) + (z >>> 63);
        return w | (z & MASK_63) + MASK_63 >>> 63;
    }
}
