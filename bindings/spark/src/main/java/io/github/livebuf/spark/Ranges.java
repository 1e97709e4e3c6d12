package io.github.livebuf.spark;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LongSummaryStatistics;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.And;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;

import io.github.livebuf.Column;
import io.github.livebuf.LivebufException;

/**
 * Says of which blocks no row can pass a filter: where a column lies in one run, by its minimum and its maximum, which
 * take one pass over that run. Nothing is said where a value may change as it is read, or may be an error, since Spark
 * compares what was read, and an error should not depend on the filter.
 */
final class Ranges {
    private Ranges() {}

    /** The least and the greatest value. */
    private record Range(BigDecimal low, BigDecimal high) {}

    /** Whether this class can say anything about a filter. */
    static boolean understands(Predicate p) {
        if (p instanceof And and) {
            return understands(and.left()) || understands(and.right());
        }
        if (p instanceof Or or) {
            return understands(or.left()) && understands(or.right());
        }
        Expression[] given = p.children();
        return switch (p.name()) {
            case "=", "<=>", "<", "<=", ">", ">=", "IN" -> given.length > 1 && given[0] instanceof NamedReference
                && Arrays.stream(given).skip(1).allMatch(x -> number(x) != null);
            default -> false;
        };
    }

    /** Whether a row of a block may pass a filter. */
    static boolean mayPass(Predicate p, Rows.Block block) {
        if (p instanceof And and) {
            return mayPass(and.left(), block) && mayPass(and.right(), block);
        }
        if (p instanceof Or or) {
            return mayPass(or.left(), block) || mayPass(or.right(), block);
        }
        if (!understands(p)) {
            return true;
        }
        Expression[] given = p.children();
        // Spark has made the literals values of the column's type.
        Range range = range(block, ((NamedReference) given[0]).fieldNames(), ((Literal<?>) given[1]).dataType());
        if (range == null) {
            return true;
        }
        return Arrays.stream(given).skip(1).anyMatch(x -> {
            int low = range.low.compareTo(number(x));
            int high = range.high.compareTo(number(x));
            return switch (p.name()) {
                case "<" -> low < 0;
                case "<=" -> low <= 0;
                case ">" -> high > 0;
                case ">=" -> high >= 0;
                default -> low <= 0 && high >= 0;
            };
        });
    }

    /** A number, days since 1970 of a date, or microseconds of a moment; null for others. */
    private static BigDecimal number(Expression e) {
        Object x = e instanceof Literal<?> literal ? literal.value() : null;
        if (x instanceof Integer || x instanceof Long || x instanceof Short || x instanceof Byte) {
            return BigDecimal.valueOf(((Number) x).longValue());
        }
        boolean isFloat = x instanceof Double || x instanceof Float;
        return isFloat && Double.isFinite(((Number) x).doubleValue())
            ? new BigDecimal(((Number) x).doubleValue()) : null;
    }

    /** The range of a column in a block; null where it is not known. Slots without a value count as 0. */
    private static Range range(Rows.Block block, String[] path, DataType type) {
        try {
            Column c = block.array().column(path);
            int from = block.first();
            int to = from + block.count();
            return !DocVector.readsSlots(c.type(), type) ? null
                : c.type().equals("f32") || c.type().equals("f64") ? floats(c, from, to) : integers(c, from, to);
        } catch (LivebufException e) {
            return null; // it shows when the values are read
        }
    }

    private static Range integers(Column c, int from, int to) {
        ByteBuffer b = c.slots();
        IntToLongFunction slot = switch (c.type()) {
            case "i8" -> b::get;
            case "u8" -> i -> b.get(i) & 0xff;
            case "i16" -> i -> b.getShort(2 * i);
            case "u16" -> i -> b.getShort(2 * i) & 0xffff;
            case "i32", "date" -> i -> b.getInt(4 * i);
            case "u32" -> i -> b.getInt(4 * i) & 0xffffffffL;
            default -> i -> b.getLong(8 * i);
        };
        LongSummaryStatistics all = IntStream.range(from, to).mapToLong(slot::applyAsLong).summaryStatistics();
        return new Range(BigDecimal.valueOf(all.getMin()), BigDecimal.valueOf(all.getMax()));
    }

    private static Range floats(Column c, int from, int to) {
        ByteBuffer b = c.slots();
        boolean isNarrow = c.type().equals("f32");
        double low = Double.POSITIVE_INFINITY;
        double high = Double.NEGATIVE_INFINITY;
        for (int i = from; i < to; i++) {
            double x = isNarrow ? b.getFloat(4 * i) : b.getDouble(8 * i);
            low = Math.min(low, x);
            high = Math.max(high, x);
        }
        // With infinities and NaN, which is above all numbers in Spark, nothing is said.
        return Double.isFinite(low) && Double.isFinite(high) ? new Range(new BigDecimal(low), new BigDecimal(high))
            : null;
    }
}
