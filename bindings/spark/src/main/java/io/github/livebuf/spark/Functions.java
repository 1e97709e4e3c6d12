package io.github.livebuf.spark;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.types.variant.Variant;
import org.apache.spark.types.variant.VariantBuilder;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

import io.github.livebuf.Document;
import io.github.livebuf.Editor;
import io.github.livebuf.Kind;
import io.github.livebuf.Livebuf;
import io.github.livebuf.LivebufException;
import io.github.livebuf.Member;
import io.github.livebuf.Value;

/** What the functions of SQL do, as the code calls it that Spark generates. */
public final class Functions {
    private static final int MAX_DIGITS = 38; // of decimals in a Variant

    private Functions() {}

    /** The value at a path of a document, which may be missing. Damage is a DataException that names the function. */
    public static Value find(byte[] doc, Pointer path, String function) {
        try {
            return path.in(Document.open(doc).root());
        } catch (LivebufException e) {
            throw fault(path, function, e);
        }
    }

    private static DataException fault(Pointer path, String function, LivebufException e) {
        return DataException.at(function + "(doc, '" + path + "')", e);
    }

    /** Whether a value is a number. */
    public static boolean isNumber(Value v) {
        return switch (v.kind()) {
            case INT, UINT, FLOAT, DECIMAL, NUMBER_TEXT -> true;
            default -> false;
        };
    }

    /** A number as the nearest double. */
    public static double toDouble(Value v) {
        return switch (v.kind()) {
            case DECIMAL, NUMBER_TEXT -> Double.parseDouble(v.numberText());
            default -> v.asDouble();
        };
    }

    /** The text of a value, as {@link #text(Value)} has it; null for null, and where there is none. */
    public static UTF8String text(byte[] doc, Pointer path, String function) {
        Value v = find(doc, path, function);
        try {
            return v.exists() && !v.isNull() ? text(v) : null;
        } catch (LivebufException e) {
            throw fault(path, function, e);
        }
    }

    /** A text, or the JSON of another value: that of dates, times, UUIDs and bytes without its quotes. */
    static UTF8String text(Value v) {
        if (v.kind() == Kind.TEXT) {
            ByteBuffer b = v.textBuffer();
            byte[] bytes = new byte[b.remaining()];
            b.get(bytes);
            return UTF8String.fromBytes(bytes);
        }
        if (v.kind() == Kind.FLOAT && !Double.isFinite(v.asDouble())) {
            return UTF8String.fromString(Double.toString(v.asDouble())); // as Spark does; JSON has none
        }
        String json = v.toJson();
        // No such text has an escape.
        return UTF8String.fromString(json.startsWith("\"") ? json.substring(1, json.length() - 1) : json);
    }

    /** The JSON of a value; null where there is none. */
    public static UTF8String json(byte[] doc, Pointer path, String function) {
        Value v = find(doc, path, function);
        try {
            return v.exists() ? UTF8String.fromString(v.toJson()) : null;
        } catch (LivebufException e) {
            throw fault(path, function, e);
        }
    }

    /** The document of a JSON text. */
    public static byte[] fromJson(UTF8String json, String function) {
        try {
            return Livebuf.fromJson(json.getBytes());
        } catch (LivebufException e) {
            throw DataException.at(function, e);
        }
    }

    /** A document in which the value at a path is another one. The bytes that are given stay as they are. */
    public static byte[] set(byte[] doc, Pointer path, Object value, DataType type, String function) {
        try {
            Editor edit = Editor.open(doc.clone());
            path.set(edit, plain(value, type));
            return edit.toByteArray();
        } catch (LivebufException e) {
            throw fault(path, function, e);
        }
    }

    /** Whether values of a type can be set. */
    static boolean isStored(DataType type) {
        return DocVector.isScalar(type) || type instanceof VariantType || type instanceof DayTimeIntervalType
            || type instanceof YearMonthIntervalType;
    }

    /** A value of Spark as one of Java that has a place in a document. */
    private static Object plain(Object value, DataType type) {
        if (value == null) {
            return null;
        } else if (value instanceof UTF8String text) {
            return text.toString();
        } else if (value instanceof Decimal d) {
            return d.toJavaBigDecimal();
        } else if (value instanceof VariantVal v) {
            return plain(new Variant(v.getValue(), v.getMetadata()));
        } else if (type instanceof DayTimeIntervalType) {
            return duration("PT", BigDecimal.valueOf((long) value, 6), "S"); // of microseconds
        } else if (type instanceof YearMonthIntervalType) {
            return duration("P", BigDecimal.valueOf((int) value), "M");
        }
        return switch (type.typeName()) {
            case "date" -> LocalDate.ofEpochDay((int) value);
            case "timestamp" -> moment((long) value);
            case "timestamp_ntz" -> moment((long) value).atOffset(ZoneOffset.UTC).toLocalDateTime();
            default -> value;
        };
    }

    /** A text by ISO 8601, such as PT1.500000S, which durations are in every language. */
    private static String duration(String start, BigDecimal count, String unit) {
        return (count.signum() < 0 ? "-" : "") + start + count.abs().toPlainString() + unit;
    }

    private static Instant moment(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    }

    private static Object plain(Variant v) {
        switch (v.getType()) {
            case OBJECT:
                Map<String, Object> members = new LinkedHashMap<>();
                for (int i = 0; i < v.objectSize(); i++) {
                    Variant.ObjectField field = v.getFieldAtIndex(i);
                    members.put(field.key, plain(field.value));
                }
                return members;
            case ARRAY:
                List<Object> elements = new ArrayList<>();
                for (int i = 0; i < v.arraySize(); i++) {
                    elements.add(plain(v.getElementAtIndex(i)));
                }
                return elements;
            case NULL:
                return null;
            case BOOLEAN:
                return v.getBoolean();
            case LONG:
                return v.getLong();
            case FLOAT:
                return v.getFloat();
            case DOUBLE:
                return v.getDouble();
            case DECIMAL:
                return v.getDecimal();
            case DATE:
                return LocalDate.ofEpochDay(v.getLong());
            case TIMESTAMP:
                return moment(v.getLong());
            case TIMESTAMP_NTZ:
                return moment(v.getLong()).atOffset(ZoneOffset.UTC).toLocalDateTime();
            case BINARY:
                return v.getBinary();
            case UUID:
                return v.getUuid();
            default:
                return v.getString();
        }
    }

    /** A value as a Variant; null where there is none. Numbers are exact up to 38 digits, and doubles beyond. */
    public static VariantVal variant(byte[] doc, Pointer path, String function) {
        Value v = find(doc, path, function);
        if (!v.exists()) {
            return null;
        }
        VariantBuilder made = new VariantBuilder(false);
        try {
            append(made, v);
        } catch (LivebufException e) {
            throw fault(path, function, e);
        }
        Variant all = made.result();
        return new VariantVal(all.getValue(), all.getMetadata());
    }

    private static void append(VariantBuilder to, Value v) {
        switch (v.kind()) {
            case NULL -> to.appendNull();
            case BOOLEAN -> to.appendBoolean(v.asBoolean());
            case INT -> to.appendLong(v.asLong());
            case FLOAT -> to.appendDouble(v.asDouble());
            case TEXT -> to.appendString(v.asText());
            case BYTES -> to.appendBinary(v.asBytes());
            case DATE -> to.appendDate((int) v.asDate().toEpochDay());
            case TIMESTAMP -> to.appendTimestamp(DocVector.micros(v.asInstant()));
            case DATE_TIME -> to.appendTimestampNtz(DocVector.micros(v.asDateTime().toInstant(ZoneOffset.UTC)));
            case UINT, DECIMAL, NUMBER_TEXT -> {
                BigDecimal x = v.asBigDecimal();
                boolean fits = x.scale() >= 0 && x.scale() <= MAX_DIGITS && x.precision() <= MAX_DIGITS;
                if (fits) {
                    to.appendDecimal(x);
                } else {
                    to.appendDouble(x.doubleValue());
                }
            }
            case OBJECT -> {
                int start = to.getWritePos();
                ArrayList<VariantBuilder.FieldEntry> fields = new ArrayList<>();
                for (Member m : v.members()) {
                    int offset = to.getWritePos() - start;
                    fields.add(new VariantBuilder.FieldEntry(m.key(), to.addKey(m.key()), offset));
                    append(to, m.value());
                }
                to.finishWritingObject(start, fields);
            }
            case ARRAY -> {
                int start = to.getWritePos();
                ArrayList<Integer> offsets = new ArrayList<>();
                for (Value x : v.elements()) {
                    offsets.add(to.getWritePos() - start);
                    append(to, x);
                }
                to.finishWritingArray(start, offsets);
            }
            // Times of day and UUIDs, for which not each version of Spark has a type.
            default -> to.appendString(text(v).toString());
        }
    }
}
