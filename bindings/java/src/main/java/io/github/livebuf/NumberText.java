package io.github.livebuf;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A number of JSON that is kept as its text, since neither a long nor a double holds it, such as {@code 1e400} or one
 * of thirty digits. Two of them are equal where their texts are.
 */
public final class NumberText extends Number {
    private static final long serialVersionUID = 1;

    private final String text;

    private NumberText(String text) {
        this.text = text;
    }

    /**
     * The number of a text.
     *
     * @throws LivebufException of kind BAD_NUMBER if the text is no number of JSON
     */
    public static NumberText of(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (!Json.isNumber(new Mem(bytes, bytes.length), 0, bytes.length)) {
            throw LivebufException.of(ErrorKind.BAD_NUMBER);
        }
        return new NumberText(text);
    }

    /** The nearest int; see {@link BigDecimal#intValue}. */
    @Override
    public int intValue() {
        return (int) longValue();
    }

    /** The whole part where it fits, else the nearest long. */
    @Override
    public long longValue() {
        return (long) doubleValue();
    }

    @Override
    public float floatValue() {
        return Float.parseFloat(text);
    }

    /** The nearest double, which is infinite where the number is too large. */
    @Override
    public double doubleValue() {
        return Double.parseDouble(text);
    }

    /** The number exactly. It takes time by the square of its digits. */
    public BigDecimal toBigDecimal() {
        return new BigDecimal(text);
    }

    /** The text. */
    @Override
    public String toString() {
        return text;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof NumberText x && text.equals(x.text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }
}
